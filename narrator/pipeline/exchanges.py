"""Exchanges: runs of quotations that a person checks together, and decisions on them as edits.

The terminal and the studio both use this module: it says which exchanges to ask about, in which
order, what each decision does, and which rows of the speaker files it writes. Knows neither
keyboards nor pages.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from narrator import keys
from narrator.errors import UsageError
from narrator.pipeline.attribution import (
    Proposal,
    Quote,
    Turn,
    apply_answers,
    characters,
    group_turns,
    with_narrator,
)
from narrator.pipeline.edits.edit import Edit, FileChange, encode_exact, read_exact, shorten
from narrator.pipeline.edits.people import add_edit
from narrator.pipeline.manuscript import roles_of
from narrator.project import load
from narrator.quantities import pluralize
from narrator.text import speaker_files
from narrator.text.markup import squeeze
from narrator.text.speaker_files import NOBODY, UNKNOWN
from textbase.characters import excerpt

MAX_NAMES = 9
"""Speakers of an exchange that can be chosen by a number."""
MAX_TURNS = 16
"""Longest exchange; longer runs are cut, so that one can be read at a glance."""
_MAX_NARRATION_PARAGRAPHS = 1
"""Paragraphs without a quotation that may stand within an exchange."""
_NARRATION_CHARS = 200
"""Characters shown of each paragraph without a quotation."""


class Decision(StrEnum):
    """A decision on a turn of an exchange, or on it and those after it."""

    THIS_TURN = "one"
    """A named person says this turn."""
    NEXT_CANDIDATE = "other"
    """The next likely person says this turn."""
    REMAINING_TURNS = "rest"
    """A named person says this turn and those after it."""
    SWAP = "swap"
    """From this turn on, its speaker and the nearest other one are exchanged for each other, except
    where a tag names the speaker."""
    ALTERNATE = "alternate"
    """From this turn on, its speaker and the nearest other one take turns, up to a turn whose tag
    names somebody else than the one whose turn it is."""
    AS_SHOWN = "as shown"
    """All turns of the exchange, also those before this one, are right."""


_SINGLE_TURN = (Decision.THIS_TURN, Decision.NEXT_CANDIDATE)
_RULE_OF_NAMES = "tag"
"""The rule for quotations whose tag names the speaker."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """Turns that follow each other in a scene, with little narration between them."""

    id: str
    """Made from its place and words, so it becomes invalid when the text is edited."""
    turns: tuple[Turn, ...]
    names: tuple[str, ...] = field(repr=False)
    """Those who may speak in it, the likeliest first."""
    candidates: tuple[str, ...] = field(repr=False)
    """All of the cast, the likeliest here first, whatever was decided."""

    @property
    def chapter(self) -> int:
        """Index in the project's chapters."""
        return self.turns[0][0].chapter

    @property
    def speakers(self) -> tuple[str, ...]:
        """The speaker of each turn: a name, NOBODY or UNKNOWN."""
        return tuple(_speaker_of(turn) for turn in self.turns)

    @property
    def doubtful_turns(self) -> list[int]:
        """Indices of the turns that a person should check."""
        return [index for index, turn in enumerate(self.turns) if turn[0].is_doubtful]

    @property
    def named_turns(self) -> list[int]:
        """Indices of the turns whose speaker is named in a tag, which no person has decided."""
        return [
            index
            for index, (quote, *_) in enumerate(self.turns)
            if (quote.row.by, quote.row.name) == ("rule", _RULE_OF_NAMES) and not quote.is_doubtful
        ]

    @property
    def expected_errors(self) -> float:
        """The number of turns that are expected to be in a wrong voice."""
        return sum(1 - turn[0].certainty for turn in self.turns if turn[0].is_doubtful)


@dataclass(frozen=True, slots=True)
class Passage:
    """A paragraph of an exchange, or the part of one that belongs to a turn."""

    text: str
    turn: int | None = None
    """Index of its turn; None for narration between turns."""
    spans: tuple[tuple[int, int], ...] = ()
    """The start and stop of each piece of the turn."""


def _speaker_of(turn: Turn) -> str:
    """The speaker of a turn: a name, NOBODY or UNKNOWN."""
    quote = turn[0]
    is_special = quote.row.speaker in (NOBODY, UNKNOWN)
    return quote.speaker or (
        quote.row.speaker if is_special else speaker_files.unescape_names(quote.row.speaker)
    )


# -- finding exchanges


def doubtful_exchanges(proposal: Proposal, *, in_order: bool = False) -> list[Exchange]:
    """The exchanges that a person should check: first those with most turns in a wrong voice, as
    far as the certainties tell, or in the order of the book."""
    exchanges = [each for each in all_exchanges(proposal) if each.doubtful_turns]
    if not in_order:
        exchanges.sort(key=lambda exchange: -exchange.expected_errors)
    return exchanges


def all_exchanges(proposal: Proposal) -> list[Exchange]:
    """The exchanges of a book, in its order."""
    indices = {id(quote): index for index, quote in enumerate(proposal.quotes)}
    names_by_lines = [character.name for character in proposal.characters_by_lines]
    cast_names = [character.name for character in proposal.characters]
    exchanges: list[Exchange] = []
    for turns in _runs(proposal):
        words = "\n".join(quote.quotation.text for turn in turns for quote in turn)
        exchange_id = f"{indices[id(turns[0][0])]}-{keys.content_of(encode_exact(words))[:16]}"
        scores: defaultdict[str, float] = defaultdict(float)
        for quote, *_ in turns:
            for name, probability in quote.alternatives:
                scores[name] += probability
        candidates = dict.fromkeys((*_ranked(scores), *cast_names))
        for quote, *_ in turns:
            if quote.speaker:
                scores[quote.speaker] += quote.row.certainty
        names = list(dict.fromkeys((*_ranked(scores), *names_by_lines)))[:MAX_NAMES]
        exchanges.append(
            Exchange(exchange_id, turns, names=tuple(names), candidates=tuple(candidates))
        )
    return exchanges


def find_exchange(proposal: Proposal, exchange_id: str) -> Exchange:
    """The exchange with this id. Raises UsageError."""
    for exchange in all_exchanges(proposal):
        if exchange.id == exchange_id:
            return exchange
    raise UsageError("this exchange is not in the book any more as it was: look again")


def _runs(proposal: Proposal) -> Iterator[tuple[Turn, ...]]:
    """Yields the turns of each exchange, without quotations that the rules hold for no speech."""
    turns: list[Turn] = []
    for turn in group_turns(proposal.quotes):
        if turn[0].row.speaker == NOBODY and not turn[0].row.is_manual:
            continue
        if turns and (len(turns) == MAX_TURNS or not _follows(turns[-1][-1], turn[0])):
            yield tuple(turns)
            turns = []
        turns.append(turn)
    if turns:
        yield tuple(turns)


def _follows(previous: Quote, quote: Quote) -> bool:
    """True if no scene and little narration ends between two quotations."""
    is_same_scene = (previous.chapter, previous.quotation.scene) == (
        quote.chapter,
        quote.quotation.scene,
    )
    distance = quote.quotation.place - previous.quotation.place
    return is_same_scene and distance <= _MAX_NARRATION_PARAGRAPHS + 1


def _ranked(scores: Mapping[str, float]) -> list[str]:
    """The names, those with the highest scores first."""
    return sorted(scores, key=lambda name: -scores[name])


def passages(proposal: Proposal, exchange: Exchange) -> list[Passage]:
    """The text of an exchange, from the paragraph before it to the one after it."""
    first, last = exchange.turns[0][0], exchange.turns[-1][-1]
    lines = proposal.chapters[exchange.chapter].scenes[first.quotation.scene].lines
    pieces_by_place: dict[int, list[tuple[int, Quote]]] = {}
    for index, turn in enumerate(exchange.turns):
        for quote in turn:
            pieces_by_place.setdefault(quote.quotation.place, []).append((index, quote))
    shown: list[Passage] = []
    for place in range(
        max(0, first.quotation.place - 1), min(len(lines), last.quotation.place + 2)
    ):
        text = lines[place].text
        pieces = pieces_by_place.get(place)
        if not pieces:
            narration = squeeze(text)
            if len(narration) > _NARRATION_CHARS:
                is_before = place < first.quotation.place
                end, start_text = narration[-_NARRATION_CHARS:], narration[:_NARRATION_CHARS]
                narration = f"… {end}" if is_before else f"{start_text} …"
            shown.append(Passage(narration))
            continue
        start = 0
        for position, (turn_index, _) in enumerate(pieces):
            following = pieces[position + 1] if position + 1 < len(pieces) else None
            if following is not None and following[0] == turn_index:
                continue
            stop = following[1].quotation.start if following else len(text)
            spans = tuple(
                (piece.quotation.start - start, min(piece.quotation.stop, stop) - start)
                for index, piece in pieces
                if index == turn_index and start <= piece.quotation.start < stop
            )
            shown.append(Passage(text[start:stop], turn_index, spans))
            start = stop
    return shown


# -- deciding


def speakers_to_swap(speakers: Sequence[str], turn: int) -> tuple[str, str] | None:
    """The speaker of a turn and the nearest other one, before it if possible; None if there are no
    two."""
    nearest = (*reversed(speakers[:turn]), *speakers[turn + 1 :])
    excluded = (speakers[turn], NOBODY, UNKNOWN)
    other = next((name for name in nearest if name not in excluded), None)
    return None if other is None or speakers[turn] in (NOBODY, UNKNOWN) else (speakers[turn], other)


def decided_speakers(
    exchange: Exchange,
    speakers: Sequence[str],
    turn: int,
    decision: Decision,
    speaker: str = "",
) -> list[str]:
    """The speakers of all turns after a decision; `speaker` is for THIS_TURN and REMAINING_TURNS.

    Raises UsageError if there is nobody else, or there are no two speakers to swap.
    """
    decided = _decided_turns(exchange, speakers, turn, decision, speaker)
    return [decided.get(index, name) for index, name in enumerate(speakers)]


def _decided_turns(
    exchange: Exchange, speakers: Sequence[str], turn: int, decision: Decision, speaker: str
) -> dict[int, str]:
    """The speaker of each turn that a decision is about, by index. Raises UsageError."""
    remaining_turns = range(turn, len(speakers))
    if decision is Decision.NEXT_CANDIDATE:
        return {turn: _next_candidate(exchange, speakers[turn], turn)}
    if decision is Decision.THIS_TURN:
        return {turn: speaker}
    if decision is Decision.REMAINING_TURNS:
        return dict.fromkeys(remaining_turns, speaker)
    if decision is Decision.AS_SHOWN:
        return dict(enumerate(speakers))
    pair = speakers_to_swap(speakers, turn)
    if pair is None:
        raise UsageError("there are no two speakers here: say who it is by a number or name")
    first, second = pair
    named_turns = set(exchange.named_turns) - {turn}
    if decision is Decision.SWAP:
        swapped = {first: second, second: first}
        return {
            index: swapped.get(speakers[index], speakers[index])
            for index in remaining_turns
            if index not in named_turns
        }
    alternating = {index: pair[(index - turn) % 2] for index in remaining_turns}
    stop = next(
        (i for i in sorted(named_turns) if alternating.get(i, speakers[i]) != speakers[i]),
        len(speakers),
    )
    return {
        index: name
        for index, name in alternating.items()
        if index < stop and index not in named_turns
    }


def _next_candidate(exchange: Exchange, speaker: str, turn: int) -> str:
    """The next likely speaker of a turn after the present one. Raises UsageError if there is nobody
    else."""
    quote = exchange.turns[turn][0]
    names = list(dict.fromkeys((*(name for name, _ in quote.alternatives), *exchange.candidates)))
    is_decided = quote.row.is_manual or speaker != _speaker_of(exchange.turns[turn])
    position = names.index(speaker) + 1 if is_decided and speaker in names else 0
    others = [name for name in names[position:] + names[:position] if name != speaker]
    if not others:
        raise UsageError("there is nobody else in the cast")
    return others[0]


def next_doubtful(exchange: Exchange, turn: int) -> int | None:
    """The first turn after this one that a person should check, else the first of all; None if
    there is none."""
    doubtful_turns = exchange.doubtful_turns
    return next(
        (index for index in doubtful_turns if index > turn), next(iter(doubtful_turns), None)
    )


def apply_decision(
    proposal: Proposal, exchange_id: str, turn: int, decision: Decision, speaker: str = ""
) -> tuple[Proposal, Edit]:
    """Returns the proposal after a decision, and the edit of its chapter's file.

    All decided turns become a person's. Turns that are decided in print change only by THIS_TURN
    and NEXT_CANDIDATE, those whose tag names somebody by neither SWAP nor ALTERNATE, unless they
    are the given turn. The edit writes into the file as it is now, and changes nothing if all was
    decided so already. `speaker` is a name in the cast, NOBODY or UNKNOWN. Raises UsageError,
    StorageError if the file cannot be read.
    """
    exchange = find_exchange(proposal, exchange_id)
    if not 0 <= turn < len(exchange.turns):
        raise UsageError(f"this exchange has {pluralize(len(exchange.turns), 'turn')}")
    decided = _decided_turns(exchange, exchange.speakers, turn, decision, speaker)
    answers = [
        (exchange.turns[index], name)
        for index, name in decided.items()
        if _is_changed(exchange.turns[index], name, decision)
    ]
    _require_in_cast(proposal, {name for _, name in answers} - {NOBODY, UNKNOWN})
    number = exchange.chapter
    path = proposal.files[number].path
    old_text = read_exact(path)
    proposal = apply_answers(proposal, number, answers)
    new_text = speaker_files.format_file(proposal.files[number], proposal.text_of(number)).decode()
    title = f"chapter {number + 1}: {_summarize(answers)}"
    changes = (FileChange(path, old_text, new_text),) if answers else ()
    return proposal, Edit(title, changes)


def add_person(proposal: Proposal, name: str, pronoun: str) -> tuple[Proposal, Edit]:
    """Returns the proposal with somebody more in the cast, and the edit of book.yaml.

    Raises ManifestError, StorageError, UsageError.
    """
    edit = add_edit(load.load(proposal.project.path), name, pronoun)  # without those proposed
    new_text = edit.changes[0].new_text
    project = with_narrator(load.load(proposal.project.path, new_text))
    return replace(proposal, project=project, characters=characters(project)), edit


def _is_changed(turn: Turn, speaker: str, decision: Decision) -> bool:
    """True if a decision changes a turn's row, or makes it a person's."""
    row = turn[0].row
    if row.by == "print" and decision not in _SINGLE_TURN:
        return False
    return not row.is_manual or _speaker_of(turn) != speaker


def _require_in_cast(proposal: Proposal, names: set[str]) -> None:
    roles = roles_of(proposal.project)
    for name in names:
        speakers = roles.find_speakers(name)
        if not speakers or set(speakers) & set(proposal.new_names):
            raise UsageError(
                f"“{excerpt(name)}” is not in {proposal.project.path.name}: “Find who "
                "speaks” in the studio, or `narrator cast --write`, adds those that were found"
            )


def _summarize(answers: Sequence[tuple[Turn, str]]) -> str:
    if not answers:
        return "nothing changed"
    speakers = list(dict.fromkeys(speaker for _, speaker in answers))
    phrases = {NOBODY: "the narrator says", UNKNOWN: "nobody knows who says"}
    if len(answers) == 1:
        phrase = phrases.get(speakers[0], f"{speakers[0]} says")
        return f"{phrase} “{shorten(answers[0][0][0].quotation.text)}”"
    titles = {NOBODY: "the narrator", UNKNOWN: "unknown"}
    names = ", ".join(titles.get(speaker, speaker) for speaker in speakers)
    return f"{pluralize(len(answers), 'quotation')}: {shorten(names)}"
