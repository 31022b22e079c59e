"""Checkpoints as an attacker, or a bad disk, would make them: each loads, or is one clear error.

As a program, `python -m tests.voxcpm2.hostile PART SEED COUNT` tries COUNT of them (0: all) in a
process of its own, whose memory it measures; it prints what went wrong, and ends with 1 then.
"""

from __future__ import annotations

import copy
import json
import random
import resource
import shutil
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import voxcpm2
from speechbase.errors import ModelError
from tests.voxcpm2.conftest import Golden

Case = tuple[str, Callable[[Path], None]]
"""What it does, and the doing of it: to a folder with a checkpoint, and a LoRA in `lora`."""

VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 3, 7, 10**7, 2**31, 2**63, 10**400, 0.0, -0.5, 1e-320, 1e308,
    float("nan"), float("inf"), "", "9", "\ud800\u202e\n" * 50, [], [0], [1] * 40, [True], [[1]],
    [10**9] * 4, [None], ["a"], [float("nan")] * 12, {}, {"a": 1},
)  # fmt: skip
MEMORY = 400 << 20
"""Bytes that no case may add to the process's largest size."""
SECONDS = 8.0
DELETED = object()


# -- JSON


def paths(tree: Any, most: int = 3) -> Iterator[tuple[Any, ...]]:
    """Of every value; of long lists and objects the first ones."""
    items = tree.items() if isinstance(tree, dict) else enumerate(tree)
    for number, (key, value) in enumerate(items):
        if number >= max(most, 40 if isinstance(tree, dict) and len(tree) < 40 else 0):
            break
        yield (key,)
        if isinstance(value, dict | list):
            yield from ((key, *rest) for rest in paths(value, most))


def swapped(tree: Any, path: tuple[Any, ...], value: Any) -> Any:
    """A copy with another value at a path."""
    new = copy.deepcopy(tree)
    at = new
    for key in path[:-1]:
        at = at[key]
    if value is DELETED:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return new


def in_json(name: str, tree: Any) -> Iterator[Case]:
    """Every value of a file replaced by every hostile one, or gone."""
    for path in paths(tree):
        for value in (*VALUES, DELETED):
            yield (
                f"{name}: {path} = {'gone' if value is DELETED else repr(value)[:40]}",
                lambda folder, path=path, value=value: _write(
                    folder / name, json.dumps(swapped(tree, path, value)).encode()
                ),
            )


WHOLE = {
    "empty": b"",
    "null": b"null",
    "list": b"[]",
    "string": b'"x"',
    "object": b"{}",
    "number": b"1" * 5000,
    "no UTF-8": b"\xff\xfe\x00{",
    "UTF-16": '{"a": 1}'.encode("utf-16"),
    "byte-order mark": b"\xef\xbb\xbf{}",
    "deep list": b"[" * 100_000,
    "deep object": b'{"a":' * 100_000,
    "zeros": bytes(5000),
}


def as_a_whole(name: str) -> Iterator[Case]:
    """A file that is something else, or no file."""
    for what, data in WHOLE.items():
        yield f"{name}: {what}", lambda folder, data=data: _write(folder / name, data)
    yield f"{name}: gone", lambda folder: (folder / name).unlink()
    yield f"{name}: a folder", lambda folder: _folder(folder / name)


def _write(path: Path, data: bytes) -> None:
    path.write_bytes(data)


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


# -- bytes


def flips(name: str, source: bytes, count: int, generator: random.Random) -> Iterator[Case]:
    """Bytes changed, cut off, doubled; most of them where a file says what it holds."""
    heads = (0, min(len(source), 40_000)), (max(0, len(source) - 40_000), len(source))
    for _ in range(count):
        kind = generator.choice(("flip", "flip", "flip", "cut", "insert", "delete", "big"))
        low, high = generator.choice((*heads, (0, 16), (0, len(source))))
        at = generator.randrange(low, max(low + 1, min(high, len(source))))
        drawn = generator.randbytes(8)
        yield (
            f"{name}: {kind} at {at} with {drawn.hex()}",
            lambda folder, kind=kind, at=at, drawn=drawn: _write(
                folder / name, _changed(source, kind, at, drawn)
            ),
        )


def _changed(source: bytes, kind: str, at: int, drawn: bytes) -> bytes:
    data, few = bytearray(source), 1 + drawn[0] % 8
    if kind == "flip":
        for byte in drawn[1 : 2 + drawn[0] % 4]:
            data[min(at + byte // 8 % 4, len(data) - 1)] ^= 1 << byte % 8
    elif kind == "cut":
        del data[at:]
    elif kind == "insert":
        data[at:at] = drawn[:few]
    elif kind == "delete":
        del data[at : at + few]
    else:
        data[at : at + 8] = (b"\xff" * 8, bytes(8), b"\xff" * 7 + b"\x7f")[drawn[0] % 3]
    return bytes(data)


# -- headers


ENTRY = (
    ("dtype", ("F64", "F8_E5M2", "I32", "U8", "BOOL", "", None, 4, [], "F16")),
    ("shape", ([], [0], [-1, -1], [2**31, 2**31], [10**400], [1.5], [True], "no", None, {}, [1] * 9,
               [float("nan")], [2**62, 0], [[1]])),
    ("data_offsets", ([0, 0], [-4, 4], [4, 0], [0, 2**63], [0, 10**400], [0], [0, 4, 8], [0.0, 4.0],
                      ["a", "b"], None, {}, [True, 4], [float("nan"), 4], 4)),
)  # fmt: skip


def in_header(name: str, source: bytes) -> Iterator[Case]:
    """A safetensors header that lies."""
    (length,) = struct.unpack("<Q", source[:8])
    header, numbers = json.loads(source[8 : 8 + length]), source[8 + length :]
    names = [key for key in header if key != "__metadata__"]
    for tensor in (names[0], names[-1]):
        for key, values in ENTRY:
            for value in (*values, DELETED):
                new = swapped(header, (tensor, key), value)
                yield f"{name}: {key} = {value!r:.40}", _header(name, new, numbers)
        for value in (None, [], 3, "no"):
            yield f"{name}: {value}", _header(name, {**header, tensor: value}, numbers)
    both = {**header, names[0]: header[names[1]]}
    yield f"{name}: two of one place", _header(name, both, numbers)
    many = {f"t{n}": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]} for n in range(50_000)}
    yield f"{name}: many", _header(name, header | many, numbers)
    for odd in ("\ud800", "a\nb\x1b[31m", "x" * 100_000, "", "audio_vae.", "9" * 5000, "a.lora_A"):
        renamed = {odd if key == names[0] else key: value for key, value in header.items()}
        yield f"{name}: named {odd!r:.20}", _header(name, renamed, numbers)
    for metadata in ([], 3, {"a": [[]]}, {"a": 1}, None):
        new = {**header, "__metadata__": metadata}
        yield f"{name}: metadata {metadata!r}", _header(name, new, numbers)
    first = json.dumps(header[names[0]])
    double = json.dumps(header)[:-1] + f", {json.dumps(names[0])}: {first}}}"
    yield f"{name}: a name twice", _text(name, double.encode(), numbers)
    for said in (0, 1, length - 1, length + 1, 2**20, 2**40, 2**63, 2**64 - 1):
        yield (
            f"{name}: header of {said}",
            lambda folder, said=said: _write(folder / name, struct.pack("<Q", said) + source[8:]),
        )
    for what, data in WHOLE.items():
        yield f"{name}: header {what}", _text(name, data, numbers)


def _header(name: str, header: Any, numbers: bytes) -> Callable[[Path], None]:
    return _text(name, json.dumps(header).encode(), numbers)


def _text(name: str, text: bytes, numbers: bytes) -> Callable[[Path], None]:
    return lambda folder: _write(folder / name, struct.pack("<Q", len(text)) + text + numbers)


# -- lists of shards


def shards() -> Iterator[Case]:
    """Lists of shards that lead elsewhere, or are none."""
    names = (
        "../../x", "/etc/passwd", "/etc/passwd\0.safetensors", "", ".", "..", "a/b.safetensors",
        "model.bin", "x" * 5000 + ".safetensors", "\ud800.safetensors", "fifo.safetensors", 3, None,
        True, [], {}, ["a"], 1e400,
    )  # fmt: skip
    trees: list[Any] = [{"weight_map": {"a": name}} for name in names]
    trees += [{"weight_map": value} for value in VALUES] + [{}]
    trees.append({"weight_map": {"a": "model-1.safetensors", "b": 3}})
    trees.append({"weight_map": {str(n): f"model-{n}.safetensors" for n in range(50_000)}})
    for tree in trees:
        yield f"shards: {tree!r:.60}", lambda folder, tree=tree: _listed(folder, json.dumps(tree))
    for what, data in WHOLE.items():
        yield f"shards: {what}", lambda folder, data=data: _listed(folder, data)


def _listed(folder: Path, data: str | bytes) -> None:
    (folder / "model.safetensors").rename(folder / "model-1.safetensors")
    data = data.encode() if isinstance(data, str) else data
    (folder / "model.safetensors.index.json").write_bytes(data)


# -- all of them


PARTS = ("config", "tokenizer", "lora", "weights", "codec", "shards")
RANDOM = 3000
"""How many changes of bytes there are in `all`."""


def cases(part: str, seed: int, folder: Path) -> list[Case]:
    """All cases of a part, those that are drawn from `seed`."""
    generator = random.Random(seed)

    def read(name: str) -> bytes:
        return (folder / name).read_bytes()

    found: list[Case] = []
    if part == "shards":
        return list(shards())
    files = {
        "config": ["config.json"],
        "tokenizer": ["tokenizer.json", "tokenizer_config.json"],
        "lora": ["lora/lora_config.json", "lora/lora_weights.safetensors"],
        "weights": ["model.safetensors"],
        "codec": ["audiovae.pth"],
    }[part]
    for name in files:
        found += as_a_whole(name)
        found += flips(name, read(name), RANDOM // len(files), generator)
        if name.endswith(".json"):
            found += in_json(name, json.loads(read(name)))
        if name.endswith(".safetensors"):
            found += in_header(name, read(name))
    return found


def attempt(folder: Path, *, lora: bool) -> str:
    """Load, and speak a little where it loads: what went wrong, or ""."""
    try:
        model = voxcpm2.load(folder, lora=folder / "lora" if lora else None)
        latents = model.encode(np.sin(np.arange(3200, dtype=np.float32)), sample_rate=16_000)
        reference = None if model.config.first_generation else latents
        model.generate("a b", reference=reference, steps=2, max_len=2, seed=1)
    except ModelError as error:
        message = str(error).replace(str(folder), "")
        if "\n" in message or len(message) > 1500 or not message.isprintable():
            return f"its message is no line: {message!r:.300}"
        return ""
    except BaseException as error:  # noqa: BLE001  # what is looked for
        return f"{type(error).__name__}: {error!s:.300}"
    return ""


def grown() -> int:
    """Bytes: the largest that this process ever was."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def trouble(part: str, seed: int, count: int) -> Iterator[str]:
    """What goes wrong with `count` of a part's cases (0: all)."""
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        golden = Golden("base", scratch)
        pristine = golden.assemble(scratch / "pristine")
        shutil.copytree(golden.lora, pristine / "lora")
        attempt(pristine, lora=True)
        before = grown()
        chosen = cases(part, seed, pristine)
        if count and count < len(chosen):
            chosen = random.Random(seed).sample(chosen, count)
        for number, (what, change) in enumerate(chosen):
            folder = scratch / f"case{number}"
            shutil.copytree(pristine, folder)
            change(folder)
            began = time.monotonic()
            wrong = attempt(folder, lora=part == "lora")
            took = time.monotonic() - began
            shutil.rmtree(folder)
            if took > SECONDS:
                wrong += f" took {took:.1f} s"
            if grown() - before > MEMORY:
                wrong += f" took {(grown() - before) >> 20} MiB"
                before = grown()
            if wrong:
                yield f"{what}: {wrong}"


if __name__ == "__main__":
    found = False
    for part in sys.argv[1].split(","):
        for line in trouble(part, int(sys.argv[2]), int(sys.argv[3])):
            found = True
            print(f"{part}: {line}", flush=True)
    sys.exit(found)
