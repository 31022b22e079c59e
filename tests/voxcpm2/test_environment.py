"""What MLX reads of its environment is there before MLX is, by every way in."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from speechbase.environment import DEFAULTS
from tests import books, hubs
from tests.effort import quick

SPY = """\
import json, os, sys
class Spy:
    def find_spec(self, name, path=None, target=None):
        if name.startswith("mlx"):
            prefixes = ("MLX_", "ORT_")
            print(json.dumps({n: v for n, v in os.environ.items() if n.startswith(prefixes)}))
            sys.stdout.flush()
            os._exit(0)
sys.meta_path.insert(0, Spy())
"""
LOADING = """\
from pathlib import Path
from narrator.engines.voxcpm2.loaded_model import LoadingVoxCPM2
from narrator.engines.voxcpm2.settings import VoxCPM2Settings
loading = LoadingVoxCPM2("m", Path(sys.argv[1]), VoxCPM2Settings(), "w", Path("v"))
"""
WAYS = {
    "the package": "import voxcpm2",
    "another model": "import cosyvoice2",
    "its command": "import runpy; runpy.run_module('voxcpm2', run_name='__main__')",
    "a module of it": "from voxcpm2.config import Config",
    "render": "sys.argv[1:] = ['render', sys.argv[2]]; from narrator import cli; cli.main()",
    "the model's process": f"{LOADING}from narrator.engines.mlx import worker\n"
    "worker.MessageHandler(print).load(loading)",
    "doctor's step": "from pathlib import Path; from narrator.engines import voxcpm2\n"
    "voxcpm2.SPEC.model.time_step(Path(sys.argv[1]))",
    "what reads": "from narrator.engines import reader; reader._import_mlx_lm()",
}


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """A checkpoint, and a book that it is to speak."""
    folder = tmp_path_factory.mktemp("environment")
    model = hubs.checkpoint(folder / "model")
    manifest = f"engine: {{model: {model}, process: same}}\n{books.MANIFEST}"
    return [str(model), str(books.write(folder / "book", manifest))]


@pytest.mark.parametrize("way", quick(WAYS, "its command", "the model's process"))
def test_it_is_set_before_mlx_is_loaded_but_for_what_the_user_set(places, way):
    prefixes = ("MLX_", "ORT_")
    plain = {name: value for name, value in os.environ.items() if not name.startswith(prefixes)}
    done = subprocess.run(
        [sys.executable, "-c", SPY + WAYS[way], *places],
        capture_output=True,
        text=True,
        env={**plain, "MLX_CUDA_GRAPH_CACHE_SIZE": "7"},
    )
    found = json.loads(done.stdout.splitlines()[-1])
    assert found == {**DEFAULTS, "MLX_CUDA_GRAPH_CACHE_SIZE": "7"}, done.stderr
