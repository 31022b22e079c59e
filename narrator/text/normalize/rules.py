"""Rules, and how a table of them is applied to a text. Knows no language."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from narrator.text.normalize.edits import Replacement

_CONTEXT = 400
"""Characters around a match that its meaning may depend on; more would be slow."""


@dataclass(frozen=True, slots=True)
class RuleMatch:
    """A match of a rule's pattern, with the text around it. `heading` is true in a title."""

    match: re.Match[str]
    heading: bool

    def __getitem__(self, group: int | str) -> str:
        text: str = self.match[group]
        return text

    @property
    def before(self) -> str:
        """The text before the match, up to the context's length."""
        start = self.match.start()
        return self.match.string[max(0, start - _CONTEXT) : start]

    @property
    def after(self) -> str:
        """The text after the match, up to the context's length."""
        stop = self.match.end()
        return self.match.string[stop : stop + _CONTEXT]


Speak = Callable[[RuleMatch], str | None]
"""Returns the spoken form of a match, or None to decline it."""


class Rule:
    """A named rule: how matches of a pattern are spoken.

    `spoken` is a function, or a template as for `re.sub`; `origin` is the file and line of the
    rule. The pattern is compiled when it is first needed: all together take a quarter of a second.
    """

    def __init__(self, name: str, pattern: str, spoken: Speak | str, origin: str = "") -> None:
        self.name = name
        self._source, self._origin = pattern, origin
        self.speak: Speak
        if isinstance(spoken, str):
            self.speak = lambda match: match.match.expand(spoken)
        else:
            self.speak = spoken

    @functools.cached_property
    def pattern(self) -> re.Pattern[str]:
        """The compiled pattern. Raises ValueError, with the rule's origin, for a faulty one."""
        try:
            return re.compile(self._source)
        except re.error as error:
            raise ValueError(f"{self._origin}: {error}") from error


class Group:
    """Rules that are skipped unless the pattern `gate` matches somewhere in the text."""

    def __init__(self, gate: str, *rules: Rule) -> None:
        self._gate_source = gate
        self.rules = rules

    @functools.cached_property
    def gate(self) -> re.Pattern[str]:
        return re.compile(self._gate_source)


def apply_rules(
    text: str,
    groups: Sequence[Group],
    read_mask: bytearray | None = None,
    *,
    heading: bool = False,
) -> list[Replacement]:
    """Return edits of `text`, in the order of the rules.

    `read_mask[i]` is set once `text[i]` has been read. A match that runs into text already read is
    tried again without that part.
    """
    if read_mask is None:
        read_mask = bytearray(len(text))
    edits: list[Replacement] = []
    open_gates: dict[str, bool] = {}
    for group in groups:
        gate = group.gate
        if gate.pattern not in open_gates:
            open_gates[gate.pattern] = bool(gate.search(text))
        for rule in group.rules if open_gates[gate.pattern] else ():
            pattern = rule.pattern
            match = pattern.search(text)
            while match:
                start, stop = match.span()
                first_read = read_mask.find(1, start, stop)
                if first_read >= 0:
                    next_free = read_mask.find(0, first_read)
                    shortened = (
                        pattern.match(text, start, first_read) if first_read > start else None
                    )
                    if shortened is None or shortened.end() == start:
                        match = pattern.search(text, next_free) if next_free >= 0 else None
                        continue
                    match, stop = shortened, shortened.end()
                replacement = rule.speak(RuleMatch(match, heading))
                if replacement is not None and stop > start:
                    edits.append(Replacement(start, stop, replacement, rule.name))
                    read_mask[start:stop] = b"\x01" * (stop - start)
                match = pattern.search(text, max(stop, start + 1))
    return edits


AUTHORS_RULES = ("say", "lexicon")
"""Rules of changes that the author of a book asked for."""
_DIGIT = r"[\d¹²³⁰-⁹¼-¾⅐-⅞]"
_COUNTER = "[年月日号號時时点點分秒割万萬亿億千百丁目]{1,2}"
_EAST_ASIAN = rf"(?<={_DIGIT})(?:{_COUNTER}(?:[至到~～〜–—-]|から)?|[至到～〜—]|から)(?={_DIGIT})"
_JOINED = (
    rf"{_DIGIT}(?:(?:[^\s()\[\]\"«»—…|;!?\u0e00-\u1fff\u2e80-\uffff]|{_EAST_ASIAN})*{_DIGIT})?"
)
_FIGURE = re.compile(rf"{_JOINED}(?:(?: (?=\d{{3}}(?!\d)|0\d)|° (?=\d)){_JOINED})*")
"""Figures with the signs and letters that join them: 12-A5, 1 000, 5° 30, 3月5日. Other letters of
Thai and of East Asia stand next to figures."""
_FIGURE_SIGNS = frozenset("#°%‰$€£¥₽₹₩₪₴₺₫฿&@+=<>/×÷±⁻⁺")
"""Signs that belong to the figures beside them."""


def without_half_read(text: str, edits: Sequence[Replacement]) -> list[Replacement]:
    """Returns the edits but for rules' that spell only a part of a figure, as of 12-A5 or $-5."""
    if not re.search(r"\d", text):
        return list(edits)
    kept = _without_parted_signs(text, edits)
    digits = bytes(map(bool, map(re.compile(_DIGIT).match, text)))
    unread = bytearray(digits)
    for edit in kept:
        if not re.search(r"\d", edit.new):
            unread[edit.start : edit.stop] = bytes(edit.stop - edit.start)
    half_read = bytearray(len(text))
    for figure in _FIGURE.finditer(text):
        span = slice(*figure.span())
        if any(unread[span]) and unread[span] != digits[span]:
            half_read[span] = digits[span]
    return [
        edit
        for edit in kept
        if edit.rule in AUTHORS_RULES or half_read.find(1, edit.start, edit.stop) < 0
    ]


def _without_parted_signs(text: str, edits: Sequence[Replacement]) -> list[Replacement]:
    """Returns the edits but for rules' that spell a figure and leave a sign that touches it."""
    signs = bytearray(char in _FIGURE_SIGNS for char in text)
    for edit in edits:
        signs[edit.start : edit.stop] = bytes(edit.stop - edit.start)
    return [
        edit
        for edit in edits
        if edit.rule in AUTHORS_RULES
        or signs.find(1, max(0, edit.start - 1), edit.stop + 1) < 0
        or not re.search(r"\d", text[edit.start : edit.stop])
        or edit.new == text[edit.start : edit.stop]
    ]


def alternatives(words: Iterable[str]) -> str:
    """Return a pattern of alternatives, longest first."""
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))
