"""Commands that look at a book before and between renders: plan, status, why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from narrator.cli.cluster import (
    Insecure,
    OnCluster,
    Tls,
    clusters_json,
    find_clusters,
    make_cluster_options,
    print_machines,
)
from narrator.cli.progress import stage
from narrator.cli.shared import (
    AsJson,
    Book,
    BookOption,
    Chapters,
    Chunks,
    Force,
    Speakers,
    app,
    display_path,
    err,
    out,
    parse_chunks,
    print_problems,
    shorten,
    source_location,
)
from narrator.quantities import format_bytes, list_first, pluralize
from narrator.sound.clock import format_clock

if TYPE_CHECKING:
    from narrator.pipeline.book_plan import BookPlan
    from narrator.pipeline.estimate import EngineShare, Estimate
    from narrator.pipeline.manuscript import Manuscript
    from narrator.pipeline.options import RenderOptions
    from narrator.speech.corrections import Correction
    from narrator.speech.plan import Step

MAX_LISTED_CHUNKS = 20
"""Chunks that are printed, of what may be thousands."""
_MAX_LISTED_DAMAGED = 12
"""Chunks with damaged takes that are named in the line about them."""


_MAX_CORRECTED = 20
"""Corrected takes that are listed."""


@app.command()
def plan(
    book: Book = Path("book.yaml"),
    chapter: Chapters = None,
    speaker: Speakers = None,
    force: Force = False,
    chunks: Annotated[
        bool,
        typer.Option(
            "--chunks", help="List each chunk with its number, speaker, reason and first words."
        ),
    ] = False,
    as_json: AsJson = False,
    cluster: OnCluster = None,
    tls: Tls = None,
    insecure: Insecure = False,
) -> None:
    """Show what a render would do, and why; nothing is rendered."""
    from narrator.cli.text import suggest_cast
    from narrator.pipeline.options import RenderOptions

    options = RenderOptions(
        chapters=tuple(chapter or ()),
        speakers=tuple(speaker or ()),
        force=force,
        cluster=make_cluster_options(cluster, tls, insecure),
    )
    planned = load_plan(book, options)
    print_plan(planned, as_json, list_chunks=chunks)
    if not as_json:
        suggest_cast(planned.manuscript, book)


def load_plan(book: Path, options: RenderOptions | None = None) -> BookPlan:
    """Reads a book and plans its render, or that of the chapters and speakers in the options."""
    from narrator.pipeline import book_engines, book_plan
    from narrator.pipeline.manuscript import read_manuscript
    from narrator.pipeline.options import RenderOptions

    options = options or RenderOptions()
    with stage(err, "reading the manuscript"):
        manuscript = read_manuscript(book).spoken_by(options.engine)
    selection = book_plan.select(manuscript, options)
    engines = book_engines.engines_for(manuscript.project, options.cluster)
    return book_plan.plan(manuscript, engines.main, selection, engines=engines.by_speaker)


def print_plan(book: BookPlan, as_json: bool, list_chunks: bool = False) -> None:
    from narrator.pipeline import book_engines, checking, estimate

    clusters = find_clusters(book.speaking)
    cluster_speeds = {
        estimate.speed_name(cluster.engine): cluster.speed
        for cluster in clusters
        if cluster.speed is not None
    }
    costs = estimate.estimate(book, cluster_speeds)
    chunk_rows = _chunk_rows(book) if list_chunks else []
    if as_json:
        plan_json = {**_plan_json(book, costs), "clusters": clusters_json(clusters)}
        if list_chunks:
            plan_json["chunks"] = [asdict(row) for row in chunk_rows]
        out.print_json(data=plan_json)
        return
    _print_chunks(chunk_rows)
    _print_tables(book)
    _print_reasons(book)
    print_lost_pins(book)
    print_machines(clusters)
    _print_costs(costs)
    if book.project.manifest.checks.best_of > 1:
        if len(book.todo) < len(book.steps):
            out.print("best_of: takes that exist stay; `render --force` makes them again")
        for engine in book.speaking:
            if not engine.is_random:
                out.print(f"best_of: {engine.name} has one reading of a text, and is asked once")
    if book.todo and not clusters:
        for note in book_engines.missing_models(book.project):
            out.print(f"missing: {note}")
    _print_outdated(book)
    warn_about_unspoken_text(book)
    warn_about_unsupported(book.manuscript)
    if cost := checking.stereo_cost(book.manuscript, book.sample_rate):
        err.print(f"warning: {cost}")


def _print_tables(book: BookPlan) -> None:
    """Prints the tables of chapters and of speakers."""
    chapters = Table("", "chapter", "chunks", "cached", "audio", box=None)
    for chapter in _chapter_rows(book):
        chapters.add_row(
            str(chapter.number), chapter.title, str(chapter.chunks), str(chapter.cached),
            format_clock(chapter.seconds),
        )  # fmt: skip
    out.print(chapters)
    has_several_engines = len(book.speaking) > 1
    cast = Table("speaker", "chunks", "audio", *["engine"] * has_several_engines, box=None)
    for speaker in _speaker_rows(book):
        engine = [speaker.engine] * has_several_engines
        cast.add_row(speaker.speaker, str(speaker.chunks), format_clock(speaker.seconds), *engine)
    out.print(cast)


def _print_costs(costs: Estimate) -> None:
    best_of = f", the best of {costs.best_of} tries each" if costs.best_of > 1 else ""
    out.print(f"to render: {format_clock(costs.speech_seconds)} of speech{best_of}; "
              f"time: {_describe_time(costs.wall_seconds)}; "
              f"disk: {format_bytes(costs.disk_bytes)} of {format_bytes(costs.free_bytes)} free; "
              f"finished files: about {format_bytes(costs.file_bytes)}")  # fmt: skip
    for cost in costs.engines if len(costs.engines) > 1 else ():
        speech = format_clock(cost.speech_seconds)
        out.print(f"  {cost.engine}: {speech} of speech; time: {_describe_time(cost.wall_seconds)}")
    if costs.sent_characters is not None:
        price = f", {costs.price}" if costs.price else ""
        out.print(f"to send: {costs.sent_characters:,} characters{price}; chunks that are tried "
                  "again are sent again")  # fmt: skip


def _describe_time(seconds: float | None) -> str:
    return "not measured yet" if seconds is None else f"about {format_clock(seconds)}"


def _print_outdated(book: BookPlan) -> None:
    """Prints the finished files that a render would make anew."""
    from narrator.delivery import products

    paths = products.list_outdated_files(book, book.selection.chapters)
    for path in paths[:MAX_LISTED_CHUNKS]:
        out.print(f"made again: {display_path(path)}")
    if (hidden_count := len(paths) - MAX_LISTED_CHUNKS) > 0:
        out.print(f"made again: {hidden_count} more; `--json` has all")


def _plan_json(book: BookPlan, costs: Estimate) -> dict[str, object]:
    from narrator.delivery import products
    from narrator.pipeline import book_engines, book_plan

    def costs_json(cost: Estimate | EngineShare) -> dict[str, float | None]:
        return {
            "seconds_to_render": round(cost.speech_seconds, 1),
            "expected_wall_seconds": None
            if cost.wall_seconds is None
            else round(cost.wall_seconds, 1),
        }

    return {
        "engine": book.engine.name,
        "chapters": [asdict(row) for row in _chapter_rows(book)],
        "speakers": [asdict(row) for row in _speaker_rows(book)],
        "reasons": {str(reason): count for reason, count in book_plan.count_reasons(book).items()},
        "todo": [
            {"id": step.id, "key": step.key, "why": str(book.why[step.key].reason)}
            for step in book.todo
        ],
        **costs_json(costs),
        "by_engine": [{"engine": cost.engine, **costs_json(cost)} for cost in costs.engines],
        "disk_bytes": costs.disk_bytes,
        "finished_bytes": costs.file_bytes,
        "disk_free_bytes": costs.free_bytes,
        "characters_to_send": costs.sent_characters,
        "price": costs.price or None,
        "missing_models": book_engines.missing_models(book.project),
        "files_made_anew": [
            str(path) for path in products.list_outdated_files(book, book.selection.chapters)
        ],
    }


def _print_reasons(book: BookPlan) -> None:
    """Prints the number of chunks for each reason to render, and what changed in some."""
    from narrator.pipeline import book_plan
    from narrator.speech.reasons import REASON_TEXTS

    for reason, count in book_plan.count_reasons(book).items():
        out.print(f"{count:6} {reason}: {REASON_TEXTS[reason]}")
    changed_steps = [step for step in book.todo if book.why[step.key].changes]
    for step in changed_steps[:MAX_LISTED_CHUNKS]:
        changes = "; ".join(book.why[step.key].changes)
        out.print(f"       {step.id} {source_location(step.chunk)}: {changes}")
    if (hidden_count := len(changed_steps) - MAX_LISTED_CHUNKS) > 0:
        out.print(f"       and {hidden_count} more; `narrator why CHUNK` shows each")


@dataclass(frozen=True, slots=True)
class _ChapterRow:
    number: int
    title: str
    chunks: int
    cached: int
    seconds: float


@dataclass(frozen=True, slots=True)
class _SpeakerRow:
    speaker: str
    chunks: int
    seconds: float
    engine: str


@dataclass(frozen=True, slots=True)
class _ChunkRow:
    id: str
    chapter: int
    speaker: str
    with_before: bool
    """True if it is spoken together with the one before."""
    reason: str
    render: bool
    source: str
    text: str
    seconds: float
    key: str


def _chunk_rows(book: BookPlan) -> list[_ChunkRow]:
    """Returns the rows of the selected chunks, in reading order."""
    return [
        _ChunkRow(
            id=step.id,
            chapter=step.chapter + 1,
            speaker=step.chunk.speaker,
            with_before=step.with_before,
            reason=str(book.why[step.key].reason),
            render=book.why[step.key].render,
            source=source_location(step.chunk),
            text=step.chunk.text,
            seconds=round(step.expected, 1),
            key=step.key,
        )
        for step in book.steps
        if step in book.selection
    ]


def _print_chunks(rows: Sequence[_ChunkRow]) -> None:
    """Prints chunks in columns; a table of rich would take a second for each thousand."""
    id_width = max((len(row.id) for row in rows), default=0)
    name_width = max((len(row.speaker) for row in rows), default=0)
    for row in rows:
        out.print(
            f"{row.id:>{id_width}}  {row.speaker:{name_width}}  {row.reason:8}  {shorten(row.text)}"
        )


def _chapter_rows(book: BookPlan) -> list[_ChapterRow]:
    """Returns the rows of the chapters that have selected chunks."""
    from narrator.text.chunks import group_unison

    rows = []
    for index, chapter_steps in groupby(book.steps, key=lambda step: step.chapter):
        unison_groups = [
            [step for step in steps if step in book.selection]
            for steps in group_unison(chapter_steps)
        ]
        selected_steps = [step for steps in unison_groups for step in steps]
        if not selected_steps:
            continue
        # chunks in unison are heard at the same time
        seconds = sum(max((s.expected for s in steps), default=0.0) for steps in unison_groups)
        rows.append(
            _ChapterRow(
                number=index + 1,
                title=book.chapters[index].title,
                chunks=len(selected_steps),
                cached=sum(not book.why[step.key].render for step in selected_steps),
                seconds=round(seconds, 1),
            )
        )
    return rows


def _speaker_rows(book: BookPlan) -> list[_SpeakerRow]:
    """Returns the rows of the cast, without speakers whose only lines are those of others."""
    speakers = book.manuscript.project.speakers
    rows = []
    for name in book.cast:
        steps = [
            step for step in book.steps if step.chunk.speaker == name and step in book.selection
        ]
        if not steps and name in speakers and speakers[name].plays:
            continue
        seconds = round(sum(step.expected for step in steps), 1)
        rows.append(_SpeakerRow(name, len(steps), seconds, book.engines[name].name))
    return rows


@app.command()
def status(
    book: Book = Path("book.yaml"),
    deep: Annotated[
        bool,
        typer.Option(
            "--deep", help="Read every byte of takes and tries, not only of finished files."
        ),
    ] = False,
    steadiness: Annotated[
        bool,
        typer.Option(
            "--steadiness",
            help="Show whether each voice stays the same, and which takes stand out.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show the state of a book: takes, chunks and finished files. Names chunks that are doubtful or
    given up, and what was altered on disk."""
    planned = load_plan(book)
    if steadiness:
        from narrator.cli.steadiness import measure_steadiness, print_steadiness, steadiness_json

        measured = measure_steadiness(planned, quiet=as_json)
        if as_json:
            out.print_json(data=steadiness_json(measured))
        else:
            take_count = len({s.key for s in planned.steps if planned.takes.current(s)})
            print_steadiness(measured, take_count)
            _print_corrections(planned)
            if not take_count:
                hints = describe_other_takes(planned, planned.steps[:1], "status --steadiness")
                out.print(*hints.values())
            if outliers := measured.outliers:
                out.print(f"{outliers[0].step.id}: {describe_retake(planned, [outliers[0].step])}")
        return
    damaged_tries: Sequence[Path] = ()
    if deep:
        damaged_tries = list(planned.store.damaged_tries())
        planned = _plan_after_reading_takes(planned)
    if as_json:
        out.print_json(data=_status_json(planned, deep, damaged_tries))
    else:
        _print_status(planned, deep, damaged_tries)


def _print_corrections(book: BookPlan) -> None:
    """Prints the takes that are corrected for delivery; they are compared as spoken."""
    from narrator.delivery import layout

    if corrections := layout.corrections(book, book.steps):
        count = len(corrections)
        rows = [f"{name} {correction}" for name, correction in corrections.items()]
        out.print(
            f"{pluralize(count, 'take')} {'is' if count == 1 else 'are'} corrected in the files: "
            f"{list_first(rows, _MAX_CORRECTED)}"
        )


def _plan_after_reading_takes(book: BookPlan) -> BookPlan:
    """Reads every byte of all takes, also of unused ones, and plans anew what is damaged."""
    from narrator.pipeline import book_plan

    for key, _ in book.store.stored():
        book.store.is_intact(key)
    return book_plan.plan(
        book.manuscript, book.engine, book.selection, engines=book.engines, store=book.store
    )


def _status_json(book: BookPlan, deep: bool, damaged_tries: Sequence[Path]) -> dict[str, object]:
    from narrator.delivery import products
    from narrator.pipeline.losses import losses_of

    files = products.list_sound_files(book)
    return {
        "engine": book.engine.name,
        "chapters": [asdict(row) for row in _chapter_rows(book)],
        "given_up": [step.id for step, _ in _find_given_up(book)],
        "doubtful": [step.id for step in book.doubtful],
        "files": [str(path) for path, note in files if not note],
        "other_files": [str(path) for path, note in files if note],
        "losses": list(losses_of(book).messages()),
        "faulty_files": {str(path): note for path, note in products.list_faulty_files(book)},
        "damaged_takes": list(book.store.damaged),
        "damaged_tries": [str(path) for path in damaged_tries],
        "takes_compared_by": "contents" if deep else "size and time",
    }


def _print_status(book: BookPlan, deep: bool, damaged_tries: Sequence[Path]) -> None:
    from narrator.delivery import products
    from narrator.pipeline.losses import losses_of

    chapters, doubtful, given_up = _chapter_rows(book), book.doubtful, _find_given_up(book)
    withheld_chapters = {step.chapter + 1 for step in doubtful} if book.takes.strict else set()
    for chapter in chapters:
        if chapter.number in withheld_chapters:
            progress = "held back"
        elif chapter.cached == chapter.chunks:
            progress = "done"
        else:
            progress = f"{chapter.cached}/{chapter.chunks}"
        out.print(f"{chapter.number:4}  {progress:>9}  {chapter.title}")
    cached_count = sum(chapter.cached for chapter in chapters)
    chunk_count = sum(chapter.chunks for chapter in chapters)
    out.print(f"{cached_count} of {chunk_count} chunks ({book.engine_names})")
    if not cached_count and (hint := book.folders.hint_at_others()):
        err.print(hint.removeprefix("; "))
    for step, faults in given_up:
        out.print(f"given up: {step.id} {source_location(step.chunk)}: {'; '.join(faults)}")
    if given_up:
        first, _ = given_up[0]
        out.print(f"`narrator takes {first.id}` shows what was tried; `pin` and `retake` choose")
    print_doubtful(book, doubtful, out.print)
    print_lost_pins(book)
    warn_about_unspoken_text(book)
    for path, note in products.list_sound_files(book):
        note_text = f"  {note}" if note else ""
        out.print(f"{display_path(path)}  {format_bytes(path.stat().st_size)}{note_text}")
    for message in losses_of(book).messages():
        out.print(message)
    for path, note in products.list_faulty_files(book):
        out.print(f"{display_path(path)}  {note}")
    _print_damage(book, damaged_tries)
    takes = "takes too" if deep else "takes by size and time; --deep reads them too"
    out.print(f"compared byte for byte: finished files, companions, encoded chapters; {takes}")


def _print_damage(book: BookPlan, damaged_tries: Sequence[Path]) -> None:
    """Prints the takes and tries that were altered on disk, and what to do about them."""
    damaged_keys = set(book.store.damaged)
    chunk_names = {step.key: step.id for step in book.steps if step.key in damaged_keys}
    pins = book.store.pins().values()
    chunk_names |= {pin.take: pin.chunk for pin in pins if pin.take in damaged_keys}
    if chunk_names:
        listed_names = ", ".join(list(chunk_names.values())[:_MAX_LISTED_DAMAGED])
        remedy = f"`narrator render{book.folders.option}` renders them again"
        count = pluralize(len(chunk_names), "take")
        out.print(f"{count} altered on disk: {listed_names}; {remedy}")
    if unused_keys := damaged_keys - chunk_names.keys():
        count = pluralize(len(unused_keys), "take")
        out.print(f"{count} altered on disk that the book does not use now; rendered again if used")
    for path in damaged_tries:
        out.print(f"{display_path(path)}  altered on disk: this try cannot be heard or pinned")


def _find_given_up(book: BookPlan) -> list[tuple[Step, Sequence[str]]]:
    """Returns the steps that were tried and given up, with their faults."""
    return [
        (step, flag.faults)
        for step in book.steps
        if book.why[step.key].render and (flag := book.store.flag(step.key))
    ]


@app.command()
def why(
    chunks: Chunks,
    book: BookOption = None,
    as_json: AsJson = False,
) -> None:
    """Explain why chunks will or will not be rendered. Shows what goes into their takes. With
    --json: an object for one chunk, a list for several."""
    from narrator.delivery import layout
    from narrator.pipeline import book_plan

    names, book_path = parse_chunks(chunks, book)
    planned = load_plan(book_path)
    steps = book_plan.find_steps(planned, names)
    corrections = layout.corrections(planned, steps)
    if as_json:
        rows = [_why_json(planned, step, corrections.get(step.id)) for step in steps]
        out.print_json(data=rows if len(names) > 1 else rows[0])
        return
    hints = describe_other_takes(planned, steps, "why")
    for step in steps:
        if step is not steps[0]:
            out.print()
        _print_why(planned, step, corrections.get(step.id))
        if step.id in hints:
            out.print(hints[step.id])


def describe_other_takes(book: BookPlan, steps: Sequence[Step], command: str) -> dict[str, str]:
    """Returns how a command shows the takes of other engines, by the ids of chunks that have none
    of their own."""
    from narrator.engines.registry import ENGINES
    from narrator.pipeline import retakes

    return {
        id: "\n".join(
            f"{ENGINES[plan.engine.name].title} has spoken it: "
            f"`narrator {command} {id}{plan.folders.option}` says more"
            for plan in plans
        )
        for id, plans in retakes.find_spoken_otherwise(book, steps).items()
    }


def _why_json(book: BookPlan, step: Step, correction: Correction | None) -> dict[str, object]:
    reason, record = book.why[step.key], book.store.find(step.key)
    return {
        "id": step.id,
        "key": step.key,
        "reason": str(reason.reason),
        "changes": list(reason.changes),
        "faults": list(record.faults) if record else [],
        "recipe": dict(step.recipe),
        "attempt": record.attempt if record else None,
        "correction": asdict(correction) if correction else None,
    }


def _print_why(book: BookPlan, step: Step, correction: Correction | None) -> None:
    from narrator.pipeline import retakes

    reason, record = book.why[step.key], book.store.find(step.key)
    out.print(f"{step.id}  {source_location(step.chunk)}  {step.chunk.speaker}")
    out.print(f"text:   {step.chunk.text}")
    out.print(f"spoken: {step.text}")
    if phonemes := step.recipe.get("phonemes"):
        out.print(f"phonemes: {phonemes}")
    out.print(str(reason))
    if record:
        tries = retakes.tries_of(book, step)
        number = next((chunk_try.number for chunk_try in tries if chunk_try.in_use), 1)
        attempt = f", made at attempt {record.attempt + 1}" if record.attempt else ""
        out.print(f"take: {record.seconds:.1f} s, {record.level:.1f} dB, try {number}{attempt}")
        if correction:
            out.print(f"corrected in the files: {correction}")
    out.print(f"key: {step.key}" + (f", continues {step.parent[:12]}" if step.parent else ""))


# -- what a user has to know or do -----------------------------------------------------------------


def warn_about_unspoken_text(book: BookPlan) -> None:
    """Warns of text that engines leave out: in other languages, and parts without a sound."""
    from narrator.pipeline.checking import find_silent_parts
    from narrator.pipeline.manuscript import find_unspoken

    print_problems("warning", find_unspoken(book.manuscript))
    print_problems("warning", list(find_silent_parts(book.manuscript)))


def warn_about_unsupported(manuscript: Manuscript) -> None:
    """Warns of settings that an engine, or languages that the recogniser, does not support."""
    from narrator.pipeline import checking

    print_problems("warning", list(checking.find_unsupported_settings(manuscript)))
    print_problems("warning", list(checking.find_unrecognised_languages(manuscript)))


def print_lost_pins(book: BookPlan) -> None:
    """Prints the pins of chunks whose text is no longer in the book."""
    for pin in book.lost:
        out.print(
            f"pinned, but its text has changed: {pin.chunk} {pin.speaker}: {shorten(pin.text)}"
        )
    if book.lost:
        out.print(
            "`narrator unpin --lost` forgets these pins; `narrator takes CHUNK` shows new takes"
        )


def print_doubtful(
    book: BookPlan, steps: Sequence[Step], print_line: Callable[[str], None]
) -> None:
    """Prints doubtful takes, and how they are mended or accepted."""
    if not steps:
        return
    for step in steps[:MAX_LISTED_CHUNKS]:
        take = book.takes.take(step.key)
        faults = "; ".join(take.faults if take else ())
        location, text = source_location(step.chunk), shorten(step.chunk.text)
        print_line(f"doubtful: {step.id} {location}: {text} ({faults})")
    if (hidden_count := len(steps) - MAX_LISTED_CHUNKS) > 0:
        print_line(f"doubtful: {hidden_count} more; `--json` and the studio have all")
    consequence = "its chapter is held back" if book.takes.strict else "the least bad is used"
    count, remedy = pluralize(len(steps), "chunk"), describe_remedy(book, steps[:1])
    print_line(f"{count} without a take free of faults, so {consequence}: {remedy}")


def describe_remedy(
    book: BookPlan, steps: Sequence[Step], first_pronoun: str = "it", all_pronoun: str = "it"
) -> str:
    """Returns the commands that hear and accept the take of the first step, and retake all steps.

    The pronouns stand for the first take and for all takes.
    """
    hints = describe_retake(book, steps, first_pronoun, all_pronoun)
    first, option = steps[0], book.folders.option
    return f"{hints}, `narrator pin {first.id} 1{option}` to accept {first_pronoun}"


def describe_retake(
    book: BookPlan, steps: Sequence[Step], first_pronoun: str = "it", all_pronoun: str = "it"
) -> str:
    """Returns the commands that hear the take of the first step, and retake all steps, if their
    engine can speak them otherwise."""
    first, option = steps[0], book.folders.option
    names = " ".join(step.id for step in steps)
    hints = [f"`narrator takes {first.id}{option} --out listen` to hear {first_pronoun}"]
    if book.engines[first.chunk.speaker].is_random:
        hints.append(f"`narrator retake {names}{option}` to speak {all_pronoun} again")
    return ", ".join(hints)
