"""What an address means, and which certificates are some."""

from __future__ import annotations

import os
import shlex
import shutil
import stat
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from narrator.engines.cluster import credentials
from narrator.engines.cluster.credentials import (
    ClusterPlace,
    check_certificate,
    listening_place,
    parse_place,
)
from narrator.errors import EngineUnavailable, StorageError, UsageError
from narrator.web import certificates
from tests.clusters import CERTIFICATES, certificate

OURS, THEIRS = (CERTIFICATES / name for name in ("ours", "theirs"))


@pytest.fixture(scope="session")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return certificate(tmp_path_factory.mktemp("certificates") / "ours")


@pytest.fixture(scope="session")
def signed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return certificate(tmp_path_factory.mktemp("certificates") / "signed", "signed")


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder where certificates are looked for where none is named."""
    monkeypatch.setenv("NARRATOR_HOME", str(tmp_path))
    return tmp_path / "cluster"


# -- addresses -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "host", "port", "address"),
    [
        ("127.0.0.1", "127.0.0.1", 8786, "tcp://127.0.0.1:8786"),
        ("localhost:9000", "localhost", 9000, "tcp://localhost:9000"),
        ("tcp://127.0.0.1:9000", "127.0.0.1", 9000, "tcp://127.0.0.1:9000"),
        ("tcp://127.8.8.8:9000/", "127.8.8.8", 9000, "tcp://127.8.8.8:9000"),
        (" tcp://localhost ", "localhost", 8786, "tcp://localhost:8786"),
        ("[::1]", "::1", 8786, "tcp://[::1]:8786"),
        ("tcp://[::1]:65535", "::1", 65535, "tcp://[::1]:65535"),
    ],
)
def test_an_insecure_cluster_of_this_machine_is_reached_without_certificates(
    written, host, port, address
):
    place = parse_place(written, insecure=True)
    assert (place, place.address, place.is_local) == (ClusterPlace(host, port), address, True)


@pytest.mark.parametrize(
    ("written", "address"),
    [
        ("studio.local", "tls://studio.local:8786"),
        ("studio.local:9000", "tls://studio.local:9000"),
        ("tls://studio.local:9000", "tls://studio.local:9000"),
        ("192.168.1.20", "tls://192.168.1.20:8786"),
        ("tls://[fe80::1]:9000", "tls://[fe80::1]:9000"),
        ("[2001:db8::7]", "tls://[2001:db8::7]:8786"),
        ("tls://127.0.0.1", "tls://127.0.0.1:8786"),
        ("tls://[::1]", "tls://[::1]:8786"),
        ("127.0.0.1", "tls://127.0.0.1:8786"),
    ],
)
def test_a_cluster_is_reached_with_certificates(written, address, ours):
    place = parse_place(written, ours)
    assert (place.address, place.tls) == (address, ours)


@pytest.mark.parametrize("written", ["127.0.0.1", "localhost:9000", "tls://[::1]"])
def test_this_machine_is_reached_with_a_certificate_that_is_made_for_it(written, own):
    place = parse_place(written)
    assert (place.tls, place.address[:6]) == (own, "tls://")
    assert parse_place(written) == place == parse_place(written, check_certificate(None))


@pytest.mark.parametrize("written", ["tcp://127.0.0.1", "tcp://localhost:9000", "tcp://[::1]:1"])
def test_an_address_without_certificates_wants_insecure(written, own):
    with pytest.raises(UsageError) as caught:
        parse_place(written)
    secure = ClusterPlace(parse_place(written, insecure=True).host, 1, own).address[:-2]
    assert "all users of this machine can run programs as you" in str(caught.value)
    assert f"write {secure}" in str(caught.value)
    assert "add --insecure" in str(caught.value)
    assert not own.exists()


def test_an_address_with_certificates_is_not_insecure():
    with pytest.raises(UsageError, match="an insecure cluster begins with tcp://"):
        parse_place("tls://127.0.0.1", insecure=True)


@pytest.mark.parametrize(
    "written",
    [
        "", " ", "tcp://", "tls://:8786", "http://studio.local", "tcp:/127.0.0.1", "a b", "::1",
        "tls://studio.local:", "tls://studio.local:0", "tls://studio.local:65536",
        "tls://studio.local:999999", "tls://studio.local:-1", "tls://studio.local:port",
        "tls://studio.local/path", "[::1", "tls://who:word@studio.local", "127.0.0.1:8786:8787",
        "tcp://127.0.0.1:8786\ntcp://127.0.0.1:8787", "tls://studio.local:٣",
    ],
)  # fmt: skip
def test_what_is_no_address_is_refused_with_one_that_is(written, ours):
    with pytest.raises(
        UsageError, match=r"is not the address of a cluster: write tls://host:8786, or"
    ):
        parse_place(written, ours)


@pytest.mark.parametrize("written", ["tcp://studio.local", "tcp://192.168.1.20", "tcp://[fe80::1]"])
@pytest.mark.parametrize("insecure", [False, True])
def test_nobody_beyond_this_machine_is_reached_without_certificates(written, insecure):
    with pytest.raises(UsageError, match="runs programs on all its machines") as caught:
        parse_place(written, insecure=insecure)
    assert "tls://" in str(caught.value)


@pytest.mark.parametrize("written", ["tcp://127.0.0.1", "tcp://localhost:9000"])
def test_certificates_that_would_not_be_shown_are_refused(written, ours):
    with pytest.raises(UsageError, match="shows no certificate, so leave out"):
        parse_place(written, ours, insecure=True)


@pytest.mark.parametrize("address", ["127.0.0.1", "localhost", "::1", "0.0.0.0", "192.168.1.20"])
def test_a_scheduler_makes_a_certificate_where_there_is_none(address, own):
    assert listening_place(address, 9000) == ClusterPlace(address, 9000, own)
    key = (own / "key.pem").read_bytes()
    assert listening_place(address, 9000) == ClusterPlace(address, 9000, own)
    assert (own / "key.pem").read_bytes() == key


def test_a_scheduler_shows_certificates_that_are_named(ours):
    assert listening_place("127.0.0.1", 9000, ours) == ClusterPlace("127.0.0.1", 9000, ours)


def test_an_insecure_scheduler_makes_no_certificate(own):
    assert listening_place("127.0.0.1", 9000, insecure=True) == ClusterPlace("127.0.0.1", 9000)
    assert not own.exists()


# -- certificates ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ours", "signed"])
def test_a_certificate_with_its_key_is_taken(name, request):
    folder = request.getfixturevalue(name)
    assert check_certificate(folder) == folder


def test_a_certificate_that_has_run_out_is_refused(ours, monkeypatch):
    monkeypatch.setattr("time.time", lambda: 1e11)
    with pytest.raises(UsageError, match=r"cert.pem: valid until .* replace it and key.pem"):
        parse_place("tls://studio.local", ours)


def test_none_is_made_for_a_scheduler_of_another_machine(own):
    with pytest.raises(UsageError) as caught:
        parse_place("studio.local")
    assert str(caught.value).startswith(f"{own}/cert.pem: no such file: start `narrator scheduler`")
    assert not own.exists()


# -- a certificate of narrator's making ------------------------------------------------------------


def test_a_certificate_is_made_for_this_user_alone(own):
    before = os.umask(0)
    try:
        parse_place("127.0.0.1")
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (own, *own.iterdir())}
    assert modes == {"cluster": 0o700, "cert.pem": 0o600, "key.pem": 0o600}
    assert [path.name for path in own.parent.iterdir()] == ["cluster"]


def test_a_certificate_that_was_made_does_not_run_out(own, monkeypatch):
    parse_place("127.0.0.1")
    monkeypatch.setattr("time.time", lambda: 2e11)
    assert check_certificate(None) == own


def test_programs_that_start_at_once_have_one_certificate(own, monkeypatch):
    """All have seen that there is none before the first makes it."""
    gate, new = threading.Barrier(4, timeout=30), certificates.new_certificate

    def delayed(*arguments: object) -> tuple[bytes, bytes]:
        gate.wait()
        return new(*arguments)

    monkeypatch.setattr(certificates, "new_certificate", delayed)
    with ThreadPoolExecutor(4) as pool:
        places = list(pool.map(parse_place, ["127.0.0.1"] * 4))
    assert {place.tls for place in places} == {own}
    assert check_certificate(None) == own
    assert [path.name for path in own.parent.iterdir()] == ["cluster"]


def test_a_certificate_half_copied_is_not_made_anew(own):
    own.mkdir(parents=True)
    (own / "key.pem").touch(0o600)
    with pytest.raises(UsageError, match=r"cert.pem: no such file"):
        parse_place("127.0.0.1")
    assert (own / "key.pem").read_bytes() == b""


def test_an_empty_folder_is_filled(own):
    own.mkdir(parents=True)
    assert parse_place("127.0.0.1").tls == own


def test_a_library_that_cannot_be_written_is_named(own):
    own.write_text("")
    with pytest.raises(StorageError, match="cluster: "):
        parse_place("127.0.0.1")


def test_without_what_makes_certificates_it_is_said_what_to_install(own, monkeypatch):
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(EngineUnavailable, match=r"cluster\]"):
        parse_place("127.0.0.1")


# -- other users -----------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o620, 0o601])
@pytest.mark.parametrize("named", [False, True])
def test_a_key_that_others_can_read_is_refused(mode, named, own):
    parse_place("127.0.0.1")
    key = own / "key.pem"
    key.chmod(mode)
    with pytest.raises(UsageError) as caught:
        listening_place("127.0.0.1", 9000, own if named else None)
    assert str(caught.value).endswith(f"can read this key: chmod 600 {shlex.quote(str(key))}")
    key.chmod(0o600)
    assert check_certificate(own) == own


@pytest.mark.parametrize("name", ["", "cert.pem", "ca.pem"])
@pytest.mark.parametrize("mode", [0o720, 0o702])
def test_an_authority_that_others_can_change_is_refused(name, mode, tmp_path):
    folder = certificate(tmp_path / "tls", "signed")
    path = folder / name
    path.chmod(mode)
    with pytest.raises(UsageError) as caught:
        check_certificate(folder)
    assert str(caught.value).endswith(f"can change this: chmod go-w {shlex.quote(str(path))}")


def test_a_key_of_another_user_is_refused(ours, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    if ours.stat().st_uid == 0:
        status = os.stat_result((0o40700, 0, 0, 0, 54321, 0, 0, 0, 0, 0))
        monkeypatch.setattr(Path, "stat", lambda path: status)
    with pytest.raises(UsageError, match="belongs to another user"):
        check_certificate(ours)


def altered(folder: Path, **files: Path | str) -> Path:
    """Our certificate, with other files."""
    certificate(folder)
    for name, other in files.items():
        target = folder / f"{name}.pem"
        if isinstance(other, Path):
            shutil.copyfile(other, target)
        else:
            target.write_text(other)
        target.chmod(0o600)
    return folder


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({"key": THEIRS / "key.pem"}, "KEY_VALUES_MISMATCH"),
        ({"key": OURS / "encrypted.pem"}, "key.pem is encrypted"),
        ({"key": ""}, "PEM"),
        ({"key": "nonsense"}, "PEM"),
        ({"key": OURS / "cert.pem"}, "PEM"),
        ({"cert": "nonsense"}, "NO_CERTIFICATE"),
        ({"cert": OURS / "key.pem"}, "NO_CERTIFICATE"),
        ({"ca": "nonsense"}, "NO_CERTIFICATE"),
    ],
)
def test_what_is_no_certificate_with_its_key_is_refused(files, why, tmp_path):
    folder = altered(tmp_path / "tls", **files)
    with pytest.raises(UsageError) as caught:
        check_certificate(folder)
    said = str(caught.value)
    assert said.startswith(f"{folder}: cert.pem and key.pem are not a certificate with its key")
    assert why in said
    assert "\n" not in said


# -- what Dask is told -----------------------------------------------------------------------------


def test_in_an_insecure_cluster_nothing_is_shown():
    assert credentials.tls_settings(ClusterPlace("127.0.0.1")) is None


@pytest.mark.parametrize(("name", "authority"), [("ours", "cert.pem"), ("signed", "ca.pem")])
def test_every_part_shows_a_certificate_and_asks_for_one(name, authority, request):
    folder = request.getfixturevalue(name)
    found = credentials.tls_settings(ClusterPlace("studio.local", tls=folder))
    assert found is not None
    assert found.require_encryption
    assert found.tls_ca_file == str(folder / authority)
    for role in ("client", "worker", "scheduler"):
        shown = found.get_tls_config_for_role(role)
        assert (shown["cert"], shown["key"]) == (str(folder / "cert.pem"), str(folder / "key.pem"))


def test_without_dask_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(EngineUnavailable, match=r"pip install .*\[cluster\]"):
        credentials.require_dask()
