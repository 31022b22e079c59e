"""What a cluster's machines are asked outside of a session: who they are, and to encode a clip."""

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
from narrator.engines import quiet
from narrator.engines.cluster import far, parcels
from narrator.engines.cluster.credentials import ClusterPlace
from narrator.engines.cluster.reaching import Cluster, DaskCluster, MachineSeen
from narrator.engines.voice import Reference
from narrator.errors import EngineUnavailable

ANSWERS = 60.0
"""Seconds for machines to say what they have: the first time a model's bytes are named."""
ENCODES = 600.0
"""Seconds for a model to be loaded, and a clip encoded."""

Facts = dict[str, Any]


def machines(place: ClusterPlace) -> Mapping[str, MachineSeen]:
    """Who is there, by address. Raises EngineUnavailable."""
    with closing(DaskCluster(place, quiet)) as cluster:
        return cluster.machines() or {}


def unable_there(place: ClusterPlace, settings: Mapping[str, Any]) -> Mapping[str, str]:
    """The machines that have an engine of these settings by name, and why each cannot speak with
    it: "" of those that can. Raises EngineUnavailable where no scheduler lets us in."""
    with closing(DaskCluster(place, quiet)) as cluster:
        seen = cluster.machines() or {}
        met = _met(cluster, settings)
    able = {at: one for at, one in seen.items() if settings["name"] in one.engines}
    found: dict[str, str] = {}
    for address, one in able.items():
        facts = met.get(address, {"refused": "it gives no answer"})
        found[one.name] = facts.get("refused", "")
        if "refused" not in facts and not parcels.is_ours(facts):
            found[one.name] = f"it has narrator {facts['narrator']}"
    return found


def memory_there(place: ClusterPlace, settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """What most machines of a cluster would have remembered of an engine of these settings; nothing
    where none has it. Raises EngineUnavailable where no scheduler lets us in."""
    with closing(DaskCluster(place, quiet)) as cluster:
        met = _met(cluster, settings).values()
    said = [one["memory"] for one in met if "memory" in one]
    counts = Counter(map(keys.key, said))
    return max(said, key=lambda one: counts[keys.key(one)], default={})


def encoded_there(
    place: ClusterPlace,
    settings: Mapping[str, Any],
    identity: Mapping[str, Any],
    reference: Reference,
) -> Mapping[str, NDArray[np.float32]]:
    """As `Engine.encode_reference`, by the first machine whose engine has these settings and an
    identity.

    Raises EngineUnavailable.
    """
    where, wanted = place.address, keys.key(identity)
    why = f"no machine of {where} has this model"
    with closing(DaskCluster(place, quiet)) as cluster:
        met = _met(cluster, settings)
        fit = [at for at, one in met.items()
               if "identity" in one and keys.key(one["identity"]) == wanted]  # fmt: skip
        for address in fit:
            held = cluster.send(address, far.hold, parcels.of_reference(reference))
            cluster.send(address, far.encode, parcels.packed({"settings": settings}), held)
            facts, arrays = _answers(cluster, far.encode.__name__, 1, ENCODES).get(
                address, ({}, {})
            )
            if "names" in facts:
                return parcels.to_latents(facts["names"], arrays)
            why = f"a voice is not encoded at {where}: {facts.get('refused', 'it gave no answer')}"
    raise EngineUnavailable(why)


def _met(cluster: Cluster, settings: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
    """What machines with an engine say of themselves, by address."""
    seen = cluster.machines() or {}
    there = [at for at, one in seen.items() if settings["name"] in one.engines]
    for address in there:
        cluster.send(address, far.meet, parcels.of_question(settings))
    found = _answers(cluster, far.meet.__name__, len(there), ANSWERS)
    return {address: facts for address, (facts, _) in found.items()}


def _answers(
    cluster: Cluster, task: str, count: int, seconds: float
) -> dict[str, tuple[Facts, dict[str, NDArray[Any]]]]:
    """As many answers to a task as come in so many seconds, by address; the rest has none."""
    found: dict[str, tuple[Facts, dict[str, NDArray[Any]]]] = {}
    until = time.monotonic() + seconds
    while count and (left := until - time.monotonic()) > 0:
        try:
            arrival = cluster.arrived.get(timeout=left)
        except queue.Empty:
            break
        if arrival.sent.what != task:
            continue
        count -= 1
        if not (arrival.error or arrival.lost):
            with suppress(parcels.Damaged):
                found[arrival.sent.address] = parcels.unpacked(arrival.answer)
    return found
