"""A read-along book: EPUB 3 with media overlays, its sentences or words lit as they are heard.

Where the project came from an EPUB 3, it is that book, page for page (`weave.py`); else a plain one
made from the script. The sound is that of the finished files, as it is. Each overlay plays its
chapter without gaps: a clip of a sentence or a word lasts until the next one begins.

https://www.w3.org/TR/epub-33/#sec-media-overlays
"""

from __future__ import annotations

import os
import uuid
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from lxml import etree

from narrator import keys
from narrator.delivery.companions import inert, weave
from narrator.delivery.companions.spoken import SpokenChapter, moments, words_within
from narrator.delivery.companions.weave import HeardSentence, SyncPoint
from narrator.delivery.export import ListenerFile, read_cover
from narrator.errors import UserError
from narrator.files import replacing, storage
from narrator.project.facts import BookFacts
from narrator.text.chunks import together
from narrator.text.lines import Line
from narrator.text.sentences import sentences

AUDIO = {
    "mp3": ("mp3", "audio/mpeg"),
    "m4b": ("m4a", "audio/mp4"),
    "opus": ("opus", "audio/ogg; codecs=opus"),
}
"""Formats that e-readers play, best first: the ending within a book, and the media type."""

ACTIVE = "-epub-media-overlay-active"
_STYLE = f".{ACTIVE} {{ background-color: rgba(255, 200, 60, 0.45); }}\n"
_SMIL = "http://www.w3.org/ns/SMIL"
_OPS = "http://www.idpf.org/2007/ops"
_OPF = "http://www.idpf.org/2007/opf"
_DC = "http://purl.org/dc/elements/1.1/"
_XHTML = "http://www.w3.org/1999/xhtml"
_RIGHT_TO_LEFT = frozenset("ar arc ckb dv fa he iw ks ps sd syr ug ur yi".split())


def write(
    path: Path,
    chapters: Sequence[SpokenChapter],
    files: Sequence[ListenerFile],
    tags: BookFacts,
    source: Path | None,
    *,
    words: bool = False,
) -> tuple[str, ...]:
    """Write the book at `path`, unless it is there as it should; returns remarks on it. With
    `words` each is lit whose time is known.

    Raises UserError where none of the files can be played in a book, where `source` cannot be read
    or is another book, and StorageError.
    """
    sound = _sound(chapters, files)
    units = _units(chapters, words)
    remarks: list[str] = []
    woven = weave.weave(source, units, remarks) if source is not None else None
    if woven is None:
        book = _fresh(chapters, units, tags)
    else:
        book = _Epub(woven.members, woven.package, woven.marks, woven.folder)
    lengths = {spoken.number: spoken.timeline.seconds for spoken in chapters}
    members = _overlaid(book, sound, lengths, tags)
    _zip(path, members, {book.base + n: file.path for n, (file, _) in sound.named.items()})
    return tuple(remarks)


@dataclass(frozen=True, slots=True)
class _Epub:
    """An EPUB without its overlays."""

    members: dict[str, bytes]
    """Files by name, in order; the package document among them."""
    package: str
    """Name of the package document."""
    marks: Sequence[SyncPoint]
    """In the order in which they are spoken."""
    folder: str
    """Where overlays and sound go, beside the package document, with a slash."""

    @property
    def base(self) -> str:
        """The same, from the root of the book."""
        return weave.named(self.package, self.folder) + "/"


# -- what is heard ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _SoundFiles:
    """Which file each chapter is in."""

    named: dict[str, tuple[ListenerFile, str]]
    """File and media type by its name in the book."""
    places: dict[int, tuple[str, float]]
    """By chapter: name of its file, and the second at which it begins there."""


def _sound(chapters: Sequence[SpokenChapter], files: Sequence[ListenerFile]) -> _SoundFiles:
    """The chapters' own files, which e-readers load fast, else the whole book's."""
    numbers = {spoken.number for spoken in chapters}
    for format, (ending, kind) in AUDIO.items():
        for whole in (False, True):
            sound = _SoundFiles({}, {})
            for file in files:
                new = not set(file.chapters) & sound.places.keys()
                if file.format == format and (file.chapter is None) == whole and new:
                    stem = f"book-{len(sound.named) + 1}" if whole else f"{file.chapters[0]:03}"
                    name = f"audio/{stem}.{ending}"
                    sound.named[name] = file, kind
                    places = zip(file.chapters, file.starts, strict=True)
                    sound.places.update((number, (name, start)) for number, start in places)
            if numbers <= sound.places.keys():
                return sound
    raise UserError("a read-along book needs finished files in one of " + ", ".join(AUDIO))


def _units(chapters: Sequence[SpokenChapter], words: bool) -> list[HeardSentence]:
    """All sentences of a book, as far as a chunk holds them, with their times in the chapter, and
    with those of their words."""
    units: list[HeardSentence] = []
    for spoken in chapters:
        rate = spoken.timeline.sample_rate
        for cue, chunk in zip(spoken.timeline.heard, spoken.chunks, strict=True):
            parts: list[tuple[Line, int, int]] = []
            spans: list[tuple[int, int]] = []
            shift = 0
            for piece in chunk.pieces:
                whole = [(0, len(piece.text))] if piece.line.heading else None
                for first, last in whole or sentences(piece.text, chunk.language):
                    parts.append((piece.line, piece.start + first, piece.start + last))
                    spans.append((shift + first, shift + last))
                shift += len(piece.text) + 1
            times = moments(cue, rate, spans, chunk.language)
            for (line, first, last), span, start, stop in zip(
                parts, spans, times, times[1:], strict=False
            ):
                by = first - span[0]
                own = tuple(
                    replace(word, first=word.first + by, last=word.last + by)
                    for word in (words_within(cue, rate, *span) if words else ())
                )
                units.append(HeardSentence(spoken.number, line, first, last, start, stop, own))
    return units


# -- overlays --------------------------------------------------------------------------------------


def _overlaid(
    book: _Epub, sound: _SoundFiles, lengths: Mapping[int, float], tags: BookFacts
) -> dict[str, bytes]:
    """A book's files with overlays, and a package that lists them and the sound."""
    begins: dict[int, list[float]] = {}
    for mark in book.marks:
        begins.setdefault(mark.chapter, []).append(mark.start)
    documents: dict[str, list[tuple[SyncPoint, float, float]]] = {}
    taken: dict[int, int] = {}
    for mark in book.marks:
        number = taken.get(mark.chapter, 0)
        taken[mark.chapter] = number + 1
        own = begins[mark.chapter]
        # from silence to silence: nothing of a chapter goes unheard
        start = mark.start if number else 0.0
        stop = own[number + 1] if number + 1 < len(own) else lengths[mark.chapter]
        offset = sound.places[mark.chapter][1]
        documents.setdefault(mark.document, []).append((mark, offset + start, offset + stop))
    members = dict(book.members)
    overlays: dict[str, tuple[str, float]] = {}
    for number, (document, clips) in enumerate(documents.items(), 1):
        name = f"{book.base}{number:03}.smil"
        members[name], seconds = _smil(name, document, clips, sound, book.base)
        overlays[document] = (name, seconds)
    members[f"{book.base}style.css"] = _STYLE.encode()
    sounds = {book.base + name: kind for name, (_, kind) in sound.named.items()}
    members[book.package] = _package(book, overlays, sounds, tags)
    return members


def _smil(
    name: str,
    document: str,
    clips: Sequence[tuple[SyncPoint, float, float]],
    sound: _SoundFiles,
    folder: str,
) -> tuple[bytes, float]:
    """An overlay, and the seconds that it plays."""
    page = weave.relative(name, document)
    root = etree.Element(f"{{{_SMIL}}}smil", nsmap={None: _SMIL, "epub": _OPS}, version="3.0")
    body = etree.SubElement(root, f"{{{_SMIL}}}body")
    # checkers of EPUB 3.2 and before ask for a fragment: the first element that is lit
    first = f"{page}#{clips[0][0].id}"
    seq = etree.SubElement(body, f"{{{_SMIL}}}seq", {f"{{{_OPS}}}textref": first, "id": "all"})
    played, within, around = 0, "", seq
    for mark, start, stop in clips:
        times = round(start * 1000), round(stop * 1000)
        if times[0] >= times[1]:
            continue
        if mark.within != within:
            within, around = mark.within, seq
            if within:
                names = {f"{{{_OPS}}}textref": f"{page}#{within}", "id": f"q-{within}"}
                around = etree.SubElement(seq, f"{{{_SMIL}}}seq", names)
        par = etree.SubElement(around, f"{{{_SMIL}}}par", id=f"p-{mark.id}")
        etree.SubElement(par, f"{{{_SMIL}}}text", src=f"{page}#{mark.id}")
        etree.SubElement(
            par,
            f"{{{_SMIL}}}audio",
            src=weave.relative(name, folder + sound.places[mark.chapter][0]),
            clipBegin=_clock(times[0]),
            clipEnd=_clock(times[1]),
        )
        played += times[1] - times[0]
    return _serialised(root), played / 1000


def _package(
    book: _Epub,
    overlays: Mapping[str, tuple[str, float]],
    sounds: Mapping[str, str],
    tags: BookFacts,
) -> bytes:
    opf = weave.parsed(book.members[book.package])
    inert.package(opf)
    metadata, manifest = opf.find(f"{{{_OPF}}}metadata"), opf.find(f"{{{_OPF}}}manifest")
    ids = {element.get("id") for element in opf.iter() if element.get("id")}

    def new(stem: str) -> str:
        name = stem
        while name in ids:
            name += "-x"
        ids.add(name)
        return name

    def item(id: str, name: str, kind: str) -> None:
        href = weave.relative(book.package, name)
        etree.SubElement(manifest, f"{{{_OPF}}}item", {"id": id, "href": href, "media-type": kind})

    def meta(property: str, text: str, refines: str = "") -> None:
        extra = {"refines": f"#{refines}"} if refines else {}
        element = etree.SubElement(metadata, f"{{{_OPF}}}meta", {"property": property, **extra})
        element.text = text

    items = {
        weave.named(book.package, found.get("href", "")): found
        for found in manifest.iterfind(f"{{{_OPF}}}item")
    }
    for number, (document, (name, seconds)) in enumerate(overlays.items(), 1):
        id = new(f"overlay-{number}")
        items[document].set("media-overlay", id)
        item(id, name, "application/smil+xml")
        meta("media:duration", _clock(round(seconds * 1000)), id)
    for number, (name, kind) in enumerate(sounds.items(), 1):
        item(new(f"sound-{number}"), name, kind)
    item(new("overlay-style"), f"{book.base}style.css", "text/css")
    whole = sum(round(seconds * 1000) for _, seconds in overlays.values())
    meta("media:duration", _clock(whole))
    meta("media:active-class", ACTIVE)
    for narrator in tags.narrators:
        meta("media:narrator", narrator)
    meta("schema:accessMode", "auditory")
    meta("schema:accessibilityFeature", "synchronizedAudioText")
    return _serialised(opf)


def _clock(time: int) -> str:
    """Milliseconds as SMIL's full clock value: 1:02:03.004."""
    seconds, rest = divmod(time, 1000)
    return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}.{rest:03}"


def _serialised(root: Any) -> bytes:
    data: bytes = etree.tostring(root, xml_declaration=True, encoding="UTF-8", pretty_print=True)
    return data


# -- a plain book ----------------------------------------------------------------------------------

_CONTAINER = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container">\n'
    '  <rootfiles><rootfile full-path="EPUB/package.opf" '
    'media-type="application/oebps-package+xml"/></rootfiles>\n</container>\n'
)
_MODIFIED = "2000-01-01T00:00:00Z"
"""EPUB asks for a time; the same book shall have the same bytes."""


def _fresh(
    chapters: Sequence[SpokenChapter], units: Sequence[HeardSentence], tags: BookFacts
) -> _Epub:
    """A book of the script's lines: all of its text, headings and scene breaks, and no more."""
    members = {"META-INF/container.xml": _CONTAINER.encode(), "EPUB/package.opf": b""}
    marks: list[SyncPoint] = []
    pages = []
    by_chapter = {number: list(group) for number, group in groupby(units, lambda u: u.chapter)}
    for spoken in chapters:
        name = f"EPUB/chapter-{spoken.number:03}.xhtml"
        members[name] = _page(name, spoken, by_chapter.get(spoken.number, []), marks)
        pages.append((name.removeprefix("EPUB/"), spoken.title))
    language = tags.language or chapters[0].language
    members["EPUB/nav.xhtml"] = _navigation(pages, tags.title, language)
    cover = read_cover(tags.cover) if tags.cover else None
    picture = ""
    if cover is not None:
        picture = f"cover.{'jpg' if cover.kind == 'jpeg' else cover.kind}"
        members[f"EPUB/{picture}"] = cover.data
    members["EPUB/package.opf"] = _fresh_package(
        [page for page, _ in pages], tags, language, (picture, cover.mime) if cover else None
    )
    return _Epub(members, "EPUB/package.opf", marks, "read-along/")


def _page(
    name: str, spoken: SpokenChapter, units: Sequence[HeardSentence], marks: list[SyncPoint]
) -> bytes:
    html, body = _document(spoken.title, spoken.language)
    link = {"rel": "stylesheet", "type": "text/css", "href": "read-along/style.css"}
    etree.SubElement(html[0], f"{{{_XHTML}}}link", link)
    section = etree.SubElement(body, f"{{{_XHTML}}}section", {f"{{{_OPS}}}type": "chapter"})
    said: dict[int, list[HeardSentence]] = {}
    for unit in units:
        said.setdefault(id(unit.line), []).append(unit)
    for number, scene in enumerate(spoken.chapter.scenes):
        if number:
            etree.SubElement(section, f"{{{_XHTML}}}hr")
        paragraph: Any = None
        around = spoken.language
        for lines in together(scene.lines):
            line = lines[0]
            own = [unit for one in lines for unit in said.get(id(one), ())]
            own.sort(key=lambda unit: unit.first)
            if line.goes_on and paragraph is not None:
                _add(paragraph, "" if line.is_close else " ")
                element = paragraph
                if line.language != around:
                    element = etree.SubElement(paragraph, f"{{{_XHTML}}}span")
                    _say_language(element, line.language, around)
                _fill(element, line, own, name, marks)
                continue
            kind = f"h{min(line.heading, 6)}" if line.heading else "p"
            paragraph = etree.SubElement(section, f"{{{_XHTML}}}{kind}")
            around = line.language
            _say_language(paragraph, around, spoken.language)
            _fill(paragraph, line, own, name, marks)
    return _serialised_page(html)


def _fill(
    element: Any, line: Line, units: Sequence[HeardSentence], document: str, marks: list[SyncPoint]
) -> None:
    """The text of a line, each of its sentences in a span; white space stays outside."""
    at = 0
    for unit in units:
        text = line.text[unit.first : unit.last]
        kept = text.rstrip()
        if not kept:
            continue
        _add(element, line.text[at : unit.first])
        id = f"s{unit.chapter}-{len(marks) + 1}"
        span = etree.SubElement(element, f"{{{_XHTML}}}span", id=id)
        at = unit.first
        for number, word in enumerate(unit.words, 1):
            _add(span, line.text[at : word.first])
            own = f"{id}-w{number}"
            etree.SubElement(span, f"{{{_XHTML}}}span", id=own).text = line.text[
                word.first : word.last
            ]
            at = word.last
            begin = unit.start if number == 1 else word.start
            marks.append(SyncPoint(unit.chapter, document, own, begin, word.stop, id))
        _add(span, line.text[at : unit.first + len(kept)])
        at = unit.first + len(kept)
        if not unit.words:
            marks.append(SyncPoint(unit.chapter, document, id, unit.start, unit.stop))
    _add(element, line.text[at:])


def _add(element: Any, text: str) -> None:
    """Text at the end of an element."""
    if len(element):
        element[-1].tail = (element[-1].tail or "") + text
    else:
        element.text = (element.text or "") + text


def _say_language(element: Any, language: str, around: str) -> None:
    """That an element is in another language than what is around it."""
    if language != around:
        _set_language(element, language)
        if _right_to_left(language) != _right_to_left(around):
            element.set("dir", "rtl" if _right_to_left(language) else "ltr")


def _document(title: str, language: str) -> tuple[Any, Any]:
    names = {None: _XHTML, "epub": _OPS}
    html = etree.Element(f"{{{_XHTML}}}html", nsmap=names)
    _set_language(html, language)
    if _right_to_left(language):
        html.set("dir", "rtl")
    head = etree.SubElement(html, f"{{{_XHTML}}}head")
    etree.SubElement(head, f"{{{_XHTML}}}title").text = title
    return html, etree.SubElement(html, f"{{{_XHTML}}}body")


def _set_language(element: Any, language: str) -> None:
    element.set("{http://www.w3.org/XML/1998/namespace}lang", language)
    element.set("lang", language)


def _right_to_left(language: str) -> bool:
    return language.lower().partition("-")[0] in _RIGHT_TO_LEFT


def _navigation(pages: Sequence[tuple[str, str]], title: str, language: str) -> bytes:
    html, body = _document(title, language)
    nav = etree.SubElement(body, f"{{{_XHTML}}}nav", {f"{{{_OPS}}}type": "toc"})
    etree.SubElement(nav, f"{{{_XHTML}}}h1").text = title
    rows = etree.SubElement(nav, f"{{{_XHTML}}}ol")
    for name, chapter in pages:
        row = etree.SubElement(rows, f"{{{_XHTML}}}li")
        etree.SubElement(row, f"{{{_XHTML}}}a", href=name).text = chapter
    return _serialised_page(html)


def _serialised_page(html: Any) -> bytes:
    # not indented: white space would become text
    data: bytes = etree.tostring(
        html, xml_declaration=True, encoding="UTF-8", doctype="<!DOCTYPE html>"
    )
    return data + b"\n"


def _fresh_package(
    pages: Sequence[str], tags: BookFacts, language: str, cover: tuple[str, str] | None
) -> bytes:
    names = {None: _OPF, "dc": _DC}
    attributes = {"version": "3.0", "unique-identifier": "id"}
    opf = etree.Element(f"{{{_OPF}}}package", attributes, nsmap=names)
    metadata = etree.SubElement(opf, f"{{{_OPF}}}metadata")

    def say(name: str, text: str, id: str = "") -> None:
        if text:
            extra = {"id": id} if id else {}
            etree.SubElement(metadata, f"{{{_DC}}}{name}", extra).text = text

    isbn = f"urn:isbn:{tags.isbn.replace('-', '')}" if tags.isbn else ""
    say("identifier", isbn or _identifier(tags), "id")
    say("title", tags.title)
    say("language", language)
    for author in tags.authors:
        say("creator", author)
    say("publisher", tags.publisher)
    say("date", tags.date)
    say("description", tags.description)
    say("rights", tags.copyright)
    stamp = etree.SubElement(metadata, f"{{{_OPF}}}meta", property="dcterms:modified")
    stamp.text = _MODIFIED
    manifest = etree.SubElement(opf, f"{{{_OPF}}}manifest")

    def item(id: str, href: str, kind: str, properties: str = "") -> None:
        facts = {"id": id, "href": href, "media-type": kind}
        facts |= {"properties": properties} if properties else {}
        etree.SubElement(manifest, f"{{{_OPF}}}item", facts)

    item("nav", "nav.xhtml", "application/xhtml+xml", "nav")
    if cover is not None:
        item("cover", *cover, "cover-image")
    attributes = {"page-progression-direction": "rtl"} if _right_to_left(language) else {}
    spine = etree.SubElement(opf, f"{{{_OPF}}}spine", attributes)
    for number, name in enumerate(pages, 1):
        item(f"chapter-{number}", name, "application/xhtml+xml")
        etree.SubElement(spine, f"{{{_OPF}}}itemref", idref=f"chapter-{number}")
    return _serialised(opf)


def _identifier(tags: BookFacts) -> str:
    facts = "\n".join([tags.title, *tags.authors, tags.part, tags.language])
    return f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'narrator:read-along:{facts}')}"


# -- the archive -----------------------------------------------------------------------------------


def _zip(path: Path, members: Mapping[str, bytes], sound: Mapping[str, Path]) -> None:
    """Write an EPUB. The archive's comment names what went in, so that it is not made twice, and
    ends the file with a hash of all before it, so that a flipped bit is not left in."""
    with storage(path):
        recipe = {
            "readalong": 1,
            "members": {name: keys.content_of(data) for name, data in members.items()},
            "order": list(members),
            "sound": {name: keys.file_content(file) for name, file in sound.items()},
        }
        key = keys.key(recipe).encode()
        if _is_whole(path, key):
            return
        with replacing(path) as temporary:
            _write(temporary, key, members, sound)
            seal = keys.file_content(temporary, but=SEAL).encode()
            with temporary.open("rb+") as file:
                file.seek(-SEAL, os.SEEK_END)
                file.write(seal)


SEAL = 64
"""Bytes of the hash that ends the file."""


def _write(path: Path, key: bytes, members: Mapping[str, bytes], sound: Mapping[str, Path]) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.comment = key + bytes(SEAL)
        archive.writestr(_entry("mimetype", zipfile.ZIP_STORED), "application/epub+zip")
        for name, data in members.items():
            archive.writestr(_entry(name, zipfile.ZIP_DEFLATED), data)
        for name, file in sound.items():
            entry = _entry(name, zipfile.ZIP_STORED)
            entry.file_size = file.stat().st_size
            with file.open("rb") as read, archive.open(entry, "w") as written:
                while block := read.read(1 << 20):
                    written.write(block)


def _entry(name: str, method: int) -> zipfile.ZipInfo:
    """The same on every machine and day."""
    entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    entry.compress_type = method
    entry.create_system = 3
    entry.external_attr = 0o644 << 16
    return entry


def _is_whole(path: Path, key: bytes) -> bool:
    """Whether an EPUB is what was made of this, every byte of it."""
    try:
        with path.open("rb") as file:
            file.seek(-len(key) - SEAL, os.SEEK_END)
            comment = file.read()
        return comment == key + keys.file_content(path, but=SEAL).encode()
    except OSError:
        return False  # not there, or shorter than that
