"""Voices: the cast of a manifest, resolved.

Knows no engine: each engine decides which parts of a voice change its samples
(`Engine.voice_content`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from narrator.settings import Strict


@dataclass(frozen=True, slots=True)
class Voice:
    """A speaker of the cast, with everything that an engine may need."""

    speaker: str
    reference: Path | None = None
    """A clip of any format, or a preset."""
    transcript: str | None = None
    """Of a clip; a preset contains its own."""
    content: str | None = None
    """Hash of the reference's sound and transcript; None if the voice must be cast first."""
    description: str | None = None
    seed: int = 0
    style: str | None = None
    """Default style of every line."""
    gain: float = 0.0
    """dB, in addition to the levelling."""
    speed: float = 1.0
    """1.1 is ten per cent faster; applied when takes are assembled, unless the engine does it."""
    language: str | None = None
    pronoun: str | None = None
    """As in the manifest."""
    place: int = 0
    """Number among the speakers of one pronoun, by which engines choose a voice if the author has
    not."""
    own: Mapping[str, Strict] = field(default_factory=dict)
    """The author's settings for voices of an engine's own, by the engine's name."""


Cast = Mapping[str, Voice]

CASTING = 1
"""Version of the way voices without a reference are cast, texts included: a new one casts all of
them anew."""

Mode = Literal["zero-shot", "reference", "anchored", "continuation"]
"""What a request has besides its text.

zero-shot      nothing, or a description: how a voice is cast
reference      the voice's reference: the head of a chain
anchored       the reference, and the take before as prompt
continuation   a prompt alone: the take before, or at a chain's head the reference clip itself
"""


@dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """A voice to imitate, ready for an engine."""

    content: str
    """Hash of its sound and transcript, the same wherever the voice is used."""
    samples: NDArray[np.float32]
    """Mono, trimmed and levelled."""
    rate: int
    transcript: str
    """Exactly what it says: with a wrong transcript an engine rambles."""
    latents: Mapping[str, NDArray[np.float32]] = field(default_factory=dict)
    """Its encodings, by the encoder's fingerprint."""

    @property
    def seconds(self) -> float:
        return len(self.samples) / self.rate
