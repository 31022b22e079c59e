"""Reads a file or a folder as a book, whatever its format, and settles the book's language."""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from manuscripts.book import Book, Choices, FileCallback, file_name
from manuscripts.errors import ImportFailed
from manuscripts.kinds import READABLE, SUFFIXES
from manuscripts.readers.content import kind_of
from manuscripts.readers.folder import read_folder
from textbase import files
from textbase.characters import strip_invisible
from textbase.errors import Problem
from textbase.languages import mend_tag, primary
from textbase.patterns import SlowPattern, time_limit
from textbase.recognise import language_of
from textbase.tongues import find_foreign_letters


def read_book(
    source: Path,
    choices: Choices = Choices(),  # noqa: B008  # frozen
    on_file: FileCallback = lambda path: None,
) -> Book:
    """Returns the book in a file or a folder, whatever its format; calls `on_file` before it reads
    each file.

    Reads in this process; use `read_isolated` for files that nobody vouches for. Raises
    ImportFailed, with what is wrong and where.
    """
    try:
        book = _clean_file_names(_read_source(source, choices, on_file))
    except SlowPattern as error:
        raise ImportFailed(f"--chapter-heading: {error}") from None
    if not book.chapters:
        reasons = ", ".join(dict.fromkeys(part.reason for part in book.left_out if part.words))
        message = f"has no text to read aloud{f' (only {reasons})' if reasons else ''}"
        raise ImportFailed(Problem(source, None, message))
    if choices.heading and not _has_heading(choices.heading, book):
        message = f"--chapter-heading: no line begins with {choices.heading.pattern}"
        book = replace(
            book, remarks=(f"{message}, so chapters were not parted there.", *book.remarks)
        )
    language, language_remark = _decide_language(book, choices.language)
    remarks = [*book.remarks, *_missing_facts(book, choices)]
    if language_remark:
        # A wrong language spoils all speech, so its remark comes before those of less weight.
        is_doubted = ", as the book says," in language_remark
        remarks.insert(0 if is_doubted else len(remarks), language_remark)
    return replace(
        book,
        title=choices.title or book.title,
        authors=choices.authors or book.authors or ("Unknown",),
        language=language,
        remarks=tuple(remarks),
    )


def _missing_facts(book: Book, choices: Choices) -> Iterator[str]:
    """Yields remarks on facts that neither the book nor the user states."""
    if not book.is_titled and not choices.title:
        holder = "folder" if book.format == "a folder" else "file"
        yield f"The book does not say its title; the {holder}'s name stands for it."
    if not book.authors and not choices.authors:
        yield "The book does not say its author."


_ADDRESS = re.compile(r"(?:https?|ftp|feed):/", re.IGNORECASE)
"""An address typed as `https://…`; a path keeps one of the two slashes."""


def _read_source(source: Path, choices: Choices, on_file: FileCallback) -> Book:
    if _ADDRESS.match(str(source)):
        message = "is an address, and no network is used; save what is there as a file"
        raise ImportFailed(Problem(source, None, f"{message}, and import that"))
    try:
        status = source.stat()
    except OSError as error:
        if kind := files.describe_file_type(source):
            raise ImportFailed(Problem(source, None, f"{kind}; name a file")) from None
        if isinstance(error, FileNotFoundError | NotADirectoryError):
            raise ImportFailed(Problem(source, None, "no such file")) from None
        raise ImportFailed(Problem(source, None, f"cannot be read: {error.strerror}")) from None
    if stat.S_ISDIR(status.st_mode):
        return replace(read_folder(source, choices, _read_file, on_file), format="a folder")
    if not stat.S_ISREG(status.st_mode):
        raise ImportFailed(
            Problem(source, None, f"{files.describe_file_type(source)}; name a file")
        )
    if status.st_size == 0:  # unread: /proc/kmsg waits until the system writes a message
        raise ImportFailed(Problem(source, None, "has no text to read aloud: its size is 0 bytes"))
    on_file(source)
    return _read_file(source, choices)


def _read_file(source: Path, choices: Choices) -> Book:
    """Returns the book in a file of any kind. Raises ImportFailed, SlowPattern."""
    kind = kind_of(source)
    book = replace(kind.load_reader()(source, choices), format=kind.name)
    named_kind = SUFFIXES.get(source.suffix.lower())
    if source.suffix and (named_kind is None or named_kind.name == kind.name):
        return book
    remark = f"{file_name(source)} was read as {kind.name}, as its content is."
    return replace(book, remarks=(remark, *book.remarks))


def _clean_file_names(book: Book) -> Book:
    """Returns the book with printable file names: bytes that are not UTF-8 are dropped."""
    return replace(
        book,
        chapters=tuple(
            replace(part, source=strip_invisible(part.source)) for part in book.chapters
        ),
        left_out=tuple(
            replace(part, source=strip_invisible(part.source)) for part in book.left_out
        ),
        remarks=tuple(map(strip_invisible, book.remarks)),
    )


def _has_heading(heading: re.Pattern[str], book: Book) -> bool:
    """Returns whether any row of the chapters begins with the user's pattern for headings; also
    True if that takes too long."""
    rows = (row.lstrip("#*_> ") for c in book.chapters for row in c.markdown.split("\n") if row)
    try:
        with time_limit(heading.pattern):
            return any(heading.match(_MARKDOWN_ESCAPE.sub(r"\1", row)) for row in rows)
    except SlowPattern:
        return True


_MARKDOWN_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")


_RELATED_LANGUAGES = {"nb", "no", "nn", "da"}
"""Languages that are not told apart."""


def _decide_language(book: Book, chosen_language: str | None) -> tuple[str, str]:
    """Returns the language of a book, and a remark on it, or ""."""
    if chosen_language:
        return chosen_language, ""
    text = "\n".join(chapter.markdown for chapter in book.chapters)
    recognised = language_of(text)
    if not book.language:
        if recognised is None:
            return (
                "en",
                "language: not recognised, so English (en) is assumed; --language names it.",
            )
        return recognised, f"language: {recognised}, recognised; --language says otherwise."
    stated = mend_tag(book.language)
    if recognised in (None, primary(stated)) or {recognised, primary(stated)} <= _RELATED_LANGUAGES:
        return stated, ""
    script_mismatch = find_foreign_letters(text[:_SAMPLE_LENGTH], stated)
    doubt = ""
    if any(kind.writes_languages and kind.name == book.format for kind in READABLE):
        doubt = f"{stated} is what the program has set"
    elif script_mismatch and script_mismatch.is_most:
        doubt = f"the book says {stated}, which is written in other letters"
    if doubt and recognised:
        return recognised, (
            f"language: {recognised}, recognised; {doubt}. --language says otherwise."
        )
    return stated, (
        f"language: {stated}, as the book says, but its text reads as {recognised}; "
        f"if it is, --language {recognised}."
    )


_SAMPLE_LENGTH = 200_000
"""Number of characters whose letters show the script of the book."""
