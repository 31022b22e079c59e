"""The command that opens a book in the browser: studio."""

from __future__ import annotations

import contextlib
import threading
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from narrator.cli.progress import stage, without_progress_lines
from narrator.cli.shared import Book, app, err, out


@app.command()
def studio(
    book: Book = Path("book.yaml"),
    port: Annotated[
        int | None,
        typer.Option("--port", min=1, max=65535, help="To listen at; else any free one."),
    ] = None,
    listen: Annotated[
        str, typer.Option("--listen", help="An address; other machines reach what is not local.")
    ] = "127.0.0.1",
    show: Annotated[bool, typer.Option("--open/--no-open", help="Open it in the browser.")] = True,
) -> None:
    """Hear, compare and mend a book in the browser, while it renders; without a book, the page that
    makes one of a manuscript, and opens those of this folder."""
    from narrator import studio as room

    room.require()
    from narrator.pipeline.session import logging_to
    from narrator.project.place import manifest_at
    from narrator.report import pickups as pages
    from narrator.studio import app as studios
    from narrator.studio.book_app import BookApp
    from narrator.studio.events import Events
    from narrator.studio.guard import LinkKeys
    from narrator.studio.library import Library
    from narrator.studio.session import ProjectSession

    folder = _folder_of_projects(book)
    build = None if folder else manifest_at(book).parent / "build"
    with contextlib.ExitStack() as resources:
        place = resources.enter_context(contextlib.closing(studios.listen(listen, port, build)))
        served: studios.ServedApp
        if folder is not None:
            served = Library(folder, pages.page)
        else:
            session = ProjectSession(book, Events())
            with stage(err, "reading the manuscript"):
                session.read()
            served = BookApp(session, pages.page)
            resources.enter_context(logging_to(session.view.project))
        resources.enter_context(without_progress_lines())

        def link(token: str) -> str:
            return f"{place.url}?token={token}"

        def ready() -> None:
            out.print(link(keys.token))
            if not place.is_local:
                err.print(f"others in the network reach {place.url}, too: with this link alone, "
                          "and nothing that is sent is encrypted")  # fmt: skip
            err.print("the link opens it once; ctrl-C ends the studio")
            if show:
                _open_browser(link(keys.token))

        keys = LinkKeys(lambda token: err.print(f"opened; for another browser: {link(token)}"))
        studios.serve_until_signal(studios.Studio(served, keys, place), ready)
    err.print("the studio is closed")


def _folder_of_projects(path: Path) -> Path | None:
    """Returns the folder whose projects the start page shows; None if a path names a book."""
    from narrator.project.place import MANIFEST_NAME

    if path == Path(MANIFEST_NAME) and not path.exists() and not path.is_symlink():
        path = Path()
    manifest = path / MANIFEST_NAME
    return path if path.is_dir() and not manifest.exists() and not manifest.is_symlink() else None


def _open_browser(link: str) -> None:
    """Opens an address in the browser, which may take a while to start, without waiting."""
    threading.Thread(target=webbrowser.open, args=[link], daemon=True).start()
