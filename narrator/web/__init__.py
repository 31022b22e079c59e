"""What servers of ours share: where they listen, what they are called, what is sent to them.

What any front that answers over HTTP needs belongs here, whoever asks it and whatever about. Its
routes, its errors' form and who is let in are each front's own. Knows nothing of books.

    listening.py    a port, a server in a thread of its own, patience with what does not come
    hosts.py        what a server may be called
    bodies.py       what is sent, bounded in size and time
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec

from narrator.errors import EnvironmentFailed
from narrator.installation import install_command


def require(what: str, names: Sequence[str]) -> None:
    """Raises EnvironmentFailed without packages of the extra `studio`."""
    missing = [name for name in names if find_spec(name) is None]
    if missing:
        raise EnvironmentFailed(
            f"{what} needs {' and '.join(missing)}: {install_command('studio')}"
        )
