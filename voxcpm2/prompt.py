"""Turns a row's inputs into segments, and segments into ids and latents, for all modes.

    zero-shot, voice design     [Text]
    reference, controllable     [Reference, Text]
    continuation                [Text, Continuation]
    reference + continuation    [Reference, Text, Continuation]

Knows the markers and the order of a sequence, but no network and no rules of a tokenizer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from speechbase.errors import RequestError
from voxcpm2.speech import Speech

AUDIO_START, REFERENCE_START, REFERENCE_END = 101, 103, 104


@dataclass(frozen=True, slots=True)
class Prompt:
    """Speech to continue: its exact transcript, and latents (n, patch_size, latent_dim).

    Latents come from `encode(audio, pad="left")` or from an earlier `Speech`.
    """

    text: str
    latents: np.ndarray

    def extend(self, speech: Speech) -> Prompt:
        """Returns this prompt followed by `speech`; texts are joined unchanged, as upstream."""
        latents = np.concatenate([self.latents, speech.latents])
        return replace(self, text=self.text + speech.text, latents=latents)


@dataclass(frozen=True, slots=True)
class Reference:
    """A voice to imitate."""

    latents: np.ndarray


@dataclass(frozen=True, slots=True)
class Text:
    """Ids of the text of the prompt and of the new speech."""

    ids: Sequence[int]


@dataclass(frozen=True, slots=True)
class Continuation:
    """Speech that the new speech continues."""

    latents: np.ndarray


Segment = Reference | Text | Continuation


@dataclass(frozen=True, slots=True)
class Tokens:
    """T positions of one row. Audio positions have id 0, and their latents are in `latents`."""

    ids: np.ndarray  # (T,) int32
    audio: np.ndarray  # (T,) bool
    latents: np.ndarray  # (number of audio positions, patch_size, latent_dim) float32

    def __len__(self) -> int:
        return len(self.ids)


def build_segments(
    text: str,
    reference: np.ndarray | None,
    prompt: Prompt | None,
    tokenize: Callable[[str], list[int]],
) -> list[Segment]:
    """Returns the segments of a row; its arguments determine the mode."""
    parts: list[Segment] = []
    if reference is not None:
        parts.append(Reference(reference))
    # The texts become one string before tokenisation: ids across the seam may differ otherwise.
    parts.append(Text(tokenize(text if prompt is None else prompt.text + text)))
    if prompt is not None:
        parts.append(Continuation(prompt.latents))
    return parts


def build_tokens(parts: Sequence[Segment], patch_shape: tuple[int, int]) -> Tokens:
    """Lays out segments as positions; `patch_shape` is (patch_size, latent_dim)."""
    ids: list[int] = []
    audio: list[bool] = []
    latents = [np.zeros((0, *patch_shape), np.float32)]

    def add(new_ids: Sequence[int], is_audio: bool) -> None:
        ids.extend(new_ids)
        audio.extend([is_audio] * len(new_ids))

    for part in parts:
        match part:
            case Reference():
                add([REFERENCE_START], False)
                add([0] * len(part.latents), True)
                add([REFERENCE_END], False)
                latents.append(part.latents)
            case Text():
                add([*part.ids, AUDIO_START], False)
            case Continuation():
                add([0] * len(part.latents), True)
                latents.append(part.latents)
    return Tokens(np.array(ids, np.int32), np.array(audio, bool), np.concatenate(latents))


def spoken_text(text: str, voice: str | None) -> str:
    """Returns the text to tokenise: the description in parentheses, then the text.

    Each run of white space becomes one space, as upstream; none is stripped. Raises RequestError.
    """
    if not isinstance(text, str) or not text.strip():
        raise RequestError("text is empty; give at least one word to speak")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise RequestError("text holds half of a surrogate pair, which is not a character")
    if voice is not None:
        if not isinstance(voice, str) or not voice.strip():
            raise RequestError("voice is empty; describe the voice, or leave it out")
        text = f"({voice.strip()}){text}"
    return re.sub(r"\s+", " ", text)
