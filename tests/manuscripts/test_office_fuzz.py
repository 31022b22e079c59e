"""Damaged files of word processors: each is imported, or refused in one line."""

from __future__ import annotations

import random
import zipfile
from pathlib import Path

import pytest

from manuscripts.errors import ImportFailed
from narrator.importing import import_book
from tests.effort import quick

_FOLDER = Path(__file__).parents[1] / "golden" / "manuscripts"
_SOURCES = {
    "docx": ("hall-pandoc.docx", ("word/document.xml", "word/styles.xml", "word/footnotes.xml")),
    "odt": ("hall-pandoc.odt", ("content.xml", "styles.xml", "meta.xml")),
    "rtf": ("hall-libreoffice.rtf", ()),
}
_ROUNDS = 120


def _damaged(data: bytes, dice: random.Random) -> bytes:
    """Bytes that are cut, flipped, doubled or swapped here and there."""
    for _ in range(dice.choice((1, 1, 2, 8))):
        begin = dice.randrange(len(data) + 1)
        end = min(len(data), begin + dice.choice((1, 3, 40, 900)))
        piece = data[begin:end]
        flipped = bytes(byte ^ dice.choice((1, 4, 32)) for byte in piece[:9])
        made = dice.choice((b"", piece * 2, flipped + piece[9:], piece[::-1], b"<", b"{\\"))
        data = data[:begin] + made + data[end:] if dice.random() < 0.9 else data[:begin]
    return data


def _variant(kind: str, dice: random.Random, path: Path) -> None:
    """Write a damaged file: within a part of it, or anywhere."""
    name, parts = _SOURCES[kind]
    if not parts or dice.random() < 0.2:
        path.write_bytes(_damaged((_FOLDER / name).read_bytes(), dice))
        return
    hurt = dice.choice(parts)
    with zipfile.ZipFile(_FOLDER / name) as old, zipfile.ZipFile(path, "w") as new:
        for part in old.namelist():
            data = old.read(part)
            new.writestr(part, _damaged(data, dice) if part == hurt else data)


@pytest.mark.parametrize("kind", sorted(_SOURCES))
@pytest.mark.parametrize("seed", quick(range(_ROUNDS), *range(12)))
def test_damaged_files_are_imported_or_refused_in_one_line(
    kind: str, seed: int, tmp_path: Path
) -> None:
    path = tmp_path / f"book.{kind}"
    _variant(kind, random.Random(seed), path)
    said = _outcome(path)
    assert "\n" not in said


def _outcome(path: Path) -> str:
    """Why a file is refused, in its one line; "" where it is imported, with every character."""
    try:
        book = import_book(path)
    except ImportFailed as error:
        return str(error)
    assert book.characters == book.characters_kept + book.characters_left_out
    return ""
