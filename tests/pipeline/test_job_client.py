"""Who comes to a project that somebody owns: joins, waits, or takes its place."""

from __future__ import annotations

import contextlib
import os
from dataclasses import replace
from unittest import mock

import pytest

from narrator.delivery import finish
from narrator.engines import Speech
from narrator.errors import Locked
from narrator.pipeline import session
from narrator.pipeline.jobs import client
from narrator.pipeline.jobs.protocol import Job
from narrator.pipeline.jobs.server import JobServer
from narrator.project.preferences import ClusterOptions
from tests import books, forks
from tests.fakes import hum
from tests.owners import SOON, Coming, GatedEngine, Rendering, ended, linked, project_of, until
from tests.pipeline import test_kill


@pytest.fixture
def brief():
    """Nothing is delivered."""
    with mock.patch.object(finish, "finish", return_value=None):
        yield


def gated(**more) -> GatedEngine:
    return GatedEngine(name="draft", **more)


RENDER = Job(kind="render", engine="draft")


def test_a_second_render_joins_the_first_and_ends_as_it_does(brief, tmp_path):
    path = books.write(tmp_path)
    with Rendering(path, gated()) as rendering, Coming(path, RENDER) as other:
        assert other.joined.wait(SOON)
        rendering.engine.gate.set()
        answer = other.answer
    assert (answer.pid, answer.exit_code, answer.goes_on) == (os.getpid(), 0, False)
    assert answer.summary["rendered"] == rendering.report.result.rendered == 11
    shown, first = other.screen, rendering.screen
    assert (shown.total, shown.done, shown.titles) == (first.total, first.done, first.titles)
    assert shown.speech_seconds == pytest.approx(first.speech_seconds)
    assert f"joined process {os.getpid()}" in shown.said[-1]


def test_who_joins_late_is_shown_what_was_done_before(brief, tmp_path):
    path = books.write(tmp_path)
    with Rendering(path, gated(free=2)) as rendering:
        with linked(path) as link:
            while not link.hello["outlook"]["done"] and link.read(SOON)["event"] != "rendered":
                pass
        with Coming(path, RENDER) as other:
            assert other.joined.wait(SOON)
            assert other.screen.done.total() >= 1
            rendering.engine.gate.set()
        assert rendering.report.complete
    assert other.screen.done == rendering.screen.done
    assert other.screen.speech_seconds == pytest.approx(rendering.screen.speech_seconds, abs=0.1)


def test_doubtful_takes_are_told_with_their_exit_code(brief, tmp_path):
    path = books.brief(tmp_path)
    engine = gated(fault=lambda r: Speech(hum(r).samples, hum(r).state, stop="cap"))
    with Rendering(path, engine) as rendering, Coming(path, RENDER) as other:
        assert other.joined.wait(SOON)
        rendering.engine.gate.set()
        answer = other.answer
    assert answer.exit_code == rendering.report.exit_code == 1
    assert len(answer.summary["doubtful"]) == len(rendering.report.doubtful)


def test_an_error_of_the_owner_ends_those_who_joined_it(tmp_path):
    path = books.brief(tmp_path)
    with Rendering(path, gated()) as rendering, Coming(path, RENDER) as other:
        assert other.joined.wait(SOON)
        with mock.patch.object(finish, "finish", side_effect=OSError(5, "no disk")):
            rendering.engine.gate.set()
            answer = other.answer
            with pytest.raises(OSError, match="no disk"):
                assert rendering.report
    assert (answer.exit_code, answer.error) == (70, "OSError: [Errno 5] no disk")


@pytest.mark.parametrize(
    "job",
    [
        pytest.param(replace(RENDER, force=True), marks=pytest.mark.slow),
        Job(kind="render", engine="draft", chapters=("1-2",)),
        pytest.param(Job(kind="render", engine="draft", speakers=("ann",)), marks=pytest.mark.slow),
        Job(kind="export", engine="draft", chapters=("1",)),
    ],
    ids=["forced", "more chapters", "all chapters of one", "another kind"],
)
def test_what_the_owner_does_not_do_waits_and_is_done_then(job, brief, tmp_path):
    path = books.write(tmp_path)
    with Rendering(path, gated(), chapters=("1",)) as rendering, Coming(path, job) as other:
        other.waits()
        assert not other.owned.is_set()
        rendering.engine.gate.set()
        assert other.answer is None
    assert other.owned.is_set()
    assert other.screen.total == rendering.screen.total


@pytest.mark.parametrize("chapters", [("1",), ("Morning",), ()])
def test_a_part_of_what_is_rendered_is_joined(chapters, brief, tmp_path):
    path = books.brief(tmp_path)
    job = Job(kind="render", engine="draft", chapters=chapters)
    first = Rendering(path, gated(), chapters=("1",) if chapters else ())
    with first as rendering, Coming(path, job) as other:
        assert other.joined.wait(SOON)
        rendering.engine.gate.set()


def test_who_is_to_be_spoken_elsewhere_waits_for_its_turn(brief, tmp_path):
    path = books.brief(tmp_path)
    here = replace(RENDER, cluster=ClusterOptions("none"))
    with Rendering(path, gated()) as rendering, Coming(path, here) as other:
        other.waits()
        rendering.engine.gate.set()
    assert other.owned.is_set()


@pytest.mark.parametrize("what", ["book.yaml", "text/two.md", "text/one.speakers.txt"])
def test_what_was_edited_since_is_not_joined(what, brief, tmp_path):
    path = books.brief(tmp_path)
    with Rendering(path, gated()) as rendering:
        with (tmp_path / what).open("a") as file:
            file.write("\n")
        with Coming(path, RENDER) as other:
            other.waits()
            rendering.engine.gate.set()
        assert other.owned.is_set()


def test_who_leaves_does_not_stop_what_it_joined(brief, tmp_path):
    path = books.brief(tmp_path)
    with Rendering(path, gated()) as rendering:
        with Coming(path, RENDER) as other:
            assert other.joined.wait(SOON)
            other.cancel.set()
            answer = other.answer
        assert (answer.exit_code, answer.goes_on) == (130, True)
        assert not rendering.cancel.is_set()
    assert rendering.report.complete


def test_who_waits_and_leaves_takes_its_job_along(brief, tmp_path):
    path = books.brief(tmp_path)
    with Rendering(path, gated()):
        with Coming(path, Job(kind="export", engine="draft")) as other:
            other.waits()
            other.cancel.set()
            answer = other.answer
        assert (answer.exit_code, answer.goes_on) == (130, False)
        with linked(path) as link:
            assert link.hello["queue"] == []


def test_who_waits_for_an_owner_takes_its_place_in_turn(brief, tmp_path):
    path = books.brief(tmp_path)
    with contextlib.ExitStack() as held, mock.patch.object(client, "_TAKEOVER_DELAY", 0.5):
        rendering = held.enter_context(Rendering(path, gated()))
        first, second = (
            Coming(path, Job(kind="export", engine="draft", chapters=(name,))) for name in "12"
        )
        held.enter_context(first).waits()
        held.enter_context(second)
        with linked(path) as link:
            while len(link.hello["queue"]) < 2 and link.read(SOON)["event"] != "queued":
                pass
        rendering.engine.gate.set()
        assert first.answer is None
        assert not second.owned.is_set()
    assert second.owned.is_set()


def test_one_who_holds_the_lock_and_does_not_listen_is_told_of(tmp_path):
    path = books.brief(tmp_path)
    with (
        session.locked(project_of(path)),
        mock.patch.object(client, "LOCK_TIMEOUT_S", 0.2),
        Coming(path, RENDER) as other,
        pytest.raises(Locked, match="another narrator is at work"),
    ):
        assert other.answer


def test_one_who_holds_the_lock_for_a_moment_is_waited_for(tmp_path):
    path = books.brief(tmp_path)
    with session.locked(project_of(path)):
        other = Coming(path, RENDER).__enter__()
        assert not other.owned.wait(0.1)
    assert other.answer is None
    assert other.owned.is_set()


def test_who_joined_an_owner_that_is_killed_takes_its_place(tmp_path):
    path = test_kill.project(tmp_path, paragraphs=200)
    first = forks.start(tmp_path / "first", "render", path, "--draft")
    while (link := client.connect(project_of(path))) is None:
        assert first.is_alive()
    until(link, "planned", "j1")
    with contextlib.closing(link), Coming(path, RENDER) as other:
        assert other.joined.wait(SOON)
        first.kill()
    assert other.owned.is_set()
    assert not (tmp_path / "build" / ".owner").exists()


# -- the process of a studio -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def studio(tmp_path_factory):
    """A link to a process that waits for jobs, and its book."""
    path = books.brief(tmp_path_factory.mktemp("studio"))
    with contextlib.closing(client.connect_or_start(project_of(path))) as link:
        yield path, link


def test_a_process_of_its_own_does_jobs_one_after_another(studio):
    _, link = studio
    assert ended(link, link.submit(RENDER))["summary"]["rendered"] == 7
    ids = [
        link.submit(Job(kind="pin", engine="draft", chunks=("1.1",), number=1)),
        link.submit(Job(kind="retake", engine="draft", chunks=("1.1",))),
        link.submit(RENDER),
    ]
    pinned, retaken, rendered = (ended(link, id) for id in ids)
    assert (pinned["exit"], retaken["exit"], rendered["exit"]) == (0, 2, 0)
    assert "one reading" in retaken["error"]
    assert len(rendered["summary"]["files"]) == 2


def test_it_holds_no_lock_while_it_waits_for_jobs(studio):
    path, link = studio
    with session.locked(project_of(path), timeout_s=5.0):
        pass
    with Coming(path, Job(kind="unpin", engine="draft")) as other:
        answer = other.answer
    assert answer.pid == link.pid != os.getpid()


def test_what_an_owner_that_has_gone_was_asked_is_not_left_to_be_done(tmp_path):
    path = books.brief(tmp_path)
    owner = JobServer(path.parent / "build")
    with linked(path) as link:
        owner.close()
        with pytest.raises(BrokenPipeError):
            link.submit(RENDER)
        assert not link.unfinished


def test_it_is_the_only_one_and_ends_with_its_link(studio):
    path, link = studio
    with contextlib.closing(client.connect_or_start(project_of(path))) as other:
        assert other.pid == link.pid
        link.close()
        assert list(other.events()) == []
    assert client.connect(project_of(path)) is None
