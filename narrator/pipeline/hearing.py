"""Checks a book's stored takes with a recogniser and times their words; speaks nothing.

Takes that the same recogniser has heard before are skipped. A take that does not say its text
becomes doubtful, as if the recogniser had been used when it was made; a take that was doubtful for
its words alone, but says them, no longer is. A pass may be stopped at any moment; the next one
continues.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from threading import Event

from narrator.errors import DamagedTake
from narrator.pipeline.book_engines import BookEngines
from narrator.pipeline.book_plan import BookPlan, Selection, plan
from narrator.pipeline.manuscript import Manuscript
from narrator.pipeline.session import locked
from narrator.sound.timing import WordTimes
from narrator.speech import checks
from narrator.speech.hearing import SpokenSound, Transcript
from narrator.speech.hearing.listening import Opinion, TakeListener
from narrator.speech.plan import Step
from narrator.speech.store import Record, Store


@dataclass(frozen=True, slots=True)
class Misheard:
    """A take that does not say its text."""

    step: Step
    faults: tuple[str, ...]
    heard: str
    is_accepted: bool
    """True if an author pinned it, so that it does not count as doubtful."""


@dataclass(slots=True)
class BookHearing:
    """The outcome of a pass over a book."""

    take_count: int = 0
    """Number of takes in the selection."""
    missing_count: int = 0
    """Number of chunks without a take."""
    unheard_count: int = 0
    """Number of takes in languages that the recogniser does not know."""
    heard_count: int = 0
    """Number of takes that were listened to in this pass."""
    heard_seconds: float = 0.0
    """Seconds of their sound."""
    timed_counts: Counter[str] = field(default_factory=Counter)
    """Number of takes with word times, by what timed them; "" if the words were not found."""
    misheard: list[Misheard] = field(default_factory=list)
    relieved_count: int = 0
    """Number of takes that were doubtful for their words, and no longer are."""
    removed_row_count: int = 0
    """Number of damaged rows that were removed from the file of recognised text."""
    cancelled: bool = False


@dataclass(frozen=True, slots=True)
class _DueTake:
    """A take that has not been fully heard or timed."""

    step: Step
    take: Record
    needs_hearing: bool
    needs_times: bool


def hear_book(
    manuscript: Manuscript,
    engines: BookEngines,
    selection: Selection,
    recogniser: TakeListener,
    *,
    on_progress: Callable[[float], None],
    cancel: Event,
) -> tuple[BookPlan, BookHearing]:
    """Listen to every take of a selection that has not been listened to yet.

    `on_progress` receives the share that is done. Raises Locked, EngineUnavailable, ManifestError,
    StorageError.
    """
    with locked(manuscript.project):
        store = Store.open(manuscript.project.takes, writing=True)
        book = plan(manuscript, engines.main, selection, engines=engines.by_speaker, store=store)
        return book, _hear_book(book, recogniser, on_progress, cancel)


def judge_again(
    manuscript: Manuscript, engines: BookEngines, chunks: Collection[str]
) -> tuple[int, int]:
    """Judge takes of chunks, by id, anew by what was heard of them; listens to nothing.

    Returns the number of takes that are doubtful for their words from now on, and of those that no
    longer are. Raises Locked, EngineUnavailable, ManifestError, StorageError.
    """
    with locked(manuscript.project):
        store = Store.open(manuscript.project.takes, writing=True)
        book = plan(manuscript, engines.main, Selection(), engines=engines.by_speaker, store=store)
        checks_settings = manuscript.project.manifest.checks
        listener = TakeListener(
            None, error=checks_settings.text_error, heard_as=checks_settings.heard_as
        )
        book_hearing = BookHearing()
        for step in {step.key: step for step in book.steps if step.id in chunks}.values():
            take = book.takes.current(step)
            if take is None:
                continue
            transcript = store.transcripts.find_newest_transcript(take.content, step.text)
            if transcript is not None:
                _update_faults(book, listener, step, take, transcript, book_hearing)
        return len(book_hearing.misheard), book_hearing.relieved_count


def _hear_book(
    book: BookPlan, recogniser: TakeListener, on_progress: Callable[[float], None], cancel: Event
) -> BookHearing:
    """Hears the takes of a plan that are due, in batches, and judges all takes of the selection."""
    book_hearing = BookHearing()
    steps = {step.key: step for step in book.steps if step in book.selection}
    takes: list[tuple[Step, Record]] = []
    for step in steps.values():
        take = book.takes.current(step)
        if take is None:
            book_hearing.missing_count += 1
        else:
            takes.append((step, take))
    book_hearing.take_count = len(takes)
    candidates = [
        _DueTake(step, take, *_find_needs(book, recogniser, step, take)) for step, take in takes
    ]
    due_takes = [take for take in candidates if take.needs_hearing or take.needs_times]
    total_seconds = sum(due_take.take.seconds for due_take in due_takes)
    for batch in recogniser.batches(due_takes):
        if cancel.is_set():
            break
        for take in _hear_batch(book, recogniser, batch):
            book_hearing.heard_count += 1
            book_hearing.heard_seconds += take.seconds
        on_progress(min(1.0, book_hearing.heard_seconds / total_seconds) if total_seconds else 1.0)
    book_hearing.cancelled = cancel.is_set()
    for step, take in takes:
        _judge(book, recogniser, step, take, book_hearing)
    covers_book = len(steps) == len({step.key for step in book.steps})
    if recogniser.recogniser and covers_book and not book_hearing.cancelled:
        # all takes have intact rows again
        book_hearing.removed_row_count = book.store.transcripts.forget_damaged()
    return book_hearing


def _find_needs(
    book: BookPlan, recogniser: TakeListener, step: Step, take: Record
) -> tuple[bool, bool]:
    """Two flags: a take has to be heard, and its words have to be timed."""
    transcript, word_times = _load_heard(book, recogniser, step, take)
    needs_times = word_times is None and recogniser.aligner(step.language) is not None
    return transcript is None and recogniser.can_judge(step.language), needs_times


def _load_heard(
    book: BookPlan, recogniser: TakeListener, step: Step, take: Record
) -> tuple[Transcript | None, WordTimes | None]:
    """The stored transcript and word times of a take, each None if missing."""
    transcript, word_times = recogniser.find_stored(
        book.store.transcripts, take.content, step.text, step.language
    )
    return transcript, book.store.engine_times(take, step.text) or word_times


def _hear_batch(
    book: BookPlan, recogniser: TakeListener, batch: Sequence[_DueTake]
) -> Iterator[Record]:
    """Hear a batch of takes, save the results, and yield the takes that could be read."""
    sounds_of_takes: list[tuple[_DueTake, SpokenSound]] = []
    for due_take in batch:
        try:
            samples, rate = book.store.read(due_take.take.key)
        except DamagedTake:  # the next render finds it gone, and speaks it again
            continue
        sounds_of_takes.append(
            (due_take, SpokenSound(samples, rate, due_take.step.text, due_take.step.language))
        )
    transcripts = recogniser.hear(
        [sound if due_take.needs_hearing else None for due_take, sound in sounds_of_takes]
    )
    word_times_of_takes = recogniser.align(
        [sound if due_take.needs_times else None for due_take, sound in sounds_of_takes]
    )
    for (due_take, sound), transcript, word_times in zip(
        sounds_of_takes, transcripts, word_times_of_takes, strict=True
    ):
        opinion = Opinion(heard=transcript, times=word_times)
        recogniser.store(
            book.store.transcripts, due_take.take.content, sound.text, sound.language, opinion
        )
        yield due_take.take


def _judge(
    book: BookPlan, recogniser: TakeListener, step: Step, take: Record, book_hearing: BookHearing
) -> None:
    """Count a take in the outcome of the pass, and update its faults in the store."""
    transcript, word_times = _load_heard(book, recogniser, step, take)
    if word_times is not None:
        book_hearing.timed_counts[word_times.by if word_times.words else ""] += 1
    if not recogniser.can_judge(step.language):
        book_hearing.unheard_count += recogniser.recogniser is not None
        return
    if transcript is not None:  # else stopped before, or damaged
        _update_faults(book, recogniser, step, take, transcript, book_hearing)


def _update_faults(
    book: BookPlan,
    recogniser: TakeListener,
    step: Step,
    take: Record,
    transcript: Transcript,
    book_hearing: BookHearing,
) -> None:
    """Judge a take by its transcript, and update its faults in the store."""
    sound_faults = tuple(fault for fault in take.faults if checks.concern_of(fault) != "words")
    word_faults = tuple(map(str, recogniser.judge(step.text, step.language, transcript).faults))
    if word_faults:
        book_hearing.misheard.append(Misheard(step, word_faults, transcript.text, step.pinned))
    elif sound_faults != take.faults:
        book_hearing.relieved_count += 1
    if not step.pinned and (*sound_faults, *word_faults) != take.faults:
        with contextlib.suppress(DamagedTake):  # as in `_hear_batch`
            book.store.mark(take.key, (*sound_faults, *word_faults))
