"""Requests to a cluster: who speaks what, sent again where that is lost, refused where it must be.

A machine is met before it speaks: what it would speak with must be what the plan was made for. The
same request may be spoken twice, by one that was thought lost; the first take that comes is the
take. Knows no Dask, no chapters and no store.
"""

from __future__ import annotations

import logging
import math
import queue
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from narrator import __version__, keys
from narrator.engines import Engine, Outcome, Request, Speech, quiet
from narrator.engines.cluster import far, parcels
from narrator.engines.cluster.placing import MachineLoad, Placement, Waiting
from narrator.engines.cluster.reaching import Arrival, Cluster, MachineSeen, Sent
from narrator.engines.voice import Reference
from narrator.errors import EngineFailure, EngineUnavailable

log = logging.getLogger("narrator")

SLICE = 0.5
"""Seconds that `advance` waits for takes."""
_LISTED = 4
"""Machines that a line names."""
MOST_FAULTS = 3
"""Answers in a row that a machine may fail to give, before it is refused."""
_HEADS = 4096
"""Takes of which it is known where they were made."""

Phase = Literal["new", "met", "loading", "here", "doubted", "refused"]


@dataclass(frozen=True, slots=True)
class ClusterPatience:
    """How long a cluster is waited for, and a machine; seconds."""

    nobody: float = 600.0
    """Without any machine that speaks, or without a scheduler."""
    silent: float = 45.0
    """Without a word of a machine, or of its engine while it speaks."""
    again: float = 60.0
    """Before a machine that was refused is asked again."""
    doubted: float = 2.0
    """Likewise, where something was lost on the way."""
    settle: float = 5.0
    """For the first machines to say what they are, before any is taken."""
    deaths: int = 8
    """Machines that may go while they have one request."""


USUAL = ClusterPatience()


@dataclass(slots=True, eq=False)
class _Member:
    """A machine, and how far we are with it."""

    name: str
    phase: Phase = "new"
    why: str = ""
    """It was refused for that."""
    since: float = 0.0
    precision: str = ""
    beat: float = 0.0
    heard: float = 0.0
    """When the beat last changed, by our clock."""
    silent: bool = False
    joined: float = 0.0
    """When it first spoke, and that was said."""
    held: dict[str, Sent | str] = field(default_factory=dict)
    """References that it was given, by content; those on their way as they were sent."""
    faults: int = 0
    """In a row."""
    seconds: float = 0.0
    """Of speech that it made."""


@dataclass(slots=True, eq=False)
class _Flight:
    """A request on its way."""

    id: str
    request: Request
    sent: dict[str, Sent] = field(default_factory=dict)
    """By the machine that has it; several where one fell silent."""
    deaths: int = 0


class _Sparing:
    """What takes long with many machines, done so seldom that it is a tenth of the time."""

    def __init__(self) -> None:
        self._again = 0.0

    def due(self, now: float) -> bool:
        return now >= self._again

    def did(self, began: float, now: float) -> None:
        self._again = now + 9 * (now - began)


class ClusterSession:
    """What waits, what is out and where, and what came home."""

    def __init__(
        self,
        engine: Engine,
        settings: Mapping[str, Any],
        cluster: Cluster,
        tell: Callable[[str], None] = quiet,
        patience: ClusterPatience = USUAL,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """`engine` is the one that the plan was made for; nothing of it is loaded here. The session
        closes its cluster."""
        self._engine, self._settings, self._cluster = engine, dict(settings), cluster
        self._tell, self._patience, self._now = tell, patience, now
        self._identity = keys.key(engine.identity())
        self._members: dict[str, _Member] = {}
        self._places = Placement()
        self._flights: dict[str, _Flight] = {}
        self._by_sent: dict[Sent, tuple[str, str]] = {}
        """Of what is out: the machine, and the flight or what else it is."""
        self._heads: dict[str, tuple[str, str]] = {}
        """What a take's state begins with -> the machine that made it, and its mark there."""
        self._outcomes: list[Outcome] = []
        self._numbers = 0
        self._unasked = 0.0
        self._precision: str | None = None
        self._began = self._since = self._now()
        self._told = 0.0
        self._away = False
        self._worked = self._could = 0.0
        self._turn = self._began
        self.again = 0
        """Requests that went out once more, because who had them went."""
        self.twice = 0
        """Takes that came twice."""
        self.slots, self.spare = 0, 2
        self.busy = 0.0
        self.note = ""
        self._looking, self._placing, self._noting = _Sparing(), _Sparing(), _Sparing()
        self._look()

    # -- what a render calls

    def add(self, request: Request) -> None:
        if not self._flights:  # no time until now was anybody's
            self._turn = self._now()
        self._numbers += 1
        flight = _Flight(str(self._numbers), request)
        self._flights[flight.id] = flight
        if request.ahead is not None:
            self._unasked = request.ahead.unasked
        self._wait(flight)

    def advance(self) -> Sequence[Outcome]:
        """What has come home, after at most half a second.

        Raises EngineUnavailable where nobody has spoken for long: all takes that came are kept.
        """
        until = self._now() + SLICE
        self._look()
        self._send()
        while not self._outcomes:
            left = until - self._now()
            if left <= 0:
                break
            self._hear(min(left, 0.1))
            self._send()
        outcomes, self._outcomes = self._outcomes, []
        self._report()
        return outcomes

    def close(self) -> None:
        """Drop what is out, and leave the cluster."""
        for sent in self._by_sent:
            self._cluster.drop(sent)
        self._by_sent.clear()
        self._flights.clear()
        if self._members and self._places.machines:
            log.info("cluster: %s; %d came twice", self._who(len(self._members)), self.twice)
        self._cluster.close()

    # -- who is there

    def _look(self) -> None:
        now = self._now()
        if not self._looking.due(now):
            return
        seen = self._cluster.machines()
        if seen is None:
            self._lost_scheduler()
        else:
            self._away = False
            mine = {at: one for at, one in seen.items() if self._engine.name in one.engines}
            for address in list(self._members):
                if address not in mine:
                    self._gone(address)
            for address, one in mine.items():
                self._met(address, one, now)
            self._settle(now)
        if self._places.machines:
            self._since, self._told = now, 0.0
        elif now - self._since > self._patience.nobody:
            raise EngineUnavailable(self._nobody())
        elif not self._away and now - max(self._since, self._told) > self._patience.settle:
            self._told = math.inf  # once, as long as it is so
            minutes = f"{self._patience.nobody / 60:.0f} minutes"
            self._tell(f"waiting for {minutes} at most: {self._lacking()}")
        self._looking.did(now, self._now())

    def _lost_scheduler(self) -> None:
        """Who was there may still be, behind it; that is asked when it is back."""
        if not self._away:
            self._away = True
            self._tell("the cluster's scheduler does not answer: looking for it")
        for address in list(self._members):
            self._gone(address, told=False)

    def _met(self, address: str, seen: MachineSeen, now: float) -> None:
        member = self._members.get(address)
        if member is None:
            taken = any(one.name == seen.name for one in self._members.values())
            name = f"{seen.name} ({address.rpartition('/')[2]})" if taken else seen.name
            member = self._members[address] = _Member(name, heard=now)
            self._ask(address, far.meet)
        if seen.beat != member.beat:
            member.beat, member.heard = seen.beat, now
        patience = {"refused": self._patience.again, "doubted": self._patience.doubted}
        if now - member.since > patience.get(member.phase, math.inf):
            member.phase, member.since = "new", now
            self._ask(address, far.meet)
        booth = seen.booth(self._engine.name)
        quiet_for = max(now - member.heard, float(booth.get("silent", 0.0)))
        if (quiet_for > self._patience.silent) != member.silent:
            member.silent = not member.silent
            self._fell_silent(address, member, quiet_for)
        if (load := self._places.machines.get(address)) and booth.get("slots"):
            load.slots = int(booth["slots"])
            if booth.get("speed"):
                load.said = load.slots / float(booth["speed"])

    def _fell_silent(self, address: str, member: _Member, seconds: float) -> None:
        """What it has goes to others, too; whoever is first has spoken it."""
        if member.phase == "here":
            said = f"has said nothing for {seconds:.0f} s: others speak what it has"
            self._tell(f"{member.name} {said if member.silent else 'is back'}")
        if member.silent:
            self._leave_alone(address)
        elif member.phase == "here":
            self._places.machines[address] = self._load(address, 1)

    def _leave_alone(self, address: str) -> None:
        """A machine is given nothing, and others speak what it has."""
        self._places.machines.pop(address, None)
        for flight in list(self._flights.values()):
            if [*flight.sent] == [address] and flight.id not in self._places.waiting:
                self._once_more(flight)

    def _gone(self, address: str, told: bool = True) -> None:
        """A machine went, and with it what it had."""
        member = self._members.pop(address)
        self._places.machines.pop(address, None)
        if told and member.phase == "here":
            self._tell(f"{member.name} has gone")
        for sent, (at, id) in list(self._by_sent.items()):
            if at != address:
                continue
            del self._by_sent[sent]
            self._cluster.drop(sent)
            if flight := self._flights.get(id):
                flight.sent.pop(address, None)
                flight.deaths += told
                self._lost(flight)

    def _lost(self, flight: _Flight) -> None:
        if flight.sent or flight.id in self._places.waiting:
            return
        if flight.deaths >= self._patience.deaths:
            self._fail(flight, f"{flight.deaths} machines went while they spoke it")
        else:
            self._once_more(flight)

    def _once_more(self, flight: _Flight) -> None:
        self.again += 1
        self._wait(flight)

    # -- whether it may speak

    def _ask(self, address: str, task: Callable[..., bytes]) -> None:
        sent = self._cluster.send(address, task, parcels.of_question(self._settings))
        self._by_sent[sent] = address, task.__name__

    def _unfit(self, facts: Mapping[str, Any]) -> str:
        """Why a machine may not speak, by what it says of itself."""
        if not parcels.is_ours(facts):
            return f"it has narrator {facts['narrator']}, here is {__version__}: all need one"
        theirs, ours = facts["identity"], self._engine.identity()
        if keys.key(theirs) == self._identity:
            if facts["rate"] == self._engine.sample_rate:
                return ""
            return (
                f"it speaks at {facts['rate']} Hz, the book is planned for "
                f"{self._engine.sample_rate}: fetch the model here, too"
            )
        other = [name for name in {**ours, **theirs} if ours.get(name) != theirs.get(name)]
        said = "; ".join(
            f"{name} {str(theirs.get(name, 'none'))[:20]}, here {str(ours.get(name, 'none'))[:20]}"
            for name in other
        )
        return f"it would speak otherwise ({said}): all need the same model"

    def _settle(self, now: float) -> None:
        """Who was met is taken, once it is known what most compute in."""
        met = {at: one for at, one in self._members.items() if one.phase == "met"}
        if not met:
            return
        if self._precision is None:
            unknown = any(one.phase == "new" for one in self._members.values())
            if unknown and now - self._began < self._patience.settle:
                return
            counts = Counter(one.precision for one in met.values())
            # of equals not what is for want of a GPU
            self._precision = max(counts, key=lambda name: (counts[name], name != "float32"))
        for address, member in met.items():
            if member.precision != self._precision:
                self._refuse(
                    address,
                    member,
                    f"it computes in {member.precision}, the others in {self._precision}: "
                    "`engine: {dtype: …}` makes them one",
                )
            else:
                member.phase = "loading"
                self._ask(address, far.ready)

    def _joined(self, address: str, member: _Member, slots: int) -> None:
        member.phase, member.why = "here", ""
        self._places.machines[address] = self._load(address, slots)
        if not member.joined:
            member.joined = self._now()
            self._tell(f"{member.name} speaks: {'1 slot' if slots == 1 else f'{slots} slots'}")

    def _load(self, address: str, slots: int) -> MachineLoad:
        """Of a machine that may have something of ours already."""
        load, now = MachineLoad(max(1, slots)), self._now()
        for flight in self._flights.values():
            if address in flight.sent:
                load.flying[flight.id] = now, flight.request.expected
        return load

    def _refuse(self, address: str, member: _Member, why: str) -> None:
        self._leave_alone(address)
        if why != member.why:
            self._tell(f"{member.name} is refused: {'; '.join(why.splitlines())}")
        member.phase, member.why, member.since = "refused", why, self._now()

    def _nobody(self) -> str:
        refused = [f"{one.name}: {one.why}" for one in self._members.values() if one.why]
        waited = f"no machine of the cluster has spoken for {self._patience.nobody:.0f} s"
        what = "; ".join(refused) if refused else (
            "the scheduler does not answer" if self._away else
            f"start `narrator worker` on one that has the engine {self._engine.name}"
        )  # fmt: skip
        return f"{waited} ({what}). All takes are kept: the same command goes on"

    # -- out

    def _wait(self, flight: _Flight) -> None:
        request, ahead = flight.request, flight.request.ahead
        chain = request.expected + (ahead.chain if ahead else 0.0)
        near, _ = self._heads.get(_head(request), (None, ""))
        self._places.waiting[flight.id] = Waiting(request.expected, chain, ahead is None, near)

    def _send(self) -> None:
        now = self._now()
        if not self._placing.due(now):
            return
        placed = list(self._places.placed(now, self._unasked))
        self._placing.did(now, self._now())
        for id, address in placed:
            if address not in (flight := self._flights[id]).sent:  # it may have been silent
                self._send_to(address, flight)

    def _send_to(self, address: str, flight: _Flight) -> None:
        member, request = self._members[address], flight.request
        near, made = self._heads.get(_head(request), (None, ""))
        held: Sent | str | None = None
        if request.reference is not None:
            held = self._held(address, member, request.reference)
        known = made if near == address else None
        parcel = parcels.of_request(request, self._settings, known)
        sent = self._cluster.send(address, far.say, parcel, held, resource=self._engine.name)
        flight.sent[address] = sent
        self._by_sent[sent] = address, flight.id

    def _held(self, address: str, member: _Member, reference: Reference) -> Sent | str:
        """A reference that a machine has, or is sent."""
        content = reference.content
        if content not in member.held:
            sent = self._cluster.send(address, far.hold, parcels.of_reference(reference))
            member.held[content] = sent
            self._by_sent[sent] = address, content
        return member.held[content]

    # -- home

    def _hear(self, seconds: float) -> None:
        """What arrives within so many seconds, and what has arrived with it."""
        try:
            self._land(self._cluster.arrived.get(timeout=seconds))
            while True:
                self._land(self._cluster.arrived.get_nowait())
        except queue.Empty:
            pass

    def _land(self, arrival: Arrival) -> None:
        known = self._by_sent.pop(arrival.sent, None)
        if known is None:  # nobody waits any more
            return
        address, id = known
        if arrival.sent.what == far.hold.__name__:
            self._handed(address, id, arrival)
            return
        facts, speech, error = _opened(arrival)
        if member := self._members.get(address):
            self._trust(address, member, arrival, error)
        if load := self._places.machines.get(address):
            load.ended(id, self._now())
        if id in (far.meet.__name__, far.ready.__name__):
            if member is not None and not arrival.lost:
                self._answered(address, member, id, facts, error)
        elif flight := self._flights.get(id):
            flight.sent.pop(address, None)
            if facts:
                self._came(address, flight, facts, speech)
            else:
                self._lacks_reference(member, flight)  # it may be that which it never got
                self._lost(flight)
        else:
            self.twice += speech is not None

    def _handed(self, address: str, content: str, arrival: Arrival) -> None:
        """A machine has a reference, or did not get it."""
        member = self._members.get(address)
        if member is not None and member.held.get(content) is arrival.sent:
            del member.held[content]
            if arrival.answer == content:
                member.held[content] = content

    def _trust(self, address: str, member: _Member, arrival: Arrival, error: str) -> None:
        """A machine whose answers are lost is met again; one that gives none is refused."""
        if arrival.lost or error:
            log.warning("%s did not %s: %s", member.name, arrival.sent.what, arrival.lost or error)
        if arrival.lost:
            self._places.machines.pop(address, None)
            member.phase, member.since = "doubted", self._now()
            return
        member.faults = member.faults + 1 if error else 0
        if member.faults >= MOST_FAULTS:
            self._refuse(address, member, f"what it is asked fails: {error}")

    def _lacks_reference(self, member: _Member | None, flight: _Flight) -> None:
        if member is not None and flight.request.reference is not None:
            member.held.pop(flight.request.reference.content, None)

    def _answered(
        self, address: str, member: _Member, what: str, facts: Mapping[str, Any], error: str
    ) -> None:
        """What a machine says of itself, or that it is ready."""
        if error or "refused" in facts:
            self._refuse(address, member, error or facts["refused"])
        elif what == far.ready.__name__:
            self._joined(address, member, int(facts["slots"]))
        elif why := self._unfit(facts):
            self._refuse(address, member, why)
        else:
            member.phase, member.precision = "met", str(facts["precision"])

    def _came(
        self, address: str, flight: _Flight, facts: Mapping[str, Any], speech: Speech | None
    ) -> None:
        member, request = self._members.get(address), flight.request
        if "refused" in facts:
            if member is not None:
                self._refuse(address, member, facts["refused"])
            self._lost(flight)
            return
        if "lacks" in facts:  # it keeps what it used last
            if facts["lacks"] == "reference":
                self._lacks_reference(member, flight)
            self._heads.pop(_head(request), None)
            self._wait(flight)
            return
        if speech is None:
            self._fail(flight, facts["failure"])
            return
        if speech.state is not None and len(speech.state):
            self._heads[parcels.state_mark(speech.state[:1])] = address, facts["mark"]
            while len(self._heads) > _HEADS:
                del self._heads[next(iter(self._heads))]
        if member is not None:
            member.seconds += len(speech.samples) / self._engine.sample_rate
            log.info("%s spoke %s, attempt %d, in %.1f s", member.name, request.key,
                     request.attempt + 1, facts["took"])  # fmt: skip
        if machine := self._places.machines.get(address):
            machine.learn(request.expected, float(facts["took"]))
            machine.slots = max(1, int(facts["slots"]))
        self._end(flight, Outcome(request.key, request.attempt, speech=speech))

    def _fail(self, flight: _Flight, why: str) -> None:
        request = flight.request
        self._end(flight, Outcome(request.key, request.attempt, failure=EngineFailure(why)))

    def _end(self, flight: _Flight, outcome: Outcome) -> None:
        del self._flights[flight.id]
        self._places.waiting.pop(flight.id, None)
        self._outcomes.append(outcome)

    # -- how it goes

    def _report(self) -> None:
        now, slots = self._now(), self._places.slots
        # as many wait here, so that machines of other speeds can be given other chains
        self.slots, self.spare = slots, max(2, slots)
        if not self._noting.due(now):
            return
        flying = sum(min(m.slots, len(m.flying)) for m in self._places.machines.values())
        if self._flights:
            self._worked += (now - self._turn) * flying
            self._could += (now - self._turn) * slots
        self._turn = now
        self.busy = self._worked / self._could if self._could else 0.0
        self.note = self._who(_LISTED)
        self._noting.did(now, self._now())

    def _who(self, most: int) -> str:
        """Who speaks, and how fast: "2 machines, 12 slots: studio 8.1 x, mini 2.2 x"."""
        here = sorted(
            (one for at, one in self._members.items() if at in self._places.machines),
            key=lambda one: -one.seconds,
        )
        if not here:
            return self._lacking()
        now = self._now()
        each = ", ".join(
            f"{one.name} {one.seconds / max(1.0, now - one.joined):.1f} x" for one in here[:most]
        )
        more = f" and {len(here) - most} more" if len(here) > most else ""
        many = "1 machine" if len(here) == 1 else f"{len(here)} machines"
        again = f", {self.again} sent again" if self.again else ""
        return f"{many}, {self._places.slots} slots{again}: {each}{more}"

    def _lacking(self) -> str:
        """Why nobody speaks, and what to do."""
        if self._away:
            return "the cluster's scheduler does not answer"
        if any(one.phase in ("new", "met", "loading") for one in self._members.values()):
            return "machines get ready"
        refused = sum(one.phase == "refused" for one in self._members.values())
        some = f", {refused} refused" if refused else ""
        return f"no machine speaks{some}: `narrator worker` on one that has {self._engine.name}"


def _head(request: Request) -> str:
    """Names what a prompt's state begins with, as the take does that it was cut from."""
    prompt = request.prompt
    if prompt is None or prompt.state is None or not len(prompt.state):
        return ""
    return parcels.state_mark(prompt.state[:1])


def _opened(arrival: Arrival) -> tuple[dict[str, Any], Speech | None, str]:
    """What an answer says, and the take in it; or why there is no answer."""
    if arrival.error or arrival.lost:
        return {}, None, arrival.error
    try:
        facts, arrays = parcels.unpacked(arrival.answer)
        said = facts.get("speech")
        return facts, None if said is None else parcels.to_speech(said, arrays), ""
    except parcels.Damaged as error:
        return {}, None, str(error)
