"""Text to speech without a book: turns a text into chunks, and their takes into one sound.

The text is plain: it has no labels, marks or markup. It is cut, normalised and chained like a
book's text. Its takes are joined like a chapter's, but one by one as they arrive, without knowledge
of the following ones. Starts no engine and stores nothing.
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

VOICE_LUFS = -20.0
"""LUFS to which every voice is levelled."""
MAX_PEAK = -1.0
"""Highest peak in dBFS."""
MAX_GAIN = 15.0
"""Largest gain in dB."""
_MIN_WRAPPED_LENGTH = 40
"""Number of characters from which a row may have been wrapped."""
_SENTENCE_END = re.compile(r"[.!?:;…。！？：；][\"'”’»›)\]」』]*\Z")
_LIST_MARKER = re.compile(r"(?:[-*•–—·]|\(?\w{1,3}[.)])\s")


@dataclass(frozen=True, slots=True)
class SpeakingManner:
    """Parameters of speech other than the voice."""

    parameters: EngineParameters
    language: str
    """BCP 47."""
    style: str | None = None
    lexicon: Lexicon = field(default_factory=Lexicon)
    max_seconds: float = math.inf
    """Longest text in seconds of speech, at the pace that plans expect."""


def steps_of(
    text: str, speaking: Speaking, manner: SpeakingManner, engine: Engine
) -> Sequence[Step]:
    """The chunks of a text, in order, as steps for an engine.

    Raises UsageError if there is nothing to say, TooLong, UserError for a language that the engine
    does not have, EngineUnavailable.
    """
    speaker_name = speaking.voice.speaker
    lines = tuple(
        Line(speaker_name, row, Path(), number, manner.language, manner.style)
        for number, row in enumerate(split_paragraphs(text), 1)
    )
    chapter = Chapter("", manner.language, (Scene(lines),), ())
    utterances, _ = plan.make_utterances(
        [chapter], lexicon=manner.lexicon, max_seconds=manner.max_seconds
    )
    if not utterances:
        raise UsageError("there is nothing to say in this text")
    return plan.link_steps(
        utterances,
        cast={speaker_name: speaking.voice},
        engines={speaker_name: engine},
        rules=lambda chapter, speaker: ChainRules(),
        parameters=lambda chapter, speaker: manner.parameters,
        pins={},
    )


def split_paragraphs(text: str) -> Iterator[str]:
    """Yields the paragraphs of a text: its rows, with wrapped rows joined."""
    paragraph = ""
    for row in text.splitlines():
        row_text = " ".join(row.split())
        is_wrapped = (
            len(paragraph) >= _MIN_WRAPPED_LENGTH
            and not _SENTENCE_END.search(paragraph)
            and not _LIST_MARKER.match(row_text)
        )
        if paragraph and row_text and is_wrapped:
            paragraph = f"{paragraph} {row_text}"
            continue
        if paragraph:
            yield paragraph
        paragraph = row_text
    if paragraph:
        yield paragraph


class TakeJoiner:
    """Joins the takes of a text to one sound: levelled, at a speed, with pauses between."""

    def __init__(self, steps: Sequence[Step], rate: int, speed: float = 1.0) -> None:
        """`speed` multiplies the voice's own speed."""
        self._steps, self._rate = steps, rate
        self._speed = speed * steps[0].stretch
        self._gain: float | None = None
        self._next_step = 0

    def add(self, samples: Samples) -> Samples:
        """The sound of the next take, trimmed to its speech, with the pause before it."""
        step_number, sample_rate = self._next_step, self._rate
        self._next_step += 1
        if self._gain is None:
            level, _ = audio.measure_level(samples, sample_rate)
            self._gain = min(VOICE_LUFS - level, MAX_GAIN) + self._steps[0].voice.gain
        sound = audio.fade(audio.stretch(samples, sample_rate, self._speed), sample_rate)
        peak = audio.decibels(float(np.abs(sound).max(initial=0.0)))
        sound *= np.float32(audio.amplitude(min(self._gain, MAX_PEAK - peak)))
        pause = 0.0
        if step_number:
            chunk_before, chunk = self._steps[step_number - 1].chunk, self._steps[step_number].chunk
            pause = pause_between(chunk_before, chunk, _PAUSES)[0]
        return np.concatenate([audio.make_silence(round(pause / self._speed * sample_rate)), sound])


_PAUSES = Pauses()
