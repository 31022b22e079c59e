"""Rules, and how a table of them is applied to a text. Knows no language."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from narrator.text.normalize.edits import Replacement

Match = re.Match[str]


@dataclass(frozen=True, slots=True)
class Setting:
    """Facts that rules know besides the text."""

    british: bool
    heading: bool


Speak = Callable[[Match, Setting], str | None]
"""Returns the spoken form of a match, or None to decline it."""


class Rule(NamedTuple):
    """A named rule: matches of `pattern` are spoken as `speak` returns."""

    name: str
    pattern: re.Pattern[str]
    speak: Speak


class Group(NamedTuple):
    """Rules that are skipped unless `gate` matches somewhere in the text."""

    gate: re.Pattern[str]
    rules: tuple[Rule, ...]


def apply_rules(
    text: str, groups: Sequence[Group], setting: Setting, read_mask: bytearray | None = None
) -> list[Replacement]:
    """Return edits of `text`, in the order of the rules.

    `read_mask[i]` is set once `text[i]` has been read. A match that runs into text already read is
    tried again without that part.
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
    """Return a pattern of alternatives, longest first."""
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


def preceded_by(*contexts: str) -> str:
    """Return a look-behind for any of several patterns, each of a fixed width."""
    return f"(?:{'|'.join(f'(?<={context})' for context in contexts)})"


def say_always(words: str) -> Speak:
    """Return a function that speaks every match of a rule alike."""
    return lambda match, setting: words


_CONTEXT = 400
"""Characters around a match that its meaning may depend on; more would be slow."""


def text_before(match: Match) -> str:
    """Return the text before a match, up to the context's length."""
    return match.string[max(0, match.start() - _CONTEXT) : match.start()]


def text_after(match: Match) -> str:
    """Return the text after a match, up to the context's length."""
    return match.string[match.end() : match.end() + _CONTEXT]
