"""Other processes of this program: how a Python one is started, and how one ended.

Knows nothing of what they do.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterator

_START = "import sys\nsys.path[:] = sys.argv[2:]\n"


def python_command(statement: str, argument: str = "") -> list[str]:
    """Returns the command for a new interpreter that runs `statement`, with `argument` as its
    `sys.argv[1]`.

    It imports from where this one does, not from its working folder.
    """
    return [sys.executable, "-c", _START + statement, argument, *sys.path]


@contextlib.contextmanager
def environment(name: str, value: str | None) -> Iterator[None]:
    """Sets an environment variable within the block, for this process and those that it starts.

    The value "" unsets it; None changes nothing.
    """
    if value is None:
        yield
        return
    previous_value = os.environ.pop(name, None)
    if value:
        os.environ[name] = value
    try:
        yield
    finally:
        os.environ.pop(name, None)
        if previous_value is not None:
            os.environ[name] = previous_value


def ending(code: int) -> str:
    """Describes how a process ended, by its exit code: “was killed (SIGKILL)”."""
    if code >= 0:
        return f"ended with code {code}"
    try:
        return f"was killed ({signal.Signals(-code).name})"
    except ValueError:  # a real-time signal has no name
        return f"was killed (signal {-code})"
