"""Without a home that can be written, locale, terminal or PATH: a book is made all the same."""

from __future__ import annotations

import json
import pwd
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_docs import write_book

ROOT = Path(__file__).parents[2]
NOWHERE = "/dev/null/home"
"""A home that nobody can make or write, not even root."""


def run(folder: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "narrator", *words],
        cwd=folder,
        env={"HOME": NOWHERE, "PYTHONPATH": str(ROOT), **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
    )


@pytest.mark.slow
def test_a_first_book_is_made(tmp_path):
    write_book(tmp_path / "manuscript.epub")
    for line in (
        "new my-book --from manuscript.epub",
        "check my-book",
        "render my-book --draft",
        "verify my-book",
        "status my-book --draft",
        "studio my-book --draft --save report.html",
        "voices list",
        "models list",
    ):
        result = run(tmp_path, *line.split())
        assert result.returncode == 0, f"{line}: {result.stderr}"
    assert list(tmp_path.glob("my-book/build/draft/*.m4b"))
    assert "The Bridge" in (tmp_path / "report.html").read_text("utf-8")
    assert {path.name for path in tmp_path.iterdir()} == {
        "manuscript.epub",
        "my-book",
        "report.html",
    }


@pytest.mark.slow
def test_nothing_is_left_in_a_home_but_the_library(tmp_path):
    """As docs/installing.md promises, for who uninstalls it."""
    home = tmp_path / "home"
    home.mkdir()
    write_book(tmp_path / "manuscript.epub")
    for line in ("new my-book --from manuscript.epub", "render my-book --draft", "doctor my-book"):
        result = run(tmp_path, *line.split(), HOME=str(home))
        assert result.returncode == (3 if line.startswith("doctor") else 0), result.stderr
    folder = "Library/Application Support" if sys.platform == "darwin" else ".local/share"
    library = home / folder / "narrator"
    assert [
        path for path in home.rglob("*") if path.is_file() and library not in path.parents
    ] == []


def test_the_folder_that_cannot_be_written_is_named(tmp_path):
    folders = [NOWHERE, *map(str, Path(NOWHERE).parents)]
    result = run(tmp_path, "doctor", "--json")
    states = {check["name"]: check for check in json.loads(result.stdout)["checks"]}
    library = states["library"]
    assert (library["state"], states["here"]["state"]) == ("warn", "ok"), library
    assert any(folder in library["said"] for folder in folders)
    assert "NARRATOR_HOME" in library["todo"]


def test_what_has_to_be_kept_there_is_refused_in_one_line(tmp_path):
    result = run(tmp_path, "scheduler")
    assert result.returncode == 3
    (line,) = result.stderr.strip().splitlines()
    assert line.startswith("error: /dev/null")


@pytest.mark.parametrize("command", [("voices", "list"), ("models", "list"), ("doctor",)])
def test_a_user_without_a_home_is_told_what_to_set(narrator, monkeypatch, tmp_path, command):
    """As a container runs a program for a user that it does not know."""

    def unknown(uid: int) -> None:
        raise KeyError(uid)

    monkeypatch.chdir(tmp_path)
    for variable in ("HOME", "NARRATOR_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    code, _, errors = narrator(*command)
    assert code == 3
    assert "set HOME or NARRATOR_HOME to a folder" in errors
    assert not list(tmp_path.iterdir())
