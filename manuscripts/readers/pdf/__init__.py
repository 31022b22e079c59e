"""Reads PDFs with text: their words in reading order, by their positions on the pages.

A PDF has positions of characters, but no structure: paragraphs, headings, notes and running heads
are detected by space, type and repetition. `characters` reads PDFium's characters, `lines` builds
the lines of a page, `repeated`, `contents` and `notes` mark what is not running text, `typesetting`
measures what is usual, `layout` builds paragraphs, `markup` writes them. Scanned pages without
recognised text are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import Any

from manuscripts import matter
from manuscripts.book import Book, Choices, file_name
from manuscripts.chapters import SCRIPT
from manuscripts.chapters.outline import letters
from manuscripts.counting import parse_numbering
from manuscripts.errors import ImportFailed
from manuscripts.headings import is_prose
from manuscripts.matter import BookContext, is_title_page_line
from manuscripts.readers.facts import Metadata, chosen_author, chosen_title, valid_language
from manuscripts.readers.pages import Pages, SourcePage, read_pages
from manuscripts.readers.pdf.characters import PageText, TooManyCharacters, read_page
from manuscripts.readers.pdf.contents import omit_contents
from manuscripts.readers.pdf.layout import LayoutBlock, build_blocks
from manuscripts.readers.pdf.lines import TextLine, build_lines, remaining
from manuscripts.readers.pdf.markup import Bookmark, write_documents
from manuscripts.readers.pdf.notes import mark_notes
from manuscripts.readers.pdf.repeated import omit_repeated
from manuscripts.readers.pdf.screenplay import find_margins, read_screenplay
from manuscripts.readers.pdf.typesetting import measure_typesetting
from textbase.errors import Problem

_MAX_PAGES = 10_000
_MAX_CHARACTERS = 20_000_000
_MAX_BOOKMARKS = 5_000
_MAX_TITLE_HEADINGS = 10
_MAX_TITLE_WORDS = 60
"""Maximum words of a title page, with an address and the length of the manuscript."""
_YEAR = re.compile(r"\W*(?:1[4-9]|20)\d\d\W*")
_PASSWORD_ERROR = 4
"""PDFium's error code for a missing password."""


def read_pdf(path: Path, choices: Choices) -> Book:
    """Reads the book in a PDF. Raises ImportFailed, SlowPattern."""
    document = _open_document(path)
    try:
        page_reader = _PageReader(path)
        lines = [
            page_reader.read_lines(document, number)
            for number in range(_count_pages(path, document))
        ]
        metadata = _read_metadata(document)
        bookmarks = list(_read_bookmarks(document))
    finally:
        document.close()
    page_reader.check_text()
    return read_pages(path, _build_pages(path, lines, metadata, bookmarks, page_reader), choices)


def _open_document(path: Path) -> Any:
    """Opens a `pypdfium2.PdfDocument`. Raises ImportFailed."""
    import pypdfium2

    try:
        return pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError as error:
        if error.err_code == _PASSWORD_ERROR:
            message = "needs a password; save a copy without one (print it to PDF), and import that"
        else:
            message = (
                "is damaged, or not a PDF: it cannot be opened; make it anew, or mend it (qpdf)"
            )
        raise ImportFailed(Problem(path, None, message)) from None
    except OSError as error:
        raise ImportFailed(Problem(path, None, f"cannot be read: {error.strerror}")) from None


def _count_pages(path: Path, document: Any) -> int:
    """Returns the number of pages. Raises ImportFailed for none or too many."""
    count = len(document)
    if not count:
        raise ImportFailed(Problem(path, None, "has no pages"))
    if count > _MAX_PAGES:
        message = f"has {count:,} pages, more than {_MAX_PAGES:,}; part it first"
        raise ImportFailed(Problem(path, None, message))
    return count


class _PageReader:
    """Reads the pages of a PDF, and counts characters and faulty pages.

    `empty` and `unreadable` hold page numbers from 1.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.characters = self.unmapped_count = self.hidden_count = self.pages = 0
        self.empty: list[int] = []
        self.unreadable: list[int] = []

    def read_lines(self, document: Any, page_index: int) -> list[TextLine]:
        """Returns the lines of a page; [] for an unreadable one."""
        import pypdfium2

        self.pages += 1
        try:
            page = document[page_index]
        except pypdfium2.PdfiumError:
            self.unreadable.append(page_index + 1)
            return []
        try:
            text = read_page(page)
        except (pypdfium2.PdfiumError, TooManyCharacters):
            self.unreadable.append(page_index + 1)
            return []
        finally:
            page.close()
        self._count_text(text, page_index)
        return build_lines(text, page_index)

    def _count_text(self, text: PageText, page_index: int) -> None:
        """Adds the characters of a page to the totals. Raises ImportFailed for too many."""
        self.characters += text.characters
        self.unmapped_count += text.unmapped_count
        self.hidden_count += text.hidden_count
        if not text.characters:
            self.empty.append(page_index + 1)
        if self.characters > _MAX_CHARACTERS:
            raise ImportFailed(Problem(self.path, None, "has more text than any book; part it"))

    def check_text(self) -> None:
        """Raises ImportFailed if there is no text, or most of it has no Unicode map."""
        faults = {
            "is damaged: none of its pages can be read; make it anew, or mend it (qpdf)": (
                len(self.unreadable) == self.pages
            ),
            "is made of pictures of pages, without text; recognise its text first (OCR, e.g. "
            "`ocrmypdf in.pdf out.pdf`), then import that": not self.characters,
            "does not say which letters its signs are (fonts without Unicode); recognise its "
            "text (OCR, e.g. `ocrmypdf --force-ocr in.pdf out.pdf`), or find another copy": (
                2 * self.unmapped_count > self.characters
            ),
        }
        for message, is_faulty in faults.items():
            if is_faulty:
                raise ImportFailed(Problem(self.path, None, message))

    def remarks(self) -> list[str]:
        """Returns remarks on damaged and empty pages, recognised text and unmapped characters."""
        remarks = {
            "Pages that are damaged, or not pages of a book, and were not read: "
            f"{_format_numbers(self.unreadable)}.": bool(self.unreadable),
            f"Pages without text, empty or pictures: {_format_numbers(self.empty)}.": bool(
                self.empty
            ),
            "The text was recognised from pictures of its pages (OCR): look for misread words "
            "before rendering.": 2 * self.hidden_count > self.characters,
            f"{self.unmapped_count:,} signs are of fonts that do not say "
            "which letters they are.": bool(self.unmapped_count),
        }
        return [remark for remark, is_due in remarks.items() if is_due]


def _build_pages(
    path: Path,
    lines_by_page: Sequence[list[TextLine]],
    metadata: Metadata,
    bookmarks: Sequence[Bookmark],
    page_reader: _PageReader,
) -> Pages:
    """Builds the pages of a screenplay or a book from the lines of all pages."""
    name = file_name(path)
    omit_repeated(lines_by_page)
    omit_contents(lines_by_page)
    remaining_lines = remaining(chain.from_iterable(lines_by_page))
    if (margins := find_margins(remaining_lines)) is not None:
        root, metadata, script_remarks = read_screenplay(lines_by_page, margins, name, metadata)
        return Pages(
            [SourcePage(name, root)],
            metadata,
            rules=SCRIPT,
            is_script=True,
            characters=page_reader.characters,
            remarks=[*page_reader.remarks(), *script_remarks],
        )
    typesetting = measure_typesetting(remaining_lines)
    mark_notes(lines_by_page, typesetting.size)
    blocks = build_blocks(lines_by_page, typesetting)
    metadata = _add_printed_title(blocks, metadata)
    _demote_headings(blocks, metadata)
    metadata = _omit_title_page(blocks, metadata)
    pages, contents = write_documents(blocks, name, bookmarks, typesetting.is_hyphenated)
    return Pages(
        pages,
        metadata,
        contents,
        characters=page_reader.characters,
        remarks=page_reader.remarks(),
    )


def _add_printed_title(blocks: Sequence[LayoutBlock], metadata: Metadata) -> Metadata:
    """Adds the printed title to the metadata, where the file has none.

    It is the only heading in the largest type, if it is above all others, or the first heading
    with a person's name below.
    """
    headings = [block for block in blocks if block.kind == "heading"]
    if metadata.title or len(headings) < 2 or parse_numbering(_text_of(headings[0])):
        return metadata
    if headings[:2] == list(blocks[:2]) and matter.is_person_name(_text_of(headings[1])):
        authors = [_text_of(headings[1])]
    elif [block for block in headings if block.level == 1] == headings[:1]:
        authors = list(_find_authors(blocks[blocks.index(headings[0]) + 1 :]))
    else:
        return metadata
    title = _text_of(headings[0])
    return replace(metadata, title=title, authors=metadata.authors or tuple(authors))


def _text_of(block: LayoutBlock) -> str:
    return " ".join(block.text.split())


def _find_authors(blocks: Sequence[LayoutBlock]) -> Iterator[str]:
    """Yields the author from lines below the title: `by Jane Doe`, or a name before a heading."""
    for block, following in pairwise(blocks[:3]):
        text = _text_of(block)
        author = matter.author_of_byline(text)
        if author or (following.kind == "heading" and matter.is_person_name(text)):
            yield author or text
            return


def _demote_headings(blocks: Sequence[LayoutBlock], metadata: Metadata) -> None:
    """Turns headings of a title page that name an author or a year into text."""
    context = BookContext(metadata.title or "", metadata.authors)
    headings = [block for block in blocks if block.kind == "heading"]
    for block in headings[:_MAX_TITLE_HEADINGS]:
        is_author_or_year = _YEAR.fullmatch(block.text) or is_title_page_line(block.text, context)
        if is_author_or_year and letters(block.text) != letters(metadata.title or ""):
            block.kind = "text"


def _omit_title_page(blocks: Sequence[LayoutBlock], metadata: Metadata) -> Metadata:
    """Leaves out everything up to the end of the page with the title, if it is a title page.

    Returns the metadata, with the author if there is exactly one name below the title.
    """
    title_letters = letters(metadata.title or "")
    text_blocks = [block for block in blocks if block.kind in ("text", "heading")]
    first_letters = [letters(block.text) for block in text_blocks[:_MAX_TITLE_HEADINGS]]
    if not title_letters or title_letters not in first_letters:
        return metadata
    title_index = first_letters.index(title_letters)
    last_page = text_blocks[title_index].lines[-1].page
    front = [block for block in text_blocks if block.lines[0].page <= last_page]
    if len(front) == len(text_blocks) or not _is_title_page(front, title_letters):
        return metadata
    for block in front:
        block.kind = "omitted"
        for line in block.lines:
            line.omission_reason = "title page"
    names = [b.text for b in front[title_index + 1 :] if matter.is_person_name(b.text)]
    return replace(metadata, authors=metadata.authors or (tuple(names) if len(names) == 1 else ()))


def _is_title_page(blocks: Sequence[LayoutBlock], title_letters: str) -> bool:
    """Returns whether blocks have few words, no sentence, and no heading of a section."""
    if sum(len(block.text.split()) for block in blocks) > _MAX_TITLE_WORDS:
        return False
    headings = [block.text for block in blocks if block.kind == "heading"]
    has_section = any(
        letters(text) != title_letters and (parse_numbering(text) or matter.kind_of_title(text))
        for text in headings
    )
    return not has_section and not any(is_prose(block.text) for block in blocks)


def _format_numbers(numbers: Sequence[int], limit: int = 8) -> str:
    number_list = ", ".join(map(str, numbers[:limit]))
    return f"{number_list} and {len(numbers) - limit} more" if len(numbers) > limit else number_list


# -- metadata --------------------------------------------------------------------------------------


def _read_metadata(document: Any) -> Metadata:
    """Reads title, authors and language from the document's properties."""
    properties = document.get_metadata_dict(skip_empty=True)
    names = re.split(r"\s*(?:;|&|\band\b)\s*", properties.get("Author", ""))
    authors = tuple(filter(None, map(chosen_author, names)))
    return Metadata(
        chosen_title(properties.get("Title", "")),
        authors=authors,
        language=_read_language(document),
    )


def _read_language(document: Any) -> str | None:
    """Reads the language tag of the document; None if it is missing or invalid."""
    import ctypes

    import pypdfium2.raw as pdfium

    length = pdfium.FPDFCatalog_GetLanguage(document.raw, None, 0)
    if not 2 < length < 200:
        return None
    buffer = (ctypes.c_ushort * length)()
    pdfium.FPDFCatalog_GetLanguage(document.raw, buffer, length)
    return valid_language(bytes(buffer).decode("utf-16-le", "replace").partition("\0")[0].strip())


def _read_bookmarks(document: Any) -> Iterator[Bookmark]:
    """Yields the bookmarks of the document, without those that are page numbers."""
    import pypdfium2

    try:
        entries = list(islice(document.get_toc(max_depth=6), _MAX_BOOKMARKS))
    except pypdfium2.PdfiumError:
        return
    for entry in entries:
        destination = entry.get_dest()
        title = " ".join(entry.get_title().split())
        page = destination.get_index() if destination is not None else None
        if page is None or not title or re.fullmatch(r"(?:page|seite|p\.?)?\s*\d+", title.lower()):
            continue
        _, view_position = destination.get_view()
        height = (
            view_position[1]
            if len(view_position) > 1 and isinstance(view_position[1], float)
            else None
        )
        yield Bookmark(title, entry.level, page, height)
