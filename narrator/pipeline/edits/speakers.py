"""Edits of who says what a chunk says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from narrator.characters import quoted
from narrator.errors import UsageError, nearest
from narrator.pipeline.bookplan import BookPlan
from narrator.pipeline.edits import marking
from narrator.pipeline.edits.checked import checked
from narrator.pipeline.edits.edit import Change, Edit, clean, shown
from narrator.pipeline.edits.rows import Rows, overlapping, rows_of
from narrator.pipeline.edits.texts import ChapterText, Place, chapter_text
from narrator.speech.plan import Step
from narrator.text import decided, stretches
from narrator.text.labels import Attribution
from narrator.text.lines import Given, Line
from narrator.text.markup import squeeze


def speaker_edit(
    book: BookPlan, step: Step, speaker: str, style: str | None = None, quotation: str = ""
) -> Edit:
    """Another speaker, or several (`Ada & Ben`), for what a chunk says.

    A quotation in narration gets them in its row, what has a label or braces in these (a label is
    for all that stands after it), other words in braces around them. `style` is how they say it,
    "" for no way of their own, None for what it is now; rows have none, so that braces are written
    then. `quotation` is the words of the one that is meant, where the narrator says several in a
    chunk. Raises Changed, ScriptError, StorageError, UsageError.
    """
    project = book.project
    text = chapter_text(project, step.chapter)
    named = _named(text, speaker)
    pieces = [
        (text.find(p.line), (p.line.begin + p.start, p.line.begin + p.stop), p.line)
        for p in step.chunk.pieces
    ]
    change = _Speakers(text, named, style)
    if text.is_file:
        change.answer(pieces, quotation)
    for place, span, line in pieces:
        change.give(place, span, line)
    named_as = " & ".join(named) + (f" ({style})" if style else "")
    what = f"chapter {step.chapter + 1}: “{shown(step.chunk.text)}” is said by {named_as}"
    return checked(project, Edit(what, tuple(change.changes())))


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
        self.style = None if style is None else squeeze(clean(style))
        self.rows: Rows | None = None
        self.file: decided.Decided | None = None
        self.done: set[tuple[Place, tuple[int, int]]] = set()
        """What the file of speakers has settled."""

    def changes(self) -> Iterator[Change]:
        yield self.text.change
        if self.rows is not None and self.file is not None:
            yield self.rows.change(self.file)

    # -- by rows

    def answer(self, pieces: Sequence[_Piece], quotation: str) -> None:
        """Give those of the pieces to the speakers that are quotations of narration."""
        quotations = stretches.quoted(self.text.chapter)
        rows = rows_of(self.text.project, self.text.number, quotations)
        places: list[int] = []
        for place, span, line in pieces:
            own = list(overlapping(quotations, place.scene, place.line, span))
            if own and line.is_narration:
                own = [self._meant(rows, rows.pieces(own), quotation)]
            if own:
                self.done.add((place, span))
            places += own
        if not places:
            return
        self.rows = rows
        groups = rows.pieces(places)
        if self.style:
            self._in_braces(rows, groups)
            return
        narrated = self.named == (self.text.project.narrator,)
        column = decided.NOBODY if narrated else decided.column(self.named)
        for group in groups:
            self.file = _so_far(rows, self.file).answered(group, column)

    def _meant(self, rows: Rows, groups: Sequence[range], quotation: str) -> int:
        """The first piece of the one quotation that is meant. Raises UsageError."""
        words = [" … ".join(rows.words[n] for n in group) for group in groups]
        chosen = [
            group
            for group, said in zip(groups, words, strict=True)
            if quotation and squeeze(quotation) in (squeeze(said), squeeze(rows.words[group[0]]))
        ]
        if len(groups) == 1:
            chosen = [groups[0]]
        if not chosen:
            several = ", ".join(f"“{shown(one.strip(_MARKS))}”" for one in words)
            raise UsageError(f"this chunk quotes several; say which is meant: {several}")
        return chosen[0][0]

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
        if (place, span) in self.done:
            return
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


def _so_far(rows: Rows, file: decided.Decided | None) -> Rows:
    """The same quotations with what was decided of them so far."""
    return rows if file is None else replace(rows, file=file)


_MARKS = "“”‘’„\"'«»‹›「」『』 "


def _first(line: Line, span: tuple[int, int]) -> int:
    """The first letter of a part of a paragraph."""
    letters = (n for n in range(*span) if line.text[n].isalnum())
    return next(letters, span[0])


def _is_whole(one: Given, line: Line) -> bool:
    return (one.start, one.stop) == (0, len(line.text))
