"""Routes of the people who listen along: invitations, their links, the owner's own phone.

Links are shown once, as text and as a QR code, and are not kept.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from narrator.errors import UsageError
from narrator.installation import install_command
from narrator.studio.people import Guest, Guests, LinkKeys, Rights
from narrator.studio.session import NotFound
from narrator.web import bodies
from narrator.web.listening import Endpoint


class PeopleRoutes:
    """Routes that invite people to a book."""

    def __init__(self, guests: Guests, path: Path) -> None:
        """`path` is that of the book or the folder of books, as the studio was started with it."""
        self.guests, self.path = guests, path
        self.keys: LinkKeys | None = None
        self.place: Endpoint | None = None

    def routes(self) -> list[Route]:
        return [
            Route("/api/people", self.list_people),
            Route("/api/people", self.invite, methods=["POST"]),
            Route("/api/people/name", self.set_name, methods=["POST"]),
            Route("/api/people/phone", self.phone, methods=["POST"]),
            Route("/api/people/{id}", self.revoke, methods=["DELETE"]),
        ]

    async def list_people(self, request: Request) -> Response:
        assert self.place is not None
        return JSONResponse(
            {
                "name": self.guests.owner_name,
                "restart": self._restart_command(),
                "is_encrypted": self.place.certificate is not None,
                "guests": [_guest_row(guest) for guest in self.guests.rows],
            }
        )

    async def invite(self, request: Request) -> Response:
        """Invites somebody, or gives a guest another link."""
        body = await bodies.read_json(request)
        name, rights = bodies.text_field(body, "name", 1000), bodies.text_field(body, "rights", 20)
        if rights not in list(Rights):
            raise UsageError("`rights` is listen or edit")
        guest, token = await run_in_threadpool(self.guests.invite, name, Rights(rights))
        return JSONResponse({"guest": _guest_row(guest), **self._link_row(token)})

    async def revoke(self, request: Request) -> Response:
        """Removes a guest, whose pages are told nothing from now on."""
        guest = await run_in_threadpool(self.guests.revoke, request.path_params["id"])
        if guest is None:
            raise NotFound("this guest was removed already")
        return JSONResponse({})

    async def set_name(self, request: Request) -> Response:
        """Sets the owner's name on flags."""
        name = bodies.text_field(await bodies.read_json(request), "name", 1000)
        await run_in_threadpool(self.guests.set_owner_name, name)
        return JSONResponse({"name": self.guests.owner_name})

    async def phone(self, request: Request) -> Response:
        """Returns the owner's next link, for another device of theirs."""
        await bodies.read_json(request)
        assert self.keys is not None
        return JSONResponse(self._link_row(self.keys.token))

    def _link_row(self, token: str) -> dict[str, Any]:
        assert self.place is not None
        link, restart = f"{self.place.network_url}?token={token}", self._restart_command()
        picture = None if restart else qr_picture(link)
        install = "" if restart or picture else install_command("studio")
        return {"link": link, "qr": picture, "restart": restart, "install": install}

    def _restart_command(self) -> str:
        """Returns the command after which other machines reach the studio; "" where they do."""
        assert self.place is not None
        if not self.place.is_local:
            return ""
        return shlex.join(["narrator", "studio", str(self.path), "--listen", "0.0.0.0"])


def _guest_row(guest: Guest) -> dict[str, Any]:
    return {
        "id": guest.id,
        "name": guest.name,
        "rights": guest.rights,
        "opened": guest.opened,
        "browsers": len(guest.browsers),
    }


def qr_picture(link: str) -> str | None:
    """Returns a QR code as the address of a picture; None without the package that draws it."""
    try:
        import segno
    except ImportError:
        return None
    return str(segno.make(link, micro=False).svg_data_uri(scale=5, border=4, light="white"))


def qr_text(link: str) -> str:
    """Returns a QR code for a dark terminal; empty without the package that draws it."""
    try:
        import segno
    except ImportError:
        return ""
    import io

    buffer = io.StringIO()
    segno.make(link, micro=False).terminal(buffer, compact=True, border=2)
    return buffer.getvalue()
