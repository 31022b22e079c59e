"""A page of a PDF -> pieces: characters side by side on one line, with how they look.

Asks PDFium for characters, their boxes and their fonts. Knows nothing of lines, columns and words
of a book.
"""

from __future__ import annotations

import ctypes
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from narrator.importers.book import count_characters

_ITALIC = re.compile(
    r"ital|obli|slant|kursiv|cursive|-it\b|[a-z]It$|^CM[A-Z]*TI\d|^SFTI|^SFSL|^CMSL", re.ASCII
)
_BOLD = re.compile(r"bold|black|heavy|demi|extrabd|-bd\b|^CMBX|^SFBX|^CMB\d", re.ASCII)
_ITALIC_FLAG, _BOLD_FLAG = 1 << 6, 1 << 18
_BOLD_WEIGHT = 600
_SLANT = 0.1
"""Of a letter that is drawn slanted, without a font for it."""
_INVISIBLE = 3
"""Of the ways to draw text: neither filled nor stroked, as under the picture of a scanned page."""
_WIDE = 1.0
"""Ems of a gap that may part columns."""
_LEAST_SPACE = 0.12
"""Ems of a space that PDFium has guessed; it takes some kerning for one."""
_HYPHEN = 2
"""What PDFium has for a hyphen at a line's end."""
_UNMAPPED = "\ufffd"
_CHARACTERS = 60_000
"""Of a page. A newspaper's has 30,000."""
_OF_TEX = {
    **dict(zip(range(0x10, 0x17), "“”„«»–—", strict=True)),
    **dict(zip(range(0x1B, 0x20), ("ff", "fi", "fl", "ffi", "ffl"), strict=True)),
    0x0B: "ff",
    0x0C: "fi",
    0x0E: "ffi",
    0x0F: "ffl",
}
"""What TeX's fonts have (Cork's and Knuth's encodings), which often do not say it in Unicode; no
text has other signs of these codes."""
_LIGATURES = {
    "ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st",
}  # fmt: skip
_MARKS = "0123456789"
_RAISED = 0.2
"""Ems above the line, where raised figures begin."""
_DASHES = "-\xad‐"


class TooMuch(ValueError):
    """A page has more characters than any of a book."""


class Face(NamedTuple):
    """How characters look."""

    size: float
    """Points."""
    em: bool
    strong: bool
    is_upright: bool
    """Whether they run from left to right, as the page stands."""
    is_shown: bool


class Glyph(NamedTuple):
    """A character, or those of a ligature, and where it begins and ends on its line."""

    text: str
    x0: float
    x1: float
    face: Face
    spaced: bool
    """Whether a space stands before it."""


@dataclass(slots=True)
class Snippet:
    """Characters side by side, without a wide gap."""

    base: float
    """Height of the line that they stand on, from the foot of the page."""
    glyphs: list[Glyph]
    raised: bool = False
    """Whether they stand above the line beside them, as marks of notes do."""
    x0: float = field(init=False)
    x1: float = field(init=False)
    size: float = field(init=False)
    """That of its middle: neither an initial nor a mark of a note changes it."""
    text: str = field(init=False)

    def __post_init__(self) -> None:
        self.x0 = min(glyph.x0 for glyph in self.glyphs)
        self.x1 = max(glyph.x1 for glyph in self.glyphs)
        self.size = sorted(glyph.face.size for glyph in self.glyphs)[len(self.glyphs) // 2]
        self.text = "".join([f" {g.text}" if g.spaced else g.text for g in self.glyphs])


Box = tuple[float, float, float, float]
"""Left, foot, right, top."""


@dataclass(slots=True)
class PageText:
    """The characters of a page."""

    pieces: list[Snippet]
    box: Box
    """What is seen of it."""
    turn: int
    """Degrees, clockwise, by which it is shown turned; all places are as it is shown."""
    characters: int = 0
    """Visible ones."""
    unmapped: int = 0
    """Of them those whose font does not say what they are."""
    hidden: int = 0
    """Of them those that are not drawn."""


def read_page(page: Any) -> PageText:
    """The characters of a `pypdfium2.PdfPage`, in the order of the file. Raises TooMuch."""
    turn = page.get_rotation()
    text = PageText([], _turned(page.get_bbox(), turn), turn)
    textpage = page.get_textpage()
    try:
        if textpage.count_chars() > _CHARACTERS:
            raise TooMuch
        text.pieces += _pieces(_glyphs(textpage.raw, text))
    finally:
        textpage.close()
    for piece in text.pieces:
        text.characters += count_characters(piece.text)
    return text


def _glyphs(raw: Any, text: PageText) -> Iterator[tuple[Glyph, float]]:
    """Characters with the height that they stand on."""
    import pypdfium2.raw as pdfium

    box = pdfium.FS_RECTF()
    x, y = ctypes.c_double(), ctypes.c_double()
    faces: dict[int, Face] = {}
    at, base, end = None, 0.0, 0.0
    face = Face(0.0, False, False, True, True)
    for index, code, owner, spaced, guessed in _drawn(raw):
        address = ctypes.addressof(owner.contents)
        if address != at:
            at = address
            if at not in faces:
                faces[at] = _face(raw, index, owner, text.turn)
            face = faces[at]
            pdfium.FPDFText_GetCharOrigin(raw, index, x, y)
            _, base, _, _ = _turned((x.value, y.value, x.value, y.value), text.turn)
        pdfium.FPDFText_GetLooseCharBox(raw, index, box)
        begin, stop = box.left, box.right
        if text.turn:
            place = (box.left, box.bottom, box.right, box.top)
            begin, _, stop, _ = _turned(place, text.turn)
        shown = _shown(code)
        text.unmapped += shown == _UNMAPPED
        text.hidden += not face.is_shown
        own, foot = face, base
        if shown in _MARKS and not text.turn and _is_raised(raw, index, base, face):
            own, foot = face._replace(size=face.size * 0.6), base + face.size * 0.35
        spaced = spaced or (guessed and abs(begin - end) > face.size * _LEAST_SPACE)
        yield Glyph(shown, begin, stop, own, spaced), foot
        end = stop


def _drawn(raw: Any) -> Iterator[tuple[int, int, Any, bool, bool]]:
    """The characters that the file itself draws: their number, code and object; whether a space
    stands before, and whether PDFium guesses one there."""
    import pypdfium2.raw as pdfium

    spaced = guessed = False
    high = 0
    for index in range(pdfium.FPDFText_CountChars(raw)):
        code = pdfium.FPDFText_GetUnicode(raw, index)
        owner = pdfium.FPDFText_GetTextObject(raw, index)
        if chr(code).isspace() and not (owner and code in _OF_TEX):
            spaced, guessed = spaced or bool(owner), not owner
            continue
        if not owner:
            continue  # what PDFium has added
        if 0xD800 <= code < 0xDC00:
            high = code
            continue
        if 0xDC00 <= code < 0xE000:
            code, high = (((high - 0xD800) << 10) + code - 0xDC00 + 0x10000 if high else 0), 0
        yield index, code, owner, spaced, guessed
        spaced = guessed = False


def _shown(code: int) -> str:
    """What a character is read as."""
    if code == _HYPHEN:
        return "-"
    if code in _OF_TEX:
        return _OF_TEX[code]
    if code < 0x20 or code in (0xFFFE, 0xFFFF, 0xFFFD) or 0xE000 <= code < 0xF900:
        return _UNMAPPED
    return _LIGATURES.get(chr(code), chr(code))


def _turned(box: Box, turn: int) -> Box:
    """Where a box is on a page that is shown turned; from a corner of its own."""
    left, foot, right, top = box
    if turn == 90:
        return foot, -right, top, -left
    if turn == 180:
        return -right, -top, -left, -foot
    return (-top, left, -foot, right) if turn == 270 else box


def _is_raised(raw: Any, index: int, base: float, face: Face) -> bool:
    """Whether a figure is drawn above its line, by a font that has raised ones."""
    import pypdfium2.raw as pdfium

    left, right, bottom, top = (ctypes.c_double() for _ in range(4))
    found = pdfium.FPDFText_GetCharBox(raw, index, left, right, bottom, top)
    return bool(found) and face.is_upright and bottom.value - base > face.size * _RAISED


def _pieces(glyphs: Iterator[tuple[Glyph, float]]) -> Iterator[Snippet]:
    held: list[Glyph] = []
    height = 0.0
    for glyph, base in glyphs:
        if held and not _goes_on(held[-1], glyph, base - height):
            yield _piece(height, held)
            held = []
        if not held:
            height = base
        held.append(glyph)
    if held:
        yield _piece(height, held)


def _piece(base: float, glyphs: list[Glyph]) -> Snippet:
    """A soft hyphen at the end is one that is seen."""
    if glyphs[-1].text in _DASHES:
        glyphs[-1] = glyphs[-1]._replace(text="-")
    return Snippet(base, glyphs)


def _goes_on(last: Glyph, glyph: Glyph, rise: float) -> bool:
    size = max(last.face.size, glyph.face.size)
    if last.face.is_upright != glyph.face.is_upright:
        return False
    if not glyph.face.is_upright:
        return True
    if abs(rise) > size * 0.08:
        return False
    if is_leftward(glyph.text) or is_leftward(last.text):
        return max(glyph.x0 - last.x1, last.x0 - glyph.x1) < size * _WIDE
    # The letters of a ligature have one box.
    return glyph.x0 > last.x0 - size * 0.1 and glyph.x0 - last.x1 < size * _WIDE


def is_leftward(text: str) -> bool:
    """Whether a character is of Hebrew, Arabic or another script from right to left."""
    return text >= "\u0590" and any(
        "\u0590" <= one <= "\u08ff" or "\ufb1d" <= one <= "\ufefc" for one in text
    )


# -- looks -----------------------------------------------------------------------------------------


def _face(raw: Any, index: int, owner: Any, turn: int) -> Face:
    import pypdfium2.raw as pdfium

    matrix = pdfium.FS_MATRIX()
    turned, scale, slanted = 0.0, 1.0, False
    if pdfium.FPDFText_GetMatrix(raw, index, matrix):
        scale = math.hypot(matrix.c, matrix.d)
        away = math.atan2(matrix.b, matrix.a) - math.radians(turn)
        turned = abs(math.remainder(away, math.tau))
        slanted = not matrix.b and matrix.d > 0 and matrix.c / matrix.d > _SLANT
    size = abs(pdfium.FPDFText_GetFontSize(raw, index)) * scale
    em, strong = _style(pdfium.FPDFTextObj_GetFont(owner))
    shown = pdfium.FPDFTextObj_GetTextRenderMode(owner) != _INVISIBLE
    return Face(round(size, 1), em or slanted, strong, turned < 0.1, shown)


def _style(font: Any) -> tuple[bool, bool]:
    """Whether a font is italic, and whether it is bold."""
    import pypdfium2.raw as pdfium

    if not font:
        return False, False
    name = ctypes.create_string_buffer(200)
    pdfium.FPDFFont_GetBaseFontName(font, name, 200)
    said = re.sub(r"^[A-Z]{6}\+", "", name.value.decode("latin-1"))
    low = said.lower()
    flags = max(pdfium.FPDFFont_GetFlags(font), 0)
    angle = ctypes.c_int()
    has_angle = pdfium.FPDFFont_GetItalicAngle(font, angle) and -45 < angle.value < -2
    em = bool(_ITALIC.search(said) or _ITALIC.search(low) or flags & _ITALIC_FLAG or has_angle)
    heavy = pdfium.FPDFFont_GetWeight(font) >= _BOLD_WEIGHT
    strong = bool(_BOLD.search(said) or _BOLD.search(low) or flags & _BOLD_FLAG or heavy)
    return em, strong
