"""Messages between a client and the owner of a project: a line of JSON for each dataclass.

Knows which jobs there are; nothing of sockets, plans and engines.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from narrator.pipeline.options import RenderOptions

Event = Mapping[str, Any]
"""A JSON object that an owner sends to its clients; `event` names its kind."""
Kind = Literal["render", "export", "retake", "pin", "unpin", "audition", "hear", "judge"]
"""A "hear" listens to takes; a "judge" judges those of `chunks` anew by what was heard of them."""

PAUSABLE_KINDS = ("render", "export")
"""Jobs that wait while the queue is paused: they go on where they stopped. The others are short."""
STOPPED = 130
"""Exit code of a job that was stopped, or withdrawn before it began."""
_STRICT = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


@dataclass(frozen=True, slots=True)
class AuditionLine:
    """A line to audition."""

    __pydantic_config__ = _STRICT

    speaker: str
    text: Annotated[str, Field(max_length=2000)]
    voice: Mapping[str, str | int] = field(default_factory=dict)
    """A change of the speaker's voice as in `edits.voice_edit`; without one, their own voice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job(RenderOptions):
    """A job on a book. Its options say what speaks, and what a render is to speak."""

    __pydantic_config__ = _STRICT

    kind: Kind
    book: str = ""
    """Name of the manifest in the project's folder."""
    chunks: tuple[str, ...] = ()
    """Ids ("3.12") or keys of chunks for a retake, pin or unpin. An unpin without any removes the
    pins whose text is gone."""
    count: Annotated[int, Field(ge=1, le=32)] = 1
    """Number of tries of each chunk; used by retakes, like the settings until `speed`."""
    seed: Annotated[int, Field(ge=0, lt=2**32)] | None = None
    parameters: Mapping[str, int | float | str | bool] = field(default_factory=dict)
    style: Annotated[str, Field(max_length=1000)] | None = None
    """None leaves the style as it is; "" is none."""
    speed: Annotated[float, Field(ge=0.5, le=2.0)] = 1.0
    """Relative to the speaker's other takes."""
    number: Annotated[int, Field(ge=0, lt=100_000)] | None = None
    """Number of the try to pin."""
    home: Annotated[str, Field(pattern="^([0-9a-f]{40})?$")] = ""
    """Key of the step that the try to pin was spoken for; "" for that of the chunk's own tries."""
    line: AuditionLine | None = None
    """The line of an audition."""

    @classmethod
    def of(cls, kind: Kind, options: RenderOptions) -> Job:
        """A job with the options of a command."""
        return cls(kind=kind, **{f.name: getattr(options, f.name) for f in fields(options)})


@dataclass(frozen=True, slots=True)
class ClientRequest:
    """A request of a client: submit a job by an id that the client chose, stop or move a job, or
    pause or resume the queue."""

    __pydantic_config__ = _STRICT

    do: Literal["submit", "stop", "move", "pause", "resume"]
    id: Annotated[str, Field(pattern=r"^[0-9a-z]{0,32}$")] = ""
    """A stop without an id stops the running job."""
    job: Job | None = None
    before: Annotated[str, Field(pattern=r"^[0-9a-z]{0,32}$")] = ""
    """Id of the waiting job before which another one moves; "" stands for the end."""


def encode(message: object) -> bytes:
    """The line of a dataclass or a JSON object."""
    row = asdict(message) if is_dataclass(message) and not isinstance(message, type) else message
    return json.dumps(row, ensure_ascii=False).encode(errors="replace") + b"\n"


def job_row(id: str, job: Job, since: float) -> dict[str, Any]:
    """A job as events describe it; `since` is in seconds since the epoch."""
    names = ("kind", "engine", "chapters", "speakers", "chunks", "book")
    return {"id": id, **{name: getattr(job, name) for name in names}, "since": round(since, 3)}
