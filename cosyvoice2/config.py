"""`cosyvoice2.yaml` and the config.json of its Qwen2 -> frozen dataclasses: sizes of the networks.

The yaml is a program for HyperPyYAML: its tags name classes to construct and functions to call.
Here it is read as data: a tag is looked at by nobody, `!ref` alone stands for a value of the file,
or for two multiplied. What is about training is tolerated. It knows no weights and no MLX.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from speechbase.errors import CheckpointError, ConfigError, shown
from speechbase.sections import Section, read_object

MELS = 80
"""Of every mel in it; the flow and its noise are made for so many."""
SPEAKER = 192
"""Numbers of a speaker's vector."""
LOOK_AHEAD = 3
"""Tokens after the last that the flow's encoder looks at."""
FRAME = 480
"""Samples of a mel frame; a token has two."""
SAMPLE_RATE = 24_000

NAME = "cosyvoice2.yaml"
BLANK = "CosyVoice-BlankEN"
# What is built before a weight is seen must not be without end.
MOST_BYTES, MOST_LAYERS, MOST_WIDTH, MOST_TOKENS = 1 << 20, 256, 1 << 14, 1 << 20
MOST_HEADS, MOST_POSITIONS, MOST_CHUNK = 256, 1 << 20, 1000


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
    def head_dim(self) -> int:
        return self.hidden_size // self.num_heads

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


def read(folder: Path) -> Config:
    """Of a checkpoint's folder. Raises ConfigError, CheckpointError."""
    root = Section(NAME, _yaml(folder / NAME))
    qwen = Section(f"{BLANK}/config.json", _blank(folder / BLANK / "config.json"))
    rate = _only(root, "sample_rate", SAMPLE_RATE)
    chunk = root.integer("chunk_size", 25, most=MOST_CHUNK)
    return Config(
        sample_rate=rate,
        chunk=chunk,
        lm=_lm(root.section("llm"), qwen),
        flow=_flow(root.section("flow")),
        vocoder=_vocoder(root.section("hift"), rate),
    )


def _lm(section: Section, qwen: Section) -> LMConfig:
    hidden = qwen.integer("hidden_size", most=MOST_WIDTH)
    for key in ("llm_input_size", "llm_output_size"):
        _only(section, key, hidden)
    heads = qwen.integer("num_attention_heads", most=MOST_HEADS)
    kv_heads = qwen.integer("num_key_value_heads", most=MOST_HEADS)
    if hidden % heads or heads % kv_heads or hidden // heads % 2:
        raise ConfigError(
            f"{qwen.where}: a width of {hidden} cannot have {heads} heads that share {kv_heads}"
        )
    _only(qwen, "hidden_act", "silu", "silu")
    _only(qwen, "rope_scaling", None, None)
    _only(qwen, "tie_word_embeddings", True, True)
    _only(qwen, "use_sliding_window", False, False)
    sampling = section.section("sampling")
    return LMConfig(
        hidden_size=hidden,
        intermediate_size=qwen.integer("intermediate_size", most=4 * MOST_WIDTH),
        num_layers=qwen.integer("num_hidden_layers", most=MOST_LAYERS),
        num_heads=heads,
        num_kv_heads=kv_heads,
        rms_norm_eps=qwen.number("rms_norm_eps"),
        rope_theta=qwen.number("rope_theta"),
        vocab_size=qwen.integer("vocab_size", most=MOST_TOKENS),
        max_positions=qwen.integer("max_position_embeddings", most=MOST_POSITIONS),
        speech_tokens=section.integer("speech_token_size", most=MOST_TOKENS),
        top_p=sampling.number("top_p"),
        top_k=sampling.integer("top_k", most=1000),
        win_size=sampling.integer("win_size", most=1000),
        tau_r=sampling.number("tau_r"),
    )


def _flow(section: Section) -> FlowConfig:
    _only(section, "output_size", MELS)
    _only(section, "token_mel_ratio", 2)
    _only(section, "pre_lookahead_len", LOOK_AHEAD)
    encoder, decoder = section.section("encoder"), section.section("decoder")
    width = encoder.integer("output_size", most=MOST_WIDTH)
    for where in (encoder, section):
        _only(where, "input_size", width)
    heads = encoder.integer("attention_heads", most=MOST_HEADS)
    if width % heads or width % 2:
        raise ConfigError(f"{encoder.where}: a width of {width} cannot have {heads} heads")
    for key, value in (
        ("normalize_before", True),
        ("input_layer", "linear"),
        ("pos_enc_layer_type", "rel_pos_espnet"),
        ("selfattention_layer_type", "rel_selfattn"),
        ("use_cnn_module", False),
        ("macaron_style", False),
    ):
        _only(encoder, key, value)
    parameters = decoder.section("cfm_params").section("content")
    _only(parameters, "solver", "euler")
    _only(parameters, "t_scheduler", "cosine")
    return FlowConfig(
        vocab_size=section.integer("vocab_size", most=MOST_TOKENS),
        speaker_dim=_only(section, "spk_embed_dim", SPEAKER),
        guidance=parameters.number("inference_cfg_rate"),
        encoder=EncoderConfig(
            width=width,
            heads=heads,
            feed_forward=encoder.integer("linear_units", most=4 * MOST_WIDTH),
            layers=encoder.integer("num_blocks", most=MOST_LAYERS),
            chunk=encoder.integer("static_chunk_size", most=MOST_CHUNK),
        ),
        estimator=_estimator(decoder.section("estimator")),
    )


def _estimator(section: Section) -> EstimatorConfig:
    _only(section, "out_channels", MELS)
    _only(section, "in_channels", 4 * MELS)
    _only(section, "act_fn", "gelu")
    _only(section, "num_decoding_left_chunks", -1, -1)
    channels = section.data.get("channels")
    if not isinstance(channels, list) or len(channels) != 1:
        raise ConfigError(f"{section.where}: 'channels' must be one number, found {channels!r}")
    return EstimatorConfig(
        in_channels=4 * MELS,
        channels=Section(section.where, {"channels": channels[0]}).integer(
            "channels", most=MOST_WIDTH
        ),
        heads=section.integer("num_heads", most=MOST_HEADS),
        head_dim=section.integer("attention_head_dim", most=MOST_WIDTH),
        blocks=section.integer("n_blocks", most=MOST_LAYERS),
        mid_blocks=section.integer("num_mid_blocks", most=MOST_LAYERS),
        chunk=section.integer("static_chunk_size", most=2 * MOST_CHUNK),
    )


def _vocoder(section: Section, sample_rate: int) -> VocoderConfig:
    _only(section, "in_channels", MELS)
    _only(section, "sampling_rate", sample_rate)
    stft = section.section("istft_params")
    f0 = section.section("f0_predictor")
    _only(f0, "in_channels", MELS)
    _only(f0, "num_class", 1, 1)
    made = VocoderConfig(
        base_channels=section.integer("base_channels", most=MOST_WIDTH),
        harmonics=section.integer("nb_harmonics", most=100),
        alpha=section.number("nsf_alpha"),
        sigma=section.number("nsf_sigma"),
        voiced_threshold=section.number("nsf_voiced_threshold"),
        rates=section.rates("upsample_rates", ()),
        kernels=section.rates("upsample_kernel_sizes", ()),
        n_fft=stft.integer("n_fft", most=1024),
        hop=stft.integer("hop_len", most=256),
        res_kernels=section.rates("resblock_kernel_sizes", ()),
        res_dilations=_dilations(section, "resblock_dilation_sizes"),
        source_kernels=section.rates("source_resblock_kernel_sizes", ()),
        source_dilations=_dilations(section, "source_resblock_dilation_sizes"),
        slope=section.number("lrelu_slope"),
        limit=section.number("audio_limit"),
        f0_channels=f0.integer("cond_channels", most=MOST_WIDTH),
        sample_rate=sample_rate,
    )
    stages = len(made.rates)
    if not (
        made.frame == FRAME
        and made.n_fft == 4 * made.hop
        and len(made.kernels) == len(made.source_kernels) == len(made.source_dilations) == stages
        and len(made.res_kernels) == len(made.res_dilations)
        and all(k >= r and (k - r) % 2 == 0 for k, r in zip(made.kernels, made.rates, strict=True))
        and all(k % 2 for k in (*made.res_kernels, *made.source_kernels))
        and made.base_channels % 2**stages == 0
    ):
        raise ConfigError(
            f"{section.where}: its rates, kernels and dilations do not make frames of {FRAME} "
            "samples"
        )
    return made


def _dilations(section: Section, key: str) -> tuple[tuple[int, ...], ...]:
    rows = section.data.get(key)
    if not isinstance(rows, list) or len(rows) > 12:
        raise ConfigError(f"{section.where}: {key!r} must be a list of lists")
    return tuple(Section(section.where, {key: row}).rates(key, ()) for row in rows)


_MISSING = object()


def _only(section: Section, key: str, value: Any, default: Any = _MISSING) -> Any:
    """The one value that this package knows. Raises ConfigError."""
    found = section.data.get(key, default)
    if found is _MISSING or type(found) is not type(value) or found != value:
        said = "missing" if found is _MISSING else shown(repr(found))
        raise ConfigError(f"{section.where}: {key!r} must be {value!r}, found {said}")
    return found


def _blank(path: Path) -> dict[str, Any]:
    try:
        return read_object(path, MOST_BYTES, ConfigError)
    except FileNotFoundError:
        raise CheckpointError(f"{path}: missing; copy it from the model's repository") from None


# ---- the yaml


class _Plain(yaml.SafeLoader):
    """Tags are not looked at: what they stand before is a mapping, a list or a text."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("it has an alias, which no such file needs")
        return super().compose_node(parent, index)


@dataclass(frozen=True, slots=True)
class _Ref:
    """`!ref <a>` or `!ref <a> * <b>`."""

    names: tuple[str, ...]


_REF = re.compile(r"<(\w+)>(?: \* <(\w+)>)?")


def _tagged(loader: _Plain, suffix: str, node: yaml.Node) -> Any:
    if isinstance(node, yaml.MappingNode):
        return loader.construct_mapping(node, deep=True)
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node, deep=True)
    return str(node.value)


def _reference(loader: _Plain, node: yaml.Node) -> _Ref:
    found = _REF.fullmatch(str(node.value))
    if found is None:
        raise yaml.YAMLError(f"!ref {shown(str(node.value))} is not understood")
    return _Ref(tuple(name for name in found.groups() if name))


for _tag in ("!new:", "!name:", "!apply:"):
    _Plain.add_multi_constructor(_tag, _tagged)
_Plain.add_constructor("!ref", _reference)


def _yaml(path: Path) -> Mapping[str, Any]:
    """The file as plain data, references resolved. Raises ConfigError, CheckpointError."""
    try:
        if path.is_file() and path.stat().st_size > MOST_BYTES:
            raise ConfigError(f"{path}: such a file has {MOST_BYTES} bytes at most")
        text = path.read_text(encoding="utf-8")
        data = yaml.load(text, Loader=_Plain)  # a SafeLoader
        if not isinstance(data, dict):
            raise ConfigError(f"{path}: expected a mapping")
        return {key: _resolved(value, data) for key, value in data.items()}
    except FileNotFoundError:
        raise CheckpointError(
            f"{path.parent}: no {path.name}; is this a CosyVoice2 checkpoint?"
        ) from None
    except (OSError, ValueError, yaml.YAMLError, TypeError) as error:
        raise ConfigError(f"{path}: cannot be read: {shown(str(error))}") from error
    except RecursionError as error:
        raise ConfigError(f"{path}: cannot be read: it is nested without end") from error


def _resolved(value: Any, root: Mapping[str, Any]) -> Any:
    if isinstance(value, dict):
        return {key: _resolved(part, root) for key, part in value.items()}
    if isinstance(value, list):
        return [_resolved(part, root) for part in value]
    if not isinstance(value, _Ref):
        return value
    found = [root.get(name) for name in value.names]
    if len(found) == 1:
        # what is more than a value is about training
        return found[0] if not isinstance(found[0], dict | list | _Ref) else None
    if not all(type(one) is int for one in found):
        raise ConfigError(f"{NAME}: {' * '.join(value.names)} are not two whole numbers")
    return math.prod(found)
