"""Speech by a server elsewhere; this module describes it without using the network.

settings.py       its settings in a manifest
dialects.py       the abilities of each kind of server, and the form of its requests
engine.py         answers to a plan
remote_server.py  whether a server is ready, and still has the model of earlier takes
session.py        requests side by side
wire.py           one request and its complete answer
audio.py          clips as WAV, and answers as samples
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from narrator.engines import Engine
from narrator.engines.server.settings import (
    ServerSettings,
    ServerVoice,
    cost,
    parse_address,
)
from narrator.engines.spec import EngineContext, EngineSettings, EngineSpec
from narrator.engines.voice import Cast
from narrator.errors import EngineUnavailable, Problem, UserError


class ServerSpec(EngineSpec):
    """A speech server: languages and scripts are its model's affair."""

    name = "server"
    title = "a speech server"
    settings = ServerSettings
    chapter_settings = ("cfg", "seed")
    voice = ServerVoice
    runs_on_clusters = False  # it speaks elsewhere already

    def make(
        self, settings: EngineSettings, context: EngineContext, tell: Callable[[str], None]
    ) -> Engine:
        from narrator.engines.server.dialects import settings_errors
        from narrator.engines.server.engine import ServerEngine

        assert isinstance(settings, ServerSettings)
        if errors := list(settings_errors(settings, {})):
            raise UserError(Problem(None, None, error) for error in errors)
        return ServerEngine(settings, cache=context.cache)

    def sample_rate(self, settings: EngineSettings) -> int:
        from narrator.engines.server.dialects import sample_rate_of

        assert isinstance(settings, ServerSettings)
        return sample_rate_of(settings)

    def speaks(self, language: str) -> bool:
        raise EngineUnavailable("which languages a server speaks is its model's affair")

    def problems(self, settings: EngineSettings, voices: Cast) -> Iterable[str]:
        from narrator.engines.server.dialects import settings_errors

        assert isinstance(settings, ServerSettings)
        return settings_errors(settings, voices)

    def unsupported(self, settings: EngineSettings) -> Mapping[str, str]:
        from narrator.engines.server.dialects import unsupported

        assert isinstance(settings, ServerSettings)
        advice = dict(unsupported(settings))
        address = parse_address(settings.url) if settings.url else None
        if address and not address.is_here and not address.secure:
            advice["key"] = "it goes over http, which others on the way can read: use https"
        return advice

    def cost(self, settings: EngineSettings, characters: int) -> str:
        assert isinstance(settings, ServerSettings)
        return cost(settings.price, characters) if settings.price else ""


SPEC = ServerSpec()


def describe_server(settings: EngineSettings) -> str:
    """Describes a server by its own report, without speaking. Raises EngineUnavailable."""
    from narrator.engines.server.dialects import settings_errors
    from narrator.engines.server.engine import ServerEngine
    from narrator.engines.server.remote_server import describe_facts
    from narrator.engines.server.wire import Setback

    assert isinstance(settings, ServerSettings)
    if problems := list(settings_errors(settings, {})):
        raise EngineUnavailable("; ".join(problems))
    server = ServerEngine(settings, cache=Path()).server()
    try:
        facts: Mapping[str, Any] = server.request_facts()
    except Setback as setback:
        raise EngineUnavailable(server.describe_setback(setback)) from setback
    messages = server.describe_unlisted(facts) or describe_facts(facts)
    return f"{server.wire.address} answers as {settings.dialect}: {messages}"
