"""Turns the word times that an engine reports into times of a take's words.

Engines divide a text in their own ways, join words and split numbers; here their times are mapped
to the `text.words` of the take's text. Knows no engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from narrator.engines import Speech
from narrator.sound.audio import Samples
from narrator.sound.timing import TimedWord, trim_words
from narrator.text.words import words


def spoken_words(
    text: str,
    language: str,
    parts: Sequence[tuple[str, Speech, float]],
    samples: Samples,
    rate: int,
) -> tuple[TimedWord, ...]:
    """Returns the times of the words of a take, from those that its engine reported for its parts.

    A part is its text, its speech, and the seconds by which it lies later in the take. Empty where
    the engine reported nothing.
    """
    engine_words = join_words(text, parts)
    return tuple(map_to_words(text, language, engine_words, samples, rate)) if engine_words else ()


def join_words(text: str, parts: Sequence[tuple[str, Speech, float]]) -> list[TimedWord]:
    """Joins the words of parts; empty where a part is not in the text, or has no word times."""
    joined_words: list[TimedWord] = []
    position = 0
    for part, speech, offset in parts:
        # a first half may end on another mark than the text has there
        begin = text.find(part, position)
        begin = text.find(part[:-1], position) if begin < 0 else begin
        if begin < 0 or not speech.words:
            return []
        position = begin + len(part) - 1
        joined_words += [
            TimedWord(begin + w.first, begin + w.last, offset + w.start, offset + w.stop)
            for w in speech.words
        ]
    return joined_words


def map_to_words(
    text: str, language: str, engine_words: Sequence[TimedWord], samples: Samples, rate: int
) -> list[TimedWord]:
    """Returns the time of each of `text.words`.

    Words that an engine reports together, or not at all, share the time of the report before them.
    """
    spans = words(text, language)
    groups: list[tuple[int, TimedWord]] = []
    """Index of a span, and the time of the spans from it to the next group."""
    word_index = 0
    for engine_word in sorted(engine_words, key=lambda word: word.start):
        while word_index + 1 < len(spans) and engine_word.first >= spans[word_index + 1][0]:
            word_index += 1
        if groups and groups[-1][0] == word_index:  # one word of the text in several
            groups[-1] = word_index, replace(groups[-1][1], stop=engine_word.stop)
        else:
            groups.append((word_index if groups else 0, engine_word))
    times = trim_words([time for _, time in groups], samples, rate)
    text_words: list[TimedWord] = []
    edges = [*(first for first, _ in groups), len(spans)]
    for (first, last), time in zip(pairwise(edges), times, strict=True):
        text_words += _divide_time(spans[first:last], time)
    return text_words


def _divide_time(spans: Sequence[tuple[int, int]], time: TimedWord) -> list[TimedWord]:
    letter_count = sum(last - first for first, last in spans)
    timed_words, start = [], time.start
    for first, last in spans:
        stop = start + (time.stop - time.start) * (last - first) / letter_count
        timed_words.append(TimedWord(first, last, start, stop))
        start = stop
    return timed_words
