"""Kokoro's settings in a manifest."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag, field_validator

from narrator.engines.mlx.settings import ModelSettings
from narrator.settings import Strict, Text, shape_of


class KokoroSettings(ModelSettings):
    """The model, and where it runs. It always reads a text the same way."""

    name: Literal["kokoro"] = "kokoro"
    """English, Spanish, French, Hindi, Italian, Japanese, Portuguese and Chinese at 24 kHz, on any
    computer; built-in voices."""
    device: Literal["auto", "gpu", "cpu"] = "auto"
    """A GPU with MLX, or CPU cores with ONNX Runtime. Auto uses the GPU if there is one; the
    difference is inaudible."""


class KokoroVoice(Strict):
    """A voice of Kokoro; by default it is chosen by the speaker's name, pronoun and language."""

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
    """Name of a voice, such as af_heart, or a blend of several with weights: {af_heart: 0.7,
    am_adam: 0.3}."""

    @field_validator("voice", mode="before")
    @classmethod
    def _has_weights(cls, voice: object) -> object:
        if isinstance(voice, list | tuple):
            raise ValueError("a blend of voices has weights: {af_heart: 0.7, am_adam: 0.3}")
        return voice
