"""The plan of a book: its steps, what of them is there, and why the rest is not.

Starts no engine, and writes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from narrator import files
from narrator.cast import references
from narrator.cast.references import Voices
from narrator.delivery import demands
from narrator.delivery.folders import Folders
from narrator.engines import Engine, distinct
from narrator.engines.registry import ENGINES
from narrator.engines.voice import Cast
from narrator.errors import (
    ManifestError,
    Problem,
    UsageError,
    nearest,
)
from narrator.pipeline.bookengines import is_here
from narrator.pipeline.manuscript import (
    Manuscript,
    main_language,
    spoken_by,
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
        rules=partial(chain_rules, project),
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
    others = (kind for kind in ENGINES.values() if kind.name != engine.name and is_here(kind))
    able = next((kind.name for kind in others if kind.speaks(language)), None)
    if able is None:
        return "no engine here speaks the book's language: set `language` to the nearest that is"
    return (
        "render with --draft, which speaks it"
        if able == "draft"
        else f"the engine {able} speaks it"
    )


def chain_rules(project: Project, chapter: int, speaker: str) -> ChainRules:
    """The manifest's, then the chapter's, then the speaker's own."""
    rules = project.manifest.chain.model_dump()
    for own in (project.chapters[chapter].chain, project.speakers[speaker].chain):
        rules |= own.model_dump(exclude_none=True)
    return ChainRules(rules["mode"], rules["max_chunks"])


def _in_manifest(project: Project, problem: Problem) -> Problem:
    return Problem(problem.path or project.path, problem.line, problem.message)


def _parameters(project: Project, engine: Engine, chapter: int, speaker: str) -> EngineParameters:
    """The speaker's engine's, then the chapter's, then what the speaker set."""
    settings, own = project.engine_of(speaker), project.speakers[speaker].engine
    return parameters_of(
        engine,
        {
            **settings.model_dump(),
            **project.chapters[chapter].engine.of(settings.name),
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


def find_step(book: BookPlan, name: str) -> Step:
    """A step by its id ("3.12") or the start of its key. Raises UsageError."""
    return find_steps(book, [name])[0]


def find_steps(book: BookPlan, names: Sequence[str]) -> list[Step]:
    """The steps of several names, as `find_step`. Raises UsageError with all that do not exist."""
    steps = {name: _step_named(book, name) for name in names}
    if missing := [name for name, step in steps.items() if step is None]:
        kind = "chunk" if len(missing) == 1 else "chunks"
        listed = ", ".join(f"'{name}'" for name in missing)
        last = book.steps[-1].id
        raise UsageError(f"no {kind} {listed}; chunks are named chapter.number, 1.1 to {last}")
    return [step for name in names if (step := steps[name]) is not None]


def _step_named(book: BookPlan, name: str) -> Step | None:
    for step in book.steps:
        if step.id == name or (len(name) >= 6 and step.key.startswith(name)):
            return step
    return None


def reasons(book: BookPlan) -> dict[Reason, int]:
    """How many selected steps there are for each reason."""
    counts: dict[Reason, int] = {}
    for step in {s.key: s for s in book.steps if s in book.selection}.values():
        reason = book.why[step.key].reason
        counts[reason] = counts.get(reason, 0) + 1
    return counts
