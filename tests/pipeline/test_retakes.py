from __future__ import annotations

import shutil

import numpy as np
import pytest

from narrator import errors
from narrator.engines import Speech
from narrator.errors import EngineFailure
from narrator.pipeline import manuscript, retakes, upkeep
from narrator.pipeline.retakes import RetakeSettings
from narrator.speech.reasons import Reason
from narrator.speech.store import Store
from narrator.text import normalize
from tests import books
from tests.books import Watcher
from tests.fakes import HumEngine, hum

NOON = "By noon they had crossed"


def capped(request):
    return Speech(hum(request).samples, hum(request).state, stop="cap")


def hopeless(request):
    """One chunk never passes, whole or in halves."""
    return capped(request) if "noon" in request.text or "forgot" in request.text else None


@pytest.fixture(scope="module")
def spoken(tmp_path_factory):
    """Folders of the book as it was spoken: without a fault, and with a hopeless chunk."""
    folders = {}
    for name, engine in {"good": HumEngine(), "doubtful": HumEngine(fault=hopeless)}.items():
        folders[name] = tmp_path_factory.mktemp(name)
        books.speak(books.write(folders[name]), engine)
    return folders


@pytest.fixture
def good(spoken, tmp_path):
    shutil.copytree(spoken["good"], tmp_path, dirs_exist_ok=True)
    return tmp_path / "book.yaml"


@pytest.fixture
def doubtful(spoken, tmp_path):
    shutil.copytree(spoken["doubtful"], tmp_path, dirs_exist_ok=True)
    return tmp_path / "book.yaml"


def step_of(path, engine, text=NOON, **options):
    planned = books.plan(path, engine, **options)
    return planned, next(s for s in planned.steps if s.text.startswith(text))


def retake(path, engine, chunks, **settings):
    watcher = Watcher()
    return retakes.retake(
        manuscript.read_manuscript(path), engine, chunks, RetakeSettings(**settings), sink=watcher,
        cancel=watcher.cancel,
    )  # fmt: skip


def test_every_failed_try_is_kept_with_its_faults_and_never_counts_as_good(tmp_path):
    path = books.write(tmp_path)
    report, _ = books.speak(path, HumEngine(fault=hopeless))
    planned, step = step_of(path, HumEngine())
    found = retakes.tries_of(planned, step)
    whole = [one for one in found if one.record.text == step.text]
    assert len(whole) == 3  # the take is the least bad of them, and is listed once
    assert len({(one.record.seed, one.record.attempt) for one in whole}) == 3
    assert all("cut" in " ".join(one.record.faults) for one in found)
    assert not any(one.good for one in found)
    assert [one.number for one in found if one.in_use] == [1]
    assert planned.store.flag(step.key) is None
    assert planned.why[step.key].reason is Reason.DOUBTFUL
    assert report.incomplete == ()


def test_the_least_bad_try_is_the_take(tmp_path):
    counts = []

    def worse_and_worse(request):
        if not request.text.startswith(NOON):
            return hopeless(request)
        counts.append(request.attempt)
        speech = capped(request)
        if len(counts) == 2:
            return speech  # cut alone; the others are too short as well
        return Speech(speech.samples[: len(speech.samples) // 8], speech.state, stop="cap")

    path = books.write(tmp_path)
    books.speak(path, HumEngine(fault=worse_and_worse))
    planned, step = step_of(path, HumEngine())
    assert planned.store.find(step.key).attempt == 1


def test_tries_are_written_as_sounds_to_listen_to(doubtful, tmp_path):
    planned, step = step_of(doubtful, HumEngine())
    tries = retakes.tries_of(planned, step)
    written = retakes.write_sounds(planned, step, tries, tmp_path / "listen")
    assert len(written) == len(tries)
    assert all(file.stat().st_size > 1000 for file in written)


def test_a_pinned_try_is_no_longer_doubtful(doubtful):
    planned, step = step_of(doubtful, HumEngine())
    retakes.pin(planned, step, 1)
    report, watcher = books.speak(doubtful, HumEngine(fault=hopeless))
    assert report.complete
    assert report.doubtful == ()
    assert NOON not in " ".join(watcher.texts)
    planned, _ = step_of(doubtful, HumEngine())
    retakes.unpin(planned, [s for s in planned.steps if s.pinned])
    assert books.speak(doubtful, HumEngine(fault=hopeless))[0].doubtful


def test_a_pin_survives_force_another_seed_and_gc_until_its_text_changes(doubtful, tmp_path):
    planned, step = step_of(doubtful, HumEngine())
    retakes.pin(planned, step, 1)
    sound = planned.store.read_try(step.key, 1)[0]
    doubtful.write_text(books.MANIFEST + "engine: {seed: 99}\n", encoding="utf-8")
    report, _ = books.speak(doubtful, HumEngine(), force=True)
    upkeep.collect_garbage(manuscript.read_manuscript(doubtful).project)
    planned, step = step_of(doubtful, HumEngine())
    assert step.pinned
    assert planned.why[step.key].reason is Reason.PINNED
    assert np.abs(planned.store.read(step.key)[0] - sound).max() < 1e-4
    assert report.complete
    (tmp_path / "text" / "one.md").write_text(books.ONE.replace("three times", "four times"))
    planned, step = step_of(doubtful, HumEngine())
    assert not step.pinned
    [lost] = planned.lost
    assert lost.text.startswith(NOON)
    retakes.remove_lost_pins(planned, planned.lost)
    assert not books.plan(doubtful, HumEngine()).lost


@pytest.mark.parametrize("is_rendered_since", [True, False])
def test_a_pin_stays_if_a_newer_narrator_has_other_words_for_the_same_text(
    is_rendered_since, tmp_path, monkeypatch
):
    """The two chunks with figures are spoken anew but for the pinned one."""
    engine = HumEngine()
    one = books.BRIEF_ONE.replace("seven", "7").replace("one more", "1 more")
    path = books.brief(tmp_path, one=one)
    with monkeypatch.context() as older:
        older.setattr(normalize.english, "rules", lambda _tag: ())
        books.speak(path, engine)
        planned, step = step_of(path, engine, "The ferry left at 7")
        retakes.pin(planned, step, 1)
        if is_rendered_since:
            books.speak(path, engine)
    planned, step = step_of(path, engine, "The ferry left at seven")
    assert (step.pinned, planned.lost) == (True, ())
    assert [one.whole for one in retakes.tries_of(planned, step) if one.pinned] == [True]
    reasons = {step.text: planned.why[step.key].reason for step in planned.steps}
    assert reasons["Is there room for one more?"] is Reason.RESPOKEN
    path.write_text(books.MANIFEST + "lexicon: {ferry: boat}\n")
    planned, step = step_of(path, engine, "The boat left at seven")
    assert not step.pinned


def test_what_continues_a_pinned_take_is_rendered_anew(good):
    engine = HumEngine()
    planned = books.plan(good, engine)
    child = next(s for s in planned.steps if s.parent)
    parent = next(s for s in planned.steps if s.key == child.parent)
    [made] = retake(good, engine, [parent.id])
    assert (made.pinned, made.replaced) == (2, None)
    todo = books.todo(good, engine)
    assert child.chunk.text.strip() in todo
    assert parent.chunk.text.strip() not in todo
    books.speak(good, engine)
    [request] = [r for r in engine.requests if r.text == child.text][-1:]
    store = Store.open(good.parent / "build" / "store")
    pinned = next(s for s in books.plan(good, engine).steps if s.place_hash == parent.place_hash)
    assert np.array_equal(request.prompt.state, store.state(pinned.key))


def test_unpinning_gives_back_the_take_that_was_there(good):
    engine = HumEngine()
    planned = books.plan(good, engine)
    retake(good, engine, [planned.steps[0].id])
    pinned = books.plan(good, engine)
    assert retakes.unpin(pinned, [pinned.steps[0]]) == [pinned.steps[0]]
    assert not books.todo(good, engine)
    assert retakes.unpin(books.plan(good, engine), [planned.steps[1]]) == []


def test_a_retake_has_its_own_seed_and_settings_and_continues_the_same_take(tmp_path):
    path, engine = books.write(tmp_path), HumEngine()
    books.speak(path, engine)
    child = next(s for s in books.plan(path, engine).steps if s.parent)
    before = next(r for r in engine.requests if r.key == child.key)
    made = retake(path, engine, [child.id], seed=5, parameters={"cfg": 1.5}, count=2)
    first, second = [r for r in engine.requests if r.text == child.text][-2:]
    assert (first.seed, first.parameters["cfg"], first.attempt) == (5, 1.5, 0)
    assert (second.seed, second.attempt) == (6, 0)
    assert np.array_equal(first.prompt.state, before.prompt.state)
    assert [number for number, _ in made[0].tries] == [2, 3]
    assert made[0].pinned == 2


def test_a_retake_without_a_seed_draws_noise_that_no_try_had(tmp_path):
    path, engine = books.write(tmp_path), HumEngine()
    books.speak(path, engine)
    first = books.plan(path, engine).steps[0]
    made = [retake(path, engine, [first.id], count=2)[0] for _ in range(3)]
    drawn = [(r.seed, r.attempt) for r in engine.requests if r.text == first.text]
    assert len(set(drawn)) == len(drawn) == 7
    records = [record for one in made for _, record in one.tries]
    assert [(r.seed, r.attempt) for r in records] == drawn[1:]  # to be asked for again


def test_a_try_of_several_is_asked_for_again_by_its_seed(good):
    engine = HumEngine()
    first = books.plan(good, engine).steps[0]
    [made] = retake(good, engine, [first.id], seed=7, count=3)
    assert [record.seed for _, record in made.tries] == [7, 8, 9]
    assert {record.attempt for _, record in made.tries} == {0}
    planned = books.plan(good, engine)
    tries = retakes.tries_of(planned, planned.steps[0])
    assert len({one.record.content for one in tries}) == 4


def test_a_retake_names_the_pin_that_it_replaces(good):
    engine = HumEngine()
    first = books.plan(good, engine).steps[0]
    retake(good, engine, [first.id])
    [made] = retake(good, engine, [first.id])
    assert (made.replaced, made.replaced_home, made.pinned) == (2, first.key, 3)


def test_a_pin_from_before_other_settings_is_set_again_by_its_home(good):
    engine = HumEngine()
    first = books.plan(good, engine).steps[0]
    retake(good, engine, [first.id])
    good.write_text(good.read_text().replace("An old ferryman", "A young ferryman"))
    kept = books.plan(good, engine).steps[0]
    [made] = retake(good, engine, [first.id])
    assert (kept.pinned, made.replaced, made.replaced_home) == (True, 2, first.key)
    planned = books.plan(good, engine)
    assert planned.steps[0].key != kept.key
    retakes.pin(planned, planned.steps[0], made.replaced, made.replaced_home)
    assert books.plan(good, engine).steps[0].key == kept.key


def test_a_retake_has_a_style_and_then_continues_no_take(tmp_path):
    path, engine = books.write(tmp_path), HumEngine()
    books.speak(path, engine)
    child = next(s for s in books.plan(path, engine).steps if s.parent)
    [made] = retake(path, engine, [child.id], style="in a whisper")
    assert engine.requests[-1].style == "in a whisper"
    assert engine.requests[-1].prompt is None
    assert made.tries[0][1].parameters["style"] == "in a whisper"
    retake(path, engine, [child.id], style="")
    assert engine.requests[-1].style is None


@pytest.mark.parametrize("speed", [0.8, 1.25])
def test_a_retake_has_a_speed_whatever_the_engine_can(good, speed):
    plain, able = HumEngine(), HumEngine(sound_parameters=())
    able.has_speed = True
    planned = books.plan(good, plain)
    first = planned.steps[0]
    [made] = retake(good, plain, [first.id], speed=speed)
    [(_, record)] = made.tries
    assert record.samples == pytest.approx(planned.store.find(first.key).samples / speed, abs=1)
    assert record.parameters["speed"] == speed
    assert made.pinned == 2
    [made] = retake(good, able, [first.id], speed=speed, count=3)
    assert able.requests[-1].voice.speed == pytest.approx(speed)
    assert len(made.tries) == 1  # it has one reading at each speed
    assert made.pinned


def test_a_part_of_a_chunk_is_listed_as_such_and_cannot_be_pinned(doubtful):
    planned, step = step_of(doubtful, HumEngine())
    part = next(one for one in retakes.tries_of(planned, step) if not one.whole)
    with pytest.raises(errors.UsageError, match="speaks only a part of it"):
        retakes.pin(planned, step, part.number)


def test_a_pin_of_one_engine_says_nothing_to_another(good):
    engine = HumEngine()
    planned = books.plan(good, engine)
    retakes.pin(planned, planned.steps[0], 1)
    other = HumEngine(name="another")
    assert not books.plan(good, other).steps[0].pinned
    assert not books.plan(good, other).lost
    assert books.plan(good, engine).steps[0].pinned


def test_a_doubtful_take_prompts_once_it_is_pinned(tmp_path):
    path = books.write(tmp_path)
    child = next(s for s in books.plan(path, HumEngine()).steps if s.parent)
    engine = HumEngine(fault=lambda r: capped(r) if r.key == child.parent else None)
    report, _ = books.speak(path, engine)
    retakes.pin(report.plan, report.doubtful[0], 1)
    report, _ = books.speak(path, engine)
    assert report.complete
    [asked] = [r for r in engine.requests if r.text == child.text][-1:]
    assert asked.prompt is not None


def test_a_retake_continues_no_doubtful_take(tmp_path):
    path, engine = books.write(tmp_path), HumEngine()
    child = next(s for s in books.plan(path, engine).steps if s.parent)
    engine.fault = lambda r: capped(r) if r.key == child.parent else None
    books.speak(path, engine)
    [made] = retake(path, engine, [child.id])
    assert made.pinned == 2
    assert engine.requests[-1].prompt is None


def test_chunks_that_share_a_take_are_retaken_once(tmp_path):
    path = books.write(tmp_path, one=books.ONE + "\n***\n\nann: Yes.\n\n***\n\nann: Yes.\n")
    engine = HumEngine()
    books.speak(path, engine)
    a, b = [s for s in books.plan(path, engine).steps if s.text == "Yes."]
    assert a.key == b.key
    [made] = retake(path, engine, [a.id, b.id])
    assert made.pinned == 2


def test_a_chunk_after_one_that_was_given_up_can_be_retaken(tmp_path):
    path, engine = books.write(tmp_path), HumEngine()
    child = next(s for s in books.plan(path, engine).steps if s.parent)
    parent = next(s for s in books.plan(path, engine).steps if s.key == child.parent)
    engine.fault = lambda r: EngineFailure("no") if r.key == parent.key else None
    books.speak(path, engine)
    [made] = retake(path, engine, [child.id])
    assert made.pinned == 2
    assert engine.requests[-1].prompt is None


def test_a_retake_that_fails_its_checks_is_kept_and_not_pinned(good):
    engine = HumEngine()
    first = books.plan(good, engine).steps[0]
    bad = HumEngine(fault=capped)
    [made] = retake(good, bad, [first.id], count=2)
    assert made.pinned is None
    assert len(made.tries) == 2
    [silent] = retake(good, HumEngine(fault=lambda r: EngineFailure("no")), [first.id])
    assert (silent.tries, silent.failures) == ((), ("no",))
    assert not books.todo(good, engine)


def test_what_cannot_be_pinned_or_retaken_is_said(tmp_path):
    path, engine = books.write(tmp_path), HumEngine()
    planned = books.plan(path, engine)
    with pytest.raises(errors.UsageError, match="has no take to pin"):
        retakes.pin(planned, planned.steps[0], 1)
    with pytest.raises(errors.UsageError, match=r"numbered from 1: `narrator pin 1.1 1`"):
        retakes.pin(planned, planned.steps[0], 0)
    with pytest.raises(errors.UsageError, match="no try 7; tries: none was kept"):
        retakes.pin(planned, planned.steps[0], 7)
    child = next(s for s in planned.steps if s.parent)
    with pytest.raises(errors.UsageError, match="continues one that has no take yet"):
        retake(path, engine, [child.id])
    with pytest.raises(errors.UsageError, match="the engine hum has no steps"):
        retake(path, engine, [child.id], parameters={"steps": 4})
    steady = HumEngine(sound_parameters=())
    [made] = retake(path, steady, [planned.steps[0].id])  # nobody has spoken it yet
    assert len(made.tries) == 1
    with pytest.raises(errors.UsageError, match="hum has one reading of a text"):
        retake(path, steady, [planned.steps[0].id])
    with pytest.raises(errors.UsageError, match=r"no chunk .99\.1."):
        retake(path, engine, ["99.1"])


def test_gc_removes_tries_that_no_step_has(doubtful, tmp_path):
    planned, step = step_of(doubtful, HumEngine())
    assert planned.store.tried()
    (tmp_path / "text" / "one.md").write_text(books.ONE.replace("three times", "four times"))
    store = Store.open(tmp_path / "build" / "store", writing=True)
    store.remove([step.key])
    assert step.key not in store.tried()


def test_a_torn_list_of_pins_is_an_error_and_nothing_is_lost(good, tmp_path):
    engine = HumEngine()
    pins = tmp_path / "build" / "store" / "pins.json"
    pins.write_text("[{")
    with pytest.raises(errors.StorageError, match=r"pins\.json: not a list of pins"):
        books.plan(good, engine)
    assert pins.read_text() == "[{"
