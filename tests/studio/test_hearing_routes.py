"""What was heard: misreadings with the sound of their words, names that are learnt, the job."""

from __future__ import annotations

import contextlib
import threading
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from narrator.pipeline import edits
from narrator.pipeline.jobs import execution
from narrator.pipeline.jobs.execution import JobCaches
from narrator.pipeline.jobs.protocol import Job
from narrator.pipeline.jobs.server import JobHandle, JobServer
from narrator.progress import Exporting, Starting
from narrator.speech.hearing import choosing
from narrator.speech.hearing.listening import TakeListener
from narrator.studio.hearing_routes import HearingRoutes
from tests import studios
from tests.speech.ears import Mishearer
from tests.studios import Opened


def do(folder: Path, job: Job, *, listener: TakeListener | None = None) -> tuple[JobHandle, Any]:
    """Does a job as the owner of a project; what was told of it."""
    told: list[object] = []
    handle = JobHandle("1", job, cancel=threading.Event())
    ear = listener or TakeListener(Mishearer(word="road", heard="kitchen"))
    with (
        mock.patch.object(choosing, "make_listener", return_value=ear),
        contextlib.closing(JobServer(folder / "build")) as owner,
    ):
        execution.do_job(owner, handle, folder, JobCaches(), told.append)
    return handle, told


def hear(folder: Path, *chapters: str) -> tuple[JobHandle, Any]:
    return do(folder, Job(kind="hear", engine="draft", book="book.yaml", chapters=chapters))


@pytest.fixture
def misheard(spoken: Path, studio: Opened) -> Opened:
    """A studio of a book in which a recogniser heard "kitchen" for "road"."""
    hear(studio.session.view.project.root)
    studio.do(studio.session.replan)
    return studio


def test_takes_are_listened_to_as_a_job_with_progress(studio: Opened) -> None:
    handle, told = hear(studio.session.view.project.root)
    assert (handle.exit_code, handle.summary["misheard"]) == (0, 1)
    assert handle.summary["heard"] > 3
    assert told[0] == Starting("loading parrot")
    assert told[-1] == Exporting("listening", 1000, 1000)


def test_one_chapter_is_listened_to_and_counted_alone(studio: Opened) -> None:
    handle, _ = hear(studio.session.view.project.root, "2")
    heard = studio.page.get("/api/heard").json
    assert handle.summary["heard"] == heard["heard"] == 2
    assert heard["chapters"]["2"] == {"heard": 2, "takes": 2}
    assert heard["chapters"]["1"]["heard"] == 0
    assert heard["chapters"]["1"]["takes"] == heard["takes"] - 2 > 0


def test_misreadings_are_listed_with_what_is_written_and_the_sound(misheard: Opened) -> None:
    heard = misheard.page.get("/api/heard").json
    [row] = heard["rows"]
    assert (row["chunk"], row["kind"], row["text"], row["heard"]) == (
        "1.2", "other", "road", "kitchen"
    )  # fmt: skip
    assert (row["before"], row["after"][:9], row["name"]) == ("The ", " was long", True)
    assert row["odds"] > 1
    assert heard["heard"] == heard["takes"] > 3
    words = misheard.page.get(row["url"])
    take = misheard.page.get(f"/sound/tries/{row['url'].split('/')[3]}/0")
    assert words.status == 200
    assert 1000 < len(words.data) < len(take.data) / 2


@pytest.mark.parametrize(
    "path",
    ["{key}/0/1e3", "{key}/-1/5", "{key}/0/99999999", "..%2f..%2fbook.yaml/0/5", f"{'0' * 40}/0/5"],
)
def test_the_sound_of_what_is_no_take_is_not_there(misheard: Opened, path: str) -> None:
    key = misheard.page.get("/api/heard").json["rows"][0]["url"].split("/")[3]
    assert misheard.page.get(f"/sound/spans/{path.format(key=key)}").status == 404


def test_without_a_recogniser_the_list_says_what_to_do(shared: Opened) -> None:
    with mock.patch.object(choosing, "make_listener", side_effect=choosing.UsageError("get one")):
        heard = shared.page.get("/api/heard").json
    assert (heard["rows"], heard["heard"], heard["why_not"]) == ([], 0, "get one")


def test_a_name_that_is_right_is_learnt_by_an_edit_and_its_takes_are_judged_again(
    misheard: Opened,
) -> None:
    folder = misheard.session.view.project.root
    submitted: list[Job] = []
    jobs = mock.Mock(submit=submitted.append)
    routes = HearingRoutes(misheard.session, jobs)
    edit = {"kind": "heard_as", "word": "road", "heard": "kitchen"}
    assert misheard.page.post("/api/edits", edit).status == 200
    assert "heard_as: {road: kitchen}" in (folder / "book.yaml").read_text()
    misheard.look()
    with mock.patch.object(threading.Thread, "start", threading.Thread.run):
        routes.follow_names()
        routes.follow_names()
    [job] = submitted
    assert (job.kind, job.engine, job.chunks) == ("judge", misheard.session.engine, ("1.2",))
    do(folder, Job(kind="judge", engine="draft", book="book.yaml", chunks=job.chunks))
    misheard.do(misheard.session.replan)
    assert misheard.page.get("/api/heard").json["rows"] == []
    assert misheard.page.post("/api/undo").status == 200
    misheard.look()
    with mock.patch.object(threading.Thread, "start", threading.Thread.run):
        routes.follow_names()
    assert len(submitted) == 2
    assert edits.history(misheard.session.view.project)


def test_what_is_no_name_is_refused(shared: Opened) -> None:
    for wrong in ({"word": "", "heard": "x"}, {"word": "road"}, {"word": 1, "heard": "x"}):
        assert shared.page.post("/api/edits", {"kind": "heard_as", **wrong}).status == 400, wrong
    assert (shared.session.view.project.root / "book.yaml").read_text() == studios.BOOK
