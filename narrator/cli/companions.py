"""The command that publishes: feed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from narrator.cli.shared import app, counted, err, near, out

_COVERS = ("cover.jpg", "cover.jpeg", "cover.png")


@app.command()
def feed(
    folder: Annotated[Path, typer.Argument(help="Of finished files, of projects, or a project.")],
    base_url: Annotated[str, typer.Option("--base-url", help="Where the web has that folder.")],
    chapters: Annotated[
        bool, typer.Option("--chapters", help="Chapters are the episodes, not whole books.")
    ] = False,
    draft: Annotated[bool, typer.Option("--draft", help="Of projects, the draft's files.")] = False,
    title: Annotated[str, typer.Option(help="Of the show; else the files' series or book.")] = "",
    description: Annotated[str, typer.Option(help="Of the show; else the files' own.")] = "",
    author: Annotated[str, typer.Option(help="Else the files' own.")] = "",
    language: Annotated[str, typer.Option(help="Like en-GB; else the files' own.")] = "",
    link: Annotated[str, typer.Option(help="Of the show's page; else the base URL.")] = "",
    image: Annotated[str, typer.Option(help="Address of a cover; else cover.jpg here.")] = "",
    category: Annotated[str, typer.Option(help="One of Apple's.")] = "Arts/Books",
    explicit: Annotated[bool, typer.Option("--explicit", help="Not for children.")] = False,
    season: Annotated[int, typer.Option(help="Of all episodes.", min=0)] = 0,
    cast: Annotated[
        str, typer.Option(help="Name the speakers, as: host, guest, voice actor.")
    ] = "",
    guid: Annotated[str, typer.Option(help="Of a show that moves here.")] = "",
    copyright: Annotated[str, typer.Option(help="A notice.")] = "",
    name: Annotated[str, typer.Option("--name", help="Of the feed's file.")] = "feed.xml",
) -> None:
    """Write an RSS feed for a folder of finished files: a podcast."""
    from narrator import companions
    from narrator.companions import feed as feeds
    from narrator.errors import UsageError

    if not folder.is_dir():
        raise UsageError(f"{folder} is no folder")
    found = feeds.episodes(folder, chapters=chapters, draft=draft)
    if not found:
        what = "chapters" if chapters else "books"
        other = "without" if chapters else "with"
        raise UsageError(f"{folder} holds no finished {what}; try {other} --chapters")
    base = base_url.rstrip("/") + "/"
    cover = next((picture for picture in _COVERS if (folder / picture).is_file()), "")
    show = feeds.Show(
        url=base + name,
        link=link or base,
        title=title or feeds.agreed([e.series or e.book for e in found]),
        description=description or feeds.agreed([e.description for e in found]),
        language=language or feeds.agreed([feeds.two_letters(e.language) for e in found]),
        author=author or feeds.agreed([e.authors for e in found]),
        category=tuple(part.strip() for part in category.split("/") if part.strip()),
        explicit=explicit,
        serial=chapters,
        image=image or (base + cover if cover else ""),
        copyright=copyright,
        guid=guid,
    )
    path = folder / name
    companions.update(path, feeds.text(show, found, folder, base, role=cast, season=season))
    out.print(f"{near(path)}  {counted(len(found), 'episode')}")
    if not show.image:
        err.print("without a cover, which Apple Podcasts asks for: add cover.jpg, or --image")
    if any(e.path.suffix.lower() not in (".mp3", ".m4a") for e in found):
        err.print("Apple Podcasts plays .mp3 and .m4a only: add mp3 to output.formats")
