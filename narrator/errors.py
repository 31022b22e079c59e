"""One exception tree, and the shape of a problem that a user can mend.

    NarratorError                      exit code
    ├── UserError                      2   the project or the command line must change
    │   ├── ManifestError                  book.yaml
    │   ├── ScriptError                    chapter text
    │   ├── ImportFailed                   a book that `narrator new` cannot take
    │   ├── Changed                        a file is not what an edit was made for
    │   └── UsageError                     an argument that names nothing
    ├── EnvironmentFailed              3   the machine must change
    │   ├── Locked                         another render holds the project
    │   ├── StorageError                   disk full, read-only folder
    │   └── EngineUnavailable              a package, model or device is missing
    ├── EngineFailure                  -   one take failed; the render goes on with a retry
    ├── DamagedTake                    -   a take's bytes are not what was stored
    └── ExportError                    4   encoding failed, or the encoded file misses its target

Knows nothing of terminals: `cli/` alone turns these into messages and exit codes.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One thing that is wrong, where it is, and what to do about it."""

    path: Path | None
    line: int | None
    message: str

    def __str__(self) -> str:
        location = "" if self.path is None else f"{self.path}:"
        if self.line is not None:
            location += f"{self.line}:"
        return f"{location} {self.message}".strip()


class NarratorError(Exception):
    """Base of all errors that this package raises on purpose."""

    exit_code = 1

    def __init__(self, problems: str | Problem | Iterable[Problem]) -> None:
        if isinstance(problems, str):
            problems = [Problem(None, None, problems)]
        elif isinstance(problems, Problem):
            problems = [problems]
        self.problems: tuple[Problem, ...] = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class UserError(NarratorError):
    """The project or the command line must change."""

    exit_code = 2


class ManifestError(UserError):
    """book.yaml is not valid."""


class ScriptError(UserError):
    """A chapter's text cannot be read as a script."""


class ImportFailed(UserError):
    """A source that `narrator new` cannot turn into a project."""


class UsageError(UserError):
    """An argument names nothing that exists."""


class FileChanged(UserError):
    """A file has changed since an edit was made for it."""

    def __init__(self, path: Path, there: str, wanted: str) -> None:
        self.path, self.there, self.wanted = path, there, wanted
        """The lines concerned as they are now, and as the edit would have them."""
        gone_note = "" if there else ", and what was to be changed is gone"
        super().__init__(
            Problem(path, None, f"has changed meanwhile{gone_note}: nothing was written")
        )


class EnvironmentFailed(NarratorError):
    """The machine must change: space, rights, packages."""

    exit_code = 3


class Locked(EnvironmentFailed):
    """Another process renders this project."""


class StorageError(EnvironmentFailed):
    """A file could not be written or read: disk full, read-only folder."""


class EngineUnavailable(EnvironmentFailed):
    """An engine's package, model or device is missing."""


class EngineFailure(NarratorError):
    """One take failed; the render loop retries it."""


class DamagedTake(NarratorError):
    """A stored take is torn or altered."""


class ExportError(NarratorError):
    """A file could not be encoded, or its encoded sound misses the target."""

    exit_code = 4


GUESSES = 100
"""Most problems of a report with a suggestion: each takes time, and nobody reads more."""
_LONGEST_NAME = 200
"""Most characters of a word that may be a mistyped name."""


def nearest(word: str, choices: Sequence[str]) -> str | None:
    """Returns the choice that `word` most likely stands for, or None."""
    word, size = word.casefold(), len(word)
    if size > _LONGEST_NAME:
        return None
    prefixed = [choice for choice in choices if choice.casefold().startswith(word)]
    if len(prefixed) == 1 and size > 2:
        return prefixed[0]
    similar_length = (c for c in choices if 3 * len(c) <= 7 * size and 3 * size <= 7 * len(c))
    folded = {choice.casefold(): choice for choice in similar_length}
    matches = difflib.get_close_matches(word, folded, n=1, cutoff=0.6)
    return folded[matches[0]] if matches else None
