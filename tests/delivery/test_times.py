"""From times that are kept beside takes to a chapter's timeline."""

from __future__ import annotations

from pathlib import Path

import pytest

from narrator.delivery import layout
from narrator.pipeline.places import HeardChapter, timeline_of
from narrator.sound.timing import TimedWord, WordTimes
from narrator.speech.plan import Step
from narrator.text.words import words
from tests import books
from tests.fakes import HumEngine

ENGINE = HumEngine(name="draft")


def keep(book: books.book_plan.BookPlan, step: Step, by: str = "whisper") -> None:
    """Words of a take, each for 0.1 s, one every 0.2 s from the first sound on."""
    take = book.takes.take(step.key)
    begin = take.start / take.sample_rate
    said = [
        TimedWord(*span, begin + 0.2 * n, begin + 0.2 * n + 0.1)
        for n, span in enumerate(words(step.text, step.language))
    ]
    book.takes.store.transcripts.store_times(
        take.content, step.text, by, WordTimes(by, tuple(said))
    )


def test_words_lie_on_the_timeline_as_they_are_written(hummed: Path) -> None:
    book = books.plan(hummed, ENGINE)
    (before,) = layout.lay_out_chapters(book, [0])
    step = next(step for step in book.steps if len(step.text.split()) > 3)
    keep(book, step)
    (after,) = layout.lay_out_chapters(books.plan(hummed, ENGINE), [0])
    for old, cue in zip(before.timeline.cues, after.timeline.cues, strict=True):
        assert cue.timed_by == ("whisper" if cue.chunk == step.id else "")
        if cue.chunk != step.id:
            assert cue == old
            continue
        shown = [cue.text[first:last] for first, last, _, _ in cue.words]
        assert shown == cue.text.split()
        second = cue.start + round(0.2 * after.timeline.sample_rate)
        assert abs(cue.words[1][2] - second) <= 1
    assert after.key == before.key


def test_without_times_a_timeline_is_written_as_it_was(hummed: Path) -> None:
    (sound,) = layout.lay_out_chapters(books.plan(hummed, ENGINE), [0])
    assert "words" not in sound.timeline.to_json()
    assert "timed_by" not in sound.timeline.to_json()


def test_the_word_that_is_said_at_a_time_is_known(hummed: Path) -> None:
    book = books.plan(hummed, ENGINE)
    step = next(step for step in book.steps if step.chapter == 0 and len(step.text.split()) > 3)
    keep(book, step)
    books.run(hummed, ENGINE)
    cue = next(cue for cue in timeline_of(book, 0).cues if cue.chunk == step.id)
    rate = timeline_of(book, 0).sample_rate
    heard = HeardChapter(book, 0)
    (one,) = heard.passages_at(cue.start / rate + 0.25)
    assert (one.word, one.timed_by) == (cue.text.split()[1], "whisper")
    (untimed,) = heard.passages_at(
        next(c for c in heard.timeline.cues if not c.words).start / rate + 0.1
    )
    assert (untimed.word, untimed.timed_by, untimed.is_pause) == ("", "", False)


@pytest.mark.parametrize("share", [0.3, 1.0])
def test_times_of_words_that_run_out_of_a_take_end_with_it(share: float, hummed: Path) -> None:
    book = books.plan(hummed, ENGINE)
    step = book.steps[0]
    take = book.takes.take(step.key)
    late = TimedWord(0, 3, share * take.stop / take.sample_rate, 99.0)
    book.takes.store.transcripts.store_times(take.content, step.text, "x", WordTimes("x", (late,)))
    (sound,) = layout.lay_out_chapters(book, [0])
    cue = sound.timeline.cues[0]
    ((_, _, begin, end),) = cue.words
    assert cue.start <= begin <= end == cue.stop
