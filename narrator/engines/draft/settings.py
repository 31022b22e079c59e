"""The draft voice's settings in a manifest."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from narrator.engines.spec import EngineSettings
from narrator.settings import Strict, Text


class DraftSettings(EngineSettings):
    """The draft voice has no settings."""

    name: Literal["draft"] = "draft"
    """Plain, and a hundred times faster than real time: for proofs of structure and cast."""


class DraftVoice(Strict):
    """The speaker's draft voice; defaults are derived from the speaker's name."""

    variant: Text | None = None
    """Variant of eSpeak NG: f2, m7, croak."""
    pitch: int | None = Field(default=None, ge=0, le=99)
    """Pitch; 50 is the middle."""
    rate: int | None = Field(default=None, ge=80, le=450)
    """Words per minute."""
