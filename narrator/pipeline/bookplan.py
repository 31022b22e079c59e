"""The plan of a book: its steps, what of them is there, and why the rest is not.

Starts no engine, and writes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import takewhile
from pathlib import Path
from types import MappingProxyType
from typing import Any

from narrator import files
from narrator.cast import presets, references
from narrator.cast.references import Voices
from narrator.delivery import demands, layout
from narrator.delivery.folders import Folders
from narrator.engines import Engine, distinct, is_known, quiet
from narrator.engines.cluster import credentials, parcels
from narrator.engines.cluster.credentials import ClusterPlace
from narrator.engines.cluster.engine import ClusterEngine
from narrator.engines.kind import EngineHome, EngineKind, EngineSettings
from narrator.engines.registry import ENGINES
from narrator.engines.voice import Cast
from narrator.errors import (
    EngineUnavailable,
    ManifestError,
    Problem,
    UsageError,
    UserError,
    nearest,
)
from narrator.importers.doubts import Shape, doubts
from narrator.importers.project import waiting
from narrator.pipeline.manuscript import (
    Manuscript,
    Speaks,
    main_language,
    oddities,
    spoken_by,
    unspoken,
)
from narrator.project.preferences import AS_SET, ClusterWish
from narrator.project.project import Project
from narrator.speech.plan import (
    ChainRules,
    EngineParameters,
    Reason,
    Step,
    Why,
    link,
    parameters_of,
    survey,
)
from narrator.speech.store import Pin, Store
from narrator.speech.takes import Takes
from narrator.text.lines import Chapter
from narrator.text.sentences import primary


def check(manuscript: Manuscript, tell: Callable[[str], None]) -> Manuscript:
    """All that a render would refuse and that no engine is needed to see; what a render would say
    of the manuscript.

    What is odd about text, languages or a voice's clip is told. Raises ManifestError (output),
    UserError (clips).
    """
    project = manuscript.project
    draft, drafts = ENGINES["draft"], kinds_of(project, draft=True)
    kinds = kinds_of(project, draft=False)
    texts = (*oddities(manuscript, draft.spells), *doubts(_shapes(manuscript)))
    for odd in (*project.remarks, *texts, *waiting(project.path)):
        tell(str(odd))
    if kinds != drafts:
        for lacking in _lacking(manuscript, kinds, "`narrator render`"):
            tell(str(lacking))
    for lacking in _lacking(manuscript, drafts, "`narrator render --draft`"):
        tell(str(lacking))
    shapes = demands.shapes(project, manuscript.spoken)
    for unasked in not_asked(manuscript, draft=False):
        tell(str(unasked))
    rate = _rate_before(manuscript)
    demands.check_output(project, rate, shapes)
    if cost := stereo_cost(manuscript, rate):
        tell(cost)
    if refused := list(_refused(manuscript)):
        raise ManifestError(refused)
    problems: list[Problem] = []
    for voice in manuscript.cast.values():
        try:
            presets.reference_of(voice, project.manifest.language, tell)
        except UserError as error:
            problems += error.problems
    if problems:
        raise UserError(problems)
    return spoken_by(manuscript, _asked(kinds))


def _refused(manuscript: Manuscript) -> Iterator[Problem]:
    """What keeps engines from speaking their parts of the cast."""
    project = manuscript.project
    for settings, names in _parts(project).items():
        voices = {name: manuscript.cast[name] for name in names}
        others = all(project.speakers[name].engine is not None for name in names)
        loc = ("speakers", project.voice_of(names[0]), "engine") if others else ("engine",)
        for said in ENGINES[settings.name].refused(settings, voices):
            yield Problem(project.path, project.line(*loc), said)


def _parts(project: Project) -> Mapping[EngineSettings, Sequence[str]]:
    """Who of the cast is spoken by engines of the same settings."""
    found: dict[EngineSettings, list[str]] = {}
    for name, settings in settings_of(project, draft=False).items():
        found.setdefault(settings, []).append(name)
    return found


def _rate_before(manuscript: Manuscript) -> int:
    """Hz of a book, as long as no model says otherwise."""
    settings = settings_of(manuscript.project, draft=False)
    saying = {one.chunk.speaker for one in manuscript.spoken} or settings.keys()
    return max(ENGINES[settings[name].name].sample_rate(settings[name]) for name in saying)


def _is_here(kind: EngineKind) -> bool:
    """Whether an engine can be asked which languages it speaks."""
    try:
        kind.speaks("en")
    except EngineUnavailable:
        return False
    return True


@dataclass(frozen=True, slots=True)
class _Unknown:
    """An engine that cannot be asked here: it may speak anything."""

    name: str

    def speaks(self, language: str) -> bool:
        return True


def _asked(kinds: Mapping[str, EngineKind]) -> Mapping[str, Speaks]:
    here = {kind.name: kind for kind in kinds.values() if _is_here(kind)}
    return {name: here.get(kind.name, _Unknown(kind.name)) for name, kind in kinds.items()}


def _lacking(
    manuscript: Manuscript, kinds: Mapping[str, EngineKind], way: str
) -> Iterator[Problem]:
    """What engines, by speaker, would leave out or refuse for its language; `way` asks them."""
    main, asked = main_language(manuscript), _asked(kinds)
    saying = {u.chunk.speaker for u in manuscript.spoken if primary(u.language) == primary(main)}
    for name in dict.fromkeys(asked[s].name for s in saying if not asked[s].speaks(main)):
        yield Problem(
            manuscript.project.path,
            manuscript.project.line("language"),
            f"{way} will refuse this book: its main language, “{main}”, is none of the engine's "
            f"({name})",
        )
    for problem in unspoken(spoken_by(manuscript, asked)):
        yield replace(problem, message=f"{way}: {problem.message}")


def not_asked(manuscript: Manuscript, *, draft: bool) -> Iterator[Problem]:
    """What the manifest asks for that its engines cannot be asked, each once, with what to do."""
    project, parts = manuscript.project, _parts(manuscript.project)
    if draft and project.has_draft:  # a draft is not what the manifest speaks of
        return
    cannot = {settings: ENGINES[settings.name].unasked(settings) for settings in parts}
    found: dict[str, Problem] = {}
    for settings, names in parts.items():
        for name, wish in _wishes(manuscript, settings, names).items():
            if said := _why_not(settings, name, cannot[settings]):
                found.setdefault(f"{wish.said}: {said}", wish.problem(project, said))
    for name, wish in _chapters_wishes(project).items():
        why = [_why_not(settings, name, cannot[settings]) for settings in parts]
        if (said := why[0]) and all(why):
            found.setdefault(f"{wish.said}: {said}", wish.problem(project, said))
    yield from found.values()


def _why_not(settings: EngineSettings, name: str, cannot: Mapping[str, str]) -> str | None:
    """Why an engine cannot be asked for something, and what is done or to do; None where it can."""
    if name in cannot or "." in name or name in _OF_VOICES:
        return cannot.get(name)
    if name in type(settings).model_fields:
        return None
    others = [kind.name for kind in ENGINES.values() if name in kind.settings.model_fields]
    has = "has" if len(others) == 1 else "have"
    return (
        f"the engine {settings.name} has no such setting, and goes without; "
        f"{' and '.join(others)} {has} it"
    )


_OF_VOICES = ("style", "reference", "description")


@dataclass(frozen=True, slots=True)
class _Wish:
    """What a manifest sets, as it is spelled there, and its first line where that is known."""

    said: str
    line: int | None

    def problem(self, project: Project, why: str) -> Problem:
        return Problem(project.path, self.line, f"{self.said}: {why}")


def _wishes(
    manuscript: Manuscript, settings: EngineSettings, names: Sequence[str]
) -> dict[str, _Wish]:
    """What a manifest sets of an engine, by the names of `EngineKind.unasked`, for its part of the
    cast."""
    project = manuscript.project
    found: dict[str, _Wish] = {}
    if settings.name == project.engine.name:
        for name in sorted(project.engine.model_fields_set - {"name"}):
            found[name] = _Wish(f"engine.{name}", project.line("engine", name))
    for speaker in names:
        own, loc = project.speakers[speaker].engine, ("speakers", project.voice_of(speaker))
        for name in sorted(own.model_fields_set - {"name"}) if own else ():
            said = f"speakers.{loc[1]}.engine.{name}"
            found.setdefault(name, _Wish(said, project.line(*loc, "engine", name)))
    for speaker in names:
        voice = manuscript.cast[speaker]
        for name in _OF_VOICES:
            if getattr(voice, name):
                line = project.line("speakers", voice.speaker)
                found.setdefault(name, _Wish(name, line))
    own_chunks = [one for one in manuscript.spoken if one.chunk.speaker in names]
    if any(one.chunk.style for one in own_chunks):
        found.setdefault("style", _Wish("style", None))
    spoken = {(one.chapter, one.chunk.speaker) for one in own_chunks}
    modes = {place: _chain_rules(project, *place).mode for place in spoken}
    for place in sorted(modes):
        name = f"chain.{modes[place]}" if _sets_mode(project, *place) else "chain.mode"
        found.setdefault(name, _Wish(name, project.line("chain", "mode")))
    return found


def _chapters_wishes(project: Project) -> dict[str, _Wish]:
    """What chapters set of engines; what some engine of the book can be asked is for that one."""
    found: dict[str, _Wish] = {}
    for number in project.numbered:
        loc = project.chapter_loc(number)
        for name in sorted(project.chapters[number].engine.model_fields_set):
            found.setdefault(name, _Wish(f"engine.{name}", project.line(*loc, "engine", name)))
    return found


def _sets_mode(project: Project, chapter: int, speaker: str) -> bool:
    """Whether the author chose how takes carry over there."""
    own = project.chapters[chapter].chain.mode or project.speakers[speaker].chain.mode
    return own is not None or "mode" in project.manifest.chain.model_fields_set


def _shapes(manuscript: Manuscript) -> list[Shape]:
    """The chapters that the manifest lists, as a listener meets them."""
    seconds = dict.fromkeys(range(len(manuscript.chapters)), 0.0)
    for one in manuscript.spoken:
        seconds[one.chapter] += 0.0 if one.with_before else one.expected
    shapes = []
    for number in manuscript.project.numbered:
        chapter = manuscript.chapters[number]
        lines = (line for scene in chapter.scenes for line in scene.lines)
        first = takewhile(lambda line: line.heading, lines)
        headings = sum(not (line.goes_on or line.with_before) for line in first)
        shapes.append(Shape(chapter.title, seconds[number], headings))
    return shapes


def stereo_cost(manuscript: Manuscript, rate: int) -> str | None:
    """What it costs that music makes a book stereo, in words; None where nothing does.

    Raises ManifestError, StorageError.
    """
    project = manuscript.project
    channels = layout.channels_of(project, [one.chunk for one in manuscript.spoken])
    seconds = demands.seconds_of(project, demands.shapes(project, manuscript.spoken))
    return demands.stereo_cost(project, rate, channels, seconds)


# -- engines ---------------------------------------------------------------------------------------


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
        return dict.fromkeys(project.speakers, ENGINES["draft"].own(project.engine))
    return {name: project.engine_of(name) for name in project.speakers}


def kinds_of(project: Project, *, draft: bool) -> Mapping[str, EngineKind]:
    """The same, as far as it is known before an engine is made."""
    return {name: ENGINES[one.name] for name, one in settings_of(project, draft=draft).items()}


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
    return ENGINES["draft" if draft else project.engine.name].own(project.engine)


def _alike(
    known: Sequence[tuple[EngineSettings, Engine]], settings: EngineSettings
) -> Engine | None:
    """The engine that these settings would make again."""
    for others, engine in known:
        went_with_requests = {*engine.uses}
        if type(others) is type(settings) and others.name == settings.name and (
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
        home = EngineHome(project.root, project.build / "voices", memory)
        return kind.make(settings, home, tell)

    engine = made(lambda: rows()[0])
    # of several that are called so, the one that its settings know
    for number in range(1, 0 if is_known(engine) else len(rows())):
        if is_known(other := made(partial(rows().__getitem__, number))):
            engine = other
            break
    # a draft is spoken in no time: it travels where it is told to
    place = wish.place() if kind.travels and (wish.address or kind.model is not None) else None
    return engine if place is None else _carried(engine, made, kind, settings, place, tell)


def _carried(
    engine: Engine,
    made: Callable[[Callable[[], object]], Engine],
    kind: EngineKind,
    settings: EngineSettings,
    place: ClusterPlace,
    tell: Callable[[str], None],
) -> Engine:
    """An engine that a cluster speaks with. One whose model is not here is what it is there, as far
    as anybody answers. Raises EngineUnavailable where Dask is not installed."""
    credentials.require()
    from narrator.engines.cluster.meeting import memory_there

    there = parcels.of_settings(settings, kind, engine.uses)
    if not is_known(engine):
        try:
            memory = memory_there(kind.name, there, place)
            engine = made(lambda: memory)
        except EngineUnavailable as error:
            tell(str(error))
    return ClusterEngine(engine, there, place)


def typed(
    manuscript: Manuscript, chunks: Collection[str], written: Sequence[str], *, draft: bool
) -> dict[str, Any]:
    """Settings of the engines that speak chunks, by their ids, as `EngineKind.typed`; of all the
    book's engines where chunks are named otherwise. Raises UsageError."""
    kinds = kinds_of(manuscript.project, draft=draft)
    saying = [one.chunk.speaker for one in manuscript.spoken if one.id in chunks] or list(kinds)
    asked = {kinds[name].name: kinds[name] for name in saying}
    wrong: UsageError | None = None
    for kind in asked.values():
        try:
            return kind.typed(written)
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


@dataclass(frozen=True, slots=True)
class Selection:
    """What of a book a command is about; nothing chosen means all of it."""

    chapters: frozenset[int] = frozenset()
    """Counted from 0."""
    speakers: frozenset[str] = frozenset()
    force: bool = False

    @property
    def whole(self) -> bool:
        return not self.chapters and not self.speakers

    def __contains__(self, step: Step) -> bool:
        return (not self.chapters or step.chapter in self.chapters) and (
            not self.speakers or step.chunk.speaker in self.speakers
        )


def select(
    manuscript: Manuscript, chapters: Sequence[str], speakers: Sequence[str], force: bool
) -> Selection:
    """Chapters by number ("3"), range ("2-5") or title, speakers by name. Raises UsageError."""
    titles = [chapter.title for chapter in manuscript.chapters]
    numbers: set[int] = set()
    for name in chapters:
        numbers |= _numbers(name, titles)
    for name in speakers:
        if name not in manuscript.cast:
            guess = nearest(name, list(manuscript.cast))
            hint = f"did you mean '{guess}'?" if guess else f"cast: {', '.join(manuscript.cast)}"
            raise UsageError(f"no speaker '{name}'; {hint}")
    return Selection(frozenset(numbers), frozenset(speakers), force)


def _numbers(name: str, titles: Sequence[str]) -> set[int]:
    """Chapters, counted from 0, that a name stands for. Raises UsageError."""
    folded = [title.casefold() for title in titles]
    if name.casefold() in folded:
        return {folded.index(name.casefold())}
    if span := re.fullmatch(r"(\d{1,5})(?:-(\d{1,5}))?", name):
        first, last = int(span[1]), int(span[2] or span[1])
        if 1 <= first <= last <= len(titles):
            return set(range(first - 1, last))
    inside = [number for number, title in enumerate(folded) if name.casefold() in title]
    if len(inside) == 1 and len(name) > 2:
        return set(inside)
    guess = nearest(name, titles)
    hint = f"give 1 to {len(titles)}, a range as 2-3, or a title; for several, --chapter again"
    raise UsageError(f"no chapter '{name}'; " + (f"did you mean '{guess}'?" if guess else hint))


@dataclass(frozen=True, slots=True)
class BookPlan:
    """The steps of a book, what of them is there, and why the rest is not."""

    manuscript: Manuscript
    engine: Engine
    """What the book is spoken by, but for speakers that have an engine of their own."""
    engines: Mapping[str, Engine]
    """By speaker."""
    takes: Takes
    steps: tuple[Step, ...]
    why: Mapping[str, Why]
    selection: Selection
    voices: Voices
    pins: Mapping[str, Pin]
    """By the take that they hold."""

    @property
    def project(self) -> Project:
        return self.manuscript.project

    @property
    def chapters(self) -> tuple[Chapter, ...]:
        return self.manuscript.chapters

    @property
    def cast(self) -> Cast:
        return self.manuscript.cast

    @property
    def store(self) -> Store:
        return self.takes.store

    @property
    def sample_rate(self) -> int:
        """Hz of what is made of it: the highest that any of its engines speaks in."""
        return _rate_of(self.engines, self.manuscript)

    @property
    def rates(self) -> Mapping[str, int]:
        """Hz that each of the cast is spoken in."""
        return {name: engine.sample_rate for name, engine in self.engines.items()}

    @property
    def speaking(self) -> Sequence[Engine]:
        """The engines that have anything to say."""
        return distinct(_saying(self.engines, self.manuscript))

    @property
    def engine_names(self) -> str:
        """Of those: "voxcpm2", or "voxcpm2, draft"."""
        return ", ".join(dict.fromkeys(engine.name for engine in self.speaking))

    @property
    def folders(self) -> Folders:
        """A draft of a book that has a real engine has folders of its own."""
        return Folders(self.project, self.project.has_draft and _are_draft(self.engines))

    @property
    def todo(self) -> tuple[Step, ...]:
        """Selected steps to render, one for each key."""
        found = {s.key: s for s in self.steps if s in self.selection and self.why[s.key].render}
        return tuple(found.values())

    @property
    def missing(self) -> list[Step]:
        """Steps that have no take to deliver."""
        return [step for step in self.steps if self.takes.deliverable(step) is None]

    @property
    def doubtful(self) -> list[Step]:
        """Steps whose takes are the least bad of what was said, in reading order."""
        return [step for step in self.steps if self.takes.is_doubtful(step)]

    @property
    def is_pinned_otherwise(self) -> bool:
        """Whether pins came or went since it was planned. Raises StorageError."""
        return _by_take(self.store) != self.pins

    @property
    def lost(self) -> tuple[Pin, ...]:
        """Pins of this manifest and its engines whose text is no longer in the book as it was."""
        held = {step.key for step in self.steps if step.pinned}
        names = {engine.name for engine in distinct(self.engines)}

        def is_ours(pin: Pin) -> bool:
            engine = self.engines.get(pin.speaker)
            return pin.engine in names if engine is None else pin.engine == engine.name

        return tuple(
            pin
            for pin in self.pins.values()
            if pin.take not in held and is_ours(pin) and pin.manifest == self.project.path.name
        )


def plan(
    manuscript: Manuscript,
    engine: Engine,
    selection: Selection,
    *,
    engines: Mapping[str, Engine] = MappingProxyType({}),
    writing: bool = False,
    unpinned: Collection[str] = (),
    store: Store | None = None,
) -> BookPlan:
    """Everything that a render would do, without starting an engine.

    `engines` are those of speakers that have their own; `unpinned` are places whose pins do not
    count; `store` is one that is open already. Raises ManifestError where an engine cannot speak
    its part of the cast, StorageError.
    """
    project = manuscript.project
    engines = {name: engines.get(name, engine) for name in manuscript.cast}
    shapes = demands.shapes(project, manuscript.spoken)
    demands.check_output(project, _rate_of(engines, manuscript), shapes)
    if problems := _unspeakable(manuscript, engines):
        raise ManifestError([_in_manifest(project, problem) for problem in problems])
    manuscript = spoken_by(manuscript, engines)
    voices = references.settle(project, manuscript.cast, engines)
    store = store or Store.open(project.takes, writing=writing)
    pins = _by_take(store)
    kept = [p for p in pins.values() if p.place not in unpinned and store.find(p.take)]
    steps = link(
        manuscript.spoken,
        cast=voices.cast,
        engines=engines,
        rules=partial(_chain_rules, project),
        parameters=cache(lambda number, name: _parameters(project, engines[name], number, name)),
        # a pin whose take has gone from the disk holds nothing
        pins={where: pin.take for pin in kept for where in (pin.words, pin.place)},
    )
    ledger = ledger_in(ledger_path(project, engines))
    takes = Takes(store, voices.contents, project.manifest.checks.strict)
    why = survey(steps, takes, ledger, lambda s: selection.force and s in selection)
    return BookPlan(manuscript, engine, engines, takes, steps, why, selection, voices, pins)


def _by_take(store: Store) -> Mapping[str, Pin]:
    return {pin.take: pin for pin in store.pins().values()}


def _saying(engines: Mapping[str, Engine], manuscript: Manuscript) -> Mapping[str, Engine]:
    """The engines of who has anything to say; of the whole cast where nobody has."""
    saying = {one.chunk.speaker for one in manuscript.spoken}
    return {name: engine for name, engine in engines.items() if name in saying} or engines


def _rate_of(engines: Mapping[str, Engine], manuscript: Manuscript) -> int:
    return max(engine.sample_rate for engine in _saying(engines, manuscript).values())


def _are_draft(engines: Mapping[str, Engine]) -> bool:
    return all(engine.name == "draft" for engine in engines.values())


def _unspeakable(manuscript: Manuscript, engines: Mapping[str, Engine]) -> list[Problem]:
    """What keeps each engine from speaking its part of the cast."""
    project, main = manuscript.project, main_language(manuscript)
    line = project.line("language")
    problems: list[Problem] = []
    for engine in distinct(engines):
        own = {name for name in engines if engines[name] is engine}
        voices = {name: voice for name, voice in manuscript.cast.items() if name in own}
        problems += engine.problems(voices, [])
        said = {one.language for one in manuscript.spoken if one.chunk.speaker in own}
        if primary(main) in map(primary, said) and not engine.speaks(main):
            problems += (
                Problem(project.path, line, f"{problem.message}\n{_others(engine, main)}")
                for problem in engine.problems({}, [main])
            )
    return problems


def _others(engine: Engine, language: str) -> str:
    """What to do about a book whose language an engine does not speak."""
    others = (kind for kind in ENGINES.values() if kind.name != engine.name and _is_here(kind))
    able = next((kind.name for kind in others if kind.speaks(language)), None)
    if able is None:
        return "no engine here speaks the book's language: set `language` to the nearest that is"
    return (
        "render with --draft, which speaks it"
        if able == "draft"
        else f"the engine {able} speaks it"
    )


def _chain_rules(project: Project, chapter: int, speaker: str) -> ChainRules:
    """The manifest's, then the chapter's, then the speaker's own."""
    rules = project.manifest.chain.model_dump()
    for own in (project.chapters[chapter].chain, project.speakers[speaker].chain):
        rules |= own.model_dump(exclude_none=True)
    return ChainRules(rules["mode"], rules["max_chunks"])


def _in_manifest(project: Project, problem: Problem) -> Problem:
    return Problem(problem.path or project.path, problem.line, problem.message)


def _parameters(project: Project, engine: Engine, chapter: int, speaker: str) -> EngineParameters:
    """The speaker's engine's, then the chapter's, then what the speaker set."""
    chapters = project.chapters[chapter].engine.model_dump(exclude_none=True)
    own = project.speakers[speaker].engine
    return parameters_of(
        engine,
        {
            **project.engine.model_dump(),
            **project.engine_of(speaker).model_dump(),
            **chapters,
            **(own.model_dump(exclude_unset=True) if own else {}),
        },
    )


def ledger_path(project: Project, engines: Mapping[str, Engine]) -> Path:
    """Of a draft, or of what the book's engines speak, by speaker."""
    names = [engine.name for engine in distinct(engines) if engine.name != "draft"]
    book = project.engine.name
    name = book if book in names else names[0] if names else "draft"
    return project.build / f"ledger-{project.stem}-{name}.json"


def ledger_in(path: Path) -> list[dict[str, Any]]:
    """The steps of a last render; those alone that are whole."""
    rows = files.load_json(path, [])
    kinds = {"id": str, "speaker": str, "text": str, "key": str, "recipe": dict}
    return [
        row
        for row in (rows if isinstance(rows, list) else [])
        if isinstance(row, dict) and all(isinstance(row.get(k), t) for k, t in kinds.items())
    ]


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


def find_step(book: BookPlan, name: str) -> Step:
    """A step by its id ("3.12") or the start of its key. Raises UsageError."""
    for step in book.steps:
        if step.id == name or (len(name) >= 6 and step.key.startswith(name)):
            return step
    last = book.steps[-1].id
    raise UsageError(f"no chunk '{name}'; chunks are named chapter.number, 1.1 to {last}")


def reasons(book: BookPlan) -> dict[Reason, int]:
    """How many selected steps there are for each reason."""
    counts: dict[Reason, int] = {}
    for step in {s.key: s for s in book.steps if s in book.selection}.values():
        reason = book.why[step.key].reason
        counts[reason] = counts.get(reason, 0) + 1
    return counts
