"""Loads the network with its weights, the codec and the tokenizer from a directory or a hub id.

Layouts, distinguished by file and tensor names, never by shapes:

    official    model.safetensors, its shards, or pytorch_model.bin; audiovae.safetensors or .pth
    community   as mlx-audio converts: the VAE inside model.safetensors, under names of its own and
                in MLX's axis order; bf16 or quantised
    converted   as `python -m voxcpm2 convert` writes: official names, VAE inside, weight norm
                folded

Every tensor must be expected, and every expected tensor present in its shape; one error names all
that are not.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mlx.core as mx

from speechbase import files as tensor_files
from speechbase.errors import CheckpointError, ConfigError, printable
from speechbase.files import Tensors, compare_shapes, identity, read
from speechbase.hub import locate
from speechbase.sections import MAX_STAGE_RATE, read_object
from speechbase.weights import (
    DTYPES,
    check_numbers,
    fold_weight_norm,
    parameters,
    parse_dtype,
    quantised_as,
    quantize_like,
)
from voxcpm2 import lora as lora_
from voxcpm2.audio_vae import AudioVAE
from voxcpm2.config import Config
from voxcpm2.model import Network
from voxcpm2.tokenizer import Tokenizer

MAX_CONFIG_BYTES = 1 << 20
"""Bytes of config.json."""
TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json")
HUB_FILES = [
    "config.json",
    "model*.safetensors",
    "model.safetensors.index.json",
    "pytorch_model.bin",
    "audiovae.*",
    "lora_*",
    *TOKENIZER_FILES,
]


@dataclass(frozen=True, slots=True, eq=False)
class Checkpoint:
    """A loaded checkpoint."""

    config: Config
    network: Network
    vae: AudioVAE
    tokenizer: Tokenizer
    path: Path
    revision: str | None  # the hub's commit; None for a directory
    dtype: mx.Dtype
    fingerprint: str  # see `fingerprint`


def load(
    path_or_repo: str | Path, *, dtype: Any = None, lora: str | Path | None = None
) -> Checkpoint:
    """Loads a checkpoint from a directory or a hub id, "owner/name" or "owner/name@revision".

    The network computes in `dtype` (a name or an MLX dtype), by default that of config.json; the
    codec always computes in float32. `lora`, also a directory or a hub id, is applied unmerged.
    Everything that can be checked before weights are read is. Raises CheckpointError, ConfigError,
    RequestError.
    """
    requested_dtype = None if dtype is None else parse_dtype(dtype)
    path, revision = locate(path_or_repo, HUB_FILES)
    settings = read_config(path)
    config = Config.from_dict(settings)
    network_dtype = config_dtype(config) if requested_dtype is None else requested_dtype
    tokenizer = Tokenizer.load(path)
    weights = weight_files(path)
    adapter = None if lora is None else lora_.read(locate(lora, HUB_FILES)[0])
    checkpoint_fingerprint = fingerprint(settings, weights, adapter)

    network, vae = Network(config), AudioVAE(config.vae)
    fill(network, vae, *read_tensors(weights, config), settings)
    network.set_dtype(network_dtype)
    if adapter is not None:
        lora_.apply(network, adapter)
    mx.eval(network.parameters(), vae.parameters())
    return Checkpoint(
        config, network, vae, tokenizer, path, revision, network_dtype, checkpoint_fingerprint
    )


def config_dtype(config: Config) -> mx.Dtype:
    """Returns the dtype that config.json names. Raises ConfigError."""
    if config.dtype not in DTYPES:
        raise ConfigError(
            f"config.json: dtype {printable(config.dtype)!r} is not known; known: "
            + ", ".join(DTYPES)
        )
    return DTYPES[config.dtype]


def read_config(path: Path) -> dict[str, Any]:
    """Reads config.json of a directory. Raises CheckpointError, ConfigError."""
    try:
        return read_object(path / "config.json", MAX_CONFIG_BYTES, ConfigError)
    except FileNotFoundError:
        raise CheckpointError(f"{path}: no config.json; is this a VoxCPM checkpoint?") from None


# ---- files


def weight_files(path: Path) -> list[Path]:
    """Returns the files of a directory's weights, the VAE's last. Raises CheckpointError."""
    vae = (path / name for name in ("audiovae.safetensors", "audiovae.pth"))
    return tensor_files.weight_files(path) + [file for file in vae if file.is_file()][:1]


# ---- tensors


def read_tensors(files: Iterable[Path], config: Config) -> tuple[Tensors, Tensors]:
    """Returns the network's and the codec's tensors under official names, loaded lazily.

    The codec's are in PyTorch's axis order with the weight norm folded. Like upstream, a VAE file
    wins over a VAE inside the main file.
    """
    network: Tensors = {}
    embedded_vae: Tensors = {}
    separate_vae: Tensors = {}
    for file in files:
        tensors = read(file)
        if file.stem == "audiovae":
            separate_vae = tensors
            continue
        for name, tensor in tensors.items():
            if name.startswith("audio_vae."):
                embedded_vae[name.removeprefix("audio_vae.")] = tensor
            else:
                network[name] = tensor
    if "encoder.conv_in.weight" in embedded_vae:
        embedded_vae = _to_official_layout(embedded_vae, config)
        network = {n: tensor for n, tensor in network.items() if not _ROPE_BUFFER.search(n)}
    return network, fold_weight_norm(separate_vae or embedded_vae)


# mlx-audio stores rotary tables; here they are computed from config.json.
_ROPE_BUFFER = re.compile(r"\.rope\.(inv_freq|long_factor|short_factor)$")
_NUMBER = re.compile("0|[1-9][0-9]{0,3}")
_UNIT = {"snake1": "block.0", "conv1": "block.1", "snake2": "block.2", "conv2": "block.3"}
_ENCODER_BLOCK = {
    "res1": "block.0", "res2": "block.1", "res3": "block.2", "snake": "block.3", "conv": "block.4"
}  # fmt: skip
_DECODER_BLOCK = {
    "snake": "block.0", "conv_t": "block.1", "res1": "block.2", "res2": "block.3", "res3": "block.4"
}  # fmt: skip
_CONDITION = {"out_snake": "out_layer.0", "out_conv": "out_layer.1"}


def _to_official_layout(vae: Tensors, config: Config) -> Tensors:
    """Converts mlx-audio's names and axes to official ones; other names are kept."""
    first = 2 if config.vae.depthwise else 1
    last = first + len(config.vae.decoder_rates)

    def official_name(name: str) -> str:
        match name.split("."):
            case ["encoder", "conv_in", *suffix]:
                parts = ["encoder.block.0", *suffix]
            case ["encoder", "blocks", "layers", n, part, *suffix] if _NUMBER.fullmatch(n):
                inner_names = [_UNIT.get(segment, segment) for segment in suffix]
                parts = [
                    f"encoder.block.{int(n) + 1}",
                    _ENCODER_BLOCK.get(part, part),
                    *inner_names,
                ]
            case ["decoder", "conv_in", "layers", *suffix]:
                parts = ["decoder.model", *suffix]
            case ["decoder", "conv_in", *suffix]:
                parts = ["decoder.model.0", *suffix]
            case ["decoder", "blocks", "layers", n, part, *suffix] if _NUMBER.fullmatch(n):
                inner_names = [_UNIT.get(segment, segment) for segment in suffix]
                parts = [
                    f"decoder.model.{int(n) + first}",
                    _DECODER_BLOCK.get(part, part),
                    *inner_names,
                ]
            case ["decoder", "snake_out", *suffix]:
                parts = [f"decoder.model.{last}", *suffix]
            case ["decoder", "conv_out", *suffix]:
                parts = [f"decoder.model.{last + 1}", *suffix]
            case ["decoder", "sr_cond_layers", n, part, *suffix] if _NUMBER.fullmatch(n):
                number = int(n) + first
                parts = [f"decoder.sr_cond_model.{number}", _CONDITION.get(part, part), *suffix]
            case _:
                return name
        return ".".join(parts)

    def official_axes(name: str, tensor: mx.array) -> mx.array:
        if tensor.ndim != 3:
            return tensor
        # Transposed: (out, k, in) -> (in, out, k). Others and alpha: last two swapped.
        return tensor.transpose((2, 0, 1) if ".conv_t." in name else (0, 2, 1))

    return {official_name(name): official_axes(name, tensor) for name, tensor in vae.items()}


# ---- loading


def fill(
    network: Network,
    vae: AudioVAE,
    tensors: Tensors,
    vae_tensors: Tensors,
    settings: Mapping[str, Any],
) -> Tensors:
    """Loads all tensors; one CheckpointError names all that do not fit. Evaluates nothing.

    `settings` is the parsed config.json, which describes the quantisation of a quantised
    checkpoint. Returns the tensors that the codec loaded.
    """
    quantization = settings.get("quantization") or settings.get("quantization_config")
    quantize_like(network, tensors, quantization)
    vae_tensors = _dequantize(vae_tensors, quantization)
    vae_tensors = _without_unused(vae_tensors, vae)
    expected = {name: p.shape for name, p in parameters(network).items()}
    expected |= {f"audio_vae.{name}": shape for name, shape in vae.expected_shapes().items()}
    all_tensors = tensors | {f"audio_vae.{name}": t for name, t in vae_tensors.items()}
    compare_shapes(expected, {name: t.shape for name, t in all_tensors.items()})
    check_numbers(all_tensors, parameters(network))
    network.load_weights(list(tensors.items()))
    vae.take(vae_tensors)
    return vae_tensors


def _without_unused(tensors: Tensors, vae: AudioVAE) -> Tensors:
    """Drops tensors that inference does not use, and checks the bucket boundaries."""
    boundaries = tensors.get("decoder.sr_bin_boundaries")
    configured = vae.config.sr_bin_boundaries
    used_tensors = {
        name: tensor
        for name, tensor in tensors.items()
        if not name.startswith("encoder.fc_logvar.")
    }
    if boundaries is None or configured is None:
        return used_tensors
    del used_tensors["decoder.sr_bin_boundaries"]
    is_short = boundaries.size <= MAX_STAGE_RATE
    if not is_short or boundaries.tolist() != list(configured):
        raise CheckpointError(
            "audio_vae.decoder.sr_bin_boundaries is "
            f"{boundaries.tolist() if is_short else 'long'}, "
            f"config.json says {printable(list(configured))}"
        )
    return used_tensors


def _dequantize(vae: Tensors, quantization: Any) -> Tensors:
    """Dequantises the tables of the sample-rate condition, which mlx-audio quantises too."""
    dequantized = dict(vae)
    for name in vae:
        base = name.removesuffix(".scales")
        if base == name:
            continue
        try:
            dequantized[f"{base}.weight"] = mx.dequantize(
                dequantized.pop(f"{base}.weight"),
                dequantized.pop(name),
                dequantized.pop(f"{base}.biases", None),
                **quantised_as(quantization, f"audio_vae.{base}"),
            )
        except (KeyError, ValueError, TypeError, RuntimeError) as error:
            raise CheckpointError(
                f"audio_vae.{printable(base)}: cannot be dequantised: {printable(str(error))}"
            ) from error
    return dequantized


# ---- identity


def fingerprint(
    settings: Mapping[str, Any], files: Iterable[Path], adapter: lora_.Adapter | None = None
) -> str:
    """Hashes what affects the sound: config.json, weights by `files.identity`, LoRA and its scale.

    The same files have the same hash, wherever they are.
    """
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode())
    for file in files:
        digest.update(file.name.encode() + identity(file))
    if adapter is not None:
        digest.update(f"lora {adapter.scale} ".encode() + identity(adapter.file))
    return digest.hexdigest()
