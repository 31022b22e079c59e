"""The user's own settings, which no project says: `settings.yaml` in the library.

    cluster: tls://studio.local:8786
    build: /Volumes/Large/narrator

What a manifest could name, a stranger's could, too: a cluster runs programs for whoever reaches it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, ValidationError

from narrator import files
from narrator.engines.cluster.credentials import ClusterPlace, place_of
from narrator.errors import ManifestError, Problem, UsageError
from narrator.project.messages import problems_of
from narrator.project.yaml import read_yaml
from narrator.settings import Strict, Text

NONE = "none"
"""In place of an address: this machine."""
_BEGINS = "settings begin with keys, as `cluster: tls://studio.local:8786`"


class ClusterSettings(Strict):
    address: Text
    """tls://host:8786, or tcp://127.0.0.1:8786 for an insecure one on this machine."""
    tls: Text | None = None
    """The folder of cert.pem and key.pem, relative to the settings' file; without it `cluster`
    beside them."""
    insecure: bool = False
    """Without certificates: all users of this machine can run programs through it."""


def _as_address(value: object) -> object:
    return {"address": value} if isinstance(value, str) else value


class Preferences(Strict):
    cluster: Annotated[ClusterSettings, BeforeValidator(_as_address)] | None = None
    """Where models speak: an address, or an address with the folder of its certificate."""
    build: Text | None = None
    """Where the builds of all projects lie, each in a folder of its own; relative to the settings'
    file. Without it each lies in its project."""


def path() -> Path:
    return files.library() / "settings.yaml"


def read() -> Preferences:
    """What the user has set; nothing without a file. Raises ManifestError."""
    where = path()
    if not where.exists():
        return Preferences()
    reader, data = read_yaml(where, begins=_BEGINS, may_be_empty=True)
    try:
        return Preferences.model_validate(data)
    except ValidationError as error:
        raise ManifestError(problems_of(where, reader.lines, error, Preferences)) from None


@dataclass(frozen=True, slots=True)
class ClusterWish:
    """What a command says of a cluster, of what the user's settings say."""

    address: str = ""
    """An address, `none`, or "" where it is said nowhere but in the settings."""
    tls: str = ""
    """The folder of a certificate, or ""."""
    insecure: bool = False
    """Without certificates, on this machine."""

    def place(self) -> ClusterPlace | None:
        """Where models speak; None for this machine. Raises UsageError, ManifestError."""
        tls = Path(self.tls).expanduser() if self.tls else None
        if self.address:
            return None if self.address == NONE else place_of(self.address, tls, self.insecure)
        said = read().cluster
        if said is None or said.address == NONE:
            return None
        own = None if said.tls is None else path().parent / Path(said.tls).expanduser()
        try:
            return place_of(said.address, tls or own, self.insecure or said.insecure)
        except UsageError as error:
            raise ManifestError(Problem(path(), None, f"cluster: {error}")) from None


AS_SET = ClusterWish()
"""As the user's settings say."""
