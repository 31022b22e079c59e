"""Turns a reading of the book into JSON: its chapters, their chunks, one chunk with its tries.

Knows no requests; changes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from narrator.engines import Engine
from narrator.engines.registry import ENGINES
from narrator.engines.voice import Voice
from narrator.errors import Problem
from narrator.pipeline import places, retakes
from narrator.pipeline.book_plan import BookPlan
from narrator.pipeline.estimate import shares_of, total_wall_seconds
from narrator.pipeline.manuscript import find_unspoken
from narrator.pipeline.pickups import Pickup
from narrator.pipeline.retakes import Try
from narrator.sound.assemble import Timeline
from narrator.speech import scores
from narrator.speech.plan import Step
from narrator.speech.reasons import Reason
from narrator.speech.store import Record
from narrator.studio.attribution import certainties_of
from narrator.studio.chunk_states import RENDERED, STATE_ORDER, ChunkState
from narrator.studio.desk_rows import desk_row
from narrator.studio.lengths import ChapterLengths
from narrator.studio.session import PlayedChapter, ProjectSnapshot
from narrator.text.chunks import group_unison
from narrator.text.memo import LastValues
from textbase.languages import is_right_to_left

COLOUR_COUNT = 12
_MAX_WARNINGS = 100
_REASON_WORDS = {
    Reason.NEW: "not spoken yet",
    Reason.PENDING: "not spoken yet",
    Reason.CHANGED: "changed in words, voice or settings",
    Reason.RESPOKEN: "with another pronunciation of the same words",
    Reason.CASCADE: "whose voice, or the line before, has changed",
    Reason.DAMAGED: "whose take was damaged on the disk",
    Reason.RETRY: "of which no try succeeded",
    Reason.FORCED: "asked for again",
}
"""Reasons of a render, in words that follow “3 lines”."""
_CHANGE_WORDS = {
    "text": "other words",
    "voice": "another voice",
    "engine": "another voice",
    "language": "another language",
    "style": "another style",
    "phonemes": "another pronunciation",
    "sounds": "another pronunciation",
    "it": "it was pinned",
}
"""Changes of a step by their first word, in words for people."""
_OTHER = "other settings"
Row = dict[str, Any]


# -- the book --------------------------------------------------------------------------------------


FindChunkStates = Callable[[int], Mapping[str, ChunkState]]
"""Returns the state of a chapter's chunks; the chapter is counted from 0."""


@dataclass(slots=True)
class SpeakerCount:
    """What a speaker says."""

    chunks: int = 0
    seconds: float = 0.0
    expected: float = 0.0
    """Seconds that do not change while takes are rendered."""


@dataclass(frozen=True, slots=True)
class BookRows:
    """What was counted last of each chapter."""

    chapters: LastValues[Row] = field(default_factory=LastValues)
    speakers: LastValues[Mapping[str, SpeakerCount]] = field(default_factory=LastValues)


def book(
    view: ProjectSnapshot,
    takes: FindChunkStates,
    lengths: ChapterLengths,
    cache: BookRows | None = None,
) -> Row:
    """Returns the row of the whole book; counts of unchanged chapters come from `cache`."""
    cache = cache or BookRows()
    plan, manifest = view.book, view.project.manifest
    facts = view.project.facts
    return {
        "version": view.version,
        "title": manifest.title,
        "author": ", ".join(facts.authors),
        "script": script_row(manifest.language),
        "root": view.project.root.name,
        "manifest": view.project.path.name,
        "draft": view.draft,
        "formats": list(manifest.output.formats),
        "can": dict(view.available_voices),
        "chapters": [
            _cached_chapter_row(view, number, takes(number), lengths, cache)
            for number in range(len(plan.chapters))
        ],
        "speakers": speakers(view, takes, cache),
        "todo": _pending_row(plan, takes),
        "trouble": view.trouble,
        "warnings": _warnings(view),
        "undo": {"what": view.notes.undo} if view.notes.undo else None,
        "redo": {"what": view.notes.redo} if view.notes.redo else None,
    }


def _cached_chapter_row(
    view: ProjectSnapshot,
    number: int,
    chunk_states: Mapping[str, ChunkState],
    lengths: ChapterLengths,
    cache: BookRows,
) -> Row:
    steps = view.chapters.get(number, ())
    seconds = lengths.seconds(view.book, number, steps, chunk_states, view.book_sound)
    facts = (view.book.chapters[number].title, steps, chunk_states, view.notes, seconds)
    return cache.chapters.get(
        number, facts, partial(_chapter_row, view, number, chunk_states, seconds)
    )


def _chapter_row(
    view: ProjectSnapshot, number: int, chunk_states: Mapping[str, ChunkState], seconds: float
) -> Row:
    steps = view.chapters.get(number, ())
    states = [chunk_states[step.id].state for step in steps]
    flags, reviewed = view.notes.flags, view.notes.reviewed
    unspoken = {  # the same words may be said twice
        step.key: step.expected for step in steps if chunk_states[step.id].state not in RENDERED
    }
    return {
        "number": number + 1,
        "title": view.book.chapters[number].title,
        "chunks": len(steps),
        "rendered": sum(state in RENDERED for state in states),
        "doubtful": states.count("doubtful"),
        "flagged": sum(any(not row.done for row in flags.get(step.id, ())) for step in steps),
        "reviewed": sum(step.id in reviewed for step in steps),
        "length": round(seconds, 3),
        "unspoken": round(sum(unspoken.values()), 1),
    }


def _count_speakers(
    steps: Sequence[Step], chunk_states: Mapping[str, ChunkState]
) -> Mapping[str, SpeakerCount]:
    """Returns what each speaker says in a chapter."""
    counts: dict[str, SpeakerCount] = {}
    for step in steps:
        count = counts.setdefault(step.chunk.speaker, SpeakerCount())
        count.chunks += 1
        count.expected += step.expected
        state = chunk_states[step.id]
        count.seconds += step.played_seconds(state.take if state.state in RENDERED else None)
    return counts


def speakers(
    view: ProjectSnapshot, takes: FindChunkStates, cache: BookRows | None = None
) -> list[Row]:
    """Returns rows of the speakers, except those who only speak in unison with others.

    The narrator has the first colour; then those who speak most.
    """
    plan, cache = view.book, cache or BookRows()
    chunk_counts: Counter[str] = Counter()
    seconds, expected = dict.fromkeys(plan.cast, 0.0), dict.fromkeys(plan.cast, 0.0)
    for number, steps in view.chapters.items():
        states = takes(number)
        counts = cache.speakers.get(
            number, (steps, states), partial(_count_speakers, steps, states)
        )
        for name, count in counts.items():
            chunk_counts[name] += count.chunks
            seconds[name] += count.seconds
            expected[name] += count.expected
    total_seconds = sum(seconds.values()) or 1.0
    settings = plan.project.speakers
    shown_names = [
        name
        for name in plan.cast
        if chunk_counts[name] or not (name in settings and settings[name].plays)
    ]
    narrator = plan.project.narrator
    ranked = sorted(shown_names, key=lambda name: (name != narrator, -expected[name]))
    return [
        {
            "name": name,
            "color": _colour_index(ranked.index(name)),
            "chunks": chunk_counts[name],
            "seconds": round(seconds[name], 1),
            "share": round(seconds[name] / total_seconds, 4),
            "voice": voice_description(plan, name),
        }
        for name in shown_names
    ]


def _colour_index(rank: int) -> int:
    """Returns the index of a colour by rank; the first one is only the narrator's."""
    return 1 + (rank - 1) % (COLOUR_COUNT - 1) if rank else 0


def voice_description(plan: BookPlan, name: str) -> str:
    """Describes a speaker's voice, with the engine where there are several."""
    description = _describe_voice(plan, name)
    return f"{description} ({plan.engines[name].name})" if len(plan.speaking) > 1 else description


def _describe_voice(plan: BookPlan, name: str) -> str:
    voice = plan.cast[name]
    settings = speaker.voice if (speaker := plan.project.speakers.get(name)) else None
    if isinstance(settings, str):
        return f"a preset: {settings}"
    if voice.reference is not None:
        return f"a recording: {voice.reference.name}"
    return voice.description or describe_engine_voice(plan.engines[name], voice)


def describe_engine_voice(engine: Engine, voice: Voice) -> str:
    """Describes the voice that an engine has for a speaker without a description or recording."""
    spec = ENGINES[engine.name]
    if engine.needs_reference(voice):
        if spec.can_design_voices:
            return f"{spec.title} designs a voice when it first speaks"
        return "no voice yet: give a recording or a preset"
    name = getattr(voice.own.get(engine.name), "voice", None)
    if isinstance(name, str):
        return f"{name} of {spec.title}"
    return f"a voice of {spec.title}" if spec.voices else spec.title


def _pending_row(plan: BookPlan, takes: FindChunkStates) -> Row:
    """Summarises what a render would speak, without the takes made since planning.

    Lines are counted as they stand in the text, also those that share a take.
    """
    todo_keys = {step.key for step in plan.todo}
    lines = [step for step in plan.steps if step.key in todo_keys]
    states = {number: takes(number) for number in {step.chapter for step in lines}}
    lines = [step for step in lines if states[step.chapter][step.id].state not in RENDERED]
    steps = {step.key: step for step in lines}.values()  # each is spoken once
    seconds = sum(step.expected for step in steps)
    wall = total_wall_seconds(shares_of(plan, steps))
    reasons = Counter(_REASON_WORDS[plan.why[step.key].reason] for step in lines)
    return {
        "chunks": len(lines),
        "seconds": round(seconds, 1),
        "cost": None if wall is None else round(wall, 1),
        "reasons": [{"why": words, "chunks": count} for words, count in reasons.items()],
    }


def _warnings(view: ProjectSnapshot) -> list[Row]:
    plan = view.book
    warnings: list[Row] = []
    if view.trouble:
        warnings.append(
            {
                "text": f"the last version is shown: a file cannot be read: {view.trouble}",
                "where": "",
            }
        )
    if view.notes.trouble:
        warnings.append({"text": view.notes.trouble, "where": ""})
    problems: Iterable[Problem] = (
        *find_unspoken(plan.manuscript),
        *(warning for chapter in plan.chapters for warning in chapter.warnings),
    )
    for problem in list(dict.fromkeys(problems))[:_MAX_WARNINGS]:
        location = places.relative_path(problem.path, plan) if problem.path else ""
        location += f":{problem.line}" if location and problem.line else ""
        warnings.append({"text": problem.message, "where": location})
    for pin in plan.lost:
        warnings.append(
            {"text": f"pinned, but its text has changed: {pin.text}", "where": pin.chunk}
        )
    return warnings


# -- a chapter -------------------------------------------------------------------------------------


def chapter(
    view: ProjectSnapshot,
    number: int,
    sound: PlayedChapter | None,
    chunk_states: Mapping[str, ChunkState],
) -> Row:
    """Returns the row of a chapter with its chunks; those in unison are one row."""
    steps = view.chapters.get(number, ())
    times = _cue_times(sound.timeline) if sound else {}
    certainties = certainties_of(view.project, number, steps)
    scene_indices: dict[int, int] = {}
    paths = {step.chunk.pieces[0].line.path for step in steps}
    file_names = {path: places.relative_path(path, view.book) for path in paths}
    rows, paragraph = [], -1
    for group in group_unison(steps):
        first = group[0]
        piece = first.chunk.pieces[0]
        if piece.start == 0 and not piece.line.continues_previous:
            paragraph += 1
        row = _chunk_row(view, group, times, chunk_states)
        row["source"] = f"{file_names[piece.line.path]}:{piece.line.line}"
        row["paragraph"] = max(0, paragraph)
        row["sure"] = certainties.get(first.id)
        row["scene"] = scene_indices.setdefault(first.utterance.scene, len(scene_indices))
        rows.append(row)
    return {
        "version": view.version,
        "number": number + 1,
        "title": view.book.chapters[number].title,
        "seconds": round(sound.timeline.seconds, 3) if sound else 0.0,
        "sound": sound_row(view, number, sound),
        "chunks": rows,
    }


def sound_row(view: ProjectSnapshot, number: int, sound: PlayedChapter | None) -> Row:
    """Describes the sound of a chapter."""
    voice_label = "the draft voice" if view.draft else f"the model ({view.book.engine_names})"
    if sound is None:
        return {"kind": "none", "url": None, "label": f"nothing is rendered yet with {voice_label}"}
    label = {
        "mastered": f"{voice_label}: the finished chapter",
        "takes": f"{voice_label}: takes with their pauses, loudness not finished yet",
    }[sound.kind]
    return {
        "kind": sound.kind,
        "url": f"/sound/chapters/{number + 1}/{sound.bytes.tag}",
        "label": label,
    }


def _cue_times(timeline: Timeline) -> Mapping[str, tuple[float, float]]:
    rate = timeline.sample_rate
    return {cue.chunk: (cue.start / rate, cue.stop / rate) for cue in timeline.cues}


def _chunk_row(
    view: ProjectSnapshot,
    group: Sequence[Step],
    times: Mapping[str, tuple[float, float]],
    chunk_states: Mapping[str, ChunkState],
) -> Row:
    plan, first = view.book, group[0]
    chunk, line = first.chunk, first.chunk.pieces[0].line
    states = [chunk_states[step.id].state for step in group]
    state = min(states, key=STATE_ORDER.index)
    worst = group[states.index(state)]
    flags = [row for step in group for row in view.notes.flags.get(step.id, ())]
    row: Row = {
        "id": first.id,
        "key": first.key,
        "speakers": list(chunk.unison_speakers) or [chunk.speaker],
        "style": first.style,
        "text": chunk.text,
        "script": None
        if chunk.language == plan.project.manifest.language
        else script_row(chunk.language),
        "heading": line.heading,
        **_time_span([times[step.id] for step in group if step.id in times]),
        "state": state,
        "why": render_reason(plan, worst, state),
        "changes": "; ".join(plan.why[worst.key].changes),
        "faults": list(chunk_states[worst.id].faults),
        "pinned": any(step.pinned for step in group),
        "reviewed": all(step.id in view.notes.reviewed for step in group),
        "reviewer": view.notes.reviewed.get(first.id, ""),
        "flags": [_flag_row(pickup) for pickup in flags],
    }
    if len(group) > 1:
        row["also"] = [step.id for step in group[1:]]
    return row


def _flag_row(pickup: Pickup) -> Row:
    row: Row = {"note": pickup.note, "done": pickup.done}
    return row | ({"who": pickup.who} if pickup.who else {})


def script_row(language: str) -> Row:
    """Returns a language with its direction, as attributes of an element."""
    return {"lang": language, "dir": "rtl" if is_right_to_left(language) else "ltr"}


def _time_span(times: Sequence[tuple[float, float]]) -> Row:
    """Returns start and stop over all times, in seconds; None without any."""
    if not times:
        return {"start": None, "stop": None}
    starts, stops = zip(*times, strict=True)
    return {"start": round(min(starts), 3), "stop": round(max(stops), 3)}


def render_reason(plan: BookPlan, step: Step, state: str) -> str:
    """Returns why a render would speak a step again; empty where it would not, or never has."""
    reason = plan.why[step.key]
    is_first = reason.reason in (Reason.NEW, Reason.PENDING)
    if state in RENDERED or is_first or not reason.render:
        return ""
    if reason.reason is Reason.CHANGED and reason.changes:
        fields = [change.partition(":")[0].split()[0] for change in reason.changes]
        return " and ".join(dict.fromkeys(_CHANGE_WORDS.get(field, _OTHER) for field in fields))
    detail = f" ({'; '.join(reason.changes)})" if reason.reason is Reason.RETRY else ""
    return f"{_REASON_WORDS[reason.reason]}{detail}"


# -- a chunk ---------------------------------------------------------------------------------------


def chunk(view: ProjectSnapshot, step: Step) -> Row:
    """Returns what the row of a chunk in its chapter does not have. Raises StorageError."""
    plan = view.book
    take_rows = [
        row | {"correction": str(view.book_sound.correction(step, chunk_try.record))}
        if chunk_try.in_use
        else row
        for chunk_try, row in _rows_of_tries(plan, step)
    ]
    return {
        "id": step.id,
        "spoken": step.text,
        "expected": round(step.expected, 2),
        "retakes": plan.engines[step.chunk.speaker].is_random,
        "desk": desk_row(plan, step),
        "tries": take_rows,
    }


def tries(plan: BookPlan, step: Step) -> list[Row]:
    """Returns rows of the tries of a chunk. Raises StorageError."""
    return [row for _, row in _rows_of_tries(plan, step)]


def _rows_of_tries(plan: BookPlan, step: Step) -> list[tuple[Try, Row]]:
    pin = plan.pins.get(step.key)
    home_key = pin.step if pin else step.key
    has_seed = plan.engines[step.chunk.speaker].is_random
    return [
        (chunk_try, _try_row(home_key, step, chunk_try) | {"has_seed": has_seed})
        for chunk_try in retakes.tries_of(plan, step)
    ]


def _try_row(home_key: str, step: Step, chunk_try: Try) -> Row:
    record = chunk_try.record
    return {
        "number": chunk_try.number,
        "seconds": round(record.seconds, 2),
        "level": round(record.level, 1),
        "faults": list(record.faults),
        "score": scores.describe(record.score) if record.score else "",
        "in_use": chunk_try.in_use,
        "pinned": chunk_try.pinned,
        "whole": chunk_try.whole,
        "seed": record.seed,
        "attempt": record.attempt,
        "settings": {
            name: setting
            for name, setting in record.parameters.items()
            if step.parameters.get(name) != setting
        },
        "mode": record.mode,
        "ratio": round(ratio, 2) if (ratio := _length_ratio(step, record)) else None,
        "url": f"/sound/tries/{home_key}/{chunk_try.number - 1}",
    }


def _length_ratio(step: Step, record: Record) -> float | None:
    """Returns the length of a take as a share of the expected one.

    Its checks know the one before a change of speed.
    """
    if record.text == step.text and step.expected:
        return record.seconds / step.expected
    return record.figures.get("ratio")
