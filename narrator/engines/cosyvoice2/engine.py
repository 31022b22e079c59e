"""CosyVoice2 as an engine: answers a plan without loading anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from narrator.engines import models
from narrator.engines.cosyvoice2 import SPEC
from narrator.engines.cosyvoice2.checkpoint import FAMILY, SPEAKERS
from narrator.engines.cosyvoice2.loaded_model import LoadingCosyVoice2
from narrator.engines.cosyvoice2.settings import CosyVoice2Settings
from narrator.engines.cosyvoice2.wording import (
    LANGUAGES,
    TITLE,
    CosyVoice2Languages,
    describe_unknown_speaker,
    stored_speaker,
    voice_errors,
)
from narrator.engines.mlx.engine import ModelEngine
from narrator.engines.voice import Voice
from narrator.errors import EngineUnavailable, Problem


class CosyVoice2Engine(CosyVoice2Languages, ModelEngine):
    """As `ModelEngine`.

    A voice is a clip with its transcript, or a speaker stored with the model; none is cast from a
    description.
    """

    settings: CosyVoice2Settings
    family = FAMILY
    sampler = 1
    clones = True
    sample_rate = 24_000
    sound_parameters: Sequence[str] = ("seed", "earliest_stop")

    def identity_record(self) -> Mapping[str, Any]:
        """As `ModelEngine.identity_record`, with the hash of the stored speakers."""
        return {"speakers": self._speakers_hash(), **super().identity_record()}

    def needs_reference(self, voice: Voice) -> bool:
        return stored_speaker(voice) is None

    def voice_content(self, voice: Voice, language: str) -> Mapping[str, Any]:
        """Returns the stored speaker, or as `ModelEngine.voice_content`."""
        name = stored_speaker(voice)
        if name is None:
            return super().voice_content(voice, language)
        return {"stored": name, "speakers": self._speakers_hash()}

    def problems(self, voices: Mapping[str, Voice], languages: Sequence[str]) -> Sequence[Problem]:
        """Returns problems with languages that it does not speak, and with missing voices."""
        messages = [
            f'{TITLE} was not trained on "{tag}"; its languages are {", ".join(sorted(LANGUAGES))}'
            for tag in languages
            if not self.speaks(tag)
        ]
        messages += (*voice_errors(voices), *self._unknown_speakers(voices))
        return [Problem(None, None, message) for message in messages]

    def _unknown_speakers(self, voices: Mapping[str, Voice]) -> Sequence[str]:
        """Returns problems with stored speakers that do not exist, as far as can be checked."""
        requested_voices = [voice for voice in voices.values() if stored_speaker(voice) is not None]
        if not requested_voices or self._model.path is None or find_spec("mlx") is None:
            return ()
        from speechbase import pth
        from speechbase.errors import CheckpointError

        path = self._model.path / SPEAKERS
        try:
            stored_speakers = list(pth.load_nested(path)) if path.is_file() else []
        except CheckpointError as error:
            return (str(error),)
        problems = (
            describe_unknown_speaker(voice, self._model.spec, stored_speakers)
            for voice in requested_voices
        )
        return [problem for problem in problems if problem]

    def _speakers_hash(self) -> str:
        """Returns the hash of the stored speakers; "" if there are none."""
        if self._model.path is None:
            spec = self.settings.model
            is_same_model = self._remembered.get("model", spec) == spec
            return self._remembered_part("speakers", self.settings.model, is_same_model)
        path = self._model.path / SPEAKERS
        return models.hash_weights([path]) if path.is_file() else ""

    def _make_loading(self, path: Path) -> LoadingCosyVoice2:
        if message := SPEC.missing_packages(self.settings):
            raise EngineUnavailable(message)
        return LoadingCosyVoice2(
            self._model.spec, path, self.settings, self._weights(), self._cache
        )
