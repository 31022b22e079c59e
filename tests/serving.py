"""A speech server at work for tests, and sound as it is decoded again."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import av
import numpy as np

from narrator.cast.voicebook import VoiceBook
from narrator.engines import Engine
from narrator.engines.registry import ENGINES
from narrator.engines.spec import EngineContext
from narrator.project.project import Project
from narrator.project.schema import SpeechSettings
from narrator.serve import app
from narrator.serve.answering import AnswerContext
from narrator.serve.door import AccessTerms
from narrator.speech.plan import sound_parameters_of
from narrator.speech.service import SpeechService
from narrator.web import listening
from narrator.web.hosts import Hosts
from narrator.web.listening import Endpoint
from tests.studios import Answer, Visitor

SAID = "The front door was opened at 7:30 pm."
SPEECH = "/v1/audio/speech"


def draft() -> Engine:
    kind = ENGINES["draft"]
    return kind.make(kind.settings(), EngineContext(None, Path()), print)


@dataclass
class Served:
    """A server at work, and who asks it."""

    server: app.SpeechServer
    place: Endpoint
    client: Visitor
    lines: list[str] = field(default_factory=list)
    """What it told of its requests."""

    def say(self, text: str = SAID, **fields: Any) -> Answer:
        """Fields of the request; None leaves one out, `headers` go with it."""
        headers = fields.pop("headers", {})
        asked = {"model": "tts-1", "voice": "alloy", "input": text, **fields}
        kept = {name: value for name, value in asked.items() if value is not None}
        return self.client.post(SPEECH, kept, **{"origin": None, **headers})

    @classmethod
    def of(cls, server: app.SpeechServer, place: Endpoint, lines: list[str]) -> Served:
        return cls(server, place, Visitor(place.port), lines)


def server(
    engine: Engine,
    *,
    project: Project | None = None,
    most: int = 128,
    max_characters: int = 20_000,
    max_speech_seconds: float = 1800.0,
) -> tuple[app.SpeechServer, list[str]]:
    """One that is not at work yet, and what it tells."""
    lines: list[str] = []
    settings = SpeechSettings().engine if project is None else project.engine
    voices = VoiceBook(engine, "en", project)
    context = AnswerContext(SpeechService(engine, most), lines.append)
    own = sound_parameters_of(engine, {"seed": 0, "cfg": 2.0, "steps": 10, **settings.model_dump()})
    return app.SpeechServer(
        context, voices, own, max_characters=max_characters, max_speech_seconds=max_speech_seconds
    ), lines


def terms(place: Endpoint, token: str | None = None, origins: Sequence[str] = ()) -> AccessTerms:
    return AccessTerms(Hosts(place.address, place.port), token, origins)


@contextlib.contextmanager
def opened(
    engine: Engine,
    *,
    token: str | None = None,
    origins: Sequence[str] = (),
    most: int = 128,
    max_characters: int = 20_000,
    max_speech_seconds: float = 1800.0,
) -> Iterator[Served]:
    made, lines = server(
        engine, most=most, max_characters=max_characters, max_speech_seconds=max_speech_seconds
    )
    with contextlib.closing(listening.listen("127.0.0.1", (0,))) as place:
        made.service.start()
        with app.running_speech_server(made, place, terms(place, token, origins)):
            yield Served.of(made, place, lines)


def heard(data: bytes, format: str) -> tuple[int, float, float]:
    """Rate, seconds and level (RMS) of an answer."""
    if format == "pcm":
        samples = np.frombuffer(data, "<i2") / 32768
        return 24_000, len(samples) / 24_000, float(np.sqrt(np.mean(samples**2)))
    with av.open(io.BytesIO(data)) as container:
        stream = container.streams.audio[0]
        resampler = av.AudioResampler(format="fltp", layout="mono")
        blocks = [
            block.to_ndarray()[0]
            for frame in container.decode(stream)
            for block in resampler.resample(frame)
        ]
        samples = np.concatenate(blocks)
        return stream.rate, len(samples) / stream.rate, float(np.sqrt(np.mean(samples**2)))
