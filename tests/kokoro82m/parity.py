"""Ours against every number of a folder of the official implementation's, stage by stage.

    make parity-kokoro [FOLDER=tests/golden/kokoro/kokoro_s0] [REAL=folder of the real weights]
    python tests/kokoro82m/parity.py [FOLDER] [--real WEIGHTS] [--cache FOLDER]

A folder holds a checkpoint, arrays, and index.json, which states what was asked for. Each array is
an input, or is compared with what ours makes of recorded inputs, so that no stage hides behind
another; then the cases are spoken whole, alone and side by side, and by ONNX Runtime where it is
installed. With --real, the sentences of real.json in FOLDER are spoken with the published weights,
and forty sentences by both backends; --cache is where the graphs of ONNX are kept. The last line is
JSON; the exit status is 1 where an error is above its tolerance, or an array was not looked at.
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import json
import math
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import mlx.core as mx
import numpy as np

import kokoro82m
from kokoro82m import model as model_module
from kokoro82m.config import LAST_SLOPE, UPSAMPLING_SLOPE
from kokoro82m.generator import AdaINResBlock1
from kokoro82m.layers import AdainResBlk1d, Rows, pad_time
from kokoro82m.model import Kokoro82M
from kokoro82m.network import DecoderInput, find_durations
from kokoro82m.noise import merge_noise
from kokoro82m.phases import find_phases
from kokoro82m.speech import Speech
from kokoro82m.stft import analyse, synthesise
from tests.kokoro82m.conftest import FOLDER, KokoroGolden, official_noise
from tests.parity import Check, distance, print_summary, relative, show

WITH_ONNX = importlib.util.find_spec("onnxruntime") is not None
if WITH_ONNX:
    from kokoro82m.onnx_network import load_onnx

EXACT = 0.0
NEAR, CURVE = 1e-5, 1e-4
"""Of a stage from its recorded inputs; of F0 and energy from ids: relative."""
SOURCE, SPECTRUM = 1e-3, 1e-5
"""At most: the source of F0 and noise; the spectrum of the source, as complex numbers."""
WAVE = 1e-5
"""Samples from recorded text, F0, energy and spectrum: relative."""
LOG_MEL, LOUDNESS = 0.05, 0.05
"""Of whole calls, where a phase may turn: means of log10 power by band; relative."""
SUM, MARGIN = 1e-4, 1e-3
"""Sums of the real weights' curves: relative; the distance from a tie of an exact duration."""
INPUTS = ("ids", "style", "speed")
SENTENCES = Path(__file__).with_name("sentences.json")
"""Of both backends with the published weights: phonemes and voices."""


class Comparison:
    """A folder's checkpoint, loaded, and its cases."""

    def __init__(self, folder: Path) -> None:
        self.golden = KokoroGolden(folder)
        self.model: Kokoro82M = kokoro82m.load(folder / "checkpoint")
        self.checks: list[Check] = []
        self.arrays = 0
        self.unseen: list[str] = []

    def compare_stages(self) -> None:
        """Each array with ours of recorded inputs."""
        for case in self.golden.cases:
            stages = Stages(self.model, self.golden, case)
            self.checks += stages.compare()
            self.arrays += len(stages.arrays)
            self.unseen += [f"{case}.{name}" for name in sorted(stages.arrays.keys() - stages.seen)]

    def compare_calls(self) -> None:
        """Cases from ids to samples, each alone, and all of them in one batch."""
        self.checks += self._calls()

    def _calls(self) -> Iterator[Check]:
        cases = list(self.golden.cases)
        requests = [self.golden.request(case) for case in cases]
        alone = self.model.speak(requests)
        together = speak_together(self.model, requests)
        for case, own, batched in zip(cases, alone, together, strict=True):
            facts, recorded = self.golden.cases[case], self.golden.arrays(case)
            yield Check(case, "whole: durations", distance(own.durations, recorded["durations"]), 0)
            count = abs(len(own.samples) - facts["samples"])
            yield Check(case, "whole: number of samples", count, EXACT)
            f0 = recorded["F0"].reshape(-1)
            yield Check(case, "whole: F0", relative(own.pitch, f0), CURVE)
            rms = float(np.sqrt(np.square(own.samples, dtype=np.float64).mean()))
            yield Check(case, "whole: loudness", abs(rms / facts["rms"] - 1), LOUDNESS)
            if facts["stored_every"] == 1:
                apart = distance(log_mel(own.samples), log_mel(recorded["samples"]))
                yield Check(case, "whole: log-mel", apart, LOG_MEL)
            yield from compare_rows(case, batched, own)
        yield from self._same_spectrum(cases, requests)

    def _same_spectrum(
        self, cases: Sequence[str], requests: Sequence[kokoro82m.Request]
    ) -> Iterator[Check]:
        """The decoder in a batch and alone, by one spectrum: there no phase can turn."""
        model, network = self.model, self.model.network
        texts = [model._encode([request])[0] for request in requests]
        alone = [model._prepare([text]) for text in texts]
        batch = model._prepare(texts)
        size = batch.spectrum.shape[1]
        spectra = [fill(row.spectrum, size) for row in alone]
        together = network.decode(replace(batch, spectrum=mx.concatenate(spectra)))
        for n, (case, row) in enumerate(zip(cases, alone, strict=True)):
            own = np.array(network.decode(row))[0]
            batched = np.array(together)[n, : len(own)]
            yield Check(case, "in a batch: samples of one spectrum", relative(batched, own), WAVE)


class OnnxComparison:
    """ONNX Runtime with the cases of a folder, and with MLX."""

    def __init__(self, cache: Path) -> None:
        self._cache = cache

    def compare_cases(self, golden: KokoroGolden, model: Kokoro82M) -> Iterator[Check]:
        """Cases from ids to samples, and the decoder from a recorded spectrum."""
        network = load_onnx(golden.checkpoint, self._cache)
        for case, facts in golden.cases.items():
            request, recorded = golden.request(case), golden.arrays(case)
            speech = network.speak(request)
            f0, energy = (recorded[name].reshape(-1) for name in ("F0", "N"))
            apart = distance(speech.durations, recorded["durations"])
            yield Check(case, "ONNX: durations", apart, EXACT)
            count = abs(len(speech.samples) - facts["samples"])
            yield Check(case, "ONNX: number of samples", count, EXACT)
            yield Check(case, "ONNX: F0", relative(speech.pitch, f0), CURVE)
            [ours] = model.speak([request])
            apart = distance(log_mel(speech.samples), log_mel(ours.samples))
            yield Check(case, "ONNX and MLX: log-mel", apart, LOG_MEL)
            if "har" in recorded:
                style, text, har = recorded["style"][0], recorded["asr"], recorded["har"]
                samples = network.decode(style, text, f0, energy, har)
                error = relative(samples, recorded["samples"].reshape(-1))
                yield Check(case, "ONNX: samples of asr, F0, N, har", error, WAVE)

    def compare_real(self, weights: Path) -> Iterator[Check]:
        """Both backends with the published weights."""
        model, network = kokoro82m.load(weights), load_onnx(weights, self._cache)
        for n, sentence in enumerate(json.loads(SENTENCES.read_text("utf-8"))):
            case, phonemes = f"sentence {n}: {sentence['voice']}", sentence["phonemes"]
            tokens = kokoro82m.tokenize(phonemes, model.config.vocabulary)
            voice = kokoro82m.load_voice(weights, sentence["voice"])
            request = kokoro82m.Request(tokens, kokoro82m.style_row(voice, phonemes), seed=n)
            [ours], speech = model.speak([request]), network.speak(request)
            apart = distance(speech.durations, ours.durations)
            yield Check(case, "ONNX and MLX: durations", apart, EXACT)
            yield Check(case, "ONNX and MLX: F0", relative(speech.pitch, ours.pitch), CURVE)
            apart = distance(log_mel(speech.samples), log_mel(ours.samples))
            yield Check(case, "ONNX and MLX: log-mel", apart, LOG_MEL)


class Stages:
    """A case's arrays, and ours of recorded inputs. Theirs are (batch, channels, time)."""

    def __init__(self, model: Kokoro82M, golden: KokoroGolden, case: str) -> None:
        self.case, self.arrays = case, golden.arrays(case)
        self.seen = set(INPUTS)
        self._network, self._noise = model.network, golden.official_noise(case)
        durations = self.arrays["durations"]
        tokens, frames = len(durations), int(durations.sum())
        self._tokens, self._frames = Rows([tokens], tokens), Rows([frames], frames)
        self._spectrum = model.network.spectrum_rows(self._frames)
        self._places = np.repeat(np.arange(tokens), durations)
        style = mx.array(self.arrays["style"])[:, None]
        self._style = style
        self._decoder_style, self._predictor_style = mx.split(style, 2, axis=-1)

    def compare(self) -> list[Check]:
        checks = [*self._text(), *self._curves(), *self._decoder()]
        if "har" in self.arrays:
            checks += [*self._source(), *self._generator()]
        else:  # recorded, but without the spectrum nothing that can be compared sample by sample
            self.seen.add("samples")
        return checks

    def _has(self, *names: str) -> bool:
        return all(name in self.arrays for name in names)

    def _wide(self, name: str) -> mx.array:
        """(batch, channels, time) as (batch, time, channels)."""
        return mx.array(self.arrays[name]).swapaxes(1, 2)

    def _check(
        self, name: str, value: mx.array, *, turn: bool = True, allowed: float = NEAR
    ) -> Iterator[Check]:
        """Compare with an array if it was recorded, turned to (batch, channels, time)."""
        if name in self.arrays:
            self.seen.add(name)
            array = np.array(value.swapaxes(1, 2) if turn else value)
            yield Check(self.case, name, relative(array, self.arrays[name]), allowed)

    def _text(self) -> Iterator[Check]:
        network, rows, arrays = self._network, self._tokens, self.arrays
        predictor, style = network.predictor, self._predictor_style
        ids = mx.array(arrays["ids"])[None]
        encoded = network.encode(ids, self._style, rows)
        yield from self._check("bert", network.bert(ids, rows), turn=False)
        hidden = network.bert_encoder(mx.array(arrays["bert"]))
        yield from self._check("bert_encoder", hidden, turn=False)
        prosody = predictor.text_encoder(hidden, style, rows)
        yield from self._check("duration_encoder", prosody, turn=False)
        yield from self._check("duration_lstm", predictor.lstm(prosody, rows), turn=False)
        yield from self._check("duration_logits", encoded.duration_logits, turn=False)
        durations = find_durations(arrays["duration_logits"][0], float(arrays["speed"]))
        self.seen.add("durations")
        yield Check(self.case, "durations", distance(durations, arrays["durations"]), EXACT)
        yield from self._check("text_encoder", encoded.text)
        yield from self._check("asr", encoded.text[:, mx.array(self._places)])
        if self._has("en", "duration_encoder"):
            self.seen.add("en")
            frames = arrays["duration_encoder"][:, self._places]
            yield Check(self.case, "en", distance(frames, arrays["en"]), EXACT)

    def _curves(self) -> Iterator[Check]:
        predictor, style, rows = self._network.predictor, self._predictor_style, self._frames
        if not self._has("shared_lstm"):
            ids = mx.array(self.arrays["ids"])[None]
            prosody = self._network.encode(ids, self._style, self._tokens).prosody
            f0, energy = self._network.curves(prosody[:, mx.array(self._places)], self._style, rows)
            yield from self._check("F0", f0, allowed=CURVE)
            yield from self._check("N", energy, allowed=CURVE)
            return
        if self._has("en"):
            shared = predictor.shared(mx.array(self.arrays["en"]), rows)
            yield from self._check("shared_lstm", shared, turn=False)
        self.seen.add("shared_lstm")
        shared = mx.array(self.arrays["shared_lstm"])
        twice = rows.scale(2)
        for name, blocks, project in (
            ("F0", predictor.F0, predictor.F0_proj), ("N", predictor.N, predictor.N_proj)
        ):  # fmt: skip
            first = blocks[0](shared, style, rows)
            second = blocks[1](first, style, rows)
            yield from self._check(f"{name}_block0", first)
            yield from self._check(f"{name}_block1", second)
            yield from self._check(name, project(blocks[2](second, style, twice)))

    def _decoder(self) -> Iterator[Check]:
        decoder, style, rows = self._network.decoder, self._decoder_style, self._frames
        text, f0, energy = (self._wide(name) for name in ("asr", "F0", "N"))
        yield from self._check("F0_conv", decoder.F0_conv(f0))
        yield from self._check("N_conv", decoder.N_conv(energy))
        yield from self._check("asr_res", decoder.asr_res[0](text))
        if not self._has("decode0"):
            yield from self._check("decode3", decoder(text, f0, energy, style, rows))
            return
        curves = [self._wide("F0_conv"), self._wide("N_conv")]
        again = [self._wide("asr_res"), *curves]
        inputs = [text, *curves]
        blocks: list[AdainResBlk1d] = [decoder.encode, *decoder.decode]
        for name, block in zip(["encode", *(f"decode{n}" for n in range(4))], blocks, strict=True):
            yield from self._check(name, block(mx.concatenate(inputs, axis=-1), style, rows))
            inputs = [self._wide(name), *again]

    def _source(self) -> Iterator[Check]:
        arrays, rows = self.arrays, self._frames
        module = self._network.decoder.generator.m_source
        noise = merge_noise(self._noise, np.array(module.l_linear.weight[0]))
        phases = find_phases(arrays["F0"][:, 0], rows.scale(2).lengths)
        signal = module(phases, mx.array(noise)[None])
        self.seen |= {"source", "har"}
        error = distance(np.array(signal), arrays["source"][..., 0])
        yield Check(self.case, "source", error, SOURCE)
        recorded = arrays["har"][0].T
        windows, bins = len(recorded), recorded.shape[1] // 2
        spectrum = np.array(
            analyse(mx.array(arrays["source"][..., 0]), self._spectrum, 2 * bins - 2)
        )
        ours = spectrum[0, :windows]
        yield Check(self.case, "har", distance(*map(complex_spectrum, (ours, recorded))), SPECTRUM)
        edges = [bins, -1]
        loud = recorded[:, [0, bins - 1]] > SPECTRUM
        turned = int((np.abs(ours[:, edges] - recorded[:, edges])[loud] > 1).sum())
        yield Check(self.case, "har: signs at DC and Nyquist", turned, EXACT)

    def _generator(self) -> Iterator[Check]:
        generator, style = self._network.decoder.generator, self._decoder_style
        stage0 = self._frames.scale(2).scale(10)
        stage1 = self._spectrum
        spectrum = fill(self._wide("har"), stage1.size)
        sums = {}
        for n, rows in enumerate((stage0, stage1)):
            conv = generator.noise_convs[n](spectrum)[:, : rows.size]
            yield from self._check(f"noise_conv{n}", cut(conv, rows))
            heard = fill(self._wide(f"noise_conv{n}"), rows.size)
            heard = generator.noise_res[n](heard, rows.moments(heard), style, rows)
            yield from self._check(f"noise_res{n}", cut(heard, rows))
            x = self._wide("decode3" if n == 0 else "mean0")
            x = mx.maximum(x, UPSAMPLING_SLOPE * x) if n == 0 else x
            yield from self._check(f"up{n}", generator.ups[n](x))
            x = self._wide(f"up{n}")
            x = x if n == 0 else mx.concatenate([x[:, 1:2], x], axis=1)
            sums[n] = fill(x + self._wide(f"noise_res{n}"), rows.size)
            blocks: list[AdaINResBlock1] = generator.resblocks[3 * n : 3 * n + 3]
            moments = rows.moments(sums[n])
            parts = [block(sums[n], moments, style, rows) for block in blocks]
            yield from self._check(f"resblock{3 * n}", cut(parts[0], rows))
            mean = cut((parts[0] + parts[1] + parts[2]) / 3, rows)
            slope = UPSAMPLING_SLOPE if n == 0 else LAST_SLOPE
            yield from self._check(f"mean{n}", mx.maximum(mean, slope * mean))
        yield from self._check("post", generator.conv_post(self._wide("mean1")))
        post = fill(self._wide("post"), stage1.size)
        samples = synthesise(post, stage1, spectrum.shape[-1] - 2)
        yield self._wave("samples of post", samples)
        text, f0, energy = (self._wide(name) for name in ("asr", "F0", "N"))
        inputs = DecoderInput(text, f0, energy, spectrum, self._style, self._frames)
        samples = self._network.decode(inputs)
        yield self._wave("samples of asr, F0, N, har", samples)

    def _wave(self, stage: str, samples: mx.array) -> Check:
        self.seen.add("samples")
        recorded = self.arrays["samples"]
        ours = np.array(samples)[0, : 600 * self._frames.size]
        return Check(self.case, stage, relative(ours, recorded), WAVE)


def fill(x: mx.array, size: int) -> mx.array:
    """With zeros up to our size of a stage."""
    return pad_time(x, 0, size - x.shape[1])


def cut(x: mx.array, rows: Rows) -> mx.array:
    """Without them."""
    return x[:, : rows.lengths[0]]


def speak_together(
    model: Kokoro82M, requests: Sequence[kokoro82m.Request], frames: int = 10_000
) -> list[Speech]:
    """Rows side by side, as on a GPU, so many frames in a batch."""
    with (
        mock.patch.object(model_module, "on_gpu", return_value=True),
        mock.patch.object(model_module, "max_batch_frames", return_value=frames),
    ):
        return model.speak(requests)


def compare_rows(case: str, batched: Speech, alone: Speech) -> Iterator[Check]:
    """A row in company with the same alone."""
    yield Check(case, "in a batch: durations", distance(batched.durations, alone.durations), EXACT)
    yield Check(case, "in a batch: F0", relative(batched.pitch, alone.pitch), CURVE)
    apart = distance(log_mel(batched.samples), log_mel(alone.samples))
    yield Check(case, "in a batch: log-mel", apart, LOG_MEL)


def compare_real(weights: Path, sentences: list[dict[str, Any]]) -> Iterator[Check]:
    """The published weights, by the sums and bands of real.json."""
    model = kokoro82m.load(weights)
    spoken, requests = [], []
    for n, facts in enumerate(sentences):
        case = f"real {n}: {facts['voice']}"
        tokens = kokoro82m.tokenize(facts["phonemes"], model.config.vocabulary)
        yield Check(case, "token ids", 0.0 if tokens == facts["ids"] else math.inf, EXACT)
        voice = kokoro82m.load_voice(weights, facts["voice"])
        style = kokoro82m.style_row(voice, facts["phonemes"])
        noise = official_noise(facts["noise_seed"], facts["samples"])
        request = kokoro82m.Request(facts["ids"], style, facts["speed"], noise=noise)
        yield from compare_sums(model, case, request, facts)
        if facts["duration_margin"] <= MARGIN:
            request = kokoro82m.Request(facts["ids"], style, facts["speed"])
        [speech] = model.speak([request])
        if facts["duration_margin"] > MARGIN:
            durations = np.array(facts["durations"])
            yield Check(case, "durations", distance(speech.durations, durations), EXACT)
            count = abs(len(speech.samples) - facts["samples"])
            yield Check(case, "number of samples", count, EXACT)
        apart = distance(log_mel(speech.samples), np.array(facts["log_mel"]))
        yield Check(case, "log-mel", apart, LOG_MEL)
        loudness = float(np.sqrt(np.square(speech.samples, dtype=np.float64).mean()))
        yield Check(case, "loudness", abs(loudness / facts["rms"] - 1), LOUDNESS)
        spoken.append((case, speech))
        requests.append(request)
    for (case, alone), batched in zip(spoken, speak_together(model, requests, 1500), strict=True):
        yield from compare_rows(case, batched, alone)


def compare_sums(
    model: Kokoro82M, case: str, request: kokoro82m.Request, facts: dict[str, Any]
) -> Iterator[Check]:
    """Stages by their recorded sums, from the recorded durations."""
    network, durations = model.network, np.array(facts["durations"])
    rows = Rows([len(durations)], len(durations))
    frames = Rows([int(durations.sum())], int(durations.sum()))
    ids, style = mx.array(request.tokens)[None], mx.array(request.style)[None, None]
    bert = np.abs(np.array(network.bert(ids, rows)), dtype=np.float64).sum()
    yield Check(case, "sum of |bert|", abs(bert / facts["bert_sum_abs"] - 1), SUM)
    encoded = network.encode(ids, style, rows)
    places = mx.array(np.repeat(np.arange(len(durations)), durations))
    norm = np.linalg.norm(np.array(encoded.text[:, places], np.float64))
    yield Check(case, "norm of asr", abs(norm / facts["asr_norm"] - 1), SUM)
    f0, energy = network.curves(encoded.prosody[:, places], style, frames)
    curves = {"F0": np.array(f0, np.float64), "N": np.array(energy, np.float64)}
    for name, curve in curves.items():
        error = abs(curve.sum() - facts[f"{name}_sum"]) / np.abs(curve).sum()
        yield Check(case, f"sum of {name}", float(error), SUM)


def log_mel(samples: np.ndarray, bands: int = 16) -> np.ndarray:
    """(bands,), as `log_mel` of the recipe: the mean of log10 power in each."""
    padded = np.pad(samples, 512, mode="reflect")
    windows = np.lib.stride_tricks.sliding_window_view(padded, 1024)[::256]
    power = np.abs(np.fft.rfft(windows * np.hanning(1025)[:-1])) ** 2

    def mel(hertz: Any) -> Any:
        return 2595 * np.log10(1 + hertz / 700)

    edges = np.linspace(0, mel(12000), bands + 1)
    edges = np.interp(edges, mel(np.linspace(0, 12000, 513)), np.arange(513)).round().astype(int)
    means = [power[:, a : b + 1].mean(axis=1) for a, b in itertools.pairwise(edges)]
    return np.array([np.log10(mean + 1e-8).mean() for mean in means])


def complex_spectrum(spectrum: np.ndarray) -> np.ndarray:
    magnitude, phase = np.split(spectrum.astype(np.float64), 2, axis=-1)
    return magnitude * np.exp(1j * phase)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=FOLDER)
    parser.add_argument("--real", type=Path, help="the folder of the published weights")
    parser.add_argument("--cache", type=Path, help="where the graphs of ONNX are kept")
    options = parser.parse_args(arguments)
    if not (options.folder / "index.json").is_file():
        parser.error(f"{options.folder}: no index.json: no folder of official numbers")
    comparison = Comparison(options.folder)
    comparison.compare_stages()
    comparison.compare_calls()
    checks = comparison.checks
    if options.real:
        sentences = json.loads((options.folder / "real.json").read_text("utf-8"))
        checks += compare_real(options.real, sentences)
    if WITH_ONNX:
        with tempfile.TemporaryDirectory() as scratch:
            onnx = OnnxComparison(options.cache or Path(scratch))
            checks += onnx.compare_cases(comparison.golden, comparison.model)
            if options.real:
                checks += onnx.compare_real(options.real)
    else:
        print("onnxruntime is not installed: nothing of ONNX is compared")
    show(checks)
    print(f"{comparison.arrays} arrays; not looked at: {', '.join(comparison.unseen) or 'none'}")
    print_summary(
        "kokoro82m", checks, folder=options.folder.name, arrays=comparison.arrays, onnx=WITH_ONNX,
        not_looked_at=comparison.unseen,
    )  # fmt: skip
    has_passed = bool(checks) and all(check.passes for check in checks)
    return 0 if has_passed and not comparison.unseen else 1


if __name__ == "__main__":
    sys.exit(main())
