"""Kernels that a step launches on a GPU, by part, and the time that its graph takes to build.

    python -m benchmarks.kernels [--rows 1 8] [--rounds 5]

Graphs are lazy, so that those of the shipped sizes are built and counted on any machine, without
weights and without evaluating anything; the package is told that there is a GPU. Rules: views are
free, a pad is two, a concatenation as many as its inputs, a norm one, attention one where the
backend has a kernel for it and else what it falls back to, a compiled region one. Rows are ragged
where there are several, which costs a mask. On a machine with a GPU, random weights of the shipped
sizes are made and steps timed there, `predictions.py` says which of its numbers were wrong, and on
CUDA the parts that are float32 run with TF32 and without, each in a process of its own: how much
faster it is, and how far off. The last line is JSON.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import mlx.core as mx
import mlx.nn as nn
from mlx.utils import tree_map

from benchmarks import model as model_bench
from benchmarks import predictions
from speechbase.cache import KVCache, round_up
from speechbase.functions import normal
from tests.voxcpm2.gpu import pretended
from voxcpm2 import Request, VoxCPM2, minicpm4
from voxcpm2.audio_vae import MAX_CHUNK, AudioVAE
from voxcpm2.cfm import Plan
from voxcpm2.config import Config, TransformerConfig
from voxcpm2.model import Network, State

SHIPPED = Path(__file__).parent.parent / "tests" / "golden" / "shipped_config.json"
Backend = Literal["metal", "cuda"]
POSITIONS = 300
"""Held by the longest row."""
FREE = set(
    "Reshape Transpose Slice Split ExpandDims Squeeze Broadcast Depends Unflatten Flatten "
    "AsStrided Copy StopGradient BroadcastAxes View".split()
)
TIMED = (1, 2, 4, 8, 16)
"""Rows whose steps are timed on a GPU."""
TF32 = "MLX_ENABLE_TF32"


def kernels(*arrays: mx.array) -> int:
    """Returns the number of kernels that evaluating these arrays would launch."""
    file = io.StringIO()
    mx.export_to_dot(file, *arrays)
    graph = file.getvalue()
    nodes = re.findall(r'\{ (\d+) \[label ="([^"]+)", shape=rectangle', graph)
    inputs = Counter(re.findall(r"-> (\d+)\b", graph))
    joins = {node for node, label in nodes if label == "Concatenate"}
    cost = sum(inputs[node] for node in joins)
    for _, label in nodes:
        if label not in FREE and label != "Concatenate":
            cost += 2 if label == "Pad" else 1
    return cost


@contextlib.contextmanager
def fused(backend: Backend) -> Iterator[None]:
    """Norms and attention as one node each, where the backend has one kernel for them."""
    plain = mx.fast.scaled_dot_product_attention

    def norm(x: mx.array, weight: mx.array, eps: float) -> mx.array:
        return mx.cumsum(x, axis=-1)

    def layer_norm(x: mx.array, weight: mx.array, bias: mx.array, eps: float) -> mx.array:
        return mx.cumsum(x, axis=-1)

    def attention(
        q: mx.array, k: mx.array, v: mx.array, *, scale: float, mask: Any, sinks: None = None
    ) -> mx.array:
        masked = isinstance(mask, mx.array)
        if not one_kernel(backend, q, k, masked):
            return plain(q, k, v, scale=scale, mask=mask)
        needs = [k, v]
        if masked:
            needs.append(mx.broadcast_to(mask, (*q.shape[:3], k.shape[2])))
        return mx.depends([mx.sort(q, axis=-1)], needs)[0]

    with (
        mock.patch.object(mx.fast, "rms_norm", norm),
        mock.patch.object(mx.fast, "layer_norm", layer_norm),
        mock.patch.object(mx.fast, "scaled_dot_product_attention", attention),
    ):
        yield


def one_kernel(backend: Backend, q: mx.array, k: mx.array, masked: bool) -> bool:
    """As the backends' `has_fused_kernel`, of MLX 0.32."""
    length, width, group = q.shape[2], q.shape[3], q.shape[1] // k.shape[1]
    if backend == "cuda":
        return (length > 1 and q.dtype != mx.float32) or (length < 4 and not masked)
    if length > 8:
        return width in (64, 72, 80, 96, 128, 192, 256)
    return width in (64, 96, 128, 256) and length <= k.shape[2] and length * group <= 32


def hollow(shape: Sequence[int], dtype: mx.Dtype = mx.bfloat16) -> mx.array:
    """Zeros that take no memory, and are no part of a graph."""
    zeros = mx.broadcast_to(mx.zeros((1,) * len(shape), dtype), tuple(shape))
    mx.eval(zeros)
    return zeros


def emptied(module: nn.Module, dtype: mx.Dtype) -> None:
    def hollow_copy(array: mx.array) -> mx.array:
        real = mx.issubdtype(array.dtype, mx.floating)
        return hollow(array.shape, dtype if real else array.dtype)

    module.update(tree_map(hollow_copy, module.parameters()))


def hollow_join(layers: Sequence[nn.Module]) -> nn.Module:
    joined_layer = nn.Linear(1, 1, bias=False)
    rows = sum(layer.weight.shape[0] for layer in layers)
    joined_layer.weight = hollow((rows, layers[0].weight.shape[1]))
    return joined_layer


def hollow_network() -> Network:
    """The shipped sizes in bfloat16."""
    network = Network(Config.from_dict(json.loads(SHIPPED.read_text())))
    emptied(network, mx.bfloat16)
    with mock.patch.object(minicpm4, "join_layers", hollow_join):
        network.join()
    return network


def state(config: Config, rows: int) -> State:
    """Rows between two steps, each with a beginning of its own."""

    def cache(stack: TransformerConfig) -> KVCache:
        shape = (rows, stack.num_kv_heads, round_up(POSITIONS, KVCache.BUCKET), stack.head_dim)
        keys, layer_values = ([hollow(shape) for _ in range(stack.num_layers)] for _ in range(2))
        return KVCache(keys, layer_values, [37 * row % POSITIONS for row in range(rows)], POSITIONS)

    h, r = (hollow((rows, config.base_lm.hidden_size)) for _ in range(2))
    cond = hollow((rows, config.patch_size, config.feat_dim), mx.float32)
    return State(cache(config.base_lm), cache(config.residual_lm), h, r, cond)


def plan(network: Network, rows: int) -> Plan:
    solver_plan = network.feat_decoder.plan([(10, 2.0)] * rows)
    mx.eval(solver_plan.widths, solver_plan.cfg)
    return Plan(hollow(solver_plan.time.shape), solver_plan.widths, solver_plan.cfg)


def parts(network: Network, rows: int, backend: Backend) -> dict[str, int]:
    """Kernels of a step of so many rows."""
    c = network.config
    width, before, solver_plan = c.base_lm.hidden_size, state(c, rows), plan(network, rows)
    patch = hollow((rows, c.patch_size, c.feat_dim), mx.float32)
    e, noise = hollow((rows, 1, width)), hollow((rows, c.feat_dim, c.patch_size), mx.float32)
    drawn = normal((c.feat_dim, c.patch_size))

    def cached_arrays(cache: KVCache) -> list[mx.array]:
        return [*cache.keys, *cache.values]

    return {
        "LocEnc": kernels(network._encode(patch)),
        "base LM": kernels(network.base_lm(e, cache=before.base), *cached_arrays(before.base)),
        "FSQ, fusion": kernels(network._fuse(network.fsq_layer(e), e)),
        "residual LM": kernels(
            network.residual_lm(e, cache=before.residual), *cached_arrays(before.residual)
        ),
        "stops": kernels(network.stops(before)),
        "solver": kernels(network.sample(before, noise, solver_plan)),
        "noise": kernels(mx.stack([drawn(mx.random.key(n)) for n in range(rows)])),
    }


def counted(rows: Sequence[int], backends: Sequence[Backend]) -> dict[str, dict[str, int]]:
    network, counts = hollow_network(), {}
    for backend in backends:
        for count in rows:
            with pretended(backend, compiled=True), fused(backend):
                part_counts = parts(network, count, backend)
            counts[f"{backend} {count}"] = {**part_counts, "all": sum(part_counts.values())}
    return counts


def window() -> int:
    """Kernels of a window of the codec's decoder."""
    vae = AudioVAE(Config.from_dict(json.loads(SHIPPED.read_text())).vae)
    emptied(vae, mx.float32)
    with pretended(compiled=True):
        return kernels(vae.decode(hollow((1, MAX_CHUNK, vae.config.latent_dim), mx.float32)))


def milliseconds(work: Callable[[], Any], rounds: int) -> float:
    def once() -> float:
        began = time.perf_counter()
        work()
        return 1000 * (time.perf_counter() - began)

    return min(once() for _ in range(rounds))


def building(rows: Sequence[int], rounds: int) -> dict[str, dict[str, float]]:
    """Milliseconds of Python and MLX until a step's graph stands: the first time, and then."""
    network, times = hollow_network(), {}
    with pretended(compiled=True):
        for count in rows:
            c = network.config
            patch = hollow((count, c.patch_size, c.feat_dim), mx.float32)
            noise = hollow((count, c.feat_dim, c.patch_size), mx.float32)
            solver_plan, between = plan(network, count), state(c, count)

            def solve(
                between: State = between, noise: mx.array = noise, p: Plan = solver_plan
            ) -> None:
                network.sample(between, noise, p)

            def feed(patch: mx.array = patch, count: int = count) -> None:
                network.feed(state(network.config, count), patch)

            first = milliseconds(lambda f=feed, s=solve: (f(), s()), 1)
            times[str(count)] = {
                "first": first,
                "feed": milliseconds(feed, rounds),
                "solver": milliseconds(solve, rounds),
            }
    return times


def random_shipped() -> VoxCPM2:
    return model_bench.random_model(json.loads(SHIPPED.read_text()), mx.bfloat16)


def timed(rounds: int) -> dict[int, dict[str, float]]:
    """Milliseconds on this machine's GPU: each part alone, and a step as a batch makes it."""
    ours = model_bench.Ours(random_shipped(), "abcdefgh" * 4, 8)
    times_by_rows = {}
    for count in TIMED:
        times = {}
        for name, stage in ours.stages(count).items():
            mx.eval(stage())
            times[name] = milliseconds(lambda run=stage: mx.eval(run()), rounds)
        times_by_rows[count] = {**times, "step": stepped(ours.model, ours.text, count, 4 * rounds)}
    return times_by_rows


def stepped(model: VoxCPM2, text: str, rows: int, steps: int) -> float:
    """Milliseconds of a step among others, the next one built while it runs.

    After as many as there are rows and two: until then numbers of rows are traced between them.
    """
    batch, before = model.batch(slots=rows), rows + 2
    length = before + steps + 1
    going = [
        batch.add(Request(text, seed=seed, min_len=length, max_len=length)) for seed in range(rows)
    ]
    for _ in range(before):
        batch.step()
    mx.eval([row.patches for row in going])
    began = time.perf_counter()
    for _ in range(steps):
        batch.step()
    mx.eval([row.patches for row in going])
    return 1000 * (time.perf_counter() - began) / steps


def float32_parts(rounds: int) -> dict[str, dict[str, float]]:
    """Milliseconds of what is meant to be float32, and how far it is from a CPU's result."""
    model = random_shipped()
    network, vae = model.network, model.vae
    network.join()
    c = model.config
    patch = mx.random.normal((1, c.patch_size, c.feat_dim), key=mx.random.key(1))
    clip = 0.1 * mx.random.normal((1, c.patch_size * vae.config.hop), key=mx.random.key(2))
    hidden = mx.random.normal((8, c.base_lm.hidden_size), key=mx.random.key(3))
    parts: dict[str, Callable[[], mx.array]] = {
        "codec, encoder": lambda: vae.encode(clip),
        "codec, decoder": lambda: vae.decode(patch),
        "stop head": lambda: network.stop_logits(hidden),
    }
    figures = {}
    for name, part in parts.items():
        result_on_gpu = part()
        mx.eval(result_on_gpu)
        times = milliseconds(lambda run=part: mx.eval(run()), rounds)
        with mx.stream(mx.cpu):
            exact = part()
            mx.eval(exact)
        figures[name] = {
            "ms": times,
            "off": float(mx.linalg.norm(result_on_gpu - exact, stream=mx.cpu)),
        }
        figures[name]["off"] /= float(mx.linalg.norm(exact, stream=mx.cpu))
    return figures


def tf32_costs(rounds: int) -> dict[str, dict[str, dict[str, float]]]:
    """`float32_parts` without TF32 and with it: MLX reads that once, so in two processes."""
    costs = {}
    for name, setting in (("float32", "0"), ("TF32", "1")):
        process = subprocess.run(
            [sys.executable, __file__, "--float32-parts", "--rounds", str(rounds)],
            env={**os.environ, TF32: setting},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        costs[name] = json.loads(process.stdout.splitlines()[-1])
    return costs


def show_times(rounds: int) -> dict[str, Any]:
    """Prints the times that only a GPU can measure, and returns them; empty on a CPU."""
    gpu = mx.default_device().type == mx.DeviceType.gpu
    if not gpu:
        print(*predictions.report_lines(None, {}), sep="\n")
        return {}
    report: dict[str, Any] = {"times_ms": timed(rounds)}
    for count, times in report["times_ms"].items():
        times_text = ", ".join(f"{name} {milliseconds:.1f}" for name, milliseconds in times.items())
        print(f"{count} rows, ms: {times_text}; a patch {times['step'] / count:.1f}")
    steps = {count: times["step"] for count, times in report["times_ms"].items()}
    name = predictions.device()
    print(*predictions.report_lines(name, steps), sep="\n")
    report["predictions"] = [asdict(each) for each in predictions.judge_steps(name or "", steps)]
    if mx.cuda.is_available():
        report["tf32"] = tf32_costs(rounds)
        for part, plain in report["tf32"]["float32"].items():
            fast = report["tf32"]["TF32"][part]
            print(
                f"{part}: float32 {plain['ms']:.2f} ms, off by {plain['off']:.0e}; "
                f"TF32 {fast['ms']:.2f} ms, off by {fast['off']:.0e}"
            )
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[1, 8])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--float32-parts", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.float32_parts:
        print(json.dumps(float32_parts(options.rounds)))
        return
    report: dict[str, Any] = {"bench": "kernels", "device": str(mx.default_device())}
    report |= show_times(options.rounds)
    mx.set_default_device(mx.cpu)  # what follows counts and builds, and evaluates nothing
    report["kernels"] = counted(options.rows, ["metal", "cuda"])
    columns = list(report["kernels"])
    print(f"{'kernels a step':16}" + "".join(f"{name:>10}" for name in columns))
    for part in report["kernels"][columns[0]]:
        print(f"{part:16}" + "".join(f"{report['kernels'][name][part]:10}" for name in columns))
    report["window"] = window()
    print(f"and {report['window']} for a window of the codec's decoder")
    report["building_ms"] = building(options.rows, options.rounds)
    print(f"{'ms to build':16}{'first':>10}{'feed':>10}{'solver':>10}")
    for count, times in report["building_ms"].items():
        print(
            f"{count + ' rows':16}"
            + "".join(f"{milliseconds:10.1f}" for milliseconds in times.values())
        )
    print(json.dumps(report))


if __name__ == "__main__":
    main()
