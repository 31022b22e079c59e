"""A whole book through the engine that speaks it, with the small checkpoint: see small_model."""

from __future__ import annotations

import random
import shutil
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Literal
from unittest import mock

import numpy as np
import pytest

import voxcpm2
from narrator.engines.mlx import worker_process
from narrator.pipeline import book_engines, manuscript
from narrator.progress import ChunkRendered, ProgressEvent
from narrator.speech.plan import Step
from narrator.speech.store import Record, Store
from tests import books, small_model
from tests.small_model import RenderedBook
from voxcpm2.prompt import Continuation, Reference, Text, build_tokens

TOLERANCE = 1e-3
"""Of latents, relative: a chain of takes carries the rounding of different batches on."""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_model.checkpoint(tmp_path_factory.mktemp("checkpoint"))


@pytest.fixture(scope="module", autouse=True)
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with mock.patch.dict("os.environ", NARRATOR_HOME=str(tmp_path_factory.mktemp("library"))):
        yield


@pytest.fixture(scope="module")
def rendered(model: Path, tmp_path_factory: pytest.TempPathFactory) -> RenderedBook:
    path = small_model.write(tmp_path_factory.mktemp("book") / "book", model)
    return small_model.render_watched(path, voxcpm2.Batch)


def record_of(book: RenderedBook, step: Step) -> Record:
    record = book.store.find(step.key)
    assert record
    return record


def same_takes(book: RenderedBook, path: Path, chapters: Collection[int] = (0, 1, 2)) -> None:
    other = Store.open(path.parent / "build" / "store")
    for step in book.steps:
        if step.chapter not in chapters:
            continue
        ours, theirs = book.store.state(step.key), other.state(step.key)
        assert ours is not None
        assert theirs is not None
        assert ours.shape == theirs.shape
        assert np.abs(ours - theirs).max() <= TOLERANCE * np.abs(ours).max()


def test_a_book_of_three_chapters_and_four_voices_is_rendered_and_finished(rendered):
    assert rendered.report.complete
    names = [path.name for path in rendered.report.finished.files]
    assert names == ["01 - Morning.wav", "02 - Noon.wav", "03 - Evening.wav"]
    assert 0 < rendered.report.result.busy <= 1
    assert rendered.report.result.slots == 3


def test_every_take_names_its_mode_prompt_voice_seed_and_tries(rendered):
    voices = rendered.report.plan.voices
    by_key = {step.key: step for step in rendered.steps}
    for step in rendered.steps:
        record = record_of(rendered, step)
        parent = record_of(rendered, by_key[step.parent]) if step.parent else None
        assert record.mode == step.mode
        assert record.prompted_by == (parent.content if parent else None)
        assert record.voiced_by == voices.contents[step.chunk.speaker]
        assert record.seed == 7
        assert (record.tries, record.attempt) == (1, 0)
        assert dict(record.parameters) == {"steps": 2, "cfg": 2.0, "earliest_stop": 0.1}
    noises = {record_of(rendered, step).noise for step in rendered.steps}
    assert len(noises) == len(rendered.steps)


def test_chains_are_as_the_manifest_says_by_book_speaker_and_chapter(rendered):
    assert {step.mode for step in rendered.said("narrator")} == {"reference", "anchored"}
    assert {step.mode for step in rendered.said("bob")} == {"continuation"}
    assert {step.mode for step in rendered.said("cy")} == {"reference"}
    assert any(step.parent for step in rendered.said("bob"))
    assert not any(step.parent for step in rendered.said("cy"))
    last = [step for step in rendered.said("narrator") if step.chapter == 2]
    heads = [i for i, step in enumerate(last) if step.parent is None]
    assert all(b - a <= 2 for a, b in zip(heads, [*heads[1:], len(last)], strict=True))


def test_each_sequence_is_the_one_that_its_mode_asks_for(rendered, model):
    """Built here from the spec's words and the stored takes, and compared position by position."""
    plan, loaded = rendered.report.plan, voxcpm2.load(model, dtype="float32")
    by_key = {step.key: step for step in rendered.steps}
    shape = (loaded.config.patch_size, loaded.config.feat_dim)
    voices = {name: plan.voices.reference(name, lambda _: None) for name in plan.voices.contents}

    @cache
    def encoded(name: str, pad: Literal["left", "right"]) -> np.ndarray:
        return loaded.encode(voices[name].samples, sample_rate=voices[name].rate, pad=pad)

    asked = {row.request.text: row for row in rendered.rows if not _is_casting(row)}
    assert set(asked) == {step.text for step in rendered.steps}
    for step in rendered.steps:
        row = asked[step.text]
        name = step.chunk.speaker
        parts: list[Any] = []
        if step.mode in ("reference", "anchored"):
            parts.append(Reference(encoded(name, "right")))
        said, before, sound = step.text, "", None
        if step.parent:
            parent = by_key[step.parent]
            before, sound = parent.text, rendered.store.state(parent.key)
        elif step.mode == "continuation":
            before, sound = voices[name].transcript, encoded(name, "left")
        elif step.chunk.style or step.voice.style:
            said = f"({step.chunk.style or step.voice.style}){said}"
        joint = " " if before else ""
        parts.append(Text(loaded.tokenize(before + joint + said)))
        if sound is not None:
            parts.append(Continuation(sound))
        expected = build_tokens(parts, shape)
        own = [] if row.reference is None else [Reference(row.reference)]
        given = [build_tokens(own, shape), row.tokens]
        for kind in ("ids", "audio"):
            found = np.concatenate([getattr(tokens, kind) for tokens in given])
            assert found.tolist() == getattr(expected, kind).tolist(), step.id
        latents = np.concatenate([tokens.latents for tokens in given])
        assert np.array_equal(latents, expected.latents), step.id


def _is_casting(row: voxcpm2.Row) -> bool:
    return row.request.reference is None and row.request.prompt is None


def test_voices_are_cast_once_and_kept(rendered):
    cast = sorted((rendered.path.parent / "build" / "cast").glob("*.voice"))
    assert len(cast) == 2  # ann by her description, cy by nothing; the others have references
    again, _ = small_model.render(rendered.path)
    assert again.result.rendered == 0
    assert sorted((rendered.path.parent / "build" / "cast").glob("*.voice")) == cast


@pytest.mark.parametrize(
    ("slots", "order"),
    [
        pytest.param(8, [[]], id="8"),
        pytest.param(1, [["3"], ["1"], ["2"]], id="1, in another order"),
    ],
)
@pytest.mark.slow
def test_neither_slots_nor_the_order_of_chapters_change_a_take(rendered, slots, order, tmp_path):
    path = small_model.copy(rendered.path, tmp_path / "book", slots=slots)
    for chapters in order:
        report, _ = small_model.render(path, deliver=False, chapters=chapters)
        assert report.complete
    same_takes(rendered, path, {int(one) - 1 for chosen in order for one in chosen} or (0, 1, 2))


def test_a_voice_that_is_cast_anew_with_another_sound_makes_its_takes_stale(rendered, tmp_path):
    path = tmp_path / "book" / "book.yaml"
    shutil.copytree(rendered.path.parent, path.parent)
    voices = rendered.report.plan.voices
    ours = path.parent / voices.files["ann"].relative_to(rendered.path.parent)
    theirs = path.parent / voices.files["cy"].relative_to(rendered.path.parent)
    shutil.copyfile(theirs, ours)
    with small_model.lenient():
        engine = book_engines.make_main_engine(manuscript.read_manuscript(path).project)
        todo = books.todo(path, engine)
    assert set(todo) == {step.chunk.text.strip() for step in rendered.said("ann")}
    assert {why.changes for why in todo.values()} == {("its voice was cast anew",)}


def test_a_finished_book_is_planned_and_exported_without_its_model(rendered, tmp_path, model):
    path = tmp_path / "book" / "book.yaml"
    shutil.copytree(rendered.path.parent, path.parent)
    gone = tmp_path / "gone"
    path.write_text(path.read_text().replace(str(model), str(gone)))
    # the model is known by its bytes: only a folder of the same name is taken at its word
    assert books.todo(path, book_engines.make_main_engine(manuscript.read_manuscript(path).project))
    shutil.copytree(model, gone)
    engine = book_engines.make_main_engine(manuscript.read_manuscript(path).project)
    assert not books.todo(path, engine)
    small_model.render(path)
    shutil.rmtree(gone)
    engine = book_engines.make_main_engine(manuscript.read_manuscript(path).project)
    assert not books.todo(path, engine)
    report, _ = books.run(path, engine, speak=False)
    assert len(report.finished.files) == 3


@pytest.mark.slow
def test_a_model_in_a_process_of_its_own_may_be_killed(rendered, tmp_path, monkeypatch):
    path = small_model.copy(rendered.path, tmp_path / "book")
    path.write_text(path.read_text().replace("process: same", "process: own"))
    started, processes = worker_process.start_process, []

    def watched(said: Any) -> Any:
        found = started(said)
        processes.append(found[1])
        return found

    class Killer(books.Watcher):
        def __call__(self, event: ProgressEvent) -> None:
            super().__call__(event)
            if isinstance(event, ChunkRendered) and len(self.rendered) == 1:
                processes[-1].kill()

    monkeypatch.setattr(worker_process, "start_process", watched)
    report, watcher = small_model.render(path, Killer(), deliver=False, chapters=["3"])
    assert report.complete
    assert (report.result.retries, report.result.flags) == (0, {})
    same_takes(rendered, path, {2})
    assert len(watcher.takes) == len({step.key for step, _ in watcher.takes})
    assert len(processes) == 2


def killed(rendered: RenderedBook, folder: Path, kills: int, seed: int) -> None:
    path = small_model.copy(rendered.path, folder / "book")
    draw = random.Random(seed)
    for _ in range(kills):
        program = small_model.render_killed(path, draw.randint(1, 3), draw.random() * 0.1)
        if program.returncode == 0:
            break
    done = small_model.stored_keys(path)
    report, watcher = small_model.render(path, deliver=False)
    assert report.complete
    assert not {step.key for step, _ in watcher.takes} & done
    same_takes(rendered, path)


@pytest.mark.slow
def test_a_killed_render_goes_on_where_it_was(rendered, tmp_path):
    killed(rendered, tmp_path, kills=1, seed=1)


@pytest.mark.slow
def test_a_render_killed_many_times_goes_on_where_it_was(rendered, tmp_path):
    for seed in range(4):
        killed(rendered, tmp_path / str(seed), kills=5, seed=seed)
