"""Reads a folder of manuscripts as a book: each file holds one or more chapters, in natural order.

`2.md` precedes `10.md`, and a `SUMMARY.md` with links, as in mdBook, sets the order itself. Texts
are read here, pages of HTML together as one book, other files by the readers of their formats.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

from manuscripts.book import (
    Book,
    Choices,
    FileCallback,
    ImportedChapter,
    Skipped,
    count_characters,
    count_words,
    file_name,
    natural_key,
    title_from_file_name,
)
from manuscripts.chapters import FILES
from manuscripts.errors import ImportFailed
from manuscripts.kinds import (
    HTML,
    IMPORTABLE,
    MARKDOWN,
    PAGES,
    READERS,
    SCRIVENER,
    TEXT,
    UNREADABLE_SUFFIXES,
    Reader,
)
from manuscripts.persons import merge_casts
from manuscripts.plaintext import read_text
from manuscripts.readers.markdown import read_markdown
from manuscripts.readers.text import read_plain_text
from manuscripts.readers.web.html import read_html_folder
from textbase.errors import Problem

_TEXT_SUFFIXES = (*MARKDOWN.suffixes, *TEXT.suffixes)
_SPEAKERS_ENDING = ".speakers.txt"
"""Of the lists of who says what that narrator writes beside texts."""
_MAX_SHOWN = 3
_NOT_OF_THE_BOOK = re.compile(
    r"readme|licen[cs]e|copying|contributing|changelog|notes?|outline|synopsis|to-?do|timeline",
    re.IGNORECASE,
)
"""Files about a folder, not of its book."""
_EXCLUDED_FOLDER = re.compile(r"build|.*(_files|\.files|\.fld|_fichiers|-Dateien)")
"""Folders of build output, and of resources that browsers and Word save beside a page."""
_LINK = re.compile(r"\]\(\s*<?([^)<>\s]+\.(?:md|markdown|txt))>?[^)]*\)", re.IGNORECASE)
_MAX_FILES = 5000


def read_folder(folder: Path, choices: Choices, read_file: Reader, on_file: FileCallback) -> Book:
    """Returns the book in a folder of manuscripts.

    `read_file` reads a file of any format; `on_file` is called before each file. Raises
    ImportFailed, SlowPattern.
    """
    _refuse_packages(folder)
    remarks: list[str] = []
    paths = _find_files(folder, remarks)
    pages = [path for path in paths if path.suffix.lower() in HTML.suffixes]
    if 2 * len(pages) > len(paths):
        names = [file_name(path) for path in paths if path not in pages]
        if names:
            shown_names = ", ".join(names[:_MAX_SHOWN]) + "…" * (len(names) > _MAX_SHOWN)
            remarks.append(f"Not read, as most files here are HTML: {shown_names}.")
        book = read_html_folder(folder, pages, choices)
        return replace(book, remarks=(*book.remarks, *remarks))
    contents_file = next(
        (path for path in paths if path.stem.lower() in ("summary", "_sidebar")), None
    )
    chapters = _order_files(paths, contents_file, choices)
    if not chapters:
        message = f"a folder without manuscripts; what can be imported: {IMPORTABLE}"
        raise ImportFailed(Problem(folder, None, message))
    skipped: list[Skipped] = []
    for path in paths:
        if path not in chapters and path.suffix.lower() in _TEXT_SUFFIXES:
            skipped.append(_skipped_file(path, path == contents_file, choices))
        elif path not in chapters:
            reason = "is about the book by its name, or in no list of it; it is not read"
            remarks.append(f"{file_name(path)} {reason}.")
    books = _read_books(folder, chapters, choices, read_file, remarks, on_file)
    on_file(folder)
    book = _join_books(folder, books, skipped)
    return replace(book, remarks=(*book.remarks, *remarks))


def _refuse_packages(folder: Path) -> None:
    """Refuses folders that are the document of a program. Raises ImportFailed."""
    try:
        names = {path.name for path in folder.iterdir()}
    except OSError as error:
        raise ImportFailed(Problem(folder, None, f"cannot be read: {error.strerror}")) from None
    if any(name.lower().endswith(".scrivx") for name in names):
        raise ImportFailed(Problem(folder, None, SCRIVENER.refusal))
    if folder.suffix.lower() == ".pages" or {"Index.zip", "index.apxl", "index.xml.gz"} & names:
        raise ImportFailed(Problem(folder, None, PAGES.refusal))


def _find_files(folder: Path, remarks: list[str]) -> list[Path]:
    """Returns the manuscripts in a folder and its subfolders, in natural order: without hidden
    ones, and those that repeat another one in another format."""
    readable = (f".{name}" for name in READERS.names())
    suffixes = list(dict.fromkeys((*_TEXT_SUFFIXES, *readable, *UNREADABLE_SUFFIXES)))
    """Of possible manuscripts; of files with the same stem the first suffix wins."""
    try:
        candidates = [
            path
            for path in folder.rglob("*")
            if path.suffix.lower() in suffixes and _may_be_manuscript(path, folder)
        ]
        is_inside = {path: path.resolve().is_relative_to(folder.resolve()) for path in candidates}
    except (OSError, RuntimeError) as error:  # RuntimeError: links in a circle
        description = getattr(error, "strerror", None) or error
        raise ImportFailed(Problem(folder, None, f"cannot be read: {description}")) from None
    if len(candidates) > _MAX_FILES:
        raise ImportFailed(
            Problem(folder, None, f"has {len(candidates):,} texts, which no book has")
        )
    candidates.sort(key=lambda path: natural_key(path.relative_to(folder).as_posix()))
    path_by_stem: dict[Path, Path] = {}
    for path in sorted(candidates, key=lambda path: suffixes.index(path.suffix.lower())):
        if is_inside[path]:
            path_by_stem.setdefault(path.with_suffix(""), path)
    paths: list[Path] = []
    for path in candidates:
        preferred = path_by_stem.get(path.with_suffix(""), path)
        if not is_inside[path]:
            remarks.append(f"{file_name(path)} is a link out of the folder; not read.")
        elif preferred == path or {preferred.suffix.lower(), path.suffix.lower()} <= {
            *_TEXT_SUFFIXES
        }:
            paths.append(path)
        else:
            remarks.append(f"{file_name(path)} is not read: {file_name(preferred)} is.")
    return paths


def _may_be_manuscript(path: Path, folder: Path) -> bool:
    """Returns whether a file is neither hidden nor one that programs write beside texts."""
    *folders, name = path.relative_to(folder).parts
    return (
        not name.endswith(_SPEAKERS_ENDING)
        and not any(part.startswith((".", "~$", "__MACOSX")) for part in (*folders, name))
        and not any(map(_EXCLUDED_FOLDER.fullmatch, folders))
        and path.is_file()
    )


def _order_files(paths: Sequence[Path], contents_file: Path | None, choices: Choices) -> list[Path]:
    """Returns the files of a book in reading order: that of the links in a listing, or natural."""
    if contents_file is not None:
        links = _LINK.findall(read_text(contents_file, choices.encoding).text)
        path_by_target = {path.resolve(): path for path in paths}
        targets = dict.fromkeys((contents_file.parent / unquote(link)).resolve() for link in links)
        if listed := [path_by_target[target] for target in targets if target in path_by_target]:
            return listed
    others = [path for path in paths if path != contents_file]
    return [path for path in others if not _NOT_OF_THE_BOOK.fullmatch(path.stem)] or others


def _read_books(
    folder: Path,
    paths: Sequence[Path],
    choices: Choices,
    read_file: Reader,
    remarks: list[str],
    on_file: FileCallback,
) -> list[Book]:
    """Returns the book of each file; a file that cannot be read gets a remark, if another one can.

    Raises ImportFailed.
    """
    books: list[Book] = []
    problem: ImportFailed | None = None
    for path in paths:
        on_file(path)
        try:
            books.append(_read_book(folder, path, choices, read_file))
        except ImportFailed as error:
            if path.suffix.lower() in _TEXT_SUFFIXES:
                raise
            problem = problem or error
            name = path.relative_to(folder).as_posix()
            remarks.append(f"{name} is not read: {str(error).removeprefix(f'{path}: ')}")
    if problem is not None and not books:
        raise problem
    return books


def _read_book(folder: Path, path: Path, choices: Choices, read_file: Reader) -> Book:
    """Returns the book of one file. Raises ImportFailed."""
    if path.suffix.lower() in MARKDOWN.suffixes:
        book = read_markdown(path, choices, is_in_folder=True)
    elif path.suffix.lower() in TEXT.suffixes:
        book = read_plain_text(path, choices, FILES)
    else:
        book = read_file(path, choices)
        if len(book.chapters) == 1 and not book.chapters[0].markdown.lstrip().startswith("#"):
            chapter = replace(book.chapters[0], title=title_from_file_name(path))
            book = replace(book, chapters=(chapter,))
    name, place = path.relative_to(folder).as_posix(), file_name(path)

    def in_folder(source: str) -> str:
        has_place = source.startswith(place)
        return name + source.removeprefix(place) if has_place else f"{name}, {source}"

    return replace(
        book,
        chapters=tuple(replace(part, source=in_folder(part.source)) for part in book.chapters),
        left_out=tuple(replace(part, source=in_folder(part.source)) for part in book.left_out),
    )


def _skipped_file(path: Path, is_contents_file: bool, choices: Choices) -> Skipped:
    """Returns the entry of a text that is in no chapter."""
    text = read_text(path, choices.encoding).text
    return Skipped(
        file_name(path),
        title_from_file_name(path),
        "table of contents" if is_contents_file else "a file about the folder, or of no chapter",
        count_characters(text),
        count_words(text),
    )


def _join_books(folder: Path, books: Sequence[Book], skipped: Sequence[Skipped]) -> Book:
    """Returns the files' books as one; each fact comes from the first book that states it.

    Several different titles are those of chapters, as on static sites.
    """
    chapters: list[ImportedChapter] = []
    left_out = [*skipped]
    for book in books:
        left_out += (replace(part, place=part.place + len(chapters)) for part in book.left_out)
        chapters += book.chapters
    titled_books = [book for book in books if book.is_titled]
    has_title = len({book.title for book in titled_books}) == 1
    dialogues = [book.dialogue for book in books if book.dialogue]
    return replace(
        titled_books[0] if has_title else books[0],
        title=titled_books[0].title if has_title else title_from_file_name(folder.resolve()),
        is_titled=has_title,
        authors=next((book.authors for book in books if book.authors), ()),
        language=next((book.language for book in books if book.language), ""),
        chapters=tuple(chapters),
        left_out=tuple(left_out),
        source=file_name(folder.resolve()),
        characters=sum(b.characters for b in books) + sum(part.characters for part in skipped),
        speakers=merge_casts(speaker for book in books for speaker in book.speakers),
        dialogue=dialogues[0]
        if len(dialogues) == 1
        else f"{len(dialogues)} files print their speakers" * bool(dialogues),
        remarks=tuple(dict.fromkeys(remark for book in books for remark in book.remarks)),
    )
