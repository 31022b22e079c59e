"""Code that narrator's HTTP servers share: listening, host names, request bodies.

Anything that every HTTP server needs belongs here. Routes, the form of errors and access control
are each server's own. Knows nothing of books.

    listening.py    binds a port and runs a server on its own thread, with timeouts
    certificates.py makes certificates, for browsers and for clusters
    hosts.py        checks the Host header
    bodies.py       reads request bodies, limited in size and time
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec

from narrator.errors import EnvironmentFailed
from narrator.installation import install_command


def require(title: str, names: Sequence[str]) -> None:
    """Raises EnvironmentFailed without packages of the extra `studio`."""
    missing = [name for name in names if find_spec(name) is None]
    if missing:
        raise EnvironmentFailed(
            f"{title} needs {' and '.join(missing)}: {install_command('studio')}"
        )
