"""Reads nodes and constants of ONNX files for `convert.py`, without the package `onnx`.

Field numbers are those of onnx.proto. Attributes, types and other fields are skipped.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from speechbase.errors import CheckpointError, printable

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


def parse_onnx(contents: bytes, path: Path) -> OnnxGraph:
    """Parses a ModelProto with inline constants. Raises CheckpointError that names `path`."""
    try:
        [graph] = _find_messages(memoryview(contents), 7)
        nodes, arrays = [], {}
        for number, payload in _iterate_fields(graph):
            if number == 1:
                nodes.append(_parse_node(_require_message(payload)))
            elif number == 5:
                name, array = _parse_tensor(_require_message(payload))
                arrays[name] = array
        return OnnxGraph(nodes, arrays)
    except (ValueError, IndexError, KeyError, struct.error) as error:
        raise CheckpointError(
            f"{path}: no ONNX file, or damaged: {printable(str(error))}"
        ) from error


def _parse_node(message: memoryview) -> Node:
    inputs, outputs, name, op = [], [], "", ""
    for number, payload in _iterate_fields(message):
        if number == 1:
            inputs.append(_decode_text(payload))
        elif number == 2:
            outputs.append(_decode_text(payload))
        elif number == 3:
            name = _decode_text(payload)
        elif number == 4:
            op = _decode_text(payload)
    return Node(name, op, tuple(inputs), tuple(outputs))


def _parse_tensor(message: memoryview) -> tuple[str, np.ndarray]:
    """Parses a TensorProto: its name and array. Numbers are raw bytes, or packed: fractions as they
    are, whole numbers each as a varint."""
    sizes: list[int] = []
    name, dtype, raw = "", "", memoryview(b"")
    packed: list[int] = []
    for number, payload in _iterate_fields(message):
        if number == 1:
            sizes += [payload] if isinstance(payload, int) else _read_varints(payload)
        elif number == 2 and isinstance(payload, int):
            dtype = _TYPES[payload]
        elif number in (5, 7):
            packed += [payload] if isinstance(payload, int) else _read_varints(payload)
        elif number == 8:
            name = _decode_text(payload)
        elif number in (4, 9, 10):
            raw = _require_message(payload)
    if packed:
        return name, np.array(packed, np.uint64).astype(np.int64).astype(dtype).reshape(sizes)
    return name, np.frombuffer(raw, dtype).reshape(sizes)


# ---- the wire


def _find_messages(message: memoryview, field_number: int) -> list[memoryview]:
    return [
        _require_message(payload)
        for number, payload in _iterate_fields(message)
        if number == field_number
    ]


def _iterate_fields(message: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Yields each field's number and value. Raises ValueError, IndexError."""
    offset = 0
    while offset < len(message):
        key, offset = _read_varint(message, offset)
        wire = key & 7
        if wire == _VARINT:
            number, offset = _read_varint(message, offset)
            yield key >> 3, number
            continue
        if wire not in (_EIGHT, _BYTES, _FOUR):
            raise ValueError(f"a field of the kind {wire}")
        size = {_EIGHT: 8, _FOUR: 4}.get(wire)
        if size is None:
            size, offset = _read_varint(message, offset)
        if offset + size > len(message):
            raise ValueError("a field is longer than what it stands in")
        yield key >> 3, message[offset : offset + size]
        offset += size


def _read_varint(message: memoryview, offset: int) -> tuple[int, int]:
    number = 0
    for n in range(LONGEST_VARINT):
        byte = message[offset + n]
        number |= (byte & 0x7F) << 7 * n
        if byte < 0x80:
            return number, offset + n + 1
    raise ValueError("a number without an end")


def _read_varints(packed: memoryview) -> list[int]:
    offset, numbers = 0, []
    while offset < len(packed):
        number, offset = _read_varint(packed, offset)
        numbers.append(number)
    return numbers


def _require_message(payload: int | memoryview) -> memoryview:
    if isinstance(payload, int):
        raise ValueError("a number in place of a message")
    return payload


def _decode_text(payload: int | memoryview) -> str:
    return str(_require_message(payload), "utf-8")
