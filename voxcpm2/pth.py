"""PyTorch's zip files (.pth, .bin, .ckpt) -> tensors, without torch and without running anything.

Such a file is a pickle beside raw storages. A pickle is a program; this reader runs one only if
every opcode and every name in it is one that a dict of tensors needs, and refuses it otherwise.
"""

from __future__ import annotations

import io
import math
import pickle
import pickletools
import struct
import zipfile
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np

from voxcpm2.errors import CheckpointError

_DTYPES: dict[str, np.dtype[Any]] = {
    "DoubleStorage": np.dtype("<f8"),
    "FloatStorage": np.dtype("<f4"),
    "HalfStorage": np.dtype("<f2"),
    "BFloat16Storage": np.dtype("<u2"),  # numpy has none; viewed as bfloat16 by MLX
    "LongStorage": np.dtype("<i8"),
    "IntStorage": np.dtype("<i4"),
    "ShortStorage": np.dtype("<i2"),
    "CharStorage": np.dtype("i1"),
    "ByteStorage": np.dtype("u1"),
    "BoolStorage": np.dtype("?"),
}

_ALLOWED = frozenset({
    "PROTO", "FRAME", "STOP", "MARK", "NONE", "NEWTRUE", "NEWFALSE", "BININT", "BININT1", "BININT2",
    "LONG1", "BINFLOAT", "BINUNICODE", "SHORT_BINUNICODE", "EMPTY_TUPLE", "TUPLE", "TUPLE1",
    "TUPLE2", "TUPLE3", "EMPTY_LIST", "APPEND", "APPENDS", "EMPTY_DICT", "SETITEM", "SETITEMS",
    "BINGET", "LONG_BINGET", "BINPUT", "LONG_BINPUT", "MEMOIZE", "GLOBAL", "STACK_GLOBAL",
    "BINPERSID", "REDUCE", "BUILD",
})  # fmt: skip
_OPCODES = {opcode.code: opcode for opcode in pickletools.opcodes if opcode.name in _ALLOWED}

# What a damaged pickle makes the unpickler raise.
_DAMAGE = (
    pickle.UnpicklingError, EOFError, ValueError, TypeError, KeyError, IndexError, AttributeError,
    OverflowError, MemoryError, struct.error,
)  # fmt: skip


MOST_TUPLES = 64
"""Between two objects: sizes, strides, arguments and the name of a storage make about five."""


class _Refused(Exception):
    """The pickle asks for something that no dict of tensors needs."""


@dataclass(frozen=True, slots=True)
class _Storage:
    kind: str
    key: str
    count: int


@dataclass(frozen=True, slots=True)
class _Tensor:
    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def load(path: Path) -> dict[str, mx.array]:
    """The tensors of a file saved by `torch.save(state_dict)` or `{"state_dict": ...}`.

    Raises CheckpointError for the format before PyTorch 1.6, for damage, and for anything but
    tensors.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            pickled = [name for name in archive.namelist() if name.endswith("/data.pkl")]
            if len(pickled) != 1:
                raise _Refused("no data.pkl inside")
            root = pickled[0].removesuffix("data.pkl")
            _check_byte_order(archive, root)
            entry = archive.getinfo(pickled[0])
            if entry.compress_type != zipfile.ZIP_STORED or entry.flag_bits & 1:
                raise _Refused("its data.pkl is compressed or locked, which torch never does")
            tree = _unpickle(archive.read(entry))
            if isinstance(tree, dict) and isinstance(tree.get("state_dict"), dict):
                tree = tree["state_dict"]
            if not isinstance(tree, dict):
                raise _Refused("it holds no dict of tensors")
            return _read_all(archive, root, tree)
    except FileNotFoundError:
        raise CheckpointError(f"{path}: no such file") from None
    except zipfile.BadZipFile as error:
        raise CheckpointError(
            f"{path}: {error}. It is truncated, or older than PyTorch 1.6; download it again, or "
            "save it again with a newer PyTorch"
        ) from error
    except _Refused as error:
        raise CheckpointError(
            f"{path}: refused: {error}. Only files of plain tensors are read; do not load this one "
            "elsewhere unless you trust its source"
        ) from error
    except _DAMAGE as error:
        raise CheckpointError(f"{path}: damaged: {error}; download it again") from error


def checksums(path: Path) -> list[tuple[str, int, int]]:
    """Name, size and CRC-32 of every entry, from the directory at the file's end."""
    try:
        with zipfile.ZipFile(path) as archive:
            return [(entry.filename, entry.file_size, entry.CRC) for entry in archive.infolist()]
    except zipfile.BadZipFile as error:
        raise CheckpointError(f"{path}: {error}; download it again") from error


def _check_byte_order(archive: zipfile.ZipFile, root: str) -> None:
    name = f"{root}byteorder"
    if name in archive.namelist() and archive.read(name) != b"little":
        raise _Refused("its numbers are big-endian")


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Callable[..., Any] | str:
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return _rebuild_tensor
        if (module, name) == ("torch._utils", "_rebuild_parameter"):
            return _rebuild_parameter
        if module == "torch" and name in _DTYPES:
            return name
        raise _Refused(f"it asks for {module}.{name}")

    def persistent_load(self, pid: Any) -> _Storage:
        match pid:
            case ("storage", str(kind), str(key), str(_), int(count)) if kind in _DTYPES:
                return _Storage(kind, key, count)
        raise _Refused("it names an unknown storage")


def _unpickle(data: bytes) -> Any:
    stream = io.BytesIO(data)
    nested = 0
    while code := stream.read(1):
        opcode = _OPCODES.get(code.decode("latin-1"))
        if opcode is None:
            raise _Refused(f"its pickle uses opcode {code!r}")
        # A tuple in a tuple in a tuple: hashing or showing a deep one ends the process.
        nested = 0 if opcode.name == "REDUCE" else nested + opcode.name.startswith("TUPLE")
        if nested > MOST_TUPLES:
            raise _Refused("its pickle nests tuples without end")
        argument: Any = None
        if opcode.name == "GLOBAL":  # its reader warns of odd escapes
            stream.readline(), stream.readline()
        elif opcode.arg is not None:
            argument = opcode.arg.reader(stream)
        # A memo is an array: one huge index would allocate gigabytes.
        if opcode.name == "LONG_BINPUT" and argument > len(data):
            raise _Refused("its pickle names memo entries that it cannot have")
        if opcode.name == "STOP":
            break
    return _Unpickler(io.BytesIO(data)).load()


def _rebuild_tensor(
    storage: _Storage,
    offset: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    requires_grad: bool = False,
    hooks: object = None,
    metadata: object = None,
) -> _Tensor:
    return _Tensor(storage, offset, shape, strides)


def _rebuild_parameter(tensor: _Tensor, requires_grad: bool, hooks: object) -> _Tensor:
    return tensor


def _read_all(archive: zipfile.ZipFile, root: str, tree: dict[Any, Any]) -> dict[str, mx.array]:
    storages: dict[str, np.ndarray] = {}
    tensors = {}
    for name, value in tree.items():
        if not isinstance(name, str) or not isinstance(value, _Tensor):
            raise _Refused(f"{name!r} is not a tensor")
        storage = value.storage
        if storage.key not in storages:
            storages[storage.key] = _read_storage(archive, f"{root}data/{storage.key}", storage)
        tensors[name] = _view(name, value, storages[storage.key])
    return tensors


def _read_storage(archive: zipfile.ZipFile, name: str, storage: _Storage) -> np.ndarray:
    dtype = _DTYPES[storage.kind]
    entry = archive.getinfo(name)
    # torch stores without compression, so what is read is never larger than the file.
    if (
        entry.compress_type != zipfile.ZIP_STORED
        or entry.file_size != storage.count * dtype.itemsize
    ):
        raise _Refused(f"storage {storage.key} is not {storage.count} plain numbers")
    return np.frombuffer(archive.read(entry), dtype)


def _view(name: str, tensor: _Tensor, numbers: np.ndarray) -> mx.array:
    shape, strides = tensor.shape, tensor.strides
    whole = [tensor.offset, *shape, *strides]
    if not all(type(number) is int and number >= 0 for number in whole) or len(shape) != len(
        strides
    ):
        raise _Refused(f"{name} has an impossible shape")
    last = tensor.offset + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
    if math.prod(shape) > numbers.size or (math.prod(shape) > 0 and last >= numbers.size):
        raise _Refused(f"{name} reaches beyond its storage")
    steps = [stride * numbers.itemsize for stride in strides]
    array = np.lib.stride_tricks.as_strided(numbers[tensor.offset :], shape, steps, writeable=False)
    copied = mx.array(array)
    return copied.view(mx.bfloat16) if tensor.storage.kind == "BFloat16Storage" else copied
