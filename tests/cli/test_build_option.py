"""`--build FOLDER`: every command of a project takes it, and works there alone."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from narrator.project.buildfolder import VARIABLE
from tests import books, faults
from tests.fakes import HumEngine

Narrator = Callable[..., tuple[int, str, str]]
COMMANDS = (
    "cast check doctor export feed flag gc hear pickups pin plan play render retake status "
    "studio takes unpin verify where why"
).split()


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_of_a_project_takes_it(command: str, narrator: Narrator) -> None:
    code, said, _ = narrator(command, "--help")
    assert (code, "--build" in said) == (0, True)


def test_a_render_and_what_follows_it_lie_in_the_folder(tmp_path: Path) -> None:
    path, place = books.brief(tmp_path / "book"), tmp_path / "made elsewhere"
    engine = HumEngine()
    code, said = faults.command(engine, "render", path, "--build", place)
    assert code == 0, said
    assert list((place / "book").rglob("*.wav"))
    for command in (["status", path], ["why", "1.1", path], ["takes", "1.1", path], ["plan", path]):
        code, said = faults.command(engine, *command, "--build", place)
        assert code == 0, said
    assert "done  Morning" in faults.command(engine, "status", path, "--build", place)[1]
    assert not (path.parent / "build").exists()
    assert VARIABLE not in os.environ


def test_a_link_out_of_the_project_is_not_written_through(tmp_path: Path) -> None:
    path, target = books.brief(tmp_path / "book"), tmp_path / "target"
    target.mkdir()
    (path.parent / "build").symlink_to(target)
    code, said = faults.command(HumEngine(), "render", path)
    assert (code, "a link out of the project" in said) == (2, True), said
    assert not list(target.iterdir())
