"""Repetition-aware sampling, as at the official head (2026): logits of a step -> its token.

A token is drawn from the likeliest few (top-p, top-k). If it was among the last ones, it is drawn
again from all others. A draw is the first id whose cumulative probability exceeds a number that is
given, in float64, so that the same numbers give the same tokens on every machine. Only what every
step needs is computed on the device: the best logits and the sum; choosing is done here.
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
"""More logits than top_k are sent: equal ones at its border are told apart by their ids."""

Draw = Callable[[], float]
"""The next uniform number, in [0, 1)."""


@dataclass(frozen=True, slots=True)
class Heads:
    """What a step says of the next token of each row, on its way from the device."""

    ids: mx.array  # (B, K) of the best, in any order
    top_logits: mx.array  # (B, K), their logits
    log_total: mx.array  # (B, 1), log of the sum of all exponentials
    all: mx.array  # (B, vocabulary)

    @classmethod
    def from_logits(cls, logits: mx.array, closed: Sequence[bool], config: LMConfig) -> Heads:
        """Of logits (B, vocabulary) float32; where `closed`, the end may not be drawn."""
        if any(closed):
            end = np.zeros((len(closed), logits.shape[1]), bool)
            end[:, config.end] = closed
            logits = mx.where(mx.array(end), -mx.inf, logits)
        count = min(config.top_k + EXTRA_LOGITS, logits.shape[1])
        ids = mx.argpartition(-logits, count - 1, axis=-1)[:, :count]
        best = mx.take_along_axis(logits, ids, axis=-1)
        return cls(ids, best, mx.logsumexp(logits, axis=-1, keepdims=True), logits)

    def rows(self) -> list[Head]:
        """Waits for the device, once for all rows. Raises ModelError."""
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
    """What a step says of one row's next token."""

    ids: np.ndarray  # (K,) of the likeliest, in any order
    probabilities: np.ndarray  # (K,) float64, how likely they are among all
    all: Callable[[], np.ndarray]  # (vocabulary,) float64: logits, fetched when they are asked for

    @classmethod
    def from_logits(cls, logits: np.ndarray) -> Head:
        """Of logits (vocabulary,) that are here already."""
        return cls(np.arange(len(logits)), _softmax(logits), lambda: logits)

    def without(self, *ids: int) -> Head:
        """Where these may not be drawn."""
        logits = self.all().copy()
        logits[list(ids)] = -np.inf
        return Head.from_logits(logits)


def choose(head: Head, past: Sequence[int], draw: Draw, config: LMConfig) -> int:
    """The next id after the tokens of `past`, prompt not among them; takes one number, or two."""
    token = _draw_from_nucleus(head, draw(), config)
    repeats = sum(token_before == token for token_before in past[-config.win_size :])
    if repeats >= config.win_size * config.tau_r:
        others = head.without(token)
        token = int(others.ids[_draw_index(others.probabilities, draw())])
    return token


def _draw_from_nucleus(head: Head, number: float, config: LMConfig) -> int:
    """Of the likeliest until they reach top_p together, top_k at most, the one that does it too."""
    order = np.lexsort((head.ids, -head.probabilities))[: config.top_k]
    before = np.cumsum(head.probabilities[order])[:-1]
    nucleus = order[: 1 + int(np.searchsorted(before, config.top_p, side="left"))]
    return int(head.ids[nucleus[_draw_index(head.probabilities[nucleus], number)]])


def _draw_index(weights: np.ndarray, number: float) -> int:
    """The first place where the sum of `weights` to there, as a part of all, exceeds `number`."""
    sums = np.cumsum(weights)
    index = int(np.searchsorted(sums / sums[-1], number, side="right"))
    return min(index, len(weights) - 1)  # the last sum is 1: no number below 1 passes it


def _softmax(logits: np.ndarray) -> np.ndarray:
    weights = np.exp(logits - logits.max())
    return weights / weights.sum()


def _fetch_row(logits: mx.array, row: int) -> np.ndarray:
    return np.array(logits)[row].astype(np.float64)
