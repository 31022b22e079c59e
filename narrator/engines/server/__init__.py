"""Speech by a server elsewhere: here what is known of it without asking anybody.

settings.py    what a manifest says of a server
dialects.py    what each kind of server can be asked, and how
engine.py      what a plan asks
meeting.py     a server is met: what it says of itself, and whether it is the same
session.py     requests side by side
wire.py        one request and its whole answer
sounds.py      sound as it travels
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from narrator.engines import Engine
from narrator.engines.kind import EngineHome, EngineKind, EngineSettings
from narrator.engines.server.settings import (
    ServerOverrides,
    ServerSettings,
    ServerVoice,
    address_of,
    cost,
)
from narrator.engines.voice import Voice
from narrator.errors import EngineUnavailable, Problem, UserError


def _make(settings: EngineSettings, home: EngineHome, tell: Callable[[str], None]) -> Engine:
    from narrator.engines.server.dialects import refused
    from narrator.engines.server.engine import ServerEngine

    assert isinstance(settings, ServerSettings)
    if problems := list(refused(settings, {})):
        raise UserError(Problem(None, None, said) for said in problems)
    return ServerEngine(settings, cache=home.cache)


def _speaks(language: str) -> bool:
    raise EngineUnavailable("which languages a server speaks is its model's affair")


def _refused(settings: EngineSettings, voices: Mapping[str, Voice]) -> Iterator[str]:
    from narrator.engines.server.dialects import refused

    assert isinstance(settings, ServerSettings)
    return refused(settings, voices)


def _unasked(settings: EngineSettings) -> Mapping[str, str]:
    from narrator.engines.server.dialects import not_asked

    assert isinstance(settings, ServerSettings)
    found = dict(not_asked(settings))
    to = address_of(settings.url) if settings.url else None
    if to and not to.is_here and not to.secure:
        found["key"] = "it goes over http, which others on the way can read: use https"
    return found


def _rate(settings: EngineSettings) -> int:
    from narrator.engines.server.dialects import rate_of

    assert isinstance(settings, ServerSettings)
    return rate_of(settings)


def _cost(settings: EngineSettings, characters: int) -> str:
    assert isinstance(settings, ServerSettings)
    return cost(settings.price, characters) if settings.price else ""


def look(settings: EngineSettings) -> str:
    """What a server says of itself, in words; nothing is spoken. Raises EngineUnavailable."""
    from narrator.engines.server.dialects import refused
    from narrator.engines.server.engine import ServerEngine
    from narrator.engines.server.meeting import described
    from narrator.engines.server.wire import Setback

    assert isinstance(settings, ServerSettings)
    if problems := list(refused(settings, {})):
        raise EngineUnavailable("; ".join(problems))
    server = ServerEngine(settings, cache=Path()).server()
    try:
        said: Mapping[str, Any] = server.look()
    except Setback as setback:
        raise EngineUnavailable(server.unreached(setback)) from setback
    told = server.unlisted(said) or described(said)
    return f"{server.wire.address} answers as {settings.dialect}: {told}"


KIND = EngineKind(
    name="server",
    settings=ServerSettings,
    overrides=ServerOverrides,
    voice=ServerVoice,
    sample_rate=_rate,
    speaks=_speaks,
    spells=frozenset(),  # its model's affair, too
    make=_make,
    refused=_refused,
    unasked=_unasked,
    travels=False,  # it speaks elsewhere already
    cost=_cost,
)
