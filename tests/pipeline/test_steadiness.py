"""Voices of a book, spoken by the draft voice, one take of which is another's."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from narrator.cli.steadiness import print_steadiness
from narrator.delivery import layout
from narrator.pipeline import book_engines, book_plan, steadiness
from narrator.pipeline.book_plan import BookPlan, Selection
from narrator.pipeline.manuscript import read_manuscript
from narrator.report import data, facts
from narrator.speech.store import Store
from tests import studios

SENTENCES = """
The road to the village was long and wet that day.
Nobody had walked on it since the first week of spring.
A grey cat sat on the wall and looked at the river.
The baker closed his shop a little before six o'clock.
Rain fell on the roofs, and the wind came from the sea.
Somebody had left a lamp in the window of the mill.
We waited for the boat until the moon was over the hill.
The letters lay unopened on the table by the door.
Two boys carried a basket of apples across the bridge.
At last the bells rang, and everybody went home.
"""


def plan(path: Path) -> BookPlan:
    manuscript = read_manuscript(path).spoken_by("draft")
    engine = book_engines.make_main_engine(manuscript.project)
    return book_plan.plan(manuscript, engine, Selection())


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("steady")
    text = SENTENCES.strip().replace("\n", "\n\n") + "\n"
    studios.write(folder, out=text, home=text.replace("the ", "that "))
    studios.render(folder)
    return folder / "book.yaml"


def test_a_steady_voice_has_no_take_that_sticks_out_and_little_drift(book):
    found = steadiness.measure(plan(book))
    assert [row.speaker for row in found.speakers] == ["narrator"]
    assert not found.outliers
    assert found.drift is not None
    assert found.unsteadiness == found.drift < 0.5


def test_a_chapter_with_few_takes_of_a_speaker_is_not_compared(book):
    both = plan(book)
    begun = replace(both, steps=both.steps[:17])
    assert [row.chapter for row in steadiness.measure(both).chapters] == [1, 2]
    assert [row.chapter for row in steadiness.measure(begun).chapters] == [1]


def test_a_take_that_was_altered_sticks_out_and_takes_without_measures_are_measured(book):
    before = plan(book)
    store = Store.open(before.project.takes, writing=True)
    step = next(step for step in before.steps if "window of the mill" in step.text)
    record, (samples, rate) = store.find(step.key), store.read(step.key)
    assert record is not None
    slower = np.interp(np.arange(0, len(samples), 0.72), np.arange(len(samples)), samples)
    store.put(
        replace(record, samples=len(slower), stop=len(slower), start=0, voice={}, words=""),
        slower.astype(np.float32),
        None,
    )
    looked_at = []
    found = steadiness.measure(plan(book), on_progress=lambda done, _: looked_at.append(done))
    found_count = len(found.takes)
    outlier = next(take for take in found.outliers if take.step.id == step.id)
    others = [reason.measure for take in found.outliers if take is not outlier
              for reason in take.reasons]  # fmt: skip
    assert all("seam" in measure for measure in others)  # of what goes on from it
    assert "pitch" in {one.measure for one in outlier.reasons}
    assert len(looked_at) == len(before.steps)
    assert rate == record.sample_rate
    report = data.report_row(plan(book), facts.gather(plan(book)))["steadiness"]
    assert report["unmeasured"] == 1  # reports read no sound
    assert report["count"] == found_count - 1


def test_only_takes_above_one_are_circles_in_the_report(book):
    before = plan(book)
    store = Store.open(before.project.takes, writing=True)
    step = next(step for step in before.steps if "basket of apples" in step.text)
    record = store.find(step.key)
    assert record is not None
    voice = {**record.voice, "pitch": 1.6 * record.voice["pitch"]}
    store.put(replace(record, voice=voice, words=""), store.read(step.key)[0], None)
    report = data.report_row(plan(book), facts.gather(plan(book)))["steadiness"]
    assert step.id in [circle["place"]["chunk"] for circle in report["outliers"]]
    heights = [circle["height"] for circle in report["outliers"]]
    assert max(height for _, height in report["dots"]) <= 1 < min(heights)


def test_a_voice_that_rises_slowly_over_the_book_is_told_though_no_chapter_is(tmp_path, capsys):
    paragraphs = SENTENCES.strip().replace("\n", "\n\n") + "\n"
    variants = [paragraphs.replace("the ", word) for word in ("the ", "that ", "our ", "his ")]
    studios.write(tmp_path, out="\n".join(variants[:2]), home="\n".join(variants[2:]))
    studios.render(tmp_path)
    before = plan(tmp_path / "book.yaml")
    (trend,) = steadiness.measure(before).trends
    assert (trend.speaker, trend.takes) == ("narrator", len(before.steps) // 5)
    assert not trend.is_listed
    store = Store.open(before.project.takes, writing=True)
    for number, step in enumerate(before.steps):
        record = store.find(step.key)
        assert record is not None
        semitones = 1.3 * number / len(before.steps)
        voice = {**record.voice, "pitch": record.voice["pitch"] * 2 ** (semitones / 12)}
        store.put(replace(record, voice=voice), store.read(step.key)[0], None)
    found = steadiness.measure(plan(tmp_path / "book.yaml"))
    assert not any(chapter.is_listed for chapter in found.chapters)
    (rise,) = found.trends
    assert rise.shares["pitch"] - trend.shares["pitch"] == pytest.approx(1.3 * 0.8 / 1.5, abs=0.1)
    after = plan(tmp_path / "book.yaml")
    (row,) = data.report_row(after, facts.gather(after))["steadiness"]["trends"]
    assert row["shares"] == rise.shares
    print_steadiness(found, len(found.takes))
    assert "Voices that change from their first takes to their last" in capsys.readouterr().out


def test_a_take_that_is_corrected_in_the_files_is_reported(book, narrator):
    before = plan(book)
    store = Store.open(before.project.takes, writing=True)
    step = next(step for step in before.steps if "waited for the boat" in step.text)
    record = store.find(step.key)
    assert record is not None
    store.put(replace(record, level=record.level - 4), store.read(step.key)[0], None)
    code, text, _ = narrator("why", step.id, book, "--draft")
    assert code == 0
    correction = layout.corrections(plan(book), before.steps)[step.id]
    assert 1 < correction.gain < 4
    assert f"corrected in the files: {correction.gain:.1f} dB louder" in text
    code, text, _ = narrator("why", step.id, book, "--draft", "--json")
    assert json.loads(text)["correction"] == {"gain": correction.gain, "speed": 1.0}
    code, text, _ = narrator("status", book, "--draft", "--steadiness")
    assert "\n1 take is corrected in the files" in text
    report = data.report_row(plan(book), facts.gather(plan(book)))
    assert [speaker["corrected"] for speaker in report["speakers"]] == [1]
