"""Each part of the network against the official implementation, 1e-5 relative in float32."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import mlx.core as mx
import mlx.nn as nn
import numpy as np
import pytest
from mlx.utils import tree_flatten

from speechbase.cache import KVCache, round_up
from speechbase.functions import silu, time_embedding
from tests.effort import quick
from voxcpm2.cfm import schedule, time_grid
from voxcpm2.config import Config, RopeConfig, TransformerConfig
from voxcpm2.load import Checkpoint, load
from voxcpm2.minicpm4 import MiniCPM4, rope_table
from voxcpm2.model import Network
from voxcpm2.prompt import Continuation, Reference, Text, build_tokens

from .conftest import ROOT, Golden

VARIANTS = ("base", "bf16", "stress", "square", "v1")
TOLERANCE = 1e-5


@pytest.fixture(params=quick(VARIANTS, "base", "v1"))
def variant(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def network(variant: str, checkpoint: Callable[[str], Checkpoint]) -> Network:
    return checkpoint(variant).network


@pytest.fixture
def arrays(variant: str, golden: Callable[[str], Golden]) -> Callable[[str], dict[str, np.ndarray]]:
    """Of one component; a folder that equals another's in it is not kept twice."""
    return golden(variant).arrays


def error(found: Any, expected: np.ndarray) -> float:
    """Largest difference over largest value."""
    if isinstance(found, mx.array):
        found = np.array(found.astype(mx.float32))
    return float(np.abs(found - expected).max() / np.abs(expected).max())


def tokens(mu: np.ndarray, network: Network) -> mx.array:
    """(N, n * Hd) -> (N, n, Hd) in the network's dtype."""
    shape = (mu.shape[0], -1, network.config.dit.hidden_size)
    return mx.array(mu).reshape(shape).astype(network.dtype)


def frames(x: np.ndarray) -> mx.array:
    """Upstream's (N, D, P) -> ours (N, P, D)."""
    return mx.array(x.transpose(0, 2, 1))


PARTS = ("embed", "base_lm", "residual_lm", "locenc", "fsq", "stop", "locdit", "cfm")


def outputs(
    network: Network, part: str, a: dict[str, np.ndarray], golden: Golden, half: str = ""
) -> Iterator[tuple[mx.array, np.ndarray]]:
    """Ours and upstream's numbers of a part, from its recorded inputs."""
    x = mx.array(a["in"]).astype(network.dtype) if "in" in a else None
    match part:
        case "embed":
            yield network.base_lm.embed_tokens(mx.array(a["ids"])), a["out"]
        case "base_lm" | "residual_lm":
            yield from language_model_outputs(getattr(network, part), x, a)
        case "locenc":
            patches = mx.array(a["in"].reshape(-1, *a["in"].shape[2:]))
            out = network.feat_encoder(patches)
            yield out.reshape(a["out"].shape), a["out"]
            if not half:
                yield network.enc_to_lm_proj(out).reshape(a["proj_out"].shape), a["proj_out"]
        case "fsq":
            yield network.fsq_layer(x), a["out"]
        case "stop":
            yield network.stop_logits(mx.array(a["in"])), a["out"]
        case "locdit":
            estimator = network.feat_decoder.estimator
            time = estimator.time_tokens(a["t"], a["dt"])
            out = estimator(frames(a["x"]), tokens(a["mu"], network), time, frames(a["cond"]))
            yield out, a["out"].transpose(0, 2, 1)
        case "cfm":
            for i, case in cases(golden, f"comp_cfm{half}"):
                yield sample(network, a, i, case), a[f"c{i}_out"].transpose(0, 2, 1)


def language_model_outputs(
    lm: MiniCPM4, x: mx.array, a: dict[str, np.ndarray]
) -> Iterator[tuple[mx.array, np.ndarray]]:
    length = x.shape[1]
    cache = KVCache.for_rows(lm.config, x.dtype, [length], [None])
    yield lm(x, cache=cache), a["out"]
    if x.dtype != mx.float32:
        return
    for layer in range(lm.config.num_layers):
        yield cache.keys[layer][..., :length, :], a["k_cache"][layer]
        yield cache.values[layer][..., :length, :], a["v_cache"][layer]
    for step, expected in zip(a["step_in"], a["step_out"], strict=True):
        yield lm(mx.array(step)[None, None], cache=cache)[0, 0], expected
    yield lm(x), a["noncausal_out"]
    if lm.config.rope is None:
        return
    end = lm.config.rope.max_positions
    for positions, suffix in (
        (np.arange(len(a["cos"])), ""),
        (np.arange(end - len(a["cos_last"]), end), "_last"),
    ):
        table = rope_table(lm.config.rope, lm.config.head_dim, positions)
        for found, kind in zip(table, ("cos", "sin"), strict=True):
            yield mx.tile(found, (1, 2)), a[kind + suffix]


@pytest.mark.parametrize("part", PARTS)
def test_a_part_equals_upstream(network, arrays, golden, variant, part):
    pairs = list(outputs(network, part, arrays(f"comp_{part}"), golden(variant)))
    assert pairs
    for found, expected in pairs:
        assert error(found, expected) < TOLERANCE


@pytest.fixture
def bf16_network(golden: Any) -> Network:
    return load(golden("bf16").checkpoint, dtype="bfloat16").network


@pytest.mark.parametrize(
    ("part", "tolerance"),
    [("base_lm", 0.03), ("residual_lm", 0.03), ("locenc", 0.02), ("fsq", 0.03), ("stop", 0.01),
     ("cfm", 0.08)],
)  # fmt: skip
def test_a_part_in_bfloat16_is_near_upstreams_in_bfloat16(bf16_network, golden, part, tolerance):
    """Rounding errors, not the same ones."""
    bf16_network.feat_decoder.rounded_time = True
    a = golden("bf16").arrays(f"comp_{part}_computed_bf16")
    for found, expected in outputs(bf16_network, part, a, golden("bf16"), "_computed_bf16"):
        assert error(found, expected) < tolerance


def test_no_activation_is_promoted_to_float32(bf16_network, monkeypatch):
    """Every linear layer of prefill and step gets bfloat16, the stop head apart."""
    seen = set()
    linear = nn.Linear.__call__

    def watched(self: nn.Linear, x: mx.array) -> mx.array:
        stop = any(self is head for head in (bf16_network.stop_proj, bf16_network.stop_head))
        seen.add((x.dtype, stop))
        return linear(self, x)

    monkeypatch.setattr(nn.Linear, "__call__", watched)
    n = bf16_network
    shape = (n.config.patch_size, n.config.feat_dim)
    patches = np.ones((3, *shape), np.float32)
    rows = [
        build_tokens([Reference(patches), Text([5, 6])], shape),
        build_tokens([Text([7]), Continuation(patches)], shape),
    ]
    state = n.prefill(rows, [None, None])
    n.feed(state, mx.ones((2, *shape)))
    patch = n.sample(state, mx.ones((2, *shape[::-1])), n.feat_decoder.plan([(3, 2.0)] * 2))
    n.stops(state)
    assert seen == {(mx.bfloat16, False), (mx.float32, True)}
    held = [*state.base.keys, *state.base.values, *state.residual.keys, state.h, state.r]
    assert {array.dtype for array in held} == {mx.bfloat16}
    assert patch.dtype == state.cond.dtype == mx.float32


def shipped() -> Config:
    return Config.from_dict(json.loads((ROOT / "shipped_config.json").read_text()))


def test_the_shipped_rotary_table_is_upstreams_at_far_positions():
    """To 1e-6 at all recorded ones, 32,767 the last; to float64's as near as float32 angles are."""
    lm = shipped().base_lm
    assert lm.rope is not None
    with np.load(ROOT / "shipped_rotary.npz") as a:
        positions, expected = a["positions"], (a["cos"], a["sin"])
    found = rope_table(lm.rope, lm.head_dim, positions)
    angles = np.outer(positions, 10_000.0 ** (-np.arange(0, lm.head_dim, 2) / lm.head_dim))
    angles /= np.array(lm.rope.factors)
    for table, upstreams, exact in zip(found, expected, (np.cos, np.sin), strict=True):
        assert np.abs(np.array(table) - upstreams[:, : lm.head_dim // 2]).max() < 1e-6
        assert np.abs(np.array(table) - exact(angles))[positions <= 10_000].max() < 1e-3


def cases(golden: Golden, name: str) -> list[tuple[int, dict[str, Any]]]:
    """The sampler's cases that a caller can ask for: sway and CFG-zero* are fixed upstream."""
    listed = golden.index["groups"][name]["meta"]["cases"]
    return [(i, c) for i, c in enumerate(listed) if c["sway"] == 1 and c["cfg_zero_star"]]


def sample(network: Network, a: dict[str, np.ndarray], i: int, case: dict[str, Any]) -> mx.array:
    plan = network.feat_decoder.plan([(case["n_timesteps"], case["cfg_value"])])
    noise = mx.array(a[f"c{i}_noise"]) * case["temperature"]
    return network.feat_decoder(noise, tokens(a["mu"], network), frames(a["cond"]), plan)


def test_sampler_with_another_sway(checkpoint, golden, monkeypatch):
    a, network = golden("base").arrays("comp_cfm"), checkpoint("base").network
    listed = golden("base").index["groups"]["comp_cfm"]["meta"]["cases"]
    [i] = [i for i, c in enumerate(listed) if c["sway"] == 0]
    monkeypatch.setattr("voxcpm2.cfm.schedule", lambda steps: schedule(steps, sway=0))
    found = sample(network, a, i, listed[i])
    assert error(found, a[f"c{i}_out"].transpose(0, 2, 1)) < TOLERANCE


def test_time_grid_is_upstreams_to_the_last_bit(golden):
    np.testing.assert_array_equal(time_grid(10), golden("base").arrays("comp_cfm")["t_span_10"])


@pytest.mark.parametrize(("steps", "left_out"), [(1, 1), (10, 1), (48, 1), (49, 2), (99, 4)])
def test_the_first_steps_cost_no_velocity(steps, left_out):
    moments, widths = schedule(steps)
    assert len(moments) == len(widths) == steps - left_out


@pytest.mark.parametrize("batch", [pytest.param(1, marks=pytest.mark.slow), 4])
def test_the_compiled_solver_is_the_plain_one(checkpoint, golden, batch):
    """It runs on GPUs; here it is traced, too. Four rows are not padded on CUDA."""
    a, decoder = golden("base").arrays("comp_cfm"), checkpoint("base").network.feat_decoder
    x = mx.random.normal((batch, *frames(a["cond"]).shape[1:]), key=mx.random.key(batch))
    mu = mx.random.normal((batch, 2, 48), key=mx.random.key(7))
    plan = decoder.plan([(4, 2.0)] * batch)
    arguments = (x, mu, x, plan.time, plan.widths, plan.cfg)
    assert error(decoder._compiled(*arguments), np.array(decoder._solve(*arguments))) < TOLERANCE


@pytest.mark.parametrize("most", quick([12, 50], 12))  # of 50 the first two cost no velocity
def test_rows_of_one_plan_may_differ(network, arrays, most):
    a = arrays("comp_cfm")
    settings = [(10, 2.0), (4, 3.5), (1, 1.0), (most, 1.5)]
    noise = mx.random.normal((len(settings), *a["c0_noise"].shape[1:]), key=mx.random.key(1))
    mu, cond = (
        mx.random.normal((len(settings), *x.shape[1:]), key=mx.random.key(2))
        for x in (tokens(a["mu"], network), frames(a["cond"]))
    )
    together = network.feat_decoder(noise, mu, cond, network.feat_decoder.plan(settings))
    for b, one in enumerate(settings):
        row = slice(b, b + 1)
        alone = network.feat_decoder(
            noise[row], mu[row], cond[row], network.feat_decoder.plan([one])
        )
        assert error(together[row], np.array(alone)) < TOLERANCE


class TestTimeEmbedding:
    def test_float32(self, golden):
        a = golden("bf16").arrays("comp_time_embedding_1024")
        found = np.array(time_embedding(a["t"], 1024))
        assert np.linalg.norm(found - a["out"]) / np.linalg.norm(a["out"]) < 1e-6
        assert error(found, a["out"]) < 2e-5  # one ulp of a frequency, at an angle of 1000

    def test_rounded_to_bfloat16_is_upstreams_to_the_last_bit(self, golden):
        a = golden("bf16").arrays("comp_time_embedding_1024_computed_bf16")
        found = time_embedding(a["t"], 1024, rounded=True)
        np.testing.assert_array_equal(np.array(found), a["out"])


def test_silu_is_exact_enough():
    x = mx.linspace(-30, 30, 20001)
    expected = np.array(x, np.float64)
    expected = expected / (1 + np.exp(-expected))
    assert np.abs(np.array(silu(x)) - expected).max() < 4e-6
    assert silu(x.astype(mx.bfloat16)).dtype == mx.bfloat16


class TestCache:
    @pytest.fixture
    def lm(self, checkpoint: Callable[[str], Checkpoint]) -> MiniCPM4:
        return checkpoint("stress").network.base_lm

    def row(self, lm: MiniCPM4, length: int) -> mx.array:
        return mx.random.normal((1, length, lm.config.hidden_size), key=mx.random.key(length))

    def run_alone(self, lm: MiniCPM4, row: mx.array) -> tuple[mx.array, KVCache]:
        cache = KVCache.for_rows(lm.config, mx.float32, [row.shape[1]], [None])
        return lm(row, cache=cache)[0], cache

    def run_together(
        self, lm: MiniCPM4, rows: list[mx.array], prefixes: list[KVCache | None]
    ) -> tuple[mx.array, KVCache]:
        counts = [row.shape[1] for row in rows]
        missing = [max(counts) - count for count in counts]
        padded = [
            mx.pad(row, [(0, 0), (n, 0), (0, 0)]) for row, n in zip(rows, missing, strict=True)
        ]
        valid = mx.array(np.arange(max(counts)) >= np.array(missing)[:, None])
        cache = KVCache.for_rows(lm.config, mx.float32, counts, prefixes)
        return lm(mx.concatenate(padded), cache=cache, valid=valid), cache

    def test_rows_of_different_length_equal_rows_alone(self, lm):
        counts = [7, 300, 1, 40]
        rows = [self.row(lm, n + 3) for n in counts]
        heads = [row[:, :n] for row, n in zip(rows, counts, strict=True)]
        first, cache = self.run_together(lm, heads, [None] * 4)
        out = [first[:, -1]]
        for step in range(3):
            x = [row[:, n + step][:, None] for row, n in zip(rows, counts, strict=True)]
            out.append(lm(mx.concatenate(x), cache=cache)[:, 0])
        for b, row in enumerate(rows):
            expected = np.array(self.run_alone(lm, row)[0][-4:])
            assert error(mx.stack([o[b] for o in out]), expected) < TOLERANCE

    def test_rows_continue_after_prefixes_of_different_length(self, lm):
        heads, counts = [30, 0, 2], [4, 9, 20]
        rows = [self.row(lm, h + n) for h, n in zip(heads, counts, strict=True)]
        prefixes = [
            self.run_alone(lm, row[:, :h])[1].snapshot() if h else None
            for row, h in zip(rows, heads, strict=True)
        ]
        tails = [row[:, h:] for row, h in zip(rows, heads, strict=True)]
        out, _ = self.run_together(lm, tails, prefixes)
        for b, (row, n) in enumerate(zip(rows, counts, strict=True)):
            expected = np.array(self.run_alone(lm, row)[0][-n:])
            assert error(out[b, -n:], expected) < TOLERANCE

    def test_filter_and_extend_change_nothing_for_those_who_stay(self, lm):
        def start(n: int) -> tuple[KVCache, mx.array]:
            x = self.row(lm, n + 2)
            return self.run_alone(lm, x[:, :n])[1], x

        cache, _ = start(250)
        short, x = start(5)
        cache.extend(short)  # the short row shifts right
        longer, y = start(300)
        cache.extend(longer)  # both others shift right, past a bucket
        cache.filter([2, 1])
        for step in range(2):
            out = lm(
                mx.concatenate([y[:, 300 + step : 301 + step], x[:, 5 + step : 6 + step]]),
                cache=cache,
            )
        for b, row in enumerate((y, x)):
            assert error(out[b], np.array(self.run_alone(lm, row)[0][-1:])) < TOLERANCE
        cache.filter([1])
        assert cache.starts == [0]
        assert (cache.length, cache.columns) == (7, KVCache.BUCKET)


class TestFarPositions:
    """Attention of the last steps, computed in float64 from all that was ever given."""

    def stack(self, rope: RopeConfig, head_dim: int) -> MiniCPM4:
        """One layer."""
        config = TransformerConfig(32, 48, 1, 2, 1, head_dim, 1e-5, 1.0, rope)
        lm = MiniCPM4(config, positions=10_000)
        lm.join()
        return lm

    def expected(self, lm: MiniCPM4, x: mx.array) -> np.ndarray:
        """The output at the last of the positions given, (T, width) -> (width,)."""
        layer, config = lm.layers[0], lm.config
        weights = {name: np.array(a, np.float64) for name, a in tree_flatten(layer.parameters())}
        assert config.rope is not None
        tables = rope_table(config.rope, config.head_dim, np.arange(len(x)))
        cos, sin = (np.array(table, np.float64)[:, None] for table in tables)

        def norm(x: np.ndarray) -> np.ndarray:
            return x / np.sqrt(np.square(x).mean(-1, keepdims=True) + config.rms_norm_eps)

        def heads(x: np.ndarray, kind: str) -> np.ndarray:
            return (x @ weights[f"self_attn.{kind}_proj.weight"].T).reshape(
                len(x), -1, config.head_dim
            )

        def turned(x: np.ndarray) -> np.ndarray:
            a, b = np.split(x, 2, axis=-1)
            return np.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)

        given = np.array(x, np.float64)
        q, k = turned(heads(norm(given), "q"))[-1], turned(heads(norm(given), "k"))[:, 0]
        scores = k @ q.T * config.head_dim**-0.5
        shares = np.exp(scores - scores.max(0))
        seen = (shares / shares.sum(0)).T @ heads(norm(given), "v")[:, 0]
        y = given[-1] + seen.reshape(-1) @ weights["self_attn.o_proj.weight"].T
        gate, up = (norm(y) @ weights[f"mlp.{kind}_proj.weight"].T for kind in ("gate", "up"))
        y = y + (gate / (1 + np.exp(-gate)) * up) @ weights["mlp.down_proj.weight"].T
        return norm(y)

    @pytest.mark.parametrize("start", [7_995, 8_185])  # a bucket ends at 8,192
    @pytest.mark.slow
    def test_steps_at_8000_see_all_that_was_before(self, start):
        rope = shipped().base_lm.rope
        assert rope is not None
        lm = self.stack(rope, 128)
        x = mx.random.normal((1, start + 10, 32), key=mx.random.key(1))
        # One layer's keys and values need no attention.
        _, k, v = lm.layers[0].before_attention(x[:, :start], lm._rotation(start, None))
        cache = KVCache([k], [v], [0], start)
        cache._move(0, round_up(start, KVCache.BUCKET))
        for n in range(start, start + 10):
            found = lm(x[:, n : n + 1], cache=cache)[0, 0]
        assert error(found, self.expected(lm, x[0])) < TOLERANCE

    @pytest.mark.slow
    def test_ten_thousand_steps_of_rows_that_come_and_go(self):
        """One row makes them all; another joins it at 3,000 and leaves at 6,000."""
        lm = self.stack(RopeConfig(10_000.0, (1.0,) * 16, 1.0, 10_000), 32)
        x = mx.random.normal((1, 10_000, 32), key=mx.random.key(1))
        cache = KVCache.for_rows(lm.config, mx.float32, [1], [None])
        for n in range(10_000):
            if n == 3000:
                short = KVCache.for_rows(lm.config, mx.float32, [5], [None])
                lm(x[:, :5], cache=short)
                cache.extend(short)
            if n == 6000:
                cache.filter([0])
            given = [x[:, n : n + 1]]
            if 3000 <= n < 6000:
                given.append(x[:, n - 2995 : n - 2994])
            found = lm(mx.concatenate(given), cache=cache)
            mx.eval(found)
            if n in (255, 256, 2999, 3000, 5999, 6000, 8000, 9999):
                for row, last in enumerate((n, n - 2995)[: len(given)]):
                    expected = self.expected(lm, x[0, : last + 1])
                    assert error(found[row, 0], expected) < TOLERANCE
        assert (cache.length, cache.columns) == (10_000, 40 * KVCache.BUCKET)
