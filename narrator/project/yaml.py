"""YAML as manifests have it: values with their lines, within limits, nothing constructed."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from narrator import files
from narrator.characters import ODD, quoted
from narrator.errors import ManifestError, Problem
from narrator.project.mends import explain, explain_text
from narrator.settings import Decimal, Integer

SIZE_LIMIT = 4_000_000
NODE_LIMIT = 200_000
"""Nodes after aliases are followed; a few lines of YAML can otherwise ask for gigabytes."""
NUMBER_LIMIT = 64
"""Characters of a number. What is longer is read as text: Python needs hours for the longest."""

_TIGHT_COMMENT = re.compile(r"[ \t]+(#\w[^\n\r\0]*)")

Loc = tuple[str | int, ...]


class _Loader(yaml.SafeLoader):
    """Counts what it composes, so that a manifest full of commas does not take minutes."""

    composed = 0

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.idle: dict[str, int] = {}
        """Anchors that nothing refers to, and their lines."""

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        event = self.peek_event()
        if isinstance(event, yaml.AliasEvent):
            self.idle.pop(str(event.anchor), None)
        elif event.anchor is not None:
            self.idle[event.anchor] = event.start_mark.line + 1
        self.composed += 1
        if self.composed > NODE_LIMIT:
            raise yaml.MarkedYAMLError(
                problem=f"more than {NODE_LIMIT:,} values: put chapter text in files",
                problem_mark=self.get_mark(),
            )
        return super().compose_node(parent, index)


BEGINS = "a manifest begins with keys, as `title: The Ferry`"


def read_yaml(
    path: Path, text: str | None = None, begins: str = BEGINS, *, may_be_empty: bool = False
) -> tuple[_Nodes, Any]:
    """What a file says, or would say with this text; `begins` says how one of its kind does.

    Raises ManifestError.
    """
    text = _text_of(path) if text is None else text.removeprefix("\ufeff")
    at = 0
    try:
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
            reader = _Nodes(path, loader)
            nothing: object = {} if may_be_empty else None
            data = nothing if node is None else reader.value(node, ())
        finally:
            at = loader.line + 1
            loader.dispose()
    except RecursionError:
        raise ManifestError(Problem(path, at, "nested too deeply")) from None
    except yaml.MarkedYAMLError as error:
        line, message = explain(text, error)
        raise ManifestError(Problem(path, line, quoted(message, 400))) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        found = text[error.position : error.position + 1]
        message = f"a control character, {found!r}, which YAML does not allow"
        if (found == "\0" and text[1:2] + text[3:4] == "\0\0") or text.startswith("\0"):
            message = "UTF-16: save the file as UTF-8"
        raise ManifestError(Problem(path, line, message)) from None
    except yaml.YAMLError as error:
        raise ManifestError(Problem(path, None, f"not valid YAML: {error}")) from None
    except (ValueError, OverflowError):  # of chr(), within the scanner
        message = "an escape in quotes (\\U…) that is no character: take it out, or write \\\\"
        raise ManifestError(Problem(path, at, message)) from None
    if not isinstance(data, dict):
        raise ManifestError(_no_mapping(path, text, data, begins))
    for name, line in loader.idle.items():
        what = f"`&{quoted(name)}` names what follows, for `*{quoted(name)}`, which nowhere stands"
        reader.remarks.append(Problem(path, line, f"{what}: {_MEANT_AS_TEXT}"))
    return reader, data


_MEANT_AS_TEXT = "if it is text, put all of it in quotes"


def _no_mapping(path: Path, text: str, data: object, begins: str) -> Problem:
    if isinstance(data, str):
        what = "no manifest: it has no keys with values, as `title: The Ferry`"
        line, message = explain_text(text, what if begins is BEGINS else begins)
        return Problem(path, line, quoted(message, 400))
    what = "empty" if data is None else "not a mapping of keys to values"
    return Problem(path, 1, f"{what}: {begins}")


def _text_of(path: Path) -> str:
    """Raises ManifestError."""
    try:
        return files.read_whole(path, SIZE_LIMIT).decode("utf-8-sig")
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
        raise ManifestError(f"no path: {quoted(str(path))}") from None


class _Nodes:
    """Turns YAML nodes into plain values, noting the line of each and keys that stand twice."""

    def __init__(self, path: Path, loader: yaml.SafeLoader) -> None:
        self.path = path
        self.loader = loader
        self.lines: dict[Loc, int] = {}
        self.problems: list[Problem] = []
        self.unseen: dict[str, tuple[int, int]] = {}
        """Character that cannot be seen -> line of its first place, number of places."""
        self.remarks: list[Problem] = []
        """What can be read, but was perhaps meant otherwise."""
        self._count = 0
        self._open: set[int] = set()

    def value(self, node: yaml.Node, loc: Loc) -> Any:
        line = node.start_mark.line + 1
        self.lines.setdefault(loc, line)
        self._count += 1
        if self._count > NODE_LIMIT or id(node) in self._open:
            raise ManifestError(
                Problem(self.path, line, "aliases (&name, *name) that grow without bound")
            )
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, line)
        self._open.add(id(node))
        try:
            if isinstance(node, yaml.SequenceNode):
                return tuple(self.value(item, (*loc, i)) for i, item in enumerate(node.value))
            return self._mapping(node, loc)
        finally:
            self._open.discard(id(node))

    def _mapping(self, node: yaml.Node, loc: Loc) -> dict[Any, Any]:
        result: dict[Any, Any] = {}
        first: dict[str, int] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                self.problems.append(
                    Problem(self.path, line, "a key must be a single word or text")
                )
                continue
            key = self._readable(key_node, line)
            if key_node.tag == "tag:yaml.org,2002:merge":
                message = "`<<` is not read here: write the keys out"
                self.problems.append(Problem(self.path, line, message))
                continue
            if key in first:
                message = f"'{quoted(key)}' is given twice, first on line {first[key]}; remove one"
                self.problems.append(Problem(self.path, line, message))
                continue
            first[key] = line
            self.lines[(*loc, key)] = line
            result[key] = self.value(value_node, (*loc, key))
        return result

    def _readable(self, node: yaml.ScalarNode, line: int) -> str:
        """A scalar's text; what tags, XML and file names cannot hold is noted, and replaced."""
        text = str(node.value)
        for odd in ODD.findall(text):
            first, count = self.unseen.get(odd, (line, 0))
            self.unseen[odd] = first, count + 1
        wrong = [character for character in text if _is_unreadable(character)]
        if not wrong:
            return text
        found = wrong[0]
        if "\ud800" <= found <= "\udfff":
            message = "half of a surrogate pair, which is no character"
        else:
            message = f"{found!r} in a text, which is no character that can be shown: take it out"
        self.problems.append(Problem(self.path, line, message))
        return "".join("\ufffd" if _is_unreadable(character) else character for character in text)

    def _scalar(self, node: yaml.ScalarNode, line: int) -> Any:
        node.value = self._readable(node, line)
        kind = node.tag.removeprefix("tag:yaml.org,2002:")
        if kind in ("str", "null") and not node.style:
            self._note_comment(node)
        if kind == "timestamp" or (kind in ("int", "float") and len(node.value) > NUMBER_LIMIT):
            return node.value
        if kind not in ("str", "null", "bool", "int", "float"):
            raise self._unread(node, line)
        try:
            value = self.loader.construct_object(node)
        except (yaml.YAMLError, ValueError, LookupError):
            raise self._unread(node, line) from None
        if isinstance(value, int) and not isinstance(value, bool):
            value = Integer(value)
            value.written = node.value
        elif isinstance(value, float):
            value = Decimal(value)
            value.written = node.value
        return value

    def _note_comment(self, node: yaml.ScalarNode) -> None:
        """`title: Agent #7` is "Agent", and a comment; which usually begins with a space."""
        mark = node.end_mark
        if found := _TIGHT_COMMENT.match(mark.buffer or "", mark.pointer):
            what = f"`{quoted(found[1])}` is a comment to YAML, which nobody reads"
            self.remarks.append(Problem(self.path, mark.line + 1, f"{what}: {_MEANT_AS_TEXT}"))

    def _unread(self, node: yaml.ScalarNode, line: int) -> ManifestError:
        """A value that is not what its tag says, whether written (`!!int x`) or found (`<<`)."""
        kind = quoted(node.tag.replace("tag:yaml.org,2002:", "!!"))
        message = f"cannot read '{quoted(node.value)}' as {kind}: take the tag away, or put the "
        return ManifestError(Problem(self.path, line, f"{message}text in quotes"))


def _is_unreadable(character: str) -> bool:
    """Controls but tab and line breaks, halves of surrogate pairs, and what XML 1.0 has not."""
    if character in "\t\n\r":
        return False
    return unicodedata.category(character) in ("Cc", "Cs") or character in "\ufffe\uffff"


def line_of(lines: Mapping[Loc, int], loc: Loc) -> int | None:
    """The line of the longest prefix of `loc` that exists; tags of unions are passed over."""
    found: Loc = ()
    for part in loc:
        if (*found, part) in lines:
            found = (*found, part)
    return lines.get(found)
