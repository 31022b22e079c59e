"""A folder of texts -> a book: each file a chapter or some, in the order that people count in.

`2.md` stands before `10.md`, and a `SUMMARY.md` with links, as mdBook has, says the order itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

from narrator.errors import ImportFailed, Problem
from narrator.importers.book import (
    Book,
    Choices,
    Skipped,
    count_characters,
    count_words,
    file_name,
    stem,
)
from narrator.importers.chapters import FILES
from narrator.importers.persons import joined
from narrator.importers.plaintext import read_text
from narrator.importers.readers.markdown import read_markdown
from narrator.importers.readers.natural import natural
from narrator.importers.readers.text import read_plain_text
from narrator.text.decided import ENDING

_MARKDOWN = (".md", ".markdown")
_TEXT = (".txt", ".text")
_ASIDE = re.compile(r"(readme|license|licence|copying|contributing|changelog)", re.IGNORECASE)
"""Files about a folder, not of its book."""
_LINK = re.compile(r"\]\(\s*<?([^)<>\s]+\.(?:md|markdown|txt))>?[^)]*\)", re.IGNORECASE)
_MOST = 5000


def read_folder(folder: Path, choices: Choices) -> Book:
    """The book in a folder of Markdown and text files. Raises ImportFailed, Slow."""
    found = _files(folder)
    listing = next((path for path in found if path.stem.lower() in ("summary", "_sidebar")), None)
    ordered = _ordered(found, listing, choices)
    if not ordered:
        raise ImportFailed(Problem(folder, None, "a folder without .md or .txt files"))
    aside = [path for path in found if path not in ordered]
    return _joined(folder, [_book(folder, path, choices) for path in ordered],
                   [_left(path, path == listing, choices) for path in aside])  # fmt: skip


def _ordered(found: Sequence[Path], listing: Path | None, choices: Choices) -> list[Path]:
    """The files of a book in reading order, as a list says it, or as people count."""
    if listing and (listed := _listed(listing, found, choices)):
        return listed
    others = [path for path in found if path != listing]
    return [path for path in others if not _ASIDE.fullmatch(path.stem)] or others


def _files(folder: Path) -> list[Path]:
    """Texts in a folder and those below it, hidden ones left out, in natural order."""
    try:
        found = [
            path
            for path in folder.rglob("*")
            if path.suffix.lower() in (*_MARKDOWN, *_TEXT)
            and not path.name.endswith(ENDING)  # who says what in a text
            and not any(part.startswith(".") for part in path.relative_to(folder).parts)
            and "build" not in path.relative_to(folder).parts[:-1]
            and path.is_file()
        ]
    except OSError as error:
        raise ImportFailed(Problem(folder, None, f"cannot be read: {error.strerror}")) from None
    if len(found) > _MOST:
        raise ImportFailed(Problem(folder, None, f"has {len(found):,} texts, which no book has"))
    return sorted(found, key=lambda path: natural(path.relative_to(folder).as_posix()))


def _listed(listing: Path, found: Sequence[Path], choices: Choices) -> list[Path]:
    """The files that a list of links names, in its order."""
    links = _LINK.findall(read_text(listing, choices.encoding).text)
    known = {path.resolve(): path for path in found}
    linked = ((listing.parent / unquote(link)).resolve() for link in links)
    return list(dict.fromkeys(known[path] for path in linked if path in known))


def _book(folder: Path, path: Path, choices: Choices) -> Book:
    """What one file says. Raises ImportFailed."""
    markdown = path.suffix.lower() in _MARKDOWN
    book = (
        read_markdown(path, choices, of_folder=True)
        if markdown
        else read_plain_text(path, choices, FILES)
    )
    name = path.relative_to(folder).as_posix()
    chapters = tuple(replace(c, source=_within(c.source, path, name)) for c in book.chapters)
    left_out = tuple(replace(s, source=_within(s.source, path, name)) for s in book.left_out)
    return replace(book, chapters=chapters, left_out=left_out)


def _within(source: str, path: Path, name: str) -> str:
    return name + source.removeprefix(file_name(path))


def _left(path: Path, is_listing: bool, choices: Choices) -> Skipped:
    text = read_text(path, choices.encoding).text
    reason = "table of contents" if is_listing else "a file about the folder, or of no chapter"
    return Skipped(file_name(path), stem(path), reason, count_characters(text), count_words(text))


def _joined(folder: Path, books: Sequence[Book], aside: Sequence[Skipped]) -> Book:
    """One book of the books that files are; its facts are those of the first that says them."""
    said = _titled(books)
    written = next((book.authors for book in books if book.authors != _NOBODY), _NOBODY)
    return replace(
        said or books[0],
        title=said.title if said else stem(folder.resolve()),
        authors=written,
        language=next((book.language for book in books if book.language), ""),
        chapters=tuple(chapter for book in books for chapter in book.chapters),
        left_out=(*aside, *_left_out(books)),
        source=file_name(folder.resolve()),
        characters=sum(book.characters for book in books) + sum(i.characters for i in aside),
        speakers=joined(speaker for book in books for speaker in book.speakers),
        dialogue=_dialogue([book.dialogue for book in books if book.dialogue]),
        remarks=tuple(_remarks(books, said is not None, written != _NOBODY)),
    )


def _dialogue(said: Sequence[str]) -> str:
    return said[0] if len(said) == 1 else f"{len(said)} files print their speakers" if said else ""


_NOBODY = ("Unknown",)


def _titled(books: Sequence[Book]) -> Book | None:
    """The file that says the title; several titles are those of chapters, as on static sites."""
    titled = [book for book in books if book.is_titled]
    return titled[0] if len({book.title for book in titled}) == 1 else None


def _left_out(books: Sequence[Book]) -> Iterator[Skipped]:
    """What is left out of all files, each in its place in the whole."""
    before = 0
    for book in books:
        yield from (replace(item, place=item.place + before) for item in book.left_out)
        before += len(book.chapters)


def _remarks(books: Sequence[Book], is_titled: bool, is_written: bool) -> Iterator[str]:
    """What is to be said of files, each once, and of the folder what it lacks."""
    said = dict.fromkeys(remark for book in books for remark in book.remarks)
    yield from (remark for remark in said if "does not say its" not in remark)
    if not is_titled:
        yield "The text does not say its title; the folder's name stands for it."
    if not is_written:
        yield "The text does not say its author."
