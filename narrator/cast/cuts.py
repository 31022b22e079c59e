"""Finds a place to cut a clip that is longer than advised, and its transcript up to there.

A cut lies in a pause, at the end of a sentence of the transcript. The pause is found by the shares
of speech and of text before it; if another pause or sentence fits nearly as well, the cut is not
sure, and the listener decides. Recognises no words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from narrator.cast import clips
from narrator.cast.clips import Recording
from narrator.text.pace import expected_seconds
from narrator.text.sentences import sentences

MIN_PAUSE_SECONDS = 0.2
"""Seconds; the closure of a consonant is shorter."""
MAX_DRIFT = 0.05
"""Share of a clip by which word positions are off if its pace is even."""


@dataclass(frozen=True, slots=True)
class Cut:
    """A place to cut a clip."""

    seconds: float
    """Seconds from the beginning of the file: the middle of a pause."""
    speech: float
    """Seconds of speech before it, pauses included."""
    transcript: str
    """Words before the cut."""
    sure: bool
    """True if no other pause or sentence fits nearly as well."""


@dataclass(frozen=True, slots=True)
class _Gap:
    """A pause of a recording, in seconds."""

    start: float
    stop: float
    words_before: float
    """Seconds of words before it, without pauses."""

    @property
    def length(self) -> float:
        return self.stop - self.start


def find(recording: Recording, transcript: str, language: str) -> Cut | None:
    """Returns the best place to cut a recording within the advised length; None if there is
    none."""
    transcript = " ".join(transcript.split())
    speech_start, speech_end, silences = clips.find_speech(recording)
    gaps = _find_gaps(speech_start, silences)
    word_seconds = speech_end - speech_start - sum(gap.length for gap in gaps)
    word_seconds_by_end = _sentence_ends(transcript, language, word_seconds)
    gaps_in_range = [
        gap
        for gap in gaps
        if clips.ADVISED_SECONDS[0] <= gap.start - speech_start <= clips.ADVISED_SECONDS[1]
    ]
    if not gaps_in_range or not word_seconds_by_end:
        return None
    error, end, gap = min(
        (
            (abs(gap.words_before - word_seconds_by_end[end]), end, gap)
            for end in word_seconds_by_end
            for gap in gaps_in_range
        ),
        key=lambda candidate: candidate[:2],
    )
    tolerance = MAX_DRIFT * word_seconds
    gaps.remove(gap)
    similar_gaps = (rival for rival in gaps if rival.length > 0.6 * gap.length)
    rival_errors = [rival.words_before - word_seconds_by_end[end] for rival in similar_gaps]
    rival_errors += [
        word_seconds_by_end[rival] - gap.words_before
        for rival in word_seconds_by_end
        if rival != end
    ]
    return Cut(
        seconds=round((gap.start + gap.stop) / 2, 2),
        speech=round(gap.start - speech_start, 1),
        transcript=transcript[:end].strip(),
        sure=error <= tolerance
        and all(abs(rival_error) >= error + 2 * tolerance for rival_error in rival_errors),
    )


def _find_gaps(speech_start: float, silences: Sequence[tuple[float, float]]) -> list[_Gap]:
    """Returns pauses longer than those within words; speech begins at `speech_start`."""
    gaps, pause_seconds = list[_Gap](), 0.0
    for start, stop in silences:
        if stop - start >= MIN_PAUSE_SECONDS:
            gaps.append(_Gap(start, stop, start - speech_start - pause_seconds))
            pause_seconds += stop - start
    return gaps


def _sentence_ends(transcript: str, language: str, word_seconds: float) -> dict[int, float]:
    """Returns the offset of each sentence end but the last -> seconds of words before it, of
    `word_seconds`."""
    total_seconds = _word_seconds(transcript, language)
    ends = [end for _, end in sentences(transcript, language)][:-1]
    return {
        end: _word_seconds(transcript[:end], language) / total_seconds * word_seconds
        for end in ends
        if total_seconds > 0
    }


def _word_seconds(text: str, language: str) -> float:
    """Returns the seconds that the words of a text take, without pauses."""
    return expected_seconds(re.sub(r"[^\w\s%&@#°§$€£]|_", "", text), language)


def until(recording: Recording, seconds: float) -> Recording:
    """Returns the part of a recording before a time."""
    return Recording(recording.channels[: round(seconds * recording.rate)], recording.rate)
