"""A folder of manuscripts -> a book: each file a chapter or some, in the order that people count.

`2.md` stands before `10.md`, and a `SUMMARY.md` with links, as mdBook has, says the order itself.
Texts are read here, pages of HTML as one book of pages, other files each by the reader of its kind.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

from narrator.errors import ImportFailed, Problem
from narrator.importers.book import (
    Begin,
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
from narrator.importers.readers.content import SUFFIXES, TAKEN
from narrator.importers.readers.markdown import read_markdown
from narrator.importers.readers.natural import natural
from narrator.importers.readers.text import read_plain_text
from narrator.importers.readers.web.html import ENDINGS, read_html_folder
from narrator.text.decided import ENDING

_MARKDOWN = (".md", ".markdown")
_TEXT = (".txt", ".text")
_OWN = (*_MARKDOWN, *_TEXT)
_MANUSCRIPTS = tuple(dict.fromkeys((*_OWN, *SUFFIXES, ".doc", ".wpd", ".wps", ".pages")))
"""Endings of files that may be manuscripts; of two that are called alike the first is read."""
_SHOWN = 3
_ASIDE = re.compile(
    r"readme|licen[cs]e|copying|contributing|changelog|notes?|outline|synopsis|to-?do|timeline",
    re.IGNORECASE,
)
"""Files about a folder, not of its book."""
_ABOUT = "is about the book by its name, or in no list of it; it is not read"
_NO_BOOK = re.compile(r"build|.*(_files|\.files|\.fld|_fichiers|-Dateien)")
"""Folders of what was made of a book, and of what browsers and Word keep beside a page."""
_LINK = re.compile(r"\]\(\s*<?([^)<>\s]+\.(?:md|markdown|txt))>?[^)]*\)", re.IGNORECASE)
_MOST = 5000

Read = Callable[[Path, Choices], Book]
"""What reads a file of one kind, or whatever it is."""


def read_folder(folder: Path, choices: Choices, read: Read, begin: Begin) -> Book:
    """The book in a folder of manuscripts; `read` reads a file whatever it is, which `begin` is
    told before.

    Raises ImportFailed, Slow.
    """
    _refuse_packages(folder)
    remarks: list[str] = []
    found = _files(folder, remarks)
    pages = [path for path in found if path.suffix.lower() in ENDINGS]
    if 2 * len(pages) > len(found):
        remarks += _unread([path for path in found if path not in pages])
        book = read_html_folder(folder, pages, choices)
        return replace(book, remarks=(*book.remarks, *remarks))
    listing = _listing(found)
    ordered = _ordered(found, listing, choices)
    if not ordered:
        what = f"a folder without manuscripts; what can be imported: {TAKEN}"
        raise ImportFailed(Problem(folder, None, what))
    others = [path for path in found if path not in ordered]
    aside = [path for path in others if path.suffix.lower() in _OWN]
    remarks += (f"{file_name(path)} {_ABOUT}." for path in others if path not in aside)
    books = list(_books(folder, ordered, choices, read, remarks, begin))
    begin(folder)
    left = [_left(path, path == listing, choices) for path in aside]
    return replace(joined := _joined(folder, books, left), remarks=(*joined.remarks, *remarks))


def _refuse_packages(folder: Path) -> None:
    """Folders that are the document of a program. Raises ImportFailed."""
    try:
        names = {path.name for path in folder.iterdir()}
    except OSError as error:
        raise ImportFailed(Problem(folder, None, f"cannot be read: {error.strerror}")) from None
    if any(name.lower().endswith(".scrivx") for name in names):
        what = "a Scrivener project; compile it to Word, or to EPUB"
        raise ImportFailed(Problem(folder, None, what))
    if folder.suffix.lower() == ".pages" or {"Index.zip", "index.apxl", "index.xml.gz"} & names:
        what = "a Pages document; export it as Word or EPUB (File, Export To)"
        raise ImportFailed(Problem(folder, None, what))


def _unread(paths: Sequence[Path]) -> Iterator[str]:
    """A remark on manuscripts that stand among others and are not read."""
    if paths:
        named = ", ".join(file_name(path) for path in paths[:_SHOWN])
        more = "…" if len(paths) > _SHOWN else ""
        yield f"Not read, as most files here are HTML: {named}{more}."


def _books(
    folder: Path,
    paths: Sequence[Path],
    choices: Choices,
    read: Read,
    remarks: list[str],
    begin: Begin,
) -> Iterator[Book]:
    """What files say; one that cannot be read is remarked, if another can. Raises ImportFailed."""
    problem: ImportFailed | None = None
    alone = True
    for path in paths:
        begin(path)
        try:
            book = _book(folder, path, choices, read)
        except ImportFailed as error:
            if path.suffix.lower() in _OWN:
                raise
            problem = problem or error
            name = path.relative_to(folder).as_posix()
            remarks.append(f"{name} is not read: {str(error).removeprefix(f'{path}: ')}")
        else:
            alone = False
            yield book
    if problem is not None and alone:
        raise problem


def _listing(found: Sequence[Path]) -> Path | None:
    """The file that lists the others."""
    return next((path for path in found if path.stem.lower() in ("summary", "_sidebar")), None)


def _ordered(found: Sequence[Path], listing: Path | None, choices: Choices) -> list[Path]:
    """The files of a book in reading order, as a list says it, or as people count."""
    if listing and (listed := _listed(listing, found, choices)):
        return listed
    others = [path for path in found if path != listing]
    return [path for path in others if not _ASIDE.fullmatch(path.stem)] or others


def _files(folder: Path, remarks: list[str]) -> list[Path]:
    """Manuscripts in a folder and those below it, hidden ones left out, in natural order."""
    whole = folder.resolve()
    found: list[Path] = []
    outside: list[Path] = []
    try:
        for path in folder.rglob("*"):
            parts = path.relative_to(folder).parts
            if (
                path.suffix.lower() in _MANUSCRIPTS
                and not path.name.endswith(ENDING)  # who says what in a text
                and not any(part.startswith((".", "~$", "__MACOSX")) for part in parts)
                and not any(_NO_BOOK.fullmatch(part) for part in parts[:-1])
                and path.is_file()
            ):
                (found if path.resolve().is_relative_to(whole) else outside).append(path)
    except (OSError, RuntimeError) as error:  # RuntimeError: links in a circle
        what = getattr(error, "strerror", None) or error
        raise ImportFailed(Problem(folder, None, f"cannot be read: {what}")) from None
    if len(found) > _MOST:
        raise ImportFailed(Problem(folder, None, f"has {len(found):,} texts, which no book has"))
    remarks += (f"{file_name(path)} is a link out of the folder; not read." for path in outside)
    ordered = sorted(found, key=lambda path: natural(path.relative_to(folder).as_posix()))
    return list(_once(ordered, remarks))


def _once(paths: Sequence[Path], remarks: list[str]) -> Iterator[Path]:
    """Files without those that are another one in another format."""
    best: dict[Path, Path] = {}
    for path in sorted(paths, key=lambda path: _MANUSCRIPTS.index(path.suffix.lower())):
        best.setdefault(path.with_suffix(""), path)
    for path in paths:
        kept = best[path.with_suffix("")]
        if kept == path or {kept.suffix.lower(), path.suffix.lower()} <= {*_OWN}:
            yield path
        else:
            remarks.append(f"{file_name(path)} is not read: {file_name(kept)} is.")


def _listed(listing: Path, found: Sequence[Path], choices: Choices) -> list[Path]:
    """The files that a list of links names, in its order."""
    links = _LINK.findall(read_text(listing, choices.encoding).text)
    known = {path.resolve(): path for path in found}
    linked = ((listing.parent / unquote(link)).resolve() for link in links)
    return list(dict.fromkeys(known[path] for path in linked if path in known))


def _book(folder: Path, path: Path, choices: Choices, read: Read) -> Book:
    """What one file says. Raises ImportFailed."""
    if path.suffix.lower() in _MARKDOWN:
        book = read_markdown(path, choices, of_folder=True)
    elif path.suffix.lower() in _TEXT:
        book = read_plain_text(path, choices, FILES)
    else:
        book = _named(read(path, choices), path)
    name = path.relative_to(folder).as_posix()
    chapters = tuple(replace(c, source=_within(c.source, path, name)) for c in book.chapters)
    left_out = tuple(replace(s, source=_within(s.source, path, name)) for s in book.left_out)
    return replace(book, chapters=chapters, left_out=left_out)


def _named(book: Book, path: Path) -> Book:
    """A file's book; a chapter without a heading is called as its file."""
    if len(book.chapters) != 1 or book.chapters[0].markdown.lstrip().startswith("#"):
        return book
    return replace(book, chapters=(replace(book.chapters[0], title=stem(path)),))


def _within(source: str, path: Path, name: str) -> str:
    own = file_name(path)
    return name + source.removeprefix(own) if source.startswith(own) else f"{name}, {source}"


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
