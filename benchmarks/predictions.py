"""Predictions about GPUs from before one was measured, and a check against measurements.

Milliseconds a patch of the shipped sizes in bfloat16, where 160 are real time: by arithmetic from
bandwidth, from products, and from 1,618 launches a step. `kernels.py` measures, and says what
became of these. A device that is not named here has no prediction: its neighbours' are of
other bandwidths.

An H100 (2026-11-26, random weights, 1,603 launches), the only GPU measured, met two of four: 27 ms
for one row, not 40 to 50; 5.4 for a row of 8; 2.0 for a row of 16, not 3 to 7; above its floor. A
launch takes some 17 us there, and 16 rows do not wait for arithmetic yet.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import mlx.core as mx

WITHIN = 0.2
"""A prediction is met within this of its ends: an estimate says no more."""
MANY = (8, 16)


@dataclass(frozen=True, slots=True)
class Prediction:
    """Of one device; ends of a range are the same where one number was given."""

    device: str  # as MLX names it
    floor: float  # to read all weights once a step
    one_row: tuple[float, float]  # a step of one row, with as few launches as now
    many_rows: tuple[float, float]  # a step of 8 to 16 rows, divided by them
    bound: str  # by what


PREDICTED = (
    Prediction("Apple M1", 111, (190, 190), (63, 63), "arithmetic"),
    Prediction("Apple M4 Pro", 28, (63, 63), (17, 19), "arithmetic"),
    Prediction("Apple M3 Ultra", 9.2, (22, 22), (6, 6), "launches"),
    Prediction("NVIDIA GeForce RTX 4090", 7.5, (40, 50), (5.6, 5.6), "launches"),
    Prediction("NVIDIA H100 80GB HBM3", 2.3, (40, 50), (3, 7), "launches"),
)


@dataclass(frozen=True, slots=True)
class Judgement:
    """The comparison of one prediction with its measurement, in milliseconds a patch."""

    title: str
    low: float
    high: float | None  # none: `low` is the least
    measured: float
    within: float = WITHIN

    @property
    def error_share(self) -> float:
        """The distance from the nearer end, as a share of it; 0 between them."""
        if self.high is not None and self.measured > self.high:
            return self.measured / self.high - 1
        return min(0.0, self.measured / self.low - 1)

    @property
    def met(self) -> bool:
        return abs(self.error_share) <= self.within

    def __str__(self) -> str:
        predicted = f"{self.low:g} to {self.high} ms"
        if self.high in (None, self.low):
            predicted = f"{self.low:g} ms" + (" at least" if self.high is None else "")
        became = "met" if self.met else "wrong"
        if self.error_share:
            became += f", {abs(self.error_share):.0%} {'more' if self.error_share > 0 else 'less'}"
        return f"{self.title}: {predicted} predicted, {self.measured:.1f} measured: {became}"


def device() -> str | None:
    """The GPU's name, as MLX says it; None on a CPU."""
    if mx.default_device().type != mx.DeviceType.gpu:
        return None
    device_info = mx.device_info()
    return str(device_info.get("device_name") or device_info.get("architecture"))


def _of(device: str) -> Prediction | None:
    return next((each for each in PREDICTED if each.device == device), None)


def judge_steps(device: str, steps: Mapping[int, float]) -> list[Judgement]:
    """Of a device by MLX's name; `steps` has milliseconds of a step by its number of rows.

    Nothing where there is no prediction of the device, or no such number of rows was measured.
    """
    prediction = _of(device)
    if prediction is None:
        return []
    judgements = []
    if 1 in steps:
        floor = Judgement("floor by bandwidth", prediction.floor, None, steps[1], within=0)
        judgements += [floor, Judgement("one row", *prediction.one_row, steps[1])]
    judgements += [
        Judgement(f"a row of {rows}", *prediction.many_rows, steps[rows] / rows)
        for rows in MANY
        if rows in steps
    ]
    return judgements


def report_lines(device: str | None, steps: Mapping[int, float]) -> list[str]:
    """Lines to print; `device` is None on a CPU."""
    if device is None:
        return ["predictions are of GPUs: not judged on a CPU"]
    prediction, judgements = _of(device), judge_steps(device, steps)
    if prediction is None or not judgements:
        return [f"nothing was predicted of {device}"]
    wrong = sum(not each.met for each in judgements)
    return [
        f"predictions of {device}, bound by {prediction.bound}, a patch, met within {WITHIN:.0%}:",
        *(f"  {each}" for each in judgements),
        f"  {wrong} of {len(judgements)} were wrong",
    ]
