"""Streams: the same samples as the whole, patch by patch."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from tests.effort import quick
from voxcpm2 import Prompt, RequestError, VoxCPM2

from .conftest import latents

SAME = 2e-4  # absolute, on samples: one-shot and streamed decoding add up in another order


def calls(model: VoxCPM2) -> dict[str, dict[str, Any]]:
    said, short = (Prompt("It was said.", latents(model, n, n)) for n in (5, 1))
    result: dict[str, dict[str, Any]] = {"zero-shot": {}, "continuation": {"prompt": said}}
    if not model.config.first_generation:
        voice = latents(model, 7, 7)
        result["reference"] = {"reference": voice}
        result["after a prompt shorter than the context"] = {"reference": voice, "prompt": short}
    return result


@pytest.mark.parametrize("variant", quick(["base", "stress", "v1"], "base"))
def test_a_stream_equals_the_whole(models, variant):
    model = models(variant)
    patch = model.config.patch_size * model.config.vae.out_hop
    for mode, call in calls(model).items():
        whole = model.generate("Hello world.", seed=4, max_len=6, steps=3, **call)
        chunks = list(model.stream("Hello world.", seed=4, max_len=6, steps=3, **call))
        assert [len(chunk) for chunk in chunks] == [patch] * len(whole.latents)
        assert np.abs(np.concatenate(chunks) - whole.samples).max() < SAME, mode


def test_a_cancelled_stream_ends(models):
    cancel = threading.Event()
    heard = 0
    for _ in models("base").stream("the warm sun", min_len=30, max_len=30, steps=2, cancel=cancel):
        heard += 1
        if heard == 3:
            cancel.set()
    assert heard == 3


def test_a_bad_call_is_refused_before_the_first_chunk_is_asked_for(models):
    with pytest.raises(RequestError, match="text is empty"):
        models("base").stream(" ")
