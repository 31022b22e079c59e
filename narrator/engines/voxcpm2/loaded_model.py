"""VoxCPM2 in memory: encodes clips, converts requests to its own, and finished rows to speech.

Used on the thread that loaded it. Noise is drawn from the request's seed, its text and its attempt:
equal texts of one seed draw equal noise, and differ by what they continue. Prompts are used as they
are: whoever makes them ends them on a short pause.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from narrator.engines import Request, Speech, ignore_message
from narrator.engines.mlx.loaded_model import ClipEncoding, Encoded, LoadedModel, Loading, Tell
from narrator.engines.preparation import end_with_stop, noise_seed, require_part, step_limits
from narrator.engines.voice import Reference
from narrator.engines.voxcpm2.settings import VoxCPM2Settings
from narrator.engines.voxcpm2.wording import join_descriptions, prompt_text
from speechbase.errors import ModelError

if TYPE_CHECKING:
    import voxcpm2

COMPARED_PATCHES = 8
"""Patches of a reference that are encoded to check latents that came with it."""
MAX_LATENT_DIFFERENCE = 0.05
"""Largest difference of such latents, as a share of the largest value, since devices round
differently."""

Side = Literal["right", "left"]
Latents = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class LoadingVoxCPM2(Loading):
    """VoxCPM2, with the voice that it was tuned to."""

    settings: VoxCPM2Settings
    lora: Path | None = None

    name: ClassVar[str] = "VoxCPM2"
    memory_advice: ClassVar[str] = (
        "close other programs, use the 8-bit model (`narrator models pull --8bit`), "
        "or make chunks shorter"
    )

    def _load_model(self) -> LoadedVoxCPM2:
        import voxcpm2

        return LoadedVoxCPM2(self, voxcpm2.load(self.path, dtype=self.dtype, lora=self.lora))


class LoadedVoxCPM2(LoadedModel):
    """VoxCPM2 as it is loaded, with the clips that it has encoded."""

    model: voxcpm2.VoxCPM2

    def __init__(self, loading: LoadingVoxCPM2, model: voxcpm2.VoxCPM2) -> None:
        import voxcpm2

        super().__init__(loading, model)
        self.decodings = voxcpm2.DECODINGS
        self._settings = loading.settings

    # -- clips

    def encode(self, reference: Reference) -> Encoded:
        return {self.model.encoder_fingerprint: self.latents(reference)}

    def latents(
        self, reference: Reference, side: Side = "right", tell: Tell = ignore_message
    ) -> Latents:
        """Returns latents (n, patch, dim) of a clip: padded right to be imitated, left to be
        continued. Raises as `encode_once`; `reference.latents` are padded right."""

        def encode() -> Latents:
            latents = self.model.encode(reference.samples, sample_rate=reference.rate, pad=side)
            return latents.astype(np.float32)

        def restore(arrays: Mapping[str, NDArray[Any]]) -> Latents | None:
            latents = arrays.get("latents")
            return latents if latents is not None and self._fits(reference, latents) else None

        clip = ClipEncoding(
            suffix=f"-{side}",
            encode=encode,
            arrays=lambda latents: {"latents": latents},
            restore=restore,
            matches_sound=lambda latents: self._matches_sound(reference, latents),
        )
        stored_latents = (
            reference.latents.get(self.model.encoder_fingerprint) if side == "right" else None
        )
        stored_arrays = {} if stored_latents is None else {"latents": stored_latents}
        return self.encode_once(reference, clip, stored_arrays, tell)

    def _fits(self, reference: Reference, latents: Latents) -> bool:
        """Returns whether latents have the shape that the sound needs, and finite numbers."""
        config = self.model.config
        count = math.ceil(reference.seconds / self._patch_seconds)
        return (
            latents.dtype == np.float32
            and latents.shape[1:] == (config.patch_size, config.feat_dim)
            and abs(len(latents) - count) <= 1
            and bool(np.isfinite(latents).all())
        )

    def _matches_sound(self, reference: Reference, latents: Latents) -> bool:
        """Returns whether latents that came with a reference begin like those of its sound.

        The encoder is causal, so the first patches need little of the sound.
        """
        # one more patch: resampling looks ahead a little
        stop = round((COMPARED_PATCHES + 1) * self._patch_seconds * reference.rate)
        try:
            expected = self.model.encode(reference.samples[:stop], sample_rate=reference.rate)[
                :COMPARED_PATCHES
            ]
        except ModelError:  # silence: the whole clip is encoded anew
            return False
        first_latents = latents[: len(expected)]
        difference = np.abs(first_latents - expected[: len(first_latents)]).max()
        return bool(difference <= MAX_LATENT_DIFFERENCE * np.abs(expected).max())

    @property
    def _patch_seconds(self) -> float:
        """Seconds of sound in one patch of the encoder."""
        config = self.model.config
        return config.patch_size * config.vae.hop / config.vae.sample_rate

    # -- requests

    def model_request(self, request: Request, tell: Tell) -> voxcpm2.Request:
        import voxcpm2

        reference = prompt = None
        if request.mode in ("reference", "anchored"):
            reference = self.latents(require_part(request, request.reference), "right", tell)
        if request.mode in ("anchored", "continuation"):
            prompt = self._make_prompt(request, tell)
        voice_descriptions = {
            "zero-shot": (request.voice.description, request.style),
            "reference": (request.style,),
        }.get(request.mode, ())
        config, settings = self.model.config, self._settings
        patch_seconds = config.patch_size * config.vae.out_hop / config.vae.out_sample_rate
        min_steps, max_steps = step_limits(
            request.expected,
            request.parameters.get("earliest_stop", settings.earliest_stop),
            0.0 if prompt is None else len(prompt.latents) * patch_seconds,
            patch_seconds,
        )
        return voxcpm2.Request(
            end_with_stop(request.text, request.language),
            voice=join_descriptions(voice_descriptions),
            reference=reference,
            prompt=prompt,
            steps=request.parameters.get("steps", settings.steps),
            cfg=request.parameters.get("cfg", settings.cfg),
            seed=noise_seed(request),
            min_len=min_steps,
            max_len=max_steps,
        )

    def _make_prompt(self, request: Request, tell: Tell) -> voxcpm2.Prompt:
        """Returns the previous take as a prompt; at a continuation chain's head, the reference."""
        import voxcpm2

        if request.mode == "anchored" or request.prompt:
            prompt = require_part(request, request.prompt)
            text, latents = prompt.text, require_part(request, prompt.state)
        else:
            reference = require_part(request, request.reference)
            text, latents = reference.transcript, self.latents(reference, "left", tell)
        return voxcpm2.Prompt(prompt_text(text, request.language), latents)

    def to_speech(self, model_request: voxcpm2.Request, model_speech: voxcpm2.Speech) -> Speech:
        return Speech(
            model_speech.samples,
            model_speech.latents,
            stop="cap" if model_speech.stop_reason == "cap" else "stop",
            patches=len(model_speech.latents),
            tokens=model_speech.token_count,
            seed=model_speech.seed,
        )
