"""Maps the times of spoken words to the words as written.

Exact, since every change is known: "Missus Medley" is “Mrs. Medley”. Knows no sound.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from narrator.sound.timing import TimedWord
from narrator.text.normalize import SpokenText
from narrator.text.words import is_split_by_characters

_WORD_GAP = re.compile(r"(?:[\s—–…]|--|\.\.)\W*\Z")
"""Separator between two words, at the end of the text between them."""


def written_times(
    text: str, spoken: SpokenText, words: Sequence[TimedWord], language: str
) -> tuple[TimedWord, ...]:
    """Convert timed words of `spoken.text` to timed words of `text`, its source.

    Text that is written as one word, or changed as one, is one word, from the beginning of its
    first spoken word to the end of its last ("£23": "twenty-three pounds"). Marks belong to the
    word that they touch; unspoken text belongs to none.
    """
    pieces = list(_align_source(text, spoken))
    timed: list[TimedWord] = []
    pending_start: float | None = None  # by words that are spoken and not written
    piece_index = 0
    for word in words:
        while piece_index < len(pieces) - 1 and pieces[piece_index].spoken_last <= word.first:
            piece_index += 1
        first, last = _source_span(text, pieces[piece_index:], word)
        if first == last:
            pending_start = word.start if pending_start is None else pending_start
            continue
        timed_word = TimedWord(
            first, last, word.start if pending_start is None else pending_start, word.stop
        )
        pending_start = None
        if timed and not _is_apart(text, timed[-1], timed_word, language):
            previous = timed.pop()
            timed_word = replace(previous, last=max(previous.last, last), stop=word.stop)
        timed.append(timed_word)
    if pending_start is not None and timed:
        timed[-1] = replace(timed[-1], stop=words[-1].stop)
    return tuple(_extend_to_marks(text, timed))


@dataclass(frozen=True, slots=True)
class _Aligned:
    """A span of the source, `text[first:last]`, aligned with its span of the spoken text."""

    first: int
    last: int
    spoken_first: int
    spoken_last: int
    is_changed: bool
    """False if both are equal letter by letter."""


def _align_source(text: str, spoken: SpokenText) -> Iterator[_Aligned]:
    """Yield the spans of the source, changed and unchanged, with their spoken spans."""
    source_offset = spoken_offset = 0
    for change in spoken.changes:
        change_start = spoken_offset + change.start - source_offset
        yield _Aligned(source_offset, change.start, spoken_offset, change_start, is_changed=False)
        spoken_offset = change_start + len(change.spoken)
        if any(map(str.isalnum, change.written + change.spoken)):  # else they are marks alone
            yield _Aligned(change.start, change.stop, change_start, spoken_offset, is_changed=True)
        source_offset = change.stop
    yield _Aligned(source_offset, len(text), spoken_offset, len(spoken.text), is_changed=False)


def _source_span(text: str, pieces: Sequence[_Aligned], word: TimedWord) -> tuple[int, int]:
    """Return the source span of a spoken word, without spaces around it; empty if it has none."""
    spans = []
    for piece in pieces:
        overlap_start, overlap_stop = (
            max(piece.spoken_first, word.first),
            min(piece.spoken_last, word.last),
        )
        if overlap_start < overlap_stop:
            shift = piece.first - piece.spoken_first
            spans += [
                (piece.first, piece.last)
                if piece.is_changed
                else (overlap_start + shift, overlap_stop + shift)
            ]
    first = min((span[0] for span in spans), default=0)
    source_part = text[first : max((span[1] for span in spans), default=0)]
    start = first + len(source_part) - len(source_part.lstrip())
    return start, start + len(source_part.strip())


def _is_apart(text: str, previous: TimedWord, word: TimedWord, language: str) -> bool:
    """Return True if two words are separate as written."""
    if word.first < previous.last:
        return False
    return is_split_by_characters(language) or bool(
        _WORD_GAP.search(text[previous.first : word.first])
    )


def _extend_to_marks(text: str, words: Sequence[TimedWord]) -> Iterator[TimedWord]:
    """Yield words with adjacent marks; between two words, opening marks go with the second."""
    previous_end = 0
    ends = [*(next_word.first for next_word in words[1:]), len(text)]
    for word, end in zip(words, ends, strict=False):
        first, last = word.first, word.last
        while first > previous_end and _is_mark(text[first - 1]):
            first -= 1
        gap_text = text[last:end]
        is_touching = end < len(text) and all(map(_is_mark, gap_text))
        while last < end and _is_mark(text[last]) and not (is_touching and _opens(text[last])):
            last += 1
        previous_end = last
        yield replace(word, first=first, last=last)


def _opens(mark: str) -> bool:
    return unicodedata.category(mark) in ("Ps", "Pi")


def _is_mark(character: str) -> bool:
    return not (character.isspace() or character.isalnum())
