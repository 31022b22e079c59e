"""A read-along book: EPUB 3 with media overlays that highlight sentences or words as they are
heard.

If the project came from an EPUB 3, it is that book, page for page (`overlays.py`); else a plain one
made from the script. Its sound is that of the finished files. Each overlay plays its chapter
without gaps: the clip of a sentence or a word lasts until the next one begins.

https://www.w3.org/TR/epub-33/#sec-media-overlays
"""

from __future__ import annotations

import os
import uuid
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

from lxml import etree

from narrator import keys
from narrator.delivery.companions import sanitize
from narrator.delivery.companions.overlays import (
    HeardSentence,
    MarkedBook,
    SyncPoint,
    embed_overlays,
    parse_xml,
    relative_reference,
    resolve_href,
)
from narrator.delivery.companions.spoken import SpokenChapter, moments, words_within
from narrator.delivery.export import ListenerFile, read_cover
from narrator.errors import UserError
from narrator.files import replacing, translating_errors
from narrator.project.facts import BookFacts
from narrator.sound.formats import EREADER_FORMATS
from narrator.text.chunks import group_unison
from narrator.text.lines import Line
from narrator.text.sentences import sentences
from textbase.languages import is_right_to_left

ACTIVE_CLASS = "-epub-media-overlay-active"
MARK_PROPERTIES = {
    "digitalSourceType": "schema:digitalSourceType",
    "speechEngine": "schema:creditText",
}
"""Properties of schema.org that state the origin of a sound, by the names of its tags."""
_STYLE = f".{ACTIVE_CLASS} {{ background-color: rgba(255, 200, 60, 0.45); }}\n"
_SMIL = "http://www.w3.org/ns/SMIL"
_EPUB_OPS = "http://www.idpf.org/2007/ops"
_OPF = "http://www.idpf.org/2007/opf"
_DC = "http://purl.org/dc/elements/1.1/"
_XHTML = "http://www.w3.org/1999/xhtml"


def write(
    path: Path,
    chapters: Sequence[SpokenChapter],
    files: Sequence[ListenerFile],
    tags: BookFacts,
    source: Path | None,
    *,
    words: bool = False,
) -> tuple[str, ...]:
    """Writes the book at `path`, unless it is up to date; returns remarks on it.

    With `words` it highlights words whose times are known. Raises UserError where none of the files
    can be played in a book, where `source` cannot be read or is another book, and StorageError.
    """
    sound_files = _choose_sound_files(chapters, files)
    sentence_units = _heard_sentences(chapters, words)
    remarks: list[str] = []
    book = embed_overlays(source, sentence_units, remarks) if source is not None else None
    if book is None:
        book = _build_plain_book(chapters, sentence_units, tags)
    chapter_seconds = {chapter.number: chapter.timeline.seconds for chapter in chapters}
    members = _add_overlays(book, sound_files, chapter_seconds, tags)
    _write_epub(
        path,
        members,
        {book.base + name: file.path for name, (file, _) in sound_files.sound_names.items()},
    )
    return tuple(remarks)


# -- what is heard ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _SoundFiles:
    """The sound file of each chapter."""

    sound_names: dict[str, tuple[ListenerFile, str]]
    """File and media type by its name in the book."""
    chapter_starts: dict[int, tuple[str, float]]
    """By chapter: name of its file, and the second at which it begins there."""


def _choose_sound_files(
    chapters: Sequence[SpokenChapter], files: Sequence[ListenerFile]
) -> _SoundFiles:
    """Chooses the chapters' own files, which e-readers load fast, else the whole book's."""
    numbers = {chapter.number for chapter in chapters}
    for format, (ending, media_type) in EREADER_FORMATS.items():
        for are_books in (False, True):
            sound_files = _SoundFiles({}, {})
            for file in files:
                is_known = bool(set(file.chapters) & sound_files.chapter_starts.keys())
                if file.format != format or (file.chapter is None) != are_books or is_known:
                    continue
                book_number = len(sound_files.sound_names) + 1
                stem = f"book-{book_number}" if are_books else f"{file.chapters[0]:03}"
                name = f"audio/{stem}.{ending}"
                sound_files.sound_names[name] = file, media_type
                for number, start in zip(file.chapters, file.starts, strict=True):
                    sound_files.chapter_starts[number] = name, start
            if numbers <= sound_files.chapter_starts.keys():
                return sound_files
    names = ", ".join(EREADER_FORMATS)
    raise UserError(f"a read-along book needs finished files in one of {names}")


def _heard_sentences(chapters: Sequence[SpokenChapter], words: bool) -> list[HeardSentence]:
    """Returns all sentences of a book, divided by chunks, with their times and those of their
    words."""
    units: list[HeardSentence] = []
    for chapter in chapters:
        rate = chapter.timeline.sample_rate
        for cue, chunk in zip(chapter.timeline.heard, chapter.chunks, strict=True):
            line_parts: list[tuple[Line, int, int]] = []
            spans: list[tuple[int, int]] = []
            chunk_offset = 0
            for piece in chunk.pieces:
                heading_span = [(0, len(piece.text))] if piece.line.heading else None
                for first, last in heading_span or sentences(piece.text, chunk.language):
                    line_parts.append((piece.line, piece.start + first, piece.start + last))
                    spans.append((chunk_offset + first, chunk_offset + last))
                chunk_offset += len(piece.text) + 1
            times = moments(cue, rate, spans, chunk.language)
            for (line, first, last), span, start, stop in zip(
                line_parts, spans, times, times[1:], strict=False
            ):
                line_offset = first - span[0]
                sentence_words = tuple(
                    replace(word, first=word.first + line_offset, last=word.last + line_offset)
                    for word in (words_within(cue, rate, *span) if words else ())
                )
                units.append(
                    HeardSentence(chapter.number, line, first, last, start, stop, sentence_words)
                )
    return units


# -- overlays --------------------------------------------------------------------------------------


def _add_overlays(
    book: MarkedBook,
    sound_files: _SoundFiles,
    chapter_seconds: Mapping[int, float],
    tags: BookFacts,
) -> dict[str, bytes]:
    """Returns a book's files with overlays, and a package that lists them and the sound."""
    documents: dict[str, list[tuple[SyncPoint, float, float]]] = {}
    for chapter, chapter_marks in groupby(book.marks, key=lambda mark: mark.chapter):
        marks = list(chapter_marks)
        offset = sound_files.chapter_starts[chapter][1]
        # clips are contiguous, so that all of a chapter is played
        edges = [0.0, *(mark.start for mark in marks[1:]), chapter_seconds[chapter]]
        for mark, (start, stop) in zip(marks, pairwise(edges), strict=True):
            documents.setdefault(mark.document, []).append((mark, offset + start, offset + stop))
    members = dict(book.members)
    overlays: dict[str, tuple[str, float]] = {}
    for number, (document, clips) in enumerate(documents.items(), 1):
        name = f"{book.base}{number:03}.smil"
        members[name], seconds = _build_overlay(name, document, clips, sound_files, book.base)
        overlays[document] = (name, seconds)
    members[f"{book.base}style.css"] = _STYLE.encode()
    members[book.package] = _build_package(book, overlays, sound_files, tags)
    return members


def _build_overlay(
    name: str,
    document: str,
    clips: Sequence[tuple[SyncPoint, float, float]],
    sound_files: _SoundFiles,
    folder: str,
) -> tuple[bytes, float]:
    """Returns an overlay, and the seconds that it plays."""
    page = relative_reference(name, document)
    root = etree.Element(f"{{{_SMIL}}}smil", nsmap={None: _SMIL, "epub": _EPUB_OPS}, version="3.0")
    body = etree.SubElement(root, f"{{{_SMIL}}}body")
    # checkers of EPUB 3.2 and before require a fragment: the first highlighted element
    first = f"{page}#{clips[0][0].id}"
    # one level, and of this type: Storyteller's readers find no clips in other containers
    attributes = {f"{{{_EPUB_OPS}}}textref": first, f"{{{_EPUB_OPS}}}type": "chapter", "id": "all"}
    seq = etree.SubElement(body, f"{{{_SMIL}}}seq", attributes)
    played_ms = 0
    for mark, start, stop in clips:
        start_ms, stop_ms = round(start * 1000), round(stop * 1000)
        if start_ms >= stop_ms:
            continue
        par = etree.SubElement(seq, f"{{{_SMIL}}}par", id=f"p-{mark.id}")
        etree.SubElement(par, f"{{{_SMIL}}}text", src=f"{page}#{mark.id}")
        etree.SubElement(
            par,
            f"{{{_SMIL}}}audio",
            src=relative_reference(name, folder + sound_files.chapter_starts[mark.chapter][0]),
            clipBegin=_clock(start_ms),
            clipEnd=_clock(stop_ms),
        )
        played_ms += stop_ms - start_ms
    return _serialize(root), played_ms / 1000


def _build_package(
    book: MarkedBook,
    overlays: Mapping[str, tuple[str, float]],
    sound_files: _SoundFiles,
    tags: BookFacts,
) -> bytes:
    """Returns the package document with overlays, sound and metadata added."""
    opf = parse_xml(book.members[book.package])
    sanitize.package(opf)
    metadata, manifest = opf.find(f"{{{_OPF}}}metadata"), opf.find(f"{{{_OPF}}}manifest")
    ids = {element.get("id") for element in opf.iter() if element.get("id")}

    def unique_id(stem: str) -> str:
        name = stem
        while name in ids:
            name += "-x"
        ids.add(name)
        return name

    def add_manifest_item(id: str, name: str, kind: str) -> None:
        href = relative_reference(book.package, name)
        etree.SubElement(manifest, f"{{{_OPF}}}item", {"id": id, "href": href, "media-type": kind})

    def meta(property: str, text: str, refines: str = "") -> None:
        refinement = {"refines": f"#{refines}"} if refines else {}
        element = etree.SubElement(
            metadata, f"{{{_OPF}}}meta", {"property": property, **refinement}
        )
        element.text = text

    manifest_items = {
        resolve_href(book.package, item_element.get("href", "")): item_element
        for item_element in manifest.iterfind(f"{{{_OPF}}}item")
    }
    for number, (document, (name, seconds)) in enumerate(overlays.items(), 1):
        item_id = unique_id(f"overlay-{number}")
        manifest_items[document].set("media-overlay", item_id)
        add_manifest_item(item_id, name, "application/smil+xml")
        meta("media:duration", _clock(round(seconds * 1000)), item_id)
    for number, (name, (file, kind)) in enumerate(sound_files.sound_names.items(), 1):
        item_id = unique_id(f"sound-{number}")
        add_manifest_item(item_id, book.base + name, kind)
        for tag, property in MARK_PROPERTIES.items():  # of the sound alone: people wrote the text
            if tag in file.mark:
                meta(property, file.mark[tag], item_id)
    add_manifest_item(unique_id("overlay-style"), f"{book.base}style.css", "text/css")
    total_ms = sum(round(seconds * 1000) for _, seconds in overlays.values())
    meta("media:duration", _clock(total_ms))
    meta("media:active-class", ACTIVE_CLASS)
    for narrator in tags.narrators:
        meta("media:narrator", narrator)
    meta("schema:accessMode", "auditory")
    meta("schema:accessibilityFeature", "synchronizedAudioText")
    return _serialize(opf)


def _clock(time_ms: int) -> str:
    """Formats milliseconds as SMIL's full clock value: 1:02:03.004."""
    seconds, millis = divmod(time_ms, 1000)
    return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}.{millis:03}"


def _serialize(root: Any) -> bytes:
    document: bytes = etree.tostring(
        root, xml_declaration=True, encoding="UTF-8", pretty_print=True
    )
    return document


# -- a plain book ----------------------------------------------------------------------------------

_CONTAINER = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container">\n'
    '  <rootfiles><rootfile full-path="EPUB/package.opf" '
    'media-type="application/oebps-package+xml"/></rootfiles>\n</container>\n'
)
_MODIFIED = "2000-01-01T00:00:00Z"
"""EPUB requires a time; the same book must have the same bytes."""


def _build_plain_book(
    chapters: Sequence[SpokenChapter], units: Sequence[HeardSentence], tags: BookFacts
) -> MarkedBook:
    """Builds a book of the script's lines: all text, headings and scene breaks, and no more."""
    members = {"META-INF/container.xml": _CONTAINER.encode(), "EPUB/package.opf": b""}
    marks: list[SyncPoint] = []
    page_titles = []
    by_chapter = {number: list(group) for number, group in groupby(units, lambda u: u.chapter)}
    for chapter in chapters:
        name = f"EPUB/chapter-{chapter.number:03}.xhtml"
        members[name] = _build_page(name, chapter, by_chapter.get(chapter.number, []), marks)
        page_titles.append((name.removeprefix("EPUB/"), chapter.title))
    language = tags.language or chapters[0].language
    members["EPUB/nav.xhtml"] = _build_navigation(page_titles, tags.title, language)
    cover = read_cover(tags.cover) if tags.cover else None
    cover_name = ""
    if cover is not None:
        cover_name = f"cover.{'jpg' if cover.kind == 'jpeg' else cover.kind}"
        members[f"EPUB/{cover_name}"] = cover.data
    members["EPUB/title.xhtml"] = _build_title_page(tags, language, cover_name)
    members["EPUB/package.opf"] = _build_plain_package(
        ["title.xhtml", *(page for page, _ in page_titles)],
        tags,
        language,
        (cover_name, cover.mime) if cover else None,
    )
    return MarkedBook(members, "EPUB/package.opf", marks, "read-along/")


def _build_title_page(tags: BookFacts, language: str, cover_name: str) -> bytes:
    """Builds a page with the cover, the title and the authors.

    It comes first: foliate-js does not highlight the first page of a book.
    """
    document, body = _new_document(tags.title, language)
    section = etree.SubElement(body, f"{{{_XHTML}}}section", {f"{{{_EPUB_OPS}}}type": "titlepage"})
    if cover_name:
        picture = {"src": cover_name, "alt": "", "style": "max-width: 100%; max-height: 60vh"}
        etree.SubElement(etree.SubElement(section, f"{{{_XHTML}}}p"), f"{{{_XHTML}}}img", picture)
    etree.SubElement(section, f"{{{_XHTML}}}h1").text = tags.title
    for text in filter(None, (tags.subtitle, tags.author)):
        etree.SubElement(section, f"{{{_XHTML}}}p").text = text
    return _serialize_page(document)


def _build_page(
    name: str, chapter: SpokenChapter, units: Sequence[HeardSentence], marks: list[SyncPoint]
) -> bytes:
    """Builds the page of a chapter, and adds its marks to `marks`."""
    document, body = _new_document(chapter.title, chapter.language)
    link = {"rel": "stylesheet", "type": "text/css", "href": "read-along/style.css"}
    etree.SubElement(document[0], f"{{{_XHTML}}}link", link)
    section = etree.SubElement(body, f"{{{_XHTML}}}section", {f"{{{_EPUB_OPS}}}type": "chapter"})
    units_by_line: dict[int, list[HeardSentence]] = {}
    for unit in units:
        units_by_line.setdefault(id(unit.line), []).append(unit)
    for number, scene in enumerate(chapter.chapter.scenes):
        if number:
            etree.SubElement(section, f"{{{_XHTML}}}hr")
        paragraph: Any = None
        paragraph_language = chapter.language
        for lines in group_unison(scene.lines):
            line = lines[0]
            line_units = [
                unit for joined_line in lines for unit in units_by_line.get(id(joined_line), ())
            ]
            line_units.sort(key=lambda unit: unit.first)
            if line.continues_previous and paragraph is not None:
                _append_text(paragraph, "" if line.is_adjacent else " ")
                element = paragraph
                if line.language != paragraph_language:
                    element = etree.SubElement(paragraph, f"{{{_XHTML}}}span")
                    _mark_language(element, line.language, paragraph_language)
                _fill_line(element, line, line_units, name, marks)
                continue
            tag = f"h{min(line.heading, 6)}" if line.heading else "p"
            paragraph = etree.SubElement(section, f"{{{_XHTML}}}{tag}")
            paragraph_language = line.language
            _mark_language(paragraph, paragraph_language, chapter.language)
            _fill_line(paragraph, line, line_units, name, marks)
    return _serialize_page(document)


def _fill_line(
    element: Any, line: Line, units: Sequence[HeardSentence], document: str, marks: list[SyncPoint]
) -> None:
    """Adds the text of a line, each of its sentences in a span; white space stays outside."""
    position = 0
    for unit in units:
        text = line.text[unit.first : unit.last]
        visible_text = text.rstrip()
        if not visible_text:
            continue
        _append_text(element, line.text[position : unit.first])
        sentence_id = f"s{unit.chapter}-{len(marks) + 1}"
        span = etree.SubElement(element, f"{{{_XHTML}}}span", id=sentence_id)
        position = unit.first
        for number, word in enumerate(unit.words, 1):
            _append_text(span, line.text[position : word.first])
            word_id = f"{sentence_id}-w{number}"
            etree.SubElement(span, f"{{{_XHTML}}}span", id=word_id).text = line.text[
                word.first : word.last
            ]
            position = word.last
            begin_seconds = unit.start if number == 1 else word.start
            marks.append(SyncPoint(unit.chapter, document, word_id, begin_seconds, word.stop))
        _append_text(span, line.text[position : unit.first + len(visible_text)])
        position = unit.first + len(visible_text)
        if not unit.words:
            marks.append(SyncPoint(unit.chapter, document, sentence_id, unit.start, unit.stop))
    _append_text(element, line.text[position:])


def _append_text(element: Any, text: str) -> None:
    """Appends text to an element."""
    if len(element):
        element[-1].tail = (element[-1].tail or "") + text
    else:
        element.text = (element.text or "") + text


def _mark_language(element: Any, language: str, outer_language: str) -> None:
    """Marks an element whose language differs from that around it."""
    if language != outer_language:
        _set_language(element, language)
        if is_right_to_left(language) != is_right_to_left(outer_language):
            element.set("dir", "rtl" if is_right_to_left(language) else "ltr")


def _new_document(title: str, language: str) -> tuple[Any, Any]:
    """Returns an empty XHTML document and its body."""
    namespaces = {None: _XHTML, "epub": _EPUB_OPS}
    document = etree.Element(f"{{{_XHTML}}}html", nsmap=namespaces)
    _set_language(document, language)
    if is_right_to_left(language):
        document.set("dir", "rtl")
    head = etree.SubElement(document, f"{{{_XHTML}}}head")
    etree.SubElement(head, f"{{{_XHTML}}}title").text = title
    return document, etree.SubElement(document, f"{{{_XHTML}}}body")


def _set_language(element: Any, language: str) -> None:
    element.set("{http://www.w3.org/XML/1998/namespace}lang", language)
    element.set("lang", language)


def _build_navigation(pages: Sequence[tuple[str, str]], title: str, language: str) -> bytes:
    """Builds the table of contents of pages (file name, title)."""
    document, body = _new_document(title, language)
    nav = etree.SubElement(body, f"{{{_XHTML}}}nav", {f"{{{_EPUB_OPS}}}type": "toc"})
    etree.SubElement(nav, f"{{{_XHTML}}}h1").text = title
    contents = etree.SubElement(nav, f"{{{_XHTML}}}ol")
    for file_name, page_title in pages:
        entry = etree.SubElement(contents, f"{{{_XHTML}}}li")
        etree.SubElement(entry, f"{{{_XHTML}}}a", href=file_name).text = page_title
    return _serialize_page(document)


def _serialize_page(html: Any) -> bytes:
    # not indented: white space would become text
    page: bytes = etree.tostring(
        html, xml_declaration=True, encoding="UTF-8", doctype="<!DOCTYPE html>"
    )
    return page + b"\n"


def _build_plain_package(
    pages: Sequence[str], tags: BookFacts, language: str, cover: tuple[str, str] | None
) -> bytes:
    """Builds the package document of a plain book."""
    namespaces = {None: _OPF, "dc": _DC}
    attributes = {"version": "3.0", "unique-identifier": "id"}
    opf = etree.Element(f"{{{_OPF}}}package", attributes, nsmap=namespaces)
    metadata = etree.SubElement(opf, f"{{{_OPF}}}metadata")

    def add_metadata(name: str, text: str, id: str = "") -> None:
        if text:
            id_attribute = {"id": id} if id else {}
            etree.SubElement(metadata, f"{{{_DC}}}{name}", id_attribute).text = text

    isbn = f"urn:isbn:{tags.isbn.replace('-', '')}" if tags.isbn else ""
    add_metadata("identifier", isbn or _identifier(tags), "id")
    add_metadata("title", tags.title, "title")
    add_metadata("title", tags.subtitle, "subtitle")
    add_metadata("language", language)
    for author in tags.authors:
        add_metadata("creator", author)
    add_metadata("publisher", tags.publisher)
    add_metadata("date", tags.date)
    add_metadata("description", tags.description)
    add_metadata("rights", tags.copyright)

    def meta(property: str, text: str, refined_id: str = "", id: str = "") -> None:
        attributes = {"property": property}
        attributes |= {"refines": f"#{refined_id}"} if refined_id else {}
        attributes |= {"id": id} if id else {}
        etree.SubElement(metadata, f"{{{_OPF}}}meta", attributes).text = text

    meta("dcterms:modified", _MODIFIED)
    meta("title-type", "main", "title")
    if tags.subtitle:
        meta("title-type", "subtitle", "subtitle")
    if tags.series:
        meta("belongs-to-collection", tags.series, id="series")
        meta("collection-type", "series", "series")
        if tags.part:
            meta("group-position", tags.part, "series")
    meta("schema:accessMode", "textual")
    manifest = etree.SubElement(opf, f"{{{_OPF}}}manifest")

    def add_manifest_item(id: str, href: str, kind: str, properties: str = "") -> None:
        facts = {"id": id, "href": href, "media-type": kind}
        facts |= {"properties": properties} if properties else {}
        etree.SubElement(manifest, f"{{{_OPF}}}item", facts)

    add_manifest_item("nav", "nav.xhtml", "application/xhtml+xml", "nav")
    if cover is not None:
        add_manifest_item("cover", *cover, "cover-image")
    attributes = {"page-progression-direction": "rtl"} if is_right_to_left(language) else {}
    spine = etree.SubElement(opf, f"{{{_OPF}}}spine", attributes)
    for number, name in enumerate(pages):
        add_manifest_item(f"page-{number}", name, "application/xhtml+xml")
        etree.SubElement(spine, f"{{{_OPF}}}itemref", idref=f"page-{number}")
    return _serialize(opf)


def _identifier(tags: BookFacts) -> str:
    """Returns an identifier made from the facts of a book without ISBN."""
    facts = "\n".join([tags.title, *tags.authors, tags.part, tags.language])
    return f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'narrator:read-along:{facts}')}"


# -- the archive -----------------------------------------------------------------------------------


def _write_epub(path: Path, members: Mapping[str, bytes], sound_paths: Mapping[str, Path]) -> None:
    """Writes an EPUB, unless it is up to date.

    The archive's comment holds a key of its contents, so that it is not made twice, and ends with a
    hash of everything before it, which shows a flipped bit.
    """
    with translating_errors(path):
        recipe = {
            "readalong": 1,
            "members": {name: keys.content_of(content) for name, content in members.items()},
            "order": list(members),
            "sound": {name: keys.file_content(file) for name, file in sound_paths.items()},
        }
        key = keys.key(recipe).encode()
        if _is_whole(path, key):
            return
        with replacing(path) as temporary:
            _write_archive(temporary, key, members, sound_paths)
            seal = keys.file_content(temporary, excluded_tail_bytes=SEAL_BYTES).encode()
            with temporary.open("rb+") as file:
                file.seek(-SEAL_BYTES, os.SEEK_END)
                file.write(seal)


SEAL_BYTES = 64
"""Bytes of the hash that ends the file."""


def _write_archive(
    path: Path, key: bytes, members: Mapping[str, bytes], sound_paths: Mapping[str, Path]
) -> None:
    """Writes the archive with its key, and room for the hash that seals it."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.comment = key + bytes(SEAL_BYTES)
        archive.writestr(_zip_entry("mimetype", zipfile.ZIP_STORED), "application/epub+zip")
        for name, content in members.items():
            archive.writestr(_zip_entry(name, zipfile.ZIP_DEFLATED), content)
        for name, file in sound_paths.items():
            entry = _zip_entry(name, zipfile.ZIP_STORED)
            entry.file_size = file.stat().st_size
            with file.open("rb") as source, archive.open(entry, "w") as target:
                while block := source.read(1 << 20):
                    target.write(block)


def _zip_entry(name: str, method: int) -> zipfile.ZipInfo:
    """Returns an entry that is the same on every machine and day."""
    entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    entry.compress_type = method
    entry.create_system = 3
    entry.external_attr = 0o644 << 16
    return entry


def _is_whole(path: Path, key: bytes) -> bool:
    """Returns whether an EPUB has this key, and every byte that was written."""
    try:
        with path.open("rb") as file:
            file.seek(-len(key) - SEAL_BYTES, os.SEEK_END)
            comment = file.read()
        return comment == key + keys.file_content(path, excluded_tail_bytes=SEAL_BYTES).encode()
    except OSError:
        return False  # missing, or too short
