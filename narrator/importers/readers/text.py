"""Plain text -> a book: headings, hard-wrapped paragraphs and scene breaks as people type them.

Knows the habits of Project Gutenberg and of authors who write without a word processor. Every
paragraph of the file ends in a chapter or in what is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from itertools import accumulate, islice, pairwise
from pathlib import Path

from narrator.characters import seen
from narrator.errors import ImportFailed, Problem
from narrator.importers import hyphens
from narrator.importers.blocks import Block, Container, left_out, made_of
from narrator.importers.book import (
    Book,
    Choices,
    Skipped,
    count_characters,
    count_words,
    file_name,
    stem,
)
from narrator.importers.chapters import CHOSEN_LINES, LINES, ChapterRule, find_starts
from narrator.importers.chapters.assembly import assemble
from narrator.importers.chapters.outline import Outline
from narrator.importers.dialogue import label_of, row_labels
from narrator.importers.directions import is_stage_row, is_verse
from narrator.importers.headings import read_heading
from narrator.importers.matter import BookContext
from narrator.importers.plaintext import read_text, spans
from narrator.importers.prose import StyledSpan, is_scene_break, paragraphs, tidy
from narrator.project.languages import called
from narrator.text.patterns import limited

_START = re.compile(r"\*\*\* ?START OF (?:THE|THIS) PROJECT GUTENBERG EBOOK", re.IGNORECASE)
_END = re.compile(
    r"\*\*\* ?END OF (?:THE|THIS) PROJECT GUTENBERG EBOOK|End of (?:the )?Project Gutenberg\b",
    re.IGNORECASE,
)
_FACT = re.compile(r"(Title|Author|Language): +(.+)", re.IGNORECASE)
_CREDIT = re.compile(r"(?:Produced|E-?text prepared|Transcribed|Digitized|This e-?text was) ", re.I)
_ASIDE = re.compile(r"\[(Illustration|Footnote|Transcriber|Editor)", re.IGNORECASE)
_ASIDES = {
    "illustration": "picture",
    "footnote": "note",
    "transcriber": "notes on this edition",
    "editor": "notes on this edition",
}
_FOOTNOTE = re.compile(r"\[Footnote\s+([^:\]]{1,8})[:\]]", re.IGNORECASE)
_ASIDE_LIMIT = 8
"""Paragraphs that a footnote in brackets may have."""
_RAISED = "[⁰¹²³⁴-⁹]{1,3}"
_NUMBERED = r"\[\d{1,3}\]|\{\d{1,3}\}"
_REFERENCE = re.compile(
    rf"(?<=\S)\s?(?P<mark>{_NUMBERED}|\[[A-Z*†]\]|(?<=\S)\(\d{{1,3}}\)|"
    rf"(?:(?<=[^\W\d_]{{3}})|(?<=[.,;:!?…\"'”’)»]))(?<!\s){_RAISED})"
)
"""Units have raised figures too: m², km³."""
_NOTE = re.compile(
    rf"(?P<mark>(?:{_NUMBERED}|\(\d{{1,3}}\))(?=[.:]?\s+\S)|{_RAISED}(?=\s*[^\W\d_“\"‘«„]))"
)
"""A paragraph that may be a note, if something above it refers to it."""
_SHOWN = 5


def read_plain_text(path: Path, choices: Choices, rules: tuple[ChapterRule, ...] = LINES) -> Book:
    """The book in a text file. Raises ImportFailed, Slow."""
    decoded = read_text(path, choices.encoding)
    text = _TextFile(path, seen(decoded.text).split("\n"), choices)
    rules = CHOSEN_LINES if choices.heading else rules
    book = text.book(count_characters(decoded.text), rules)
    return replace(book, remarks=(decoded.remark, *book.remarks)) if decoded.remark else book


class _TextFile:
    """One file, from its lines to its chapters."""

    def __init__(self, path: Path, rows: list[str], choices: Choices) -> None:
        self.path = path
        self.choices = choices
        self.rows = rows
        self.facts: dict[str, str] = {}
        self.notices: list[Block] = []
        begin, end = self._without_notices()
        body = rows[begin:end]
        self.labels = frozenset() if choices.reading == "prose" else row_labels(body)
        """Keys of the labels with which speeches begin, where the text prints its speakers."""
        self.line_by_line = not self.labels and _is_line_by_line(body)
        self.width = _width(body)
        self.words = hyphens.words_of("\n".join(row.strip() for row in body))
        with limited(choices.heading.pattern) if choices.heading else nullcontext():
            self.blocks = list(self._split(begin, end))
        self.notes: set[str] = set()
        """Marks of the notes that were found."""
        self.strays: dict[str, str] = {}
        """Marks like those of notes that have none -> where the first stands."""

    def book(self, characters: int, rules: tuple[ChapterRule, ...]) -> Book:
        """Everything, in its place."""
        self._leave_asides()
        self._find_headings()
        outline = Outline(self.blocks, BookContext(stem(self.path)), said=self.facts)
        outline.choices = self.choices
        find_starts(outline, rules)
        divided = assemble(outline, self._written)
        if not divided.chapters:
            raise ImportFailed(Problem(self.path, None, "has no text to read aloud"))
        for notice in self.notices:
            counts = count_characters(notice.text), count_words(notice.text)
            place = len(divided.chapters)
            divided.left_out.append(Skipped(notice.source, "", notice.reason, *counts, place=place))
        author = self.facts.get("author")
        language = self.facts.get("language", "").split(",")[0]
        said = {
            "title; the file's name stands for it": "title" in self.facts,
            "author": author is not None,
        }
        book = Book(
            title=outline.title,
            authors=tuple(re.split(r"\s+(?:and|&)\s+|;\s*", author)) if author else ("Unknown",),
            language=called(language) or "",
            chapters=tuple(divided.chapters),
            left_out=tuple(divided.left_out),
            source=file_name(self.path),
            characters=characters,
            is_titled="title" in self.facts,
            speakers=divided.speakers,
            dialogue=divided.dialogue,
            remarks=(
                *(f"The text does not say its {fact}." for fact in said if not said[fact]),
                *self._of_strays(),
                *divided.remarks,
            ),
        )
        lost = book.characters - book.characters_kept - book.characters_left_out
        if lost:
            what = f"{lost} characters would be lost; please report this text"
            raise ImportFailed(Problem(self.path, None, what))
        return book

    def _of_strays(self) -> Iterator[str]:
        if self.strays:
            marks = ", ".join([*islice(self.strays, _SHOWN), *["…"] * (len(self.strays) > _SHOWN)])
            yield (
                f"Without a note that begins with them, these stay in the text: {marks} "
                f"(first: {next(iter(self.strays.values()))})."
            )

    def _block(self, first: int, rows: list[str], gap: int = 0) -> Block:
        """Lines as they stand; the first is number `first`, from 0."""
        text = " ".join(" ".join(rows).split())
        return Block("text", f"{file_name(self.path)}:{first + 1}", text=text, rows=rows, gap=gap)

    # -- paragraphs --------------------------------------------------------------------------------

    def _without_notices(self) -> tuple[int, int]:
        """Where the text begins and ends, without what Project Gutenberg has put around it."""
        rows = [row.strip() for row in self.rows]
        begin, end = 0, len(rows)
        start = next((i for i, row in enumerate(rows) if _START.match(row)), None)
        if start is not None:
            begin = start + 1
            # The line may be wrapped: it ends with asterisks, as it began.
            while begin < end and rows[begin] and "***" not in rows[begin - 1][3:]:
                begin += 1
            for fact in filter(None, map(_FACT.fullmatch, rows[:start])):
                self.facts.setdefault(fact[1].lower(), fact[2].strip())
            self._notice(0, begin)
        last = next((i for i in range(begin, end) if _END.match(rows[i])), None)
        if last is not None:
            end = last
            self._notice(last, len(rows))
        return begin, end

    def _notice(self, begin: int, end: int) -> None:
        notice = self._block(begin, self.rows[begin:end])
        notice.leave("notice of Project Gutenberg")
        self.notices.append(notice)

    def _split(self, begin: int, end: int) -> Iterator[Block]:
        """Lines between blank lines, or one long line."""
        rows: list[str] = []
        first = gap = 0
        for index, row in enumerate((*self.rows[begin:end], ""), begin):
            bare = row.strip()
            listed = rows and _NOTE.match(rows[0].strip()) and _NOTE.match(bare)
            if rows and (not bare or listed or self._begins_paragraph(rows[-1], row)):
                yield self._block(first, rows, gap)
                rows, gap = [], 0
            if not bare:
                gap += 1
                continue
            if not rows:
                first = index
            rows.append(row.expandtabs(4).rstrip())

    def _is_chosen(self, row: str) -> bool:
        heading = self.choices.heading
        return heading is not None and bool(heading.match(row.strip()))

    def _begins_paragraph(self, above: str, row: str) -> bool:
        """Whether a row begins a paragraph without a blank line: as a label or by indentation, or
        as a heading that was chosen or below one."""
        if self._is_chosen(row) or self._is_chosen(above):
            return True
        if self.line_by_line or self._is_label(row, within=True):
            return True
        if self.labels and (is_stage_row(row) or is_stage_row(above)):
            return True
        indented = _indent(row) >= 2 and _indent(above) < 2
        return indented and above[-1] in ".!?…:;\"'”’)—-"

    def _is_label(self, row: str, within: bool = False) -> bool:
        """Whether a speech begins with a row, at the beginning of a paragraph or `within` one."""
        return bool(self.labels) and label_of(row, self.labels, within) is not None

    def _leave_asides(self) -> None:
        """Set aside what stands in brackets: captions, footnotes, notes of transcribers."""
        for place, block in enumerate(self.blocks):
            if place == 0 and _CREDIT.match(block.text):
                block.leave("notes on this edition")
            bracket = _ASIDE.match(block.text)
            if block.kind == "left" or bracket is None:
                continue
            aside = self.blocks[place : place + _ASIDE_LIMIT]
            depths = accumulate(b.text.count("[") - b.text.count("]") for b in aside)
            closed = (count for count, depth in enumerate(depths, 1) if depth <= 0)
            for part in aside[: next(closed, 1)]:
                part.leave(_ASIDES[bracket[1].lower()])
                if mark := _FOOTNOTE.match(block.text):
                    part.note = (f"[{mark[1].strip()}]",)
                    self.notes.update(part.note)
        self._leave_notes()

    def _leave_notes(self) -> None:
        """Set aside paragraphs that begin with a mark to which a paragraph above refers."""
        referred: set[str] = set()
        for block in self.blocks:
            if block.kind != "text":
                continue
            found = _NOTE.match(block.text)
            if found and found["mark"] in referred:
                block.leave("note")
                block.note = (found["mark"],)
                self.notes.add(found["mark"])
            referred.update(one["mark"] for one in _REFERENCE.finditer(block.text))

    def _find_headings(self) -> None:
        """Scene breaks, and what reads as a heading; text may stand right under it."""
        blocks: list[Block] = []
        for block in self.blocks:
            blocks.append(block)
            if block.kind != "text":
                continue
            if self._is_label(block.rows[0]):
                block.apart = block.rows[0].strip(" _.:")
            elif is_scene_break(block.text):
                block.kind = "scene"
            elif self.choices.heading is None and (heading := read_heading(block.rows, block.gap)):
                rows, rest = block.rows[: heading.rows], block.rows[heading.rows :]
                first = int(block.source.rpartition(":")[2]) - 1
                blocks[-1] = self._block(first, rows, block.gap)
                blocks[-1].kind, blocks[-1].heading = "heading", heading
                blocks += [self._block(first + heading.rows, rest)] if rest else []
        self.blocks = blocks

    # -- words -------------------------------------------------------------------------------------

    def _written(self, block: Block) -> Iterator[Block]:
        """What becomes of a block once it is known what it is: its words, with their emphasis."""
        if block.kind == "left":
            aside = left_out(block.source, block.text, block.reason)
            aside.note = block.note
            yield aside
        elif block.kind == "scene":
            yield made_of("scene", block.source, [(StyledSpan(block.text),)])
        elif block.heading is not None:
            parts = [tidy(spans(part)) for part in block.heading.parts]
            heading = made_of("heading", block.source, parts, block.heading.level)
            heading.characters = count_characters(block.text)
            yield heading
        else:
            if block.gap >= 3:
                yield Block("gap", block.source)
            yield from self._texts(block)

    def _texts(self, block: Block) -> Iterator[Block]:
        rows = [row.strip() for row in block.rows]
        quoted = not self.labels and len(rows) > 1 and all(_indent(r) >= 2 for r in block.rows)
        verse = quoted and max(map(len, rows)) < 0.8 * self.width
        text = hyphens.join("\n".join(rows), self.words)
        if self.labels:
            text = self._speech(text)
        elif not verse:
            text = text.replace("\n", " ")
        hidden = count_characters("".join(rows)) - count_characters(text)
        references: list[Block] = []

        def left(reference: re.Match[str]) -> str:
            mark = reference["mark"]
            if mark not in self.notes:
                if not mark.startswith("("):  # may be anything: f(1)
                    self.strays.setdefault(mark, block.source)
                return reference[0]
            references.append(left_out(block.source, mark, "reference to a note"))
            references[-1].refs = (mark,)
            return ""

        text = _REFERENCE.sub(left, text)
        for lines in paragraphs(spans(text)):
            said = made_of("text", block.source, lines)
            said.containers = (Container("> ", "> "),) if quoted else ()
            said.characters = count_characters(text) + hidden
            yield said
        yield from references

    def _speech(self, text: str) -> str:
        """The rows of a speech: its name alone on the first, lines of verse, or prose in one."""
        rows = text.split("\n")
        label = label_of(rows[0], self.labels)
        alone = 1 if label and label.is_alone and len(rows) > 1 else 0
        said = rows[alone:]
        width = max(self.width, _NARROWEST * alone)
        room = sum(len(f"{row} {below.split()[0]}") <= width for row, below in pairwise(said))
        lengths = [len(row) for row in said[:-1]] or [0]
        uneven = 3 * room >= len(lengths) or min(lengths) < _EVEN * max(lengths)
        if not (is_verse("\n".join(said)) and uneven and len(rows) > 2):
            said = [" ".join(said)]
        return "\n".join(rows[:alone] + said)


def _indent(row: str) -> int:
    return len(row) - len(row.lstrip())


def _is_line_by_line(rows: Sequence[str]) -> bool:
    """Whether each line is a paragraph: lines are long, or end as sentences do without a gap, or
    hardly any is blank and nothing shows that they are wrapped."""
    bare = [row.strip() for row in rows]
    lengths = sorted(map(len, filter(None, bare)))
    if lengths and lengths[len(lengths) * 9 // 10] > 200:
        return True
    inside = [(row, below) for row, below in pairwise(bare) if row and below]
    if not inside:
        return False
    if sum(row[-1] in _ENDS for row, _ in inside) >= 0.7 * len(inside):
        return True
    blank = len(bare) - len(lengths)
    return 10 * blank <= len(bare) and not _is_wrapped(inside, _width(rows))


_ENDS = ".!?…\"”’'*:)。！？」』"
_NARROWEST = 40
"""Characters of lines under a name that stands alone, at least, if they are wrapped."""
_EVEN = 0.82
"""Of the longest of a prose paragraph's lines, which the others but the last have at least."""
_FULL = 0.85
"""Of the width, at least: a line after which a word had no room."""
_GOES_ON = 0.15
"""Lines that begin in lower case below one that ends no sentence, at least, in a wrapped text."""


def _is_wrapped(inside: Sequence[tuple[str, str]], width: int) -> bool:
    """Whether lines, each with the one below it, are those of longer paragraphs."""
    full = sum(len(row) >= _FULL * width for row, _ in inside)
    goes_on = sum(row[-1] not in _ENDS and below[0].islower() for row, below in inside)
    return 2 * full >= len(inside) or goes_on >= _GOES_ON * len(inside)


def _width(rows: Sequence[str]) -> int:
    """The length that nearly all lines keep to."""
    lengths = sorted(len(row.strip()) for row in rows if row.strip())
    return lengths[len(lengths) * 9 // 10] if lengths else 0
