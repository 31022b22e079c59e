"""Takes are heard: what was said, whether it is the text, and when each word is said.

A `Recogniser` turns sounds into text, and says how surely what was to be said is not in them; an
`Aligner` finds the words of a known text in a sound. Neither knows takes, stores or books.

    compare.py    what was heard against the text, fairly; what is missing, added, otherwise
    likeness.py   which words are as good as the same, by spelling and by sound
    judging.py    what of that is a fault: the thresholds, from measurement
    whisper.py    Whisper in CTranslate2, on every machine: recogniser and aligner
    qwen3.py      Qwen3 in MLX, on Macs: recogniser and aligner
    sphinx.py     pocketsphinx: an aligner of English that brings its model along
    letters.py    how words sound that its dictionary lacks
    told.py       when an engine that knows says each word
    kept.py       what was heard in a take, and its words' times, beside the takes
    listening.py  takes heard in batches, by both
    windows.py    a long sound in parts that a recogniser takes
    choosing.py   which of them a manifest means, and what is here of it
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from narrator.sound.timing import TimedWord


@dataclass(frozen=True, slots=True, eq=False)
class SpokenSound:
    """What is to be heard: mono samples, and what they should say."""

    samples: NDArray[np.float32]
    rate: int
    text: str
    """Spoken text."""
    language: str
    """BCP 47."""


@dataclass(frozen=True, slots=True)
class Transcript:
    """What a recogniser made of a sound."""

    text: str
    """ "" where it heard nothing."""
    doubts: tuple[float, ...] = ()
    """Of each of `text.words` of what was to be said, how much the sound speaks against it: minus
    the logarithm of its probability, given the sound and the words before. Empty where the
    recogniser cannot say."""


class Recogniser(Protocol):
    """Whatever turns speech into text. Always called on one thread."""

    @property
    def title(self) -> str:
        """For people: "whisper small.en"."""
        ...

    @property
    def identity(self) -> str:
        """What its results are kept under: changes with all that may change them."""
        ...

    @property
    def languages(self) -> Collection[str]:
        """ISO 639 codes ("en") that it knows well enough to judge by."""
        ...

    @property
    def batch(self) -> int:
        """Sounds that it is best given at a time."""
        ...

    @property
    def is_apart(self) -> bool:
        """Whether it may work on a thread of its own while an engine speaks; where not, on the
        engine's."""
        ...

    def hear(self, sounds: Sequence[SpokenSound]) -> Sequence[Transcript]:
        """What is said in each. Raises EngineUnavailable."""
        ...


class Aligner(Protocol):
    """Whatever finds the words of a known text in a sound. Always called on one thread."""

    @property
    def name(self) -> str:
        """What cues say who timed them: "whisper", "pocketsphinx"."""
        ...

    @property
    def identity(self) -> str: ...

    @property
    def languages(self) -> Collection[str]: ...

    @property
    def batch(self) -> int: ...

    @property
    def is_apart(self) -> bool: ...

    def align(self, sounds: Sequence[SpokenSound]) -> Sequence[tuple[TimedWord, ...] | None]:
        """When each of `text.words` of a sound's text is heard; None where they are not to be
        found. Raises EngineUnavailable."""
        ...
