"""Content credentials: files are signed with a certificate of the user's own, and verified."""

from __future__ import annotations

import datetime
import json
import logging
import shutil
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import mutagen
import pytest

c2pa = pytest.importorskip("c2pa", reason="the extra `credentials` is not installed")

from cryptography import x509  # noqa: E402
from cryptography.hazmat.primitives import hashes  # noqa: E402
from cryptography.hazmat.primitives.asymmetric import ec, rsa  # noqa: E402
from cryptography.hazmat.primitives.serialization import (  # noqa: E402
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID  # noqa: E402

from narrator import files  # noqa: E402
from narrator.delivery import provenance  # noqa: E402
from narrator.delivery.credentials import (  # noqa: E402
    SIGNED_FORMATS,
    load_credentials,
    read_credentials,
)
from narrator.delivery.finish import Finished  # noqa: E402
from narrator.delivery.postflight import Check, collect_files  # noqa: E402
from narrator.errors import ExportError, ManifestError  # noqa: E402
from narrator.sound.formats import FORMATS  # noqa: E402
from narrator.sound.probe import measure_sound_file  # noqa: E402
from tests import books  # noqa: E402
from tests.fakes import HumEngine  # noqa: E402

CREATED = {
    "label": "c2pa.actions.v2",
    "data": {
        "actions": [
            {
                "action": "c2pa.created",
                "digitalSourceType": f"{provenance.VOCABULARY}trainedAlgorithmicMedia",
            }
        ]
    },
}
DAY = datetime.timedelta(days=1)


def pem(key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def chain() -> tuple[bytes, bytes]:
    """A certificate of a publisher, signed by an authority, and its key."""

    def name(common: str) -> x509.Name:
        organization = x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Test")
        return x509.Name([organization, x509.NameAttribute(NameOID.COMMON_NAME, common)])

    def usage(is_authority: bool) -> x509.KeyUsage:
        return x509.KeyUsage(
            digital_signature=True, content_commitment=False, key_encipherment=False,
            data_encipherment=False, key_agreement=False, key_cert_sign=is_authority,
            crl_sign=is_authority, encipher_only=False, decipher_only=False,
        )  # fmt: skip

    authority, key = (
        ec.generate_private_key(ec.SECP256R1()),
        ec.generate_private_key(ec.SECP256R1()),
    )
    now = datetime.datetime.now(datetime.UTC)
    issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.public_key())
    email = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.EMAIL_PROTECTION])  # as C2PA asks
    certificates = b""
    for subject, owner, is_authority in (("A Publisher", key, False), ("Root", authority, True)):
        builder = (
            x509.CertificateBuilder(name("Root"), name(subject), owner.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - DAY)
            .not_valid_after(now + 300 * DAY)
            .add_extension(x509.BasicConstraints(is_authority, None), critical=True)
            .add_extension(usage(is_authority), critical=True)
            .add_extension(
                x509.SubjectKeyIdentifier.from_public_key(owner.public_key()), critical=False
            )
        )
        if not is_authority:
            builder = builder.add_extension(email, critical=False)
            builder = builder.add_extension(issuer, critical=False)
        certificates += builder.sign(authority, hashes.SHA256()).public_bytes(Encoding.PEM)
    return certificates, pem(key)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's library, with a certificate in its settings."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("NARRATOR_HOME", str(folder))
    certificates, key = chain()
    (folder / "own.pem").write_bytes(certificates)
    (folder / "own.key").write_bytes(key)
    settings = "credentials: {certificate: own.pem, key: own.key}\n"
    (folder / "settings.yaml").write_text(settings, "utf-8")
    return folder


def deliver(folder: Path, formats: str, more: str = "") -> Finished:
    output = f"output: {{formats: [{formats}], files: book{more}}}\n"
    report, _ = books.run(books.brief(folder, books.PLAIN + output), HumEngine())
    assert report.finished is not None
    return report.finished


def check(path: Path) -> Check:
    (file,) = collect_files([path]).inspect(None).inspected_files
    (found,) = [check for check in file.checks if check.name == "credentials"]
    return found


def stated(path: Path) -> tuple[str, str]:
    """The source type and the engine in the credentials of a file."""
    with path.open("rb") as file:
        credentials = json.loads(c2pa.Reader(SIGNED_FORMATS[path.suffix[1:]], file).json())
    (claim,) = credentials["manifests"].values()
    assertions = {assertion["label"]: assertion["data"] for assertion in claim["assertions"]}
    (action,) = assertions["c2pa.actions.v2"]["actions"]
    mark = {"digitalSourceType": action["digitalSourceType"]}
    return provenance.source_type(mark), action["softwareAgent"]["name"]


def test_files_are_signed_and_stay_as_they_are_otherwise(home: Path, tmp_path: Path) -> None:
    plain = deliver(tmp_path / "plain", ", ".join(FORMATS), ", mark: false")
    assert {read_credentials(path) for path in plain.files} == {("none", True)}
    signed = deliver(tmp_path / "signed", ", ".join(FORMATS))
    for path, unsigned in zip(signed.files, plain.files, strict=True):
        format = path.suffix[1:]
        figures, other = measure_sound_file(path), measure_sound_file(unsigned)
        assert (figures.content, figures.marks) == (other.content, other.marks)
        assert mutagen.File(path) is not None
        assert provenance.read_mark(figures.tags)
        is_signed = format in SIGNED_FORMATS
        assert ("signed" in signed.made_files[path].facts) is is_signed
        if is_signed:
            assert check(path) == Check(
                "credentials", "signed by A Publisher", "signed and intact", True
            )
            assert stated(path) == ("trainedAlgorithmicMedia", "hum")


def test_a_flipped_bit_and_a_lost_signature_are_found(home: Path, tmp_path: Path) -> None:
    (path,) = deliver(tmp_path / "book", "mp3").files
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    found = check(path)
    assert (found.figure, found.ok) == (
        "signed by A Publisher, Invalid: altered, or its certificate has expired",
        False,
    )
    tags = mutagen.File(path)
    tags.tags.delall("GEOB")
    tags.save()
    found = check(path)
    assert (found.figure, found.demand, found.ok) == ("none", "signed and intact", False)


@pytest.mark.parametrize("format", SIGNED_FORMATS)
def test_credentials_at_an_address_are_not_fetched(home: Path, tmp_path: Path, format: str) -> None:
    (source,) = deliver(tmp_path / "book", format, ", mark: false").files
    certificates, key = chain()
    signer = c2pa.Signer.from_info(
        c2pa.C2paSignerInfo(alg="es256", sign_cert=certificates, private_key=key, ta_url=None)
    )
    requests: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            requests.append(self.path)
            self.send_response(404)
            self.end_headers()

        def log_message(self, *arguments: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listener:
        thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        builder = c2pa.Builder(json.dumps({"title": "A Book", "assertions": [CREATED]}))
        builder.set_remote_url(f"http://127.0.0.1:{listener.server_address[1]}/manifest")
        builder.set_no_embed()
        path = tmp_path / f"stranger.{format}"
        with source.open("rb") as file, path.open("w+b") as target:
            builder.sign(signer, SIGNED_FORMATS[format], file, target)
        found = check(path)
        listener.shutdown()
        thread.join()
    assert requests == []
    assert (found.figure, found.ok) == ("at an address that the file names, not fetched", True)


def test_files_are_signed_once_and_again_with_another_certificate(
    home: Path, tmp_path: Path
) -> None:
    def is_fresh() -> bool:
        (file,) = deliver(tmp_path / "book", "mp3").exported.files
        return file.fresh

    assert [is_fresh(), is_fresh()] == [True, False]
    certificates, key = chain()
    (home / "own.pem").write_bytes(certificates)
    (home / "own.key").write_bytes(key)
    assert [is_fresh(), is_fresh()] == [True, False]


def test_a_file_that_is_being_written_stays_locked_while_it_is_signed(
    home: Path, tmp_path: Path
) -> None:
    (source,) = deliver(tmp_path / "book", "mp3", ", mark: false").files
    credentials = load_credentials()
    assert credentials is not None
    with files.replacing(tmp_path / "signed.mp3") as temporary:
        shutil.copyfile(source, temporary)
        credentials.sign(temporary, "mp3", "A Book", {"digitalSourceType": "algorithmicMedia"})
        files.sweep(tmp_path)  # of another process
    assert read_credentials(tmp_path / "signed.mp3") == ("signed by A Publisher", True)


def test_the_key_is_in_no_file_and_no_line_of_the_log(
    home: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    deliver(tmp_path / "book", "mp3, wav")
    secret = (home / "own.key").read_bytes().splitlines()[1]
    contents = [path.read_bytes() for path in (tmp_path / "book").rglob("*") if path.is_file()]
    assert not [content for content in contents if secret in content]
    assert secret.decode() not in caplog.text


def test_what_cannot_sign_is_said_without_the_key(home: Path, tmp_path: Path) -> None:
    (home / "own.key").write_bytes(pem(rsa.generate_private_key(65537, 2048)))
    with pytest.raises(ExportError, match="an elliptic curve of 256, 384 or 521 bits"):
        deliver(tmp_path / "book", "mp3")
    (home / "own.key").write_text("not a key", "utf-8")
    with pytest.raises(ExportError, match=r"settings\.yaml cannot sign") as error:
        deliver(tmp_path / "book", "mp3")
    assert "not a key" not in str(error.value)
    (home / "own.key").unlink()
    with pytest.raises(ManifestError, match=r"credentials: there is no file .*own\.key"):
        deliver(tmp_path / "book", "mp3")
