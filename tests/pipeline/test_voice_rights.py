"""The rights in recorded voices are noted in the project, and told in files if that is meant."""

from __future__ import annotations

from pathlib import Path

import mutagen
import pytest
import soundfile

from narrator.cast import clips, presets
from narrator.cast.clips import Recording
from narrator.cast.rights import published_credits, recorded_voices
from narrator.errors import ManifestError
from narrator.pipeline import checking
from narrator.pipeline.manuscript import read_manuscript
from narrator.project.project import Project
from narrator.project.schema import Rights
from tests import books, spoken
from tests.fakes import HumEngine

NOTED = Rights(origin="Ann Smith, March 2026.", consent="in writing", publish=True)


@pytest.fixture(autouse=True)
def library(tmp_path, monkeypatch):
    """An empty library of the user's."""
    monkeypatch.setenv("NARRATOR_HOME", str(tmp_path / "home"))


def book(folder: Path, voice: str, more: str = "output: {formats: [mp3], files: book}\n") -> Path:
    """A book in which Ann has this voice, and the narrator none of his own."""
    manifest = books.PLAIN.replace("{description: A girl, seed: 3}", voice)
    assert manifest != books.PLAIN
    soundfile.write(folder / "ann.wav", spoken.draft(), spoken.RATE)
    return books.brief(folder, manifest + more)


def clip_voice(rights: str = "") -> str:
    more = f", rights: {rights}" if rights else ""
    return f"{{reference: ann.wav, transcript: '{spoken.TEXT}'{more}}}"


def preset(folder: Path, rights: Rights, **made: object) -> None:
    clip = clips.prepare(Recording(spoken.draft()[:, None], spoken.RATE), spoken.TEXT, "en-GB")
    kept = presets.of_clip("Sailor", clip, "en-GB", made=made, rights=rights)
    (folder / "voices").mkdir(exist_ok=True)
    presets.write(kept, folder / "voices" / "Sailor.voice")


def project(path: Path) -> Project:
    return read_manuscript(path).project


def test_a_clip_has_the_rights_of_the_manifest(tmp_path):
    voice = clip_voice("{origin: Ann Smith, consent: by letter}")
    read = project(book(tmp_path, voice))
    assert recorded_voices(read, read.speakers) == {
        "ann": Rights(origin="Ann Smith", consent="by letter")
    }
    assert published_credits(read, read.speakers) == []


def test_a_preset_has_its_own(tmp_path):
    preset(tmp_path, NOTED)
    read = project(book(tmp_path, "Sailor"))
    assert recorded_voices(read, read.speakers) == {"ann": NOTED}
    assert published_credits(read, read.speakers) == [
        "Voice of ann: Ann Smith, March 2026. Consent: in writing."
    ]
    assert published_credits(read, ["narrator"]) == []


def test_nobody_was_recorded_for_a_designed_voice(tmp_path):
    preset(tmp_path, Rights(), casting=1)
    read = project(book(tmp_path, "Sailor"))
    assert recorded_voices(read, read.speakers) == {}


@pytest.mark.parametrize("engine", ["draft", "kokoro"])
def test_an_engine_that_imitates_nobody_needs_no_rights(tmp_path, engine):
    read = project(book(tmp_path, clip_voice(), f"engine: {engine}\n"))
    assert recorded_voices(read, read.speakers) == {}


@pytest.mark.parametrize(
    ("voice", "message"),
    [
        ("{description: Low, rights: {origin: Me}}", "`rights` are those in a `reference` clip"),
        (clip_voice("{publish: true}"), "`publish` needs an `origin` to publish"),
    ],
)
def test_rights_are_in_a_recording_and_published_with_an_origin(tmp_path, voice, message):
    with pytest.raises(ManifestError, match=message):
        project(book(tmp_path, voice))


def test_check_names_recordings_without_an_origin_once(tmp_path):
    path = book(tmp_path, clip_voice())
    (problem,) = checking.find_unknown_origins(read_manuscript(path))
    assert "the voices of ann imitate" in problem.message
    assert problem.line == project(path).line("speakers", "ann", "voice")


@pytest.mark.parametrize(
    ("voice", "more"),
    [
        (clip_voice("{origin: Ann Smith}"), ""),
        (clip_voice(), "allow: [unknown-origin]\n"),
        ("{description: Low}", ""),
    ],
)
def test_check_has_no_remark_on_what_is_noted_or_allowed(tmp_path, voice, more):
    manuscript = read_manuscript(book(tmp_path, voice, more))
    assert not list(checking.find_unknown_origins(manuscript))


def test_files_tell_what_is_to_be_published_and_nothing_is_spoken_again(tmp_path):
    def description() -> tuple[str, int]:
        engine = HumEngine()
        report, _ = books.run(path, engine)
        assert report.finished is not None
        tags = mutagen.File(report.finished.files[0]).tags
        return str(tags.get("TXXX:description", tags.get("COMM", ""))), len(engine.requests)

    path = book(tmp_path, clip_voice())
    assert description()[1] > 0
    book(tmp_path, clip_voice("{origin: Ann Smith, consent: by letter}"))
    told, requests = description()
    assert ("Ann Smith" in told, requests) == (False, 0)
    more = (
        "description: A ferry.\ndisclosure: Nobody speaks.\noutput: {formats: [mp3], files: book}\n"
    )
    published = clip_voice("{origin: Ann Smith, consent: by letter, publish: true}")
    book(tmp_path, published, more)
    told, requests = description()
    credit = "Voice of ann: Ann Smith. Consent: by letter."
    assert told == f"A ferry.\n\n{credit}\n\nNobody speaks."
    assert requests == 0
