"""Requests to machines that come, go, fall silent, and are not what they should be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from narrator.engines import Outcome, Prompt, RemainingWork, Request, Speech
from narrator.engines.cluster import codec
from narrator.engines.cluster.session import MAX_FAULTS, ClusterPatience, ClusterSession
from narrator.errors import EngineFailure, EngineUnavailable
from tests.clusters import FakeCluster, FakeMachine, reference, request
from tests.fakes import HumEngine, hum

DAMAGED = b"0" * 64 + b"not what was sent"


@dataclass
class Client:
    """A session over machines that are none, and all that came of it."""

    cluster: FakeCluster
    patience: ClusterPatience = field(default_factory=ClusterPatience)
    told: list[str] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.session = ClusterSession(
            HumEngine(), {"name": "hum"}, self.cluster, self.told.append, self.patience,
            self.cluster.clock,
        )  # fmt: skip

    def add(self, *requests: Request) -> None:
        for one in requests:
            self.session.add(one)

    def until(self, done: Callable[[], object]) -> None:
        for _ in range(3000):
            if done():
                return
            self.outcomes += self.session.advance()
        raise AssertionError(f"waited in vain; told: {self.told}")

    def said(self, *requests: Request) -> Sequence[Outcome]:
        """What comes of them, once all have come."""
        self.add(*requests)
        count = len(self.outcomes) + len(requests)
        self.until(lambda: len(self.outcomes) >= count)
        return self.outcomes[-len(requests) :]

    def rest(self, seconds: float) -> None:
        end = self.cluster.clock() + seconds
        self.until(lambda: self.cluster.clock() >= end)

    @property
    def again(self) -> int:
        return self.session.resent_count

    def count(self, word: str) -> int:
        return sum(word in one for one in self.told)


def of(*machines: FakeMachine, **patience: Any) -> Client:
    return Client(FakeCluster(*machines), ClusterPatience(**patience))


def several(count: int = 4, **more: Any) -> list[Request]:
    return [request(str(n), f"This is line {n}.", **more) for n in range(count)]


def keys_of(outcomes: Sequence[Outcome]) -> set[str]:
    return {one.key for one in outcomes if one.speech is not None}


# -- takes -----------------------------------------------------------------------------------------


def test_takes_come_as_outcomes_with_the_callers_key_and_attempt():
    client = of(FakeMachine("mini"), FakeMachine("studio"))
    asked = [*several(), request("0", "This is line 0.", attempt=1)]
    outcomes = client.said(*asked)
    assert {(one.key, one.attempt) for one in outcomes} == {(a.key, a.attempt) for a in asked}
    for one in asked:
        (found,) = (o for o in outcomes if (o.key, o.attempt) == (one.key, one.attempt))
        assert found.speech is not None
        np.testing.assert_allclose(found.speech.samples, hum(one).samples, atol=2.0**-23)
        assert np.array_equal(found.speech.state, hum(one).state)


def test_a_failure_of_the_engine_comes_back_as_one():
    def fault(asked: Request) -> EngineFailure:
        return EngineFailure("it lost its voice")

    mini = FakeMachine("mini", HumEngine(fault=fault))
    (outcome,) = of(mini).said(request())
    assert outcome.speech is None
    assert str(outcome.failure) == "it lost its voice"
    assert len(mini.texts) == 1


def test_what_somebody_waits_for_goes_first():
    mini = FakeMachine("mini", slots=1, works=False)
    client = of(mini)
    client.add(*several(6, ahead=RemainingWork(100.0, 1000.0)), request("now", "At once."))
    client.until(lambda: mini.texts)
    assert mini.texts[0] == "At once."


def test_of_the_rest_the_longest_chain_goes_first():
    mini = FakeMachine("mini", slots=1, works=False)
    client = of(mini)
    client.add(
        *(request(str(n), f"{n}", ahead=RemainingWork(float(n), 500.0)) for n in (3, 90, 20))
    )
    client.until(lambda: mini.texts)
    assert mini.texts[0] == "90"


def test_who_leaves_drops_what_is_out():
    mini = FakeMachine("mini", works=False)
    client = of(mini)
    client.add(*several())
    client.until(lambda: mini.texts)
    client.session.close()
    assert not mini.waiting
    assert client.cluster.closed


# -- who may speak ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("machine", "why"),
    [
        (FakeMachine("mini", version="0.1"), "it has narrator 0.1, here is"),
        (FakeMachine("mini", HumEngine(version=2)), "it would speak otherwise (version 2, here 1)"),
        (FakeMachine("mini", HumEngine(sample_rate=16_000)), "it speaks at 16000 Hz"),
        (FakeMachine("mini", refuses="no room for the model"), "no room for the model"),
    ],
)
def test_a_machine_that_cannot_speak_as_planned_is_refused_in_words_once(machine, why):
    client = of(machine, FakeMachine("studio"), retry_refused=10.0)
    client.said(*several())
    client.rest(60)
    assert not machine.texts
    assert len(machine.tasks("meet")) > 3
    assert client.count("mini is refused") == 1
    assert client.count(why) == 1


def test_a_machine_of_another_precision_than_most_is_refused():
    few, more = FakeMachine("mini", precision="float32"), FakeMachine("one", precision="bfloat16")
    client = of(few, more, FakeMachine("two", precision="bfloat16"))
    client.said(*several())
    assert client.count("mini is refused: it computes in float32, the others in bfloat16") == 1
    assert not few.texts


def test_of_two_precisions_the_one_that_wants_a_gpu_is_taken():
    plain, quick = FakeMachine("a", precision="float32"), FakeMachine("b", precision="float16")
    client = of(plain, quick)
    client.said(*several())
    assert quick.texts
    assert not plain.texts


def test_a_machine_that_was_refused_may_speak_when_it_has_been_mended():
    mini = FakeMachine("mini", refuses="no room for the model")
    client = of(mini)
    client.add(*several())
    client.until(lambda: client.count("is refused"))
    mini.refuses = ""
    client.until(lambda: len(client.outcomes) == 4)


def test_machines_without_the_engine_are_not_asked():
    other = FakeMachine("other", engines=frozenset({"draft"}))
    client = of(other, FakeMachine("mini"))
    client.said(*several())
    assert not other.asked


# -- machines go, and fall silent ------------------------------------------------------------------


def test_what_a_machine_had_that_goes_is_sent_again_and_counted():
    mini, studio = FakeMachine("mini", works=False), FakeMachine("studio")
    client = of(mini)
    client.add(*several(2))
    client.until(lambda: len(mini.waiting) == 2)
    client.cluster.go(mini)
    client.cluster.come(studio)
    client.until(lambda: len(client.outcomes) == 2)
    assert keys_of(client.outcomes) == {"0", "1"}
    assert (client.again, client.session.duplicate_count) == (2, 0)
    assert client.count("mini has gone") == 1
    assert ", 2 sent again: " in client.session.note


def silent_with(count: int, **more: Any) -> tuple[Client, FakeMachine, FakeMachine]:
    """A machine that fell silent with so many requests, and one that speaks them."""
    mini, studio = FakeMachine("mini", works=False, **more), FakeMachine("studio")
    client = of(mini, silence=20.0)
    client.add(*several(count))
    client.until(lambda: len(mini.waiting) == count)
    client.cluster.come(studio)
    return client, mini, studio


def test_others_speak_what_a_silent_machine_has():
    client, mini, studio = silent_with(2)
    mini.beats = False
    client.until(lambda: len(client.outcomes) == 2)
    assert client.count("mini has said nothing for 2") == 1
    assert sorted(studio.texts) == ["This is line 0.", "This is line 1."]
    assert client.again == 2


def test_of_two_takes_the_first_is_taken_and_the_second_is_counted():
    client, mini, _ = silent_with(2)
    mini.silent = 30.0
    client.until(lambda: len(client.outcomes) == 2)
    client.cluster.work(mini)
    client.rest(2)
    assert len(client.outcomes) == 2
    assert client.session.duplicate_count == 2


def test_a_silent_machine_may_be_first_all_the_same():
    client, mini, studio = silent_with(2)
    studio.works = False
    mini.silent = 30.0
    client.until(lambda: len(studio.waiting) == 2)
    client.cluster.work(mini)
    client.until(lambda: len(client.outcomes) == 2)
    client.cluster.work(studio)
    client.rest(2)
    assert client.session.duplicate_count == 2


def test_a_take_that_came_second_leaves_no_slot_taken():
    client, mini, studio = silent_with(2)
    studio.works, studio.slots = False, 2
    mini.silent = 30.0
    client.until(lambda: len(studio.waiting) == 2)
    client.cluster.work(mini)
    client.cluster.work(studio)
    client.rest(2)
    client.cluster.go(mini)
    studio.works = True
    client.said(*several(2))


def test_a_machine_that_comes_back_speaks_again():
    client, mini, studio = silent_with(2)
    mini.beats = False
    client.until(lambda: client.count("mini has said nothing"))
    mini.beats = mini.works = True
    client.until(lambda: client.count("mini is back"))
    client.cluster.go(studio)
    before = len(mini.texts)
    client.said(*several(2))
    assert len(mini.texts) > before


def test_a_request_at_which_many_machines_die_fails():
    client = of(max_deaths=3)
    client.add(request())
    for n in range(3):
        mini = FakeMachine(f"mini{n}", works=False)
        client.cluster.come(mini)
        client.until(lambda mini=mini: mini.waiting)
        client.cluster.go(mini)
    client.until(lambda: client.outcomes)
    (outcome,) = client.outcomes
    assert str(outcome.failure) == "3 machines went while they spoke it"
    assert client.again == 2


# -- the scheduler goes ----------------------------------------------------------------------------


def test_a_scheduler_that_goes_and_comes_back_costs_no_take():
    mini = FakeMachine("mini", works=False)
    client = of(mini)
    client.add(*several(2))
    client.until(lambda: len(mini.waiting) == 2)
    client.cluster.leave()
    client.rest(30)
    assert "does not answer" in client.session.note
    assert client.count("scheduler does not answer") == 1
    mini.works, client.cluster.away = True, False
    client.until(lambda: len(client.outcomes) == 2)
    assert client.again == 2


def test_no_machine_is_to_blame_for_a_scheduler_that_goes():
    """The answers that are lost with it may come before anybody looks."""
    mini = FakeMachine("mini", slots=4, works=False)
    client = of(mini)
    client.add(*several(4))
    client.until(lambda: len(mini.waiting) == 4)
    send = client.cluster.send

    def leaves(*arguments: Any, **options: Any) -> Any:
        sent = send(*arguments, **options)
        client.cluster.leave()
        return sent

    client.cluster.send = leaves  # as the next request goes out, and not at a look
    client.add(request("5"))
    mini.slots = 8
    client.rest(5)
    assert not client.count("refused")
    assert client.count("scheduler does not answer") == 1


@pytest.mark.parametrize(
    ("machines", "away", "why"),
    [
        ([FakeMachine("mini", HumEngine(version=2))], False, "mini: it would speak otherwise"),
        ([], False, "start `narrator worker` on one that has the engine hum"),
        ([FakeMachine("mini")], True, "the scheduler does not answer"),
    ],
)
def test_nobody_for_long_ends_it_with_the_reason(machines, away, why):
    client = of(*machines, no_machine=120.0)
    client.cluster.away = away
    client.add(request())
    with pytest.raises(EngineUnavailable) as caught:
        client.rest(600)
    assert "has spoken for 120 s" in str(caught.value)
    assert why in str(caught.value)
    assert client.cluster.clock() < 1000 + 125


# -- faults ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", [DAMAGED, b"", "OSError: disk full"])
def test_an_answer_that_is_none_is_asked_for_again(answer):
    mini = FakeMachine("mini", answers=[answer])
    client = of(mini)
    client.said(request())
    assert len(mini.texts) == 2
    assert client.again == 1


def test_faults_that_are_not_in_a_row_are_no_reason_to_refuse():
    mini = FakeMachine("mini", slots=1)
    client = of(mini)
    for one in several(2 * MAX_FAULTS):
        mini.answers = [DAMAGED]
        client.said(one)
    assert not client.count("refused")


def test_faults_in_a_row_refuse_a_machine_that_is_asked_again_later():
    mini, studio = FakeMachine("mini", slots=1, answers=[DAMAGED] * MAX_FAULTS), FakeMachine("b")
    client = of(mini)
    client.add(request())
    client.until(lambda: client.count("mini is refused: what it is asked fails"))
    client.cluster.come(studio)
    client.until(lambda: client.outcomes)
    assert len(mini.texts) == MAX_FAULTS
    client.cluster.go(studio)
    client.said(*several(2))
    assert len(mini.texts) == MAX_FAULTS + 2


def test_what_a_machine_refuses_while_it_speaks_others_speak():
    mini = FakeMachine("mini", answers=[codec.pack_parcel({"refused": "its GPU is gone"})])
    client = of(mini)
    client.add(request())
    client.until(lambda: client.count("mini is refused: its GPU is gone"))
    client.cluster.come(FakeMachine("studio"))
    client.until(lambda: client.outcomes)
    assert keys_of(client.outcomes) == {"1"}


# -- references and prompts ------------------------------------------------------------------------


def test_a_reference_is_sent_once_to_each_machine():
    machines = [FakeMachine("mini"), FakeMachine("studio")]
    client = of(*machines)
    client.until(lambda: client.count("speaks") == 2)
    client.said(*several(12, reference=reference(), mode="reference"))
    assert [len(one.tasks("hold")) for one in machines] == [1, 1]
    assert all(one.texts for one in machines)


def test_a_reference_that_a_machine_no_longer_has_is_sent_again():
    mini = FakeMachine("mini", slots=1)
    client = of(mini)
    client.said(request("1", reference=reference()))
    mini.held.clear()
    client.said(request("2", reference=reference()))
    assert len(mini.tasks("hold")) == 2


def test_a_reference_that_did_not_get_there_is_sent_again():
    mini = FakeMachine("mini", slots=1, torn=1)
    client = of(mini)
    client.said(request(reference=reference()))
    assert len(mini.tasks("hold")) == 2


def take(client: Client, **more: Any) -> Speech:
    (outcome,) = client.said(request("first", **more))
    assert outcome.speech is not None
    return outcome.speech


def after(speech: Speech, key: str = "second", length: int = 1) -> Request:
    state = speech.state
    assert state is not None
    return request(key, prompt=Prompt("Before that.", lambda: speech.samples, state[:length]))


def test_what_a_machine_goes_on_from_stays_where_it_was_made():
    mini = FakeMachine("mini")
    client = of(mini)
    asked = after(take(client))
    (outcome,) = client.said(asked)
    assert mini.states == [False, False]
    assert outcome.speech is not None
    assert np.array_equal(outcome.speech.state, hum(asked).state)


def test_what_another_machine_goes_on_from_travels():
    mini, studio = FakeMachine("mini"), FakeMachine("studio")
    client = of(mini)
    speech = take(client)
    client.cluster.come(studio)
    client.cluster.go(mini)
    client.said(after(speech))
    assert studio.states == [True]


def test_what_a_machine_no_longer_has_travels_to_it():
    mini = FakeMachine("mini")
    client = of(mini)
    speech = take(client)
    mini.made.clear()
    (outcome,) = client.said(after(speech))
    assert mini.states == [False, False, True]
    assert outcome.speech is not None
    assert client.again == 0


# -- how it goes -----------------------------------------------------------------------------------


def test_as_many_requests_wait_here_as_there_are_slots():
    client = of(FakeMachine("mini", slots=3), FakeMachine("studio", slots=5))
    assert (client.session.slots, client.session.spare) == (0, 2)
    client.until(lambda: client.count("speaks") == 2)
    assert (client.session.slots, client.session.spare) == (8, 8)


def test_slots_that_a_machine_finds_out_later_count():
    mini = FakeMachine("mini", slots=1)
    client = of(mini)
    client.said(request())
    mini.slots = 7
    client.rest(1)
    assert client.session.slots == 7


def test_the_note_says_who_speaks():
    client = of()
    client.rest(1)
    assert client.session.note == "no machine speaks: `narrator worker` on one that has hum"
    client.cluster.come(FakeMachine("mini"))
    client.said(request())
    assert client.session.note == "1 machine, 2 slots: mini 1.7 x"
    for n in range(5):
        client.cluster.come(FakeMachine(f"n{n}", slots=1))
    client.until(lambda: client.count("speaks") == 6)
    assert client.session.note.startswith("6 machines, 7 slots: mini")
    assert client.session.note.endswith(" and 2 more")


def test_that_nobody_speaks_is_said_once_with_what_to_do():
    client = of(FakeMachine("mini", refuses="its model is not there"))
    client.add(request())
    client.rest(30)
    wanted = "waiting for 10 minutes at most: no machine speaks, 1 refused: `narrator worker`"
    assert client.count(wanted) == 1
    client.cluster.come(FakeMachine("studio"))
    client.until(lambda: client.outcomes)


def test_machines_of_one_name_can_be_told_apart():
    client = of(FakeMachine("mini"))
    client.cluster.there["tcp://other"] = FakeMachine("mini")
    client.until(lambda: client.count("speaks") == 2)
    assert client.count("mini speaks") == 1
    assert client.count("mini (other) speaks") == 1


def test_busy_is_the_share_of_slots_in_which_speech_is_made():
    mini = FakeMachine("mini", works=False)
    client = of(mini)
    client.until(lambda: client.count("speaks"))
    assert client.session.busy == 0
    client.add(request())
    client.rest(20)
    assert client.session.busy == pytest.approx(0.5, abs=0.05)


def test_time_with_nothing_to_do_is_no_share_of_it():
    mini = FakeMachine("mini", works=False)
    client = of(mini)
    for key in "12":
        client.add(request(key))
    client.rest(20)
    before = client.session.busy
    client.cluster.work(mini)
    client.rest(1)
    client.cluster.clock.time += 1000
    client.add(request("3"))
    client.session.advance()
    assert client.session.busy == pytest.approx(before, abs=0.1)
