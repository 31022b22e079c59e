"""Reads the sizes of the networks from `cosyvoice2.yaml` and Qwen2's config.json.

The yaml file is a program for HyperPyYAML: its tags name classes to construct and functions to
call. Here it is read as plain data: tags are ignored, except that `!ref` stands for a value of the
file or the product of two. Settings for training are ignored. Knows no weights and no MLX.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from speechbase.errors import CheckpointError, ConfigError, printable
from speechbase.sections import Section, read_object

MELS = 80
"""Bands of a mel; the flow and its noise have a fixed number."""
SPEAKER_SIZE = 192
"""Size of a speaker's vector."""
LOOK_AHEAD = 3
"""Tokens after the current one that the flow's encoder looks at."""
FRAME_SAMPLES = 480
"""Samples of a mel frame; a token has two frames."""
SAMPLE_RATE = 24_000

CONFIG_FILE = "cosyvoice2.yaml"
QWEN_FOLDER = "CosyVoice-BlankEN"
# Networks are built before any weight is read, so their sizes are limited.
MAX_BYTES, MAX_LAYERS, MAX_WIDTH, MAX_TOKENS = 1 << 20, 256, 1 << 14, 1 << 20
MAX_HEADS, MAX_POSITIONS, MAX_CHUNK = 256, 1 << 20, 1000


@dataclass(frozen=True, slots=True)
class LMConfig:
    """Qwen2 and the layers around it; the speech vocabulary has three ids more than tokens."""

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


def read_config(folder: Path) -> Config:
    """Reads the settings in a checkpoint's folder. Raises ConfigError, CheckpointError."""
    root = Section(CONFIG_FILE, _read_yaml(folder / CONFIG_FILE))
    qwen = Section(
        f"{QWEN_FOLDER}/config.json", _read_qwen_config(folder / QWEN_FOLDER / "config.json")
    )
    rate = _require(root, "sample_rate", SAMPLE_RATE)
    chunk = root.integer("chunk_size", 25, maximum=MAX_CHUNK)
    return Config(
        sample_rate=rate,
        chunk=chunk,
        lm=_lm(root.section("llm"), qwen),
        flow=_flow(root.section("flow")),
        vocoder=_vocoder(root.section("hift"), rate),
    )


def _lm(section: Section, qwen: Section) -> LMConfig:
    hidden = qwen.integer("hidden_size", maximum=MAX_WIDTH)
    for key in ("llm_input_size", "llm_output_size"):
        _require(section, key, hidden)
    heads = qwen.integer("num_attention_heads", maximum=MAX_HEADS)
    kv_heads = qwen.integer("num_key_value_heads", maximum=MAX_HEADS)
    if hidden % heads or heads % kv_heads or hidden // heads % 2:
        raise ConfigError(
            f"{qwen.location}: a width of {hidden} cannot have {heads} heads that share {kv_heads}"
        )
    _require(qwen, "hidden_act", "silu", "silu")
    _require(qwen, "rope_scaling", None, None)
    _require(qwen, "tie_word_embeddings", True, True)
    _require(qwen, "use_sliding_window", False, False)
    sampling = section.section("sampling")
    return LMConfig(
        hidden_size=hidden,
        intermediate_size=qwen.integer("intermediate_size", maximum=4 * MAX_WIDTH),
        num_layers=qwen.integer("num_hidden_layers", maximum=MAX_LAYERS),
        num_heads=heads,
        num_kv_heads=kv_heads,
        rms_norm_eps=qwen.number("rms_norm_eps"),
        rope_theta=qwen.number("rope_theta"),
        vocab_size=qwen.integer("vocab_size", maximum=MAX_TOKENS),
        max_positions=qwen.integer("max_position_embeddings", maximum=MAX_POSITIONS),
        speech_tokens=section.integer("speech_token_size", maximum=MAX_TOKENS),
        top_p=sampling.number("top_p"),
        top_k=sampling.integer("top_k", maximum=1000),
        win_size=sampling.integer("win_size", maximum=1000),
        tau_r=sampling.number("tau_r"),
    )


def _flow(section: Section) -> FlowConfig:
    _require(section, "output_size", MELS)
    _require(section, "token_mel_ratio", 2)
    _require(section, "pre_lookahead_len", LOOK_AHEAD)
    encoder, decoder = section.section("encoder"), section.section("decoder")
    width = encoder.integer("output_size", maximum=MAX_WIDTH)
    for part in (encoder, section):
        _require(part, "input_size", width)
    heads = encoder.integer("attention_heads", maximum=MAX_HEADS)
    if width % heads or width % 2:
        raise ConfigError(f"{encoder.location}: a width of {width} cannot have {heads} heads")
    for key, expected in (
        ("normalize_before", True),
        ("input_layer", "linear"),
        ("pos_enc_layer_type", "rel_pos_espnet"),
        ("selfattention_layer_type", "rel_selfattn"),
        ("use_cnn_module", False),
        ("macaron_style", False),
    ):
        _require(encoder, key, expected)
    parameters = decoder.section("cfm_params").section("content")
    _require(parameters, "solver", "euler")
    _require(parameters, "t_scheduler", "cosine")
    return FlowConfig(
        vocab_size=section.integer("vocab_size", maximum=MAX_TOKENS),
        speaker_dim=_require(section, "spk_embed_dim", SPEAKER_SIZE),
        guidance=parameters.number("inference_cfg_rate"),
        encoder=EncoderConfig(
            width=width,
            heads=heads,
            feed_forward=encoder.integer("linear_units", maximum=4 * MAX_WIDTH),
            layers=encoder.integer("num_blocks", maximum=MAX_LAYERS),
            chunk=encoder.integer("static_chunk_size", maximum=MAX_CHUNK),
        ),
        estimator=_estimator(decoder.section("estimator")),
    )


def _estimator(section: Section) -> EstimatorConfig:
    _require(section, "out_channels", MELS)
    _require(section, "in_channels", 4 * MELS)
    _require(section, "act_fn", "gelu")
    _require(section, "num_decoding_left_chunks", -1, -1)
    channels = section.fields.get("channels")
    if not isinstance(channels, list) or len(channels) != 1:
        raise ConfigError(f"{section.location}: 'channels' must be one number, found {channels!r}")
    return EstimatorConfig(
        in_channels=4 * MELS,
        channels=Section(section.location, {"channels": channels[0]}).integer(
            "channels", maximum=MAX_WIDTH
        ),
        heads=section.integer("num_heads", maximum=MAX_HEADS),
        head_dim=section.integer("attention_head_dim", maximum=MAX_WIDTH),
        blocks=section.integer("n_blocks", maximum=MAX_LAYERS),
        mid_blocks=section.integer("num_mid_blocks", maximum=MAX_LAYERS),
        chunk=section.integer("static_chunk_size", maximum=2 * MAX_CHUNK),
    )


def _vocoder(section: Section, sample_rate: int) -> VocoderConfig:
    _require(section, "in_channels", MELS)
    _require(section, "sampling_rate", sample_rate)
    stft = section.section("istft_params")
    f0 = section.section("f0_predictor")
    _require(f0, "in_channels", MELS)
    _require(f0, "num_class", 1, 1)
    config = VocoderConfig(
        base_channels=section.integer("base_channels", maximum=MAX_WIDTH),
        harmonics=section.integer("nb_harmonics", maximum=100),
        alpha=section.number("nsf_alpha"),
        sigma=section.number("nsf_sigma"),
        voiced_threshold=section.number("nsf_voiced_threshold"),
        rates=section.rates("upsample_rates", ()),
        kernels=section.rates("upsample_kernel_sizes", ()),
        n_fft=stft.integer("n_fft", maximum=1024),
        hop=stft.integer("hop_len", maximum=256),
        res_kernels=section.rates("resblock_kernel_sizes", ()),
        res_dilations=_dilations(section, "resblock_dilation_sizes"),
        source_kernels=section.rates("source_resblock_kernel_sizes", ()),
        source_dilations=_dilations(section, "source_resblock_dilation_sizes"),
        slope=section.number("lrelu_slope"),
        limit=section.number("audio_limit"),
        f0_channels=f0.integer("cond_channels", maximum=MAX_WIDTH),
        sample_rate=sample_rate,
    )
    stages = len(config.rates)
    if not (
        config.frame == FRAME_SAMPLES
        and config.n_fft == 4 * config.hop
        and len(config.kernels)
        == len(config.source_kernels)
        == len(config.source_dilations)
        == stages
        and len(config.res_kernels) == len(config.res_dilations)
        and all(
            k >= r and (k - r) % 2 == 0 for k, r in zip(config.kernels, config.rates, strict=True)
        )
        and all(k % 2 for k in (*config.res_kernels, *config.source_kernels))
        and config.base_channels % 2**stages == 0
    ):
        raise ConfigError(
            f"{section.location}: its rates, kernels and dilations do not make frames of "
            f"{FRAME_SAMPLES} samples"
        )
    return config


def _dilations(section: Section, key: str) -> tuple[tuple[int, ...], ...]:
    rows = section.fields.get(key)
    if not isinstance(rows, list) or len(rows) > 12:
        raise ConfigError(f"{section.location}: {key!r} must be a list of lists")
    return tuple(Section(section.location, {key: row}).rates(key, ()) for row in rows)


_MISSING = object()


def _require(section: Section, key: str, expected: Any, default: Any = _MISSING) -> Any:
    """Returns a setting that must equal `expected`. Raises ConfigError."""
    actual = section.fields.get(key, default)
    if actual is _MISSING or type(actual) is not type(expected) or actual != expected:
        description = "missing" if actual is _MISSING else printable(repr(actual))
        raise ConfigError(f"{section.location}: {key!r} must be {expected!r}, found {description}")
    return actual


def _read_qwen_config(path: Path) -> dict[str, Any]:
    try:
        return read_object(path, MAX_BYTES, ConfigError)
    except FileNotFoundError:
        raise CheckpointError(f"{path}: missing; copy it from the model's repository") from None


# ---- the yaml


class _PlainLoader(yaml.SafeLoader):
    """Loads plain mappings, lists and texts, whatever their tags."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("it has an alias, which no such file needs")
        return super().compose_node(parent, index)


@dataclass(frozen=True, slots=True)
class _Reference:
    """`!ref <a>` or `!ref <a> * <b>`."""

    names: tuple[str, ...]


_REF = re.compile(r"<(\w+)>(?: \* <(\w+)>)?")


def _construct_plain(loader: _PlainLoader, suffix: str, node: yaml.Node) -> Any:
    if isinstance(node, yaml.MappingNode):
        return loader.construct_mapping(node, deep=True)
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node, deep=True)
    return str(node.value)


def _construct_reference(loader: _PlainLoader, node: yaml.Node) -> _Reference:
    match = _REF.fullmatch(str(node.value))
    if match is None:
        raise yaml.YAMLError(f"!ref {printable(str(node.value))} is not understood")
    return _Reference(tuple(name for name in match.groups() if name))


for _tag in ("!new:", "!name:", "!apply:"):
    _PlainLoader.add_multi_constructor(_tag, _construct_plain)
_PlainLoader.add_constructor("!ref", _construct_reference)


def _read_yaml(path: Path) -> Mapping[str, Any]:
    """Reads a file as plain data, with references resolved.

    Raises ConfigError, CheckpointError.
    """
    try:
        if path.is_file() and path.stat().st_size > MAX_BYTES:
            raise ConfigError(f"{path}: such a file has {MAX_BYTES} bytes at most")
        text = path.read_text(encoding="utf-8")
        document = yaml.load(text, Loader=_PlainLoader)  # a SafeLoader
        if not isinstance(document, dict):
            raise ConfigError(f"{path}: expected a mapping")
        return {key: _resolve_references(node, document) for key, node in document.items()}
    except FileNotFoundError:
        raise CheckpointError(
            f"{path.parent}: no {path.name}; is this a CosyVoice2 checkpoint?"
        ) from None
    except (OSError, ValueError, yaml.YAMLError, TypeError) as error:
        raise ConfigError(f"{path}: cannot be read: {printable(str(error))}") from error
    except RecursionError as error:
        raise ConfigError(f"{path}: cannot be read: it is nested without end") from error


def _resolve_references(node: Any, root: Mapping[str, Any]) -> Any:
    if isinstance(node, dict):
        return {key: _resolve_references(part, root) for key, part in node.items()}
    if isinstance(node, list):
        return [_resolve_references(part, root) for part in node]
    if not isinstance(node, _Reference):
        return node
    numbers = [root.get(name) for name in node.names]
    if len(numbers) == 1:
        # A reference to a mapping or list is a setting for training.
        return numbers[0] if not isinstance(numbers[0], dict | list | _Reference) else None
    if not all(type(number) is int for number in numbers):
        raise ConfigError(f"{CONFIG_FILE}: {' * '.join(node.names)} are not two whole numbers")
    return math.prod(numbers)
