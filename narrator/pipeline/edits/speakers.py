"""Edits of who speaks the text of a chunk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from narrator.errors import UsageError, nearest
from narrator.pipeline.book_plan import BookPlan
from narrator.pipeline.edits import marking
from narrator.pipeline.edits.checked import require_readable
from narrator.pipeline.edits.edit import Edit, FileChange, one_line, shorten
from narrator.pipeline.edits.people import NewPerson
from narrator.pipeline.edits.rows import Rows, overlapping_quotations, rows_of
from narrator.pipeline.edits.texts import ChapterText, Place, chapter_text
from narrator.speech.plan import Step
from narrator.text import line_splitting, speaker_files
from narrator.text.labels import Attribution
from narrator.text.lines import Line
from narrator.text.markup import squeeze
from textbase.characters import excerpt


def speaker_edit(
    book: BookPlan,
    step: Step,
    speaker: str,
    style: str | None = None,
    words: str = "",
    added: NewPerson | None = None,
) -> Edit:
    """The edit that gives a chunk, or some words of it, to another speaker.

    `speaker` may name several, as in `Ada & Ben`. A quotation in narration gets them in its row;
    text with a label or braces gets them there, where a label counts for all text after it; other
    words are put into braces. `style` is the manner of speech, "" for none, None for the present
    one; since rows have no style, braces are written then. `added` comes into the cast by the
    same edit. Raises FileChanged, ScriptError, StorageError, UsageError.
    """
    project = book.project
    style, words = None if style is None else one_line(style), one_line(words)
    text = chapter_text(project, step.chapter, added)
    names = resolve_names(text, one_line(speaker))
    pieces = [
        (text.find(line), (line.paragraph_offset + start, line.paragraph_offset + stop), line)
        for line, start, stop in _select_lines(step, words)
    ]
    speaker_change = SpeakerChange(text, names, style)
    if not speaker_change.change_rows(pieces):
        for place, span, line in pieces:
            speaker_change.change_marks(place, span, line)
    speakers_with_style = " & ".join(names) + (f" ({style})" if style else "")
    summary = (
        f"chapter {step.chapter + 1}: {speakers_with_style} says "
        f"“{shorten(words or step.chunk.text)}”"
    )
    return require_readable(project, Edit(summary, tuple(speaker_change.changes())))


def _select_lines(step: Step, words: str) -> list[tuple[Line, int, int]]:
    """The lines of a chunk, each with the start and stop of the selected words. Raises
    UsageError."""
    pieces = step.chunk.pieces
    if not (words := squeeze(words)):
        return [(piece.line, piece.start, piece.stop) for piece in pieces]
    for piece in pieces:
        offset = piece.line.text.find(words, piece.start, piece.stop)
        if offset >= 0:
            return [(piece.line, offset, offset + len(words))]
    raise UsageError(f"“{shorten(words)}” does not stand in line {step.id}")


def resolve_names(text: ChapterText, speaker: str) -> tuple[str, ...]:
    """The main names of the speakers that a name stands for. Raises UsageError."""
    names = text.roles.find_speakers(squeeze(speaker))
    if names:
        return names
    guess = nearest(speaker, list(text.project.speakers))
    cast = f"cast: {', '.join(text.project.speakers)}"
    hint = f"did you mean “{guess}”?" if guess else shorten(cast)
    raise UsageError(f"“{excerpt(speaker)}” is not in the cast; {hint}")


_Piece = tuple[Place, tuple[int, int], Line]
"""A paragraph, the span of it that a chunk says, and the line of the book with this span."""


class SpeakerChange:
    """A chapter's text and its file of speakers while speakers are being changed."""

    def __init__(self, text: ChapterText, names: tuple[str, ...], style: str | None) -> None:
        self.text = text
        self.names = names
        self.style = style
        self.rows: Rows | None = None
        self.file: speaker_files.SpeakerFile | None = None

    def changes(self) -> Iterator[FileChange]:
        yield from self.text.changes
        if self.rows is not None and self.file is not None:
            yield self.rows.change(self.file)

    # -- by rows

    def change_rows(self, pieces: Sequence[_Piece]) -> bool:
        """Change the rows of quotations, if the pieces are quotations in narration.

        Returns whether that was done. Raises UsageError if the narrator says several of them.
        """
        is_narrator = self.names == (self.text.project.narrator,)
        changes_narration_style = (
            is_narrator and self.style and all(line.is_narration for _, _, line in pieces)
        )
        if changes_narration_style or not self.text.is_file:
            return False
        quotations = line_splitting.find_quotes(
            self.text.chapter, with_nested=self.text.project.has_nested_voices
        )
        rows = rows_of(self.text.project, self.text.number, quotations)
        groups = _find_quotations(rows, pieces)
        if not groups:
            return False
        self.rows = rows
        if self.style:
            self._put_in_braces(rows, groups)
            return True
        column = speaker_files.NOBODY if is_narrator else speaker_files.format_names(self.names)
        for group in groups:
            present_rows = rows if self.file is None else replace(rows, file=self.file)
            self.file = present_rows.with_answer(group, column)
        return True

    def _put_in_braces(self, rows: Rows, groups: Sequence[Sequence[int]]) -> None:
        """Put quotations into braces, since rows cannot hold a style."""
        indices = [index for group in groups for index in group]
        for index in indices:
            quotation = rows.quotations[index]
            attribution = (self.names, self.style)
            place = Place(quotation.scene, quotation.place)
            self.text = marking.put_in_braces(
                self.text, place, (quotation.start, quotation.stop), attribution
            )
        self.file = rows.without_rows(indices)

    # -- by marks

    def change_marks(
        self, place: Place, span: tuple[int, int], line: Line, *, in_new_braces: bool = False
    ) -> None:
        """Give a part of a paragraph to the speakers, by its label, by braces that it has, or by
        new ones.

        Raises UsageError.
        """
        paragraph = self.text.line(place)
        style = line.style if self.style is None else self.style or None
        attribution: Attribution = (self.names, style)
        if in_new_braces:
            self.text = marking.put_in_braces(self.text, place, span, attribution)
            return
        enclosing_stretches = [
            stretch
            for stretch in paragraph.attributed_spans
            if stretch.start <= _first_letter(paragraph, span) < stretch.stop
        ]
        changed: ChapterText | None = None
        if enclosing_stretches:
            innermost = max(enclosing_stretches, key=lambda s: (s.start, -s.stop))
            changed = marking.replace_speakers_in_braces(self.text, place, innermost, attribution)
        whole_line = (0, len(paragraph.text))
        if changed is None and all(
            (stretch.start, stretch.stop) == whole_line for stretch in enclosing_stretches
        ):
            changed = marking.replace_label(self.text, place, attribution)
        self.text = changed or marking.put_in_braces(self.text, place, span, attribution)


def _find_quotations(rows: Rows, pieces: Sequence[_Piece]) -> Sequence[Sequence[int]]:
    """The quotations in the text of a chunk. Raises UsageError if the narrator says several."""
    indices_by_piece = [
        (overlapping_quotations(rows.quotations, place.scene, place.line, span), line)
        for place, span, line in pieces
    ]
    groups = rows.quotation_groups(
        [index for quotation_indices, _ in indices_by_piece for index in quotation_indices]
    )
    if len(groups) > 1 and any(
        line.is_narration for quotation_indices, line in indices_by_piece if quotation_indices
    ):
        quotation_list = ", ".join(f"“{shorten(rows.texts[group[0]])}”" for group in groups)
        raise UsageError(f"several are quoted here; say whose words are meant: {quotation_list}")
    return groups


def _first_letter(line: Line, span: tuple[int, int]) -> int:
    """The offset of the first letter in a part of a paragraph."""
    letters = (offset for offset in range(*span) if line.text[offset].isalnum())
    return next(letters, span[0])
