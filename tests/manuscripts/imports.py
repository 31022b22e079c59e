"""Books that are imported whole, and what tests ask of them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from manuscripts import Book, Choices
from narrator.importing import import_book

SAMPLES = Path(__file__).parents[1] / "golden" / "manuscripts"
"""Files that programs and sites have written; see the README there."""


def whole(path: Path, choices: Choices = Choices()) -> Book:  # noqa: B008  # frozen
    """The book in a file, of which nothing is lost."""
    book = import_book(path, choices)
    assert book.characters == book.characters_kept + book.characters_left_out
    assert not [remark for remark in book.remarks if "on the way in" in remark]
    return book


def titles(book: Book) -> list[str]:
    return [chapter.title for chapter in book.chapters]


def text_of(book: Book) -> str:
    """The Markdown of all chapters."""
    return "\n".join(chapter.markdown for chapter in book.chapters)


def rows(book: Book) -> list[str]:
    """Paragraphs of all chapters."""
    return [row for c in book.chapters for row in c.markdown.strip().split("\n\n")]


def reasons(book: Book) -> Counter[str]:
    """Why words were left out, and how many."""
    found: Counter[str] = Counter()
    for item in book.left_out:
        found[item.reason] += item.words
    return found


def cues(*texts: str, seconds: int = 2, silence: float = 0.1) -> str:
    """SRT of cues that follow one another."""
    starts = [number * (seconds + silence) for number in range(len(texts))]
    return "\n".join(
        f"{number}\n{_time(start)} --> {_time(start + seconds)}\n{text}\n"
        for number, (start, text) in enumerate(zip(starts, texts, strict=True), 1)
    )


def _time(seconds: float) -> str:
    count = int(seconds)
    return f"{count // 3600:02}:{count // 60 % 60:02}:{count % 60:02},{seconds % 1 * 1000:03.0f}"
