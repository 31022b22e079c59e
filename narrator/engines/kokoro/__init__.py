"""Kokoro-82M, a small model with voices of its own, for any computer: here what is known of it
without loading any of it.

settings.py      what a manifest says of it
voices.py        its voices by name
checkpoint.py    the files that it has
engine.py        what a plan asks
wording.py       text to phonemes, and when words are heard
gpu.py           on a GPU: rows of one batch, in MLX
cpu.py           on processor cores: worker processes, each with the model in ONNX Runtime
worker.py        one of these processes
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path

from narrator import pronunciation
from narrator.engines import Engine, models
from narrator.engines.kokoro.checkpoint import FAMILY
from narrator.engines.kokoro.settings import KokoroSettings, KokoroVoice
from narrator.engines.kokoro.wording import chosen_blend, voice_errors
from narrator.engines.spec import EngineContext, EngineModel, EngineSettings, EngineSpec
from narrator.engines.voice import Cast
from narrator.installation import install_command

TITLE = "Kokoro"
CPU_PACKAGES = ("onnx", "onnxruntime")


def missing_packages() -> str:
    """The command that installs what it needs beside MLX; "" where nothing is missing."""
    missing = [name for name in CPU_PACKAGES if find_spec(name) is None]
    return f"{TITLE} needs {', '.join(missing)}: {install_command('kokoro')}" if missing else ""


def _find_models(
    settings: EngineSettings, root: Path | None, tell: Callable[[str], None]
) -> Iterator[tuple[str, models.Model]]:
    assert isinstance(settings, KokoroSettings)
    yield "model", models.find(FAMILY, settings.model, root=root, tell=tell)


class KokoroSpec(EngineSpec):
    """Kokoro: it says what it is told in one way, in voices of its own."""

    name = "kokoro"
    settings = KokoroSettings
    voice = KokoroVoice
    can_design_voices = False
    model = EngineModel(
        title=TITLE, family=FAMILY, find=_find_models, missing_packages=missing_packages
    )

    def make(
        self, settings: EngineSettings, context: EngineContext, tell: Callable[[str], None]
    ) -> Engine:
        from narrator.engines.kokoro.engine import KokoroEngine

        assert isinstance(settings, KokoroSettings)
        return KokoroEngine(
            settings,
            cache=context.cache,
            root=context.root,
            remembered=context.load_identity_record(),
            tell=tell,
        )

    def sample_rate(self, settings: EngineSettings) -> int:
        return 24_000

    def speaks(self, language: str) -> bool:
        return pronunciation.speaks(language)

    def problems(self, settings: EngineSettings, voices: Cast) -> Iterable[str]:
        return voice_errors(voices, ())


SPEC = KokoroSpec()

__all__ = ["SPEC", "chosen_blend"]
