"""The engine that speaks books in place of their own: `--engine kokoro`, `--draft`.

Its name is kept in the environment, so that processes which this one starts use it as well.
"""

from __future__ import annotations

import os
from contextlib import AbstractContextManager

from narrator.engines.registry import ENGINES
from narrator.errors import UsageError, nearest
from textbase import processes

VARIABLE = "NARRATOR_ENGINE"
"""Environment variable: the engine that speaks, whatever engine a manifest names."""


def speaking_with(name: str | None) -> AbstractContextManager[None]:
    """Use this engine for all books within the block, or their own if the name is "".

    None changes nothing. Raises UsageError for an unknown engine.
    """
    if name:
        require_known_engine(name)
    return processes.environment(VARIABLE, name)


def chosen_engine() -> str:
    """The name of the engine that speaks every book, or "". Raises UsageError if unknown."""
    name = os.environ.get(VARIABLE, "")
    if name:
        require_known_engine(name)
    return name


def require_known_engine(name: str) -> None:
    """Raises UsageError for a name that is no engine's."""
    if not ENGINES.knows(name):
        guess = nearest(name, ENGINES.names())
        hint = f"did you mean {guess}?" if guess else f"there are {', '.join(ENGINES.names())}"
        raise UsageError(f"--engine {name}: no such engine; {hint}")
