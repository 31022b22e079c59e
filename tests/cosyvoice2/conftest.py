"""Fixtures for the golden numbers: `golden` finds arrays, the index and the small checkpoint."""

from __future__ import annotations

import dataclasses
import json
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mlx.core as mx
import mlx.nn as nn
import numpy as np
import pytest
from mlx.utils import tree_map

from cosyvoice2.config import read_config
from cosyvoice2.hift import HiFT
from cosyvoice2.lm import UNUSED_WEIGHTS, Qwen2LM
from cosyvoice2.tokenizer import Tokenizer
from speechbase import pth
from speechbase.weights import fold_weight_norm, to_mlx_axes
from tests.voxcpm2.conftest import save_torch

__all__ = ["save_torch"]

GOLDEN = Path(__file__).parent.parent / "golden" / "cosyvoice2"
SIZES = GOLDEN / "sizes.json"
"""Every tensor of the released files."""
ROOT = Path(os.environ.get("COSYVOICE2_GOLDEN", GOLDEN))
FOLDER = ROOT if (ROOT / "index.json").exists() else sorted(ROOT.glob("cosy_s*"))[0]
"""Of official numbers: another seed's where the environment names it, or the folder it is in."""
TINY = read_config(FOLDER / "checkpoint")


class CosyGolden:
    """A folder of golden numbers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.checkpoint = folder / "checkpoint"
        self.index: dict[str, Any] = json.loads((folder / "index.json").read_text())

    def arrays(self, name: str) -> dict[str, np.ndarray]:
        """The arrays of `name`.npz."""
        with np.load(self.folder / f"{name}.npz") as arrays:
            return {key: arrays[key] for key in arrays.files}

    def facts(self, name: str) -> dict[str, Any]:
        """What index.json says of `name`.npz."""
        return dict(self.index["groups"][name])

    @property
    def clips(self) -> list[str]:
        """The names of its recordings; the first one's voice speaks where no prompt is told."""
        groups = self.index["groups"]
        return [name.removeprefix("prompt_") for name in groups if name.startswith("prompt_")]

    def tensors(self, file: str) -> dict[str, mx.array]:
        """Of llm.pt, flow.pt or hift.pt, weight norms folded."""
        return fold_weight_norm(pth.load(self.checkpoint / file))

    def filled(self, network: nn.Module, file: str) -> nn.Module:
        """A network with the weights of a file, strictly."""
        network.load_weights(list(to_mlx_axes(network, self.tensors(file)).items()))
        mx.eval(network.parameters())
        return network


CHOSEN = CosyGolden(FOLDER)
of_seed_0 = pytest.mark.skipif(CHOSEN.index["seed"] != 0, reason="its numbers are those of seed 0")


@pytest.fixture(scope="session")
def golden() -> CosyGolden:
    return CHOSEN


@pytest.fixture(scope="session")
def lm(golden: CosyGolden) -> Qwen2LM:
    """The golden checkpoint's language model."""
    return filled_lm(golden)


def filled_lm(golden: CosyGolden) -> Qwen2LM:
    network = Qwen2LM(TINY.lm)
    tensors = golden.tensors("llm.pt")
    network.load_weights(
        [(name, each) for name, each in tensors.items() if name not in UNUSED_WEIGHTS]
    )
    return network


@pytest.fixture(scope="session")
def tokenize(golden: CosyGolden) -> Callable[[str], list[int]]:
    return Tokenizer.load(golden.checkpoint / "CosyVoice-BlankEN").encode


@pytest.fixture(scope="session")
def hift(golden: CosyGolden) -> HiFT:
    """The vocoder of the small checkpoint."""
    made = golden.filled(HiFT(TINY.vocoder), "hift.pt")
    assert isinstance(made, HiFT)
    made.ready()
    return made


@pytest.fixture(scope="session")
def small() -> HiFT:
    """A vocoder of few channels, for what needs no official numbers; it reaches as far."""
    made = HiFT(dataclasses.replace(TINY.vocoder, base_channels=16, f0_channels=8))
    draws = np.random.default_rng(0)

    def drawn(array: mx.array) -> mx.array:
        width = 0.5 / math.sqrt(array.size / len(array))
        return mx.array(draws.normal(0, width, array.shape).astype(np.float32))

    made.update(tree_map(drawn, made.parameters()))
    for block in [*made.resblocks, *made.source_resblocks]:
        for each in [*block.activations1, *block.activations2]:
            each.alpha = mx.ones_like(each.alpha)
    made.f0_predictor.classifier.bias = mx.array([150.0])
    return made
