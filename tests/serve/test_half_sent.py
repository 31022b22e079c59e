"""Requests that are never complete, beside those that are."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator

import pytest

from narrator.web import bodies, listening
from tests import serving
from tests.effort import quick
from tests.owners import GatedEngine
from tests.serve.test_speech import begun, until
from tests.serving import SPEECH, Served

HALF_HEAD = f"POST {SPEECH} HTTP/1.1\r\nHost: "
ROOM = 8
"""Connections at a time."""


@pytest.fixture(autouse=True)
def little_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "_connection_limit", lambda connections: ROOM)


def half_body(served: Served) -> str:
    head = f"{HALF_HEAD}127.0.0.1:{served.place.port}\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: 100\r\n\r\n{{"


@contextlib.contextmanager
def half_sent(served: Served, what: str, count: int = 5 * ROOM) -> Iterator[list[socket.socket]]:
    with contextlib.ExitStack() as kept:
        wires: list[socket.socket] = []
        for _ in range(count):
            wire = socket.create_connection(("127.0.0.1", served.place.port), timeout=20)
            wires.append(kept.enter_context(wire))
            wire.sendall(what.encode())
        yield wires


def was_closed(wire: socket.socket) -> bool:
    """Whether the server closes it unanswered; bytes that it had not read make that a reset."""
    try:
        return wire.recv(10) == b""
    except ConnectionResetError:
        return True


@pytest.mark.parametrize("kind", quick(["nothing", "head", "body"], "head"))
def test_requests_that_are_half_sent_keep_nobody_out(kind: str) -> None:
    with serving.opened(serving.draft()) as served:
        what = {"nothing": "", "head": HALF_HEAD, "body": half_body(served)}[kind]
        with half_sent(served, what):
            assert served.say("Hi.").status == 200
            assert served.client.get("/health").status == 200


def test_a_request_that_is_answered_keeps_its_place() -> None:
    engine = GatedEngine()
    with (
        serving.opened(engine) as served,
        contextlib.closing(begun(served, response_format="pcm")) as wire,
    ):
        until(lambda: engine.requests)
        with half_sent(served, HALF_HEAD) as wires:
            assert was_closed(wires[0])
            engine.gate.set()
            assert len(wire.getresponse().read()) > 10_000


def test_a_head_that_is_late_is_waited_for_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "HEAD_TIMEOUT", 0.05)
    with serving.opened(serving.draft()) as served, half_sent(served, HALF_HEAD, 2) as wires:
        assert all(map(was_closed, wires))


def test_a_head_has_five_seconds() -> None:
    assert listening.HEAD_TIMEOUT == 5.0


def test_the_head_of_a_later_request_has_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving.opened(serving.draft()) as served:
        whole = f"GET /health HTTP/1.1\r\nHost: 127.0.0.1:{served.place.port}\r\n\r\n"
        with half_sent(served, whole, 1) as (wire,):
            answer = b""
            while not answer.endswith(b"}"):
                answer += wire.recv(10_000)
            monkeypatch.setattr(listening, "HEAD_TIMEOUT", 0.05)
            wire.sendall(HALF_HEAD.encode())
            assert wire.recv(10) == b""


def test_a_body_that_drips_is_waited_for_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Though no pause between its bytes is long."""
    monkeypatch.setattr(bodies, "MAX_JSON_SECONDS", 0.05)
    with serving.opened(serving.draft()) as served, half_sent(served, half_body(served), 1) as sent:
        with contextlib.suppress(OSError):
            for _ in range(50):
                sent[0].sendall(b" ")
        assert b" 408 " in sent[0].recv(100)
