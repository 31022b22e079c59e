"""VoxCPM2's settings in a manifest."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from narrator.engines.mlx.settings import SamplingSettings
from narrator.settings import Text


class VoxCPM2Settings(SamplingSettings):
    """The model, its precision, and its sampling."""

    name: Literal["voxcpm2"] = "voxcpm2"
    """30 languages at 48 kHz; voices from a clip or a description."""
    lora: Text | None = None
    """A fine-tuned voice: a folder or a hub id."""
    steps: int = Field(default=10, ge=1, le=100)
    """Solver steps for each patch of 160 ms. Others report that 6 scored as well as 10 with a
    recogniser once, and failed more often once; 3 are unusable. Not measured here: see
    docs/questions.md."""
    cfg: float = Field(default=2.0, ge=0.1, le=10)
    """Guidance scale: how closely text and voice are followed."""
