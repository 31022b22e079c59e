"""Checks a speech server: that it is ready, and that it reports the model of earlier takes.

Sends no text and no clip.
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
from narrator.engines.server.settings import ServerSettings
from narrator.engines.server.wire import Setback, Wire
from narrator.errors import EngineUnavailable
from textbase.characters import excerpt

QUESTION_TIMEOUT = 15.0
"""Seconds for a request that needs no speech."""


@dataclass(frozen=True, slots=True)
class Patience:
    """Limits of repeated requests, and the seconds between them."""

    first_pause: float = 0.5
    """Seconds before the second attempt; doubled each time after."""
    max_pause: float = 30.0
    """Seconds."""
    max_outage_s: float = 300.0
    """Seconds without an answer before the run ends; loading a model takes minutes."""
    max_failed_attempts: int = 3
    """Attempts of one request that may break off or time out."""
    max_rejected_attempts: int = 8
    """Attempts of one request that may be rejected because the server is busy or away."""
    max_failed_chunks: int = 8
    """Chunks in a row that may fail before the server is given up."""

    def pause(self, attempt_count: int, setback: Setback | None = None) -> float:
        """Returns the seconds to wait after so many attempts, or those that a setback asks for."""
        if setback is not None and setback.retry_after is not None:
            return setback.retry_after
        return min(self.max_pause, self.first_pause * 2.0 ** min(attempt_count - 1, 16))


DEFAULT_PATIENCE = Patience()


@dataclass(slots=True)
class AttemptCounter:
    """Counts the attempts of one request that did not succeed."""

    patience: Patience
    failed_count: int = 0
    """Attempts that broke off or timed out."""
    rejected_count: int = 0
    """Attempts that were rejected because the server was busy or away."""

    @property
    def count(self) -> int:
        return self.failed_count + self.rejected_count

    @property
    def is_exhausted(self) -> bool:
        """True if the request should be given up."""
        return (
            self.failed_count >= self.patience.max_failed_attempts
            or self.rejected_count >= self.patience.max_rejected_attempts
        )

    def record(self, setback: Setback) -> None:
        """Counts an attempt by the category of its setback."""
        if setback.category in ("busy", "gone"):
            self.rejected_count += 1
        else:
            self.failed_count += 1


@dataclass(frozen=True, slots=True)
class RemoteServer:
    """The server that a manifest names."""

    settings: ServerSettings
    wire: Wire
    rate: int
    """Hz of the takes; answers at other rates are resampled."""
    patience: Patience
    mark: str
    """Hash of its identity in keys."""
    facts_file: Path
    """The file with the facts that servers reported before."""

    def wait_until_ready(self, tell: Callable[[str], None]) -> Mapping[str, Any]:
        """As `request_facts`; waits for one that is loading its model. Raises EngineUnavailable."""
        deadline, wait_count = time.monotonic() + self.patience.max_outage_s, 0
        while True:
            try:
                return self.request_facts()
            except Setback as setback:
                is_loading = setback.status and setback.category in ("gone", "busy")
                if not is_loading or time.monotonic() > deadline:
                    raise EngineUnavailable(self.describe_setback(setback)) from setback
                if not wait_count:
                    tell(f"waiting for {self.wire.address}, which is not ready ({setback.message})")
                wait_count += 1
                time.sleep(min(5.0, self.patience.pause(wait_count)))

    def describe_setback(self, setback: Setback) -> str:
        """Explains why it does not speak, and what to do."""
        return f"speech server: {self.wire.explain(setback)}"

    def request_facts(self) -> Mapping[str, Any]:
        """Asks the server for facts about itself, to show and to compare; empty if it reports none.
        Raises Setback when it is not there, or not ready."""
        if self.settings.dialect == "nano-vllm-voxcpm":
            _get_json(self.wire, "/ready")
            model = _get_json(self.wire, "/info").get("model")
            model = model if isinstance(model, dict) else {}
            facts = {"model": model.get("model_path"), "rate": model.get("sample_rate")}
        else:
            listing = _get_json(self.wire, "/v1/models", optional=True).get("data")
            models = [entry for entry in listing if isinstance(entry, dict)] if listing else []
            facts = {"models": sorted(str(model.get("id")) for model in models)}
            if self.settings.dialect == "vllm-omni":
                facts["version"] = _get_json(self.wire, "/version", optional=True).get("version")
        return {name: fact for name, fact in facts.items() if fact}

    def check_identity(self, facts: Mapping[str, Any], tell: Callable[[str], None]) -> None:
        """Compares the server's facts with those of earlier takes, or stores them the first time;
        reports a model that it does not list.

        Raises EngineUnavailable if they differ, StorageError.
        """
        if unlisted := self.describe_unlisted(facts):
            tell(f"the server {unlisted}")
        if not facts or self.settings.dialect == "openai":  # its models come and go
            return
        facts = json.loads(json.dumps(facts))
        stored_facts, mark = _load_facts(self.facts_file), self.mark
        previous_facts = stored_facts.get(mark)
        if previous_facts is None:
            files.save_json(self.facts_file, {**stored_facts, mark: facts})
        elif previous_facts != facts:
            raise EngineUnavailable(
                f"the server says that it is {describe_facts(facts)}; when takes were made it was "
                f"{describe_facts(previous_facts)}. Set another `engine.version` to have them "
                f"made anew, or delete {self.facts_file} to keep them"
            )

    def describe_unlisted(self, facts: Mapping[str, Any]) -> str:
        """Explains that the server does not list the model; "" if it does, or lists none."""
        models, model = facts.get("models", ()), self.settings.model
        if model != "auto" and models and model not in models:
            listing = ", ".join(models)[:200]
            return f"does not list the model '{excerpt(model)}', but {excerpt(listing, 200)}"
        return ""


def describe_facts(facts: Mapping[str, Any]) -> str:
    """Describes a server's facts in one line."""
    parts = (
        f"{name} {', '.join(fact) if isinstance(fact, list) else fact}"
        for name, fact in facts.items()
    )
    return excerpt(", ".join(parts), 200) or "nothing that it would name"


_UNSUPPORTED_STATUSES = frozenset((403, 404, 405, 501))
"""HTTP statuses of servers (or keys) that speak but do not report their model."""


def _get_json(wire: Wire, path: str, *, optional: bool = False) -> Mapping[str, Any]:
    """Requests a JSON object; {} for another answer, and for none if it is `optional`.

    Raises Setback.
    """
    answer: object = None
    try:
        response = wire.call("GET", path, timeout=QUESTION_TIMEOUT).send()
    except Setback as setback:
        if not optional or (
            setback.category != "bad" and setback.status not in _UNSUPPORTED_STATUSES
        ):
            raise
        return {}
    with contextlib.suppress(ValueError, RecursionError):
        answer = json.loads(response.body)
    return answer if isinstance(answer, dict) else {}


def _load_facts(path: Path) -> Mapping[str, Any]:
    return files.load_json(path, dict[str, Any], {})
