"""Edits of a text, and the composition of the edits of two stages.

Each stage of normalisation is a list of edits of the text that the previous stage returned.
`compose` folds such lists into edits of the source text, so every audible change can be shown where
it was written. Knows nothing of language.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple


class Replacement(NamedTuple):
    """Replaces `text[start:stop]` by `new`; inserts if `start == stop`. `rule` names the cause."""

    start: int
    stop: int
    new: str
    rule: str


def apply_edits(text: str, edits: Sequence[Replacement]) -> str:
    """Return `text` with `edits` applied, which are in order and do not overlap."""
    if not edits:
        return text
    pieces = []
    position = 0
    for start, stop, new, _ in edits:
        pieces.append(text[position:start])
        pieces.append(new)
        position = stop
    pieces.append(text[position:])
    return "".join(pieces)


def map_span(edits: Sequence[Replacement], first: int, last: int) -> tuple[int, int]:
    """Return the span of `text[first:last]` after `edits`, extended over those that it cuts."""
    start_shift = stop_shift = 0
    for start, stop, new, _ in edits:
        growth = len(new) - (stop - start)
        if stop <= first:
            start_shift += growth
        elif start < first:
            start_shift -= first - start
        if stop <= last:
            stop_shift += growth
        elif start < last:
            stop_shift += len(new) - (last - start)
    return first + start_shift, last + stop_shift


def compose(
    first: Sequence[Replacement], middle: str, second: Sequence[Replacement], weight: dict[str, int]
) -> list[Replacement]:
    """Return one list that does what `first` and then `second` do.

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
    composed: list[Replacement] = []
    while earlier or later:
        shift = shifts[-1 - len(earlier)]
        stretch_start, stretch_stop, touching, later_edits = _pop_touching(earlier, later)
        shifted_edits = [
            edit._replace(start=edit.start - stretch_start, stop=edit.stop - stretch_start)
            for edit in later_edits
        ]
        rule = max(touching, key=lambda edit: weight.get(edit.rule, 1)).rule
        replacement = apply_edits(middle[stretch_start:stretch_stop], shifted_edits)
        composed.append(
            Replacement(
                stretch_start - shift, stretch_stop - shifts[-1 - len(earlier)], replacement, rule
            )
        )
    return composed


def _pop_touching(
    earlier: deque[Replacement], later: deque[Replacement]
) -> tuple[int, int, list[Replacement], list[Replacement]]:
    """Pop the first edit of two lists in offsets of one text, and all that share characters with
    it.

    Returns start and end of the stretch, all its edits, and those of `later` alone.
    """
    if not later or (earlier and earlier[0].stop <= later[0].start):
        edit = earlier.popleft()
        return edit.start, edit.stop, [edit], []
    if not earlier or later[0].stop <= earlier[0].start:
        edit = later.popleft()
        return edit.start, edit.stop, [edit], [edit]
    stretch_start, stretch_stop = (
        min(earlier[0].start, later[0].start),
        max(earlier[0].stop, later[0].stop),
    )
    touching: list[Replacement] = []
    later_edits: list[Replacement] = []
    while True:
        count = len(touching)
        while earlier and earlier[0].start < stretch_stop:
            touching.append(earlier.popleft())
            stretch_stop = max(stretch_stop, touching[-1].stop)
        while later and later[0].start < stretch_stop:
            later_edits.append(later.popleft())
            touching.append(later_edits[-1])
            stretch_stop = max(stretch_stop, touching[-1].stop)
        if len(touching) == count:
            return stretch_start, stretch_stop, touching, later_edits
