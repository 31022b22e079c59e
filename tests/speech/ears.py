"""Recognisers and aligners for tests: they hear what they are told to."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from narrator.sound.timing import TimedWord
from narrator.speech.hearing import SpokenSound, Transcript
from narrator.text.words import words


@dataclass
class Parrot:
    """Hears what `says` makes of a text: the text itself, if nothing else."""

    says: Callable[[str], str] = lambda text: text
    title: str = "parrot"
    identity: str = "parrot 1"
    languages: Collection[str] = ("en", "zh")
    batch: int = 2
    asked: list[tuple[str, ...]] = field(default_factory=list)
    """Texts of each batch."""

    def hear(self, sounds: Sequence[SpokenSound]) -> list[Transcript]:
        self.asked.append(tuple(sound.text for sound in sounds))
        return [Transcript(self.says(sound.text)) for sound in sounds]


@dataclass
class Mishearer(Parrot):
    """Hears another word for one, and doubts that one."""

    word: str = ""
    heard: str = ""

    def hear(self, sounds: Sequence[SpokenSound]) -> list[Transcript]:
        self.asked.append(tuple(sound.text for sound in sounds))
        return [
            Transcript(
                sound.text.replace(self.word, self.heard),
                tuple(
                    9.0 if sound.text[first:last] == self.word else 0.1
                    for first, last in words(sound.text, sound.language)
                ),
            )
            for sound in sounds
        ]


@dataclass
class Metronome:
    """Says that every word takes a tenth of a second."""

    name: str = "metronome"
    identity: str = "metronome 1"
    languages: Collection[str] = ("en",)
    batch: int = 2
    asked: list[tuple[str, ...]] = field(default_factory=list)

    def align(self, sounds: Sequence[SpokenSound]) -> list[tuple[TimedWord, ...] | None]:
        self.asked.append(tuple(sound.text for sound in sounds))
        return [
            tuple(
                TimedWord(first, last, n / 10, (n + 1) / 10)
                for n, (first, last) in enumerate(words(sound.text, sound.language))
            )
            for sound in sounds
        ]
