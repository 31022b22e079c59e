"""Small PDFs, written by hand: words in Courier at given places. A letter is 0.6 ems wide."""

from __future__ import annotations

import textwrap
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

WIDTH, HEIGHT = 600, 600
FONTS = ("Courier", "Courier-Bold", "Courier-Oblique")


class Shown(NamedTuple):
    """Words at a place of a page, from its left and its foot, in points."""

    x: float
    y: float
    text: str
    size: float = 10
    font: int = 0
    mode: int = 0
    """How it is drawn: 3 is invisible."""
    turned: int = 0
    """Degrees, against the clock."""


def column(
    text: str, y: float = 500, *, x: float = 50, width: int = 50, indent: int = 2, size: float = 10
) -> list[Shown]:
    """A paragraph in lines of `width` letters, from `y` down, its first one set in."""
    rows = textwrap.wrap(text, width, initial_indent=" " * indent, break_on_hyphens=False)
    em = size * 0.6
    return [
        Shown(x + em * (len(row) - len(row.lstrip())), y - number * size * 1.2, row.strip(), size)
        for number, row in enumerate(rows)
    ]


def build_pdf(
    path: Path,
    pages: Sequence[Iterable[Shown]],
    *,
    info: str = "/Title (A Small Book) /Author (A. Writer)",
    catalog: str = "/Lang (en)",
    outline: Sequence[tuple[str, int]] = (),
    trailer: str = "",
    page: str = "",
) -> Path:
    """A PDF at `path`; `outline` has titles and numbers of pages, from 0."""
    objects: list[bytes] = []

    def add(text: str | bytes) -> int:
        objects.append(text.encode("cp1252") if isinstance(text, str) else text)
        return len(objects)

    catalog_at, tree_at, info_at = add(""), add(""), add(f"<< {info} >>")
    fonts = [
        add(f"<< /Type /Font /Subtype /Type1 /BaseFont /{name} /Encoding /WinAnsiEncoding >>")
        for name in FONTS
    ]
    named = " ".join(f"/F{number} {font} 0 R" for number, font in enumerate(fonts))
    kids: list[int] = []
    for shown in pages:
        body = "\n".join(map(_drawn, shown)).encode("cp1252")
        stream = add(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(body), body))
        kids.append(
            add(
                f"<< /Type /Page /Parent {tree_at} 0 R /MediaBox [0 0 {WIDTH} {HEIGHT}] "
                f"/Contents {stream} 0 R {page} /Resources << /Font << {named} >> >> >>"
            )
        )
    refs = " ".join(f"{kid} 0 R" for kid in kids)
    objects[tree_at - 1] = f"<< /Type /Pages /Kids [{refs}] /Count {len(kids)} >>".encode()
    if outline:
        catalog += f" /Outlines {len(objects) + 1} 0 R"
        first = len(objects) + 2
        add(f"<< /First {first} 0 R /Last {first + len(outline) - 1} 0 R >>")
        for number, (title, page) in enumerate(outline):
            following = f"/Next {first + number + 1} 0 R" if number + 1 < len(outline) else ""
            add(
                f"<< /Title ({title}) /Parent {first - 1} 0 R {following} "
                f"/Dest [{kids[page]} 0 R /Fit] >>"
            )
    objects[catalog_at - 1] = f"<< /Type /Catalog /Pages {tree_at} 0 R {catalog} >>".encode()
    path.write_bytes(_file(objects, f"/Root {catalog_at} 0 R /Info {info_at} 0 R {trailer}"))
    return path


def _drawn(one: Shown) -> str:
    text = one.text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")
    x, y = one.x, one.y
    turn, x, y = {
        0: ("1 0 0 1", x, y),
        90: ("0 1 -1 0", HEIGHT - y, x),
        180: ("-1 0 0 -1", WIDTH - x, HEIGHT - y),
        270: ("0 -1 1 0", y, WIDTH - x),
    }[one.turned]
    place = f"{turn} {x} {y} Tm"
    return f"BT /F{one.font} {one.size} Tf {one.mode} Tr {place} ({text}) Tj ET"


def _file(objects: Sequence[bytes], trailer: str) -> bytes:
    data, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    size = len(objects) + 1
    end = f"xref\n0 {size}\n0000000000 65535 f \n{table}trailer\n<< /Size {size} {trailer} >>\n"
    return data + f"{end}startxref\n{len(data)}\n%%EOF\n".encode()


# -- made to harm ----------------------------------------------------------------------------------


def build_recursive_pdf(path: Path) -> Path:
    """A PDF of some hundred bytes whose form draws itself, twice."""
    return _drawing(path, _stream(b"/X Do"), b"/X Do /X Do")


def build_crowded_pdf(path: Path) -> Path:
    """A PDF of some hundred kilobytes whose page draws 20 million lines."""
    packer = zlib.compressobj(6)
    rows = b"0 0 m 1 1 l S " * 20_000
    packed = b"".join([*(packer.compress(rows) for _ in range(1_000)), packer.flush()])
    return _drawing(path, _stream(packed, b"/Filter /FlateDecode"), b"")


def _drawing(path: Path, contents: bytes, form: bytes) -> Path:
    """A PDF of one page, with a form X that may draw itself."""
    drawn = b"/XObject << /X 5 0 R >>"
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 600] /Contents 4 0 R "
        b"/Resources << %s >> >>" % drawn,
        contents,
        _stream(form, b"/Subtype /Form /BBox [0 0 600 600] /Resources << %s >>" % drawn),
    ]
    path.write_bytes(_file(objects, "/Root 1 0 R"))
    return path


def _stream(data: bytes, keys: bytes = b"") -> bytes:
    return b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(data), keys, data)
