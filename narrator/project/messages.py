"""Turns validation errors into problems: file, line, fault, and the nearest valid key."""

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

from narrator.errors import MAX_SUGGESTIONS, Problem, nearest
from narrator.project.schema import Manifest
from narrator.project.yaml import Loc, line_of
from textbase.characters import excerpt


def _spell(loc: Loc, lines: Mapping[Loc, int], is_missing: bool = False) -> str:
    """A location as a user would write it, such as `chapters[2].file`, without tags of unions."""
    text = ""
    existing_loc: Loc = ()
    for index, part in enumerate(loc):
        if (*existing_loc, part) in lines:
            existing_loc = (*existing_loc, part)
        elif index != len(loc) - 1 or not is_missing:
            continue
        name = f"[{part + 1}]" if isinstance(part, int) else excerpt(part)
        text += f".{name}" if text and isinstance(part, str) else name
    return text


def problems_of(
    path: Path, lines: Mapping[Loc, int], error: ValidationError, model: type[BaseModel] = Manifest
) -> list[Problem]:
    """One problem for each invalid value in a file of a model.

    The alternatives of a union are joined by "or".
    """
    messages_by_place: dict[tuple[int | None, str], list[str]] = {}
    errors = error.errors()
    error_counts = Counter(
        detail["loc"][:length] for detail in errors for length in range(len(detail["loc"]) + 1)
    )
    for detail in errors:
        if detail["type"] == "too_short" and error_counts[detail["loc"]] > 1:
            continue  # its items are there, and wrong
        loc: Loc = tuple(part for part in detail["loc"] if part != "[key]")
        place = _spell(loc, lines, detail["type"] == "missing")
        message = _describe_error(
            loc, lines, detail, model, may_guess=len(messages_by_place) < MAX_SUGGESTIONS
        )
        messages = messages_by_place.setdefault((line_of(lines, loc), place), [])
        if detail["type"] in _TYPES_WITH_PLACE:
            messages_by_place.setdefault((line_of(lines, loc), message), [""])
        elif message not in messages:
            messages.append(message)
    return [
        Problem(path, line, f"{place}: {_join_alternatives(messages)}" if messages[0] else place)
        for (line, place), messages in messages_by_place.items()
        if messages
    ]


def _join_alternatives(messages: Sequence[str]) -> str:
    return " or ".join(
        [*(message.partition(", not ")[0] for message in messages[:-1]), messages[-1]]
    )


def drop_invalid_values(values: Any, error: ValidationError) -> Manifest | None:
    """The manifest without its invalid values, so that other checks can run too; None if that is
    impossible."""
    for detail in error.errors():
        *parents, last_key = detail["loc"]
        container: Any = values
        for part in parents:
            is_in_container = (
                part in container if isinstance(container, dict) else isinstance(part, int)
            )
            if is_in_container and isinstance(container, dict | tuple):  # not the tag of a union
                container = container[part]  # type: ignore[index]
        if not isinstance(container, dict):
            return None
        if detail["type"] == "missing":
            container[last_key] = "?"
        elif last_key in container:
            del container[last_key]
    try:
        return Manifest.model_validate(values)
    except ValidationError:
        return None


_TYPES_WITH_PLACE = ("extra_forbidden", "missing")
"""Types of errors whose message includes the location."""


_MAPPING_TYPES = ("dict_type", "model_type", "model_attributes_type")

_MESSAGES = {
    **dict.fromkeys(_MAPPING_TYPES, "must be a mapping of keys to values"),
    "tuple_type": "must be a list",
    "too_short": "must not be empty",
    "string_too_short": "must not be empty",
    "string_type": "must be a text",
}


def _describe_error(
    loc: Loc, lines: Mapping[Loc, int], error: Any, model: type[BaseModel], *, may_guess: bool
) -> str:
    """The message for an error of pydantic, as a user would put it; without guesses unless
    `may_guess`."""
    error_type, invalid_value = error["type"], error["input"]
    if error_type == "extra_forbidden":
        return _describe_unknown_key(loc, lines, model, may_guess)
    if error_type == "missing":
        return f"'{_spell(loc, lines, is_missing=True)}' is missing"
    if error_type == "value_error":
        return excerpt(str(error["ctx"]["error"]), 300)
    if invalid_value is None:
        return "has no value"
    if error_type == "string_type" and isinstance(invalid_value, bool):
        return "YAML reads this word as true or false; put it in quotes"
    if error_type == "tuple_type" and isinstance(invalid_value, dict | str):
        return "must be a list: begin each of its items with a hyphen and a space, `- `"
    if error_type in _MAPPING_TYPES and isinstance(invalid_value, str):
        if match := re.match(r"([\w-]+):(?=\S)(.*)", invalid_value, re.DOTALL):
            spaced = excerpt(f"{match[1]}: {match[2]}")
            return f"a space is missing after the colon; write `{spaced}`"
        if loc[:-1] == ("chapters",):
            path = excerpt(invalid_value)
            return f"must have a title and a file; write `- {{title: …, file: {path}}}`"
        if error_type == "model_type":
            return f"{_MESSAGES[error_type]}; valid keys: {', '.join(_keys_at(loc, model))}"
    if error_type in _MESSAGES:
        return _MESSAGES[error_type]
    if error_type == "literal_error":
        valid = re.findall(r"'([^']*)'", error["ctx"]["expected"])
        nearest_value = nearest(str(invalid_value), valid) if may_guess else None
        hint = f"; did you mean '{nearest_value}'?" if nearest_value else ""
        return f"must be {error['ctx']['expected']}, not {_shorten(invalid_value)}{hint}"
    message = error["msg"].replace("Input should be", "must be").replace("String should", "must")
    value_note = (
        f", not {str(invalid_value)[:40]!r}" if isinstance(invalid_value, str | int | float) else ""
    )
    return f"{message[0].lower()}{message[1:]}{value_note}"


def _describe_unknown_key(
    loc: Loc, lines: Mapping[Loc, int], model: type[BaseModel], may_guess: bool
) -> str:
    """The message for an unknown key: a missing space, the nearest key, or all valid keys."""
    key, parent = str(loc[-1]), _spell(loc[:-1], lines)
    valid = _keys_at(loc[:-1], model)
    if match := re.match(r"([\w-]+):(?=\S)(.*)", key, re.DOTALL):
        spaced = excerpt(f"{match[1]}: {match[2]}")
        return f"a space is missing after the colon: write `{spaced}`"
    if key.startswith("-") and key[1:] in valid:
        return f"a space is missing after the hyphen: write `- {key[1:]}`"
    nearest_key = nearest(key, valid) if may_guess else None
    hint = f"did you mean '{nearest_key}'?" if nearest_key else f"valid keys: {', '.join(valid)}"
    return f"unknown key '{excerpt(key)}'{f' in {parent}' if parent else ''}; {hint}"


def _shorten(invalid_value: object) -> str:
    return (
        f"'{excerpt(invalid_value)}'"
        if isinstance(invalid_value, str)
        else excerpt(repr(invalid_value))
    )


def _keys_at(loc: Loc, model: type[BaseModel]) -> list[str]:
    """The valid keys at a location within a model."""
    types: list[Any] = [model]
    for part in loc:
        inner_types: list[Any] = []
        for candidate_type in types:
            if isinstance(candidate_type, type) and issubclass(candidate_type, BaseModel):
                if part in candidate_type.model_fields:
                    inner_types += _alternatives(candidate_type.model_fields[str(part)].annotation)
            elif typing.get_origin(candidate_type) is dict:
                inner_types += _alternatives(typing.get_args(candidate_type)[1])
            elif typing.get_origin(candidate_type) is tuple:
                inner_types += _alternatives(typing.get_args(candidate_type)[0])
        types = inner_types or types
    return [
        name
        for candidate_type in types
        if isinstance(candidate_type, type) and issubclass(candidate_type, BaseModel)
        for name in candidate_type.model_fields
    ]


def _alternatives(annotation: Any) -> Iterator[Any]:
    """Yields the alternatives of a type, without `Annotated`."""
    origin = typing.get_origin(annotation)
    if origin is Annotated:
        yield from _alternatives(typing.get_args(annotation)[0])
    elif origin in (typing.Union, types.UnionType):
        for choice in typing.get_args(annotation):
            yield from _alternatives(choice)
    else:
        yield annotation
