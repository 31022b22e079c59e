"""Every stage equals the official implementation; a wrong number, or one that is not looked at, is
seen."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.effort import quick
from tests.kokoro82m import parity
from tests.kokoro82m.conftest import FOLDER, REAL, KokoroGolden


class ChangedGolden(KokoroGolden):
    """The golden numbers with changed arrays."""

    def __init__(self, change: Callable[[dict[str, np.ndarray]], None]) -> None:
        super().__init__(FOLDER)
        self._change = change

    def arrays(self, case: str) -> dict[str, np.ndarray]:
        arrays = super().arrays(case)
        self._change(arrays)
        return arrays


@pytest.mark.parametrize(
    "case",
    [
        "len5",
        "len40",
        pytest.param("len150", marks=pytest.mark.slow),
        pytest.param("len500", marks=pytest.mark.slow),
    ],
)
def test_every_stage_equals_the_official_one(model, golden, case):
    stages = parity.Stages(model, golden, case)
    checks = stages.compare()
    assert stages.arrays.keys() == stages.seen
    assert not [check for check in checks if not check.passes]
    assert len(checks) >= len(stages.arrays) - len(parity.INPUTS) - 1


@pytest.mark.parametrize(
    "name", quick(["duration_logits", "N", "har", "post", "samples"], "N", "samples")
)
def test_a_wrong_number_fails(model, name):
    def change(arrays: dict[str, np.ndarray]) -> None:
        arrays[name].reshape(-1)[-1] += 1

    checks = parity.Stages(model, ChangedGolden(change), "len5").compare()
    assert [check for check in checks if not check.passes]


@pytest.mark.parametrize(
    ("another", "status"),
    [pytest.param({}, 0, marks=pytest.mark.slow), ({"another": np.zeros(1)}, 1)],
)
def test_an_array_that_nothing_compares_fails_a_folder(golden, tmp_path, capsys, another, status):
    (tmp_path / "checkpoint").symlink_to(golden.checkpoint)
    (tmp_path / "index.json").write_text(json.dumps({"cases": {"len5": golden.cases["len5"]}}))
    np.savez(tmp_path / "len5.npz", **golden.arrays("len5"), **another)
    assert parity.main([str(tmp_path)]) == status
    summary = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert summary["not_looked_at"] == [f"len5.{name}" for name in another]
    assert not summary["failures"]
    assert "whole: log-mel" in summary["worst"]


@pytest.mark.slow
@pytest.mark.skipif(REAL is None, reason="no published weights: make speech")
def test_the_published_weights_equal_the_official_implementation():
    sentences = json.loads((FOLDER / "real.json").read_text("utf-8"))
    checks = list(parity.compare_real(Path(REAL), sentences[:2]))
    assert not [check for check in checks if not check.passes]
