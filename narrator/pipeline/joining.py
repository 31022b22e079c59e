"""How to reach whoever owns a project, to have jobs done and to hear how they go.

    link = join(project) or started(project)
    id = link.submit(Job(kind="retake", draft=True, chunks=("2.14",)))
    for event in link.events(): ...

Knows nothing of how jobs are done.
"""

from __future__ import annotations

from collections.abc import Iterator

from narrator.pipeline.jobs import Event, Job
from narrator.project.project import Project


class Link:
    """A connection to the owner of a project. `submit`, `stop` and `close` may be called from any
    thread; one thread hears events.

    Every job that is submitted ends by an event "ended" with its id, or goes down with the owner:
    then `events` ends, and `unfinished` are the jobs to be done by somebody else. Jobs that wait
    are dropped when their link is closed.
    """

    pid: int
    hello: Event
    """What the owner said first: what runs, and what waits."""

    def submit(self, job: Job) -> str:
        """Ask for a job; its id. Raises BrokenPipeError where the owner has gone."""
        raise NotImplementedError

    def stop(self, id: str = "") -> None:
        """Stop a job, or what runs; takes that are finished are kept."""
        raise NotImplementedError

    def events(self) -> Iterator[Event]:
        """All that is told from now on, until the owner goes or the link is closed."""
        raise NotImplementedError

    def read(self, timeout: float | None = None) -> Event | None:
        """The next event; None where there is none within so many seconds. Raises EOFError."""
        raise NotImplementedError

    @property
    def unfinished(self) -> dict[str, Job]:
        """Jobs that this link submitted and that have not ended, by id, in their order."""
        raise NotImplementedError

    def close(self) -> None:
        """Leave; what was `started` ends, a render of it after what is in flight is stored."""
        raise NotImplementedError


def join(project: Project) -> Link | None:
    """A link to whoever owns a project; None where nobody does who can be talked to."""
    raise NotImplementedError


def started(project: Project) -> Link:
    """A link to the project's owner, a process of its own that waits for jobs if there is none yet.

    It keeps what its engines have loaded from job to job, and holds the project's lock while it has
    any. It ends with the link. Raises EnvironmentFailed where it cannot be started.
    """
    raise NotImplementedError
