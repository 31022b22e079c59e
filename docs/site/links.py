"""Links the commands and the keys of book.yaml that pages name as code to their entries.

Takes entries from docs/commands.md (a heading for each command) and docs/manifest.md (a table for
each group of keys), and knows nothing of the program.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

import yaml

from tests.manifest_page import slug

COMMANDS = PurePosixPath("docs/commands.md")
MANIFEST = PurePosixPath("docs/manifest.md")
KeyPath = tuple[str, ...]
"""The names that lead to a key from the top of a manifest: ("speakers", "NAME", "voice")."""

_ROW = re.compile(r"^\| `(\w+)` \|")
_SPAN = re.compile(r"\[(?:`[^`]*`|[^\]`])*\]\([^)]*\)|``.+?``|(?<!`)`([^`]+)`(?![`{])")
"""A link, which is left as it is, or code."""
_CODE = re.compile(r"([a-z]\w*(?:\.[A-Za-z]\w*)*)(: .*|:)?")


@dataclass(frozen=True)
class Section:
    """A table of the manifest's page."""

    anchor: str
    paths: tuple[KeyPath, ...]
    """The paths of the keys that have its keys."""
    keys: tuple[str, ...]


def outside_code(text: str) -> Iterator[tuple[bool, str]]:
    """Yields each line, with whether it is text rather than a heading or code."""
    is_code = False
    for line in text.splitlines():
        is_fence = line.startswith("```")
        is_code ^= is_fence
        yield not (is_code or is_fence or line.startswith("#")), line


def sections(manifest_page: str) -> list[Section]:
    """Returns the tables of the manifest's page."""
    tables = []
    for part in re.split("^## ", manifest_page, flags=re.MULTILINE)[1:]:
        heading, _, body = part.partition("\n")
        others = re.search(r"The same under (.*)\.$", body, re.MULTILINE)
        places = [heading, *(re.findall("`([^`]+)`", others[1]) if others else ())]
        keys = tuple(row[1] for row in map(_ROW.match, body.splitlines()) if row)
        paths = () if heading == "At the top" else tuple(map(_path, places))
        tables.append(Section(slug(heading), paths or ((),), keys))
    return tables


def _path(place: str) -> KeyPath:
    """Parses a heading: chapters[].engine of kokoro -> ("chapters", "[]", "engine", "kokoro")."""
    return tuple(place.replace(" of ", ".").replace("[]", ".[]").split("."))


def key_anchors(tables: Iterable[Section]) -> dict[KeyPath, str]:
    """Returns the anchor of each key: that of its table if it has keys of its own, else of its
    row."""
    tables = list(tables)
    anchors = {path: table.anchor for table in tables for path in table.paths if path}
    for table in tables:
        prefix = f"{table.anchor}-" if table.paths != ((),) else ""
        for path in table.paths:
            for key in table.keys:
                anchors.setdefault((*path, key), prefix + key)
    return anchors


def mark_keys(manifest_page: str) -> str:
    """Adds an anchor to each row, and a link to it to the key, unless a table has that anchor."""
    table_anchors = {table.anchor for table in sections(manifest_page)}
    prefix, lines = "", []
    for line in manifest_page.splitlines():
        if line.startswith("## "):
            prefix = "" if line == "## At the top" else slug(line[3:]) + "-"
        row = _ROW.match(line)
        if row and (anchor := prefix + row[1]) not in table_anchors:
            link = f"[`{row[1]}`](#{anchor}){{ #{anchor} }}"
            line = line.replace(f"`{row[1]}`", link, 1)
        lines.append(line)
    return "\n".join(lines) + "\n"


class Linker:
    """Links code to entries."""

    def __init__(self, commands_page: str, manifest_page: str) -> None:
        headings = re.findall("^#+ (narrator .+)$", commands_page, re.MULTILINE)
        self._commands = {heading: slug(heading) for heading in headings}
        self._keys = key_anchors(sections(manifest_page))
        names: dict[str, set[str]] = {}
        for path, anchor in self._keys.items():
            names.setdefault(path[-1], set()).add(anchor)
        self._unique = {name: anchors.pop() for name, anchors in names.items() if len(anchors) == 1}

    def link(self, text: str, page: PurePosixPath) -> str:
        """Returns a page with links of its code, except in headings, blocks and other links."""

        def link_span(span: re.Match[str]) -> str:
            entry = self.entry(span[1]) if span[1] else None
            if entry is None:
                return span[0]
            target, anchor = entry
            return f"[{span[0]}]({_relative(target, page)}#{anchor})"

        lines = (
            _SPAN.sub(link_span, line) if is_text else line for is_text, line in outside_code(text)
        )
        return "\n".join(lines) + "\n"

    def entry(self, code: str) -> tuple[PurePosixPath, str] | None:
        """Returns the page and the anchor of a command or key; None for other code."""
        if anchor := self._command(code.split()):
            return COMMANDS, anchor
        named = _CODE.fullmatch(code)
        anchor = self._key(named[1].split("."), named[2]) if named else None
        return (MANIFEST, anchor) if anchor else None

    def _command(self, words: list[str]) -> str | None:
        """Returns the anchor of a command. Without `narrator`, words are one only if they name a
        command in a group, or have an option."""
        is_named = words[:1] == ["narrator"]
        if not is_named:
            words = ["narrator", *words]
        for count in range(len(words), 1, -1):
            if anchor := self._commands.get(" ".join(words[:count])):
                has_option = any(word.startswith("--") for word in words[count : count + 1])
                return anchor if is_named or count > 2 or has_option else None
        return None

    def _key(self, names: list[str], value: str | None) -> str | None:
        """Returns the anchor of a key. A single word counts only if it has an underscore or a
        value, since others may mean anything."""
        if value is None and len(names) == 1:
            return self._unique.get(names[0]) if "_" in names[0] else None
        if (names[0],) not in self._keys:
            return self._unique.get(names[0]) if len(names) == 1 else None
        path: KeyPath = ()
        for name in names:
            below = self._below(path, name)
            if below is None:
                return None
            path = below
        return self._deepest(path, value)

    def _deepest(self, path: KeyPath, value: str | None) -> str | None:
        """Returns the anchor of the innermost key of a value with one key in each mapping."""
        try:
            inner: Any = yaml.safe_load((value or "")[1:])
        except yaml.YAMLError:
            inner = None
        while True:
            if isinstance(inner, str) and (*path, inner) in self._keys:
                path, inner = (*path, inner), None
            if isinstance(inner, list) and len(inner) == 1:
                path, inner = ((*path, "[]"), inner[0])
            if isinstance(inner, Mapping) and isinstance(inner.get("name"), str):
                path = (*path, inner["name"]) if (*path, inner["name"]) in self._keys else path
            if not isinstance(inner, Mapping) or len(inner) != 1:
                return self._anchor(path)
            ((name, inner),) = inner.items()
            below = self._below(path, str(name))
            if below is None:
                return self._anchor(path)
            path = below

    def _below(self, path: KeyPath, name: str) -> KeyPath | None:
        """Returns the path of a key within another, even if the engine between them is not named,
        or if the key is a name of the user's own."""
        if (*path, name) in self._keys:
            return (*path, name)
        for known in self._keys:
            inner = known[len(path) :]
            if known[: len(path)] == path and inner[1:] == (name,) and inner[0] != "NAME":
                return known
        return (*path, "NAME") if (*path, "NAME") in self._keys else None

    def _anchor(self, path: KeyPath) -> str | None:
        while path and path not in self._keys:
            path = path[:-1]
        return self._keys.get(path)


def _relative(target: PurePosixPath, page: PurePosixPath) -> str:
    return "" if target == page else os.path.relpath(target, page.parent)
