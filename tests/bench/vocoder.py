"""Kernels that CosyVoice2's vocoder launches on a GPU, and the time and memory it takes here.

    python tests/bench/vocoder.py [--frames 32]

Counted as in `kernels.py`, for the shipped sizes and without evaluating anything; what runs here
runs with random weights of those sizes. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import mlx.core as mx
import numpy as np

from cosyvoice2.config import MELS, VocoderConfig
from cosyvoice2.hift import HiFT
from cosyvoice2.source import Noise, excite
from cosyvoice2.vocoder import MelRow, vocode
from tests.bench.kernels import Backend, emptied, hollow, kernels
from tests.voxcpm2.gpu import pretended

SHIPPED = VocoderConfig(
    base_channels=512, harmonics=8, alpha=0.1, sigma=0.003, voiced_threshold=10.0,
    rates=(8, 5, 3), kernels=(16, 11, 7), n_fft=16, hop=4, res_kernels=(3, 7, 11),
    res_dilations=((1, 3, 5),) * 3, source_kernels=(7, 7, 11), source_dilations=((1, 3, 5),) * 3,
    slope=0.1, limit=0.99, f0_channels=512, sample_rate=24_000,
)  # fmt: skip
FRAMES = 192
"""Of a window that is counted."""


def hollow_vocoder() -> HiFT:
    """The shipped sizes, laid out as `ready` does, without memory."""
    hift = HiFT(SHIPPED)
    emptied(hift, mx.float32)
    for up in hift.ups:
        phases = (up.sees * up.weight.shape[2], up.stride * up.weight.shape[0])
        up._phases = hollow(phases, mx.float32)
    return hift


def counted(windows: int, backend: Backend) -> dict[str, int]:
    """Kernels of so many windows side by side, and of a row's pitch and source."""
    hift, config = hollow_vocoder(), SHIPPED
    mel = hollow((windows, FRAMES, MELS), mx.float32)
    source = hollow((windows, FRAMES * config.frame), mx.float32)
    with pretended(backend, compiled=True):
        return {
            "window": kernels(hift.decode(mel, source)),
            "pitch": kernels(hift.pitch(mel)),
            "source": kernels(excite(hift, np.full(FRAMES, 200.0, np.float32), Noise(hift))),
        }


def timed(frames: int) -> dict[str, float]:
    """Seconds of speech a second, and gigabytes at most, of one row with random weights here."""
    hift = HiFT(SHIPPED)
    hift.ready()
    row = MelRow(np.zeros((frames, MELS), np.float32))
    mx.reset_peak_memory()
    before, began = mx.get_active_memory(), time.perf_counter()
    [samples] = vocode(hift, [row])
    took = time.perf_counter() - began
    seconds = len(samples) / SHIPPED.sample_rate
    return {"speed": seconds / took, "GB": (mx.get_peak_memory() - before) / 1e9}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, default=32)
    frames = parser.parse_args().frames
    found: dict[str, Any] = {"bench": "vocoder", "device": str(mx.default_device())}
    found["times"] = timed(frames)
    shown = ", ".join(f"{name} {value:.3f}" for name, value in found["times"].items())
    print(f"{frames} frames alone: {shown}")
    mx.set_default_device(mx.cpu)  # what follows counts, and evaluates nothing
    for backend in ("metal", "cuda"):
        for windows in (1, 4):
            made = found[f"{backend} {windows}"] = counted(windows, backend)
            print(f"{backend}, {windows} windows: {made}")
    print(json.dumps(found))


if __name__ == "__main__":
    main()
