"""The official implementation, driven for `parity.py`: random checkpoints, and calls on record.

Needs torch and the package `voxcpm` 2.0.3 (`make parity` installs them). It knows nothing of ours.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import os
import re
import shutil
import sys
import types
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

os.environ |= {"TQDM_DISABLE": "1", "HF_HUB_OFFLINE": "1"}

import numpy as np
import soundfile
import torch
from safetensors.torch import save_file


def _stand_in_for_torchaudio() -> None:
    """voxcpm imports torchaudio, for 1.x's prompts: here its resampler alone, from its own source.

    The rest of the package wants a build that matches torch's, and torchcodec to read a file.
    """
    spec = importlib.util.find_spec("torchaudio")
    assert spec is not None
    package: Any = importlib.util.module_from_spec(spec)  # its __init__ is not run
    extension: Any = types.ModuleType("torchaudio._extension")
    extension.fail_if_no_align = lambda function: function
    extension._IS_TORCHAUDIO_EXT_AVAILABLE = False
    sys.modules |= {"torchaudio": package, "torchaudio._extension": extension}
    package.functional = importlib.import_module("torchaudio.functional")

    def load(path: str) -> tuple[torch.Tensor, int]:
        samples, rate = soundfile.read(path, dtype="float32", always_2d=True)
        return torch.from_numpy(samples.T.copy()), rate

    package.load = load


with warnings.catch_warnings(action="ignore"):
    _stand_in_for_torchaudio()
    from transformers import LlamaTokenizerFast
    from voxcpm import VoxCPM
    from voxcpm.model import voxcpm, voxcpm2
    from voxcpm.modules.audiovae import AudioVAE, AudioVAEV2

torch.set_num_threads(1)  # networks this small wait for threads more than they gain by them
TOKENIZER = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json")


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Without the official package's progress on stderr."""
    with contextlib.redirect_stderr(io.StringIO()), warnings.catch_warnings(action="ignore"):
        yield


# ---- random checkpoints


@dataclass(frozen=True)
class Made:
    """A random checkpoint on disk. `float32` is the same one, told to compute in float32."""

    checkpoint: Path
    float32: Path
    lora: Path


def make(golden: Path, folder: Path, rng: np.random.Generator, *, files: str) -> Made:
    """A checkpoint with the sizes of the `golden` one, all values new.

    `files` is "safetensors" or "pickle": how the weights, the VAE and the LoRA are written.
    """
    config = json.loads((golden / "config.json").read_text())
    tokenizer = golden.parents[1] / "base_s0" / "checkpoint"
    first = config["architecture"] == "voxcpm"
    dtype = config["dtype"]
    with quiet():
        module = voxcpm if first else voxcpm2
        settings = module.VoxCPMConfig.model_validate({**config, "dtype": "float32"})
        vae = (AudioVAE if first else AudioVAEV2)(settings.audio_vae_config)
        build = module.VoxCPMModel if first else module.VoxCPM2Model
        words = LlamaTokenizerFast.from_pretrained(tokenizer)
        model = build(settings, words, vae, device="cpu").eval()
    lm = config["lm_config"]
    _randomise(model, rng, lm["scale_emb"] if lm["use_mup"] else 1)
    _centre_stops(model, rng)
    main = {name: t.contiguous() for name, t in model.state_dict().items()}
    vae_prefix = "audio_vae."
    codec = {
        n.removeprefix(vae_prefix): main.pop(n) for n in list(main) if n.startswith(vae_prefix)
    }
    if dtype == "bfloat16":
        main = {name: tensor.bfloat16() for name, tensor in main.items()}

    made = Made(folder / "checkpoint", folder / "float32", folder / "lora")
    made.checkpoint.mkdir(parents=True)
    for name in TOKENIZER:
        shutil.copyfile(tokenizer / name, made.checkpoint / name)
    _write(made.checkpoint / "model", main, files, pickled="pytorch_model.bin", wrapped=False)
    _write(made.checkpoint / "audiovae", codec, files, pickled="audiovae.pth", wrapped=True)
    shutil.copytree(made.checkpoint, made.float32)
    for directory, name in ((made.checkpoint, dtype), (made.float32, "float32")):
        (directory / "config.json").write_text(json.dumps({**config, "dtype": name}))
    _make_lora(model, made.lora, rng, files, first)
    return made


def _write(
    path: Path, tensors: dict[str, torch.Tensor], files: str, *, pickled: str, wrapped: bool
) -> None:
    if files == "safetensors":
        save_file(tensors, path.with_suffix(".safetensors"))
    else:
        torch.save({"state_dict": tensors} if wrapped else tensors, path.with_name(pickled))


# How far from 1 / sqrt(width) weights lie, so that one step's error is not the next one's tenfold.
_GAINS = {"q_proj": 1.6, "k_proj": 1.6, "o_proj": 0.9, "down_proj": 1.2}
_DIT_GAINS = {"o_proj": 0.9, "down_proj": 1.2, "cond_proj": 0.5, "out_proj": 0.7}


def _randomise(model: Any, rng: np.random.Generator, embed_scale: float) -> None:
    """Values under which signals neither die nor burst, and every tensor matters."""
    for name, parameter in model.named_parameters():
        layer, _, kind = name.rpartition(".")
        noise = rng.standard_normal(tuple(parameter.shape))
        if kind == "alpha":
            value = 1 + 0.35 * np.clip(noise, -1.7, 1.7)
        elif kind.startswith("weight_"):
            value = np.exp(0.3 * noise) if kind == "weight_g" else noise
        elif "norm" in layer or "scale_embed" in layer:
            value = 1 + 0.2 * noise
        elif kind == "bias" or "bias_embed" in layer:
            value = 0.1 * noise
        elif "embed" in layer or kind == "special_token":
            value = noise / (embed_scale if "embed_tokens" in layer else 1)
        else:
            gains = _DIT_GAINS if name.startswith("feat_decoder") else _GAINS
            gain = gains.get(layer.rpartition(".")[2], 1)
            value = noise * gain / noise.shape[-1] ** 0.5
        parameter.data = torch.from_numpy(np.asarray(value, np.float32))
    _normalise(model.audio_vae, rng)


def _normalise(vae: Any, rng: np.random.Generator) -> None:
    """Scale each convolution by what comes out of it: 1, 0.4 beside a residual, 0.1 at the end."""

    def scale(target: float) -> Any:
        def hook(module: Any, _: Any, output: torch.Tensor) -> torch.Tensor:
            factor = target / output.std()
            module.weight_g.data *= factor
            module.bias.data *= factor
            return output * factor

        return hook

    convolutions = {name: m for name, m in vae.named_modules() if hasattr(m, "weight_g")}
    end = max(name for name in convolutions if re.fullmatch(r"decoder\.model\.\d+", name))
    hooks = []
    for name, module in convolutions.items():
        target = 0.1 if name == end else 0.4 if re.search(r"block\.\d\.block\.3$", name) else 1
        hooks.append(module.register_forward_hook(scale(target)))
    with torch.inference_mode():
        sound = torch.from_numpy(0.3 * rng.standard_normal((1, 40 * vae.chunk_size), np.float32))
        latents = vae.encode(sound, vae.sample_rate)
        vae.decode(torch.from_numpy(rng.standard_normal(latents.shape, np.float32)))
    for hook in hooks:
        hook.remove()


def _centre_stops(model: Any, rng: np.random.Generator) -> None:
    """Make the model stop at about every second step, so that both answers occur everywhere."""
    seen: list[torch.Tensor] = []
    hook = model.stop_head.register_forward_pre_hook(lambda _, args: seen.append(args[0][0]))
    with quiet(), injected(rng):
        for text in ("Hello world, this is a test.", "the lazy dog"):
            model.generate(text, min_len=12, max_len=12, inference_timesteps=3)
    hook.remove()
    mean = torch.stack(seen).mean(dim=0)
    weight = model.stop_head.weight.data
    weight[1] -= ((weight[1] - weight[0]) @ mean) / (mean @ mean) * mean


def _make_lora(
    model: torch.nn.Module, folder: Path, rng: np.random.Generator, files: str, first: bool
) -> None:
    options = {"enable_lm": True, "enable_dit": True, "enable_proj": True, "r": 4, "alpha": 8}
    projections = ["enc_to_lm_proj", "lm_to_dit_proj", "res_to_dit_proj"]
    if not first:
        projections.append("fusion_concat_proj")
    tensors = {}
    for name, module in model.named_modules():
        attention = ".self_attn." in name and not name.startswith("feat_encoder")
        if isinstance(module, torch.nn.Linear) and (attention or name in projections):
            out, width = module.weight.shape
            a, b = rng.standard_normal((4, width)), rng.standard_normal((out, 4))
            tensors[f"{name}.lora_A"] = torch.from_numpy((a / width**0.5).astype(np.float32))
            tensors[f"{name}.lora_B"] = torch.from_numpy((0.1 * b).astype(np.float32))
    folder.mkdir()
    _write(folder / "lora_weights", tensors, files, pickled="lora_weights.ckpt", wrapped=True)
    config = {"base_model": "checkpoint", "lora_config": options}
    (folder / "lora_config.json").write_text(json.dumps(config))


# ---- calls on record


@contextlib.contextmanager
def injected(rng: np.random.Generator | _Shifted) -> Iterator[list[np.ndarray]]:
    """The sampler's normal draws come from `rng`, and are listed: (feature, patch) float32 each."""
    drawn: list[np.ndarray] = []

    def randn(shape: tuple[int, int, int], *, device: Any, dtype: torch.dtype) -> torch.Tensor:
        drawn.append(rng.standard_normal(shape[1:], np.float32))
        return torch.from_numpy(drawn[-1])[None].to(dtype)

    with mock.patch.object(torch, "randn", randn):
        yield drawn


class _Shifted:
    """The same draws once more, each off by about 1e-6."""

    def __init__(self, drawn: list[np.ndarray]) -> None:
        self._drawn = iter(drawn)
        self._rng = np.random.default_rng(0)

    def standard_normal(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        shift = np.float32(1e-6) * self._rng.standard_normal(shape, dtype)
        return next(self._drawn, np.zeros(shape, dtype)) + shift


@dataclass
class Recording:
    """What the official implementation was fed and made of it, and how firmly it stands there."""

    noise: list[np.ndarray]
    samples: np.ndarray
    chunks: list[int]  # samples in each chunk of a stream
    ids: np.ndarray  # (T,)
    audio: np.ndarray  # (T,) bool
    latents: np.ndarray  # of the audio positions, (n, patch, feature)
    cap: int
    patches: np.ndarray  # (n, patch, feature), of the last attempt, without context
    attempts: int
    fsq_margin: float  # distance from a rounding tie, in steps
    stop_margin: float  # between the two logits
    moved: float  # how far patches go when the noise goes 1e-6

    @property
    def is_clear(self) -> bool:
        """Float32's own errors neither decide a rounding or a stop nor grow to our tolerance."""
        return self.fsq_margin > 1e-4 and self.stop_margin > 1e-3 and self.moved < 5e-5


@dataclass
class _Watch:
    """What the hooks saw since `record` began."""

    inferences: list[dict[str, Any]] = field(default_factory=list)
    fsq_margin: float = np.inf
    stop_margin: float = np.inf


class Upstream:
    """The official pipeline on a checkpoint, with or without a LoRA."""

    def __init__(self, checkpoint: Path, lora: Path | None = None) -> None:
        options: dict[str, Any] = {}
        if lora is not None:
            config = json.loads((lora / "lora_config.json").read_text())["lora_config"]
            first = json.loads((checkpoint / "config.json").read_text())["architecture"] == "voxcpm"
            made = (voxcpm if first else voxcpm2).LoRAConfig(**config)
            options = {"lora_config": made, "lora_weights_path": str(lora)}
        with quiet():
            self.pipeline = VoxCPM(
                str(checkpoint), enable_denoiser=False, optimize=False, device="cpu", **options
            )
        self.model = self.pipeline.tts_model
        self._watch = _Watch()
        self._inference = self.model._inference
        self.model._inference = self._watched
        self.model.fsq_layer.in_proj.register_forward_hook(self._see_fsq)
        self.model.stop_head.register_forward_hook(self._see_stop)

    def tokenize(self, text: str) -> list[int]:
        return self.model.text_tokenizer(text)

    def generate(self, rng: np.random.Generator, *, stream: bool = False, **call: Any) -> Recording:
        """The pipeline's generate or generate_streaming."""
        call = {"retry_badcase": False, **call}

        def run() -> list[np.ndarray]:
            if stream:
                return list(self.pipeline.generate_streaming(**call))
            return [self.pipeline.generate(**call)]

        return self._record(rng, run)

    def follow(self, rng: np.random.Generator, cache: Any, text: str, **call: Any) -> Recording:
        """One turn on a prompt cache."""

        def run() -> list[np.ndarray]:
            made = self.model.generate_with_prompt_cache(text, cache, **call)
            return [made[0].numpy().squeeze(0)]

        return self._record(rng, run)

    def _record(self, rng: np.random.Generator, run: Any) -> Recording:
        self._watch = watch = _Watch()
        with quiet(), injected(rng) as noise:
            chunks = run()
        last = watch.inferences[-1]
        self._watch = again = _Watch()
        with quiet(), injected(_Shifted(noise)):
            run()
        shifted, patches = again.inferences[-1]["patches"], last["patches"]
        same = shifted.shape == patches.shape
        audio = last["feat_mask"][0].numpy() == 1
        return Recording(
            noise=noise,
            samples=np.concatenate(chunks),
            chunks=[len(chunk) for chunk in chunks],
            ids=last["text"][0].numpy(),
            audio=audio,
            latents=last["feat"][0].float().numpy()[audio],
            cap=last["max_len"],
            patches=patches,
            attempts=len(watch.inferences),
            fsq_margin=watch.fsq_margin,
            stop_margin=watch.stop_margin,
            moved=float(np.abs(shifted - patches).max()) if same else np.inf,
        )

    def _watched(
        self, text: Any, text_mask: Any, feat: Any, feat_mask: Any, **options: Any
    ) -> Iterator[Any]:
        seen = {"text": text, "feat": feat, "feat_mask": feat_mask, **options}
        self._watch.inferences.append(seen)
        assert torch.equal(text_mask, 1 - feat_mask)
        made = []
        sampler = self.model.feat_decoder.register_forward_hook(
            lambda _, args, output: made.append(output[0].float().numpy().T)
        )
        try:
            for output in self._inference(text, text_mask, feat, feat_mask, **options):
                seen["patches"] = np.stack(made)
                yield output
        finally:
            sampler.remove()

    def _see_fsq(self, _: Any, args: Any, output: torch.Tensor) -> None:
        steps = torch.tanh(output.float()) * self.model.fsq_layer.scale
        if steps.ndim == 3:  # prefill: what text positions are rounded to is not used
            steps = steps[0][self._watch.inferences[-1]["feat_mask"][0] == 1]
        if steps.numel():
            margin = (steps - steps.floor() - 0.5).abs().min().item()
            self._watch.fsq_margin = min(self._watch.fsq_margin, margin)

    def _see_stop(self, _: Any, args: Any, output: torch.Tensor) -> None:
        margin = (output[0, 0] - output[0, 1]).abs().item()
        self._watch.stop_margin = min(self._watch.stop_margin, margin)
