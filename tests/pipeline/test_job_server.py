"""One process owns a project, and does what others ask of it while it renders."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import stat
import threading
from unittest import mock

import numpy as np
import pytest

from narrator.delivery import finish
from narrator.errors import EngineFailure
from narrator.pipeline import book_plan
from narrator.pipeline.book_plan import Selection
from narrator.pipeline.jobs import client, sockets
from narrator.pipeline.jobs.protocol import STOPPED, AuditionLine, Job
from narrator.pipeline.jobs.server import JobServer
from narrator.pipeline.manuscript import read_manuscript
from narrator.speech.store import Store
from tests import books
from tests.fakes import HumEngine
from tests.owners import (
    SOON,
    GatedEngine,
    Rendering,
    asked,
    ended,
    in_thread,
    linked,
    project_of,
    until,
)


@pytest.fixture
def path(hummed):
    return hummed


@pytest.fixture(autouse=True)
def nothing_is_delivered():
    with mock.patch.object(finish, "finish", return_value=None):
        yield


def gated() -> GatedEngine:
    return GatedEngine(name="draft")


def again(path, **more) -> Rendering:
    """All of it once more, which waits until it is let."""
    return Rendering(path, gated(), force=True, **more)


def parent_and_child(path):
    steps = books.plan(path, HumEngine(name="draft")).steps
    child = next(step for step in steps if step.parent)
    return next(step for step in steps if step.key == child.parent), child


# -- the queue -------------------------------------------------------------------------------------


@pytest.fixture
def owner(path):
    owner = JobServer(path.parent / "build")
    yield owner
    owner.close()


def event_of(link, kind):
    """The next event of a kind."""
    while True:
        event = link.read(SOON)
        assert event is not None, f"{kind} is not told"
        if event["event"] == kind:
            return event


def test_waiting_jobs_are_moved(path, owner):
    with linked(path) as link:
        one, two, three = (link.submit(Job(kind="render", chapters=(n,))) for n in "123")
        for id, before, order in (
            (three, one, [three, one, two]),
            (three, "", [one, two, three]),
            (one, three, [two, one, three]),
        ):
            link.move(id, before)
            assert event_of(link, "order")["jobs"] == order
        waiting = owner.waiting()
        assert [next(waiting).id for _ in "123"] == [two, one, three]


def test_a_paused_render_waits_at_the_head_and_short_jobs_do_not(path, owner):
    with linked(path) as link:
        one, two = (link.submit(Job(kind="render", chapters=(n,))) for n in "12")
        waiting = owner.waiting()
        render = next(waiting)
        assert render.id == one
        with owner.doing(render):
            link.pause(True)
            assert event_of(link, "paused")["paused"]
            assert render.cancel.is_set()
            render.record_outcome(STOPPED)
        assert event_of(link, "order")["jobs"] == [one, two]
        pin = link.submit(Job(kind="pin", chunks=("1.1",), number=1))
        with owner.doing(next(waiting)):
            assert event_of(link, "started")["job"]["id"] == pin
        ended(link, pin)
        with linked(path) as other:
            assert other.hello["paused"]
        link.pause(False)
        assert next(waiting) is render
        assert not render.cancel.is_set()
        assert link.unfinished.keys() == {one, two}


def test_a_paused_queue_that_gets_empty_is_paused_no_more(path, owner):
    with linked(path) as link:
        render = link.submit(Job(kind="render"))
        event_of(link, "queued")
        link.pause(True)
        assert event_of(link, "paused")["paused"]
        link.stop(render)
        assert ended(link, render)["exit"] == STOPPED
        assert not event_of(link, "paused")["paused"]


# -- what others want while a render runs ----------------------------------------------------------


def test_a_try_is_pinned_and_let_go_while_a_render_runs(path):
    with again(path) as rendering:
        pinned = asked(path, Job(kind="pin", engine="draft", chunks=("1.1",), number=1))
        assert not rendering.engine.gate.is_set()
        held = Store.open(path.parent / "build" / "store").pins()
        dropped = asked(path, Job(kind="unpin", engine="draft", chunks=("1.1",)))
    summary = {"pinned": "1.1", "number": 1, "replaced": None, "replaced_home": ""}
    assert (pinned["exit"], pinned["summary"]) == (0, summary)
    assert [pin.chunk for pin in held.values()] == ["1.1"]
    assert dropped["summary"]["unpinned"] == {"1.1": True}
    assert dropped["summary"]["replaced"] == 1
    assert not Store.open(path.parent / "build" / "store").pins()


def test_chunks_are_spoken_anew_while_a_render_runs_and_what_continues_them_after_it(path):
    parent, child = parent_and_child(path)
    with again(path) as rendering:
        made = asked(path, Job(kind="retake", engine="draft", chunks=(parent.id,), count=2, seed=5))
        assert not rendering.engine.gate.is_set()
    [row] = made["summary"]["retaken"]
    assert (made["exit"], row["pinned"]) == (0, 2)
    assert [one["seed"] for one in row["tries"]] == [5, 6]
    store = Store.open(path.parent / "build" / "store")
    pinned = next(
        s for s in books.plan(path, rendering.engine).steps if s.place_hash == parent.place_hash
    )
    last = [r for r in rendering.engine.requests if r.text == child.text][-1]
    assert np.array_equal(last.prompt.state, store.state(pinned.key))
    assert not books.todo(path, rendering.engine)
    assert len(rendering.engine.sessions) == 2  # the second for what continues it


def test_a_chunk_is_spoken_anew_when_it_is_its_engine_s_turn(path):
    path.write_text(path.read_text().replace("ann: {", "ann: {engine: draft, "))
    one, other = GatedEngine(name="voxcpm2"), gated()
    steps = book_plan.plan(read_manuscript(path), one, Selection(), engines={"ann": other}).steps
    first = {s.chunk.speaker: s.id for s in reversed(steps) if s.parent is None}
    with Rendering(path, one, force=True, draft=False, engines={"ann": other}) as rendering:
        made = asked(path, Job(kind="retake", chunks=(first["narrator"],), seed=5))
        wish = Job(kind="retake", chunks=(first["ann"],), seed=6)
        later = in_thread(lambda: asked(path, wish))
        assert not one.gate.is_set()
        one.gate.set()
        after = later.result(SOON)
        assert not other.gate.is_set()
        other.gate.set()
        assert rendering.report.complete
    assert (made["exit"], after["exit"]) == (0, 0)
    seeds = [{r.voice.speaker for r in engine.requests if r.seed == seed}
             for engine, seed in ((one, 5), (other, 6), (one, 6), (other, 5))]  # fmt: skip
    assert seeds == [{"narrator"}, {"ann"}, set(), set()]


def test_a_voice_is_tried_on_a_line_while_a_render_runs(path):
    with again(path) as rendering:
        line = AuditionLine(speaker="ann", text="Is there room for 2?")
        made = asked(path, Job(kind="audition", engine="draft", line=line))
        assert not rendering.engine.gate.is_set()
    said = made["summary"]["audition"]
    assert (made["exit"], said["speaker"]) == (0, "ann")
    assert (path.parent / "build" / "auditions" / f"{said['name']}.wav").is_file()
    assert any(one.text == "Is there room for two?" for one in rendering.engine.requests)
    assert rendering.report.complete


def test_what_is_asked_again_for_an_audition_is_asked_beside_the_render(path):
    def once(request):
        fails = request.text.startswith("Is there room for two") and not request.attempt
        return EngineFailure("boom") if fails else None

    first = Rendering(path, GatedEngine(name="draft", fault=once), force=True)
    with first as rendering:
        line = AuditionLine(speaker="ann", text="Is there room for 2?")
        made = asked(path, Job(kind="audition", engine="draft", line=line))
    assert (made["exit"], made["summary"]["audition"]["faults"]) == (0, [])
    tries = [one.attempt for one in rendering.engine.requests if "room for two" in one.text]
    assert tries == [0, 1]


def test_what_is_stopped_beside_a_render_that_is_stopped_does_not_wait_again(path):
    known, ids = threading.Event(), []

    def stop(request):
        if not request.text.startswith("Is there room for two"):
            return None
        assert known.wait(SOON)
        link.stop(ids[0])
        link.stop()
        assert rendering.cancel.wait(SOON)
        return EngineFailure("boom")  # it would be asked again

    first = Rendering(path, GatedEngine(name="draft", fault=stop), force=True)
    with first as rendering, linked(path) as link:
        line = AuditionLine(speaker="ann", text="Is there room for 2?")
        ids.append(link.submit(Job(kind="audition", engine="draft", line=line)))
        known.set()
        assert ended(link, ids[0])["exit"] == 130


def test_a_step_is_rendered_and_retaken_at_one_time(path):
    with again(path) as rendering:
        first = rendering.engine.requests[0]
        step = next(s for s in books.plan(path, rendering.engine).steps if s.key == first.key)
        made = asked(path, Job(kind="retake", engine="draft", chunks=(step.id,)))
    assert made["exit"] == 0
    assert rendering.report.complete


def test_what_was_edited_since_is_spoken_as_it_is_now(path):
    with again(path) as rendering:
        (path.parent / "text" / "one.md").write_text(books.ONE.replace("at seven", "at nine"))
        made = asked(path, Job(kind="retake", engine="draft", chunks=("1.2",)))
        assert not rendering.engine.gate.is_set()
    assert made["exit"] == 0
    assert any("at nine" in request.text for request in rendering.engine.requests)


def test_what_cannot_be_done_is_said_to_who_asked_and_hurts_no_render(path):
    jobs = [
        Job(kind="pin", engine="draft", chunks=("99.1",), number=1),
        Job(kind="retake", engine="draft", chunks=("1.1",), parameters={"x": 1}),
        Job(kind="audition", engine="draft", line=AuditionLine(speaker="Nobody", text="Hello.")),
        Job(kind="pin", engine="draft", chunks=("1.1",), number=1),
    ]
    with again(path) as rendering, linked(path) as link:
        nothing, wrong = (ended(link, link.submit(job)) for job in jobs[:2])
        (path.parent / "text" / "one.md").unlink()
        torn = ended(link, link.submit(jobs[2]))
    assert [one["exit"] for one in (nothing, wrong, torn)] == [2, 2, 2]
    assert "no chunk '99.1'" in nothing["error"]
    assert "sets nothing of the engine" in wrong["error"]
    assert "one.md" in torn["error"]
    assert rendering.report.complete


def test_a_stopped_render_keeps_its_takes_and_leaves_what_waits_to_others(tmp_path):
    path = books.write(tmp_path)
    with Rendering(path, gated()) as rendering, linked(path) as link:
        waits = link.submit(Job(kind="export", engine="draft"))
        until(link, "queued", waits)
        link.stop()
        [over] = [event for event in link.events() if event["event"] == "ended"]
        assert (over["job"], over["exit"]) == ("j1", 130)
        assert over["summary"]["cancelled"]
        assert list(link.unfinished) == [waits]
        assert rendering.report.result.cancelled


def test_jobs_wait_in_the_order_in_which_they_came_and_can_be_withdrawn(path):
    with again(path), linked(path) as link:
        ids = [link.submit(Job(kind="export", engine="draft", chapters=(n,))) for n in "121"]
        until(link, "queued", ids[-1])
        with linked(path) as other:
            assert [row["id"] for row in other.hello["queue"]] == ids
            assert other.hello["running"]["kind"] == "render"
        link.stop(ids[1])
        assert ended(link, ids[1])["exit"] == 130
        with linked(path) as other:
            assert [row["id"] for row in other.hello["queue"]] == [ids[0], ids[2]]


def test_what_somebody_waited_for_who_left_is_not_done(path):
    with again(path), linked(path) as link:
        with linked(path) as other:
            id = other.submit(Job(kind="export", engine="draft"))
            until(link, "queued", id)
        assert ended(link, id)["exit"] == 130


# -- where it is found -----------------------------------------------------------------------------


def test_nobody_else_can_come_to_an_owner(path):
    with again(path):
        said = path.parent / "build" / ".owner"
        place = sockets.announced_address(path.parent / "build")
        assert stat.S_IMODE(said.stat().st_mode) == 0o600
        assert stat.S_IMODE(place.parent.stat().st_mode) == 0o700
        assert len(os.fsencode(place)) < 104
    assert not said.exists()
    assert not place.parent.exists()


@pytest.mark.parametrize(
    "said",
    [
        b"{",
        *(pytest.param(said, marks=pytest.mark.slow)
          for said in (b"", b"[1]", b'{"socket": 3}', b"\xff" * 20_000)),
        {"pid": 1, "host": socket.gethostname(), "socket": "/run/docker.sock"},
        {"pid": 1, "host": "elsewhere", "socket": "/tmp/narrator-x/owner"},
    ],
)  # fmt: skip
def test_what_a_project_says_of_its_owner_is_not_believed(said, path):
    build = path.parent / "build"
    if isinstance(said, dict):
        said = json.dumps({**said, "folder": sockets._identity(build)}).encode()
    (build / ".owner").write_bytes(said)
    assert client.connect(project_of(path)) is None
    with again(path), linked(path) as link:
        assert link.pid == os.getpid()


def test_a_copied_project_has_no_part_in_the_render_of_the_original(path, tmp_path_factory):
    folder = tmp_path_factory.mktemp("elsewhere")
    copy, moved = folder / "copy", folder / "moved"
    with again(path):
        shutil.copytree(path.parent, copy)
        assert (copy / "build" / ".owner").exists()
        assert client.connect(project_of(copy / path.name)) is None
        path.parent.rename(moved)
        try:
            assert sockets.announced_address(moved / "build")
        finally:
            moved.rename(path.parent)


def test_an_owner_that_has_gone_is_replaced(path):
    gone = JobServer(path.parent / "build")
    with mock.patch.object(sockets, "withdraw"):
        gone.close()
    place = sockets.announced_address(path.parent / "build")
    assert client.connect(project_of(path)) is None
    with again(path), linked(path):
        assert not place.parent.exists()
    assert not (path.parent / "build" / ".owner").exists()


def test_a_render_that_cannot_be_reached_is_done_all_the_same(path):
    with mock.patch.object(sockets, "_open_listener", side_effect=OSError(24, "too many")):
        with again(path) as rendering:
            assert client.connect(project_of(path)) is None
        assert rendering.report.complete


# -- clients that are broken -----------------------------------------------------------------------


def come(path) -> socket.socket:
    line = sockets.connect_to_owner(path.parent / "build")
    assert line is not None
    return line


def gone(line: socket.socket) -> bool:
    """Whether the owner has parted with who came."""
    try:
        while data := line.recv(65_536):
            assert data
    except ConnectionResetError:
        pass
    line.close()
    return True


def test_what_is_no_job_is_refused(path):
    lines = [b"half", b"", b"nonsense", b"[" * 100_000, b"{}", b'{"do": "submit"}', b"\xff\xfe",
             b'{"do": "submit", "id": "a", "job": {"kind": "boil"}}',
             b'{"do": "submit", "id": "../..", "job": {"kind": "render"}}']  # fmt: skip
    with again(path) as rendering, come(path) as line:
        for said in lines[1:]:
            line.sendall(said + b"\n")
        line.sendall(lines[0])
        heard = line.makefile("rb")
        events = [json.loads(heard.readline()) for _ in range(len(lines) + 1)]
        assert sum(event["event"] == "refused" for event in events) >= len(lines) - 2
        heard.close()
    assert rendering.report.complete


def test_a_line_without_an_end_ends_its_client_alone(path):
    with again(path) as rendering, come(path) as line:
        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            line.sendall(b"x" * 100_000_000)
        assert asked(path, Job(kind="unpin", engine="draft", chunks=("1.1",)))["exit"] == 0
    assert rendering.report.complete


def test_who_does_not_read_is_sent_away(path):
    large = Job(kind="pin", engine="draft", chunks=("x" * 1000,) * 15)
    with (
        mock.patch.object(sockets, "MAX_LINE_BYTES", 20_000),
        again(path) as rendering,
        come(path) as line,
        linked(path) as link,
    ):
        for _ in range(30):  # what is told of them is more than a socket holds
            ended(link, link.submit(large))
        assert gone(line)
    assert rendering.report.complete


def come_in(path) -> socket.socket:
    """As `come`, once the owner has room."""
    while True:
        line = come(path)
        with contextlib.suppress(ConnectionResetError):
            if line.recv(1):
                return line
        line.close()


def test_a_thousand_clients_are_more_than_an_owner_takes(path):
    with again(path) as rendering:
        for _ in range(30):
            for line in [come(path) for _ in range(sockets.MAX_CLIENTS + 2)]:
                line.close()
        many = [come_in(path) for _ in range(sockets.MAX_CLIENTS)]
        assert gone(come(path))
        for line in many:
            line.close()
    assert rendering.report.complete
