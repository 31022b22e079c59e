"""What the encoders hear."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from cosyvoice2 import features
from speechbase.errors import RequestError


def test_filters_have_equal_areas_and_cover_their_range():
    filters = features._mel_filters(24_000, 1920, 80, 8000)
    assert filters.shape == (80, 961)
    assert filters.min() == 0
    areas = filters.sum(axis=1) * 24_000 / 1920
    assert areas[40:] == pytest.approx(1, abs=0.02)  # the narrow ones fall between the bins
    assert not filters[:, 641:].any()


def test_missing_packages_are_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "kaldi_native_fbank", None)
    with pytest.raises(RequestError, match="not installed: pip install onnxruntime kaldi"):
        features.fbank(np.zeros(1600, np.float32))
