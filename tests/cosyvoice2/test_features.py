"""What the encoders hear, against the official numbers, from the clips on."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from cosyvoice2 import features
from speechbase import audio
from speechbase.errors import RequestError
from tests.cosyvoice2.conftest import CHOSEN, CosyGolden

CLIPS = CHOSEN.clips


@pytest.mark.parametrize("clip", CLIPS)
class TestOfficial:
    def test_samples(self, golden: CosyGolden, clip: str) -> None:
        samples, rate = audio.read_mono(golden.folder / "wav" / f"{clip}.wav")
        for name, wanted in (("wav16", 16_000), ("wav24", 24_000)):
            official = golden.arrays(f"prompt_{clip}")[name][0]
            made = audio.resample_audio(samples, rate, wanted, sinc=True)
            assert made.shape == official.shape
            assert np.abs(made - official).max() < 1e-5

    def test_log_mel(self, golden: CosyGolden, clip: str) -> None:
        arrays = golden.arrays(f"prompt_{clip}")
        made = features.log_mel(arrays["wav16"][0])
        assert made.dtype == np.float32
        assert made.shape == arrays["log_mel"][0].T.shape
        assert np.abs(made - arrays["log_mel"][0].T).max() < 5e-5

    def test_banks(self, golden: CosyGolden, clip: str) -> None:
        arrays = golden.arrays(f"prompt_{clip}")
        made = features.fbank(arrays["wav16"][0])
        assert made.shape == arrays["fbank"].shape
        assert np.abs(made - arrays["fbank"]).max() < 5e-4
        assert np.abs(made - made.mean(axis=0) - arrays["fbank_centred"]).max() < 5e-4

    def test_mel(self, golden: CosyGolden, clip: str) -> None:
        arrays = golden.arrays(f"prompt_{clip}")
        made = features.prompt_mel(arrays["wav24"][0], 24_000)
        assert made.dtype == np.float32
        assert made.shape == arrays["mel24"][0].shape
        assert np.abs(made - arrays["mel24"][0]).max() < 2e-5


def test_filters_have_equal_areas_and_cover_their_range() -> None:
    filters = features._mel_filters(24_000, 1920, 80, 8000)
    assert filters.shape == (80, 961)
    assert filters.min() == 0
    areas = filters.sum(axis=1) * 24_000 / 1920
    assert areas[40:] == pytest.approx(1, abs=0.02)  # the narrow ones fall between the bins
    assert not filters[:, 641:].any()


def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kaldi_native_fbank", None)
    with pytest.raises(RequestError, match="not installed: pip install onnxruntime kaldi"):
        features.fbank(np.zeros(1600, np.float32))
