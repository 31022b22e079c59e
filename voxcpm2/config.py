"""config.json -> frozen dataclasses: sizes of the network, with the official reader's defaults.

Knows the two architectures, `voxcpm2` and `voxcpm` (0.5B and 1.5). Keys that are not read here are
tolerated, as upstream tolerates them: training options, `mean_mode`, and whatever comes next.
It knows no weights, no files and no MLX.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from speechbase.errors import ConfigError
from speechbase.sections import MAX_NUMBER, MAX_SAMPLE_RATE, Section, describe_setting

ARCHITECTURES = ("voxcpm2", "voxcpm")

# What is built before a weight is seen must not be without end. VoxCPM2 has 28 layers of width
# 2048, 73,448 tokens, 8192 positions in heads of 128, and 6 rates; numbers up to 32,768.
MAX_LAYERS, MAX_WIDTH, MAX_TOKENS = 256, 1 << 16, 1 << 21
MAX_HEADS, MAX_HEAD_SIZE, MAX_POSITIONS, MAX_ANGLES = 1024, 1024, 1 << 20, 1 << 23
MAX_PATCH_SIZE = 64
MIN_SAMPLE_RATE = 1000  # Hz
MIN_TOKENS = 105  # the markers of audio and reference are tokens 101 to 104


@dataclass(frozen=True, slots=True)
class RopeConfig:
    """Rotary positions: angle of position p in dimension j is p / factors[j] * theta**(-2j/hd)."""

    theta: float
    factors: tuple[float, ...]
    scale: float  # multiplies cos and sin; 1 unless positions go beyond the original length
    max_positions: int


@dataclass(frozen=True, slots=True)
class TransformerConfig:
    """One of the four MiniCPM4 stacks; `rope` is None where positions are not encoded."""

    hidden_size: int
    intermediate_size: int
    num_layers: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    rms_norm_eps: float
    residual_scale: float  # weight of each branch: scale_depth / sqrt(num_layers) under mup, else 1
    rope: RopeConfig | None


@dataclass(frozen=True, slots=True)
class VAEConfig:
    """The audio codec; `first_generation` is VoxCPM 1.x's, which pads strided layers otherwise."""

    encoder_dim: int
    encoder_rates: tuple[int, ...]
    latent_dim: int
    decoder_dim: int
    decoder_rates: tuple[int, ...]
    sample_rate: int  # of what encode reads, Hz
    out_sample_rate: int  # of what decode writes, Hz
    depthwise: bool
    use_noise_block: bool
    sr_bin_boundaries: tuple[int, ...] | None  # None: decoding is not conditioned on the rate
    cond_type: str
    cond_dim: int
    cond_out_layer: bool
    first_generation: bool

    @property
    def hop(self) -> int:
        """Input samples per latent frame."""
        return math.prod(self.encoder_rates)

    @property
    def out_hop(self) -> int:
        """Output samples per latent frame."""
        return math.prod(self.decoder_rates)


@dataclass(frozen=True, slots=True)
class Config:
    """A whole checkpoint."""

    architecture: str
    vocab_size: int
    embed_scale: float  # multiplies token embeddings: scale_emb under mup, else 1
    base_lm: TransformerConfig
    residual_lm: TransformerConfig
    encoder: TransformerConfig
    dit: TransformerConfig
    dit_mean_mode: bool
    patch_size: int  # latent frames per position of the language models
    feat_dim: int
    fsq_dim: int
    fsq_scale: float
    vae: VAEConfig
    max_length: int  # positions that a sequence may take, text and audio together
    dtype: str

    @property
    def first_generation(self) -> bool:
        """True for VoxCPM 0.5B and 1.5."""
        return self.architecture == "voxcpm"

    @property
    def context_patches(self) -> int:
        """How many patches before the new ones the decoder hears in a continuation (upstream's)."""
        return 2 if self.first_generation else 3

    @classmethod
    def from_dict(cls, settings: Mapping[str, Any]) -> Config:
        """Read the parsed config.json. Raises ConfigError."""
        root = Section("config.json", settings)
        architecture = root.text("architecture", "voxcpm").lower()
        if architecture not in ARCHITECTURES:
            raise ConfigError(
                f"config.json: unknown architecture {describe_setting(architecture)}; known: "
                + ", ".join(ARCHITECTURES)
            )
        v1 = architecture == "voxcpm"
        lm, dit = root.section("lm_config"), root.section("dit_config")
        use_mup = lm.flag("use_mup", True)
        base = _language_model(lm, use_mup)
        residual_layers = root.integer("residual_lm_num_layers", 6 if v1 else 8, maximum=MAX_LAYERS)
        no_rope = not v1 and root.flag("residual_lm_no_rope", False)
        feat_dim = root.integer("feat_dim", 64, maximum=MAX_WIDTH)
        vae = _vae(root.section("audio_vae_config", {}), v1)
        if vae.latent_dim != feat_dim:
            raise ConfigError(
                f"config.json: feat_dim {feat_dim} is not the VAE's latent_dim {vae.latent_dim}"
            )
        max_length = root.integer("max_length", 4096 if v1 else 8192, maximum=MAX_POSITIONS)
        _check_angles(base, max_length)
        return cls(
            architecture=architecture,
            vocab_size=lm.integer("vocab_size", minimum=MIN_TOKENS, maximum=MAX_TOKENS),
            embed_scale=lm.number("scale_emb") if use_mup else 1.0,
            base_lm=base,
            residual_lm=_transformer(
                lm,
                use_mup,
                hidden_size=base.hidden_size,
                intermediate_size=base.intermediate_size,
                num_heads=base.num_heads,
                num_layers=residual_layers,
                head_dim=base.head_dim,
                no_rope=no_rope,
            ),
            encoder=_local_transformer(root.section("encoder_config"), lm, use_mup),
            dit=_checked_dit(_local_transformer(dit, lm, use_mup)),
            dit_mean_mode=(root if v1 else dit).flag("dit_mean_mode", False),
            patch_size=root.integer("patch_size", 2 if v1 else 4, maximum=MAX_PATCH_SIZE),
            feat_dim=feat_dim,
            fsq_dim=root.integer(
                "scalar_quantization_latent_dim", 256 if v1 else 512, maximum=MAX_WIDTH
            ),
            fsq_scale=root.number("scalar_quantization_scale", 9),
            vae=vae,
            max_length=max_length,
            dtype=root.text("dtype", "bfloat16"),
        )


def _check_angles(base: TransformerConfig, max_length: int) -> None:
    """The rotary tables are made whole, before any weight is read."""
    if max_length * base.head_dim > MAX_ANGLES:
        raise ConfigError(
            f"config.json: max_length {max_length} with heads of {base.head_dim} is more than this "
            "package takes"
        )


def _checked_dit(dit: TransformerConfig) -> TransformerConfig:
    """Its time embedding is sines, then cosines, at frequencies from a first to a last."""
    if dit.hidden_size < 4 or dit.hidden_size % 2:
        raise ConfigError(
            f"config.json: dit_config: 'hidden_dim' must be even and above 2, "
            f"found {dit.hidden_size}"
        )
    return dit


def _head_dim(section: Section, hidden: int, heads: int) -> int:
    """The size of a head, as given or as the width has it."""
    head = section.optional_integer("kv_channels", maximum=MAX_HEAD_SIZE) or hidden // heads
    if not 0 < head <= MAX_HEAD_SIZE or head % 2:
        raise ConfigError(
            f"{section.location}: a width of {hidden} with {heads} heads makes heads of {head}, "
            f"which must be even and {MAX_HEAD_SIZE} at most"
        )
    return head


def _language_model(lm: Section, use_mup: bool) -> TransformerConfig:
    hidden = lm.integer("hidden_size", maximum=MAX_WIDTH)
    heads = lm.integer("num_attention_heads", maximum=MAX_HEADS)
    return _transformer(
        lm,
        use_mup,
        hidden_size=hidden,
        intermediate_size=lm.integer("intermediate_size", maximum=4 * MAX_WIDTH),
        num_heads=heads,
        num_layers=lm.integer("num_hidden_layers", maximum=MAX_LAYERS),
        head_dim=_head_dim(lm, hidden, heads),
        no_rope=lm.flag("no_rope", False),
    )


def _local_transformer(section: Section, lm: Section, use_mup: bool) -> TransformerConfig:
    """LocEnc or LocDiT: own sizes, everything else shared with the language model."""
    hidden = section.integer("hidden_dim", 1024, maximum=MAX_WIDTH)
    heads = section.integer("num_heads", 16, maximum=MAX_HEADS)
    return _transformer(
        lm,
        use_mup,
        hidden_size=hidden,
        intermediate_size=section.integer("ffn_dim", 4096, maximum=4 * MAX_WIDTH),
        num_heads=heads,
        num_layers=section.integer("num_layers", 4, maximum=MAX_LAYERS),
        head_dim=_head_dim(section, hidden, heads),
        no_rope=False,
    )


def _transformer(
    lm: Section,
    use_mup: bool,
    *,
    hidden_size: int,
    intermediate_size: int,
    num_heads: int,
    num_layers: int,
    head_dim: int,
    no_rope: bool,
) -> TransformerConfig:
    kv_heads = lm.integer("num_key_value_heads", maximum=MAX_HEADS)
    if num_heads % kv_heads:
        raise ConfigError(
            f"config.json: {num_heads} attention heads cannot share {kv_heads} key-value heads"
        )
    return TransformerConfig(
        hidden_size=hidden_size,
        intermediate_size=intermediate_size,
        num_layers=num_layers,
        num_heads=num_heads,
        num_kv_heads=kv_heads,
        head_dim=head_dim,
        rms_norm_eps=lm.number("rms_norm_eps"),
        residual_scale=lm.number("scale_depth") / math.sqrt(num_layers) if use_mup else 1.0,
        rope=None if no_rope else _rope(lm, head_dim),
    )


def _rope(lm: Section, head_dim: int) -> RopeConfig:
    scaling = lm.section("rope_scaling")
    longest = lm.integer("max_position_embeddings", minimum=2, maximum=int(MAX_NUMBER))
    original = scaling.integer(
        "original_max_position_embeddings", minimum=2, maximum=int(MAX_NUMBER)
    )
    # The choice is static, as upstream: by the configured lengths, never by the sequence's.
    factors = scaling.numbers("long_factor" if longest > original else "short_factor")
    if len(factors) != head_dim // 2:
        raise ConfigError(
            f"config.json: rope_scaling has {len(factors)} factors, "
            f"a head of {head_dim} needs {head_dim // 2}"
        )
    scale = math.sqrt(1 + math.log(longest / original) / math.log(original))
    return RopeConfig(lm.number("rope_theta"), factors, scale, longest)


def _vae(section: Section, v1: bool) -> VAEConfig:
    sample_rate = section.integer(
        "sample_rate", 16000, minimum=MIN_SAMPLE_RATE, maximum=MAX_SAMPLE_RATE
    )
    boundaries = (
        None if v1 else section.optional_integers("sr_bin_boundaries", (20000, 30000, 40000))
    )
    encoder_rates = section.rates("encoder_rates", (2, 5, 8, 8))
    decoder_rates = section.rates("decoder_rates", (8, 8, 5, 2) if v1 else (8, 6, 5, 2, 2, 2))
    encoder_dim = section.integer("encoder_dim", 128, maximum=MAX_WIDTH >> len(encoder_rates))
    # Each rate halves the decoder's channels.
    decoder_dim = section.integer(
        "decoder_dim", 1536 if v1 else 2048, minimum=1 << len(decoder_rates), maximum=MAX_WIDTH
    )
    return VAEConfig(
        encoder_dim=encoder_dim,
        encoder_rates=encoder_rates,
        latent_dim=section.integer("latent_dim", 64, maximum=MAX_WIDTH),
        decoder_dim=decoder_dim,
        decoder_rates=decoder_rates,
        sample_rate=sample_rate,
        out_sample_rate=sample_rate
        if v1
        else section.integer(
            "out_sample_rate", 48000, minimum=MIN_SAMPLE_RATE, maximum=MAX_SAMPLE_RATE
        ),
        depthwise=section.flag("depthwise", True),
        use_noise_block=section.flag("use_noise_block", False),
        sr_bin_boundaries=boundaries,
        cond_type=section.text("cond_type", "scale_bias"),
        cond_dim=section.integer("cond_dim", 128, maximum=MAX_WIDTH),
        cond_out_layer=section.flag("cond_out_layer", False),
        first_generation=v1,
    )
