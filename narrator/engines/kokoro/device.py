"""Whether Kokoro runs on a GPU, through MLX, or on processor cores. Loads neither."""

from __future__ import annotations

import importlib.util
import sys
from functools import cache

from narrator.engines import machine
from narrator.engines.kokoro.settings import KokoroSettings


def runs_on_gpu(settings: KokoroSettings) -> bool:
    """Whether the manifest asks for a GPU, or leaves it open and there is one."""
    return _has_gpu() if settings.device == "auto" else settings.device == "gpu"


@cache
def _has_gpu() -> bool:
    """Whether MLX has a GPU; queried in another process, so that MLX is not loaded here."""
    if importlib.util.find_spec("mlx") is None:
        return False
    return sys.platform == "darwin" or machine.device().kind == "CUDA"
