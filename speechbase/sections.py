"""Settings of a checkpoint, read by name and type; errors say where a value stands."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from speechbase.errors import CheckpointError, ConfigError, ModelError, shown

MOST_RATES, MOST_RATE, MOST_HOP = 12, 64, 1 << 15
"""Of a codec: how many rates, the largest, and all of them multiplied."""
HIGHEST = 768_000  # Hz
LARGEST = 1e9

_REQUIRED: Any = object()


def read_object(path: Path, most: int, wrong: type[ModelError] = CheckpointError) -> dict[str, Any]:
    """The JSON object of a file of at most `most` bytes. Raises FileNotFoundError, `wrong`."""
    try:
        size = path.stat().st_size
        if not path.is_file() or size > most:
            raise wrong(
                f"{path}: {size} bytes; such a file has {most} at most"
                if path.is_file()
                else f"{path}: cannot be read: it is no file"
            )
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:
        raise wrong(f"{path}: cannot be read: {shown(str(error))}") from error
    except RecursionError as error:
        raise wrong(f"{path}: cannot be read: it is nested without end") from error
    if not isinstance(data, dict):
        raise wrong(f"{path}: expected a JSON object")
    return data


class Section:
    """One JSON object, read by name and type; errors say where the value stands."""

    def __init__(self, where: str, data: Any) -> None:
        if not isinstance(data, Mapping):
            raise ConfigError(f"{where}: expected an object, found {kind_of(data)}")
        self.where, self.data = where, data

    def _get(self, key: str, default: Any) -> Any:
        if key in self.data:
            return self.data[key]
        if default is _REQUIRED:
            raise ConfigError(f"{self.where}: {key!r} is missing")
        return default

    def _wrong(self, key: str, wanted: str, value: Any) -> ConfigError:
        return ConfigError(f"{self.where}: {key!r} must be {wanted}, found {kind_of(value)}")

    def section(self, key: str, default: Any = _REQUIRED) -> Section:
        return Section(f"{self.where}: {key}", self._get(key, default))

    def text(self, key: str, default: str) -> str:
        value = self._get(key, default)
        if not isinstance(value, str):
            raise self._wrong(key, "a string", value)
        return value

    def flag(self, key: str, default: bool) -> bool:
        value = self._get(key, default)
        if not isinstance(value, bool):
            raise self._wrong(key, "true or false", value)
        return value

    def number(self, key: str, default: Any = _REQUIRED) -> float:
        value = self._get(key, default)
        if not is_positive(value):
            raise self._wrong(key, "a number above 0", value)
        return float(value)

    def integer(self, key: str, default: Any = _REQUIRED, *, least: int = 1, most: int) -> int:
        value = self._get(key, default)
        if not is_whole(value) or value < least:
            raise self._wrong(key, f"a whole number above {least - 1}", value)
        if value > most:
            raise self._wrong(key, f"{most} at most", value)
        return int(value)

    def optional_integer(self, key: str, *, most: int) -> int | None:
        return None if self._get(key, None) is None else self.integer(key, most=most)

    def numbers(self, key: str) -> tuple[float, ...]:
        value = self._get(key, _REQUIRED)
        if not isinstance(value, list) or not all(map(is_positive, value)):
            raise self._wrong(key, "a list of numbers above 0", value)
        return tuple(float(item) for item in value)

    def rates(self, key: str, default: tuple[int, ...]) -> tuple[int, ...]:
        value = self._get(key, list(default))
        if (
            not isinstance(value, list)
            or not 1 <= len(value) <= MOST_RATES
            or not all(is_whole(item) and 1 <= item <= MOST_RATE for item in value)
            or math.prod(value) > MOST_HOP
        ):
            raise self._wrong(
                key, f"{MOST_RATES} whole numbers at most, of 1 to {MOST_RATE}", value
            )
        return tuple(value)

    def optional_integers(self, key: str, default: tuple[int, ...]) -> tuple[int, ...] | None:
        value = self._get(key, list(default))
        if value is None:
            return None
        if (
            not isinstance(value, list)
            or len(value) > MOST_RATE
            or not all(is_whole(item) and 0 < item <= HIGHEST for item in value)
        ):
            raise self._wrong(key, "a list of whole numbers of Hz", value)
        return tuple(value)


def is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def is_positive(value: Any) -> bool:
    """Whether it is a number that can be computed with: no NaN, no infinity, no zero."""
    return (is_whole(value) or isinstance(value, float)) and 0 < value <= LARGEST


def kind_of(value: Any) -> str:
    return shown(repr(value)) if isinstance(value, str | int | float) else type(value).__name__
