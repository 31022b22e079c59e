"""Is this take good? Signal and length alone; pure.

Every rule gives a `Fault` with the figure that broke it. Thresholds are wide on purpose: a check
that cries wolf costs a retry of a good take, and what passes is still heard by the author.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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


@dataclass(frozen=True, slots=True)
class Fault:
    """A rule that a take broke, and the figure."""

    kind: str
    """finite, silent, clipped, long, short, gap or cut."""
    detail: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.detail}"


def check(
    samples: NDArray[np.float32], rate: int, expected: float, *, capped: bool = False
) -> tuple[Fault, ...]:
    """All that is wrong with a take of mono samples that should speak for `expected` seconds."""
    if not len(samples):
        return (Fault("silent", "no samples"),)
    if not np.isfinite(samples).all():
        bad = int((~np.isfinite(samples)).sum())
        return (Fault("finite", f"{bad} samples are not numbers"),)
    levels = _levels(samples, rate)
    loudest = float(levels.max())
    if loudest < QUIET:
        return (Fault("silent", f"loudest part at {loudest:.0f} dB"),)
    faults: list[Fault] = []
    peak = float(np.abs(samples).max())
    run = _longest_run(np.abs(samples) >= 0.999)
    if peak > 1.0:
        faults.append(Fault("clipped", f"a peak of {peak:.2f}, beyond full scale"))
    elif run >= CLIPPED:
        faults.append(Fault("clipped", f"{run} samples in a row at full scale"))
    spoken = np.flatnonzero(levels > loudest + SILENCE)
    length = (spoken[-1] - spoken[0] + 1) * FRAME
    if length > SLOWEST * expected + SPARE:
        faults.append(Fault("long", f"{length:.1f} s where about {expected:.1f} s were expected"))
    if expected >= 1.0 and length < FASTEST * expected:
        faults.append(Fault("short", f"{length:.1f} s where about {expected:.1f} s were expected"))
    gap = _longest_run(levels[spoken[0] : spoken[-1]] <= loudest + SILENCE) * FRAME
    if gap >= LONGEST_GAP:
        faults.append(Fault("gap", f"{gap:.1f} s of silence inside"))
    if capped:
        faults.append(Fault("cut", "stopped at its length limit"))
    elif levels[-1] > loudest - 10.0:
        faults.append(Fault("cut", "ends in the middle of a sound"))
    return tuple(faults)


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
