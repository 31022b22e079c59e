from __future__ import annotations

import numpy as np
import pytest

from narrator.sound.audio import FADE, fade
from narrator.sound.edges import Edges, measure_edges
from tests.sounds import RATE, Samples, noise, silence, tone, voice

LOUD = -20.0


def found(*parts: Samples) -> Edges:
    clip = np.concatenate(parts)
    return measure_edges(clip, (0, len(clip)), RATE, LOUD)


def breath(seconds: float, rms: float) -> Samples:
    """Noise without what is high in it."""
    return np.convolve(noise(seconds, rms=rms + 7.2), np.hanning(9) / 4, "same").astype(np.float32)


def speech() -> Samples:
    return fade(voice(1.0), RATE, 0.03)


def impulse(seconds: float, at: float, height: float = 0.2) -> Samples:
    room = silence(seconds)
    room[round(at * RATE)] = height
    return room


def test_speech_has_clean_edges() -> None:
    for clip in (speech(), fade(noise(0.5), RATE, 0.03), fade(tone(0.5), RATE, FADE)):
        clean = found(silence(0.02), clip, silence(0.07))
        assert clean.click < 15
        assert clean.torn == Edges().torn


def test_a_click_in_the_quiet_at_either_edge_is_found() -> None:
    assert found(impulse(0.02, 0.01), speech(), silence(0.07)).click > 30
    assert found(silence(0.02), speech(), impulse(0.07, 0.05)).click > 30
    step = (np.linspace(0.2, 0, round(0.03 * RATE))).astype(np.float32)
    assert found(speech(), silence(0.03), step).click > 30


def test_what_clicks_in_the_middle_or_too_softly_is_none_of_an_edge() -> None:
    assert found(speech(), impulse(0.6, 0.3), speech()).click < 15
    assert found(speech(), impulse(0.07, 0.05, height=1e-4)).click < 15


@pytest.mark.parametrize("level", [-45.0, -35.0])
def test_a_breath_that_is_cut_at_either_edge_is_torn(level: float) -> None:
    half = breath(0.15, level)
    assert found(half, silence(0.05), speech()).torn == pytest.approx(level - LOUD, abs=4)
    assert found(speech(), silence(0.05), half).torn == pytest.approx(level - LOUD, abs=4)


def test_a_whole_breath_a_sibilant_and_a_voice_are_not_torn() -> None:
    whole = fade(breath(0.3, -40), RATE, 0.1)
    hiss = np.diff(noise(0.15, rms=-40)).astype(np.float32)
    for end in (whole, hiss, tone(0.2, hertz=400, peak=-40)):
        assert found(end, speech(), end).torn == Edges().torn


def test_a_clip_shorter_than_a_sound_has_no_edges() -> None:
    assert found(noise(0.05)) == Edges()
