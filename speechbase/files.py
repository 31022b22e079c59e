"""Reads, writes and hashes files of tensors, safetensors or PyTorch's.

Only functions that return MLX arrays import MLX; `read_arrays` does not.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import re
import struct
import tempfile
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from speechbase import pth
from speechbase.errors import CheckpointError, printable
from speechbase.sections import read_object

if TYPE_CHECKING:
    import mlx.core as mx

Tensors = dict[str, "mx.array"]

MAX_HEADER_BYTES = 16 << 20
"""Bytes of a safetensors header; a tensor takes about 120."""
MAX_DIMENSIONS, MAX_DIMENSION_SIZE = 8, 2**31 - 1
# Bytes of a number, of the types that MLX reads.
_WIDTHS = {
    "BOOL": 1, "U8": 1, "I8": 1, "F8_E4M3": 1, "F8_E8M0": 1, "U16": 2, "I16": 2, "F16": 2,
    "BF16": 2, "U32": 4, "I32": 4, "F32": 4, "U64": 8, "I64": 8, "C64": 8,
}  # fmt: skip

MAX_INDEX_BYTES, MAX_SHARDS = 16 << 20, 1000
_SHARD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,200}\.safetensors")

_NUMPY = {"F32": "<f4", "F16": "<f2", "BF16": "<u2", "I32": "<i4", "I64": "<i8", "U8": "u1"}


@contextlib.contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """Yields a temporary directory, and renames it to `target` at the end, if no error occurred."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as scratch:
        directory = Path(scratch) / target.name
        directory.mkdir()
        yield directory
        directory.rename(target)


def weight_files(folder: Path) -> list[Path]:
    """Returns the files of a checkpoint's weights, as transformers names them: one, or the shards
    of an index. Raises CheckpointError."""
    index = folder / "model.safetensors.index.json"
    for file in (folder / "model.safetensors", index, folder / "pytorch_model.bin"):
        if file.is_file():
            return _list_shards(index) if file == index else [file]
    raise CheckpointError(
        f"{folder}: no weights; looked for model.safetensors, {index.name} and pytorch_model.bin"
    )


def _list_shards(index: Path) -> list[Path]:
    listed = read_object(index, MAX_INDEX_BYTES).get("weight_map")
    shard_names = listed.values() if isinstance(listed, dict) else ()
    names = {name if isinstance(name, str) else "" for name in shard_names}
    if not names:
        raise CheckpointError(f"{index}: not a list of shards")
    odd_names = sorted(name for name in names if not _SHARD.fullmatch(name))
    if odd_names or len(names) > MAX_SHARDS:
        fault = printable(odd_names[0]) if odd_names else repr(len(names))
        raise CheckpointError(
            f"{index}: not a list of shards: {fault}; they are files beside it, model-….safetensors"
        )
    missing = sorted(name for name in names if not (index.parent / name).is_file())
    if missing:
        remainder = f" and {len(missing) - 8} more" if len(missing) > 8 else ""
        raise CheckpointError(
            f"{index.parent}: missing shards: {', '.join(missing[:8])}{remainder}"
        )
    return [index.parent / name for name in sorted(names)]


def read(path: Path) -> Tensors:
    """Reads the tensors of a file; those of safetensors are loaded when they are evaluated."""
    if path.suffix != ".safetensors":
        return pth.load(path)
    import mlx.core as mx

    read_header(path)
    try:
        return cast(Tensors, mx.load(str(path)))
    except RuntimeError as error:  # MLX's, for a header that makes no sense to it
        raise CheckpointError(
            f"{path}: damaged ({printable(str(error))}); download it again"
        ) from error


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Reads the tensors of a safetensors file as numpy arrays. Raises CheckpointError.

    Arrays are mapped from disk, except for bfloat16, which is converted to float32.
    """
    start, header = read_header(path)
    if not header:
        return {}
    contents = np.memmap(path, np.uint8, "r", start)
    arrays = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        if entry["dtype"] not in _NUMPY:
            raise CheckpointError(f"{path}: {printable(name)} is of the type {entry['dtype']}")
        numbers = contents[begin:end].view(_NUMPY[entry["dtype"]]).reshape(entry["shape"])
        arrays[name] = pth.widen(numbers) if entry["dtype"] == "BF16" else numbers
    return arrays


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Writes arrays to a safetensors file as float32."""
    header, offset = {}, 0
    for name, array in arrays.items():
        end = offset + 4 * array.size
        header[name] = {"dtype": "F32", "shape": array.shape, "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for array in arrays.values():
            file.write(np.ascontiguousarray(array, "<f4").data)


def compare_shapes(
    expected: Mapping[str, tuple[int, ...]],
    actual: Mapping[str, tuple[int, ...]],
    settings: str = "config.json",
) -> None:
    """Raises one CheckpointError that names all missing, unexpected or misshapen tensors.

    `settings` is the file that the expected shapes come from.
    """
    problems = []

    def report(kind: str, names: list[str]) -> None:
        if names:
            remainder = f" and {len(names) - 8} more" if len(names) > 8 else ""
            problems.append(
                f"{len(names)} {kind}: {', '.join(map(printable, names[:8]))}{remainder}"
            )

    report("missing", sorted(expected.keys() - actual.keys()))
    report("unexpected", sorted(actual.keys() - expected.keys()))
    shared = sorted(expected.keys() & actual.keys())
    wrong = [name for name in shared if expected[name] != actual[name]]
    report("misshapen", [f"{name} {actual[name]} instead of {expected[name]}" for name in wrong])
    if problems:
        raise CheckpointError(
            f"the tensors do not fit {settings}; is it another model's? " + "; ".join(problems)
        )


def identity(path: Path) -> bytes:
    """Hashes a file of weights without reading all of it.

    For safetensors the hash covers every tensor's name, dtype, shape and first kilobyte; for a
    PyTorch file the CRC-32 of every storage.
    """
    digest = hashlib.sha256()
    if path.suffix != ".safetensors":
        digest.update(repr(pth.checksums(path)).encode())
        return digest.digest()
    start, header = read_header(path)
    with path.open("rb") as file:
        for name, entry in sorted(header.items()):
            begin, end = entry["data_offsets"]
            file.seek(start + begin)
            digest.update(f"{name} {entry['dtype']} {entry['shape']} ".encode())
            digest.update(file.read(min(end - begin, 1024)))
    return digest.digest()


def read_header(path: Path) -> tuple[int, dict[str, dict[str, Any]]]:
    """Reads the header of a safetensors file; returns the offset of its data, and the header.

    Checks that every tensor lies within the file, takes the bytes of its shape, and shares none, so
    that tensors are never larger than the file. Raises CheckpointError.
    """
    try:
        if path.exists() and not path.is_file():
            raise ValueError("it is not a file")
        size = path.stat().st_size
        with path.open("rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            if length > size - 8:
                raise ValueError("the header is longer than the file")
            if length > MAX_HEADER_BYTES:
                raise ValueError(f"a header of {length} bytes")
            text = file.read(length).decode()
        header = json.loads(text, object_pairs_hook=_reject_duplicates)
        header.pop("__metadata__", None)
        spans = sorted(_tensor_span(name, entry) for name, entry in header.items())
    except (
        OSError, struct.error, ValueError, KeyError, TypeError, AttributeError, RecursionError
    ) as error:  # fmt: skip
        raise CheckpointError(
            f"{path}: not a safetensors file, or damaged ({printable(str(error))}); "
            "download it again"
        ) from error
    start = 8 + length
    end = start + max((end for _, end in spans), default=0)
    if end != size:
        raise CheckpointError(
            f"{path}: {'truncated' if size < end else 'damaged'}: {size} bytes, its header says "
            f"{printable(end)}; download it again"
        )
    if any(before != begin for (_, before), (begin, _) in pairwise([(0, 0), *spans])):
        raise CheckpointError(
            f"{path}: damaged: its tensors lie over one another, or with gaps; download it again"
        )
    return start, header


def _reject_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("a name stands there twice")
    return fields


def _tensor_span(name: str, entry: Mapping[str, Any]) -> tuple[int, int]:
    """Returns a tensor's first and last offset. Raises ValueError, KeyError, TypeError."""
    name.encode()  # half a surrogate pair
    dtype, shape, (begin, end) = entry["dtype"], entry["shape"], entry["data_offsets"]
    if dtype not in _WIDTHS:
        raise ValueError(f"{printable(name)} is of the unknown type {printable(dtype)}")
    if (
        not isinstance(shape, list)
        or len(shape) > MAX_DIMENSIONS
        or not all(type(n) is int and 0 <= n <= MAX_DIMENSION_SIZE for n in shape)
    ):
        raise ValueError(f"{printable(name)} has an impossible shape")
    if not (type(begin) is int and type(end) is int and 0 <= begin <= end):
        raise ValueError(f"{printable(name)} lies nowhere")
    if math.prod(shape) * _WIDTHS[dtype] != end - begin:
        raise ValueError(f"{printable(name)} does not take the bytes of its shape")
    return begin, end
