"""The command that opens a book in the browser, or saves its report as a page: studio."""

from __future__ import annotations

import contextlib
import threading
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from narrator.cli import completion
from narrator.cli.planning import load_plan
from narrator.cli.progress import StageLine, stage, without_progress_lines
from narrator.cli.shared import Book, app, check_replaceable, display_path, err, out
from narrator.errors import UsageError
from narrator.installation import install_command
from narrator.quantities import format_bytes, pluralize

if TYPE_CHECKING:
    from narrator.web.listening import Endpoint


@app.command()
def studio(
    book: Book = Path("book.yaml"),
    port: Annotated[
        int | None,
        typer.Option(
            "--port", min=1, max=65535, help="The port to listen on; by default any free one."
        ),
    ] = None,
    listen: Annotated[
        str,
        typer.Option(
            "--listen", help="The address to listen on; 0.0.0.0 lets other machines connect."
        ),
    ] = "127.0.0.1",
    show: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the page in the browser.")
    ] = True,
    invite: Annotated[
        list[str] | None,
        typer.Option(
            "--invite", metavar="NAME", help="Print a link for a guest of this name; repeatable."
        ),
    ] = None,
    rights: Annotated[
        str,
        typer.Option(
            "--rights",
            help="What guests may do: listen (and flag) or edit (this book).",
            autocompletion=completion.choices("listen", "edit"),
        ),
    ] = "listen",
    tls: Annotated[
        bool | None,
        typer.Option(
            "--tls/--no-tls",
            help="Encrypt the connection; the default where other machines can connect.",
        ),
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option("--save", help="Save the book's report as one HTML page, and exit."),
    ] = None,
) -> None:
    """Hear, compare and mend a book in the browser, while it renders. Without a book, a start page
    imports manuscripts and opens the books of this folder."""
    if save is not None:
        _save_report(book, save)
        return
    from narrator import studio as room

    room.require()
    from narrator.pipeline.session import logging_to
    from narrator.project.place import manifest_at
    from narrator.studio import app as studios
    from narrator.studio.book_app import BookApp
    from narrator.studio.events import Events
    from narrator.studio.library import Library
    from narrator.studio.people import LinkKeys, Rights
    from narrator.studio.session import ProjectSession

    folder = _folder_of_projects(book)
    if rights not in (Rights.LISTEN, Rights.EDIT):
        raise UsageError(f"--rights {rights}: listen or edit")
    if folder is not None and invite:
        raise UsageError("name the book that --invite is for: narrator studio BOOK --invite NAME")
    build = None if folder else manifest_at(book).parent / "build"
    with contextlib.ExitStack() as resources:
        place = resources.enter_context(contextlib.closing(studios.listen(listen, port, build)))
        if tls or (tls is None and not place.is_local):
            place = _encrypting(place, is_required=bool(tls))
        served: studios.ServedApp
        invitations: list[tuple[str, str]] = []
        if folder is not None:
            served = Library(folder)
        else:
            session = ProjectSession(book, Events())
            with stage(err, "reading the manuscript"):
                session.open()
            served = BookApp(session)
            for name in invite or ():
                guest, token = served.guests.invite(name, Rights(rights))
                invitations.append((guest.name, f"{place.network_url}?token={token}"))
            resources.enter_context(logging_to(session.view.project))
        resources.enter_context(without_progress_lines())

        def link(token: str) -> str:
            return f"{place.url}?token={token}"

        def ready() -> None:
            out.print(link(keys.token))
            if not place.is_local:
                _tell_how_others_connect(place, f"{place.network_url}?token={keys.token}")
            for name, guest_link in invitations:
                out.print(f"for {name}: {guest_link}", soft_wrap=True)
                _print_qr_code(guest_link)
                if place.is_local:
                    err.print("this link works on this machine alone: add --listen 0.0.0.0")
            err.print("the link opens it once; ctrl-C ends the studio")
            if show:
                _open_browser(link(keys.token))

        keys = LinkKeys(lambda token: err.print(f"opened; for another browser: {link(token)}"))
        studios.serve_until_signal(studios.Studio(served, keys, place), ready)
    err.print("the studio is closed")


def _encrypting(place: Endpoint, is_required: bool) -> Endpoint:
    """Returns the place with a certificate; without one if none can be made and none is required.
    Raises EnvironmentFailed."""
    from narrator.errors import EnvironmentFailed, StorageError
    from narrator.studio import app as studios

    try:
        return studios.encrypting(place)
    except StorageError:
        raise
    except EnvironmentFailed:  # no package for it
        if is_required:
            raise
        return place


def _tell_how_others_connect(place: Endpoint, link: str) -> None:
    from narrator.web import certificates

    if place.certificate is None:
        err.print(
            f"others in the network reach {place.url}, too: with a link alone, and nothing that is "
            f"sent is encrypted: text, sound and links ({install_command('studio')} to encrypt)"
        )
    else:
        err.print(
            f"others in the network reach {place.url}, too: with a link alone, and encrypted. "
            "Browsers warn at the first visit, since narrator made the certificate; its SHA-256 "
            f"fingerprint is {certificates.fingerprint(place.certificate)}"
        )
    _print_qr_code(link)


def _print_qr_code(link: str) -> None:
    """Prints a link for the camera of a phone, to people alone."""
    from rich.text import Text

    from narrator.studio.people_routes import qr_text

    if err.is_terminal and (code := qr_text(link)):
        err.print(Text(code, "bright_white on black"), soft_wrap=True)


def _save_report(book: Path, path: Path) -> None:
    from narrator.studio import saved_report

    check_replaceable(path, saved_report.MARK.encode(), "report")
    planned = load_plan(book)
    with StageLine(err) as on_progress:
        facts = saved_report.write(planned, path, on_progress)
    out.print(f"{display_path(path)}  {format_bytes(path.stat().st_size)}")
    if facts.missing:
        err.print(f"{pluralize(facts.missing, 'chunk')} missing; the page says which chapters")


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
