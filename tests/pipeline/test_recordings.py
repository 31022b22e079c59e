"""Recordings with their texts; a word is a stretch of one level, which a reader of levels hears."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest

from narrator.errors import UsageError, UserError
from narrator.pipeline import recordings
from narrator.sound import audio
from narrator.speech.hearing import SpokenSound, Transcript
from narrator.speech.hearing.listening import TakeListener
from tests.speech.ears import Metronome

TEXT = (
    "The ferry left at seven, as it had on every morning. Nobody had ever asked it to wait.\n\n"
    "He moved his bag from the seat, and the mist was lifting by then. By noon they had crossed "
    "three times, and the girl had learned the names of all the birds. She forgot them again "
    "before it was evening, and nobody thought the less of her for that."
)
RATE = recordings.RATE
WORDS = sorted({word.strip(".,").lower() for word in TEXT.split()} | {"horse", "cabbage"})


def sound_of(text: str) -> bytes:
    """A second for each word, a tenth of it quiet."""
    spoken = [np.full(RATE, (1 + WORDS.index(one.strip(".,").lower())) / 200, np.float32)
              for one in text.split()]  # fmt: skip
    for one in spoken:
        one[-RATE // 10 :] = 0
    return audio.encode_wav(np.concatenate(spoken), RATE)


@dataclass
class Levels:
    """Hears which words a sound is of."""

    title: str = "levels"
    identity: str = "levels"
    languages: Sequence[str] = ("en",)
    batch: int = 2
    asked: list[str] = field(default_factory=list)

    def hear(self, sounds: Sequence[SpokenSound]) -> list[Transcript]:
        self.asked += [one.text for one in sounds]
        found = []
        for one in sounds:
            loud = one.samples > 1e-4
            starts = np.flatnonzero(loud & ~np.concatenate([[False], loud[:-1]]))
            said = [WORDS[round(float(one.samples[at + 800]) * 200) - 1] for at in starts]
            found.append(Transcript(" ".join(said)))
        return found


def heard(folder, said: str = TEXT, text: str = TEXT, **asked):
    (folder / "one.wav").write_bytes(sound_of(said))
    (folder / "one.txt").write_text(text)
    (recital,), _ = recordings.find_recitals(folder)
    shares: list[float] = []
    ear = asked.pop("ear", TakeListener(Levels(), [Metronome()]))
    one = recordings.hear_recital(
        recital,
        ear,
        on_progress=shares.append,
        cancel=asked.pop("cancel", threading.Event()),
        **asked,
    )
    assert shares == sorted(shares)
    return one


def test_a_recording_that_says_its_text_is_right(tmp_path):
    one = heard(tmp_path)
    assert (one.language, one.error, one.wrong) == ("en", 0.0, ())
    assert one.seconds == pytest.approx(len(TEXT.split()), abs=0.1)


@pytest.mark.parametrize(
    ("gone", "second"),
    [("Nobody had ever asked it to wait.", 11), ("and the girl had learned the names", 36)],
)
def test_what_is_missing_is_named_and_found(tmp_path, gone, second):
    one = heard(tmp_path, " ".join(TEXT.split()).replace(gone, ""))
    assert [wrong.difference.kind for wrong in one.wrong] == ["missing"]
    assert one.wrong[0].difference.text.startswith(" ".join(gone.split()[:3]))
    assert one.wrong[0].start == pytest.approx(second, abs=14)  # its window's, at least


def test_what_is_said_besides_is_named(tmp_path):
    one = heard(tmp_path, TEXT.replace("his bag", "his bag horse cabbage horse cabbage"))
    assert "horse cabbage" in one.wrong[0].difference.heard_text


def test_every_word_is_timed_as_a_place_of_the_whole_text(tmp_path):
    one = heard(tmp_path)
    assert [one.text[word.first : word.last] for word in one.words] == one.text.split()
    starts = [word.start for word in one.words]
    assert starts == sorted(starts)


def test_only_windows_that_differ_are_heard_with_their_text(tmp_path):
    levels = Levels()
    heard(tmp_path, TEXT.replace("Nobody had ever asked it to wait.", ""), ear=TakeListener(levels))
    assert len([text for text in levels.asked if text]) == 1


def test_a_pass_that_is_stopped_says_nothing(tmp_path):
    cancel = threading.Event()
    cancel.set()
    assert heard(tmp_path, cancel=cancel) is None


def test_a_folder_pairs_sounds_with_texts_of_their_name(tmp_path):
    for name in ("b.mp3", "a.wav", "alone.flac", "a.txt", "b.md", "notes.txt"):
        (tmp_path / name).write_bytes(b"x")
    found, alone = recordings.find_recitals(tmp_path)
    assert [(one.sound.name, one.text.name) for one in found] == [
        ("a.wav", "a.txt"),
        ("b.mp3", "b.md"),
    ]
    assert [path.name for path in alone] == ["alone.flac"]


def test_a_text_can_be_named_of_one_recording(tmp_path):
    (tmp_path / "a.wav").write_bytes(b"x")
    (tmp_path / "b.txt").write_text("Go.")
    found, _ = recordings.find_recitals(tmp_path / "a.wav", tmp_path / "b.txt")
    assert found[0].text.name == "b.txt"
    with pytest.raises(UsageError, match="--text is for one recording"):
        recordings.find_recitals(tmp_path, tmp_path / "b.txt")
    with pytest.raises(UsageError, match=r"no text beside it \(a.txt\)"):
        recordings.find_recitals(tmp_path)


def test_a_project_is_none(tmp_path):
    (tmp_path / "a.wav").write_bytes(b"x")
    assert recordings.are_recordings(tmp_path)
    (tmp_path / "book.yaml").write_text("title: x")
    assert not recordings.are_recordings(tmp_path)


def test_what_is_wrong_is_named_in_its_order(tmp_path):
    less = " ".join(TEXT.split()).replace("left at seven,", "")
    less = less.replace("Nobody had ever asked it to wait.", "")
    wrong = heard(tmp_path, less).wrong
    meant = [one.difference.text for one in wrong]
    assert len(meant) > 1
    assert meant == sorted(meant, key=" ".join(TEXT.split()).index)


def test_a_language_that_nobody_knows_is_said(tmp_path):
    with pytest.raises(UsageError, match="is in 'de'"):
        heard(tmp_path, language="de")


@pytest.mark.parametrize(
    ("sound", "text", "said"),
    [
        (sound_of("Seven"), b"\n---\n", r"one\.txt: holds no words"),
        (sound_of("Seven"), bytes(range(256)), "one.txt: no text"),
        (audio.encode_wav(np.zeros(0, np.float32), RATE), b"Seven.", "one.wav: holds no sound"),
        (b"#EXTM3U\n", b"Go.", "not a sound file but a playlist"),
    ],
)
def test_what_cannot_be_compared_is_said(tmp_path, sound, text, said):
    (tmp_path / "one.wav").write_bytes(sound)
    (tmp_path / "one.txt").write_bytes(text)
    (recital,), _ = recordings.find_recitals(tmp_path)
    with pytest.raises(UserError, match=said):
        recordings.hear_recital(
            recital, TakeListener(Levels()), on_progress=print, cancel=threading.Event()
        )


def test_a_window_of_other_words_is_wrong_as_a_whole(tmp_path):
    text = "Nobody thought the less of her for that."
    one = heard(tmp_path, "horse cabbage horse cabbage horse cabbage horse cabbage", text)
    (passage,) = one.wrong
    assert (passage.difference.kind, passage.difference.text) == ("other", text)


def test_markup_is_not_said(tmp_path):
    (tmp_path / "one.wav").write_bytes(sound_of(TEXT))
    marked = "<!-- horse -->\n\n" + TEXT.replace("his bag", "*his* [bag](https://cabbage.org)")
    (tmp_path / "one.md").write_text(marked)
    (recital,), _ = recordings.find_recitals(tmp_path)
    one = recordings.hear_recital(
        recital, TakeListener(Levels()), on_progress=lambda share: None, cancel=threading.Event()
    )
    assert (one.error, one.wrong) == (0.0, ())


def test_long_passages_are_named_whatever_else_is_wrong(tmp_path):
    said = TEXT.replace("Nobody had ever asked it to wait.", "").replace("his bag", "horse cabbage")
    named = [wrong.difference.text for wrong in heard(tmp_path, said).wrong]
    assert any(meant.startswith("Nobody had ever") for meant in named)
