"""Loading: every layout gives the same weights, and whatever does not fit is one clear error."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import huggingface_hub
import mlx.core as mx
import mlx.nn as nn
import pytest
from huggingface_hub.errors import LocalEntryNotFoundError, OfflineModeIsEnabled

from speechbase.errors import CheckpointError, ConfigError, RequestError
from tests.effort import quick
from voxcpm2.audio_vae import AudioVAE
from voxcpm2.config import Config
from voxcpm2.load import (
    fill,
    fingerprint,
    fold_weight_norm,
    load,
    parameters,
    read_tensors,
    weight_files,
)
from voxcpm2.model import Network

ALL = ["base", "bf16", "stress", "square", "v1"]


def differences(one, other):
    """Names of arrays in which two checkpoints differ, at all."""
    return [
        name
        for part in ("network", "vae")
        for (name, a), b in zip(
            parameters(getattr(one, part)).items(),
            parameters(getattr(other, part)).values(),
            strict=True,
        )
        if a.dtype != b.dtype or not mx.array_equal(a, b)
    ]


def layout(golden, checkpoint_dir: Path, variant: str) -> tuple[dict, dict]:
    """The main file's and the VAE's tensors, for rewriting; those files are gone."""
    main = mx.load(str(checkpoint_dir / "model.safetensors"))
    vae = mx.load(str(golden("square").path("alt/audiovae.safetensors")))
    if variant != "square":
        vae = read_tensors(
            [checkpoint_dir / "audiovae.pth"], Config.from_dict(golden(variant).config)
        )[1]
    mx.eval(main, vae)
    (checkpoint_dir / "model.safetensors").unlink()
    (checkpoint_dir / "audiovae.pth").unlink()
    return main, vae


@pytest.fixture
def directory(golden, tmp_path):
    return golden("square").assemble(tmp_path / "checkpoint")


@pytest.mark.parametrize("variant", quick(ALL, "bf16", "v1"))
def test_official_layout_loads_in_the_dtype_of_its_config(golden, variant):
    loaded = load(golden(variant).checkpoint)
    wanted = mx.bfloat16 if variant == "bf16" else mx.float32
    assert loaded.dtype == wanted
    assert {a.dtype for a in parameters(loaded.network).values()} == {wanted}
    assert {a.dtype for a in parameters(loaded.vae).values()} == {mx.float32}
    assert loaded.revision is None
    stored = mx.load(str(golden(variant).path("checkpoint/model.safetensors")))
    assert all(mx.array_equal(a, stored[n]) for n, a in parameters(loaded.network).items())


@pytest.mark.parametrize("name", ["float16", "bfloat16", "bf16", mx.bfloat16, mx.float16])
def test_dtype_covers_the_network_alone(golden, name):
    loaded = load(golden("base").checkpoint, dtype=name)
    wanted = mx.float16 if name in ("float16", mx.float16) else mx.bfloat16
    assert {a.dtype for a in parameters(loaded.network).values()} == {wanted}
    assert {a.dtype for a in parameters(loaded.vae).values()} == {mx.float32}


def test_vae_as_safetensors_equals_pth(golden, checkpoint, directory):
    (directory / "audiovae.pth").unlink()
    shutil.copyfile(
        golden("square").path("alt/audiovae.safetensors"), directory / "audiovae.safetensors"
    )
    assert differences(load(directory), checkpoint("square")) == []


def test_new_weight_norm_names_equal_the_old(golden, checkpoint, directory):
    main, vae = layout(golden, directory, "square")
    names = {
        "weight_g": "parametrizations.weight.original0",
        "weight_v": "parametrizations.weight.original1",
    }
    renamed = {}
    for name, tensor in vae.items():
        head, _, tail = name.rpartition(".")
        renamed[f"{head}.{names.get(tail, tail)}"] = tensor
    assert sum("original0" in name for name in renamed) > 50
    mx.save_safetensors(str(directory / "model.safetensors"), main)
    mx.save_safetensors(str(directory / "audiovae.safetensors"), renamed)
    assert differences(load(directory), checkpoint("square")) == []


@pytest.mark.parametrize("wrapped", [False, True])
def test_pytorch_model_bin_equals_safetensors(golden, checkpoint, directory, save_torch, wrapped):
    main, vae = layout(golden, directory, "square")
    save_torch(directory / "pytorch_model.bin", {"state_dict": main} if wrapped else main)
    save_torch(directory / "audiovae.pth", {"state_dict": vae} if wrapped else vae)
    assert differences(load(directory), checkpoint("square")) == []


def shard(directory: Path, main: dict, count: int = 3) -> dict[str, str]:
    names = sorted(main)
    files = {
        name: f"model-{i % count + 1:05}-of-{count:05}.safetensors" for i, name in enumerate(names)
    }
    for file in set(files.values()):
        part = {name: main[name] for name in names if files[name] == file}
        mx.save_safetensors(str(directory / file), part)
    index = {"metadata": {"total_size": 1}, "weight_map": files}
    (directory / "model.safetensors.index.json").write_text(json.dumps(index))
    return files


def test_shards_equal_the_whole(checkpoint, directory):
    main = mx.load(str(directory / "model.safetensors"))
    mx.eval(main)
    (directory / "model.safetensors").unlink()
    shard(directory, main)
    assert differences(load(directory), checkpoint("square")) == []


# ---- as mlx-audio converts


def community(golden, variant: str, directory: Path, *, bits: int | None, group: int) -> Path:
    """Rewrite a checkpoint as mlx-audio does; a test below holds it to a real conversion."""
    golden(variant).assemble(directory)
    config = Config.from_dict(golden(variant).config)
    main, vae = layout(golden, directory, variant)
    if variant == "square":
        vae = read_tensors([golden("square").path("checkpoint/audiovae.pth")], config)[1]
    first, blocks = 2, len(config.vae.decoder_rates)
    units = ["snake1", "conv1", "snake2", "conv2"]
    encoder = ["res1", "res2", "res3", "snake", "conv"]
    decoder = ["snake", "conv_t", "res1", "res2", "res3"]
    out = dict(main)
    stacks = ["base_lm", "residual_lm", "feat_encoder.encoder", "feat_decoder.estimator.decoder"]
    for stack in stacks:
        if stack != "residual_lm" or config.residual_lm.rope is not None:
            for name in ("inv_freq", "long_factor", "short_factor"):
                out[f"{stack}.rope.{name}"] = mx.zeros((config.base_lm.head_dim // 2,))
    for name, tensor in vae.items():
        parts = name.split(".")
        if parts[1] in ("fc_logvar", "sr_bin_boundaries"):
            continue
        number = int(parts[2]) if parts[1] != "fc_mu" else 0
        if name.startswith("encoder.block.0."):
            new = ["encoder", "conv_in", *parts[3:]]
        elif name.startswith("encoder.block."):
            inner = [encoder[int(parts[4])], *parts[5:]]
            new = ["encoder", "blocks", "layers", str(number - 1), *inner]
        elif name.startswith("decoder.sr_cond_model."):
            inner = parts[3:]
            if inner[0] == "out_layer":
                inner = [["out_snake", "out_conv"][int(inner[1])], *inner[2:]]
            new = ["decoder", "sr_cond_layers", str(number - first), *inner]
        elif parts[1] == "fc_mu":
            new = parts
        elif number < first:
            new = ["decoder", "conv_in", "layers", *parts[2:]]
        elif number < first + blocks:
            inner = [decoder[int(parts[4])], *parts[5:]]
            new = ["decoder", "blocks", "layers", str(number - first), *inner]
        else:
            new = ["decoder", ["snake_out", "conv_out"][number - first - blocks], *parts[3:]]
        if "block" in new:
            at = new.index("block")
            new[at : at + 2] = [units[int(new[at + 1])]]
        if tensor.ndim == 3:
            tensor = tensor.transpose((1, 2, 0) if "conv_t" in new else (0, 2, 1))
        out["audio_vae." + ".".join(new)] = mx.contiguous(tensor)
    data = golden(variant).config | {"model_type": config.architecture}
    if bits is not None:
        for name, tensor in list(out.items()):
            if tensor.ndim == 2 and name.endswith("weight") and tensor.shape[1] % 64 == 0:
                base = name.removesuffix(".weight")
                quantised = mx.quantize(tensor, group, bits)
                out |= dict(zip((name, f"{base}.scales", f"{base}.biases"), quantised, strict=True))
        data["quantization"] = {"group_size": group, "bits": bits, "mode": "affine"}
        data["quantization_config"] = data["quantization"]
    mx.save_safetensors(str(directory / "model.safetensors"), out, {"format": "mlx"})
    index = {"weight_map": dict.fromkeys(sorted(out), "model.safetensors")}
    (directory / "model.safetensors.index.json").write_text(json.dumps(index))
    (directory / "config.json").write_text(json.dumps(data))
    return directory


@pytest.mark.parametrize(
    ("variant", "bits", "group", "name"), [("base", 8, 32, "base_s0"), ("v1", 4, 64, "v1_s0")]
)
def test_rewriting_matches_a_real_conversion(golden, tmp_path, variant, bits, group, name):
    """Names and shapes that mlx-audio 0.6.2 wrote for these checkpoints."""
    directory = community(golden, variant, tmp_path / "c", bits=bits, group=group)
    shapes = {n: list(t.shape) for n, t in mx.load(str(directory / "model.safetensors")).items()}
    recorded = Path(__file__).parent.parent / "golden" / "community_shapes.json"
    assert shapes == json.loads(recorded.read_text())[name]


@pytest.mark.parametrize("variant", quick(["base", "stress", "square", "v1"], "square", "v1"))
def test_community_layout_equals_official(golden, checkpoint, tmp_path, variant):
    loaded = load(community(golden, variant, tmp_path / "c", bits=None, group=64))
    assert differences(loaded, checkpoint(variant)) == []


def test_a_vae_file_wins_over_the_one_inside(golden, checkpoint, tmp_path):
    """mlx-audio copies such files along; upstream reads them last."""
    directory = community(golden, "base", tmp_path / "c", bits=8, group=32)
    shutil.copyfile(golden("base").path("checkpoint/audiovae.pth"), directory / "audiovae.pth")
    loaded, expected = parameters(load(directory).vae), parameters(checkpoint("base").vae)
    assert all(mx.array_equal(loaded[name], array) for name, array in expected.items())


def test_names_that_community_checkpoints_lack_are_named(golden, tmp_path):
    directory = community(golden, "base", tmp_path / "c", bits=None, group=64)
    odd = [
        "encoder.blocks.layers",
        "decoder.blocks.layers.x.snake.alpha",
        "decoder.sr_cond_layers.1",
    ]
    rewrite(directory, lambda t: t.update({f"audio_vae.{name}": mx.zeros(1) for name in odd}))
    with pytest.raises(CheckpointError, match="3 unexpected"):
        load(directory)


@pytest.mark.parametrize("variant", ["base", "v1"])
@pytest.mark.parametrize("bits", quick([8, 4], 4))
def test_quantised_community_layout_loads_quantised(golden, checkpoint, tmp_path, variant, bits):
    loaded = load(community(golden, variant, tmp_path / "c", bits=bits, group=32))
    assert isinstance(loaded.network.base_lm.embed_tokens, nn.QuantizedEmbedding)
    assert isinstance(loaded.network.stop_head, nn.QuantizedLinear)
    layer = loaded.network.base_lm.layers[0].self_attn.q_proj
    exact = checkpoint(variant).network.base_lm.layers[0].self_attn.q_proj
    assert (layer.bits, layer.group_size) == (bits, 32)
    x = mx.random.normal((5, exact.weight.shape[1]), key=mx.random.key(0))
    error = mx.abs(layer(x) - exact(x)).max() / mx.abs(exact(x)).max()
    assert 0 < error < (0.01 if bits == 8 else 0.2)
    h = mx.ones((1, 64), loaded.dtype)
    expected = checkpoint(variant).network.stop_logits(h.astype(mx.float32))
    assert mx.abs(loaded.network.stop_logits(h) - expected).max() < (0.2 if bits == 8 else 2)


def test_quantised_modules_compute_in_the_asked_dtype(golden, tmp_path):
    directory = community(golden, "base", tmp_path / "c", bits=8, group=32)
    network = load(directory, dtype="bfloat16").network
    assert network.base_lm.embed_tokens(mx.array([[1]])).dtype == mx.bfloat16
    assert network.stop_logits(mx.ones((1, 64), mx.bfloat16)).dtype == mx.float32


def test_settings_of_single_modules_are_followed(golden, checkpoint, tmp_path):
    directory = community(golden, "base", tmp_path / "c", bits=4, group=32)
    tensors = mx.load(str(directory / "model.safetensors"))
    name = "base_lm.layers.0.mlp.up_proj"
    exact = checkpoint("base").network.base_lm.layers[0].mlp.up_proj.weight
    parts = zip(("weight", "scales", "biases"), mx.quantize(exact, 64, 8), strict=True)
    tensors |= {f"{name}.{part}": array for part, array in parts}
    mx.eval(tensors)
    mx.save_safetensors(str(directory / "model.safetensors"), tensors)
    data = json.loads((directory / "config.json").read_text())
    data["quantization"][name] = {"group_size": 64, "bits": 8}
    (directory / "config.json").write_text(json.dumps(data))
    layer = load(directory).network.base_lm.layers[0].mlp.up_proj
    assert (layer.bits, layer.group_size) == (8, 64)


@pytest.mark.parametrize(
    ("quantization", "message"),
    [
        (None, "no quantization with group_size and bits"),
        ({"group_size": 32}, "no quantization with group_size and bits"),
        ({"group_size": 64, "bits": 8}, "cannot be dequantised"),
        ({"group_size": 32, "bits": 7}, "does not fit"),
    ],
)
def test_wrong_quantisation_settings_are_an_error(golden, tmp_path, quantization, message):
    directory = community(golden, "base", tmp_path / "c", bits=8, group=32)
    data = json.loads((directory / "config.json").read_text())
    data |= {"quantization": quantization, "quantization_config": quantization}
    (directory / "config.json").write_text(json.dumps(data))
    with pytest.raises(CheckpointError, match=message):
        load(directory)


# ---- what does not fit

Change = Callable[[Path], object]


def rewrite(directory: Path, change) -> None:
    tensors = mx.load(str(directory / "model.safetensors"))
    mx.eval(tensors)
    change(tensors)
    mx.save_safetensors(str(directory / "model.safetensors"), tensors)


def tensors(change) -> Change:
    return lambda directory: rewrite(directory, change)


def header(change) -> Change:
    """Change the header of the weights, and leave their numbers."""

    def damage(directory: Path) -> None:
        file = directory / "model.safetensors"
        data = file.read_bytes()
        end = 8 + int.from_bytes(data[:8], "little")
        entries = json.loads(data[8:end])
        change(entries)
        text = json.dumps(entries).encode()
        file.write_bytes(len(text).to_bytes(8, "little") + text + data[end:])

    return damage


def entry(change) -> Change:
    return header(lambda entries: change(entries["stop_head.weight"]))


def config(**changes) -> Change:
    def damage(directory: Path) -> None:
        data = json.loads((directory / "config.json").read_text())
        (directory / "config.json").write_text(json.dumps(data | changes))

    return damage


def written(name: str, data: bytes) -> Change:
    return lambda directory: (directory / name).write_bytes(data)


def removed(*names: str) -> Change:
    return lambda directory: [(directory / name).unlink() for name in names]


def cut(count: int) -> Change:
    def damage(directory: Path) -> None:
        file = directory / "model.safetensors"
        file.write_bytes(file.read_bytes()[:-count])

    return damage


def folder(name: str) -> Change:
    return lambda directory: ((directory / name).unlink(), (directory / name).mkdir())


def sharded(without: str) -> Change:
    def damage(directory: Path) -> None:
        main = mx.load(str(directory / "model.safetensors"))
        mx.eval(main)
        shard(directory, main)
        removed("model.safetensors", without)(directory)

    return damage


def index(weight_map: object) -> Change:
    def damage(directory: Path) -> None:
        (directory / "model.safetensors").rename(directory / "model-1.safetensors")
        text = json.dumps({"weight_map": weight_map})
        (directory / "model.safetensors.index.json").write_text(text)

    return damage


def also(*changes: Change) -> Change:
    return lambda directory: [change(directory) for change in changes]


AGAIN = r"model\.safetensors: .*download it again"
DAMAGED: list[tuple[Change, type[Exception], str]] = [
    (removed("audiovae.pth"), CheckpointError, r"missing: audio_vae\.decoder.* and \d+ more"),
    (removed("model.safetensors"), CheckpointError, "no weights; looked for"),
    (removed("config.json"), CheckpointError, r"no config\.json"),
    (sharded("model-00002-of-00003.safetensors"), CheckpointError, "missing shards: model-00002"),
    *((cut(count), CheckpointError, AGAIN) for count in (1, 1000, 1_500_000)),
    *(
        (written("model.safetensors", data), CheckpointError, AGAIN)
        for data in (b"", b"short", b"\xff" * 64, b"\x02" + b"\0" * 7 + b"[]")
    ),
    # a header that lies is named before anything is read
    *(
        (entry(change), CheckpointError, rf"model\.safetensors: .*{said}.*download it again")
        for change, said in (
            (lambda e: e.update(shape=[10**6, 10**6]), "does not take the bytes of its shape"),
            (lambda e: e.update(shape=[-1, -1]), "an impossible shape"),
            (lambda e: e.update(dtype="F64"), "of the unknown type F64"),
            (lambda e: e.update(data_offsets=[-4, 4]), "lies nowhere"),
            (lambda e: e.update(data_offsets="ab"), "lies nowhere"),
            (lambda e: e.pop("dtype"), "'dtype'"),
        )
    ),
    (header(lambda h: h.update({"\ud800": h.pop("stop_head.weight")})), CheckpointError,
     "not a safetensors file, or damaged"),
    # thousands of names for the same gigabyte would fill any memory
    (header(lambda h: h.update({"stop_proj.bias": h["base_lm.norm.weight"]})), CheckpointError,
     "lie over one another"),
    (tensors(lambda t: t.update({"stop_proj.bias": mx.zeros(64, mx.int32)})), CheckpointError,
     r"numbers of stop_proj\.bias are .*int32"),
    # shards that lie elsewhere
    (index(3), CheckpointError, "not a list of shards"),
    *(
        (index({"a": "model-1.safetensors", "b": name}), CheckpointError, "not a list of shards")
        for name in (
            "../../x", "/etc/passwd", "a/b.safetensors", "a\0.safetensors", 3, None, ["a"], "",
        )
    ),
    *(
        (folder(name), (CheckpointError, ConfigError), r"is not a file|no weights")
        for name in ("config.json", "tokenizer.json", "model.safetensors")
    ),
    # before weights are read
    (also(removed("tokenizer.json"), written("model.safetensors", b"")), CheckpointError,
     r"tokenizer\.json is missing"),
    (also(config(architecture="gpt"), written("model.safetensors", b"")), ConfigError,
     "unknown architecture 'gpt'"),
    (config(dtype="int4"), ConfigError, "dtype 'int4' is not known"),
    (written("config.json", b'{"a":' * 100_000), ConfigError, "nested without end"),
    *(
        (written("config.json", text), ConfigError, r"config\.json")
        for text in (b"{", b"[]", b'"voxcpm2"')
    ),
]  # fmt: skip


@pytest.mark.parametrize(("damage", "kind", "message"), DAMAGED, ids=range(len(DAMAGED)))
def test_whatever_does_not_fit_is_one_clear_error(directory, damage, kind, message):
    damage(directory)
    with pytest.raises(kind, match=message):
        load(directory)


def test_every_misfit_is_named_in_one_error(directory):
    def change(tensors):
        del tensors["stop_head.weight"]
        tensors["extra.weight"] = mx.zeros((2, 2))
        name = "base_lm.layers.0.mlp.down_proj.weight"
        tensors[name] = mx.contiguous(tensors[name].T)

    rewrite(directory, change)
    with pytest.raises(CheckpointError) as caught:
        load(directory)
    message = str(caught.value)
    assert "1 missing: stop_head.weight" in message
    assert "1 unexpected: extra.weight" in message
    assert (
        "1 misshapen: base_lm.layers.0.mlp.down_proj.weight (112, 64) instead of (64, 112)"
        in message
    )


def test_nothing_is_transposed_to_make_it_fit(golden, tmp_path):
    """Square weights in the wrong layout of the VAE: refused, since the name says the layout."""
    directory = golden("square").assemble(tmp_path / "c")
    _, vae = layout(golden, golden("square").assemble(tmp_path / "d"), "square")
    name = "decoder.model.2.block.1.weight_v"
    vae[name] = mx.contiguous(vae[name].transpose(1, 2, 0))
    (directory / "audiovae.pth").unlink()
    mx.save_safetensors(str(directory / "audiovae.safetensors"), vae)
    with pytest.raises(
        CheckpointError, match=r"missing: audio_vae\.decoder\.model\.2\.block\.1\.weight;"
    ):
        load(directory)


def test_half_a_weight_norm_is_named(golden, directory):
    (directory / "audiovae.pth").unlink()
    vae = mx.load(str(golden("square").path("alt/audiovae.safetensors")))
    del vae["encoder.fc_mu.weight_g"]
    mx.save_safetensors(str(directory / "audiovae.safetensors"), vae)
    with pytest.raises(CheckpointError) as caught:
        load(directory)
    assert "1 missing: audio_vae.encoder.fc_mu.weight;" in str(caught.value)
    assert "1 unexpected: audio_vae.encoder.fc_mu.weight_v" in str(caught.value)


def test_other_bucket_boundaries_are_an_error(golden, directory):
    data = golden("square").config
    data = data | {"audio_vae_config": data["audio_vae_config"] | {"sr_bin_boundaries": [1, 2, 3]}}
    (directory / "config.json").write_text(json.dumps(data))
    with pytest.raises(CheckpointError, match=r"sr_bin_boundaries is \[20000, 30000, 40000\]"):
        load(directory)


def test_another_models_config_is_an_error(golden, directory):
    shutil.copyfile(golden("v1").path("checkpoint/config.json"), directory / "config.json")
    with pytest.raises(CheckpointError, match="do not fit config"):
        load(directory)


@pytest.mark.parametrize("dtype", ["int8", "float", 3, mx.int32])
def test_unknown_dtype_is_refused_first(dtype):
    with pytest.raises(RequestError, match="known: float32, bfloat16, float16"):
        load("no/such", dtype=dtype)


# ---- the hub


def snapshot(golden, tmp_path, commit="0123abc"):
    return golden("square").assemble(tmp_path / "snapshots" / commit)


def test_hub_id_is_downloaded_and_its_commit_reported(golden, tmp_path, monkeypatch):
    calls = []

    def download(repo, *, revision, allow_patterns):
        calls.append((repo, revision))
        assert {"config.json", "audiovae.*", "pytorch_model.bin"} <= set(allow_patterns)
        return str(snapshot(golden, tmp_path))

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    loaded = load("owner/some-model")
    assert loaded.revision == "0123abc"
    assert load("owner/some-model@v1.2").revision == "0123abc"
    assert calls == [("owner/some-model", None), ("owner/some-model", "v1.2")]


@pytest.mark.parametrize("error", [OfflineModeIsEnabled, LocalEntryNotFoundError, ConnectionError])
def test_offline_error_says_what_to_do(monkeypatch, error):
    def download(*_, **__):
        raise error("cannot connect\nlong story")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    with pytest.raises(CheckpointError, match=r"cannot connect\)\. Go online once") as caught:
        load("owner/model")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "path", ["no-such-directory", "./no", "../no", "/no/such", "a/b/c", Path("a/b")]
)
def test_a_directory_that_is_not_there_is_not_looked_up_on_the_hub(path, monkeypatch):
    monkeypatch.setattr(huggingface_hub, "snapshot_download", None)
    with pytest.raises(CheckpointError, match="no such directory"):
        load(path)


def test_a_file_is_not_a_checkpoint(directory):
    with pytest.raises(CheckpointError, match="no such directory"):
        load(str(directory / "model.safetensors"))


# ---- fingerprint and full size


def test_fingerprint_follows_content_and_not_place(golden, tmp_path):
    first = golden("square").assemble(tmp_path / "one")
    second = golden("square").assemble(tmp_path / "two")
    known = load(first).fingerprint
    assert load(second).fingerprint == known
    rewrite(second, lambda t: t.update({"stop_head.weight": t["stop_head.weight"] * 2}))
    assert load(second).fingerprint != known
    third = golden("square").assemble(tmp_path / "three")
    data = golden("square").config | {"max_length": 123}
    (third / "config.json").write_text(json.dumps(data))
    assert load(third).fingerprint != known
    fourth = golden("square").assemble(tmp_path / "four")
    assert load(fourth, lora=golden("square").lora).fingerprint != known


def test_fingerprint_sees_a_changed_vae(golden, tmp_path, save_torch):
    directory = golden("square").assemble(tmp_path / "one")
    data = golden("square").config
    before = fingerprint(data, weight_files(directory))
    vae = read_tensors([directory / "audiovae.pth"], Config.from_dict(data))[1]
    save_torch(directory / "audiovae.pth", vae)
    assert fingerprint(data, weight_files(directory)) != before


def test_every_full_size_tensor_finds_its_place_without_being_allocated(golden):
    root = golden("base").path("index.json").parent.parent
    data = json.loads((root / "shipped_config.json").read_text())
    shapes = json.loads((root / "full_size_keys.json").read_text())
    main, codec = shapes["model.safetensors"], shapes["audiovae.pth (under 'state_dict')"]
    assert (len(main), len(codec)) == (577, 312)
    mx.clear_cache()
    before = mx.get_active_memory()
    config = Config.from_dict(data)
    network, vae = Network(config), AudioVAE(config.vae)
    tensors = {name: mx.zeros(shape, mx.bfloat16) for name, shape in main.items()}
    # As the file holds them: with their weight norms, and what inference does not read.
    codec_tensors = {name: mx.zeros(shape) for name, shape in codec.items()}
    codec_tensors["decoder.sr_bin_boundaries"] = mx.array(config.vae.sr_bin_boundaries)
    assert set(parameters(network)) == set(tensors)
    fill(network, vae, tensors, fold_weight_norm(codec_tensors), data)
    assert sum(a.size for a in parameters(network).values()) == 2_290_004_544
    assert mx.get_active_memory() - before < 64 << 20
