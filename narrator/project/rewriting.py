"""Values of a YAML file put in, changed, renamed in its text: the author's other lines stay as they
are, with their comments, order, quotes, spaces, anchors, line ends and byte order mark.

What is written is read again and compared before it counts. Knows YAML, not what keys mean.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import yaml

_WIDTH = 96

Where = Sequence[str | int]
"""Keys of mappings, places in lists."""


class NotWritten(Exception):
    """A text in which a thing is written so that it cannot be changed by itself."""


def inserted(text: str, path: Where, entries: Mapping[str, object]) -> str:
    """The text with more entries at the end of the mapping at `path`.

    One that is not there at the top is begun above `chapters`. Raises NotWritten.
    """

    def grow(there: Any) -> Any:
        there = there or {}
        if there.keys() & entries.keys():
            raise NotWritten
        return there | _plain(_block(entries, 0))

    return _rewritten(text, path, lambda found: found.with_entries(path, entries), grow)


def appended(text: str, path: Where, item: Mapping[str, object]) -> str:
    """The text with one more item at the end of the list at `path`. Raises NotWritten."""
    return _rewritten(
        text, path, lambda found: found.with_item(path, item), lambda there: [*there, _said(item)]
    )


def changed(text: str, path: Where, value: object) -> str:
    """The text with another value at `path`, which is there or may be put there.

    Raises NotWritten.
    """
    at = _known(text, path)
    if at == len(path):
        return _rewritten(
            text, path, lambda found: found.with_value(path, value), lambda _: _said(value)
        )
    at = max(1, at)
    for key in reversed(path[at:]):
        value = {key: value}
    if not isinstance(value, Mapping):
        raise NotWritten
    return inserted(text, path[:at], value)


def renamed(text: str, path: Where, key: str) -> str:
    """The text with another key for the value at `path`. Raises NotWritten."""

    def rename(there: Any) -> Any:
        return {key if name == path[-1] else name: value for name, value in there.items()}

    return _rewritten(text, path[:-1], lambda found: found.with_key(path, key), rename)


# -- what a text says ------------------------------------------------------------------------------


def _rewritten(
    text: str, path: Where, write: Callable[[_Text], str], meant: Callable[[Any], Any]
) -> str:
    """What `write` makes of a text, if that says at `path` what is `meant`, and else the same."""
    mark = "\ufeff" * text.startswith("\ufeff")
    try:
        body = text.removeprefix(mark)
        grown = write(_Text(body))
        before, after = _plain(body), _plain(grown)
        if _with(before, path, meant) != after:
            raise NotWritten
    except (yaml.YAMLError, ValueError, LookupError, RecursionError, AttributeError, TypeError):
        raise NotWritten from None
    return mark + grown


def _with(data: Any, path: Where, meant: Callable[[Any], Any]) -> Any:
    """Data with something else at a place."""
    if not path:
        return meant(data)
    if isinstance(data, list):
        place = int(path[0])
        return [_with(v, path[1:], meant) if n == place else v for n, v in enumerate(data)]
    data = data or {}
    return {**data, path[0]: _with(data.get(path[0]), path[1:], meant)}


def _plain(text: str) -> Any:
    """What a text says, all scalars as they are written, and nothing for null."""
    return _without_null(yaml.load(text, yaml.BaseLoader))


def _without_null(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: _without_null(value) for key, value in data.items()}
    if isinstance(data, list):
        return [_without_null(value) for value in data]
    return None if data in ("", "~", "null") else data


def _said(value: object) -> Any:
    """What a value says once it is written."""
    return _plain(yaml.safe_dump({"": value}, allow_unicode=True, width=10**9))[""]


def _known(text: str, path: Where) -> int:
    """How many of the keys of a path are there. Raises NotWritten."""
    try:
        data = _plain(text.removeprefix("\ufeff"))
        for known, key in enumerate(path):
            if isinstance(data, dict) and key not in data:
                return known
            if data is None:
                return known
            data = data[key]
    except (yaml.YAMLError, ValueError, LookupError, RecursionError, TypeError):
        raise NotWritten from None
    return len(path)


# -- how it is written -----------------------------------------------------------------------------


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


def _flow(value: object) -> str:
    """A value as it stands between braces or brackets, whose own are not with it."""
    dumped = yaml.safe_dump(
        value, allow_unicode=True, sort_keys=False, width=10**9, default_flow_style=True
    )
    return dumped.strip()[1:-1]


def _scalar(value: object, style: str | None, in_braces: bool) -> str:
    """A value in one line: a number as one, a text in the quotes that it had."""
    if isinstance(value, int | float):
        style = None
    else:
        value = str(value)
        style = '"' if "\n" in value else style if style in ("'", '"') else None
    dumped = yaml.safe_dump(
        [value], allow_unicode=True, width=10**9, default_flow_style=in_braces, default_style=style
    )
    return dumped.strip()[1:-1] if in_braces else dumped.removeprefix("- ").rstrip("\n")


class _Composer(yaml.SafeLoader):
    """Remembers where aliases stand: their nodes are those of what they name."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.aliases: dict[tuple[int, int], tuple[int, int]] = {}
        """Node around it, and place or key in that -> from and to."""

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        event = self.peek_event()
        if isinstance(event, yaml.AliasEvent) and event.start_mark and event.end_mark:
            place = index if isinstance(index, int) else id(index)
            self.aliases[id(parent), place] = event.start_mark.index, event.end_mark.index
        return super().compose_node(parent, index)


class _Text:
    """A text, and the nodes in it."""

    def __init__(self, text: str) -> None:
        self.newline = "\r\n" if "\r\n" in text else "\n"
        self.text = text if text.endswith("\n") else f"{text}{self.newline}"
        composer = _Composer(self.text)
        try:
            root = composer.get_single_node()
        finally:
            composer.dispose()
        if not isinstance(root, yaml.MappingNode):
            raise NotWritten
        self.root = root
        self.aliases = composer.aliases

    # -- what is done

    def with_entries(self, path: Where, entries: Mapping[str, object]) -> str:
        if len(path) == 1 and path[0] not in {key.value for key, _ in self.root.value}:
            return self._begun(str(path[0]), entries)
        key, node, in_braces = self._at(path)
        if isinstance(node, yaml.MappingNode) and node.value and not node.flow_style:
            return self._under(node, _block(entries, node.value[0][0].start_mark.column))
        if isinstance(node, yaml.MappingNode) and (in_braces or node.value):
            return self._in_braces(node, _flow(dict(entries)))
        if key is None or in_braces:
            return self.with_value(path, entries)
        return self._instead(key, node, entries)

    def with_item(self, path: Where, item: Mapping[str, object]) -> str:
        node = self._at(path)[1]
        if not isinstance(node, yaml.SequenceNode):
            raise NotWritten
        if node.flow_style:
            return self._in_braces(node, _flow([dict(item)]))
        dash = node.start_mark
        gap = node.value[-1].start_mark.column - dash.column - 1
        last = node.value[-1]
        if isinstance(last, yaml.MappingNode) and not last.flow_style:
            rows = _block(item, 0).splitlines()
        else:
            rows = [f"{{{_flow(dict(item))}}}"]
        rows = [f"-{' ' * gap}{rows[0]}", *(f" {' ' * gap}{row}" for row in rows[1:])]
        return self._under(node, "".join(f"{' ' * dash.column}{row}\n" for row in rows))

    def with_value(self, path: Where, value: object) -> str:
        key, node, in_braces = self._at(path)
        alias = self._alias(path)
        if isinstance(value, Mapping):
            written = f"{{{_flow(dict(value))}}}"
        else:
            style = node.style if isinstance(node, yaml.ScalarNode) and not alias else None
            if style in ("|", ">") and not in_braces and "\n" in str(value):
                return self._in_lines(node, str(value))
            written = _scalar(value, style, in_braces)
        if alias:
            start, stop = alias
        else:
            start, stop = node.start_mark.index, self._end(node, node) + 1
        if key is None or "\n" not in self.text[key.end_mark.index : start]:
            if stop <= start:  # of null, which has no place of its own
                start = stop = self.text.index(":", key.end_mark.index) + 1 if key else start
                written = f" {written}"
            return self.text[:start] + written + self.text[stop:]
        colon = self.text.index(":", key.end_mark.index) + 1
        line = self.text.rfind("\n", 0, start) + 1
        return f"{self.text[:colon]} {written}{self.text[colon:line]}{self._after(stop)}"

    def with_key(self, path: Where, name: str) -> str:
        key, _, in_braces = self._at(path)
        if not isinstance(key, yaml.ScalarNode):
            raise NotWritten
        written = _scalar(name, key.style, in_braces)
        return self.text[: key.start_mark.index] + written + self.text[key.end_mark.index :]

    # -- finding

    def _within(self, node: yaml.Node, name: str | int) -> tuple[yaml.Node, yaml.Node]:
        """The key and the value of a name in a mapping; of a place in a list the list itself."""
        if isinstance(node, yaml.SequenceNode) and isinstance(name, int):
            return node, node.value[name]
        if not isinstance(node, yaml.MappingNode):
            raise NotWritten
        found: list[tuple[yaml.Node, yaml.Node]] = [p for p in node.value if p[0].value == name]
        return found[0]

    def _at(self, path: Where) -> tuple[yaml.Node | None, yaml.Node, bool]:
        """The key, if it has one, and the value at a path; whether they stand in braces."""
        node: yaml.Node = self.root
        key: yaml.Node | None = None
        in_braces = False
        for name in path:
            in_braces = in_braces or bool(getattr(node, "flow_style", False))
            listed = isinstance(node, yaml.SequenceNode)
            before, node = self._within(node, name)
            key = None if listed else before
        return key, node, in_braces

    def _alias(self, path: Where) -> tuple[int, int] | None:
        """From where to where an alias stands at a path."""
        parent = self._at(path[:-1])[1]
        if isinstance(path[-1], int):
            return self.aliases.get((id(parent), path[-1]))
        return self.aliases.get((id(parent), id(self._within(parent, path[-1])[0])))

    # -- writing

    def _put(self, at: int, block: str) -> str:
        return self.text[:at] + block.replace("\n", self.newline) + self.text[at:]

    def _below(self, index: int) -> int:
        """Where the line after that of an offset begins."""
        return self.text.find("\n", index) + 1 or len(self.text)

    def _after(self, index: int) -> str:
        """The text after the line in which an offset lies, which ends something."""
        return self.text[self._below(index) :]

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

    def _in_braces(self, node: yaml.CollectionNode, written: str) -> str:
        """At the end of what stands in braces or brackets."""
        if not node.value:
            return self._put(node.end_mark.index - 1, written)
        last = node.value[-1]
        at = self._end(*(last if isinstance(last, tuple) else (last, last))) + 1
        return self._put(at, f", {written}")

    def _under(self, node: yaml.CollectionNode, block: str) -> str:
        """Under its last entry, and under the comments that stand there as far in."""
        last = node.value[-1]
        first = node.value[0][0] if isinstance(node, yaml.MappingNode) else node
        at = self._below(self._end(*(last if isinstance(last, tuple) else (last, last))))
        comment = re.compile(rf" {{{first.start_mark.column},}}#")
        while comment.match(self.text, at):
            at = self._below(at)
        return self._put(at, block)

    def _in_lines(self, node: yaml.Node, value: str) -> str:
        """A text of several lines, in lines of its own as it was."""
        start, stop = node.start_mark.index, self._end(node, node) + 1
        head, _, body = self.text[start:stop].partition("\n")
        indent = re.match(r"[\n\r ]*?( *)(?=[^\s]|\Z)", body)
        inset = indent[1] if indent else ""
        rows = [f"{inset}{row}".rstrip(" ") for row in value.rstrip("\n").split("\n")]
        written = "\n".join(["|" + head[1:].rstrip("\r"), *rows])
        return self.text[:start] + written.replace("\n", self.newline) + self.text[stop:]

    def _end(self, key: yaml.Node, node: yaml.Node) -> int:
        """The offset of the last character of an entry."""
        if isinstance(node, yaml.CollectionNode) and node.value and not node.flow_style:
            last = node.value[-1]
            return self._end(*(last if isinstance(last, tuple) else (last, last)))
        return len(self.text[: max(key.end_mark.index, node.end_mark.index)].rstrip()) - 1
