"""Messages between a client and the owner of a project: jobs, and events as JSON.

Knows which jobs there are; nothing of sockets, plans and engines.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from narrator.project import other_engine
from narrator.project.preferences import ClusterOptions
from narrator.settings import Strict

Event = Mapping[str, Any]
"""A JSON object that an owner sends to its clients; `event` names its kind."""
Kind = Literal["render", "export", "retake", "pin", "unpin", "audition"]
Name = Annotated[str, Field(max_length=1000)]
Names = Annotated[tuple[Name, ...], Field(max_length=100_000)]

STOPPED = 130
"""Exit code of a job that was stopped, or withdrawn before it began."""


class AuditionLine(Strict):
    """A line to audition."""

    speaker: Name
    text: Annotated[str, Field(max_length=2000)]
    voice: Mapping[str, Name | int] = Field(default_factory=dict)
    """A change of the speaker's voice as in `edits.voice_edit`; without one, their own voice."""


class Job(Strict):
    """A job on a book."""

    kind: Kind
    draft: bool = False
    engine: Name = Field(default_factory=other_engine.chosen_engine)
    """Name of an engine that replaces the manifest's engines, or ""."""
    chapters: Names = ()
    """Chapters as in `--chapter`; used by renders, with `speakers` and `force`."""
    speakers: Names = ()
    force: bool = False
    chunks: Names = ()
    """Ids ("3.12") or keys of chunks for a retake, pin or unpin. An unpin without any removes the
    pins whose text is gone."""
    count: Annotated[int, Field(ge=1, le=32)] = 1
    """Number of tries of each chunk; used by retakes, with `seed` and `parameters`."""
    seed: Annotated[int, Field(ge=0, lt=2**32)] | None = None
    parameters: Mapping[str, int | float | str | bool] = Field(default_factory=dict)
    number: Annotated[int, Field(ge=0, lt=100_000)] | None = None
    """Number of the try to pin."""
    line: AuditionLine | None = None
    """The line of an audition."""
    cluster: Name = ""
    """The cluster that speaks, with `tls` and `insecure`, as in `ClusterOptions`."""
    tls: Name = ""
    insecure: bool = False
    book: str = ""
    """Name of the manifest in the project's folder."""


def cluster_wish(job: Job) -> ClusterOptions:
    return ClusterOptions(job.cluster, job.tls, job.insecure)


class ClientRequest(Strict):
    """A request of a client: submit a job by an id that the client chose, or stop one."""

    do: Literal["submit", "stop"]
    id: Annotated[str, Field(pattern=r"^[0-9a-z]{0,32}$")] = ""
    """A stop without an id stops the running job."""
    job: Job | None = None


def parse_request(line: bytes) -> ClientRequest:
    """Parse a request. Raises ValueError with a message for people."""
    try:
        request = ClientRequest.model_validate_json(line)
    except ValidationError as error:
        first_error = error.errors(include_url=False, include_input=False)[0]
        location = ".".join(map(str, first_error["loc"]))
        raise ValueError(
            f"{location}: {first_error['msg']}" if location else str(first_error["msg"])
        ) from None
    if request.do == "submit" and (request.job is None or not request.id):
        raise ValueError("a job is submitted with its id")
    return request


def job_row(id: str, job: Job, since: float) -> dict[str, Any]:
    """A job as events describe it; `since` is in seconds since the epoch."""
    job_fields = job.model_dump(include={"kind", "draft", "chapters", "speakers", "chunks", "book"})
    return {"id": id, **job_fields, "since": round(since, 3)}
