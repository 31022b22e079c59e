"""One book by three engines: the small checkpoint, the draft voice, and a stand-in of a server."""

from __future__ import annotations

import shutil
import weakref
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
import soundfile

from narrator.engines.mlx.memory import WORK_BYTES
from narrator.engines.voxcpm2.engine import VoxCPM2Engine
from narrator.engines.voxcpm2.settings import VoxCPM2Settings
from narrator.pipeline import book_engines, manuscript, run
from narrator.pipeline.book_engines import BookEngines
from tests import books, small_model
from tests.engines.server.standins import StandIn, serving

MANIFEST = """\
title: The Ferry
author: A. Author
language: en
engine: {{model: {model}, slots: {slots}, steps: 2, earliest_stop: 0.1, seed: 7, process: same}}
speakers:
  narrator: {{voice: bob}}
  ann: {{voice: bob, engine: draft}}
  bob: {{voice: bob, engine: {{seed: 8}}, chain: {{mode: continuation}}}}
  cy: {{server: {{voice: alloy}}, engine: {{name: server, url: "{url}", model: tts-1}}}}
chapters:
  - {{title: Morning, file: text/1.md}}
  - {{title: Noon, file: text/2.md}}
output: {{formats: [wav], files: chapters}}
"""
CHAPTERS = (
    """\
The ferry left at seven.

ann: Is there room for one more?

bob: There is room for two, if the second is a goat.

She looked for a goat, and found none.

bob: Keep your feet dry.
""",
    """\
By noon they had crossed three times.

cy: Three times is nothing.

ann: Who is that?
""",
)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_model.checkpoint(tmp_path_factory.mktemp("checkpoint"))


@pytest.fixture(scope="module", autouse=True)
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with mock.patch.dict("os.environ", NARRATOR_HOME=str(tmp_path_factory.mktemp("library"))):
        yield


@pytest.fixture(scope="module")
def standin() -> Iterator[StandIn]:
    with serving(StandIn("openai")) as one:
        yield one


@pytest.fixture(scope="module")
def rendered(model: Path, standin: StandIn, tmp_path_factory: pytest.TempPathFactory) -> run.Report:
    folder = tmp_path_factory.mktemp("mixed") / "book"
    small_model.write(folder, model)
    for number, text in enumerate(CHAPTERS, 1):
        (folder / "text" / f"{number}.md").write_text(text, encoding="utf-8")
    path = folder / "book.yaml"
    path.write_text(MANIFEST.format(model=model, slots=3, url=standin.url), encoding="utf-8")
    report, _ = small_model.render(path)
    return report


def copy(book: run.Report, folder: Path, *ignored: str) -> Path:
    root = book.plan.project.root
    shutil.copytree(root, folder, ignore=shutil.ignore_patterns(*ignored))
    return folder / "book.yaml"


def edited(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def engines_of(path: Path) -> BookEngines:
    return book_engines.engines_for(manuscript.read_manuscript(path).project)


def todo(path: Path) -> set[str]:
    """Who says what a render would speak."""
    engines = engines_of(path)
    with small_model.lenient():
        return {
            one.chunk.speaker for one in books.plan(path, engines.main, engines.by_speaker).todo
        }


def test_each_speaker_of_a_book_is_spoken_by_its_engine_and_the_book_is_finished(rendered, standin):
    assert rendered.complete
    store = rendered.plan.store
    said = {s.chunk.speaker: store.find(s.key).engine for s in rendered.plan.steps}
    assert said == {"narrator": "voxcpm2", "ann": "draft", "bob": "voxcpm2", "cy": "server"}
    assert [body["voice"] for body in standin.bodies] == ["alloy"]
    assert set(rendered.result.work) == {"voxcpm2", "draft", "server"}


def test_speakers_whose_engines_differ_in_the_seed_alone_share_the_weights(rendered):
    engines = rendered.plan.engines
    assert engines["bob"] is engines["narrator"]
    seeds = {s.chunk.speaker: rendered.plan.store.find(s.key).seed for s in rendered.plan.steps}
    assert (seeds["narrator"], seeds["bob"]) == (7, 8)


def test_files_have_the_highest_rate_and_takes_keep_theirs(rendered):
    store, plan = rendered.plan.store, rendered.plan
    rates = {step.chunk.speaker: store.find(step.key).sample_rate for step in plan.steps}
    assert rates["ann"] == 22_050
    assert rates["cy"] == 24_000
    assert {soundfile.info(path).samplerate for path in rendered.finished.files} == {
        rates["narrator"]
    }
    assert max(rates.values()) == rates["narrator"] == plan.sample_rate


def test_no_chain_crosses_from_one_engine_to_another(rendered):
    steps = {step.key: step for step in rendered.plan.steps}
    continued = [(steps[one.parent], one) for one in steps.values() if one.parent]
    assert {(a.engine, b.engine) for a, b in continued} == {("voxcpm2", "voxcpm2")}
    assert all(a.chunk.speaker == b.chunk.speaker for a, b in continued)


def test_a_finished_book_of_several_engines_renders_nothing_again(rendered):
    assert todo(rendered.plan.project.path) == set()


def test_another_engine_of_one_speaker_renders_that_one_s_lines_alone(rendered, tmp_path):
    path = copy(rendered, tmp_path / "book")
    edited(path, "ann: {voice: bob, engine: draft}", "ann: {voice: bob}")
    assert todo(path) == {"ann"}
    edited(path, "engine: {seed: 8}", "engine: {seed: 9}")
    assert todo(path) == {"ann", "bob"}


@pytest.mark.slow
def test_slots_change_no_take_of_any_engine(rendered, tmp_path):
    path = copy(rendered, tmp_path / "book", "store", "book")
    edited(path, "slots: 3", "slots: 1")
    report, _ = small_model.render(path, deliver=False)
    assert report.complete
    other = report.plan.store
    for step in rendered.plan.steps:
        ours, rate = rendered.plan.store.read(step.key)
        theirs, again = other.read(step.key)
        assert (rate, len(ours)) == (again, len(theirs))
        assert np.abs(ours - theirs).max() <= 2e-3 * max(0.05, float(np.abs(ours).max()))


def test_a_draft_of_a_book_of_several_engines_is_spoken_by_the_draft_voice_alone(
    rendered, tmp_path
):
    path = copy(rendered, tmp_path / "book")
    engines = book_engines.engines_for(manuscript.read_manuscript(path).project.spoken_by("draft"))
    plan = books.plan(path, engines.main, engines.by_speaker)
    assert {step.engine for step in plan.steps} == {"draft"}
    assert plan.folders.draft
    # what the draft voice says in the book anyhow is there
    assert "ann" not in {step.chunk.speaker for step in plan.todo}


def test_a_finished_book_of_several_engines_is_planned_without_its_models(
    rendered, tmp_path, model
):
    path, gone = copy(rendered, tmp_path / "book", "store", "book"), tmp_path / "gone"
    shutil.copytree(model, gone)
    second = tmp_path / "second"
    shutil.copytree(model, second)
    config = second / "config.json"
    config.write_text(config.read_text() + " ")  # other bytes, the same numbers
    edited(path, str(model), str(gone))
    edited(path, "engine: {seed: 8}", f"engine: {{model: {second}}}")
    report, _ = small_model.render(path, deliver=False)
    assert report.complete
    engines = report.plan.engines
    assert engines["bob"] is not engines["narrator"]
    assert engines["bob"].identity()["weights"] != engines["narrator"].identity()["weights"]
    shutil.rmtree(gone)
    shutil.rmtree(second)
    assert todo(path) == set()


@pytest.mark.slow
def test_a_killed_render_of_several_engines_goes_on_where_it_was(rendered, tmp_path):
    path = copy(rendered, tmp_path / "book", "store", "book")
    small_model.render_killed(path)
    done = small_model.stored_keys(path)
    report, watcher = small_model.render(path)
    assert report.complete
    assert not {step.key for step, _ in watcher.takes} & done
    assert len(report.finished.files) == len(CHAPTERS)


@pytest.mark.parametrize("process", ["same", pytest.param("own", marks=pytest.mark.slow)])
def test_a_model_that_is_given_back_is_gone_and_is_loaded_again(model, tmp_path, process):
    settings = VoxCPM2Settings(model=str(model), process=process)
    engine = VoxCPM2Engine(settings, cache=tmp_path / "voices")
    wanted = engine.required_memory()
    assert wanted is None or wanted > WORK_BYTES
    for _ in range(2):
        engine.start().close()
        assert engine.required_memory() == 0
        held = held_by(engine)
        engine.release()
        assert engine.required_memory() == wanted
        assert held() is None


def held_by(engine: VoxCPM2Engine) -> weakref.ref[object]:
    """What has the weights."""
    return weakref.ref(engine._processes._process if engine._processes else engine._loaded.model)
