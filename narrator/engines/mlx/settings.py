"""What a manifest says of every model that runs here."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from narrator.engines.spec import EngineSettings
from narrator.settings import Text


class ModelSettings(EngineSettings):
    """Which model, in which precision, and where it runs."""

    model: Text = "auto"
    """A directory, a hub id ("owner/name" or "owner/name@revision"), or auto: the engine's own,
    of VoxCPM2 with 8-bit language models where the machine has less than 16 GB."""
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    """What the network computes in; auto is the checkpoint's own on a GPU, float32 on a CPU."""
    slots: Literal["auto"] | Annotated[int, Field(ge=1, le=256)] = "auto"
    """Chunks side by side; auto finds what is fastest here, once."""
    process: Literal["auto", "own", "same"] = "auto"
    """Where the model runs: in narrator's process, or in one of its own, which may die and is
    started anew. Auto has one on NVIDIA GPUs, where some errors leave nothing else to do."""


class SamplingSettings(ModelSettings):
    """Settings of a model that draws what it says step by step, until it stops."""

    seed: int = Field(default=0, ge=0, lt=2**32)
    """Of the noise: another one says everything a little differently."""
    earliest_stop: float = Field(default=0.25, ge=0, le=0.9)
    """Share of a chunk's expected length before which the model may not stop."""
