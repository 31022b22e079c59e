"""What holds for all tests."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def hang_ups_are_heard() -> Iterator[None]:
    """Under nohup a process ignores SIGHUP and so do its children: tests mean it as it is."""
    held = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, held)


@pytest.fixture(scope="session", autouse=True)
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test reads or writes the voices, models and measurements of who runs it."""
    before = os.environ.get("NARRATOR_HOME")
    os.environ["NARRATOR_HOME"] = str(tmp_path_factory.mktemp("library"))
    yield
    if before is None:
        del os.environ["NARRATOR_HOME"]
    else:
        os.environ["NARRATOR_HOME"] = before
