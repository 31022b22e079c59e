"""Mixes music under speech: streams tunes, loops, fades and ducks them, block by block.

Knows samples, layers and curves; `delivery/music.py` decides what plays where.
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
from narrator.sound.assemble import BLOCK, Timeline, TimelineItem
from narrator.sound.audio import (
    BlockReader,
    Samples,
    amplitude,
    as_channels,
    decode_frames,
    make_silence,
    raised_cosine,
    resample_stream,
)
from textbase.files import Unfit

MIN_MUSIC_SECONDS = 1.0
"""Seconds that music must stay at full level between words; in shorter gaps it stays ducked."""


@dataclass(frozen=True, slots=True)
class Tune:
    """A music file and its measurements."""

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
        """Returns its length in samples at another rate."""
        return round(self.length * rate / self.rate)


@contextlib.contextmanager
def as_unfit(path: Path) -> Iterator[None]:
    """Raises Unfit in place of OSError, with the reason why a file cannot be played."""
    try:
        yield
    except OSError as error:
        raise Unfit(f"cannot be read: {error.strerror}") from None


def stream_tune(tune: Tune, rate: int) -> Iterator[Samples]:
    """Streams a tune at a rate in blocks of (n,) or (n, 2), `tune.samples(rate)` samples in all.

    Raises UserError where the file has gone since it was measured.
    """
    try:
        with as_unfit(tune.path), media.open_sound(tune.path) as container:
            blocks = resample_stream(decode_frames(container, mono=False), tune.rate, rate)
            yield from _fit_length(blocks, tune.samples(rate), tune.channels)
    except Unfit as error:
        raise UserError(f"{tune.path}: cannot be played any more ({error})") from error


def _fit_length(blocks: Iterable[Samples], length: int, channels: int) -> Iterator[Samples]:
    """Cuts a stream to `length` samples, or fills it up with silence."""
    remaining = length
    for block in blocks:
        if remaining <= 0:
            return
        yield block[:remaining]
        remaining -= len(block)
    if remaining > 0:
        yield make_silence(remaining, channels)


def seconds_to_samples(seconds: float, rate: int) -> int:
    return round(seconds * rate)


@dataclass(frozen=True, slots=True)
class Layer:
    """One stretch of music in a chapter; lengths and positions in samples at the chapter's rate."""

    tune: Tune
    start: int
    stop: int
    length: int
    """Length of one pass through the tune."""
    seam: int | None
    """Length of the crossfade from one pass into the next; None where the tune plays once."""
    gain: float
    """dB applied to the file."""
    duck: float
    """dB by which it is lowered under words."""
    attack: int
    release: int
    fade_in: int
    fade_out: int


def channels(layers: Sequence[Layer]) -> int:
    """Returns the channel count of a chapter's sound: 2 where any of its music is in stereo."""
    return max((layer.tune.channels for layer in layers), default=1)


def sound_key(speech: str, layers: Sequence[Layer]) -> str:
    """Returns a key of everything that decides the samples of `mix`.

    `speech` is the key of its speech.
    """
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
    """Adds music to a chapter's speech, block by block, (n,) or (n, 2) as `channels` says.

    Speech goes to both channels unchanged. Raises UserError where a music file has gone.
    """
    channel_count = channels(layers)
    playing = [(layer, BlockReader(play(layer, timeline))) for layer in layers]
    block_start = 0
    for block in as_channels(speech, channel_count):
        block_stop = block_start + len(block)
        music: Samples | None = None  # music alone, independent of the speech
        for layer, reader in playing:
            first, last = max(block_start, layer.start), min(block_stop, layer.stop)
            if first < last:
                layer_block = reader.take(last - first)
                if layer_block.ndim < channel_count:  # mono goes to both channels
                    layer_block = layer_block[:, np.newaxis]
                music = make_silence(len(block), channel_count) if music is None else music
                music[first - block_start : last - block_start] += layer_block
        yield block if music is None else block + music
        block_start = block_stop


def play(layer: Layer, timeline: Timeline) -> Iterator[Samples]:
    """Streams the samples of a layer from its start to its stop: looped, faded, ducked."""
    ducking = _ducking_curve(timeline.heard, layer, timeline.sample_rate)
    reader = BlockReader(_loop_tune(layer, timeline.sample_rate))
    for start in range(layer.start, layer.stop, BLOCK):
        stop = min(start + BLOCK, layer.stop)
        block = reader.take(stop - start)
        gain = _gain_factors(layer, ducking, start, stop).astype(np.float32)
        yield block * (gain if block.ndim == 1 else gain[:, np.newaxis])


def _loop_tune(layer: Layer, rate: int) -> Iterator[Samples]:
    """Streams a tune once, or in an endless loop with an equal-power crossfade at the seam."""
    tune, seam_length = layer.tune, layer.seam

    def play_once() -> Iterator[Samples]:
        return _fit_length(stream_tune(tune, rate), layer.length, tune.channels)

    if seam_length is None:
        yield from play_once()
        return
    angles = (np.arange(seam_length) + 0.5) * (np.pi / 2 / max(1, seam_length))
    rise, fall = np.sin(angles).astype(np.float32), np.cos(angles).astype(np.float32)
    if tune.channels == 2:
        rise, fall = rise[:, np.newaxis], fall[:, np.newaxis]
    previous_end = None
    while True:
        reader = BlockReader(play_once())
        beginning = reader.take(seam_length)
        yield beginning if previous_end is None else previous_end * fall + beginning * rise
        for start in range(seam_length, layer.length - seam_length, BLOCK):
            yield reader.take(min(BLOCK, layer.length - seam_length - start))
        previous_end = reader.take(seam_length)


Curve = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Positions on the timeline, and how far music is ducked there, from 0 to 1; linear in between."""


def _ducking_curve(cues: Sequence[TimelineItem], layer: Layer, rate: int) -> Curve:
    """Returns the curve that lowers music before words and raises it after them.

    Music stays down in gaps that are too short to come up, stay, and go down again.
    """
    min_gap = layer.attack + seconds_to_samples(MIN_MUSIC_SECONDS, rate) + layer.release
    ducked_spans: list[tuple[int, int]] = []
    for cue in cues:
        if ducked_spans and cue.start - ducked_spans[-1][1] < min_gap:
            ducked_spans[-1] = ducked_spans[-1][0], cue.stop
        else:
            ducked_spans.append((cue.start, cue.stop))
    positions = [
        position
        for start, stop in ducked_spans
        for position in (start - layer.attack, start, stop, stop + layer.release)
    ]
    depths = [0, 1, 1, 0] * len(ducked_spans)
    return np.array(positions or [0], np.float64), np.array(depths or [0], np.float64)


def _gain_factors(layer: Layer, ducking: Curve, start: int, stop: int) -> NDArray[np.float64]:
    """Returns the gain factor of each sample from `start` to `stop` on the timeline."""
    positions = np.arange(start, stop)
    gain = np.full(len(positions), amplitude(layer.gain))
    curve_positions, curve_depths = ducking
    depths = np.interp((start, stop), curve_positions, curve_depths)
    is_constant = depths[0] == depths[1] and not np.any(
        (curve_positions > start) & (curve_positions < stop)
    )
    depths = depths[:1] if is_constant else np.interp(positions, curve_positions, curve_depths)
    gain *= np.exp(raised_cosine(depths) * (-layer.duck * math.log(10) / 20))
    if start < layer.start + layer.fade_in:
        gain *= raised_cosine((positions + 0.5 - layer.start) / layer.fade_in)
    if stop > layer.stop - layer.fade_out:
        gain *= raised_cosine((layer.stop - positions - 0.5) / layer.fade_out)
    return gain
