"""Kokoro-82M's kernels on a GPU, counted; with weights, its speed and memory here.

    python -m benchmarks.kokoro_kernels [--rows 1 8] [--tokens 100] [--weights FOLDER]

Kernels are counted as `kernels.py` does, of the released sizes, without weights; a token takes 2.5
frames, which is common. Rows are of the given tokens and, where there are several, ragged. With
`--weights` three sentences are spoken in each precision, one row at a time: the process's own
seconds for a second of speech, and MLX's peak of memory beside the weights. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import mlx.core as mx
import numpy as np

import kokoro82m
from benchmarks.kernels import Backend, emptied, fused, hollow, kernels
from kokoro82m.config import AlbertConfig, Config, GeneratorConfig
from kokoro82m.generator import UpConv
from kokoro82m.layers import Rows
from kokoro82m.network import DecoderInput, Network, Widths
from tests.voxcpm2.gpu import pretended

RELEASED = Config(
    vocabulary={},
    num_tokens=178,
    hidden_size=512,
    style_size=128,
    num_layers=3,
    max_duration=50,
    text_kernel=5,
    albert=AlbertConfig(768, 12, 2048, 512, 12),
    generator=GeneratorConfig(512, (10, 6), (3, 7, 11), ((1, 3, 5),) * 3, 20),
)
WIDTHS = Widths(embedding=128, decoder=1024, residual=64)
FRAMES = 2.5
"""Of a token."""
PHONEMES = (
    "ðə ɹˈAn hæd stˈɑpt bəfˈɔɹ wi ɹˈiʧt ðə bɹˈɪʤ.",
    "ˌI nˈɛvəɹ nˈu ɪt wʌz sˌO lˈAt!",
    "həlˈO, wˈɜɹld.",
)


def hollow_network() -> Network:
    network = Network(RELEASED, WIDTHS)
    emptied(network, mx.float32)
    for module in network.modules():
        if isinstance(module, UpConv):
            module._groups = hollow(module._groups.shape, mx.float32)
    return network


def count_parts(network: Network, rows: int, tokens: int, backend: Backend) -> dict[str, int]:
    """Kernels of each part, rows side by side."""

    def zeros(*shape: int) -> mx.array:
        return hollow((rows, *shape), mx.float32)

    def ragged(longest: int) -> Rows:
        rows_of = Rows([max(1, round(longest * (1 - 0.07 * n))) for n in range(rows)], longest)
        mx.eval(rows_of.mask, rows_of.ends)
        return rows_of

    steps, frames = ragged(tokens), ragged(round(tokens * FRAMES))
    size, style = frames.size, zeros(1, 256)
    ids = hollow((rows, tokens), mx.int32)
    with pretended(backend, compiled=True), fused(backend):
        encoded = network.encode(ids, style, steps)
        f0, energy = network.curves(zeros(size, 640), style, frames)
        silence = np.zeros((rows, 2 * size), np.float32)
        spectrum = network.source(silence, zeros(600 * size), frames)
        curve = zeros(2 * size, 1)
        empty = zeros(*spectrum.shape[1:])
        inputs = DecoderInput(zeros(size, 512), curve, curve, empty, style, frames)
        return {
            "PLBERT": kernels(network.bert_encoder(network.bert(ids, steps))),
            "PLBERT, durations, text": kernels(
                encoded.prosody, encoded.text, encoded.duration_logits
            ),
            "F0 and energy": kernels(f0, energy),
            "source": kernels(spectrum),
            "decoder": kernels(network.decode(inputs)),
        }


def count_all(rows: Sequence[int], tokens: int) -> dict[str, dict[str, int]]:
    network, counts = hollow_network(), {}
    backends: tuple[Backend, ...] = ("metal", "cuda")
    for backend in backends:
        for number in rows:
            parts = count_parts(network, number, tokens, backend)
            total = sum(parts.values()) - parts["PLBERT"]
            counts[f"{backend} {number}"] = {**parts, "all": total}
    return counts


def measure(folder: Path, dtype: str) -> dict[str, float]:
    """Seconds of the process and megabytes, of three sentences one by one."""
    model = kokoro82m.load(folder, dtype)
    voice = kokoro82m.load_voice(folder, "af_heart")
    requests = [
        kokoro82m.Request(kokoro82m.tokenize(each), kokoro82m.style_row(voice, each))
        for each in PHONEMES
    ]
    weights = mx.get_active_memory()
    mx.reset_peak_memory()
    began = time.process_time()
    speech = model.speak(requests)
    seconds = time.process_time() - began
    return {
        "weights, MB": weights / 1e6,
        "peak beside them, MB": (mx.get_peak_memory() - weights) / 1e6,
        "longest, frames": float(max(each.durations.sum() for each in speech)),
        "seconds a second": seconds * model.sample_rate / sum(len(s.samples) for s in speech),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[1, 8])
    parser.add_argument("--tokens", type=int, default=100)
    parser.add_argument("--weights", type=Path)
    options = parser.parse_args()
    counts = count_all(options.rows, options.tokens)
    print(f"{'kernels':28}" + "".join(f"{column:>10}" for column in counts))
    for part in next(iter(counts.values())):
        print(f"{part:28}" + "".join(f"{column[part]:10}" for column in counts.values()))
    result: dict[str, Any] = {"bench": "kokoro82m", "kernels": counts}
    if options.weights:
        result["here"] = {
            dtype: measure(options.weights, dtype) for dtype in ("float32", "float16", "bfloat16")
        }
        for dtype, figures in result["here"].items():
            print(dtype, ", ".join(f"{name} {value:.2f}" for name, value in figures.items()))
    print(json.dumps(result))


if __name__ == "__main__":
    main()
