"""Reads a PDF page as snippets: adjacent characters of one line, with their style.

Gets characters, their boxes and their fonts from PDFium. Knows nothing of lines, columns and words.
"""

from __future__ import annotations

import ctypes
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from manuscripts.book import count_characters

_ITALIC = re.compile(
    r"ital|obli|slant|kursiv|cursive|-it\b|[a-z]It$|^CM[A-Z]*TI\d|^SFTI|^SFSL|^CMSL", re.ASCII
)
_BOLD = re.compile(r"bold|black|heavy|demi|extrabd|-bd\b|^CMBX|^SFBX|^CMB\d", re.ASCII)
_ITALIC_FLAG, _BOLD_FLAG = 1 << 6, 1 << 18
_BOLD_WEIGHT = 600
_MIN_SLANT = 0.1
"""Minimum slant of letters that are drawn oblique without an italic font."""
_MAX_TILT_RADIANS = 0.1
"""Maximum angle of upright text."""
_INVISIBLE = 3
"""Text rendering mode: neither filled nor stroked, as below the picture of a scanned page."""
_COLUMN_GAP = 1.0
"""Minimum gap that may separate columns, in ems."""
_MIN_GUESSED_SPACE = 0.12
"""Minimum width of a space that PDFium has guessed, in ems; some are only kerning."""
_HYPHEN = 2
"""PDFium's code for a hyphen at a line end."""
_UNMAPPED = "\ufffd"
_MAX_CHARACTERS = 60_000
"""Limit on the characters of a page. A newspaper's has 30,000."""
_TEX_CHARACTERS = {
    **dict(zip(range(0x10, 0x17), "“”„«»–—", strict=True)),
    **dict(zip(range(0x1B, 0x20), ("ff", "fi", "fl", "ffi", "ffl"), strict=True)),
    0x0B: "ff",
    0x0C: "fi",
    0x0E: "ffi",
    0x0F: "ffl",
}
"""Characters of TeX's fonts (Cork's and Knuth's encodings), which often lack a Unicode map; no text
uses these codes for anything else."""
_LIGATURES = {
    "ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st",
}  # fmt: skip
_DIGITS = "0123456789"
_MIN_RISE = 0.2
"""Minimum height of raised digits above the baseline, in ems."""
_SUPERIOR_RATIO, _SUPERIOR_RISE = 0.6, 0.35
"""Size of superior figures relative to their font, and height of their foot, in ems."""
_DASHES = "-\xad‐"
_MAX_BASELINE_SHIFT = 0.08
"""Maximum difference of baselines within a snippet, in ems."""
_MAX_OVERLAP = 0.1
"""Maximum overlap of a character with the one before, in ems."""


class TooManyCharacters(ValueError):
    """Raised for a page with more characters than that of any book."""


class Face(NamedTuple):
    """The font, type size and direction of characters."""

    size: float
    """Type size, in points."""
    is_italic: bool
    is_bold: bool
    is_upright: bool
    """True if they run horizontally on the page as shown."""
    is_shown: bool
    """True if they are drawn; False for text below the picture of a scanned page."""


class DrawnCharacter(NamedTuple):
    """A character that the file draws; `char_index` is its place in PDFium's list."""

    char_index: int
    code: int
    text_object: Any
    """The `FPDF_PAGEOBJECT` that draws it."""
    follows_space: bool
    """True if the file draws a space before it."""
    follows_guessed_space: bool
    """True if PDFium guesses a space before it."""


class Glyph(NamedTuple):
    """A character, or those of a ligature, with its horizontal extent."""

    text: str
    x0: float
    x1: float
    face: Face
    follows_space: bool
    """True if a space precedes it."""


@dataclass(slots=True)
class Snippet:
    """Adjacent characters without a wide gap."""

    baseline: float
    """Height of the baseline above the foot of the page, in points."""
    glyphs: list[Glyph]
    is_raised: bool = False
    """True if they are raised above their line, like marks of notes."""
    x0: float = field(init=False)
    x1: float = field(init=False)
    size: float = field(init=False)
    """Median size, which neither an initial nor a mark of a note changes."""
    text: str = field(init=False)

    def __post_init__(self) -> None:
        self.x0 = min(glyph.x0 for glyph in self.glyphs)
        self.x1 = max(glyph.x1 for glyph in self.glyphs)
        self.size = sorted(glyph.face.size for glyph in self.glyphs)[len(self.glyphs) // 2]
        self.text = "".join([f" {g.text}" if g.follows_space else g.text for g in self.glyphs])


Box = tuple[float, float, float, float]
"""Left, foot, right, top."""


@dataclass(slots=True)
class PageText:
    """The characters of a page."""

    snippets: list[Snippet]
    box: Box
    """Visible area."""
    rotation: int
    """Degrees, clockwise, by which the page is shown rotated; positions are as it is shown."""
    characters: int = 0
    """Number of visible characters."""
    unmapped_count: int = 0
    """Number of characters whose font does not map them to Unicode."""
    hidden_count: int = 0
    """Number of characters that are not drawn."""


def read_page(page: Any) -> PageText:
    """Reads the characters of a `pypdfium2.PdfPage`, in the order of the file. Raises
    TooManyCharacters."""
    rotation = page.get_rotation()
    text = PageText([], _rotate_box(page.get_bbox(), rotation), rotation)
    textpage = page.get_textpage()
    try:
        if textpage.count_chars() > _MAX_CHARACTERS:
            raise TooManyCharacters
        text.snippets += _group_snippets(_read_glyphs(textpage.raw, text))
    finally:
        textpage.close()
    for snippet in text.snippets:
        text.characters += count_characters(snippet.text)
    return text


def _read_glyphs(raw: Any, text: PageText) -> Iterator[tuple[Glyph, float]]:
    """Yields characters with the height of their baseline; counts unmapped and hidden ones."""
    import pypdfium2.raw as pdfium

    box = pdfium.FS_RECTF()
    x, y = ctypes.c_double(), ctypes.c_double()
    faces: dict[int, Face] = {}
    """Faces by the address of the text object; all characters of one share its face."""
    object_address, object_baseline, last_x1 = None, 0.0, 0.0
    for character in _drawn_characters(raw):
        address = ctypes.addressof(character.text_object.contents)
        if address not in faces:
            faces[address] = _read_face(
                raw, character.char_index, character.text_object, text.rotation
            )
        if address != object_address:
            object_address = address
            pdfium.FPDFText_GetCharOrigin(raw, character.char_index, x, y)
            origin = (x.value, y.value, x.value, y.value)
            _, object_baseline, _, _ = _rotate_box(origin, text.rotation)
        pdfium.FPDFText_GetLooseCharBox(raw, character.char_index, box)
        x0, _, x1, _ = _rotate_box((box.left, box.bottom, box.right, box.top), text.rotation)
        face, baseline = faces[address], object_baseline
        glyph_text = _character_text(character.code)
        text.unmapped_count += glyph_text == _UNMAPPED
        text.hidden_count += not face.is_shown
        min_space = face.size * _MIN_GUESSED_SPACE
        has_wide_gap = character.follows_guessed_space and abs(x0 - last_x1) > min_space
        may_be_superior = glyph_text in _DIGITS and not text.rotation
        if may_be_superior and _is_raised(raw, character.char_index, baseline, face):
            baseline += face.size * _SUPERIOR_RISE
            face = face._replace(size=face.size * _SUPERIOR_RATIO)
        yield Glyph(glyph_text, x0, x1, face, character.follows_space or has_wide_gap), baseline
        last_x1 = x1


def _drawn_characters(raw: Any) -> Iterator[DrawnCharacter]:
    """Yields the characters that the file itself draws, apart from spaces."""
    import pypdfium2.raw as pdfium

    follows_space = follows_guessed_space = False
    high_surrogate = 0
    for index in range(pdfium.FPDFText_CountChars(raw)):
        code = pdfium.FPDFText_GetUnicode(raw, index)
        text_object = pdfium.FPDFText_GetTextObject(raw, index)
        if chr(code).isspace() and not (text_object and code in _TEX_CHARACTERS):
            follows_space = follows_space or bool(text_object)
            follows_guessed_space = not text_object
            continue
        if not text_object:
            continue  # added by PDFium
        if 0xD800 <= code < 0xDC00:
            high_surrogate = code
            continue
        if 0xDC00 <= code < 0xE000:
            low_bits, high_bits = code - 0xDC00, (high_surrogate - 0xD800) << 10
            code = high_bits + low_bits + 0x10000 if high_surrogate else 0
            high_surrogate = 0
        yield DrawnCharacter(index, code, text_object, follows_space, follows_guessed_space)
        follows_space = follows_guessed_space = False


def _character_text(code: int) -> str:
    """Returns the text of a character code."""
    if code == _HYPHEN:
        return "-"
    if code in _TEX_CHARACTERS:
        return _TEX_CHARACTERS[code]
    if code < 0x20 or code in (0xFFFE, 0xFFFF, 0xFFFD) or 0xE000 <= code < 0xF900:
        return _UNMAPPED
    return _LIGATURES.get(chr(code), chr(code))


def _rotate_box(box: Box, rotation: int) -> Box:
    """Rotates a box as its page is shown; the origin becomes another corner of the page."""
    left, foot, right, top = box
    if rotation == 90:
        return foot, -right, top, -left
    if rotation == 180:
        return -right, -top, -left, -foot
    return (-top, left, -foot, right) if rotation == 270 else box


def _is_raised(raw: Any, index: int, baseline: float, face: Face) -> bool:
    """Returns whether a digit is drawn above its baseline, by a font with superior figures."""
    import pypdfium2.raw as pdfium

    left, right, bottom, top = (ctypes.c_double() for _ in range(4))
    has_box = pdfium.FPDFText_GetCharBox(raw, index, left, right, bottom, top)
    return bool(has_box) and face.is_upright and bottom.value - baseline > face.size * _MIN_RISE


def _group_snippets(glyphs: Iterator[tuple[Glyph, float]]) -> Iterator[Snippet]:
    """Groups adjacent characters of one baseline into snippets."""
    group: list[Glyph] = []
    baseline = 0.0
    for glyph, glyph_baseline in glyphs:
        if group and not _is_adjacent(group[-1], glyph, rise=glyph_baseline - baseline):
            yield _build_snippet(baseline, group)
            group = []
        if not group:
            baseline = glyph_baseline
        group.append(glyph)
    if group:
        yield _build_snippet(baseline, group)


def _build_snippet(baseline: float, glyphs: list[Glyph]) -> Snippet:
    """Builds a snippet; a soft hyphen at its end is a visible hyphen."""
    if glyphs[-1].text in _DASHES:
        glyphs[-1] = glyphs[-1]._replace(text="-")
    return Snippet(baseline, glyphs)


def _is_adjacent(previous: Glyph, glyph: Glyph, rise: float) -> bool:
    """Returns whether a character continues a snippet; `rise` is the difference of baselines."""
    size = max(previous.face.size, glyph.face.size)
    if previous.face.is_upright != glyph.face.is_upright:
        return False
    if not glyph.face.is_upright:
        return True
    if abs(rise) > size * _MAX_BASELINE_SHIFT:
        return False
    if is_leftward(glyph.text) or is_leftward(previous.text):
        return max(glyph.x0 - previous.x1, previous.x0 - glyph.x1) < size * _COLUMN_GAP
    # The letters of a ligature have one box.
    starts_behind = glyph.x0 > previous.x0 - size * _MAX_OVERLAP
    return starts_behind and glyph.x0 - previous.x1 < size * _COLUMN_GAP


def is_leftward(text: str) -> bool:
    """Returns whether a text has a character of Hebrew, Arabic or another right-to-left script."""
    return text >= "\u0590" and any(
        "\u0590" <= character <= "\u08ff" or "\ufb1d" <= character <= "\ufefc" for character in text
    )


# -- styles ----------------------------------------------------------------------------------------


def _read_face(raw: Any, index: int, text_object: Any, rotation: int) -> Face:
    """Reads the style of a character from its matrix, font and rendering mode."""
    import pypdfium2.raw as pdfium

    matrix = pdfium.FS_MATRIX()
    angle, scale, is_slanted = 0.0, 1.0, False
    if pdfium.FPDFText_GetMatrix(raw, index, matrix):
        scale = math.hypot(matrix.c, matrix.d)
        direction = math.atan2(matrix.b, matrix.a) - math.radians(rotation)
        angle = abs(math.remainder(direction, math.tau))
        is_slanted = not matrix.b and matrix.d > 0 and matrix.c / matrix.d > _MIN_SLANT
    size = abs(pdfium.FPDFText_GetFontSize(raw, index)) * scale
    is_italic, is_bold = _font_style(pdfium.FPDFTextObj_GetFont(text_object))
    is_shown = pdfium.FPDFTextObj_GetTextRenderMode(text_object) != _INVISIBLE
    return Face(
        size=round(size, 1),
        is_italic=is_italic or is_slanted,
        is_bold=is_bold,
        is_upright=angle < _MAX_TILT_RADIANS,
        is_shown=is_shown,
    )


def _font_style(font: Any) -> tuple[bool, bool]:
    """Returns whether a font is italic, and whether it is bold."""
    import pypdfium2.raw as pdfium

    if not font:
        return False, False
    name = ctypes.create_string_buffer(200)
    pdfium.FPDFFont_GetBaseFontName(font, name, 200)
    font_name = re.sub(r"^[A-Z]{6}\+", "", name.value.decode("latin-1"))
    lower_name = font_name.lower()
    flags = max(pdfium.FPDFFont_GetFlags(font), 0)
    angle = ctypes.c_int()
    has_angle = pdfium.FPDFFont_GetItalicAngle(font, angle) and -45 < angle.value < -2
    is_heavy = pdfium.FPDFFont_GetWeight(font) >= _BOLD_WEIGHT
    has_italic_name, has_bold_name = (
        pattern.search(font_name) or pattern.search(lower_name) for pattern in (_ITALIC, _BOLD)
    )
    is_italic = bool(has_italic_name or flags & _ITALIC_FLAG or has_angle)
    is_bold = bool(has_bold_name or flags & _BOLD_FLAG or is_heavy)
    return is_italic, is_bold
