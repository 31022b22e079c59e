"""An engine for tests: it hums a noise that depends on everything it was given.

It continues takes (its state is a digest of what it said), fails on demand, and counts.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from narrator import keys
from narrator.engines import Engine, Outcome, Request, Speech, ignore_message
from narrator.engines.voice import Voice
from narrator.errors import EngineFailure, Problem

RATE = 8000
Fault = Callable[[Request], Speech | EngineFailure | None]


def hum(request: Request) -> Speech:
    """Noise of the expected length, the same for the same request and prompt."""
    prompt = "" if request.prompt is None else request.prompt.state.tobytes().hex()
    seed = keys.number(f"{request.key} {request.seed} {request.attempt} {request.text} {prompt}")
    draw = np.random.default_rng(seed)
    sound = draw.normal(0, 0.05, round(max(0.3, request.expected) * RATE)).astype(np.float32)
    edge = np.zeros(RATE // 10, np.float32)
    state = draw.normal(size=(2, 4, 3)).astype(np.float32)
    return Speech(np.concatenate([edge, sound, edge]), state)


@dataclass
class HumSession:
    """Finishes a request in each call, so that slots stay full."""

    engine: HumEngine
    slots: int
    waiting: list[Request] = field(default_factory=list)
    closed: bool = False
    busy: float = 1.0
    note: str = ""
    most: int = 0
    """Requests side by side."""

    def add(self, request: Request) -> None:
        assert len(self.waiting) < self.slots
        self.engine.requests.append(request)
        self.waiting.append(request)
        self.most = max(self.most, len(self.waiting))

    def advance(self) -> Sequence[Outcome]:
        engine = self.engine
        if engine.errors:
            raise engine.errors.pop(0)
        return self.finish() if engine.gate.wait(0.01) else []

    def finish(self) -> Sequence[Outcome]:
        engine = self.engine
        request = self.waiting.pop(engine.next_index)
        speech = engine.fault(request) or engine.voice(request)
        if isinstance(speech, EngineFailure):
            return [Outcome(request.key, request.attempt, failure=speech)]
        return [Outcome(request.key, request.attempt, speech=speech)]

    def close(self) -> None:
        self.closed = True


def open_gate() -> threading.Event:
    gate = threading.Event()
    gate.set()
    return gate


@dataclass
class HumEngine(Engine):
    name: str = "hum"
    sample_rate: int = RATE
    continues: bool = True
    clones: bool = False
    anchors: bool = True
    max_context_seconds: float = 25.0
    sound_parameters: Sequence[str] = ("cfg", "seed")
    casting_parameters: Mapping[str, Any] = field(default_factory=dict)
    slots: int = 3
    version: int = 1
    lacks: Sequence[str] = ()
    """Languages that it does not speak."""
    voice: Callable[[Request], Speech] = hum
    fault: Fault = lambda request: None
    next_index: int = 0
    """The request that it finishes next: the oldest, or with -1 the newest."""
    gate: threading.Event = field(default_factory=open_gate)
    """Nothing is finished while it is closed."""
    start_errors: list[Exception] = field(default_factory=list)
    """Errors of the next starts; each waits for the gate."""
    errors: list[Exception] = field(default_factory=list)
    """Errors of the next steps."""
    requests: list[Request] = field(default_factory=list)
    sessions: list[HumSession] = field(default_factory=list)
    size: int = 0
    """Bytes of memory that it takes."""
    loaded: bool = False
    session_type: type[HumSession] = HumSession

    def identity(self) -> Mapping[str, Any]:
        return {"name": self.name, "version": self.version}

    def voice_content(self, voice: Voice, language: str) -> Mapping[str, Any]:
        return {"speaker": voice.speaker, "description": voice.description, "seed": voice.seed}

    def speaks(self, language: str) -> bool:
        return language not in self.lacks

    def problems(self, voices: Mapping[str, Voice], languages: Sequence[str]) -> Sequence[Problem]:
        lacking = (tag for tag in languages if not self.speaks(tag))
        return [Problem(None, None, f"hum does not speak “{tag}”") for tag in lacking]

    def required_memory(self) -> int:
        return 0 if self.loaded else self.size

    def release(self) -> None:
        assert all(session.closed for session in self.sessions)
        self.loaded = False

    def start(self, tell: Callable[[str], None] = ignore_message) -> HumSession:
        if self.start_errors:
            assert self.gate.wait(30)
            raise self.start_errors.pop(0)
        self.loaded = True
        session = self.session_type(self, self.slots)
        self.sessions.append(session)
        return session

    @property
    def spoken(self) -> Counter[str]:
        """How often each text was asked for."""
        return Counter(request.text for request in self.requests)
