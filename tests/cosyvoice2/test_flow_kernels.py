"""How many kernels the flow launches: a GPU that makes few rows waits for launches."""

from __future__ import annotations

import pytest

from tests.bench import flow
from tests.bench.kernels import Backend


@pytest.mark.parametrize(
    ("backend", "rows", "estimator", "chunk"),
    [("metal", 1, 740, 11_700), ("metal", 4, 740, 11_700), ("cuda", 4, 960, 13_400)],
)
def test_a_mel_of_the_released_sizes_launches_few(
    backend: Backend, rows: int, estimator: int, chunk: int
) -> None:
    made = flow.counted(rows, 50, 50, backend)
    assert max(made["estimator"], made.get("estimator, ragged", 0)) <= estimator
    assert max(made[name] for name in made if name.startswith("mel")) <= 10 * estimator
    assert made["chunk of a stream"] <= chunk
