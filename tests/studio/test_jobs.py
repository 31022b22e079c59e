"""What is done by whoever owns the project: asked for from the page, and followed on it."""

from __future__ import annotations

import queue
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from narrator.errors import EnvironmentFailed
from narrator.pipeline.jobs import client
from narrator.pipeline.jobs.protocol import Job
from narrator.studio import jobs
from tests import studios
from tests.studios import Opened


def ended(event: Any) -> bool:
    return bool(event["type"] == "job" and event["event"] == "ended")


def test_a_book_is_rendered_from_the_page(tmp_path: Path) -> None:
    with studios.opened(studios.write(tmp_path)) as studio:
        events = studio.page.told(
            lambda: studio.page.post("/api/jobs", {"kind": "render", "chapters": ["2"]}),
            ended,
        )
        assert events[-1]["exit"] in (0, 1), events[-1]
        kinds = [event["event"] for event in events if event["type"] == "job"]
        assert kinds[0] == "hello"
        assert {"queued", "started", "rendered"} <= set(kinds)
        studio.do(lambda: None)
        rows = studio.chapter(2)["chunks"]
        assert {row["state"] for row in rows} == {"good"}
        assert studio.chapter(2)["sound"]["kind"] == "mastered"
        known = studio.page.get("/api/book").json["jobs"]
        assert known["running"] is None
        assert known["last"]["kind"] == "render"
        assert known["last"]["text"].startswith("2 lines spoken")


# -- an owner of a test's own ----------------------------------------------------------------------


class Owner:
    """Somebody who owns the project, and says what a test has it say."""

    def __init__(self) -> None:
        self.pid = 1
        self.hello: Any = {
            "event": "hello", "pid": 1, "running": None, "queue": [], "progress": None,
        }  # fmt: skip
        self.said: queue.Queue[Any] = queue.Queue()
        self.submitted: list[Job] = []
        self.stopped: list[str] = []
        self.moved: list[tuple[str, str]] = []
        self.paused: list[bool] = []
        self.unfinished: dict[str, Job] = {}
        self.closed = False

    def submit(self, job: Job, id: str = "") -> str:
        self.submitted.append(job)
        name = id or f"t{len(self.submitted)}"
        self.unfinished[name] = job
        return name

    def stop(self, name: str = "") -> None:
        self.stopped.append(name)

    def move(self, name: str, before: str) -> None:
        self.moved.append((name, before))

    def pause(self, is_paused: bool) -> None:
        self.paused.append(is_paused)

    def read(self, timeout: float | None = None) -> Any:
        try:
            event = self.said.get(timeout=timeout)
        except queue.Empty:
            return None
        if event == "gone":
            raise EOFError
        return event

    def close(self) -> None:
        self.closed = True
        self.said.put("gone")


@pytest.fixture
def owners(monkeypatch: pytest.MonkeyPatch) -> list[Owner]:
    """Those that were started, the last one is there."""
    found: list[Owner] = []

    def started(project: object) -> Owner:
        found.append(Owner())
        return found[-1]

    monkeypatch.setattr(jobs, "_OWNER_POLL_S", 0.01)
    monkeypatch.setattr(client, "connect", lambda project: None)
    monkeypatch.setattr(client, "connect_or_start", started)
    return found


@pytest.fixture
def folder(spoken: Path, tmp_path: Path) -> Path:
    """A rendered book."""
    return Path(shutil.copytree(spoken, tmp_path / "book"))


@pytest.fixture
def idle(owners: list[Owner], folder: Path) -> Iterator[Opened]:
    """A studio that has nobody to talk to yet."""
    with studios.opened(folder) as studio:
        yield studio


RUNNING = {"id": "t1", "kind": "render", "draft": True, "chapters": [], "chunks": [], "since": 1.0}


def is_event(name: str) -> Callable[[Any], bool]:
    return lambda event: event.get("event") == name


def test_an_owner_is_started_once_and_asked(idle: Opened, owners: list[Owner]) -> None:
    for kind, more in (("retake", {"chunks": ["1.3"], "count": 3}), ("pin", {"chunks": ["1.3"]})):
        answer = idle.page.post("/api/jobs", {"kind": kind, **more})
        assert answer.status == 200, answer.json
        assert answer.json["job"]["kind"] == kind
    (owner,) = owners
    assert [job.kind for job in owner.submitted] == ["retake", "pin"]
    assert owner.submitted[0].count == 3
    assert owner.submitted[0].engine == "draft"
    assert owner.submitted[0].book == "book.yaml"


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"kind": "rm"},
        {"kind": "retake", "count": 0},
        {"kind": "retake", "count": 10**9},
        {"kind": "render", "chapters": "1"},
        {"kind": "render", "more": 1},
    ],
)
def test_a_job_of_nonsense_is_refused(idle: Opened, owners: list[Owner], asked: object) -> None:
    answer = idle.page.post("/api/jobs", asked)
    assert answer.status == 400
    assert not owners


def test_what_runs_is_shown_and_stopped(idle: Opened, owners: list[Owner]) -> None:
    idle.page.post("/api/jobs", {"kind": "render"})
    progress = {"event": "progress", "job": "t1", "phase": "render", "done": 1, "of": 2}

    def run() -> None:
        owners[0].said.put({"event": "started", "job": RUNNING})
        owners[0].said.put(progress)

    idle.page.told(run, is_event("progress"))
    known = idle.page.get("/api/book").json["jobs"]
    assert known["running"] == RUNNING
    assert known["progress"] == progress
    assert idle.page.post("/api/jobs/stop").status == 200
    assert owners[0].stopped == ["t1"]


def test_what_is_asked_for_waits_from_the_answer_on_and_once(
    idle: Opened, owners: list[Owner]
) -> None:
    def waiting() -> list[str]:
        return [one["id"] for one in idle.page.get("/api/book").json["jobs"]["queue"]]

    job = idle.page.post("/api/jobs", {"kind": "pin", "chunks": ["1.3"], "number": 1}).json["job"]
    idle.page.post("/api/jobs", {"kind": "render"})
    assert waiting() == ["t1", "t2"]

    def tell() -> None:
        owners[0].said.put({"event": "queued", "job": job})
        owners[0].said.put({"event": "joined", "job": "t2", "to": RUNNING})

    idle.page.told(tell, is_event("joined"))
    assert waiting() == ["t1"]


def queue_of(studio: Opened) -> list[str]:
    return [one["id"] for one in studio.page.get("/api/book").json["jobs"]["queue"]]


def test_waiting_jobs_are_moved_and_dropped_one_by_one(idle: Opened, owners: list[Owner]) -> None:
    for chapter in ("1", "2"):
        idle.page.post("/api/jobs", {"kind": "render", "chapters": [chapter]})
    for id, before in (("t2", "t1"), ("t1", None), ("t3", "t1"), ("t1", "t9")):
        assert idle.page.post("/api/queue/move", {"id": id, "before": before}).status == 200
    assert owners[0].moved == [("t2", "t1"), ("t1", "")]
    idle.page.told(
        lambda: owners[0].said.put({"event": "order", "jobs": ["t2", "t1"]}), is_event("order")
    )
    assert queue_of(idle) == ["t2", "t1"]
    idle.page.post("/api/jobs/stop", {"id": "t2"})
    assert owners[0].stopped == ["t2"]


def test_a_paused_render_waits_again_and_another_owner_is_paused_too(
    idle: Opened, owners: list[Owner]
) -> None:
    job = idle.page.post("/api/jobs", {"kind": "render"}).json["job"]
    idle.page.post("/api/queue/pause", {"paused": True})
    assert owners[0].paused == [True]

    def pause() -> None:
        owners[0].said.put({"event": "started", "job": job})
        owners[0].said.put({"event": "paused", "paused": True})
        owners[0].said.put({"event": "queued", "job": job})

    idle.page.told(pause, is_event("queued"))
    known = idle.page.get("/api/book").json["jobs"]
    assert (known["running"], known["paused"], queue_of(idle)) == (None, True, [job["id"]])
    idle.page.told(lambda: owners[0].said.put("gone"), is_event("hello"))
    idle.page.post("/api/jobs", {"kind": "export"})
    assert (owners[1].paused, list(owners[1].unfinished)) == ([True], [job["id"], "t2"])


@pytest.mark.parametrize(
    ("path", "asked"),
    [
        ("/api/queue/move", {}),
        ("/api/queue/move", {"id": "a" * 33}),
        ("/api/queue/pause", {"paused": "yes"}),
        ("/api/queue/earlier", {}),
        ("/api/jobs/stop", {"id": 3}),
    ],
)
def test_an_order_of_nonsense_is_refused(
    idle: Opened, owners: list[Owner], path: str, asked: object
) -> None:
    assert idle.page.post(path, asked).status == 400


def test_new_takes_are_told_by_chapter(idle: Opened, owners: list[Owner]) -> None:
    idle.page.post("/api/jobs", {"kind": "render"})

    def speak() -> None:
        for chunk in ("2.1", "2.2"):
            owners[0].said.put({"event": "rendered", "job": "t1", "chunk": chunk, "key": "x"})

    idle.page.told(speak, lambda event: event == {"type": "chapter", "number": 2})


def test_after_a_job_the_takes_are_read_again(idle: Opened, owners: list[Owner]) -> None:
    idle.page.post("/api/jobs", {"kind": "render"})
    before = idle.page.get("/api/book").json["version"]
    end = {"event": "ended", "job": "t1", "kind": "render", "exit": 1, "error": "no model",
           "summary": {"rendered_chunks": 3, "given_up": [{}]}}  # fmt: skip
    idle.page.told(
        lambda: owners[0].said.put(end),
        lambda event: event["type"] == "book" and event["version"] > before,
    )
    last = idle.page.get("/api/book").json["jobs"]["last"]
    assert last == {
        "kind": "render", "exit": 1, "error": "no model", "text": "3 lines spoken, 1 given up",
    }  # fmt: skip


def test_what_an_owner_of_another_version_says_hurts_nobody(
    idle: Opened, owners: list[Owner]
) -> None:
    idle.page.post("/api/jobs", {"kind": "render"})

    def say() -> None:
        for event in ({"event": "ended"}, {"event": "started", "job": 3}, {"event": "odd"}, {}):
            owners[0].said.put(event)
        owners[0].said.put({"event": "started", "job": RUNNING})

    idle.page.told(say, lambda event: event.get("job") == RUNNING)
    assert idle.page.get("/api/book").json["jobs"]["running"] == RUNNING


def test_where_an_owner_goes_what_waits_is_done_by_another(
    idle: Opened, owners: list[Owner]
) -> None:
    idle.page.post("/api/jobs", {"kind": "render"})
    idle.page.post("/api/jobs", {"kind": "retake", "chunks": ["1.3"]})

    def go() -> None:
        owners[0].said.put({"event": "started", "job": RUNNING})
        owners[0].said.put("gone")

    idle.page.told(go, lambda event: event.get("event") == "hello")
    idle.page.post("/api/jobs", {"kind": "export"})
    assert [job.kind for job in owners[1].submitted] == ["retake", "export"]
    last = idle.page.get("/api/book").json["jobs"]["last"]
    assert last["kind"] == "render"
    assert "ended" in last["error"]


def test_what_waits_keeps_its_id_and_what_is_done_beside_is_lost(
    idle: Opened, owners: list[Owner]
) -> None:
    for number in (1, 2, 3):
        idle.page.post("/api/jobs", {"kind": "retake", "chunks": [f"1.{number}"]})

    def go() -> None:
        owners[0].said.put({"event": "started", "job": RUNNING})
        owners[0].said.put({"event": "started", "job": {**RUNNING, "id": "t2", "beside": True}})
        owners[0].said.put("gone")

    events = idle.page.told(go, lambda event: event.get("event") == "hello")
    (gone,) = (event for event in events if event.get("event") == "gone")
    assert gone["lost"] == ["t2", "t1"]
    idle.page.post("/api/jobs", {"kind": "export"})
    assert list(owners[1].unfinished) == ["t3", "t2"]


def test_what_is_done_beside_is_stopped_before_what_runs(idle: Opened, owners: list[Owner]) -> None:
    for kind in ("render", "audition", "pin"):
        idle.page.post("/api/jobs", {"kind": kind})

    def run() -> None:
        owners[0].said.put({"event": "started", "job": RUNNING})
        owners[0].said.put({"event": "started", "job": {**RUNNING, "id": "t2", "beside": True}})
        owners[0].said.put({"event": "odd"})

    idle.page.told(run, is_event("odd"))
    idle.page.post("/api/jobs/stop")
    assert owners[0].stopped == ["t3", "t2", "t1"]


def test_where_nobody_can_take_over_that_is_said_and_whoever_comes_is_followed(
    idle: Opened, owners: list[Owner], monkeypatch: pytest.MonkeyPatch
) -> None:
    idle.page.post("/api/jobs", {"kind": "retake", "chunks": ["1.3"]})

    def fail(project: object) -> None:
        raise EnvironmentFailed("nobody comes")

    monkeypatch.setattr(client, "connect_or_start", fail)
    gone = is_event("gone")
    # it is said once that the owner has gone, and once more that nobody does what waited
    idle.page.told(
        lambda: owners[0].said.put("gone"), lambda event: gone(event) and bool(event["lost"])
    )
    another = Owner()
    another.hello["running"] = RUNNING

    def come() -> None:
        monkeypatch.setattr(client, "connect", lambda project: None if another.closed else another)

    idle.page.told(come, is_event("hello"))
    known = idle.page.get("/api/book").json["jobs"]
    assert known["running"] == RUNNING
    assert known["last"]["error"] == "nobody comes"


def test_a_job_of_another_manifest_is_neither_shown_nor_stopped(
    idle: Opened, owners: list[Owner]
) -> None:
    idle.page.post("/api/jobs", {"kind": "render"})
    others = {**RUNNING, "id": "o1", "book": "other.yaml"}

    def run() -> None:
        owners[0].said.put({"event": "started", "job": others})
        owners[0].said.put({"event": "rendered", "job": "o1", "chunk": "1.1", "key": "x"})
        owners[0].said.put({"event": "ended", "job": "o1", "kind": "render", "exit": 1,
                            "error": "", "summary": {}})  # fmt: skip
        owners[0].said.put({"event": "odd"})

    idle.page.told(run, is_event("odd"))
    idle.page.post("/api/jobs/stop")
    known = idle.page.get("/api/book").json["jobs"]
    assert (known["running"], known["last"], owners[0].stopped) == (None, None, ["t1"])


def test_nobody_to_do_it_is_said(idle: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(project: object) -> None:
        raise EnvironmentFailed("nobody comes to own it: `narrator doctor`")

    monkeypatch.setattr(client, "connect_or_start", fail)
    answer = idle.page.post("/api/jobs", {"kind": "render"})
    assert (answer.status, answer.json["error"][:6]) == (503, "nobody")


def earlier_of(studio: Opened) -> list[tuple[str, list[str]]]:
    rows = studio.page.get("/api/book").json["jobs"]["earlier"]
    return [(row["kind"], row["chapters"]) for row in rows]


def test_renders_that_a_studio_did_not_finish_are_offered_by_the_next(
    owners: list[Owner], folder: Path
) -> None:
    with studios.opened(folder) as studio:
        for chapter in ("1", "2"):
            studio.page.post("/api/jobs", {"kind": "render", "chapters": [chapter]})
        studio.page.post("/api/jobs", {"kind": "retake", "chunks": ["1.3"]})
        studio.page.post("/api/jobs", {"kind": "export"})
        owners[0].unfinished.pop("t1")
        end = {"event": "ended", "job": "t1", "kind": "render", "exit": 0, "error": "",
               "summary": {}}  # fmt: skip
        studio.page.told(lambda: owners[0].said.put(end), ended)
    left = [("render", ["2"]), ("export", [])]
    with studios.opened(folder) as studio:
        assert (earlier_of(studio), len(owners)) == (left, 1)  # nothing has begun
        for chapter in ("2", "1"):  # one of which is wanted again
            studio.page.post("/api/jobs", {"kind": "render", "chapters": [chapter]})
    left = [("export", []), ("render", ["2"]), ("render", ["1"])]
    with studios.opened(folder) as studio:
        assert earlier_of(studio) == left
        assert studio.page.post("/api/queue/earlier", {"resumed": True}).status == 200
        assert [job.kind for job in owners[2].submitted] == [kind for kind, _ in left]
        assert earlier_of(studio) == []
    with studios.opened(folder) as studio:
        assert len(earlier_of(studio)) == 3
        assert studio.page.post("/api/queue/earlier", {"resumed": False}).status == 200
        assert (earlier_of(studio), len(owners)) == ([], 3)
    (folder / "build" / "queue-book.json").write_text("{")
    with studios.opened(folder) as studio:
        assert earlier_of(studio) == []


def test_the_studio_takes_leave_of_the_owner(owners: list[Owner], folder: Path) -> None:
    with studios.opened(folder) as studio:
        studio.page.post("/api/jobs", {"kind": "render"})
    assert owners[0].closed


@pytest.mark.parametrize(
    ("pins", "words"),
    [
        ([1], "there is a good take"),
        ([None], "no take was good"),
        ([2, None, 1], "2 of 3 lines have a good take"),
    ],
)
def test_a_retake_says_whether_there_is_a_good_take(pins: list[int | None], words: str) -> None:
    summary = {"retaken": [{"pinned": pin} for pin in pins]}
    assert jobs._summarize_job(summary) == words
