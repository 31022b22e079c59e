"""Words with their emphasis -> Markdown that reads back as exactly these words.

Escapes whatever Markdown or the script layer would take for markup. Emphasis that Markdown cannot
carry (`un*believ*able` can, `a*“b”*c` cannot) is dropped, never a word. Knows no source format.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from manuscripts.counting import ROMAN, parse_numbering
from textbase.characters import strip_invisible
from textbase.errors import nearest


@dataclass(frozen=True, slots=True)
class StyledSpan:
    """Words in one style."""

    text: str
    em: bool = False
    strong: bool = False
    is_direction: bool = False
    """True if markup calls it a stage direction."""
    is_for_narrator: bool = False
    """True if the narrator reads it within somebody's speech."""

    @property
    def asterisks(self) -> str:
        return "*" * (self.em + 2 * self.strong)


BREAK = StyledSpan("\n")
"""Begins a new line inside a paragraph, as in verse."""

Line = tuple[StyledSpan, ...]

_WHITESPACE = re.compile(r"\s+")
_MARKUP_CHARACTERS = re.compile(r"[\\`*_\[{<|~]|&(?=#?\w)")
_STARTS_BLOCK = re.compile(r"#|>|[-+=](?=[-=\s]|$)")
_STARTS_NUMBERED = re.compile(r"(\d{1,9})([.)])(?=\s|$)")
_LABEL = re.compile(r"([^\s:：(（][^:：(（]{0,59}?)\s?(?:[(（][^()（）]{0,200}[)）]\s?)?(?=[:：])")
"""Text before a colon, where the script layer looks for a speaker's name."""

_BREAK_MARKS = re.compile(r"[-*⁂⁎•·∙●○◦◆◇◊♦❖✦✧★☆※✶✻✽❦❧☙§~∼=_#+—–\s]+")
_ORDINAL_HEADING = re.compile(
    r"(?:chapter|part|book|volume|section|canto|stave|act|scene|letter|day|night)(?:\s+|$)"
    rf"(?:\S+(?:[\s-]\S+)?)?|\d{{1,4}}|{ROMAN}|(?-i:[A-Z])",
    re.IGNORECASE,
)


def plain_text(line: Iterable[StyledSpan]) -> str:
    return "".join(span.text for span in line)


def is_scene_break(text: str) -> bool:
    """Returns whether a paragraph is only ornaments: `* * *`, `⁂`, `#`, `---`."""
    text = strip_invisible(text).strip()
    return bool(text and _BREAK_MARKS.fullmatch(text))


def is_ordinal(text: str) -> bool:
    """Returns whether a heading only counts: `Chapter Four`, `XII`, `Part Two.`"""
    text = text.strip().rstrip(".:—–- ")
    numbering = parse_numbering(text)
    return bool((numbering and not numbering.title) or _ORDINAL_HEADING.fullmatch(text))


def split_paragraphs(spans: Iterable[StyledSpan]) -> list[list[Line]]:
    """Splits spans into paragraphs of lines; whitespace is collapsed, and two breaks in a row begin
    a paragraph."""
    paragraphs: list[list[Line]] = [[]]
    line: list[StyledSpan] = []
    for span in (*spans, BREAK, BREAK):
        if span is not BREAK:
            line.append(span)
        elif line and (tidied := normalize_line(line)):
            paragraphs[-1].append(tidied)
            line = []
        else:
            paragraphs.append([])
            line = []
    return [paragraph for paragraph in paragraphs if paragraph]


def normalize_line(spans: Iterable[StyledSpan]) -> Line:
    """Returns one line with single spaces between words, none at the ends and none inside a
    style."""
    merged: list[StyledSpan] = []

    def add(added_text: str, *style: bool) -> None:
        if len(merged) > 1 and merged[-1].text == " " and _style_of(merged[-2]) == style:
            added_text = " " + added_text
            merged.pop()
        if merged and _style_of(merged[-1]) == style:
            added_text = merged.pop().text + added_text
        merged.append(StyledSpan(added_text, *style))

    ends_with_space = True
    for span in spans:
        text = _WHITESPACE.sub(" ", strip_invisible(span.text))
        if ends_with_space:
            text = text.removeprefix(" ")
        if not text:
            continue
        ends_with_space = text.endswith(" ")
        words = text.strip(" ")
        has_letters = any(map(str.isalnum, words))
        if text.startswith(" "):
            add(" ", False, False, False, False)
        if words:
            add(
                words,
                span.em and has_letters,
                span.strong and has_letters,
                span.is_direction,
                span.is_for_narrator,
            )
        if ends_with_space and text != " ":
            add(" ", False, False, False, False)
    if merged and merged[-1].text.endswith(" "):
        last_span = merged.pop()
        if text := last_span.text.rstrip(" "):
            merged.append(replace(last_span, text=text))
    return tuple(merged)


def _style_of(span: StyledSpan) -> tuple[bool, ...]:
    return span.em, span.strong, span.is_direction, span.is_for_narrator


def join_heading(parts: Sequence[Line]) -> Line:
    """Joins ordinal, title and subtitle into one heading: `I. A Letter with a Postscript`."""
    heading_spans: list[StyledSpan] = []
    for part in parts:
        if heading_spans:
            text = plain_text(heading_spans)
            if text[-1].isalnum() or text[-1] in "”’)\"'":
                heading_spans.append(StyledSpan(". " if is_ordinal(text) else ": "))
            else:
                heading_spans.append(StyledSpan(" "))
        heading_spans += part
    return normalize_line(heading_spans)


def write_paragraph(lines: Sequence[Line]) -> str:
    """Returns a paragraph as Markdown; hard breaks separate its lines."""
    return "\\\n".join(
        _escape_start(_write_line(line, label_colons(plain_text(line)))) for line in lines
    )


def write_label(label: str) -> str:
    """Returns a speaker's label as Markdown."""
    return _escape_start(_escape(label))


def label_colons(text: str) -> list[int]:
    """Returns the offsets of colons that would make the beginning of `text` a speaker's name.

    The cast of a new project is `narrator`; other text counts if it looks like a name. After an
    escaped colon, the next one may end a name.
    """
    colon_offsets: list[int] = []
    masked_text = text
    while (label := _LABEL.match(masked_text)) and _looks_like_speaker(text, label):
        colon_offsets.append(label.end())
        masked_text = f"{masked_text[: label.end()]}\0{masked_text[label.end() + 1 :]}"
    return colon_offsets


def _looks_like_speaker(text: str, label: re.Match[str]) -> bool:
    name, end = text[slice(*label.span(1))], label.end()
    words = name.split()
    first_letters = [word.lstrip("*_")[:1] for word in words]
    is_followed_by_space = text[end] == "：" or not text[end + 1 :].lstrip("*_")[:1].strip()
    are_capitals = (head.isalnum() and unicodedata.category(head) != "Ll" for head in first_letters)
    looks_like_name = len(words) <= 3 and all(are_capitals)
    resembles_narrator = len(words) <= 4 and nearest(name, ["narrator"]) is not None
    return name.casefold() == "narrator" or (
        is_followed_by_space and (looks_like_name or resembles_narrator)
    )


def write_heading(line: Line, level: int) -> str:
    """Returns a heading as Markdown, on one line."""
    text = _write_line(line, [])
    text_without_hashes = text.rstrip("#")
    return f"{'#' * level} {text_without_hashes}" + "\\#" * (len(text) - len(text_without_hashes))


def _write_line(line: Line, colon_offsets: Sequence[int]) -> str:
    """Returns one line as Markdown, with the colons at these offsets escaped."""
    escaped_texts = _escape_spans(line, colon_offsets)
    markdown = ""
    is_emphasized = False
    is_narrated = [False, *narrated_flags(line), False]
    for index, (span, escaped_text) in enumerate(zip(line, escaped_texts, strict=True)):
        next_character = escaped_texts[index + 1][0] if index + 1 < len(escaped_texts) else " "
        markdown += NARRATED_OPEN * (is_narrated[index + 1] and not is_narrated[index])
        previous_character = markdown[-1] if markdown else " "
        is_emphasized = (
            bool(span.asterisks)
            and not is_emphasized
            and _may_delimit_emphasis(
                outer_character=previous_character, inner_character=escaped_text[0]
            )
            and _may_delimit_emphasis(
                outer_character=next_character, inner_character=escaped_text[-1]
            )
        )
        markdown += (
            f"{span.asterisks}{escaped_text}{span.asterisks}" if is_emphasized else escaped_text
        )
        markdown += NARRATED_CLOSE * (is_narrated[index + 1] and not is_narrated[index + 2])
    return markdown


def _escape_spans(line: Line, colon_offsets: Sequence[int]) -> list[str]:
    """Returns the escaped text of each span."""
    escaped_texts: list[str] = []
    span_start = 0
    for span in line:
        cut_offsets = [
            -1,
            *(
                colon_offset - span_start
                for colon_offset in colon_offsets
                if 0 <= colon_offset - span_start < len(span.text)
            ),
        ]
        escaped_pieces = []
        for cut_offset, end in pairwise([*cut_offsets, len(span.text)]):
            escaped_colon = f"\\{span.text[cut_offset]}" if cut_offset >= 0 else ""
            escaped_piece = _escape(span.text[cut_offset + 1 : end])
            escaped_pieces.append(
                escaped_colon
                + (escaped_piece.replace("}", "\\}") if span.is_for_narrator else escaped_piece)
            )
        escaped_texts.append("".join(escaped_pieces))
        span_start += len(span.text)
    return escaped_texts


NARRATED_OPEN, NARRATED_CLOSE = "{narrator: ", "}"
"""Mark the text that the narrator reads within a paragraph."""


def narrated_flags(line: Line) -> list[bool]:
    """Returns for each span whether the narrator reads it; spaces between two such spans count."""
    flags = [span.is_for_narrator for span in line]
    for index, span in enumerate(line[1:-1], 1):
        flags[index] |= span.text == " " and flags[index - 1] and line[index + 1].is_for_narrator
    return flags


def _may_delimit_emphasis(outer_character: str, inner_character: str) -> bool:
    """Returns whether asterisks between these two characters open (or close) emphasis in
    CommonMark."""
    return (
        inner_character.isalnum()
        or outer_character.isspace()
        or unicodedata.category(outer_character)[0] == "P"
    )


def _escape(text: str) -> str:
    return _MARKUP_CHARACTERS.sub(r"\\\g<0>", text)


def _escape_start(line: str) -> str:
    """Returns `line` with its beginning escaped if it would read as a heading, a list, a quotation
    or a rule."""
    if _STARTS_BLOCK.match(line):
        return "\\" + line
    return _STARTS_NUMBERED.sub(r"\1\\\2", line, count=1) if line[0].isdigit() else line
