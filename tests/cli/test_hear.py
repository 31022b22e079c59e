"""`narrator hear`, with a Whisper of random weights whose transcripts are replaced: what such a
network writes differs from processor to processor."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from narrator.pipeline import book_engines
from narrator.project import load
from narrator.speech.hearing import Transcript, sphinx, whisper
from narrator.text.words import words
from tests import books
from tests.speech import tiny_whisper


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A model."""
    return tiny_whisper.make(tmp_path_factory.mktemp("models") / "whisper")


@pytest.fixture(scope="module")
def read_out(tmp_path_factory):
    """A book that the draft voice has read."""
    folder = tmp_path_factory.mktemp("hear")
    path = books.brief(folder)
    books.run(path, book_engines.engines_for(load.load(path).spoken_by("draft")).main)
    return folder


@pytest.fixture(autouse=True)
def transcripts(monkeypatch):
    """A single word is heard as it was to be said; of longer texts each word is doubted."""

    def transcript(sound):
        count = len(words(sound.text, sound.language))
        return Transcript("Quite another text." if count > 1 else sound.text, (12.0,) * count)

    def hear(recogniser, sounds):
        return [transcript(sound) for sound in sounds]

    monkeypatch.setattr(whisper.Whisper, "hear", hear)


@pytest.fixture
def book(tmp_path, monkeypatch, read_out):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(read_out, tmp_path, dirs_exist_ok=True)
    return tmp_path


def test_what_does_not_say_its_text_is_named_with_its_mend(narrator, book, made):
    code, said, errors = narrator("hear", "--draft", "--model", made)
    assert code == 1
    assert "doubtful: 1.2 text/one.md:3: The ferry left at seven." in errors
    assert "    heard: " in errors
    assert "7 takes, 7 of them listened to now (0:" in said
    assert "`narrator takes 1.2 --draft --out listen` to hear one" in said
    assert "`narrator pin 1.2 1 --draft` to accept one" in said
    assert "retake" not in said  # the draft voice has one reading of a text


def test_it_is_said_by_status_and_render_from_then_on(narrator, book, made):
    narrator("hear", "--draft", "--model", made)
    code, _, errors = narrator("render", "--draft")
    assert code == 1
    assert "doubtful: 1.2" in errors
    code, _, errors = narrator("pin", "1.2", "1", "--draft")
    assert code == 0, errors
    assert "doubtful: 1.2" not in narrator("hear", "--draft", "--model", made)[2]


def test_a_network_is_asked_and_its_transcripts_are_judged(narrator, book, made, monkeypatch):
    monkeypatch.undo()
    monkeypatch.chdir(book)
    found = json.loads(narrator("hear", "--draft", "--model", made, "--json")[1])
    assert (found["heard_now"], found["takes"]) == (7, 7)


def test_takes_that_were_heard_are_not_heard_again(narrator, book, made):
    narrator("hear", "--draft", "--model", made)
    found = json.loads(narrator("hear", "--draft", "--model", made, "--json")[1])
    assert (found["heard_now"], found["seconds_heard"]) == (0, 0)
    assert (found["takes"], len(found["misheard"])) == (7, 5)
    assert found["timed"] == {"draft": 7}


def test_words_alone_are_timed(narrator, book, made):
    code, said, errors = narrator("hear", "--draft", "--model", made, "--align")
    assert (code, errors.replace("\n", "")) == (0, "")
    assert "words of 7 takes timed by draft" in said  # it knows when it says them


def test_a_part_of_the_book_is_heard(narrator, book, made):
    code, said, _ = narrator("hear", "--draft", "--model", made, "-c", "2", "-s", "ann", "--json")
    assert code == 1
    assert [row["chunk"] for row in json.loads(said)["misheard"]] == ["2.3"]


def test_a_language_that_it_does_not_know_is_said(narrator, book, made, monkeypatch):
    monkeypatch.setattr(whisper.Whisper, "languages", frozenset(("cy",)))
    code, said, _ = narrator("hear", "--draft", "--model", made)
    assert code == 0
    assert "7 takes unheard: whisper whisper does not know their language" in said
    assert "says its text" not in said


def test_what_is_not_rendered_is_counted(narrator, tmp_path, monkeypatch, made):
    monkeypatch.chdir(tmp_path)
    books.brief(tmp_path)
    code, said, _ = narrator("hear", "--draft", "--model", made)
    assert code == 0
    assert "7 chunks not rendered yet" in said
    assert "says its text" not in said


def test_a_draft_is_thought_of_where_nothing_else_is_rendered(narrator, book, made):
    code, said, _ = narrator("hear", "--model", made)
    assert code == 0
    assert "7 chunks not rendered yet: `narrator render` does it; the draft voice's are" in said


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("--model", "small.en"), "`narrator models pull small.en` fetches it"),
        (("--model", "nowhere/"), "nowhere/: no such directory"),
        (("--text", "one.md"), "--text, --language and --out are for recordings"),
        (("--chapter", "9"), "no chapter '9'"),
    ],
)
def test_what_cannot_be_done_is_said(narrator, book, made, asked, said):
    code, _, errors = narrator("hear", "--draft", *asked)
    assert code in (2, 3)
    assert said in errors


def test_a_package_that_is_missing_is_named(narrator, book, monkeypatch):
    monkeypatch.setattr(whisper, "is_here", lambda: False)
    code, _, errors = narrator("hear", "--draft")
    assert code == 3
    assert "[recognition]" in errors


def test_words_can_be_timed_without_a_model(narrator, book, monkeypatch):
    if not sphinx.is_here():
        pytest.skip("pocketsphinx is not installed")
    monkeypatch.setattr(whisper, "is_here", lambda: False)
    assert narrator("hear", "--draft", "--align")[0] == 0


# -- recordings ------------------------------------------------------------------------------------


@pytest.fixture
def recordings(book):
    folder = book / "recordings"
    folder.mkdir()
    sound = next((book / "build" / "draft").rglob("*.wav"))
    shutil.copy(sound, folder / "one.wav")
    shutil.copy(sound, folder / "two.wav")
    (folder / "one.txt").write_text((book / "text" / "one.md").read_text(), encoding="utf-8")
    return folder


def test_a_recording_is_held_against_the_text_beside_it(narrator, recordings, made):
    code, said, errors = narrator("hear", recordings, "--model", made, "--out", "times")
    assert code == 1
    assert "recordings/one.wav: 0:10" in said
    assert "heard otherwise" in said
    assert "recordings/two.wav: left out: no text of its name beside it" in errors
    times = json.loads(Path("times/one.wav.words.json").read_text())
    assert times["language"] == "en"


def test_each_recording_is_told_as_soon_as_it_is_heard(narrator, recordings, made):
    (recordings / "two.txt").write_text("Nobody says this.", encoding="utf-8")
    (recordings / "two.wav").write_bytes(b"torn")
    code, said, errors = narrator("hear", recordings, "--model", made)
    assert code == 2
    assert "recordings/one.wav: 0:10" in said
    assert "two.wav: not a sound file" in errors


def test_what_is_asked_of_books_is_refused_for_recordings(narrator, recordings, made):
    code, _, errors = narrator("hear", recordings, "--model", made, "--chapter", "1")
    assert code == 2
    assert "are for a book, not for recordings" in errors


def test_a_folder_for_times_that_is_a_file_is_said_at_once(narrator, recordings, made):
    code, said, errors = narrator(
        "hear", recordings, "--model", made, "--out", recordings / "one.txt"
    )
    assert (code, said) == (3, "")
    assert "one.txt" in errors


def test_recordings_as_json(narrator, recordings, made):
    code, said, _ = narrator("hear", recordings, "--model", made, "--json", "--align")
    assert code == 0
    (row,) = json.loads(said)
    assert Path(row["file"]).name == "one.wav"
    assert {"wrong", "words", "word_error"} <= row.keys()


def test_a_text_that_is_missing_is_said(narrator, recordings, made):
    code, _, errors = narrator("hear", recordings / "two.wav", "--model", made)
    assert code == 2
    assert "no text beside it (two.txt)" in errors


def test_what_is_asked_of_a_book_is_not_asked_of_recordings(narrator, recordings, made):
    code, _, errors = narrator("hear", recordings, "--model", made, "--chapter", "1")
    assert code == 2
    assert "--chapter and --speaker are for a book" in errors


def test_takes_that_are_accepted_are_not_said_to_say_their_text(narrator, book, made):
    narrator("pin", "1.2", "1", "--draft")
    code, said, errors = narrator(
        "hear", "--draft", "--model", made, "--chapter", "1", "--speaker", "narrator"
    )
    assert "otherwise, and accepted: 1.2" in errors
    assert code == 0
    assert "says its text" not in said
