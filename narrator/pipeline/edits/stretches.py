"""Edits of who speaks a stretch of text: given to a speaker, or two speakers swapped in it.

As with one chunk, quotations in narration get their speakers in rows, other text in labels and
braces. Text outside of the stretch keeps its speakers, but for other pieces of a quotation that has
one in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from narrator.errors import UsageError
from narrator.pipeline.book_plan import BookPlan
from narrator.pipeline.edits import marking
from narrator.pipeline.edits.checked import require_readable
from narrator.pipeline.edits.edit import Edit, one_line, shorten
from narrator.pipeline.edits.people import NewPerson
from narrator.pipeline.edits.rows import Rows, overlapping_quotations, rows_of
from narrator.pipeline.edits.speakers import SpeakerChange, resolve_names
from narrator.pipeline.edits.texts import ChapterText, Place, chapter_text
from narrator.quantities import pluralize
from narrator.speech.plan import Step
from narrator.text import line_splitting, speaker_files
from narrator.text.lines import Line

EVERYTHING = "*"
QUOTED = '"'
"""What is quoted in narration, and what has a speaker of its own."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Consecutive chunks of a chapter, the first and last of them perhaps in part."""

    steps: Sequence[Step]
    start: int = 0
    """Number of characters of the first chunk before the stretch."""
    stop: int | None = None
    """Number of characters of the last chunk up to its end; None for all."""


def give_edit(
    book: BookPlan,
    stretch: Stretch,
    speaker: str,
    whose: str = EVERYTHING,
    added: NewPerson | None = None,
) -> Edit:
    """The edit that gives a stretch to a speaker: all of it, what is quoted, or only what somebody
    in the cast says in it.

    `speaker` may name several, as in `Ada & Ben`. `added` comes into the cast by the same
    edit. Raises FileChanged, ScriptError, StorageError, UsageError.
    """
    text = chapter_text(book.project, stretch.steps[0].chapter, added)
    names = resolve_names(text, one_line(speaker))
    owners = () if whose in (EVERYTHING, QUOTED) else resolve_names(text, one_line(whose))

    def new_names(part: _Part) -> tuple[str, ...] | None:
        return names if owners in ((), part.names) else None

    change = _StretchChange(text, only_quoted=whose == QUOTED)
    chunks = change.reassign(stretch, new_names)
    return change.edit(f"{' & '.join(names)} says {chunks}")


def swap_edit(book: BookPlan, stretch: Stretch, speaker: str, other: str) -> Edit:
    """The edit in which each of two speakers says what the other said in a stretch.

    Raises FileChanged, ScriptError, StorageError, UsageError.
    """
    text = chapter_text(book.project, stretch.steps[0].chapter)
    pair = [resolve_names(text, one_line(name)) for name in (speaker, other)]
    if pair[0] == pair[1]:
        raise UsageError("choose two speakers that are not the same")
    if (book.project.narrator,) in pair:
        raise UsageError("the narration cannot be swapped: give somebody's lines to the narrator")

    def new_names(part: _Part) -> tuple[str, ...] | None:
        return pair[1 - pair.index(part.names)] if part.names in pair else None

    change = _StretchChange(text)
    chunks = change.reassign(stretch, new_names)
    return change.edit(f"{speaker} and {other} are swapped in {chunks}")


@dataclass(frozen=True, slots=True)
class _Part:
    """The part of a line of the book that lies in a stretch: `span` of the paragraph at `place`."""

    place: Place
    span: tuple[int, int]
    line: Line
    names: tuple[str, ...]
    """Its present speakers."""

    @property
    def line_span(self) -> tuple[int, int]:
        begin = self.line.paragraph_offset
        return begin, begin + len(self.line.text)


class _StretchChange(SpeakerChange):
    """A chapter's text and its file of speakers while the speakers of a stretch are changed."""

    def __init__(self, text: ChapterText, *, only_quoted: bool = False) -> None:
        super().__init__(text, (), None)
        self.only_quoted = only_quoted
        self._quotations_in_marks: set[int] = set()

    def reassign(
        self, stretch: Stretch, new_names: Callable[[_Part], tuple[str, ...] | None]
    ) -> str:
        """Give each part of a stretch its new speakers; None leaves them.

        Returns the number of parts in words. Raises UsageError if there are none.
        """
        before, rows = self.text, self._read_rows()
        parts = _join_parts(self.text, stretch)
        changes = [(part, names) for part in parts if (names := new_names(part)) is not None]
        changed_count = 0
        for part, names in changes:
            self.names = names
            selected = [other for other, _ in changes if other.place == part.place]
            changed_count += self._change_part(part, rows, selected)
        if not changed_count:
            raise UsageError("nothing in these lines is said by those that you chose")
        self.rows = rows
        if rows is not None and self._quotations_in_marks:
            present_rows = rows if self.file is None else replace(rows, file=self.file)
            self.file = present_rows.without_rows(self._quotations_in_marks)
        self._keep_other_speakers(before, {part.place for part, _ in changes})
        words = shorten(stretch.steps[0].chunk.text[stretch.start :])
        return f"{pluralize(changed_count, 'part')}, from “{words}”"

    def edit(self, summary: str) -> Edit:
        """The edit, checked. Raises ScriptError, ManifestError."""
        title = f"chapter {self.text.number + 1}: {summary}"
        return require_readable(self.text.project, Edit(title, tuple(self.changes())))

    def _read_rows(self) -> Rows | None:
        if not self.text.is_file:
            return None
        quotations = line_splitting.find_quotes(
            self.text.chapter, with_nested=self.text.project.has_nested_voices
        )
        return rows_of(self.text.project, self.text.number, quotations)

    def _change_part(self, part: _Part, rows: Rows | None, selected: Sequence[_Part]) -> bool:
        """Give one part to the speakers. Returns False if nothing of it is theirs to get."""
        paragraph = self.text.line(part.place)
        quotations = rows.quotations if rows else ()
        indices = overlapping_quotations(quotations, part.place.scene, part.place.line, part.span)
        whole_quotations = {
            index: span
            for index in indices
            if not _letters_outside(
                paragraph.text, span := (quotations[index].start, quotations[index].stop), part.span
            )
        }
        has_narration = bool(
            _letters_outside(paragraph.text, part.span, *whole_quotations.values())
        )
        takes_quoted = self.only_quoted and part.line.is_narration
        if rows is not None and whole_quotations and (takes_quoted or not has_narration):
            is_narrator = self.names == (self.text.project.narrator,)
            column = speaker_files.NOBODY if is_narrator else speaker_files.format_names(self.names)
            for group in rows.quotation_groups(whole_quotations):
                present_rows = rows if self.file is None else replace(rows, file=self.file)
                self.file = present_rows.with_answer(group, column)
            return True
        if takes_quoted:
            return False
        is_whole = self._is_whole(part, selected)
        is_inherited = is_whole and not paragraph.attributed_spans
        if part.names != self.names and not (is_inherited and (paragraph.speaker,) == self.names):
            self._quotations_in_marks.update(indices)
            if rows is not None:
                self._keep_rest_of_quotations(part, rows, set(indices) - whole_quotations.keys())
            self.change_marks(part.place, part.span, part.line, in_new_braces=not is_whole)
        return True

    def _keep_rest_of_quotations(self, part: _Part, rows: Rows, indices: set[int]) -> None:
        """Put the rest of quotations into braces with their speakers, since rows hold only whole
        ones."""
        paragraph = self.text.line(part.place)
        for quotation in (rows.quotations[index] for index in sorted(indices)):
            ends = (quotation.start, part.span[0]), (part.span[1], quotation.stop)
            for rest in ends if part.line.is_narration is False else ():
                if _letters_outside(paragraph.text, rest):
                    attribution = (part.names, part.line.style)
                    self.text = marking.put_in_braces(self.text, part.place, rest, attribution)

    def _is_whole(self, part: _Part, selected: Sequence[_Part]) -> bool:
        """True if a label or braces can be changed for a part, since they hold nothing else."""
        paragraph = self.text.line(part.place)
        whole = (0, len(paragraph.text))
        if _letters_outside(paragraph.text, part.line_span, part.span):
            return False
        inner_spans = [
            span
            for attributed in paragraph.attributed_spans
            if (span := (attributed.start, attributed.stop)) != whole
        ]
        enclosing_spans = [
            span for span in inner_spans if not _letters_outside(paragraph.text, part.span, span)
        ]
        if enclosing_spans:
            innermost = max(enclosing_spans, key=lambda span: (span[0], -span[1]))
            return not _letters_outside(paragraph.text, innermost, part.span)
        selected_spans = [other.span for other in selected if other.names == part.names]
        return not _letters_outside(paragraph.text, whole, *selected_spans, *inner_spans)

    def _keep_other_speakers(self, before: ChapterText, places: set[Place]) -> None:
        """Put paragraphs into braces that would get another speaker from the label above them."""
        for scene_number, scene in enumerate(before.chapter.scenes):
            for line_number, line in enumerate(scene.lines):
                place = Place(scene_number, line_number)
                if place not in places and self.text.line(place).speaker != line.speaker:
                    attribution = ((line.speaker,), line.style)
                    self.text = marking.put_in_braces(
                        self.text, place, (0, len(line.text)), attribution
                    )


def _join_parts(text: ChapterText, stretch: Stretch) -> list[_Part]:
    """The parts of a stretch, one of each line of the book."""
    parts: list[_Part] = []
    for part in _find_parts(text, stretch):
        previous = parts[-1] if parts else part
        is_same_line = (previous.place, previous.line_span) == (part.place, part.line_span)
        if parts and is_same_line:
            parts[-1] = replace(parts[-1], span=(parts[-1].span[0], part.span[1]))
        else:
            parts.append(part)
    return parts


def _find_parts(text: ChapterText, stretch: Stretch) -> Iterator[_Part]:
    """Yields the pieces of the chunks of a stretch that have letters or figures in it."""
    last = len(stretch.steps) - 1
    for number, step in enumerate(stretch.steps):
        chunk = step.chunk
        if chunk.with_before:
            continue
        begin = stretch.start if number == 0 else 0
        end = stretch.stop if number == last and stretch.stop is not None else len(chunk.text)
        offset = 0
        for piece in chunk.pieces:
            start = piece.start + max(0, begin - offset)
            stop = min(piece.stop, piece.start + end - offset)
            if start < stop and any(map(str.isalnum, piece.line.text[start:stop])):
                shift = piece.line.paragraph_offset
                names = chunk.unison_speakers or (chunk.speaker,)
                span = (shift + start, shift + stop)
                yield _Part(text.find(piece.line), span, piece.line, names)
            offset += len(piece.text) + 1


def _letters_outside(text: str, span: tuple[int, int], *spans: tuple[int, int]) -> list[int]:
    """The offsets of the letters and figures of a span that lie in none of others."""
    return [
        offset
        for offset in range(*span)
        if text[offset].isalnum() and not any(start <= offset < stop for start, stop in spans)
    ]
