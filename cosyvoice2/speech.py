"""The result of a row: samples, tokens, mel, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

StopReason = Literal["stop", "cap", "cancelled"]


@dataclass(frozen=True, slots=True, eq=False)
class Speech:
    """The speech of a row."""

    samples: np.ndarray  # float32 mono at the model's sample_rate
    tokens: np.ndarray  # (n,) int32, 25 a second: a prefix for the next row
    mel: np.ndarray  # (2n, 80) float32, as the flow made it
    text: str = ""
    stop_reason: StopReason = "stop"  # the model's own stop, the length cap, or the caller's cancel
    token_count: int = 0  # ids of the requested text
    seed: int = 0  # reproduces the speech, alone and on this machine
