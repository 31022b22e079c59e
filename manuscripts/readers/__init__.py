"""Reads a file or a folder in some format as a book. Its content decides the format.

A reader of a format with markup makes `pages.Pages` of its source: documents of XHTML, and the
source's own facts. A reader of a format with lines makes blocks. From there on all formats take one
path.

    content.py    what a file is               ebook/      EPUB, and what Calibre makes one of
    pages.py      documents -> a book          office/     Word, OpenDocument, RTF
    xhtml.py      a document -> blocks         pdf/        lines and paragraphs by their places
    archive.py    zips, with suspicion         scripts/    screenplays, subtitles
    markup.py     XML and HTML, without harm   web/        HTML, FB2, feeds
"""

from __future__ import annotations

import re
import stat
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from manuscripts.book import Book, Choices, FileCallback, file_name
from manuscripts.errors import ImportFailed
from manuscripts.readers.content import SUFFIXES, Kind, kind_of
from manuscripts.readers.ebook.calibre import read_by_calibre
from manuscripts.readers.ebook.epub import read_epub
from manuscripts.readers.folder import Reader, read_folder
from manuscripts.readers.markdown import read_markdown
from manuscripts.readers.office.docx import read_docx
from manuscripts.readers.office.odt import read_odt
from manuscripts.readers.office.rtf import read_rtf
from manuscripts.readers.pdf import read_pdf
from manuscripts.readers.scripts.finaldraft import read_finaldraft
from manuscripts.readers.scripts.fountain import read_fountain
from manuscripts.readers.scripts.subtitles import read_subtitles
from manuscripts.readers.text import read_plain_text
from manuscripts.readers.web.feed import read_feed
from manuscripts.readers.web.fictionbook import read_fictionbook, read_fictionbook_archive
from manuscripts.readers.web.html import read_html, read_html_archive
from textbase import files
from textbase.errors import Problem


class Format(NamedTuple):
    """A format that can be imported."""

    name: str
    """For people."""
    read: Reader


FORMATS: Mapping[Kind, Format] = {
    "epub": Format("EPUB", read_epub),
    "text": Format("plain text", read_plain_text),
    "markdown": Format("Markdown", read_markdown),
    "fb2": Format("FB2", read_fictionbook),
    "fb2-archive": Format("FB2", read_fictionbook_archive),
    "feed": Format("a feed", read_feed),
    "mobi": Format("MOBI or AZW3", read_by_calibre),
    "html": Format("HTML", read_html),
    "html-archive": Format("an archive of HTML", read_html_archive),
    "pdf": Format("PDF", read_pdf),
    "fountain": Format("Fountain", read_fountain),
    "docx": Format("Word", read_docx),
    "fdx": Format("Final Draft", read_finaldraft),
    "srt": Format("subtitles (SRT)", read_subtitles),
    "vtt": Format("subtitles (WebVTT)", read_subtitles),
    "sbv": Format("subtitles (SBV)", read_subtitles),
    "odt": Format("OpenDocument", read_odt),
    "rtf": Format("RTF", read_rtf),
}


_ADDRESS = re.compile(r"(?:https?|ftp|feed):/", re.IGNORECASE)
"""An address typed as `https://…`; a path keeps one of the two slashes."""


def read_source(source: Path, choices: Choices, on_file: FileCallback) -> Book:
    """Returns the book in a file or a folder; calls `on_file` before it reads each file.

    Raises ImportFailed, with what to do, and Slow.
    """
    if _ADDRESS.match(str(source)):
        message = "is an address, and no network is used; save what is there as a file"
        raise ImportFailed(Problem(source, None, f"{message}, and import that"))
    try:
        status = source.stat()
    except OSError as error:
        if kind := files.describe_file_type(source):
            raise ImportFailed(Problem(source, None, f"{kind}; name a file")) from None
        if isinstance(error, FileNotFoundError | NotADirectoryError):
            raise ImportFailed(Problem(source, None, "no such file")) from None
        raise ImportFailed(Problem(source, None, f"cannot be read: {error.strerror}")) from None
    if stat.S_ISDIR(status.st_mode):
        return replace(read_folder(source, choices, _read_file, on_file), format="a folder")
    if not stat.S_ISREG(status.st_mode):
        raise ImportFailed(
            Problem(source, None, f"{files.describe_file_type(source)}; name a file")
        )
    if status.st_size == 0:  # unread: /proc/kmsg waits until the system writes a message
        raise ImportFailed(Problem(source, None, "has no text to read aloud: its size is 0 bytes"))
    on_file(source)
    return _read_file(source, choices)


def _read_file(source: Path, choices: Choices) -> Book:
    """Returns the book in a file of any format. Raises ImportFailed, Slow."""
    kind = kind_of(source)
    file_format = FORMATS[kind]
    book = replace(file_format.read(source, choices), format=file_format.name)
    if SUFFIXES.get(source.suffix.lower()) in (kind, None) and source.suffix:
        return book
    remark = f"{file_name(source)} was read as {file_format.name}, as its content is."
    return replace(book, remarks=(remark, *book.remarks))
