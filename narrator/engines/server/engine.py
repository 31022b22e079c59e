"""A speech server as an engine: what a plan asks of it, without a word to the network.

What it is in keys is what the manifest says of it. What a server says of itself is asked when a
session starts, and compared with what it said before: takes of two models do not become one book
unnoticed. Knows nothing of chapters and takes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from narrator import keys
from narrator.engines import quiet
from narrator.engines.server.dialects import format_of, manner_of, rate_of, refused, voice_of
from narrator.engines.server.meeting import USUAL, Patience, RemoteServer
from narrator.engines.server.session import ServerSession
from narrator.engines.server.settings import ServerSettings, address_of
from narrator.engines.server.wire import Wire, key_from
from narrator.engines.voice import CASTING, Reference, Voice
from narrator.errors import EngineUnavailable, Problem

SAMPLER = 1
"""Raised when the same request would be put to a server in another way."""


class ServerEngine:
    """A speech server; cheap until started.

    `cache` is the folder where it is kept what servers said of themselves.
    """

    name = "server"

    def __init__(
        self, settings: ServerSettings, *, cache: Path, patience: Patience = USUAL
    ) -> None:
        self.settings, self.patience = settings, patience
        self.manner = manner_of(settings)
        self.sample_rate = rate_of(settings)
        self.continues, self.clones = self.manner.continues, self.manner.clones
        self.anchors, self.horizon = self.manner.anchors, self.manner.horizon
        self.uses: Sequence[str] = self.manner.uses
        self.casting: Mapping[str, Any] = MappingProxyType(dict(self.manner.casting))
        self._said_before = cache / "servers.json"

    # -- what the plan asks

    def identity(self) -> Mapping[str, Any]:
        """Dialect, server, model and version as the manifest has them, and how it is asked."""
        settings = self.settings
        place = "" if settings.url is None else address_of(settings.url).place
        found: dict[str, Any] = {
            "name": self.name,
            "sampler": SAMPLER,
            "dialect": settings.dialect,
            "server": settings.known_as or place,
            "model": settings.model,
            "format": format_of(settings),
            "rate": self.sample_rate,
        }
        if settings.version is not None:
            found["version"] = settings.version
        if settings.instructions:
            found["instructions"] = True
        return found

    def memory(self) -> Mapping[str, Any]:
        """Nothing: its identity is in the manifest."""
        return {}

    def imitates(self, voice: Voice) -> bool:
        return self.clones

    def voice_content(self, voice: Voice, language: str) -> Mapping[str, Any]:
        """The server's name of the voice, or its reference, or what it is cast from."""
        if not self.clones:
            return {"voice": voice_of(voice)}
        if voice.content is not None:
            return {"reference": voice.content}
        recipe = {"casting": CASTING, "description": voice.description, "seed": voice.seed}
        return recipe if voice.description else {**recipe, "speaker": voice.speaker}

    def speaks(self, language: str) -> bool:
        """Nobody here knows: its checks hear what becomes of a language."""
        return True

    def problems(self, voices: Mapping[str, Voice], languages: Sequence[str]) -> Sequence[Problem]:
        return [Problem(None, None, said) for said in refused(self.settings, voices)]

    def encoded(self, reference: Reference) -> Mapping[str, NDArray[np.float32]]:
        """Nothing: clips travel as they are."""
        return {}

    def start(self, tell: Callable[[str], None] = quiet) -> ServerSession:
        """Ask the server what it is. Raises EngineUnavailable, StorageError."""
        server = self.server()
        server.recognise(server.met(tell), tell)
        return ServerSession(server, self.manner, tell)

    def precision(self) -> str:
        return ""

    def wants(self) -> int:
        return 0

    def release(self) -> None:
        """Nothing is held here."""

    def server(self) -> RemoteServer:
        """Who it is to be. Raises EngineUnavailable without a key that the manifest names."""
        settings = self.settings
        if settings.url is None:
            raise EngineUnavailable("; ".join(refused(settings, {})))
        return RemoteServer(
            settings,
            Wire(address_of(settings.url), key_from(settings.key)),
            self.sample_rate,
            self.patience,
            keys.key(self.identity()),
            self._said_before,
        )
