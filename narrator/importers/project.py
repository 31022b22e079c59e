"""A book -> a project's folder: book.yaml, one text file a chapter, the cover, a report.

Written beside its place and renamed, so that a failed import leaves nothing behind. Knows the
format of a manifest, not of the sources.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import yaml

from narrator import files
from narrator.characters import seen
from narrator.errors import StorageError, UsageError
from narrator.importers.book import Book, Choices, ImportedChapter, PrintedSpeaker, Skipped
from narrator.importers.doubts import doubts_of
from narrator.keys import content_of, file_content
from narrator.project.dates import is_date

_SLUG_LENGTH = 48
_COUNTED = re.compile(
    r"(?:(?:chapter|part|book)\s+)?(?:\d+|[ivxlc]+)\s*[.:—–-]\s+(?=\S)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Written:
    """A project on disk."""

    root: Path
    manifest: Path
    report: Path | None
    """None where nothing was imported."""
    kept: Mapping[str, str] = field(default_factory=dict)
    """Files that somebody had changed since the import before, which stay -> where the new ones
    lie, beside them."""
    replaced: int = 0
    """Files of the import before that nobody had changed, and that say something else now."""
    unnamed: tuple[str, ...] = ()
    """Chapters that a manifest which stays does not name."""


def write_project(book: Book, target: Path, original: Path | None = None) -> Written:
    """Write a project in the folder `target`, which must be empty, not there yet, or an import.

    In an import, files that were changed since stay, with the new ones beside them. `original` is
    an EPUB that stays in the project: the read-along edition is made from it. Raises UsageError
    where the folder is something else or another book, StorageError where it cannot be written.
    """
    contents = _files(book, original)
    target = target.resolve()
    beside = target.parent / f".{target.name}.import-{os.getpid()}-{secrets.token_hex(4)}"
    _sweep(target.parent)
    report = target / _REPORT if _REPORT in contents else None
    try:
        if target.exists() and not target.is_dir():
            raise UsageError(f"{target} is a file; name a folder for the project")
        if target.is_dir() and any(target.iterdir()):
            if not book.source or not _is_import(target):
                raise UsageError(f"{target} is not empty; name a new folder for the project")
            _require_same(target, book)
            return _written_again(target, contents, report, book)
        if book.source:
            hashes = {name: content_of(data) for name, data in contents.items()}
            contents[_RECORD] = _record(hashes, book)
        target.parent.mkdir(parents=True, exist_ok=True)
        for name, data in contents.items():
            path = beside / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        beside.replace(target)
    except OSError as error:
        raise StorageError(f"{target} cannot be written: {error.strerror or error}") from None
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return Written(target, target / "book.yaml", report)


# -- a second import -------------------------------------------------------------------------------

_RECORD = ".imported.json"
"""What an import wrote, by its hashes, and of which book. It lies beside the manifest, not in
`build`, which may be deleted and is in no copy of the project: without it nobody could tell what
was changed."""


def _record(hashes: Mapping[str, str], book: Book) -> bytes:
    return files.sealed({"files": dict(hashes), "title": book.title, "source": book.source})


def _require_same(folder: Path, book: Book) -> None:
    """Refuse to put a book over another one: neither its title nor its source's name is the same.

    A record of before they were written in it refuses none. Raises UsageError.
    """
    before = _record_in(folder)
    title, name = str(before.get("title") or ""), str(before.get("source") or "")
    same = _compared(title) == _compared(book.title) or _compared(name) == _compared(book.source)
    if (title or name) and not same:
        raise UsageError(
            f"{folder} holds an import of “{title}” ({name}), not of “{book.title}” "
            f"({book.source}); name another folder, or, for the same book, --title “{title}”"
        )


def _compared(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())


def _is_import(folder: Path) -> bool:
    """Whether a folder was made by an import; also by one that kept no record."""
    return (folder / "book.yaml").is_file() and (
        (folder / _RECORD).is_file() or (folder / _REPORT).is_file()
    )


def _recorded(folder: Path) -> dict[str, str]:
    """Hashes of what was written there, by name; without a record all of it counts as changed."""
    hashes = _record_in(folder).get("files") or {}
    return {str(name): str(value) for name, value in hashes.items()}


def _record_in(folder: Path) -> dict[str, Any]:
    found = files.load_json(folder / _RECORD, {})
    return found if isinstance(found, dict) else {}


def _written_again(
    target: Path, contents: Mapping[str, bytes], report: Path | None, book: Book
) -> Written:
    """Put an import over an earlier one: what nobody changed is replaced. Raises StorageError."""
    recorded = _recorded(target)
    kept: dict[str, str] = {}
    hashes = {name: content_of(data) for name, data in contents.items()}
    replaced = 0
    for name, data in sorted(contents.items(), key=lambda item: item[0] == "book.yaml"):
        path = target / name
        found = file_content(path) if path.is_file() else None
        if found == hashes[name]:
            continue
        if found is None or found == recorded.get(name) or name == _REPORT:
            replaced += found is not None
            files.write(path, data)
            continue
        fresh = _place_beside(target, name, recorded, hashes[name])
        files.write(target / fresh, data)
        hashes[fresh] = hashes[name]
        kept[name] = fresh
    if "book.yaml" not in kept:
        _remove_stale(target, recorded, hashes)
    files.write(target / _RECORD, _record(recorded | hashes, book))
    manifest = target / "book.yaml"
    unnamed = _unnamed(manifest, hashes) if "book.yaml" in kept else ()
    return Written(target, manifest, report, kept, replaced, unnamed)


def waiting(manifest: Path) -> list[str]:
    """What the imports of a project have left for its author to do, a line for each kind.

    That is texts beside changed ones, and chapters that `book.yaml` does not name.
    """
    if manifest.name != "book.yaml":  # others may have a part of the book on purpose
        return []
    here = [name for name in _recorded(manifest.parent) if (manifest.parent / name).is_file()]
    said = []
    if fresh := sorted(filter(_FRESH.search, here)):
        said.append(f"{', '.join(fresh)}: of a later import, and not read; {FRESH_MEND}")
    if unnamed := _unnamed(manifest, here):
        said.append(f"{', '.join(unnamed)}: in no chapter; {UNNAMED_MEND}")
    return said


_FRESH = re.compile(r"\.new\d*(?:\.[^./]*)?$")
FRESH_MEND = "take over from each what you want, then delete it"
UNNAMED_MEND = "name it under chapters in book.yaml (after a # where it should stay out)"


def _unnamed(manifest: Path, names: Iterable[str]) -> tuple[str, ...]:
    """Chapters among these files of an import that a manifest does not name, or in a comment."""
    try:
        text = unicodedata.normalize("NFC", manifest.read_text("utf-8", "replace"))
    except OSError:
        return ()
    return tuple(
        name
        for name in sorted(names)
        if _CHAPTER.fullmatch(name)
        and not _FRESH.search(name)
        and unicodedata.normalize("NFC", name) not in text
    )


_CHAPTER = re.compile(r"text/[^/]+\.md")


def _place_beside(target: Path, name: str, recorded: Mapping[str, str], new: str) -> str:
    """Where the new text of a changed file goes: `03.new.md`, or the next name that is free."""
    stem, dot, ending = name.rpartition(".")
    for number in count(1):
        fresh = f"{stem}.new{number if number > 1 else ''}{dot}{ending}"
        path = target / fresh
        if not path.is_file() or file_content(path) in (recorded.get(fresh), new):
            return fresh
    raise AssertionError


def _remove_stale(target: Path, recorded: Mapping[str, str], hashes: Mapping[str, str]) -> None:
    """Remove texts of the import before that this one has no more, and that nobody changed."""
    for name, value in recorded.items():
        path = target / name
        inside = path.resolve().is_relative_to(target / "text")
        if name not in hashes and inside and path.is_file() and file_content(path) == value:
            path.unlink()


_LEFT = re.compile(r"\..+\.import-(\d{1,10})-[0-9a-f]{8}", re.DOTALL)


def _sweep(folder: Path) -> None:
    """Remove what imports have left that were killed: nothing of it is anybody's."""
    with contextlib.suppress(OSError):  # it is in nobody's way
        for path in folder.iterdir():
            left = _LEFT.fullmatch(path.name)
            if left and not _runs(int(left[1])):
                shutil.rmtree(path, ignore_errors=True)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # somebody else's
        return True
    return True


def starter(folder: Path, choices: Choices = Choices()) -> Book:  # noqa: B008  # frozen
    """A small book to begin with, for a project that starts from nothing."""
    name = seen(folder.resolve().name)
    title = name.replace("-", " ").replace("_", " ").strip().title() or "My Book"
    chapter = ImportedChapter("Chapter One", _STARTER, "", 0, 0)
    return Book(
        title=choices.title or title,
        authors=choices.authors or ("Your Name",),
        language=choices.language or "en",
        chapters=(chapter,),
    )


_REPORT = "import-report.md"
_SOURCE = "source.epub"
_STARTER = """\
# Chapter One

This is the text of your first chapter. Whatever stands here is read by the narrator.

A blank line begins a new paragraph. *Emphasis* is welcome, and three asterisks are a scene break:

***

When your book has speakers, list them in book.yaml and begin their lines with their name and a
colon.
"""


def _files(book: Book, original: Path | None) -> dict[str, bytes]:
    """All files of the project by their path in it."""
    width = len(str(len(book.chapters)))
    names = [
        f"text/{_numbered(number, width)}-{_slug(chapter.title)}.md"
        for number, chapter in enumerate(book.chapters, 1)
    ]
    aside = _aside(book)
    cover = f"cover{book.cover.suffix}" if book.cover else None
    source = _SOURCE if original else None
    texts = {"book.yaml": _manifest(book, names, aside, cover, source), ".gitignore": "build/\n"}
    if book.source:
        texts[_REPORT] = _report(book, names, aside)
    texts |= {name: chapter.markdown for name, chapter in zip(names, book.chapters, strict=True)}
    texts |= {name: book.left_out[number].markdown or "" for number, name in aside.items()}
    contents = {name: text.encode("utf-8") for name, text in texts.items()}
    if cover is not None and book.cover is not None:
        contents[cover] = book.cover.data
    if original is not None:
        contents[_SOURCE] = _bytes_of(original)
    return contents


def _aside(book: Book) -> dict[int, str]:
    """Files for what was left out and may be taken back, by its number among that."""
    names: dict[int, str] = {}
    for number, item in enumerate(book.left_out):
        if item.markdown is not None:
            slug = _slug(item.title or item.reason)
            names[number] = f"text/left-out/{len(names) + 1:02}-{slug}.md"
    return names


def _bytes_of(original: Path) -> bytes:
    try:
        return original.read_bytes()
    except OSError as error:
        raise StorageError(f"{original} cannot be read: {error.strerror}") from None


def _numbered(number: int, width: int) -> str:
    return str(number).zfill(max(2, width))


def _slug(title: str) -> str:
    """A title as a file's name: letters and digits of any script, in lower case, with hyphens."""
    if counted := _COUNTED.match(title):
        title = title[counted.end() :]
    text = unicodedata.normalize("NFKC", title).casefold().replace("’", "").replace("'", "")
    words = "-".join(re.findall(r"[^\W_]+", text))
    if len(words) > _SLUG_LENGTH:
        words = words[: _SLUG_LENGTH + 1].rpartition("-")[0] or words[:_SLUG_LENGTH]
    return words or "chapter"


# -- book.yaml -------------------------------------------------------------------------------------


def _manifest(
    book: Book,
    names: Sequence[str],
    aside: Mapping[int, str],
    cover: str | None,
    source: str | None,
) -> str:
    facts: dict[str, object] = {
        "title": book.title,
        "subtitle": book.subtitle,
        "author": book.authors[0] if len(book.authors) == 1 else list(book.authors),
        "language": book.language,
        "cover": cover,
        "source": source,
        "identifiers": dict(book.identifiers) or None,
        "series": {"name": book.series, "part": book.series_part}
        if book.series and book.series_part
        else book.series,
        "publisher": book.publisher,
        "date": book.date if book.date and is_date(book.date) else None,
        "description": book.description,
        "genre": book.genre,
        "copyright": book.copyright,
    }
    origin = f", imported from {book.source}" if book.source else ""
    return "\n".join(
        [
            f"# {' '.join(book.title.split())}{origin}.",
            "# Render it with: narrator render book.yaml    (--draft for a fast proof)",
            "",
            _yaml({key: value for key, value in facts.items() if value is not None}),
            *_odd_date(book.date),
            _cast(book.speakers),
            "chapters:",
            *_chapter_rows(book, names, aside),
            "",
        ]
    )


def _odd_date(date: str | None) -> list[str]:
    """A date that a manifest does not take, for the author to mend."""
    if not date or is_date(date):
        return []
    return [
        f"# date: {' '.join(date.split())}    # of the source; write YYYY, YYYY-MM or YYYY-MM-DD"
    ]


def _cast(speakers: Sequence[PrintedSpeaker]) -> str:
    """The cast: one narrator, or the labels of a script."""
    rows = [
        "# Who speaks. A voice is described in words or given as a clip with its transcript.",
        "speakers:",
        '  narrator: {}    # or: {voice: {description: "A warm, unhurried storyteller"}}',
    ]
    for speaker in speakers:
        if speaker.name.casefold() != "narrator":
            names = ", ".join(map(_yaml_key, speaker.aliases))
            known = [f"aliases: [{names}]"] if names else []
            known += [f"pronoun: {speaker.pronoun}"] if speaker.pronoun else []
            rows += [f"  {_yaml_key(speaker.name)}: {{{', '.join(known)}}}"]
    if not speakers:
        rows += ["  # alice: {}    # says what begins with “Alice: ” in the text"]
    rows += ["narrator: narrator    # reads what has no label", ""]
    return "\n".join(rows)


def _chapter_rows(book: Book, names: Sequence[str], aside: Mapping[int, str]) -> list[str]:
    rows = []
    if aside:
        rows += ["  # Left out, see import-report.md; take the # away to have one read:"]
    for place in range(len(book.chapters) + 1):
        for number, name in aside.items():
            item = book.left_out[number]
            if item.place == place:
                entry = _yaml([{"title": item.title or item.reason.capitalize(), "file": name}])
                rows += [f"  # {row}" for row in entry.splitlines()]
        if place < len(book.chapters):
            entry = _yaml([{"title": book.chapters[place].title, "file": names[place]}])
            rows += [f"  {row}" for row in entry.splitlines()]
    return rows


def _yaml(value: object) -> str:
    # Long texts are folded at 100 columns; inside chapters, which are indented, a little later.
    return yaml.safe_dump(value, allow_unicode=True, sort_keys=False, width=96)


def _yaml_key(name: str) -> str:
    return yaml.safe_dump({name: 0}, allow_unicode=True).rpartition(":")[0]


# -- the report ------------------------------------------------------------------------------------


def _report(book: Book, names: Sequence[str], aside: Mapping[int, str]) -> str:
    total = max(1, book.words)
    rows = [
        f"# Import of {book.source}",
        *(["", f"Read as {book.format}."] if book.format else []),
        "",
        "Every word of the source is in a chapter or in the list of what was left out.",
        "",
        "| | words | share |",
        "|---|--:|--:|",
        *(
            f"| {name} | {words:,} | {words / total:.2%} |"
            for name, words in (
                (f"in {len(book.chapters)} chapters", book.words_kept),
                ("left out", book.words_left_out),
                ("the source", book.words),
            )
        ),
        "",
        f"Counted apart, the source has {book.characters:,} characters besides spaces, and "
        f"{book.characters_kept:,} + {book.characters_left_out:,} of them are accounted for.",
        "",
    ]
    told = [*filter(None, [book.dialogue]), *doubts_of(book), *book.remarks]
    if told:
        rows += ["## To know", "", *(f"- {_cell(one)}" for one in told), ""]
    rows += ["## Chapters", "", "| file | title | from | words |", "|---|---|---|--:|"]
    rows += [
        f"| {name} | {_cell(chapter.title)} | {_cell(chapter.source)} | {chapter.words:,} |"
        for name, chapter in zip(names, book.chapters, strict=True)
    ]
    if book.left_out:
        rows += ["", "## Left out", "", "| from | title | why | words | kept aside in |"]
        rows += ["|---|---|---|--:|---|"]
        rows += [_left_out_row(item, aside.get(n, "")) for n, item in enumerate(book.left_out)]
    return "\n".join([*rows, ""])


def _left_out_row(item: Skipped, name: str) -> str:
    title, source = _cell(item.title), _cell(item.source)
    several = f" ({item.count} of them)" if item.count > 1 else ""
    return f"| {source} | {title} | {_cell(item.reason)}{several} | {item.words:,} | {name} |"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
