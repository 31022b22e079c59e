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
    """The command for a new interpreter that runs `statement`, whose `sys.argv[1]` is `argument`.

    It imports from where this one does, whatever the current folder has.
    """
    return [sys.executable, "-c", _START + statement, argument, *sys.path]


@contextlib.contextmanager
def environment(name: str, value: str | None) -> Iterator[None]:
    """Within the block, here and in processes that are started, a variable has this value, or is
    not set where the value is ""; None changes nothing."""
    if value is None:
        yield
        return
    before = os.environ.pop(name, None)
    if value:
        os.environ[name] = value
    try:
        yield
    finally:
        os.environ.pop(name, None)
        if before is not None:
            os.environ[name] = before


def ending(code: int) -> str:
    """Describes how a process ended, by its exit code."""
    if code >= 0:
        return f"ended with code {code}"
    try:
        return f"was killed ({signal.Signals(-code).name})"
    except ValueError:  # a real-time signal has no name
        return f"was killed (signal {-code})"
