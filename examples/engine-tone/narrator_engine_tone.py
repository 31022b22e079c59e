"""A minimal engine: it plays a noisy tone for every word."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from pydantic import Field

from narrator.engines import Engine, Outcome, Request, Speech, ignore_message
from narrator.engines.spec import EngineContext, EngineSettings, EngineSpec
from narrator.engines.voice import Voice
from narrator.settings import Strict

RATE = 24_000


class ToneSettings(EngineSettings):
    """The key `engine` of a manifest that names this engine."""

    name: Literal["tone"] = "tone"
    loudness: float = Field(default=0.1, gt=0, lt=1)
    seed: int = Field(default=0, ge=0)


class ToneVoice(Strict):
    """The key `tone` of a speaker."""

    hertz: float = Field(default=220, ge=50, le=1000)


class ToneEngine(Engine):
    name = "tone"
    sample_rate = RATE
    sound_parameters = ("seed",)  # another seed gives another take, so chunks can be retaken

    def __init__(self, settings: ToneSettings) -> None:
        self.loudness = settings.loudness

    def identity(self) -> Mapping[str, Any]:
        """Everything that changes samples, besides the request: a part of each take's key."""
        return {"name": self.name, "version": 1, "loudness": self.loudness}

    def voice_content(self, voice: Voice, language: str) -> Mapping[str, Any]:
        """Everything about a voice that changes samples."""
        return {"hertz": hertz_of(voice)}

    def start(self, tell: Callable[[str], None] = ignore_message) -> ToneSession:
        return ToneSession(self)


class ToneSession:
    """Speaks one request at a time; an engine on a GPU would have more slots."""

    slots = 1
    busy = 1.0
    note = ""

    def __init__(self, engine: ToneEngine) -> None:
        self._engine = engine
        self._requests: list[Request] = []

    def add(self, request: Request) -> None:
        self._requests.append(request)

    def advance(self) -> Sequence[Outcome]:
        return [
            Outcome(request.key, request.attempt, speech=Speech(self._speak(request)))
            for request in [self._requests.pop()]
        ]

    def close(self) -> None:
        self._requests.clear()

    def _speak(self, request: Request) -> np.ndarray:
        """Returns mono float32 samples between -1 and 1, about as long as speech of the text."""
        noise = np.random.default_rng(request.seed + request.attempt)
        seconds_per_letter = request.expected / len(request.text)
        words = []
        for word in request.text.split():
            length = round((len(word) + 1) * seconds_per_letter * RATE)
            hertz = hertz_of(request.voice) * 2 ** (sum(map(ord, word)) % 24 / 12)
            tone = np.sin(2 * np.pi * hertz / RATE * np.arange(length))
            words.append(self._engine.loudness * (0.3 * tone + 0.3 * noise.normal(size=length)))
        edge = np.zeros(RATE // 10)
        return np.concatenate([edge, *words, edge]).astype(np.float32)


def hertz_of(voice: Voice) -> float:
    settings = voice.own.get("tone")
    return (settings if isinstance(settings, ToneVoice) else ToneVoice()).hertz


class ToneSpec(EngineSpec):
    name = "tone"
    title = "the tone engine"
    settings = ToneSettings
    voice = ToneVoice
    can_design_voices = False

    def make(
        self, settings: EngineSettings, context: EngineContext, tell: Callable[[str], None]
    ) -> Engine:
        assert isinstance(settings, ToneSettings)
        return ToneEngine(settings)

    def sample_rate(self, settings: EngineSettings) -> int:
        return RATE


SPEC = ToneSpec()
