"""The language model: its passes against one another, half precision and quantisation."""

from __future__ import annotations

import sys

import mlx.core as mx
import mlx.nn as nn
import numpy as np
import pytest

from cosyvoice2.lm import Qwen2LM, _import_qwen2
from speechbase.errors import ModelError
from tests.cosyvoice2.conftest import TINY, CosyGolden, filled_lm, of_seed_0

NEAR = 5e-5


def said(golden: CosyGolden, mode: str) -> tuple[dict[str, np.ndarray], list[int], list[int]]:
    """The arrays of a mode, its ids in order and its prefix."""
    arrays = golden.arrays(f"llm_{mode}")
    ids = [*arrays["prompt_text_ids"][0], *arrays["text_ids"][0]]
    return arrays, [int(each) for each in ids], arrays["prompt_speech_token"][0].tolist()


def test_no_tokens_at_all_have_logits(lm):
    assert lm.logits([1, 2], [], []).shape == (1, TINY.lm.speech_tokens + 3)


def together(lm: Qwen2LM, leads: list[mx.array], tokens: list[list[int]]) -> np.ndarray:
    """Logits of rows side by side: of their first token and after each of `tokens`."""
    lines = lm.prefill(leads)
    found = [np.array(lm.decode(lines.last))]
    for step in zip(*tokens, strict=True):
        lm.step(lines, step)
        found.append(np.array(lm.decode(lines.last)))
    return np.stack(found, 1)


ROWS = (([7], []), ([1, 2, 3] * 20, list(range(90))), ([5, 6], [1, 2, 3]), ([9] * 4, []))


def test_rows_of_different_length_do_not_see_their_padding(lm):
    tokens = [[row, 10 + row, 20 + row] for row in range(len(ROWS))]
    leads = [lm.lead(ids, prefix) for ids, prefix in ROWS]
    found = together(lm, leads, tokens)
    assert np.isfinite(found).all()
    for row, (ids, prefix) in enumerate(ROWS):
        assert np.abs(found[row] - lm.logits(ids, prefix, tokens[row])).max() < NEAR


def test_padding_leaves_numbers_in_keys_and_values(lm):
    lines = lm.prefill([lm.lead(*row) for row in ROWS])
    for array in (*lines.cache.keys, *lines.cache.values, lines.last):
        assert mx.isfinite(array).all()


def test_rows_that_come_and_go_change_nothing_for_the_others(lm):
    (short, long, late) = ([7], []), ([1, 2, 3] * 20, list(range(9))), ([4, 5], [6])
    lines = lm.prefill([lm.lead(*short), lm.lead(*long)])
    lm.step(lines, [1, 2])
    lines.extend(lm.prefill([lm.lead(*late)]))
    lm.step(lines, [3, 4, 5])
    lines.filter([2, 0])
    lm.step(lines, [6, 7])
    found = np.array(lm.decode(lines.last))
    assert np.abs(found[0] - lm.logits(*late, [5, 6])[-1]).max() < NEAR
    assert np.abs(found[1] - lm.logits(*short, [1, 3, 7])[-1]).max() < NEAR
    assert lines.cache.length == 7  # the long row's columns went with it


@of_seed_0
@pytest.mark.parametrize("dtype", [mx.bfloat16, mx.float16])
def test_half_precision_stays_half_and_is_near(golden, dtype):
    lm = filled_lm(golden)
    lm.set_dtype(dtype)
    arrays, ids, prefix = said(golden, "zero_shot")
    lines = lm.prefill([lm.lead(ids, prefix), lm.lead([1], [])])
    assert {each.dtype for each in (lines.last, *lines.cache.keys, *lines.cache.values)} == {dtype}
    logits = lm.decode(lines.last)
    assert logits.dtype == mx.float32
    assert np.abs(logits[0] - arrays["logits"][0]).max() < (0.5 if dtype == mx.bfloat16 else 0.05)


def fits(layer: nn.Module) -> bool:
    return hasattr(layer, "to_quantized") and layer.weight.shape[1] % 32 == 0


@of_seed_0
@pytest.mark.parametrize(("bits", "off"), [(8, 0.3), (4, 4)])
def test_a_quantised_backbone_gives_nearly_the_same(golden, bits, off):
    lm = filled_lm(golden)
    nn.quantize(lm.llm, 32, bits, class_predicate=lambda _, layer: fits(layer))
    arrays, ids, prefix = said(golden, "zero_shot")
    assert lm.dtype == mx.float32
    found = together(lm, [lm.lead(ids, prefix), lm.lead([1], [])], [[5, 6], [7, 8]])
    assert np.abs(found[0, 0] - arrays["logits"][0]).max() < off
    assert np.abs(found[0] - lm.logits(ids, prefix, [5, 6])).max() < NEAR


def test_without_mlx_lm_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "mlx_lm", None)
    with pytest.raises(ModelError, match="pip install mlx-lm"):
        _import_qwen2.__wrapped__()
