"""A line in the voice that somebody has, or might be given."""

from __future__ import annotations

import io
import threading

import numpy as np
import pytest
import soundfile

from narrator.cast import auditions, presets
from narrator.engines import Speech, ignore_message
from narrator.errors import NarratorError, UserError
from narrator.pipeline import auditioning, book_engines, book_reading
from narrator.pipeline.auditioning import Auditioning
from narrator.pipeline.jobs import concurrent, execution
from narrator.pipeline.jobs.protocol import AuditionLine, Job
from narrator.pipeline.jobs.server import JobServer
from narrator.pipeline.manuscript import read_manuscript
from narrator.sound import audio
from narrator.speech.attempts import DEFAULT_TRIES
from tests import books, sounds
from tests.fakes import HumEngine
from tests.owners import Screen
from tests.stage import StageEngine, says

TEXT = auditions.text_for("en").text
"""What the engine says, whatever it is asked."""


@pytest.fixture
def path(tmp_path):
    return books.brief(tmp_path)


def begin(path, engine, speaker="ann", text=TEXT, voice=None) -> Auditioning:
    return auditioning.begin(
        read_manuscript(path), engine, speaker, text, voice or {}, ignore_message
    )


def heard(path, engine, **asked):
    """What is told of an audition that a session of its own speaks."""
    one = begin(path, engine, **asked)
    auditions.speak_line(one.audition, ignore_message)
    return one.finish()


def preset(path, name="Joan"):
    clip = audio.resample(sounds.voice(4.0) * np.float32(0.3), sounds.RATE, 48_000)
    one = presets.Preset(
        name, "I have seen a good many rivers.", "en", audio.encode_flac(clip, 48_000)
    )
    presets.write(one, path.parent / "voices" / f"{name}.voice")
    return one


def test_a_voice_that_is_nobody_s_yet_is_cast_and_is_the_one_that_a_render_has(path):
    engine = StageEngine()
    told = heard(path, engine)
    candidates, line = engine.requests[:-1], engine.requests[-1]
    assert {one.mode for one in candidates} == {"zero-shot"}
    assert (line.text, line.mode) == (TEXT, "reference")
    book = books.plan(path, engine)
    assert book.voices.contents["ann"] == line.reference.content
    sound = path.parent / "build" / "auditions" / f"{told['name']}.wav"
    samples, rate = soundfile.read(io.BytesIO(sound.read_bytes()))
    assert len(samples) / rate == pytest.approx(told["seconds"], abs=0.01)
    assert (told["speaker"], list(told["faults"])) == ("ann", [])


def test_a_voice_that_is_cast_speaks_at_once(path):
    engine = StageEngine()
    first, again = heard(path, engine), heard(path, engine, text="Another line of hers.")
    assert [one.mode for one in engine.requests[4:]] == ["reference"] * DEFAULT_TRIES
    assert again["faults"]
    assert first["name"] != again["name"]


def test_a_voice_somebody_might_be_given_is_heard_and_book_yaml_stays(path):
    one, before = preset(path), path.read_text()
    engine = StageEngine()
    heard(path, engine, voice={"preset": "Joan"})
    assert engine.requests[-1].reference.content == one.content
    described = heard(path, engine, voice={"description": "A stern old woman", "seed": 4})
    own = heard(path, engine)
    assert described["name"] != own["name"]
    assert path.read_text() == before


def test_an_engine_with_voices_of_its_own_is_asked_without_a_reference(path):
    engine = HumEngine()
    heard(path, engine)
    assert [(one.mode, one.reference) for one in engine.requests] == [("zero-shot", None)]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"speaker": "Nobody"}, "not in the cast"),
        ({"text": "…"}, "nothing to say"),
        ({"text": TEXT * 20}, "15 s at most"),
        ({"voice": {"preset": "Nobody"}}, "Nobody"),
        ({"voice": {"mood": "low"}}, "a voice is a preset"),
    ],
)
def test_what_cannot_be_auditioned_is_refused(path, asked, said):
    engine = StageEngine()
    with pytest.raises(NarratorError, match=said):
        begin(path, engine, **asked)
    assert not engine.sessions


def test_a_voice_that_cannot_be_cast_is_said_and_nothing_is_kept(path):
    engine = StageEngine(fault=lambda request: Speech(says(request).samples[:100]))
    with pytest.raises(UserError, match="could not be cast"):
        heard(path, engine)
    assert not list(path.parent.glob("build/*/*"))


def test_the_last_few_are_kept(path, monkeypatch):
    monkeypatch.setattr(auditioning, "MAX_AUDITIONS", 2)
    names = [heard(path, HumEngine(), text=f"Line {n} of hers.")["name"] for n in (1, 2, 3)]
    left = {one.stem for one in (path.parent / "build" / "auditions").iterdir()}
    assert len(left) == 2
    assert names[-1] in left


def test_what_is_no_audition_is_not_removed(path, monkeypatch, tmp_path):
    monkeypatch.setattr(auditioning, "MAX_AUDITIONS", 1)
    music, build = tmp_path / "music", path.parent / "build"
    music.mkdir()
    (music / "mine.wav").write_bytes(b"RIFF")
    build.mkdir()
    (build / "auditions").symlink_to(music)
    heard(path, HumEngine())
    assert (music / "mine.wav").is_file()


def test_a_stopped_audition_ends_as_stopped(path):
    owner = JobServer(path.parent / "build")
    try:
        handle = owner.new_handle(
            Job(kind="audition", line=AuditionLine(speaker="ann", text=TEXT)), threading.Event()
        )
        handle.cancel.set()
        with owner.doing(handle):
            execution.audition(
                owner,
                handle,
                book_reading.read_book(path),
                book_engines.BookEngines(StageEngine()),
                Screen(),
            )
    finally:
        owner.close()
    assert (handle.exit_code, handle.summary) == (concurrent.STOPPED, {})


def test_an_audition_without_a_line_is_refused(path):
    reading = book_reading.read_book(path)
    engines = book_engines.engines_for(reading.manuscript.project.spoken_by("draft"))
    with pytest.raises(NarratorError, match="of a line"):
        concurrent.prepare_audition(Job(kind="audition"), reading, engines, ignore_message)
