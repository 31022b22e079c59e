"""Text to Kokoro's phonemes, in the regional variety of the voice, and durations to word times.

Knows no model.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

import numpy as np

from narrator import keys, pronunciation
from narrator.engines import LanguageSupport, Request, SilentPart
from narrator.engines.kokoro.voices import (
    VOICES,
    Blend,
    chosen_blend,
    default_blend,
    language_of,
)
from narrator.engines.preparation import pronounced_words
from narrator.engines.voice import Voice
from narrator.errors import EngineFailure, nearest
from narrator.installation import install_command
from narrator.pronunciation import Override, Pronunciation
from narrator.pronunciation.ipa import IpaError, to_phonemes
from narrator.sound.timing import TimedWord

SAMPLE_RATE = 24_000
FRAME_SECONDS = 0.025
"""Of the durations: `kokoro82m.FRAME_SAMPLES` at 24 kHz. That package is not loaded here."""


def blend_of(voice: Voice, language: str) -> Blend:
    """Returns the voices of a speaker with weights that add up to one, in order of names, without
    those too light to be heard."""
    blend = chosen_blend(voice) or default_blend(voice, language)
    total = sum(blend.values())
    weights = {name: round(blend[name] / total, 6) for name in sorted(blend)}
    return {name: weight for name, weight in weights.items() if weight}


def voice_errors(
    voices: Mapping[str, Voice],
    names: Collection[str],
    model: str = "",
    faults: Mapping[str, str] = MappingProxyType({}),
    language: str | None = None,
) -> Iterator[str]:
    """Yields problems with voices that are not among a model's `names`: those that the author chose
    and, if `language` is given, those that speakers without one get.

    `model` is the model's name in messages, for published voices that it lacks. `faults` are
    reasons why voices cannot be read, by name.
    """
    for speaker, voice in voices.items():
        default = default_blend(voice, language) if language else {}
        for name in chosen_blend(voice) or default:
            if name in names:
                continue
            if name in faults:
                yield f"{speaker}: {faults[name]}"
                continue
            if name in VOICES:
                yield (
                    f"{speaker}: {model} has no voice '{name}'; fetch it, or choose one that it "
                    f"has with `kokoro: {{voice: …}}`: {', '.join(names)}"
                )
                continue
            guess = nearest(name, [*VOICES, *names])
            hint = f"did you mean '{guess}'?" if guess else "docs/kokoro.md lists them"
            yield f"{speaker}: Kokoro has no voice '{name}'; {hint}"


def dialect(language: str, blend: Blend) -> str:
    """Returns the tag of the language in which a text is pronounced: the voice's, with its region,
    if it speaks the language of the text; otherwise the text's."""
    spoken = language_of(blend)
    same = language.lower().partition("-")[0] == spoken.lower().partition("-")[0]
    return spoken if same else language


@lru_cache(maxsize=20_000)
def pronounce(
    text: str, language: str, overrides: tuple[tuple[str, str], ...] = ()
) -> Pronunciation:
    """Returns the phonemes of a text; `overrides` are words of it with their IPA. IPA that cannot
    be spoken in the language is left out: `ipa_errors` has the reasons.

    Raises LookupError for a language that cannot be pronounced here.
    """
    errors = ipa_errors(language, overrides)
    usable = {word: ipa for word, ipa in overrides if ipa not in errors}
    spans = [Override(*place) for place in pronounced_words(text, usable)]
    return pronunciation.pronounce(text, language, spans)


class KokoroLanguages(LanguageSupport):
    """The languages and texts that Kokoro has phonemes for."""

    name = "kokoro"

    def speaks(self, language: str) -> bool:
        return pronunciation.speaks(language)

    def language_advice(self, language: str) -> str:
        extra = pronunciation.missing_extra(language)
        return f"; it needs an extra: {install_command(extra)}" if extra else ""

    def can_say(self, text: str, language: str, pronunciations: Mapping[str, str]) -> bool:
        """As `LanguageSupport.can_say`; true of a language that is not spoken here."""
        try:
            return bool(pronounce(text, language, tuple(pronunciations.items())).words)
        except LookupError:
            return True

    def silent_parts(
        self, text: str, language: str, pronunciations: Mapping[str, str]
    ) -> Sequence[SilentPart]:
        """As `LanguageSupport.silent_parts`; none of a language that is not spoken here."""
        overrides = tuple(pronunciations.items())
        try:
            unspoken = pronounce(text, language, overrides).unspoken
        except LookupError:
            return []
        return [
            *(SilentPart(span.text) for span in unspoken),
            *(SilentPart(f"/{ipa}/", e) for ipa, e in ipa_errors(language, overrides).items()),
        ]


def ipa_errors(language: str, overrides: tuple[tuple[str, str], ...]) -> dict[str, str]:
    """Returns the reasons why a language's voices cannot say the IPA of a lexicon, by that IPA."""
    errors: dict[str, str] = {}
    for _, ipa in overrides:
        try:
            to_phonemes(ipa, language)
        except IpaError as error:
            errors[ipa] = str(error)
    return errors


@dataclass(frozen=True, slots=True)
class SpokenText:
    """A request as Kokoro speaks it; the weights of its blend add up to 1."""

    pronunciation: Pronunciation
    blend: Blend
    speed: float
    seed: int


def prepare(request: Request) -> SpokenText:
    """Converts a request to phonemes and a voice. Raises EngineFailure for a text without any."""
    blend = blend_of(request.voice, request.language)
    language = dialect(request.language, blend)
    try:
        spoken = pronounce(request.text, language, tuple(request.pronunciations.items()))
    except LookupError as error:
        raise EngineFailure(f"Kokoro: {error}: {request.text[:60]!r}") from error
    if not spoken.words:
        raise EngineFailure(f"Kokoro: nothing to pronounce: {request.text[:60]!r}")
    # one take of a text, whatever the book's seed and the number of the try
    seed = keys.number(request.text) % 2**64
    return SpokenText(spoken, blend, request.voice.speed, seed)


def word_times(spoken: Pronunciation, durations: np.ndarray) -> tuple[TimedWord, ...]:
    """Returns the times of the words, from the frames (symbols + 2,) of the symbols."""
    ends = np.cumsum(durations) * FRAME_SECONDS
    return tuple(
        TimedWord(
            word.start,
            word.stop,
            float(ends[word.phonemes_start]),  # the first of `durations` is a pad
            float(ends[word.phonemes_stop]),
        )
        for word in spoken.words
    )
