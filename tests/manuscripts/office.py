"""Files of word processors of a given body: `docx`, `odt` and `rtf` return what writes one.

Each has a heading, the body, and a sentence after it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.build_docx import build_docx, p, style, styled

Write = Callable[[Path], Path]
"""Writes a file into a folder and returns its path."""
SENTENCE = "And so the tide went out, and she with it, and nobody said a word of that all day."

# -- Word ------------------------------------------------------------------------------------------

DOCX_HEADING = style("Heading1", "heading 1", "", '<w:outlineLvl w:val="0"/>')


def docx(body: str, styles: str = "", **parts: str) -> Write:
    """`parts` are others by the type of their relationship: `footnotes`, `header`."""
    text = p("One", styled("Heading1")) + body + p(SENTENCE)
    return lambda folder: build_docx(folder / "book.docx", text, DOCX_HEADING + styles, parts=parts)


def paragraph(*runs: str) -> str:
    return f"<w:p>{''.join(runs)}</w:p>"


def field(code: str, shown: str) -> str:
    begin, separate, end = (
        f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>' for kind in ("begin", "separate", "end")
    )
    return f"{begin}<w:r><w:instrText> {code} </w:instrText></w:r>{separate}{shown}{end}"


def numbering(*levels: str) -> str:
    """The definition of a list `1`, by the format of each level; `%` stands for its number."""
    shown = "".join(
        f'<w:lvl w:ilvl="{depth}"><w:start w:val="1"/><w:numFmt w:val="{kind}"/>'
        f'<w:lvlText w:val="{words.replace("%", f"%{depth + 1}")}"/></w:lvl>'
        for depth, (kind, _, words) in enumerate(level.partition(" ") for level in levels)
    )
    number = '<w:num w:numId="1"><w:abstractNumId w:val="7"/></w:num>'
    return f'<w:abstractNum w:abstractNumId="7">{shown}</w:abstractNum>{number}'


def listed(level: int) -> str:
    """Properties of a paragraph in the list `1`."""
    return f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="1"/></w:numPr>'


# -- OpenDocument ----------------------------------------------------------------------------------

NAMESPACES = " ".join(
    f'xmlns:{prefix}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for prefix, name in (
        ("office", "office"), ("text", "text"), ("table", "table"), ("style", "style"),
        ("draw", "drawing"), ("fo", "xsl-fo-compatible"), ("svg", "svg-compatible"),
        ("meta", "meta"), ("manifest", "manifest"),
    )
)  # fmt: skip
_OTHER_NAMESPACES = (
    'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:xlink="http://www.w3.org/1999/xlink" '
    'xmlns:math="http://www.w3.org/1998/Math/MathML"'
)
_META = (
    "<office:meta><dc:title>The Tide</dc:title><meta:initial-creator>Jane Roe"
    "</meta:initial-creator><dc:creator>Ed</dc:creator><dc:language>en-GB</dc:language>"
    "</office:meta>"
)
ODT_HEADING = '<text:h text:outline-level="1">One</text:h>'


def _odt_style(name: str, family: str, text: str = "", paragraph: str = "", base: str = "") -> str:
    return (
        f'<style:style style:name="{name}" style:family="{family}" '
        f'style:parent-style-name="{base}"><style:paragraph-properties {paragraph}/>'
        f"<style:text-properties {text}/></style:style>"
    )


_ODT_STYLES = (
    _odt_style("I", "text", 'fo:font-style="italic"')
    + _odt_style("B", "text", 'fo:font-weight="bold"')
    + _odt_style("V", "text", 'text:display="none"')
    + _odt_style("P1", "paragraph", base="Quote")
    + _odt_style("Quote", "paragraph", 'fo:font-style="italic"')
    + _odt_style("Figure", "paragraph")
    + _odt_style(
        "C", "paragraph", 'fo:font-weight="bold" fo:font-size="150%"',
        'fo:text-align="center" fo:break-before="page"',
    )
    + '<text:list-style style:name="L"><text:list-level-style-number text:level="1" '
    'style:num-format="1"/><text:list-level-style-bullet text:level="2"/></text:list-style>'
    '<text:list-style style:name="N"><text:list-level-style-number text:level="1" '
    'style:num-format=""/></text:list-style>'
)  # fmt: skip


def flat_odt(body: str, masters: str = "") -> str:
    """The XML of a whole text."""
    return (
        f'<?xml version="1.0"?><office:document {NAMESPACES} {_OTHER_NAMESPACES}>{_META}'
        f"<office:automatic-styles>{_ODT_STYLES}</office:automatic-styles>"
        f"<office:master-styles>{masters}</office:master-styles>"
        f"<office:body><office:text>{body}</office:text></office:body></office:document>"
    )


def _write(data: bytes, name: str, folder: Path) -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def odt(body: str, masters: str = "", head: str = ODT_HEADING) -> Write:
    text = flat_odt(head + body + odt_p(SENTENCE), masters)
    return partial(_write, text.encode(), "book.fodt")


def odt_p(content: str, style: str = "Standard") -> str:
    return f'<text:p text:style-name="{style}">{content}</text:p>'


def odt_span(content: str, style: str) -> str:
    return f'<text:span text:style-name="{style}">{content}</text:span>'


# -- RTF -------------------------------------------------------------------------------------------

_RTF_HEAD = (
    r"{\rtf1\ansi\ansicpg1252\deff0\deflang2057{\fonttbl{\f0\fcharset0 Times;}"
    r"{\f1\fcharset204 Times Cyr;}{\f2\fcharset128 Mincho;}}{\stylesheet{\s0 Normal;}"
    r"{\s1\outlinelevel0 heading 1;}{\s5\sbasedon1 My Head;}{\*\cs10 \i Emphasis;}}"
    r"{\info{\title The Tide}{\author Jane Roe}}\pard\s1 One\par\pard "
)


def rtf(body: str, end: str = "}") -> Write:
    text = rf"{_RTF_HEAD}{body}\pard {SENTENCE}\par {end}"
    return partial(_write, text.encode("cp1252"), "book.rtf")
