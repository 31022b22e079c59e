"""`narrator studio` as it is started and ended."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests import walks

Narrator = Callable[..., tuple[int, str, str]]

for name in ("starlette", "uvicorn", "jinja2"):
    pytest.importorskip(name, reason="the extra `studio` is not installed")


@contextlib.contextmanager
def started(*arguments: str | Path) -> Iterator[subprocess.Popen[str]]:
    """A studio in a process of its own."""
    command = [sys.executable, "-m", "narrator", "studio", *map(str, arguments), "--no-open"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    with process:
        try:
            yield process
        finally:
            process.kill()


def test_it_shows_a_link_and_ends_with_ctrl_c(tmp_path: Path) -> None:
    from tests.studios import Visitor

    with started(walks.write(tmp_path), "--draft") as process:
        assert process.stdout is not None
        link = process.stdout.readline().strip()
        begin, _, token = link.partition("?token=")
        port = int(begin.rstrip("/").rpartition(":")[2])
        page = Visitor(port).opened(token)
        assert page.get("/api/book").json["title"] == "Two Walks"
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 0, said
    assert "opened; for another browser: http://127.0.0.1:" in said
    assert said.endswith("the studio is closed\n")
    assert "Traceback" not in said


def test_somebody_is_invited_to_listen_and_flag(tmp_path: Path) -> None:
    from tests.studios import Visitor

    with started(walks.write(tmp_path), "--draft", "--invite", "Ann") as process:
        assert process.stdout is not None
        process.stdout.readline()
        name, _, link = process.stdout.readline().strip().partition(": ")
        assert name == "for Ann"
        begin, _, token = link.partition("?token=")
        guest = Visitor(int(begin.rstrip("/").rpartition(":")[2]))
        answer = guest.get(f"/?token={token}")
        guest.headers["cookie"] = answer.headers["set-cookie"].partition(";")[0]
        assert guest.get("/api/book").json["you"] == {"name": "Ann", "rights": "listen"}
        assert guest.post("/api/undo").status == 403
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 0, said
    assert "this link works on this machine alone: add --listen 0.0.0.0" in said


def test_an_invitation_is_to_a_book(tmp_path: Path, narrator: Narrator) -> None:
    code, _, said = narrator("studio", tmp_path, "--invite", "Ann", "--no-open")
    assert code == 2
    assert "narrator studio BOOK --invite NAME" in said


@pytest.mark.parametrize("rights", ["owner", "LISTEN", "all"])
def test_rights_are_to_listen_or_to_edit(tmp_path: Path, narrator: Narrator, rights: str) -> None:
    code, _, said = narrator("studio", tmp_path, "--invite", "Ann", "--rights", rights)
    assert (code, said) == (2, f"error: --rights {rights}: listen or edit\n")


def test_beyond_this_machine_it_encrypts_or_says_that_it_does_not(tmp_path: Path) -> None:
    pytest.importorskip("cryptography", reason="certificates: the extra `studio`")
    folder = walks.write(tmp_path)
    for option, scheme, words in (
        ("--tls", "https://", "fingerprint is "),
        ("--no-tls", "http://", "nothing that is sent is encrypted"),
    ):
        with started(folder, "--draft", "--listen", "0.0.0.0", option) as process:
            assert process.stdout is not None
            assert process.stdout.readline().startswith(scheme)
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=60)
        assert words in " ".join(said.split()), said


def test_a_folder_of_books_has_a_start_page(tmp_path: Path) -> None:
    from tests.studios import Visitor

    (tmp_path / "walks").mkdir()
    walks.write(tmp_path / "walks")
    with started(tmp_path) as process:
        assert process.stdout is not None
        begin, _, token = process.stdout.readline().strip().partition("?token=")
        page = Visitor(int(begin.rstrip("/").rpartition(":")[2])).opened(token)
        (row,) = page.get("/api/projects").json["projects"]
        assert row["title"] == "Two Walks"
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 0, said


def test_the_port_of_the_last_studio_is_had_again(tmp_path: Path) -> None:
    from narrator.studio import app
    from tests import studios

    folder = studios.write(tmp_path)
    with studios.opened(folder) as studio:
        port = studio.place.port
    kept = folder / "build" / "studio.port"
    for said in (kept.read_bytes(), b"80", b"4711 or so", b"-1", b"99999", b""):
        kept.write_bytes(said)
        with contextlib.closing(app.listen("127.0.0.1", None, folder / "build")) as place:
            assert (place.port == port) == (said == str(port).encode())
    with contextlib.closing(socket.create_server(("127.0.0.1", port))):
        kept.write_text(str(port))
        with contextlib.closing(app.listen("127.0.0.1", None, folder / "build")) as place:
            assert place.port != port


def test_a_port_that_is_taken_is_said(tmp_path: Path, narrator: Narrator) -> None:
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
        code, _, said = narrator("studio", walks.write(tmp_path), "--port", port, "--no-open")
    assert code == 2
    assert said == f"error: port {port} is in use: name another with --port, or none\n"


def test_an_address_that_is_not_ours_is_said(tmp_path: Path, narrator: Narrator) -> None:
    book = walks.write(tmp_path)
    code, _, said = narrator("studio", book, "--listen", "203.0.113.7", "--no-open")
    assert code == 2
    assert said.startswith("error: cannot listen at 203.0.113.7")
    code, _, said = narrator("studio", book, "--listen", "no such host", "--no-open")
    assert code == 2
    assert said.startswith("error: cannot listen at no such host")


def test_a_book_that_cannot_be_read_is_said_before_anything_is_opened(
    tmp_path: Path, narrator: Narrator
) -> None:
    (tmp_path / "book.yaml").write_text("title: [\n")
    code, out, said = narrator("studio", tmp_path, "--no-open")
    assert (code, out) == (2, "")
    assert "book.yaml" in said


def test_a_missing_extra_is_said(
    tmp_path: Path, narrator: Narrator, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = importlib.util.find_spec

    def without(name: str, package: str | None = None) -> object:
        return None if name == "uvicorn" else there(name, package)

    monkeypatch.setattr("narrator.web.find_spec", without)
    code, _, said = narrator("studio", walks.write(tmp_path), "--no-open")
    assert code == 3
    assert "[studio]" in said
