"""The model in memory: clips are encoded here, once each, and what it fails on is put in words.

Used on the thread that loaded it.
"""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from narrator import files
from narrator.engines import quiet
from narrator.engines.voice import Reference
from narrator.engines.voxcpm2.memory import is_beyond_repair, is_out_of_memory
from narrator.engines.voxcpm2.settings import VoxCPM2Settings
from narrator.errors import EngineFailure, EngineUnavailable

if TYPE_CHECKING:
    import voxcpm2

HEAD = 8
"""Patches of a reference that are encoded to see whether latents that came with it are its own."""
ALIKE = 0.05
"""How far such latents may lie apart, as a share of the largest: devices round differently."""
TOO_BIG = (
    "close other programs, use the 8-bit model (`narrator models pull --8bit`), "
    "or make chunks shorter"
)

_ON_LINUX = 'on Linux it needs `pip install "mlx[cpu]"`, or "mlx[cuda12]" for an NVIDIA GPU'

Side = Literal["right", "left"]
Latents = NDArray[np.float32]


class OutOfMemory(EngineUnavailable):
    """Memory did not hold the encoding of a voice beside what else there was."""


class Corrupt(EngineUnavailable):
    """MLX cannot go on in this process; another one can."""


@dataclass(frozen=True, slots=True)
class Loading:
    """What is to be loaded, and where its encoded references are kept."""

    spec: str
    path: Path
    lora: Path | None
    settings: VoxCPM2Settings
    weights: str
    """Names the model's bytes."""
    cache: Path


def load(what: Loading, tell: Callable[[str], None] = quiet) -> LoadedModel:
    """The model in this process. Raises EngineUnavailable."""
    tell(f"loading VoxCPM2 ({what.spec}) …")
    try:
        import voxcpm2  # first: it sets what MLX reads of its environment
    except ImportError as error:
        raise EngineUnavailable(f"MLX does not load here ({error}): {_ON_LINUX}") from error
    import mlx.core as mx

    dtype: str | None = what.settings.dtype
    if dtype == "auto":
        # Half precision is slower on a CPU; None is the checkpoint's own.
        dtype = "float32" if mx.default_device() == mx.cpu else None
    limit = mx.set_cache_limit(voxcpm2.CACHE_LIMIT)
    try:
        model = voxcpm2.load(what.path, dtype=dtype, lora=what.lora)
    except voxcpm2.VoxCPM2Error as error:
        raise EngineUnavailable(f"{what.spec}: {error}") from error
    except (RuntimeError, MemoryError) as error:
        said = f"{what.spec}: the model does not load: {line_of(error)}"
        raise EngineUnavailable(
            f"{said}; {TOO_BIG}" if is_out_of_memory(error) else said
        ) from error
    finally:
        mx.set_cache_limit(limit)
    beside = mx.new_stream(mx.default_device())
    return LoadedModel(model, what.settings, what.weights, what.cache, beside)


@dataclass(slots=True, eq=False)
class LoadedModel:
    """VoxCPM2 as it is loaded, with the clips that it has encoded."""

    model: voxcpm2.VoxCPM2
    settings: VoxCPM2Settings
    weights: str
    """Names its bytes."""
    cache: Path
    """The folder of encoded references."""
    beside: Any
    """The MLX stream that decodes while the model goes on."""
    _encoded: dict[tuple[str, Side], Latents] = field(default_factory=dict)

    def encode(
        self, reference: Reference, side: Side = "right", tell: Callable[[str], None] = quiet
    ) -> Latents:
        """Latents (n, patch, dim) of a clip: padded right to be imitated, left to be continued.

        Encoded once, and kept in the cache's folder; `reference.latents` are the right side's, and
        come from anywhere: those that are not of this sound are told, and not used. Raises
        EngineUnavailable out of memory, EngineFailure for a clip that it cannot take, Corrupt,
        StorageError.
        """
        import voxcpm2

        name = (reference.content, side)
        if name in self._encoded:
            return self._encoded[name]
        model = self.model
        path = self.cache / f"{reference.content}-{model.encoder_fingerprint[:16]}-{side}.npz"
        given = reference.latents.get(model.encoder_fingerprint) if side == "right" else None
        try:
            if given is not None and not _of_sound(model, reference, given):
                tell("a voice was kept with latents that are not of its sound: they are not used")
                given = None
            latents = _read_latents(path, model, reference) if given is None else given
            if latents is None:
                tell("encoding a voice …")
                latents = model.encode(
                    reference.samples, sample_rate=reference.rate, pad=side
                ).astype(np.float32)
                with files.replacing(path) as temporary, temporary.open("wb") as file:
                    np.savez(file, latents=latents)
        except (voxcpm2.VoxCPM2Error, RuntimeError, MemoryError) as error:
            if is_beyond_repair(error):
                raise corrupt(error) from error
            if is_out_of_memory(error):
                what = f"out of memory while a voice is encoded ({line_of(error)}): {TOO_BIG}"
                raise OutOfMemory(what) from error
            raise EngineFailure(f"VoxCPM2 cannot read the reference: {line_of(error)}") from error
        self._encoded[name] = latents
        return latents

    def encoded(self, reference: Reference) -> Mapping[str, Latents]:
        """As `Engine.encoded`.

        There is no chunk here that could be tried again: it raises EngineUnavailable for whatever
        `encode` fails on, and StorageError.
        """
        try:
            return {self.model.encoder_fingerprint: self.encode(reference)}
        except EngineFailure as error:
            raise EngineUnavailable(str(error)) from error


def corrupt(error: Exception) -> Corrupt:
    return Corrupt(f"MLX cannot go on in this process ({line_of(error)}): run the same again")


def line_of(error: Exception) -> str:
    """What an error says, in a line."""
    lines = str(error).strip().splitlines()
    return lines[0][:200] if lines else type(error).__name__


def _fits(model: voxcpm2.VoxCPM2, reference: Reference, latents: Latents) -> bool:
    """Whether latents are as many numbers as the sound has, and numbers."""
    config = model.config
    count = math.ceil(reference.seconds / _patch_seconds(model))
    return (
        latents.dtype == np.float32
        and latents.shape[1:] == (config.patch_size, config.feat_dim)
        and abs(len(latents) - count) <= 1
        and bool(np.isfinite(latents).all())
    )


def _of_sound(model: voxcpm2.VoxCPM2, reference: Reference, latents: Latents) -> bool:
    """Whether latents from elsewhere can be a reference's: they fit, and begin as its own do.

    The encoder hears nothing ahead of a patch, so the first ones need little of the sound.
    """
    import voxcpm2

    if not _fits(model, reference, latents):
        return False
    # one more patch: resampling looks ahead a little
    stop = round((HEAD + 1) * _patch_seconds(model) * reference.rate)
    try:
        head = model.encode(reference.samples[:stop], sample_rate=reference.rate)[:HEAD]
    except voxcpm2.VoxCPM2Error:  # nothing is heard there: it is encoded whole
        return False
    given = latents[: len(head)]
    apart = np.abs(given - head[: len(given)]).max()
    return bool(apart <= ALIKE * np.abs(head).max())


def _patch_seconds(model: voxcpm2.VoxCPM2) -> float:
    """Of sound that the encoder makes one patch of."""
    config = model.config
    return config.patch_size * config.vae.hop / config.vae.sample_rate


def _read_latents(path: Path, model: voxcpm2.VoxCPM2, reference: Reference) -> Latents | None:
    """What was encoded before; None where nothing is, or what is there is damaged."""
    try:
        with zipfile.ZipFile(path) as stored:
            if any(part.compress_type != zipfile.ZIP_STORED for part in stored.infolist()):
                return None  # a flipped bit says so: it was never compressed
            data = stored.read("latents.npy")  # its checksum is tested before it is looked at
        latents = np.load(io.BytesIO(data), allow_pickle=False)
    # RuntimeError: encrypted, or of a version to come
    except (OSError, ValueError, KeyError, EOFError, RuntimeError, zipfile.BadZipFile):
        return None
    return latents if _fits(model, reference, latents) else None
