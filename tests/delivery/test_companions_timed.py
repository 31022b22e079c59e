"""Companions of takes whose words are timed."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
import webvtt

from narrator.delivery import companions
from narrator.delivery.companions import SpokenChapter
from narrator.delivery.companions.captions import captions
from narrator.delivery.companions.spoken import moments
from narrator.project.facts import BookFacts
from narrator.text.sentences import sentences
from tests.spoken_books import RATE, delivered, of_lines, spoken, timed

TEXT = (
    "The ferry left at seven, as it had on every morning that anyone there could remember. "
    "“Nobody,” he said, had ever asked it to wait. It went slowly & with care."
)


def begin(one: SpokenChapter, word: str) -> float:
    """When a word of a chapter begins that it has once."""
    (found,) = (
        start for cue in one.timeline.cues for a, b, start, _ in cue.words if cue.text[a:b] == word
    )
    return found / RATE


def said(one: SpokenChapter, parts: list[str]) -> list[float]:
    """When parts of the first cue's text begin."""
    cue = one.timeline.cues[0]
    spans = [(cue.text.index(part), cue.text.index(part) + len(part)) for part in parts]
    return moments(cue, RATE, spans, "en")


def made(folder: Path, one: SpokenChapter, kind: str, *, words: bool = False) -> str:
    files = delivered(folder, [one], "wav")
    tags = BookFacts(title="The Ferry", language="en")
    (path,) = companions.write(
        [one], files, [kind], tags=tags, book=folder / "b.epub", words=words
    ).paths
    return path.read_text("utf-8")


def test_a_sentence_begins_with_its_first_word() -> None:
    one = timed(spoken(TEXT))
    cue = one.timeline.cues[0]
    spans = sentences(cue.text, "en")
    times = moments(cue, RATE, spans, "en")
    assert times == [cue.start / RATE, begin(one, "“Nobody,”"), begin(one, "It"), cue.stop / RATE]


def test_what_nobody_timed_is_estimated_between_what_is() -> None:
    one = timed(spoken("One two. Three four. Five six. Seven."), only=lambda w: w in "two. Five")
    cue = one.timeline.cues[0]
    times = said(one, ["One two.", "Three four.", "Five six.", "Seven."])
    assert times == sorted(times)
    assert cue.words[0][3] / RATE <= times[1] < times[2] == begin(one, "Five")
    assert times[2] < times[3] < times[4] == cue.stop / RATE


def test_captions_begin_with_their_words() -> None:
    one = timed(spoken(TEXT))
    found = captions(one, 32)
    assert len(found) > 3
    for caption in found[1:]:
        assert caption.start == round(begin(one, caption.lines[0].split()[0]) * 1000)


def test_vtt_says_who_timed_it(tmp_path: Path) -> None:
    two = spoken("ann: It is here.\n\nbob: It is there.")
    plain, exact = made(tmp_path, two, "vtt"), made(tmp_path, timed(two), "vtt")
    assert "times within a take are estimated from the text." in plain
    assert "times within a take: draft." in exact
    cues = two.timeline.cues[0], timed(two).timeline.cues[1]
    mixed = replace(two, timeline=replace(two.timeline, cues=cues))
    assert "times within a take: draft, estimated from the text." in made(tmp_path, mixed, "vtt")


def test_words_of_vtt_have_their_times_by_choice(tmp_path: Path) -> None:
    one = timed(spoken(f"{TEXT}\n\nann: Yes."))
    assert "<00:" not in made(tmp_path, one, "vtt")
    text = made(tmp_path, one, "vtt", words=True)
    stamps = re.findall(r"<(00:00:[0-9.]+)>(\S+)", text)
    assert stamps == sorted(stamps)
    assert "&amp; <" in text
    ferry = next(time for time, word in stamps if word == "ferry")
    assert float(ferry[6:]) == pytest.approx(begin(one, "ferry"), abs=0.001)
    path = tmp_path / "Book.vtt"
    for caption in webvtt.read(path):
        own = re.findall(r"<([0-9:.]+)>", caption.raw_text)
        assert all(caption.start < time < caption.end for time in own)
        assert all(a < b for a, b in pairwise(own))
    assert "<" not in made(tmp_path, one, "srt", words=True)


def test_without_times_the_choice_changes_nothing(tmp_path: Path) -> None:
    one = spoken(TEXT)
    assert made(tmp_path, one, "vtt", words=True) == made(tmp_path, one, "vtt")


def test_words_that_are_asked_for_and_not_timed_are_said(tmp_path: Path) -> None:
    one = timed(spoken("ann: It is here.\n\nbob: It is there."))
    first, second = one.timeline.cues
    lacking = replace(one.timeline, cues=(first, replace(second, words=(), timed_by="")))
    files, tags = delivered(tmp_path, [one], "wav"), BookFacts(title="B", language="en")
    for spoken_, words, remarks in (
        (one, True, 0), (replace(one, timeline=lacking), True, 1), (spoken("No."), False, 0),
    ):  # fmt: skip
        made = companions.write(
            [spoken_], files, ["vtt"], tags=tags, book=tmp_path / "b.epub", words=words
        )
        assert ["words of 1 of 2 takes" in remark for remark in made.remarks] == [True] * remarks


def test_the_times_of_words_decide_where_a_take_is_cut() -> None:
    one = spoken("It was late. It was dark; he went on. He was tired, and slept.", pace=1.5)
    assert captions(one, 65)[0].lines == ("It was late.",)  # 1.8 s by estimate, and 0.8 s by words
    assert captions(timed(one), 65)[0].lines == ("It was late. It was dark; he went on.",)


def test_words_of_the_first_are_those_of_a_unison() -> None:
    one = timed(of_lines(("ann", "Will you?"), ("ann & bob", "Yes we do. Of course we do!")))
    first = one.timeline.cues[1]
    starts = {round(start / RATE * 1000) for _, _, start, _ in first.words}
    found = [caption for caption in captions(one, 12) if caption.cue_index == 1]
    assert len(found) > 1
    assert {caption.start for caption in found} <= starts
