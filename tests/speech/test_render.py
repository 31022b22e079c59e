from __future__ import annotations

import os
import re
import shutil
import threading
from dataclasses import replace
from unittest import mock

import numpy as np
import pytest

from narrator import errors
from narrator.engines import Speech
from narrator.errors import EngineFailure, EngineUnavailable, StorageError
from narrator.pipeline import run
from narrator.speech.reasons import Reason
from narrator.speech.store import Store
from tests import books
from tests.books import Watcher
from tests.effort import quick
from tests.fakes import RATE, HumEngine, hum

BAD = "By noon they had crossed"
TRIES = 3  # of the manifest, unless it says otherwise


TWO = "# Evening\n\nThe lamps were lit on both banks.\n\nann: I shall come again tomorrow.\n"


def write_book(folder, manifest=books.MANIFEST, chapter_text=books.ONE):
    """The book with a brief second chapter."""
    return books.write(folder, manifest, chapter_text, TWO)


def failing(make, *, times=10**6, start=BAD):
    """An engine whose takes of one chunk go wrong, the first `times` times."""
    remaining = [times]

    def fault(request):
        if not request.text.startswith(start) or remaining[0] <= 0:
            return None
        remaining[0] -= 1
        return make(request)

    return HumEngine(fault=fault)


def nan(request):
    samples = hum(request).samples
    samples[100] = np.nan
    return Speech(samples)


def crash(request):
    return EngineFailure("the library crashed")


FAULTS = {
    "finite": nan,
    "silent": lambda r: Speech(np.zeros(round(r.expected * RATE), np.float32)),
    "short": lambda r: Speech(hum(r).samples[: RATE // 2]),
    "level": lambda r: Speech(0.05 * hum(r).samples, hum(r).state),
    "engine": crash,
}


@pytest.fixture(scope="module")
def usual(tmp_path_factory):
    """A delivered book, so that its speakers have a usual level."""
    path = write_book(tmp_path_factory.mktemp("usual"))
    books.run(path, HumEngine())
    return path


@pytest.fixture
def copied(usual, tmp_path):
    """A copy of it."""
    return shutil.copytree(usual.parent, tmp_path / "book") / "book.yaml"


OF_NOON = f"""\
# Morning

The ferry left at seven, as it had on every morning. Nobody had ever asked it to wait.

***

{BAD} three times, and the girl had learned the names of all the birds.
"""


@pytest.fixture(scope="module")
def brief(tmp_path_factory):
    """A brief book, delivered, with a chunk that will go wrong."""
    path = write_book(tmp_path_factory.mktemp("brief"), chapter_text=OF_NOON)
    books.run(path, HumEngine())
    return path


@pytest.fixture
def altered(brief, tmp_path):
    """The same, with other words in that chunk."""
    shutil.copytree(brief.parent, tmp_path / "book")
    return write_book(tmp_path / "book", chapter_text=OF_NOON.replace("three times", "four times"))


@pytest.mark.parametrize("kind", ["short", "level", "engine"])
def test_each_fault_is_caught_and_the_next_try_is_kept(kind, altered):
    report, watcher = books.speak(altered, failing(FAULTS[kind], times=1))
    assert report.complete
    assert report.result.retries == len(watcher.retries) == 1
    assert any(fault.startswith(f"{kind}: ") for fault in watcher.faults)
    record = [r for s, r in watcher.takes if s.text.startswith(BAD)][-1]
    assert (record.attempt, record.halves) == (1, 1)


@pytest.mark.parametrize("kind", ["finite", "silent", "engine"])
def test_what_nobody_can_hear_is_flagged_and_nothing_bad_is_assembled(kind, altered):
    report, watcher = books.run(altered, failing(FAULTS[kind]))
    assert not report.complete
    [step] = watcher.flags
    assert step.text.startswith(BAD)
    assert any(fault.startswith(f"{kind}: ") for fault in watcher.faults)
    assert report.incomplete == (0,)
    assert report.doubtful == ()
    assert ["Evening" in file.name for file in report.finished.files] == [True]


@pytest.mark.parametrize("kind", ["short", "level"])
def test_each_fault_that_stays_is_delivered_as_doubtful(kind, altered):
    report, watcher = books.run(altered, failing(FAULTS[kind]))
    assert not report.complete
    assert not watcher.flags
    [step] = report.doubtful
    assert step.text.startswith(BAD)
    [row] = run.summary(report)["doubtful"]
    assert row["chunk"] == step.id
    assert row["source"].startswith("one.md:")
    assert any(fault.startswith(f"{kind}: ") for fault in row["faults"])
    assert report.incomplete == ()
    assert len(report.finished.files) == 2


def test_an_engine_that_cannot_go_on_ends_the_run_and_costs_no_take(tmp_path):
    path = write_book(tmp_path)

    def spent(request):
        raise EngineUnavailable("out of memory with a single chunk")

    with pytest.raises(EngineUnavailable):
        books.speak(path, HumEngine(fault=lambda r: spent(r) if r.text.startswith(BAD) else None))
    stored_keys = {key for key, _ in Store.open(path.parent / "build" / "store").stored()}
    assert stored_keys
    report, watcher = books.speak(path, HumEngine())
    assert report.complete
    assert not stored_keys & {step.key for step, _ in watcher.takes}


def test_a_chunk_that_fails_whole_is_rendered_in_halves_of_which_one_continues_the_other(tmp_path):
    engine = failing(crash, times=TRIES)
    report, watcher = books.speak(write_book(tmp_path), engine)
    assert report.complete
    [(step, record)] = [(s, r) for s, r in watcher.takes if s.text.startswith(BAD)]
    assert record.halves == 2
    *_, first, second = [r for r in engine.requests if r.key == step.key]
    assert re.findall(r"\w+", f"{first.text} {second.text}") == re.findall(r"\w+", step.text)
    assert second.prompt is not None
    assert second.prompt.text == first.text


def test_a_hopeless_chunk_is_flagged_and_the_run_goes_on(tmp_path):
    engine = HumEngine(fault=lambda r: crash(r) if "forgot" in r.text or "noon" in r.text else None)
    path = write_book(tmp_path)
    report, watcher = books.run(path, engine)
    assert not report.complete
    assert [step.text[:7] for step in watcher.flags] == ["By noon"]
    assert report.incomplete == (0,)
    assert report.accounting.given_up > 20
    assert report.accounting.balanced
    # the other chapter is finished; of the one with the hole there is no file at all
    assert ["Evening" in path.name for path in report.finished.files] == [True]
    assert all(why.reason is Reason.RETRY for why in books.todo(path, HumEngine()).values())
    assert books.speak(path, HumEngine())[0].complete


def test_a_child_of_a_given_up_take_starts_its_own_chain_with_its_style(tmp_path):
    manifest = books.MANIFEST.replace("ferryman}", "ferryman}, style: slowly")
    path = write_book(tmp_path, manifest)
    child = next(step for step in books.plan(path, HumEngine()).steps if step.parent)
    engine = HumEngine(fault=lambda r: crash(r) if r.key == child.parent else None)
    books.speak(path, engine)
    [request] = [r for r in engine.requests if r.key == child.key]
    assert (request.prompt, request.style) == (None, "slowly")
    assert not any(r.style and r.prompt for r in engine.requests)


def test_prompts_are_the_take_before_of_the_same_speaker_and_scene(tmp_path):
    engine = HumEngine()
    path = write_book(tmp_path)
    books.speak(path, engine)
    steps = {step.key: step for step in books.plan(path, engine).steps}
    continued = [r for r in engine.requests if r.prompt]
    assert continued
    for request in continued:
        step = steps[request.key]
        parent = steps[step.parent]
        assert request.prompt.text == parent.text
        assert parent.chunk.speaker == step.chunk.speaker
        assert parent.utterance.scene == step.utterance.scene


def test_a_styled_line_is_neither_prompted_nor_a_prompt(tmp_path):
    engine = HumEngine()
    books.speak(write_book(tmp_path), engine)
    [styled] = [r for r in engine.requests if r.style == "whispering"]
    assert styled.prompt is None
    assert all(r.prompt is None or r.prompt.text != styled.text for r in engine.requests)


def contents(path):
    book = books.plan(path, HumEngine())
    return {s.key: book.store.find(s.key).content for s in book.steps}


@pytest.mark.parametrize("slots", quick([1, 2, 8], 1))
def test_the_number_of_slots_changes_no_take(slots, usual, tmp_path):
    path = write_book(tmp_path)
    books.speak(path, HumEngine(slots=slots))
    assert contents(path) == contents(usual)


def test_a_stopped_run_keeps_its_takes_and_renders_none_twice(tmp_path):
    path, first, second = books.brief(tmp_path), HumEngine(), HumEngine()
    report, watcher = books.run(path, first, Watcher(stop_after=4))
    assert report.result.cancelled
    assert report.finished is None
    stored_keys = {step.key for step, _ in watcher.takes}
    report, again = books.run(path, second)
    assert report.complete
    assert not stored_keys & {step.key for step, _ in again.takes}
    assert len(stored_keys) + len(again.takes) == len(report.plan.steps)


def test_the_engine_is_not_started_when_all_is_cached(tmp_path):
    path, engine = books.brief(tmp_path), HumEngine()
    books.speak(path, engine)
    books.speak(path, engine)
    assert len(engine.sessions) == 1


def test_every_session_is_closed_even_when_the_disk_is_full(tmp_path, monkeypatch):
    engine = HumEngine()

    def full(*args, **kwargs):
        raise StorageError("the disk is full")

    monkeypatch.setattr(Store, "put", full)
    with pytest.raises(StorageError):
        books.speak(books.brief(tmp_path), engine)
    assert all(session.closed for session in engine.sessions)
    assert threading.active_count() < 10


def test_force_renders_what_is_chosen_again(tmp_path):
    path, engine = write_book(tmp_path), HumEngine(continues=False)
    books.speak(path, engine)
    _, watcher = books.speak(path, engine, force=True, speakers=["ann"])
    assert {step.chunk.speaker for step, _ in watcher.takes} == {"ann"}
    assert len(watcher.takes) == 3


def changed(request):
    return Speech(hum(request).samples * 0.7, np.ones((2, 4, 3), np.float32))


@pytest.mark.parametrize(("fault", "is_child_renewed"), [(changed, True), (None, False)])
def test_a_renewed_parent_renews_its_child_if_it_sounds_otherwise(fault, is_child_renewed, copied):
    engine = HumEngine()
    child = next(step for step in books.plan(copied, engine).steps if step.parent)
    Store.open(copied.parent / "build" / "store", writing=True).remove([child.parent])
    engine.fault = fault or engine.fault
    _, watcher = books.speak(copied, engine)
    renewed = {step.key for step, _ in watcher.takes}
    assert child.parent in renewed
    assert (child.key in renewed) == is_child_renewed


def test_export_alone_refuses_to_pass_off_what_is_missing(tmp_path):
    with pytest.raises(errors.UsageError, match="chapters 1, 2 lack takes"):
        books.run(write_book(tmp_path), HumEngine(), speak=False)


M4B = books.MANIFEST.replace("[wav], files: chapters", "m4b")


@pytest.mark.parametrize(
    ("manifest", "chapter", "name"),
    [(books.MANIFEST, "evening", "02 - Evening.wav"), (M4B, "2", "02 - Evening.m4b")],
)
def test_a_chosen_chapter_alone_is_rendered_and_finished(manifest, chapter, name, tmp_path):
    report, watcher = books.run(books.brief(tmp_path, manifest), HumEngine(), chapters=[chapter])
    assert {step.chapter for step, _ in watcher.takes} == {1}
    assert [path.name for path in report.finished.files] == [name]


def test_a_chapter_of_a_complete_book_brings_the_whole_book_up_to_date(tmp_path):
    path = books.brief(tmp_path, M4B)
    books.run(path, HumEngine(continues=False))
    books.brief(tmp_path, M4B, two=books.BRIEF_TWO.replace("both banks", "one bank"))
    report, watcher = books.run(path, HumEngine(continues=False), chapters=["2"])
    assert len(watcher.takes) == 1
    assert [file.fresh for file in report.finished.exported.files] == [True]
    assert report.finished.files[0].name == "A. Author - The Ferry.m4b"


def test_one_speaker_alone_is_no_failure_and_no_chapter(tmp_path):
    report, watcher = books.run(books.brief(tmp_path), HumEngine(), speakers=["ann"])
    assert report.complete
    assert report.incomplete == (0, 1)
    assert report.finished is None
    assert {step.chunk.speaker for step, _ in watcher.takes} == {"ann"}


def test_a_halved_take_prompts_with_the_words_that_its_latents_speak(tmp_path):
    path = write_book(tmp_path)
    steps = {step.key: step for step in books.plan(path, HumEngine()).steps}
    child = next(s for s in steps.values() if s.parent and len(steps[s.parent].text) > 80)
    tries = []

    def fault(request):
        tries.append(request.key)
        again = request.key == child.parent and tries.count(child.parent) <= TRIES
        return crash(request) if again else None

    engine = HumEngine(fault=fault)
    books.speak(path, engine)
    last_half = [r for r in engine.requests if r.key == child.parent][-1]
    [request] = [r for r in engine.requests if r.key == child.key]
    assert request.prompt.text == last_half.text


def test_what_was_lost_on_the_way_is_not_complete(tmp_path):
    report, _ = books.speak(books.brief(tmp_path), HumEngine())
    assert report.complete
    report.accounting = replace(report.accounting, spoken=report.accounting.spoken - 1)
    assert not report.complete


# -- what an attack found --------------------------------------------------------------------------


def test_force_is_not_lost_where_a_take_proves_damaged(copied):
    path, engine = copied, HumEngine()
    child = next(s for s in books.plan(path, engine).steps if s.parent)
    torn = path.parent / "build" / "store" / child.parent[:2] / f"{child.parent}.take"
    real = Store.state
    remaining = [1]

    def rot(store, key):
        if key == child.parent and remaining:
            remaining.pop()
            stat = torn.stat()
            torn.write_bytes(bytes([torn.read_bytes()[0] ^ 1]) + torn.read_bytes()[1:])
            os.utime(torn, ns=(stat.st_atime_ns, stat.st_mtime_ns))
        return real(store, key)

    with mock.patch.object(Store, "state", rot):
        report, watcher = books.speak(path, engine, force=True)
    assert not remaining
    assert report.complete
    assert {step.key for step, _ in watcher.takes} == {s.key for s in report.plan.steps}


@pytest.mark.slow
def test_neither_order_nor_slots_decide_what_is_an_outlier(tmp_path):
    def soft(request):
        loud = 0.2 if "lamps" in request.text or "left at seven" in request.text else 1.0
        speech = hum(request)
        return Speech(speech.samples * np.float32(loud), speech.state)

    attempts = []
    for slots, chapters in ((1, ()), (3, ()), (8, ()), (3, ("2", "1"))):
        path = write_book(tmp_path / f"{slots}{len(chapters)}")
        engine = HumEngine(slots=slots, fault=lambda r: None if r.attempt else soft(r))
        for chapter in chapters or (None,):
            books.speak(path, engine, chapters=[chapter] if chapter else [])
        book = books.plan(path, engine)
        attempts.append([book.store.find(s.key).attempt for s in book.steps])
    assert attempts[0] == attempts[1] == attempts[2]
    assert sum(attempts[0]) == 2


def test_an_outlier_is_a_try_and_what_continued_it_is_spoken_anew(tmp_path):
    path = write_book(tmp_path)
    engine = HumEngine()
    child = next(s for s in books.plan(path, engine).steps if s.parent)

    def soft(request):
        if request.key != child.parent or request.attempt:
            return None
        speech = hum(request)
        return Speech(speech.samples * np.float32(0.1), speech.state * 2)

    engine.fault = soft
    report, _ = books.speak(path, engine)
    assert report.complete
    store = Store.open(path.parent / "build" / "store")
    assert store.find(child.parent).attempt == 1
    assert store.find(child.key).prompted_by == store.find(child.parent).content
    [number] = store.tries(child.parent)
    assert "level" in store.tries(child.parent)[number].faults[0]
    assert report.result.rendered == len({s.key for s in report.plan.steps})


# -- doubtful takes --------------------------------------------------------------------------------


def capped(request):
    return replace(hum(request), stop="cap")


def hopeless(request):
    """One chunk never passes, whole or in halves."""
    return capped(request) if "noon" in request.text or "forgot" in request.text else None


STRICT = books.MANIFEST + "checks: {strict: true}\n"


def test_a_doubtful_take_is_spoken_once_and_said_every_time(tmp_path):
    path = write_book(tmp_path)
    books.speak(path, HumEngine(fault=hopeless))
    engine = HumEngine(fault=hopeless)
    for speak in (True, False):
        report, _ = books.run(path, engine, speak=speak)
        assert not engine.requests
        assert not report.complete
        assert [step.text[:7] for step in report.doubtful] == ["By noon"]
        assert "WARNING doubtful" in report.log.read_text("utf-8")
        assert len(report.finished.files) == 2


def test_strict_holds_a_doubtful_chapter_back_and_nothing_is_spoken_for_the_change(tmp_path):
    path = write_book(tmp_path)
    books.speak(path, HumEngine(fault=hopeless))
    engine = HumEngine(fault=hopeless)
    for manifest, incomplete in ((STRICT, (0,)), (books.MANIFEST, ()), (STRICT, (0,))):
        path.write_text(manifest, encoding="utf-8")
        for speak in (True, False):
            report, _ = books.speak(path, engine, speak=speak)
            assert report.incomplete == incomplete
            assert len(report.doubtful) == 1
            assert not report.complete
            assert report.accounting.balanced
            assert bool(report.accounting.given_up) == bool(incomplete)
    assert not engine.requests


def test_a_doubtful_take_prompts_nobody_and_a_good_one_in_its_place_does(tmp_path):
    path = write_book(tmp_path)
    child = next(s for s in books.plan(path, HumEngine()).steps if s.parent)
    bad = HumEngine(fault=lambda r: capped(r) if r.key == child.parent else None)
    report, _ = books.speak(path, bad)
    assert [step.key for step in report.doubtful] == [child.parent]
    [attempts] = [r for r in bad.requests if r.key == child.key]
    assert attempts.prompt is None
    assert report.plan.store.find(child.key).prompted_by is None
    good = HumEngine()
    report, _ = books.speak(path, good, force=True)
    assert report.complete
    [attempts] = [r for r in good.requests if r.key == child.key]
    assert attempts.prompt is not None


def leaking(request):
    """The end of the take before, and the text."""
    speech = hum(request)
    silence, leak = np.zeros(RATE // 20, np.float32), request.prompt.samples()[-RATE // 2 :]
    return replace(speech, samples=np.concatenate([silence, leak, speech.samples]))


@pytest.mark.parametrize(("times", "doubtful_count"), [(1, 0), (10**6, 1)])
def test_a_take_that_begins_with_the_end_of_the_one_before_is_tried_again(
    times, doubtful_count, tmp_path
):
    path = write_book(tmp_path)
    child = next(s for s in books.plan(path, HumEngine()).steps if s.parent)
    engine = failing(leaking, times=times, start=child.text[:20])
    report, watcher = books.speak(path, engine)
    assert {text.partition(",")[0] for text in watcher.faults} == {
        "leak: begins with the end of the line before"
    }
    assert engine.spoken[child.text] == min(times + 1, TRIES)
    assert len(report.doubtful) == doubtful_count


@pytest.mark.parametrize(
    ("fault", "force"), [(crash, False), (hopeless, True)], ids=["given up", "doubtful, forced"]
)
def test_the_next_run_draws_other_noise(fault, force, tmp_path):
    path, engine = write_book(tmp_path), failing(fault)
    for _ in range(2):
        books.speak(path, engine, force=force)
    [text] = {s.text for s in books.plan(path, engine).steps if s.text.startswith(BAD)}
    attempts = [r.attempt for r in engine.requests if r.text == text]
    assert attempts == list(range(2 * TRIES))


def test_what_is_forced_and_fails_leaves_a_good_take_in_place(copied):
    report, watcher = books.speak(copied, HumEngine(fault=hopeless), force=True)
    assert [step.text[:7] for step in watcher.flags] == ["By noon"]
    assert report.doubtful == report.incomplete == ()
    assert not report.complete
    assert books.speak(copied, HumEngine())[0].complete


def test_where_no_whole_try_can_be_heard_the_least_bad_halves_are_delivered(tmp_path):
    def fault(request):
        half = len(request.text) < 120
        return (capped(request) if half else crash(request)) if hopeless(request) else None

    path = write_book(tmp_path)
    engine = HumEngine(fault=fault)
    report, _ = books.speak(path, engine)
    [step] = report.doubtful
    record = report.plan.store.find(step.key)
    assert (record.halves, record.text, len(record.faults)) == (2, step.text, 1)
    second = [r for r in engine.requests if r.key == step.key][-1]
    assert second.prompt is None  # nor does a bad half prompt the other
    assert abs(record.figures["ratio"] - 1) < 0.2  # of the whole, not of its last half


def soft(request):
    speech = hum(request)
    return Speech(speech.samples * np.float32(0.1), speech.state)


def test_an_outlier_that_cannot_be_bettered_is_delivered_as_doubtful(tmp_path):
    path = write_book(tmp_path)
    child = next(s for s in books.plan(path, HumEngine()).steps if s.parent)
    parent = next(s for s in books.plan(path, HumEngine()).steps if s.key == child.parent)
    engine = HumEngine(fault=lambda r: soft(r) if r.key == parent.key else None)
    report, _ = books.speak(path, engine)
    assert report.incomplete == ()
    assert [step.key for step in report.doubtful] == [parent.key]
    record = report.plan.store.find(parent.key)
    assert record.faults[0].startswith("level: ")
    assert report.plan.store.find(child.key).prompted_by is None
    again = HumEngine(fault=engine.fault)
    assert books.speak(path, again)[0].doubtful
    assert not again.requests


def test_a_halved_outlier_is_doubtful(tmp_path):
    def fault(request):
        if not request.text.startswith(BAD) and "forgot" not in request.text:
            return None
        return crash(request) if len(request.text) > 120 else soft(request)

    report, _ = books.speak(write_book(tmp_path), HumEngine(fault=fault))
    [step] = report.doubtful
    record = report.plan.store.find(step.key)
    assert record.halves == 2
    assert record.faults[0].startswith("level: ")


def doubted(folder, slots, watcher):
    """What is spoken, and how many of it are doubtful, where the first run may be interrupted."""
    path = write_book(folder)
    child = next(s for s in books.plan(path, HumEngine()).steps if s.parent)
    engine = HumEngine(slots=slots)
    engine.fault = lambda r: capped(r) if r.key == child.parent or hopeless(r) else None
    books.speak(path, engine, watcher)
    report, _ = books.speak(path, engine)
    takes = [report.plan.store.find(s.key) for s in report.plan.steps]
    return [(t.content, t.faults, t.prompted_by) for t in takes], len(report.doubtful)


@pytest.fixture(scope="module")
def straight(tmp_path_factory):
    return doubted(tmp_path_factory.mktemp("straight"), 3, Watcher())


@pytest.mark.slow
@pytest.mark.parametrize("stop", [1, 3, 6, 8])
def test_neither_slots_nor_interruption_change_what_is_doubtful(stop, straight, tmp_path):
    assert straight == doubted(tmp_path, 1 + stop % 4, Watcher(stop_after=stop))
    assert straight[1] == 2
