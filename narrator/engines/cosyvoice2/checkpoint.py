"""The files of a CosyVoice2 checkpoint, as published or converted; loads nothing."""

from __future__ import annotations

from pathlib import Path

from narrator.engines import models
from narrator.engines.models import Family, IncompleteModel, read_tensor_header

SETTINGS, BLANK = "cosyvoice2.yaml", "CosyVoice-BlankEN"
_TOKENIZER_FILES = ("config.json", "vocab.json", "merges.txt", "tokenizer_config.json")
PARTS = ("llm", "flow", "hift")
ENCODERS = ("speech_tokenizer_v2.onnx", "campplus.onnx")
TOKENIZER = tuple(f"{BLANK}/{name}" for name in _TOKENIZER_FILES)
SPEAKERS = "spk2info.pt"
"""Stored speakers; the published model has none. They are voices, not part of the model."""


def _model_files(path: Path) -> list[Path]:
    if not (path / SETTINGS).is_file():
        raise IncompleteModel(f"no {SETTINGS}; is this a CosyVoice2 checkpoint?")
    ending = ".safetensors" if (path / f"{PARTS[0]}.safetensors").is_file() else ".pt"
    optional_files = ["config.json"] if ending == ".safetensors" else []
    names = [
        SETTINGS,
        *optional_files,
        *(f"{part}{ending}" for part in PARTS),
        *ENCODERS,
        *TOKENIZER,
    ]
    missing = [name for name in names if not (path / name).is_file()]
    if missing:
        raise IncompleteModel(
            f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing"
        )
    for name in names:
        read_tensor_header(path / name)
    return [path / name for name in names]


def _is_model(path: Path) -> bool:
    architecture = models.load_config(path).get("architecture")
    return architecture == "cosyvoice2" or (path / SETTINGS).is_file()


FAMILY = Family(
    (
        SETTINGS,
        "config.json",
        *(f"{part}.{ending}" for part in PARTS for ending in ("pt", "safetensors")),
        *ENCODERS,
        SPEAKERS,
        *TOKENIZER,
    ),
    _model_files,
    _is_model,
    engine="cosyvoice2",
    download=2_400_000_000,
    package="cosyvoice2",
    hub="FunAudioLLM/CosyVoice2-0.5B",
    pull="narrator models pull cosyvoice2",
)
"""Not fetched: the weights of CosyVoice-BlankEN, which are another model's, and accelerators."""
