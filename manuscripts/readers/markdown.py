"""Reads Markdown as a book: divided at its headings, otherwise as written.

YAML front matter gives the facts of the book. The text of chapters stays the author's.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, pairwise
from pathlib import Path

import yaml
from markdown_it import MarkdownIt
from markdown_it.token import Token

from manuscripts import hyphens
from manuscripts.blocks import Block, BlockKind, left_out_block
from manuscripts.book import (
    Book,
    Choices,
    CoverImage,
    count_characters,
    count_words,
    file_name,
    title_from_file_name,
)
from manuscripts.chapters import CHOSEN, FOLDER, LEVELS, divide
from manuscripts.chapters.outline import Outline
from manuscripts.matter import BookContext
from manuscripts.plaintext import read_text
from manuscripts.prose import StyledSpan, write_paragraph
from manuscripts.readers.binding import bind_book
from manuscripts.readers.ebook.cover import cover_of
from manuscripts.readers.facts import Metadata, valid_language
from textbase import files
from textbase.characters import strip_invisible

_KEYS_BY_FACT = {
    "title": "title", "subtitle": "subtitle", "author": "author authors creator",
    "language": "language lang", "publisher": "publisher", "date": "date",
    "description": "description abstract", "genre": "genre", "copyright": "rights copyright",
    "series": "series", "series_part": "part series_part", "cover": "cover cover-image",
    "isbn": "isbn", "uuid": "uuid", "id": "identifier",
}  # fmt: skip
"""Facts of a book -> keys of front matter."""
_FACT_BY_KEY = {key: name for name, keys in _KEYS_BY_FACT.items() for key in keys.split()}
_PLAIN_FACTS = tuple(
    "subtitle publisher date description genre copyright series series_part".split()
)
"""Facts that are one text, as it is written."""
_KEY = re.compile(r"[\w.-]+[ \t]*:(\s|$)")


@dataclass(slots=True)
class _MarkdownFile:
    """One file. Rows are counted from 0."""

    path: Path
    rows: list[str]
    output_rows: list[str]
    """The rows, with necessary escapes."""
    facts: dict[str, list[str]] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)

    def fact(self, name: str) -> str | None:
        return next(iter(self.facts.get(name, ())), None)

    def block(self, begin: int, end: int, kind: BlockKind = "text", title: str = "") -> Block:
        """Returns rows as a block, with characters and words counted."""
        rows = self.rows[begin:end]
        return Block(
            kind,
            f"{file_name(self.path)}:{begin + 1}",
            text=title,
            characters=sum(map(count_characters, rows)),
            words=sum(map(count_words, rows)),
            rows=rows,
            source_markdown="\n".join(self.output_rows[begin:end]),
        )


def read_markdown(path: Path, choices: Choices, is_in_folder: bool = False) -> Book:
    """Returns the book in a Markdown file, or in one file of a folder. Raises ImportFailed,
    SlowPattern."""
    decoded = read_text(path, choices.encoding)
    text = strip_invisible(decoded.text)
    rows = text.split("\n")
    source = _MarkdownFile(path, rows, list(rows))
    text_start = _read_front_matter(source)
    body = "\n".join([""] * text_start + rows[text_start:])
    tokens = MarkdownIt("commonmark").enable("table").disable(["code", "html_block"]).parse(body)
    _join_divided_words(source, tokens, text)
    _write_non_prose(source, tokens, choices)
    outline = _build_outline(source, tokens, text_start, is_in_folder)
    outline.choices = choices
    divided_book = divide(
        outline, CHOSEN if choices.heading else FOLDER if is_in_folder else LEVELS
    )
    title, author = source.fact("title"), outline.facts.get("author")
    if title is None and not is_in_folder:
        only_title = divided_book.chapters[0].title if len(divided_book.chapters) == 1 else None
        title = outline.facts.get("title", only_title)
    facts = Metadata(
        **{name: source.fact(name) for name in _PLAIN_FACTS},
        title=title,
        authors=tuple(source.facts.get("author", [author] if author else [])),
        language=valid_language(source.fact("language")),
        identifiers={key: v for key in ("isbn", "uuid", "id") if (v := source.fact(key))},
    )
    cover = _read_cover(source)
    remarks = (*filter(None, [decoded.remark]), *source.remarks)
    return bind_book(
        path, divided_book, facts, count_characters(text), cover=cover, remarks=remarks
    )


def _build_outline(
    source: _MarkdownFile, tokens: Sequence[Token], text_start: int, is_in_folder: bool
) -> Outline:
    """Returns the blocks of a file, with title and author by its front matter, which ends at a
    row."""
    facts = {name: texts[0] for name in ("title", "author") if (texts := source.facts.get(name))}
    name = _title_from_name(source.path) if is_in_folder else title_from_file_name(source.path)
    if is_in_folder:
        facts = {"title": facts.get("title", name)}
    return Outline(_read_blocks(source, tokens, text_start), BookContext(name), facts=facts)


def _title_from_name(path: Path) -> str:
    """Returns a file's name as a title: `03-the-gate.md` becomes `The gate`."""
    stem = title_from_file_name(path)
    words = re.sub(r"[_-]", " ", re.sub(r"^\d+[\s._-]+(?=\w)", "", stem))
    return f"{words[:1].upper()}{words[1:]}".strip() or stem


# -- blocks ----------------------------------------------------------------------------------------

_KIND_BY_TOKEN: Mapping[str, BlockKind] = {"heading_open": "heading", "hr": "scene"}


def _read_blocks(source: _MarkdownFile, tokens: Sequence[Token], text_start: int) -> list[Block]:
    """Returns the rows as blocks; front matter, up to `text_start`, is left out."""
    rows, blocks = source.rows, []
    if text_start:
        blocks.append(source.block(0, text_start))
        blocks[0].omit("front matter: the facts of the book")
    block_starts = _block_starts(rows, tokens, text_start)
    for (first_row, kind, level, title), (next_row, *_) in pairwise(block_starts):
        note_rows = [row for row in range(first_row + 1, next_row) if _NOTE.match(rows[row])]
        for begin, end in pairwise([first_row, *note_rows, next_row]):
            block = source.block(begin, end, kind, title)
            block.level = level
            block.note_keys = tuple(_NOTE.findall(rows[begin]))
            references = _NOTE_REFERENCE.findall("\n".join(block.rows))
            block.note_references = () if block.note_keys else tuple(dict.fromkeys(references))
            blocks.append(block)
            blocks += _omit_attributes(block)
    return blocks


def _block_starts(
    rows: Sequence[str], tokens: Sequence[Token], text_start: int
) -> Iterator[tuple[int, BlockKind, int, str]]:
    """Yields first row, kind, level and title of each block, and of an empty one at the end."""
    end = text_start
    end_token = Token("end", "", 0, map=[len(rows), len(rows)])
    for token, inline in pairwise((*tokens, end_token, end_token)):
        if token.level == 0 and token.map:
            # Rows that Markdown does not show: definitions of links.
            unparsed_rows = (row for row in range(end, token.map[0]) if rows[row].strip())
            yield from ((row, "gap", 0, "") for row in islice(unparsed_rows, 1))
            kind = _KIND_BY_TOKEN.get(token.type, "text")
            level = int(token.tag[1]) if kind == "heading" else 0
            words = "".join(child.content or " " for child in inline.children or ())
            yield token.map[0], kind, level, " ".join(words.split())
            end = token.map[1]


_NOTE = re.compile(r"^ {0,3}\[\^([^\]\s]+)\]:")
_NOTE_REFERENCE = re.compile(r"\[\^([^\[\]\s]{1,200})\](?!:)")
_ATTRIBUTES = re.compile(r"[ \t]*\{:?[ \t]*[#.][^{}]*\}[ \t]*$")


def _omit_attributes(block: Block) -> Iterator[Block]:
    """Removes the attributes of a heading, `# Title {#name .class}`, and yields them as left
    out."""
    first_row, line_end, other_rows = (block.source_markdown or "").partition("\n")
    match = _ATTRIBUTES.search(first_row) if block.kind == "heading" else None
    if match:
        block.source_markdown = f"{first_row[: match.start()]}{line_end}{other_rows}"
        block.text = _ATTRIBUTES.sub("", block.text)
        attributes = left_out_block(block.source, match[0], "attributes of a heading")
        block.characters -= attributes.characters
        block.words -= attributes.words
        yield attributes


def _join_divided_words(source: _MarkdownFile, tokens: Sequence[Token], text: str) -> None:
    """Joins words that line ends divide within paragraphs."""
    if not hyphens.DIVIDED_WORD.search(text):
        return
    known_words, rows = hyphens.words_of(text), source.output_rows
    for token in tokens:
        first_row, end_row = token.map or (0, 0)
        for row in range(first_row, end_row - 1) if token.type == "paragraph_open" else ():
            first_half = re.search(r"([^\W_]+(?:-[^\W_]+)*)-[ \t]*$", rows[row])
            second_half = re.match(r"([\s>]*)([^\W_]+)(\S*)[ \t]*", rows[row + 1])
            if first_half and second_half:
                indent, end, marks = second_half.groups()
                word = hyphens.join_halves(first_half[1], end, known_words) + marks
                rows[row] = rows[row][: first_half.start()] + word
                rows[row + 1] = indent + rows[row + 1][second_half.end() :]


# -- what is no plain text -------------------------------------------------------------------------

_IMAGE = re.compile(r"!\[([^\[\]]*)\](?:\([^()]*(?:\([^()]*\)[^()]*)*\)|\[[^\[\]]*\])?")
_CELL_ENDS = re.compile(r"(?<!\\)\|")


_NON_PROSE_NAMES = {"table_open": "tables", "fence": "code"}


def _write_non_prose(source: _MarkdownFile, tokens: Sequence[Token], choices: Choices) -> None:
    """Writes tables, code and pictures as text if the user wants them read; adds a remark on those
    that the script layer will leave out."""
    treatments = {"tables": choices.tables, "code": choices.code, "pictures": choices.pictures}
    kept_counts: Counter[str] = Counter()
    for token in tokens:
        picture_count = sum(child.type == "image" for child in token.children or ())
        name = _NON_PROSE_NAMES.get(token.type, "pictures" if picture_count else "")
        begin, end = token.map or (0, 0)
        rows = source.rows[begin:end]
        if not name:
            continue
        if treatments[name] != "read":
            kept_counts[name] += picture_count or 1
        elif name == "pictures":
            shown_rows = source.output_rows[begin:end]
            source.output_rows[begin:end] = [_IMAGE.sub(r"\1", row) for row in shown_rows]
        else:
            is_table = name == "tables"
            _write_output_rows(
                source, begin, [*map(_spoken_row, rows)] if is_table else ["", *rows[1:]]
            )
    if kept_counts:
        counts_text = ", ".join(f"{name} ({count})" for name, count in sorted(kept_counts.items()))
        options = ", ".join(f"--{name} read" for name in sorted(kept_counts))
        source.remarks.append(
            f"{counts_text}: in the texts, and not spoken; {options} speaks them."
        )


def _spoken_row(row: str) -> str:
    """Returns a row of a table as a sentence; "" for the rule below its head."""
    if not row.strip(" |:-"):
        return ""
    cells = (cell.strip().replace("\\|", "|") for cell in _CELL_ENDS.split(row.strip()))
    return "; ".join(filter(None, cells))


def _write_output_rows(source: _MarkdownFile, first_row: int, rows: Sequence[str]) -> None:
    """Writes rows as lines of a paragraph; rules and fences among them become empty."""
    shown_rows = [row if row.strip(" `~>") else "" for row in rows]
    for row_number, (row, row_below) in enumerate(pairwise([*shown_rows, ""]), first_row):
        markdown = write_paragraph([(StyledSpan(row.strip()),)]) if row else ""
        source.output_rows[row_number] = f"{markdown}\\" if row and row_below else markdown


# -- front matter ----------------------------------------------------------------------------------


def _read_front_matter(source: _MarkdownFile) -> int:
    """Reads the facts of front matter; returns the row at which it ends, 0 for none."""
    rows = source.rows
    if rows[0].rstrip() != "---" or len(rows) < 3 or not _KEY.match(rows[1]):
        return 0
    end = next((i for i, row in enumerate(rows[1:], 1) if row.rstrip() in ("---", "...")), 0)
    front = _parse_yaml(source, rows[1:end]) if end else None
    if not isinstance(front, dict) or not _is_front_matter(front, rows[1:end]):
        return 0
    for key, fact in front.items():
        _record_fact(source, str(key).lower(), fact)
    return end + 1


def _is_front_matter(mapping: Mapping[object, object], rows: Sequence[str]) -> bool:
    """Returns whether values between rules are facts: of a book, or otherwise unmistakable."""
    keys = list(map(str, mapping))
    is_plain = bool(keys) and all(map(str.strip, rows)) and all(map(str.islower, keys))
    return is_plain or any(key.lower() in _FACT_BY_KEY for key in keys)


def _record_fact(source: _MarkdownFile, key: str, parsed_value: object) -> None:
    name = _FACT_BY_KEY.get(key)
    if name is not None and (texts := list(_fact_texts(parsed_value))):
        source.facts.setdefault(name, texts)
        if name == "series" and isinstance(parsed_value, Mapping) and parsed_value.get("part"):
            source.facts.setdefault("series_part", [str(parsed_value["part"])])


def _parse_yaml(source: _MarkdownFile, rows: Sequence[str]) -> object:
    """Returns the YAML below the first row of a file; if it is invalid, a mapping of its rows."""
    try:
        # The base loader makes strings of all scalars: no dates, no numbers, no objects.
        return yaml.load("\n".join(rows), Loader=yaml.BaseLoader)
    except (yaml.YAMLError, RecursionError) as error:
        problem_mark = error.problem_mark if isinstance(error, yaml.MarkedYAMLError) else None
        place = f"{file_name(source.path)}:{problem_mark.line + 2 if problem_mark else 1}"
    source.remarks.append(
        f"{place}: front matter is not valid YAML; it was read row by row. Look at the facts."
    )
    pairs = (row.partition(":") for row in rows if re.match(r"[\w-]+:\s", row))
    return {key: text.strip().strip("\"'[]{}") for key, _, text in pairs}


def _fact_texts(parsed_value: object) -> Iterator[str]:
    """Yields the texts of a value: one text, a list of texts, or mappings that contain one."""
    for entry in parsed_value if isinstance(parsed_value, list) else [parsed_value]:
        if isinstance(entry, Mapping):
            entry = next((entry[k] for k in ("name", "text", "title") if entry.get(k)), None)
        if isinstance(entry, str) and entry.strip():
            yield " ".join(entry.split())


def _read_cover(source: _MarkdownFile) -> CoverImage | None:
    """Returns the picture that front matter names; adds a remark if it is not one."""
    name = source.fact("cover")
    if name is None:
        return None
    try:
        content = files.read_bounded(source.path.parent / name, _MAX_COVER_SIZE)
    except (OSError, ValueError, files.TooLarge) as error:
        reason = (
            error.strerror if isinstance(error, OSError) else "too large, or not the name of a file"
        )
        source.remarks.append(f"The cover {name} is left out: it cannot be read: {reason}.")
        return None
    cover, remarks = cover_of(content, name)
    source.remarks += remarks
    return cover


_MAX_COVER_SIZE = 64_000_000
