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


def apply_rules(
    text: str, groups: Sequence[Group], setting: Setting, read_mask: bytearray | None = None
) -> list[Replacement]:
    """Return edits of `text`, in the order of the rules. `taken[i]` is set where `text[i]` has been
    read.

    A match that runs into taken text is tried again without that part.
    """
    if read_mask is None:
        read_mask = bytearray(len(text))
    edits: list[Replacement] = []
    for gate, rules in groups:
        if not gate.search(text):
            continue
        for name, pattern, speak in rules:
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
                replacement = speak(match, setting)
                if replacement is not None and stop > start:
                    edits.append(Replacement(start, stop, replacement, name))
                    read_mask[start:stop] = b"\x01" * (stop - start)
                match = pattern.search(text, max(stop, start + 1))
    return edits


def alternatives(words: Iterable[str]) -> str:
    """Return alternatives of a pattern, longest first."""
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


def preceded_by(*contexts: str) -> str:
    """Return a look-behind for any of several patterns, each of a fixed width."""
    return f"(?:{'|'.join(f'(?<={context})' for context in contexts)})"


def say_always(words: str) -> Speak:
    """Return the function of a rule that says the same for every match."""
    return lambda match, setting: words


_CONTEXT = 400
"""Characters around a match that its meaning can hang on; more would be read again for each."""


def text_before(match: Match) -> str:
    """Return the text up to the match, or what of it is near."""
    return match.string[max(0, match.start() - _CONTEXT) : match.start()]


def text_after(match: Match) -> str:
    """Return the text from the end of the match, or what of it is near."""
    return match.string[match.end() : match.end() + _CONTEXT]
