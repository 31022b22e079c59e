"""Traces and compiles steps before they are needed, with made-up rows.

On a GPU each new number of rows is traced once, in a third of a second, and each kind of kernel is
compiled when it first runs. Knows no texts and stores nothing.
"""

from __future__ import annotations

import time
from dataclasses import replace

import mlx.core as mx

from speechbase.device import on_gpu
from voxcpm2.config import Config, TransformerConfig
from voxcpm2.model import Network
from voxcpm2.prompt import Text, build_tokens


def step(network: Network, rows: int, steps: int = 10) -> list[mx.array]:
    """Builds the unevaluated outputs of a step of `rows` rows, which traces the step."""
    c = network.config
    tokens = build_tokens([Text([0])], (c.patch_size, c.feat_dim))
    state = network.prefill([tokens] * rows, [None] * rows)
    network.feed(state, mx.zeros((rows, c.patch_size, c.feat_dim)))
    noise = mx.zeros((rows, c.feat_dim, c.patch_size))
    plan = network.feat_decoder.plan([(steps, 2.0)] * rows)
    return [network.stops(state), network.sample(state, noise, plan), state.r]


class Rehearsals:
    """Traces steps for the numbers of rows that a batch may reach, while a GPU is busy."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._traced: set[tuple[int, int]] = set()

    def trace_next(self, slots: int, steps: int) -> None:
        """Traces a step for one more number of rows up to `slots`, if any is untraced."""
        if not on_gpu():
            return
        for rows in range(slots, 0, -1):
            if (rows, steps) not in self._traced:
                self._traced.add((rows, steps))
                step(self._network, rows, steps)
                return


def rehearse(config: Config, rows: int = 1) -> float:
    """Builds and runs a step of this model with one layer per stack; returns the seconds.

    Raises RuntimeError for whatever would stop the real model on this machine.
    """

    def shallow(stack: TransformerConfig) -> TransformerConfig:
        return replace(stack, num_layers=1)

    start = time.perf_counter()
    small = replace(
        config,
        base_lm=shallow(config.base_lm),
        residual_lm=shallow(config.residual_lm),
        encoder=shallow(config.encoder),
        dit=shallow(config.dit),
        vocab_size=128,
    )
    network = Network(small)
    network.set_dtype(mx.bfloat16)
    mx.eval(step(network, rows))
    return time.perf_counter() - start
