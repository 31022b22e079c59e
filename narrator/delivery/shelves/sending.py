"""What of a delivery is new, in which order it is sent, and the record of what was sent.

Every file is recorded before it is sent, and again when it is there, so a delivery that was cut off
goes on, and nothing is ever replaced or removed that this project did not send. Knows nothing of
how a shelf is reached.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Protocol

from narrator import files, keys
from narrator.delivery.folders import Folders
from narrator.errors import UsageError
from narrator.quantities import pluralize


class Step(IntEnum):
    """When a file is sent: a feed comes after all that it refers to."""

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


class Shelf(Protocol):
    """A place to which files are sent. Its methods raise NarratorError."""

    def sizes(self, names: Collection[str]) -> Mapping[str, int]:
        """Returns the sizes in bytes of those of the named files that are there."""
        ...

    def send(self, items: Sequence[Item], on_sent: Callable[[Item], None]) -> None:
        """Sends files in any order, in place of those of the same names; reports each that has
        arrived."""
        ...

    def remove(self, names: Sequence[str]) -> None:
        """Removes files that are there."""
        ...


@dataclass(slots=True)
class SentRecord:
    """The record of what was sent to one shelf."""

    path: Path
    hashes: dict[str, str] = field(default_factory=dict)
    """SHA-256 of each file by its name on the shelf; empty while it is being sent."""
    facts: dict[str, str] = field(default_factory=dict)
    """Further facts that the shelf needs when it is met again."""

    @classmethod
    def load(cls, path: Path) -> SentRecord:
        """Loads a record, or returns an empty one."""
        rows = files.load_json(path, dict[str, dict[str, str]], {})
        return cls(path, rows.get("files", {}), rows.get("facts", {}))

    def save(self) -> None:
        """Saves it. Raises StorageError."""
        with files.translating_errors(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
        files.save_json(self.path, {"files": self.hashes, "facts": self.facts})


def open_record(folders: Folders, shelf: str, layout: str) -> SentRecord:
    """Returns the record of what a rendition of a book sent to a shelf in a layout."""
    name = keys.key({"shelf": shelf, "layout": layout})[:16]
    return SentRecord.load(folders.work("delivered") / f"{name}.json")


@dataclass(frozen=True, slots=True)
class Delivery:
    """The outcome of a delivery."""

    sent: tuple[Item, ...]
    unchanged: int
    """Number of files that were there already."""
    removed: tuple[str, ...]
    """Names of files that are delivered no more."""


def deliver(
    items: Sequence[Item],
    shelf: Shelf,
    record: SentRecord,
    *,
    replace: bool,
    on_progress: Callable[[float], None],
) -> Delivery:
    """Sends what is new, feeds last, and then removes what this project sent before and does not
    deliver any more.

    `replace` allows files to be replaced that this project did not send. `on_progress` receives the
    share of the bytes that has arrived. Raises NarratorError.
    """
    names = {item.name for item in items}
    existing_sizes = shelf.sizes(names | record.hashes.keys())
    foreign_names = sorted(names & existing_sizes.keys() - record.hashes.keys())
    if foreign_names and not replace:
        others = f" and {pluralize(len(foreign_names) - 1, 'other')}" if foreign_names[1:] else ""
        verb = "are" if foreign_names[1:] else "is"
        raise UsageError(
            f"{foreign_names[0]}{others} {verb} there, and this project did not send "
            f"{'them' if foreign_names[1:] else 'it'}: nothing was sent; --replace replaces "
            f"{'them' if foreign_names[1:] else 'it'}"
        )
    new_items = [
        item
        for item in items
        if record.hashes.get(item.name) != item.sha256 or existing_sizes.get(item.name) != item.size
    ]
    if new_items:
        record.hashes |= {item.name: "" for item in new_items}
        record.save()
    total_bytes = sum(item.size for item in new_items) or 1
    sent_bytes = 0

    def note_arrival(item: Item) -> None:
        nonlocal sent_bytes
        sent_bytes += item.size
        record.hashes[item.name] = item.sha256
        record.save()
        on_progress(sent_bytes / total_bytes)

    for step in Step:
        if step_items := [item for item in new_items if item.step == step]:
            shelf.send(step_items, note_arrival)
    outdated_names = sorted(record.hashes.keys() - names)
    if removable_names := [name for name in outdated_names if name in existing_sizes]:
        shelf.remove(removable_names)
    if outdated_names:
        record.hashes = {name: sha for name, sha in record.hashes.items() if name in names}
        record.save()
    return Delivery(tuple(new_items), len(items) - len(new_items), tuple(removable_names))
