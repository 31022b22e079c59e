"""Counts the repeated work of commands: look-ups, decodes, measurements, for two sizes of a book.

    python -m benchmarks.counts [--chapters 1]

A book is made of so many chapters, and of twice as many, with an engine that hums; each figure is
what a command does for a chunk, for an encoding of a chapter, or in all. One that is the same for
both sizes grows as the book does. The last line is JSON.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from narrator.delivery import products  # noqa: E402
from narrator.delivery.export import encode  # noqa: E402
from narrator.project import project as projects  # noqa: E402
from narrator.sound import audio  # noqa: E402
from narrator.speech.store import Store  # noqa: E402
from tests import books  # noqa: E402
from tests.fakes import HumEngine  # noqa: E402

MANIFEST = """\
title: Counted
author: A. Author
narrated_by: N. Narrator
credits: {closing: null}
speakers: {narrator: {voice: {description: An old ferryman}}}
output: {profile: [one, two]}
profiles:
  one: {base: audiobookshelf, formats: [m4b, mp3, opus, flac], files: book}
  two: {base: audiobookshelf, formats: [mp3, opus], files: chapters, loudness: -16}
chapters:
"""
FIGURES = (
    ("render", "look-ups", "chunk"),
    ("render", "chapter lists", "run"),
    ("status", "look-ups", "chunk"),
    ("status", "chapter lists", "run"),
    ("export", "look-ups", "chunk"),
    ("export", "decodes", "chunk"),
    ("export", "loudness", "encoding"),
    ("export", "chapter lists", "run"),
)
"""Command, what it does, and the unit that it should grow with."""


def make_book(folder: Path, chapters: int) -> Path:
    """A book whose chapters are alike in length, and no two chunks in words."""
    rows = [f"  - {{title: Part {n}, file: text/{n}.md}}\n" for n in range(1, chapters + 1)]
    (folder / "text").mkdir(parents=True)
    for number in range(1, chapters + 1):
        text = "\n\n".join(f"{paragraph} {number}" for paragraph in books.TWO.split("\n\n")[1:])
        (folder / "text" / f"{number}.md").write_text(text, encoding="utf-8")
    path = folder / "book.yaml"
    path.write_text(MANIFEST + "".join(rows), encoding="utf-8")
    return path


@contextlib.contextmanager
def counted(tally: Counter[str]) -> Iterator[None]:
    """Counts calls, by what they are called in the table."""

    def counting(title: str, of: Callable[..., Any]) -> Callable[..., Any]:
        def count_call(*arguments: Any, **options: Any) -> Any:
            tally[title] += 1
            return of(*arguments, **options)

        return count_call

    with contextlib.ExitStack() as stack:
        for place, name, title in (
            (Store, "find", "look-ups"),
            (audio, "decode", "decodes"),
            (encode, "measure", "loudness"),
            (projects, "credits", "chapter lists"),
        ):
            stack.enter_context(
                mock.patch.object(place, name, counting(title, getattr(place, name)))
            )
        yield


def commands(folder: Path, chapters: int) -> tuple[dict[str, int], dict[str, Counter[str]]]:
    """How many there are of each unit in a book, and what each command did."""
    path = make_book(folder, chapters)
    tallies: dict[str, Counter[str]] = {name: Counter() for name in ("render", "status", "export")}
    with counted(tallies["render"]):
        report, _ = books.run(path, HumEngine())
    assert report.complete
    with counted(tallies["status"]):
        assert all(not note for _, note in products.list_sound_files(books.plan(path, HumEngine())))
    for folder_name in ("encoded", "book"):
        shutil.rmtree(folder / "build" / folder_name)
    with counted(tallies["export"]):
        report, _ = books.run(path, HumEngine(), speak=False)
    assert report.complete
    assert report.finished
    encoded = len(report.finished.exported.encoded)
    return {"chunk": len(report.plan.steps), "encoding": encoded, "run": 1}, tallies


def check_peak(folder: Path, times: int) -> tuple[float, float]:
    """Megabytes of a book's text, and those that `check --spoken --json` needs at most."""
    folder.mkdir()
    text = "\n\n".join(f"Day {n}.\n\n{books.TWO}" for n in range(times))
    path = books.write(folder, two=text)
    command = [sys.executable, "-m", "narrator", "check", str(path), "--spoken", "--json"]
    with (folder / "out.json").open("wb") as output:
        child = subprocess.Popen(command, cwd=ROOT, stdout=output)
        _, status, usage = os.wait4(child.pid, 0)
    assert status == 0
    assert json.loads((folder / "out.json").read_bytes())["chunks"]
    scale = 1e6 if sys.platform == "darwin" else 1e3  # bytes there, kilobytes elsewhere
    return len(text) / 1e6, usage.ru_maxrss / scale


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chapters", type=int, default=1)
    small = parser.parse_args().chapters
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        sizes = [commands(folder / str(n), n) for n in (small, 2 * small)]
        peaks = [check_peak(folder / f"check {n}", n) for n in (150, 300)]
    report: dict[str, Any] = {"bench": "counts", "units": [units for units, _ in sizes]}
    for command, title, unit in FIGURES:
        counts = [tallies[command][title] for _, tallies in sizes]
        shares = [count / units[unit] for count, (units, _) in zip(counts, sizes, strict=True)]
        report[f"{command}: {title}"] = counts
        print(f"{command:8}{title:16}a {unit:10}{shares[0]:8.2f}{shares[1]:8.2f}")
    for megabytes, peak in peaks:
        print(f"check --spoken --json of {megabytes:.2f} MB: {peak:.0f} MB at most")
    report["check"] = {"text_mb": [m for m, _ in peaks], "peak_mb": [peak for _, peak in peaks]}
    print(json.dumps(report))


if __name__ == "__main__":
    main()
