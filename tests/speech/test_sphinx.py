"""pocketsphinx finds the words of a text in what the draft voice says of it."""

from __future__ import annotations

import importlib.metadata
import statistics

import numpy as np
import pytest

from narrator.errors import EngineUnavailable
from narrator.sound.timing import TimedWord
from narrator.speech.hearing import SpokenSound, word_timings
from narrator.speech.hearing.sphinx import Sphinx
from narrator.text.words import words
from tests import spoken

SAID = (
    "Twenty-two men, said Mr. Blenkinsop’s aunt, won't be fed — not by me! They left; "
    "the ferryman went to Québec."
)


@pytest.fixture(scope="module")
def sphinx() -> Sphinx:
    pytest.importorskip("pocketsphinx", reason="the extra align is not installed")
    return Sphinx()


def aligned(sphinx: Sphinx, text: str, samples: np.ndarray) -> tuple[TimedWord, ...] | None:
    (timed_words,) = sphinx.align([SpokenSound(samples, spoken.RATE, text, "en-GB")])
    return timed_words


def test_words_are_found_where_the_voice_says_that_it_says_them(sphinx: Sphinx) -> None:
    speech = spoken.drafted(SAID)
    timed_words = aligned(sphinx, SAID, speech.samples)
    assert timed_words is not None
    assert [(word.first, word.last) for word in timed_words] == words(SAID, "en")
    known_words = word_timings.map_to_words(SAID, "en", speech.words, speech.samples, spoken.RATE)
    apart = [
        abs(timed.start - two.start) for timed, two in zip(timed_words, known_words, strict=True)
    ]
    assert statistics.median(apart) < 0.03
    assert sorted(apart)[-3] < 0.15


def test_a_pause_is_no_words(sphinx: Sphinx) -> None:
    timed_words = aligned(sphinx, SAID, spoken.draft(SAID))
    assert timed_words is not None
    mark = next(n for n, word in enumerate(timed_words) if SAID[word.last - 1] == "!")
    assert timed_words[mark + 1].start - timed_words[mark].stop > 0.15


@pytest.mark.parametrize(
    "samples",
    [
        np.zeros(0, np.float32),
        np.zeros(5 * spoken.RATE, np.float32),
        np.random.default_rng(1).normal(0, 0.1, 5 * spoken.RATE).astype(np.float32),
        np.full(spoken.RATE, np.nan, np.float32),
    ],
    ids=["nothing", "silence", "noise", "no numbers"],
)
def test_where_nobody_speaks_no_words_are_found(sphinx: Sphinx, samples: np.ndarray) -> None:
    assert aligned(sphinx, SAID, samples) is None


@pytest.mark.parametrize("text", ["…", "Ωμέγα, привет!", "word " * 600])
def test_what_is_not_said_is_not_found(sphinx: Sphinx, text: str) -> None:
    assert aligned(sphinx, text, spoken.draft()) is None


def test_after_a_sound_without_the_words_it_goes_on(sphinx: Sphinx) -> None:
    noise = np.random.default_rng(2).normal(0, 0.3, spoken.RATE).astype(np.float32)
    sounds = [
        SpokenSound(timed, spoken.RATE, spoken.TEXT, "en") for timed in (spoken.draft(), noise) * 2
    ]
    timed, none, again, none_again = sphinx.align(sounds)
    assert timed is not None
    assert timed == again
    assert none is none_again is None


def test_without_the_package_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", version)
    with pytest.raises(EngineUnavailable, match=r"pip install .*\[align\]"):
        Sphinx()
