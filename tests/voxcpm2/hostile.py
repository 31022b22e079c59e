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


# -- all of them


PARTS = ("config", "tokenizer", "lora", "weights", "codec")
RANDOM = 3000
"""How many changes of bytes there are in `all`."""


def cases(part: str, seed: int, folder: Path) -> list[Case]:
    """All cases of a part, those that are drawn from `seed`."""
    generator = random.Random(seed)

    def read(name: str) -> bytes:
        return (folder / name).read_bytes()

    found: list[Case] = []
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
