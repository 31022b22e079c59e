"""What a manifest says of CosyVoice2."""

from __future__ import annotations

from typing import Literal

from narrator.engines.mlx.settings import SamplingSettings
from narrator.settings import Strict, Text


class CosyVoice2Settings(SamplingSettings):
    """Which model, in which precision, and where it runs: it has nothing else to set."""

    name: Literal["cosyvoice2"] = "cosyvoice2"
    """Chinese, English, Japanese and Korean at 24 kHz; voices from a clip."""


class CosyVoice2Voice(Strict):
    """A voice that is stored with a CosyVoice2 model."""

    speaker: Text | None = None
    """What it is called in the model's spk2info.pt. It needs no clip."""
