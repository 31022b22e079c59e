"""CosyVoice2 in MLX; this module describes it without loading any of it.

settings.py      its settings in a manifest
wording.py       languages, stored voices, and the form in which the model gets texts
checkpoint.py    the files of its models
engine.py        answers to a plan
loaded_model.py  clips, requests and rows
tokens.py        faults of a take that its tokens show
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from narrator.engines.cosyvoice2.checkpoint import FAMILY
from narrator.engines.cosyvoice2.settings import CosyVoice2Settings, CosyVoice2Voice
from narrator.engines.cosyvoice2.wording import TITLE, CosyVoice2Languages, voice_errors
from narrator.engines.mlx.spec import ModelSpec, finder
from narrator.engines.spec import EngineModel, EngineSettings
from narrator.engines.voice import Cast

if TYPE_CHECKING:
    from narrator.engines.mlx.engine import ModelEngine


def _time_step(path: Path) -> float:
    from cosyvoice2.config import read_config
    from cosyvoice2.rehearsal import rehearse

    return rehearse(read_config(path))


class CosyVoice2Spec(CosyVoice2Languages, ModelSpec):
    """CosyVoice2: its characters are those of all its languages, so it spells no script."""

    title = TITLE
    packages = ("mlx_lm", "onnxruntime", "kaldi_native_fbank")
    settings = CosyVoice2Settings
    chapter_settings = ("seed",)
    voice = CosyVoice2Voice
    can_design_voices = False
    model = EngineModel(
        family=FAMILY,
        find=finder(FAMILY),
        time_step=_time_step,
        unguarded={"earliest_stop": 0.0},
    )

    def engine_type(self) -> type[ModelEngine]:
        from narrator.engines.cosyvoice2.engine import CosyVoice2Engine

        return CosyVoice2Engine

    def sample_rate(self, settings: EngineSettings) -> int:
        return 24_000

    def problems(self, settings: EngineSettings, voices: Cast) -> Iterable[str]:
        return voice_errors(voices)


SPEC = CosyVoice2Spec()
"""CosyVoice2 as the registry lists it."""
