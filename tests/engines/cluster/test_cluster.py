"""Books through a cluster of this machine: programs, Dask and all."""

from __future__ import annotations

import contextlib
import gc
import ipaddress
import json
import shutil
import socket
import ssl
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from narrator.engines import ignore_message
from narrator.engines.cluster import client, codec, credentials, programs, worker_tasks
from narrator.engines.cluster.client import DaskCluster
from narrator.engines.cluster.credentials import ClusterPlace
from narrator.speech.store import Store
from tests import books
from tests.clusters import CERTIFICATES, AtWork, Program, at_work, certificate, free_port
from tests.effort import quick

# a connection that Dask was about to close when its loop ended is left to be collected
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")


@pytest.fixture(scope="module", autouse=True)
def collected() -> Iterator[None]:
    """What is left is not to warn a test of another module."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AtWork]:
    with at_work(tmp_path_factory.mktemp("cluster"), "mini", "mini") as found:
        yield found


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return certificate(tmp_path_factory.mktemp("certificates") / "ours")


@pytest.fixture(scope="module")
def locked(ours: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AtWork]:
    """One that shows our certificate, and is reached from everywhere."""
    folder = tmp_path_factory.mktemp("locked")
    with at_work(folder, "mini", tls=ours, listen="0.0.0.0") as found:
        yield found


@pytest.fixture
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody answers soon."""
    monkeypatch.setattr(programs, "CONNECT_TIMEOUT", 0.3)
    monkeypatch.setattr(client, "CONNECT_TIMEOUT", 0.3)
    patient = {**programs.DASK_CONFIG, "distributed.comm.timeouts.connect": "300ms"}
    monkeypatch.setattr(programs, "DASK_CONFIG", patient)
    monkeypatch.setattr(client, "DASK_CONFIG", patient)


def takes(path: Path) -> dict[str, bytes]:
    """By key, the sound of each."""
    store = Store.open(path.parent / "build" / "store")
    found = {key: store.read(key) for key, _ in store.stored()}
    return {key: f"{rate}".encode() + samples.tobytes() for key, (samples, rate) in found.items()}


def arguments(command: str, address: str, folder: Path) -> tuple[str | Path, ...]:
    """Of a command that reaches a cluster."""
    if command == "worker":
        return command, address, "--engine", "draft"
    return command, books.brief(folder / "book"), "--draft", "--cluster", address


# -- books -----------------------------------------------------------------------------------------


def test_a_book_has_the_same_keys_and_takes_as_without_a_cluster(cluster, narrator, tmp_path):
    here, there = books.brief(tmp_path / "here"), books.brief(tmp_path / "there")
    code, _, said = narrator("render", here, "--draft")
    assert code == 0, said
    code, _, said = narrator("render", there, "--draft", "--cluster", cluster.address)
    assert code == 0, said
    assert takes(here) == takes(there)
    assert len(takes(there)) == 7
    log = "".join(one.read_text() for one in (there.parent / "build" / "logs").iterdir())
    assert "mini spoke" in log


def test_what_two_clients_send_are_never_one_task(cluster, monkeypatch):
    """Though they be at one place in the memory of their machines."""
    monkeypatch.setattr(client, "id", lambda thing: 7, raising=False)
    place = credentials.parse_place(cluster.address)
    said = codec.pack_parcel({"narrator": "another", "form": codec.FORMAT_VERSION})
    keys = set()
    with contextlib.ExitStack() as kept:
        for _ in range(2):
            one = kept.enter_context(contextlib.closing(DaskCluster(place, ignore_message)))
            sent = one.send(next(iter(one.machines() or {})), worker_tasks.meet, said)
            future = sent.future
            assert one.arrivals.get(timeout=30).sent_task is sent
            assert future is not None
            keys.add(future.key)
    assert len(keys) == 2


def test_plan_shows_the_machines(cluster, narrator, tmp_path):
    """Two may have one name: one that comes back is there before the scheduler knows that it had
    gone."""
    path = books.brief(tmp_path)
    code, said, _ = narrator("plan", path, "--draft", "--cluster", cluster.address)
    assert code == 0
    assert cluster.address in said
    assert "mini" in said
    code, said, _ = narrator("plan", path, "--draft", "--cluster", cluster.address, "--json")
    assert code == 0
    (found,) = json.loads(said)["clusters"]
    assert (found["cluster"], found["engine"]) == (cluster.address, "draft")
    assert [one["name"] for one in found["machines"]] == ["mini", "mini"]


def test_plan_without_machines_says_who_is_missing(hurry, narrator, tmp_path):
    path, port = books.brief(tmp_path), free_port()
    address = f"tls://127.0.0.1:{port}"
    code, _, said = narrator("plan", path, "--draft", "--cluster", address)
    assert code == 0
    assert f"nothing lets us in at {address}" in said


@pytest.mark.parametrize("command", ["render", "worker"])
def test_a_command_without_its_scheduler_ends_in_words(command, hurry, narrator, tmp_path):
    address = f"tcp://127.0.0.1:{free_port()}"
    code, _, said = narrator(*arguments(command, address, tmp_path), "--insecure")
    assert code == 3
    assert f"nothing answers at {address}: is `narrator scheduler` at work there?" in said


def until_collected(port: int) -> None:
    """No connection of ours to a port is left, which a later test would be warned of."""
    for _ in range(200):
        gc.collect()
        ours = psutil.Process().net_connections("tcp")
        if not any(one.raddr and one.raddr.port == port for one in ours):
            return
        time.sleep(0.05)
    raise AssertionError("a connection is left")


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # Dask leaves its socket to be collected
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    "first", quick([b"", b"HTTP/1.0 400 Bad request\r\n", bytes(range(40, 240))], b"")
)
@pytest.mark.parametrize("command", quick(["plan", "render", "worker"], "render", "worker"))
def test_what_is_no_scheduler_is_not_waited_for(command, first, hurry, narrator, tmp_path):
    """Dask waits for ever for the first word of one that has accepted."""
    with socket.create_server(("127.0.0.1", 0)) as there, contextlib.ExitStack() as kept:

        def accept() -> None:
            with contextlib.suppress(OSError):
                while True:
                    kept.enter_context(there.accept()[0]).sendall(first)

        threading.Thread(target=accept, daemon=True).start()
        port = there.getsockname()[1]
        address = f"tcp://127.0.0.1:{port}"
        code, _, said = narrator(*arguments(command, address, tmp_path), "--insecure")
        there.shutdown(socket.SHUT_RDWR)
    until_collected(port)
    assert code == (0 if command == "plan" else 3)
    assert f"nothing answers at {address}" in said


def test_a_cluster_whose_machines_lack_the_engine_says_what_to_start(cluster, narrator, tmp_path):
    path = books.brief(tmp_path)
    code, _, said = narrator("plan", path, "--cluster", cluster.address)
    assert code == 0
    assert f"no machine has the engine voxcpm2: `narrator worker {cluster.address}`" in said


def test_who_set_a_cluster_drafts_and_exports_without_it(narrator, tmp_path, monkeypatch):
    """A draft travels where it is told to, and what is rendered already needs nobody."""
    monkeypatch.setenv("NARRATOR_HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    address = f"tls://127.0.0.1:{free_port()}"
    (tmp_path / "home" / "settings.yaml").write_text(f"cluster: {address}\n")
    path = books.brief(tmp_path / "book")
    for command in ("render", "export"):
        code, _, said = narrator(command, path, "--draft")
        assert (code, address in said) == (0, False), said


@pytest.mark.slow
def test_a_worker_finds_its_scheduler_in_the_settings(hurry, narrator, tmp_path, monkeypatch):
    monkeypatch.setenv("NARRATOR_HOME", str(tmp_path))
    address = f"tcp://127.0.0.1:{free_port()}"
    row = f"cluster: {{address: '{address}', insecure: true}}\n"
    (tmp_path / "settings.yaml").write_text(row)
    code, _, said = narrator("worker", "--engine", "draft")
    assert code == 3
    assert f"nothing answers at {address}" in said


# -- what is typed ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["worker"], "which scheduler? narrator worker tls://host:8786"),
        (["worker", "none"], "which scheduler?"),
        (["worker", "tcp://studio.local"], "whoever reaches a cluster runs programs"),
        (
            ["worker", "tls://studio.local"],
            "cert.pem: no such file: start `narrator scheduler`, which makes cert.pem and key.pem",
        ),
        (["worker", "tcp://127.0.0.1"], "all users of this machine can run programs as you"),
        (["worker", "tls://127.0.0.1", "--insecure"], "insecure cluster begins with tcp://"),
        (["worker", "http://127.0.0.1"], "is not the address of a cluster"),
        (["worker", "127.0.0.1", "--engine", "draf"], "no engine draf; did you mean 'draft'?"),
        (["worker", "127.0.0.1", "--engine", "xyz"], "no engine xyz; it has"),
        (["worker", "127.0.0.1", "--engine", "server"], "no engine server"),
        (
            ["worker", "127.0.0.1", "--slots", "0"],
            "'--slots': Input should be greater than or equal to 1",
        ),
        (
            ["scheduler", "--listen", "0.0.0.0", "--insecure"],
            "so beyond this machine it wants certificates",
        ),
        (["scheduler", "--tls", "/nowhere"], "/nowhere/cert.pem: no such file"),
        (["scheduler", "--port", "0"], "'--port': Input should be greater than or equal to 1"),
    ],
)
def test_what_is_typed_wrongly_is_said(arguments, why, narrator, tmp_path, monkeypatch):
    monkeypatch.setenv("NARRATOR_HOME", str(tmp_path))
    code, _, said = narrator(*arguments)
    assert code == 2
    assert why in " ".join(said.replace("│", " ").split())


@pytest.mark.slow  # another program, for one line of an address
def test_a_scheduler_may_listen_at_an_address_of_ipv6(tmp_path):
    if not socket.has_ipv6:
        pytest.skip("this machine has no IPv6")
    port = free_port()
    program = Program(tmp_path, "scheduler", "--listen", "::1", "--port", port)
    try:
        program.wait_for(f"scheduler at tls://[::1]:{port}")
        assert all(loopback(host) for host, _ in program.listens)
    finally:
        program.stop()


@pytest.mark.slow
def test_a_port_that_is_taken_is_said(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        # on its own, as Dask leaves a socket open that it could not use
        program = Program(tmp_path, "scheduler", "--port", port, strict=False)
        assert program.process.wait(30) == 2
    said = f"error: cannot listen at tls://127.0.0.1:{port}: Address already in use\n"
    assert program.said == said


@pytest.mark.parametrize(
    "error", [ConnectionResetError("cut"), ValueError("IOStream is not idle"), TimeoutError()]
)
@pytest.mark.parametrize("wrapped", [False, True])
def test_whatever_keeps_a_worker_from_its_scheduler_is_said_in_words(
    error, wrapped, narrator, monkeypatch
):
    """Dask wraps what comes while a worker starts."""

    async def agree(place: ClusterPlace) -> None:
        if wrapped:
            raise RuntimeError("Worker failed to start.") from error
        raise error

    monkeypatch.setattr(programs, "check_scheduler", agree)
    code, _, said = narrator("worker", "tcp://127.0.0.1:1", "--engine", "draft", "--insecure")
    assert code == 3
    assert "nothing answers at tcp://127.0.0.1:1" in said


# -- who is let in ---------------------------------------------------------------------------------


def test_who_has_the_certificate_is_let_in(locked, ours, narrator, tmp_path):
    given = arguments("render", locked.address, tmp_path)
    code, _, said = narrator(*given, "--tls", ours)
    assert code == 0, said
    assert len(takes(given[1])) == 7


@pytest.mark.parametrize("command", ["render", "worker"])
@pytest.mark.parametrize("shown", ["theirs", "theirs, trusting ours", "another user's", "none"])
def test_whoever_lacks_the_certificate_is_not_let_in_and_told_why(
    command, shown, locked, cluster, hurry, narrator, tmp_path, monkeypatch
):
    """Even one that would have let us in. Another user's library makes a certificate of its own."""
    address, options = locked.address, list[str | Path]()
    if shown == "none":
        address, options = address.replace("tls", "tcp"), ["--insecure"]
        words = [f"nothing answers at {address}"]
    elif shown == "another user's":
        address = cluster.address
        monkeypatch.setenv("NARRATOR_HOME", str(tmp_path / "another"))
        words = [f"{address} does not let us in: {tmp_path / 'another' / 'cluster'}", "--insecure"]
    else:
        tls = certificate(tmp_path / "tls", "theirs")
        if "trusting" in shown:
            shutil.copyfile(CERTIFICATES / "ours" / "cert.pem", tls / "ca.pem")
            (tls / "ca.pem").chmod(0o600)
        options, words = ["--tls", tls], [address, str(tls), "certificate"]
    code, _, said = narrator(*arguments(command, address, tmp_path), *options)
    assert code == 3
    last = said.splitlines()[-1]
    assert last.startswith("error: ")
    for word in words:
        assert word in last


def first_byte(host: str, port: int, context: ssl.SSLContext) -> bytes:
    with (
        socket.create_connection((host, port), timeout=20) as wire,
        context.wrap_socket(wire) as secured,
    ):
        return secured.recv(1)


def test_no_port_of_a_cluster_answers_who_shows_no_certificate(cluster):
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    for host, port in {at for one in (cluster.scheduler, *cluster.machines) for at in one.listens}:
        with pytest.raises((ssl.SSLError, ConnectionError)):
            first_byte(host, port, context)


@pytest.mark.slow
def test_an_insecure_cluster_is_had_by_who_asks_for_one(narrator, tmp_path):
    port = free_port()
    home = tmp_path / "home"
    scheduler = Program(home, "scheduler", "--port", port, "--insecure", home=home)
    try:
        scheduler.wait_for(f"scheduler at tcp://127.0.0.1:{port}")
        chosen = ("--draft", "--cluster", f"127.0.0.1:{port}", "--insecure")
        code, _, said = narrator("plan", books.brief(tmp_path), *chosen)
    finally:
        scheduler.stop()
    assert code == 0
    assert f"tcp://127.0.0.1:{port}: no machine has the engine draft" in said
    assert not (home / "cluster").exists()


def loopback(host: str) -> bool:
    return ipaddress.ip_address(host).is_loopback


def test_a_cluster_of_this_machine_is_not_reached_from_elsewhere(cluster):
    for one in (cluster.scheduler, *cluster.machines):
        assert len(one.listens) == 1  # nothing but Dask's own: no HTTP
        assert all(loopback(host) for host, _ in one.listens), one.listens


def test_with_certificates_nothing_else_is_reached_from_elsewhere(locked):
    """What answers by HTTP asks for no certificate."""
    port = int(locked.address.rpartition(":")[2])
    assert locked.scheduler.listens == {("0.0.0.0", port)}


def own_address() -> str:
    """Where others reach this machine."""
    found = [
        one.address
        for addresses in psutil.net_if_addrs().values()
        for one in addresses
        if one.family == socket.AF_INET and not loopback(one.address)
    ]
    if not found:
        pytest.skip("this machine is alone")
    return found[0]


@pytest.mark.slow
def test_of_a_machine_that_is_reached_from_elsewhere_only_dask_itself_is(locked, ours, tmp_path):
    address = locked.address.replace("127.0.0.1", own_address())
    worker = Program(tmp_path, "worker", address, "--tls", ours, "--name", "far")
    try:
        worker.wait_for(f"far at {address}")
        listens = worker.listens
    finally:
        worker.stop()
    assert len({port for _, port in listens}) == 1
