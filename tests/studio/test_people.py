"""Guests: who they are, what their links and cookies reach, and what ends when they are removed."""

from __future__ import annotations

import contextlib
import csv
import http.client
import json
import re
import shutil
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from starlette.routing import BaseRoute, Mount, Route

from narrator.pipeline import pickups
from narrator.studio import edit_routes, people, session
from narrator.studio import library as library_module
from narrator.studio.people import Rights, may
from narrator.studio.people_routes import PeopleRoutes
from narrator.web import certificates, listening
from tests import studios
from tests.studios import Answer, Opened, OpenedLibrary, Visitor

METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS")
LISTENERS_REACH = {
    "GET /", "GET /static/{name}", "GET /api/events", "GET /api/book", "GET /api/chapters/{number}",
    "GET /api/chunks/{id}", "GET /api/peaks/{number}", "GET /sound/chapters/{number}/{key}",
    "GET /sound/tries/{key}/{number}", "GET /api/words/{number}", "GET /api/find",
    "GET /api/pickups",
    "POST /api/flags", "POST /api/flags/gone",
}  # fmt: skip
"""All that listening and flagging need. A route that is not here is refused."""


def invite(owner: Visitor, name: str, rights: str = "listen", book: str = "") -> str:
    """The token of an invitation's link."""
    answer = owner.post(f"{book}/api/people", {"name": name, "rights": rights})
    assert answer.status == 200, answer
    return str(answer.json["link"].partition("?token=")[2])


def enter(port: int, token: str) -> Visitor:
    """A guest who has opened a link."""
    guest = Visitor(port)
    answer = guest.get(f"/?token={token}")
    assert answer.status == 200, answer
    guest.headers["cookie"] = answer.headers["set-cookie"].partition(";")[0]
    return guest


def guest_of(studio: Opened, name: str = "Ann", rights: str = "listen") -> Visitor:
    return enter(studio.place.port, invite(studio.page, name, rights))


def guest_id(studio: Opened, name: str) -> str:
    rows = studio.page.get("/api/people").json["guests"]
    return str(next(row["id"] for row in rows if row["name"] == name))


@pytest.fixture(scope="module")
def library(spoken: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenedLibrary]:
    folder = tmp_path_factory.mktemp("books")
    for name in ("walks", "other"):
        shutil.copytree(spoken, folder / name)
    with studios.opened_library(folder) as found:
        yield found


# -- rights ----------------------------------------------------------------------------------------


def walked(routes: list[BaseRoute], before: str = "") -> Iterator[tuple[str, str]]:
    """Each route of an application with a method that it takes."""
    for route in routes:
        if isinstance(route, Route):
            for method in route.methods or ():
                yield method, before + route.path
        else:
            assert isinstance(route, Mount)
            yield from walked(list(route.routes), before + route.path)


def filled(path: str) -> str:
    return re.sub(r"\{\w+\}", "1", path)


def test_a_guest_s_cookie_reaches_what_listening_and_flagging_need_and_nothing_else(
    studio: Opened,
) -> None:
    guest = guest_of(studio)
    routes = studio.app.app.routes
    found = set(walked(routes))
    assert {f"{method} {path}" for method, path in found} >= LISTENERS_REACH
    for path in {path for _, path in found}:
        for method in METHODS:
            is_allowed = f"{method.replace('HEAD', 'GET')} {path}" in LISTENERS_REACH
            assert may(person(Rights.LISTEN), method, filled(path)) == is_allowed, (method, path)
            if path == "/api/events" and is_allowed:
                continue  # it does not end
            answer = guest.ask(
                method, filled(path), b"{}", content_type="application/json",
                origin=f"http://{guest.host}",
            )  # fmt: skip
            if is_allowed:
                assert answer.status not in (401, 403), (method, path)
            else:
                refusals = (303,) if path == "/" and method in ("GET", "HEAD") else (403,)
                assert answer.status in refusals, (method, path, answer)


def person(rights: Rights, book: str = "") -> people.Person:
    return people.Person("1", "Ann", rights, book)


@pytest.mark.parametrize(
    "path",
    [
        "/api/people", "/api/people/", "/api/people/name", "/api//people", "//api/book",
        "/api/book/", "/api/book\n", "/API/book", "/api/chunks/../people", "/book/1f/api/book",
        "", "api/book",
    ],
)  # fmt: skip
def test_an_address_that_is_spelled_otherwise_is_refused(path: str) -> None:
    assert not may(person(Rights.LISTEN), "GET", path)
    assert not may(person(Rights.LISTEN), "POST", path)


def test_an_editor_does_everything_in_the_book_but_invite(studio: Opened) -> None:
    editor = guest_of(studio, "Ed", "edit")
    answer = editor.post("/api/edits", {"kind": "rename", "speaker": "Ada", "name": "Eve"})
    assert answer.status == 200, answer
    studio.do(
        lambda: None
    )  # once the book is planned again, whose notes may be older than the mark
    assert editor.post("/api/reviewed", {"chunks": ["1.1"], "yes": True}).status == 200
    assert studio.chapter()["chunks"][0]["reviewer"] == "Ed"
    for method, path in walked(studio.app.app.routes):
        if path.startswith("/api/people"):
            assert not may(person(Rights.EDIT), method, filled(path))
    assert editor.post("/api/people", {"name": "Eve", "rights": "edit"}).status == 403
    assert editor.get("/api/people").status == 403
    assert editor.post("/api/people/phone").status == 403


def test_no_page_names_a_cluster(studio: Opened) -> None:
    """Whoever runs a cluster runs programs as those who use it."""
    cluster = {"address": "tcp://127.0.0.1:9", "tls": "", "insecure": True}
    for page in (guest_of(studio, rights="edit"), studio.page):
        answer = page.post("/api/jobs", {"kind": "render", "force": True, "cluster": cluster})
        assert answer.status == 400
    assert studio.page.get("/api/book").json["jobs"]["running"] is None


def test_a_guest_of_one_book_sees_no_other_and_no_start_page(library: OpenedLibrary) -> None:
    walks, other = (library.open(library.id_of(name)) for name in ("walks", "other"))
    token = invite(library.page, "Ann", "edit", walks.rstrip("/"))
    guest = enter(library.page.port, token)
    assert guest.get(f"{walks}api/book").status == 200
    assert guest.get(f"{walks}").status == 200
    for path in ("/", other):
        answer = guest.get(path)
        assert (answer.status, answer.headers["location"]) == (303, walks)
    routes = set(walked([route for route in library.library.app.routes if "{id}" not in
                         getattr(route, "path", "") or isinstance(route, Route)]))  # fmt: skip
    for method, path in routes:
        if not path.startswith("/static") and path != "/":
            answer = guest.ask(method, filled(path), b"{}", origin=f"http://{guest.host}")
            assert answer.status == 403, (method, path)
    for path in (f"{other}api/book", f"{other}api/flags"):
        assert guest.get(path).status == 403
    assert guest.get(f"{walks}../{other.split('/')[2]}/api/book").status == 404
    assert guest.post(f"{other}api/flags", {"chunk": "1.3", "note": "x"}).status == 403
    assert guest.get("/static/style.css").status == 200


def test_a_guest_s_link_and_cookie_open_their_book_and_no_other_behind_the_start_page(
    spoken: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library_module, "MAX_OPEN_BOOKS", 1)
    for name in ("walks", "other"):
        shutil.copytree(spoken, tmp_path / name)
    with studios.opened_library(tmp_path) as shelf:
        walks, port = shelf.open(shelf.id_of("walks")), shelf.page.port
        tokens = [invite(shelf.page, name, book=walks.rstrip("/")) for name in ("Ann", "Ben")]
        ann = enter(port, tokens[0])
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "book.yaml").write_text("title: [\n")
    with studios.opened_library(tmp_path, port) as shelf:
        other = f"/book/{shelf.id_of('other')}/"
        ben = enter(port, tokens[1])
        for path in ("/", other):
            assert ann.get(path).headers["location"] == walks
        assert ann.get(f"{other}api/book").status == 403
        assert shelf.library.find_book(shelf.id_of("walks")) is None
        assert ben.get(f"{walks}api/book").json["you"]["name"] == "Ben"
        assert ann.get(walks).status == 200
        assert shelf.library.find_book(shelf.id_of("other")) is None
        assert Visitor(port).get(walks).status == 401
        shelf.open(shelf.id_of("other"))
        assert shelf.library.find_book(shelf.id_of("walks")) is None  # it made room
        assert ann.get(f"{walks}api/book").status == 200
        guests = shelf.page.get(f"{walks}api/people").json["guests"]
        for guest in guests:
            origin = f"http://{shelf.page.host}"
            shelf.page.ask("DELETE", f"{walks}api/people/{guest['id']}", origin=origin)
        assert [page.get(walks).status for page in (ann, ben)] == [401, 401]


def test_a_listener_is_told_nothing_of_work_and_files(studio: Opened) -> None:
    guest = guest_of(studio)
    (studio.session.path / "book.yaml").write_text("title: [\n")
    studio.look()
    assert str(studio.session.path) in studio.page.get("/api/book").data.decode()
    assert str(studio.session.path) not in guest.get("/api/book").data.decode()
    send = studio.session.events.send

    def work() -> None:
        send({"type": "job", "error": "/home/anna/secret"})
        send({"type": "chapter", "number": 1})

    events = guest.told(work, lambda event: event["type"] == "chapter")
    assert [event["type"] for event in events] == ["chapter"]


def test_a_listener_is_not_told_why_a_model_is_not_there(
    studio: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = {"draft": True, "model": False, "why_not": "/home/anna/models is missing"}
    monkeypatch.setattr(session, "_available_voices", lambda project: missing)
    studio.do(studio.session.reread)
    told = [page.get("/api/book").json["can"] for page in (studio.page, guest_of(studio))]
    assert told == [missing, {**missing, "why_not": ""}]


def test_an_error_names_no_folder_to_a_guest(studio: Opened) -> None:
    guest, flag = guest_of(studio), {"chunk": "1.3", "note": "slow"}
    pickups.path_of(studio.session.view.project).write_text("no such columns\n")
    told = [page.post("/api/flags", flag).json["error"] for page in (studio.page, guest)]
    folder = str(studio.session.path)
    assert [folder in message for message in told] == [True, False]
    assert "book.pickups.csv" in told[1]
    assert "paragraph" not in guest.get("/api/chunks/1.3").json


def test_a_guest_s_flags_are_limited(studio: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edit_routes, "_MAX_FLAGS_OF_LISTENER", 2)
    guest = guest_of(studio)
    statuses = [guest.post("/api/flags", {"chunk": "1.3", "note": note}).status for note in "abc"]
    assert statuses == [200, 200, 400]


# -- links -----------------------------------------------------------------------------------------


def test_a_stolen_link_opens_nothing_once_it_was_used(studio: Opened) -> None:
    token = invite(studio.page, "Ann")
    assert Visitor(studio.place.port).ask("HEAD", f"/?token={token}").status == 401
    guest = enter(studio.place.port, token)
    thief = Visitor(studio.place.port)
    answer = thief.get(f"/?token={token}")
    assert answer.status == 401
    assert b"if you were invited" in answer.data.lower()
    assert "set-cookie" not in answer.headers
    assert guest.get(f"/?token={token}").status == 303  # gone back to: it is known
    assert guest.get("/api/book").status == 200


def test_the_owner_s_browser_stays_the_owner_s_when_it_opens_a_guest_s_link(
    studio: Opened,
) -> None:
    token = invite(studio.page, "Ann")
    answer = studio.page.get(f"/?token={token}")
    assert (answer.status, "set-cookie" in answer.headers) == (303, False)
    assert enter(studio.place.port, token).get("/api/book").status == 200


def test_a_second_link_for_the_same_name_is_for_the_same_person(studio: Opened) -> None:
    laptop, phone = guest_of(studio, "Ann"), guest_of(studio, "  aNN \u202e")
    (row,) = studio.page.get("/api/people").json["guests"]
    assert (row["name"], row["browsers"]) == ("Ann", 2)
    remove(studio, row["id"])
    assert [page.get("/api/book").status for page in (laptop, phone)] == [401, 401]


def remove(studio: Opened, id: str) -> None:
    origin = f"http://{studio.page.host}"
    assert studio.page.ask("DELETE", f"/api/people/{id}", origin=origin).status == 200
    assert studio.page.ask("DELETE", f"/api/people/{id}", origin=origin).status == 404


def test_a_guest_who_is_removed_while_connected_is_told_no_more(studio: Opened) -> None:
    guest, token = guest_of(studio), invite(studio.page, "Ann")
    wire = http.client.HTTPConnection("127.0.0.1", studio.place.port, timeout=30)
    with contextlib.closing(wire):
        wire.request("GET", "/api/events", headers=guest.headers)
        answer = wire.getresponse()
        assert answer.readline() == b": hello\n"
        remove(studio, guest_id(studio, "Ann"))
        assert answer.read().strip() == b""  # it ends
    assert guest.get("/api/book").status == 401
    assert guest.post("/api/flags", {"chunk": "1.3", "note": "x"}).status == 401
    assert Visitor(studio.place.port).get(f"/?token={token}").status == 401


def test_guests_are_known_on_another_day_by_hashes_alone(spoken: Path, tmp_path: Path) -> None:
    folder = tmp_path / "book"
    shutil.copytree(spoken, folder)
    with studios.opened(folder) as studio:
        guest, token = guest_of(studio), invite(studio.page, "Ben")
        port = studio.place.port
        cookie = guest.headers["cookie"].partition("=")[2]
    for path in (path for path in folder.rglob("*") if path.is_file()):
        content = path.read_bytes()
        assert token.encode() not in content, path
        assert cookie.encode() not in content, path
    with studios.opened(folder, port=port):
        assert guest.get("/api/book").status == 200
        assert enter(port, token).get("/api/book").json["you"]["name"] == "Ben"


def test_a_link_leaves_no_trace_where_the_browser_goes_next(
    studio: Opened, caplog: pytest.LogCaptureFixture
) -> None:
    token = invite(studio.page, "Ann")
    answer = Visitor(studio.place.port).get(f"/?token={token}")
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert token.encode() not in answer.data
    assert "HttpOnly" in answer.headers["set-cookie"]
    assert "samesite=strict" in answer.headers["set-cookie"].casefold()
    assert "max-age" in answer.headers["set-cookie"].casefold()  # it outlives the browser
    assert token not in caplog.text
    logs = studio.session.path.rglob("*.log")
    assert not any(token.encode() in path.read_bytes() for path in logs)


def test_names_that_lead_here_and_pages_of_others_are_refused_to_guests_too(
    studio: Opened,
) -> None:
    guest = guest_of(studio)
    flag = {"chunk": "1.3", "note": "x"}
    assert guest.get("/api/book", host="evil.example").status == 403
    assert guest.post("/api/flags", flag, origin="http://evil.example").status == 403
    assert guest.post("/api/flags", flag, origin=None).status == 403
    assert guest.post("/api/flags", flag, content_type="text/plain").status == 415


def test_a_guest_s_pages_leave_room_for_others(studio: Opened) -> None:
    guest = guest_of(studio)
    with contextlib.ExitStack() as pages:
        answers = []
        for _ in range(5):
            wire = http.client.HTTPConnection("127.0.0.1", studio.place.port, timeout=30)
            pages.enter_context(contextlib.closing(wire))
            wire.request("GET", "/api/events", headers=guest.headers)
            answers.append(wire.getresponse())
            if answers[-1].status == 200:
                answers[-1].readline()
        assert [answer.status for answer in answers] == [200] * 4 + [503]


def asking(guest: Visitor, path: str, count: int, pages: contextlib.ExitStack) -> list[int]:
    """The status of each of some requests that are all sent before any answer is read."""
    request = "".join(
        f"{line}\r\n"
        for line in (f"GET {path} HTTP/1.1", f"host: {guest.host}",
                     f"cookie: {guest.headers['cookie']}", "")
    )  # fmt: skip
    wires = []
    for _ in range(count):
        wire = socket.socket()
        wires.append(pages.enter_context(contextlib.closing(wire)))
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        wire.settimeout(30)
        wire.connect(("127.0.0.1", guest.port))
        wire.sendall(request.encode())
    return [int(wire.recv(12)[9:]) for wire in wires]


def test_a_guest_s_pages_that_come_at_once_leave_room_for_others(studio: Opened) -> None:
    with contextlib.ExitStack() as pages:
        statuses = asking(guest_of(studio), "/api/events", 20, pages)
        assert statuses.count(200) == 4


def test_a_guest_who_reads_slowly_leaves_connections_to_others(studio: Opened) -> None:
    url = studio.chapter()["sound"]["url"]
    with contextlib.ExitStack() as pages:
        statuses = asking(guest_of(studio), url, 60, pages)
        assert 503 in statuses
        assert studio.page.get("/api/book").status == 200
        assert guest_of(studio, "Bob").get("/api/book").status == 200


# -- names -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["", "  ", "\u200b", "!?", "x" * 61, "x" * 10_000, 1, None])
def test_a_name_is_a_name(shared: Opened, name: Any) -> None:
    answer = shared.page.post("/api/people", {"name": name, "rights": "listen"})
    assert answer.status == 400
    assert len(answer.json["error"]) < 100


@pytest.mark.parametrize("rights", ["owner", "", "all", None])
def test_no_link_gives_an_owner_s_rights(shared: Opened, rights: Any) -> None:
    assert shared.page.post("/api/people", {"name": "Ann", "rights": rights}).status == 400


def test_owner_and_guests_have_different_names(studio: Opened) -> None:
    page = studio.page
    assert page.post("/api/people/name", {"name": "Olga"}).status == 200
    assert page.post("/api/people", {"name": "OLGA", "rights": "listen"}).status == 400
    invite(page, "Ann")
    assert page.post("/api/people/name", {"name": "ann"}).status == 400
    assert page.post("/api/people/name", {"name": ""}).json == {"name": ""}


def test_flags_and_reviews_have_names_and_lists_keep_them(studio: Opened) -> None:
    name = "<b>Ann</b> =1+1"
    guest, page = guest_of(studio, name), studio.page
    assert guest.post("/api/flags", {"chunk": "1.3", "note": "slow", "who": "Ben"}).status == 200
    page.post("/api/flags", {"chunk": "1.3", "note": "slow"})
    assert page.post("/api/people/name", {"name": "Olga"}).json == {"name": "Olga"}
    page.post("/api/flags", {"chunk": "1.3", "note": "fast"})
    page.post("/api/reviewed", {"chunks": ["1.1"], "yes": True})
    rows = studio.chapter()["chunks"]
    notes = [(flag["note"], flag.get("who", "")) for flag in rows[2]["flags"]]
    assert notes == [("slow", name), ("slow", ""), ("fast", "Olga")]
    assert rows[0]["reviewer"] == "Olga"
    text = pickups.path_of(studio.session.view.project).read_text("utf-8-sig")
    assert [row["who"] for row in csv.DictReader(text.splitlines())] == [
        name, "", "Olga",
    ]  # fmt: skip
    printed = page.get("/pickups.html").data.decode()
    assert "noted by &lt;b&gt;Ann" in printed


def test_a_guest_takes_back_their_own_flags_alone(studio: Opened) -> None:
    guest, flag = guest_of(studio), {"chunk": "1.3", "note": "slow"}
    studio.page.post("/api/flags", flag)
    assert guest.post("/api/flags/gone", {"flags": [flag]}).status == 404
    guest.post("/api/flags", flag)
    assert guest.post("/api/flags/gone", {"flags": [flag, flag]}).json == {"gone": 1}
    assert studio.chapter()["chunks"][2]["flags"] == [{"note": "slow", "done": False}]


def test_a_list_of_one_person_has_no_column_of_names(studio: Opened) -> None:
    studio.page.post("/api/flags", {"chunk": "1.3", "note": "slow"})
    path = pickups.path_of(studio.session.view.project)
    assert "who" not in path.read_text("utf-8-sig").partition("\n")[0]


def test_whoever_another_studio_removes_is_out_and_stays_out(studio: Opened) -> None:
    ann, bob = guest_of(studio), invite(studio.page, "Bob")
    other = people.Guests(people.path_of(studio.session.view.project))
    other.revoke(guest_id(studio, "Ann"))
    assert ann.get("/api/book").status == 401
    enter(studio.place.port, bob)
    assert [guest.name for guest in other.rows] == ["Bob"]


def test_a_list_that_is_damaged_meanwhile_lets_nobody_in(studio: Opened) -> None:
    ann = guest_of(studio)
    people.path_of(studio.session.view.project).write_text("{")
    assert ann.get("/api/book").status == 401
    assert studio.page.get("/api/people").status == 503
    assert studio.page.get("/api/book").status == 200


def test_a_damaged_list_of_guests_lets_nobody_in(spoken: Path, tmp_path: Path) -> None:
    path = tmp_path / "people-book.json"
    path.write_text("{")
    with pytest.raises(Exception, match="not a list of guests"):
        people.Guests(path)


# -- a phone, and TLS ------------------------------------------------------------------------------


def test_the_owner_s_phone_has_a_link(studio: Opened) -> None:
    answer = studio.page.post("/api/people/phone").json
    token = answer["link"].partition("?token=")[2]
    phone = Visitor(studio.place.port).opened(token)
    assert phone.get("/api/people").status == 200


def test_a_link_of_this_machine_alone_says_how_to_let_others_in(studio: Opened) -> None:
    command = f"narrator studio {studio.session.path} --listen 0.0.0.0"
    answer = studio.page.post("/api/people", {"name": "Ann", "rights": "listen"}).json
    assert (answer["qr"], answer["install"], answer["restart"]) == (None, "", command)
    assert studio.page.get("/api/people").json["restart"] == command


@pytest.mark.parametrize("has_segno", [True, False])
def test_a_link_for_others_has_an_address_of_the_network_and_a_picture(has_segno: bool) -> None:
    if has_segno:
        pytest.importorskip("segno", reason="QR codes: the extra `studio`")
    routes = PeopleRoutes(mock.Mock(), Path("book"))
    with contextlib.closing(listening.listen("0.0.0.0", [0])) as place:
        routes.place = place
        with (
            mock.patch.object(listening, "_network_address", return_value="192.0.2.7"),
            mock.patch.dict("sys.modules", {} if has_segno else {"segno": None}),
        ):
            row = routes._link_row("abc")
    assert row["link"] == f"http://192.0.2.7:{place.port}/?token=abc"
    assert row["restart"] == ""
    if has_segno:
        assert row["qr"].startswith("data:image/svg+xml")
    else:
        assert (row["qr"], "[studio]" in row["install"]) == (None, True)


@pytest.fixture(scope="module")
def encrypted(spoken: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    pytest.importorskip("cryptography", reason="certificates: the extra `studio`")
    folder = certificates.browser_certificate(tmp_path_factory.mktemp("tls") / "x", ["127.0.0.1"])
    with studios.opened(spoken, certificate=folder) as studio:
        yield studio


def secure(studio: Opened, path: str, **headers: str) -> Answer:
    assert studio.place.certificate is not None
    context = ssl.create_default_context(cafile=studio.place.certificate / certificates.CERTIFICATE)
    wire = http.client.HTTPSConnection("127.0.0.1", studio.place.port, context=context, timeout=30)
    with contextlib.closing(wire):
        wire.request("GET", path, headers=headers)
        answer = wire.getresponse()
        kept = {name.casefold(): value for name, value in answer.getheaders()}
        return Answer(answer.status, kept, answer.read())


def test_over_tls_the_cookie_is_for_tls_and_the_origin_too(encrypted: Opened) -> None:
    answer = secure(encrypted, f"/?token={encrypted.keys.token}")
    assert "secure" in answer.headers["set-cookie"].casefold()
    cookie = answer.headers["set-cookie"].partition(";")[0]
    host = f"127.0.0.1:{encrypted.place.port}"
    book = secure(encrypted, "/api/book", cookie=cookie, origin=f"https://{host}")
    assert book.json["title"].startswith("Two")
    assert secure(encrypted, "/api/book", cookie=cookie, origin=f"http://{host}").status == 403
    assert secure(encrypted, "/api/book").status == 401
    with pytest.raises((OSError, http.client.HTTPException)):
        Visitor(encrypted.place.port).get("/api/book")


def test_handshakes_that_are_half_done_keep_nobody_out(encrypted: Opened) -> None:
    import socket

    with contextlib.ExitStack() as kept:
        for _ in range(150):
            line = socket.create_connection(("127.0.0.1", encrypted.place.port), 20)
            kept.enter_context(contextlib.closing(line))
        assert secure(encrypted, "/api/book").status == 401


def test_a_certificate_is_made_again_for_other_hosts_and_before_it_expires(
    tmp_path: Path,
) -> None:
    pytest.importorskip("cryptography", reason="certificates: the extra `studio`")
    folder = tmp_path / "studio"

    def made(*hosts: str) -> str:
        return certificates.fingerprint(certificates.browser_certificate(folder, hosts))

    first = made("localhost", "127.0.0.1")
    assert made("localhost", "127.0.0.1") == first
    second = made("localhost", "192.0.2.7")
    assert second != first
    with mock.patch.object(certificates, "_RENEWAL_DAYS", 900):
        assert made("localhost", "192.0.2.7") != second
    assert (folder / certificates.KEY).stat().st_mode & 0o77 == 0


def test_a_certificate_of_somebody_s_own_is_left_alone(tmp_path: Path) -> None:
    pytest.importorskip("cryptography", reason="certificates: the extra `studio`")
    folder = tmp_path / "studio"
    with mock.patch.object(certificates, "_ISSUER", "somebody"):
        certificates.browser_certificate(folder, ["localhost"])
    before = certificates.fingerprint(folder)
    certificates.browser_certificate(folder, ["192.0.2.7"])
    assert certificates.fingerprint(folder) == before


def test_other_machines_have_an_address_by_number() -> None:
    with contextlib.closing(listening.listen("0.0.0.0", (0,))) as place:
        assert place.network_url.startswith("http://")
        assert "0.0.0.0" not in place.network_url + place.url
        assert {"localhost", "127.0.0.1"} < set(place.host_names)
    assert json.dumps(place.host_names)
