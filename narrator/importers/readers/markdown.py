"""Markdown -> a book: parted at its headings, otherwise as it is written.

Front matter in YAML gives the facts of the book. The text of chapters stays the author's.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, pairwise
from pathlib import Path

import yaml
from markdown_it import MarkdownIt
from markdown_it.token import Token

from narrator import files
from narrator.characters import seen
from narrator.errors import ImportFailed, Problem
from narrator.importers import hyphens
from narrator.importers.blocks import Block, Kind, left_out
from narrator.importers.book import (
    Book,
    Choices,
    CoverImage,
    count_characters,
    count_words,
    file_name,
    stem,
)
from narrator.importers.chapters import CHOSEN, FOLDER, LEVELS, divide
from narrator.importers.chapters.outline import Outline
from narrator.importers.matter import BookContext
from narrator.importers.plaintext import read_text
from narrator.importers.prose import StyledSpan, write_paragraph
from narrator.importers.readers.facts import LANGUAGE

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

_KEY = re.compile(r"[\w.-]+[ \t]*:(\s|$)")


@dataclass(slots=True)
class _MarkdownFile:
    """One file. Rows are counted from 0."""

    path: Path
    rows: list[str]
    shown: list[str]
    """The rows, with escapes where they are needed."""
    facts: dict[str, list[str]] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)

    def fact(self, name: str) -> str | None:
        return next(iter(self.facts.get(name, ())), None)

    def block(self, begin: int, end: int, kind: Kind = "text", title: str = "") -> Block:
        """Rows as they are written, counted."""
        rows = self.rows[begin:end]
        return Block(
            kind,
            f"{file_name(self.path)}:{begin + 1}",
            text=title,
            characters=sum(map(count_characters, rows)),
            words=sum(map(count_words, rows)),
            rows=rows,
            written="\n".join(self.shown[begin:end]),
        )


def read_markdown(path: Path, choices: Choices, of_folder: bool = False) -> Book:
    """The book in a Markdown file, or one file of a book in a folder. Raises ImportFailed, Slow."""
    decoded = read_text(path, choices.encoding)
    text = seen(decoded.text)
    rows = text.split("\n")
    source = _MarkdownFile(path, rows, list(rows))
    begin = _read_front_matter(source)
    body = "\n".join([""] * begin + rows[begin:])
    tokens = MarkdownIt("commonmark").enable("table").disable(["code", "html_block"]).parse(body)
    _join_words(source, tokens, text)
    _take_in(source, tokens, choices)
    outline = _outline(source, tokens, begin, of_folder)
    outline.choices = choices
    divided = divide(outline, CHOSEN if choices.heading else FOLDER if of_folder else LEVELS)
    said = outline.said
    if not of_folder:
        if not divided.chapters:
            raise ImportFailed(Problem(path, None, "has no text to read aloud"))
        if len(divided.chapters) == 1:
            said.setdefault("title", divided.chapters[0].title)
    book = _book(source, said, is_titled=("title" in (source.facts if of_folder else said)))
    return replace(
        book,
        chapters=tuple(divided.chapters),
        left_out=tuple(divided.left_out),
        characters=count_characters(text),
        speakers=divided.speakers,
        dialogue=divided.dialogue,
        remarks=(*filter(None, [decoded.remark]), *book.remarks, *divided.remarks),
    )


def _outline(
    source: _MarkdownFile, tokens: Sequence[Token], begin: int, of_folder: bool
) -> Outline:
    """What the text of a file has, and what its front matter, up to a row, says of the book."""
    said = {name: texts[0] for name in ("title", "author") if (texts := source.facts.get(name))}
    name = _shown_name(source.path) if of_folder else stem(source.path)
    if of_folder:
        said = {"title": said.get("title", name)}
    return Outline(_blocks(source, tokens, begin), BookContext(name), said=said)


def _book(source: _MarkdownFile, said: Mapping[str, str], is_titled: bool) -> Book:
    """The facts of a book, without its text."""
    language = (source.fact("language") or "").replace("_", "-")
    missing = []
    if not is_titled:
        missing.append("The text does not say its title; the file's name stands for it.")
    if "author" not in said and "author" not in source.facts:
        missing.append("The text does not say its author.")
    facts = source.facts.get("title", [])
    cover = _cover(source)
    return Book(
        title=next(iter(facts), said.get("title", stem(source.path))),
        authors=tuple(source.facts.get("author", [said.get("author", "Unknown")])),
        language=language if LANGUAGE.fullmatch(language) else "",
        chapters=(),
        source=file_name(source.path),
        identifiers={key: v for key in ("isbn", "uuid", "id") if (v := source.fact(key))},
        cover=cover,
        subtitle=source.fact("subtitle"),
        series=source.fact("series"),
        series_part=source.fact("series_part"),
        publisher=source.fact("publisher"),
        date=source.fact("date"),
        description=source.fact("description"),
        genre=source.fact("genre"),
        copyright=source.fact("copyright"),
        is_titled=is_titled,
        remarks=(*source.remarks, *missing),
    )


def _shown_name(path: Path) -> str:
    """A file's name as a title: `03-the-gate.md` is `The gate`."""
    words = re.sub(r"^\d+[\s._-]+(?=\w)", "", stem(path)).replace("_", " ").replace("-", " ")
    return f"{words[:1].upper()}{words[1:]}".strip() or stem(path)


# -- blocks ----------------------------------------------------------------------------------------

_KINDS: Mapping[str, Kind] = {
    "heading_open": "heading",
    "hr": "scene",
}


def _blocks(source: _MarkdownFile, tokens: Sequence[Token], begin: int) -> list[Block]:
    """The rows in blocks; those of front matter, up to `begin`, are set aside."""
    rows = source.rows
    borders: list[tuple[int, Kind, int, str]] = []
    """Row, kind, level and title of each block."""
    end = begin
    last = Token("end", "", 0, map=[len(rows), len(rows)])
    for token, inline in pairwise((*tokens, last, last)):
        if token.level == 0 and token.map:
            # what Markdown does not show: definitions of links
            loose = (row for row in range(end, token.map[0]) if rows[row].strip())
            borders += [(row, "gap", 0, "") for row in islice(loose, 1)]
            kind = _KINDS.get(token.type, "text")
            level = int(token.tag[1]) if kind == "heading" else 0
            borders.append((token.map[0], kind, level, _plain(inline)))
            end = token.map[1]
    blocks = [source.block(0, begin)] if begin else []
    for block in blocks:
        block.leave("front matter: the facts of the book")
    for (first, kind, level, title), (below, *_) in pairwise(borders):
        for begin, end in _parted_at_notes(rows, first, below):
            block = source.block(begin, end, kind, title)
            block.level = level
            note = _NOTE.match(rows[begin])
            block.note = (note[1],) if note else ()
            block.refs = () if note else tuple(dict.fromkeys(_MARK.findall("\n".join(block.rows))))
            blocks.append(block)
            blocks += _attributes(block)
    return blocks


_NOTE = re.compile(r" {0,3}\[\^([^\]\s]+)\]:")
_MARK = re.compile(r"\[\^([^\[\]\s]{1,200})\](?!:)")
_ATTRIBUTES = re.compile(r"[ \t]*\{:?[ \t]*[#.][^{}]*\}[ \t]*$")


def _parted_at_notes(rows: Sequence[str], first: int, below: int) -> Iterator[tuple[int, int]]:
    """Where the pieces of a block begin and end: each footnote is one."""
    begins = [row for row in range(first + 1, below) if _NOTE.match(rows[row])]
    return pairwise([first, *begins, below])


def _attributes(block: Block) -> Iterator[Block]:
    """Set aside the attributes of a heading: `# Title {#name .class}`."""
    shown, line_end, rest = (block.written or "").partition("\n")
    found = _ATTRIBUTES.search(shown) if block.kind == "heading" else None
    if found:
        block.written = f"{shown[: found.start()]}{line_end}{rest}"
        block.text = _ATTRIBUTES.sub("", block.text)
        aside = left_out(block.source, found[0], "attributes of a heading")
        block.characters -= aside.characters
        block.words -= aside.words
        yield aside


def _join_words(source: _MarkdownFile, tokens: Sequence[Token], text: str) -> None:
    """Put words together that the end of a row in a paragraph parts."""
    if not hyphens.BROKEN.search(text):
        return
    known = hyphens.words_of(text)
    for token in tokens:
        first, last = token.map or (0, 0)
        for row in range(first, last - 1) if token.type == "paragraph_open" else ():
            broken = re.search(r"([^\W_]+(?:-[^\W_]+)*)-[ \t]*$", source.shown[row])
            below = re.match(r"([\s>]*)([^\W_]+)(\S*)[ \t]*", source.shown[row + 1])
            if broken and below:
                word = hyphens.joined(broken[1], below[2], known) + below[3]
                source.shown[row] = source.shown[row][: broken.start()] + word
                source.shown[row + 1] = below[1] + source.shown[row + 1][below.end() :]


# -- what is no plain text -------------------------------------------------------------------------

_IMAGE = re.compile(r"!\[([^\[\]]*)\](?:\([^()]*(?:\([^()]*\)[^()]*)*\)|\[[^\[\]]*\])?")
_CELL_ENDS = re.compile(r"(?<!\\)\|")


def _take_in(source: _MarkdownFile, tokens: Sequence[Token], choices: Choices) -> None:
    """Write tables, code and pictures as text, where a user has them read; what stays as it is, the
    script leaves out, and that is remarked."""
    treated = {"tables": choices.tables, "code": choices.code, "pictures": choices.pictures}
    stays: Counter[str] = Counter()
    for token in tokens:
        pictures = sum(child.type == "image" for child in token.children or ())
        name = _ASIDES.get(token.type, "pictures" if pictures else "")
        if name and treated[name] == "read":
            _write_out(source, token, name)
        elif name:
            stays[name] += pictures or 1
    if stays:
        what = ", ".join(f"{name} ({count})" for name, count in sorted(stays.items()))
        how = ", ".join(f"--{name} read" for name in sorted(stays))
        source.remarks.append(f"{what}: in the texts, and not spoken; {how} speaks them.")


_ASIDES = {"table_open": "tables", "fence": "code"}


def _write_out(source: _MarkdownFile, token: Token, name: str) -> None:
    """Write a table, code or a paragraph's pictures as text."""
    first, last = token.map or (0, 0)
    rows = source.rows[first:last]
    if name == "tables":
        _show(source, first, list(map(_row, rows)))
    elif name == "code":
        _show(source, first, ["", *rows[1:]])
    else:
        shown = (_IMAGE.sub(r"\1", row) for row in source.shown[first:last])
        source.shown[first:last] = list(shown)


def _row(row: str) -> str:
    """A row of a table as a sentence's worth of words; "" for the rule below its head."""
    if not row.strip(" |:-"):
        return ""
    cells = (cell.strip().replace("\\|", "|") for cell in _CELL_ENDS.split(row.strip()))
    return "; ".join(filter(None, cells))


def _show(source: _MarkdownFile, first: int, rows: Sequence[str]) -> None:
    """Write rows as lines of a paragraph; a rule or a fence among them is none."""
    begun = [row if row.strip(" `~>") else "" for row in rows]
    for number, (row, below) in enumerate(pairwise([*begun, ""]), first):
        shown = write_paragraph([(StyledSpan(row.strip()),)]) if row else ""
        source.shown[number] = f"{shown}\\" if row and below else shown


def _plain(inline: Token) -> str:
    """The words of a heading or a paragraph, without their markup."""
    return " ".join("".join(t.content or " " for t in inline.children or ()).split())


# -- front matter ----------------------------------------------------------------------------------


def _read_front_matter(source: _MarkdownFile) -> int:
    """Take in the facts of front matter; the row at which it ends, 0 where there is none."""
    rows = source.rows
    if rows[0].rstrip() != "---" or len(rows) < 3 or not _KEY.match(rows[1]):
        return 0
    end = next((i for i, row in enumerate(rows[1:], 1) if row.rstrip() in ("---", "...")), 0)
    front = _parsed(source, rows[1:end]) if end else None
    if not isinstance(front, dict) or not _is_front_matter(front, rows[1:end]):
        return 0
    for key, value in front.items():
        _take_fact(source, str(key).lower(), value)
    return end + 1


def _is_front_matter(front: Mapping[object, object], rows: Sequence[str]) -> bool:
    """Whether values between rules are facts: of a book, or others that look like nothing else."""
    keys = list(map(str, front))
    plain = bool(keys) and all(map(str.strip, rows)) and all(map(str.islower, keys))
    return plain or any(key.lower() in _FACTS for key in keys)


def _take_fact(source: _MarkdownFile, key: str, value: object) -> None:
    name = _FACTS.get(key)
    if name is not None and (texts := list(_texts(value))):
        source.facts.setdefault(name, texts)
        if name == "series" and isinstance(value, Mapping) and value.get("part"):
            source.facts.setdefault("series_part", [str(value["part"])])


def _parsed(source: _MarkdownFile, rows: Sequence[str]) -> object:
    """The value of YAML that stands below the first row of a file; of what is none, its rows."""
    try:
        # The base loader makes strings of all scalars: no dates, no numbers, no objects.
        return yaml.load("\n".join(rows), Loader=yaml.BaseLoader)
    except (yaml.YAMLError, RecursionError) as error:
        mark = error.problem_mark if isinstance(error, yaml.MarkedYAMLError) else None
        place = f"{file_name(source.path)}:{mark.line + 2 if mark else 1}"
    source.remarks.append(
        f"{place}: front matter is no valid YAML; it was read row by row. Look at the facts."
    )
    pairs = (row.partition(":") for row in rows if re.match(r"[\w-]+:\s", row))
    return {key: value.strip().strip("\"'[]{}") for key, _, value in pairs}


def _texts(value: object) -> Iterator[str]:
    """The texts of a value that is one text, a list of them, or mappings that hold one."""
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, Mapping):
            item = next((item[k] for k in ("name", "text", "title") if item.get(k)), None)
        if isinstance(item, str) and item.strip():
            yield " ".join(item.split())


def _cover(source: _MarkdownFile) -> CoverImage | None:
    """The picture that front matter names; one that is none is told."""
    name = source.fact("cover")
    if name is None:
        return None
    try:
        data = files.read_whole(source.path.parent / name, _LARGEST_COVER)
    except (OSError, ValueError, files.TooLarge) as error:
        why = error.strerror if isinstance(error, OSError) else "too large, or no name of a file"
        source.remarks.append(f"The cover {name} is left out: it cannot be read: {why}.")
        return None
    suffix = next((suffix for begin, suffix in _PICTURES.items() if data.startswith(begin)), None)
    if suffix is None:
        source.remarks.append(f"The cover {name} is left out: it is neither JPEG nor PNG.")
        return None
    return CoverImage(data, suffix)


_PICTURES = {b"\xff\xd8\xff": ".jpg", b"\x89PNG\r\n\x1a\n": ".png"}
_LARGEST_COVER = 64_000_000
