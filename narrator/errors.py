"""One exception tree.

    NarratorError                      exit code
    ├── UserError                      2   the project or the command line must change
    │   ├── ManifestError                  book.yaml
    │   ├── ScriptError                    chapter text
    │   ├── ImportFailed                   a book that `narrator new` cannot take (`manuscripts`)
    │   ├── FileChanged                    a file is not what an edit was made for
    │   └── UsageError                     an argument that names nothing
    ├── EnvironmentFailed              3   the machine must change
    │   ├── Locked                         another render holds the project
    │   ├── StorageError                   disk full, read-only folder
    │   └── EngineUnavailable              a package, model or device is missing
    ├── EngineFailure                  -   one take failed; the render goes on with a retry
    ├── DamagedTake                    -   a take's bytes are not what was stored
    └── ExportError                    4   encoding failed, or the encoded file misses its target

Its base is `textbase/errors.py`. Knows nothing of terminals: `cli/` alone turns these into messages
and exit codes.
"""

from __future__ import annotations

from pathlib import Path

from textbase.errors import (
    MAX_SUGGESTIONS,
    EnvironmentFailed,
    Problem,
    StorageError,
    UsageError,
    UserError,
    nearest,
)
from textbase.errors import ReportedError as NarratorError

__all__ = [
    "MAX_SUGGESTIONS",
    "DamagedTake",
    "EngineFailure",
    "EngineUnavailable",
    "EnvironmentFailed",
    "ExportError",
    "FileChanged",
    "Locked",
    "ManifestError",
    "NarratorError",
    "Problem",
    "ScriptError",
    "StorageError",
    "UsageError",
    "UserError",
    "nearest",
]


class ManifestError(UserError):
    """book.yaml is not valid."""


class ScriptError(UserError):
    """A chapter's text cannot be read as a script."""


class FileChanged(UserError):
    """A file has changed since an edit was made for it."""

    def __init__(self, path: Path, present_text: str, intended_text: str) -> None:
        self.path, self.present_text, self.intended_text = path, present_text, intended_text
        """The lines concerned as they are now, and as the edit would have them."""
        gone_note = "" if present_text else ", and what was to be changed is gone"
        super().__init__(
            Problem(path, None, f"has changed meanwhile{gone_note}: nothing was written")
        )


class Locked(EnvironmentFailed):
    """Another process renders this project."""


class EngineUnavailable(EnvironmentFailed):
    """An engine's package, model or device is missing."""


class EngineFailure(NarratorError):
    """One take failed; the render loop retries it."""


class DamagedTake(NarratorError):
    """A stored take is torn or altered."""


class ExportError(NarratorError):
    """A file could not be encoded, or its encoded sound misses the target."""

    exit_code = 4
