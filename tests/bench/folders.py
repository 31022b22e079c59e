"""What `verify` finds in a copied folder of finished files, and how often it cries wolf there.

    python tests/bench/folders.py FOLDER [FOLDER ...] [--rounds 3]

Each folder, as `narrator render` delivered it (`build/draft`), is copied without its inventory and
verified: all that is found of it is a false alarm. Then faults are put into copies, at places drawn
by a seed, each through the file's own codec, and the finding has to name the file. Prints a table.
"""

from __future__ import annotations

import argparse
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

from narrator.delivery import inspection
from narrator.sound.audio import Samples, as_frame, decoded
from tests.sounds import blocks

Fault = Callable[[Path, random.Random], Path | None]
"""Spoils a folder; the file that is spoiled, or None where the folder has none of the kind."""

CODECS = {".mp3": "libmp3lame", ".m4b": "aac", ".flac": "flac"}


def sounds(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.suffix in CODECS)


def read(path: Path) -> tuple[Samples, int]:
    """A file's sound in one channel, and its rate."""
    with av.open(str(path)) as container:
        return np.concatenate(list(decoded(container))), container.streams.audio[0].rate


def rewrite(path: Path, change: Callable[[Samples, int], Samples] | None, **tags: str) -> None:
    """The file anew, with its tags, marks and cover, its sound changed."""
    beside = path.with_name(f"new{path.suffix}")
    form = "mp4" if path.suffix == ".m4b" else path.suffix[1:]
    with av.open(str(path)) as source, av.open(str(beside), "w", format=form) as goal:
        rate = source.streams.audio[0].rate
        goal.metadata.update({**source.metadata, **tags})
        goal.set_chapters(source.chapters())
        stream = goal.add_stream(CODECS[path.suffix], rate=rate, layout="mono")
        if path.suffix != ".flac":
            stream.bit_rate = 96000
        cover = source.streams.video[0] if source.streams.video and change else None
        picture = goal.add_stream_from_template(cover) if cover else None
        if picture and cover:
            packet = next(source.demux(cover))
            packet.stream = picture
            goal.mux(packet)
            picture.disposition = cover.disposition
        sound, _ = read(path)
        at = 0
        for block in blocks(change(sound, rate) if change else sound):
            goal.mux(stream.encode(as_frame(block, rate, at)))
            at += len(block)
        goal.mux(stream.encode(None))
    beside.replace(path)


def _spoilt(folder: Path, draw: random.Random, change: Callable[[Samples, int], Samples],
            least: float) -> Path | None:  # fmt: skip
    lengths = {path: read(path) for path in sounds(folder)}
    files = [path for path, (sound, rate) in lengths.items() if len(sound) > least * rate]
    if not files:
        return None
    path = draw.choice(files)
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
    one, other = draw.sample(chapters, 2)
    data = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(data)
    return one


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
    found = sorted(path for path in folder.rglob("*") if path.suffix in (".vtt", ".srt"))
    if not found:
        return None
    path = draw.choice(found)

    def later(match: re.Match[str]) -> str:
        minutes, seconds = divmod(int(match[1]) * 60 + int(match[2]) + 2, 60)
        return f"{minutes:02}:{seconds:02}{match[3]}"

    path.write_text(re.sub(r"(\d\d):(\d\d)([.,]\d{3})", later, path.read_text("utf-8")))
    return path


def listed_wrong(folder: Path, draw: random.Random) -> Path | None:
    found = sorted(folder.rglob("*.chapters.json"))
    if not found:
        return None
    path = draw.choice(found)
    data = json.loads(path.read_text("utf-8"))
    data["chapters"][-1]["startTime"] += 2
    path.write_text(json.dumps(data))
    return path


def cut(*endings: str) -> Fault:
    def fault(folder: Path, draw: random.Random) -> Path | None:
        found = sorted(path for path in folder.rglob("*") if path.suffix in endings)
        if not found:
            return None
        path = draw.choice(found)
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
}


def found_in(folder: Path) -> dict[str, str]:
    """The names of files that verification fails, and why."""
    seen = inspection.places([folder]).inspect(None)
    rows = {file.figures.path.name: str(file.failed[0]) for file in seen.held if file.failed}
    rows |= {path.name: str(error) for path, error in seen.unreadable}
    return rows | {(f.file or f.folder).name: f.what for f in seen.findings}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    planted, found, alarms, clean = Counter[str](), Counter[str](), 0, 0
    for folder in options.folders:
        with tempfile.TemporaryDirectory() as place:
            copy = Path(place) / "good"
            shutil.copytree(folder, copy)
            clean += len(sounds(copy))
            for name, why in found_in(copy).items():
                alarms += 1
                print(f"false alarm: {folder}: {name}: {why}")
            for kind, fault in FAULTS.items():
                for number in range(options.rounds):
                    copy = Path(place) / f"{kind} {number}"
                    shutil.copytree(folder, copy)
                    spoilt = fault(copy, random.Random(f"{kind} {number}"))
                    if spoilt is not None:
                        planted[kind] += 1
                        rows = found_in(copy)
                        found[kind] += bool(rows)
                        if not rows:
                            print(f"missed: {kind}: {folder}: {spoilt.name}")
                    shutil.rmtree(copy)
    print(f"{alarms} false alarms in {clean} sound files of {len(options.folders)} folders")
    for kind, number in planted.items():
        print(f"{kind:24} {found[kind]:3} of {number}")


if __name__ == "__main__":
    main()
