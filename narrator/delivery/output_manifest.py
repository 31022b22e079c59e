"""A folder of finished files: which of them this program made, and which are superseded.

Superseded files are moved to `build/superseded`, never deleted and never over another file. Every
file is listed before it is written, and until it has been moved; so a kill in between loses
nothing, and the next run continues from there. Knows nothing of the contents of files.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from narrator import files, keys

FOLDER = "superseded"
"""Folder of superseded files within `build`."""


@dataclass(frozen=True, slots=True)
class MadeFile:
    """The record of a file that was made."""

    chapters: tuple[int, ...] = ()
    """Chapters in it, counted from 0; none for companions."""
    state: str = ""
    """Hash of everything that decided it; empty until it is delivered."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """size in bytes, sha256 and kind. For sound: seconds; pause, the longest that its timeline
    explains; starts, the seconds at which its chapters begin; mark, the tags that state its origin;
    signed, where it has content credentials; checks, its results against its profile."""

    def row(self) -> list[Any]:
        """Returns the JSON row of the list."""
        return [list(self.chapters), self.state, dict(self.facts)]

    @property
    def failed_checks(self) -> list[str]:
        """The checks against its profile that it failed."""
        return list(self.facts["checks"][1]) if "checks" in self.facts else []

    @property
    def kind(self) -> str:
        """`export.FileKind` of sound, the name in `output.companions` of a companion, or "feed";
        empty where an earlier version made it."""
        return str(self.facts.get("kind", ""))

    @property
    def is_feed(self) -> bool:
        return self.kind == "feed" or bool(self.facts.get("feed"))  # of earlier versions

    def difference(self, path: Path) -> str:
        """Returns how the file at `path` differs from what was delivered; empty where every byte
        matches.

        Raises OSError.
        """
        if not path.is_file():
            return "is missing"
        size, actual_size = self.facts.get("size", 0), path.stat().st_size
        if actual_size < size:
            return f"is cut off: {actual_size:,} of {size:,} bytes"
        is_intact = keys.file_content(path) == self.facts.get("sha256")
        return "" if is_intact else "has been changed since it was made"


def content_facts(path: Path) -> dict[str, Any]:
    """Returns the `MadeFile.facts` of any file. Raises OSError."""
    return {"size": path.stat().st_size, "sha256": keys.file_content(path)}


_NUMBERS = ("size", "seconds", "pause")
"""Facts that are numbers."""


def read_ledger(ledger: Path) -> dict[str, MadeFile]:
    """Reads the records of a list (made.json), by path within `build`; skips odd ones."""
    rows = files.load_json(ledger, dict[str, tuple[tuple[int, ...], str, dict[str, Any]]], {})
    return {
        name: MadeFile(chapters, state, facts)
        for name, (chapters, state, facts) in rows.items()
        if "\0" not in name
        and all(isinstance(facts.get(number, 0), int | float) for number in _NUMBERS)
        and isinstance(facts.get("mark", {}), dict)
    }


@dataclass(slots=True)
class OutputManifest:
    """The finished files of one manifest, or of its draft."""

    build: Path
    folder: Path
    """Folder of finished files, within `build`."""
    ledger: Path
    """made.json; it may list files of other folders too, which are left alone."""
    moved: list[tuple[Path, Path]] = field(default_factory=list)
    """Files that were moved aside, each with its new path."""
    _entries: dict[str, MadeFile] = field(init=False)

    def __post_init__(self) -> None:
        self._entries = read_ledger(self.ledger)

    def name(self, path: Path) -> str:
        """Returns a file's path within `build`, the same wherever that lies."""
        return Path(os.path.relpath(path, self.build)).as_posix()

    def path(self, name: str) -> Path:
        """Returns the file of a path within `build`."""
        return Path(os.path.normpath(self.build / name))

    def holds(self, name: str) -> bool:
        """Returns whether a path within `build` lies in this folder."""
        return self.path(name).is_relative_to(os.path.normpath(self.folder))

    def entry(self, path: Path) -> MadeFile:
        """Returns the record of a file; an empty one for a file that was not made here."""
        return self._entries.get(self.name(path), MadeFile())

    def lists(self, path: Path) -> bool:
        """Returns whether a file was made here, or was about to be."""
        return self.name(path) in self._entries

    def finished(self) -> Iterator[tuple[Path, MadeFile]]:
        """Yields the files that were delivered to this folder, with their records."""
        for name, entry in self._entries.items():
            if self.holds(name) and (entry.state or entry.facts):
                yield self.path(name), entry

    def record(self, path: Path, entry: MadeFile) -> None:
        """Records a file that was written here. Raises StorageError."""
        self._entries[self.name(path)] = entry
        self._save()

    def expect_files(self, paths: Iterable[Path]) -> None:
        """Records files that are about to be made. Raises StorageError."""
        new_names = {self.name(path) for path in paths} - self._entries.keys()
        if new_names:
            self._entries |= dict.fromkeys(new_names, MadeFile())
            self._save()

    def clear_path(self, path: Path, written_sha256: str | None = None) -> None:
        """Moves aside a file that is in the way of a new one, unless it is as it was made.

        `written_sha256` is the hash of what was written there last, where a run ended before that
        was settled. Raises StorageError.
        """
        if not os.path.lexists(path):
            return
        with files.translating_errors(path):
            is_plain_file = path.is_file() and not path.is_symlink()
            content = keys.file_content(path) if is_plain_file else ""
        if not content or content not in (self.entry(path).facts.get("sha256"), written_sha256):
            self._move_to_superseded(path)

    def settle(self, delivered: Mapping[Path, MadeFile]) -> None:
        """Makes the folder hold the delivered files and nothing else that was made here.

        Leaves files alone that this program did not make. Raises StorageError.
        """
        delivered_entries = {self.name(path): entry for path, entry in delivered.items()}
        with files.translating_errors(self.folder):
            # on a case-insensitive disk, a file may still exist under its old name
            delivered_identities = {_file_identity(path) for path in delivered}
            outdated_paths = {
                name: self.path(name)
                for name in self._entries.keys() - delivered_entries.keys()
                if self.holds(name)
            }
            superseded_paths = [
                path
                for _, path in sorted(outdated_paths.items())
                if path.is_file() or path.is_symlink()
                if _file_identity(path) not in delivered_identities
            ]
        self._entries |= delivered_entries
        self._save()
        for path in superseded_paths:
            self._move_to_superseded(path)
        for parent in {path.parent for path in outdated_paths.values()}:
            files.sweep(parent)
            self._remove_empty_folders(parent)
        self._entries = {n: e for n, e in self._entries.items() if n not in outdated_paths}
        self._save()

    def supersede(self, path: Path) -> None:
        """Moves a file aside that is useless without others. Raises StorageError."""
        self._move_to_superseded(path)
        self._remove_empty_folders(path.parent)

    def _move_to_superseded(self, path: Path) -> None:
        """Moves a file to the folder of superseded files, also across disks."""
        target = _free_path(self.build / FOLDER / self.name(path))
        with files.translating_errors(path):
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                path.rename(target)
            except OSError as error:
                if error.errno != errno.EXDEV:
                    raise
                with files.replacing(target) as temporary:  # the folders are on different disks
                    shutil.copy2(path, temporary)
                path.unlink()
        self.moved.append((path, target))

    def _remove_empty_folders(self, folder: Path) -> None:
        """Removes a folder if it is empty, and its empty parents."""
        root = Path(os.path.normpath(self.folder))
        while folder != root and folder.is_relative_to(root):
            try:
                folder.rmdir()
            except OSError:
                return
            folder = folder.parent

    def _save(self) -> None:
        with files.translating_errors(self.ledger):
            rows = {name: entry.row() for name, entry in self._entries.items()}
            files.save_json(self.ledger, rows)


def _file_identity(path: Path) -> tuple[int, int]:
    """Returns the device and inode of a file."""
    stat = path.lstat()
    return stat.st_dev, stat.st_ino


def _free_path(path: Path) -> Path:
    """Returns the path, with a number appended where such a file exists."""
    candidate, number = path, 2
    while os.path.lexists(candidate):
        candidate = path.with_name(f"{path.stem} ({number}){path.suffix}")
        number += 1
    return candidate


def list_superseded(build: Path) -> list[tuple[Path, int]]:
    """Returns the files that were moved aside with their sizes, in order. Raises StorageError."""
    folder = build / FOLDER
    with files.translating_errors(folder):
        if folder.is_symlink():  # a user's own folder, left alone
            return []
        paths = sorted(path for path in folder.rglob("*") if path.is_symlink() or path.is_file())
        return [(path, path.lstat().st_size) for path in paths]


def delete_superseded(build: Path) -> int:
    """Deletes the files that were moved aside, and returns their size in bytes. Raises
    StorageError."""
    superseded_files = list_superseded(build)
    with files.translating_errors(build / FOLDER):
        for path, _ in superseded_files:
            path.unlink()
        root = build / FOLDER
        folders = [path for path in root.rglob("*") if path.is_dir()] if superseded_files else []
        for folder in [*sorted(folders, reverse=True), root]:
            with contextlib.suppress(OSError):
                folder.rmdir()
    return sum(size for _, size in superseded_files)
