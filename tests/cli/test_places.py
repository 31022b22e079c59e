from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from narrator.cli import places
from narrator.delivery import output_manifest
from tests import faults
from tests.walks import write


@pytest.fixture(scope="module")
def walked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write(tmp_path_factory.mktemp("walks"))
    assert faults.command(None, "render", folder)[0] == 0
    return folder


@pytest.fixture
def walks(walked: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(walked, tmp_path / "walks"))


def rows(narrator, *arguments):
    code, said, errors = narrator("where", *arguments, "--json")
    assert code == 0, errors
    return json.loads(said)


def test_a_chunk_and_its_time_name_each_other(narrator, walks):
    for chunk in ("1.1", "1.2", "2.1", "2.2"):
        (passage,) = rows(narrator, chunk, walks)
        time = f"0:{(passage['start'] + passage['stop']) / 2:05.2f}"
        (heard,) = rows(narrator, walks, str(passage["chapter"]), time)
        assert heard.items() >= {**passage, "current": True, "pause": False}.items()


def test_a_time_says_who_speaks_and_the_line(narrator, walks):
    code, said, _ = narrator("where", walks, "Home", "0:00")
    assert code == 0
    assert "home.md:1  narrator: They came home." in said
    assert "the time lies in the pause beside it" in said


def test_a_time_in_the_file_of_the_book_is_one_in_its_chapter(narrator, walks):
    (last,) = rows(narrator, "2.2", walks)
    file = walks / "build/book/Nobody - Two Walks.m4b"
    made = output_manifest.read_ledger(walks / "build/made.json")
    start = made["book/Nobody - Two Walks.m4b"].facts["starts"][1]
    code, said, _ = narrator("where", f"0:{start + last['start'] + 0.1:05.2f}", walks)
    assert code == 0
    assert f"{file.name}: chapter 2" in said
    assert "Ada: At last." in said


def test_a_time_as_subtitles_have_it(narrator, walks):
    assert rows(narrator, walks, "1", "00:00:01,000") == rows(narrator, walks, "1", "0:01.0")


def test_a_chapters_number_stands_before_a_folder_of_that_name(narrator, walks, monkeypatch):
    monkeypatch.chdir(walks)
    (walks / "2").mkdir()
    assert rows(narrator, "2", "0:01")[0]["chapter"] == 2


def test_a_folder_called_as_a_number_is_a_book_where_there_is_no_other(
    narrator, walks, monkeypatch
):
    monkeypatch.chdir(Path(shutil.move(walks, walks.parent / "2")).parent)
    assert rows(narrator, "2", "1", "0:01")[0]["chapter"] == 1


def test_after_an_edit_it_says_what_was_there_and_what_it_is_called_now(narrator, walks):
    (before,) = rows(narrator, "1.2", walks)
    (walks / "out.md").write_text("Ada: Well?\n\nThe road was dry.\n\nAda: Not far now.\n")
    time = f"0:{before['start'] + 0.1:05.2f}"
    (heard,) = rows(narrator, walks, "1", time)
    assert (heard["text"], heard["current"], heard["chunk"]) == (before["text"], True, "1.3")
    code, said, _ = narrator("where", walks, "1", "0:01")
    assert code == 0
    assert "The road was long." in said
    assert "`narrator render` makes it again" in said
    assert "not heard yet" in narrator("where", walks, "1.1")[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["1", "9:00"], "chapter 1 lasts 0:"),
        (["99:00:00"], "Two Walks.m4b lasts 0:"),
        (["1", "0:01", "0:02"], "which time, 0:01 or 0:02? Name one"),
        (["1-2", "0:01"], "“1-2” are several chapters: name one"),
        (["Nowhere", "0:01"], "no chapter 'Nowhere'"),
        ([], "which place? A chapter and a time, 3 12:34, or a chunk, 3.12"),
        (["7.1"], "no chunk '7.1'"),
        (["1.99"], "; the last of chapter 1 is 1."),
        (["1.1", "7.1", "1.99"], "no chunks '7.1', '1.99'; chunks are named"),
    ],
)
def test_what_is_nowhere_is_one_line(narrator, walks, arguments, message):
    code, _, errors = narrator("where", *arguments, walks)
    assert code == 2
    assert message in errors


def test_a_book_without_sound_says_how_it_is_made(narrator, walks):
    shutil.rmtree(walks / "build")
    assert "no sound yet: `narrator render` makes it" in narrator("where", walks, "1", "0:01")[2]
    assert "say which chapter" in narrator("where", walks, "0:01")[2]


def test_a_book_that_only_the_draft_voice_has_read_says_how_that_is_asked_for(narrator, tmp_path):
    folder = write(tmp_path)
    book = folder / "book.yaml"
    book.write_text(book.read_text().replace("engine: {name: draft}\n", ""))
    assert narrator("render", folder, "--draft")[0] == 0
    _, _, errors = narrator("where", folder, "1", "0:01")
    assert "`narrator render` makes it; the draft voice's is asked for with `--draft`" in errors
    assert narrator("where", folder, "1", "0:01", "--draft")[0] == 0


# -- playing


@pytest.fixture
def player(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A player that keeps the sizes of what it played."""
    played = tmp_path / "played.txt"
    program = tmp_path / "bin" / "afplay"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nwc -c < "$1" >> {played}\n')
    program.chmod(0o755)
    monkeypatch.setattr(places, "_PLAYERS", {places.sys.platform: (("afplay",),)})
    monkeypatch.setenv("PATH", str(program.parent), prepend=os.pathsep)
    return played


def test_takes_are_played_in_order(narrator, walks, player):
    code, _, errors = narrator("play", "1.2", "1.1", walks)
    assert code == 0
    assert errors.index("1.2  Ada") < errors.index("1.1  narrator")
    short, long = map(int, player.read_text().split())
    assert 10_000 < short < long


def test_a_player_that_fails_says_why(narrator, walks, player):
    (player.parent / "bin/afplay").write_text("#!/bin/sh\necho no device >&2\nexit 1\n")
    code, _, errors = narrator("play", "1.1", walks)
    assert code == 2
    assert "afplay could not play it: no device" in errors


def test_what_was_not_spoken_is_not_played(narrator, walks, player):
    assert "1.1 has no try 7; tries: 1" in narrator("play", "1.1", walks, "--try", "7")[2]
    shutil.rmtree(walks / "build")
    assert "1.1 has no take; tries: none was kept" in narrator("play", "1.1", walks)[2]
    assert not player.exists()


def test_without_a_player_files_are_the_way(narrator, walks, monkeypatch):
    monkeypatch.setenv("PATH", "")
    code, _, errors = narrator("play", "1.1", walks)
    assert code == 2
    assert "`narrator takes CHUNK --out FOLDER` writes them as files" in errors
