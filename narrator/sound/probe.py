"""Measures sound files: codec, loudness, edges, gaps, clipping, tags, chapter marks.

Reads anyone's files, in one pass and bounded memory. Knows no profile and no book:
`delivery/rules.py` holds the figures to demands.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
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

from narrator import keys
from narrator.errors import UserError
from narrator.sound import media, meters
from narrator.sound.audio import SILENCE, Samples, amplitude, find_runs
from narrator.sound.loudness import Loudness, measure
from narrator.sound.spectra import Spectra, SpectrumMeter, find_repeated, repeat_candidates


@dataclass(frozen=True, slots=True)
class ChapterMark:
    """A chapter mark; times in seconds."""

    start: float
    end: float
    title: str


@dataclass(frozen=True, slots=True)
class FileFigures:
    """The measurements of a file."""

    path: Path
    codec: str
    loudness: Loudness
    sample_rate: int
    channels: int
    bitrate: int
    """kbit/s: that of every frame where it is constant, else the average."""
    bitrate_mode: str
    """"constant" or "variable", by the headers of all frames; "lossless"; "unknown" for other
    codecs."""
    bitrate_note: str
    """The header that states it in the file: Xing, Info or VBRI."""
    noise_floor: float
    """dB RMS: the median of the five quietest half seconds, wherever they lie; where no pause is
    that long, in the head and the tail. Checkers for ACX take the quietest, which a dropout would
    lower."""
    head: float
    """Seconds before the first sound (30 ms over -50 dB)."""
    tail: float
    """Seconds after the last sound."""
    silent_edge: float
    """Seconds of digital silence at the start or the end, whichever is longer."""
    gap: float
    """The longest digital silence within, in seconds."""
    gap_at: float
    clipped: int
    """Runs of three or more samples at full scale."""
    clipped_at: float
    flat: int
    """Tops that were cut at a lower level: clipped, then made quieter."""
    flat_at: float
    quiet: float
    """Seconds of the longest stretch without any sound but that of a room."""
    quiet_at: float
    content: str
    """Hash of the coded sound, independent of tags."""
    levels: bytes = field(repr=False)
    """Level of each tenth of a second, see `meters.encode_levels`."""
    spectra: Spectra = field(repr=False, compare=False)
    repeats: tuple[tuple[float, float], ...]
    """Start and length, in seconds, of passages that are repeated at once."""
    damaged: int
    """Number of packets that cannot be decoded."""
    invalid: int
    """Number of samples that are NaN or beyond any level; they are measured as silence."""
    changes: int
    """Number of changes of sample rate or channels."""
    missing: float
    """Seconds that the header states and the file does not hold."""
    tags: dict[str, str]
    cover: tuple[int, int] | None
    """Width and height in pixels."""
    marks: tuple[ChapterMark, ...]

    @property
    def seconds(self) -> float:
        return self.loudness.seconds


BLOCK = 65536
_OPTIONS = {"advanced_editlist": "0"}
"""Reads MP4 without a second index for edits in the middle, which audiobooks do not have: it takes
150 of 360 MB for 26 hours. Edits at the edges, which skip the padding of coders, still count."""
SOUND_LEVEL = -50.0
"""dB: 30 ms above it are sound, not room."""
DIGITAL_LEVEL = -96.0
"""dB: anything below it is digital silence; a step of 16 bits is at -90."""
CLIPPED_LEVEL = 0.9995
"""Share of full scale from which on samples count as cut off."""
MAX_SAMPLE = 1e4
"""Multiple of full scale (80 dB over it): larger samples of a float file are no sound."""
MIN_SAMPLE_RATE = 1000
"""Hz: no sound has a lower rate."""


def measure_sound_file(
    path: Path, on_progress: Callable[[float], None] | None = None
) -> FileFigures:
    """Measures a file in any container that FFmpeg reads; `on_progress` receives the share done.

    Raises UserError where it cannot be read or holds no sound.
    """
    with media.as_user_errors(path), media.open_sound(path, _OPTIONS) as container:
        return _measure_container(path, container, on_progress or (lambda share: None))


def _measure_container(
    path: Path, container: InputContainer, on_progress: Callable[[float], None]
) -> FileFigures:
    """Measures an open file. Raises UserError."""
    stream = container.streams.audio[0]
    codec_name, rate = stream.codec_context.codec.canonical_name, stream.rate
    if rate < MIN_SAMPLE_RATE:
        raise UserError(f"{path}: cannot be read: it states a sample rate of {rate} Hz")
    decoder = _Decoder(container, stream, on_progress)
    meter = _SignalMeter(rate, is_coarse=codec_name in _COARSE_CODECS)
    loudness = measure(meter.watch(decoder.blocks()), rate)
    meter.finish()
    tags = media.tags(stream.metadata, container.metadata)
    header = _read_mp3_header(path) if _is_mp3(stream) else _NO_HEADER
    mode = _bitrate_mode(stream, decoder)
    spectra = Spectra.of(bytes(meter.spectra.levels))
    quiet, quiet_at = meters.longest_quiet(bytes(meter.levels))
    average_bitrate = round(decoder.bytes * 8 / 1000 / max(loudness.seconds, 1e-9))
    return FileFigures(
        path=path,
        codec=codec_name,
        loudness=loudness,
        sample_rate=rate,
        channels=stream.channels,
        bitrate=min(decoder.mp3_bitrates) if mode == "constant" else average_bitrate,
        bitrate_mode=mode,
        bitrate_note=f"{header.name} header" if header.name else "",
        noise_floor=meter.noise_floor(),
        head=meter.head,
        tail=loudness.seconds - meter.last_sound,
        silent_edge=meter.silent_edge,
        gap=meter.gap,
        gap_at=meter.gap_at,
        clipped=meter.clipped,
        clipped_at=meter.clipped_at,
        flat=meter.flats.count,
        flat_at=meter.flats.first_second,
        quiet=quiet,
        quiet_at=quiet_at,
        content=decoder.content.hexdigest(),
        levels=bytes(meter.levels),
        spectra=spectra,
        repeats=tuple(_find_repeats(path, spectra)),
        damaged=decoder.damaged,
        invalid=decoder.invalid,
        changes=decoder.format_changes,
        missing=_missing_seconds(stream, decoder, header, loudness.seconds),
        tags={name.casefold(): text for name, text in tags.items()},
        cover=_cover_size(container),
        marks=tuple(_chapter_marks(container)),
    )


_REPEAT_MARGIN = 1.5
"""Seconds before and after a passage that are read with it."""


def _find_repeats(path: Path, spectra: Spectra) -> Iterator[tuple[float, float]]:
    """Yields passages that are repeated at once, first by their spectra, then by their samples."""
    passages = []
    candidates = repeat_candidates(spectra)
    if not candidates:
        return
    with media.open_sound(path, _OPTIONS) as container:
        for start, lag_seconds in candidates:
            excerpt_start = max(0.0, start - _REPEAT_MARGIN)
            sound, rate = _read_excerpt(
                container,
                excerpt_start,
                middle=start + lag_seconds,
                stop=start + 2 * lag_seconds + _REPEAT_MARGIN,
            )
            if len(sound) and (passage := find_repeated(sound, rate, lag_seconds)):
                passages.append((excerpt_start + passage[0], passage[1]))
    last_end = -1.0
    for start, seconds in sorted(passages):
        if start > last_end:
            yield round(start, 2), round(seconds, 2)
            last_end = start + seconds


def _read_excerpt(
    container: InputContainer, start: float, *, middle: float, stop: float
) -> tuple[Samples, int]:
    """Reads sound in one channel and at about 8 kHz; returns it with its rate.

    It begins at `start`, has the second `middle` in its middle, and ends by about `stop`.
    """
    blocks: list[Samples] = []
    first_time = 0.0
    stream = container.streams.audio[0]
    rate = stream.rate
    with contextlib.suppress(av.error.FFmpegError):
        resampler = AudioResampler(format="flt", layout="mono")
        container.seek(round(max(0.0, start - 0.2) * av.time_base))
        for frame in container.decode(stream):
            if frame.time is None:
                break
            first_time = first_time if blocks else frame.time
            mono = resampler.resample(frame)
            blocks += [np.asarray(resampled.to_ndarray()[0], np.float32) for resampled in mono]
            if frame.time + frame.samples / rate >= stop:
                break
    if not blocks:
        return np.zeros(0, np.float32), 1
    sound = np.concatenate(blocks)[max(0, round((start - first_time) * rate)) :]
    factor = max(1, rate // 8000)
    length = min(len(sound), 2 * round((middle - start) * rate)) // factor * factor
    return sound[:length].reshape(-1, factor).mean(axis=1), rate // factor


def _missing_seconds(
    stream: AudioStream, decoder: _Decoder, header: _Mp3Header, seconds: float
) -> float:
    """Returns the seconds that a file lacks of its stated length.

    0 where a format does not state it, or estimates it from the bitrate.
    """
    if _is_mp3(stream):
        missing_frames = header.frames - decoder.packets
        # some coders count the header's frame too
        return missing_frames * decoder.frame_samples / stream.rate if missing_frames > 1 else 0.0
    if stream.duration is None or stream.time_base is None:
        return 0.0
    return max(0.0, float(stream.duration * stream.time_base) - seconds)


def _cover_size(container: InputContainer) -> tuple[int, int] | None:
    """Returns width and height of an attached picture."""
    for picture in container.streams.video:
        if picture.disposition & Disposition.attached_pic:
            return picture.codec_context.width, picture.codec_context.height
    return None


def _chapter_marks(container: InputContainer) -> Iterator[ChapterMark]:
    """Yields the chapter marks of a file."""
    for chapter in container.chapters():
        time_base = chapter["time_base"] or Fraction(1)
        start, end = (float(chapter[boundary] * time_base) for boundary in ("start", "end"))
        yield ChapterMark(start, end, chapter["metadata"].get("title", ""))


class _Decoder:
    """Decodes an open file in blocks, and counts what its packets show."""

    def __init__(
        self, container: InputContainer, stream: AudioStream, on_progress: Callable[[float], None]
    ) -> None:
        self.container = container
        self.stream = stream
        self.on_progress = on_progress
        self.bytes = 0
        self.packets = 0
        self.frame_samples = 0
        """Samples of the longest frame."""
        self.damaged = 0
        """Number of packets."""
        self.invalid = 0
        """Number of samples."""
        self.format_changes = 0
        self.content = keys.digest()
        self.mp3_bitrates: set[int] = set()
        """kbit/s of MP3 frames."""
        self._is_mp3 = _is_mp3(stream)
        self._last_format: tuple[int, int] | None = None  # rate and channels of the last frame
        self._resamplers: dict[tuple[int, str, str], AudioResampler] = {}

    def blocks(self) -> Iterator[Samples]:
        """Yields the samples in blocks, and reports progress."""
        expected_count = (self.container.duration or 0) / av.time_base * self.stream.rate
        pending: list[Samples] = []
        pending_count = yielded_count = 0
        for packet in self.container.demux(self.stream):
            for channels in self._decode_packet(packet):
                pending.append(channels[0] if len(channels) == 1 else channels.T)
                pending_count += channels.shape[1]
            if pending_count >= BLOCK:
                yielded_count += pending_count
                yield self._silence_invalid(np.concatenate(pending))
                pending, pending_count = [], 0
                self.on_progress(min(1.0, yielded_count / max(expected_count, 1)))
        if pending_count:
            yield self._silence_invalid(np.concatenate(pending))
        self.on_progress(1.0)

    def _decode_packet(self, packet: Packet[AudioStream]) -> Iterator[NDArray[np.float32]]:
        """Yields the frames of a packet; counts it if it is damaged."""
        if packet.size:
            self.bytes += packet.size
            self.content.update(packet)
            self.packets += 1
            if self._is_mp3:
                self.mp3_bitrates.add(_mp3_bitrate(bytes(packet)[:4]))
        try:
            for frame in packet.decode():
                self.frame_samples = max(self.frame_samples, frame.samples)
                for resampled_frame in self._resampler_for(frame).resample(frame):
                    yield np.asarray(resampled_frame.to_ndarray(), np.float32)
        except av.error.InvalidDataError:
            self.damaged += 1

    def _resampler_for(self, frame: AudioFrame) -> AudioResampler:
        """Returns a resampler for such frames, to the stream's rate and at most two channels."""
        frame_rate, channel_count = frame.sample_rate, frame.layout.nb_channels
        self.format_changes += self._last_format not in (None, (frame_rate, channel_count))
        self._last_format = frame_rate, channel_count
        input_format = frame_rate, frame.layout.name, frame.format.name
        if input_format not in self._resamplers:
            # all frames are converted to the format of the first, for one measurement
            first = next(iter(self._resamplers.values()), None)
            layout = first.layout if first else "stereo" if channel_count > 2 else None
            rate = self.stream.rate if first or frame_rate != self.stream.rate else None
            self._resamplers[input_format] = AudioResampler(format="fltp", layout=layout, rate=rate)
        return self._resamplers[input_format]

    def _silence_invalid(self, block: Samples) -> Samples:
        """Replaces samples that are NaN or beyond any level by silence, and counts them."""
        is_invalid = ~(np.abs(block) <= MAX_SAMPLE)  # also catches NaN
        if not bool(is_invalid.any()):
            return block
        self.invalid += int(np.count_nonzero(is_invalid))
        return np.where(is_invalid, np.float32(0), block)


_MP3_KILOBITS = {
    # by version 1 or 2 of MPEG, layer III; ISO/IEC 11172-3, 2.4.2.3, and 13818-3
    1: (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320),
    2: (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
}
_COARSE_CODECS = ("pcm_u8", "pcm_s8", "pcm_alaw", "pcm_mulaw")
"""Codecs with steps so coarse that equal samples mean nothing."""
_LOSSLESS_CODECS = ("flac", "alac", "wavpack", "ape", "tta")


def _mp3_bitrate(header: bytes) -> int:
    """Returns the bitrate in a frame's header, in kbit/s; 0 where it has none or is no header."""
    if len(header) < 4 or header[0] != 0xFF or header[1] & 0xE6 != 0xE2:
        return 0
    kilobits = _MP3_KILOBITS[1 if header[1] & 0x18 == 0x18 else 2]
    index = header[2] >> 4
    return kilobits[index] if index < len(kilobits) else 0


def _is_mp3(stream: AudioStream) -> bool:
    return stream.codec_context.codec.canonical_name == "mp3"


def _bitrate_mode(stream: AudioStream, decoder: _Decoder) -> str:
    """Returns `FileFigures.bitrate_mode`."""
    name = stream.codec_context.codec.canonical_name
    if _is_mp3(stream):
        return "constant" if len(decoder.mp3_bitrates) == 1 else "variable"
    return "lossless" if name.startswith("pcm_") or name in _LOSSLESS_CODECS else "unknown"


@dataclass(frozen=True, slots=True)
class _Mp3Header:
    """The statement of an MP3's first frame about the whole file."""

    name: str
    """"Xing", "Info" or "VBRI"; empty where there is none."""
    frames: int
    """Number of frames that follow; 0 where it is not stated."""


_NO_HEADER = _Mp3Header("", 0)


def _read_mp3_header(path: Path) -> _Mp3Header:
    """Reads the header in the first frame, behind an ID3v2 tag of any size."""
    with path.open("rb") as file:
        tag_header = file.read(10)
        if tag_header[:3] == b"ID3" and len(tag_header) == 10:
            size = 0
            for byte in tag_header[6:10]:  # seven bits each
                size = size << 7 | byte & 0x7F
            file.seek(10 + size)
            frame_bytes = file.read(4096)
        else:
            frame_bytes = tag_header + file.read(4096)
    name_offsets = [(frame_bytes.find(name), name) for name in (b"Xing", b"Info", b"VBRI")]
    nearby = sorted((offset, name) for offset, name in name_offsets if 0 <= offset < 200)
    if not nearby:
        return _NO_HEADER
    offset, name = nearby[0]
    if name == b"VBRI":
        frames = frame_bytes[offset + 14 : offset + 18]
    else:  # the lowest flag marks a number of frames
        flags = int.from_bytes(frame_bytes[offset + 4 : offset + 8])
        frames = frame_bytes[offset + 8 : offset + 12] if flags & 1 else b""
    return _Mp3Header(name.decode(), int.from_bytes(frames))


class _SignalMeter:
    """Measures edges, noise floor, gaps, clipped runs and flat tops in windows of 10 ms, and levels
    in tenths of a second."""

    def __init__(self, rate: int, *, is_coarse: bool = False) -> None:
        self.flats = meters.FlatTopCounter(rate, is_coarse)
        self.levels = bytearray()
        self.spectra = SpectrumMeter(rate)
        # as in `FileFigures`
        self.head = 0.0
        self.last_sound = 0.0
        self.gap = self.gap_at = 0.0
        self.silent_edge = 0.0
        self.clipped = 0
        self.clipped_at = 0.0
        self._rate = rate
        self._window_samples = max(1, rate // 100)
        self._window_seconds = self._window_samples / rate
        self._leftover = np.zeros((2, 0))  # power and magnitude of samples of an incomplete window
        self._window_count = 0
        self._last_loud = np.zeros(2, bool)  # the last two windows
        self._has_sound = False
        self._silent_windows = 0  # consecutive windows of digital silence so far
        self._last_tenths = np.zeros(0)  # powers of 100 ms, needed by later half seconds
        self._pending_powers = np.zeros(0)  # powers of 10 ms of an incomplete 100 ms
        self._histogram = np.zeros(1201, np.int64)  # half seconds by level, in 0.1 dB over SILENCE
        self._last_full: NDArray[np.bool_] | None = None  # the last three samples, (3, channels)
        self._sample_count = 0

    def watch(self, blocks: Iterator[Samples]) -> Iterator[Samples]:
        """Yields the blocks unchanged, and measures them."""
        for block in blocks:
            self._count_clips(block)
            self.flats.feed(block)
            self.spectra.feed(block)
            power = np.square(block, dtype=np.float64)
            magnitudes = np.abs(block)
            if block.ndim == 2:
                power, magnitudes = power.mean(axis=1), magnitudes.max(axis=1)
            self._measure_windows(power, magnitudes)
            yield block

    def _measure_windows(self, power: NDArray[np.float64], magnitudes: Samples) -> None:
        """Measures the complete 10 ms windows of power and magnitude per sample."""
        samples = np.concatenate([self._leftover, np.stack([power, magnitudes])], axis=1)
        count = samples.shape[1] // self._window_samples
        complete_length = count * self._window_samples
        self._leftover = samples[:, complete_length:]
        if not count:
            return
        windows = samples[:, :complete_length].reshape(2, count, self._window_samples)
        powers, peaks = windows[0].mean(axis=1), windows[1].max(axis=1)
        self._measure_edges(powers)
        self._measure_silences(peaks < amplitude(DIGITAL_LEVEL))
        self._measure_levels(powers)
        self._window_count += count

    def _measure_edges(self, powers: NDArray[np.float64]) -> None:
        """Updates the first and the last sound, of three loud windows, from the next windows'
        powers."""
        is_loud = np.concatenate([self._last_loud, powers > amplitude(SOUND_LEVEL) ** 2])
        ends_sound = is_loud[2:] & is_loud[1:-1] & is_loud[:-2]
        third_windows = np.flatnonzero(ends_sound) + self._window_count
        self._last_loud = is_loud[-2:]
        if len(third_windows):
            if not self._has_sound:
                self.head = max(0, int(third_windows[0]) - 2) * self._window_seconds
                self._has_sound = True
            self.last_sound = (int(third_windows[-1]) + 1) * self._window_seconds

    def _measure_silences(self, is_digital: NDArray[np.bool_]) -> None:
        """Extends or ends the current digital silence; `is_digital` tells for each of the next
        windows whether it is silent."""
        if not is_digital[0]:
            self._end_silence(self._window_count)
        for start, stop in find_runs(is_digital).tolist():
            self._silent_windows += stop - start
            if stop < len(is_digital):
                self._end_silence(self._window_count + stop)

    def _end_silence(self, stop: int) -> None:
        """Records the current silence, if there is one; it ends before window `stop`."""
        seconds = self._silent_windows * self._window_seconds
        if self._silent_windows and self._silent_windows == stop:  # silent from the start
            self.silent_edge = seconds
        elif seconds > self.gap:
            self.gap, self.gap_at = seconds, (stop - self._silent_windows) * self._window_seconds
        self._silent_windows = 0

    def _measure_levels(self, powers: NDArray[np.float64]) -> None:
        """Adds the levels of tenths and half seconds from the next windows' powers."""
        powers = np.concatenate([self._pending_powers, powers])
        count = len(powers) // 10
        self._pending_powers = powers[count * 10 :]
        new_tenths = powers[: count * 10].reshape(-1, 10).mean(axis=1)
        self.levels += meters.encode_levels(new_tenths)
        tenths = np.concatenate([self._last_tenths, new_tenths])
        self._last_tenths = tenths[-4:]
        if len(tenths) >= 5:
            means = np.convolve(tenths, np.full(5, 0.2), "valid")
            levels = 10 * np.log10(np.maximum(means, 10 ** (SILENCE / 10)))
            bins = np.clip(np.rint((levels - SILENCE) * 10), 0, 1200).astype(np.int64)
            self._histogram += np.bincount(bins, minlength=1201)

    def _count_clips(self, block: Samples) -> None:
        """Counts runs of three or more samples at full scale."""
        is_full = np.abs(block.reshape(len(block), -1)) >= CLIPPED_LEVEL
        if self._last_full is None:
            self._last_full = np.zeros((3, is_full.shape[1]), bool)
        is_full = np.concatenate([self._last_full, is_full])
        if bool(is_full[3:].any()):
            ends_run = is_full[2:] & is_full[1:-1] & is_full[:-2]
            run_starts = np.flatnonzero((ends_run[1:] & ~ends_run[:-1]).any(axis=1))
            if len(run_starts) and not self.clipped:
                self.clipped_at = max(0, self._sample_count + int(run_starts[0]) - 2) / self._rate
            self.clipped += len(run_starts)
        self._last_full = is_full[-3:]
        self._sample_count += len(block)

    def finish(self) -> None:
        """Ends the measurement: silence up to the end of the file is an edge, not a gap."""
        if self._silent_windows:
            self.silent_edge = max(self.silent_edge, self._silent_windows * self._window_seconds)
        if not self._has_sound:
            self.head = self._window_count * self._window_seconds
        self.flats.finish()

    def noise_floor(self) -> float:
        """Returns the median level of the five quietest half seconds, in dB."""
        total = int(self._histogram.sum())
        if not total:
            return SILENCE
        middle_count = min(total, 5) / 2
        return SILENCE + int(np.searchsorted(np.cumsum(self._histogram), middle_count)) / 10
