"""What bfloat16 costs, part by part: ours and the official implementation, for `parity.py`.

All run on the same weights, which bfloat16 holds, and on the same inputs, which it holds too; what
is compared with is the official implementation in float32. It has two ways to half precision. To
speak, it casts every module but the codec, and with them the rotary tables, the sampler's state and
the stop head. To be trained, its weights stay float32 and products run in autocast. Ours speaks in
the first way, but for what README lists. The codec is float32 in both; how the official one would
sound in bfloat16 is measured as the reason.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import mlx.core as mx
import numpy as np
import torch
from upstream import injected, quiet

from speechbase.cache import KVCache
from voxcpm2 import VoxCPM2
from voxcpm2.minicpm4 import MiniCPM4

Outputs = dict[str, np.ndarray]
FACTOR = 1.4
"""Ours may be no further from float32 than the official bfloat16 is, times this: both are sums of
roundings that fall this way or that, and on a CPU MLX's attention rounds its scores, which torch's,
and MLX's own on a GPU, do not."""
FLOAT32 = 1e-5
"""Where nothing is rounded, relative root mean square."""
NAMES = {"base_lm": "base LM", "residual_lm": "residual LM"}
PREFILL, STEPS, DRAWS = 128, 32, 24


def held(x: np.ndarray) -> np.ndarray:
    """The nearest that bfloat16 holds, as float32."""
    return torch.from_numpy(x).bfloat16().float().numpy()


@dataclass(frozen=True)
class Inputs:
    """What all are given, float32; (…, width) unless said."""

    patches: np.ndarray  # (DRAWS, patch, feature)
    base: np.ndarray  # (1, PREFILL + STEPS, width)
    residual: np.ndarray
    hidden: np.ndarray  # (400, width)
    noisy: np.ndarray  # (DRAWS, feature, patch), as upstream has it
    before: np.ndarray  # the same
    told: np.ndarray  # (DRAWS, tokens * width of LocDiT)
    moments: np.ndarray  # (DRAWS,)
    sound: np.ndarray  # (1, samples)
    latents: np.ndarray  # (1, frames, latent)
    seed: int  # of the sampler's noise

    @classmethod
    def drawn(cls, model: VoxCPM2, rng: np.random.Generator) -> Inputs:
        c = model.config
        width, tokens = c.base_lm.hidden_size, 1 if c.first_generation else 2

        def normal(*shape: int) -> np.ndarray:
            return held(rng.standard_normal(shape, np.float32))

        return cls(
            patches=normal(DRAWS, c.patch_size, c.feat_dim),
            base=normal(1, PREFILL + STEPS, width),
            residual=normal(1, PREFILL + STEPS, width),
            hidden=normal(400, width),
            noisy=normal(DRAWS, c.feat_dim, c.patch_size),
            before=normal(DRAWS, c.feat_dim, c.patch_size),
            told=normal(DRAWS, tokens * c.dit.hidden_size),
            moments=held(rng.random(DRAWS, np.float32)),
            sound=0.3 * normal(1, 40 * c.vae.hop),
            latents=normal(1, 40, c.vae.latent_dim),
            seed=int(rng.integers(1 << 32)),
        )


class OfficialParts:
    """The official implementation, computing in `dtype`."""

    def __init__(self, model: Any, dtype: torch.dtype, *, autocast: bool = False) -> None:
        self._model, self._dtype, self._autocast = model, dtype, autocast

    @contextlib.contextmanager
    def _computing(self) -> Iterator[None]:
        with (
            torch.inference_mode(),
            torch.autocast("cpu", torch.bfloat16, enabled=self._autocast),
        ):
            yield

    def _given(self, x: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(x).to(self._dtype)

    def parts(self, inputs: Inputs) -> Outputs:
        model, found = self._model, {}
        with self._computing():
            found["LocEnc"] = model.enc_to_lm_proj(
                model.feat_encoder(self._given(inputs.patches)[None])
            )[0]
            for name, x in (("base_lm", inputs.base), ("residual_lm", inputs.residual)):
                found |= self._language_model(name, self._given(x))
            found["FSQ"] = model.fsq_layer(self._given(inputs.hidden))
            found["stop head"] = model.stop_head(
                model.stop_actn(model.stop_proj(self._given(inputs.hidden)))
            )
            found["LocDiT, one evaluation"] = model.feat_decoder.estimator(
                self._given(inputs.noisy),
                self._given(inputs.told),
                self._given(inputs.moments),
                self._given(inputs.before),
                torch.zeros(DRAWS, dtype=self._dtype),
            ).transpose(1, 2)
            found["solver, 10 steps"] = self._solved(inputs)
        return {name: made.float().numpy() for name, made in found.items()}

    def _language_model(self, name: str, x: torch.Tensor) -> dict[str, torch.Tensor]:
        lm = getattr(self._model, name)
        prefill, cache = lm(inputs_embeds=x[:, :PREFILL], is_causal=True)
        if self._autocast:  # training reads whole sequences, and its cache takes no other dtype
            return {f"{NAMES[name]}, prefill": prefill}
        lm.kv_cache.fill_caches(cache)
        steps = [
            lm.forward_step(x[:, n], torch.tensor([lm.kv_cache.step()])).clone()
            for n in range(PREFILL, PREFILL + STEPS)
        ]
        return {
            f"{NAMES[name]}, prefill": prefill,
            f"{NAMES[name]}, steps": torch.cat(steps),
        }

    def _solved(self, inputs: Inputs) -> torch.Tensor:
        solver, made = self._model.feat_decoder, []
        with injected(np.random.default_rng(inputs.seed)):
            for told, before in zip(inputs.told, inputs.before, strict=True):
                made.append(
                    solver(
                        mu=self._given(told[None]),
                        patch_size=before.shape[1],
                        cond=self._given(before[None]),
                        n_timesteps=10,
                        cfg_value=2.0,
                    )
                )
        return torch.cat(made).transpose(1, 2)

    def codec(self, inputs: Inputs) -> Outputs:
        """The codec, cast to the dtype of the rest for good; officially it is float32 always."""
        vae = self._model.audio_vae.to(self._dtype)
        # Without oneDNN, whose strided convolution is off by all there is in bfloat16 (torch 2.13).
        with quiet(), torch.inference_mode(), torch.backends.mkldnn.flags(enabled=False):
            latents = vae.encode(self._given(inputs.sound), vae.sample_rate)
            sound = vae.decode(self._given(inputs.latents.transpose(0, 2, 1).copy()))
        return {
            "codec, encoder": latents.float().numpy().transpose(0, 2, 1),
            "codec, decoder": sound.float().numpy()[:, 0],
        }


class OurParts:
    """This package, computing in the network's dtype."""

    def __init__(self, model: VoxCPM2) -> None:
        self._model, self._network = model, model.network

    def _given(self, x: np.ndarray) -> mx.array:
        return mx.array(x).astype(self._network.dtype)

    def parts(self, inputs: Inputs) -> Outputs:
        network, solver = self._network, self._network.feat_decoder
        network.join()
        frames = [mx.array(x.transpose(0, 2, 1)) for x in (inputs.noisy, inputs.before)]
        told = self._given(inputs.told.reshape(DRAWS, -1, network.config.dit.hidden_size))
        time = solver.estimator.time_tokens(
            inputs.moments, np.zeros_like(inputs.moments), rounded=solver.rounded_time
        )
        noise = np.random.default_rng(inputs.seed)
        drawn = [noise.standard_normal(x.shape, np.float32) for x in inputs.noisy]
        made = {
            "LocEnc": network._encode(mx.array(inputs.patches)),
            **self._language_model("base_lm", self._given(inputs.base)),
            **self._language_model("residual_lm", self._given(inputs.residual)),
            "FSQ": network.fsq_layer(self._given(inputs.hidden)),
            "stop head": network.stop_logits(self._given(inputs.hidden)),
            "LocDiT, one evaluation": solver.estimator(frames[0], told, time, frames[1]),
            "solver, 10 steps": solver(
                mx.array(np.stack(drawn)), told, frames[1], solver.plan([(10, 2.0)] * DRAWS)
            ),
        }
        return {name: np.array(each.astype(mx.float32)) for name, each in made.items()}

    def _language_model(self, name: str, x: mx.array) -> dict[str, mx.array]:
        lm: MiniCPM4 = getattr(self._network, name)
        cache = KVCache.for_rows(lm.config, x.dtype, [PREFILL], [None])
        prefill = lm(x[:, :PREFILL], cache=cache)
        steps = [lm(x[:, n : n + 1], cache=cache)[:, 0] for n in range(PREFILL, PREFILL + STEPS)]
        return {f"{NAMES[name]}, prefill": prefill, f"{NAMES[name]}, steps": mx.concatenate(steps)}

    def codec(self, inputs: Inputs) -> Outputs:
        vae = self._model.vae
        return {
            "codec, encoder": np.array(vae.encode(mx.array(inputs.sound))),
            "codec, decoder": np.array(vae.decode(mx.array(inputs.latents))),
        }


# ---- compared


@dataclass(frozen=True)
class HalfCosts:
    """Of one part, relative root mean square: each from the official float32, but `apart`."""

    part: str
    float32: float  # ours
    bfloat16: float  # ours
    official: float  # in bfloat16
    autocast: float | None  # the official one, where it is run so
    apart: float  # ours in bfloat16 from the official one in bfloat16

    @property
    def ratio(self) -> float:
        """How far ours is to how far the official is, both in bfloat16; at most FACTOR."""
        return max(0.0, self.bfloat16 - FLOAT32) / self.official


def off(found: np.ndarray, expected: np.ndarray) -> float:
    return float(np.linalg.norm(found - expected) / np.linalg.norm(expected))


def compare(
    plain: Any, cast: Any, ours: tuple[VoxCPM2, VoxCPM2, VoxCPM2], rng: np.random.Generator
) -> list[HalfCosts]:
    """The official model in float32 and in bfloat16; ours in float32, in bfloat16, and in that with
    the sampler's time rounded, too. All of one checkpoint, whose weights bfloat16 holds."""
    inputs = Inputs.drawn(ours[0], rng)
    exact = OfficialParts(plain, torch.float32)
    official = OfficialParts(cast, torch.bfloat16)
    runs = [OurParts(model).parts(inputs) for model in ours]
    # The solver is not listed with its time rounded: the official moments are rounded, too, ours
    # are not, and what either makes of the high frequencies is as good as drawn.
    timed = "LocDiT, one evaluation"
    listed = [*((part, part, 1) for part in runs[0]), (timed, f"{timed}, time rounded", 2)]
    expected, half = exact.parts(inputs), official.parts(inputs)
    trained = OfficialParts(plain, torch.float32, autocast=True).parts(inputs)
    found = [
        HalfCosts(
            name,
            off(runs[0][part], expected[part]),
            off(runs[which][part], expected[part]),
            off(half[part], expected[part]),
            off(trained[part], expected[part]) if part in trained else None,
            off(runs[which][part], half[part]),
        )
        for part, name, which in listed
    ]
    codecs = [OurParts(model).codec(inputs) for model in ours[:2]]
    whole, rounded = exact.codec(inputs), official.codec(inputs)
    for part in whole:
        near = [off(codec[part], whole[part]) for codec in codecs]
        apart = off(codecs[1][part], rounded[part])
        found.append(HalfCosts(part, *near, off(rounded[part], whole[part]), None, apart))
    return found


def show(found: list[HalfCosts]) -> None:
    """The table, errors in per cent, with the officials' own as a yardstick."""
    print("\nbfloat16, part by part: % from the official float32, root mean square")
    heads = ("ours, f32", "ours, bf16", "official", "autocast", "ours to official")
    print(f"{'':38}" + "".join(f"{head:>{len(head) + 3}}" for head in heads) + "   ratio")
    for row in found:
        values = (row.float32, row.bfloat16, row.official, row.autocast, row.apart)
        cells = (
            f"{'-' if value is None else f'{100 * value:.2g}':>{len(head) + 3}}"
            for head, value in zip(heads, values, strict=True)
        )
        print(f"{row.part:38}" + "".join(cells) + f"{row.ratio:8.2f}")
    print(f"ratio: ours in bfloat16 to the official in bfloat16; {FACTOR} at most")
    print("codec: float32 in both; the yardstick is what a cast would cost\n")
