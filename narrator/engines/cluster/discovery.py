"""Questions to a cluster's machines outside of a session: their engines, and encoding a clip."""

from __future__ import annotations

import queue
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import closing, suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from narrator import keys
from narrator.engines import ignore_message
from narrator.engines.cluster import codec, worker_tasks
from narrator.engines.cluster.client import Cluster, DaskCluster, MachineInfo
from narrator.engines.cluster.credentials import ClusterPlace
from narrator.engines.voice import Reference
from narrator.errors import EngineUnavailable

ANSWER_TIMEOUT = 60.0
"""Seconds for machines to describe their engines; the first time they hash the model's files."""
ENCODE_TIMEOUT = 600.0
"""Seconds to load a model and encode a clip."""

Facts = dict[str, Any]


def list_machines(place: ClusterPlace) -> Mapping[str, MachineInfo]:
    """Returns the cluster's machines by address. Raises EngineUnavailable."""
    with closing(DaskCluster(place, ignore_message)) as cluster:
        return cluster.machines() or {}


def list_refusals(place: ClusterPlace, settings: Mapping[str, Any]) -> Mapping[str, str]:
    """Returns, by name, why each machine that has the engine cannot speak with these settings; ""
    for those that can. Raises EngineUnavailable when no scheduler accepts the connection."""
    with closing(DaskCluster(place, ignore_message)) as cluster:
        machines_by_address = cluster.machines() or {}
        facts_by_address = _meet_machines(cluster, settings)
    candidates = {
        address: machine
        for address, machine in machines_by_address.items()
        if settings["name"] in machine.engines
    }
    refusals: dict[str, str] = {}
    for address, machine in candidates.items():
        facts = facts_by_address.get(address, {"refused": "it gives no answer"})
        refusals[machine.name] = facts.get("refused", "")
        if "refused" not in facts and not codec.is_same_version(facts):
            refusals[machine.name] = f"it has narrator {facts['narrator']}"
    return refusals


def find_identity_record(place: ClusterPlace, settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns the identity record (`Engine.identity_record`) that most machines have for these
    settings; empty when none has it. Raises EngineUnavailable when no scheduler accepts the
    connection."""
    with closing(DaskCluster(place, ignore_message)) as cluster:
        all_facts = _meet_machines(cluster, settings).values()
    records = [facts["memory"] for facts in all_facts if "memory" in facts]
    counts = Counter(map(keys.key, records))
    return max(records, key=lambda record: counts[keys.key(record)], default={})


def encode_remotely(
    place: ClusterPlace,
    settings: Mapping[str, Any],
    identity: Mapping[str, Any],
    reference: Reference,
) -> Mapping[str, NDArray[np.float32]]:
    """As `Engine.encode_reference`, by the first machine whose engine has these settings and this
    identity.

    Raises EngineUnavailable.
    """
    scheduler_address, identity_key = place.address, keys.key(identity)
    reason = f"no machine of {scheduler_address} has this model"
    with closing(DaskCluster(place, ignore_message)) as cluster:
        facts_by_address = _meet_machines(cluster, settings)
        addresses = [
            address
            for address, facts in facts_by_address.items()
            if "identity" in facts and keys.key(facts["identity"]) == identity_key
        ]
        for address in addresses:
            sent_reference = cluster.send(
                address, worker_tasks.hold, codec.encode_reference(reference)
            )
            cluster.send(
                address,
                worker_tasks.encode,
                codec.pack_parcel({"settings": settings}),
                sent_reference,
            )
            facts, arrays = _collect_answers(
                cluster, worker_tasks.encode.__name__, 1, ENCODE_TIMEOUT
            ).get(address, ({}, {}))
            if "names" in facts:
                return codec.decode_latents(facts["names"], arrays)
            refusal = facts.get("refused", "it gave no answer")
            reason = f"a voice is not encoded at {scheduler_address}: {refusal}"
    raise EngineUnavailable(reason)


def _meet_machines(
    cluster: Cluster, settings: Mapping[str, Any]
) -> Mapping[str, Mapping[str, Any]]:
    """Returns the facts of the machines that have the engine, by address."""
    machines_by_address = cluster.machines() or {}
    addresses = [
        address
        for address, machine in machines_by_address.items()
        if settings["name"] in machine.engines
    ]
    for address in addresses:
        cluster.send(address, worker_tasks.meet, codec.encode_question(settings))
    answers = _collect_answers(cluster, worker_tasks.meet.__name__, len(addresses), ANSWER_TIMEOUT)
    return {address: facts for address, (facts, _) in answers.items()}


def _collect_answers(
    cluster: Cluster, task_name: str, max_count: int, timeout_s: float
) -> dict[str, tuple[Facts, dict[str, NDArray[Any]]]]:
    """Collects up to so many answers to a task until the timeout, by address."""
    answers: dict[str, tuple[Facts, dict[str, NDArray[Any]]]] = {}
    deadline = time.monotonic() + timeout_s
    missing_count = max_count
    while missing_count and (remaining_seconds := deadline - time.monotonic()) > 0:
        try:
            arrival = cluster.arrivals.get(timeout=remaining_seconds)
        except queue.Empty:
            break
        if arrival.sent_task.task_name != task_name:
            continue
        missing_count -= 1
        if not (arrival.error or arrival.lost):
            with suppress(codec.DamagedParcel):
                answers[arrival.sent_task.address] = codec.unpack_parcel(arrival.answer)
    return answers
