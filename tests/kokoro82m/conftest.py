"""Fixtures for the golden numbers: the folder, its arrays, its small random checkpoint."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kokoro82m
from kokoro82m.model import Kokoro82M
from tests.voxcpm2.conftest import save_torch

__all__ = ["save_torch"]

FOLDER = Path(
    os.environ.get(
        "KOKORO82M_GOLDEN", Path(__file__).parent.parent / "golden" / "kokoro" / "kokoro_s0"
    )
)
"""Of official numbers: another seed's where the environment names it."""
_FETCHED = Path(sys.prefix) / "speech" / "models" / "hexgrad--Kokoro-82M-8bit"
REAL = os.environ.get("NARRATOR_KOKORO") or (str(_FETCHED) if _FETCHED.is_dir() else None)
"""The folder of the published weights: what the environment names, or `make speech` fetched."""


class KokoroGolden:
    """A folder of golden numbers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.checkpoint = folder / "checkpoint"
        self.cases: dict[str, Any] = json.loads((folder / "index.json").read_text())["cases"]

    def arrays(self, case: str) -> dict[str, np.ndarray]:
        """The arrays of `case`.npz."""
        with np.load(self.folder / f"{case}.npz") as arrays:
            return {name: arrays[name] for name in arrays.files}

    def official_noise(self, case: str) -> np.ndarray:
        """(samples, 9) of a case, as its recipe draws it."""
        facts = self.cases[case]
        return official_noise(facts["noise_seed"], facts["samples"])

    def request(self, case: str) -> kokoro82m.Request:
        """What a case asks for."""
        arrays = self.arrays(case)
        return kokoro82m.Request(
            arrays["ids"].tolist(),
            arrays["style"][0],
            float(arrays["speed"]),
            noise=self.official_noise(case),
        )


def official_noise(seed: int, samples: int) -> np.ndarray:
    """(samples, 9), as `noise()` of the recipe."""
    noise = np.random.RandomState(seed).standard_normal((samples, 9))
    return noise.astype(np.float32)


@pytest.fixture(scope="session")
def golden() -> KokoroGolden:
    return KokoroGolden(FOLDER)


@pytest.fixture(scope="session")
def model(golden: KokoroGolden) -> Kokoro82M:
    """The small random checkpoint, loaded; do not change it."""
    return kokoro82m.load(golden.checkpoint)
