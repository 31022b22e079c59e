"""Style sheets -> the `style` of elements: what simple rules say of classes.

Knows `.c1 {…}` and `p.c1 {…}`, as word processors write them, and of their declarations those that
mean something to a narrator: emphasis, what is hidden, how lines stand. Not the cascade.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from lxml import etree

from narrator.importers.book import names
from narrator.importers.readers.elements import name_of

_COMMENT = re.compile(r"/\*.*?\*/|<!--|-->", re.DOTALL)
_RULE = re.compile(r"([^{}]*)\{([^{}]*)\}")
_SELECTOR = re.compile(r"([A-Za-z][\w-]*)?\.([\w-]+)")
_PROPERTIES = names(
    "font-style font-weight font-size text-align display page-break-before break-before"
)
_MOST = 2_000_000
"""Characters of a style sheet that are looked at."""

Rules = Mapping[tuple[str, str], Mapping[str, str]]
"""Element ("" is any) and class -> declarations."""


def rules_of(sheets: Iterable[str]) -> Rules:
    """The rules for classes in style sheets; those that stand below others count more."""
    rules: dict[tuple[str, str], dict[str, str]] = {}
    for sheet in sheets:
        for selectors, body in _flat(_COMMENT.sub("", sheet[:_MOST])):
            declared = declarations(body)
            for selector in selectors.split(",") if declared else ():
                if found := _SELECTOR.fullmatch(selector.strip()):
                    key = ((found[1] or "").lower(), found[2])
                    # Later rules count more, and stand where they are.
                    rules[key] = rules.pop(key, {}) | declared
    return rules


def declarations(style: str) -> dict[str, str]:
    """What a `style` declares that means something."""
    pairs = (piece.partition(":") for piece in style.split(";"))
    return {
        key: value.replace("!important", "").strip().lower()
        for name, _, value in pairs
        if (key := name.strip().lower()) in _PROPERTIES
    }


def write_styles(root: etree._Element, rules: Rules) -> None:
    """Write what rules say of an element's classes into its own `style`, which counts more."""
    if not rules:
        return
    order = {key: place for place, key in enumerate(rules)}
    for element in root.iter("{*}*"):
        classes = element.get("class", "").split()
        name = name_of(element)
        keys = {key for one in classes for key in (("", one), (name, one)) if key in rules}
        if not keys:
            continue
        said: dict[str, str] = {}
        for key in sorted(keys, key=order.__getitem__):
            said |= rules[key]
        own = element.get("style", "")
        said = {name: value for name, value in said.items() if name not in declarations(own)}
        written = "; ".join(f"{name}: {value}" for name, value in said.items())
        element.set("style", "; ".join(filter(None, (own.strip().rstrip(";"), written))))


def _flat(sheet: str) -> Iterable[tuple[str, str]]:
    """Selectors and bodies of the rules outside of `@media` and its kin."""
    depth = begin = 0
    for found in re.finditer(r"@(?:media|supports|layer|container)\b[^{};]*\{", sheet):
        if found.start() < depth:
            continue
        yield from _RULE.findall(sheet[begin : found.start()])
        begin = depth = _end(sheet, found.end())
    yield from _RULE.findall(sheet[begin:])


def _end(sheet: str, place: int) -> int:
    """Where the braces close that were opened before `place`."""
    depth = 1
    for brace in re.compile(r"[{}]").finditer(sheet, place):
        depth += 1 if brace[0] == "{" else -1
        if not depth:
            return brace.end()
    return len(sheet)
