"""FictionBook files that are not well-formed -> text that is: tags closed where they have to end.

Knows which elements of the format stand in which, not what they mean.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

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
_STRAY = re.compile(
    rf"<(?!/?(?:\w+:)?(?:{'|'.join((*_RANKS, *_FACTS))})(?=[\s/>])[^<>]*>|[!?])|&(?!#?\w{{1,31}};)"
)
"""`<` and `&` that mean themselves, as they should not."""
_TAG = re.compile(r"<(?P<end>/?)(?:\w+:)?(?P<name>[A-Za-z][\w-]*)(?P<rest>[^<>]*)>")


def without_strays(text: str) -> str:
    """Text in which no sign stands for itself that cannot."""
    return _STRAY.sub(lambda stray: "&lt;" if stray[0] == "<" else "&amp;", text)


def balanced(text: str) -> str:
    """Text whose tags are closed: where another begins that cannot stand in them, or at the end."""
    return "".join(_pieces(text))


def _pieces(text: str) -> Iterator[str]:
    opened: list[str] = []
    begin = 0
    for tag in _TAG.finditer(text):
        yield text[begin : tag.start()]
        begin, name = tag.end(), tag["name"]
        if not tag["end"]:
            while opened and not _may_hold(opened[-1], name):
                yield f"</{opened.pop()}>"
            yield f"<{name}{tag['rest']}>"
            if not tag["rest"].endswith("/"):
                opened.append(name)
        elif name in opened:
            while (last := opened.pop()) != name:
                yield f"</{last}>"
            yield f"</{name}>"
    yield text[begin:]
    yield from (f"</{name}>" for name in reversed(opened))


def _may_hold(outer: str, inner: str) -> bool:
    rank = _RANKS.get(inner)
    if rank is None:
        return True
    around = _RANKS.get(outer, 0)
    return around < rank or (around == rank and (inner in _NESTED or rank == max(_RANKS.values())))
