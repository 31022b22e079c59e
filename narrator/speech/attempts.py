"""The attempts at a chunk: ask, check, ask again with other noise, then in halves, then settle.

Where the best of several good answers is wanted, the whole text is asked for until there are so
many, and the caller chooses.

A state machine of plain Python. The caller asks an engine for `Attempts.part` with the noise of
`Attempts.number`, notes the answer, and gets the next action. Knows no engine, sound or store.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Generic, Protocol, TypeVar

from narrator.speech.checks import Fault, is_audible, severity
from narrator.text.chunks import split_in_half

DEFAULT_TRIES = 3
"""Tries of a whole chunk, and of each of its halves, unless a manifest says otherwise."""


def max_requests(tries: int, best_of: int) -> int:
    """Returns the number of requests for a whole chunk, at most: `tries` without a good answer, and
    one more for each further good answer that is wanted."""
    return tries + best_of - 1


class Answer(Protocol):
    """An engine's answer to a request, after the checks."""

    @property
    def faults(self) -> Sequence[Fault]: ...

    @property
    def prompted_by(self) -> str | None:
        """Content of the take that it continues."""
        ...


class Action(Enum):
    """The next thing to do, after an answer."""

    RETRY = "ask again: the same part with other noise, or the first half"
    COMPARE = "ask again for a good answer to the whole text, to choose among several"
    CHOOSE = "accept the best of the good answers to the whole text"
    CONTINUE = "ask for the second half"
    ACCEPT = "make the take of the accepted answers"
    SETTLE = "make the take of the least bad answer to the whole text, or give up without one"


_Answer = TypeVar("_Answer", bound=Answer)


@dataclass(slots=True)
class Attempts(Generic[_Answer]):
    """The attempts at one chunk."""

    text: str
    language: str
    tries: int = DEFAULT_TRIES
    best_of: int = 1
    """Good answers to the whole text to choose among, if the engine is random."""
    is_random: bool = True
    """True if the engine speaks the same text differently under another number."""
    can_halve: bool = True
    first_number: int = 0
    """The attempt number to begin with: a chunk that was given up before needs other noise."""
    number: int = -1
    """The attempt number of the next request, `first_number` unless given."""
    request_count: int = 0
    """Requests so far, counted by the caller."""
    prompted_by: str | None = None
    """Content of the take that is continued; only answers that continue it compete."""
    parts: tuple[str, ...] = ()
    """The whole text, or its two halves."""
    accepted: list[_Answer] = field(default_factory=list)
    """The accepted answer to each finished part; that to a half may have faults."""
    faults: list[str] = field(default_factory=list)
    """Faults of all answers."""
    good_answers: list[_Answer] = field(default_factory=list)
    """Answers to the whole text without faults, while several are wanted."""
    whole_answers: list[_Answer] = field(default_factory=list)
    """Audible, faulty answers to the whole text."""
    half_answers: list[_Answer] = field(default_factory=list)
    """Audible, faulty answers to the present half."""

    def __post_init__(self) -> None:
        self.parts = self.parts or (self.text,)
        self.number = max(self.number, self.first_number)

    @property
    def part(self) -> str:
        """The text to ask for."""
        return self.parts[len(self.accepted)]

    @property
    def doubts(self) -> tuple[str, ...]:
        """Faults of the accepted answers."""
        faults = (str(fault) for answer in self.accepted for fault in answer.faults)
        return tuple(dict.fromkeys(faults))

    def least_bad(self) -> _Answer | None:
        """Returns the least bad audible answer to the whole text, the first of equals."""
        return self._least_bad(self.whole_answers)

    @property
    def candidates(self) -> list[_Answer]:
        """Good answers to the whole text that continue the present prompt."""
        return [a for a in self.good_answers if a.prompted_by == self.prompted_by]

    def choose(self, answer: _Answer) -> Action:
        """Accepts one of the `candidates`."""
        return self._accept(answer)

    def note_answer(self, answer: _Answer) -> Action:
        """Notes an answer to `part`; returns the next action."""
        if not answer.faults:
            if self.best_of == 1 or not self.is_random or len(self.parts) > 1:
                return self._accept(answer)
            self.good_answers.append(answer)
            return self._next_comparison()
        if is_audible(answer.faults):
            (self.whole_answers if len(self.parts) == 1 else self.half_answers).append(answer)
        return self._next_action(map(str, answer.faults), may_differ=self.is_random)

    def note_failure(self, reason: str) -> Action:
        """Notes that the engine spoke nothing; returns the next action.

        Even an engine without randomness is asked again.
        """
        return self._next_action((reason,), may_differ=True)

    def _accept(self, answer: _Answer) -> Action:
        self.accepted.append(answer)
        self.half_answers.clear()
        self.number = self.first_number
        return Action.ACCEPT if len(self.accepted) == len(self.parts) else Action.CONTINUE

    def _next_comparison(self) -> Action:
        """Moves to the next request for a whole chunk that has a good answer, or to the choice."""
        self.number += 1
        is_last = self.number == self.first_number + max_requests(self.tries, self.best_of)
        has_enough = len(self.candidates) >= self.best_of
        return Action.CHOOSE if is_last or has_enough else Action.COMPARE

    def _next_action(self, faults: Iterable[str], *, may_differ: bool) -> Action:
        """Moves to the next try, the halves, or the end, after an attempt with these faults.

        `may_differ`: another attempt at the same part may end differently.
        """
        self.faults += faults
        if len(self.parts) == 1 and self.candidates:
            return self._next_comparison()
        self.number += 1
        if may_differ and self.number < self.first_number + self.tries:
            return Action.RETRY
        may_halve = len(self.parts) == 1 and self.can_halve
        if may_halve and (halves := split_in_half(self.text, self.language)):
            self.parts, self.number = (close_sentence(halves[0]), halves[1]), self.first_number
            return Action.RETRY
        half, whole = self._least_bad(self.half_answers), self.least_bad()
        if half is not None:
            joined_severity = sum(severity(answer.faults) for answer in (*self.accepted, half))
            if whole is None or joined_severity < severity(whole.faults):
                return self._accept(half)
        return Action.SETTLE

    def _least_bad(self, answers: Iterable[_Answer]) -> _Answer | None:
        candidates = (answer for answer in answers if answer.prompted_by == self.prompted_by)
        return min(candidates, key=lambda answer: severity(answer.faults), default=None)


def close_sentence(text: str) -> str:
    """Ends a first half with a full stop: engines clip other endings."""
    text = text.rstrip(",;:，；：、، ")
    return text if text.endswith((".", "!", "?", "。", "！", "？", "…")) else f"{text}."
