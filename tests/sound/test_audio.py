from __future__ import annotations

import io

import numpy as np
import pytest
import soundfile
import soxr
from numpy.testing import assert_array_equal

from narrator.errors import DamagedTake
from narrator.sound import audio
from narrator.sound.audio import edge_silence, speech_bounds
from tests.sounds import RATE, Samples, blocks, noise, silence, tone, voice

MS = RATE / 1000

# -- rates -----------------------------------------------------------------------------------------


def test_resampling_is_soxr_hq() -> None:
    sound = voice(0.5)
    assert_array_equal(
        audio.resample(sound, RATE, 48000), soxr.resample(sound, RATE, 48000, quality="HQ")
    )


@pytest.mark.parametrize("size", [1000, 4097, 65536])
def test_resampling_a_stream_equals_resampling_the_whole(size: int) -> None:
    sound = voice(2.0)
    streamed = np.concatenate(list(audio.resample_stream(blocks(sound, size), RATE, 44100)))
    np.testing.assert_allclose(streamed, audio.resample(sound, RATE, 44100), atol=1e-6)


def test_resampling_to_the_same_rate_changes_nothing() -> None:
    sound = noise(0.1)
    assert_array_equal(np.concatenate(list(audio.resample_stream([sound], RATE, RATE))), sound)


# -- speed -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("speed", [0.5, 0.8, 0.95, 1.05, 1.3, 2.0])
@pytest.mark.parametrize("seconds", [0.05, 0.61, 4.0])
def test_stretched_speech_has_the_predicted_length(speed: float, seconds: float) -> None:
    sound = voice(seconds)
    assert len(audio.stretch(sound, RATE, speed)) == round(len(sound) / speed)


@pytest.mark.parametrize("speed", [0.8, 1.25])
def test_stretching_keeps_the_pitch(speed: float) -> None:
    stretched = audio.stretch(tone(2.0, hertz=440), RATE, speed)[2000:-2000]
    spectrum = np.abs(np.fft.rfft(stretched * np.hanning(len(stretched))))
    assert spectrum.argmax() * RATE / len(stretched) == pytest.approx(440, abs=2)


@pytest.mark.parametrize("speed", [0.8, 1.25])
def test_stretching_moves_what_is_said_in_proportion(speed: float) -> None:
    sound = np.concatenate([silence(1), voice(0.3), silence(1.5), voice(0.3), silence(0.5)])
    stretched = audio.stretch(sound, RATE, speed)
    loud = np.flatnonzero(np.abs(stretched) > 0.02)
    second = loud[loud > 2.0 / speed * RATE][0]
    assert second / RATE == pytest.approx(2.8 / speed, abs=0.045)  # a window of WSOLA


def test_speed_one_is_the_sound_itself() -> None:
    sound = voice(0.3)
    assert audio.stretch(sound, RATE, 1.0) is sound


# -- edges -----------------------------------------------------------------------------------------


def test_fades_touch_only_the_edges() -> None:
    sound = np.ones(RATE, np.float32)
    faded = audio.fade(sound, RATE)
    edge = round(audio.FADE * RATE)
    assert faded[0] < 0.001
    assert faded[-1] < 0.001
    assert np.all(np.diff(faded[:edge]) > 0)
    assert_array_equal(faded[edge:-edge], sound[edge:-edge])
    assert sound[0] == 1  # a copy


def test_a_fade_fits_a_sound_that_is_shorter_than_it() -> None:
    assert np.all(audio.fade(np.ones(3, np.float32), RATE) <= 1)
    assert len(audio.fade(np.ones(0, np.float32), RATE)) == 0


def test_the_room_that_bounds_leave_is_known_without_the_sound() -> None:
    sound = np.concatenate([silence(0.5), tone(1.0), silence(0.8)])
    assert edge_silence(speech_bounds(sound, RATE), len(sound)) == (
        audio.SPEECH_LEAD,
        audio.SPEECH_TAIL,
    )
    assert edge_silence((0, len(sound)), len(sound)) == edge_silence((0, 0), len(sound)) == (0, 0)


CLICK = np.full(round(8 * MS), 0.7, np.float32)
BREATH = noise(0.25, rms=-52)
BOUNDS: dict[str, tuple[list[Samples], float, float]] = {
    "room is left for attack and decay": ([silence(0.5), tone(1.0), silence(0.8)], 0.475, 1.57),
    "all of it is speech": ([tone(0.5)], 0, 0.5),
    "clicks are not speech": (
        [silence(0.2), CLICK, silence(0.792), tone(1.0), silence(0.7), CLICK, silence(0.292)],
        0.975, 2.07,
    ),
    "a breath that stands alone is not speech": (
        [silence(0.1), BREATH, silence(0.3), tone(1.0), silence(0.4), BREATH], 0.625, 1.72,
    ),
    "a weak consonant is": (
        [silence(0.3), noise(0.12, rms=-50), tone(1.0), silence(0.3)], 0.28, 1.49,
    ),
    "a stop consonant after its gap is": (
        [silence(0.2), tone(1.0), silence(0.12), noise(0.02, rms=-35), silence(0.5)], 0.175, 1.41,
    ),
}  # fmt: skip
"""Sounds, and the seconds at which speech begins and ends in them."""


@pytest.mark.parametrize("case", BOUNDS)
def test_speech_is_cut_out_of_a_take(case: str) -> None:
    parts, start, stop = BOUNDS[case]
    bounds = [position / RATE for position in speech_bounds(np.concatenate(parts), RATE)]
    assert bounds == pytest.approx([start, stop], abs=0.011)


def test_noise_around_speech_is_trimmed_too() -> None:
    sound = np.concatenate([silence(1.0), tone(1.0), silence(1.0)]) + noise(3.0, rms=-58)
    start, stop = speech_bounds(sound, RATE)
    assert start / RATE == pytest.approx(0.975, abs=0.02)
    assert stop / RATE == pytest.approx(2.07, abs=0.02)


@pytest.mark.parametrize("gain", [0.02, 0.3, 1.0])
def test_the_search_follows_the_takes_own_level(gain: float) -> None:
    sound = np.concatenate([silence(0.5), tone(1.0, peak=-3), silence(0.5)])
    bounds = speech_bounds(sound * np.float32(gain), RATE)
    assert bounds == speech_bounds(sound, RATE)


@pytest.mark.parametrize("sound", [silence(1.0), silence(0), noise(1.0, rms=-90)])
def test_a_take_without_speech_has_empty_bounds(sound: Samples) -> None:
    assert speech_bounds(sound, RATE) == (0, 0)


# -- level -----------------------------------------------------------------------------------------


def integrated(sound: Samples, rate: int) -> float:
    frames = list(audio.filter_stream(blocks(sound), rate, "ebur128", "metadata=1:framelog=quiet"))
    return float(frames[-1].metadata["lavfi.r128.I"])


@pytest.mark.parametrize("rate", [16000, 22050, 48000])
@pytest.mark.parametrize("hertz", [120, 1000, 4000])
def test_level_is_the_loudness_that_ffmpeg_measures(rate: int, hertz: float) -> None:
    sound = tone(4.0, hertz=hertz, rate=rate)
    assert audio.measure_level(sound, rate)[0] == pytest.approx(integrated(sound, rate), abs=0.15)


def test_level_of_speech_with_pauses_is_that_of_the_speech() -> None:
    speech = voice(3.0)
    paused = np.concatenate([speech, silence(4.0)])
    assert audio.measure_level(paused, RATE)[0] == pytest.approx(
        audio.measure_level(speech, RATE)[0], abs=0.3
    )


def test_a_take_shorter_than_a_window_has_a_level_and_a_peak() -> None:
    level, peak = audio.measure_level(tone(0.15, peak=-20), RATE)
    assert level == pytest.approx(-23, abs=0.6)
    assert peak == pytest.approx(-20, abs=0.01)
    for nothing in (silence(0), silence(1)):
        assert audio.measure_level(nothing, RATE) == (audio.SILENCE, audio.SILENCE)


# -- takes as FLAC ---------------------------------------------------------------------------------


def test_sixteen_bit_sound_is_kept_exactly_and_in_sixteen_bits() -> None:
    sound = (np.random.default_rng(0).integers(-32768, 32768, 5000) / 32768).astype(np.float32)
    data = audio.encode_flac(sound, RATE)
    assert_array_equal(audio.decode_flac(data)[0], sound)
    assert soundfile.info(io.BytesIO(data)).subtype == "PCM_16"


def test_other_sound_is_kept_to_24_bits() -> None:
    sound = np.append(voice(0.5), np.float32([1.0, -1.0, 1e-9]))
    samples, rate = audio.decode_flac(audio.encode_flac(sound, RATE))
    assert rate == RATE
    np.testing.assert_allclose(samples, sound, atol=2**-23)


def test_what_was_decoded_is_encoded_to_the_same_bytes() -> None:
    data = audio.encode_flac(voice(0.5), RATE)
    assert audio.encode_flac(*audio.decode_flac(data)) == data


@pytest.mark.parametrize("bad", [1.01, -1.5, np.nan, np.inf])
def test_samples_that_flac_cannot_hold_are_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="full scale"):
        audio.encode_flac(np.float32([0.1, bad]), RATE)


def test_damaged_flac_is_a_damaged_take() -> None:
    with pytest.raises(DamagedTake):
        audio.decode_flac(b"fLaC but no more")


# -- channels --------------------------------------------------------------------------------------


def test_stereo_is_resampled_channel_by_channel() -> None:
    left, right = tone(1.0, hertz=500), tone(1.0, hertz=900)
    both = np.stack([left, right], 1)
    out = np.concatenate(list(audio.resample_stream(blocks(both, 5000), RATE, 44100)))
    for channel, sound in enumerate((left, right)):
        assert_array_equal(out[:, channel], audio.resample(sound, RATE, 44100))


def test_channels_are_doubled_or_averaged() -> None:
    left, right = tone(0.1, hertz=500), tone(0.1, hertz=900)
    both = np.stack([left, right], 1)
    (mono,) = audio.as_channels([both], 1)
    assert_array_equal(mono, both.mean(axis=1))
    (double,) = audio.as_channels([left], 2)
    assert_array_equal(double, np.stack([left, left], 1))
    assert audio.count_channels([])[0] == 1
    count, stream = audio.count_channels([both, both])
    assert count == 2
    assert len(list(stream)) == 2
