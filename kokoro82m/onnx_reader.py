"""ONNX files -> nodes and numbers, without the package `onnx`: what `convert.py` reads.

Field numbers are those of onnx.proto. Attributes, types and what else a file has is passed over.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from speechbase.errors import CheckpointError, shown

# TensorProto.DataType
_TYPES = {
    1: "<f4", 2: "u1", 3: "i1", 5: "<i2", 6: "<i4", 7: "<i8", 9: "?", 10: "<f2", 11: "<f8"
}  # fmt: skip
_VARINT, _EIGHT, _BYTES, _FOUR = 0, 1, 2, 5
LONGEST_VARINT = 10


@dataclass(frozen=True, slots=True)
class Node:
    """An operation."""

    name: str
    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class OnnxGraph:
    """A file's nodes in order, and its constants by name."""

    nodes: list[Node]
    arrays: dict[str, np.ndarray]


def parse_onnx(data: bytes, where: Path) -> OnnxGraph:
    """A ModelProto that holds its constants itself. Raises CheckpointError naming `where`."""
    try:
        [graph] = _all(memoryview(data), 7)
        nodes, arrays = [], {}
        for number, value in _fields(graph):
            if number == 1:
                nodes.append(_node(_message(value)))
            elif number == 5:
                name, array = _tensor(_message(value))
                arrays[name] = array
        return OnnxGraph(nodes, arrays)
    except (ValueError, IndexError, KeyError, struct.error) as error:
        raise CheckpointError(f"{where}: no ONNX file, or damaged: {shown(str(error))}") from error


def _node(message: memoryview) -> Node:
    inputs, outputs, name, op = [], [], "", ""
    for number, value in _fields(message):
        if number == 1:
            inputs.append(_text(value))
        elif number == 2:
            outputs.append(_text(value))
        elif number == 3:
            name = _text(value)
        elif number == 4:
            op = _text(value)
    return Node(name, op, tuple(inputs), tuple(outputs))


def _tensor(message: memoryview) -> tuple[str, np.ndarray]:
    """Numbers are raw bytes, or packed: fractions as they are, whole ones each as a varint."""
    sizes: list[int] = []
    name, dtype, raw = "", "", memoryview(b"")
    packed: list[int] = []
    for number, value in _fields(message):
        if number == 1:
            sizes += [value] if isinstance(value, int) else _varints(value)
        elif number == 2 and isinstance(value, int):
            dtype = _TYPES[value]
        elif number in (5, 7):
            packed += [value] if isinstance(value, int) else _varints(value)
        elif number == 8:
            name = _text(value)
        elif number in (4, 9, 10):
            raw = _message(value)
    if packed:
        return name, np.array(packed, np.uint64).astype(np.int64).astype(dtype).reshape(sizes)
    return name, np.frombuffer(raw, dtype).reshape(sizes)


# ---- the wire


def _all(message: memoryview, wanted: int) -> list[memoryview]:
    return [_message(value) for number, value in _fields(message) if number == wanted]


def _fields(message: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Numbers and values. Raises ValueError, IndexError."""
    place = 0
    while place < len(message):
        key, place = _varint(message, place)
        wire = key & 7
        if wire == _VARINT:
            value, place = _varint(message, place)
            yield key >> 3, value
            continue
        if wire not in (_EIGHT, _BYTES, _FOUR):
            raise ValueError(f"a field of the kind {wire}")
        size = {_EIGHT: 8, _FOUR: 4}.get(wire)
        if size is None:
            size, place = _varint(message, place)
        if place + size > len(message):
            raise ValueError("a field is longer than what it stands in")
        yield key >> 3, message[place : place + size]
        place += size


def _varint(message: memoryview, place: int) -> tuple[int, int]:
    value = 0
    for n in range(LONGEST_VARINT):
        byte = message[place + n]
        value |= (byte & 0x7F) << 7 * n
        if byte < 0x80:
            return value, place + n + 1
    raise ValueError("a number without an end")


def _varints(packed: memoryview) -> list[int]:
    place, values = 0, []
    while place < len(packed):
        value, place = _varint(packed, place)
        values.append(value)
    return values


def _message(value: int | memoryview) -> memoryview:
    if isinstance(value, int):
        raise ValueError("a number in place of a message")
    return value


def _text(value: int | memoryview) -> str:
    return str(_message(value), "utf-8")
