"""The model's speed: patches per second by batch size, each stage alone, and the public MLX port.

    python -m benchmarks.model [CHECKPOINT] [--shipped] [--dtype bfloat16] [--batches 1 2 4 8]

Without a checkpoint, a random model of middle size, or of the shipped sizes, which the first lines
state; random weights are as fast as trained ones. Where mlx-audio can be imported (`pip install
--no-deps mlx-audio` and what its VoxCPM2 imports), its model of the same sizes runs in turn with
ours, stage by stage, and the ratios are of the fastest of each: other work slows both.

On a Linux CPU, MLX's wheel carries the reference BLAS, which is ten times slower than OpenBLAS:

    apt-get install libopenblas0-pthread
    LD_PRELOAD=/usr/lib/x86_64-linux-gnu/openblas-pthread/libblas.so.3 python -m benchmarks.model

Peak memory is MLX's own count, weights included. The last line is JSON; its `step_seconds`, of one
step of so many rows, are what `slots.py --costs` reads.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import math
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mlx.core as mx
import mlx.nn as nn
import numpy as np
from mlx.utils import tree_flatten, tree_map_with_path

import voxcpm2
from speechbase.weights import parse_dtype
from voxcpm2 import Request, VoxCPM2
from voxcpm2.audio_vae import AudioVAE
from voxcpm2.config import Config
from voxcpm2.load import Checkpoint, read_config
from voxcpm2.model import Network
from voxcpm2.prompt import Text, build_tokens

SHIPPED = Path(__file__).parent.parent / "tests" / "golden" / "shipped_config.json"
TOKENS = 32
"""Of the text, with random weights."""
CLIP = 2
"""Seconds of audio that are encoded."""


def middle() -> dict[str, Any]:
    """config.json of a model half as wide and half as deep as the shipped one."""
    config = json.loads(SHIPPED.read_text())
    config["lm_config"] |= {
        "hidden_size": 1024,
        "intermediate_size": 3072,
        "num_attention_heads": 8,
        "num_hidden_layers": 14,
        "vocab_size": 8192,
    }
    config["residual_lm_num_layers"] = 4
    for name in ("encoder_config", "dit_config"):
        config[name] |= {"hidden_dim": 512, "ffn_dim": 2048, "num_heads": 8, "num_layers": 6}
    config["audio_vae_config"] |= {"encoder_dim": 64, "decoder_dim": 1024}
    return config


class Letters:
    """Stands for a tokenizer: an id for each letter."""

    def encode(self, text: str) -> list[int]:
        return [200 + ord(letter) for letter in text]

    # mlx-audio's words for the same
    def tokenize(self, text: str) -> list[str]:
        return list(text)

    def convert_tokens_to_ids(self, tokens: Iterable[str]) -> list[int]:
        return [200 + ord(token) for token in tokens]


def randomise(module: nn.Module, dtype: mx.Dtype) -> None:
    """Values that keep signals finite; the codec stays float32, as both have it."""

    def random_values(name: str, array: mx.array) -> mx.array:
        if not mx.issubdtype(array.dtype, mx.floating):
            return array
        scale = math.prod(array.shape[1:]) ** -0.5 if array.ndim > 1 else 0.0
        centre = 1.0 if "norm" in name or "alpha" in name else 0.0
        random_array = centre + (0 if centre else scale) * mx.random.normal(array.shape)
        return random_array.astype(mx.float32 if name.startswith("audio_vae") else dtype)

    module.update(tree_map_with_path(random_values, module.parameters()))
    mx.eval(module.parameters())


def random_model(config_json: dict[str, Any], dtype: mx.Dtype) -> VoxCPM2:
    config = Config.from_dict(config_json)
    network, vae = Network(config), AudioVAE(config.vae)
    randomise(network, dtype)
    randomise(vae, mx.float32)
    tokenizer: Any = Letters()
    return VoxCPM2(
        Checkpoint(config, network, vae, tokenizer, Path(), None, dtype, "random weights")
    )


def size(module: nn.Module) -> int:
    """Bytes of weights."""
    return sum(array.nbytes for _, array in tree_flatten(module.parameters()))


Stage = Callable[[], Any]


class Ours:
    """The stages of this package."""

    def __init__(self, model: VoxCPM2, text: str, patches: int) -> None:
        self.model, self.text, self.patches = model, text, patches
        self.weights = size(model.network) + size(model.vae)

    def stages(self, rows: int) -> dict[str, Stage]:
        """Functions that do one stage for so many rows and return arrays to evaluate."""
        network, config = self.model.network, self.model.config
        shape = (config.patch_size, config.feat_dim)
        tokens = build_tokens([Text(self.model.tokenize(self.text))], shape)
        state = network.prefill([tokens] * rows, [None] * rows)
        plan = network.feat_decoder.plan([(10, 2.0)] * rows)
        noise = mx.random.normal((rows, *shape[::-1]), key=mx.random.key(1))
        patch = network.sample(state, noise, plan)
        mx.eval(state.h, state.r, patch)

        def prefill() -> Any:
            prefilled = network.prefill([tokens] * rows, [None] * rows)
            return prefilled.h, prefilled.r

        def step() -> Any:
            network.feed(state, patch)
            return state.h, state.r

        return {
            "prefill": prefill,
            "LM step": step,
            "solver": lambda: network.sample(state, noise, plan),
        }

    def codec(self) -> dict[str, Stage]:
        vae, config = self.model.vae, self.model.config
        clip = 0.1 * mx.random.normal((1, CLIP * vae.config.sample_rate), key=mx.random.key(2))
        frames = (1, self.patches * config.patch_size, config.feat_dim)
        latents = mx.random.normal(frames, key=mx.random.key(3))
        return {"VAE encode": lambda: vae.encode(clip), "VAE decode": lambda: vae.decode(latents)}

    def speak(self) -> Any:
        """One row, from text to samples."""
        n = self.patches
        speech = self.model.generate(self.text, seed=1, min_len=n, max_len=n)
        assert len(speech.latents) == n
        return speech.samples

    def speak_rows(self, rows: int) -> tuple[float, float]:
        """So many rows together: seconds of the steps after the first, and of everything."""
        batch, n = self.model.batch(slots=rows), self.patches
        began = time.perf_counter()
        added = [
            batch.add(Request(self.text, seed=seed, min_len=n, max_len=n)) for seed in range(rows)
        ]
        batch.step()
        mx.eval([row.patches for row in added])
        first = time.perf_counter()  # prompts are read, a patch of each row is made
        while len(batch):
            batch.step()
        mx.eval([row.patches for row in added])
        last = time.perf_counter()
        for row in added:
            self.model.decode(np.array(mx.stack(row.patches)))
        return last - first, time.perf_counter() - began


class Port:
    """The same stages of mlx-audio's VoxCPM2, which runs one row."""

    def __init__(
        self, config_json: dict[str, Any], dtype: mx.Dtype, text: str, patches: int
    ) -> None:
        from mlx_audio.tts.models.voxcpm2.voxcpm2 import Model, ModelArgs

        self.model = Model(ModelArgs.from_dict(config_json))
        randomise(self.model, dtype)
        self.model.tokenizer = Letters()
        self.text, self.patches = text, patches
        self.weights = size(self.model)

    def stages(self) -> dict[str, Stage]:
        model = self.model
        ids = [*self.model._tokenize(self.text), model.audio_start_token]
        width = model.args.lm_config.hidden_size
        shape = (1, len(ids), model.patch_size, model.feat_dim)

        def prefill() -> Any:
            e = model.enc_to_lm_proj(model.feat_encoder(mx.zeros(shape)))
            x = model.base_lm.embed_tokens(mx.array(ids)[None]) + 0 * e
            y, base = model.base_lm(x)
            y = model.fsq_layer(y) * 0 + y
            z, residual = model.residual_lm(model.fusion_concat_proj(mx.concatenate([y, e], -1)))
            return y[:, -1], z[:, -1], base, residual

        _, _, base, residual = prefill()
        patch = mx.random.normal((1, 1, *shape[2:]), key=mx.random.key(1))
        mu = mx.random.normal((1, 2 * model.args.dit_config.hidden_dim), key=mx.random.key(2))
        mx.eval(base, residual, patch, mu)

        def step() -> Any:
            e = model.enc_to_lm_proj(model.feat_encoder(patch))
            y, _ = model.base_lm(inputs_embeds=e, cache=base)
            h = model.fsq_layer(y[:, -1, :])
            fused = model.fusion_concat_proj(mx.concatenate([h[:, None], e], axis=-1))
            assert fused.shape[-1] == width
            return model.residual_lm(inputs_embeds=fused, cache=residual)[0]

        def solver() -> Any:
            return model.feat_decoder.sample(
                mu=mu, n_timesteps=10, patch_size=model.patch_size,
                cond=patch[0].transpose(0, 2, 1), cfg_value=2.0,
            )  # fmt: skip

        return {"prefill": prefill, "LM step": step, "solver": solver}

    def codec(self) -> dict[str, Stage]:
        vae, rate = self.model.audio_vae, self.model._encode_sample_rate
        clip = 0.1 * mx.random.normal((1, 1, CLIP * rate), key=mx.random.key(2))
        frames = (1, self.patches * self.model.patch_size, self.model.feat_dim)
        latents = mx.random.normal(frames, key=mx.random.key(3))
        return {
            "VAE encode": lambda: vae.encode(clip, rate),
            "VAE decode": lambda: vae.decode(latents),
        }

    def speak(self) -> Any:
        n = self.patches
        # It stops after more than min_tokens steps; max_tokens bounds it.
        [speech] = self.model.generate(self.text, min_tokens=n, max_tokens=n)
        return speech.audio


def seconds(stages: Iterable[Stage], rounds: int) -> list[float]:
    """The fastest of some runs of each, taken in turn."""
    stages = list(stages)
    best = [math.inf] * len(stages)
    for _ in range(rounds):
        for i, stage in enumerate(stages):
            began = time.perf_counter()
            mx.eval(stage())
            best[i] = min(best[i], time.perf_counter() - began)
    return best


def peak(run: Stage, weights: int) -> float:
    """Megabytes that MLX held at most during a run, of all weights those of one model."""
    mx.clear_cache()
    others = mx.get_active_memory() - weights
    mx.reset_peak_memory()
    mx.eval(run())
    return (mx.get_peak_memory() - others) / 1e6


@dataclass
class Figures:
    """Everything measured; seconds, megabytes, patches per second."""

    stages: dict[str, dict[str, float]] = field(default_factory=dict)
    batches: dict[int, dict[str, float]] = field(default_factory=dict)
    peak_mb: dict[str, float] = field(default_factory=dict)
    ratios: dict[str, float] = field(default_factory=dict)


def compare(ours: Ours, port: Port | None, rounds: int) -> Figures:
    """One row of both, stage by stage, in turn."""
    figures = Figures()
    mine = {**ours.stages(1), **ours.codec(), "text to samples": ours.speak}
    theirs = {}
    if port is not None:
        theirs = {**port.stages(), **port.codec(), "text to samples": port.speak}
    for name, stage in mine.items():
        if port is None:
            figures.stages[name] = {"ours": seconds([stage], rounds)[0]}
        else:
            a, b = seconds([stage, theirs[name]], rounds)
            figures.stages[name] = {"ours": a, "mlx_audio": b}
            figures.ratios[name] = b / a
    figures.peak_mb["ours, one row"] = peak(ours.speak, ours.weights)
    if port is not None:
        figures.peak_mb["mlx_audio, one row"] = peak(port.speak, port.weights)
    return figures


def measure_batches(ours: Ours, sizes: list[int], rounds: int, figures: Figures) -> None:
    n = ours.patches
    for rows in sizes:
        stages = ours.stages(rows)
        figures.batches[rows] = dict(zip(stages, seconds(stages.values(), rounds), strict=True))
    runs: dict[int, list[tuple[float, float]]] = {rows: [] for rows in sizes}
    for _ in range(max(1, rounds - 1)):
        for rows in sizes:
            runs[rows].append(ours.speak_rows(rows))
    for rows in sizes:
        step_seconds, total_seconds = (min(column) for column in zip(*runs[rows], strict=True))
        figures.batches[rows]["patches_per_second"] = rows * (n - 1) / step_seconds
        figures.batches[rows]["text_to_samples"] = rows * n / total_seconds
    most_rows, one_row = sizes[-1], figures.batches[sizes[0]]
    figures.peak_mb[f"ours, {most_rows} rows"] = peak(
        lambda: ours.speak_rows(most_rows), ours.weights
    )
    for name in ("patches_per_second", "text_to_samples"):
        ratio = figures.batches[most_rows][name] / one_row[name]
        figures.ratios[f"{most_rows} rows to {sizes[0]}, {name}"] = ratio


def describe(config: Config, weights: int) -> str:
    lm, dit = config.base_lm, config.dit
    return (
        f"LM {lm.num_layers} x {lm.hidden_size} (feed-forward {lm.intermediate_size}), residual LM "
        f"{config.residual_lm.num_layers}, LocEnc {config.encoder.num_layers} and LocDiT "
        f"{dit.num_layers} x {dit.hidden_size}, VAE {config.vae.encoder_dim} to "
        f"{config.vae.decoder_dim} channels; {weights / 1e6:.0f} MB of weights"
    )


def show(figures: Figures, patches: int) -> None:
    print(f"\n{'one row':16} {'ours ms':>9} {'port ms':>9} {'ratio':>6}")
    for name, times in figures.stages.items():
        theirs = f"{1000 * times['mlx_audio']:.1f}" if "mlx_audio" in times else "-"
        ratio = f"{figures.ratios[name]:.2f}" if name in figures.ratios else "-"
        print(f"{name:16} {1000 * times['ours']:9.1f} {theirs:>9} {ratio:>6}")
    print(f"VAE encode: {CLIP} s of audio; VAE decode and text to samples: {patches} patches")
    print(f"\n{'':4} {'ms a step of all rows':>31}  {'patches per second':>22}")
    print(f"rows {'prefill':>11} {'LM':>9} {'solver':>9}  {'steps':>10} {'whole':>11}")
    for rows, row in figures.batches.items():
        print(
            f"{rows:4} {1000 * row['prefill']:11.1f} {1000 * row['LM step']:9.1f} "
            f"{1000 * row['solver']:9.1f}  {row['patches_per_second']:10.2f} "
            f"{row['text_to_samples']:11.2f}"
        )
    print("steps: prefill and decoding left out; whole: text to samples")
    for name, ratio in figures.ratios.items():
        if "rows" in name:
            print(f"{name}: {ratio:.2f} times")
    print("peak memory: " + ", ".join(f"{k} {v:.0f} MB" for k, v in figures.peak_mb.items()))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "checkpoint", nargs="?", type=Path, help="a directory; none: random weights"
    )
    parser.add_argument("--shipped", action="store_true", help="random weights, as many as shipped")
    parser.add_argument("--dtype", help="float32 unless said; of a checkpoint, its own")
    parser.add_argument("--batches", nargs="+", type=int, default=[1, 2, 4, 8])
    parser.add_argument("--patches", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()

    if options.checkpoint is None:
        config_json = json.loads(SHIPPED.read_text()) if options.shipped else middle()
        dtype = parse_dtype(options.dtype or "float32")
        model, text = random_model(config_json, dtype), "a" * TOKENS
    else:
        config_json = read_config(options.checkpoint)
        model = voxcpm2.load(options.checkpoint, dtype=options.dtype)
        dtype = model.network.dtype
        text = ("This is a test of how fast speech is made. " * 5)[:200]
    ours = Ours(model, text, options.patches)
    port = None
    versions = {"mlx": importlib.metadata.version("mlx")}
    if importlib.util.find_spec("mlx_audio") and not model.config.first_generation:
        config_json.pop("quantization", None)
        port = Port(config_json, dtype, text, options.patches)
        versions["mlx_audio"] = importlib.metadata.version("mlx-audio")
    print(describe(model.config, ours.weights))
    print(f"{mx.default_device()}, {str(dtype).removeprefix('mlx.core.')}, {versions}")

    figures = compare(ours, port, options.rounds)
    port = None  # its weights make room
    measure_batches(ours, sorted(options.batches), options.rounds, figures)
    show(figures, options.patches)
    report = {
        "bench": "model",
        "sizes": describe(model.config, ours.weights),
        "device": str(mx.default_device()),
        "dtype": str(dtype),
        "cores": os.cpu_count(),
        "versions": versions,
        "stages_s": figures.stages,
        "batches": figures.batches,
        "step_seconds": {
            rows: rows / row["patches_per_second"] for rows, row in figures.batches.items()
        },
        "peak_mb": figures.peak_mb,
        "ratios": figures.ratios,
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
