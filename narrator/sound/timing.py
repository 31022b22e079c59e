"""When words are heard: where each word of a text lies in a sound.

Who times words (an engine that knows, an aligner that listens) is not known here.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TimedWord:
    """`text[first:last]` of a text, and when it is heard: seconds from the sound's beginning."""

    first: int
    last: int
    start: float
    stop: float


@dataclass(frozen=True, slots=True)
class WordTimes:
    """The words of a text, in order, none of them before the end of the one before."""

    by: str
    """Who timed them: "draft", "whisper", "pocketsphinx" …"""
    words: tuple[TimedWord, ...]
