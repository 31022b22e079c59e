"""The result of a row: samples, latents, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

StopReason = Literal["stop", "cap", "cancelled"]


@dataclass(frozen=True, slots=True, eq=False)
class Speech:
    """The speech of a row."""

    text: str  # as spoken, white space as upstream, without the description of the voice
    samples: np.ndarray  # float32 mono at the model's sample_rate
    latents: np.ndarray  # of the new patches, (n, patch_size, latent_dim) float32
    stop_reason: StopReason  # the model's own stop, the length cap, or the caller's cancel
    token_count: int  # ids of the requested text, description included
    seed: int  # of the returned attempt; reproduces it, alone and on this machine
    attempts: int
