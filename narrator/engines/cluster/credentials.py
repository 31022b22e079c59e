"""The address of a cluster and the certificates that admit machines to it.

Whoever reaches a scheduler can run programs on all its machines, as the user who started them, and
all users of a machine can reach its ports. So every part must show a certificate signed by the
others' authority, unless the user asks for an insecure cluster on this machine. Loads no Dask.
"""

from __future__ import annotations

import os
import re
import shlex
import stat
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from narrator import files
from narrator.errors import EngineUnavailable, EnvironmentFailed, StorageError, UsageError
from narrator.installation import install_command
from narrator.web.certificates import (
    AUTHORITY,
    CERTIFICATE,
    KEY,
    has_certificate,
    make_certificate,
)
from narrator.web.hosts import is_local

if TYPE_CHECKING:
    from distributed import Security

PORT = 8786
"""Dask's default port."""
_ADDRESS = re.compile(r"(?:(tcp|tls)://)?(\[[0-9a-fA-F:.]+\]|[^\s:/\[\]]+)(?::([0-9]{1,5}))?/?")


@dataclass(frozen=True, slots=True)
class ClusterPlace:
    """A scheduler's address and the folder of the certificate that admits this machine."""

    host: str
    port: int = PORT
    tls: Path | None = None
    """Has cert.pem and key.pem, and ca.pem where the certificate is not its own authority; None in
    an insecure cluster."""

    @property
    def address(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'tcp' if self.tls is None else 'tls'}://{host}:{self.port}"

    @property
    def is_local(self) -> bool:
        return is_local(self.host)


def certificate_folder() -> Path:
    """Returns the default folder of certificates."""
    return files.library() / "cluster"


def parse_place(address: str, tls: Path | None = None, insecure: bool = False) -> ClusterPlace:
    """Parses an address ("tls://studio.local:8786"); the certificate is in `tls` or the default
    folder. For a scheduler on this machine, a missing certificate is made.

    Raises UsageError, StorageError, EngineUnavailable where none can be made.
    """
    match = _ADDRESS.fullmatch(address.strip())
    port = int(match[3] or PORT) if match else 0
    if match is None or not 0 < port < 65536:
        raise UsageError(
            f"'{address}' is not the address of a cluster: write tls://host:{PORT}, "
            f"or tls://127.0.0.1:{PORT} for one on this machine"
        )
    scheme, host = match[1], match[2].strip("[]")
    if scheme == "tls" and insecure:
        raise UsageError(f"{address}: the address of an insecure cluster begins with tcp://")
    if scheme != "tcp" and not insecure:
        return ClusterPlace(host, port, _certificate_folder(tls, is_local(host)))
    return _insecure_place(host, port, tls, insecure)


def listening_place(
    address: str, port: int, tls: Path | None = None, insecure: bool = False
) -> ClusterPlace:
    """Returns the place where a scheduler on this machine listens; makes a missing certificate.

    Raises UsageError, StorageError, EngineUnavailable where none can be made.
    """
    if insecure:
        return _insecure_place(address, port, tls, insecure)
    return ClusterPlace(address, port, _certificate_folder(tls, True))


def _insecure_place(host: str, port: int, tls: Path | None, insecure: bool) -> ClusterPlace:
    """Raises UsageError unless only this machine can be reached and the user asked for this."""
    place = ClusterPlace(host, port)
    secure = place.address.replace("tcp", "tls", 1)
    if not place.is_local:
        raise UsageError(
            f"{place.address}: whoever reaches a cluster runs programs on all its machines, so "
            f"beyond this machine it wants certificates: {secure} (docs/cluster.md)"
        )
    if not insecure:
        raise UsageError(
            f"{place.address}: without certificates all users of this machine can run programs as "
            f"you: write {secure}, or add --insecure (`insecure: true` in settings.yaml)"
        )
    if tls is not None:
        raise UsageError(f"{place.address}: --insecure shows no certificate, so leave out {tls}")
    return place


def _certificate_folder(tls: Path | None, may_make: bool) -> Path:
    """Returns the checked folder of a certificate and its key, which are made if missing and no
    folder is named. Raises UsageError, StorageError, EngineUnavailable."""
    if tls is None and may_make and not has_certificate(certificate_folder()):
        try:
            make_certificate(certificate_folder(), "cluster")
        except StorageError:
            raise
        except EnvironmentFailed as error:  # no package for it
            raise EngineUnavailable(str(error)) from None
    return check_certificate(tls)


def check_certificate(tls: Path | None) -> Path:
    """Returns the folder if it holds a valid certificate with its key, safe from other users.
    Raises UsageError."""
    import ssl  # takes as long to load as all else here, and few need it

    folder = tls or certificate_folder()
    _check_access(folder)
    try:
        context = ssl.create_default_context(cafile=str(_authority(folder)))
        context.load_cert_chain(folder / CERTIFICATE, folder / KEY, password=_no_password)
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", "") or getattr(error, "strerror", "") or str(error)
        raise UsageError(
            f"{folder}: cert.pem and key.pem are not a certificate with its key, in PEM and "
            f"without a password: {reason}"
        ) from None
    ends = [str(authority["notAfter"]) for authority in context.get_ca_certs()]
    if ends and all(ssl.cert_time_to_seconds(end) < time.time() for end in ends):
        raise UsageError(
            f"{_authority(folder)}: valid until {ends[-1]}, so nobody is let in: replace it and "
            f"key.pem on every machine, or remove {shlex.quote(str(folder))} and "
            f"{_CERTIFICATE_HINT}"
        )
    return folder


_CERTIFICATE_HINT = (
    "start `narrator scheduler`, which makes cert.pem and key.pem where none are named; copy both "
    "to every other machine (docs/cluster.md)"
)


def _check_access(folder: Path) -> None:
    """Raises UsageError when a file is missing, or another user could read the key or replace the
    authority."""
    paths = [folder, folder / CERTIFICATE, folder / KEY]
    if os.path.lexists(folder / AUTHORITY):
        paths.append(folder / AUTHORITY)
    for path in paths:
        try:
            status = path.stat()
        except (FileNotFoundError, NotADirectoryError):
            missing = folder / CERTIFICATE if path == folder else path
            raise UsageError(f"{missing}: no such file: {_CERTIFICATE_HINT}") from None
        except OSError as error:
            raise UsageError(f"{path}: {error.strerror}") from None
        if path == folder / KEY and status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise UsageError(
                f"{path}: other users of this machine can read this key: "
                f"chmod 600 {shlex.quote(str(path))}"
            )
        if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise UsageError(
                f"{path}: other users of this machine can change this: "
                f"chmod go-w {shlex.quote(str(path))}"
            )
        if os.geteuid() not in (0, status.st_uid) and status.st_uid != 0:
            raise UsageError(f"{path}: this belongs to another user of this machine")


def _no_password() -> str:
    """Fails where OpenSSL would ask for a password in the terminal."""
    raise ValueError("key.pem is encrypted")


def _authority(folder: Path) -> Path:
    """Returns the file with the certificate of the authority that signs the others'."""
    path = folder / AUTHORITY
    return path if path.is_file() else folder / CERTIFICATE


def tls_settings(place: ClusterPlace) -> Security | None:
    """Returns Dask's TLS settings for all roles; None for an insecure cluster."""
    from distributed import Security

    if place.tls is None:
        return None
    arguments = {}
    for role in ("client", "worker", "scheduler"):
        arguments[f"tls_{role}_cert"] = str(place.tls / CERTIFICATE)
        arguments[f"tls_{role}_key"] = str(place.tls / KEY)
    return Security(tls_ca_file=str(_authority(place.tls)), require_encryption=True, **arguments)


def require_dask() -> None:
    """Raises EngineUnavailable when Dask is not installed."""
    try:
        import distributed  # noqa: F401
    except ImportError:
        raise EngineUnavailable(f"a cluster needs Dask: {install_command('cluster')}") from None
