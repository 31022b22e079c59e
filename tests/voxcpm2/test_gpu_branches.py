"""What only a GPU runs, run on the CPU: compiled layers, folded heads, joined products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

import mlx.core as mx
import mlx.nn as nn
import numpy as np
import pytest

from tests.voxcpm2.gpu import Kind, pretended
from voxcpm2 import Batch, Prompt, Request, Row, VoxCPM2, rehearsal
from voxcpm2.cfm import solver_rows
from voxcpm2.config import Config, RopeConfig
from voxcpm2.load import load
from voxcpm2.minicpm4 import attend, rope_table, rotate, should_fold_heads
from voxcpm2.prompt import Continuation, Text, build_tokens


@pytest.mark.parametrize(
    ("variant", "kind", "compiled"),
    [
        pytest.param("base", "metal", False, marks=pytest.mark.slow),
        ("base", "cuda", False),
        pytest.param("v1", "cuda", False, marks=pytest.mark.slow),
        pytest.param("base", "metal", True, marks=pytest.mark.slow),
    ],
)
@pytest.mark.slow
def test_a_batch_says_there_what_it_says_here(golden, variant, kind, compiled):
    """Rows of all modes; on CUDA blocks, patches and the solver's rows are padded."""

    def spoken() -> list[np.ndarray]:
        model = VoxCPM2(load(golden(variant).checkpoint, dtype="float32"))
        shape = (model.config.patch_size, model.config.feat_dim)
        said, heard = (latents(seed, n, shape) for seed, n in ((1, 5), (2, 3)))
        voice = {} if model.config.first_generation else {"reference": heard}
        batch = model.batch(slots=3)
        calls: list[dict[str, Any]] = [
            {"text": "Hello world."},
            {"text": "the warm sun", "prompt": Prompt("Then the rain falls. ", said)},
            {"text": "Hello.", "steps": 2, **voice},
            {"text": "the lazy dog", "prompt": Prompt("Hello.", said), **voice},
        ]
        rows = {}
        for n, call in enumerate(calls):
            request = Request(**{"steps": 3, **call}, seed=n, min_len=4, max_len=5 + n)
            rows[batch.add(request)] = n
        found: dict[int, np.ndarray] = {}
        while len(batch):
            found |= {rows[row]: speech.samples for row, speech in batch.advance()}
        return [found[n] for n in sorted(found)]

    here = spoken()
    with pretended(kind, compiled=compiled):
        there = spoken()
    assert len(there) == 4
    for a, b in zip(here, there, strict=True):
        assert a.shape == b.shape
        assert np.abs(a - b).max() < 1e-3


def test_a_prefill_on_cuda_is_of_whole_blocks_and_keeps_no_padding(checkpoint):
    network = checkpoint("base").network
    tokens = build_tokens([Text([5, 6, 7])], (4, 16))
    columns = []
    lm = type(network.base_lm).__call__

    def watched(self: Any, x: mx.array, **given: Any) -> mx.array:
        columns.append(x.shape[1])
        return lm(self, x, **given)

    with pretended("cuda"), mock.patch.object(type(network.base_lm), "__call__", watched):
        state = network.prefill([tokens], [None])
    assert set(columns) == {32}
    assert state.base.starts == state.residual.starts == [0]
    assert state.base.length == len(tokens)


@pytest.mark.parametrize(("kind", "counts"), [("cuda", [16, 32]), ("metal", [3, 17])])
def test_the_patches_of_a_prefill_are_of_whole_blocks_on_cuda(checkpoint, kind, counts):
    network = checkpoint("base").network
    seen = []
    encode = type(network.feat_encoder).__call__

    def watched(self: Any, patches: mx.array) -> mx.array:
        seen.append(patches.shape[0])
        return encode(self, patches)

    with pretended(kind), mock.patch.object(type(network.feat_encoder), "__call__", watched):
        for count in (3, 17):
            given = Continuation(latents(count, count, (4, 16)))
            network.prefill([build_tokens([Text([5]), given], (4, 16))], [None])
    assert seen == counts


def test_a_mask_of_a_step_is_made_once_with_its_heads(checkpoint):
    """One that is broadcast over heads is copied by every layer on Metal."""
    network = checkpoint("base").network
    rows = [build_tokens([Text([5] * n)], (4, 16)) for n in (2, 4)]
    state, masks = network.prefill(rows, [None, None]), []
    attention = mx.fast.scaled_dot_product_attention

    def watched(q: mx.array, k: mx.array, v: mx.array, **given: Any) -> mx.array:
        masks.append(given["mask"])
        return attention(q, k, v, **given)

    with pretended(), mock.patch.object(mx.fast, "scaled_dot_product_attention", watched):
        network.base_lm(mx.zeros((2, 1, network.config.base_lm.hidden_size)), cache=state.base)
    lm = network.config.base_lm
    assert len({id(mask) for mask in masks}) == 1
    assert len(masks) == lm.num_layers
    assert masks[0].shape == (2, lm.num_heads, 1, state.base.length)


def test_the_solver_is_built_before_the_stops_are_awaited(models, monkeypatch):
    """What is built after an evaluation has begun is built while a GPU waits."""
    base, did = models("base"), []
    solve, begin = type(base.network).sample, mx.async_eval

    def sample(*given: Any) -> mx.array:
        did.append("built")
        return solve(*given)

    def begun(*arrays: mx.array) -> None:
        did.append("stops" if arrays[0].dtype == mx.bool_ else "patches")
        begin(*arrays)

    monkeypatch.setattr(rehearsal, "step", lambda *_: [])
    monkeypatch.setattr(type(base.network), "sample", sample)
    monkeypatch.setattr(mx, "async_eval", begun)
    batch = base.batch(1)
    batch.add(Request("Hello.", seed=1, steps=2, min_len=4))
    batch.step()
    assert did == ["built", "stops", "patches"]


def test_the_solver_has_few_numbers_of_rows_on_cuda():
    kinds: list[Kind] = ["cpu", "metal"]
    for kind in kinds:
        with pretended(kind):
            assert [solver_rows(n) for n in (1, 3, 5, 8, 9)] == [1, 3, 5, 8, 9]
    with pretended("cuda"):
        assert [solver_rows(n) for n in (1, 2, 3, 5, 8, 9, 17)] == [1, 2, 4, 8, 8, 16, 24]


@pytest.mark.parametrize("rows", [[1], [1, 1, 1], [1, 3, 1], [3, 1, 2]])
def test_a_row_of_one_step_gives_cuda_no_empty_array(checkpoint, monkeypatch, rows):
    """A pad or a product of one ends the process there (MLX 0.32.4 on an H100)."""
    network = checkpoint("base").network
    solver, config, inputs = network.feat_decoder, network.config, []

    def watch(place: Any, name: str) -> None:
        function = getattr(place, name)

        def watched(*given: Any, **options: Any) -> Any:
            inputs.extend(array for array in given if isinstance(array, mx.array))
            return function(*given, **options)

        monkeypatch.setattr(place, name, watched)

    for place, name in ((mx, "pad"), (nn.Linear, "__call__"), (solver, "_compiled")):
        watch(place, name)
    with pretended("cuda"):
        plan = solver.plan([(steps, 2.0) for steps in rows])
        noise = mx.random.normal((len(rows), config.feat_dim, config.patch_size))
        mu = mx.zeros((len(rows), 2, config.dit.hidden_size))
        cond = mx.zeros((len(rows), config.patch_size, config.feat_dim))
        patches = solver(noise, mu, cond, plan)
    assert all(array.size for array in inputs)
    for patch, row_noise, steps in zip(patches, noise, rows, strict=True):
        assert mx.array_equal(patch, row_noise.T).item() == (steps == 1)


class TestWhatAGpuFailsOn:
    """That a command failed may be told after its result looks ready: nothing is given before."""

    @pytest.fixture
    def finished(self, models: Callable[[str], VoxCPM2]) -> tuple[Batch, Row]:
        batch = models("base").batch(1)
        row = batch.add(Request("Hello.", seed=1, steps=2, min_len=3, max_len=3))
        while not batch.step():
            pass
        return batch, row

    def test_windows_that_were_not_computed(self, finished):
        beside = mx.new_stream(mx.default_device())

        def failed(stream: Any) -> None:
            if stream == beside:
                raise RuntimeError("insufficient memory")

        decoding = finished[0].decoding(finished[1], beside)
        with (
            pretended(),
            mock.patch.object(mx, "synchronize", failed),
            pytest.raises(RuntimeError, match="insufficient memory"),
        ):
            decoding.speech()

    @pytest.mark.parametrize("steps", [0, 2])
    def test_patches_that_were_not_computed(self, finished, steps):
        """They are asked for, unless steps have gone well since."""
        batch, row = finished
        waited = []
        decoding = batch.decoding(row, mx.new_stream(mx.default_device()))
        batch.add(Request("Hello.", seed=1, steps=2, min_len=4))
        for _ in range(steps):
            batch.step()
        with pretended(), mock.patch.object(mx, "synchronize", waited.append):
            decoding.speech()
        assert len(waited) == (1 if steps else 2)

    def failing(self) -> Any:
        def failed(*_: Any) -> None:
            raise RuntimeError("insufficient memory")

        return mock.patch.object(mx, "synchronize", failed)

    def test_what_is_given_in_one_go(self, models):
        """A stream's chunks, and latents of a clip: callers keep them."""
        base = models("base")
        chunks = base.stream("Hello.", seed=1, steps=2, min_len=3, max_len=3)
        shape = (2, base.config.patch_size, base.config.feat_dim)
        base.vae.ready()
        with pretended(), self.failing():
            with pytest.raises(RuntimeError, match="insufficient memory"):
                next(chunks)
            with pytest.raises(RuntimeError, match="insufficient memory"):
                base.decode(latents(1, *shape[:1], shape[1:]))
            with pytest.raises(RuntimeError, match="insufficient memory"):
                base.encode(np.sin(np.arange(4000)), sample_rate=16000)

    def test_weights_that_were_not_made(self, golden):
        """They look evaluated from then on: nothing is computed with them, until they are loaded
        again."""
        model = VoxCPM2(load(golden("base").checkpoint, dtype="float32"))
        for what in (model.network.join, model.vae.ready):
            with pretended(), self.failing(), pytest.raises(RuntimeError, match="insufficient"):
                what()
            with pytest.raises(RuntimeError, match="load it again"):
                what()
        with pytest.raises(RuntimeError, match="load it again"):
            model.generate("Hello.", seed=1, steps=2)


def test_numbers_of_rows_are_traced_before_they_are_needed(checkpoint):
    traced = []
    with pretended(), mock.patch.object(rehearsal, "step", lambda _, *given: traced.append(given)):
        rehearsals = rehearsal.Rehearsals(checkpoint("base").network)
        for _ in range(4):
            rehearsals.trace_next(3, 10)
        rehearsals.trace_next(4, 10)
    assert traced == [(3, 10), (2, 10), (1, 10), (4, 10)]
    with pretended("cpu"), mock.patch.object(rehearsal, "step", pytest.fail):
        rehearsals.trace_next(9, 10)


def test_a_step_can_be_tried_without_weights(golden):
    assert rehearsal.rehearse(Config.from_dict(golden("base").config)) > 0


def latents(seed: int, count: int, shape: tuple[int, int]) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((count, *shape), np.float32)


def test_folded_heads_attend_as_they_did():
    q = mx.random.normal((3, 16, 5, 64), key=mx.random.key(1))
    k, v = (mx.random.normal((3, 2, 5, 64), key=mx.random.key(n)) for n in (2, 3))
    assert should_fold_heads(5, 8)
    assert not should_fold_heads(4, 8)  # one kernel on Metal as it is
    assert not should_fold_heads(11, 8)
    expected = mx.fast.scaled_dot_product_attention(q, k, v, scale=64**-0.5)
    expected = expected.swapaxes(1, 2).reshape(3, 5, -1)
    np.testing.assert_allclose(attend(q, k, v, None), expected, atol=1e-6)


@pytest.mark.parametrize("dtype", [mx.float32, mx.bfloat16])
def test_rotation_is_upstreams_to_the_last_bit(dtype):
    config = RopeConfig(10000.0, (1.0,) * 32, 1.0, 8192)
    cos, sin = (t[None, :, None] for t in rope_table(config, 64, np.arange(7990, 8000)))
    x = mx.random.normal((2, 10, 3, 64), key=mx.random.key(1)).astype(dtype)
    first, second = mx.split(x.astype(mx.float32), 2, axis=-1)
    turned = [first * cos - second * sin, second * cos + first * sin]
    expected = mx.concatenate(turned, axis=-1).astype(dtype)
    of_a, of_b = mx.stack([cos, sin], axis=-2), mx.stack([-sin, cos], axis=-2)
    with pretended("cpu"):
        assert mx.array_equal(rotate(x, (of_a, of_b)), expected)
    with pretended():
        found = rotate(x, (of_a, of_b)).astype(mx.float32)
    assert mx.abs(found - expected.astype(mx.float32)).max() < (
        1e-6 if dtype == mx.float32 else 0.1
    )
