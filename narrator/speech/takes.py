"""Finds the takes in the store that fit a book's steps now, and may be delivered.

Knows the store and what a plan says of its steps; nothing of engines and files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from narrator.speech.plan import Step, fits, is_doubtful
from narrator.speech.store import Record, Store


@dataclass(frozen=True, slots=True)
class TakeResolver:
    """A book's takes; every query reads the current state of the store."""

    store: Store
    voices: Mapping[str, str | None]
    """Content of the reference of each speaker who needs one; None where it is not cast yet."""
    strict: bool
    """True if a take that failed its checks is held back."""

    def current(self, step: Step) -> Record | None:
        """Returns the fitting take of a step, good or doubtful, or None."""
        voice = self.voice(step.chunk.speaker)
        return self.take(step.key) if fits(step, self.take, voice) else None

    def deliverable(self, step: Step) -> Record | None:
        """Returns the fitting take of a step if it may be delivered."""
        take = self.current(step)
        return None if take is None or (self.strict and is_doubtful(take, step)) else take

    def is_doubtful(self, step: Step) -> bool:
        """Returns whether the current take failed its checks, being the least bad of all tries."""
        take = self.current(step)
        return take is not None and is_doubtful(take, step)

    def is_given_up(self, step: Step) -> bool:
        """Returns whether a step with nothing to deliver was given up, or its take is withheld."""
        return self.store.flag(step.key) is not None or self.current(step) is not None

    def at_one_moment(self) -> TakeResolver:
        """Returns a resolver that looks each take up once, for a plan of a whole book."""
        return _RememberedTakes(self.store, self.voices, self.strict)

    # -- queries of a plan ------------------------------------------------------------------------

    def take(self, key: str) -> Record | None:
        return self.store.find(key)

    def voice(self, speaker: str) -> str | None:
        return self.voices.get(speaker)

    def is_damaged(self, key: str) -> bool:
        return key in self.store.damaged

    def faults(self, key: str) -> tuple[str, ...] | None:
        flag = self.store.flag(key)
        return flag.faults if flag else None


@dataclass(frozen=True, slots=True)
class _RememberedTakes(TakeResolver):
    """Takes as they were when they were looked up first."""

    _records: dict[str, Record | None] = field(default_factory=dict)

    def take(self, key: str) -> Record | None:
        if key not in self._records:
            self._records[key] = self.store.find(key)
        return self._records[key]
