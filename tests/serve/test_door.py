"""Who may ask: whoever is on this machine, or has the token."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from narrator.serve.door import AccessTerms
from narrator.web.hosts import Hosts
from tests import serving
from tests.fakes import HumEngine
from tests.serving import SPEECH, Served
from tests.studios import Visitor

TOKEN = "a token that nobody guesses"


@pytest.fixture(scope="module")
def locked() -> Iterator[Served]:
    with serving.opened(HumEngine(), token=TOKEN) as served:
        yield served


@pytest.mark.parametrize("path", ["/v1/audio/voices", "/v1/models", "/nothing", "/"])
@pytest.mark.parametrize(
    "given", [None, "", "Bearer", "Bearer ", f"Basic {TOKEN}", "Bearer x", f"Bearer {TOKEN}x"]
)
def test_without_the_token_nothing_is_answered(
    locked: Served, path: str, given: str | None
) -> None:
    answer = locked.client.get(path, authorization=given)
    assert (answer.status, answer.json["error"]["code"]) == (401, "invalid_api_key")
    assert answer.headers["www-authenticate"] == "Bearer"


def test_the_token_is_not_in_the_representation_of_the_terms() -> None:
    assert TOKEN not in repr(AccessTerms(Hosts("127.0.0.1", 1), TOKEN))


def test_without_the_token_nothing_is_spoken(locked: Served) -> None:
    assert locked.say(model="hum").status == 401
    assert locked.client.post(SPEECH, {}, authorization="Bearer x").status == 401


def test_with_it_it_is_spoken_by_whatever_name_it_is_called(locked: Served) -> None:
    headers = {"authorization": f"Bearer {TOKEN}", "host": "host.docker.internal:4748"}
    assert locked.say(model="hum", headers=headers).status == 200


def test_who_watches_servers_needs_no_token(locked: Served) -> None:
    answer = locked.client.get("/health")
    assert (answer.status, answer.json["status"]) == (200, "ok")


@pytest.mark.parametrize("host", ["evil.example", "evil.example:{port}", "127.0.0.1:1", ""])
@pytest.mark.parametrize("path", ["/v1/audio/voices", "/health"])
def test_a_name_that_leads_here_is_not_ours(shared: Served, path: str, host: str) -> None:
    answer = shared.client.get(path, host=host.format(port=shared.place.port))
    assert answer.status in (400, 403)


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1"])
def test_pages_of_other_sites_are_told_nothing(shared: Served, origin: str) -> None:
    answer = shared.say(headers={"origin": origin})
    assert answer.status == 403
    assert "access-control-allow-origin" not in answer.headers
    asked = {"access_control_request_method": "POST", "origin": origin}
    preflight = shared.client.ask("OPTIONS", SPEECH, **asked)
    assert preflight.status in (403, 405)
    assert "access-control-allow-origin" not in preflight.headers


def test_pages_that_were_named_may_ask() -> None:
    page = "https://chat.example"
    with serving.opened(HumEngine(), token=TOKEN, origins=[page]) as served:
        asked = {"access_control_request_method": "POST", "origin": page}
        preflight = served.client.ask("OPTIONS", SPEECH, **asked)
        assert preflight.status == 204
        assert preflight.headers["access-control-allow-origin"] == page
        assert "authorization" in preflight.headers["access-control-allow-headers"]
        headers = {"origin": page, "authorization": f"Bearer {TOKEN}"}
        assert served.say(model="hum", headers=headers).status == 200
        refused = served.say(model="hum", headers={"origin": page})
        assert (refused.status, refused.headers["access-control-allow-origin"]) == (401, page)
        other = served.client.ask("OPTIONS", SPEECH, **{**asked, "origin": "https://evil.example"})
        assert "access-control-allow-origin" not in other.headers


def test_every_answer_says_what_it_is(shared: Served) -> None:
    for path in ("/health", "/nothing"):
        headers = Visitor(shared.place.port).get(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
        assert len(headers["x-request-id"]) == 12
        assert "server" not in headers
