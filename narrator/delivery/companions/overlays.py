"""Marks the spoken sentences in the EPUB that a project came from, with a span around each.

Its pages stay as they are, byte for byte, but for spans and one link to a style. Sentences are
located by their letters alone, in order: first those that occur once in the whole book, then,
between those, the others. So it does not matter how the text was imported, and little what was
edited since; a sentence that is not located is heard while the one before it is highlighted. Knows
nothing of sound.
"""

from __future__ import annotations

import html
import posixpath
import re
import unicodedata
import zipfile
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from lxml import etree

from manuscripts.errors import ImportFailed
from manuscripts.readers.archive import Archive
from manuscripts.readers.ebook.package import Package, read_package
from narrator.delivery.companions import sanitize
from narrator.delivery.companions.sanitize import TOKEN
from narrator.delivery.companions.spoken import SpokenWord
from narrator.errors import Problem, UserError
from narrator.text.alignment import longest_rise
from narrator.text.lines import Line

_XHTML = "http://www.w3.org/1999/xhtml"

MIN_FOUND_SHARE = 0.5
"""Least share of the spoken letters that must be in a book; with less it is another book."""


class HeardSentence(NamedTuple):
    """A sentence, or its part within a chunk: `line.text[first:last]`, heard in a chapter."""

    chapter: int
    line: Line
    first: int
    last: int
    start: float
    """Seconds in the chapter's sound."""
    stop: float
    words: tuple[SpokenWord, ...] = ()
    """Words of `line.text` that are to be marked too."""


class SyncPoint(NamedTuple):
    """An element of a document, and the seconds of its chapter in which it is heard."""

    chapter: int
    document: str
    id: str
    start: float
    stop: float


@dataclass(frozen=True, slots=True)
class MarkedBook:
    """An EPUB with marks in its pages, without its overlays."""

    members: dict[str, bytes]
    """Files by name, in order, the package document included."""
    package: str
    """Name of the package document."""
    marks: Sequence[SyncPoint]
    """Marks in spoken order."""
    folder: str
    """Folder of overlays and sound, beside the package document, with a slash."""

    @property
    def base(self) -> str:
        """The same folder, from the root of the book."""
        return resolve_href(self.package, self.folder) + "/"


def embed_overlays(
    source: Path, units: Sequence[HeardSentence], remarks: list[str]
) -> MarkedBook | None:
    """Marks all sentences of a book in its pages; None, with a remark, for a book that cannot be
    marked.

    Raises UserError where the book cannot be read, or does not hold the text.
    """
    with Archive(source) as archive:
        package = read_package(archive)
        if reason := _unsuitable_reason(archive, package):
            remarks.append(f"{source.name} {reason}; pages are plain")
            return None
        members = _read_members(archive, package, remarks)
    pages = list(_markable_pages(source, package, members, remarks))
    spans = _find_sentences(pages, units)
    _remark_on_missing(source, units, spans, remarks)
    base, folder = posixpath.dirname(package.path), "read-along/"
    while any(name.startswith(posixpath.join(base, folder)) for name in members):
        folder = f"x-{folder}"
    prefix = "read-"
    while any(f'"{prefix}' in page.text or f"'{prefix}" in page.text for page in pages):
        prefix = f"x-{prefix}"
    marks = _insert_spans(pages, units, spans, prefix)
    for page in pages:
        if page.inserts:
            style = relative_reference(page.name, posixpath.join(base, f"{folder}style.css"))
            members[page.name] = page.marked_text(style).encode()
    return MarkedBook(members, package.path, marks, folder)


def _unsuitable_reason(archive: Archive, package: Package) -> str:
    """Returns the reason why a book cannot be marked; empty where it can."""
    if not archive.xml(package.path).get("version", "").startswith("3"):
        return "is an EPUB 2, which has no read-along"
    if any(resource.media_type == "application/smil+xml" for resource in package.items):
        return "reads itself along already"
    return ""


def _markable_pages(
    source: Path, package: Package, members: dict[str, bytes], remarks: list[str]
) -> Iterator[_MarkedPage]:
    """Yields the documents that can be marked, in reading order."""
    for resource, _ in package.spine:
        page_name = unquote(resource.path)
        if resource.media_type != "application/xhtml+xml" or page_name not in members:
            continue
        text = members[page_name].decode()
        if _can_hold_spans(text):
            yield _MarkedPage(page_name, text)
        else:
            remarks.append(
                f"{page_name} of {source.name} is not well-formed XHTML; it is not read along"
            )


def _remark_on_missing(
    source: Path, units: Sequence[HeardSentence], spans: Sequence[_TextSpan], remarks: list[str]
) -> None:
    """Adds remarks on spoken text that is not in the book. Raises UserError where that is most of
    it."""
    letter_count = sum(len(_letters_of(unit.line.text[unit.first : unit.last])) for unit in units)
    share = sum(span.last - span.first for span in spans) / max(letter_count, 1)
    if share < MIN_FOUND_SHARE:
        message = (
            f"holds {share:.0%} of the text that is spoken; name the EPUB the project came from"
        )
        raise UserError(Problem(source, None, message))
    if share < 0.995:
        remarks.append(f"{1 - share:.1%} of the text spoken is not in {source.name} as it stands; "
                       "it is heard, and not marked")  # fmt: skip
    missing_chapters = {unit.chapter for unit in units} - {
        units[span.unit].chapter for span in spans
    }
    if missing_chapters:
        names = ", ".join(map(str, sorted(missing_chapters)))
        remarks.append(f"chapters not read along, for {source.name} does not have them: {names}")


def _read_members(archive: Archive, package: Package, remarks: list[str]) -> dict[str, bytes]:
    """Reads the files of a book, pages in UTF-8, without active content; adds a remark on that."""
    media_types = {unquote(resource.path): resource.media_type for resource in package.items}
    members: dict[str, bytes] = {}
    tamed_count = 0
    for name in _member_names(archive.path):
        media_type = media_types.get(name) or _MEDIA_TYPES.get(name.rpartition(".")[2].lower(), "")
        if sanitize.is_script(media_type, name):
            tamed_count += 1
        elif media_type in _PAGE_TYPES or media_type == "text/css":
            members[name], is_changed = _read_sanitized(archive, name, media_type)
            tamed_count += is_changed
        else:
            members[name] = archive.read(name)
    if tamed_count:
        remarks.append(
            f"what acts by itself or fetches from a network (scripts, forms, remote pictures) is "
            f"left out of {archive.path.name}, {tamed_count} of its files; their words are kept"
        )
    return members


def _read_sanitized(archive: Archive, name: str, media_type: str) -> tuple[bytes, bool]:
    """Returns a page or a style sheet without active content, and whether it had any."""
    if media_type == "text/css":
        text = archive.read(name).decode(errors="surrogateescape")
        clean_text = sanitize.style(text)
        return clean_text.encode(errors="surrogateescape"), clean_text != text
    text = _without_entities(_read_text(archive, name))
    clean_text = text
    if _is_well_formed(text):
        clean_text = sanitize.page(text)
    elif _SUSPICIOUS_MARKUP.search(text):
        clean_text = sanitize.page(_reparse(archive, name))
    return _ENCODING.sub(r"\1utf-8", clean_text, count=1).encode(), clean_text != text


_MEDIA_TYPES = {
    "xhtml": "application/xhtml+xml",
    "html": "text/html",
    "htm": "text/html",
    "svg": "image/svg+xml",
    "css": "text/css",
}
"""Media types of files that the package does not list."""
_PAGE_TYPES = frozenset(("application/xhtml+xml", "image/svg+xml", "text/html"))
_SUSPICIOUS_MARKUP = re.compile(
    r"<\s*(?:\w+:)?(?:script|i?frame|object|embed|form|base|meta)\b|@import|\bon\w+\s*=|script:|"
    r"(?:src|srcset|href|data|poster|background|url)\s*[=(]\s*[\"']?\s*(?:https?:)?//",
    re.IGNORECASE,
)


def _read_text(archive: Archive, name: str) -> str:
    """Decodes a page, even if its encoding is unknown."""
    try:
        return archive.text(name)
    except ImportFailed:  # not in the encoding that it states, like some drawings
        return archive.read(name).decode(errors="replace")


def _without_entities(text: str) -> str:
    """Replaces entities that a page defines by their text."""
    if "<!ENTITY" not in text:
        return text
    entities = dict(_ENTITY.findall(text))
    subset = _DTD_SUBSET.match(text, text.find("<!DOCTYPE"))
    text_without_subset = (
        f"{text[: subset.start()]}{subset[1]}>{text[subset.end() :]}" if subset else text
    )
    return re.sub(
        r"&([\w.-]+);", lambda match: entities.get(match[1], match[0]), text_without_subset
    )


_ENTITY = re.compile(r"<!ENTITY\s+([\w.-]+)\s+[\"']([^\"'<>&]{0,200})[\"']\s*>")
_DTD_SUBSET = re.compile(r"(<!DOCTYPE[^>\[]*?)\s*\[.*?\]\s*>", re.DOTALL)


def _reparse(archive: Archive, name: str) -> str:
    """Rewrites a page on which parsers would disagree, as the importer reads it."""
    root, _ = archive.document(name)
    for element in root.iter(etree.Element):
        if not element.tag.startswith("{"):
            element.tag = f"{{{_XHTML}}}{element.tag}"
    etree.cleanup_namespaces(root, top_nsmap={None: _XHTML})
    rewritten: str = etree.tostring(root, encoding="unicode")
    return rewritten


def _is_well_formed(text: str) -> bool:
    """Returns whether a page is well-formed XML without own entities."""
    try:
        parse_xml(_DECLARATION.sub("", text, count=1).encode())
    except etree.XMLSyntaxError:
        return False
    return "<!ENTITY" not in text


def _member_names(source: Path) -> list[str]:
    """Returns the files of an archive that go into the new one, without signatures."""
    with zipfile.ZipFile(source) as archive:
        names = [member.filename.replace("\\", "/") for member in archive.infolist()]
    excluded = ("mimetype", "META-INF/signatures.xml")
    return [name for name in names if name not in excluded and not name.endswith("/")]


def relative_reference(base: str, name: str) -> str:
    """Returns a reference from one file of a book to another."""
    return quote_path(posixpath.relpath(name, posixpath.dirname(base) or "."))


def quote_path(path: str) -> str:
    return quote(path, safe="/()!$&'*+,;=@~-._")


def resolve_href(package: str, href: str) -> str:
    """Returns the file of a book that a reference in its package means."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(package), unquote(href)))


def parse_xml(document: bytes) -> Any:
    """Parses an XML document of a book. Entities and network are off."""
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, remove_blank_text=True
    )
    return etree.fromstring(document, parser)


def _can_hold_spans(text: str) -> bool:
    """Returns whether a page is well-formed XHTML without a prefix."""
    if not _is_well_formed(text):
        return False
    root = parse_xml(_DECLARATION.sub("", text, count=1).encode())
    return bool(root.tag == f"{{{_XHTML}}}html" and root.nsmap.get(None) == _XHTML)


# -- letters ---------------------------------------------------------------------------------------


class _FoldedCharacters(dict[str, str]):
    """Characters as they are compared: letters and digits, without case, marks and width."""

    def __missing__(self, character: str) -> str:
        decomposed = unicodedata.normalize("NFKD", character).casefold()
        self[character] = folded = "".join(filter(str.isalnum, decomposed))
        return folded


_FOLDED = _FoldedCharacters()


def _letters_of(text: str) -> str:
    """Returns the letters of a text as they are compared."""
    return "".join(map(_FOLDED.__getitem__, text))


# -- pages -----------------------------------------------------------------------------------------

_DECLARATION = re.compile(r"\A\ufeff?\s*<\?xml[^>]*\?>")
_ENCODING = re.compile(r"(\A\ufeff?\s*<\?xml[^>]*?encoding\s*=\s*[\"'])[A-Za-z0-9._-]+")
_INLINE_TAGS = frozenset(
    "a abbr acronym b bdi bdo big br cite code data del dfn em font i img ins kbd mark q s samp "
    "small span strike strong sub sup time tt u var wbr".split()
)
_UNREAD_TAGS = frozenset("head math rp rt script style svg template title".split())
_MARKS_BEFORE = re.compile(r"(?:[^\w\s<>&;]|&#?\w+;)+\Z")
_MARKS_AFTER = re.compile(r"(?:(?![“‘«„「『【〈《（［｛(\[{¿¡]\w)[^\w\s<&]|&#?\w+;)+")


class _Tag(NamedTuple):
    start: int
    stop: int
    kind: str
    """"open", "close", "empty", or "block": the tag of a block, which no span may cross."""


def _tokens(text: str) -> Iterator[tuple[re.Match[str], str, bool]]:
    """Yields a page's tokens in order, with the names of tags, and whether they are in an unread
    element."""
    unread_tag, depth = "", 0
    for token in TOKEN.finditer(text):
        name = (token["name"] or "").rpartition(":")[2].lower()
        yield token, name, bool(unread_tag)
        if unread_tag and name == unread_tag and not token["empty"]:
            depth += -1 if token["close"] else 1
            unread_tag = unread_tag if depth else ""
        elif not unread_tag and name in _UNREAD_TAGS and not token["close"] and not token["empty"]:
            unread_tag, depth = name, 1


@dataclass(slots=True)
class _MarkedPage:
    """A document of the book: its source text, its letters, and the position of each."""

    name: str
    text: str
    letters: str = ""
    starts: array[int] = field(default_factory=lambda: array("L"))
    stops: array[int] = field(default_factory=lambda: array("L"))
    tags: list[_Tag] = field(default_factory=list)
    inserts: list[tuple[int, int, str]] = field(default_factory=list)
    """Offset, order among those at one offset, and text to insert."""

    def __post_init__(self) -> None:
        """Collects the letters of the text with their positions, and the tags."""
        letters: list[str] = []
        for token, name, is_unread in _tokens(self.text):
            if token["name"]:
                tag_kind = "close" if token["close"] else "empty" if token["empty"] else "open"
                tag_kind = tag_kind if name in _INLINE_TAGS else "block"
                self.tags.append(_Tag(token.start(), token.end(), tag_kind))
            elif is_unread:
                continue
            elif token["entity"]:
                for character in html.unescape(token[0]):
                    self._add(letters, character, token.start(), token.end())
            elif token["text"]:
                for offset, character in enumerate(token[0], token.start()):
                    self._add(letters, character, offset, offset + 1)
        self.letters = "".join(letters)

    def _add(self, letters: list[str], character: str, start: int, stop: int) -> None:
        """Adds the letters of a character."""
        for letter in _FOLDED[character]:
            letters.append(letter)
            self.starts.append(start)
            self.stops.append(stop)

    def marked_text(self, style: str) -> str:
        """Returns the document with all insertions, and a link to a style sheet."""
        head_end = re.search(r"</(?:\w+:)?head\s*>", self.text)
        inserts = list(self.inserts)
        if head_end:
            link = f'<link rel="stylesheet" type="text/css" href="{html.escape(style)}"/>'
            inserts.append((head_end.start(), 0, link))
        parts = []
        position = 0
        for offset, _, text in sorted(inserts):
            parts += [self.text[position:offset], text]
            position = offset
        return _ENCODING.sub(r"\1utf-8", "".join([*parts, self.text[position:]]), count=1)


# -- sentences in pages ----------------------------------------------------------------------------


class _TextSpan(NamedTuple):
    """A located unit: letters `first` to `last` of the whole book."""

    first: int
    last: int
    unit: int


_ANCHOR_LENGTHS = (24, 10)
"""Least letters of a sentence that serves as an anchor if it occurs once; the second is for
chapters without anchors of the first length."""


def _find_sentences(
    pages: Sequence[_MarkedPage], units: Sequence[HeardSentence]
) -> list[_TextSpan]:
    """Locates units in the book, in its order; the results never overlap."""
    book = "".join(page.letters for page in pages)
    edges = _word_edges(pages)
    located: list[_TextSpan] = []
    first_number = 0
    for _, group in groupby(units, lambda unit: unit.chapter):
        texts = [_letters_of(unit.line.text[unit.first : unit.last]) for unit in group]
        located += [
            _TextSpan(first, last, first_number + number)
            for first, last, number in _locate_chapter(book, texts, edges)
        ]
        first_number += len(texts)
    ordered: list[_TextSpan] = []
    for span in sorted(located):
        if not ordered or span.first >= ordered[-1].last:
            ordered.append(span)
    return ordered


def _locate_chapter(
    book: str, texts: Sequence[str], edges: bytearray
) -> Iterator[tuple[int, int, int]]:
    """Yields start, stop and index of each located text of a chapter."""
    chapter_letters = "".join(texts)
    position = book.find(chapter_letters) if chapter_letters else -1
    if position >= 0 and book.find(chapter_letters, position + 1) < 0:
        for number, text in enumerate(texts):
            if text:
                yield position, position + len(text), number
            position += len(text)
        return
    all_anchors = (list(_find_anchors(book, texts, length)) for length in _ANCHOR_LENGTHS)
    anchors = next(filter(None, all_anchors), None)
    if not anchors:
        return
    yield from anchors
    first_start, _, first_number = anchors[0]
    _, last_stop, last_number = anchors[-1]
    yield from _search_backward(book, texts, first_number, first_start, edges)
    for (_, gap_start, previous), (gap_stop, _, following) in pairwise(anchors):
        numbers = range(previous + 1, following)
        yield from _search_forward(book, texts, numbers, gap_start, gap_stop, edges)
    remaining = range(last_number + 1, len(texts))
    yield from _search_forward(book, texts, remaining, last_stop, len(book), edges)


def _find_anchors(
    book: str, texts: Sequence[str], min_length: int
) -> Iterator[tuple[int, int, int]]:
    """Yields start, stop and index of texts that occur once, in the longest sequence that is in
    order."""
    candidates = []
    for number, text in enumerate(texts):
        if len(text) >= min_length:
            start = book.find(text)
            if start >= 0 and book.find(text, start + 1) < 0:
                candidates.append((start, start + len(text), number))
    starts = [start for start, _, _ in candidates]
    for index in longest_rise(starts, allow_equal=True):
        yield candidates[index]


def _search_forward(
    book: str, texts: Sequence[str], numbers: range, low: int, high: int, edges: bytearray
) -> Iterator[tuple[int, int, int]]:
    """Locates the texts of some indices, one after the other, between two offsets.

    Yields start, stop and index of each. `edges` are `_word_edges`.
    """
    for number in numbers:
        text = texts[number]
        limit = min(high, low + _search_range(text))
        position = book.find(text, low, limit) if text else -1
        while position >= 0 and not (edges[position] and edges[position + len(text)]):
            position = book.find(text, position + 1, limit)
        if position >= 0:
            yield position, position + len(text), number
            low = position + len(text)


def _search_backward(
    book: str, texts: Sequence[str], anchor: int, high: int, edges: bytearray
) -> Iterator[tuple[int, int, int]]:
    """Locates the texts before the first anchor, backwards from it, so that they lie next to it.

    `anchor` is its index, `high` its start. Yields start, stop and index of each text.
    """
    for number in reversed(range(anchor)):
        text = texts[number]
        lowest = max(0, high - _search_range(text))
        position = book.rfind(text, lowest, high) if text else -1
        while position >= 0 and not (edges[position] and edges[position + len(text)]):
            position = book.rfind(text, lowest, position + len(text) - 1)
        if position >= 0:
            yield position, position + len(text), number
            high = position


def _search_range(text: str) -> int:
    """Returns the letters within which a text is searched for: short texts occur everywhere."""
    return 60 + 5 * len(text)


def _word_edges(pages: Sequence[_MarkedPage]) -> bytearray:
    """Returns 1 for each letter that begins a word or belongs to a script without spaces."""
    edges = bytearray()
    for page in pages:
        for number, start in enumerate(page.starts):
            is_inside_word = (
                number and page.stops[number - 1] == start and page.letters[number] < "\u2e80"
            )
            edges.append(not is_inside_word)
    edges.append(1)
    return edges


# -- marks -----------------------------------------------------------------------------------------


def _insert_spans(
    pages: Sequence[_MarkedPage],
    units: Sequence[HeardSentence],
    spans: Sequence[_TextSpan],
    prefix: str,
) -> list[SyncPoint]:
    """Inserts spans around located sentences; returns their marks in spoken order."""
    starts = [0]
    for page in pages:
        starts.append(starts[-1] + len(page.letters))
    marks: list[tuple[int, SyncPoint]] = []
    marked_until: dict[str, int] = {}
    for number, span in enumerate(spans):
        index = bisect_right(starts, span.first) - 1
        page, page_start = pages[index], starts[index]
        if span.last > starts[index + 1]:
            continue  # it crosses two documents
        unit = units[span.unit]
        start_offset = page.starts[span.first - page_start]
        stop_offset = page.stops[span.last - page_start - 1]
        start_offset = _extend_start(page, start_offset, marked_until.get(page.name, 0))
        stop_offset = _extend_end(page, stop_offset)
        marked_until[page.name] = stop_offset
        page_pieces = list(_lettered_pieces(page, start_offset, stop_offset))
        word_places = list(
            _word_places(page, unit, span.first - page_start, (start_offset, stop_offset))
        )
        for part, (piece, piece_begin, piece_end) in enumerate(
            _share_time(page, page_pieces, unit.start, unit.stop)
        ):
            sentence_id = f"{prefix}{number + 1}" + (f"-{part + 1}" if part else "")
            word_pieces = [
                word_piece
                for word_start, word_stop, *times in word_places
                for word_piece in _share_time(
                    page,
                    list(
                        _lettered_pieces(page, max(word_start, piece[0]), min(word_stop, piece[1]))
                    ),
                    *times,
                )
            ]
            if word_places and not word_pieces:
                continue  # it is heard with the word before it
            page.inserts += [(piece[0], 2, f'<span id="{sentence_id}">'), (piece[1], 1, "</span>")]
            if not word_places:
                mark = SyncPoint(unit.chapter, page.name, sentence_id, piece_begin, piece_end)
                marks.append((span.unit, mark))
            for count, (word_piece, word_begin, word_end) in enumerate(word_pieces, 1):
                word_id = f"{sentence_id}-w{count}"
                page.inserts += [
                    (word_piece[0], 3, f'<span id="{word_id}">'),
                    (word_piece[1], 0, "</span>"),
                ]
                mark = SyncPoint(unit.chapter, page.name, word_id, word_begin, word_end)
                marks.append((span.unit, mark))
    return [mark for _, mark in sorted(marks, key=lambda pair: pair[0])]


def _share_time(
    page: _MarkedPage, pieces: Sequence[tuple[int, int]], start: float, stop: float
) -> Iterator[tuple[tuple[int, int], float, float]]:
    """Divides a time among pieces of one text by their letters."""
    letter_counts = [len(_letters_of(_visible_text(page, *piece))) for piece in pieces]
    letters_before = 0
    for piece, letter_count in zip(pieces, letter_counts, strict=True):
        seconds_per_letter = (stop - start) / sum(letter_counts)
        piece_start = start + letters_before * seconds_per_letter
        letters_before += letter_count
        yield piece, piece_start, start + letters_before * seconds_per_letter


def _word_places(
    page: _MarkedPage, unit: HeardSentence, first_letter: int, bounds: tuple[int, int]
) -> Iterator[tuple[int, int, float, float]]:
    """Yields start and stop of each word of a sentence in a page, with adjacent punctuation, and
    its times.

    `first_letter` is the number of the sentence's first letter, `bounds` are its own offsets.
    """
    word_bounds = []
    for word in unit.words:
        start_letter = first_letter + len(_letters_of(unit.line.text[unit.first : word.first]))
        stop_letter = start_letter + len(_letters_of(unit.line.text[word.first : word.last]))
        if start_letter < stop_letter:  # else it is a sign that is spoken as a word
            word_bounds.append(
                (page.starts[start_letter], page.stops[stop_letter - 1], word.start, word.stop)
            )
    previous_stop, next_starts = bounds[0], [*(word[0] for word in word_bounds[1:]), bounds[1]]
    for (start_offset, stop_offset, word_start, word_stop), next_start in zip(
        word_bounds, next_starts, strict=False
    ):
        begin_seconds = unit.start if previous_stop == bounds[0] else word_start
        if marks_before := _MARKS_BEFORE.search(page.text, previous_stop, start_offset):
            start_offset = marks_before.start()
        if marks_behind := _MARKS_AFTER.match(page.text, stop_offset, next_start):
            stop_offset = marks_behind.end()
        previous_stop = stop_offset
        yield start_offset, stop_offset, begin_seconds, word_stop


def _lettered_pieces(page: _MarkedPage, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Splits a range into pieces that a span may hold, without those that have no letters."""
    for piece in _balanced_pieces(page, start, stop):
        if _letters_of(_visible_text(page, *piece)):
            yield piece


def _extend_start(page: _MarkedPage, start: int, low: int) -> int:
    """Moves the start of a sentence over its quotes, and the emphasis of its first word."""
    while True:
        previous_start = start
        if marks_before := _MARKS_BEFORE.search(page.text, low, start):
            start = marks_before.start()
        tag = _tag_with(page.tags, lambda tag: tag.stop, start)
        if tag is not None and tag.kind == "open" and tag.start >= low:
            start = tag.start
        if start == previous_start:
            return start


def _extend_end(page: _MarkedPage, stop: int) -> int:
    """Moves the end of a sentence over its punctuation, and the end of an emphasis."""
    while True:
        previous_stop = stop
        if marks_after := _MARKS_AFTER.match(page.text, stop):
            stop = marks_after.end()
        tag = _tag_with(page.tags, lambda tag: tag.start, stop)
        if tag is not None and tag.kind == "close":
            stop = tag.stop
        if stop == previous_stop:
            return stop


def _tag_with(tags: Sequence[_Tag], edge: Callable[[_Tag], int], position: int) -> _Tag | None:
    """Returns the tag whose edge, its start or stop, lies at a position."""
    number = bisect_left(tags, position, key=edge)
    return tags[number] if number < len(tags) and edge(tags[number]) == position else None


def _visible_text(page: _MarkedPage, start: int, stop: int) -> str:
    """Returns the text of a range without its markup."""
    return html.unescape(re.sub(r"<[^>]*>", "", page.text[start:stop]))


def _balanced_pieces(page: _MarkedPage, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Splits a range into pieces that a span may hold: no tag opens or closes alone in one."""
    open_tags: list[_Tag] = []

    def pieces(pieces_stop: int) -> Iterator[tuple[int, int]]:
        position = start
        for tag in open_tags:
            yield position, tag.start
            position = tag.stop
        yield position, pieces_stop

    first = bisect_left(page.tags, start, key=lambda tag: tag.start)
    for tag in page.tags[first:]:
        if tag.start >= stop:
            break
        if tag.kind == "open":
            open_tags.append(tag)
        elif tag.kind == "close" and open_tags:
            open_tags.pop()
        elif tag.kind in ("close", "block"):
            yield from (piece for piece in pieces(tag.start) if piece[0] < piece[1])
            open_tags.clear()
            start = tag.stop
    yield from (piece for piece in pieces(stop) if piece[0] < piece[1])
