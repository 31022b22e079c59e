"""Finds the role of each quotation mark of a paragraph: opening, closing, or none.

A mark's character, its neighbours, and the use of that character in the whole text give a cost to
each reading; the cheapest reading of a paragraph wins. Knows nothing of speech.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from textbase.languages import primary

DOUBLE, SINGLE, ANGLES, ANGLE, CORNERS, WHITE_CORNERS = "double single angles angle 「 『".split()
FAMILIES = {
    DOUBLE: '"“”„‟＂〝〞',
    SINGLE: "'‘’‚‛`",
    ANGLES: "«»",
    ANGLE: "‹›",
    CORNERS: "「」｢｣﹁﹂",
    WHITE_CORNERS: "『』﹃﹄",
}
"""Marks that open and close each other, however a language pairs them: „…“, “…”, ”…”, »…«."""

_FAMILY_OF = {mark: family for family, marks in FAMILIES.items() for mark in marks}
_MARK_PATTERN = re.compile(rf"([{''.join(FAMILIES.values())}])(\1\1+)?")
"""A mark; a row of three or more is an ornament."""
_ONLY_OPEN = frozenset("„‟〝‚`「『｢﹁﹃")
_ONLY_CLOSE = frozenset("」』｣﹂﹄〞")

_BEFORE_OPENING = frozenset("([{<—–-―/…¿¡=:，。：、！？；" + "".join(FAMILIES.values()))
_AFTER_CLOSING = frozenset(".,;:!?)]}>…—–-―/，。：、！？；" + "".join(FAMILIES.values()))
_ENDING_MARKS = frozenset(".,!?…;:—–-―。，！？")
_TRANSPARENT = "_*\u2060\u200b"
"""Characters that may lie between a mark and its word."""

_ELISION = re.compile(
    r"(?:tis|twas|twere|twill|twould|tisn|twasn|em|im|un|er|ee|bout|cause|cos|coz|til|till|ere|ave|"
    r"ad|ome|ouse|and|ow|arf|alf|ope|ead|eart|round|gainst|neath|fore|way|pon|mid|mong|tain|nother|"
    r"tother|twixt|prentice|nuff|kay|bye|scuse|member|specially|spect|fraid|ark|e|is|as|at|ard|ll|"
    r"\d0s|\d\ds?)(?![^\W_])",
    re.IGNORECASE,
)
"""Words that have lost their beginning, replaced by an apostrophe."""
_SURE_ELISIONS = frozenset(
    "tis twas twere twill twould em tisn twasn til till bout cause nother".split()
)
"""Elisions that no quotation begins with."""
_CLIPPED_WORDS = frozenset("o th an wi ol d l t y ha fo jus mo lil tho thro ev".split())
"""Words that have lost their end, replaced by an apostrophe."""


class Mark(NamedTuple):
    """A mark at an offset, with the cost of each reading."""

    offset: int
    opening_cost: float
    closing_cost: float
    ignored_cost: float


@dataclass(frozen=True, slots=True)
class Pair:
    """Text between two marks, inclusive; it extends to the paragraph's end if none closes it."""

    start: int
    stop: int
    is_closed: bool
    is_cut: bool = False
    """True if the next pair began before this one was closed."""


class Usage:
    """Statistics of a text's marks: which families it has, and which marks open or close."""

    def __init__(self, paragraphs: Sequence[str], language: str) -> None:
        counts = {mark: sum(text.count(mark) for text in paragraphs) for mark in _FAMILY_OF}
        present_families = {_FAMILY_OF[mark] for mark, count in counts.items() if count}
        self.families = tuple(sorted(present_families, key=list(FAMILIES).index))
        opening, closing = set(_ONLY_OPEN), set(_ONLY_CLOSE)
        for low_mark, left_mark, right_mark in (("„", "“", "”"), ("‚", "‘", "’")):
            rarer, commoner = sorted((counts[left_mark], counts[right_mark]))
            if counts[low_mark] and 3 * counts[low_mark] >= counts[left_mark]:
                closing |= {left_mark, right_mark}  # „Ja“ and „Tak”
            elif low_mark == "‚" or 10 * rarer >= commoner:
                opening.add(left_mark)  # ”ja” has one mark for both
                closing.add(right_mark)
        for left_mark, right_mark in ("«»", "‹›"):
            if min(counts[left_mark], counts[right_mark]):
                points_inwards = _guillemets_point_inwards(
                    paragraphs, left_mark, right_mark, language
                )
                opening.add(right_mark if points_inwards else left_mark)
                closing.add(left_mark if points_inwards else right_mark)
        self.opening, self.closing = frozenset(opening), frozenset(closing)

    def begins_quotation(self, text: str, family: str) -> bool:
        """Returns whether a paragraph begins with a mark that may open a quotation."""
        start = text.lstrip(" \t\n\u00a0\u202f" + _TRANSPARENT)[:14]
        if not start or start[0] not in FAMILIES[family] or start[0] in self.closing - {"»", "«"}:
            return False
        elision = family == SINGLE and _ELISION.match(start, 1)
        return not (elision and elision[0].casefold() in _SURE_ELISIONS)

    def marks(self, text: str) -> dict[str, list[Mark]]:
        """Returns a paragraph's marks by family, in order, without apostrophes inside words."""
        marks_by_family: dict[str, list[Mark]] = {}
        for match in _MARK_PATTERN.finditer(text):
            mark, offset = match[1], match.start()
            if match[2]:
                continue
            family = _FAMILY_OF[mark]
            previous_character, next_character = _neighbours(text, offset)
            if family == SINGLE and previous_character.isalnum() and next_character.isalnum():
                continue
            opening_cost, closing_cost = _costs_by_context(previous_character, next_character)
            ignored_cost = 3.0
            if family in (ANGLES, ANGLE):
                # « they have white space within »
                opening_cost, closing_cost = opening_cost / 2, closing_cost / 2
            if mark in self.opening:
                closing_cost += 4.0 if mark in _ONLY_OPEN else 2.0
            elif mark in self.closing:
                opening_cost += 4.0 if mark in _ONLY_CLOSE else 2.0
            if family == SINGLE:
                opening_cost, closing_cost, ignored_cost = _single_mark_costs(
                    text, offset, opening_cost, closing_cost
                )
            elif previous_character.isdigit() and mark in '"”':
                closing_cost, ignored_cost = closing_cost + 0.5, 0.8  # inches
            marks_by_family.setdefault(family, []).append(
                Mark(offset, opening_cost, closing_cost, ignored_cost)
            )
        return marks_by_family


def _guillemets_point_inwards(
    paragraphs: Sequence[str], left_mark: str, right_mark: str, language: str
) -> bool:
    """Returns whether a text's guillemets point inwards: »Ja«."""
    balance = 0
    """Number of paragraphs whose first marks point inwards, less those where they do not."""
    for text in paragraphs:
        left_offset, right_offset = text.find(left_mark), text.find(right_mark)
        if left_offset >= 0 and right_offset >= 0:
            balance += 1 if right_offset < left_offset else -1
    if balance == 0:
        return primary(language) in ("de", "da", "hu", "sl")
    return balance > 0


def _neighbours(text: str, offset: int) -> tuple[str, str]:
    """Returns the characters before and after a mark; empty at the paragraph's edges."""
    before, after = offset - 1, offset + 1
    while before >= 0 and text[before] in _TRANSPARENT:
        before -= 1
    while after < len(text) and text[after] in _TRANSPARENT:
        after += 1
    return text[before] if before >= 0 else "", text[after : after + 1]


def _costs_by_context(previous_character: str, next_character: str) -> tuple[float, float]:
    """Returns the costs of opening and of closing, by the neighbouring characters."""
    is_after_space = not previous_character or previous_character.isspace()
    is_before_space = not next_character or next_character.isspace()
    can_open = not is_before_space and (is_after_space or previous_character in _BEFORE_OPENING)
    can_close = not is_after_space and (is_before_space or next_character in _AFTER_CLOSING)
    if not previous_character:
        return 0.0, 2.5
    if can_open == can_close:
        return (1.5, 0.3) if not is_after_space and previous_character in ".,!?…" else (0.4, 0.4)
    return (0.0, 2.5) if can_open else (2.5, 0.0)


def _single_mark_costs(
    text: str, offset: int, opening_cost: float, closing_cost: float
) -> tuple[float, float, float]:
    """Returns the costs of a single mark, perhaps an apostrophe: of opening, of closing, and of
    being an apostrophe."""
    previous_character, next_character = _neighbours(text, offset)
    if _CLIPPED_AND.match(text, offset) or _CLIPPED_AND.match(text, offset - 2):
        return opening_cost + 3, closing_cost + 3, 0.0
    if previous_character.isalpha():
        extra_cost, ignored_cost = _costs_after_word(text, offset)
        return opening_cost + 3, closing_cost + extra_cost, ignored_cost
    if previous_character.isdigit():
        return opening_cost + 3, closing_cost + 0.6, 0.3
    if elision := _ELISION.match(text, offset + 1):
        if text[offset] in "’'" and elision[0].casefold() in _SURE_ELISIONS:
            return opening_cost + 0.7, closing_cost + 3, 0.3
        return opening_cost + 0.4, closing_cost + 1, 0.3 if text[offset] == "’" else 0.6
    if previous_character and previous_character in _ENDING_MARKS:
        return opening_cost, closing_cost, 4.0
    opening_cost += 0 if next_character.strip() else 1.5
    return opening_cost, closing_cost, 3.0 if text[offset] in "‘‚" else 2.0


def _costs_after_word(text: str, offset: int) -> tuple[float, float]:
    """Returns the extra cost of closing after a word, and the cost of an apostrophe: the boys',
    goin'."""
    word = _LAST_WORD.search(text[max(0, offset - 12) : offset])
    ending = word[0].casefold() if word else ""
    if ending.endswith(("s", "in")) or ending in _CLIPPED_WORDS:
        return 1.0 if text[offset + 1 : offset + 2].isspace() else 0.5, 0.4
    next_character = text[offset + 1 : offset + 3].strip()[:1]
    return 1.2 if next_character.islower() else 0.7, 1.5


_CLIPPED_AND = re.compile(r"['’]n['’]", re.IGNORECASE)
"""As in rock 'n' roll."""
_LAST_WORD = re.compile(r"[^\W\d_]+\Z")

_UNCLOSED_COST, _NESTED_COST, _REOPENED_COST = 2.2, 2.4, 2.2
"""Costs of a quotation without an end, of one nested in another of its family, and of one that
begins before the last has ended."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Quotations of a paragraph in the marks of one family."""

    spans: tuple[Pair, ...]
    strays: tuple[Mark, ...]
    """Marks that neither open nor close a quotation."""
    is_open: bool
    """True if the last quotation has no end."""


def read_pairs(
    text: str, marks: Sequence[Mark], *, begins_inside: bool = False, continues: bool = False
) -> Reading:
    """Finds the cheapest reading of one family's marks.

    `begins_inside`: the paragraph begins within a quotation. `continues`: a quotation that it does
    not close continues in the next one.
    """
    impossible = 1e9
    # the least cost of all marks so far by the depth after them: outside, quoted, nested
    costs = (impossible, 0.0, impossible) if begins_inside else (0.0, impossible, impossible)
    history: list[tuple[tuple[float, str, int], ...]] = []
    """For each mark and depth after it: the cost, the mark's role, and the depth before it."""
    for mark in marks:
        cost_outside, cost_quoted, cost_nested = costs
        steps: tuple[tuple[float, str, int], ...] = (
            min(
                (cost_outside + mark.ignored_cost, "ignored", 0),
                (cost_quoted + mark.closing_cost, "closes", 1),
            ),
            min(
                (cost_quoted + mark.ignored_cost, "ignored", 1),
                (cost_outside + mark.opening_cost, "opens", 0),
                (cost_nested + mark.closing_cost, "ignored", 2),
                (cost_quoted + mark.opening_cost + _REOPENED_COST, "reopens", 1),
            ),
            min(
                (cost_nested + mark.ignored_cost, "ignored", 2),
                (cost_quoted + mark.opening_cost + _NESTED_COST, "ignored", 1),
            ),
        )
        costs = (steps[0][0], steps[1][0], steps[2][0])
        history.append(steps)
    unclosed_cost = 0.3 if continues else _UNCLOSED_COST
    final_costs = (costs[0], costs[1] + unclosed_cost, costs[2] + 2 * unclosed_cost)
    depth = final_costs.index(min(final_costs))
    is_open = depth > 0
    roles: list[str] = []
    for steps in reversed(history):
        _, role, depth = steps[depth]
        roles.append(role)
    roles.reverse()
    strays = tuple(m for m, role in zip(marks, roles, strict=True) if role == "ignored")
    return Reading(tuple(_pair_spans(text, marks, roles, begins_inside)), strays, is_open)


def stripped_end(text: str, stop: int) -> int:
    """Returns the end of `text[:stop]` without trailing white space."""
    while stop and text[stop - 1].isspace():
        stop -= 1
    return stop


def _pair_spans(
    text: str, marks: Sequence[Mark], roles: Sequence[str], begins_inside: bool
) -> Iterator[Pair]:
    """Yields the pairs that the marks' roles form."""
    start = len(text) - len(text.lstrip()) if begins_inside else None
    for mark, role in zip(marks, roles, strict=True):
        if role == "opens":
            start = mark.offset
        elif role == "closes" and start is not None:
            yield Pair(start, mark.offset + 1, is_closed=True)
            start = None
        elif role == "reopens" and start is not None:
            yield Pair(start, stripped_end(text, mark.offset), is_closed=False, is_cut=True)
            start = mark.offset
    if start is not None and start < len(text.rstrip()):
        yield Pair(start, len(text.rstrip()), is_closed=False)
