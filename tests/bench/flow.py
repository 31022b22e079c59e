"""CosyVoice2's flow: kernels that it launches on a GPU, by part, and the time that it takes here.

    python tests/bench/flow.py [--rows 1 4] [--tokens 250] [--prompt 125] [--time]

Kernels are counted as `kernels.py` does, with the released sizes and without weights: of one
evaluation of the estimator, of a mel of rows that are alike, of one of ragged rows, and of a chunk
in the midst of a stream. With `--time`, random weights of those sizes are made, and mels and
streams timed; a CPU takes minutes for it. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import mlx.core as mx
import mlx.nn as nn
import numpy as np
from mlx.utils import tree_map

from cosyvoice2.config import MELS, EncoderConfig, EstimatorConfig, FlowConfig
from cosyvoice2.estimator import Known
from cosyvoice2.flow import STEPS, Flow, FlowRow, State
from cosyvoice2.layers import Past, Sight, sight
from tests.bench.kernels import Backend, emptied, fused, hollow, kernels, milliseconds
from tests.voxcpm2.gpu import pretended

RELEASED = FlowConfig(
    vocab_size=6561, speaker_dim=192, guidance=0.7,
    encoder=EncoderConfig(width=512, heads=8, feed_forward=2048, layers=6, chunk=25),
    estimator=EstimatorConfig(
        in_channels=320, channels=256, heads=8, head_dim=64, blocks=4, mid_blocks=12, chunk=50
    ),
)  # fmt: skip


def row(tokens: int, prompt: int, seed: int = 0) -> FlowRow:
    draw = np.random.default_rng(seed)
    return FlowRow(
        draw.integers(0, RELEASED.vocab_size, tokens),
        draw.integers(0, RELEASED.vocab_size, prompt),
        draw.standard_normal((2 * prompt, MELS)).astype(np.float32),
        draw.standard_normal(RELEASED.speaker_dim).astype(np.float32),
    )


def hollow_flow(positions: int) -> Flow:
    """The released sizes without weights, and with tables that reach so many positions."""
    flow = Flow(RELEASED)
    emptied(flow, mx.float32)
    flow.join()
    for name in ("encoders", "up_encoders"):
        made = flow.encoder._reaching(name, positions)
        flow.encoder._tables[name] = [hollow(array.shape, mx.float32) for array in made]
    flow.decoder._plan(STEPS)
    return flow


def hollow_state(flow: Flow, tokens: int) -> State:
    """A stream that has given the frames of so many tokens."""
    state = State(STEPS, tokens)

    def keep(past: Past, layer: nn.Module, shape: tuple[int, ...]) -> None:
        past._kept[id(layer)] = hollow(shape, mx.float32)

    for rate, layers in ((1, flow.encoder.encoders), (2, flow.encoder.up_encoders)):
        for layer in layers:
            shape = (1, rate * tokens, 2, *layer.self_attn.pos_bias_u.shape)
            keep(state.encoder, layer.self_attn, shape)
    for stage in flow.decoder.estimator.stages:
        for block in stage[1]:
            for past in state.solver:
                keep(past, block.attn1, (2, 2 * tokens, RELEASED.estimator.channels))
    return state


def counted(rows: int, tokens: int, prompt: int, backend: Backend) -> dict[str, int]:
    """Kernels of each part for so many rows, of so many new tokens after as many of a prompt."""
    flow = hollow_flow(2 * (tokens + prompt))
    estimator, frames = flow.decoder.estimator, 2 * (tokens + prompt)
    alike = [row(tokens, prompt) for _ in range(rows)]
    ragged = [row(tokens - n, prompt) for n in range(rows)]
    # What is begun early would be computed: a mel is counted as what is still to be done.
    begun = mock.patch.object(mx, "async_eval")
    with pretended(backend, compiled=True), fused(backend), begun:
        part = hollow((rows, frames, MELS), mx.float32)
        known = estimator.known(part, hollow((rows, MELS), mx.float32), part, guided=True)
        known = Known(*(hollow(each.shape, mx.float32) for each in (known.conv, known.residual)))
        moment = flow.decoder._plan(STEPS)[0][0]
        mx.eval(moment)

        def evaluated(seen: Sight) -> int:
            mx.eval([] if seen.mask is None else [seen.mask])
            return kernels(estimator.velocity(part, known, moment, seen))

        def whole(rows: list[FlowRow], streaming: bool = False) -> int:
            return kernels(*flow.mel(rows, streaming=streaming))

        found = {"estimator": evaluated(sight([frames] * 2 * rows, frames)), "mel": whole(alike)}
        if rows > 1:
            found["estimator, ragged"] = evaluated(
                sight([frames - 2 * n for n in range(rows)] * 2, frames)
            )
            found["mel, ragged"] = whole(ragged)
        found["mel, streaming"] = whole(alike, True)
        chunk = RELEASED.encoder.chunk
        state = hollow_state(flow, prompt // chunk * chunk)
        ids = alike[0].ids[: chunk + 3]
        pushed = flow.push(state, alike[0], ids, finalize=False)
        found["chunk of a stream"] = kernels(pushed, *(a for p in state.pasts for a in p.kept))
    return found


def timed(rows: int, tokens: int, prompt: int, rounds: int = 3) -> dict[str, float]:
    """Milliseconds of mels and of a stream's chunks, with random weights."""
    flow = Flow(RELEASED)
    flow.update(tree_map(lambda a: 0.05 * mx.random.normal(a.shape), flow.parameters()))
    alike = [row(tokens, prompt, n) for n in range(rows)]
    ragged = [row(tokens - n, prompt, n) for n in range(rows)]
    mx.eval(flow.mel(alike), flow.mel(ragged))
    found = {
        "mel": milliseconds(lambda: mx.eval(flow.mel(alike)), rounds),
        "mel, ragged": milliseconds(lambda: mx.eval(flow.mel(ragged)), rounds),
    }
    stream, at = flow.stream(row(0, prompt)), 0
    chunks = []
    while at + stream.lacking <= tokens:
        count = stream.lacking
        part = alike[0].tokens[at : at + count]
        chunks.append(milliseconds(lambda s=stream, p=part: mx.eval(s.feed(p)), 1))
        at += count
    found |= {"first chunk": chunks[0], "last chunk": chunks[-1]}
    return {**found, "kept, MB": stream.nbytes / 1e6}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--tokens", type=int, default=250)
    parser.add_argument("--prompt", type=int, default=125)
    parser.add_argument("--time", action="store_true")
    options = parser.parse_args()
    found: dict[str, Any] = {"bench": "flow", "tokens": options.tokens, "prompt": options.prompt}
    backends: tuple[Backend, ...] = ("metal", "cuda")
    for backend in backends:
        for rows in options.rows:
            made = counted(rows, options.tokens, options.prompt, backend)
            found[f"{backend} {rows}"] = made
            print(f"{backend}, {rows} rows:", ", ".join(f"{k} {v}" for k, v in made.items()))
    if options.time:
        for rows in options.rows:
            times = timed(rows, options.tokens, options.prompt)
            found[f"ms {rows}"] = times
            print(f"ms, {rows} rows:", ", ".join(f"{k} {v:.1f}" for k, v in times.items()))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
