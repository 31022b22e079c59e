"""The engines of a book: what speaks whom, made from its settings, here or on a cluster.

Starts none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

from narrator import files
from narrator.engines import Engine, distinct, is_known, quiet
from narrator.engines.cluster import credentials, parcels
from narrator.engines.cluster.credentials import ClusterPlace
from narrator.engines.cluster.engine import ClusterEngine
from narrator.engines.registry import ENGINES
from narrator.engines.spec import EngineContext, EngineSettings, EngineSpec
from narrator.errors import EngineUnavailable, UsageError
from narrator.pipeline.manuscript import Manuscript, Speaks
from narrator.project.preferences import AS_SET, ClusterWish
from narrator.project.project import Project


def is_here(kind: EngineSpec) -> bool:
    """Whether an engine can be asked which languages it speaks."""
    try:
        kind.speaks("en")
    except EngineUnavailable:
        return False
    return True


@dataclass(frozen=True, slots=True)
class BookEngines:
    """What speaks a book."""

    main: Engine
    """What speaks all that has no engine of its own."""
    own: Mapping[str, Engine] = field(default_factory=dict)
    """By speaker, of those that have another."""
    settings: Sequence[tuple[EngineSettings, Engine]] = ()
    """Of each engine, what it was made with."""

    def of(self, speaker: str) -> Engine:
        return self.own.get(speaker, self.main)

    @property
    def all(self) -> Sequence[Engine]:
        return distinct({"": self.main, **self.own})


def settings_of(project: Project, *, draft: bool) -> Mapping[str, EngineSettings]:
    """What each of the cast is spoken by."""
    if draft:
        return dict.fromkeys(project.speakers, ENGINES["draft"].settings())
    return {name: project.engine_of(name) for name in project.speakers}


def kinds_of(project: Project, *, draft: bool) -> Mapping[str, EngineSpec]:
    """The same, as far as it is known before an engine is made."""
    return {name: ENGINES[one.name] for name, one in settings_of(project, draft=draft).items()}


def absent_models(
    project: Project, *, draft: bool, tell: Callable[[str], None] = quiet
) -> list[str]:
    """What is missing on this machine for the book's engines to speak here, each with the command
    that fetches it. Engines that speak elsewhere miss nothing."""
    notes: list[str] = []
    for settings in settings_of(project, draft=draft).values():
        kind = ENGINES[settings.name]
        if kind.model is None:
            continue
        if lacking := kind.missing_packages(settings):
            notes.append(lacking)
        models = kind.model.find(settings, project.root, tell)
        notes += [model.note for _, model in models if model.path is None]
    return list(dict.fromkeys(notes))


def engine_for(
    project: Project,
    *,
    draft: bool,
    tell: Callable[[str], None] = quiet,
    wish: ClusterWish = AS_SET,
) -> Engine:
    """The engine of all that has none of its own; what takes long is told. Raises
    EngineUnavailable."""
    return _made(project, _main_settings(project, draft), tell, wish)


def engines_for(
    project: Project,
    *,
    draft: bool,
    tell: Callable[[str], None] = quiet,
    known: Sequence[tuple[EngineSettings, Engine]] = (),
    wish: ClusterWish = AS_SET,
) -> BookEngines:
    """The engines that a render would use, on this machine or a cluster's. Raises
    EngineUnavailable.

    Speakers whose engines differ in nothing but what goes with each request share one, as do those
    that are `known` with their settings.
    """
    settings = _main_settings(project, draft)
    main = _alike(known, settings)
    if main is None:
        main = engine_for(project, draft=draft, tell=tell, wish=wish)
    made, own = [(settings, main)], dict[str, Engine]()
    for name, speaker in project.speakers.items() if not draft else ():
        if speaker.engine is None:
            continue
        settings = project.engine_of(name)
        engine = _alike((*made, *known), settings)
        if engine is None:
            engine = _made(project, settings, tell, wish)
        made.append((settings, engine))
        if engine is not main:
            own[name] = engine
    return BookEngines(main, own, made)


def _main_settings(project: Project, draft: bool) -> EngineSettings:
    return ENGINES["draft"].settings() if draft else project.engine


def _alike(
    known: Sequence[tuple[EngineSettings, Engine]], settings: EngineSettings
) -> Engine | None:
    """The engine that these settings would make again."""
    for others, engine in known:
        went_with_requests = {*engine.sound_parameters}
        if type(others) is type(settings) and (
            others.model_dump(exclude=went_with_requests)
            == settings.model_dump(exclude=went_with_requests)
        ):  # fmt: skip
            return engine
    return None


def _made(
    project: Project, settings: EngineSettings, tell: Callable[[str], None], wish: ClusterWish
) -> Engine:
    """An engine, with what it gave to be remembered when it spoke here last. Raises
    EngineUnavailable."""
    kind = ENGINES[settings.name]
    rows = cache(lambda: _remembered(project, kind.name, tell) or [{}])

    def made(memory: Callable[[], object]) -> Engine:
        home = EngineContext(project.root, project.build / "voices", memory)
        return kind.make(settings, home, tell)

    engine = made(lambda: rows()[0])
    # of several that are called so, the one that its settings know
    for number in range(1, 0 if is_known(engine) else len(rows())):
        if is_known(other := made(partial(rows().__getitem__, number))):
            engine = other
            break
    # a draft is spoken in no time: it travels where it is told to
    is_worth_it = kind.model is not None or wish.address
    place = wish.place() if kind.runs_on_clusters and is_worth_it else None
    return engine if place is None else _carried(engine, made, kind, settings, place, tell)


def _carried(
    engine: Engine,
    made: Callable[[Callable[[], object]], Engine],
    kind: EngineSpec,
    settings: EngineSettings,
    place: ClusterPlace,
    tell: Callable[[str], None],
) -> Engine:
    """An engine that a cluster speaks with. One whose model is not here is what it is there, as far
    as anybody answers. Raises EngineUnavailable where Dask is not installed."""
    credentials.require()
    from narrator.engines.cluster.meeting import memory_there

    # what a casting does not ask for is as the engine was set
    always = {"seed", *engine.casting_parameters} & {*engine.sound_parameters}
    there = parcels.of_settings(settings, kind, always)
    if not is_known(engine):
        try:
            memory = memory_there(place, there)
            engine = made(lambda: memory)
        except EngineUnavailable as error:
            tell(str(error))
    return ClusterEngine(engine, there, place)


def typed(
    manuscript: Manuscript, chunks: Collection[str], written: Sequence[str], *, draft: bool
) -> dict[str, Any]:
    """Settings of the engines that speak chunks, by their ids, as `EngineSpec.parse_overrides`
    reads them; of all the book's engines where chunks are named otherwise. Raises UsageError."""
    kinds = kinds_of(manuscript.project, draft=draft)
    saying = [one.chunk.speaker for one in manuscript.spoken if one.id in chunks] or list(kinds)
    asked = {kinds[name].name: kinds[name] for name in saying}
    wrong: UsageError | None = None
    for kind in asked.values():
        try:
            return kind.parse_overrides(written)
        except UsageError as error:
            wrong = wrong or error
    assert wrong is not None
    raise wrong


def engines_in_words(engines: Mapping[str, Speaks]) -> str:
    """What speaks, by speaker, each with whom it speaks: "voxcpm2: narrator, bob; draft: Ada"."""
    found: dict[int, list[str]] = {}
    for name, engine in engines.items():
        found.setdefault(id(engine), []).append(name)
    return "; ".join(f"{engines[names[0]].name}: {', '.join(names)}" for names in found.values())


def identity_path(project: Project) -> Path:
    """What the weights of its engines were when this project was last rendered: a finished book
    needs no model to be exported again, on any machine. An object, or a list of several."""
    return project.build / f"engine-{project.stem}.json"


def _remembered(
    project: Project, engine: str, tell: Callable[[str], None]
) -> list[Mapping[str, Any]]:
    """What engines of a name gave to be remembered."""
    path = identity_path(project)
    found: object = {}
    try:
        found = files.read_json(path)
    except files.Altered as error:
        tell(f"{path}: {error}: takes are known again once the model is here")
    except OSError:
        pass  # never rendered here
    rows = found if isinstance(found, list) else [found]
    return [row for row in rows if isinstance(row, Mapping) and row.get("name", engine) == engine]
