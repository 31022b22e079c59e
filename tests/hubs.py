"""A hub's cache as the hub's library lays it out, of small checkpoints; a hub to pull from."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from narrator import keys

GOLDEN = Path(__file__).parent / "golden"
COSYVOICE2 = GOLDEN / "cosyvoice2" / "cosy_s0" / "checkpoint"
NAMES = (
    "config.json",
    "model.safetensors",
    "audiovae.pth",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
)
COMMIT = "a" * 40
NEWER = "b" * 40


def checkpoint(target: Path, variant: str = "square_s0") -> Path:
    """A small checkpoint in the official layout."""
    same = json.loads((GOLDEN / "same.json").read_text())
    target.mkdir(parents=True)
    for name in NAMES:
        path = f"{variant}/checkpoint/{name}"
        shutil.copyfile(GOLDEN / same.get(path, path), target / name)
    return target


def language(target: Path) -> Path:
    """What tells a language model from the outside; nothing that could be loaded."""
    target.mkdir(parents=True)
    (target / "config.json").write_text('{"model_type": "qwen2", "dtype": "bfloat16"}')
    (target / "tokenizer.json").write_text("{}")
    (target / "model.safetensors").write_bytes(b"\2\0\0\0\0\0\0\0{}")
    return target


def cached(
    cache: Path,
    source: Path,
    repo: str = "openbmb/VoxCPM2",
    commit: str = COMMIT,
    branch: str | None = "main",
) -> Path:
    """Put a folder into the cache as a snapshot; large files are blobs named by their SHA-256."""
    storage = cache / f"models--{repo.replace('/', '--')}"
    snapshot = storage / "snapshots" / commit
    snapshot.mkdir(parents=True)
    (storage / "blobs").mkdir(exist_ok=True)
    for file in (path for path in source.rglob("*") if path.is_file()):
        name = keys.file_content(file)
        blob = storage / "blobs" / (name if file.suffix != ".json" else name[:40])
        shutil.copyfile(file, blob)
        link = snapshot / file.relative_to(source)
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(os.path.relpath(blob, link.parent))
    if branch:
        (storage / "refs").mkdir(exist_ok=True)
        (storage / "refs" / branch).write_text(commit)
    return snapshot


@dataclass
class Row:
    """What the hub's library says of a file in a dry run."""

    commit_hash: str
    file_size: int
    filename: str
    will_download: bool


@dataclass
class Hub:
    """Stands for `huggingface_hub.snapshot_download`."""

    cache: Path
    source: Path
    commit: str = COMMIT
    error: Callable[[], Exception] | None = None
    """Raised by the download."""
    lookup_error: Callable[[], Exception] | None = None
    size: int = 1000
    repo: str = "openbmb/VoxCPM2"
    fetched: int = 0

    def snapshot_download(
        self,
        repo: str,
        *,
        revision: str | None = None,
        allow_patterns: list[str],
        dry_run: bool = False,
    ) -> str | list[Row]:
        storage = self.cache / f"models--{repo.replace('/', '--')}"
        if dry_run:
            if self.lookup_error:
                raise self.lookup_error()
            (storage / "refs").mkdir(parents=True, exist_ok=True)
            (storage / "refs" / (revision or "main")).write_text(self.commit)  # as the real one
            here = (storage / "snapshots" / self.commit / "model.safetensors").is_file()
            return [Row(self.commit, self.size, "model.safetensors", not here)]
        if self.error:
            raise self.error()
        snapshot = storage / "snapshots" / self.commit
        if not snapshot.exists():
            self.fetched += 1
            cached(self.cache, self.source, repo, self.commit, None)
        return str(snapshot)
