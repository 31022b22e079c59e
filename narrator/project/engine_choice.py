"""`engine` in a manifest: a name, or settings of the engine that they name.

Each engine validates its own settings. A manifest may also hold keys that only other engines have,
since a book can be tried with one after another: these are checked, and then they are not used.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union

from pydantic import Field, TypeAdapter, ValidationError, WrapValidator, create_model
from pydantic_core import InitErrorDetails, PydanticCustomError

from narrator.engines.registry import ENGINES
from narrator.engines.spec import EngineSettings, EngineSpec
from narrator.settings import Strict

DEFAULT_ENGINE = next(iter(ENGINES.values()))


@dataclass(frozen=True, slots=True)
class ChapterEngine:
    """Engine settings that a chapter has of its own."""

    keys: frozenset[str] = frozenset()
    by_engine: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Values by their keys, for each engine that has them."""
    errors: Mapping[str, ValidationError] = field(default_factory=dict)
    """By the name of an engine that has a key, but not with this value."""

    def of(self, engine: str) -> Mapping[str, Any]:
        """The settings that an engine has."""
        return self.by_engine.get(engine, MappingProxyType({}))


def _join(errors: Iterable[ValidationError], prefix: tuple[str | int, ...] = ()) -> ValidationError:
    lines: list[InitErrorDetails] = [
        InitErrorDetails(
            type=(
                PydanticCustomError("value_error", "{error}", {"error": line["ctx"]["error"]})
                if line["type"] == "value_error"
                else line["type"]
            ),
            loc=(*prefix, *line["loc"]),
            input=line["input"],
            ctx=line.get("ctx", {}),
        )
        for error in errors
        for line in error.errors()
    ]
    return ValidationError.from_exception_data("engine", lines)


def _specs_with(key: str, names: str = "settings") -> list[EngineSpec]:
    return [spec for spec in ENGINES.values() if key in _keys(spec, names)]


def _keys(spec: EngineSpec, names: str) -> Iterable[str]:
    return spec.settings.model_fields if names == "settings" else spec.chapter_settings


def _validate(spec: EngineSpec, settings: Mapping[str, Any]) -> EngineSettings | ValidationError:
    try:
        return spec.settings.model_validate(dict(settings))
    except ValidationError as error:
        return error


def _parse_engine(value: Any, handler: object) -> EngineSettings:
    """The settings of the engine that a value names. Raises ValidationError."""
    if isinstance(value, EngineSettings):
        return value
    if not isinstance(value, dict):
        if value is None or not isinstance(value, str):
            return DEFAULT_ENGINE.settings.model_validate(value)
        return ENGINES[_ENGINE_NAME.validate_python(value)].settings.model_validate({"name": value})
    errors = list[ValidationError]()
    name = value.get("name", DEFAULT_ENGINE.name)
    try:
        spec = ENGINES[_ENGINE_NAME.validate_python(name)]
    except ValidationError as error:
        raise _join([error], ("name",)) from None
    other_keys = [
        key for key in value if key not in spec.settings.model_fields and _specs_with(key)
    ]
    settings = _validate(spec, {key: value[key] for key in value if key not in other_keys})
    if isinstance(settings, ValidationError):
        errors.append(settings)
    for key in other_keys:
        results = [_validate(other, {key: value[key]}) for other in _specs_with(key)]
        failures = [result for result in results if isinstance(result, ValidationError)]
        if len(failures) == len(results):
            errors.append(failures[0])
    if errors or isinstance(settings, ValidationError):
        raise _join(errors)
    settings._other_keys = tuple(other_keys)
    return settings


def _parse_chapter_engine(value: Any, handler: object) -> ChapterEngine:
    """What a chapter sets, for each engine that has it. Raises ValidationError for a key that no
    engine lets a chapter set, and for a value that none of those engines takes."""
    if isinstance(value, ChapterEngine):
        return value
    if not isinstance(value, dict):
        raise _join([_failure(_ChapterKeys, value)])
    by_engine: dict[str, dict[str, Any]] = {}
    refusals: dict[str, ValidationError] = {}
    errors: list[ValidationError] = []
    for key, setting in value.items():
        specs = _specs_with(key, "chapter")
        if not specs:
            errors.append(_failure(_ChapterKeys, {key: setting}))
        results = {spec.name: _validate(spec, {key: setting}) for spec in specs}
        failures = {n: r for n, r in results.items() if isinstance(r, ValidationError)}
        if setting is None:
            continue  # as if it were not set
        if specs and len(failures) == len(specs):
            errors.append(next(iter(failures.values())))
        refusals |= failures
        for name, result in results.items():
            if not isinstance(result, ValidationError):
                by_engine.setdefault(name, {})[key] = getattr(result, key)
    if errors:
        raise _join(errors)
    return ChapterEngine(frozenset(value), by_engine, refusals)


def name_of(choice: Any) -> Any:
    """The engine that a manifest's `engine` names, not validated yet."""
    name = choice.get("name") if isinstance(choice, dict) else choice
    return DEFAULT_ENGINE.name if name is None else name


def complete_names(manifest: Any) -> Any:
    """A manifest's values in which each speaker's engine has a name: the book's where it has none.

    They are not validated yet: what is no manifest is returned as it is.
    """
    if not isinstance(manifest, dict) or not isinstance(manifest.get("speakers"), dict):
        return manifest
    name = name_of(manifest.get("engine"))
    if not isinstance(name, str) or name not in ENGINES:
        return manifest
    speakers = dict(manifest["speakers"])
    for speaker, settings in speakers.items():
        own = settings.get("engine") if isinstance(settings, dict) else None
        if isinstance(own, dict) and "name" not in own:
            speakers[speaker] = {**settings, "engine": {"name": name, **own}}
    return {**manifest, "speakers": speakers}


def check_chapters(chapters: Sequence[ChapterEngine], engines: Collection[str]) -> None:
    """Raises ValidationError for settings of chapters that an engine of the book does not take."""
    errors = [
        _join([error], ("chapters", number, "engine"))
        for number, chapter in enumerate(chapters)
        for engine, error in chapter.errors.items()
        if engine in engines
    ]
    if errors:
        raise _join(errors)


def _failure(model: type[Strict], value: Any) -> ValidationError:
    try:
        model.model_validate(value)
    except ValidationError as error:
        return error
    raise AssertionError(f"{model.__name__} takes {value!r}")


def _chapter_field(key: str) -> Any:
    """The types that a key has in the engines that let a chapter set it; for the schema."""
    fields = [spec.settings.model_fields[key] for spec in _specs_with(key, "chapter")]
    types = [Annotated[one.annotation, *one.metadata] for one in fields]
    return reduce(or_, types) | None


_CHAPTER_KEYS = dict.fromkeys(key for spec in ENGINES.values() for key in spec.chapter_settings)

if TYPE_CHECKING:
    EngineName = str
    EngineChoice = EngineSettings
    ChapterEngineChoice = ChapterEngine
    _ChapterKeys = Strict
else:
    EngineName = Literal[tuple(ENGINES)]
    EngineChoice = Annotated[
        Union[EngineName, *(spec.settings for spec in ENGINES.values())],
        WrapValidator(_parse_engine),
    ]
    _ChapterKeys = create_model(
        "ChapterEngineSettings",
        __doc__="A chapter's own settings, as in `engine`, for each engine that has them.",
        __base__=Strict,
        **{
            key: (_chapter_field(key), Field(None, description="As in `engine`."))
            for key in _CHAPTER_KEYS
        },
    )
    ChapterEngineChoice = Annotated[_ChapterKeys, WrapValidator(_parse_chapter_engine)]

_ENGINE_NAME: TypeAdapter[str] = TypeAdapter(EngineName)
