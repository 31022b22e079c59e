"""Measures the import of long manuscripts: a novel in each format, and a PDF of 100 pages.

    python -m benchmarks.manuscripts [WORDS] [PAGES]

Each format is written here, of the same made-up words, and imported by `narrator new` in a process
of its own; the time is that of the whole process. The last line is JSON. The exit code is 1 where
a chapter or a word is missing.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
import textwrap
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_WORDS = (
    "the of and a to in he was that it his her with as had for she at on not be is him they but by "
    "which all from were this have said one there harbour morning lantern captain winter letter "
    "window quietly remembered between another nothing silver evening answered thought"
).split()
_PARAGRAPH = 60
_CHAPTER = 2500
_RUN = """
import json, resource, sys
from narrator.cli import app
try:
    app(sys.argv[1:], standalone_mode=False)
finally:
    print(json.dumps(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss), file=sys.stderr)
"""

Novel = Sequence[Sequence[str]]
"""Chapters of paragraphs, of plain words."""


@dataclass
class Row:
    """The figures of one format."""

    format: str
    megabytes: float
    words: int
    chapters: int
    seconds: float = 0.0
    peak_mb: float = 0.0
    found_words: int = 0
    found_chapters: int = 0

    @property
    def is_whole(self) -> bool:
        headings = 2 * self.chapters
        return self.found_chapters == self.chapters and self.found_words == self.words + headings


def novel(words: int) -> Novel:
    """Chapters of made-up sentences."""
    rng = random.Random(1)
    chapters: list[list[str]] = []
    for _ in range(max(1, words // _CHAPTER)):
        paragraphs = []
        for _ in range(_CHAPTER // _PARAGRAPH):
            sentence_text = " ".join(rng.choices(_WORDS, k=_PARAGRAPH))
            paragraphs.append(f"{sentence_text[0].upper()}{sentence_text[1:]}.")
        chapters.append(paragraphs)
    return chapters


# -- one writer a format ---------------------------------------------------------------------------


def _each(book: Novel, heading: str, paragraph: str) -> Iterator[str]:
    """Headings and paragraphs, in patterns with %s."""
    for number, paragraphs in enumerate(book, 1):
        yield heading % f"Chapter {number}"
        yield from (paragraph % text for text in paragraphs)


def docx(path: Path, book: Novel) -> None:
    w = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    run = '<w:r><w:rPr><w:sz w:val="24"/></w:rPr><w:t xml:space="preserve">%s</w:t></w:r>'
    heading = f'<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr>{run}</w:p>'
    body = "".join(
        _each(book, heading, f'<w:p><w:pPr><w:ind w:firstLine="720"/></w:pPr>{run}</w:p>')
    )
    rel = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    kind = "application/vnd.openxmlformats-officedocument.wordprocessingml"
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types"><Override '
        f'PartName="/word/document.xml" ContentType="{kind}.document.main+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="a" '
        f'Type="{rel}/officeDocument" Target="word/document.xml"/></Relationships>',
        "word/_rels/document.xml.rels": f'<Relationships xmlns="{package}/relationships">'
        f'<Relationship Id="b" Type="{rel}/styles" Target="styles.xml"/></Relationships>',
        "word/styles.xml": f'<w:styles {w}><w:style w:type="paragraph" w:styleId="Heading1">'
        '<w:name w:val="heading 1"/></w:style></w:styles>',
        "word/document.xml": f"<w:document {w}><w:body>{body}</w:body></w:document>",
    }
    _pack(path, parts)


def odt(path: Path, book: Novel) -> None:
    office = "urn:oasis:names:tc:opendocument:xmlns"
    names = f'xmlns:office="{office}:office:1.0" xmlns:text="{office}:text:1.0"'
    heading = '<text:h text:outline-level="1">%s</text:h>'
    body = "".join(_each(book, heading, "<text:p>%s</text:p>"))
    content = f"<office:document-content {names}><office:body><office:text>{body}"
    _pack(path, {
        "mimetype": "application/vnd.oasis.opendocument.text",
        "content.xml": f"{content}</office:text></office:body></office:document-content>",
    })  # fmt: skip


def rtf(path: Path, book: Novel) -> None:
    heading = r"\pard\plain\s1\outlinelevel0\b\fs32 %s\par" + "\n"
    body = "".join(_each(book, heading, r"\pard\plain\fi720\fs24 %s\par" + "\n"))
    head = r"{\rtf1\ansi\ansicpg1252{\stylesheet{\s1\outlinelevel0 heading 1;}}"
    path.write_text(f"{head}\n{body}}}")


def html(path: Path, book: Novel) -> None:
    body = "\n".join(_each(book, "<h1>%s</h1>", "<p>%s</p>"))
    path.write_text(f"<!DOCTYPE html><html><head><title>A</title></head><body>{body}</body></html>")


def fb2(path: Path, book: Novel) -> None:
    body = "".join(_each(book, "</section><section><title><p>%s</p></title>", "<p>%s</p>"))
    body = body.removeprefix("</section>")
    path.write_text(
        '<?xml version="1.0"?><FictionBook xmlns="http://www.gribuser.ru/xml/fictionbook/2.0">'
        f"<description/><body>{body}</section></body></FictionBook>"
    )


def epub(path: Path, book: Novel) -> None:
    sys.path.insert(0, str(ROOT))
    from tests.build_epub import build_epub

    documents = {
        f"{number}.xhtml": f"<h1>Chapter {number}</h1>" + "".join(f"<p>{p}</p>" for p in paragraphs)
        for number, paragraphs in enumerate(book, 1)
    }
    build_epub(path, documents)


def markdown(path: Path, book: Novel) -> None:
    path.write_text("\n".join(_each(book, "# %s\n", "%s\n")))


def text(path: Path, book: Novel) -> None:
    path.write_text("\n".join(_each(book, "\n\n%s\n", "%s\n")))


def pdf(path: Path, pages: int) -> int:
    """Pages of thirty-five lines, a chapter on each ten; how many words they have."""
    rng = random.Random(2)
    contents, count = [], 0
    for first in range(0, pages, _CHAPTER_PAGES):
        rows: list[tuple[int, str]] = []
        while len(rows) < 35 * min(_CHAPTER_PAGES, pages - first) - 12:
            sentence_text = " ".join(rng.choices(_WORDS, k=70)).capitalize()
            lines = textwrap.wrap(f"{sentence_text}.", 80, initial_indent="   ")
            rows += [(18 * (not number), line.strip()) for number, line in enumerate(lines)]
            count += 70
        for begin in range(0, len(rows), 35):
            heading = f"Chapter {first // _CHAPTER_PAGES + 1}" if begin == 0 else ""
            contents.append(_page(rows[begin : begin + 35], heading, len(contents) + 1))
    path.write_bytes(_pdf(contents))
    return count


_CHAPTER_PAGES = 10


def _page(rows: Sequence[tuple[int, str]], heading: str, number: int) -> str:
    """The operators of a page with these rows, each with its indent."""
    operators = ["/F1 11 Tf 72 700 Td"]
    if heading:
        operators = [f"/F2 20 Tf 72 720 Td ({heading}) Tj /F1 11 Tf 0 -50 Td"]
    for indent, line in rows:
        operators.append(f"{indent} -16 Td ({line}) Tj {-indent} 0 Td")
    operators.append(f"ET BT /F1 9 Tf 300 40 Td ({number}) Tj")
    return f"BT {' '.join(operators)} ET"


def _pdf(contents: Sequence[str]) -> bytes:
    """A file of these pages' operators."""
    kids = " ".join(f"{5 + 2 * n} 0 R" for n in range(len(contents)))
    font = "<< /Type /Font /Subtype /Type1 /BaseFont /%s >>"
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(contents)} >>",
        font % "Times-Roman",
        font % "Times-Bold",
    ]
    for number, content in enumerate(contents):
        fonts = "<< /F1 3 0 R /F2 4 0 R >>"
        objects.append(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] "
            f"/Resources << /Font {fonts} >> /Contents {6 + 2 * number} 0 R >>"
        )
        objects.append(f"<< /Length {len(content)} >>\nstream\n{content}\nendstream")
    file_bytes, places = b"%PDF-1.4\n", []
    for number, pdf_object in enumerate(objects, 1):
        places.append(len(file_bytes))
        file_bytes += f"{number} 0 obj\n{pdf_object}\nendobj\n".encode()
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    end = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}"
    end += (
        f"trailer << /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(file_bytes)}\n%%EOF\n"
    )
    return file_bytes + end.encode()


def _pack(path: Path, parts: Mapping[str, str]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)


WRITERS: Mapping[str, Callable[[Path, Novel], None]] = {
    "epub": epub, "docx": docx, "odt": odt, "rtf": rtf, "html": html, "fb2": fb2,
    "md": markdown, "txt": text,
}  # fmt: skip


# -- measuring -------------------------------------------------------------------------------------


def imported(row: Row, source: Path, folder: Path) -> Row:
    """The row with what an import in a process of its own took and found."""
    began = time.perf_counter()
    process = subprocess.run(
        [sys.executable, "-c", _RUN, "new", str(folder / "project"), "--from", str(source),
         "--json"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    row.seconds = round(time.perf_counter() - began, 2)
    if process.returncode:
        print(f"{row.format}: {process.stderr.strip()[-300:]}")
        return row
    result_json = json.loads(process.stdout)
    unit = 1e6 if sys.platform == "darwin" else 1e3
    row.peak_mb = round(json.loads(process.stderr.splitlines()[-1]) / unit)
    row.found_chapters = len(result_json["chapters"])
    row.found_words = sum(chapter["words"] for chapter in result_json["chapters"])
    return row


def measured(words: int, pages: int) -> Iterator[Row]:
    book = novel(words)
    count = len(book) * (_CHAPTER // _PARAGRAPH) * _PARAGRAPH
    for name, write in WRITERS.items():
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / f"novel.{name}"
            write(source, book)
            row = Row(name, round(source.stat().st_size / 1e6, 2), count, len(book))
            yield imported(row, source, Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "pages.pdf"
        count = pdf(source, pages)
        row = Row("pdf", round(source.stat().st_size / 1e6, 2), count, -(-pages // _CHAPTER_PAGES))
        yield imported(row, source, Path(folder))


def main() -> int:
    words = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    pages = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    print(f"{'format':8}{'MB':>7}{'words':>9}{'chapters':>10}{'seconds':>9}{'peak MB':>9}  whole")
    rows = []
    for row in measured(words, pages):
        rows.append(row)
        row_text = f"{row.format:8}{row.megabytes:7.2f}{row.found_words:9,}{row.found_chapters:10}"
        print(f"{row_text}{row.seconds:9.2f}{row.peak_mb:9.0f}  {'yes' if row.is_whole else 'NO'}")
    print(json.dumps([asdict(row) for row in rows]))
    return 0 if all(row.is_whole for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
