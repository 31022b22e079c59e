"""Corrections of takes for delivery: of the level and pace of those that lie outside what is usual.

Works on the records of takes alone, in any order, so that the outcome is the same however a book
was rendered. A take is not moved to its speaker's median, but back to a limit around it, which is
wider for short takes: their words decide how they sound. Each style and language of a voice has its
own medians. Medians and corrections go by steps, so that another take seldom changes any of those
that are there. Takes are left as they are in the store.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from dataclasses import dataclass

from narrator.sound.assemble import GAIN_STEP_DB, weighted_median
from narrator.sound.audio import SILENCE
from narrator.speech.plan import Step
from narrator.speech.steadiness import MIN_TAKES, length_weight
from narrator.speech.store import Record
from narrator.text.speech_words import speech_of

MAX_LEVEL_DEVIATION_DB = 1.5
"""dB from the usual level within which a take of five seconds or more is left alone. Two takes then
differ by at most 3 dB, which is what listeners notice."""
MAX_GAIN_DB = 6.0
PEAK_CEILING_DB = -1.0
"""dB full scale to which a peak may be raised."""
MAX_PACE_DEVIATION = math.log2(1.10)
"""Octaves from the usual pace within which a take of five seconds or more is left alone. What a
text should take is estimated: takes of a voice with an even pace spread by 5 to 7 % around it."""
MAX_STRETCH_PERCENT = 6
PACE_STEP = 0.04
"""Octaves."""


@dataclass(frozen=True, slots=True)
class UsualSpeech:
    """Usual figures of a group of takes; None for what is not corrected."""

    level: float | None = None
    """dB."""
    pace: float | None = None
    """Octaves from what is expected of a text; more is faster."""


@dataclass(frozen=True, slots=True)
class Correction:
    """A change of a take for delivery."""

    gain: float = 0.0
    """dB."""
    speed: float = 1.0
    """1.03 is 3 % faster, at the same pitch."""

    def __bool__(self) -> bool:
        return self != Correction()

    def __str__(self) -> str:
        """Describes the change: "2.5 dB softer, 3 % slower"."""
        parts: list[str] = []
        if self.gain:
            parts.append(f"{abs(self.gain):.1f} dB {'louder' if self.gain > 0 else 'softer'}")
        if self.speed != 1:
            percent = abs(round(100 * (self.speed - 1)))
            parts.append(f"{percent} % {'faster' if self.speed > 1 else 'slower'}")
        return ", ".join(parts)


TakeGroup = tuple[str, str]
"""Style ("" for none) and language of those takes of a voice that are compared with each other."""


def group_of(step: Step) -> TakeGroup:
    """Returns the group that a step's take belongs to."""
    return step.style or "", step.language.lower()


def usual_speech(takes: Collection[Record]) -> UsualSpeech:
    """Returns the usual figures of the good takes of a group, weighted by their seconds."""
    levels = [(take.level, take.seconds) for take in takes if take.level > SILENCE]
    paces = [(pace, take.seconds) for take in takes if (pace := _pace(take)) is not None]
    level = weighted_median(levels) if len(levels) >= MIN_TAKES else None
    pace = weighted_median(paces) if len(paces) >= MIN_TAKES else None
    return UsualSpeech(
        None if level is None else round(level / GAIN_STEP_DB) * GAIN_STEP_DB,
        None if pace is None else round(pace / PACE_STEP) * PACE_STEP,
    )


def correction_of(step: Step, take: Record, usual: UsualSpeech) -> Correction:
    """Returns the correction of a step's take.

    A take that its author chose keeps its pace; if it was spoken in a style of its own, its level
    too. A doubtful take keeps its pace, since its text may be incomplete.
    """
    if step.pinned and "style" in take.parameters:
        return Correction()
    may_stretch = not (step.pinned or take.faults)
    return Correction(
        0.0 if usual.level is None else _gain(step, take, usual.level),
        _speed(take, usual.pace) if usual.pace is not None and may_stretch else 1.0,
    )


def _gain(step: Step, take: Record, usual_level: float) -> float:
    deviation = take.level - usual_level
    excess = abs(deviation) - MAX_LEVEL_DEVIATION_DB / length_weight(take.seconds)
    if excess <= 0 or take.level <= SILENCE:
        return 0.0
    gain = min(round(excess / GAIN_STEP_DB) * GAIN_STEP_DB, MAX_GAIN_DB)
    if deviation > 0:
        return 0.0 if asks_for_loudness(step.chunk.text, step.language) else -gain
    if asks_for_softness(step.chunk.text, step.language):
        return 0.0
    headroom = math.floor((PEAK_CEILING_DB - take.peak) / GAIN_STEP_DB) * GAIN_STEP_DB
    return max(0.0, min(gain, headroom))


def _speed(take: Record, usual_pace: float) -> float:
    pace = _pace(take)
    if pace is None:
        return 1.0
    deviation = pace - usual_pace
    excess = abs(deviation) - MAX_PACE_DEVIATION / length_weight(take.seconds)
    percent = min(round(100 * (2**excess - 1)), MAX_STRETCH_PERCENT) if excess > 0 else 0
    return 1 - math.copysign(percent, deviation) / 100


def _pace(take: Record) -> float | None:
    """Returns the pace of a take in octaves; None where it is not known."""
    pace = take.voice.get("pace")
    return math.log2(pace) if isinstance(pace, float | int) and pace > 0 else None


_WORDS = re.compile(r"[^\W\d_]{2,}")


def asks_for_loudness(text: str, language: str) -> bool:
    """Returns whether a text is exclaimed, has words in capitals, or tells of shouting."""
    return (
        any(mark in text for mark in "!¡！")
        or any(word.isupper() for word in _WORDS.findall(text))
        or _has_word(text, speech_of(language).loud, language)
    )


def asks_for_softness(text: str, language: str) -> bool:
    """Returns whether a text tells of whispering."""
    return _has_word(text, speech_of(language).soft, language)


def _has_word(text: str, beginnings: frozenset[str], language: str) -> bool:
    """Returns whether a word has one of the beginnings, or any text has it where no white space
    parts words."""
    folded = text.casefold()
    if speech_of(language).is_unspaced:
        return any(beginning in folded for beginning in beginnings)
    return any(word.startswith(tuple(beginnings)) for word in _WORDS.findall(folded))
