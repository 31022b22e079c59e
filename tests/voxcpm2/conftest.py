"""Fixtures for the golden numbers: `golden("base")` finds files, arrays and whole checkpoints."""

from __future__ import annotations

import io
import json
import os
import pickle
import shutil
import sys
import types
import zipfile
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np
import pytest

from voxcpm2 import VoxCPM2
from voxcpm2.load import Checkpoint, load

ROOT = Path(os.environ.get("VOXCPM2_GOLDEN", Path(__file__).parent.parent / "golden"))
CHECKPOINT_FILES = (
    "config.json",
    "model.safetensors",
    "audiovae.pth",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
)


class Golden:
    """One folder of golden numbers; files that equal another folder's are stored there only."""

    def __init__(self, variant: str, scratch: Path) -> None:
        self.variant = variant
        self.folder = next(ROOT.glob(f"{variant}_s*")).name
        self._scratch = scratch / variant

    def path(self, name: str) -> Path:
        """Where `name` (relative to the folder) is kept."""
        path = ROOT / self.folder / name
        if path.exists():
            return path
        same = ROOT / "same.json"
        kept = json.loads(same.read_text())[f"{self.folder}/{name}"] if same.exists() else name
        return ROOT / kept

    def arrays(self, name: str) -> dict[str, np.ndarray]:
        """The arrays of `name`.npz."""
        with np.load(self.path(f"{name}.npz")) as arrays:
            return {key: arrays[key] for key in arrays.files}

    @cached_property
    def index(self) -> dict[str, Any]:
        """index.json."""
        return json.loads(self.path("index.json").read_text())

    @cached_property
    def config(self) -> dict[str, Any]:
        """config.json of the checkpoint."""
        return json.loads(self.path("checkpoint/config.json").read_text())

    @cached_property
    def checkpoint(self) -> Path:
        """A complete checkpoint directory in the official layout; do not write into it."""
        return self.assemble(self._scratch / "checkpoint")

    @cached_property
    def lora(self) -> Path:
        """A LoRA directory; do not write into it."""
        for name in ("lora_config.json", "lora_weights.safetensors"):
            _copy(self.path(f"lora/{name}"), self._scratch / "lora" / name)
        return self._scratch / "lora"

    def assemble(self, target: Path) -> Path:
        """Copy the checkpoint into `target`, for a test that alters it."""
        for name in CHECKPOINT_FILES:
            _copy(self.path(f"checkpoint/{name}"), target / name)
        return target


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


@pytest.fixture(scope="session")
def golden(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Golden]:
    """`golden(variant)` with variant one of base, bf16, stress, square, v1."""
    scratch = tmp_path_factory.mktemp("golden")
    made: dict[str, Golden] = {}

    def get(variant: str) -> Golden:
        if variant not in made:
            made[variant] = Golden(variant, scratch)
        return made[variant]

    return get


@pytest.fixture(scope="session")
def checkpoint(golden: Callable[[str], Golden]) -> Callable[[str], Checkpoint]:
    """`checkpoint(variant)`: the loaded checkpoint in float32; do not change its modules."""
    made: dict[str, Checkpoint] = {}

    def get(variant: str) -> Checkpoint:
        if variant not in made:
            made[variant] = load(golden(variant).checkpoint, dtype="float32")
        return made[variant]

    return get


@pytest.fixture
def save_torch(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path, Any], None]:
    """`save_torch(path, tree)` writes what `torch.save` would, arrays of MLX as tensors."""
    modules = {"torch": types.ModuleType("torch"), "torch._utils": types.ModuleType("torch._utils")}
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)

    def named(module: str, name: str) -> Any:
        """A function that pickles as `module.name`."""
        function = types.FunctionType((lambda *_: None).__code__, {})
        function.__module__, function.__qualname__ = module, name
        setattr(modules[module], name, function)
        return function

    rebuild = named("torch._utils", "_rebuild_tensor_v2")

    def save(path: Path, tree: Any) -> None:
        storages: list[bytes] = []

        class Pickler(pickle.Pickler):
            def reducer_override(self, value: Any) -> Any:
                if not isinstance(value, mx.array):
                    return NotImplemented
                kind = STORAGES[value.dtype]
                bits = value.view(mx.uint16) if value.dtype == mx.bfloat16 else value
                storages.append(np.array(bits).tobytes())
                key = Storage((named("torch", kind), str(len(storages) - 1), value.size))
                strides = tuple(np.cumprod((1, *value.shape[:0:-1]))[::-1].tolist())
                shape = tuple(value.shape)
                return rebuild, (key, 0, shape, strides[len(strides) - len(shape) :], False, {})

            def persistent_id(self, value: Any) -> Any:
                if not isinstance(value, Storage):
                    return None
                kind, key, count = value.parts
                return "storage", kind, key, "cpu", count

        file = io.BytesIO()
        Pickler(file, protocol=2).dump(tree)
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("archive/data.pkl", file.getvalue())
            archive.writestr("archive/byteorder", "little")
            for number, storage in enumerate(storages):
                archive.writestr(f"archive/data/{number}", storage)

    return save


class Storage:
    """Stands for a storage while pickling."""

    def __init__(self, parts: tuple[Any, str, int]) -> None:
        self.parts = parts


STORAGES = {
    mx.float32: "FloatStorage",
    mx.float16: "HalfStorage",
    mx.bfloat16: "BFloat16Storage",
    mx.int32: "IntStorage",
    mx.int64: "LongStorage",
    mx.bool_: "BoolStorage",
}


def latents(model: VoxCPM2, seed: int, count: int) -> np.ndarray:
    """Random latents in the shape that a model encodes to."""
    shape = (count, model.config.patch_size, model.config.feat_dim)
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


@pytest.fixture(scope="session")
def models(checkpoint: Callable[[str], Checkpoint]) -> Callable[[str], VoxCPM2]:
    """`models(variant)`: the public interface of `checkpoint(variant)`."""
    return lambda variant: VoxCPM2(checkpoint(variant))
