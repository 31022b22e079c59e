"""Writes a book as a project folder: book.yaml, one text file a chapter, the cover, a report.

Writes to a temporary folder and renames it, so that a failed import leaves nothing behind. Knows
the format of a manifest, not of the sources.
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

from manuscripts.book import Book, Choices, ImportedChapter, PrintedSpeaker, Skipped
from narrator import files
from narrator.errors import StorageError, UsageError
from narrator.importing.doubts import book_oddities
from narrator.keys import content_of, file_content
from narrator.project.dates import is_date
from textbase.characters import strip_invisible

_MAX_SLUG_LENGTH = 48
_COUNTED_TITLE = re.compile(
    r"(?:(?:chapter|part|book)\s+)?(?:\d+|[ivxlc]+)\s*[.:—–-]\s+(?=\S)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class WrittenProject:
    """A project on disk."""

    root: Path
    manifest: Path
    report: Path | None
    """None if nothing was imported."""
    new_versions: Mapping[str, str] = field(default_factory=dict)
    """Files changed by somebody since the previous import, which stay -> names of the new versions
    beside them."""
    replaced_count: int = 0
    """Number of unchanged files of the previous import that were replaced by new text."""
    unnamed_chapters: tuple[str, ...] = ()
    """Chapters missing from a manifest that was kept."""


def write_project(book: Book, target: Path, original: Path | None = None) -> WrittenProject:
    """Writes a project to the folder `target`, which must be empty, missing, or an import.

    In an import, files that were changed since stay, with the new ones beside them. `original` is
    an EPUB that stays in the project: the read-along edition is made from it. Raises UsageError if
    the folder is something else or another book, StorageError if it cannot be written.
    """
    target = target.resolve()
    temporary_folder = target.parent / f".{target.name}.import-{os.getpid()}-{secrets.token_hex(4)}"
    remove_abandoned_folders(target.parent)
    report = target / REPORT_FILE if book.source else None
    try:
        if target.exists() and not target.is_dir():
            raise UsageError(f"{target} is a file; name a folder for the project")
        # an import over an older one renders nothing anew that has not changed
        with_chunk_lengths = _has_chunk_lengths(target / "book.yaml")
        contents = _project_files(book, original, with_chunk_lengths=with_chunk_lengths)
        if target.is_dir() and any(target.iterdir()):
            if not book.source or not _is_import(target):
                raise UsageError(f"{target} is not empty; name a new folder for the project")
            _require_same_book(target, book)
            return _update_import(target, contents, report, book)
        if book.source:
            hashes = {name: content_of(content) for name, content in contents.items()}
            contents[_RECORD_FILE] = _format_record(hashes, book)
        target.parent.mkdir(parents=True, exist_ok=True)
        for name, content in contents.items():
            path = temporary_folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        temporary_folder.replace(target)
    except OSError as error:
        raise StorageError(f"{target} cannot be written: {error.strerror or error}") from None
    finally:
        shutil.rmtree(temporary_folder, ignore_errors=True)
    return WrittenProject(target, target / "book.yaml", report)


# -- a second import -------------------------------------------------------------------------------

_RECORD_FILE = ".imported.json"
"""Hashes of the files that an import wrote, and the book's title and source.

Stored beside the manifest rather than in `build`, which may be deleted and is in no copy of the
project: without it nobody could tell which files were changed.
"""


def _format_record(hashes: Mapping[str, str], book: Book) -> bytes:
    return files.sealed({"files": dict(hashes), "title": book.title, "source": book.source})


def _require_same_book(folder: Path, book: Book) -> None:
    """Refuses to import a book over another one, which differs in title and in the source's name.

    A lost record refuses nothing. Raises UsageError.
    """
    record = _load_record(folder)
    title, name = str(record.get("title", book.title)), str(record.get("source", ""))
    if _folded(title) != _folded(book.title) and _folded(name) != _folded(book.source):
        raise UsageError(
            f"{folder} holds an import of “{title}” ({name}), not of “{book.title}” "
            f"({book.source}); name another folder, or, for the same book, --title “{title}”"
        )


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())


def _is_import(folder: Path) -> bool:
    """Returns whether an import made the folder, even one that wrote no record."""
    return (folder / "book.yaml").is_file() and (
        (folder / _RECORD_FILE).is_file() or (folder / REPORT_FILE).is_file()
    )


def _recorded_hashes(folder: Path) -> dict[str, str]:
    """Returns the hashes of imported files by name; without a record every file counts as
    changed."""
    return dict(_load_record(folder).get("files", {}))


def _load_record(folder: Path) -> dict[str, Any]:
    return files.load_json(folder / _RECORD_FILE, dict[str, Any], {})


def _update_import(
    target: Path, contents: Mapping[str, bytes], report: Path | None, book: Book
) -> WrittenProject:
    """Imports over an earlier import; replaces files that nobody changed. Raises StorageError."""
    recorded_hashes = _recorded_hashes(target)
    new_names: dict[str, str] = {}
    hashes = {name: content_of(content) for name, content in contents.items()}
    replaced = 0
    for name, content in sorted(contents.items(), key=lambda entry: entry[0] == "book.yaml"):
        path = target / name
        current_hash = file_content(path) if path.is_file() else None
        if current_hash == hashes[name]:
            continue
        if current_hash is None or current_hash == recorded_hashes.get(name) or name == REPORT_FILE:
            replaced += current_hash is not None
            files.write(path, content)
            continue
        new_name = _new_file_name(target, name, recorded_hashes, hashes[name])
        files.write(target / new_name, content)
        hashes[new_name] = hashes[name]
        new_names[name] = new_name
    if "book.yaml" not in new_names:
        _remove_stale_texts(target, recorded_hashes, hashes)
    files.write(target / _RECORD_FILE, _format_record(recorded_hashes | hashes, book))
    manifest = target / "book.yaml"
    unnamed = _unnamed_chapters(manifest, hashes) if "book.yaml" in new_names else ()
    return WrittenProject(target, manifest, report, new_names, replaced, unnamed)


def pending_tasks(manifest: Path) -> list[str]:
    """Returns what imports have left for the author to do, a line for each kind.

    That is: new texts beside changed ones, and chapters that `book.yaml` does not name.
    """
    if manifest.name != "book.yaml":  # another manifest may omit parts of the book on purpose
        return []
    present_files = [
        name for name in _recorded_hashes(manifest.parent) if (manifest.parent / name).is_file()
    ]
    messages = []
    if new_files := sorted(filter(_NEW_FILE_NAME.search, present_files)):
        messages.append(
            f"{', '.join(new_files)}: of a later import, and not read; {NEW_FILE_ADVICE}"
        )
    if unnamed_chapters := _unnamed_chapters(manifest, present_files):
        messages.append(f"{', '.join(unnamed_chapters)}: in no chapter; {UNNAMED_CHAPTER_ADVICE}")
    return messages


_NEW_FILE_NAME = re.compile(r"\.new\d*(?:\.[^./]*)?$")
NEW_FILE_ADVICE = "take over from each what you want, then delete it"
UNNAMED_CHAPTER_ADVICE = "name it under chapters in book.yaml (after a # where it should stay out)"


def _unnamed_chapters(manifest: Path, file_names: Iterable[str]) -> tuple[str, ...]:
    """Returns those chapter files that a manifest does not mention, not even in a comment."""
    try:
        text = unicodedata.normalize("NFC", manifest.read_text("utf-8", "replace"))
    except OSError:
        return ()
    return tuple(
        name
        for name in sorted(file_names)
        if _CHAPTER_FILE.fullmatch(name)
        and not _NEW_FILE_NAME.search(name)
        and unicodedata.normalize("NFC", name) not in text
    )


_CHAPTER_FILE = re.compile(r"text/[^/]+\.md")


def _new_file_name(
    target: Path, name: str, recorded_hashes: Mapping[str, str], new_hash: str
) -> str:
    """Returns the name for the new version of a changed file: `03.new.md`, or the next free one."""
    stem, dot, ending = name.rpartition(".")
    for number in count(1):
        new_name = f"{stem}.new{number if number > 1 else ''}{dot}{ending}"
        path = target / new_name
        if not path.is_file() or file_content(path) in (recorded_hashes.get(new_name), new_hash):
            return new_name
    raise AssertionError


def _remove_stale_texts(
    target: Path, recorded_hashes: Mapping[str, str], hashes: Mapping[str, str]
) -> None:
    """Removes unchanged texts of the previous import that this one no longer has."""
    for name, digest in recorded_hashes.items():
        path = target / name
        is_text = path.resolve().is_relative_to(target / "text")
        if name not in hashes and is_text and path.is_file() and file_content(path) == digest:
            path.unlink()


_TEMPORARY_FOLDER = re.compile(r"\..+\.import-(\d{1,9})-[0-9a-f]{8}", re.DOTALL)


def remove_abandoned_folders(folder: Path) -> None:
    """Removes temporary folders of imports that were killed."""
    import psutil  # 10 ms, and a check removes none

    with contextlib.suppress(OSError):  # harmless if it stays
        for path in folder.iterdir():
            match = _TEMPORARY_FOLDER.fullmatch(path.name)
            if match and not psutil.pid_exists(int(match[1])):
                shutil.rmtree(path, ignore_errors=True)


def starter_book(folder: Path, choices: Choices = Choices()) -> Book:  # noqa: B008  # frozen
    """Returns a small sample book, for a project that starts from nothing."""
    name = strip_invisible(folder.resolve().name)
    title = name.replace("-", " ").replace("_", " ").strip().title() or "My Book"
    chapter = ImportedChapter("Chapter One", _STARTER, "", 0, 0)
    return Book(
        title=choices.title or title,
        authors=choices.authors or ("Your Name",),
        language=choices.language or "en",
        chapters=(chapter,),
    )


REPORT_FILE = "import-report.md"
_SOURCE_FILE = "source.epub"
_STARTER = """\
# Chapter One

This is the text of your first chapter. Whatever stands here is read by the narrator.

A blank line begins a new paragraph. *Emphasis* is welcome, and three asterisks are a scene break:

***

When your book has speakers, list them in book.yaml and begin their lines with their name and a
colon.
"""


def _project_files(
    book: Book, original: Path | None, *, with_chunk_lengths: bool
) -> dict[str, bytes]:
    """Returns the contents of all files of the project, by path.

    Without chunk lengths the manifest leaves them as they were before narrator wrote any.
    """
    width = max(2, len(str(len(book.chapters))))
    chapter_files = [
        f"text/{number:0{width}}-{folder_name(chapter.title)}.md"
        for number, chapter in enumerate(book.chapters, 1)
    ]
    left_out_files = _left_out_files(book)
    cover = f"cover{book.cover.suffix}" if book.cover else None
    source = _SOURCE_FILE if original else None
    texts = {
        "book.yaml": _format_manifest(
            book,
            chapter_files,
            left_out_files,
            cover,
            source,
            with_chunk_lengths=with_chunk_lengths,
        ),
        ".gitignore": "build/\n",
    }
    if book.source:
        texts[REPORT_FILE] = _format_report(book, chapter_files, left_out_files)
    texts |= {
        name: chapter.markdown for name, chapter in zip(chapter_files, book.chapters, strict=True)
    }
    texts |= {name: book.left_out[number].markdown or "" for number, name in left_out_files.items()}
    contents = {name: text.encode("utf-8") for name, text in texts.items()}
    if cover is not None and book.cover is not None:
        contents[cover] = book.cover.data
    if original is not None:
        contents[_SOURCE_FILE] = _read_original(original)
    return contents


def _left_out_files(book: Book) -> dict[int, str]:
    """Returns file names for left-out texts that may be restored, by their index in `left_out`."""
    restorable = [n for n, skipped in enumerate(book.left_out) if skipped.markdown is not None]
    slugs = [folder_name(book.left_out[n].title or book.left_out[n].reason) for n in restorable]
    return {
        n: f"text/left-out/{number:02}-{slug}.md"
        for number, (n, slug) in enumerate(zip(restorable, slugs, strict=True), 1)
    }


def _read_original(original: Path) -> bytes:
    try:
        return original.read_bytes()
    except OSError as error:
        raise StorageError(f"{original} cannot be read: {error.strerror}") from None


def folder_name(title: str) -> str:
    """Returns a title as the name of a file or folder: letters and digits of any script, in lower
    case, with hyphens."""
    if counted_match := _COUNTED_TITLE.match(title):
        title = title[counted_match.end() :]
    text = unicodedata.normalize("NFKC", title).casefold().replace("’", "").replace("'", "")
    words = "-".join(re.findall(r"[^\W_]+", text))
    if len(words) > _MAX_SLUG_LENGTH:
        words = words[: _MAX_SLUG_LENGTH + 1].rpartition("-")[0] or words[:_MAX_SLUG_LENGTH]
    return words or "chapter"


# -- book.yaml -------------------------------------------------------------------------------------

_CHUNK_ROWS = (
    "# Text with a style is spoken in chunks of 10 to 12 s: in longer ones VoxCPM2 is reported to",
    "# speed up, whatever the style says.",
    "chunks: {styled_seconds: 12}",
    "",
)
_CHUNK_KEY = re.compile(rb"^chunks\s*:", re.MULTILINE)


def _has_chunk_lengths(manifest: Path) -> bool:
    """Returns whether a manifest sets lengths of chunks; true for one that is to be written."""
    try:
        return _CHUNK_KEY.search(manifest.read_bytes()) is not None
    except FileNotFoundError:
        return True


def _format_manifest(
    book: Book,
    chapter_files: Sequence[str],
    left_out_files: Mapping[int, str],
    cover: str | None,
    source: str | None,
    *,
    with_chunk_lengths: bool,
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
            _to_yaml({key: fact for key, fact in facts.items() if fact is not None}),
            *_date_comment(book.date),
            _speaker_rows(book.speakers),
            *(_CHUNK_ROWS if with_chunk_lengths else ()),
            "chapters:",
            *_chapter_rows(book, chapter_files, left_out_files),
            "",
        ]
    )


def _date_comment(date: str | None) -> list[str]:
    """Returns a comment with a date that manifests do not accept, for the author to correct."""
    if not date or is_date(date):
        return []
    return [
        f"# date: {' '.join(date.split())}    # of the source; write YYYY, YYYY-MM or YYYY-MM-DD"
    ]


def _speaker_rows(speakers: Sequence[PrintedSpeaker]) -> str:
    """Returns the YAML of the cast: one narrator, or the labels of a script."""
    rows = [
        "# Who speaks. A voice is described in words or given as a clip with its transcript.",
        "speakers:",
        '  narrator: {}    # or: {voice: {description: "A warm, unhurried storyteller"}}',
    ]
    for speaker in speakers:
        if speaker.name.casefold() != "narrator":
            names = ", ".join(map(_yaml_key, speaker.aliases))
            fields = [f"aliases: [{names}]"] if names else []
            fields += [f"pronoun: {speaker.pronoun}"] if speaker.pronoun else []
            rows += [f"  {_yaml_key(speaker.name)}: {{{', '.join(fields)}}}"]
    if not speakers:
        rows += ["  # alice: {}    # says what begins with “Alice: ” in the text"]
    rows += ["narrator: narrator    # reads what has no label", ""]
    return "\n".join(rows)


def _chapter_rows(
    book: Book, chapter_files: Sequence[str], left_out_files: Mapping[int, str]
) -> list[str]:
    rows = []
    if left_out_files:
        rows += ["  # Left out, see import-report.md; take the # away to have one read:"]
    for position in range(len(book.chapters) + 1):
        for number, name in left_out_files.items():
            skipped = book.left_out[number]
            if skipped.place == position:
                entry = _to_yaml(
                    [{"title": skipped.title or skipped.reason.capitalize(), "file": name}]
                )
                rows += [f"  # {row}" for row in entry.splitlines()]
        if position < len(book.chapters):
            entry = _to_yaml(
                [{"title": book.chapters[position].title, "file": chapter_files[position]}]
            )
            rows += [f"  {row}" for row in entry.splitlines()]
    return rows


def _to_yaml(document: object) -> str:
    # Long texts are folded at 100 columns; inside chapters, which are indented, a little later.
    return yaml.safe_dump(document, allow_unicode=True, sort_keys=False, width=96)


def _yaml_key(name: str) -> str:
    return yaml.safe_dump({name: 0}, allow_unicode=True).rpartition(":")[0]


# -- the report ------------------------------------------------------------------------------------


def _format_report(
    book: Book, chapter_files: Sequence[str], left_out_files: Mapping[int, str]
) -> str:
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
    remarks = [*filter(None, [book.dialogue]), *book_oddities(book), *book.remarks]
    if remarks:
        rows += ["## To know", "", *(f"- {_table_cell(remark)}" for remark in remarks), ""]
    rows += ["## Chapters", "", "| file | title | from | words |", "|---|---|---|--:|"]
    rows += [
        f"| {name} | {_table_cell(chapter.title)} | {_table_cell(chapter.source)} "
        f"| {chapter.words:,} |"
        for name, chapter in zip(chapter_files, book.chapters, strict=True)
    ]
    if book.left_out:
        rows += ["", "## Left out", "", "| from | title | why | words | kept aside in |"]
        rows += ["|---|---|---|--:|---|"]
        rows += [
            _left_out_row(skipped, left_out_files.get(n, ""))
            for n, skipped in enumerate(book.left_out)
        ]
    return "\n".join([*rows, ""])


def _left_out_row(skipped: Skipped, name: str) -> str:
    title, source = _table_cell(skipped.title), _table_cell(skipped.source)
    count_note = f" ({skipped.count} of them)" if skipped.count > 1 else ""
    reason = _table_cell(skipped.reason)
    return f"| {source} | {title} | {reason}{count_note} | {skipped.words:,} | {name} |"


def _table_cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
