"""Kernels that a step of CosyVoice2's language model launches on a GPU, and its graph's time.

    python tests/bench/cosyvoice2_lm.py [--rows 1 8]

Counted as `kernels.py` does, of the released sizes, without weights; a rotary embedding is one, and
so is what finds the likeliest, which a GPU sorts for in several. The last line is JSON.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import mlx.core as mx

from cosyvoice2 import lm as lm_module
from cosyvoice2.config import LMConfig
from cosyvoice2.lm import Lines, Qwen2LM
from cosyvoice2.sampler import Heads
from speechbase.cache import KVCache, rounded
from tests.bench import kernels
from tests.voxcpm2.gpu import pretended

RELEASED = LMConfig(
    hidden_size=896, intermediate_size=4864, num_layers=24, num_heads=14, num_kv_heads=2,
    rms_norm_eps=1e-6, rope_theta=1e6, vocab_size=151936, max_positions=32768,
    speech_tokens=6561, top_p=0.8, top_k=25, win_size=10, tau_r=0.1,
)  # fmt: skip


def hollow_lm() -> Qwen2LM:
    """The released sizes in bfloat16, without weights."""
    lm = Qwen2LM(RELEASED)
    kernels.emptied(lm, mx.bfloat16)
    with mock.patch.object(lm_module, "joined", kernels.hollow_join):
        lm.join()
    return lm


def between(lm: Qwen2LM, rows: int) -> Lines:
    """Rows between two steps, each with a beginning of its own."""
    c, held = lm.config, kernels.POSITIONS
    shape = (rows, c.num_kv_heads, rounded(held, KVCache.BUCKET), c.head_dim)
    keys, values = ([kernels.hollow(shape) for _ in range(c.num_layers)] for _ in range(2))
    starts = [37 * row % held for row in range(rows)]
    return Lines(KVCache(keys, values, starts, held), kernels.hollow((rows, c.hidden_size)))


@contextlib.contextmanager
def counting(backend: kernels.Backend) -> Iterator[None]:
    """As on that backend, a rotary embedding as one node."""

    def rope(x: mx.array, *_: Any, offset: mx.array | int, **__: Any) -> mx.array:
        needs = [offset] if isinstance(offset, mx.array) else []
        return mx.depends([mx.sort(x, axis=-1)], needs)[0] if needs else mx.sort(x, axis=-1)

    with (
        pretended(backend, compiled=True),
        kernels.fused(backend),
        mock.patch.object(mx.fast, "rope", rope),
    ):
        yield


def counted(rows: Sequence[int], backends: Sequence[kernels.Backend]) -> dict[str, dict[str, int]]:
    """Kernels of a step, by part, for each number of rows."""
    lm, found = hollow_lm(), {}
    for backend in backends:
        for count in rows:
            with counting(backend):
                lines = between(lm, count)
                lm.step(lines, [0] * count)
                network = kernels.kernels(lines.last, *lines.cache.keys, *lines.cache.values)
                logits = lm.decode(kernels.hollow((count, RELEASED.hidden_size)))
                heads = Heads.of(logits, [True] * count, RELEASED)
                head = kernels.kernels(heads.ids, heads.best, heads.total)
            found[f"{backend} {count}"] = {"Qwen2": network, "head": head, "all": network + head}
    return found


def building(rows: int, rounds: int = 20) -> float:
    """Milliseconds of Python and MLX until a step's graph stands."""
    lm = hollow_lm()
    states = iter([between(lm, rows) for _ in range(rounds)])
    with counting("metal"):
        return kernels.milliseconds(lambda: lm.step(next(states), [0] * rows), rounds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[1, 8])
    rows = parser.parse_args().rows
    mx.set_default_device(mx.cpu)  # nothing is evaluated
    found: dict[str, Any] = {"bench": "cosyvoice2_lm", "kernels": counted(rows, ["metal", "cuda"])}
    for name, parts in found["kernels"].items():
        print(f"{name:10}" + "".join(f"{part:>8} {count:4}" for part, count in parts.items()))
    found["building_ms"] = {count: building(count) for count in rows}
    print(
        "ms to build: " + ", ".join(f"{n} rows {ms:.1f}" for n, ms in found["building_ms"].items())
    )
    print(json.dumps(found))


if __name__ == "__main__":
    main()
