"""Documents of several formats, and the books that they are read as: `documents/*.txt`.

A section, `=== What it shows.`, has cases, which lines of `====` separate. A case is a document,
`-->`, and the text of its chapters; lines that begin with `--` then say what else the book has: its
chapters and facts, its speakers, and the words left out for each reason. A short case is a line,
`document → book`, in which `¶` stands for a blank line, and `⏎` for a hard break.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import takewhile
from pathlib import Path

import pytest

from manuscripts import Book, Choices
from tests.build_docx import CENTRED, NEW_PAGE, build_docx, p, style, styled
from tests.build_epub import build_epub
from tests.manuscripts.imports import SAMPLES, cues, reasons, text_of, titles, whole

FOLDER = Path(__file__).with_name("documents")
WRAPPED = """\
The ferry left at seven, as it had on every morning that anyone in the
village could remember, and nobody had ever asked it to wait."""
PROSE = " ".join(WRAPPED.split())
"""Replaces `{prose}` in cases; `{wrapped}` is the same in two lines."""
LONG_PROSE = " ".join([PROSE] * 4)
"""Replaces `{text}`."""

Write = Callable[[Path, str], Path]
"""Writes a document into a folder, and returns its path."""


def write_plain(suffix: str) -> Write:
    def write(folder: Path, text: str) -> Path:
        path = folder / f"book{suffix}"
        path.write_text(text, "utf-8")
        return path

    return write


def write_xhtml(folder: Path, body: str) -> Path:
    """An EPUB of one document, with a heading above the body."""
    return build_epub(folder / "book.epub", {"one.xhtml": f"<h1>One</h1>{body}"}, metadata="")


def write_epub(folder: Path, text: str) -> Path:
    """An EPUB of documents, `name: body`, and of entries of its contents, `- title: place`."""
    rows = text.strip().split("\n")
    entries = [row for row in rows if row.lstrip().startswith("- ")]
    documents = dict(row.split(": ", 1) for row in rows if row not in entries)
    path = folder / "book.epub"
    return build_epub(path, documents, contents=nested(entries), version=2, metadata="")


def nested(rows: list[str]) -> list[tuple]:
    """Entries of a table of contents by their indentation."""
    entries = []
    while rows:
        row, *rows = rows
        indent = row.partition("-")[0] + " "
        inner = list(takewhile(lambda below, indent=indent: below.startswith(indent), rows))
        rows = rows[len(inner) :]
        title, _, place = row.lstrip("- ").rpartition(": ")
        entries.append((title, place, nested(inner)))
    return entries


def write_docx(folder: Path, text: str) -> Path:
    """A paragraph a line, after its looks in brackets, if it has any, or the name of its style."""
    paragraphs = []
    for line in text.rstrip("\n").split("\n"):
        looks, words = re.fullmatch(r"(?:\[([\w ]+)\] ?)?(.*)", line).groups()
        names = (looks or "").split()
        properties = "".join(PARAGRAPH_LOOKS.get(name, "") for name in names)
        run = "".join(RUN_LOOKS.get(name, "") for name in names)
        paragraphs.append(p(words, properties, run))
    styles = style("Caption", "Image Caption") + style("Code", "Source Code")
    return build_docx(folder / "book.docx", "".join(paragraphs), styles, core="")


PARAGRAPH_LOOKS = {
    "centred": CENTRED,
    "page": NEW_PAGE,
    "spaced": '<w:spacing w:before="480"/>',
    "caption": styled("Caption"),
    "code": styled("Code"),
}
RUN_LOOKS = {"bold": "<w:b/>", "large": '<w:sz w:val="36"/>', "break": ""}


def write_screenplay(folder: Path, text: str) -> Path:
    """A screenplay that begins with a heading, the text's own or `Int. House - Day`."""
    heading = "" if re.match(r"INT\.|[#>]|ACT ", text) else "INT. HOUSE - DAY\n\n"
    return write_plain(".fountain")(folder, heading + text)


def write_subtitles(folder: Path, text: str) -> Path:
    """SRT of the cues that blank lines separate, or a whole file."""
    if text.startswith("WEBVTT"):
        return write_plain(".vtt")(folder, text)
    return write_plain(".srt")(folder, text if "-->" in text else cues(*text.strip().split("\n\n")))


WRITERS: dict[str, Write] = {
    "text": write_plain(".txt"),
    "markdown": write_plain(".md"),
    "html": write_plain(".html"),
    "xhtml": write_xhtml,
    "epub": write_epub,
    "docx": write_docx,
    "fountain": write_screenplay,
    "subtitles": write_subtitles,
}


def read_cases() -> Iterator[tuple[str, str, str, str]]:
    """Yields the format, the section, a document and its book of each case."""
    for kind in WRITERS:
        text = (FOLDER / f"{kind}.txt").read_text("utf-8")
        text = re.sub(r"\\u([0-9a-f]{4})", lambda code: chr(int(code[1], 16)), text)
        for section in text.split("\n=== ")[1:]:
            title, _, cases = section.partition("\n")
            for chunk in cases.strip("\n").split("\n====\n"):
                document, arrow, book = chunk.partition("\n-->\n")
                if arrow:
                    yield kind, title, f"{document}\n", book
                else:
                    for row in chunk.split("\n"):
                        yield kind, title, *row.split(" → ")


def choices_of(section: str) -> Choices:
    """The user's choices, which end the title of a section: `(notes=end)`."""
    return Choices(**dict(re.findall(r"\((\w+)=([\w-]+)\)", section)))


def describe(book: Book) -> str:
    """The book as cases show it."""
    text = text_of(book).removeprefix("# One\n\n" if book.format == "EPUB" else "")
    text = text.removeprefix("Int. House - Day\n\n").strip("\n")
    facts = {
        "chapters": "" if has_usual_title(book, text) else " | ".join(titles(book)),
        "title": book.title if book.is_titled and book.title not in ("book", "One") else "",
        "authors": ", ".join(book.authors) if book.authors != ("Unknown",) else "",
        "language": "" if any(r.startswith("language:") for r in book.remarks) else book.language,
        "speakers": ", ".join(speaker.name for speaker in book.speakers),
    }
    lines = [f"-- {name}: {fact}" for name, fact in facts.items() if fact]
    lines += [f"-- left out: {reason}, {words}" for reason, words in reasons(book).items()]
    return "\n".join([text, *lines])


def has_usual_title(book: Book, text: str) -> bool:
    """Whether the only chapter is named by its first line, or by the book."""
    (title, *others) = titles(book)
    first_line = re.sub(r"[#*]", "", text.partition("\n")[0]).strip()
    return not others and (title in ("book", "One") or first_line.startswith(title.rstrip("…")))


def on_one_line(text: str) -> str:
    return text.replace("\n\n", " ¶ ").replace("\\\n", " ⏎ ").replace("\n--", " --")


@pytest.mark.parametrize(
    ("kind", "document", "expected", "choices"),
    [
        pytest.param(kind, document, expected, choices_of(section), id=f"{kind}: {section}")
        for kind, section, document, expected in read_cases()
    ],
)
def test_a_document_is_read_as(
    kind: str, document: str, expected: str, choices: Choices, tmp_path: Path
) -> None:
    document = document.replace("{wrapped}", WRAPPED).replace("{prose}", PROSE)
    document = document.replace("{text}", LONG_PROSE)
    book = describe(whole(WRITERS[kind](tmp_path, document), choices))
    expected = expected.replace("{prose}", PROSE).replace("{text}", LONG_PROSE)
    assert expected in (book, on_one_line(book))


@pytest.mark.parametrize("name", sorted(path.stem for path in (FOLDER / "samples").iterdir()))
def test_a_file_of_a_real_program_is_read_as(name: str) -> None:
    expected = (FOLDER / "samples" / f"{name}.txt").read_text("utf-8").strip("\n")
    assert describe(whole(SAMPLES / name)) == expected
