"""kill -9 of a studio, and of whoever works for it: all of what was begun is there, or none."""

from __future__ import annotations

import contextlib
import itertools
import multiprocessing
import os
import shutil
import signal
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from narrator.pipeline import edits
from narrator.pipeline.jobs import client
from narrator.pipeline.jobs.client import Link
from narrator.project import load
from narrator.speech.store import Store
from narrator.studio.events import Events
from narrator.studio.session import ProjectSession
from tests import forks, studios
from tests.effort import quick
from tests.faults import Disk, failing
from tests.owners import SOON
from tests.studios import Visitor

READINGS = Path(__file__).parent / "readings"
"""With it in the path of modules, the draft voice has moods: a sentence can be spoken again."""


# -- a studio in a process of its own --------------------------------------------------------------


def at_work(folder: str, line: Any) -> None:
    """A studio until it is killed; says where it is, and its link's token."""
    os.environ["PYTHONPATH"] = os.fspath(READINGS)  # of who renders for it
    os.setsid()
    with studios.opened(Path(folder), draft=True) as studio:
        line.send((studio.place.port, studio.page.headers))
        line.recv()


@contextlib.contextmanager
def working(folder: Path) -> Iterator[tuple[Callable[[], None], Visitor]]:
    """What kills a studio, and the page of it."""
    ours, its = multiprocessing.Pipe()
    process = forks.forked(at_work, os.fspath(folder), its)
    its.close()

    def kill() -> None:
        process.kill()
        assert forks.code(process) == -signal.SIGKILL

    try:
        assert ours.poll(SOON)
        port, headers = ours.recv()
        yield kill, Visitor(port, headers)
    finally:
        process.kill()
        ours.close()


@contextlib.contextmanager
def followed(folder: Path) -> Iterator[Link]:
    """What whoever owns the project says, to somebody else."""
    link = client.connect(load.load(folder / "book.yaml"))
    assert link is not None
    with contextlib.closing(link):
        yield link


def begun(link: Link) -> None:
    """Once a job is being done."""
    if link.hello["running"] is None:
        until(link, "started")


def until(link: Link, *kinds: str) -> None:
    """The next event of a kind."""
    while True:
        event = link.read(SOON)
        assert event is not None, f"not one of {kinds}"
        if event["event"] in kinds:
            return


def gone(link: Link) -> None:
    """Once it owns the project no more."""
    for _ in link.events():
        pass


# -- what is there afterwards ----------------------------------------------------------------------


def products(folder: Path) -> dict[str, bytes]:
    found = (folder / "build" / "book").rglob("*")
    return {path.name: path.read_bytes() for path in found if path.is_file()}


def is_as_undisturbed(folder: Path, spoken: Path) -> None:
    """The studio shows what is there, and a render makes of it what it would have made."""
    with studios.opened(folder, draft=True) as again:
        book = again.page.get("/api/book").json
        assert book["jobs"]["running"] is None
        assert not book["warnings"]
        store = again.session.view.book.store
        takes = sum(store.find(step.key) is not None for step in again.session.view.book.steps)
        assert sum(one["rendered"] for one in book["chapters"]) == takes
        for step in again.session.view.book.steps:
            if store.find(step.key):
                store.read(step.key)  # raises DamagedTake
    studios.render(folder)
    assert products(folder) == products(spoken)
    assert not list((folder / "build").rglob("*.part"))


@pytest.fixture
def fresh(tmp_path: Path) -> Path:
    """The book of `spoken`, which nobody has rendered."""
    return studios.write(tmp_path)


@pytest.fixture
def own(spoken: Path, tmp_path: Path) -> Path:
    """A copy of `spoken`."""
    return shutil.copytree(spoken, tmp_path / "book")


RENDER = {"kind": "render", "draft": True}


def asked(page: Visitor, job: Mapping[str, Any]) -> None:
    answer = page.post("/api/jobs", job)
    assert answer.status == 200, answer.json


@pytest.mark.slow
@pytest.mark.parametrize("count", range(8))
def test_a_studio_that_is_killed_in_a_render_loses_nothing(
    fresh: Path, spoken: Path, count: int
) -> None:
    with working(fresh) as (kill, page):
        asked(page, RENDER)
        with followed(fresh) as link:
            for _ in range(count):
                until(link, "rendered", "flagged", "ended")
            kill()
            gone(link)
    is_as_undisturbed(fresh, spoken)


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 2, 3, 5, 7])
def test_where_the_owner_is_killed_what_waits_is_done_and_what_ran_is_told(
    fresh: Path, spoken: Path, count: int
) -> None:
    seen: set[str] = set()

    def killed() -> None:
        asked(studio.page, RENDER)
        with followed(fresh) as link:
            asked(studio.page, {**RENDER, "force": True, "chapters": ["2"]})
            for _ in range(count):
                until(link, "rendered", "flagged", "ended")
            os.kill(link.pid, signal.SIGKILL)

    def done(event: Any) -> bool:
        seen.add(event.get("event", ""))
        return "gone" in seen and event.get("event") == "ended"

    with studios.opened(fresh, draft=True) as studio:
        end = studio.page.told(killed, done)[-1]
        assert end["summary"]["rendered"] == 2, end
        assert studio.page.get("/api/book").json["jobs"]["last"]["kind"] == "render"
    is_as_undisturbed(fresh, spoken)


RETAKE = {"kind": "retake", "draft": True, "chunks": ["1.3"], "count": 12, "seed": 5}


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["started", "progress"])
def test_a_studio_that_is_killed_in_a_retake_leaves_it_done_or_not_begun(
    own: Path, spoken: Path, moment: str
) -> None:
    with working(own) as (kill, page):
        asked(page, RETAKE)
        with followed(own) as link:
            begun(link)
            if moment != "started":
                until(link, moment)
            kill()
            gone(link)
    is_retaken_or_not(own, spoken)


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["started", "progress"])
def test_an_owner_that_is_killed_in_a_retake_leaves_it_done_or_not_begun(
    own: Path, spoken: Path, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", os.fspath(READINGS))

    def killed() -> None:
        asked(studio.page, RETAKE)
        with followed(own) as link:
            begun(link)
            if moment != "started":
                until(link, moment)
            os.kill(link.pid, signal.SIGKILL)

    with studios.opened(own, draft=True) as studio:
        studio.page.told(killed, lambda event: event.get("event") in ("gone", "ended"))
    is_retaken_or_not(own, spoken)


def is_retaken_or_not(folder: Path, spoken: Path) -> None:
    """All tries can be heard, and what was pinned is good; without it all is as it was."""
    with studios.opened(folder, draft=True) as again:
        tries = again.page.get("/api/chunks/1.3").json["tries"]
        assert {again.page.get(one["url"]).status for one in tries} == {200}
        pinned = [one for one in tries if one["pinned"]]
        assert not pinned or (pinned[0]["in_use"] and not pinned[0]["faults"])
        row = again.chapter()["chunks"][2]
        assert (row["state"], row["pinned"]) == ("good", bool(pinned))
    store = Store.open(folder / "build" / "store", writing=True)
    store.unpin(store.pins())
    is_as_undisturbed(folder, spoken)


# -- edits -----------------------------------------------------------------------------------------


def edit_until_killed(folder: str, act: str, every: int) -> None:
    """Copies of a book, each of which is edited by a studio that dies at a later call of the disk;
    to the last, which lives."""
    for number in itertools.count(1, every):
        own = shutil.copytree(Path(folder) / "book", Path(folder) / str(number))
        child = os.fork()
        if not child:
            disk = Disk(own, number, dies=True)
            with studios.opened(own, draft=True) as studio, failing(disk):
                answer = studio.page.post(*ACTS[act])
            os._exit(answer.status != 200)
        status = os.waitpid(child, 0)[1]
        if not os.WIFSIGNALED(status):
            os._exit(os.waitstatus_to_exitcode(status))


SAY = {"kind": "say", "word": "road", "spoken": "rowed"}
RENAME = {"kind": "rename", "speaker": "Ada", "name": "Augusta"}
ACTS: dict[str, tuple[str, Any]] = {
    "edit": ("/api/edits", SAY),
    "rename": ("/api/edits", RENAME),
    "undo": ("/api/undo", None),
}


@pytest.mark.parametrize("every", [13, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("act", quick(ACTS, "undo"))
def test_an_edit_that_is_killed_at_any_call_of_the_disk_is_whole_or_none(
    tmp_path: Path, act: str, every: int
) -> None:
    (tmp_path / "book").mkdir()
    project = load.load(studios.write(tmp_path / "book"))
    before = texts(project.root)
    if act == "rename":
        edits.apply(project, edits.rename_edit(project, "Ada", "Augusta"))
    else:
        edits.apply(project, edits.say_edit(project, "road", "rowed"))
    after = texts(project.root)
    if act != "undo":
        shutil.rmtree(project.build)
        studios.write(project.root)
    assert forks.code(forks.forked(edit_until_killed, os.fspath(tmp_path), act, every)) == 0
    copies = {path.name: path for path in tmp_path.iterdir()}
    copies.pop("book")
    assert len(copies) > 3
    found = set()
    for folder in copies.values():
        again = ProjectSession(folder, Events())
        again.read()
        notes = again.view.notes
        found.add(bool(notes.undo))
        assert texts(folder) == (after if notes.undo else before)
        assert not notes.trouble
    assert found == {True, False}


def texts(folder: Path) -> dict[str, bytes]:
    """The files of a project that are a person's own; there are no others beside them."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
