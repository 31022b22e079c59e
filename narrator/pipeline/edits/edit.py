"""An edit: texts of files as they are, and as they are to be.

Texts are exact: byte order marks, line ends and bytes that are no UTF-8 are written as they were
read. Knows no history, and not what the files mean.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from narrator import files
from narrator.characters import quoted
from narrator.errors import Problem, StorageError, UsageError
from narrator.project import load
from narrator.project.project import Project
from narrator.text.markup import squeeze

_SHOWN = 40
"""Characters of a text that an edit is named by."""
_LARGEST = 64_000_000
"""Bytes; no file of a project that people edit is larger."""
_UNWRITABLE = re.compile("[\\0\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class FileChange:
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
    changes: tuple[FileChange, ...]


def own(project: Project, name: str) -> Path:
    """A file that a project names. Raises UsageError where it lies outside of it by now."""
    if stray := load.stray(project, name):
        raise UsageError(Problem(project.path, None, stray))
    return project.root / name


def exact(path: Path) -> str | None:
    """The text of a file; None where there is none. Raises StorageError."""
    try:
        return files.read_whole(path, _LARGEST).decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        return None
    except files.TooLarge:
        raise StorageError(f"{path}: larger than 64 MB, which no text is") from None
    except OSError as error:
        raise StorageError(f"{path}: cannot be read: {error.strerror}") from None


def encoded(text: str) -> bytes:
    """The bytes of what `exact` read."""
    return text.encode("utf-8", "surrogateescape")


def clean(text: str) -> str:
    """A text that came from anywhere, as a file can hold it, its lines parted by a line feed."""
    return text.encode("utf-8", "replace").decode().replace("\r\n", "\n").replace("\r", "\n")


def one_line(text: str) -> str:
    """A name, a word or a value that came from anywhere. Raises UsageError for what no file can
    hold."""
    if odd := _UNWRITABLE.search(text):
        what = "a null character" if odd[0] == "\0" else "half of a character"
        around = quoted(text[max(0, odd.start() - 10) : odd.end() + 10])
        raise UsageError(f"this has {what} in it, which nothing can have: “{around}”")
    return squeeze(text)


def shown(text: str) -> str:
    """A text as an edit is named by it, which has quotation marks of its own."""
    plain = squeeze(text)
    return quoted(plain.strip('“”„«»"') or plain, _SHOWN)
