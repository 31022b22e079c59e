"""Counts the faults that `verify` finds in a folder of finished files, and its false alarms.

    python -m benchmarks.folders FOLDER [FOLDER ...] [--rounds 3]

Each folder, as `narrator render` delivered it (`build/draft`), is copied without its inventory and
verified: all that is found of it is a false alarm, as is what is found of a copy one of whose files
was encoded again. Then faults are put into copies, at places drawn by a seed, each through the
file's own codec, and a finding has to name the file. Prints a table.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import random
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import av
import numpy as np
from av.audio.stream import AudioStream
from av.container import InputContainer, OutputContainer
from av.packet import Packet
from av.stream import Disposition

from narrator import keys
from narrator.delivery import postflight
from narrator.sound import probe
from narrator.sound.audio import Samples, decode_frames, to_frame
from tests.sounds import blocks

Fault = Callable[[Path, random.Random], Path | None]
"""Spoils a folder; the file that is spoiled, or None where the folder has none of the kind."""

CODECS = {".mp3": "libmp3lame", ".m4b": "aac", ".flac": "flac"}


def sounds(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.suffix in CODECS)


def read(path: Path) -> tuple[Samples, int]:
    """A file's sound in one channel, and its rate."""
    with av.open(str(path)) as container:
        return np.concatenate(list(decode_frames(container))), container.streams.audio[0].rate


def copy_cover(source: InputContainer, goal: OutputContainer) -> None:
    for cover in source.streams.video[:1]:
        codec = "png" if cover.name == "png" else "mjpeg"
        picture = goal.add_mux_stream(codec, width=cover.width, height=cover.height)
        picture.disposition = Disposition.attached_pic
        packet = Packet(bytes(next(source.demux(cover))))
        packet.stream = picture
        packet.pts = packet.dts = 0
        packet.is_keyframe = True
        goal.mux_one(packet)


def rewrite(
    path: Path,
    change: Callable[[Samples, int], Samples] | None,
    *,
    keeps_marks: bool = True,
    **tags: str,
) -> None:
    """The file anew, with its tags, marks and cover, its sound changed."""
    new_path = path.with_name(f"new{path.suffix}")
    form = "mp4" if path.suffix == ".m4b" else path.suffix[1:]
    with av.open(str(path)) as source, av.open(str(new_path), "w", format=form) as goal:
        rate = source.streams.audio[0].rate
        goal.metadata.update({**source.metadata, **tags})
        goal.set_chapters(source.chapters() if keeps_marks else [])
        stream = goal.add_stream(CODECS[path.suffix], rate=rate, layout="mono")
        assert isinstance(stream, AudioStream)
        if path.suffix != ".flac":
            stream.bit_rate = 96000
        if change:
            copy_cover(source, goal)
        sound, _ = read(path)
        position = 0
        for block in blocks(change(sound, rate) if change else sound):
            goal.mux(stream.encode(to_frame(block, rate, position)))
            position += len(block)
        goal.mux(stream.encode(None))
    new_path.replace(path)


def seconds(path: Path) -> float:
    with av.open(str(path)) as container:
        return (container.duration or 0) / av.time_base


def _spoilt(folder: Path, draw: random.Random, change: Callable[[Samples, int], Samples],
            min_seconds: float) -> Path | None:  # fmt: skip
    long_enough = [path for path in sounds(folder) if seconds(path) > min_seconds]
    if not long_enough:
        return None
    path = draw.choice(long_enough)
    rewrite(path, change)
    return path


def doubled(folder: Path, draw: random.Random) -> Path | None:
    def change(sound: Samples, rate: int) -> Samples:
        start = draw.randrange(rate, len(sound) - 3 * rate)
        return np.concatenate([sound[: start + 2 * rate], sound[start:]])

    return _spoilt(folder, draw, change, 8)


def holed(folder: Path, draw: random.Random) -> Path | None:
    def change(sound: Samples, rate: int) -> Samples:
        start = draw.randrange(rate, len(sound) - 4 * rate)
        sound = sound.copy()
        sound[start : start + 3 * rate] = 0
        return sound

    return _spoilt(folder, draw, change, 8)


def swapped(folder: Path, draw: random.Random) -> Path | None:
    chapters = [path for path in sounds(folder) if re.match(r"\d\d - ", path.name)]
    if len(chapters) < 2:
        return None
    first = draw.choice(chapters)
    siblings = [path for path in chapters if path.parent == first.parent and path != first]
    if not siblings:
        return None
    second = draw.choice(siblings)
    first_bytes = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(first_bytes)
    return first


def retitled(folder: Path, draw: random.Random) -> Path | None:
    path = draw.choice(sounds(folder))
    rewrite(path, lambda sound, rate: sound, title="Another Thing")
    return path


def uncovered(folder: Path, draw: random.Random) -> Path | None:
    path = draw.choice(sounds(folder))
    with av.open(str(path)) as source:
        if not source.streams.video:
            return None
    rewrite(path, None)
    return path


def late(folder: Path, draw: random.Random) -> Path | None:
    caption_files = sorted(path for path in folder.rglob("*") if path.suffix in (".vtt", ".srt"))
    if not caption_files:
        return None
    path = draw.choice(caption_files)

    def later(match: re.Match[str]) -> str:
        minutes, seconds = divmod(int(match[1]) * 60 + int(match[2]) + 2, 60)
        return f"{minutes:02}:{seconds:02}{match[3]}"

    path.write_text(re.sub(r"(\d\d):(\d\d)([.,]\d{3})", later, path.read_text("utf-8")))
    return path


def reworded(folder: Path, draw: random.Random) -> Path | None:
    """Three words of one `.vtt` replaced, where an `.srt` lies beside it."""
    captions = [path for path in sorted(folder.rglob("*.vtt")) if path.with_suffix(".srt").exists()]
    if not captions:
        return None
    path = draw.choice(captions)
    text = path.read_text("utf-8")
    words = list(re.finditer(r"(?<=[ >])[a-z]{4,}(?=[ .,\n])", text.partition("-->")[2]))
    if len(words) < 3:
        return None
    for word in draw.sample(words, 3):
        text = text.replace(word[0], "x" * len(word[0]))
    path.write_text(text, "utf-8")
    return path


def without_companion(ending: str) -> Fault:
    """One companion missing, where another file of its format has one."""

    def remove_companion(folder: Path, draw: random.Random) -> Path | None:
        companions = [
            path
            for path in sorted(folder.rglob(f"*{ending}"))
            if len(list(path.parent.glob(f"*{ending}"))) > 1
        ]
        if not companions:
            return None
        path = draw.choice(companions)
        path.unlink()
        return path

    return remove_companion


def unmarked(folder: Path, draw: random.Random) -> Path | None:
    """Marks taken from a book beside whose sound a cue sheet lies."""
    books = []
    for path in sounds(folder):
        sheets = (path.with_suffix(".cue"), path.with_name(f"{path.stem} ({path.suffix[1:]}).cue"))
        if any(sheet.exists() for sheet in sheets):
            books.append(path)
    if not books:
        return None
    path = draw.choice(books)
    rewrite(path, lambda sound, rate: sound, keeps_marks=False)
    return path


def of_another_artist(folder: Path, draw: random.Random) -> Path | None:
    chapters = [path for path in sounds(folder) if re.match(r"\d\d - ", path.name)]
    if not chapters:
        return None
    path = draw.choice(chapters)
    rewrite(path, lambda sound, rate: sound, artist="Another Artist")
    return path


def sheet_of_nothing(folder: Path, draw: random.Random) -> Path | None:
    sheets = sorted(folder.rglob("*.cue"))
    if not sheets:
        return None
    path = draw.choice(sheets)
    text = re.sub(r'FILE ".*"', 'FILE "not here.mp3"', path.read_text("utf-8"))
    path.write_text(text, "utf-8")
    return path


def encoded_again(folder: Path, draw: random.Random) -> Path | None:
    """No fault: what is found of such a file says nothing of the fault that is put into it."""
    path = draw.choice(sounds(folder))
    rewrite(path, lambda sound, rate: sound)
    return path


def listed_wrong(folder: Path, draw: random.Random) -> Path | None:
    chapter_lists = sorted(folder.rglob("*.chapters.json"))
    if not chapter_lists:
        return None
    path = draw.choice(chapter_lists)
    chapter_list = json.loads(path.read_text("utf-8"))
    chapter_list["chapters"][-1]["startTime"] += 2
    path.write_text(json.dumps(chapter_list))
    return path


def cut(*endings: str) -> Fault:
    def fault(folder: Path, draw: random.Random) -> Path | None:
        candidates = sorted(path for path in folder.rglob("*") if path.suffix in endings)
        if not candidates:
            return None
        path = draw.choice(candidates)
        path.write_bytes(path.read_bytes()[: path.stat().st_size * 6 // 10])
        return path

    return fault


FAULTS: dict[str, Fault] = {
    "2 s doubled": doubled,
    "3 s of silence": holed,
    "chapters exchanged": swapped,
    "wrong title": retitled,
    "no cover": uncovered,
    "captions 2 s late": late,
    "chapter list 2 s late": listed_wrong,
    "sound cut at 60 %": cut(*CODECS),
    "EPUB cut at 60 %": cut(".epub"),
    "captions cut at 60 %": cut(".vtt", ".srt"),
    "words replaced in .vtt": reworded,
    ".vtt missing": without_companion(".vtt"),
    "marks missing, .cue whole": unmarked,
    "another artist": of_another_artist,
    ".cue names no file": sheet_of_nothing,
    "no fault, encoded again": encoded_again,
}


def verify_folder(folder: Path) -> dict[str, str]:
    """The names of files that verification fails, and why."""
    inspection = postflight.collect_files([folder]).inspect(None)
    failed_files = [file for file in inspection.inspected_files if file.failed]
    rows = {file.figures.path.name: str(file.failed[0]) for file in failed_files}
    rows |= {path.name: str(error) for path, error in inspection.unreadable}
    return rows | {(f.file or f.folder).name: f.what for f in inspection.findings}


def measure_once() -> None:
    """Have files of equal bytes measured once: most of a folder's copies are equal."""
    figures_by_content: dict[str, probe.FileFigures] = {}
    measure = probe.measure_sound_file

    def figures(
        path: Path, on_progress: Callable[[float], None] | None = None
    ) -> probe.FileFigures:
        content = keys.file_content(path)
        if content not in figures_by_content:
            figures_by_content[content] = measure(path, on_progress)
        return dataclasses.replace(figures_by_content[content], path=path)

    postflight.measure_sound_file = figures  # type: ignore[attr-defined]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--fault", choices=FAULTS, action="append", help="only such")
    options = parser.parse_args()
    measure_once()
    planted, found_counts, alarms, clean = Counter[str](), Counter[str](), 0, 0
    for folder in options.folders:
        with tempfile.TemporaryDirectory() as place:
            copy = Path(place) / "good"
            shutil.copytree(folder, copy)
            clean += len(sounds(copy))
            for name, why in verify_folder(copy).items():
                alarms += 1
                print(f"false alarm: {folder}: {name}: {why}")
            for kind in options.fault or FAULTS:
                for number in range(options.rounds):
                    copy = Path(place) / f"{kind} {number}"
                    shutil.copytree(folder, copy)
                    spoilt = FAULTS[kind](copy, random.Random(f"{folder} {kind} {number}"))
                    if spoilt is not None:
                        planted[kind] += 1
                        rows = verify_folder(copy)
                        is_named = any(spoilt.name in (name, *re.findall("'(.*?)'", why))
                                    for name, why in rows.items())  # fmt: skip
                        found_counts[kind] += is_named
                        if not is_named:
                            print(f"missed: {kind} {number}: {folder}: {spoilt.name} {rows or ''}")
                    shutil.rmtree(copy)
    print(f"{alarms} false alarms in {clean} sound files of {len(options.folders)} folders")
    for kind, number in planted.items():
        print(f"{kind:26} {found_counts[kind]:3} of {number}")


if __name__ == "__main__":
    main()
