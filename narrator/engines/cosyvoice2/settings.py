"""What a manifest says of CosyVoice2."""

from __future__ import annotations

from pydantic import Field

from narrator.engines.mlx.settings import ModelSettings
from narrator.settings import Strict, Text


class CosyVoice2Settings(ModelSettings):
    """Which model, in which precision, and where it runs: it has nothing else to set."""


class CosyVoice2Overrides(Strict):
    """Of them, what a chapter may have of its own."""

    seed: int | None = Field(default=None, ge=0, lt=2**32)
    """As in `engine`."""


class CosyVoice2Voice(Strict):
    """A voice that is stored with a CosyVoice2 model."""

    speaker: Text | None = None
    """What it is called in the model's spk2info.pt. It needs no clip."""
