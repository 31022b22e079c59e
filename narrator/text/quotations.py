"""Where paragraphs quote direct speech: offsets of quotations, and which go on over paragraphs.

Knows marks and languages, nothing of who speaks.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from narrator.text.sentences import primary


@dataclass(frozen=True, slots=True)
class Quotation:
    """A stretch of direct speech within one paragraph: a quotation, or a piece of one."""

    paragraph: int
    """Its place in the sequence of paragraphs."""
    start: int
    stop: int
    """Offsets in the paragraph's text; the quotation marks are within."""
    goes_on: bool = False
    """Whether it goes on the last quotation of the paragraph before, which was not closed."""


@dataclass(frozen=True, slots=True)
class _Marks:
    """What opens a quotation, and what closes it."""

    opening: str
    closing: str

    @property
    def same(self) -> bool:
        """Whether one mark does both, so that only its place tells."""
        return self.opening == self.closing


_PAIRS = (
    _Marks("“", "”"),
    _Marks('"', '"'),
    _Marks("«", "»"),
    _Marks("»", "«"),
    _Marks("„", '“”"'),
    _Marks("‚", "‘’"),
    _Marks("‘", "’"),
    _Marks("'", "'"),
    _Marks("「", "」"),
    _Marks("『", "』"),
    _Marks("‹", "›"),
    _Marks("”", "”"),
)
_LOW = frozenset("de cs sk pl hr sr sl bg hu ro et lt lv is ru uk be".split())
_DASHES = "—–―"
_DASHED = frozenset("fr es it pt ru uk pl ro el tr sv fi da no nb hu ca bg".split())
"""Languages in which a dash at a paragraph's beginning opens speech."""

FEW = 2
"""Quotations in one kind of marks that a text has at least, before they count as its own kind."""


def quotations(paragraphs: Sequence[str], language: str) -> tuple[Quotation, ...]:
    """The quotations of neighbouring paragraphs, in order; `language` is a BCP 47 tag.

    The marks of a text are those that most of its quotations have; others within them are of what
    is quoted. A quotation without an end ends with its paragraph, and goes on where the next one
    begins with its mark again.
    """
    kinds = _kinds(paragraphs, language)
    found: list[Quotation] = []
    open_ = False
    for number, text in enumerate(paragraphs):
        if not text.strip():
            continue
        pieces: list[tuple[int, int]] = []
        closed = True
        for marks in kinds:
            pieces, closed = _in_marks(text, marks, goes_on=open_)
            if pieces:
                break
        if not pieces and primary(language) in _DASHED:
            pieces, closed = list(_after_dash(text, primary(language))), True
        starts = bool(pieces) and not text[: pieces[0][0]].strip()
        for place, (start, stop) in enumerate(pieces):
            found.append(Quotation(number, start, stop, open_ and starts and place == 0))
        open_ = bool(pieces) and not closed
    return tuple(found)


def _kinds(paragraphs: Sequence[str], language: str) -> list[_Marks]:
    """The kinds of marks that a text quotes with, its own first."""
    count = Counter[_Marks]()
    for text in paragraphs:
        for marks in _PAIRS:
            if marks.opening in text and any(c in text for c in marks.closing):
                pieces, closed = _in_marks(text, marks, goes_on=False)
                # the outermost ones count: an inner quotation lies within another
                count[marks] += bool(pieces) and (closed + (pieces[0][0] == 0))
    code = primary(language)
    for marks in _PAIRS:
        if marks.opening == "„" and code not in _LOW:
            count[marks] -= 0
    ranked = [marks for marks, times in count.most_common() if times > 0]
    singles = [m for m in ranked if m.opening in "‘'"]
    doubles = [m for m in ranked if m.opening in '“"']
    if singles and doubles:
        outer = _outer(paragraphs, singles[0], doubles[0])
        ranked.remove(outer)
        ranked.insert(
            min(i for i, m in enumerate([*ranked, outer]) if m in (*singles, *doubles, outer)),
            outer,
        )
        inner = singles if outer in doubles else doubles
        ranked = [m for m in ranked if m not in inner]
    if len(ranked) > 1 and ranked[0].opening in "«»„":
        ranked = [m for m in ranked if m.opening not in "‘'‚‹"]
    return ranked


def _outer(paragraphs: Sequence[str], single: _Marks, double: _Marks) -> _Marks:
    """Which of two kinds of marks holds the other: what begins paragraphs and is within none."""
    votes = Counter[str]()
    for text in paragraphs:
        first = text.lstrip()[:1]
        if first == single.opening:
            votes["single"] += 1
        elif first == double.opening:
            votes["double"] += 1
    return single if votes["single"] > votes["double"] else double


def _in_marks(text: str, marks: _Marks, *, goes_on: bool) -> tuple[list[tuple[int, int]], bool]:
    """The quotations of a paragraph in one kind of marks, and whether the last one is closed."""
    pieces: list[tuple[int, int]] = []
    start: int | None = None
    depth = 0
    for at, c in enumerate(text):
        if c != marks.opening and c not in marks.closing:
            continue
        opens = c == marks.opening and (not marks.same or _opens(text, at, start is None))
        if (
            marks.opening in "‘'"
            and not opens
            and c in marks.closing
            and _apostrophe(text, at, start is not None)
        ):
            continue
        if marks.opening == "'" and opens and start is not None:
            continue
        if opens and start is None:
            start, depth = at, 1
        elif opens and not marks.same:
            depth += 1
        elif start is not None and c in marks.closing:
            depth -= 1
            if depth <= 0:
                pieces.append((start, at + 1))
                start = None
    if start is not None:
        end = len(text.rstrip())
        if depth > 1:  # an opening mark for a closing one
            inner = text.find(marks.opening, start + 1)
            pieces += [(start, inner + 1)] if inner > 0 else []
            return pieces, True
        if text[start + 1 : end].strip():
            pieces.append((start, end))
            return pieces, False
    return pieces, True


def _opens(text: str, at: int, outside: bool) -> bool:
    """Whether a mark that opens and closes alike opens here, by what stands around it."""
    before, after = text[at - 1 : at], text[at + 1 : at + 2]
    if not before.strip() and not text[:at].strip():
        return True
    if not after or after.isspace() or after in ",.;:!?)…":
        return outside and not (before.strip() and not before.isspace())
    if not before or before.isspace() or before in "([{—–-‘'“":
        return True if outside else before.isspace() or before in "([{"
    return outside and not before.isalnum() and before not in ".,!?…"


_ELIDED = re.compile(
    r"[’'](?:tis|twas|twere|twill|tisn|em|im|un|er|ee|bout|cause|cos|til|till|ere|ave|ad|ome|ouse|"
    r"and|ow|is|as|e|at|ard|alf|ope|ead|eart|round|gainst|neath|fore|way|pon|mid|mong|tain|d|ll|s|t"
    r"|re|ve|m|n|nother|tother|twixt|sblood|prentice|\d0s)\b",
    re.IGNORECASE,
)


def _apostrophe(text: str, at: int, inside: bool) -> bool:
    """Whether a single closing mark is an apostrophe: within a word, or after a plural's s."""
    before, after = text[at - 1 : at], text[at + 1 : at + 2]
    if before.isalnum() and after.isalnum():
        return True
    if after.isalnum() and _ELIDED.match(text, at):
        return True
    if before in "sSnN" and after.isspace() and inside:
        # "the boys' hats" or the end of 'He likes boys': a quotation that ends has a mark before
        # its end, and something closes it later.
        rest = text[at + 1 :]
        return bool(re.match(r"\s+[a-z]", rest)) and _closes_later(rest)
    return False


def _closes_later(rest: str) -> bool:
    close = re.search(r"(?<=[\w.,!?…—-])[’'](?=[\s.,;:!?)—]|\Z)", rest)
    opening = re.search(r"(?:^|[\s(—])[‘'](?=\w)", rest)
    return close is not None and (opening is None or close.start() < opening.start())


_TAG = re.compile(r"[,!?…]\s+(?=(?P<dash>[—–―]))?")


def _after_dash(text: str, language: str) -> Iterator[tuple[int, int]]:
    """Speech after a dash: to the dash that a tag stands behind, and again from its next one."""
    begin = len(text) - len(text.lstrip())
    if text[begin : begin + 1] not in tuple(_DASHES) and not text.startswith("- ", begin):
        return
    at = begin
    spoken = True
    marks = [
        m.start()
        for m in re.finditer(rf"(?<=[\s,.!?…])[{_DASHES}-](?=\s)", text)
        if m.start() > begin
    ]
    for mark in (*marks, len(text)):
        if spoken:
            yield at, len(text[:mark].rstrip())
        at, spoken = mark, not spoken
