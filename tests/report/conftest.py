"""Settings of tests of the page."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from unittest import mock

import pytest


@pytest.fixture(scope="session", autouse=True)
def templates_are_read_once() -> Iterator[None]:
    """Every page parses them anew, and here there are many."""
    page = pytest.importorskip("narrator.report.page", reason="the extra `report` is missing")
    with mock.patch.object(page, "_templates", functools.cache(page._templates)):
        yield
