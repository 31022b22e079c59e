"""People who have links to a book: their names, their rights, and which browsers are theirs.

A link opens the studio in one browser, once. The list of guests outlives the studio: it lies in
the book's `build` folder, with hashes of links and cookies and never these themselves. Knows no
requests.
"""

from __future__ import annotations

import contextlib
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path

from starlette.routing import compile_path

from narrator import files, keys
from narrator.errors import StorageError, UsageError
from narrator.project.project import Project
from narrator.text.markup import squeeze
from textbase.characters import strip_invisible

_MAX_NAME_LENGTH = 60
_MAX_GUESTS = 100
_MAX_SECRETS = 8
"""Most links that wait for one guest, and most browsers of one; the oldest becomes invalid."""


class Rights(StrEnum):
    """What a person may do."""

    OWNER = "owner"
    """Everything: who holds the link that the terminal shows."""
    EDIT = "edit"
    """Everything in one book, except inviting people."""
    LISTEN = "listen"
    """Listen to one book, and flag."""


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody whose browser is known."""

    id: str
    name: str
    rights: Rights
    book: str = ""
    """The address of a guest's book, as in /book/1f; empty for a studio of one book."""


OWNER = Person("", "", Rights.OWNER)


# -- rights ----------------------------------------------------------------------------------------

_LISTENING = """
    GET /  GET /static/{name}  GET /api/events  GET /api/book  GET /api/chapters/{number}
    GET /api/chunks/{id}  GET /api/peaks/{number}  GET /sound/chapters/{number}/{key}
    GET /sound/tries/{key}/{number}  GET /api/words/{number}  GET /api/find  GET /api/pickups
    POST /api/flags  POST /api/flags/gone
""".split()
"""Methods and routes that listening and flagging need; everything else is refused."""
_LISTENING_ROUTES = [
    (method, compile_path(path)[0])
    for method, path in zip(_LISTENING[::2], _LISTENING[1::2], strict=True)
]
_OWNER_PATHS = "/api/people"
"""Beginning of the paths that are the owner's alone."""
_SHARED_FILES = compile_path("/static/{name}")[0]
"""Paths outside a book that its page needs."""


def may(person: Person, method: str, path: str) -> bool:
    """True if a person may make such a request. The only place that decides it."""
    if person.rights is Rights.OWNER:
        return True
    method = "GET" if method == "HEAD" else method
    if method == "GET" and _SHARED_FILES.fullmatch(path):
        return True
    if not path.startswith(f"{person.book}/"):
        return False
    path = path.removeprefix(person.book)
    if person.rights is Rights.EDIT:
        return not path.startswith(_OWNER_PATHS)
    return any(method == allowed and route.fullmatch(path) for allowed, route in _LISTENING_ROUTES)


# -- guests ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Guest:
    """Somebody who was invited to a book."""

    id: str
    name: str
    rights: Rights
    links: tuple[str, ...] = ()
    """Hashes of the tokens of links that have not been opened."""
    browsers: tuple[str, ...] = ()
    """Hashes of the cookies of browsers that have opened one."""
    opened: int = 0
    """When a link was last opened, in seconds since the epoch; 0 if none was."""


@dataclass(frozen=True, slots=True)
class _GuestList:
    """The contents of the file."""

    owner_name: str = ""
    guests: tuple[Guest, ...] = ()


def path_of(project: Project) -> Path:
    """The file of a manifest's guests."""
    return project.build / f"people-{project.stem}.json"


class Guests:
    """The guests of a book."""

    def __init__(self, path: Path) -> None:
        """Raises StorageError."""
        self._path, self._mutex = path, threading.Lock()
        self._stamp, self._list = files.stamp(path), self._load()
        self.book = ""
        """The address of the book, as in /book/1f."""
        self.on_change: Callable[[], None] = lambda: None
        """Is called after each change."""

    def _load(self) -> _GuestList:
        """Raises StorageError."""
        return files.load_work(
            self._path,
            _GuestList,
            _GuestList(),
            title="a list of guests",
            remedy=f"move '{self._path.name}' away to invite people anew",
        )

    def _latest_list(self) -> _GuestList:
        """Returns the list, read again if another studio has changed it. Raises StorageError."""
        if (stamp := files.stamp(self._path)) != self._stamp:
            self._list, self._stamp = self._load(), stamp
        return self._list

    @property
    def rows(self) -> tuple[Guest, ...]:
        """Raises StorageError."""
        return self._latest_list().guests

    @property
    def owner_name(self) -> str:
        """The owner's name on flags, the last one that could be read; empty if they gave none."""
        with contextlib.suppress(StorageError):
            self._latest_list()
        return self._list.owner_name

    def set_owner_name(self, name: str) -> None:
        """Raises UsageError, StorageError."""
        name = _checked_name(name) if name.strip() else ""
        with self._mutex:
            if any(guest.name.casefold() == name.casefold() for guest in self.rows):
                raise UsageError(f"a guest is called {name}: choose another name")
            self._save(replace(self._latest_list(), owner_name=name))

    def name_of(self, person: Person) -> str:
        """Returns the name that stands on a person's flags."""
        return self.owner_name if person.rights is Rights.OWNER else person.name

    def invite(self, name: str, rights: Rights) -> tuple[Guest, str]:
        """Invites somebody, or gives a guest of this name one more link with these rights.

        Returns the guest and the link's token. Raises UsageError, StorageError.
        """
        name = _checked_name(name)
        if rights is Rights.OWNER:
            raise UsageError("a guest may listen or edit")
        if name.casefold() == self.owner_name.casefold():
            raise UsageError(f"you are called {name} yourself: choose another name")
        token = secrets.token_urlsafe(32)

        def with_link(guest: Guest) -> Guest:
            return replace(guest, rights=rights, links=_latest(guest.links, _hash(token)))

        with self._mutex:
            namesakes = [guest for guest in self.rows if guest.name.casefold() == name.casefold()]
            if not namesakes and len(self.rows) >= _MAX_GUESTS:
                raise UsageError(f"a book has {_MAX_GUESTS} guests at most: remove one first")
            guest = with_link(
                namesakes[0] if namesakes else Guest(secrets.token_hex(8), name, rights)
            )
            self._replace_guest(guest)
            return guest, token

    def find(self, id: str) -> Guest | None:
        """Returns a guest by their id."""
        return next((guest for guest in self.rows if guest.id == id), None)

    def is_welcome(self, person: Person) -> bool:
        """True unless a guest was removed or has other rights now."""
        if person.rights is Rights.OWNER:
            return True
        try:
            guest = self.find(person.id)
        except StorageError:
            return False
        return guest is not None and guest.rights is person.rights

    def revoke(self, id: str) -> Guest | None:
        """Removes a guest with all their links and browsers. Raises StorageError."""
        with self._mutex:
            guest = self.find(id)
            rows = tuple(row for row in self.rows if row.id != id)
            self._save(replace(self._latest_list(), guests=rows))
            return guest

    def redeem(self, token: str) -> tuple[str, Person] | None:
        """Returns a cookie for the token of a link, which becomes invalid; None for any other."""
        link = _hash(token)
        with self._mutex:
            guest = next((guest for guest in self.rows if link in guest.links), None)
            if guest is None:
                return None
            cookie = secrets.token_urlsafe(32)
            self._replace_guest(
                replace(
                    guest,
                    links=tuple(each for each in guest.links if each != link),
                    browsers=_latest(guest.browsers, _hash(cookie)),
                    opened=int(time.time()),
                )
            )
            return cookie, self._person(guest)

    def person(self, cookie: str) -> Person | None:
        """Returns whose cookie this is; None if the list is damaged."""
        browser = _hash(cookie)
        try:
            guest = next((guest for guest in self.rows if browser in guest.browsers), None)
        except StorageError:
            return None
        return self._person(guest) if guest else None

    def _person(self, guest: Guest) -> Person:
        return Person(guest.id, guest.name, guest.rights, self.book)

    def _replace_guest(self, guest: Guest) -> None:
        rows = (*(row for row in self.rows if row.id != guest.id), guest)
        order = sorted(rows, key=lambda row: row.name.casefold())
        self._save(replace(self._latest_list(), guests=tuple(order)))

    def _save(self, guest_list: _GuestList) -> None:
        files.save_json(self._path, asdict(guest_list))
        self._list, self._stamp = guest_list, files.stamp(self._path)
        self.on_change()


def _latest(hashes: tuple[str, ...], new: str) -> tuple[str, ...]:
    return (*hashes, new)[-_MAX_SECRETS:]


def _hash(secret: str) -> str:
    """Returns the hash of a random secret of 256 bits, which needs no salt."""
    return keys.key({"secret": secret})


def _checked_name(name: str) -> str:
    """Returns a name without invisible characters. Raises UsageError."""
    name = squeeze(strip_invisible(name))
    if not any(map(str.isalnum, name)) or len(name) > _MAX_NAME_LENGTH:
        raise UsageError(f"a name has letters, and {_MAX_NAME_LENGTH} characters at most")
    return name


# -- everybody -------------------------------------------------------------------------------------


class LinkKeys:
    """The owner's next link and cookies, and the guests of all books."""

    def __init__(self, on_used: Callable[[str], None]) -> None:
        """`on_used` is called with the token of the owner's next link once theirs was used."""
        self._on_used, self._mutex = on_used, threading.Lock()
        self._sessions: set[str] = set()
        self._guests: dict[str, Guests] = {}
        self.token = secrets.token_urlsafe(32)

    def admit(self, guests: Guests) -> None:
        """Lets the guests of a book in."""
        self._guests = {**self._guests, guests.book: guests}

    def dismiss(self, guests: Guests) -> None:
        """Lets the guests of a book in no more."""
        self._guests = {book: row for book, row in self._guests.items() if row is not guests}

    def redeem(self, token: str) -> tuple[str, Person] | None:
        """Returns a cookie for a valid token, which becomes invalid, and whose it is."""
        with self._mutex:
            if secrets.compare_digest(token.encode(), self.token.encode()):
                session, self.token = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
                self._sessions.add(session)
                next_token = self.token
            else:
                outcomes = (guests.redeem(token) for guests in self._guests.values())
                return next(filter(None, outcomes), None)
        self._on_used(next_token)
        return session, OWNER

    def person(self, session: str) -> Person | None:
        """Returns whose cookie this is; None if it was not issued here."""
        is_owner = False
        for issued in self._sessions:  # all of them, so that the time taken says nothing
            is_owner |= secrets.compare_digest(session.encode(), issued.encode())
        if is_owner:
            return OWNER
        people = (guests.person(session) for guests in self._guests.values())
        return next(filter(None, people), None)
