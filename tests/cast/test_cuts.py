"""Cuts: where a long clip may be cut, by sounds that have pauses where a text has its stops."""

from __future__ import annotations

import re

import numpy as np
import pytest

from narrator.cast import clips, cuts
from narrator.cast.clips import Recording
from narrator.text.pace import expected_seconds
from tests import sounds

FIRST = "Early in the morning a cool wind came over the hills, and the village smelled of bread."
SECOND = "Nobody was in a hurry, for there was time enough for everything that had to be done."
THIRD = "On the far bank the ferryman lit his lamp and waited for the bell."
TEXT = f"{FIRST} {SECOND} {THIRD}"


def spoken(text: str, pace: float = 1.0):
    """Something like speech, as long as the words of a text."""
    return sounds.voice(pace * expected_seconds(re.sub(r"[.,]", "", text), "en"), seed=len(text))


def recording(*parts) -> Recording:
    pieces = [sounds.silence(part) if isinstance(part, float) else part for part in parts]
    return Recording(np.concatenate(pieces)[:, np.newaxis], sounds.RATE)


def seconds(part) -> float:
    return len(part) / sounds.RATE


def test_a_cut_lies_in_the_pause_after_a_sentence():
    one = spoken(FIRST)
    found = cuts.find(recording(0.3, one, 0.6, spoken(SECOND), 0.6, spoken(THIRD), 0.3), TEXT, "en")
    assert found is not None
    assert found.sure
    assert found.transcript == FIRST
    assert found.seconds == pytest.approx(0.3 + seconds(one) + 0.3, abs=0.1)
    assert clips.ADVISED_SECONDS[0] <= found.speech <= clips.ADVISED_SECONDS[1]


@pytest.mark.parametrize("pace", [0.8, pytest.param(1.3, marks=pytest.mark.slow)])
def test_who_speaks_slowly_or_fast_throughout_is_cut_as_surely(pace):
    parts = [spoken(one, pace) for one in (FIRST, SECOND, THIRD)]
    found = cuts.find(recording(parts[0], 0.5, parts[1], 0.5, parts[2], 0.3), TEXT, "en")
    assert found is not None
    assert found.sure
    assert found.transcript in (FIRST, f"{FIRST} {SECOND}")


def test_where_pauses_come_close_to_one_another_a_cut_is_not_sure():
    one = spoken(FIRST)
    half = len(one) * 7 // 8
    parts = (one[:half], 0.5, one[half:], 0.5, spoken(SECOND), 0.5, spoken(THIRD), 0.3)
    found = cuts.find(recording(*parts), TEXT, "en")
    assert found is not None
    assert not found.sure


def test_where_the_only_pause_is_elsewhere_a_cut_is_not_sure():
    whole = spoken(TEXT)
    middle = round(8.5 * sounds.RATE)
    found = cuts.find(recording(whole[:middle], 0.5, whole[middle:], 0.3), TEXT, "en")
    assert found is None or not found.sure


def test_without_a_pause_or_a_second_sentence_there_is_no_cut():
    assert cuts.find(recording(spoken(TEXT), 0.3), TEXT, "en") is None
    parts = (spoken(FIRST), 0.5, spoken(SECOND), 0.3)
    assert cuts.find(recording(*parts), TEXT.replace(".", ","), "en") is None


def test_what_lies_before_a_place_is_kept():
    assert len(cuts.until(recording(2.0), 0.5).channels) == round(0.5 * sounds.RATE)
