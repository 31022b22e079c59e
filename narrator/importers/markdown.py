"""Markdown -> a book: parted at its headings, otherwise as it is written.

Front matter in YAML gives the facts of the book. The text of chapters stays the author's, but for
what the script layer would take for a speaker's label; in a script, labels are labels.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

import yaml
from markdown_it import MarkdownIt
from markdown_it.token import Token

from narrator.characters import seen
from narrator.errors import ImportFailed, Problem
from narrator.importers import matter
from narrator.importers.book import (
    Book,
    CoverImage,
    ImportedChapter,
    Skipped,
    count_characters,
    count_words,
    file_name,
    stem,
)
from narrator.importers.package import LANGUAGE
from narrator.importers.plaintext import find_speakers, read_text
from narrator.importers.prose import label_colons
from narrator.importers.titles import distinct, is_bare

_FACTS = {
    "title": "title",
    "subtitle": "subtitle",
    "author": "author",
    "authors": "author",
    "creator": "author",
    "language": "language",
    "lang": "language",
    "publisher": "publisher",
    "date": "date",
    "description": "description",
    "abstract": "description",
    "genre": "genre",
    "rights": "copyright",
    "copyright": "copyright",
    "series": "series",
    "part": "series_part",
    "series_part": "series_part",
    "cover": "cover",
    "cover-image": "cover",
    "isbn": "isbn",
    "uuid": "uuid",
    "identifier": "id",
}
"""Keys of front matter -> facts of a book."""

_PART_WORDS = 120
"""A part with no more words of its own is read at the beginning of its first chapter."""

_KEY = re.compile(r"[\w.-]+[ \t]*:(\s|$)")
_BY = re.compile(r"[*_]*by:?\s+(\S.{1,80}?)[*_]*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Title:
    row: int
    end: int
    level: int
    title: str


@dataclass(slots=True)
class _Source:
    """One file. Rows are counted from 0."""

    path: Path
    rows: list[str]
    shown: list[str]
    """The rows, with escapes where they are needed."""
    begin: int = 0
    """Where front matter ends."""
    facts: dict[str, list[str]] = field(default_factory=dict)
    chapters: list[ImportedChapter] = field(default_factory=list)
    left_out: list[Skipped] = field(default_factory=list)

    def fact(self, name: str) -> str | None:
        return next(iter(self.facts.get(name, ())), None)

    def has_words(self, begin: int, end: int) -> bool:
        return self.words(begin, end) > 0

    def words(self, begin: int, end: int) -> int:
        return count_words("\n".join(self.rows[begin:end]))

    def keep(self, begin: int, end: int, title: str) -> None:
        text = "\n".join(self.rows[begin:end])
        shown = "\n".join(self.shown[begin:end]).strip("\n") + "\n"
        where = f"{file_name(self.path)}:{begin + 1}"
        self.chapters.append(
            ImportedChapter(title, shown, where, count_characters(text), count_words(text))
        )

    def leave(self, begin: int, end: int, title: str, reason: str, restorable: bool) -> None:
        text = "\n".join(self.rows[begin:end])
        shown = "\n".join(self.shown[begin:end]).strip("\n") + "\n"
        if characters := count_characters(text):
            self.left_out.append(
                Skipped(
                    f"{file_name(self.path)}:{begin + 1}", title, reason, characters,
                    count_words(text), shown if restorable else None, len(self.chapters),
                )
            )  # fmt: skip


def read_markdown(path: Path) -> Book:
    """The book in a Markdown file. Raises ImportFailed."""
    text = seen(read_text(path))
    rows = text.split("\n")
    source = _Source(path, rows, list(rows))
    _read_front_matter(source)
    body = "\n".join([""] * source.begin + rows[source.begin :])
    tokens = MarkdownIt("commonmark").enable("table").disable("code").parse(body)
    paragraphs = list(_paragraphs(tokens))
    contents = [content for _, content in paragraphs]
    speakers = find_speakers(contents) or find_speakers("\n".join(contents).split("\n"))
    _escape_labels(source, paragraphs, {"narrator", *(name.casefold() for name in speakers)})
    _divide(source, list(_headings(tokens)))
    if len(source.chapters) == 1:
        source.facts.setdefault("title", [source.chapters[0].title])
    if not source.chapters:
        raise ImportFailed(Problem(path, None, "has no text to read aloud"))
    remarks = []
    if source.fact("title") is None:
        remarks.append("The text does not say its title; the file's name stands for it.")
    if source.fact("author") is None:
        remarks.append("The text does not say its author.")
    language = (source.fact("language") or "").replace("_", "-")
    if not LANGUAGE.fullmatch(language):
        remarks.append("The text does not say its language; English is assumed.")
    return Book(
        title=source.fact("title") or stem(path),
        authors=tuple(source.facts.get("author", ())) or ("Unknown",),
        language=language if LANGUAGE.fullmatch(language) else "en",
        chapters=tuple(source.chapters),
        left_out=tuple(source.left_out),
        source=file_name(path),
        characters=count_characters(text),
        identifiers={key: v for key in ("isbn", "uuid", "id") if (v := source.fact(key))},
        cover=_cover(source),
        subtitle=source.fact("subtitle"),
        series=source.fact("series"),
        series_part=source.fact("series_part"),
        publisher=source.fact("publisher"),
        date=source.fact("date"),
        description=source.fact("description"),
        genre=source.fact("genre"),
        copyright=source.fact("copyright"),
        speakers=speakers,
        remarks=tuple(remarks),
    )


# -- front matter ----------------------------------------------------------------------------------


def _read_front_matter(source: _Source) -> None:
    rows = source.rows
    if rows[0].rstrip() != "---" or len(rows) < 3 or not _KEY.match(rows[1]):
        return
    end = next((i for i, row in enumerate(rows[1:], 1) if row.rstrip() in ("---", "...")), None)
    if end is None:
        return
    try:
        # The base loader makes strings of all scalars: no dates, no numbers, no objects.
        data = yaml.load("\n".join(rows[1:end]), Loader=yaml.BaseLoader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 2 if error.problem_mark else 1
        what = f"front matter is no valid YAML: {error.problem or error.context}"
        raise ImportFailed(Problem(source.path, line, what)) from None
    except (yaml.YAMLError, RecursionError):
        what = "front matter is no valid YAML"
        raise ImportFailed(Problem(source.path, 1, what)) from None
    if not isinstance(data, dict) or not any(_FACTS.get(str(key).lower()) for key in data):
        return
    for key, value in data.items():
        name = _FACTS.get(str(key).lower())
        if name is not None and (texts := list(_texts(value))):
            source.facts.setdefault(name, texts)
            if name == "series" and isinstance(value, Mapping) and value.get("part"):
                source.facts.setdefault("series_part", [str(value["part"])])
    source.begin = end + 1
    source.leave(0, end + 1, "", "front matter: the facts of the book", restorable=False)


def _texts(value: object) -> Iterator[str]:
    """The texts of a value that is one text, a list of them, or mappings that hold one."""
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, Mapping):
            item = next((item[k] for k in ("name", "text", "title") if item.get(k)), None)
        if isinstance(item, str) and item.strip():
            yield " ".join(item.split())


def _cover(source: _Source) -> CoverImage | None:
    name = source.fact("cover")
    if name is None:
        return None
    path = source.path.parent / name
    try:
        data = path.read_bytes()
    except OSError as error:
        what = f"the cover cannot be read: {error.strerror or error}"
        raise ImportFailed(Problem(path, None, what)) from None
    if data.startswith(b"\xff\xd8\xff"):
        return CoverImage(data, ".jpg")
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return CoverImage(data, ".png")
    raise ImportFailed(Problem(path, None, "the cover is no image that players take: JPEG or PNG"))


# -- chapters --------------------------------------------------------------------------------------


def _headings(tokens: Sequence[Token]) -> Iterator[_Title]:
    """Headings, and paragraphs right above one that name a part and do no more."""
    found: list[_Title] = []
    for opening, inline in pairwise(tokens):
        if opening.level == 0 and opening.map and opening.type.endswith("_open"):
            words = (t.content if t.content else " " for t in inline.children or ())
            title = " ".join("".join(words).split())
            level = int(opening.tag[1]) if opening.type == "heading_open" else 0
            found.append(_Title(opening.map[0], opening.map[1], level, title))
    for heading, below in pairwise([*found, _Title(0, 0, 0, "")]):
        if heading.level:
            yield heading
        elif below.level and _names_part(heading.title):
            yield replace(heading, level=below.level)


@dataclass(slots=True)
class _HeadingStart:
    """Where a chapter begins."""

    heading: _Title
    parents: tuple[_Title, ...]
    """Headings of what holds it, the outermost first."""
    begin: int
    """Its first row: that of the first heading which stands above it alone."""


def _divide(source: _Source, headings: Sequence[_Title]) -> None:
    """Chapters at headings of the highest level but the title's, and at those within parts."""
    first = [h for h in headings if h.level == 1]
    second = [h for h in headings if h.level == 2]
    title = first[0] if len(first) == 1 and _is_book_title(source, first[0], second) else None
    if title is not None:
        source.facts.setdefault("title", [title.title])
    starts = list(_starts(source, [h for h in headings if h is not title]))
    _read_front(source, title, starts[0].begin if starts else len(source.rows))
    titles = distinct([(s.heading.title, tuple(h.title for h in s.parents)) for s in starts])
    stretches = pairwise([*(start.begin for start in starts), len(source.rows)])
    for start, name, (begin, end) in zip(starts, titles, stretches, strict=True):
        heading = start.heading
        kind = matter.kind_of_title(heading.title)
        if why := matter.reason(kind):
            source.leave(begin, end, heading.title, why, restorable=kind != "toc")
        elif source.has_words(heading.end, end):
            source.keep(begin, end, name or source.fact("title") or stem(source.path))
        else:
            source.leave(begin, end, heading.title, "a heading without text", restorable=False)


def _starts(source: _Source, headings: Sequence[_Title]) -> Iterator[_HeadingStart]:
    """Chapters, each with the parts and stories that hold it; what holds is read at its first."""
    top = min((heading.level for heading in headings), default=1)
    holders: list[tuple[_Title, int]] = []
    """Each with the level of what it holds."""
    begin: int | None = None
    for heading, below in pairwise([*headings, None]):
        assert heading is not None
        part = _names_part(heading.title)
        while holders and (
            heading.level <= holders[-1][0].level and (part or heading.level < holders[-1][1])
        ):
            holders.pop()
        if heading.level > (holders[-1][1] if holders else top):
            continue  # a section of its chapter
        lead = part and below is not None and heading.level <= below.level
        alone = below is not None and source.words(heading.end, below.row) <= (
            _PART_WORDS if part else 0
        )
        parents = tuple(holder for holder, _ in holders)
        if below is not None and (lead or _is_holder(heading, below, top)) and (part or alone):
            holders.append((heading, below.level))
            if alone:
                begin = heading.row if begin is None else begin
                continue
        yield _HeadingStart(heading, parents, heading.row if begin is None else begin)
        begin = None


def _is_holder(heading: _Title, below: _Title, top: int) -> bool:
    """Whether a heading with nothing under it but another one holds chapters, not sections."""
    if below.level <= heading.level:
        return False
    numbers = is_bare(below.title) and not matter.is_chapter(heading.title)
    return (heading.level == top == 1 and below.level == 2) or _names_part(heading.title) or numbers


def _names_part(title: str) -> bool:
    return matter.title_of_part(title) is not None


def _is_book_title(source: _Source, heading: _Title, second: Sequence[_Title]) -> bool:
    """Whether the only heading of the first level is the title of the book."""
    if heading.title == source.fact("title"):
        return True
    named = matter.is_chapter(heading.title) or _names_part(heading.title)
    return bool(second) and heading.row < second[0].row and not named


def _read_front(source: _Source, title: _Title | None, end: int) -> None:
    """What stands before the first chapter: the title, who wrote it, and text without a heading."""
    begin = source.begin
    if title is not None:
        if source.has_words(begin, title.row):
            source.keep(begin, title.row, title.title)
        else:
            source.leave(begin, title.row, "", "no words", restorable=False)
        begin = title.end
        row = next((i for i in range(begin, end) if source.rows[i].strip()), end)
        by = _BY.fullmatch(source.rows[row].strip()) if row < end else None
        if by:
            source.facts.setdefault("author", [by[1]])
            begin = row + 1
        source.leave(title.row, begin, title.title, "title page", restorable=False)
    if source.has_words(begin, end):
        source.keep(begin, end, source.fact("title") or stem(source.path))
    else:
        source.leave(begin, end, "", "no words", restorable=False)


# -- labels ----------------------------------------------------------------------------------------


def _paragraphs(tokens: Sequence[Token]) -> Iterator[tuple[int, str]]:
    """First row and text of each paragraph, those in quotations and lists as well."""
    for opening, inline in pairwise(tokens):
        if opening.type == "paragraph_open" and inline.map:
            yield inline.map[0], inline.content


def _escape_labels(
    source: _Source, paragraphs: Sequence[tuple[int, str]], speakers: set[str]
) -> None:
    """Escape the colon of what looks like the label of somebody who is no speaker."""
    for row, content in paragraphs:
        text = content.partition("\n")[0]
        colon = next(iter(label_colons(text)), None)
        if colon is None or text[colon - 1] == "\\":
            continue
        name = re.sub(r"\s?[(（].*", "", text[:colon]).strip("*_ ").casefold()
        if name not in speakers:
            at = source.rows[row].index(text) + colon
            mark = "\\:" if text[colon] == ":" else "&#xFF1A;"
            source.shown[row] = source.rows[row][:at] + mark + source.rows[row][at + 1 :]
