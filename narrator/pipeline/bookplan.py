"""The plan of a book: its steps, what of them is there, and why the rest is not.

Starts no engine, and writes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
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
from narrator.engines import Engine, distinct, quiet
from narrator.engines.kind import EngineHome, EngineKind
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
    main_language,
    oddities,
    spoken_by,
    unspoken,
)
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
    kind, draft = ENGINES[project.engine.name], ENGINES["draft"]
    texts = (*oddities(manuscript, draft.spells), *doubts(_shapes(manuscript)))
    for odd in (*project.remarks, *texts, *waiting(project.path)):
        tell(str(odd))
    for one in dict.fromkeys((kind, draft)):
        for lacking in _lacking(manuscript, one):
            tell(str(lacking))
    shapes = demands.shapes(project, manuscript.spoken)
    for unasked in not_asked(manuscript, kind):
        tell(str(unasked))
    rate = kind.sample_rate(project.engine)
    demands.check_output(project, rate, shapes)
    if cost := stereo_cost(manuscript, rate):
        tell(cost)
    if refused := list(kind.refused(project.engine, manuscript.cast)):
        line = project.line("engine")
        raise ManifestError([Problem(project.path, line, said) for said in refused])
    problems: list[Problem] = []
    for voice in manuscript.cast.values():
        try:
            presets.reference_of(voice, project.manifest.language, tell)
        except UserError as error:
            problems += error.problems
    if problems:
        raise UserError(problems)
    if not _is_here(kind):
        return manuscript
    return spoken_by(manuscript, dict.fromkeys(manuscript.cast, kind))


def _is_here(kind: EngineKind) -> bool:
    """Whether an engine can be asked which languages it speaks."""
    try:
        kind.speaks("en")
    except EngineUnavailable:
        return False
    return True


def _lacking(manuscript: Manuscript, kind: EngineKind) -> Iterator[Problem]:
    """What an engine would leave out, or refuse, for its language."""
    if not _is_here(kind):
        return
    main = main_language(manuscript)
    way = "`narrator render --draft`" if kind.name == "draft" else "`narrator render`"
    if not kind.speaks(main):
        yield Problem(
            manuscript.project.path,
            manuscript.project.line("language"),
            f"{way} will refuse this book: its main language, “{main}”, is none of the engine's "
            f"({kind.name})",
        )
    for problem in unspoken(spoken_by(manuscript, dict.fromkeys(manuscript.cast, kind))):
        yield replace(problem, message=f"{way}: {problem.message}")


def not_asked(manuscript: Manuscript, kind: EngineKind) -> Iterator[Problem]:
    """What the manifest asks for that its engine cannot be asked, each once, with what to do."""
    project = manuscript.project
    if kind.name != project.engine.name:  # a draft is not what the manifest speaks of
        return
    cannot = kind.unasked(project.engine)
    for name, line in _wishes(manuscript).items():
        of_engine = "." not in name and name not in _OF_VOICES
        if name in cannot:
            said = cannot[name]
        elif of_engine and name not in kind.settings.model_fields:
            said = f"the engine {kind.name} has no such setting, and goes without"
        else:
            continue
        yield Problem(project.path, line, f"{'engine.' if of_engine else ''}{name}: {said}")


_OF_VOICES = ("style", "reference", "description")


def _wishes(manuscript: Manuscript) -> dict[str, int | None]:
    """What a manifest sets of its engine, by the names of `EngineKind.unasked`, with the line of
    its first place where that is known."""
    project = manuscript.project
    found: dict[str, int | None] = {
        name: project.line("engine", name)
        for name in sorted(project.engine.model_fields_set - {"name"})
    }
    for number in project.numbered:
        loc = project.chapter_loc(number)
        for name in sorted(project.chapters[number].engine.model_fields_set):
            found.setdefault(name, project.line(*loc, "engine", name))
    for voice in manuscript.cast.values():
        for name in _OF_VOICES:
            if getattr(voice, name):
                found.setdefault(name, project.line("speakers", voice.speaker))
    if any(one.chunk.style for one in manuscript.spoken):
        found.setdefault("style", None)
    spoken = {(one.chapter, one.chunk.speaker) for one in manuscript.spoken}
    modes = {place: _chain_rules(project, *place).mode for place in spoken}
    for place in sorted(modes):
        name = f"chain.{modes[place]}" if _sets_mode(project, *place) else "chain.mode"
        found.setdefault(name, project.line("chain", "mode"))
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


def engine_for(project: Project, *, draft: bool, tell: Callable[[str], None] = quiet) -> Engine:
    """The engine that a render would use; what takes long is told. Raises EngineUnavailable."""
    remembered = partial(_remembered, identity_path(project), tell)
    home = EngineHome(project.root, project.build / "voices", remembered)
    return kind_of(project, draft=draft).make(project.engine, home, tell)


def kind_of(project: Project, *, draft: bool) -> EngineKind:
    return ENGINES["draft" if draft else project.engine.name]


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
        return _rate_of(self.engines)

    @property
    def folders(self) -> Folders:
        """A draft of a book that has a real engine has folders of its own."""
        return Folders(self.project, self.engine.name)

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
        ours = {engine.name for engine in distinct(self.engines)}
        return tuple(
            pin
            for pin in self.pins.values()
            if pin.take not in held
            and pin.engine in ours
            and pin.manifest == self.project.path.name
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
    demands.check_output(project, _rate_of(engines), demands.shapes(project, manuscript.spoken))
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
        parameters=cache(lambda number, name: _parameters(project, engines[name], number)),
        # a pin whose take has gone from the disk holds nothing
        pins={where: pin.take for pin in kept for where in (pin.words, pin.place)},
    )
    ledger = ledger_in(ledger_path(project, engine))
    takes = Takes(store, voices.contents, project.manifest.checks.strict)
    why = survey(steps, takes, ledger, lambda s: selection.force and s in selection)
    return BookPlan(manuscript, engine, engines, takes, steps, why, selection, voices, pins)


def _by_take(store: Store) -> Mapping[str, Pin]:
    return {pin.take: pin for pin in store.pins().values()}


def _rate_of(engines: Mapping[str, Engine]) -> int:
    return max(engine.sample_rate for engine in distinct(engines))


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


def _parameters(project: Project, engine: Engine, chapter: int) -> EngineParameters:
    own = project.chapters[chapter].engine.model_dump(exclude_none=True)
    return parameters_of(engine, {**project.engine.model_dump(), **own})


def ledger_path(project: Project, engine: Engine) -> Path:
    return project.build / f"ledger-{project.stem}-{engine.name}.json"


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
    """What the engine's weights were when this project was last rendered: a finished book needs no
    model to be exported again, on any machine."""
    return project.build / f"engine-{project.stem}.json"


def _remembered(path: Path, tell: Callable[[str], None]) -> object:
    try:
        return files.read_json(path)
    except files.Altered as error:
        tell(f"{path}: {error}: takes are known again once the model is here")
    except OSError:
        pass  # never rendered here
    return {}


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
