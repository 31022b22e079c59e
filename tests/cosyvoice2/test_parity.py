"""Every stage equals the official numbers; an array that nothing compares, and every wrong number,
are seen."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cosyvoice2 import parity
from tests.cosyvoice2.conftest import CHOSEN, CosyGolden
from tests.effort import quick
from tests.parity import distance

BRIEF = ("llm_step", "sampler", "flow_noise", "llm_max_len")
"""Groups that take next to no time, each by itself."""
SLOW = (
    "llm_bistream_noprompt",
    "flow_cfm", "flow_inference", "tts_zero_shot", "tts_cross_lingual", "tts_sft", "tts_speed",
    "tts_given_tokens", "tts_given_tokens_stream", "tts_zero_shot_stream",
)  # fmt: skip
"""Groups that repeat others' stages with other inputs, and take seconds."""
GROUPS = list(CHOSEN.index["groups"])

Folder = Callable[..., Path]


@pytest.fixture
def folder(golden: CosyGolden, tmp_path: Path) -> Folder:
    """Another folder, of some of the groups."""

    def made(*groups: str) -> Path:
        path = tmp_path / "another"
        path.mkdir()
        (path / "checkpoint").symlink_to(golden.checkpoint)
        index = {**golden.index, "seed": 7}
        index["groups"] = {name: index["groups"][name] for name in groups}
        (path / "index.json").write_text(json.dumps(index))
        for name in groups:
            np.savez(path / f"{name}.npz", **golden.arrays(name))
        return path

    return made


@pytest.fixture(scope="module")
def comparison(golden: CosyGolden) -> parity.Comparison:
    return parity.Comparison(golden.folder)


@pytest.mark.parametrize("group", quick(GROUPS, *(name for name in GROUPS if name not in SLOW)))
def test_every_array_equals_the_official_one(comparison, group):
    comparison.report = report = parity.Report(comparison.golden)
    comparison.compare_group(group)
    assert report.failures == []
    arrays = {name for name in report.all if name.startswith(f"{group}.")}
    assert arrays <= report.compared | report.inputs


def test_texts_have_the_official_ids(comparison):
    comparison.report = report = parity.Report(comparison.golden)
    comparison.compare_texts()
    assert len(report.checks) == 2
    assert report.failures == []


def last_line(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(capsys.readouterr().out.splitlines()[-1])
    return found


def altered(path: Path, group: str, name: str) -> None:
    """One number of an array, by more than anything is allowed to be off."""
    with np.load(path / f"{group}.npz") as arrays:
        changed = {key: arrays[key].copy() for key in arrays.files}
    changed[name].reshape(-1)[-1] += 1
    np.savez(path / f"{group}.npz", **changed)


def test_another_folder_with_fewer_groups_is_compared(folder, capsys):
    assert parity.main([str(folder(*BRIEF[:-1]))]) == 0
    said = last_line(capsys)
    assert (said["folder"], said["seed"], said["failures"]) == ("another", 7, [])
    assert said["compared"] + said["inputs"] == said["arrays"] > 0
    assert said["not_looked_at"] == []


@pytest.mark.parametrize("group", quick(BRIEF, "llm_step"))
def test_each_number_that_is_wrong_is_found(folder, group):
    path = folder(group)
    comparison = parity.Comparison(path)
    comparison.run()
    arrays = sorted(comparison.report.compared)
    assert arrays
    for array in arrays:
        kept = (path / f"{group}.npz").read_bytes()
        altered(path, group, array.split(".")[1])
        comparison.report = parity.Report(comparison.golden)
        assert comparison.run().failures, array
        (path / f"{group}.npz").write_bytes(kept)


def test_a_wrong_number_is_named_and_the_status_says_it(folder, capsys):
    path = folder("sampler")
    altered(path, "sampler", "token")
    assert parity.main([str(path)]) == 1
    [over] = last_line(capsys)["failures"]
    assert (over["group"], over["stage"], over["error"]) == ("sampler", "tokens", "1.0")


def test_what_cannot_be_compared_is_not_passed_over(folder, capsys):
    path = folder("sampler", "flow_noise")
    (path / "flow_noise.npz").unlink()
    np.savez(path / "another.npz", strange=np.zeros(3))
    assert parity.main([str(path)]) == 1
    said = last_line(capsys)
    assert said["not_looked_at"] == ["another.strange"]
    assert {(each["group"], each["stage"]) for each in said["failures"]} == {
        ("flow_noise", "it goes through"),
        ("index.json", "arrays"),
    }


def test_numbers_that_are_none_are_over():
    assert distance(np.array([np.nan]), np.zeros(1)) == np.inf
    assert distance(np.zeros(2), np.zeros(3)) == np.inf


def test_a_folder_without_an_index_is_said(tmp_path, capsys):
    with pytest.raises(SystemExit):
        parity.main([str(tmp_path)])
    assert "no folder of official numbers" in capsys.readouterr().err
