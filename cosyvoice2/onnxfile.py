"""Checks that an ONNX file is self-contained, before onnxruntime opens it.

A tensor may be stored in another file, named by a path, or at an address in memory, and the runtime
follows both when it opens a session. So the messages that can hold tensors are walked first. Knows
nothing of what the network computes.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from pathlib import Path

from speechbase.errors import CheckpointError

MAX_FIELDS, MAX_DEPTH = 2_000_000, 64
"""Limits of the walk; the published files have some 50,000 fields in the walked messages."""

# Fields of each kind of message (onnx.proto) that lead to a tensor.
_MESSAGE_FIELDS: dict[str, dict[int, str]] = {
    "model": {7: "graph", 20: "training", 25: "function"},
    "training": {1: "graph", 2: "graph"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "function": {7: "node", 11: "attribute"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
    "tensor": {},
}
_GRAPH, _EXTERNAL_DATA, _DATA_LOCATION = 7, 13, 14
_VARINT, _EIGHT, _BYTES, _FOUR = 0, 1, 2, 5


class _DamagedFile(Exception):
    """The file is no protobuf message, or an incomplete one."""


def check(path: Path, max_bytes: int) -> None:
    """Raises CheckpointError for a file that is missing, too large, no ONNX file, or that stores
    tensors elsewhere."""
    if not path.is_file():
        raise CheckpointError(f"{path}: no such file")
    size = path.stat().st_size
    if size > max_bytes:
        raise CheckpointError(f"{path}: refused: it has {size} bytes, {max_bytes} would do")
    try:
        with (
            path.open("rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as contents,
        ):
            has_external_tensors = _has_external_tensors(contents)
    except (_DamagedFile, ValueError, OSError) as error:  # an empty file cannot be mapped
        raise CheckpointError(f"{path}: damaged: {error}; download it again") from None
    if has_external_tensors:
        raise CheckpointError(
            f"{path}: refused: it names other files to read its numbers from; only files that hold "
            "them themselves are read"
        )


def _has_external_tensors(contents: mmap.mmap) -> bool:
    """Returns True if a tensor is stored outside the file."""
    pending = [("model", 0, len(contents), 0)]
    field_count, graph_count = 0, 0
    while pending:
        kind, start, end, depth = pending.pop()
        for number, wire, payload, field_end in _iterate_fields(contents, start, end):
            field_count += 1
            if field_count > MAX_FIELDS or depth > MAX_DEPTH:
                raise _DamagedFile("it has too many parts")
            if kind == "tensor" and (
                number == _EXTERNAL_DATA or (number == _DATA_LOCATION and payload != 0)
            ):
                return True
            inner_kind = _MESSAGE_FIELDS[kind].get(number)
            if inner_kind and wire == _BYTES:
                pending.append((inner_kind, payload, field_end, depth + 1))
                graph_count += kind == "model" and number == _GRAPH
    if not graph_count:
        raise _DamagedFile("it holds no network")
    return False


def _iterate_fields(
    contents: mmap.mmap, offset: int, end: int
) -> Iterator[tuple[int, int, int, int]]:
    """Yields number, wire type, payload and end of each field; for bytes, the payload is their
    offset."""
    while offset < end:
        tag, offset = _read_varint(contents, offset, end)
        wire = tag & 7
        payload = offset
        if wire == _VARINT:
            payload, offset = _read_varint(contents, offset, end)
        elif wire == _BYTES:
            length, payload = _read_varint(contents, offset, end)
            offset = payload + length
        elif wire in (_EIGHT, _FOUR):
            offset += 8 if wire == _EIGHT else 4
        else:
            raise _DamagedFile("it is not an ONNX file")
        if offset > end:
            raise _DamagedFile("it is cut off, or no ONNX file")
        yield tag >> 3, wire, payload, offset


def _read_varint(contents: mmap.mmap, offset: int, end: int) -> tuple[int, int]:
    """Reads a number of seven bits a byte; returns it and the offset after it."""
    number = 0
    for shift in range(0, 70, 7):
        if offset >= end:
            raise _DamagedFile("it is cut off, or no ONNX file")
        byte = contents[offset]
        offset += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, offset
    raise _DamagedFile("it is not an ONNX file")
