"""CosyVoice2 in memory: encodes clips, converts requests to its own, and finished rows to speech.

Used on the thread that loaded it. The flow gets the voice, which determines the timbre; the
language model continues from tokens: those of the previous take, or of the clip. So a chain keeps
its manner and pace, and its timbre cannot drift. A take's state is its tokens, 25 a second.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from narrator.engines import Prompt, Request, Speech, ignore_message
from narrator.engines.cosyvoice2 import tokens
from narrator.engines.cosyvoice2.settings import CosyVoice2Settings
from narrator.engines.cosyvoice2.wording import (
    TITLE,
    describe_unknown_speaker,
    has_matching_language,
    prepare_text,
    stored_speaker,
)
from narrator.engines.mlx.loaded_model import ClipEncoding, Encoded, LoadedModel, Loading, Tell
from narrator.engines.preparation import noise_seed, require_part, step_limits
from narrator.engines.voice import Reference
from narrator.errors import EngineFailure, EngineUnavailable
from speechbase.errors import ModelError

if TYPE_CHECKING:
    import cosyvoice2

PARTS = ("tokens", "mel", "speaker")
"""Arrays of an encoded clip: (n,), (2 n, 80) and (192,). Stored as float32, which is exact for
tokens."""
MAX_MEL_DIFFERENCE = 0.05
"""Largest mean difference of a mel that came with a clip from that of its sound: natural logarithms
of magnitudes."""
MAX_CLIP_SECONDS, MAX_PAUSE_SECONDS = 30.0, 0.5
"""Seconds of a clip that the encoder accepts, and seconds that may be cut off its end: a prepared
clip ends with a pause."""

MIN_SPEAKER_SECONDS, MAX_SPEAKER_SECONDS = 1.0, 6.0
"""Seconds of a take that tell who speaks, and the most that are heard, from its middle: the model
waits meanwhile."""


@dataclass(frozen=True, slots=True)
class LoadingCosyVoice2(Loading):
    """CosyVoice2."""

    settings: CosyVoice2Settings

    name: ClassVar[str] = TITLE
    memory_advice: ClassVar[str] = (
        "close other programs, use the 8-bit model (`narrator models pull cosyvoice2 --8bit`), "
        "or make chunks shorter"
    )

    def _load_model(self) -> LoadedCosyVoice2:
        import cosyvoice2

        return LoadedCosyVoice2(self, cosyvoice2.load(self.path, dtype=self.dtype))


class LoadedCosyVoice2(LoadedModel):
    """CosyVoice2 as it is loaded, with the clips that it has encoded."""

    model: cosyvoice2.CosyVoice2

    def __init__(self, loading: LoadingCosyVoice2, model: cosyvoice2.CosyVoice2) -> None:
        import cosyvoice2

        super().__init__(loading, model)
        self.decodings = cosyvoice2.DECODINGS
        self._settings = loading.settings

    # -- clips

    def encode(self, reference: Reference) -> Encoded:
        encoding = self.encode_clip(reference)
        fingerprint = self.model.encoder_fingerprint
        return {f"{fingerprint}.{part}": _as_float32(getattr(encoding, part)) for part in PARTS}

    def encode_clip(
        self, reference: Reference, tell: Tell = ignore_message
    ) -> cosyvoice2.Reference:
        """Encodes a clip. Raises as `encode_once`."""
        clip = ClipEncoding(
            suffix="",
            encode=lambda: self.model.reference(self._audible_samples(reference), reference.rate),
            arrays=lambda encoding: {part: _as_float32(getattr(encoding, part)) for part in PARTS},
            restore=lambda arrays: self._restore_clip(reference, arrays),
            matches_sound=lambda encoding: self._matches_sound(reference, encoding),
        )
        fingerprint = self.model.encoder_fingerprint
        stored_arrays = {part: reference.latents.get(f"{fingerprint}.{part}") for part in PARTS}
        present_arrays = {part: array for part, array in stored_arrays.items() if array is not None}
        return self.encode_once(reference, clip, present_arrays, tell)

    def _audible_samples(self, reference: Reference) -> NDArray[np.float32]:
        """Returns the part of a clip that the encoder accepts; a pause at its end may be cut off.

        Raises EngineFailure.
        """
        if reference.seconds > MAX_CLIP_SECONDS + MAX_PAUSE_SECONDS:
            raise EngineFailure(
                f"{TITLE} hears {MAX_CLIP_SECONDS:.0f} s of a reference at most, 3 to 10 are best, "
                f"and this one has {reference.seconds:.1f}: cut it (`narrator voices add --cut`)"
            )
        return reference.samples[: round(MAX_CLIP_SECONDS * reference.rate)]

    def _restore_clip(
        self, reference: Reference, arrays: Mapping[str, NDArray[Any]]
    ) -> cosyvoice2.Reference | None:
        """Returns arrays as an encoded clip; None if lengths or values do not fit the clip."""
        import cosyvoice2

        token_count = self.model.config.lm.speech_tokens
        if arrays.keys() != set(PARTS) or not _are_tokens(arrays["tokens"], token_count):
            return None
        seconds = min(reference.seconds, MAX_CLIP_SECONDS)
        if abs(len(arrays["tokens"]) * tokens.TOKEN_SECONDS - seconds) > 3 * tokens.TOKEN_SECONDS:
            return None
        try:
            speech_tokens = arrays["tokens"].astype(np.int32)
            return cosyvoice2.Reference(speech_tokens, arrays["mel"], arrays["speaker"])
        except ModelError:
            return None

    def _matches_sound(self, reference: Reference, encoding: cosyvoice2.Reference) -> bool:
        """Returns whether an encoding that came with a clip has the mel of its sound, which is
        quickly computed. Tokens and speaker are not checked."""
        from cosyvoice2.features import prompt_mel
        from speechbase.audio import resample_audio

        rate = self.model.sample_rate
        samples = reference.samples[: round(MAX_CLIP_SECONDS * reference.rate)]
        mel = prompt_mel(resample_audio(samples, reference.rate, rate, sinc=True), rate)
        mel = mel[: len(encoding.mel)]
        return bool(np.abs(mel - encoding.mel[: len(mel)]).mean() < MAX_MEL_DIFFERENCE)

    # -- requests

    def model_request(self, request: Request, tell: Tell) -> cosyvoice2.Request:
        import cosyvoice2

        speaker, reference = self._stored_speaker(request), None
        if speaker is None:
            reference = self.encode_clip(require_part(request, request.reference), tell)
        text, prefix = self._text_and_prefix(request, reference)
        min_steps, max_steps = step_limits(
            request.expected,
            request.parameters.get("earliest_stop", self._settings.earliest_stop),
            0.0 if prefix is None else len(prefix) * tokens.TOKEN_SECONDS,
            tokens.TOKEN_SECONDS,
        )
        return cosyvoice2.Request(
            prepare_text(request.text, request.language),
            reference=reference,
            prompt_text=text,
            prefix_tokens=prefix,
            instruction=None if text else request.style,
            speaker=speaker,
            seed=noise_seed(request),
            min_len=min_steps,
            max_len=max_steps,
        )

    def _stored_speaker(self, request: Request) -> str | None:
        """Returns the stored speaker of a voice. Raises EngineUnavailable if there is none of that
        name, since no chunk of the book can be spoken then."""
        name = stored_speaker(request.voice)
        if name is not None and (
            problem := describe_unknown_speaker(
                request.voice, self.loading.spec, self.model.speakers
            )
        ):
            raise EngineUnavailable(problem)
        return name

    def _text_and_prefix(
        self, request: Request, reference: cosyvoice2.Reference | None
    ) -> tuple[str | None, NDArray[np.int32] | None]:
        """Returns the text and tokens that the language model continues: the take before, or the
        clip; None if a style or another language is wanted instead."""
        if prompt := _continued_prompt(request):
            state = np.asarray(require_part(request, prompt.state), np.int32).reshape(-1)
            return prepare_text(prompt.text, request.language), state
        clip = request.reference
        if reference is None or clip is None or request.style:
            return None, None
        if not has_matching_language(clip.transcript, request.language):
            return None, None
        return prepare_text(clip.transcript, request.language), reference.tokens

    def to_speech(
        self, model_request: cosyvoice2.Request, model_speech: cosyvoice2.Speech
    ) -> Speech:
        if not len(model_speech.tokens):
            raise EngineFailure(f"{TITLE} said nothing")
        prefix = model_request.prefix_tokens
        return Speech(
            model_speech.samples,
            model_speech.tokens,
            stop="cap" if model_speech.stop_reason == "cap" else "stop",
            patches=len(model_speech.tokens),
            tokens=model_speech.token_count,
            seed=model_speech.seed,
            wrong=tokens.describe_repetition(
                model_speech.tokens, np.zeros(0, np.int32) if prefix is None else prefix
            ),
            speaker=self._speaker_vector(model_speech.samples),
        )

    def _speaker_vector(self, samples: NDArray[np.float32]) -> NDArray[np.float32] | None:
        """Returns the vector of who speaks in a take; None where it cannot be told."""
        fewest, most = (
            round(seconds * self.model.sample_rate)
            for seconds in (MIN_SPEAKER_SECONDS, MAX_SPEAKER_SECONDS)
        )
        if len(samples) < fewest or not np.isfinite(samples).all():
            return None
        start = max(0, (len(samples) - most) // 2)
        try:
            return self.model.speaker_vector(samples[start : start + most])
        except ModelError:  # a take is good without it; encoding a clip reports a damaged encoder
            return None


def _continued_prompt(request: Request) -> Prompt | None:
    if request.mode == "anchored":
        return require_part(request, request.prompt)
    return request.prompt if request.mode == "continuation" else None


def _as_float32(array: NDArray[Any]) -> NDArray[np.float32]:
    return np.ascontiguousarray(array, np.float32)


def _are_tokens(array: NDArray[Any], token_count: int) -> bool:
    """Returns whether an array holds whole numbers from 0 to the model's number of tokens."""
    if array.ndim != 1 or array.dtype != np.float32:
        return False
    in_range = (array >= 0) & (array < token_count)  # NaN is not
    return bool(len(array) and in_range.all() and (array == np.floor(array)).all())
