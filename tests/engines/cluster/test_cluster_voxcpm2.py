"""A small VoxCPM2 checkpoint through a cluster: see tests/test_book_voxcpm2.py."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

from narrator.pipeline import book_engines, manuscript, run
from narrator.project.preferences import ClusterOptions
from narrator.speech.store import Store
from tests import books, small_model
from tests.clusters import AtWork, at_work

pytestmark = pytest.mark.slow

TOLERANCE = 1e-3
"""Of latents, relative: as batches of other sizes differ, and a chain carries that on."""


@pytest.fixture(scope="module", autouse=True)
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with mock.patch.dict("os.environ", NARRATOR_HOME=str(tmp_path_factory.mktemp("library"))):
        yield


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_model.checkpoint(tmp_path_factory.mktemp("checkpoint"))


@pytest.fixture(scope="module")
def cluster(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AtWork]:
    given = ("--engine", "voxcpm2", "--model", model, "--slots", 2)
    folder = tmp_path_factory.mktemp("cluster")
    with at_work(folder, "mini", "studio", given=given, module="tests.lenient") as found:
        yield found


@pytest.fixture(scope="module")
def here(model: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, run.Report]:
    path = small_model.write(tmp_path_factory.mktemp("here") / "book", model)
    return path, small_model.render(path, deliver=False)[0]


def through(cluster: AtWork, path: Path) -> run.Report:
    with small_model.lenient():
        wish = ClusterOptions(cluster.address)
        engines = book_engines.engines_for(manuscript.read_manuscript(path).project, cluster=wish)
        return books.speak(path, engines.main, engines=engines.by_speaker)[0]


def copy(path: Path, folder: Path) -> Path:
    """The project with its cast voices, without its takes."""
    shutil.copytree(path.parent, folder, ignore=shutil.ignore_patterns("store", "book"))
    return folder / path.name


def keys_of(report: run.Report) -> list[str]:
    return [step.key for step in report.plan.steps]


def same_takes(report: run.Report, path: Path, other: Path) -> None:
    ours, theirs = (Store.open(one.parent / "build" / "store") for one in (path, other))
    for step in report.plan.steps:
        one, two = ours.state(step.key), theirs.state(step.key)
        assert one is not None
        assert two is not None
        assert one.shape == two.shape
        assert np.abs(one - two).max() <= TOLERANCE * np.abs(one).max()
        (sound, rate), (found, other_rate) = ours.read(step.key), theirs.read(step.key)
        assert (len(sound), rate) == (len(found), other_rate)
        assert np.abs(sound - found).max() <= TOLERANCE * np.abs(sound).max()


def test_a_book_has_the_same_keys_and_takes_as_in_process(here, cluster, tmp_path):
    """Chains that go on, a clip, a preset and voices that were cast."""
    path, report = here
    other = copy(path, tmp_path / "book")
    found = through(cluster, other)
    assert found.complete
    assert keys_of(found) == keys_of(report)
    assert {step.mode for step in found.plan.steps} == {"reference", "anchored", "continuation"}
    same_takes(report, path, other)


def test_voices_are_cast_there_too(here, cluster, tmp_path, model):
    path, report = here
    other = small_model.write(tmp_path / "book", model)
    found = through(cluster, other)
    assert found.complete
    assert keys_of(found) == keys_of(report)
    same_takes(report, path, other)


def test_a_client_without_the_model_has_the_same_keys(here, cluster, tmp_path):
    path, report = here
    other = small_model.write(tmp_path / "book", tmp_path / "gone")
    found = through(cluster, other)
    assert found.complete
    assert keys_of(found) == keys_of(report)
    same_takes(report, path, other)
