"""VoxCPM2 in memory: clips are encoded here, once each; requests become its own, rows speech.

Used on the thread that loaded it. Noise is drawn from the request's seed, its text and its attempt:
equal texts of one seed draw equal noise, and differ by what they continue. Prompts are taken as
they are given: who makes them ends them on a short pause.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from narrator.engines import Request, Speech, quiet
from narrator.engines.asking import closed, lengths, noise_seed, there
from narrator.engines.mlx.loaded import ClipEncoding, Encoded, LoadedModel, Loading, Tell
from narrator.engines.voice import Reference
from narrator.engines.voxcpm2.settings import VoxCPM2Settings
from narrator.engines.voxcpm2.wording import before, description
from speechbase.errors import ModelError

if TYPE_CHECKING:
    import voxcpm2

HEAD = 8
"""Patches of a reference that are encoded to see whether latents that came with it are its own."""
ALIKE = 0.05
"""How far such latents may lie apart, as a share of the largest: devices round differently."""

Side = Literal["right", "left"]
Latents = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class LoadingVoxCPM2(Loading):
    """VoxCPM2, with the voice that it was tuned to."""

    settings: VoxCPM2Settings
    lora: Path | None = None

    name: ClassVar[str] = "VoxCPM2"
    less: ClassVar[str] = (
        "close other programs, use the 8-bit model (`narrator models pull --8bit`), "
        "or make chunks shorter"
    )

    def _loaded(self) -> LoadedVoxCPM2:
        import voxcpm2

        return LoadedVoxCPM2(self, voxcpm2.load(self.path, dtype=self.dtype, lora=self.lora))


class LoadedVoxCPM2(LoadedModel):
    """VoxCPM2 as it is loaded, with the clips that it has encoded."""

    model: voxcpm2.VoxCPM2

    def __init__(self, what: LoadingVoxCPM2, model: voxcpm2.VoxCPM2) -> None:
        import voxcpm2

        super().__init__(what, model)
        self.decodings = voxcpm2.DECODINGS
        self._settings = what.settings

    # -- clips

    def encode(self, reference: Reference) -> Encoded:
        return {self.model.encoder_fingerprint: self.latents(reference)}

    def latents(self, reference: Reference, side: Side = "right", tell: Tell = quiet) -> Latents:
        """Latents (n, patch, dim) of a clip: padded right to be imitated, left to be continued.

        Raises as `encode_once`; `reference.latents` are the right side's.
        """

        def encode() -> Latents:
            latents = self.model.encode(reference.samples, sample_rate=reference.rate, pad=side)
            return latents.astype(np.float32)

        def restore(arrays: Mapping[str, NDArray[Any]]) -> Latents | None:
            latents = arrays.get("latents")
            return latents if latents is not None and self._fits(reference, latents) else None

        clip = ClipEncoding(
            f"-{side}",
            encode,
            lambda latents: {"latents": latents},
            restore,
            lambda latents: self._is_of_sound(reference, latents),
        )
        brought = reference.latents.get(self.model.encoder_fingerprint) if side == "right" else None
        given = {} if brought is None else {"latents": brought}
        return self.encode_once(reference, clip, given, tell)

    def _fits(self, reference: Reference, latents: Latents) -> bool:
        """Whether latents are as many numbers as the sound has, and numbers."""
        config = self.model.config
        count = math.ceil(reference.seconds / self._patch_seconds)
        return (
            latents.dtype == np.float32
            and latents.shape[1:] == (config.patch_size, config.feat_dim)
            and abs(len(latents) - count) <= 1
            and bool(np.isfinite(latents).all())
        )

    def _is_of_sound(self, reference: Reference, latents: Latents) -> bool:
        """Whether latents from elsewhere begin as a reference's own do.

        The encoder hears nothing ahead of a patch, so the first ones need little of the sound.
        """
        # one more patch: resampling looks ahead a little
        stop = round((HEAD + 1) * self._patch_seconds * reference.rate)
        try:
            own = self.model.encode(reference.samples[:stop], sample_rate=reference.rate)[:HEAD]
        except ModelError:  # nothing is heard there: it is encoded whole
            return False
        given = latents[: len(own)]
        apart = np.abs(given - own[: len(given)]).max()
        return bool(apart <= ALIKE * np.abs(own).max())

    @property
    def _patch_seconds(self) -> float:
        """Of sound that the encoder makes one patch of."""
        config = self.model.config
        return config.patch_size * config.vae.hop / config.vae.sample_rate

    # -- requests

    def asked(self, request: Request, tell: Tell) -> voxcpm2.Request:
        import voxcpm2

        reference = prompt = None
        if request.mode in ("reference", "anchored"):
            reference = self.latents(there(request, request.reference), "right", tell)
        if request.mode in ("anchored", "continuation"):
            prompt = self._continued(request, tell)
        described = {
            "zero-shot": (request.voice.description, request.style),
            "reference": (request.style,),
        }.get(request.mode, ())
        config, settings = self.model.config, self._settings
        patch = config.patch_size * config.vae.out_hop / config.vae.out_sample_rate
        least, most = lengths(
            request.expected,
            request.parameters.get("earliest_stop", settings.earliest_stop),
            0.0 if prompt is None else len(prompt.latents) * patch,
            patch,
        )
        return voxcpm2.Request(
            closed(request.text, request.language),
            voice=description(described),
            reference=reference,
            prompt=prompt,
            steps=request.parameters.get("steps", settings.steps),
            cfg=request.parameters.get("cfg", settings.cfg),
            seed=noise_seed(request),
            min_len=least,
            max_len=most,
        )

    def _continued(self, request: Request, tell: Tell) -> voxcpm2.Prompt:
        """The take before; where a chain begins in continuation, the reference clip itself, as the
        speech that goes on."""
        import voxcpm2

        if request.mode == "anchored" or request.prompt:
            prompt = there(request, request.prompt)
            text, latents = prompt.text, there(request, prompt.state)
        else:
            reference = there(request, request.reference)
            text, latents = reference.transcript, self.latents(reference, "left", tell)
        return voxcpm2.Prompt(before(text, request.language), latents)

    def said(self, asked: voxcpm2.Request, made: voxcpm2.Speech) -> Speech:
        return Speech(
            made.samples,
            made.latents,
            stop="cap" if made.stop_reason == "cap" else "stop",
            patches=len(made.latents),
            tokens=made.token_count,
            seed=made.seed,
        )
