"""An edit: texts of files as they are, and as they are to be. Values alone."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Change:
    """One file: whole texts, as `exact` reads them."""

    path: Path
    before: str | None
    """None: there is no such file."""
    after: str | None


@dataclass(frozen=True, slots=True)
class Edit:
    """What is changed together."""

    what: str
    """For people: chapter 2: “raken” -> “taken”."""
    changes: tuple[Change, ...]
