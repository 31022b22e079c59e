"""The choice between a GPU, through MLX, and processor cores. Loads neither."""

from __future__ import annotations

import importlib.util
import sys
from functools import cache

from narrator.engines import machine
from narrator.engines.kokoro.settings import KokoroSettings


def runs_on_gpu(settings: KokoroSettings) -> bool:
    """Returns True if the manifest asks for a GPU, or leaves it open and there is one."""
    return _has_gpu() if settings.device == "auto" else settings.device == "gpu"


@cache
def _has_gpu() -> bool:
    """Returns True if MLX has a GPU: on every Mac, and where another process finds CUDA. MLX is not
    loaded here."""
    if importlib.util.find_spec("mlx") is None:
        return False
    return sys.platform == "darwin" or machine.device().kind == "CUDA"
