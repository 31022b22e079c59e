"""An engine for tests of voices: it clones, speaks real speech, and goes wrong on demand.

Every request gives the draft voice's reading of the English casting text, stretched a little by its
seed, so that candidates differ and the same request gives the same samples.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from narrator.cast.auditions import text_for
from narrator.engines import Request, Speech, ignore_message
from narrator.engines.voice import Reference, Voice
from narrator.errors import Problem
from tests import spoken
from tests.fakes import HumEngine, HumSession


def says(request: Request) -> Speech:
    """Clean speech at a pace of its own."""
    samples = spoken.draft(text_for("en").text)
    pace = 1 + (request.seed % 100) / 1000
    places = np.arange(0, len(samples) - 1, pace)
    moved = np.interp(places, np.arange(len(samples)), samples).astype(np.float32)
    still = np.zeros(spoken.RATE // 4, np.float32)
    return Speech(
        np.concatenate([moved, still]), np.ones((40, 4, 8), np.float32), seed=request.seed
    )


@dataclass
class StageEngine(HumEngine):
    """Finishes requests last in, first out, so that order is not to be relied on."""

    name: str = "stage"
    sample_rate: int = spoken.RATE
    clones: bool = True
    sound_parameters: Sequence[str] = ("steps", "cfg", "seed")
    casting_parameters: Mapping[str, Any] = field(default_factory=lambda: {"steps": 10, "cfg": 2.0})
    slots: int = 2
    voice: Callable[[Request], Speech] = says
    next_index: int = -1
    wrong: Sequence[Problem] = ()
    known_as: Mapping[str, Any] | None = None

    @property
    def most(self) -> int:
        """Requests side by side."""
        return max(session.most for session in self.sessions)

    def identity(self) -> Mapping[str, Any]:
        return self.known_as or super().identity()

    def voice_content(self, voice: Voice, language: str) -> Mapping[str, Any]:
        return {"content": voice.content}

    def problems(self, voices: Mapping[str, Voice], languages: Sequence[str]) -> Sequence[Problem]:
        return self.wrong

    def encode_reference(self, reference: Reference) -> Mapping[str, np.ndarray]:
        return {"stage": np.zeros((2, 4, 8), np.float32)}

    def start(self, tell: Callable[[str], None] = ignore_message) -> HumSession:
        tell("loading the stage")
        return super().start(tell)
