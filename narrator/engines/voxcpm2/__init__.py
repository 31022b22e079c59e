"""VoxCPM2 in MLX; this module describes it without loading any of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from narrator.engines import models
from narrator.engines.mlx.spec import ModelSpec, finder
from narrator.engines.spec import EngineModel, EngineSettings
from narrator.engines.voxcpm2.checkpoint import FAMILY, TUNED
from narrator.engines.voxcpm2.settings import VoxCPM2Settings
from narrator.engines.voxcpm2.wording import VoxCPM2Languages

if TYPE_CHECKING:
    from narrator.engines.mlx.engine import ModelEngine

SPEED_LIMITS: Mapping[str, tuple[float, float]] = {
    "Apple M1": (1.4, 4.0),
    "Apple M4 Pro": (5.7, 14.6),
    "Apple M3 Ultra": (17.0, 44.0),
    "NVIDIA GeForce RTX 4090": (21.0, 160.0),
    "NVIDIA H200": (100.0, 789.0),
}
"""Device -> how many times faster than speech VoxCPM2 in bfloat16 can be at best, one chunk alone
and eight side by side: arithmetic from memory bandwidth and peak rate, not measured. It is not
reached, least of all on NVIDIA's GPUs, which wait for launches: an H100 came to 6 and 25."""


def _find_models(
    settings: EngineSettings, root: Path | None, tell: Callable[[str], None]
) -> Iterator[tuple[str, models.Model]]:
    assert isinstance(settings, VoxCPM2Settings)
    yield from finder(FAMILY)(settings, root, tell)
    if settings.lora:
        yield "lora", models.find_with_layout(TUNED, settings.lora, root=root, tell=tell)


def _time_step(path: Path) -> float:
    """Times a step of a model of these sizes, with one layer in each stack."""
    from voxcpm2.config import Config
    from voxcpm2.load import read_config
    from voxcpm2.rehearsal import rehearse

    return rehearse(Config.from_dict(read_config(path)))


class VoxCPM2Spec(VoxCPM2Languages, ModelSpec):
    """VoxCPM2: its characters are those of all its languages, so it spells no script."""

    title = "VoxCPM2"
    settings = VoxCPM2Settings
    chapter_settings = ("steps", "cfg", "seed")
    model = EngineModel(
        family=FAMILY,
        find=_find_models,
        time_step=_time_step,
        unguarded={"steps": 10, "cfg": 2.0, "earliest_stop": 0.0},
        speed_limits=SPEED_LIMITS,
    )

    def engine_type(self) -> type[ModelEngine]:
        from narrator.engines.voxcpm2.engine import VoxCPM2Engine

        return VoxCPM2Engine

    def sample_rate(self, settings: EngineSettings) -> int:
        return 48_000


SPEC = VoxCPM2Spec()
