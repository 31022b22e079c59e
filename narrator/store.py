"""Takes on disk, addressed by content: get, put, drop, gc.

A take is one file, `ab/abcdef….take`: a zip archive, stored, of `record.json`, `audio.flac` and,
where the engine has them, `latents.npy`. It is written beside its goal, synced and renamed, so a
take is whole or absent. `journal.jsonl` remembers what was put, with the file's hash, size and
time, so that a plan need not open any take; it only grows, repairs its own torn tail, and can be
lost: what it does not know is read from the takes again. Knows nothing of plans, engines, chapters.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import threading
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from narrator import audio, files, keys
from narrator.errors import DamagedTake


@dataclass(frozen=True, slots=True)
class Record:
    """How a take came about, and what its sound measures."""

    key: str
    content: str
    """Hash of samples and latents, as stored: what a child's `prompted_by` holds."""
    samples: int
    sample_rate: int
    start: int
    """First sample of speech; edge silence lies before it."""
    stop: int
    level: float
    """Active speech level, dB."""
    peak: float
    """Highest sample, dB."""
    attempt: int = 0
    """0 for the first try."""
    halves: int = 1
    """How many parts it was rendered in."""
    prompted_by: str | None = None
    """Content hash of the take that it continued."""
    engine: str = ""
    text: str = ""
    """Spoken text."""
    prompt_text: str = ""
    """What the latents say, where that is not the whole text: a halved take keeps its last half."""
    wall: float = 0.0
    """Seconds from its request to its samples."""


@dataclass(frozen=True, slots=True)
class _Entry:
    record: Record
    sha256: str
    size: int
    mtime: int


@dataclass(frozen=True, slots=True)
class Flag:
    """A step that was given up, and why; the next render tries it again."""

    key: str
    faults: tuple[str, ...]


@dataclass(slots=True)
class Store:
    """Takes under one folder. One writer at a time (the project's lock); readers at any time."""

    root: Path
    damaged: list[str] = field(default_factory=list)
    """Keys of takes that were found torn or altered, and dropped, since this store was opened."""
    _entries: dict[str, _Entry] = field(default_factory=dict)
    _flags: dict[str, Flag] = field(default_factory=dict)
    _writing: bool = False
    _bad: set[str] = field(default_factory=set)
    """Damaged, and not put again since."""
    _mutex: threading.Lock = field(default_factory=threading.Lock)

    # -- reading -----------------------------------------------------------------------------------

    @classmethod
    def open(cls, root: Path, *, writing: bool = False) -> Store:
        """Read the journal; with `writing`, also clear what a killed writer left half done.

        Raises StorageError where the folder cannot be made or read.
        """
        store = cls(root, _writing=writing)
        with files.storage(root):
            if writing:
                root.mkdir(parents=True, exist_ok=True)
                for folder in (root, *root.glob("??")):
                    files.sweep(folder)
            store._read_journal(repair=writing)
        return store

    def find(self, key: str) -> Record | None:
        """The record of a take that is there and whole, or None.

        A file whose size or time changed since it was put is hashed again; one that is torn or
        altered is noted in `damaged` and counts as missing. Raises StorageError.
        """
        if key in self._bad:
            return None
        with files.storage(self._path(key)):
            return self._find(key)

    def _find(self, key: str) -> Record | None:
        path = self._path(key)
        try:
            stat = path.stat()
        except FileNotFoundError:
            return None
        entry = self._entries.get(key)
        if entry and (stat.st_size, stat.st_mtime_ns) == (entry.size, entry.mtime):
            return entry.record
        try:
            if entry and keys.file_content(path) != entry.sha256:
                raise DamagedTake(f"take {key} is not what was stored")
            record = _unpack(key, path.read_bytes())[0]
        except DamagedTake:
            self._note_damage(key)
            return None
        entry = _Entry(record, keys.file_content(path), stat.st_size, stat.st_mtime_ns)
        with self._mutex, files.storage(self._journal):
            self._entries[key] = entry
            if self._writing:  # a store that was copied is read through once, not at every run
                self._append(_take_row(entry))
        return record

    def read(self, key: str) -> tuple[NDArray[np.float32], int]:
        """Samples, mono float32, and their rate. Raises DamagedTake, also where there is none."""
        record, sound, _ = self._open(key)
        samples, rate = audio.decode(sound)
        if rate != record.sample_rate or len(samples) != record.samples:
            self._note_damage(key)
            raise DamagedTake(f"take {key}: {len(samples)} samples, not {record.samples}")
        return samples, rate

    def latents(self, key: str) -> NDArray[np.float32] | None:
        """A take's latents (n, patch, dim), where its engine has them. Raises DamagedTake."""
        latents = self._open(key)[2]
        return None if latents is None else np.load(io.BytesIO(latents), allow_pickle=False)

    def flag(self, key: str) -> Flag | None:
        """Why a step was given up, if it was and there is no good take."""
        return self._flags.get(key) if self.find(key) is None else None

    def stored(self) -> Iterator[tuple[str, int]]:
        """Every take on disk and its size in bytes, in no order."""
        for path in self.root.glob("??/*.take"):
            with contextlib.suppress(FileNotFoundError):
                yield path.stem, path.stat().st_size

    # -- writing -----------------------------------------------------------------------------------

    def put(
        self,
        record: Record,
        samples: NDArray[np.float32],
        latents: NDArray[np.float32] | None = None,
    ) -> Record:
        """Store a take; returns its record with `content` filled in. Raises StorageError."""
        sound = audio.encode(samples, record.sample_rate)
        packed_latents = b""
        if latents is not None:
            buffer = io.BytesIO()
            np.save(buffer, latents, allow_pickle=False)
            packed_latents = buffer.getvalue()
        content = keys.content(sound, packed_latents)
        record = replace(record, content=content)
        data = _pack(record, sound, packed_latents)
        path = self._path(record.key)
        with files.storage(path):
            stat = files.write(path, data)
            entry = _Entry(record, keys.content_of(data), stat.st_size, stat.st_mtime_ns)
            with self._mutex:
                self._entries[record.key] = entry
                self._flags.pop(record.key, None)
                self._bad.discard(record.key)
                self._append(_take_row(entry))
        return record

    def give_up(self, flag: Flag) -> None:
        """Note that a step has no good take. Raises StorageError."""
        with self._mutex, files.storage(self.root):
            self._flags[flag.key] = flag
            self._append({"flag": flag.key, "faults": list(flag.faults)})

    def remove(self, unwanted: Iterable[str]) -> int:
        """Delete takes; returns the bytes freed. Raises StorageError."""
        freed = 0
        with files.storage(self.root):
            for key in unwanted:
                path = self._path(key)
                freed += path.stat().st_size
                path.unlink()
                self._entries.pop(key, None)
            self._rewrite_journal()
        return freed

    # -- inside ------------------------------------------------------------------------------------

    def _path(self, key: str) -> Path:
        return self.root / key[:2] / f"{key}.take"

    @property
    def _journal(self) -> Path:
        return self.root / "journal.jsonl"

    def _open(self, key: str) -> tuple[Record, bytes, bytes | None]:
        try:
            data = self._path(key).read_bytes()
        except OSError as error:
            raise DamagedTake(f"take {key}: {error.strerror}") from None
        entry = self._entries.get(key)
        try:
            if entry and keys.content_of(data) != entry.sha256:
                raise DamagedTake(f"take {key} is not what was stored")
            return _unpack(key, data)
        except DamagedTake:
            self._note_damage(key)
            raise

    def _note_damage(self, key: str) -> None:
        with self._mutex:
            self._entries.pop(key, None)
            self._bad.add(key)
            if key not in self.damaged:
                self.damaged.append(key)

    def _append(self, row: Mapping[str, Any]) -> None:
        with self._journal.open("ab") as file:
            file.write(keys.canonical(row) + b"\n")

    def _read_journal(self, repair: bool) -> None:
        try:
            data = self._journal.read_bytes()
        except FileNotFoundError:
            return
        whole = data.rfind(b"\n") + 1
        if whole < len(data) and repair:
            os.truncate(self._journal, whole)
        for line in data[:whole].splitlines():
            try:
                self._read_row(json.loads(line))
            except (ValueError, TypeError, KeyError):
                continue  # a damaged row: its take, if there is one, is read anew

    def _read_row(self, row: Mapping[str, Any]) -> None:
        if "flag" in row:
            self._flags[row["flag"]] = Flag(row["flag"], tuple(row["faults"]))
            return
        record = Record(**row["record"])
        self._entries[record.key] = _Entry(record, row["sha256"], row["size"], row["mtime"])
        self._flags.pop(record.key, None)

    def _rewrite_journal(self) -> None:
        rows: list[Mapping[str, Any]] = [_take_row(entry) for entry in self._entries.values()]
        rows += [{"flag": flag.key, "faults": list(flag.faults)} for flag in self._flags.values()]
        files.write(self._journal, b"".join(keys.canonical(row) + b"\n" for row in rows))


def _take_row(entry: _Entry) -> dict[str, Any]:
    return {
        "record": asdict(entry.record),
        "sha256": entry.sha256,
        "size": entry.size,
        "mtime": entry.mtime,
    }


def _pack(record: Record, sound: bytes, latents: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, data in (
            ("record.json", json.dumps(asdict(record), ensure_ascii=False, indent=1).encode()),
            ("audio.flac", sound),
            ("latents.npy", latents),
        ):
            if data:  # a fixed date: equal takes are equal bytes
                archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data)
    return buffer.getvalue()


def _unpack(key: str, data: bytes) -> tuple[Record, bytes, bytes | None]:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            record = Record(**json.loads(archive.read("record.json")))
            sound = archive.read("audio.flac")
            latents = archive.read("latents.npy") if "latents.npy" in archive.namelist() else b""
    except (zipfile.BadZipFile, KeyError, ValueError, TypeError, EOFError) as error:
        raise DamagedTake(f"take {key}: {error}") from None
    if record.key != key or keys.content(sound, latents) != record.content:
        raise DamagedTake(f"take {key} is not what was stored")
    return record, sound, latents or None
