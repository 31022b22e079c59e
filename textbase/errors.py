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


MAX_SUGGESTIONS = 100
"""Problems of a report that get a suggestion: each takes time, and nobody reads more."""
_MAX_NAME_LENGTH = 200
"""Characters of a word that may be a mistyped name."""


def nearest(word: str, choices: Sequence[str]) -> str | None:
    """Returns the choice that `word` most likely stands for, or None."""
    word, length = word.casefold(), len(word)
    if length > _MAX_NAME_LENGTH:
        return None
    prefixed = [choice for choice in choices if choice.casefold().startswith(word)]
    if len(prefixed) == 1 and length > 2:
        return prefixed[0]
    similar_length = (c for c in choices if 3 * len(c) <= 7 * length and 3 * length <= 7 * len(c))
    choices_by_folded = {choice.casefold(): choice for choice in similar_length}
    matches = difflib.get_close_matches(word, choices_by_folded, n=1, cutoff=0.6)
    return choices_by_folded[matches[0]] if matches else None
