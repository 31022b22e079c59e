"""Reads settings of a checkpoint by name and type; errors name the place of a setting."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from speechbase.errors import CheckpointError, ConfigError, ModelError, printable

MAX_RATES, MAX_STAGE_RATE, MAX_HOP = 12, 64, 1 << 15
"""Limits of a codec: number of rates, the largest rate, and the product of all rates."""
MAX_SAMPLE_RATE = 768_000  # Hz
MAX_NUMBER = 1e9

_REQUIRED: Any = object()


def read_object(
    path: Path, max_bytes: int, error_class: type[ModelError] = CheckpointError
) -> dict[str, Any]:
    """Reads the JSON object in a file of at most `max_bytes` bytes.

    Raises FileNotFoundError, `error_class`.
    """
    try:
        size = path.stat().st_size
        if not path.is_file() or size > max_bytes:
            raise error_class(
                f"{path}: {size} bytes; such a file has {max_bytes} at most"
                if path.is_file()
                else f"{path}: cannot be read: it is not a file"
            )
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:
        raise error_class(f"{path}: cannot be read: {printable(str(error))}") from error
    except RecursionError as error:
        raise error_class(f"{path}: cannot be read: it is nested without end") from error
    if not isinstance(document, dict):
        raise error_class(f"{path}: expected a JSON object")
    return document


class Section:
    """One JSON object, read by name and type; errors name its `location`."""

    def __init__(self, location: str, fields: Any) -> None:
        if not isinstance(fields, Mapping):
            raise ConfigError(f"{location}: expected an object, found {describe_setting(fields)}")
        self.location, self.fields = location, fields

    def _get(self, key: str, default: Any) -> Any:
        if key in self.fields:
            return self.fields[key]
        if default is _REQUIRED:
            raise ConfigError(f"{self.location}: {key!r} is missing")
        return default

    def _type_error(self, key: str, expected: str, setting: Any) -> ConfigError:
        return ConfigError(
            f"{self.location}: {key!r} must be {expected}, found {describe_setting(setting)}"
        )

    def section(self, key: str, default: Any = _REQUIRED) -> Section:
        return Section(f"{self.location}: {key}", self._get(key, default))

    def text(self, key: str, default: str) -> str:
        setting = self._get(key, default)
        if not isinstance(setting, str):
            raise self._type_error(key, "a string", setting)
        return setting

    def flag(self, key: str, default: bool) -> bool:
        setting = self._get(key, default)
        if not isinstance(setting, bool):
            raise self._type_error(key, "true or false", setting)
        return setting

    def number(self, key: str, default: Any = _REQUIRED) -> float:
        setting = self._get(key, default)
        if not is_positive(setting):
            raise self._type_error(key, "a number above 0", setting)
        return float(setting)

    def integer(self, key: str, default: Any = _REQUIRED, *, minimum: int = 1, maximum: int) -> int:
        setting = self._get(key, default)
        if not is_whole(setting) or setting < minimum:
            raise self._type_error(key, f"a whole number above {minimum - 1}", setting)
        if setting > maximum:
            raise self._type_error(key, f"{maximum} at most", setting)
        return int(setting)

    def optional_integer(self, key: str, *, maximum: int) -> int | None:
        return None if self._get(key, None) is None else self.integer(key, maximum=maximum)

    def numbers(self, key: str) -> tuple[float, ...]:
        setting = self._get(key, _REQUIRED)
        if not isinstance(setting, list) or not all(map(is_positive, setting)):
            raise self._type_error(key, "a list of numbers above 0", setting)
        return tuple(float(number) for number in setting)

    def rates(self, key: str, default: tuple[int, ...]) -> tuple[int, ...]:
        setting = self._get(key, list(default))
        if (
            not isinstance(setting, list)
            or not 1 <= len(setting) <= MAX_RATES
            or not all(is_whole(rate) and 1 <= rate <= MAX_STAGE_RATE for rate in setting)
            or math.prod(setting) > MAX_HOP
        ):
            raise self._type_error(
                key, f"{MAX_RATES} whole numbers at most, of 1 to {MAX_STAGE_RATE}", setting
            )
        return tuple(setting)

    def optional_integers(self, key: str, default: tuple[int, ...]) -> tuple[int, ...] | None:
        setting = self._get(key, list(default))
        if setting is None:
            return None
        if (
            not isinstance(setting, list)
            or len(setting) > MAX_STAGE_RATE
            or not all(is_whole(number) and 0 < number <= MAX_SAMPLE_RATE for number in setting)
        ):
            raise self._type_error(key, "a list of whole numbers of Hz", setting)
        return tuple(setting)


def is_whole(number: Any) -> bool:
    return isinstance(number, int) and not isinstance(number, bool)


def is_positive(number: Any) -> bool:
    """Returns True for a number above 0 that is neither NaN nor infinite."""
    return (is_whole(number) or isinstance(number, float)) and 0 < number <= MAX_NUMBER


def describe_setting(setting: Any) -> str:
    return (
        printable(repr(setting))
        if isinstance(setting, str | int | float)
        else type(setting).__name__
    )
