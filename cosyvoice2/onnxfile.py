"""Whether an ONNX file stands by itself: what onnxruntime must not be asked to open.

A tensor of such a file may lie in another, named by a path, or at an address in memory; the
runtime follows both when a session opens. So the file's messages are walked before, those that
can hold tensors and no others. It knows nothing of what the network computes.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from pathlib import Path

from speechbase.errors import CheckpointError

MOST_FIELDS, DEEPEST = 2_000_000, 64
"""A published file has some 50,000 fields in messages that are walked."""

# Fields of each kind of message (onnx.proto) that are messages on the way to a tensor.
_INSIDE: dict[str, dict[int, str]] = {
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


class _Torn(Exception):
    """It is no protobuf, or not all of one."""


def check(path: Path, most: int) -> None:
    """Raises CheckpointError for a file that is missing, larger than `most` bytes, no ONNX file, or
    one whose tensors lie elsewhere."""
    if not path.is_file():
        raise CheckpointError(f"{path}: no such file")
    size = path.stat().st_size
    if size > most:
        raise CheckpointError(f"{path}: refused: it has {size} bytes, {most} would do")
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            elsewhere = _walk(data)
    except (_Torn, ValueError, OSError) as error:  # an empty file cannot be mapped
        raise CheckpointError(f"{path}: damaged: {error}; download it again") from None
    if elsewhere:
        raise CheckpointError(
            f"{path}: refused: it names other files to read its numbers from; only files that hold "
            "them themselves are read"
        )


def _walk(data: mmap.mmap) -> bool:
    """Whether a tensor of it lies elsewhere."""
    todo = [("model", 0, len(data), 0)]
    seen, graphs = 0, 0
    while todo:
        kind, start, end, depth = todo.pop()
        for number, wire, value, stop in _fields(data, start, end):
            seen += 1
            if seen > MOST_FIELDS or depth > DEEPEST:
                raise _Torn("it has too many parts")
            if kind == "tensor" and (
                number == _EXTERNAL_DATA or (number == _DATA_LOCATION and value != 0)
            ):
                return True
            inner = _INSIDE[kind].get(number)
            if inner and wire == _BYTES:
                todo.append((inner, value, stop, depth + 1))
                graphs += kind == "model" and number == _GRAPH
    if not graphs:
        raise _Torn("it holds no network")
    return False


def _fields(data: mmap.mmap, at: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """Number, kind, value and end of each field; the value of bytes is where they begin."""
    while at < end:
        tag, at = _varint(data, at, end)
        wire = tag & 7
        value = at
        if wire == _VARINT:
            value, at = _varint(data, at, end)
        elif wire == _BYTES:
            length, value = _varint(data, at, end)
            at = value + length
        elif wire in (_EIGHT, _FOUR):
            at += 8 if wire == _EIGHT else 4
        else:
            raise _Torn("it is no ONNX file")
        if at > end:
            raise _Torn("it is cut off, or no ONNX file")
        yield tag >> 3, wire, value, at


def _varint(data: mmap.mmap, at: int, end: int) -> tuple[int, int]:
    """A number of seven bits a byte, and what comes after it."""
    found = 0
    for shift in range(0, 70, 7):
        if at >= end:
            raise _Torn("it is cut off, or no ONNX file")
        byte = data[at]
        at += 1
        found |= (byte & 0x7F) << shift
        if byte < 0x80:
            return found, at
    raise _Torn("it is no ONNX file")
