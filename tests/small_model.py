"""A whole book through the real engine, with a small checkpoint in the official layout.

Its weights are random: it makes noise, ends where it likes, and no check of speech would pass it.
So of the checks only "finite" counts here, and the first candidate of a casting is taken, which is
short and quickly made, as all else is: what costs here is every patch and every step of it. Of
CosyVoice2 the flow is left out, which other tests have.

As a program, `python -m tests.small_model BOOK` renders a book that way; tests kill it.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest import mock

import mlx.core as mx
import numpy as np

from cosyvoice2.config import MELS
from cosyvoice2.flow import Flow, FlowRow
from narrator.cast import auditions, presets
from narrator.engines.cosyvoice2 import loaded_model as cosyvoice2
from narrator.engines.mlx import worker_process
from narrator.engines.voxcpm2 import loaded_model as voxcpm2
from narrator.engines.voxcpm2.engine import VoxCPM2Engine
from narrator.pipeline import book_engines, book_plan, manuscript, run
from narrator.sound import audio
from narrator.speech import checks
from narrator.speech.plan import Step
from narrator.speech.store import Store
from tests import books, sounds
from tests.voxcpm2.conftest import Golden

CLIP_SAYS = "The river was high that spring, and the ferry ran late on most days of the week."

MANIFEST = """\
title: The Ferry
author: A. Author
language: en
engine:
  {{model: {model}, slots: {slots}, process: same, steps: 2, earliest_stop: 0.1, seed: 7}}
speakers:
  narrator: {{voice: {{reference: voices/narrator.wav, transcript: "{said}"}}}}
  ann: {{voice: {{description: A girl, seed: 3}}, style: softly}}
  bob: {{voice: bob, chain: {{mode: continuation}}}}
  cy: {{chain: {{mode: reference}}}}
narrator: narrator
chapters:
  - {{title: Morning, file: text/1.md}}
  - {{title: Noon, file: text/2.md}}
  - {{title: Evening, file: text/3.md, chain: {{max_chunks: 2}}}}
output: {{formats: [wav], files: chapters}}
"""

CHAPTERS = (
    """\
The ferry left at seven, as it had on every morning. Nobody had ever asked it to wait.

ann: Is there room for one more? I have come all this way along the river.

bob: There is room for two, if the second is a goat. Come aboard and mind the rope.

She looked for a goat, and found none.

bob: Keep your feet dry, for the boards are older than I am.

The mist was lifting by then, and the water lay flat and grey from one side to the other.

bob: There is the far bank.
""",
    """\
By noon they had crossed three times, and she had learned the names of all the birds.

cy: Three times is nothing. I crossed it twenty times a day when I was young.

cy: Then the bridge was built, and I crossed it never.

ann (whispering): Who is that?
""",
    """\
The lamps were lit on both banks, and the last of the market people had gone home.

The ferry lay at its rope and turned a little, like a dog that cannot sleep.

He said that the weather would hold. About the rest he knew nothing.

bob: Good night, then.
""",
)


LENIENT = worker_process._START.replace(
    "main(int",
    """\
from tests import small_model
with small_model.lenient():
    main(int""",
)
"""How the model's own process begins, if it has one."""


def write(
    folder: Path,
    model: Path,
    *,
    slots: int = 3,
    manifest: str = MANIFEST,
    clips: tuple[float, float] = (6.0, 4.0),
) -> Path:
    """A book of three chapters and four voices: a clip, a description, a preset, and nothing.

    `clips` are the seconds of the clip and of the preset's.
    """
    (folder / "text").mkdir(parents=True)
    (folder / "voices").mkdir()
    for number, text in enumerate(CHAPTERS, 1):
        (folder / "text" / f"{number}.md").write_text(text, encoding="utf-8")
    clip = sounds.voice(clips[0], seed=1) * np.float32(0.3)
    (folder / "voices" / "narrator.wav").write_bytes(audio.encode_wav(clip, sounds.RATE))
    other = audio.resample(sounds.voice(clips[1], seed=2) * np.float32(0.3), sounds.RATE, 48_000)
    said = "I have seen a good many rivers, and this is one of them."
    preset = presets.Preset("bob", said, "en", audio.encode_flac(other, 48_000))
    presets.write(preset, folder / "voices" / "bob.voice")
    path = folder / "book.yaml"
    text = manifest.format(model=model, slots=slots, said=CLIP_SAYS)
    path.write_text(text, encoding="utf-8")
    return path


@dataclass(frozen=True)
class RenderedBook:
    """A book that was rendered once, with what the model was asked."""

    path: Path
    report: run.Report
    rows: list[Any]

    @property
    def steps(self) -> tuple[Step, ...]:
        return self.report.plan.steps

    @property
    def store(self) -> Store:
        return Store.open(self.path.parent / "build" / "store")

    def said(self, name: str) -> list[Step]:
        return [step for step in self.steps if step.chunk.speaker == name]


def render_watched(path: Path, batch_type: Any) -> RenderedBook:
    """Renders a book, and notes the rows that are added to the model's batches."""
    rows: list[Any] = []
    add = batch_type.add

    def noted(batch: Any, request: Any) -> Any:
        rows.append(add(batch, request))
        return rows[-1]

    with mock.patch.object(batch_type, "add", noted):
        report, _ = render(path)
    return RenderedBook(path, report, rows)


def copy(path: Path, folder: Path, *, slots: int = 3) -> Path:
    """The project with its cast voices, without its takes."""
    shutil.copytree(path.parent, folder, ignore=shutil.ignore_patterns("store", "book"))
    copied = folder / path.name
    copied.write_text(copied.read_text().replace("slots: 3", f"slots: {slots}"))
    return copied


def render_killed(path: Path, takes: int = 1, delay: float = 0.0) -> subprocess.Popen[bytes]:
    """Renders in a process that is killed once so many takes more are stored; it may end before."""
    journal = path.parent / "build" / "store" / "journal.jsonl"

    def stored() -> int:
        return journal.read_bytes().count(b"\n") if journal.exists() else 0

    program, before = (
        subprocess.Popen([sys.executable, "-m", "tests.small_model", str(path)]),
        stored(),
    )
    while program.poll() is None and stored() < before + takes:
        time.sleep(0.01)
    time.sleep(delay)
    program.kill()
    program.wait()
    return program


def stored_keys(path: Path) -> set[str]:
    return {key for key, _ in Store.open(path.parent / "build" / "store").stored()}


def checkpoint(scratch: Path) -> Path:
    """The checkpoint's folder, put together under `scratch`."""
    return Golden("square", scratch).assemble(scratch / "model")


def hummed(flow: Flow, rows: Sequence[FlowRow], *, streaming: bool = False) -> list[mx.array]:
    """What CosyVoice2's flow, most of its work, is not asked for here: two frames for a token."""
    shape = np.arange(MELS) / MELS
    mels = (np.cos(np.repeat(row.tokens, 2)[:, None] * shape) - 5 for row in rows)
    return [mx.array(mel.astype(np.float32)) for mel in mels]


@contextmanager
def lenient(*, compares_takes: bool = False) -> Iterator[None]:
    """Random weights pass: every check but `finite`, every clip, and a quick first candidate; also
    where the model has a process of its own. Takes may be compared with their speaker's others."""
    examine, step_limits = checks.examine, voxcpm2.step_limits
    find_outliers = checks.find_outliers if compares_takes else lambda *_, **__: ()

    def only_finite(*arguments: Any, **options: Any) -> checks.Verdict:
        verdict = examine(*arguments, **options)
        faults = tuple(fault for fault in verdict.faults if fault.kind == "finite")
        return replace(verdict, faults=faults)

    def brief(*arguments: float) -> tuple[int, int]:
        least, most = step_limits(*arguments)
        return least, min(most, least + 1)

    with (
        mock.patch.object(voxcpm2, "step_limits", brief),
        mock.patch.object(cosyvoice2, "step_limits", brief),
        mock.patch.object(Flow, "mel", hummed),
        mock.patch.object(worker_process, "_START", LENIENT),
        mock.patch.object(checks, "examine", only_finite),
        mock.patch.object(checks, "find_outliers", find_outliers),
        mock.patch.object(auditions, "choose", lambda candidates: candidates[0]),
        mock.patch.dict(auditions.TEXTS, en="The river was high that spring."),
        mock.patch.object(VoxCPM2Engine, "casting_parameters", {"steps": 2, "cfg": 2.0}),
    ):
        yield


def render(
    path: Path, watcher: books.Watcher | None = None, *, deliver: bool = True, **options: Any
) -> tuple[run.Report, books.Watcher]:
    """What `narrator render` does, leniently; where nothing is to `deliver`, up to the takes."""
    with lenient():
        engines = book_engines.engines_for(manuscript.read_manuscript(path).project)
        options["engines"] = engines.by_speaker
        return (books.run if deliver else books.speak)(path, engines.main, watcher, **options)


if __name__ == "__main__":
    with lenient():
        project = manuscript.read_manuscript(Path(sys.argv[1]))
        engines = book_engines.engines_for(project.project)
        run.run(
            project,
            engines.main,
            book_plan.Selection(),
            engines=engines.by_speaker,
            sink=books.Watcher(),
            cancel=threading.Event(),
        )
