"""An RSS 2.0 feed for a folder of finished files, to which podcast apps subscribe.

Each episode is an audio file; its description comes from the file's own tags, and from the
companions beside it. Uses the namespaces of Apple and of the podcast index. Knows where projects
lie, but not which of their files are current: the caller has to check.

https://www.rssboard.org/rss-specification

https://podcasters.apple.com/support/823-podcast-requirements

https://github.com/Podcastindex-org/podcast-namespace/blob/main/docs/1.0.md
"""

from __future__ import annotations

import html
import os
import re
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import product
from pathlib import Path
from string import ascii_lowercase
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from lxml import etree

from narrator import files as disk
from narrator.delivery import provenance
from narrator.delivery.companions import podcast
from narrator.delivery.export import three_letters
from narrator.errors import Problem, UserError
from narrator.project import load
from narrator.sound import media
from narrator.sound.formats import MEDIA_TYPES
from textbase.files import Unfit

TYPES = MEDIA_TYPES | {".m4a": "audio/x-m4a"}  # Apple's own name
"""Media types by ending; where an episode exists in several formats, the first of these is used."""

_TRANSCRIPTS = {"vtt": "text/vtt", "srt": "application/x-subrip"}
_COMPANION_ENDINGS = {"vtt": ".vtt", "srt": ".srt", "chapters": ".chapters.json"}
"""Endings of the companions that a feed refers to, by their names in `output.companions`."""
COMPANIONS = frozenset(_COMPANION_ENDINGS)
_SAMPLE_TITLE = "Retail sample"
"""Title of an excerpt of a book for shops."""
_ITUNES = "http://www.itunes.com/dtds/podcast-1.0.dtd"
_PODCAST = "https://podcastindex.org/namespace/1.0"
_ATOM = "http://www.w3.org/2005/Atom"
_GUID_NAMESPACE = uuid.UUID("ead4c236-bf58-58c6-a2c6-a6b28d128cb6")
"""The podcast namespace's UUID for the guids of feeds."""
_MAX_NAME_LENGTH = 128
"""Most characters of a person's name, by the podcast namespace."""
_INVALID_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML may not contain in any form (XML 1.0, 2.2)."""
_VTT_VOICE = re.compile(r"^<v ([^>\n]+)>", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Show:
    """The facts of a whole feed. All are required but for `image` and `copyright`."""

    url: str
    """Address of the feed itself."""
    link: str
    """Address of its web page."""
    title: str
    description: str
    language: str
    author: str
    category: tuple[str, ...]
    """One of Apple's categories, and one below it."""
    explicit: bool
    serial: bool
    """True where episodes should be heard from the first on."""
    image: str = ""
    copyright: str = ""
    guid: str = ""
    """The guid of a show that has moved; empty: made from `url`, which is permanent then."""

    @property
    def identity(self) -> str:
        """The guid of the show."""
        return self.guid or feed_guid(self.url)

    def completed(self, episodes: Sequence[Episode]) -> Show:
        """Returns the show with missing facts on which all episodes agree."""
        return replace(
            self,
            title=self.title or agreed([episode.series or episode.book for episode in episodes]),
            description=self.description or agreed([episode.description for episode in episodes]),
            language=self.language
            or agreed([two_letters(episode.language) for episode in episodes]),
            author=self.author or agreed([episode.authors for episode in episodes]),
        )


@dataclass(frozen=True, slots=True)
class Person:
    """A person whom listeners hear or read of; group and role of the podcast taxonomy."""

    name: str
    group: str
    role: str


@dataclass(frozen=True, slots=True)
class Episode:
    """A finished file, described by its tags and companions."""

    path: Path
    seconds: float
    bytes: int
    title: str
    book: str
    """Title of its album."""
    series: str
    track: int | None
    """Number of the chapter, in a file of one chapter."""
    section: int | None
    """Number of the part, for a book delivered in several."""
    part: int | None
    """Number of the book in its series."""
    authors: str
    narrators: str
    description: str
    language: str
    published: datetime
    dated: bool
    """True where its tags state the date; else it is the time of writing."""
    voices: tuple[str, ...]
    """Speakers in its WebVTT."""
    companions: Mapping[str, Path]
    """Files beside it, by kind: vtt, srt, chapters."""
    mark: Mapping[str, str]
    """The tags that state the origin of its sound."""

    @property
    def identity(self) -> tuple[str, str, str]:
        """Equal for files with the same episode, in other formats or made anew."""
        return (self.book, str(self.track or self.section or ""), self.title)


def feed_guid(url: str) -> str:
    """Returns `podcast:guid`: UUIDv5 of the feed's address without scheme and trailing slashes."""
    return str(uuid.uuid5(_GUID_NAMESPACE, url.partition("://")[2].rstrip("/") or url))


# -- what lies in a folder -------------------------------------------------------------------------


def find_sounds_and_manifests(folder: Path) -> tuple[list[Path], list[Path]]:
    """Returns the sound files under a folder, in order, and the manifests of projects there.

    Skips files within projects, and hidden ones. Raises StorageError.
    """
    with disk.translating_errors(folder):
        paths = sorted(_find_files(folder))
    manifest_paths = [path for path in paths if path.suffix in _YAML_ENDINGS]
    return [path for path in paths if path.suffix not in _YAML_ENDINGS], manifest_paths


_YAML_ENDINGS = (".yaml", ".yml")


def _find_files(folder: Path) -> Iterator[Path]:
    """Yields the manifests in a folder, or else the sound files under it."""
    visible = [path for path in folder.iterdir() if not path.name.startswith(".")]
    if projects := find_manifests(folder):
        yield from projects
        return
    for path in visible:
        if path.is_dir():
            yield from _find_files(path)
        elif path.suffix.lower() in TYPES and path.is_file():
            yield path


def find_manifests(folder: Path) -> list[Path]:
    """Returns the manifests in a folder, in order. Raises StorageError."""
    with disk.translating_errors(folder):
        return sorted(
            path
            for path in folder.iterdir()
            if path.suffix in _YAML_ENDINGS
            and not path.name.startswith(".")
            and path.is_file()
            and load.is_manifest(path)
        )


def episodes(files: Mapping[Path, Collection[str]], *, chapters: bool) -> list[Episode]:
    """Returns files as episodes, oldest first: chapters, or else whole books and their parts.

    Each file comes with the kinds of companions (`COMPANIONS`) to use. Retail samples are no
    episodes. Raises UserError for a file that cannot be read.
    """
    episodes_by_identity: dict[tuple[str, str, str], Episode] = {}
    for ending in TYPES:
        for path, kinds in files.items():
            if path.suffix.lower() == ending:
                episode = _read_episode(path, kinds)
                is_sample = episode.track is None and episode.title == _SAMPLE_TITLE
                if (episode.track is not None) == chapters and not is_sample:
                    episodes_by_identity.setdefault(episode.identity, episode)
    return sorted(_spread_times(list(episodes_by_identity.values())), key=_episode_order)


def _episode_order(episode: Episode) -> tuple[datetime, int, int, str]:
    """Sorts episodes by date, book and number."""
    number = episode.track or episode.section or 0
    return episode.published, episode.part or 0, number, episode.title


def _spread_times(undated_or_dated: Sequence[Episode]) -> Iterator[Episode]:
    """Dates the files of a book a minute apart, so that apps list them in their order.

    Files without a date in their tags were written in any order: all of a book get the day of the
    first, from midnight on, since apps hide episodes of the future.
    """
    first_written: dict[str, datetime] = {}
    for episode in undated_or_dated:
        if not episode.dated:
            first_time = first_written.get(episode.book, episode.published)
            first_written[episode.book] = min(first_time, episode.published)
    for episode in undated_or_dated:
        number = episode.track or episode.section or 0
        published = episode.published
        if number and episode.book and not episode.dated:
            published = first_written[episode.book].replace(hour=0, minute=0, second=0)
        try:
            yield replace(episode, published=published + timedelta(minutes=number))
        except OverflowError:  # in the last minutes of the year 9999
            yield episode


def _read_episode(path: Path, kinds: Collection[str]) -> Episode:
    """Reads the tags and companions of a file. Raises UserError."""
    companions = {
        kind: companion
        for kind, ending in _COMPANION_ENDINGS.items()
        if kind in kinds and (companion := _find_companion(path, ending))
    }
    try:
        tags, seconds = _read_tags(path)
        file_status = path.stat()
        captions = companions.get("vtt")
        voices = _VTT_VOICE.findall(captions.read_text("utf-8")) if captions else []
    except (Unfit, OSError, UnicodeDecodeError) as error:
        raise UserError(Problem(path, None, f"cannot be read as an episode: {error}")) from None
    title, book = tags.get("title") or _remove_invalid(path.stem), tags.get("album", "")
    track_number = _parse_number(tags.get("track", "").partition("/")[0])
    # a part of a book has a number among parts, like a chapter among chapters
    is_part = track_number is not None and title == f"{book}, part {track_number}"
    published_day = _parse_day(tags.get("releasedate", "")) or _parse_day(tags.get("date", ""))
    return Episode(
        path=path,
        seconds=seconds,
        bytes=file_status.st_size,
        title=title,
        book=book,
        series=tags.get("series", ""),
        track=None if is_part else track_number,
        section=track_number if is_part else None,
        part=_parse_number(tags.get("series-part", "")),
        authors=tags.get("artist", ""),
        narrators=tags.get("composer", ""),
        description=tags.get("description") or tags.get("comment", ""),
        language=tags.get("language", ""),
        published=published_day or datetime.fromtimestamp(int(file_status.st_mtime), UTC),
        dated=published_day is not None,
        voices=tuple(dict.fromkeys(_remove_invalid(html.unescape(voice)) for voice in voices)),
        companions=companions,
        mark=provenance.read_mark(tags),
    )


def _read_tags(path: Path) -> tuple[dict[str, str], float]:
    """Returns a file's tags by lower-case name, and its seconds. Raises Unfit, OSError."""
    with media.open_sound(path) as container:
        streams = container.streams.audio  # Ogg has its tags in the stream
        tags = media.tags(container.metadata, *(stream.metadata for stream in streams))
        seconds = (container.duration or 0) / 1_000_000
    return {name.casefold(): _remove_invalid(text) for name, text in tags.items()}, seconds


def _remove_invalid(text: str) -> str:
    """Removes characters that XML may not contain: foreign tags have control characters."""
    return _INVALID_XML.sub("", text)


def _parse_number(text: str) -> int | None:
    """Parses a number of up to six digits; None for anything else."""
    return int(text) if re.fullmatch(r"[0-9]{1,6}", text) else None


def _parse_day(text: str) -> datetime | None:
    """Parses an ISO 8601 date; a year or month stands for its first day."""
    if re.fullmatch(r"\d{4}(-\d{2})?", text):
        text = f"{text}-01-01"[:10]
    try:
        day = datetime.fromisoformat(text)
        return day.replace(tzinfo=UTC) if day.tzinfo is None else day.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _find_companion(path: Path, ending: str) -> Path | None:
    """Returns the file beside a sound file under its name, or under its name and format."""
    stems = (path.stem, f"{path.stem} ({path.suffix[1:]})")
    candidates = (path.with_name(stem + ending) for stem in stems)
    return next((candidate for candidate in candidates if candidate.is_file()), None)


def agreed(texts: Sequence[str]) -> str:
    """Returns the text on which all agree; "" where they differ."""
    distinct = set(texts)
    return distinct.pop() if len(distinct) == 1 else ""


def two_letters(language: str) -> str:
    """Converts ISO 639-2 to ISO 639-1, "eng" of MP3 to "en"; returns other codes unchanged."""
    if len(language) != 3:
        return language
    pairs = ("".join(pair) for pair in product(ascii_lowercase, repeat=2))
    return next((pair for pair in pairs if three_letters(pair) == language.lower()), language)


# -- the feed --------------------------------------------------------------------------------------


def build_feed(
    show: Show,
    episodes_in_order: Sequence[Episode],
    folder: Path,
    base: str,
    *,
    role: str = "",
    season: int = 0,
) -> bytes:
    """Returns the feed of episodes in `folder`, which the web has at `base`; newest first.

    `role` is that of the speakers ("host"); with "" they are not named. Raises UserError where a
    show lacks facts that RSS or Apple requires.
    """
    _check_show(show, role)
    namespaces = {"itunes": _ITUNES, "podcast": _PODCAST, "atom": _ATOM}
    rss = etree.Element("rss", nsmap=namespaces, version="2.0")
    channel = etree.SubElement(rss, "channel")
    for tag in ("title", "link", "description", "language"):
        _add_text(channel, tag, getattr(show, tag))
    media_type = "application/rss+xml"
    etree.SubElement(channel, f"{{{_ATOM}}}link", href=show.url, rel="self", type=media_type)
    _add_text(channel, "copyright", show.copyright)
    _add_text(channel, "generator", _GENERATOR)
    if episodes_in_order:
        _add_text(channel, "pubDate", format_datetime(max(e.published for e in episodes_in_order)))
    _add_text(channel, f"{{{_ITUNES}}}author", show.author)
    _add_text(channel, f"{{{_ITUNES}}}explicit", _format_bool(show.explicit))
    _add_text(channel, f"{{{_ITUNES}}}type", "serial" if show.serial else "episodic")
    parent = channel
    for name in show.category:
        parent = etree.SubElement(parent, f"{{{_ITUNES}}}category", text=name)
    if show.image:
        etree.SubElement(channel, f"{{{_ITUNES}}}image", href=show.image)
        image = etree.SubElement(channel, "image")
        _add_text(image, "url", show.image)
        _add_text(image, "title", show.title)
        _add_text(image, "link", show.link)
    _add_text(channel, f"{{{_PODCAST}}}guid", show.identity)
    for episode in reversed(episodes_in_order):
        _add_item(channel, show, episode, folder, base, role, season)
    feed_xml: bytes = etree.tostring(rss, xml_declaration=True, encoding="UTF-8", pretty_print=True)
    return feed_xml


def _add_item(
    channel: Any, show: Show, episode: Episode, folder: Path, base: str, role: str, season: int
) -> None:
    """Adds an episode to the channel."""

    def web_address(path: Path) -> str:
        relative_path = path.relative_to(folder).as_posix()
        return base.rstrip("/") + "/" + quote(os.fsencode(relative_path))

    episode_number = episode.track if episode.track is not None else episode.part
    if episode.section:  # one number cannot state both the book of a series and its part
        episode_number = None if episode.part else episode.section
    guid = uuid.uuid5(uuid.UUID(show.identity), "\n".join(episode.identity))
    enclosure = {
        "url": web_address(episode.path),
        "length": str(episode.bytes),
        "type": TYPES[episode.path.suffix.lower()],
    }
    item_element = etree.SubElement(channel, "item")
    _add_text(item_element, "title", episode.title)
    _add_text(item_element, "description", episode.description)
    etree.SubElement(item_element, "enclosure", enclosure)
    etree.SubElement(item_element, "guid", isPermaLink="false").text = str(guid)
    _add_text(item_element, "pubDate", format_datetime(episode.published))
    for name, text in (
        ("title", episode.title),
        ("author", episode.authors),
        ("duration", str(round(episode.seconds))),
        ("explicit", _format_bool(show.explicit)),
        ("episodeType", "full"),
    ):
        _add_text(item_element, f"{{{_ITUNES}}}{name}", text)
    for name, number in (("season", season), ("episode", episode_number)):
        for namespace in (_ITUNES, _PODCAST):
            _add_text(item_element, f"{{{namespace}}}{name}", str(number or ""))
    for kind, media_type in _TRANSCRIPTS.items():
        if path := episode.companions.get(kind):
            attributes = {"url": web_address(path), "type": media_type, "rel": "captions"}
            etree.SubElement(item_element, f"{{{_PODCAST}}}transcript", attributes)
    if path := episode.companions.get("chapters"):
        attributes = {"url": web_address(path), "type": podcast.TYPE}
        etree.SubElement(item_element, f"{{{_PODCAST}}}chapters", attributes)
    for purpose, text in _origin_texts(episode):
        element = etree.SubElement(item_element, f"{{{_PODCAST}}}txt", purpose=purpose)
        element.text = text
    for person in _episode_people(episode, role):
        attributes = {"group": person.group, "role": person.role}
        element = etree.SubElement(item_element, f"{{{_PODCAST}}}person", attributes)
        element.text = person.name[:_MAX_NAME_LENGTH]


def _origin_texts(episode: Episode) -> Iterator[tuple[str, str]]:
    """Yields purpose and text of the elements that state the origin of an episode's sound.

    `ai-content` is what feeds of others use for sound of trained models; it is not in the podcast
    namespace's own text.
    """
    if provenance.source_type(episode.mark) in provenance.SYNTHETIC_TYPES:
        yield "ai-content", "true"
    yield from episode.mark.items()


def _episode_people(episode: Episode, role: str) -> list[Person]:
    """Returns the people of an episode: its speakers (with `role`), narrators and authors."""
    credits = (
        ("cast", role, episode.voices if role else ()),
        ("cast", "narrator", episode.narrators.split(", ")),
        ("writing", "author", episode.authors.split(", ")),
    )
    return [Person(name, group, role) for group, role, names in credits for name in names if name]


def referenced_files(path: Path) -> set[Path]:
    """Returns the files that a feed of ours refers to, as they lie under its folder; none for any
    other file."""
    try:
        root = etree.parse(path, _PARSER).getroot()
        if root.findtext("channel/generator") != _GENERATOR:
            return set()
        addresses = [
            urlsplit(enclosure.get("url", "")).path for enclosure in root.iter("enclosure")
        ]
        feed_url = next((link.get("href", "") for link in root.iter(f"{{{_ATOM}}}link")), "")
        folder = urlsplit(feed_url).path.rpartition("/")[0] + "/"
        return {path.parent / unquote(address.removeprefix(folder)) for address in addresses}
    except (OSError, ValueError, etree.XMLSyntaxError):
        return set()


_GENERATOR = "narrator"
_PARSER = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)


def _check_show(show: Show, role: str) -> None:
    """Raises UserError for missing or invalid facts."""
    for name in ("title", "description", "language", "author"):
        if not getattr(show, name).strip():
            raise UserError(f"the feed has no {name}, and its files do not agree on one; "
                            f"give it with --{name}")  # fmt: skip
    for text in (show.title, show.description, show.language, show.author, show.link, show.url,
                 show.image, show.copyright, role, *show.category):  # fmt: skip
        if _INVALID_XML.search(text):
            raise UserError(f"{text!r} has a control character in it, which no feed may have")
    for name, url in (("base-url", show.url), ("link", show.link)):
        if not _is_address(url):
            raise UserError(f"--{name}: {url!r} is not an address on the web (https://…)")
    if show.guid:
        try:
            uuid.UUID(show.guid)
        except ValueError:
            raise UserError(f"--guid: {show.guid!r} is not a UUID") from None


def _is_address(url: str) -> bool:
    """Returns whether a string is a web address."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.netloc)


def _add_text(parent: Any, tag: str, text: str) -> None:
    """Adds an element with text, unless that is empty."""
    if text:
        etree.SubElement(parent, tag).text = text


def _format_bool(flag: bool) -> str:
    return "true" if flag else "false"
