"""Hears takes: what was said, whether it is the text, and when each word is said.

A `Recogniser` turns sounds into text, and tells how improbable each expected word is; an
`Aligner` finds the words of a known text in a sound. Neither knows takes, stores or books.

    compare.py       compares the heard words with the text: missing, added, different
    likeness.py      decides which words count as the same, by spelling and by sound
    judging.py       decides which differences are faults, by measured thresholds
    whisper.py       Whisper in CTranslate2, on every machine: recogniser and aligner
    sphinx.py        pocketsphinx: an aligner of English that brings its model along
    letters.py       guesses the sounds of words that its dictionary lacks
    word_timings.py  word times that an engine reports itself
    transcripts.py   stores transcripts and word times beside the takes
    listening.py     hears takes in batches, with both
    windows.py       cuts a long sound into windows for a recogniser
    choosing.py      finds the recogniser and aligners that a manifest asks for
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from narrator.sound.timing import TimedWord


@dataclass(frozen=True, slots=True, eq=False)
class SpokenSound:
    """A sound to hear: mono samples, and the text that they should say."""

    samples: NDArray[np.float32]
    rate: int
    text: str
    """Spoken text."""
    language: str
    """BCP 47."""


@dataclass(frozen=True, slots=True)
class Transcript:
    """A recogniser's text of a sound."""

    text: str
    """ "" where it heard nothing."""
    doubts: tuple[float, ...] = ()
    """For each of `text.words` of the expected text, how improbable the sound makes it: minus the
    logarithm of its probability, given the sound and the words before. Empty where the recogniser
    does not provide it."""


class Listener(Protocol):
    """A recogniser or aligner. Always called on one thread, while an engine may speak on
    another."""

    @property
    def identity(self) -> str:
        """Identifies it in stored results; changes with all that may change them."""
        ...

    @property
    def languages(self) -> Collection[str]:
        """ISO 639 codes ("en") of the languages that it knows well enough to judge by."""
        ...

    @property
    def batch(self) -> int:
        """The best number of sounds at a time."""
        ...


class Recogniser(Listener, Protocol):
    """Whatever turns speech into text."""

    @property
    def title(self) -> str:
        """For people: "whisper small.en"."""
        ...

    def hear(self, sounds: Sequence[SpokenSound]) -> Sequence[Transcript]:
        """Returns the transcript of each sound. Raises EngineUnavailable."""
        ...


@dataclass(frozen=True, slots=True)
class RecogniserSpec:
    """A recogniser that a manifest can name."""

    name: str
    make: Callable[[], Recogniser]
    """Makes the recogniser, which may load its model later. Raises EngineUnavailable."""


class Aligner(Listener, Protocol):
    """Whatever finds the words of a known text in a sound."""

    @property
    def name(self) -> str:
        """The name stored with word times: "whisper", "pocketsphinx"."""
        ...

    def align(self, sounds: Sequence[SpokenSound]) -> Sequence[tuple[TimedWord, ...] | None]:
        """Returns the times of `text.words` of each sound's text; None where not located.

        Raises EngineUnavailable.
        """
        ...
