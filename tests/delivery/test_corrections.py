"""Corrected takes in chapters: which chapters change, and where their words are heard."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from narrator.delivery import layout
from narrator.engines import Request, Speech
from narrator.pipeline.book_plan import BookPlan
from narrator.sound.timing import TimedWord
from narrator.speech.store import Store
from narrator.text.words import words
from tests import books
from tests.fakes import HumEngine
from tests.sounds import silence

RATE = 24_000
MANIFEST = """\
title: The Ferry
author: A. Author
language: en-GB
chain: {mode: reference}
pauses: {line: 0.7}
chapters:
  - {title: Morning, file: text/one.md}
  - {title: Evening, file: text/two.md}
"""
TEXTS = [
    "The ferry had left the bank at seven.",
    "Nobody asked it to wait for the mail.",
    "The mist was lifting from the water.",
    "A heron stood among the yellow reeds.",
    "The ferryman took the pipe from his mouth.",
    "By noon they had crossed three times.",
    "The lamps were lit on both of the banks.",
    "The rope lay on the wet boards like a cat.",
    "About aunts he knew nothing at all.",
    "The boat was moored for the night.",
]
LOUD, FAST = TEXTS[1], TEXTS[3]


def buzz(seconds: float, hertz: float, level: float) -> NDArray[np.float32]:
    """A voice that begins and ends at once."""
    times = np.arange(round(seconds * RATE)) / RATE
    samples = sum(np.sin(2 * np.pi * n * hertz * times + n * n) / n for n in range(1, 25))
    return (10 ** (level / 20) * samples).astype(np.float32)


def speak(request: Request) -> Speech:
    """Each word for 0.2 s, one every 0.3 s; faster in one of the texts."""
    step = 0.3 / 1.3 if request.text == FAST else 0.3
    level = -20.0 if request.text.startswith(LOUD[:-1]) else -26.0
    pieces, timed, begin = [silence(0.2, RATE)], [], 0.2
    for first, last in words(request.text, request.language):
        pieces += [
            buzz(0.7 * step, 100 + (17 * first + 7 * last) % 60, level),
            silence(0.3 * step, RATE),
        ]
        timed.append(TimedWord(first, last, begin, begin + 0.7 * step))
        begin += step
    sound = np.concatenate([*pieces, silence(0.2, RATE)])
    return Speech(sound, np.zeros((2, 4, 3), np.float32), words=tuple(timed))


ENGINE = HumEngine(name="draft", sample_rate=RATE, voice=speak)


@pytest.fixture(scope="module")
def spoken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    one, two = "\n\n".join(TEXTS[:6]), "\n\n".join(TEXTS[6:])
    path = books.write(tmp_path_factory.mktemp("ferry"), MANIFEST, one, two)
    books.speak(path, ENGINE)
    return path


@pytest.fixture
def book(spoken: Path, tmp_path: Path) -> Path:
    shutil.copytree(spoken.parent, tmp_path, dirs_exist_ok=True)
    return tmp_path / spoken.name


def plan(path: Path, more: str = "") -> BookPlan:
    path.write_text(MANIFEST + more, encoding="utf-8")
    return books.plan(path, ENGINE)


def corrections(plan: BookPlan) -> Mapping[str, str]:
    """Corrections by text."""
    texts = {step.id: step.chunk.text for step in plan.steps}
    return {texts[id]: str(one) for id, one in layout.corrections(plan, plan.steps).items()}


def chapter_keys(plan: BookPlan) -> list[str]:
    return [sound.key for sound in layout.lay_out_chapters(plan, [0, 1])]


def mastering(settings: str) -> str:
    return f"output: {{mastering: {{{settings}}}}}\n"


AS_SPOKEN = mastering("levelling: false")
STEADY_PACE = mastering("levelling: false, pace: keep")


def test_a_loud_take_is_lowered_and_other_chapters_keep_their_keys(book):
    corrected = plan(book)
    assert corrections(corrected) == {LOUD: "4.0 dB softer"}
    first, second = chapter_keys(corrected)
    first_as_spoken, second_as_spoken = chapter_keys(plan(book, AS_SPOKEN))
    assert first != first_as_spoken
    assert second == second_as_spoken
    assert corrections(plan(book, AS_SPOKEN)) == {}


def test_the_files_hold_the_corrected_level(book):
    corrected = plan(book)
    (sound,) = layout.lay_out_chapters(corrected, [0])
    (as_spoken,) = layout.lay_out_chapters(plan(book, AS_SPOKEN), [0])
    chapter, chapter_as_spoken = (np.concatenate(list(one.blocks())) for one in (sound, as_spoken))
    for cue in sound.timeline.cues:
        before, after = (
            np.sqrt(np.mean(one[cue.start : cue.stop] ** 2)) for one in (chapter_as_spoken, chapter)
        )
        expected = -4.0 if cue.text == LOUD else 0.0
        assert 20 * np.log10(after / before) == pytest.approx(expected, abs=0.01)


def test_a_speaker_may_be_left_as_spoken(book):
    speakers = "speakers: {narrator: {mastering: {levelling: false}}}\n"
    assert corrections(plan(book, speakers)) == {}


def test_a_shout_that_is_written_so_is_left_alone(book):
    written = book.parent / "text" / "one.md"
    written.write_text(written.read_text().replace(LOUD, LOUD.replace(".", "!")))
    books.speak(book, ENGINE)
    assert corrections(plan(book)) == {}


def test_a_style_is_not_compared_with_other_takes(book):
    written = book.parent / "text" / "two.md"
    written.write_text(written.read_text() + f"\n\nnarrator (shouting): {LOUD}\n")
    speakers = "speakers: {narrator: {}}\n"
    plan(book, speakers)
    books.speak(book, ENGINE)
    styled = plan(book, speakers)
    assert styled.steps[-1].style == "shouting"
    assert styled.takes.take(styled.steps[-1].key).level > -24
    assert list(layout.corrections(styled, styled.steps)) == ["1.2"]


def test_a_new_take_moves_no_other_chapter(book):
    before = plan(book)
    written = book.parent / "text" / "two.md"
    written.write_text(written.read_text() + "\n\nIn the morning it was gone from the pier.\n")
    books.speak(book, ENGINE)
    after = plan(book)
    assert layout.book_sound(after).usual == layout.book_sound(before).usual
    assert chapter_keys(after)[0] == chapter_keys(before)[0]


def test_doubtful_takes_do_not_tell_what_is_usual_and_takes_count_in_any_order(book):
    before = plan(book)
    usual = layout.book_sound(before).usual
    backwards = replace(before, steps=tuple(reversed(before.steps)))
    assert layout.book_sound(backwards).usual == usual
    store = Store.open(before.project.takes, writing=True)
    for step in before.steps[:3]:
        record = store.find(step.key)
        assert record is not None
        doubtful = replace(record, faults=("hole: 2.5 s",))
        store.put(doubtful, store.read(step.key)[0], None)
    (figures,) = layout.book_sound(plan(book)).usual["narrator"].values()
    assert figures == layout.UsualSpeech()


@pytest.mark.parametrize("speed", [1.0, 1.2])
def test_words_of_stretched_takes_are_where_they_are_heard(speed, book):
    speakers = f"speakers: {{narrator: {{speed: {speed}}}}}\n"
    kept = plan(book, STEADY_PACE + speakers)
    stretched = corrections(kept)
    assert stretched[FAST] == "6 % slower"
    assert any("faster" in one for one in stretched.values())
    margin = round(0.03 * RATE)  # WSOLA looks for the best join in windows of 43 ms
    distances: list[int] = []
    for sound in layout.lay_out_chapters(kept, [0, 1]):
        chapter = np.concatenate(list(sound.blocks()))
        loud = np.abs(chapter) > 0.02
        for cue in sound.timeline.cues:
            assert len(cue.words) == len(cue.text.split())
            for _, _, start, stop in cue.words:
                heard = np.flatnonzero(loud[start - margin : stop + margin]) + start - margin
                distances += [abs(heard[0] - start), abs(heard[-1] - stop)]
    assert max(distances) < margin
    assert np.median(distances) < 0.01 * RATE


def test_a_stretched_take_keeps_later_ones_their_pauses(book):
    (free,) = layout.lay_out_chapters(plan(book, AS_SPOKEN), [0])
    (kept,) = layout.lay_out_chapters(plan(book, STEADY_PACE), [0])
    fast = next(n for n, cue in enumerate(free.timeline.cues) if cue.text == FAST)
    lengths = [cue.stop - cue.start for cue in free.timeline.cues]
    assert kept.timeline.cues[fast].stop - kept.timeline.cues[fast].start == pytest.approx(
        lengths[fast] / 0.94, abs=1
    )
    longer = kept.timeline.length - free.timeline.length
    assert longer == pytest.approx(lengths[fast] / 0.94 - lengths[fast], abs=0.01 * RATE)


def test_the_length_of_a_chapter_is_known_before_its_sound(book):
    kept = plan(book, STEADY_PACE)
    takes = {step.key: kept.takes.take(step.key) for step in kept.steps}
    for number, sound in enumerate(layout.lay_out_chapters(kept, [0, 1])):
        steps = [step for step in kept.steps if step.chapter == number]
        seconds = layout.delivered_seconds(kept, steps, takes, layout.book_sound(kept), ())
        assert seconds == sound.timeline.seconds
