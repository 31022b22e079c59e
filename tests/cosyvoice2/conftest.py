"""Fixtures for the golden numbers: `golden` finds arrays, the index and the small checkpoint."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import mlx.core as mx
import mlx.nn as nn
import numpy as np
import pytest

from cosyvoice2.config import (
    Config,
    EncoderConfig,
    EstimatorConfig,
    FlowConfig,
    LMConfig,
    VocoderConfig,
)
from cosyvoice2.hift import HiFT
from cosyvoice2.lm import UNUSED, Qwen2LM
from cosyvoice2.tokenizer import Tokenizer
from speechbase import pth
from speechbase.weights import fold_weight_norm, in_place
from tests.voxcpm2.conftest import save_torch

__all__ = ["save_torch"]

ROOT = Path(
    os.environ.get("COSYVOICE2_GOLDEN", Path(__file__).parent.parent / "golden" / "cosyvoice2")
)
FOLDER = ROOT if (ROOT / "index.json").exists() else next(ROOT.glob("cosy_s*"))

TINY = Config(
    sample_rate=24_000,
    chunk=25,
    lm=LMConfig(
        hidden_size=64, intermediate_size=112, num_layers=3, num_heads=4, num_kv_heads=2,
        rms_norm_eps=1e-6, rope_theta=1e6, vocab_size=544, max_positions=32768,
        speech_tokens=729, top_p=0.8, top_k=25, win_size=10, tau_r=0.1,
    ),
    flow=FlowConfig(
        vocab_size=729, speaker_dim=192, guidance=0.7,
        encoder=EncoderConfig(width=64, heads=4, feed_forward=96, layers=2, chunk=25),
        estimator=EstimatorConfig(
            in_channels=320, channels=32, heads=4, head_dim=16, blocks=2, mid_blocks=2, chunk=50
        ),
    ),
    vocoder=VocoderConfig(
        base_channels=64, harmonics=8, alpha=0.1, sigma=0.003, voiced_threshold=10.0,
        rates=(8, 5, 3), kernels=(16, 11, 7), n_fft=16, hop=4, res_kernels=(3, 7, 11),
        res_dilations=((1, 3, 5),) * 3, source_kernels=(7, 7, 11),
        source_dilations=((1, 3, 5),) * 3, slope=0.1, limit=0.99, f0_channels=48,
        sample_rate=24_000,
    ),
)  # fmt: skip


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

    def tensors(self, file: str) -> dict[str, mx.array]:
        """Of llm.pt, flow.pt or hift.pt, weight norms folded."""
        return fold_weight_norm(pth.load(self.checkpoint / file))

    def filled(self, network: nn.Module, file: str) -> nn.Module:
        """A network with the weights of a file, strictly."""
        network.load_weights(list(in_place(network, self.tensors(file)).items()))
        mx.eval(network.parameters())
        return network


@pytest.fixture(scope="session")
def golden() -> CosyGolden:
    return _golden()


@cache
def _golden() -> CosyGolden:
    return CosyGolden(FOLDER)


@pytest.fixture(scope="session")
def lm(golden: CosyGolden) -> Qwen2LM:
    """The golden checkpoint's language model."""
    return filled_lm(golden)


def filled_lm(golden: CosyGolden) -> Qwen2LM:
    network = Qwen2LM(TINY.lm)
    tensors = golden.tensors("llm.pt")
    network.load_weights([(name, each) for name, each in tensors.items() if name not in UNUSED])
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
