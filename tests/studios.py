"""A studio at work for tests: a server on a port of its own, and somebody who asks it."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unittest import mock

from narrator.pipeline import book_engines, run
from narrator.pipeline.book_plan import Selection
from narrator.pipeline.manuscript import read_manuscript
from narrator.project import other_engine
from narrator.studio import app
from narrator.studio.book_app import BookApp
from narrator.studio.events import Events
from narrator.studio.library import Library
from narrator.studio.people import LinkKeys
from narrator.studio.session import ProjectSession
from tests.books import Watcher

BOOK = """\
title: "Two <b>Walks</b> & \\u2066more"
author: Nobody
language: en-GB
engine: {name: draft}
output: {formats: [m4b]}
speakers: {narrator: {}, Ada: {}, Ben: {speed: 1.2}}
chapters:
  - {title: "Out <script>alert(1)</script>", file: out.md}
  - {title: Home, file: home.md}
"""
OUT = """\
# Out

The road was long. It was wet, and the wind blew from the sea as it does in autumn there.

Ada: Not far now.

Ada & Ben: We know the way!

***

Ben: I am cold.
"""
HOME = "They came home.\n\nAda: At last.\n"


def write(folder: Path, *, book: str = BOOK, out: str = OUT, home: str = HOME) -> Path:
    """A project of two chapters, three voices and a chorus; its folder."""
    (folder / "book.yaml").write_text(book, encoding="utf-8")
    (folder / "out.md").write_text(out, encoding="utf-8")
    (folder / "home.md").write_text(home, encoding="utf-8")
    return folder


def rendered(folder: Path) -> Path:
    """The same, spoken by the draft voice."""
    render(write(folder))
    return folder


def render(folder: Path, *, speak: bool = True, chapters: frozenset[int] = frozenset()) -> None:
    manuscript = read_manuscript(folder).spoken_by("draft")
    engine = book_engines.make_main_engine(manuscript.project)
    selection = Selection(chapters)
    run.run(manuscript, engine, selection, sink=Watcher(), cancel=threading.Event(), speak=speak)


@dataclass(frozen=True)
class Answer:
    """What a studio answered."""

    status: int
    headers: Mapping[str, str]
    data: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.data)


@dataclass
class Visitor:
    """A page that asks; the cookie is that of a link, once it was opened."""

    port: int
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def opened(self, token: str) -> Visitor:
        """Opens a link, and is known from then on."""
        answer = self.get(f"/?token={token}")
        assert answer.status == 303, answer
        self.headers["cookie"] = answer.headers["set-cookie"].partition(";")[0]
        return self

    def get(self, path: str, **headers: str | None) -> Answer:
        return self.ask("GET", path, None, **headers)

    def post(self, path: str, asked: object = None, **headers: str | None) -> Answer:
        data = json.dumps({} if asked is None else asked).encode()
        own = {"content_type": "application/json", "origin": f"http://{self.host}"}
        return self.ask("POST", path, data, **{**own, **headers})

    def put(self, path: str, data: bytes, **headers: str | None) -> Answer:
        return self.ask("PUT", path, data, **{"origin": f"http://{self.host}", **headers})

    def ask(self, method: str, path: str, data: Any = None, **headers: str | None) -> Answer:
        """Headers of a request have underscores here; None leaves one out."""
        said: dict[str, str | None] = {**self.headers}
        said |= {name.replace("_", "-"): value for name, value in headers.items()}
        wire = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        with contextlib.closing(wire):
            kept = {name: value for name, value in said.items() if value is not None}
            wire.request(method, path, data, kept)
            answer = wire.getresponse()
            found = {name.casefold(): value for name, value in answer.getheaders()}
            return Answer(answer.status, found, answer.read())

    def told(self, act: Callable[[], object], until: Callable[[Any], bool]) -> list[Any]:
        """What pages are told after an action, up to what is waited for."""
        wire = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        with contextlib.closing(wire):
            wire.request("GET", "/api/events", headers=self.headers)
            answer = wire.getresponse()
            assert answer.getheader("content-type", "").startswith("text/event-stream")
            assert answer.readline() == b": hello\n"
            act()
            found: list[Any] = []
            while not found or not until(found[-1]):
                line = answer.readline()
                assert line, "no more is told"
                if line.startswith(b"data: "):
                    found.append(json.loads(line[6:]))
            return found


@dataclass
class Opened:
    """A studio at work, and the page that opened it."""

    session: ProjectSession
    place: app.Endpoint
    keys: LinkKeys
    page: Visitor
    app: BookApp
    links: list[str]
    """Tokens of links that were shown after the first."""
    _loop: asyncio.AbstractEventLoop

    def do(self, action: Callable[[], object]) -> None:
        """In the thread that reads, after all that was asked before."""

        async def errand() -> None:
            action()

        asyncio.run_coroutine_threadsafe(errand(), self._loop).result(60)

    def look(self) -> None:
        """What the studio does every second."""
        self.do(self.session.refresh)

    def chapter(self, number: int = 1) -> Any:
        return self.page.get(f"/api/chapters/{number}").json


class Hurried:
    """asyncio for a server that takes short naps: it naps twice before it ends."""

    def __getattr__(self, name: str) -> Any:
        return getattr(asyncio, name)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(min(seconds, 0.01))


@dataclass
class OpenedLibrary:
    """A start page's studio at work, and the page that opened it."""

    library: Library
    page: Visitor

    def open(self, id: str) -> str:
        """The address of a book's studio, once it is open."""
        answer = self.page.post(f"/api/projects/{id}/open")
        assert answer.status == 200, answer
        return str(answer.json["address"])

    def id_of(self, folder: str) -> str:
        rows = self.page.get("/api/projects").json["projects"]
        return str(next(row["id"] for row in rows if row["folder"] == folder))


@contextlib.contextmanager
def opened_library(folder: Path, port: int = 0) -> Iterator[OpenedLibrary]:
    """A start page of the projects of a folder."""
    library, keys = Library(folder), LinkKeys(lambda token: None)
    place = app.listen("127.0.0.1", port)
    with tasks_in_a_thread() as loop, mock.patch("uvicorn.server.asyncio", Hurried()):
        library.set_loop(loop)
        with app.serving_studio(app.Studio(library, keys, place)):
            yield OpenedLibrary(library, Visitor(place.port).opened(keys.token))


@contextlib.contextmanager
def tasks_in_a_thread() -> Iterator[asyncio.AbstractEventLoop]:
    """The loop that stands for that of the main thread."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield loop
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@contextlib.contextmanager
def opened(
    folder: Path, *, draft: bool = False, port: int = 0, certificate: Path | None = None
) -> Iterator[Opened]:
    """A studio of a project, its errands in a thread instead of the main one."""
    with other_engine.speaking_with("draft" if draft else ""):
        session, links = ProjectSession(folder, Events()), []
    keys = LinkKeys(links.append)
    place = replace(app.listen("127.0.0.1", port), certificate=certificate)
    with tasks_in_a_thread() as loop, mock.patch("uvicorn.server.asyncio", Hurried()):
        session.set_loop(loop)
        session.open()
        book = BookApp(session)
        with app.serving_studio(app.Studio(book, keys, place)):
            page = Visitor(place.port)
            if certificate is None:
                page.opened(keys.token)
            yield Opened(session, place, keys, page, book, links, loop)
