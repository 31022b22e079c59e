"""PDF with text -> pages: its words in reading order, by their places on its pages.

A PDF says where characters stand, not what they are: paragraphs, headings, notes and running heads
are found by room, type and what comes again. `characters` asks PDFium, `lines` knows a page,
`repeated`, `contents` and `notes` set aside what is no text, `typesetting` says what is usual,
`layout` makes paragraphs, `markup` writes them. Pictures of pages are refused: nobody has
recognised their text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

from narrator.errors import ImportFailed, Problem
from narrator.importers import matter
from narrator.importers.book import Book, Choices, file_name
from narrator.importers.chapters import SCRIPT
from narrator.importers.chapters.outline import letters
from narrator.importers.counting import counted
from narrator.importers.headings import is_prose
from narrator.importers.matter import BookContext, is_title_page_line, says_kind_of_book
from narrator.importers.readers.facts import LANGUAGE, Metadata, author_of, title_of
from narrator.importers.readers.pages import Pages, SourcePage, read_pages
from narrator.importers.readers.pdf.characters import PageText, TooMuch, read_page
from narrator.importers.readers.pdf.contents import leave_contents
from narrator.importers.readers.pdf.layout import Portion, parts_of
from narrator.importers.readers.pdf.lines import TextLine, lines_of
from narrator.importers.readers.pdf.markup import Bookmark, documents_of
from narrator.importers.readers.pdf.notes import find_notes
from narrator.importers.readers.pdf.repeated import leave_repeated
from narrator.importers.readers.pdf.screenplay import margins_of, screenplay_of
from narrator.importers.readers.pdf.typesetting import habits_of

_PAGES = 10_000
_CHARACTERS = 20_000_000
_BOOKMARKS = 5_000
_TITLE_LINES = 10
_TITLE_WORDS = 60
"""Of a title page, with an address and how long the manuscript is."""
_BY = re.compile(r"(?:by|von|par|por|di|door|af|av)\s+(\S.{1,80})", re.IGNORECASE)
_NAME = re.compile(r"(?:[^\W\d_a-z][\w.’'-]*\s+){1,4}[^\W\d_a-z][\w’'-]+")
_YEAR = re.compile(r"\W*(?:1[4-9]|20)\d\d\W*")
_PASSWORD = 4
"""Of PDFium's errors."""


def read_pdf(path: Path, choices: Choices) -> Book:
    """The book in a PDF. Raises ImportFailed, Slow."""
    document = _opened(path)
    try:
        reading = _Reckoning(path)
        lines = [reading.lines(document, number) for number in range(_count(path, document))]
        facts = _facts(document)
        bookmarks = list(_bookmarks(document))
    finally:
        document.close()
    reading.check()
    return read_pages(path, _pages(path, lines, facts, bookmarks, reading), choices)


def _opened(path: Path) -> Any:
    import pypdfium2

    try:
        return pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError as error:
        if error.err_code == _PASSWORD:
            what = "needs a password; save a copy without one (print it to PDF), and import that"
        else:
            what = "is damaged, or no PDF: it cannot be opened; make it anew, or mend it (qpdf)"
        raise ImportFailed(Problem(path, None, what)) from None
    except OSError as error:
        raise ImportFailed(Problem(path, None, f"cannot be read: {error.strerror}")) from None


def _count(path: Path, document: Any) -> int:
    count = len(document)
    if not count:
        raise ImportFailed(Problem(path, None, "has no pages"))
    if count > _PAGES:
        what = f"has {count:,} pages, more than {_PAGES:,}; part it first"
        raise ImportFailed(Problem(path, None, what))
    return count


class _Reckoning:
    """What is counted while the pages of a PDF are read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.characters = self.unmapped = self.hidden = self.pages = 0
        self.empty: list[int] = []
        self.unreadable: list[int] = []

    def lines(self, document: Any, number: int) -> list[TextLine]:
        """The lines of a page."""
        import pypdfium2

        self.pages += 1
        try:
            page = document[number]
        except pypdfium2.PdfiumError:
            self.unreadable.append(number + 1)
            return []
        try:
            text = read_page(page)
        except (pypdfium2.PdfiumError, TooMuch):
            self.unreadable.append(number + 1)
            return []
        finally:
            page.close()
        self._take(text, number)
        return lines_of(text, number)

    def _take(self, text: PageText, number: int) -> None:
        self.characters += text.characters
        self.unmapped += text.unmapped
        self.hidden += text.hidden
        if not text.characters:
            self.empty.append(number + 1)
        if self.characters > _CHARACTERS:
            raise ImportFailed(Problem(self.path, None, "has more text than any book; part it"))

    def check(self) -> None:
        """Raise ImportFailed where there is no text, or none that can be known."""
        if len(self.unreadable) == self.pages:
            what = "is damaged: none of its pages can be read; make it anew, or mend it (qpdf)"
            raise ImportFailed(Problem(self.path, None, what))
        if not self.characters:
            what = (
                "is made of pictures of pages, without text; recognise its text first (OCR, e.g. "
                "`ocrmypdf in.pdf out.pdf`), then import that"
            )
            raise ImportFailed(Problem(self.path, None, what))
        if 2 * self.unmapped > self.characters:
            what = (
                "does not say which letters its signs are (fonts without Unicode); recognise its "
                "text (OCR, e.g. `ocrmypdf --force-ocr in.pdf out.pdf`), or find another copy"
            )
            raise ImportFailed(Problem(self.path, None, what))

    def remarks(self) -> Iterator[str]:
        if self.unreadable:
            which = _listed(self.unreadable)
            yield f"Pages that are damaged, or no pages of a book, and were not read: {which}."
        if self.empty:
            yield f"Pages without text, empty or pictures: {_listed(self.empty)}."
        if 2 * self.hidden > self.characters:
            yield (
                "The text was recognised from pictures of its pages (OCR): look for misread words "
                "before rendering."
            )
        if self.unmapped:
            yield f"{self.unmapped:,} signs are of fonts that do not say which letters they are."


def _pages(
    path: Path,
    lines: Sequence[list[TextLine]],
    facts: Metadata,
    bookmarks: Sequence[Bookmark],
    reading: _Reckoning,
) -> Pages:
    name = file_name(path)
    leave_repeated(lines)
    leave_contents(lines)
    kept = [line for page in lines for line in page if line.left is None]
    if (margins := margins_of(kept)) is not None:
        root, facts, told = screenplay_of(lines, margins, name, facts)
        page, told = SourcePage(name, root), [*reading.remarks(), *told]
        return Pages(
            [page], facts, rules=SCRIPT, is_script=True, characters=reading.characters, remarks=told
        )
    habits = habits_of(kept)
    find_notes(lines, habits.size)
    parts = parts_of(lines, habits)
    facts = _with_title(parts, facts)
    _demote(parts, facts)
    facts = _leave_title_page(parts, facts)
    pages, contents = documents_of(parts, name, bookmarks, habits.is_hyphenated)
    remarks = list(reading.remarks())
    return Pages(pages, facts, contents, characters=reading.characters, remarks=remarks)


def _with_title(parts: Sequence[Portion], facts: Metadata) -> Metadata:
    """The facts with the title that is printed, where the file does not say it: the only one in
    the largest type and above all others, or the first, with a name below it."""
    if facts.title:
        return facts
    headings = [part for part in parts if part.kind == "heading"]
    largest = [part for part in headings if part.level == 1]
    if named := _title_and_name(parts[:2]):
        title, name = named
        return replace(facts, title=title, authors=facts.authors or (name,))
    if len(largest) != 1 or len(headings) < 2 or headings[0] is not largest[0]:
        return facts
    text = " ".join(largest[0].text.split())
    authors = facts.authors or tuple(_authors(parts[parts.index(largest[0]) + 1 :]))
    return facts if counted(text) else replace(facts, title=text, authors=authors)


def _title_and_name(top: Sequence[Portion]) -> tuple[str, str] | None:
    """What two headings at the top say, if the second is a person's name."""
    texts = [" ".join(part.text.split()) for part in top if part.kind == "heading"]
    if len(texts) == 2 and _is_name(texts[1]) and not counted(texts[0]):
        return texts[0], texts[1]
    return None


def _authors(below: Sequence[Portion]) -> Iterator[str]:
    """Who wrote the book, by the line under its title: `by Jane Doe`, or a name above a heading."""
    for part, following in pairwise(below[:3]):
        text = " ".join(part.text.split())
        by = _BY.fullmatch(text)
        if by or (following.kind == "heading" and _is_name(text)):
            yield by[1] if by else text
            return


def _is_name(text: str) -> bool:
    return _NAME.fullmatch(text) is not None and not says_kind_of_book(text)


def _leave_title_page(parts: Sequence[Portion], facts: Metadata) -> Metadata:
    """Set aside all up to the end of the page with the title, if it has no sentence and nothing
    else is there; the facts, with the one name that stands below the title."""
    said = [part for part in parts if part.kind in ("text", "heading")]
    title = next((p for p in said[:_TITLE_LINES] if _says(p, facts.title)), None)
    page = title.lines[-1].page if title else 0
    front = [part for part in said if part.lines[0].page <= page]
    if title is None or len(front) == len(said) or not _is_title_page(front, facts.title):
        return facts
    _leave(front)
    names = [p.text for p in front[front.index(title) + 1 :] if _is_name(p.text)]
    return replace(facts, authors=facts.authors or (tuple(names) if len(names) == 1 else ()))


def _leave(front: Sequence[Portion]) -> None:
    for part in front:
        part.kind = "left"
        for line in part.lines:
            line.left = "title page"


def _is_title_page(front: Sequence[Portion], title: str | None) -> bool:
    """Whether parts are few words, none of them a sentence or another heading."""
    words = sum(len(part.text.split()) for part in front)
    more = any(is_prose(part.text) or _names_more(part, title) for part in front)
    return words <= _TITLE_WORDS and not more


def _says(part: Portion, title: str | None) -> bool:
    return bool(title) and letters(part.text) == letters(title or "")


def _names_more(part: Portion, title: str | None) -> bool:
    """Whether a part is the heading of something else than the book."""
    named = counted(part.text) or matter.kind_of_title(part.text)
    return part.kind == "heading" and bool(named) and not _says(part, title)


def _demote(parts: Sequence[Portion], facts: Metadata) -> None:
    """Make text of the large lines of a title page that name an author or a year."""
    context = BookContext(facts.title or "", facts.authors)
    headings = [part for part in parts if part.kind == "heading"]
    for part in headings[:_TITLE_LINES]:
        is_title = letters(part.text) == letters(facts.title or "")
        if not is_title and (
            _YEAR.fullmatch(part.text.strip()) or is_title_page_line(part.text, context)
        ):
            part.kind = "text"


def _listed(numbers: Sequence[int], most: int = 8) -> str:
    shown = ", ".join(map(str, numbers[:most]))
    return f"{shown} and {len(numbers) - most} more" if len(numbers) > most else shown


# -- what a PDF says of itself ---------------------------------------------------------------------


def _facts(document: Any) -> Metadata:
    said = document.get_metadata_dict(skip_empty=True)
    names = re.split(r"\s*(?:;|&|\band\b)\s*", said.get("Author", ""))
    authors = tuple(filter(None, map(author_of, names)))
    return Metadata(title_of(said.get("Title", "")), authors=authors, language=_language(document))


def _language(document: Any) -> str | None:
    import ctypes

    import pypdfium2.raw as pdfium

    length = pdfium.FPDFCatalog_GetLanguage(document.raw, None, 0)
    if not 2 < length < 200:
        return None
    buffer = (ctypes.c_ushort * length)()
    pdfium.FPDFCatalog_GetLanguage(document.raw, buffer, length)
    tag = bytes(buffer).decode("utf-16-le", "replace").partition("\0")[0].strip()
    return tag if LANGUAGE.fullmatch(tag) else None


def _bookmarks(document: Any) -> Iterator[Bookmark]:
    import pypdfium2

    try:
        entries = list(islice(document.get_toc(max_depth=6), _BOOKMARKS))
    except pypdfium2.PdfiumError:
        return
    for entry in entries:
        dest = entry.get_dest()
        title = " ".join(entry.get_title().split())
        page = dest.get_index() if dest is not None else None
        if page is None or not title or re.fullmatch(r"(?:page|seite|p\.?)?\s*\d+", title.lower()):
            continue
        _, place = dest.get_view()
        height = place[1] if len(place) > 1 and isinstance(place[1], float) else None
        yield Bookmark(title, entry.level, page, height)
