"""Checks folders of a book: files that are missing, duplicated, or of another book.

For our folders `made.json` tells; for anyone's, numbers, albums, marks and the sound itself.
Findings are about folders, checks (`rules.py`) about single files. Opens no sound.
"""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import combinations, groupby
from pathlib import Path
from typing import NamedTuple

from narrator import files
from narrator.delivery import companion_checks, output_manifest
from narrator.delivery.findings import FolderFinding, fault_of
from narrator.delivery.folders import kind_of
from narrator.delivery.output_manifest import MadeFile
from narrator.project.profiles import Profile
from narrator.sound import spectra
from narrator.sound.clock import format_fine_clock
from narrator.sound.formats import SOUND_SUFFIXES
from narrator.sound.probe import FileFigures

MadeFiles = Mapping[Path, MadeFile]
"""Records of files that were made, by absolute path."""


# -- files -----------------------------------------------------------------------------------------


def sounds(folder: Path) -> list[Path]:
    """Returns the sound files under a folder, in order.

    Skips hidden ones, and those that a project builds from or has superseded.
    """
    build_folders = {path.parent for path in folder.rglob("made*.json") if _is_list(path)}
    return [
        path
        for path in files.visible_files(folder)
        if path.suffix.casefold() in SOUND_SUFFIXES
        and not any(_is_work(path, build) for build in build_folders)
    ]


def _is_list(path: Path) -> bool:
    """Returns whether a file is the list of a build, and not notes on a book named "made in
    summer"."""
    return (path.parent / "store").is_dir() or bool(output_manifest.read_ledger(path))


def _is_work(path: Path, build: Path) -> bool:
    """Returns whether a file of a build, or of the project around it, is not one of its finished
    ones."""
    if not path.is_relative_to(build):
        return build.name == "build" and path.is_relative_to(build.parent)
    return not kind_of(path.relative_to(build).parts[0])


def load_made_files(start: Path) -> dict[Path, MadeFile]:
    """Returns the records of the build that a file or folder lies in, or that lies in a folder."""
    start = Path(os.path.abspath(start))
    made_files: dict[Path, MadeFile] = {}
    for build in (start / "build", start, *start.parents):
        for ledger in sorted(build.glob("made*.json")) if build.is_dir() else ():
            for name, entry in output_manifest.read_ledger(ledger).items():
                file_path = Path(os.path.normpath(build / name))
                if (entry.state or entry.facts) and file_path.is_relative_to(build):
                    made_files[file_path] = entry
        if made_files:
            break
    return made_files


def findings(
    folder: Path, sounds: Sequence[FileFigures], profile: Profile | None, made_files: MadeFiles
) -> list[FolderFinding]:
    """Returns the faults of a folder's files, one of each file.

    `made_files` are the records of files that were made there, as far as known; `sounds` are the
    readable files.
    """
    root = Path(os.path.abspath(folder))
    expected = {path: entry for path, entry in made_files.items() if path.is_relative_to(root)}
    readable_files = {Path(os.path.abspath(file.path)): file for file in sounds}
    delivered_files = frozenset(
        file.path for path, file in readable_files.items() if path in expected
    )
    folder_findings = [
        *_record_findings(expected, readable_files),
        *_books_beside_chapters(sounds, profile, delivered_files),
        *companion_checks.findings(root, sounds),
    ]
    for book in _group_books(sounds):
        folder_findings += _BookFiles(book, profile, delivered_files).findings()
    first_findings = {
        (finding.file or finding.what): finding for finding in reversed(folder_findings)
    }
    return sorted(first_findings.values(), key=lambda f: (str(f.folder), str(f.file or ""), f.what))


# -- folders of ours -------------------------------------------------------------------------------


def _record_findings(
    expected: MadeFiles, readable_files: Mapping[Path, FileFigures]
) -> Iterator[FolderFinding]:
    """Yields files of the inventory, companions included, that are missing or have other bytes than
    were delivered, and files that are none of it."""
    for path, entry in expected.items():
        file = readable_files.get(path)
        if not path.exists():
            numbers = [number + 1 for number in entry.chapters]
            chapter_hint = f" ({_describe_numbers(numbers)})" if len(numbers) == 1 else ""
            what = f"{path.name} is missing{chapter_hint}"
            yield FolderFinding(path.parent, None, what, _remake_hint(path, entry))
            continue
        difference = _sound_difference(file, entry) if file else ""
        with files.translating_errors(path):
            difference = difference or entry.difference(path)
        if difference:
            shown_path = file.path if file else path
            yield FolderFinding(path.parent, shown_path, difference, _remake_hint(path, entry))
    for path, file in readable_files.items() if expected else ():
        if path not in expected:
            what, remedy = "is not of what was delivered here", "move it to a folder of its own"
            yield FolderFinding(path.parent, file.path, what, remedy)


def _remake_hint(path: Path, entry: MadeFile) -> str:
    """Names the command that makes a file again."""
    if entry.is_feed:
        return "`narrator feed` makes it again"
    folder_kinds = [
        kind_of(parent.name) for parent in path.parents if parent.parent.name == "build"
    ]
    folder_kind = next(filter(None, folder_kinds), "book")
    option = {"book": "", "draft": " --draft"}.get(folder_kind, f" --engine {folder_kind}")
    return f"`narrator export{option}` makes it again"


def _sound_difference(file: FileFigures, entry: MadeFile) -> str:
    """Describes how a file's length or marks differ from its record; "" where they do not."""
    seconds, marks = entry.facts.get("seconds"), len(file.marks)
    if seconds is not None and abs(file.seconds - seconds) > 0.5:
        length = format_fine_clock(file.seconds)
        return f"lasts {length}, and was made {format_fine_clock(seconds)} long"
    if 0 < marks != len(entry.chapters) > 1:
        return f"has {marks} marks, and was made of {len(entry.chapters)} chapters"
    return ""


def _books_beside_chapters(
    files: Sequence[FileFigures], profile: Profile | None, delivered_files: Set[Path]
) -> Iterator[FolderFinding]:
    """Yields findings on whole books that lie beside their own chapters, or beside folders with
    them.

    Reports them where a profile has only one of both, or where sound, titles or cover differ.
    """
    for file in files:
        chapters = [chapter for chapter in files if _is_chapter(chapter, file)]
        total_seconds = sum(chapter.seconds for chapter in chapters)
        has_no_marks = (
            not _track_number(file).number
            and abs(total_seconds - file.seconds) < 0.03 * file.seconds
        )
        if not chapters or not (len(file.marks) > 1 or (has_no_marks and len(chapters) > 1)):
            continue
        is_as_delivered = {file.path, *(chapter.path for chapter in chapters)} <= delivered_files
        if profile is not None and profile.files != "both" and not is_as_delivered:
            count = len(chapters)
            chapters_lie = f"{count} chapters of it lie" if count > 1 else "1 chapter of it lies"
            fault = f"is the whole book, and {chapters_lie} beside it: a library reads both"
            yield fault_of(file.path, fault, "keep one or the other")
        for chapter in chapters:
            if fault := _chapter_mismatch(chapter, file):
                yield fault_of(chapter.path, fault, "one of the two was altered: copy both again")


def _is_chapter(file: FileFigures, book: FileFigures) -> bool:
    """Returns whether a file is a chapter of a book that another file seems to hold."""
    folder, book_folder = file.path.parent, book.path.parent
    is_near = folder == book_folder or (folder.parent == book_folder and file.codec == book.codec)
    is_single_chapter = file is not book and _track_number(file).number > 0 and len(file.marks) < 2
    return is_near and is_single_chapter and _tag(file, "album") == _tag(book, "album")


def _chapter_mismatch(file: FileFigures, book: FileFigures) -> str:
    """Returns how a chapter differs from the same chapter within the file of the whole book."""
    number = _track_number(file).number
    if not 0 < number <= len(book.marks):
        return ""
    mark, chapter_name = book.marks[number - 1], f"chapter {number} of '{book.path.name}'"
    title, mark_title = (text.strip() for text in (file.tags.get("title", ""), mark.title))
    if title and mark_title and title != mark_title:
        return f"has the title '{title}', and {chapter_name} '{mark_title}'"
    if book.cover and not file.cover and not file.codec.startswith("pcm"):
        return f"has no cover, and '{book.path.name}' has one"
    difference_start = spectra.first_difference(
        file.spectra, book.spectra.part(mark.start, mark.end)
    )
    if difference_start is not None:
        start = format_fine_clock(difference_start)
        return f"is not the same sound as {chapter_name} from {start} on"
    if abs(mark.end - mark.start - file.seconds) > 0.7:
        length = format_fine_clock(mark.end - mark.start)
        return f"lasts {format_fine_clock(file.seconds)}, and {chapter_name} {length}"
    return ""


# -- anyone's folders ------------------------------------------------------------------------------


def _group_books(files: Sequence[FileFigures]) -> list[list[FileFigures]]:
    """Groups files by folder, and joins folders in which a book continues (disc by disc, with
    consecutive numbers)."""
    files_by_folder: dict[Path, list[FileFigures]] = defaultdict(list)
    for file in files:
        files_by_folder[file.path.parent].append(file)
    books: list[list[FileFigures]] = []
    for group in files_by_folder.values():
        for book in books:
            if _continues_book(book, group):
                book += group
                break
        else:
            books.append(group)
    return books


def _continues_book(book: Sequence[FileFigures], group: Sequence[FileFigures]) -> bool:
    """Returns whether the files of a folder continue a book: same album and format, other
    numbers."""
    albums = {_tag(file, "album") for file in (*book, *group)}
    codecs = {file.codec for file in (*book, *group)}
    track_sets = [{_track_number(file)[:2] for file in files} for files in (book, group)]
    all_numbered = all(number for tracks in track_sets for _, number in tracks)
    is_alike = len(albums) == len(codecs) == 1 and "" not in albums
    return is_alike and all_numbered and not track_sets[0] & track_sets[1]


@dataclass(frozen=True, slots=True)
class _BookFiles:
    """Files that should be one book."""

    files: Sequence[FileFigures]
    profile: Profile | None
    ours: Set[Path]
    """Files that were delivered together: two formats side by side were asked for."""

    @property
    def folder(self) -> Path:
        return self.files[0].path.parent

    @property
    def by_codec(self) -> list[list[FileFigures]]:
        """Groups of files of one codec."""
        groups: dict[str, list[FileFigures]] = defaultdict(list)
        for file in self.files:
            groups[file.codec].append(file)
        return list(groups.values())

    def findings(self) -> Iterator[FolderFinding]:
        yield from self._files_of_other_books()
        yield from self._duplicates()
        yield from self._numbering_faults()
        yield from self._files_out_of_order()
        yield from self._files_without_cover()
        yield from self._files_with_wrong_title()

    # -- of other books --

    def _files_of_other_books(self) -> Iterator[FolderFinding]:
        """Yields findings on files whose album, artist, track total or sample rate is not that of
        most."""
        series_names = {_tag(file, "series") for file in self.files}
        are_episodes = all("podcast" in _tag(file, "genre") for file in self.files)
        if len(series_names) > 1 or "" in series_names or not are_episodes:
            yield from self._minority_values("album", lambda file: _tag_text(file, "album"))
        if len({_tag(file, "album") for file in self.files}) == 1:
            if not _tag(self.files[0], "album"):
                yield from self._minority_values("artist", lambda file: _tag_text(file, "artist"))
            yield from self._minority_values(
                "number of tracks", lambda file: str(_track_number(file).total or "")
            )
            for codec_files in self.by_codec:
                yield from _BookFiles(codec_files, self.profile, self.ours)._minority_values(
                    "sample rate", lambda file: f"{file.sample_rate} Hz"
                )

    def _minority_values(
        self, value_name: str, read_value: Callable[[FileFigures], str]
    ) -> Iterator[FolderFinding]:
        """Yields findings on files with another value than most."""
        values = {file.path: value for file in self.files if (value := read_value(file))}
        counts = Counter(value.casefold() for value in values.values())
        if len(counts) < 2:
            return
        spellings = {value.casefold(): value for value in values.values()}
        ((majority_value, count),) = counts.most_common(1)
        if count * 2 > len(values):
            for path, value in values.items():
                if value.casefold() != majority_value:
                    fault = (
                        f"is of another book: its {value_name} is '{value}', that of the others "
                        f"'{spellings[majority_value]}'"
                    )
                    yield fault_of(path, fault, "move it to a folder of its own")
        elif len(values) == 2 or self.profile is not None:
            # else it is a folder of many books, each one file, which is fine
            names = ", ".join(f"'{spellings[name]}'" for name in sorted(counts))
            fault = f"holds files of more than one {value_name}: {names}"
            yield FolderFinding(self.folder, None, fault, "a folder for each book")

    # -- twice --

    def _duplicates(self) -> Iterator[FolderFinding]:
        """Yields findings on files with the same sound."""
        for first, second in combinations(sorted(self.files, key=_name_order), 2):
            if {first.path, second.path} <= self.ours or _is_sample(first) != _is_sample(second):
                continue  # a sample is cut from a chapter
            if first.content != second.content and _in_other_format(first, second):
                continue
            if first.content == second.content or spectra.alike(first.spectra, second.spectra):
                fault = f"holds the same sound as '{first.path.name}'"
                yield fault_of(second.path, fault, "keep one of them")

    # -- covers and titles --

    def _files_without_cover(self) -> Iterator[FolderFinding]:
        """Yields findings on files without a cover, where most of their format have one."""
        for codec_files in self.by_codec:
            chapters = [file for file in codec_files if not _is_sample(file)]
            uncovered_files = [file for file in chapters if file.cover is None]
            if 0 < 2 * len(uncovered_files) < len(chapters):
                for file in uncovered_files:
                    fault = "has no cover, and the others have one"
                    yield fault_of(file.path, fault, "copy it again")

    def _files_with_wrong_title(self) -> Iterator[FolderFinding]:
        """Yields findings on files whose title is not in their name, where others have it there."""
        titled = [
            file
            for file in self.files
            if file.tags.get("title") and re.match(r"\d+\W+\w", file.path.stem)
        ]
        mistitled = [
            file for file in titled if not _words(file.tags["title"]) <= _words(file.path.stem)
        ]
        if len(titled) > 2 and len(mistitled) == 1:
            title = mistitled[0].tags["title"]
            fault = f"has the title '{title}', which is not that of its name"
            yield fault_of(mistitled[0].path, fault, "copy it again")
        for file in self.files:
            if file.marks and not _track_number(file).number and _is_of_another_title(file):
                title, album = file.tags["title"], file.tags["album"]
                fault = f"has the title '{title}', and its name and album are of '{album}'"
                yield fault_of(file.path, fault, "copy it again")

    # -- numbers --

    def _files_out_of_order(self) -> Iterator[FolderFinding]:
        """Yields findings on files that players by name play at another place than players by
        tags."""
        numbered_files = [
            (name_number.number, track, file)
            for file in self.files
            if (name_number := _number_in_name(file, _NUMBER_PATTERNS[0]))
            and (track := _track_number(file)).number
        ]
        is_one_disc = len({(track.disc, file.codec) for _, track, file in numbered_files}) == 1
        name_numbers = {number for number, _, _ in numbered_files}
        tag_numbers = {track.number for _, track, _ in numbered_files}
        if not is_one_disc or min(len(name_numbers), len(tag_numbers)) < len(numbered_files):
            return
        by_name = sorted(numbered_files, key=lambda row: row[0])
        for (_, track, file), expected_number in zip(by_name, sorted(tag_numbers), strict=True):
            if track.number != expected_number:
                fault = f"is number {track.number} by its tags, and stands elsewhere by its name"
                remedy = "name it as its tags say, or look whether files were exchanged"
                yield fault_of(file.path, fault, remedy)

    def _numbering_faults(self) -> Iterator[FolderFinding]:
        """Yields findings on numbers that two files have, or none."""
        numbered_files = self._files_with_numbers()
        first_files: dict[tuple[int, int, str], FileFigures] = {}
        for file, track in numbered_files:
            first_file = first_files.setdefault((track.disc, track.number, file.codec), file)
            if first_file is not file:
                fault = f"has number {track.number}, as '{first_file.path.name}' has"
                yield fault_of(file.path, fault, "keep one of them, or number them anew")
        tracks = sorted(track for _, track in numbered_files)
        for disc, disc_tracks in groupby(tracks, lambda track: track.disc):
            yield from self._missing_numbers(disc, list(disc_tracks), len(numbered_files))

    def _missing_numbers(
        self, disc: int, tracks: list[_TrackNumber], file_count: int
    ) -> Iterator[FolderFinding]:
        """Yields a finding on the numbers of a disc that no file has; `file_count` counts all
        discs."""
        numbers = {track.number for track in tracks}
        totals = {track.total for track in tracks if track.total}
        if len(numbers) == 1 and not totals:
            return
        if disc:  # a total of all discs does not apply to one
            totals = {total for total in totals if total < file_count}
        last_number = max(numbers | totals)
        if missing_numbers := sorted(set(range(1, last_number + 1)) - numbers):
            total_note = f" of {last_number}" + (f" on disc {disc}" if disc else "")
            verb = "is" if len(missing_numbers) == 1 else "are"
            fault = f"{_describe_numbers(missing_numbers)}{total_note} {verb} missing"
            remedy = "look for what was not copied or not rendered, or number the files anew"
            yield FolderFinding(self.folder, None, fault, remedy)

    def _files_with_numbers(self) -> list[tuple[FileFigures, _TrackNumber]]:
        """Returns files with their numbers by tags, or by names where most tags have none."""
        files = sorted(self.files, key=_name_order)
        tracks = [_track_number(file) for file in files]
        if 2 * sum(track.number > 0 for track in tracks) >= len(files):
            # files that lost their tags may have a number in their name
            numbers = [
                track if track.number else _number_in_name(file, _NUMBER_PATTERNS[0])
                for file, track in zip(files, tracks, strict=True)
            ]
            return [(file, track) for file, track in zip(files, numbers, strict=True) if track]
        for pattern in _NUMBER_PATTERNS:
            numbers = [_number_in_name(file, pattern) for file in files]
            numbered = [(file, track) for file, track in zip(files, numbers, strict=True) if track]
            if len(numbered) > 1 and 5 * len(numbered) >= 4 * len(files):
                return numbered
        return []


_NUMBER_PATTERNS = (
    re.compile(r"^(?:\D{0,3})(\d{1,3})(?=\D|$)"),
    re.compile(
        r"(?:chapter|part|track|kapitel|teil|chapitre|partie|cap[ií]tulo|hoofdstuk|ch|cd)\W*(\d{1,3})",
        re.IGNORECASE,
    ),
    re.compile(r"(\d{1,3})(?:\s*\(\d+\)|\s*-?\s*copy)?$", re.IGNORECASE),
)
"""Patterns of numbers in file names: "03 - Rain", "Book, Chapter 3", "book-3"."""


def _name_order(file: FileFigures) -> tuple[bool, int, str]:
    """Sorts copies ("x (2)", "x copy", or without a number) behind their originals."""
    return not _track_number(file).number, len(file.path.stem), str(file.path)


def _tag_text(file: FileFigures, name: str) -> str:
    """Returns a tag's text, stripped."""
    return file.tags.get(name, "").strip()


def _tag(file: FileFigures, name: str) -> str:
    """Returns a tag's text, stripped and without case."""
    return _tag_text(file, name).casefold()


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))


class _TrackNumber(NamedTuple):
    """A file's place in its book; 0 where it is not known."""

    disc: int
    number: int
    total: int


def _number_in_name(file: FileFigures, pattern: re.Pattern[str]) -> _TrackNumber | None:
    """Returns a file's number by its name."""
    match = pattern.search(file.path.stem)
    return _TrackNumber(0, int(match[1]), 0) if match else None


def _track_number(file: FileFigures) -> _TrackNumber:
    """Returns a file's number by its tags."""

    def parse_tag(*names: str) -> tuple[int, int]:
        text = next((file.tags[name] for name in names if file.tags.get(name)), "")
        match = re.match(r"\s*(\d{1,5})(?:\s*(?:/|of)\s*(\d{1,5}))?", text)
        return (int(match[1]), int(match[2] or 0)) if match else (0, 0)

    number, total = parse_tag("track", "tracknumber")
    total = total or parse_tag("tracktotal", "totaltracks")[0]
    return _TrackNumber(parse_tag("disc", "discnumber")[0], number, total)


def _in_other_format(first: FileFigures, second: FileFigures) -> bool:
    """Returns whether two files are one chapter, or one book, in two formats; or a book of one
    chapter beside that chapter."""
    numbers = {_track_number(first).number, _track_number(second).number}
    titles = {_tag(first, "title"), _tag(second, "title")}
    if 0 in numbers and len(numbers) == 2:
        return len(first.marks) + len(second.marks) > 0
    return first.codec != second.codec and len(numbers) == len(titles) == 1


def _is_of_another_title(file: FileFigures) -> bool:
    """Returns whether a book's title is neither in its name nor contains all words of its album,
    while the name does."""
    album, title, name = _words(_tag(file, "album")), _words(_tag(file, "title")), file.path.stem
    return bool(album and title) and album <= _words(name) and not (
        title <= _words(name) or album <= title
    )  # fmt: skip


def _is_sample(file: FileFigures) -> bool:
    return (
        not _track_number(file).number
        and "sample" in f"{_tag(file, 'title')} {file.path.stem}".casefold()
    )


def _describe_numbers(numbers: Sequence[int]) -> str:
    """Formats "number 3" or "numbers 3, 5, 6"; the first few of many."""
    listed = ", ".join(map(str, numbers[:12])) + (" …" if len(numbers) > 12 else "")
    return f"number{'s' if len(numbers) > 1 else ''} {listed}"
