"""Makes certificates that sign themselves: for the machines of a cluster, and for browsers.

Each is a folder with `cert.pem` and `key.pem` that this user alone can read. Knows no addresses of
its own, and no servers.
"""

from __future__ import annotations

import ipaddress
import os
import shutil
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from narrator import files
from narrator.errors import EnvironmentFailed
from narrator.installation import install_command

if TYPE_CHECKING:
    from cryptography import x509

CERTIFICATE, KEY, AUTHORITY = "cert.pem", "key.pem", "ca.pem"
_ALWAYS = (
    datetime(2000, 1, 1, tzinfo=UTC),
    datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC),
)
"""Validity of a cluster's certificates, whatever the clock says. The end is the value of RFC 5280
(4.1.2.5) for a certificate that does not expire."""
_BROWSER_DAYS = 800
"""Validity of a certificate for browsers: Apple's refuse those of more than 825 days."""
_RENEWAL_DAYS = 30
_ISSUER = "narrator"


def has_certificate(folder: Path) -> bool:
    """Returns whether a folder has any of the files, complete or not."""
    return any(os.path.lexists(folder / name) for name in (CERTIFICATE, KEY, AUTHORITY))


def make_certificate(folder: Path, extra: str, hosts: Sequence[str] = ()) -> None:
    """Makes a folder with a self-signed certificate and its key, readable by this user alone: for
    the servers of a cluster, or for browsers that call a server by one of some host names.
    Programs that do so at the same time all end up with the same certificate.

    Raises StorageError, EnvironmentFailed without the package that makes certificates, which
    `extra` installs.
    """
    certificate, key = new_certificate(extra, hosts)
    with files.translating_errors(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
        try:
            for name, content in ((CERTIFICATE, certificate), (KEY, key)):
                descriptor = os.open(temporary / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
                with os.fdopen(descriptor, "wb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
            try:
                temporary.rename(folder)  # fails if another program was faster
            except OSError:
                if not has_certificate(folder):
                    raise
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def browser_certificate(folder: Path, hosts: Sequence[str]) -> Path:
    """Returns a folder with a certificate for browsers. It is made if there is none, and again if
    it expires or names other hosts; one that narrator has not made is used as it is.

    Raises as `make_certificate`.
    """
    if (folder / CERTIFICATE).is_file() and _is_outdated(folder / CERTIFICATE, hosts):
        with files.translating_errors(folder):
            shutil.rmtree(folder)
    if not has_certificate(folder):
        make_certificate(folder, "studio", hosts)
    return folder


def fingerprint(folder: Path) -> str:
    """Returns the SHA-256 fingerprint of a certificate, as browsers show it. Raises StorageError,
    EnvironmentFailed."""
    from cryptography.hazmat.primitives import hashes

    return _load(folder / CERTIFICATE).fingerprint(hashes.SHA256()).hex(":").upper()


def _load(path: Path) -> x509.Certificate:
    """Raises StorageError, EnvironmentFailed if a file is not a certificate."""
    from cryptography import x509

    with files.translating_errors(path):
        content = path.read_bytes()
    try:
        return x509.load_pem_x509_certificate(content)
    except ValueError as error:
        raise EnvironmentFailed(f"{path}: not a certificate: {error}") from None


def _is_outdated(path: Path, hosts: Sequence[str]) -> bool:
    """True if narrator made a certificate that expires soon or does not name some hosts."""
    from cryptography import x509

    certificate = _load(path)
    if certificate.issuer != _issuer():
        return False
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    is_expiring = certificate.not_valid_after_utc < datetime.now(UTC) + timedelta(_RENEWAL_DAYS)
    return is_expiring or not set(_general_names(hosts)) <= set(names)


def _issuer() -> x509.Name:
    from cryptography import x509

    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, _ISSUER)])


def _general_names(hosts: Sequence[str]) -> list[x509.GeneralName]:
    from cryptography import x509

    names: list[x509.GeneralName] = []
    for host in dict.fromkeys(hosts):
        try:
            names.append(x509.IPAddress(ipaddress.ip_address(host)))
        except ValueError:
            names.append(x509.DNSName(host))
    return names


def new_certificate(extra: str, hosts: Sequence[str] = ()) -> tuple[bytes, bytes]:
    """Returns a new self-signed certificate and its key, as PEM. Raises EnvironmentFailed.

    Without hosts it is an authority that signs itself, and does not expire.
    """
    try:
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec
    except ImportError:
        raise EnvironmentFailed(
            f"a certificate is made by cryptography: {install_command(extra)}"
        ) from None
    key = ec.generate_private_key(ec.SECP256R1())
    public = key.public_key()
    is_authority, now = not hosts, datetime.now(UTC)
    begin, end = (
        _ALWAYS if is_authority else (now - timedelta(1), now + timedelta(_BROWSER_DAYS - 1))
    )
    usage = x509.KeyUsage(
        digital_signature=True, key_cert_sign=is_authority, crl_sign=False,
        content_commitment=False, key_encipherment=False, data_encipherment=False,
        key_agreement=False, encipher_only=False, decipher_only=False,
    )  # fmt: skip
    basics = x509.BasicConstraints(ca=is_authority, path_length=0 if is_authority else None)
    builder = (
        x509.CertificateBuilder()
        .subject_name(_issuer())
        .issuer_name(_issuer())
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(end)
        .add_extension(basics, critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(public), critical=False)
    )
    if hosts:
        purpose = x509.ExtendedKeyUsage([x509.oid.ExtendedKeyUsageOID.SERVER_AUTH])
        names = x509.SubjectAlternativeName(_general_names(hosts))
        builder = builder.add_extension(purpose, critical=False).add_extension(names, False)
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    certificate = builder.sign(key, hashes.SHA256())
    return certificate.public_bytes(serialization.Encoding.PEM), private
