"""VoxCPM2 as an engine: what a plan asks of it, without loading anything, and how it is loaded.

MLX and `voxcpm2` are loaded by `start`, and used on the thread that called it, or in a process of
their own (`apart.py`). Knows nothing of chapters, chains, checks and what becomes of a take.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

from narrator import files
from narrator.engines import ABSENT, Session, machine, models, quiet
from narrator.engines.voice import CASTING, Reference, Voice
from narrator.engines.voxcpm2.apart import ModelProcesses, SessionApart
from narrator.engines.voxcpm2.loaded import Latents, LoadedModel, Loading, Side, load
from narrator.engines.voxcpm2.session import VoxCPM2Session
from narrator.engines.voxcpm2.settings import VoxCPM2Settings
from narrator.engines.voxcpm2.wording import LANGUAGES, speaks
from narrator.errors import EngineUnavailable, Problem

SAMPLER = 1
"""Raised when the same request would give other samples with the same weights."""


class VoxCPM2Engine:
    """VoxCPM2 in MLX; cheap until started, and loaded once for all its sessions.

    `root` is what a relative `model` or `lora` folder is looked for under, `cache` the folder of
    encoded references, `memory` the one of what was learnt of this machine (the user's library
    unless set). `remembered` is an identity of before, as read from a file: its weights stand for
    a model that is not here, as long as its `model`, if it has one, is the settings', and its LoRA
    for one that is not here if its `lora_spec` is. Naming the bytes of a model takes seconds the
    first time, and is told.
    """

    name = "voxcpm2"
    continues = True
    anchors = True
    horizon = 25.0  # trained within about 30: with room for what takes longer than expected
    uses: Sequence[str] = ("steps", "cfg", "seed", "earliest_stop")
    casting: Mapping[str, Any] = MappingProxyType({"steps": 10, "cfg": 2.0})

    def __init__(
        self,
        settings: VoxCPM2Settings,
        *,
        cache: Path,
        root: Path | None = None,
        memory: Path | None = None,
        remembered: object = MappingProxyType({}),
        tell: Callable[[str], None] = quiet,
    ) -> None:
        self.settings = settings
        self._found = models.find(settings.model, root=root, tell=tell)
        self._found_lora = (
            None if settings.lora is None else models.find_lora(settings.lora, root=root, tell=tell)
        )
        config = _config(self._found.path)
        self._first_generation = (
            bool(config) and str(config.get("architecture", "voxcpm")).lower() == "voxcpm"
        )
        self.clones = not self._first_generation  # 1.x speaks as it likes, and continues
        self.sample_rate = _sample_rate(config, self._first_generation)
        self._cache = cache
        self._memory = (memory or files.library()) / "slots.json"
        # a torn or altered file remembers nothing
        self._remembered = remembered if isinstance(remembered, Mapping) else {}
        self._loaded: LoadedModel | None = None

    # -- what the plan asks

    def identity(self) -> Mapping[str, Any]:
        """Weights, precision, LoRA, and our sampler's version.

        Without the weights it is the remembered one's, else one that no take has.
        """
        found: dict[str, Any] = {
            "name": self.name,
            "sampler": SAMPLER,
            "weights": self._weights(),
            "dtype": self.settings.dtype,
        }
        if self._found_lora is not None:
            found["lora"] = self._lora(self._found_lora)
        return found

    def memory(self) -> Mapping[str, Any]:
        """Its identity, and what its model and LoRA are called in the manifest."""
        names = {"model": self.settings.model, "lora_spec": self.settings.lora}
        return {**names, **self.identity()}

    def voice_content(self, voice: Voice, language: str) -> Mapping[str, Any]:
        """The reference's sound and transcript, or what it is cast from."""
        if voice.content is not None:
            return {"reference": voice.content}
        recipe = {"casting": CASTING, "description": voice.description, "seed": voice.seed}
        return recipe if voice.description else {**recipe, "speaker": voice.speaker}

    def speaks(self, language: str) -> bool:
        return speaks(language)

    def problems(self, voices: Mapping[str, Voice], languages: Sequence[str]) -> Sequence[Problem]:
        """Languages that it does not speak, and references to a model that has none."""
        found = [
            f'VoxCPM2 was not trained on "{tag}"; its languages are {", ".join(sorted(LANGUAGES))}'
            for tag in languages
            if not speaks(tag)
        ]
        if self._first_generation:
            found += [
                f"{self.settings.model} is VoxCPM 1.x, which cannot imitate a reference "
                f'(speaker "{name}"): use VoxCPM2, or a voice without one'
                for name, voice in voices.items()
                if voice.reference is not None
            ]
        return [Problem(None, None, message) for message in found]

    def start(self, tell: Callable[[str], None] = quiet) -> Session:
        """Load the model, unless it is loaded. Raises EngineUnavailable."""
        if self._apart is not None:
            return SessionApart(self._apart, tell)
        return VoxCPM2Session(self._load(tell), self._memory, tell)

    # -- voices

    @property
    def encoder_fingerprint(self) -> str:
        """Names what encodes: references encoded by it need not be encoded again.

        Loads the model here. Raises EngineUnavailable.
        """
        return self._load(quiet).model.encoder_fingerprint

    def encoded(self, reference: Reference) -> Mapping[str, Latents]:
        """The latents of a clip to be imitated, by its encoder's fingerprint.

        Loads the model. Raises EngineUnavailable, StorageError.
        """
        return (self._apart or self._load(quiet)).encoded(reference)

    def encode(
        self, reference: Reference, side: Side = "right", tell: Callable[[str], None] = quiet
    ) -> Latents:
        """As `LoadedModel.encode`; loads the model here."""
        return self._load(tell).encode(reference, side, tell)

    # -- the model

    def _weights(self) -> str:
        if self._found.path is not None:
            return self._found.weights
        spec = self.settings.model
        same = self._remembered.get("model", spec) == spec
        return self._recalled("weights", spec, same)

    def _lora(self, found: models.Model) -> str:
        if found.path is not None:
            return found.weights
        spec = str(self.settings.lora)
        return self._recalled("lora", spec, self._remembered.get("lora_spec") == spec)

    def _recalled(self, kind: str, spec: str, same: bool) -> str:
        remembered = self._remembered.get(kind) if same else None
        return remembered if isinstance(remembered, str) else f"{ABSENT}{spec}"

    @cached_property
    def _apart(self) -> ModelProcesses | None:
        """What has the model in a process of its own, where it is to be there."""
        loading, where = self._loading(), self.settings.process
        own = _on_cuda() if where == "auto" else where == "own"
        return ModelProcesses(loading, self._memory) if own else None

    def _loading(self) -> Loading:
        """Raises EngineUnavailable where it is not here."""
        for found in (self._found, self._found_lora):
            if found is not None and found.path is None:
                raise EngineUnavailable(_absent(found))
        lora = None if self._found_lora is None else self._found_lora.path
        path, weights = self._found.path, self._weights()
        assert path is not None
        # a manifest's are of a class made with all engines', which another process does not know
        own = self.settings.model_dump(include=set(VoxCPM2Settings.model_fields))
        settings = VoxCPM2Settings.model_validate(own)
        return Loading(self._found.spec, path, lora, settings, weights, self._cache)

    def _load(self, tell: Callable[[str], None]) -> LoadedModel:
        self._loaded = self._loaded or load(self._loading(), tell)
        return self._loaded


@cache
def _on_cuda() -> bool:
    """Asked once, and elsewhere: MLX is not loaded here for it."""
    return sys.platform == "linux" and machine.device().kind == "CUDA"


def _config(path: Path | None) -> Mapping[str, Any]:
    """A checkpoint's config.json; empty without one, or where loading will say what is wrong."""
    return {} if path is None else models.config(path)


def _sample_rate(config: Mapping[str, Any], first_generation: bool) -> int:
    """Hz of what the checkpoint speaks, with its authors' defaults."""
    codec = config.get("audio_vae_config")
    name, default = ("sample_rate", 16_000) if first_generation else ("out_sample_rate", 48_000)
    rate = codec.get(name) if isinstance(codec, dict) else None
    # what no model has is said by loading
    return rate if type(rate) is int and 1000 <= rate <= 768_000 else default


def _absent(model: models.Model) -> str:
    return (
        f"{model.note or f'{model.spec}: no model there'}\n"
        "Fetch it once with `narrator models pull`, name its folder in book.yaml "
        "(engine: {model: …}), or render with --draft"
    )
