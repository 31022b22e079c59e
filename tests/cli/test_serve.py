"""`narrator serve` as it is started and ended."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests import books, walks

Narrator = Callable[..., tuple[int, str, str]]

for name in ("starlette", "uvicorn", "espeakng_loader"):
    pytest.importorskip(name, reason="the extras `studio` and `draft` are not installed")


@contextlib.contextmanager
def started(*arguments: object, **environment: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A server in a process of its own, and its port."""
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "narrator", "serve", "--draft", "--port", str(port)]
    process = subprocess.Popen(
        [*command, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1", **environment},
    )  # fmt: skip
    with process:
        try:
            yield process, port
        finally:
            process.kill()


def asked(port: int, text: str, **headers: str) -> http.client.HTTPConnection:
    wire = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    body = {"model": "tts-1", "voice": "Ada", "input": text, "response_format": "pcm"}
    sent = {"content-type": "application/json", **headers}
    wire.request("POST", "/v1/audio/speech", json.dumps(body), sent)
    return wire


def status(port: int, **headers: str) -> int:
    with contextlib.closing(asked(port, "Hello.", **headers)) as wire, wire.getresponse() as answer:
        answer.read()
        return answer.status


def test_it_speaks_with_a_book_s_cast_and_finishes_what_is_being_said(tmp_path: Path) -> None:
    token = "kept-by-whoever-runs-it"
    book = walks.write(tmp_path)
    with started("--project", book, NARRATOR_SERVE_TOKEN=token) as (process, port):
        assert process.stdout is not None
        assert process.stdout.readline() == f"http://127.0.0.1:{port}/v1\n"
        assert status(port) == 401
        text = "This was the evening of another day. " * 100
        with contextlib.closing(asked(port, text, authorization=f"Bearer {token}")) as wire:
            answer = wire.getresponse()
            process.send_signal(signal.SIGINT)
            assert len(answer.read()) > 48_000 * 150  # all of it
        out, said = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, "")
    assert said.endswith("the speech server is closed\n")
    assert "finishing 1, for 30 s at most" in said
    assert "Traceback" not in said
    assert "evening" not in said
    assert token not in said


@pytest.mark.slow
def test_beyond_this_machine_it_shows_a_token_and_asks_for_it() -> None:
    with started("--listen", "0.0.0.0") as (process, port):
        assert process.stdout is not None
        process.stdout.readline()
        kind, _, token = process.stdout.readline().strip().partition(": ")
        assert kind == "token"
        assert status(port) == 401
        assert status(port, authorization=f"Bearer {token}") == 200
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    assert process.returncode == 0


def test_a_token_that_is_guessed_is_refused(
    narrator: Narrator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NARRATOR_SERVE_TOKEN", "secret")
    code, _, said = narrator("serve", "--draft")
    assert code == 2
    assert said.startswith("error: NARRATOR_SERVE_TOKEN must have at least 16 characters")
    assert "secret" not in said


def test_a_port_that_is_taken_is_said(narrator: Narrator) -> None:
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
        code, _, said = narrator("serve", "--draft", "--port", port)
    assert (code, said) == (2, f"error: port {port} is in use: name another with --port, or none\n")


@pytest.mark.parametrize("origin", ["chat.example", "https://chat.example/page", ""])
def test_an_origin_that_no_browser_sends_is_refused(narrator: Narrator, origin: str) -> None:
    code, _, said = narrator("serve", "--draft", "--cors", origin)
    assert code == 2
    assert said.startswith(
        f"error: --cors: '{origin}' is not an origin: scheme and host, as https://"
    )


def test_a_model_without_a_voice_is_said_before_it_is_loaded(narrator: Narrator) -> None:
    code, out, said = narrator("serve")
    assert (code, out) == (2, "")
    assert said.startswith("error: there is no voice to speak with: make one with")


def test_speakers_with_engines_of_their_own_are_named(narrator: Narrator, tmp_path: Path) -> None:
    path = books.brief(tmp_path)
    path.write_text(path.read_text().replace("ann: {", "ann: {engine: draft, "))
    code, _, said = narrator("serve", "--project", path)
    assert code == 2  # nobody has a voice yet
    assert said.startswith("warning: ann: engines of their own are for renders; here the book's ")
