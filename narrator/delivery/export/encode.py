"""A chapter's sound -> one encoded file that measures what its target asks for.

Encoded files are kept by key, so an unchanged chapter is not encoded again. They carry no tags:
what listeners get is joined from them. Knows nothing of books.
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
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, field, replace
from functools import partial
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
from narrator.files import Altered, damage, load_json, read_json, replacing, save_json, storage
from narrator.project.profiles import PLAIN, Profile
from narrator.sound import mastering, media
from narrator.sound.audio import Samples, as_channels, as_frame, decoded, resampled
from narrator.sound.loudness import BOTH, Loudness, Target, master, measure

BLOCK = 65536
WORKERS = os.cpu_count() or 1
"""Chapters that are encoded at one time; the samples of each lie on the disk meanwhile."""

# -- encodings -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Codec:
    encoder: str
    container: str
    suffix: str
    rates: tuple[int, ...]
    options: tuple[tuple[str, str], ...]
    margin: float
    """dB that the limiter stays under the ceiling, for what coding adds to peaks."""
    scale: float = 1.0
    """What the encoder multiplies its input by, to be taken back before."""


_CODECS = {
    # The fast coder has less noise on speech than the slow one, over and under masking, at 32 to
    # 96 kbit/s, in a third of the time.
    "aac": _Codec(
        "aac", "mp4", "m4a", (16000, 22050, 24000, 32000, 44100, 48000), (("aac_coder", "fast"),), 1
    ),
    # LAME scales by 0.95 unless told otherwise, which FFmpeg does not.
    "mp3": _Codec(
        "libmp3lame", "mp3", "mp3", (16000, 22050, 24000, 32000, 44100, 48000), (), 1, 0.95
    ),
    "opus": _Codec("libopus", "opus", "opus", (48000,), (), 1),
    "flac": _Codec("flac", "flac", "flac", (), (("bits_per_raw_sample", "24"),), 0.2),
    "pcm": _Codec("pcm_s24le", "wav", "wav", (), (), 0.2),
}
_BY_FORMAT = {"m4b": "aac", "mp3": "mp3", "opus": "opus", "flac": "flac", "wav": "flac"}

_MP3_RATES = (32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320)
_MP3_LOW_RATES = (16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160)


@dataclass(frozen=True, slots=True)
class Encoding:
    """How a chapter is coded."""

    codec: str
    """aac, mp3, opus or flac; WAV is made from FLAC."""
    sample_rate: int
    bitrate: int
    """kbit/s; 0 where it is lossless."""
    channels: int = 1
    constant: bool | None = None
    """Whether every packet has the same bitrate; None is the codec's own way: constant for MP3."""

    @property
    def bytes_per_second(self) -> float:
        """About what it needs on disk; lossless as FLAC of 24 bits."""
        return self.bitrate * 125 if self.bitrate else 1.8 * self.sample_rate * self.channels

    @property
    def join(self) -> float:
        """Seconds that a chapter is longer at most, within a book, than its sound: coders put a
        delay of up to two packets before it and fill up its last one."""
        frames = {"aac": 1024, "mp3": 1152, "opus": 960}
        return 3 * frames.get(self.codec, 0) / self.sample_rate


def encoding(format: str, rate: int, profile: Profile = PLAIN, channels: int = 1) -> Encoding:
    """The encoding of a format for sound at `rate` with so many channels.

    The sample rate is the profile's, else the sound's own, else the next that the codec takes;
    Opus always runs at 48 kHz. Raises UserError where codec, rate and bitrate do not go together.
    """
    name = _BY_FORMAT[format]
    known = _CODECS[name].rates
    wanted, channels = profile.sample_rate or rate, profile.channels or channels
    if profile.sample_rate and name in ("aac", "mp3") and wanted not in known:
        raise UserError(f"{format} takes no sample rate of {wanted}: {_listed(known)}")
    hertz = next((r for r in known if r >= wanted), known[-1] if known else wanted)
    if name == "flac":
        return Encoding(name, hertz, 0, channels)
    usual = {"aac": 64, "mp3": 96 if hertz >= 32000 else 64, "opus": 48}
    mode = profile.bitrate_mode if name in ("mp3", "opus") else None
    constant = None if mode is None else mode == "constant"
    code = Encoding(name, hertz, profile.bitrate or usual[name] * channels, channels, constant)
    _check_bitrate(format, code)
    return code


def _check_bitrate(format: str, code: Encoding) -> None:
    """Raises UserError for one that the codec does not have at this rate, or not for so many
    channels."""
    hertz, channels, kilobits = code.sample_rate, code.channels, code.bitrate
    known = _MP3_RATES if hertz >= 32000 else _MP3_LOW_RATES
    if code.codec == "mp3" and kilobits not in known:
        raise UserError(
            f"MP3 at {hertz} Hz has no bitrate of {kilobits} kbit/s, only {_listed(known)}"
            + ("; or set output.sample_rate: 44100" if hertz < 32000 else "")
        )
    most = {"aac": 6 * hertz // 1000 * channels, "mp3": 320, "opus": 256 * channels}[code.codec]
    if kilobits > most:
        count = "one channel" if channels == 1 else "two channels"
        raise UserError(
            f"{format} of {count} at {hertz} Hz takes at most {most} kbit/s, not {kilobits}"
        )


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))


# -- jobs ------------------------------------------------------------------------------------------


class Cancelled(Exception):
    """The export was asked to stop; nothing half-written is left."""


@dataclass(frozen=True, slots=True)
class EncodeJob:
    """One chapter's sound in one encoding at one target."""

    chapter: ChapterAudio = field(compare=False)
    key: str
    """The chapter's."""
    encoding: Encoding
    target: Target
    room_tone: float | None = None
    """dB RMS of noise under everything."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """An encoded chapter, and what it measures when it is decoded again."""

    path: Path
    encoding: Encoding
    loudness: Loudness
    gain: float
    """dB given to the whole chapter."""
    samples: int
    """Length at the encoding's sample rate, without what codecs pad."""
    sha256: str
    bytes: int
    fresh: bool
    """Whether it was encoded now."""

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
    """Encode chapters side by side into `folder`, where they are kept; the results are in the order
    of the jobs, an error for each that cannot be encoded or brought to its target: the others are
    made all the same.

    In threads: FFmpeg and libsndfile work without the interpreter's lock, so two threads take 0.55
    of the time of one on two cores, and share one process's memory. `on_progress` hears (job, share
    done), from one thread at a time. Raises StorageError, Cancelled and what `blocks` raises; the
    other chapters then stop too, and what was finished stays for the next run.
    """
    failed = threading.Event()
    lock = threading.Lock()
    uses = Counter(job.key for job in jobs)
    sounds = {job.key: _Sound(job.chapter, folder, uses[job.key]) for job in jobs}

    def stopped() -> bool:
        return failed.is_set() or (cancel is not None and cancel.is_set())

    def work(number: int) -> Encoded | ExportError:
        def report(share: float) -> None:
            if stopped():
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
            failed.set()
            raise

    with storage(folder):
        folder.mkdir(parents=True, exist_ok=True)
    pool = ThreadPoolExecutor(WORKERS, "encode")
    try:
        futures = {number: pool.submit(work, number) for number in _in_order(jobs, WORKERS)}
        wait(futures.values())
    except BaseException:
        failed.set()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
    errors = [error for n in range(len(jobs)) if (error := futures[n].exception())]
    if errors:  # the first that is not only the echo of another
        raise next((e for e in errors if not isinstance(e, Cancelled)), errors[0])
    return [futures[number].result() for number in range(len(jobs))]


def _in_order(jobs: Sequence[EncodeJob], workers: int) -> list[int]:
    """Places of jobs in the order of work: the longest chapters first.

    As many chapters are at work as there are workers, so that none waits for another to put a
    chapter together, and few chapters lie on the disk at a time.
    """
    lengths = {job.key: job.chapter.timeline.length for job in jobs}
    longest = sorted(lengths, key=lambda key: -lengths[key])
    ranks = {key: rank for rank, key in enumerate(longest)}
    turns: Counter[str] = Counter()
    places: list[tuple[int, int, int, int]] = []
    for number, job in enumerate(jobs):
        rank = ranks[job.key]
        places.append((rank // workers, turns[job.key], rank, number))
        turns[job.key] += 1
    return [number for *_, number in sorted(places)]


class _Sound:
    """A chapter's samples for all of its encodings: put together once, measured once in each way.

    They lie in a file without a name, which goes with the last encoding or the process; in memory
    is one block.
    """

    def __init__(self, chapter: ChapterAudio, folder: Path, uses: int) -> None:
        self.chapter, self.folder, self.uses = chapter, folder, uses
        self._lock = threading.RLock()
        self._figures: dict[object, Loudness] = {}
        self._file: IO[bytes] | None = None
        self._shapes: list[tuple[int, ...]] = []
        """Of the blocks as they came: what is measured depends on them in its last bit."""

    def __enter__(self) -> _Sound:
        return self

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self.uses -= 1
            if not self.uses and self._file:
                self._file.close()

    def blocks(self, watch: _Watch, channels: int) -> Iterator[Samples]:
        """The samples in one channel or two, from the start. Raises StorageError."""
        with self._lock:
            if self._file is None:
                self._file = self._put_together(watch)
            file = self._file
        return as_channels(self._read(file), channels)

    def _put_together(self, watch: _Watch) -> IO[bytes]:
        with storage(self.folder):
            file = tempfile.TemporaryFile(dir=self.folder)  # noqa: SIM115  # the last use closes it
        try:
            self._shapes.clear()
            for block in watch(self.chapter.blocks(), self.chapter.timeline.length, 0.0, 0.05):
                self._shapes.append(block.shape)
                with storage(self.folder):
                    file.write(block.tobytes())
            with storage(self.folder):
                file.flush()
        except BaseException:
            file.close()
            raise
        return file

    def _read(self, file: IO[bytes]) -> Iterator[Samples]:
        place = 0
        for shape in self._shapes:
            size = 4 * math.prod(shape)
            with storage(self.folder):
                data = os.pread(file.fileno(), size, place)
            place += size
            yield np.frombuffer(data, np.float32).reshape(shape)

    def figures(self, of: object, measured: Callable[[], Loudness]) -> Loudness:
        """What `measured` gives, asked once for each `of`."""
        with self._lock:
            if of not in self._figures:
                self._figures[of] = measured()
            return self._figures[of]


ROUNDS = 3
"""Times that a chapter is encoded until it measures what it should."""


def _encode_chapter(
    job: EncodeJob, sound: _Sound, folder: Path, report: Callable[[float], None]
) -> Encoded:
    """Measure, master, encode, measure the encoded file; again where it misses the target.

    `report` is told the share done; what it raises ends the work. Raises ExportError, StorageError.
    """
    path = _path_of(job, folder)
    kept = _recall(path, job.encoding)
    if kept is None:
        with replacing(path) as temporary:
            gain, samples, loudness = _reach_target(job, sound, temporary, report)
        kept = _remember(path, job.encoding, gain, samples, loudness)
    report(1.0)
    return kept


def kept_of(job: EncodeJob, folder: Path) -> Encoded | None:
    """What was made of a job and is there, every byte of it; nothing is encoded."""
    return _recall(_path_of(job, folder), job.encoding)


def _path_of(job: EncodeJob, folder: Path) -> Path:
    """Where a job's encoded chapter is kept: named by all that decides it."""
    by = "words" if job.target.kind == "dB RMS" else "speech" if job.chapter.speech else "sound"
    recipe = {
        "encoded": 3,
        "sound": job.key,
        "encoding": asdict(job.encoding),
        "target": asdict(job.target),
        "room_tone": [job.room_tone, mastering.ROOM_TONE_SECONDS],
        "by": by,
    }
    return folder / f"{keys.key(recipe)}.{_CODECS[job.encoding.codec].suffix}"


def _reach_target(
    job: EncodeJob, sound: _Sound, path: Path, report: Callable[[float], None]
) -> tuple[float, int, Loudness]:
    """Write the file; its gain, length and figures. Raises ExportError where no round fits."""
    target, channels = job.target, job.encoding.channels
    title, timeline = job.chapter.title, job.chapter.timeline
    rate, watch = timeline.sample_rate, _Watch(report)

    def blocks(begin: float, end: float) -> Iterator[Samples]:
        return watch(sound.blocks(watch, channels), timeline.length, begin, end)

    def mastered_level(begin: float) -> Loudness:
        limited = master(blocks(begin, begin + 0.06), rate, gain.value, ceiling)
        return measure(limited, rate, true_peak=False)

    before = sound.figures(channels, lambda: measure(blocks(0.05, 0.1), rate, true_peak=False))
    if before.integrated <= -70:
        raise ExportError(f"chapter '{title}' is silent")
    as_it_is = target.kind == "as it is"
    level = target.level_of(before)
    gain = _Gain(level if as_it_is else _wanted(job, sound, before), level)
    ceiling = target.true_peak - _CODECS[job.encoding.codec].margin
    for begin in (0.1, 0.17, 0.24):  # what the limiter takes is given back
        if as_it_is or before.peak + gain.value <= ceiling:
            break
        limited = sound.figures((channels, gain.value, ceiling), partial(mastered_level, begin))
        if gain.correct(target.level_of(limited)) < 0.1:
            break
    for _ in range(ROUNDS):
        mastered = master(blocks(0.3, 0.65), rate, gain.value, ceiling)
        if job.room_tone is not None:
            mastered = mastering.with_room_tone(mastered, rate, job.room_tone)
        samples = write_sound(path, mastered, rate, job.encoding)
        with opened(path) as container:
            encoded = watch(gathered(decoded(container, mono=False)), samples, 0.65, 1.0)
            measured = measure(encoded, job.encoding.sample_rate)
        if target.accepts(measured):
            return gain.value, samples, measured
        if not as_it_is:
            gain.correct(target.level_of(measured))
        ceiling -= max(0.0, measured.true_peak - target.true_peak + 0.1)
    hushed = before.integrated - before.rms > HUSHED and target.kind == "dB RMS"
    raise ExportError(
        f"chapter '{title}' measures {target.level_of(measured):.1f} {target.kind} and "
        f"{measured.true_peak:.1f} dBTP, not {target}; "
        + (
            "much of it is silence: make one chapter of it and the next, or shorten pauses.tail"
            if hushed
            else "a lower loudness (of `output`, or of a profile of your own) leaves its peaks "
            "more room"
        )
    )


HUSHED = 4.0
"""dB that RMS lies below the loudness of the words where a good half of a chapter is silence."""
EDGE = 0.15
"""dB that a mix is kept from the bounds of what its target accepts: encoding moves it a little."""


SPOKEN = 1.0
"""LU that words lie above the ungated RMS of a chapter: half a dB in a long one, two in credits,
half of which are pauses. Words are levelled, so that all chapters sound alike, whatever their
pauses."""


def _wanted(job: EncodeJob, sound: _Sound, before: Loudness) -> float:
    """The level to bring a chapter to, which measures `before` now: the one that brings its words
    to the target, within what the target accepts of the whole, music and pauses included."""
    target, speech, channels = job.target, job.chapter.speech, job.encoding.channels
    if target.kind == "LUFS" and speech is None:
        return target.level
    words = before.integrated
    if speech is not None:
        rate = job.chapter.timeline.sample_rate
        words = sound.figures(
            ("words", channels),
            lambda: measure(as_channels(speech(), channels), rate, true_peak=False),
        ).integrated
    if words <= -70:
        return target.level
    goal = target.level
    if target.kind == "dB RMS":
        goal += SPOKEN + (BOTH if channels == 2 else 0.0)
    wanted = target.level_of(before) + goal - words
    return min(max(wanted, target.lowest + EDGE), target.highest - EDGE)


class _Gain:
    """The gain that brings a chapter to a level; under a limiter a dB of it gives less."""

    def __init__(self, wanted: float, level: float) -> None:
        self.wanted = wanted
        self.value = wanted - level
        self.yields = 1.0
        """dB of level for a dB of gain."""
        self._last: tuple[float, float] | None = None

    def correct(self, level: float) -> float:
        """Take in the level that came of the gain; returns by how much it missed."""
        if self._last and abs(self.value - self._last[0]) > 0.01:
            gained = (level - self._last[1]) / (self.value - self._last[0])
            self.yields = min(1.0, max(0.25, gained))
        self._last = self.value, level
        missing = self.wanted - level
        self.value += missing / self.yields
        return abs(missing)


class _Watch:
    """Reports how far a stream has come; a stream that begins again does not take shares back."""

    def __init__(self, report: Callable[[float], None]) -> None:
        self.report = report
        self.reached = 0.0

    def __call__(
        self, blocks: Iterable[Samples], length: int, begin: float, end: float
    ) -> Iterator[Samples]:
        done = 0
        for block in blocks:
            done += len(block)
            share = begin + (end - begin) * min(1.0, done / max(1, length))
            self.reached = max(self.reached, share)
            self.report(self.reached)
            yield block


# -- FFmpeg ----------------------------------------------------------------------------------------


def write_sound(path: Path, blocks: Iterable[Samples], rate: int, encoding: Encoding) -> int:
    """Encode a stream; returns its length at the encoding's sample rate."""
    length = 0
    with created(path, _CODECS[encoding.codec].container) as container:
        stream = add_sound(container, encoding)
        for block in gathered(resampled(blocks, rate, encoding.sample_rate)):
            put(container, stream, scaled(block, encoding), length)
            length += len(block)
        container.mux(stream.encode(None))
    return length


@contextlib.contextmanager
def _translated(name: str) -> Iterator[None]:
    try:
        yield
    except av.error.FFmpegError as error:
        if isinstance(error, OSError):
            raise
        raise ExportError(f"{name}: {error}") from error


@contextlib.contextmanager
def created(path: Path, container: str) -> Iterator[OutputContainer]:
    """A new file of FFmpeg's, with no trace of time, version or chance in its bytes."""
    options = {"fflags": "+bitexact"}
    options |= {"mp3": {"id3v2_version": "3"}, "wav": {"rf64": "auto"}}.get(container, {})
    # with the protocol before it, no name of a folder is taken for another
    name = f"file:{path}"
    with (
        _translated(path.name),
        av.open(name, "w", format=container, container_options=options) as file,
    ):
        yield file


def add_sound(container: OutputContainer, encoding: Encoding) -> AudioStream:
    """A stream of an encoding; FLAC's takes integers of 24 bits in 32."""
    codec = _CODECS[encoding.codec]
    layout = "mono" if encoding.channels == 1 else "stereo"
    stream = container.add_stream(codec.encoder, rate=encoding.sample_rate, layout=layout)
    assert isinstance(stream, AudioStream)
    modes: dict[tuple[str, bool | None], dict[str, str]]
    modes = {("mp3", False): {"abr": "1"}, ("opus", True): {"vbr": "off"}}
    mode = modes.get((encoding.codec, encoding.constant), {})
    stream.codec_context.options = {
        "flags": "+bitexact",
        **dict(codec.options),
        **mode,
    }
    if encoding.bitrate:
        stream.bit_rate = encoding.bitrate * 1000
    stream.format = {"opus": "flt", "flac": "s32", "pcm": "s32"}.get(encoding.codec, "fltp")
    return stream


def scaled(block: Samples, encoding: Encoding) -> Samples:
    """A block as the encoder is to be given it."""
    scale = np.float32(1 / _CODECS[encoding.codec].scale)
    return block if scale == 1 else block * scale


def put(container: OutputContainer, stream: AudioStream, block: Samples, position: int) -> None:
    """Encode and write one block."""
    if stream.format.name == "s32":
        steps = np.rint(block.astype(np.float64) * 2**23).clip(-(2**23), 2**23 - 1)
        frame = as_frame(steps.astype(np.int32) << 8, stream.rate, position)
    else:
        frame = as_frame(block, stream.rate, position)
    container.mux(stream.encode(frame))


@contextlib.contextmanager
def opened(path: Path) -> Iterator[InputContainer]:
    """A file of ours, for decoding. Raises ExportError where FFmpeg cannot read it."""
    try:
        with media.sound(path) as container:
            yield container
    except media.Unfit as error:
        raise ExportError(f"{path.name} cannot be read back: {error}") from error


def gathered(blocks: Iterable[Samples]) -> Iterator[Samples]:
    """The same samples in blocks of `BLOCK` or a little more: codecs give them by the thousand."""
    waiting: list[Samples] = []
    count = 0
    for block in blocks:
        waiting.append(block)
        count += len(block)
        if count >= BLOCK:
            yield np.concatenate(waiting)
            waiting, count = [], 0
    if count:
        yield np.concatenate(waiting)


# -- while it comes --------------------------------------------------------------------------------

_FLOWING: dict[str, tuple[str, dict[str, str]]] = {
    "aac": ("adts", {}),
    "mp3": ("mp3", {"write_xing": "0", "id3v2_version": "0"}),
    "opus": ("opus", {"page_duration": "200000"}),
    "flac": ("flac", {}),
}
"""FFmpeg's containers that need not be gone back in, and their options."""
_IN_HASTE = {"mp3": {"compression_level": "7"}}
"""Options of coders for what is waited for: LAME takes half its time."""


class Flow:
    """Sound that is encoded while it comes: what was fed comes out as soon as a frame is full."""

    def __init__(self, encoding: Encoding, rate: int) -> None:
        """`rate` is that of the samples that are fed. Raises ExportError."""
        self._encoding, self._position = encoding, 0
        self._resample = soxr.ResampleStream(
            rate, encoding.sample_rate, 1, dtype="float32", quality="HQ"
        )
        self._sink = _Sink()
        form, options = _FLOWING[encoding.codec]
        options = {"fflags": "+bitexact", "flush_packets": "1", **options}
        with _translated("the sound"):
            self._container = av.open(self._sink, "w", format=form, container_options=options)
            self._stream = add_sound(self._container, encoding)
            coder = self._stream.codec_context
            coder.options = {**coder.options, **_IN_HASTE.get(encoding.codec, {})}

    def feed(self, samples: Samples, last: bool = False) -> bytes:
        """What of the file is there now, and was not before; all of it with the `last` samples.
        Raises ExportError."""
        block = self._resample.resample_chunk(samples, last=last)
        with _translated("the sound"):
            if len(block):
                sound = scaled(block, self._encoding)
                put(self._container, self._stream, sound, self._position)
                self._position += len(block)
            if last:
                self._container.mux(self._stream.encode(None))
                self._container.close()
        return self._sink.taken()


class _Sink(io.RawIOBase):
    """What FFmpeg writes, until it is taken; it cannot go back in it."""

    def __init__(self) -> None:
        self._waiting = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._waiting += data
        return len(data)

    def taken(self) -> bytes:
        data = bytes(self._waiting)
        self._waiting.clear()
        return data


# -- what is kept ----------------------------------------------------------------------------------


def _remember(
    path: Path, encoding: Encoding, gain: float, samples: int, loudness: Loudness
) -> Encoded:
    with storage(path):
        size, sha256 = path.stat().st_size, keys.file_content(path)
    facts = {"loudness": asdict(loudness), "gain": gain, "samples": samples, "sha256": sha256}
    save_json(path.with_suffix(".json"), facts)
    return Encoded(path, encoding, loudness, gain, samples, sha256, size, fresh=True)


def _recall(path: Path, encoding: Encoding) -> Encoded | None:
    """An encoded chapter that is there, and is what was written, every byte of it.

    Size and time tell nothing of a flipped bit; hashing takes a second for some twenty hours.
    """
    facts = load_json(path.with_suffix(".json"), {})
    try:
        loudness = Loudness(**facts["loudness"])
        gain, samples, sha256 = facts["gain"], facts["samples"], facts["sha256"]
        size, found = path.stat().st_size, keys.file_content(path)
    except (OSError, KeyError, TypeError):
        return None  # not there, or torn: encoded again
    if found != sha256:
        damage.warning("%s: it was altered since it was written; it is encoded again", path)
        return None
    if "mtime" in facts:  # an index from before there were seals
        return replace(_remember(path, encoding, gain, samples, loudness), fresh=False)
    return Encoded(path, encoding, loudness, gain, samples, sha256, size, fresh=False)


def altered_encodings(kept: Path) -> list[Path]:
    """Encoded chapters that have other bytes than were written, or an index that has. Raises
    StorageError."""
    with storage(kept):
        indices = [path for path in kept.glob("*.json") if _KEYED.fullmatch(path.stem)]
        sounds = {
            path.stem: path for path in kept.glob("*") if path.suffix not in (".json", ".part")
        }
        return [
            sounds.get(index.stem, index)
            for index in sorted(indices)
            if not _is_as_written(index, sounds.get(index.stem))
        ]


_KEYED = re.compile("[0-9a-f]{40}")


def _is_as_written(index: Path, sound: Path | None) -> bool:
    """Whether an encoded chapter is what its index says. Raises OSError."""
    try:
        content = read_json(index)["sha256"]
    except (Altered, KeyError, TypeError):
        return False
    return sound is None or keys.file_content(sound) == content
