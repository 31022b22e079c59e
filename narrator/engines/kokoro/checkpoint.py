"""The files of a Kokoro checkpoint, as published or converted; loads nothing."""

from __future__ import annotations

from pathlib import Path

from narrator.engines import models
from narrator.engines.models import Family, NoModel, tensors

WEIGHTS = ("kokoro-v1_0.safetensors", "kokoro-v1_0.pth")


def _files(path: Path) -> list[Path]:
    if not (path / "config.json").is_file():
        raise NoModel("no config.json; is this a Kokoro checkpoint?")
    weights = next((path / name for name in WEIGHTS if (path / name).is_file()), None)
    if weights is None:
        raise NoModel(f"the weights are missing ({WEIGHTS[1]})")
    tensors(weights)
    if not any((path / "voices").glob("*.*")):
        raise NoModel("the folder of voices is missing (voices/af_heart.pt)")
    return [path / "config.json", weights]


def _is_kokoro(path: Path) -> bool:
    facts = models.config(path)
    return {"istftnet", "plbert"} <= facts.keys()


FAMILY = Family(
    ("config.json", *WEIGHTS, "voices/*.pt", "voices/*.npy"),
    _files,
    _is_kokoro,
    package="kokoro82m",
    hub="hexgrad/Kokoro-82M",
    pull="narrator models pull kokoro",
)
