"""Corrections of takes by their records: bounds, what the text asks for, what is left alone."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from narrator.speech.corrections import (
    Correction,
    UsualSpeech,
    asks_for_loudness,
    asks_for_softness,
    correction_of,
    usual_speech,
)
from narrator.speech.plan import Step
from narrator.speech.steadiness import MIN_TAKES
from narrator.speech.store import Record
from tests import books
from tests.fakes import HumEngine

RATE = 24_000
USUAL = UsualSpeech(level=-24.0, pace=0.0)
PLAIN, SHOUT, WHISPER = "The ferry was late.", "“Wait for me!”", "“Come,” he whispered."


@pytest.fixture(scope="module")
def steps(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Step]:
    """Steps by their text."""
    path = books.brief(
        tmp_path_factory.mktemp("book"),
        books.MANIFEST + "pauses: {line: 0.7}\n",
        one=f"{PLAIN}\n\n{SHOUT}\n\n{WHISPER}\n",
    )
    return {step.chunk.text: step for step in books.plan(path, HumEngine()).steps}


def take(level: float = -24.0, *, seconds: float = 6.0, peak: float = -8.0, pace: float = 1.0,
         faults: tuple[str, ...] = ()) -> Record:  # fmt: skip
    length = round(seconds * RATE)
    return Record("0" * 40, "", length, RATE, 0, length, level, peak, voice={"pace": pace},
                  faults=faults)  # fmt: skip


@pytest.mark.parametrize(
    ("record", "gain"),
    [
        (take(-22.5), 0.0),  # at the limit
        (take(-22.3), 0.0),  # less than half a step beyond
        (take(-21.5), -1.0),
        (take(-27.0), 1.5),
        (take(-14.0), -6.0),  # not more
        (take(-36.0), 6.0),
        (take(-27.0, peak=-2.2), 1.0),  # not into clipping
        (take(-27.0, peak=-0.5), 0.0),
        (take(-22.0, seconds=0.8), 0.0),  # a word is louder than a sentence
        (take(-18.25, seconds=0.8), -2.0),
        (take(-120.0), 0.0),
    ],
)
def test_a_take_is_brought_back_to_a_limit_around_the_usual_level(steps, record, gain):
    assert correction_of(steps[PLAIN], record, USUAL) == Correction(gain=gain)


def test_a_shout_stays_loud_and_a_whisper_soft(steps):
    assert not correction_of(steps[SHOUT], take(-18.0), USUAL)
    assert not correction_of(steps[WHISPER], take(-30.0), USUAL)


def test_a_shout_that_is_too_soft_is_raised_and_a_whisper_that_is_too_loud_lowered(steps):
    assert correction_of(steps[SHOUT], take(-30.0), USUAL).gain == 4.5
    assert correction_of(steps[WHISPER], take(-18.0), USUAL).gain == -4.5


@pytest.mark.parametrize(
    ("text", "language", "is_loud", "is_soft"),
    [
        ("Wait!", "en-GB", True, False),
        ("I said NO, and left.", "en-GB", True, False),
        ("“Go,” she Shouted.", "en-GB", True, False),
        ("“Go,” she murmured.", "en-GB", False, True),
        ("A whiskered man sat down.", "en-GB", False, False),
        ("„Geh“, flüsterte er.", "de", False, True),
        ("« Va », chuchota-t-elle.", "fr", False, True),
        ("—Ven —gritó.", "es", True, False),
        ("— Иди, — прошептала она.", "ru", False, True),
        ("他低声说。", "zh", False, True),
        ("“Go,” she said.", "xx", False, False),
    ],
)
def test_a_text_asks_for_a_raised_or_a_lowered_voice(text, language, is_loud, is_soft):
    assert asks_for_loudness(text, language) == is_loud
    assert asks_for_softness(text, language) == is_soft


@pytest.mark.parametrize(
    ("record", "speed"),
    [
        (take(pace=1.09), 1.0),
        (take(pace=1.14), 0.96),
        (take(pace=1.5), 0.94),  # not more
        (take(pace=0.88), 1.03),
        (take(pace=0.6), 1.06),
        (take(pace=1.2, seconds=1.0), 1.0),  # few words do not tell
        (take(pace=0.0), 1.0),
        (replace(take(), voice={}), 1.0),  # of an earlier version
        (take(pace=1.5, faults=("too short",)), 1.0),  # its text may be incomplete
    ],
)
def test_a_take_is_stretched_towards_the_usual_pace(steps, record, speed):
    correction = correction_of(steps[PLAIN], record, UsualSpeech(pace=0.0))
    assert correction.gain == 0
    assert correction.speed == pytest.approx(speed)


def test_a_take_that_its_author_chose_keeps_its_pace_and_with_a_style_of_its_own_its_level(steps):
    pinned = replace(steps[PLAIN], pinned=True)
    chosen = take(-18.0, pace=1.5)
    assert correction_of(pinned, chosen, USUAL) == Correction(gain=-4.5)
    styled = replace(chosen, parameters={"style": "in a shout"})
    assert not correction_of(pinned, styled, USUAL)


def random_takes(seed: int) -> list[Record]:
    draw = random.Random(seed)
    return [
        take(draw.gauss(-24, 1), seconds=draw.uniform(1, 12), pace=draw.gauss(1.0, 0.05))
        for _ in range(150)
    ]


def test_what_is_usual_does_not_depend_on_the_order_of_takes():
    takes = random_takes(1)
    usual = usual_speech(takes)
    for seed in range(5):
        random.Random(seed).shuffle(takes)
        assert usual_speech(takes) == usual


def test_another_take_seldom_changes_what_is_usual():
    changes = 0
    for seed in range(40):
        takes = random_takes(seed)
        changes += usual_speech([*takes, take(-10.0, pace=2.0)]) != usual_speech(takes)
    assert changes <= 4


def test_a_few_takes_tell_nothing():
    assert usual_speech([take()] * (MIN_TAKES - 1)) == UsualSpeech()
    assert usual_speech([take()] * MIN_TAKES) == USUAL


def test_a_correction_says_what_is_done():
    assert str(Correction(2.5, 0.97)) == "2.5 dB louder, 3 % slower"
    assert str(Correction(-0.5, 1.06)) == "0.5 dB softer, 6 % faster"
    assert not Correction()
