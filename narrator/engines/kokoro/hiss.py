"""The hiss that some voices leave after their last word (bm_fable: 0.6 s at -28 dB)."""

from __future__ import annotations

import numpy as np

from narrator.sound import audio

FRAME = 0.01
"""Seconds between two level readings."""
HISS_LEVELS = (-45.0, -20.0)
"""dB, relative to loud speech, of a hiss. A final [s] is louder, and the silence of other voices
lies at -60."""
MIN_HISS = 0.3
"""Seconds. No final consonant of the 28 English voices, and no decay, is as long; see
`kokoro82m/BENCHMARKS.md`."""
KEPT, FADE = 0.1, 0.1
"""Seconds of it that are left for the decay of the last word, and that it then takes to fade."""


def fade_hiss(samples: audio.Samples, rate: int) -> audio.Samples:
    """Returns speech of which a hiss after the last word is faded out."""
    frame = round(FRAME * rate)
    levels, loud_level = audio.frame_levels(samples, frame)
    if loud_level is None:
        return samples
    relative = levels - loud_level
    low, high = HISS_LEVELS
    first = int(np.flatnonzero(relative > high)[-1]) + 1
    is_over = relative[first:] < low
    length = int(is_over.argmax()) if is_over.any() else len(is_over)
    if length * FRAME < MIN_HISS:
        return samples
    start = first * frame + round(KEPT * rate)
    stop = start + round(FADE * rate)
    faded = samples.copy()
    faded[start:stop] *= audio.raised_cosine(np.linspace(1, 0, stop - start))
    faded[stop:] = 0
    return faded
