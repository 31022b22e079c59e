"""Kokoro-82M, a small model with voices of its own, for any computer: here what is known of it
without loading any of it.

settings.py      what a manifest says of it
voices.py        its voices by name
checkpoint.py    the files that it has
device.py        a GPU, or processor cores
engine.py        what a plan asks
wording.py       text to phonemes, and when words are heard
gpu.py           on a GPU: rows of one batch, in MLX
cpu.py           on processor cores: worker processes, each with the model in ONNX Runtime
worker.py        one of these processes
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from narrator.engines.kokoro.checkpoint import FAMILY
from narrator.engines.kokoro.device import runs_on_gpu
from narrator.engines.kokoro.settings import KokoroSettings, KokoroVoice
from narrator.engines.kokoro.voices import VOICES, cast_blends
from narrator.engines.kokoro.wording import KokoroLanguages, voice_errors
from narrator.engines.mlx.spec import ModelSpec, finder
from narrator.engines.spec import EngineModel, EngineSettings
from narrator.engines.voice import Cast, Voice

if TYPE_CHECKING:
    from narrator.engines.mlx.engine import ModelEngine


_NO_CHAINS = "Kokoro speaks each chunk by itself"


class KokoroSpec(KokoroLanguages, ModelSpec):
    """Kokoro: it says what it is told in one way, in voices of its own."""

    title = "Kokoro"
    packages = ("onnxruntime",)
    cpu_seconds = 0.8
    settings = KokoroSettings
    voice = KokoroVoice
    voice_names = VOICES.keys()
    can_design_voices = False
    model = EngineModel(family=FAMILY, find=finder(FAMILY))

    def engine_type(self) -> type[ModelEngine]:
        from narrator.engines.kokoro.engine import KokoroEngine

        return KokoroEngine

    def missing_packages(self, settings: EngineSettings) -> str:
        assert isinstance(settings, KokoroSettings)
        return "" if runs_on_gpu(settings) else super().missing_packages(settings)

    def sample_rate(self, settings: EngineSettings) -> int:
        return 24_000

    def unsupported(self, settings: EngineSettings) -> Mapping[str, str]:
        return {
            "style": "Kokoro speaks in one way, and goes without",
            "reference": "Kokoro imitates nobody; `kokoro: {voice: …}` chooses a voice of its own",
            "chain.anchored": _NO_CHAINS,
            "chain.continuation": _NO_CHAINS,
        }

    def cast(self, people: Sequence[Voice], language: str, cast: Cast) -> Mapping[str, Any]:
        return {
            name: {"voice": next(iter(blend)) if len(blend) == 1 else dict(blend)}
            for name, blend in cast_blends(people, language, cast).items()
        }

    def problems(self, settings: EngineSettings, voices: Cast) -> Iterable[str]:
        # what a folder has, the engine knows
        assert isinstance(settings, KokoroSettings)
        return voice_errors(voices, VOICES) if settings.model == "auto" else ()


SPEC = KokoroSpec()
