"""An engine whose sessions are a cluster's: all that a plan asks is the engine's own answer.

So a book has the same keys wherever it is spoken. Nothing is loaded on this machine.
"""

from __future__ import annotations

import queue
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from narrator import __version__, keys
from narrator.engines import Engine, quiet
from narrator.engines.cluster import far, parcels
from narrator.engines.cluster.credentials import ClusterPlace
from narrator.engines.cluster.reaching import Cluster, DaskCluster, MachineSeen
from narrator.engines.cluster.session import ClusterSession
from narrator.engines.voice import Reference, Voice
from narrator.errors import EngineUnavailable, Problem

ANSWERS = 60.0
"""Seconds for machines to say what they have: the first time a model's bytes are named."""
ENCODES = 600.0
"""Seconds for a model to be loaded, and a clip encoded."""


class ClusterEngine:
    """What `engine` is, spoken by a cluster; `settings` are what makes it on another machine."""

    def __init__(self, engine: Engine, settings: Mapping[str, Any], place: ClusterPlace) -> None:
        self.inner, self.place = engine, place
        self._settings = dict(settings)
        self.name, self.sample_rate = engine.name, engine.sample_rate
        self.continues, self.clones = engine.continues, engine.clones
        self.anchors, self.horizon = engine.anchors, engine.horizon
        self.uses, self.casting = engine.uses, engine.casting

    # -- what the plan asks

    def identity(self) -> Mapping[str, Any]:
        return self.inner.identity()

    def memory(self) -> Mapping[str, Any]:
        return self.inner.memory()

    def voice_content(self, voice: Voice, language: str) -> Mapping[str, Any]:
        return self.inner.voice_content(voice, language)

    def imitates(self, voice: Voice) -> bool:
        return self.inner.imitates(voice)

    def speaks(self, language: str) -> bool:
        return self.inner.speaks(language)

    def problems(self, voices: Mapping[str, Voice], languages: Sequence[str]) -> Sequence[Problem]:
        return self.inner.problems(voices, languages)

    def precision(self) -> str:
        """What its machines agree on, when they are met."""
        return ""

    def wants(self) -> int:
        return 0

    def release(self) -> None:
        """Machines make room for their engines themselves."""

    # -- what its machines do

    def start(self, tell: Callable[[str], None] = quiet) -> ClusterSession:
        """Raises EngineUnavailable where no scheduler lets us in."""
        tell(f"looking for the machines of {self.place.address}")
        return ClusterSession(self, self._settings, DaskCluster(self.place, tell), tell)

    def encoded(self, reference: Reference) -> Mapping[str, NDArray[np.float32]]:
        """As `Engine.encoded`, by the first machine that would speak as the plan has it.

        Raises EngineUnavailable.
        """
        cluster = DaskCluster(self.place, quiet)
        try:
            wanted = keys.key(self.identity())
            fit = [at for at, one in _met(cluster, self.name, self._settings).items()
                   if "identity" in one and keys.key(one["identity"]) == wanted]  # fmt: skip
            if not fit:
                raise EngineUnavailable(f"no machine of {self.place.address} has this model")
            held = cluster.send(fit[0], far.hold, parcels.of_reference(reference))
            asked = parcels.packed({"settings": self._settings})
            cluster.send(fit[0], far.encode, asked, held)
            answers = _answers(cluster, far.encode.__name__, 1, ENCODES)
        finally:
            cluster.close()
        for facts, arrays in answers.values():
            if "names" in facts:
                return {name: arrays[f"latents{n}"] for n, name in enumerate(facts["names"])}
            raise EngineUnavailable(facts.get("refused", "a machine lost the clip: again"))
        raise EngineUnavailable(f"no machine of {self.place.address} has encoded the voice")


def machines(place: ClusterPlace) -> Mapping[str, MachineSeen]:
    """Who is there, by address. Raises EngineUnavailable."""
    cluster = DaskCluster(place, quiet)
    try:
        return cluster.machines() or {}
    finally:
        cluster.close()


def memory_there(name: str, settings: Mapping[str, Any], place: ClusterPlace) -> Mapping[str, Any]:
    """What most machines of a cluster would have remembered of an engine of these settings; nothing
    where none has it. Raises EngineUnavailable where no scheduler lets us in."""
    cluster = DaskCluster(place, quiet)
    try:
        said = [one["memory"] for one in _met(cluster, name, settings).values()
                if "memory" in one]  # fmt: skip
    finally:
        cluster.close()
    counts = Counter(map(keys.key, said))
    return max(said, key=lambda one: counts[keys.key(one)], default={})


def _met(
    cluster: Cluster, name: str, settings: Mapping[str, Any]
) -> Mapping[str, Mapping[str, Any]]:
    """What machines with an engine say of themselves, by address."""
    there = [at for at, one in (cluster.machines() or {}).items() if name in one.engines]
    asked = parcels.packed({"settings": settings, "narrator": __version__, "form": parcels.FORM})
    for address in there:
        cluster.send(address, far.meet, asked)
    found = _answers(cluster, far.meet.__name__, len(there), ANSWERS)
    return {address: facts for address, (facts, _) in found.items()}


def _answers(
    cluster: Cluster, task: str, count: int, seconds: float
) -> dict[str, tuple[dict[str, Any], dict[str, NDArray[Any]]]]:
    """As many answers to a task as come in so many seconds, by address; the rest has none."""
    found: dict[str, tuple[dict[str, Any], dict[str, NDArray[Any]]]] = {}
    until = time.monotonic() + seconds
    while count and (left := until - time.monotonic()) > 0:
        try:
            arrival = cluster.arrived.get(timeout=left)
        except queue.Empty:
            break
        if arrival.sent.what != task:
            continue
        count -= 1
        if not arrival.error:
            found[arrival.sent.address] = parcels.unpacked(arrival.answer)
    return found
