"""CosyVoice2 in MLX: text to speech in a voice, by instruction, and by continuation.

    import cosyvoice2

    model = cosyvoice2.load("path/or/hub-id")
    voice = model.reference(samples, sample_rate)
    speech = model.speak("Hello world.", voice, prompt_text="What the samples say.", seed=1)
    speech.samples, model.sample_rate

Models, batches and streams run MLX and belong to one thread. Errors are `CosyVoice2Error`s.
"""

from __future__ import annotations

from speechbase import environment  # noqa: F401  # before MLX, which reads it

# isort: split
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np

from cosyvoice2 import stream as _stream
from cosyvoice2.arrays import float_array
from cosyvoice2.bistream import generate_tokens_from_pieces
from cosyvoice2.config import MELS, Config
from cosyvoice2.flow import TOKEN_FRAMES
from cosyvoice2.generate import Request, Row, checked_tokens, generate_tokens
from cosyvoice2.load import SPEAKERS, Checkpoint
from cosyvoice2.load import load as _load_checkpoint
from cosyvoice2.reference import Encoders, Reference, Speaker, read_speakers
from cosyvoice2.sounds import Batch, Decoding, SpeechDecoder
from cosyvoice2.speech import Speech
from cosyvoice2.vocoder import MelRow, predict_pitch, vocode
from speechbase.device import CACHE_LIMIT, settle
from speechbase.errors import AudioError, CheckpointError, ConfigError, ModelError, RequestError

__all__ = [
    "DECODINGS",
    "AudioError",
    "Batch",
    "CheckpointError",
    "ConfigError",
    "CosyVoice2",
    "CosyVoice2Error",
    "Decoding",
    "Reference",
    "Request",
    "RequestError",
    "Row",
    "Speaker",
    "Speech",
    "load",
]

CosyVoice2Error = ModelError
"""The base class of the package's errors."""
POSITIONS = 1024
"""Positions that a row is expected to take: a prompt, a text and half a minute of speech are some
900."""
DECODINGS = 8
"""Rows that may wait for the flow and the vocoder at once."""


def load(path: str | Path, dtype: Any = None) -> CosyVoice2:
    """Loads a model from a directory or a hub id, "owner/name" or "owner/name@revision".

    The language model computes in `dtype` ("float32", "bfloat16", "float16" or an MLX dtype); the
    default is the dtype of the files. The flow and the vocoder always compute in float32.

    Raises CheckpointError, ConfigError, RequestError.
    """
    return CosyVoice2(_load_checkpoint(path, dtype=dtype))


class CosyVoice2:
    """A loaded model. Tokens are int32 arrays, 25 a second, mels float32 (frames, 80), 50 a second,
    samples float32 at `sample_rate`."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        mx.set_cache_limit(CACHE_LIMIT)
        self.config: Config = checkpoint.config
        self.revision = checkpoint.revision  # the hub's commit; None for a directory
        self.fingerprint = checkpoint.fingerprint  # of everything that affects the sound but voices
        self.lm, self.flow, self.vocoder = checkpoint.lm, checkpoint.flow, checkpoint.vocoder
        self._path, self._tokenizer = checkpoint.path, checkpoint.tokenizer
        self._encoders = Encoders(checkpoint.path, checkpoint.config)
        self._decoder = SpeechDecoder(self.flow, self.vocoder)

    @property
    def sample_rate(self) -> int:
        """Sample rate of the speech, Hz."""
        return self.config.sample_rate

    @property
    def encoder_fingerprint(self) -> str:
        """Identifies the encoders: a `reference` suits every model with the same fingerprint."""
        return self._encoders.fingerprint

    @cached_property
    def speakers(self) -> Mapping[str, Speaker]:
        """Speakers stored with the model, by name; the official model has none.

        Raises CheckpointError.
        """
        path = self._path / SPEAKERS
        return read_speakers(path) if path.is_file() else {}

    def estimate_bytes(self, rows: int) -> int:
        """Estimates the bytes, besides the weights, that `rows` rows take at least.

        Counts keys and values of `POSITIONS` positions a row, and the flow and vocoder for as many
        tokens.
        """
        c = self.config.lm
        row_bytes = POSITIONS * c.num_layers * 2 * c.num_kv_heads * c.head_dim * self.lm.dtype.size
        return rows * row_bytes + self._decoder.estimate_bytes(rows, TOKEN_FRAMES * POSITIONS)

    def clear_caches(self) -> None:
        """Frees memory: the cached states of references, and what MLX keeps for reuse."""
        self.flow.clear_caches()
        mx.clear_cache()

    # ---- inputs

    def tokenize(self, text: str) -> list[int]:
        """Returns the ids of a text, unnormalised, including tags like [laughter]."""
        return self._tokenizer.encode(text)

    def reference(self, samples: Any, sample_rate: int | None = None) -> Reference:
        """Encodes a voice to imitate from a clip of 0.1 to 30 s; 3 to 10 s, ending on a pause, work
        best.

        `samples` are (n,) or (n, channels) at `sample_rate`, or a file. Raises AudioError,
        CheckpointError.
        """
        return self._encoders.encode(samples, sample_rate)

    def speaker_vector(self, samples: np.ndarray) -> np.ndarray:
        """Returns the vector (192,) of who speaks in samples (n,) at `sample_rate`, as that of a
        `reference`: the smaller the angle between two, the more alike the voices.

        Raises CheckpointError.
        """
        return self._encoders.speaker_vector(samples, self.sample_rate)

    # ---- single networks

    def logits(
        self, text_ids: Sequence[int], prefix_tokens: Sequence[int], tokens: Sequence[int]
    ) -> np.ndarray:
        """Returns logits after the prefix and after each of `tokens`.

        (len(tokens) + 1, vocabulary) float32. The ids of a prompt come before those of the text.
        Raises RequestError.
        """
        inputs = self.lm.check_inputs(text_ids, prefix_tokens, tokens)
        logits = np.array(self.lm.logits(*inputs))
        settle()
        return logits

    def generate(
        self,
        text: str | Iterable[str],
        reference: Reference | None = None,
        prompt_text: str | None = None,
        prefix_tokens: Any = None,
        instruction: str | None = None,
        speaker: Any = None,
        uniforms: Iterable[float] | None = None,
        seed: int | None = None,
        *,
        min_len: int | None = None,
        max_len: int | None = None,
        compatible: bool = False,
    ) -> np.ndarray:
        """Returns the speech tokens (n,) of a text; see `Request` for the arguments.

        A text may be an iterable of pieces: it is then spoken as the pieces arrive (`bistream`),
        and takes no instruction. Raises RequestError.
        """
        request = Request(
            "", reference, prompt_text, prefix_tokens, instruction, speaker, uniforms, seed,
            min_len=min_len, max_len=max_len, compatible=compatible,
        )  # fmt: skip
        return np.array(list(self._generate_tokens(self._resolve_speaker(request), text)), np.int32)

    def mel(self, tokens: Any, reference: Reference | None, speaker: Any = None) -> np.ndarray:
        """Returns the mel (2 n, 80) of tokens in the voice of a reference or a stored speaker.

        With both, the speaker's vector replaces the reference's.
        """
        request = self._resolve_speaker(
            Request(tokens=tokens, reference=reference, speaker=speaker)
        )
        checked = checked_tokens("tokens", tokens, self.config.lm)
        [mel] = self._decoder.mels([self._decoder.row(request, checked)])
        return mel

    def pitch(self, mel: Any) -> np.ndarray:
        """Predicts the pitch of a mel (frames, 80), in Hz (frames,)."""
        return predict_pitch(self.vocoder, [float_array("mel", mel, (-1, MELS))])[0]

    def vocode(
        self, mel: Any, pitch: Any = None, noise: Any = None, speed: float = 1.0, *, seed: int = 0
    ) -> np.ndarray:
        """Returns the samples of a mel (frames, 80).

        `pitch` (frames,) in Hz and `noise` (480 * frames, 9), standard normal, count the frames
        after `speed` is applied. By default the pitch is predicted from the mel, and the noise is
        drawn from the seed.
        """
        return vocode(self.vocoder, [MelRow(mel, pitch, noise, seed, speed)])[0]

    # ---- speech

    def speak(
        self,
        text: str,
        reference: Reference | None = None,
        prompt_text: str | None = None,
        prefix_tokens: Any = None,
        instruction: str | None = None,
        speaker: Any = None,
        uniforms: Iterable[float] | None = None,
        seed: int | None = None,
        *,
        min_len: int | None = None,
        max_len: int | None = None,
        speed: float = 1.0,
        noise: Any = None,
        tokens: Any = None,
        cancel: Any = None,
        compatible: bool = False,
    ) -> Speech:
        """Speaks a text; see `Request` for the arguments. Raises RequestError."""
        batch = self.batch(slots=1)
        batch.add(
            Request(
                text, reference, prompt_text, prefix_tokens, instruction, speaker, uniforms, seed,
                min_len=min_len, max_len=max_len, speed=speed, noise=noise, tokens=tokens,
                cancel=cancel, compatible=compatible,
            )
        )  # fmt: skip
        while True:
            for _, speech in batch.advance():
                return speech

    def stream(
        self,
        text: str | Iterable[str] = "",
        reference: Reference | None = None,
        prompt_text: str | None = None,
        prefix_tokens: Any = None,
        instruction: str | None = None,
        speaker: Any = None,
        uniforms: Iterable[float] | None = None,
        seed: int | None = None,
        *,
        min_len: int | None = None,
        max_len: int | None = None,
        noise: Any = None,
        tokens: Any = None,
        cancel: Any = None,
        compatible: bool = False,
    ) -> Iterator[np.ndarray]:
        """Speaks a text, or an iterable of pieces, and yields arrays of samples.

        The joined samples differ slightly from those of `speak`: the flow applies its streaming
        masks, where `speak` lets all frames see each other. `compatible` speaks as the official
        code does, faults included (`stream.stream_official`); `noise` is then an iterator of
        arrays, one for each chunk.
        """
        seed = secrets.randbits(32) if seed is None else seed
        request = self._resolve_speaker(Request(
            "", reference, prompt_text, prefix_tokens, instruction, speaker, uniforms, seed,
            min_len=min_len, max_len=max_len, tokens=tokens, cancel=cancel, compatible=compatible,
        ))  # fmt: skip
        row, max_tokens = self._decoder.row(request), self._decoder.max_new_tokens(request)
        token_stream = self._generate_tokens(request, text, max_tokens)
        if not compatible:
            noise = self._decoder.noise(noise, -1)
            return _stream.stream_speech(self._decoder, row, token_stream, seed=seed, noise=noise)
        if noise is not None and not isinstance(noise, Iterator):
            raise RequestError("with compatible, noise is an iterator of arrays, one for a chunk")
        return _stream.stream_official(
            self._decoder, row, token_stream, hop=self.config.chunk, seed=seed, noises=noise
        )

    def batch(self, slots: int = 8) -> Batch:
        """Returns a batch that speaks up to `slots` rows at once; further rows wait."""
        return Batch(self.lm, self.tokenize, slots, self._decoder, self._resolve_speaker)

    # ---- helpers

    def _generate_tokens(
        self, request: Request, text: Any, max_tokens: int | None = None
    ) -> Iterator[int]:
        """Generates the speech tokens of a text or of its pieces; `max_tokens` as for `Row`."""
        if text is None or isinstance(text, str):
            return generate_tokens(
                self.lm, self.tokenize, replace(request, text=text or ""), max_tokens
            )
        return generate_tokens_from_pieces(self.lm, self.tokenize, request, text)

    def _resolve_speaker(self, request: Request) -> Request:
        """Replaces the name of a stored speaker by its vector or reference. Raises RequestError.

        Unlike the official code, it allows an instruction together with a stored reference.
        """
        if not isinstance(request.reference, Reference | None):
            kind = type(request.reference).__name__
            raise RequestError(f"reference is a Reference, as model.reference makes, not {kind}")
        name = request.speaker
        if not isinstance(name, str):
            return request
        if name not in self.speakers:
            speaker_names = ", ".join(self.speakers) or "none"
            raise RequestError(
                f"no speaker {name!r} is stored with the model; there are: {speaker_names}"
            )
        stored = self.speakers[name]
        if request.reference is not None or stored.reference is None:
            return replace(request, speaker=stored.vector)
        prompt_text: Any = request.prompt_text
        leads = (prompt_text, request.instruction, request.prefix_tokens, request.tokens)
        if all(lead is None for lead in leads):
            prompt_text = stored.text
        return replace(request, speaker=None, reference=stored.reference, prompt_text=prompt_text)
