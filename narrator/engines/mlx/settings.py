"""Settings in a manifest that all models of MLX have."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from narrator.engines.spec import EngineSettings
from narrator.settings import Text


class ModelSettings(EngineSettings):
    """Which model, in which precision, and where it runs."""

    model: Text = "auto"
    """A folder, a hub id ("owner/name" or "owner/name@revision"), or auto: the engine's default
    model, for VoxCPM2 with 8-bit language models if the machine has less than 16 GB."""
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    """Precision of the network; auto is the checkpoint's on a GPU, float32 on a CPU."""
    slots: Literal["auto"] | Annotated[int, Field(ge=1, le=256)] = "auto"
    """Number of chunks rendered side by side; auto measures the fastest number on this machine,
    once."""
    process: Literal["auto", "own", "same"] = "auto"
    """Process of the model: the same as narrator's, or its own, which is restarted if it crashes.
    Auto uses its own on NVIDIA GPUs, where some errors cannot be handled otherwise."""


class SamplingSettings(ModelSettings):
    """Settings of a model that samples its speech step by step until it stops."""

    seed: int = Field(default=0, ge=0, lt=2**32)
    """Seed of the noise: another one speaks everything slightly differently."""
    earliest_stop: float = Field(default=0.25, ge=0, le=0.9)
    """Share of a chunk's expected length before which the model must not stop."""
