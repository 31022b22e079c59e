"""The speech server's routes, start and stop.

Prints nothing: the caller receives messages by a callback.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from narrator.cast.voicebook import VoiceBook
from narrator.pipeline.speech_without_book import SpeakingManner, steps_of
from narrator.serve import asking, refusals
from narrator.serve.answering import AnswerContext, SpeechAnswer, TakeQueue
from narrator.serve.asking import SpeechRequest
from narrator.serve.door import HEALTH, AccessControl, AccessTerms
from narrator.serve.refusals import SERVER_ERROR, Refusal
from narrator.speech.plan import EngineParameters, Step, TooLong
from narrator.speech.service import QueueFull, SpeechJob, SpeechService
from narrator.text.normalize import Lexicon
from narrator.web import bodies
from narrator.web.listening import Endpoint, running_server

PORT = 4748
"""Default port, used if it is free."""
GRACE_SECONDS = 30.0
"""Seconds to finish running requests when the server stops."""


@dataclass(slots=True)
class SpeechServer:
    """The routes and state of a speech server."""

    context: AnswerContext
    voices: VoiceBook
    parameters: EngineParameters
    lexicon: Lexicon = field(default_factory=Lexicon)
    max_characters: int = asking.MAX_CHARACTERS
    """Most characters of a text."""
    max_speech_seconds: float = asking.MAX_SPEECH_SECONDS
    """Most expected seconds of speech of a text."""
    is_stopping: bool = False
    preparing_count: int = 0
    """Number of texts that are being cut and normalised."""
    preparers: ThreadPoolExecutor = field(
        default_factory=partial(ThreadPoolExecutor, 2, "serve-prepare")
    )
    """Separate from the encoding threads, so that slow preparation delays no sound."""

    @property
    def service(self) -> SpeechService:
        return self.context.service

    @property
    def count(self) -> int:
        """Number of texts that wait, are spoken, or are still being sent."""
        return max(self.service.count, len(self.context.active))

    def app(self) -> Starlette:
        """Returns the Starlette application."""
        return Starlette(
            routes=[
                Route("/v1/audio/speech", self._speech, methods=["POST"]),
                Route("/v1/audio/voices", self._voices),
                Route("/v1/models", self._models),
                Route("/v1/models/{model}", self._model),
                Route(HEALTH, self._health),
            ],
            exception_handlers=dict.fromkeys(refusals.HANDLED_ERRORS, refusals.handle_error),
        )

    async def _speech(self, request: Request) -> SpeechAnswer:
        if self.is_stopping:
            raise Refusal(503, "the server is about to stop", kind=SERVER_ERROR, code="stopping")
        engine = self.service.engine.name
        speech_request = asking.parse_request(
            await bodies.read_json(request), engine, self.max_characters
        )
        if self.service.count + self.preparing_count >= self.service.max_texts:
            raise QueueFull(self.service.retry_seconds)
        client = request.client.host if request.client else ""
        takes = TakeQueue(asyncio.get_running_loop())
        prepare = partial(self._prepare_speech, speech_request, client, takes)
        self.preparing_count += 1
        try:
            loop = asyncio.get_running_loop()
            steps, job = await loop.run_in_executor(self.preparers, prepare)
        finally:
            self.preparing_count -= 1
        return SpeechAnswer(self.context, speech_request, steps, job, takes)

    def _prepare_speech(
        self, speech_request: SpeechRequest, client: str, takes: TakeQueue
    ) -> tuple[tuple[Step, ...], SpeechJob]:
        engine = self.service.engine
        voice = self.voices.find(speech_request.voice)
        language = speech_request.language or voice.language
        if not engine.speaks(language):
            param = "language" if speech_request.language else "voice"
            advice = engine.language_advice(language)
            message = f"{engine.name} does not speak '{language}'{advice}"
            raise Refusal(400, message, param=param, code="invalid_value")
        speed = min(1.0, speech_request.speed * voice.voice.speed)
        max_seconds = self.max_speech_seconds * speed
        manner = SpeakingManner(
            self.parameters, language, speech_request.style, self.lexicon, max_seconds
        )
        try:
            steps = tuple(steps_of(speech_request.text, voice, manner, engine))
        except TooLong:
            raise asking.make_too_long_refusal(self.max_speech_seconds) from None
        if not any(
            engine.can_say(step.text, language, step.utterance.spoken.pronunciations)
            for step in steps
        ):
            raise Refusal(400, "the text contains nothing that can be pronounced", param="input")
        return steps, self.service.say(client, steps, voice.reference, takes)

    def _voices(self, request: Request) -> Response:
        rows = [
            {
                "id": entry.name,
                "object": "voice",
                "name": entry.name,
                "place": entry.place,
                **({"stands_for": entry.stands_for} if entry.stands_for else {}),
            }
            for entry in self.voices.entries()
        ]
        names = [row["id"] for row in rows]
        return JSONResponse({"object": "list", "voices": names, "data": rows})

    def _models(self, request: Request) -> Response:
        rows = [_model_row(name) for name in asking.models(self.service.engine.name)]
        return JSONResponse({"object": "list", "data": rows})

    def _model(self, request: Request) -> Response:
        name = request.path_params["model"]
        asking.check_model(name, self.service.engine.name)
        return JSONResponse(_model_row(name))

    def _health(self, request: Request) -> Response:
        status = "stopping" if self.is_stopping else self.service.state
        facts = {"status": status, "engine": self.service.engine.name, "texts": self.service.count}
        return JSONResponse(facts, 200 if status == "ok" else 503)


def _model_row(model: str) -> dict[str, object]:
    return {"id": model, "object": "model", "created": 0, "owned_by": "narrator"}


@contextlib.contextmanager
def running_speech_server(
    server: SpeechServer, place: Endpoint, terms: AccessTerms
) -> Iterator[None]:
    """Runs the server on a thread until the block ends; its engine must have been started."""
    connections = 2 * server.service.max_texts + 64  # waiting requests, and refused ones
    with running_server(AccessControl(server.app(), terms), place, "serve", connections):
        try:
            yield
        finally:
            server.preparers.shutdown(wait=False, cancel_futures=True)
            server.service.close()  # running answers end with an error


def run_until_signal(
    server: SpeechServer, place: Endpoint, terms: AccessTerms, ready: Callable[[], None]
) -> None:
    """Serves until a signal, then finishes running requests.

    They have `GRACE_SECONDS`, or until another signal; `ready` is called once requests are
    answered.
    """
    asyncio.run(_serve_until_signal(server, place, terms, ready))


async def _serve_until_signal(
    server: SpeechServer, place: Endpoint, terms: AccessTerms, ready: Callable[[], None]
) -> None:
    loop = asyncio.get_running_loop()
    should_stop, should_stop_now = asyncio.Event(), asyncio.Event()

    def end() -> None:
        (should_stop_now if should_stop.is_set() else should_stop).set()

    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if name != signal.SIGHUP or signal.getsignal(name) != signal.SIG_IGN:  # under nohup
            loop.add_signal_handler(name, end)
    with running_speech_server(server, place, terms):
        ready()
        await should_stop.wait()
        server.is_stopping = True
        if count := server.count:
            server.context.on_message(
                f"finishing {count}, for {GRACE_SECONDS:.0f} s at most; ctrl-C stops at once"
            )
        deadline = loop.time() + GRACE_SECONDS
        while server.count and loop.time() < deadline and not should_stop_now.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(should_stop_now.wait(), 0.1)
