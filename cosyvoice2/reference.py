"""Whose voice it is: a clip -> `Reference`, by the two encoders in ONNX, and stored speakers.

The encoders are the official files, run by onnxruntime on the CPU; both are opened when a clip is
first encoded. What stands in their files is not trusted.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np

from cosyvoice2 import features, onnxfile
from cosyvoice2.arrays import ids, numbers
from cosyvoice2.config import MELS, SPEAKER, Config
from speechbase import audio, pth
from speechbase.errors import AudioError, CheckpointError, RequestError, shown

LONGEST = 30.0  # seconds that the tokenizer can hear
TOKENIZER, SPEAKERS = "speech_tokenizer_v2.onnx", "campplus.onnx"
ENCODERS = (TOKENIZER, SPEAKERS)
MOST_BYTES = {TOKENIZER: 1 << 30, SPEAKERS: 1 << 27}
"""Published: 496 and 28 million bytes."""
THREADS = 4
"""Of a session, where there are as many cores; one clip gains little by more."""


@dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """A clip as the model hears it, cut so that two frames go with each token.

    Checks itself, and holds numpy arrays whatever it is given. Raises RequestError.
    """

    tokens: np.ndarray  # (n,) int32: 25 a second
    mel: np.ndarray  # (2n, 80) float32: 50 frames a second
    speaker: np.ndarray  # (192,) float32: the timbre

    def __post_init__(self) -> None:
        tokens = ids("tokens", self.tokens)
        mel = numbers("mel", self.mel, (2 * tokens.size, MELS), "two frames of 80 for each token")
        speaker = numbers("speaker", self.speaker, (SPEAKER,), "a vector")
        for name, array in (("tokens", tokens), ("mel", mel), ("speaker", speaker)):
            object.__setattr__(self, name, array)


@dataclass(frozen=True, slots=True, eq=False)
class Speaker:
    """A stored speaker: a vector, or what a clip with its text became."""

    vector: np.ndarray  # (192,) float32
    text: np.ndarray | None = None  # ids of what is said in the clip, (n,) int32
    reference: Reference | None = None


class Encoders:
    """The encoders of a checkpoint's folder."""

    def __init__(self, folder: Path, config: Config) -> None:
        self._folder, self._config = folder, config
        self._sessions: dict[str, Any] = {}
        self._lock = threading.Lock()

    @cached_property
    def fingerprint(self) -> str:
        """Names both files' bytes: a reference of one serves all models that have it. Raises
        CheckpointError."""
        digest = hashlib.sha256()
        for name in ENCODERS:
            try:
                with (self._folder / name).open("rb") as file:
                    digest.update(hashlib.file_digest(file, "sha256").digest())
            except OSError as error:
                raise CheckpointError(f"{self._folder / name}: cannot be read: {error}") from error
        return digest.hexdigest()

    def encode(self, source: audio.Source, sample_rate: int | None = None) -> Reference:
        """A clip, of .1 to 30 s and 16 kHz or more: a file, or samples (n,) or (n, channels).

        Raises AudioError, CheckpointError for encoders that are missing, damaged or others, and
        RequestError where what runs them is not installed.
        """
        samples, rate = audio.mono(source, sample_rate=sample_rate)
        if rate < features.HEARD:
            raise AudioError(f"the clip has {rate} Hz; a voice is heard from 16000 Hz on")
        seconds = len(samples) / rate
        if seconds > LONGEST:
            raise AudioError(
                f"the clip is {seconds:.1f} s long; {LONGEST:g} are the most, 3 to 10 are best"
            )
        heard = audio.resampled(samples, rate, features.HEARD, sinc=True)
        own = audio.resampled(samples, rate, self._config.sample_rate, sinc=True)
        mel = features.prompt_mel(own, self._config.sample_rate)
        return _cut(self._tokens(heard), mel, self._speaker(heard))

    def _tokens(self, samples: np.ndarray) -> np.ndarray:
        mel = features.log_mel(samples).T[None]
        length = np.array([mel.shape[2]], np.int32)
        found = self._run(TOKENIZER, {"feats": mel, "feats_length": length}).reshape(-1)
        most = self._config.flow.vocab_size
        if found.dtype.kind not in "iu" or not found.size or found.size > mel.shape[2]:
            raise self._strange(TOKENIZER, "what it makes of a clip are no tokens")
        if found.min() < 0 or found.max() >= most:
            raise self._strange(TOKENIZER, f"its tokens are not from 0 to {most - 1}")
        return found.astype(np.int32)

    def _speaker(self, samples: np.ndarray) -> np.ndarray:
        banks = features.fbank(samples)
        centred = (banks - banks.mean(axis=0))[None]
        found = self._run(SPEAKERS, {"input": centred}).reshape(-1)
        if found.dtype.kind != "f" or found.size != SPEAKER or not np.isfinite(found).all():
            raise self._strange(SPEAKERS, f"what it makes of a clip is no vector of {SPEAKER}")
        return found.astype(np.float32)

    def _strange(self, name: str, what: str) -> CheckpointError:
        return CheckpointError(f"{self._folder / name}: {what}; download the file again")

    def _run(self, name: str, inputs: Mapping[str, np.ndarray]) -> np.ndarray:
        """The first output of a network. Raises CheckpointError where it fails."""
        runtime = _runtime()
        try:
            with self._lock:
                if name not in self._sessions:
                    self._sessions[name] = self._opened(runtime, name, inputs)
            [found, *_] = self._sessions[name].run(None, dict(inputs))
        except _failures(runtime) as error:
            why = shown(str(error).splitlines()[0] if str(error) else type(error).__name__)
            raise self._strange(name, f"onnxruntime cannot run it: {why}") from error
        return np.asarray(found)

    def _opened(self, runtime: Any, name: str, inputs: Mapping[str, np.ndarray]) -> Any:
        path = self._folder / name
        onnxfile.check(path, MOST_BYTES[name])
        options = runtime.SessionOptions()
        options.log_severity_level = 4  # what is fatal is raised
        options.intra_op_num_threads = min(THREADS, os.cpu_count() or 1)
        session = runtime.InferenceSession(
            str(path), sess_options=options, providers=["CPUExecutionProvider"]
        )
        wanted = {key: _kind(array) for key, array in inputs.items()}
        told = {each.name: (each.type, each.shape) for each in session.get_inputs()}
        for key, array in inputs.items():
            if key not in told or not _takes(*told[key], array):
                raise self._strange(name, f"it has no input {key} {_kind(array)}")
        if told.keys() != wanted.keys():
            raise self._strange(name, f"its inputs are {shown(', '.join(told))}")
        return session


def _takes(kind: str, shape: Sequence[Any], array: np.ndarray) -> bool:
    """Whether an input takes an array; a dimension that is a name, or not said, takes any."""
    return (
        kind == _kind(array)
        and len(shape) == array.ndim
        and all(not isinstance(n, int) or n == m for n, m in zip(shape, array.shape, strict=True))
    )


def _kind(array: np.ndarray) -> str:
    """What onnxruntime calls arrays of its dtype."""
    return "tensor(float)" if array.dtype == np.float32 else f"tensor({array.dtype})"


def _runtime() -> Any:
    try:
        import onnxruntime
    except ImportError:
        raise RequestError(features.MISSING) from None
    return onnxruntime


def _failures(runtime: Any) -> tuple[type[Exception], ...]:
    """What onnxruntime raises: it has no root of its own."""
    own = vars(runtime.capi.onnxruntime_pybind11_state).values()
    kinds = [each for each in own if isinstance(each, type) and issubclass(each, Exception)]
    return (*kinds, RuntimeError, ValueError, MemoryError)


def _cut(tokens: np.ndarray, mel: np.ndarray, speaker: Any) -> Reference:
    """Tokens and frames that go together: as many as both have."""
    count = min(len(mel) // 2, len(tokens))
    return Reference(tokens[:count], mel[: 2 * count], speaker)


# ---- stored speakers


def speakers(path: Path) -> dict[str, Speaker]:
    """The speakers of a spk2info.pt by name, both kinds that the official code writes.

    Raises CheckpointError.
    """
    return {name: _stored(path, name, entry) for name, entry in pth.load_nested(path).items()}


def _stored(path: Path, name: str, entry: Mapping[str, mx.array]) -> Speaker:
    def row(key: str) -> mx.array:
        """Of a batch of one."""
        if key not in entry:
            raise RequestError(f"{key} is missing")
        array = entry[key]
        if array.ndim < 2 or len(array) != 1:
            raise RequestError(f"{key}: expected shape (1, …); found {array.shape}")
        return array[0]

    try:
        if "flow_embedding" not in entry:
            return Speaker(numbers("embedding", row("embedding"), (SPEAKER,), "a vector"))
        tokens = ids("flow_prompt_speech_token", row("flow_prompt_speech_token"))
        if not np.array_equal(tokens, ids("tokens", row("llm_prompt_speech_token"))):
            raise RequestError("its two lists of prompt tokens are not one")
        mel = numbers("prompt_speech_feat", row("prompt_speech_feat"), (-1, MELS))
        reference = _cut(tokens, mel, row("flow_embedding"))
        return Speaker(reference.speaker, ids("prompt_text", row("prompt_text")), reference)
    except RequestError as error:
        raise CheckpointError(f"{path}: speaker {shown(name)}: {error}") from None
