"""Edits: what a stage changes in a text, and how two stages become one.

Each stage of normalisation is a list of edits of the text that the stage before it left.
`compose` folds such lists into edits of the source text, so every change that a listener hears
can be shown where it was written. Knows nothing of language.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple


class Replacement(NamedTuple):
    """`text[start:stop]` becomes `new`; `start == stop` inserts. `rule` names the cause."""

    start: int
    stop: int
    new: str
    rule: str


def apply(text: str, edits: Sequence[Replacement]) -> str:
    """`text` with `edits`, which are in order and do not overlap."""
    if not edits:
        return text
    out = []
    at = 0
    for start, stop, new, _ in edits:
        out.append(text[at:start])
        out.append(new)
        at = stop
    out.append(text[at:])
    return "".join(out)


def forward(edits: Sequence[Replacement], first: int, last: int) -> tuple[int, int]:
    """Where `text[first:last]` lies once `edits` are made, with the whole of those that it cuts."""
    low = high = 0
    for start, stop, new, _ in edits:
        grown = len(new) - (stop - start)
        if stop <= first:
            low += grown
        elif start < first:
            low -= first - start
        if stop <= last:
            high += grown
        elif start < last:
            high += len(new) - (last - start)
    return first + low, last + high


def compose(
    first: Sequence[Replacement], middle: str, second: Sequence[Replacement], weight: dict[str, int]
) -> list[Replacement]:
    """One list that does what `first` and then `second` do.

    `middle` is the text between the two. Edits that share characters of it are joined, under the
    name of the one whose rule has the greatest `weight` (the earlier one where they are equal).
    """
    if not second:
        return list(first)
    if not first:
        return list(second)
    # shifts[n]: offset in `middle` - offset in the first text, once n edits of `first` are made
    shifts = [0, *accumulate(len(edit.new) - (edit.stop - edit.start) for edit in first)]
    earlier = deque(
        Replacement(edit.start + shift, edit.start + shift + len(edit.new), edit.new, edit.rule)
        for edit, shift in zip(first, shifts, strict=False)
    )
    later = deque(second)
    out: list[Replacement] = []
    while earlier or later:
        shift = shifts[-1 - len(earlier)]
        low, high, joined, parts = _touching(earlier, later)
        inner = [edit._replace(start=edit.start - low, stop=edit.stop - low) for edit in parts]
        rule = max(joined, key=lambda edit: weight.get(edit.rule, 1)).rule
        new = apply(middle[low:high], inner)
        out.append(Replacement(low - shift, high - shifts[-1 - len(earlier)], new, rule))
    return out


def _touching(
    earlier: deque[Replacement], later: deque[Replacement]
) -> tuple[int, int, list[Replacement], list[Replacement]]:
    """Take the first edit of two lists in offsets of one text, and whatever shares characters
    with it: where the stretch begins and ends, all its edits, those of `later` alone."""
    if not later or (earlier and earlier[0].stop <= later[0].start):
        edit = earlier.popleft()
        return edit.start, edit.stop, [edit], []
    if not earlier or later[0].stop <= earlier[0].start:
        edit = later.popleft()
        return edit.start, edit.stop, [edit], [edit]
    low, high = min(earlier[0].start, later[0].start), max(earlier[0].stop, later[0].stop)
    joined: list[Replacement] = []
    parts: list[Replacement] = []
    while True:
        count = len(joined)
        while earlier and earlier[0].start < high:
            joined.append(earlier.popleft())
            high = max(high, joined[-1].stop)
        while later and later[0].start < high:
            parts.append(later.popleft())
            joined.append(parts[-1])
            high = max(high, joined[-1].stop)
        if len(joined) == count:
            return low, high, joined, parts
