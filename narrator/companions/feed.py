"""An RSS 2.0 feed for a folder of finished files: what podcast apps subscribe to.

Each episode is an audio file; what the feed says of it stands in the file's own tags, and in the
companions beside it. With the namespaces of Apple and of the podcast index. Knows no projects.

https://www.rssboard.org/rss-specification
https://podcasters.apple.com/support/823-podcast-requirements
https://github.com/Podcastindex-org/podcast-namespace/blob/main/docs/1.0.md
"""

from __future__ import annotations

import html
import re
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from email.utils import format_datetime
from itertools import product
from pathlib import Path
from string import ascii_lowercase
from typing import Any
from urllib.parse import quote, urlsplit

import av
from lxml import etree

from narrator import files as disk
from narrator.companions import podcast
from narrator.errors import Problem, UserError
from narrator.export import three_letters

TYPES = {
    ".mp3": "audio/mpeg",
    ".m4a": "audio/x-m4a",
    ".m4b": "audio/mp4",
    ".opus": "audio/ogg",
    ".flac": "audio/flac",
    ".wav": "audio/wav",
}
"""By ending; where an episode lies there in several, the first of these is taken."""

_TRANSCRIPTS = {".vtt": "text/vtt", ".srt": "application/x-subrip"}
_ITUNES = "http://www.itunes.com/dtds/podcast-1.0.dtd"
_PODCAST = "https://podcastindex.org/namespace/1.0"
_ATOM = "http://www.w3.org/2005/Atom"
_GUIDS = uuid.UUID("ead4c236-bf58-58c6-a2c6-a6b28d128cb6")
"""The podcast namespace's own, for the guids of feeds."""
_LONGEST_NAME = 128
"""Characters of a person's name, as the podcast namespace asks."""
_VOICE = re.compile(r"^<v ([^>\n]+)>", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Show:
    """What a feed says of the whole. All of it is needed but for `image` and `copyright`."""

    url: str
    """Of the feed itself."""
    link: str
    """Of its page."""
    title: str
    description: str
    language: str
    author: str
    category: tuple[str, ...]
    """One of Apple's, and one below it."""
    explicit: bool
    serial: bool
    """Whether episodes are to be heard from the first on."""
    image: str = ""
    copyright: str = ""
    guid: str = ""
    """That of a show that has moved; empty: made from `url`, which fixes it for good."""

    @property
    def identity(self) -> str:
        return self.guid or feed_guid(self.url)


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody whom listeners hear or read of; group and role of the podcast taxonomy."""

    name: str
    group: str
    role: str


@dataclass(frozen=True, slots=True)
class Episode:
    """A finished file, as its tags and its companions describe it."""

    path: Path
    seconds: float
    bytes: int
    title: str
    book: str
    """Its album."""
    series: str
    track: int | None
    """Number of the chapter, in a file that is one."""
    part: int | None
    """Number of the book in its series."""
    authors: str
    narrators: str
    description: str
    language: str
    published: datetime
    voices: tuple[str, ...]
    """Who speaks, by its WebVTT."""

    @property
    def identity(self) -> tuple[str, str, str]:
        """What makes two files the same episode, in other formats or made anew."""
        return (self.book, str(self.track or ""), self.title)


def feed_guid(url: str) -> str:
    """`podcast:guid`: UUIDv5 of the feed's address without scheme and trailing slashes."""
    return str(uuid.uuid5(_GUIDS, url.partition("://")[2].rstrip("/") or url))


# -- what lies in a folder -------------------------------------------------------------------------


def episodes(folder: Path, *, chapters: bool, draft: bool = False) -> list[Episode]:
    """The finished files under a folder, oldest first: whole books, or else their chapters.

    Hidden folders are passed over, and of a project's `build` all but its finished files, those of
    the draft voice with `draft`. Raises UserError for a file that cannot be read.
    """
    found: dict[tuple[str, str, str], Episode] = {}
    with disk.storage(folder):
        paths = sorted(_finished(folder, "draft" if draft else "book"))
    for ending in TYPES:
        for path in paths:
            if path.suffix.lower() == ending:
                episode = _episode(path)
                if (episode.track is not None) == chapters:
                    found.setdefault(episode.identity, episode)
    return sorted(found.values(), key=lambda e: (e.published, e.part or 0, e.track or 0, e.title))


def _finished(folder: Path, kind: str) -> Iterator[Path]:
    is_project = (folder / "book.yaml").is_file()
    for path in folder.iterdir():
        if path.name.startswith("."):
            continue
        if path.is_file():
            yield path
        elif not (is_project and path.name == "build"):
            yield from _finished(path, kind)
        elif (path / kind).is_dir():
            yield from _finished(path / kind, kind)


def _episode(path: Path) -> Episode:
    try:
        with av.open(str(path)) as container:
            tags = {name.casefold(): value for name, value in container.metadata.items()}
            for stream in container.streams.audio:  # Ogg's tags are its stream's
                tags |= {name.casefold(): value for name, value in stream.metadata.items()}
            seconds = (container.duration or 0) / 1_000_000
        stat = path.stat()
        captions = _companion(path, ".vtt")
        voices = _VOICE.findall(captions.read_text("utf-8")) if captions else []
    except (av.FFmpegError, OSError, UnicodeDecodeError) as error:
        raise UserError(Problem(path, None, f"cannot be read as an episode: {error}")) from None
    track = _number(tags.get("track", "").partition("/")[0])
    return Episode(
        path=path,
        seconds=seconds,
        bytes=stat.st_size,
        title=tags.get("title") or path.stem,
        book=tags.get("album", ""),
        series=tags.get("series", ""),
        track=track,
        part=_number(tags.get("series-part", "")),
        authors=tags.get("artist", ""),
        narrators=tags.get("composer", ""),
        description=tags.get("description") or tags.get("comment", ""),
        language=tags.get("language", ""),
        published=_published(tags.get("date", ""), stat.st_mtime, track),
        voices=tuple(dict.fromkeys(map(html.unescape, voices))),
    )


def _number(text: str) -> int | None:
    return int(text) if re.fullmatch(r"[0-9]{1,6}", text) else None


def _published(day: str, written: float, track: int | None) -> datetime:
    """The day that the tags name, a minute later for each chapter, else when it was written."""
    try:
        start = datetime.combine(date.fromisoformat(day), time(), UTC)
    except ValueError:
        return datetime.fromtimestamp(int(written), UTC)
    return start + timedelta(minutes=track or 0)


def _companion(path: Path, ending: str) -> Path | None:
    """What lies beside a file under its name, or under its name and format."""
    stems = (path.stem, f"{path.stem} ({path.suffix[1:]})")
    places = (path.with_name(stem + ending) for stem in stems)
    return next((place for place in places if place.is_file()), None)


def agreed(values: Sequence[str]) -> str:
    """What all say, or nothing."""
    distinct = set(values)
    return distinct.pop() if len(distinct) == 1 else ""


def two_letters(language: str) -> str:
    """ "en" of ISO 639-2's "eng", which MP3 has; what is no such code comes back as it is."""
    if len(language) != 3:
        return language
    pairs = ("".join(pair) for pair in product(ascii_lowercase, repeat=2))
    return next((pair for pair in pairs if three_letters(pair) == language.lower()), language)


# -- the feed --------------------------------------------------------------------------------------


def text(
    show: Show,
    found: Sequence[Episode],
    folder: Path,
    base: str,
    *,
    role: str = "",
    season: int = 0,
) -> bytes:
    """The feed of episodes that lie in `folder`, which the web has at `base`; newest first.

    `role` is what the speakers are ("host"); empty: they are not named. Raises UserError where a
    show lacks what RSS or Apple asks for.
    """
    _check(show)
    names = {"itunes": _ITUNES, "podcast": _PODCAST, "atom": _ATOM}
    rss = etree.Element("rss", nsmap=names, version="2.0")
    channel = etree.SubElement(rss, "channel")
    _say(channel, "title", show.title)
    _say(channel, "link", show.link)
    _say(channel, "description", show.description)
    _say(channel, "language", show.language)
    kind = "application/rss+xml"
    etree.SubElement(channel, f"{{{_ATOM}}}link", href=show.url, rel="self", type=kind)
    _say(channel, "copyright", show.copyright)
    _say(channel, "generator", "narrator")
    if found:
        _say(channel, "pubDate", format_datetime(max(e.published for e in found)))
    _say(channel, f"{{{_ITUNES}}}author", show.author)
    _say(channel, f"{{{_ITUNES}}}explicit", _yes(show.explicit))
    _say(channel, f"{{{_ITUNES}}}type", "serial" if show.serial else "episodic")
    parent = channel
    for name in show.category:
        parent = etree.SubElement(parent, f"{{{_ITUNES}}}category", text=name)
    if show.image:
        etree.SubElement(channel, f"{{{_ITUNES}}}image", href=show.image)
        image = etree.SubElement(channel, "image")
        _say(image, "url", show.image)
        _say(image, "title", show.title)
        _say(image, "link", show.link)
    _say(channel, f"{{{_PODCAST}}}guid", show.identity)
    for episode in reversed(found):
        _item(channel, show, episode, folder, base, role, season)
    data: bytes = etree.tostring(rss, xml_declaration=True, encoding="UTF-8", pretty_print=True)
    return data


def _item(
    channel: Any, show: Show, episode: Episode, folder: Path, base: str, role: str, season: int
) -> None:
    def address(path: Path) -> str:
        return base.rstrip("/") + "/" + quote(path.relative_to(folder).as_posix())

    item = etree.SubElement(channel, "item")
    _say(item, "title", episode.title)
    _say(item, "description", episode.description)
    etree.SubElement(
        item,
        "enclosure",
        url=address(episode.path),
        length=str(episode.bytes),
        type=TYPES[episode.path.suffix.lower()],
    )
    own = uuid.uuid5(uuid.UUID(show.identity), "\n".join(episode.identity))
    etree.SubElement(item, "guid", isPermaLink="false").text = str(own)
    _say(item, "pubDate", format_datetime(episode.published))
    _say(item, f"{{{_ITUNES}}}title", episode.title)
    _say(item, f"{{{_ITUNES}}}author", episode.authors)
    _say(item, f"{{{_ITUNES}}}duration", str(round(episode.seconds)))
    _say(item, f"{{{_ITUNES}}}explicit", _yes(show.explicit))
    _say(item, f"{{{_ITUNES}}}episodeType", "full")
    number = episode.track if episode.track is not None else episode.part
    if season:
        _say(item, f"{{{_ITUNES}}}season", str(season))
        _say(item, f"{{{_PODCAST}}}season", str(season))
    if number:
        _say(item, f"{{{_ITUNES}}}episode", str(number))
        _say(item, f"{{{_PODCAST}}}episode", str(number))
    for ending, kind in _TRANSCRIPTS.items():
        if path := _companion(episode.path, ending):
            facts = {"url": address(path), "type": kind, "rel": "captions"}
            etree.SubElement(item, f"{{{_PODCAST}}}transcript", facts)
    if path := _companion(episode.path, ".chapters.json"):
        facts = {"url": address(path), "type": podcast.TYPE}
        etree.SubElement(item, f"{{{_PODCAST}}}chapters", facts)
    for person in _people(episode, role):
        facts = {"group": person.group, "role": person.role}
        element = etree.SubElement(item, f"{{{_PODCAST}}}person", facts)
        element.text = person.name[:_LONGEST_NAME]


def _people(episode: Episode, role: str) -> list[Person]:
    found = [Person(name, "cast", role) for name in episode.voices if role]
    found += [Person(n, "cast", "narrator") for n in episode.narrators.split(", ") if n]
    return found + [Person(n, "writing", "author") for n in episode.authors.split(", ") if n]


def _check(show: Show) -> None:
    for name in ("title", "description", "language", "author"):
        if not getattr(show, name).strip():
            raise UserError(f"the feed has no {name}, and its files do not agree on one; "
                            f"give it with --{name}")  # fmt: skip
    for name, url in (("base-url", show.url), ("link", show.link)):
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise UserError(f"--{name}: {url!r} is no address on the web (https://…)")
    if show.guid:
        try:
            uuid.UUID(show.guid)
        except ValueError:
            raise UserError(f"--guid: {show.guid!r} is no UUID") from None


def _say(parent: Any, name: str, text: str) -> None:
    if text:
        etree.SubElement(parent, name).text = text


def _yes(answer: bool) -> str:
    return "true" if answer else "false"
