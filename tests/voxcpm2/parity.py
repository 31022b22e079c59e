"""Ours against the official implementation, where every value is new: weights, texts, recordings
and noise are drawn from a fresh seed, which is printed.

    make parity
    python tests/voxcpm2/parity.py [--seed N] [--only base v1]

Five small checkpoints with the sizes of `tests/golden` are written in the layouts that exist. Both
implementations run on them in float32: part by part, then whole calls in every mode, from text and
file to samples, with the same noise. The table shows the largest error of each part, a second one
what bfloat16 costs in each (`precision.py`); the last line is JSON; the exit status is 1 where an
error is above its tolerance.

A case is drawn anew where float32's own errors decide: upstream comes within 1e-4 of a rounding tie
or within 1e-3 of one between going on and stopping, or its own patches move by 5e-5 when the noise
moves by 1e-6. How many were is printed. Needs what `upstream.py` needs.
"""

from __future__ import annotations

import argparse
import json
import math
import secrets
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np
import precision
import soundfile
import torch
from upstream import Made, Recording, Upstream, injected, make
from voxcpm.modules.minicpm4.config import MiniCPM4Config
from voxcpm.modules.minicpm4.model import MiniCPMLongRoPE

import voxcpm2
from speechbase import audio as audio_in
from speechbase.cache import KVCache
from voxcpm2 import Prompt, Request, VoxCPM2
from voxcpm2.config import Config
from voxcpm2.convert import convert
from voxcpm2.generate import Row
from voxcpm2.minicpm4 import MiniCPM4, rope_table
from voxcpm2.prompt import build_segments, build_tokens, spoken_text

GOLDEN = Path(__file__).parent.parent / "golden"
VARIANTS = ("base", "bf16", "stress", "square", "v1")
PICKLED = ("stress", "v1")  # their weights, VAE and LoRA are written by torch.save

RELATIVE, LATENTS, PATCHES, SAMPLES = 1e-5, 1e-4, 1e-4, 2e-4
COMPONENTS = {
    "tokenizer, texts that differ": 0,
    "embedding": RELATIVE,
    "rotary tables": 1e-6,
    "base LM, prefill": RELATIVE,
    "base LM, cached steps": RELATIVE,
    "residual LM, prefill": RELATIVE,
    "residual LM, cached steps": RELATIVE,
    "LocEnc and projection": RELATIVE,
    "FSQ": RELATIVE,
    "stop head": RELATIVE,
    "LocDiT": RELATIVE,
    "sampler": RELATIVE,
    "VAE encoder": LATENTS,
    "VAE decoder": SAMPLES,
    "resampled recordings": 1e-5,
    "ids, masks, caps that differ": 0,
    "encoded latents": LATENTS,
}
MODES = (
    "zero_shot",
    "zero_shot_zh",
    "voice_design",
    "continuation",
    "continuation_short",
    "max_len",
    "min_len",
)
REFERENCE_MODES = ("reference", "controllable", "ref_continuation", "ref_continuation_short")


class Report:
    """The largest error of each part and variant."""

    def __init__(self) -> None:
        self.errors: dict[str, dict[str, float]] = {}
        self.tolerances: dict[str, float] = dict(COMPONENTS)
        self.precision: list[precision.HalfCosts] = []
        self.redrawn = 0
        self.variant = ""

    def add(self, part: str, error: float, tolerance: float | None = None) -> None:
        if tolerance is not None:
            self.tolerances[part] = tolerance
        column = self.errors.setdefault(part, {})
        column[self.variant] = max(error, column.get(self.variant, 0))

    def above(self) -> list[str]:
        return [
            f"{part} ({variant})"
            for part, column in self.errors.items()
            for variant, error in column.items()
            if not error <= self.tolerances[part]
        ] + [
            f"bfloat16, {part.part}"
            for part in self.precision
            if not part.ratio <= precision.FACTOR
        ]

    def print(self, variants: list[str]) -> None:
        print(f"{'largest error':<34}" + "".join(f"{v:>10}" for v in variants) + " tolerance")
        for part, column in self.errors.items():
            cells = "".join(
                f"{column[v]:>9.1e}{' ' if column[v] <= self.tolerances[part] else '!'}"
                if v in column
                else f"{'-':>9} "
                for v in variants
            )
            tolerance = self.tolerances[part]
            print(f"{part:<34}{cells}{'-' if tolerance == math.inf else f'{tolerance:.0e}':>10}")


def distance(found: Any, expected: Any) -> float:
    """Largest absolute difference; infinite where shapes differ."""
    found, expected = np.asarray(found), np.asarray(expected)
    if found.shape != expected.shape:
        return math.inf
    return float(np.abs(found - expected).max(initial=0))


def relative(found: Any, expected: Any) -> float:
    """Largest difference over largest value."""
    return distance(found, expected) / float(np.abs(np.asarray(expected)).max())


# ---- part by part


def normal(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape, np.float32)


def compare_components(
    model: VoxCPM2, upstream: Upstream, rng: np.random.Generator, report: Report
) -> None:
    """Random inputs of random sizes through each part of both."""
    ours, theirs, config = model.network, upstream.model, model.config
    width, patch = config.base_lm.hidden_size, (config.patch_size, config.feat_dim)

    words = Words(rng)
    texts = [words.jumble() for _ in range(300)]
    wrong = sum(model.tokenize(text) != upstream.tokenize(text) for text in texts)
    report.add("tokenizer, texts that differ", wrong)

    ids = rng.integers(0, config.vocab_size, (1, 50))
    found = ours.base_lm.embed_tokens(mx.array(ids))
    report.add("embedding", relative(found, theirs.base_lm.embed_tokens(torch.from_numpy(ids))))
    for name, stack in (("base LM", "base_lm"), ("residual LM", "residual_lm")):
        for length in (1, int(rng.integers(2, 40)), int(rng.integers(200, 380))):
            prefill, steps = language_model(
                getattr(ours, stack), getattr(theirs, stack), normal(rng, 1, length + 8, width)
            )
            report.add(f"{name}, prefill", prefill)
            report.add(f"{name}, cached steps", steps)

    compare_rotation(theirs, config, report)
    x = normal(rng, int(rng.integers(1, 9)), *patch)
    expected = theirs.enc_to_lm_proj(theirs.feat_encoder(torch.from_numpy(x)[None]))[0]
    found = ours.enc_to_lm_proj(ours.feat_encoder(mx.array(x)))
    report.add("LocEnc and projection", relative(found, expected))

    x = normal(rng, 400, width)
    steps = torch.tanh(theirs.fsq_layer.in_proj(torch.from_numpy(x))).numpy() * config.fsq_scale
    x = x[(np.abs(steps - np.floor(steps) - 0.5) > 1e-4).all(axis=1)]  # none near a tie
    expected = theirs.fsq_layer(torch.from_numpy(x))
    report.add("FSQ", relative(ours.fsq_layer(mx.array(x)), expected))
    expected = theirs.stop_head(theirs.stop_actn(theirs.stop_proj(torch.from_numpy(x))))
    report.add("stop head", relative(ours.stop_logits(mx.array(x)), expected))

    compare_sampler(model, upstream, rng, report)
    compare_vae(model, upstream, rng, report)


def compare_rotation(theirs: Any, config: Config, report: Report) -> None:
    """Cosines and sines at every position that the official tables have, of the shipped sizes, too:
    32,768, at which angles are large enough that another order of the same products is off."""
    shipped = json.loads((GOLDEN / "shipped_config.json").read_text())
    settings = MiniCPM4Config.model_validate(shipped["lm_config"])
    stacks = [
        (theirs.base_lm.rope_emb, config.base_lm),
        (theirs.feat_decoder.estimator.decoder.rope_emb, config.dit),
        (MiniCPMLongRoPE(settings), Config.from_dict(shipped).base_lm),
    ]
    for expected, stack in stacks:
        assert stack.rope is not None
        count, half = expected.cos_cached.shape[0], stack.head_dim // 2
        found = rope_table(stack.rope, stack.head_dim, np.arange(count))
        for table, whole in zip(found, (expected.cos_cached, expected.sin_cached), strict=True):
            report.add("rotary tables", distance(table, whole[:, :half]))


def language_model(ours: MiniCPM4, theirs: Any, x: np.ndarray) -> tuple[float, float]:
    """Errors of a prefill, and of the eight cached steps after it; `x` (1, T + 8, width)."""
    length = x.shape[1] - 8
    expected, cache = theirs(inputs_embeds=torch.from_numpy(x[:, :length]), is_causal=True)
    theirs.kv_cache.fill_caches(cache)
    held = KVCache.for_rows(ours.config, mx.float32, [length], [None])
    prefill = relative(ours(mx.array(x[:, :length]), cache=held), expected)
    steps = 0.0
    for i in range(length, length + 8):
        position = torch.tensor([theirs.kv_cache.step()])
        expected = theirs.forward_step(torch.from_numpy(x[:, i]), position)
        steps = max(steps, relative(ours(mx.array(x[:, i : i + 1]), cache=held)[:, 0], expected))
    return prefill, steps


def compare_sampler(
    model: VoxCPM2, upstream: Upstream, rng: np.random.Generator, report: Report
) -> None:
    ours, theirs, config = model.network.feat_decoder, upstream.model.feat_decoder, model.config
    width, tokens = config.dit.hidden_size, 1 if config.first_generation else 2
    frames = (config.feat_dim, config.patch_size)  # channel-major, as upstream has it
    n = 5
    x, cond = normal(rng, n, *frames), normal(rng, n, *frames)
    mu, t = normal(rng, n, tokens * width), rng.random(n, np.float32)
    dt = rng.random(n, np.float32) if config.dit_mean_mode else np.zeros(n, np.float32)
    expected = theirs.estimator(*map(torch.from_numpy, (x, mu, t, cond, dt)))
    found = ours.estimator(
        mx.array(x.transpose(0, 2, 1)),
        mx.array(mu.reshape(n, tokens, width)),
        ours.estimator.time_tokens(t, dt),
        mx.array(cond.transpose(0, 2, 1)),
    )
    report.add("LocDiT", relative(found, expected.numpy().transpose(0, 2, 1)))

    for steps in (1, 2, 10, int(rng.integers(3, 60))):
        cfg = float(rng.uniform(0.5, 4))
        with injected(rng) as noise:
            expected = theirs(
                mu=torch.from_numpy(mu[:1]),
                patch_size=config.patch_size,
                cond=torch.from_numpy(cond[:1]),
                n_timesteps=steps,
                cfg_value=cfg,
            )
        found = ours(
            mx.array(noise[0])[None],
            mx.array(mu[:1].reshape(1, tokens, width)),
            mx.array(cond[:1].transpose(0, 2, 1)),
            ours.plan([(steps, cfg)]),
        )
        report.add("sampler", relative(found, expected.numpy().transpose(0, 2, 1)))


def compare_vae(
    model: VoxCPM2, upstream: Upstream, rng: np.random.Generator, report: Report
) -> None:
    ours, theirs = model.vae, upstream.model.audio_vae
    hop = ours.config.hop
    for length in (1, hop - 1, hop, hop + 1, *rng.integers(2, 60 * hop, 4).tolist()):
        x = 0.3 * normal(rng, 1, length)
        expected = theirs.encode(torch.from_numpy(x), ours.config.sample_rate)
        found = ours.encode(mx.array(x))
        report.add("VAE encoder", distance(found, expected.numpy().transpose(0, 2, 1)))
    for length in (1, 2, int(rng.integers(3, 60))):
        z = normal(rng, 1, length, ours.config.latent_dim)
        rate = None
        given: tuple[torch.Tensor, ...] = ()
        if ours.config.sr_bin_boundaries is not None:
            rate = int(rng.integers(8000, 50000))
            given = (torch.tensor([rate], dtype=torch.int32),)
        expected = theirs.decode(torch.from_numpy(z.transpose(0, 2, 1).copy()), *given)[:, 0]
        report.add("VAE decoder", distance(ours.decode(mx.array(z), rate), expected))


# ---- whole calls


class Words:
    """Random texts out of what the golden tokenizer knows, and of what it does not."""

    KNOWN = "Hello world this is a test of the lazy dog warm sun rain falls voice gentle and"
    ODD = "naïve 123 ABC… (calm) 😀 <|audio_start|> ▁x 数字 龘 “quoted” don't"
    CHINESE = "你好世界 今天天气很好 语音合成测试 我们一起去公园 中国 一个测试"

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def _some(self, words: str, least: int, most: int) -> list[str]:
        count = int(self._rng.integers(least, most + 1))
        return self._rng.choice(words.split(), count).tolist()

    def english(self, least: int = 3, most: int = 8) -> str:
        """A sentence, its white space not in order."""
        spaces = (" ", " ", " ", "  ", "\n", " \t ")
        words = self._some(self.KNOWN, least, most)
        text = "".join(word + str(self._rng.choice(spaces)) for word in words)
        return text.strip() + str(self._rng.choice((".", "!", "?")))

    def chinese(self) -> str:
        return "，".join(self._some(self.CHINESE, 1, 3)) + "。"

    def jumble(self) -> str:
        """Anything at all."""
        words = self._some(f"{self.KNOWN} {self.ODD} {self.CHINESE}", 1, 7)
        text = "".join(word + str(self._rng.choice(("", " ", "  ", "，"))) for word in words)
        return str(self._rng.choice(("", " ", "▁"))) + text


def given(noise: list[np.ndarray], step: int, shape: tuple[int, int]) -> np.ndarray:
    """Upstream's draw of a step; zeros where ours goes on after upstream has stopped."""
    return noise[step] if step < len(noise) else np.zeros(shape, np.float32)


@dataclass(frozen=True)
class Case:
    """One call, in nobody's words yet."""

    text: str
    voice: str | None = None
    reference: Path | None = None
    prompt: Path | None = None
    prompt_text: str | None = None
    steps: int = 10
    cfg: float = 2.0
    min_len: int = 2
    max_len: int = 14

    def upstream(self) -> dict[str, Any]:
        call: dict[str, Any] = {
            "text": self.text if self.voice is None else f"({self.voice}){self.text}",
            "inference_timesteps": self.steps,
            "cfg_value": self.cfg,
            "min_len": self.min_len,
            "max_len": self.max_len,
        }
        if self.reference is not None:
            call["reference_wav_path"] = str(self.reference)
        if self.prompt is not None:
            call |= {"prompt_wav_path": str(self.prompt), "prompt_text": self.prompt_text}
        return call

    def ours(self, model: VoxCPM2, noise: list[np.ndarray]) -> dict[str, Any]:
        call: dict[str, Any] = {
            "text": self.text,
            "voice": self.voice,
            "steps": self.steps,
            "cfg": self.cfg,
            "min_len": self.min_len,
            "max_len": self.max_len,
            "noise": lambda step, shape: given(noise, step, shape),
        }
        if self.reference is not None:
            call["reference"] = model.encode(self.reference, pad="right")
        if self.prompt is not None:
            latents = model.encode(self.prompt, pad="left")
            call["prompt"] = Prompt(self.prompt_text or "", latents)
        return call


class Draw:
    """Random cases of a mode; recordings are written into `folder`."""

    def __init__(self, config: Config, folder: Path, rng: Any) -> None:
        self._vae, self._folder, self._rng = config.vae, folder, rng
        self._patch = config.patch_size * config.vae.hop / config.vae.sample_rate  # seconds
        self._words = Words(rng)
        self._written = 0
        # The shortest prompt: upstream's 1.x cuts two patches off the speech whatever it heard.
        self._short = 2 if config.first_generation else 1

    def case(self, mode: str) -> Case:
        text = self._words.english()
        match mode:
            case "zero_shot":
                return Case(text, max_len=4096)
            case "zero_shot_zh":
                return Case(self._words.chinese(), max_len=4096)
            case "voice_design":
                return Case(text, voice=self._words.english(2, 4))
            case "reference":
                return Case(text, reference=self.recording(3, 8))
            case "controllable":
                return Case(
                    text,
                    voice=self._words.english(2, 4),
                    reference=self.recording(2, 5),
                    steps=int(self._rng.integers(4, 30)),
                    cfg=float(self._rng.uniform(1, 3)),
                )
            case "max_len":
                return Case(text, max_len=3)
            case "min_len":
                return Case(text, min_len=int(self._rng.integers(4, 8)))
        reference = self.recording(3, 8) if mode.startswith("ref_") else None
        prompt, prompt_text = None, None
        if "continuation" in mode:
            short = mode.endswith("_short")
            prompt = self.recording(self._short, self._short) if short else self.recording(3, 8)
            prompt_text = self._words.chinese() if short else self._words.english()
        return Case(text, reference=reference, prompt=prompt, prompt_text=prompt_text)

    def recording(self, least: int, most: int) -> Path:
        """A sound like a voice, of so many patches after padding, at any rate, in any file."""
        rng = self._rng
        rate = int(rng.choice((16000, 22050, 24000, 44100, 48000)))
        patches = int(rng.integers(least, most + 1)) - rng.uniform(0.05, 0.4)
        t = np.arange(int(max(patches * self._patch, 0.11) * rate)) / rate
        pitch = 2 * np.pi * np.cumsum(rng.uniform(90, 220) * (1 + 0.1 * np.sin(7 * t))) / rate
        voiced = sum(np.sin(k * pitch + k) / k for k in range(1, 20))
        sound = 0.1 * voiced * (1 + np.sin(2 * np.pi * rng.uniform(2, 5) * t))
        channels = int(rng.integers(1, 3))
        sound = sound[:, None] * rng.uniform(0.3, 1, channels)
        sound = sound + 0.01 * rng.standard_normal(sound.shape)
        self._written += 1
        path = self._folder / f"{self._written}.{rng.choice(('wav', 'flac'))}"
        soundfile.write(path, sound, rate)
        return path


@dataclass(frozen=True)
class Compared:
    """A case that both have run."""

    mode: str
    case: Case
    recording: Recording


def clear(draw: Callable[[], tuple[Any, Recording]], report: Report) -> tuple[Any, Recording]:
    """The first draw whose result float32's own errors do not decide."""
    while True:
        case, recording = draw()
        if recording.is_clear:
            return case, recording
        report.redrawn += 1


def compare_mode(
    mode: str, model: VoxCPM2, upstream: Upstream, draws: Draw, rng: Any, report: Report
) -> Compared:
    """Ids, latents in, patches and samples of one call."""

    def draw() -> tuple[Case, Recording]:
        case = draws.case(mode)
        return case, upstream.generate(rng, **case.upstream())

    case, expected = clear(draw, report)
    call = case.ours(model, expected.noise)
    shape = (model.config.patch_size, model.config.feat_dim)
    target = spoken_text(case.text, case.voice)
    parts = build_segments(target, call.get("reference"), call.get("prompt"), model.tokenize)
    whole = build_tokens(parts, shape)
    row = Row(Request(**call), model.config, model.tokenize)
    same = (
        np.array_equal(whole.ids, expected.ids),
        np.array_equal(whole.audio, expected.audio),
        row.cap == expected.cap,
    )
    report.add("ids, masks, caps that differ", same.count(False))
    report.add("encoded latents", distance(whole.latents, expected.latents))
    for file in (case.reference, case.prompt):
        if file is not None:
            report.add("resampled recordings", compare_recording(model, file))
    speech = model.generate(**call)
    report.add(f"{mode}, patches", distance(speech.latents, expected.patches), PATCHES)
    report.add(f"{mode}, samples", distance(speech.samples, expected.samples), SAMPLES)
    return Compared(mode, case, expected)


def compare_recording(model: VoxCPM2, file: Path) -> float:
    """As upstream's generation reads it: VoxCPM2 with librosa, 1.x with torchaudio."""
    rate, first = model.encode_sample_rate, model.config.first_generation
    if first:
        import torchaudio

        samples, found = torchaudio.load(str(file))
        expected = torchaudio.functional.resample(samples.mean(dim=0), found, rate).numpy()
    else:
        import librosa

        expected, _ = librosa.load(file, sr=rate, mono=True)
    return distance(audio_in.load(file, rate=rate, sinc=first), expected)


def compare_batch(model: VoxCPM2, done: list[Compared], report: Report) -> None:
    """All calls again, as rows of one batch that has room for three."""
    batch = model.batch(slots=3)
    rows = {
        batch.add(Request(**each.case.ours(model, each.recording.noise))): each for each in done
    }
    while len(batch):
        for row, speech in batch.advance():
            expected = rows[row].recording
            report.add("batch, patches", distance(speech.latents, expected.patches), PATCHES)
            report.add("batch, samples", distance(speech.samples, expected.samples), SAMPLES)


def compare_streams(
    model: VoxCPM2, upstream: Upstream, done: list[Compared], rng: Any, report: Report
) -> None:
    """A stream from nothing equals upstream's; every stream equals upstream's whole."""
    for each in done:
        if each.mode not in ("zero_shot", "reference", "continuation", "ref_continuation_short"):
            continue
        call = each.case.ours(model, each.recording.noise)
        chunks = list(model.stream(**call))
        error = distance(np.concatenate(chunks), each.recording.samples)
        report.add("stream, samples of the whole", error, SAMPLES)
    if model.config.first_generation:
        return  # upstream's stream has seams there: it decodes three patches at a time

    def draw() -> tuple[Case, Recording]:
        case = Case(Words(rng).english())
        return case, upstream.generate(rng, stream=True, **case.upstream())

    case, expected = clear(draw, report)
    chunks = list(model.stream(**case.ours(model, expected.noise)))
    same = [len(chunk) for chunk in chunks] == expected.chunks
    error = distance(np.concatenate(chunks), expected.samples) if same else math.inf
    report.add("stream, upstream's chunks", error, SAMPLES)


def compare_retry(model: VoxCPM2, upstream: Upstream, rng: Any, report: Report) -> None:
    """One token, and at least six patches: too long in each of the three attempts."""
    text, limits = "你好世界", {"min_len": 5, "max_len": 7}

    def draw() -> tuple[None, Recording]:
        return None, upstream.generate(rng, text=text, retry_badcase=True, **limits)

    _, expected = clear(draw, report)
    drawn = iter(range(len(expected.noise) + 1))

    def noise(step: int, shape: tuple[int, int]) -> np.ndarray:
        return given(expected.noise, next(drawn), shape)

    speech = model.generate(text, retries=2, noise=noise, **limits)
    same = (
        speech.attempts == expected.attempts == 3,
        next(drawn, None) == len(expected.noise),
    )
    report.add("ids, masks, caps that differ", same.count(False))
    report.add("retry, patches", distance(speech.latents, expected.patches), PATCHES)
    report.add("retry, samples", distance(speech.samples, expected.samples), SAMPLES)


def compare_turns(
    model: VoxCPM2, upstream: Upstream, draws: Draw, rng: Any, report: Report
) -> None:
    """Three turns, each continuing all before it; in VoxCPM2 with a reference, too."""
    first = model.config.first_generation
    cache = reference = None
    if not first:
        file = draws.recording(3, 6)
        cache = upstream.model.build_prompt_cache(reference_wav_path=str(file))
        reference = model.encode(file, pad="right")
    prompt: Prompt | None = None
    words = Words(rng)
    # Upstream's 1.x returns the context with the new patches and merges it twice from the third
    # turn on; ours returns what is new.
    for _ in range(2 if first else 3):

        def draw(cache: Any = cache) -> tuple[str, Recording]:
            text = spoken_text(words.english(), None)
            return text, upstream.follow(rng, cache, text, max_len=5)

        text, expected = clear(draw, report)
        speech = model.generate(
            text,
            reference=reference,
            prompt=prompt,
            max_len=5,
            noise=lambda step, shape, noise=expected.noise: given(noise, step, shape),
        )
        report.add("merged prompts, patches", distance(speech.latents, expected.patches), PATCHES)
        report.add("merged prompts, samples", distance(speech.samples, expected.samples), SAMPLES)
        prompt = prompt.extend(speech) if prompt else Prompt(speech.text, speech.latents)
        patches = torch.from_numpy(expected.patches)
        cache = upstream.model.merge_prompt_cache(cache, text, patches)


def compare_lora(made: Made, folder: Path, draws: Draw, rng: Any, report: Report) -> None:
    """Beside the weights, and merged into them by `convert`."""
    upstream = Upstream(made.float32, made.lora)
    merged = folder / "merged"
    convert(made.checkpoint, merged, dtype="float32", lora=made.lora)
    beside = voxcpm2.load(made.checkpoint, dtype="float32", lora=made.lora)
    modes = ("zero_shot", "continuation")
    for name, model in (("LoRA", beside), ("LoRA merged", voxcpm2.load(merged))):
        for mode in modes:

            def draw(mode: str = mode) -> tuple[Case, Recording]:
                case = draws.case(mode)
                return case, upstream.generate(rng, **case.upstream())

            case, expected = clear(draw, report)
            speech = model.generate(**case.ours(model, expected.noise))
            report.add(f"{name}, patches", distance(speech.latents, expected.patches), PATCHES)
            report.add(f"{name}, samples", distance(speech.samples, expected.samples), SAMPLES)


def compare_bfloat16(made: Made, plain: Upstream, draws: Draw, rng: Any, report: Report) -> None:
    """Ours may be no further from upstream's float32 than twice what upstream's own bfloat16 is.

    Roundings differ, and quantisation makes steps of them, so the two bfloat16 runs part ways; part
    by part they do less, and may less: see `precision.py`.
    """
    upstream = Upstream(made.checkpoint)
    model = voxcpm2.load(made.checkpoint, time_embedding="bfloat16")
    runs: list[list[np.ndarray]] = []
    for mode in ("zero_shot", "reference", "continuation"):
        case = replace(draws.case(mode), min_len=6, max_len=6)  # of one length whatever is rounded
        seed = int(rng.integers(1 << 32))
        exact, theirs = (
            each.generate(np.random.default_rng(seed), **case.upstream())
            for each in (plain, upstream)
        )
        found = model.generate(**case.ours(model, exact.noise)).latents
        runs.append([exact.patches, theirs.patches, found])
    exact, theirs, ours = (np.concatenate(column) for column in zip(*runs, strict=True))
    scale = float(np.linalg.norm(exact))
    own = float(np.linalg.norm(theirs - exact)) / scale
    report.add("bfloat16, upstream's own error", own, math.inf)
    error = float(np.linalg.norm(ours - exact)) / scale
    report.add("bfloat16, ours to upstream's", error / own, 2)
    models = (voxcpm2.load(made.float32), voxcpm2.load(made.checkpoint), model)
    report.precision += precision.compare(plain.model, upstream.model, models, rng)


def compare(variant: str, folder: Path, rng: np.random.Generator, report: Report) -> None:
    """Everything, on one new checkpoint."""
    report.variant = variant
    golden = GOLDEN / f"{variant}_s0" / "checkpoint"
    made = make(golden, folder, rng, files="pickle" if variant in PICKLED else "safetensors")
    upstream, model = Upstream(made.float32), voxcpm2.load(made.checkpoint, dtype="float32")
    draws = Draw(model.config, folder, rng)
    with torch.inference_mode():
        compare_components(model, upstream, rng, report)
    modes = MODES if model.config.first_generation else MODES + REFERENCE_MODES
    done = [compare_mode(mode, model, upstream, draws, rng, report) for mode in modes]
    compare_batch(model, done, report)
    compare_streams(model, upstream, done, rng, report)
    compare_retry(model, upstream, rng, report)
    compare_turns(model, upstream, draws, rng, report)
    compare_lora(made, folder, draws, rng, report)
    if variant == "bf16":
        compare_bfloat16(made, upstream, draws, rng, report)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, help="repeat an earlier run")
    parser.add_argument("--only", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    options = parser.parse_args()
    seed = secrets.randbits(32) if options.seed is None else options.seed
    print(f"seed {seed} (--seed {seed} repeats this run)", flush=True)
    report = Report()
    with tempfile.TemporaryDirectory(prefix="voxcpm2-parity-") as scratch:
        for variant in options.only:
            rng = np.random.default_rng([seed, VARIANTS.index(variant)])
            compare(variant, Path(scratch) / variant, rng, report)
    report.print(options.only)
    if report.precision:
        precision.show(report.precision)
    above = report.above()
    print(f"{report.redrawn} cases were drawn anew: float32's own errors decide them")
    if above:
        print("above tolerance: " + "; ".join(above))
    summary = {"parity": not above, "seed": seed, "above": above, "errors": report.errors}
    summary["precision"] = [asdict(part) for part in report.precision]
    print(json.dumps(summary))
    sys.exit(1 if above else 0)


if __name__ == "__main__":
    main()
