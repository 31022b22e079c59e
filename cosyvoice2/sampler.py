"""Repetition-aware sampling as in the official code of 2026: logits of a step -> its token.

A token is drawn from the most likely few (top-p, top-k). If it repeats recent tokens, it is drawn
again from all other ids. A draw picks the first id whose cumulative probability exceeds a uniform
number, in float64, so that the same numbers give the same tokens on every machine. The device
computes only the best logits and the sum of exponentials.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import mlx.core as mx
import numpy as np

from cosyvoice2.config import LMConfig
from speechbase.errors import ModelError

EXTRA_LOGITS = 7
"""Logits fetched beyond top_k, so that ties at its border can be broken by id."""

Draw = Callable[[], float]
"""Returns the next uniform number, in [0, 1)."""


@dataclass(frozen=True, slots=True)
class Heads:
    """The distribution of the next token of each row, still on the device."""

    ids: mx.array  # (B, K) ids of the best logits, in any order
    top_logits: mx.array  # (B, K), their logits
    log_total: mx.array  # (B, 1), log of the sum of all exponentials
    all: mx.array  # (B, vocabulary)

    @classmethod
    def from_logits(cls, logits: mx.array, closed: Sequence[bool], config: LMConfig) -> Heads:
        """Takes logits (B, vocabulary) float32; rows that are `closed` may not draw the end."""
        if any(closed):
            end = np.zeros((len(closed), logits.shape[1]), bool)
            end[:, config.end] = closed
            logits = mx.where(mx.array(end), -mx.inf, logits)
        count = min(config.top_k + EXTRA_LOGITS, logits.shape[1])
        ids = mx.argpartition(-logits, count - 1, axis=-1)[:, :count]
        best = mx.take_along_axis(logits, ids, axis=-1)
        return cls(ids, best, mx.logsumexp(logits, axis=-1, keepdims=True), logits)

    def rows(self) -> list[Head]:
        """Fetches the head of each row, with a single wait for the device. Raises ModelError."""
        mx.eval(self.ids, self.top_logits, self.log_total, self.all)
        ids, top_logits, log_total = (
            np.array(self.ids),
            np.array(self.top_logits),
            np.array(self.log_total),
        )
        if not np.isfinite(log_total).all():
            raise ModelError("the language model gives no numbers; its weights may be damaged")
        top_logits = top_logits.astype(np.float64)
        return [
            Head(
                ids[b],
                np.exp(top_logits[b] - log_total[b]),
                functools.partial(_fetch_row, self.all, b),
            )
            for b in range(len(ids))
        ]


@dataclass(frozen=True, slots=True)
class Head:
    """The distribution of one row's next token."""

    ids: np.ndarray  # (K,) the most likely ids, in any order
    probabilities: np.ndarray  # (K,) float64, among all ids
    all: Callable[[], np.ndarray]  # fetches all logits, (vocabulary,) float64

    @classmethod
    def from_logits(cls, logits: np.ndarray) -> Head:
        """Takes logits (vocabulary,) that are in memory."""
        return cls(np.arange(len(logits)), _softmax(logits), lambda: logits)

    def without(self, *ids: int) -> Head:
        """Returns a head that never draws `ids`."""
        logits = self.all().copy()
        logits[list(ids)] = -np.inf
        return Head.from_logits(logits)


def choose(head: Head, past: Sequence[int], draw: Draw, config: LMConfig) -> int:
    """Draws the id after the tokens `past`, without the prompt's; uses one or two numbers."""
    token = _draw_from_nucleus(head, draw(), config)
    repeats = sum(token_before == token for token_before in past[-config.win_size :])
    if repeats >= config.win_size * config.tau_r:
        others = head.without(token)
        token = int(others.ids[_draw_index(others.probabilities, draw())])
    return token


def _draw_from_nucleus(head: Head, number: float, config: LMConfig) -> int:
    """Draws from the most likely ids: the fewest that reach top_p together, top_k at most."""
    order = np.lexsort((head.ids, -head.probabilities))[: config.top_k]
    before = np.cumsum(head.probabilities[order])[:-1]
    nucleus = order[: 1 + int(np.searchsorted(before, config.top_p, side="left"))]
    return int(head.ids[nucleus[_draw_index(head.probabilities[nucleus], number)]])


def _draw_index(weights: np.ndarray, number: float) -> int:
    """Returns the first index at which the cumulative share of `weights` exceeds `number`."""
    sums = np.cumsum(weights)
    index = int(np.searchsorted(sums / sums[-1], number, side="right"))
    return min(index, len(weights) - 1)  # the last sum is 1: no number below 1 passes it


def _softmax(logits: np.ndarray) -> np.ndarray:
    weights = np.exp(logits - logits.max())
    return weights / weights.sum()


def _fetch_row(logits: mx.array, row: int) -> np.ndarray:
    return np.array(logits)[row].astype(np.float64)
