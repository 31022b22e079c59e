"""Sets defaults of the environment variables of MLX and ONNX Runtime; must be imported before them.

Variables that the user has set are kept. Loads nothing.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

# MLX_MAX_OPS_PER_BUFFER stays MLX's own: more was reported to give 5 to 8 % on an M3 Ultra, nothing
# or less on an M5.
DEFAULTS: Mapping[str, str] = {
    # Float32 is meant where it stands (codec, stop head, norms): TF32 keeps ten bits of a product.
    "MLX_ENABLE_TF32": "0",
    # On CUDA a cache that has missed twice its size throws, and what was being written is torn; a
    # miss by itself costs time.
    "MLX_ENABLE_CACHE_THRASHING_CHECK": "0",
    # A novel makes 111 plans of attention and some 230 graphs (benchmarks/shapes.py); MLX keeps
    # 256 and 400, and books of other lengths and settings follow in one process.
    "MLX_CUDA_SDPA_CACHE_SIZE": "1024",
    "MLX_CUDA_GRAPH_CACHE_SIZE": "1024",
    # From 1.29 on, ONNX Runtime reports its sessions to Microsoft, with an id that it keeps in the
    # user's cache.
    "ORT_DISABLE_TELEMETRY": "1",
}

for _name, _default in DEFAULTS.items():
    os.environ.setdefault(_name, _default)
