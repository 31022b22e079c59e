"""Edits: what a stage changes in a text, and how two stages become one.

Each stage of normalisation is a list of edits of the text that the stage before it left.
`compose` folds such lists into edits of the source text, so every change that a listener hears
can be shown where it was written. Knows nothing of language.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Edit(NamedTuple):
    """`text[start:stop]` becomes `new`; `start == stop` inserts. `rule` names the cause."""

    start: int
    stop: int
    new: str
    rule: str


def apply(text: str, edits: Sequence[Edit]) -> str:
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


def forward(edits: Sequence[Edit], first: int, last: int) -> tuple[int, int]:
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
    first: Sequence[Edit], middle: str, second: Sequence[Edit], weight: dict[str, int]
) -> list[Edit]:
    """One list that does what `first` and then `second` do.

    `middle` is the text between the two. Edits that share characters of it are joined, under the
    name of the one whose rule has the greatest `weight` (the earlier one where they are equal).
    """
    if not second:
        return list(first)
    if not first:
        return list(second)
    out: list[Edit] = []
    shift = 0  # offset in the first text = offset in `middle` - shift
    i = j = 0
    while i < len(first) or j < len(second):
        start_a = first[i].start + shift if i < len(first) else len(middle) + 1
        stop_a = start_a + len(first[i].new) if i < len(first) else start_a
        start_b = second[j].start if j < len(second) else len(middle) + 1
        stop_b = second[j].stop if j < len(second) else start_b
        if j == len(second) or (i < len(first) and stop_a <= start_b):
            out.append(first[i])
            shift += len(first[i].new) - (first[i].stop - first[i].start)
            i += 1
            continue
        if i == len(first) or stop_b <= start_a:
            _, _, new, rule = second[j]
            out.append(Edit(start_b - shift, stop_b - shift, new, rule))
            j += 1
            continue
        # They overlap: take in whatever else touches the joined stretch.
        low, high = min(start_a, start_b), max(stop_a, stop_b)
        source = first[i].start if start_a <= start_b else start_b - shift
        rule, heaviest = "", -1
        parts: list[Edit] = []
        grown = True
        while grown:
            grown = False
            while i < len(first) and first[i].start + shift < high:
                edit = first[i]
                high = max(high, edit.start + shift + len(edit.new))
                shift += len(edit.new) - (edit.stop - edit.start)
                if weight.get(edit.rule, 1) > heaviest:
                    rule, heaviest = edit.rule, weight.get(edit.rule, 1)
                i, grown = i + 1, True
            while j < len(second) and second[j].start < high:
                edit = second[j]
                high = max(high, edit.stop)
                parts.append(Edit(edit.start - low, edit.stop - low, edit.new, edit.rule))
                if weight.get(edit.rule, 1) > heaviest:
                    rule, heaviest = edit.rule, weight.get(edit.rule, 1)
                j, grown = j + 1, True
        out.append(Edit(source, high - shift, apply(middle[low:high], parts), rule))
    return out
