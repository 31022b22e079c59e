"""Where the characters of a paragraph stand in its source, among marks, links, tags and entities.

A guess by the characters alone: it does not read the source as a script is read, so what is made of
it has to be read again. Time is about proportional to the source.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence

from narrator.text.labels import LABEL

_TRIES = 8
"""Steps for each character of a source, after which it is given up."""
_SKIPPED = (
    r"[*_`\\>\[\]{}<#|\x01-\x08\x0e-\x1f]",
    r"\{[^\\{}|:：\n]{1,400}[:：][^\S\n]*",  # {Ada (softly):
    r"\|(?:[^{}|\\]|\\.)*\}",  # |spoken}
    r"\](?:\((?:[^()\\]|\\.|\([^()]*\))*\)|\[[^\[\]]*\])",  # ](address)
    r"[!^]?\[[^\[\]]*\](?:\([^()]*\))?",  # [pause 1s], [^1], ![image](address)
    r"</?[A-Za-z][^<>]*>|<!--.*?-->",
)
_MARKS = tuple(re.compile(one, re.DOTALL) for one in _SKIPPED)
"""What may stand between two characters, the likelier later."""
_BEGINNINGS = frozenset("*_`\\>[]{}<#|^!") | frozenset(map(chr, (*range(1, 9), *range(14, 32))))
_BREAK = re.compile(r"<br\b[^<>]*>", re.IGNORECASE)
_SPACE = re.compile(r"\s+")
_ENTITY = re.compile(r"&#?\w{1,31};")
_ITEM = re.compile(r"(?:[-+*]|\d{1,9}[.)])(?=\s)")
_PARAGRAPHS = re.compile(r"\A|\n[^\S\n]*\n")

Span = tuple[int, int]


def aligned(source: str, text: str) -> list[Span] | None:
    """From and to where in a source each character of a paragraph stands; None where that cannot be
    told."""
    for start in _PARAGRAPHS.finditer(source):
        if found := _Alignment(source, text).found(start.end()):
            return found
    return None


class _Alignment:
    """Ways through a source: states are how much of the text was found, and how far."""

    def __init__(self, source: str, text: str) -> None:
        self.source = source
        self.text = text
        self.before: dict[Span, Span] = {}
        """State -> the one before it."""

    def found(self, start: int) -> list[Span] | None:
        stack = [(0, start)]
        self.before[0, start] = (-1, -1)
        left = _TRIES * (len(self.source) + 100)
        while stack and left:
            left -= 1
            state = stack.pop()
            if state[0] == len(self.text):
                return self._spans(state)
            for following in self._steps(*state):
                if following not in self.before:
                    self.before[following] = state
                    stack.append(following)
        return None

    def _spans(self, state: Span) -> list[Span]:
        """The characters on the way to a state."""
        spans: list[Span] = []
        while state[0] > 0:
            before = self.before[state]
            if before[0] < state[0]:
                spans.append((before[1], state[1]))
            state = before
        return spans[::-1]

    def _steps(self, done: int, at: int) -> Iterator[Span]:
        """What may come next, the likeliest last."""
        space = _SPACE.match(self.source, at) or _BREAK.match(self.source, at)
        skipped = [mark.match(self.source, at) for mark in self._marks(done, at)]
        if done == 0 or self.text[done - 1].isspace():
            skipped.append(space)
        yield from ((done, match.end()) for match in skipped if match)
        wanted = self.text[done]
        if entity := _ENTITY.match(self.source, at):
            said = html.unescape(entity[0])
            if said == wanted or (said.isspace() and wanted.isspace()):
                yield done + 1, entity.end()
        if wanted.isspace() and space:
            yield done + 1, space.end()
        elif not wanted.isspace() and self.source.startswith(wanted, at):
            yield done + 1, at + 1

    def _marks(self, done: int, at: int) -> Sequence[re.Pattern[str]]:
        """What may stand there and is not heard."""
        within = _MARKS if self.source[at : at + 1] in _BEGINNINGS else ()
        return within if done else (*within, LABEL, _ITEM)
