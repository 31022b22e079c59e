"""A small Kokoro checkpoint through a cluster, on processor cores."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

from narrator.pipeline import book_engines, manuscript, run
from narrator.project.preferences import ClusterOptions
from narrator.speech.store import Store
from tests import books, small_model
from tests.clusters import at_work
from tests.engines.kokoro.conftest import make_checkpoint

pytest.importorskip("onnxruntime")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with mock.patch.dict("os.environ", NARRATOR_HOME=str(tmp_path_factory.mktemp("library"))):
        yield


def spoken(path: Path, wish: ClusterOptions) -> run.Report:
    with small_model.lenient():
        project = manuscript.read_manuscript(path).project
        engines = book_engines.engines_for(project, cluster=wish)
        return books.speak(path, engines.main, engines=engines.by_speaker)[0]


def test_a_book_has_the_same_keys_and_takes_as_here(tmp_path):
    model = make_checkpoint(tmp_path / "model")
    engine = f"engine: {{name: kokoro, model: {model}, device: cpu, slots: 1}}"
    manifest = f"{books.MANIFEST}{engine}\n".replace("seed: 3}}", "seed: 3}, speed: 1.2}")
    path, other = (books.brief(tmp_path / name, manifest) for name in ("here", "there"))
    here = spoken(path, ClusterOptions("none"))
    given = ("--engine", "kokoro", "--model", model, "--slots", 1)
    with at_work(tmp_path / "cluster", "mini", given=given, module="tests.lenient") as cluster:
        there = spoken(other, ClusterOptions(cluster.address))
    keys = [step.key for step in here.plan.steps]
    assert keys == [step.key for step in there.plan.steps]
    assert here.result.rendered == there.result.rendered == len(set(keys))
    takes, others = (Store.open(one.parent / "build" / "store") for one in (path, other))
    for key in keys:
        assert np.array_equal(takes.read(key)[0], others.read(key)[0])
        assert takes.find(key).words == others.find(key).words
