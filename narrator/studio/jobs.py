"""Submits jobs to the project's job server (its owner), and follows their events.

Follows a running owner, also a render in a terminal; starts one if a job needs it. Keeps on disk
which renders and exports have not ended, so that the next studio offers them. Knows nothing of how
jobs are done.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from narrator import files
from narrator.errors import EnvironmentFailed, NarratorError, StorageError
from narrator.pipeline.jobs import client
from narrator.pipeline.jobs.client import Link
from narrator.pipeline.jobs.protocol import PAUSABLE_KINDS, Event, Job, job_row
from narrator.pipeline.jobs.publishing import MALFORMED_EVENT_ERRORS
from narrator.studio.session import ProjectSession

_OWNER_POLL_S = 1.0
"""Seconds between two searches for an owner of the project."""
_NOTICE_INTERVAL_S = 0.7
"""Seconds between two notices of new takes in chapters."""


@dataclass(frozen=True, slots=True)
class _UnfinishedJobs:
    """The contents of the file."""

    jobs: tuple[Job, ...] = ()


class Jobs:
    """A link to the project's owner, and the state of its jobs."""

    def __init__(self, session: ProjectSession) -> None:
        self._session = session
        self._mutex = threading.RLock()
        """Guards the state of the jobs."""
        self._link_lock = threading.Lock()
        """Held while an owner is found or started, which takes a moment. Taken before `_mutex`,
        never after it. A link has its own lock, under which no other is taken."""
        self._link: Link | None = None
        self._closing, self._link_ready = threading.Event(), threading.Event()
        self._running: Mapping[str, Any] | None = None
        self._concurrent: list[Mapping[str, Any]] = []
        """Jobs that run concurrently with the main one."""
        self._queue: list[Mapping[str, Any]] = []
        self._is_paused = False
        """True if renders and exports wait. A new owner is told, once jobs wait for it."""
        self._progress: Mapping[str, Any] | None = None
        self._last: Mapping[str, Any] | None = None
        self._touched_chapters: set[int] = set()
        self._last_notice = 0.0
        self._other_ids: set[str] = set()
        """Ids of jobs of other manifests in the project's folder: their events are ignored, and
        they are not stopped from here."""
        project = session.view.project
        self._file = project.build / f"queue-{project.stem}.json"
        self._saved_jobs = self._earlier_jobs = self._load_earlier()
        """Renders and exports that the last studio did not finish; they wait for somebody to submit
        or forget them."""
        self._thread = threading.Thread(target=self._follow, name="jobs", daemon=True)

    def start(self) -> None:
        """Starts the thread that follows the owner."""
        self._thread.start()

    def close(self) -> None:
        """Closes the link; an owner started for the studio ends once takes in flight are stored."""
        self._closing.set()
        self._link_ready.set()
        with self._link_lock:
            if self._link:
                self._link.close()
        if self._thread.is_alive():
            self._thread.join(10.0)

    def submit(self, job: Job, id: str = "") -> Mapping[str, Any]:
        """Submits a job, under its earlier id if it has one; returns its row as in events.

        Raises EnvironmentFailed.
        """
        job = replace(job, book=self._session.view.project.path.name)
        for _ in range(2):
            link = self._open_link(start=True)
            if link is None:
                break
            try:
                row = self._add_to_queue(link, job_row(link.submit(job, id), job, time.time()))
            except BrokenPipeError:
                self._drop(link)  # the owner has just ended: another takes the job
                continue
            with self._mutex:
                self._earlier_jobs = tuple(each for each in self._earlier_jobs if each != job)
                self._save_unfinished(link)
            return row
        raise EnvironmentFailed(
            "the process that speaks for this project keeps ending: its log says why"
        )

    def _add_to_queue(self, link: Link, job: Mapping[str, Any]) -> Mapping[str, Any]:
        """Lists a job as waiting, before the owner confirms it; returns the job."""
        with self._mutex:
            known_ids = {queued_job["id"] for queued_job in (*self._queue, *self._started_jobs)}
            if job["id"] in link.unfinished and job["id"] not in known_ids:
                self._queue.append(job)
        return job

    # -- jobs of an earlier studio -----------------------------------------------------------------

    def _load_earlier(self) -> tuple[Job, ...]:
        with contextlib.suppress(StorageError):  # of another version, or torn: they are forgotten
            return files.load_work(
                self._file, _UnfinishedJobs, _UnfinishedJobs(), title="a queue", remedy="remove it"
            ).jobs
        return ()

    def _save_unfinished(self, link: Link | None) -> None:
        """Saves the renders and exports that are not done, in their order. Under the mutex."""
        if self._closing.is_set():
            return  # those of this link are being dropped
        unfinished = link.unfinished if link else {}
        places = {str(job["id"]): place for place, job in enumerate(self._queue)}
        own_jobs = sorted(unfinished.items(), key=lambda item: places.get(item[0], -1))
        jobs = (*self._earlier_jobs, *(job for _, job in own_jobs if job.kind in PAUSABLE_KINDS))
        if jobs != self._saved_jobs:
            with contextlib.suppress(StorageError):  # they are done all the same
                files.save_json(self._file, asdict(_UnfinishedJobs(jobs)))
            self._saved_jobs = jobs

    def settle_earlier(self, is_resumed: bool) -> None:
        """Submits the jobs that an earlier studio did not finish, or forgets them. Raises
        EnvironmentFailed."""
        with self._mutex:
            jobs, self._earlier_jobs = self._earlier_jobs, ()
        try:
            while jobs and is_resumed:
                self.submit(jobs[0])
                jobs = jobs[1:]
        finally:
            with self._mutex:
                self._earlier_jobs = jobs if is_resumed else ()
                self._save_unfinished(self._link)
            self._send_event({"event": "earlier"})

    def _open_link(self, *, start: bool) -> Link | None:
        """Returns the link to the owner, if any; with `start`, starts an owner if there is none.

        Raises EnvironmentFailed.
        """
        project = self._session.view.project
        with self._link_lock:
            if self._link is None and not self._closing.is_set():
                link = client.connect(project)
                if link is None and start:
                    link = client.connect_or_start(project)
                if link is not None:
                    was_paused = self._is_paused
                    self._handle_event(link.hello)
                    if was_paused:
                        link.pause(True)
                    self._link = link
                    self._link_ready.set()
            return self._link

    @property
    def _started_jobs(self) -> list[Mapping[str, Any]]:
        """The jobs in progress, concurrent ones first."""
        return [*self._concurrent, *([self._running] if self._running else [])]

    def stop(self, id: str = "") -> None:
        """Stops a running job or drops a waiting one; without an id, all of them."""
        with self._mutex:
            link = self._link
            job_ids = [str(job["id"]) for job in (*self._queue, *self._started_jobs)]
        if link:
            for job_id in job_ids:
                if id in ("", job_id):
                    link.stop(job_id)

    def move(self, id: str, before: str) -> None:
        """Moves a waiting job before another one, or to the end of the queue."""
        with self._mutex:
            link, waiting_ids = self._link, {str(job["id"]) for job in self._queue}
        if link and id in waiting_ids and before in (*waiting_ids, ""):
            link.move(id, before)

    def pause(self, is_paused: bool) -> None:
        """Pauses or resumes the queue; a running render waits at its head meanwhile."""
        with self._mutex:
            link = self._link
        if link:
            link.pause(is_paused)

    def state(self) -> dict[str, Any]:
        """Returns the running and waiting jobs, the progress, and the outcome of the last job."""
        with self._mutex:
            return {
                "running": self._running,
                "queue": list(self._queue),
                "paused": self._is_paused,
                "progress": self._progress,
                "last": self._last,
                "earlier": [job_row("", job, 0.0) for job in self._earlier_jobs],
            }

    # -- events of the owner -----------------------------------------------------------------------

    def _follow(self) -> None:
        """Follows owners until closed, whatever they send. Runs in its own thread."""
        while not self._closing.is_set():
            link = self._open_link(start=False)
            if link is None:
                self._link_ready.wait(_OWNER_POLL_S)
                continue
            self._link_ready.clear()
            try:
                event = link.read(_NOTICE_INTERVAL_S)
            except EOFError:
                self._handle_owner_end(link)
                continue
            if event is not None:
                self._handle_event(event)
            self._send_touched()

    def _drop(self, link: Link) -> None:
        with self._mutex:
            if self._link is link:
                self._link, self._running, self._progress = None, None, None
                self._queue, self._concurrent = [], []

    def _handle_owner_end(self, link: Link) -> None:
        """Submits waiting jobs to another owner, under the ids that pages know.

        Jobs in progress are lost, and not repeated.
        """
        with self._mutex:
            started_jobs = self._started_jobs if self._link is link else []
            waiting_jobs = dict(link.unfinished)
            self._drop(link)
            for lost_job in started_jobs:
                self._last = {
                    "kind": lost_job["kind"], "exit": 1, "text": "",
                    "error": "the process that rendered has ended; finished takes are stored",
                }  # fmt: skip
                waiting_jobs.pop(str(lost_job["id"]), None)
            self._is_paused = self._is_paused and bool(waiting_jobs)
        link.close()
        self._send_event({"event": "gone", "lost": [lost_job["id"] for lost_job in started_jobs]})
        self._session.schedule("reading the takes", self._session.replan)
        for id, job in waiting_jobs.items() if not self._closing.is_set() else ():
            try:
                self.submit(job, id)
            except NarratorError as error:  # the page goes on: another owner may start later
                with self._mutex:
                    self._last = {"kind": job.kind, "exit": error.exit_code, "text": "",
                                  "error": str(error)}  # fmt: skip
                self._send_event({"event": "gone", "lost": [id]})

    def _handle_event(self, event: Event) -> None:
        """Follows the jobs of this manifest by an event, and sends it to the pages."""
        with self._mutex, contextlib.suppress(*MALFORMED_EVENT_ERRORS):
            if self._is_other_manifest(event.get("job")):
                return
            match event.get("event"):
                case "hello":
                    self._other_ids.clear()
                    self._concurrent.clear()
                    self._queue = [
                        job for job in event["queue"] if not self._is_other_manifest(job)
                    ]
                    self._is_paused = bool(event.get("paused"))
                    running = event["running"]
                    self._running = None if self._is_other_manifest(running) else running
                    self._progress = event["progress"] if self._running else None
                    event = {**event, "running": self._running, "queue": list(self._queue),
                             "progress": self._progress}  # fmt: skip
                case "queued":
                    self._remove_waiting(event["job"]["id"])
                    self._queue.append(event["job"])
                    if self._running and self._running["id"] == event["job"]["id"]:
                        self._running = self._progress = None  # the queue is paused
                case "order":
                    places = {id: place for place, id in enumerate(event["jobs"])}
                    self._queue.sort(key=lambda job: places.get(job["id"], len(places)))
                case "paused":
                    self._is_paused = event["paused"]
                case "joined":
                    self._remove_waiting(event["job"])
                case "started":
                    self._remove_waiting(event["job"]["id"])
                    if event["job"].get("beside"):
                        self._concurrent.append(event["job"])
                    else:
                        self._running, self._progress = event["job"], None
                case "progress":
                    self._progress = event
                case "rendered":
                    self._mark_touched(str(event["chunk"]))
                case "ended":
                    self._finish_job(event)
            if event.get("event") in ("ended", "order"):
                self._save_unfinished(self._link)
        self._send_event(event)

    def _is_other_manifest(self, job: object) -> bool:
        """True if a job, given as a row or an id, belongs to another manifest."""
        if isinstance(job, str):
            return job in self._other_ids
        if not isinstance(job, Mapping):
            return False
        is_other = job.get("book") not in (None, self._session.view.project.path.name)
        if is_other:
            self._other_ids.add(str(job.get("id")))
        return is_other

    def _remove_waiting(self, job_id: str) -> None:
        """Removes a job from the waiting and concurrent ones."""
        self._queue = [job for job in self._queue if job["id"] != job_id]
        self._concurrent = [job for job in self._concurrent if job["id"] != job_id]

    def _finish_job(self, event: Event) -> None:
        self._last = {
            "kind": event["kind"],
            "exit": event["exit"],
            "error": event["error"],
            "text": _summarize_job(event["summary"]),
        }
        if self._running and self._running["id"] == event["job"]:
            self._running = self._progress = None
        self._remove_waiting(event["job"])
        self._touched_chapters.clear()
        self._session.schedule("reading the takes", self._session.replan)

    def _mark_touched(self, chunk: str) -> None:
        step = self._session.view.steps.get(chunk)
        if step:
            self._touched_chapters.add(step.chapter)

    def _send_touched(self) -> None:
        """Sends notices of chapters with new takes, at intervals."""
        if self._touched_chapters and time.monotonic() - self._last_notice >= _NOTICE_INTERVAL_S:
            chapters, self._touched_chapters = self._touched_chapters, set()
            self._last_notice = time.monotonic()
            for chapter in chapters:
                self._session.forget_takes(chapter)

    def _send_event(self, event: Event) -> None:
        self._session.events.send({"type": "job", **event})


def _summarize_job(summary: Mapping[str, Any]) -> str:
    """Summarises the outcome of a job in a line."""
    if "retaken" in summary:
        good_count = sum(row.get("pinned") is not None for row in summary["retaken"])
        count = len(summary["retaken"])
        if count == 1:
            return "there is a good take" if good_count else "no take was good"
        return f"{good_count} of {count} lines have a good take"
    if "misheard" in summary:
        misheard = summary["misheard"]
        return f"listened to {summary['heard']} takes; {misheard} of all may not say their text"
    files = summary.get("files", ())
    rendered = summary.get("rendered_chunks", 0)
    parts = [
        f"{count} {label}"
        for count, label in (
            (rendered, "line spoken" if rendered == 1 else "lines spoken"),
            (len(summary.get("given_up", ())), "given up"),
            (len(summary.get("doubtful", ())), "doubtful"),
            (len(files), "file" if len(files) == 1 else "files"),
        )
        if count
    ]
    return ", ".join(parts) + (f" in {_project_folder(files[0])}" if files else "")


def _project_folder(file: str) -> str:
    """Returns the folder of a finished file, relative to the project's parent."""
    parts = Path(file).parts[:-1]
    if "build" in parts:
        parts = parts[max(0, parts.index("build") - 1) :]
    return "/".join(parts)
