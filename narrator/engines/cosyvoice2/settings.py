"""CosyVoice2's settings in a manifest."""

from __future__ import annotations

from typing import Literal

from narrator.engines.mlx.settings import SamplingSettings
from narrator.settings import Strict, Text


class CosyVoice2Settings(SamplingSettings):
    """The model, its precision, and where it runs."""

    name: Literal["cosyvoice2"] = "cosyvoice2"
    """Chinese, English, Japanese and Korean at 24 kHz; voices from a clip."""


class CosyVoice2Voice(Strict):
    """A voice stored in a CosyVoice2 model."""

    speaker: Text | None = None
    """Name of a speaker in the model's spk2info.pt. It needs no clip."""
