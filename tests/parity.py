"""Shared by the comparisons with official numbers: checks, errors, the table and the last line."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Check:
    """The error of a stage in a group of arrays, and the largest one allowed."""

    group: str
    stage: str
    error: float
    allowed: float
    reason: str = ""

    @property
    def passes(self) -> bool:
        return self.error <= self.allowed


def distance(value: Any, expected: Any) -> float:
    """Largest absolute difference; infinite where shapes differ or a number is none."""
    value, expected = np.asarray(value), np.asarray(expected)
    if value.shape != expected.shape:
        return math.inf
    kind = np.complex128 if np.iscomplexobj(value) else np.float64
    difference = np.abs(value.astype(kind) - expected.astype(kind))
    return float(np.nan_to_num(difference, nan=math.inf).max(initial=0))


def relative(value: np.ndarray, expected: np.ndarray) -> float:
    """Norm of the difference by that of the expected; infinite where shapes differ."""
    if value.shape != expected.shape or not np.isfinite(value).all():
        return math.inf
    difference = value.astype(np.float64) - expected.astype(np.float64)
    return float(np.linalg.norm(difference) / np.linalg.norm(expected.astype(np.float64)))


def show(checks: Iterable[Check]) -> None:
    """Prints the largest error of each group and stage."""
    worst: dict[tuple[str, str], Check] = {}
    for check in checks:
        known = worst.setdefault((check.group, check.stage), check)
        if check.error > known.error:
            worst[check.group, check.stage] = check
    print(f"{'group':<30} {'stage':<36} {'error':>9} {'allowed':>8}")
    for check in worst.values():
        figures = f"{check.error:>9.1e} {check.allowed:>8.0e}"
        verdict = "" if check.passes else f"  FAILS {check.reason}"
        print(f"{check.group:<30} {check.stage:<36} {figures}{verdict}")


def print_summary(model: str, checks: list[Check], **facts: Any) -> None:
    """Prints the last line: JSON of the facts, the largest errors by stage, and the failures."""
    errors: dict[str, float] = {}
    for check in checks:
        if math.isfinite(check.error):
            errors[check.stage] = max(check.error, errors.get(check.stage, 0.0))
    failures = [{**asdict(c), "error": repr(c.error)} for c in checks if not c.passes]
    print(json.dumps(
        {"parity": model, **facts, "checks": len(checks), "worst": errors, "failures": failures}
    ))  # fmt: skip
