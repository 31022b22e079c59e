"""Reads covers, as a picture that players support.

JPEG and PNG are not changed. SVG, WebP, GIF and TIFF are drawn as JPEG in a separate process: a
malicious picture can crash or stall a renderer, which then costs the cover, not the import.
"""

from __future__ import annotations

import base64
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from lxml import etree

from manuscripts.book import CoverImage
from manuscripts.readers.archive import Archive, resolve
from manuscripts.readers.elements import element_name
from textbase.files import Unfit
from textbase.pictures import require_decodable_size

LONGEST_SIDE = 1500
"""Longer side of a drawn cover, in pixels; stores ask for 1,400 and more, players show less."""
_TIMEOUT_SECONDS = 30


class _Format(NamedTuple):
    """A format of pictures."""

    name: str
    suffix: str = ""
    """Of a picture that is not changed; others are drawn as JPEG."""
    media_type: str = ""
    """Of a picture that SVG may embed."""


_FORMATS = {
    b"\xff\xd8\xff": _Format("JPEG", ".jpg", "image/jpeg"),
    b"\x89PNG\r\n\x1a\n": _Format("PNG", ".png", "image/png"),
    b"GIF8": _Format("GIF", media_type="image/gif"),
    b"RIFF": _Format("WebP", media_type="image/webp"),
    b"BM": _Format("BMP"),
    b"II*\0": _Format("TIFF"),
    b"MM\0*": _Format("TIFF"),
}
"""Formats by the first bytes of a picture."""
_SIDE = r"(?<!\d)\d{1,9}(?:\.\d{1,9})?(?!\d)"
"""Pattern of a picture's width or height."""
_HREF_ATTRIBUTES = ("href", "{http://www.w3.org/1999/xlink}href")


def read_cover(archive: Archive, declared: str) -> tuple[CoverImage | None, list[str]]:
    """Returns the cover that a book declares, and remarks on it.

    `declared` is the path of a picture or a page that shows one. Raises ImportFailed if it is no
    picture.
    """
    name = archive.find(declared)
    if name is None:
        return None, [f"The book names a cover, {declared}, that it does not hold."]
    if re.search(r"\.x?html?$", name, re.IGNORECASE):
        picture_name = _first_picture(archive, name)
        if picture_name is None:
            return None, []
        name = picture_name
    content = archive.read(name)
    if _format_of(content):
        return cover_of(content, name)
    drawing = _safe_svg(archive, name)
    if drawing is None:
        raise archive.failed(
            "the cover is not an image: neither JPEG, PNG, SVG, WebP nor GIF", name
        )
    svg, font_remark = drawing
    return _draw_cover(svg, "SVG", name, font_remark)


def cover_of(content: bytes, name: str) -> tuple[CoverImage | None, list[str]]:
    """Returns the cover from the bytes of a picture, and remarks on it."""
    picture_format = _format_of(content)
    if picture_format is None:
        return None, [f"The cover ({name}) is left out: it is not a JPEG, PNG, WebP or GIF."]
    if not picture_format.suffix:
        return _draw_cover(content, picture_format.name, name)
    try:
        require_decodable_size(content)
    except Unfit as error:
        return None, [f"The cover ({name}) is left out: it is {error}."]
    return CoverImage(content, picture_format.suffix), []


def _format_of(content: bytes) -> _Format | None:
    return next((_FORMATS[magic] for magic in _FORMATS if content.startswith(magic)), None)


def _draw_cover(
    content: bytes, format_name: str, name: str, further_remark: str = ""
) -> tuple[CoverImage | None, list[str]]:
    """Draws a picture as a JPEG cover; returns it with a remark, which `further_remark` ends."""
    jpeg = _draw_as_jpeg(content)
    if jpeg is None:
        return None, [f"The cover ({name}, {format_name}) could not be drawn, so it is left out."]
    drawn_remark = f"The cover was drawn as JPEG from {format_name} ({name}).{further_remark}"
    return CoverImage(jpeg, ".jpg"), [drawn_remark]


def _first_picture(archive: Archive, page: str) -> str | None:
    """Returns the name of the first picture on a page; None for none."""
    root, _ = archive.document(page)
    for element in root.iter("{*}img", "{*}image"):
        href = next(filter(None, map(element.get, ("src", *_HREF_ATTRIBUTES))), None)
        if href and (name := archive.find(resolve(page, href)[0])):
            return name
    return None


def _safe_svg(archive: Archive, name: str) -> tuple[bytes, str] | None:
    """Returns an SVG without references to files, and a remark; None for no SVG.

    Pictures of the archive that it shows are embedded.
    """
    root = archive.xml(name) if b"<svg" in archive.read(name) else None
    if root is None or element_name(root) != "svg":
        return None
    for element in list(root.iter("{*}*")):
        for attribute in _HREF_ATTRIBUTES:
            href = element.get(attribute, "").strip()
            if not href or href.startswith(("data:image/", "#")):
                continue
            picture_name = archive.find(resolve(name, href)[0])
            content = archive.read(picture_name) if picture_name else b""
            picture_format = _format_of(content)
            if picture_format and picture_format.media_type:
                data = base64.b64encode(content).decode("ascii")
                element.set(attribute, f"data:{picture_format.media_type};base64,{data}")
            else:
                del element.attrib[attribute]
    width, height = _drawing_size(root)
    root.set("width", str(width))
    root.set("height", str(height))
    remark = ""
    if next(root.iter("{*}text"), None) is not None:
        remark = " Its words are set in this machine's fonts: look at it."
    return etree.tostring(root), remark


def _drawing_size(root: etree._Element) -> tuple[int, int]:
    """Returns width and height of a drawing in pixels; 2:3, as a page, if it has no size."""
    box = [float(number) for number in re.findall(rf"-?{_SIDE}", root.get("viewBox", "")[:200])]
    sides = [
        re.fullmatch(rf"\s*({_SIDE})\s*(?:px|pt)?\s*", root.get(attribute, "")[:200])
        for attribute in ("width", "height")
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


def _draw_as_jpeg(content: bytes) -> bytes | None:
    """Draws a picture as JPEG; None if it cannot be drawn."""
    # -P: modules next to the script must not shadow others of the same name.
    command = [sys.executable, "-P", str(Path(__file__).with_name("raster.py"))]
    try:
        process = subprocess.run(
            command, input=content, capture_output=True, timeout=_TIMEOUT_SECONDS, check=True
        )
    except (subprocess.SubprocessError, OSError):
        return None
    return process.stdout if process.stdout.startswith(b"\xff\xd8\xff") else None
