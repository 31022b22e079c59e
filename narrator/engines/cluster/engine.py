"""An engine whose sessions run on a cluster; everything else is answered by the engine itself.

So a book has the same keys wherever it is spoken. No model is loaded on this machine, and Dask only
when the engine is started.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from narrator.engines import Engine, Session, SilentPart, ignore_message
from narrator.engines.cluster.credentials import ClusterPlace
from narrator.engines.voice import Reference, Voice
from narrator.errors import Problem


class ClusterEngine(Engine):
    """`engine`, spoken by a cluster; `settings` make the engine on another machine."""

    def __init__(self, engine: Engine, settings: Mapping[str, Any], place: ClusterPlace) -> None:
        self.inner, self.place = engine, place
        self.settings = dict(settings)
        self.name, self.sample_rate = engine.name, engine.sample_rate
        self.continues, self.clones = engine.continues, engine.clones
        self.is_trained = engine.is_trained
        self.has_speed = engine.has_speed
        self.anchors, self.max_context_seconds = engine.anchors, engine.max_context_seconds
        self.sound_parameters = engine.sound_parameters
        self.casting_parameters = engine.casting_parameters

    # -- answered by the engine

    @property
    def public_name(self) -> str:
        return self.inner.public_name

    def identity(self) -> Mapping[str, Any]:
        return self.inner.identity()

    def identity_record(self) -> Mapping[str, Any]:
        return self.inner.identity_record()

    def voice_content(self, voice: Voice, language: str) -> Mapping[str, Any]:
        return self.inner.voice_content(voice, language)

    def text_content(
        self, text: str, language: str, voice: Voice, pronunciations: Mapping[str, str]
    ) -> Mapping[str, Any]:
        return self.inner.text_content(text, language, voice, pronunciations)

    def named_voices(self) -> Mapping[str, Voice]:
        return self.inner.named_voices()

    def needs_reference(self, voice: Voice) -> bool:
        return self.inner.needs_reference(voice)

    def speaks(self, language: str) -> bool:
        return self.inner.speaks(language)

    def language_advice(self, language: str) -> str:
        return self.inner.language_advice(language)

    def can_say(self, text: str, language: str, pronunciations: Mapping[str, str]) -> bool:
        return self.inner.can_say(text, language, pronunciations)

    def silent_parts(
        self, text: str, language: str, pronunciations: Mapping[str, str]
    ) -> Iterable[SilentPart]:
        return self.inner.silent_parts(text, language, pronunciations)

    def problems(self, voices: Mapping[str, Voice], languages: Sequence[str]) -> Sequence[Problem]:
        return self.inner.problems(voices, languages)

    # -- done by the machines

    def start(self, tell: Callable[[str], None] = ignore_message) -> Session:
        """Raises EngineUnavailable when no scheduler accepts the connection."""
        from narrator.engines.cluster.client import DaskCluster
        from narrator.engines.cluster.session import ClusterSession

        tell(f"looking for the machines of {self.place.address}")
        return ClusterSession(self, self.settings, DaskCluster(self.place, tell), tell)

    def encode_reference(self, reference: Reference) -> Mapping[str, NDArray[np.float32]]:
        """As `Engine.encode_reference`, by the first machine whose engine matches the plan's.

        Raises EngineUnavailable.
        """
        from narrator.engines.cluster import discovery

        return discovery.encode_remotely(self.place, self.settings, self.identity(), reference)
