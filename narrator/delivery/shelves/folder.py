"""Sends files to a folder of this machine, which may be a mounted one."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from narrator import files
from narrator.delivery.shelves.sending import Item


@dataclass(frozen=True, slots=True)
class FolderShelf:
    """A folder. Its methods raise StorageError."""

    root: Path

    def sizes(self, names: Collection[str]) -> Mapping[str, int]:
        sizes = {}
        for name in names:
            path = self.root / name
            with files.translating_errors(path), contextlib.suppress(FileNotFoundError):
                sizes[name] = path.lstat().st_size
        return sizes

    def send(self, items: Sequence[Item], on_sent: Callable[[Item], None]) -> None:
        for item in items:
            path = self.root / item.name
            with files.translating_errors(item.source):
                source = item.source.open("rb")
            with source, files.replacing(path) as temporary, temporary.open("wb") as target:
                shutil.copyfileobj(source, target, 1 << 20)
            on_sent(item)

    def remove(self, names: Sequence[str]) -> None:
        for name in names:
            path = self.root / name
            with files.translating_errors(path):
                path.unlink(missing_ok=True)
            self._remove_empty_folders(path.parent)

    def _remove_empty_folders(self, folder: Path) -> None:
        """Removes this folder and its parents below the root, as far as they are empty."""
        with contextlib.suppress(OSError):
            while folder != self.root:
                folder.rmdir()
                folder = folder.parent
