"""Settings of engines in a manifest: each engine validates its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest
from pydantic import Field

from narrator.engines import Engine
from narrator.engines.registry import ENGINES
from narrator.engines.spec import EngineContext, EngineSettings, EngineSpec
from narrator.errors import ManifestError
from narrator.project import load

BOOK = """\
title: A Book
author: A. Author
engine: {engine}
speakers: {{narrator: {narrator}}}
chapters: [{{title: One, lines: [Hello.], engine: {chapter}}}]
"""


class WhisperSettings(EngineSettings):
    """Another engine's `cfg`, which is another thing than VoxCPM2's."""

    name: Literal["whisper"] = "whisper"
    cfg: Literal["soft", "hoarse"] = "soft"
    breath: int = Field(default=1, le=3)


class WhisperSpec(EngineSpec):
    name = "whisper"
    settings = WhisperSettings
    chapter_settings = ("cfg",)

    def make(
        self, settings: EngineSettings, context: EngineContext, tell: Callable[[str], None]
    ) -> Engine:
        raise NotImplementedError

    def sample_rate(self, settings: EngineSettings) -> int:
        return 16_000


@pytest.fixture
def whisper(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENGINES, "whisper", WhisperSpec())


def book(
    folder: Path, engine: str = "voxcpm2", narrator: str = "{}", chapter: str = "{}"
) -> load.Project:
    path = folder / "book.yaml"
    path.write_text(BOOK.format(engine=engine, narrator=narrator, chapter=chapter))
    return load.load(path)


def refusal(folder: Path, **parts: str) -> str:
    with pytest.raises(ManifestError) as caught:
        book(folder, **parts)
    return str(caught.value)


def test_a_speaker_changes_the_settings_of_the_books_engine(tmp_path):
    project = book(tmp_path, "{cfg: 3.0, steps: 4}", "{engine: {steps: 8}}")
    assert (project.engine.cfg, project.engine.steps) == (3.0, 4)
    own = project.engine_of("narrator")
    assert (own.name, own.cfg, own.steps) == ("voxcpm2", 3.0, 8)


def test_another_engine_of_a_speaker_begins_with_its_own_defaults(tmp_path):
    project = book(tmp_path, "{cfg: 3.0}", "{engine: {name: server, seed: 4}}")
    own = project.engine_of("narrator")
    assert (own.name, own.cfg, own.seed) == ("server", 2.0, 4)


def test_settings_of_other_engines_are_kept_by_name_only(tmp_path):
    engine = book(tmp_path, "{name: draft, steps: 3, url: 'http://127.0.0.1:8000'}").engine
    assert engine.other_keys == ("steps", "url")
    assert engine.model_dump() == {"name": "draft"}


def test_settings_of_other_engines_are_checked(tmp_path):
    said = refusal(tmp_path, engine="{name: draft, steps: 500, url: nowhere}")
    assert "book.yaml:3: engine.steps: must be less than or equal to 100, not '500'" in said
    assert "book.yaml:3: engine.url: must be an address" in said


@pytest.mark.parametrize(
    ("engine", "message"),
    [
        ("voxcmp2", "engine: must be 'voxcpm2', 'kokoro', "),
        ("{name: voxcmp2}", "engine.name: must be 'voxcpm2'"),
        ("{name: 3}", "engine.name: must be 'voxcpm2'"),
        ("{stps: 4}", "unknown key 'stps' in engine; did you mean 'steps'?"),
        ("[voxcpm2]", "engine: must be a mapping of keys to values"),
        ("null", "engine: has no value"),
    ],
)
def test_what_is_no_engine_is_named_with_its_line(engine, message, tmp_path):
    assert f"book.yaml:3: {message}" in refusal(tmp_path, engine=engine)


def test_a_key_of_two_engines_means_what_each_takes_it_for(whisper, tmp_path):
    project = book(tmp_path, "{name: whisper, cfg: hoarse, steps: 4}", chapter="{cfg: soft}")
    assert project.engine.cfg == "hoarse"
    chapter = project.chapters[0].engine
    assert chapter.of("whisper") == {"cfg": "soft"}
    assert chapter.of("voxcpm2") == {}


def test_a_chapters_value_must_suit_the_engines_that_the_book_uses(whisper, tmp_path):
    assert book(tmp_path, chapter="{cfg: 1.5}").chapters[0].engine.of("voxcpm2") == {"cfg": 1.5}
    said = refusal(tmp_path, narrator="{engine: whisper}", chapter="{cfg: 1.5}")
    assert "book.yaml:5: chapters[1].engine.cfg: must be 'soft' or 'hoarse', not 1.5" in said


@pytest.mark.parametrize(
    ("chapter", "message"),
    [
        ("{cgf: 1.5}", "unknown key 'cgf' in chapters[1].engine; did you mean 'cfg'?"),
        ("{url: x}", "unknown key 'url' in chapters[1].engine; valid keys: steps, cfg, seed"),
        ("{cfg: 99}", "chapters[1].engine.cfg: must be less than or equal to 10, not '99'"),
        ("draft", "chapters[1].engine: must be a mapping of keys to values"),
    ],
)
def test_what_a_chapter_cannot_set_is_named(chapter, message, tmp_path):
    assert f"book.yaml:5: {message}" in refusal(tmp_path, chapter=chapter)
