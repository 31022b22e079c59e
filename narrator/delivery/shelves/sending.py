"""Sends files that are new or have changed, in a safe order, and records what was sent.

Every file is recorded before it is sent and after it has arrived. So an interrupted delivery can be
continued, and nothing is replaced or removed that this project did not send. Knows nothing of how a
shelf, the place to which files are sent, is reached.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path, PurePosixPath
from typing import Protocol

from narrator import files, keys
from narrator.delivery.export.names import fold_path
from narrator.delivery.folders import Folders
from narrator.errors import UsageError
from narrator.project.facts import BookFacts
from narrator.quantities import pluralize

FEED_SUFFIX = ".xml"
RESUME_ADVICE = "; once that is fixed, run the same command again to continue"


class Step(IntEnum):
    """The order in which files are sent: a feed comes after everything that it refers to."""

    SOUND = 0
    """Sound and covers."""
    PAGES = 1
    """Captions, chapter lists, books to read."""
    FEED = 2


@dataclass(frozen=True, slots=True)
class Item:
    """A file to send."""

    source: Path
    name: str
    """Its path on the shelf, with slashes."""
    size: int
    sha256: str
    step: Step
    stamp: tuple[int, int] | None = None
    """Time and size of the source before it was hashed; None to accept any."""


class Shelf(Protocol):
    """A place to which files are sent. The methods raise NarratorError."""

    def sizes(self, names: Collection[str]) -> Mapping[str, int]:
        """Returns the sizes in bytes of those of the named files that exist on the shelf."""
        ...

    def send(self, items: Sequence[Item], on_sent: Callable[[Item], None]) -> None:
        """Sends files in any order, replacing those of the same names; reports each that has
        arrived."""
        ...

    def remove(self, names: Sequence[str]) -> None:
        """Removes files that exist on the shelf."""
        ...


@dataclass(slots=True)
class SentRecord:
    """The record of the files that were sent to one shelf."""

    path: Path
    hashes: dict[str, str] = field(default_factory=dict)
    """SHA-256 of each file by its name on the shelf; empty while it is being sent."""
    sizes: dict[str, int] = field(default_factory=dict)
    """Bytes of each file that has arrived."""
    facts: dict[str, str] = field(default_factory=dict)
    """Further facts that the shelf needs."""
    origin: dict[str, str] = field(default_factory=dict)
    """Identifies the book and the folder of the record; empty where an earlier version wrote it."""

    @classmethod
    def load(cls, path: Path) -> SentRecord:
        """Loads a record, or returns an empty one. Ignores names that lead out of the shelf: a
        project may come from a stranger."""
        rows = files.load_json(path, dict[str, dict[str, str | int]], {})
        names = {name for name in rows.get("files", {}) if _is_below_root(name)}
        sizes = rows.get("sizes", {}).items()
        return cls(
            path,
            {name: str(sha) for name, sha in rows.get("files", {}).items() if name in names},
            {name: size for name, size in sizes if name in names and isinstance(size, int)},
            {name: str(fact) for name, fact in rows.get("facts", {}).items()},
            {name: str(fact) for name, fact in rows.get("origin", {}).items()},
        )

    def save(self) -> None:
        """Saves it. Raises StorageError."""
        with files.translating_errors(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
        rows = {
            "files": self.hashes,
            "sizes": self.sizes,
            "facts": self.facts,
            "origin": self.origin,
        }
        files.save_json(self.path, rows)

    def knows(self, name: str, size: int | None) -> bool:
        """Returns whether a file of this size on the shelf is one that this project sent, or began
        to send."""
        sha256 = self.hashes.get(name)
        return sha256 == "" or (sha256 is not None and self.sizes.get(name) == size)

    def clear(self) -> None:
        """Removes all rows."""
        self.hashes, self.sizes, self.facts = {}, {}, {}

    def forget(self, names: Iterable[str]) -> None:
        """Removes rows, and saves."""
        for name in names:
            del self.hashes[name]
            self.sizes.pop(name, None)
        self.save()


def _is_below_root(name: str) -> bool:
    path = PurePosixPath(name)
    is_plain = str(path) == name != "." and not any(letter in name for letter in "\\\0")
    return is_plain and not path.is_absolute() and ".." not in path.parts


def open_record(folders: Folders, book: BookFacts, shelf: str, layout: str) -> SentRecord:
    """Returns the record of a manifest, a shelf and a layout; an empty one where a project was
    copied to make another book of it. All renditions share it, so that a draft gives way to the
    book. Raises StorageError."""
    place = {"shelf": shelf, "layout": layout}
    path = folders.delivered / _record_name({"manifest": folders.project.stem, **place})
    record = SentRecord.load(path if path.is_file() else _find_old_record(folders, place) or path)
    names = {"title": book.title, "author": book.author, "series": book.series, "part": book.part}
    origin = {"folder": _identify(record.path.parent), "book": keys.key(names)}
    if record.origin and not record.origin.items() & origin.items():
        record.clear()
    record.path, record.origin = path, {**origin, "folder": _identify(path.parent)}
    return record


def _find_old_record(folders: Folders, place: Mapping[str, str]) -> Path | None:
    """Returns the latest of the records that versions before 0.2.0 kept, one for each rendition.
    Raises StorageError."""
    paths = [
        rendition.work("delivered") / _record_name(place) for rendition in folders.renditions()
    ]
    with files.translating_errors(folders.delivered):
        existing_paths = [path for path in paths if path.is_file()]
        return max(existing_paths, key=lambda path: path.stat().st_mtime, default=None)


def _record_name(place: Mapping[str, str]) -> str:
    return f"{keys.key(place)[:16]}.json"


def _identify(folder: Path) -> str:
    """Returns the inode of a folder, which is made if necessary: a renamed one keeps it, a copy has
    another. (Disks may change their numbers.) Raises StorageError."""
    with files.translating_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        return str(folder.stat().st_ino)


@dataclass(frozen=True, slots=True)
class Delivery:
    """The outcome of a delivery."""

    sent: tuple[Item, ...]
    unchanged: int
    """Number of files that were on the shelf already."""
    removed: tuple[str, ...]
    """Names of files that were removed, since they are no longer part of the delivery."""


def deliver(
    items: Sequence[Item],
    shelf: Shelf,
    record: SentRecord,
    *,
    replace: bool,
    on_progress: Callable[[float], None],
) -> Delivery:
    """Sends files that are new or have changed, feeds last; then removes files that were sent
    before and are no longer part of the delivery, feeds first.

    A file whose size is not the one that was sent was put on the shelf by somebody else: it is
    never removed, and replaced only with `replace`. `on_progress` receives the fraction of the
    bytes that has arrived. Raises NarratorError.
    """
    _require_distinct(items)
    names = {item.name for item in items}
    existing_sizes = shelf.sizes(names | record.hashes.keys())
    renamed = _find_renamed(names, existing_sizes, record)
    foreign_names = sorted(
        name
        for name in names & existing_sizes.keys() - renamed.keys()
        if not record.knows(name, existing_sizes[name])
    )
    if foreign_names and not replace:
        others = f" and {pluralize(len(foreign_names) - 1, 'other')}" if foreign_names[1:] else ""
        verb, pronoun = ("exist", "them") if foreign_names[1:] else ("exists", "it")
        raise UsageError(
            f"{foreign_names[0]}{others} already {verb} there, and this project did not send "
            f"{pronoun}; nothing was sent (--replace overwrites {pronoun})"
        )
    new_items = [
        item
        for item in items
        if record.hashes.get(item.name) != item.sha256 or existing_sizes.get(item.name) != item.size
    ]
    total_bytes = sum(item.size for item in new_items) or 1
    sent_bytes = 0

    def note_arrival(item: Item) -> None:
        nonlocal sent_bytes
        if item.stamp is not None and files.stamp(item.source) != item.stamp:
            raise UsageError(
                f"{item.source} was made again while it was being sent; run the same command again"
            )
        sent_bytes += item.size
        record.hashes[item.name], record.sizes[item.name] = item.sha256, item.size
        record.save()
        on_progress(sent_bytes / total_bytes)

    for step in Step:
        if step_items := [item for item in new_items if item.step == step]:
            record.hashes |= {item.name: "" for item in step_items}
            record.save()
            shelf.send(step_items, note_arrival)
    outdated_names = sorted(record.hashes.keys() - names)
    removable_names = [
        name
        for name in outdated_names
        if name in existing_sizes
        and name not in renamed.values()
        and record.knows(name, existing_sizes[name])
    ]
    for is_feed in (True, False):  # no feed ever refers to a missing file
        batch = [name for name in removable_names if name.endswith(FEED_SUFFIX) == is_feed]
        if batch:
            shelf.remove(batch)
    if outdated_names:
        record.forget(outdated_names)
    return Delivery(tuple(new_items), len(items) - len(new_items), tuple(removable_names))


def _require_distinct(items: Sequence[Item]) -> None:
    """Raises UsageError for files that would have the same name on the shelf."""
    by_name: dict[str, Item] = {}
    for item in items:
        other = by_name.setdefault(fold_path(Path(item.name)), item)
        if other is not item:
            raise UsageError(
                f"{other.source} and {item.source} would both be named {item.name} there; nothing "
                "was sent: give them different titles, or change `chapter_name`"
            )


def _find_renamed(
    names: Collection[str], existing_sizes: Mapping[str, int], record: SentRecord
) -> dict[str, str]:
    """Returns the recorded name of each file that exists under its new name already, on a shelf
    that ignores case."""
    recorded = {fold_path(Path(name)): name for name in record.hashes}
    renamed: dict[str, str] = {}
    for name in names:
        old_name = recorded.get(fold_path(Path(name)))
        is_there = name in existing_sizes and name not in record.hashes
        if is_there and old_name and record.knows(old_name, existing_sizes[name]):
            renamed[name] = old_name
    return renamed
