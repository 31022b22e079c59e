"""The network: rows of tokens -> a state; a state -> one patch for each row, and whether to stop.

Attribute names are the checkpoint's. The loop over steps, texts and randomness are in
`generate.py`. A step of a batch is

    network.feed(state, patch)          rows that go on take their last patch in
    state.extend(network.prefill(...))  new rows join
    stops = network.stops(state)
    patch = network.sample(state, noise, plan)
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import mlx.core as mx
import mlx.nn as nn
import numpy as np

from speechbase.cache import KVCache, round_up
from speechbase.device import RunOnce, on_cuda, on_gpu
from speechbase.functions import silu
from voxcpm2.cfm import CFM, Plan
from voxcpm2.config import Config
from voxcpm2.fsq import FSQ
from voxcpm2.locenc import LocEnc
from voxcpm2.minicpm4 import MiniCPM4
from voxcpm2.prompt import Tokens

COLUMN_MULTIPLE, PATCH_MULTIPLE = 32, 16
"""Multiples to which a prefill's columns and LocEnc's patches are padded on CUDA. There, MLX keeps
an attention plan for each exact shape, and fails after 512 (`benchmarks/shapes.py`). Other devices
keep no plans, so that padding would be wasted."""


@dataclass(slots=True)
class State:
    """The state of B rows between two steps."""

    base: KVCache
    residual: KVCache
    h: mx.array  # (B, H) base LM, quantised unless the last position is text
    r: mx.array  # (B, H) residual LM
    cond: mx.array  # (B, patch_size, feat_dim) float32: the patch before, zeros after text

    def filter(self, rows: list[int]) -> None:
        """Keeps only `rows`, in this order."""
        self.base.filter(rows)
        self.residual.filter(rows)
        chosen = mx.array(rows)
        self.h, self.r, self.cond = self.h[chosen], self.r[chosen], self.cond[chosen]

    def extend(self, appended: State) -> None:
        """Appends the rows of `appended`, which must not be used afterwards."""
        self.base.extend(appended.base)
        self.residual.extend(appended.residual)
        self.h = mx.concatenate([self.h, appended.h])
        self.r = mx.concatenate([self.r, appended.r])
        self.cond = mx.concatenate([self.cond, appended.cond])


@dataclass(frozen=True, slots=True)
class Prefix:
    """The keys and values of a reference, one row, computed once for all rows of that voice."""

    base: KVCache
    residual: KVCache


class Network(nn.Module):
    """All networks of VoxCPM2, or of VoxCPM 1.x, except for the audio codec."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        c, width, dit = config, config.base_lm.hidden_size, config.dit.hidden_size
        self.base_lm = MiniCPM4(c.base_lm, positions=c.max_length, vocab_size=c.vocab_size)
        self.residual_lm = MiniCPM4(c.residual_lm, positions=c.max_length)
        self.feat_encoder = LocEnc(c)
        self.feat_decoder = CFM(c)
        self.fsq_layer = FSQ(c)
        self.enc_to_lm_proj = nn.Linear(c.encoder.hidden_size, width)
        self.lm_to_dit_proj = nn.Linear(width, dit)
        self.res_to_dit_proj = nn.Linear(width, dit)
        if not c.first_generation:
            self.fusion_concat_proj = nn.Linear(2 * width, width)
        self.stop_proj = nn.Linear(width, width)
        self.stop_head = nn.Linear(width, 2, bias=False)
        self._prepare_once = RunOnce()

    @property
    def dtype(self) -> mx.Dtype:
        """The dtype of the activations."""
        return self.base_lm.norm.weight.dtype

    def join(self) -> None:
        """Joins products of the same input, and converts the stop head to float32, once.

        The first `prefill` calls it; no weight may change afterwards. Raises RuntimeError if a GPU
        failed on it, also on later calls.
        """
        self._prepare_once(self._prepare_weights)

    def _prepare_weights(self) -> Any:
        for stack in (self.base_lm, self.residual_lm, self.feat_encoder.encoder):
            stack.join()
        self.feat_decoder.estimator.decoder.join()
        for head in (self.stop_proj, self.stop_head):
            head.set_dtype(mx.float32)  # once, where each step would
        return self.parameters()

    def prefill(self, rows: Sequence[Tokens], prefixes: Sequence[Prefix | None]) -> State:
        """Runs rows of any length and mode, left-padded to one block, each after its prefix."""
        self.join()
        counts = [len(row) for row in rows]
        columns, patch_multiple = (COLUMN_MULTIPLE, PATCH_MULTIPLE) if on_cuda() else (1, 1)
        block = round_up(max(counts), columns)
        ids = np.zeros((len(rows), block), np.int32)
        patch_numbers = np.zeros((len(rows), block), np.int32)  # 1 + index of the patch, 0 for text
        patches = np.concatenate([row.latents for row in rows])
        patch_count = 0
        for b, row in enumerate(rows):
            ids[b, block - len(row) :] = row.ids
            patch_numbers[b, block - len(row) :][row.audio] = (
                1 + patch_count + np.arange(len(row.latents))
            )
            patch_count += len(row.latents)
        padding = np.zeros(
            (round_up(patch_count, patch_multiple) - patch_count, *patches.shape[1:]), np.float32
        )
        patches = np.concatenate([patches, padding])
        # One encoder call for all patches of all rows; a zero in front serves the text positions.
        zero_row = mx.zeros((1, self.config.base_lm.hidden_size), self.dtype)
        encoded = (
            mx.concatenate([zero_row, self._encode(mx.array(patches))]) if patch_count else zero_row
        )
        encoding = encoded[mx.array(patch_numbers)]
        is_audio = mx.array(patch_numbers > 0)[..., None]
        embedded = self.base_lm.embed_tokens(mx.array(ids)) * self.config.embed_scale
        ragged = min(counts) < block
        valid = mx.array(np.arange(block) >= block - np.array(counts)[:, None]) if ragged else None

        def new_cache(lm: MiniCPM4, attribute: str) -> KVCache:
            cached = [None if prefix is None else getattr(prefix, attribute) for prefix in prefixes]
            return KVCache.for_rows(lm.config, self.dtype, counts, cached, multiple=columns)

        base, residual = new_cache(self.base_lm, "base"), new_cache(self.residual_lm, "residual")
        hidden = self.base_lm(mx.where(is_audio, encoding, embedded), cache=base, valid=valid)
        hidden = mx.where(is_audio, self.fsq_layer(hidden), hidden)
        r = self.residual_lm(
            self._fuse(hidden, encoding), cache=residual, valid=valid, output_slice=slice(-1, None)
        )
        last_patches = [
            row.latents[-1] if row.audio[-1] else np.zeros(patches.shape[1:], np.float32)
            for row in rows
        ]
        for cache in (base, residual):
            cache.trim()  # a step is faster without a mask, and a prefix has no padding
        return State(base, residual, hidden[:, -1], r[:, -1], mx.array(np.stack(last_patches)))

    def feed(self, state: State, patch: mx.array) -> None:
        """Feeds every row of `state` its new patch, (B, patch_size, feat_dim)."""
        # Compiled here only: steps have few row counts, but prefills many counts of patches.
        encode = self._compiled_encode if on_gpu() else self._encode
        encoding = encode(patch)[:, None]
        h = self.fsq_layer(self.base_lm(encoding, cache=state.base))
        r = self.residual_lm(self._fuse(h, encoding), cache=state.residual)
        state.h, state.r, state.cond = h[:, 0], r[:, 0], patch

    def stops(self, state: State) -> mx.array:
        """Returns the rows that end with the patch that `sample` makes next, (B,) bool."""
        return mx.argmax(self.stop_logits(state.h), axis=-1) == 1

    def stop_logits(self, h: mx.array) -> mx.array:
        """(B, H) -> logits of going on and of stopping, (B, 2) float32.

        Upstream computes them in the weights' dtype; here they are float32, since a single flag
        ends a take, and the two logits may be close.
        """
        return self.stop_head(silu(self.stop_proj(h.astype(mx.float32))))

    def sample(self, state: State, noise: mx.array, plan: Plan) -> mx.array:
        """Samples the next patch of every row, float32; `noise` is (B, feat_dim, patch_size)."""
        return self.feat_decoder(noise, self.condition(state), state.cond, plan)

    def condition(self, state: State) -> mx.array:
        """Returns LocDiT's condition: (B, 2, Hd), base LM first; in 1.x the sum, (B, 1, Hd)."""
        base, residual = self.lm_to_dit_proj(state.h), self.res_to_dit_proj(state.r)
        if self.config.first_generation:
            return (base + residual)[:, None]
        return mx.stack([base, residual], axis=1)

    def _encode(self, patches: mx.array) -> mx.array:
        return self.enc_to_lm_proj(self.feat_encoder(patches))

    @functools.cached_property
    def _compiled_encode(self) -> Callable[[mx.array], mx.array]:
        parts = [self.feat_encoder.state, self.enc_to_lm_proj.state]
        return mx.compile(self._encode, inputs=parts)

    def _fuse(self, h: mx.array, encoding: mx.array) -> mx.array:
        """Computes the residual LM's input from the base LM's output and the patch's encoding."""
        if self.config.first_generation:
            return h + encoding
        return self.fusion_concat_proj(mx.concatenate([h, encoding], axis=-1))
