"""CosyVoice2's speed: kernels that a GPU launches, counted; the time of each stage here; a port's.

    python -m benchmarks.cosyvoice [--rows 1 4] [--tokens 28] [--rounds 1] [--count]

Kernels are counted as `kernels.py` does, of the released sizes, without weights: of a step of the
language model (a rotary embedding is one, and so is what finds the likeliest), of one evaluation of
the estimator, of a mel whole and by a stream's chunks, of a window of the vocoder.

Then, unless `--count`, random weights of the released sizes are made (of the texts' vocabulary a
hundredth: its rows are read one by one) and each stage is timed by the number of rows: tokens,
frames and, of the whole, seconds of sound a second. All is float32, as parity has it. On a CPU
seconds are the process's own, with OPENBLAS_NUM_THREADS=1 those of one core; OpenBLAS is ten times
faster than what MLX's wheel for Linux brings, see `model.py`. Where mlx-audio-plus can be imported
(its converter's import of PyTorch is stubbed where there is none), its model of the same sizes runs
in turn with ours, one row, stage by stage: the ratios are of the fastest of each. The last line is
JSON.

It is not called cosyvoice2.py: a script beside it would import that in the package's place.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.metadata
import importlib.util
import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import mlx.core as mx
import mlx.nn as nn
import numpy as np
from mlx.utils import tree_map_with_path

from benchmarks import kernels as counts
from benchmarks.kernels import Backend, emptied, fused, hollow, kernels, milliseconds
from cosyvoice2 import CosyVoice2, Reference, Request
from cosyvoice2 import lm as lm_module
from cosyvoice2.config import (
    MELS,
    Config,
    EncoderConfig,
    EstimatorConfig,
    FlowConfig,
    LMConfig,
    VocoderConfig,
)
from cosyvoice2.estimator import ConditionTerms
from cosyvoice2.flow import STEPS, Flow, FlowRow, FlowState
from cosyvoice2.hift import HiFT
from cosyvoice2.layers import Past, Sight, row_sight
from cosyvoice2.lm import Qwen2LM, RowStates
from cosyvoice2.load import Checkpoint, build_networks
from cosyvoice2.sampler import Heads
from cosyvoice2.source import Noise, excite
from cosyvoice2.vocoder import MelRow, vocode
from speechbase.cache import KVCache, round_up
from tests.voxcpm2.gpu import pretended

RELEASED = Config(
    sample_rate=24_000,
    chunk=25,
    lm=LMConfig(
        hidden_size=896, intermediate_size=4864, num_layers=24, num_heads=14, num_kv_heads=2,
        rms_norm_eps=1e-6, rope_theta=1e6, vocab_size=151936, max_positions=32768,
        speech_tokens=6561, top_p=0.8, top_k=25, win_size=10, tau_r=0.1,
    ),
    flow=FlowConfig(
        vocab_size=6561, speaker_dim=192, guidance=0.7,
        encoder=EncoderConfig(width=512, heads=8, feed_forward=2048, layers=6, chunk=25),
        estimator=EstimatorConfig(
            in_channels=320, channels=256, heads=8, head_dim=64, blocks=4, mid_blocks=12, chunk=50
        ),
    ),
    vocoder=VocoderConfig(
        base_channels=512, harmonics=8, alpha=0.1, sigma=0.003, voiced_threshold=10.0,
        rates=(8, 5, 3), kernels=(16, 11, 7), n_fft=16, hop=4, res_kernels=(3, 7, 11),
        res_dilations=((1, 3, 5),) * 3, source_kernels=(7, 7, 11),
        source_dilations=((1, 3, 5),) * 3, slope=0.1, limit=0.99, f0_channels=512,
        sample_rate=24_000,
    ),
)  # fmt: skip
"""Section 3 of the official settings."""
WINDOW = 192
"""Frames of a vocoder's window that is counted."""
TOKENS, PROMPT = 250, 125
"""Of a row that is counted: 10 s after 5."""
BACKENDS: tuple[Backend, ...] = ("metal", "cuda")


# ---- kernels, counted


def hollow_lm() -> Qwen2LM:
    """The released sizes in bfloat16, without weights."""
    lm = Qwen2LM(RELEASED.lm)
    emptied(lm, mx.bfloat16)
    with mock.patch.object(lm_module, "join_layers", counts.hollow_join):
        lm.join()
    return lm


def between(lm: Qwen2LM, rows: int) -> RowStates:
    """Rows between two steps, each with a beginning of its own."""
    c, positions = lm.config, counts.POSITIONS
    shape = (rows, c.num_kv_heads, round_up(positions, KVCache.BUCKET), c.head_dim)
    keys, layer_values = ([hollow(shape) for _ in range(c.num_layers)] for _ in range(2))
    starts = [37 * row % positions for row in range(rows)]
    return RowStates(KVCache(keys, layer_values, starts, positions), hollow((rows, c.hidden_size)))


@contextlib.contextmanager
def counting(backend: Backend) -> Iterator[None]:
    """As on that backend, a rotary embedding as one node."""

    def rope(x: mx.array, *_: Any, offset: mx.array | int, **__: Any) -> mx.array:
        needs = [offset] if isinstance(offset, mx.array) else []
        return mx.depends([mx.sort(x, axis=-1)], needs)[0] if needs else mx.sort(x, axis=-1)

    with (
        pretended(backend, compiled=True),
        fused(backend),
        mock.patch.object(mx.fast, "rope", rope),
    ):
        yield


def lm_kernels(rows: Sequence[int], backend: Backend) -> dict[int, dict[str, int]]:
    """Of a step, by part, for each number of rows."""
    lm, counts_by_rows = hollow_lm(), {}
    for count in rows:
        with counting(backend):
            lines = between(lm, count)
            lm.step(lines, [0] * count)
            network = kernels(lines.last, *lines.cache.keys, *lines.cache.values)
            logits = lm.decode(hollow((count, RELEASED.lm.hidden_size)))
            heads = Heads.from_logits(logits, [True] * count, RELEASED.lm)
            head = kernels(heads.ids, heads.top_logits, heads.log_total)
        counts_by_rows[count] = {"Qwen2": network, "head": head, "all": network + head}
    return counts_by_rows


def building(rows: int, rounds: int = 20) -> float:
    """Milliseconds of Python and MLX until the graph of a language model's step stands."""
    lm = hollow_lm()
    states = iter([between(lm, rows) for _ in range(rounds)])
    with counting("metal"):
        return milliseconds(lambda: lm.step(next(states), [0] * rows), rounds)


def row(tokens: int, prompt: int, seed: int = 0, config: Config = RELEASED) -> FlowRow:
    draw = np.random.default_rng(seed)
    return FlowRow(
        draw.integers(0, config.flow.vocab_size, tokens),
        draw.integers(0, config.flow.vocab_size, prompt),
        draw.standard_normal((2 * prompt, MELS)).astype(np.float32),
        draw.standard_normal(config.flow.speaker_dim).astype(np.float32),
    )


def hollow_flow(positions: int) -> Flow:
    """The released sizes without weights, and with tables that reach so many positions."""
    flow = Flow(RELEASED.flow)
    emptied(flow, mx.float32)
    flow.join()
    for name in ("encoders", "up_encoders"):
        tables = flow.encoder._distance_tables(name, positions)
        flow.encoder._tables[name] = [hollow(array.shape, mx.float32) for array in tables]
    flow.decoder._plan_steps(STEPS)
    return flow


def hollow_state(flow: Flow, tokens: int) -> FlowState:
    """A stream that has given the frames of so many tokens."""
    state = FlowState(STEPS, tokens)

    def keep(past: Past, layer: nn.Module, shape: tuple[int, ...]) -> None:
        past._arrays[id(layer)] = hollow(shape, mx.float32)

    for rate, layers in ((1, flow.encoder.encoders), (2, flow.encoder.up_encoders)):
        for layer in layers:
            shape = (1, rate * tokens, 2, *layer.self_attn.pos_bias_u.shape)
            keep(state.encoder, layer.self_attn, shape)
    for stage in flow.decoder.estimator.stages:
        for block in stage[1]:
            for past in state.solver:
                keep(past, block.attn1, (2, 2 * tokens, RELEASED.flow.estimator.channels))
    return state


def flow_kernels(
    rows: int, backend: Backend, tokens: int = TOKENS, prompt: int = PROMPT
) -> dict[str, int]:
    """Of each part for so many rows, of so many new tokens after as many of a prompt."""
    flow = hollow_flow(2 * (tokens + prompt))
    estimator, frames = flow.decoder.estimator, 2 * (tokens + prompt)
    alike = [row(tokens, prompt) for _ in range(rows)]
    ragged = [row(tokens - n, prompt) for n in range(rows)]
    # What is begun early would be computed: a mel is counted as what is still to be done.
    begun = mock.patch.object(mx, "async_eval")
    with pretended(backend, compiled=True), fused(backend), begun:
        part = hollow((rows, frames, MELS), mx.float32)
        terms = estimator.condition_terms(part, hollow((rows, MELS), mx.float32), part, guided=True)
        terms = ConditionTerms(
            *(hollow(each.shape, mx.float32) for each in (terms.conv, terms.residual))
        )
        moment = flow.decoder._plan_steps(STEPS)[0][0]
        mx.eval(moment)

        def estimator_kernels(sight: Sight) -> int:
            mx.eval([] if sight.mask is None else [sight.mask])
            return kernels(estimator.velocity(part, terms, moment, sight))

        def mel_kernels(rows: list[FlowRow], streaming: bool = False) -> int:
            return kernels(*flow.mel(rows, streaming=streaming))

        part_counts = {
            "estimator": estimator_kernels(row_sight([frames] * 2 * rows, frames)),
            "mel": mel_kernels(alike),
        }
        if rows > 1:
            part_counts["estimator, ragged"] = estimator_kernels(
                row_sight([frames - 2 * n for n in range(rows)] * 2, frames)
            )
            part_counts["mel, ragged"] = mel_kernels(ragged)
        part_counts["mel, streaming"] = mel_kernels(alike, True)
        chunk = RELEASED.flow.encoder.chunk
        state = hollow_state(flow, prompt // chunk * chunk)
        ids = alike[0].ids[: chunk + 3]
        pushed = flow.push(state, alike[0], ids, finalize=False)
        part_counts["chunk of a stream"] = kernels(
            pushed, *(a for p in state.pasts for a in p.arrays)
        )
    return part_counts


def hollow_vocoder() -> HiFT:
    """The released sizes, laid out as `ready` does, without memory."""
    hift = HiFT(RELEASED.vocoder)
    emptied(hift, mx.float32)
    for up in hift.ups:
        phases = (up.sees * up.weight.shape[2], up.stride * up.weight.shape[0])
        up._phases = hollow(phases, mx.float32)
    return hift


def vocoder_kernels(windows: int, backend: Backend) -> dict[str, int]:
    """Of so many windows side by side, and of a row's pitch and source."""
    hift, config = hollow_vocoder(), RELEASED.vocoder
    mel = hollow((windows, WINDOW, MELS), mx.float32)
    source = hollow((windows, WINDOW * config.frame), mx.float32)
    with pretended(backend, compiled=True):
        return {
            "window": kernels(hift.decode(mel, source)),
            "pitch": kernels(hift.pitch(mel)),
            "source": kernels(excite(hift, np.full(WINDOW, 200.0, np.float32), Noise(hift))),
        }


def all_kernels(rows: Sequence[int]) -> dict[str, dict[str, float]]:
    """Of every part by backend and number of rows; of a mel also by frame."""
    counts: dict[str, dict[str, float]] = {}
    for backend in BACKENDS:
        tokens = lm_kernels(rows, backend)
        for count in rows:
            flow = flow_kernels(count, backend)
            parts: dict[str, float] = {
                "LM, a token": tokens[count]["all"],
                **{f"flow, {part}": number for part, number in flow.items()},
                "flow, a frame of a mel": flow["mel"] / (2 * TOKENS),
                **{f"vocoder, {p}": n for p, n in vocoder_kernels(count, backend).items()},
            }
            counts[f"{backend} {count}"] = parts
    return counts


# ---- times


class Letters:
    """Stands for a tokenizer: an id for each letter."""

    def encode(self, text: str) -> list[int]:
        return [ord(letter) % 100 for letter in text]


def randomised(module: nn.Module) -> None:
    """Values that keep signals finite."""

    def random_values(name: str, array: mx.array) -> mx.array:
        if "norm" in name or "alpha" in name:
            return mx.ones(array.shape)
        scale = math.prod(array.shape[1:]) ** -0.5 if array.ndim > 1 else 0.0
        return scale * mx.random.normal(array.shape)

    module.update(tree_map_with_path(random_values, module.parameters()))
    mx.eval(module.parameters())


def random_model(config: Config) -> CosyVoice2:
    parts = build_networks(config)
    for part in parts:
        randomised(part)
    tokenizer: Any = Letters()
    return CosyVoice2(Checkpoint(config, *parts, tokenizer, Path(), None, "random weights"))


def clock() -> float:
    """Seconds: on a CPU the process's own, which other work changes less."""
    on_cpu = mx.default_device().type == mx.DeviceType.cpu
    return time.process_time() if on_cpu else time.perf_counter()


def fastest(runs: Sequence[Callable[[], object]], rounds: int) -> list[float]:
    """Seconds, the least of some of each, taken in turn."""
    best = [math.inf] * len(runs)
    for _ in range(rounds):
        for place, run in enumerate(runs):
            began = clock()
            mx.eval(run())
            best[place] = min(best[place], clock() - began)
    return best


@dataclass(frozen=True, slots=True)
class Task:
    """The work that is timed: so many tokens after so many of a prompt."""

    tokens: int
    prompt: int
    rounds: int


class Ours:
    """The stages of this package."""

    def __init__(self, model: CosyVoice2, task: Task) -> None:
        self.model, self.task = model, task
        voice_row = row(task.tokens, task.prompt, config=model.config)
        self.voice = Reference(voice_row.prompt_tokens, voice_row.prompt_mel, voice_row.speaker)

    def step(self, rows: int) -> Callable[[], object]:
        """A token of each row, from what was drawn to what may be drawn next."""
        lm = self.model.lm
        lines = lm.prefill([lm.lead([1] * 30, range(self.task.prompt)) for _ in range(rows)])

        def step() -> object:
            lm.step(lines, [1] * rows)
            heads = Heads.from_logits(lm.decode(lines.last), [True] * rows, lm.config)
            return [heads.ids, heads.top_logits, heads.log_total, lines.last]

        mx.eval(step())
        return step

    def flow(self, rows: int) -> Callable[[], object]:
        config = self.model.config
        flow_rows = [row(self.task.tokens, self.task.prompt, n, config) for n in range(rows)]
        return lambda: self.model.flow.mel(flow_rows)

    def vocoder(self, rows: int) -> Callable[[], object]:
        mels = np.random.default_rng(1).standard_normal((rows, 2 * self.task.tokens, MELS))
        return lambda: [len(each) for each in vocode(self.model.vocoder, list(map(MelRow, mels)))]

    def text_to_samples(self, rows: int) -> Callable[[], object]:
        """Rows from text to samples; random weights end by chance, so the length is given."""
        n = self.task.tokens

        def speak() -> object:
            batch = self.model.batch(slots=rows)
            for seed in range(rows):
                batch.add(Request("a" * 30, reference=self.voice, seed=seed, min_len=n, max_len=n))
            speeches = []
            while len(batch):
                speeches += batch.advance()
            assert all(len(speech.tokens) == n for _, speech in speeches)
            return []

        return speak


def by_rows(ours: Ours, rows: int) -> dict[str, float]:
    """Tokens, frames and seconds of sound a second, of so many rows together."""
    task, sound = ours.task, rows * ours.task.tokens / 25
    [step] = fastest([ours.step(rows)], 8 * task.rounds)
    stages = [ours.flow(rows), ours.vocoder(rows), ours.text_to_samples(rows)]
    flow, vocoder, total_seconds = fastest(stages, task.rounds)
    return {
        "LM, tokens": rows / step,
        "flow, frames": 50 * sound / flow,
        "vocoder, frames": 50 * sound / vocoder,
        "whole, seconds of sound": sound / total_seconds,
    }


def streamed(ours: Ours) -> dict[str, float]:
    """Milliseconds of a stream's first and last chunk in the flow, and what it keeps."""
    voice_row = row(max(ours.task.tokens, 28), ours.task.prompt, config=ours.model.config)
    flow = ours.model.flow
    stream, position, chunks = (
        flow.stream(replace(voice_row, tokens=voice_row.tokens[:0])),
        0,
        list[float](),
    )
    while position + stream.missing_tokens <= len(voice_row.tokens):
        part = voice_row.tokens[position : position + stream.missing_tokens]
        chunks.append(milliseconds(lambda s=stream, p=part: mx.eval(s.feed(p)), 1))
        position += len(part)
    return {"first chunk": chunks[0], "last chunk": chunks[-1], "kept, MB": stream.nbytes / 1e6}


# ---- mlx-audio-plus


class Port:
    """The same stages of mlx-audio-plus, which runs one row."""

    def __init__(self, config: Config, task: Task) -> None:
        import mlx_lm.models.qwen2 as qwen2

        self.task, self.config = task, config
        with _without_torch():
            from mlx_audio.codec.models.s3gen.decoder import ConditionalDecoder
            from mlx_audio.codec.models.s3gen.flow import CausalMaskedDiffWithXvec
            from mlx_audio.codec.models.s3gen.transformer import UpsampleConformerEncoder
            from mlx_audio.tts.models.cosyvoice2 import cosyvoice2 as port
            from mlx_audio.tts.models.cosyvoice2 import flow_matching
            from mlx_audio.tts.models.cosyvoice2.hifigan import CosyHiFTGenerator
        c = config.lm
        arguments = qwen2.ModelArgs(
            model_type="qwen2", hidden_size=c.hidden_size, num_hidden_layers=c.num_layers,
            intermediate_size=c.intermediate_size, num_attention_heads=c.num_heads,
            rms_norm_eps=c.rms_norm_eps, vocab_size=c.vocab_size,
            num_key_value_heads=c.num_kv_heads, rope_theta=c.rope_theta,
        )  # fmt: skip
        self.lm = port.Qwen2LM(llm=port.Qwen2Encoder(qwen2.Model(arguments)))
        s = port.CosyVoice2Config().flow
        encoder = UpsampleConformerEncoder(
            **{
                name.removeprefix("encoder_"): setting
                for name, setting in vars(s).items()
                if name.startswith("encoder_") and name != "encoder_cnn_module_kernel"
            }
        )
        estimator = ConditionalDecoder(
            in_channels=s.decoder_in_channels, out_channels=s.decoder_out_channel,
            channels=s.decoder_channels, dropout=0.0, n_blocks=s.decoder_n_blocks,
            attention_head_dim=s.decoder_attention_head_dim, num_heads=s.decoder_num_heads,
            num_mid_blocks=s.decoder_num_mid_blocks, act_fn=s.decoder_act_fn,
            static_chunk_size=s.decoder_static_chunk_size,
            num_decoding_left_chunks=s.decoder_num_decoding_left_chunks,
        )  # fmt: skip
        solver = flow_matching.CosyVoice2ConditionalCFM(
            in_channels=s.cfm_in_channels, cfm_params=flow_matching.CFM_PARAMS, n_spks=1,
            spk_emb_dim=s.output_size, estimator=estimator,
        )  # fmt: skip
        self.net = CausalMaskedDiffWithXvec(
            input_size=s.input_size, output_size=s.output_size, spk_embed_dim=s.spk_embed_dim,
            vocab_size=s.vocab_size, input_frame_rate=s.input_frame_rate,
            token_mel_ratio=s.token_mel_ratio, pre_lookahead_len=s.pre_lookahead_len,
            n_timesteps=s.n_timesteps, encoder=encoder, decoder=solver,
        )  # fmt: skip
        v = config.vocoder
        self.hift = CosyHiFTGenerator(
            in_channels=MELS, base_channels=v.base_channels, nb_harmonics=v.harmonics,
            sampling_rate=v.sample_rate, upsample_rates=list(v.rates),
            upsample_kernel_sizes=list(v.kernels),
            istft_params={"n_fft": v.n_fft, "hop_len": v.hop},
            resblock_kernel_sizes=list(v.res_kernels),
            resblock_dilation_sizes=[list(each) for each in v.res_dilations],
            source_resblock_kernel_sizes=list(v.source_kernels),
            source_resblock_dilation_sizes=[list(each) for each in v.source_dilations],
        )  # fmt: skip
        for part in (self.lm, self.net, self.hift):
            part.eval()
            randomised(part)

    def step(self) -> Callable[[], object]:
        lm, width = self.lm, self.config.lm.hidden_size
        lead = mx.random.normal((1, 32 + self.task.prompt, width))
        _, cache = lm.llm.forward_one_step(lead)

        def step() -> object:
            x = lm.speech_embedding.weight[1].reshape(1, 1, -1)
            hidden, _ = lm.llm.forward_one_step(x, cache=cache)
            # Up to its sampling, which sorts all ids on the device; ours finds the likeliest.
            return mx.log(mx.softmax(lm.llm_decoder(hidden[:, -1]), axis=-1))

        mx.eval(step())
        return step

    def flow(self) -> Callable[[], object]:
        flow_row = row(self.task.tokens, self.task.prompt, config=self.config)
        arrays = (flow_row.tokens, flow_row.prompt_tokens, flow_row.prompt_mel, flow_row.speaker)
        token, prompt, mel, speaker = (mx.array(each)[None] for each in arrays)
        lengths = [mx.array([each.shape[1]]) for each in (token, prompt, mel)]
        return lambda: self.net.inference(
            token, lengths[0], prompt, lengths[1], mel, lengths[2], speaker, True
        )[0]

    def vocoder(self) -> Callable[[], object]:
        mel = np.random.default_rng(1).standard_normal((1, MELS, 2 * self.task.tokens))
        return lambda: self.hift(mx.array(mel.astype(np.float32)))[0]


@contextlib.contextmanager
def _without_torch() -> Iterator[None]:
    """Its converter imports torch with the model, which does not need it."""
    if importlib.util.find_spec("torch") is not None:
        yield
        return
    import transformers  # noqa: F401  # asks whether there is a torch

    stub: Any = ModuleType("torch")
    stub.Tensor = type("Tensor", (), {})
    with mock.patch.dict(sys.modules, {"torch": stub}):
        yield


def against(ours: Ours, port: Port) -> dict[str, dict[str, float]]:
    """Milliseconds of one row in both, and how many times as fast ours is."""
    stages = {
        "LM step": (ours.step(1), port.step(), 8),
        "flow": (ours.flow(1), port.flow(), 1),
        "vocoder": (ours.vocoder(1), port.vocoder(), 1),
    }
    comparison = {}
    for name, (mine, theirs, times) in stages.items():
        a, b = fastest([mine, theirs], times * ours.task.rounds)
        comparison[name] = {"ours": 1000 * a, "port": 1000 * b, "times as fast": b / a}
    return comparison


# ---- what is said


def table(title: str, columns: dict[Any, dict[str, float]], digits: int = 1) -> None:
    names = dict.fromkeys(name for column in columns.values() for name in column)
    print(f"\n{title:26}" + "".join(f"{column!s:>14}" for column in columns))
    for name in names:
        cells = (column.get(name) for column in columns.values())
        texts = ("-" if cell is None else f"{cell:.{digits * (cell % 1 != 0)}f}" for cell in cells)
        print(f"{name:26}" + "".join(f"{cell:>14}" for cell in texts))


def timed(config: Config, rows: Sequence[int], task: Task) -> dict[str, Any]:
    ours, figures = Ours(random_model(config), task), dict[str, Any]()
    if importlib.util.find_spec("mlx_audio"):
        with contextlib.suppress(ImportError):
            figures["port"] = importlib.metadata.version("mlx-audio-plus")
            figures["against"] = against(ours, Port(config, task))
            table(f"ms, mlx-audio-plus {figures['port']}", figures["against"], 2)
    figures["by_rows"] = {count: by_rows(ours, count) for count in rows}
    table("a second, by rows", figures["by_rows"], 2)
    figures["stream"] = streamed(ours)
    print(", ".join(f"{name} {figure:.0f}" for name, figure in figures["stream"].items()))
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--tokens", type=int, default=28)
    parser.add_argument("--prompt", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--count", action="store_true", help="count kernels alone")
    options = parser.parse_args()
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    report: dict[str, Any] = {
        "bench": "cosyvoice2",
        "device": str(mx.default_device()),
        "cores": os.cpu_count(),
        "mlx": importlib.metadata.version("mlx"),
        "tokens": options.tokens,
        "prompt": options.prompt,
    }
    if not options.count:
        config = replace(RELEASED, lm=replace(RELEASED.lm, vocab_size=1500))
        task = Task(options.tokens, options.prompt, options.rounds)
        report |= timed(config, options.rows, task)
    mx.set_default_device(mx.cpu)  # what follows counts, and evaluates nothing
    counted = (1, 8)
    report["kernels"] = all_kernels(counted)
    table("kernels", report["kernels"], 2)
    report["building_ms"] = {count: building(count) for count in counted}
    build_times = ", ".join(f"{n} rows {ms:.1f}" for n, ms in report["building_ms"].items())
    print(f"ms to build a step of the LM: {build_times}")
    print(json.dumps(report))


if __name__ == "__main__":
    main()
