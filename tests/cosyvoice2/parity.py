"""Ours against every number of a folder of the official implementation's, stage by stage.

    make parity-cosyvoice2 [FOLDER=tests/golden/cosyvoice2/cosy_s0]
    python tests/cosyvoice2/parity.py [FOLDER]

A folder holds a checkpoint, clips, arrays and index.json, which tells what was asked and what each
array is; all sizes, names and texts are read from there. Each array is an input, or is compared
with what ours makes of recorded inputs, so that no stage hides behind another; then whole calls run
from text and clip to samples. The table shows the largest error of each stage and what is allowed;
below it stands which arrays were inputs, and which were not looked at. The last line is JSON; the
exit status is 1 where an error is above what is allowed.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import mlx.core as mx
import numpy as np

import cosyvoice2
from cosyvoice2 import CosyVoice2, Reference, bistream, features, generate, source
from cosyvoice2 import stream as streams
from cosyvoice2.config import MELS
from cosyvoice2.encoder import distance_table
from cosyvoice2.flow import FlowRow, noise, schedule
from cosyvoice2.generate import MAX_TOKENS_PER_TEXT_ID, MIN_TOKENS_PER_TEXT_ID, Request, TokenBatch
from cosyvoice2.layers import Sight, row_sight
from cosyvoice2.sampler import Heads, choose
from cosyvoice2.source import Noise, excite
from cosyvoice2.vocoder import decode, predict_pitch, resize_mel
from speechbase import audio
from speechbase.errors import ModelError
from speechbase.functions import time_embedding
from tests.cosyvoice2.conftest import FOLDER, CosyGolden
from tests.parity import Check, distance, print_summary, show

EXACT, NEAR, DRAWN = 0.0, 5e-5, 2e-6
"""Ids, lengths and what is looked up; networks; the flow's noise, whose logarithms differ."""
HERTZ, SOURCE, SAMPLES, SPOKEN = 1e-3, 1e-3, 1e-5, 2e-3
"""Pitch of a mel; source of a pitch; samples of a source; samples of mel, pitch and noise."""
WHOLE, WHOLE_MOST = 1e-2, 3e-2
"""Samples of a text: relative, and at most."""
RESAMPLED, BANKS, MEL, VECTOR = 1e-5, 5e-4, 2e-5, 1e-4
"""Of a clip."""


class Report:
    """Checks, and what became of each array."""

    def __init__(self, folder: CosyGolden) -> None:
        self.checks: list[Check] = []
        self.compared: set[str] = set()
        self.inputs: set[str] = set()
        self.all = {
            f"{file.stem}.{name}"
            for file in sorted(folder.folder.glob("*.npz"))
            for name in folder.arrays(file.stem)
        }
        self.told = {
            f"{group}.{name}"
            for group, facts in folder.index["groups"].items()
            for name in facts["arrays"]
        }

    @property
    def not_looked_at(self) -> list[str]:
        return sorted(self.all - self.compared - self.inputs)

    @property
    def failures(self) -> list[Check]:
        return [check for check in self.checks if not check.passes]


class Group:
    """The arrays of one npz with what index.json tells of it, and what they are compared with."""

    def __init__(self, folder: CosyGolden, name: str, report: Report) -> None:
        self.name, self.facts = name, folder.facts(name)
        self._arrays, self._report = folder.arrays(name), report

    def __contains__(self, name: str) -> bool:
        return name in self._arrays

    def given(self, name: str) -> np.ndarray:
        """An input."""
        self._report.inputs.add(f"{self.name}.{name}")
        return self._arrays[name]

    def ids(self, name: str) -> list[int]:
        return [int(each) for each in self.given(name).reshape(-1)]

    def row(self, name: str) -> mx.array:
        """An input (batch, channels, time), as (batch, time, channels)."""
        return mx.array(self.given(name)).transpose(0, 2, 1)

    def check(self, stage: str, name: str, found: Any, allowed: float, axes: str = "") -> None:
        """Compare with an array; `axes`: "turned" where theirs are (…, channels, time)."""
        self._report.compared.add(f"{self.name}.{name}")
        expected = self._arrays[name]
        found = np.asarray(found)
        if axes == "turned":
            expected = np.swapaxes(expected, -1, -2)
        if found.ndim == expected.ndim - 1 and len(expected) == 1:
            expected = expected[0]
        self.say(stage, distance(found, expected), allowed)

    def check_first(self, stage: str, name: str, found: Any, allowed: float) -> None:
        """The same where only the first of ours are recorded."""
        self.check(stage, name, np.asarray(found)[: len(self._arrays[name])], allowed)

    def check_whole(self, name: str, found: np.ndarray) -> None:
        """Samples from end to end."""
        self._report.compared.add(f"{self.name}.{name}")
        expected = self._arrays[name][0]
        most = distance(found, expected)
        relative = math.inf
        if math.isfinite(most):
            relative = float(np.linalg.norm(found - expected) / np.linalg.norm(expected))
        self.say("samples of a whole call, relative", relative, WHOLE)
        self.say("samples of a whole call, at most", most, WHOLE_MOST)

    def same(self, stage: str, found: Any, expected: Any) -> None:
        """Of what index.json tells."""
        self.say(stage, 0.0 if found == expected else math.inf, EXACT)

    def say(self, stage: str, error: float, allowed: float, why: str = "") -> None:
        self._report.checks.append(Check(self.name, stage, error, allowed, why))


@contextlib.contextmanager
def wrapped(owner: Any, name: str, tell: Callable[[Any, Any], None]) -> Iterator[None]:
    """Let `tell` know what goes into a function first, and what comes out of it."""
    plain = getattr(owner, name)

    def call(*args: Any, **named: Any) -> Any:
        made = plain(*args, **named)
        tell(args[0], made)
        return made

    with mock.patch.object(owner, name, call):
        yield


class Drawn:
    """Numbers in order, and for each whether it was a step's second."""

    def __init__(self, numbers: np.ndarray) -> None:
        self.left, self.kinds = iter(numbers.tolist()), list[int]()

    def choose(self, head: Any, past: Any, draw: Callable[[], float], config: Any) -> int:
        kinds = iter((0, 1))

        def counted() -> float:
            self.kinds.append(next(kinds))
            return draw()

        return choose(head, past, counted, config)

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        with (
            mock.patch.object(generate, "choose", self.choose),
            mock.patch.object(bistream, "choose", self.choose),
        ):
            yield


class Comparison:
    """A folder's checkpoint, loaded, and its groups."""

    def __init__(self, folder: Path) -> None:
        self.golden = CosyGolden(folder)
        self.report = Report(self.golden)
        self.model: CosyVoice2 = cosyvoice2.load(folder / "checkpoint")
        self.groups = self.golden.index["groups"]

    def run(self) -> Report:
        for name in self.groups:
            self.compare_group(name)
        self.compare_texts()
        untold = self.report.all ^ self.report.told
        if untold:
            said = f"in an npz or in index.json alone: {', '.join(sorted(untold))}"
            self.report.checks.append(Check("index.json", "arrays", len(untold), EXACT, said))
        return self.report

    def compare_group(self, name: str) -> None:
        compare = next((made for prefix, made in KINDS if name.startswith(prefix)), None)
        if compare is None:
            return
        try:
            compare(self, Group(self.golden, name, self.report))
        except (ModelError, LookupError, ValueError, OSError) as error:
            why = f"{type(error).__name__}: {error}"
            self.report.checks.append(Check(name, "it goes through", math.inf, EXACT, why))

    # ---- text

    def compare_texts(self) -> None:
        path = self.golden.folder / "text.json"
        if not path.is_file():
            return
        said = json.loads(path.read_text("utf-8"))
        cases = {case["text"]: case["ids"] for case in said["tokenizer"]}
        tags = {tag: [number] for tag, number in said["special_ids"].items()}
        for stage, wanted in (("ids of texts", cases), ("ids of tags", tags)):
            wrong = sum(self.model.tokenize(text) != ids for text, ids in wanted.items())
            why = f"{len(wanted)} cases"
            self.report.checks.append(Check("text.json", stage, wrong, EXACT, why))

    # ---- clips

    def clip(self, group: Group) -> None:
        path = self.golden.folder / "wav" / f"{group.name.removeprefix('prompt_')}.wav"
        samples, rate = audio.read_mono(path)
        own = self.model.sample_rate
        for name, wanted in (("wav16", features.ENCODER_RATE), ("wav24", own)):
            made = audio.resample_audio(samples, rate, wanted, sinc=True)
            group.check("resampled clip", name, made, RESAMPLED)
        heard = group.given("wav16")[0]
        group.check("log-mel of it", "log_mel", features.log_mel(heard), NEAR, "turned")
        banks = features.fbank(heard)
        group.check("banks of it", "fbank", banks, BANKS)
        group.check("banks of it", "fbank_centred", banks - banks.mean(axis=0), BANKS)
        mel = features.prompt_mel(group.given("wav24")[0], own)
        group.check("mel of it", "mel24", mel, MEL)
        encoders = self.model._encoders
        group.check("tokens of it", "tokens", encoders._encode_tokens(heard), EXACT)
        group.check("speaker of it", "embedding", encoders._encode_speaker(heard), VECTOR)
        made = self.model.reference(path)
        group.check("a reference's tokens", "tokens_used", made.tokens, EXACT)
        group.check("a reference's mel", "mel_used", made.mel, MEL)
        group.check("a reference's speaker", "embedding", made.speaker, VECTOR)

    def voice(self, name: str) -> Reference:
        """A reference as it was recorded."""
        group = Group(self.golden, f"prompt_{name}", self.report)
        parts = (group.given(each)[0] for each in ("tokens_used", "mel_used", "embedding"))
        return Reference(*parts)

    def speaker(self) -> np.ndarray:
        """Who speaks where no prompt is told."""
        return self.voice(self.golden.clips[0]).speaker

    # ---- language model

    def speech(self, group: Group) -> None:
        """A text as a whole: what goes in, every step, every token."""
        facts, lm = group.facts, self.model.lm
        said = facts["prompt_text"]
        group.check("ids", "text_ids", self.model.tokenize(facts["text"]), EXACT)
        group.check("ids", "prompt_text_ids", self.model.tokenize(said) if said else [], EXACT)
        ids = group.ids("prompt_text_ids") + group.ids("text_ids")
        prefix, tokens = group.ids("prompt_speech_token"), group.ids("tokens")
        group.check("first input", "lm_input", lm.lead(ids, prefix), EXACT)
        logits = self.model.logits(ids, prefix, tokens)
        group.check_first("logits in one pass", "logits", logits, NEAR)
        hidden, logits = self._steps(ids, prefix, tokens)
        group.check_first("hidden states step by step", "hidden", hidden, NEAR)
        group.check_first("logits step by step", "logits", logits, NEAR)
        self._spoken(group, prefix, said)

    def _steps(
        self, ids: list[int], prefix: list[int], tokens: list[int]
    ) -> tuple[np.ndarray, np.ndarray]:
        lm = self.model.lm
        lines = lm.prefill([lm.lead(ids, prefix)])
        hidden, logits = [], []
        for token in [*tokens, None]:
            hidden.append(np.array(lines.last)[0])
            logits.append(np.array(lm.decode(lines.last))[0])
            if token is not None:
                lm.step(lines, [token])
        return np.stack(hidden), np.stack(logits)

    def _spoken(self, group: Group, prefix: list[int], said: str) -> None:
        facts, drawn = group.facts, Drawn(group.given("u"))
        count, tokens = len(group.ids("text_ids")), group.ids("tokens")
        row = TokenBatch(self.model.lm, self.model.tokenize, 1)
        spoken = row.add(
            Request(
                facts["text"],
                prompt_text=said if prefix else None,
                prefix_tokens=prefix or None,
                instruction=said if said and not prefix else None,
                uniforms=drawn.left,
                min_len=facts["min_len"]
                if facts["min_len"] != MIN_TOKENS_PER_TEXT_ID * count
                else None,
                max_len=facts["max_len"]
                if facts["max_len"] != MAX_TOKENS_PER_TEXT_ID * count
                else None,
                compatible=len(tokens) < facts["min_len"],
            )
        )
        bounds = (facts["min_len"], facts["max_len"])
        group.same("least and most of tokens", (spoken._min_tokens, spoken._max_tokens), bounds)
        with drawn.watched():
            while len(row):
                row.step()
        group.check("tokens", "tokens", spoken.tokens, EXACT)
        group.same("why it ends", spoken.stop_reason, "cap" if facts["stop_id"] is None else "stop")
        self._draws(group, drawn)

    def _draws(self, group: Group, drawn: Drawn) -> None:
        group.check("which draw each number is", "u_kind", np.array(drawn.kinds), EXACT)
        group.same("numbers drawn", len(drawn.kinds), len(group.given("u")))

    def step(self, group: Group) -> None:
        """A prefill and a step, with keys and values."""
        lm = self.model.lm
        known = "llm_cross_lingual"
        if known in self.groups:
            group.check("first input", "x0", self.golden.arrays(known)["lm_input"], EXACT)
        x = group.given("x0")
        count = x.shape[1]
        cache = lm.empty_cache([count])
        group.check("hidden states", "h0", lm.hidden(mx.array(x), cache), NEAR)
        for name, kept in (("k0", cache.keys), ("v0", cache.values)):
            made = np.stack([np.array(layer)[..., :count, :] for layer in kept])
            group.check("keys and values", name, made, NEAR)
        x = group.given("x1")
        every = np.array(lm.speech(range(lm.config.speech_tokens)))
        nearest = every[np.abs(every - x[0]).max(axis=1).argmin()]
        group.check("a token's embedding", "x1", nearest[None, None], EXACT)
        hidden = lm.hidden(mx.array(x), cache)
        group.check("hidden states", "h1", hidden, NEAR)
        group.check("logits of a cached step", "logits1", lm.decode(hidden), NEAR)

    def pieces(self, group: Group) -> None:
        """A text in pieces: every call."""
        facts, drawn = group.facts, Drawn(group.given("u"))
        said, pieces = facts["prompt_text"], facts["pieces"]
        ids = [number for piece in pieces for number in self.model.tokenize(piece)]
        group.check("ids", "text_ids", ids, EXACT)
        group.check("ids", "prompt_text_ids", self.model.tokenize(said) if said else [], EXACT)
        inputs, logits = list[np.ndarray](), list[np.ndarray]()
        lm = self.model.lm
        with (
            drawn.watched(),
            wrapped(lm, "hidden", lambda x, _: inputs.append(np.array(x[0]))),
            wrapped(lm, "decode", lambda _, made: logits.append(np.array(made[0]))),
        ):
            tokens = self.model.generate(
                iter(pieces),
                prompt_text=said or None,
                prefix_tokens=group.ids("prompt_speech_token") or None,
                uniforms=drawn.left,
                compatible=True,
            )
        group.check("positions a call", "step_lengths", [len(x) for x in inputs], EXACT)
        group.check("inputs of calls", "step_inputs", np.concatenate(inputs), EXACT)
        group.check_first("logits of calls", "logits", np.stack(logits), NEAR)
        group.check("tokens", "tokens", tokens, EXACT)
        self._draws(group, drawn)

    def sampler(self, group: Group) -> None:
        logits, config = mx.array(group.given("logp"), mx.float32), self.model.lm.config
        closed = [bool(each) for each in group.given("ignore_eos")]
        found, numbers = [], 0
        cases = zip(
            Heads.from_logits(logits, closed, config).rows(),
            group.given("past"), group.given("u"), strict=True,
        )  # fmt: skip
        for head, past, uniforms in cases:
            drawn = Drawn(uniforms[uniforms >= 0])
            before = [int(each) for each in past if each >= 0]
            found.append(drawn.choose(head, before, lambda d=drawn: next(d.left), config))
            numbers += len(drawn.kinds)
        group.check("tokens", "token", found, EXACT)
        group.same("numbers drawn", numbers, int((group.given("u") >= 0).sum()))

    # ---- flow

    def noise(self, group: Group) -> None:
        made = np.array(noise()).T
        first, last = (group.given(name).shape[-1] for name in ("first", "last"))
        group.check("noise", "first", made[:, :first], DRAWN)
        group.check("noise", "last", made[:, -last:], DRAWN)
        group.check("noise, sums", "row_sums", made.sum(axis=1, dtype=np.float64), 1e-3)

    def encoder(self, group: Group) -> None:
        flow = self.model.flow
        flow.join()
        encoder, ids = flow.encoder, mx.array(group.given("tokens"))
        reach = group.given("pos_emb").shape[1] // 2 + 1
        table = distance_table(flow.config.encoder.width, reach)
        group.check("distances", "pos_emb", table, NEAR)
        x = encoder.embed(flow.input_embedding(ids))
        group.check("first layers", "after_embed", x, NEAR)
        x = encoder.pre_lookahead_layer(mx.pad(x, [(0, 0), (0, 3), (0, 0)]))
        group.check("first layers", "after_lookahead", x, NEAR)
        table = encoder._distance_tables("encoders", x.shape[1])[0]
        made = encoder.encoders[0](x, table, Sight(None))
        group.check("first layers", "after_layer0", made, NEAR)
        for streaming in (False, True):
            for ending in ("final", "context"):
                name = f"encoder_streaming{streaming:d}_{ending}"
                h = flow.encoder(
                    flow.input_embedding(ids),
                    [ids.shape[1]],
                    streaming=streaming,
                    finalize=ending == "final",
                )
                group.check("encoder", name, h, NEAR)
        h = mx.array(group.given("encoder_streaming0_final"))
        group.check("frames of it", "mu", flow.encoder_proj(h), NEAR)
        nothing = np.zeros((0, MELS), np.float32)
        row = FlowRow(nothing[:, 0], nothing[:, 0], nothing, group.given("embedding")[0])
        group.check("speaker", "spk", flow.speaker([row]), NEAR)

    def estimator(self, group: Group) -> None:
        self.model.flow.join()
        estimator = self.model.flow.decoder.estimator
        times = group.given("t")
        sines = time_embedding(times, estimator.config.in_channels)
        group.check("moments", "time_sin", sines, NEAR)
        group.check("moments", "time_emb", estimator.time_mlp(sines), NEAR)
        x, mu, cond = (group.row(name) for name in ("x", "mu", "cond"))
        speakers = mx.array(group.given("spks"))
        rows = [slice(n, n + 1) for n in range(len(times))]
        for streaming in (False, True):
            chunk = estimator.config.chunk if streaming else None
            seen = row_sight([x.shape[1]], x.shape[1], chunk)
            made = [estimator(x[n], mu[n], times[n], speakers[n], cond[n], seen) for n in rows]
            name = f"out_streaming{streaming:d}"
            group.check("velocity", name, mx.concatenate(made), NEAR, "turned")
        resnet, blocks = [], []
        for n in rows:
            known = estimator.condition_terms(mu[n], speakers[n], cond[n])
            moment = estimator.moments(times[n])[0]
            resnet.append(estimator._first_block(x[n], known, moment[0], None))
            blocks.append(estimator.down_blocks[0][1][0](resnet[-1], Sight(None)))
        group.check("first blocks", "down_resnet", mx.concatenate(resnet), NEAR, "turned")
        group.check("first blocks", "down_transformer0", mx.concatenate(blocks), NEAR)

    def solver(self, group: Group) -> None:
        flow = self.model.flow
        flow.join()
        x, mu, cond = (group.row(name) for name in ("noise", "mu", "cond"))
        group.check("noise", "noise", noise()[: x.shape[1]], DRAWN, "turned")
        grid = group.given("t_span")
        moments, widths = schedule(len(grid) - 1)
        group.check("moments", "t_span", np.append(moments, moments[-1] + widths[-1]), 2e-7)
        known = flow.decoder.estimator.condition_terms(
            mu, mx.array(group.given("spks")), cond, guided=True
        )
        for name in self.groups[group.name]["arrays"]:
            if not name.startswith("out_"):
                continue
            steps, streaming = (int(part[1:]) for part in name.split("_")[1:])
            chunk = flow.config.estimator.chunk if streaming else None
            seen = row_sight([x.shape[1]] * 2, x.shape[1], chunk)
            made = flow.decoder(x, known, seen, steps)
            group.check(f"mel of {steps} steps", name, made, NEAR, "turned")

    def mels(self, group: Group) -> None:
        """Tokens to mel; an array's meaning in index.json says how."""
        inputs = ("token", "prompt_token", "prompt_feat", "embedding")
        token, prompt, mel, speaker = (group.given(name)[0] for name in inputs)
        for name, told in self.groups[group.name]["arrays"].items():
            if name in inputs:
                continue
            heard = not name.startswith("noprompt")
            row = FlowRow(token, prompt[: heard * len(prompt)], mel[: heard * len(mel)], speaker)
            [made] = self.model.flow.mel(
                [row],
                streaming="streaming=True" in told["meaning"],
                finalize="finalize=True" in told["meaning"],
            )
            group.check("mel of tokens", name, made, NEAR, "turned")

    # ---- vocoder

    def vocoder(self, group: Group) -> None:
        hift = self.model.vocoder
        mel = group.row("mel")
        hift.ready()
        group.check("pitch", "f0", hift.pitch(mel), HERTZ)
        f0, drawn = group.given("f0")[0], group.given("noise")[0]
        group.check("voiced frames", "uv", f0 > hift.config.voiced_threshold, EXACT)
        sines = list[np.ndarray]()
        with wrapped(source, "_sines", lambda _, made: sines.append(np.array(made))):
            made = excite(hift, f0, Noise(hift, numbers=drawn))
        sines_made = np.concatenate(sines).reshape(-1, drawn.shape[1])
        group.check("sines", "sines", sines_made, SOURCE)
        group.check("source", "source", np.array(made)[None], SOURCE)
        recorded = mx.array(group.given("source")[:, 0])
        real, imaginary = mx.split(hift.analyse(recorded), 2, axis=-1)
        group.check("source's spectrum", "stft_real", real, SAMPLES, "turned")
        group.check("source's spectrum", "stft_imag", imaginary, SAMPLES, "turned")
        self._layers(group, mel, recorded)
        group.check("samples of a source", "wav", hift.decode(mel, recorded), SAMPLES)
        silent = excite(hift, f0, Noise(hift, numbers=0 * drawn))
        found = hift.decode(mel, silent[None])
        group.check("samples of mel and pitch", "wav_no_noise", found, SPOKEN)
        cached = group.given("cache_source")[0, 0]
        carried = np.concatenate([cached, np.array(made)[len(cached) :]])
        group.check("source carried on", "source_cache", carried[None], SOURCE)
        known = mx.array(group.given("source_cache")[:, 0])
        group.check("samples of a source", "wav_cache", hift.decode(mel, known), SAMPLES)

    def _layers(self, group: Group, mel: mx.array, recorded: mx.array) -> None:
        hift = self.model.vocoder
        before = hift.conv_pre(mel)
        down = hift.source_downs[0](hift.analyse(recorded))
        up = hift.ups[0](mx.maximum(before, before * hift.config.slope))
        beside = hift.source_resblocks[0](down)
        layers = {
            "conv_pre": before,
            "source_down0": down,
            "ups0": up,
            "source_res0": beside,
            "resblock0": hift.resblocks[0](up + beside),
        }
        for name, made in layers.items():
            group.check("first layers", name, made, SAMPLES, "turned")

    # ---- whole calls

    def whole(self, group: Group) -> None:
        """By parts from recorded inputs, then from text and clip to samples."""
        facts = group.facts
        asked, drawn = self._asked(group), Drawn(group.given("u"))
        speed = asked.pop("speed", 1.0)
        if "tokens" in facts:
            tokens = np.array(facts["tokens"], np.int32)
        else:
            with drawn.watched():
                tokens = self.model.generate(**asked, uniforms=drawn.left)
        self._draws(group, drawn)
        group.same("tokens, number of", len(tokens), facts["flow_calls"][-1][0])
        self._calls(group, asked, tokens, speed)
        self._from_clip(group, asked, speed)

    def _asked(self, group: Group) -> dict[str, Any]:
        """What a call was given, but for its draws."""
        facts = group.facts
        names = {
            "tokens": "tokens",
            "text": "text",
            "prompt_text": "prompt_text",
            "instruct": "instruction",
            "spk_id": "speaker",
            "speed": "speed",
        }
        given = {ours: facts[theirs] for theirs, ours in names.items() if theirs in facts}
        if "prompt" in facts:
            given["reference"] = self.voice(facts["prompt"])
        elif "speaker" not in given:
            given["speaker"] = self.speaker()
        return given

    def _calls(self, group: Group, asked: dict[str, Any], tokens: np.ndarray, speed: float) -> None:
        """Flow and vocoder of each call, from recorded numbers."""
        voice = self.model._resolve_speaker(
            Request(reference=asked.get("reference"), speaker=asked.get("speaker"))
        )
        row = self.model._decoder.row(voice, tokens)
        pieces, before = list[np.ndarray](), np.zeros((0, MELS), np.float32)
        for call, (count, streaming, finalize) in enumerate(group.facts["flow_calls"]):
            part = FlowRow(tokens[:count], row.prompt_tokens, row.prompt_mel, row.speaker)
            [made] = self.model.flow.mel([part], streaming=streaming, finalize=finalize)
            name = f"mel_{call}"
            group.check("mel", name, made, NEAR, "turned")
            mel = group.given(name)[0].T
            pieces.append(mel[len(before) :])
            heard = np.concatenate([before[-streams.OVERLAP_FRAMES :], pieces[-1]])
            pitch = predict_pitch(self.model.vocoder, [resize_mel(heard, speed)])[0]
            group.check("pitch", f"f0_{call}", pitch, HERTZ)
            before = mel
        noises = list(self._noises(group))
        if "source_0" in group:
            self._sourced(group, resize_mel(pieces[0], speed), noises[0])
        self._vocoded(group, pieces, noises, speed)

    def _sourced(self, group: Group, mel: np.ndarray, drawn: np.ndarray) -> None:
        """The first call's source, and its samples where there is no other."""
        hift = self.model.vocoder
        made = excite(hift, group.given("f0_0")[0], Noise(hift, numbers=drawn))
        group.check("source", "source_0", np.array(made)[None], SOURCE)
        if len(group.facts["flow_calls"]) == 1:
            [samples] = decode(hift, [mel], [group.given("source_0")[0, 0]])
            group.check("samples of a source", "wav", samples, SAMPLES)

    def _vocoded(
        self, group: Group, pieces: list[np.ndarray], noises: list[np.ndarray], speed: float
    ) -> None:
        pitches = [group.given(f"f0_{call}")[0] for call in range(len(pieces))]
        if len(pieces) == 1:
            chunks = [self.model.vocode(pieces[0], pitches[0], noises[0], speed)]
        else:
            left = iter(pitches)
            vocoder = streams._OfficialVocoder(self.model._decoder, 0, iter(noises))
            with mock.patch.object(streams, "predict_pitch", side_effect=lambda *_: [next(left)]):
                chunks = [
                    vocoder.speak(piece, last=call + 1 == len(pieces))
                    for call, piece in enumerate(pieces)
                ]
        group.check("lengths of chunks", "chunk_lengths", [len(each) for each in chunks], EXACT)
        group.check("samples of mel, pitch, noise", "wav", np.concatenate(chunks), SPOKEN)

    def _from_clip(self, group: Group, asked: dict[str, Any], speed: float) -> None:
        """From text and clip, as a user calls it."""
        facts, noises = group.facts, self._noises(group)
        if "prompt" in facts:
            path = self.golden.folder / "wav" / f"{facts['prompt']}.wav"
            asked = {**asked, "reference": self.model.reference(path)}
        if "text" in facts:
            asked = {**asked, "uniforms": iter(group.given("u").tolist())}
        if len(facts["flow_calls"]) > 1:
            chunks = list(self.model.stream(**asked, noise=noises, compatible=True, seed=0))
            group.check("lengths of chunks", "chunk_lengths", [len(c) for c in chunks], EXACT)
            group.check_whole("wav", np.concatenate(chunks))
            return
        speech = self.model.speak(**{"text": "", **asked}, noise=next(noises), speed=speed, seed=0)
        group.check("mel of a whole call", "mel_0", speech.mel, NEAR, "turned")
        group.check("lengths of chunks", "chunk_lengths", [len(speech.samples)], EXACT)
        group.check_whole("wav", speech.samples)

    def _noises(self, group: Group) -> Iterator[np.ndarray]:
        """The vocoder's noise, call by call."""
        for call, shape in enumerate(group.facts["hift_noise_shapes"]):
            random = np.random.RandomState(group.facts["hift_noise_seed"] + call)
            yield random.standard_normal(shape).astype(np.float32)[0]


KINDS: tuple[tuple[str, Callable[[Comparison, Group], None]], ...] = (
    ("prompt_", Comparison.clip),
    ("llm_step", Comparison.step),
    ("llm_bistream", Comparison.pieces),
    ("llm_", Comparison.speech),
    ("sampler", Comparison.sampler),
    ("flow_noise", Comparison.noise),
    ("flow_encoder", Comparison.encoder),
    ("flow_estimator", Comparison.estimator),
    ("flow_cfm", Comparison.solver),
    ("flow_inference", Comparison.mels),
    ("hift", Comparison.vocoder),
    ("tts_", Comparison.whole),
)
"""What compares a group, by how its name begins."""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=FOLDER)
    folder = parser.parse_args(arguments).folder
    if not (folder / "index.json").is_file():
        parser.error(f"{folder}: no index.json: no folder of official numbers")
    comparison = Comparison(folder)
    report = comparison.run()
    show(report.checks)
    inputs = sorted(report.inputs - report.compared)
    print(f"inputs alone: {', '.join(inputs)}")
    print(f"not looked at: {', '.join(report.not_looked_at) or 'none'}")
    print_summary(
        "cosyvoice2", report.checks, folder=folder.name, seed=comparison.golden.index.get("seed"),
        arrays=len(report.all), compared=len(report.compared & report.all), inputs=len(inputs),
        not_looked_at=report.not_looked_at,
    )  # fmt: skip
    return 1 if report.failures or not report.compared else 0


if __name__ == "__main__":
    sys.exit(main())
