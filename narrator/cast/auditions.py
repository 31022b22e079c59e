"""Casts a voice without a reference: renders a few candidates and keeps the best.

The candidates speak one fixed text in their language with fixed seeds, from the voice's description
or, without one, from the seed alone. They are rendered side by side, checked like takes, prepared
like clips, and ranked. The winner becomes a preset: from then on the voice has a reference like any
other. Knows nothing of projects, nor where presets are stored.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

from narrator import keys
from narrator.cast import clips, presets
from narrator.cast.clips import Clip, Recording
from narrator.cast.presets import Preset
from narrator.engines import Engine, Outcome, Request, Session, Speech, speak
from narrator.engines.voice import CASTING, Mode, Reference, Voice
from narrator.errors import UsageError, UserError
from narrator.speech.attempts import Action, Attempts
from narrator.speech.checks import Verdict, severity
from narrator.speech.plan import EngineParameters
from narrator.speech.requests import CheckedAnswer, check_answer
from narrator.text.pace import expected_seconds
from textbase.word_lists import read_word_lists

_LISTS = read_word_lists(Path(__file__).with_name("casting_texts.txt"))
TEXTS = _LISTS.table("texts")
"""Casting texts, by primary language subtag."""
NEAREST_LANGUAGES = _LISTS.meanings("nearest")
"""The nearest of these languages for other languages."""
_SAME_LANGUAGES = frozenset(_LISTS.words("same"))
CANDIDATE_COUNT = 3
"""Candidates for a voice: with one bad take in twenty, all of them fail once in 8,000 voices."""
CLEAN_NOISE_DISTANCE = 40.0
"""dB between voice and background above which less noise no longer counts."""
MAX_AUDITION_SECONDS = 15.0
"""Seconds of an audition."""


@dataclass(frozen=True, slots=True)
class AuditionText:
    """The text that candidates speak."""

    text: str
    language: str
    """Primary subtag of its language."""
    note: str = ""
    """The reason why it is not in the requested language, for people."""


def text_for(language: str) -> AuditionText:
    """Returns the casting text of a BCP 47 language, or of the nearest one available."""
    code = language.lower().replace("_", "-").partition("-")[0]
    text_language = code if code in TEXTS else NEAREST_LANGUAGES.get(code, "en")
    note = ""
    if code != text_language and code not in _SAME_LANGUAGES:
        note = (
            f"there is no casting text in '{language}': the voice is cast in '{text_language}' "
            "and may keep its accent; a reference clip avoids that"
        )
    return AuditionText(TEXTS[text_language], text_language, note)


def seed_of(voice: Voice, number: int) -> int:
    """Returns the seed of a candidate, counted from 1.

    A voice without a description also depends on its speaker's name, so that two such speakers are
    two persons.
    """
    speaker_suffix = "" if voice.description else f" {voice.speaker}"
    return keys.number(f"casting {CASTING} {voice.seed} {number}{speaker_suffix}") % 2**32


def key(voice: Voice, engine: Engine, *, count: int = CANDIDATE_COUNT) -> str:
    """Returns the key of a casting, made of everything that can change the sound of its winner."""
    audition_text = text_for(voice.language or "")
    return keys.key(
        {
            "casting": CASTING,
            "checked": clips.PREPARATION,
            "engine": dict(engine.identity()),
            "parameters": dict(engine.casting_parameters),
            "text": audition_text.text,
            "description": voice.description,
            "seeds": [seed_of(voice, number) for number in range(1, count + 1)],
        }
    )


# -- candidates ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """An attempt at a voice."""

    voice: Voice
    number: int
    """Counted from 1."""
    seed: int
    engine: Mapping[str, Any]
    """Identity of the engine."""
    parameters: Mapping[str, Any]
    """Parameters of the engine."""
    text: AuditionText
    speech: Speech | None
    """None if the engine failed."""
    verdict: Verdict | None
    """Of the checks for takes."""
    clip: Clip | None
    """Prepared as a reference."""
    trouble: tuple[str, ...]
    """Reasons why it cannot be used; empty if it can."""
    score: float
    """0 to 100, more is better; under 50 if it cannot be used."""

    @property
    def usable(self) -> bool:
        return not self.trouble

    def __str__(self) -> str:
        remarks = "; ".join(self.trouble)
        if self.clip is not None and not remarks:
            remarks = "; ".join(map(str, self.clip.warnings))
        return f"{self.number}: {self.score:.0f} of 100" + (f" ({remarks})" if remarks else "")


def cast(
    session: Session,
    engine: Engine,
    voices: Sequence[Voice],
    *,
    count: int = CANDIDATE_COUNT,
    on_progress: Callable[[int, int], None] = lambda done_count, total_count: None,
    cancel: Event | None = None,
) -> list[list[Candidate]]:
    """Returns the candidates for every voice, rendered side by side in the session's slots.

    The voices have a language. All candidates are held at once, with their sound: cast many voices
    `at_once` and no more. `on_progress` is called with the number of finished candidates and of
    all. A candidate on which the engine fails cannot be used. A voice's list is empty if `cancel`
    was set before all of its candidates were complete: nothing may be chosen from some of them,
    since the casting's key promises the best of all.
    """
    requests: list[Request] = []
    positions: dict[str, tuple[int, int]] = {}
    """Index of the voice and number of the candidate, by the key of its request."""
    for index, voice in enumerate(voices):
        for number in range(1, count + 1):
            requests.append(_request(voice, number, engine))
            positions[requests[-1].key] = index, number
    candidates: list[dict[int, Candidate]] = [{} for _ in voices]
    for request, outcome in speak(
        session,
        requests,
        tick=lambda: on_progress(sum(map(len, candidates)), len(requests)),
        cancel=cancel,
    ):
        index, number = positions[request.key]
        candidates[index][number] = _judge_candidate(number, request, outcome, engine)
    return [
        [by_number[number] for number in sorted(by_number)] if len(by_number) == count else []
        for by_number in candidates
    ]


def at_once(slots: int, count: int = CANDIDATE_COUNT) -> int:
    """Returns the number of voices to cast at a time: the fewest that keep the slots full."""
    return max(1, math.ceil(slots / count))


def _request(voice: Voice, number: int, engine: Engine) -> Request:
    audition_text, seed = text_for(voice.language or ""), seed_of(voice, number)
    recipe = {
        "speaker": voice.speaker,
        "number": number,
        "seed": seed,
        "text": audition_text.text,
        "description": voice.description,
    }
    return Request(
        key=keys.key(recipe),
        text=audition_text.text,
        language=audition_text.language,
        voice=voice,
        style=None,  # style belongs to lines, not to the person
        parameters=engine.casting_parameters,
        seed=seed,
        attempt=0,
        expected=expected_seconds(audition_text.text, audition_text.language),
        mode="zero-shot",
    )


def _judge_candidate(number: int, request: Request, outcome: Outcome, engine: Engine) -> Candidate:
    speech = outcome.speech
    make_candidate = partial(
        Candidate,
        voice=request.voice,
        number=number,
        seed=request.seed,
        engine=engine.identity(),
        parameters=request.parameters,
        text=AuditionText(request.text, request.language),
        speech=speech,
    )
    if speech is None:
        trouble_of_engine = (f"engine: {outcome.failure}",)
        return make_candidate(verdict=None, clip=None, trouble=trouble_of_engine, score=0.0)
    verdict = check_answer(speech, request, engine).verdict
    recording = Recording(speech.samples[:, None], engine.sample_rate)
    clip = clips.prepare(recording, request.text, request.language)
    trouble = tuple(map(str, (*verdict.faults, *clip.refusals)))
    score = _score(verdict, clip, request.expected)
    return make_candidate(verdict=verdict, clip=clip, trouble=trouble, score=score)


def _score(verdict: Verdict, clip: Clip, expected: float) -> float:
    """Returns 0 to 100: clean and unhurried at the top, anything unusable under 50."""
    fault_count = severity(verdict.faults) + len(clip.refusals)
    if fault_count:
        return 50 / (1 + fault_count)
    pace = abs(math.log2(max(clip.figures.seconds, 0.1) / expected))
    noise = max(0.0, CLEAN_NOISE_DISTANCE - clip.figures.noise) / CLEAN_NOISE_DISTANCE
    return 50 + 50 / (1 + len(clip.warnings) + pace + noise)


# -- the choice ------------------------------------------------------------------------------------


def choose(candidates: Sequence[Candidate]) -> Candidate:
    """Returns the best candidate, the first of equals. Raises UserError if none is usable."""
    usable = [candidate for candidate in candidates if candidate.usable]
    if usable:
        return max(usable, key=lambda candidate: (candidate.score, -candidate.number))
    if not candidates:
        raise UserError("there are no candidates to choose a voice from")
    voice = candidates[0].voice
    reasons = "; ".join(f"{c.number}: {', '.join(c.trouble)}" for c in candidates)
    advice = (
        "change its `description` (age, sex, timbre and pace in plain words) or its `seed`"
        if voice.description
        else "give it a `description` or another `seed`"
    )
    raise UserError(
        f"the voice of '{voice.speaker}' could not be cast, none of {len(candidates)} candidates "
        f"is usable ({reasons}); {advice}, or give it a `reference` clip"
    )


def preset_of(candidate: Candidate, name: str | None = None) -> Preset:
    """Returns a usable candidate as a preset, named after its speaker unless `name` is given.

    Raises UsageError for a name that no preset can have.
    """
    assert candidate.clip is not None
    voice = candidate.voice
    engine = str(candidate.engine.get("name", "an engine"))
    basis = "its description" if voice.description else "its seed alone"
    return presets.of_clip(
        presets.valid_name_for(voice.speaker) if name is None else name,
        candidate.clip,
        voice.language or candidate.text.language,
        description=voice.description,
        style=voice.style,
        seed=voice.seed,
        source=f"cast by {engine} from {basis}",
        made={
            "casting": CASTING,
            "candidate": candidate.number,
            "seed": candidate.seed,
            "text": candidate.text.language,
            "parameters": dict(candidate.parameters),
            "engine": dict(candidate.engine),
        },
    )


def add_latents(preset: Preset, engine: Engine) -> Preset:
    """Returns a preset with the encoding of its reference by the engine. May load the model.

    Raises EngineUnavailable, StorageError.
    """
    for fingerprint, latents in engine.encode_reference(preset.to_reference()).items():
        preset = preset.with_latents(fingerprint, latents)
    return preset


# -- a line ----------------------------------------------------------------------------------------


@dataclass(slots=True)
class Audition:
    """A line spoken in a voice: the requests to an engine, and its answers.

    A voice without a reference is cast first; `keep` stores the winner and returns its reference.
    """

    engine: Engine
    line: Request
    uncast: Voice | None = None
    keep: Callable[[Candidate], Reference] | None = None
    _attempts: Attempts[CheckedAnswer] = field(init=False)
    _numbers: dict[str, int] = field(default_factory=dict)
    """Numbers of candidates, by the keys of their requests."""
    _candidates: list[Candidate] = field(default_factory=list)

    def __post_init__(self) -> None:
        is_random = self.engine.is_random
        self._attempts = Attempts(
            self.line.text, self.line.language, is_random=is_random, can_halve=False
        )

    def begin(self) -> Sequence[Request]:
        """Returns the first requests."""
        if self.uncast is None:
            return (self.line,)
        requests_by_number = {
            n: _request(self.uncast, n, self.engine) for n in range(1, CANDIDATE_COUNT + 1)
        }
        self._numbers = {request.key: number for number, request in requests_by_number.items()}
        return list(requests_by_number.values())

    def answered(self, request: Request, outcome: Outcome) -> Sequence[Request]:
        """Judges the engine's answer; returns the next requests.

        Raises UserError if a voice cannot be cast, StorageError.
        """
        if number := self._numbers.get(request.key):
            self._candidates.append(_judge_candidate(number, request, outcome, self.engine))
            if len(self._candidates) < len(self._numbers):
                return ()
            assert self.keep
            self.line = replace(self.line, reference=self.keep(choose(self._candidates)))
            return (self.line,)
        if outcome.speech is None:
            action = self._attempts.note_failure(str(outcome.failure))
        else:
            action = self._attempts.note_answer(check_answer(outcome.speech, request, self.engine))
        return (replace(request, attempt=self._attempts.number),) if action is Action.RETRY else ()

    def heard(self) -> tuple[Speech, Sequence[str]]:
        """Returns the first attempt without faults, or the best one with its faults.

        Raises UserError if nothing was spoken that could be heard.
        """
        answer = next(iter(self._attempts.accepted), self._attempts.least_bad())
        if answer is None:
            failures = "; ".join(self._attempts.faults)
            raise UserError(f"'{self.line.voice.speaker}' could not speak this: {failures}")
        return answer.speech, list(map(str, answer.faults))


def make_request(
    voice: Voice,
    text: str,
    language: str,
    settings: EngineParameters,
    reference: Reference | None,
    mode: Mode = "reference",
) -> Request:
    """Returns the request for an audition; `text` is spoken text.

    Raises UsageError unless it is a sentence or two.
    """
    if not any(map(str.isalnum, text)):
        raise UsageError("there is nothing to say in this text")
    expected = expected_seconds(text, language)
    if expected > MAX_AUDITION_SECONDS:
        raise UsageError(
            f"this text takes about {expected:.0f} s; an audition is a sentence or two, "
            f"{MAX_AUDITION_SECONDS:.0f} s at most"
        )
    return Request(
        key=keys.key({"audition": text, "voice": voice.content, "style": voice.style}),
        text=text,
        language=language,
        voice=voice,
        style=voice.style,
        parameters=settings.parameters,
        seed=settings.seed,
        attempt=0,
        expected=expected,
        mode=mode,
        reference=reference,
    )


def speak_line(
    audition: Audition, tell: Callable[[str], None], cancel: Event | None = None
) -> None:
    """Speaks an audition in a session of its own, unless `cancel` is set before.

    Raises the errors of `Audition.answered`, EngineUnavailable.
    """
    pending_requests = deque(audition.begin())
    open_count = len(pending_requests)

    def iter_requests() -> Iterator[Request | None]:
        while open_count:
            yield pending_requests.popleft() if pending_requests else None

    with closing(audition.engine.start(tell)) as session:
        for request, outcome in speak(session, iter_requests(), cancel=cancel):
            next_requests = audition.answered(request, outcome)
            pending_requests += next_requests
            open_count += len(next_requests) - 1
