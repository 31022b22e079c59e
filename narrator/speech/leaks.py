"""Leaks: starts of takes that are the end of the sound that the take continues. Pure.

A model that continues a prompt may say the prompt's last syllable once more: where "enemy" ends the
line before, the next begins with "emy", with or without a rest after it (VoxCPM's issues 200, 206
and 272; CosyVoice's 1733). Found is a first sound that is like the end of the prompt, and more like
it than like the rest of the prompt. Figures: docs/measurements.md (`benchmarks/checks.py --leaks`).

What it cannot tell: a leak of less than 0.14 s without a rest after it; a syllable that is said
again in another way; whether a text that begins with what the one before ends with ("No." "No, my
friend.") is spoken once too often.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from narrator.speech.frames import (
    HOP_SECONDS,
    Floats,
    Frames,
    analyse_frames,
    fast_mel_bands,
)

PROMPT_SECONDS = 3.0
"""Seconds at the end of the prompt that are compared."""
_TAKE_FRAMES = 250
"""Frames at the start of the take that are compared."""
_MIN_FRAMES, _MAX_FRAMES = 4, 45
"""Fewest and most frames of a leak that a rest follows."""
_REST_FRAMES = 4
"""Frames of silence that are a rest: more than the closure of a stop consonant."""
_MIN_LIKENESS = 0.75
"""Likeness of a leak that a rest follows."""
_JOINED_LIKENESS = {14: 0.86, 20: 0.8, 25: 0.82}
"""Likeness of a leak that runs into the first word, by the number of frames that are compared."""
_END_FRAMES = (6, 3)
"""Frames before and after the end of the prompt between which a leak ends."""
_ELSEWHERE_FRAMES = 15
"""Frames from the end of the prompt from which on a likeness counts as that to the rest."""
_WARP_COST = 0.1
"""Cost of going on faster or slower by a frame."""
_RANGE = 1e-5
"""Least power of a band, of the loudest ones: below lies the room."""
_MAX_SHORT_WORD_LETTERS = 6
"""Letters of a word so short that it is spoken in the time of a leak."""


@dataclass(frozen=True, slots=True)
class PromptSound:
    """The sound that an engine was asked to continue."""

    name: str
    """In messages."""
    text: str
    samples: Callable[[], Floats]
    """Reads it: mono, at the take's rate. Raises DamagedTake."""


def leaked_seconds(frames: Frames, rate: int, text: str, prompt: PromptSound) -> float:
    """Returns the seconds of the end of the prompt that a take of `text` begins with; 0 for none.

    `frames` and `rate` are the take's. Raises DamagedTake.
    """
    if _is_said_again(prompt.text, text):
        return 0.0
    samples = prompt.samples()[-round(PROMPT_SECONDS * rate) :]
    if not samples.any():
        return 0.0
    may_rest = starts_with_short_word(text)
    return find_leak(frames, analyse_frames(samples, rate), may_rest=may_rest) * HOP_SECONDS


def _is_said_again(text_before: str, text: str) -> bool:
    """Returns whether a text begins with the word that the text before ends with, or its end."""
    words, first_words = (re.findall(r"\w+", part.casefold()) for part in (text_before, text))
    return bool(words and first_words) and words[-1].endswith(first_words[0])


def starts_with_short_word(text: str) -> bool:
    """Returns whether a text begins with a short word, followed by a punctuation mark."""
    match = re.match(r"[^\w]*(\w[\w'’]*)\s*[^\w\s'’]", text)
    return match is not None and len(match[1]) <= _MAX_SHORT_WORD_LETTERS


def find_leak(frames: Frames, prompt: Frames, *, may_rest: bool = False) -> int:
    """Returns the frames of the leak of a prompt at the start of a take; 0 for none.

    `may_rest`: the text has a short word that stands alone at its start ("Oh, …").
    """
    if not len(frames.sounds) or not len(prompt.sounds):
        return 0
    start, stop = frames.sounds[0].tolist()
    rest = int(frames.sounds[1, 0]) - stop if len(frames.sounds) > 1 else 0
    likenesses = _likenesses(frames, prompt)
    prompt_end = int(prompt.sounds[-1, 1])
    if _MIN_FRAMES <= stop - start <= _MAX_FRAMES and rest >= _REST_FRAMES and not may_rest:
        likeness, elsewhere = _compare(likenesses[start:stop], prompt_end)
        if likeness > max(_MIN_LIKENESS, elsewhere):
            return int(stop - start)
    for count, min_likeness in _JOINED_LIKENESS.items():
        if len(likenesses) < start + count:
            continue
        likeness, elsewhere = _compare(likenesses[start : start + count], prompt_end)
        if likeness > max(min_likeness, elsewhere):
            return count
    return 0


def _likenesses(frames: Frames, prompt: Frames) -> NDArray[np.float32]:
    """Returns the likeness, -1 to 1, of each frame at the start of a take (rows) to each of the
    prompt: the cosine of their spectra, as they differ from the mean of both. 0 for silence."""
    take_bands, prompt_bands = fast_mel_bands(frames, _TAKE_FRAMES), fast_mel_bands(prompt)
    loudest = max(_loudest(take_bands), _loudest(prompt_bands))
    is_audible = frames.levels[:_TAKE_FRAMES] > frames.silence_level
    is_prompt_audible = prompt.levels > prompt.silence_level
    take_bands, prompt_bands = (
        np.log(np.maximum(bands, loudest * _RANGE)) for bands in (take_bands, prompt_bands)
    )
    speech = np.concatenate([take_bands[is_audible], prompt_bands[is_prompt_audible]])
    mean, deviation = speech.mean(axis=0), speech.std(axis=0) + 1e-3
    take_vectors = _directions((take_bands - mean) / deviation, is_audible)
    prompt_vectors = _directions((prompt_bands - mean) / deviation, is_prompt_audible)
    return np.einsum("ij,kj->ik", take_vectors, prompt_vectors)


def _loudest(bands: Floats) -> float:
    return float(np.percentile(bands.max(axis=1), 95))


def _directions(vectors: Floats, is_audible: NDArray[np.bool_]) -> Floats:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.where(is_audible[:, None], vectors / (lengths + 1e-6), 0).astype(np.float32)


def _compare(likenesses: NDArray[np.float32], prompt_end: int) -> tuple[float, float]:
    """Returns the mean likeness of a passage, all rows, to the end of the prompt, and to the place
    elsewhere in it that is most alike."""
    scores = _alignment_scores(likenesses)
    before, after = _END_FRAMES
    at_end = scores[max(0, prompt_end - before) : prompt_end + after]
    elsewhere = scores[: max(0, prompt_end - _ELSEWHERE_FRAMES)]
    return float(at_end.max(initial=-1.0)), float(elsewhere.max(initial=-1.0))


def _alignment_scores(likenesses: NDArray[np.float32]) -> NDArray[np.float32]:
    """Returns for each frame of the prompt the best mean likeness of all rows to what ends there.

    A step from row to row goes on by a frame of the prompt, or at a cost by none or by two.
    """
    scores = likenesses[0]
    for row in likenesses[1:]:
        steps = np.full((3, len(row)), -np.inf, np.float32)
        steps[0] = scores - _WARP_COST
        steps[1, 1:] = scores[:-1]
        steps[2, 2:] = scores[:-2] - _WARP_COST
        scores = steps.max(axis=0) + row
    return scores / len(likenesses)
