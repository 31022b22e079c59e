"""Other processes of this program: how a Python one is started, and how one ended.

Knows nothing of what they do.
"""

from __future__ import annotations

import signal
import sys

_START = "import sys\nsys.path[:] = sys.argv[2:]\n"


def python_command(statement: str, argument: str = "") -> list[str]:
    """The command for a new interpreter that runs `statement`, whose `sys.argv[1]` is `argument`.

    It imports from where this one does, whatever the current folder has.
    """
    return [sys.executable, "-c", _START + statement, argument, *sys.path]


def ending(code: int) -> str:
    """How a process ended, by its exit code."""
    if code >= 0:
        return f"ended with code {code}"
    try:
        return f"was killed ({signal.Signals(-code).name})"
    except ValueError:  # a real-time signal has no name
        return f"was killed (signal {-code})"
