"""Quotations that a person should look at, with who may say them; answers, as edits of the files of
speakers.

Knows neither keys nor pages: who asks shows them, and may hold the answers back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from narrator import keys
from narrator.characters import quoted
from narrator.errors import StorageError, UsageError
from narrator.pipeline.attribution import Proposal, Quote, answered, together
from narrator.pipeline.edits.edit import Edit, FileChange, encoded, exact, shown
from narrator.pipeline.manuscript import roles_of
from narrator.text import decided
from narrator.text.decided import NOBODY, UNKNOWN
from narrator.text.markup import squeeze

CHOICES = 9
_CONTEXT = 300
"""Characters of a paragraph before or after that are given."""


@dataclass(frozen=True, slots=True)
class Question:
    """A quotation with all of its pieces."""

    id: str
    """Names its place and words: an older one names nothing once the text was edited."""
    group: tuple[Quote, ...]
    choices: tuple[tuple[str, float | None], ...]
    """Who may say it, the likeliest first; how sure that is, where it is known."""
    before: str = field(repr=False)
    """The end of the paragraph before, after those who speak in it, in parentheses."""
    after: str = field(repr=False)
    """The beginning of the paragraph behind, likewise."""

    @property
    def chapter(self) -> int:
        """Counted from 0, as in the project's chapters."""
        return self.group[0].chapter

    @property
    def words(self) -> str:
        return " … ".join(one.quoted.text for one in self.group)

    @property
    def paragraph(self) -> str:
        """That in which it begins."""
        return self.group[0].quoted.line.text

    @property
    def spans(self) -> tuple[tuple[int, int], ...]:
        """Where its pieces stand in that."""
        line = self.group[0].quoted.line
        own = (one.quoted for one in self.group if one.quoted.line == line)
        return tuple((one.start, one.stop) for one in own)


def questions(proposal: Proposal, *, in_order: bool = False) -> list[Question]:
    """What is doubtful in a book, the weakest first, or in the order of the book."""
    groups = proposal.doubtful
    if in_order:
        groups.sort(key=lambda group: (group[0].chapter, group[0].number))
    asking = _Background(proposal)
    return [asking.question(group) for group in groups]


def refreshed(proposal: Proposal, old: Sequence[Question]) -> list[Question]:
    """Questions as they stand after answers to some of them. Raises UsageError."""
    asking = _Background(proposal)
    return [asking.question(asking.group(question.id)) for question in old]


def answer(proposal: Proposal, question: str, speaker: str) -> tuple[Proposal, Edit]:
    """The proposal after an answer, and the edit that writes it, all pieces, into the file of its
    chapter, with what that says by now.

    `question` is an id, also of one that is not doubtful; `speaker` names one of the cast, or is
    NOBODY or UNKNOWN. Raises UsageError, StorageError where the file cannot be read.
    """
    group = _Background(proposal).group(question)
    if speaker not in (NOBODY, UNKNOWN) and not roles_of(proposal.project).named(speaker):
        raise UsageError(
            f"“{quoted(speaker)}” is not in {proposal.project.path.name}: `narrator cast --write` "
            "puts those there that were found"
        )
    number = group[0].chapter
    path = proposal.files[number].path
    before = exact(path)
    proposal = answered(proposal, group, speaker)
    if proposal.files[number].broken:
        raise StorageError(f"{path}: cannot be read, and is not replaced; mend or remove it")
    after = decided.written(proposal.files[number], proposal.text_of(number)).decode()
    said = {NOBODY: "the narrator says", UNKNOWN: "nobody knows who says"}
    who = said.get(speaker, f"{speaker} says")
    what = f"chapter {number + 1}: {who} “{shown(group[0].quoted.text)}”"
    return proposal, Edit(what, (FileChange(path, before, after),))


class _Background:
    """What is known of a whole book while its questions are put."""

    def __init__(self, proposal: Proposal) -> None:
        self.proposal = proposal
        self.places = {id(one): place for place, one in enumerate(proposal.quotes)}
        lines = proposal.lines
        ranked = sorted(proposal.characters, key=lambda one: -lines[one.name])
        self.most_lines = [one.name for one in ranked]
        self.said: dict[tuple[int, int, int], dict[str, None]] = {}
        """Chapter, scene, paragraph -> who speaks in it."""
        for one in proposal.quotes:
            where = (one.chapter, one.quoted.scene, one.quoted.place)
            names = self.said.setdefault(where, {})
            names.update({one.speaker: None} if one.speaker else {})

    def question(self, group: Sequence[Quote]) -> Question:
        before, after = self._around(group[0])
        choices = tuple(self._choices(group[0]))
        return Question(self._id(group), tuple(group), choices, before, after)

    def group(self, name: str) -> tuple[Quote, ...]:
        """The quotation of an id. Raises UsageError."""
        place = name.partition("-")[0]
        if place.isdecimal() and len(place) < 10:
            group = next(together(self.proposal.quotes[int(place) :]), ())
            if group and self._id(group) == name:
                return group
        raise UsageError("this quotation is not in the book any more as it was: look again")

    def _id(self, group: Sequence[Quote]) -> str:
        words = keys.content_of(encoded(group[0].quoted.text))
        return f"{self.places[id(group[0])]}-{words[:16]}"

    def _choices(self, one: Quote) -> Iterator[tuple[str, float | None]]:
        """Who is proposed, then who is likely by this place alone, then whoever says most."""
        sure = one.row.sure if one.row.by != "you" else None
        likely: dict[str, float | None] = {one.speaker: sure} if one.speaker else {}
        for name in (*(name for name, _ in one.others), *self.most_lines):
            likely.setdefault(name, None)
        yield from list(likely.items())[:CHOICES]

    def _around(self, one: Quote) -> tuple[str, str]:
        """The paragraphs before and after, with those who speak in them."""
        lines = self.proposal.chapters[one.chapter].scenes[one.quoted.scene].lines
        before, after = one.quoted.place - 1, one.quoted.place + 1

        def named(place: int, text: str) -> str:
            names = " & ".join(self.said.get((one.chapter, one.quoted.scene, place), ()))
            return f"({names}) {text}" if names else text

        end = lines[before].text if before >= 0 else ""
        end = end if len(end) <= _CONTEXT else f"… {end[-_CONTEXT:]}"
        begin = squeeze(lines[after].text) if after < len(lines) else ""
        begin = begin if len(begin) <= _CONTEXT else f"{begin[: _CONTEXT - 1]}…"
        return named(before, end), named(after, begin)
