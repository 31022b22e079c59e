"""The user's own settings, in `settings.yaml` of the library.

    cluster: tls://studio.local:8786
    build: /Volumes/Large/narrator

These are settings that a manifest must not have, since it may come from a stranger: a cluster runs
programs for whoever can reach it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, ValidationError

from narrator import files
from narrator.engines.cluster.credentials import ClusterPlace, parse_place
from narrator.errors import ManifestError, Problem, UsageError
from narrator.project.messages import problems_of
from narrator.project.yaml import read_yaml
from narrator.settings import Strict, Text

NO_CLUSTER = "none"
"""The address that stands for this machine."""
_EXAMPLE_HINT = "settings begin with keys, as `cluster: tls://studio.local:8786`"


class ClusterSettings(Strict):
    address: Text
    """tls://host:8786, or tcp://127.0.0.1:8786 for an insecure one on this machine."""
    tls: Text | None = None
    """The folder of cert.pem and key.pem, relative to the settings' file; without it `cluster`
    beside them."""
    insecure: bool = False
    """Without certificates: all users of this machine can run programs through it."""


class CredentialSettings(Strict):
    certificate: Text
    """PEM file of your certificate, followed by those that it was signed with; relative to the
    settings' file."""
    key: Text
    """PEM file of its private key."""


def _as_address(address: object) -> object:
    return {"address": address} if isinstance(address, str) else address


class Preferences(Strict):
    cluster: Annotated[ClusterSettings, BeforeValidator(_as_address)] | None = None
    """Where models speak: an address, or an address with the folder of its certificate."""
    build: Text | None = None
    """Where the builds of all projects lie, each in a folder of its own; relative to the settings'
    file. Without it each lies in its project."""
    credentials: CredentialSettings | None = None
    """With what finished files are signed as content credentials."""


def preferences_path() -> Path:
    return files.library() / "settings.yaml"


def read_preferences() -> Preferences:
    """The user's settings; the defaults if there is no file. Raises ManifestError."""
    settings_path = preferences_path()
    if not settings_path.exists():
        return Preferences()
    reader, settings = read_yaml(settings_path, format_hint=_EXAMPLE_HINT, may_be_empty=True)
    try:
        return Preferences.model_validate(settings)
    except ValidationError as error:
        raise ManifestError(problems_of(settings_path, reader.lines, error, Preferences)) from None


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """A command's options for the cluster, which override the user's settings."""

    address: str = ""
    """An address, `none`, or "" to use that of the settings."""
    tls: str = ""
    """The folder of a certificate, or ""."""
    insecure: bool = False
    """Without certificates, on this machine."""

    def place(self) -> ClusterPlace | None:
        """The cluster on which models speak; None for this machine. Raises UsageError,
        ManifestError."""
        tls = Path(self.tls).expanduser() if self.tls else None
        if self.address:
            return (
                None
                if self.address == NO_CLUSTER
                else parse_place(self.address, tls, self.insecure)
            )
        cluster_settings = read_preferences().cluster
        if cluster_settings is None or cluster_settings.address == NO_CLUSTER:
            return None
        certificate_folder = (
            None
            if cluster_settings.tls is None
            else preferences_path().parent / Path(cluster_settings.tls).expanduser()
        )
        try:
            return parse_place(
                cluster_settings.address,
                tls or certificate_folder,
                self.insecure or cluster_settings.insecure,
            )
        except UsageError as error:
            raise ManifestError(Problem(preferences_path(), None, f"cluster: {error}")) from None


FROM_PREFERENCES = ClusterOptions()
"""A wish that leaves everything to the user's settings."""
