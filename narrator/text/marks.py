"""Quotation marks of a paragraph: which open, which close, and which are none.

A mark's kind, what stands around it and what the whole text does with its kind give a cost to
each reading; the cheapest reading of a paragraph counts. Knows nothing of speech.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

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
_ANY = re.compile(rf"([{''.join(FAMILIES.values())}])(\1\1+)?")
"""A mark; a row of three or more is an ornament."""
_ONLY_OPEN = frozenset("„‟〝‚`「『｢﹁﹃")
_ONLY_CLOSE = frozenset("」』｣﹂﹄〞")

_BEFORE_OPENING = frozenset("([{<—–-―/…¿¡=:，。：、！？；" + "".join(FAMILIES.values()))
_AFTER_CLOSING = frozenset(".,;:!?)]}>…—–-―/，。：、！？；" + "".join(FAMILIES.values()))
_ENDS = frozenset(".,!?…;:—–-―。，！？")
_UNSEEN = "_*\u2060\u200b"
"""What may stand between a mark and its word."""

_ELIDED = re.compile(
    r"(?:tis|twas|twere|twill|twould|tisn|twasn|em|im|un|er|ee|bout|cause|cos|coz|til|till|ere|ave|"
    r"ad|ome|ouse|and|ow|arf|alf|ope|ead|eart|round|gainst|neath|fore|way|pon|mid|mong|tain|nother|"
    r"tother|twixt|prentice|nuff|kay|bye|scuse|member|specially|spect|fraid|ark|e|is|as|at|ard|ll|"
    r"\d0s|\d\ds?)(?![^\W_])",
    re.IGNORECASE,
)
"""Words that have lost their beginning to an apostrophe."""
_PLAIN = frozenset("tis twas twere twill twould em tisn twasn til till bout cause nother".split())
"""Those of them that no quotation begins with."""
_CLIPPED = frozenset("o th an wi ol d l t y ha fo jus mo lil tho thro ev".split())
"""Words that have lost their end to one."""


class Mark(NamedTuple):
    """A mark, and what each reading of it costs."""

    at: int
    opens: float
    closes: float
    ignored: float


@dataclass(frozen=True, slots=True)
class Pair:
    """What stands between two marks, these included; to the paragraph's end where none closes."""

    start: int
    stop: int
    closed: bool
    cut: bool = False
    """Whether the next one began before it was closed."""


class Usage:
    """What a text does with its marks."""

    def __init__(self, paragraphs: Sequence[str], language: str) -> None:
        count = {mark: sum(text.count(mark) for text in paragraphs) for mark in _FAMILY_OF}
        present = {_FAMILY_OF[mark] for mark, times in count.items() if times}
        self.families = tuple(sorted(present, key=list(FAMILIES).index))
        opening, closing = set(_ONLY_OPEN), set(_ONLY_CLOSE)
        for low, left, right in (("„", "“", "”"), ("‚", "‘", "’")):
            rarer, other = sorted((count[left], count[right]))
            if count[low] and 3 * count[low] >= count[left]:
                closing |= {left, right}  # „Ja“ and „Tak”
            elif low == "‚" or 10 * rarer >= other:
                opening.add(left)  # ”ja” has one mark for both
                closing.add(right)
        for left, right in ("«»", "‹›"):
            if min(count[left], count[right]):
                turned = _turned(paragraphs, left, right, language)
                opening.add(right if turned else left)
                closing.add(left if turned else right)
        self.opening, self.closing = frozenset(opening), frozenset(closing)

    def begins(self, text: str, family: str) -> bool:
        """Whether a paragraph begins with a mark that may open a quotation."""
        begin = text.lstrip(" \t\n\u00a0\u202f" + _UNSEEN)[:14]
        if not begin or begin[0] not in FAMILIES[family] or begin[0] in self.closing - {"»", "«"}:
            return False
        elided = family == SINGLE and _ELIDED.match(begin, 1)
        return not (elided and elided[0].casefold() in _PLAIN)

    def marks(self, text: str) -> dict[str, list[Mark]]:
        """The marks of a paragraph by their family, in order; no apostrophes within words."""
        found: dict[str, list[Mark]] = {}
        for place in _ANY.finditer(text):
            mark, at = place[1], place.start()
            if place[2]:
                continue
            family = _FAMILY_OF[mark]
            before, after = _around(text, at)
            if family == SINGLE and before.isalnum() and after.isalnum():
                continue
            opens, closes = _by_place(before, after)
            ignored = 3.0
            if family in (ANGLES, ANGLE):
                opens, closes = opens / 2, closes / 2  # « they have white space within »
            if mark in self.opening:
                closes += 4.0 if mark in _ONLY_OPEN else 2.0
            elif mark in self.closing:
                opens += 4.0 if mark in _ONLY_CLOSE else 2.0
            if family == SINGLE:
                opens, closes, ignored = _apostrophe(text, at, opens, closes)
            elif before.isdigit() and mark in '"”':
                closes, ignored = closes + 0.5, 0.8  # inches
            found.setdefault(family, []).append(Mark(at, opens, closes, ignored))
        return found


def _turned(paragraphs: Sequence[str], left: str, right: str, language: str) -> bool:
    """Whether a text's guillemets point inwards: »Ja«."""
    first = Counter[bool]()
    for text in paragraphs:
        places = text.find(left), text.find(right)
        if -1 not in places:
            first[places[1] < places[0]] += 1
    if first[True] == first[False]:
        return language.lower().split("-")[0] in ("de", "da", "hu", "sl")
    return first[True] > first[False]


def _around(text: str, at: int) -> tuple[str, str]:
    """What stands before and after a mark; nothing where the paragraph begins or ends."""
    before, after = at - 1, at + 1
    while before >= 0 and text[before] in _UNSEEN:
        before -= 1
    while after < len(text) and text[after] in _UNSEEN:
        after += 1
    return text[before] if before >= 0 else "", text[after : after + 1]


def _by_place(before: str, after: str) -> tuple[float, float]:
    """What opening and closing cost by what stands around."""
    begins, ends = not before or before.isspace(), not after or after.isspace()
    can_open = not ends and (begins or before in _BEFORE_OPENING)
    can_close = not begins and (ends or after in _AFTER_CLOSING)
    if begins and not before:
        return 0.0, 2.5
    if can_open == can_close:
        return (1.5, 0.3) if not begins and before in ".,!?…" else (0.4, 0.4)
    return (0.0, 2.5) if can_open else (2.5, 0.0)


def _apostrophe(text: str, at: int, opens: float, closes: float) -> tuple[float, float, float]:
    """The costs of a single mark, which may be an apostrophe; the last is that of its being one."""
    before, after = _around(text, at)
    if _AND.match(text, at) or _AND.match(text, at - 2):
        return opens + 3, closes + 3, 0.0
    if before.isalpha():
        more, ignored = _after_word(text, at)
        return opens + 3, closes + more, ignored
    if before.isdigit():
        return opens + 3, closes + 0.6, 0.3
    if elided := _ELIDED.match(text, at + 1):
        if text[at] in "’'" and elided[0].casefold() in _PLAIN:
            return opens + 0.7, closes + 3, 0.3
        return opens + 0.4, closes + 1, 0.3 if text[at] == "’" else 0.6
    if before and before in _ENDS:
        return opens, closes, 4.0
    opens += 0 if after.strip() else 1.5
    return opens, closes, 3.0 if text[at] in "‘‚" else 2.0


def _after_word(text: str, at: int) -> tuple[float, float]:
    """What closing costs more after a word, and what an apostrophe does: the boys', goin'."""
    word = _LAST_WORD.search(text[max(0, at - 12) : at])
    ending = word[0].casefold() if word else ""
    if ending.endswith(("s", "in")) or ending in _CLIPPED:
        return 1.0 if text[at + 1 : at + 2].isspace() else 0.5, 0.4
    follows = text[at + 1 : at + 3].strip()[:1]
    return 1.2 if follows.islower() else 0.7, 1.5


_AND = re.compile(r"['’]n['’]", re.IGNORECASE)
"""Of rock 'n' roll."""
_LAST_WORD = re.compile(r"[^\W\d_]+\Z")

_UNCLOSED, _WITHIN, _AGAIN = 2.2, 2.4, 2.2
"""Costs: a quotation has no end; one is within another of its kind; one begins before the last has
ended."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The quotations of a paragraph by one family's marks."""

    spans: tuple[Pair, ...]
    strays: tuple[Mark, ...]
    """Marks that neither open nor close one."""
    is_open: bool
    """Whether the last one has no end."""


def paired(
    text: str, marks: Sequence[Mark], *, inside: bool = False, goes_on: bool = False
) -> Reading:
    """The cheapest reading of one family's marks.

    `inside`: the paragraph begins within a quotation. `goes_on`: what is not closed in it goes on
    in the next one.
    """
    never = 1e9
    depths = (never, 0.0, never) if inside else (0.0, never, never)
    trail: list[tuple[tuple[float, str, int], ...]] = []
    for mark in marks:
        out, one, two = depths
        steps: tuple[tuple[float, str, int], ...] = (
            min((out + mark.ignored, "ignored", 0), (one + mark.closes, "closes", 1)),
            min(
                (one + mark.ignored, "ignored", 1),
                (out + mark.opens, "opens", 0),
                (two + mark.closes, "ignored", 2),
                (one + mark.opens + _AGAIN, "again", 1),
            ),
            min((two + mark.ignored, "ignored", 2), (one + mark.opens + _WITHIN, "ignored", 1)),
        )
        depths = (steps[0][0], steps[1][0], steps[2][0])
        trail.append(steps)
    end = 0.3 if goes_on else _UNCLOSED
    depth = min((depths[0], 0), (depths[1] + end, 1), (depths[2] + 2 * end, 2))[1]
    is_open = depth > 0
    roles: list[str] = []
    for steps in reversed(trail):
        _, role, depth = steps[depth]
        roles.append(role)
    roles.reverse()
    strays = tuple(m for m, r in zip(marks, roles, strict=True) if r == "ignored")
    return Reading(tuple(_spans(text, marks, roles, inside)), strays, is_open)


def end_of(text: str, stop: int) -> int:
    """Where `text[:stop]` ends without white space."""
    while stop and text[stop - 1].isspace():
        stop -= 1
    return stop


def _spans(text: str, marks: Sequence[Mark], roles: Sequence[str], inside: bool) -> Iterator[Pair]:
    start = len(text) - len(text.lstrip()) if inside else None
    for mark, role in zip(marks, roles, strict=True):
        if role == "opens":
            start = mark.at
        elif role == "closes" and start is not None:
            yield Pair(start, mark.at + 1, closed=True)
            start = None
        elif role == "again" and start is not None:
            yield Pair(start, end_of(text, mark.at), closed=False, cut=True)
            start = mark.at
    if start is not None and start < len(text.rstrip()):
        yield Pair(start, len(text.rstrip()), closed=False)
