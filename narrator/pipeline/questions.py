"""Questions about quotations that a person should check, and answers as edits of the files of
speakers.

Knows neither keyboards nor pages: the caller shows the questions, and may hold the answers back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from narrator import keys
from narrator.errors import StorageError, UsageError
from narrator.pipeline.attribution import Proposal, Quote, apply_answer, group_pieces
from narrator.pipeline.edits.edit import Edit, FileChange, encode_exact, read_exact, shorten
from narrator.pipeline.manuscript import roles_of
from narrator.text import speaker_files
from narrator.text.markup import squeeze
from narrator.text.speaker_files import NOBODY, UNKNOWN
from textbase.characters import excerpt

MAX_CHOICES = 9
_CONTEXT_LENGTH = 300
"""Number of characters shown of the paragraphs before and after."""


@dataclass(frozen=True, slots=True)
class Question:
    """A quotation with all of its pieces."""

    id: str
    """Made from its place and words, so it becomes invalid when the text is edited."""
    group: tuple[Quote, ...]
    choices: tuple[tuple[str, float | None], ...]
    """Possible speakers, the likeliest first, with their certainty if known."""
    before: str = field(repr=False)
    """The end of the paragraph before, preceded by its speakers in parentheses."""
    after: str = field(repr=False)
    """The beginning of the paragraph after, likewise."""

    @property
    def chapter(self) -> int:
        """Index in the project's chapters."""
        return self.group[0].chapter

    @property
    def words(self) -> str:
        return " … ".join(quote.quoted.text for quote in self.group)

    @property
    def paragraph(self) -> str:
        """The text of the paragraph in which the quotation begins."""
        return self.group[0].quoted.line.text

    @property
    def spans(self) -> tuple[tuple[int, int], ...]:
        """The start and stop of each piece within that paragraph."""
        line = self.group[0].quoted.line
        pieces = (piece.quoted for piece in self.group if piece.quoted.line == line)
        return tuple((piece.start, piece.stop) for piece in pieces)


def questions(proposal: Proposal, *, in_order: bool = False) -> list[Question]:
    """The doubtful quotations of a book, the least certain first, or in the order of the book."""
    groups = proposal.doubtful
    if in_order:
        groups.sort(key=lambda group: (group[0].chapter, group[0].number))
    background = _Background(proposal)
    return [background.question(group) for group in groups]


def refresh_questions(proposal: Proposal, old: Sequence[Question]) -> list[Question]:
    """The questions after answers to some of them. Raises UsageError."""
    background = _Background(proposal)
    return [background.question(background.group(question.id)) for question in old]


def answer_question(proposal: Proposal, question: str, speaker: str) -> tuple[Proposal, Edit]:
    """Answer a question; returns the new proposal and the edit of its chapter's file.

    The edit writes all pieces into the file as it is now. `question` is the id of any quotation,
    doubtful or not; `speaker` is a name in the cast, or NOBODY or UNKNOWN. Raises UsageError,
    StorageError if the file cannot be read.
    """
    group = _Background(proposal).group(question)
    names = roles_of(proposal.project).find_speakers(speaker)
    is_in_manifest = bool(names) and not set(names) & set(proposal.new_names)
    if speaker not in (NOBODY, UNKNOWN) and not is_in_manifest:
        raise UsageError(
            f"“{excerpt(speaker)}” is not in {proposal.project.path.name}: `narrator cast --write` "
            "puts those there that were found"
        )
    number = group[0].chapter
    path = proposal.files[number].path
    old_text = read_exact(path)
    proposal = apply_answer(proposal, group, speaker)
    if proposal.files[number].is_unreadable:
        raise StorageError(f"{path}: cannot be read, and is not replaced; mend or remove it")
    new_text = speaker_files.format_file(proposal.files[number], proposal.text_of(number)).decode()
    phrases = {NOBODY: "the narrator says", UNKNOWN: "nobody knows who says"}
    phrase = phrases.get(speaker, f"{speaker} says")
    summary = f"chapter {number + 1}: {phrase} “{shorten(group[0].quoted.text)}”"
    return proposal, Edit(summary, (FileChange(path, old_text, new_text),))


class _Background:
    """Facts about the book that all of its questions share."""

    def __init__(self, proposal: Proposal) -> None:
        self.proposal = proposal
        self.indices = {id(quote): index for index, quote in enumerate(proposal.quotes)}
        lines = proposal.lines
        ranked_characters = sorted(
            proposal.characters, key=lambda character: -lines[character.name]
        )
        self.names_by_lines = [character.name for character in ranked_characters]
        self.speakers_by_paragraph: dict[tuple[int, int, int], dict[str, None]] = {}
        """Chapter, scene, paragraph -> names of its speakers, in order."""
        for quote in proposal.quotes:
            paragraph = (quote.chapter, quote.quoted.scene, quote.quoted.place)
            names = self.speakers_by_paragraph.setdefault(paragraph, {})
            names.update({quote.speaker: None} if quote.speaker else {})

    def question(self, group: Sequence[Quote]) -> Question:
        before, after = self._surroundings(group[0])
        choices = tuple(self._choices(group[0]))
        return Question(self._question_id(group), tuple(group), choices, before, after)

    def group(self, question_id: str) -> tuple[Quote, ...]:
        """The pieces of the quotation with this id. Raises UsageError."""
        index = question_id.partition("-")[0]
        if index.isdecimal() and len(index) < 10:
            group = next(group_pieces(self.proposal.quotes[int(index) :]), ())
            if group and self._question_id(group) == question_id:
                return group
        raise UsageError("this quotation is not in the book any more as it was: look again")

    def _question_id(self, group: Sequence[Quote]) -> str:
        text_hash = keys.content_of(encode_exact(group[0].quoted.text))
        return f"{self.indices[id(group[0])]}-{text_hash[:16]}"

    def _choices(self, quote: Quote) -> Iterator[tuple[str, float | None]]:
        """Yields the proposed speaker, then those likely by this place, then those who speak
        most."""
        certainty = quote.row.sure if quote.row.by != "you" else None
        certainties: dict[str, float | None] = {quote.speaker: certainty} if quote.speaker else {}
        for name in (*(name for name, _ in quote.others), *self.names_by_lines):
            certainties.setdefault(name, None)
        yield from list(certainties.items())[:MAX_CHOICES]

    def _surroundings(self, quote: Quote) -> tuple[str, str]:
        """The paragraphs before and after, each with its speakers."""
        lines = self.proposal.chapters[quote.chapter].scenes[quote.quoted.scene].lines
        index_before, index_after = quote.quoted.place - 1, quote.quoted.place + 1

        def with_speakers(place: int, text: str) -> str:
            names = " & ".join(
                self.speakers_by_paragraph.get((quote.chapter, quote.quoted.scene, place), ())
            )
            return f"({names}) {text}" if names else text

        paragraph_before = lines[index_before].text if index_before >= 0 else ""
        end_before = paragraph_before[-_CONTEXT_LENGTH:]
        if end_before != paragraph_before:
            end_before = f"… {end_before}"
        paragraph_after = squeeze(lines[index_after].text) if index_after < len(lines) else ""
        start_after = paragraph_after[:_CONTEXT_LENGTH]
        if start_after != paragraph_after:
            start_after = f"{start_after}…"
        return with_speakers(index_before, end_before), with_speakers(index_after, start_after)
