"""A render in a thread, which goes on when it is let, and those who come while it waits."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from narrator.engines import Engine, Outcome
from narrator.pipeline import book_engines, book_plan, book_reading
from narrator.pipeline.jobs import client, execution
from narrator.pipeline.jobs.client import Answer, Link
from narrator.pipeline.jobs.protocol import Job
from narrator.pipeline.jobs.server import JobHandle
from narrator.pipeline.run import Report
from narrator.progress import ProgressCounter, ProgressEvent, Running, Starting
from narrator.project import load
from narrator.project.project import Project
from tests.fakes import HumEngine, HumSession

SOON = 30.0
"""Seconds after which a test has failed."""


class Screen(ProgressCounter):
    """Notes what it is shown."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []
        self.ticked = threading.Event()

    def __call__(self, event: ProgressEvent) -> None:
        super().__call__(event)
        match event:
            case Starting(what):
                self.said.append(what)
            case Running():
                self.ticked.set()


@dataclass
class GatedSession(HumSession):
    """Finishes nothing of a render until the gate is open; what is asked aside at once."""

    def advance(self) -> Sequence[Outcome]:
        engine = self.engine
        assert isinstance(engine, GatedEngine)
        if engine.gate.is_set():
            return super().advance()
        aside = [index for index, one in enumerate(self.waiting) if one.key.startswith("aside")]
        if engine.free:
            engine.free -= 1
        elif not aside:
            engine.gate.wait(0.01)
            return []
        else:
            self.waiting.insert(0, self.waiting.pop(aside[0]))
        return self.finish()


@dataclass
class GatedEngine(HumEngine):
    slots: int = 64  # some are free
    gate: threading.Event = field(default_factory=threading.Event)
    free: int = 0
    """Requests that it finishes before."""
    session_type: type[HumSession] = GatedSession


@dataclass
class Rendering:
    """A render of this process's own, in a thread."""

    path: Path
    engine: GatedEngine = field(default_factory=GatedEngine)
    chapters: tuple[str, ...] = ()
    force: bool = False
    draft: bool = True
    engines: Mapping[str, Engine] = field(default_factory=dict)
    """Engines of speakers."""
    screen: Screen = field(default_factory=Screen)
    cancel: threading.Event = field(default_factory=threading.Event)
    handle: JobHandle | None = None

    def __enter__(self) -> Rendering:
        for file in self.path.parent.rglob("*.*"):
            if "build" not in file.parts:  # written a while ago
                os.utime(file, (1e9, 1e9))
        self._done = in_thread(self._run)
        self._done.add_done_callback(lambda done: self.screen.ticked.set())
        assert self.screen.ticked.wait(SOON)
        return self

    def __exit__(self, *what: object) -> None:
        self.engine.gate.set()
        wait([self._done], SOON)

    @property
    def report(self) -> Report:
        """Once it has ended. Raises what it raised."""
        self.engine.gate.set()
        return self._done.result(SOON)

    def once_joined(self, act: Callable[[], object]) -> None:
        """Do something as soon as somebody has joined."""

        def wait() -> None:
            assert self.handle is not None
            while not self.handle.joined:
                self.engine.gate.wait(0.01)
            act()

        threading.Thread(target=wait, daemon=True).start()

    def _run(self) -> Report:
        reading = book_reading.read_book(self.path).spoken_by("draft" if self.draft else "")
        engine = "draft" if self.draft else ""
        job = Job(kind="render", engine=engine, chapters=self.chapters, force=self.force)
        selection = book_plan.select(reading.manuscript, job)
        project, joined = reading.manuscript.project, threading.Event()
        with client.submit_or_run(project, job, self.screen, self.cancel, joined) as owner:
            assert not isinstance(owner, Answer)
            self.handle = owner.new_handle(job, self.cancel)
            with owner.doing(self.handle):
                engines = book_engines.BookEngines(self.engine, self.engines)
                return execution.render(
                    owner, self.handle, reading, selection, engines, self.screen
                )


@dataclass
class Coming:
    """Somebody who wants a job done, in a thread."""

    path: Path
    job: Job
    screen: Screen = field(default_factory=Screen)
    cancel: threading.Event = field(default_factory=threading.Event)
    joined: threading.Event = field(default_factory=threading.Event)
    owned: threading.Event = field(default_factory=threading.Event)
    """Whether the project became its own."""

    def __enter__(self) -> Coming:
        self._done = in_thread(self._come)
        return self

    def __exit__(self, *what: object) -> None:
        wait([self._done], SOON)

    @property
    def answer(self) -> Answer | None:
        """What it was answered, in the end. Raises what it raised."""
        return self._done.result(SOON)

    def _come(self) -> Answer | None:
        project = project_of(self.path)
        with client.submit_or_run(project, self.job, self.screen, self.cancel, self.joined) as own:
            if isinstance(own, Answer):
                return own
            self.owned.set()
            return None

    def waits(self) -> None:
        """Once it does."""
        with linked(self.path) as link:
            while not link.hello["queue"]:
                event = link.read(SOON)
                assert event is not None
                if event["event"] == "queued":
                    return


def in_thread(act: Callable[[], Any]) -> Future[Any]:
    pool = ThreadPoolExecutor(1)
    done = pool.submit(act)
    pool.shutdown(wait=False)
    return done


def project_of(path: Path) -> Project:
    return load.load(path)


@contextlib.contextmanager
def linked(path: Path) -> Iterator[Link]:
    link = client.connect(project_of(path))
    assert link is not None
    with contextlib.closing(link):
        yield link


def ended(link: Link, id: str) -> dict[str, Any]:
    """How a job ends."""
    return until(link, "ended", id)


def until(link: Link, kind: str, id: str) -> dict[str, Any]:
    end = time.monotonic() + SOON
    while True:
        event = link.read(SOON)
        assert event is not None, f"{kind} {id} is not told"
        assert time.monotonic() < end, f"{kind} {id} is not told"
        job = event.get("job")
        if event["event"] == kind and (job["id"] if isinstance(job, dict) else job) == id:
            return dict(event)


def asked(path: Path, job: Job) -> dict[str, Any]:
    """A job done by who owns the project, and how it ended."""
    with linked(path) as link:
        return ended(link, link.submit(job))
