"""Applies simple class rules of style sheets to the `style` attributes of elements.

Knows `.c1 {…}` and `p.c1 {…}`, as word processors write them, and declarations that matter to a
narrator: emphasis, visibility, alignment, page breaks. Does not implement the cascade.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from lxml import etree

from manuscripts.book import word_set
from manuscripts.readers.elements import element_name

_COMMENT = re.compile(r"/\*.*?\*/|<!--|-->", re.DOTALL)
_RULE = re.compile(r"([^{}]*)\{([^{}]*)\}")
_SELECTOR = re.compile(r"([A-Za-z][\w-]*)?\.([\w-]+)")
_PROPERTIES = word_set(
    "font-style font-weight font-size text-align display page-break-before break-before"
)
_MAX_CHARACTERS = 2_000_000
"""Limit on the characters read of a style sheet."""

Rules = Mapping[tuple[str, str], Mapping[str, str]]
"""Declarations by element name ("" for any) and class."""


def collect_rules(sheets: Iterable[str]) -> Rules:
    """Collects the class rules of style sheets; later rules override earlier ones."""
    rules: dict[tuple[str, str], dict[str, str]] = {}
    for sheet in sheets:
        for selectors, body in _top_level_rules(_COMMENT.sub("", sheet[:_MAX_CHARACTERS])):
            new_declarations = parse_declarations(body)
            for selector in selectors.split(",") if new_declarations else ():
                if match := _SELECTOR.fullmatch(selector.strip()):
                    rule_key = ((match[1] or "").lower(), match[2])
                    # Later rules override earlier ones, so the rule moves to the end.
                    rules[rule_key] = rules.pop(rule_key, {}) | new_declarations
    return rules


def parse_declarations(style: str) -> dict[str, str]:
    """Parses the relevant declarations of a `style`."""
    pairs = (piece.partition(":") for piece in style.split(";"))
    return {
        property_name: property_value.replace("!important", "").strip().lower()
        for name, _, property_value in pairs
        if (property_name := name.strip().lower()) in _PROPERTIES
    }


def apply_styles(root: etree._Element, rules: Rules) -> None:
    """Adds rules for the classes of elements to their `style` attributes, which take precedence."""
    order = {rule_key: position for position, rule_key in enumerate(rules)}
    for element in root.iter("{*}*") if rules else ():
        classes, names = element.get("class", "").split(), ("", element_name(element))
        rule_keys = rules.keys() & {(name, class_name) for class_name in classes for name in names}
        declarations: dict[str, str] = {}
        for rule_key in sorted(rule_keys, key=order.__getitem__):
            declarations |= rules[rule_key]
        style = element.get("style", "").strip().rstrip(";")
        own_names = parse_declarations(style)
        added = [f"{name}: {text}" for name, text in declarations.items() if name not in own_names]
        if added:
            element.set("style", "; ".join(filter(None, (style, *added))))


def _top_level_rules(sheet: str) -> Iterable[tuple[str, str]]:
    """Yields selectors and bodies of rules outside of `@media` and similar blocks."""
    skip_until = start = 0
    for block in re.finditer(r"@(?:media|supports|layer|container)\b[^{};]*\{", sheet):
        if block.start() < skip_until:
            continue
        yield from _RULE.findall(sheet[start : block.start()])
        start = skip_until = _block_end(sheet, block.end())
    yield from _RULE.findall(sheet[start:])


def _block_end(sheet: str, position: int) -> int:
    """Returns the position after the brace that closes the block around `position`."""
    depth = 1
    for brace in re.compile(r"[{}]").finditer(sheet, position):
        depth += 1 if brace[0] == "{" else -1
        if not depth:
            return brace.end()
    return len(sheet)
