"""A manuscript to a new project.

    book = import_isolated(Path("novel.epub"))   read by `manuscripts`
    written = write_project(book, Path("novel"))

What turns a book into a project belongs here: chapters that read as scripts, the project's files,
doubts about chapters. Reading manuscripts does not, nor what happens to a project later.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from manuscripts import Book, Choices, ImportFailed
from narrator.errors import Problem
from narrator.importing.doubts import book_oddities, chapter_shapes
from narrator.importing.project import (
    WrittenProject,
    folder_name,
    remove_abandoned_folders,
    starter_book,
    write_project,
)
from narrator.importing.proof import proofread
from narrator.importing.selection import parts_of, select_parts
from narrator.text.quotations import quotations

__all__ = [
    "WrittenProject",
    "answer_import_request",
    "book_oddities",
    "chapter_shapes",
    "count_quotations",
    "folder_name",
    "import_book",
    "import_isolated",
    "parts_of",
    "remove_abandoned_folders",
    "select_parts",
    "starter_book",
    "write_project",
]

_READER_CODE = "from narrator.importing import answer_import_request as answer; answer()"


def import_book(source: Path, choices: Choices = Choices()) -> Book:  # noqa: B008  # frozen
    """Returns the book in a file or a folder, with chapters that read as scripts.

    Reads in this process; use `import_isolated` for files that nobody vouches for. Raises
    ImportFailed, with what is wrong and where.
    """
    from manuscripts.reading import read_book  # loads readers, which a check does without

    return _proofread(read_book(source, choices), source)


def import_isolated(
    source: Path,
    choices: Choices = Choices(),  # noqa: B008  # frozen
    is_stopped: Callable[[], bool] = lambda: False,
) -> Book:
    """Returns the book as `import_book` does, read and proofread by another process within limits:
    the search for faults in some texts never ends.

    `is_stopped` is asked several times a second. Also raises ImportStopped.
    """
    from manuscripts.isolated import read_isolated

    return read_isolated(source, choices, is_stopped, _READER_CODE)


def answer_import_request() -> NoReturn:
    """Answers for `import_isolated`, in its other process."""
    from manuscripts import reader_process

    reader_process.main(_proofread)


def _proofread(book: Book, source: Path) -> Book:
    book = proofread(book)
    if not book.chapters:
        raise ImportFailed(Problem(source, None, "has no text to read aloud"))
    return book


def count_quotations(book: Book) -> int:
    """Returns the number of quotations in the book's paragraphs."""
    texts = [chapter.markdown.split("\n\n") for chapter in book.chapters]
    return sum(len(quotations(paragraphs, book.language)) for paragraphs in texts)
