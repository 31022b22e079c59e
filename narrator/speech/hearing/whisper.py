"""Whisper in MLX as a recogniser: the package mlx-whisper, which is an extra for Macs.

Imported when first asked for, so that narrator runs without it. Knows nothing of takes and texts.
Calls follow mlx-whisper 0.4.3 (`mlx_whisper.transcribe`); it keeps one model in memory, for good.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from narrator.errors import EngineUnavailable
from narrator.sound import audio

MODEL = "mlx-community/whisper-large-v3-turbo"
"""1.6 GB; one of the quickest that still hears names."""
RATE = 16_000

LANGUAGES = frozenset(
    """
    af ar az be bg bn bs ca cs cy da de el en es et fa fi fr gl he hi hr hu hy id is it ja kk kn ko
    lt lv mk mr ms ne nl no pl pt ro ru sk sl sr sv sw ta te th tl tr uk ur vi yue zh
    """.split()
)
"""Whisper lists a hundred; left out are those in which it errs in every second word or more
(Khmer, Lao, Burmese and others), where it would judge at random."""
_PROMPTS: Mapping[bool, str] = {False: "以下是普通话的句子。", True: "以下是普通話的句子。"}
"""What makes Whisper write Chinese in simplified or traditional characters."""
_TRADITIONAL = frozenset(("hant", "tw", "hk", "mo"))
_SAME: Mapping[str, str] = {"cmn": "zh", "fil": "tl", "iw": "he", "nb": "no", "nn": "no"}


class MlxWhisper:
    """A Whisper model, by Hugging Face name or directory (config.json, weights.safetensors).

    Raises EngineUnavailable where the package is missing; the model is loaded by the first
    `transcribe`. MLX wants one thread: always the same, and the one of any other MLX model.
    """

    languages = LANGUAGES | _SAME.keys()

    def __init__(self, model: str = MODEL) -> None:
        self._transcribe = _package()
        self._model = model
        self.name = f"whisper {model.rstrip('/').rpartition('/')[2]}"

    def transcribe(self, samples: NDArray[np.float32], rate: int, language: str) -> str:
        """What is said in mono samples. Raises EngineUnavailable where the model cannot be had."""
        first, *rest = language.replace("_", "-").lower().split("-")
        code = _SAME.get(first, first)
        try:
            found = self._transcribe(
                audio.resample(samples, rate, RATE),
                path_or_hf_repo=self._model,
                language=code,
                initial_prompt=_PROMPTS[not _TRADITIONAL.isdisjoint(rest)]
                if code == "zh"
                else None,
                # One pass without dice, so that the same take is always judged the same, and
                # without what was heard before, which Whisper likes to go on repeating.
                temperature=0.0,
                condition_on_previous_text=False,
                verbose=None,
            )
        except OSError as error:  # hub, network and files alike
            why = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            raise EngineUnavailable(
                f"recognition has no model {self._model}: {why}; "
                "go online once, or set `checks: {recognition: never}`"
            ) from error
        return str(found["text"]).strip()


def _package() -> Callable[..., Mapping[str, Any]]:
    try:
        import mlx_whisper
    except ImportError as error:
        raise EngineUnavailable(
            "recognition needs the package mlx-whisper: pip install 'narrator[recognition]', "
            "or set `checks: {recognition: never}`"
        ) from error
    transcribe: Callable[..., Mapping[str, Any]] = mlx_whisper.transcribe
    return transcribe
