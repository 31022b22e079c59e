"""Speakers of one book with different engines, through the whole pipeline."""

from __future__ import annotations

import threading

import numpy as np
import soundfile

from narrator.engines import Speech
from narrator.pipeline import bookplan, retakes, run
from narrator.pipeline.manuscript import read
from tests import books
from tests.fakes import RATE, HumEngine, hum


def slower(request):
    """What the other engine hums: the same, at twice the rate."""
    speech = hum(request)
    return Speech(np.repeat(speech.samples, 2), speech.state)


def drone(**changes):
    return HumEngine("drone", sample_rate=2 * RATE, fault=slower, **changes)


def plan(path, engine, **engines):
    return bookplan.plan(read(path), engine, bookplan.Selection(), engines=engines)


def render(path, engine, **engines):
    watcher = books.Watcher()
    return run.run(
        read(path),
        engine,
        bookplan.Selection(),
        observer=watcher,
        cancel=watcher.cancel,
        engines=engines,
    )


def test_each_speaker_is_spoken_by_its_own_engine_and_nothing_is_rendered_twice(tmp_path):
    path, one, other = books.brief(tmp_path), HumEngine(), drone()
    report = render(path, one, ann=other)
    assert report.complete
    assert {r.voice.speaker for r in one.requests} == {"narrator"}
    assert {r.voice.speaker for r in other.requests} == {"ann"}
    assert [session.closed for session in (*one.sessions, *other.sessions)] == [True, True]
    speaks = {step.chunk.speaker: step.engine for step in report.plan.steps}
    assert speaks == {"narrator": "hum", "ann": "drone"}
    assert render(path, one, ann=other).result.rendered == 0


def test_a_speaker_s_keys_are_those_of_its_engine_whoever_else_speaks(tmp_path):
    path = books.write(tmp_path)
    mixed = plan(path, HumEngine(), ann=drone())
    alone = {"narrator": plan(path, HumEngine()), "ann": plan(path, drone())}
    for number, step in enumerate(mixed.steps):
        assert step.key == alone[step.chunk.speaker].steps[number].key


def test_no_take_continues_one_of_another_engine(tmp_path):
    path, one, other = books.write(tmp_path), HumEngine(), drone(continues=False)
    steps = {step.key: step for step in render(path, one, ann=other).plan.steps}
    parents = [(steps[s.parent].engine, s.engine) for s in steps.values() if s.parent]
    assert set(parents) == {("hum", "hum")}
    assert not any(request.prompt for request in other.requests)
    assert any(request.prompt for request in one.requests)


def test_a_chapter_has_the_highest_rate_of_its_book_and_every_take_its_length(tmp_path):
    path, one = books.brief(tmp_path), HumEngine()
    report = render(path, one, ann=drone())
    plain = render(books.brief(tmp_path / "plain"), one)
    for mixed, same in zip(report.finished.files, plain.finished.files, strict=True):
        sound, other = soundfile.info(mixed), soundfile.info(same)
        assert (sound.samplerate, other.samplerate) == (2 * RATE, RATE)
        assert sound.duration == other.duration
    rates = {
        step.engine: report.plan.store.find(step.key).sample_rate for step in report.plan.steps
    }
    assert rates == {"hum": RATE, "drone": 2 * RATE}


def test_another_try_is_asked_of_the_speaker_s_engine(tmp_path):
    path, one, other = books.brief(tmp_path), HumEngine(), drone()
    book = render(path, one, ann=other).plan
    asked = len(one.requests), len(other.requests)
    chunk = next(step for step in book.steps if step.engine == "drone")
    [retaken] = retakes.retake(
        read(path),
        one,
        [chunk.id],
        parameters={},
        observer=books.Watcher(),
        cancel=threading.Event(),
        engines={"ann": other},
    )
    assert retaken.tries
    assert (len(one.requests), len(other.requests)) == (asked[0], asked[1] + 1)
