"""Reads manuscripts of many formats as books: chapters, what is left out, and facts.

    book = read_isolated(Path("novel.epub"))   or Word, PDF, a screenplay: see `kinds.py`

Every word of the source ends in a chapter or in the list of what was left out, with the reason.

    kinds.py      the table of formats              reading.py, isolated.py   file in, book out
    readers/      a folder or module a format       book.py, blocks.py        what they make
    chapters/     where chapters begin and end      matter.py                 front and back matter
    headings.py, counting.py                        lines that are headings, and their numbers

Knows neither projects nor speech, and imports nothing of `narrator`.
"""

from manuscripts.book import (
    Book,
    Choices,
    CoverImage,
    FileCallback,
    ImportedChapter,
    Notes,
    PrintedSpeaker,
    Reading,
    Skipped,
    Treatment,
)
from manuscripts.errors import ImportFailed, ImportStopped

__all__ = [
    "Book",
    "Choices",
    "CoverImage",
    "FileCallback",
    "ImportFailed",
    "ImportStopped",
    "ImportedChapter",
    "Notes",
    "PrintedSpeaker",
    "Reading",
    "Skipped",
    "Treatment",
]
