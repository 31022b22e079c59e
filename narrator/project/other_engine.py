"""An engine that speaks a book in place of its own: `--engine kokoro`.

Its name is kept in the environment, so that processes which this one starts use it as well.
"""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from typing import Any

from narrator.engines.registry import ENGINES
from narrator.errors import UsageError, nearest
from narrator.project.engine_choice import name_of
from textbase import processes

VARIABLE = "NARRATOR_ENGINE"
"""Environment variable: the engine that speaks, whatever engine a manifest names."""


def speaking_with(name: str | None) -> AbstractContextManager[None]:
    """Use this engine for all books within the block, or their own if the name is "".

    None changes nothing. Raises UsageError for an unknown engine.
    """
    if name:
        _require_known_engine(name)
    return processes.environment(VARIABLE, name)


def chosen_engine() -> str:
    """The name of the engine that speaks every book, or "". Raises UsageError if unknown."""
    name = os.environ.get(VARIABLE, "")
    if name:
        _require_known_engine(name)
    return name


def engine_option() -> str:
    """The option that gives commands the same engine: " --engine …", or nothing."""
    name = os.environ.get(VARIABLE)
    return f" --engine {name}" if name else ""


def replace_engine(manifest: Any, name: str) -> Any:
    """The values of a manifest, not validated yet, with everything spoken by this engine.

    If the book's own engine has this name, the same values are returned.
    """
    if not isinstance(manifest, dict) or name_of(manifest.get("engine")) == name:
        return manifest
    changed_manifest = {**manifest, "engine": name}
    if isinstance(speakers := manifest.get("speakers"), dict):
        changed_manifest["speakers"] = {
            speaker: _without_engine(speaker_settings)
            for speaker, speaker_settings in speakers.items()
        }
    return changed_manifest


def _without_engine(speaker: Any) -> Any:
    if not isinstance(speaker, dict):
        return speaker
    return {key: setting for key, setting in speaker.items() if key != "engine"}


def _require_known_engine(name: str) -> None:
    if not ENGINES.knows(name):
        guess = nearest(name, ENGINES.names())
        hint = f"did you mean {guess}?" if guess else f"there are {', '.join(ENGINES.names())}"
        raise UsageError(f"--engine {name}: no such engine; {hint}")
