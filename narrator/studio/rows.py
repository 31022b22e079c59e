"""A reading of the book as JSON: its chapters, their chunks, one chunk with its tries.

Knows no requests; changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from narrator.errors import Problem
from narrator.pipeline import places, retakes
from narrator.pipeline.bookplan import BookPlan
from narrator.pipeline.estimate import shares_of, wall_of
from narrator.pipeline.manuscript import unspoken
from narrator.pipeline.retakes import Try
from narrator.sound.assemble import Timeline
from narrator.speech.plan import EXPLAINED, Reason, Step
from narrator.speech.store import Record
from narrator.studio.attribution import sure_of
from narrator.studio.desk import PlayedChapter, View
from narrator.studio.glance import RENDERED, Seen
from narrator.text.chunks import together

COLOURS = 12
_MOST_WARNINGS = 100
Row = dict[str, Any]


# -- the book --------------------------------------------------------------------------------------


Takes = Callable[[int], Mapping[str, Seen]]
"""What is there of a chapter, counted from 0."""


def book(view: View, takes: Takes) -> Row:
    """What a page shows of the whole book."""
    plan, manifest = view.book, view.project.manifest
    facts = view.project.facts
    return {
        "version": view.version,
        "title": manifest.title,
        "author": ", ".join(facts.authors),
        "language": manifest.language,
        "root": view.project.root.name,
        "manifest": view.project.path.name,
        "draft": view.draft,
        "formats": list(manifest.output.formats),
        "can": dict(view.can),
        "chapters": [
            _chapter_line(view, number, takes(number)) for number in range(len(plan.chapters))
        ],
        "speakers": speakers(plan),
        "todo": _todo(plan, takes),
        "trouble": view.trouble,
        "warnings": _warnings(view),
        "undo": {"what": view.notes.undo} if view.notes.undo else None,
        "redo": {"what": view.notes.redo} if view.notes.redo else None,
    }


def _chapter_line(view: View, number: int, seen: Mapping[str, Seen]) -> Row:
    steps = view.chapters.get(number, ())
    states = [seen[step.id].state for step in steps]
    first = [step for step in steps if not step.with_before]
    flags, reviewed = view.notes.flags, view.notes.reviewed
    heard = [(step, seen[step.id].take) for step in first]
    return {
        "number": number + 1,
        "title": view.book.chapters[number].title,
        "chunks": len(steps),
        "rendered": sum(state in RENDERED for state in states),
        "doubtful": states.count("doubtful"),
        "missing": sum(state in ("missing", "given up") for state in states),
        "flagged": sum(any(not row.done for row in flags.get(step.id, ())) for step in steps),
        "reviewed": sum(step.key in reviewed for step in steps),
        "seconds": round(sum(take.seconds for _, take in heard if take), 1),
        "length": round(sum(_length(step, take) for step, take in heard), 1),
        "current": bool(states) and all(state in RENDERED for state in states),
    }


def _length(step: Step, take: Record | None) -> float:
    """Seconds of a chunk; what is expected, where there is none yet."""
    return take.seconds if take else step.expected


def speakers(plan: BookPlan) -> list[Row]:
    """The cast, but for voices that say nothing but what others say with them; those who say most
    have the first colours, whoever narrates the very first."""
    counts: dict[str, list[float]] = {name: [0, 0.0, 0] for name in plan.cast}
    for step in plan.steps:
        row = counts[step.chunk.speaker]
        row[0] += 1
        row[1] += step.expected
        row[2] += len(step.chunk.text.split())
    whole = sum(row[1] for row in counts.values()) or 1.0
    known = plan.project.speakers
    shown = [n for n, row in counts.items() if row[0] or not (n in known and known[n].plays)]
    narrator = plan.project.narrator
    ranked = sorted(shown, key=lambda name: (name != narrator, -counts[name][1]))
    return [
        {
            "name": name,
            "color": _colour(ranked.index(name)),
            "chunks": int(counts[name][0]),
            "seconds": round(counts[name][1], 1),
            "share": round(counts[name][1] / whole, 4),
            "voice": voice_said(plan, name),
            "words": int(counts[name][2]),
        }
        for name in shown
    ]


def _colour(rank: int) -> int:
    """The first is whoever narrates, and nobody else's."""
    return 1 + (rank - 1) % (COLOURS - 1) if rank else 0


def voice_said(plan: BookPlan, name: str) -> str:
    """A speaker's voice in words, with the engine where there are several."""
    said = _voice_said(plan, name)
    return f"{said} ({plan.engines[name].name})" if len(plan.speaking) > 1 else said


def _voice_said(plan: BookPlan, name: str) -> str:
    voice = plan.cast[name]
    settings = known.voice if (known := plan.project.speakers.get(name)) else None
    if isinstance(settings, str):
        return f"a preset: {settings}"
    if voice.reference is not None:
        return f"a clip: {voice.reference.name}"
    return voice.description or "none yet: one is drawn"


def _todo(plan: BookPlan, takes: Takes) -> Row:
    """What a render would speak, without what was spoken since the plan was made."""
    steps = [s for s in plan.todo if takes(s.chapter)[s.id].state not in RENDERED]
    seconds = sum(step.expected for step in steps)
    wall = wall_of(shares_of(plan, steps))
    reasons: dict[Reason, int] = {}
    for step in steps:
        reason = plan.why[step.key].reason
        reasons[reason] = reasons.get(reason, 0) + 1
    return {
        "chunks": len(steps),
        "seconds": round(seconds, 1),
        "cost": None if wall is None else round(wall, 1),
        "reasons": [
            {"why": EXPLAINED[reason], "chunks": count} for reason, count in reasons.items()
        ],
    }


def _warnings(view: View) -> list[Row]:
    plan = view.book
    found: list[Row] = []
    if view.trouble:
        found.append(
            {"text": f"shown as it was, for it cannot be read: {view.trouble}", "where": ""}
        )
    if view.notes.trouble:
        found.append({"text": view.notes.trouble, "where": ""})
    problems: Iterable[Problem] = (
        *unspoken(plan.manuscript),
        *(one for chapter in plan.chapters for one in chapter.warnings),
    )
    for problem in list(dict.fromkeys(problems))[:_MOST_WARNINGS]:
        where = places.within(problem.path, plan) if problem.path else ""
        where += f":{problem.line}" if where and problem.line else ""
        found.append({"text": problem.message, "where": where})
    for pin in plan.lost:
        found.append({"text": f"pinned, but its text has changed: {pin.text}", "where": pin.chunk})
    return found


# -- a chapter -------------------------------------------------------------------------------------

_RANK = ("missing", "given up", "stale", "doubtful", "good")


def chapter(view: View, number: int, sound: PlayedChapter | None, seen: Mapping[str, Seen]) -> Row:
    """A chapter with its chunks; those in unison are one row."""
    steps = view.chapters.get(number, ())
    heard = _heard(sound.timeline) if sound else {}
    sure = sure_of(view.project, number, steps)
    scenes: dict[int, int] = {}
    files = {path: places.within(path, view.book) for path in {_path_of(step) for step in steps}}
    rows, paragraph = [], -1
    for group in together(steps):
        first = group[0]
        piece = first.chunk.pieces[0]
        if piece.start == 0 and not piece.line.goes_on:
            paragraph += 1
        row = _chunk_line(view, group, heard, seen)
        row["source"] = f"{files[piece.line.path]}:{piece.line.line}"
        row["paragraph"] = max(0, paragraph)
        row["sure"] = sure.get(first.id)
        row["scene"] = scenes.setdefault(first.utterance.scene, len(scenes))
        rows.append(row)
    return {
        "version": view.version,
        "number": number + 1,
        "title": view.book.chapters[number].title,
        "seconds": round(sound.timeline.seconds, 3) if sound else 0.0,
        "sound": sound_line(view, number, sound),
        "chunks": rows,
    }


def _path_of(step: Step) -> Path:
    return step.chunk.pieces[0].line.path


def sound_line(view: View, number: int, sound: PlayedChapter | None) -> Row:
    """What is heard of a chapter, in words."""
    whose = "the draft voice" if view.draft else f"the model ({view.book.engine_names})"
    if sound is None:
        return {"kind": "none", "url": None, "label": f"nothing is rendered yet with {whose}"}
    label = {
        "mastered": f"{whose}: the mastered chapter",
        "takes": f"{whose}: takes with planned pauses, not mastered",
    }[sound.kind]
    return {
        "kind": sound.kind,
        "url": f"/sound/chapters/{number + 1}/{sound.bytes.tag}",
        "label": label,
    }


def _heard(timeline: Timeline) -> Mapping[str, tuple[float, float]]:
    rate = timeline.sample_rate
    return {cue.chunk: (cue.start / rate, cue.stop / rate) for cue in timeline.cues}


def _chunk_line(
    view: View,
    group: Sequence[Step],
    heard: Mapping[str, tuple[float, float]],
    seen: Mapping[str, Seen],
) -> Row:
    plan, first = view.book, group[0]
    chunk, line = first.chunk, first.chunk.pieces[0].line
    states = [seen[step.id].state for step in group]
    state = min(states, key=_RANK.index)
    worst = group[states.index(state)]
    flags = [row for step in group for row in view.notes.flags.get(step.id, ())]
    row: Row = {
        "id": first.id,
        "key": first.key,
        "speakers": list(chunk.unison) or [chunk.speaker],
        "style": first.style,
        "text": chunk.text,
        "heading": line.heading,
        **_span([heard[step.id] for step in group if step.id in heard]),
        "state": state,
        "why": why_said(plan, worst, state),
        "faults": list(seen[worst.id].faults),
        "pinned": any(step.pinned for step in group),
        "reviewed": all(step.key in view.notes.reviewed for step in group),
        "flags": [{"note": one.note, "done": one.done} for one in flags],
    }
    if len(group) > 1:
        row["also"] = [step.id for step in group[1:]]
    return row


def _span(times: Sequence[tuple[float, float]]) -> Row:
    """When all of it is heard, in seconds; None where nothing is."""
    if not times:
        return {"start": None, "stop": None}
    starts, stops = zip(*times, strict=True)
    return {"start": round(min(starts), 3), "stop": round(max(stops), 3)}


def why_said(plan: BookPlan, step: Step, state: str) -> str:
    """Why a render would speak it again; empty where it would not."""
    if state in RENDERED:
        return ""
    why = plan.why[step.key]
    return str(why) if why.render else ""


# -- a chunk ---------------------------------------------------------------------------------------


def chunk(view: View, step: Step, seen: Seen) -> Row:
    """One chunk with its tries. Raises StorageError."""
    plan = view.book
    line = step.chunk.pieces[0].line
    pin = plan.pins.get(step.key)
    home = pin.step if pin else step.key
    return {
        "id": step.id,
        "key": step.key,
        "text": step.chunk.text,
        "spoken": step.text,
        "speakers": list(step.chunk.unison) or [step.chunk.speaker],
        "style": step.chunk.style,
        "source": f"{places.within(line.path, plan)}:{line.line}",
        "quotation": line.is_narration is False and step.chunk.speaker != plan.project.narrator,
        "state": seen.state,
        "why": why_said(plan, step, seen.state),
        "faults": list(seen.faults),
        "expected": round(step.expected, 2),
        "retakes": "seed" in plan.engines[step.chunk.speaker].sound_parameters,
        "tries": [_try_line(home, one) for one in retakes.tries_of(plan, step)],
    }


def _try_line(home: str, one: Try) -> Row:
    record = one.record
    return {
        "number": one.number,
        "seconds": round(record.seconds, 2),
        "level": round(record.level, 1),
        "faults": list(record.faults),
        "in_use": one.in_use,
        "pinned": one.pinned,
        "whole": one.whole,
        "seed": record.seed,
        "mode": record.mode,
        "ratio": round(ratio, 2) if (ratio := record.figures.get("ratio")) else None,
        "url": f"/sound/tries/{home}/{one.number}",
    }
