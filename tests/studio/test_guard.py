"""Who may ask: nobody but the page that a link has opened."""

from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import Iterator

import pytest

from narrator.studio.people import OWNER, LinkKeys
from narrator.web import bodies, listening
from narrator.web.hosts import Hosts
from tests.studios import Opened, Visitor

ADDRESSES = (
    "/", "/api/book", "/api/chapters/1", "/api/chunks/1.1", "/api/peaks/1", "/api/cast",
    "/api/doubts", "/api/names", "/api/pickups", "/pickups.csv", "/pickups.html", "/labels/1.txt",
    "/api/events", "/static/style.css", "/sound/chapters/1/x", "/sound/tries/x/0",
    "/sound/voices/x", "/api/voices", "/api/estimate", "/api/downloads", "/downloads/x", "/nothing",
)  # fmt: skip
CHANGES = (
    "/api/draft", "/api/jobs", "/api/jobs/stop", "/api/reviewed", "/api/flags", "/api/flags/done",
    "/api/pickups", "/api/edits", "/api/undo", "/api/redo", "/api/say", "/api/audition",
    "/api/voices", "/api/voices/sample",
)  # fmt: skip


@pytest.fixture
def stranger(shared: Opened) -> Visitor:
    """Somebody who has no link."""
    return Visitor(shared.place.port)


@pytest.mark.parametrize("path", ADDRESSES)
def test_without_a_cookie_nothing_is_answered(stranger: Visitor, path: str) -> None:
    answer = stranger.get(path)
    assert answer.status == 401
    assert b"Walks" not in answer.data


@pytest.mark.parametrize("path", CHANGES)
def test_without_a_cookie_nothing_is_changed(stranger: Visitor, path: str) -> None:
    assert stranger.post(path).status == 401


def test_a_made_up_cookie_is_none(shared: Opened, stranger: Visitor) -> None:
    name = shared.page.headers["cookie"].partition("=")[0]
    for value in ("", "x", "a" * 43, '"; x="', "\u00e9".encode().decode("latin-1")):
        assert stranger.get("/api/book", cookie=f"{name}={value}").status == 401


def test_a_link_opens_the_studio_once(studio: Opened) -> None:
    token = studio.keys.token
    page = Visitor(studio.place.port)
    answer = page.get(f"/?token={token}")
    cookie = answer.headers["set-cookie"]
    assert (answer.status, answer.headers["location"]) == (303, "/")
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.casefold()
    assert Visitor(studio.place.port).get(f"/?token={token}").status == 401
    assert studio.links[-1] == studio.keys.token != token
    page.headers["cookie"] = cookie.partition(";")[0]
    assert page.get("/api/book").status == 200
    assert page.get(f"/?token={token}").status == 303  # gone back to: it is known
    assert studio.page.get("/api/book").status == 200


@pytest.mark.parametrize("token", ["", "x", "%00", "é", "a" * 5000])
def test_a_made_up_token_opens_nothing(shared: Opened, stranger: Visitor, token: str) -> None:
    path = f"/?token={token}" if token.isascii() else "/?token=%C3%A9"
    assert stranger.get(path).status == 401


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "", "localhost@evil"],
)
def test_a_name_that_leads_here_is_not_ours(shared: Opened, host: str) -> None:
    said = host.format(port=shared.place.port)
    assert shared.page.get("/api/book", host=said).status in (400, 403)


def test_localhost_is_ours(shared: Opened) -> None:
    assert shared.page.get("/api/book", host=f"LocalHost:{shared.place.port}").status == 200


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https://{}"]
)
@pytest.mark.parametrize("path", ["/api/book", "/api/events", "/static/style.css"])
def test_another_site_s_page_is_told_nothing(shared: Opened, path: str, origin: str) -> None:
    assert shared.page.get(path, origin=origin.format(shared.page.host)).status == 403


@pytest.mark.parametrize("path", CHANGES)
def test_another_site_s_page_changes_nothing(shared: Opened, path: str) -> None:
    for headers in (
        {"origin": "http://evil.example"},
        {"origin": None},
        {"origin": None, "sec_fetch_site": "none"},
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site"},
    ):
        answer = shared.page.post(path, {}, **headers)
        assert (answer.status, list(answer.json)) == (403, ["error"]), headers


def test_a_page_of_another_port_of_this_machine_is_another_site_s(shared: Opened) -> None:
    assert shared.page.get("/api/book", sec_fetch_site="same-site").status == 403
    assert shared.page.get("/api/book", sec_fetch_site="same-origin").status == 200


@pytest.mark.parametrize("path", ["/", "/api/book", "/nothing", "/api/chapters/99"])
def test_every_answer_is_sealed_off(shared: Opened, path: str) -> None:
    headers = shared.page.get(path).headers
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"
    assert "access-control-allow-origin" not in headers
    assert "server" not in headers


@pytest.mark.parametrize(
    "path",
    [
        "/static/../session.py", "/static/..%2fsession.py", "/static/%2e%2e/session.py",
        "/static/..%5csession.py", "/static//etc/passwd", "/static/%2fetc%2fpasswd",
        "/static/__init__.py", "/static/style.css%00.js", "/static/.", "/static/..",
        "/api/chapters/../../book.yaml", "/api/chapters/..%2f1", "/api/chapters/1%00",
        "/api/chapters/-1", "/api/chapters/1e0", "/api/chapters/%EF%BC%91",
        "/api/chapters/9999999999",
        "/api/chunks/..%2f..%2fbook.yaml", "/api/peaks/..", "/labels/..%2f1.txt",
        "/sound/chapters/1/..%2f..%2fbook.yaml", "/sound/chapters/1/%2fetc%2fpasswd",
        "/sound/tries/..%2f..%2fpins.json/0", "/sound/tries/" + "a" * 40 + "/..",
        "/sound/tries/" + "a" * 40 + "/-1", "/sound/voices/..%2fbook",
        "/sound/voices/%2fetc%2fpasswd",
        "//etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/book.yaml", "/build/store/pins.json",
    ],
)  # fmt: skip
def test_no_part_of_an_address_is_a_file(shared: Opened, path: str) -> None:
    answer = shared.page.get(path)
    assert answer.status in (404, 405)
    assert list(answer.json) == ["error"]


def test_what_a_book_says_is_text(shared: Opened) -> None:
    page = shared.page.get("/").data.decode()
    assert "<b>Walks" not in page
    assert "&lt;b&gt;Walks" in page
    answer = shared.page.get("/api/book")
    assert answer.headers["content-type"] == "application/json"
    printed = shared.page.get("/pickups.html").data.decode()
    assert "<b>Walks" not in printed


# -- what is sent ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sent",
    [b"", b"{", b"[]", b"1", b'"x"', b"\xff\xfe", b"[" * 200_000, b'{"draft": "yes"}', b"{}"],
)
def test_nonsense_is_refused_in_a_line(shared: Opened, sent: bytes) -> None:
    answer = shared.page.ask(
        "POST",
        "/api/draft",
        sent,
        origin=f"http://{shared.page.host}",
        content_type="application/json",
    )
    assert answer.status == 400
    assert "\n" not in answer.json["error"]


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "", None])
def test_what_a_form_could_send_is_not_taken(shared: Opened, kind: str | None) -> None:
    answer = shared.page.post("/api/draft", {"draft": True}, content_type=kind)
    assert answer.status == 415


@contextlib.contextmanager
def wire(studio: Opened) -> Iterator[socket.socket]:
    with contextlib.closing(socket.create_connection(("127.0.0.1", studio.place.port), 20)) as line:
        yield line


def head(studio: Opened, method: str, path: str, *more: str) -> bytes:
    lines = [
        f"{method} {path} HTTP/1.1",
        f"Host: {studio.page.host}",
        f"Origin: http://{studio.page.host}",
        f"Cookie: {studio.page.headers['cookie']}",
        "Content-Type: application/json",
        *more,
    ]
    return "\r\n".join((*lines, "", "")).encode()


@pytest.mark.parametrize(
    ("method", "path"),
    [("PUT", "/api/clips/a.wav"), ("POST", "/api/edits"), ("POST", "/api/pickups")],
)
def test_two_gigabytes_that_are_announced_are_refused_at_once(
    shared: Opened, method: str, path: str
) -> None:
    with wire(shared) as line:
        line.sendall(head(shared, method, path, "Content-Length: 2000000000"))
        assert b" 413 " in line.recv(200)


def test_two_gigabytes_in_pieces_are_refused_when_they_are_too_many(shared: Opened) -> None:
    with wire(shared) as line:
        line.sendall(head(shared, "POST", "/api/edits", "Transfer-Encoding: chunked"))
        piece = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
        with contextlib.suppress(OSError):
            for _ in range(2 * bodies.MAX_JSON_BYTES // 0x10000):
                line.sendall(piece)
        assert b" 413 " in line.recv(200)


def test_who_sends_no_end_is_given_up(shared: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "IDLE_TIMEOUT", 0.05)
    with wire(shared) as line:
        line.sendall(head(shared, "POST", "/api/edits", "Content-Length: 50") + b"{")
        assert b" 408 " in line.recv(200)


def test_who_sends_no_request_is_given_up(studio: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "HEAD_TIMEOUT", 0.05)
    with wire(studio) as silent, wire(studio) as slow:
        slow.sendall(b"GET /api/book HTTP/1.1\r\nHost: ")
        assert silent.recv(200) == b""
        assert slow.recv(200) == b""
    assert studio.page.get("/api/book").status == 200


def test_requests_that_are_half_sent_keep_the_page_from_nothing(
    studio: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    with contextlib.ExitStack() as kept:
        for _ in range(150):
            kept.enter_context(wire(studio)).sendall(b"GET /api/book HTTP/1.1\r\nHost: ")
        assert studio.page.get("/api/book").status == 200


def test_one_who_reads_nothing_holds_nobody_up(shared: Opened) -> None:
    url = shared.chapter()["sound"]["url"]
    with wire(shared) as line:
        line.sendall(head(shared, "GET", url))
        assert shared.page.get(url).status == 200


def test_a_clip_that_is_no_sound_is_refused_and_not_kept(studio: Opened) -> None:
    for name in ("a.wav", "..%2f..%2fevil.wav", "%00.wav", "a.voice", "x" * 300):
        answer = studio.page.put(f"/api/clips/{name}", b"<script>alert(1)</script>")
        assert answer.status in (400, 404, 422), name
    assert list(studio.session.path.glob("voices/*")) == []
    assert not list(studio.session.path.parent.rglob("*evil*"))


def test_two_pages_at_once_see_the_same(studio: Opened) -> None:
    other = Visitor(studio.place.port).opened(studio.keys.token)
    assert other.headers != studio.page.headers
    assert other.post("/api/flags", {"chunk": "1.3", "note": "too fast"}).status == 200
    for page in (studio.page, other):
        rows = page.get("/api/chapters/1").json["chunks"]
        assert rows[2]["flags"] == [{"note": "too fast", "done": False}]


# -- beyond this machine ---------------------------------------------------------------------------


def test_others_may_call_an_open_studio_by_its_addresses_alone() -> None:
    hosts = Hosts("0.0.0.0", 4747)
    assert not hosts.local
    for name in ("192.168.1.5:4747", "[2001:db8::1]:4747", f"{socket.gethostname()}:4747"):
        assert hosts.knows(name)
    for name in (
        "evil.example:4747",
        "192.168.1.5",
        "192.168.1.5:80",
        "evil.127.0.0.1.nip.io:4747",
    ):
        assert not hosts.knows(name)


def test_an_address_of_this_machine_is_local() -> None:
    for address in ("127.0.0.1", "localhost", "::1", "127.0.0.9"):
        assert Hosts(address, 1).local
    assert not Hosts("127.0.0.1", 4747).knows("192.168.1.5:4747")


def test_a_key_that_was_used_is_followed_by_another() -> None:
    shown: list[str] = []
    keys = LinkKeys(shown.append)
    first = keys.token
    opened = keys.redeem(first)
    assert opened is not None
    session, person = opened
    assert keys.person(session) is person is OWNER
    assert keys.redeem(first) is None
    assert shown == [keys.token]
    assert keys.person("") is None
    assert json.dumps(session)
