"""What an address means, and which certificates are some."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from narrator.engines.cluster import credentials
from narrator.engines.cluster.credentials import ClusterPlace, checked, place_of, to_listen
from narrator.errors import EngineUnavailable, UsageError
from tests.clusters import CERTIFICATES

OURS, THEIRS, SIGNED = (CERTIFICATES / name for name in ("ours", "theirs", "signed"))


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
def test_this_machine_is_reached_without_certificates(
    written: str, host: str, port: int, address: str
):
    place = place_of(written)
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
        ("127.0.0.1", "tls://127.0.0.1:8786"),  # as certificates are named
    ],
)
def test_others_are_reached_with_certificates(written: str, address: str):
    place = place_of(written, OURS)
    assert (place.address, place.tls) == (address, OURS)


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
def test_what_is_no_address_is_refused_with_one_that_is(written: str):
    with pytest.raises(UsageError, match=r"is no address of a cluster: write tls://host:8786, or"):
        place_of(written, OURS)


@pytest.mark.parametrize("written", ["tcp://studio.local", "tcp://192.168.1.20", "tcp://[fe80::1]"])
def test_nobody_beyond_this_machine_is_reached_without_certificates(written: str):
    with pytest.raises(UsageError, match="runs programs on all its machines") as caught:
        place_of(written)
    assert "tls://" in str(caught.value)


@pytest.mark.parametrize("written", ["tcp://127.0.0.1", "tcp://localhost:9000"])
def test_certificates_that_would_not_be_shown_are_refused(written: str):
    with pytest.raises(UsageError, match="certificates are for tls://"):
        place_of(written, OURS)


@pytest.mark.parametrize("address", ["127.0.0.1", "localhost", "::1"])
def test_a_scheduler_for_this_machine_wants_no_certificates(address: str):
    assert to_listen(address, 9000) == ClusterPlace(address, 9000)


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "192.168.1.20", "studio.local"])
def test_a_scheduler_that_others_reach_wants_certificates(address: str, own: Path):
    with pytest.raises(UsageError, match="no such file"):
        to_listen(address, 9000)
    shutil.copytree(OURS, own)
    assert to_listen(address, 9000) == ClusterPlace(address, 9000, own)


def test_a_scheduler_for_this_machine_shows_certificates_that_are_named():
    assert to_listen("127.0.0.1", 9000, OURS).address == "tls://127.0.0.1:9000"


# -- certificates ----------------------------------------------------------------------------------


@pytest.mark.parametrize("folder", [OURS, SIGNED])
def test_a_certificate_with_its_key_is_taken(folder: Path):
    assert checked(folder) == folder


def test_a_certificate_that_has_run_out_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("time.time", lambda: 1e11)
    with pytest.raises(UsageError, match=r"cert.pem: valid until .* make another"):
        place_of("tls://studio.local", OURS)


def test_without_a_folder_the_users_own_is_taken(own: Path):
    shutil.copytree(OURS, own)
    assert place_of("studio.local").tls == own


def test_where_there_is_no_certificate_it_is_said_how_to_make_one(own: Path):
    with pytest.raises(UsageError) as caught:
        place_of("studio.local")
    first, second = str(caught.value).splitlines()
    assert first.startswith(f"{own}/cert.pem: no such file: copy cert.pem and key.pem there")
    assert second == credentials.MAKE


def altered(folder: Path, **files: Path | str) -> Path:
    """Our certificate, with other files."""
    shutil.copytree(OURS, folder)
    for name, other in files.items():
        target = folder / f"{name}.pem"
        if isinstance(other, Path):
            shutil.copyfile(other, target)
        else:
            target.write_text(other)
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
def test_what_is_no_certificate_with_its_key_is_refused(
    files: dict[str, Path | str], why: str, tmp_path: Path
):
    folder = altered(tmp_path / "tls", **files)
    with pytest.raises(UsageError) as caught:
        checked(folder)
    said = str(caught.value)
    assert said.startswith(f"{folder}: cert.pem and key.pem are no certificate with its key")
    assert why in said
    assert "\n" not in said


@pytest.mark.parametrize("name", ["cert.pem", "key.pem"])
def test_half_a_certificate_is_none(name: str, tmp_path: Path):
    folder = altered(tmp_path / "tls")
    (folder / name).unlink()
    with pytest.raises(UsageError, match=f"{name}: no such file"):
        checked(folder)


# -- what Dask is told -----------------------------------------------------------------------------


def test_on_this_machine_nothing_is_shown():
    assert credentials.security(ClusterPlace("127.0.0.1")) is None


@pytest.mark.parametrize(("folder", "authority"), [(OURS, "cert.pem"), (SIGNED, "ca.pem")])
def test_every_part_shows_a_certificate_and_asks_for_one(folder: Path, authority: str):
    found = credentials.security(ClusterPlace("studio.local", tls=folder))
    assert found is not None
    assert found.require_encryption
    assert found.tls_ca_file == str(folder / authority)
    for role in ("client", "worker", "scheduler"):
        shown = found.get_tls_config_for_role(role)
        assert (shown["cert"], shown["key"]) == (str(folder / "cert.pem"), str(folder / "key.pem"))


def test_without_dask_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(EngineUnavailable, match=r"pip install .*\[cluster\]"):
        credentials.require()
