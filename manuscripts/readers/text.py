"""Reads plain text as a book: headings, hard-wrapped paragraphs and scene breaks as people type
them.

Knows the conventions of Project Gutenberg and of authors who write without a word processor. Every
paragraph of the file ends in a chapter or in what is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from itertools import accumulate, pairwise
from pathlib import Path

from manuscripts import hyphens
from manuscripts.blocks import Block, Container, block_of_lines, left_out_block
from manuscripts.book import (
    Book,
    Choices,
    Skipped,
    count_characters,
    count_words,
    file_name,
    title_from_file_name,
)
from manuscripts.chapters import CHOSEN_LINES, LINES, ChapterRules, find_starts
from manuscripts.chapters.assembly import assemble
from manuscripts.chapters.outline import Outline
from manuscripts.dialogue import label_of, row_labels
from manuscripts.directions import is_stage_row, is_verse
from manuscripts.headings import read_heading
from manuscripts.matter import BookContext
from manuscripts.plaintext import emphasized_spans, read_text
from manuscripts.prose import StyledSpan, is_scene_break, normalize_line, split_paragraphs
from manuscripts.readers.binding import bind_book
from manuscripts.readers.facts import (
    GUTENBERG_END,
    GUTENBERG_NOTICE,
    GUTENBERG_START,
    Metadata,
)
from textbase.characters import strip_invisible
from textbase.languages import tag_of_language
from textbase.patterns import time_limit

_TEXT_END = re.compile(
    rf"{GUTENBERG_END.pattern}|End of (?:the )?Project Gutenberg\b", re.IGNORECASE
)
_FACT = re.compile(r"(Title|Author|Language): +(.+)", re.IGNORECASE)
_PRODUCTION_CREDIT = re.compile(
    r"(?:Produced|E-?text prepared|Transcribed|Digitized|This e-?text was) ", re.I
)
_ASIDE = re.compile(r"\[(Illustration|Footnote|Transcriber|Editor)", re.IGNORECASE)
_REASON_BY_ASIDE = {
    "illustration": "picture",
    "footnote": "note",
    "transcriber": "notes on this edition",
    "editor": "notes on this edition",
}
_FOOTNOTE = re.compile(r"\[Footnote\s+([^:\]]{1,8})[:\]]", re.IGNORECASE)
_MAX_ASIDE_PARAGRAPHS = 8
"""Largest number of paragraphs of a footnote in brackets."""
_SUPERSCRIPT = "[⁰¹²³⁴-⁹]{1,3}"
_BRACKETED_NUMBER = r"\[\d{1,3}\]|\{\d{1,3}\}"
_REFERENCE = re.compile(
    rf"(?<=\S)\s?(?P<mark>{_BRACKETED_NUMBER}|\[[A-Z*†]\]|(?<=\S)\(\d{{1,3}}\)|"
    rf"(?:(?<=[^\W\d_]{{3}})|(?<=[.,;:!?…\"'”’)»]))(?<!\s){_SUPERSCRIPT})"
)
"""Units have superscripts, too: m², km³."""
_NOTE = re.compile(
    rf"(?P<mark>(?:{_BRACKETED_NUMBER}|\(\d{{1,3}}\))(?=[.:]?\s+\S)|{_SUPERSCRIPT}(?=\s*[^\W\d_“\"‘«„]))"
)
"""A paragraph that may be a note, if something above refers to it."""
_MAX_SHOWN_MARKS = 5


def read_plain_text(path: Path, choices: Choices, rules: ChapterRules = LINES) -> Book:
    """Returns the book in a text file. Raises ImportFailed, SlowPattern."""
    decoded = read_text(path, choices.encoding)
    text_file = _TextFile(path, strip_invisible(decoded.text).split("\n"), choices)
    rules = CHOSEN_LINES if choices.heading else rules
    book = text_file.book(count_characters(decoded.text), rules)
    return replace(book, remarks=(decoded.remark, *book.remarks)) if decoded.remark else book


class _TextFile:
    """One file, from its lines to its chapters."""

    def __init__(self, path: Path, rows: list[str], choices: Choices) -> None:
        self.path = path
        self.choices = choices
        self.rows = rows
        self.facts: dict[str, str] = {}
        self.notices: list[Block] = []
        begin, end = self._find_text_range()
        body = rows[begin:end]
        self.label_keys = frozenset() if choices.reading == "prose" else row_labels(body)
        """Keys of speakers' labels, if the text prints its speakers."""
        self.is_line_by_line = not self.label_keys and _is_line_by_line(body)
        self.usual_width = _text_width(body)
        self.known_words = hyphens.words_of("\n".join(row.strip() for row in body))
        with time_limit(choices.heading.pattern) if choices.heading else nullcontext():
            self.blocks = list(self._split_paragraphs(begin, end))
        self.note_marks: set[str] = set()
        """Marks of the notes."""
        self.unmatched_marks: dict[str, str] = {}
        """Marks that look like note references without a note -> where each first occurs."""

    def book(self, characters: int, rules: ChapterRules) -> Book:
        """Returns the book, with every paragraph in its place."""
        self._omit_asides()
        self._find_headings()
        outline = Outline(
            self.blocks, BookContext(title_from_file_name(self.path)), facts=self.facts
        )
        outline.choices = self.choices
        find_starts(outline, rules)
        divided_book = assemble(outline, self._write_block)
        left_out = [
            Skipped(
                notice.source,
                "",
                notice.reason,
                count_characters(notice.text),
                count_words(notice.text),
                place=len(divided_book.chapters),
            )
            for notice in self.notices
        ]
        author = self.facts.get("author")
        facts = Metadata(
            title=self.facts.get("title"),
            authors=tuple(re.split(r"\s+(?:and|&)\s+|;\s*", author)) if author else (),
            language=tag_of_language(self.facts.get("language", "").split(",")[0]),
        )
        remarks = self._describe_unmatched_marks()
        return bind_book(
            self.path, divided_book, facts, characters, left_out=left_out, remarks=remarks
        )

    def _describe_unmatched_marks(self) -> Iterator[str]:
        marks = list(self.unmatched_marks)
        if marks:
            shown_marks = marks[:_MAX_SHOWN_MARKS] + ["…"] * (len(marks) > _MAX_SHOWN_MARKS)
            yield (
                "Without a note that begins with them, these stay in the text: "
                f"{', '.join(shown_marks)} (first: {self.unmatched_marks[marks[0]]})."
            )

    def _make_block(self, first: int, rows: list[str], blank_rows_above: int = 0) -> Block:
        """Returns rows as a block; the first is row number `first`, from 0."""
        text = " ".join(" ".join(rows).split())
        return Block(
            "text",
            f"{file_name(self.path)}:{first + 1}",
            text=text,
            rows=rows,
            blank_rows_above=blank_rows_above,
        )

    # -- paragraphs --------------------------------------------------------------------------------

    def _find_text_range(self) -> tuple[int, int]:
        """Returns the range of the text, without Project Gutenberg's notices around it."""
        rows = [row.strip() for row in self.rows]
        begin, end = 0, len(rows)
        start_row = next((i for i, row in enumerate(rows) if GUTENBERG_START.match(row)), None)
        if start_row is not None:
            begin = start_row + 1
            # The line may be wrapped; it ends with asterisks, as it began.
            while begin < end and rows[begin] and "***" not in rows[begin - 1][3:]:
                begin += 1
            for fact in filter(None, map(_FACT.fullmatch, rows[:start_row])):
                self.facts.setdefault(fact[1].lower(), fact[2].strip())
            self._add_notice(0, begin)
        end_row = next((i for i in range(begin, end) if _TEXT_END.match(rows[i])), None)
        if end_row is not None:
            end = end_row
            self._add_notice(end_row, len(rows))
        return begin, end

    def _add_notice(self, begin: int, end: int) -> None:
        notice = self._make_block(begin, self.rows[begin:end])
        notice.omit(GUTENBERG_NOTICE)
        self.notices.append(notice)

    def _split_paragraphs(self, begin: int, end: int) -> Iterator[Block]:
        """Yields runs of rows between blank rows, or rows that are paragraphs by themselves."""
        rows: list[str] = []
        first_row = blank_rows = 0
        for index, row in enumerate((*self.rows[begin:end], ""), begin):
            stripped_row = row.strip()
            is_next_note = rows and _NOTE.match(rows[0].strip()) and _NOTE.match(stripped_row)
            if rows and (not stripped_row or is_next_note or self._begins_paragraph(rows[-1], row)):
                yield self._make_block(first_row, rows, blank_rows)
                rows, blank_rows = [], 0
            if not stripped_row:
                blank_rows += 1
                continue
            if not rows:
                first_row = index
            rows.append(row.expandtabs(4).rstrip())

    def _begins_paragraph(self, row_above: str, row: str) -> bool:
        """Returns whether a row begins a paragraph without a blank line.

        It does with a label or an indentation, as a heading by the user's pattern, or below one.
        """
        heading = self.choices.heading
        if heading and (heading.match(row.strip()) or heading.match(row_above.strip())):
            return True
        if self.is_line_by_line or self._is_label(row, is_within_paragraph=True):
            return True
        if self.label_keys and (is_stage_row(row) or is_stage_row(row_above)):
            return True
        is_indented = _indentation(row) >= 2 and _indentation(row_above) < 2
        return is_indented and row_above[-1] in ".!?…:;\"'”’)—-"

    def _is_label(self, row: str, is_within_paragraph: bool = False) -> bool:
        """Returns whether a speech begins with a row, which may be within a paragraph."""
        return (
            bool(self.label_keys)
            and label_of(row, self.label_keys, is_within_paragraph) is not None
        )

    def _omit_asides(self) -> None:
        """Leaves out bracketed captions, footnotes and transcribers' notes."""
        for index, block in enumerate(self.blocks):
            if index == 0 and _PRODUCTION_CREDIT.match(block.text):
                block.omit("notes on this edition")
            bracket = _ASIDE.match(block.text)
            if block.kind == "omitted" or bracket is None:
                continue
            aside_blocks = self.blocks[index : index + _MAX_ASIDE_PARAGRAPHS]
            depths = accumulate(b.text.count("[") - b.text.count("]") for b in aside_blocks)
            closing_counts = (count for count, depth in enumerate(depths, 1) if depth <= 0)
            for part in aside_blocks[: next(closing_counts, 1)]:
                part.omit(_REASON_BY_ASIDE[bracket[1].lower()])
                if mark := _FOOTNOTE.match(block.text):
                    part.note_keys = (f"[{mark[1].strip()}]",)
                    self.note_marks.update(part.note_keys)
        self._omit_notes()

    def _omit_notes(self) -> None:
        """Leaves out paragraphs that begin with a mark to which a paragraph above refers."""
        referred_marks: set[str] = set()
        for block in self.blocks:
            if block.kind != "text":
                continue
            note_match = _NOTE.match(block.text)
            if note_match and note_match["mark"] in referred_marks:
                block.omit("note")
                block.note_keys = (note_match["mark"],)
                self.note_marks.add(note_match["mark"])
            referred_marks.update(match["mark"] for match in _REFERENCE.finditer(block.text))

    def _find_headings(self) -> None:
        """Finds scene breaks and headings; text may follow directly below a heading."""
        blocks: list[Block] = []
        for block in self.blocks:
            blocks.append(block)
            if block.kind != "text":
                continue
            if self._is_label(block.rows[0]):
                block.lead_words = block.rows[0].strip(" _.:")
            elif is_scene_break(block.text):
                block.kind = "scene"
            elif self.choices.heading is None and (
                heading := read_heading(block.rows, block.blank_rows_above)
            ):
                rows, other_rows = block.rows[: heading.row_count], block.rows[heading.row_count :]
                first_row = int(block.source.rpartition(":")[2]) - 1
                blocks[-1] = self._make_block(first_row, rows, block.blank_rows_above)
                blocks[-1].kind, blocks[-1].heading = "heading", heading
                blocks += (
                    [self._make_block(first_row + heading.row_count, other_rows)]
                    if other_rows
                    else []
                )
        self.blocks = blocks

    # -- words -------------------------------------------------------------------------------------

    def _write_block(self, block: Block) -> Iterator[Block]:
        """Yields the final blocks for a block, with the emphasis of its words."""
        if block.kind == "omitted":
            omitted = left_out_block(block.source, block.text, block.reason)
            omitted.note_keys = block.note_keys
            yield omitted
        elif block.kind == "scene":
            yield block_of_lines("scene", block.source, [(StyledSpan(block.text),)])
        elif block.heading is not None:
            parts = [normalize_line(emphasized_spans(part)) for part in block.heading.parts]
            heading = block_of_lines("heading", block.source, parts, block.heading.level)
            heading.characters = count_characters(block.text)
            yield heading
        else:
            if block.blank_rows_above >= 3:
                yield Block("gap", block.source)
            yield from self._write_paragraphs(block)

    def _write_paragraphs(self, block: Block) -> Iterator[Block]:
        """Yields the paragraphs in the rows of a block, and references to notes, left out."""
        rows = [row.strip() for row in block.rows]
        is_indented = all(_indentation(row) >= 2 for row in block.rows)
        is_quoted = is_indented and not self.label_keys and len(rows) > 1
        is_verse_quotation = (
            is_quoted and max(map(len, rows)) < _VERSE_WIDTH_SHARE * self.usual_width
        )
        text = hyphens.join("\n".join(rows), self.known_words)
        if self.label_keys:
            text = self._join_speech_rows(text)
        elif not is_verse_quotation:
            text = text.replace("\n", " ")
        removed_characters = count_characters("".join(rows)) - count_characters(text)
        references: list[Block] = []

        def omit_reference(reference: re.Match[str]) -> str:
            """Returns "" for a reference to a note, and notes it; other marks stay."""
            mark = reference["mark"]
            if mark not in self.note_marks:
                if not mark.startswith("("):  # may be anything: f(1)
                    self.unmatched_marks.setdefault(mark, block.source)
                return reference[0]
            references.append(left_out_block(block.source, mark, "reference to a note"))
            references[-1].note_references = (mark,)
            return ""

        text = _REFERENCE.sub(omit_reference, text)
        for lines in split_paragraphs(emphasized_spans(text)):
            paragraph = block_of_lines("text", block.source, lines)
            paragraph.containers = (Container("> ", "> "),) if is_quoted else ()
            paragraph.characters = count_characters(text) + removed_characters
            yield paragraph
        yield from references

    def _join_speech_rows(self, text: str) -> str:
        """Joins the rows of a speech: prose on one row, verse line by line, a name alone on the
        first row."""
        rows = text.split("\n")
        label = label_of(rows[0], self.label_keys)
        has_label_row = label is not None and label.is_alone and len(rows) > 1
        label_rows, speech_rows = rows[:has_label_row], rows[has_label_row:]
        width = max(self.usual_width, _MIN_SPEECH_WIDTH if has_label_row else 0)
        lengths = [len(row) for row in speech_rows[:-1]] or [0]
        unfilled_count = sum(
            len(row) + 1 + len(row_below.split()[0]) <= width
            for row, row_below in pairwise(speech_rows)
        )
        is_uneven = min(lengths) < _EVEN_LINE_SHARE * max(lengths)
        is_unfilled = is_uneven or 3 * unfilled_count >= len(lengths)
        if len(rows) < 3 or not is_unfilled or not is_verse("\n".join(speech_rows)):
            speech_rows = [" ".join(speech_rows)]
        return "\n".join(label_rows + speech_rows)


def _indentation(row: str) -> int:
    return len(row) - len(row.lstrip())


_PARAGRAPH_ENDINGS = ".!?…\"”’'*:)。！？」』"
_MIN_SPEECH_WIDTH = 40
"""Least width in characters of wrapped lines below a name that stands alone."""
_EVEN_LINE_SHARE = 0.82
"""Share of the longest line's length that all lines of prose reach, except the last."""
_FULL_LINE_SHARE = 0.85
"""Share of the width from which a line was wrapped because the next word had no room."""
_VERSE_WIDTH_SHARE = 0.8
"""Share of the width that no line of verse reaches."""
_MAX_WRAPPED_WIDTH = 200
"""Maximum characters of a wrapped line."""
_ENDED_SHARE = 0.7
"""Share of lines that end as sentences do, from which each is a paragraph."""
_CONTINUATION_SHARE = 0.15
"""Least share of lines in a wrapped text that continue a sentence in lower case."""


def _is_line_by_line(rows: Sequence[str]) -> bool:
    """Returns whether each line is a paragraph: lines are long, or end as sentences do without a
    blank line, or hardly any is blank and nothing shows that they are wrapped."""
    rows = [row.strip() for row in rows]
    width = _text_width(rows)
    pairs = [(row, row_below) for row, row_below in pairwise(rows) if row and row_below]
    if width > _MAX_WRAPPED_WIDTH or not pairs:
        return width > _MAX_WRAPPED_WIDTH
    full_count = sum(len(row) >= _FULL_LINE_SHARE * width for row, _ in pairs)
    ended_count = sum(row[-1] in _PARAGRAPH_ENDINGS for row, _ in pairs)
    continued_count = sum(
        row[-1] not in _PARAGRAPH_ENDINGS and row_below[0].islower() for row, row_below in pairs
    )
    is_wrapped = 2 * full_count >= len(pairs) or continued_count >= _CONTINUATION_SHARE * len(pairs)
    is_dense = 10 * rows.count("") <= len(rows)
    return ended_count >= _ENDED_SHARE * len(pairs) or (is_dense and not is_wrapped)


def _text_width(rows: Sequence[str]) -> int:
    """Returns the length that nearly all lines keep to."""
    lengths = sorted(len(row.strip()) for row in rows if row.strip())
    return lengths[len(lengths) * 9 // 10] if lengths else 0
