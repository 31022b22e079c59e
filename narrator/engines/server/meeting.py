"""A server in person: whether it is there, what it says it is, and whether it is still the same.

Nothing is spoken here, and no text or clip is sent.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from narrator import files
from narrator.characters import quoted
from narrator.engines.server.settings import ServerSettings
from narrator.engines.server.wire import Setback, Wire
from narrator.errors import EngineUnavailable

LOOK = 15.0
"""Seconds for a question that needs no speech."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long and how often a server is asked again; seconds."""

    first: float = 0.5
    """Before the second time; doubled each time after."""
    most: float = 30.0
    gone: float = 300.0
    """In which nothing was heard of it: loading a model takes minutes."""
    cuts: int = 3
    """Answers to one request that may break off, or not come in time."""
    turned: int = 8
    """Times that one request may be turned away."""
    failed: int = 8
    """Chunks that may fail, none of the others speaking between, before it is the server."""

    def pause(self, times: int) -> float:
        """Before a request goes out again that has been out so many times."""
        return min(self.most, self.first * 2.0 ** min(times - 1, 16))


USUAL = Patience()


@dataclass(frozen=True, slots=True)
class RemoteServer:
    """One that a manifest names."""

    settings: ServerSettings
    wire: Wire
    rate: int
    """Hz of its takes, whatever it answers in."""
    patience: Patience
    mark: str
    """What it is in keys, hashed."""
    said_before: Path
    """The file in which it is kept what servers said of themselves."""

    def met(self, tell: Callable[[str], None]) -> Mapping[str, Any]:
        """As `look`; waits for one that is loading its model. Raises EngineUnavailable."""
        until, waits = time.monotonic() + self.patience.gone, 0
        while True:
            try:
                return self.look()
            except Setback as setback:
                loading = setback.status and setback.sort in ("gone", "busy")
                if not loading or time.monotonic() > until:
                    raise EngineUnavailable(self.unreached(setback)) from setback
                if not waits:
                    tell(f"waiting for {self.wire.address}, which is not ready ({setback.said})")
                waits += 1
                time.sleep(min(5.0, self.patience.pause(waits)))

    def unreached(self, setback: Setback) -> str:
        """Why it does not speak, with what to do."""
        where = "" if str(self.wire.address) in setback.said else f"{self.wire.address}: "
        mend = ""
        if setback.sort == "gone":
            mend = ": is it running there? Look at `engine.url`"
        return f"speech server: {where}{setback.said}{mend}"

    def look(self) -> Mapping[str, Any]:
        """What the server says of itself, for people and to be compared; empty where it says
        nothing. Raises Setback where it is not there, or not ready."""
        if self.settings.dialect == "nano-vllm-voxcpm":
            _asked(self.wire, "/ready")
            model = _asked(self.wire, "/info").get("model")
            model = model if isinstance(model, dict) else {}
            said = {"model": model.get("model_path"), "rate": model.get("sample_rate")}
        else:
            listed = _asked(self.wire, "/v1/models", optional=True).get("data")
            rows = [row for row in listed if isinstance(row, dict)] if listed else []
            said = {"models": sorted(str(row.get("id")) for row in rows)}
            if self.settings.dialect == "vllm-omni":
                said["version"] = _asked(self.wire, "/version", optional=True).get("version")
        return {name: value for name, value in said.items() if value}

    def recognise(self, said: Mapping[str, Any], tell: Callable[[str], None]) -> None:
        """Compare what it says of itself with what it said when takes were made, and keep it; tell
        of a model that it does not list.

        Raises EngineUnavailable where that is not the same, StorageError.
        """
        if unlisted := self.unlisted(said):
            tell(f"the server {unlisted}")
        if not said or self.settings.dialect == "openai":  # its models come and go
            return
        said = json.loads(json.dumps(said))
        known, mark = _known(self.said_before), self.mark
        before = known.get(mark)
        if before is None:
            files.save_json(self.said_before, {**known, mark: said})
        elif before != said:
            raise EngineUnavailable(
                f"the server says that it is {described(said)}; when takes were made it was "
                f"{described(before)}. Set another `engine.version` to have them made anew, or "
                f"delete {self.said_before} to keep them"
            )

    def unlisted(self, said: Mapping[str, Any]) -> str:
        """That it does not list the model, in words; "" where it does, or lists none."""
        listed, model = said.get("models", ()), self.settings.model
        if model != "auto" and listed and model not in listed:
            some = ", ".join(listed)[:200]
            return f"does not list the model '{quoted(model)}', but {quoted(some, 200)}"
        return ""


def described(said: Mapping[str, Any]) -> str:
    """What a server says of itself, in words."""
    parts = (
        f"{name} {', '.join(value) if isinstance(value, list) else value}"
        for name, value in said.items()
    )
    return quoted(", ".join(parts), 200) or "nothing that it would name"


_UNSAID = frozenset((403, 404, 405, 501))
"""Of servers, and keys, that speak and do not say what with."""


def _asked(wire: Wire, path: str, *, optional: bool = False) -> Mapping[str, Any]:
    """A small answer in JSON; {} for another, and for none where it is `optional`.

    Raises Setback.
    """
    found: object = None
    try:
        heard = wire.call("GET", path, timeout=LOOK).send()
    except Setback as setback:
        if not optional or (setback.sort != "bad" and setback.status not in _UNSAID):
            raise
        return {}
    with contextlib.suppress(ValueError, RecursionError):
        found = json.loads(heard.body)
    return found if isinstance(found, dict) else {}


def _known(path: Path) -> Mapping[str, Any]:
    found = files.load_json(path, {})
    return found if isinstance(found, dict) else {}
