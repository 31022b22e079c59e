"""The sampler: noise -> one patch of latents, by Euler steps of a guided velocity (CFG-zero*).

State and guidance are float32 whatever the network computes in, as upstream's are on MPS: nine
small steps are summed, and guidance takes the difference of two velocities that are nearly alike.
Rows are independent: each has its own noise, guidance and grid. It draws no noise itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import mlx.core as mx
import mlx.nn as nn
import numpy as np

from speechbase.cache import round_up
from speechbase.device import on_cuda, on_gpu
from voxcpm2.config import Config
from voxcpm2.locdit import LocDiT


def time_grid(steps: int, sway: float = 1.0) -> np.ndarray:
    """Returns `steps` + 1 moments from 1 down to 0, float32; sway > 0 puts more of them near 1.

    float32 in upstream's order throughout, torch.linspace's two-sided rule included.
    """
    unit, index = np.float32(1), np.arange(steps + 1, dtype=np.float32)
    width = unit / np.float32(steps)
    descending, from_end = unit - width * index, width * (np.float32(steps) - index)
    evenly_spaced = np.where(index < (steps + 1) // 2, descending, from_end)
    quarter_turn = (np.float32(np.pi / 2) * evenly_spaced).astype(np.float64)
    return evenly_spaced + np.float32(sway) * (
        np.cos(quarter_turn).astype(np.float32) - unit + evenly_spaced
    )


def schedule(steps: int, sway: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Returns moments t (K,) and widths dt (K,) of the Euler steps that need a velocity, float32.

    In CFG-zero*, the first 4 % of the steps, at least one, have a velocity of zero. They change
    nothing and are left out: 10 steps cost 9 velocities, and 1 step returns the noise.
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
    """The solver's inputs for B rows. Rows with fewer steps than others end with widths of zero.

    May contain padding rows, see `solver_rows`.
    """

    time: mx.array  # time tokens (K, B, Hd)
    widths: mx.array  # (K, B) float32
    cfg: mx.array  # (B,) float32


def solver_rows(rows: int) -> int:
    """Returns how many rows, padding included, the solver runs: on CUDA 1, 2, 4, 8, 16, 24, ….

    On CUDA up to eight rows wait for launches, so that padding rows cost little, while each new
    number of rows takes a trace and two attention plans. Apple's GPUs are bound by arithmetic from
    two to four rows on, and keep no plans, so rows are not padded there.
    """
    if not on_cuda():
        return rows
    return 1 << (rows - 1).bit_length() if rows <= 8 else round_up(rows, 8)


class CFM(nn.Module):
    """Conditional flow matching around LocDiT, `feat_decoder` in checkpoints.

    `rounded_time` chooses the bfloat16 time embedding, see `functions.time_embedding`.
    """

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.estimator = LocDiT(config)
        self.rounded_time = False
        self._mean_mode = config.dit_mean_mode
        # Traced once for each number of rows and of steps. Used on a GPU only: on a CPU it gains
        # 5 %, runs a C++ compiler, and aborts when a process ends whose other threads used it.
        self._compiled = mx.compile(self._solve, inputs=self.estimator.state)

    def plan(self, rows: Sequence[tuple[int, float]]) -> Plan:
        """Plans the sampling of rows of (steps, cfg).

        A row of one step has no velocities. Its empty grid is not computed with: MLX's CUDA backend
        divides by the size of an array that it pads or multiplies.
        """
        grids = {steps: self._grid(steps) for steps, _ in rows}
        longest = max(len(widths) for _, widths in grids.values())
        times, widths = [], []
        for steps, _ in rows:
            time, width = grids[steps]
            padding = longest - len(width)
            if len(width):
                times.append(mx.pad(time, [(0, padding), (0, 0)]))
            else:
                times.append(mx.zeros((longest, time.shape[1]), time.dtype))
            widths.append(np.pad(width, (0, padding)))
        # Padding rows do not change: their steps have a width of zero.
        padding_rows = solver_rows(len(rows)) - len(rows)
        times += [mx.zeros_like(times[0])] * padding_rows
        width = np.pad(np.stack(widths, axis=1), [(0, 0), (0, padding_rows)])
        cfg = mx.array([cfg for _, cfg in rows] + [0.0] * padding_rows, dtype=mx.float32)
        return Plan(mx.stack(times, axis=1), mx.array(width), cfg)

    def __call__(self, noise: mx.array, mu: mx.array, cond: mx.array, plan: Plan) -> mx.array:
        """Samples one patch for each of B rows: (B, patch_size, feat_dim) float32.

        noise (B, feat_dim, patch_size) float32, as upstream draws it; mu (B, 2 or 1, Hd); cond (B,
        patch_size, feat_dim), the patch before.
        """
        x = noise.astype(mx.float32).transpose(0, 2, 1)
        if plan.widths.shape[0] == 0:
            return x
        self.estimator.decoder.join()
        solve = self._compiled if on_gpu() else self._solve
        rows = x.shape[0]
        if plan.cfg.shape[0] > rows:
            padding = [(0, plan.cfg.shape[0] - rows), (0, 0), (0, 0)]
            x, mu, cond = (mx.pad(array, padding) for array in (x, mu, cond))
        return solve(x, mu, cond, plan.time, plan.widths, plan.cfg)[:rows]

    def _grid(self, steps: int) -> tuple[mx.array, np.ndarray]:
        moments, widths = schedule(steps)
        if not len(moments):
            return mx.zeros((0, self.estimator.decoder.config.hidden_size)), widths
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
        # One call gives both velocities: the second half of the rows has an empty condition.
        # Tokens that do not depend on the step are computed for all steps at once.
        steps, batch = widths.shape
        conditions = mx.stack([mu, mx.zeros_like(mu)])
        context = self.estimator.context_tokens(conditions, time[:, None], cond)
        for step_context, width in zip(
            mx.split(context, steps), mx.split(widths[..., None, None], steps), strict=True
        ):
            velocity = self.estimator.velocity(step_context.squeeze(0), x)
            x = x - width.squeeze(0) * guide(velocity.reshape(2, batch, *x.shape[1:]), cfg)
        return x


def guide(velocity: mx.array, cfg: mx.array) -> mx.array:
    """CFG-zero*: guidance from the negative velocity's projection on the positive one.

    velocity (2, B, patch_size, feat_dim), with and without the condition; one comes out. The
    products are float32: they are sums over a whole patch, one divided by the other.
    """
    negative = velocity[1:]
    dot, norm = mx.split(mx.sum(velocity * negative, axis=(2, 3), keepdims=True), 2)
    negative = negative * (dot / (norm + 1e-8))
    return (negative + cfg[:, None, None] * (velocity[:1] - negative)).squeeze(0)
