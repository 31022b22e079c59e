"""What is known of an engine before it is made, and without its code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from narrator.engines import Engine
from narrator.settings import Strict


class EngineSettings(Strict):
    """What speaks, and how. Parameters that an engine does not have are ignored by it."""

    name: str = ""


@dataclass(frozen=True, slots=True)
class EngineHome:
    """Where an engine finds and keeps what belongs to a project."""

    root: Path | None
    """What relative paths of its settings are looked for under."""
    cache: Path
    """The folder of encoded references."""
    remembered: object = None
    """What `Engine.memory` gave in an earlier run, as read from a file."""


Make = Callable[[EngineSettings, EngineHome, Callable[[str], None]], Engine]
"""Makes an engine; what takes long is told. Raises EngineUnavailable."""


@dataclass(frozen=True, slots=True)
class EngineKind:
    """An engine as the manifest knows it."""

    name: str
    settings: type[EngineSettings]
    """Of `engine` in the manifest."""
    overrides: type[Strict]
    """Of `engine` in a chapter: the settings that a chapter may have of its own."""
    voice: type[Strict] | None
    """Of the engine's name in a speaker, where the engine has voices of its own."""
    sample_rate: int
    """Hz, as long as no model says otherwise."""
    make: Make
