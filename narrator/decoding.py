"""Decodes JSON into dataclasses and other types: messages between processes, and small files of
ours.

A missing field, one of another type, and a number that is not finite are errors for people.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from pydantic import TypeAdapter

Value = TypeVar("Value")


def decode(value_type: type[Value], line: bytes | str) -> Value:
    """Decodes a JSON text. Raises ValueError with a message for people."""
    from pydantic import ValidationError

    try:
        return _adapter(value_type).validate_json(line, strict=True)
    except ValidationError as error:
        first_error = error.errors(include_url=False, include_input=False)[0]
        location = ".".join(map(str, first_error["loc"]))
        raise ValueError(
            f"{location}: {first_error['msg']}" if location else str(first_error["msg"])
        ) from None


def decode_value(value_type: type[Value], value: object) -> Value:
    """Decodes a JSON value, as `json.loads` returns it. Raises ValueError like `decode`."""
    return decode(value_type, json.dumps(value))


_ADAPTERS: dict[Any, TypeAdapter[Any]] = {}


def _adapter(value_type: type[Value]) -> TypeAdapter[Value]:
    if value_type not in _ADAPTERS:
        from pydantic import TypeAdapter  # 0.1 s, which a command without it need not wait for

        _ADAPTERS[value_type] = TypeAdapter(value_type)
    return _ADAPTERS[value_type]
