"""What is imported without a model stays light."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden"
MODELS = {"mlx", "mlx_lm", "transformers", "onnxruntime", "torch"}
PACKAGES = {"voxcpm2", "cosyvoice2", "kokoro82m"}


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("import narrator.engines.voxcpm2.engine", MODELS | PACKAGES),
        pytest.param(
            "import narrator.engines.cosyvoice2.engine", MODELS | PACKAGES, marks=pytest.mark.slow
        ),
        (
            "from narrator.engines import models\n"
            "from narrator.engines.voxcpm2.checkpoint import FAMILY\n"
            f"assert models.find(FAMILY, {str(GOLDEN / 'base_s0' / 'checkpoint')!r}).path",
            MODELS | PACKAGES,
        ),
        ("from speechbase import files, pth", MODELS),
        (
            "import kokoro82m, pathlib\n"
            f"kokoro82m.read_config(pathlib.Path({str(GOLDEN / 'kokoro/kokoro_s0/checkpoint')!r}))",
            MODELS,
        ),
        # of mlx-lm no more than Qwen2: the rest takes seconds
        (
            "import cosyvoice2.generate, cosyvoice2.bistream\n"
            "assert not [name for name in sys.modules if 'mlx_lm' in name]\n"
            "cosyvoice2.lm._import_qwen2()",
            {"mlx_lm", "transformers"},
        ),
    ],
    ids=["VoxCPM2", "CosyVoice2", "finding a model", "files", "Kokoro's settings", "Qwen2"],
)
def test_a_program_loads_no_more_than_it_needs(code, absent, tmp_path):
    program = f"import sys\n{code}\nprint(*{absent!r} & sys.modules.keys())"
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (run.stdout.strip(), run.stderr) == ("", "")
