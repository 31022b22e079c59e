"""A book's takes are heard, and their words timed, as they lie in the store; nothing is spoken.

What was heard before by the same recogniser is not heard again. A take that does not say its text
becomes doubtful, as if it had been heard when it was made; one that was doubtful for its words
alone, and says them, is so no longer. Stopped at any moment, the next pass goes on.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from threading import Event

from narrator.errors import DamagedTake
from narrator.pipeline.bookengines import BookEngines
from narrator.pipeline.bookplan import BookPlan, Selection, plan
from narrator.pipeline.manuscript import Manuscript
from narrator.pipeline.session import locked
from narrator.sound.timing import WordTimes
from narrator.speech import checks
from narrator.speech.hearing import SpokenSound, Transcript
from narrator.speech.hearing.listening import Ear, Opinion
from narrator.speech.plan import Step
from narrator.speech.store import Record, Store


@dataclass(frozen=True, slots=True)
class Misheard:
    """A take that does not say its text."""

    step: Step
    faults: tuple[str, ...]
    heard: str
    is_accepted: bool
    """Whether an author pinned it: it is no longer doubtful."""


@dataclass(slots=True)
class BookHearing:
    """What came of a pass over a book."""

    takes: int = 0
    """That are there, of those asked for."""
    missing: int = 0
    """Chunks that have none."""
    unknown: int = 0
    """Takes in languages that the recogniser does not know."""
    fresh: int = 0
    """That were listened to now."""
    seconds: float = 0.0
    """Of sound, of these."""
    timed: Counter[str] = field(default_factory=Counter)
    """Takes whose words are timed, by who timed them; "" for those whose words were not found."""
    misheard: list[Misheard] = field(default_factory=list)
    relieved: int = 0
    """Takes that were doubtful for their words, and are no longer."""
    forgotten: int = 0
    """Damaged rows of what was heard before, which are no longer in their file."""
    cancelled: bool = False


@dataclass(frozen=True, slots=True)
class _Due:
    """A take, and what of it is not known yet."""

    step: Step
    take: Record
    heard: bool
    times: bool


def hear(
    manuscript: Manuscript,
    engines: BookEngines,
    selection: Selection,
    ear: Ear,
    *,
    tell: Callable[[float], None],
    cancel: Event,
) -> tuple[BookPlan, BookHearing]:
    """Listen to every take of a selection that was not listened to yet.

    `tell` hears which share of what is to be listened to is done. Raises Locked,
    EngineUnavailable, ManifestError, StorageError.
    """
    with locked(manuscript.project):
        store = Store.open(manuscript.project.takes, writing=True)
        book = plan(manuscript, engines.main, selection, engines=engines.own, store=store)
        return book, _hear(book, ear, tell, cancel)


def _hear(book: BookPlan, ear: Ear, tell: Callable[[float], None], cancel: Event) -> BookHearing:
    found = BookHearing()
    steps = {step.key: step for step in book.steps if step in book.selection}
    takes: list[tuple[Step, Record]] = []
    for step in steps.values():
        take = book.takes.current(step)
        if take is None:
            found.missing += 1
        else:
            takes.append((step, take))
    found.takes = len(takes)
    due = [_Due(step, take, *_due(book, ear, step, take)) for step, take in takes]
    due = [one for one in due if one.heard or one.times]
    whole = sum(one.take.seconds for one in due)
    for some in ear.batches(due):
        if cancel.is_set():
            break
        for take in _listened(book, ear, some):
            found.fresh += 1
            found.seconds += take.seconds
        tell(min(1.0, found.seconds / whole) if whole else 1.0)
    found.cancelled = cancel.is_set()
    for step, take in takes:
        _judge(book, ear, step, take, found)
    is_whole = len(steps) == len({step.key for step in book.steps})
    if ear.recogniser and is_whole and not found.cancelled:
        found.forgotten = book.store.heard.forget_damaged()  # all takes have whole rows again
    return found


def _due(book: BookPlan, ear: Ear, step: Step, take: Record) -> tuple[bool, bool]:
    """Whether a take is to be heard, and whether its words are to be timed."""
    heard, times = _known(book, ear, step, take)
    untimed = times is None and ear.aligner(step.language) is not None
    return heard is None and ear.hears(step.language), untimed


def _known(
    book: BookPlan, ear: Ear, step: Step, take: Record
) -> tuple[Transcript | None, WordTimes | None]:
    heard, times = ear.known(book.store.heard, take.content, step.text, step.language)
    return heard, book.store.engine_times(take, step.text) or times


def _listened(book: BookPlan, ear: Ear, some: Sequence[_Due]) -> Iterator[Record]:
    """Takes of a batch that could be read, with what was heard in them kept."""
    sounds: list[tuple[_Due, SpokenSound]] = []
    for due in some:
        try:
            samples, rate = book.store.read(due.take.key)
        except DamagedTake:  # the next render finds it gone, and speaks it again
            continue
        sounds.append((due, SpokenSound(samples, rate, due.step.text, due.step.language)))
    heard = ear.hear([sound if due.heard else None for due, sound in sounds])
    times = ear.align([sound if due.times else None for due, sound in sounds])
    for (due, sound), one, timed in zip(sounds, heard, times, strict=True):
        opinion = Opinion(heard=one, times=timed)
        ear.keep(book.store.heard, due.take.content, sound.text, sound.language, opinion)
        yield due.take


def _judge(book: BookPlan, ear: Ear, step: Step, take: Record, found: BookHearing) -> None:
    heard, times = _known(book, ear, step, take)
    if times is not None:
        found.timed[times.by if times.words else ""] += 1
    if not ear.hears(step.language):
        found.unknown += ear.recogniser is not None
        return
    if heard is None:  # stopped before, or damaged
        return
    sound_faults = tuple(fault for fault in take.faults if not checks.in_words(fault))
    faults = tuple(map(str, ear.faults_of(step.text, step.language, heard)))
    if faults:
        found.misheard.append(Misheard(step, faults, heard.text, step.pinned))
    elif sound_faults != take.faults:
        found.relieved += 1
    if not step.pinned and (*sound_faults, *faults) != take.faults:
        with contextlib.suppress(DamagedTake):  # as in `_listened`
            book.store.mark(take.key, (*sound_faults, *faults))
