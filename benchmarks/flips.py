"""Bytes that a disk flips in a build: each is used nowhere, made anew, or reported.

    python -m benchmarks.flips [--flips 300] [--seed 0]

A small book with word times, a pin and companions is rendered. Each flip is of one random bit at a
random place of all files under `build`, in a copy of it; size and time of the file stay as they
were. Then `status --deep` and `render` run, and `verify` where neither has said anything. A flip is

    reported    by one of them, by a message, a list of its JSON or its exit code
    anew        the file is what it was, or was written anew, and what listeners get is what it was
    unused      the file stays altered, and nothing that listeners get differs
    silent      something that listeners get, or a take, stays altered, and nobody says so

Ends with one JSON line. Exit code 1 where a flip is silent.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from narrator.sound.timing import TimedWord, WordTimes
from narrator.text.words import words
from tests import books, faults
from tests.fakes import HumEngine

MANIFEST = books.MANIFEST.replace(
    "{formats: [wav], files: chapters}",
    "{formats: [opus], files: both, companions: [vtt, srt, chapters, readalong]}",
)
ENGINE = HumEngine()
OUTCOMES = ("reported", "anew", "unused", "silent")
VARIES = frozenset(
    ("stages", "wall_seconds", "real_time_factor", "engine_busy", "engine_note", "slots")
)
"""Facts of a run that differ each time."""


@dataclass(frozen=True)
class Flip:
    """One bit of a file of the build."""

    name: str
    place: int
    bit: int

    @property
    def kind(self) -> str:
        """The file's folder and ending."""
        path = Path(self.name)
        folder = path.parts[0] if len(path.parts) > 1 else ""
        name = path.name if folder in ("store", "") and path.suffix != ".take" else path.suffix
        return f"{folder}/{name}" if folder else name

    @property
    def is_precious(self) -> bool:
        """True if it is in a file for listeners, or in a take."""
        return self.name.startswith("book/") or self.name.endswith(".take")


class Trials:
    """A rendered book, and copies of it in which bits are flipped."""

    def __init__(self, folder: Path) -> None:
        self.path = books.brief(folder / "book", MANIFEST)
        self.build, self.intact_build = self.path.parent / "build", folder / "whole"
        books.run(self.path, ENGINE)
        book = books.plan(self.path, ENGINE)
        for step in book.steps:
            take = book.takes.current(step)
            assert take is not None
            times = (
                TimedWord(*span, 0.05 + n / 10, 0.1 + n / 10)
                for n, span in enumerate(words(step.text, step.language))
            )
            word_times = WordTimes("whisper", tuple(times))
            book.store.transcripts.store_times(take.content, step.text, "whisper 1", word_times)
        code, output = faults.command(ENGINE, "pin", "1.1", "1", self.path)
        assert code == 0, output
        faults.command(ENGINE, "render", self.path)
        shutil.copytree(self.build, self.intact_build)
        self.intact_facts = self._status(), self._render()
        self.restore()
        self.files = {
            path.relative_to(self.build).as_posix(): path.stat().st_size
            for path in sorted(self.build.rglob("*"))
            if path.is_file() and path.stat().st_size
        }

    def draw(self, count: int, seed: int) -> Iterator[Flip]:
        """Random flips; each kind of file has its turn, so that large files are not all."""
        chance = random.Random(seed)
        kinds: dict[str, list[str]] = defaultdict(list)
        for name in self.files:
            kinds[Flip(name, 0, 0).kind].append(name)
        names = sorted(kinds)
        for number in range(count):
            name = chance.choice(kinds[names[number % len(names)]])
            yield Flip(name, chance.randrange(self.files[name]), chance.randrange(8))

    def outcome(self, flip: Flip) -> str:
        """Makes a flip; returns its outcome, one of OUTCOMES."""
        self.restore()
        path = self.build / flip.name
        before, stat = path.read_bytes(), path.stat()
        altered = bytearray(before)
        altered[flip.place] ^= 1 << flip.bit
        path.write_bytes(altered)
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
        status = self._status()
        if status != self.intact_facts[0] or self._render() != self.intact_facts[1]:
            return "reported"
        stays = path.exists() and path.read_bytes() == bytes(altered)
        if self._is_delivered_whole() and not (stays and flip.is_precious):
            return "unused" if stays else "anew"
        code, _ = faults.command(None, "verify", self.build)
        return "reported" if code else "silent"

    def restore(self) -> None:
        """Makes the build what it was."""
        shutil.rmtree(self.build)
        shutil.copytree(self.intact_build, self.build)

    def _is_delivered_whole(self) -> bool:
        return all(
            (self.build / name).is_file()
            and (self.build / name).read_bytes() == (self.intact_build / name).read_bytes()
            for name in self.files
            if name.startswith("book/")
        )

    def _status(self) -> tuple[int, Any]:
        return self._facts("status", "--deep")

    def _render(self) -> tuple[int, Any]:
        return self._facts("render")

    def _facts(self, command: str, *options: str) -> tuple[int, Any]:
        """The exit code of a command, and what it says but for what differs each time."""
        code, output = faults.command(ENGINE, command, self.path, "--json", *options)
        if not output.startswith("{"):
            return code, output
        facts: Mapping[str, Any] = json.JSONDecoder().raw_decode(output)[0]
        return code, {name: fact for name, fact in facts.items() if name not in VARIES}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--flips", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    silent: list[Flip] = []
    with tempfile.TemporaryDirectory() as folder:
        os.environ["NARRATOR_HOME"] = f"{folder}/home"
        trials = Trials(Path(folder))
        for flip in trials.draw(options.flips, options.seed):
            outcome = trials.outcome(flip)
            counts[flip.kind][outcome] += 1
            if outcome == "silent":
                silent.append(flip)
                print(f"silent: {flip}", file=sys.stderr)
    print(f"{'file':32}" + "".join(f"{name:>10}" for name in OUTCOMES))
    for kind, row in sorted(counts.items()):
        print(f"{kind:32}" + "".join(f"{row[name]:10}" for name in OUTCOMES))
    totals = sum(counts.values(), Counter[str]())
    print(json.dumps({"flips": options.flips, **{name: totals[name] for name in OUTCOMES}}))
    sys.exit(bool(silent))


if __name__ == "__main__":
    main()
