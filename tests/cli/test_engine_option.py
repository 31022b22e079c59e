"""`--engine` of commands, and what is told where a model is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from narrator.project import other_engine
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


def test_a_draft_by_another_engine_is_refused(
    narrator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(other_engine.VARIABLE, "")  # stays set where the program would end
    code, _, told = narrator("plan", books.brief(tmp_path), "--draft", "--engine", "kokoro")
    assert code == 2
    assert told.strip() == "error: --draft is `--engine draft`: give one of the two"


@pytest.mark.parametrize(
    ("written", "message"),
    [
        (
            "voice: af_heart",
            "it is one of Kokoro's: write `kokoro: {voice: af_heart}` in place of `voice`",
        ),
        ("kokoro: af_heart", "must be a mapping of keys to values; valid keys: voice"),
    ],
)
def test_a_voice_of_kokoro_in_the_wrong_place_is_named_with_the_right_one(
    narrator, tmp_path: Path, written: str, message: str
) -> None:
    wrong = books.MANIFEST.replace("voice: {description: An old ferryman}", written)
    code, _, told = narrator("check", books.brief(tmp_path, wrong))
    assert code == 2
    assert message in told


def test_phonemes_are_shown(narrator, tmp_path: Path) -> None:
    said = narrator("why", "1.1", books.brief(tmp_path), "--engine", "kokoro")[1]
    assert "\nphonemes: mˈɔːnɪŋ." in said


def test_a_main_language_that_needs_an_extra_is_told_with_it(
    narrator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    manifest = books.MANIFEST.replace("en-GB", "ja")
    path = books.brief(tmp_path, manifest, "# 一\n\n名前はまだ無い。\n")
    told = narrator("check", path, "--engine", "kokoro")[2]
    [refusal] = [line for line in told.splitlines() if "kokoro does not speak" in line]
    assert "main language, “ja”" in refusal
    assert "[japanese]" in refusal
