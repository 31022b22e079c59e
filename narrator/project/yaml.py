"""Reads YAML as used in manifests: values with their lines, within limits, without constructing
objects."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from narrator import files
from narrator.errors import ManifestError, Problem
from narrator.project.mends import explain, explain_text
from narrator.settings import Decimal, Integer
from textbase.characters import INVISIBLE, excerpt

SIZE_LIMIT = 4_000_000
NODE_LIMIT = 200_000
"""Largest number of nodes with aliases expanded; a few lines of YAML could demand gigabytes."""
NUMBER_LIMIT = 64
"""Longest number in characters; longer ones are read as text, since Python could take hours."""

_TIGHT_COMMENT = re.compile(r"[ \t]+(#\w[^\n\r\0]*)")

Loc = tuple[str | int, ...]


class _Loader(yaml.SafeLoader):
    """Counts nodes, so that a manifest of only commas does not take minutes."""

    node_count = 0

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.unused_anchors: dict[str, int] = {}
        """Unused anchors with their lines."""

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """Composes the next node as PyYAML does. Raises MarkedYAMLError if there are too many."""
        event = self.peek_event()
        if isinstance(event, yaml.AliasEvent):
            self.unused_anchors.pop(str(event.anchor), None)
        elif event.anchor is not None:
            self.unused_anchors[event.anchor] = event.start_mark.line + 1
        self.node_count += 1
        if self.node_count > NODE_LIMIT:
            raise yaml.MarkedYAMLError(
                problem=f"more than {NODE_LIMIT:,} values: put chapter text in files",
                problem_mark=self.get_mark(),
            )
        return super().compose_node(parent, index)


MANIFEST_HINT = "a manifest begins with keys, as `title: The Ferry`"


def read_yaml(
    path: Path,
    text: str | None = None,
    format_hint: str = MANIFEST_HINT,
    *,
    may_be_empty: bool = False,
) -> tuple[_NodeReader, Any]:
    """The values of a file, or of this text instead, with the reader that has their lines.

    `format_hint` is a hint on how such files begin. Raises ManifestError.
    """
    text = _read_text(path) if text is None else text.removeprefix("\ufeff")
    line_number = 0
    try:
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
            reader = _NodeReader(path, loader)
            empty_value: object = {} if may_be_empty else None
            values = empty_value if node is None else reader.read_value(node, ())
        finally:
            line_number = loader.line + 1
            loader.dispose()
    except RecursionError:
        raise ManifestError(Problem(path, line_number, "nested too deeply")) from None
    except yaml.MarkedYAMLError as error:
        line, message = explain(text, error)
        raise ManifestError(Problem(path, line, excerpt(message, 400))) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        character = text[error.position : error.position + 1]
        message = f"a control character, {character!r}, which YAML does not allow"
        if (character == "\0" and text[1:2] + text[3:4] == "\0\0") or text.startswith("\0"):
            message = "UTF-16: save the file as UTF-8"
        raise ManifestError(Problem(path, line, message)) from None
    except yaml.YAMLError as error:
        raise ManifestError(Problem(path, None, f"not valid YAML: {error}")) from None
    except (ValueError, OverflowError):  # of chr(), within the scanner
        message = "an escape in quotes (\\U…) that is not a character: take it out, or write \\\\"
        raise ManifestError(Problem(path, line_number, message)) from None
    if not isinstance(values, dict):
        raise ManifestError(_describe_no_mapping(path, text, values, format_hint))
    for name, line in loader.unused_anchors.items():
        description = (
            f"`&{excerpt(name)}` names what follows, for `*{excerpt(name)}`, which occurs nowhere"
        )
        reader.remarks.append(Problem(path, line, f"{description}: {_QUOTE_HINT}"))
    return reader, values


_QUOTE_HINT = "if it is text, put all of it in quotes"


def _describe_no_mapping(path: Path, text: str, values: object, format_hint: str) -> Problem:
    if isinstance(values, str):
        fault = "not a manifest: it has no keys with values, as `title: The Ferry`"
        line, message = explain_text(text, fault if format_hint is MANIFEST_HINT else format_hint)
        return Problem(path, line, excerpt(message, 400))
    fault = "empty" if values is None else "not a mapping of keys to values"
    return Problem(path, 1, f"{fault}: {format_hint}")


def _read_text(path: Path) -> str:
    """The text of a file. Raises ManifestError."""
    try:
        return files.read_bounded(path, SIZE_LIMIT).decode("utf-8-sig")
    except FileNotFoundError:
        raise ManifestError(Problem(path, None, "no such file")) from None
    except files.TooLarge:
        raise ManifestError(
            Problem(path, None, "larger than 4 MB: put chapter text in files")
        ) from None
    except OSError as error:
        raise ManifestError(Problem(path, None, f"cannot be read: {error.strerror}")) from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise ManifestError(Problem(path, line, "not UTF-8: save the file as UTF-8")) from None
    except ValueError:  # a NUL in the path itself
        raise ManifestError(f"no path: {excerpt(str(path))}") from None


class _NodeReader:
    """Turns YAML nodes into plain values; records their lines, problems, and duplicate keys."""

    def __init__(self, path: Path, loader: yaml.SafeLoader) -> None:
        self.path = path
        self.loader = loader
        self.lines: dict[Loc, int] = {}
        self.problems: list[Problem] = []
        self.unseen: dict[str, tuple[int, int]] = {}
        """Invisible character -> line of its first place, number of places."""
        self.remarks: list[Problem] = []
        """Valid values that were perhaps meant otherwise."""
        self._node_count = 0
        self._open_nodes: set[int] = set()
        """Ids of the collections around the present node, which an alias may not repeat."""

    def read_value(self, node: yaml.Node, loc: Loc) -> Any:
        """The plain value of a node. Raises ManifestError for aliases without bound, and for what
        has no plain value."""
        line = node.start_mark.line + 1
        self.lines.setdefault(loc, line)
        self._node_count += 1
        if self._node_count > NODE_LIMIT or id(node) in self._open_nodes:
            raise ManifestError(
                Problem(self.path, line, "aliases (&name, *name) that grow without bound")
            )
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, line)
        self._open_nodes.add(id(node))
        try:
            if isinstance(node, yaml.SequenceNode):
                return tuple(
                    self.read_value(child, (*loc, index)) for index, child in enumerate(node.value)
                )
            return self._mapping(node, loc)
        finally:
            self._open_nodes.discard(id(node))

    def _mapping(self, node: yaml.Node, loc: Loc) -> dict[Any, Any]:
        """The values of a mapping by key; problems are recorded for keys that are not texts or
        occur twice."""
        mapping: dict[Any, Any] = {}
        first_lines: dict[str, int] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                self.problems.append(
                    Problem(self.path, line, "a key must be a single word or text")
                )
                continue
            key = self._read_text_of(key_node, line)
            if key_node.tag == "tag:yaml.org,2002:merge":
                message = "`<<` is not read here: write the keys out"
                self.problems.append(Problem(self.path, line, message))
                continue
            if key in first_lines:
                message = (
                    f"'{excerpt(key)}' is given twice, first on line {first_lines[key]}; remove one"
                )
                self.problems.append(Problem(self.path, line, message))
                continue
            first_lines[key] = line
            self.lines[(*loc, key)] = line
            mapping[key] = self.read_value(value_node, (*loc, key))
        return mapping

    def _read_text_of(self, node: yaml.ScalarNode, line: int) -> str:
        """A scalar's text, with a problem for characters that tags, XML and file names cannot hold.

        Such characters are replaced; invisible ones are counted.
        """
        text = str(node.value)
        for invisible in INVISIBLE.findall(text):
            first, count = self.unseen.get(invisible, (line, 0))
            self.unseen[invisible] = first, count + 1
        unreadable = [c for c in text if _is_unreadable(c)]
        if not unreadable:
            return text
        first_unreadable = unreadable[0]
        if "\ud800" <= first_unreadable <= "\udfff":
            message = "half of a surrogate pair, which is not a character"
        else:
            message = (
                f"{first_unreadable!r} in a text, a character that cannot be shown: take it out"
            )
        self.problems.append(Problem(self.path, line, message))
        return "".join("\ufffd" if _is_unreadable(c) else c for c in text)

    def _scalar(self, node: yaml.ScalarNode, line: int) -> Any:
        """The value of a scalar; numbers remember how they were written."""
        node.value = self._read_text_of(node, line)
        kind = node.tag.removeprefix("tag:yaml.org,2002:")
        if kind in ("str", "null") and not node.style:
            self._note_comment(node)
        if kind == "timestamp" or (kind in ("int", "float") and len(node.value) > NUMBER_LIMIT):
            return node.value
        if kind not in ("str", "null", "bool", "int", "float"):
            raise self._unreadable_error(node, line)
        try:
            scalar = self.loader.construct_object(node)
        except (yaml.YAMLError, ValueError, LookupError):
            raise self._unreadable_error(node, line) from None
        if isinstance(scalar, int) and not isinstance(scalar, bool):
            scalar = Integer(scalar)
            scalar.written = node.value
        elif isinstance(scalar, float):
            scalar = Decimal(scalar)
            scalar.written = node.value
        return scalar

    def _note_comment(self, node: yaml.ScalarNode) -> None:
        """Remark on a comment without a space after its #, as in `title: Agent #7`.

        YAML reads that as "Agent" and a comment.
        """
        mark = node.end_mark
        if comment_match := _TIGHT_COMMENT.match(mark.buffer or "", mark.pointer):
            finding = f"`{excerpt(comment_match[1])}` is a comment to YAML, which nobody reads"
            self.remarks.append(Problem(self.path, mark.line + 1, f"{finding}: {_QUOTE_HINT}"))

    def _unreadable_error(self, node: yaml.ScalarNode, line: int) -> ManifestError:
        """The error for a value that does not fit its tag, explicit (`!!int x`) or implied."""
        kind = excerpt(node.tag.replace("tag:yaml.org,2002:", "!!"))
        message = f"cannot read '{excerpt(node.value)}' as {kind}: take the tag away, or put the "
        return ManifestError(Problem(self.path, line, f"{message}text in quotes"))


def _is_unreadable(character: str) -> bool:
    """True if a character is a control character other than a tab or line break, half of a
    surrogate pair, or not allowed in XML 1.0."""
    if character in "\t\n\r":
        return False
    return unicodedata.category(character) in ("Cc", "Cs") or character in "\ufffe\uffff"


def line_of(lines: Mapping[Loc, int], loc: Loc) -> int | None:
    """The line of the longest prefix of `loc` that exists, with tags of unions skipped."""
    prefix: Loc = ()
    for part in loc:
        if (*prefix, part) in lines:
            prefix = (*prefix, part)
    return lines.get(prefix)
