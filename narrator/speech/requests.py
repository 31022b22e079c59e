"""Makes the requests to engines for a step, and the records of their answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from narrator.engines import Engine, Prompt, Request, Speech, State
from narrator.engines.voice import Mode, Reference
from narrator.sound import audio, timing
from narrator.speech import checks
from narrator.speech.hearing import SpokenSound, word_timings
from narrator.speech.plan import Step, takes_prompt
from narrator.speech.store import Record, Store

HALVES_GAP = 0.25
"""Seconds of silence between the two halves of a chunk."""
PROMPT_REST = 0.25
"""Seconds of silence that a prompt ends on: one that ends in sound chirps at the next start, one
that ends in a long silence invites another."""


@dataclass(frozen=True, slots=True)
class TakeRules:
    """Limits of a take, and the number of tries."""

    tries: int = 3
    """Tries of a whole chunk, and of each of its halves."""
    loudness: float = 8.0
    """dB that a take may lie from its speaker's median."""


@dataclass(frozen=True, slots=True, order=True)
class FullAttempt:
    """An audible try of a whole chunk, kept in the store."""

    badness: float
    number: int
    prompted_by: str | None = field(compare=False)
    keep: Callable[[Record], None] = field(default=lambda record: None, compare=False)
    """Stores its transcript, if it becomes the take."""


@dataclass(frozen=True, slots=True)
class PartialAttempt:
    """An audible try of a part of a chunk."""

    badness: float
    attempt: int
    speech: Speech
    verdict: checks.Verdict


@dataclass(slots=True)
class StepJob:
    """A step in progress: its parts (one, or two halves), and the state of the present part."""

    step: Step
    parts: tuple[str, ...]
    began: float
    attempt: int = 0
    first_attempt: int = 0
    """The first attempt of this run: a step that was given up before needs other noise."""
    tries: int = 0
    prompted_by: str | None = None
    prompt: Prompt | None = None
    reference: Reference | None = None
    done: list[Speech] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    """Faults of all tries."""
    full_attempts: list[FullAttempt] = field(default_factory=list)
    best_half: PartialAttempt | None = None
    """The least bad try of the present half."""
    badness: float = 0.0
    """Severity of the faults of the finished halves."""
    doubts: tuple[str, ...] = ()
    """Faults of the finished halves."""

    def best(self) -> FullAttempt | None:
        """Returns the least bad full attempt among those that continued the current prompt."""
        fitting = (
            attempt for attempt in self.full_attempts if attempt.prompted_by == self.prompted_by
        )
        return min(fitting, default=None)


def prompt_of(
    store: Store, key: str, take: Record, expected: float, engine: Engine
) -> Prompt | None:
    """Makes a take the prompt of the next chunk; None where both exceed the engine's context.

    Raises DamagedTake.
    """
    if take.prompt_seconds + expected > engine.max_context_seconds:
        return None

    def samples() -> audio.Samples:
        take_samples, rate = store.read(key)
        stop = min(len(take_samples), take.stop + round(PROMPT_REST * rate))
        if not take.prompt_text:
            return take_samples[:stop]
        return take_samples[
            max(0, stop - round(take.prompt_seconds * rate)) : stop
        ]  # its last half

    return Prompt(take.prompt_text or take.text, samples, store.state(key))


def request_for(job: StepJob, engine: Engine) -> Request:
    step, part_index = job.step, len(job.done)
    prompt, expected = job.prompt, step.expected
    if len(job.parts) > 1:
        expected *= len(job.parts[part_index]) / max(1, sum(map(len, job.parts)))
        if part_index and takes_prompt(engine, step.mode) and not job.doubts:
            prompt = prompt_after(job.done[-1], job.parts[part_index - 1], engine)
    return request_of(
        step, engine, job.parts[part_index], expected, prompt, job.reference, attempt=job.attempt
    )


def prompt_after(speech: Speech, text: str, engine: Engine) -> Prompt:
    """Makes an answer the prompt of the next part."""
    prompt_samples = speech.samples[: prompt_end(speech.samples, engine.sample_rate)]
    return Prompt(text, lambda: prompt_samples, prompt_state(speech, engine))


def request_of(
    step: Step,
    engine: Engine,
    text: str,
    expected: float,
    prompt: Prompt | None,
    reference: Reference | None,
    *,
    attempt: int,
    seed: int | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> Request:
    """Makes the request for a step's text or a part of it, with its prompt and reference.

    `seed` and `parameters` stand in for the step's own.
    """
    # a step whose parent was given up starts a new chain
    style = None if prompt else step.style or step.chunk.style or step.voice.style
    return Request(
        key=step.key,
        text=text,
        language=step.language,
        voice=step.voice,
        style=style,
        parameters={**step.parameters, **(parameters or {})},
        seed=step.seed if seed is None else seed,
        attempt=attempt,
        expected=expected,
        mode=_choose_mode(step, engine, prompt, reference, style, expected),
        reference=reference,
        prompt=prompt,
        pronunciations=step.utterance.spoken.pronunciations,
    )


def _choose_mode(
    step: Step,
    engine: Engine,
    prompt: Prompt | None,
    reference: Reference | None,
    style: str | None,
    expected: float,
) -> Mode:
    if not engine.clones or reference is None:
        return "continuation" if prompt else "zero-shot"
    if step.mode == "continuation" and style is None:
        if prompt or reference.seconds + expected <= engine.max_context_seconds:
            return "continuation"
        return "reference"
    return "anchored" if prompt else "reference"


def check_answer(
    speech: Speech,
    request: Request,
    engine: Engine,
    rules: TakeRules = TakeRules(),
    level: float | None = None,
    pace: float | None = None,
) -> checks.Verdict:
    """Checks an answer; `level` and `pace` are the speaker's medians."""
    return checks.examine(
        speech.samples,
        engine.sample_rate,
        request.expected,
        latents=speech.state,
        capped=speech.stop == "cap",
        wrong=speech.wrong,
        median=level,
        spread=rules.loudness,
        pace=pace,
        tokens=speech.tokens,
        text=request.text,
        spoken_until=speech.words[-1].stop if speech.words else 0.0,
    )


def sound_of(speech: Speech, request: Request, engine: Engine) -> SpokenSound:
    """Returns an answer in the form that recognition takes."""
    return SpokenSound(speech.samples, engine.sample_rate, request.text, request.language)


def record_of(
    key: str, request: Request, speech: Speech, verdict: checks.Verdict, engine: Engine
) -> Record:
    """Returns the record of one unaltered answer."""
    rate = engine.sample_rate
    start, stop = audio.speech_bounds(speech.samples, rate)
    state = prompt_state(speech, engine)
    prompt_length = len(speech.samples)
    if state is not None and speech.state is not None:
        prompt_length = round(prompt_length * len(state) / max(1, len(speech.state)))
    reference = request.reference
    return Record(
        key=key,
        content="",
        samples=len(speech.samples),
        sample_rate=rate,
        start=start,
        stop=stop,
        level=verdict.figures.level,
        peak=verdict.figures.peak,
        attempt=request.attempt,
        mode=request.mode,
        seed=request.seed,
        noise=speech.seed,
        parameters=dict(request.parameters),
        voiced_by=reference.content if reference and request.mode != "zero-shot" else None,
        figures=asdict(verdict.figures),
        faults=tuple(map(str, verdict.faults)),
        engine=engine.name,
        text=request.text,
        prompt_seconds=round(prompt_length / rate, 3),
        words=timing.pack_words(
            word_timings.spoken_words(
                request.text,
                request.language,
                [(request.text, speech, 0.0)],
                speech.samples,
                rate,
            )
        ),
    )


def store_try(
    store: Store,
    request: Request,
    speech: Speech,
    verdict: checks.Verdict,
    engine: Engine,
    prompted_by: str | None = None,
) -> tuple[int, Record] | None:
    """Stores an answer as a try; returns its number and record, or None for an inaudible answer.

    Raises StorageError.
    """
    if not len(speech.samples) or not np.isfinite(speech.samples).all():
        return None
    record = replace(
        record_of(request.key, request, speech, verdict, engine), prompted_by=prompted_by
    )
    samples = np.clip(speech.samples, -1.0, 1.0)
    return store.put_try(record, samples, prompt_state(speech, engine)), record


def prompt_state(speech: Speech, engine: Engine) -> State | None:
    """Returns the part of a take's state that a prompt should contain."""
    if speech.state is None or not len(speech.state):
        return speech.state
    frame = len(speech.samples) / len(speech.state)
    last = math.ceil(prompt_end(speech.samples, engine.sample_rate) / frame)
    return speech.state[: max(1, last)]


def prompt_end(samples: audio.Samples, rate: int) -> int:
    """Returns the sample at which a prompt ends: a short rest after its speech."""
    _, stop = audio.speech_bounds(samples, rate)
    return stop + round(PROMPT_REST * rate)


def close_sentence(text: str) -> str:
    """Ends a first half with a full stop: engines clip other endings."""
    text = text.rstrip(",;:，；：、، ")
    return text if text.endswith((".", "!", "?", "。", "！", "？", "…")) else f"{text}."


def join_parts(parts: Sequence[Speech], rate: int) -> audio.Samples:
    """Joins the halves of a take, with a short silence between them."""
    if len(parts) == 1:
        return parts[0].samples
    gap = np.zeros(round(HALVES_GAP * rate), np.float32)
    pieces: list[audio.Samples] = []
    for part in parts:
        start, stop = audio.speech_bounds(part.samples, rate)
        pieces += [audio.fade(part.samples[start:stop], rate), gap]
    return np.concatenate(pieces[:-1])


def part_offsets(parts: Sequence[Speech], rate: int) -> list[float]:
    """Returns the seconds to add to times within each part to get times in the take."""
    if len(parts) == 1:
        return [0.0]
    offsets, position = [], 0
    for part in parts:
        start, stop = audio.speech_bounds(part.samples, rate)
        offsets.append((position - start) / rate)
        position += stop - start + round(HALVES_GAP * rate)
    return offsets
