"""How many kernels the flow launches: a GPU that makes few rows waits for launches."""

from __future__ import annotations

import pytest

from tests.bench import flow
from tests.bench.kernels import Backend
from tests.cosyvoice2.conftest import TINY


@pytest.mark.parametrize(
    ("backend", "rows", "estimator", "chunk"),
    [("metal", 1, 740, 11_700), ("metal", 4, 740, 11_700), ("cuda", 4, 1_000, 13_100)],
)
def test_a_mel_of_the_released_sizes_launches_few(
    backend: Backend, rows: int, estimator: int, chunk: int
) -> None:
    made = flow.counted(rows, 50, 50, backend)
    assert max(made["estimator"], made.get("estimator, ragged", 0)) <= estimator
    assert max(made[name] for name in made if name.startswith("mel")) <= 10 * estimator
    assert made["chunk of a stream"] <= chunk


def test_mels_and_chunks_are_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flow, "RELEASED", TINY.flow)  # what it says is of no meaning, and is said
    found = flow.timed(rows=1, tokens=28, prompt=0, rounds=1)
    assert set(found) == {"mel", "mel, ragged", "first chunk", "last chunk", "kept, MB"}
    assert min(found.values()) > 0
