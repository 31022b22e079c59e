"""Rows that are decoded beside the batch, and what names the encoder."""

from __future__ import annotations

import functools
import json
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np
import pytest

import voxcpm2
from speechbase import device
from tests.effort import quick
from tests.voxcpm2.gpu import pretended
from voxcpm2 import Prompt, Request, VoxCPM2, audio_vae
from voxcpm2.audio_vae import AudioVAE
from voxcpm2.config import Config
from voxcpm2.convert import convert

from .conftest import ROOT, latents


@pytest.fixture
def base(models: Callable[[str], VoxCPM2]) -> VoxCPM2:
    return models("base")


@pytest.mark.parametrize("prompted", quick([False, True], True))
def test_windows_on_another_stream_equal_a_whole_decode(base, monkeypatch, prompted):
    monkeypatch.setattr(audio_vae, "MAX_CHUNK", 10)
    prompt = Prompt("The warm sun.", latents(base, 3, 4)) if prompted else None
    request = Request("Hello world.", prompt=prompt, seed=5, min_len=9, max_len=9, steps=2)
    (whole,) = [speech for _, speech in run(base, request)]
    batch = base.batch(1)
    row = batch.add(request)
    while not batch.step():
        pass
    decoding = batch.decoding(row, mx.new_stream(mx.default_device()))
    windows = 0
    while decoding.is_pending:
        decoding.push()
        windows += 1
    assert windows == -(-(len(whole.latents) + len(row.context)) * 4 // 10)
    speech = decoding.speech()
    assert np.abs(speech.samples - whole.samples).max() < 1e-5
    assert np.array_equal(speech.latents, whole.latents)
    assert (speech.stop_reason, speech.seed) == (whole.stop_reason, 5)


def run(model: VoxCPM2, request: Request) -> Any:
    batch = model.batch(1)
    batch.add(request)
    while len(batch):
        yield from batch.advance()


@pytest.mark.parametrize(
    ("left", "frames"), [(None, 100), (1 << 40, 100), (1 << 30, 50), (1 << 28, 12), (0, 4)]
)
def test_a_window_fits_the_memory_left(monkeypatch, left, frames):
    """Two of the shipped sizes: some 9 MB a latent frame each."""
    monkeypatch.setattr(audio_vae, "memory_left", lambda: left)
    shipped = json.loads((ROOT / "shipped_config.json").read_text())
    assert AudioVAE(Config.from_dict(shipped).vae).frames() == frames


def test_what_is_left_is_what_the_device_says_less_what_is_held(monkeypatch):
    with pretended("cpu"):
        assert device.memory_left() is None  # a CPU's is the system's to say
    monkeypatch.setattr(mx, "device_info", dict)
    with pretended():
        assert device.memory_left() is None  # this device says nothing
        monkeypatch.setattr(mx, "device_info", lambda: {"memory_size": 10 << 30})
        assert device.memory_left() == (10 << 30) - mx.get_active_memory()


@pytest.mark.slow
def test_a_decoding_holds_little_between_its_windows(base):
    """What it remembers, not the layers' outputs that this was cut out of."""
    batch = base.batch(1)
    row = batch.add(Request("the warm sun", seed=1, steps=1, min_len=60, max_len=60))
    while not batch.step():
        pass
    decoding = batch.decoding(row)
    mx.synchronize()
    mx.reset_peak_memory()
    before = mx.get_active_memory()
    decoding.push()
    mx.synchronize()
    assert decoding.is_pending
    held, took = mx.get_active_memory() - before, mx.get_peak_memory() - before
    assert held < took / 8
    decoding.speech()


def test_the_shipped_models_rows_and_windows_are_counted_in_bytes():
    shipped = Path(__file__).parents[1] / "golden" / "shipped_config.json"
    config = Config.from_dict(json.loads(shipped.read_text()))
    network = types.SimpleNamespace(dtype=mx.bfloat16)
    model = types.SimpleNamespace(config=config, network=network, vae=AudioVAE(config.vae))
    estimate_bytes = functools.partial(VoxCPM2.estimate_bytes, model)
    assert estimate_bytes(3) - estimate_bytes(2) == 36_864 * voxcpm2.POSITIONS
    assert 0.8e9 < estimate_bytes(1) < 1e9  # one is decoded at a time, then
    assert estimate_bytes(2) == 2 * estimate_bytes(1)


def test_slots_may_be_lowered_while_rows_run(base):
    batch = base.batch(3)
    for seed in range(4):
        batch.add(Request("Hello.", seed=seed, min_len=3, max_len=5, steps=2))
    batch.step()
    assert batch.running == 3
    batch.slots = 1
    most = 0
    ended = 0
    while len(batch):
        ended += len(batch.step())
        if ended >= 3:
            most = max(most, batch.running)
    assert (ended, most) == (4, 1)


def test_one_encoder_has_one_name_in_any_layout(golden, base, tmp_path):
    convert(golden("base").checkpoint, tmp_path / "new", dtype="bfloat16")
    assert voxcpm2.load(tmp_path / "new").encoder_fingerprint == base.encoder_fingerprint


def test_other_encoders_have_other_names(models):
    names = {models(variant).encoder_fingerprint for variant in ("base", "stress", "square", "v1")}
    assert len(names) == 4


def test_forgetting_changes_no_sound(base):
    reference = latents(base, 1, 3)
    one = base.generate("Hello.", reference=reference, seed=1, max_len=4, steps=2)
    base.clear_caches()
    assert np.array_equal(
        one.latents,
        base.generate("Hello.", reference=reference, seed=1, max_len=4, steps=2).latents,
    )
