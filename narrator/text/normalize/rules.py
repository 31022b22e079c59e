"""What a rule is, and how a table of them reads a text. Knows no language."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from narrator.text.normalize.edits import Replacement

Match = re.Match[str]


@dataclass(frozen=True, slots=True)
class Setting:
    """What the rules know of a text beside its words."""

    british: bool
    heading: bool


Speak = Callable[[Match, Setting], str | None]
"""What a match says; None: it is not this rule's after all."""


class Rule(NamedTuple):
    """What `pattern` matches is spoken as `speak` says, by the name of the rule."""

    name: str
    pattern: re.Pattern[str]
    speak: Speak


class Group(NamedTuple):
    """Rules that can apply only where `gate` matches somewhere."""

    gate: re.Pattern[str]
    rules: tuple[Rule, ...]


def read(
    text: str, groups: Sequence[Group], how: Setting, taken: bytearray | None = None
) -> list[Replacement]:
    """Edits of `text`, in the order of the rules. `taken[i]` is set where `text[i]` has been read.

    A match that runs into taken text is tried again without that part.
    """
    if taken is None:
        taken = bytearray(len(text))
    edits: list[Replacement] = []
    for gate, rules in groups:
        if not gate.search(text):
            continue
        for name, pattern, speak in rules:
            match = pattern.search(text)
            while match:
                start, stop = match.span()
                hit = taken.find(1, start, stop)
                if hit >= 0:
                    free = taken.find(0, hit)
                    cut = pattern.match(text, start, hit) if hit > start else None
                    if cut is None or cut.end() == start:
                        match = pattern.search(text, free) if free >= 0 else None
                        continue
                    match, stop = cut, cut.end()
                spoken = speak(match, how)
                if spoken is not None and stop > start:
                    edits.append(Replacement(start, stop, spoken, name))
                    taken[start:stop] = b"\x01" * (stop - start)
                match = pattern.search(text, max(stop, start + 1))
    return edits


def either(words: Iterable[str]) -> str:
    """Alternatives of a pattern, longest first."""
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


def behind(*contexts: str) -> str:
    """A look-behind for any of several patterns, each of a fixed width."""
    return f"(?:{'|'.join(f'(?<={context})' for context in contexts)})"


def always(words: str) -> Speak:
    """The function of a rule that says the same for every match."""
    return lambda match, how: words


_CONTEXT = 400
"""Characters around a match that its meaning can hang on; more would be read again for each."""


def before(match: Match) -> str:
    """The text up to the match, or what of it is near."""
    return match.string[max(0, match.start() - _CONTEXT) : match.start()]


def after(match: Match) -> str:
    """The text from the end of the match, or what of it is near."""
    return match.string[match.end() : match.end() + _CONTEXT]
