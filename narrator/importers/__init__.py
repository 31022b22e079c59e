"""A book in another format -> a new project.

    book = import_book(Path("novel.epub"))       EPUB, plain text or Markdown
    written = write_project(book, Path("novel"))

Every word of the source ends in a chapter or in the list of what was left out, with the reason.
A reader of another format belongs here, and what all of them share: what is matter and what is
text, where chapters begin, how they are titled. Afterwards a project is read by `project/` alone.
"""

from __future__ import annotations

import stat
from pathlib import Path

from narrator.errors import ImportFailed, Problem
from narrator.importers.book import Book, CoverImage, ImportedChapter, Skipped
from narrator.importers.epub import read_epub
from narrator.importers.markdown import read_markdown
from narrator.importers.project import Written, starter, write_project
from narrator.importers.text import read_plain_text

__all__ = [
    "Book",
    "CoverImage",
    "ImportedChapter",
    "Skipped",
    "Written",
    "import_book",
    "starter",
    "write_project",
]

_READERS = {
    ".epub": read_epub,
    ".txt": read_plain_text,
    ".text": read_plain_text,
    ".md": read_markdown,
    ".markdown": read_markdown,
}
_ADVICE = {
    ".mobi": "convert it to EPUB first",
    ".azw": "convert it to EPUB first",
    ".azw3": "convert it to EPUB first",
    ".kfx": "convert it to EPUB first",
    ".fb2": "convert it to EPUB first",
    ".pdf": "its text has no order to rely on; find the EPUB",
    ".docx": "save it as EPUB or plain text first",
    ".odt": "save it as EPUB or plain text first",
    ".doc": "save it as EPUB or plain text first",
    ".rtf": "save it as EPUB or plain text first",
    ".html": "convert it to EPUB or Markdown first",
}


def import_book(source: Path) -> Book:
    """The book in an EPUB, a text file or a Markdown file, told by its suffix.

    Raises ImportFailed, with what is wrong and where.
    """
    suffix = source.suffix.lower()
    try:
        status = source.stat()
    except (FileNotFoundError, NotADirectoryError):
        raise ImportFailed(Problem(source, None, "no such file")) from None
    except OSError as error:
        raise ImportFailed(Problem(source, None, f"cannot be read: {error.strerror}")) from None
    if stat.S_ISDIR(status.st_mode):
        raise ImportFailed(Problem(source, None, "a folder; name an .epub, .txt or .md file"))
    if not stat.S_ISREG(status.st_mode):
        raise ImportFailed(Problem(source, None, "a pipe or a device; name a file"))
    reader = _READERS.get(suffix)
    if reader is None:
        advice = _ADVICE.get(suffix, "can be imported are .epub, .txt and .md")
        kind = f"{suffix} files cannot be imported" if suffix else "a file without a suffix"
        raise ImportFailed(Problem(source, None, f"{kind}; {advice}"))
    return reader(source)
