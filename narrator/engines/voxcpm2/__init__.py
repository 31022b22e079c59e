"""VoxCPM2 in MLX: here what is known of it without loading any of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from narrator.engines import Engine, models
from narrator.engines.kind import EngineHome, EngineKind, EngineSettings
from narrator.engines.voxcpm2.settings import VoxCPM2Overrides, VoxCPM2Settings
from narrator.engines.voxcpm2.wording import speaks


def _make(settings: EngineSettings, home: EngineHome, tell: Callable[[str], None]) -> Engine:
    from narrator.engines.voxcpm2.engine import VoxCPM2Engine

    assert isinstance(settings, VoxCPM2Settings)
    return VoxCPM2Engine(
        settings, cache=home.cache, root=home.root, remembered=home.remembered(), tell=tell
    )


UNGUARDED: Mapping[str, Any] = {"steps": 10, "cfg": 2.0, "earliest_stop": 0.0}
"""Parameters of speech that ends where the model ends it."""


def models_of(
    settings: EngineSettings, root: Path | None, tell: Callable[[str], None]
) -> Iterator[tuple[str, models.Model]]:
    """What an engine of these settings would load, each with the name of its setting."""
    assert isinstance(settings, VoxCPM2Settings)
    yield "model", models.find(settings.model, root=root, tell=tell)
    if settings.lora:
        yield "lora", models.find_lora(settings.lora, root=root, tell=tell)


def tried(path: Path) -> float:
    """Seconds in which this machine makes a step of the model at `path` ready, and runs it.

    Of its sizes, but with a layer a stack and no weights. Raises whatever stops it.
    """
    from voxcpm2.config import Config
    from voxcpm2.load import read_config
    from voxcpm2.rehearsal import tried

    return tried(Config.from_dict(read_config(path)))


KIND = EngineKind(
    name="voxcpm2",
    settings=VoxCPM2Settings,
    overrides=VoxCPM2Overrides,
    voice=None,
    sample_rate=lambda settings: 48_000,
    speaks=speaks,
    spells=frozenset(),  # its characters are those of all its languages
    make=_make,
)
