"""Whatever is wrong with a checkpoint's files: it loads, or is one line of the package's own."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.voxcpm2 import hostile


def tried(*parts: str, seed: int, count: int) -> str:
    """In a process of its own, so that memory can be measured: what went wrong."""
    command = [
        sys.executable,
        "-m",
        "tests.voxcpm2.hostile",
        ",".join(parts),
        str(seed),
        str(count),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


@pytest.mark.slow
def test_a_hostile_checkpoint_loads_or_is_one_line():
    assert tried(*hostile.PARTS, seed=1, count=4) == ""


@pytest.mark.slow
@pytest.mark.parametrize("part", hostile.PARTS)
def test_hundreds_of_hostile_checkpoints_load_or_are_one_line(part):
    assert tried(part, seed=2, count=700) == ""
