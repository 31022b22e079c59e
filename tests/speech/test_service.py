"""Many who ask one session: in order each, in turns all."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from narrator.engines import Request, Speech
from narrator.engines.voice import Voice
from narrator.errors import EngineFailure, EngineUnavailable, NarratorError
from narrator.sound.audio import Samples
from narrator.speech import plan
from narrator.speech.plan import ChainRules, EngineParameters, Step
from narrator.speech.service import MAX_CHUNKS_AHEAD, QueueFull, SpeechJob, SpeechService
from narrator.text.lines import Chapter, Line, Scene
from narrator.text.normalize import Lexicon
from tests.fakes import RATE, HumEngine, hum
from tests.owners import GatedEngine

SOON = 20.0
LENGTHS = "This line of the text says number {} in words of some length, and then it goes on."


@dataclass
class Listener:
    """Hears a text, and takes each chunk as it comes unless it is slow."""

    slow: bool = False
    takes: list[Samples] = field(default_factory=list)
    faults: list[Sequence[str]] = field(default_factory=list)
    error: NarratorError | None = None
    done: threading.Event = field(default_factory=threading.Event)
    job: SpeechJob | None = None

    def spoken(self, samples: Samples, faults: Sequence[str]) -> None:
        self.takes.append(samples)
        self.faults.append(faults)
        if self.job and not self.slow:
            self.job.mark_consumed()

    def ended(self, error: NarratorError | None) -> None:
        self.error = error
        self.done.set()


def steps(engine: Any, count: int, name: str = "ann") -> tuple[Step, ...]:
    """A text of so many chunks."""
    lines = (Line(name, f"{name} {LENGTHS.format(n)} " * 2, Path(), n, "en") for n in range(count))
    utterances, _ = plan.make_utterances(
        [Chapter("", "en", (Scene(tuple(lines)),), ())], lexicon=Lexicon()
    )
    assert len(utterances) == count
    return plan.link_steps(
        utterances,
        cast={name: Voice(name)},
        engines={name: engine},
        rules=lambda chapter, speaker: ChainRules(),
        parameters=lambda chapter, speaker: EngineParameters({}, 0),
        pins={},
    )


@contextmanager
def started(engine: Any, max_texts: int = 128) -> Iterator[SpeechService]:
    service = SpeechService(engine, max_texts)
    service.start()
    with closing(service):
        yield service


def say(
    service: SpeechService, text: Sequence[Step], client: str = "me", **options: Any
) -> Listener:
    listener = Listener(**options)
    with service.changed:  # nothing is told before it knows its job
        listener.job = service.say(client, text, None, listener)
    return listener


def test_takes_come_in_order_whatever_order_they_are_made_in() -> None:
    engine = HumEngine(continues=False, next_index=-1)
    text = steps(engine, 6)
    with started(engine) as service:
        listener = say(service, text)
        assert listener.done.wait(SOON)
    lengths = [round(len(take) / RATE, 1) for take in listener.takes]
    assert lengths == [pytest.approx(step.expected, abs=0.2) for step in text]
    assert listener.error is None


def test_a_chunk_goes_on_from_the_take_before() -> None:
    engine = HumEngine(max_context_seconds=60.0)
    with started(engine) as service:
        text = steps(engine, 3)
        assert say(service, text).done.wait(SOON)
    prompts = [request.prompt and request.prompt.text for request in engine.requests]
    chained = [None if step.parent is None else text[n - 1].text for n, step in enumerate(text)]
    assert prompts == chained
    assert any(chained)


def test_clients_take_turns_and_so_do_the_texts_of_one() -> None:
    engine = GatedEngine(slots=1, continues=False)
    with started(engine) as service:
        first = say(service, steps(engine, 1, "first"), "a")
        while not engine.requests:
            engine.gate.wait(0.005)
        others = [say(service, steps(engine, 3, name), "a") for name in ("one", "two")]
        others.append(say(service, steps(engine, 3, "guest"), "b"))
        engine.gate.set()
        assert all(listener.done.wait(SOON) for listener in (first, *others))
    order = [request.voice.speaker for request in engine.requests]
    assert order[:7] == ["first", "guest", "one", "guest", "two", "guest", "one"]


def test_no_more_is_spoken_than_who_hears_it_takes() -> None:
    engine = HumEngine(continues=False)
    with started(engine) as service:
        slow = say(service, steps(engine, MAX_CHUNKS_AHEAD + 3), slow=True)
        assert say(service, steps(engine, MAX_CHUNKS_AHEAD + 3), "other").done.wait(SOON)
        mine = [request for request in engine.requests if request.key.startswith("served")]
        assert len(mine) == MAX_CHUNKS_AHEAD + MAX_CHUNKS_AHEAD + 3
        assert slow.job is not None
        for _ in range(3):
            slow.job.mark_consumed()
        assert slow.done.wait(SOON)


def test_a_chunk_that_fails_is_spoken_in_two_halves_that_are_joined() -> None:
    engine = HumEngine()
    text = steps(engine, 1)[0].text

    def fault(request: Request) -> EngineFailure | None:
        return EngineFailure("too long") if request.text == text else None

    engine.fault = fault
    with started(engine) as service:
        listener = say(service, steps(engine, 1))
        assert listener.done.wait(SOON)
    assert [request.attempt for request in engine.requests] == [0, 1, 2, 0, 0]
    assert (listener.error, listener.faults) == (None, [()])


def test_the_least_bad_try_is_told_with_its_faults() -> None:
    def fault(request: Request) -> Speech | None:
        return Speech(hum(request).samples, stop="cap")

    engine = HumEngine(fault=fault)
    with started(engine) as service:
        listener = say(service, steps(engine, 2))
        assert listener.done.wait(SOON)
    assert listener.error is None
    assert len(listener.takes) == 2
    assert all(listener.faults)
    assert {request.prompt for request in engine.requests if request.key == "served 2"} == {None}


def test_what_nobody_could_hear_is_no_take() -> None:
    silent = HumEngine(fault=lambda request: Speech(np.zeros(RATE, np.float32)))
    with started(silent) as service:
        listener = say(service, steps(silent, 1))
        assert listener.done.wait(SOON)
        assert listener.takes == []
        assert isinstance(listener.error, EngineFailure)
        assert service.count == 0


def test_a_chunk_that_cannot_be_spoken_is_told_after_those_before_it() -> None:
    def fault(request: Request) -> EngineFailure | None:
        return EngineFailure("hoarse") if "number one " in request.text else None

    engine = HumEngine(slots=1, continues=False, fault=fault)
    with started(engine) as service:
        listener = say(service, steps(engine, 3))
        assert listener.done.wait(SOON)
        assert len(listener.takes) == 1
        assert "hoarse" in str(listener.error)


def test_more_texts_than_places_are_refused() -> None:
    engine = GatedEngine()
    with started(engine, max_texts=2) as service:
        text = steps(engine, 1)
        first, _ = say(service, text), say(service, text)
        with pytest.raises(QueueFull) as full:
            say(service, text)
        assert 1 <= full.value.retry_seconds <= 60
        assert first.job is not None
        first.job.leave()
        assert say(service, text).job is not None


def test_who_left_is_told_nothing_and_the_rest_is_not_spoken() -> None:
    engine = GatedEngine(slots=1)
    with started(engine) as service:
        departed = say(service, steps(engine, 5))
        while not engine.requests:
            engine.gate.wait(0.005)
        assert departed.job is not None
        departed.job.leave()
        departed.job.leave()
        engine.gate.set()
        assert say(service, steps(engine, 1)).done.wait(SOON)
    assert len(engine.requests) == 2
    assert not departed.takes
    assert not departed.done.is_set()


def test_an_engine_that_fails_is_said_and_begun_anew() -> None:
    engine = HumEngine(errors=[EngineUnavailable("the card has gone")])
    with started(engine) as service:
        first = say(service, steps(engine, 1))
        assert first.done.wait(SOON)
        assert str(first.error) == "the card has gone"
        assert say(service, steps(engine, 1)).done.wait(SOON)
        assert service.state == "ok"


def test_an_engine_that_does_not_start_is_said() -> None:
    service = SpeechService(HumEngine(start_errors=[EngineUnavailable("no model is here")]))
    with pytest.raises(EngineUnavailable, match="no model"):
        service.start()
    with pytest.raises(EngineUnavailable, match="no model"):
        say(service, steps(HumEngine(), 1))
    service.close()


def test_who_still_hears_something_is_told_when_it_closes() -> None:
    engine = GatedEngine()
    with started(engine) as service:
        listener = say(service, steps(engine, 1))
    assert listener.done.is_set()
    assert isinstance(listener.error, EngineUnavailable)
    with pytest.raises(EngineUnavailable):
        say(service, steps(engine, 1))


def test_requests_of_one_text_by_several_are_told_apart() -> None:
    engine = HumEngine()
    with started(engine) as service:
        text = steps(engine, 1)
        listeners = [say(service, text), say(service, text, "other")]
        assert all(listener.done.wait(SOON) for listener in listeners)
    assert len({request.key for request in engine.requests}) == 2
