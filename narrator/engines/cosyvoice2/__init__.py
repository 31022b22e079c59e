"""CosyVoice2 in MLX: here what is known of it without loading any of it.

settings.py      what a manifest says of it
wording.py       languages, voices that need no clip, where a clip's words may lead
checkpoint.py    the files that it has
engine.py        what a plan asks
loaded.py        clips, requests and rows
tokens.py        what is wrong with a take as its tokens show it
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from narrator.engines import Engine, models
from narrator.engines.cosyvoice2.checkpoint import FAMILY
from narrator.engines.cosyvoice2.settings import CosyVoice2Settings, CosyVoice2Voice
from narrator.engines.cosyvoice2.wording import TITLE, speaks, voice_errors
from narrator.engines.spec import EngineContext, EngineModel, EngineSettings, EngineSpec
from narrator.engines.voice import Cast


def _find_models(
    settings: EngineSettings, root: Path | None, tell: Callable[[str], None]
) -> Iterator[tuple[str, models.Model]]:
    assert isinstance(settings, CosyVoice2Settings)
    yield "model", models.find(FAMILY, settings.model, root=root, tell=tell)


def _time_step(path: Path) -> float:
    from cosyvoice2.config import read
    from cosyvoice2.rehearsal import tried

    return tried(read(path))


class CosyVoice2Spec(EngineSpec):
    """CosyVoice2: its characters are those of all its languages, so it spells no script."""

    name = "cosyvoice2"
    title = TITLE
    packages = ("mlx_lm", "onnxruntime", "kaldi_native_fbank")
    settings = CosyVoice2Settings
    chapter_settings = ("seed",)
    voice = CosyVoice2Voice
    can_design_voices = False
    model = EngineModel(
        family=FAMILY,
        find=_find_models,
        time_step=_time_step,
        unguarded={"earliest_stop": 0.0},
    )

    def make(
        self, settings: EngineSettings, context: EngineContext, tell: Callable[[str], None]
    ) -> Engine:
        from narrator.engines.cosyvoice2.engine import CosyVoice2Engine

        assert isinstance(settings, CosyVoice2Settings)
        return CosyVoice2Engine(
            settings,
            cache=context.cache,
            root=context.root,
            remembered=context.load_identity_record(),
            tell=tell,
        )

    def sample_rate(self, settings: EngineSettings) -> int:
        return 24_000

    def speaks(self, language: str) -> bool:
        return speaks(language)

    def problems(self, settings: EngineSettings, voices: Cast) -> Iterable[str]:
        return voice_errors(voices)


SPEC = CosyVoice2Spec()
"""What a manifest can say of CosyVoice2."""
