"""The command that sends finished files to where people listen: deliver."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from narrator.cli import completion
from narrator.cli.planning import load_plan
from narrator.cli.progress import StageLine
from narrator.cli.shared import Book, app, display_path, err, out
from narrator.errors import UsageError
from narrator.quantities import format_bytes, pluralize

if TYPE_CHECKING:
    from narrator.delivery.shelves.layouts import Layout
    from narrator.delivery.shelves.sending import Delivery, Shelf
    from narrator.pipeline.book_plan import BookPlan

LAYOUT_NAMES = ("audiobookshelf", "plex", "jellyfin", "apple-books", "calibre")
"""The keys of `layouts.LAYOUTS`, which takes long to load."""


@app.command()
def deliver(
    book: Book = Path("book.yaml"),
    to: Annotated[
        str,
        typer.Option(
            "--to",
            metavar="PLACE",
            help="A folder, rclone:REMOTE:PATH or the address of an Audiobookshelf server.",
            show_default=False,
        ),
    ] = "",
    layout: Annotated[
        str,
        typer.Option(
            "--layout",
            help=f"Arrange files for an app: {', '.join(LAYOUT_NAMES)}.",
            autocompletion=completion.choices(*LAYOUT_NAMES),
        ),
    ] = "",
    profile: Annotated[
        str,
        typer.Option(
            "--profile",
            "-p",
            help="Send the files of this profile, if the book has several.",
            autocompletion=completion.profiles,
        ),
    ] = "",
    library: Annotated[
        str,
        typer.Option(
            "--library", help="Library on the Audiobookshelf server, if it has several for books."
        ),
    ] = "",
    replace: Annotated[
        bool, typer.Option("--replace", help="Overwrite what this project did not send.")
    ] = False,
) -> None:
    """Send new and changed files to a folder or a server. Nothing is rendered or exported."""
    from narrator.delivery.shelves import layouts, sending

    chosen_layout = _find_layout(layout)
    if to.casefold().startswith(("http://", "https://")):
        if layout not in ("", "audiobookshelf"):
            message = "--layout: an Audiobookshelf server has its own layout; omit the option"
            raise UsageError(message)
        _deliver_to_server(book, to, library, profile, replace=replace)
        return
    if library:
        raise UsageError("--library needs --to with the address of an Audiobookshelf server")
    if profile and not chosen_layout:
        raise UsageError("--profile needs --layout; without a layout the whole folder is sent")
    shelf, place = _open_shelf(to)
    planned = load_plan(book)
    if isinstance(place, Path):
        _check_folder(place, chosen_layout, planned)
    with _locked(planned), StageLine(err) as line:
        record = sending.open_record(planned.folders, planned.project.facts, str(place), layout)
        was_delivered = bool(record.hashes)
        line("reading finished files", 0)
        items = (
            layouts.arrange(planned, chosen_layout, profile)
            if chosen_layout
            else layouts.mirror(planned)
        )
        line("sending", 0)
        delivery = sending.deliver(
            items,
            shelf,
            record,
            replace=replace,
            on_progress=lambda share: line("sending", share),
        )
    _print_delivery(delivery, str(display_path(place) if isinstance(place, Path) else place))
    for feed in layouts.list_old_feeds(items):
        err.print(
            f"{display_path(feed)} is older than its episodes: `narrator feed` makes it again"
        )
    if chosen_layout and chosen_layout.advice and isinstance(place, Path):
        template = (was_delivered and chosen_layout.next_advice) or chosen_layout.advice
        folder = place / Path(items[0].name).parent
        out.print(template.format(suffix=items[0].source.suffix[1:], folder=folder))


def _deliver_to_server(
    book: Path, to: str, library_name: str, profile: str, *, replace: bool
) -> None:
    """Sends a book to an Audiobookshelf server. Raises EnvironmentFailed, UsageError."""
    from narrator.delivery.finish import book_facts
    from narrator.delivery.shelves import audiobookshelf, layouts, sending

    planned = load_plan(book)
    with _locked(planned), StageLine(err) as line:
        line("reading finished files", 0)
        items = layouts.arrange(planned, audiobookshelf.LAYOUT, profile)
        line("connecting to the server", 0)
        library = audiobookshelf.open_library(to, library_name)
        place = library.server.address
        record = sending.open_record(planned.folders, planned.project.facts, place, library.id)
        folder = Path(items[0].name).parent
        shelf = audiobookshelf.AudiobookshelfShelf.open(
            library, folder, record, is_replacing=replace
        )
        line("sending", 0)
        delivery = sending.deliver(
            audiobookshelf.flatten(items),
            shelf,
            record,
            replace=replace,
            on_progress=lambda share: line("sending", share),
        )
        line("waiting for the server to scan the files", 0)
        changes = shelf.finish(book_facts(planned), layouts.list_chapter_marks(planned, items))
    _print_delivery(delivery, f"{place} {'/'.join(shelf.parts)}")
    if changes.updates:
        out.print(f"updated on the server: {', '.join(changes.updates)}")
    if changes.conflicts:
        names = ", ".join(changes.conflicts)
        err.print(f"not updated, since edited on the server: {names} (--replace overwrites this)")


def _locked(book: BookPlan) -> AbstractContextManager[None]:
    """Holds the records of what was sent, so that only one delivery at a time writes them. Raises
    Locked, StorageError."""
    from narrator.pipeline.session import lock_folder

    advice = "another delivery of this book is running; wait until it has finished"
    return lock_folder(book.folders.delivered, 0.0, advice)


def _open_shelf(to: str) -> tuple[Shelf, Path | str]:
    """Returns the shelf of `--to`, and where that is: a folder, or a remote. Raises UsageError."""
    from narrator.delivery.shelves import rclone
    from narrator.delivery.shelves.folder import FolderShelf

    if not to:
        raise UsageError(
            "--to is missing: name a folder, rclone:REMOTE:PATH or the address of an "
            "Audiobookshelf server, for example --to /srv/audiobooks --layout plex"
        )
    if to.startswith(rclone.SCHEME):
        remote = rclone.RcloneShelf.parse(to)
        return remote, f"{rclone.SCHEME}{remote.target}"
    folder = Path(os.path.abspath(Path(to).expanduser()))
    if not folder.is_dir():
        if folder.exists():
            raise UsageError(f"--to: {to} is not a folder; choose one")
        if ":" in to:  # it may hold a password
            raise UsageError(
                "--to: there is no such folder; the address of an Audiobookshelf server begins "
                "with http:// or https://, and other places are remotes of rclone, named as "
                "rclone:REMOTE:PATH"
            )
        raise UsageError(f"--to: {to} does not exist; create it or choose another folder")
    return FolderShelf(folder), folder


def _check_folder(folder: Path, layout: Layout | None, book: BookPlan) -> None:
    """Raises UsageError for a folder to which nothing may be sent."""
    if folder.resolve().is_relative_to(book.project.build.resolve()):
        raise UsageError(
            f"--to: {display_path(folder)} is inside the project's build folder; choose another "
            "folder"
        )
    if layout and layout.name == "calibre" and (folder / "metadata.db").exists():
        raise UsageError(
            f"--to: {display_path(folder)} is a Calibre library, to which only Calibre may add "
            "books; choose another folder"
        )


def _find_layout(name: str) -> Layout | None:
    """Returns a layout by name; None for no name. Raises UsageError."""
    from narrator.delivery.shelves.layouts import LAYOUTS

    if name and name not in LAYOUTS:
        raise UsageError(f"--layout: unknown layout {name!r}; choose one of {', '.join(LAYOUTS)}")
    return LAYOUTS.get(name)


def _print_delivery(delivery: Delivery, place: str) -> None:
    for item in delivery.sent:
        out.print(f"{item.name}  {format_bytes(item.size)}")
    for name in delivery.removed:
        out.print(f"{name}  removed: no longer part of the delivery")
    unchanged = f", {pluralize(delivery.unchanged, 'file')} unchanged" if delivery.unchanged else ""
    out.print(f"{place}: {pluralize(len(delivery.sent), 'file')} sent{unchanged}")
