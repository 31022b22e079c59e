"""Bytes -> a tree of XML or HTML, without entities, network, or depth beyond reason.

Knows encodings and what harms a parser, not what elements mean.
"""

from __future__ import annotations

import codecs
import html.entities
import re
from collections.abc import Iterator

from lxml import etree

DEPTH_LIMIT = 100
"""Elements inside each other. Books have 10 to 20."""
TAG_LIMIT = 3_000_000
"""Tags of one part of a word processor's file. A long novel has half a million."""

_DECLARATION = re.compile(r"<\?xml[^>]*>")
_XML_ENCODING = re.compile(rb"<\?xml[^>]*?encoding\s*=\s*[\"']([A-Za-z0-9._-]+)[\"']")
_META_CHARSET = re.compile(
    rb"<meta\s[^<>]{0,200}?charset\s*=\s*[\"']?\s*([A-Za-z0-9._-]+)", re.IGNORECASE
)
_TEXT_ENCODINGS = re.compile(
    r"iso8859-\d+|cp(?!037|273|424|500|1026|1140)\d+|koi8-[rtu]|kz1048|mac-[a-z]+|tis-620|ptcp154|gb2312|gbk|gb18030|"
    r"hz|big5(hkscs)?|shift_jis\w*|euc_\w+|iso2022_\w+|johab"
)
"""Python's names of encodings in which books are written; it also knows "punycode" and "zlib". What
declares itself in ASCII is neither UTF-16 nor EBCDIC."""
_DOCTYPE = re.compile(r"<!DOCTYPE\s[^>\[]*(\[[^\]]*\]\s*)?>", re.IGNORECASE)
_PROLOG_LENGTH = 10_000
"""Characters within which a document type is looked for."""
_ENTITY = re.compile(r"&(?:#(1[2-5]\d)|([A-Za-z][A-Za-z0-9]*));")
_SELF_CLOSED = re.compile(
    r"<(?!(?:area|base|br|col|embed|hr|img|input|link|meta|source|track|wbr)\b)"
    r"([A-Za-z][A-Za-z0-9]*)((?:\s[^<>]*?)?)/>"
)
_XML_ENTITIES = {"amp", "lt", "gt", "quot", "apos"}


class BadMarkup(ValueError):
    """What is wrong with a document, in words."""


class TooDeep(BadMarkup):
    """A document whose elements are nested beyond reason."""


def text_of(data: bytes) -> tuple[str, str | None]:
    """A document as text: by its byte order mark, as it declares, or as UTF-8; and, where it is not
    in what it declares, that and what it was read as. Raises BadMarkup."""
    first_name = first_error = None
    for encoding_name, encoding in _candidate_encodings(data):
        first_name = first_name or encoding_name
        if encoding is None:
            continue
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError as decode_error:
            first_error = first_error or (encoding, decode_error.start)
            continue
        remark = (
            f"is not in {first_name}, as it says; it was read as {encoding_name}."
            if encoding_name != first_name
            else None
        )
        return text, remark
    assert first_error is not None
    raise BadMarkup(f"not {first_error[0].removesuffix('-sig').upper()} at byte {first_error[1]}")


def safe(text: str) -> str:
    """A document without its declarations; HTML's entities are replaced, others refused.

    Raises BadMarkup.
    """
    text = text.lstrip()
    if declaration := _DECLARATION.match(text):
        text = text[declaration.end() :]
    if "<!ENTITY" in text:
        raise BadMarkup("declares XML entities, which books have no need of")
    doctype = _DOCTYPE.search(text, 0, _PROLOG_LENGTH)
    if doctype is not None:
        text = text[: doctype.start()] + text[doctype.end() :]
    return _ENTITY.sub(_replace_entity, text)


def xml_of(text: str) -> etree._Element:
    """A text as XML. Raises BadMarkup where it is harmful or not well-formed."""
    try:
        return parse_xml(safe(text))
    except (etree.XMLSyntaxError, ValueError) as error:
        if isinstance(error, BadMarkup):
            raise
        raise BadMarkup(f"not well-formed XML: {short(error)}") from None


def document_of(text: str) -> tuple[etree._Element, bool]:
    """A text as XHTML, and whether it is well-formed; what is not is read as HTML.

    Raises BadMarkup.
    """
    text = safe(text)
    try:
        root, well_formed = parse_xml(text), True
    except (etree.XMLSyntaxError, ValueError):
        root, well_formed = _parse_html(text), False
    check_depth(root)
    return root, well_formed


def check_depth(root: etree._Element) -> None:
    """Raises TooDeep where elements are nested beyond reason."""
    depth = 0
    for event, _ in etree.iterwalk(root, events=("start", "end")):
        depth += 1 if event == "start" else -1
        if depth > DEPTH_LIMIT:
            raise TooDeep(f"has elements nested more than {DEPTH_LIMIT} deep")


def bounded_xml(text: str, old: str = "", new: str = "") -> etree._Element:
    """A text as XML, of a size that a book's may have; `old` in it is read as `new`.

    Raises BadMarkup where it is harmful, not well-formed, or larger.
    """
    if text.count("<") > TAG_LIMIT:
        raise BadMarkup("has more elements than a book needs")
    root = xml_of(text.replace(old, new) if old else text)
    check_depth(root)
    return root


def parse_xml(text: str) -> etree._Element:
    """Text without a declaration as XML; raises etree.XMLSyntaxError."""
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, remove_pis=True,
        remove_comments=True,
    )  # fmt: skip
    return etree.fromstring(text, parser)


def mended_xml(text: str) -> etree._Element:
    """Text without a declaration as XML, as much of it as can be read. Raises BadMarkup."""
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, remove_pis=True,
        remove_comments=True, recover=True,
    )  # fmt: skip
    try:
        root = etree.fromstring(text, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise BadMarkup(f"not XML: {short(error)}") from None
    if root is None:
        raise BadMarkup("not XML: it is empty")
    return root


def short(error: Exception) -> str:
    """An error of a library in one line."""
    message = str(error).partition(" (<string>")[0]
    return message.splitlines()[0][:120] if message else type(error).__name__


def _parse_html(text: str) -> etree._Element:
    # <a id="x"/> opens an element in HTML that nothing closes.
    text = _SELF_CLOSED.sub(r"<\1\2></\1>", text.replace("\0", ""))
    parser = etree.HTMLParser(no_network=True, remove_comments=True, remove_pis=True)
    try:
        root = etree.fromstring(text, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise BadMarkup(f"neither XHTML nor HTML: {short(error)}") from None
    if root is None:
        raise BadMarkup("neither XHTML nor HTML: it is empty")
    return root


def _candidate_encodings(data: bytes) -> Iterator[tuple[str, str | None]]:
    """Encodings that a document may be in, the likeliest first: for people, and for Python."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        yield "UTF-16", "utf-16"
        return
    if data.startswith((b"<\0", b"\0<")):
        yield "UTF-16", "utf-16-le" if data.startswith(b"<") else "utf-16-be"
        return
    declared = _XML_ENCODING.match(data[:_PROLOG_LENGTH].lstrip())
    if declared and not data.startswith(b"\xef\xbb\xbf"):
        yield from _declared_encodings(declared[1])
    yield "UTF-8", "utf-8-sig"
    if meta := _META_CHARSET.search(data, 0, _PROLOG_LENGTH):
        yield from _declared_encodings(meta[1])


def _declared_encodings(declared: bytes) -> Iterator[tuple[str, str | None]]:
    """A declared encoding for people, and for Python: None where it is none of texts."""
    declared_name = declared.decode("ascii")
    try:
        codec_name = codecs.lookup(declared_name).name
    except (LookupError, ValueError):
        codec_name = ""
    if codec_name in ("utf-8", "ascii"):
        yield "UTF-8", "utf-8-sig"
        return
    if (
        codec_name == "iso8859-1"
    ):  # as browsers do: who says so has the quotation marks of Windows too
        yield declared_name, "cp1252"
    yield declared_name[:40], codec_name if _TEXT_ENCODINGS.fullmatch(codec_name) else None


def _replace_entity(match: re.Match[str]) -> str:
    code, name = match.groups()
    if code:
        # As in HTML: &#146; means Windows-1252, since U+0092 is a control character.
        return bytes([int(code)]).decode("cp1252", "replace") if int(code) >= 128 else match[0]
    if name in _XML_ENTITIES:
        return match[0]
    return html.entities.html5.get(f"{name};", match[0])
