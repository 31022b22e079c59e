"""Repairs FictionBook files that are not well-formed, by closing tags where they must end.

Knows how elements of the format are nested, not what they mean.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.sax.saxutils import escape

_RANKS = {
    name: rank
    for rank, row in enumerate(
        (
            "FictionBook",
            "description body binary stylesheet",
            "section",
            "title epigraph annotation cite poem table",
            "stanza tr",
            "p v subtitle text-author date td th empty-line",
            "strong emphasis style a strikethrough sub sup code image",
        )
    )
    for name in row.split()
}
"""Nesting rank of elements: an element may be within one of a smaller rank, and some elements
(`_NESTED` and inline ones) within one of the same rank."""
_NESTED = ("section", "title", "epigraph", "annotation", "cite", "poem", "table")
_DESCRIPTION_ELEMENTS = (
    "title-info src-title-info document-info publish-info custom-info genre author first-name "
    "middle-name last-name nickname home-page email book-title keywords coverpage lang src-lang "
    "translator sequence program-used src-url src-ocr id version history book-name publisher city "
    "year isbn output part output-document-class"
).split()
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_REFERENCE = re.compile(r"&#(?:x([0-9A-Fa-f]+)|([0-9]+));")
_COMMENT = re.compile(r"<!--.*?-->|<\?.*?\?>", re.DOTALL)
_CDATA = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.DOTALL)
_UNESCAPED = re.compile(
    rf"<(?!/?(?:\w+:)?(?:{'|'.join((*_RANKS, *_DESCRIPTION_ELEMENTS))})(?=[\s/>])[^<>]*>)|"
    r"&(?!(?:amp|lt|gt|quot|apos);)|(?<=\]\])>"
)
"""Unescaped `<`, `&` and `>`."""
_ESCAPES = {"<": "&lt;", "&": "&amp;", ">": "&gt;"}
_TAG = re.compile(r"<(?P<end>/?)(?:\w+:)?(?P<name>[A-Za-z][\w-]*)(?P<rest>[^<>]*)>")
_ATTRIBUTE = re.compile(r"\s(?:\w+:)?([A-Za-z][A-Za-z-]*)\s*=\s*(\"[^\"]*\"|'[^']*')")


def repair(text: str) -> str:
    """Returns well-formed XML without loss of text.

    Escapes stray characters, and closes tags at the end, or where another begins that cannot be
    nested.
    """
    text = _CDATA.sub(lambda match: escape(match[1]), _COMMENT.sub("", text))
    text = _CONTROL.sub("", _REFERENCE.sub(_decode_reference, text))
    text = _UNESCAPED.sub(lambda stray: _ESCAPES[stray[0]], text)
    return "".join(_close_tags(text))


def _decode_reference(reference: re.Match[str]) -> str:
    """Decodes a numeric reference; "" if it is no character."""
    digits, base = (reference[1], 16) if reference[1] else (reference[2], 10)
    code = int(digits, base) if len(digits) < 8 else 0
    return escape(chr(code)) if 0 < code < 0x110000 else ""


def _close_tags(text: str) -> Iterator[str]:
    """Yields the text in pieces, with all tags closed in a valid nesting."""
    open_names: list[str] = []
    position = max(0, text.find("<FictionBook"))
    yield "<FictionBook>"
    for tag in _TAG.finditer(text, position):
        yield text[position : tag.start()]
        position, name = tag.end(), tag["name"]
        if name == "FictionBook":
            continue
        if not tag["end"]:
            while open_names and not _may_contain(open_names[-1], name):
                yield f"</{open_names.pop()}>"
            is_closed = tag["rest"].endswith("/")
            yield f"<{name}{_clean_attributes(tag['rest'])}{'/' if is_closed else ''}>"
            if not is_closed:
                open_names.append(name)
        elif name in open_names:
            while (open_name := open_names.pop()) != name:
                yield f"</{open_name}>"
            yield f"</{name}>"
    yield text[position:]
    yield from (f"</{name}>" for name in reversed(open_names))
    yield "</FictionBook>"


def _clean_attributes(source: str) -> str:
    """Returns readable attributes without duplicates and namespace prefixes."""
    attributes = {name: quoted for name, quoted in _ATTRIBUTE.findall(source) if name != "xmlns"}
    return "".join(f" {name}={quoted}" for name, quoted in attributes.items())


def _may_contain(outer: str, inner: str) -> bool:
    """Returns whether an element may contain another, by their ranks."""
    rank = _RANKS.get(inner)
    if rank is None:
        return True
    outer_rank = _RANKS.get(outer, 0)
    return outer_rank < rank or (
        outer_rank == rank and (inner in _NESTED or rank == max(_RANKS.values()))
    )
