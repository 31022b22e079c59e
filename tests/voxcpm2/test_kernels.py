"""How many kernels a step launches: a GPU that makes few rows waits for launches."""

from __future__ import annotations

import random

import pytest

from benchmarks import kernels, shapes
from tests.voxcpm2.gpu import fuses, pretended

FUSED = pytest.mark.skipif(not fuses(), reason="without a C++ compiler MLX fuses no kernels")


@pytest.mark.parametrize(
    ("backend", "rows", "most"),
    [
        pytest.param("metal", 1, 1_650, marks=pytest.mark.slow),
        ("metal", 8, 1_650),
        pytest.param("cuda", 1, 1_650, marks=pytest.mark.slow),
        ("cuda", 8, 1_800),
    ],
)
@FUSED
def test_a_step_of_the_shipped_sizes_launches_few(backend, rows, most):
    [made] = kernels.counted([rows], [backend]).values()
    assert made["all"] <= most
    assert made["solver"] <= 1_100
    assert made["base LM"] <= (430 if backend == "cuda" and rows > 1 else 320)


@FUSED
def test_a_window_of_the_codec_launches_few():
    assert kernels.window() <= 270


@pytest.mark.slow
@pytest.mark.parametrize("slots", [1, 8])
def test_a_novel_stays_within_the_caches_of_cuda(slots):
    requests = list(shapes.novel(2000, 4, random.Random(slots)))
    with pretended("cuda"):
        plans, graphs, did = shapes.simulated(requests, slots, exact=False)
    assert did["prefills"] > 1000
    assert plans.misses == len(plans.seen) <= shapes.PLANS  # all are held to the end
    assert graphs.misses == len(graphs.seen) <= shapes.GRAPHS
