"""Reads a folder of manuscripts as a book: each file holds one or more chapters, in natural order.

`2.md` precedes `10.md`, and a `SUMMARY.md` with links, as in mdBook, sets the order itself. Texts
are read here, pages of HTML together as one book, other files by the readers of their formats.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

from manuscripts.book import (
    Book,
    Choices,
    FileCallback,
    Skipped,
    count_characters,
    count_words,
    file_name,
    title_from_file_name,
)
from manuscripts.chapters import FILES
from manuscripts.errors import ImportFailed
from manuscripts.kinds import (
    HTML,
    IMPORTABLE,
    MARKDOWN,
    READERS,
    TEXT,
    UNREADABLE_SUFFIXES,
    Reader,
)
from manuscripts.persons import merge_casts
from manuscripts.plaintext import read_text
from manuscripts.readers.markdown import read_markdown
from manuscripts.readers.natural import natural_key
from manuscripts.readers.text import read_plain_text
from manuscripts.readers.web.html import read_html_folder
from textbase.errors import Problem

_READ_HERE = (*MARKDOWN.suffixes, *TEXT.suffixes)
_SPEAKERS_ENDING = ".speakers.txt"
"""Of the lists of who says what that narrator writes beside texts."""
_MAX_SHOWN = 3
_NOT_OF_THE_BOOK = re.compile(
    r"readme|licen[cs]e|copying|contributing|changelog|notes?|outline|synopsis|to-?do|timeline",
    re.IGNORECASE,
)
"""Files about a folder, not of its book."""
_NOT_READ_REASON = "is about the book by its name, or in no list of it; it is not read"
_EXCLUDED_FOLDER = re.compile(r"build|.*(_files|\.files|\.fld|_fichiers|-Dateien)")
"""Folders of build output, and of resources that browsers and Word save beside a page."""
_LINK = re.compile(r"\]\(\s*<?([^)<>\s]+\.(?:md|markdown|txt))>?[^)]*\)", re.IGNORECASE)
_MAX_FILES = 5000


def read_folder(folder: Path, choices: Choices, read_any: Reader, on_file: FileCallback) -> Book:
    """Returns the book in a folder of manuscripts.

    `read_any` reads a file of any format; `on_file` is called before each file. Raises
    ImportFailed, Slow.
    """
    _refuse_packages(folder)
    remarks: list[str] = []
    paths = _find_files(folder, remarks)
    pages = [path for path in paths if path.suffix.lower() in HTML.suffixes]
    if 2 * len(pages) > len(paths):
        remarks += _describe_unread([path for path in paths if path not in pages])
        book = read_html_folder(folder, pages, choices)
        return replace(book, remarks=(*book.remarks, *remarks))
    listing = _find_listing(paths)
    ordered_paths = _order_files(paths, listing, choices)
    if not ordered_paths:
        message = f"a folder without manuscripts; what can be imported: {IMPORTABLE}"
        raise ImportFailed(Problem(folder, None, message))
    other_paths = [path for path in paths if path not in ordered_paths]
    skipped_paths = [path for path in other_paths if path.suffix.lower() in _READ_HERE]
    remarks += (
        f"{file_name(path)} {_NOT_READ_REASON}."
        for path in other_paths
        if path not in skipped_paths
    )
    books = list(_read_books(folder, ordered_paths, choices, read_any, remarks, on_file))
    on_file(folder)
    skipped = [_skip_file(path, path == listing, choices) for path in skipped_paths]
    joined_book = _join_books(folder, books, skipped)
    return replace(joined_book, remarks=(*joined_book.remarks, *remarks))


def _refuse_packages(folder: Path) -> None:
    """Refuses folders that are the document of a program. Raises ImportFailed."""
    try:
        names = {path.name for path in folder.iterdir()}
    except OSError as error:
        raise ImportFailed(Problem(folder, None, f"cannot be read: {error.strerror}")) from None
    if any(name.lower().endswith(".scrivx") for name in names):
        message = "a Scrivener project; compile it to Word, or to EPUB"
        raise ImportFailed(Problem(folder, None, message))
    if folder.suffix.lower() == ".pages" or {"Index.zip", "index.apxl", "index.xml.gz"} & names:
        message = "a Pages document; export it as Word or EPUB (File, Export To)"
        raise ImportFailed(Problem(folder, None, message))


def _describe_unread(paths: Sequence[Path]) -> Iterator[str]:
    """Yields a remark on other manuscripts of the folder that are not read."""
    if paths:
        shown_names = ", ".join(file_name(path) for path in paths[:_MAX_SHOWN])
        ellipsis = "…" if len(paths) > _MAX_SHOWN else ""
        yield f"Not read, as most files here are HTML: {shown_names}{ellipsis}."


def _read_books(
    folder: Path,
    paths: Sequence[Path],
    choices: Choices,
    read_any: Reader,
    remarks: list[str],
    on_file: FileCallback,
) -> Iterator[Book]:
    """Yields the book of each file; a file that cannot be read gets a remark, if another one can.

    Raises ImportFailed.
    """
    problem: ImportFailed | None = None
    is_none_read = True
    for path in paths:
        on_file(path)
        try:
            book = _read_book(folder, path, choices, read_any)
        except ImportFailed as error:
            if path.suffix.lower() in _READ_HERE:
                raise
            problem = problem or error
            name = path.relative_to(folder).as_posix()
            remarks.append(f"{name} is not read: {str(error).removeprefix(f'{path}: ')}")
        else:
            is_none_read = False
            yield book
    if problem is not None and is_none_read:
        raise problem


def _find_listing(paths: Sequence[Path]) -> Path | None:
    """Returns the file that lists the others."""
    return next((path for path in paths if path.stem.lower() in ("summary", "_sidebar")), None)


def _order_files(paths: Sequence[Path], listing: Path | None, choices: Choices) -> list[Path]:
    """Returns the files of a book in reading order, set by a listing or natural."""
    if listing and (listed_paths := _listed_files(listing, paths, choices)):
        return listed_paths
    other_paths = [path for path in paths if path != listing]
    return [
        path for path in other_paths if not _NOT_OF_THE_BOOK.fullmatch(path.stem)
    ] or other_paths


def _find_files(folder: Path, remarks: list[str]) -> list[Path]:
    """Returns the manuscripts in a folder and its subfolders, without hidden ones, in natural
    order."""
    resolved_folder, suffixes = folder.resolve(), _manuscript_suffixes()
    paths: list[Path] = []
    outside_paths: list[Path] = []
    try:
        for path in folder.rglob("*"):
            parts = path.relative_to(folder).parts
            if (
                path.suffix.lower() in suffixes
                and not path.name.endswith(_SPEAKERS_ENDING)
                and not any(part.startswith((".", "~$", "__MACOSX")) for part in parts)
                and not any(_EXCLUDED_FOLDER.fullmatch(part) for part in parts[:-1])
                and path.is_file()
            ):
                (paths if path.resolve().is_relative_to(resolved_folder) else outside_paths).append(
                    path
                )
    except (OSError, RuntimeError) as error:  # RuntimeError: links in a circle
        description = getattr(error, "strerror", None) or error
        raise ImportFailed(Problem(folder, None, f"cannot be read: {description}")) from None
    if len(paths) > _MAX_FILES:
        raise ImportFailed(Problem(folder, None, f"has {len(paths):,} texts, which no book has"))
    remarks += (
        f"{file_name(path)} is a link out of the folder; not read." for path in outside_paths
    )
    ordered_paths = sorted(paths, key=lambda path: natural_key(path.relative_to(folder).as_posix()))
    return list(_without_duplicates(ordered_paths, remarks))


def _manuscript_suffixes() -> Sequence[str]:
    """Suffixes of possible manuscripts; of files with the same stem the first suffix wins."""
    readable = (f".{name}" for name in READERS.names())
    return tuple(dict.fromkeys((*_READ_HERE, *readable, *UNREADABLE_SUFFIXES)))


def _without_duplicates(paths: Sequence[Path], remarks: list[str]) -> Iterator[Path]:
    """Yields files, without those that repeat another one in another format."""
    path_by_stem: dict[Path, Path] = {}
    suffixes = _manuscript_suffixes()
    for path in sorted(paths, key=lambda path: suffixes.index(path.suffix.lower())):
        path_by_stem.setdefault(path.with_suffix(""), path)
    for path in paths:
        preferred_path = path_by_stem[path.with_suffix("")]
        if preferred_path == path or {preferred_path.suffix.lower(), path.suffix.lower()} <= {
            *_READ_HERE
        }:
            yield path
        else:
            remarks.append(f"{file_name(path)} is not read: {file_name(preferred_path)} is.")


def _listed_files(listing: Path, paths: Sequence[Path], choices: Choices) -> list[Path]:
    """Returns the files that a list of links names, in its order."""
    links = _LINK.findall(read_text(listing, choices.encoding).text)
    path_by_target = {path.resolve(): path for path in paths}
    linked = ((listing.parent / unquote(link)).resolve() for link in links)
    return list(dict.fromkeys(path_by_target[path] for path in linked if path in path_by_target))


def _read_book(folder: Path, path: Path, choices: Choices, read_any: Reader) -> Book:
    """Returns the book of one file. Raises ImportFailed."""
    if path.suffix.lower() in MARKDOWN.suffixes:
        book = read_markdown(path, choices, is_in_folder=True)
    elif path.suffix.lower() in TEXT.suffixes:
        book = read_plain_text(path, choices, FILES)
    else:
        book = _title_from_file(read_any(path, choices), path)
    name = path.relative_to(folder).as_posix()
    chapters = tuple(
        replace(c, source=_source_in_folder(c.source, path, name)) for c in book.chapters
    )
    left_out = tuple(
        replace(s, source=_source_in_folder(s.source, path, name)) for s in book.left_out
    )
    return replace(book, chapters=chapters, left_out=left_out)


def _title_from_file(book: Book, path: Path) -> Book:
    """Returns a file's book; its only chapter is named after the file if it has no heading."""
    if len(book.chapters) != 1 or book.chapters[0].markdown.lstrip().startswith("#"):
        return book
    return replace(book, chapters=(replace(book.chapters[0], title=title_from_file_name(path)),))


def _source_in_folder(source: str, path: Path, name: str) -> str:
    file_title = file_name(path)
    return (
        name + source.removeprefix(file_title)
        if source.startswith(file_title)
        else f"{name}, {source}"
    )


def _skip_file(path: Path, is_listing: bool, choices: Choices) -> Skipped:
    text = read_text(path, choices.encoding).text
    reason = "table of contents" if is_listing else "a file about the folder, or of no chapter"
    return Skipped(
        file_name(path),
        title_from_file_name(path),
        reason,
        count_characters(text),
        count_words(text),
    )


def _join_books(folder: Path, books: Sequence[Book], aside: Sequence[Skipped]) -> Book:
    """Returns the files' books as one; each fact comes from the first book that states it."""
    titled_book = _find_titled_book(books)
    return replace(
        titled_book or books[0],
        title=titled_book.title if titled_book else title_from_file_name(folder.resolve()),
        authors=next((book.authors for book in books if book.authors), ()),
        is_titled=titled_book is not None,
        language=next((book.language for book in books if book.language), ""),
        chapters=tuple(chapter for book in books for chapter in book.chapters),
        left_out=(*aside, *_left_out(books)),
        source=file_name(folder.resolve()),
        characters=sum(book.characters for book in books) + sum(i.characters for i in aside),
        speakers=merge_casts(speaker for book in books for speaker in book.speakers),
        dialogue=_describe_dialogue([book.dialogue for book in books if book.dialogue]),
        remarks=tuple(dict.fromkeys(remark for book in books for remark in book.remarks)),
    )


def _describe_dialogue(descriptions: Sequence[str]) -> str:
    return (
        descriptions[0]
        if len(descriptions) == 1
        else f"{len(descriptions)} files print their speakers"
        if descriptions
        else ""
    )


def _find_titled_book(books: Sequence[Book]) -> Book | None:
    """Returns the book that states the title; several different titles are those of chapters, as on
    static sites."""
    titled_books = [book for book in books if book.is_titled]
    return titled_books[0] if len({book.title for book in titled_books}) == 1 else None


def _left_out(books: Sequence[Book]) -> Iterator[Skipped]:
    """Yields what was left out of all files, with its place in the joined book."""
    chapter_count = 0
    for book in books:
        yield from (
            replace(skipped, place=skipped.place + chapter_count) for skipped in book.left_out
        )
        chapter_count += len(book.chapters)
