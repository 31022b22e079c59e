"""Speech within a moment, by engines that are on this machine. Nothing of it is stored."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from types import MappingProxyType

from narrator import keys
from narrator.engines import Request, ignore_message, speak
from narrator.engines.registry import ENGINES
from narrator.engines.spec import EngineContext, EngineSettings, EngineSpec
from narrator.engines.voice import Voice
from narrator.errors import EngineUnavailable, UsageError, UserError
from narrator.studio import sounds
from narrator.text.normalize import SpokenText
from narrator.text.pace import expected_seconds

QUICK_ENGINES = ("kokoro", "draft")
"""Engines that speak a sentence within a moment on any machine, the best first."""
_MAX_SECONDS = 30.0
"""Longest sound of a `QuickVoice`."""
_MAX_CACHED_SOUNDS = 32
_NO_PRONUNCIATIONS: Mapping[str, str] = MappingProxyType({})


class QuickVoice:
    """Speaks sentences by the best quick engine that is here; keeps the last sounds in memory."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cached_sounds: OrderedDict[str, bytes] = OrderedDict()

    def sound(self, voice: Voice, spoken: SpokenText, language: str) -> bytes:
        """Returns a WAV file. Raises UsageError, UserError, EngineUnavailable."""
        text, pronunciations = spoken.text, spoken.pronunciations
        if not any(map(str.isalnum, text)) or expected_seconds(text, language) > _MAX_SECONDS:
            raise UsageError("say a sentence or two: there is nothing in this, or too much")
        name = keys.key(
            {
                "say": text,
                "ipa": dict(pronunciations),
                "voice": voice.speaker,
                "language": language,
            }
        )
        with self._lock:
            if name not in self._cached_sounds:
                self._cached_sounds[name] = speak_here(voice, text, language, pronunciations)
                while len(self._cached_sounds) > _MAX_CACHED_SOUNDS:
                    self._cached_sounds.popitem(last=False)
            return self._cached_sounds[name]


def settings_here(spec: EngineSpec) -> EngineSettings:
    """Returns an engine's settings for one sentence."""
    has_slots = "slots" in spec.settings.model_fields
    return spec.settings.model_validate({"slots": 1} if has_slots else {})


def why_not_here(spec: EngineSpec, language: str) -> str:
    """Returns why an engine cannot speak a language on this machine, and what to do; "" if it
    can."""
    settings = settings_here(spec)
    if missing := spec.missing_packages(settings):
        return missing
    models = spec.model.find(settings, None, ignore_message) if spec.model else ()
    if missing := "; ".join(model.note for _, model in models if model.path is None):
        return missing
    try:
        return "" if spec.speaks(language) else f"{spec.title} does not speak {language}"
    except EngineUnavailable as error:
        return str(error)


def speak_here(
    voice: Voice, text: str, language: str, pronunciations: Mapping[str, str] = _NO_PRONUNCIATIONS
) -> bytes:
    """Speaks a text by the best quick engine that is here; returns a WAV file.

    `pronunciations` are words of it with their IPA. Raises UserError, EngineUnavailable.
    """
    for name in QUICK_ENGINES:
        if not why_not_here(ENGINES[name], language):
            return speak_with(ENGINES[name], voice, text, language, pronunciations)
    return speak_with(ENGINES["draft"], voice, text, language, pronunciations)


def speak_with(
    spec: EngineSpec,
    voice: Voice,
    text: str,
    language: str,
    pronunciations: Mapping[str, str] = _NO_PRONUNCIATIONS,
) -> bytes:
    """Speaks a text by an engine; returns a WAV file. Raises UserError, EngineUnavailable."""
    engine = spec.make(settings_here(spec), EngineContext(None, Path()), ignore_message)
    if problems := engine.problems({voice.speaker: voice}, [language]):
        raise UserError(problems)
    expected = expected_seconds(text, language)
    request = Request(
        "sample", text, language, voice, None, {}, 0, 0, expected, pronunciations=pronunciations
    )
    with closing(engine.start()) as session:
        [(_, outcome)] = speak(session, [request])
    if outcome.speech is None:
        raise UserError(f"{spec.title} could not say this: {outcome.failure}")
    return sounds.wav(outcome.speech.samples, engine.sample_rate)
