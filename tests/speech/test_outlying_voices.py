"""A take whose voice is not its speaker's usual one is tried again, however a render went."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from narrator.engines import Request, Speech
from narrator.errors import StorageError
from narrator.pipeline import retakes
from narrator.pipeline.retakes import RetakenChunk, RetakeSettings
from narrator.speech import scores
from narrator.speech.store import Record, Store
from tests import books, sounds
from tests.books import Watcher
from tests.fakes import RATE, HumEngine

TEXT = "\n\n".join(
    f"The {what} stood by the road to the old town for many years."
    for what in """mill church inn smithy barn school chapel bakery stable tower bridge well
        orchard garden""".split()
)
OTHER_VOICES = "bakery", "tower"


def voice(request: Request) -> Speech:
    """The voice of all takes, but for the first try at two sentences, which is higher."""
    is_other = request.attempt == 0 and any(word in request.text for word in OTHER_VOICES)
    return buzz(request, 180 if is_other else 120)


def buzz(request: Request, hertz: float) -> Speech:
    seed = sum(request.text.encode()) + request.attempt
    samples = sounds.buzz(request.expected, hertz, seed=seed, rate=RATE)
    return Speech(samples, np.ones((2, 4, 3), np.float32))


def takes_of(path: Path) -> list[tuple[str, int]]:
    """Contents of the takes in the order of the book, and their attempts."""
    book = books.plan(path, HumEngine())
    found = [book.store.find(step.key) for step in book.steps]
    return [(record.content, record.attempt) for record in found if record is not None]


def written(folder: Path, settings: str = "") -> Path:
    manifest = books.MANIFEST.replace(
        "chapters:", f"chain: {{mode: reference}}\n{settings}chapters:"
    )
    return books.brief(folder, manifest, one=TEXT, two="They left.\n")


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, int]]:
    path = written(tmp_path_factory.mktemp("straight"))
    report, _ = books.speak(path, HumEngine(voice=voice))
    assert not report.doubtful
    return takes_of(path)


def test_a_take_in_another_voice_is_tried_again_and_stays_as_a_try(tmp_path):
    path = written(tmp_path)
    report, _ = books.speak(path, HumEngine(voice=voice))
    assert report.complete
    again = {step.text.split()[1]: step.key for step in report.plan.steps}
    store = Store.open(path.parent / "build" / "store")
    retried = [word for word, key in again.items() if store.find(key).attempt]
    assert sorted(retried) == sorted(OTHER_VOICES)
    (number,) = store.tries(again["bakery"])
    (fault,) = store.tries(again["bakery"])[number].faults
    assert fault.startswith("voice: ")
    assert "semitones higher than this speaker usually is" in fault


def test_a_take_in_which_the_engine_hears_somebody_else_is_tried_again(tmp_path):
    """Who speaks is known by the engine's own encoder of speakers alone: all sound alike."""

    def voice(request: Request) -> Speech:
        draw = np.random.default_rng(sum(request.text.encode()) + request.attempt)
        speaker = np.eye(1, 64, dtype=np.float32)[0] + draw.normal(0, 0.03, 64)
        if request.attempt == 0 and "bakery" in request.text:
            speaker = speaker[::-1]
        return replace(buzz(request, 120), speaker=speaker.astype(np.float32))

    path = written(tmp_path)
    report, _ = books.speak(path, HumEngine(voice=voice))
    assert report.complete
    store = report.plan.store
    (retried,) = (step for step in report.plan.steps if store.find(step.key).attempt)
    assert "bakery" in retried.text
    [record] = store.tries(retried.key).values()
    assert record.faults == ("voice: sounds less like this speaker than usual",)


@pytest.mark.parametrize(("slots", "stop"), [(1, None), (8, None), (1, 5), (3, 9), (3, 15)])
def test_slots_and_interruptions_change_nothing(slots, stop, straight, tmp_path):
    path = written(tmp_path)
    if stop:
        books.speak(path, HumEngine(slots=slots, voice=voice), Watcher(stop_after=stop))
    books.speak(path, HumEngine(slots=slots, voice=voice))
    assert takes_of(path) == straight


def test_a_voice_that_never_comes_right_is_doubtful_and_says_why(tmp_path):
    path = written(tmp_path)
    stubborn = {
        step.key
        for step in books.plan(path, HumEngine()).steps
        if any(word in step.text for word in OTHER_VOICES)
    }
    engine = HumEngine(voice=lambda request: buzz(request, 180 if request.key in stubborn else 120))
    report, _ = books.speak(path, engine)
    assert {step.key for step in report.doubtful} == stubborn
    record = report.plan.store.find(report.doubtful[0].key)
    assert record is not None
    assert record.faults[0].startswith("voice: ")
    again = HumEngine(voice=voice)
    books.speak(path, again)
    assert not again.requests


def test_of_new_tries_the_one_in_the_usual_voice_is_pinned(tmp_path):
    path = written(tmp_path)
    books.speak(path, HumEngine(voice=voice))
    hertz_by_seed = {3: 141, 4: 121, 5: 133}
    retaken = retaken_with(path, lambda request: buzz(request, hertz_by_seed[request.seed]))
    chosen = dict(retaken.tries)[retaken.pinned]
    assert chosen.seed == 4
    farthest = max((record for _, record in retaken.tries), key=lambda r: scores.total(r.score))
    assert farthest.seed == 3


def test_a_take_that_is_meant_to_sound_otherwise_is_not_chosen_by_the_usual_voice(tmp_path):
    path = written(tmp_path)
    books.speak(path, HumEngine(voice=voice))
    retaken = retaken_with(
        path, lambda request: buzz(request, 141 if request.seed == 3 else 120), speed=0.9
    )
    assert dict(retaken.tries)[retaken.pinned].seed == 3
    assert not any("voice" in record.score for _, record in retaken.tries)


def retaken_with(
    path: Path, voice: Callable[[Request], Speech], *, speed: float = 1.0
) -> RetakenChunk:
    engine = HumEngine(voice=voice)
    (retaken,) = retakes.retake(
        books.read(path, engine),
        engine,
        ["1.4"],
        RetakeSettings(count=3, seed=3, speed=speed),
        sink=Watcher(),
        cancel=threading.Event(),
    )
    return retaken


# -- the best of several ---------------------------------------------------------------------------

BEST_OF = "checks: {best_of: 3}\n"


def varied(request: Request) -> Speech:
    """Tries in other voices: of three, the second and the third are alike."""
    return buzz(request, (150, 120, 121, 122, 123)[request.attempt % 5])


@pytest.fixture(scope="module")
def chosen(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, int]]:
    path = written(tmp_path_factory.mktemp("chosen"), BEST_OF)
    books.speak(path, HumEngine(voice=varied))
    return takes_of(path)


def test_the_try_that_is_like_the_others_becomes_the_take(chosen, tmp_path):
    assert {attempt for _, attempt in chosen} <= {1, 2}
    path = written(tmp_path, BEST_OF)
    engine = HumEngine(voice=varied)
    report, _ = books.speak(path, engine)
    assert len(engine.requests) == 3 * len(report.plan.steps)
    step = report.plan.steps[0]
    take, *others = [kept.record for kept in retakes.tries_of(report.plan, step)]
    assert [other.faults for other in others] == [(), ()]
    assert scores.total(take.score) < min(scores.total(other.score) for other in others)
    odd = next(other for other in others if other.attempt == 0)
    assert odd.score["voice"] > 2


@pytest.mark.parametrize(("slots", "stop"), [(1, None), (8, None), (1, 5), (3, 9)])
def test_slots_and_interruptions_change_no_choice(slots, stop, chosen, tmp_path):
    path = written(tmp_path, BEST_OF)
    if stop:
        books.speak(path, HumEngine(slots=slots, voice=varied), Watcher(stop_after=stop))
    books.speak(path, HumEngine(slots=slots, voice=varied))
    assert takes_of(path) == chosen


def misleading(request: Request) -> Speech:
    """Two of three tries at two sentences are in another voice; the third is the speaker's."""
    is_other = any(word in request.text for word in OTHER_VOICES) and request.attempt < 2
    return buzz(request, 180 + request.attempt if is_other else 120 + request.attempt)


def test_the_next_best_try_replaces_an_outlier(tmp_path):
    path = written(tmp_path, BEST_OF)
    engine = HumEngine(voice=misleading)
    report, _ = books.speak(path, engine)
    assert report.complete
    assert not report.doubtful
    other = [step for step in report.plan.steps if any(w in step.text for w in OTHER_VOICES)]
    assert [report.plan.store.find(step.key).attempt for step in other] == [2, 2]
    assert len(engine.requests) == 3 * len(report.plan.steps)  # nothing was asked again


def test_of_several_tries_one_that_sticks_out_gives_way_to_one_that_does_not(tmp_path):
    """Two of three tries at a sentence are 5 dB louder, which is no fault yet."""

    def loud(request: Request) -> Speech:
        speech = buzz(request, 120 + request.attempt)
        is_loud = any(word in request.text for word in OTHER_VOICES) and request.attempt < 2
        return replace(speech, samples=speech.samples * (10 ** (5 / 20) if is_loud else 1))

    path = written(tmp_path, BEST_OF)
    engine = HumEngine(voice=loud)
    report, _ = books.speak(path, engine)
    assert not report.doubtful
    assert len(engine.requests) == 3 * len(report.plan.steps)
    for step in report.plan.steps:
        if any(word in step.text for word in OTHER_VOICES):
            take, *others = [kept.record for kept in retakes.tries_of(report.plan, step)]
            assert take.attempt == 2
            first_fault = next(fault for other in others for fault in other.faults)
            assert "louder than this speaker usually is" in first_fault


def test_a_disk_that_fills_up_costs_no_try_that_would_replace_an_outlier(tmp_path, monkeypatch):
    path = written(tmp_path, BEST_OF)
    put_try = Store.put_try

    def fill_up(store: Store, record: Record, *sound: Any) -> tuple[int, Record]:
        if "bakery" in record.text:
            raise StorageError("no space left")
        return put_try(store, record, *sound)

    with monkeypatch.context() as patch:
        patch.setattr(Store, "put_try", fill_up)
        with pytest.raises(StorageError):
            books.speak(path, HumEngine(voice=misleading, slots=1))
    report, _ = books.speak(path, HumEngine(voice=misleading))
    (bakery,) = (step for step in report.plan.steps if "bakery" in step.text)
    take = report.plan.store.find(bakery.key)
    assert take is not None
    assert (take.attempt, take.faults) == (2, ())
    tries = report.plan.store.tries(bakery.key).values()
    assert sorted(one.attempt for one in tries) == [0, 1, 2]
