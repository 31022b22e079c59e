"""The waveform of a chapter: its loudest sample in every twentieth of a second, as a byte.

What was heard of a take is kept under `build/peaks`, by its content: a chapter of which one take
has changed is drawn again in a moment. Music is not drawn. Knows layouts and takes; nothing of
requests.
"""

from __future__ import annotations

import base64
import binascii
import threading
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from narrator import files
from narrator.delivery.layout import Words
from narrator.sound.assemble import Region
from narrator.sound.audio import amplitude
from narrator.studio.desk import PlayedChapter

A_SECOND = 20
"""Peaks of a chapter."""
_FINE = 4
"""Peaks of a take in the time of one of a chapter, which begin anywhere within it."""
_ONE = threading.Lock()
"""One waveform is made at a time: sound comes first."""
Bytes = NDArray[np.uint8]


def of_chapter(sound: PlayedChapter, words: Words, kept: Path) -> bytes:
    """The peaks of what is heard, scaled to 0..255 by their root. `words` are the takes in it,
    `kept` the file of what is known of them. Raises DamagedTake, StorageError."""
    line = sound.timeline
    count = -(-line.length * A_SECOND // line.sample_rate)
    step = line.sample_rate / (A_SECOND * _FINE)
    fine = np.zeros((count + 1) * _FINE, np.float32)
    with _ONE:
        known = _known(words, kept)
    for clip, cue in zip(words.clips, line.cues, strict=True):
        own = (known[words.contents[clip.key]].astype(np.float32) / 255) ** 2
        own *= np.float32(amplitude(clip.gain + sound.gain))
        first, last = int(cue.start / step), min(len(fine), -(-cue.stop // int(step)) + 1)
        places = ((np.arange(first, last) - first) * clip.speed).astype(np.int64)
        places = places[places < len(own)]
        np.maximum.at(fine, first + np.arange(len(places)), own[places])
    coarse = fine[: count * _FINE].reshape(count, _FINE).max(axis=1)
    return _scaled(coarse).tobytes()


def _known(words: Words, kept: Path) -> dict[str, Bytes]:
    """Peaks of takes by content; what is not known is measured and kept. Raises as `of_chapter`."""
    known = _read(kept)
    wanted = {words.contents[clip.key]: clip for clip in words.clips}
    missing = wanted.keys() - known.keys()
    for content in missing:
        known[content] = _measured(words, wanted[content])
    known = {content: known[content] for content in wanted}
    if missing:
        rows = {content: base64.b64encode(own.tobytes()).decode() for content, own in known.items()}
        files.save_json(kept, rows)
    return known


def _read(kept: Path) -> dict[str, Bytes]:
    rows = files.load_json(kept, {})
    found: dict[str, Bytes] = {}
    for content, text in rows.items() if isinstance(rows, dict) else ():
        try:
            found[content] = np.frombuffer(base64.b64decode(text, validate=True), np.uint8)
        except (binascii.Error, TypeError, ValueError):
            return {}
    return found


def _measured(words: Words, clip: Region) -> Bytes:
    """Of a take's speech as it was spoken, before gain and speed."""
    samples = np.abs(words.read(clip)[clip.start : clip.stop])
    step = words.timeline.sample_rate // (A_SECOND * _FINE)
    if not len(samples):
        return np.zeros(0, np.uint8)
    return _scaled(np.maximum.reduceat(samples, np.arange(0, len(samples), step)))


def _scaled(peaks: NDArray[np.float32]) -> Bytes:
    return np.rint(255 * np.sqrt(np.minimum(peaks, 1.0))).astype(np.uint8)
