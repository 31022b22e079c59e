"""Words with their emphasis -> Markdown that reads back as exactly these words.

Escapes whatever Markdown or the script layer would take for markup. Emphasis that Markdown cannot
carry (`un*believ*able` can, `a*“b”*c` cannot) is dropped, never a word. Knows no source format.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

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
    def style(self) -> tuple[bool, ...]:
        return self.em, self.strong, self.is_direction, self.is_for_narrator

    @property
    def asterisks(self) -> str:
        return "*" * (self.em + 2 * self.strong)


BREAK = StyledSpan("\n")
"""Begins a new line inside a paragraph, as in verse."""

Line = tuple[StyledSpan, ...]

_WHITESPACE = re.compile(r"\s+")
_MARKUP_CHARACTERS = re.compile(r"[\\`*_\[{}<|~:：]|&(?=#?\w)")
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
        elif line and (normalized_line := normalize_line(line)):
            paragraphs[-1].append(normalized_line)
            line = []
        else:
            paragraphs.append([])
            line = []
    return [paragraph for paragraph in paragraphs if paragraph]


def normalize_line(spans: Iterable[StyledSpan]) -> Line:
    """Returns one line with single spaces between words, none at the ends and none inside a
    style."""
    merged: list[StyledSpan] = []

    def add(new_span: StyledSpan) -> None:
        """Appends a span, or extends the last one, if it has the same style."""
        text = new_span.text
        if len(merged) > 1 and merged[-1].text == " " and merged[-2].style == new_span.style:
            text = f"{merged.pop().text}{text}"
        if merged and merged[-1].style == new_span.style:
            text = f"{merged.pop().text}{text}"
        merged.append(replace(new_span, text=text))

    ends_with_space = True
    for span in spans:
        text = _WHITESPACE.sub(" ", strip_invisible(span.text))
        text = text.removeprefix(" ") if ends_with_space else text
        words = text.strip(" ")
        has_letters = any(map(str.isalnum, words))
        if text.startswith(" "):
            add(StyledSpan(" "))
        if words:
            em, strong = span.em and has_letters, span.strong and has_letters
            add(replace(span, text=words, em=em, strong=strong))
        if words and text.endswith(" "):
            add(StyledSpan(" "))
        ends_with_space = text.endswith(" ") if text else ends_with_space
    if merged and merged[-1].text.endswith(" "):
        last_span = merged.pop()
        if text := last_span.text.rstrip(" "):
            merged.append(replace(last_span, text=text))
    return tuple(merged)


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
    escaped_texts = list(_escape_spans(line, colon_offsets))
    markdown = ""
    is_emphasized = False
    is_narrated = [False, *narrated_flags(line), False]
    for index, (span, escaped_text) in enumerate(zip(line, escaped_texts, strict=True)):
        next_character = escaped_texts[index + 1][0] if index + 1 < len(escaped_texts) else " "
        markdown += NARRATED_OPEN * (is_narrated[index + 1] and not is_narrated[index])
        previous_character = markdown[-1] if markdown else " "
        may_be_emphasized = _may_delimit_emphasis(
            previous_character, escaped_text[0]
        ) and _may_delimit_emphasis(next_character, escaped_text[-1])
        is_emphasized = bool(span.asterisks) and not is_emphasized and may_be_emphasized
        asterisks = span.asterisks * is_emphasized
        markdown += f"{asterisks}{escaped_text}{asterisks}"
        markdown += NARRATED_CLOSE * (is_narrated[index + 1] and not is_narrated[index + 2])
    return markdown


def _escape_spans(line: Line, colon_offsets: Sequence[int]) -> Iterator[str]:
    """Yields the escaped text of each span."""
    span_start = 0
    for span in line:
        yield _escape(span.text, {o - span_start for o in colon_offsets}, span.is_for_narrator)
        span_start += len(span.text)


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


def _escape(text: str, colon_offsets: Collection[int] = (), is_for_narrator: bool = False) -> str:
    """Returns text with markup escaped, and the colons at these offsets; within the narrator's
    braces also the closing one."""

    def escape(match: re.Match[str]) -> str:
        is_colon_of_text = match[0] in ":：" and match.start() not in colon_offsets
        is_kept = is_colon_of_text or (match[0] == "}" and not is_for_narrator)
        return match[0] if is_kept else f"\\{match[0]}"

    return _MARKUP_CHARACTERS.sub(escape, text)


def _escape_start(line: str) -> str:
    """Returns `line` with its beginning escaped if it would read as a heading, a list, a quotation
    or a rule."""
    if _STARTS_BLOCK.match(line):
        return "\\" + line
    return _STARTS_NUMBERED.sub(r"\1\\\2", line, count=1) if line[0].isdigit() else line
