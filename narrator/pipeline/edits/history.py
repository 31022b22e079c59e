"""Edits made, undone and redone; whole at any moment, also after a kill. (Signatures first.)"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from narrator.pipeline.edits.edit import Edit
from narrator.project.project import Project


@dataclass(frozen=True, slots=True)
class Past:
    """An edit that was made."""

    what: str
    time: str
    """ISO 8601, UTC."""
    undone: bool


def apply(project: Project, edit: Edit) -> None:
    """Write all of an edit or none of it, and remember it. Raises Changed, Locked, StorageError."""
    raise NotImplementedError


def undo(project: Project) -> Past | None:
    """Take the last edit back; None where there is none. Raises Changed, Locked, StorageError."""
    raise NotImplementedError


def redo(project: Project) -> Past | None:
    """Make the edit again that was undone last. Raises Changed, Locked, StorageError."""
    raise NotImplementedError


def history(project: Project) -> Sequence[Past]:
    """The edits of a project, the oldest first. Raises Locked, StorageError."""
    raise NotImplementedError
