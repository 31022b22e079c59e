"""The requests of a render, distributed over a cluster and sent again when they are lost.

A machine is asked what it would speak with before it gets requests: its engine must match the one
that the plan was made for. A request may be spoken twice, by a machine that was thought lost; the
first take that arrives counts. Knows no Dask, no chapters and no store.
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
from narrator.engines import Engine, Outcome, Request, Speech, ignore_message
from narrator.engines.cluster import codec, worker_tasks
from narrator.engines.cluster.client import Arrival, Cluster, MachineInfo, SentTask
from narrator.engines.cluster.placement import MachineLoad, Placement, SentRequest, WaitingRequest
from narrator.engines.voice import Reference
from narrator.errors import EngineFailure, EngineUnavailable

log = logging.getLogger("narrator")

ADVANCE_SECONDS = 0.5
"""Seconds that `advance` waits for takes at most."""
_MAX_LISTED_MACHINES = 4
"""Machines named in the status line."""
MAX_FAULTS = 3
"""Failed answers in a row after which a machine is refused."""
_MAX_STATE_ORIGINS = 4096
"""Takes whose machine of origin is remembered."""

Phase = Literal["new", "identified", "loading", "speaking", "doubted", "refused"]
"""The session's knowledge of a machine.

new          it was asked for its engine's identity
identified   its engine matches; the most common precision is not known yet
loading      it was asked to load its engine
speaking     it gets requests
doubted      an answer was lost on the way: it is asked again soon
refused      its engine does not match, or it failed: it is asked again later
"""


@dataclass(frozen=True, slots=True)
class ClusterPatience:
    """Timeouts for the cluster and its machines, in seconds."""

    no_machine: float = 600.0
    """Time without any machine that speaks, or without a scheduler, before the session gives up."""
    silence: float = 45.0
    """Time without a sign of life from a machine, or from its engine while it speaks, before others
    get its requests too."""
    retry_refused: float = 60.0
    """Time before a refused machine is asked again."""
    retry_doubted: float = 2.0
    """Time before a machine is asked again after an answer was lost on the way."""
    settle: float = 5.0
    """Time for the first machines to answer before any is admitted."""
    max_deaths: int = 8
    """Machines that may disappear while they speak the same request, before it fails."""


DEFAULT_PATIENCE = ClusterPatience()


@dataclass(slots=True, eq=False)
class _Member:
    """A machine and the session's state of knowledge about it."""

    name: str
    phase: Phase = "new"
    refusal: str = ""
    """Why the machine was refused."""
    phase_since: float = 0.0
    precision: str = ""
    last_seen: float = 0.0
    """When the scheduler last heard from it, by the scheduler's clock."""
    heard_at: float = 0.0
    """When `last_seen` last changed, by the session's clock."""
    is_silent: bool = False
    joined_at: float = 0.0
    """When it was first announced as ready."""
    references: dict[str, SentTask | str] = field(default_factory=dict)
    """References sent to the machine, by content: the sent task until the machine confirms it, then
    the content itself."""
    faults: int = 0
    """Failed answers in a row."""
    speech_seconds: float = 0.0
    """Seconds of speech that it delivered."""


@dataclass(slots=True, eq=False)
class _PendingRequest:
    """A request that has no outcome yet."""

    id: str
    request: Request
    sent_tasks: dict[str, SentTask] = field(default_factory=dict)
    """Its task by machine address; several when a machine fell silent."""
    deaths: int = 0
    """Machines that disappeared while they had it."""


class _Throttle:
    """Limits a step that is slow with many machines to a tenth of the time."""

    def __init__(self) -> None:
        self._next_run_at = 0.0

    def is_due(self, now: float) -> bool:
        return now >= self._next_run_at

    def record_run(self, started_at: float, now: float) -> None:
        self._next_run_at = now + 9 * (now - started_at)


class ClusterSession:
    """A `Session` whose requests are spoken by the machines of a cluster."""

    def __init__(
        self,
        engine: Engine,
        settings: Mapping[str, Any],
        cluster: Cluster,
        tell: Callable[[str], None] = ignore_message,
        patience: ClusterPatience = DEFAULT_PATIENCE,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """`engine` is the engine that the plan was made for; it is not loaded here. The session
        closes its cluster."""
        self._engine, self._settings, self._cluster = engine, dict(settings), cluster
        self._tell, self._patience, self._now = tell, patience, now
        self._identity = keys.key(engine.identity())
        self._members: dict[str, _Member] = {}
        self._placement = Placement()
        self._pending: dict[str, _PendingRequest] = {}
        self._tasks: dict[SentTask, tuple[str, str]] = {}
        """Unanswered tasks -> the machine's address and the pending's id, a reference's content or
        the name of the question."""
        self._state_origins: dict[str, tuple[str, str]] = {}
        """Mark of the first step of a take's state -> the machine that made it, and the take's mark
        there."""
        self._outcomes: list[Outcome] = []
        self._request_count = 0
        self._unrequested_seconds = 0.0
        self._precision: str | None = None
        self._started_at = self._idle_since = self._now()
        self._warned_at = 0.0
        self._is_scheduler_away = False
        self._busy_slot_seconds = self._slot_seconds = 0.0
        self._reported_at = self._started_at
        self.resent_count = 0
        """Requests sent again because their machine disappeared or fell silent."""
        self.duplicate_count = 0
        """Takes that arrived twice."""
        self.slots, self.spare = 0, 2
        self.busy = 0.0
        self.note = ""
        self._look_throttle = _Throttle()
        self._placing_throttle = _Throttle()
        self._note_throttle = _Throttle()
        self._update_members()

    # -- the session's interface

    def add(self, request: Request) -> None:
        if not self._pending:  # idle time counts for no machine
            self._reported_at = self._now()
        self._request_count += 1
        pending = _PendingRequest(str(self._request_count), request)
        self._pending[pending.id] = pending
        if request.ahead is not None:
            self._unrequested_seconds = request.ahead.unasked
        self._enqueue(pending)

    def advance(self) -> Sequence[Outcome]:
        """Returns the outcomes that have arrived, after at most half a second.

        Raises EngineUnavailable when no machine has spoken for long; the takes so far are kept.
        """
        deadline = self._now() + ADVANCE_SECONDS
        self._update_members()
        self._send_placed()
        while not self._outcomes:
            remaining_seconds = deadline - self._now()
            if remaining_seconds <= 0:
                break
            self._receive(min(remaining_seconds, 0.1))
            self._send_placed()
        outcomes, self._outcomes = self._outcomes, []
        self._update_figures()
        return outcomes

    def close(self) -> None:
        """Drops unanswered tasks and leaves the cluster."""
        for sent_task in self._tasks:
            self._cluster.drop(sent_task)
        self._tasks.clear()
        self._pending.clear()
        if self._members and self._placement.machines:
            log.info(
                "cluster: %s; %d came twice",
                self._describe_machines(len(self._members)),
                self.duplicate_count,
            )
        self._cluster.close()

    # -- the machines

    def _update_members(self) -> None:
        now = self._now()
        if not self._look_throttle.is_due(now):
            return
        machines = self._cluster.machines()
        if machines is None:
            self._lose_scheduler()
        else:
            self._is_scheduler_away = False
            candidates = {
                address: machine
                for address, machine in machines.items()
                if self._engine.name in machine.engines
            }
            for address in list(self._members):
                if address not in candidates:
                    self._remove_member(address)
            for address, machine in candidates.items():
                self._update_member(address, machine, now)
            self._admit_members(now)
        if self._placement.machines:
            self._idle_since, self._warned_at = now, 0.0
        elif now - self._idle_since > self._patience.no_machine:
            raise EngineUnavailable(self._no_machine_message())
        elif (
            not self._is_scheduler_away
            and now - max(self._idle_since, self._warned_at) > self._patience.settle
        ):
            self._warned_at = math.inf  # once, until a machine speaks
            minutes = f"{self._patience.no_machine / 60:.0f} minutes"
            self._tell(f"waiting for {minutes} at most: {self._describe_lack()}")
        self._look_throttle.record_run(now, self._now())

    def _lose_scheduler(self) -> None:
        """Forgets the machines; those still there are asked again when the scheduler is back."""
        if not self._is_scheduler_away:
            self._is_scheduler_away = True
            self._tell("the cluster's scheduler does not answer: looking for it")
        for address in list(self._members):
            self._remove_member(address, has_died=False)

    def _update_member(self, address: str, machine: MachineInfo, now: float) -> None:
        member = self._members.get(address)
        if member is None:
            is_name_taken = any(
                other_member.name == machine.name for other_member in self._members.values()
            )
            name = machine.name
            if is_name_taken:
                name = f"{name} ({address.rpartition('/')[2]})"
            member = self._members[address] = _Member(name, heard_at=now)
            self._send_question(address, worker_tasks.meet)
        if machine.last_seen != member.last_seen:
            member.last_seen, member.heard_at = machine.last_seen, now
        retry_seconds = {
            "refused": self._patience.retry_refused,
            "doubted": self._patience.retry_doubted,
        }
        if now - member.phase_since > retry_seconds.get(member.phase, math.inf):
            member.phase, member.phase_since = "new", now
            self._send_question(address, worker_tasks.meet)
        booth = machine.booth(self._engine.name)
        silent_seconds = max(now - member.heard_at, float(booth.get("silent", 0.0)))
        if (silent_seconds > self._patience.silence) != member.is_silent:
            member.is_silent = not member.is_silent
            self._handle_silence_change(address, member, silent_seconds)
        if (load := self._placement.machines.get(address)) and booth.get("slots"):
            load.slots = int(booth["slots"])
            if booth.get("speed"):
                load.reported_pace = load.slots / float(booth["speed"])

    def _handle_silence_change(self, address: str, member: _Member, seconds: float) -> None:
        """Sends a silent machine's requests to others too, or takes the machine back; the first
        take of a request counts."""
        if member.phase == "speaking":
            message = f"has said nothing for {seconds:.0f} s: others speak what it has"
            self._tell(f"{member.name} {message if member.is_silent else 'is back'}")
        if member.is_silent:
            self._exclude_machine(address)
        elif member.phase == "speaking":
            self._placement.machines[address] = self._new_load(address, 1)

    def _exclude_machine(self, address: str) -> None:
        """Sends nothing more to a machine, and its requests to others."""
        self._placement.machines.pop(address, None)
        for pending in list(self._pending.values()):
            if [*pending.sent_tasks] == [address] and pending.id not in self._placement.waiting:
                self._resend(pending)

    def _remove_member(self, address: str, has_died: bool = True) -> None:
        """Forgets a machine and sends its requests again.

        `has_died` is false when the scheduler disappeared, not the machine.
        """
        member = self._members.pop(address)
        self._placement.machines.pop(address, None)
        if has_died and member.phase == "speaking":
            self._tell(f"{member.name} has gone")
        for sent_task, (task_address, task_id) in list(self._tasks.items()):
            if task_address != address:
                continue
            del self._tasks[sent_task]
            self._cluster.drop(sent_task)
            if pending := self._pending.get(task_id):
                pending.sent_tasks.pop(address, None)
                pending.deaths += has_died
                self._resend_or_fail(pending)

    def _resend_or_fail(self, pending: _PendingRequest) -> None:
        if pending.sent_tasks or pending.id in self._placement.waiting:
            return
        if pending.deaths >= self._patience.max_deaths:
            self._fail_request(pending, f"{pending.deaths} machines went while they spoke it")
        else:
            self._resend(pending)

    def _resend(self, pending: _PendingRequest) -> None:
        self.resent_count += 1
        self._enqueue(pending)

    # -- admission

    def _send_question(self, address: str, task: Callable[..., bytes]) -> None:
        sent_task = self._cluster.send(address, task, codec.encode_question(self._settings))
        self._tasks[sent_task] = address, task.__name__

    def _describe_mismatch(self, facts: Mapping[str, Any]) -> str:
        """Explains why a machine with these facts may not speak; "" when it may."""
        if not codec.is_same_version(facts):
            return f"it has narrator {facts['narrator']}, here is {__version__}: all need one"
        theirs, ours = facts["identity"], self._engine.identity()
        if keys.key(theirs) == self._identity:
            if facts["rate"] == self._engine.sample_rate:
                return ""
            return (
                f"it speaks at {facts['rate']} Hz, the book is planned for "
                f"{self._engine.sample_rate}: fetch the model here, too"
            )
        differing_names = [
            name for name in {**ours, **theirs} if ours.get(name) != theirs.get(name)
        ]
        differences = "; ".join(
            f"{name} {str(theirs.get(name, 'none'))[:20]}, here {str(ours.get(name, 'none'))[:20]}"
            for name in differing_names
        )
        return f"it would speak otherwise ({differences}): all need the same model"

    def _admit_members(self, now: float) -> None:
        """Loads the engine on the machines that were met, once the most common precision is known;
        refuses those with another."""
        identified = {
            address: member
            for address, member in self._members.items()
            if member.phase == "identified"
        }
        if not identified:
            return
        if self._precision is None:
            has_unknown = any(member.phase == "new" for member in self._members.values())
            if has_unknown and now - self._started_at < self._patience.settle:
                return
            counts = Counter(member.precision for member in identified.values())
            # in a tie not float32, which machines without a GPU use
            self._precision = max(counts, key=lambda name: (counts[name], name != "float32"))
        for address, member in identified.items():
            if member.precision != self._precision:
                self._refuse(
                    address,
                    member,
                    f"it computes in {member.precision}, the others in {self._precision}: "
                    "`engine: {dtype: …}` makes them one",
                )
            else:
                member.phase = "loading"
                self._send_question(address, worker_tasks.ready)

    def _activate_member(self, address: str, member: _Member, slots: int) -> None:
        member.phase, member.refusal = "speaking", ""
        self._placement.machines[address] = self._new_load(address, slots)
        if not member.joined_at:
            member.joined_at = self._now()
            self._tell(f"{member.name} speaks: {'1 slot' if slots == 1 else f'{slots} slots'}")

    def _new_load(self, address: str, slots: int) -> MachineLoad:
        """Returns the load of a machine, with the requests that it may have already."""
        load, now = MachineLoad(max(1, slots)), self._now()
        for pending in self._pending.values():
            if address in pending.sent_tasks:
                load.in_flight[pending.id] = SentRequest(now, pending.request.expected)
        return load

    def _refuse(self, address: str, member: _Member, reason: str) -> None:
        self._exclude_machine(address)
        if reason != member.refusal:
            self._tell(f"{member.name} is refused: {'; '.join(reason.splitlines())}")
        member.phase, member.refusal, member.phase_since = "refused", reason, self._now()

    def _no_machine_message(self) -> str:
        refusals = [
            f"{member.name}: {member.refusal}"
            for member in self._members.values()
            if member.refusal
        ]
        message = f"no machine of the cluster has spoken for {self._patience.no_machine:.0f} s"
        reason = "; ".join(refusals) if refusals else (
            "the scheduler does not answer" if self._is_scheduler_away else
            f"start `narrator worker` on one that has the engine {self._engine.name}"
        )  # fmt: skip
        return f"{message} ({reason}). All takes are kept: the same command goes on"

    # -- sending

    def _enqueue(self, pending: _PendingRequest) -> None:
        request, ahead = pending.request, pending.request.ahead
        chain_seconds = request.expected + (ahead.chain if ahead else 0.0)
        origin, _ = self._state_origins.get(_prompt_start_mark(request), (None, ""))
        self._placement.waiting[pending.id] = WaitingRequest(
            request.expected, chain_seconds, ahead is None, origin
        )

    def _send_placed(self) -> None:
        now = self._now()
        if not self._placing_throttle.is_due(now):
            return
        placements = list(self._placement.place_requests(now, self._unrequested_seconds))
        self._placing_throttle.record_run(now, self._now())
        for request_id, address in placements:
            pending = self._pending[request_id]
            if address not in pending.sent_tasks:  # a machine that was silent may have it
                self._send_to(address, pending)

    def _send_to(self, address: str, pending: _PendingRequest) -> None:
        member, request = self._members[address], pending.request
        origin, origin_mark = self._state_origins.get(_prompt_start_mark(request), (None, ""))
        reference_argument: SentTask | str | None = None
        if request.reference is not None:
            reference_argument = self._reference_argument(address, member, request.reference)
        local_mark = origin_mark if origin == address else None
        parcel = codec.encode_request(request, self._settings, local_mark)
        sent_task = self._cluster.send(
            address, worker_tasks.say, parcel, reference_argument, resource=self._engine.name
        )
        pending.sent_tasks[address] = sent_task
        self._tasks[sent_task] = address, pending.id

    def _reference_argument(
        self, address: str, member: _Member, reference: Reference
    ) -> SentTask | str:
        """Returns the argument that gives a task the reference, which is sent when the machine does
        not have it."""
        content = reference.content
        if content not in member.references:
            sent_task = self._cluster.send(
                address, worker_tasks.hold, codec.encode_reference(reference)
            )
            member.references[content] = sent_task
            self._tasks[sent_task] = address, content
        return member.references[content]

    # -- receiving

    def _receive(self, seconds: float) -> None:
        """Waits up to so many seconds for an arrival and handles all that are there."""
        try:
            self._handle_arrival(self._cluster.arrivals.get(timeout=seconds))
            while True:
                self._handle_arrival(self._cluster.arrivals.get_nowait())
        except queue.Empty:
            pass

    def _handle_arrival(self, arrival: Arrival) -> None:
        task_record = self._tasks.pop(arrival.sent_task, None)
        if task_record is None:  # dropped meanwhile
            return
        address, task_id = task_record
        if arrival.sent_task.task_name == worker_tasks.hold.__name__:
            self._record_reference(address, task_id, arrival)
            return
        facts, speech, error = _open_arrival(arrival)
        if member := self._members.get(address):
            self._update_trust(address, member, arrival, error)
        if load := self._placement.machines.get(address):
            load.remove(task_id, self._now())
        if task_id in (worker_tasks.meet.__name__, worker_tasks.ready.__name__):
            if member is not None and not arrival.lost:
                self._handle_answer(address, member, task_id, facts, error)
        elif pending := self._pending.get(task_id):
            pending.sent_tasks.pop(address, None)
            if facts:
                self._handle_take(address, pending, facts, speech)
            else:
                self._forget_reference(member, pending)  # it may never have arrived
                self._resend_or_fail(pending)
        else:
            self.duplicate_count += speech is not None

    def _record_reference(self, address: str, content: str, arrival: Arrival) -> None:
        """Records that a machine has a reference, or did not get it."""
        member = self._members.get(address)
        if member is not None and member.references.get(content) is arrival.sent_task:
            del member.references[content]
            if arrival.answer == content:
                member.references[content] = content

    def _update_trust(self, address: str, member: _Member, arrival: Arrival, error: str) -> None:
        """Doubts a machine whose answer was lost; refuses one that keeps failing."""
        if arrival.lost or error:
            log.warning(
                "%s did not %s: %s", member.name, arrival.sent_task.task_name, arrival.lost or error
            )
        if arrival.lost:
            self._placement.machines.pop(address, None)
            member.phase, member.phase_since = "doubted", self._now()
            return
        member.faults = member.faults + 1 if error else 0
        if member.faults >= MAX_FAULTS:
            self._refuse(address, member, f"what it is asked fails: {error}")

    def _forget_reference(self, member: _Member | None, pending: _PendingRequest) -> None:
        if member is not None and pending.request.reference is not None:
            member.references.pop(pending.request.reference.content, None)

    def _handle_answer(
        self, address: str, member: _Member, task_name: str, facts: Mapping[str, Any], error: str
    ) -> None:
        """Handles a machine's answer to `worker_tasks.meet` or `worker_tasks.ready`."""
        if error or "refused" in facts:
            self._refuse(address, member, error or facts["refused"])
        elif task_name == worker_tasks.ready.__name__:
            self._activate_member(address, member, int(facts["slots"]))
        elif mismatch := self._describe_mismatch(facts):
            self._refuse(address, member, mismatch)
        else:
            member.phase, member.precision = "identified", str(facts["precision"])

    def _handle_take(
        self,
        address: str,
        pending: _PendingRequest,
        facts: Mapping[str, Any],
        speech: Speech | None,
    ) -> None:
        member, request = self._members.get(address), pending.request
        if "refused" in facts:
            if member is not None:
                self._refuse(address, member, facts["refused"])
            self._resend_or_fail(pending)
            return
        if "lacks" in facts:  # the machine keeps only what it used recently
            if facts["lacks"] == "reference":
                self._forget_reference(member, pending)
            self._state_origins.pop(_prompt_start_mark(request), None)
            self._enqueue(pending)
            return
        if speech is None:
            self._fail_request(pending, facts["failure"])
            return
        if speech.state is not None and len(speech.state):
            self._state_origins[codec.state_mark(speech.state[:1])] = address, facts["mark"]
            while len(self._state_origins) > _MAX_STATE_ORIGINS:
                del self._state_origins[next(iter(self._state_origins))]
        if member is not None:
            member.speech_seconds += len(speech.samples) / self._engine.sample_rate
            log.info("%s spoke %s, attempt %d, in %.1f s", member.name, request.key,
                     request.attempt + 1, facts["took"])  # fmt: skip
        if machine := self._placement.machines.get(address):
            machine.learn(request.expected, float(facts["took"]))
            machine.slots = max(1, int(facts["slots"]))
        self._finish_request(pending, Outcome(request.key, request.attempt, speech=speech))

    def _fail_request(self, pending: _PendingRequest, reason: str) -> None:
        request = pending.request
        self._finish_request(
            pending, Outcome(request.key, request.attempt, failure=EngineFailure(reason))
        )

    def _finish_request(self, pending: _PendingRequest, outcome: Outcome) -> None:
        del self._pending[pending.id]
        self._placement.waiting.pop(pending.id, None)
        self._outcomes.append(outcome)

    # -- figures

    def _update_figures(self) -> None:
        now, slots = self._now(), self._placement.slots
        # as many again wait here, so that faster machines can get longer chains
        self.slots, self.spare = slots, max(2, slots)
        if not self._note_throttle.is_due(now):
            return
        busy_slots = sum(
            min(load.slots, len(load.in_flight)) for load in self._placement.machines.values()
        )
        if self._pending:
            self._busy_slot_seconds += (now - self._reported_at) * busy_slots
            self._slot_seconds += (now - self._reported_at) * slots
        self._reported_at = now
        self.busy = self._busy_slot_seconds / self._slot_seconds if self._slot_seconds else 0.0
        self.note = self._describe_machines(_MAX_LISTED_MACHINES)
        self._note_throttle.record_run(now, self._now())

    def _describe_machines(self, limit: int) -> str:
        """Describes the machines that speak: "2 machines, 12 slots: studio 8.1 x, mini 2.2 x"."""
        members = sorted(
            (
                member
                for address, member in self._members.items()
                if address in self._placement.machines
            ),
            key=lambda member: -member.speech_seconds,
        )
        if not members:
            return self._describe_lack()
        now = self._now()
        speeds = ", ".join(
            f"{member.name} {member.speech_seconds / max(1.0, now - member.joined_at):.1f} x"
            for member in members[:limit]
        )
        omission = f" and {len(members) - limit} more" if len(members) > limit else ""
        machine_count = "1 machine" if len(members) == 1 else f"{len(members)} machines"
        resent_note = f", {self.resent_count} sent again" if self.resent_count else ""
        return f"{machine_count}, {self._placement.slots} slots{resent_note}: {speeds}{omission}"

    def _describe_lack(self) -> str:
        """Explains why no machine speaks, and what to do."""
        if self._is_scheduler_away:
            return "the cluster's scheduler does not answer"
        if any(
            member.phase in ("new", "identified", "loading") for member in self._members.values()
        ):
            return "machines get ready"
        refused_count = sum(member.phase == "refused" for member in self._members.values())
        refusal_note = f", {refused_count} refused" if refused_count else ""
        return (
            f"no machine speaks{refusal_note}: `narrator worker` on one that has "
            f"{self._engine.name}"
        )


def _prompt_start_mark(request: Request) -> str:
    """Returns the mark of the first step of a prompt's state, which equals that of the take it was
    cut from; "" without a state."""
    prompt = request.prompt
    if prompt is None or prompt.state is None or not len(prompt.state):
        return ""
    return codec.state_mark(prompt.state[:1])


def _open_arrival(arrival: Arrival) -> tuple[dict[str, Any], Speech | None, str]:
    """Returns an arrival's facts, its speech if it has one, and an error ("" if none)."""
    if arrival.error or arrival.lost:
        return {}, None, arrival.error
    try:
        facts, arrays = codec.unpack_parcel(arrival.answer)
        speech_facts = facts.get("speech")
        return (
            facts,
            None if speech_facts is None else codec.decode_speech(speech_facts, arrays),
            "",
        )
    except codec.DamagedParcel as error:
        return {}, None, str(error)
