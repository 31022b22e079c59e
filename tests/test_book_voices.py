"""Steady voices in a book by each large model, from its render to its retakes.

The small checkpoints' own batches, chains and prompts, but with another sound: random weights make
noise, which has no voice to compare.
"""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from narrator.engines import Engine, Outcome, Request
from narrator.engines.mlx.session import ModelSession
from narrator.pipeline import book_engines, retakes
from narrator.pipeline.book_plan import BookPlan
from narrator.pipeline.manuscript import read_manuscript
from narrator.pipeline.retakes import RetakeSettings
from narrator.report import data, facts
from narrator.sound import audio
from narrator.speech import scores
from narrator.speech.plan import Step
from narrator.speech.steadiness import VoicedTake
from narrator.speech.store import Record, Store
from tests import books, hubs, small_model, sounds

ENGINES = {
    "voxcpm2": "{{model: {model}, slots: {slots}, process: same, steps: 2, earliest_stop: 0.1}}",
    "cosyvoice2": "{{name: cosyvoice2, model: {model}, slots: {slots}, process: same}}",
}
MANIFEST = """\
title: The Road
author: A. Author
language: en
engine: ENGINE
speakers:
  narrator: {{voice: {{reference: voices/narrator.wav, transcript: "{said}"}}}}
chapters:
  - {{title: Morning, file: text/1.md}}
output: {{formats: [wav], files: chapters}}
"""
TEXT = "\n\n".join(
    f"The {what} stood by the road to the old town for many years."
    for what in "mill church inn smithy barn school chapel bakery stable tower".split()
)
OTHER_VOICES = "chapel", "tower"


@contextmanager
def speaking(hertz: Callable[[Request], float], rate: int) -> Iterator[None]:
    """Gives each take of a model the sound of a voice of this pitch."""
    requests: dict[tuple[str, int], Request] = {}
    add, advance = ModelSession.add, ModelSession.advance

    def noted(session: ModelSession, request: Request, **options: Any) -> None:
        requests[request.key, request.attempt] = request
        add(session, request, **options)

    def voiced(session: ModelSession) -> list[Outcome]:
        return [give_voice(outcome) for outcome in advance(session)]

    def give_voice(outcome: Outcome) -> Outcome:
        assert outcome.speech is not None
        request = requests[outcome.key, outcome.attempt]
        seed = sum(request.text.encode()) + request.attempt
        samples = sounds.buzz(request.expected, hertz(request), seed=seed, rate=rate)
        return replace(outcome, speech=replace(outcome.speech, samples=samples))

    with (
        small_model.lenient(compares_takes=True),
        mock.patch.object(ModelSession, "add", noted),
        mock.patch.object(ModelSession, "advance", voiced),
    ):
        yield


def first_try_is_higher(request: Request) -> float:
    is_other = request.attempt == 0 and any(word in request.text for word in OTHER_VOICES)
    return 180 if is_other else 120


@dataclass(frozen=True)
class Book:
    path: Path
    rate: int

    @property
    def store(self) -> Store:
        return Store.open(self.path.parent / "build" / "store")

    def engine(self) -> Engine:
        return book_engines.make_main_engine(read_manuscript(self.path).project)

    def plan(self) -> BookPlan:
        return books.plan(self.path, self.engine())

    def takes(self) -> list[tuple[Step, Record]]:
        """In the order of the book."""
        found = [(step, self.store.find(step.key)) for step in self.plan().steps]
        return [(step, record) for step, record in found if record is not None]

    def render(self, hertz: Callable[[Request], float] = first_try_is_higher) -> None:
        with speaking(hertz, self.rate):
            report, _ = books.speak(self.path, self.engine())
        assert report.complete
        assert not report.doubtful


@pytest.fixture(scope="module", autouse=True)
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with mock.patch.dict("os.environ", NARRATOR_HOME=str(tmp_path_factory.mktemp("library"))):
        yield


@pytest.fixture(scope="module", params=list(ENGINES))
def book(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Book:
    folder = tmp_path_factory.mktemp(request.param)
    model, rate = hubs.COSYVOICE2, 24_000
    if request.param == "voxcpm2":
        model, rate = small_model.checkpoint(tmp_path_factory.mktemp("checkpoint")), 48_000
    manifest = MANIFEST.replace("ENGINE", ENGINES[request.param])
    path = small_model.write(folder / "book", model, slots=4, manifest=manifest, clips=(3.2, 3.2))
    (path.parent / "text" / "1.md").write_text(TEXT, encoding="utf-8")
    clip = sounds.buzz(5.0, 120, seed=0)
    (path.parent / "voices" / "narrator.wav").write_bytes(audio.encode_wav(clip, sounds.RATE))
    rendered = Book(path, rate)
    rendered.render()
    return rendered


def test_every_take_says_how_its_voice_sounds(book):
    takes = [VoicedTake.of(record) for _, record in book.takes()]
    assert len(takes) == 10
    assert [take.figures.pitch for take in takes] == pytest.approx([120] * 10, rel=0.02)


def test_a_take_in_another_voice_is_tried_again_and_chains_go_on_from_the_new_one(book):
    contents = {step.key: record.content for step, record in book.takes()}
    assert any(step.parent for step, _ in book.takes())
    for step, record in book.takes():
        is_other = step.text.split()[1] in OTHER_VOICES
        assert bool(record.attempt) == is_other
        faults = [fault for one in book.store.tries(step.key).values() for fault in one.faults]
        assert [fault.partition(":")[0] for fault in faults] == ["voice"] * is_other
        assert record.prompted_by == (contents[step.parent] if step.parent else None)


def test_one_slot_gives_the_takes_of_four(book, tmp_path):
    path = small_model.copy(book.path, tmp_path / "book")
    path.write_text(path.read_text().replace("slots: 4", "slots: 1"))
    other = Book(path, book.rate)
    other.render()
    ours, theirs = (
        [(record.content, record.attempt) for _, record in one.takes()] for one in (book, other)
    )
    assert ours == theirs


def test_the_status_and_the_report_say_that_the_voice_holds(book, narrator):
    code, said, _ = narrator("status", book.path, "--steadiness", "--json")
    assert code == 0
    found = json.loads(said)
    assert [(row["speaker"], row["takes"]) for row in found["speakers"]] == [("narrator", 10)]
    assert found["compared"] == 10
    assert found["outliers"] == []
    plan = book.plan()
    row = data.report_row(plan, facts.gather(plan))["steadiness"]
    assert (row["count"], row["unmeasured"], row["outliers"]) == (10, 0, [])


def test_of_several_tries_one_in_the_usual_voice_is_taken_whatever_the_slots(book, tmp_path):
    found = []
    for slots in (1, 4):
        path = small_model.copy(book.path, tmp_path / str(slots))
        settings = path.read_text().replace("slots: 4", f"slots: {slots}")
        path.write_text(settings.replace("chapters:", "checks: {best_of: 3}\nchapters:", 1))
        (path.parent / "text" / "1.md").write_text("\n\n".join(TEXT.split("\n\n")[:4]))
        best = Book(path, book.rate)
        best.render(lambda request: (120, 180, 121)[request.attempt])
        found.append([(record.content, record.attempt) for _, record in best.takes()])
        for step, record in best.takes():
            assert record.score
            assert len(best.store.tries(step.key)) == 2
    assert found[0] == found[1]
    assert {attempt for _, attempt in found[0]} <= {0, 2}


def test_of_new_tries_the_one_in_the_usual_voice_is_pinned(book, tmp_path):
    path = tmp_path / "book" / "book.yaml"
    shutil.copytree(book.path.parent, path.parent)
    hertz_by_seed = {3: 180, 4: 121}
    with speaking(lambda request: hertz_by_seed[request.seed], book.rate):
        engine = Book(path, book.rate).engine()
        (retaken,) = retakes.retake(
            books.read(path, engine),
            engine,
            ["1.4"],
            RetakeSettings(count=2, seed=3),
            sink=books.Watcher(),
            cancel=threading.Event(),
        )
    assert not retaken.failures
    totals = {record.seed: scores.total(record.score) for _, record in retaken.tries}
    assert totals[4] < totals[3]
    assert dict(retaken.tries)[retaken.pinned].seed == 4
