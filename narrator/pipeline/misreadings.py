"""Lists the words that takes do not say, by what was heard of them.

Reads transcripts that `hear` or a render has stored. Listens to nothing and writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from narrator.pipeline.book_plan import BookPlan
from narrator.speech import checks
from narrator.speech.hearing.compare import Kind
from narrator.speech.hearing.judging import judge
from narrator.speech.plan import Step
from narrator.speech.store import Record

WHOLE = "whole"
"""Kind of a misreading that is not of single words: another text was heard."""


@dataclass(frozen=True, slots=True)
class Misreading:
    """Words of a take that were heard otherwise than they are written."""

    step: Step
    kind: Kind | str
    """As `Difference.kind`, or `WHOLE`."""
    first: int
    last: int
    """The words are `step.text[first:last]`."""
    heard: str
    odds: float
    """How sure it is: over 1, and the higher the surer."""
    start: float
    stop: float
    """Seconds of the take in which the words are said, or should be."""


def misreadings(book: BookPlan) -> list[Misreading]:
    """Lists the misreadings of all takes that are doubtful for their words, the surest first.

    Pinned takes are accepted, and not listed. Raises StorageError.
    """
    rows: list[Misreading] = []
    for step in unique_steps(book.steps):
        take = None if step.pinned else book.takes.current(step)
        if take and any(checks.concern_of(fault) == "words" for fault in take.faults):
            rows += _misreadings_of(book, step, take)
    return sorted(rows, key=lambda row: -row.odds)


def unique_steps(steps: Iterable[Step]) -> list[Step]:
    """Returns the steps in reading order, one for each take."""
    return list({step.key: step for step in steps}.values())


def count_heard(book: BookPlan, steps: Iterable[Step]) -> tuple[int, int]:
    """Counts the takes of some steps that were listened to, and all of them. Raises
    StorageError."""
    takes = [
        (take.content, step.text)
        for step in unique_steps(steps)
        if (take := book.takes.current(step))
    ]
    return book.store.transcripts.count_heard(takes), len(takes)


def _misreadings_of(book: BookPlan, step: Step, take: Record) -> Iterator[Misreading]:
    """Yields the misreadings of a take; none if what was heard is no longer stored."""
    transcript = book.store.transcripts.find_newest_transcript(take.content, step.text)
    if transcript is None:
        return
    settings = book.project.manifest.checks
    judgement = judge(transcript, step.text, step.language, settings.text_error, settings.heard_as)
    for difference, odds in zip(judgement.wrong, judgement.wrong_odds, strict=True):
        span = difference.first, difference.last
        start, stop = _seconds_of(book, step, take, span)
        yield Misreading(step, difference.kind, *span, difference.heard_text, odds, start, stop)
    if not judgement.wrong and judgement.odds > 1:
        bounds = take.start / take.sample_rate, take.stop / take.sample_rate
        yield Misreading(step, WHOLE, 0, len(step.text), transcript.text, judgement.odds, *bounds)


def _seconds_of(
    book: BookPlan, step: Step, take: Record, span: Sequence[int]
) -> tuple[float, float]:
    """Returns the start and stop of a part of a text in its take: as timed, or estimated.

    An empty part, where words were added, lies between the words around it.
    """
    first, last = span
    word_times = book.store.word_times(take, step.text)
    if word_times and word_times.words:
        words = word_times.words
        before = [word for word in words if word.last <= first]
        after = [word for word in words if word.first >= last]
        inside = [word for word in words if word.last > first and word.first < last]
        if inside:
            return inside[0].start, inside[-1].stop
        return (before or words)[-1].start, (after or words[-1:])[0].stop
    begin, length = take.start / take.sample_rate, max(1, len(step.text))
    return begin + take.seconds * first / length, begin + take.seconds * last / length
