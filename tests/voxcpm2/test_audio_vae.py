"""The codec against the official one: latents, waveforms, sample rates, streams."""

from __future__ import annotations

import mlx.core as mx
import numpy as np
import pytest

from speechbase.errors import ConfigError, RequestError
from tests.effort import quick
from voxcpm2.audio_vae import AudioVAE, Tails
from voxcpm2.config import Config
from voxcpm2.load import read_tensors, weight_files

VARIANTS = ["base", "stress", "square", "v1"]
SECOND_GENERATION = ["base", "stress", "square"]


@pytest.fixture(scope="module")
def codec(golden):
    made = {}

    def get(variant):
        if variant not in made:
            directory = golden(variant).checkpoint
            config = Config.from_dict(golden(variant).config)
            vae = AudioVAE(config.vae)
            vae.take(read_tensors(weight_files(directory), config)[1])
            made[variant] = vae
        return made[variant]

    return get


def frames(array):
    """Official (batch, latent_dim, time) -> ours (batch, time, latent_dim)."""
    return mx.array(array.transpose(0, 2, 1))


@pytest.mark.parametrize("variant", quick(VARIANTS, "base", "v1"))
@pytest.mark.parametrize(
    "length", quick([1, 2, 639, 640, 641, 1280, 2560, 5000, 8000], 1, 640, 641, 8000)
)
def test_encode_equals_official(golden, codec, variant, length):
    arrays = golden(variant).arrays("comp_vae")
    latents = codec(variant).encode(mx.array(arrays["enc_audio"][None, :length]))
    expected = arrays[f"enc_{length}"].transpose(0, 2, 1)
    assert latents.shape == expected.shape
    assert np.abs(latents - expected).max() < 1e-4
    assert np.abs(latents - expected).max() < 1e-5 * np.abs(expected).max()


@pytest.mark.parametrize("variant", quick(VARIANTS, "base", "v1"))
@pytest.mark.parametrize("name", ["1", "2", "4", "7", "batch"])
def test_decode_equals_official(golden, codec, variant, name):
    arrays = golden(variant).arrays("comp_vae")
    samples = codec(variant).decode(frames(arrays[f"dec_{name}_z"]))
    expected = arrays[f"dec_{name}"][:, 0]
    assert samples.shape == expected.shape
    assert np.abs(samples - expected).max() < 5e-5


@pytest.mark.parametrize("variant", quick(SECOND_GENERATION, "stress"))
def test_every_sample_rate_has_its_bucket(golden, codec, variant):
    arrays = golden(variant).arrays("comp_vae")
    rates, buckets = arrays["dec_sr_rates"].tolist(), arrays["dec_sr_bucket"].tolist()
    assert [codec(variant).bucket(rate) for rate in rates] == buckets
    for rate, expected in zip(rates, arrays["dec_sr"], strict=True):
        samples = codec(variant).decode(frames(arrays["dec_sr_z"]), rate)
        assert np.abs(samples[0] - expected).max() < 5e-5


@pytest.mark.parametrize("variant", quick(SECOND_GENERATION, "stress"))
@pytest.mark.parametrize("sizes", [[8], [4, 4], [1] * 8, [3, 1, 4]])
def test_stream_equals_official_whole(golden, codec, variant, sizes):
    arrays = golden(variant).arrays("comp_vae")
    latents = frames(arrays["stream_z"])
    stream = codec(variant).stream()
    ends = np.cumsum(sizes).tolist()
    chunks = [stream.push(latents[:, end - n : end]) for end, n in zip(ends, sizes, strict=True)]
    out_hop = codec(variant).config.out_hop
    assert [chunk.shape[1] for chunk in chunks] == [n * out_hop for n in sizes]
    samples = np.concatenate(chunks, axis=1)
    assert np.abs(samples - arrays["stream_full"][:, 0]).max() < 1e-4


@pytest.mark.parametrize("variant", quick(["base", "v1"], "v1"))
def test_long_input_is_worked_on_in_parts_without_seams(codec, variant, monkeypatch):
    monkeypatch.setattr("voxcpm2.audio_vae.MAX_CHUNK", 16)
    monkeypatch.setattr("voxcpm2.audio_vae.CACHE_NUMBERS", 1 << 16)
    vae, length = codec(variant), 16 + 7
    latents = mx.random.normal((2, length, vae.config.latent_dim), key=mx.random.key(0))
    audio = mx.random.normal((2, length * vae.config.hop - 3), key=mx.random.key(1)) * 0.1
    in_parts = vae.decode(latents), vae.encode(audio)
    monkeypatch.setattr("voxcpm2.audio_vae.MAX_CHUNK", 10 * length)
    monkeypatch.setattr("voxcpm2.audio_vae.CACHE_NUMBERS", 1 << 40)
    at_once = vae.decode(latents), vae.encode(audio)
    for parts, whole in zip(in_parts, at_once, strict=True):
        assert np.abs(parts - whole).max() < 1e-5 * np.abs(whole).max()


def test_batch_row_equals_row_alone(codec):
    vae = codec("base")
    latents = mx.random.normal((3, 6, vae.config.latent_dim), key=mx.random.key(0))
    batch = vae.decode(latents)
    for row in range(3):
        alone = vae.decode(latents[row : row + 1])[0]
        assert np.abs(batch[row] - alone).max() < 1e-5 * np.abs(alone).max()


def test_codec_stays_float32_for_bfloat16_latents(codec):
    vae = codec("base")
    latents = mx.ones((1, 2, vae.config.latent_dim), mx.bfloat16)
    assert vae.decode(latents).dtype == mx.float32
    assert vae.encode(mx.ones((1, 640), mx.bfloat16)).dtype == mx.float32


def test_first_generation_refuses_a_sample_rate(codec):
    with pytest.raises(RequestError, match="one sample rate"):
        codec("v1").decode(mx.zeros((1, 1, 16)), 24000)


def with_vae(golden, **options):
    data = golden("base").config
    return Config.from_dict(data | {"audio_vae_config": data["audio_vae_config"] | options}).vae


def test_concatenated_condition_equals_its_definition(golden):
    config = with_vae(golden, cond_type="concat", cond_dim=5, cond_out_layer=True)
    vae = AudioVAE(config)
    shapes = vae.expected_shapes()
    assert shapes["decoder.sr_cond_model.2.cond_embed.weight"] == (4, 5)
    assert shapes["decoder.sr_cond_model.2.out_layer.0.alpha"] == (1, 133, 1)
    assert shapes["decoder.sr_cond_model.2.out_layer.1.weight"] == (128, 133, 1)
    keys = mx.random.split(mx.random.key(0), len(shapes))
    tensors = {
        name: mx.random.normal(shape, key=key) * 0.3
        for (name, shape), key in zip(shapes.items(), keys, strict=True)
    }
    vae.take(tensors)
    condition = vae.decoder.sr_cond_model["2"]
    x = np.array(mx.random.normal((1, 3, 128), key=keys[0]))
    got = condition(mx.array(x), 3, Tails())
    prefix = "decoder.sr_cond_model.2."
    t = {name.removeprefix(prefix): np.array(v) for name, v in tensors.items() if prefix in name}
    row = np.broadcast_to(t["cond_embed.weight"][3], (1, 3, 5))
    y = np.concatenate([x, row], axis=-1)
    alpha = t["out_layer.0.alpha"][0, :, 0]
    y = y + np.sin(alpha * y) ** 2 / (alpha + 1e-9)
    expected = y @ t["out_layer.1.weight"][..., 0].T + t["out_layer.1.bias"]
    assert np.abs(got - expected).max() < 1e-4 * np.abs(expected).max()


def test_codec_without_depthwise_convolutions_equals_a_plain_one(golden):
    """Each depthwise weight, spread over the diagonal of a full one, gives the same codec."""
    depthwise = AudioVAE(with_vae(golden))
    full = AudioVAE(with_vae(golden, depthwise=False))
    shapes = depthwise.expected_shapes()
    keys = mx.random.split(mx.random.key(3), len(shapes))
    tensors = {
        name: mx.random.normal(shape, key=key) * 0.2
        for (name, shape), key in zip(shapes.items(), keys, strict=True)
    }
    depthwise.take(tensors)
    first, second = "decoder.model.0", "decoder.model.1"
    joined = tensors[f"{second}.weight"] * tensors[f"{first}.weight"].transpose(1, 0, 2)
    bias = tensors[f"{second}.weight"][..., 0] @ tensors[f"{first}.bias"]
    spread = {f"{first}.weight": joined, f"{first}.bias": tensors[f"{second}.bias"] + bias}
    for name, tensor in tensors.items():
        if name.startswith((first + ".", second + ".")):
            continue
        parts = name.split(".")
        if parts[0] == "decoder" and parts[1] in ("model", "sr_cond_model"):
            parts[2] = str(int(parts[2]) - 1)
        moved = ".".join(parts)
        if full.expected_shapes()[moved] != tensor.shape:
            tensor = mx.eye(tensor.shape[0])[..., None] * tensor
        spread[moved] = tensor
    full.take(spread)
    latents = mx.random.normal((1, 3, 16), key=keys[0])
    audio = mx.random.normal((1, 1280), key=keys[1])
    for a, b in (
        (depthwise.encode(audio), full.encode(audio)),
        (depthwise.decode(latents), full.decode(latents)),
    ):
        assert np.abs(a - b).max() < 1e-4 * np.abs(b).max()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cond_type": "multiply"}, "cond_type 'multiply' is not known"),
        ({"cond_type": "concat"}, "needs cond_out_layer"),
        ({"use_noise_block": True}, "use_noise_block"),
    ],
)
def test_unknown_conditioning_is_refused(golden, options, message):
    with pytest.raises(ConfigError, match=message):
        AudioVAE(with_vae(golden, **options))
