from __future__ import annotations

import pytest

from narrator.sound.timing import TimedWord, WordTimes
from narrator.speech.hearing import Transcript
from narrator.speech.hearing.transcripts import TranscriptStore

TIMES = WordTimes("metronome", (TimedWord(0, 2, 0.0, 0.25), TimedWord(3, 6, 0.25, 1.2)))


@pytest.fixture
def transcripts(tmp_path):
    return TranscriptStore(tmp_path / "heard.jsonl")


def test_what_was_heard_is_known_by_the_next_run(transcripts):
    transcripts.store_transcript("abc", "Go now.", "parrot 1", Transcript("go now", (0.5, 2.25)))
    again = TranscriptStore(transcripts.path)
    assert again.find_transcript("abc", "Go now.", "parrot 1") == Transcript("go now", (0.5, 2.25))


@pytest.mark.parametrize(
    "row", [("abd", "Go now.", "p"), ("abc", "Go.", "p"), ("abc", "Go now.", "q")]
)
def test_it_is_of_one_sound_one_text_and_one_recogniser(transcripts, row):
    transcripts.store_transcript("abc", "Go now.", "p", Transcript("go now"))
    assert transcripts.find_transcript(*row) is None


def test_times_of_words_are_kept_to_the_millisecond(transcripts):
    transcripts.store_times("abc", "Go now.", "metronome 1", TIMES)
    assert TranscriptStore(transcripts.path).find_times("abc", "Go now.", "metronome 1") == TIMES


def test_words_that_were_not_found_are_not_looked_for_again(transcripts):
    transcripts.store_times("abc", "Go now.", "m", WordTimes("metronome", ()))
    assert TranscriptStore(transcripts.path).find_times("abc", "Go now.", "m") == WordTimes(
        "metronome", ()
    )


def test_a_reader_sees_what_another_writes(transcripts):
    reader = TranscriptStore(transcripts.path)
    assert reader.find_transcript("abc", "Go.", "p") is None
    transcripts.store_transcript("abc", "Go.", "p", Transcript("go"))
    assert reader.find_transcript("abc", "Go.", "p") == Transcript("go")


def test_what_was_heard_of_takes_that_are_gone_goes_too(transcripts):
    transcripts.store_transcript("a", "Go.", "p", Transcript("go"))
    transcripts.store_transcript("b", "Stop.", "p", Transcript("stop"))
    transcripts.retain({"b"})
    again = TranscriptStore(transcripts.path)
    assert again.find_transcript("a", "Go.", "p") is None
    assert again.find_transcript("b", "Stop.", "p") == Transcript("stop")


# -- damage ----------------------------------------------------------------------------------------


def test_a_file_that_cannot_be_read_is_told(tmp_path):
    (tmp_path / "heard.jsonl").mkdir()
    transcripts = TranscriptStore(tmp_path / "heard.jsonl")
    assert transcripts.find_transcript("a", "Go.", "p") is None
    assert "directory" in transcripts.unreadable


# -- several who time words ------------------------------------------------------------------------


def times_by(by: str, start: float = 0.0) -> WordTimes:
    return WordTimes(by, (TimedWord(0, 3, start, 0.9),))


def test_the_best_times_are_those_of_who_knows_then_of_the_best_who_listens(tmp_path):
    transcripts, reader = (TranscriptStore(tmp_path / "heard.jsonl") for _ in range(2))
    for by in ("whisper small", "pocketsphinx", "draft"):
        transcripts.store_times("a", "Yes", by, times_by(by))
        assert reader.find_best_times("a", "Yes") == times_by(by)
    transcripts.store_times("a", "Yes", "whisper small", times_by("whisper small"))
    assert reader.find_best_times("a", "Yes") == times_by("draft")


def test_of_two_alike_the_newest_times_are_the_best_and_none_without_words(tmp_path):
    transcripts = TranscriptStore(tmp_path / "heard.jsonl")
    transcripts.store_times("a", "Yes", "one", times_by("whisper", 0.1))
    transcripts.store_times("a", "Yes", "two", times_by("whisper", 0.2))
    transcripts.store_times("a", "Yes", "three", WordTimes("draft", ()))
    assert transcripts.find_best_times("a", "Yes") == times_by("whisper", 0.2)
    transcripts.store_times("a", "Yes", "one", times_by("whisper", 0.3))
    assert (
        transcripts.find_best_times("a", "Yes")
        == TranscriptStore(transcripts.path).find_best_times("a", "Yes")
        == times_by("whisper", 0.3)
    )


def test_damaged_rows_are_heard_again_and_counted_until_they_are_forgotten(transcripts):
    for name in "abc":
        transcripts.store_transcript(name, "Go.", "p", Transcript("go"))
    transcripts.path.write_bytes(transcripts.path.read_bytes().replace(b"go", b"no", 1))
    transcripts, reader = TranscriptStore(transcripts.path), TranscriptStore(transcripts.path)
    assert transcripts.find_transcript("a", "Go.", "p") is None
    assert [transcripts.damaged, transcripts.damaged, reader.damaged] == [1, 1, 1]
    assert transcripts.forget_damaged() == 1
    assert [transcripts.damaged, reader.damaged, transcripts.forget_damaged()] == [0, 0, 0]
    assert transcripts.find_transcript("b", "Go.", "p") == Transcript("go")
