"""The spine: book.yaml -> manifest -> script -> chunks -> plan -> render -> assemble -> export.

Every command is a prefix of it: `check` stops after the text, `plan` before the engine starts,
`render` goes to the end, `export` begins with a full store. It opens files and calls the rooms in
order; what each of them decides is theirs. Prints nothing.
"""

from __future__ import annotations

import contextlib
import functools
import json
import logging
import os
import re
import shutil
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from filelock import FileLock, Timeout

from narrator import demands, files, finish, manifest, music, presets, products, references, render
from narrator.engines import Engine, is_known, quiet
from narrator.errors import (
    DamagedTake,
    Locked,
    ManifestError,
    Problem,
    StorageError,
    UsageError,
    UserError,
    nearest,
)
from narrator.manifest import Project
from narrator.manuscript import Manuscript, characters, source_and_left_out, unseen
from narrator.manuscript import read as read
from narrator.plan import (
    ChainRules,
    EngineFacts,
    Reason,
    Settings,
    Step,
    Why,
    fits,
    is_doubtful,
    ledger_of,
    link,
    survey,
)
from narrator.references import Voices
from narrator.store import Pin, Record, Store
from narrator.voices import Reference

log = logging.getLogger("narrator")


# -- check -----------------------------------------------------------------------------------------

RATES = {"voxcpm2": 48_000, "draft": 22_050}
"""Hz of what each engine speaks, as far as it is known before the engine is."""


def check(manuscript: Manuscript, tell: Callable[[str], None]) -> None:
    """All that a render would refuse and that no engine is needed to see.

    What is odd about a voice's clip is told. Raises ManifestError (output), UserError (clips).
    """
    project = manuscript.project
    for odd in unseen(manuscript):
        tell(str(odd))
    shapes = demands.shapes(project, manuscript.spoken)
    rate = RATES[project.engine.name]
    demands.check_output(project, rate, shapes)
    if cost := stereo_cost(manuscript, rate):
        tell(cost)
    problems: list[Problem] = []
    for voice in manuscript.cast.values():
        try:
            presets.reference_of(voice, project.manifest.language, tell)
        except UserError as error:
            problems += error.problems
    if problems:
        raise UserError(problems)


def stereo_cost(manuscript: Manuscript, rate: int) -> str | None:
    """What it costs that music makes a book stereo, in words; None where nothing does.

    Raises ManifestError, StorageError.
    """
    project = manuscript.project
    channels = finish.channels_of(project, [one.chunk for one in manuscript.spoken])
    seconds = demands.seconds_of(project, demands.shapes(project, manuscript.spoken))
    return demands.stereo_cost(project, rate, channels, seconds)


# -- plan ------------------------------------------------------------------------------------------


def engine_for(project: Project, *, draft: bool, tell: Callable[[str], None] = quiet) -> Engine:
    """The engine that a render would use; what takes long is told. Raises EngineUnavailable."""
    if draft or project.engine.name == "draft":
        from narrator.engines.espeak import DraftEngine  # the one GPL room, loaded when asked for

        return DraftEngine()
    from narrator.engines.voxcpm2 import VoxCPM2Engine

    return VoxCPM2Engine(
        project.engine,
        root=project.root,
        cache=project.build / "voices",
        remembered=_remembered(_identity_path(project), tell),
        tell=tell,
    )


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
    store: Store
    steps: tuple[Step, ...]
    why: Mapping[str, Why]
    selection: Selection
    voices: Voices
    pins: Mapping[str, Pin]
    """By the take that they hold."""
    lost: tuple[Pin, ...]
    """Pins of this manifest and engine whose text is no longer in the book as it was."""

    @property
    def todo(self) -> tuple[Step, ...]:
        """Selected steps to render, one for each key."""
        found = {s.key: s for s in self.steps if s in self.selection and self.why[s.key].render}
        return tuple(found.values())

    def record(self, step: Step) -> Record | None:
        """The take of a step that needs no rendering."""
        return None if self.why[step.key].render else self.store.find(step.key)


def plan(
    manuscript: Manuscript,
    engine: Engine,
    selection: Selection,
    *,
    writing: bool = False,
    unpinned: Collection[str] = (),
    store: Store | None = None,
) -> BookPlan:
    """Everything that a render would do, without starting the engine.

    `unpinned` are places whose pins do not count; `store` is one that is open already. Raises
    ManifestError where the engine cannot speak the cast, StorageError.
    """
    project = manuscript.project
    languages = sorted({u.language for u in manuscript.spoken})
    demands.check_output(project, engine.sample_rate, demands.shapes(project, manuscript.spoken))
    demands.check_names(project, [chapter.title for chapter in manuscript.chapters])
    if problems := engine.problems(manuscript.cast, languages):
        raise ManifestError([_in_manifest(project, problem) for problem in problems])
    voices = references.settle(project, manuscript.cast, engine)
    store = store or Store.open(project.build / "store", writing=writing)
    pins = {pin.take: pin for pin in store.pins().values()}
    kept = [p for p in pins.values() if p.place not in unpinned and store.find(p.take)]
    steps = link(
        manuscript.spoken,
        cast=voices.cast,
        engine=EngineFacts(
            engine.identity(), engine.continues, engine.clones, engine.voice_content
        ),
        rules=partial(_chain_rules, project),
        settings=[_settings(project, engine, i) for i in range(len(manuscript.chapters))],
        # a pin whose take has gone from the disk holds nothing
        pins={where: pin.take for pin in kept for where in (pin.words, pin.place)},
    )
    ledger = ledger_in(_ledger_path(project, engine))
    takes = _Takes(store, voices.contents)
    why = survey(steps, takes, ledger, lambda s: selection.force and s in selection)
    held = {step.key for step in steps if step.pinned}
    lost = tuple(
        pin
        for pin in pins.values()
        if pin.take not in held
        and pin.place not in unpinned
        and (pin.engine, pin.manifest) == (engine.name, project.path.name)
    )
    return BookPlan(manuscript, engine, store, steps, why, selection, voices, pins, lost)


def _chain_rules(project: Project, chapter: int, speaker: str) -> ChainRules:
    """The manifest's, then the chapter's, then the speaker's own."""
    rules = project.manifest.chain.model_dump()
    for own in (project.chapters[chapter].chain, project.speakers[speaker].chain):
        rules |= own.model_dump(exclude_none=True)
    return ChainRules(rules["mode"], rules["max_chunks"])


def _in_manifest(project: Project, problem: Problem) -> Problem:
    return Problem(problem.path or project.path, problem.line, problem.message)


def _settings(project: Project, engine: Engine, chapter: int) -> Settings:
    own = project.chapters[chapter].engine.model_dump(exclude_none=True)
    every = {**project.engine.model_dump(), **own}
    used = {name: every[name] for name in engine.uses if name != "seed"}
    return Settings(used, every["seed"] if "seed" in engine.uses else 0)


@dataclass(frozen=True, slots=True)
class _Takes:
    """The store, as a plan looks at it."""

    store: Store
    contents: Mapping[str, str | None]
    """Of the voices' references, by speaker."""

    def take(self, key: str) -> Record | None:
        return self.store.find(key)

    def voice(self, speaker: str) -> str | None:
        return self.contents.get(speaker)

    def is_damaged(self, key: str) -> bool:
        return key in self.store.damaged

    def faults(self, key: str) -> tuple[str, ...] | None:
        flag = self.store.flag(key)
        return flag.faults if flag else None


def _ledger_path(project: Project, engine: Engine) -> Path:
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


def _speeds(project: Project) -> dict[str, float]:
    """Expected seconds of speech that each engine rendered a second here."""
    rows = files.load_json(_speed_path(project), {})
    if not isinstance(rows, dict):
        return {}
    return {k: float(v) for k, v in rows.items() if isinstance(v, int | float) and v > 0}


# -- what a plan says ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a render would cost; None where nothing was measured yet."""

    seconds: float
    """Of speech still to be rendered."""
    wall: float | None
    disk: int
    """Bytes of takes, encoded chapters and finished files to come."""
    files: int
    """Bytes of the finished files alone."""
    free: int


def estimate(book: BookPlan) -> Estimate:
    """Time from the speed that this machine showed, disk from the takes that are there."""
    seconds = sum(step.expected for step in book.todo)
    speed = _speeds(book.manuscript.project).get(book.engine.name)
    have = [(size, book.store.find(key)) for key, size in book.store.stored()]
    spoken = sum(r.samples / r.sample_rate for _, r in have if r)
    # FLAC of speech takes a little over half of 16-bit PCM
    per_second = sum(s for s, _ in have) / spoken if spoken else 1.1 * book.engine.sample_rate
    project = book.manuscript.project
    whole = demands.seconds_of(project, demands.shapes(project, book.manuscript.spoken))
    channels = finish.channels_of(project, [step.chunk for step in book.steps])
    finished = whole * demands.bytes_per_second(project, book.engine.sample_rate, channels)
    return Estimate(
        seconds=seconds,
        wall=seconds / speed if speed else None,
        # encoded chapters are kept beside the files that are joined from them
        disk=round(seconds * per_second + 2 * finished),
        files=round(finished),
        free=shutil.disk_usage(_existing(book.manuscript.project.build)).free,
    )


def _existing(path: Path) -> Path:
    while not path.exists():
        path = path.parent
    return path


def _identity_path(project: Project) -> Path:
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


def _speed_path(project: Project) -> Path:
    return project.build / "speed.json"


# -- render ----------------------------------------------------------------------------------------


class Observer(render.Observer, finish.Observer, Protocol):
    """Who is told of a run's progress."""

    def planned(self, book: BookPlan) -> None: ...


@dataclass(slots=True)
class Report:
    """What a run did and what is there now."""

    plan: BookPlan
    result: render.Result
    finished: finish.Finished | None = None
    incomplete: tuple[int, ...] = ()
    """Chapters that have no files, because takes of them are missing."""
    lacking: int = 0
    """Steps that were asked for and have no take that may be delivered."""
    doubtful: tuple[Step, ...] = ()
    """Steps whose takes failed their checks and are delivered, or hold a chapter back where the
    manifest is strict."""
    log: Path | None = None
    log_fault: str = ""
    """Why lines of the log are missing."""
    superseded: tuple[tuple[Path, Path], ...] = ()
    """Files that were delivered and are no more, and where they lie now."""
    earlier: tuple[Path, ...] = ()
    """Files of an earlier run, where this one had nothing to deliver."""
    stages: dict[str, float] = field(default_factory=dict)
    """Wall time in seconds: plan, render, finish."""
    accounting: dict[str, int] = field(default_factory=dict)
    """Characters but white space, of the source and of what became of them: spoken, left out,
    given up, not rendered. `source` is counted on the lines, the others on takes and lists."""

    @property
    def complete(self) -> bool:
        """Whether all that was asked for is there."""
        facts = self.accounting
        lost = facts["source"] != sum(n for name, n in facts.items() if name != "source")
        spoken = not self.lacking and not self.result.flags
        return not self.result.cancelled and spoken and not lost and not self.doubtful


def run(
    manuscript: Manuscript,
    engine: Engine,
    selection: Selection,
    *,
    observer: Observer,
    cancel: render.Cancel,
    draft: bool = False,
    speak: bool = True,
) -> Report:
    """Plan, render (unless `speak` is off), assemble, export.

    Raises Locked, EngineUnavailable, StorageError, UsageError. Whatever happens, takes
    that passed their checks are kept, and no file for listeners is half written.
    """
    project = manuscript.project
    with locked(project), _logging(project) as logbook:
        began = time.monotonic()
        book = plan(manuscript, engine, selection, writing=True)
        planned = time.monotonic()
        for folder in (project.build, *(project.build / "timeline").glob("*")):
            files.sweep(folder)
        references.sweep(project)
        if (
            project.manifest.music
        ):  # a file that is no sound must not be found after hours of speech
            observer.starting("measuring the music")
            music.tunes(project)
        if speak and engine.clones:
            book = _cast(book, observer, cancel)
        observer.planned(book)
        if speak:
            if is_known(engine):
                files.save_json(_ledger_path(project, engine), ledger_of(book.steps))
            if "weights" in engine.identity() and is_known(engine):
                specs = {"model": project.engine.model, "lora_spec": project.engine.lora}
                files.save_json(_identity_path(project), {**specs, **engine.identity()})
        report = Report(book, render.Result(), log=logbook.path)
        report.result.cancelled = cancel.is_set()
        while True:
            store = report.plan.store
            damaged, misled = len(store.damaged), store.misled
            try:
                if speak and not report.result.cancelled:
                    _render(report.plan, report.result, observer, cancel)
                _finish(report, draft and project.engine.name != "draft", observer, cancel)
                break
            except DamagedTake as error:  # it was whole when the plan was made
                log.warning("%s", error)
                if store.misled == misled and (not speak or len(store.damaged) == damaged):
                    raise
                report.plan = plan(manuscript, engine, selection, store=store)
        result = report.result
        report.stages = {
            "plan": round(planned - began, 2),
            "render": round(result.wall, 2),
            "finish": round(time.monotonic() - planned - result.wall, 2),
        }
        facts = summary(report)
        said = json.dumps(facts, ensure_ascii=False)
        files.write(products.own(project, "report"), said.encode(errors="surrogatepass"))
        for row in facts["doubtful"]:
            log.warning("doubtful %s %s: %s", row["chunk"], row["source"], "; ".join(row["faults"]))
        log.info("end: %s", said)
        report.log_fault = logbook.fault
        if not speak:
            _refuse_unspoken(report)
        return report


def _cast(book: BookPlan, observer: Observer, cancel: render.Cancel) -> BookPlan:
    """The plan after every voice that is needed and has no reference yet was cast."""
    speakers = dict.fromkeys(step.chunk.speaker for step in book.todo)
    uncast = [name for name in speakers if book.voices.contents.get(name) is None]
    if not uncast or cancel.is_set():
        return book
    references.cast_missing(book.voices, book.engine, uncast,
                         tell=observer.starting, cancel=cancel)  # fmt: skip
    return plan(book.manuscript, book.engine, book.selection, writing=True)


def _finish(report: Report, draft: bool, observer: Observer, cancel: render.Cancel) -> None:
    """Files of every chosen chapter whose takes are all there; of the book, if all are."""
    book = report.plan
    manuscript, chosen = book.manuscript, book.selection.chapters
    missing = _missing(book)
    lacking = {step.chapter for step in missing}
    report.accounting = _account(book, missing)
    wanted = [n for n in range(len(manuscript.chapters)) if not chosen or n in chosen]
    report.incomplete = tuple(n for n in wanted if n in lacking)
    report.lacking = sum(step in book.selection for step in missing)
    shelf = products.shelf_of(manuscript.project, draft=draft)
    if missing:  # what listeners have already is delivered with the rest, as it is now
        delivered = {*wanted, *products.delivered(manuscript.project, shelf)} - lacking
    else:  # a book that is complete is delivered whole, whatever part of it was asked for
        delivered = set(range(len(manuscript.chapters)))
    report.doubtful = tuple(
        step
        for step in doubtful(book)
        if step.chapter in delivered or (step in missing and step in book.selection)
    )
    if report.result.cancelled:
        return
    report.finished = finish.finish(
        manuscript.project,
        manuscript.chapters,
        manuscript.cast,
        book.steps,
        book.store,
        chapters=sorted(delivered),
        whole=not missing,
        draft=draft,
        shelf=shelf,
        observer=observer,
        cancel=cancel,
    )
    if report.finished:
        products.settle(manuscript.project, report.finished, shelf)
    elif not cancel.is_set():
        report.earlier = tuple(finish.products(manuscript.project, draft=draft))
    report.superseded += tuple(shelf.moved)
    report.result.cancelled = cancel.is_set()


def _render(
    book: BookPlan, result: render.Result, observer: Observer, cancel: render.Cancel
) -> None:
    project, selection = book.manuscript.project, book.selection
    steps = [step for step in book.steps if step in selection]
    checks = project.manifest.checks
    log.info("engine %s; %d steps, %d to render", book.engine.identity(), len(steps),
             len(book.todo))  # fmt: skip
    render.render(
        steps,
        book.engine,
        book.store,
        result,
        voices=book.voices.contents,
        reference=_once(partial(book.voices.reference, tell=observer.starting)),
        rules=render.Rules(checks.tries, checks.loudness),
        forced=lambda step: selection.force and step.key not in result.renewed,
        observer=_Logged(observer),
        cancel=cancel,
        ear=ear_of(checks),
    )
    if result.rendered >= 5:  # fewer say nothing of the machine
        speeds = _speeds(project)
        # against what was expected, so that estimates of the same measure come out right
        speeds[book.engine.name] = round(result.expected / result.wall, 3)
        files.save_json(_speed_path(project), speeds)


def ear_of(checks: manifest.Checks) -> render.Ear | None:
    """What listens to takes, if the manifest wants them heard. Raises EngineUnavailable."""
    if checks.recognition == "never":
        return None
    from narrator import hearing
    from narrator.hearing.whisper import MlxWhisper

    return hearing.Listener(MlxWhisper(), checks.recognition, checks.text_error)


def _once(read: Callable[[str], Reference]) -> Callable[[str], Reference]:
    """Each speaker's reference is read when it is first wanted, and kept for the run."""
    return functools.cache(read)


@dataclass(frozen=True, slots=True)
class _Logged:
    """Tells the log what the observer is told."""

    observer: Observer

    def rendered(self, step: Step, record: Record) -> None:
        seconds = (record.stop - record.start) / record.sample_rate
        log.info("take %s %s: %.2f s, %.1f dB, try %d, %d part(s), %.1f s after its request",
                 step.id, step.key, seconds, record.level, record.attempt + 1, record.halves,
                 record.wall)  # fmt: skip
        if record.faults:
            log.warning("doubtful %s %s: %s", step.id, step.key, "; ".join(record.faults))
        self.observer.rendered(step, record)

    def retried(self, step: Step, faults: Sequence[str]) -> None:
        log.warning("again %s %s: %s", step.id, step.key, "; ".join(faults))
        self.observer.retried(step, faults)

    def flagged(self, step: Step, faults: Sequence[str]) -> None:
        log.error("given up %s %s: %s", step.id, step.key, "; ".join(faults))
        self.observer.flagged(step, faults)

    def starting(self, what: str) -> None:
        log.info("%s", what)
        self.observer.starting(what)

    def running(self, slots: int, busy: float, note: str) -> None:
        self.observer.running(slots, busy, note)

    def tick(self) -> None:
        self.observer.tick()


def deliverable(book: BookPlan, step: Step) -> Record | None:
    """The take of a step, where it fits and may be delivered now."""
    take = _take(book, step)
    held = book.manuscript.project.manifest.checks.strict
    return None if take is None or (held and is_doubtful(take, step)) else take


def given_up(book: BookPlan, step: Step) -> bool:
    """Whether a step that has nothing to deliver was spoken in vain, or is held back."""
    return book.store.flag(step.key) is not None or _take(book, step) is not None


def doubtful(book: BookPlan) -> list[Step]:
    """Steps whose takes failed their checks: the least bad of what was said, in reading order."""
    takes = ((step, _take(book, step)) for step in book.steps)
    return [step for step, take in takes if take and is_doubtful(take, step)]


def _take(book: BookPlan, step: Step) -> Record | None:
    """The take that is there and fits, good or doubtful."""
    voice = book.voices.contents.get(step.chunk.speaker)
    return book.store.find(step.key) if fits(step, book.store.find, voice) else None


def _missing(book: BookPlan) -> list[Step]:
    return [step for step in book.steps if deliverable(book, step) is None]


def _refuse_unspoken(report: Report) -> None:
    """Raises UsageError where chapters lack takes: an export does not make them."""
    incomplete = set(report.incomplete)
    lacking = {
        step.chapter
        for step in report.plan.steps
        if step.chapter in incomplete and _take(report.plan, step) is None
    }
    if lacking:
        names = ", ".join(str(n + 1) for n in sorted(lacking))
        raise UsageError(f"chapters {names} lack takes; `narrator render` makes them")


def _account(book: BookPlan, missing: Sequence[Step]) -> dict[str, int]:
    lacking = {step.key for step in missing}
    found = {"spoken": 0, "given_up": 0, "not_rendered": 0}
    for step in book.steps:
        size = characters(step.chunk.text)
        if step.key not in lacking:
            found["spoken"] += size
        elif given_up(book, step):
            found["given_up"] += size
        else:
            found["not_rendered"] += size
    return {**source_and_left_out(book.manuscript), **found}


def summary(report: Report) -> dict[str, Any]:
    """A run as JSON: counts, measured loudness, files, and what is missing."""
    result, steps = report.result, {step.key: step for step in report.plan.steps}
    return {
        "title": report.plan.manuscript.project.manifest.title,
        "engine": report.plan.engine.name,
        "chunks": len(steps),
        "rendered": result.rendered,
        "speech_seconds": round(result.seconds, 1),
        "wall_seconds": round(result.wall, 1),
        "real_time_factor": round(result.seconds / result.wall, 1) if result.rendered else None,
        "slots": result.slots,
        "engine_busy": round(result.busy, 3),
        "engine_note": result.note,
        "retries": result.retries,
        "lost_pins": [
            {"chunk": pin.chunk, "speaker": pin.speaker, "text": pin.text}
            for pin in report.plan.lost
        ],
        "given_up": [_fault_row(steps[key], faults) for key, faults in result.flags.items()],
        "doubtful": [
            _fault_row(step, record.faults)
            for step in report.doubtful
            if (record := report.plan.store.find(step.key))
        ],
        "incomplete_chapters": [n + 1 for n in report.incomplete],
        "cancelled": result.cancelled,
        "damaged_takes": list(report.plan.store.damaged),
        "damaged_rows": report.plan.store.misled,
        "characters": report.accounting,
        "stages": report.stages,
        "earlier_files": [str(path) for path in report.earlier],
        "superseded": [{"from": str(old), "to": str(new)} for old, new in report.superseded],
        **(report.finished.to_json() if report.finished else {"files": [], "chapters": []}),
    }


def _fault_row(step: Step, faults: Sequence[str]) -> dict[str, Any]:
    line = step.chunk.pieces[0].line
    return {
        "chunk": step.id,
        "source": f"{line.path.name}:{line.line}",
        "text": step.chunk.text,
        "faults": list(faults),
    }


@contextlib.contextmanager
def locked(project: Project) -> Iterator[None]:
    """One render a project. The lock goes with the process, however that ends."""
    try:
        project.build.mkdir(parents=True, exist_ok=True)
        lock = FileLock(project.build / ".lock", timeout=0)
        lock.acquire()
    except Timeout:
        raise Locked(
            f"{project.build}: another narrator is at work on this project; "
            "wait for it, or stop it first"
        ) from None
    except NotImplementedError:
        raise StorageError(f"{project.build}: this disk knows no locks; use another one") from None
    except OSError as error:
        raise StorageError(f"{project.build}: cannot be written: {files.reason(error)}") from None
    try:
        yield
    finally:
        lock.release()


class _Logbook(logging.Handler):
    """A run's log on disk. What it has no room for is lost: the log is no part of the work."""

    def __init__(self, path: Path) -> None:
        """Raises OSError."""
        super().__init__()
        self.path, self.fault = path, ""
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("ab", buffering=0)  # nothing waits that could fail later
        self.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._file.write(f"{self.format(record)}\n".encode(errors="backslashreplace"))
        except OSError as error:
            self.fault = files.reason(error)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._file.close()
        super().close()


@contextlib.contextmanager
def _logging(project: Project) -> Iterator[_Logbook]:
    """A log of every run stays in `build/logs`. Raises StorageError."""
    stamp = datetime.now(UTC).strftime("%Y-%m-%dT%H-%M-%S")
    path = project.build / "logs" / f"{stamp}-{os.getpid()}.log"
    with files.storage(path):
        handler = _Logbook(path)
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    log.propagate = False
    began = time.monotonic()
    try:
        yield handler
    except BaseException as error:
        log.error("stopped: %s: %s", type(error).__name__, error)
        raise
    finally:
        log.info("%.1f s", time.monotonic() - began)
        log.removeHandler(handler)
        handler.close()


# -- looking ---------------------------------------------------------------------------------------


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


def listed(book: BookPlan, *, draft: bool) -> list[tuple[Path, str]]:
    """Finished files, each with what is to be said of it: nothing where it is as it should be."""
    manuscript = book.manuscript
    return products.listed(
        manuscript.project,
        manuscript.chapters,
        manuscript.cast,
        book.steps,
        book.store,
        draft=draft and manuscript.project.engine.name != "draft",
    )
