"""The calls that mlx-whisper 0.4.3 takes, by its own signature; the package itself is not here."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from narrator.errors import EngineUnavailable
from narrator.speech.hearing import Recogniser
from narrator.speech.hearing.whisper import MODEL, MlxWhisper

asked: list[dict[str, Any]] = []


def transcribe(
    audio: np.ndarray,
    *,
    path_or_hf_repo: str = "mlx-community/whisper-tiny",
    verbose: bool | None = None,
    temperature: float | Sequence[float] = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0),
    condition_on_previous_text: bool = True,
    initial_prompt: str | None = None,
    language: str | None = None,
) -> dict[str, Any]:
    asked.append({"audio": audio, **{k: v for k, v in locals().items() if k != "audio"}})
    if path_or_hf_repo == "nowhere/nothing":
        raise FileNotFoundError("An error happened while trying to locate the files on the Hub\nx")
    return {"text": " Nobody had ever asked.", "segments": [], "language": language}


@pytest.fixture(autouse=True)
def package(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("mlx_whisper")
    module.transcribe = transcribe  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "mlx_whisper", module)
    asked.clear()


def test_it_is_a_recogniser():
    recogniser: Recogniser = MlxWhisper()
    assert recogniser.name == "whisper whisper-large-v3-turbo"
    assert {"en", "zh", "nb"} <= set(recogniser.languages)
    assert not {"km", "lo", "my"} & set(recogniser.languages)


def test_a_take_is_heard_at_sixteen_kilohertz_in_its_language():
    samples = np.zeros(48000, np.float32)
    assert MlxWhisper().transcribe(samples, 48000, "en-GB") == "Nobody had ever asked."
    [call] = asked
    assert call["audio"].shape == (16000,)
    assert call["audio"].dtype == np.float32
    assert call["language"] == "en"
    assert call["path_or_hf_repo"] == MODEL


def test_the_same_take_is_always_heard_the_same():
    MlxWhisper().transcribe(np.zeros(16000, np.float32), 16000, "en")
    assert asked[0]["temperature"] == 0.0
    assert asked[0]["condition_on_previous_text"] is False


@pytest.mark.parametrize(
    ("tag", "language", "prompt"),
    [
        ("nb-NO", "no", None),
        ("fil", "tl", None),
        ("zh-CN", "zh", "以下是普通话的句子。"),
        ("zh-Hant-TW", "zh", "以下是普通話的句子。"),
    ],
)
def test_languages_are_named_as_whisper_names_them(tag, language, prompt):
    MlxWhisper().transcribe(np.zeros(16000, np.float32), 16000, tag)
    assert asked[0]["language"] == language
    assert asked[0]["initial_prompt"] == prompt


def test_without_the_package_the_way_on_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "mlx_whisper", None)
    with pytest.raises(EngineUnavailable, match=r"pip install 'narrator\[recognition\]'"):
        MlxWhisper()


def test_without_the_model_the_way_on_is_named():
    with pytest.raises(EngineUnavailable, match=r"no model nowhere/nothing: An error .* Hub; go"):
        MlxWhisper("nowhere/nothing").transcribe(np.zeros(16000, np.float32), 16000, "en")
