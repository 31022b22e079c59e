"""One chunk's tries: hear them, ask for others, choose one by hand.

A try that an author chooses is pinned: it is kept as a take of its own, whatever else changes,
until the chunk's text does. A new try asked for with another seed or setting is no part of the
manifest, so it is pinned at once. Knows nothing of the command line.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event
from types import MappingProxyType
from typing import Any

from narrator import files, keys
from narrator.engines import Engine, Outcome, Request, distinct, make_room, speak
from narrator.errors import DamagedTake, UsageError
from narrator.pipeline import bookplan
from narrator.pipeline.bookplan import BookPlan, Selection
from narrator.pipeline.manuscript import Manuscript
from narrator.pipeline.session import Observer, locked
from narrator.sound import audio
from narrator.speech import render
from narrator.speech.hearing import choosing
from narrator.speech.hearing.listening import Ear
from narrator.speech.plan import Step, prompting
from narrator.speech.requests import Rules, examined, keep_try, prompt_of, request_of, sound_of
from narrator.speech.store import Pin, Record, Store


@dataclass(frozen=True, slots=True)
class Try:
    """One answer of the engine to one chunk."""

    number: int
    """0 is the chunk's own take; the others are numbered from 1."""
    record: Record
    in_use: bool
    pinned: bool

    whole: bool
    """Whether it speaks all of the chunk: a chunk that fails is also tried in halves."""

    @property
    def good(self) -> bool:
        return self.whole and not self.record.faults


def tries_of(book: BookPlan, step: Step) -> list[Try]:
    """All that is kept of a chunk, oldest first. Raises StorageError."""
    pin = book.pins.get(step.key)
    home, chosen = (pin.step, pin.number) if pin else (step.key, 0)
    found = dict(book.store.tries(home))
    if take := book.store.find(home):
        found[0] = take
    return [
        Try(
            number,
            record,
            in_use=number == chosen and book.store.find(step.key) is not None,
            pinned=pin is not None and number == chosen,
            whole=record.text == step.text,
        )
        for number, record in sorted(found.items())
    ]


def write_sounds(book: BookPlan, step: Step, tries: Sequence[Try], folder: Path) -> list[Path]:
    """Every try as a WAV file to listen to. Raises StorageError, DamagedTake."""
    pin = book.pins.get(step.key)
    home = pin.step if pin else step.key
    written = []
    for one in tries:
        samples, rate = (
            book.store.read_try(home, one.number) if one.number else book.store.read(home)
        )
        path = folder / f"{step.id} try {one.number}.wav"
        with files.storage(path):
            folder.mkdir(parents=True, exist_ok=True)
            files.write(path, audio.wav(samples, rate))
        written.append(path)
    return written


def pin(book: BookPlan, step: Step, number: int) -> Pin:
    """Choose a try for a chunk, of who holds the lock. Raises UsageError, StorageError."""
    held = held_by(book, step)
    return _pin(book, step, held.step if held else step.key, number)


def held_by(book: BookPlan, step: Step) -> Pin | None:
    """What a chunk is pinned to now, which may not be what its plan says. Raises StorageError."""
    now, planned = book.store.pins(), book.pins.get(step.key)
    return now.get(step.place, now.get(planned.place) if planned else None)


def _pin(book: BookPlan, step: Step, home: str, number: int) -> Pin:
    store = book.store
    tries = store.tries(home)
    if number and number not in tries:
        numbers = [*([0] if store.find(home) else []), *sorted(tries)]
        there = ", ".join(map(str, numbers)) or "none was kept"
        raise UsageError(f"chunk {step.id} has no try {number}; tries: {there}")
    if number == 0 and store.find(home) is None:
        raise UsageError(f"chunk {step.id} has no take to pin; render it first")
    if number and tries[number].text != step.text:
        raise UsageError(
            f"try {number} of chunk {step.id} speaks only a part of it: {tries[number].text!r}"
        )
    chosen = Pin(
        place=step.place,
        take=keys.key({"format": 1, "pinned": home, "try": number}),
        step=home,
        number=number,
        chunk=step.id,
        speaker=step.chunk.speaker,
        text=step.text,
        words=step.words,
        engine=step.engine,
        manifest=book.project.path.name,
    )
    store.pin(chosen)
    return chosen


def unpin(book: BookPlan, steps: Sequence[Step]) -> list[Step]:
    """Let the manifest decide again, of who holds the lock; returns the steps that were pinned.

    Raises StorageError.
    """
    held = [(step, pin) for step in steps if (pin := held_by(book, step))]
    book.store.unpin(pin.place for _, pin in held)
    return [step for step, _ in held]


def forget(book: BookPlan, lost: Sequence[Pin]) -> None:
    """Drop pins whose text has gone, of who holds the lock. Raises StorageError."""
    book.store.unpin(one.place for one in lost)


# -- another try -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Retaken:
    """What a chunk got from asking again."""

    step: Step
    tries: tuple[tuple[int, Record], ...]
    """Number and record of each new try; those without faults passed their checks."""
    failures: tuple[str, ...]
    """What the engine said of tries that gave nothing."""
    pinned: int | None
    """The try that is now in use."""

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.step.id,
            "pinned": self.pinned,
            "tries": [
                {
                    "number": number,
                    "faults": list(record.faults),
                    "seed": record.seed,
                    "seconds": round(record.seconds, 2),
                }
                for number, record in self.tries
            ],
            "failures": list(self.failures),
        }


def retake(
    manuscript: Manuscript,
    engine: Engine,
    chunks: Sequence[str],
    *,
    count: int = 1,
    seed: int | None = None,
    parameters: Mapping[str, Any],
    observer: Observer,
    cancel: Event,
    engines: Mapping[str, Engine] = MappingProxyType({}),
) -> list[Retaken]:
    """Speak chunks anew, `count` times each, and pin the first try of each that passes its checks.

    `seed` is that of the first try, the others follow it; without one it is drawn. `parameters`
    stand in for the manifest's; `engines` are those of speakers that have their own. Where `cancel`
    was set there may be fewer tries. Raises UsageError, Locked, EngineUnavailable, StorageError,
    DamagedTake.
    """
    with locked(manuscript.project):
        store = Store.open(manuscript.project.takes, writing=True)
        book = bookplan.plan(manuscript, engine, Selection(), engines=engines, store=store)
        asked = Retaking.of(
            book, chunks, count=count, seed=seed, parameters=parameters, tell=observer.starting
        )
        _speak(asked, observer, cancel)
        return asked.settled()


@dataclass(slots=True)
class _Found:
    tries: list[tuple[int, Record]]
    failures: list[str]


@dataclass(frozen=True, slots=True)
class Retaking:
    """Chunks that are being spoken anew: what an engine is asked, and what came of it."""

    book: BookPlan
    steps: Sequence[Step]
    requests: Sequence[Request]
    _found: Mapping[str, _Found]
    _usual: Mapping[str, render.SpeakerStats]
    _ear: Ear | None

    @classmethod
    def of(
        cls,
        book: BookPlan,
        chunks: Sequence[str],
        *,
        count: int,
        seed: int | None,
        parameters: Mapping[str, Any],
        tell: Callable[[str], None],
    ) -> Retaking:
        """As `retake`, of who holds the lock and writes the store of the plan."""
        places = {step.place for step in bookplan.find_steps(book, chunks)}
        held = {book.pins[s.key].place for s in book.steps if s.pinned and s.place in places}
        if held:
            book = bookplan.plan(
                book.manuscript, book.engine, Selection(), engines=book.engines, store=book.store,
                unpinned=held,
            )  # fmt: skip
        # steps that share a take are one
        steps = list({step.key: step for step in book.steps if step.place in places}.values())
        requests = [
            request
            for step in steps
            for request in _requests(book, step, count, seed, parameters, tell)
        ]
        found = {step.key: _Found([], []) for step in steps}
        usual = render.collect_stats(book.steps, book.takes.current)
        ear = choosing.ear_of(book.project.manifest.checks, book.project.root)
        return cls(book, steps, requests, found, usual, ear)

    def answered(self, request: Request, outcome: Outcome) -> Sequence[Request]:
        """Judge and keep what the engine said; nothing is to be asked next. Raises StorageError."""
        speech, kept = outcome.speech, self._found[request.key]
        if speech is None:
            kept.failures.append(str(outcome.failure))
            return ()
        checks, engine = self.book.project.manifest.checks, self.engine_of(request)
        medians = self._usual.get(request.voice.speaker, render.SpeakerStats()).medians()
        rules = Rules(checks.tries, checks.loudness)
        verdict = examined(speech, request, engine, rules, *medians)
        if self._ear and not verdict.faults:
            (opinion,) = self._ear.listen([sound_of(speech, request, engine)], [verdict])
            verdict = replace(verdict, faults=opinion.faults)
        one = keep_try(self.book.store, request, speech, verdict, engine)
        if one is None:
            kept.failures.append("; ".join(map(str, verdict.faults)))
        else:
            kept.tries.append(one)
        return ()

    def engine_of(self, request: Request) -> Engine:
        return self.book.engines[request.voice.speaker]

    def settled(self) -> list[Retaken]:
        """What came of each chunk; the first of its tries that passed its checks is pinned.

        Raises UsageError, StorageError.
        """
        return [_settled(self.book, step, self._found[step.key]) for step in self.steps]


def _requests(
    book: BookPlan,
    step: Step,
    count: int,
    seed: int | None,
    parameters: Mapping[str, Any],
    tell: Callable[[str], None],
) -> list[Request]:
    prompt, engine = None, book.engines[step.chunk.speaker]
    if "seed" not in engine.sound_parameters:
        raise UsageError(f"{engine.name} has one reading of a text: another try would be the same")
    if unknown := set(parameters) - set(engine.sound_parameters):
        raise UsageError(f"the engine {engine.name} has no {', '.join(sorted(unknown))}")
    if step.parent:
        if book.store.find(step.parent) is None and book.store.flag(step.parent) is None:
            raise UsageError(
                f"chunk {step.id} continues one that has no take yet; run `narrator render` first"
            )
        if parent := prompting(step, book.store.find):
            prompt = prompt_of(book.store, step.parent, parent, step.expected, engine)
    reference = None
    if step.chunk.speaker in book.voices.contents:
        reference = book.voices.reference(step.chunk.speaker, tell)
    # a number that people can read, and ask for again
    first = secrets.randbelow(1_000_000) if seed is None else seed
    return [
        request_of(
            step, engine, step.text, step.expected, prompt, reference,
            attempt=n, seed=first, parameters=parameters,
        )
        for n in range(count)
    ]  # fmt: skip


def _speak(asked: Retaking, observer: Observer, cancel: Event) -> None:
    engines = {one.voice.speaker: asked.engine_of(one) for one in asked.requests}
    for engine in distinct(engines):
        own = [one for one in asked.requests if engines[one.voice.speaker] is engine]
        _speak_by(engine, own, asked, observer, cancel)


def _speak_by(
    engine: Engine, own: Sequence[Request], asked: Retaking, observer: Observer, cancel: Event
) -> None:
    """What is one engine's; nothing here keeps its session until the next one's turn."""
    make_room(engine, distinct(asked.book.engines))
    with closing(engine.start(observer.starting)) as session:
        for request, outcome in speak(session, own, tick=observer.tick, cancel=cancel):
            asked.answered(request, outcome)


def _settled(book: BookPlan, step: Step, found: _Found) -> Retaken:
    good = [number for number, record in found.tries if not record.faults]
    if good:
        try:
            _pin(book, step, step.key, good[0])
        except DamagedTake as error:
            raise UsageError(f"chunk {step.id}: {error}") from None
    pinned = good[0] if good else None
    return Retaken(step, tuple(found.tries), tuple(found.failures), pinned)
