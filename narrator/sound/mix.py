"""Music under speech: tunes as streams, played, ducked and mixed block by block.

Knows samples, layers and curves; what plays where is decided in `delivery/music.py`.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from narrator import keys
from narrator.errors import UserError
from narrator.sound import media
from narrator.sound.assemble import BLOCK, Cue, Timeline
from narrator.sound.audio import Samples, amplitude, as_channels, decoded, resampled, silent
from narrator.sound.media import Unfit

HOLD = 1.0
"""Seconds that music must be able to stay up between words, or it does not come up at all."""


@dataclass(frozen=True, slots=True)
class Tune:
    """A file of music and what it measures."""

    path: Path
    content: str
    """Hash of the file."""
    rate: int
    channels: int
    """1 or 2; more are mixed to two."""
    length: int
    """Samples at its own rate."""
    loudness: float
    """Integrated, LUFS."""

    @property
    def seconds(self) -> float:
        return self.length / self.rate

    def samples(self, rate: int) -> int:
        """Its length at another rate."""
        return round(self.length * rate / self.rate)


@contextlib.contextmanager
def readable(path: Path) -> Iterator[None]:
    """What the file system says of a file as a reason why it cannot be played."""
    try:
        yield
    except OSError as error:
        raise Unfit(f"cannot be read: {error.strerror}") from None


def sound(tune: Tune, rate: int) -> Iterator[Samples]:
    """A tune at a rate, (n,) or (n, 2), exactly `tune.samples(rate)` of them, in blocks.

    Raises UserError where the file has gone since it was measured.
    """
    try:
        with readable(tune.path), media.sound(tune.path) as container:
            blocks = resampled(decoded(container, mono=False), tune.rate, rate)
            yield from _exactly(blocks, tune.samples(rate), tune.channels)
    except Unfit as error:
        raise UserError(f"{tune.path}: cannot be played any more ({error})") from error


def _exactly(blocks: Iterable[Samples], length: int, channels: int) -> Iterator[Samples]:
    left = length
    for block in blocks:
        if left <= 0:
            return
        yield block[:left]
        left -= len(block)
    if left > 0:
        yield silent(left, channels)


def curve_at(seconds: float, rate: int) -> int:
    return round(seconds * rate)


@dataclass(frozen=True, slots=True)
class Layer:
    """Music where it plays in a chapter; lengths and places in samples at the chapter's rate."""

    tune: Tune
    start: int
    stop: int
    length: int
    """Of one pass."""
    seam: int | None
    """Over which a pass fades into the next; None where there is only one."""
    gain: float
    """dB given to the file."""
    duck: float
    """dB less under words."""
    attack: int
    release: int
    fade_in: int
    fade_out: int


def channels(layers: Sequence[Layer]) -> int:
    """Of a chapter's sound: 2 where any of its music is in stereo."""
    return max((layer.tune.channels for layer in layers), default=1)


def sound_key(speech: str, layers: Sequence[Layer]) -> str:
    """A key of all that decides the samples of `mix`; `speech` is the key of its speech."""
    if not layers:
        return speech
    rows = [
        {**asdict(layer), "tune": [layer.tune.content, layer.tune.rate, layer.tune.length]}
        for layer in layers
    ]
    return keys.key({"mix": 1, "speech": speech, "layers": rows})


def mix(
    speech: Iterable[Samples], timeline: Timeline, layers: Sequence[Layer]
) -> Iterator[Samples]:
    """A chapter's speech with its music added, block by block, (n,) or (n, 2) as `channels` says.

    Speech goes to both channels as it is. Raises UserError where a file of music has gone.
    """
    count = channels(layers)
    playing = [(layer, _Feed(play(layer, timeline))) for layer in layers]
    base = 0
    for block in as_channels(speech, count):
        end = base + len(block)
        added: Samples | None = None  # of the music alone, so that it does not depend on the speech
        for layer, feed in playing:
            first, last = max(base, layer.start), min(end, layer.stop)
            if first < last:
                part = feed.take(last - first)
                wide = part if part.ndim == count else part[:, np.newaxis]
                added = silent(len(block), count) if added is None else added
                added[first - base : last - base] += wide
        yield block if added is None else block + added
        base = end


def play(layer: Layer, timeline: Timeline) -> Iterator[Samples]:
    """The samples of a layer from its start to its stop: looped, faded, ducked."""
    ducking = _ducking(timeline.heard, layer, timeline.sample_rate)
    feed = _Feed(_passes(layer, timeline.sample_rate))
    for start in range(layer.start, layer.stop, BLOCK):
        stop = min(start + BLOCK, layer.stop)
        block = feed.take(stop - start)
        gain = _gain(layer, ducking, start, stop).astype(np.float32)
        yield block * (gain if block.ndim == 1 else gain[:, np.newaxis])


def _passes(layer: Layer, rate: int) -> Iterator[Samples]:
    """A tune once, or again and again: equal power goes from the end of a pass to the next."""
    tune, seam = layer.tune, layer.seam

    def once() -> Iterator[Samples]:
        return _exactly(sound(tune, rate), layer.length, tune.channels)

    if seam is None:
        yield from once()
        return
    angle = (np.arange(seam) + 0.5) * (np.pi / 2 / max(1, seam))
    rise, fall = np.sin(angle).astype(np.float32), np.cos(angle).astype(np.float32)
    if tune.channels == 2:
        rise, fall = rise[:, np.newaxis], fall[:, np.newaxis]
    end = None
    while True:
        feed = _Feed(once())
        beginning = feed.take(seam)
        yield beginning if end is None else end * fall + beginning * rise
        for start in range(seam, layer.length - seam, BLOCK):
            yield feed.take(min(BLOCK, layer.length - seam - start))
        end = feed.take(seam)


class _Feed:
    """A stream of blocks, to be had in pieces of any length."""

    def __init__(self, blocks: Iterator[Samples]) -> None:
        self._blocks = blocks
        self._rest: Samples | None = None

    def take(self, count: int) -> Samples:
        """The next `count` samples, of which the stream must have as many."""
        found = [] if self._rest is None else [self._rest]
        size = sum(map(len, found))
        while size < count or not found:
            found.append(next(self._blocks))
            size += len(found[-1])
        whole = found[0] if len(found) == 1 else np.concatenate(found)
        self._rest = whole[count:]
        return whole[:count]


Curve = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Places on the timeline, and how far music has stepped back there, 0 to 1, straight between."""


def _ducking(cues: Sequence[Cue], layer: Layer, rate: int) -> Curve:
    """Down before words, up after them, where there is time to come up, stay, and go down."""
    least = layer.attack + curve_at(HOLD, rate) + layer.release
    words: list[tuple[int, int]] = []
    for cue in cues:
        if words and cue.start - words[-1][1] < least:
            words[-1] = words[-1][0], cue.stop
        else:
            words.append((cue.start, cue.stop))
    places = [
        place
        for start, stop in words
        for place in (start - layer.attack, start, stop, stop + layer.release)
    ]
    return np.array(places or [0], np.float64), np.array([0, 1, 1, 0] * len(words) or [0], float)


def _gain(layer: Layer, ducking: Curve, start: int, stop: int) -> NDArray[np.float64]:
    """Factors of the samples from `start` to `stop` on the timeline."""
    at = np.arange(start, stop)
    gain = np.full(len(at), amplitude(layer.gain))
    places, depth = ducking
    first, last = np.interp((start, stop), places, depth)
    level = first == last and not np.any((places > start) & (places < stop))
    back = np.full(1, first) if level else np.interp(at, places, depth)
    gain *= np.exp(_smooth(back) * (-layer.duck * math.log(10) / 20))
    if start < layer.start + layer.fade_in:
        gain *= _smooth((at + 0.5 - layer.start) / layer.fade_in)
    if stop > layer.stop - layer.fade_out:
        gain *= _smooth((layer.stop - at - 0.5) / layer.fade_out)
    return gain


def _smooth(ramp: NDArray[np.float64]) -> NDArray[np.float64]:
    """A straight ramp as a raised cosine."""
    return 0.5 - 0.5 * np.cos(np.pi * np.clip(ramp, 0, 1))
