"""Where what is made of a project lies, and which places are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from narrator.errors import UsageError
from narrator.pipeline import session
from narrator.project import preferences
from narrator.project.buildfolder import build_folder, building_in
from narrator.project.load import load
from tests import books


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "home"
    place.mkdir()
    monkeypatch.setenv("NARRATOR_HOME", str(place))
    return place


def project(folder: Path) -> Path:
    return books.brief(folder).parent


def refusal(root: Path) -> str:
    with pytest.raises(UsageError) as refused:
        build_folder(root)
    return str(refused.value)


def claimed(root: Path) -> None:
    with session.locked(load(root)):
        pass


def test_a_build_lies_in_its_project_where_nothing_is_said(tmp_path):
    root = project(tmp_path / "book")
    assert load(root).build == root / "build"


def test_projects_with_one_setting_have_a_folder_each(tmp_path):
    preferences.preferences_path().write_text("build: ../builds\n")
    roots = [project(tmp_path / name / "book") for name in ("a", "b")]
    first, second = (load(root).build for root in roots)
    assert first != second
    for build in (first, second):
        assert build.resolve().is_relative_to(tmp_path / "builds")


def test_a_command_names_another_folder_than_the_setting(tmp_path):
    preferences.preferences_path().write_text("build: ../builds\n")
    root = project(tmp_path / "book")
    with building_in(tmp_path / "here"):
        assert load(root).build == tmp_path / "here"
    assert load(root).build != tmp_path / "here"


def test_a_folder_of_one_project_is_refused_for_another(tmp_path):
    first, second = (project(tmp_path / name) for name in "ab")
    with building_in(tmp_path / "builds"):
        claimed(first)
        assert f"holds the build of {first}" in refusal(second)
        assert build_folder(first) == tmp_path / "builds"


def test_a_folder_goes_with_a_project_that_was_moved(tmp_path):
    root = project(tmp_path / "a")
    with building_in(tmp_path / "builds"):
        claimed(root)
        moved = root.rename(tmp_path / "moved")
        claimed(moved)
        assert "holds the build of" in refusal(project(tmp_path / "a"))


def test_the_build_beside_another_manifest_is_refused(tmp_path):
    first, second = (project(tmp_path / name) for name in "ab")
    with building_in(first / "build"):
        assert f"holds the build of {first}" in refusal(second)


def test_a_folder_with_files_of_somebody_else_is_refused(tmp_path):
    root = project(tmp_path / "book")
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "one.jpg").touch()
    with building_in(tmp_path / "photos"):
        assert "not empty, and not a build" in refusal(root)
    with building_in(tmp_path / "photos" / "one.jpg"):
        assert "a file" in refusal(root)


def test_a_folder_around_the_project_is_refused(tmp_path):
    with building_in(tmp_path):
        assert "holds the project itself" in refusal(project(tmp_path / "book"))


@pytest.mark.parametrize("name", ["build", "build/book", "build/store", "build/encoded/book"])
def test_a_link_out_of_the_project_is_refused_with_what_to_do(name, tmp_path):
    root = project(tmp_path / "book")
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / "elsewhere").mkdir()
    (root / name).symlink_to(tmp_path / "elsewhere")
    said = refusal(root)
    assert f"a link out of the project, to {tmp_path / 'elsewhere'}" in said
    assert "`--build FOLDER`" in said
    assert str(preferences.preferences_path()) in said


def test_a_link_within_the_project_is_followed(tmp_path):
    root = project(tmp_path / "book")
    (root / "made").mkdir()
    (root / "build").symlink_to("made")
    assert load(root).build == root / "build"


def test_a_link_to_the_folder_that_is_named_is_allowed(tmp_path):
    root = project(tmp_path / "book")
    (tmp_path / "elsewhere").mkdir()
    (root / "build").symlink_to(tmp_path / "elsewhere")
    with building_in(tmp_path / "elsewhere"):
        assert build_folder(root) == tmp_path / "elsewhere"


@pytest.mark.parametrize(
    ("name", "target", "message"),
    [
        ("build", ".", "a link to the project itself"),
        ("build", "text", "a link to {target}, which is not a folder for builds"),
        ("build", "book.yaml", "a link to {target}, which is not a folder for builds"),
        ("build", "nowhere", "a link to nowhere, which is not there"),
        ("build", "build", "a link that leads back to itself"),
        ("build/book", "nowhere", "a link to nowhere, which is not there"),
        ("build/store/f9", "../..", "a link out of the build folder"),
        ("build/store/journal.jsonl", "../../text/1.md", "a link out of the build folder"),
    ],
)
def test_a_link_to_sources_or_nowhere_is_refused(name, target, message, tmp_path):
    root = project(tmp_path / "book")
    (root / "text").mkdir(exist_ok=True)
    (root / "text" / "1.md").write_text("Hello.\n")
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).symlink_to(target)
    refused = refusal(root)
    assert refused.startswith(f"{root / name}: {message.format(target=root / target)}")
    assert "remove" in refused


def test_the_project_itself_is_no_build_even_by_a_link(tmp_path):
    root = project(tmp_path / "book")
    (root / "build").symlink_to(".")
    with building_in(root):
        assert "holds the project itself" in refusal(root)


def test_links_to_folders_of_the_project_are_allowed(tmp_path):
    root = project(tmp_path / "book")
    (root / "build" / "book").mkdir(parents=True)
    (root / "disk").mkdir()
    (root / "build" / "superseded").symlink_to("../disk")
    (root / "build" / "latest").symlink_to("book")
    assert build_folder(root) == root / "build"


def test_a_home_of_nobody_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("NARRATOR_BUILD", "~nobody-of-that-name/x")
    assert "no such home folder" in refusal(project(tmp_path / "book"))
