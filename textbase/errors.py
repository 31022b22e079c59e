"""The base of the errors, and the shape of a problem that a user can mend.

    ReportedError
    ├── UserError              what the user has given must change
    │   └── UsageError             an argument that names nothing
    └── EnvironmentFailed      the machine must change
        └── StorageError           disk full, read-only folder

`manuscripts/errors.py` and `narrator/errors.py` add to this tree.
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


class ReportedError(Exception):
    """Base of all errors that are raised on purpose."""

    exit_code = 1

    def __init__(self, problems: str | Problem | Iterable[Problem]) -> None:
        if isinstance(problems, str):
            problems = [Problem(None, None, problems)]
        elif isinstance(problems, Problem):
            problems = [problems]
        self.problems: tuple[Problem, ...] = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class UserError(ReportedError):
    """The manuscript, the project or the command line must change."""

    exit_code = 2


class UsageError(UserError):
    """An argument names nothing that exists."""


class EnvironmentFailed(ReportedError):
    """The machine must change: space, rights, packages."""

    exit_code = 3


class StorageError(EnvironmentFailed):
    """A file could not be written or read: disk full, read-only folder."""


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
