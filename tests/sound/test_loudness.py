from __future__ import annotations

import numpy as np
import pytest
import soxr
from numpy.testing import assert_array_equal

from narrator.sound.loudness import Loudness, master, measure
from tests.effort import quick
from tests.sounds import RATE, Samples, blocks, noise, silence, tone, voice

# -- measuring -------------------------------------------------------------------------------------
#
# EBU Tech 3341, table 1, in one channel instead of two: 3 dB higher for as much loudness.

CASES = {
    1: [(20, -23)],
    2: [(20, -33)],
    3: [(10, -36), (60, -23), (10, -36)],
    4: [(10, -72), (10, -36), (60, -23), (10, -36), (10, -72)],
    5: [(20, -26), (20.1, -20), (20, -26)],
}


@pytest.mark.parametrize("rate", quick([22050, 48000], 22050))
@pytest.mark.parametrize("case", CASES)
def test_integrated_loudness_is_that_of_ebu_tech_3341(case: int, rate: int) -> None:
    parts = [tone(seconds, peak=level + 3.01, rate=rate) for seconds, level in CASES[case]]
    measured = measure(blocks(np.concatenate(parts)), rate, true_peak=False)
    assert measured.integrated == pytest.approx(-33 if case == 2 else -23, abs=0.1)


@pytest.mark.parametrize("rate", [22050, 48000])
@pytest.mark.parametrize(
    ("divisor", "degrees"), [(4, 0), (4, 45), (6, 60), (8, 67.5)], ids=[15, 16, 17, 18]
)
def test_true_peak_is_that_of_ebu_tech_3341(rate: int, divisor: int, degrees: float) -> None:
    phases = 2 * np.pi * np.arange(rate) / divisor + np.radians(degrees)
    sound = (0.5 * np.sin(phases)).astype(np.float32)
    fade = np.minimum(1, np.arange(rate) / 1000).astype(np.float32)
    measured = measure(blocks(sound * fade * fade[::-1]), rate)
    assert -6.4 <= measured.true_peak <= -5.8


@pytest.mark.parametrize("rate", [44100, 48000])
def test_true_peak_over_full_scale_is_that_of_ebu_tech_3341(rate: int) -> None:
    """Signal 19: +3 dBTP from samples that all lie at full scale."""
    phases = 2 * np.pi * np.arange(rate) / 4 + np.radians(45)
    fade = np.minimum(1, np.arange(rate) / 1000).astype(np.float32)
    sound = (1.41 * np.sin(phases)).astype(np.float32) * fade * fade[::-1]
    assert 2.6 <= measure(blocks(sound), rate).true_peak <= 3.2


def test_rms_counts_silence_and_peak_is_the_highest_sample() -> None:
    sound = np.concatenate([tone(2.0, peak=-6), silence(2.0)])
    measured = measure(blocks(sound), RATE)
    assert measured.rms == pytest.approx(-6 - 3.01 - 3.01, abs=0.02)
    assert measured.peak == pytest.approx(-6, abs=0.01)
    assert measured.seconds == pytest.approx(4.0)


def test_figures_do_not_depend_on_the_size_of_blocks() -> None:
    sound = voice(3.33)
    first, second = measure(blocks(sound), RATE), measure(blocks(sound, 777), RATE)
    assert first.integrated == second.integrated
    assert first.true_peak == second.true_peak
    assert first.rms == pytest.approx(second.rms, abs=1e-4)


def test_a_peak_in_the_last_moment_counts() -> None:
    sound = tone(1.03, peak=-20)
    sound[-20:] = 0.9
    assert measure(blocks(sound), RATE).true_peak > -1
    assert measure(blocks(sound), RATE).integrated == pytest.approx(-23, abs=0.1)


@pytest.mark.parametrize("sound", [silence(0), silence(0.01), silence(2)])
def test_silence_has_finite_figures(sound: Samples) -> None:
    assert measure(blocks(sound), RATE) == Loudness(-70, -120, -120, -120, len(sound) / RATE)


# -- stereo ----------------------------------------------------------------------------------------


def test_two_channels_with_the_same_sound_are_three_db_louder() -> None:
    sound = voice(5.0)
    mono, stereo = measure(blocks(sound), RATE), measure(blocks(np.stack([sound, sound], 1)), RATE)
    assert stereo.integrated == pytest.approx(mono.integrated + 3.01, abs=0.02)
    assert stereo.rms == pytest.approx(mono.rms, abs=1e-4)
    assert stereo.true_peak == pytest.approx(mono.true_peak, abs=1e-3)
    assert (stereo.peak, stereo.seconds) == (mono.peak, mono.seconds)


@pytest.mark.parametrize("case", quick(CASES, *list(CASES)[-2:]))
def test_stereo_loudness_is_that_of_ebu_tech_3341(case: int) -> None:
    parts = [tone(seconds, peak=level, rate=48000) for seconds, level in CASES[case]]
    both = np.stack([np.concatenate(parts)] * 2, 1)
    measured = measure(blocks(both), 48000, true_peak=False)
    assert measured.integrated == pytest.approx(-33 if case == 2 else -23, abs=0.1)


def test_the_peak_of_either_channel_counts() -> None:
    stereo = np.stack([tone(1.0, peak=-20), tone(1.0, peak=-4, hertz=300)], 1)
    measured = measure(blocks(stereo), RATE)
    assert measured.peak == pytest.approx(-4, abs=0.01)
    assert measured.true_peak == pytest.approx(-4, abs=0.1)


def test_both_channels_are_limited_together() -> None:
    quiet, loud = tone(1.0, peak=-20, hertz=500), tone(1.0, peak=-20)
    loud[RATE // 2] = 0.95
    stereo = np.stack([quiet, loud], 1)
    for size in (777, 65536):
        out = np.concatenate(list(master(blocks(stereo, size), RATE, 0, -6)))
        assert out.shape == stereo.shape
        gains = out / np.where(stereo == 0, 1, stereo)
        heard = (stereo != 0).all(axis=1)
        assert gains[heard].min() < 0.6
        np.testing.assert_allclose(gains[heard, 0], gains[heard, 1], rtol=1e-5)


def test_one_channel_of_stereo_is_mastered_as_mono_is() -> None:
    sound = voice(3.0)
    stereo = np.stack([sound, np.zeros_like(sound)], 1)
    out = np.concatenate(list(master(blocks(stereo), RATE, 9, -3)))
    assert_array_equal(out[:, 0], mastered(sound, 9, -3))


# -- mastering -------------------------------------------------------------------------------------


def mastered(sound: Samples, gain: float, ceiling: float, size: int = 65536) -> Samples:
    return np.concatenate(
        [np.zeros(0, np.float32), *master(blocks(sound, size), RATE, gain, ceiling)]
    )


def true_peak(sound: Samples) -> float:
    """At eight times the rate, by another library than the limiter's and the meter's."""
    return float(20 * np.log10(np.abs(soxr.resample(sound, RATE, 8 * RATE, quality="VHQ")).max()))


@pytest.mark.parametrize("length", [0, 1, 23, 24, 661, 1000, 65536, 150_001])
@pytest.mark.parametrize("size", [100, 65536])
def test_mastering_keeps_every_sample_where_it_was(length: int, size: int) -> None:
    sound = noise(length / RATE, rms=-40)
    assert_array_equal(mastered(sound, 0, -1, size), sound)


def test_below_the_ceiling_gain_is_all_that_happens() -> None:
    sound = voice(2.0, level=-30)
    assert_array_equal(mastered(sound, 6, -1), sound * np.float32(10 ** (6 / 20)))


@pytest.mark.parametrize("divisor", [50, 6, 4, 10 / 3, 2.9, 2.5])
def test_peaks_between_samples_are_held(divisor: float) -> None:
    fade = np.minimum(1, np.arange(RATE) / 2000).astype(np.float32)
    sound = np.sin(2 * np.pi * np.arange(RATE) / divisor + np.pi / 4).astype(np.float32)
    sound *= fade * fade[::-1]
    assert true_peak(sound * np.float32(1.41)) > 2.8
    assert true_peak(mastered(sound, 3, -2)) == pytest.approx(-2, abs=0.05)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.slow
def test_speech_with_hot_peaks_stays_under_minus_one_dbtp_at_four_times_the_rate(seed: int) -> None:
    """By scipy's polyphase filter, which neither the limiter nor the meter uses."""
    from scipy.signal import resample_poly  # half a second: only where this runs

    sound = voice(6.0, seed=seed, level=-14)
    assert np.abs(resample_poly(sound * 4, 4, 1)).max() > 2
    out = mastered(sound, 12, -1)
    highest = 20 * np.log10(np.abs(resample_poly(out, 4, 1)).max())
    assert -1.6 < highest <= -1 + 0.05


def test_the_limiter_does_not_pump() -> None:
    """A steady tone under sparse peaks: its level is down near them and nowhere else."""
    sound = tone(4.0, peak=-12, hertz=300)
    for second in (1, 2, 3):
        sound[second * RATE] = 1.4
    out = mastered(sound, 0, -1)
    ratio = np.abs(out) / np.maximum(np.abs(sound), 1e-6)
    quiet = np.ones(len(sound), bool)
    for second in (1, 2, 3):
        quiet[second * RATE - round(0.031 * RATE) : second * RATE + round(0.031 * RATE)] = False
    assert_array_equal(out[quiet], sound[quiet])
    assert ratio[~quiet & (np.abs(sound) > 0.05)].min() > 0.6


def test_noise_far_over_the_ceiling_is_held() -> None:
    assert true_peak(mastered(noise(2.0, rms=-12), 12, -3)) < -2.4


def test_speech_is_held_and_loses_little_loudness() -> None:
    sound = voice(10.0)
    before = measure(blocks(sound), RATE)
    assert before.true_peak > -8
    after = mastered(sound, 6, -3)
    measured = measure(blocks(after), RATE)
    assert true_peak(after) < -2.9
    assert measured.integrated == pytest.approx(before.integrated + 6, abs=0.5)


def test_a_peak_is_lowered_with_its_neighbourhood_and_nothing_else() -> None:
    sound = tone(1.0, peak=-20)
    sound[RATE // 2] = 0.95
    gain = mastered(sound, 0, -6) / np.where(sound == 0, 1, sound)
    touched = np.flatnonzero((gain < 0.999) & (sound != 0))
    assert gain[RATE // 2] == pytest.approx(10 ** (-6 / 20) / 0.95, abs=0.01)
    assert touched[0] >= RATE // 2 - 0.031 * RATE
    assert touched[-1] <= RATE // 2 + 0.031 * RATE
    assert np.abs(np.diff(gain[sound != 0])).max() < 0.01  # no step that clicks


def test_mastering_does_not_depend_on_the_size_of_blocks() -> None:
    sound = voice(4.0)
    assert_array_equal(mastered(sound, 9, -3, 333), mastered(sound, 9, -3))
