"""From start to stop; the routes.

Prints nothing: who starts it is told what there is to tell.
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
from narrator.pipeline.aloud import SpeakingManner, steps_of
from narrator.serve import asking, refusals
from narrator.serve.answering import Hall, Hearing, SpeechAnswer
from narrator.serve.asking import SpeechAsked
from narrator.serve.door import HEALTH, Door, Terms
from narrator.serve.refusals import FAULT, Refusal
from narrator.speech.plan import EngineParameters, Step, TooLong
from narrator.speech.switchboard import Full, Switchboard, TextCall
from narrator.text.normalize import Lexicon
from narrator.web import bodies
from narrator.web.listening import Endpoint, serving

PORT = 4748
"""Taken where it is free and none was named."""
GRACE = 30.0
"""Seconds that what is being spoken may take once the server is to stop."""


@dataclass(slots=True)
class SpeechServer:
    """What a speech server is made of, and whether it takes more."""

    hall: Hall
    voices: VoiceBook
    parameters: EngineParameters
    lexicon: Lexicon = field(default_factory=Lexicon)
    longest: int = asking.LONGEST
    """Characters of a text."""
    longest_speech: float = asking.LONGEST_SPEECH
    """Seconds of speech of a text, as expected."""
    stopping: bool = False
    preparing: int = 0
    """Texts that are being cut and normalised."""
    preparers: ThreadPoolExecutor = field(
        default_factory=partial(ThreadPoolExecutor, 2, "serve-prepare")
    )
    """Apart from the threads that encode: what takes long to prepare holds up nobody's sound."""

    @property
    def board(self) -> Switchboard:
        return self.hall.board

    @property
    def count(self) -> int:
        """Texts that are spoken, wait, or are still being sent."""
        return max(self.board.count, len(self.hall.active))

    def app(self) -> Starlette:
        """Its routes."""
        return Starlette(
            routes=[
                Route("/v1/audio/speech", self._speech, methods=["POST"]),
                Route("/v1/audio/voices", self._voices),
                Route("/v1/models", self._models),
                Route("/v1/models/{model}", self._model),
                Route(HEALTH, self._health),
            ],
            exception_handlers=dict.fromkeys(refusals.KINDS, refusals.answered),
        )

    async def _speech(self, request: Request) -> SpeechAnswer:
        if self.stopping:
            raise Refusal(503, "the server is about to stop", kind=FAULT, code="stopping")
        engine = self.board.engine.name
        asked = asking.read(await bodies.asked(request), engine, self.longest)
        if self.board.count + self.preparing >= self.board.most:
            raise Full(self.board.patience)
        client = request.client.host if request.client else ""
        hearing = Hearing(asyncio.get_running_loop())
        begin = partial(self._begun, asked, client, hearing)
        self.preparing += 1
        try:
            loop = asyncio.get_running_loop()
            steps, call = await loop.run_in_executor(self.preparers, begin)
        finally:
            self.preparing -= 1
        return SpeechAnswer(self.hall, asked, steps, call, hearing)

    def _begun(
        self, asked: SpeechAsked, client: str, hearing: Hearing
    ) -> tuple[tuple[Step, ...], TextCall]:
        engine = self.board.engine
        who = self.voices.find(asked.voice)
        language = asked.language or who.language
        if not engine.speaks(language):
            param = "language" if asked.language else "voice"
            advice = engine.language_advice(language)
            what = f"{engine.name} does not speak '{language}'{advice}"
            raise Refusal(400, what, param=param, code="invalid_value")
        slower = min(1.0, asked.speed * who.voice.speed)
        longest = self.longest_speech * slower
        manner = SpeakingManner(self.parameters, language, asked.style, self.lexicon, longest)
        try:
            steps = tuple(steps_of(asked.text, who, manner, engine))
        except TooLong:
            raise asking.too_long(self.longest_speech) from None
        if not any(engine.can_say(step.text, language, {}) for step in steps):
            raise Refusal(400, "nothing in the text has a sound", param="input")
        return steps, self.board.say(client, steps, who.reference, hearing)

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
        rows = [_row(name) for name in asking.models(self.board.engine.name)]
        return JSONResponse({"object": "list", "data": rows})

    def _model(self, request: Request) -> Response:
        name = request.path_params["model"]
        asking.check_model(name, self.board.engine.name)
        return JSONResponse(_row(name))

    def _health(self, request: Request) -> Response:
        status = "stopping" if self.stopping else self.board.state
        facts = {"status": status, "engine": self.board.engine.name, "texts": self.board.count}
        return JSONResponse(facts, 200 if status == "ok" else 503)


def _row(model: str) -> dict[str, object]:
    return {"id": model, "object": "model", "created": 0, "owned_by": "narrator"}


@contextlib.contextmanager
def served(server: SpeechServer, place: Endpoint, terms: Terms) -> Iterator[None]:
    """The server at work in a thread, until the block ends; its engine has been started."""
    connections = 2 * server.board.most + 64  # those who wait, and those who are told so
    with serving(Door(server.app(), terms), place, "serve", connections):
        try:
            yield
        finally:
            server.preparers.shutdown(wait=False, cancel_futures=True)
            server.board.close()  # who still hears something is told so


def work(server: SpeechServer, place: Endpoint, terms: Terms, ready: Callable[[], None]) -> None:
    """Serve until a signal ends it: what is being spoken is finished first, for so long as `GRACE`;
    another signal ends that, too. `ready` is called once requests are answered."""
    asyncio.run(_work(server, place, terms, ready))


async def _work(
    server: SpeechServer, place: Endpoint, terms: Terms, ready: Callable[[], None]
) -> None:
    loop, ended, now = asyncio.get_running_loop(), asyncio.Event(), asyncio.Event()

    def end() -> None:
        (now if ended.is_set() else ended).set()

    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if name != signal.SIGHUP or signal.getsignal(name) != signal.SIG_IGN:  # under nohup
            loop.add_signal_handler(name, end)
    with served(server, place, terms):
        ready()
        await ended.wait()
        server.stopping = True
        if count := server.count:
            server.hall.tell(f"finishing {count}, for {GRACE:.0f} s at most; ctrl-C stops at once")
        until = loop.time() + GRACE
        while server.count and loop.time() < until and not now.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(now.wait(), 0.1)
