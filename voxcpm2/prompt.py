"""What a row is given -> one list of segments -> ids and latents. The one place that knows modes.

    zero-shot, voice design     [Text]
    reference, controllable     [Reference, Text]
    continuation                [Text, Continuation]
    reference + continuation    [Reference, Text, Continuation]

It knows the markers and the order of a sequence; it knows no network and no tokenizer's rules.
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
    """Speech to go on from: its exact transcript, and latents (n, patch_size, latent_dim).

    Latents come from `encode(audio, pad="left")` or from an earlier `Speech`.
    """

    text: str
    latents: np.ndarray

    def extend(self, speech: Speech) -> Prompt:
        """This prompt with `speech` said after it; texts are joined as they are, as upstream."""
        latents = np.concatenate([self.latents, speech.latents])
        return replace(self, text=self.text + speech.text, latents=latents)


@dataclass(frozen=True, slots=True)
class Reference:
    """A voice to imitate."""

    latents: np.ndarray


@dataclass(frozen=True, slots=True)
class Text:
    """Ids of everything that is spoken, in the prompt and after it."""

    ids: Sequence[int]


@dataclass(frozen=True, slots=True)
class Continuation:
    """Speech that the new speech goes on from."""

    latents: np.ndarray


Segment = Reference | Text | Continuation


@dataclass(frozen=True, slots=True)
class Tokens:
    """T positions of one row. Audio positions have id 0; their latents stand in `latents`."""

    ids: np.ndarray  # (T,) int32
    audio: np.ndarray  # (T,) bool
    latents: np.ndarray  # (number of audio positions, patch_size, latent_dim) float32

    def __len__(self) -> int:
        return len(self.ids)


def segments(
    text: str,
    reference: np.ndarray | None,
    prompt: Prompt | None,
    tokenize: Callable[[str], list[int]],
) -> list[Segment]:
    """The segments of a row; the mode follows from what is given."""
    parts: list[Segment] = []
    if reference is not None:
        parts.append(Reference(reference))
    # The texts become one string before tokenisation: ids across the seam may differ otherwise.
    parts.append(Text(tokenize(text if prompt is None else prompt.text + text)))
    if prompt is not None:
        parts.append(Continuation(prompt.latents))
    return parts


def build(parts: Sequence[Segment], patch_shape: tuple[int, int]) -> Tokens:
    """Segments in order -> the positions they take; `patch_shape` is (patch_size, latent_dim)."""
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
    """What is tokenised: the description in parentheses, the text, white space as upstream.

    Each run of white space becomes one space; none is stripped. Raises RequestError.
    """
    if not isinstance(text, str) or not text.strip():
        raise RequestError("text is empty; give at least one word to speak")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise RequestError("text holds half of a surrogate pair, which is no character")
    if voice is not None:
        if not isinstance(voice, str) or not voice.strip():
            raise RequestError("voice is empty; describe the voice, or leave it out")
        text = f"({voice.strip()}){text}"
    return re.sub(r"\s+", " ", text)
