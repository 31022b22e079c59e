"""A whole book through CosyVoice2, with the small checkpoint: see small_model."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterator
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

import cosyvoice2
from narrator.engines.cosyvoice2 import loaded_model
from narrator.errors import ManifestError
from narrator.pipeline import book_engines, book_plan, checking, manuscript
from narrator.speech.store import Store
from narrator.speech.voice_figures import unpack_speaker
from tests import books, small_model
from tests.small_model import RenderedBook

CHECKPOINT = Path(__file__).parent / "golden" / "cosyvoice2" / "cosy_s0" / "checkpoint"
MANIFEST = """\
title: The Ferry
author: A. Author
language: en
engine:
  {{name: cosyvoice2, model: {model}, slots: {slots}, process: same, earliest_stop: 0.1, seed: 7}}
voices:
  old: {{reference: voices/narrator.wav, transcript: "{said}"}}
speakers:
  narrator: {{voice: old}}
  ann: {{voice: old, style: softly}}
  bob: {{voice: bob, chain: {{mode: continuation}}}}
  cy: {{cosyvoice2: {{speaker: tiny_spk}}}}
narrator: narrator
chapters:
  - {{title: Morning, file: text/1.md}}
  - {{title: Noon, file: text/2.md}}
  - {{title: Evening, file: text/3.md, chain: {{max_chunks: 2}}}}
output: {{formats: [wav], files: chapters}}
"""


@pytest.fixture(scope="module", autouse=True)
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with mock.patch.dict("os.environ", NARRATOR_HOME=str(tmp_path_factory.mktemp("library"))):
        yield


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> RenderedBook:
    folder = tmp_path_factory.mktemp("book") / "book"
    path = small_model.write(folder, CHECKPOINT, manifest=MANIFEST, clips=(3.2, 3.2))
    with mock.patch.object(loaded_model, "MIN_SPEAKER_SECONDS", 0.1):  # takes are short here
        return small_model.render_watched(path, cosyvoice2.Batch)


def same_takes(book: RenderedBook, path: Path, chapters: Collection[int] = (0, 1, 2)) -> None:
    other = Store.open(path.parent / "build" / "store")
    for step in book.steps:
        if step.chapter in chapters:
            assert np.array_equal(book.store.state(step.key), other.state(step.key)), step.id
            ours, theirs = book.store.read(step.key)[0], other.read(step.key)[0]
            assert np.abs(ours - theirs).max() < 1e-2, step.id


def test_a_book_of_three_chapters_and_four_voices_is_rendered_and_finished(rendered):
    assert rendered.report.complete
    names = [path.name for path in rendered.report.finished.files]
    assert names == ["01 - Morning.wav", "02 - Noon.wav", "03 - Evening.wav"]
    assert rendered.report.plan.sample_rate == 24_000


def test_each_sequence_is_the_one_that_its_mode_asks_for(rendered):
    """Built here from the specification's words and the stored takes."""
    plan, model = rendered.report.plan, cosyvoice2.load(CHECKPOINT)
    by_key = {step.key: step for step in rendered.steps}
    asked = {row.request.text: row for row in rendered.rows}
    assert set(asked) == {step.text for step in rendered.steps}
    clips = {
        name: plan.voices.reference(name, lambda _: None) for name in ("narrator", "ann", "bob")
    }
    heard = {name: model.reference(clip.samples, clip.rate) for name, clip in clips.items()}
    modes = set()
    for step in rendered.steps:
        row, name = asked[step.text], step.chunk.speaker
        style = step.chunk.style or step.voice.style
        before, prefix = "", []
        if step.parent:
            before = by_key[step.parent].text
            prefix = rendered.store.state(step.parent).tolist()
            modes.add("the take before")
        elif style:
            before = f"{style}<|endofprompt|>"
            modes.add("a style")
        elif name in clips:
            said = clips[name].transcript
            before, prefix = said, heard[name].tokens.tolist()
            modes.add("a clip")
        else:
            modes.add("a stored speaker")
        ids = [*model.tokenize(before), *model.tokenize(step.text)]
        assert row.text_ids == ids, step.id
        assert list(row.prefix) == prefix, step.id
        if name in clips:
            assert np.array_equal(row.request.reference.tokens, heard[name].tokens)
            assert np.array_equal(row.request.reference.mel, heard[name].mel)
        else:
            assert row.request.reference is None
            assert np.array_equal(row.request.speaker, model.speakers["tiny_spk"].vector)
    assert modes == {"the take before", "a style", "a clip", "a stored speaker"}


def test_a_take_keeps_its_tokens_which_run_evenly_along_its_sound(rendered):
    for step in rendered.steps:
        state = rendered.store.state(step.key)
        assert state.dtype == np.int32
        assert state.ndim == 1
        record = rendered.store.find(step.key)
        assert abs(960 * len(state) - 24_000 * record.prompt_seconds) < 24
        assert record.samples % 960 == 0


def test_a_take_is_kept_with_what_the_models_encoder_hears_in_it(rendered):
    model = cosyvoice2.load(CHECKPOINT)
    for step in rendered.steps:
        embedding = unpack_speaker(rendered.store.find(step.key).voice["speaker"])
        vector = model.speaker_vector(rendered.store.read(step.key)[0])
        assert embedding @ vector > 0.99 * np.linalg.norm(vector), step.id


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


def test_a_finished_book_is_planned_without_its_model(rendered, tmp_path):
    path = tmp_path / "book" / "book.yaml"
    shutil.copytree(rendered.path.parent, path.parent)
    gone = tmp_path / "gone"
    shutil.copytree(CHECKPOINT, gone)
    path.write_text(path.read_text().replace(str(CHECKPOINT), str(gone)))
    small_model.render(path)
    shutil.rmtree(gone)
    engine = book_engines.make_main_engine(manuscript.read_manuscript(path).project)
    assert not books.todo(path, engine)


def test_a_speaker_with_a_description_alone_is_refused_in_words(rendered, tmp_path):
    path = small_model.copy(rendered.path, tmp_path / "book")
    text = path.read_text().replace("bob: {voice: bob,", "bob: {voice: {description: old},")
    path.write_text(text)
    read = manuscript.read_manuscript(path)
    with pytest.raises(ManifestError, match=r"'bob' has none: give one .*cosyvoice2: {speaker:"):
        checking.check_manuscript(read, lambda _: None)
    engine = book_engines.make_main_engine(read.project)
    with pytest.raises(ManifestError, match="speaks after a clip"):
        book_plan.plan(read, engine, book_plan.Selection())


@pytest.mark.slow
def test_a_book_by_both_models_has_the_higher_rate_and_takes_keep_theirs(rendered, tmp_path):
    path = small_model.copy(rendered.path, tmp_path / "book")
    other = small_model.checkpoint(tmp_path / "voxcpm2")
    own = f"bob: {{engine: {{name: voxcpm2, model: {other}, steps: 2}}, voice: bob,"
    path.write_text(path.read_text().replace("bob: {voice: bob,", own))
    report, _ = small_model.render(path)
    assert report.complete
    assert report.plan.sample_rate == 48_000
    store = Store.open(path.parent / "build" / "store")
    for step in report.plan.steps:
        record = store.find(step.key)
        is_bob = step.chunk.speaker == "bob"
        assert record.sample_rate == (48_000 if is_bob else 24_000)
        assert record.engine == ("voxcpm2" if is_bob else "cosyvoice2")
        assert is_bob or any(step.key == ours.key for ours in rendered.steps)


@pytest.mark.slow
def test_a_model_in_a_process_of_its_own_makes_the_same_takes(rendered, tmp_path):
    path = small_model.copy(rendered.path, tmp_path / "book")
    path.write_text(path.read_text().replace("process: same", "process: own"))
    report, _ = small_model.render(path, deliver=False, chapters=["2"])
    assert report.complete
    same_takes(rendered, path, {1})


@pytest.mark.slow
def test_a_killed_render_goes_on_where_it_was(rendered, tmp_path):
    path = small_model.copy(rendered.path, tmp_path / "book")
    small_model.render_killed(path, takes=2)
    done = small_model.stored_keys(path)
    assert done
    report, watcher = small_model.render(path, deliver=False)
    assert report.complete
    assert not {step.key for step, _ in watcher.takes} & done
    same_takes(rendered, path)
