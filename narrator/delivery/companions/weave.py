"""The EPUB that a project came from, with a span around each sentence that is spoken.

Its pages stay as they are, byte for byte, but for spans and one link to a style. Sentences are
found by their letters alone, in order: first those that occur once in the whole book, then, between
those, the others. So it does not matter how the text was imported, and little what was edited
since; what is not found is heard while the sentence before it is lit. Knows nothing of sound.
"""

from __future__ import annotations

import html
import posixpath
import re
import unicodedata
import zipfile
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from lxml import etree

from narrator.delivery.companions import inert
from narrator.delivery.companions.inert import TOKEN
from narrator.delivery.companions.spoken import SpokenWord
from narrator.errors import ImportFailed, Problem, UserError
from narrator.importers.readers.archive import Archive
from narrator.importers.readers.ebook.package import Package, read_package
from narrator.text.lines import Line

_XHTML = "http://www.w3.org/1999/xhtml"

LEAST = 0.5
"""Share of the spoken letters that must be found in a book, or it is another book."""


class HeardSentence(NamedTuple):
    """A sentence, or what of it one chunk holds: `line.text[first:last]`, heard in a chapter."""

    chapter: int
    line: Line
    first: int
    last: int
    start: float
    """Seconds in the chapter's sound."""
    stop: float
    words: tuple[SpokenWord, ...] = ()
    """Those of `line.text` that are to be marked, too."""


class SyncPoint(NamedTuple):
    """An element of a document, and when it is heard in its chapter, in seconds."""

    chapter: int
    document: str
    id: str
    start: float
    stop: float
    within: str = ""
    """The element of its sentence, where it is a word's."""


@dataclass(frozen=True, slots=True)
class Woven:
    """A book's files with marks in its pages, and what `readalong` needs to go on."""

    members: dict[str, bytes]
    package: str
    marks: tuple[SyncPoint, ...]
    folder: str


def weave(source: Path, units: Sequence[HeardSentence], remarks: list[str]) -> Woven | None:
    """Mark all sentences of a book in its pages; None, with a remark, for one that has no room.

    Raises UserError where the book cannot be read, or does not hold the text.
    """
    with Archive(source) as archive:
        package = read_package(archive)
        if plain := _no_room(archive, package):
            remarks.append(f"{source.name} {plain}; pages are plain")
            return None
        members = _members(archive, package, remarks)
    pages = list(_pages(source, package, members, remarks))
    spans = _found(pages, units)
    _compare(source, units, spans, remarks)
    base, folder = posixpath.dirname(package.path), "read-along/"
    while any(name.startswith(posixpath.join(base, folder)) for name in members):
        folder = f"x-{folder}"
    prefix = "read-"
    while any(f'"{prefix}' in page.text or f"'{prefix}" in page.text for page in pages):
        prefix = f"x-{prefix}"
    marks = _mark(pages, units, spans, prefix)
    for page in pages:
        if page.inserts:
            style = relative(page.name, posixpath.join(base, f"{folder}style.css"))
            members[page.name] = page.woven(style).encode()
    return Woven(members, package.path, tuple(marks), folder)


def _no_room(archive: Archive, package: Package) -> str:
    """Why a book takes no marks; empty where it does."""
    if not archive.xml(package.path).get("version", "").startswith("3"):
        return "is an EPUB 2, which has no read-along"
    if any(item.media_type == "application/smil+xml" for item in package.items):
        return "reads itself along already"
    return ""


def _pages(
    source: Path, package: Package, members: dict[str, bytes], remarks: list[str]
) -> Iterator[_WovenPage]:
    """The documents that can be marked, in the order in which they are read."""
    for item, _ in package.spine:
        name = unquote(item.path)
        if item.media_type != "application/xhtml+xml" or name not in members:
            continue
        text = members[name].decode()
        if _takes_spans(text):
            yield _WovenPage(name, text)
        else:
            remarks.append(f"{name} of {source.name} is no well-formed XHTML; it is not read along")


def _compare(
    source: Path, units: Sequence[HeardSentence], spans: Sequence[_TextSpan], remarks: list[str]
) -> None:
    """Remarks on what is heard and was not found. Raises UserError where that is most of it."""
    letters = sum(len(_letters(unit.line.text[unit.first : unit.last])) for unit in units)
    share = sum(span.last - span.first for span in spans) / max(letters, 1)
    if share < LEAST:
        what = f"holds {share:.0%} of the text that is spoken; name the EPUB the project came from"
        raise UserError(Problem(source, None, what))
    if share < 0.995:
        remarks.append(f"{1 - share:.1%} of the text spoken is not in {source.name} as it stands; "
                       "it is heard, and not marked")  # fmt: skip
    lost = {unit.chapter for unit in units} - {units[span.unit].chapter for span in spans}
    if lost:
        names = ", ".join(map(str, sorted(lost)))
        remarks.append(f"chapters not read along, for {source.name} does not have them: {names}")


def _members(archive: Archive, package: Package, remarks: list[str]) -> dict[str, bytes]:
    """The files of a book, pages in UTF-8, without what acts by itself; with a remark on it."""
    kinds = {unquote(item.path): item.media_type for item in package.items}
    members: dict[str, bytes] = {}
    tamed = 0
    for name in _names(archive.path):
        kind = kinds.get(name) or _KINDS.get(name.rpartition(".")[2].lower(), "")
        if inert.is_script(kind, name):
            tamed += 1
        elif kind in _PAGES or kind == "text/css":
            members[name], changed = _tamed(archive, name, kind)
            tamed += changed
        else:
            members[name] = archive.read(name)
    if tamed:
        remarks.append(
            f"what acts by itself or fetches from a network (scripts, forms, remote pictures) is "
            f"left out of {archive.path.name}, {tamed} of its files; their words are kept"
        )
    return members


def _tamed(archive: Archive, name: str, kind: str) -> tuple[bytes, bool]:
    """A page or a style sheet without what acts by itself; whether any of it did."""
    if kind == "text/css":
        text = archive.read(name).decode(errors="surrogateescape")
        found = inert.style(text)
        return found.encode(errors="surrogateescape"), found != text
    text = _without_entities(_decoded(archive, name))
    found = text
    if _is_well_formed(text):
        found = inert.page(text)
    elif _DOUBTFUL.search(text):
        found = inert.page(_read_anew(archive, name))
    return _ENCODING.sub(r"\1utf-8", found, count=1).encode(), found != text


_KINDS = {
    "xhtml": "application/xhtml+xml",
    "html": "text/html",
    "htm": "text/html",
    "svg": "image/svg+xml",
    "css": "text/css",
}
"""Of files that the package does not list."""
_PAGES = frozenset(("application/xhtml+xml", "image/svg+xml", "text/html"))
_DOUBTFUL = re.compile(
    r"<\s*(?:\w+:)?(?:script|i?frame|object|embed|form|base|meta)\b|@import|\bon\w+\s*=|script:|"
    r"(?:src|srcset|href|data|poster|background|url)\s*[=(]\s*[\"']?\s*(?:https?:)?//",
    re.IGNORECASE,
)


def _decoded(archive: Archive, name: str) -> str:
    try:
        return archive.text(name)
    except ImportFailed:  # in no encoding that it names, as are some drawings
        return archive.read(name).decode(errors="replace")


def _without_entities(text: str) -> str:
    """A page with the short names that it gives to text replaced by that text."""
    if "<!ENTITY" not in text:
        return text
    said = dict(_ENTITY.findall(text))
    subset = _SUBSET.match(text, text.find("<!DOCTYPE"))
    plain = f"{text[: subset.start()]}{subset[1]}>{text[subset.end() :]}" if subset else text
    return re.sub(r"&([\w.-]+);", lambda found: said.get(found[1], found[0]), plain)


_ENTITY = re.compile(r"<!ENTITY\s+([\w.-]+)\s+[\"']([^\"'<>&]{0,200})[\"']\s*>")
_SUBSET = re.compile(r"(<!DOCTYPE[^>\[]*?)\s*\[.*?\]\s*>", re.DOTALL)


def _read_anew(archive: Archive, name: str) -> str:
    """A page that no two readers would read alike, as this one reads it."""
    root, _ = archive.document(name)
    for element in root.iter(etree.Element):
        if not element.tag.startswith("{"):
            element.tag = f"{{{_XHTML}}}{element.tag}"
    etree.cleanup_namespaces(root, top_nsmap={None: _XHTML})
    written: str = etree.tostring(root, encoding="unicode")
    return written


def _is_well_formed(text: str) -> bool:
    try:
        parsed(_DECLARATION.sub("", text, count=1).encode())
    except etree.XMLSyntaxError:
        return False
    return "<!ENTITY" not in text


def _names(source: Path) -> list[str]:
    """Files of an archive that go into another one. A signature of what it was is none."""
    with zipfile.ZipFile(source) as archive:
        names = [info.filename.replace("\\", "/") for info in archive.infolist()]
    left = ("mimetype", "META-INF/signatures.xml")
    return [name for name in names if name not in left and not name.endswith("/")]


def relative(base: str, name: str) -> str:
    """A reference from one file of a book to another."""
    return quoted(posixpath.relpath(name, posixpath.dirname(base) or "."))


def quoted(path: str) -> str:
    return quote(path, safe="/()!$&'*+,;=@~-._")


def named(package: str, href: str) -> str:
    """The file of a book that its package means."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(package), unquote(href)))


def parsed(document: bytes) -> Any:
    """An XML document of a book. Entities and network are off."""
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, remove_blank_text=True
    )
    return etree.fromstring(document, parser)


def _takes_spans(text: str) -> bool:
    """Is it well-formed, and XHTML without a prefix?"""
    if not _is_well_formed(text):
        return False
    root = parsed(_DECLARATION.sub("", text, count=1).encode())
    return bool(root.tag == f"{{{_XHTML}}}html" and root.nsmap.get(None) == _XHTML)


# -- letters ---------------------------------------------------------------------------------------


class _Folded(dict[str, str]):
    """A character as it is compared: its letters and digits, without case, marks and width."""

    def __missing__(self, character: str) -> str:
        plain = unicodedata.normalize("NFKD", character).casefold()
        self[character] = folded = "".join(filter(str.isalnum, plain))
        return folded


_FOLDED = _Folded()


def _letters(text: str) -> str:
    return "".join(map(_FOLDED.__getitem__, text))


# -- pages -----------------------------------------------------------------------------------------

_DECLARATION = re.compile(r"\A\ufeff?\s*<\?xml[^>]*\?>")
_ENCODING = re.compile(r"(\A\ufeff?\s*<\?xml[^>]*?encoding\s*=\s*[\"'])[A-Za-z0-9._-]+")
_INLINE = frozenset(
    "a abbr acronym b bdi bdo big br cite code data del dfn em font i img ins kbd mark q s samp "
    "small span strike strong sub sup time tt u var wbr".split()
)
_UNREAD = frozenset("head math rp rt script style svg template title".split())
_BEFORE = re.compile(r"(?:[^\w\s<>&;]|&#?\w+;)+\Z")
_AFTER = re.compile(r"(?:(?![“‘«„「『【〈《（［｛(\[{¿¡]\w)[^\w\s<&]|&#?\w+;)+")


class _Tag(NamedTuple):
    start: int
    stop: int
    kind: str
    """open, close, empty, or block: the tag of a block, which no span may cross."""


def _tokens(text: str) -> Iterator[tuple[re.Match[str], str, bool]]:
    """A page's markup and text in order, with the names of tags, and whether they stand in what
    nobody reads."""
    unread, depth = "", 0
    for token in TOKEN.finditer(text):
        name = (token["name"] or "").rpartition(":")[2].lower()
        yield token, name, bool(unread)
        if unread and name == unread and not token["empty"]:
            depth += -1 if token["close"] else 1
            unread = unread if depth else ""
        elif not unread and name in _UNREAD and not token["close"] and not token["empty"]:
            unread, depth = name, 1


@dataclass(slots=True)
class _WovenPage:
    """A document of the book: its text as written, its letters, and where each stands."""

    name: str
    text: str
    letters: str = ""
    starts: array[int] = field(default_factory=lambda: array("L"))
    stops: array[int] = field(default_factory=lambda: array("L"))
    tags: list[_Tag] = field(default_factory=list)
    inserts: list[tuple[int, int, str]] = field(default_factory=list)
    """Offset, order among those at one offset, and what to write there."""

    def __post_init__(self) -> None:
        letters: list[str] = []
        for token, name, unread in _tokens(self.text):
            if token["name"]:
                kind = "close" if token["close"] else "empty" if token["empty"] else "open"
                kind = kind if name in _INLINE else "block"
                self.tags.append(_Tag(token.start(), token.end(), kind))
            elif unread:
                continue
            elif token["entity"]:
                for character in html.unescape(token[0]):
                    self._add(letters, character, token.start(), token.end())
            elif token["text"]:
                for at, character in enumerate(token[0], token.start()):
                    self._add(letters, character, at, at + 1)
        self.letters = "".join(letters)

    def _add(self, letters: list[str], character: str, start: int, stop: int) -> None:
        for letter in _FOLDED[character]:
            letters.append(letter)
            self.starts.append(start)
            self.stops.append(stop)

    def woven(self, style: str) -> str:
        """The document with what was inserted, and a link to a style sheet."""
        head = re.search(r"</(?:\w+:)?head\s*>", self.text)
        inserts = list(self.inserts)
        if head:
            link = f'<link rel="stylesheet" type="text/css" href="{html.escape(style)}"/>'
            inserts.append((head.start(), 0, link))
        parts = []
        at = 0
        for offset, _, text in sorted(inserts):
            parts += [self.text[at:offset], text]
            at = offset
        return _ENCODING.sub(r"\1utf-8", "".join([*parts, self.text[at:]]), count=1)


# -- sentences in pages ----------------------------------------------------------------------------


class _TextSpan(NamedTuple):
    """Letters `first` to `last` of the whole book are the unit of this number."""

    first: int
    last: int
    unit: int


_ANCHORS = (24, 10)
"""Letters of a sentence that is taken for unmistakable, where it occurs once; the second number is
for chapters that have none of the first."""


def _found(pages: Sequence[_WovenPage], units: Sequence[HeardSentence]) -> list[_TextSpan]:
    """Units that are in the book, in its order; they never overlap."""
    book = "".join(page.letters for page in pages)
    edges = _word_edges(pages)
    places: list[_TextSpan] = []
    start = 0
    for _, group in groupby(units, lambda unit: unit.chapter):
        texts = [_letters(unit.line.text[unit.first : unit.last]) for unit in group]
        places += [
            _TextSpan(first, last, start + number)
            for first, last, number in _chapter_places(book, texts, edges)
        ]
        start += len(texts)
    found: list[_TextSpan] = []
    for place in sorted(places):
        if not found or place.first >= found[-1].last:
            found.append(place)
    return found


def _chapter_places(
    book: str, texts: Sequence[str], edges: bytearray
) -> Iterator[tuple[int, int, int]]:
    whole = "".join(texts)
    at = book.find(whole) if whole else -1
    if at >= 0 and book.find(whole, at + 1) < 0:
        for number, text in enumerate(texts):
            if text:
                yield at, at + len(text), number
            at += len(text)
        return
    anchors = next(filter(None, (list(_anchors(book, texts, least)) for least in _ANCHORS)), None)
    if not anchors:
        return
    yield from ((at, at + len(texts[n]), n) for at, n in anchors)
    bounds = [(at, at + len(texts[n]), n) for at, n in anchors]
    for (_, low, before), (high, _, after) in pairwise(bounds):
        yield from _forward(book, texts, range(before + 1, after), low, high, edges)
    yield from _backward(book, texts, bounds[0][2], bounds[0][0], edges)
    last = range(bounds[-1][2] + 1, len(texts))
    yield from _forward(book, texts, last, bounds[-1][1], len(book), edges)


def _anchors(book: str, texts: Sequence[str], least: int) -> Iterator[tuple[int, int]]:
    """Place and number of sentences that occur once, the longest row of them that is in order."""
    rows = []
    for number, text in enumerate(texts):
        if len(text) >= least and (at := book.find(text)) >= 0 and book.find(text, at + 1) < 0:
            rows.append((at, number))
    ends: list[int] = []
    best: list[int] = []
    before: list[int] = []
    for index, (at, _) in enumerate(rows):
        k = bisect_right(ends, at)
        ends[k : k + 1] = [at]
        best[k : k + 1] = [index]
        before.append(best[k - 1] if k else -1)
    chosen = []
    index = best[-1] if best else -1
    while index >= 0:
        chosen.append(rows[index])
        index = before[index]
    yield from reversed(chosen)


def _forward(
    book: str, texts: Sequence[str], numbers: range, low: int, high: int, edges: bytearray
) -> Iterator[tuple[int, int, int]]:
    for number in numbers:
        text = texts[number]
        limit = min(high, low + _reach(text))
        at = book.find(text, low, limit) if text else -1
        while at >= 0 and not (edges[at] and edges[at + len(text)]):
            at = book.find(text, at + 1, limit)
        if at >= 0:
            yield at, at + len(text), number
            low = at + len(text)


def _backward(
    book: str, texts: Sequence[str], stop: int, high: int, edges: bytearray
) -> Iterator[tuple[int, int, int]]:
    """What stands before the first anchor: found from there, so that it lies next to it."""
    for number in reversed(range(stop)):
        text = texts[number]
        limit = max(0, high - _reach(text))
        at = book.rfind(text, limit, high) if text else -1
        while at >= 0 and not (edges[at] and edges[at + len(text)]):
            at = book.rfind(text, limit, at + len(text) - 1)
        if at >= 0:
            yield at, at + len(text), number
            high = at


def _reach(text: str) -> int:
    """Letters within which a sentence is looked for: what is short is found everywhere."""
    return 60 + 5 * len(text)


def _word_edges(pages: Sequence[_WovenPage]) -> bytearray:
    """1 before each letter that begins a word or stands in a script without spaces."""
    edges = bytearray()
    for page in pages:
        for number, start in enumerate(page.starts):
            inside = number and page.stops[number - 1] == start and page.letters[number] < "\u2e80"
            edges.append(not inside)
    edges.append(1)
    return edges


# -- marks -----------------------------------------------------------------------------------------


def _mark(
    pages: Sequence[_WovenPage],
    units: Sequence[HeardSentence],
    found: Sequence[_TextSpan],
    prefix: str,
) -> list[SyncPoint]:
    """Put spans around what was found; returns marks in the order in which they are spoken."""
    starts = [0]
    for page in pages:
        starts.append(starts[-1] + len(page.letters))
    marks: list[tuple[int, SyncPoint]] = []
    spent: dict[str, int] = {}
    for number, place in enumerate(found):
        index = bisect_right(starts, place.first) - 1
        page, shift = pages[index], starts[index]
        if place.last > starts[index + 1]:
            continue  # it runs over two documents
        unit = units[place.unit]
        first = page.starts[place.first - shift]
        last = page.stops[place.last - shift - 1]
        first = _opening(page, first, spent.get(page.name, 0))
        last = _ending(page, last)
        spent[page.name] = last
        pieces = [p for p in _balanced(page, first, last) if _letters(_shown(page, *p))]
        words = list(_word_places(page, unit, place.first - shift, (first, last)))
        for part, (piece, start, stop) in enumerate(_timed(page, pieces, unit.start, unit.stop)):
            id = f"{prefix}{number + 1}" + (f"-{part + 1}" if part else "")
            own = [
                spot
                for low, high, *times in words
                for spot in _timed(page, list(_clipped(page, piece, low, high)), *times)
            ]
            if words and not own:
                continue  # it is heard with the word before it
            page.inserts += [(piece[0], 2, f'<span id="{id}">'), (piece[1], 1, "</span>")]
            if not words:
                mark = SyncPoint(unit.chapter, page.name, id, start, stop)
                marks.append((place.unit, mark))
            for count, (spot, begin, end) in enumerate(own, 1):
                name = f"{id}-w{count}"
                page.inserts += [(spot[0], 3, f'<span id="{name}">'), (spot[1], 0, "</span>")]
                mark = SyncPoint(unit.chapter, page.name, name, begin, end, id)
                marks.append((place.unit, mark))
    return [mark for _, mark in sorted(marks, key=lambda pair: pair[0])]


def _timed(
    page: _WovenPage, pieces: Sequence[tuple[int, int]], start: float, stop: float
) -> Iterator[tuple[tuple[int, int], float, float]]:
    """Pieces of one text, each with its share of the time."""
    weights = [len(_letters(_shown(page, *piece))) for piece in pieces]
    done = 0
    for piece, weight in zip(pieces, weights, strict=True):
        length = (stop - start) / sum(weights)
        begin = start + done * length
        done += weight
        yield piece, begin, start + done * length


def _word_places(
    page: _WovenPage, unit: HeardSentence, at: int, bounds: tuple[int, int]
) -> Iterator[tuple[int, int, float, float]]:
    """Where the words of a sentence stand in a page, with the marks that touch them, and when they
    are heard; `at` is the number of its first letter, `bounds` are its own."""
    found = []
    for word in unit.words:
        first = at + len(_letters(unit.line.text[unit.first : word.first]))
        last = first + len(_letters(unit.line.text[word.first : word.last]))
        if first < last:  # else it is a sign that is said as a word
            found.append((page.starts[first], page.stops[last - 1], word.start, word.stop))
    low, ends = bounds[0], [*(word[0] for word in found[1:]), bounds[1]]
    for (first, last, start, stop), end in zip(found, ends, strict=False):
        begin = unit.start if low == bounds[0] else start
        if before := _BEFORE.search(page.text, low, first):
            first = before.start()
        if behind := _AFTER.match(page.text, last, end):
            last = behind.end()
        low = last
        yield first, last, begin, stop


def _clipped(
    page: _WovenPage, piece: tuple[int, int], first: int, last: int
) -> Iterator[tuple[int, int]]:
    """What of a stretch lies in a piece, as spans may hold it."""
    first, last = max(first, piece[0]), min(last, piece[1])
    if first < last:
        yield from (p for p in _balanced(page, first, last) if _letters(_shown(page, *p)))


def _opening(page: _WovenPage, first: int, low: int) -> int:
    """Where a sentence begins: with its quotes, and with the emphasis that its first word has."""
    while True:
        at = first
        if before := _BEFORE.search(page.text, low, first):
            first = before.start()
        tag = _tag_before(page, first)
        if tag is not None and tag.kind == "open" and tag.start >= low:
            first = tag.start
        if first == at:
            return first


def _ending(page: _WovenPage, last: int) -> int:
    """Where it ends: with the marks after its last letter, and the end of an emphasis."""
    while True:
        at = last
        if after := _AFTER.match(page.text, last):
            last = after.end()
        tag = _tag_at(page, last)
        if tag is not None and tag.kind == "close":
            last = tag.stop
        if last == at:
            return last


def _tag_before(page: _WovenPage, at: int) -> _Tag | None:
    number = bisect_left(page.tags, at, key=lambda tag: tag.stop)
    return page.tags[number] if number < len(page.tags) and page.tags[number].stop == at else None


def _tag_at(page: _WovenPage, at: int) -> _Tag | None:
    number = bisect_left(page.tags, at, key=lambda tag: tag.start)
    return page.tags[number] if number < len(page.tags) and page.tags[number].start == at else None


def _shown(page: _WovenPage, start: int, stop: int) -> str:
    return html.unescape(re.sub(r"<[^>]*>", "", page.text[start:stop]))


def _balanced(page: _WovenPage, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """A stretch of a document in pieces that a span may hold: no tag opens or ends alone in one."""
    open_tags: list[_Tag] = []

    def pieces(end: int) -> Iterator[tuple[int, int]]:
        at = start
        for tag in open_tags:
            yield at, tag.start
            at = tag.stop
        yield at, end

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
