"""What tests of clusters ask for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from narrator.engines import Request
from narrator.engines.voice import Reference, Voice

RATE = 8000


def request(key: str = "1", text: str = "The ferry left at seven.", **more: Any) -> Request:
    made = Request(
        key=key,
        text=text,
        language="en-GB",
        voice=Voice("narrator", description="An old ferryman", seed=3),
        style=None,
        parameters={"cfg": 2.0, "seed": 7},
        seed=7,
        attempt=0,
        expected=1.5,
    )
    return replace(made, **more)


def reference(content: str = "clip", seconds: float = 0.5) -> Reference:
    samples = np.random.default_rng(len(content)).normal(0, 0.1, round(seconds * RATE))
    latents = {"encoder": np.arange(6, dtype=np.float32).reshape(2, 3)}
    return Reference(content, samples.astype(np.float32), RATE, "I was a ferryman.", latents)
