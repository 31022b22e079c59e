"""The usual voice of each speaker, and how far takes and chapters lie from it.

Works on the records of takes alone, in any order, so that the outcome is the same however a book
was rendered. A speaker's usual values are medians, and spreads are median deviations: a few takes
that stick out do not move them. Takes of less than `MIN_SECONDS` are left out: what they say
decides how they sound. Each style has its own usual values; one with fewer than `MIN_TAKES` takes
is not compared, since it is meant to sound otherwise.

What it cannot tell: a voice that was wrong from the first take to the last; another person of the
same pitch, pace and mean spectrum, unless the engine has an encoder of speakers; a change that the
text asks for.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median, median_high
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from narrator.speech.frames import band_octaves
from narrator.speech.plan import Step
from narrator.speech.store import Record
from narrator.speech.voice_figures import (
    VoiceFigures,
    root_mean_square,
    semitones,
    to_unit_length,
    unpack_speaker,
    unpack_timbre,
)

MIN_SECONDS = 2.0
"""Seconds of speech from which on a take is compared."""
_SETTLED_SECONDS = 5.0
"""Seconds of speech from which on a take is taken as long."""
_MIN_WEIGHED_SECONDS = 0.1
MIN_TAKES = 8
"""Takes that tell what is usual."""
_MIN_MEDIAN_TAKES = 5
"""Takes that tell a speaker's medians for the checks."""
MAX_SPREADS = 4.0
"""Spreads beyond which a take sticks out, if its deviation is large enough to be noticed. Normal
spreads of independent takes; speech has longer tails."""
_NORMAL_SPREAD = 1.4826
"""Standard deviations of a normal distribution in a median absolute deviation."""


@dataclass(frozen=True, slots=True)
class VoicedTake:
    """The part of a take's record that is compared."""

    figures: VoiceFigures
    seconds: float
    level: float
    """dB."""
    bands: NDArray[np.float32]
    """As of `unpack_timbre`."""
    embedding: NDArray[np.float32] | None = None
    """As of `unpack_speaker`."""
    previous: VoicedTake | None = None
    """The take that the same speaker's text goes on from, if seams are compared."""

    @classmethod
    def of(cls, record: Record, min_seconds: float = MIN_SECONDS) -> VoicedTake | None:
        """Returns it for a take with enough voice, of a version that measures voices."""
        if record.seconds < min_seconds or not record.voice:
            return None
        try:
            return cls.measured(VoiceFigures(**record.voice), record.seconds, record.level)
        except (TypeError, ValueError):  # of a later version
            return None

    @classmethod
    def measured(cls, figures: VoiceFigures, seconds: float, level: float) -> VoicedTake:
        """Returns it for the figures of a voice. Raises ValueError if there is none."""
        bands, embedding = unpack_timbre(figures.timbre), unpack_speaker(figures.speaker)
        return cls(figures, seconds, level, bands, embedding)


Term = Literal["voice", "pace", "seam"]
"""The kind of a deviation, by which tries are chosen."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A figure by which takes are compared."""

    name: str
    value: Callable[[VoicedTake], float | None]
    """None where the take does not tell."""
    noticeable: float
    """The deviation from which on listeners notice it between two passages, in semitones, octaves
    of pace, dB, dB an octave, or seconds of echo."""
    more: str
    less: str
    """Messages for a positive and a negative {deviation}, of a speaker who is usual otherwise."""
    drifts: bool = False
    """True if it tells how a voice is in a chapter, beside another one."""
    term: Term = "voice"
    neutral: float | None = None
    """The usual value of every speaker; None where it is the median of takes."""


def _pace(take: VoicedTake) -> float | None:
    return math.log2(take.figures.pace) if take.figures.pace else None


def _pitch(take: VoicedTake) -> float | None:
    return semitones(100, take.figures.pitch) if take.figures.pitch else None


def _pace_change(take: VoicedTake) -> float | None:
    """Octaves; the last word of a short take, which all speakers lengthen, is much of its end."""
    return take.figures.pace_change if take.seconds >= _SETTLED_SECONDS else None


_MIN_NOISE_PAUSES = 0.08
"""Share of a take in which its noise is heard alone."""
_LOWEST_NOISE = -70.0
"""dB full scale, below which noise makes no difference."""


def _noise(take: VoicedTake) -> float | None:
    has_pauses = take.figures.pauses >= _MIN_NOISE_PAUSES
    return max(take.figures.noise, _LOWEST_NOISE) if has_pauses else None


def _pitch_at_seam(take: VoicedTake) -> float | None:
    """Semitones from the end of the take before to the start of this one."""
    if take.previous is None or not (
        take.previous.figures.start_pitch and take.figures.start_pitch
    ):
        return None
    previous = take.previous.figures
    return semitones(previous.start_pitch, take.figures.start_pitch) - previous.pitch_change


def _level_at_seam(take: VoicedTake) -> float | None:
    """dB from the end of the take before to the start of this one."""
    if take.previous is None or not take.previous.figures.start_pitch:
        return None
    previous = take.previous.figures
    return take.figures.start_level - previous.start_level - previous.level_change


_OCTAVES = band_octaves() - band_octaves().mean()
"""(32,): of the bands of a timbre, from their middle."""


def _brightness_at_seam(take: VoicedTake) -> float | None:
    """dB an octave by which the spectrum rises more than that of the take before.

    Of whole takes: the last third and the first have too few sounds to tell.
    """
    if take.previous is None:
        return None
    return float((take.bands - take.previous.bands) @ _OCTAVES / (_OCTAVES @ _OCTAVES))


def _noise_at_seam(take: VoicedTake) -> float | None:
    """dB of noise more than in the take before."""
    if take.previous is None:
        return None
    noise, previous_noise = _noise(take), _noise(take.previous)
    return None if noise is None or previous_noise is None else noise - previous_noise


def _echo_at_seam(take: VoicedTake) -> float | None:
    """Seconds of echo more than in the take before."""
    if take.previous is None or not (take.figures.decay and take.previous.figures.decay):
        return None
    return take.figures.decay - take.previous.figures.decay


PITCH, LOUDNESS = "pitch", "loudness"
MEASURES = (
    Measure(PITCH, _pitch, 1.5,
            "{deviation:.1f} semitones higher than this speaker usually is",
            "{deviation:.1f} semitones lower than this speaker usually is", drifts=True),
    Measure("pace", _pace, 0.2,
            "{percent:.0f} % faster than this speaker usually is",
            "{percent:.0f} % slower than this speaker usually is", drifts=True, term="pace"),
    Measure(LOUDNESS, lambda take: take.level, 3.0,
            "{deviation:.1f} dB louder than this speaker usually is",
            "{deviation:.1f} dB softer than this speaker usually is", drifts=True),
    Measure("noise", _noise, 12.0,
            "{deviation:.0f} dB more noise in its pauses than this speaker usually has",
            "{deviation:.0f} dB less noise in its pauses than this speaker usually has"),
    Measure("echo", lambda take: take.figures.decay or None, 0.07,
            "echoes {deviation:.2f} s longer than this speaker usually does",
            "echoes {deviation:.2f} s less than this speaker usually does", drifts=True),
    Measure("pitch change", lambda take: take.figures.pitch_change, 5.0,
            "rises by {deviation:.1f} semitones more than usual",
            "falls by {deviation:.1f} semitones more than usual"),
    Measure("pace change", _pace_change, 0.8,
            "speeds up by {percent:.0f} % more than usual",
            "slows down by {percent:.0f} % more than usual", term="pace"),
    Measure("loudness change", lambda take: take.figures.level_change, 6.0,
            "swells by {deviation:.1f} dB more than usual",
            "fades by {deviation:.1f} dB more than usual"),
    Measure("pitch at the seam", _pitch_at_seam, 6.0,
            "begins {deviation:.1f} semitones too high for the line before",
            "begins {deviation:.1f} semitones too low for the line before", term="seam"),
    Measure("loudness at the seam", _level_at_seam, 6.0,
            "begins {deviation:.1f} dB too loud for the line before",
            "begins {deviation:.1f} dB too soft for the line before", term="seam"),
    Measure("spectrum at the seam", _brightness_at_seam, 1.5,
            "sounds brighter than the line before, by {deviation:.1f} dB an octave",
            "sounds duller than the line before, by {deviation:.1f} dB an octave", term="seam",
            neutral=0.0),
    Measure("noise at the seam", _noise_at_seam, 12.0,
            "{deviation:.0f} dB more noise in its pauses than the line before",
            "{deviation:.0f} dB less noise in its pauses than the line before", term="seam",
            neutral=0.0),
    Measure("echo at the seam", _echo_at_seam, 0.1,
            "echoes {deviation:.2f} s longer than the line before",
            "echoes {deviation:.2f} s less than the line before", term="seam",
            neutral=0.0),
)  # fmt: skip
TIMBRE = "timbre"
"""The measure of the mean spectrum, whose deviations have no sign."""
_WHOLE_MEASURES = {
    "spectrum at the seam": TIMBRE, "noise at the seam": "noise", "echo at the seam": "echo",
}  # fmt: skip
"""The measures of whole takes that explain those of a seam: where one of two neighbours sticks out
by itself, the seam says nothing new."""
NOTICEABLE_TIMBRE = 1.5
"""dB, root mean square over all bands."""
_MIN_BAND_SPREAD = 0.4
"""dB: bands are quantised, and a speaker who is steadier than this sounds the same."""
_MIN_DISTANCE_SPREAD = 0.2
"""Least spread of the distances of takes from the usual spectrum, in spreads of its bands."""
LIKENESS = "likeness"
"""The measure of the speaker's embedding, where the engine has an encoder of speakers; without a
sign."""
_UNLIKE_DISTANCES = 3.0
"""Distance from the usual embedding that is noticed, in those of the speaker's usual takes and
beyond theirs: encoders have scales of their own."""
_MIN_UNLIKENESS = 0.02
"""Least cosine distance of usual takes: nearer ones sound the same."""
_MIN_SPREADS = 1 / MAX_SPREADS
"""Least spread of a measure, in noticeable deviations: what nobody notices does not stick out."""


@dataclass(frozen=True, slots=True)
class Deviation:
    """The distance of a take from what is usual for its speaker, by a measure."""

    measure: str
    amount: float
    """In the measure's unit."""
    spreads: float
    """In spreads of the speaker; fewer for short takes, whose words decide how they sound."""
    share: float
    """In noticeable deviations."""
    template: str
    """Of the message."""
    term: Term = "voice"

    @property
    def message(self) -> str:
        """Describes the difference."""
        return self.template.format(deviation=abs(self.amount), percent=_percent(self.amount))

    @property
    def height(self) -> float:
        """How near it comes to sticking out, which it does above 1: the smaller of how noticeable
        it is, and how unusual for its speaker."""
        return min(abs(self.share), abs(self.spreads) / MAX_SPREADS)

    @property
    def sticks_out(self) -> bool:
        return self.height > 1

    @property
    def is_glaring(self) -> bool:
        """True if the take is worth another try without a person's judgement."""
        return self.height > 1.5


@dataclass(frozen=True, slots=True)
class UsualVoice:
    """The usual figures of a speaker in a style."""

    count: int
    """Takes."""
    medians: Mapping[str, float]
    spreads: Mapping[str, float]
    """By the names of `MEASURES`; of `TIMBRE`, those of the distances in spreads of the bands, and
    of `LIKENESS`, of the cosine distances."""
    bands: NDArray[np.float32]
    band_spreads: NDArray[np.float32]
    """(32,) dB."""
    embedding: NDArray[np.float32] | None
    """As of `unpack_speaker`; None where too few takes have one."""

    @classmethod
    def of(cls, takes: Sequence[VoicedTake], min_takes: int = MIN_TAKES) -> UsualVoice | None:
        """Returns what is usual in these takes; None where there are too few."""
        if len(takes) < min_takes:
            return None
        medians, spreads = {}, {}
        for measure in MEASURES:
            values = [value for take in takes if (value := measure.value(take)) is not None]
            if values:
                medians[measure.name] = median(values)
                spreads[measure.name] = max(
                    robust_spread(values), measure.noticeable * _MIN_SPREADS
                )
        bands = np.stack([take.bands for take in takes])
        usual_bands = np.median(bands, axis=0)
        differences = bands - usual_bands
        band_spreads = np.maximum(
            _NORMAL_SPREAD * np.median(np.abs(differences), axis=0), _MIN_BAND_SPREAD
        )
        distances = np.sqrt(np.square(differences / band_spreads).mean(axis=1)).tolist()
        medians[TIMBRE] = median(distances)
        spreads[TIMBRE] = max(robust_spread(distances), _MIN_DISTANCE_SPREAD)
        embedding = _median_embedding(takes, min_takes)
        if embedding is not None:
            distances = [
                distance
                for take in takes
                if (distance := _unlikeness(take.embedding, embedding)) is not None
            ]
            medians[LIKENESS] = median(distances)
            noticeable = _noticeable_unlikeness(medians[LIKENESS])
            spreads[LIKENESS] = max(robust_spread(distances), noticeable * _MIN_SPREADS)
        return cls(
            len(takes),
            medians,
            spreads,
            usual_bands.astype(np.float32),
            band_spreads.astype(np.float32),
            embedding,
        )

    def deviations(self, take: VoicedTake) -> list[Deviation]:
        """Returns how far a take lies from this voice, by each measure that both tell."""
        weight = _deviation_weight(take)
        seam_weight = min(weight, _deviation_weight(take.previous)) if take.previous else weight
        deviations: list[Deviation] = []
        for measure in MEASURES:
            value = measure.value(take)
            usual = measure.neutral
            if usual is None:
                usual = self.medians.get(measure.name)
            if value is None or usual is None:
                continue
            amount = value - usual
            spread = self.spreads.get(measure.name, measure.noticeable * _MIN_SPREADS)
            deviations.append(
                Deviation(
                    measure.name,
                    amount,
                    amount / spread * (seam_weight if measure.term == "seam" else weight),
                    amount / measure.noticeable,
                    measure.more if amount > 0 else measure.less,
                    measure.term,
                )
            )
        differences = take.bands - self.bands
        amount = root_mean_square(differences)
        distance = root_mean_square(differences / self.band_spreads)
        deviations.append(
            Deviation(
                TIMBRE,
                amount,
                (distance - self.medians[TIMBRE]) / self.spreads[TIMBRE] * weight,
                amount / NOTICEABLE_TIMBRE,
                "sounds unlike this speaker: the spectrum differs by {deviation:.1f} dB",
            )
        )
        unlikeness = _unlikeness(take.embedding, self.embedding)
        if unlikeness is not None:
            usual_unlikeness = self.medians[LIKENESS]
            amount = max(0.0, unlikeness - usual_unlikeness)
            deviations.append(
                Deviation(
                    LIKENESS,
                    amount,
                    amount / self.spreads[LIKENESS] * weight,
                    amount / _noticeable_unlikeness(usual_unlikeness),
                    "sounds less like this speaker than usual",
                )
            )
        return deviations

    def unexplained_deviations(self, take: VoicedTake) -> list[Deviation]:
        """Returns `deviations`, without those of a seam that one of its two takes explains."""
        deviations = self.deviations(take)
        neighbours = [*deviations]
        if take.previous:
            neighbours += self.deviations(replace(take.previous, previous=None))
        outlying = {deviation.measure for deviation in neighbours if deviation.sticks_out}
        return [
            deviation
            for deviation in deviations
            if _WHOLE_MEASURES.get(deviation.measure) not in outlying
        ]

    def chapter_shares(self, takes: Sequence[VoicedTake]) -> dict[str, float]:
        """Returns how far the medians of a chapter's takes lie from this voice, in noticeable
        deviations, by the measures that tell how a voice is in a chapter."""
        shares: dict[str, float] = {}
        for measure in MEASURES:
            values = [value for take in takes if (value := measure.value(take)) is not None]
            if measure.drifts and values and measure.name in self.medians:
                amount = median(values) - self.medians[measure.name]
                shares[measure.name] = amount / measure.noticeable
        bands = np.median([take.bands for take in takes], axis=0)
        squares = root_mean_square(bands - self.bands) ** 2
        # medians of few takes differ by chance
        variance = math.pi / 2 * root_mean_square(self.band_spreads) ** 2
        squares -= variance * (1 / len(takes) + 1 / self.count)
        shares[TIMBRE] = math.sqrt(max(0.0, squares)) / NOTICEABLE_TIMBRE
        unlikeness = _unlikeness(_median_embedding(takes, min_takes=1), self.embedding)
        if unlikeness is not None:
            usual_unlikeness = self.medians[LIKENESS]
            unlikeness -= math.pi / 2 * usual_unlikeness * (1 / len(takes) + 1 / self.count)
            shares[LIKENESS] = max(0.0, unlikeness) / _noticeable_unlikeness(usual_unlikeness)
        return shares


def usual_voices(
    takes: Mapping[tuple[str, str], Sequence[VoicedTake]],
) -> dict[tuple[str, str], UsualVoice]:
    """Returns what is usual, by `voice_name`, of voices with enough takes."""
    voices = ((name, UsualVoice.of(group)) for name, group in takes.items())
    return {name: voice for name, voice in voices if voice is not None}


def find_usual_voices(
    steps: Iterable[Step], current: Callable[[Step], Record | None]
) -> dict[tuple[str, str], UsualVoice]:
    """Returns what is usual in the good current takes, each counted once, by `voice_name`."""
    takes: dict[tuple[str, str], list[VoicedTake]] = defaultdict(list)
    voiced = ((step, VoicedTake.of(record)) for step, record in _good_takes(steps, current))
    for step, take in with_previous_takes(voiced):
        takes[voice_name(step)].append(take)
    return usual_voices(takes)


def with_previous_takes(
    takes: Iterable[tuple[Step, VoicedTake | None]],
) -> Iterator[tuple[Step, VoicedTake]]:
    """Yields takes in the order of the book, each with the one that it goes on from; None stands
    for one that is not compared."""
    previous_step: Step | None = None
    previous_take: VoicedTake | None = None
    for step, take in takes:
        if take:
            goes_on = previous_step is not None and _goes_on(previous_step, step)
            yield step, replace(take, previous=previous_take) if goes_on else take
        previous_step, previous_take = step, take


def with_previous_steps(steps: Iterable[Step]) -> Iterator[tuple[Step, Step | None]]:
    """Yields steps in the order of the book, each with the one that it goes on from."""
    previous: Step | None = None
    for step in steps:
        yield step, previous if previous is not None and _goes_on(previous, step) else None
        previous = step


def _goes_on(previous: Step, step: Step) -> bool:
    """Returns whether a step goes on in the voice and the scene of the step before it."""
    is_same_scene = (previous.chapter, previous.utterance.scene) == (
        step.chapter,
        step.utterance.scene,
    )
    return is_same_scene and voice_name(previous) == voice_name(step)


@dataclass(frozen=True, slots=True)
class SpeakerMedians:
    """Medians of a speaker's good takes, for the checks; None where there are too few."""

    level: float | None = None
    """dB."""
    ratio: float | None = None
    """Of seconds of speech to expected seconds."""


def speaker_medians(
    steps: Iterable[Step], current: Callable[[Step], Record | None]
) -> dict[str, SpeakerMedians]:
    """Returns the medians of the good current takes, each counted once, by speaker.

    Short takes and all styles count: the checks have wider limits, and compare from fewer takes on.
    """
    levels: dict[str, list[float]] = defaultdict(list)
    ratios: dict[str, list[float]] = defaultdict(list)
    for step, record in _good_takes(steps, current):
        levels[step.voice.speaker].append(record.level)
        if ratio := record.figures.get("ratio", 0.0):
            ratios[step.voice.speaker].append(ratio)
    return {
        speaker: SpeakerMedians(_median_of_many(levels[speaker]), _median_of_many(ratios[speaker]))
        for speaker in levels
    }


def _median_of_many(figures: Sequence[float]) -> float | None:
    return median_high(figures) if len(figures) >= _MIN_MEDIAN_TAKES else None


def _good_takes(
    steps: Iterable[Step], current: Callable[[Step], Record | None]
) -> Iterator[tuple[Step, Record]]:
    """Yields the good current takes, each once."""
    for step in {step.key: step for step in steps}.values():
        record = current(step)
        if record and not record.faults:
            yield step, record


def voice_name(step: Step) -> tuple[str, str]:
    """Returns speaker and style ("" for none) of a step: takes that should sound alike."""
    return step.chunk.speaker, step.style or ""


def length_weight(seconds: float) -> float:
    """Returns what a take's deviations count, by its length: means of few words spread more."""
    return math.sqrt(min(1.0, max(seconds, _MIN_WEIGHED_SECONDS) / _SETTLED_SECONDS))


def _deviation_weight(take: VoicedTake) -> float:
    """Returns what a take's deviations count beside its speaker's spreads. In takes of Kokoro of 2
    to 2.5 s pitch, pace, loudness, timbre and echo spread 1.6 to 6 times as much as from 5 s on, in
    those of 3 to 4 s 1.3 to 2.7 times."""
    return length_weight(take.seconds) ** 1.5


def _median_embedding(takes: Sequence[VoicedTake], min_takes: int) -> NDArray[np.float32] | None:
    """Returns the median embedding; None where too few takes have one, or encoders of two engines
    have heard them."""
    embeddings = [take.embedding for take in takes if take.embedding is not None]
    if len(embeddings) < min_takes or len({len(embedding) for embedding in embeddings}) > 1:
        return None
    middle: NDArray[np.float32] = np.median(embeddings, axis=0).astype(np.float32)
    return to_unit_length(middle) if middle.any() else None


def _noticeable_unlikeness(usual_unlikeness: float) -> float:
    """Returns the cosine distance that is noticed, beyond the usual one of a speaker's takes."""
    return _UNLIKE_DISTANCES * max(usual_unlikeness, _MIN_UNLIKENESS)


def _unlikeness(
    embedding: NDArray[np.float32] | None, usual: NDArray[np.float32] | None
) -> float | None:
    """Returns the cosine distance of two embeddings, 0 to 2; None unless one encoder made both."""
    if embedding is None or usual is None or len(embedding) != len(usual):
        return None
    return 1 - float(embedding @ usual)


def robust_spread(values: Sequence[float]) -> float:
    """Returns the standard deviation of values without regard to those that stick out."""
    middle = median(values)
    return _NORMAL_SPREAD * median(abs(value - middle) for value in values)


def _percent(octaves: float) -> float:
    """Returns by how much more, or less, a ratio is than 1."""
    return 100 * abs(2**octaves - 1)
