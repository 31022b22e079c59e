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
    find_clusters,
    machines_json,
    print_machines,
    wish_of,
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
    one_chunk,
    out,
    print_problems,
    shorten,
    source,
)
from narrator.quantities import format_bytes, pluralize
from narrator.sound.clock import format_clock

if TYPE_CHECKING:
    from narrator.pipeline.book_plan import BookPlan
    from narrator.pipeline.estimate import Estimate
    from narrator.pipeline.options import RenderOptions
    from narrator.speech.plan import Step

LISTED = 20
"""Chunks that are said one by one."""


@app.command()
def plan(
    book: Book = Path("book.yaml"),
    chapter: Chapters = None,
    speaker: Speakers = None,
    force: Force = False,
    chunks: Annotated[
        bool, typer.Option("--chunks", help="Each chunk: name, speaker, why, first words.")
    ] = False,
    as_json: AsJson = False,
    cluster: OnCluster = None,
    tls: Tls = None,
    insecure: Insecure = False,
) -> None:
    """Show what a render would do, and why; nothing is rendered."""
    from narrator.cli.text import tell_of_cast
    from narrator.pipeline.options import RenderOptions

    options = RenderOptions(
        chapters=tuple(chapter or ()),
        speakers=tuple(speaker or ()),
        force=force,
        cluster=wish_of(cluster, tls, insecure),
    )
    planned = plan_of(book, options)
    print_plan(planned, as_json, chunks)
    if not as_json:
        tell_of_cast(planned.manuscript, book)


def plan_of(book: Path, options: RenderOptions | None = None) -> BookPlan:
    """The plan of a book, or of the part that is asked for."""
    from narrator.pipeline import book_engines, book_plan
    from narrator.pipeline.manuscript import read_manuscript
    from narrator.pipeline.options import RenderOptions

    options = options or RenderOptions()
    with stage(err, "reading the manuscript"):
        manuscript = read_manuscript(book).spoken_by(options.engine)
    selection = book_plan.select(manuscript, options)
    engines = book_engines.engines_for(manuscript.project, options.cluster)
    return book_plan.plan(manuscript, engines.main, selection, engines=engines.by_speaker)


def print_plan(book: BookPlan, as_json: bool, chunks: bool = False) -> None:
    from narrator.pipeline import book_engines, checking, estimate

    clusters = find_clusters(book.speaking)
    costs = estimate.estimate(
        book,
        {
            estimate.speed_name(cluster.engine): cluster.speed
            for cluster in clusters
            if cluster.speed is not None
        },
    )
    if as_json:
        rows = {"chunks": [asdict(row) for row in _chunk_rows(book)]} if chunks else {}
        plan_fields = {**_plan_json(book, costs), "clusters": machines_json(clusters), **rows}
        out.print_json(data=plan_fields)
        return
    if chunks:
        _print_chunks(_chunk_rows(book))
    table = Table("", "chapter", "chunks", "cached", "audio", box=None)
    for row in _chapter_rows(book):
        table.add_row(str(row.number), row.title, str(row.chunks), str(row.cached),
                      format_clock(row.seconds))  # fmt: skip
    out.print(table)
    several = len(book.speaking) > 1
    cast = Table("speaker", "chunks", "audio", *["engine"] * several, box=None)
    for cluster in _speaker_rows(book):
        engine = [cluster.engine] * several
        cast.add_row(cluster.speaker, str(cluster.chunks), format_clock(cluster.seconds), *engine)
    out.print(cast)
    _print_reasons(book)
    print_lost(book)
    print_machines(clusters)
    _print_costs(costs)
    if book.todo and not clusters:
        for note in book_engines.missing_models(book.project):
            out.print(f"missing: {note}")
    _print_outdated(book)
    warn_of_unspoken(book)
    warn_of_unasked(book)
    if cost := checking.stereo_cost(book.manuscript, book.sample_rate):
        err.print(f"warning: {cost}")


def _print_costs(costs: Estimate) -> None:
    wall = (
        "not measured yet"
        if costs.wall_seconds is None
        else f"about {format_clock(costs.wall_seconds)}"
    )
    out.print(f"to render: {format_clock(costs.speech_seconds)} of speech; time: {wall}; "
              f"disk: {format_bytes(costs.disk_bytes)} of {format_bytes(costs.free_bytes)} free; "
              f"finished files: about {format_bytes(costs.file_bytes)}")  # fmt: skip
    for engine_cost in costs.engines if len(costs.engines) > 1 else ():
        took = (
            "not measured yet"
            if engine_cost.wall_seconds is None
            else f"about {format_clock(engine_cost.wall_seconds)}"
        )
        out.print(
            f"  {engine_cost.engine}: {format_clock(engine_cost.speech_seconds)} of speech; "
            f"time: {took}"
        )
    if costs.sent_characters is not None:
        price = f", {costs.price}" if costs.price else ""
        out.print(f"to send: {costs.sent_characters:,} characters{price}; chunks that are tried "
                  "again are sent again")  # fmt: skip


def _print_outdated(book: BookPlan) -> None:
    from narrator.delivery import products

    paths = products.list_outdated_files(book, book.selection.chapters)
    for path in paths[:LISTED]:
        out.print(f"made anew: {display_path(path)}")
    if (hidden_count := len(paths) - LISTED) > 0:
        out.print(f"made anew: {hidden_count} more; `--json` has all")


def _plan_json(book: BookPlan, costs: Estimate) -> dict[str, object]:
    from narrator.delivery import products
    from narrator.pipeline import book_engines, book_plan

    return {
        "engine": book.engine.name,
        "chapters": [asdict(row) for row in _chapter_rows(book)],
        "speakers": [asdict(row) for row in _speaker_rows(book)],
        "reasons": {str(reason): count for reason, count in book_plan.count_reasons(book).items()},
        "todo": [{"id": s.id, "key": s.key, "why": str(book.why[s.key].reason)} for s in book.todo],
        "seconds_to_render": round(costs.speech_seconds, 1),
        "expected_wall_seconds": None
        if costs.wall_seconds is None
        else round(costs.wall_seconds, 1),
        "by_engine": [
            {
                "engine": engine_cost.engine,
                "seconds_to_render": round(engine_cost.speech_seconds, 1),
                "expected_wall_seconds": None
                if engine_cost.wall_seconds is None
                else round(engine_cost.wall_seconds, 1),
            }
            for engine_cost in costs.engines
        ],
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
    """Prints the number of chunks for each reason to render, and the changes."""
    from narrator.pipeline import book_plan
    from narrator.speech.reasons import REASON_TEXTS

    for reason, number in book_plan.count_reasons(book).items():
        out.print(f"{number:6} {reason}: {REASON_TEXTS[reason]}")
    changed = [step for step in book.todo if book.why[step.key].changes]
    for step in changed[:LISTED]:
        changes = "; ".join(book.why[step.key].changes)
        out.print(f"       {step.id} {source(step.chunk)}: {changes}")
    if len(changed) > LISTED:
        out.print(f"       and {len(changed) - LISTED} more; `narrator why CHUNK` shows each")


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
    """Every chunk that is chosen, in reading order."""
    return [
        _ChunkRow(
            id=step.id,
            chapter=step.chapter + 1,
            speaker=step.chunk.speaker,
            with_before=step.with_before,
            reason=str(book.why[step.key].reason),
            render=book.why[step.key].render,
            source=source(step.chunk),
            text=step.chunk.text,
            seconds=round(step.expected, 1),
            key=step.key,
        )
        for step in book.steps
        if step in book.selection
    ]


def _print_chunks(rows: Sequence[_ChunkRow]) -> None:
    """Lines in columns: a table of rich takes a second for each thousand of them."""
    wide = max((len(row.id) for row in rows), default=0)
    name_width = max((len(row.speaker) for row in rows), default=0)
    for row in rows:
        out.print(
            f"{row.id:>{wide}}  {row.speaker:{name_width}}  {row.reason:8}  {shorten(row.text)}"
        )


def _chapter_rows(book: BookPlan) -> list[_ChapterRow]:
    """The rows of chapters with chosen chunks."""
    from narrator.text.chunks import group_unison

    rows = []
    for number, chapter_steps in groupby(book.steps, key=lambda step: step.chapter):
        groups = [
            [step for step in steps if step in book.selection]
            for steps in group_unison(chapter_steps)
        ]
        chosen = [step for steps in groups for step in steps]
        if not chosen:
            continue
        cached = sum(not book.why[step.key].render for step in chosen)
        # what several say in unison is heard once
        seconds = sum(max((step.expected for step in steps), default=0.0) for steps in groups)
        title = book.chapters[number].title
        rows.append(_ChapterRow(number + 1, title, len(chosen), cached, round(seconds, 1)))
    return rows


def _speaker_rows(book: BookPlan) -> list[_SpeakerRow]:
    """The rows of the cast, without silent speakers who play others."""
    speakers = book.manuscript.project.speakers
    rows = []
    for name in book.cast:
        steps = [s for s in book.steps if s.chunk.speaker == name and s in book.selection]
        if not steps and name in speakers and speakers[name].plays:
            continue
        seconds = round(sum(step.expected for step in steps), 1)
        rows.append(_SpeakerRow(name, len(steps), seconds, book.engines[name].name))
    return rows


@app.command()
def status(
    book: Book = Path("book.yaml"),
    deep: Annotated[
        bool, typer.Option("--deep", help="Read every byte of takes and tries, not only of files.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show how far a project is: takes, chunks given up or doubtful, finished files; and what of
    it was altered on disk."""
    planned = plan_of(book)
    damaged_tries: Sequence[Path] = ()
    if deep:
        damaged_tries = list(planned.store.damaged_tries())
        planned = _read_takes(planned)
    if as_json:
        out.print_json(data=_status_json(planned, deep, damaged_tries))
    else:
        _print_status(planned, deep, damaged_tries)


def _read_takes(book: BookPlan) -> BookPlan:
    """The plan after every byte of all takes was read, also of those that it does not use."""
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
        "given_up": [step.id for step, _ in _given_up(book)],
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

    rows, doubtful, given_up = _chapter_rows(book), book.doubtful, _given_up(book)
    withheld_chapters = {step.chapter + 1 for step in doubtful} if book.takes.strict else set()
    for row in rows:
        out.print(f"{row.number:4}  {_state(row, row.number in withheld_chapters):>9}  {row.title}")
    cached_count, chunks = sum(row.cached for row in rows), sum(row.chunks for row in rows)
    out.print(f"{cached_count} of {chunks} chunks ({book.engine_names})")
    for step, faults in given_up:
        out.print(f"given up: {step.id} {source(step.chunk)}: {'; '.join(faults)}")
    if given_up:
        first, _ = given_up[0]
        out.print(f"`narrator takes {first.id}` shows what was tried; `pin` and `retake` choose")
    print_doubtful(book, doubtful, out.print)
    print_lost(book)
    warn_of_unspoken(book)
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
    """Takes and tries that were altered on disk, and what becomes of them."""
    damaged = set(book.store.damaged)
    names = {step.key: step.id for step in book.steps if step.key in damaged}
    names |= {p.take: p.chunk for p in book.store.pins().values() if p.take in damaged}
    if names:
        listed = ", ".join(list(names.values())[:12])
        again = f"`narrator render{book.folders.option}` renders them again"
        out.print(f"{pluralize(len(names), 'take')} altered on disk: {listed}; {again}")
    if unused := damaged - names.keys():
        takes = pluralize(len(unused), "take")
        out.print(f"{takes} altered on disk that the book does not use now; rendered again if used")
    for path in damaged_tries:
        out.print(f"{display_path(path)}  altered on disk: this try cannot be heard or pinned")


def _given_up(book: BookPlan) -> list[tuple[Step, Sequence[str]]]:
    """Steps that were spoken in vain, with their faults."""
    return [
        (step, flag.faults)
        for step in book.steps
        if book.why[step.key].render and (flag := book.store.flag(step.key))
    ]


def _state(row: _ChapterRow, held_back: bool) -> str:
    if held_back:
        return "held back"
    return "done" if row.cached == row.chunks else f"{row.cached}/{row.chunks}"


@app.command()
def why(
    chunk: Chunks,
    book: BookOption = None,
    as_json: AsJson = False,
) -> None:
    """Say why a chunk will or will not be rendered, and what went into it."""
    from narrator.pipeline import book_plan

    name, book_path = one_chunk(chunk, book)
    planned = plan_of(book_path)
    step = book_plan.find_step(planned, name)
    reason, record = planned.why[step.key], planned.store.find(step.key)
    if as_json:
        out.print_json(
            data={
                "id": step.id,
                "key": step.key,
                "reason": str(reason.reason),
                "changes": list(reason.changes),
                "faults": list(record.faults) if record else [],
                "recipe": dict(step.recipe),
                "attempt": record.attempt if record else None,
            }
        )
        return
    out.print(f"{step.id}  {source(step.chunk)}  {step.chunk.speaker}")
    out.print(f"text:   {step.chunk.text}")
    out.print(f"spoken: {step.text}")
    if phonemes := step.recipe.get("phonemes"):
        out.print(f"phonemes: {phonemes}")
    out.print(str(reason))
    if record:
        out.print(f"take: {record.seconds:.1f} s, {record.level:.1f} dB, try {record.attempt + 1}")
    out.print(f"key: {step.key}" + (f", continues {step.parent[:12]}" if step.parent else ""))


# -- what stays to be done --


def warn_of_unspoken(book: BookPlan) -> None:
    """Prints what the engines leave out: text in other languages, and parts without a sound."""
    from narrator.pipeline.checking import find_silent_parts
    from narrator.pipeline.manuscript import find_unspoken

    print_problems("warning", find_unspoken(book.manuscript))
    print_problems("warning", list(find_silent_parts(book.manuscript)))


def warn_of_unasked(book: BookPlan) -> None:
    """Say what the manifest asks for that its engines cannot be asked."""
    from narrator.pipeline import checking

    print_problems(
        "warning",
        list(checking.find_unsupported_settings(book.manuscript)),
    )
    print_problems("warning", list(checking.find_unrecognised_languages(book.manuscript)))


def print_lost(book: BookPlan) -> None:
    for pin in book.lost:
        out.print(
            f"pinned, but its text has changed: {pin.chunk} {pin.speaker}: {shorten(pin.text)}"
        )
    if book.lost:
        out.print(
            "`narrator unpin --lost` forgets these pins; `narrator takes CHUNK` shows new takes"
        )


def print_doubtful(book: BookPlan, steps: Sequence[Step], say: Callable[[str], None]) -> None:
    """Prints doubtful takes, and how they are mended or accepted."""
    if not steps:
        return
    for step in steps[:LISTED]:
        take = book.takes.take(step.key)
        faults = "; ".join(take.faults if take else ())
        say(f"doubtful: {step.id} {source(step.chunk)}: {shorten(step.chunk.text)} ({faults})")
    if len(steps) > LISTED:
        say(f"doubtful: {len(steps) - LISTED} more; `--json` and `narrator report` have all")
    fate = "its chapter is held back" if book.takes.strict else "the least bad is used"
    say(f"{pluralize(len(steps), 'chunk')} without a take free of faults, so {fate}: "
        + describe_remedy(book, steps[:1]))  # fmt: skip


def describe_remedy(
    book: BookPlan, steps: Sequence[Step], pronoun: str = "it", every: str = "it"
) -> str:
    """Describes the remedy for doubtful takes; `pronoun` stands for one, `every` for all."""
    first, draft = steps[0], book.folders.option
    names = " ".join(step.id for step in steps)
    hints = [f"`narrator takes {first.id}{draft} --out listen` to hear {pronoun}"]
    if "seed" in book.engines[first.chunk.speaker].sound_parameters:
        hints.append(f"`narrator retake {names}{draft}` to speak {every} anew")
    return ", ".join([*hints, f"`narrator pin {first.id} 0{draft}` to accept {pronoun}"])
