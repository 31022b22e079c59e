"""The figures of a take's voice: pitch, pace, loudness, spectrum, room. Pure.

They tell whether a voice holds over a book and within a take; `steadiness.py` compares them. They
do not tell whose voice it is: two voices of one pitch with the same mean spectrum are the same
here, but for the embedding of an engine that has an encoder of speakers.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from narrator.sound.pitch import PitchTracker
from narrator.sound.timing import TimedWord
from narrator.speech.frames import (
    BANDS,
    HOP_SECONDS,
    SLOW_FRAME_SECONDS,
    Floats,
    Frames,
    join_runs,
    mel_bands,
    pool_frames,
)

_VOICE_RANGE_DB = 25.0
"""dB under clear speech at which a slow frame still counts as voice."""
_MIN_VOICED = 8
"""Voiced slow frames that a pitch needs: a third of a second."""
_BAND_RANGE_DB = 50.0
"""dB under the loudest band of a take at which its bands are cut off: below lies the room."""
_MIN_CHANGE_SECONDS = 3.0
"""Seconds of speech from which on the first third of a take is compared with the last."""
_PAUSE_FRAMES = 15
"""Frames of silence from which on it is a pause."""
_DECAY_DB = (12.0, 32.0)
"""dB under clear speech between which a decay is timed."""
_MAX_DECAY_FRAMES = 40
_MIN_TIMED_LETTERS = 8
"""Letters in a third of a take that tell its pace."""


@dataclass(frozen=True, slots=True)
class VoiceFigures:
    """Measurements of a take's voice; 0 where there is too little of it."""

    pitch: float = 0.0
    """Median, in Hz."""
    pitch_range: float = 0.0
    """Semitones between the lowest and the highest tenth."""
    pace: float = 0.0
    """Ratio of the expected seconds to those of sound, without pauses: more is faster."""
    pauses: float = 0.0
    """Share of the take that is pauses."""
    noise: float = 0.0
    """dB full scale of the quietest twentieth from the first sound to the last."""
    decay: float = 0.0
    """Seconds in which sounds that end die away: longer in a room that echoes."""
    start_pitch: float = 0.0
    """Of the first third of a take of three seconds or more, else of all of it, in Hz."""
    start_level: float = 0.0
    """Likewise, in dB."""
    pitch_change: float = 0.0
    """Semitones from the first third to the last."""
    pace_change: float = 0.0
    """Octaves from the first third to the last: 1 is twice as fast. Only where words are timed."""
    level_change: float = 0.0
    """dB from the first third to the last."""
    timbre_change: float = 0.0
    """dB, root mean square over all bands, from the first third to the last."""
    timbre: str = ""
    """Its mean spectrum without its level, packed: see `unpack_timbre`."""
    speaker: str = ""
    """Its embedding by the engine's own encoder of speakers, packed: see `unpack_speaker`; empty
    where the engine has none."""


@dataclass(frozen=True, slots=True)
class _Part:
    """The voice in some slow frames of a take."""

    pitches: NDArray[np.float64]
    """Hz, of the voiced ones."""
    level: float
    """dB."""
    bands: NDArray[np.float32]
    """(32,): mean dB, relative to the mean of all bands."""

    @classmethod
    def of(cls, pitches: NDArray[np.float64], powers: Floats, levels: NDArray[np.float64]) -> _Part:
        """Measures it by its frames: powers of their bands (frames, 32), and levels in dB."""
        lowest = max(float(powers.mean(axis=0).max()) * 10 ** (-_BAND_RANGE_DB / 10), 1e-20)
        band_levels = 10 * np.log10(np.maximum(powers, lowest)).mean(axis=0)
        bands = (band_levels - band_levels.mean()).astype(np.float32)
        return cls(pitches, float(levels.mean()), bands)


def measure_voice(
    samples: Floats,
    rate: int,
    frames: Frames,
    expected_seconds: float,
    words: Sequence[TimedWord] = (),
) -> VoiceFigures:
    """Measures a take of mono samples that has sound, given its `frames`.

    `words`: those that the engine has timed.
    """
    stretches = join_runs(frames.levels > frames.silence_level, _PAUSE_FRAMES)
    spoken = slice(int(stretches[0, 0]), int(stretches[-1, 1]))
    speech = stretches * HOP_SECONDS
    start, stop = float(speech[0, 0]), float(speech[-1, 1])
    sound_seconds = float((speech[:, 1] - speech[:, 0]).sum())
    levels = pool_frames(frames.levels[:, None])[:, 0]
    is_voice = levels > frames.speech_level - _VOICE_RANGE_DB
    pitches, bands = _pitches(samples, rate, len(is_voice)), mel_bands(frames)

    def part(start_seconds: float, stop_seconds: float) -> _Part | None:
        """Returns the voice between two seconds; None if there is too little of it."""
        within = slice(*(round(x / SLOW_FRAME_SECONDS) for x in (start_seconds, stop_seconds)))
        is_chosen = is_voice[within]
        voiced = pitches[within][is_chosen]
        voiced = voiced[~np.isnan(voiced)]
        if len(voiced) < _MIN_VOICED:
            return None
        return _Part.of(voiced, bands[within][is_chosen], levels[within][is_chosen])

    whole = part(0.0, len(is_voice) * SLOW_FRAME_SECONDS)
    if whole is None:
        return VoiceFigures()
    low, median, high = np.percentile(whole.pitches, (10, 50, 90)).tolist()
    pace_change = pitch_change = level_change = timbre_change = 0.0
    beginning = whole
    if stop - start >= _MIN_CHANGE_SECONDS:
        third = (stop - start) / 3
        first, last = part(start, start + third), part(stop - third, stop)
        pace_change = _pace_change(words, start + third, stop - third)
        if first and last:
            beginning = first
            pitch_change = semitones(np.median(first.pitches), np.median(last.pitches))
            level_change = last.level - first.level
            timbre_change = root_mean_square(last.bands - first.bands)
    return VoiceFigures(
        pitch=round(median, 1),
        pitch_range=round(semitones(low, high), 2),
        pace=round(expected_seconds / sound_seconds, 3),
        pauses=round(1 - sound_seconds / (stop - start), 3),
        noise=round(float(np.percentile(frames.levels[spoken], 5)), 1),
        decay=round(_decay_seconds(frames), 3),
        start_pitch=round(float(np.median(beginning.pitches)), 1),
        start_level=round(beginning.level, 2),
        pitch_change=round(pitch_change, 2),
        pace_change=round(pace_change, 3),
        level_change=round(level_change, 2),
        timbre_change=round(timbre_change, 2),
        timbre=pack_timbre(whole.bands),
    )


def root_mean_square(differences: NDArray[np.float32]) -> float:
    """Returns the size of differences between bands, in their unit."""
    return float(np.sqrt(np.square(differences).mean()))


def pack_timbre(bands: NDArray[np.floating]) -> str:
    """Packs dB of the bands (32,), relative to their mean."""
    steps = np.clip(np.rint(bands * 4) + 128, 0, 255).astype(np.uint8)
    return base64.b64encode(steps.tobytes()).decode()


def unpack_timbre(text: str) -> NDArray[np.float32]:
    """Returns (32,): dB of the bands of `mel_bands`, relative to their mean, in quarters.

    Raises ValueError.
    """
    steps = np.frombuffer(base64.b64decode(text, validate=True), np.uint8).astype(np.float32)
    if len(steps) != BANDS:
        raise ValueError(f"a timbre of {len(steps)} bands")
    return (steps - np.float32(128)) / np.float32(4)


def pack_speaker(embedding: Floats) -> str:
    """Packs the direction of an embedding (n,) of finite numbers; "" if it has none."""
    largest = float(np.abs(embedding).max(initial=0))
    if not largest:
        return ""
    return base64.b64encode(np.rint(embedding * (127 / largest)).astype(np.int8).tobytes()).decode()


def unpack_speaker(text: str) -> NDArray[np.float32] | None:
    """Returns an embedding of length 1; None for "". Raises ValueError."""
    steps = np.frombuffer(base64.b64decode(text, validate=True), np.int8).astype(np.float32)
    if len(steps) and not steps.any():
        raise ValueError("an embedding of zeros")
    return to_unit_length(steps) if len(steps) else None


def mean_speaker(texts: Sequence[str]) -> str:
    """Returns the mean of packed embeddings of one encoder; "" if one is missing."""
    embeddings = [unpack_speaker(text) for text in texts]
    known = [embedding for embedding in embeddings if embedding is not None]
    return pack_speaker(np.mean(known, axis=0)) if len(known) == len(texts) else ""


def to_unit_length(embedding: Floats) -> Floats:
    """Returns an embedding with a length of 1, which must not be 0."""
    return embedding / np.linalg.norm(embedding)


def semitones(low_hertz: float, high_hertz: float) -> float:
    """Returns the distance between two pitches."""
    return 12 * math.log2(high_hertz / low_hertz)


def _pitches(samples: Floats, rate: int, count: int) -> NDArray[np.float64]:
    """Returns the pitch at the start of each slow frame, in Hz; NaN without a voice."""
    tracker = PitchTracker(rate)
    hop = round(SLOW_FRAME_SECONDS * rate)
    padded = np.zeros(count * hop + tracker.frame_samples, np.float32)
    kept = samples[: len(padded)]
    padded[: len(kept)] = kept
    windows = np.lib.stride_tricks.sliding_window_view(padded, tracker.frame_samples)
    return tracker.pitches(windows[::hop][:count])


def _decay_seconds(frames: Frames) -> float:
    """Returns the median time of all falls from loud to soft without another rise between; 0 if
    there is none."""
    loud, soft = (frames.speech_level - fall for fall in _DECAY_DB)
    is_loud, is_soft = frames.levels > loud, frames.levels < soft
    falls: list[int] = []
    for last_loud in np.flatnonzero(is_loud[:-1] & ~is_loud[1:]).tolist():
        after = slice(last_loud + 1, last_loud + 1 + _MAX_DECAY_FRAMES)
        soft_frames = np.flatnonzero(is_soft[after])
        if len(soft_frames) and not is_loud[after][: soft_frames[0]].any():
            falls.append(int(soft_frames[0]) + 1)
    return float(np.median(falls)) * HOP_SECONDS if falls else 0.0


def _pace_change(words: Sequence[TimedWord], first_stop: float, last_start: float) -> float:
    """Returns the octaves by which the words after `last_start` are spoken faster than those
    before `first_stop`, in seconds; 0 where too few are timed."""
    first = [word for word in words if word.stop <= first_stop]
    last = [word for word in words if word.start >= last_start]
    first_pace, last_pace = _letters_per_second(first), _letters_per_second(last)
    return math.log2(last_pace / first_pace) if first_pace and last_pace else 0.0


def _letters_per_second(words: Sequence[TimedWord]) -> float:
    letters = sum(word.last - word.first for word in words)
    seconds = sum(word.stop - word.start for word in words)
    return letters / seconds if letters >= _MIN_TIMED_LETTERS and seconds > 0 else 0.0
