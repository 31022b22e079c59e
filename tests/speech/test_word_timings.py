"""When an engine says each word, as it told: laid over the words of the text, and kept."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from narrator.engines import Request, Speech
from narrator.sound.timing import TimedWord
from narrator.speech.hearing import word_timings
from narrator.speech.store import Store
from tests import books, spoken
from tests.fakes import HumEngine, hum
from tests.sounds import RATE, tone

SOUND = tone(3.0)


def timed(text: str, *engine_words: TimedWord) -> list[tuple[str, float, float]]:
    timed_words = word_timings.map_to_words(text, "en", engine_words, SOUND, RATE)
    return [(text[w.first : w.last], round(w.start, 2), round(w.stop, 2)) for w in timed_words]


def test_words_taken_together_share_their_time_by_length() -> None:
    engine_words = (TimedWord(0, 2, 0.0, 1.0), TimedWord(7, 10, 1.0, 2.0))
    assert timed("of the man", *engine_words) == [
        ("of", 0, 0.4),
        ("the", 0.4, 1.0),
        ("man", 1.0, 2.0),
    ]


def test_a_word_in_several_parts_has_the_time_of_all() -> None:
    engine_words = (TimedWord(0, 2, 0.0, 0.5), TimedWord(3, 5, 0.5, 1.0), TimedWord(6, 9, 1.0, 2.0))
    assert timed("12.50 now", *engine_words) == [("12.50", 0, 1.0), ("now", 1.0, 2.0)]


def test_words_before_the_first_that_was_told_share_its_time() -> None:
    assert timed("a bee", TimedWord(2, 5, 0.0, 2.0)) == [("a", 0, 0.5), ("bee", 0.5, 2.0)]


def test_halves_are_words_of_the_whole() -> None:
    first = Speech(SOUND, words=(TimedWord(0, 4, 0.2, 1.0),))
    second = Speech(SOUND, words=(TimedWord(0, 4, 0.1, 0.9),))
    timed_words = word_timings.join_words(
        "Rain, rain!", [("Rain.", first, -0.1), ("rain!", second, 2.0)]
    )
    assert timed_words == [
        TimedWord(0, 4, pytest.approx(0.1), pytest.approx(0.9)),
        TimedWord(6, 10, 2.1, 2.9),
    ]
    assert not word_timings.join_words(
        "Rain, rain!", [("Rain.", first, 0), ("rain!", Speech(SOUND), 2)]
    )


def test_word_times_that_an_engine_knows_are_part_of_the_take(tmp_path) -> None:
    def one_word(request: Request) -> Speech:
        return replace(hum(request), words=(TimedWord(0, 3, 0.1, 0.4),))

    path = books.write(tmp_path, books.MANIFEST, books.ONE)
    _, watcher = books.speak(path, HumEngine(fault=one_word))
    store = Store.open(path.parent / "build" / "store")
    assert not store.transcripts.path.exists()
    for _, take in watcher.takes:
        times = store.word_times(take, take.text)
        assert times is not None
        assert times.by == "hum"
        assert len(times.words) == len(take.text.split())


def test_the_words_of_the_draft_voice_are_where_it_sounds() -> None:
    speech = spoken.drafted()
    words = word_timings.map_to_words(spoken.TEXT, "en", speech.words, speech.samples, spoken.RATE)
    assert [spoken.TEXT[w.first : w.last] for w in words] == spoken.TEXT.split()
    assert all(word.stop <= two.start for word, two in pairwise(words))
    [full_stop] = [n for n, w in enumerate(words) if spoken.TEXT[w.first : w.last] == "bread."]
    assert words[full_stop + 1].start - words[full_stop].stop > 0.2  # the pause is no word's
