"""A text's sound as it is spoken, until it ends or who hears it has gone.

The first chunk is waited for before anything is answered, so what cannot be spoken is an error. One
that comes later breaks the answer off, before its end is said: nobody takes it for whole. Who has
gone, or takes nothing any more, is spoken to no longer.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from urllib.parse import quote

from starlette.types import Message, Receive, Scope, Send

from narrator.errors import NarratorError
from narrator.pipeline.aloud import Joining
from narrator.serve import refusals
from narrator.serve.asking import SpeechAsked
from narrator.serve.formats import TYPES, coder
from narrator.sound.audio import Samples
from narrator.speech.plan import Step
from narrator.speech.switchboard import Switchboard, TextCall

PATIENCE = 60.0
"""Seconds in which who hears it must take some of it."""


class Hearing:
    """A text's takes, handed from the engine's thread to the server's."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._told: asyncio.Queue[tuple[Samples, Sequence[str]] | NarratorError | None]
        self._told = asyncio.Queue()

    def spoken(self, samples: Samples, faults: Sequence[str]) -> None:
        self._hand((samples, faults))

    def ended(self, error: NarratorError | None) -> None:
        self._hand(error)

    def _hand(self, what: tuple[Samples, Sequence[str]] | NarratorError | None) -> None:
        with contextlib.suppress(RuntimeError):  # the server has ended
            self._loop.call_soon_threadsafe(self._told.put_nowait, what)

    async def takes(self) -> AsyncIterator[tuple[Samples, Sequence[str]]]:
        """In order. Raises NarratorError where one cannot be had."""
        while (told := await self._told.get()) is not None:
            if isinstance(told, NarratorError):
                raise told
            yield told


@dataclass(slots=True)
class Account:
    """What became of a request, for who runs the server; nothing of its text."""

    name: str
    asked: SpeechAsked
    since: float = field(default_factory=time.monotonic)
    status: int = 499
    """As some servers say it of who has gone."""
    first: float | None = None
    """Seconds until the first of its sound was sent."""
    seconds: float = 0.0
    """Of sound."""
    doubtful: int = 0
    """Chunks whose take has faults."""
    whole: bool = False
    """All that its length counts was sent: who goes now has it."""
    end: str = ""

    def __str__(self) -> str:
        wall = time.monotonic() - self.since
        what = f"{self.name} {self.status} {self.asked.voice[:40]} {self.asked.format}"
        heard = f"{len(self.asked.text)} characters, {self.seconds:.1f} s in {wall:.2f} s"
        first = "" if self.first is None else f" (first after {self.first:.2f} s)"
        doubtful = f", {self.doubtful} doubtful" if self.doubtful else ""
        return f"{what}: {heard}{first}{doubtful}{self.end}"


@dataclass(frozen=True, slots=True)
class Hall:
    """What all answers share."""

    board: Switchboard
    tell: Callable[[str], None]
    """Hears a line on each; never of its text."""
    active: set[SpeechAnswer] = field(default_factory=set)
    """Those that have not ended."""


class SpeechAnswer:
    """A response of Starlette's."""

    def __init__(
        self,
        hall: Hall,
        asked: SpeechAsked,
        steps: Sequence[Step],
        call: TextCall,
        hearing: Hearing,
    ) -> None:
        self._hall, self._asked, self._steps = hall, asked, steps
        self._call, self._hearing = call, hearing
        self._rate = hall.board.engine.sample_rate
        hall.active.add(self)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        account = Account(scope.get("request_id", ""), self._asked)
        work = asyncio.create_task(self._answer(scope, receive, send, account))
        left = asyncio.create_task(_gone(receive))
        try:
            await asyncio.wait((work, left), return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                work.result()
            elif not account.whole:
                account.end = "; who asked has gone"
        finally:
            for task in (work, left):
                task.cancel()
            await asyncio.gather(work, left, return_exceptions=True)
            self._call.leave()
            self._hall.active.discard(self)
            self._hall.tell(str(account))

    async def _answer(self, scope: Scope, receive: Receive, send: Send, account: Account) -> None:
        pieces = self._pieces(account)
        try:
            first = await anext(pieces)
        except NarratorError as error:
            refused = refusals.of(error)
            account.status, account.end = refused.status, f"; {error}"
            await refused.answer()(scope, receive, send)
            return
        account.status = 200
        try:
            await self._send(send, first, pieces, account)
        except NarratorError as error:
            account.end = f"; broken off: {error}"
            if self._asked.events:
                told: dict[str, object] = {"type": "error", "error": refusals.of(error).error}
                with contextlib.suppress(TimeoutError):
                    await _sent(send, _body(_event(told)))
            # without its end, so that it is not taken for whole
        except TimeoutError:
            account.end = "; broken off: nobody takes it"

    async def _send(
        self, send: Send, first: bytes, rest: AsyncIterator[bytes], account: Account
    ) -> None:
        begun: Message = {"type": "http.response.start", "status": 200}
        await _sent(send, {**begun, "headers": self._headers(len(first))})
        account.first = time.monotonic() - account.since
        await _sent(send, _body(first))
        account.whole = self._is_whole
        async for piece in rest:
            await _sent(send, _body(piece))
        await _sent(send, {"type": "http.response.body", "body": b"", "more_body": False})

    @property
    def _is_whole(self) -> bool:
        """Whether it comes in one piece, with its length."""
        return len(self._steps) == 1 and not self._asked.events

    def _headers(self, size: int) -> list[tuple[bytes, bytes]]:
        kind = "text/event-stream" if self._asked.events else TYPES[self._asked.format]
        said = {"content-type": kind}
        if self._is_whole:
            said["content-length"] = str(size)
        if ignored := [name[:40] for name in self._asked.ignored[:10] if name.isidentifier()]:
            said["x-narrator-ignored"] = ", ".join(ignored)
        if unspoken := self._unspoken():
            said["x-narrator-unspoken"] = ", ".join(quote(part) for part in unspoken[:10])
        return [(name.encode(), value.encode("ascii", "replace")) for name, value in said.items()]

    def _unspoken(self) -> Sequence[str]:
        """The parts of the text that have no sound in the engine."""
        engine = self._hall.board.engine
        return [
            part
            for step in self._steps
            for part in engine.silent_parts(
                step.text, step.utterance.language, step.utterance.spoken.pronunciations
            )
        ]

    async def _pieces(self, account: Account) -> AsyncIterator[bytes]:
        """The bytes of the answer as they come. Raises NarratorError."""
        joining = Joining(self._steps, self._rate, self._asked.speed)
        maker = await asyncio.to_thread(coder, self._asked.format, self._rate)
        last = len(self._steps)

        def made(samples: Samples, is_last: bool) -> bytes:
            sound = joining.add(samples)
            account.seconds += len(sound) / self._rate
            return maker.feed(sound, last=is_last)

        place = 0
        async for samples, faults in self._hearing.takes():
            place += 1
            account.doubtful += bool(faults)
            data = await asyncio.to_thread(made, samples, place == last)
            self._call.took()
            if data:
                yield _delta(data) if self._asked.events else data
        if self._asked.events:
            count = len(self._asked.text)
            usage = {"input_tokens": count, "output_tokens": 0, "total_tokens": count}
            yield _event({"type": "speech.audio.done", "usage": usage})


def _delta(data: bytes) -> bytes:
    return _event({"type": "speech.audio.delta", "audio": base64.b64encode(data).decode()})


def _event(said: dict[str, object]) -> bytes:
    return f"data: {json.dumps(said)}\n\n".encode()


def _body(data: bytes) -> Message:
    return {"type": "http.response.body", "body": data, "more_body": True}


async def _sent(send: Send, message: Message) -> None:
    """Raises TimeoutError where nobody takes it."""
    await asyncio.wait_for(send(message), PATIENCE)


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
