"""What holds for tests of the speech server: one with the draft voice, started once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

for name in ("starlette", "uvicorn", "espeakng_loader"):
    pytest.importorskip(name, reason="the extras `studio` and `draft` are not installed")

from tests import serving  # noqa: E402
from tests.serving import Served  # noqa: E402


@pytest.fixture(scope="session")
def shared() -> Iterator[Served]:
    """A server that everybody on this machine may ask."""
    with serving.opened(serving.draft()) as served:
        yield served
