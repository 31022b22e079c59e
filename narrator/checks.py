"""Is this take good? Signal and length alone; pure.

Every rule gives a `Fault` with the figure that broke it. Thresholds are wide on purpose: a check
that cries wolf costs a retry of a good take, and what passes is still heard by the author.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from narrator import audio

FRAME = 0.02
"""Seconds of one level reading."""
SILENCE = -45.0
"""dB under the take's own loudest speech: a pause."""
QUIET = -55.0
"""dB full scale: a take whose loudest half second lies below is silent."""
LONGEST_GAP = 2.0
"""Seconds of silence inside a take, speech on both sides: a runaway."""
SLOWEST = 2.5
"""Times the expected length, and `SPARE` seconds on top."""
FASTEST = 0.3
"""Of the expected length, for texts of a second or more."""
SPARE = 1.5
CLIPPED = 8
"""Full-scale samples in a row."""
OFF_LEVEL = 8.0
"""dB from the speaker's median: another loudness than a listener takes for the same sitting."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A rule that a take broke, and the figure."""

    kind: str
    """finite, silent, clipped, long, short, gap, cut, level, chirp, repeat or tail."""
    detail: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.detail}"


@dataclass(frozen=True, slots=True)
class Figures:
    """What was measured of a take; finite numbers, for its record."""

    seconds: float = 0.0
    """From the first to the last speech."""
    ratio: float = 0.0
    """Of these to the expected ones; 0 where nothing was expected."""
    level: float = audio.SILENCE
    """Loudness of active speech in dB full scale, as `audio.level`."""
    peak: float = audio.SILENCE
    """dB full scale."""
    gap: float = 0.0
    """Seconds of the longest silence with speech on both sides."""
    clipped: float = 0.0
    """Samples in the longest run at full scale."""
    chirp: float = 0.0
    repeat: float = 0.0
    tail: float = 0.0
    end: float = audio.SILENCE
    """Level of the very end against the loudest speech, dB."""
    per_token: float = 0.0
    """Patches per text token; 0 where unknown."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was measured of a take, and the rules that it broke."""

    figures: Figures
    faults: tuple[Fault, ...] = ()

    def __bool__(self) -> bool:
        """Whether the take is good."""
        return not self.faults


def examine(
    samples: NDArray[np.float32],
    rate: int,
    expected: float,
    *,
    latents: NDArray[np.float32] | None = None,
    capped: bool = False,
    median: float | None = None,
    tokens: int = 0,
    text: str = "",
) -> Verdict:
    """All that is measured of, and wrong with, a take of mono samples.

    It should speak `text` for `expected` seconds. `latents`: (patches, 4, 64) at 25 frames a second,
    where the engine has them. `capped`: the engine was stopped at its length limit. `median`: the
    speaker's median `Figures.level` in dB, or None before there is one. `tokens`: of the text, 0
    where unknown.
    """
    if not len(samples):
        return Verdict(Figures(), (Fault("silent", "no samples"),))
    if not np.isfinite(samples).all():
        bad = int((~np.isfinite(samples)).sum())
        return Verdict(Figures(), (Fault("finite", f"{bad} samples are not numbers"),))
    level, peak = audio.level(samples, rate)
    levels = _levels(samples, rate)
    loudest = float(levels.max())
    if loudest < QUIET:
        figures = Figures(level=round(level, 2), peak=round(peak, 2))
        return Verdict(figures, (Fault("silent", f"loudest part at {loudest:.0f} dB"),))
    spoken = np.flatnonzero(levels > loudest + SILENCE)
    seconds = float(spoken[-1] - spoken[0] + 1) * FRAME
    figures = Figures(
        seconds=round(seconds, 3),
        ratio=round(seconds / expected, 3) if expected > 0 else 0.0,
        level=round(level, 2),
        peak=round(peak, 2),
        gap=round(_longest_run(levels[spoken[0] : spoken[-1]] <= loudest + SILENCE) * FRAME, 3),
        clipped=float(_longest_run(np.abs(samples) >= 0.999)),
        end=round(float(levels[-1]) - loudest, 2),
        per_token=round(len(latents) / tokens, 3) if latents is not None and tokens else 0.0,
    )
    return Verdict(figures, tuple(_faults(figures, expected, capped, median)))


def badness(verdict: Verdict) -> float:
    """How bad a take is, to keep the best of several: 0 where it is good, more for worse."""
    return float(len(verdict.faults))


def check(
    samples: NDArray[np.float32], rate: int, expected: float, *, capped: bool = False
) -> tuple[Fault, ...]:
    """The faults of `examine`."""
    return examine(samples, rate, expected, capped=capped).faults


def _faults(figures: Figures, expected: float, capped: bool, median: float | None) -> list[Fault]:
    faults: list[Fault] = []
    if figures.peak > 0:
        peak = math.pow(10, figures.peak / 20)
        faults.append(Fault("clipped", f"a peak of {peak:.2f}, beyond full scale"))
    elif figures.clipped >= CLIPPED:
        faults.append(Fault("clipped", f"{figures.clipped:.0f} samples in a row at full scale"))
    if median is not None and abs(figures.level - median) > OFF_LEVEL:
        faults.append(Fault("level", f"{figures.level:.1f} dB, the speaker's is {median:.1f} dB"))
    length = f"{figures.seconds:.1f} s where about {expected:.1f} s were expected"
    if figures.seconds > SLOWEST * expected + SPARE:
        faults.append(Fault("long", length))
    if expected >= 1.0 and figures.seconds < FASTEST * expected:
        faults.append(Fault("short", length))
    if figures.gap >= LONGEST_GAP:
        faults.append(Fault("gap", f"{figures.gap:.1f} s of silence inside"))
    if capped:
        faults.append(Fault("cut", "stopped at its length limit"))
    elif figures.end > -10.0:
        faults.append(Fault("cut", "ends in the middle of a sound"))
    return faults


def _levels(samples: NDArray[np.float32], rate: int) -> NDArray[np.float64]:
    """RMS of each frame in dB full scale; the last frame is the take's last full one."""
    size = max(1, round(rate * FRAME))
    count = max(1, len(samples) // size)
    frames = samples[-count * size :].reshape(count, -1).astype(np.float64)
    return 10.0 * np.log10(np.mean(frames**2, axis=1) + 1e-12)


def _longest_run(flags: NDArray[np.bool_]) -> int:
    """Length of the longest run of true values."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], flags.view(np.int8), [0]))))
    return int((edges[1::2] - edges[::2]).max(initial=0))
