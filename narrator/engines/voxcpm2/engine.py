"""VoxCPM2 as an engine: answers a plan without loading anything."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from narrator.engines import ignore_message, models
from narrator.engines.mlx.engine import ModelEngine, path_of
from narrator.engines.voice import Voice
from narrator.engines.voxcpm2.checkpoint import FAMILY, TUNED
from narrator.engines.voxcpm2.loaded_model import LoadingVoxCPM2
from narrator.engines.voxcpm2.settings import VoxCPM2Settings
from narrator.engines.voxcpm2.wording import LANGUAGES, VoxCPM2Languages
from narrator.errors import Problem


class VoxCPM2Engine(VoxCPM2Languages, ModelEngine):
    """As `ModelEngine`.

    The LoRA of an earlier run stands for one that is not here if its `lora_spec` is that of the
    settings. Hashing a model takes seconds the first time, and is reported.
    """

    settings: VoxCPM2Settings
    family = FAMILY
    sampler = 1
    sound_parameters: Sequence[str] = ("steps", "cfg", "seed", "earliest_stop")
    casting_parameters: Mapping[str, Any] = MappingProxyType({"steps": 10, "cfg": 2.0})

    def __init__(
        self,
        settings: VoxCPM2Settings,
        *,
        cache: Path,
        root: Path | None = None,
        memory: Path | None = None,
        remembered: object = MappingProxyType({}),
        tell: Callable[[str], None] = ignore_message,
    ) -> None:
        super().__init__(
            settings, cache=cache, root=root, memory=memory, remembered=remembered, tell=tell
        )
        self._lora_model = (
            None
            if settings.lora is None
            else models.find_with_layout(TUNED, settings.lora, root=root, tell=tell)
        )
        path = self._model.path
        config = {} if path is None else models.load_config(path)
        self._is_first_generation = (
            bool(config) and str(config.get("architecture", "voxcpm")).lower() == "voxcpm"
        )
        self.clones = not self._is_first_generation  # 1.x continues prompts, but has no references
        self.sample_rate = _sample_rate(config, self._is_first_generation)

    def identity(self) -> Mapping[str, Any]:
        """As `ModelEngine.identity`, with the LoRA."""
        lora = self._lora_model
        return {**super().identity(), **({} if lora is None else {"lora": self._lora_hash(lora)})}

    def identity_record(self) -> Mapping[str, Any]:
        """As `ModelEngine.identity_record`, with the manifest's name of its LoRA."""
        return {"lora_spec": self.settings.lora, **super().identity_record()}

    def problems(self, voices: Mapping[str, Voice], languages: Sequence[str]) -> Sequence[Problem]:
        """Returns problems with languages that it does not speak, and references for VoxCPM 1.x."""
        messages = [
            f'VoxCPM2 was not trained on "{tag}"; its languages are {", ".join(sorted(LANGUAGES))}'
            for tag in languages
            if not self.speaks(tag)
        ]
        if self._is_first_generation:
            messages += [
                f"{self.settings.model} is VoxCPM 1.x, which cannot imitate a reference "
                f'(speaker "{name}"): use VoxCPM2, or a voice without one'
                for name, voice in voices.items()
                if voice.reference is not None
            ]
        return [Problem(None, None, message) for message in messages]

    def _lora_hash(self, lora: models.Model) -> str:
        if lora.path is not None:
            return lora.weights
        spec = str(self.settings.lora)
        return self._remembered_part("lora", spec, self._remembered.get("lora_spec", spec) == spec)

    def _make_loading(self, path: Path) -> LoadingVoxCPM2:
        lora = None if self._lora_model is None else path_of(self._lora_model, FAMILY)
        return LoadingVoxCPM2(
            self._model.spec, path, self.settings, self._weights(), self._cache, lora
        )


def _sample_rate(config: Mapping[str, Any], is_first_generation: bool) -> int:
    """Returns the checkpoint's sample rate in Hz, with its authors' defaults."""
    codec = config.get("audio_vae_config")
    name, default = ("sample_rate", 16_000) if is_first_generation else ("out_sample_rate", 48_000)
    rate = codec.get(name) if isinstance(codec, dict) else None
    # loading reports an impossible rate
    return rate if type(rate) is int and 1000 <= rate <= 768_000 else default
