"""Streams a text's sound as it is spoken, until it ends or the client disconnects.

The answer starts once the first chunk is spoken, so a text that cannot be spoken is an HTTP error.
A later error breaks the answer off without its end, so that no client takes it for complete. When
a client disconnects or reads no more, its text is no longer spoken.
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
from narrator.pipeline.speech_without_book import TakeJoiner
from narrator.serve import refusals
from narrator.serve.asking import SpeechRequest
from narrator.serve.formats import MEDIA_TYPES, make_encoder
from narrator.sound.audio import Samples
from narrator.speech.plan import Step
from narrator.speech.service import SpeechJob, SpeechService

SEND_TIMEOUT = 60.0
"""Seconds in which a client must accept some bytes."""


class TakeQueue:
    """A text's takes, handed from the engine's thread to the server's."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._events: asyncio.Queue[tuple[Samples, Sequence[str]] | NarratorError | None]
        self._events = asyncio.Queue()

    def spoken(self, samples: Samples, faults: Sequence[str]) -> None:
        self._put((samples, faults))

    def ended(self, error: NarratorError | None) -> None:
        self._put(error)

    def _put(self, event: tuple[Samples, Sequence[str]] | NarratorError | None) -> None:
        with contextlib.suppress(RuntimeError):  # the server has ended
            self._loop.call_soon_threadsafe(self._events.put_nowait, event)

    async def takes(self) -> AsyncIterator[tuple[Samples, Sequence[str]]]:
        """Yields takes and their faults in order. Raises NarratorError if one cannot be spoken."""
        while (event := await self._events.get()) is not None:
            if isinstance(event, NarratorError):
                raise event
            yield event


@dataclass(slots=True)
class RequestLog:
    """The server's log line of a request, without its text."""

    name: str
    speech_request: SpeechRequest
    started_at: float = field(default_factory=time.monotonic)
    status: int = 499
    """HTTP status; 499, as in other servers, for a client that disconnected."""
    first_sent_after: float | None = None
    """Seconds until the first of its sound was sent."""
    seconds: float = 0.0
    """Seconds of sound that were encoded."""
    doubtful_count: int = 0
    """Chunks whose take has faults."""
    is_complete: bool = False
    """True if all of a known content length was sent, so that a disconnect loses nothing."""
    end: str = ""

    def __str__(self) -> str:
        wall_seconds = time.monotonic() - self.started_at
        request = self.speech_request
        summary = f"{self.name} {self.status} {request.voice[:40]} {request.format}"
        amounts = f"{len(request.text)} characters, {self.seconds:.1f} s in {wall_seconds:.2f} s"
        first = (
            "" if self.first_sent_after is None else f" (first after {self.first_sent_after:.2f} s)"
        )
        doubtful = f", {self.doubtful_count} doubtful" if self.doubtful_count else ""
        return f"{summary}: {amounts}{first}{doubtful}{self.end}"


@dataclass(frozen=True, slots=True)
class AnswerContext:
    """State that all answers share."""

    service: SpeechService
    on_message: Callable[[str], None]
    """Receives a line on each answer, without its text."""
    active: set[SpeechAnswer] = field(default_factory=set)
    """Answers that have not ended."""


class SpeechAnswer:
    """A Starlette response that streams the sound of a text."""

    def __init__(
        self,
        context: AnswerContext,
        speech_request: SpeechRequest,
        steps: Sequence[Step],
        job: SpeechJob,
        takes: TakeQueue,
    ) -> None:
        self._context, self._speech_request, self._steps = context, speech_request, steps
        self._job, self._takes = job, takes
        self._rate = context.service.engine.sample_rate
        context.active.add(self)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        account = RequestLog(scope.get("request_id", ""), self._speech_request)
        work = asyncio.create_task(self._answer(scope, receive, send, account))
        disconnect = asyncio.create_task(_wait_for_disconnect(receive))
        try:
            await asyncio.wait((work, disconnect), return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                work.result()
            elif not account.is_complete:
                account.end = "; who asked has gone"
        finally:
            for task in (work, disconnect):
                task.cancel()
            await asyncio.gather(work, disconnect, return_exceptions=True)
            self._job.leave()
            self._context.active.discard(self)
            self._context.on_message(str(account))

    async def _answer(
        self, scope: Scope, receive: Receive, send: Send, account: RequestLog
    ) -> None:
        pieces = self._pieces(account)
        try:
            first_piece = await anext(pieces)
        except NarratorError as error:
            refusal = refusals.refusal_for(error)
            account.status, account.end = refusal.status, f"; {error}"
            await refusal.answer()(scope, receive, send)
            return
        account.status = 200
        try:
            await self._send(send, first_piece, pieces, account)
        except NarratorError as error:
            account.end = f"; broken off: {error}"
            if self._speech_request.sends_events:
                error_event: dict[str, object] = {
                    "type": "error",
                    "error": refusals.refusal_for(error).error,
                }
                with contextlib.suppress(TimeoutError):
                    await _send_in_time(send, _body_message(_encode_event(error_event)))
            # no final message, so that clients notice
        except TimeoutError:
            account.end = "; broken off: nobody takes it"

    async def _send(
        self, send: Send, first_piece: bytes, pieces: AsyncIterator[bytes], account: RequestLog
    ) -> None:
        start_message: Message = {"type": "http.response.start", "status": 200}
        await _send_in_time(send, {**start_message, "headers": self._headers(len(first_piece))})
        account.first_sent_after = time.monotonic() - account.started_at
        await _send_in_time(send, _body_message(first_piece))
        account.is_complete = self._is_single_piece
        async for piece in pieces:
            await _send_in_time(send, _body_message(piece))
        await _send_in_time(send, {"type": "http.response.body", "body": b"", "more_body": False})

    @property
    def _is_single_piece(self) -> bool:
        """Returns whether the answer is one piece with a content length."""
        return len(self._steps) == 1 and not self._speech_request.sends_events

    def _headers(self, size: int) -> list[tuple[bytes, bytes]]:
        content_type = (
            "text/event-stream"
            if self._speech_request.sends_events
            else MEDIA_TYPES[self._speech_request.format]
        )
        headers = {"content-type": content_type}
        if self._is_single_piece:
            headers["content-length"] = str(size)
        if ignored_fields := [
            name[:40] for name in self._speech_request.ignored_fields[:10] if name.isidentifier()
        ]:
            headers["x-narrator-ignored"] = ", ".join(ignored_fields)
        if unspoken_parts := self._unspoken():
            headers["x-narrator-unspoken"] = ", ".join(quote(part) for part in unspoken_parts[:10])
        return [
            (name.encode(), value.encode("ascii", "replace")) for name, value in headers.items()
        ]

    def _unspoken(self) -> Sequence[str]:
        """Returns the parts of the text that have no sound in the engine."""
        engine = self._context.service.engine
        return [
            part.text
            for step in self._steps
            for part in engine.silent_parts(
                step.text, step.utterance.language, step.utterance.spoken.pronunciations
            )
        ]

    async def _pieces(self, account: RequestLog) -> AsyncIterator[bytes]:
        """Yields the bytes of the answer as takes arrive. Raises NarratorError."""
        joining = TakeJoiner(self._steps, self._rate, self._speech_request.speed)
        encoder = await asyncio.to_thread(make_encoder, self._speech_request.format, self._rate)
        step_count = len(self._steps)

        def encode_samples(samples: Samples, is_last: bool) -> bytes:
            sound = joining.add(samples)
            account.seconds += len(sound) / self._rate
            return encoder.feed(sound, last=is_last)

        position = 0
        async for samples, faults in self._takes.takes():
            position += 1
            account.doubtful_count += bool(faults)
            piece = await asyncio.to_thread(encode_samples, samples, position == step_count)
            self._job.mark_consumed()
            if piece:
                yield _delta_event(piece) if self._speech_request.sends_events else piece
        if self._speech_request.sends_events:
            count = len(self._speech_request.text)
            usage = {"input_tokens": count, "output_tokens": 0, "total_tokens": count}
            yield _encode_event({"type": "speech.audio.done", "usage": usage})


def _delta_event(piece: bytes) -> bytes:
    return _encode_event({"type": "speech.audio.delta", "audio": base64.b64encode(piece).decode()})


def _encode_event(fields: dict[str, object]) -> bytes:
    return f"data: {json.dumps(fields)}\n\n".encode()


def _body_message(piece: bytes) -> Message:
    return {"type": "http.response.body", "body": piece, "more_body": True}


async def _send_in_time(send: Send, message: Message) -> None:
    """Sends a message. Raises TimeoutError if the client does not accept it."""
    await asyncio.wait_for(send(message), SEND_TIMEOUT)


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
