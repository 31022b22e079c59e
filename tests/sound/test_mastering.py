from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from narrator.sound.mastering import ROOM_TONE_SECONDS, Polish, apply_polish, with_room_tone
from tests.sounds import RATE, Samples, blocks, noise, onset, silence, tone, voice


def db(sound: Samples) -> float:
    return float(10 * np.log10(np.mean(np.square(sound, dtype=np.float64)) + 1e-12))


# -- filters ---------------------------------------------------------------------------------------


def test_without_filters_a_take_stays_as_it_is() -> None:
    sound = voice(1.0)
    assert not Polish()
    assert_array_equal(apply_polish(sound, RATE, Polish()), sound)


@pytest.mark.parametrize(
    ("hertz", "lost"), [(30, (12, 18)), (70, (2.5, 3.5)), (300, (0, 0.1)), (3000, (0, 0.05))]
)
def test_a_high_pass_takes_rumble_and_leaves_the_voice(
    hertz: float, lost: tuple[float, float]
) -> None:
    sound = tone(2.0, hertz=hertz)
    out = apply_polish(sound, RATE, Polish(high_pass=70))
    assert len(out) == len(sound)
    assert lost[0] - 0.01 <= db(sound[RATE:]) - db(out[RATE:]) <= lost[1]


def sibilant(rate: int) -> tuple[Samples, slice]:
    """A vowel with a sharp hiss in its middle, and where that is."""
    vowel = sum(tone(1.5, hertz=f, peak=-20 - f / 200, rate=rate) for f in (200, 400, 800, 1600))
    hiss = noise(0.2, rms=-14, rate=rate)
    spectrum = np.fft.rfft(hiss)
    hertz = np.fft.rfftfreq(len(hiss), 1 / rate)
    spectrum[(hertz < 5000) | (hertz > 8000)] = 0
    where = slice(round(0.65 * rate), round(0.65 * rate) + len(hiss))
    vowel[where] += np.fft.irfft(spectrum, len(hiss)).astype(np.float32)
    return vowel, where


@pytest.mark.parametrize("rate", [22050, 48000])
@pytest.mark.parametrize(("amount", "least", "most"), [(0.3, 2, 4), (1.0, 9, 12)])
def test_a_hiss_is_lowered_gently_and_the_vowel_is_not(
    rate: int, amount: float, least: float, most: float
) -> None:
    sound, where = sibilant(rate)
    out = apply_polish(sound, rate, Polish(de_ess=amount))
    assert len(out) == len(sound)
    band = [np.abs(np.fft.rfft(s[where])) for s in (sound, out)]
    hertz = np.fft.rfftfreq(where.stop - where.start, 1 / rate)
    sharp = (hertz > 5500) & (hertz < 7500)
    lost = 10 * np.log10((band[0][sharp] ** 2).sum() / (band[1][sharp] ** 2).sum())
    assert least <= lost <= most
    vowel = slice(0, where.start - round(0.05 * rate))
    assert db(out[vowel]) == pytest.approx(db(sound[vowel]), abs=0.1)


@pytest.mark.parametrize("scale", [0.1, 1.0])
def test_how_much_is_lowered_does_not_depend_on_the_level(scale: float) -> None:
    sound, where = sibilant(RATE)
    sound = sound * np.float32(scale)
    out = apply_polish(sound, RATE, Polish(de_ess=0.5))
    difference = db((sound - out)[where]) - db(sound[where])
    assert difference == pytest.approx(-9.5, abs=1.5)


def test_nothing_is_moved_in_time() -> None:
    sound = np.concatenate([silence(0.5), voice(1.0)])
    out = apply_polish(sound, RATE, Polish(high_pass=80, de_ess=0.5))
    assert abs(onset(out) - onset(sound)) < 0.005 * RATE


@pytest.mark.parametrize("length", [0, 1, 100])
def test_very_short_takes_pass(length: int) -> None:
    out = apply_polish(np.full(length, 0.1, np.float32), RATE, Polish(high_pass=80, de_ess=1))
    assert out.shape == (length,)
    assert out.dtype == np.float32


# -- room tone -------------------------------------------------------------------------------------


def laid(sound: Samples, rms: float = -68, rate: int = RATE, size: int = 65536) -> Samples:
    return np.concatenate(list(with_room_tone(blocks(sound, size), rate, rms)))


@pytest.mark.parametrize("rate", [22050, 44100, 48000])
def test_room_tone_has_its_level_in_every_half_second(rate: int) -> None:
    tone_ = laid(silence(5.0, rate), rate=rate)
    halves = [db(part) for part in np.split(tone_[: rate * 5 // 2 * 2], 10)]
    assert_allclose(halves, -68, atol=1.5)
    assert db(tone_) == pytest.approx(-68, abs=0.3)
    assert np.abs(tone_).max() < 10 ** (-50 / 20)


def test_room_tone_repeats_without_a_seam() -> None:
    long = laid(silence(2 * ROOM_TONE_SECONDS + 1))
    period = ROOM_TONE_SECONDS * RATE
    assert_allclose(long[:period], long[period : 2 * period], atol=1e-9)
    steps = np.abs(np.diff(long))
    assert steps[period - 2 : period + 2].max() <= steps.max()
    assert steps[period - 1] < 5 * np.sqrt(np.mean(steps**2))


def test_room_tone_lies_under_words_and_changes_them_by_no_more() -> None:
    sound = voice(2.0)
    assert_allclose(laid(sound) - sound, laid(np.zeros_like(sound)), atol=1e-7)


@pytest.mark.parametrize("size", [100, 4096])
def test_room_tone_does_not_depend_on_the_size_of_blocks(size: int) -> None:
    assert_array_equal(laid(silence(2.0), size=size), laid(silence(2.0)))


def test_both_channels_get_a_room_tone_of_their_own() -> None:
    out = laid(np.zeros((2 * RATE, 2), np.float32))
    assert db(out[:, 0]) == pytest.approx(db(out[:, 1]), abs=1)
    assert abs(np.corrcoef(out.T)[0, 1]) < 0.2
