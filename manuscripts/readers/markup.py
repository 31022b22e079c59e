"""Parses XML and HTML without entities, network access, or unreasonable depth.

Knows encodings and what harms a parser, not what elements mean.
"""

from __future__ import annotations

import codecs
import html.entities
import re
from collections.abc import Iterator
from contextlib import suppress

from lxml import etree

from manuscripts.encoding import NoText, decode

DEPTH_LIMIT = 100
"""Largest depth of nested elements. Books have 10 to 20."""
TAG_LIMIT = 3_000_000
"""Largest number of tags in one part of a word processor's file. A long novel has half a million.
"""

_DECLARATION = re.compile(r"<\?xml[^>]*>")
_XML_ENCODING = re.compile(rb"<\?xml[^>]*?encoding\s*=\s*[\"']([A-Za-z0-9._-]+)[\"']")
_META_CHARSET = re.compile(
    rb"<meta\s[^<>]{0,200}?charset\s*=\s*[\"']?\s*([A-Za-z0-9._-]+)", re.IGNORECASE
)
_TEXT_ENCODINGS = re.compile(
    r"iso8859-\d+|cp(?!037|273|424|500|1026|1140)\d+|koi8-[rtu]|kz1048|mac-[a-z]+|tis-620|ptcp154|gb2312|gbk|gb18030|"
    r"hz|big5(hkscs)?|shift_jis\w*|euc_\w+|iso2022_\w+|johab"
)
"""Python's names of encodings of books; it also knows "punycode" and "zlib". A document that
declares itself in ASCII is neither UTF-16 nor EBCDIC."""
_DOCTYPE = re.compile(r"<!DOCTYPE\s[^>\[]*(\[[^\]]*\]\s*)?>", re.IGNORECASE)
_PROLOG_LENGTH = 10_000
"""Characters in which a document type is searched for."""
_ENTITY = re.compile(r"&(?:#(1[2-5]\d)|([A-Za-z][A-Za-z0-9]*));")
_SELF_CLOSED = re.compile(
    r"<(?!(?:area|base|br|col|embed|hr|img|input|link|meta|source|track|wbr)\b)"
    r"([A-Za-z][A-Za-z0-9]*)((?:\s[^<>]*?)?)/>"
)
_XML_ENTITIES = {"amp", "lt", "gt", "quot", "apos"}


_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def remove_forbidden(text: str) -> str:
    """Removes characters that XML does not allow."""
    return _FORBIDDEN.sub("", text)


class BadMarkup(ValueError):
    """Raised for a faulty document; the message says why."""


class TooDeep(BadMarkup):
    """Raised for a document whose elements are nested too deep."""


def decode_markup(content: bytes) -> tuple[str, str | None]:
    """Decodes a document by its byte order mark, its declaration, or as UTF-8.

    Also returns a remark if the declared encoding was wrong. Raises BadMarkup.
    """
    first_name = first_error = None
    for encoding_name, encoding in _candidate_encodings(content):
        first_name = first_name or encoding_name
        if encoding is None:
            continue
        try:
            text = content.decode(encoding)
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


def decode_document(content: bytes, encoding: str | None, name: str) -> tuple[str, list[str]]:
    """Decodes a document in the encoding that the user chose, as it declares, or as it fits.

    Also returns remarks, which begin with a name. Raises BadMarkup.
    """
    if encoding is None:
        with suppress(UnicodeDecodeError):
            # Whatever it declares: no other encoding is valid UTF-8 by chance.
            if b"\0" not in content and not content.isascii():
                return content.decode("utf-8-sig"), []
        with suppress(BadMarkup):
            text, remark = decode_markup(content)
            # Only for XML: in HTML, `meta` declares the encoding.
            is_xml = content.lstrip().startswith(b"<?xml")
            return text, [f"{name} {remark}"] if remark and is_xml else []
    try:
        decoded = decode(content, encoding)
    except NoText as error:
        raise BadMarkup(str(error)) from None
    return decoded.text, [f"{name}: {decoded.remark}"] if decoded.remark else []


def sanitize(text: str) -> str:
    """Returns a document without its declarations; replaces HTML's entities, refuses others.

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
    """Parses a text as XML. Raises BadMarkup if it is harmful or not well-formed."""
    try:
        return parse_xml(sanitize(text))
    except (etree.XMLSyntaxError, ValueError) as error:
        if isinstance(error, BadMarkup):
            raise
        raise BadMarkup(f"not well-formed XML: {summarize_error(error)}") from None


def document_of(text: str) -> tuple[etree._Element, bool]:
    """Parses a text as XHTML, or as HTML if it is not well-formed; also returns whether it is.

    Raises BadMarkup.
    """
    text = sanitize(text)
    try:
        root, well_formed = parse_xml(text), True
    except (etree.XMLSyntaxError, ValueError):
        root, well_formed = _parse_html(text), False
    check_depth(root)
    return root, well_formed


def check_depth(root: etree._Element) -> None:
    """Raises TooDeep if elements are nested too deep."""
    depth = 0
    for event, _ in etree.iterwalk(root, events=("start", "end")):
        depth += 1 if event == "start" else -1
        if depth > DEPTH_LIMIT:
            raise TooDeep(f"has elements nested more than {DEPTH_LIMIT} deep")


def bounded_xml(text: str, old: str = "", new: str = "") -> etree._Element:
    """Parses a text of limited size as XML, with `old` in it replaced by `new`.

    Raises BadMarkup if it is harmful, not well-formed, or larger.
    """
    if text.count("<") > TAG_LIMIT:
        raise BadMarkup("has more elements than a book needs")
    root = xml_of(text.replace(old, new) if old else text)
    check_depth(root)
    return root


def _xml_parser(recovers: bool = False) -> etree.XMLParser:
    return etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, remove_pis=True,
        remove_comments=True, recover=recovers,
    )  # fmt: skip


def parse_xml(text: str) -> etree._Element:
    """Parses text without a declaration as XML; raises etree.XMLSyntaxError."""
    return etree.fromstring(text, _xml_parser())


def recover_xml(text: str) -> etree._Element:
    """Parses as much as possible of a text without a declaration as XML. Raises BadMarkup."""
    return _parse_leniently(text, _xml_parser(recovers=True), "not XML")


def _parse_leniently(text: str, parser: etree.XMLParser, fault: str) -> etree._Element:
    """Parses a text with a parser that mends faults. Raises BadMarkup, which begins with `fault`,
    where nothing remains."""
    try:
        root = etree.fromstring(text, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise BadMarkup(f"{fault}: {summarize_error(error)}") from None
    if root is None:
        raise BadMarkup(f"{fault}: it is empty")
    return root


def summarize_error(error: Exception) -> str:
    """Returns an error of a library in one line."""
    message = str(error).partition(" (<string>")[0]
    return message.splitlines()[0][:120] if message else type(error).__name__


def _parse_html(text: str) -> etree._Element:
    # In HTML, <a id="x"/> opens an element that nothing closes.
    text = _SELF_CLOSED.sub(r"<\1\2></\1>", text.replace("\0", ""))
    parser = etree.HTMLParser(no_network=True, remove_comments=True, remove_pis=True)
    return _parse_leniently(text, parser, "neither XHTML nor HTML")


def _candidate_encodings(content: bytes) -> Iterator[tuple[str, str | None]]:
    """Yields possible encodings, the likeliest first: name for people, and Python's name."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        yield "UTF-16", "utf-16"
        return
    if content.startswith((b"<\0", b"\0<")):
        yield "UTF-16", "utf-16-le" if content.startswith(b"<") else "utf-16-be"
        return
    declared = _XML_ENCODING.match(content[:_PROLOG_LENGTH].lstrip())
    if declared and not content.startswith(b"\xef\xbb\xbf"):
        yield from _declared_encodings(declared[1])
    yield "UTF-8", "utf-8-sig"
    if meta := _META_CHARSET.search(content, 0, _PROLOG_LENGTH):
        yield from _declared_encodings(meta[1])


def _declared_encodings(declared: bytes) -> Iterator[tuple[str, str | None]]:
    """Yields a declared encoding: name for people, and Python's name, or None if it is not one of
    texts."""
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
    ):  # as browsers do: such documents use Windows' quotation marks, too
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
