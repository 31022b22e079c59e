"""Books that are imported from a few words."""

from __future__ import annotations

from pathlib import Path

from manuscripts import Book, Choices
from narrator.importing import import_book

PROSE = "It was so, and it was not so, as the ferryman said to all of them in the morning.\n"


def imported(folder: Path, text: str, choices: Choices = Choices(), name: str = "door.txt") -> Book:  # noqa: B008  # frozen
    path = folder / name
    path.write_text(text, "utf-8")
    return import_book(path, choices)
