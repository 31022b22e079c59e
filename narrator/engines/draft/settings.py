"""The draft voice's settings in a manifest."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from narrator.engines.spec import EngineSettings
from narrator.settings import Strict, Text


class DraftSettings(EngineSettings):
    """The draft voice has nothing to set."""

    name: Literal["draft"] = "draft"
    """Plain, and a hundred times faster than real time: for hearing structure and cast."""


class DraftVoice(Strict):
    """How the draft voice plays a speaker; what is not set follows from the speaker's name."""

    variant: Text | None = None
    """Of eSpeak NG: f2, m7, croak."""
    pitch: int | None = Field(default=None, ge=0, le=99)
    """50 is in the middle."""
    rate: int | None = Field(default=None, ge=80, le=450)
    """Words a minute."""
