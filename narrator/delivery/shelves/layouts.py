"""Arranges finished files in the folder layouts of apps.

A layout is a row of `LAYOUTS`. Knows nothing of how files are sent.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from narrator import files
from narrator.delivery import products
from narrator.delivery.export.names import path_of
from narrator.delivery.finish import book_facts
from narrator.delivery.layout import RenderedBook, spoken_chapters
from narrator.delivery.output_manifest import MadeFile, content_facts
from narrator.delivery.shelves.sending import FEED_SUFFIX, Item, Step
from narrator.errors import UsageError
from narrator.project.facts import BookFacts
from narrator.project.profiles import Profile
from narrator.quantities import pluralize
from narrator.sound.formats import OUTPUT_SUFFIXES


@dataclass(frozen=True, slots=True)
class Layout:
    """The files of a book that an app reads, and their folders."""

    name: str
    folder: str
    """Template of the book's folder, with the fields of file names; empty for none."""
    formats: tuple[str, ...]
    """Formats that it plays, best first; the first that exists is sent."""
    has_chapter_files: bool = True
    """True if the book may be sent as chapter files or parts where there is no single file."""
    book_name: str = ""
    """Template of the name of the book's file; empty to keep the name of the finished file."""
    has_cover: bool = True
    """True if it reads `cover.jpg` or `cover.png` beside the audio."""
    has_epub: bool = False
    has_opf: bool = False
    """True if it reads the facts of a book from `metadata.opf`."""
    advice: str = ""
    """How to import the folder into an app that does not find it by itself."""
    next_advice: str = ""
    """The same for a book that was delivered before; empty for `advice`."""


# without --automerge, a book that is in the library in another format is refused
_CALIBREDB = (
    "`calibredb add --automerge {merge} --recurse --one-book-per-directory "
    '--add "*.{{suffix}}" "{{folder}}"`'
)

LAYOUTS: Mapping[str, Layout] = {
    layout.name: layout
    for layout in (
        # audiobookshelf.org, "Book Library Structure"
        Layout(
            "audiobookshelf",
            "{author}/{series}/{title}",
            ("m4b", "mp3", "opus", "flac", "wav"),
            has_epub=True,
        ),
        # Plex has no audiobooks: a music library, artist/album, covers by "Local Media Assets"
        Layout("plex", "{author}/{title}", ("m4b", "mp3", "flac", "opus", "wav")),
        # jellyfin.org, "Books": a folder for each book, facts from the tags; no read-alongs
        Layout("jellyfin", "{author}/{title}", ("m4b", "mp3", "flac", "opus", "wav")),
        # Books on a Mac imports each file as a separate book
        Layout(
            "apple-books",
            "",
            ("m4b",),
            has_chapter_files=False,
            book_name="{author} - {title}",
            has_cover=False,
            has_epub=True,
            advice="drag the files onto the Books app",
            next_advice="if the Books app has an earlier version, delete it there; then drag the "
            "files onto the app",
        ),
        # manual.calibre-ebook.com, "calibredb add": sound only with --add; metadata.opf is read
        Layout(
            "calibre",
            "{author}/{title}",
            ("m4b", "mp3", "flac", "opus", "wav"),
            has_chapter_files=False,
            book_name="{title}",
            has_epub=True,
            has_opf=True,
            advice=f"{_CALIBREDB.format(merge='ignore')} adds it",
            next_advice=f"{_CALIBREDB.format(merge='overwrite')} adds it, or replaces the earlier "
            "files",
        ),
    )
}


def arrange(book: RenderedBook, layout: Layout, profile_name: str = "") -> list[Item]:
    """Returns the files of a book for a layout.

    `profile_name` chooses one of the book's profiles; empty for the one with the layout's name, or
    else the first that fits. Raises StorageError; UsageError if finished files are missing,
    outdated or altered.
    """
    facts = book_facts(book)
    made_files = dict(products.open_output_manifest(book.folders).finished())
    profile, sounds = _choose_sounds(book, layout, profile_name, made_files)
    epubs = _files_of(book, profile, made_files, "readalong") if layout.has_epub else []
    _require_intact(book, [*sounds, *epubs])
    folder = path_of(layout.folder, facts.in_names()) if layout.folder else Path()

    def name_of(path: Path, is_book: bool) -> str:
        stem = layout.book_name if is_book else ""
        file_name = f"{path_of(stem, facts.in_names())}{path.suffix}" if stem else path.name
        return (folder / file_name).as_posix()

    sources = [(path, name_of(path, len(sounds) == 1)) for path in sounds]
    sources += [(epub, name_of(epub, is_book=True)) for epub in epubs]
    if layout.has_cover and facts.cover:
        name = (folder / f"cover{facts.cover.suffix.lower()}").as_posix()
        sources.append((facts.cover, name))
    if layout.has_opf:
        sources.append((_write_opf(book), (folder / "metadata.opf").as_posix()))
    return [_item(path, name) for path, name in sources]


@dataclass(frozen=True, slots=True)
class ChapterMark:
    """A chapter in a file, in seconds."""

    title: str
    start: float
    end: float


def list_chapter_marks(book: RenderedBook, items: Sequence[Item]) -> list[ChapterMark]:
    """Returns the chapter marks of the whole book; none if it is sent in several files."""
    sounds = [item.source for item in items if item.source.suffix in OUTPUT_SUFFIXES]
    if len(sounds) != 1:
        return []
    entry = products.open_output_manifest(book.folders).entry(sounds[0])
    titles = [book.chapters[number].title for number in entry.chapters]
    starts = [float(start) for start in entry.facts["starts"]]
    ends = [*starts[1:], float(entry.facts["seconds"])]
    return [ChapterMark(*row) for row in zip(titles, starts, ends, strict=True)]


def mirror(book: RenderedBook) -> list[Item]:
    """Returns all visible files in the folder of finished files, feeds and the user's own among
    them, under their names there.

    Raises StorageError; UsageError if finished files are missing, outdated or altered, or if a feed
    refers to a missing file.
    """
    from narrator.delivery.companions import feed  # loads lxml

    root = book.folders.finished
    with files.translating_errors(root):
        paths = list(files.visible_files(root))
    outputs = products.open_output_manifest(book.folders)
    # a feed that is gone was dropped; any other file is missing
    made_paths = {path for path, entry in outputs.finished() if not entry.is_feed}
    made_paths |= {path for path in paths if outputs.lists(path)}
    if not any(path.suffix in OUTPUT_SUFFIXES for path in made_paths):
        raise _nothing_finished(book)
    _require_intact(book, made_paths)
    feeds = set[Path]()
    for path in paths:
        if path.suffix == FEED_SUFFIX and (episodes := feed.referenced_files(path)):
            feeds.add(path)
            if missing_episodes := sorted(str(episode) for episode in episodes - {*paths}):
                raise UsageError(
                    f"{path} refers to {missing_episodes[0]}, which does not exist; "
                    "`narrator feed` makes the feed again"
                )
    return [_item(path, path.relative_to(root).as_posix(), is_feed=path in feeds) for path in paths]


def list_old_feeds(items: Sequence[Item]) -> list[Path]:
    """Returns feeds that are older than audio that is sent with them. Raises StorageError."""
    times = dict[Path, float]()
    for item in items:
        with files.translating_errors(item.source):
            times[item.source] = item.source.stat().st_mtime
    latest = max((times[item.source] for item in items if item.step == Step.SOUND), default=0.0)
    return [item.source for item in items if item.step == Step.FEED and times[item.source] < latest]


def _item(path: Path, name: str, *, is_feed: bool = False) -> Item:
    """Returns a file to send. Raises StorageError."""
    with files.translating_errors(path):
        stamp = files.stamp(path)
        facts = content_facts(path)
    is_sound = path.suffix in OUTPUT_SUFFIXES or path.suffix.lower() in _PICTURES
    step = Step.FEED if is_feed else Step.SOUND if is_sound else Step.PAGES
    return Item(path, name, facts["size"], facts["sha256"], step, stamp)


_PICTURES = (".jpg", ".jpeg", ".png")


# -- finished files ----------------------------------------------------------------------


def _choose_sounds(
    book: RenderedBook, layout: Layout, profile_name: str, made_files: Mapping[Path, MadeFile]
) -> tuple[Profile, list[Path]]:
    """Returns a profile and those of its audio files that a layout needs, in order. Raises
    UsageError."""
    profiles = sorted(book.project.deliveries, key=lambda profile: profile.name != layout.name)
    if profile_name:
        profiles = [profile for profile in profiles if profile.name == profile_name]
        if not profiles:
            names = ", ".join(profile.name for profile in book.project.deliveries if profile.name)
            raise UsageError(
                f"--profile: the book is not made for {profile_name!r}; `output.profile` names "
                f"{names or 'no profile'}"
            )
    if not any(entry.chapters for entry in made_files.values()):
        raise _nothing_finished(book)
    if any(entry.chapters and not entry.kind for entry in made_files.values()):
        raise UsageError(
            "the finished files were made by an earlier version of narrator; nothing was sent: "
            f"`narrator export{book.folders.option}` brings their records up to date, and encodes "
            "nothing again"
        )
    for profile in profiles:
        for format in layout.formats:
            book_files = _files_of(book, profile, made_files, "book", format) or _complete_files(
                book, profile, made_files, "part", format
            )
            if len(book_files) == 1 or (book_files and layout.has_chapter_files):
                return profile, book_files
    if layout.has_chapter_files:
        for profile in profiles:
            for format in layout.formats:
                if paths := _complete_files(book, profile, made_files, "chapter", format):
                    return profile, paths
    formats = " or ".join(layout.formats[:2])
    unit = "the book" if layout.has_chapter_files else "the book in one file"
    raise UsageError(
        f"{layout.name} needs {unit} as {formats}, and no such file is finished; `output.formats` "
        f"sets the formats, and `narrator render{book.folders.option}` makes the files of a "
        "complete book"
    )


def _files_of(
    book: RenderedBook,
    profile: Profile,
    made_files: Mapping[Path, MadeFile],
    kind: str,
    format: str = "",
) -> list[Path]:
    """Returns the files of a kind in a profile's folder, in the order of their chapters."""
    folder = book.folders.finished / profile.name
    paths = [
        path
        for path, entry in made_files.items()
        if entry.kind == kind and path.is_relative_to(folder) and path.suffix.endswith(format)
    ]
    return sorted(paths, key=lambda path: made_files[path].chapters)


def _complete_files(
    book: RenderedBook,
    profile: Profile,
    made_files: Mapping[Path, MadeFile],
    kind: str,
    format: str,
) -> list[Path]:
    """Returns the files of a kind in order, if all chapters are in them."""
    paths = _files_of(book, profile, made_files, kind, format)
    chapters = {number for path in paths for number in made_files[path].chapters}
    return paths if chapters == spoken_chapters(book) else []


def _require_intact(book: RenderedBook, paths: Collection[Path]) -> None:
    """Raises UsageError if any of these finished files is missing, outdated or altered."""
    notes = [
        (path, note)
        for path, note in (*products.list_sound_files(book), *products.list_faulty_files(book))
        if note and path in paths
    ]
    if notes:
        path, note = notes[0]
        problem, _, remedy = note.partition("; ")
        others = f" (and {pluralize(len(notes) - 1, 'other')})" if notes[1:] else ""
        remedy = remedy or (
            f"`narrator export{book.folders.option}` makes it again, or "
            f"`narrator render{book.folders.option}` where the text has changed"
        )
        raise UsageError(f"{path.name}{others}: {problem}; nothing was sent: {remedy}")


def _nothing_finished(book: RenderedBook) -> UsageError:
    return UsageError(
        f"{book.folders.finished} has no finished files; `narrator render{book.folders.option}` "
        f"makes them{book.folders.hint_at_others()}"
    )


# -- metadata.opf ----------------------------------------------------------------------------------


def _write_opf(book: RenderedBook) -> Path:
    """Writes the facts of a book for Calibre into `build`; returns the file. Raises
    StorageError."""
    path = book.folders.delivered / "metadata.opf"
    data = build_opf(book_facts(book)).encode()
    with files.translating_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    files.write(path, data)
    return path


def build_opf(facts: BookFacts) -> str:
    """Returns the facts of a book as an OPF 2.0 package document, with Calibre's series."""
    rows = [("title", "", facts.title)]
    rows += [("creator", ' opf:role="aut"', author) for author in facts.authors]
    rows += [("contributor", ' opf:role="nrt"', name) for name in facts.narrators]
    rows += [
        ("language", "", facts.language),
        ("publisher", "", facts.publisher),
        ("date", "", facts.date),
        ("description", "", facts.description),
        ("subject", "", facts.genre),
        ("rights", "", facts.copyright),
        ("identifier", ' opf:scheme="ISBN"', facts.isbn),
        ("identifier", ' opf:scheme="AMAZON"', facts.asin),
    ]
    lines = [f"    <dc:{tag}{mark}>{escape(text)}</dc:{tag}>" for tag, mark, text in rows if text]
    if facts.series:
        lines.append(f'    <meta name="calibre:series" content={quoteattr(facts.series)}/>')
    if facts.part:
        lines.append(f'    <meta name="calibre:series_index" content={quoteattr(facts.part)}/>')
    return "\n".join(
        (
            '<?xml version="1.0" encoding="utf-8"?>',
            '<package xmlns="http://www.idpf.org/2007/opf" version="2.0">',
            '  <metadata xmlns:dc="http://purl.org/dc/elements/1.1/" '
            'xmlns:opf="http://www.idpf.org/2007/opf">',
            *lines,
            "  </metadata>",
            "</package>",
            "",
        )
    )
