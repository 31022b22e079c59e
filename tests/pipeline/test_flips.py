"""A flipped bit in any kind of file of a build: used nowhere, made anew, or reported."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.bench.flips import Flip, Trials


@pytest.fixture(scope="module")
def trials(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trials]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NARRATOR_HOME", str(tmp_path_factory.mktemp("home")))
        yield Trials(tmp_path_factory.mktemp("flips"))


FILES = (
    "book/ encoded/ timeline/ store/heard.jsonl store/journal.jsonl store/pins.json made.json"
).split()


@pytest.mark.parametrize("start", FILES)
def test_no_flip_is_silent(start: str, trials: Trials) -> None:
    name = next(name for name in trials.files if name.startswith(start))
    flip = Flip(name, trials.files[name] // 2, 3)
    assert trials.outcome(flip) != "silent"


def test_a_flip_in_what_was_heard_is_reported(trials: Trials) -> None:
    assert trials.outcome(Flip("store/heard.jsonl", 40, 0)) == "reported"
