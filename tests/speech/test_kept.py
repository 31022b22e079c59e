from __future__ import annotations

import json

import pytest

from narrator.sound.timing import TimedWord, WordTimes
from narrator.speech.hearing import Transcript
from narrator.speech.hearing.kept import Hearings

TIMES = WordTimes("metronome", (TimedWord(0, 2, 0.0, 0.25), TimedWord(3, 6, 0.25, 1.2)))


@pytest.fixture
def kept(tmp_path):
    return Hearings(tmp_path / "heard.jsonl")


def test_what_was_heard_is_known_by_the_next_run(kept):
    kept.keep("abc", "Go now.", "parrot 1", Transcript("go now", (0.5, 2.25)))
    again = Hearings(kept.path)
    assert again.heard("abc", "Go now.", "parrot 1") == Transcript("go now", (0.5, 2.25))


@pytest.mark.parametrize(
    "other", [("abd", "Go now.", "p"), ("abc", "Go.", "p"), ("abc", "Go now.", "q")]
)
def test_it_is_of_one_sound_one_text_and_one_recogniser(kept, other):
    kept.keep("abc", "Go now.", "p", Transcript("go now"))
    assert kept.heard(*other) is None


def test_times_of_words_are_kept_to_the_millisecond(kept):
    kept.keep_times("abc", "Go now.", "metronome 1", TIMES)
    assert Hearings(kept.path).times("abc", "Go now.", "metronome 1") == TIMES


def test_words_that_were_not_found_are_not_looked_for_again(kept):
    kept.keep_times("abc", "Go now.", "m", WordTimes("metronome", ()))
    assert Hearings(kept.path).times("abc", "Go now.", "m") == WordTimes("metronome", ())


def test_a_reader_sees_what_another_writes(kept):
    reader = Hearings(kept.path)
    assert reader.heard("abc", "Go.", "p") is None
    kept.keep("abc", "Go.", "p", Transcript("go"))
    assert reader.heard("abc", "Go.", "p") == Transcript("go")


@pytest.mark.parametrize("keep", [20, -1])
def test_a_torn_row_is_heard_again_and_costs_no_other(kept, keep):
    kept.keep("a", "Go.", "p", Transcript("go"))
    first = kept.path.read_bytes()
    kept.keep("b", "Stop.", "p", Transcript("stop"))
    second = kept.path.read_bytes()[len(first) :]
    kept.path.write_bytes(first + second[:keep])
    again = Hearings(kept.path)
    assert again.heard("b", "Stop.", "p") is None
    assert again.heard("a", "Go.", "p") == Transcript("go")


def test_a_row_after_a_torn_one_is_whole(kept):
    kept.keep("a", "Go.", "p", Transcript("go"))
    kept.path.write_bytes(kept.path.read_bytes()[:-9])
    kept.keep("b", "Stop.", "p", Transcript("stop"))
    assert Hearings(kept.path).heard("b", "Stop.", "p") == Transcript("stop")


@pytest.mark.parametrize(
    "altered",
    [
        lambda row: row | {"heard": "stop"},
        lambda row: row | {"doubts": ["much"]},
        lambda row: {"key": row["key"]},
    ],
)
def test_an_altered_row_is_heard_again(kept, altered):
    kept.keep("a", "Go.", "p", Transcript("go", (1.0,)))
    row = json.loads(kept.path.read_text())
    kept.path.write_text(json.dumps(altered(row), separators=(",", ":")) + "\n")
    assert Hearings(kept.path).heard("a", "Go.", "p") is None


def test_what_was_heard_of_takes_that_are_gone_goes_too(kept):
    kept.keep("a", "Go.", "p", Transcript("go"))
    kept.keep("b", "Stop.", "p", Transcript("stop"))
    kept.retain({"b"})
    again = Hearings(kept.path)
    assert again.heard("a", "Go.", "p") is None
    assert again.heard("b", "Stop.", "p") == Transcript("stop")


# -- several who time words ------------------------------------------------------------------------


def times_by(by: str, start: float = 0.0) -> WordTimes:
    return WordTimes(by, (TimedWord(0, 3, start, 0.9),))


def test_the_best_times_are_those_of_who_knows_then_of_the_best_who_listens(tmp_path):
    kept, reader = (Hearings(tmp_path / "heard.jsonl") for _ in range(2))
    for by in ("whisper small", "qwen3", "pocketsphinx", "draft"):
        kept.keep_times("a", "Yes", by, times_by(by))
        assert reader.best("a", "Yes") == times_by(by)
    kept.keep_times("a", "Yes", "whisper small", times_by("whisper small"))
    assert reader.best("a", "Yes") == times_by("draft")


def test_of_two_alike_the_newest_times_are_the_best_and_none_without_words(tmp_path):
    kept = Hearings(tmp_path / "heard.jsonl")
    kept.keep_times("a", "Yes", "one", times_by("whisper", 0.1))
    kept.keep_times("a", "Yes", "two", times_by("whisper", 0.2))
    kept.keep_times("a", "Yes", "three", WordTimes("draft", ()))
    assert kept.best("a", "Yes") == times_by("whisper", 0.2)
    kept.keep_times("a", "Yes", "one", times_by("whisper", 0.3))
    assert kept.best("a", "Yes") == Hearings(kept.path).best("a", "Yes") == times_by("whisper", 0.3)
