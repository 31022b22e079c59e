"""What a manifest says of VoxCPM2."""

from __future__ import annotations

from pydantic import Field

from narrator.engines.mlx.settings import ModelSettings
from narrator.settings import Strict, Text


class VoxCPM2Settings(ModelSettings):
    """Which model, in which precision, and how it is sampled."""

    lora: Text | None = None
    """A fine-tuned voice: a directory or a hub id."""
    steps: int = Field(default=10, ge=1, le=100)
    """Of the solver, for each patch of 160 ms."""
    cfg: float = Field(default=2.0, ge=0.1, le=10)
    """Guidance: how closely text and voice are followed."""


class VoxCPM2Overrides(Strict):
    """Of them, what a chapter may have of its own."""

    steps: int | None = Field(default=None, ge=1, le=100)
    """As in `engine`."""
    cfg: float | None = Field(default=None, ge=0.1, le=10)
    """As in `engine`."""
    seed: int | None = Field(default=None, ge=0, lt=2**32)
    """As in `engine`."""
