"""Turns rows of tokens into speech: their voices, the flow, and the vocoder.

Rows that end in the same step, and on a GPU those that end soon after, go through flow and vocoder
together. Only the vocoder's noise is random, drawn from each row's own seed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any
from weakref import WeakSet

import mlx.core as mx
import numpy as np

from cosyvoice2.arrays import float_array
from cosyvoice2.config import MELS, SPEAKER_SIZE
from cosyvoice2.flow import MAX_FRAMES, TOKEN_FRAMES, Flow, FlowRow
from cosyvoice2.generate import Request, Row, TokenBatch, check_request
from cosyvoice2.hift import HiFT
from cosyvoice2.lm import Qwen2LM
from cosyvoice2.speech import Speech
from cosyvoice2.vocoder import MelRow, estimate_bytes, frames_at, vocode
from speechbase.device import on_gpu, settle
from speechbase.errors import RequestError

GPU_ROWS_PER_PASS = 4
"""Rows that a GPU takes through the flow at once; a CPU gains nothing by it."""
MAX_WAIT_STEPS = 25
"""Steps that an ended row waits for others: a second of their sound."""


class SpeechDecoder:
    """The flow and the vocoder of a model."""

    def __init__(self, flow: Flow, vocoder: HiFT) -> None:
        self.flow, self.vocoder = flow, vocoder

    def estimate_bytes(self, rows: int, frames: int) -> int:
        """Estimates the bytes, besides the weights, for `rows` rows of `frames` frames, which are
        decoded one by one, or on a GPU a few at a time."""
        flow_bytes = self.flow.estimate_bytes(min(rows, _rows_per_pass()), frames)
        return max(flow_bytes, estimate_bytes(self.vocoder))

    def mels(self, rows: Sequence[FlowRow], *, streaming: bool = False) -> list[np.ndarray]:
        """Returns the mel of each row, (2 n, 80)."""
        mels = self.flow.mel(rows, streaming=streaming)
        mx.eval(mels)
        settle()
        return [np.array(mel) for mel in mels]

    def row(self, request: Request, tokens: Sequence[int] | np.ndarray = ()) -> FlowRow:
        """Combines tokens with a request's voice.

        Raises RequestError if the request has no voice, or one of another model. The type of the
        reference has been checked by the caller.
        """
        reference: Any = request.reference
        speaker = request.speaker
        prompt_tokens, mel = np.zeros(0, np.int32), np.zeros((0, MELS), np.float32)
        if reference is not None:
            prompt_tokens, mel = reference.tokens, reference.mel
            speaker = reference.speaker if speaker is None else speaker
        if speaker is None:
            raise RequestError("nobody is to speak: give a reference, or a stored speaker")
        vector = float_array("speaker", speaker, (SPEAKER_SIZE,), "a vector")
        vocab_size = self.flow.config.vocab_size
        if len(prompt_tokens) and prompt_tokens.max() >= vocab_size:
            raise RequestError(f"the reference's tokens must be from 0 to {vocab_size - 1}")
        return FlowRow(np.asarray(tokens, np.int32), prompt_tokens, mel, vector)

    def max_new_tokens(self, request: Request) -> int:
        """Returns the most new tokens that the flow takes after the reference.

        Raises RequestError.
        """
        max_tokens = MAX_FRAMES // TOKEN_FRAMES - len(self.row(request).prompt_tokens)
        if max_tokens < 1:
            raise RequestError("the reference leaves no room for speech; 3 to 10 seconds are best")
        return max_tokens

    def checked_request(self, request: Request) -> Request:
        """Returns the request with its noise as an array.

        Raises RequestError for faults of speed and noise that show before there are tokens.
        """
        frames_at(request.speed, 0)
        return replace(request, noise=self.noise(request.noise, -1))

    def noise(self, array_like: Any, frames: int) -> np.ndarray | None:
        """Checks a caller's noise for `frames` frames, -1 for any number. Raises RequestError."""
        if array_like is None:
            return None
        config = self.vocoder.config
        length = frames if frames == -1 else frames * config.frame
        return float_array("noise", array_like, (length, config.harmonics + 1))

    def check(self, row: Row) -> None:
        """Raises RequestError unless speed and noise of a row suit its tokens."""
        frames = frames_at(row.request.speed, TOKEN_FRAMES * len(row.tokens))
        self.noise(row.request.noise, frames)

    def speech(self, rows: Sequence[Row]) -> list[Speech]:
        """Decodes rows that have ended and that have passed `check`."""
        mels = self.mels([self.row(row.request, row.tokens) for row in rows])
        samples = vocode(
            self.vocoder,
            [
                MelRow(mel, noise=row.request.noise, seed=row.seed, speed=row.request.speed)
                for row, mel in zip(rows, mels, strict=True)
            ],
        )
        return [
            Speech(
                samples=row_samples,
                tokens=row.tokens,
                mel=mel,
                text=row.request.text,
                stop_reason=row.stop_reason or "stop",
                token_count=row.token_count,
                seed=row.seed,
            )
            for row, mel, row_samples in zip(rows, mels, samples, strict=True)
        ]


class Batch(TokenBatch):
    """Rows that are spoken at once, from requests to speech."""

    def __init__(
        self,
        lm: Qwen2LM,
        tokenize: Callable[[str], list[int]],
        slots: int,
        decoder: SpeechDecoder,
        resolve: Callable[[Request], Request],
    ) -> None:
        super().__init__(lm, tokenize, slots)
        self._decoder, self._resolve = decoder, resolve
        self._pending_decodings: WeakSet[Decoding] = WeakSet()  # drops those that callers dropped
        self._undecoded_rows: deque[Row] = deque()
        """Rows of `advance`: empty between calls, except after an error."""
        self._decoded_rows: list[tuple[Row, Speech]] = []

    def __len__(self) -> int:
        return super().__len__() + len(self._undecoded_rows) + len(self._decoded_rows)

    def add(self, request: Request, max_tokens: int | None = None) -> Row:
        """Queues a request; it runs as soon as a slot is free. Raises RequestError.

        It gets at most `max_tokens` tokens, and no more than the flow takes.
        """
        check_request(request)
        request = self._decoder.checked_request(self._resolve(request))
        flow_limit = self._decoder.max_new_tokens(request)
        limit = flow_limit if max_tokens is None else min(max_tokens, flow_limit)
        return super().add(request, limit)

    def advance(self) -> list[tuple[Row, Speech]]:
        """Makes one step of all rows; returns the rows that ended, with their speech.

        Raises RequestError if a row's noise does not suit its tokens, and as `step`. That row is
        lost, and the next call goes on with the others.
        """
        self._undecoded_rows += self.step()
        while self._undecoded_rows:
            rows = self._next_rows()
            self._decoded_rows += zip(rows, self._decoder.speech(rows), strict=True)
        decoded, self._decoded_rows = self._decoded_rows, []
        return decoded

    def _next_rows(self) -> list[Row]:
        """Takes the next rows to decode together."""
        rows: list[Row] = []
        while self._undecoded_rows and len(rows) < _rows_per_pass():
            row = self._undecoded_rows.popleft()
            try:
                self._decoder.check(row)
            except RequestError:
                self._undecoded_rows.extendleft(reversed(rows))
                raise
            rows.append(row)
        return rows

    def decoding(self, row: Row, stream: Any = None) -> Decoding:
        """Returns the decoding of a row that `step` returned, to run between later steps.

        Raises RequestError if the row's noise does not suit its tokens.
        """
        self._decoder.check(row)
        decoding = Decoding(row, self, stream)
        self._pending_decodings.add(decoding)
        return decoding

    def decode_with_others(self, decoding: Decoding) -> None:
        """Decodes a row, and with it the rows that have waited longest."""
        others = sorted(self._pending_decodings - {decoding}, key=lambda other: -other.waited_steps)
        decodings = [decoding, *others[: _rows_per_pass() - 1]]
        speeches = self._decoder.speech([decoding.row for decoding in decodings])
        for finished, speech in zip(decodings, speeches, strict=True):
            finished.result = speech
            self._pending_decodings.discard(finished)

    def is_due(self, decoding: Decoding) -> bool:
        """Returns True if enough rows wait, or `decoding` has waited long enough."""
        return (
            not on_gpu()
            or len(self._pending_decodings) >= GPU_ROWS_PER_PASS
            or decoding.waited_steps >= MAX_WAIT_STEPS
        )


def _rows_per_pass() -> int:
    return GPU_ROWS_PER_PASS if on_gpu() else 1


class Decoding:
    """The decoding of an ended row, from tokens to speech."""

    def __init__(self, row: Row, batch: Batch, stream: Any = None) -> None:
        self.row = row
        self.result: Speech | None = None
        self.waited_steps = 0
        self._batch, self._stream = batch, stream

    @property
    def is_pending(self) -> bool:
        """Returns whether the row is not decoded yet."""
        return self.result is None

    def push(self) -> None:
        """Decodes the row, or waits for other rows."""
        self.waited_steps += 1
        if self.is_pending and self._batch.is_due(self):
            self._decode()

    def speech(self) -> Speech:
        """Returns the row's speech, and does the remaining work first."""
        if self.result is None:
            self._decode()
        assert self.result is not None
        return self.result

    def _decode(self) -> None:
        with mx.stream(self._stream or mx.default_stream(mx.default_device())):
            self._batch.decode_with_others(self)
