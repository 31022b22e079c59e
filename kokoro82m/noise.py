"""The only randomness of speech: the noise of the source, reproducible by every backend.

The official code draws nine normal numbers for each sample, one a harmonic, scales all of them
alike, and adds them up with the weights w of a linear layer. Such a sum is a single normal number
times |w|, so a single one is drawn. Loads no MLX.
"""

from __future__ import annotations

import numpy as np


def draw_noise(seed: int, count: int) -> np.ndarray:
    """Standard normal numbers (count,), float32, a function of the seed (0 to 2**64 - 1).

    Philox-4x64-10 with the seed as its key; each 64-bit number gives two uniforms, the high half
    and the low half, and these two normal numbers by Box and Muller's method in float64. More
    numbers of a seed begin with the same ones. NumPy keeps the bits of Philox for good, those of
    its own normal numbers it does not.
    """
    bits = np.random.Philox(key=seed).random_raw(-(-count // 2))
    high = (bits >> np.uint64(32)).astype(np.float64)
    low = (bits & np.uint64(0xFFFFFFFF)).astype(np.float64)
    radius = np.sqrt(-2 * np.log((high + 0.5) * 2.0**-32))
    angle = low * (2 * np.pi * 2.0**-32)
    pairs = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    return pairs.reshape(-1)[:count].astype(np.float32)


def merge_noise(noise: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Noise (count, 9) as the official code draws it -> (count,) as `draw_noise` would.

    `weight` (9,) is that of the source's linear layer.
    """
    direction = weight.astype(np.float64) / np.linalg.norm(weight.astype(np.float64))
    return (noise @ direction).astype(np.float32)
