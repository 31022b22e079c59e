"""`narrator verify` as it is called: what it prints, and what its exit code says."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from narrator import cli
from narrator.cli import delivery
from narrator.errors import UserError
from tests.sound_files import roomy, speech, write

assert delivery  # its command is part of the app


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("good") / "good.mp3", roomy(speech()))


def verify(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(cli.app, ["verify", *map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


def test_the_command_prints_a_line_a_check_and_its_exit_code_tells(
    good: Path, tmp_path: Path
) -> None:
    code, said = verify(good, "--profile", "acx")
    assert code == 0
    assert "1 file against acx: ok" in said
    bad = write(tmp_path / "bad.mp3", roomy(speech(), tail=0.2))
    code, said = verify(good, bad, "-p", "acx")
    assert code == 1
    failed = [line.split() for line in said.splitlines() if "FAIL" in line]
    assert [line[0] for line in failed] == ["tail"]
    assert failed[0][-1] == "FAIL"
    assert verify(tmp_path, "-p", "acx")[0] == 1  # a folder stands for its files


def test_a_file_that_cannot_be_read_is_exit_code_2(good: Path, tmp_path: Path) -> None:
    path = tmp_path / "x.mp3"
    path.write_bytes(b"nothing")
    code, said = verify(path, good)
    assert code == 2
    assert "x.mp3" in said


def test_a_program_gets_json(good: Path) -> None:
    code, said = verify(good, "--profile", "spotify", "--json")
    assert code == 1
    row = json.loads(said)["files"][0]
    assert row["ok"] is False
    assert row["bitrate_mode"] == "constant"
    assert {c["name"] for c in row["checks"] if not c["ok"]} == {"loudness"}


def test_an_unknown_profile_names_the_nearest(good: Path) -> None:
    with pytest.raises(UserError, match="unknown profile 'spotfy'; did you mean 'spotify'"):
        verify(good, "--profile", "spotfy")


def test_a_profile_of_ones_own_comes_from_the_manifest(good: Path, tmp_path: Path) -> None:
    book = tmp_path / "book.yaml"
    book.write_text(
        "title: T\nauthor: A\nchapters: [{title: One, lines: [Hello.]}]\n"
        "profiles: {mine: {base: acx, bitrate: 128}}\n"
    )
    code, said = verify(good, "--profile", "mine", "--book", book)
    assert code == 1
    assert [line.split()[0] for line in said.splitlines() if "FAIL" in line] == ["bitrate"]


def test_what_cannot_be_read_is_not_called_ok(good: Path, tmp_path: Path) -> None:
    path = tmp_path / "x.mp3"
    path.write_bytes(b"nothing")
    code, said = verify(path, "-p", "acx")
    assert code == 2
    assert said.splitlines()[-1] == "1 file against acx: 1 cannot be read"
    code, said = verify(path, good, "-p", "acx")
    assert said.splitlines()[-1] == "2 files against acx: 1 cannot be read"


def test_a_program_learns_which_file_cannot_be_read(good: Path, tmp_path: Path) -> None:
    path = tmp_path / "x.mp3"
    path.write_bytes(b"nothing")
    result = CliRunner().invoke(cli.app, ["verify", str(path), str(good), "--json"])
    assert result.exit_code == 2
    rows = json.loads(result.stdout)["files"]
    assert {row["file"]: row["ok"] for row in rows} == {str(good): True, str(path): False}


def test_hidden_files_of_a_folder_are_passed_over(good: Path, tmp_path: Path) -> None:
    (tmp_path / "good.mp3").write_bytes(good.read_bytes())
    (tmp_path / "._good.mp3").write_bytes(b"what a Mac leaves there")
    (tmp_path / ".trash").mkdir()
    (tmp_path / ".trash" / "old.mp3").write_bytes(b"nothing")
    code, said = verify(tmp_path)
    assert code == 0
    assert said.splitlines()[-1] == "1 file: ok"


def test_no_figure_for_a_program_is_infinite(tmp_path: Path) -> None:
    sound = roomy(speech())
    sound[1000:1010] = np.inf
    path = write(tmp_path / "inf.wav", sound, codec="pcm_f32le")
    code, said = verify(path, "--json")
    assert code == 1
    assert "Infinity" not in said
    assert "NaN" not in said
