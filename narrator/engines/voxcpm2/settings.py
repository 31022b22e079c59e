"""What a manifest can say of VoxCPM2."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from narrator.engines.kind import EngineSettings
from narrator.settings import Strict, Text


class VoxCPM2Settings(EngineSettings):
    """Which model, in which precision, and how it is sampled."""

    model: Text = "auto"
    """A directory, a hub id ("owner/name" or "owner/name@revision"), or auto: VoxCPM2, with 8-bit
    language models where the machine has less than 16 GB."""
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    """What the network computes in; auto is the checkpoint's own on a GPU, float32 on a CPU."""
    lora: Text | None = None
    """A fine-tuned voice: a directory or a hub id."""
    steps: int = Field(default=10, ge=1, le=100)
    """Of the solver, for each patch of 160 ms."""
    cfg: float = Field(default=2.0, ge=0.1, le=10)
    """Guidance: how closely text and voice are followed."""
    seed: int = Field(default=0, ge=0, lt=2**32)
    """Of the noise: another one says everything a little differently."""
    slots: Literal["auto"] | Annotated[int, Field(ge=1, le=256)] = "auto"
    """Chunks side by side; auto finds what is fastest here, once."""
    process: Literal["auto", "own", "same"] = "auto"
    """Where the model runs: in narrator's process, or in one of its own, which may die and is
    started anew. Auto has one on NVIDIA GPUs, where some errors leave nothing else to do."""
    earliest_stop: float = Field(default=0.25, ge=0, le=0.9)
    """Share of a chunk's expected length before which the model may not stop."""


class VoxCPM2Overrides(Strict):
    """Of them, what a chapter may have of its own."""

    steps: int | None = Field(default=None, ge=1, le=100)
    """As in `engine`."""
    cfg: float | None = Field(default=None, ge=0.1, le=10)
    """As in `engine`."""
    seed: int | None = Field(default=None, ge=0, lt=2**32)
    """As in `engine`."""
