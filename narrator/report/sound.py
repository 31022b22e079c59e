"""Measures finished files and their chapters as curves, in bounded memory: waveform, loudness,
pitch.

A file is decoded once, block by block, whatever chapters it holds; curves and figures are kept
under `build`, so that unchanged files are not decoded again. Knows nothing of pages and pictures.
"""

from __future__ import annotations

import io
import os
import threading
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from narrator import files, keys
from narrator.delivery import postflight
from narrator.errors import UserError
from narrator.pipeline.book_plan import BookPlan
from narrator.report.facts import ProjectFacts, file_name
from narrator.sound import media
from narrator.sound.audio import BlockReader, Samples, decode_frames, filter_stream
from narrator.sound.loudness import SILENT_LUFS, Loudness
from narrator.sound.pitch import PitchTracker
from narrator.sound.probe import ChapterMark, FileFigures
from narrator.sound.spectra import Spectra
from textbase.files import Unfit

POINTS = 1500
"""Points of a chapter's waveform: more than a screen shows."""
READINGS = 750
"""Readings of a chapter's loudness, each over three seconds."""
PITCHES = 150
"""Readings of a chapter's pitch: medians of some seconds each."""
QUIETEST = -60.0
"""LUFS: anything quieter counts as silence."""

Progress = Callable[[float], None]
"""Receives the share that is done."""


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """A chapter's sound, decimated."""

    seconds: float
    low: NDArray[np.float32]
    high: NDArray[np.float32]
    """Lowest and highest sample of each stretch, (n,), at most `POINTS`."""
    loudness: NDArray[np.float32]
    """Short-term LUFS, (n,), evenly spread; NaN for silence."""
    integrated: float
    """LUFS."""
    spread: float
    """Loudness range by EBU Tech 3342, LU."""
    pitch: NDArray[np.float32]
    """Hz, (n,), evenly spread, at most `PITCHES`; NaN where nobody speaks."""


@dataclass(frozen=True, slots=True)
class ChapterSound:
    """The position of a chapter in a file."""

    chapter: int
    """Counted from 0."""
    start: float
    """Seconds."""
    seconds: float


@dataclass(frozen=True, slots=True)
class Sounds:
    """The measurements of the finished files."""

    figures: Mapping[Path, FileFigures | UserError] = field(default_factory=dict)
    parts: Mapping[int, ChapterSound] = field(default_factory=dict)
    """Position of each chapter in its file, by its number from 0."""
    curves: Mapping[int, Curve] = field(default_factory=dict)


# -- a project ------------------------------------------------------------------------------------


class ReportObserver(Protocol):
    """Receives the progress of measuring."""

    def __call__(self, activity: str, share: float) -> None: ...


def measure(
    book: BookPlan, facts: ProjectFacts, on_progress: ReportObserver | None = None
) -> Sounds:
    """Measures the finished files; without `on_progress` only loads what was measured before.

    `on_progress` receives ("measure files", share done), then ("read chapters", …). Raises
    StorageError.
    """
    curve_cache = CurveCache(book.project.build / file_name(book, "report-cache"))

    def progress(activity: str) -> Callable[[float], None] | None:
        return partial(on_progress, activity) if on_progress else None

    sound_paths = [file.path for file in facts.files]
    file_figures = figures(sound_paths, curve_cache, progress("measure files"))
    chapter_parts = _chapter_sounds(facts, file_figures)
    sounds_by_file: dict[Path, list[ChapterSound]] = defaultdict(list)
    for chapter in facts.chapters:
        if chapter.file and (part := chapter_parts.get(chapter.number - 1)):
            sounds_by_file[chapter.file.path].append(part)
    for file_sounds in sounds_by_file.values():
        file_sounds.sort(key=lambda part: part.start)
    chapter_curves = curves(sounds_by_file, curve_cache, progress("read chapters"))
    if on_progress:
        curve_cache.prune()
    return Sounds(file_figures, chapter_parts, chapter_curves)


def _chapter_sounds(
    facts: ProjectFacts, figures: Mapping[Path, FileFigures | UserError]
) -> dict[int, ChapterSound]:
    """Returns the position of each chapter in its file, by its number from 0; skips unreadable
    files."""
    sounds_by_chapter: dict[int, ChapterSound] = {}
    for chapter in facts.chapters:
        index = chapter.number - 1
        measured = figures.get(chapter.file.path) if chapter.file else None
        if chapter.file is None or not isinstance(measured, FileFigures):
            continue
        file_chapters: Sequence[int] = chapter.file.chapters
        chapter_seconds = [facts.chapters[number].seconds or 0.0 for number in file_chapters]
        starts = [mark.start for mark in measured.marks]
        if len(starts) != len(chapter_seconds):
            starts = [float(sum(chapter_seconds[:n])) for n in range(len(chapter_seconds))]
        starts.append(measured.seconds)
        position = file_chapters.index(index)
        start = starts[position]
        seconds = min(
            chapter_seconds[position] or starts[position + 1] - start, measured.seconds - start
        )
        if seconds > 0:
            sounds_by_chapter[index] = ChapterSound(index, start, seconds)
    return sounds_by_chapter


# -- what is kept ----------------------------------------------------------------------------------


@dataclass(slots=True)
class CurveCache:
    """Keeps curves and figures of files in a folder. Missing or damaged ones are measured again."""

    folder: Path
    used: set[str] = field(default_factory=set)

    def curve(self, path: Path, part: ChapterSound) -> Curve | None:
        """Loads the curve of a chapter; None where it is missing."""
        key = self._key(path, part)
        self.used.add(f"{key}.npz")
        try:
            facts = self._load(key)
        except (OSError, ValueError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error):
            return None  # missing or damaged: measured again
        try:
            return Curve(
                float(facts["seconds"]), facts["low"], facts["high"], facts["loudness"],
                float(facts["integrated"]), float(facts["spread"]), facts["pitch"],
            )  # fmt: skip
        except KeyError:
            return None

    def _load(self, name: str) -> dict[str, NDArray[np.float32]]:
        """Loads the arrays of an entry. Raises an error for a damaged one."""
        with zipfile.ZipFile(io.BytesIO((self.folder / f"{name}.npz").read_bytes())) as archive:
            if any(member.compress_type != zipfile.ZIP_DEFLATED for member in archive.infolist()):
                raise zipfile.BadZipFile("not compressed as it was written")
            # read completely, so that the checksum is tested before use
            contents = {name: archive.read(name) for name in archive.namelist()}
        return {
            name.removesuffix(".npy"): np.load(io.BytesIO(content), allow_pickle=False)
            for name, content in contents.items()
        }

    def keep(self, path: Path, part: ChapterSound, curve: Curve) -> None:
        """Saves the curve of a chapter. Raises StorageError."""
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            for array_name, array in asdict(curve).items():
                with archive.open(f"{array_name}.npy", "w") as file:
                    np.lib.format.write_array(file, np.asarray(array), allow_pickle=False)
        files.write(self.folder / f"{self._key(path, part)}.npz", buffer.getvalue())

    def figures(self, path: Path) -> FileFigures | None:
        """Loads the measurements of a file, if it has not changed."""
        name = f"{keys.key({'figures': 1, **_file_identity(path)})}.json"
        self.used.add(name)
        try:
            row = files.read_json(self.folder / name)
            restored_fields = {
                "path": path,
                "marks": tuple(ChapterMark(**mark) for mark in row["marks"]),
                "cover": tuple(row["cover"]) if row["cover"] else None,
                "loudness": Loudness(**row["loudness"]),
                "levels": bytes.fromhex(row["levels"]),
                # the page compares no files by their spectra, which are large
                "spectra": Spectra.of(b""),
            }
            return FileFigures(**{**row, **restored_fields})
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def keep_figures(self, figures: FileFigures) -> None:
        """Saves the measurements of a file. Raises StorageError."""
        name = f"{keys.key({'figures': 1, **_file_identity(figures.path)})}.json"
        row = asdict(figures) | {"path": "", "levels": figures.levels.hex()}
        del row["spectra"]
        files.save_json(self.folder / name, row)

    def prune(self) -> None:
        """Deletes entries that this run did not use. Raises StorageError."""
        with files.translating_errors(self.folder):
            if self.folder.is_dir():
                for path in self.folder.iterdir():
                    if path.name not in self.used:
                        path.unlink()

    def _key(self, path: Path, part: ChapterSound) -> str:
        place = [round(part.start, 3), round(part.seconds, 3)]
        return keys.key({"curve": 2, "place": place, **_file_identity(path)})


def _file_identity(path: Path) -> dict[str, object]:
    """Returns facts that identify an unchanged file: a book of 26 hours is not hashed for a
    page."""
    stat = path.stat()
    return {"name": path.name, "size": stat.st_size, "time": stat.st_mtime_ns}


# -- measuring -------------------------------------------------------------------------------------


def figures(
    paths: Sequence[Path], curve_cache: CurveCache, on_progress: Progress | None
) -> dict[Path, FileFigures | UserError]:
    """Measures files, or loads their measurements; for unreadable files returns the error.

    Without `on_progress` only loads what was measured before. Raises StorageError.
    """
    measured: dict[Path, FileFigures | UserError] = {}
    for path in paths:
        if (cached_figures := curve_cache.figures(path)) is not None:
            measured[path] = cached_figures
    if on_progress is None:
        return measured
    unmeasured = [path for path in paths if path not in measured]
    measured_files = postflight.measure_files(unmeasured, on_progress=on_progress)
    for path, file_figures in zip(unmeasured, measured_files, strict=True):
        measured[path] = file_figures
        if isinstance(file_figures, FileFigures):
            curve_cache.keep_figures(file_figures)
    return measured


def curves(
    parts_by_file: Mapping[Path, Sequence[ChapterSound]],
    curve_cache: CurveCache,
    on_progress: Progress | None,
) -> dict[int, Curve]:
    """Returns curves by chapter; the parts of one file are in order of their starts.

    Files are decoded side by side. A chapter whose file cannot be read has no curve. Without
    `on_progress` only loads what was measured before. Raises StorageError.
    """
    by_chapter: dict[int, Curve] = {}
    files_to_read: list[tuple[Path, list[ChapterSound]]] = []
    for path, parts in parts_by_file.items():
        cached_curves = {part.chapter: curve_cache.curve(path, part) for part in parts}
        by_chapter |= {chapter: curve for chapter, curve in cached_curves.items() if curve}
        if missing_parts := [part for part in parts if cached_curves[part.chapter] is None]:
            files_to_read.append((path, missing_parts))
    if on_progress is None:
        return by_chapter
    total = sum(parts[-1].start + parts[-1].seconds for _, parts in files_to_read)
    lock = threading.Lock()
    read_seconds = 0.0

    def report_seconds(seconds: float) -> None:
        nonlocal read_seconds
        with lock:
            read_seconds += seconds
            on_progress(min(1.0, read_seconds / max(total, 1e-9)))

    def read_file(path: Path, parts: Sequence[ChapterSound]) -> None:
        for part, curve in _read_curves(path, parts, report_seconds):
            curve_cache.keep(path, part, curve)
            with lock:
                by_chapter[part.chapter] = curve

    with ThreadPoolExecutor(os.cpu_count() or 1, "report") as pool:
        for job in [pool.submit(read_file, path, parts) for path, parts in files_to_read]:
            job.result()
    return by_chapter


def _read_curves(
    path: Path, parts: Sequence[ChapterSound], on_seconds: Callable[[float], None]
) -> Iterator[tuple[ChapterSound, Curve]]:
    """Yields each part with its curve; `on_seconds` receives the seconds of every block."""
    try:
        with media.open_sound(path) as container:
            rate = container.streams.audio[0].rate
            reader = _SoundStream(
                decode_frames(container, mono=False), lambda count: on_seconds(count / rate)
            )
            for part in parts:
                for _ in reader.until(round(part.start * rate)):
                    pass
                stop = round((part.start + part.seconds) * rate)
                length = stop - reader.position
                if length > 0:
                    blocks = reader.until(stop)
                    yield part, _curve(blocks, rate, length)
    except (Unfit, OSError):
        return  # the file's row of the page states the fault


class _SoundStream:
    """Reads a stream up to a position, and on from there."""

    def __init__(self, blocks: Iterator[Samples], on_samples: Callable[[int], None]) -> None:
        self.position = 0
        self._reader = BlockReader(blocks)
        self._on_samples = on_samples

    def until(self, stop: int) -> Iterator[Samples]:
        """Yields blocks of some thousands of samples up to a position, or to the end."""
        while self.position < stop and len(
            block := self._reader.take(min(BLOCK, stop - self.position))
        ):
            self.position += len(block)
            self._on_samples(len(block))
            yield block


BLOCK = 65536


def _curve(blocks: Iterator[Samples], rate: int, length: int) -> Curve:
    """Measures a chapter's samples, whose number is `length`."""
    envelope = _Envelope(max(1, -(-length // POINTS)))
    pitch = _Pitch(rate, length)

    def metered_blocks() -> Iterator[Samples]:
        for block in blocks:
            envelope.feed(block)
            pitch.feed(block if block.ndim == 1 else block.mean(axis=1, dtype=np.float32))
            yield block

    short_term: list[float] = []
    integrated, spread = SILENT_LUFS, 0.0
    for frame in filter_stream(
        metered_blocks(), rate, "ebur128", "metadata=1:framelog=quiet:peak=none"
    ):
        metadata = frame.metadata
        if "lavfi.r128.S" not in metadata:
            continue  # the end of the stream, shorter than a tenth of a second
        short_term.append(float(metadata["lavfi.r128.S"]))
        integrated = max(SILENT_LUFS, float(metadata["lavfi.r128.I"]))
        spread = float(metadata["lavfi.r128.LRA"])
    low, high = envelope.finish()
    return Curve(
        seconds=envelope.count / rate,
        low=low,
        high=high,
        loudness=_thin_readings(np.array(short_term, np.float32)),
        integrated=integrated,
        spread=spread,
        pitch=pitch.finish(),
    )


def _thin_readings(readings: NDArray[np.float32]) -> NDArray[np.float32]:
    """Returns at most `READINGS` of the readings, evenly spread; silence as NaN."""
    stride = max(1, -(-len(readings) // READINGS))
    thinned = readings[stride // 2 :: stride].copy()
    thinned[~(thinned > QUIETEST)] = np.nan
    return thinned


class _Envelope:
    """Measures the lowest and highest sample of every `stretch_samples`, over all channels."""

    def __init__(self, stretch_samples: int) -> None:
        self.stretch_samples = stretch_samples
        self.count = 0
        self._low: list[NDArray[np.float32]] = []
        self._high: list[NDArray[np.float32]] = []
        self._leftover: list[Samples] = []  # lowest and highest over channels, (2, n) each
        self._leftover_length = 0

    def feed(self, block: Samples) -> None:
        """Measures the next block."""
        channels = block[:, np.newaxis] if block.ndim == 1 else block
        self._leftover.append(np.stack([channels.min(axis=1), channels.max(axis=1)]))
        self._leftover_length += len(block)
        self.count += len(block)
        complete_length = self._leftover_length // self.stretch_samples * self.stretch_samples
        if complete_length:
            extremes = np.concatenate(self._leftover, axis=1)
            self._add_stretches(extremes[:, :complete_length].reshape(2, -1, self.stretch_samples))
            self._leftover = [extremes[:, complete_length:]]
            self._leftover_length -= complete_length

    def _add_stretches(self, extremes: NDArray[np.float32]) -> None:
        """Adds stretches, (2, stretches, samples)."""
        self._low.append(extremes[0].min(axis=1))
        self._high.append(extremes[1].max(axis=1))

    def finish(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Returns the lowest and the highest sample of each stretch; the last one may be short."""
        if self._leftover_length:
            self._add_stretches(np.concatenate(self._leftover, axis=1)[:, np.newaxis])
        empty = np.zeros(0, np.float32)
        return np.concatenate([empty, *self._low]), np.concatenate([empty, *self._high])


class _Pitch:
    """Measures the pitch of some frames of each reading."""

    FRAMES = 24
    """Frames of a reading, and the fewest voiced ones of a median."""
    MIN_FRAMES = 3

    def __init__(self, rate: int, length: int) -> None:
        self._tracker = PitchTracker(rate)
        self._frame_samples = self._tracker.frame_samples
        self._hop = max(self._frame_samples, length // (PITCHES * self.FRAMES))
        self._leftover = np.zeros(0, np.float32)
        self._samples_to_skip = 0  # samples of the next blocks between two frames
        self._pitches: list[NDArray[np.float64]] = []

    def feed(self, block: Samples) -> None:
        """Measures the next block, of one channel."""
        samples = np.concatenate([self._leftover, block[self._samples_to_skip :]])
        self._samples_to_skip = max(0, self._samples_to_skip - len(block))
        count = (len(samples) - self._frame_samples) // self._hop + 1
        if count < 1:
            self._leftover = samples
            return
        windows = np.lib.stride_tricks.sliding_window_view(samples, self._frame_samples)
        self._pitches.append(self._tracker.pitches(windows[:: self._hop][:count]))
        self._samples_to_skip = max(0, count * self._hop - len(samples))
        self._leftover = samples[count * self._hop :]

    def finish(self) -> NDArray[np.float32]:
        """Returns the medians of at most `PITCHES` stretches; NaN where too few are voiced."""
        pitches = np.concatenate([np.zeros(0), *self._pitches])
        stretches = np.array_split(pitches, max(1, min(PITCHES, len(pitches) // self.FRAMES)))
        voiced = [stretch[~np.isnan(stretch)] for stretch in stretches]
        return np.array(
            [np.median(part) if len(part) >= self.MIN_FRAMES else np.nan for part in voiced],
            np.float32,
        )
