"""Edits of who says what a chunk says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from narrator.characters import quoted
from narrator.errors import UsageError, nearest
from narrator.pipeline.bookplan import BookPlan
from narrator.pipeline.edits import marking
from narrator.pipeline.edits.checked import checked
from narrator.pipeline.edits.edit import Edit, FileChange, one_line, shown
from narrator.pipeline.edits.rows import Rows, overlapping, rows_of
from narrator.pipeline.edits.texts import ChapterText, Place, chapter_text
from narrator.speech.plan import Step
from narrator.text import decided, stretches
from narrator.text.labels import Attribution
from narrator.text.lines import Given, Line
from narrator.text.markup import squeeze


def speaker_edit(
    book: BookPlan, step: Step, speaker: str, style: str | None = None, words: str = ""
) -> Edit:
    """Another speaker, or several (`Ada & Ben`), for what a chunk says, or for some words of it.

    A quotation in narration gets them in its row, what has a label or braces in these (a label is
    for all that stands after it), other words in braces around them. `style` is how they say it,
    "" for no way of their own, None for what it is now; rows have none, so that braces are written
    then. Raises Changed, ScriptError, StorageError, UsageError.
    """
    project = book.project
    style, words = None if style is None else one_line(style), one_line(words)
    text = chapter_text(project, step.chapter)
    named = _named(text, one_line(speaker))
    pieces = [
        (text.find(line), (line.begin + start, line.begin + stop), line)
        for line, start, stop in _parts(step, words)
    ]
    change = _Speakers(text, named, style)
    if not change.answer(pieces):
        for place, span, line in pieces:
            change.give(place, span, line)
    named_as = " & ".join(named) + (f" ({style})" if style else "")
    what = f"chapter {step.chapter + 1}: {named_as} says “{shown(words or step.chunk.text)}”"
    return checked(project, Edit(what, tuple(change.changes())))


def _parts(step: Step, words: str) -> list[tuple[Line, int, int]]:
    """The lines of a chunk, each with what is meant of it. Raises UsageError."""
    pieces = step.chunk.pieces
    if not (words := squeeze(words)):
        return [(piece.line, piece.start, piece.stop) for piece in pieces]
    for piece in pieces:
        at = piece.line.text.find(words, piece.start, piece.stop)
        if at >= 0:
            return [(piece.line, at, at + len(words))]
    raise UsageError(f"“{shown(words)}” does not stand in chunk {step.id}")


def _named(text: ChapterText, speaker: str) -> tuple[str, ...]:
    """Whom a name names. Raises UsageError."""
    named = text.roles.named(squeeze(speaker))
    if named:
        return named
    guess = nearest(speaker, list(text.project.speakers))
    cast = f"cast: {', '.join(text.project.speakers)}"
    hint = f"did you mean “{guess}”?" if guess else shown(cast)
    raise UsageError(f"“{quoted(speaker)}” is not in the cast; {hint}")


_Piece = tuple[Place, tuple[int, int], Line]
"""A paragraph, what of it a chunk says, and the line of the book that this is in."""


class _Speakers:
    """A chapter's text and its file of speakers while others are given what a chunk says."""

    def __init__(self, text: ChapterText, named: tuple[str, ...], style: str | None) -> None:
        self.text = text
        self.named = named
        self.style = style
        self.rows: Rows | None = None
        self.file: decided.Decided | None = None

    def changes(self) -> Iterator[FileChange]:
        yield self.text.change
        if self.rows is not None and self.file is not None:
            yield self.rows.change(self.file)

    # -- by rows

    def answer(self, pieces: Sequence[_Piece]) -> bool:
        """Give quotations of narration to the speakers, if that is what is meant. Raises
        UsageError where the narrator says several of them."""
        narrated = self.named == (self.text.project.narrator,)
        is_manner = narrated and self.style and all(line.is_narration for _, _, line in pieces)
        if is_manner or not self.text.is_file:
            return False
        quotations = stretches.quoted(self.text.chapter)
        rows = rows_of(self.text.project, self.text.number, quotations)
        groups = _meant(rows, pieces)
        if not groups:
            return False
        self.rows = rows
        if self.style:
            self._in_braces(rows, groups)
            return True
        column = decided.NOBODY if narrated else decided.column(self.named)
        for group in groups:
            self.file = _so_far(rows, self.file).answered(group, column)
        return True

    def _in_braces(self, rows: Rows, groups: Sequence[range]) -> None:
        """Quotations that are said in some way: rows have no style."""
        places = [n for group in groups for n in group]
        for n in places:
            one = rows.quotations[n]
            to = (self.named, self.style)
            place = Place(one.scene, one.place)
            self.text = marking.given(self.text, place, (one.start, one.stop), to)
        self.file = rows.without(places)

    # -- by marks

    def give(self, place: Place, span: tuple[int, int], line: Line) -> None:
        """Give what a chunk says of a paragraph to the speakers, by its label or braces or new
        ones. Raises UsageError."""
        whole = self.text.line(place)
        style = line.style if self.style is None else self.style or None
        to: Attribution = (self.named, style)
        inner = [g for g in whole.given if g.start <= _first(whole, span) < g.stop]
        found: ChapterText | None = None
        if inner:
            found = self._given_otherwise(place, inner, to)
        if found is None and not any(not _is_whole(one, whole) for one in inner):
            found = marking.labelled(self.text, place, to)
        self.text = found or marking.given(self.text, place, span, to)

    def _given_otherwise(
        self, place: Place, inner: Sequence[Given], to: Attribution
    ) -> ChapterText | None:
        """The innermost braces with other names in them."""
        old = max(inner, key=lambda one: (one.start, -one.stop))
        return marking.given_otherwise(self.text, place, old, to)


def _meant(rows: Rows, pieces: Sequence[_Piece]) -> Sequence[range]:
    """The quotations in what a chunk says. Raises UsageError where the narrator says several."""
    own = [
        (list(overlapping(rows.quotations, place.scene, place.line, span)), line)
        for place, span, line in pieces
    ]
    groups = rows.pieces([n for places, _ in own for n in places])
    if len(groups) > 1 and any(line.is_narration for places, line in own if places):
        several = ", ".join(f"“{shown(rows.words[group[0]])}”" for group in groups)
        raise UsageError(f"several are quoted here; say whose words are meant: {several}")
    return groups


def _so_far(rows: Rows, file: decided.Decided | None) -> Rows:
    """The same quotations with what was decided of them so far."""
    return rows if file is None else replace(rows, file=file)


def _first(line: Line, span: tuple[int, int]) -> int:
    """The first letter of a part of a paragraph."""
    letters = (n for n in range(*span) if line.text[n].isalnum())
    return next(letters, span[0])


def _is_whole(one: Given, line: Line) -> bool:
    return (one.start, one.stop) == (0, len(line.text))
