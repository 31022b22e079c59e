"""Gives the reason why each step of a plan will, or will not, be rendered.

Compares the plan with the takes that there are, and with the ledger of the last render.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from narrator.speech.plan import Step, fits, is_doubtful
from narrator.speech.store import Record
from narrator.speech.takes import TakeResolver
from narrator.text.alignment import match_texts


class Reason(StrEnum):
    """The reason why a step will, or will not, be rendered."""

    CACHED = "cached"
    NEW = "new"
    PENDING = "pending"
    CHANGED = "changed"
    RESPOKEN = "respoken"
    CASCADE = "cascade"
    DAMAGED = "damaged"
    RETRY = "retry"
    FORCED = "forced"
    PINNED = "pinned"
    DOUBTFUL = "doubtful"


REASON_TEXTS = {
    Reason.CACHED: "its take is in the store",
    Reason.NEW: "never planned before",
    Reason.PENDING: "planned before, not rendered yet",
    Reason.CHANGED: "words, voice or settings changed",
    Reason.RESPOKEN: "written as before, spoken in other words (lexicon, or a newer narrator)",
    Reason.CASCADE: "the take it continues, or its voice, changed",
    Reason.DAMAGED: "its take was torn or altered on disk",
    Reason.RETRY: "given up in an earlier run",
    Reason.FORCED: "asked for",
    Reason.PINNED: "its take was chosen by hand",
    Reason.DOUBTFUL: "no try of it is free of faults; the least bad is used",
}

_SETTLED_REASONS = frozenset((Reason.CACHED, Reason.PINNED, Reason.DOUBTFUL))


@dataclass(frozen=True, slots=True)
class RenderReason:
    """A reason, with the exact changes where they are known."""

    reason: Reason
    changes: tuple[str, ...] = ()

    @property
    def render(self) -> bool:
        return self.reason not in _SETTLED_REASONS

    def __str__(self) -> str:
        detail = "; ".join(self.changes)
        return f"{self.reason}: {REASON_TEXTS[self.reason]}" + (f" ({detail})" if detail else "")


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """A step of the last render."""

    id: str
    speaker: str
    text: str
    key: str
    recipe: Mapping[str, Any]


Ledger = Sequence[LedgerEntry]
"""The steps of the last render, in their order."""


def explain_steps(
    steps: Iterable[Step],
    takes: TakeResolver,
    ledger: Ledger,
    is_forced: Callable[[Step], bool],
    known: Mapping[str, RenderReason] = MappingProxyType({}),
) -> dict[str, RenderReason]:
    """Returns the reason of every step, by key. Two steps with the same key share a take.

    `is_forced`: True for a step that is rendered though it has a fitting take. `known` holds
    reasons, by key, that are still true.
    """
    steps = list(steps)
    last_render = _LastRender([step for step in steps if step.key not in known], ledger)
    reasons: dict[str, RenderReason] = {}
    for step in steps:
        if step.key in known:
            reasons[step.key] = known[step.key]
        elif step.key not in reasons or is_forced(step):
            reasons[step.key] = _reason_for(step, takes, reasons, last_render, is_forced)
    return reasons


def _reason_for(
    step: Step,
    takes: TakeResolver,
    reasons: Mapping[str, RenderReason],
    last_render: _LastRender,
    is_forced: Callable[[Step], bool],
) -> RenderReason:
    """Returns the reason of one step; `reasons` holds those of the steps before it."""
    take = takes.take(step.key)
    if step.pinned and take:
        return RenderReason(Reason.PINNED)
    if is_forced(step):
        return RenderReason(Reason.FORCED)
    if take:
        return _reason_with_take(take, step, takes, reasons)
    if takes.is_damaged(step.key):
        return RenderReason(Reason.DAMAGED)
    if (faults := takes.faults(step.key)) is not None:
        return RenderReason(Reason.RETRY, faults)
    return (
        RenderReason(Reason.PENDING)
        if step.key in last_render.keys
        else _explain_change(step, last_render.counterpart(step), takes)
    )


def _reason_with_take(
    take: Record, step: Step, takes: TakeResolver, reasons: Mapping[str, RenderReason]
) -> RenderReason:
    """Returns the reason of a step that has a take, whether or not it fits."""
    reference_content = takes.voice(step.chunk.speaker)
    if not fits(step, takes.take, reference_content):
        is_recast = reference_content not in (None, take.voiced_by)
        return RenderReason(Reason.CASCADE, ("its voice was cast anew",) if is_recast else ())
    if step.parent and reasons[step.parent].render and takes.take(step.parent):
        return RenderReason(Reason.CASCADE)
    return (
        RenderReason(Reason.DOUBTFUL, take.faults)
        if is_doubtful(take, step)
        else RenderReason(Reason.CACHED)
    )


class _LastRender:
    """The ledger of the last render, matched with the present steps on demand."""

    def __init__(self, steps: Sequence[Step], ledger: Ledger) -> None:
        self._steps, self._ledger = steps, ledger
        self._matches: Mapping[str, LedgerEntry] | None = None
        self.keys = frozenset(entry.key for entry in ledger)

    def counterpart(self, step: Step) -> LedgerEntry | None:
        """Returns the ledger's entry at the place of a step, if any."""
        if self._matches is None:
            self._matches = _match_entries(self._steps, self._ledger)
        return self._matches.get(step.id)


def _match_entries(steps: Sequence[Step], ledger: Ledger) -> dict[str, LedgerEntry]:
    """Matches the entries of the last render with the present steps, by step id."""
    entry_indices = match_texts(
        [f"{entry.speaker}: {entry.text}" for entry in ledger],
        [f"{step.chunk.speaker}: {step.chunk.text}" for step in steps],
    )
    return {
        step.id: ledger[index]
        for step, index in zip(steps, entry_indices, strict=True)
        if index is not None
    }


def _explain_change(step: Step, entry: LedgerEntry | None, takes: TakeResolver) -> RenderReason:
    """Returns the reason of a step without a take, by its entry in the last render's ledger."""
    if entry is None:
        return RenderReason(Reason.NEW)
    old, new = entry.recipe, step.recipe
    if "pinned" in old:
        take = takes.take(old["pinned"])
        if take is None or take.text == step.text:
            return RenderReason(Reason.CHANGED, ("it was pinned",))
        reason = Reason.RESPOKEN if entry.text == step.chunk.text else Reason.CHANGED
        text_change = _describe_differences("text", take.text, step.text)
        return RenderReason(reason, ("it was pinned", *text_change))
    changed_fields = [
        field_name
        for field_name in new
        if field_name not in ("format", "parent", "occurrence")
        and old.get(field_name) != new[field_name]
    ]
    if not changed_fields:
        return RenderReason(Reason.CASCADE)
    is_respoken = changed_fields == ["text"] and entry.text == step.chunk.text
    changes = [
        change
        for field_name in changed_fields
        for change in _describe_differences(field_name, old.get(field_name), new[field_name])
    ]
    return RenderReason(Reason.RESPOKEN if is_respoken else Reason.CHANGED, tuple(changes))


def _describe_differences(field_name: str, old: Any, new: Any) -> list[str]:
    """Describes how a field of a recipe changed: "parameters steps: 10 -> 20"."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return [
            f"{field_name} {name}: {old.get(name)!r} -> {new.get(name)!r}"
            for name in sorted({*old, *new})
            if old.get(name) != new.get(name)
        ]
    return [f"{field_name}: {old!r} -> {new!r}"]


def make_ledger(steps: Iterable[Step]) -> list[LedgerEntry]:
    """Returns the entries from which the next `explain_steps` can tell what has changed."""
    return [
        LedgerEntry(step.id, step.chunk.speaker, step.chunk.text, step.key, dict(step.recipe))
        for step in steps
    ]
