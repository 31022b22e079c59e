"""FictionBook files that are not well-formed -> text that is: tags closed where they have to end.

Knows which elements of the format stand in which, not what they mean.
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
"""What an element stands in has a smaller number; sections and what is in them hold their like."""
_NESTED = ("section", "title", "epigraph", "annotation", "cite", "poem", "table")
_FACTS = (
    "title-info src-title-info document-info publish-info custom-info genre author first-name "
    "middle-name last-name nickname home-page email book-title keywords coverpage lang src-lang "
    "translator sequence program-used src-url src-ocr id version history book-name publisher city "
    "year isbn output part output-document-class"
).split()
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_REFERENCE = re.compile(r"&#(?:x([0-9A-Fa-f]+)|([0-9]+));")
_ASIDE = re.compile(r"<!--.*?-->|<\?.*?\?>", re.DOTALL)
_CDATA = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.DOTALL)
_STRAY = re.compile(
    rf"<(?!/?(?:\w+:)?(?:{'|'.join((*_RANKS, *_FACTS))})(?=[\s/>])[^<>]*>)|"
    r"&(?!(?:amp|lt|gt|quot|apos);)|(?<=\]\])>"
)
"""`<`, `&` and `>` that mean themselves, as they should not."""
_ESCAPES = {"<": "&lt;", "&": "&amp;", ">": "&gt;"}
_TAG = re.compile(r"<(?P<end>/?)(?:\w+:)?(?P<name>[A-Za-z][\w-]*)(?P<rest>[^<>]*)>")
_ATTRIBUTE = re.compile(r"\s(?:\w+:)?([A-Za-z][A-Za-z-]*)\s*=\s*(\"[^\"]*\"|'[^']*')")


def well_formed(text: str) -> str:
    """Text that is XML: what stands for itself is escaped, and tags are closed where others begin
    that cannot stand in them, or at the end. No words are lost."""
    text = _CDATA.sub(lambda found: escape(found[1]), _ASIDE.sub("", text))
    text = _CONTROL.sub("", _REFERENCE.sub(_character, text))
    text = _STRAY.sub(lambda stray: _ESCAPES[stray[0]], text)
    return "".join(_pieces(text))


def _character(reference: re.Match[str]) -> str:
    """What a numeric reference means, if it means a character."""
    digits, base = (reference[1], 16) if reference[1] else (reference[2], 10)
    code = int(digits, base) if len(digits) < 8 else 0
    return escape(chr(code)) if 0 < code < 0x110000 else ""


def _pieces(text: str) -> Iterator[str]:
    opened: list[str] = []
    begin = max(0, text.find("<FictionBook"))
    yield "<FictionBook>"
    for tag in _TAG.finditer(text, begin):
        yield text[begin : tag.start()]
        begin, name = tag.end(), tag["name"]
        if name == "FictionBook":
            continue
        if not tag["end"]:
            while opened and not _may_hold(opened[-1], name):
                yield f"</{opened.pop()}>"
            closed = tag["rest"].endswith("/")
            yield f"<{name}{_attributes(tag['rest'])}{'/' if closed else ''}>"
            if not closed:
                opened.append(name)
        elif name in opened:
            while (last := opened.pop()) != name:
                yield f"</{last}>"
            yield f"</{name}>"
    yield text[begin:]
    yield from (f"</{name}>" for name in reversed(opened))
    yield "</FictionBook>"


def _attributes(written: str) -> str:
    """Those that can be read, each once, without prefixes: their names say enough."""
    found = {name: value for name, value in _ATTRIBUTE.findall(written) if name != "xmlns"}
    return "".join(f" {name}={value}" for name, value in found.items())


def _may_hold(outer: str, inner: str) -> bool:
    rank = _RANKS.get(inner)
    if rank is None:
        return True
    around = _RANKS.get(outer, 0)
    return around < rank or (around == rank and (inner in _NESTED or rank == max(_RANKS.values())))
