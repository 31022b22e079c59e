"""The command that publishes: feed."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from narrator.cli.planning import load_plan
from narrator.cli.progress import stage
from narrator.cli.shared import app, display_path, err, out
from narrator.errors import UsageError
from narrator.quantities import pluralize

if TYPE_CHECKING:
    from narrator.delivery.companions.feed import Episode, Show

_ENGINES = ("", "draft")
"""Engines whose finished files a feed may contain: the manifest's, and the draft voice."""
_COVERS = ("cover.jpg", "cover.jpeg", "cover.png")


@app.command()
def feed(
    folder: Annotated[
        Path, typer.Argument(help="A folder of finished files, a project, or a folder of projects.")
    ],
    base_url: Annotated[
        str, typer.Option("--base-url", help="The address of that folder on the web.")
    ],
    chapters: Annotated[
        bool, typer.Option("--chapters", help="Make each chapter an episode, not each book.")
    ] = False,
    title: Annotated[
        str,
        typer.Option(help="The title of the show; by default the series or the book of the files."),
    ] = "",
    description: Annotated[
        str, typer.Option(help="The description of the show; by default that of the files.")
    ] = "",
    author: Annotated[
        str, typer.Option(help="The author of the show; by default that of the files.")
    ] = "",
    language: Annotated[
        str,
        typer.Option(help="The language of the show, such as en-GB; by default that of the files."),
    ] = "",
    link: Annotated[
        str, typer.Option(help="The address of the show's page; by default --base-url.")
    ] = "",
    image: Annotated[
        str, typer.Option(help="The address of the cover; by default cover.jpg in the folder.")
    ] = "",
    category: Annotated[str, typer.Option(help="A category of Apple Podcasts.")] = "Arts/Books",
    explicit: Annotated[
        bool, typer.Option("--explicit", help="Mark the show as not for children.")
    ] = False,
    season: Annotated[int, typer.Option(help="The season of all episodes.", min=0)] = 0,
    cast: Annotated[
        str, typer.Option(help="Name the speakers in this role: host, guest, voice actor.")
    ] = "",
    guid: Annotated[str, typer.Option(help="The GUID of a show that moves here.")] = "",
    copyright: Annotated[str, typer.Option(help="A copyright notice.")] = "",
    name: Annotated[str, typer.Option("--name", help="The name of the feed's file.")] = "feed.xml",
) -> None:
    """Write an RSS feed for a folder of finished files: a podcast."""
    from narrator.delivery import companions
    from narrator.delivery.companions import feed as feeds

    if not folder.is_dir():
        raise UsageError(f"{folder} is no folder")
    folder = Path(os.path.abspath(folder))  # a link stays what the web has it as
    episodes = feeds.episodes(_find_finished_files(folder), chapters=chapters)
    if not episodes:
        raise _nothing_to_publish(folder, of_chapters=chapters)
    base = base_url.rstrip("/") + "/"
    cover = next((base + picture for picture in _COVERS if (folder / picture).is_file()), "")
    show = feeds.Show(
        url=base + name,
        link=link or base,
        title=title,
        description=description,
        language=language,
        author=author,
        category=tuple(part.strip() for part in category.split("/") if part.strip()),
        explicit=explicit,
        serial=chapters,
        image=image or cover,
        copyright=copyright,
        guid=guid,
    ).completed(episodes)
    path = folder / name
    companions.update(
        path, feeds.build_feed(show, episodes, folder, base, role=cast, season=season)
    )
    _record_feed(path)
    out.print(f"{display_path(path)}  {pluralize(len(episodes), 'episode')}")
    _print_missing_facts(show, episodes)


def _record_feed(path: Path) -> None:
    """Records a feed among a project's finished files in its list of files."""
    from narrator.delivery import products
    from narrator.delivery.companions import feed as feeds
    from narrator.project import load

    build = next((parent for parent in path.parents if parent.name == "build"), None)
    for manifest in feeds.find_manifests(build.parent) if build else ():
        project = load.load(manifest)
        for engine in _ENGINES:
            products.record_feed(project.spoken_by(engine), path)


def _nothing_to_publish(folder: Path, *, of_chapters: bool) -> UsageError:
    """Returns the error of a folder without finished files of the wanted kind."""
    from narrator.project.other_engine import chosen_engine

    kind, advice = ("chapters", "without") if of_chapters else ("books", "with")
    drafts = "" if chosen_engine() == "draft" else "; a draft's with --draft"
    return UsageError(
        f"{display_path(folder)} holds no finished {kind}; try {advice} --chapters{drafts}"
    )


def _print_missing_facts(show: Show, episodes: Sequence[Episode]) -> None:
    """Prints the facts that podcast apps will miss."""
    if undated := sum(not episode.dated for episode in episodes):
        err.print(
            f"{pluralize(undated, 'episode')} without a date: the time of the file is used, which "
            "changes when the file is made again; set `date` in the manifest"
        )
    if not show.image:
        err.print("without a cover, which Apple Podcasts asks for: add cover.jpg, or --image")
    if any(episode.path.suffix.lower() not in (".mp3", ".m4a") for episode in episodes):
        err.print("Apple Podcasts plays .mp3 and .m4a only: add mp3 to output.formats")


def _find_finished_files(folder: Path) -> dict[Path, Collection[str]]:
    """Returns the finished files under a folder, and the kinds of companions that belong to each.

    Files of projects that are out of date are left out, with a message. Within a project's `build`
    files of both the manifest's engine and the draft voice are found.
    """
    from narrator.delivery.companions import feed as feeds
    from narrator.project.other_engine import chosen_engine

    build = next((p for p in (folder, *folder.parents) if p.name == "build"), None)
    if build is not None and (project_manifests := feeds.find_manifests(build.parent)):
        project_files = _finished_files_of(project_manifests, _ENGINES)
        return {path: kinds for path, kinds in project_files.items() if path.is_relative_to(folder)}
    loose_files, manifests = feeds.find_sounds_and_manifests(folder)
    return dict.fromkeys(loose_files, feeds.COMPANIONS) | _finished_files_of(
        manifests, (chosen_engine(),)
    )


def _finished_files_of(
    manifests: Sequence[Path], engines: Sequence[str]
) -> dict[Path, Collection[str]]:
    from narrator.delivery import products
    from narrator.delivery.companions import feed as feeds
    from narrator.delivery.folders import Folders
    from narrator.pipeline.options import RenderOptions
    from narrator.project import load

    finished: dict[Path, Collection[str]] = {}
    with stage(err, "reading projects"):
        for path in manifests:
            project = load.load(path)
            kinds = feeds.COMPANIONS & set(project.manifest.output.companions)
            renditions = {
                rendition.other_engine: rendition for rendition in map(project.spoken_by, engines)
            }
            for engine, rendition in renditions.items():
                if not Folders(rendition).sounds():
                    continue  # nothing to ask for, so no engine is needed
                options = RenderOptions(engine=engine)
                for file, note in products.list_sound_files(load_plan(path, options)):
                    if note:
                        err.print(f"{display_path(file)}: left out: {note}")
                    else:
                        finished[file] = kinds
    return finished
