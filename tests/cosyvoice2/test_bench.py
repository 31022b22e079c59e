"""How many kernels the model launches: a GPU that makes few rows waits for launches. And that what
times it can."""

from __future__ import annotations

import pytest

from benchmarks import cosyvoice
from benchmarks.cosyvoice import Ours, Task, flow_kernels, lm_kernels, vocoder_kernels
from tests.cosyvoice2.conftest import TINY
from tests.voxcpm2.gpu import fuses

FUSED = pytest.mark.skipif(not fuses(), reason="without a C++ compiler MLX fuses no kernels")


@pytest.mark.parametrize(("backend", "most"), [("metal", 330), ("cuda", 430)])
@FUSED
def test_a_step_of_the_released_sizes_launches_few(backend, most):
    made = lm_kernels([1, 8], backend)
    assert made[1]["all"] <= made[8]["all"] <= most


@pytest.mark.parametrize(
    ("backend", "rows", "estimator", "chunk"),
    [
        ("metal", 1, 740, 11_700),
        ("metal", 4, 740, 11_700),
        ("cuda", 4, 1_000, 13_100),
    ],
)
@pytest.mark.slow
@FUSED
def test_a_mel_of_the_released_sizes_launches_few(backend, rows, estimator, chunk):
    made = flow_kernels(rows, backend, 50, 50)
    assert max(made["estimator"], made.get("estimator, ragged", 0)) <= estimator
    assert max(made[name] for name in made if name.startswith("mel")) <= 10 * estimator
    assert made["chunk of a stream"] <= chunk


@pytest.mark.parametrize(("backend", "most"), [("metal", 200), ("cuda", 350)])
@FUSED
def test_a_window_launches_few_kernels_and_four_no_more(backend, most):
    one, four = vocoder_kernels(1, backend), vocoder_kernels(4, backend)
    assert one == four
    assert one["window"] <= most
    assert one["pitch"] <= 25
    assert one["source"] <= 20


@pytest.mark.slow
def test_each_stage_is_timed():
    """In sizes whose times mean nothing."""
    ours = Ours(cosyvoice.random_model(TINY), Task(tokens=28, prompt=2, rounds=1))
    found = cosyvoice.by_rows(ours, 1)
    assert len(found) == 4
    assert min(*found.values(), *cosyvoice.streamed(ours).values()) > 0
