"""Voices by name."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from narrator.cast import clips, presets
from narrator.cast.presets import Preset
from narrator.cast.voicebook import OPENAI_NAMES, UnknownVoice, VoiceBook
from narrator.engines.voice import Voice
from narrator.errors import UserError
from narrator.project import load
from narrator.sound import audio
from tests.fakes import HumEngine
from tests.stage import StageEngine


def preset(name: str, **more: object) -> Preset:
    noise = np.random.default_rng(1).normal(0, 0.05, clips.RATE_HZ).astype(np.float32)
    made = Preset(name, f"I am {name}.", "de", audio.encode_flac(noise, clips.RATE_HZ))
    return replace(made, **more)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NARRATOR_HOME", str(tmp_path / "home"))
    return presets.folder(None)


def keep(folder: Path, *made: Preset) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for one in made:
        presets.write(one, folder / f"{one.name}{presets.SUFFIX}")


def names(book: VoiceBook) -> list[str]:
    return [entry.name for entry in book.entries()]


def test_a_preset_brings_its_reference_language_and_style(library: Path) -> None:
    keep(library, preset("Old Ferryman", style="gruff", seed=7))
    found = VoiceBook(StageEngine(), "en").find("old ferryman")
    assert found.voice.speaker == "Old Ferryman"
    assert (found.language, found.voice.style, found.voice.seed) == ("de", "gruff", 7)
    assert found.reference is not None
    assert found.voice.content == found.reference.content
    assert found.reference.transcript == "I am Old Ferryman."


def test_a_preset_that_was_added_or_changed_is_there_at_once(library: Path) -> None:
    keep(library, preset("ada"))
    book = VoiceBook(StageEngine(), "en")
    first = book.find("ada").reference
    assert book.find("ada").reference is first
    keep(library, preset("ben"), preset("ada", transcript="Somebody else."))
    os.utime(library / "ada.voice", (1e9, 1e9))
    changed = book.find("ada").reference
    assert changed is not None
    assert changed.transcript == "Somebody else."
    assert "ben" in names(book)
    (library / "ada.voice").unlink()
    with pytest.raises(UnknownVoice):
        book.find("ada")


def test_usual_names_are_shared_out_among_the_voices_there_are(library: Path) -> None:
    keep(library, preset("Zoe"), preset("ada"))
    book = VoiceBook(StageEngine(), "en")
    usual = {entry.name: entry.stands_for for entry in book.entries() if entry.place == "openai"}
    assert list(usual) == list(OPENAI_NAMES)
    assert [usual["alloy"], usual["ash"], usual["ballad"]] == ["ada", "Zoe", "ada"]
    assert book.find("ash").voice.speaker == "Zoe"


def test_a_voice_of_one_s_own_has_a_usual_name_before(library: Path) -> None:
    keep(library, preset("ada"), preset("Nova"))
    book = VoiceBook(StageEngine(), "en")
    assert book.find("nova").voice.speaker == "Nova"
    assert names(book).count("nova") == 0


def test_an_engine_that_imitates_has_no_other_names(library: Path) -> None:
    book = VoiceBook(StageEngine(), "en")
    assert names(book) == []
    with pytest.raises(UnknownVoice, match="there is no voice 'alloy'"):
        book.find("alloy")
    keep(library, preset("Margaret"))
    with pytest.raises(UnknownVoice, match="did you mean 'Margaret'"):
        book.find("Margret")


@pytest.mark.parametrize("name", ["anybody", "Þórr", "a/../b", "nova"])
def test_an_engine_with_voices_of_its_own_has_one_for_every_name(name: str) -> None:
    found = VoiceBook(HumEngine(), "en-GB").find(name)
    assert (found.voice.speaker, found.language, found.reference) == (name, "en-GB", None)
    assert found.voice.pronoun == ("she" if name == "nova" else None)


@pytest.mark.parametrize("name", ["", " ", "x" * 101])
def test_what_is_no_name_is_nobody_s(name: str) -> None:
    with pytest.raises(UnknownVoice):
        VoiceBook(HumEngine(), "en").find(name)


def test_a_damaged_preset_is_said(library: Path) -> None:
    library.mkdir(parents=True)
    (library / "torn.voice").write_bytes(b"PK")
    with pytest.raises(UserError, match=r"torn\.voice"):
        VoiceBook(StageEngine(), "en").find("torn")


def test_a_project_s_cast_comes_first(tmp_path: Path, library: Path) -> None:
    keep(library, preset("Ada"), preset("Cleo"))
    keep(tmp_path / "voices", preset("own"))
    (tmp_path / "one.md").write_text("It was late.\n")
    (tmp_path / "book.yaml").write_text(
        "title: T\nauthor: A\nlanguage: en-GB\nchapters: [{title: One, file: one.md}]\n"
        "speakers:\n  narrator: {voice: own, style: calm, speed: 1.2}\n"
        "  Ada: {voice: {description: A girl}}\n"
    )
    project = load.load(tmp_path / "book.yaml")
    book = VoiceBook(StageEngine(), "en", project)
    assert list(book.uncast) == ["Ada"]
    found = book.find("narrator")
    assert (found.voice.speed, found.voice.style) == (1.2, "calm")
    assert found.reference is not None
    assert found.reference.transcript == "I am own."
    places = [entry.place for entry in book.entries()]
    assert places[:4] == ["cast", "project", "library", "library"]
    assert book.find("Ada").voice.reference == library / "Ada.voice"  # hers is not cast yet
    spoken = VoiceBook(HumEngine(), "en-GB", project)
    assert list(spoken.uncast) == []
    assert spoken.find("ada").voice.description == "A girl"


class NamedVoices(HumEngine):
    def named_voices(self) -> Mapping[str, Voice]:
        return {"bm_george": Voice("bm_george", language="en-GB")}


def test_a_voice_of_the_engine_is_found_by_its_name() -> None:
    book = VoiceBook(NamedVoices(), "de")
    assert "bm_george" in names(book)
    found = book.find("bm_george")
    assert (found.voice.speaker, found.language) == ("bm_george", "en-GB")
    assert book.find("nova").voice.pronoun == "she"


def test_no_voice_is_made_up_beside_those_of_the_engine() -> None:
    with pytest.raises(UnknownVoice, match="did you mean 'bm_george'"):
        VoiceBook(NamedVoices(), "de").find("bm_gorge")
