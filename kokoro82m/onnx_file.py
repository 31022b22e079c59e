"""Writes ONNX graphs node by node; large constants go to a file beside them.

The protobuf messages are encoded here (with the field numbers of onnx.proto), without the package
`onnx`. Knows no network.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

IR_VERSION, OPSET = 9, 20
PAGE = 4096
"""Bytes that the offset of a large constant is a multiple of: processes that map the file share
its pages."""
MAX_INLINE_BYTES = 1024
"""Largest constant in bytes that is stored in the graph, where the runtime's planner can see it."""

# TensorProto.DataType and AttributeProto.AttributeType
_TYPES = {"float32": 1, "int64": 7, "bool": 9}
_FLOAT, _INT, _STRING, _GRAPH, _INTS = 1, 2, 3, 5, 7

Shape = Sequence[int | str]


class Weights:
    """The file of large constants, which several graphs may share."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self.name = path.name
        self._file = file

    def append(self, array: np.ndarray) -> tuple[int, int]:
        """Writes an array; returns the offset and length of its bytes."""
        self._file.write(bytes(-self._file.tell() % PAGE))
        offset = self._file.tell()
        self._file.write(array.tobytes())
        return offset, array.nbytes


class Graph:
    """A graph under construction: nodes in the order in which they run.

    A method that adds a node returns the name of its output, which later nodes take as an input.
    `prefix` keeps the names of a nested graph apart from those around it.
    """

    def __init__(self, name: str, weights: Weights, prefix: str = "") -> None:
        self.name = name
        self.weights = weights
        self._prefix = prefix
        self._count = 0
        self._nodes: list[bytes] = []
        self._constants: list[bytes] = []
        self._inputs: list[bytes] = []
        self._outputs: list[bytes] = []
        self._constant_names: dict[tuple[str, tuple[int, ...], bytes], str] = {}

    def input(self, name: str, shape: Shape, dtype: str = "float32") -> str:
        """Declares an input; a dimension is a number or a name."""
        self._inputs.append(_encode_value_info(name, dtype, shape))
        return name

    def output(self, name: str, tensor: str, shape: Shape, dtype: str = "float32") -> None:
        """Declares `tensor` as an output of this name."""
        self._nodes.append(_encode_node("Identity", [tensor], [name], {}))
        self._outputs.append(_encode_value_info(name, dtype, shape))

    def constant(self, numbers: Any) -> str:
        """Adds a constant: int64 of whole numbers, float32 of others.

        Equal ones are stored once up to MAX_INLINE_BYTES; larger ones are appended to the file of
        weights at each call.
        """
        array = np.asarray(numbers)
        array = np.ascontiguousarray(array, np.int64 if array.dtype.kind == "i" else np.float32)
        if array.nbytes > MAX_INLINE_BYTES:
            name = self._new_name()
            self._constants.append(_encode_external_tensor(name, array, self.weights))
            return name
        key = (array.dtype.name, np.shape(numbers), array.tobytes())
        if key not in self._constant_names:
            self._constant_names[key] = self._new_name()
            self._constants.append(
                _encode_inline_tensor(self._constant_names[key], array.reshape(np.shape(numbers)))
            )
        return self._constant_names[key]

    def add(self, op: str, *inputs: str, attributes: Mapping[str, Any] | None = None) -> str:
        """Adds a node with one output and returns its name; an empty input is left out."""
        return self.add_outputs(op, *inputs, count=1, attributes=attributes)[0]

    def add_outputs(
        self, op: str, *inputs: str, count: int, attributes: Mapping[str, Any] | None = None
    ) -> list[str]:
        """Adds a node with `count` outputs and returns their names."""
        outputs = [self._new_name() for _ in range(count)]
        self._nodes.append(_encode_node(op, inputs, outputs, attributes or {}))
        return outputs

    # ---- operations that every network needs

    def reshape(self, x: str, shape: Sequence[int]) -> str:
        """Reshapes; one size may be -1, which is what the others leave."""
        return self.add("Reshape", x, self.constant(shape))

    def slice(self, x: str, start: int, stop: int, axis: int) -> str:
        """Takes the elements from `start` to before `stop` of an axis."""
        return self.add("Slice", x, *map(self.constant, ([start], [stop], [axis])))

    def concat(self, tensors: Sequence[str], axis: int) -> str:
        """Joins values along an axis."""
        return self.add("Concat", *tensors, attributes={"axis": axis})

    def transpose(self, x: str, axes: Sequence[int]) -> str:
        """Puts the axes of `x` in the order `axes`."""
        return self.add("Transpose", x, attributes={"perm": axes})

    def size(self, x: str, axis: int) -> str:
        """Returns the size of an axis, as a tensor (1,)."""
        return self.add("Shape", x, attributes={"start": axis, "end": axis + 1})

    # ---- files

    def nested(self) -> Graph:
        """Returns a new graph for an attribute of a node, such as the body of a loop."""
        return Graph(self._new_name(), self.weights, f"{self._new_name()}.")

    def message(self) -> bytes:
        """Encodes the graph as a GraphProto."""
        return b"".join((
            *(_encode_field(1, node) for node in self._nodes),
            _encode_field(2, self.name.encode()),
            *(_encode_field(5, constant) for constant in self._constants),
            *(_encode_field(11, info) for info in self._inputs),
            *(_encode_field(12, info) for info in self._outputs),
        ))  # fmt: skip

    def write(self, path: Path) -> None:
        """Writes a file with the graph, as a ModelProto."""
        opset = _encode_field(2, OPSET)
        path.write_bytes(
            _encode_field(1, IR_VERSION)
            + _encode_field(7, self.message())
            + _encode_field(8, opset)
        )

    def _new_name(self) -> str:
        self._count += 1
        return f"{self._prefix}{self._count}"


def _encode_node(
    op: str, inputs: Iterable[str], outputs: Iterable[str], attributes: Mapping[str, Any]
) -> bytes:
    return b"".join((
        *(_encode_field(1, name.encode()) for name in inputs),
        *(_encode_field(2, name.encode()) for name in outputs),
        _encode_field(4, op.encode()),
        *(_encode_field(5, _encode_attribute(*attribute)) for attribute in attributes.items()),
    ))  # fmt: skip


def _encode_attribute(name: str, setting: Any) -> bytes:
    if isinstance(setting, int):
        kind, field = _INT, _encode_field(3, setting)
    elif isinstance(setting, float):
        kind, field = _FLOAT, _encode_key(2, 5) + struct.pack("<f", setting)
    elif isinstance(setting, str):
        kind, field = _STRING, _encode_field(4, setting.encode())
    elif isinstance(setting, Graph):
        kind, field = _GRAPH, _encode_field(6, setting.message())
    else:
        kind, field = _INTS, b"".join(_encode_field(8, number) for number in setting)
    return _encode_field(1, name.encode()) + field + _encode_field(20, kind)


def _encode_tensor_header(name: str, array: np.ndarray) -> bytes:
    dims = b"".join(_encode_field(1, size) for size in array.shape)
    return dims + _encode_field(2, _TYPES[array.dtype.name]) + _encode_field(8, name.encode())


def _encode_inline_tensor(name: str, array: np.ndarray) -> bytes:
    return _encode_tensor_header(name, array) + _encode_field(9, array.tobytes())


def _encode_external_tensor(name: str, array: np.ndarray, weights: Weights) -> bytes:
    offset, length = weights.append(array)
    location = {"location": weights.name, "offset": str(offset), "length": str(length)}
    pairs = (
        _encode_field(1, key.encode()) + _encode_field(2, text.encode())
        for key, text in location.items()
    )
    return (
        _encode_tensor_header(name, array)
        + b"".join(_encode_field(13, pair) for pair in pairs)
        + _encode_field(14, 1)
    )


def _encode_value_info(name: str, dtype: str, shape: Shape) -> bytes:
    dims = b"".join(_encode_field(1, _encode_dimension(size)) for size in shape)
    tensor = _encode_field(1, _TYPES[dtype]) + _encode_field(2, dims)
    return _encode_field(1, name.encode()) + _encode_field(2, _encode_field(1, tensor))


def _encode_dimension(size: int | str) -> bytes:
    return _encode_field(1, size) if isinstance(size, int) else _encode_field(2, size.encode())


def _encode_field(number: int, payload: int | bytes) -> bytes:
    if isinstance(payload, bytes):
        return _encode_key(number, 2) + _encode_varint(len(payload)) + payload
    return _encode_key(number, 0) + _encode_varint(payload & (1 << 64) - 1)


def _encode_key(number: int, wire: int) -> bytes:
    return _encode_varint(number << 3 | wire)


def _encode_varint(number: int) -> bytes:
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)
