"""When the words of a spoken text are heard -> when those that are written are.

Exact, since every change on the way is known: "Missus Medley" is “Mrs. Medley”. Knows no sound.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from narrator.sound.timing import TimedWord
from narrator.text.normalize import SpokenText
from narrator.text.words import is_lettered

_PARTED = re.compile(r"(?:[\s—–…]|--|\.\.)\W*\Z")
"""What stands between two words, at the end of the first."""


def written(
    text: str, spoken: SpokenText, words: Sequence[TimedWord], language: str
) -> tuple[TimedWord, ...]:
    """Timed words of `spoken.text` as words of `text`, which it was made of.

    What is written as one, or changed as one, is one, from the beginning of its first word to the
    end of its last ("£23": "twenty-three pounds"). Marks belong to the word that they touch; what
    is not spoken is in none.
    """
    pieces = list(_aligned(text, spoken))
    found: list[TimedWord] = []
    begun: float | None = None  # by words that are spoken and not written
    at = 0
    for word in words:
        while at < len(pieces) - 1 and pieces[at].heard_last <= word.first:
            at += 1
        first, last = _span(text, pieces[at:], word)
        if first == last:
            begun = word.start if begun is None else begun
            continue
        new = TimedWord(first, last, word.start if begun is None else begun, word.stop)
        begun = None
        if found and not _is_apart(text, found[-1], new, language):
            before = found.pop()
            new = replace(before, last=max(before.last, last), stop=word.stop)
        found.append(new)
    if begun is not None and found:
        found[-1] = replace(found[-1], stop=words[-1].stop)
    return tuple(_with_marks(text, found))


@dataclass(frozen=True, slots=True)
class _Aligned:
    """`text[first:last]` of what is written, and where that is in what is spoken."""

    first: int
    last: int
    heard_first: int
    heard_last: int
    changed: bool
    """Or letter by letter the same."""


def _aligned(text: str, spoken: SpokenText) -> Iterator[_Aligned]:
    at = heard = 0
    for change in spoken.changes:
        said = heard + change.start - at
        yield _Aligned(at, change.start, heard, said, changed=False)
        heard = said + len(change.spoken)
        if any(map(str.isalnum, change.written + change.spoken)):  # else they are marks alone
            yield _Aligned(change.start, change.stop, said, heard, changed=True)
        at = change.stop
    yield _Aligned(at, len(text), heard, len(spoken.text), changed=False)


def _span(text: str, pieces: Sequence[_Aligned], word: TimedWord) -> tuple[int, int]:
    """Where a spoken word is written, without spaces around it; empty where it is not."""
    spans = []
    for piece in pieces:
        low, high = max(piece.heard_first, word.first), min(piece.heard_last, word.last)
        if low < high:
            shift = piece.first - piece.heard_first
            spans += [(piece.first, piece.last) if piece.changed else (low + shift, high + shift)]
    first = min((span[0] for span in spans), default=0)
    part = text[first : max((span[1] for span in spans), default=0)]
    start = first + len(part) - len(part.lstrip())
    return start, start + len(part.strip())


def _is_apart(text: str, before: TimedWord, word: TimedWord, language: str) -> bool:
    """Whether a word is another than the one before, as they are written."""
    if word.first < before.last:
        return False
    return is_lettered(language) or bool(_PARTED.search(text[before.first : word.first]))


def _with_marks(text: str, words: Sequence[TimedWord]) -> Iterator[TimedWord]:
    """Words with the marks that touch them; between two, what opens goes with the second."""
    low = 0
    ends = [*(after.first for after in words[1:]), len(text)]
    for word, end in zip(words, ends, strict=False):
        first, last = word.first, word.last
        while first > low and _is_mark(text[first - 1]):
            first -= 1
        between = text[last:end]
        touching = end < len(text) and all(map(_is_mark, between))
        while last < end and _is_mark(text[last]) and not (touching and _opens(text[last])):
            last += 1
        low = last
        yield replace(word, first=first, last=last)


def _opens(mark: str) -> bool:
    return unicodedata.category(mark) in ("Ps", "Pi")


def _is_mark(character: str) -> bool:
    return not (character.isspace() or character.isalnum())
