"""Kokoro-82M: phonemes to speech at 24 kHz, in MLX, or on processor cores in ONNX Runtime.

    import kokoro82m

    model = kokoro82m.load("path/or/hub-id")
    voice = kokoro82m.load_voice(model.path, "af_heart")
    phonemes = "həlˈO, wˈɜɹld."
    request = kokoro82m.Request(
        kokoro82m.tokenize(phonemes), kokoro82m.style_row(voice, phonemes), seed=1
    )
    [speech] = model.speak([request])

MLX is loaded by `load` alone: configuration, symbols, voices, noise, requests and results are for
the other backend, `onnx_network.load_onnx`, too. A model runs MLX and belongs to the thread that
loaded it. Errors are `ModelError`s of speechbase.
"""

from __future__ import annotations

from speechbase import environment  # noqa: F401  # before MLX, which reads it

# isort: split
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kokoro82m.config import FRAME_SAMPLES, SAMPLE_RATE, Config, read_config
from kokoro82m.noise import draw_noise
from kokoro82m.speech import Request, Speech
from kokoro82m.symbols import MAX_SYMBOLS, VOCABULARY, tokenize, unknown_symbols
from kokoro82m.voices import Voices, blend_voices, load_voice, style_row, voice_names

if TYPE_CHECKING:
    from kokoro82m.model import Kokoro82M

__all__ = [
    "FRAME_SAMPLES",
    "MAX_SYMBOLS",
    "SAMPLE_RATE",
    "VOCABULARY",
    "Config",
    "Request",
    "Speech",
    "Voices",
    "blend_voices",
    "draw_noise",
    "load",
    "load_voice",
    "read_config",
    "style_row",
    "tokenize",
    "unknown_symbols",
    "voice_names",
]


def load(path: str | Path, dtype: Any = None) -> Kokoro82M:
    """Loads a model from a directory or a hub id, "owner/name" or "owner/name@revision".

    `dtype` ("float32", "bfloat16", "float16" or MLX's) is what the decoder's convolutions compute
    in, float32 unless said; all else is float32 always. Raises CheckpointError, ConfigError,
    RequestError.
    """
    from kokoro82m.model import Kokoro82M

    return Kokoro82M.load(path, dtype)
