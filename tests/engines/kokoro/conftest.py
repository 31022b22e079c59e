"""A small random checkpoint in the published layout, with voices."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from narrator.engines.kokoro.engine import KokoroEngine
from narrator.engines.kokoro.settings import KokoroSettings

GOLDEN = Path(__file__).parents[2] / "golden" / "kokoro" / "kokoro_s0"
NAMES = ("af_heart", "af_bella", "am_adam", "bf_emma", "bf_isabella", "bm_fable", "bm_george")


def make_checkpoint(folder: Path) -> Path:
    shutil.copytree(GOLDEN / "checkpoint", folder)
    (folder / "voices").mkdir()
    row = np.load(GOLDEN / "styles.npy")[0]
    for place, name in enumerate(NAMES):
        shift = np.linspace(-0.1, 0.1, 510, dtype=np.float32)[:, None, None] * (place + 1)
        np.save(folder / "voices" / f"{name}.npy", (row[None] + shift).astype(np.float32))
    return folder


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_checkpoint(tmp_path_factory.mktemp("kokoro") / "checkpoint")


Make = Callable[..., KokoroEngine]


@pytest.fixture
def make(checkpoint: Path, tmp_path: Path) -> Make:
    def engine(**settings: object) -> KokoroEngine:
        chosen = {"model": str(checkpoint), "device": "cpu", "slots": 1, **settings}
        return KokoroEngine(KokoroSettings.model_validate(chosen), cache=tmp_path / "cache")

    return engine
