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
from narrator.engines import Engine, Outcome, Request, Speech, ignore_message
from narrator.engines.voice import Reference, Voice
from narrator.errors import EngineFailure, Problem
from tests import spoken

Fault = Callable[[Request], Speech | EngineFailure | None]


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
class StageSession:
    """Finishes requests last in, first out, so that order is not to be relied on."""

    engine: StageEngine
    slots: int
    waiting: list[Request] = field(default_factory=list)
    busy: float = 1.0
    note: str = ""
    closed: bool = False

    def add(self, request: Request) -> None:
        assert len(self.waiting) < self.slots
        self.engine.requests.append(request)
        self.waiting.append(request)
        self.engine.most = max(self.engine.most, len(self.waiting))

    def advance(self) -> Sequence[Outcome]:
        request = self.waiting.pop()
        made = self.engine.fault(request) or says(request)
        if isinstance(made, EngineFailure):
            return [Outcome(request.key, request.attempt, failure=made)]
        return [Outcome(request.key, request.attempt, speech=made)]

    def close(self) -> None:
        self.closed = True


@dataclass
class StageEngine(Engine):
    name: str = "stage"
    sample_rate: int = spoken.RATE
    continues: bool = True
    clones: bool = True
    anchors: bool = True
    max_context_seconds: float = 25.0
    sound_parameters: Sequence[str] = ("steps", "cfg", "seed")
    casting_parameters: Mapping[str, Any] = field(default_factory=lambda: {"steps": 10, "cfg": 2.0})
    slots: int = 2
    fault: Fault = lambda request: None
    wrong: Sequence[Problem] = ()
    requests: list[Request] = field(default_factory=list)
    sessions: list[StageSession] = field(default_factory=list)
    known_as: Mapping[str, Any] | None = None
    most: int = 0
    """Requests side by side."""

    def identity(self) -> Mapping[str, Any]:
        return self.known_as or {"name": self.name, "version": 1}

    def voice_content(self, voice: Voice, language: str) -> Mapping[str, Any]:
        return {"content": voice.content}

    def problems(self, voices: Mapping[str, Voice], languages: Sequence[str]) -> Sequence[Problem]:
        return self.wrong

    def encode_reference(self, reference: Reference) -> Mapping[str, np.ndarray]:
        return {"stage": np.zeros((2, 4, 8), np.float32)}

    def start(self, tell: Callable[[str], None] = ignore_message) -> StageSession:
        tell("loading the stage")
        session = StageSession(self, self.slots)
        self.sessions.append(session)
        return session
