"""Decides which machine speaks which request, and when; no arrays, no network.

Machines differ in speed. As long as there is much to do, every slot gets the request with the
longest chain behind it. An urgent request (towards the end every request is) does not go to a slow
machine when a faster one, though busy, would finish it sooner. Knows no Dask.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

LEAD_SECONDS, LEAD_SHARE = 1.0, 0.15
"""Seconds by which a request may be sent before its slot is free, since it travels meanwhile; at
most this share of the time that a request takes."""
_PACE_WEIGHT = 0.2
"""Weight of the last take in a machine's pace, an exponential mean."""
CHAIN_MARGIN = 1.2
"""A chain is not urgent when this many times its remaining duration fits before the end."""
EQUAL_CHAIN_SHARE = 0.9
"""A chain of at least this share of the longest counts as equally long."""
_EPSILON = 1e-6


@dataclass(frozen=True, slots=True)
class WaitingRequest:
    """A request that is not at a machine yet."""

    seconds: float
    """Its expected speech."""
    chain: float
    """Expected seconds of its chain from here on, itself included."""
    is_urgent: bool = False
    """Whether a listener waits for it."""
    origin: str | None = None
    """The machine that has the state of the take that it continues."""


class SentRequest(NamedTuple):
    """A request that a machine has."""

    started_at: float
    """When it was sent, or began after it had waited at the machine."""
    seconds: float
    """Its expected speech."""


@dataclass(slots=True)
class MachineLoad:
    """A machine's pace and the requests that it has."""

    slots: int
    pace: float | None = None
    """Seconds that a second of speech takes in one of its slots; None before its first take."""
    reported_pace: float | None = None
    """Its pace as the machine reports it, measured in earlier renders."""
    in_flight: dict[str, SentRequest] = field(default_factory=dict)
    """Its requests by key, in the order in which they were sent. Those beyond the number of slots
    wait at the machine."""

    def minimum_pace(self, now: float) -> float:
        """Returns a lower bound of its pace, from the requests that are not finished yet."""
        paces = (
            (now - started_at) / max(seconds, _EPSILON)
            for started_at, seconds in self.in_flight.values()
        )
        return max(paces, default=0.0)

    def remove(self, key: str, now: float) -> None:
        """Removes a request; the first that waited at the machine starts in its slot."""
        keys = list(self.in_flight)
        if key not in keys:
            return
        del self.in_flight[key]
        if keys.index(key) < self.slots < len(keys):
            next_key = keys[self.slots]
            self.in_flight[next_key] = SentRequest(now, self.in_flight[next_key].seconds)

    def learn(self, expected: float, duration: float) -> None:
        """Updates the pace with a take of so many expected seconds that took `duration`."""
        if expected > 0 and duration > 0:
            pace = duration / expected
            self.pace = pace if self.pace is None else self.pace + _PACE_WEIGHT * (pace - self.pace)


@dataclass(slots=True)
class Placement:
    """The machines that speak, and the requests that wait for them."""

    machines: dict[str, MachineLoad] = field(default_factory=dict)
    waiting: dict[str, WaitingRequest] = field(default_factory=dict)
    """In the order in which they were added."""

    @property
    def slots(self) -> int:
        return sum(machine.slots for machine in self.machines.values())

    def place_requests(self, now: float, unplanned_seconds: float) -> Iterator[tuple[str, str]]:
        """Yields (request, machine) for each request to send now, and marks it as in flight.

        `unplanned_seconds` is the speech of the whole render that is neither waiting nor in flight.
        """
        if not self.waiting or not self.machines:
            return
        paces = self._paces(now)
        ends = {name: self._slot_ends(name, now, pace) for name, pace in paces.items()}
        free_slots = self._free_slots(now, paces, ends)
        if not free_slots:
            return
        placement_round = _PlacementRound(
            {key: self.waiting[key] for key in sorted(self.waiting, key=self._priority)},  # stable
            paces,
            min(paces.values()),
            now + self._minimum_seconds(now, unplanned_seconds, paces),
            _busy_slot_ends(ends, free_slots),
        )
        for free_at, name in free_slots:
            key = placement_round.take_request(free_at, name)
            if key is not None:
                seconds = self.waiting.pop(key).seconds
                self.machines[name].in_flight[key] = SentRequest(now, seconds)
                yield key, name

    def _priority(self, key: str) -> tuple[bool, float]:
        request = self.waiting[key]
        return not request.is_urgent, -request.chain

    def _paces(self, now: float) -> Mapping[str, float]:
        known_paces = [
            machine.pace for machine in self.machines.values() if machine.pace is not None
        ]
        mean_pace = sum(known_paces) / len(known_paces) if known_paces else 1.0
        return {
            name: max(machine.reported_pace or mean_pace, machine.minimum_pace(now))
            if machine.pace is None
            else machine.pace
            for name, machine in self.machines.items()
        }

    def _minimum_seconds(
        self, now: float, unplanned_seconds: float, paces: Mapping[str, float]
    ) -> float:
        """Returns the seconds that all speech takes at least: spread over all slots, or the longest
        chain on the fastest machine."""
        remaining_seconds = unplanned_seconds + sum(
            request.seconds for request in self.waiting.values()
        )
        for name, machine in self.machines.items():
            for position, (start, seconds) in enumerate(machine.in_flight.values()):
                spoken_seconds = (now - start) / paces[name] if position < machine.slots else 0.0
                remaining_seconds += max(0.0, seconds - spoken_seconds)
        speed = sum(machine.slots / paces[name] for name, machine in self.machines.items())
        longest_chain = max((request.chain for request in self.waiting.values()), default=0.0)
        return max(remaining_seconds / max(speed, _EPSILON), longest_chain * min(paces.values()))

    def _slot_ends(self, name: str, now: float, pace: float) -> list[float]:
        """Returns when each slot of a machine is expected to be free, sorted."""
        machine = self.machines[name]
        in_flight = list(machine.in_flight.values())
        ends = [max(now, start + seconds * pace) for start, seconds in in_flight[: machine.slots]]
        ends += [now] * (machine.slots - len(ends))
        heapq.heapify(ends)
        for _, seconds in in_flight[machine.slots :]:  # waits for the machine's first free slot
            heapq.heapreplace(ends, ends[0] + seconds * pace)
        return sorted(ends)

    def _free_slots(
        self, now: float, paces: Mapping[str, float], ends: Mapping[str, list[float]]
    ) -> list[tuple[float, str]]:
        """Returns (time, machine) of each slot that is free or about to be, fast machines first."""
        slots: list[tuple[float, float, str]] = []
        for name, machine in self.machines.items():
            if not ends[name] or ends[name][0] > now + LEAD_SECONDS:
                continue
            pace, in_flight_count = paces[name], len(machine.in_flight)
            # the pace of a new machine is unknown, so nothing is sent ahead
            capacity = (1 if machine.pace is None else 2) * machine.slots - in_flight_count
            total_seconds = sum(seconds for _, seconds in machine.in_flight.values())
            mean_seconds = total_seconds / max(1, in_flight_count)
            latest = now + min(LEAD_SECONDS, LEAD_SHARE * mean_seconds * pace)
            slots += (
                (pace, free_at, name)
                for free_at in ends[name][: max(0, capacity)]
                if free_at <= latest
            )
        return [(free_at, name) for _, free_at, name in sorted(slots)]


def _busy_slot_ends(
    ends: Mapping[str, list[float]], free_slots: list[tuple[float, str]]
) -> dict[str, list[float]]:
    """Returns, by machine, when each of its busy slots will be free, soonest first."""
    free_counts = Counter(name for _, name in free_slots)
    return {
        name: slot_ends[free_counts[name] :]
        for name, slot_ends in ends.items()
        if len(slot_ends) > free_counts[name]
    }


@dataclass(slots=True)
class _PlacementRound:
    """One round of placement, at one moment."""

    waiting: dict[str, WaitingRequest]
    """Urgent requests first, then those with the longest chains."""
    paces: Mapping[str, float]
    lowest_pace: float
    """That of the fastest machine."""
    end: float
    """The earliest time at which all speech could be finished."""
    busy: dict[str, list[float]]
    """By machine, when its busy slots will be free, soonest first."""
    booked: dict[str, float] = field(default_factory=dict)
    """Requests left to machines that are still busy -> when those would finish them."""

    def take_request(self, free_at: float, name: str) -> str | None:
        """Removes and returns the request for a machine's slot that is free at a time, or None.

        It is the one with the longest chain that this slot finishes in time, or sooner than a busy
        machine would; among equals one whose chain began on this machine.
        """
        chosen_key: str | None = None
        for key, request in self.waiting.items():
            is_near = request.origin == name
            if chosen_key is not None:
                longest_chain = self.waiting[chosen_key].chain
                if request.chain < EQUAL_CHAIN_SHARE * longest_chain:
                    break
            if (chosen_key is None or is_near) and self._is_allowed(key, request, free_at, name):
                chosen_key = key
                if is_near:
                    break
        if chosen_key is not None:
            seconds = self.waiting.pop(chosen_key).seconds
            heapq.heappush(self.busy.setdefault(name, []), free_at + seconds * self.paces[name])
        return chosen_key

    def _is_allowed(self, key: str, request: WaitingRequest, free_at: float, name: str) -> bool:
        """Returns whether the slot may take the request: in time, or sooner than a busy machine."""
        finished_at = free_at + request.seconds * self.paces[name]
        remaining_seconds = (request.chain - request.seconds) * self.lowest_pace
        is_in_time = (
            free_at + CHAIN_MARGIN * (finished_at - free_at + remaining_seconds) <= self.end
        )
        return is_in_time or not self._leave_to_busy(key, request, finished_at)

    def _leave_to_busy(self, key: str, request: WaitingRequest, finished_at: float) -> bool:
        """Returns whether a busy machine would finish the request sooner; books its slot there."""
        if key not in self.booked:
            soonest = min(
                (
                    (slot_ends[0] + request.seconds * self.paces[name], name)
                    for name, slot_ends in self.busy.items()
                ),
                default=None,
            )
            if soonest is None or soonest[0] >= finished_at:
                return False
            self.booked[key], name = soonest
            heapq.heapreplace(self.busy[name], self.booked[key])
        return self.booked[key] < finished_at
