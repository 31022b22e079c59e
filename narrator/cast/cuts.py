"""A clip that is longer than is advised -> where it may be cut, and what is said up to there.

A cut lies in a pause, at the end of a sentence of the transcript. Which pause that is, is told by
how much of the speech and of the text lies before it; where another pause or another sentence fits
nearly as well, a cut is not sure, and whoever listens decides. Hears no words.
"""

from __future__ import annotations

import re
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
class _Pause:
    start: float
    stop: float
    said: float
    """Seconds of speech before it, without pauses."""


def find(recording: Recording, transcript: str, language: str) -> Cut | None:
    """The best place to cut a recording within what is advised; None where none is known."""
    transcript = " ".join(transcript.split())
    first, last, silent = clips.speech_of(recording)
    pauses, quiet = list[_Pause](), 0.0
    for start, stop in silent:
        if stop - start >= SHORTEST_PAUSE:
            pauses.append(_Pause(start, stop, start - first - quiet))
            quiet += stop - start
    spoken = last - first - quiet
    ends = [end for _, end in sentences(transcript, language)][:-1]
    whole = _weight(transcript, language)
    if not pauses or not ends or whole <= 0:
        return None
    shares = {end: _weight(transcript[:end], language) / whole * spoken for end in ends}
    within = [
        pause for pause in pauses if clips.ADVISED[0] <= pause.start - first <= clips.ADVISED[1]
    ]
    pairs = [(abs(pause.said - share), end, pause) for end, share in shares.items()
             for pause in within]  # fmt: skip
    if not pairs:
        return None
    off, end, pause = min(pairs, key=lambda pair: (pair[0], pair[1]))
    near = DRIFT * spoken
    length = pause.stop - pause.start
    rivals = [
        other for other in pauses
        if other is not pause and abs(other.said - shares[end]) < off + 2 * near
        and other.stop - other.start > 0.6 * length
    ]  # fmt: skip
    others = [e for e in ends if e != end and abs(shares[e] - pause.said) < off + 2 * near]
    return Cut(
        seconds=round((pause.start + pause.stop) / 2, 2),
        speech=round(pause.start - first, 1),
        transcript=transcript[:end].strip(),
        sure=off <= near and not rivals and not others,
    )


def _weight(text: str, language: str) -> float:
    """Seconds of the words of a text, without its pauses."""
    return expected_seconds(re.sub(r"[^\w\s%&@#°§$€£]|_", "", text), language)


def until(recording: Recording, seconds: float) -> Recording:
    """What of a recording lies before a place."""
    return Recording(recording.channels[: round(seconds * recording.rate)], recording.rate)
