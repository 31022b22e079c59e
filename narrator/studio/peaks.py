"""The waveform of a chapter: its loudest sample in every twentieth of a second, as a byte.

Peaks of takes are cached under `build/peaks`, by content, so that a chapter with one new take is
drawn in a moment. Music is not drawn. Knows layouts and takes; nothing of requests.
"""

from __future__ import annotations

import base64
import threading
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from narrator import files
from narrator.delivery.layout import ChapterWords
from narrator.sound.assemble import PlacedTake
from narrator.sound.audio import amplitude
from narrator.studio.session import PlayedChapter

PEAKS_PER_SECOND = 20
"""Peaks of a chapter in a second."""
_FINE_PER_PEAK = 4
"""Peaks of a take in each peak of a chapter, since a take may start anywhere within one."""
_PEAKS_LOCK = threading.Lock()
"""Held while a waveform is made: one at a time, since playback comes first."""
_PeakBytes = NDArray[np.uint8]


def chapter_peaks(sound: PlayedChapter, words: ChapterWords, cache_path: Path) -> bytes:
    """Returns the square roots of a chapter's peaks, scaled to 0..255.

    `words` are the takes in the sound, `cache_path` the file of their peaks. Raises DamagedTake,
    StorageError.
    """
    timeline = sound.timeline
    peak_count = -(-timeline.length * PEAKS_PER_SECOND // timeline.sample_rate)  # rounded up
    samples_per_fine_peak = timeline.sample_rate / (PEAKS_PER_SECOND * _FINE_PER_PEAK)
    fine_peaks = np.zeros((peak_count + 1) * _FINE_PER_PEAK, np.float32)
    with _PEAKS_LOCK:
        peaks_by_content = _load_peaks(words, cache_path)
    for clip, cue in zip(words.timeline.takes, timeline.cues, strict=True):
        take_peaks = (peaks_by_content[words.contents[clip.key]].astype(np.float32) / 255) ** 2
        take_peaks *= np.float32(amplitude(clip.gain + sound.gain))
        first = int(cue.start / samples_per_fine_peak)
        last = min(len(fine_peaks), -(-cue.stop // int(samples_per_fine_peak)) + 1)
        indices = (np.arange(last - first) * clip.speed).astype(np.int64)  # in the take's peaks
        indices = indices[indices < len(take_peaks)]
        np.maximum.at(fine_peaks, first + np.arange(len(indices)), take_peaks[indices])
    groups = fine_peaks[: peak_count * _FINE_PER_PEAK].reshape(peak_count, _FINE_PER_PEAK)
    return _scale_peaks(groups.max(axis=1)).tobytes()


def _load_peaks(words: ChapterWords, cache_path: Path) -> dict[str, _PeakBytes]:
    """Returns peaks of takes by content; those not in the cache are measured and added.

    Raises as `chapter_peaks`.
    """
    peaks_by_content = _read_cache(cache_path)
    clips = {words.contents[clip.key]: clip for clip in words.timeline.takes}
    missing = clips.keys() - peaks_by_content.keys()
    for content in missing:
        peaks_by_content[content] = _measure_peaks(words, clips[content])
    peaks_by_content = {content: peaks_by_content[content] for content in clips}
    if missing:
        rows = {
            content: base64.b64encode(take_peaks.tobytes()).decode()
            for content, take_peaks in peaks_by_content.items()
        }
        files.save_json(cache_path, rows)
    return peaks_by_content


def _read_cache(cache_path: Path) -> dict[str, _PeakBytes]:
    return {
        content: np.frombuffer(base64.b64decode(text), np.uint8)
        for content, text in files.load_json(cache_path, dict[str, str], {}).items()
    }


def _measure_peaks(words: ChapterWords, clip: PlacedTake) -> _PeakBytes:
    """Returns the peaks of a take's speech before gain and speed."""
    samples = np.abs(words.read(clip)[clip.start : clip.stop])
    step = words.timeline.sample_rate // (PEAKS_PER_SECOND * _FINE_PER_PEAK)
    if not len(samples):
        return np.zeros(0, np.uint8)
    return _scale_peaks(np.maximum.reduceat(samples, np.arange(0, len(samples), step)))


def _scale_peaks(peaks: NDArray[np.float32]) -> _PeakBytes:
    """Returns the square roots of peaks from 0 to 1 as bytes, which keeps quiet ones apart."""
    return np.rint(255 * np.sqrt(np.minimum(peaks, 1.0))).astype(np.uint8)
