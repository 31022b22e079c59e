"""Turns the facts and the measured sound of a project into JSON, for the page that draws them.

Texts stay text and numbers stay numbers: the page chooses words, units and pictures. Knows nothing
of pages, and changes nothing.
"""

from __future__ import annotations

import base64
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import accumulate
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from narrator.delivery import postflight
from narrator.errors import DamagedTake, UserError
from narrator.pipeline.book_plan import BookPlan
from narrator.pipeline.pickups import read_pickups
from narrator.pipeline.places import Passage, passages_of
from narrator.quantities import pluralize
from narrator.report.facts import ChapterFacts, File, Pace, Pause, ProjectFacts
from narrator.report.sound import Curve, ReportObserver, Sounds, measure
from narrator.sound import audio
from narrator.sound.probe import FileFigures
from narrator.speech.steadiness import MAX_SPREADS

Row = dict[str, Any]
_MAX_DOTS = 4000
"""Most takes in the picture of the pace, beside the outliers."""
_MAX_TEXT_LENGTH = 240
_MAX_JOINS = 12
"""Most rows of joins to hear, and of the longest pauses."""
_PAUSE_BIN_SECONDS, _MAX_PAUSE_SECONDS = 0.1, 6.0
_MAX_CLIPS = 40
"""Most doubtful takes whose sound travels with a page."""


Link = Callable[[Path], str]
"""Returns the address of a finished file in a page, or an empty one."""


def report_row(
    book: BookPlan,
    facts: ProjectFacts,
    *,
    link: Link = lambda path: "",
    on_progress: ReportObserver | None = None,
) -> Row:
    """Returns the whole report. Without `on_progress` no file is measured that was not measured
    before. Raises StorageError."""
    sounds = measure(book, facts, on_progress)
    files = list(_file_rows(facts.files, sounds.figures, link))
    words, is_good = _state(facts, files)
    ratios: dict[int, list[float]] = defaultdict(list)
    for pace in facts.paces:
        ratios[pace.place.chapter].append(pace.against)
    unmeasured = sum(file.path not in sounds.figures for file in facts.files)
    return {
        "title": facts.title,
        "author": facts.author,
        "language": facts.language,
        "manifest": facts.manifest,
        "draft": facts.draft,
        "written": facts.written.timestamp(),
        "delivered": facts.delivered and facts.delivered.timestamp(),
        "state": words,
        "good": is_good,
        "engines": [asdict(engine) for engine in facts.engines],
        "chunks": facts.chunks,
        "seconds": facts.seconds,
        "retries": facts.retries,
        "given_up": facts.given_up,
        "doubtful": facts.doubtful,
        "characters": {**asdict(facts.characters), "balanced": facts.characters.balanced},
        "chapters": [
            _chapter_row(chapter, ratios[chapter.number - 1], sounds, link)
            for chapter in facts.chapters
        ],
        "files": files,
        "unmeasured": unmeasured,
        **_pace_rows(facts.paces),
        "steadiness": _steadiness_row(facts),
        "speakers": [asdict(speaker) for speaker in facts.speakers],
        "troubles": [
            {**asdict(trouble), "place": _place_row(trouble.place), "faults": faults}
            for trouble in facts.troubles
            for faults in [list(Counter(trouble.faults).items())]
        ],
        "uneven": [{**asdict(unison), "place": _place_row(unison.place)} for unison in facts.apart],
        "pauses": _pauses_row(facts.pauses),
        "chains": {
            "lengths": list(facts.chains.lengths.items()),
            "modes": list(facts.chains.modes.items()),
            "pinned": facts.chains.pinned,
        },
        "left_out": [
            {**asdict(unspoken), "chapter": unspoken.chapter + 1, "text": _shorten(unspoken.text)}
            for unspoken in facts.left_out
        ],
        "import_report": facts.import_report,
        "pickups": list(_pickup_rows(book)),
    }


def _state(facts: ProjectFacts, files: Sequence[Row]) -> tuple[str, bool]:
    """Returns the state of the project in words, and whether nothing is left to do."""
    failed = sum(not check["ok"] for file in files for check in file["checks"])
    if facts.missing:
        words = f"Incomplete: {pluralize(facts.missing, 'line')} of {facts.chunks:,} missing"
    elif not facts.characters.balanced:
        words = "Text is unaccounted for"
    elif not files:
        words = "All spoken, nothing delivered yet"
    elif any(file["note"] for file in files):
        words = "All spoken, but files are out of date"
    elif failed:
        words = f"Delivered, but {pluralize(failed, 'check')} of its files failed"
    elif facts.doubtful:
        words = f"Delivered, with {pluralize(facts.doubtful, 'doubtful line')}"
    else:
        return "Complete and delivered", True
    return words, False


# -- chapters and files ----------------------------------------------------------------------------


def _chapter_row(chapter: ChapterFacts, ratios: Sequence[float], sounds: Sounds, link: Link) -> Row:
    index = chapter.number - 1
    part, curve = sounds.parts.get(index), sounds.curves.get(index)
    words, is_good = _chapter_state(chapter)
    target = chapter.target
    return {
        **{
            name: getattr(chapter, name)
            for name in (
                "number", "title", "chunks", "missing", "given_up", "doubtful", "retries",
                "seconds", "speech_seconds", "wall_seconds",
            )
        },
        "state": words,
        "good": is_good,
        "target": target.level if target.kind == "LUFS" else None,
        "target_words": str(target),
        "pace": [min(ratios), median(ratios), max(ratios)] if ratios else None,
        "sound": link(chapter.file.path) if chapter.file and part else "",
        "from": part.start if part else 0.0,
        "curve": _curve_row(curve) if curve else None,
    }  # fmt: skip


def _chapter_state(chapter: ChapterFacts) -> tuple[str, bool]:
    """Returns how far a chapter is in words, and whether nothing is left to do."""
    if chapter.missing:
        given_up = f", {chapter.given_up:,} given up" if chapter.given_up else ""
        return f"{pluralize(chapter.missing, 'line')} missing{given_up}", False
    if chapter.seconds is None or chapter.file is None:
        return "spoken, not delivered", False
    if not chapter.current or chapter.file.note:
        return "delivered, but changed since", False
    return "delivered", True


def _curve_row(curve: Curve) -> Row:
    """Returns a curve; its waveform in hundredths of full scale."""
    return {
        "seconds": curve.seconds,
        "low": np.rint(curve.low * 100).astype(int).tolist(),
        "high": np.rint(curve.high * 100).astype(int).tolist(),
        "loudness": _numbers_or_none(curve.loudness, digits=1),
        "pitch": _numbers_or_none(curve.pitch, digits=0),
        "integrated": curve.integrated,
        "spread": curve.spread,
    }


def _numbers_or_none(array: NDArray[np.float32], digits: int) -> list[float | None]:
    return [None if math.isnan(number) else round(number, digits) for number in array.tolist()]


def _file_rows(
    files: Sequence[File],
    figures: Mapping[Path, FileFigures | UserError],
    link: Link,
) -> Iterator[Row]:
    """Yields the finished files; each is compared with the first readable one of its profile."""
    first_by_profile: dict[str | None, FileFigures] = {}
    for file in files:
        row: Row = {
            "name": file.name,
            "url": link(file.path),
            "bytes": file.bytes,
            "note": file.note,
            "profile": file.profile.name if file.profile else "",
            "figures": None,
            "unreadable": "",
            "checks": [],
        }
        measured = figures.get(file.path)
        if isinstance(measured, FileFigures):
            first_figures = first_by_profile.setdefault(row["profile"], measured)
            loudness = measured.loudness
            row["figures"] = [
                measured.seconds, loudness.integrated, loudness.rms, loudness.true_peak,
                measured.bitrate,
            ]  # fmt: skip
            row["checks"] = list(
                map(asdict, postflight.checks(measured, file.profile, first_figures))
            )
        elif measured is not None:
            # the row has its name already, and pages are handed on: no folders of this machine
            row["unreadable"] = str(measured).removeprefix(f"{file.path}: ")
        yield row


# -- takes -----------------------------------------------------------------------------------------


def _place_row(passage: Passage) -> Row:
    row = asdict(passage)
    return {**row, "chapter": passage.chapter + 1, "text": _shorten(passage.text)}


def _pickup_rows(book: BookPlan) -> Iterator[Row]:
    """Yields the list of pickups; `place` is None where the text is gone."""
    pickups, _ = read_pickups(book)
    chunks = {pickup.chunk for pickup in pickups if not pickup.is_lost}
    steps = [step for step in book.steps if step.id in chunks]
    places = {place.chunk: _place_row(place) for place in passages_of(book, steps)}
    for pickup in pickups:
        yield {
            **asdict(pickup),
            "text": _shorten(pickup.text),
            "place": None if pickup.is_lost else places[pickup.chunk],
        }


def _shorten(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= _MAX_TEXT_LENGTH else f"{words[: _MAX_TEXT_LENGTH - 1]}…"


def _pace_rows(paces: Sequence[Pace]) -> Row:
    """Returns takes over the seconds of speech, thinned, and outliers, the furthest first."""
    ends = list(accumulate(pace.seconds for pace in paces))
    middles = [end - pace.seconds / 2 for end, pace in zip(ends, paces, strict=True)]
    timed = list(zip(middles, paces, strict=True))
    usual = [(middle, pace) for middle, pace in timed if not pace.outlier]
    outliers = [(middle, pace) for middle, pace in timed if pace.outlier]
    outliers.sort(key=lambda item: -abs(math.log(item[1].against)))
    return {
        "speech_seconds": ends[-1] if ends else 0.0,
        "pace_count": len(paces),
        "pace": [
            (round(middle, 1), round(pace.against, 3))
            for middle, pace in usual[:: max(1, math.ceil(len(usual) / _MAX_DOTS))]
        ],
        "outliers": [
            {
                "place": _place_row(pace.place),
                "at": middle,
                "against": pace.against,
                "ratio": pace.ratio,
                "seconds": pace.seconds,
            }
            for middle, pace in outliers
        ],
    }


def _steadiness_row(facts: ProjectFacts) -> Row:
    """Returns how near takes come to sticking out, and how far chapters lie from what is usual for
    their speakers, in noticeable deviations; the takes that do not stick out are thinned."""
    steadiness = facts.steadiness
    usual = [take for take in steadiness.takes if not take.reasons]
    return {
        "drift": steadiness.drift,
        "unsteadiness": steadiness.unsteadiness,
        "spreads": MAX_SPREADS,
        "count": len(steadiness.takes),
        "unmeasured": steadiness.unmeasured,
        "too_few": list(steadiness.too_few),
        "dots": [
            (round(take.position, 1), round(take.height, 3))
            for take in usual[:: max(1, math.ceil(len(usual) / _MAX_DOTS))]
        ],
        "outliers": [
            {
                "place": _place_row(passage),
                "at": take.position,
                "height": take.height,
                "reasons": [deviation.message for deviation in take.reasons],
            }
            for passage, take in facts.outlying
        ],
        "chapters": [asdict(chapter) for chapter in steadiness.chapters],
        "trends": [asdict(trend) for trend in steadiness.trends if trend.is_listed],
    }


def _pauses_row(pauses: Sequence[Pause]) -> Row:
    """Returns the lengths of pauses by kind and as a histogram, and the joins that are to be
    heard."""
    seconds_by_kind: dict[str, list[float]] = defaultdict(list)
    for pause in pauses:
        seconds_by_kind[pause.kind].append(pause.seconds)
    longest = min(_MAX_PAUSE_SECONDS, max((pause.seconds for pause in pauses), default=0.0))
    bins = math.floor(longest / _PAUSE_BIN_SECONDS) + 1
    counts = Counter(
        min(bins - 1, math.floor(pause.seconds / _PAUSE_BIN_SECONDS + 1e-9)) for pause in pauses
    )
    bad = [pause for pause in pauses if pause.bad]
    bad.sort(key=lambda pause: (not pause.faults, -(pause.heard or 0.0)))
    return {
        "count": len(pauses),
        "kinds": [
            [kind, len(seconds), min(seconds), median(seconds), max(seconds), sum(seconds)]
            for kind, seconds in sorted(seconds_by_kind.items(), key=lambda item: -len(item[1]))
        ],
        "bin_seconds": _PAUSE_BIN_SECONDS,
        "histogram": [counts[number] for number in range(bins)] if pauses else [],
        "bad_count": len(bad),
        "bad": [_pause_row(pause) for pause in bad[:_MAX_JOINS]],
        "longest": [
            _pause_row(pause)
            for pause in sorted(pauses, key=lambda pause: -pause.seconds)[:_MAX_JOINS]
        ],
    }


def _pause_row(pause: Pause) -> Row:
    return {**asdict(pause), "after": _place_row(pause.after)}


def clips(book: BookPlan, report: Row) -> dict[str, str]:
    """Returns the sound of a report's doubtful takes as addresses that hold it, by chunk."""
    keys = {step.id: step.key for step in book.steps}
    addresses: dict[str, str] = {}
    for trouble in report["troubles"]:
        chunk = trouble["place"]["chunk"]
        if trouble["doubtful"] and len(addresses) < _MAX_CLIPS:
            try:
                samples, rate = book.store.read(keys[chunk])
            except DamagedTake:
                continue  # it is listed, and not heard
            flac = base64.b64encode(audio.encode_flac(samples, rate)).decode()
            addresses[chunk] = f"data:audio/flac;base64,{flac}"
    return addresses
