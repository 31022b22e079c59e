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
from narrator.progress import (
    ChunkEvent,
    ChunkGivenUp,
    ChunkRendered,
    ChunkRetried,
    Exporting,
    ProgressEvent,
    Running,
)
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
    """Notes the events of a run."""

    rendered: list[ChunkRendered] = field(default_factory=list)
    retried: list[ChunkRetried] = field(default_factory=list)
    given_up: list[ChunkGivenUp] = field(default_factory=list)
    stages: list[str] = field(default_factory=list)
    notes: list[tuple[int, float, str]] = field(default_factory=list)
    cancel: threading.Event = field(default_factory=threading.Event)
    stop_after: int | None = None
    book: book_plan.BookPlan | None = None
    """The plan at the end of the run."""

    def __call__(self, event: ProgressEvent) -> None:
        match event:
            case ChunkRendered():
                self.rendered.append(event)
                if self.stop_after is not None and len(self.rendered) >= self.stop_after:
                    self.cancel.set()
            case ChunkRetried():
                self.retried.append(event)
            case ChunkGivenUp():
                self.given_up.append(event)
            case Running():
                self.notes.append((event.slots, event.busy, event.note))
            case Exporting():
                if self.stages[-1:] != [event.what]:
                    self.stages.append(event.what)

    def _steps(self, events: Sequence[ChunkEvent]) -> list[Step]:
        assert self.book is not None
        steps = {step.key: step for step in self.book.steps}
        return [steps[event.key] for event in events]

    @property
    def takes(self) -> list[tuple[Step, Record]]:
        """The steps that were rendered, each with its take at the end of the run."""
        assert self.book is not None
        records = [self.book.store.find(event.key) for event in self.rendered]
        rows = zip(self._steps(self.rendered), records, strict=True)
        return [(step, record) for step, record in rows if record]

    @property
    def retries(self) -> list[Step]:
        return self._steps(self.retried)

    @property
    def flags(self) -> list[Step]:
        return self._steps(self.given_up)

    @property
    def faults(self) -> list[str]:
        return [fault for event in (*self.retried, *self.given_up) for fault in event.faults]

    @property
    def ids(self) -> list[str]:
        return [event.chunk for event in self.rendered]

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
        sink=watcher,
        cancel=watcher.cancel,
        speak=speak,
        engines=engines,
    )
    watcher.book = report.plan
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
