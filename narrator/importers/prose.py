"""Words with their emphasis -> Markdown that reads back as exactly these words.

Whatever Markdown or the script layer would take for markup is escaped; emphasis that Markdown
cannot carry (`un*believ*able` can, `a*“b”*c` cannot) is dropped, never a word. Knows no format of
a source.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from narrator.characters import seen
from narrator.errors import nearest
from narrator.importers.counting import ROMAN, counted


@dataclass(frozen=True, slots=True)
class StyledSpan:
    """Words in one style."""

    text: str
    em: bool = False
    strong: bool = False
    told: bool = False
    """Whether markup says that it is a stage direction."""
    given: bool = False
    """Whether the narrator reads it within somebody's speech."""

    @property
    def mark(self) -> str:
        return "*" * (self.em + 2 * self.strong)


BREAK = StyledSpan("\n")
"""Begins a new line inside a paragraph, as in verse."""

Line = tuple[StyledSpan, ...]

_SPACE = re.compile(r"\s+")
_MARKUP = re.compile(r"[\\`*_\[{<|~]|&(?=#?\w)")
_STARTS_BLOCK = re.compile(r"#|>|[-+=](?=[-=\s]|$)")
_STARTS_NUMBERED = re.compile(r"(\d{1,9})([.)])(?=\s|$)")
_LABEL = re.compile(r"([^\s:：(（][^:：(（]{0,59}?)\s?(?:[(（][^()（）]{0,200}[)）]\s?)?(?=[:：])")
"""What stands before a colon where the script layer looks for the name of a speaker."""

_BREAK_MARKS = re.compile(r"[-*⁂⁎•·∙●○◦◆◇◊♦❖✦✧★☆※✶✻✽❦❧☙§~∼=_#+—–\s]+")
_ORDINAL = re.compile(
    r"(?:chapter|part|book|volume|section|canto|stave|act|scene|letter|day|night)(?:\s+|$)"
    rf"(?:\S+(?:[\s-]\S+)?)?|\d{{1,4}}|{ROMAN}|(?-i:[A-Z])",
    re.IGNORECASE,
)


def plain(line: Iterable[StyledSpan]) -> str:
    return "".join(span.text for span in line)


def is_scene_break(text: str) -> bool:
    """Whether a paragraph is only ornaments: `* * *`, `⁂`, `#`, `---`."""
    text = seen(text).strip()
    return bool(text and _BREAK_MARKS.fullmatch(text))


def is_ordinal(text: str) -> bool:
    """Whether a heading only counts: `Chapter Four`, `XII`, `Part Two.`"""
    text = text.strip().rstrip(".:—–- ")
    said = counted(text)
    return bool((said and not said.title) or _ORDINAL.fullmatch(text))


def paragraphs(spans: Iterable[StyledSpan]) -> list[list[Line]]:
    """Paragraphs of lines: whitespace is collapsed, two breaks in a row begin a new paragraph."""
    parted: list[list[Line]] = [[]]
    line: list[StyledSpan] = []
    for span in (*spans, BREAK, BREAK):
        if span is not BREAK:
            line.append(span)
        elif line and (tidied := tidy(line)):
            parted[-1].append(tidied)
            line = []
        else:
            parted.append([])
            line = []
    return [paragraph for paragraph in parted if paragraph]


def tidy(spans: Iterable[StyledSpan]) -> Line:
    """One line: single spaces between words, none at the ends, spaces never in a style."""
    result: list[StyledSpan] = []

    def add(text: str, *style: bool) -> None:
        if len(result) > 1 and result[-1].text == " " and _style(result[-2]) == style:
            text = " " + text
            result.pop()
        if result and _style(result[-1]) == style:
            text = result.pop().text + text
        result.append(StyledSpan(text, *style))

    spaced = True
    for span in spans:
        text = _SPACE.sub(" ", seen(span.text))
        if spaced:
            text = text.removeprefix(" ")
        if not text:
            continue
        spaced = text.endswith(" ")
        words = text.strip(" ")
        styled = any(map(str.isalnum, words))
        if text.startswith(" "):
            add(" ", False, False, False, False)
        if words:
            add(words, span.em and styled, span.strong and styled, span.told, span.given)
        if spaced and text != " ":
            add(" ", False, False, False, False)
    if result and result[-1].text.endswith(" "):
        last = result.pop()
        if text := last.text.rstrip(" "):
            result.append(replace(last, text=text))
    return tuple(result)


def _style(span: StyledSpan) -> tuple[bool, ...]:
    return span.em, span.strong, span.told, span.given


def join_heading(parts: Sequence[Line]) -> Line:
    """One heading from its ordinal, title and subtitle: `I. A Letter with a Postscript`."""
    joined: list[StyledSpan] = []
    for part in parts:
        if joined:
            text = plain(joined)
            if text[-1].isalnum() or text[-1] in "”’)\"'":
                joined.append(StyledSpan(". " if is_ordinal(text) else ": "))
            else:
                joined.append(StyledSpan(" "))
        joined += part
    return tidy(joined)


def write_paragraph(lines: Sequence[Line]) -> str:
    """Markdown of a paragraph; its lines are joined by hard breaks."""
    return "\\\n".join(_escape_start(_inline(line, label_colons(plain(line)))) for line in lines)


def write_label(label: str) -> str:
    """Markdown of a speaker's label, with its colon."""
    return _escape_start(_escape(label))


def label_colons(text: str) -> list[int]:
    """Where the colons stand that would make the beginning of `text` the name of a speaker.

    The cast of a new project is `narrator`; of other names, those that look like one. With one
    colon escaped, the next may end a name.
    """
    places: list[int] = []
    shadow = text
    while (label := _LABEL.match(shadow)) and _is_name(text, label):
        places.append(label.end())
        shadow = f"{shadow[: label.end()]}\0{shadow[label.end() + 1 :]}"
    return places


def _is_name(text: str, label: re.Match[str]) -> bool:
    name, end = text[slice(*label.span(1))], label.end()
    words = name.split()
    heads = [word.lstrip("*_")[:1] for word in words]
    spaced = text[end] == "：" or not text[end + 1 :].lstrip("*_")[:1].strip()
    capitals = (head.isalnum() and unicodedata.category(head) != "Ll" for head in heads)
    named = len(words) <= 3 and all(capitals)
    near = len(words) <= 4 and nearest(name, ["narrator"]) is not None
    return name.casefold() == "narrator" or (spaced and (named or near))


def write_heading(line: Line, level: int) -> str:
    """Markdown of a heading on one line."""
    text = _inline(line, [])
    bare = text.rstrip("#")
    return f"{'#' * level} {bare}" + "\\#" * (len(text) - len(bare))


def _inline(line: Line, colons: Sequence[int]) -> str:
    """Markdown of one line; the colons at these places in its text are escaped."""
    texts = _texts(line, colons)
    written = ""
    marked = False
    inside = [False, *given(line), False]
    for number, (span, text) in enumerate(zip(line, texts, strict=True)):
        after = texts[number + 1][0] if number + 1 < len(texts) else " "
        written += OPENS * (inside[number + 1] and not inside[number])
        before = written[-1] if written else " "
        marked = (
            bool(span.mark)
            and not marked
            and _flanks(outside=before, inside=text[0])
            and _flanks(outside=after, inside=text[-1])
        )
        written += f"{span.mark}{text}{span.mark}" if marked else text
        written += CLOSES * (inside[number + 1] and not inside[number + 2])
    return written


def _texts(line: Line, colons: Sequence[int]) -> list[str]:
    """The texts of a line's spans, escaped."""
    texts: list[str] = []
    at = 0
    for span in line:
        cuts = [-1, *(place - at for place in colons if 0 <= place - at < len(span.text))]
        pieces = []
        for cut, stop in pairwise([*cuts, len(span.text)]):
            mark = f"\\{span.text[cut]}" if cut >= 0 else ""
            text = _escape(span.text[cut + 1 : stop])
            pieces.append(mark + (text.replace("}", "\\}") if span.given else text))
        texts.append("".join(pieces))
        at += len(span.text)
    return texts


OPENS, CLOSES = "{narrator: ", "}"
"""Around what is given to the narrator within a paragraph."""


def given(line: Line) -> list[bool]:
    """Of each span of a line, whether it is given to the narrator; spaces within that are too."""
    inside = [span.given for span in line]
    for number, span in enumerate(line[1:-1], 1):
        inside[number] |= span.text == " " and inside[number - 1] and line[number + 1].given
    return inside


def _flanks(outside: str, inside: str) -> bool:
    """Whether asterisks between these two characters open (or close) emphasis in CommonMark."""
    return inside.isalnum() or outside.isspace() or unicodedata.category(outside)[0] == "P"


def _escape(text: str) -> str:
    return _MARKUP.sub(r"\\\g<0>", text)


def _escape_start(line: str) -> str:
    """`line` so that its beginning is not taken for a heading, a list, a quote or a rule."""
    if _STARTS_BLOCK.match(line):
        return "\\" + line
    return _STARTS_NUMBERED.sub(r"\1\\\2", line, count=1) if line[0].isdigit() else line
