"""A flipped bit in any kind of file of a build: used nowhere, made anew, or reported."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from benchmarks.flips import ENGINE, Flip, Trials
from tests import faults


@pytest.fixture(scope="module")
def trials(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trials]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NARRATOR_HOME", str(tmp_path_factory.mktemp("home")))
        yield Trials(tmp_path_factory.mktemp("flips"))


FILES = (
    "book/ encoded/ timeline/ store/heard.jsonl store/journal.jsonl store/pins.json made.json"
).split()


@pytest.mark.parametrize("start", FILES)
def test_no_flip_is_silent(start, trials):
    name = next(name for name in trials.files if name.startswith(start))
    flip = Flip(name, trials.files[name] // 2, 3)
    assert trials.outcome(flip) != "silent"


def test_no_flip_of_a_take_is_silent(trials):
    takes = [name for name in trials.files if name.endswith(".take")]
    outcomes = {trials.outcome(Flip(name, trials.files[name] // 2, 3)) for name in takes}
    assert outcomes == {"reported"}


def test_a_flip_in_a_try_is_reported(trials):
    trials.restore()
    take = next(name for name in trials.files if name.endswith(".take"))
    data = bytearray((trials.build / take).read_bytes())
    path = trials.build / take.replace(".take", ".1.try")
    path.write_bytes(data)
    assert path.name not in faults.command(ENGINE, "status", trials.path, "--deep")[1]
    data[len(data) // 2] ^= 8
    path.write_bytes(data)
    assert path.name in faults.command(ENGINE, "status", trials.path, "--deep", "--json")[1]


def test_a_flip_in_what_was_heard_is_reported(trials):
    assert trials.outcome(Flip("store/heard.jsonl", 40, 0)) == "reported"
