"""Samples: decode, resample, trim, fade, level, filter; and takes as FLAC.

Samples are float32 in [-1, 1]: speech is mono, (n,); what has music in it may be stereo, (n, 2).
Knows nothing of chapters, pauses or the loudness that a platform asks for.
"""

from __future__ import annotations

import functools
import io
import math
from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import chain
from typing import Any

import av
import av.error
import numpy as np
import soundfile
import soxr
from av.audio.frame import AudioFrame
from av.audio.resampler import AudioResampler
from av.container import InputContainer
from av.filter import Graph
from numpy.typing import NDArray

from narrator.errors import DamagedTake

Samples = NDArray[np.float32]

SILENCE = -120.0
"""The level in dB that stands for digital silence, so that every figure is finite."""


def decibels(amplitude: float) -> float:
    """20 log10 of an amplitude, not below `SILENCE`."""
    return max(20 * math.log10(amplitude), SILENCE) if amplitude > 0 else SILENCE


def amplitude(decibels: float) -> float:
    """The factor that a gain or level in dB stands for."""
    return math.pow(10.0, decibels / 20)


# -- streams and rates -----------------------------------------------------------------------------


def decoded(container: InputContainer, *, mono: bool = True) -> Iterator[Samples]:
    """The first sound stream of an open file, frame by frame, at its own rate.

    Channels are averaged, or, without `mono`, left as they are; more than two are mixed to two.
    """
    stream = container.streams.audio[0]
    many = not mono and stream.channels > 2
    resampler = AudioResampler(format="fltp", layout="stereo" if many else None)
    for frame in container.decode(stream):
        for even in resampler.resample(frame):
            channels = even.to_ndarray()
            if len(channels) == 1:
                yield channels[0]
            elif mono:
                yield channels.mean(axis=0, dtype=np.float32)
            else:
                yield np.ascontiguousarray(channels.T)


def channels_of(blocks: Iterable[Samples]) -> tuple[int, Iterator[Samples]]:
    """How many channels a stream has, by its first block, and the whole stream."""
    stream = iter(blocks)
    first = next(stream, None)
    if first is None:
        return 1, iter(())
    return 1 if first.ndim == 1 else first.shape[1], chain([first], stream)


def as_channels(blocks: Iterable[Samples], count: int) -> Iterator[Samples]:
    """A stream in one channel or two: mono goes to both, stereo is averaged."""
    for block in blocks:
        if block.ndim == count:
            yield block
        elif count == 1:
            yield block.mean(axis=1, dtype=np.float32)
        else:
            yield np.repeat(block[:, np.newaxis], 2, axis=1)


def resample(samples: Samples, source: int, target: int) -> Samples:
    """Samples at another rate, by soxr's HQ recipe."""
    return samples if source == target else soxr.resample(samples, source, target, quality="HQ")


def resampled(blocks: Iterable[Samples], source: int, target: int) -> Iterator[Samples]:
    """The same in a stream; equal to `resample` of the whole."""
    if source == target:
        yield from blocks
        return
    channels, blocks = channels_of(blocks)
    stream = soxr.ResampleStream(source, target, channels, dtype="float32", quality="HQ")
    for block in blocks:
        yield stream.resample_chunk(block)
    yield stream.resample_chunk(silent(0, channels), last=True)


def silent(length: int, channels: int = 1) -> Samples:
    """Digital silence: (length,), or (length, channels) where there are more than one."""
    return np.zeros(length if channels == 1 else (length, channels), np.float32)


# -- filters ---------------------------------------------------------------------------------------


def filtered(blocks: Iterable[Samples], rate: int, name: str, options: str) -> Iterator[AudioFrame]:
    """Frames of a stream behind one of FFmpeg's filters, with the metadata that it adds."""
    channels, blocks = channels_of(blocks)
    graph = Graph()
    source = graph.add_abuffer(sample_rate=rate, format="flt", layout=_LAYOUTS[channels])
    graph.link_nodes(source, graph.add(name, options), graph.add("abuffersink")).configure()
    position = 0
    for block in blocks:
        if not len(block):
            continue
        graph.push(as_frame(block, rate, position))
        position += len(block)
        yield from _pulled(graph)
    graph.push(None)
    yield from _pulled(graph)


_LAYOUTS = {1: "mono", 2: "stereo"}


def _pulled(graph: Graph) -> Iterator[AudioFrame]:
    while True:
        try:
            frame = graph.pull()
        except (av.error.BlockingIOError, av.error.EOFError):
            return
        assert isinstance(frame, AudioFrame)
        yield frame


def as_frame(block: Samples | NDArray[np.int32], rate: int, position: int) -> AudioFrame:
    """A block of samples that begins at a position of its stream, for FFmpeg."""
    packed: NDArray[Any] = np.ascontiguousarray(block).reshape(1, -1)
    form = "s32" if block.dtype == np.int32 else "flt"
    frame = AudioFrame.from_ndarray(packed, format=form, layout=_LAYOUTS[block.ndim])
    frame.sample_rate = rate
    frame.time_base = Fraction(1, rate)
    frame.pts = position
    return frame


def stretch(samples: Samples, rate: int, speed: float) -> Samples:
    """Speech spoken `speed` times as fast at the same pitch: round(len / speed) samples."""
    if speed == 1:
        return samples
    if not 0.5 <= speed <= 2:  # as far as the filter goes, and blends
        part = 2.0 if speed > 2 else 0.5
        return stretch(stretch(samples, rate, part), rate, speed / part)
    length = round(len(samples) / speed)
    # WSOLA holds back its last window: silence pushes it out
    fed = [samples, np.zeros(rate // 2, np.float32)]
    pieces = [f.to_ndarray()[0] for f in filtered(fed, rate, "atempo", f"tempo={speed}")]
    return np.concatenate(pieces)[:length]


# -- edges -----------------------------------------------------------------------------------------

FADE = 0.008
"""Seconds of a fade at a clip's edge: too short to hear, long enough not to click."""


def fade(samples: Samples, rate: int, seconds: float = FADE) -> Samples:
    """A copy whose edges rise from and fall to silence as a raised cosine."""
    size = min(round(seconds * rate), len(samples) // 2)
    ramp = _ramp(size)
    faded = samples.copy()
    faded[:size] *= ramp
    faded[len(faded) - size :] *= ramp[::-1]
    return faded


@functools.cache
def _ramp(size: int) -> Samples:
    return (0.5 - 0.5 * np.cos(np.pi * (np.arange(size) + 0.5) / max(1, size))).astype(np.float32)


HOP = 0.005
"""Seconds between two level readings of the edge search."""
BEFORE, AFTER = 0.025, 0.07
"""Seconds kept before the first and after the last sound of speech: attack and decay."""


def speech_bounds(samples: Samples, rate: int) -> tuple[int, int]:
    """Where speech starts and stops in a take, in samples; (0, 0) where there is none.

    Speech begins with 30 ms at a clear level, so a click is not taken for it; from there the bounds
    grow over weaker sound (consonants, a decay, a breath that runs into a word) and over gaps as
    short as those of a stop consonant. Levels are relative to the take's own.
    """
    clear, weak = _sounding(samples, rate)
    core = _long_runs(clear, gap=2, length=6)
    if core is None:
        return 0, 0
    sounds = np.flatnonzero(weak)
    hop = hop_of(rate)
    first = _reach(core[0], sounds[sounds < core[0]][::-1], gap=round(0.1 / HOP))
    last = _reach(core[1], sounds[sounds > core[1]], gap=round(0.2 / HOP))
    start = first * hop - round(BEFORE * rate)
    stop = (last + 1) * hop + round(AFTER * rate)
    return max(0, start), min(len(samples), stop)


def room(bounds: tuple[int, int], length: int) -> tuple[float, float]:
    """Seconds of quiet that `speech_bounds` left before the first and after the last sound of a
    take of `length` samples.

    It follows from the bounds, so takes need not be read for it: what lies within is quiet by how
    they were found. Where a bound is the take's own edge, sound is taken to reach it. So what is
    heard (40 dB under speech) is the planned pause within 20 ms at 90 of 100 joins of a neural
    voice, 95 of the draft voice, and within 30 ms at 97, where it was 95 and 70 ms longer at most
    of them (1,004 joins, 2026-11-23); of 1,006 takes bounds cut off one sound louder than -35 dB.
    """
    start, stop = bounds
    if stop <= start:
        return 0.0, 0.0
    return BEFORE if start > 0 else 0.0, AFTER if stop < length else 0.0


def hop_of(rate: int) -> int:
    """`HOP` in samples."""
    return max(1, round(HOP * rate))


def audible(samples: Samples, rate: int) -> NDArray[np.bool_]:
    """Of each `hop_of` samples of a take, whether more is heard than its own silence."""
    return _sounding(samples, rate)[1]


def _sounding(samples: Samples, rate: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Where a take is clear, and where it is at least weak, relative to its own levels."""
    hop = hop_of(rate)
    count = len(samples) // hop
    power = np.square(samples[: count * hop].reshape(count, hop)).mean(axis=1, dtype=np.float64)
    level = 10 * np.log10(power + 1e-12)
    sound = level[level > -60]
    if not len(sound):
        return np.zeros(count, bool), np.zeros(count, bool)
    loud = float(np.percentile(sound, 90))
    noise = min(float(np.percentile(level, 5)), loud - 25)
    return level > max(loud - 25, noise + 10), level > max(loud - 42, noise + 6, -66)


def _long_runs(flags: NDArray[np.bool_], gap: int, length: int) -> tuple[int, int] | None:
    """First and last index of runs of true values, bridging gaps, that have a least length."""
    found = np.flatnonzero(flags)
    runs = np.split(found, np.flatnonzero(np.diff(found) > gap + 1) + 1)
    long = [run for run in runs if len(run) >= length]
    return (int(long[0][0]), int(long[-1][-1])) if long else None


def _reach(edge: int, further: NDArray[np.intp], gap: int) -> int:
    """How far an edge moves over indices ever further away, until one is more than a gap away."""
    for index in further.tolist():
        if abs(index - edge) > gap:
            break
        edge = index
    return edge


# -- level -----------------------------------------------------------------------------------------


def level(samples: Samples, rate: int) -> tuple[float, float]:
    """Level of active speech, and of the highest sample, in dB full scale.

    The first is the integrated loudness of ITU-R BS.1770-5 (K-weighted, gated at -70 and 10 under
    the mean), on a take that may be shorter than its 400 ms window: it compares voices as an ear
    does, bright with dark, whatever the pauses within.
    """
    if not len(samples):
        return SILENCE, SILENCE
    peak = decibels(float(np.abs(samples).max()))
    step = max(1, rate // 10)
    size = 1 << (len(samples) + step).bit_length()
    weighted = np.fft.irfft(np.fft.rfft(samples, size) * _k_weighting(rate, size), size)
    weighted = weighted[: len(samples)]
    count = max(1, len(samples) // step)
    edges = np.arange(count) * step
    power = np.add.reduceat(np.square(weighted, dtype=np.float64), edges)
    sizes = np.diff(np.append(edges, len(samples)))
    width = min(4, count)  # 400 ms, or all of a shorter take
    window = np.ones(width)
    means = np.convolve(power, window, "valid") / np.convolve(sizes, window, "valid")
    loud = means[means > _power(-70)]
    if not len(loud):
        return SILENCE, peak
    gated = loud[loud > loud.mean() / 10]
    return 10 * math.log10(gated.mean()) - 0.691, peak


def _power(loudness: float) -> float:
    return math.pow(10.0, (loudness + 0.691) / 10)


@functools.lru_cache(maxsize=4)
def _k_weighting(rate: int, size: int) -> Samples:
    """Magnitude of BS.1770's two filters (their coefficients at 48 kHz) on the bins of an rfft."""
    z = np.exp(-2j * np.pi * np.minimum(np.fft.rfftfreq(size, 1 / rate), 24_000) / 48_000)
    shelf = (1.53512485958697 - 2.69169618940638 * z + 1.19839281085285 * z**2) / (
        1 - 1.69065929318241 * z + 0.73248077421585 * z**2
    )
    highpass = (1 - z) ** 2 / (1 - 1.99004745483398 * z + 0.99007225036621 * z**2)
    return np.abs(shelf * highpass).astype(np.float32)


# -- takes as FLAC ---------------------------------------------------------------------------------


def encode(samples: Samples, rate: int) -> bytes:
    """FLAC of a take: 16 bit where that is exact, else 24 bit. Equal samples give equal bytes.

    Raises ValueError where a sample is no number or beyond full scale.
    """
    if not bool(np.all(np.abs(samples) <= 1)):  # false for NaN too
        raise ValueError("samples beyond full scale cannot be stored")
    sixteen = samples * np.float32(32768)
    exact = bool(np.all(sixteen == np.rint(sixteen)) and np.all(sixteen < 32768))
    buffer = io.BytesIO()
    subtype = "PCM_16" if exact else "PCM_24"
    soundfile.write(buffer, samples, rate, format="FLAC", subtype=subtype)
    return buffer.getvalue()


def decode(data: bytes) -> tuple[Samples, int]:
    """Samples and rate of a take's FLAC. Raises DamagedTake."""
    try:
        samples, rate = soundfile.read(io.BytesIO(data), dtype="float32")
    except soundfile.LibsndfileError as error:
        raise DamagedTake(f"a take's sound cannot be read: {error.error_string}") from error
    return samples, rate


def wav(samples: Samples, rate: int) -> bytes:
    """A WAV file of 24 bits, for people to listen to."""
    buffer = io.BytesIO()
    soundfile.write(buffer, samples, rate, format="WAV", subtype="PCM_24")
    return buffer.getvalue()
