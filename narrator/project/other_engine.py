"""An engine that speaks a book in place of its own: `--engine kokoro`.

Its name is kept in the environment: processes that this one starts mean the same.
"""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from typing import Any

from narrator import processes
from narrator.engines.registry import ENGINES
from narrator.errors import UsageError, nearest
from narrator.project.engine_choice import name_of

VARIABLE = "NARRATOR_ENGINE"
"""Environment variable: what speaks, whatever engine a manifest names."""


def speaking_with(name: str | None) -> AbstractContextManager[None]:
    """Within the block, books are spoken by this engine, or by their own where it is "";
    None changes nothing. Raises UsageError for an engine that is not known."""
    if name:
        _check(name)
    return processes.environment(VARIABLE, name)


def chosen() -> str:
    """The engine that speaks every book, or "". Raises UsageError for one that is not known."""
    name = os.environ.get(VARIABLE, "")
    if name:
        _check(name)
    return name


def option() -> str:
    """What commands are given so that they mean the same engine: " --engine …", or nothing."""
    name = os.environ.get(VARIABLE)
    return f" --engine {name}" if name else ""


def replace_engine(manifest: Any, name: str) -> Any:
    """A manifest's values, not validated yet, where all is spoken by the engine of this name; the
    same values where the book's own engine has this name."""
    if not isinstance(manifest, dict) or name_of(manifest.get("engine")) == name:
        return manifest
    changed = {**manifest, "engine": name}
    if isinstance(speakers := manifest.get("speakers"), dict):
        changed["speakers"] = {speaker: _without_engine(own) for speaker, own in speakers.items()}
    return changed


def _without_engine(speaker: Any) -> Any:
    if not isinstance(speaker, dict):
        return speaker
    return {key: value for key, value in speaker.items() if key != "engine"}


def _check(name: str) -> None:
    if name not in ENGINES:
        guess = nearest(name, list(ENGINES))
        hint = f"did you mean {guess}?" if guess else f"there are {', '.join(ENGINES)}"
        raise UsageError(f"--engine {name}: no such engine; {hint}")
