"""Rows of tokens -> speech, side by side: whose voice they have, flow, vocoder.

Rows that end in the same step, and on a GPU those that end soon after, go through flow and vocoder
together. It draws nothing but the vocoder's noise, from each row's own seed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mlx.core as mx
import numpy as np

from cosyvoice2.arrays import numbers
from cosyvoice2.config import MELS
from cosyvoice2.flow import Flow, FlowRow
from cosyvoice2.generate import Request, Row, TokenBatch
from cosyvoice2.hift import HiFT
from cosyvoice2.lm import Qwen2LM
from cosyvoice2.reference import SPEAKER, Reference
from cosyvoice2.speech import Speech
from cosyvoice2.vocoder import MelRow, vocode
from speechbase.device import on_gpu, settle
from speechbase.errors import RequestError

TOGETHER = 4
"""Rows that a GPU takes through the flow at once; a CPU gains nothing by it."""
PATIENCE = 25
"""Steps that a row which has ended waits for others: a second of their sound."""


class Sounds:
    """Flow and vocoder of a model."""

    def __init__(self, flow: Flow, vocoder: HiFT) -> None:
        self.flow, self.vocoder = flow, vocoder

    def mels(self, rows: Sequence[FlowRow], *, streaming: bool = False) -> list[np.ndarray]:
        """(2 n, 80) of each."""
        found = self.flow.mel(rows, streaming=streaming)
        mx.eval(found)
        settle()
        return [np.array(mel) for mel in found]

    def speech(self, rows: Sequence[Row]) -> list[Speech]:
        """What rows that have ended became."""
        mels = self.mels([flow_row(row.request, row.tokens) for row in rows])
        samples = vocode(
            self.vocoder,
            [
                MelRow(mel, noise=row.request.noise, seed=row.seed, speed=row.request.speed)
                for row, mel in zip(rows, mels, strict=True)
            ],
        )
        return [
            Speech(
                samples=heard,
                tokens=row.tokens,
                mel=mel,
                text=row.request.text,
                stop_reason=row.stop_reason or "stop",
                token_count=row.token_count,
                seed=row.seed,
            )
            for row, mel, heard in zip(rows, mels, samples, strict=True)
        ]


def flow_row(request: Request, tokens: np.ndarray) -> FlowRow:
    """Tokens in a request's voice. Raises RequestError where it has none."""
    reference, speaker = request.reference, request.speaker
    if isinstance(reference, Reference):
        heard, mel = reference.tokens, reference.mel
        speaker = reference.speaker if speaker is None else speaker
    else:
        heard, mel = np.zeros(0, np.int32), np.zeros((0, MELS), np.float32)
    if speaker is None:
        raise RequestError("nobody is to speak: give a reference, or a stored speaker")
    vector = numbers("speaker", speaker, (SPEAKER,), "a vector")
    return FlowRow(tokens, heard, mel, vector)


class Batch(TokenBatch):
    """Rows that are spoken side by side, and what they become."""

    def __init__(
        self,
        lm: Qwen2LM,
        tokenize: Callable[[str], list[int]],
        slots: int,
        sounds: Sounds,
        resolve: Callable[[Request], Request],
    ) -> None:
        super().__init__(lm, tokenize, slots)
        self._sounds, self._resolve = sounds, resolve
        self._silent: list[Decoding] = []

    def add(self, request: Request) -> Row:
        """Queue a request; it runs as soon as a slot is free. Raises RequestError."""
        if isinstance(request, Request):
            request = self._resolve(request)
            flow_row(request, np.zeros(0, np.int32))
        return super().add(request)

    def advance(self) -> list[tuple[Row, Speech]]:
        """One step of all rows; returns those that ended, with what they became."""
        rows = self.step()
        return list(zip(rows, self._sounds.speech(rows), strict=True)) if rows else []

    def decoding(self, row: Row, stream: Any = None) -> Decoding:
        """What turns a row that `step` returned into speech, beside the steps that follow."""
        made = Decoding(row, self, stream)
        self._silent.append(made)
        return made

    def sound(self, wanted: Decoding) -> None:
        """Take a row through flow and vocoder, and with it others that wait."""
        most = TOGETHER if on_gpu() else 1
        others = [each for each in self._silent if each is not wanted]
        some = [wanted, *others[: most - 1]]
        for each, speech in zip(some, self._sounds.speech([d.row for d in some]), strict=True):
            each.became = speech
        self._silent = [each for each in self._silent if each.became is None]

    def is_due(self, decoding: Decoding) -> bool:
        """Whether enough rows wait, or one has waited long enough."""
        return not on_gpu() or len(self._silent) >= TOGETHER or decoding.waited >= PATIENCE


class Decoding:
    """A row on its way from tokens to speech."""

    def __init__(self, row: Row, batch: Batch, stream: Any = None) -> None:
        self.row = row
        self.became: Speech | None = None
        self.waited = 0
        self._batch, self._stream = batch, stream

    @property
    def left(self) -> int:
        """Pieces of work that are left: one, or none."""
        return int(self.became is None)

    def push(self) -> None:
        """Do a piece of it, or wait for other rows."""
        self.waited += 1
        if self.left and self._batch.is_due(self):
            self._sound()

    def speech(self) -> Speech:
        """The end of the row, whatever is left of the work."""
        if self.became is None:
            self._sound()
        assert self.became is not None
        return self.became

    def _sound(self) -> None:
        with mx.stream(self._stream or mx.default_stream(mx.default_device())):
            self._batch.sound(self)
