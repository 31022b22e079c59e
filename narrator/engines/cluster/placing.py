"""Which machine speaks which request, and when; no arrays, no network.

Machines differ in speed. As long as there is much to do, every slot gets what most speech still
hangs on; what is urgent, and towards the end everything is, goes to no slow machine where a faster
one, though it is busy, would have spoken it sooner. Knows no Dask.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

LEAD, SHARE = 1.0, 0.15
"""Seconds before a slot is free that its next request may go out, as it travels meanwhile; and at
most that share of what it takes."""
_LEARN = 0.2
"""Weight of the last take in what is known of a machine's pace."""
SURE = 1.2
"""Times what a chain should take yet from a slot on, that is there for it if it is not urgent."""
ALIKE = 0.9
"""Share of the longest chain that another may have to be as good."""
_LATE = 1e-6


@dataclass(frozen=True, slots=True)
class Waiting:
    """A request that no machine has."""

    seconds: float
    """Expected of it."""
    chain: float
    """Of all that goes on from it, one after another, itself included."""
    first: bool = False
    """Somebody waits for it."""
    near: str | None = None
    """The machine that has what it goes on from."""


@dataclass(slots=True)
class MachineLoad:
    """What is known of a machine, and what it has to do."""

    slots: int
    pace: float | None = None
    """Seconds that a second of speech takes in one of its slots; None before its first take."""
    said: float | None = None
    """Likewise, in an earlier render."""
    flying: dict[str, tuple[float, float]] = field(default_factory=dict)
    """By request, as they went out: when it began, and the seconds expected of it. What is more
    than there are slots has not begun."""

    def least(self, now: float) -> float:
        """What its pace is at least, as its first takes have not come."""
        lasted = ((now - at) / max(seconds, _LATE) for at, seconds in self.flying.values())
        return max(lasted, default=0.0)

    def ended(self, key: str, now: float) -> None:
        """A request has left it; what waited there has its slot."""
        before = list(self.flying)
        if key not in before:
            return
        del self.flying[key]
        if before.index(key) < self.slots < len(before):
            waited = before[self.slots]
            self.flying[waited] = now, self.flying[waited][1]

    def learn(self, expected: float, took: float) -> None:
        """A take of so many expected seconds was that long in its slot."""
        if expected > 0 and took > 0:
            pace = took / expected
            self.pace = pace if self.pace is None else self.pace + _LEARN * (pace - self.pace)


@dataclass(slots=True)
class Placement:
    """The machines that speak, and what waits for them."""

    machines: dict[str, MachineLoad] = field(default_factory=dict)
    waiting: dict[str, Waiting] = field(default_factory=dict)
    """In the order in which they came."""

    @property
    def slots(self) -> int:
        return sum(machine.slots for machine in self.machines.values())

    def placed(self, now: float, unseen: float) -> Iterator[tuple[str, str]]:
        """Requests and the machines that they go to now; each is flying then.

        `unseen` are the seconds of speech of the whole render that are neither here nor flying.
        """
        if not self.waiting or not self.machines:
            return
        paces = self._paces(now)
        ends = {name: self._ends(name, now, pace) for name, pace in paces.items()}
        free = self._free(now, paces, ends)
        if not free:
            return
        giving = _Round(
            {key: self.waiting[key] for key in sorted(self.waiting, key=self._rank)},  # stable
            paces,
            min(paces.values()),
            now + self._least(now, unseen, paces),
            _busy(ends, free),
        )
        for at, name in free:
            key = giving.given(at, name)
            if key is not None:
                self.machines[name].flying[key] = now, self.waiting.pop(key).seconds
                yield key, name

    def _rank(self, key: str) -> tuple[bool, float]:
        one = self.waiting[key]
        return not one.first, -one.chain

    def _paces(self, now: float) -> Mapping[str, float]:
        known = [m.pace for m in self.machines.values() if m.pace is not None]
        usual = sum(known) / len(known) if known else 1.0
        return {
            name: max(m.said or usual, m.least(now)) if m.pace is None else m.pace
            for name, m in self.machines.items()
        }

    def _least(self, now: float, unseen: float, paces: Mapping[str, float]) -> float:
        """Seconds that all of it takes at least: spread over all slots, or its longest chain on the
        fastest machine."""
        left = unseen + sum(one.seconds for one in self.waiting.values())
        for name, machine in self.machines.items():
            for number, (began, seconds) in enumerate(machine.flying.values()):
                spoken = (now - began) / paces[name] if number < machine.slots else 0.0
                left += max(0.0, seconds - spoken)
        speed = sum(machine.slots / paces[name] for name, machine in self.machines.items())
        longest = max((one.chain for one in self.waiting.values()), default=0.0)
        return max(left / max(speed, _LATE), longest * min(paces.values()))

    def _ends(self, name: str, now: float, pace: float) -> list[float]:
        """When each slot of a machine is free, as far as can be told."""
        machine = self.machines[name]
        flying = list(machine.flying.values())
        ends = [max(now, began + seconds * pace) for began, seconds in flying[: machine.slots]]
        ends += [now] * (machine.slots - len(ends))
        heapq.heapify(ends)
        for _, seconds in flying[machine.slots :]:  # waits there for the first that is free
            heapq.heapreplace(ends, ends[0] + seconds * pace)
        return sorted(ends)

    def _free(
        self, now: float, paces: Mapping[str, float], ends: Mapping[str, list[float]]
    ) -> list[tuple[float, str]]:
        """Slots that are free, or about to be: of fast machines first."""
        found: list[tuple[float, float, str]] = []
        for name, machine in self.machines.items():
            if not ends[name] or ends[name][0] > now + LEAD:
                continue
            pace, flying = paces[name], len(machine.flying)
            # of one that is new nobody knows when it will be free
            room = (1 if machine.pace is None else 2) * machine.slots - flying
            usual = sum(seconds for _, seconds in machine.flying.values()) / max(1, flying)
            soon = now + min(LEAD, SHARE * usual * pace)
            found += ((pace, at, name) for at in ends[name][: max(0, room)] if at <= soon)
        return [(at, name) for _, at, name in sorted(found)]


def _busy(ends: Mapping[str, list[float]], free: list[tuple[float, str]]) -> dict[str, list[float]]:
    """By machine, when each of its slots that are not free is, soonest first."""
    taken = Counter(name for _, name in free)
    return {name: at[taken[name] :] for name, at in ends.items() if len(at) > taken[name]}


@dataclass(slots=True)
class _Round:
    """What is given out at one moment."""

    waiting: dict[str, Waiting]
    """What most hangs on first."""
    paces: Mapping[str, float]
    fastest: float
    """The least of them."""
    end: float
    """When all that there is to speak could be done at the soonest."""
    busy: dict[str, list[float]]
    """By machine, when its slots that are not free are, soonest first."""
    booked: dict[str, float] = field(default_factory=dict)
    """What is left to machines that are busy yet, and when they would have done it."""

    def given(self, at: float, name: str) -> str | None:
        """What a slot speaks that is free then: most hangs on it, and it is done here before all
        could be, or sooner than by a busy machine; of equals what this machine has the beginning
        of."""
        found: str | None = None
        for key, one in self.waiting.items():
            if found is not None and one.chain < ALIKE * self.waiting[found].chain:
                break
            if (found is None or one.near == name) and self._may(key, one, at, name):
                found = key
                if one.near == name:
                    break
        if found is not None:
            seconds = self.waiting.pop(found).seconds
            heapq.heappush(self.busy.setdefault(name, []), at + seconds * self.paces[name])
        return found

    def _may(self, key: str, one: Waiting, at: float, name: str) -> bool:
        """Whether a slot that is free then may have it, or a machine that is busy yet is to."""
        done = at + one.seconds * self.paces[name]
        rest = (one.chain - one.seconds) * self.fastest
        in_time = at + SURE * (done - at + rest) <= self.end
        return in_time or not self._leave(key, one, done)

    def _leave(self, key: str, one: Waiting, done: float) -> bool:
        """Leave it to a busy machine that would have done it before; what asks next comes after."""
        if key not in self.booked:
            soonest = min(
                ((at[0] + one.seconds * self.paces[name], name) for name, at in self.busy.items()),
                default=None,
            )
            if soonest is None or soonest[0] >= done:
                return False
            self.booked[key], name = soonest
            heapq.heapreplace(self.busy[name], self.booked[key])
        return self.booked[key] < done
