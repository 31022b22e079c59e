"""An edit: the present texts of files, and their new ones.

Texts are exact: byte order marks, line ends and bytes that are not UTF-8 are written as they were
read. Knows no history, and not what the files mean.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from narrator import files
from narrator.errors import Problem, StorageError, UsageError
from narrator.project import load
from narrator.project.project import Project
from narrator.text.markup import squeeze
from textbase.characters import excerpt

_MAX_TITLE_LENGTH = 40
"""Number of characters shown of a text in the title of an edit."""
_MAX_BYTES = 64_000_000
"""Largest file in bytes; no file that people edit is larger."""
_UNWRITABLE = re.compile("[\\0\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class FileChange:
    """The change of one file, as full texts in the form of `read_exact`."""

    path: Path
    old_text: str | None
    """None if the file does not exist."""
    new_text: str | None
    """None to remove the file."""


@dataclass(frozen=True, slots=True)
class Edit:
    """Changes of files that belong together."""

    title: str
    """A title for people, such as: chapter 2: “raken” -> “taken”."""
    changes: tuple[FileChange, ...]

    @property
    def is_change(self) -> bool:
        """False for an edit after which all files are as before."""
        return any(change.old_text != change.new_text for change in self.changes)


def project_file(project: Project, name: str) -> Path:
    """The path of a file that a project names. Raises UsageError if it lies outside of the
    project."""
    if reason := load.describe_stray_path(project, name):
        raise UsageError(Problem(project.path, None, reason))
    return project.root / name


def read_exact(path: Path) -> str | None:
    """The text of a file; None if it does not exist. Raises StorageError."""
    try:
        return files.read_bounded(path, _MAX_BYTES).decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        return None
    except files.TooLarge:
        raise StorageError(f"{path}: larger than 64 MB, too large for a text") from None
    except OSError as error:
        raise StorageError(f"{path}: cannot be read: {error.strerror}") from None


def encode_exact(text: str) -> bytes:
    """The bytes of a text in the form of `read_exact`."""
    return text.encode("utf-8", "surrogateescape")


def clean(text: str) -> str:
    """A text of any origin in a form that a file can hold, with line feeds as line ends."""
    return text.encode("utf-8", "replace").decode().replace("\r\n", "\n").replace("\r", "\n")


def one_line(text: str) -> str:
    """A name, word or value of any origin on one line. Raises UsageError if no file can hold it."""
    if match := _UNWRITABLE.search(text):
        description = "a null character" if match[0] == "\0" else "half of a character"
        context = excerpt(text[max(0, match.start() - 10) : match.end() + 10])
        raise UsageError(f"this has {description} in it, which nothing can have: “{context}”")
    return squeeze(text)


def count_equal_start(ours: Sequence[str], theirs: Sequence[str]) -> int:
    """The number of equal elements at the start of both sequences."""
    pairs = zip(ours, theirs, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def shorten(text: str) -> str:
    """A shortened text for the title of an edit, which adds its own quotation marks."""
    squeezed = squeeze(text)
    return excerpt(squeezed.strip('“”„«»"') or squeezed, _MAX_TITLE_LENGTH)
