"""A flip or a truncation of any byte of any file under `build/` ends in the same product, or in
words: never in another product, a traceback or an internal error.

Sizes and times are put back each time, so that nothing but bytes can tell.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from narrator import files
from narrator.engines import Request, Speech
from narrator.pipeline import book_engines, manuscript, retakes
from narrator.sound import audio
from tests import books, faults, small_model, sounds
from tests.effort import quick
from tests.fakes import HumEngine, hum

MANIFEST = """\
title: The Ferry
author: A. Author
language: en-GB
speakers:
  narrator: {voice: {description: An old ferryman}}
  ann: {voice: {description: A girl, seed: 3}}
chapters:
  - {title: Morning, file: text/one.md}
  - {title: Evening, file: text/two.md}
music: [{file: theme.wav, place: intro, seconds: 0.5}]
pauses: {head: 0.1, tail: 0.1, line: 0.1, speaker: 0.1}
output: {formats: [m4b, flac], files: chapters, companions: [vtt, chapters, readalong]}
"""
ONE = "# Morning\n\nann: Is there room?\n\nann: There is room enough.\n"
TWO = "# Evening\n\nann: Good night, then.\n"

KINDS = {
    "a take": "store/??/*.take",
    "a try": "store/??/*.try",
    "the journal": "store/journal.jsonl",
    "pins": "store/pins.json",
    "an encoded chapter": "encoded/*/*.m4a",
    "a lossless chapter": "encoded/*/*.flac",
    "an index of one": f"encoded/*/{'[0-9a-f]' * 40}.json",
    "what was delivered": "encoded/*/files.json",
    "a timeline": "timeline/*/*.json",
    "what music measures": "music/*.json",
    "a book": "book/*.m4b",
    "a chapter": "book/*/*.flac",
    "a companion": "book/**/*.vtt",
    "a book to read along": "book/*.epub",
    "chapters in a list": "book/*.chapters.json",
    "the ledger": "ledger-*.json",
    "what was made": "made.json",
    "speeds": "speed.json",
    "a report": "report.json",
    "a log": "logs/*.log",
    "the lock": ".lock",
}
"""Every kind of file under `build`."""
MADE_OF = {"store": ("encoded", "book"), "encoded": ("book",)}
"""What is deleted, so that a file in that folder must be used again."""


def engine() -> HumEngine:
    """It says one thing badly at first, which leaves a try."""

    def fault(request: Request) -> Speech | None:
        clipped = request.attempt == 0 and "enough" in request.text
        return Speech(np.ones_like(hum(request).samples), None) if clipped else None

    return HumEngine(fault=fault)


@dataclass(frozen=True)
class Book:
    root: Path
    good: dict[str, bytes]
    """Every file for listeners, by its path."""

    def files(self, kind: str) -> list[Path]:
        return sorted((self.root / "build").glob(KINDS[kind]))


def products(root: Path) -> dict[str, bytes]:
    folder = root / "build" / "book"
    found = folder.rglob("*") if folder.is_dir() else ()
    return {str(p.relative_to(folder)): p.read_bytes() for p in found if p.is_file()}


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Book:
    path = books.write(tmp_path_factory.mktemp("good"), MANIFEST, ONE, TWO)
    theme = sounds.tone(1.0) * np.float32(0.3)
    (path.parent / "theme.wav").write_bytes(audio.encode_wav(theme, sounds.RATE))
    code, said = faults.command(engine(), "render", path)
    assert code == 0, said
    planned = books.plan(path, engine())
    retakes.pin(planned, planned.steps[-1], 1)
    files.save_json(path.parent / "build" / "speed.json", {"hum": 40.5})
    assert faults.command(engine(), "render", path)[0] == 0
    return Book(path.parent, products(path.parent))


def harmed(book: Book, file: Path, data: bytes, scratch: Path) -> Path:
    """A copy of the project with other bytes in one file, and that file about to be used."""
    shutil.copytree(book.root, scratch)
    inside = file.relative_to(book.root)
    stat, there = file.stat(), scratch / inside
    there.write_bytes(data)
    os.utime(there, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    for folder in MADE_OF.get(inside.parts[1], ()):
        shutil.rmtree(scratch / "build" / folder)
    return scratch / "book.yaml"


def harms(data: bytes, places: Sequence[int]) -> Iterator[tuple[str, bytes]]:
    """Each place flipped, and the file ended there, in turns."""
    for place in places:
        bit = (1, 255, 2, 128, 4, 64, 8, 32, 16)[place % 9]
        if place < len(data):
            flipped = data[:place] + bytes([data[place] ^ bit]) + data[place + 1 :]
            yield f"byte {place} ^ {bit}", flipped
        yield f"{place} bytes", data[:place]


def check(
    book: Book, file: Path, what: str, data: bytes, scratch: Path, *, look: bool = False
) -> None:
    """The same product, or words; `look`: also of the commands that only look."""
    path = harmed(book, file, data, scratch)
    at = f"{file.relative_to(book.root)}, {what}: "
    for command in (*(["status", "plan"] if look else []), "render"):
        code, said = faults.command(speaker := engine(), command, path)
        assert code in ((0, 3) if command == "render" else (0, 3, 1)), at + said
        assert "Traceback" not in said, at + said
        assert code == 0 or said.startswith("error: "), at + said
    now = products(scratch)
    if code == 0:
        assert now == book.good, at + said
    else:
        assert now.items() <= book.good.items(), at + said
    if file.suffix != ".take":
        assert not speaker.requests, at + said
    shutil.rmtree(scratch)


def test_every_file_under_build_is_of_a_kind_that_is_tried(book):
    every = {path for path in (book.root / "build").rglob("*") if path.is_file()}
    of_kinds = [set(book.files(kind)) for kind in KINDS]
    assert all(of_kinds)
    assert set().union(*of_kinds) == every


@pytest.mark.parametrize(
    "kind",
    quick(
        KINDS,
        "a take", "the journal", "pins", "an encoded chapter", "what was delivered", "a book",
    ),
)  # fmt: skip
def test_a_damaged_file_changes_no_product_in_silence(kind, book, tmp_path):
    draw = random.Random(kind)
    file = draw.choice(book.files(kind))
    data = file.read_bytes()
    whole = list(harms(data, [0, draw.randrange(len(data) or 1), max(0, len(data) - 2)]))
    what, harm = draw.choice(whole)
    check(book, file, what, harm, tmp_path / "book")


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_damage_at_many_places_changes_no_product_in_silence(kind, book, tmp_path):
    draw = random.Random(kind)
    for file in book.files(kind)[:2]:
        data = file.read_bytes()
        ends = [*range(min(60, len(data))), *range(max(0, len(data) - 60), len(data))]
        places = sorted({*draw.sample(ends, min(20, len(ends))),
                         *(draw.randrange(len(data) or 1) for _ in range(20))})  # fmt: skip
        for number, (what, harm) in enumerate(harms(data, places)):
            check(book, file, what, harm, tmp_path / "book", look=number % 8 == 0)


# -- what the model leaves -------------------------------------------------------------------------


def through_the_model(path: Path) -> tuple[int, str]:
    with small_model.lenient():
        real = book_engines.make_main_engine(manuscript.read_manuscript(path).project)
        return faults.command(real, "render", path)


MODELS_OWN = {
    "a cast voice": "cast/*.voice",
    "an encoded voice": "voices/*.npz",
    "the weights' name": "engine-book.json",
    "a take with latents": "store/??/*.take",
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", MODELS_OWN)
def test_damage_to_what_the_model_left_changes_no_product_in_silence(kind, tmp_path, monkeypatch):
    monkeypatch.setenv("NARRATOR_HOME", str(tmp_path / "library"))
    path = small_model.write(tmp_path / "good", small_model.checkpoint(tmp_path))
    assert through_the_model(path)[0] == 0
    if kind == "an encoded voice":  # which is read when something is spoken
        last = books.plan(
            path,
            book_engines.make_main_engine(manuscript.read_manuscript(path).project),
        )
        gone = last.steps[-1].key
        (path.parent / "build" / "store" / gone[:2] / f"{gone}.take").unlink()
        shutil.copytree(path.parent, tmp_path / "control")
        assert through_the_model(tmp_path / "control" / "book.yaml")[0] == 0
        good = Book(path.parent, products(tmp_path / "control"))
    else:
        good = Book(path.parent, products(path.parent))
    draw = random.Random(kind)
    for file in sorted((path.parent / "build").glob(MODELS_OWN[kind]))[:2]:
        data = file.read_bytes()
        places = [0, 30, len(data) - 20, *(draw.randrange(len(data)) for _ in range(6))]
        for what, harm in harms(data, places):
            code, said = through_the_model(harmed(good, file, harm, tmp_path / "book"))
            at = f"{file.name}, {what}: {said}"
            assert code in (0, 2), at
            assert "Traceback" not in said, at
            if code == 0 and "damaged" not in said:
                assert products(tmp_path / "book") == good.good, at
            shutil.rmtree(tmp_path / "book")
