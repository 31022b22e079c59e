"""One file of tensors, safetensors or PyTorch's: what is in it, and a hash to know it by."""

from __future__ import annotations

import hashlib
import json
import struct
from pathlib import Path
from typing import Any, cast

import mlx.core as mx

from voxcpm2 import pth
from voxcpm2.errors import CheckpointError

Tensors = dict[str, mx.array]


def read(path: Path) -> Tensors:
    """The tensors of a file; those of safetensors are read from disk when they are evaluated."""
    if path.suffix != ".safetensors":
        return pth.load(path)
    _header(path)
    try:
        return cast(Tensors, mx.load(str(path)))
    except RuntimeError as error:  # MLX's, for a header that makes no sense
        raise CheckpointError(f"{path}: damaged ({error}); download it again") from error


def identity(path: Path) -> bytes:
    """A hash that tells weights apart without reading them all.

    Of safetensors it covers every tensor's name, dtype, shape and first kilobyte; of a PyTorch file
    the CRC-32 of every storage.
    """
    digest = hashlib.sha256()
    if path.suffix != ".safetensors":
        digest.update(repr(pth.checksums(path)).encode())
        return digest.digest()
    start, header = _header(path)
    with path.open("rb") as file:
        for name, entry in sorted(header.items()):
            begin, end = entry["data_offsets"]
            file.seek(start + begin)
            digest.update(f"{name} {entry['dtype']} {entry['shape']} ".encode())
            digest.update(file.read(min(end - begin, 1024)))
    return digest.digest()


def _header(path: Path) -> tuple[int, dict[str, dict[str, Any]]]:
    """Where the numbers of a safetensors file start, and its header, checked against the size."""
    size = path.stat().st_size
    try:
        with path.open("rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            if length > size - 8:
                raise ValueError("the header is longer than the file")
            header = json.loads(file.read(length))
        header.pop("__metadata__", None)
        start = 8 + length
        end = start + max((entry["data_offsets"][1] for entry in header.values()), default=0)
    except (struct.error, ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise CheckpointError(
            f"{path}: not a safetensors file, or damaged ({error}); download it again"
        ) from error
    if end != size:
        raise CheckpointError(
            f"{path}: {'truncated' if size < end else 'damaged'}: {size} bytes, its header says "
            f"{end}; download it again"
        )
    return start, header
