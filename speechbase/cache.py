"""The key-value cache of the rows of a batch.

Knows rows and columns, and nothing of layers or texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import mlx.core as mx
import numpy as np


class StackSizes(Protocol):
    """Sizes of a stack of layers that its cache needs."""

    @property
    def num_layers(self) -> int: ...
    @property
    def num_kv_heads(self) -> int: ...
    @property
    def head_dim(self) -> int: ...


class KVCache:
    """Keys and values of every layer of one stack, for B rows of different length.

    Rows end together: row b fills columns `starts[b]` to `length`, after padding. Memory is
    allocated in buckets of `BUCKET` columns, and padding that all rows share is cut off, so the
    size follows the longest running row and not the running time of the batch.
    """

    BUCKET = 256

    def __init__(
        self, keys: list[mx.array], values: list[mx.array], starts: list[int], length: int
    ) -> None:
        self.keys = keys  # per layer (B, kv_heads, columns, head_dim)
        self.values = values
        self.starts = starts
        self.length = length

    @classmethod
    def for_rows(
        cls,
        config: StackSizes,
        dtype: mx.Dtype,
        counts: Sequence[int],
        prefixes: Sequence[KVCache | None],
        *,
        multiple: int = 1,
    ) -> KVCache:
        """Allocates `counts[b]` new positions in row b, after the positions of `prefixes[b]`.

        The new positions will be computed as one left-padded block of max(counts) columns. If a row
        has fewer, its prefix reaches into the block, and `update` does not overwrite it. The block
        and the whole length are rounded up to a `multiple` of columns, by shared padding.
        """
        prefix_lengths = [0 if prefix is None else prefix.length for prefix in prefixes]
        block = round_up(max(counts), multiple)
        end = max(count + n for count, n in zip(counts, prefix_lengths, strict=True))
        end = round_up(max(end, block), multiple)
        columns = _round_to_buckets(end)

        def allocate(layer: int, attribute: str) -> mx.array:
            rows = []
            for prefix, count, n in zip(prefixes, counts, prefix_lengths, strict=True):
                if prefix is None:
                    shape = (1, config.num_kv_heads, columns, config.head_dim)
                    rows.append(mx.zeros(shape, dtype))
                else:
                    prefix_array = getattr(prefix, attribute)[layer][..., :n, :]
                    rows.append(_pad(prefix_array, end - count - n, columns))
            return mx.concatenate(rows)

        return cls(
            [allocate(layer, "keys") for layer in range(config.num_layers)],
            [allocate(layer, "values") for layer in range(config.num_layers)],
            [end - count - n for count, n in zip(counts, prefix_lengths, strict=True)],
            end - block,
        )

    @property
    def columns(self) -> int:
        """Columns allocated."""
        return self.keys[0].shape[2]

    def open(self, count: int) -> None:
        """Adds `count` columns, which every layer then writes by `update`."""
        if self.length + count > self.columns:
            self._move(0, _round_to_buckets(self.length + count))
        self.length += count

    def positions(self, count: int) -> mx.array:
        """Returns rotary positions of the last `count` columns, (B, count), 0 for padding."""
        columns = np.arange(self.length - count, self.length)
        positions = np.maximum(columns - np.array(self.starts)[:, None], 0)
        return mx.array(positions.astype(np.int32))

    def mask(self, count: int, heads: int) -> mx.array | str | None:
        """Returns the causal mask without padding for queries in the last `count` columns.

        For one column (B, heads, 1, L), as Metal's attention would copy a mask without heads in
        each layer; for several (B, 1, count, L).
        """
        if not any(self.starts):
            return "causal" if count > 1 else None
        query = np.arange(self.length - count, self.length)[:, None]
        key = np.arange(self.length)
        visible = (key <= query) & (key >= np.array(self.starts)[:, None, None])
        visible |= key == query  # padding sees itself: a softmax over nothing would be NaN
        visible = visible[:, None]
        return mx.array(np.repeat(visible, heads, axis=1) if count == 1 else visible)

    def update(
        self, layer: int, keys: mx.array, values: mx.array, valid: mx.array | None = None
    ) -> tuple[mx.array, mx.array]:
        """Writes (B, kv_heads, count, head_dim) into the last columns; returns all columns.

        Where `valid` (B, 1, count, 1) is false, a column keeps its content: a prefix, or padding.
        """
        first = self.length - keys.shape[2]
        for stored, new in ((self.keys[layer], keys), (self.values[layer], values)):
            if valid is not None:
                new = mx.where(valid, new, stored[..., first : self.length, :])
            stored[..., first : self.length, :] = new
        return self.keys[layer][..., : self.length, :], self.values[layer][..., : self.length, :]

    def filter(self, rows: list[int]) -> None:
        """Keeps only `rows`, in this order, and cuts off padding that they share."""
        chosen = mx.array(rows)
        self.keys = [array[chosen] for array in self.keys]
        self.values = [array[chosen] for array in self.values]
        self.starts = [self.starts[row] for row in rows]
        self.trim()

    def trim(self) -> None:
        """Cuts off padding that all rows share."""
        shared = min(self.starts)
        if shared:
            self._move(-shared, _round_to_buckets(self.length - shared))

    def extend(self, appended: KVCache) -> None:
        """Appends the rows of `appended`, which must not be used afterwards."""
        length = max(self.length, appended.length)
        for cache in (self, appended):
            cache._move(length - cache.length, _round_to_buckets(length))
        self.keys = [
            mx.concatenate(list(pair)) for pair in zip(self.keys, appended.keys, strict=True)
        ]
        self.values = [
            mx.concatenate(list(pair)) for pair in zip(self.values, appended.values, strict=True)
        ]
        self.starts += appended.starts

    def snapshot(self) -> KVCache:
        """Copies the filled columns, for use as a prefix."""
        keys = [mx.contiguous(array[..., : self.length, :]) for array in self.keys]
        values = [mx.contiguous(array[..., : self.length, :]) for array in self.values]
        return KVCache(keys, values, list(self.starts), self.length)

    def _move(self, shift: int, columns: int) -> None:
        """Shifts the contents right (left if negative), and allocates `columns` columns."""
        first, last = max(0, -shift), self.length
        self.length += shift
        self.starts = [start + shift for start in self.starts]
        for arrays in (self.keys, self.values):
            arrays[:] = [
                _pad(array[..., first:last, :], max(0, shift), columns) for array in arrays
            ]


def round_up(count: int, multiple: int) -> int:
    """Rounds `count` up to a multiple."""
    return -(-count // multiple) * multiple


def _round_to_buckets(columns: int) -> int:
    return round_up(columns, KVCache.BUCKET)


def _pad(array: mx.array, before: int, columns: int) -> mx.array:
    after = columns - before - array.shape[2]
    return mx.pad(array, [(0, 0), (0, 0), (before, after), (0, 0)])
