"""`narrator voices`: from a clip or a description to a voice that manifests can name."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import soundfile

from narrator.cast import auditions, cuts, presets
from narrator.cli import auditioning
from narrator.engines import Request, Speech
from narrator.engines.voice import Voice
from narrator.engines.voxcpm2 import VoxCPM2Spec
from narrator.errors import EngineFailure, Problem
from narrator.project.schema import Rights
from narrator.text.pace import expected_seconds
from tests import sounds, spoken
from tests.spoken import TEXT
from tests.stage import StageEngine, says

MANIFEST = """\
title: The Ferry
author: A. Author
language: en-GB
speakers: {Ada: {voice: Ada}}
engine: {steps: 6, seed: 5}
chapters: [{title: One, lines: [{Ada: "The ferry left at seven."}]}]
"""


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """A user's library and a working folder, both empty."""
    monkeypatch.setenv("NARRATOR_HOME", str(tmp_path / "home"))
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return tmp_path / "home" / "voices"


@pytest.fixture
def narrator(narrator):
    """Run `narrator voices …`: (exit code, standard output, standard error)."""
    return partial(narrator, "voices")


@pytest.fixture
def stage(monkeypatch) -> StageEngine:
    engine = StageEngine()
    monkeypatch.setattr(auditioning, "engine_for", lambda root: engine)
    return engine


@pytest.fixture
def clip(tmp_path) -> Path:
    path = tmp_path / "ada.wav"
    soundfile.write(path, spoken.draft(), spoken.RATE)
    return path


@pytest.fixture
def book() -> Path:
    """A project here, which names a voice that is still to be made."""
    Path("book.yaml").write_text(MANIFEST, encoding="utf-8")
    return Path()


def test_where_the_engine_of_a_book_casts_nobody_the_usual_one_does(book, capsys):
    text = MANIFEST.replace("{steps: 6, seed: 5}", "cosyvoice2")
    Path("book.yaml").write_text(text, encoding="utf-8")
    assert auditioning._designing_engine(book).name == "voxcpm2"
    assert "voxcpm2 casts the voice" in capsys.readouterr().err
    assert auditioning.engine_for(book).name == "cosyvoice2"


# -- clips that are too long --------------------------------------------------------------------

FIRST = "Early in the morning a cool wind came over the hills, and the village smelled of bread."
REST = "Nobody was in a hurry, for there was time enough for everything that had to be done."


@pytest.fixture
def long(tmp_path) -> Path:
    """A clip of some 13 s, with a pause between its two sentences."""
    parts = [sounds.silence(0.3)]
    for text in (FIRST, REST):
        words = text.replace(",", "").replace(".", "")
        said = sounds.voice(expected_seconds(words, "en"), seed=len(text))
        parts += [said, sounds.silence(0.6)]
    soundfile.write(tmp_path / "long.wav", np.concatenate(parts), sounds.RATE)
    return tmp_path / "long.wav"


def test_a_long_clip_is_cut_at_a_pause_with_its_transcript_s_part(narrator, long, home):
    code, said, errors = narrator("add", "Ada", long, "--cut", "--transcript", f"{FIRST} {REST}")
    assert (code, "advised" in errors) == (0, False)
    assert f"s of speech: “{FIRST}”" in said
    preset = presets.read(home / "Ada.voice")
    assert preset.transcript == FIRST
    assert 5 < preset.seconds < 10


def test_unasked_and_without_a_terminal_it_is_kept_whole_and_the_command_is_said(
    narrator, long, home
):
    code, _, errors = narrator("add", "Ada", long, "--transcript", f"{FIRST} {REST}")
    assert code == 0
    assert "5 to 10 s are advised" in errors
    assert presets.read(home / "Ada.voice").transcript == f"{FIRST} {REST}"
    command = shlex.split(errors.partition(": narrator voices ")[2].splitlines()[0])
    assert narrator(*command, "--replace")[0] == 0
    assert presets.read(home / "Ada.voice").transcript == FIRST


def test_a_cut_that_is_not_sure_is_proposed_and_not_made(narrator, long, home, monkeypatch):
    real = cuts.find
    monkeypatch.setattr(cuts, "find", lambda *given: replace(real(*given), sure=False))
    code, _, errors = narrator("add", "Ada", long, "--cut", "--transcript", f"{FIRST} {REST}")
    assert code == 2
    assert "several places come near" in errors
    assert f"--transcript '{FIRST}'" in errors
    assert not home.exists()


def test_a_cut_outside_of_the_clip_is_an_error(narrator, long):
    code, _, errors = narrator("add", "Ada", long, "--cut", "99", "--transcript", FIRST)
    assert (code, "--cut 99: seconds from its beginning" in errors) == (2, True)


def test_the_whole_transcript_does_not_pass_for_a_part(narrator, long):
    code, _, errors = narrator("add", "Ada", long, "--cut", "4", "--transcript", f"{FIRST} {REST}")
    assert (code, "it says more than the clip" in errors) == (2, True)


# -- add -------------------------------------------------------------------------------------------


def test_without_a_project_a_clip_becomes_a_voice_of_the_library(narrator, clip, home):
    code, said, errors = narrator("add", "Ada", clip, "--transcript", TEXT)
    assert (code, errors) == (0, "")
    assert "s of speech" in said
    assert "the library" in said
    preset = presets.read(home / "Ada.voice")
    assert (preset.name, preset.transcript, preset.language) == ("Ada", TEXT, "en")


def test_in_a_project_it_is_the_project_s_with_its_language(narrator, clip, book):
    assert narrator("add", "Ada", clip, "--transcript", TEXT)[0] == 0
    assert presets.read(Path("voices/Ada.voice")).language == "en-GB"


def test_a_voice_can_be_kept_for_all_projects_and_its_project_be_elsewhere(
    narrator, clip, book, home, monkeypatch, tmp_path
):
    narrator("add", "Ada", clip, "--transcript", TEXT, "--library")
    assert (home / "Ada.voice").is_file()
    monkeypatch.chdir(tmp_path)
    narrator("add", "Eve", clip, "--transcript", TEXT, "--project", "work")
    assert (tmp_path / "work" / "voices" / "Eve.voice").is_file()


def test_a_transcript_comes_from_a_file_too(narrator, clip, home):
    Path("said.txt").write_text(f"\ufeff{TEXT}\n", encoding="utf-8")
    assert narrator("add", "Ada", clip, "--transcript-file", "said.txt")[0] == 0
    assert presets.read(home / "Ada.voice").transcript == TEXT


@pytest.mark.parametrize("options", [[], ["--transcript", TEXT, "--transcript-file", "said.txt"]])
def test_exactly_one_transcript_is_needed(narrator, clip, options):
    code, _, errors = narrator("add", "Ada", clip, *options)
    assert code == 2
    assert "exact transcript" in errors


def test_a_refused_clip_is_an_error_that_says_why_and_leaves_nothing(narrator, clip, home):
    code, _, errors = narrator("add", "Ada", clip, "--transcript", "Early.")
    assert code == 2
    assert f"{clip}: " in errors
    assert "words are missing from the transcript" in errors
    assert not home.exists()


def test_warnings_are_told_and_the_voice_is_kept(narrator, tmp_path, home):
    noise = np.random.default_rng(1).standard_normal(len(spoken.draft())) * 0.02
    soundfile.write(tmp_path / "hiss.wav", spoken.draft() + noise, spoken.RATE)
    code, _, errors = narrator("add", "Ada", tmp_path / "hiss.wav", "--transcript", TEXT)
    assert code == 0
    assert "hiss.wav: noisy" in errors
    assert (home / "Ada.voice").is_file()


def test_a_voice_is_not_replaced_unasked(narrator, clip, home):
    narrator("add", "Ada", clip, "--transcript", TEXT)
    before = (home / "Ada.voice").read_bytes()
    code, _, errors = narrator("add", "Ada", clip, "--transcript", TEXT, "--style", "sad")
    assert code == 2
    assert "--replace" in errors
    assert (home / "Ada.voice").read_bytes() == before
    assert narrator("add", "Ada", clip, "--transcript", TEXT, "--style", "sad", "--replace")[0] == 0
    assert presets.read(home / "Ada.voice").style == "sad"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["../Ada", "a.wav", "--transcript", "x"], "cannot be a voice's name"),
        (["Ada"], "which clip?"),
        (["Ada", "none.wav", "--transcript", "x"], "none.wav: cannot be read"),
        (["Ada", "none.wav", "--transcript-file", "none.txt"], "none.txt: cannot be read"),
        (
            ["Ada", "none.wav", "--transcript", "x", "--language", "English"],
            "did you mean 'en'?",
        ),
        (["Ada", "none.wav", "--transcript", "x", "--project", "none"], "no project there"),
        (["none.voice"], "none.voice: cannot be read"),
    ],
)
def test_wrong_arguments_are_one_line_and_exit_2(narrator, arguments, said):
    code, _, errors = narrator("add", *arguments)
    assert code == 2
    assert said in errors
    assert errors.count("\n") == 1


# -- list, show, copy, remove ----------------------------------------------------------------------


def test_a_voice_goes_to_another_machine_as_one_file(narrator, clip, home, tmp_path, monkeypatch):
    narrator("add", "Ada", clip, "--transcript", TEXT)
    assert narrator("copy", "Ada", tmp_path)[0] == 0
    there = tmp_path / "there"
    monkeypatch.setenv("NARRATOR_HOME", str(there))
    assert narrator("add", tmp_path / "Ada.voice")[0] == 0
    assert narrator("add", "Eve", tmp_path / "Ada.voice")[0] == 0
    here = presets.read(home / "Ada.voice")
    for name in ("Ada", "Eve"):
        found = presets.read(there / "voices" / f"{name}.voice")
        assert (found.name, found.content) == (name, here.content)


def test_copying_writes_over_nothing_unasked(narrator, clip, tmp_path):
    narrator("add", "Ada", clip, "--transcript", TEXT)
    (tmp_path / "Ada.voice").write_text("mine")
    code, _, errors = narrator("copy", "Ada", tmp_path / "Ada.voice")
    assert (code, (tmp_path / "Ada.voice").read_text()) == (2, "mine")
    assert "--replace" in errors
    assert narrator("copy", "Ada", tmp_path / "ada.zip")[0] == 2


def test_a_list_tells_where_each_voice_is(narrator, clip, book):
    narrator("add", "Ada", clip, "--transcript", TEXT)
    narrator("add", "Eve", clip, "--transcript", TEXT, "--library")
    Path("voices/Bad.voice").write_bytes(b"not a zip")
    _, said, _ = narrator("list", "--json")
    rows = {row["name"]: row for row in json.loads(said)["voices"]}
    assert {name: row["place"] for name, row in rows.items()} == {
        "Ada": "project", "Bad": "project", "Eve": "library",
    }  # fmt: skip
    assert "torn or altered" in rows["Bad"]["trouble"]
    assert rows["Eve"]["transcript"] == TEXT
    _, said, _ = narrator("list")
    assert all(name in said for name in ("Ada", "Bad", "Eve", "clip ada.wav"))


NOTES = ["--origin", "Ann Smith, March 2026", "--consent", "by letter"]
NOTED = Rights(origin="Ann Smith, March 2026", consent="by letter")


def test_origin_and_consent_are_kept_and_go_along_with_the_voice(
    narrator, clip, home, tmp_path, monkeypatch
):
    assert narrator("add", "Ada", clip, "--transcript", TEXT, *NOTES)[0] == 0
    assert presets.read(home / "Ada.voice").rights == NOTED
    _, said, _ = narrator("show", "Ada")
    assert "origin: Ann Smith, March 2026\nconsent: by letter\n" in said
    assert "publish" not in said
    assert "Ann Smith, March 2026. Consent" in narrator("list")[1]
    narrator("copy", "Ada", tmp_path / "Eve.voice")
    _answer(monkeypatch, [])  # nothing is asked that is noted
    assert narrator("add", "Eve", tmp_path / "Eve.voice")[0] == 0
    assert presets.read(home / "Eve.voice").rights == NOTED


def _answer(monkeypatch, answers: list[str]) -> list[str]:
    """Has a terminal with somebody who gives these answers; returns the questions."""
    questions: list[str] = []

    def prompt(question: str, **_: object) -> str:
        questions.append(question)
        return answers.pop(0)

    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("narrator.cli.voices.err._force_terminal", True)
    monkeypatch.setattr("typer.prompt", prompt)
    return questions


def test_on_a_terminal_both_are_asked_once(narrator, clip, home, monkeypatch):
    questions = _answer(monkeypatch, ["Ann Smith, March 2026", " by letter ", "", ""])
    narrator("add", "Ada", clip, "--transcript", TEXT)
    assert [question.split("?")[0] for question in questions] == [
        "Where does the recording come from: who speaks, when, for what",
        "Who has agreed to its use as a voice, and how",
    ]
    assert presets.read(home / "Ada.voice").rights == NOTED
    narrator("add", "Eve", clip, "--transcript", TEXT)
    assert presets.read(home / "Eve.voice").rights == Rights()


def test_rights_of_a_voice_that_is_there_are_noted_and_published(narrator, clip, home):
    narrator("add", "Ada", clip, "--transcript", TEXT)
    content = presets.read(home / "Ada.voice").content
    code, said, _ = narrator("rights", "Ada", *NOTES, "--publish")
    assert (code, said) == (
        0, "origin: Ann Smith, March 2026\nconsent: by letter\npublish: true\n"
    )  # fmt: skip
    assert presets.read(home / "Ada.voice").rights == replace_rights(publish=True)
    assert presets.read(home / "Ada.voice").content == content
    narrator("rights", "Ada", "--no-publish", "--consent", "")
    assert presets.read(home / "Ada.voice").rights == replace_rights(consent=None)


def replace_rights(**changes: object) -> Rights:
    return NOTED.model_copy(update=changes)


def test_nothing_is_published_without_an_origin(narrator, clip, home):
    code, _, errors = narrator("add", "Ada", clip, "--transcript", TEXT, "--publish")
    assert (code, "nothing to publish without an --origin" in errors) == (2, True)
    assert not home.exists()


def test_an_empty_list_says_what_to_do(narrator):
    code, said, _ = narrator("list")
    assert code == 0
    assert "narrator voices add" in said


def test_voices_of_an_engine_s_own_are_listed(narrator):
    rows = json.loads(narrator("list", "--engine", "kokoro", "--json")[1])["voices"]
    assert len(rows) == 54
    expected = {"name": "bm_george", "place": "kokoro", "language": "en-GB", "pronoun": "he"}
    assert expected in rows


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["af_heart"],
            "narrator voices audition af_heart --engine kokoro",
        ),
        (["af_hart", "--engine", "kokoro"], "af_hart: no such voice; did you mean 'af_heart'?"),
    ],
)
def test_a_voice_of_another_engine_names_what_to_do(narrator, arguments, message):
    code, _, told = narrator("audition", *arguments)
    assert (code, message in told) == (2, True)


def test_all_of_a_voice_is_shown(narrator, clip, home):
    narrator("add", "Ada", clip, "--transcript", TEXT, "--style", "amused")
    _, said, _ = narrator("show", "Ada")
    content = presets.read(home / "Ada.voice").content
    for words in (TEXT, "amused", "clip ada.wav", content):
        assert words in said
    assert json.loads(narrator("show", "Ada", "--json")[1])["content"] == content


def test_an_unknown_voice_names_the_nearest(narrator, clip):
    narrator("add", "Ada", clip, "--transcript", TEXT)
    for command in (["show", "Adda"], ["remove", "Adda", "--yes"], ["copy", "Adda", "x.voice"]):
        code, _, errors = narrator(*command)
        assert code == 2
        assert "did you mean 'Ada'" in errors


def test_a_voice_is_removed_when_that_is_meant(narrator, clip, home, monkeypatch):
    narrator("add", "Ada", clip, "--transcript", TEXT)
    monkeypatch.setattr("typer.confirm", lambda question: False)
    assert "kept" in narrator("remove", "Ada")[1]
    assert (home / "Ada.voice").is_file()
    assert narrator("remove", "Ada", "--yes")[0] == 0
    assert not (home / "Ada.voice").exists()


def test_the_project_s_voice_is_removed_before_the_library_s(narrator, clip, book, home):
    narrator("add", "Ada", clip, "--transcript", TEXT)
    narrator("add", "Ada", clip, "--transcript", TEXT, "--library")
    narrator("remove", "Ada", "--yes")
    assert not Path("voices/Ada.voice").exists()
    assert (home / "Ada.voice").is_file()
    narrator("remove", "Ada", "--yes", "--library")
    assert not (home / "Ada.voice").exists()


# -- design ----------------------------------------------------------------------------------------


def test_the_best_candidate_becomes_the_voice(narrator, stage, home):
    code, said, errors = narrator("design", "Ada", "A quick girl", "--seed", "7")
    assert code == 0
    assert all(f"{number}: " in said for number in (1, 2, 3))
    assert "3 of 3 candidates" in errors
    preset = presets.read(home / "Ada.voice")
    assert (preset.description, preset.seed) == ("A quick girl", 7)
    voice = Voice("Ada", description="A quick girl", seed=7)
    [found] = auditions.cast(stage.start(), stage, [voice])
    assert preset.made["seed"] == auditions.choose(found).seed
    assert f"kept candidate {auditions.choose(found).number}, the best" in said
    assert stage.sessions[0].closed


def test_another_candidate_is_kept_when_chosen(narrator, stage, home):
    for number in (1, 2):
        code, said, _ = narrator("design", "Ada", "A girl", "--candidates", "2", "--choose",
                                 number, "--replace")  # fmt: skip
        assert code == 0
        assert f"kept candidate {number}, as you chose" in said
        assert presets.read(home / "Ada.voice").made["candidate"] == number


def test_candidates_to_listen_to_can_be_taken_in_as_they_were_heard(narrator, stage, home):
    code, said, _ = narrator("design", "Ada", "A girl", "--candidates", "2", "--listen", "try")
    assert code == 0
    assert "--replace" in said
    for number in (1, 2):
        assert soundfile.info(f"try/Ada-{number}.wav").samplerate == spoken.RATE
    other = next(n for n in (1, 2) if f"kept candidate {n}" not in said)
    assert narrator("add", "Ada", f"try/Ada-{other}.voice", "--replace")[0] == 0
    assert presets.read(home / "Ada.voice").made["candidate"] == other


def test_nothing_is_rendered_for_a_name_that_is_taken(narrator, stage, clip):
    narrator("add", "Ada", clip, "--transcript", TEXT)
    assert narrator("design", "Ada", "A girl")[0] == 2
    assert not stage.requests


def test_without_a_usable_candidate_nothing_is_kept(narrator, stage, home):
    stage.fault = lambda request: EngineFailure("boom")
    code, said, errors = narrator("design", "Ada", "A girl")
    assert code == 2
    assert "1: 0 of 100 (engine: boom)" in said
    assert "change its `description`" in errors
    assert not home.exists()
    assert narrator("design", "Ada", "A girl", "--choose", "2")[0] == 2


def test_a_language_without_a_text_of_its_own_is_told(narrator, stage):
    _, _, errors = narrator("design", "Ada", "A girl", "--language", "uk", "--candidates", "1")
    assert "no casting text in 'uk'" in errors


def test_a_project_s_language_and_engine_count_before_its_voices_are_there(
    narrator, book, monkeypatch
):
    engine = StageEngine()
    asked = []
    monkeypatch.setattr(VoxCPM2Spec, "make", lambda spec, s, *_: asked.append(s) or engine)
    assert narrator("design", "Ada", "A girl")[0] == 0
    assert presets.read(Path("voices/Ada.voice")).language == "en-GB"
    assert {(settings.steps, settings.seed) for settings in asked} == {(6, 5)}


def test_a_manifest_that_cannot_be_read_is_an_error_with_its_line(narrator, book):
    Path("book.yaml").write_text("language: [", encoding="utf-8")
    code, _, errors = narrator("design", "Ada", "A girl")
    assert code == 2
    assert "book.yaml:" in errors
    Path("book.yaml").write_text(MANIFEST.replace("steps: 6", "steps: 0"), encoding="utf-8")
    code, _, errors = narrator("design", "Ada", "A girl")
    assert code == 2
    assert "steps" in errors


def test_what_keeps_the_engine_from_speaking_is_an_error(narrator, stage):
    stage.wrong = [Problem(None, None, "no such language")]
    code, _, errors = narrator("design", "Ada", "A girl")
    assert (code, stage.requests) == (2, [])
    assert "no such language" in errors


@pytest.mark.parametrize("arguments", [["design", "Bob", "An old man"], ["audition", "Ada"]])
def test_the_draft_voice_says_that_it_cannot(narrator, clip, arguments):
    narrator("add", "Ada", clip, "--transcript", TEXT)
    code, _, errors = narrator(*arguments, "--draft")
    assert code == 2
    assert "the draft engine cannot" in errors
    assert "VoxCPM2" in errors


# -- audition --------------------------------------------------------------------------------------


@pytest.fixture
def ada(narrator, clip, home):
    narrator("add", "Ada", clip, "--transcript", TEXT, "--style", "amused")
    return presets.read(home / "Ada.voice")


def test_a_voice_is_heard_in_its_own_reference(narrator, stage, ada):
    code, said, _ = narrator("audition", "Ada")
    assert code == 0
    assert "Ada-audition.wav" in said
    assert soundfile.info("Ada-audition.wav").samplerate == spoken.RATE
    (request,) = stage.requests
    assert (request.mode, request.style) == ("reference", "amused")
    assert request.reference is not None
    assert request.reference.content == ada.content
    assert request.text == auditions.text_for("en").text


def test_a_text_of_one_s_own_is_said_as_a_book_would_say_it(narrator, stage, ada):
    code, _, _ = narrator("audition", "Ada", "It was 7 o'clock.", "--out", "a/b.wav")
    assert code == 0
    assert Path("a/b.wav").is_file()
    assert stage.requests[0].text == "It was seven o'clock."
    assert narrator("audition", "Ada", "Again.", "--out", "a/b.wav")[0] == 0
    Path("a/b.wav").write_text("notes")
    code, _, errors = narrator("audition", "Ada", "Again.", "--out", "a/b.wav")
    assert (code, Path("a/b.wav").read_text()) == (2, "notes")
    assert "is there and is not a WAV file" in errors


def test_a_project_s_engine_settings_are_heard(narrator, stage, ada, book):
    narrator("audition", "Ada")
    assert stage.requests[0].parameters == {"steps": 6, "cfg": 2.0}
    assert stage.requests[0].seed == 5


@pytest.mark.parametrize(("text", "said"), [("…", "nothing to say"), (TEXT * 3, "15 s at most")])
def test_a_text_that_cannot_be_auditioned_is_an_error(narrator, stage, ada, text, said):
    code, _, errors = narrator("audition", "Ada", text)
    assert code == 2
    assert said in errors
    assert not stage.sessions


def test_a_faulty_try_is_tried_again(narrator, stage, ada):
    def once(request: Request) -> Speech | None:
        return None if request.attempt else Speech(says(request).samples, stop="cap")

    stage.fault = once
    _, _, errors = narrator("audition", "Ada")
    assert [request.attempt for request in stage.requests] == [0, 1]
    assert "warning" not in errors


def test_what_stays_faulty_is_written_and_told(narrator, stage, ada):
    stage.fault = lambda request: Speech(says(request).samples, stop="cap")
    code, _, errors = narrator("audition", "Ada")
    assert code == 0
    assert "warning: cut" in errors
    assert Path("Ada-audition.wav").is_file()


def test_an_engine_that_always_fails_is_an_error(narrator, stage, ada):
    stage.fault = lambda request: EngineFailure("boom")
    code, _, errors = narrator("audition", "Ada")
    assert code == 2
    assert "boom" in errors
    assert not Path("Ada-audition.wav").exists()
