"""Speech within a moment, by engines that are on this machine. Nothing of it is stored."""

from __future__ import annotations

import threading
from collections import OrderedDict
from pathlib import Path

from narrator import keys
from narrator.engines import Engine, Request, Session, ignore_message, speak
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
_MAX_CACHED_SOUNDS = 64
_WARM_SECONDS = 30.0
"""Seconds for which an engine stays loaded: Kokoro takes a gigabyte."""


class QuickVoice:
    """Speaks sentences by quick engines that are here; keeps the last sounds in memory, and for a
    while the engine that spoke them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cached_sounds: OrderedDict[str, bytes] = OrderedDict()
        self._warm: tuple[str, Engine, Session] | None = None
        self._timer: threading.Timer | None = None

    def sound(
        self, voice: Voice, spoken: SpokenText, language: str, engine_name: str = ""
    ) -> bytes:
        """Returns a WAV file, spoken by the best engine here if none is named. Raises UsageError,
        UserError, EngineUnavailable."""
        text, pronunciations = spoken.text, spoken.pronunciations
        expected = expected_seconds(text, language)
        if not any(map(str.isalnum, text)) or expected > _MAX_SECONDS:
            raise UsageError("write a sentence or two: this is empty or too long")
        name = keys.key(
            {
                "say": text,
                "ipa": dict(pronunciations),
                "voice": voice.speaker,
                "language": language,
                "engine": engine_name,
            }
        )
        request = Request(
            "sample", text, language, voice, None, {}, 0, 0, expected, pronunciations=pronunciations
        )
        with self._lock:
            if name not in self._cached_sounds:
                self._cached_sounds[name] = self._speak(
                    ENGINES[engine_name or _best_engine(language)], request
                )
                while len(self._cached_sounds) > _MAX_CACHED_SOUNDS:
                    self._cached_sounds.popitem(last=False)
            return self._cached_sounds[name]

    def close(self) -> None:
        """Ends the engine that is still there."""
        with self._lock:
            self._cool_down()

    def _speak(self, spec: EngineSpec, request: Request) -> bytes:
        """Speaks a request; the engine stays for the next one, since loading it takes longest."""
        if self._timer:
            self._timer.cancel()
        if self._warm is None or self._warm[0] != spec.name:
            self._cool_down()
            engine = spec.make(settings_here(spec), EngineContext(None, Path()), ignore_message)
            self._warm = spec.name, engine, engine.start()
        _, engine, session = self._warm
        try:
            if problems := engine.problems({request.voice.speaker: request.voice},
                                           [request.language]):  # fmt: skip
                raise UserError(problems)
            [(_, outcome)] = speak(session, [request])
        except BaseException:
            self._cool_down()
            raise
        self._timer = threading.Timer(_WARM_SECONDS, self.close)
        self._timer.daemon = True
        self._timer.start()
        if outcome.speech is None:
            raise UserError(f"{spec.title} could not say this: {outcome.failure}")
        return sounds.wav(outcome.speech.samples, engine.sample_rate)

    def _cool_down(self) -> None:
        if self._timer:
            self._timer.cancel()
        if self._warm is not None:
            _, _, session = self._warm
            self._warm = None
            session.close()


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
    return cannot_speak(spec, language)


def cannot_speak(spec: EngineSpec, language: str) -> str:
    """Returns why an engine cannot speak a language, wherever its model is; "" if it can."""
    try:
        return "" if spec.speaks(language) else f"{spec.title} does not speak {language}"
    except EngineUnavailable as error:
        return str(error)


def advise_voice(language: str) -> str:
    """Returns how a book that only the draft voice speaks gets another voice on this machine."""
    names = [spec for spec in engines_without_settings() if spec.name != "draft"]
    spec = next(
        (spec for spec in names if not why_not_here(spec, language)),
        next((spec for spec in names if not cannot_speak(spec, language)), names[0]),
    )
    note = why_not_here(spec, language)
    remedy = f"{spec.title} can speak it" + (f", but is not ready: {note}. Then" if note else ":")
    remedy += f" write `engine: {spec.name}` in its manifest"
    return f"Only the draft voice speaks this book. {remedy}"


def engines_without_settings() -> list[EngineSpec]:
    """Returns the engines that need no settings, those for any machine first."""
    names = dict.fromkeys([*QUICK_ENGINES, *ENGINES])
    return [ENGINES[name] for name in names if name != "server"]  # which needs its address


def engines_here(language: str) -> list[str]:
    """Returns the engines on this machine that speak a language and need no settings."""
    return [spec.name for spec in engines_without_settings() if not why_not_here(spec, language)]


def _best_engine(language: str) -> str:
    """Returns the best quick engine here that speaks a language, or the draft voice."""
    return next(
        (name for name in QUICK_ENGINES if not why_not_here(ENGINES[name], language)), "draft"
    )
