"""What a checkpoint's `cosyvoice2.yaml` and `CosyVoice-BlankEN/config.json` say of its networks."""

from __future__ import annotations

import math
from dataclasses import dataclass

MELS = 80
"""Of every mel in it; the flow and its noise are made for so many."""
LOOK_AHEAD = 3
"""Tokens after the last that the flow's encoder looks at."""


@dataclass(frozen=True, slots=True)
class LMConfig:
    """Qwen2 and what stands around it; the speech vocabulary has three ids more than tokens."""

    hidden_size: int
    intermediate_size: int
    num_layers: int
    num_heads: int
    num_kv_heads: int
    rms_norm_eps: float
    rope_theta: float
    vocab_size: int  # rows of the text embedding
    max_positions: int
    speech_tokens: int  # 6561: ids 0 to 6560 are speech, then end, unused, fill
    top_p: float
    top_k: int
    win_size: int
    tau_r: float

    @property
    def end(self) -> int:
        """The id that ends speech; the two after it are `unused` and `fill`."""
        return self.speech_tokens


@dataclass(frozen=True, slots=True)
class EncoderConfig:
    """The conformer from tokens to frames, twice as many."""

    width: int
    heads: int
    feed_forward: int
    layers: int  # before the doubling; after it there are 4
    chunk: int  # tokens that see each other in streaming


@dataclass(frozen=True, slots=True)
class EstimatorConfig:
    """The U-Net of the flow."""

    in_channels: int
    channels: int
    heads: int
    head_dim: int
    blocks: int  # transformers a stage
    mid_blocks: int
    chunk: int  # frames that see each other in streaming


@dataclass(frozen=True, slots=True)
class FlowConfig:
    """Tokens to mel."""

    vocab_size: int
    speaker_dim: int
    guidance: float  # .7: v = (1 + g) v(condition) - g v(nothing)
    encoder: EncoderConfig
    estimator: EstimatorConfig


@dataclass(frozen=True, slots=True)
class VocoderConfig:
    """Mel to samples: HiFT, a neural source filter with an inverse STFT."""

    base_channels: int
    harmonics: int  # above the fundamental
    alpha: float  # amplitude of a sine
    sigma: float  # of the noise of voiced sound
    voiced_threshold: float  # Hz
    rates: tuple[int, ...]
    kernels: tuple[int, ...]
    n_fft: int
    hop: int
    res_kernels: tuple[int, ...]
    res_dilations: tuple[tuple[int, ...], ...]
    source_kernels: tuple[int, ...]
    source_dilations: tuple[tuple[int, ...], ...]
    slope: float  # of the leaky rectifiers, but for the last
    limit: float  # of the samples
    f0_channels: int
    sample_rate: int

    @property
    def frame(self) -> int:
        """Samples of a mel frame."""
        return math.prod(self.rates) * self.hop


@dataclass(frozen=True, slots=True)
class Config:
    """A whole checkpoint."""

    sample_rate: int
    chunk: int  # tokens of the first chunk of a stream
    lm: LMConfig
    flow: FlowConfig
    vocoder: VocoderConfig
