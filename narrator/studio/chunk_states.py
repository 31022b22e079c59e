"""Looks up the takes of a chapter, and the state of each chunk.

Each take costs an access to the disk, and a page asks for thousands, so callers cache the answers
until something is rendered. Knows no requests.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from narrator.pipeline.book_plan import BookPlan
from narrator.speech.plan import Step, fits, is_doubtful
from narrator.speech.store import Record

RENDERED = ("good", "doubtful")
"""States in which a render leaves a chunk as it is."""
STATE_ORDER = ("missing", "given up", "stale", "doubtful", "good")
"""All states: of chunks in unison, the first one counts."""


@dataclass(frozen=True, slots=True)
class ChunkState:
    """The take and the state of a chunk."""

    take: Record | None
    state: str
    """good, doubtful, stale (its take was made with something that has changed), given up,
    missing."""
    faults: tuple[str, ...]
    """Faults of the take, or of the tries of a step that was given up."""


def chunk_states(book: BookPlan, steps: Sequence[Step]) -> Mapping[str, ChunkState]:
    """Returns the states of the steps of a chapter, by id. Raises StorageError."""
    step_keys = {step.key for step in steps} | {step.parent for step in steps if step.parent}
    takes = {key: take for key in step_keys if (take := book.store.find(key))}
    return {step.id: _chunk_state(book, step, takes) for step in steps}


def _chunk_state(book: BookPlan, step: Step, takes: Mapping[str, Record]) -> ChunkState:
    take = takes.get(step.key)
    if take is None:
        flag = book.store.flag(step.key)
        return ChunkState(None, "given up" if flag else "missing", flag.faults if flag else ())
    if not fits(step, takes.get, book.takes.voice(step.chunk.speaker)):
        return ChunkState(take, "stale", take.faults)
    return ChunkState(take, "doubtful" if is_doubtful(take, step) else "good", take.faults)
