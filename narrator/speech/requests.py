"""Makes the requests to engines for a step, and the records of their answers."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from narrator.engines import Engine, Prompt, Request, Speech, State
from narrator.engines.voice import Mode, Reference
from narrator.sound import audio, timing
from narrator.speech import checks
from narrator.speech.attempts import DEFAULT_TRIES, Attempts, max_requests
from narrator.speech.hearing import SpokenSound, word_timings
from narrator.speech.hearing.listening import Opinion
from narrator.speech.leaks import PROMPT_SECONDS, PromptSound
from narrator.speech.plan import Step, takes_prompt
from narrator.speech.steadiness import SpeakerMedians
from narrator.speech.store import Record, Store
from narrator.speech.voice_figures import mean_speaker, pack_speaker

HALVES_GAP_SECONDS = 0.25
"""Seconds of silence between the two halves of a chunk."""
PROMPT_REST_SECONDS = 0.25
"""Seconds of silence that a prompt ends on: one that ends in sound chirps at the next start, one
that ends in a long silence invites another."""


@dataclass(frozen=True, slots=True)
class TakeRules:
    """Limits of a take, and the number of tries."""

    tries: int = DEFAULT_TRIES
    """Tries of a whole chunk, and of each of its halves."""
    loudness: float = checks.MAX_DEVIATION_DB
    """dB that a take may lie from its speaker's median."""
    best_of: int = 1
    """Good tries of a whole chunk, of which the best becomes the take."""

    @property
    def max_requests(self) -> int:
        """Requests for a whole chunk in one run, at most."""
        return max_requests(self.tries, self.best_of)


@dataclass(frozen=True, slots=True, eq=False)
class CheckedAnswer:
    """An engine's speech for a request, with the verdict of the checks."""

    request: Request
    speech: Speech
    verdict: checks.Verdict
    prompted_by: str | None = None
    """Content of the take that it continues."""
    opinion: Opinion | None = None
    """None until it is heard."""
    number: int = 0
    """Its number as a try in the store; 0 if it is not stored."""
    score: Mapping[str, float] = field(default_factory=dict)
    """Terms of `scores`, where it is one of several good ones."""

    @property
    def faults(self) -> tuple[checks.Fault, ...]:
        return self.verdict.faults

    @property
    def word_odds(self) -> float:
        """`Opinion.odds`; 0 if it was not heard."""
        return self.opinion.odds if self.opinion else 0.0


@dataclass(slots=True)
class ChunkJob:
    """A step in progress."""

    step: Step
    attempts: Attempts[CheckedAnswer]
    prompt: Prompt | None = None
    reference: Reference | None = None
    runners_up: list[CheckedAnswer] = field(default_factory=list)
    """Good answers that were not the best."""
    began: float = field(default_factory=time.monotonic)
    """Monotonic time in seconds."""


def prompt_of(
    store: Store, key: str, take: Record, expected_seconds: float, engine: Engine
) -> Prompt | None:
    """Makes a take the prompt of the next chunk; None where both exceed the engine's context.

    Raises DamagedTake.
    """
    if take.prompt_seconds + expected_seconds > engine.max_context_seconds:
        return None

    def samples() -> audio.Samples:
        take_samples, rate = store.read(key)
        stop = min(len(take_samples), take.stop + round(PROMPT_REST_SECONDS * rate))
        start = 0
        if take.prompt_text:  # of a halved take, only the last half
            start = max(0, stop - round(take.prompt_seconds * rate))
        return take_samples[start:stop]

    return Prompt(take.prompt_text or take.text, samples, store.state(key))


def request_for(job: ChunkJob, engine: Engine) -> Request:
    """Makes the next request of a job."""
    step, attempts = job.step, job.attempts
    prompt, expected_seconds = job.prompt, step.expected
    if len(attempts.parts) > 1:
        expected_seconds *= len(attempts.part) / max(1, sum(map(len, attempts.parts)))
        if attempts.accepted and takes_prompt(engine, step.mode) and not attempts.doubts:
            prompt = prompt_after(attempts.accepted[-1].speech, attempts.parts[0], engine)
    return request_of(
        step,
        engine,
        attempts.part,
        expected_seconds,
        prompt,
        job.reference,
        attempt=attempts.number,
    )


def prompt_after(speech: Speech, text: str, engine: Engine) -> Prompt:
    """Makes an answer the prompt of the next part."""
    prompt_samples = speech.samples[: prompt_end(speech.samples, engine.sample_rate)]
    return Prompt(text, lambda: prompt_samples, prompt_state(speech, engine))


def request_of(
    step: Step,
    engine: Engine,
    text: str,
    expected_seconds: float,
    prompt: Prompt | None,
    reference: Reference | None,
    *,
    attempt: int,
    seed: int | None = None,
    parameters: Mapping[str, Any] | None = None,
    style: str | None = None,
) -> Request:
    """Makes the request for a step's text or a part of it, with its prompt and reference.

    `expected_seconds` of speech; `attempt` number, from which the engine derives its noise. `seed`
    and `style` replace the step's own ("" is no style); `parameters` override the step's.
    """
    if style is None:
        # a step whose parent was given up starts a new chain
        style = None if prompt else step.style or step.chunk.style or step.voice.style
    style = style or None
    return Request(
        key=step.key,
        text=text,
        language=step.language,
        voice=step.voice,
        style=style,
        parameters={**step.parameters, **(parameters or {})},
        seed=step.seed if seed is None else seed,
        attempt=attempt,
        expected=expected_seconds,
        mode=_choose_mode(step, engine, prompt, reference, style, expected_seconds),
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
    expected_seconds: float,
) -> Mode:
    """Chooses the form of a request by what the engine can do and what is at hand."""
    if not engine.clones or reference is None:
        return "continuation" if prompt else "zero-shot"
    if step.mode == "continuation" and style is None:
        if prompt or reference.seconds + expected_seconds <= engine.max_context_seconds:
            return "continuation"
        return "reference"
    return "anchored" if prompt else "reference"


def check_answer(
    speech: Speech,
    request: Request,
    engine: Engine,
    rules: TakeRules = TakeRules(),
    medians: SpeakerMedians = SpeakerMedians(),  # noqa: B008  # frozen
    *,
    prompted_by: str | None = None,
) -> CheckedAnswer:
    """Checks an answer by its signal.

    `medians` are the speaker's; `prompted_by` is the content of the take that it continues. Raises
    DamagedTake.
    """
    verdict = checks.examine(
        speech.samples,
        engine.sample_rate,
        request.expected,
        latents=speech.state,
        is_capped=speech.stop == "cap",
        engine_fault=speech.wrong,
        median_level=medians.level,
        max_deviation=rules.loudness,
        median_ratio=medians.ratio,
        tokens=speech.tokens,
        text=request.text,
        words=speech.words,
        prompt=_prompt_sound(request, engine.sample_rate),
    )
    if speech.speaker is not None:
        voice = replace(verdict.voice, speaker=pack_speaker(speech.speaker))
        verdict = replace(verdict, voice=voice)
    return CheckedAnswer(request, speech, verdict, prompted_by)


def _prompt_sound(request: Request, rate: int) -> PromptSound | None:
    """Returns the sound that an engine may have taken for the beginning of a request's text."""
    if request.prompt:
        return PromptSound("the line before", request.prompt.text, request.prompt.samples)
    if (reference := request.reference) and request.mode != "zero-shot":
        length = round(PROMPT_SECONDS * reference.rate)
        return PromptSound(
            "the voice's reference",
            reference.transcript,
            lambda: audio.resample(reference.samples[-length:], reference.rate, rate),
        )
    return None


def sound_of(answer: CheckedAnswer, engine: Engine) -> SpokenSound:
    """Returns an answer in the form that recognition takes."""
    request = answer.request
    return SpokenSound(answer.speech.samples, engine.sample_rate, request.text, request.language)


def change_speed(answer: CheckedAnswer, rate: int, speed: float) -> CheckedAnswer:
    """Returns an answer `speed` times as fast, with the times of its words; its checks stay."""
    speech = answer.speech
    words = [replace(w, start=w.start / speed, stop=w.stop / speed) for w in speech.words]
    samples = audio.stretch(speech.samples, rate, speed)
    return replace(answer, speech=replace(speech, samples=samples, words=tuple(words)))


def add_opinion(answer: CheckedAnswer, opinion: Opinion) -> CheckedAnswer:
    """Returns an answer without faults in its signal with those that recognition found."""
    return replace(answer, verdict=replace(answer.verdict, faults=opinion.faults), opinion=opinion)


def record_of(answer: CheckedAnswer, engine: Engine) -> Record:
    """Returns the record of one unaltered answer."""
    request, speech, figures = answer.request, answer.speech, answer.verdict.figures
    rate, reference = engine.sample_rate, request.reference
    start, stop = audio.speech_bounds(speech.samples, rate)
    state = prompt_state(speech, engine)
    prompt_length = len(speech.samples)
    if state is not None and speech.state is not None:
        prompt_length = round(prompt_length * len(state) / max(1, len(speech.state)))
    return Record(
        key=request.key,
        content="",
        samples=len(speech.samples),
        sample_rate=rate,
        start=start,
        stop=stop,
        level=figures.level,
        peak=figures.peak,
        attempt=request.attempt,
        mode=request.mode,
        seed=request.seed,
        noise=speech.seed,
        parameters=dict(request.parameters),
        prompted_by=answer.prompted_by,
        voiced_by=reference.content if reference and request.mode != "zero-shot" else None,
        figures=asdict(figures),
        voice=asdict(answer.verdict.voice),
        faults=tuple(map(str, answer.faults)),
        score=dict(answer.score),
        engine=engine.name,
        text=request.text,
        prompt_seconds=round(prompt_length / rate, 3),
        words=_pack_words(request.text, request.language, [answer], speech.samples, rate),
    )


def take_of(job: ChunkJob, engine: Engine) -> tuple[Record, audio.Samples]:
    """Returns the take of the accepted answers: its record, and its sound."""
    step, attempts, rate = job.step, job.attempts, engine.sample_rate
    last = attempts.accepted[-1]
    record = record_of(last, engine)
    samples = np.clip(join_parts([answer.speech for answer in attempts.accepted], rate), -1.0, 1.0)
    start, stop = audio.speech_bounds(samples, rate)
    level, peak = audio.measure_level(samples[start:stop], rate)
    if len(attempts.parts) > 1:
        verdict = checks.examine(samples, rate, step.expected, text=step.text)
        speaker = mean_speaker([answer.verdict.voice.speaker for answer in attempts.accepted])
        record = replace(
            record,
            halves=len(attempts.parts),
            figures=asdict(verdict.figures),
            voice=asdict(replace(verdict.voice, speaker=speaker)),
            text=step.text,
            prompt_text=attempts.parts[-1],
            words=_pack_words(step.text, step.language, attempts.accepted, samples, rate),
        )
    record = replace(
        record,
        samples=len(samples),
        start=start,
        stop=stop,
        level=round(level, 2),
        peak=round(peak, 2),
        tries=attempts.request_count,
        prompted_by=attempts.prompted_by,
        faults=attempts.doubts,
        wall=round(time.monotonic() - job.began, 3),
    )
    return record, samples


def _pack_words(
    text: str, language: str, parts: Sequence[CheckedAnswer], samples: audio.Samples, rate: int
) -> str:
    """Returns the times that an engine gives for the words of a take, packed for a record."""
    offsets = part_offsets([part.speech for part in parts], rate)
    timed_parts = [
        (part.request.text, part.speech, offset)
        for part, offset in zip(parts, offsets, strict=True)
    ]
    words = word_timings.spoken_words(text, language, timed_parts, samples, rate)
    return timing.pack_words(words)


def store_try(store: Store, answer: CheckedAnswer, engine: Engine) -> tuple[int, Record] | None:
    """Stores an answer as a try; returns its number and record, or None if it has no sound.

    Raises StorageError.
    """
    speech = answer.speech
    if not len(speech.samples) or not np.isfinite(speech.samples).all():
        return None
    record = record_of(answer, engine)
    samples = np.clip(speech.samples, -1.0, 1.0)
    return store.put_try(record, samples, prompt_state(speech, engine))


def prompt_state(speech: Speech, engine: Engine) -> State | None:
    """Returns the part of a take's state that a prompt should contain."""
    if speech.state is None or not len(speech.state):
        return speech.state
    samples_per_frame = len(speech.samples) / len(speech.state)
    frame_count = math.ceil(prompt_end(speech.samples, engine.sample_rate) / samples_per_frame)
    return speech.state[: max(1, frame_count)]


def prompt_end(samples: audio.Samples, rate: int) -> int:
    """Returns the sample at which a prompt ends: a short rest after its speech."""
    _, stop = audio.speech_bounds(samples, rate)
    return stop + round(PROMPT_REST_SECONDS * rate)


def join_parts(parts: Sequence[Speech], rate: int) -> audio.Samples:
    """Joins the halves of a take, with a short silence between them."""
    if len(parts) == 1:
        return parts[0].samples
    gap = np.zeros(round(HALVES_GAP_SECONDS * rate), np.float32)
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
        position += stop - start + round(HALVES_GAP_SECONDS * rate)
    return offsets
