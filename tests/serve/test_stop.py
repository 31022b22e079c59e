"""What becomes of who is being spoken to when the server stops."""

from __future__ import annotations

import contextlib
import http.client
import os
import signal
import threading
from collections.abc import Callable

import pytest

from narrator.serve import app
from narrator.web import listening
from tests import serving
from tests.owners import GatedEngine
from tests.serve.test_speech import begun, until
from tests.serving import Served


def stopped(act: Callable[[Served, GatedEngine], None]) -> list[str]:
    """What a server tells that speaks to somebody while `act` goes on beside it, and ends."""
    engine = GatedEngine()
    server, lines = serving.server(engine)
    with contextlib.closing(listening.listen("127.0.0.1", (0,))) as place:
        served = serving.Served.of(server, place, lines)
        server.service.start()
        found: list[BaseException] = []

        def beside() -> None:
            try:
                act(served, engine)
            except BaseException as error:
                found.append(error)
                os.kill(os.getpid(), signal.SIGINT)
                os.kill(os.getpid(), signal.SIGINT)
                raise

        thread = threading.Thread(target=beside)
        app.run_until_signal(server, place, serving.terms(place), thread.start)
        thread.join(20)
    assert not found
    return lines


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_what_is_being_spoken_is_finished_and_nothing_new_is_begun() -> None:
    def act(served: Served, engine: GatedEngine) -> None:
        with contextlib.closing(begun(served)) as wire:
            until(lambda: engine.requests)
            interrupt()
            until(lambda: served.server.is_stopping)
            assert served.say(model="hum").status == 503
            engine.gate.set()
            answer = wire.getresponse()
            assert (answer.status, len(answer.read()) > 10_000) == (200, True)

    lines = stopped(act)
    assert lines[0] == "finishing 1, for 30 s at most; ctrl-C stops at once"
    assert " 200 ann mp3: " in lines[1]


def test_a_second_interrupt_stops_it_at_once() -> None:
    def act(served: Served, engine: GatedEngine) -> None:
        with contextlib.closing(begun(served)) as wire:
            until(lambda: engine.requests)
            interrupt()
            until(lambda: served.lines)
            interrupt()
            refused(wire)

    assert len(stopped(act)) == 2


def test_it_waits_so_long_and_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "GRACE_SECONDS", 0.05)

    def act(served: Served, engine: GatedEngine) -> None:
        with contextlib.closing(begun(served)) as wire:
            until(lambda: engine.requests)
            interrupt()
            refused(wire)

    stopped(act)


def refused(wire: http.client.HTTPConnection) -> None:
    """An error, or nothing: no sound."""
    with contextlib.suppress(http.client.HTTPException, OSError):
        assert wire.getresponse().status == 503
