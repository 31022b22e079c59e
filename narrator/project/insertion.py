"""More entries for a mapping of a YAML file, put into its text: no line of it changes.

What is written is read again and compared before it counts. Knows YAML, not what keys mean.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

_WIDTH = 96


class NotInserted(Exception):
    """A text in which a mapping is written so that entries cannot be added by themselves."""


def inserted(text: str, path: Sequence[str], entries: Mapping[str, object]) -> str:
    """The text with more entries at the end of the mapping at `path`.

    One that is not there at the top is begun above `chapters`. Raises NotInserted.
    """
    try:
        grown = _Text(text).with_entries(path, entries)
        before, after = _plain(text), _plain(grown)
        place = before
        for key in path[:-1]:
            place = place[key]
        there = place.get(path[-1]) or {}
        if there.keys() & entries.keys():
            raise NotInserted
        place[path[-1]] = there | _plain(_block(entries, 0))
    except (yaml.YAMLError, ValueError, LookupError, RecursionError, AttributeError, TypeError):
        raise NotInserted from None
    if before != after:
        raise NotInserted
    return grown


def _plain(text: str) -> Any:
    """What a text says, all scalars as they are written, and nothing for null."""
    data = yaml.load(text, yaml.BaseLoader)
    if isinstance(data, dict):
        data = {key: None if value in ("", "~", "null") else value for key, value in data.items()}
    return data


def _block(entries: Mapping[str, object], indent: int) -> str:
    """Entries in lines of their own, what is within their values in one line where it fits."""
    rows: list[str] = []
    for key, value in entries.items():
        flow = None if isinstance(value, dict | list) else False  # None: of what holds no other
        dumped = yaml.safe_dump(
            {key: value}, allow_unicode=True, sort_keys=False, width=_WIDTH, default_flow_style=flow
        )
        rows += dumped.splitlines()
    return "".join(f"{' ' * indent}{row}\n" for row in rows)


def _flow(entries: Mapping[str, object]) -> str:
    """Entries as they stand between braces."""
    dumped = yaml.safe_dump(
        dict(entries), allow_unicode=True, sort_keys=False, width=10**9, default_flow_style=True
    )
    return dumped.strip()[1:-1]


class _Text:
    def __init__(self, text: str) -> None:
        self.newline = "\r\n" if "\r\n" in text else "\n"
        self.text = text if text.endswith("\n") else f"{text}{self.newline}"
        root = yaml.compose(self.text, yaml.SafeLoader)
        if not isinstance(root, yaml.MappingNode):
            raise NotInserted
        self.root = root

    def with_entries(self, path: Sequence[str], entries: Mapping[str, object]) -> str:
        node: yaml.Node = self.root
        key = node
        for name in path:
            pairs = [pair for pair in node.value if pair[0].value == name]
            if not pairs:
                return self._begun(name, entries)
            key, node = pairs[0]
        if isinstance(node, yaml.MappingNode) and node.value:
            return self._in_braces(node, entries) if node.flow_style else self._under(node, entries)
        return self._instead(key, node, entries)

    def _put(self, at: int, block: str) -> str:
        return self.text[:at] + block.replace("\n", self.newline) + self.text[at:]

    def _below(self, index: int) -> int:
        """Where the line after that of an offset begins."""
        return self.text.find("\n", index) + 1 or len(self.text)

    def _begun(self, name: str, entries: Mapping[str, object]) -> str:
        """A mapping that was not there: above the chapters and the comments on them, or last."""
        column = self.root.value[0][0].start_mark.column
        chapters = [key for key, _ in self.root.value if key.value == "chapters"]
        at = len(self.text)
        if chapters:
            at = chapters[0].start_mark.index - column
            while at and (above := self.text.rfind("\n", 0, at - 1) + 1) < at:
                if not self.text[above:at].lstrip().startswith("#"):
                    break
                at = above
        return self._put(at, f"{' ' * column}{name}:\n{_block(entries, column + 2)}")

    def _instead(self, key: yaml.Node, node: yaml.Node, entries: Mapping[str, object]) -> str:
        """In place of nothing: of null, or of a pair of braces with nothing in them."""
        start, stop = node.start_mark.index, node.end_mark.index
        if stop > start:
            self.text = self.text[:start].rstrip(" ") + self.text[stop:]
        block = _block(entries, key.start_mark.column + 2)
        return self._put(self._below(key.end_mark.index), block)

    def _in_braces(self, node: yaml.Node, entries: Mapping[str, object]) -> str:
        end = node.end_mark.index - 1
        before = self.text[:end]
        comma = " " if before.rstrip().endswith(",") else ", "
        return f"{before.rstrip(' ')}{comma}{_flow(entries)}{self.text[end:]}"

    def _under(self, node: yaml.MappingNode, entries: Mapping[str, object]) -> str:
        """Under its last entry, and under the comments that stand there as far in."""
        indent = node.value[0][0].start_mark.column
        at = self._below(self._end(*node.value[-1]))
        comment = re.compile(rf" {{{indent},}}#")
        while comment.match(self.text, at):
            at = self._below(at)
        return self._put(at, _block(entries, indent))

    def _end(self, key: yaml.Node, node: yaml.Node) -> int:
        """The offset of the last character of an entry."""
        if isinstance(node, yaml.CollectionNode) and node.value and not node.flow_style:
            last = node.value[-1]
            return self._end(*(last if isinstance(last, tuple) else (last, last)))
        return len(self.text[: max(key.end_mark.index, node.end_mark.index)].rstrip()) - 1
