"""A clip that is longer than is advised -> where it may be cut, and what is said up to there.

A cut lies in a pause, at the end of a sentence of the transcript. Which pause that is, is told by
how much of the speech and of the text lies before it; where another pause or another sentence fits
nearly as well, a cut is not sure, and whoever listens decides. Hears no words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from narrator.cast import clips
from narrator.cast.clips import Recording
from narrator.text.pace import expected_seconds
from narrator.text.sentences import sentences

SHORTEST_PAUSE = 0.2
"""Seconds; the closure of a consonant is shorter."""
DRIFT = 0.05
"""Share of a clip by which the words before a place are off, where its pace is even."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Where a clip may be cut."""

    seconds: float
    """From the beginning of the file: the middle of a pause."""
    speech: float
    """Seconds of speech before it, pauses included."""
    transcript: str
    """What is said before it."""
    sure: bool
    """Whether no other pause and no other sentence comes near."""


@dataclass(frozen=True, slots=True)
class _Gap:
    """A pause of a recording, in seconds."""

    start: float
    stop: float
    before: float
    """Of words, without pauses, before it."""

    @property
    def length(self) -> float:
        return self.stop - self.start


def find(recording: Recording, transcript: str, language: str) -> Cut | None:
    """The best place to cut a recording within what is advised; None where none is known."""
    transcript = " ".join(transcript.split())
    first, last, silent = clips.speech_of(recording)
    gaps = _gaps(first, silent)
    words = last - first - sum(gap.length for gap in gaps)
    ends = _ends(transcript, language, words)
    within = [gap for gap in gaps if clips.ADVISED[0] <= gap.start - first <= clips.ADVISED[1]]
    if not within or not ends:
        return None
    off, end, gap = min(
        ((abs(gap.before - ends[end]), end, gap) for end in ends for gap in within),
        key=lambda found: found[:2],
    )
    near = DRIFT * words
    gaps.remove(gap)
    alike = (other for other in gaps if other.length > 0.6 * gap.length)
    places = [other.before - ends[end] for other in alike]
    places += [ends[other] - gap.before for other in ends if other != end]
    return Cut(
        seconds=round((gap.start + gap.stop) / 2, 2),
        speech=round(gap.start - first, 1),
        transcript=transcript[:end].strip(),
        sure=off <= near and all(abs(place) >= off + 2 * near for place in places),
    )


def _gaps(first: float, silent: Sequence[tuple[float, float]]) -> list[_Gap]:
    """Pauses that are no part of a word, of a recording whose speech begins at `first`."""
    gaps, quiet = list[_Gap](), 0.0
    for start, stop in silent:
        if stop - start >= SHORTEST_PAUSE:
            gaps.append(_Gap(start, stop, start - first - quiet))
            quiet += stop - start
    return gaps


def _ends(transcript: str, language: str, words: float) -> dict[int, float]:
    """Ends of sentences but the last, each with the seconds of words before it, of `words`."""
    whole = _weight(transcript, language)
    ends = [end for _, end in sentences(transcript, language)][:-1]
    return {end: _weight(transcript[:end], language) / whole * words for end in ends if whole > 0}


def _weight(text: str, language: str) -> float:
    """Seconds of the words of a text, without its pauses."""
    return expected_seconds(re.sub(r"[^\w\s%&@#°§$€£]|_", "", text), language)


def until(recording: Recording, seconds: float) -> Recording:
    """What of a recording lies before a place."""
    return Recording(recording.channels[: round(seconds * recording.rate)], recording.rate)
