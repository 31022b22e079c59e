"""Content credentials (C2PA): a finished file is signed with a certificate of the user's own.

They state the same as the mark of its origin (`provenance.py`), in a form that shows any later
change of the file. The library c2pa-python, the extra `credentials`, signs and reads them; it holds
a whole file in memory. Nothing is sent anywhere, so no signature has a time stamp of a third party.

https://spec.c2pa.org/
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from narrator import keys
from narrator.delivery import provenance
from narrator.errors import ExportError, ManifestError, Problem, UserError
from narrator.files import translating_errors
from narrator.installation import install_command
from narrator.project.preferences import preferences_path, read_preferences

SIGNED_FORMATS: Mapping[str, str] = {"mp3": "audio/mpeg", "m4b": "audio/mp4", "wav": "audio/wav"}
"""Media types of the formats that are signed. C2PA has none for Ogg; a FLAC would begin with an
ID3 tag, which some players refuse."""
_OFFLINE = {"verify": {"remote_manifest_fetch": False}, "core": {"allowed_network_hosts": []}}
"""Settings of c2pa: a stranger's file must not make this machine connect to an address."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """A certificate and its key, in PEM."""

    certificate: Path
    """The certificate, followed by those that it was signed with."""
    key: Path

    @property
    def fingerprint(self) -> str:
        """A hash of the certificates. Raises StorageError."""
        with translating_errors(self.certificate):
            return keys.file_content(self.certificate)

    def sign(self, path: Path, format: str, title: str, mark: Mapping[str, str]) -> None:
        """Signs a file in its place. If that fails, the file is useless. Raises ExportError,
        StorageError."""
        import c2pa

        with translating_errors(self.certificate):
            certificate = self.certificate.read_bytes()
        with translating_errors(self.key):
            private_key = self.key.read_bytes()
        action = {
            "action": "c2pa.created",
            "digitalSourceType": provenance.VOCABULARY + provenance.source_type(mark),
            "softwareAgent": {"name": provenance.engines_of(mark)},
        }
        claim = {
            "claim_generator_info": [{"name": "narrator"}],
            "title": title,
            "assertions": [{"label": "c2pa.actions.v2", "data": {"actions": [action]}}],
        }
        try:
            signer = c2pa.Signer.from_info(
                c2pa.C2paSignerInfo(
                    alg=_algorithm(private_key),
                    sign_cert=certificate,
                    private_key=private_key,
                    ta_url=None,
                )
            )
            builder = c2pa.Builder(json.dumps(claim))
            with translating_errors(path), tempfile.TemporaryFile(dir=path.parent) as source:
                with path.open("rb") as unsigned_file:
                    shutil.copyfileobj(unsigned_file, source)
                source.seek(0)
                with path.open("w+b") as target:  # the same file, which may be locked
                    builder.sign(signer, SIGNED_FORMATS[format], source, target)
        except (c2pa.C2paError, ValueError, TypeError) as error:
            message = f"`credentials` in {preferences_path()} cannot sign: {error}"
            raise ExportError(message) from None


def load_credentials() -> Credentials | None:
    """Returns the certificate and key of the user's settings; None where they name none.

    Raises ManifestError where files are missing, UserError where the library is.
    """
    settings, settings_path = read_preferences().credentials, preferences_path()
    if settings is None:
        return None
    if find_spec("c2pa") is None:
        raise UserError(
            f"`credentials` in {settings_path} needs c2pa-python: {install_command('credentials')}"
        )
    paths = [
        settings_path.parent / Path(name).expanduser()
        for name in (settings.certificate, settings.key)
    ]
    if missing := [path for path in paths if not path.is_file()]:
        message = f"credentials: there is no file {missing[0]}"
        raise ManifestError(Problem(settings_path, None, message))
    return Credentials(*paths)


def _algorithm(private_key: bytes) -> str:
    """Returns C2PA's name of the algorithm of a key. Raises ValueError, TypeError."""
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    key = load_pem_private_key(private_key, None)
    if isinstance(key, ed25519.Ed25519PrivateKey):
        return "ed25519"
    sizes = {256: "es256", 384: "es384", 521: "es512"}
    if isinstance(key, ec.EllipticCurvePrivateKey) and key.key_size in sizes:
        return sizes[key.key_size]
    raise ValueError("its key must be an elliptic curve of 256, 384 or 521 bits, or Ed25519")


def read_credentials(path: Path) -> tuple[str, bool]:
    """Describes the content credentials of a file, and returns whether they are intact; "none" if
    it has none, "not read" if the library is missing.

    Credentials to which the file only refers, by an address, are not fetched.
    """
    media_type = SIGNED_FORMATS.get(path.suffix[1:].lower())
    if media_type is None:
        return "none", True
    if find_spec("c2pa") is None:
        return "not read", True
    import c2pa

    try:
        with path.open("rb") as file:
            context = c2pa.Context.from_dict(_OFFLINE)
            reader = c2pa.Reader.try_create(media_type, file, context=context)
            if reader is None:
                return "none", True
            state = reader.get_validation_state()
            is_intact = state in ("Valid", "Trusted")
            manifest: dict[str, Any] = reader.get_active_manifest() or {}
    except (c2pa.C2paError, OSError) as error:
        if str(error).startswith("Remote"):
            return "at an address that the file names, not fetched", True
        return f"unreadable: {error}", False
    signature = manifest.get("signature_info") or {}
    signer = signature.get("common_name") or signature.get("issuer") or "an unknown signer"
    doubt = "" if is_intact else f", {state}: altered, or its certificate has expired"
    return f"signed by {signer}{doubt}", is_intact
