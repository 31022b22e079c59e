"""Who speaks, apart from what is said: the cast of a manifest, resolved.

Knows no engine: what of a voice changes an engine's samples is the engine's own answer
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
    """One speaker of the cast with everything an engine may need of it."""

    speaker: str
    reference: Path | None = None
    """A clip of any format, or a preset."""
    transcript: str | None = None
    """Of a clip; a preset has its own."""
    content: str | None = None
    """Names the reference's sound and transcript; None where the voice must be cast."""
    description: str | None = None
    seed: int = 0
    style: str | None = None
    """Default style of every line."""
    gain: float = 0.0
    """dB, on top of the levelling."""
    speed: float = 1.0
    """1.1 is ten per cent faster; applied when takes are assembled, unless the engine has it."""
    language: str | None = None
    pronoun: str | None = None
    """As in the manifest."""
    place: int = 0
    """Differs between speakers of one pronoun; engines choose voices by it that nobody chose."""
    own: Mapping[str, Strict] = field(default_factory=dict)
    """What the author set for an engine's own voices, by the engine's name."""


Cast = Mapping[str, Voice]

CASTING = 1
"""How voices without a reference are cast, texts included; another number casts all anew."""

Mode = Literal["zero-shot", "reference", "anchored", "continuation"]
"""What a request is given beside its text.

zero-shot      nothing, or a description: how a voice is cast
reference      the voice's reference: the head of a chain
anchored       the reference, and the take before as prompt
continuation   a prompt alone: the take before, or at a chain's head the reference clip itself
"""


@dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """A voice to imitate, ready for an engine."""

    content: str
    """Names what is heard and its transcript, wherever the voice is used."""
    samples: NDArray[np.float32]
    """Mono, trimmed and levelled."""
    rate: int
    transcript: str
    """Exact: a transcript that does not match makes an engine ramble."""
    latents: Mapping[str, NDArray[np.float32]] = field(default_factory=dict)
    """As encoded already, by the encoder's fingerprint."""

    @property
    def seconds(self) -> float:
        return len(self.samples) / self.rate
