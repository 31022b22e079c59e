"""Reads tensors from PyTorch's zip files (.pth, .bin, .ckpt), without torch and its risks.

Such a file is a pickle with raw storages. A pickle is a program; this reader refuses it unless
every opcode and every name in it is one that a dict of tensors needs. Only functions that return
MLX arrays import MLX; `load_array` and `load_nested_arrays` do not.
"""

from __future__ import annotations

import io
import math
import pickletools
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from speechbase.errors import CheckpointError, printable

if TYPE_CHECKING:
    import mlx.core as mx

Array = TypeVar("Array")

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

# Exceptions of zipfile and the readers below for a damaged file.
_DAMAGE = (
    EOFError, ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError,
    MemoryError, NotImplementedError, RuntimeError, OSError, struct.error, zlib.error,
)  # fmt: skip

MAX_OPCODES, MAX_STACK = 200_000, 10_000
"""A tensor takes about 33 opcodes; torch stacks no more than 2000 things."""
MAX_PICKLE_BYTES = 16 << 20
MAX_TUPLE_LENGTH = 16
"""Limit of a tuple's length: sizes, strides, arguments and names of storages have up to eight."""
MAX_NESTED_TENSORS = 100_000
"""Limit of tensors in dicts of dicts, as a pickle may name the same dict many times."""
MAX_DIMENSIONS, MAX_DIMENSION_SIZE = 8, 2**31 - 1


class _Refused(Exception):
    """The pickle uses something that no dict of tensors needs."""


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
    """Loads a file saved by `torch.save(state_dict)` or `torch.save({"state_dict": ...})`.

    The tensors never take more bytes than the file has. Raises CheckpointError for the format
    before PyTorch 1.6, for damage, and for anything but tensors.
    """
    with _open_pickle(path) as (archive, root, content):
        tree = _require_dict(content)
        if isinstance(tree.get("state_dict"), dict):
            tree = tree["state_dict"]
        return _read_tensors(archive, root, tree, path.stat().st_size, _to_mlx)


def load_array(path: Path) -> np.ndarray:
    """Loads a file saved by `torch.save(tensor)`, bfloat16 as float32; otherwise like `load`."""
    with _open_pickle(path) as (archive, root, content):
        if not isinstance(content, _Tensor):
            raise _Refused("it holds no single tensor")
        tree = {"tensor": content}
        return _read_tensors(archive, root, tree, path.stat().st_size, widen)["tensor"]


def load_nested(path: Path) -> dict[str, dict[str, mx.array]]:
    """Loads a saved dict of dicts of tensors by name; otherwise like `load`."""
    return _load_nested(path, _to_mlx)


def load_nested_arrays(path: Path) -> dict[str, dict[str, np.ndarray]]:
    """Loads like `load_nested`, but as numpy arrays, with bfloat16 as float32."""
    return _load_nested(path, widen)


def _load_nested(path: Path, convert: Callable[[np.ndarray], Array]) -> dict[str, dict[str, Array]]:
    with _open_pickle(path) as (archive, root, content):
        tree = _require_dict(content)
        for outer, inner in tree.items():
            if not isinstance(outer, str) or not isinstance(inner, dict):
                raise _Refused(f"{printable(outer)!r} is not a dict of tensors")
        if sum(map(len, tree.values())) > MAX_NESTED_TENSORS:
            raise _Refused(f"it holds more than {MAX_NESTED_TENSORS} tensors")
        pairs = [(outer, name) for outer, inner in tree.items() for name in inner]
        # By number, so that names of any length are read and none stands for another.
        pairs_by_label = {
            f"{printable(pair[0])}: {printable(pair[1])} ({n})": pair
            for n, pair in enumerate(pairs)
        }
        flat = {label: tree[outer][name] for label, (outer, name) in pairs_by_label.items()}
        arrays = _read_tensors(archive, root, flat, path.stat().st_size, convert)
        nested: dict[str, dict[str, Array]] = {outer: {} for outer in tree}
        for label, (outer, name) in pairs_by_label.items():
            nested[outer][str(name)] = arrays[label]
        return nested


@contextmanager
def _open_pickle(path: Path) -> Iterator[tuple[zipfile.ZipFile, str, Any]]:
    """Yields the archive of a file, the folder of its entries, and the content of its pickle."""
    with _open_archive(path) as archive:
        pickle_names = [name for name in archive.namelist() if name.endswith("/data.pkl")]
        if len(pickle_names) != 1:
            raise _Refused("no data.pkl inside")
        root = pickle_names[0].removesuffix("data.pkl")
        _check_byte_order(archive, root)
        pickle_bytes = _read_entry(archive, pickle_names[0], MAX_PICKLE_BYTES)
        yield archive, root, _PickleMachine(pickle_bytes).run()


def _require_dict(content: Any) -> dict[Any, Any]:
    if not isinstance(content, dict):
        raise _Refused("it holds no dict of tensors")
    return content


def checksums(path: Path) -> list[tuple[str, int, int]]:
    """Returns name, size and CRC-32 of every entry, from the directory at the file's end."""
    with _open_archive(path) as archive:
        return [(entry.filename, entry.file_size, entry.CRC) for entry in archive.infolist()]


@contextmanager
def _open_archive(path: Path) -> Iterator[zipfile.ZipFile]:
    """Opens a zip file; errors while it is open become CheckpointErrors."""
    try:
        if path.exists() and not path.is_file():
            raise _Refused("it is not a file")
        with zipfile.ZipFile(path) as archive:
            yield archive
    except FileNotFoundError:
        raise CheckpointError(f"{path}: no such file") from None
    except zipfile.BadZipFile as error:
        raise CheckpointError(
            f"{path}: {printable(str(error))}. It is truncated, or older than PyTorch 1.6; "
            "download it again, or save it again with a newer PyTorch"
        ) from error
    except _Refused as error:
        raise CheckpointError(
            f"{path}: refused: {error}. Only files of plain tensors are read; do not load this one "
            "elsewhere unless you trust its source"
        ) from error
    except _DAMAGE as error:
        reason = printable(str(error)) or type(error).__name__
        raise CheckpointError(f"{path}: damaged: {reason}; download it again") from error


def _read_entry(archive: zipfile.ZipFile, name: str, max_bytes: int) -> bytes:
    """Reads an entry's bytes. torch never compresses, so they never exceed the file's size."""
    entry = archive.getinfo(name)
    if (
        entry.compress_type != zipfile.ZIP_STORED
        or entry.compress_size != entry.file_size
        or entry.flag_bits & 1
    ):
        raise _Refused(f"{printable(name)} is compressed or locked, which torch never does")
    if entry.file_size > max_bytes:
        raise _Refused(f"{printable(name)} has {entry.file_size} bytes, {max_bytes} would do")
    return archive.read(entry)


def _check_byte_order(archive: zipfile.ZipFile, root: str) -> None:
    name = f"{root}byteorder"
    if name in archive.namelist() and _read_entry(archive, name, 6) != b"little":
        raise _Refused("its numbers are big-endian")


# ---- the pickle


class _PickleMachine:
    """Runs a pickle with the opcodes and names above only; its opcodes bound its memory.

    Python's own machine calls constructors with any arguments and hashes any key, so that a few
    bytes can make gigabytes, or hash forever.
    """

    def __init__(self, pickle_bytes: bytes) -> None:
        self._pickle = pickle_bytes
        self._stack: list[Any] = []
        self._marks: list[int] = []
        self._memo: dict[int, Any] = {}
        self._handlers: dict[str, Callable[[Any], None]] = {
            "MARK": lambda _: self._marks.append(len(self._stack)),
            "NONE": lambda _: self._push(None),
            "NEWTRUE": lambda _: self._push(True),
            "NEWFALSE": lambda _: self._push(False),
            "EMPTY_TUPLE": lambda _: self._push(()),
            "EMPTY_LIST": lambda _: self._push([]),
            "EMPTY_DICT": lambda _: self._push({}),
            "TUPLE": lambda _: self._push_tuple(self._pop_to_mark()),
            "TUPLE1": lambda _: self._push_tuple(self._pop(1)),
            "TUPLE2": lambda _: self._push_tuple(self._pop(2)),
            "TUPLE3": lambda _: self._push_tuple(self._pop(3)),
            "APPEND": lambda _: self._append(self._pop(1)),
            "APPENDS": lambda _: self._append(self._pop_to_mark()),
            "SETITEM": lambda _: self._set_entries(self._pop(2)),
            "SETITEMS": lambda _: self._set_entries(self._pop_to_mark()),
            "BINGET": lambda index: self._push(self._memo[index]),
            "LONG_BINGET": lambda index: self._push(self._memo[index]),
            "BINPUT": self._memoize,
            "LONG_BINPUT": self._memoize,
            "MEMOIZE": lambda _: self._memoize(len(self._memo)),
            "GLOBAL": lambda name: self._push(_resolve_global(*name)),
            "STACK_GLOBAL": lambda _: self._push(_resolve_global(*self._pop(2))),
            "BINPERSID": lambda _: self._push(_parse_storage(*self._pop(1))),
            "REDUCE": lambda _: self._push(_call(*self._pop(2))),
            "BUILD": lambda _: self._build(self._pop(1)),
            "PROTO": lambda _: None,
            "FRAME": lambda _: None,
        }

    def run(self) -> Any:
        """Returns the pickle's content: dicts, lists, tuples, strings, numbers, _Tensors."""
        for name, argument in _iterate_opcodes(self._pickle):
            self._handlers.get(name, self._push)(argument)
        return self._pop(1)[0]

    def _push(self, operand: Any) -> None:
        if len(self._stack) == MAX_STACK:
            raise _Refused(f"its pickle stacks more than {MAX_STACK} things")
        self._stack.append(operand)

    def _pop(self, count: int) -> list[Any]:
        start = len(self._stack) - count
        if start < (self._marks[-1] if self._marks else 0):
            raise _Refused("its pickle takes what is not there")
        popped = self._stack[start:]
        del self._stack[start:]
        return popped

    def _pop_to_mark(self) -> list[Any]:
        if not self._marks:
            raise _Refused("its pickle takes what is not there")
        popped = self._pop(len(self._stack) - self._marks[-1])
        self._marks.pop()
        return popped

    def _push_tuple(self, elements: list[Any]) -> None:
        inner_tuples = (element for element in elements if isinstance(element, tuple))
        if any(isinstance(inner, tuple) for inner in chain.from_iterable(inner_tuples)):
            raise _Refused("its pickle nests tuples, which no tensor needs")
        if len(elements) > MAX_TUPLE_LENGTH:
            raise _Refused(f"its pickle has a tuple of {len(elements)}")
        self._push(tuple(elements))

    def _append(self, elements: list[Any]) -> None:
        self._top(list).extend(elements)

    def _set_entries(self, keys_and_entries: list[Any]) -> None:
        for key, entry in zip(keys_and_entries[::2], keys_and_entries[1::2], strict=True):
            if not isinstance(key, str | int):
                raise _Refused("a key of a dict is not a name")
            self._top(dict)[key] = entry

    def _build(self, state: list[Any]) -> None:
        """Ignores an object's attributes, in which torch stores versions."""
        self._top(dict)

    def _top(self, kind: type) -> Any:
        if not isinstance(self._stack[-1], kind):
            raise _Refused(f"its pickle takes something else for a {kind.__name__}")
        return self._stack[-1]

    def _memoize(self, index: int) -> None:
        if index > len(self._pickle):
            raise _Refused("its pickle names memo entries that it cannot have")
        self._memo[index] = self._stack[-1]


def _iterate_opcodes(pickle_bytes: bytes) -> Iterator[tuple[str, Any]]:
    """Yields name and argument of each opcode; refuses opcodes that are not allowed."""
    stream = io.BytesIO(pickle_bytes)
    for _ in range(MAX_OPCODES):
        code = stream.read(1)
        opcode = _OPCODES.get(code.decode("latin-1"))
        if opcode is None:
            raise _Refused(f"its pickle uses opcode {code!r}" if code else "its pickle has no end")
        if opcode.name == "STOP":
            return
        argument: Any = None
        if opcode.name == "GLOBAL":  # its reader warns of odd escapes
            argument = [stream.readline().rstrip(b"\n").decode() for _ in range(2)]
        elif opcode.arg is not None:
            argument = opcode.arg.reader(stream)
        yield opcode.name, argument
    raise _Refused(f"its pickle has more than {MAX_OPCODES} opcodes")


def _empty_dict() -> dict[Any, Any]:
    return {}


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


_FUNCTIONS: dict[tuple[str, str], Callable[..., Any]] = {
    ("collections", "OrderedDict"): _empty_dict,
    ("torch._utils", "_rebuild_tensor_v2"): _rebuild_tensor,
    ("torch._utils", "_rebuild_parameter"): _rebuild_parameter,
}


def _resolve_global(module: Any, name: Any) -> Callable[..., Any] | str:
    """Returns an allowed function, or the name of a storage type."""
    if module == "torch" and isinstance(name, str) and name in _DTYPES:
        return name
    function = None
    if isinstance(module, str) and isinstance(name, str):
        function = _FUNCTIONS.get((module, name))
    if function is None:
        raise _Refused(f"it asks for {printable(module)}.{printable(name)}")
    return function


def _call(function: Any, arguments: Any) -> Any:
    if not callable(function) or not isinstance(arguments, tuple):
        raise _Refused("its pickle calls something that is not a function")
    return function(*arguments)


def _parse_storage(pid: Any) -> _Storage:
    match pid:
        case ("storage", str(kind), str(key), str(_), int(count)) if kind in _DTYPES:
            return _Storage(kind, key, count)
    raise _Refused("it names an unknown storage")


# ---- the numbers


def _read_tensors(
    archive: zipfile.ZipFile,
    root: str,
    tree: Mapping[Any, Any],
    file_bytes: int,
    convert: Callable[[np.ndarray], Array],
) -> dict[str, Array]:
    """Reads every tensor, storage by storage. Equal views of a storage share one array."""
    for name, tensor in tree.items():
        if not isinstance(name, str) or not isinstance(tensor, _Tensor):
            raise _Refused(f"{printable(name)!r} is not a tensor")
    views: dict[_Storage, set[_Tensor]] = {}
    for name, tensor in tree.items():
        _check_shape(name, tensor)
        views.setdefault(tensor.storage, set()).add(tensor)
    _check_sizes(views, file_bytes)
    arrays: dict[_Tensor, Array] = {}
    for storage, tensors in views.items():
        numbers = _read_storage(archive, f"{root}data/{storage.key}", storage)
        arrays |= {view: convert(_view(view, numbers)) for view in tensors}
    return {name: arrays[tensor] for name, tensor in tree.items()}


def _check_shape(name: str, tensor: _Tensor) -> None:
    """Refuses impossible shapes, before anything is hashed, multiplied or read."""
    storage, shape, strides = tensor.storage, tensor.shape, tensor.strides
    if not (
        isinstance(storage, _Storage)
        and isinstance(shape, tuple)
        and isinstance(strides, tuple)
        and len(shape) == len(strides) <= MAX_DIMENSIONS
        and all(type(n) is int and 0 <= n <= MAX_DIMENSION_SIZE for n in shape)
        and all(type(n) is int and 0 <= n < 2**60 for n in (tensor.offset, *strides, storage.count))
    ):
        raise _Refused(f"{printable(name)} has an impossible shape")
    last = tensor.offset + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
    if math.prod(shape) > storage.count or (0 not in shape and last >= storage.count):
        raise _Refused(f"{printable(name)} reaches beyond its storage")


def _check_sizes(views: Mapping[_Storage, set[_Tensor]], file_bytes: int) -> None:
    """Refuses tensors larger than the file: many views of one storage could fill any memory."""
    widths = {kind: dtype.itemsize for kind, dtype in _DTYPES.items()}
    stored_bytes = sum(storage.count * widths[storage.kind] for storage in views)
    viewed_bytes = sum(
        math.prod(tensor.shape) * widths[storage.kind]
        for storage, tensors in views.items()
        for tensor in tensors
    )
    required_bytes = max(stored_bytes, viewed_bytes)
    if required_bytes > file_bytes:
        raise _Refused(f"its tensors would take {required_bytes} bytes, the file has {file_bytes}")


def _read_storage(archive: zipfile.ZipFile, name: str, storage: _Storage) -> np.ndarray:
    dtype = _DTYPES[storage.kind]
    size = storage.count * dtype.itemsize
    content = _read_entry(archive, name, size)
    if len(content) != size:
        raise _Refused(f"storage {printable(storage.key)} is not {storage.count} plain numbers")
    return np.frombuffer(content, dtype)


def _view(tensor: _Tensor, numbers: np.ndarray) -> np.ndarray:
    if 0 in tensor.shape:
        return np.zeros(tensor.shape, numbers.dtype)
    steps = [stride * numbers.itemsize for stride in tensor.strides]
    return np.lib.stride_tricks.as_strided(
        numbers[tensor.offset :], tensor.shape, steps, writeable=False
    )


def _to_mlx(numbers: np.ndarray) -> mx.array:
    """Copies numbers to MLX; uint16 stands for bfloat16."""
    import mlx.core as mx

    copied = mx.array(numbers)
    return copied.view(mx.bfloat16) if numbers.dtype == np.uint16 else copied


def widen(numbers: np.ndarray) -> np.ndarray:
    """Copies numbers; uint16 stands for bfloat16 and becomes float32."""
    if numbers.dtype == np.uint16:
        return (numbers.astype(np.uint32) << 16).view(np.float32)
    return numbers.copy()
