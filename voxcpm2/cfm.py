"""The sampler: noise -> one patch of latents, by Euler steps of a guided velocity (CFG-zero*).

State and guidance are float32 whatever the network computes in. Rows are independent: each has its
own noise, guidance and grid. It draws no noise itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import mlx.core as mx
import mlx.nn as nn
import numpy as np

from voxcpm2.config import Config
from voxcpm2.locdit import LocDiT


def time_grid(steps: int, sway: float = 1.0) -> np.ndarray:
    """`steps` + 1 moments from 1 down to 0, float32; sway > 0 puts more of them near 1.

    float32 in upstream's order throughout, torch.linspace's two-sided rule included.
    """
    one, index = np.float32(1), np.arange(steps + 1, dtype=np.float32)
    width = one / np.float32(steps)
    forth, back = one - width * index, width * (np.float32(steps) - index)
    even = np.where(index < (steps + 1) // 2, forth, back)
    quarter_turn = (np.float32(np.pi / 2) * even).astype(np.float64)
    return even + np.float32(sway) * (np.cos(quarter_turn).astype(np.float32) - one + even)


def schedule(steps: int, sway: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """The Euler steps that need a velocity: moments t (K,) and widths dt (K,), float32.

    CFG-zero* takes the first steps with a velocity of zero: 4 % of them, at least one. They move
    nothing, so they are left out: 10 steps cost 9 velocities, and 1 step returns the noise.
    """
    grid = time_grid(steps, sway)
    moments, widths = [], []
    t = grid[0]
    for target in grid[1:]:
        moments.append(t)
        widths.append(t - target)
        t = t - widths[-1]
    skipped = max(1, int((steps + 1) * 0.04))
    return np.array(moments[skipped:], np.float32), np.array(widths[skipped:], np.float32)


@dataclass(frozen=True, slots=True)
class Plan:
    """How B rows are sampled. Rows with fewer steps than others end with widths of zero."""

    time: mx.array  # time tokens (K, B, Hd)
    widths: mx.array  # (K, B) float32
    cfg: mx.array  # (B,) float32


class CFM(nn.Module):
    """Conditional flow matching around LocDiT, `feat_decoder` in checkpoints.

    `rounded_time` chooses the bfloat16 time embedding, see `locdit.time_embedding`.
    """

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.estimator = LocDiT(config)
        self.rounded_time = False
        self._mean_mode = config.dit_mean_mode
        # Traced once for each batch size and number of steps. On a GPU only: on a CPU it gains 5 %,
        # runs a C++ compiler, and a process whose other threads used it aborts when it ends.
        self._compiled = mx.compile(self._solve, inputs=self.estimator.state)

    def plan(self, rows: Sequence[tuple[int, float]]) -> Plan:
        """A plan for rows of (steps, cfg)."""
        grids = {steps: self._grid(steps) for steps, _ in rows}
        longest = max(len(widths) for _, widths in grids.values())
        times, widths = [], []
        for steps, _ in rows:
            time, width = grids[steps]
            missing = longest - len(width)
            times.append(mx.pad(time, [(0, missing), (0, 0)]))
            widths.append(np.pad(width, (0, missing)))
        cfg = mx.array([cfg for _, cfg in rows], dtype=mx.float32)
        return Plan(mx.stack(times, axis=1), mx.array(np.stack(widths, axis=1)), cfg)

    def __call__(self, noise: mx.array, mu: mx.array, cond: mx.array, plan: Plan) -> mx.array:
        """One patch for each of B rows: (B, patch_size, feat_dim) float32.

        noise (B, feat_dim, patch_size) float32, as upstream draws it; mu (B, 2 or 1, Hd); cond (B,
        patch_size, feat_dim), the patch before.
        """
        x = noise.astype(mx.float32).transpose(0, 2, 1)
        if plan.widths.shape[0] == 0:
            return x
        solve = self._compiled if mx.default_device() == mx.gpu else self._solve
        return solve(x, mu, cond, plan.time, plan.widths, plan.cfg)

    def _grid(self, steps: int) -> tuple[mx.array, np.ndarray]:
        moments, widths = schedule(steps)
        dt = widths if self._mean_mode else np.zeros_like(widths)
        return self.estimator.time_tokens(moments, dt, rounded=self.rounded_time), widths

    def _solve(
        self,
        x: mx.array,
        mu: mx.array,
        cond: mx.array,
        time: mx.array,
        widths: mx.array,
        cfg: mx.array,
    ) -> mx.array:
        # One call gives both velocities: the upper half of the rows has the condition set to zero.
        batch = x.shape[0]
        mu = mx.concatenate([mu, mx.zeros_like(mu)])
        cond = mx.concatenate([cond, cond])
        for k in range(widths.shape[0]):
            moment = mx.concatenate([time[k], time[k]])
            velocity = self.estimator(mx.concatenate([x, x]), mu, moment, cond)
            x = x - widths[k, :, None, None] * guide(velocity[:batch], velocity[batch:], cfg)
        return x


def guide(positive: mx.array, negative: mx.array, cfg: mx.array) -> mx.array:
    """CFG-zero*: guidance from the negative velocity's projection, (B, patch_size, feat_dim)."""
    dot = mx.sum(positive * negative, axis=(1, 2), keepdims=True)
    norm = mx.sum(mx.square(negative), axis=(1, 2), keepdims=True)
    negative = negative * (dot / (norm + 1e-8))
    return negative + cfg[:, None, None] * (positive - negative)
