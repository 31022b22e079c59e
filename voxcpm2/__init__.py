"""VoxCPM2 in MLX: text to speech, voice design, cloning and continuation.

    import voxcpm2

    model = voxcpm2.load("path/or/hub-id")
    speech = model.generate("Hello world.", seed=1)
    speech.samples, model.sample_rate

Models, batches and streams run MLX and belong to one thread. Errors are `VoxCPM2Error`s.
"""

from __future__ import annotations

from speechbase import environment  # noqa: F401  # before MLX, which reads it

# isort: split
import hashlib
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import mlx.core as mx
import numpy as np
from mlx.utils import tree_flatten

from speechbase import audio as _audio
from speechbase.audio import Source
from speechbase.device import CACHE_LIMIT, settle
from speechbase.errors import AudioError, CheckpointError, ConfigError, ModelError, RequestError
from voxcpm2 import generate as _generate
from voxcpm2.audio_vae import DECODINGS
from voxcpm2.config import Config
from voxcpm2.generate import Batch, Cancel, Decoding, Noise, Request, Row
from voxcpm2.load import Checkpoint
from voxcpm2.load import load as _load_checkpoint
from voxcpm2.prompt import Prompt
from voxcpm2.speech import Speech

__all__ = [
    "DECODINGS",
    "AudioError",
    "Batch",
    "CheckpointError",
    "ConfigError",
    "Decoding",
    "Prompt",
    "Request",
    "RequestError",
    "Row",
    "Speech",
    "VoxCPM2",
    "VoxCPM2Error",
    "load",
]

VoxCPM2Error = ModelError
"""The base class of the package's errors."""
POSITIONS = 1024
"""Positions that a row is expected to take: a reference, a prompt, a text and half a minute of
speech are some 500, and keys are copied when a row joins or leaves."""


def load(
    path_or_repo: str | Path,
    *,
    dtype: Any = None,
    lora: str | Path | None = None,
    time_embedding: Literal["float32", "bfloat16"] = "float32",
) -> VoxCPM2:
    """Loads a model from a directory or a hub id, "owner/name" or "owner/name@revision".

    The network computes in `dtype` ("float32", "bfloat16", "float16" or an MLX dtype), by default
    the checkpoint's own; the codec, norms and the sampler's state are always float32. `lora` is a
    directory or a hub id. `time_embedding="bfloat16"` rounds the sampler's time as upstream does on
    CUDA and did in training; on Apple GPUs, upstream uses float32.

    Raises CheckpointError, ConfigError, RequestError.
    """
    if time_embedding not in ("float32", "bfloat16"):
        raise RequestError(f"time_embedding is {time_embedding!r}; known: float32, bfloat16")
    model = VoxCPM2(_load_checkpoint(path_or_repo, dtype=dtype, lora=lora))
    model.network.feat_decoder.rounded_time = time_embedding == "bfloat16"
    return model


class VoxCPM2:
    """A loaded model. Latents are float32 arrays (n, patch_size, latent_dim), one row per patch."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        mx.set_cache_limit(CACHE_LIMIT)
        self.config: Config = checkpoint.config
        self.revision = checkpoint.revision  # the hub's commit; None for a directory
        self.fingerprint = checkpoint.fingerprint  # of everything that affects the sound
        self.network = checkpoint.network
        self.vae = checkpoint.vae
        self._tokenizer = checkpoint.tokenizer
        self._prefixes = _generate.Prefixes(checkpoint.network)

    @property
    def sample_rate(self) -> int:
        """Sample rate of the speech, Hz."""
        return self.config.vae.out_sample_rate

    @property
    def encode_sample_rate(self) -> int:
        """Sample rate of the encoder's input, Hz, to which `encode` resamples."""
        return self.config.vae.sample_rate

    @cached_property
    def encoder_fingerprint(self) -> str:
        """Identifies the encoder: latents suit every model with the same fingerprint.

        Each weight enters by its power and that of its second half, to three digits, since files of
        all layouts and precisions hold the same encoder, and the last bits of folded weights depend
        on the device.
        """
        digest = hashlib.sha256(repr((self.config.vae, self.config.patch_size)).encode())
        for name, array in sorted(dict(tree_flatten(self.vae.encoder.parameters())).items()):
            power = np.square(np.array(array, np.float64).reshape(-1))
            digest.update(f"{name} {power.sum():.2e} {power[power.size // 2 :].sum():.2e}".encode())
        return digest.hexdigest()

    def estimate_bytes(self, rows: int) -> int:
        """Estimates the bytes, besides the weights, that `rows` rows take at least.

        Counts keys and values of `POSITIONS` positions a row, and the decoding; activations of the
        layers are smaller, and left out.
        """
        stacks = (self.config.base_lm, self.config.residual_lm)
        numbers = sum(
            2 * stack.num_layers * stack.num_kv_heads * stack.head_dim for stack in stacks
        )
        row_bytes = POSITIONS * numbers * self.network.dtype.size
        return rows * row_bytes + min(rows, DECODINGS) * self.vae.window()

    def clear_caches(self) -> None:
        """Frees memory: the cached prefixes of references, and what MLX keeps for reuse."""
        self._prefixes = _generate.Prefixes(self.network)
        mx.clear_cache()

    def tokenize(self, text: str) -> list[int]:
        """Returns the ids of raw text, without white-space handling and markers."""
        return self._tokenizer.encode(text)

    def encode(
        self,
        audio: Source,
        *,
        sample_rate: int | None = None,
        pad: Literal["left", "right"] = "right",
    ) -> np.ndarray:
        """Encodes a path, the bytes of a file, an open file, or samples at `sample_rate`.

        Returns latents.

        Audio is padded to whole patches: on the right for a reference, on the left for a prompt.
        Raises AudioError.
        """
        if pad not in ("left", "right"):
            raise RequestError(f'pad is {pad!r}; "right" suits a reference, "left" a prompt')
        vae, patch = self.config.vae, self.config.patch_size
        samples = _audio.load(
            audio,
            rate=vae.sample_rate,
            sample_rate=sample_rate,
            sinc=self.config.first_generation,
        )
        padded = _audio.pad(samples, vae.hop * patch, pad)
        latents = np.array(self.vae.encode(mx.array(padded)[None]))
        settle()  # callers keep them
        return latents.reshape(-1, patch, vae.latent_dim)

    def decode(
        self,
        latents: np.ndarray,
        *,
        context: np.ndarray | None = None,
        sample_rate: int | None = None,
    ) -> np.ndarray:
        """Decodes latents to mono float32 samples at `self.sample_rate`.

        `context` are the latents before, which only set the decoder's state. `sample_rate` selects
        the timbre of recordings at that rate; the output's rate stays the same.
        """
        shape = (self.config.patch_size, self.config.feat_dim)
        latents = _generate.checked_latents("latents", latents, shape)
        if context is not None and len(context):
            context = _generate.checked_latents("context", context, shape)
        else:
            context = np.zeros((0, *shape), np.float32)
        return _generate.decode(self.vae, latents, context, sample_rate)

    def generate(
        self,
        text: str,
        *,
        voice: str | None = None,
        reference: np.ndarray | None = None,
        prompt: Prompt | None = None,
        steps: int = 10,
        cfg: float = 2.0,
        seed: int | None = None,
        min_len: int = 2,
        max_len: int | None = None,
        retries: int = 0,
        temperature: float = 1.0,
        noise: Noise | None = None,
        cancel: Cancel | None = None,
    ) -> Speech:
        """Speaks a text; see `Request` for the arguments. Raises RequestError."""
        batch = self.batch(slots=1)
        batch.add(
            Request(
                text,
                voice=voice,
                reference=reference,
                prompt=prompt,
                steps=steps,
                cfg=cfg,
                seed=seed,
                min_len=min_len,
                max_len=max_len,
                retries=retries,
                temperature=temperature,
                noise=noise,
                cancel=cancel,
            )
        )
        while True:
            for _, speech in batch.advance():
                return speech

    def stream(
        self,
        text: str,
        *,
        voice: str | None = None,
        reference: np.ndarray | None = None,
        prompt: Prompt | None = None,
        steps: int = 10,
        cfg: float = 2.0,
        seed: int | None = None,
        min_len: int = 2,
        max_len: int | None = None,
        temperature: float = 1.0,
        noise: Noise | None = None,
        cancel: Cancel | None = None,
    ) -> Iterator[np.ndarray]:
        """Speaks a text patch by patch; the yielded samples, joined, equal those of `generate`."""
        batch = self.batch(slots=1)
        row = batch.add(
            Request(
                text,
                voice=voice,
                reference=reference,
                prompt=prompt,
                steps=steps,
                cfg=cfg,
                seed=seed,
                min_len=min_len,
                max_len=max_len,
                temperature=temperature,
                noise=noise,
                cancel=cancel,
            )
        )
        return _generate.stream(batch, row)

    def batch(self, slots: int = 8) -> Batch:
        """Returns a batch that speaks up to `slots` rows at once; further rows wait."""
        return Batch(self.network, self.vae, self.tokenize, self._prefixes, slots=slots)
