"""Covers: a picture that players take, from what a book has.

JPEG and PNG stay as they are. SVG, WebP, GIF and TIFF are drawn as JPEG, in a process of its own:
a picture made to harm can crash or stall a renderer, and this way it costs the cover, not the
import.
"""

from __future__ import annotations

import base64
import re
import subprocess
import sys
from pathlib import Path

from lxml import etree

from narrator.importers.book import CoverImage
from narrator.importers.readers.archive import Archive, resolve
from narrator.importers.readers.markup import parse_xml
from narrator.sound import media

LONGEST_SIDE = 1500
"""Pixels of a drawn cover; stores ask for 1,400 and more, players show less."""
_SECONDS = 30
_RASTER = {
    b"GIF8": "GIF",
    b"RIFF": "WebP",
    b"BM": "BMP",
    b"II*\0": "TIFF",
    b"MM\0*": "TIFF",
}
_KEPT = {b"\xff\xd8\xff": ".jpg", b"\x89PNG\r\n\x1a\n": ".png"}
_NUMBER = r"(?<!\d)\d{1,9}(?:\.\d{1,9})?(?!\d)"
"""Of a picture's sides."""
_HREF = ("href", "{http://www.w3.org/1999/xlink}href")


def read_cover(archive: Archive, declared: str) -> tuple[CoverImage | None, str | None]:
    """The cover in the file that a book declares, and what is to be said about it.

    `declared` is a picture or a page that shows one. Raises ImportFailed where it is no picture.
    """
    name = archive.find(declared)
    if name is None:
        return None, f"The book names a cover, {declared}, that it does not hold."
    if re.search(r"\.x?html?$", name, re.IGNORECASE):
        picture = _shown_on(archive, name)
        if picture is None:
            return None, None
        name = picture
    data = archive.read(name)
    if _kind(data):
        return cover_of(data, name)
    drawing = _drawing(archive, name)
    if drawing is None:
        raise archive.failed("the cover is no image: neither JPEG, PNG, SVG, WebP nor GIF", name)
    return _drawn(*drawing, "SVG", name)


def cover_of(data: bytes, name: str) -> tuple[CoverImage | None, str | None]:
    """The cover that the bytes of a picture make, and what is to be said about it."""
    kind = _kind(data)
    if kind is None:
        return None, f"The cover ({name}) is left out: it is no JPEG, PNG, WebP or GIF."
    if kind not in _KEPT.values():
        return _drawn(data, "", kind, name)
    try:
        media.check_size(data)
    except media.Unfit as error:
        return None, f"The cover ({name}) is left out: it is {error}."
    return CoverImage(data, kind), None


def _kind(data: bytes) -> str | None:
    """What a picture is: the ending of one that stays as it is, the name of another's kind."""
    kinds = _KEPT | _RASTER
    return next((kinds[magic] for magic in kinds if data.startswith(magic)), None)


def _drawn(data: bytes, told: str, kind: str, name: str) -> tuple[CoverImage | None, str | None]:
    drawn = _draw(data)
    if drawn is None:
        return None, f"The cover ({name}, {kind}) could not be drawn, so it is left out."
    return CoverImage(drawn, ".jpg"), f"The cover was drawn as JPEG from {kind} ({name}).{told}"


def _shown_on(archive: Archive, page: str) -> str | None:
    """The first picture on a page."""
    root, _ = archive.document(page)
    for element in root.iter("{*}img", "{*}image"):
        href = next((element.get(key) for key in ("src", *_HREF) if element.get(key)), None)
        if href and (name := archive.find(resolve(page, href)[0])):
            return name
    return None


def _drawing(archive: Archive, name: str) -> tuple[bytes, str] | None:
    """An SVG that asks for no file of this machine; None where it is none."""
    try:
        root = parse_xml(archive.safe(name)) if b"<svg" in archive.read(name) else None
    except (etree.XMLSyntaxError, ValueError):
        return None
    if root is None or etree.QName(root).localname != "svg":
        return None
    for element in list(root.iter("{*}*")):
        for key in _HREF:
            href = element.get(key, "").strip()
            if not href or href.startswith(("data:image/", "#")):
                continue
            shown = archive.find(resolve(name, href)[0])
            if shown and (kind := _media_type(data := archive.read(shown))):
                element.set(key, f"data:{kind};base64,{base64.b64encode(data).decode('ascii')}")
            else:
                del element.attrib[key]
    width, height = _size(root)
    root.set("width", str(width))
    root.set("height", str(height))
    told = ""
    if next(root.iter("{*}text"), None) is not None:
        told = " Its words are set in this machine's fonts: look at it."
    return etree.tostring(root), told


def _media_type(data: bytes) -> str | None:
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith(b"\x89PNG"):
        return "image/png"
    kind = next((kind for magic, kind in _RASTER.items() if data.startswith(magic)), None)
    return {"GIF": "image/gif", "WebP": "image/webp"}.get(kind or "")


def _size(root: etree._Element) -> tuple[int, int]:
    """Pixels of the drawing, in its own shape; what has none is taken for a page."""
    box = [float(n) for n in re.findall(rf"-?{_NUMBER}", root.get("viewBox", "")[:200])]
    sides = [
        re.fullmatch(rf"\s*({_NUMBER})\s*(?:px|pt)?\s*", root.get(k, "")[:200])
        for k in ("width", "height")
    ]
    if len(box) == 4:
        width, height = box[2:]
    elif all(sides):
        width, height = (float(side[1]) for side in sides if side)
        root.set("viewBox", f"0 0 {width:g} {height:g}")
    else:
        width, height = 2.0, 3.0
    longest = max(width, height, 1e-6)
    return (
        max(1, round(LONGEST_SIDE * width / longest)),
        max(1, round(LONGEST_SIDE * height / longest)),
    )


def _draw(data: bytes) -> bytes | None:
    """The picture as JPEG; None where it cannot be drawn."""
    # -P: the modules beside the script must not stand in for others of the same name.
    command = [sys.executable, "-P", str(Path(__file__).with_name("raster.py"))]
    try:
        done = subprocess.run(
            command, input=data, capture_output=True, timeout=_SECONDS, check=True
        )
    except (subprocess.SubprocessError, OSError):
        return None
    return done.stdout if done.stdout.startswith(b"\xff\xd8\xff") else None
