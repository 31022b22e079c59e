"""Delivered files, ours or anyone's: measured as they are, and held to a profile.

One pass through a file, in bounded memory. Says what a file is; changes nothing. Knows nothing of
projects and of how files were made.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import av
import av.error
import numpy as np
from av.audio.frame import AudioFrame
from av.audio.resampler import AudioResampler
from av.audio.stream import AudioStream
from av.container import InputContainer
from av.packet import Packet
from av.stream import Disposition
from numpy.typing import NDArray

from narrator import keys, media, meters
from narrator.audio import SILENCE, Samples, amplitude
from narrator.errors import UserError
from narrator.loudness import Loudness, measure
from narrator.profiles import Profile, Span

# -- figures ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Mark:
    """A chapter mark, in seconds."""

    start: float
    end: float
    title: str


@dataclass(frozen=True, slots=True)
class Figures:
    """What a file measures."""

    path: Path
    codec: str
    loudness: Loudness
    sample_rate: int
    channels: int
    bitrate: int
    """kbit/s: what every frame states where it is constant, else on average."""
    bitrate_mode: str
    """constant or variable, by every frame's own header; lossless; unknown for other codecs."""
    bitrate_note: str
    """What the file itself says of it: a Xing, Info or VBRI header."""
    noise_floor: float
    """dB RMS: the median of the quietest hundredth of half-second windows, five at least."""
    head: float
    """Seconds before the first sound: 30 ms over -50 dB."""
    tail: float
    """Seconds after the last."""
    silent_edge: float
    """Seconds of digital silence at the start or the end, whichever is longer."""
    gap: float
    """The longest digital silence within, in seconds."""
    gap_at: float
    clipped: int
    """Runs of three samples and more at full scale."""
    clipped_at: float
    flat: int
    """Tops that were cut at a lower level: clipped, and then made quieter."""
    flat_at: float
    quiet: float
    """Seconds of the longest stretch in which there is no sound but that of a room."""
    quiet_at: float
    content: str
    """A hash of the coded sound, whatever its tags."""
    levels: bytes = field(repr=False)
    """Of each tenth of a second, see `meters.levels`."""
    damaged: int
    """Packets that cannot be decoded."""
    invalid: int
    """Samples that are no numbers, or beyond any level; they are measured as silence."""
    changes: int
    """How often sample rate or channels change within."""
    missing: float
    """Seconds that the file states and does not hold."""
    tags: dict[str, str]
    cover: tuple[int, int] | None
    """Pixels."""
    marks: tuple[Mark, ...]

    @property
    def seconds(self) -> float:
        return self.loudness.seconds


BLOCK = 65536
_OPTIONS = {"advanced_editlist": "0"}
"""MP4 without a second index for edits in the middle, which audiobooks have none of: it takes 150
of 360 MB for 26 hours. Edits at the edges, which leave out what coders pad, still count."""
SOUND = -50.0
"""dB: what is over it for 30 ms is sound, not room."""
DIGITAL = -96.0
"""dB: what stays under it is digital silence; a step of 16 bits is at -90."""
FULL = 0.9995
"""Of full scale: samples at it were cut off."""
LOUDEST = 1e4
"""Of full scale, 80 dB over it: what is beyond it in a file of floats is no sound."""
QUIET = 10.0
"""Seconds without speech or music that no book has, unless its manuscript says so."""
SLOWEST = 1000
"""Hz: a lower sample rate is no sound's."""


def figures(path: Path, on_progress: Callable[[float], None] | None = None) -> Figures:
    """Measure a file in any container that FFmpeg reads; `on_progress` hears the share done.

    Raises UserError where it cannot be read or holds no sound.
    """
    try:
        with media.sound(path, _OPTIONS) as container:
            return _figures(path, container, on_progress or (lambda share: None))
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from error
    except media.Unfit as error:
        raise UserError(f"{path}: {error}") from error


def _figures(
    path: Path, container: InputContainer, on_progress: Callable[[float], None]
) -> Figures:
    stream = container.streams.audio[0]
    if stream.codec_context is None:
        raise UserError(f"{path}: cannot be read: there is no decoder for its sound")
    rate = stream.rate
    if rate < SLOWEST:
        raise UserError(f"{path}: cannot be read: it states a sample rate of {rate} Hz")
    decoder = _Decoder(container, stream, on_progress)
    coarse = stream.codec_context.codec.canonical_name in _COARSE
    meter = _Meter(rate, coarse=coarse)
    loudness = measure(meter.watch(decoder.blocks()), rate)
    meter.finish()
    tags = {**stream.metadata, **container.metadata}
    header = _mp3_header(path) if _is_mp3(stream) else _NO_HEADER
    mode = _bitrate_mode(stream, decoder)
    quiet, quiet_at = meters.longest_quiet(bytes(meter.levels))
    average = round(decoder.bytes * 8 / 1000 / max(loudness.seconds, 1e-9))
    return Figures(
        path=path,
        codec=stream.codec_context.codec.canonical_name,
        loudness=loudness,
        sample_rate=rate,
        channels=stream.channels,
        bitrate=min(decoder.rates) if mode == "constant" else average,
        bitrate_mode=mode,
        bitrate_note=f"{header.name} header" if header.name else "",
        noise_floor=meter.floor(),
        head=meter.head,
        tail=loudness.seconds - meter.last_sound,
        silent_edge=meter.silent_edge,
        gap=meter.gap,
        gap_at=meter.gap_at,
        clipped=meter.clipped,
        clipped_at=meter.clipped_at,
        flat=meter.flats.count,
        flat_at=meter.flats.at,
        quiet=quiet,
        quiet_at=quiet_at,
        content=decoder.content.hexdigest(),
        levels=bytes(meter.levels),
        damaged=decoder.damaged,
        invalid=decoder.invalid,
        changes=decoder.changes,
        missing=_missing(stream, decoder, header, loudness.seconds),
        tags={name.casefold(): value for name, value in tags.items()},
        cover=_cover(container),
        marks=tuple(_marks(container)),
    )


def _missing(stream: AudioStream, decoder: _Decoder, header: _Header, seconds: float) -> float:
    """Of the stated length, where a format states it and does not guess it from the bitrate."""
    if _is_mp3(stream):
        lost = header.frames - decoder.packets
        # some coders count the frame of the header too
        return lost * decoder.frame / stream.rate if lost > 1 else 0.0
    if stream.duration is None or stream.time_base is None:
        return 0.0
    return max(0.0, float(stream.duration * stream.time_base) - seconds)


def _cover(container: InputContainer) -> tuple[int, int] | None:
    for picture in container.streams.video:
        if picture.disposition & Disposition.attached_pic:
            return picture.codec_context.width, picture.codec_context.height
    return None


def _marks(container: InputContainer) -> Iterator[Mark]:
    for chapter in container.chapters():
        clock = chapter["time_base"] or Fraction(1)
        start, end = (float(chapter[edge] * clock) for edge in ("start", "end"))
        yield Mark(start, end, chapter["metadata"].get("title", ""))


class _Decoder:
    """The sound of an open file in blocks, and what its packets show."""

    def __init__(
        self, container: InputContainer, stream: AudioStream, on_progress: Callable[[float], None]
    ) -> None:
        self.container = container
        self.stream = stream
        self.on_progress = on_progress
        self.bytes = 0
        self.packets = 0
        self.frame = 0
        """Samples of the longest frame."""
        self.damaged = 0
        self.invalid = 0
        self.changes = 0
        self.content = keys.digest()
        self.rates: set[int] = set()
        """kbit/s of MP3 frames."""
        self._mp3 = _is_mp3(stream)
        self._kind: tuple[int, int] | None = None  # rate and channels of the last frame
        self._resamplers: dict[tuple[int, str, str], AudioResampler] = {}

    def blocks(self) -> Iterator[Samples]:
        length = (self.container.duration or 0) / av.time_base * self.stream.rate
        waiting: list[Samples] = []
        count = done = 0
        for packet in self.container.demux(self.stream):
            for channels in self._decoded(packet):
                waiting.append(channels[0] if len(channels) == 1 else channels.T)
                count += channels.shape[1]
            if count >= BLOCK:
                done += count
                yield self._valid(np.concatenate(waiting))
                waiting, count = [], 0
                self.on_progress(min(1.0, done / max(length, 1)))
        if count:
            yield self._valid(np.concatenate(waiting))
        self.on_progress(1.0)

    def _decoded(self, packet: Packet[AudioStream]) -> Iterator[NDArray[np.float32]]:
        if packet.size:
            self.bytes += packet.size
            self.content.update(packet)
            self.packets += 1
            if self._mp3:
                self.rates.add(_mp3_bitrate(bytes(packet)[:4]))
        try:
            for frame in packet.decode():
                self.frame = max(self.frame, frame.samples)
                for even in self._resampler(frame).resample(frame):
                    yield np.asarray(even.to_ndarray(), np.float32)
        except av.error.InvalidDataError:
            self.damaged += 1

    def _resampler(self, frame: AudioFrame) -> AudioResampler:
        """For frames like this one, to the stream's rate and channels, two of them at most."""
        kind = frame.sample_rate, frame.layout.nb_channels
        self.changes += self._kind not in (None, kind)
        self._kind = kind
        like = frame.sample_rate, frame.layout.name, frame.format.name
        if like not in self._resamplers:
            # within a file all frames become what the first ones are, so that it can be measured
            first = next(iter(self._resamplers.values()), None)
            layout = first.layout if first else "stereo" if kind[1] > 2 else None
            rate = self.stream.rate if first or kind[0] != self.stream.rate else None
            self._resamplers[like] = AudioResampler(format="fltp", layout=layout, rate=rate)
        return self._resamplers[like]

    def _valid(self, block: Samples) -> Samples:
        wrong = ~(np.abs(block) <= LOUDEST)  # not a number is not greater either
        if not bool(wrong.any()):
            return block
        self.invalid += int(np.count_nonzero(wrong))
        return np.where(wrong, np.float32(0), block)


# -- bitrate ---------------------------------------------------------------------------------------

_MP3_KILOBITS = {
    # by version 1 or 2 of MPEG, layer III; ISO/IEC 11172-3, 2.4.2.3, and 13818-3
    1: (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320),
    2: (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
}
_COARSE = ("pcm_u8", "pcm_s8", "pcm_alaw", "pcm_mulaw")
"""Whose steps are so wide that equal samples mean nothing."""
_LOSSLESS = ("flac", "alac", "wavpack", "ape", "tta")


def _mp3_bitrate(header: bytes) -> int:
    """kbit/s that a frame's header states; 0 where it states none or is no header."""
    if len(header) < 4 or header[0] != 0xFF or header[1] & 0xE6 != 0xE2:
        return 0
    kilobits = _MP3_KILOBITS[1 if header[1] & 0x18 == 0x18 else 2]
    index = header[2] >> 4
    return kilobits[index] if index < len(kilobits) else 0


def _is_mp3(stream: AudioStream) -> bool:
    return stream.codec_context.codec.canonical_name == "mp3"


def _bitrate_mode(stream: AudioStream, decoder: _Decoder) -> str:
    name = stream.codec_context.codec.canonical_name
    if _is_mp3(stream):
        return "constant" if len(decoder.rates) == 1 else "variable"
    return "lossless" if name.startswith("pcm_") or name in _LOSSLESS else "unknown"


@dataclass(frozen=True, slots=True)
class _Header:
    """What the first frame of an MP3 says of the whole file."""

    name: str
    """Xing, Info, VBRI; empty where it says nothing."""
    frames: int
    """How many follow it; 0 where it does not say."""


_NO_HEADER = _Header("", 0)


def _mp3_header(path: Path) -> _Header:
    """That of the first frame, behind an ID3v2 tag of any size."""
    with path.open("rb") as file:
        begin = file.read(10)
        if begin[:3] == b"ID3" and len(begin) == 10:
            size = 0
            for byte in begin[6:10]:  # seven bits each
                size = size << 7 | byte & 0x7F
            file.seek(10 + size)
            data = file.read(4096)
        else:
            data = begin + file.read(4096)
    found = [(data.find(name), name) for name in (b"Xing", b"Info", b"VBRI")]
    held = sorted((at, name) for at, name in found if 0 <= at < 200)
    if not held:
        return _NO_HEADER
    at, name = held[0]
    if name == b"VBRI":
        frames = data[at + 14 : at + 18]
    else:  # the lowest flag says that the number of frames is there
        flags = int.from_bytes(data[at + 4 : at + 8])
        frames = data[at + 8 : at + 12] if flags & 1 else b""
    return _Header(name.decode(), int.from_bytes(frames))


# -- meters ----------------------------------------------------------------------------------------


class _Meter:
    """Edges, noise floor, gaps, clipped runs and flat tops of the blocks that pass, in windows of
    10 ms; levels in tenths of a second."""

    def __init__(self, rate: int, *, coarse: bool = False) -> None:
        self.flats = meters.Flats(rate, coarse)
        self.levels = bytearray()
        self.step = max(1, rate // 100)
        self.tick = self.step / rate
        self.head = 0.0
        self.last_sound = 0.0
        self.gap = self.gap_at = 0.0
        self.silent_edge = 0.0
        self.clipped = 0
        self.clipped_at = 0.0
        self._rate = rate
        self._rest = np.zeros(0, np.float32)
        self._windows = 0
        self._loud = np.zeros(2, bool)  # of the last two windows
        self._heard = False
        self._silence = 0  # windows of digital silence up to here
        self._tenths = np.zeros(0)  # mean energies of 100 ms that later windows still need
        self._energies = np.zeros(0)  # of 10 ms, that make no 100 ms yet
        self._histogram = np.zeros(1201, np.int64)  # of half seconds, by 0.1 dB over SILENCE
        self._full = np.zeros(0, bool)
        self._samples = 0

    def watch(self, blocks: Iterator[Samples]) -> Iterator[Samples]:
        for block in blocks:
            self._clips(block)
            self.flats.feed(block)
            power = np.square(block, dtype=np.float64)
            high = np.abs(block)
            if block.ndim == 2:
                power, high = power.mean(axis=1), high.max(axis=1)
            self._feed(power, high)
            yield block

    def _feed(self, power: NDArray[np.float64], high: Samples) -> None:
        both = np.stack([power, high.astype(np.float64)])
        rest = self._rest if self._rest.ndim == 2 else np.zeros((2, 0))
        both = np.concatenate([rest, both], axis=1)
        count = both.shape[1] // self.step
        self._rest = both[:, count * self.step :]
        if not count:
            return
        windows = both[:, : count * self.step].reshape(2, count, self.step)
        energies, peaks = windows[0].mean(axis=1), windows[1].max(axis=1)
        self._edges(energies)
        self._silences(peaks < amplitude(DIGITAL))
        self._halves(energies)
        self._windows += count

    def _edges(self, energies: NDArray[np.float64]) -> None:
        loud = np.concatenate([self._loud, energies > amplitude(SOUND) ** 2])
        runs = np.flatnonzero(loud[2:] & loud[1:-1] & loud[:-2]) + self._windows
        self._loud = loud[-2:]
        if len(runs):
            if not self._heard:
                self.head = max(0, int(runs[0]) - 2) * self.tick
                self._heard = True
            self.last_sound = (int(runs[-1]) + 1) * self.tick

    def _silences(self, digital: NDArray[np.bool_]) -> None:
        if not bool(digital.any()):
            self._end_silence(self._windows)
            return
        edges = np.flatnonzero(np.diff(np.concatenate([[False], digital, [False]])))
        for start, stop in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
            if start > 0:
                self._end_silence(self._windows)
            self._silence += stop - start
            if stop < len(digital):
                self._end_silence(self._windows + stop)

    def _end_silence(self, stop: int) -> None:
        seconds = self._silence * self.tick
        if self._silence and self._silence == stop:  # from the very start
            self.silent_edge = seconds
        elif seconds > self.gap:
            self.gap, self.gap_at = seconds, (stop - self._silence) * self.tick
        self._silence = 0

    def _halves(self, energies: NDArray[np.float64]) -> None:
        energies = np.concatenate([self._energies, energies])
        count = len(energies) // 10
        self._energies = energies[count * 10 :]
        new = energies[: count * 10].reshape(-1, 10).mean(axis=1)
        self.levels += meters.levels(new)
        tenths = np.concatenate([self._tenths, new])
        self._tenths = tenths[-4:]
        if len(tenths) >= 5:
            means = np.convolve(tenths, np.full(5, 0.2), "valid")
            levels = 10 * np.log10(np.maximum(means, 10 ** (SILENCE / 10)))
            bins = np.clip(np.rint((levels - SILENCE) * 10), 0, 1200).astype(np.int64)
            self._histogram += np.bincount(bins, minlength=1201)

    def _clips(self, block: Samples) -> None:
        full = np.abs(block.reshape(len(block), -1)) >= FULL
        before = self._full if self._full.ndim == 2 else np.zeros((3, full.shape[1]), bool)
        full = np.concatenate([before, full])
        if bool(full[3:].any()):
            three = full[2:] & full[1:-1] & full[:-2]
            begun = np.flatnonzero((three[1:] & ~three[:-1]).any(axis=1))
            if len(begun) and not self.clipped:
                self.clipped_at = max(0, self._samples + int(begun[0]) - 2) / self._rate
            self.clipped += len(begun)
        self._full = full[-3:]
        self._samples += len(block)

    def finish(self) -> None:
        """The end of the file: silence up to it is an edge, not a gap."""
        if self._silence:
            self.silent_edge = max(self.silent_edge, self._silence * self.tick)
        if not self._heard:
            self.head = self._windows * self.tick
        self.flats.finish()

    def floor(self) -> float:
        total = int(self._histogram.sum())
        if not total:
            return SILENCE
        middle = min(total, max(5, total // 100)) / 2
        return SILENCE + int(np.searchsorted(np.cumsum(self._histogram), middle)) / 10


# -- checks ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Check:
    """One figure of a file beside what a profile demands; an empty demand asks for nothing."""

    name: str
    figure: str
    demand: str
    ok: bool


def checks(
    found: Figures, profile: Profile | None, first: Figures | None = None, pause: float = 0.0
) -> list[Check]:
    """A file held to a profile; without one, only what is wrong in any file counts.

    `first` is the first file of the same book, which the others must be like where the profile asks
    for it; `pause` the seconds of the longest pause that is known to be meant.
    """
    profile = profile or Profile("", (), "both", gap=None, tags=())
    return [
        *_levels(found, profile),
        *_edges(found, profile),
        *_coding(found, profile, first or found),
        *_facts(found, profile),
        *_faults(found, profile, pause),
    ]


def _levels(found: Figures, profile: Profile) -> Iterator[Check]:
    loud = found.loudness
    span = None
    if profile.loudness is not None:
        span = profile.loudness - profile.tolerance, profile.loudness + profile.tolerance
    lufs, rms = (span, None) if profile.kind == "LUFS" else (None, span)
    yield _within("loudness", loud.integrated, lufs, "LUFS")
    yield _within("RMS", loud.rms, rms, "dB")
    yield _most("peak", loud.peak, profile.peak, "dB")
    yield _most("true peak", loud.true_peak, profile.true_peak, "dBTP")
    yield _most("noise floor", found.noise_floor, profile.noise_floor, "dB RMS")


def _edges(found: Figures, profile: Profile) -> Iterator[Check]:
    yield _within("head", found.head, profile.head, "s", digits=2)
    yield _within("tail", found.tail, profile.tail, "s", digits=2)
    tone = profile.room_tone is not None and profile.noise_floor is not None
    figure = f"{found.silent_edge:.2f} s digital at an edge"
    demand = "no digital silence" if tone else ""
    yield Check("room tone", figure, demand, not tone or found.silent_edge <= 0.1)


def _coding(found: Figures, profile: Profile, first: Figures) -> Iterator[Check]:
    named = {"m4b": "aac", "wav": "pcm"}
    codecs = [named.get(format, format) for format in profile.formats]
    right = not codecs or any(found.codec.startswith(codec) for codec in codecs)
    yield Check("codec", found.codec, " or ".join(codecs), right)
    rate = profile.sample_rate or (first.sample_rate if profile.alike else None)
    yield Check("sample rate", f"{found.sample_rate} Hz", f"{rate} Hz" if rate else "",
                rate in (None, found.sample_rate))  # fmt: skip
    lossy = found.bitrate_mode != "lossless"
    bitrates = profile.bitrates if lossy else None
    # an average over packets may be a hair under the rate that their headers state
    near = bitrates is None or 0.98 * bitrates[0] <= found.bitrate <= 1.02 * bitrates[1]
    yield Check("bitrate", f"{found.bitrate} kbit/s", _span(bitrates, "kbit/s"), near)
    told = found.bitrate_mode in ("constant", "variable")  # of AAC and Opus nobody can tell
    mode = profile.bitrate_mode if told else None
    figure = found.bitrate_mode + (f", {found.bitrate_note}" if found.bitrate_note else "")
    yield Check("bitrate mode", figure, mode or "", mode in (None, found.bitrate_mode))
    channels = profile.channels or (first.channels if profile.alike else None)
    demand = "" if channels is None else str(channels)
    if channels is not None and profile.channels is None:
        demand += " as in the first"
    count = found.channels
    right = count in (1, 2) and channels in (None, count)
    yield Check("channels", str(count), demand or "1 or 2", right)
    longest = profile.longest
    yield Check("length", clock(found.seconds), f"at most {longest:g} min" if longest else "",
                found.seconds > 0 and (not longest or found.seconds <= longest * 60))  # fmt: skip


def _facts(found: Figures, profile: Profile) -> Iterator[Check]:
    missing = [name for name in profile.tags if not found.tags.get(name)]
    said = [name for name in ("title", "album", "artist") if found.tags.get(name)]
    figure = f"no {', '.join(missing)}" if missing else ", ".join(said) or "none"
    yield Check("tags", figure, ", ".join(profile.tags), not missing)
    yield _cover_check(found, profile)
    faults = list(_mark_faults(found))
    count = f"{len(found.marks)} marks" if len(found.marks) != 1 else "1 mark"
    wanted = profile.marks and not found.marks
    demand = "in order, within the file" if profile.marks or found.marks else ""
    yield Check("chapter marks", "; ".join([count, *faults[:1]]), demand, not wanted and not faults)


def _cover_check(found: Figures, profile: Profile) -> Check:
    demands = ["a cover"] if profile.cover else []
    if profile.cover_square:
        demands.append("square")
    if profile.cover_pixels:
        demands.append(_span(profile.cover_pixels, "pixels"))
    if found.cover is None:
        return Check("cover", "none", ", ".join(demands), not profile.cover)
    width, height = found.cover
    right = not profile.cover_square or width == height
    if profile.cover_pixels:
        right &= profile.cover_pixels[0] <= max(width, height) <= profile.cover_pixels[1]
    return Check("cover", f"{width}x{height}", ", ".join(demands), right)


def _mark_faults(found: Figures) -> Iterator[str]:
    yield from _miscounted([mark.title for mark in found.marks])
    before = -1.0
    for number, mark in enumerate(found.marks, 1):
        if mark.start <= before:
            yield f"mark {number} at {clock(mark.start)} is not after the one before"
        if not 0 <= mark.start < found.seconds:
            yield f"mark {number} at {clock(mark.start)} lies outside the file"
        before = mark.start


_NUMBERED = re.compile(
    r"(?:(chapter|part|section|book|episode|track|kapitel|teil|chapitre|partie|cap[ií]tulo|parte|"
    r"capitolo|hoofdstuk|deel)\s+)?([0-9]{1,3})(?![0-9])(?(1)|\s*(?:$|[.:)–—-]))",
    re.IGNORECASE,
)


def _miscounted(titles: Sequence[str]) -> Iterator[str]:
    """Holes and doubles in titles that count ("Chapter 2", "Chapter 4"), where most of them do."""
    found = [_NUMBERED.match(title) for title in titles]
    steps = [
        (one[0], other[0], int(other[2]) - int(one[2]))
        for one, other in pairwise(found)
        if one and other and (one[1] or "").casefold() == (other[1] or "").casefold()
    ]
    wrong = [(one, other) for one, other, step in steps if step == 0 or 1 < step < 10]
    if sum(step == 1 for _, _, step in steps) >= max(2, 2 * len(wrong)):
        yield from (f"'{one}' is followed by '{other}'" for one, other in wrong)


def _faults(found: Figures, profile: Profile, pause: float) -> Iterator[Check]:
    gap = profile.gap
    figure = f"{found.gap:.2f} s"
    if found.gap:
        figure += f" at {clock(found.gap_at)}"
    demand = "" if gap is None else f"at most {gap:g} s digital silence"
    yield Check("gaps", figure, demand, gap is None or found.gap <= gap)
    figure = f"{found.clipped} clipped runs"
    if found.clipped:
        figure += f", first {clock(found.clipped_at)}"
    if found.flat:
        figure += f", {found.flat} flat tops of lower level, first {clock(found.flat_at)}"
    yield Check("clipping", figure, "none", not found.clipped and not found.flat)
    most = max(QUIET, pause + 1)
    figure = f"{found.quiet:.1f} s" + (f" at {clock(found.quiet_at)}" if found.quiet else "")
    demand = f"at most {most:g} s without speech or music"
    yield Check("quiet", figure, demand, found.quiet <= most)
    figure = f"{found.damaged} damaged packets, {found.missing:.2f} s missing"
    if found.invalid:
        figure += f", {found.invalid} samples are no numbers"
    if found.changes:
        figure += f", rate or channels change {found.changes} times"
    # lossy coders pad, and some containers count that: a packet or two of them is no loss
    padding = 0.15 if found.bitrate_mode == "unknown" else 0.001
    whole = not (found.damaged or found.invalid or found.changes) and found.missing < padding
    yield Check("decoding", figure, "none", whole)


def _within(name: str, value: float, span: Span | None, unit: str, digits: int = 1) -> Check:
    rounded = round(value, digits)
    ok = span is None or span[0] <= rounded <= span[1]
    return Check(name, f"{rounded:.{digits}f} {unit}", _span(span, unit), ok)


def _most(name: str, value: float, most: float | None, unit: str) -> Check:
    demand = "" if most is None else f"at most {most:g} {unit}"
    ok = most is None or round(value, 1) <= most
    return Check(name, f"{value:.1f} {unit}", demand, ok)


def _span(span: tuple[float, float] | None, unit: str) -> str:
    if span is None:
        return ""
    return f"{span[0]:g} {unit}" if span[0] == span[1] else f"{span[0]:g} to {span[1]:g} {unit}"


def clock(seconds: float) -> str:
    """Hours, minutes and seconds."""
    whole, rest = divmod(seconds, 60)
    hours, minutes = divmod(int(whole), 60)
    return f"{hours}:{minutes:02}:{rest:05.2f}"


# -- several files ---------------------------------------------------------------------------------


def measured(
    paths: Sequence[Path],
    *,
    workers: int | None = None,
    on_progress: Callable[[float], None] | None = None,
) -> list[Figures | UserError]:
    """Several files side by side, in their order; for those that cannot be read, the error.

    `on_progress` hears the share of all files that is done, from one thread at a time.
    """
    shares = [0.0] * len(paths)
    lock = threading.Lock()

    def one(number: int) -> Figures | UserError:
        def report(share: float) -> None:
            with lock:
                shares[number] = share
                if on_progress:
                    on_progress(sum(shares) / len(shares))

        try:
            return figures(paths[number], report)
        except UserError as error:
            report(1.0)
            return error
        except ValueError as error:  # one odd file must not cost the figures of all others
            report(1.0)
            return UserError(f"{paths[number]}: cannot be measured: {error}")

    with ThreadPoolExecutor(workers or os.cpu_count() or 1, "verify") as pool:
        return list(pool.map(one, range(len(paths))))


def as_json(found: Figures, held: Sequence[Check]) -> dict[str, object]:
    """A file's figures and checks for a program."""
    loud = found.loudness
    return {
        "file": str(found.path),
        "ok": all(check.ok for check in held),
        "codec": found.codec,
        "seconds": round(loud.seconds, 3),
        "integrated_lufs": round(loud.integrated, 2),
        "rms_db": round(loud.rms, 2),
        "peak_db": round(loud.peak, 2),
        "true_peak_dbtp": round(loud.true_peak, 2),
        "noise_floor_db": round(found.noise_floor, 1),
        "head_seconds": round(found.head, 3),
        "tail_seconds": round(found.tail, 3),
        "sample_rate": found.sample_rate,
        "channels": found.channels,
        "bitrate_kbps": found.bitrate,
        "bitrate_mode": found.bitrate_mode,
        "longest_gap_seconds": round(found.gap, 3),
        "clipped_runs": found.clipped,
        "flat_tops": found.flat,
        "longest_quiet_seconds": round(found.quiet, 1),
        "damaged_packets": found.damaged,
        "invalid_samples": found.invalid,
        "changes_of_rate_or_channels": found.changes,
        "missing_seconds": round(found.missing, 3),
        "tags": found.tags,
        "cover": list(found.cover) if found.cover else None,
        "marks": [{"start": round(m.start, 3), "title": m.title} for m in found.marks],
        "checks": [
            {"name": c.name, "figure": c.figure, "demand": c.demand, "ok": c.ok} for c in held
        ],
    }
