"""Keys and values of the rows of a batch, kept between steps.

It knows columns and rows; it knows no layers' insides and no text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import mlx.core as mx
import numpy as np


class StackSizes(Protocol):
    """What must be known of layers to make space for their keys and values."""

    @property
    def num_layers(self) -> int: ...
    @property
    def num_kv_heads(self) -> int: ...
    @property
    def head_dim(self) -> int: ...


class KVCache:
    """Keys and values of every layer of one stack, for B rows of different length.

    Rows end together: row b fills columns `starts[b]` to `length`, left of that is padding. Space
    is made in buckets of `BUCKET` columns, and padding that all rows share is cut off, so the size
    follows the longest row alive and not the time that the batch has run.
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
        """Space for `counts[b]` new positions in row b, after what `prefixes[b]` holds already.

        The new positions will be computed as one left-padded block of max(counts) columns. Where
        a row has fewer, its prefix reaches into the block; `update` spares it. The block and all
        there is with it are of a `multiple` of columns, padding that all rows share included.
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
        """Take the next `count` columns; every layer then writes them by `update`."""
        if self.length + count > self.columns:
            self._move(0, _round_to_buckets(self.length + count))
        self.length += count

    def positions(self, count: int) -> mx.array:
        """Rotary positions of the last `count` columns, (B, count); padding counts as 0."""
        columns = np.arange(self.length - count, self.length)
        positions = np.maximum(columns - np.array(self.starts)[:, None], 0)
        return mx.array(positions.astype(np.int32))

    def mask(self, count: int, heads: int) -> mx.array | str | None:
        """Who may see whom, for queries in the last `count` columns: causal, and never padding.

        (B, heads, 1, L) for one column: Metal's attention would copy a mask without heads, once a
        layer. (B, 1, count, L) for several.
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
        """Write (B, kv_heads, count, head_dim) into the open columns; returns all up to there.

        Where `valid` (B, 1, count, 1) is false a column keeps what it held: a prefix, or nothing.
        """
        first = self.length - keys.shape[2]
        for stored, new in ((self.keys[layer], keys), (self.values[layer], values)):
            if valid is not None:
                new = mx.where(valid, new, stored[..., first : self.length, :])
            stored[..., first : self.length, :] = new
        return self.keys[layer][..., : self.length, :], self.values[layer][..., : self.length, :]

    def filter(self, rows: list[int]) -> None:
        """Keep these rows, in this order, and cut off what padding they share."""
        chosen = mx.array(rows)
        self.keys = [array[chosen] for array in self.keys]
        self.values = [array[chosen] for array in self.values]
        self.starts = [self.starts[row] for row in rows]
        self.trim()

    def trim(self) -> None:
        """Cut off the padding that all rows share."""
        shared = min(self.starts)
        if shared:
            self._move(-shared, _round_to_buckets(self.length - shared))

    def extend(self, appended: KVCache) -> None:
        """Append the other cache's rows; `appended` is used up."""
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
        """A copy of exactly what is held, for use as a prefix."""
        keys = [mx.contiguous(array[..., : self.length, :]) for array in self.keys]
        values = [mx.contiguous(array[..., : self.length, :]) for array in self.values]
        return KVCache(keys, values, list(self.starts), self.length)

    def _move(self, shift: int, columns: int) -> None:
        """Shift the contents right (left where negative), into `columns` columns."""
        first, last = max(0, -shift), self.length
        self.length += shift
        self.starts = [start + shift for start in self.starts]
        for arrays in (self.keys, self.values):
            arrays[:] = [
                _pad(array[..., first:last, :], max(0, shift), columns) for array in arrays
            ]


def round_up(count: int, multiple: int) -> int:
    """`count`, or what is next above it that `multiple` divides."""
    return -(-count // multiple) * multiple


def _round_to_buckets(columns: int) -> int:
    return round_up(columns, KVCache.BUCKET)


def _pad(array: mx.array, before: int, columns: int) -> mx.array:
    after = columns - before - array.shape[2]
    return mx.pad(array, [(0, 0), (0, 0), (before, after), (0, 0)])
