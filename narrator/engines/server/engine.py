"""A speech server as an engine: answers a plan without using the network.

Keys contain what the manifest says about the server. When a session starts, the server is asked
which model it has, and this is compared with its earlier answer, so that a book does not get takes
of two models unnoticed. Knows nothing of chapters and takes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from narrator import keys
from narrator.engines import Engine, ignore_message
from narrator.engines.server.dialects import (
    dialect_spec_of,
    format_of,
    sample_rate_of,
    server_voice_name,
    settings_errors,
)
from narrator.engines.server.remote_server import DEFAULT_PATIENCE, Patience, RemoteServer
from narrator.engines.server.session import ServerSession
from narrator.engines.server.settings import ServerSettings, parse_address
from narrator.engines.server.wire import Wire, key_from
from narrator.engines.voice import CASTING, Voice
from narrator.errors import EngineUnavailable, Problem

SAMPLER = 1
"""Version of the requests: raised when the same chunk is requested in another form."""


class ServerEngine(Engine):
    """A speech server; cheap until started. `cache` is the folder of the file with facts that
    servers reported."""

    name = "server"

    def __init__(
        self, settings: ServerSettings, *, cache: Path, patience: Patience = DEFAULT_PATIENCE
    ) -> None:
        self.settings, self.patience = settings, patience
        self.dialect_spec = dialect_spec_of(settings)
        self.sample_rate = sample_rate_of(settings)
        self.continues, self.clones = self.dialect_spec.continues, self.dialect_spec.clones
        self.anchors = self.dialect_spec.anchors
        self.max_context_seconds = self.dialect_spec.max_context_seconds
        self.sound_parameters = self.dialect_spec.sound_parameters
        self.casting_parameters = self.dialect_spec.casting_parameters
        self._facts_file = cache / "servers.json"

    # -- for the plan

    @property
    def public_name(self) -> str:
        """Names the model of the manifest, unless that is a folder of the server, and its
        version."""
        settings = self.settings
        is_named = settings.model != "auto" and not re.match(r"[/.~]|\w:", settings.model)
        model = settings.model if is_named else ""
        facts = " ".join(filter(None, (model, settings.version)))
        return f"{self.name} ({facts})" if facts else self.name

    def identity(self) -> Mapping[str, Any]:
        """Returns dialect, server, model and version of the manifest, and the form of requests."""
        settings = self.settings
        place = "" if settings.url is None else parse_address(settings.url).place
        identity: dict[str, Any] = {
            "name": self.name,
            "sampler": SAMPLER,
            "dialect": settings.dialect,
            "server": settings.known_as or place,
            "model": settings.model,
            "format": format_of(settings),
            "rate": self.sample_rate,
        }
        if settings.version is not None:
            identity["version"] = settings.version
        if settings.instructions:
            identity["instructions"] = True
        return identity

    def voice_content(self, voice: Voice, language: str) -> Mapping[str, Any]:
        """Returns the server's name of the voice, or its reference, or what it is cast from."""
        if not self.clones:
            return {"voice": server_voice_name(voice)}
        if voice.content is not None:
            return {"reference": voice.content}
        recipe = {"casting": CASTING, "description": voice.description, "seed": voice.seed}
        return recipe if voice.description else {**recipe, "speaker": voice.speaker}

    def problems(self, voices: Mapping[str, Voice], languages: Sequence[str]) -> Sequence[Problem]:
        errors = settings_errors(self.settings, voices)
        return [Problem(None, None, error) for error in errors]

    def start(self, tell: Callable[[str], None] = ignore_message) -> ServerSession:
        """Asks the server for its identity. Raises EngineUnavailable, StorageError."""
        server = self.server()
        server.check_identity(server.wait_until_ready(tell), tell)
        return ServerSession(server, self.dialect_spec, tell)

    def server(self) -> RemoteServer:
        """Returns the manifest's server. Raises EngineUnavailable without the key that it names."""
        settings = self.settings
        if settings.url is None:
            raise EngineUnavailable("; ".join(settings_errors(settings, {})))
        return RemoteServer(
            settings,
            Wire(parse_address(settings.url), key_from(settings.key)),
            self.sample_rate,
            self.patience,
            keys.key(self.identity()),
            self._facts_file,
        )
