"""Edits of who somebody's voice is. (Signatures first.)"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from narrator.pipeline.edits.edit import Edit
from narrator.project.project import Project


def voice_edit(project: Project, speaker: str, voice: Mapping[str, str]) -> Edit:
    """Another voice for one of the cast: `preset`, `description`, or `reference` and `transcript`.

    Raises ManifestError, UsageError.
    """
    raise NotImplementedError


def clip_added(project: Project, name: str, data: bytes) -> Path:
    """Keep a recording under the project's `voices`: its path. One that is there is never replaced.

    Raises UserError for what is no sound, StorageError.
    """
    raise NotImplementedError
