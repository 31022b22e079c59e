"""An engine that a cluster speaks with, and what its machines are asked outside of a session."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from narrator.engines.cluster import codec, discovery, worker_tasks
from narrator.engines.cluster.credentials import ClusterPlace
from narrator.engines.cluster.engine import ClusterEngine
from narrator.engines.voice import Voice
from narrator.errors import EngineUnavailable
from tests.clusters import FakeCluster, FakeMachine, reference
from tests.fakes import HumEngine

PLACE = ClusterPlace("127.0.0.1", 9000)
SETTINGS = {"name": "hum"}


class Encoding(FakeMachine):
    """Encodes what it was given."""

    refusal = ""

    def encode(self, facts: dict[str, Any]) -> bytes:
        if self.refusal:
            return codec.pack_parcel({"refused": self.refusal})
        (clip,) = self.held.values()
        return codec.pack_parcel({"names": ["encoder"]}, {"latents0": clip.samples[:3]})


Made = Callable[..., FakeCluster]


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Made:
    """One that whoever looks for a cluster finds."""

    def made(*machines: FakeMachine) -> FakeCluster:
        found = FakeCluster(*machines)

        def reached(place: ClusterPlace, tell: Callable[[str], None]) -> FakeCluster:
            assert place == PLACE
            return found

        monkeypatch.setattr(discovery, "DaskCluster", reached)
        monkeypatch.setattr(discovery, "ANSWER_TIMEOUT", 0.05)
        monkeypatch.setattr(discovery, "ENCODE_TIMEOUT", 0.05)
        return found

    return made


def carried(engine: HumEngine | None = None) -> ClusterEngine:
    return ClusterEngine(engine or HumEngine(), SETTINGS, PLACE)


# -- what the plan asks ----------------------------------------------------------------------------


def test_a_plan_hears_what_the_engine_itself_would_say():
    engine = HumEngine(clones=True, lacks=["de"], casting_parameters={"steps": 4}, version=3)
    made, voice = carried(engine), Voice("ann", description="A girl", seed=3)
    for name in (
        *(
            "name",
            "sample_rate",
            "continues",
            "clones",
            "anchors",
            "has_speed",
            "max_context_seconds",
        ),
        *("sound_parameters", "casting_parameters"),
    ):
        assert getattr(made, name) == getattr(engine, name)
    assert made.identity() == engine.identity()
    assert made.identity_record() == engine.identity_record()
    assert made.voice_content(voice, "en") == engine.voice_content(voice, "en")
    assert made.needs_reference(voice)
    assert (made.speaks("en"), made.speaks("de")) == (True, False)
    assert made.problems({}, ["de"]) == engine.problems({}, ["de"])


def test_it_takes_nothing_of_this_machine():
    made = carried(HumEngine(size=1 << 40))
    assert made.required_memory() == 0
    assert made.precision() == ""
    made.release()


# -- who is there ----------------------------------------------------------------------------------


def test_machines_are_seen_and_left(cluster):
    found = cluster(FakeMachine("mini"), FakeMachine("studio"))
    assert {one.name for one in discovery.list_machines(PLACE).values()} == {"mini", "studio"}
    assert found.closed


def test_a_scheduler_that_is_away_shows_nobody(cluster):
    cluster(FakeMachine("mini")).away = True
    assert discovery.list_machines(PLACE) == {}


class Remembering(FakeMachine):
    weights = ""

    def meet(self, facts: dict[str, Any]) -> bytes:
        return codec.pack_parcel({"memory": {"weights": self.weights}})


def remembering(name: str, weights: str, **more: Any) -> Remembering:
    made = Remembering(name, **more)
    made.weights = weights
    return made


def test_of_an_engine_that_is_not_here_most_machines_are_believed(cluster):
    found = cluster(
        remembering("a", "one"), remembering("b", "two"), remembering("c", "two"),
        remembering("d", "one", engines=frozenset({"draft"})),
    )  # fmt: skip
    assert discovery.find_identity_record(PLACE, SETTINGS) == {"weights": "two"}
    assert found.closed


def test_where_nobody_has_an_engine_nothing_is_remembered(cluster):
    cluster(FakeMachine("mini", engines=frozenset({"draft"})), FakeMachine("old", version="0.1"))
    assert discovery.find_identity_record(PLACE, SETTINGS) == {}


# -- a clip ----------------------------------------------------------------------------------------


def test_a_clip_is_encoded_by_a_machine_that_speaks_as_planned(cluster):
    other, mini = Encoding("other", HumEngine(version=2)), Encoding("mini")
    found, clip = cluster(other, mini), reference()
    encoded = carried().encode_reference(clip)
    assert list(encoded) == ["encoder"]
    assert np.array_equal(encoded["encoder"], clip.samples[:3])
    assert not other.held
    assert found.closed


@pytest.mark.parametrize(
    ("machines", "why"),
    [
        ([], "no machine of tcp://127.0.0.1:9000 has this model"),
        ([Encoding("mini", HumEngine(version=2))], "no machine of tcp://127.0.0.1:9000 has this"),
        ([Encoding("mini", version="0.1")], "no machine of tcp://127.0.0.1:9000 has this model"),
    ],
)
def test_without_such_a_machine_no_clip_is_encoded(machines, why, cluster):
    found = cluster(*machines)
    with pytest.raises(EngineUnavailable, match=why):
        carried().encode_reference(reference())
    assert found.closed


def test_a_clip_that_a_machine_refuses_is_said_with_its_reason(cluster):
    mini = Encoding("mini")
    mini.refusal = "the clip is too short"
    cluster(mini)
    with pytest.raises(EngineUnavailable, match=r"not encoded at .*: the clip is too short"):
        carried().encode_reference(reference())


def test_a_machine_that_never_answers_is_not_waited_for_for_ever(cluster, monkeypatch):
    found = cluster(Encoding("mini"))
    send = found.send

    def swallowed(address: str, task: Callable[..., Any], *given: Any, **options: Any) -> Any:
        sent = send(address, task, *given, **options)
        if task is worker_tasks.encode:
            found.arrivals._there.clear()
        return sent

    monkeypatch.setattr(found, "send", swallowed)
    with pytest.raises(EngineUnavailable, match="it gave no answer"):
        carried().encode_reference(reference())


def test_an_answer_that_came_altered_is_none(cluster):
    class Torn(Encoding):
        def encode(self, facts: dict[str, Any]) -> bytes:
            return super().encode(facts)[:-1]

    cluster(Torn("mini"))
    with pytest.raises(EngineUnavailable, match="not encoded"):
        carried().encode_reference(reference())
