"""Repairs FictionBook files that are not well-formed, by closing tags where they must end.

Knows how elements of the format are nested, not what they mean.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.sax.saxutils import escape

from manuscripts.readers.markup import remove_forbidden

_ROWS = (
    "FictionBook",
    "description body binary stylesheet",
    "section",
    "title epigraph annotation cite poem table",
    "stanza tr",
    "p v subtitle text-author date td th empty-line",
    "strong emphasis style a strikethrough sub sup code image",
)
_RANKS = {name: rank for rank, row in enumerate(_ROWS) for name in row.split()}
"""Nesting rank of elements: an element may be within one of a smaller rank, and some elements
(`_NESTED` and inline ones) within one of the same rank."""
_NESTED = ("section", *_ROWS[3].split())
_DESCRIPTION_ELEMENTS = (
    "title-info src-title-info document-info publish-info custom-info genre author first-name "
    "middle-name last-name nickname home-page email book-title keywords coverpage lang src-lang "
    "translator sequence program-used src-url src-ocr id version history book-name publisher city "
    "year isbn output part output-document-class"
).split()
_REFERENCE = re.compile(r"&#(?:x([0-9A-Fa-f]+)|([0-9]+));")
COMMENT = re.compile(r"<!--.*?-->|<\?.*?\?>", re.DOTALL)
CDATA = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.DOTALL)
_UNESCAPED = re.compile(
    rf"<(?!/?(?:\w+:)?(?:{'|'.join((*_RANKS, *_DESCRIPTION_ELEMENTS))})(?=[\s/>])[^<>]*>)|"
    r"&(?!(?:amp|lt|gt|quot|apos);)|(?<=\]\])>"
)
"""Unescaped `<`, `&` and `>`."""
_TAG = re.compile(r"<(?P<end>/?)(?:\w+:)?(?P<name>[A-Za-z][\w-]*)(?P<rest>[^<>]*)>")
_ATTRIBUTE = re.compile(r"\s(?:\w+:)?([A-Za-z][A-Za-z-]*)\s*=\s*(\"[^\"]*\"|'[^']*')")


def repair(text: str) -> str:
    """Returns well-formed XML without loss of text.

    Escapes stray characters, and closes tags at the end, or where another begins that cannot be
    nested.
    """
    text = CDATA.sub(lambda match: escape(match[1]), COMMENT.sub("", text))
    text = remove_forbidden(_REFERENCE.sub(_decode_reference, text))
    text = _UNESCAPED.sub(lambda stray: escape(stray[0]), text)
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
            # Readable attributes, without duplicates and prefixes of namespaces.
            quoted = {key: text for key, text in _ATTRIBUTE.findall(tag["rest"]) if key != "xmlns"}
            attributes = "".join(f" {key}={text}" for key, text in quoted.items())
            is_closed = tag["rest"].endswith("/")
            yield f"<{name}{attributes}{'/' if is_closed else ''}>"
            open_names += [] if is_closed else [name]
        elif name in open_names:
            while (open_name := open_names.pop()) != name:
                yield f"</{open_name}>"
            yield f"</{name}>"
    yield text[position:]
    yield from (f"</{name}>" for name in reversed(open_names))
    yield "</FictionBook>"


def _may_contain(outer: str, inner: str) -> bool:
    """Returns whether an element may contain another, by their ranks."""
    rank = _RANKS.get(inner)
    outer_rank = _RANKS.get(outer, 0)
    if rank is None or outer_rank < rank:
        return True
    return outer_rank == rank and (inner in _NESTED or rank == len(_ROWS) - 1)
