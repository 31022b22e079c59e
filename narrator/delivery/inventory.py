"""Which files a book's folder should hold: what is missing, there twice, or of another book.

Of folders of ours `made.json` tells; of anyone's the numbers, albums, marks and the sound itself.
Findings are about folders, checks (`verify.py`) about single files. Opens no sound.
"""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial
from itertools import combinations, groupby
from pathlib import Path
from typing import NamedTuple

from narrator import files
from narrator.delivery import beside, shelf
from narrator.delivery.findings import FolderFinding
from narrator.delivery.folders import kind_of
from narrator.delivery.shelf import MadeFile
from narrator.project.profiles import Profile
from narrator.sound import spectra
from narrator.sound.clock import fine_clock
from narrator.sound.probe import FileFigures

SUFFIXES = frozenset(".aac .aif .aiff .flac .m4a .m4b .mp3 .mp4 .ogg .opus .wav .wma".split())
"""What sound ends in."""


Made = Mapping[Path, MadeFile]
"""Files as they were made, by their whole path."""


# -- files -----------------------------------------------------------------------------------------


def sounds(folder: Path) -> list[Path]:
    """The sound files of a folder, in order: but for hidden ones (such as the "._x.mp3" that Macs
    leave on foreign disks) and for what a project builds from and has delivered before."""
    builds = {path.parent for path in folder.rglob("made*.json") if _is_list(path)}
    found = []
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder).parts
        hidden = any(part.startswith(".") for part in inside)
        sound = path.suffix.casefold() in SUFFIXES and not hidden and path.is_file()
        if sound and not any(_is_work(path, build) for build in builds):
            found.append(path)
    return found


def _is_list(path: Path) -> bool:
    """Whether a file is a list of a build, and no notes on a book named "made in summer"."""
    return (path.parent / "store").is_dir() or bool(shelf.entries(path))


def _is_work(path: Path, build: Path) -> bool:
    """Whether a file of a build, or of the project around it, is none of its finished ones."""
    if not path.is_relative_to(build):
        return build.name == "build" and path.is_relative_to(build.parent)
    return not kind_of(path.relative_to(build).parts[0])


def made(place: Path) -> dict[Path, MadeFile]:
    """What was made in the build that a file or folder lies in, or that lies in a folder."""
    place = Path(os.path.abspath(place))
    found: dict[Path, MadeFile] = {}
    for build in (place / "build", place, *place.parents):
        for ledger in sorted(build.glob("made*.json")) if build.is_dir() else ():
            for name, entry in shelf.entries(ledger).items():
                path = Path(os.path.normpath(build / name))
                if (entry.state or entry.facts) and path.is_relative_to(build):
                    found[path] = entry
        if found:
            break
    return found


# -- folders of ours -------------------------------------------------------------------------------


def findings(
    folder: Path, sounds: Sequence[FileFigures], profile: Profile | None, known: Made
) -> list[FolderFinding]:
    """What is wrong with the files of a folder. `known` is what was made there, as far as that is
    known; `sounds` are those that can be read."""
    root = Path(os.path.abspath(folder))
    expected = {path: entry for path, entry in known.items() if path.is_relative_to(root)}
    there = {Path(os.path.abspath(file.path)): file for file in sounds}
    ours = frozenset(file.path for path, file in there.items() if path in expected)
    found = [*_missing(expected), *_changed(expected, there)]
    if expected:
        found += [
            FolderFinding(path.parent, file.path, "is not of what was delivered here",
                    "move it to a folder of its own")
            for path, file in there.items() if path not in expected
        ]  # fmt: skip
    found += _wholes(sounds, profile, ours)
    found += beside.findings(root, sounds)
    for book in _books(sounds):
        found += _BookFiles(book, profile, ours).findings()
    first = {(finding.file or finding.what): finding for finding in reversed(found)}
    return sorted(first.values(), key=lambda f: (str(f.folder), str(f.file or ""), f.what))


def _again(path: Path, entry: MadeFile) -> str:
    if entry.is_feed:
        return "`narrator feed` makes it again"
    kinds = [kind_of(one.name) for one in path.parents if one.parent.name == "build"]
    kind = next(filter(None, kinds), "book")
    option = {"book": "", "draft": " --draft"}.get(kind, f" --engine {kind}")
    return f"`narrator export{option}` makes it again"


def _missing(expected: Made) -> Iterator[FolderFinding]:
    for path, entry in expected.items():
        if not path.exists():
            numbers = [number + 1 for number in entry.chapters]
            held = f" ({_numbered(numbers)})" if len(numbers) == 1 else ""
            yield FolderFinding(
                path.parent, None, f"{path.name} is missing{held}", _again(path, entry)
            )


def _changed(expected: Made, there: Mapping[Path, FileFigures]) -> Iterator[FolderFinding]:
    """Files of the inventory, companions too, that have other bytes than were delivered."""
    for path, entry in expected.items():
        if not path.exists():
            continue
        file = there.get(path)
        difference = _sound_difference(file, entry) if file else ""
        with files.storage(path):
            difference = difference or entry.difference(path)
        if difference:
            mend = _again(path, entry)
            yield FolderFinding(path.parent, file.path if file else path, difference, mend)


def _sound_difference(file: FileFigures, entry: MadeFile) -> str:
    seconds, marks = entry.facts.get("seconds"), len(file.marks)
    if isinstance(seconds, int | float) and abs(file.seconds - seconds) > 0.5:
        return f"lasts {fine_clock(file.seconds)}, and was made {fine_clock(seconds)} long"
    if 0 < marks != len(entry.chapters) > 1:
        return f"has {marks} marks, and was made of {len(entry.chapters)} chapters"
    return ""


def _wholes(
    files: Sequence[FileFigures], profile: Profile | None, ours: Set[Path]
) -> Iterator[FolderFinding]:
    """Whole books beside their own chapters, or with those in a folder there: where a profile has
    either, or where they are not the same sound, titles and cover."""
    for file in files:
        chapters = [other for other in files if _is_chapter(other, file)]
        total = sum(other.seconds for other in chapters)
        unmarked = not _track(file).number and abs(total - file.seconds) < 0.03 * file.seconds
        if not chapters or not (len(file.marks) > 1 or (unmarked and len(chapters) > 1)):
            continue
        meant = {file.path, *(other.path for other in chapters)} <= ours
        if profile is not None and profile.files != "both" and not meant:
            single = len(chapters) == 1
            lie = "1 chapter of it lies" if single else f"{len(chapters)} chapters of it lie"
            what = f"is the whole book, and {lie} beside it: a library reads both"
            yield FolderFinding(file.path.parent, file.path, what, "keep one or the other")
        yield from _unlike_chapters(file, chapters)


def _unlike_chapters(book: FileFigures, chapters: Sequence[FileFigures]) -> Iterator[FolderFinding]:
    """Chapters that are not what the file of the whole book holds under their number."""
    for file in chapters:
        number = _track(file).number
        if not 0 < number <= len(book.marks):
            continue
        mark = book.marks[number - 1]
        place, heard = file.path.parent, f"chapter {number} of '{book.path.name}'"
        title = file.tags.get("title", "")
        if title and mark.title and title.strip() != mark.title.strip():
            what = f"has the title '{title}', and {heard} '{mark.title}'"
            yield FolderFinding(place, file.path, what, _LOOK)
        if book.cover and not file.cover and file.codec != "pcm_s16le":
            what = f"has no cover, and '{book.path.name}' has one"
            yield FolderFinding(place, file.path, what, _LOOK)
        part = book.spectra.part(mark.start, mark.end)
        length = mark.end - mark.start
        differs = spectra.first_difference(file.spectra, part)
        if differs is not None:
            what = f"is not the same sound as {heard} from {fine_clock(differs)} on"
            yield FolderFinding(place, file.path, what, _LOOK)
        elif abs(length - file.seconds) > 0.7:
            what = f"lasts {fine_clock(file.seconds)}, and {heard} {fine_clock(length)}"
            yield FolderFinding(place, file.path, what, _LOOK)


_LOOK = "one of the two was altered: copy both again"


def _is_chapter(file: FileFigures, book: FileFigures) -> bool:
    """Whether a file is one of a book that another file seems to hold."""
    place, around = file.path.parent, book.path.parent
    near = place == around or (place.parent == around and file.codec == book.codec)
    single = file is not book and _track(file).number > 0 and len(file.marks) < 2
    return near and single and _tag(file, "album") == _tag(book, "album")


# -- anyone's folders ------------------------------------------------------------------------------


def _books(files: Sequence[FileFigures]) -> Iterator[list[FileFigures]]:
    """Files that lie together; with those of other folders where a book goes on there, disc by
    disc, one number after the other."""
    folders: dict[Path, list[FileFigures]] = defaultdict(list)
    for file in files:
        folders[file.path.parent].append(file)
    books: list[list[FileFigures]] = []
    for group in folders.values():
        for book in books:
            if _goes_on(book, group):
                book += group
                break
        else:
            books.append(list(group))
    return iter(books)


def _goes_on(book: Sequence[FileFigures], group: Sequence[FileFigures]) -> bool:
    albums = {_tag(file, "album") for file in (*book, *group)}
    codecs = {file.codec for file in (*book, *group)}
    numbers = [{_track(file)[:2] for file in files} for files in (book, group)]
    counted = all(number for tracks in numbers for _, number in tracks)
    alike = len(albums) == len(codecs) == 1 and "" not in albums
    return alike and counted and not numbers[0] & numbers[1]


@dataclass(frozen=True, slots=True)
class _BookFiles:
    """Files that should be one book."""

    files: Sequence[FileFigures]
    profile: Profile | None
    ours: Set[Path]
    """Those that were delivered so: two formats side by side are as it was asked for."""

    @property
    def folder(self) -> Path:
        return self.files[0].path.parent

    def findings(self) -> Iterator[FolderFinding]:
        yield from self._strangers()
        yield from self._doubles()
        yield from self._counted()
        yield from self._crossed()
        yield from self._uncovered()
        yield from self._mistitled()

    def _meant(self, one: FileFigures, other: FileFigures) -> bool:
        """Whether two files lie side by side because that was asked for."""
        return {one.path, other.path} <= self.ours

    # -- of other books --

    def _strangers(self) -> Iterator[FolderFinding]:
        shows = {_tag(file, "series") for file in self.files}
        if len(shows) > 1 or "" in shows or not self._episodes():
            yield from self._others("album", partial(_written, name="album"))
        if len({_tag(file, "album") for file in self.files}) == 1:
            if not _tag(self.files[0], "album"):
                yield from self._others("artist", partial(_written, name="artist"))
            yield from self._others("number of tracks", lambda file: str(_track(file).total or ""))
            for codec in {file.codec for file in self.files}:
                same = [file for file in self.files if file.codec == codec]
                yield from _BookFiles(same, self.profile, self.ours)._others(
                    "sample rate", lambda file: f"{file.sample_rate} Hz"
                )

    def _episodes(self) -> bool:
        return all("podcast" in _tag(file, "genre") for file in self.files)

    def _others(self, what: str, value: Callable[[FileFigures], str]) -> Iterator[FolderFinding]:
        """Files whose value is not that of most."""
        written = {file.path: value(file) for file in self.files if value(file)}
        values = {path: own.casefold() for path, own in written.items()}
        said_as = {values[path]: own for path, own in written.items()}
        counts = Counter(values.values())
        if len(counts) < 2:
            return
        (most, count), *_ = counts.most_common()
        if count * 2 <= len(values):
            if len(values) == 2 or self.profile is not None:
                names = ", ".join(f"'{said_as[name]}'" for name in sorted(counts))
                what = f"holds files of more than one {what}: {names}"
                yield FolderFinding(self.folder, None, what, "a folder for each book")
            return  # a shelf of many books, each a file, is none
        for path, own in values.items():
            if own != most:
                others = f"that of the others '{said_as[most]}'"
                said = f"is of another book: its {what} is '{written[path]}', {others}"
                yield FolderFinding(path.parent, path, said, "move it to a folder of its own")

    # -- twice --

    def _doubles(self) -> Iterator[FolderFinding]:
        files = sorted(self.files, key=_by_name)
        for one, other in combinations(files, 2):
            if self._meant(one, other) or _is_sample(one) != _is_sample(other):
                continue  # a sample is cut from a chapter
            if one.content != other.content and _in_other_format(one, other):
                continue
            if one.content == other.content or spectra.alike(one.spectra, other.spectra):
                what = f"holds the same sound as '{one.path.name}'"
                yield FolderFinding(other.path.parent, other.path, what, "keep one of them")

    # -- covers --

    def _uncovered(self) -> Iterator[FolderFinding]:
        """Files without a cover, where most of their kind have one."""
        for codec in {file.codec for file in self.files}:
            same = [file for file in self.files if file.codec == codec and not _is_sample(file)]
            bare = [file for file in same if file.cover is None]
            if 0 < 2 * len(bare) < len(same):
                for file in bare:
                    what = "has no cover, and the others have one"
                    yield FolderFinding(file.path.parent, file.path, what, "copy it again")

    def _mistitled(self) -> Iterator[FolderFinding]:
        """Files whose title is not in their name, where it is in the names of the others."""
        titled = [
            file
            for file in self.files
            if file.tags.get("title") and re.match(r"\d+\W+\w", file.path.stem)
        ]
        odd = [file for file in titled if not _has_title(file)]
        if len(titled) > 2 and len(odd) == 1:
            what = f"has the title '{odd[0].tags['title']}', which is not that of its name"
            yield FolderFinding(odd[0].path.parent, odd[0].path, what, "copy it again")
        for file in self.files:
            if file.marks and not _track(file).number and _is_of_another_title(file):
                title, album = file.tags["title"], file.tags["album"]
                what = f"has the title '{title}', and its name and album are of '{album}'"
                yield FolderFinding(file.path.parent, file.path, what, "copy it again")

    # -- numbers --

    def _crossed(self) -> Iterator[FolderFinding]:
        """Files that players which go by names play elsewhere than those which go by tags."""
        both = [
            (name.number, track, file)
            for file in self.files
            if (name := _named(file, _NAMES[0])) and (track := _track(file)).number
        ]
        one_disc = len({(track.disc, file.codec) for _, track, file in both}) == 1
        named, tagged = {number for number, _, _ in both}, {track.number for _, track, _ in both}
        if not one_disc or min(len(named), len(tagged)) < len(both):
            return
        by_name = sorted(both, key=lambda row: row[0])
        for (_, track, file), there in zip(by_name, sorted(tagged), strict=True):
            number = track.number
            if number != there:
                what = f"is number {number} by its tags, and stands elsewhere by its name"
                mend = "name it as its tags say, or look whether files were exchanged"
                yield FolderFinding(file.path.parent, file.path, what, mend)

    def _counted(self) -> Iterator[FolderFinding]:
        numbered = self._numbered()
        taken: dict[tuple[int, int, str], FileFigures] = {}
        for file, track in numbered:
            first = taken.setdefault((track.disc, track.number, file.codec), file)
            if first is not file:
                what = f"has number {track.number}, as '{first.path.name}' has"
                mend = "keep one of them, or number them anew"
                yield FolderFinding(file.path.parent, file.path, what, mend)
        tracks = sorted(track for _, track in numbered)
        for disc, group in groupby(tracks, lambda track: track.disc):
            yield from self._lost(disc, list(group), len(numbered))

    def _lost(self, disc: int, tracks: list[_TrackNumber], files: int) -> Iterator[FolderFinding]:
        """Numbers of a disc that no file has, of the `files` of all discs."""
        numbers = {track.number for track in tracks}
        totals = {track.total for track in tracks if track.total}
        if len(numbers) == 1 and not totals:
            return
        if disc:  # a total of all discs says nothing of one of them
            totals = {total for total in totals if total < files}
        last = max(numbers | totals)
        if lost := sorted(set(range(1, last + 1)) - numbers):
            of = f" of {last}" + (f" on disc {disc}" if disc else "")
            what = f"{_numbered(lost)}{of} {'is' if len(lost) == 1 else 'are'} missing"
            mend = "look for what was not copied or not rendered, or number the files anew"
            yield FolderFinding(self.folder, None, what, mend)

    def _numbered(self) -> list[tuple[FileFigures, _TrackNumber]]:
        """Files with their numbers, by their tags; by their names where tags have none."""
        files = sorted(self.files, key=_by_name)
        tagged = sum(_track(file).number > 0 for file in files)
        if 2 * tagged >= len(files):
            # one may have lost its tags, and keep its name
            tracks = [(f, _track(f)) for f in files]
            either = [(f, track if track.number else _named(f, _NAMES[0])) for f, track in tracks]
            return [(file, track) for file, track in either if track and track.number]
        for pattern in _NAMES:
            names = [(file, _named(file, pattern)) for file in files]
            named = [(file, track) for file, track in names if track]
            if len(named) > 1 and 5 * len(named) >= 4 * len(files):
                return named
        return []


_NAMES = (
    re.compile(r"^(?:\D{0,3})(\d{1,3})(?=\D|$)"),
    re.compile(
        r"(?:chapter|part|track|kapitel|teil|chapitre|partie|cap[ií]tulo|hoofdstuk|ch|cd)\W*(\d{1,3})",
        re.IGNORECASE,
    ),
    re.compile(r"(\d{1,3})(?:\s*\(\d+\)|\s*-?\s*copy)?$", re.IGNORECASE),
)
"""How the names of files count: "03 - Rain", "Book, Chapter 3", "book-3"."""


def _by_name(file: FileFigures) -> tuple[bool, int, str]:
    """Copies are behind what they were made of: "x (2)", "x copy", or without its number."""
    return not _track(file).number, len(file.path.stem), str(file.path)


def _written(file: FileFigures, name: str) -> str:
    return file.tags.get(name, "").strip()


def _tag(file: FileFigures, name: str) -> str:
    return _written(file, name).casefold()


class _TrackNumber(NamedTuple):
    """A file's place in its book; 0 where it is not told."""

    disc: int
    number: int
    total: int


def _named(file: FileFigures, pattern: re.Pattern[str]) -> _TrackNumber | None:
    """A file's number by its name."""
    match = pattern.search(file.path.stem)
    return _TrackNumber(0, int(match[1]), 0) if match else None


def _track(file: FileFigures) -> _TrackNumber:
    """A file's number by its tags."""

    def parts(*names: str) -> tuple[int, int]:
        text = next((file.tags[name] for name in names if file.tags.get(name)), "")
        match = re.match(r"\s*(\d{1,5})(?:\s*(?:/|of)\s*(\d{1,5}))?", text)
        return (int(match[1]), int(match[2] or 0)) if match else (0, 0)

    number, total = parts("track", "tracknumber")
    total = total or parts("tracktotal", "totaltracks")[0]
    return _TrackNumber(parts("disc", "discnumber")[0], number, max(total, 0))


def _in_other_format(one: FileFigures, other: FileFigures) -> bool:
    """Whether files are one chapter, or one book, that was delivered in two formats; or a book of
    one chapter beside that chapter."""
    numbers = {_track(one).number, _track(other).number}
    titles = {_tag(one, "title"), _tag(other, "title")}
    if 0 in numbers and len(numbers) == 2:
        return len(one.marks) + len(other.marks) > 0
    return one.codec != other.codec and len(numbers) == len(titles) == 1


def _is_of_another_title(file: FileFigures) -> bool:
    """Whether the title of a whole book is neither in its name nor has all words of its album,
    while the name has these."""
    album, title = (re.findall(r"\w+", _tag(file, name)) for name in ("album", "title"))
    name = set(re.findall(r"\w+", file.path.stem.casefold()))
    return bool(album and title and set(album) <= name) and not (
        set(title) <= name or set(album) <= set(title)
    )


def _has_title(file: FileFigures) -> bool:
    """Whether a file's name tells its title, but for what no name can hold."""
    words = re.findall(r"\w+", file.tags["title"].casefold())
    name = re.findall(r"\w+", file.path.stem.casefold())
    return set(words) <= set(name)


def _is_sample(file: FileFigures) -> bool:
    return (
        not _track(file).number and "sample" in f"{_tag(file, 'title')} {file.path.stem}".casefold()
    )


def _numbered(numbers: Sequence[int]) -> str:
    """ "number 3", "numbers 3, 5, 6"; the first few of many."""
    said = ", ".join(map(str, numbers[:12])) + (" …" if len(numbers) > 12 else "")
    return f"number{'s' if len(numbers) > 1 else ''} {said}"


def as_json(finding: FolderFinding) -> dict[str, object]:
    """For a program."""
    return {
        "folder": str(finding.folder),
        "file": str(finding.file) if finding.file else None,
        "what": finding.what,
        "mend": finding.mend,
    }
