"""Locates the characters of a paragraph in its source, among marks, links, tags and entities.

This is a guess by the characters alone: the source is not parsed as a script, so any result has to
be read again. Takes time proportional to the source, roughly.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence

from narrator.text.labels import LABEL

_TRIES_PER_CHARACTER = 8
"""Number of steps for each character of a source before the search gives up."""
_SKIPPED_PATTERNS = (
    r"[*_`\\>\[\]{}<#|\x01-\x08\x0e-\x1f]",
    r"\{[^\\{}|:：\n]{1,400}[:：][^\S\n]*",  # {Ada (softly):
    r"\|(?:[^{}|\\]|\\.)*\}",  # |spoken}
    r"\](?:\((?:[^()\\]|\\.|\([^()]*\))*\)|\[[^\[\]]*\])",  # ](address)
    r"[!^]?\[[^\[\]]*\](?:\([^()]*\))?",  # [pause 1s], [^1], ![image](address)
    r"</?[A-Za-z][^<>]*>|<!--.*?-->",
)
_SKIPPED_REGEXES = tuple(re.compile(pattern, re.DOTALL) for pattern in _SKIPPED_PATTERNS)
"""Patterns for text between two characters of the paragraph, the likeliest last."""
_SKIPPED_STARTS = frozenset("*_`\\>[]{}<#|^!") | frozenset(map(chr, (*range(1, 9), *range(14, 32))))
_BREAK = re.compile(r"<br\b[^<>]*>", re.IGNORECASE)
_SPACE = re.compile(r"\s+")
_ENTITY = re.compile(r"&#?\w{1,31};")
_ITEM = re.compile(r"(?:[-+*]|\d{1,9}[.)])(?=\s)")
_PARAGRAPHS = re.compile(r"\A|\n[^\S\n]*\n")

Span = tuple[int, int]


def aligned(source: str, text: str) -> list[Span] | None:
    """The span in the source of each character of a paragraph; None if it cannot be found."""
    for start in _PARAGRAPHS.finditer(source):
        if spans := _Alignment(source, text).search(start.end()):
            return spans
    return None


class _Alignment:
    """A search through a source.

    A state is the number of characters found so far, with the offset behind them in the source.
    """

    def __init__(self, source: str, text: str) -> None:
        self.source = source
        self.text = text
        self.previous_states: dict[Span, Span] = {}
        """State -> the state before it."""

    def search(self, start: int) -> list[Span] | None:
        """Search from an offset; None if the paragraph does not start there."""
        stack = [(0, start)]
        self.previous_states[0, start] = (-1, -1)
        remaining_tries = _TRIES_PER_CHARACTER * (len(self.source) + 100)
        while stack and remaining_tries:
            remaining_tries -= 1
            state = stack.pop()
            if state[0] == len(self.text):
                return self._spans(state)
            for following in self._next_states(*state):
                if following not in self.previous_states:
                    self.previous_states[following] = state
                    stack.append(following)
        return None

    def _spans(self, state: Span) -> list[Span]:
        """The spans of the characters on the way to a state."""
        spans: list[Span] = []
        while state[0] > 0:
            previous = self.previous_states[state]
            if previous[0] < state[0]:
                spans.append((previous[1], state[1]))
            state = previous
        return spans[::-1]

    def _next_states(self, found_count: int, offset: int) -> Iterator[Span]:
        """Yields the states that may follow, the likeliest last.

        They have found another character, or have skipped marks or spaces of the source.
        """
        space_match = _SPACE.match(self.source, offset) or _BREAK.match(self.source, offset)
        skipped_matches = [
            mark.match(self.source, offset)
            for mark in self._skippable_patterns(found_count, offset)
        ]
        if found_count == 0 or self.text[found_count - 1].isspace():
            skipped_matches.append(space_match)
        yield from ((found_count, match.end()) for match in skipped_matches if match)
        character = self.text[found_count]
        if entity := _ENTITY.match(self.source, offset):
            decoded = html.unescape(entity[0])
            if decoded == character or (decoded.isspace() and character.isspace()):
                yield found_count + 1, entity.end()
        if character.isspace() and space_match:
            yield found_count + 1, space_match.end()
        elif not character.isspace() and self.source.startswith(character, offset):
            yield found_count + 1, offset + 1

    def _skippable_patterns(self, found_count: int, offset: int) -> Sequence[re.Pattern[str]]:
        """Patterns that may match at an offset and are not spoken."""
        inner_patterns = (
            _SKIPPED_REGEXES if self.source[offset : offset + 1] in _SKIPPED_STARTS else ()
        )
        return inner_patterns if found_count else (*inner_patterns, LABEL, _ITEM)
