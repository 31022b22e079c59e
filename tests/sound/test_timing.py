from __future__ import annotations

import numpy as np
import pytest

from narrator.sound.timing import TimedWord, snap_words, trim_words
from tests.sounds import RATE, silence, tone


def test_a_pause_is_part_of_no_word() -> None:
    sound = np.concatenate([silence(0.3), tone(0.5), silence(0.4), tone(0.6), silence(0.2)])
    before, after = TimedWord(0, 3, 0.1, 1.0), TimedWord(4, 8, 1.0, 2.0)
    one, two = trim_words([before, after], sound, RATE)
    assert (one.start, one.stop) == pytest.approx((0.3, 0.8), abs=0.011)
    assert (two.start, two.stop) == pytest.approx((1.2, 1.8), abs=0.011)


def test_a_word_in_which_nothing_is_heard_stays_as_it_is() -> None:
    sound = np.concatenate([tone(0.5), silence(1)])
    word = TimedWord(0, 3, 0.7, 0.9)
    assert trim_words([word], sound, RATE) == (word,)
    assert trim_words([word], silence(1), RATE) == (word,)


def test_words_timed_late_begin_and_end_at_the_pauses() -> None:
    sound = np.concatenate([silence(0.3), tone(0.5), silence(0.4), tone(0.6), silence(0.2)])
    late = [TimedWord(0, 3, 0.45, 1.05), TimedWord(4, 5, 1.05, 1.5), TimedWord(6, 9, 1.5, 1.9)]
    found = snap_words(late, sound, RATE, lag_seconds=0.1)
    times = [(round(word.start, 2), round(word.stop, 2)) for word in found]
    assert times == [(0.3, 0.8), (1.2, 1.4), (1.4, 1.8)]
    assert snap_words([], sound, RATE) == ()
