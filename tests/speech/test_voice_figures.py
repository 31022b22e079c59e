from __future__ import annotations

import numpy as np
import pytest

from narrator.sound.timing import TimedWord
from narrator.speech.frames import BANDS, analyse_frames
from narrator.speech.voice_figures import (
    VoiceFigures,
    mean_speaker,
    measure_voice,
    pack_speaker,
    unpack_speaker,
    unpack_timbre,
)
from tests import sounds
from tests.sounds import RATE, silence


def buzz(seconds: float, hertz: float, *, level: float = -22, fall: float = 1.0) -> sounds.Samples:
    """A steady voice; its harmonics fall with the power `fall` of their number."""
    times = np.arange(round(seconds * RATE)) / RATE
    voice = sum(np.sin(2 * np.pi * hertz * n * times) / n**fall for n in range(1, 30))
    voice *= 10 ** (level / 20) / np.sqrt(np.mean(np.square(voice)))
    return np.asarray(voice, np.float32)


def measured(*parts: sounds.Samples, words: tuple[TimedWord, ...] = ()) -> VoiceFigures:
    samples = np.concatenate(parts)
    return measure_voice(samples, RATE, analyse_frames(samples, RATE), 4.0, words)


@pytest.mark.parametrize("hertz", [80, 140, 260])
def test_a_pitch_is_measured_within_a_third_of_a_semitone(hertz):
    assert measured(buzz(4, hertz)).pitch == pytest.approx(hertz, rel=0.02)


def test_pace_is_that_of_the_sound_without_pauses_and_pauses_are_a_share():
    figures = measured(silence(0.3), buzz(1.5, 120), silence(1), buzz(1.5, 120), silence(0.3))
    assert figures.pace == pytest.approx(4 / 3, rel=0.03)
    assert figures.pauses == pytest.approx(0.25, abs=0.02)


def test_changes_from_the_first_third_to_the_last_are_measured():
    figures = measured(buzz(3, 120), buzz(3, 151, level=-28))
    assert figures.pitch_change == pytest.approx(4, abs=0.3)
    assert figures.level_change == pytest.approx(-6, abs=0.5)
    assert figures.start_pitch == pytest.approx(120, rel=0.02)
    assert measured(buzz(2, 140)).start_pitch == pytest.approx(140, rel=0.02)
    steady = measured(buzz(6, 120))
    assert (steady.pitch_change, steady.level_change, steady.timbre_change) == pytest.approx(
        (0, 0, 0), abs=0.2
    )
    assert measured(buzz(3, 120), buzz(3, 120, fall=1.8)).timbre_change > 5


def test_a_pace_that_changes_is_told_by_the_times_of_words():
    slow = [TimedWord(5 * n, 5 * n + 4, 0.5 * n, 0.5 * n + 0.5) for n in range(4)]
    fast = [TimedWord(5 * n, 5 * n + 4, 2 + 0.25 * n, 2.25 + 0.25 * n) for n in range(16)]
    assert measured(buzz(6, 120), words=(*slow, *fast)).pace_change == pytest.approx(1, abs=0.1)
    assert measured(buzz(6, 120)).pace_change == 0


def test_timbre_is_independent_of_level_and_pitch_but_not_of_the_spectrum():
    timbres = [
        unpack_timbre(measured(sound).timbre)
        for sound in (buzz(4, 120), buzz(4, 120, level=-32), buzz(4, 120, fall=1.8))
    ]
    assert timbres[0].shape == (BANDS,)
    assert timbres[0] == pytest.approx(timbres[1], abs=0.5)
    assert np.sqrt(np.square(timbres[0] - timbres[2]).mean()) > 4


def test_an_echo_is_heard_where_sounds_die_away():
    dry = np.concatenate([buzz(0.6, 120), silence(0.5)] * 4)
    draw = np.random.default_rng(1)
    times = np.arange(round(0.4 * RATE)) / RATE
    room = draw.standard_normal(len(times)) * 10 ** (-3 * times / 0.4)
    wet = dry + 0.6 * np.convolve(dry, room / np.sqrt(np.square(room).sum()))[: len(dry)]
    assert measured(dry).decay < 0.05
    assert measured(wet.astype(np.float32)).decay > measured(dry).decay + 0.05


def test_a_take_without_a_voice_has_no_figures():
    assert measured(sounds.noise(4)) == VoiceFigures()


@pytest.mark.parametrize("text", ["", "AAAA", "not base64!"])
def test_a_timbre_that_is_none_is_refused(text):
    with pytest.raises(ValueError):
        unpack_timbre(text)


def test_an_embedding_keeps_its_direction_and_not_its_length():
    embedding = np.random.default_rng(1).normal(0, 5, 192).astype(np.float32)
    unpacked = unpack_speaker(pack_speaker(embedding))
    assert unpacked is not None
    assert np.linalg.norm(unpacked) == pytest.approx(1)
    assert unpacked @ embedding / np.linalg.norm(embedding) > 0.9999
    assert unpack_speaker(pack_speaker(np.zeros(3, np.float32))) is None


@pytest.mark.parametrize("text", ["AAAA", "not base64!"])
def test_an_embedding_that_is_none_is_refused(text):
    with pytest.raises(ValueError):
        unpack_speaker(text)


def test_parts_of_a_take_have_their_mean_embedding_if_all_have_one():
    parts = [pack_speaker(np.array(vector, np.float32)) for vector in ([1, 0], [0, 3])]
    assert unpack_speaker(mean_speaker(parts)) == pytest.approx([0.5**0.5, 0.5**0.5])
    assert mean_speaker([parts[0], ""]) == ""
