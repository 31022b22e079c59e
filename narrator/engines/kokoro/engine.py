"""Kokoro as an engine: its answers to a plan. Loads no model before `start`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from narrator import keys, pronunciation
from narrator.engines import Session, ignore_message, models
from narrator.engines.kokoro import SPEC
from narrator.engines.kokoro.checkpoint import FAMILY
from narrator.engines.kokoro.cpu import SHARED_BYTES, WORKER_BYTES, start_workers
from narrator.engines.kokoro.device import runs_on_gpu
from narrator.engines.kokoro.gpu import LoadingKokoro
from narrator.engines.kokoro.settings import KokoroSettings
from narrator.engines.kokoro.voices import VOICES, named_voice
from narrator.engines.kokoro.wording import (
    SAMPLE_RATE,
    KokoroLanguages,
    blend_of,
    dialect,
    pronounce,
    voice_errors,
)
from narrator.engines.mlx.engine import ModelEngine, path_of
from narrator.engines.voice import Voice
from narrator.errors import EngineUnavailable, Problem


class KokoroEngine(KokoroLanguages, ModelEngine):
    """Kokoro.

    A text has one take, whatever the seed. Takes of a GPU and of a CPU differ inaudibly, so the key
    of a take contains neither.
    """

    settings: KokoroSettings
    family = FAMILY
    sampler = 1
    sample_rate = SAMPLE_RATE
    continues = False
    anchors = False
    has_speed = True
    max_context_seconds = float("inf")

    def identity(self) -> Mapping[str, Any]:
        """As `ModelEngine.identity`, with a precision only where it changes the sound."""
        identity = dict(super().identity())
        # processor cores compute in float32, whatever is chosen
        if identity["dtype"] in ("auto", "float32") or not runs_on_gpu(self.settings):
            del identity["dtype"]
        return identity

    def identity_record(self) -> Mapping[str, Any]:
        """As `ModelEngine.identity_record`, with the hash of each voice."""
        return {"voices": dict(self._voices()), **super().identity_record()}

    def voice_content(self, voice: Voice, language: str) -> Mapping[str, Any]:
        """Returns the hashes of the blended voices with their weights, and the speed."""
        voices = self._voices()
        blend = blend_of(voice, language)
        return {
            "voices": [[weight, voices.get(name, name)] for name, weight in blend.items()],
            "speed": voice.speed,
        }

    def text_content(
        self, text: str, language: str, voice: Voice, pronunciations: Mapping[str, str]
    ) -> Mapping[str, Any]:
        """Returns the phonemes of a text; none for a language that cannot be spoken here."""
        spoken = dialect(language, blend_of(voice, language))
        try:
            phonemes = pronounce(text, spoken, tuple(pronunciations.items())).phonemes
        except LookupError:
            return {}
        return {"phonemes": phonemes}

    def named_voices(self) -> Mapping[str, Voice]:
        return {name: named_voice(name) for name in self._voices()}

    def problems(self, voices: Mapping[str, Voice], languages: Sequence[str]) -> Sequence[Problem]:
        """Returns problems with languages that cannot be pronounced, and with missing voices."""
        messages = [self._language_error(tag) for tag in languages if not self.speaks(tag)]
        path = self._model.path
        names = VOICES.keys() if path is None else self._voices().keys()
        faults = {} if path is None else _read_voices(path)[1]
        messages += voice_errors(
            voices, names, self._model.spec, faults, next(iter(languages), None)
        )
        return [Problem(None, None, message) for message in messages]

    def start(self, tell: Callable[[str], None] = ignore_message) -> Session:
        """Starts MLX or worker processes. Raises EngineUnavailable."""
        path = path_of(self._model, FAMILY)
        self._check_weights(path, tell)
        if runs_on_gpu(self.settings):
            return super().start(tell)
        if message := SPEC.missing_packages(self.settings):
            raise EngineUnavailable(message)
        return start_workers(self.settings, path, tell)

    def _check_weights(self, path: Path, tell: Callable[[str], None]) -> None:
        """Tells of weights that are not the published ones.

        Raises EngineUnavailable if the model is that of the hub, or the one that `models pull`
        makes of packages: then its files are damaged.
        """
        faults = list(models.find_damaged_files(FAMILY, path, tell))
        is_pulled = self._model.spec == FAMILY.hub or path == models.conversion_path(FAMILY.hub)
        if faults and is_pulled:
            raise EngineUnavailable(f"{faults[0]}: damaged; remove it, then `{FAMILY.pull}`")
        for fault in faults:
            tell(f"not the published model: {fault}")

    def precision(self) -> str:
        return ""

    def required_memory(self) -> int | None:
        return (
            super().required_memory() if runs_on_gpu(self.settings) else SHARED_BYTES + WORKER_BYTES
        )

    def _make_loading(self, path: Path) -> LoadingKokoro:
        return LoadingKokoro(self._model.spec, path, self.settings, self._weights(), self._cache)

    def _language_error(self, tag: str) -> str:
        extra = pronunciation.missing_extra(tag)
        if extra is None:
            known = ", ".join(pronunciation.languages())
            return f'Kokoro does not speak "{tag}"; its languages are {known}'
        from narrator.installation import install_command

        return f'to pronounce "{tag}", Kokoro needs an extra: {install_command(extra)}'

    def _voices(self) -> Mapping[str, str]:
        """Returns the hash of each voice; without the model's files, those of an earlier run."""
        if self._model.path is None:
            voices = self._remembered.get("voices")
            return voices if isinstance(voices, Mapping) else {}
        return _read_voices(self._model.path)[0]


@cache
def _read_voices(folder: Path) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Returns the hash of each voice by its name, and messages by the names of damaged ones."""
    from kokoro82m import load_voice, voice_names
    from speechbase.errors import ModelError

    contents: dict[str, str] = {}
    faults: dict[str, str] = {}
    for name in voice_names(folder):
        try:
            contents[name] = keys.content(load_voice(folder, name).tobytes())
        except ModelError as error:
            faults[name] = f"{error}; remove it, then `{FAMILY.pull}`"
    return contents, faults
