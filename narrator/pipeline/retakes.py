"""The tries of a chunk: listen to them, ask for more, pin one by hand.

A try that an author chooses is pinned: it is kept as a take of its own until the text of its chunk
changes, whatever else does. A new try with another seed or setting has no counterpart in the
manifest, so it is pinned at once. Knows nothing of the command line.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event
from types import MappingProxyType
from typing import Any

from narrator import files, keys
from narrator.engines import Engine, Outcome, Request, make_room, speak, unique_engines
from narrator.errors import DamagedTake, NarratorError, UsageError
from narrator.pipeline import book_engines, book_plan
from narrator.pipeline.book_plan import BookPlan, Selection
from narrator.pipeline.manuscript import Manuscript
from narrator.pipeline.session import locked
from narrator.progress import ProgressSink, Running, message_callback
from narrator.sound import audio
from narrator.speech import scores
from narrator.speech.hearing import choosing
from narrator.speech.hearing.listening import TakeListener
from narrator.speech.plan import Step, find_prompt_take
from narrator.speech.requests import (
    CheckedAnswer,
    TakeRules,
    add_opinion,
    change_speed,
    check_answer,
    prompt_of,
    record_of,
    request_of,
    sound_of,
    store_try,
)
from narrator.speech.scores import Standard
from narrator.speech.steadiness import (
    SpeakerMedians,
    VoicedTake,
    find_usual_voices,
    speaker_medians,
    voice_name,
    with_previous_steps,
)
from narrator.speech.store import Pin, Record, Store


@dataclass(frozen=True, slots=True)
class Try:
    """One answer of the engine to one chunk."""

    number: int
    """From 1, which is the take that the render made; the store counts from 0."""
    record: Record
    in_use: bool
    pinned: bool

    whole: bool
    """True if it speaks the full text, or was pinned when the text had other words: a chunk that
    fails is also tried in halves."""

    @property
    def good(self) -> bool:
        return self.whole and not self.record.faults


def tries_of(book: BookPlan, step: Step) -> list[Try]:
    """All stored tries of a chunk, each sound once, in the order of their numbers.

    Raises StorageError.
    """
    pin = book.pins.get(step.key)
    home_key, pinned_number = (pin.step, pin.number) if pin else (step.key, 0)
    records_by_number = dict(book.store.tries(home_key))
    if take := book.store.find(home_key):
        # the take of a chunk whose tries all failed is a copy of the best of them
        copies = [n for n, record in records_by_number.items() if record.content == take.content]
        pinned_number = 0 if pinned_number in copies else pinned_number
        for number in copies:
            del records_by_number[number]
        records_by_number[0] = take
    full_texts = {step.text}
    if pin and pin.number in records_by_number:
        full_texts.add(records_by_number[pin.number].text)
    return [
        Try(
            number + 1,
            record,
            in_use=number == pinned_number and book.store.find(step.key) is not None,
            pinned=pin is not None and number == pinned_number,
            whole=record.text in full_texts,
        )
        for number, record in sorted(records_by_number.items())
    ]


def plan_of_engine(book: BookPlan, engine: str) -> BookPlan:
    """The plan of a book as another engine speaks it, with the same takes. Raises NarratorError."""
    manuscript = book.manuscript.spoken_by(engine)
    engines = book_engines.engines_for(manuscript.project)
    return book_plan.plan(
        manuscript, engines.main, Selection(), engines=engines.by_speaker, store=book.store
    )


def find_spoken_otherwise(book: BookPlan, steps: Sequence[Step]) -> dict[str, list[BookPlan]]:
    """The plans of other engines that have takes of chunks without any, by the ids of these."""
    unspoken = {step.id: step for step in steps if not tries_of(book, step)}
    plans: dict[str, list[BookPlan]] = {}
    own_name = book.project.spoken_by("").engine.name
    for name in sorted(book.store.engines()) if unspoken else ():
        with contextlib.suppress(NarratorError):  # it may not be installed any more
            other_plan = plan_of_engine(book, "" if name == own_name else name)
            for step in other_plan.steps:
                unspoken_step = unspoken.get(step.id)
                if (
                    unspoken_step is not None
                    and unspoken_step.engine != step.engine
                    and unspoken_step.chunk.text == step.chunk.text
                    and tries_of(other_plan, step)
                ):
                    plans.setdefault(step.id, []).append(other_plan)
    return plans


def write_sounds(book: BookPlan, step: Step, tries: Sequence[Try], folder: Path) -> list[Path]:
    """Write every try to a WAV file to listen to. Raises StorageError, DamagedTake."""
    pin = book.pins.get(step.key)
    home_key = pin.step if pin else step.key
    paths = []
    for chunk_try in tries:
        samples, rate = (
            book.store.read_try(home_key, chunk_try.number - 1)
            if chunk_try.number > 1
            else book.store.read(home_key)
        )
        path = folder / f"{step.id} try {chunk_try.number}.wav"
        with files.translating_errors(path):
            folder.mkdir(parents=True, exist_ok=True)
            files.write(path, audio.encode_wav(samples, rate))
        paths.append(path)
    return paths


def pin(book: BookPlan, step: Step, number: int, home_key: str = "") -> Pin:
    """Choose a try for a chunk by its number, from 1; the caller holds the project's lock.

    The tries of another step than the chunk's are chosen by its key, `home_key`: a pin that was
    set under other settings is set again by it. Raises UsageError, StorageError.
    """
    if number < 1:
        raise UsageError(
            f"tries are numbered from 1: `narrator pin {step.id} 1` chooses the take that the "
            "render made"
        )
    current_pin = find_current_pin(book, step)
    home_key = home_key or (current_pin.step if current_pin else step.key)
    return _pin_stored_try(book, step, home_key, number - 1)


def find_current_pin(book: BookPlan, step: Step) -> Pin | None:
    """The current pin of a chunk in the store, which may differ from its plan's. Raises
    StorageError."""
    stored_pins, planned_pin = book.store.pins(), book.pins.get(step.key)
    return stored_pins.get(
        step.place_hash, stored_pins.get(planned_pin.place) if planned_pin else None
    )


def number_and_home(pin: Pin | None) -> tuple[int | None, str]:
    """The number of a pinned try, from 1, and the key of the step that it was spoken for."""
    return (pin.number + 1, pin.step) if pin else (None, "")


def _pin_stored_try(book: BookPlan, step: Step, home_key: str, number: int) -> Pin:
    """Pin a try that is stored under `home_key`, the key of the step that it was spoken for.

    `number` is the store's: 0 is the take itself. Raises UsageError if there is no such try,
    StorageError.
    """
    store = book.store
    tries = store.tries(home_key)
    if number and number not in tries:
        numbers = [*([0] if store.find(home_key) else []), *sorted(tries)]
        try_numbers = ", ".join(str(kept + 1) for kept in numbers) or "none was kept"
        raise UsageError(f"chunk {step.id} has no try {number + 1}; tries: {try_numbers}")
    if number == 0 and store.find(home_key) is None:
        raise UsageError(f"chunk {step.id} has no take to pin; render it first")
    if number and tries[number].text != step.text:
        raise UsageError(
            f"try {number + 1} of chunk {step.id} speaks only a part of it: {tries[number].text!r}"
        )
    new_pin = Pin(
        place=step.place_hash,
        take=keys.key({"format": 1, "pinned": home_key, "try": number}),
        step=home_key,
        number=number,
        chunk=step.id,
        speaker=step.chunk.speaker,
        text=step.text,
        words=step.text_hash,
        engine=step.engine,
        manifest=book.project.path.name,
    )
    store.pin(new_pin)
    return new_pin


def unpin(book: BookPlan, steps: Sequence[Step]) -> list[Step]:
    """Remove the pins of steps, and return the steps that had one.

    The caller holds the project's lock. Raises StorageError.
    """
    pinned_steps = [(step, pin) for step in steps if (pin := find_current_pin(book, step))]
    book.store.unpin(pin.place for _, pin in pinned_steps)
    return [step for step, _ in pinned_steps]


def remove_lost_pins(book: BookPlan, lost_pins: Sequence[Pin]) -> None:
    """Remove pins whose text is gone; the caller holds the project's lock. Raises StorageError."""
    book.store.unpin(pin.place for pin in lost_pins)


# -- another try -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RetakeSettings:
    """The number of new tries of a chunk, and their settings in place of the manifest's."""

    count: int = 1
    seed: int | None = None
    """Seed of the first try; the next ones count on from it. None draws one at random."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the engine."""
    style: str | None = None
    """None leaves the style as it is; "" is none."""
    speed: float = 1.0
    """Speed relative to that of the speaker's other takes."""


@dataclass(frozen=True, slots=True)
class RetakenChunk:
    """The new tries of a chunk."""

    step: Step
    tries: tuple[tuple[int, Record], ...]
    """Number, from 1, and record of each new try; those without faults passed their checks."""
    failures: tuple[str, ...]
    """The engine's messages on tries without a take."""
    pinned: int | None
    """The number of the try that is now in use."""
    replaced: int | None = None
    """The number of the try that was pinned before."""
    replaced_home: str = ""
    """The key of the step that it was spoken for."""

    def to_json(self) -> dict[str, Any]:
        """The new tries as a JSON object."""
        return {
            "id": self.step.id,
            "pinned": self.pinned,
            "replaced": self.replaced,
            "replaced_home": self.replaced_home,
            "tries": [
                {
                    "number": number,
                    "faults": list(record.faults),
                    "seed": record.seed,
                    "seconds": round(record.seconds, 2),
                    "score": dict(record.score),
                }
                for number, record in self.tries
            ],
            "failures": list(self.failures),
        }


def retake(
    manuscript: Manuscript,
    engine: Engine,
    chunks: Sequence[str],
    settings: RetakeSettings,
    *,
    sink: ProgressSink,
    cancel: Event,
    engines: Mapping[str, Engine] = MappingProxyType({}),
) -> list[RetakenChunk]:
    """Speak chunks again, and pin the best try of each that passes its checks.

    `engines` holds the engines of speakers that have their own. If `cancel` is set, there may be
    fewer tries. Raises UsageError, Locked, EngineUnavailable, StorageError, DamagedTake.
    """
    with locked(manuscript.project):
        store = Store.open(manuscript.project.takes, writing=True)
        book = book_plan.plan(manuscript, engine, Selection(), engines=engines, store=store)
        retake_job = RetakeJob.of(book, chunks, settings, message_callback(sink))
        _speak_requests(retake_job, sink, cancel)
        return retake_job.finish()


@dataclass(slots=True)
class _ChunkTries:
    tries: list[tuple[int, Record]]
    failures: list[str]


@dataclass(frozen=True, slots=True)
class RetakeJob:
    """Chunks to be spoken again, with the requests for an engine and their outcomes."""

    book: BookPlan
    steps: Sequence[Step]
    requests: Sequence[Request]
    """In order; all attempts are the first, each with a seed of its own."""
    settings: RetakeSettings
    _tries_by_key: Mapping[str, _ChunkTries]
    _speaker_medians: Mapping[str, SpeakerMedians]
    _standards: Mapping[str, Standard]
    """By key of the step; empty where tries are meant to sound otherwise."""
    _recogniser: TakeListener | None

    @classmethod
    def of(
        cls,
        book: BookPlan,
        chunks: Sequence[str],
        settings: RetakeSettings,
        on_message: Callable[[str], None],
    ) -> RetakeJob:
        """Prepare the requests of `retake`.

        The caller holds the project's lock and writes the store of the plan.
        """
        places = {step.place_hash for step in book_plan.find_steps(book, chunks)}
        pinned_places = {
            book.pins[step_of_book.key].place
            for step_of_book in book.steps
            if step_of_book.pinned and step_of_book.place_hash in places
        }
        if pinned_places:
            book = book_plan.plan(
                book.manuscript, book.engine, Selection(), engines=book.engines, store=book.store,
                unpinned=pinned_places,
            )  # fmt: skip
        # steps that share a take are spoken once
        steps = list({step.key: step for step in book.steps if step.place_hash in places}.values())
        requests = [
            request
            for step in steps
            for request in _build_requests(book, step, settings, on_message)
        ]
        tries_by_key = {step.key: _ChunkTries([], []) for step in steps}
        medians = speaker_medians(book.steps, book.takes.current)
        recogniser = choosing.make_render_listener(book.project.manifest.checks, book.project.root)
        is_usual = settings.style is None and settings.speed == 1
        standards = _standards_of(book, steps) if is_usual else {}
        return cls(book, steps, requests, settings, tries_by_key, medians, standards, recogniser)

    def answered(self, request: Request, outcome: Outcome) -> Sequence[Request]:
        """Judge and keep a try. Never asks for a further request. Raises StorageError."""
        speech, chunk_tries = outcome.speech, self._tries_by_key[request.key]
        if speech is None:
            chunk_tries.failures.append(str(outcome.failure))
            return ()
        checks, engine = self.book.project.manifest.checks, self.engine_of(request)
        medians = self._speaker_medians.get(request.voice.speaker, SpeakerMedians())
        rules = TakeRules(checks.tries, checks.loudness)
        answer = check_answer(speech, request, engine, rules, medians)
        if self._recogniser and not answer.faults:
            [opinion] = self._recogniser.listen([sound_of(answer, engine)], [answer.verdict])
            answer = add_opinion(answer, opinion)
        if not answer.faults:
            standard = self._standards.get(request.key, Standard())
            score = standard.score(record_of(answer, engine), answer.word_odds)
            answer = replace(answer, score=score)
        numbered_record = store_try(self.book.store, self._apply_settings(answer, engine), engine)
        if numbered_record is None:
            chunk_tries.failures.append("; ".join(map(str, answer.faults)))
        else:
            chunk_tries.tries.append(numbered_record)
        return ()

    def _apply_settings(self, answer: CheckedAnswer, engine: Engine) -> CheckedAnswer:
        """Changes an answer's speed if its engine cannot, and notes style and speed with it."""
        style, speed = self.settings.style, self.settings.speed
        if not engine.has_speed:
            answer = change_speed(answer, engine.sample_rate, speed)
        own_settings = {
            **answer.request.parameters,
            **({"style": style} if style is not None else {}),
            **({"speed": speed} if speed != 1 else {}),
        }
        return replace(answer, request=replace(answer.request, parameters=own_settings))

    def engine_of(self, request: Request) -> Engine:
        return self.book.engines[request.voice.speaker]

    def finish(self) -> list[RetakenChunk]:
        """Pin the best try of each chunk that passed its checks, and return all tries.

        Raises UsageError, StorageError.
        """
        return [_pin_best_try(self.book, step, self._tries_by_key[step.key]) for step in self.steps]


def _standards_of(book: BookPlan, steps: Sequence[Step]) -> dict[str, Standard]:
    """Returns what new tries of steps are compared with, by key: the speakers' usual voices."""
    voices = find_usual_voices(book.steps, book.takes.current)
    standards: dict[str, Standard] = {}
    step_keys = {step.key for step in steps}
    for step, previous in with_previous_steps(book.steps):
        if step.key in step_keys:
            record = book.takes.current(previous) if previous else None
            standards[step.key] = Standard(
                voices.get(voice_name(step)),
                previous=VoicedTake.of(record) if record else None,
            )
    return standards


def style_advice(book: BookPlan, speaker: str) -> str:
    """Explains why the takes of a speaker have no style; "" if they may have one."""
    settings = book.project.engine_of(speaker)
    if settings.name == "draft":
        return "the draft voice has no styles"
    return book_engines.specs_of(book.project)[speaker].unsupported(settings).get("style", "")


def _build_requests(
    book: BookPlan, step: Step, settings: RetakeSettings, on_message: Callable[[str], None]
) -> list[Request]:
    """The requests for the new tries of a step. Raises UsageError."""
    prompt, engine, speed = None, book.engines[step.chunk.speaker], settings.speed
    is_random = engine.is_random
    if settings.style and (advice := style_advice(book, step.chunk.speaker)):
        raise UsageError(f"chunk {step.id} can be given no style: {advice}")
    is_spoken = book.store.find(step.key) is not None or bool(book.store.tries(step.key))
    if is_spoken and not is_random and speed == 1 and settings.style is None:
        raise UsageError(
            f"{engine.name} has one reading of a text: another try would be the same, but for a "
            "change of speed"
        )
    if unknown_parameters := set(settings.parameters) - set(engine.sound_parameters):
        raise UsageError(f"the engine {engine.name} has no {', '.join(sorted(unknown_parameters))}")
    if step.parent:
        if book.store.find(step.parent) is None and book.store.flag(step.parent) is None:
            raise UsageError(
                f"chunk {step.id} continues one that has no take yet; run `narrator render` first"
            )
        # a chunk with a style of its own never continues another
        prompting_take = None if settings.style else find_prompt_take(step, book.store.find)
        if prompting_take:
            prompt = prompt_of(book.store, step.parent, prompting_take, step.expected, engine)
    reference = None
    if step.chunk.speaker in book.voices.contents:
        reference = book.voices.reference(step.chunk.speaker, on_message)
    # short enough for people to read and type again
    first_seed = secrets.randbelow(1_000_000) if settings.seed is None else settings.seed
    if engine.has_speed:
        voice = replace(step.voice, speed=step.voice.speed * speed)
        step = replace(step, voice=voice, take_speed=voice.speed)
    return [
        request_of(
            step, engine, step.text, step.expected, prompt, reference,
            attempt=0, seed=first_seed + n, parameters=settings.parameters, style=settings.style,
        )
        for n in range(settings.count if is_random else 1)
    ]  # fmt: skip


def _speak_requests(retake_job: RetakeJob, sink: ProgressSink, cancel: Event) -> None:
    """Speak the requests of all engines, one engine after the other."""
    engines = {
        request.voice.speaker: retake_job.engine_of(request) for request in retake_job.requests
    }
    for engine in unique_engines(engines):
        engine_requests = [
            request for request in retake_job.requests if engines[request.voice.speaker] is engine
        ]
        _speak_with_engine(engine, engine_requests, retake_job, sink, cancel)


def _speak_with_engine(
    engine: Engine,
    engine_requests: Sequence[Request],
    retake_job: RetakeJob,
    sink: ProgressSink,
    cancel: Event,
) -> None:
    """Speak the requests of one engine. Its session ends before the next engine's begins."""
    make_room(engine, unique_engines(retake_job.book.engines))

    def tick() -> None:
        sink(Running(session.slots, session.busy, session.note))

    # the tries of a chunk are equal but for their seeds: each has a key of its own meanwhile
    requests_by_key = {f"try {n}": request for n, request in enumerate(engine_requests)}
    keyed_requests = [replace(request, key=key) for key, request in requests_by_key.items()]
    with contextlib.closing(engine.start(message_callback(sink))) as session:
        for keyed_request, outcome in speak(session, keyed_requests, tick=tick, cancel=cancel):
            request = requests_by_key[keyed_request.key]
            retake_job.answered(request, replace(outcome, key=request.key))


def _pin_best_try(book: BookPlan, step: Step, chunk_tries: _ChunkTries) -> RetakenChunk:
    """Pin the try with the best score of those that passed their checks. Raises UsageError,
    StorageError."""
    replaced, replaced_home = number_and_home(find_current_pin(book, step))
    good_tries = [
        (scores.total(record.score), number)
        for number, record in chunk_tries.tries
        if not record.faults
    ]
    best = min(good_tries)[1] if good_tries else None
    if best is not None:
        try:
            _pin_stored_try(book, step, step.key, best)
        except DamagedTake as error:
            raise UsageError(f"chunk {step.id}: {error}") from None
    return RetakenChunk(
        step,
        tuple((number + 1, record) for number, record in chunk_tries.tries),
        tuple(chunk_tries.failures),
        None if best is None else best + 1,
        replaced,
        replaced_home,
    )
