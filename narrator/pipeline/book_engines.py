"""The engines of a book, made from its settings, here or on a cluster.

Starts none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

from narrator import files
from narrator.decoding import decode_value
from narrator.engines import (
    Engine,
    LanguageSupport,
    has_known_identity,
    ignore_message,
    unique_engines,
)
from narrator.engines.cluster import codec, credentials
from narrator.engines.cluster.credentials import ClusterPlace
from narrator.engines.cluster.engine import ClusterEngine
from narrator.engines.registry import ENGINES
from narrator.engines.spec import EngineContext, EngineSettings, EngineSpec
from narrator.errors import EngineUnavailable, UsageError
from narrator.pipeline.manuscript import Manuscript
from narrator.project.preferences import FROM_PREFERENCES, ClusterOptions
from narrator.project.project import Project


def is_available(spec: EngineSpec) -> bool:
    """True if an engine's packages are installed, so that it knows the languages it speaks."""
    try:
        spec.speaks("en")
    except EngineUnavailable:
        return False
    return True


@dataclass(frozen=True, slots=True)
class BookEngines:
    """The engines that speak a book."""

    main: Engine
    """The engine of all speakers that have none of their own."""
    by_speaker: Mapping[str, Engine] = field(default_factory=dict)
    """The other engines, by speaker."""
    settings: Sequence[tuple[EngineSettings, Engine]] = ()
    """Each engine with the settings that it was made from."""

    def of(self, speaker: str) -> Engine:
        return self.by_speaker.get(speaker, self.main)

    @property
    def all(self) -> Sequence[Engine]:
        return unique_engines({"": self.main, **self.by_speaker})


def settings_of(project: Project) -> Mapping[str, EngineSettings]:
    """The engine settings of each speaker in the cast."""
    return {name: project.engine_of(name) for name in project.speakers}


def specs_of(project: Project) -> Mapping[str, EngineSpec]:
    """The engine spec of each speaker, available before any engine is made."""
    return {name: ENGINES[settings.name] for name, settings in settings_of(project).items()}


def missing_models(
    project: Project, on_message: Callable[[str], None] = ignore_message
) -> list[str]:
    """Lists the packages and models that the book's engines lack on this machine.

    Each entry names the command that fetches it. Engines that run elsewhere lack nothing.
    """
    notes: list[str] = []
    for settings in settings_of(project).values():
        spec = ENGINES[settings.name]
        if spec.model is None:
            continue
        if missing_packages := spec.missing_packages(settings):
            notes.append(missing_packages)
        models = spec.model.find(settings, project.root, on_message)
        notes += [model.note for _, model in models if model.path is None]
    return list(dict.fromkeys(notes))


def make_main_engine(
    project: Project,
    on_message: Callable[[str], None] = ignore_message,
    cluster: ClusterOptions = FROM_PREFERENCES,
) -> Engine:
    """Make the engine of all speakers that have none of their own.

    `on_message` hears of steps that take long. Raises EngineUnavailable.
    """
    return _make_engine(project, project.engine, on_message, cluster)


def engines_for(
    project: Project,
    cluster: ClusterOptions = FROM_PREFERENCES,
    *,
    on_message: Callable[[str], None] = ignore_message,
    existing_engines: Sequence[tuple[EngineSettings, Engine]] = (),
) -> BookEngines:
    """The engines that a render would use, on this machine or a cluster.

    Speakers share an engine if their settings differ only in parameters sent with each request. The
    engines in `existing_engines`, with their settings, are shared in the same way. Raises
    EngineUnavailable.
    """
    settings = project.engine
    main_engine = _find_equal_engine(existing_engines, settings)
    if main_engine is None:
        main_engine = make_main_engine(project, on_message, cluster)
    engines_by_settings, speaker_engines = [(settings, main_engine)], dict[str, Engine]()
    for name, speaker in project.speakers.items():
        if speaker.engine is None:
            continue
        settings = project.engine_of(name)
        engine = _find_equal_engine((*engines_by_settings, *existing_engines), settings)
        if engine is None:
            engine = _make_engine(project, settings, on_message, cluster)
        engines_by_settings.append((settings, engine))
        if engine is not main_engine:
            speaker_engines[name] = engine
    return BookEngines(main_engine, speaker_engines, engines_by_settings)


def _find_equal_engine(
    existing_engines: Sequence[tuple[EngineSettings, Engine]], settings: EngineSettings
) -> Engine | None:
    """The engine among `existing_engines` that these settings would make again."""
    for engine_settings, engine in existing_engines:
        request_parameters = {*engine.sound_parameters}
        if type(engine_settings) is type(settings) and (
            engine_settings.model_dump(exclude=request_parameters)
            == settings.model_dump(exclude=request_parameters)
        ):  # fmt: skip
            return engine
    return None


def _make_engine(
    project: Project,
    settings: EngineSettings,
    on_message: Callable[[str], None],
    cluster: ClusterOptions,
) -> Engine:
    """Make an engine, with the identity record of its last run here. Raises EngineUnavailable."""
    spec = ENGINES[settings.name]
    load_records = cache(lambda: _load_identity_records(project, spec.name, on_message) or [{}])

    def make_engine(load_identity_record: Callable[[], object]) -> Engine:
        context = EngineContext(project.root, project.build / "voices", load_identity_record)
        return spec.make(settings, context, on_message)

    engine = make_engine(lambda: load_records()[0])
    # if several engines have this name, use the record that fits the settings
    for record_number in range(1, 0 if has_known_identity(engine) else len(load_records())):
        if has_known_identity(
            candidate := make_engine(partial(load_records().__getitem__, record_number))
        ):
            engine = candidate
            break
    # a draft is fast, so it runs on a cluster only if an address is given explicitly
    may_use_cluster = spec.model is not None or cluster.address
    cluster_place = cluster.place() if spec.runs_on_clusters and may_use_cluster else None
    return (
        engine
        if cluster_place is None
        else _carry_to_cluster(engine, make_engine, spec, settings, cluster_place, on_message)
    )


def _carry_to_cluster(
    engine: Engine,
    make_engine: Callable[[Callable[[], object]], Engine],
    spec: EngineSpec,
    settings: EngineSettings,
    cluster_place: ClusterPlace,
    on_message: Callable[[str], None],
) -> Engine:
    """Wrap an engine so that a cluster speaks with it.

    If the model is not on this machine, the cluster's identity record is used, as far as one
    answers. Raises EngineUnavailable if Dask is not installed.
    """
    credentials.require_dask()
    from narrator.engines.cluster.discovery import find_identity_record

    # parameters that casting leaves out are set with the engine
    constant_parameters = {"seed", *engine.casting_parameters} & {*engine.sound_parameters}
    remote_settings = codec.settings_to_send(settings, spec, constant_parameters)
    if not has_known_identity(engine):
        try:
            identity_record = find_identity_record(cluster_place, remote_settings)
            engine = make_engine(lambda: identity_record)
        except EngineUnavailable as error:
            on_message(str(error))
    return ClusterEngine(engine, remote_settings, cluster_place)


def parse_typed_settings(
    manuscript: Manuscript, chunks: Collection[str], typed_settings: Sequence[str]
) -> dict[str, Any]:
    """Parse settings that were typed for the engines that speak the chunks with these ids.

    If the ids match no chunk, all of the book's engines are tried. The result is that of
    `EngineSpec.parse_overrides`. Raises UsageError.
    """
    specs = specs_of(manuscript.project)
    speaker_names = [
        utterance.chunk.speaker for utterance in manuscript.spoken if utterance.id in chunks
    ] or list(specs)
    specs_by_name = {specs[name].name: specs[name] for name in speaker_names}
    first_error: UsageError | None = None
    for spec in specs_by_name.values():
        try:
            return spec.parse_overrides(typed_settings)
        except UsageError as error:
            first_error = first_error or error
    assert first_error is not None
    raise first_error


def describe_engines(engines: Mapping[str, LanguageSupport]) -> str:
    """Lists the engines with their speakers: "voxcpm2: narrator, bob; draft: Ada"."""
    names_by_engine: dict[int, list[str]] = {}
    for name, engine in engines.items():
        names_by_engine.setdefault(id(engine), []).append(name)
    return "; ".join(
        f"{engines[names[0]].name}: {', '.join(names)}" for names in names_by_engine.values()
    )


def identity_path(project: Project) -> Path:
    """The file of the engines' identity records at the last render of this project.

    With it, a finished book is exported again on any machine without its model. It holds an object,
    or a list of several.
    """
    return project.build / f"engine-{project.stem}.json"


def _load_identity_records(
    project: Project, engine: str, on_message: Callable[[str], None]
) -> list[Mapping[str, Any]]:
    """The identity records that engines of this name left at the last render."""
    path = identity_path(project)
    try:
        saved_records = files.read_json(path)
        rows = saved_records if isinstance(saved_records, list) else [saved_records]
        records = decode_value(list[dict[str, Any]], rows)
    except OSError:  # never rendered here
        return []
    except ValueError as error:
        on_message(f"{path}: {error}: takes are known again once the model is here")
        return []
    return [record for record in records if record.get("name", engine) == engine]
