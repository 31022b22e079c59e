"""Spectral features of a clip: Whisper's log-mel, Kaldi's filter banks, and the flow's mel.

Functions take mono samples at the stated rate and return float32 arrays (frames, bins). Filters
are librosa's: triangles of equal area on Slaney's scale.
"""

from __future__ import annotations

import functools

import numpy as np

from cosyvoice2.config import MELS
from speechbase.errors import RequestError

ENCODER_RATE = 16_000
"""Sample rate of both encoders' input, Hz; the flow's mel is at the model's own rate."""
WHISPER_MELS = 128
MISSING_PACKAGES = (
    "a clip is encoded by onnxruntime and kaldi-native-fbank, which are not installed: "
    "pip install onnxruntime kaldi-native-fbank"
)


def log_mel(samples: np.ndarray) -> np.ndarray:
    """Whisper's normalised log-mel: samples (n,) at 16 kHz -> (n // 160, 128)."""
    spectrum = _spectrum(samples, 400, 160, pad=200)[:-1]
    power = (
        np.square(np.abs(spectrum))
        @ _mel_filters(ENCODER_RATE, 400, WHISPER_MELS, ENCODER_RATE / 2).T
    )
    levels = np.log10(np.maximum(power, 1e-10))
    normalized: np.ndarray = (np.maximum(levels, levels.max() - 8) + 4) / 4
    return normalized.astype(np.float32)


def prompt_mel(samples: np.ndarray, rate: int) -> np.ndarray:
    """The mel that the flow continues: samples (n,) at 24 kHz -> (n // 480, 80)."""
    spectrum = _spectrum(samples, 1920, 480, pad=720)
    magnitudes = np.sqrt(np.square(np.abs(spectrum)) + 1e-9)
    log_magnitudes: np.ndarray = np.log(
        np.maximum(magnitudes @ _mel_filters(rate, 1920, MELS, 8000).T, 1e-5)
    )
    return log_magnitudes.astype(np.float32)


def fbank(samples: np.ndarray) -> np.ndarray:
    """Kaldi's filter banks, undithered: samples (n,) at 16 kHz, in ±1 -> (frames, 80).

    A frame covers 25 ms, at a hop of 10 ms; incomplete frames are dropped.

    Raises RequestError where kaldi-native-fbank is not installed.
    """
    try:
        import kaldi_native_fbank as kaldi
    except ImportError:
        raise RequestError(MISSING_PACKAGES) from None
    options = kaldi.FbankOptions()
    options.frame_opts.samp_freq = ENCODER_RATE
    options.frame_opts.dither = 0
    options.frame_opts.snip_edges = True
    options.mel_opts.num_bins = MELS
    options.mel_opts.low_freq = 20
    options.mel_opts.high_freq = 0  # half the rate
    bank = kaldi.OnlineFbank(options)
    bank.accept_waveform(ENCODER_RATE, samples.astype(np.float32).tolist())
    bank.input_finished()
    frames = [bank.get_frame(n) for n in range(bank.num_frames_ready)]
    return np.array(frames, np.float32).reshape(len(frames), MELS)


def _spectrum(samples: np.ndarray, window: int, hop: int, pad: int) -> np.ndarray:
    """Fourier transforms (frames, window / 2 + 1) under a periodic Hann window, mirrored ends."""
    mirrored = np.pad(samples.astype(np.float64), pad, mode="reflect")
    hann = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(window) / window)
    return np.fft.rfft(np.lib.stride_tricks.sliding_window_view(mirrored, window)[::hop] * hann)


@functools.lru_cache(maxsize=4)
def _mel_filters(rate: int, window: int, mels: int, max_frequency: float) -> np.ndarray:
    """Returns mel filters from 0 Hz to `max_frequency`, (mels, window / 2 + 1)."""
    centres = _mels_to_hertz(np.linspace(0, _hertz_to_mels(max_frequency), mels + 2))
    slopes = centres[:, None] - np.fft.rfftfreq(window, 1 / rate)
    widths = np.diff(centres)[:, None]
    triangles = np.maximum(0, np.minimum(-slopes[:-2] / widths[:-1], slopes[2:] / widths[1:]))
    areas: np.ndarray = triangles * (2 / (centres[2:] - centres[:-2]))[:, None]
    return areas.astype(np.float32)


_LINEAR = 200 / 3  # Hz of a step, below 1000 Hz
_STEP = np.log(6.4) / 27  # above


def _hertz_to_mels(hertz: float) -> float:
    return hertz / _LINEAR if hertz < 1000 else 15 + float(np.log(hertz / 1000)) / _STEP


def _mels_to_hertz(mels: np.ndarray) -> np.ndarray:
    return np.where(mels < 15, _LINEAR * mels, 1000 * np.exp(_STEP * (mels - 15)))
