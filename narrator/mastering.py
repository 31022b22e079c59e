"""What is done to sound besides levels: filters over a speaker's takes, room tone under a chapter.

Knows nothing of manifests, targets and files.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from narrator.audio import Samples, amplitude, filtered, level

# -- filters ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Polish:
    """Filters over a speaker's takes; None and 0 leave the sound as it is."""

    high_pass: float | None = None
    """Hz; 12 dB an octave under it."""
    de_ess: float = 0.0
    """0 to 1: how far sharp s sounds are lowered, up to 12 dB."""

    def __bool__(self) -> bool:
        return bool(self.high_pass or self.de_ess)


HISS = 6500
"""Hz: the middle of the band that is listened to and lowered."""
SHARP = 20.0
"""dB under a take's level at which that band counts as sharp."""


def polished(samples: Samples, rate: int, polish: Polish) -> Samples:
    """A take behind its filters, as long as it was, nothing moved in time.

    FFmpeg's dynamic equaliser lowers the hiss, against a threshold that follows from the take's own
    level. Its `deesser` is not used: measured, it takes 18 dB at once, from 3 kHz on at 22 kHz and
    from 7 kHz on at 48 kHz, and depends on the level of the sound.
    """
    if polish.high_pass:
        samples = _through(samples, rate, "highpass", f"f={polish.high_pass:g}")
    if polish.de_ess and rate > 2 * HISS:
        threshold = amplitude(level(samples, rate)[0] - SHARP)
        options = {
            "mode": "cutabove",
            "threshold": f"{min(threshold, 1):.6f}",
            "dfrequency": HISS,
            "dqfactor": 1,
            "tfrequency": HISS,
            "tqfactor": 0.7,
            "ratio": 8,
            "range": f"{max(1.0, 6 * polish.de_ess):.3f}",  # its cut is twice this, in dB
            "attack": 2,
            "release": 40,
        }
        joined = ":".join(f"{name}={value}" for name, value in options.items())
        samples = _through(samples, rate, "adynamicequalizer", joined)
    return samples


def _through(samples: Samples, rate: int, name: str, options: str) -> Samples:
    frames = [f.to_ndarray().reshape(-1) for f in filtered([samples], rate, name, options)]
    whole = np.concatenate([np.zeros(0, np.float32), *frames]).astype(np.float32)
    return whole[: len(samples)]


# -- room tone -------------------------------------------------------------------------------------

PERIOD = 12
"""Seconds after which room tone repeats: it is too quiet for that to be heard."""


def with_room_tone(blocks: Iterable[Samples], rate: int, rms: float) -> Iterator[Samples]:
    """The stream with room tone under it, at a level in dB RMS; both channels get their own.

    Made, not sampled: the takes' edges hold an engine's artefacts rather than a room, and differ
    between speakers, so that joins of theirs would be heard. It lies under words too, so that it
    neither begins nor ends anywhere.
    """
    tone = _room_tone(rate) * np.float32(amplitude(rms))
    at = 0
    for block in blocks:
        places = np.arange(at, at + len(block)) % len(tone)
        if block.ndim == 1:
            yield block + tone[places]
        else:
            other = (places + len(tone) // 2) % len(tone)
            yield block + np.stack([tone[places], tone[other]], 1)
        at = (at + len(block)) % len(tone)


@functools.lru_cache(maxsize=2)
def _room_tone(rate: int) -> Samples:
    """One period of noise as a quiet room has it, at an RMS of 1; its end meets its beginning.

    Shaped on the bins of its spectrum: 5 dB an octave downwards from 150 Hz, nothing under 60 Hz.
    """
    count = PERIOD * rate
    hertz = np.fft.rfftfreq(count, 1 / rate)
    phases = np.random.default_rng(1).random(len(hertz)) * 2 * np.pi
    falling = np.maximum(hertz, 150.0) ** (-5 / 6.02)
    rising = np.clip((hertz - 40) / 40, 0, 1)
    tone = np.fft.irfft(falling * rising * np.exp(1j * phases), count)
    return (tone / np.sqrt(np.mean(tone**2))).astype(np.float32)
