"""A brief finished book for tests of shelves, and what they ask of a shelf."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from narrator.delivery.shelves import sending

MANIFEST = """\
title: The Ferry
author: A. Author
series: {name: Ferries, part: 2}
chapters:
  - {title: Morning, lines: ["The ferry left at seven."]}
  - {title: Evening, lines: ["The lamps were lit."]}
output: {formats: [m4b, mp3], files: both, companions: [vtt, readalong]}
"""


def names(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def send(items: Sequence[sending.Item], shelf: sending.Shelf, folder: Path) -> sending.Delivery:
    """Sends files with the record of a folder."""
    record = sending.SentRecord.load(folder / "sent.json")
    return sending.deliver(items, shelf, record, replace=False, on_progress=lambda share: None)
