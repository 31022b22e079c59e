"""What a manifest can say of Kokoro."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag

from narrator.engines.mlx.settings import ModelSettings
from narrator.settings import Strict, Text, shape_of


class KokoroSettings(ModelSettings):
    """Which model, and where it runs; it has one reading of a text."""

    name: Literal["kokoro"] = "kokoro"
    """English, Spanish, French, Hindi, Italian, Japanese, Portuguese and Chinese at 24 kHz, on any
    computer; voices of its own."""
    device: Literal["auto", "gpu", "cpu"] = "auto"
    """What it runs on: a GPU through MLX, or processor cores through ONNX Runtime. Auto takes the
    GPU where there is one; nobody hears which it was."""


class KokoroVoice(Strict):
    """A voice of Kokoro's; without it one is chosen by the speaker's name, pronoun and language."""

    voice: (
        Annotated[
            Annotated[Text, Tag("scalar")]
            | Annotated[
                dict[Text, Annotated[float, Field(gt=0, le=1000)]], Field(min_length=1),
                Tag("mapping"),
            ],
            Discriminator(shape_of),
        ]
        | None
    ) = None  # fmt: skip
    """A name, as af_heart, or a blend of several with their weights:
    {af_heart: 0.7, am_adam: 0.3}."""
