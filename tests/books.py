"""A small project for tests, and a silent observer to render it with."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any
from unittest import mock

from narrator.delivery import finish
from narrator.engines import Engine
from narrator.pipeline import book_plan
from narrator.pipeline import run as pipeline_run
from narrator.pipeline.manuscript import Manuscript, read_manuscript
from narrator.pipeline.options import RenderOptions
from narrator.pipeline.run import Report
from narrator.speech.plan import Step
from narrator.speech.reasons import RenderReason
from narrator.speech.store import Record

MANIFEST = """\
title: The Ferry
author: A. Author
language: en-GB
speakers:
  narrator: {voice: {description: An old ferryman}}
  ann: {voice: {description: A girl, seed: 3}}
chapters:
  - {title: Morning, file: text/one.md}
  - {title: Evening, file: text/two.md}
output: {formats: [wav], files: chapters}
"""

PLAIN = MANIFEST[: MANIFEST.index("output:")]
"""The same without an output, for one of the test's own."""

ONE = """\
# Morning

The ferry left at seven, as it had on every morning. Nobody had ever asked it to wait.

ann: Is there room for one more, or have I come for nothing?

The ferryman looked at her, and then at the sky, and then at the far bank. He had no reason to \
say no.

ann (whispering): I have no money, but I can row.

He moved his bag from the seat. The mist was lifting by then.

***

By noon they had crossed three times, and the girl had learned the names of all the birds. She \
forgot them again by evening.
"""

TWO = """\
# Evening

The lamps were lit on both banks. The ferry lay at its rope, like a dog that cannot sleep.

ann: I shall come again tomorrow, if the weather holds and my aunt does not find out.

He said that the weather would hold. About aunts he knew nothing, and did not pretend to.
"""

BRIEF_ONE = """\
# Morning

The ferry left at seven.

ann: Is there room for one more?
"""

BRIEF_TWO = """\
# Evening

The lamps were lit on both banks.

ann: I shall come again.

About aunts he knew nothing.
"""


def write(folder: Path, manifest: str = MANIFEST, one: str = ONE, two: str = TWO) -> Path:
    (folder / "text").mkdir(parents=True, exist_ok=True)
    (folder / "text" / "one.md").write_text(one, encoding="utf-8")
    (folder / "text" / "two.md").write_text(two, encoding="utf-8")
    path = folder / "book.yaml"
    path.write_text(manifest, encoding="utf-8")
    return path


def brief(
    folder: Path, manifest: str = MANIFEST, one: str = BRIEF_ONE, two: str = BRIEF_TWO
) -> Path:
    """The same book in a few seconds of speech: for tests of what is delivered."""
    return write(folder, manifest, one, two)


@dataclass
class Watcher:
    """Notes what a run tells."""

    takes: list[tuple[Step, Record]] = field(default_factory=list)
    retries: list[Step] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    flags: list[Step] = field(default_factory=list)
    stages: list[str] = field(default_factory=list)
    notes: list[tuple[int, float, str]] = field(default_factory=list)
    cancel: threading.Event = field(default_factory=threading.Event)
    stop_after: int | None = None

    def planned(self, book: book_plan.BookPlan) -> None:
        pass

    def rendered(self, step: Step, record: Record) -> None:
        self.takes.append((step, record))
        if self.stop_after is not None and len(self.takes) >= self.stop_after:
            self.cancel.set()

    def starting(self, what: str) -> None:
        pass

    def retried(self, step: Step, faults: Sequence[str]) -> None:
        self.retries.append(step)
        self.faults += faults

    def flagged(self, step: Step, faults: Sequence[str]) -> None:
        self.flags.append(step)
        self.faults += faults

    def running(self, slots: int, busy: float, note: str) -> None:
        self.notes.append((slots, busy, note))

    def tick(self) -> None:
        pass

    def exporting(self, what: str, done: int, total: int) -> None:
        if not self.stages or self.stages[-1] != what:
            self.stages.append(what)

    @property
    def ids(self) -> list[str]:
        return [step.id for step, _ in self.takes]

    @property
    def texts(self) -> set[str]:
        return {step.chunk.text.strip() for step, _ in self.takes}


def read(
    path: Path, engine: Engine, engines: Mapping[str, Engine] = MappingProxyType({})
) -> Manuscript:
    """The manuscript as these engines speak it: a draft if all of them are called so."""
    names = {engine.name, *(other.name for other in engines.values())}
    return read_manuscript(path).spoken_by("draft" if names == {"draft"} else "")


def run(
    path: Path,
    engine: Engine,
    watcher: Watcher | None = None,
    *,
    chapters: Sequence[str] = (),
    speakers: Sequence[str] = (),
    force: bool = False,
    speak: bool = True,
    engines: Mapping[str, Engine] = MappingProxyType({}),
) -> tuple[Report, Watcher]:
    """What `narrator render` does, with any engine, and those of speakers that have their own."""
    watcher = watcher or Watcher()
    manuscript = read(path, engine, engines)
    options = RenderOptions(chapters=tuple(chapters), speakers=tuple(speakers), force=force)
    selection = book_plan.select(manuscript, options)
    report = pipeline_run.run(
        manuscript,
        engine,
        selection,
        observer=watcher,
        cancel=watcher.cancel,
        speak=speak,
        engines=engines,
    )
    return report, watcher


def speak(
    path: Path, engine: Engine, watcher: Watcher | None = None, **chosen: Any
) -> tuple[Report, Watcher]:
    """The same, and nothing is delivered: for tests of what is spoken."""
    with mock.patch.object(finish, "finish", return_value=None):
        return run(path, engine, watcher, **chosen)


def plan(
    path: Path, engine: Engine, engines: Mapping[str, Engine] = MappingProxyType({})
) -> book_plan.BookPlan:
    manuscript = read(path, engine, engines)
    return book_plan.plan(manuscript, engine, book_plan.Selection(), engines=engines)


def todo(
    path: Path, engine: Engine, engines: Mapping[str, Engine] = MappingProxyType({})
) -> dict[str, RenderReason]:
    """What a render would do and why, by the text of the chunk."""
    book = plan(path, engine, engines)
    return {step.chunk.text.strip(): book.why[step.key] for step in book.todo}
