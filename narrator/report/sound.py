"""Measures delivered chapters as curves, in bounded memory: waveform, loudness over time, spectrum.

A file is decoded once, block by block, whatever chapters it holds; curves, figures and drawings are
kept under `build`, so that unchanged files are not decoded again. Knows nothing of pages and plots.
"""

from __future__ import annotations

import io
import os
import threading
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from narrator import files, keys
from narrator.delivery import postflight
from narrator.errors import UserError
from narrator.sound import media
from narrator.sound.audio import BlockReader, Samples, decode_frames, filter_stream
from narrator.sound.loudness import SILENT_LUFS, Loudness
from narrator.sound.probe import ChapterMark, FileFigures
from narrator.sound.spectra import Spectra
from textbase.files import Unfit

POINTS = 1500
"""Points of a chapter's waveform: more than a screen shows."""
READINGS = 750
"""Readings of a chapter's loudness, each over three seconds."""
BANDS, COLUMNS = 96, 900
"""Size of a spectrogram."""
QUIETEST = -60.0
"""LUFS: anything quieter counts as silence."""
DEPTH = 80.0
"""dB from the strongest to the weakest sound that a spectrogram shows."""

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
    spectrum: NDArray[np.uint8] | None = None
    """(bands, columns), lowest band first; 255 is the strongest, 0 is `DEPTH` dB below."""
    top: float = 0.0
    """Upper limit of the highest band in Hz."""


@dataclass(frozen=True, slots=True)
class ChapterSound:
    """The position of a chapter in a file."""

    chapter: int
    """Counted from 0."""
    start: float
    """Seconds."""
    seconds: float
    spectrum: bool
    """True where its spectrum is needed."""


def starts(file: FileFigures, lengths: Sequence[float]) -> list[float]:
    """Returns the seconds at which a file's chapters begin: by its marks, else by their lengths."""
    if len(file.marks) == len(lengths):
        return [mark.start for mark in file.marks]
    return [float(sum(lengths[:n])) for n in range(len(lengths))]


# -- what is kept ----------------------------------------------------------------------------------


@dataclass(slots=True)
class CurveCache:
    """Keeps curves and figures of files in a folder. Missing or damaged ones are measured again."""

    folder: Path
    used: set[str] = field(default_factory=set)

    def curve(self, path: Path, part: ChapterSound) -> Curve | None:
        """Loads the curve of a chapter, with its spectrum where that is needed; None where it is
        missing."""
        key = self._key(path, part)
        self.used |= {f"{key}.npz", f"{key}-spectrum.npz"}
        try:
            facts = self._load(key)
            if part.spectrum:
                facts |= self._load(f"{key}-spectrum")
        except (OSError, ValueError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error):
            return None  # missing or damaged: measured again
        try:
            return Curve(
                float(facts["seconds"]), facts["low"], facts["high"], facts["loudness"],
                float(facts["integrated"]), float(facts["spread"]),
                np.asarray(facts["spectrum"], np.uint8) if part.spectrum else None,
                float(facts["top"]) if part.spectrum else 0.0,
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
        key = self._key(path, part)
        arrays = asdict(curve)
        spectrum = {name: arrays.pop(name) for name in ("spectrum", "top")}
        self._save(key, arrays)
        if curve.spectrum is not None:
            self._save(f"{key}-spectrum", spectrum)

    def _save(self, name: str, arrays: Mapping[str, object]) -> None:
        """Saves the arrays and numbers of an entry. Raises StorageError."""
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            for array_name, array in arrays.items():
                with archive.open(f"{array_name}.npy", "w") as file:
                    np.lib.format.write_array(file, np.asarray(array), allow_pickle=False)
        files.write(self.folder / f"{name}.npz", buffer.getvalue())

    def picture(
        self, path: Path, part: ChapterSound, recipe: Mapping[str, object], draw: Callable[[], str]
    ) -> str:
        """Returns a drawing of a chapter's curve, from the cache or by `draw`.

        `recipe` is everything else that decides it. Raises StorageError.
        """
        name = f"{keys.key({'curve': self._key(path, part), **recipe})}.svg.z"
        self.used.add(name)
        try:
            return zlib.decompress((self.folder / name).read_bytes()).decode()
        except (OSError, zlib.error):
            drawn = draw()
        files.write(self.folder / name, zlib.compress(drawn.encode()))
        return drawn

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
        return keys.key({"curve": 1, "place": place, **_file_identity(path)})


def _file_identity(path: Path) -> dict[str, object]:
    """Returns facts that identify an unchanged file: a book of 26 hours is not hashed for a
    page."""
    stat = path.stat()
    return {"name": path.name, "size": stat.st_size, "time": stat.st_mtime_ns}


# -- measuring -------------------------------------------------------------------------------------


def figures(
    paths: Sequence[Path], curve_cache: CurveCache, on_progress: Progress
) -> dict[Path, FileFigures | UserError]:
    """Measures files, or loads their measurements; for unreadable files returns the error.

    Raises StorageError.
    """
    measured: dict[Path, FileFigures | UserError] = {}
    for path in paths:
        if (cached_figures := curve_cache.figures(path)) is not None:
            measured[path] = cached_figures
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
    on_progress: Progress,
) -> dict[int, Curve]:
    """Returns curves by chapter; the parts of one file are in order of their starts.

    Files are decoded side by side. A chapter whose file cannot be read has no curve. Raises
    StorageError.
    """
    by_chapter: dict[int, Curve] = {}
    files_to_read: list[tuple[Path, list[ChapterSound]]] = []
    for path, parts in parts_by_file.items():
        cached_curves = {part.chapter: curve_cache.curve(path, part) for part in parts}
        by_chapter |= {chapter: curve for chapter, curve in cached_curves.items() if curve}
        if missing_parts := [part for part in parts if cached_curves[part.chapter] is None]:
            files_to_read.append((path, missing_parts))
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
                    yield part, _curve(blocks, rate, length, needs_spectrum=part.spectrum)
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


def _curve(blocks: Iterator[Samples], rate: int, length: int, *, needs_spectrum: bool) -> Curve:
    """Measures a chapter's samples, whose number is `length`."""
    envelope = _Envelope(max(1, -(-length // POINTS)))
    spectrum = _Spectrum(rate, length) if needs_spectrum else None

    def metered_blocks() -> Iterator[Samples]:
        for block in blocks:
            envelope.feed(block)
            if spectrum:
                spectrum.feed(block if block.ndim == 1 else block.mean(axis=1, dtype=np.float32))
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
        spectrum=spectrum.finish() if spectrum else None,
        top=spectrum.top if spectrum else 0.0,
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


class _Spectrum:
    """Measures the mean power of every column and mel band, from some frames of each column."""

    FRAME_SAMPLES = 2048
    MIN_FRAMES = 8
    """Frames of a column: more would not change the look of a long chapter."""

    def __init__(self, rate: int, length: int) -> None:
        self.top = min(rate / 2, 12_000.0)
        self._hop = max(self.FRAME_SAMPLES // 2, length // (COLUMNS * self.MIN_FRAMES))
        self._frames_per_column = max(1, -(-length // (self._hop * COLUMNS)))
        edges = 700 * (10 ** (np.linspace(0, mel(self.top), BANDS + 1) / 2595) - 1)
        self._edges = np.rint(edges * self.FRAME_SAMPLES / rate).astype(np.intp)
        self._window = np.hanning(self.FRAME_SAMPLES).astype(np.float32)
        self._leftover = np.zeros(0, np.float32)
        self._samples_to_skip = 0  # samples of the next blocks between two frames
        self._frames = np.zeros((0, BANDS))  # of the incomplete column
        self._columns: list[NDArray[np.float64]] = []

    def feed(self, block: Samples) -> None:
        """Measures the next block, of one channel."""
        samples = np.concatenate([self._leftover, block[self._samples_to_skip :]])
        self._samples_to_skip = max(0, self._samples_to_skip - len(block))
        count = (len(samples) - self.FRAME_SAMPLES) // self._hop + 1
        if count < 1:
            self._leftover = samples
            return
        windows = np.lib.stride_tricks.sliding_window_view(samples, self.FRAME_SAMPLES)
        bins = np.fft.rfft(windows[:: self._hop][:count] * self._window, axis=1)
        # double precision: residues of coded silence are denormal floats, which are slow
        power = np.square(bins.real, dtype=np.float64) + np.square(bins.imag, dtype=np.float64)
        self._samples_to_skip = max(0, count * self._hop - len(samples))
        self._leftover = samples[count * self._hop :]
        # a band narrower than a bin takes the bin in which it begins
        sums = np.add.reduceat(power[:, : self._edges[-1]], self._edges[:-1], axis=1)
        bands = sums / np.maximum(1, np.diff(self._edges))
        frames = np.concatenate([self._frames, bands])
        column_count = len(frames) // self._frames_per_column
        full_frames = frames[: column_count * self._frames_per_column].reshape(
            column_count, self._frames_per_column, BANDS
        )
        self._columns += list(full_frames.mean(axis=1))
        self._frames = frames[column_count * self._frames_per_column :]

    def finish(self) -> NDArray[np.uint8]:
        """Returns the image: (bands, columns), 255 for the strongest."""
        if len(self._frames):
            self._columns.append(self._frames.mean(axis=0))
        power = np.array(self._columns).reshape(-1, BANDS).T
        decibels = 10 * np.log10(np.maximum(power, 1e-20))
        highest = decibels.max(initial=-200.0)
        return np.rint(255 * np.clip(1 + (decibels - highest) / DEPTH, 0, 1)).astype(np.uint8)


def mel(hertz: float) -> float:
    """Converts Hz to O'Shaughnessy's mel scale, on which equal steps sound alike."""
    return float(2595 * np.log10(1 + hertz / 700))
