"""When an engine says each word of a take, as it told with its speech.

An engine divides a text its own way, takes words together and numbers apart; here that becomes the
`text.words` of the take's text. Knows no engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from narrator.engines import Speech
from narrator.sound.audio import Samples
from narrator.sound.timing import TimedWord, settled
from narrator.text.words import words


def spoken_words(
    text: str,
    language: str,
    parts: Sequence[tuple[str, Speech, float]],
    samples: Samples,
    rate: int,
) -> tuple[TimedWord, ...]:
    """The words of a take of `samples`, as its engine told them of its `parts`: of each its text,
    its speech, and the seconds by which it lies later in the take. None where it told nothing."""
    told = joined(text, parts)
    return tuple(laid(text, language, told, samples, rate)) if told else ()


def joined(text: str, parts: Sequence[tuple[str, Speech, float]]) -> list[TimedWord]:
    """The words of parts as words of the whole text; none where a part is not in it, or told
    nothing."""
    found: list[TimedWord] = []
    at = 0
    for part, speech, later in parts:
        # a first half may end on another mark than the text has there
        begin = text.find(part, at)
        begin = text.find(part[:-1], at) if begin < 0 else begin
        if begin < 0 or not speech.words:
            return []
        at = begin + len(part) - 1
        found += [
            TimedWord(begin + w.first, begin + w.last, later + w.start, later + w.stop)
            for w in speech.words
        ]
    return found


def laid(
    text: str, language: str, told: Sequence[TimedWord], samples: Samples, rate: int
) -> list[TimedWord]:
    """Each of `text.words`, when it is said: those that an engine takes together, or says nothing
    of, share the time of what it told before them."""
    spans = words(text, language)
    groups: list[tuple[int, TimedWord]] = []
    """Place of a span, and the time of it and of those until the next group."""
    place = 0
    for one in sorted(told, key=lambda word: word.start):
        while place + 1 < len(spans) and one.first >= spans[place + 1][0]:
            place += 1
        if groups and groups[-1][0] == place:  # one word of the text in several
            groups[-1] = place, replace(groups[-1][1], stop=one.stop)
        else:
            groups.append((place if groups else 0, one))
    times = settled([time for _, time in groups], samples, rate)
    found: list[TimedWord] = []
    edges = [*(first for first, _ in groups), len(spans)]
    for (first, last), time in zip(pairwise(edges), times, strict=True):
        found += _shared(spans[first:last], time)
    return found


def _shared(spans: Sequence[tuple[int, int]], time: TimedWord) -> list[TimedWord]:
    whole = sum(last - first for first, last in spans)
    found, at = [], time.start
    for first, last in spans:
        stop = at + (time.stop - time.start) * (last - first) / whole
        found.append(TimedWord(first, last, at, stop))
        at = stop
    return found
