"""Kokoro-82M, a small model with built-in voices, for any computer. This module is its description,
which loads no model.

settings.py      its settings in a manifest
voices.py        the published voices by name, and who gets which
checkpoint.py    its files
device.py        the choice between a GPU and processor cores
engine.py        its answers to a plan
wording.py       text to phonemes, and durations to word times
hiss.py          the hiss that a voice leaves after its last word
gpu.py           on a GPU: rows of a batch, in MLX
cpu.py           on processor cores: worker processes, each with the model in ONNX Runtime
worker.py        one of these processes
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from narrator.engines.kokoro.checkpoint import FAMILY
from narrator.engines.kokoro.device import runs_on_gpu
from narrator.engines.kokoro.settings import KokoroSettings, KokoroVoice
from narrator.engines.kokoro.voices import VOICES, cast_blends, named_voice
from narrator.engines.kokoro.wording import SAMPLE_RATE, KokoroLanguages, voice_errors
from narrator.engines.mlx.spec import ModelSpec, finder
from narrator.engines.spec import EngineModel, EngineSettings
from narrator.engines.voice import Cast, Voice

if TYPE_CHECKING:
    from narrator.engines.mlx.engine import ModelEngine


_NO_CHAINS = "Kokoro speaks each chunk independently"


class KokoroSpec(KokoroLanguages, ModelSpec):
    """Kokoro: built-in voices, no styles, no chains; a text has one take."""

    title = "Kokoro"
    packages = ("onnxruntime",)
    cpu_seconds = 0.8
    settings = KokoroSettings
    voice = KokoroVoice
    voices = MappingProxyType({name: named_voice(name) for name in VOICES})
    can_design_voices = False
    model = EngineModel(family=FAMILY, find=finder(FAMILY))

    def engine_type(self) -> type[ModelEngine]:
        from narrator.engines.kokoro.engine import KokoroEngine

        return KokoroEngine

    def missing_packages(self, settings: EngineSettings) -> str:
        assert isinstance(settings, KokoroSettings)
        return "" if runs_on_gpu(settings) else super().missing_packages(settings)

    def sample_rate(self, settings: EngineSettings) -> int:
        return SAMPLE_RATE

    def unsupported(self, settings: EngineSettings) -> Mapping[str, str]:
        return {
            "style": "Kokoro has no styles, and ignores them",
            "reference": "Kokoro does not clone voices; name a built-in one: `kokoro: {voice: …}`",
            "chain.anchored": _NO_CHAINS,
            "chain.continuation": _NO_CHAINS,
        }

    def cast(self, people: Sequence[Voice], language: str, cast: Cast) -> Mapping[str, Any]:
        return {
            name: {"voice": next(iter(blend)) if len(blend) == 1 else dict(blend)}
            for name, blend in cast_blends(people, language, cast).items()
        }

    def problems(self, settings: EngineSettings, voices: Cast) -> Iterable[str]:
        # only the engine knows the voices of a folder
        assert isinstance(settings, KokoroSettings)
        return voice_errors(voices, VOICES) if settings.model == "auto" else ()


SPEC = KokoroSpec()
