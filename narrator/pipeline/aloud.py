"""Text to speech without a book: a text in, chunks to be spoken and then their sound out.

The text is plain: nothing in it is a label, a mark or markup. It is cut, normalised and chained as
a book's is, and its takes are joined as a chapter's are, one by one as they come, so nothing is
known of what follows. Starts no engine and keeps nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from narrator.cast.voicebook import Speaking
from narrator.delivery.layout import pause_between
from narrator.engines import Engine
from narrator.errors import UsageError
from narrator.project.schema import Pauses
from narrator.sound import audio
from narrator.sound.audio import Samples
from narrator.speech import plan
from narrator.speech.plan import ChainRules, EngineParameters, Step
from narrator.text.lines import Chapter, Line, Scene
from narrator.text.normalize import Lexicon

LEVEL = -20.0
"""LUFS of speech, so that one voice is as loud as another."""
PEAK = -1.0
"""dB that no sample is over."""
MOST_GAIN = 15.0
"""dB that a voice is raised at most."""
_FULL = 40
"""Characters from which on a row may have been wrapped."""
_ENDED = re.compile(r"[.!?:;…。！？：；][\"'”’»›)\]」』]*\Z")
_LISTED = re.compile(r"(?:[-*•–—·]|\(?\w{1,3}[.)])\s")


@dataclass(frozen=True, slots=True)
class SpeakingManner:
    """How a text is spoken, beside the voice."""

    parameters: EngineParameters
    language: str
    """BCP 47."""
    style: str | None = None
    lexicon: Lexicon = field(default_factory=Lexicon)
    longest: float = math.inf
    """Seconds of speech that are taken, at the pace that plans expect."""


def steps_of(text: str, who: Speaking, manner: SpeakingManner, engine: Engine) -> Sequence[Step]:
    """The chunks of a text, in order, as an engine is to be asked for them.

    Raises UsageError where there is nothing to say, TooLong, UserError for a language that the
    engine does not have, EngineUnavailable.
    """
    name = who.voice.speaker
    lines = tuple(
        Line(name, row, Path(), number, manner.language, manner.style)
        for number, row in enumerate(paragraphs(text), 1)
    )
    chapter = Chapter("", manner.language, (Scene(lines),), ())
    spoken, _ = plan.utterances([chapter], lexicon=manner.lexicon, longest=manner.longest)
    if not spoken:
        raise UsageError("there is nothing to say in this text")
    return plan.link(
        spoken,
        cast={name: who.voice},
        engines={name: engine},
        rules=lambda chapter, speaker: ChainRules(),
        parameters=lambda chapter, speaker: manner.parameters,
        pins={},
    )


def paragraphs(text: str) -> Iterator[str]:
    """What is said without a break between: rows, but for those that were wrapped."""
    held = ""
    for row in text.splitlines():
        words = " ".join(row.split())
        wrapped = len(held) >= _FULL and not _ENDED.search(held) and not _LISTED.match(words)
        if held and words and wrapped:
            held = f"{held} {words}"
            continue
        if held:
            yield held
        held = words
    if held:
        yield held


class Joining:
    """The takes of a text as one sound, as they come: levelled, at a speed, with pauses between."""

    def __init__(self, steps: Sequence[Step], rate: int, speed: float = 1.0) -> None:
        """`speed` is on top of the voice's own."""
        self._steps, self._rate = steps, rate
        self._speed = speed * steps[0].stretch
        self._gain: float | None = None
        self._place = 0

    def add(self, samples: Samples) -> Samples:
        """The next take, from its first to its last sound, with the pause before it."""
        place, rate = self._place, self._rate
        self._place += 1
        if self._gain is None:
            level, _ = audio.level(samples, rate)
            self._gain = min(LEVEL - level, MOST_GAIN) + self._steps[0].voice.gain
        sound = audio.fade(audio.stretch(samples, rate, self._speed), rate)
        peak = audio.decibels(float(np.abs(sound).max(initial=0.0)))
        sound *= np.float32(audio.amplitude(min(self._gain, PEAK - peak)))
        pause = 0.0
        if place:
            before, own = self._steps[place - 1].chunk, self._steps[place].chunk
            pause = pause_between(before, own, _PAUSES)[0]
        return np.concatenate([audio.silent(round(pause / self._speed * rate)), sound])


_PAUSES = Pauses()
