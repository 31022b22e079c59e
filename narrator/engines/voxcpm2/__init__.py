"""VoxCPM2 in MLX: here what is known of it without loading any of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from narrator.engines import Engine, models
from narrator.engines.kind import EngineHome, EngineKind, EngineModel, EngineSettings
from narrator.engines.voxcpm2.checkpoint import FAMILY, TUNED
from narrator.engines.voxcpm2.settings import VoxCPM2Overrides, VoxCPM2Settings
from narrator.engines.voxcpm2.wording import speaks

FLOOR: Mapping[str, tuple[float, float]] = {
    "Apple M1": (1.4, 4.0),
    "Apple M4 Pro": (5.7, 14.6),
    "Apple M3 Ultra": (17.0, 44.0),
    "NVIDIA GeForce RTX 4090": (21.0, 160.0),
    "NVIDIA H200": (100.0, 789.0),
}
"""Device -> how many times faster than speech VoxCPM2 in bfloat16 can be at best, one chunk alone
and eight side by side: arithmetic from memory bandwidth and peak rate, not measured. It is not
reached."""


def _make(settings: EngineSettings, home: EngineHome, tell: Callable[[str], None]) -> Engine:
    from narrator.engines.voxcpm2.engine import VoxCPM2Engine

    assert isinstance(settings, VoxCPM2Settings)
    return VoxCPM2Engine(
        settings, cache=home.cache, root=home.root, remembered=home.remembered(), tell=tell
    )


def _found(
    settings: EngineSettings, root: Path | None, tell: Callable[[str], None]
) -> Iterator[tuple[str, models.Model]]:
    assert isinstance(settings, VoxCPM2Settings)
    yield "model", models.find(FAMILY, settings.model, root=root, tell=tell)
    if settings.lora:
        yield "lora", models.find_as(TUNED, settings.lora, root=root, tell=tell)


def _tried(path: Path) -> float:
    """With a layer a stack."""
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
    model=EngineModel(
        title="VoxCPM2",
        family=FAMILY,
        found=_found,
        tried=_tried,
        floor=FLOOR,
        unguarded={"steps": 10, "cfg": 2.0, "earliest_stop": 0.0},
    ),
)
