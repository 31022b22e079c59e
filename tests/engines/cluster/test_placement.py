"""Which machine speaks what: urgent chains first, nothing late on what is slow."""

from __future__ import annotations

import heapq

import pytest

from narrator.engines.cluster.placement import (
    LEAD_SECONDS,
    MachineLoad,
    Placement,
    SentRequest,
    WaitingRequest,
)

MUCH = 10_000.0
"""Seconds that are still to come: nothing is urgent."""


def waiting(*seconds: float) -> dict[str, WaitingRequest]:
    """Requests that nothing goes on from."""
    return {str(n): WaitingRequest(one, one) for n, one in enumerate(seconds)}


def placed(places: Placement, unseen: float = 0.0, now: float = 0.0) -> dict[str, str]:
    return dict(places.place_requests(now, unseen))


def full(slots: int, pace: float, seconds: float) -> MachineLoad:
    """A machine whose slots have just begun something."""
    return MachineLoad(
        slots, pace, in_flight={f"old {n}": SentRequest(0.0, seconds) for n in range(slots)}
    )


def test_nothing_goes_out_without_machines():
    assert placed(Placement(waiting=waiting(5.0))) == {}


def test_what_most_speech_hangs_on_goes_first():
    chains = {
        "short": WaitingRequest(9.0, 9.0),
        "long": WaitingRequest(5.0, 60.0),
        "middle": WaitingRequest(5.0, 30.0),
    }
    places = Placement({"m": MachineLoad(2, 1.0)}, chains)
    assert list(placed(places)) == ["long", "middle"]
    assert list(places.waiting) == ["short"]


def test_what_somebody_waits_for_goes_before_all():
    chains = {"long": WaitingRequest(5.0, 60.0), "asked": WaitingRequest(2.0, 2.0, is_urgent=True)}
    places = Placement({"m": MachineLoad(1, 1.0)}, chains)
    assert list(placed(places)) == ["asked"]


def test_the_fastest_machine_has_what_most_hangs_on():
    chains = {"short": WaitingRequest(5.0, 5.0), "long": WaitingRequest(5.0, 60.0)}
    places = Placement({"slow": MachineLoad(1, 2.0), "fast": MachineLoad(1, 1.0)}, chains)
    assert placed(places, MUCH) == {"long": "fast", "short": "slow"}


@pytest.mark.parametrize(
    ("pace", "unseen", "expected"),
    [
        pytest.param(8.0, MUCH, {"0": "slow"}, id="its share while there is much to do"),
        pytest.param(8.0, 0.0, {}, id="nothing that a busy fast one finishes sooner"),
        pytest.param(2.0, 0.0, {"0": "slow"}, id="what it finishes sooner"),
    ],
)
def test_a_slow_machine_has(pace, unseen, expected):
    places = Placement({"slow": MachineLoad(1, pace), "fast": full(1, 1.0, 9.0)}, waiting(5.0))
    assert placed(places, unseen) == expected


def test_whoever_waits_for_a_fast_machine_is_waited_for_in_turn():
    """Two that a fast slot would have sooner, were each alone."""
    places = Placement({"slow": MachineLoad(1, 3.0), "fast": full(1, 1.0, 6.0)}, waiting(5.0, 5.0))
    assert placed(places) == {"1": "slow"}


def test_a_longest_chain_is_not_passed_over_by_what_has_time():
    chains = {"urgent": WaitingRequest(10.0, 80.0), "short": WaitingRequest(10.0, 10.0)}
    places = Placement({"m": MachineLoad(2, 1.0)}, chains)
    first = next(places.place_requests(0.0, 0.0))
    assert first == ("urgent", "m")


def test_an_urgent_chain_waits_for_the_fast_machine():
    chains = {"urgent": WaitingRequest(10.0, 80.0), "short": WaitingRequest(5.0, 5.0)}
    places = Placement({"slow": MachineLoad(1, 4.0), "fast": full(1, 1.0, 5.0)}, chains)
    assert placed(places) == {"short": "slow"}


@pytest.mark.parametrize(("near", "first"), [("m", "1"), ("other", "0")])
def test_of_equals_a_machine_has_what_it_has_the_beginning_of(near, first):
    chains = {"0": WaitingRequest(5.0, 50.0), "1": WaitingRequest(5.0, 48.0, origin=near)}
    places = Placement({"m": MachineLoad(1, 1.0)}, chains)
    assert placed(places, MUCH) == {first: "m"}


def test_a_near_machine_does_not_make_a_chain_longer():
    chains = {"0": WaitingRequest(5.0, 50.0), "1": WaitingRequest(5.0, 20.0, origin="m")}
    places = Placement({"m": MachineLoad(1, 1.0)}, chains)
    assert placed(places, MUCH) == {"0": "m"}


def test_a_slot_that_is_soon_free_has_its_next_on_the_way():
    places = Placement({"m": full(1, 1.0, 10.0)}, waiting(5.0, 5.0))
    assert placed(places, MUCH, now=10.0 - LEAD_SECONDS - 0.1) == {}
    assert placed(places, MUCH, now=10.0 - LEAD_SECONDS + 0.1) == {"0": "m"}
    assert placed(places, MUCH, now=10.0) == {}


def test_no_machine_has_more_than_twice_its_slots():
    places = Placement({"m": MachineLoad(2, 1.0)}, waiting(*[5.0] * 9))
    for now in range(0, 100, 10):
        placed(places, MUCH, float(now))
    assert len(places.machines["m"].in_flight) == 4


def test_a_machine_whose_pace_is_unknown_has_no_more_than_its_slots():
    places = Placement({"m": MachineLoad(2)}, waiting(*[5.0] * 9))
    placed(places, MUCH)
    assert placed(places, MUCH, now=100.0) == {}


def test_what_waits_at_a_machine_begins_when_a_slot_is_free():
    machine = MachineLoad(
        1, 1.0, in_flight={"a": SentRequest(0.0, 10.0), "b": SentRequest(9.5, 10.0)}
    )
    places = Placement({"m": machine}, waiting(5.0))
    assert placed(places, MUCH, now=15.0) == {}  # b may end at 25 at the earliest
    machine.remove("a", 18.0)
    assert machine.in_flight == {"b": SentRequest(18.0, 10.0)}
    assert placed(places, MUCH, now=26.5) == {}
    assert placed(places, MUCH, now=27.5) == {"0": "m"}


def test_what_ends_while_slots_are_left_moves_nobody():
    machine = MachineLoad(
        3, 1.0, in_flight={"a": SentRequest(0.0, 10.0), "b": SentRequest(1.0, 10.0)}
    )
    machine.remove("a", 5.0)
    machine.remove("unknown", 5.0)
    assert machine.in_flight == {"b": SentRequest(1.0, 10.0)}


def test_an_unknown_pace_is_what_others_have():
    """So a new machine is as good as the mean of those that are known."""
    machines = {"new": MachineLoad(1), "fast": MachineLoad(1, 1.0), "slow": MachineLoad(1, 5.0)}
    chains = {
        name: WaitingRequest(5.0, chain) for name, chain in (("a", 50.0), ("b", 40.0), ("c", 30.0))
    }
    assert placed(Placement(machines, chains), MUCH) == {"a": "fast", "b": "new", "c": "slow"}


def test_a_new_machine_that_is_slow_is_known_before_its_first_take():
    new = MachineLoad(2, in_flight={"first": (0.0, 5.0)})
    places = Placement({"new": new, "fast": full(1, 1.0, 0.0)}, waiting(5.0))
    places.machines["fast"].in_flight = {"old": (36.0, 9.0)}
    assert placed(places, now=40.0) == {}  # eight seconds for each at least, and five on fast


def test_a_pace_is_learned_from_takes():
    machine = MachineLoad(1)
    machine.learn(10.0, 20.0)
    assert machine.pace == 2.0
    machine.learn(10.0, 10.0)
    assert 1.5 < machine.pace < 2.0
    machine.learn(0.0, 5.0)
    assert 1.5 < machine.pace < 2.0


def simulated(chains: list[list[float]], speeds: tuple[float, ...], slots: int) -> float:
    """When the last take of these chains is there."""
    places = Placement({str(n): MachineLoad(slots) for n in range(len(speeds))})
    left = {str(n): list(chain) for n, chain in enumerate(chains)}
    ends: list[tuple[float, str, str, float]] = []
    free = {name: [0.0] * slots for name in places.machines}
    now, unseen = 0.0, sum(map(sum, chains))
    ready = sorted(left, key=lambda key: -sum(left[key]))

    def fill(ready: list[str]) -> float:
        """As many wait as there are slots, of those that most hangs on."""
        taken = 0.0
        while ready and len(places.waiting) < places.slots:
            key = ready.pop(0)
            places.waiting[key] = WaitingRequest(left[key][0], sum(left[key]))
            taken += left[key][0]
        return taken

    while ready or ends or places.waiting:
        unseen -= fill(ready)
        for key, name in list(places.place_requests(now, unseen)):
            began = max(now, heapq.heappop(free[name]))
            end = began + left[key][0] / speeds[int(name)]
            heapq.heappush(free[name], end)
            heapq.heappush(ends, (end, key, name, end - began))
        now, key, name, took = heapq.heappop(ends)
        places.machines[name].remove(key, now)
        places.machines[name].learn(left[key].pop(0), took)
        if left[key]:
            ready = sorted([*ready, key], key=lambda key: -sum(left[key]))
    return now


@pytest.mark.parametrize("speeds", [(1.0,), (1.0, 1.0), (1.0, 1.0, 0.5, 0.25)])
def test_machines_of_any_speed_reach_what_is_possible(speeds):
    chains = [[4.0 + 3 * ((n * 7 + i * 5) % 4) for i in range(1 + n % 6)] for n in range(160)]
    possible = sum(map(sum, chains)) / (4 * sum(speeds))
    assert possible / simulated(chains, speeds, 4) >= 0.95
