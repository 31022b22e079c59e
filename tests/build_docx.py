"""A Word document of given paragraphs, written as Word writes it."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from html import escape
from pathlib import Path

_NAMES = (
    'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" '
    'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" '
    'xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing" '
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" '
    'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math" '
    'xmlns:v="urn:schemas-microsoft-com:vml" '
    'xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape" '
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
)
_RELATION = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"


def p(text: str = "", look: str = "", run: str = "") -> str:
    """A paragraph; `look` are its properties, `run` those of its words, both as XML."""
    return f"<w:p><w:pPr>{look}</w:pPr>{r(text, run) if text else ''}</w:p>"


def r(text: str, look: str = "") -> str:
    """A run of words."""
    return f'<w:r><w:rPr>{look}</w:rPr><w:t xml:space="preserve">{escape(text)}</w:t></w:r>'


def style(name: str, shown: str = "", based: str = "", look: str = "", run: str = "") -> str:
    """A style of paragraphs."""
    base = f'<w:basedOn w:val="{based}"/>' if based else ""
    return (
        f'<w:style w:type="paragraph" w:styleId="{name}"><w:name w:val="{shown or name}"/>{base}'
        f"<w:pPr>{look}</w:pPr><w:rPr>{run}</w:rPr></w:style>"
    )


def styled(name: str) -> str:
    return f'<w:pStyle w:val="{name}"/>'


CENTRED = '<w:jc w:val="center"/>'
NEW_PAGE = "<w:pageBreakBefore/>"


def build_docx(
    path: Path,
    body: str,
    styles: str = "",
    core: str = "",
    parts: Mapping[str, str] | None = None,
) -> Path:
    """Write a document. `parts` are its others by the type of their relationship: `footnotes`,
    `header`, …; their content is the XML within the root element."""
    others = {"styles": styles, **(parts or {})}
    roots = {"header": "hdr", "footer": "ftr"}
    relations = "".join(
        f'<Relationship Id="r{n}" Type="{_RELATION}/{kind}" Target="{kind}.xml"/>'
        for n, kind in enumerate(others)
    )
    main = f'<Relationship Id="m" Type="{_RELATION}/officeDocument" Target="word/document.xml"/>'
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:

        def write(name: str, text: str) -> None:
            archive.writestr(name, f'<?xml version="1.0" encoding="UTF-8"?>{text}')

        write("[Content_Types].xml", f'<Types xmlns="{_PACKAGE}/content-types"/>')
        package = f'<Relationships xmlns="{_PACKAGE}/relationships">'
        write("_rels/.rels", f"{package}{main}</Relationships>")
        write("word/_rels/document.xml.rels", f"{package}{relations}</Relationships>")
        write("word/document.xml", f"<w:document {_NAMES}><w:body>{body}</w:body></w:document>")
        for kind, content in others.items():
            root = roots.get(kind, kind)
            write(f"word/{kind}.xml", f"<w:{root} {_NAMES}>{content}</w:{root}>")
        write(
            "docProps/core.xml",
            '<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/'
            'core-properties" xmlns:dc="http://purl.org/dc/elements/1.1/">'
            f"{core}</cp:coreProperties>",
        )
    return path
