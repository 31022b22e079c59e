"""Encodes a chapter's sound to one file that meets its loudness target.

Encoded files are kept by key, so an unchanged chapter is not encoded again. They carry no tags: the
files for listeners are joined from them. Knows nothing of books.
"""

from __future__ import annotations

import contextlib
import io
import math
import os
import re
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, field
from pathlib import Path
from threading import Event
from typing import IO, Any

import av
import av.error
import numpy as np
import soxr
from av.audio.stream import AudioStream
from av.container import InputContainer, OutputContainer

from narrator import keys
from narrator.delivery.export.excerpt import ChapterAudio
from narrator.errors import ExportError, UserError
from narrator.files import (
    AlteredFile,
    corruption_log,
    load_json,
    read_json,
    replacing,
    save_json,
    translating_errors,
)
from narrator.project.profiles import PLAIN_PROFILE, Profile
from narrator.sound import mastering, media
from narrator.sound.audio import Samples, as_channels, decode_frames, resample_stream, to_frame
from narrator.sound.formats import CODECS, FORMATS, Codec
from narrator.sound.loudness import SILENT_LUFS, STEREO_GAIN, Loudness, Target, master, measure
from textbase.files import Unfit

BLOCK = 65536
WORKERS = os.cpu_count() or 1
"""Chapters that are encoded at one time; the samples of each lie on the disk meanwhile."""

# -- encodings -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Encoding:
    """The coding parameters of a chapter."""

    codec: str
    """A codec of `CODECS`."""
    sample_rate: int
    bitrate: int
    """kbit/s; 0 where it is lossless."""
    channels: int = 1
    constant: bool | None = None
    """True where every packet has the same bitrate; None for the codec's default, which is constant
    for MP3."""

    def bytes_per_second(self, codec: Codec) -> float:
        """Returns the approximate bytes per second of a file in a codec: this or, of WAV, its
        own."""
        return self.bitrate * 125 or codec.bytes_per_sample * self.sample_rate * self.channels

    @property
    def max_join_seconds(self) -> float:
        """Most seconds that a chapter grows when it is joined to others: coders put a delay of up
        to two packets before it and fill up its last one."""
        return 3 * CODECS[self.codec].packet_samples / self.sample_rate


def encoding(
    format: str, rate: int, profile: Profile = PLAIN_PROFILE, channels: int = 1
) -> Encoding:
    """Returns the encoding of a format for sound at `rate` Hz with so many channels.

    The sample rate is the profile's, else the sound's own, else the next that the codec accepts;
    Opus always runs at 48 kHz. Raises UserError where codec, rate and bitrate do not fit together.
    """
    return codec_encoding(FORMATS[format].chapter_codec, rate, profile, channels, name=format)


def codec_encoding(
    codec: Codec, rate: int, profile: Profile = PLAIN_PROFILE, channels: int = 1, name: str = ""
) -> Encoding:
    """Returns the `encoding` of a codec; `name` is that of the format, for messages."""
    wanted_rate, channels = profile.sample_rate or rate, profile.channels or channels
    has_rate_choice = len(codec.rates) > 1
    if profile.sample_rate and has_rate_choice and wanted_rate not in codec.rates:
        raise UserError(f"{name} takes no sample rate of {wanted_rate}: {_listed(codec.rates)}")
    sample_rate = next(
        (codec_rate for codec_rate in codec.rates if codec_rate >= wanted_rate),
        codec.rates[-1] if codec.rates else wanted_rate,
    )
    if not codec.is_lossy:
        return Encoding(codec.name, sample_rate, 0, channels)
    bitrate = profile.bitrate or codec.default_bitrate(sample_rate) * channels
    bitrates = codec.bitrates(sample_rate)
    if bitrates and bitrate not in bitrates:
        raise UserError(
            f"{name.upper()} at {sample_rate} Hz has no bitrate of {bitrate} kbit/s, only "
            f"{_listed(bitrates)}"
            + ("; or set output.sample_rate: 44100" if sample_rate < 32000 else "")
        )
    max_bitrate = codec.max_bitrate(sample_rate, channels)
    if bitrate > max_bitrate:
        raise UserError(
            f"{name} of {'one channel' if channels == 1 else 'two channels'} at {sample_rate} Hz "
            f"takes at most {max_bitrate} kbit/s, not {bitrate}"
        )
    mode = profile.bitrate_mode if codec.has_bitrate_modes else None
    return Encoding(
        codec.name, sample_rate, bitrate, channels, None if mode is None else mode == "constant"
    )


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))


# -- jobs ------------------------------------------------------------------------------------------


class Cancelled(Exception):
    """Raised when an export is cancelled; no incomplete file is left."""


@dataclass(frozen=True, slots=True)
class EncodeJob:
    """One chapter's sound in one encoding at one target."""

    chapter: ChapterAudio = field(compare=False)
    encoding: Encoding
    target: Target
    room_tone: float | None = None
    """dB RMS of noise under everything."""
    key: str = field(init=False)
    """The chapter's key."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", self.chapter.key)


@dataclass(frozen=True, slots=True)
class Encoded:
    """An encoded chapter, with the measurements of its decoded sound."""

    path: Path
    encoding: Encoding
    loudness: Loudness
    gain: float
    """dB applied to the whole chapter."""
    samples: int
    """Length at the encoding's sample rate, without the padding of codecs."""
    sha256: str
    bytes: int
    fresh: bool
    """True for a chapter that was encoded by this export."""

    @property
    def seconds(self) -> float:
        return self.samples / self.encoding.sample_rate


def export_chapters(
    jobs: Sequence[EncodeJob],
    folder: Path,
    *,
    on_progress: Callable[[int, float], None] | None = None,
    cancel: Event | None = None,
) -> list[Encoded | ExportError]:
    """Encodes chapters side by side into `folder`, where they are kept; returns results in order of
    the jobs.

    The result of a chapter that cannot be encoded or brought to its target is an error; the others
    are made all the same.

    Runs in threads: FFmpeg and libsndfile release the interpreter's lock, so two threads take 0.55
    of the time of one on two cores, and share one process's memory. `on_progress` receives (job,
    share done), from one thread at a time. Raises StorageError, Cancelled and errors of `blocks`;
    the other chapters then stop too, and finished ones stay for the next run.
    """
    has_failed = threading.Event()
    lock = threading.Lock()
    uses = Counter(job.key for job in jobs)
    sounds = {job.key: _ChapterSamples(job.chapter, folder, uses[job.key]) for job in jobs}

    def is_stopped() -> bool:
        return has_failed.is_set() or (cancel is not None and cancel.is_set())

    def encode_job(number: int) -> Encoded | ExportError:
        """Encodes one job; returns the error where its chapter is at fault."""

        def report(share: float) -> None:
            if is_stopped():
                raise Cancelled
            if on_progress:
                with lock:
                    on_progress(number, share)

        job = jobs[number]
        try:
            with sounds[job.key] as sound:
                return _encode_chapter(job, sound, folder, report)
        except ExportError as error:
            report(1.0)
            return error
        except BaseException:
            has_failed.set()
            raise

    with translating_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    pool = ThreadPoolExecutor(WORKERS, "encode")
    try:
        futures = {number: pool.submit(encode_job, number) for number in _work_order(jobs, WORKERS)}
        wait(futures.values())
    except BaseException:
        has_failed.set()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
    errors = [error for n in range(len(jobs)) if (error := futures[n].exception())]
    if errors:  # the first that is not a cancellation caused by another
        raise next(
            (candidate for candidate in errors if not isinstance(candidate, Cancelled)), errors[0]
        )
    return [futures[number].result() for number in range(len(jobs))]


def _work_order(jobs: Sequence[EncodeJob], workers: int) -> list[int]:
    """Returns the indices of jobs in the order of work: the longest chapters first.

    As many chapters are in work as there are workers, so that none waits for another to assemble a
    chapter, and few chapters lie on the disk at a time.
    """
    lengths = {job.key: job.chapter.timeline.length for job in jobs}
    longest = sorted(lengths, key=lambda key: -lengths[key])
    ranks = {key: rank for rank, key in enumerate(longest)}
    uses_so_far: Counter[str] = Counter()
    sort_keys: list[tuple[int, int, int, int]] = []  # of each job, its index last
    for number, job in enumerate(jobs):
        rank = ranks[job.key]
        sort_keys.append((rank // workers, uses_so_far[job.key], rank, number))
        uses_so_far[job.key] += 1
    return [number for *_, number in sorted(sort_keys)]


class _ChapterSamples:
    """A chapter's samples for all of its encodings, assembled once and measured once for each
    purpose.

    They lie in a nameless file, which goes with the last encoding or the process; memory holds one
    block. A context manager for each of its `remaining_uses`.
    """

    def __init__(self, chapter: ChapterAudio, folder: Path, remaining_uses: int) -> None:
        self.chapter, self.folder, self.remaining_uses = chapter, folder, remaining_uses
        self._lock = threading.RLock()
        self._figures: dict[object, Loudness] = {}
        self._file: IO[bytes] | None = None
        self._block_shapes: list[tuple[int, ...]] = []
        """Shapes of the original blocks: the last bit of measurements depends on them."""

    def __enter__(self) -> _ChapterSamples:
        return self

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self.remaining_uses -= 1
            if not self.remaining_uses and self._file:
                self._file.close()

    def blocks(self, watch: _ProgressWatch, channels: int) -> Iterator[Samples]:
        """Streams the samples in one or two channels, from the start. Raises StorageError."""
        with self._lock:
            if self._file is None:
                self._file = self._assemble(watch)
            file = self._file
        return as_channels(self._read(file), channels)

    def _assemble(self, watch: _ProgressWatch) -> IO[bytes]:
        """Writes the chapter's samples to a temporary file."""
        with translating_errors(self.folder):
            file = tempfile.TemporaryFile(dir=self.folder)  # noqa: SIM115  # the last use closes it
        try:
            self._block_shapes.clear()
            length = self.chapter.timeline.length
            for block in watch(self.chapter.blocks(), length, 0.0, _ASSEMBLED_SHARE):
                self._block_shapes.append(block.shape)
                with translating_errors(self.folder):
                    file.write(block.tobytes())
            with translating_errors(self.folder):
                file.flush()
        except BaseException:
            file.close()
            raise
        return file

    def _read(self, file: IO[bytes]) -> Iterator[Samples]:
        """Streams the blocks of the temporary file."""
        offset = 0
        for shape in self._block_shapes:
            size = 4 * math.prod(shape)
            with translating_errors(self.folder):
                block_bytes = os.pread(file.fileno(), size, offset)
            offset += size
            yield np.frombuffer(block_bytes, np.float32).reshape(shape)

    def figures(self, measurement: object, measure_sound: Callable[[], Loudness]) -> Loudness:
        """Returns the result of `measure_sound`, called once for each `measurement`."""
        with self._lock:
            if measurement not in self._figures:
                self._figures[measurement] = measure_sound()
            return self._figures[measurement]


MAX_ROUNDS = 3
"""Most times that a chapter is encoded until it meets its target."""
MAX_LIMITER_ROUNDS = 3
"""Most times that the loss of level to the limiter is measured before that."""
_ASSEMBLED_SHARE, _MEASURED_SHARE, _LIMITED_SHARE, _ENCODED_SHARE = 0.05, 0.1, 0.3, 0.65
"""Shares of the work on a chapter that are done after each of its stages."""


def _encode_chapter(
    job: EncodeJob, sound: _ChapterSamples, folder: Path, report: Callable[[float], None]
) -> Encoded:
    """Encodes a chapter to its target, or loads it where it exists.

    `report` receives the share done; errors it raises end the work. Raises ExportError,
    StorageError.
    """
    path = _cache_path(job, folder)
    encoded_chapter = _load_encoded(path, job.encoding)
    if encoded_chapter is None:
        with replacing(path) as temporary:
            gain, samples, loudness = _encode_to_target(job, sound, temporary, report)
        encoded_chapter = _save_index(path, job.encoding, gain, samples, loudness)
    report(1.0)
    return encoded_chapter


def load_encoded_job(job: EncodeJob, folder: Path) -> Encoded | None:
    """Returns the encoded chapter of a job if it exists, with every byte intact; encodes
    nothing."""
    return _load_encoded(_cache_path(job, folder), job.encoding)


def _cache_path(job: EncodeJob, folder: Path) -> Path:
    """Returns the path of a job's encoded chapter, named by everything that decides it."""
    level_source = (
        "words" if job.target.kind == "dB RMS" else "speech" if job.chapter.speech else "sound"
    )
    recipe = {
        "encoded": 3,
        "sound": job.key,
        "encoding": asdict(job.encoding),
        "target": asdict(job.target),
        "room_tone": [job.room_tone, mastering.ROOM_TONE_SECONDS],
        "by": level_source,
    }
    return folder / f"{keys.key(recipe)}.{CODECS[job.encoding.codec].suffix}"


def _encode_to_target(
    job: EncodeJob, sound: _ChapterSamples, path: Path, report: Callable[[float], None]
) -> tuple[float, int, Loudness]:
    """Measures, masters, encodes and measures again, until the file meets its target.

    Returns the gain in dB, the length in samples, and the figures of the file. Raises ExportError
    where no round fits.
    """
    target, channels = job.target, job.encoding.channels
    length, rate = job.chapter.timeline.length, job.chapter.timeline.sample_rate
    watch = _ProgressWatch(report)

    def blocks(share_start: float, share_stop: float) -> Iterator[Samples]:
        return watch(sound.blocks(watch, channels), length, share_start, share_stop)

    def measure_plain() -> Loudness:
        return measure(blocks(_ASSEMBLED_SHARE, _MEASURED_SHARE), rate, true_peak=False)

    def measure_limited() -> Loudness:
        limited = master(blocks(_MEASURED_SHARE, _LIMITED_SHARE), rate, gain.gain, ceiling)
        return measure(limited, rate, true_peak=False)

    plain = sound.figures(channels, measure_plain)
    if plain.integrated <= SILENT_LUFS:
        raise ExportError(f"chapter '{job.chapter.title}' is silent")
    gain = _GainControl(
        _target_level(job, sound, plain),
        target.level_of(plain),
        is_fixed=target.kind == "as it is",
    )
    ceiling = target.true_peak - CODECS[job.encoding.codec].peak_margin_db
    for _ in range(MAX_LIMITER_ROUNDS):
        if plain.peak + gain.gain <= ceiling:
            break
        limited = sound.figures((channels, gain.gain, ceiling), measure_limited)
        if gain.correct(target.level_of(limited)) < 0.1:
            break
    for _ in range(MAX_ROUNDS):
        mastered_blocks = master(blocks(_LIMITED_SHARE, _ENCODED_SHARE), rate, gain.gain, ceiling)
        if job.room_tone is not None:
            mastered_blocks = mastering.with_room_tone(mastered_blocks, rate, job.room_tone)
        encoded_length = write_sound(path, mastered_blocks, rate, job.encoding)
        with open_encoded(path) as container:
            decoded_blocks = regroup_blocks(decode_frames(container, mono=False))
            encoded = measure(
                watch(decoded_blocks, encoded_length, _ENCODED_SHARE, 1.0), job.encoding.sample_rate
            )
        if target.accepts(encoded):
            return gain.gain, encoded_length, encoded
        gain.correct(target.level_of(encoded))
        ceiling -= max(0.0, encoded.true_peak - target.true_peak + 0.1)
    raise _missed_target(job, plain, encoded)


MOSTLY_SILENT_DIFFERENCE = 4.0
"""dB between the loudness of the words and the RMS of a chapter from which on a good half of it is
silence."""


def _missed_target(job: EncodeJob, plain: Loudness, encoded: Loudness) -> ExportError:
    """Returns the error for a chapter that misses its target, with what would help.

    `plain` are its figures before, `encoded` those after mastering and encoding.
    """
    target = job.target
    is_mostly_silent = (
        plain.integrated - plain.rms > MOSTLY_SILENT_DIFFERENCE and target.kind == "dB RMS"
    )
    advice = (
        "much of it is silence: make one chapter of it and the next, or shorten pauses.tail"
        if is_mostly_silent
        else "a lower loudness (of `output`, or of a profile of your own) leaves its peaks more "
        "room"
    )
    return ExportError(
        f"chapter '{job.chapter.title}' measures {target.level_of(encoded):.1f} {target.kind} and "
        f"{encoded.true_peak:.1f} dBTP, not {target}; {advice}"
    )


TARGET_MARGIN = 0.15
"""dB that a mix stays within the bounds of its target: encoding moves it a little."""
WORDS_ABOVE_RMS = 1.0
"""LU that words lie above the ungated RMS of a chapter: half a dB in a long one, two in credits,
half of which are pauses. Words are levelled, so that all chapters sound alike, whatever their
pauses."""


def _target_level(job: EncodeJob, sound: _ChapterSamples, plain: Loudness) -> float:
    """Returns the level to bring a chapter to, whose figures are `plain` now.

    It brings the words to the target, as far as the target accepts the chapter with music and
    pauses. A target "as it is" leaves the level.
    """
    target, speech, channels = job.target, job.chapter.speech, job.encoding.channels
    if target.kind == "as it is":
        return target.level_of(plain)
    if target.kind == "LUFS" and speech is None:
        return target.level
    words_loudness = plain.integrated
    if speech is not None:
        rate = job.chapter.timeline.sample_rate
        words_loudness = sound.figures(
            ("words", channels),
            lambda: measure(as_channels(speech(), channels), rate, true_peak=False),
        ).integrated
    if words_loudness <= SILENT_LUFS:
        return target.level
    words_target = target.level
    if target.kind == "dB RMS":
        words_target += WORDS_ABOVE_RMS + (STEREO_GAIN if channels == 2 else 0.0)
    chapter_target = target.level_of(plain) + words_target - words_loudness
    return min(max(chapter_target, target.lowest + TARGET_MARGIN), target.highest - TARGET_MARGIN)


class _GainControl:
    """Finds the gain that brings a chapter to a level; under a limiter a dB of gain yields less.

    A gain that `is_fixed` stays whatever level it gives.
    """

    def __init__(self, target_level: float, level: float, *, is_fixed: bool) -> None:
        self.target_level = target_level
        self.gain = target_level - level
        self.is_fixed = is_fixed
        self.level_per_gain = 1.0
        """dB of level for a dB of gain."""
        self._previous: tuple[float, float] | None = None  # gain, and the level that it gave

    def correct(self, level: float) -> float:
        """Corrects the gain by the level that it gave; returns by how many dB that was off."""
        if self.is_fixed:
            return 0.0
        if self._previous and abs(self.gain - self._previous[0]) > 0.01:
            previous_gain, previous_level = self._previous
            slope = (level - previous_level) / (self.gain - previous_gain)
            self.level_per_gain = min(1.0, max(0.25, slope))
        self._previous = self.gain, level
        missing_db = self.target_level - level
        self.gain += missing_db / self.level_per_gain
        return abs(missing_db)


class _ProgressWatch:
    """Reports the progress of streams; the share never decreases when a stream begins again."""

    def __init__(self, report: Callable[[float], None]) -> None:
        self.report = report
        self.reported_share = 0.0

    def __call__(
        self, blocks: Iterable[Samples], length: int, share_start: float, share_stop: float
    ) -> Iterator[Samples]:
        """Yields the blocks of a stream of `length` samples, and reports shares from `share_start`
        to `share_stop`."""
        passed_samples = 0
        for block in blocks:
            passed_samples += len(block)
            stage_share = min(1.0, passed_samples / max(1, length))
            share = share_start + (share_stop - share_start) * stage_share
            self.reported_share = max(self.reported_share, share)
            self.report(self.reported_share)
            yield block


# -- FFmpeg ----------------------------------------------------------------------------------------


def write_sound(path: Path, blocks: Iterable[Samples], rate: int, encoding: Encoding) -> int:
    """Encodes a stream; returns its length at the encoding's sample rate."""
    length = 0
    with create_file(path, CODECS[encoding.codec]) as container:
        stream = add_sound(container, encoding)
        for block in regroup_blocks(resample_stream(blocks, rate, encoding.sample_rate)):
            write_block(container, stream, scale_for_encoder(block, encoding), length)
            length += len(block)
        container.mux(stream.encode(None))
    return length


@contextlib.contextmanager
def _translate_errors(name: str) -> Iterator[None]:
    """Raises ExportError in place of FFmpeg's errors, but for OSError; `name` is the file's."""
    try:
        yield
    except av.error.FFmpegError as error:
        if isinstance(error, OSError):
            raise
        raise ExportError(f"{name}: {error}") from error


@contextlib.contextmanager
def create_file(path: Path, codec: Codec) -> Iterator[OutputContainer]:
    """Opens a new file for FFmpeg, with no trace of time, version or chance in its bytes."""
    options = {"fflags": "+bitexact", **codec.container_options}
    url = f"file:{path}"  # with an explicit protocol, no folder name is mistaken for one
    with (
        _translate_errors(path.name),
        av.open(url, "w", format=codec.container, container_options=options) as container,
    ):
        yield container


def add_sound(container: OutputContainer, encoding: Encoding) -> AudioStream:
    """Adds a stream of an encoding; FLAC's takes integers of 24 bits in 32."""
    codec = CODECS[encoding.codec]
    layout = "mono" if encoding.channels == 1 else "stereo"
    stream = container.add_stream(codec.encoder, rate=encoding.sample_rate, layout=layout)
    assert isinstance(stream, AudioStream)
    mode_options: Mapping[str, str] = {}
    if encoding.constant is not None:
        mode_options = codec.constant_options if encoding.constant else codec.variable_options
    stream.codec_context.options = {"flags": "+bitexact", **codec.options, **mode_options}
    if encoding.bitrate:
        stream.bit_rate = encoding.bitrate * 1000
    stream.format = codec.sample_format
    return stream


def scale_for_encoder(block: Samples, encoding: Encoding) -> Samples:
    """Compensates a block for the factor that its encoder applies."""
    encoder_gain = CODECS[encoding.codec].encoder_gain
    return block if encoder_gain == 1 else block * np.float32(1 / encoder_gain)


def write_block(
    container: OutputContainer, stream: AudioStream, block: Samples, position: int
) -> None:
    """Encodes and writes one block."""
    if stream.format.name == "s32":
        integers = np.rint(block.astype(np.float64) * 2**23).clip(-(2**23), 2**23 - 1)
        frame = to_frame(integers.astype(np.int32) << 8, stream.rate, position)
    else:
        frame = to_frame(block, stream.rate, position)
    container.mux(stream.encode(frame))


@contextlib.contextmanager
def open_encoded(path: Path) -> Iterator[InputContainer]:
    """Opens an encoded file for decoding. Raises ExportError where FFmpeg cannot read it."""
    try:
        with media.open_sound(path) as container:
            yield container
    except Unfit as error:
        raise ExportError(f"{path.name} cannot be read back: {error}") from error


def regroup_blocks(blocks: Iterable[Samples]) -> Iterator[Samples]:
    """Joins blocks to at least `BLOCK` samples: codecs yield them by the thousand."""
    pending: list[Samples] = []
    count = 0
    for block in blocks:
        pending.append(block)
        count += len(block)
        if count >= BLOCK:
            yield np.concatenate(pending)
            pending, count = [], 0
    if count:
        yield np.concatenate(pending)


# -- streams ---------------------------------------------------------------------------------------


class Flow:
    """Encodes a stream of samples: bytes come out as soon as a frame is full."""

    def __init__(self, encoding: Encoding, rate: int) -> None:
        """Prepares the encoder for samples at `rate`. Raises ExportError."""
        self._encoding, self._position = encoding, 0
        self._resample = soxr.ResampleStream(
            rate, encoding.sample_rate, 1, dtype="float32", quality="HQ"
        )
        self._sink = _OutputBuffer()
        codec = CODECS[encoding.codec]
        options = {"fflags": "+bitexact", "flush_packets": "1", **codec.stream_options}
        with _translate_errors("the sound"):
            self._container = av.open(
                self._sink, "w", format=codec.stream_container, container_options=options
            )
            self._stream = add_sound(self._container, encoding)
            self._stream.codec_context.options |= codec.fast_options

    def feed(self, samples: Samples, last: bool = False) -> bytes:
        """Encodes samples; returns the new bytes of the file, the rest of them with the `last`
        samples.

        Raises ExportError.
        """
        block = self._resample.resample_chunk(samples, last=last)
        with _translate_errors("the sound"):
            if len(block):
                scaled_block = scale_for_encoder(block, self._encoding)
                write_block(self._container, self._stream, scaled_block, self._position)
                self._position += len(block)
            if last:
                self._container.mux(self._stream.encode(None))
                self._container.close()
        return self._sink.take_bytes()


class _OutputBuffer(io.RawIOBase):
    """Holds the output of FFmpeg until it is taken; cannot seek."""

    def __init__(self) -> None:
        self._pending = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, written_bytes: Any) -> int:
        self._pending += written_bytes
        return len(written_bytes)

    def take_bytes(self) -> bytes:
        """Returns and clears the output."""
        pending_bytes = bytes(self._pending)
        self._pending.clear()
        return pending_bytes


# -- encoded chapters on disk ----------------------------------------------------------------------


def _save_index(
    path: Path, encoding: Encoding, gain: float, samples: int, loudness: Loudness
) -> Encoded:
    """Writes the index of an encoded chapter, and returns the chapter."""
    with translating_errors(path):
        size, sha256 = path.stat().st_size, keys.file_content(path)
    index = {"loudness": asdict(loudness), "gain": gain, "samples": samples, "sha256": sha256}
    save_json(path.with_suffix(".json"), index)
    return Encoded(path, encoding, loudness, gain, samples, sha256, size, fresh=True)


def _load_encoded(path: Path, encoding: Encoding) -> Encoded | None:
    """Loads an encoded chapter that exists and has every byte that was written.

    Size and time do not show a flipped bit; hashing takes a second for some twenty hours.
    """
    index = load_json(path.with_suffix(".json"), dict[str, Any], {})
    try:
        loudness = Loudness(**index["loudness"])
        gain, samples, sha256 = index["gain"], index["samples"], index["sha256"]
        size, actual_sha256 = path.stat().st_size, keys.file_content(path)
    except (OSError, KeyError, TypeError):
        return None  # missing or damaged: encoded again
    if actual_sha256 != sha256:
        corruption_log.warning("%s: it was altered since it was written; it is encoded again", path)
        return None
    return Encoded(path, encoding, loudness, gain, samples, sha256, size, fresh=False)


def altered_encodings(cache_folder: Path) -> list[Path]:
    """Returns encoded chapters whose bytes or index differ from what was written. Raises
    StorageError."""
    with translating_errors(cache_folder):
        indices = [path for path in cache_folder.glob("*.json") if KEY_PATTERN.fullmatch(path.stem)]
        sounds = {
            path.stem: path
            for path in cache_folder.glob("*")
            if path.suffix not in (".json", ".part")
        }
        return [
            sounds.get(index.stem, index)
            for index in sorted(indices)
            if not _is_as_written(index, sounds.get(index.stem))
        ]


KEY_PATTERN = re.compile("[0-9a-f]{40}")
"""Names of encoded chapters and their indices, without endings."""


def _is_as_written(index: Path, sound: Path | None) -> bool:
    """Returns whether an encoded chapter matches its index. Raises OSError."""
    try:
        content = read_json(index)["sha256"]
    except (AlteredFile, KeyError, TypeError):
        return False
    return sound is None or keys.file_content(sound) == content
