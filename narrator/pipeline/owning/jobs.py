"""What is asked of whoever owns a project: jobs, and how they are written on a line.

Knows what may be asked and which jobs do another's work; nothing of sockets, plans and engines.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from narrator.project import other_engine
from narrator.project.preferences import ClusterWish
from narrator.settings import Strict

Event = Mapping[str, Any]
"""What an owner tells all who listen, a JSON object; `event` says which kind it is."""
Kind = Literal["render", "export", "retake", "pin", "unpin", "audition"]
Name = Annotated[str, Field(max_length=1000)]
Names = Annotated[tuple[Name, ...], Field(max_length=100_000)]

STOPPED = 130
"""How a job ends that was stopped, or withdrawn before it began."""


class AuditionLine(Strict):
    """What is auditioned."""

    speaker: Name
    text: Annotated[str, Field(max_length=2000)]
    voice: Mapping[str, Name | int] = Field(default_factory=dict)
    """One that the speaker might have, as `edits.voice_edit` takes it; without it their own."""


class Job(Strict):
    """Something that is to be done with a book."""

    kind: Kind
    draft: bool = False
    engine: Name = Field(default_factory=other_engine.chosen)
    """What speaks in place of the manifest's engines, or ""."""
    chapters: Names = ()
    """As `--chapter` takes them; with `speakers` and `force` of a render."""
    speakers: Names = ()
    force: bool = False
    chunks: Names = ()
    """Ids ("3.12") or keys; of a retake, pin or unpin. Without any, unpin forgets the pins whose
    text has gone."""
    count: Annotated[int, Field(ge=1, le=32)] = 1
    """Tries of each chunk; with `seed` and `parameters` of a retake."""
    seed: Annotated[int, Field(ge=0, lt=2**32)] | None = None
    parameters: Mapping[str, int | float | str | bool] = Field(default_factory=dict)
    number: Annotated[int, Field(ge=0, lt=100_000)] | None = None
    """Of the try that is pinned."""
    line: AuditionLine | None = None
    """Of an audition."""
    cluster: Name = ""
    """Who is to speak, with `tls` and `insecure`: as `ClusterWish`."""
    tls: Name = ""
    insecure: bool = False
    book: str = ""
    """Name of the manifest in the project's folder."""


def wish_of(job: Job) -> ClusterWish:
    return ClusterWish(job.cluster, job.tls, job.insecure)


class Asked(Strict):
    """A line of a client: a job to do, by an id that the client chose, or one to stop."""

    do: Literal["submit", "stop"]
    id: Annotated[str, Field(pattern=r"^[0-9a-z]{0,32}$")] = ""
    """Of a stop, without one: what runs."""
    job: Job | None = None


def asked(line: bytes) -> Asked:
    """What a line asks for. Raises ValueError in words."""
    try:
        found = Asked.model_validate_json(line)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise ValueError(f"{where}: {first['msg']}" if where else str(first["msg"])) from None
    if found.do == "submit" and (found.job is None or not found.id):
        raise ValueError("a job is submitted with its id")
    return found


def row(id: str, job: Job, since: float) -> dict[str, Any]:
    """A job as events have it; `since` in seconds of the clock of the day."""
    shown = job.model_dump(include={"kind", "draft", "chapters", "speakers", "chunks", "book"})
    return {"id": id, **shown, "since": round(since, 3)}
