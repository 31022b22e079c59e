"""`--engine` of commands, and what is told where a model is missing."""

from __future__ import annotations

from pathlib import Path

from tests import books


def test_takes_and_files_of_engines_lie_side_by_side(narrator, tmp_path: Path) -> None:
    path = books.brief(tmp_path)
    assert narrator("render", path, "--engine", "draft")[0] == 0
    finished = min((tmp_path / "build" / "draft").rglob("*.wav"))
    code, said, told = narrator("render", path, "--draft")
    assert (code, said.startswith("rendered")) == (0, False), told  # the same takes
    finished.unlink()
    assert "narrator export --draft" in narrator("verify", tmp_path / "build" / "draft")[1]


def test_an_unknown_engine_is_said_in_a_line(narrator, tmp_path: Path) -> None:
    code, _, told = narrator("plan", books.brief(tmp_path), "--engine", "kokro")
    assert code == 2
    assert told.strip() == "error: --engine kokro: no such engine; did you mean kokoro?"


def test_without_a_model_it_says_what_can_speak(narrator, tmp_path: Path) -> None:
    code, _, told = narrator("render", books.brief(tmp_path))
    assert code == 3
    assert "VoxCPM2 (first `narrator models pull`, 4.9 GB)" in told
    assert "--engine kokoro" in told
    assert "`narrator models pull kokoro`, 0.4 GB" in told
    [draft] = [line for line in told.splitlines() if line.strip().startswith("--draft")]
    assert "a minute" in draft
