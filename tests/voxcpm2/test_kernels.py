"""How many kernels a step launches: a GPU that makes few rows waits for launches."""

from __future__ import annotations

import random
import types
from collections.abc import Callable
from typing import Any

import pytest

from benchmarks import kernels, predictions, shapes
from tests.voxcpm2.gpu import fuses, pretended
from voxcpm2 import VoxCPM2

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
def test_a_step_of_the_shipped_sizes_launches_few(
    backend: kernels.Backend, rows: int, most: int
) -> None:
    [made] = kernels.counted([rows], [backend]).values()
    assert made["all"] <= most
    assert made["solver"] <= 1_100
    assert made["base LM"] <= (430 if backend == "cuda" and rows > 1 else 320)


@FUSED
def test_a_window_of_the_codec_launches_few() -> None:
    assert kernels.window() <= 270


@pytest.mark.slow
@pytest.mark.parametrize("slots", [1, 8])
def test_a_novel_stays_within_the_caches_of_cuda(slots: int) -> None:
    requests = list(shapes.novel(2000, 4, random.Random(slots)))
    with pretended("cuda"):
        plans, graphs, did = shapes.simulated(requests, slots, exact=False)
    assert did["prefills"] > 1000
    assert plans.misses == len(plans.seen) <= shapes.PLANS  # all are held to the end
    assert graphs.misses == len(graphs.seen) <= shapes.GRAPHS


class TestWhatOnlyAGpuSays:
    """The same code on a small model, here: what it says is of no meaning, and is said."""

    @pytest.fixture(autouse=True)
    def small(self, monkeypatch: pytest.MonkeyPatch, models: Callable[[str], VoxCPM2]) -> None:
        monkeypatch.setattr(kernels, "random_shipped", lambda: models("base"))
        monkeypatch.setattr(kernels, "TIMED", (2,))

    @pytest.mark.slow
    def test_parts_and_steps_are_timed_for_each_number_of_rows(self) -> None:
        found = kernels.timed(1)
        assert list(found) == [2]
        assert set(found[2]) == {"prefill", "LM step", "solver", "step"}
        assert min(found[2].values()) > 0

    def test_what_is_float32_is_held_against_a_cpu(self) -> None:
        found = kernels.float32_parts(1)
        assert set(found) == {"codec, encoder", "codec, decoder", "stop head"}
        assert {part["off"] for part in found.values()} == {0}

    def test_tf32_is_switched_in_processes_of_their_own(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked = []

        def run(command: list[str], env: dict[str, str], **_: Any) -> Any:
            asked.append((command[-3], env["MLX_ENABLE_TF32"]))
            return types.SimpleNamespace(stdout='a warning\n{"stop head": {"ms": 1, "off": 0}}\n')

        monkeypatch.setattr(kernels.subprocess, "run", run)
        found = kernels.tf32_costs(3)
        assert asked == [("--float32-parts", "0"), ("--float32-parts", "1")]
        assert found["TF32"]["stop head"] == {"ms": 1, "off": 0}


class TestPredictions:
    """What was predicted of a GPU is judged by what it measured, there and nowhere else."""

    H100 = "NVIDIA H100 80GB HBM3"  # 40 to 50 ms a row alone, 3 to 7 with others, 2.3 at least

    def test_within_a_range_and_a_fifth_beyond_is_met(self) -> None:
        judged = predictions.judged(self.H100, {1: 59, 2: 60, 8: 32, 16: 112})
        assert [each.met for each in judged] == [True] * 4
        assert [round(each.off, 2) for each in judged] == [0, 0.18, 0, 0]

    def test_what_was_wrong_says_by_how_much(self) -> None:
        *_, one, eight = predictions.judged(self.H100, {1: 20, 8: 112})
        assert str(one) == "one row: 40 to 50 ms predicted, 20.0 measured: wrong, 50% less"
        assert str(eight) == "a row of 8: 3 to 7 ms predicted, 14.0 measured: wrong, 100% more"

    def test_nothing_is_faster_than_its_memory(self) -> None:
        floor, *_ = predictions.judged("Apple M1", {1: 100})
        assert not floor.met
        assert str(floor).startswith("floor by bandwidth: 111 ms at least predicted, 100.0 m")

    def test_a_range_may_be_a_number(self) -> None:
        *_, one = predictions.judged("Apple M3 Ultra", {1: 22})
        assert str(one) == "one row: 22 ms predicted, 22.0 measured: met"

    @pytest.mark.parametrize("device", ["Apple M1 Pro", "NVIDIA H100 PCIe", "Intel(R) Xeon(R)"])
    def test_a_device_without_a_prediction_has_none(self, device: str) -> None:
        assert predictions.told(device, {1: 50}) == [f"nothing was predicted of {device}"]

    def test_a_cpu_judges_nothing(self) -> None:
        assert predictions.told(None, {1: 50}) == ["predictions are of GPUs: not judged on a CPU"]

    def test_the_wrong_ones_are_counted(self) -> None:
        told = predictions.told("NVIDIA GeForce RTX 4090", {1: 90, 8: 45, 16: 90})
        assert told[-1] == "  1 of 4 were wrong"
