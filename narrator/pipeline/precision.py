"""A choice between the precisions of a model on this machine: each speaks the same sentences.

Both draw the same noise, so they differ by rounding alone; but a model that goes on from its own
speech carries a rounding on, and may end with another reading. So single takes are not compared
sample by sample, but by what a listener would notice over all of them. Words are not heard.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from statistics import median

import numpy as np

from narrator import keys
from narrator.cast import auditions, references
from narrator.cast.cast import resolve
from narrator.engines import Engine, Outcome, Request, machine, speak
from narrator.engines.mlx import memory
from narrator.engines.spec import EngineContext, EngineSettings, EngineSpec
from narrator.engines.voice import Reference, Voice
from narrator.errors import EngineUnavailable
from narrator.project.project import Project
from narrator.quantities import format_bytes
from narrator.speech import measure, steadiness
from narrator.speech.checks import is_audible
from narrator.speech.plan import sound_parameters_of
from narrator.speech.requests import CheckedAnswer, check_answer
from narrator.speech.voice_figures import root_mean_square, semitones, unpack_timbre
from narrator.text.pace import expected_seconds
from narrator.text.sentences import sentences

PRECISIONS = ("bfloat16", "float32")
TAKE_COUNT = 5
MAX_FAULTY_TAKES = 1
"""Takes with faults that a good precision may have: a render would try them again."""


@dataclass(frozen=True, slots=True)
class ProbeVoice:
    """The voice that speaks, and its language."""

    voice: Voice = measure.VOICE
    language: str = measure.LANGUAGE
    reference: Reference | None = None


@dataclass(frozen=True, slots=True)
class PrecisionFigures:
    """Figures of the takes in one precision of a model."""

    precision: str
    good_takes: int = 0
    """Of `TAKE_COUNT`."""
    passes: bool = False
    faults: tuple[str, ...] = ()
    """Of all takes; or why nothing was spoken."""
    speech_seconds: float = 0.0
    seconds: float = 0.0
    """Seconds that it took, without loading."""
    speed: float = 0.0
    """Ratio of speech to the time it took, one take at a time, without the first one, which
    encodes the voice and compiles kernels."""
    peak_bytes: int = 0
    """The most memory that MLX held after the first take."""


@dataclass(frozen=True, slots=True)
class PrecisionDifference:
    """The difference of bfloat16 from float32, in medians over all takes with enough voice."""

    takes: int
    length: float
    """Per cent, from the first to the last sound."""
    loudness: float
    """dB."""
    pitch: float
    """Semitones."""
    spectrum: float
    """dB, root mean square over all bands."""
    noticeable: tuple[str, ...]
    """Names of the figures above that listeners notice between two passages."""


@dataclass(frozen=True, slots=True)
class PrecisionProbe:
    """The outcome of both precisions."""

    present: str
    """The precision of the settings on this machine; "" if unknown."""
    figures: Sequence[PrecisionFigures]
    difference: PrecisionDifference | None
    """None unless both spoke with enough voice."""

    @property
    def recommended(self) -> str:
        """The precision to use; "" if none passes.

        Of two that pass float32 where they sound different, else the faster one; the present one
        where that saves less than a tenth, since another renders takes anew.
        """
        passing = [figures for figures in self.figures if figures.passes]
        if len(passing) > 1 and self.difference and self.difference.noticeable:
            return "float32"
        speeds = {
            figures.precision: figures.speed * (1.1 if figures.precision == self.present else 1)
            for figures in passing
        }
        return max(speeds, key=speeds.__getitem__, default="")


def probe(
    kind: EngineSpec,
    settings: EngineSettings,
    context: EngineContext,
    probe_voice: ProbeVoice,
    *,
    on_message: Callable[[str], None],
    on_progress: Callable[[str, int], None],
) -> PrecisionProbe:
    """Speaks in each precision; `on_progress` gets the precision and the number of its takes."""
    present = kind.make(settings, context, on_message).precision().partition(",")[0]
    figures: list[PrecisionFigures] = []
    answers: list[Sequence[CheckedAnswer | None]] = []
    for precision in PRECISIONS:
        changes = {"dtype": precision, "process": "same", "slots": 1}
        precise_settings = settings.model_copy(update=changes)
        engine = kind.make(precise_settings, context, on_message)
        run = _Run(engine, precision)
        run.speak(_requests(engine, precise_settings, probe_voice), on_message, on_progress)
        figures.append(run.figures())
        answers.append(run.answers)
    return PrecisionProbe(present, figures, _difference(*answers))


def book_voice(project: Project, settings: EngineSettings, engine: Engine) -> ProbeVoice | None:
    """The voice of a speaker whom this engine can speak without casting a voice first: of the
    narrator, if possible. None if there is no such speaker. Raises UserError for a clip that cannot
    be used."""
    language = project.manifest.language
    names = sorted(project.speakers, key=lambda name: name != project.manifest.narrator)
    for name in names:
        if project.engine_of(name).name != settings.name:
            continue
        voices = references.resolve_references(
            project, {name: resolve(project)[name]}, {name: engine}
        )
        voice = voices.cast[name]
        spoken_language = voice.language or language
        is_cast = name not in voices.contents or voices.contents[name] is not None
        if is_cast and not engine.problems({name: voice}, []):
            reference = voices.reference(name, lambda _: None) if name in voices.contents else None
            return ProbeVoice(voice, spoken_language, reference)
    designed = ProbeVoice(language=language)
    return None if engine.problems({"": designed.voice}, []) else designed


@dataclass(slots=True)
class _Run:
    """The takes in one precision, as they are spoken."""

    engine: Engine
    precision: str
    failure: str = ""
    answers: list[CheckedAnswer | None] = field(default_factory=list)
    """None for a take that the engine did not make."""
    faults: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    """Seconds that each take took."""
    peak_bytes: int = 0

    def speak(
        self,
        requests: Sequence[Request],
        on_message: Callable[[str], None],
        on_progress: Callable[[str, int], None],
    ) -> None:
        """Speaks one request after another; a failure of the engine ends it."""
        on_progress(self.precision, 0)
        try:
            _require_memory(self.engine)
            with closing(self.engine.start(on_message)) as session:
                for number, request in enumerate(requests, 1):
                    began = time.monotonic()
                    for _, outcome in speak(session, [request]):
                        self.seconds.append(time.monotonic() - began)
                        self._note(request, outcome)
                    if number == 1:  # it encodes the voice, and compiles kernels
                        memory.reset_peak_memory()
                    on_progress(self.precision, number)
                self.peak_bytes = memory.peak_memory()
        except EngineUnavailable as error:
            self.failure = str(error).splitlines()[0]
        finally:
            self.engine.release()

    def _note(self, request: Request, outcome: Outcome) -> None:
        if outcome.speech is None:
            self.answers.append(None)
            self.faults.append(f"engine: {outcome.failure}")
            return
        answer = check_answer(outcome.speech, request, self.engine)
        self.answers.append(answer)
        self.faults += map(str, answer.faults)

    def figures(self) -> PrecisionFigures:
        """Sums up what was spoken."""
        answers = [answer for answer in self.answers if answer is not None]
        good_takes = sum(not answer.faults for answer in answers)
        lengths = [
            0.0 if answer is None else len(answer.speech.samples) / self.engine.sample_rate
            for answer in self.answers
        ]
        is_whole = len(answers) == TAKE_COUNT and not self.failure
        return PrecisionFigures(
            self.precision,
            good_takes,
            passes=is_whole
            and good_takes >= TAKE_COUNT - MAX_FAULTY_TAKES
            and all(is_audible(answer.faults) for answer in answers),
            faults=tuple(dict.fromkeys([*filter(None, [self.failure]), *self.faults])),
            speech_seconds=round(sum(lengths), 2),
            seconds=round(sum(self.seconds), 2),
            speed=sum(lengths[1:]) / max(1e-9, sum(self.seconds[1:])),
            peak_bytes=self.peak_bytes,
        )


def _requests(engine: Engine, settings: EngineSettings, probe_voice: ProbeVoice) -> list[Request]:
    """Makes the requests for fixed sentences in a language, or in the nearest one that has any;
    where there are few, each is spoken with several seeds."""
    casting_text = auditions.text_for(probe_voice.language)
    texts: Sequence[str] = measure.MEDIUM_SENTENCES
    if casting_text.language != measure.LANGUAGE:
        spans = sentences(casting_text.text, casting_text.language)
        texts = [casting_text.text[start:stop].strip() for start, stop in spans]
    seeded_texts = [(seed, text) for seed in range(TAKE_COUNT) for text in texts]
    return [
        Request(
            key=keys.key({"precision": text, "seed": seed}),
            text=text,
            language=casting_text.language,
            voice=probe_voice.voice,
            style=None,
            parameters=sound_parameters_of(engine, settings.model_dump()).parameters,
            seed=seed,
            attempt=0,
            expected=expected_seconds(text, casting_text.language),
            mode="zero-shot" if probe_voice.reference is None else "reference",
            reference=probe_voice.reference,
        )
        for seed, text in seeded_texts[:TAKE_COUNT]
    ]


def _require_memory(engine: Engine) -> None:
    """Raises EngineUnavailable for a model that this machine's memory cannot hold, which would be
    swapped in and out for hours."""
    required_bytes = engine.required_memory()
    room = min(machine.memory().total, machine.device().memory or machine.memory().total)
    if required_bytes is not None and required_bytes > room:
        raise EngineUnavailable(
            f"it needs about {format_bytes(required_bytes)} of memory; this machine has "
            f"{format_bytes(room)}"
        )


def _difference(
    bfloat16_answers: Sequence[CheckedAnswer | None],
    float32_answers: Sequence[CheckedAnswer | None],
) -> PrecisionDifference | None:
    """Compares takes of the same sentences; None where no pair has enough voice."""
    pairs = [
        (a.verdict, b.verdict)
        # a precision that failed has fewer answers
        for a, b in zip(bfloat16_answers, float32_answers, strict=False)
        if a is not None and b is not None
        if a.verdict.voice.pitch and b.verdict.voice.pitch
    ]
    if not pairs:
        return None
    octaves = median(math.log2(a.figures.seconds / b.figures.seconds) for a, b in pairs)
    loudness = median(a.figures.level - b.figures.level for a, b in pairs)
    pitch = median(semitones(b.voice.pitch, a.voice.pitch) for a, b in pairs)
    bands = [[unpack_timbre(verdict.voice.timbre) for verdict in pair] for pair in pairs]
    mean_bands = np.mean(bands, axis=0)
    spectrum = root_mean_square(mean_bands[0] - mean_bands[1])
    noticeable = {measure.name: measure.noticeable for measure in steadiness.MEASURES}
    shares = {
        "length": octaves / noticeable["pace"],
        "loudness": loudness / noticeable["loudness"],
        "pitch": pitch / noticeable["pitch"],
        "spectrum": spectrum / steadiness.NOTICEABLE_TIMBRE,
    }
    return PrecisionDifference(
        takes=len(pairs),
        length=round(100 * (2**octaves - 1), 1),
        loudness=round(loudness, 2),
        pitch=round(pitch, 2),
        spectrum=round(spectrum, 2),
        noticeable=tuple(name for name, share in shares.items() if abs(share) > 1),
    )
