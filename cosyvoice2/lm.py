"""The language model: text ids and speech tokens -> logits of the next speech token.

mlx-lm's Qwen2, fed with embeddings:

    sos, text (a prompt's or instruction's first), task, speech tokens

Names are those of llm.pt. Rows of different length are left-padded to one batch, and join and leave
it between steps. Draws nothing and knows no text. Requests with the same prompt do not share its
keys and values: computing them again costs little compared with a few hundred tokens of speech.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import mlx.core as mx
import mlx.nn as nn
import numpy as np

from cosyvoice2.arrays import id_array
from cosyvoice2.config import LMConfig
from speechbase.cache import KVCache, round_up
from speechbase.device import RunOnce, on_cuda
from speechbase.errors import ModelError, RequestError
from speechbase.functions import swiglu
from speechbase.linear import join_layers

SOS, TASK = 0, 1
"""Rows of `llm_embedding`."""
END_COUNT = 3
"""Ids after the speech tokens: end, unused, fill."""
UNUSED_WEIGHTS = ("llm.model.lm_head.weight",)
"""Weights in llm.pt that nothing uses; they are not loaded."""
PREFILL_COLUMNS = 32
"""Multiple of columns that a prefill is padded to on CUDA, where MLX keeps a plan per shape."""


class Qwen2LM(nn.Module):
    """The network. A step of a batch is

    lm.step(lines, tokens)           rows that go on take their last token in
    lines.extend(lm.prefill(...))    new rows join
    lm.decode(lines.last)            logits of what comes next in each
    """

    def __init__(self, config: LMConfig) -> None:
        """Loads Qwen2's network. Raises ModelError where mlx-lm is not installed."""
        super().__init__()
        self.config = config
        self.llm = _ModelHolder(_build_backbone(config))
        self.llm_embedding = nn.Embedding(2, config.hidden_size)
        self.llm_decoder = nn.Linear(config.hidden_size, config.speech_tokens + END_COUNT)
        self.speech_embedding = nn.Embedding(config.speech_tokens + END_COUNT, config.hidden_size)
        self._prepare_once = RunOnce()

    @property
    def dtype(self) -> mx.Dtype:
        """The dtype of the activations: that of the weights, or of the scales of quantised ones."""
        return self.llm.model.model.norm.weight.dtype

    def join(self) -> None:
        """Joins projections of the same input, once; no weight may change afterwards.

        The first pass calls it. Raises RuntimeError if a GPU failed on it, also on later calls.
        """
        self._prepare_once(self._join_layers)

    def _join_layers(self) -> Any:
        for layer in self.llm.model.model.layers:
            layer.self_attn.join()
            layer.mlp.join()
        return self.parameters()

    # -- inputs

    def marker(self, row: int) -> mx.array:
        """Embeds SOS or TASK, (1, width)."""
        return self.llm_embedding(mx.array([row]))

    def text(self, ids: Sequence[int]) -> mx.array:
        """Embeds ids of text, (n, width)."""
        return self.llm.model.model.embed_tokens(mx.array(np.asarray(ids, np.int32)))

    def speech(self, tokens: Sequence[int]) -> mx.array:
        """Embeds speech tokens, (n, width)."""
        return self.speech_embedding(mx.array(np.asarray(tokens, np.int32)))

    def lead(self, text_ids: Sequence[int], tokens: Sequence[int]) -> mx.array:
        """Embeds everything before the first new token, (2 + texts + tokens, width)."""
        return mx.concatenate([
            self.marker(SOS), self.text(text_ids), self.marker(TASK), self.speech(tokens)
        ])  # fmt: skip

    # -- passes

    def hidden(self, x: mx.array, cache: KVCache | None = None) -> mx.array:
        """Runs Qwen2 on embeddings (B, T, width) that follow the cached positions."""
        self.join()
        network = self.llm.model.model
        if cache is None:
            return network(None, input_embeddings=x)
        count = x.shape[1]
        cache.open(count)
        positions = [cache.length - count - start for start in cache.starts]
        # A number for rows of equal length; otherwise an array, computed once for all layers.
        offset = mx.array(positions) if len(set(positions)) > 1 else positions[0]
        heads = self.config.num_heads
        layers = [
            _LayerCache(cache, number, offset, heads) for number in range(self.config.num_layers)
        ]
        return network(None, cache=layers, input_embeddings=x)

    def decode(self, hidden: mx.array) -> mx.array:
        """(..., width) -> logits (..., speech tokens and ends), float32."""
        return self.llm_decoder(hidden).astype(mx.float32)

    def logits(
        self, text_ids: Sequence[int], prefix_tokens: Sequence[int], tokens: Sequence[int]
    ) -> mx.array:
        """Returns logits of each of `tokens` and of the token after them, in one pass.

        (len(tokens) + 1, vocabulary) float32. The ids of a prompt come before those of the text.
        """
        x = self.lead(text_ids, [*prefix_tokens, *tokens])
        return self.decode(self.hidden(x[None])[0, -len(tokens) - 1 :])

    def check_inputs(
        self, text_ids: Any, prefix_tokens: Any, tokens: Any
    ) -> tuple[list[int], list[int], list[int]]:
        """Checks a caller's arguments for `logits`; tokens may include the end ids.

        Raises RequestError.
        """
        text_limit, token_limit = self.config.vocab_size, self.config.speech_tokens + END_COUNT
        arrays = (
            id_array("text_ids", text_ids, text_limit),
            id_array("prefix_tokens", prefix_tokens, token_limit),
            id_array("tokens", tokens, token_limit),
        )
        length = 2 + sum(map(len, arrays))
        if length > self.config.max_positions:
            raise RequestError(
                f"all take {length} positions; the model has {self.config.max_positions}"
            )
        text, prefix, speech = (array.tolist() for array in arrays)
        return text, prefix, speech

    def prefill(self, leads: Sequence[mx.array]) -> RowStates:
        """Runs the embeddings (positions, width) before the first token of each row."""
        counts = [len(lead) for lead in leads]
        block = round_up(max(counts), PREFILL_COLUMNS if on_cuda() else 1)
        x = mx.stack([mx.pad(lead, [(block - len(lead), 0), (0, 0)]) for lead in leads])
        cache = self.empty_cache(counts, block)
        last = self.hidden(x, cache)[:, -1]
        cache.trim()  # a step is faster without a mask
        return RowStates(cache, last)

    def empty_cache(self, counts: Sequence[int], multiple: int = 1) -> KVCache:
        """Returns an empty cache with space for `counts[b]` positions in row b."""
        no_positions = [None] * len(counts)
        return KVCache.for_rows(self.config, self.dtype, counts, no_positions, multiple=multiple)

    def step(self, states: RowStates, tokens: Sequence[int]) -> None:
        """Feeds the last token of every row."""
        states.last = self.hidden(self.speech(tokens)[:, None], states.cache)[:, -1]


@dataclass(slots=True)
class RowStates:
    """The state of B rows between two steps."""

    cache: KVCache
    last: mx.array  # (B, width), Qwen2's output at each row's last position

    def filter(self, rows: list[int]) -> None:
        """Keeps only `rows`, in this order."""
        self.cache.filter(rows)
        self.last = self.last[mx.array(rows)]

    def extend(self, states: RowStates) -> None:
        """Appends the rows of `states`, which must not be used afterwards."""
        self.cache.extend(states.cache)
        self.last = mx.concatenate([self.last, states.last])


class _LayerCache:
    """One layer's part of the cache during a pass, with the interface of mlx-lm's caches.

    mlx-lm's own BatchKVCache gives NaN for padding, which sees nothing, counts positions anew for
    each layer, and waits for the device when rows leave.
    """

    def __init__(self, cache: KVCache, number: int, offset: mx.array | int, heads: int) -> None:
        self._cache, self._number, self._heads = cache, number, heads
        self.offset = offset

    def update_and_fetch(self, keys: mx.array, values: mx.array) -> tuple[mx.array, mx.array]:
        return self._cache.update(self._number, keys, values)

    def make_mask(
        self, count: int, return_array: bool = False, window_size: int | None = None
    ) -> mx.array | str | None:
        return self._cache.mask(count, self._heads)


class Attention(nn.Module):
    """Replaces mlx-lm's: one product and one rotation instead of three and two."""

    def __init__(self, args: Any) -> None:
        super().__init__()
        width, self._heads = args.hidden_size, args.num_attention_heads
        self._head_dim = width // self._heads
        kv_width = args.num_key_value_heads * self._head_dim
        self.q_proj = nn.Linear(width, width)
        self.k_proj = nn.Linear(width, kv_width)
        self.v_proj = nn.Linear(width, kv_width)
        self.o_proj = nn.Linear(width, width, bias=False)
        self._rotated_heads = self._heads + args.num_key_value_heads
        self._base = args.rope_theta
        self._qkv = nn.Module()

    def join(self) -> None:
        self._qkv = join_layers([self.q_proj, self.k_proj, self.v_proj])

    def __call__(
        self, x: mx.array, mask: mx.array | str | None = None, cache: _LayerCache | None = None
    ) -> mx.array:
        batch, length, _ = x.shape
        projected = self._qkv(x).reshape(batch, length, -1, self._head_dim).swapaxes(1, 2)
        qk, v = projected[:, : self._rotated_heads], projected[:, self._rotated_heads :]
        offset = 0 if cache is None else cache.offset
        qk = mx.fast.rope(
            qk, self._head_dim, traditional=False, base=self._base, scale=1.0, offset=offset
        )
        q, k = qk[:, : self._heads], qk[:, self._heads :]
        if cache is not None:
            k, v = cache.update_and_fetch(k, v)
        y = mx.fast.scaled_dot_product_attention(q, k, v, scale=self._head_dim**-0.5, mask=mask)
        return self.o_proj(y.swapaxes(1, 2).reshape(batch, length, -1))


class MLP(nn.Module):
    """Replaces mlx-lm's: one product instead of two, and nothing compiled on a CPU."""

    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(width, inner, bias=False)
        self.down_proj = nn.Linear(inner, width, bias=False)
        self.up_proj = nn.Linear(width, inner, bias=False)
        self._gate_up = nn.Module()

    def join(self) -> None:
        self._gate_up = join_layers([self.gate_proj, self.up_proj])

    def __call__(self, x: mx.array) -> mx.array:
        return self.down_proj(swiglu(*mx.split(self._gate_up(x), 2, axis=-1)))


class _ModelHolder(nn.Module):
    """Holds the backbone as `model`, so that weights are named `llm.model.…`."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model


def _build_backbone(config: LMConfig) -> nn.Module:
    qwen2 = _import_qwen2()
    arguments = qwen2.ModelArgs(
        model_type="qwen2",
        hidden_size=config.hidden_size,
        num_hidden_layers=config.num_layers,
        intermediate_size=config.intermediate_size,
        num_attention_heads=config.num_heads,
        rms_norm_eps=config.rms_norm_eps,
        vocab_size=config.vocab_size,
        num_key_value_heads=config.num_kv_heads,
        max_position_embeddings=config.max_positions,
        rope_theta=config.rope_theta,
    )
    return qwen2.Model(arguments)


@functools.cache
def _import_qwen2() -> Any:
    """Imports a private copy of mlx_lm.models.qwen2.

    `import mlx_lm` would load transformers, which takes seconds. In this copy alone, Attention and
    MLP are replaced by layers that launch fewer kernels. mlx-lm's MLP is compiled on a CPU too,
    where MLX runs a C++ compiler, and aborts when a process ends whose other threads ran it.
    """
    try:
        spec = importlib.util.find_spec("mlx_lm")
    except (ImportError, ValueError):  # raised by a finder, or if sys.modules maps it to None
        spec = None
    if spec is None:
        raise ModelError("CosyVoice2 needs mlx-lm: pip install mlx-lm")
    package = ModuleType(f"{__name__}.mlx_lm")
    package.__path__ = list(spec.submodule_search_locations or ())
    sys.modules[package.__name__] = package
    qwen2: Any = importlib.import_module(f"{package.__name__}.models.qwen2")
    qwen2.Attention, qwen2.MLP = Attention, MLP
    return qwen2
