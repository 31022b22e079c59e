"""What the program costs on top of the model: the same chunks through both, in turn.

    python -m benchmarks.render [CHECKPOINT] [--minutes 5] [--slots 8] [--rounds 3]

Three ways, interleaved, each from cold caches of references:

    program   text, plan, the loop with every check, FLAC, latents, disk and journal, up to stored
              takes; files for listeners are made as well, and timed apart
    chains    the model's own loop on the very requests that the first program run made: a bare
              batch of as many slots, decoding beside its steps, a chunk ready as soon as the row
              of the one before has ended
    free      the same with nothing waiting for anything: all prompts are given from the start, and
              the longest chunks come first

Compared is the wall time of the program's render against each, round by round; the medians count,
since other work on the machine slows all, and where that is much, only CPU seconds and rows a step
say something. "Own" is what the program's main thread does outside the model's steps and decoding,
"waits" is its waiting for the judges with an idle model: those shares are the program's on any
device. On a CPU judges and model share the cores, so that ratios of wall and CPU hold the checks as
well; on a GPU the checks have the CPU to themselves.

Without a checkpoint, a random model that ends where the text should; it is small, a step of 8 rows
takes some 50 ms of one x86-64 core. Chains are of 3 chunks, so that a short text has more of them
than slots, as a book has. On a Linux CPU, LD_PRELOAD OpenBLAS as in `model.py`;
OPENBLAS_NUM_THREADS=1 leaves cores to the judges. Prints a table; the last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from itertools import cycle
from pathlib import Path
from typing import Any
from unittest import mock

import mlx.core as mx
import numpy as np

import voxcpm2
from benchmarks.model import SHIPPED, randomise
from narrator.delivery import finish
from narrator.engines import Request, ignore_message
from narrator.engines.mlx.session import ModelSession
from narrator.engines.voxcpm2.engine import VoxCPM2Engine
from narrator.pipeline import book_engines, manuscript, run
from narrator.sound import audio
from narrator.speech import render
from narrator.speech.plan import Step
from narrator.speech.scheduler import Scheduler
from narrator.text.pace import expected_seconds
from speechbase.device import CACHE_LIMIT
from speechbase.weights import parameters
from tests import books, small_model, sounds
from voxcpm2.audio_vae import AudioVAE
from voxcpm2.config import Config
from voxcpm2.model import Network

ROOT = Path(__file__).parents[1]
CHAIN = 3
"""Chunks of a chain."""
SCENES = 4
"""Of a chapter; a scene is a chain long."""
SCENE = 28.0
"""Seconds of speech in a scene."""

MANIFEST = """\
title: A Measure
author: A. Author
language: en
engine: {{model: {model}, slots: {slots}, seed: 7, process: same{engine}}}
chain: {{max_chunks: {chain}}}
speakers:
  narrator: {{voice: {{reference: narrator.wav, transcript: "{said}"}}}}
narrator: narrator
chapters:
{chapters}
output: {{formats: [wav], files: chapters}}
"""


# -- what is rendered ------------------------------------------------------------------------------


def small() -> dict[str, Any]:
    """config.json of a model a quarter as wide and as deep as the shipped one, or less."""
    config: dict[str, Any] = json.loads(SHIPPED.read_text())
    config["lm_config"] |= {
        "hidden_size": 512,
        "intermediate_size": 1536,
        "num_attention_heads": 4,
        "num_hidden_layers": 5,
        "vocab_size": 1024,
    }
    config["residual_lm_num_layers"] = 2
    for name in ("encoder_config", "dit_config"):
        config[name] |= {"hidden_dim": 256, "ffn_dim": 1024, "num_heads": 2, "num_layers": 1}
    config["audio_vae_config"] |= {"encoder_dim": 16, "decoder_dim": 128}
    return config


def checkpoint(folder: Path) -> Path:
    """Random weights of that size in the layout of conversions, with the tests' tokenizer.

    They want to stop at every step, so that each chunk ends where it first may.
    """
    model = small_model.checkpoint(folder)
    data = small()
    config = Config.from_dict(data)
    mx.random.seed(1)
    network = Network(config)
    randomise(network, mx.float32)
    width = config.base_lm.hidden_size
    network.stop_proj.weight = mx.zeros((width, width))
    network.stop_proj.bias = mx.ones((width,))
    network.stop_head.weight = mx.stack([mx.zeros((width,)), mx.ones((width,))])
    tensors = parameters(network)
    for name, shape in AudioVAE(config.vae).expected_shapes().items():
        scale = float(np.prod(shape[1:])) ** -0.5
        made = mx.ones(shape) if "alpha" in name else scale * mx.random.normal(shape)
        tensors[f"audio_vae.{name}"] = made
    for file in ("model.safetensors", "audiovae.pth"):
        (model / file).unlink()
    mx.save_safetensors(str(model / "model.safetensors"), tensors, {"format": "mlx"})
    (model / "config.json").write_text(json.dumps(data | {"dtype": "float32"}))
    return model


def project(folder: Path, model: Path, minutes: float, slots: int, engine: str) -> Path:
    """A book of so many minutes, of the texts in `projects/`, as one voice reads them."""
    folder.mkdir(parents=True)
    clip = sounds.voice(6.0, seed=1) * np.float32(0.3)
    (folder / "narrator.wav").write_bytes(audio.encode_wav(clip, sounds.RATE))
    chapters: list[str] = []
    scenes: list[str] = []
    scene: list[str] = []
    seconds = 0.0
    for paragraph in cycle(_paragraphs()):
        scene.append(paragraph)
        length = sum(expected_seconds(text, "en") for text in scene)
        if length < SCENE:
            continue
        scenes.append("\n\n".join(scene))
        scene, seconds = [], seconds + length
        if len(scenes) == SCENES or seconds >= 60 * minutes:
            name = f"{len(chapters) + 1}.md"
            (folder / name).write_text("\n\n***\n\n".join(scenes), encoding="utf-8")
            chapters.append(f"  - {{title: Chapter {len(chapters) + 1}, file: {name}}}")
            scenes = []
        if seconds >= 60 * minutes:
            break
    said = small_model.CLIP_SAYS
    path = folder / "book.yaml"
    text = MANIFEST.format(
        model=model,
        slots=slots,
        engine=engine,
        chain=CHAIN,
        said=said,
        chapters="\n".join(chapters),
    )
    path.write_text(text, encoding="utf-8")
    return path


def _paragraphs() -> list[str]:
    """Paragraphs of the repository's own works, without names, headings and marks of the script."""
    found: list[str] = []
    for path in sorted((ROOT / "projects").glob("*/text/*.md")):
        for paragraph in path.read_text(encoding="utf-8").split("\n\n"):
            text = " ".join(paragraph.split())
            name, colon, said = text.partition(": ")
            text = said if colon and len(name) < 40 else text
            if text[:1].isalpha() and not set(text) & set("#*[]{}|<>_"):
                found.append(text.replace(":", ","))
    return found


# -- the program -----------------------------------------------------------------------------------


@dataclass(slots=True)
class Clock:
    """Seconds of the main thread by what it did; steps and the rows in them; the judges' work."""

    seconds: dict[str, float] = field(default_factory=dict)
    model_cpu: float = 0.0
    """CPU seconds of the main thread in the model's steps and decoding."""
    cpu: float = 0.0
    """CPU seconds of the whole process, while it rendered."""
    main_cpu: float = 0.0
    """Those of the main thread."""
    steps: int = 0
    rows: int = 0
    judged: float = 0.0
    """CPU seconds of the judges' threads."""
    inside: bool = False

    def add(self, name: str, began: float) -> None:
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - began

    @property
    def filled(self) -> float:
        """Rows of a step, on average."""
        return self.rows / max(1, self.steps)


@contextmanager
def watched(clock: Clock) -> Iterator[None]:
    """Whatever is rendered meanwhile is timed from outside."""

    def timed(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def instead(*arguments: Any, **options: Any) -> Any:
            if clock.inside:  # the last windows are begun by what waits for them
                return call(*arguments, **options)
            clock.inside, began, cpu = True, time.perf_counter(), time.thread_time()
            try:
                return call(*arguments, **options)
            finally:
                clock.inside = False
                clock.model_cpu += time.thread_time() - cpu
                clock.add(name, began)

        return instead

    step = timed("step", voxcpm2.Batch.step)

    def counted(batch: voxcpm2.Batch) -> list[voxcpm2.Row]:
        ended: list[voxcpm2.Row] = step(batch)
        clock.steps += 1
        clock.rows += batch.running + len(ended)
        return ended

    def waited(futures: Any, *, timeout: float, return_when: str) -> Any:
        began = time.perf_counter()
        done = wait(futures, timeout=timeout, return_when=return_when)
        if timeout:
            clock.add("waits", began)
        return done

    loop = render.render

    def whole(*arguments: Any, **options: Any) -> None:
        cpu, main_cpu = time.process_time(), time.thread_time()
        loop(*arguments, **options)
        clock.cpu += time.process_time() - cpu
        clock.main_cpu += time.thread_time() - main_cpu - clock.model_cpu

    def finished(*arguments: Any, **options: Any) -> Any:
        began = time.perf_counter()
        made = files_made(*arguments, **options)
        clock.add("finish", began)
        return made

    files_made = finish.finish

    class Judges(ThreadPoolExecutor):
        def submit(self, work: Any, /, *arguments: Any, **options: Any) -> Future[Any]:
            def judge() -> Any:
                began = time.thread_time()
                try:
                    return work(*arguments, **options)
                finally:
                    clock.judged += time.thread_time() - began

            return super().submit(judge)

    with ExitStack() as stack:
        for place, name, instead in (
            (voxcpm2.Batch, "step", counted),
            (voxcpm2.Batch, "decoding", timed("decode", voxcpm2.Batch.decoding)),
            (voxcpm2.Decoding, "push", timed("decode", voxcpm2.Decoding.push)),
            (voxcpm2.Decoding, "speech", timed("decode", voxcpm2.Decoding.speech)),
            (finish, "finish", finished),
            (render, "render", whole),
            (render, "wait", waited),
            (render, "ThreadPoolExecutor", Judges),
        ):
            stack.enter_context(mock.patch.object(place, name, instead))
        yield


@dataclass(frozen=True, slots=True)
class Program:
    """One run of the program: seconds of wall time, unless said."""

    render: float
    """The loop, to the last stored take."""
    around: float
    """Text, plan, and what the run keeps in small files."""
    finish: float
    """Files for listeners."""
    own: float
    own_cpu: float
    """CPU seconds of `own`."""
    waits: float
    cpu: float
    """CPU seconds of everything that `render` took."""
    judged: float
    """CPU seconds of checks, FLAC and disk, in threads."""
    speech: float
    """Seconds of speech that were stored."""
    filled: float
    busy: float
    """Share of its time in which the engine made speech, as the session says."""
    steps: int


def rendered(path: Path, engine: VoxCPM2Engine) -> tuple[Program, run.Report]:
    """The whole program, with an engine whose model is loaded, and no takes."""
    build = path.parent / "build"
    for folder in build.glob("*"):
        if folder.is_dir() and folder.name != "voices":
            shutil.rmtree(folder)
    clock = Clock()
    began = time.perf_counter()
    with small_model.lenient(), watched(clock):
        report, _ = books.run(path, engine)
    whole = time.perf_counter() - began
    assert report.complete
    result, seconds = report.result, clock.seconds
    own = result.wall - sum(seconds.get(name, 0.0) for name in ("step", "decode", "waits"))
    return Program(
        render=result.wall,
        around=whole - result.wall - seconds["finish"],
        finish=seconds["finish"],
        own=own,
        own_cpu=clock.main_cpu,
        cpu=clock.cpu,
        waits=seconds.get("waits", 0.0),
        judged=clock.judged,
        speech=result.seconds,
        filled=clock.filled,
        busy=result.busy,
        steps=clock.steps,
    ), report


# -- the model's own loop --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Asked:
    """What the program asked the model for a step, and after which other step."""

    step: Step
    request: voxcpm2.Request


def spied(path: Path, engine: VoxCPM2Engine) -> tuple[list[Asked], Sequence[Step]]:
    """The requests that a run of the program makes of the model, in their order."""
    asked: dict[str, voxcpm2.Request] = {}
    current: list[str] = []
    enter, add = ModelSession.add, voxcpm2.Batch.add

    def entered(session: ModelSession, request: Request) -> None:
        current[:] = [request.key]
        enter(session, request)

    def added(batch: voxcpm2.Batch, request: voxcpm2.Request) -> voxcpm2.Row:
        asked[current[0]] = request
        return add(batch, request)

    with (
        mock.patch.object(ModelSession, "add", entered),
        mock.patch.object(voxcpm2.Batch, "add", added),
    ):
        _, report = rendered(path, engine)
    steps = {step.key: step for step in report.plan.steps}
    return [Asked(step, asked[step.key]) for step in steps.values()], report.plan.steps


@dataclass(frozen=True, slots=True)
class Bare:
    """One run of the model's own loop."""

    wall: float
    cpu: float
    filled: float
    steps: int
    patches: int


def bare(engine: VoxCPM2Engine, asked: Sequence[Asked], slots: int, *, chains: bool) -> Bare:
    """The model's batch, kept full; decoding beside its steps, as the engine does it."""
    loaded = engine._load(ignore_message)
    model = loaded.model
    limit = mx.set_cache_limit(CACHE_LIMIT)
    requests = {one.step.key: one.request for one in asked}
    chunks = [one.step for one in asked]
    if not chains:
        longest_first = sorted(chunks, key=lambda step: -step.expected)
        chunks = [replace(step, parent=None) for step in longest_first]
    scheduler = Scheduler({step.key: step for step in chunks})
    steps = filled = patches = 0
    began, cpu = time.perf_counter(), time.process_time()
    batch = model.batch(slots)
    keys: dict[voxcpm2.Row, str] = {}
    decoding: list[voxcpm2.Decoding] = []
    while scheduler.unfinished_count or decoding:
        while len(batch) < slots and (key := scheduler.next_ready()) is not None:
            keys[batch.add(requests[key])] = key
        for one in decoding:
            one.push()
        done = [one for one in decoding if not one.is_pending or not len(batch)]
        if len(batch):
            ended = batch.step()
            steps, filled = steps + 1, filled + batch.running + len(ended)
            for row in ended:
                scheduler.mark_done(keys.pop(row))
                decoding.append(batch.decoding(row, loaded.decoding_stream))
        for one in done:
            decoding.remove(one)
            patches += len(one.speech().latents)
    wall, cpu = time.perf_counter() - began, time.process_time() - cpu
    model.clear_caches()
    mx.set_cache_limit(limit)
    return Bare(wall, cpu, filled / steps, steps, patches)


# -- the comparison --------------------------------------------------------------------------------


@dataclass(slots=True)
class Rounds:
    """Runs of each way; those of one place in the lists were neighbours in time."""

    program: list[Program] = field(default_factory=list)
    chains: list[Bare] = field(default_factory=list)
    free: list[Bare] = field(default_factory=list)

    def figures(self) -> dict[str, float]:
        """Medians over the rounds; ratios are taken within each."""

        def of(value: Callable[[Program], float]) -> float:
            return statistics.median(map(value, self.program))

        def over(runs: Sequence[Bare]) -> float:
            pairs = zip(self.program, runs, strict=True)
            return statistics.median(p.render / one.wall for p, one in pairs)

        def cpu_over(runs: Sequence[Bare]) -> float:
            pairs = zip(self.program, runs, strict=True)
            return statistics.median(p.cpu / one.cpu for p, one in pairs)

        return {
            "over_chains": over(self.chains),
            "over_free": over(self.free),
            "cpu_over_chains": cpu_over(self.chains),
            "cpu_over_free": cpu_over(self.free),
            "own_cpu_ms_a_step": of(lambda p: 1000 * p.own_cpu / p.steps),
            "own_share": of(lambda p: p.own / p.render),
            "waits_share": of(lambda p: p.waits / p.render),
            "own_ms_a_step": of(lambda p: 1000 * p.own / p.steps),
            "busy": of(lambda p: p.busy),
            "book_minutes_a_minute": of(lambda p: p.speech / (p.render + p.around)),
            "model_minutes_a_minute": statistics.median(
                p.speech / one.wall for p, one in zip(self.program, self.free, strict=True)
            ),
            "judge_ms_a_second_of_speech": of(lambda p: 1000 * p.judged / p.speech),
            "around_s": of(lambda p: p.around),
            "finish_s": of(lambda p: p.finish),
            "step_ms": statistics.median(1000 * one.wall / one.steps for one in self.free),
        }


def compare(path: Path, engine: VoxCPM2Engine, slots: int, rounds: int) -> Rounds:
    tell("a first run, which shows what the model is asked")
    asked, _ = spied(path, engine)
    found = Rounds()
    ways: list[Callable[[], None]] = [
        lambda: found.program.append(rendered(path, engine)[0]),
        lambda: found.chains.append(bare(engine, asked, slots, chains=True)),
        lambda: found.free.append(bare(engine, asked, slots, chains=False)),
    ]
    for number in range(rounds):
        tell(f"round {number + 1} of {rounds}, load {os.getloadavg()[0]:.1f}")
        for way in (ways, ways[::-1])[number % 2]:
            way()
    return found


def tell(what: str) -> None:
    print(f"{what} …", file=sys.stderr, flush=True)


def show(found: Rounds, figures: dict[str, float]) -> None:
    print(
        f"\n{'round':6} {'program s':>10} {'chains s':>9} {'free s':>8} {'rows a step of each':>24}"
    )
    for i, (program, chains, free) in enumerate(
        zip(found.program, found.chains, found.free, strict=True), 1
    ):
        print(
            f"{i:5}  {program.render:10.2f} {chains.wall:9.2f} {free.wall:8.2f} "
            f"{program.filled:10.2f} {chains.filled:6.2f} {free.filled:6.2f}"
        )
    print(f"""
the program's render took {figures["over_chains"]:.3f} times the model's own loop over chains
                          {figures["over_free"]:.3f} times the one in which nothing waits
in CPU seconds, checks included: {figures["cpu_over_chains"]:.3f} and \
{figures["cpu_over_free"]:.3f} times (only with OPENBLAS_NUM_THREADS=1: its threads spin)
its main thread, outside steps and decoding: {figures["own_share"]:.2%} of the time, \
{figures["own_ms_a_step"]:.2f} ms a step
the model idle for the judges:               {figures["waits_share"]:.2%}
busy, as the session says:                   {figures["busy"]:.1%}
judges: {figures["judge_ms_a_second_of_speech"]:.0f} ms of CPU for a second of speech
book minutes a minute: {figures["book_minutes_a_minute"]:.2f} with text and plan \
({figures["around_s"]:.2f} s); the model alone {figures["model_minutes_a_minute"]:.2f}
files for listeners, apart: {figures["finish_s"]:.1f} s""")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkpoint", nargs="?", type=Path, help="none: random weights")
    parser.add_argument("--minutes", type=float, default=5.0, help="of speech, a run")
    parser.add_argument("--slots", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()

    with tempfile.TemporaryDirectory(prefix="narrator-bench-") as scratch:
        folder = Path(scratch)
        os.environ["NARRATOR_HOME"] = str(folder / "library")
        given = options.checkpoint
        model = checkpoint(folder / "model") if given is None else given.resolve()
        own = ", earliest_stop: 0.9" if given is None else ""
        path = project(folder / "book", model, options.minutes, options.slots, own)
        settings = manuscript.read_manuscript(path).project
        engine = book_engines.make_main_engine(settings)
        assert isinstance(engine, VoxCPM2Engine)
        found = compare(path, engine, options.slots, options.rounds)
    figures = {name: round(value, 4) for name, value in found.figures().items()}
    show(found, figures)
    report = {
        "bench": "render",
        "model": "random weights" if given is None else given.name,
        "device": str(mx.default_device()),
        "cores": os.cpu_count(),
        "blas_threads": os.environ.get("OPENBLAS_NUM_THREADS"),
        "load": round(os.getloadavg()[0], 2),
        "slots": options.slots,
        "speech_s": round(found.program[0].speech, 1),
        "patches": found.free[0].patches,
        "rounds": options.rounds,
        **figures,
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
