"""Small EPUBs for the tests of manuscripts, written with zipfile."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

CONTAINER = """<?xml version="1.0"?>
<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container" version="1.0"><rootfiles>
<rootfile full-path="OEBPS/content.opf" media-type="application/oebps-package+xml"/>
</rootfiles></container>"""

METADATA = """<dc:title>The Sea Door</dc:title><dc:creator>Jane Roe</dc:creator>
<dc:language>en-GB</dc:language><dc:identifier id="id">urn:uuid:1-2-3</dc:identifier>"""

TYPES = {
    "xhtml": "application/xhtml+xml",
    "html": "application/xhtml+xml",
    "jpg": "image/jpeg",
    "png": "image/png",
    "svg": "image/svg+xml",
    "css": "text/css",
    "ncx": "application/x-dtbncx+xml",
}

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c4944415408d763f8"
    "ffff3f0005fe02fea735815d0000000049454e44ae426082"
)


def page(body: str, title: str = "", attributes: str = "") -> str:
    """An XHTML document around a body."""
    return (
        '<?xml version="1.0" encoding="utf-8"?><!DOCTYPE html>\n'
        '<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops">'
        f"<head><title>{title}</title></head><body {attributes}>{body}</body></html>"
    )


Entries = Sequence[tuple]
"""(title, href) or (title, href, entries below)."""


def nav(entries: Entries, landmarks: str = "") -> str:
    """An EPUB 3 navigation document."""

    def listed(entries: Entries) -> str:
        items = "".join(
            f'<li><a href="{href}">{title}</a>{listed(below[0]) if below else ""}</li>'
            for title, href, *below in entries
        )
        return f"<ol>{items}</ol>"

    return page(f'<nav epub:type="toc">{listed(entries)}</nav>{landmarks}', "Contents")


def ncx(entries: Entries) -> str:
    """An EPUB 2 table of contents."""

    def points(entries: Entries) -> str:
        return "".join(
            f"<navPoint><navLabel><text>{title}</text></navLabel>"
            f'<content src="{href}"/>{points(below[0]) if below else ""}</navPoint>'
            for title, href, *below in entries
        )

    return (
        '<?xml version="1.0"?><ncx xmlns="http://www.daisy.org/z3986/2005/ncx/" version="2005-1">'
        f"<navMap>{points(entries)}</navMap></ncx>"
    )


def build_epub(
    path: Path,
    documents: Mapping[str, str],
    *,
    contents: Entries | None = None,
    version: int = 3,
    metadata: str = METADATA,
    files: Mapping[str, str | bytes] = {},
    properties: Mapping[str, str] = {},
    nonlinear: Sequence[str] = (),
    guide: str = "",
    landmarks: str = "",
    drop: Sequence[str] = (),
    whole: bool = False,
) -> Path:
    """Write an EPUB whose spine is `documents` in order: name -> body, or whole page."""
    members: dict[str, str | bytes] = {
        name: text if whole or text.startswith("<?xml") else page(text)
        for name, text in documents.items()
    }
    members |= files
    linear = {name: "no" if name in nonlinear else "yes" for name in documents}
    spine = "".join(f'<itemref idref="{n}" linear="{flag}"/>' for n, flag in linear.items())
    flags = dict(properties)
    if contents is not None and version == 3:
        members["nav.xhtml"] = nav(contents, landmarks)
        flags["nav.xhtml"] = "nav"
    elif contents is not None:
        members["toc.ncx"] = ncx(contents)
    items = "".join(
        f'<item id="{name}" href="{name}" media-type="{TYPES[name.rpartition(".")[2]]}"'
        + (f' properties="{flags[name]}"' if name in flags else "")
        + "/>"
        for name in members
    )
    toc = ' toc="toc.ncx"' if "toc.ncx" in members else ""
    opf = (
        '<?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf" '
        f'xmlns:opf="http://www.idpf.org/2007/opf" version="{version}.0" unique-identifier="id">'
        f'<metadata xmlns:dc="http://purl.org/dc/elements/1.1/">{metadata}</metadata>'
        f"<manifest>{items}</manifest><spine{toc}>{spine}</spine><guide>{guide}</guide></package>"
    )
    archive = {"mimetype": "application/epub+zip", "META-INF/container.xml": CONTAINER}
    archive["OEBPS/content.opf"] = opf
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, text in archive.items():
            if name not in drop:
                file.writestr(name, text)
        for name, data in members.items():
            if name not in drop:
                file.writestr(f"OEBPS/{name}", data)
    return path
