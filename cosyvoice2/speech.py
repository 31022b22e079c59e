"""What a row becomes: samples, tokens, mel, and how it ended; not how it came about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

StopReason = Literal["stop", "cap", "cancelled"]


@dataclass(frozen=True, slots=True, eq=False)
class Speech:
    """What a row became."""

    samples: np.ndarray  # float32 mono at the model's sample_rate
    tokens: np.ndarray  # (n,) int32, 25 a second: what the next row goes on from
    mel: np.ndarray  # (2n, 80) float32, as the flow made it
    text: str = ""
    stop_reason: StopReason = "stop"  # the model's own stop, the length cap, or the caller's cancel
    token_count: int = 0  # of the text that was asked for
    seed: int = 0  # alone, on this machine, it says the same again
