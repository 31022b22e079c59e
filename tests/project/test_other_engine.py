"""A book that another engine speaks: `--engine kokoro`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from narrator.decoding import decode
from narrator.delivery.folders import Folders, kind_of
from narrator.errors import UsageError
from narrator.pipeline.jobs.protocol import Job, encode
from narrator.project.load import load, load_speech
from narrator.project.other_engine import VARIABLE, chosen_engine, speaking_with
from tests import books

pytestmark = pytest.mark.usefixtures("no_choice")


@pytest.fixture
def no_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)


def manifest(folder: Path, engine: str) -> Path:
    path = books.brief(folder)
    text = path.read_text("utf-8")
    own = "  bea: {engine: {name: voxcpm2, seed: 3}}\n"
    text = text.replace("speakers:\n", f"speakers:\n{own}")
    path.write_text(f"engine: {engine}\n{text}", "utf-8")
    return path


def test_it_speaks_in_place_of_all_engines_of_a_book(tmp_path):
    path = manifest(tmp_path, "{name: cosyvoice2, seed: 4}")
    with speaking_with("kokoro"):
        project = load(path)
    assert {project.engine_of(name).name for name in project.speakers} == {"kokoro"}
    assert Folders(project).finished == project.build / "kokoro"
    assert Folders(project.spoken_by("draft")).finished == project.build / "draft"
    assert project.spoken_by("") == load(path)
    assert load(path).engine.name == "cosyvoice2"


def test_a_book_that_it_speaks_anyway_is_as_it_is(tmp_path):
    path = manifest(tmp_path, "{name: voxcpm2, slots: 2}")
    with speaking_with("voxcpm2"):
        project = load(path)
    assert project == load(path)
    assert Folders(project).finished == project.build / "book"


def test_the_settings_of_a_book_s_own_engine_stay(tmp_path):
    project = load(manifest(tmp_path, "{name: kokoro, slots: 2}")).spoken_by("kokoro")
    assert {project.engine_of(name).name for name in project.speakers} == {"kokoro"}
    assert project.engine.slots == 2
    assert Folders(project).finished == project.build / "kokoro"


def test_a_manifest_that_is_wrong_is_wrong_for_every_engine(tmp_path):
    path = manifest(tmp_path, "draft")
    path.write_text(path.read_text("utf-8").replace("title:", "titel:", 1), "utf-8")
    with speaking_with("kokoro"), pytest.raises(Exception, match="titel"):
        load(path)


def test_the_choice_ends_with_its_block():
    with speaking_with("kokoro"):
        assert chosen_engine() == "kokoro"
        with speaking_with(""):
            assert chosen_engine() == ""
        with speaking_with(None):
            assert chosen_engine() == "kokoro"
    assert chosen_engine() == ""
    assert VARIABLE not in os.environ


@pytest.mark.parametrize(
    ("name", "hint"), [("kokro", "did you mean kokoro?"), ("zzz", "there are voxcpm2, kokoro,")]
)
def test_an_unknown_engine_is_refused(name, hint, monkeypatch):
    with pytest.raises(UsageError, match=hint.replace("?", r"\?")):
        speaking_with(name)
    monkeypatch.setenv(VARIABLE, name)
    with pytest.raises(UsageError):
        chosen_engine()


def test_a_job_takes_the_choice_along():
    with speaking_with("kokoro"):
        job = Job(kind="render")
    assert decode(Job, encode(job)) == job
    assert job.engine == "kokoro"
    assert Job(kind="render").engine == ""


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        ("book", "book"),
        ("draft-two", "draft"),
        ("kokoro", "kokoro"),
        ("store", ""),
        ("bookish", ""),
    ],
)
def test_a_folder_of_finished_files_is_known_by_its_name(folder, kind):
    assert kind_of(folder) == kind


def test_voices_are_heard_with_it(tmp_path):
    path = manifest(tmp_path, "voxcpm2")
    with speaking_with("kokoro"):
        assert load_speech(path).engine.name == "kokoro"
        assert load_speech(None).engine.name == "kokoro"
    assert load_speech(None).engine.name == "voxcpm2"
