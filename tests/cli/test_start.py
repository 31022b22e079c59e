"""What the program loads before it knows what is asked of it."""

from __future__ import annotations

import json
import subprocess
import sys

HEAVY = {"av", "numpy", "pydantic", "soundfile", "soxr"}


def test_the_program_starts_without_heavy_libraries():
    script = "import json, sys, narrator.cli; print(json.dumps(list(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    modules = set(json.loads(run.stdout))
    assert "narrator.cli.models" in modules
    assert not HEAVY & modules
