"""The key `engine` of a manifest: a name, or a name with the settings of that engine.

Each engine validates its own settings. A manifest may also contain keys of other engines, since a
book may be tried with several: these are validated, but not used.
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
from narrator.errors import UsageError
from narrator.settings import Strict

DEFAULT_ENGINE = next(iter(ENGINES.values()))


@dataclass(frozen=True, slots=True)
class ChapterEngine:
    """Engine settings of a chapter."""

    keys: frozenset[str] = frozenset()
    by_engine: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Settings by key, for each engine that has them."""
    errors: Mapping[str, ValidationError] = field(default_factory=dict)
    """Errors by the name of an engine for which a setting is invalid."""

    def of(self, engine: str) -> Mapping[str, Any]:
        """The settings that apply to an engine."""
        return self.by_engine.get(engine, MappingProxyType({}))


def _join_errors(
    errors: Iterable[ValidationError], prefix: tuple[str | int, ...] = ()
) -> ValidationError:
    """One error with the details of several, each located under `prefix`."""
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


def _specs_with(key: str) -> list[EngineSpec]:
    """The engines that have a setting of this name."""
    return [spec for spec in ENGINES.values() if key in spec.settings.model_fields]


def _specs_with_chapter_key(key: str) -> list[EngineSpec]:
    """The engines for which a chapter can have a setting of this name."""
    return [spec for spec in ENGINES.values() if key in spec.chapter_settings]


def _spec(name: Any) -> EngineSpec:
    """The engine that a manifest names. Raises ValidationError, ValueError."""
    if not isinstance(name, str) or name not in ENGINES:
        known_names: Any = Literal[tuple(ENGINES.names())]
        TypeAdapter(known_names).validate_python(name)
    try:
        return ENGINES[name]
    except UsageError as error:  # of another package
        raise ValueError(str(error)) from error


def _validate(spec: EngineSpec, settings: Mapping[str, Any]) -> EngineSettings | ValidationError:
    try:
        return spec.settings.model_validate(dict(settings))
    except ValidationError as error:
        return error


def _parse_engine(choice: Any, handler: object) -> EngineSettings:
    """Returns the settings of the engine that a manifest's value names.

    Keys that only other engines have are validated by these and kept as unused, so that a book can
    change its engine and change back. Raises ValidationError.
    """
    if isinstance(choice, EngineSettings):
        return choice
    if not isinstance(choice, dict):
        if not isinstance(choice, str):
            return DEFAULT_ENGINE.settings.model_validate(choice)
        return _spec(choice).settings.model_validate({"name": choice})
    errors = list[ValidationError]()
    name = choice.get("name", DEFAULT_ENGINE.name)
    try:
        spec = _spec(name)
    except ValidationError as error:
        raise _join_errors([error], ("name",)) from None
    other_keys = [
        key for key in choice if key not in spec.settings.model_fields and _specs_with(key)
    ]
    settings = _validate(spec, {key: choice[key] for key in choice if key not in other_keys})
    if isinstance(settings, ValidationError):
        errors.append(settings)
    for key in other_keys:
        parsed_settings = [
            _validate(other_spec, {key: choice[key]}) for other_spec in _specs_with(key)
        ]
        failures = [parsed for parsed in parsed_settings if isinstance(parsed, ValidationError)]
        if len(failures) == len(parsed_settings):
            errors.append(failures[0])
    if errors or isinstance(settings, ValidationError):
        raise _join_errors(errors)
    settings._other_keys = tuple(other_keys)
    return settings


def _parse_chapter_engine(choice: Any, handler: object) -> ChapterEngine:
    """The settings of a chapter, for each engine that has them.

    Raises ValidationError for a key that chapters cannot set for any engine, and for a value that
    is invalid for all engines with this key.
    """
    if isinstance(choice, ChapterEngine):
        return choice
    if not isinstance(choice, dict):
        raise _join_errors([_failure(_ChapterKeys, choice)])
    by_engine: dict[str, dict[str, Any]] = {}
    refusals: dict[str, ValidationError] = {}
    errors: list[ValidationError] = []
    for key, setting in choice.items():
        specs = _specs_with_chapter_key(key)
        if not specs:
            errors.append(_failure(_ChapterKeys, {key: setting}))
        parsed_by_engine = {spec.name: _validate(spec, {key: setting}) for spec in specs}
        failures = {
            engine_name: parsed_setting
            for engine_name, parsed_setting in parsed_by_engine.items()
            if isinstance(parsed_setting, ValidationError)
        }
        if setting is None:
            continue  # same as not set
        if specs and len(failures) == len(specs):
            errors.append(next(iter(failures.values())))
        refusals |= failures
        for name, parsed in parsed_by_engine.items():
            if not isinstance(parsed, ValidationError):
                by_engine.setdefault(name, {})[key] = getattr(parsed, key)
    if errors:
        raise _join_errors(errors)
    return ChapterEngine(frozenset(choice), by_engine, refusals)


def name_of(choice: Any) -> Any:
    """The engine name in a manifest's `engine`, not validated yet."""
    name = choice.get("name") if isinstance(choice, dict) else choice
    return DEFAULT_ENGINE.name if name is None else name


def complete_names(manifest: Any) -> Any:
    """A manifest with the book's engine name added to engine settings of speakers without one.

    Its values are not validated yet; anything that is no manifest is returned unchanged.
    """
    if not isinstance(manifest, dict) or not isinstance(manifest.get("speakers"), dict):
        return manifest
    name = name_of(manifest.get("engine"))
    if not isinstance(name, str) or not ENGINES.knows(name):
        return manifest
    speakers = dict(manifest["speakers"])
    for speaker, settings in speakers.items():
        speaker_engine = settings.get("engine") if isinstance(settings, dict) else None
        if isinstance(speaker_engine, dict) and "name" not in speaker_engine:
            speakers[speaker] = {**settings, "engine": {"name": name, **speaker_engine}}
    return {**manifest, "speakers": speakers}


def voices_of_extensions(settings: Mapping[str, Any], own_keys: Collection[str]) -> dict[str, Any]:
    """Voices that a speaker has of other packages' engines, by the engine's name.

    `own_keys` are the keys of every speaker. Raises ValidationError, ValueError.
    """
    voices: dict[str, Strict] = {}
    for name in settings.keys() - own_keys:
        model = _spec(name).voice if ENGINES.knows(name) else None
        if model is not None:
            try:
                voices[name] = model.model_validate(settings[name])
            except ValidationError as error:
                raise _join_errors([error], (name,)) from None
    return voices


def check_chapters(chapters: Sequence[ChapterEngine], engines: Collection[str]) -> None:
    """Raises ValidationError for chapter settings that are invalid for one of these engines."""
    errors = [
        _join_errors([error], ("chapters", number, "engine"))
        for number, chapter in enumerate(chapters)
        for engine, error in chapter.errors.items()
        if engine in engines
    ]
    if errors:
        raise _join_errors(errors)


def _failure(model: type[Strict], invalid_input: Any) -> ValidationError:
    try:
        model.model_validate(invalid_input)
    except ValidationError as error:
        return error
    raise AssertionError(f"{model.__name__} takes {invalid_input!r}")


def _chapter_field(key: str) -> Any:
    """The type of a key that chapters can set, as a union over engines; for the schema."""
    fields = [spec.settings.model_fields[key] for spec in _specs_with_chapter_key(key)]
    types = [Annotated[model_field.annotation, *model_field.metadata] for model_field in fields]
    return reduce(or_, types) | None


_CHAPTER_KEYS = dict.fromkeys(key for spec in ENGINES.values() for key in spec.chapter_settings)

if TYPE_CHECKING:
    EngineChoice = EngineSettings
    ChapterEngineChoice = ChapterEngine
    _ChapterKeys = Strict
else:
    EngineChoice = Annotated[
        Union[Literal[tuple(ENGINES)], *(spec.settings for spec in ENGINES.values())],
        WrapValidator(_parse_engine),
    ]
    _ChapterKeys = create_model(
        "ChapterEngineSettings",
        __doc__="Settings of a chapter, as in `engine`, for each engine that has them.",
        __base__=Strict,
        **{
            key: (_chapter_field(key), Field(None, description="As in `engine`."))
            for key in _CHAPTER_KEYS
        },
    )
    ChapterEngineChoice = Annotated[_ChapterKeys, WrapValidator(_parse_chapter_engine)]
