"""The plan of a book: its steps, the takes they have, and the reason for each step to render.

Starts no engine and writes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType

from narrator import files
from narrator.cast import references
from narrator.cast.references import Voices
from narrator.delivery import preflight
from narrator.delivery.folders import Folders
from narrator.delivery.rules import ChapterShape
from narrator.engines import Engine, unique_engines
from narrator.engines.registry import ENGINES
from narrator.engines.voice import Cast
from narrator.errors import (
    ManifestError,
    Problem,
    UsageError,
    nearest,
)
from narrator.pipeline.book_engines import is_available
from narrator.pipeline.manuscript import (
    Manuscript,
    SpeakableChapter,
    leave_out_unspeakable,
    main_language,
)
from narrator.pipeline.options import RenderOptions
from narrator.project.place import ledger_prefix
from narrator.project.project import Project
from narrator.speech.plan import (
    ChainRules,
    EngineParameters,
    LinkedChapter,
    Step,
    link_steps,
    sound_parameters_of,
    written_text_hash,
)
from narrator.speech.reasons import Ledger, LedgerEntry, Reason, RenderReason, explain_steps
from narrator.speech.store import Pin, Store
from narrator.speech.takes import TakeResolver
from narrator.text.lines import Chapter
from narrator.text.memo import LastValues
from textbase.languages import primary


@dataclass(frozen=True, slots=True)
class Selection:
    """The part of a book that a command applies to, with its other options."""

    chapters: frozenset[int] = frozenset()
    """The chapters of the options, counted from 0; none means all."""
    options: RenderOptions = field(default_factory=RenderOptions)

    def __contains__(self, step: Step) -> bool:
        speakers = self.options.speakers
        return (not self.chapters or step.chapter in self.chapters) and (
            not speakers or step.chunk.speaker in speakers
        )


def select(manuscript: Manuscript, options: RenderOptions) -> Selection:
    """The selection that options name. Raises UsageError."""
    titles = [chapter.title for chapter in manuscript.chapters]
    numbers: set[int] = set()
    for name in options.chapters:
        numbers |= _chapter_numbers(name, titles)
    for name in options.speakers:
        if name not in manuscript.cast:
            guess = nearest(name, list(manuscript.cast))
            hint = f"did you mean '{guess}'?" if guess else f"cast: {', '.join(manuscript.cast)}"
            raise UsageError(f"no speaker '{name}'; {hint}")
    return Selection(frozenset(numbers), options)


def _chapter_numbers(name: str, titles: Sequence[str]) -> set[int]:
    """The numbers of the chapters that a name stands for, counted from 0. Raises UsageError."""
    folded_titles = [title.casefold() for title in titles]
    if name.casefold() in folded_titles:
        return {folded_titles.index(name.casefold())}
    if match := re.fullmatch(r"(\d{1,5})(?:-(\d{1,5}))?", name):
        first, last = int(match[1]), int(match[2] or match[1])
        if 1 <= first <= last <= len(titles):
            return set(range(first - 1, last))
    matching_numbers = [
        number for number, title in enumerate(folded_titles) if name.casefold() in title
    ]
    if len(matching_numbers) == 1 and len(name) > 2:
        return set(matching_numbers)
    guess = nearest(name, titles)
    hint = f"give 1 to {len(titles)}, a range as 2-3, or a title; for several, --chapter again"
    raise UsageError(f"no chapter '{name}'; " + (f"did you mean '{guess}'?" if guess else hint))


@dataclass(frozen=True, slots=True)
class BookPlan:
    """The steps of a book, the takes they have, and the reason for each step to render."""

    manuscript: Manuscript
    engine: Engine
    """The engine of all speakers that have none of their own."""
    engines: Mapping[str, Engine]
    """By speaker."""
    takes: TakeResolver
    steps: tuple[Step, ...]
    why: Mapping[str, RenderReason]
    selection: Selection
    voices: Voices
    pins: Mapping[str, Pin]
    """Pins by the key of the pinned take."""

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
        """Hz of the finished audio: the highest rate of the engines that speak."""
        return _highest_sample_rate(self.engines, self.manuscript)

    @property
    def rates(self) -> Mapping[str, int]:
        """Hz of each speaker's engine."""
        return {name: engine.sample_rate for name, engine in self.engines.items()}

    @property
    def speaking(self) -> Sequence[Engine]:
        """The engines that have anything to speak."""
        return unique_engines(_speaking_engines(self.engines, self.manuscript))

    @property
    def engine_names(self) -> str:
        """Names of the engines that speak: "voxcpm2", or "voxcpm2, draft"."""
        return ", ".join(dict.fromkeys(engine.name for engine in self.speaking))

    @property
    def folders(self) -> Folders:
        """The output folders."""
        return Folders(self.project)

    @property
    def todo(self) -> tuple[Step, ...]:
        """The selected steps to render, one for each key."""
        steps_by_key = {
            step.key: step
            for step in self.steps
            if step in self.selection and self.why[step.key].render
        }
        return tuple(steps_by_key.values())

    @property
    def missing(self) -> list[Step]:
        """The steps without a take that may be delivered."""
        return [step for step in self.steps if self.takes.deliverable(step) is None]

    @property
    def doubtful(self) -> list[Step]:
        """The steps whose only takes failed their checks, in reading order."""
        return [step for step in self.steps if self.takes.is_doubtful(step)]

    @property
    def is_pinned_otherwise(self) -> bool:
        """True if pins were added or removed since the plan was made. Raises StorageError."""
        return _pins_by_take(self.store) != self.pins

    @property
    def lost(self) -> tuple[Pin, ...]:
        """Pins of this manifest and its engines whose text has changed or left the book."""
        pinned_keys = {step.key for step in self.steps if step.pinned}
        names = {engine.name for engine in unique_engines(self.engines)}

        def is_ours(pin: Pin) -> bool:
            engine = self.engines.get(pin.speaker)
            return pin.engine in names if engine is None else pin.engine == engine.name

        return tuple(
            pin
            for pin in self.pins.values()
            if pin.take not in pinned_keys
            and is_ours(pin)
            and pin.manifest == self.project.path.name
        )


@dataclass(slots=True)
class PlanCaches:
    """What was planned last of each chapter, for callers that plan a book again after each edit."""

    shapes: LastValues[ChapterShape] = field(default_factory=LastValues)
    speakable: LastValues[SpeakableChapter] = field(default_factory=LastValues)
    ledger: LastValues[Ledger] = field(default_factory=LastValues)
    linked: dict[int, LinkedChapter] = field(default_factory=dict)
    last_plan: BookPlan | None = None
    takes: TakeResolver | None = None
    """The takes as the last plan found them."""


def plan(
    manuscript: Manuscript,
    engine: Engine,
    selection: Selection,
    *,
    engines: Mapping[str, Engine] = MappingProxyType({}),
    writing: bool = False,
    unpinned: Collection[str] = (),
    store: Store | None = None,
    caches: PlanCaches | None = None,
    looks_at_takes: bool = True,
) -> BookPlan:
    """Plan everything that a render would do, without starting an engine.

    `engines` holds the engines of speakers that have their own. Pins at the places in `unpinned`
    are ignored. `store` is a store that is already open. Unchanged parts come from `caches`;
    without `looks_at_takes` they keep their reasons to render, as if their takes were the same.
    Raises ManifestError if an engine cannot speak its part of the cast, StorageError.
    """
    project = manuscript.project
    caches = caches or PlanCaches()
    engines = {name: engines.get(name, engine) for name in manuscript.cast}
    shapes = preflight.expected_shapes(project, manuscript.spoken, caches.shapes)
    preflight.check_output(project, _highest_sample_rate(engines, manuscript), shapes)
    if problems := _find_engine_problems(manuscript, engines):
        raise ManifestError(
            [
                problem if problem.path else replace(problem, path=project.path)
                for problem in problems
            ]
        )
    manuscript = leave_out_unspeakable(manuscript, engines, caches.speakable)
    voices = references.resolve_references(project, manuscript.cast, engines)
    store = store or Store.open(project.takes, writing=writing)
    pins = _pins_by_take(store)
    active_pins = [p for p in pins.values() if p.place not in unpinned and store.find(p.take)]
    ledger_file = ledger_path(project, engines)
    ledger = caches.ledger.get(
        "",
        (ledger_file, files.stamp(ledger_file)),
        lambda: files.load_json(ledger_file, list[LedgerEntry], []),
    )
    steps = link_steps(
        manuscript.spoken,
        cast=voices.cast,
        engines=engines,
        rules=partial(chain_rules, project),
        parameters=cache(
            lambda number, name: _engine_parameters(project, engines[name], number, name)
        ),
        # pins whose takes are gone from the disk were dropped above
        pins=_pinned_takes(active_pins, ledger) if active_pins else {},
        known=caches.linked,
    )
    takes = TakeResolver(store, voices.contents, project.manifest.checks.strict)
    present_takes = caches.takes = takes.at_one_moment()
    known_reasons: Mapping[str, RenderReason] = {}
    if not looks_at_takes and caches.last_plan is not None:
        known_reasons = _known_reasons(steps, takes, caches.last_plan)
        changed_chapters = {str(s.chapter + 1) for s in steps if s.key not in known_reasons}
        ledger = [entry for entry in ledger if entry.id.partition(".")[0] in changed_chapters]
    reasons = explain_steps(
        steps,
        present_takes,
        ledger,
        lambda s: selection.options.force and s in selection,
        known_reasons,
    )
    book = BookPlan(manuscript, engine, engines, takes, steps, reasons, selection, voices, pins)
    caches.last_plan = book
    return book


def _known_reasons(
    steps: Sequence[Step], takes: TakeResolver, last_plan: BookPlan
) -> Mapping[str, RenderReason]:
    """The reasons of the last plan for the steps that it has, unless voices have changed since."""
    if takes.voices != last_plan.takes.voices or takes.strict != last_plan.takes.strict:
        return {}
    last_steps = set(map(id, last_plan.steps))
    return {step.key: last_plan.why[step.key] for step in steps if id(step) in last_steps}


def _pins_by_take(store: Store) -> Mapping[str, Pin]:
    """The pins of a store by the keys of their takes."""
    return {pin.take: pin for pin in store.pins().values()}


def _pinned_takes(pins: Sequence[Pin], ledger: Ledger) -> dict[str, str]:
    """The keys of pinned takes by their places, spoken texts, and texts as last written."""
    written_texts = {
        entry.recipe.get("pinned", entry.key): (entry.speaker, entry.text) for entry in ledger
    }
    takes = {
        written_text_hash(pin.engine, *written_texts[key]): pin.take
        for pin in pins
        for key in (pin.step, pin.take)
        if key in written_texts
    }
    return takes | {place: pin.take for pin in pins for place in (pin.words, pin.place)}


def _speaking_engines(
    engines: Mapping[str, Engine], manuscript: Manuscript
) -> Mapping[str, Engine]:
    """The engines of the speakers with anything to say; all engines if nobody has."""
    speaker_names = {utterance.chunk.speaker for utterance in manuscript.spoken}
    return {name: engine for name, engine in engines.items() if name in speaker_names} or engines


def _highest_sample_rate(engines: Mapping[str, Engine], manuscript: Manuscript) -> int:
    """The highest sample rate, in Hz, of the engines that speak."""
    return max(engine.sample_rate for engine in _speaking_engines(engines, manuscript).values())


def _find_engine_problems(manuscript: Manuscript, engines: Mapping[str, Engine]) -> list[Problem]:
    """The problems that keep each engine from speaking its part of the cast."""
    project, book_language = manuscript.project, main_language(manuscript)
    language_line = project.line("language")
    languages_by_speaker: dict[str, set[str]] = {}
    chunks = (utterance.chunk for utterance in manuscript.spoken)
    for speaker, language in {(chunk.speaker, chunk.language) for chunk in chunks}:
        languages_by_speaker.setdefault(speaker, set()).add(language)
    problems: list[Problem] = []
    for engine in unique_engines(engines):
        engine_speakers = {name for name in engines if engines[name] is engine}
        voices = {name: voice for name, voice in manuscript.cast.items() if name in engine_speakers}
        languages = [book_language] if engine.speaks(book_language) else []
        problems += engine.problems(voices, languages)
        spoken_languages = {
            language for name in engine_speakers for language in languages_by_speaker.get(name, ())
        }
        if primary(book_language) in map(primary, spoken_languages) and not engine.speaks(
            book_language
        ):
            problems += (
                Problem(
                    project.path,
                    language_line,
                    f"{problem.message}\n{_suggest_engine(engine, book_language)}",
                )
                for problem in engine.problems({}, [book_language])
            )
    return problems


def _suggest_engine(engine: Engine, language: str) -> str:
    """Suggests an engine for a book whose language `engine` does not speak."""
    other_engines = (
        spec for spec in ENGINES.values() if spec.name != engine.name and is_available(spec)
    )
    capable_engine = next((spec.name for spec in other_engines if spec.speaks(language)), None)
    if capable_engine is None:
        return "no engine here speaks the book's language: set `language` to the nearest that is"
    return (
        "render with --draft, which speaks it"
        if capable_engine == "draft"
        else f"the engine {capable_engine} speaks it"
    )


def chain_rules(project: Project, chapter: int, speaker: str) -> ChainRules:
    """The chain settings of the manifest, overridden by the chapter's, then the speaker's."""
    rules = project.manifest.chain.model_dump()
    for overrides in (project.chapters[chapter].chain, project.speakers[speaker].chain):
        rules |= overrides.model_dump(exclude_none=True)
    return ChainRules(rules["mode"], rules["max_chunks"])


def _engine_parameters(
    project: Project, engine: Engine, chapter: int, speaker: str
) -> EngineParameters:
    """Engine parameters for a speaker in a chapter.

    Settings of the speaker's engine come first, overridden by the chapter's, then by those that the
    speaker sets.
    """
    settings, speaker_engine = project.engine_of(speaker), project.speakers[speaker].engine
    return sound_parameters_of(
        engine,
        {
            **settings.model_dump(),
            **project.chapters[chapter].engine.of(settings.name),
            **(speaker_engine.model_dump(exclude_unset=True) if speaker_engine else {}),
        },
    )


def ledger_path(project: Project, engines: Mapping[str, Engine]) -> Path:
    """The file with the steps of the last render by these engines, which go by speaker.

    Drafts have their own.
    """
    names = [engine.name for engine in unique_engines(engines) if engine.name != "draft"]
    book_engine = project.engine.name
    name = book_engine if book_engine in names else names[0] if names else "draft"
    return project.build / f"{ledger_prefix(project.stem)}{name}.json"


def find_step(book: BookPlan, name: str) -> Step:
    """Finds a step by its id ("3.12") or the start of its key. Raises UsageError."""
    return find_steps(book, [name])[0]


def find_steps(book: BookPlan, names: Sequence[str]) -> list[Step]:
    """Finds the steps of several names, like `find_step`.

    Raises UsageError that lists all names without a step.
    """
    steps = {name: _find_step_by_name(book, name) for name in names}
    if missing := [name for name, step in steps.items() if step is None]:
        noun = "chunk" if len(missing) == 1 else "chunks"
        quoted_names = ", ".join(f"'{name}'" for name in missing)
        last = book.steps[-1].id
        chapter, dot, _ = missing[0].partition(".")
        ends = [step.id for step in book.steps if dot and step.id.startswith(f"{chapter}.")]
        end = f"; the last of chapter {chapter} is {ends[-1]}" if ends else ""
        raise UsageError(
            f"no {noun} {quoted_names}; chunks are named chapter.number, 1.1 to {last}{end}"
        )
    return [step for name in names if (step := steps[name]) is not None]


def _find_step_by_name(book: BookPlan, name: str) -> Step | None:
    """Finds a step by its id or by at least 6 characters of its key."""
    for step in book.steps:
        if step.id == name or (len(name) >= 6 and step.key.startswith(name)):
            return step
    return None


def count_reasons(book: BookPlan) -> dict[Reason, int]:
    """Counts the selected steps by the reason to render them or not."""
    counts: dict[Reason, int] = {}
    for step in {
        selected_step.key: selected_step
        for selected_step in book.steps
        if selected_step in book.selection
    }.values():
        reason = book.why[step.key].reason
        counts[reason] = counts.get(reason, 0) + 1
    return counts
