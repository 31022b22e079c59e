"""Inserts, changes and renames values in the text of a YAML file.

All other lines of the author stay as they are, with their comments, order, quotes, spaces, anchors,
line ends and byte order mark. The new text is parsed again and compared before it counts. Knows
YAML, not the meaning of keys.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import yaml

_WIDTH = 96

KeyPath = Sequence[str | int]
"""A path into YAML: keys of mappings and indices of lists."""


class UnsupportedLayout(Exception):
    """A text whose layout does not allow the change."""


def insert_entries(text: str, path: KeyPath, entries: Mapping[str, object]) -> str:
    """The text with entries added at the end of the mapping at `path`.

    A missing top-level mapping is added above `chapters`. Raises UnsupportedLayout.
    """

    def add_entries(mapping: Any) -> Any:
        mapping = mapping or {}
        if mapping.keys() & entries.keys():
            raise UnsupportedLayout
        return mapping | _load_plain(_dump_block(entries, 0))

    return _rewrite(text, path, lambda document: document.with_entries(path, entries), add_entries)


def without_empty_values(entry: Mapping[str, object]) -> dict[str, object]:
    """The entry without the keys whose value is None or empty."""
    return {key: value for key, value in entry.items() if value}


def append_entry(text: str, path: KeyPath, entry: Mapping[str, object]) -> str:
    """The text with an entry added at the end of the list at `path`. Raises UnsupportedLayout."""
    return _rewrite(
        text,
        path,
        lambda document: document.with_appended(path, entry),
        lambda entries: [*entries, _round_trip(entry)],
    )


def set_value(text: str, path: KeyPath, new_value: object) -> str:
    """The text with another value at `path`, which is added if it is missing.

    Raises UnsupportedLayout.
    """
    existing_count = _count_existing_keys(text, path)
    if existing_count == len(path):
        return _rewrite(
            text,
            path,
            lambda document: document.with_value(path, new_value),
            lambda _: _round_trip(new_value),
        )
    existing_count = max(1, existing_count)
    for key in reversed(path[existing_count:]):
        new_value = {key: new_value}
    if not isinstance(new_value, Mapping):
        return insert_entries(text, (), {str(path[0]): new_value})
    return insert_entries(text, path[:existing_count], new_value)


def rename_entry(text: str, path: KeyPath, key: str) -> str:
    """The text with another key for the value at `path`. Raises UnsupportedLayout."""

    def rename_key(mapping: Any) -> Any:
        return {key if name == path[-1] else name: child for name, child in mapping.items()}

    return _rewrite(text, path[:-1], lambda document: document.with_key(path, key), rename_key)


def remove_entry(text: str, path: KeyPath) -> str:
    """The text without the entry at `path`: a key of a mapping, or an item of a list, that has
    others. Raises UnsupportedLayout."""

    def without_entry(collection: Any) -> Any:
        if isinstance(collection, list):
            return [child for index, child in enumerate(collection) if index != path[-1]]
        return {name: child for name, child in collection.items() if name != path[-1]}

    return _rewrite(text, path[:-1], lambda document: document.without(path), without_entry)


def list_entries(text: str, path: KeyPath, key_name: str, value_name: str) -> str:
    """The text with the mapping at `path` as a list of entries, which name its keys and values:
    `a: b` becomes `{key_name: a, value_name: b}`. Raises UnsupportedLayout."""

    def list_pairs(mapping: Any) -> Any:
        return [{key_name: key, value_name: child} for key, child in mapping.items()]

    return _rewrite(
        text, path, lambda document: document.with_list(path, key_name, value_name), list_pairs
    )


# -- reading ---------------------------------------------------------------------------------------


def _rewrite(
    text: str, path: KeyPath, write: Callable[[_Text], str], change_value: Callable[[Any], Any]
) -> str:
    """Apply `write` to a text, and check that only the value at `path` has changed.

    Its new value has to be that of `change_value`.
    """
    byte_order_mark = "\ufeff" * text.startswith("\ufeff")
    try:
        body = text.removeprefix(byte_order_mark)
        new_body = write(_Text(body))
        old_values, new_values = _load_plain(body), _load_plain(new_body)
        if _replace_at(old_values, path, change_value) != new_values:
            raise UnsupportedLayout
    except (yaml.YAMLError, ValueError, LookupError, RecursionError, AttributeError, TypeError):
        raise UnsupportedLayout from None
    return byte_order_mark + new_body


def _replace_at(document: Any, path: KeyPath, change_value: Callable[[Any], Any]) -> Any:
    """Data with the value at a path replaced."""
    if not path:
        return change_value(document)
    if isinstance(document, list):
        index = int(path[0])
        return [
            _replace_at(child, path[1:], change_value) if child_index == index else child
            for child_index, child in enumerate(document)
        ]
    document = document or {}
    return {**document, path[0]: _replace_at(document.get(path[0]), path[1:], change_value)}


def _load_plain(text: str) -> Any:
    """The values of a text, with all scalars as written, and None for null."""
    return _without_null(yaml.load(text, yaml.BaseLoader))


def _without_null(document: Any) -> Any:
    if isinstance(document, dict):
        return {key: _without_null(child) for key, child in document.items()}
    if isinstance(document, list):
        return [_without_null(child) for child in document]
    return None if document in ("", "~", "null") else document


def _round_trip(value: object) -> Any:
    """A value as it is read again after it has been written."""
    return _load_plain(yaml.safe_dump({"": value}, allow_unicode=True, width=10**9))[""]


def _count_existing_keys(text: str, path: KeyPath) -> int:
    """The number of keys of a path that exist. Raises UnsupportedLayout."""
    try:
        node = _load_plain(text.removeprefix("\ufeff"))
        for depth, key in enumerate(path):
            if isinstance(node, dict) and key not in node:
                return depth
            if node is None:
                return depth
            node = node[key]
    except (yaml.YAMLError, ValueError, LookupError, RecursionError, TypeError):
        raise UnsupportedLayout from None
    return len(path)


# -- writing ---------------------------------------------------------------------------------------


def _dump_block(entries: Mapping[str, object], indent: int) -> str:
    """Entries in block style; values without nested collections are on one line."""
    lines: list[str] = []
    for key, child in entries.items():
        # None: flow style for collections without others in them
        flow_style = None if isinstance(child, dict | list) else False
        dumped = yaml.safe_dump(
            {key: child},
            allow_unicode=True,
            sort_keys=False,
            width=_WIDTH,
            default_flow_style=flow_style,
        )
        lines += dumped.splitlines()
    return "".join(f"{' ' * indent}{row}\n" for row in lines)


def _dump_flow(value: object) -> str:
    """A value in flow style, without its own braces or brackets."""
    dumped = yaml.safe_dump(
        value, allow_unicode=True, sort_keys=False, width=10**9, default_flow_style=True
    )
    return dumped.strip()[1:-1]


def _dump_scalar(scalar: object, style: str | None, in_braces: bool) -> str:
    """A value on one line: numbers as numbers, texts in the quotes that they had."""
    is_number = isinstance(scalar, int | float)
    quotes = None if is_number or style not in ("'", '"') else style
    dumped = yaml.safe_dump(
        [scalar if is_number else str(scalar)],
        allow_unicode=True,
        width=10**9,
        default_flow_style=in_braces,
        default_style=quotes if is_number or "\n" not in str(scalar) else '"',
    )
    return dumped.strip()[1:-1] if in_braces else dumped.removeprefix("- ").rstrip("\n")


class _Composer(yaml.SafeLoader):
    """Composes YAML nodes and records the places of aliases, whose nodes are those of their
    anchors."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.aliases: dict[tuple[int, int], tuple[int, int]] = {}
        """Parent node, and index or key in it -> start and end of the alias."""

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        event = self.peek_event()
        if isinstance(event, yaml.AliasEvent) and event.start_mark and event.end_mark:
            child = index if isinstance(index, int) else id(index)
            self.aliases[id(parent), child] = event.start_mark.index, event.end_mark.index
        return super().compose_node(parent, index)


class _Text:
    """A YAML text with its nodes."""

    def __init__(self, text: str) -> None:
        self.newline = "\r\n" if "\r\n" in text else "\n"
        self.text = text if text.endswith("\n") else f"{text}{self.newline}"
        composer = _Composer(self.text)
        try:
            root = composer.get_single_node()
        finally:
            composer.dispose()
        if not isinstance(root, yaml.MappingNode):
            raise UnsupportedLayout
        self.root = root
        self.aliases = composer.aliases

    # -- changes

    def with_entries(self, path: KeyPath, entries: Mapping[str, object]) -> str:
        """The text with entries added at the end of the mapping at a path."""
        if len(path) == 1 and path[0] not in {key.value for key, _ in self.root.value}:
            return self._with_new_mapping(str(path[0]), entries)
        key, node, in_braces = self._find(path)
        if isinstance(node, yaml.MappingNode) and node.value and not node.flow_style:
            return self._insert_below(
                node, _dump_block(entries, node.value[0][0].start_mark.column)
            )
        if isinstance(node, yaml.MappingNode) and (in_braces or node.value):
            return self._append_in_braces(node, _dump_flow(dict(entries)))
        if key is None or in_braces:
            return self.with_value(path, entries)
        return self._replace_null(key, node, entries)

    def with_appended(self, path: KeyPath, entry: Mapping[str, object]) -> str:
        """The text with an entry added at the end of the list at a path."""
        node = self._find(path)[1]
        if not isinstance(node, yaml.SequenceNode):
            raise UnsupportedLayout
        if node.flow_style:
            return self._append_in_braces(node, _dump_flow([dict(entry)]))
        dash_mark = node.start_mark
        spaces_after_dash = node.value[-1].start_mark.column - dash_mark.column - 1
        last_node = node.value[-1]
        if isinstance(last_node, yaml.MappingNode) and not last_node.flow_style:
            lines = _dump_block(entry, 0).splitlines()
        else:
            lines = [f"{{{_dump_flow(dict(entry))}}}"]
        lines = [
            f"-{' ' * spaces_after_dash}{lines[0]}",
            *(f" {' ' * spaces_after_dash}{row}" for row in lines[1:]),
        ]
        return self._insert_below(
            node, "".join(f"{' ' * dash_mark.column}{row}\n" for row in lines)
        )

    def with_value(self, path: KeyPath, new_value: object) -> str:
        """The text with another value at a path that exists."""
        key, node, in_braces = self._find(path)
        alias = self._alias(path)
        if isinstance(new_value, Mapping):
            new_text = f"{{{_dump_flow(dict(new_value))}}}"
        elif isinstance(new_value, list):
            new_text = f"[{_dump_flow(new_value)}]"
        else:
            style = node.style if isinstance(node, yaml.ScalarNode) and not alias else None
            if style in ("|", ">") and not in_braces and "\n" in str(new_value):
                return self._replace_block_text(node, str(new_value))
            new_text = _dump_scalar(new_value, style, in_braces)
        if alias:
            start, stop = alias
        else:
            start, stop = node.start_mark.index, self._end(node) + 1
        if key is None or "\n" not in self.text[key.end_mark.index : start]:
            if stop <= start:  # null may have no text
                start = stop = self.text.index(":", key.end_mark.index) + 1 if key else start
                new_text = f" {new_text}"
            return self.text[:start] + new_text + self.text[stop:]
        colon = self.text.index(":", key.end_mark.index) + 1
        line = self.text.rfind("\n", 0, start) + 1
        text_after = self.text[self._next_line(stop) :]
        return f"{self.text[:colon]} {new_text}{self.text[colon:line]}{text_after}"

    def with_key(self, path: KeyPath, name: str) -> str:
        key, _, in_braces = self._find(path)
        if not isinstance(key, yaml.ScalarNode):
            raise UnsupportedLayout
        new_key = _dump_scalar(name, key.style, in_braces)
        return self.text[: key.start_mark.index] + new_key + self.text[key.end_mark.index :]

    def without(self, path: KeyPath) -> str:
        """The text without an entry, its lines, and the comma that parted it from the next."""
        collection = self._find(path[:-1])[1]
        if not isinstance(collection, yaml.CollectionNode) or len(collection.value) < 2:
            raise UnsupportedLayout
        first_nodes = [
            entry[0] if isinstance(entry, tuple) else entry for entry in collection.value
        ]
        index = (
            path[-1]
            if isinstance(collection, yaml.SequenceNode)
            else [node.value for node in first_nodes].index(path[-1])
        )
        if not isinstance(index, int):
            raise UnsupportedLayout
        start, stop = first_nodes[index].start_mark.index, self._end(collection.value[index]) + 1
        if not collection.flow_style:
            start, stop = self.text.rfind("\n", 0, start) + 1, self._next_line(stop)
        elif index + 1 < len(first_nodes):
            stop = first_nodes[index + 1].start_mark.index
        else:
            start = self._end(collection.value[index - 1]) + 1
        return self.text[:start] + self.text[stop:]

    def with_list(self, path: KeyPath, key_name: str, value_name: str) -> str:
        """The text with a list in place of a mapping of scalars."""
        node = self._find(path)[1]
        if not isinstance(node, yaml.MappingNode) or not node.value:
            raise UnsupportedLayout
        text = self.text
        if node.flow_style:
            opening, closing = node.start_mark.index, node.end_mark.index - 1
            text = f"{text[:opening]}[{text[opening + 1 : closing]}]{text[closing + 1 :]}"
        dash = "" if node.flow_style else "- "
        for key, child in reversed(node.value):
            start, stop = key.start_mark.index, self._end((key, child)) + 1
            entry = _dump_flow({key_name: key.value, value_name: child.value})
            text = f"{text[:start]}{dash}{{{entry}}}{text[stop:]}"
        return text

    # -- finding

    def _child(self, node: yaml.Node, name: str | int) -> tuple[yaml.Node, yaml.Node]:
        """The key and value of a name in a mapping; for an index in a list, the list and the
        value."""
        if isinstance(node, yaml.SequenceNode) and isinstance(name, int):
            return node, node.value[name]
        if not isinstance(node, yaml.MappingNode):
            raise UnsupportedLayout
        entries: list[tuple[yaml.Node, yaml.Node]] = [
            pair for pair in node.value if pair[0].value == name
        ]
        return entries[0]

    def _find(self, path: KeyPath) -> tuple[yaml.Node | None, yaml.Node, bool]:
        """The key (None in lists) and value at a path, and whether they are within braces."""
        node: yaml.Node = self.root
        key: yaml.Node | None = None
        in_braces = False
        for name in path:
            in_braces = in_braces or bool(getattr(node, "flow_style", False))
            is_in_list = isinstance(node, yaml.SequenceNode)
            key_or_list, node = self._child(node, name)
            key = None if is_in_list else key_or_list
        return key, node, in_braces

    def _alias(self, path: KeyPath) -> tuple[int, int] | None:
        """The start and end of an alias at a path, or None."""
        parent = self._find(path[:-1])[1]
        if isinstance(path[-1], int):
            return self.aliases.get((id(parent), path[-1]))
        return self.aliases.get((id(parent), id(self._child(parent, path[-1])[0])))

    # -- writing

    def _insert(self, offset: int, block: str) -> str:
        return self.text[:offset] + block.replace("\n", self.newline) + self.text[offset:]

    def _next_line(self, offset: int) -> int:
        """The offset of the line after that of an offset."""
        return self.text.find("\n", offset) + 1 or len(self.text)

    def _with_new_mapping(self, name: str, entries: Mapping[str, object]) -> str:
        """Add a new top-level mapping above the chapters and their comments, or at the end."""
        column = self.root.value[0][0].start_mark.column
        chapter_keys = [key for key, _ in self.root.value if key.value == "chapters"]
        offset = len(self.text)
        if chapter_keys:
            offset = chapter_keys[0].start_mark.index - column
            while offset and (previous_line := self.text.rfind("\n", 0, offset - 1) + 1) < offset:
                if not self.text[previous_line:offset].lstrip().startswith("#"):
                    break
                offset = previous_line
        return self._insert(offset, f"{' ' * column}{name}:\n{_dump_block(entries, column + 2)}")

    def _replace_null(self, key: yaml.Node, node: yaml.Node, entries: Mapping[str, object]) -> str:
        """Replace null, or empty braces, by entries."""
        start, stop = node.start_mark.index, node.end_mark.index
        if stop > start:
            self.text = self.text[:start].rstrip(" ") + self.text[stop:]
        block = _dump_block(entries, key.start_mark.column + 2)
        return self._insert(self._next_line(key.end_mark.index), block)

    def _append_in_braces(self, node: yaml.CollectionNode, new_entry: str) -> str:
        """Append to the content of braces or brackets."""
        if not node.value:
            return self._insert(node.end_mark.index - 1, new_entry)
        return self._insert(self._end(node.value[-1]) + 1, f", {new_entry}")

    def _insert_below(self, node: yaml.CollectionNode, block: str) -> str:
        """Insert below the last entry, and below comments with at least its indentation."""
        first_node = node.value[0][0] if isinstance(node, yaml.MappingNode) else node
        offset = self._next_line(self._end(node.value[-1]))
        comment = re.compile(rf" {{{first_node.start_mark.column},}}#")
        while comment.match(self.text, offset):
            offset = self._next_line(offset)
        return self._insert(offset, block)

    def _replace_block_text(self, node: yaml.Node, new_value: str) -> str:
        """Replace a text in block style, which stays in that style."""
        start, stop = node.start_mark.index, self._end(node) + 1
        header, _, body = self.text[start:stop].partition("\n")
        indent_match = re.match(r"[\n\r ]*?( *)(?=[^\s]|\Z)", body)
        indentation = indent_match[1] if indent_match else ""
        lines = [f"{indentation}{row}".rstrip(" ") for row in new_value.rstrip("\n").split("\n")]
        block = "\n".join(["|" + header[1:].rstrip("\r"), *lines])
        return self.text[:start] + block.replace("\n", self.newline) + self.text[stop:]

    def _end(self, entry: yaml.Node | tuple[yaml.Node, yaml.Node]) -> int:
        """The offset of the last character of an entry: an item of a list, or a key and a value."""
        key, value = entry if isinstance(entry, tuple) else (entry, entry)
        if isinstance(value, yaml.CollectionNode) and value.value and not value.flow_style:
            return self._end(value.value[-1])
        return len(self.text[: max(key.end_mark.index, value.end_mark.index)].rstrip()) - 1
