"""What a manifest can say of the draft voice."""

from __future__ import annotations

from pydantic import Field

from narrator.settings import Strict, Text


class DraftSettings(Strict):
    """How the draft voice plays a speaker; what is not set follows from the speaker's name."""

    variant: Text | None = None
    """Of eSpeak NG: f2, m7, croak."""
    pitch: int | None = Field(default=None, ge=0, le=99)
    """50 is in the middle."""
    rate: int | None = Field(default=None, ge=80, le=450)
    """Words a minute."""
