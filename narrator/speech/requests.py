"""What an engine is asked for a step, and the record of what it answered."""

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
from narrator.speech.hearing import SpokenSound, told
from narrator.speech.plan import Step, takes_prompt
from narrator.speech.store import Record, Store

HALVES_GAP = 0.25
"""Seconds of silence between the two halves of a chunk."""
PROMPT_REST = 0.25
"""Seconds of silence that a prompt ends on: one that ends in sound chirps at the next start, one
that ends in a long silence invites another."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What a take must pass, and how often it is tried."""

    tries: int = 3
    """Of a whole chunk, and of each of its halves."""
    loudness: float = 8.0
    """dB that a take may lie from its speaker's median."""


@dataclass(frozen=True, slots=True, order=True)
class Whole:
    """A try of a whole chunk that can be heard; the store has it."""

    badness: float
    number: int
    prompted_by: str | None = field(compare=False)
    keep: Callable[[Record], None] = field(default=lambda record: None, compare=False)
    """Keeps what was heard in it, if it becomes the take."""


@dataclass(frozen=True, slots=True)
class Half:
    """A try of a half that can be heard."""

    badness: float
    attempt: int
    speech: Speech
    verdict: checks.Verdict


@dataclass(slots=True)
class StepJob:
    """A step on its way: its parts (one, or two halves), and the part in the engine."""

    step: Step
    parts: tuple[str, ...]
    began: float
    attempt: int = 0
    first: int = 0
    """Attempt that it began with: one that was given up before draws other noise."""
    tries: int = 0
    prompted_by: str | None = None
    prompt: Prompt | None = None
    reference: Reference | None = None
    done: list[Speech] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    """Of all its tries."""
    wholes: list[Whole] = field(default_factory=list)
    half: Half | None = None
    """The least bad try of the half that is in the engine."""
    badness: float = 0.0
    """Of the halves that are done."""
    doubts: tuple[str, ...] = ()
    """Their faults."""

    def best(self) -> Whole | None:
        """The least bad try of the whole; what continued a take that has gone does not count."""
        fitting = (one for one in self.wholes if one.prompted_by == self.prompted_by)
        return min(fitting, default=None)


def prompt_of(
    store: Store, key: str, take: Record, expected: float, engine: Engine
) -> Prompt | None:
    """A take as prompt of the next chunk; None where both would outlast the engine's horizon.

    Raises DamagedTake.
    """
    if take.prompt_seconds + expected > engine.max_context_seconds:
        return None

    def samples() -> audio.Samples:
        sound, rate = store.read(key)
        stop = min(len(sound), take.stop + round(PROMPT_REST * rate))
        if not take.prompt_text:
            return sound[:stop]
        return sound[max(0, stop - round(take.prompt_seconds * rate)) : stop]  # its last half

    return Prompt(take.prompt_text or take.text, samples, store.state(key))


def request_for(job: StepJob, engine: Engine) -> Request:
    step, part = job.step, len(job.done)
    prompt, expected = job.prompt, step.expected
    if len(job.parts) > 1:
        expected *= len(job.parts[part]) / max(1, sum(map(len, job.parts)))
        if part and takes_prompt(engine, step.mode) and not job.doubts:
            prompt = prompt_after(job.done[-1], job.parts[part - 1], engine)
    return request_of(
        step, engine, job.parts[part], expected, prompt, job.reference, attempt=job.attempt
    )


def prompt_after(before: Speech, text: str, engine: Engine) -> Prompt:
    """What was just said, as prompt of what comes after."""
    sound = before.samples[: rest(before.samples, engine.sample_rate)]
    return Prompt(text, lambda: sound, rested(before, engine))


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
    """What the engine is asked for: a step's text or a part of it, with what is there to go on.

    `seed` and `parameters` stand in for the step's own.
    """
    # a step whose parent was given up starts a chain of its own
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
        mode=_mode(step, engine, prompt, reference, style, expected),
        reference=reference,
        prompt=prompt,
        pronunciations=step.utterance.spoken.pronunciations,
    )


def _mode(
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


def examined(
    speech: Speech,
    request: Request,
    engine: Engine,
    rules: Rules = Rules(),
    level: float | None = None,
    pace: float | None = None,
) -> checks.Verdict:
    """What the checks say of an answer; `level` and `pace` are the speaker's medians."""
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
    """An answer as who listens is given it."""
    return SpokenSound(speech.samples, engine.sample_rate, request.text, request.language)


def record_of(
    key: str, request: Request, speech: Speech, verdict: checks.Verdict, engine: Engine
) -> Record:
    """The record of one answer to one request, as it is."""
    rate = engine.sample_rate
    start, stop = audio.speech_bounds(speech.samples, rate)
    state = rested(speech, engine)
    held = len(speech.samples)
    if state is not None and speech.state is not None:
        held = round(held * len(state) / max(1, len(speech.state)))
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
        prompt_seconds=round(held / rate, 3),
        words=timing.packed(
            told.spoken_words(
                request.text,
                request.language,
                [(request.text, speech, 0.0)],
                speech.samples,
                rate,
            )
        ),
    )


def keep_try(
    store: Store,
    request: Request,
    speech: Speech,
    verdict: checks.Verdict,
    engine: Engine,
    prompted_by: str | None = None,
) -> tuple[int, Record] | None:
    """An answer kept as a try of its step, with its number; None where nobody could hear it.

    Raises StorageError.
    """
    if not len(speech.samples) or not np.isfinite(speech.samples).all():
        return None
    record = replace(
        record_of(request.key, request, speech, verdict, engine), prompted_by=prompted_by
    )
    samples = np.clip(speech.samples, -1.0, 1.0)
    return store.put_try(record, samples, rested(speech, engine)), record


def rested(speech: Speech, engine: Engine) -> State | None:
    """A take's state as far as a prompt should go."""
    if speech.state is None or not len(speech.state):
        return speech.state
    frame = len(speech.samples) / len(speech.state)
    last = math.ceil(rest(speech.samples, engine.sample_rate) / frame)
    return speech.state[: max(1, last)]


def rest(samples: audio.Samples, rate: int) -> int:
    """Where a prompt ends: at a short rest after its speech."""
    _, stop = audio.speech_bounds(samples, rate)
    return stop + round(PROMPT_REST * rate)


def closed(text: str) -> str:
    """A first half that broke off at a comma ends on a full stop: engines clip other endings."""
    text = text.rstrip(",;:，；：、، ")
    return text if text.endswith((".", "!", "?", "。", "！", "？", "…")) else f"{text}."


def joined(parts: Sequence[Speech], rate: int) -> audio.Samples:
    """One take from its halves, with a short silence between."""
    if len(parts) == 1:
        return parts[0].samples
    gap = np.zeros(round(HALVES_GAP * rate), np.float32)
    pieces: list[audio.Samples] = []
    for part in parts:
        start, stop = audio.speech_bounds(part.samples, rate)
        pieces += [audio.fade(part.samples[start:stop], rate), gap]
    return np.concatenate(pieces[:-1])


def places(parts: Sequence[Speech], rate: int) -> list[float]:
    """By how many seconds each part lies later in their take than in itself; may be below 0."""
    if len(parts) == 1:
        return [0.0]
    found, at = [], 0
    for part in parts:
        start, stop = audio.speech_bounds(part.samples, rate)
        found.append((at - start) / rate)
        at += stop - start + round(HALVES_GAP * rate)
    return found
