"""The flow's estimator: the velocity of noisy frames at one moment, by a U-Net of one level.

Its inputs are frames, a moment, and the condition: `mu`, speaker, reference. `flow.py` has the time
grid, the guidance and the noise. Terms that do not depend on the frames are computed once for all
moments: the condition's share of the first block (`ConditionTerms`), and the embedded moments.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import mlx.core as mx
import mlx.nn as nn
import numpy as np

from cosyvoice2.config import MELS, EstimatorConfig
from cosyvoice2.layers import (
    CausalConv,
    Past,
    Sight,
    attend,
    convolved,
    gelu,
    mish,
    mish_plus,
    pointwise,
)
from speechbase.functions import silu, time_embedding
from speechbase.linear import join_layers

TIME_RATIO = 4  # the moments' width by the channels


@dataclass(frozen=True, slots=True)
class ConditionTerms:
    """The condition's share of the first block, biases included, each (G, B, T, channels).

    G is 1, or 2 for guidance: the second part is that of an empty condition.
    """

    conv: mx.array  # added to the first convolution
    residual: mx.array  # added to the residual branch


class TimeMLP(nn.Module):
    """linear_2(silu(linear_1(x)))."""

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__()
        self.linear_1 = nn.Linear(inputs, width)
        self.linear_2 = nn.Linear(width, width)

    def __call__(self, x: mx.array) -> mx.array:
        return self.linear_2(silu(self.linear_1(x)))


class CausalBlock(nn.Module):
    """A causal convolution, a norm, and mish."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        # Numbered as in the checkpoint, where layers without weights take up numbers.
        self.block = [CausalConv(inputs, outputs, 3), nn.Identity(), nn.LayerNorm(outputs)]

    def __call__(self, x: mx.array, addend: mx.array, past: Past | None = None) -> mx.array:
        """Adds `addend` to the output."""
        return self.after_conv(self.block[0](x, past), addend)

    def after_conv(self, convolved: mx.array, addend: mx.array) -> mx.array:
        """Runs the block from the convolution's output on."""
        return mish_plus(self.block[2](convolved), addend)


class ResnetBlock(nn.Module):
    """Two causal blocks with the time embedding added between them, and a residual branch."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.mlp = [nn.Identity(), nn.Linear(TIME_RATIO * outputs, outputs)]
        self.block1 = CausalBlock(inputs, outputs)
        self.block2 = CausalBlock(outputs, outputs)
        self.res_conv = nn.Conv1d(inputs, outputs, 1)

    def __call__(self, x: mx.array, time: mx.array, past: Past | None = None) -> mx.array:
        """x (B, T, inputs); time (B or 1, outputs), the output of `mlp` for the moment."""
        first = self.block1.block[0](x, past)
        return self.after_conv(first, pointwise(self.res_conv, x), time, past)

    def after_conv(
        self, convolved: mx.array, residual: mx.array, time: mx.array, past: Past | None = None
    ) -> mx.array:
        """Runs the block from the first convolution's output on."""
        return self.block2(self.block1.after_conv(convolved, time[:, None]), residual, past)


class SelfAttention(nn.Module):
    """Self-attention without biases and positions.

    With a past, it stores its inputs, a quarter of the size of keys and values: a second of sound
    takes 57 MB in all layers and steps of the flow, not 229. Keys and values of stored inputs are
    not computed: as q (W_k y) = (q W_k) y, queries are projected to the width of the inputs, and
    the attended inputs are projected to values.
    """

    def __init__(self, width: int, heads: int, head_dim: int) -> None:
        super().__init__()
        self._heads, self._head_dim = heads, head_dim
        self.to_q = nn.Linear(width, heads * head_dim, bias=False)
        self.to_k = nn.Linear(width, heads * head_dim, bias=False)
        self.to_v = nn.Linear(width, heads * head_dim, bias=False)
        self.to_out = [nn.Linear(heads * head_dim, width)]
        self._qkv: nn.Module | None = None

    def join(self) -> nn.Module:
        """Joins the three projections to one product."""
        self._qkv = join_layers([self.to_q, self.to_k, self.to_v])
        return self._qkv

    def __call__(self, y: mx.array, sight: Sight, past: Past | None = None) -> mx.array:
        if past is not None and past.has_inputs_of(self):
            return self._attend_to_inputs(y, past.append(self, y), sight)
        if past is not None:
            past.append(self, y)
        qkv = self.join() if self._qkv is None else self._qkv
        projected = qkv(y).reshape(*y.shape[:2], 3, self._heads, self._head_dim)
        q, k, v = (projected[:, :, part].swapaxes(1, 2) for part in range(3))
        return self._project_out(self._attend(q, k, v, sight))

    def _attend_to_inputs(self, y: mx.array, inputs: mx.array, sight: Sight) -> mx.array:
        shape = (self._heads, self._head_dim, y.shape[-1])
        q = self.to_q(y).reshape(*y.shape[:2], *shape[:2]).swapaxes(1, 2)
        q = q @ self.to_k.weight.reshape(shape)
        inputs = inputs[:, None]
        gathered = self._attend(q, inputs, inputs, sight).swapaxes(1, 2)
        outputs = gathered @ self.to_v.weight.reshape(shape).swapaxes(-1, -2)
        return self._project_out(outputs.swapaxes(1, 2))

    def _attend(self, q: mx.array, k: mx.array, v: mx.array, sight: Sight) -> mx.array:
        return attend(q, k, v, self._head_dim**-0.5, sight.mask_of)

    def _project_out(self, y: mx.array) -> mx.array:
        return self.to_out[0](y.reshape(*y.shape[:2], -1))


class Projection(nn.Module):
    """gelu(proj(x))."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.proj = nn.Linear(inputs, outputs)

    def __call__(self, x: mx.array) -> mx.array:
        return gelu(self.proj(x))


class Widening(nn.Module):
    """The feed-forward layer: to four times the width and back."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.net = [Projection(width, 4 * width), nn.Identity(), nn.Linear(4 * width, width)]

    def __call__(self, x: mx.array) -> mx.array:
        return self.net[2](self.net[0](x))


class TransformerBlock(nn.Module):
    """Attention and feed-forward, each after a norm and added to its input."""

    def __init__(self, config: EstimatorConfig) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(config.channels)
        self.attn1 = SelfAttention(config.channels, config.heads, config.head_dim)
        self.norm3 = nn.LayerNorm(config.channels)
        self.ff = Widening(config.channels)

    def __call__(self, x: mx.array, sight: Sight, past: Past | None = None) -> mx.array:
        x = x + self.attn1(self.norm1(x), sight, past)
        return x + self.ff(self.norm3(x))


class Estimator(nn.Module):
    """The U-Net, `decoder.estimator` in flow.pt."""

    def __init__(self, config: EstimatorConfig) -> None:
        super().__init__()
        self.config = config
        width = config.channels
        self.time_mlp = TimeMLP(config.in_channels, TIME_RATIO * width)
        self.down_blocks: list[list[Any]] = [
            [*self._stage(config.in_channels), CausalConv(width, width, 3)]
        ]
        self.mid_blocks = [self._stage(width) for _ in range(config.mid_blocks)]
        self.up_blocks: list[list[Any]] = [[*self._stage(2 * width), CausalConv(width, width, 3)]]
        self.final_block = CausalBlock(width, width)
        self.final_proj = nn.Conv1d(width, MELS, 1)
        # Weights of the first convolution and residual, for the noisy frames and the condition.
        self._x_weights: list[mx.array] = []
        self._condition_weights: list[mx.array] = []

    def _stage(self, inputs: int) -> list[Any]:
        c = self.config
        return [ResnetBlock(inputs, c.channels), [TransformerBlock(c) for _ in range(c.blocks)]]

    @property
    def stages(self) -> list[list[Any]]:
        """The down, middle and up blocks, in order."""
        return [self.down_blocks[0], *self.mid_blocks, self.up_blocks[0]]

    def join(self) -> list[mx.array]:
        """Joins and splits weights once they are loaded; returns the new arrays."""
        for stage in self.stages:
            for block in stage[1]:
                block.attn1.join()
        first = self.down_blocks[0][0]
        conv, residual = first.block1.block[0].weight, first.res_conv.weight[:, 0].T
        self._x_weights = [mx.contiguous(conv[..., :MELS]), residual[:MELS]]
        self._condition_weights = [mx.contiguous(conv[..., MELS:]), residual[MELS:]]
        return [*self._x_weights, *self._condition_weights]

    def __call__(
        self,
        x: mx.array,
        mu: mx.array,
        t: np.ndarray,
        speaker: mx.array,
        cond: mx.array,
        sight: Sight,
    ) -> mx.array:
        """The velocity at x (B, T, 80) at a moment t (1,): (B, T, 80).

        mu and cond (B, T, 80), speaker (B, 80).
        """
        return self.velocity(x, self.condition_terms(mu, speaker, cond), self.moments(t)[0], sight)

    def moments(self, t: np.ndarray) -> mx.array:
        """Embeds K moments (K,) for each of the stages: (K, stages, 1, channels)."""
        time = mish(self.time_mlp(time_embedding(t, self.config.in_channels)))
        layers = [stage[0].mlp[1] for stage in self.stages]
        return mx.stack([layer(time) for layer in layers], axis=1)[:, :, None]

    def condition_terms(
        self,
        mu: mx.array,
        speaker: mx.array,
        cond: mx.array,
        *,
        guided: bool = False,
        past: Past | None = None,
    ) -> ConditionTerms:
        """Computes the condition's share of the first block; if `guided`, also the empty
        condition's."""
        if not self._condition_weights:
            self.join()
        conv, residual = self._condition_weights
        first = self.down_blocks[0][0]
        layer = first.block1.block[0]
        speaker_frames = mx.broadcast_to(speaker[:, None], mu.shape)
        z = mx.concatenate([mu, speaker_frames, cond], axis=-1)
        before = conv.shape[1] - 1
        if past is None:
            shared = convolved(z, conv, before=before)
        else:
            shared = convolved(past.prepend(layer, z, before), conv)

        def with_unconditional(share: mx.array, bias: mx.array) -> mx.array:
            share = share + bias
            return mx.stack([share, mx.broadcast_to(bias, share.shape)]) if guided else share[None]

        return ConditionTerms(
            with_unconditional(shared, layer.bias),
            with_unconditional(z @ residual, first.res_conv.bias),
        )

    def velocity(
        self,
        x: mx.array,
        condition: ConditionTerms,
        moment: mx.array,
        sight: Sight,
        past: Past | None = None,
    ) -> mx.array:
        """Returns the velocity at x (B, T, 80), under G conditions for each row: (G B, T, 80).

        moment (stages, 1, channels) is one of `moments`.
        """
        times = [time.squeeze(0) for time in mx.split(moment, moment.shape[0])]
        h = self._first_block(x, condition, times[0], past)
        down, up = self.down_blocks[0], self.up_blocks[0]
        h = skip = _run_transformers(down[1], h, sight, past)
        h = down[2](h, past)
        for stage, time in zip(self.mid_blocks, times[1:-1], strict=True):
            h = _run_transformers(stage[1], stage[0](h, time, past), sight, past)
        h = up[0](mx.concatenate([h, skip], axis=-1), times[-1], past)
        h = up[2](_run_transformers(up[1], h, sight, past), past)
        final = mish(self.final_block.block[2](self.final_block.block[0](h, past)))
        return pointwise(self.final_proj, final)

    def _first_block(
        self, x: mx.array, condition: ConditionTerms, time: mx.array, past: Past | None
    ) -> mx.array:
        """Runs the first ResNet block; the noisy frames' share is equal under all conditions."""
        conv, residual = self._x_weights
        first, before = self.down_blocks[0][0], conv.shape[1] - 1
        if past is None:
            convolution = convolved(x, conv, before=before)
        else:
            convolution = convolved(past.prepend(first.block1.block[0], x, before), conv)
        shape = (-1, *condition.conv.shape[2:])
        entered = (condition.conv + convolution).reshape(shape)
        return first.after_conv(
            entered, (condition.residual + x @ residual).reshape(shape), time, past
        )


def _run_transformers(
    layers: list[TransformerBlock], x: mx.array, sight: Sight, past: Past | None
) -> mx.array:
    for layer in layers:
        x = layer(x, sight, past)
    return x
