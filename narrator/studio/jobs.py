"""What is done with the book by whoever owns it: asked for here, and what is heard of it.

Follows an owner that is there, a render in a terminal too; starts one where something is asked for
and none is. Knows nothing of how jobs are done.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from narrator.errors import EnvironmentFailed, NarratorError
from narrator.pipeline.owning import joining
from narrator.pipeline.owning.jobs import Event, Job, row
from narrator.pipeline.owning.joining import Link
from narrator.studio.desk import Desk

_LOOK = 1.0
"""Seconds after which somebody who owns the project is looked for again."""
_TELL = 0.7
"""Seconds between two words on new takes of a chapter."""


class Jobs:
    """A link to the project's owner, and what it has said."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._mutex = threading.RLock()
        """Of what is known."""
        self._linking = threading.Lock()
        """Held while an owner is looked for, or started, which takes a moment; it is taken before
        `_mutex`, never after it. A link has a lock of its own, which takes no other."""
        self._link: Link | None = None
        self._ended, self._woken = threading.Event(), threading.Event()
        self._running: Mapping[str, Any] | None = None
        self._beside: list[Mapping[str, Any]] = []
        """What is done between the turns of what runs."""
        self._queue: list[Mapping[str, Any]] = []
        self._progress: Mapping[str, Any] | None = None
        self._last: Mapping[str, Any] | None = None
        self._touched: set[int] = set()
        self._told = 0.0
        self._others: set[str] = set()
        """Ids of jobs of another manifest in the project's folder: what they say is not of this
        book, and nobody here stops them."""
        self._thread = threading.Thread(target=self._follow, name="jobs", daemon=True)

    def start(self) -> None:
        """Follow whoever owns the project."""
        self._thread.start()

    def close(self) -> None:
        """Leave: what was started for the studio ends, after what is in flight is stored."""
        self._ended.set()
        self._woken.set()
        with self._linking:
            if self._link:
                self._link.close()
        if self._thread.is_alive():
            self._thread.join(10.0)

    def submit(self, job: Job, id: str = "") -> Mapping[str, Any]:
        """Ask for a job, by an id that it has had before if any; it as events have it.

        Raises EnvironmentFailed.
        """
        job = job.model_copy(update={"book": self._desk.view.project.path.name})
        for _ in range(2):
            link = self._linked(start=True)
            if link is None:
                break
            try:
                return self._asked(link, row(link.submit(job, id), job, time.time()))
            except BrokenPipeError:
                self._drop(link)  # it went this moment: another one does it
        raise EnvironmentFailed("whoever works on the project ends again and again; see its log")

    def _asked(self, link: Link, job: Mapping[str, Any]) -> Mapping[str, Any]:
        """It waits from now on for who asks, before the owner has said so; it as it is."""
        with self._mutex:
            known = {one["id"] for one in (*self._queue, *self._begun)}
            if job["id"] in link.unfinished and job["id"] not in known:
                self._queue.append(job)
        return job

    def _linked(self, *, start: bool) -> Link | None:
        """The link to the owner there is; with `start` to one of our own, if there is none.

        Raises EnvironmentFailed.
        """
        project = self._desk.view.project
        with self._linking:
            if self._link is None and not self._ended.is_set():
                link = joining.join(project)
                if link is None and start:
                    link = joining.started(project)
                if link is not None:
                    self._hear(link.hello)
                    self._link = link
                    self._woken.set()
            return self._link

    @property
    def _begun(self) -> list[Mapping[str, Any]]:
        """What is done beside what runs comes before it: it waits for its own turn else."""
        return [*self._beside, *([self._running] if self._running else [])]

    def stop(self) -> None:
        """Stop what runs and what is done beside it, and drop what waits."""
        with self._mutex:
            link = self._link
            names = [str(one["id"]) for one in (*self._queue, *self._begun)]
        if link:
            for name in names:
                link.stop(name)

    def state(self) -> dict[str, Any]:
        """What runs, what waits, how far it is, and how the last one ended."""
        with self._mutex:
            return {
                "running": self._running,
                "queue": list(self._queue),
                "progress": self._progress,
                "last": self._last,
            }

    # -- hearing -----------------------------------------------------------------------------------

    def _follow(self) -> None:
        """In a thread of its own; nothing that an owner says or does ends it."""
        while not self._ended.is_set():
            link = self._linked(start=False)
            if link is None:
                self._woken.wait(_LOOK)
                continue
            self._woken.clear()
            try:
                event = link.read(_TELL)
            except EOFError:
                self._gone(link)
                continue
            if event is not None:
                self._hear(event)
            self._tell()

    def _drop(self, link: Link) -> None:
        with self._mutex:
            if self._link is link:
                self._link, self._running, self._progress = None, None, None
                self._queue, self._beside = [], []

    def _gone(self, link: Link) -> None:
        """The owner has ended: what waits is done by another one, under the ids that pages know;
        what was begun is lost, and not done again."""
        with self._mutex:
            begun, left = self._begun if self._link is link else [], dict(link.unfinished)
            self._drop(link)
            for one in begun:
                self._last = {
                    "kind": one["kind"], "exit": 1, "text": "",
                    "error": "whoever rendered has ended; what was finished is stored",
                }  # fmt: skip
                left.pop(str(one["id"]), None)
        link.close()
        self._say({"event": "gone", "lost": [one["id"] for one in begun]})
        self._desk.later("reading the takes", self._desk.replan)
        for id, job in left.items() if not self._ended.is_set() else ():
            try:
                self.submit(job, id)
            except NarratorError as error:  # the page goes on: another may own it by and by
                with self._mutex:
                    self._last = {"kind": job.kind, "exit": error.exit_code, "text": "",
                                  "error": str(error)}  # fmt: skip
                self._say({"event": "gone", "lost": [id]})

    def _hear(self, event: Event) -> None:
        with self._mutex, contextlib.suppress(*joining.BROKEN):
            if self._is_anothers(event.get("job")):
                return
            match event.get("event"):
                case "hello":
                    self._others.clear()
                    self._beside.clear()
                    ours = [one for one in event["queue"] if not self._is_anothers(one)]
                    running = None if self._is_anothers(event["running"]) else event["running"]
                    self._running, self._queue = running, ours
                    self._progress = event["progress"] if running else None
                case "queued":
                    self._left(event["job"]["id"])
                    self._queue.append(event["job"])
                case "joined":
                    self._left(event["job"])
                case "started":
                    self._left(event["job"]["id"])
                    if event["job"].get("beside"):
                        self._beside.append(event["job"])
                    else:
                        self._running, self._progress = event["job"], None
                case "progress":
                    self._progress = event
                case "rendered":
                    self._touch(str(event["chunk"]))
                case "ended":
                    self._end(event)
            if event.get("event") == "hello":
                event = {**event, "running": self._running, "queue": list(self._queue),
                         "progress": self._progress}  # fmt: skip
        self._say(event)

    def _is_anothers(self, job: object) -> bool:
        """Whether a job, or the id of one, is of another manifest."""
        if isinstance(job, str):
            return job in self._others
        book = job.get("book") if isinstance(job, Mapping) else None
        if isinstance(job, Mapping) and book not in (None, self._desk.view.project.path.name):
            self._others.add(str(job.get("id")))
            return True
        return False

    def _left(self, name: str) -> None:
        """A job waits no more, nor is it done beside another."""
        self._queue = [one for one in self._queue if one["id"] != name]
        self._beside = [one for one in self._beside if one["id"] != name]

    def _end(self, event: Event) -> None:
        self._last = {
            "kind": event["kind"],
            "exit": event["exit"],
            "error": event["error"],
            "text": _said(event["summary"]),
        }
        if self._running and self._running["id"] == event["job"]:
            self._running = self._progress = None
        self._left(event["job"])
        self._touched.clear()
        self._desk.later("reading the takes", self._desk.replan)

    def _touch(self, chunk: str) -> None:
        step = self._desk.view.steps.get(chunk)
        if step:
            self._touched.add(step.chapter)

    def _tell(self) -> None:
        """Say which chapters have new takes, now and then."""
        if self._touched and time.monotonic() - self._told >= _TELL:
            touched, self._touched = self._touched, set()
            self._told = time.monotonic()
            for chapter in touched:
                self._desk.touched(chapter)

    def _say(self, event: Event) -> None:
        self._desk.events.send({"type": "job", **event})


def _said(summary: Mapping[str, Any]) -> str:
    """How a job ended, in a line."""
    if "retaken" in summary:
        good = sum(row.get("pinned") is not None for row in summary["retaken"])
        return f"a good take for {good} of {len(summary['retaken'])}"
    files = summary.get("files", ())
    rendered = summary.get("rendered", 0)
    parts = [
        f"{count} {what}"
        for count, what in (
            (rendered, "chunk spoken" if rendered == 1 else "chunks spoken"),
            (len(summary.get("given_up", ())), "given up"),
            (len(summary.get("doubtful", ())), "doubtful"),
            (len(files), "file" if len(files) == 1 else "files"),
        )
        if count
    ]
    return ", ".join(parts) + (f" in {_folder(files[0])}" if files else "")


def _folder(file: str) -> str:
    """Where a finished file lies, from the project's own folder on."""
    parts = Path(file).parts[:-1]
    if "build" in parts:
        parts = parts[max(0, parts.index("build") - 1) :]
    return "/".join(parts)
