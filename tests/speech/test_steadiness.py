from __future__ import annotations

from dataclasses import asdict, replace
from itertools import pairwise

import numpy as np
import pytest

from narrator.speech.frames import BANDS
from narrator.speech.scores import Standard
from narrator.speech.steadiness import (
    LIKENESS,
    MAX_SPREADS,
    MIN_TAKES,
    NOTICEABLE_TIMBRE,
    TIMBRE,
    Deviation,
    UsualVoice,
    VoicedTake,
)
from narrator.speech.store import Record
from narrator.speech.voice_figures import VoiceFigures, pack_timbre

RATE = 24_000


def record_of(
    place: int = 0, *, level: float = -23.0, tilt: float = 0.0, **figures: float
) -> Record:
    """The record of a take of one voice; takes at other places differ a little."""
    draw = np.random.default_rng(place)
    bands = draw.normal(0, 0.6, BANDS) + np.linspace(tilt, -tilt, BANDS)
    voice = VoiceFigures(
        pitch=120 * 2 ** (draw.normal(0, 0.02)),
        pitch_range=6.0,
        decay=0.04 + 0.005 * draw.random(),
        pauses=0.1,
        noise=-65.0,
        start_pitch=130 * 2 ** (draw.normal(0, 0.02)),
        start_level=-20.0,
        pace=1.3 * 2 ** draw.normal(0, 0.06),
        timbre=pack_timbre(bands.astype(np.float32)),
    )
    return Record(
        "0" * 40, "", 6 * RATE, RATE, 0, 6 * RATE, level + draw.normal(0, 0.3), -3.0,
        voice={**asdict(voice), **figures},
    )  # fmt: skip


def take(place: int = 0, **figures: float) -> VoicedTake:
    voiced = VoicedTake.of(record_of(place, **figures))
    assert voiced is not None
    return voiced


def heard(place: int, likeness: float = 1.0, size: int = 192) -> VoicedTake:
    """A take whose engine has an encoder of speakers; `likeness` is 0 for somebody else."""
    speaker = np.random.default_rng(place).normal(0, 0.03, size)
    speaker[:2] += likeness, 1 - likeness
    unit = (speaker / np.linalg.norm(speaker)).astype(np.float32)
    return replace(take(place), embedding=unit)


def after(place: int, **figures: float) -> VoicedTake:
    """A take that goes on from another one."""
    return replace(take(place, **figures), previous=take(place + 100))


USUAL = UsualVoice.of([after(place) for place in range(40)])
assert USUAL is not None


def outlying(voiced: VoicedTake) -> dict[str, str]:
    assert USUAL is not None
    deviations = USUAL.unexplained_deviations(voiced)
    return {
        deviation.measure: deviation.message for deviation in deviations if deviation.sticks_out
    }


def test_no_take_of_a_steady_voice_sticks_out():
    assert not [place for place in range(1000, 1300) if outlying(take(place))]


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"pitch": 145.0}, "3.3 semitones higher than this speaker usually is"),
        ({"pace": 1.75}, "faster than this speaker usually is"),
        ({"pace": 0.9}, "slower than this speaker usually is"),
        ({"level": -29.0}, "softer than this speaker usually is"),
        ({"tilt": 4.0}, "sounds unlike this speaker"),
        ({"pitch_change": -7.0}, "falls by 7.0 semitones more than usual"),
        ({"pace_change": 1.0}, "speeds up by 100 %"),
        ({"level_change": -9.0}, "fades by 9.0 dB more than usual"),
        ({"noise": -45.0}, "20 dB more noise in its pauses than this speaker usually has"),
        ({"decay": 0.15}, "s longer than this speaker usually does"),
        ({"start_pitch": 215.0}, "semitones too high for the line before"),
        ({"start_level": -30.0}, "dB too soft for the line before"),
    ],
)
def test_a_take_that_differs_audibly_sticks_out_by_what_differs(other, message):
    (found,) = outlying(after(5000, **other)).values()
    assert message in found


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ({"noise": -70.0}, {"noise": -54.5}, "16 dB more noise in its pauses than the line before"),
        ({"decay": 0.11}, {"decay": 0.001}, "echoes 0.11 s less than the line before"),
    ],
)
def test_neighbours_that_are_usual_by_themselves_may_not_go_together(first, second, message):
    before = replace(take(0, **first), seconds=5.0)
    voiced = replace(take(0, **second), seconds=5.0, previous=before)
    (found,) = outlying(voiced).values()
    assert message in found


@pytest.mark.parametrize(("tilt", "word"), [(7.0, "duller"), (-7.0, "brighter")])
def test_a_change_that_lasts_is_found_where_it_begins(tilt, word):
    takes = [take(place, tilt=tilt if place >= 20 else 0.0) for place in range(40)]
    takes = [takes[0], *(replace(one, previous=before) for before, one in pairwise(takes))]
    usual = UsualVoice.of(takes)
    assert usual is not None
    found = {
        place: one.message
        for place, voiced in enumerate(takes)
        for one in usual.unexplained_deviations(voiced)
        if one.sticks_out
    }
    assert list(found) == [20]
    assert f"sounds {word} than the line before, by" in found[20]


def test_what_follows_a_take_that_sticks_out_does_not_stick_out_for_it():
    assert list(outlying(take(1, noise=-40.0))) == ["noise"]
    assert not outlying(replace(take(1), previous=take(1, noise=-40.0)))


def test_short_neighbours_may_differ_more_at_a_seam():
    before = take(0, noise=-70.0)
    second = replace(take(0, noise=-54.5), previous=before)
    assert outlying(second)
    assert not outlying(replace(second, previous=replace(before, seconds=2.0)))


def test_what_nobody_notices_does_not_stick_out_of_a_voice_without_any_spread():
    same = [take(1)] * MIN_TAKES
    usual = UsualVoice.of(same)
    assert usual is not None
    little = replace(same[0], level=same[0].level + 2.5)
    assert not any(one.sticks_out for one in usual.deviations(little))


def test_a_take_that_differs_audibly_does_not_stick_out_of_a_lively_voice():
    lively = [take(place, pitch=120 * 2 ** (place % 8 / 8)) for place in range(40)]
    usual = UsualVoice.of(lively)
    assert usual is not None
    (pitch,) = (one for one in usual.deviations(lively[7]) if one.measure == "pitch")
    assert abs(pitch.share) > 1
    assert pitch.height == abs(pitch.spreads) / MAX_SPREADS < 1


def test_a_tenth_of_bad_takes_does_not_move_what_is_usual():
    assert USUAL is not None
    mixed = UsualVoice.of(
        [*(take(place) for place in range(36)), *(take(place, pitch=180.0) for place in range(4))]
    )
    assert mixed is not None
    assert mixed.medians["pitch"] == pytest.approx(USUAL.medians["pitch"], abs=0.15)
    assert np.abs(mixed.bands - USUAL.bands).max() < 0.5


def test_the_same_deviation_counts_less_in_a_short_take():
    assert USUAL is not None
    high = take(5000, pitch=133.0)
    assert any(one.sticks_out for one in USUAL.deviations(replace(high, seconds=5.0)))
    assert not any(one.sticks_out for one in USUAL.deviations(replace(high, seconds=2.0)))
    settled, short = (USUAL.deviations(replace(high, seconds=x))[0].spreads for x in (5.0, 2.5))
    assert short == pytest.approx(settled * 0.5**0.75)


def test_the_long_last_word_of_a_short_take_is_no_change_of_pace():
    slowing = after(5000, pace_change=-1.5)
    assert list(outlying(slowing)) == ["pace change"]
    assert not outlying(replace(slowing, seconds=3.5))


def test_a_chapter_of_few_takes_is_not_said_to_sound_otherwise():
    assert USUAL is not None
    starts = range(1000, 1400, 4)
    chapters = [[take(place) for place in range(start, start + 4)] for start in starts]
    timbres = [USUAL.chapter_shares(takes)[TIMBRE] for takes in chapters]
    assert max(timbres) < 0.25
    assert sum(timbres) / len(timbres) < 0.1
    tilted = [take(place, tilt=1.5) for place in range(1000, 1004)]
    tilt = np.sqrt(np.square(np.linspace(1.5, -1.5, BANDS)).mean()) / NOTICEABLE_TIMBRE
    assert USUAL.chapter_shares(tilted)[TIMBRE] == pytest.approx(tilt, rel=0.25)


def test_a_chapter_in_another_room_is_told():
    assert USUAL is not None
    far = USUAL.chapter_shares([take(place, decay=0.1) for place in range(1000, 1004)])
    assert far["echo"] > 0.5


def test_a_step_is_unusual_where_no_seam_is_known():
    usual = UsualVoice.of([take(0)], min_takes=1)
    assert usual is not None
    before = take(0, noise=-70.0)
    shares = {
        noise: [
            one.share
            for one in usual.deviations(replace(take(0, noise=noise), previous=before))
            if one.measure == "noise at the seam"
        ]
        for noise in (-70.0, -58.0)
    }
    assert shares == {-70.0: [0.0], -58.0: [1.0]}


@pytest.mark.parametrize(
    ("other", "is_worse"), [({}, False), ({"start_pitch": 200.0}, True), ({"noise": -50.0}, True)]
)
def test_a_try_is_scored_by_its_seam(other, is_worse):
    tries = [record_of(0), record_of(0), record_of(0, **other)]
    standard = Standard.of_tries(tries, previous=record_of(0, noise=-66.0))
    first, last = (standard.score(tries[place]).get("seam", 0.0) for place in (0, 2))
    assert (last > first + 0.5) == is_worse


def test_a_take_that_goes_on_from_none_has_no_seam():
    assert not outlying(take(5000, start_pitch=190.0))


def test_order_is_of_no_consequence():
    takes = [take(place) for place in range(20)]
    first, second = UsualVoice.of(takes), UsualVoice.of(takes[::-1])
    assert first is not None
    assert second is not None
    assert (first.medians, first.spreads) == (second.medians, second.spreads)
    assert np.array_equal(first.bands, second.bands)


def test_a_take_that_is_less_like_its_speaker_sticks_out():
    usual = UsualVoice.of([heard(place) for place in range(40)])
    assert usual is not None

    def of_likeness(voiced: VoicedTake) -> list[Deviation]:
        return [one for one in usual.deviations(voiced) if one.measure == LIKENESS]

    assert not [place for place in range(200, 260) if of_likeness(heard(place))[0].sticks_out]
    (found,) = of_likeness(heard(300, likeness=0.4))
    assert found.sticks_out
    assert found.message == "sounds less like this speaker than usual"
    assert not of_likeness(take(5))
    assert not of_likeness(heard(5, size=256))


def test_a_chapter_by_somebody_else_differs_in_likeness():
    usual = UsualVoice.of([heard(place) for place in range(40)])
    assert usual is not None
    alike = usual.chapter_shares([heard(place) for place in range(300, 306)])
    other = usual.chapter_shares([heard(place, likeness=0.4) for place in range(300, 306)])
    assert alike[LIKENESS] < 0.3
    assert other[LIKENESS] > 1
    assert LIKENESS not in usual.chapter_shares([take(place) for place in range(300, 306)])


def test_of_three_tries_the_one_in_another_voice_is_the_least_like():
    tries = [heard(1), heard(2), heard(3, likeness=0.3)]
    usual = UsualVoice.of(tries, min_takes=1)
    assert usual is not None
    shares = [
        deviation.share
        for voiced in tries
        for deviation in usual.deviations(voiced)
        if deviation.measure == LIKENESS
    ]
    assert max(shares) == shares[2] > 1


@pytest.mark.parametrize("size", [None, 256])
def test_without_one_encoder_of_voices_takes_are_compared_by_the_other_measures(size):
    others = [heard(place, size=size) if size else take(place) for place in range(7, 40)]
    usual = UsualVoice.of([heard(place) for place in range(7)] + others)
    assert usual is not None
    assert usual.embedding is None
    assert LIKENESS not in {one.measure for one in usual.deviations(heard(50))}


def test_few_takes_tell_nothing():
    assert UsualVoice.of([take(place) for place in range(MIN_TAKES - 1)]) is None


@pytest.mark.parametrize(
    "voice", [{}, {"timbre": "AAAA"}, {"heart_rate": 3.0}, asdict(VoiceFigures())]
)
def test_takes_without_measures_and_of_later_versions_are_left_out(voice):
    record = Record("0" * 40, "", 4 * RATE, RATE, 0, 4 * RATE, -23.0, -3.0, voice=voice)
    assert VoicedTake.of(record) is None


def test_short_takes_are_left_out():
    record = record_of()
    assert VoicedTake.of(replace(record, stop=round(2.1 * RATE))) is not None
    assert VoicedTake.of(replace(record, stop=round(1.9 * RATE))) is None


def test_the_deviation_of_a_timbre_has_no_sign():
    assert USUAL is not None
    deviations = {one.measure: one for one in USUAL.deviations(take(9, tilt=-4.0))}
    assert deviations[TIMBRE].amount > 0
