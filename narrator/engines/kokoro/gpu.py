"""Kokoro in MLX, for a session of `engines/mlx`: a step speaks several requests, each to its end.

Used on the thread that loaded it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from narrator.engines import Request, Speech
from narrator.engines.kokoro.hiss import fade_hiss
from narrator.engines.kokoro.settings import KokoroSettings
from narrator.engines.kokoro.wording import SAMPLE_RATE, SpokenText, prepare, word_times
from narrator.engines.mlx.loaded_model import Encoded, LoadedModel, Loading, Tell
from narrator.engines.voice import Reference

if TYPE_CHECKING:
    import kokoro82m
    from kokoro82m.model import Kokoro82M


@dataclass(frozen=True, slots=True)
class LoadingKokoro(Loading):
    """Loads Kokoro in MLX."""

    settings: KokoroSettings

    name: ClassVar[str] = "Kokoro"
    memory_advice: ClassVar[str] = "close other programs, or make chunks shorter"

    def _load_model(self) -> LoadedKokoro:
        import kokoro82m

        dtype = None if self.settings.dtype == "auto" else self.settings.dtype
        return LoadedKokoro(self, KokoroBatches(kokoro82m.load(self.path, dtype)))


@dataclass(frozen=True, slots=True, eq=False)
class RowRequest:
    """A request for the network, and the phonemes that it was made from."""

    spoken: SpokenText
    network: kokoro82m.Request


class LoadedKokoro(LoadedModel):
    """The loaded model: converts requests and speech."""

    model: KokoroBatches
    decodings = 1

    def model_request(self, request: Request, tell: Tell) -> RowRequest:
        spoken = prepare(request)
        return RowRequest(spoken, self.model.request(spoken))

    def to_speech(self, model_request: RowRequest, model_speech: kokoro82m.Speech) -> Speech:
        return Speech(
            fade_hiss(model_speech.samples, SAMPLE_RATE),
            words=word_times(model_request.spoken.pronunciation, model_speech.durations),
        )

    def encode(self, reference: Reference) -> Encoded:
        return {}


class KokoroBatches:
    """The network as `engines/mlx` wants a model: it makes batches that a session fills."""

    def __init__(self, network: Kokoro82M) -> None:
        from kokoro82m import Voices

        self.network = network
        self._voices = Voices(network.path, network.config.vocabulary)

    def request(self, spoken: SpokenText) -> kokoro82m.Request:
        """Builds the network's request. Raises RequestError, CheckpointError."""
        phonemes = spoken.pronunciation.phonemes
        return self._voices.request(phonemes, spoken.blend, spoken.speed, spoken.seed)

    def batch(self, slots: int) -> KokoroBatch:
        return KokoroBatch(self.network, slots)

    def estimate_bytes(self, rows: int) -> int:
        return self.network.estimate_bytes(rows)

    def clear_caches(self) -> None:
        self.network.clear_caches()


class KokoroBatch:
    """Rows that are spoken together: a step speaks those that wait, up to the slots."""

    def __init__(self, network: Kokoro82M, slots: int) -> None:
        self.slots = slots
        self._network = network
        self._queue: dict[int, RowRequest] = {}
        self._speech: dict[int, kokoro82m.Speech] = {}
        self._count = 0

    @property
    def running(self) -> int:
        return min(self.slots, len(self._queue))

    def add(self, request: RowRequest) -> int:
        self._count += 1
        self._queue[self._count] = request
        return self._count

    def step(self) -> Sequence[int]:
        """Speaks the next rows and returns them."""
        rows = list(self._queue)[: self.slots]
        spoken = self._network.speak([self._queue[row].network for row in rows])
        for row, speech in zip(rows, spoken, strict=True):
            self._speech[row] = speech
            del self._queue[row]
        return rows

    def decoding(self, row: int, stream: object) -> SpokenRow:
        return SpokenRow(self._speech.pop(row))


class SpokenRow:
    """A row of which nothing is left to decode: its speech."""

    is_pending = False

    def __init__(self, speech: kokoro82m.Speech) -> None:
        self._speech = speech

    def push(self) -> None:
        pass

    def speech(self) -> kokoro82m.Speech:
        return self._speech
