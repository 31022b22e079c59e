"""What validation found, in words: file, line, what is wrong, the nearest valid key."""

from __future__ import annotations

import re
import types
import typing
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    ValidationError,
)

from narrator.characters import quoted
from narrator.errors import GUESSES, Problem, nearest
from narrator.project.schema import Manifest
from narrator.project.yaml import Loc, line_of


def _spell(loc: Loc, lines: Mapping[Loc, int], missing: bool = False) -> str:
    """`chapters[2].file`: a location as a user would write it, without the tags of unions."""
    text = ""
    seen: Loc = ()
    for i, part in enumerate(loc):
        if (*seen, part) in lines:
            seen = (*seen, part)
        elif i != len(loc) - 1 or not missing:
            continue
        name = f"[{part + 1}]" if isinstance(part, int) else quoted(part)
        text += f".{name}" if text and isinstance(part, str) else name
    return text


def problems_of(
    path: Path, lines: Mapping[Loc, int], error: ValidationError, of: type[BaseModel] = Manifest
) -> list[Problem]:
    """One problem a value, in a file that is `of` a model: the alternatives of a union are joined
    by "or"."""
    said: dict[tuple[int | None, str], list[str]] = {}
    errors = error.errors()
    inside = Counter(item["loc"][:n] for item in errors for n in range(len(item["loc"]) + 1))
    for item in errors:
        if item["type"] == "too_short" and inside[item["loc"]] > 1:
            continue  # its items are there, and wrong
        loc: Loc = tuple(part for part in item["loc"] if part != "[key]")
        where = _spell(loc, lines, item["type"] == "missing")
        message = _message(loc, lines, item, of, guess=len(said) < GUESSES)
        messages = said.setdefault((line_of(lines, loc), where), [])
        if item["type"] in _WHOLE:
            said.setdefault((line_of(lines, loc), message), [""])
        elif message not in messages:
            messages.append(message)
    return [
        Problem(path, line, f"{where}: {_either(messages)}" if messages[0] else where)
        for (line, where), messages in said.items()
        if messages
    ]


def _either(messages: Sequence[str]) -> str:
    return " or ".join([*(m.partition(", not ")[0] for m in messages[:-1]), messages[-1]])


def without_faults(data: Any, error: ValidationError) -> Manifest | None:
    """The manifest without its wrong values, so that one report can hold the other checks too."""
    for item in error.errors():
        *way, last = item["loc"]
        place: Any = data
        for part in way:
            inside = part in place if isinstance(place, dict) else isinstance(part, int)
            if inside and isinstance(place, dict | tuple):  # not the tag of a union
                place = place[part]  # type: ignore[index]
        if not isinstance(place, dict):
            return None
        if item["type"] == "missing":
            place[last] = "?"
        elif last in place:
            del place[last]
    try:
        return Manifest.model_validate(data)
    except ValidationError:
        return None


_WHOLE = ("extra_forbidden", "missing")
"""Errors whose message names its place itself."""


_MAPPING = ("dict_type", "model_type", "model_attributes_type")

_SAID = {
    **dict.fromkeys(_MAPPING, "must be a mapping of keys to values"),
    "tuple_type": "must be a list",
    "too_short": "must not be empty",
    "string_too_short": "must not be empty",
    "string_type": "must be a text",
}


def _message(
    loc: Loc, lines: Mapping[Loc, int], error: Any, of: type[BaseModel], *, guess: bool
) -> str:
    kind, value = error["type"], error["input"]
    if kind == "extra_forbidden":
        return _unknown_key(loc, lines, of, guess)
    if kind == "missing":
        return f"'{_spell(loc, lines, missing=True)}' is missing"
    if kind == "value_error":
        return quoted(str(error["ctx"]["error"]), 300)
    if value is None:
        return "has no value"
    if kind == "string_type" and isinstance(value, bool):
        return "YAML reads this word as true or false; put it in quotes"
    if kind == "tuple_type" and isinstance(value, dict | str):
        return "must be a list: begin each of its items with a hyphen and a space, `- `"
    if kind in _MAPPING and isinstance(value, str):
        if found := re.match(r"([\w-]+):(?=\S)(.*)", value, re.DOTALL):
            spaced = quoted(f"{found[1]}: {found[2]}")
            return f"a space is missing after the colon; write `{spaced}`"
        if loc[:-1] == ("chapters",):
            return f"must have a title and a file; write `- {{title: …, file: {quoted(value)}}}`"
        if kind == "model_type":
            return f"{_SAID[kind]}; valid keys: {', '.join(_keys_at(loc, of))}"
    if kind in _SAID:
        return _SAID[kind]
    if kind == "literal_error":
        valid = re.findall(r"'([^']*)'", error["ctx"]["expected"])
        close = nearest(str(value), valid) if guess else None
        hint = f"; did you mean '{close}'?" if close else ""
        return f"must be {error['ctx']['expected']}, not {_short(value)}{hint}"
    said = error["msg"].replace("Input should be", "must be").replace("String should", "must")
    shown = f", not {str(value)[:40]!r}" if isinstance(value, str | int | float) else ""
    return f"{said[0].lower()}{said[1:]}{shown}"


def _unknown_key(loc: Loc, lines: Mapping[Loc, int], of: type[BaseModel], guess: bool) -> str:
    key, around = str(loc[-1]), _spell(loc[:-1], lines)
    valid = _keys_at(loc[:-1], of)
    if found := re.match(r"([\w-]+):(?=\S)(.*)", key, re.DOTALL):
        spaced = quoted(f"{found[1]}: {found[2]}")
        return f"a space is missing after the colon: write `{spaced}`"
    if key.startswith("-") and key[1:] in valid:
        return f"a space is missing after the hyphen: write `- {key[1:]}`"
    close = nearest(key, valid) if guess else None
    hint = f"did you mean '{close}'?" if close else f"valid keys: {', '.join(valid)}"
    return f"unknown key '{quoted(key)}'{f' in {around}' if around else ''}; {hint}"


def _short(value: object) -> str:
    return f"'{quoted(value)}'" if isinstance(value, str) else quoted(repr(value))


def _keys_at(loc: Loc, of: type[BaseModel]) -> list[str]:
    """Valid keys of the model that stands at a location of another."""
    kinds: list[Any] = [of]
    for part in loc:
        inner: list[Any] = []
        for kind in kinds:
            if isinstance(kind, type) and issubclass(kind, BaseModel):
                if part in kind.model_fields:
                    inner += _flat(kind.model_fields[str(part)].annotation)
            elif typing.get_origin(kind) is dict:
                inner += _flat(typing.get_args(kind)[1])
            elif typing.get_origin(kind) is tuple:
                inner += _flat(typing.get_args(kind)[0])
        kinds = inner or kinds
    return [
        name
        for kind in kinds
        if isinstance(kind, type) and issubclass(kind, BaseModel)
        for name in kind.model_fields
    ]


def _flat(annotation: Any) -> Iterator[Any]:
    """The alternatives of a type, without `Annotated`."""
    origin = typing.get_origin(annotation)
    if origin is Annotated:
        yield from _flat(typing.get_args(annotation)[0])
    elif origin in (typing.Union, types.UnionType):
        for choice in typing.get_args(annotation):
            yield from _flat(choice)
    else:
        yield annotation
