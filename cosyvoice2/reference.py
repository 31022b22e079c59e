"""Voices: encodes a clip as a `Reference` with two ONNX encoders, and reads stored speakers.

The encoders are the official files, run by onnxruntime on the CPU; each is opened when it first
encodes a clip. Their files are not trusted.
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
from cosyvoice2.arrays import float_array, id_array
from cosyvoice2.config import MELS, SPEAKER_SIZE, Config
from speechbase import audio, pth
from speechbase.errors import AudioError, CheckpointError, RequestError, printable

MAX_SECONDS = 30.0  # the tokenizer's limit
TOKENIZER, SPEAKERS = "speech_tokenizer_v2.onnx", "campplus.onnx"
ENCODERS = (TOKENIZER, SPEAKERS)
MAX_FILE_BYTES = {TOKENIZER: 1 << 30, SPEAKERS: 1 << 27}
"""Limits; the published files have 496 and 28 million bytes."""
THREADS = 4
"""Threads of a session, if there are as many cores; more gain little for one clip."""


@dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """An encoded clip, cut to two mel frames for each token.

    Validates its fields and converts them to numpy. Raises RequestError.
    """

    tokens: np.ndarray  # (n,) int32: 25 a second
    mel: np.ndarray  # (2n, 80) float32: 50 frames a second
    speaker: np.ndarray  # (192,) float32: the timbre

    def __post_init__(self) -> None:
        tokens = id_array("tokens", self.tokens)
        mel = float_array(
            "mel", self.mel, (2 * tokens.size, MELS), "two frames of 80 for each token"
        )
        speaker = float_array("speaker", self.speaker, (SPEAKER_SIZE,), "a vector")
        for name, array in (("tokens", tokens), ("mel", mel), ("speaker", speaker)):
            object.__setattr__(self, name, array)


@dataclass(frozen=True, slots=True, eq=False)
class Speaker:
    """A stored speaker: a vector, or an encoded clip with its text."""

    vector: np.ndarray  # (192,) float32
    text: np.ndarray | None = None  # ids of the clip's transcript, (n,) int32
    reference: Reference | None = None


class Encoders:
    """The two clip encoders in a checkpoint's folder."""

    def __init__(self, folder: Path, config: Config) -> None:
        self._folder, self._config = folder, config
        self._sessions: dict[str, Any] = {}
        self._lock = threading.Lock()

    @cached_property
    def fingerprint(self) -> str:
        """Hash of both files: a reference suits all models with the same fingerprint.

        Raises CheckpointError.
        """
        digest = hashlib.sha256()
        for name in ENCODERS:
            try:
                with (self._folder / name).open("rb") as file:
                    digest.update(hashlib.file_digest(file, "sha256").digest())
            except OSError as error:
                raise CheckpointError(f"{self._folder / name}: cannot be read: {error}") from error
        return digest.hexdigest()

    def encode(self, source: audio.Source, sample_rate: int | None = None) -> Reference:
        """Encodes a clip of 0.1 to 30 s, at 16 kHz or more: a file, or samples (n,) or
        (n, channels).

        Raises AudioError, CheckpointError if the encoders are missing, damaged or of another model,
        and RequestError if onnxruntime or kaldi-native-fbank is not installed.
        """
        samples, rate = audio.read_mono(source, sample_rate=sample_rate)
        if rate < features.ENCODER_RATE:
            raise AudioError(f"the clip has {rate} Hz; a voice is heard from 16000 Hz on")
        seconds = len(samples) / rate
        if seconds > MAX_SECONDS:
            raise AudioError(
                f"the clip is {seconds:.1f} s long; {MAX_SECONDS:g} are the most, 3 to 10 are best"
            )
        encoder_samples = audio.resample_audio(samples, rate, features.ENCODER_RATE, sinc=True)
        model_samples = audio.resample_audio(samples, rate, self._config.sample_rate, sinc=True)
        mel = features.prompt_mel(model_samples, self._config.sample_rate)
        return _trim_to_tokens(
            self._encode_tokens(encoder_samples), mel, self._encode_speaker(encoder_samples)
        )

    def speaker_vector(self, samples: np.ndarray, rate: int) -> np.ndarray:
        """Returns the vector (192,) of who speaks in mono samples (n,) at 16 kHz or more.

        Raises as `encode`, but has no limit of length.
        """
        encoder_samples = audio.resample_audio(samples, rate, features.ENCODER_RATE, sinc=True)
        return self._encode_speaker(encoder_samples)

    def _encode_tokens(self, samples: np.ndarray) -> np.ndarray:
        mel = features.log_mel(samples).T[None]
        length = np.array([mel.shape[2]], np.int32)
        tokens = self._run(TOKENIZER, {"feats": mel, "feats_length": length}).reshape(-1)
        vocab_size = self._config.flow.vocab_size
        if tokens.dtype.kind not in "iu" or not tokens.size or tokens.size > mel.shape[2]:
            raise self._unusable_file(TOKENIZER, "its output for a clip is not tokens")
        if tokens.min() < 0 or tokens.max() >= vocab_size:
            raise self._unusable_file(TOKENIZER, f"its tokens are not from 0 to {vocab_size - 1}")
        return tokens.astype(np.int32)

    def _encode_speaker(self, samples: np.ndarray) -> np.ndarray:
        banks = features.fbank(samples)
        centred = (banks - banks.mean(axis=0))[None]
        vector = self._run(SPEAKERS, {"input": centred}).reshape(-1)
        if vector.dtype.kind != "f" or vector.size != SPEAKER_SIZE or not np.isfinite(vector).all():
            raise self._unusable_file(
                SPEAKERS, f"its output for a clip is not a vector of {SPEAKER_SIZE}"
            )
        return vector.astype(np.float32)

    def _unusable_file(self, name: str, fault: str) -> CheckpointError:
        return CheckpointError(f"{self._folder / name}: {fault}; download the file again")

    def _run(self, name: str, inputs: Mapping[str, np.ndarray]) -> np.ndarray:
        """Runs an encoder, and returns its first output. Raises CheckpointError if it fails."""
        runtime = _import_onnxruntime()
        try:
            with self._lock:
                if name not in self._sessions:
                    self._sessions[name] = self._open_session(runtime, name, inputs)
            [output, *_] = self._sessions[name].run(None, dict(inputs))
        except _onnxruntime_errors(runtime) as error:
            reason = printable(str(error).splitlines()[0] if str(error) else type(error).__name__)
            raise self._unusable_file(name, f"onnxruntime cannot run it: {reason}") from error
        return np.asarray(output)

    def _open_session(self, runtime: Any, name: str, inputs: Mapping[str, np.ndarray]) -> Any:
        path = self._folder / name
        onnxfile.check(path, MAX_FILE_BYTES[name])
        options = runtime.SessionOptions()
        options.log_severity_level = 4  # fatal errors are raised
        options.intra_op_num_threads = min(THREADS, os.cpu_count() or 1)
        session = runtime.InferenceSession(
            str(path), sess_options=options, providers=["CPUExecutionProvider"]
        )
        expected = {key: _onnx_type(array) for key, array in inputs.items()}
        declared = {
            network_input.name: (network_input.type, network_input.shape)
            for network_input in session.get_inputs()
        }
        for key, array in inputs.items():
            if key not in declared or not _accepts(*declared[key], array):
                raise self._unusable_file(name, f"it has no input {key} {_onnx_type(array)}")
        if declared.keys() != expected.keys():
            raise self._unusable_file(name, f"its inputs are {printable(', '.join(declared))}")
        return session


def _accepts(onnx_type: str, shape: Sequence[Any], array: np.ndarray) -> bool:
    """Returns True if an input accepts an array; a dimension that is no number accepts any size."""
    return (
        onnx_type == _onnx_type(array)
        and len(shape) == array.ndim
        and all(not isinstance(n, int) or n == m for n, m in zip(shape, array.shape, strict=True))
    )


def _onnx_type(array: np.ndarray) -> str:
    """Returns onnxruntime's name of an array's type."""
    return "tensor(float)" if array.dtype == np.float32 else f"tensor({array.dtype})"


def _import_onnxruntime() -> Any:
    try:
        import onnxruntime
    except ImportError:
        raise RequestError(features.MISSING_PACKAGES) from None
    return onnxruntime


def _onnxruntime_errors(runtime: Any) -> tuple[type[Exception], ...]:
    """Returns the exceptions that onnxruntime raises, which have no common base class."""
    members = vars(runtime.capi.onnxruntime_pybind11_state).values()
    errors = [
        member for member in members if isinstance(member, type) and issubclass(member, Exception)
    ]
    return (*errors, RuntimeError, ValueError, MemoryError)


def _trim_to_tokens(tokens: np.ndarray, mel: np.ndarray, speaker: Any) -> Reference:
    """Builds a reference of the tokens and frames that cover the same time."""
    count = min(len(mel) // 2, len(tokens))
    return Reference(tokens[:count], mel[: 2 * count], speaker)


# ---- stored speakers


def read_speakers(path: Path) -> dict[str, Speaker]:
    """Reads the speakers of a spk2info.pt by name, in both formats that the official code writes.

    Raises CheckpointError.
    """
    return {
        name: _parse_speaker(path, name, entry) for name, entry in pth.load_nested(path).items()
    }


def _parse_speaker(path: Path, name: str, entry: Mapping[str, mx.array]) -> Speaker:
    def unbatched(key: str) -> mx.array:
        """Returns the only row of an array with a batch axis of 1."""
        if key not in entry:
            raise RequestError(f"{key} is missing")
        array = entry[key]
        if array.ndim < 2 or len(array) != 1:
            raise RequestError(f"{key}: expected shape (1, …); found {array.shape}")
        return array[0]

    try:
        if "flow_embedding" not in entry:
            return Speaker(
                float_array("embedding", unbatched("embedding"), (SPEAKER_SIZE,), "a vector")
            )
        tokens = id_array("flow_prompt_speech_token", unbatched("flow_prompt_speech_token"))
        if not np.array_equal(tokens, id_array("tokens", unbatched("llm_prompt_speech_token"))):
            raise RequestError("its two lists of prompt tokens are not one")
        mel = float_array("prompt_speech_feat", unbatched("prompt_speech_feat"), (-1, MELS))
        reference = _trim_to_tokens(tokens, mel, unbatched("flow_embedding"))
        return Speaker(
            reference.speaker, id_array("prompt_text", unbatched("prompt_text")), reference
        )
    except RequestError as error:
        raise CheckpointError(f"{path}: speaker {printable(name)}: {error}") from None
