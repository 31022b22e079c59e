"""Where a cluster is, and what lets machines into it.

Whoever reaches a scheduler runs programs on all its machines. So it is reached from this machine
alone, or by certificate: each side must show one that the other's authority has signed. Loads no
Dask.
"""

from __future__ import annotations

import re
import ssl
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from narrator import files
from narrator.errors import EngineUnavailable, UsageError
from narrator.installation import install_command
from narrator.web.hosts import is_local

if TYPE_CHECKING:
    from distributed import Security

PORT = 8786
"""Dask's own."""
MAKE = (
    "openssl req -x509 -newkey rsa:3072 -nodes -days 3650 -subj /CN=narrator "
    "-keyout key.pem -out cert.pem"
)
"""Makes a certificate that is its own authority: all machines have the same one."""
_ADDRESS = re.compile(r"(?:(tcp|tls)://)?(\[[0-9a-fA-F:.]+\]|[^\s:/\[\]]+)(?::([0-9]{1,5}))?/?")


@dataclass(frozen=True, slots=True)
class ClusterPlace:
    """A scheduler's address, and the folder of what proves that we may be there."""

    host: str
    port: int = PORT
    tls: Path | None = None
    """Has cert.pem and key.pem, and ca.pem where the certificate is not its own authority."""

    @property
    def address(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'tcp' if self.tls is None else 'tls'}://{host}:{self.port}"

    @property
    def is_local(self) -> bool:
        return is_local(self.host)


def certificates() -> Path:
    """Where certificates are looked for where no folder is named."""
    return files.library() / "cluster"


def place_of(address: str, tls: Path | None = None) -> ClusterPlace:
    """What an address means ("tls://studio.local:8786"), with the folder of its certificate, else
    the user's own. Raises UsageError."""
    found = _ADDRESS.fullmatch(address.strip())
    port = int(found[3] or PORT) if found else 0
    if found is None or not 0 < port < 65536:
        raise UsageError(
            f"'{address}' is no address of a cluster: write tls://host:{PORT}, "
            f"or tcp://127.0.0.1:{PORT} for one on this machine"
        )
    scheme, host = found[1], found[2].strip("[]")
    if scheme is None:
        scheme = "tcp" if is_local(host) and tls is None else "tls"
    if scheme == "tcp" and not is_local(host):
        raise UsageError(
            f"tcp://{host}: whoever reaches a cluster runs programs on all its machines, so beyond "
            f"this machine it wants certificates: tls://{host}:{port} (docs/cluster.md)"
        )
    if scheme == "tcp" and tls is not None:
        raise UsageError(f"{address}: certificates are for tls://{host}:{port}")
    return ClusterPlace(host, port, None if scheme == "tcp" else checked(tls))


def to_listen(address: str, port: int, tls: Path | None = None) -> ClusterPlace:
    """Where a scheduler of this machine listens: with certificates where others reach it, or where
    their folder is named. Raises UsageError."""
    if is_local(address) and tls is None:
        return ClusterPlace(address, port)
    return ClusterPlace(address, port, checked(tls))


def checked(tls: Path | None) -> Path:
    """The folder, once what it holds is a certificate with its key. Raises UsageError."""
    folder = tls or certificates()
    for name in ("cert.pem", "key.pem"):
        if not (folder / name).is_file():
            raise UsageError(
                f"{folder / name}: no such file: copy cert.pem and key.pem there from the machine "
                f"that has them; on the first, make them there, once:\n{MAKE}"
            )
    try:
        context = ssl.create_default_context(cafile=str(_authority(folder)))
        context.load_cert_chain(folder / "cert.pem", folder / "key.pem", password=_no_password)
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", "") or getattr(error, "strerror", "") or str(error)
        raise UsageError(f"{folder}: cert.pem and key.pem are no certificate with its key, in PEM "
                         f"and without a password: {reason}") from None  # fmt: skip
    ends = [str(one["notAfter"]) for one in context.get_ca_certs()]
    if ends and all(ssl.cert_time_to_seconds(end) < time.time() for end in ends):
        raise UsageError(f"{_authority(folder)}: valid until {ends[-1]}, so nobody is let in; make "
                         f"another, for every machine:\n{MAKE}")  # fmt: skip
    return folder


def _no_password() -> str:
    raise ValueError("key.pem is encrypted")


def _authority(folder: Path) -> Path:
    own = folder / "ca.pem"
    return own if own.is_file() else folder / "cert.pem"


def security(place: ClusterPlace) -> Security | None:
    """What Dask asks of whoever comes, and shows where it comes; None on this machine alone."""
    from distributed import Security

    if place.tls is None:
        return None
    shown = {}
    for role in ("client", "worker", "scheduler"):
        shown[f"tls_{role}_cert"] = str(place.tls / "cert.pem")
        shown[f"tls_{role}_key"] = str(place.tls / "key.pem")
    return Security(tls_ca_file=str(_authority(place.tls)), require_encryption=True, **shown)


def require() -> None:
    """Raises EngineUnavailable where Dask is not installed."""
    try:
        import distributed  # noqa: F401
    except ImportError:
        raise EngineUnavailable(f"a cluster needs Dask: {install_command('cluster')}") from None
