"""ONNX Runtime's own reports to Microsoft are off."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "statement",
    [
        "import kokoro82m.onnx_network",
        "from cosyvoice2 import reference; reference._import_onnxruntime()",
    ],
)
def test_loading_it_leaves_no_identifier_in_the_home(statement, tmp_path):
    """In an environment without CI, which switches reports off by itself."""
    subprocess.run(
        [sys.executable, "-c", f"{statement}\nimport sys; assert 'onnxruntime' in sys.modules"],
        env={"HOME": str(tmp_path), "PYTHONPATH": str(ROOT)},
        check=True,
    )
    assert list(tmp_path.iterdir()) == []
