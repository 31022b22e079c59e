"""A chapter's sound by ranges: the mastered file, or its takes with their planned pauses.

A range costs only the takes that overlap it; a few decoded takes are cached. The tag of a sound
identifies its samples: once a take has changed, reading under the old tag fails and never returns
other samples. Knows layouts and files; nothing of requests.
"""

from __future__ import annotations

import os
import threading
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from narrator.delivery.layout import ChapterWords
from narrator.errors import DamagedTake
from narrator.sound import assemble
from narrator.sound.assemble import PlacedTake, Span
from narrator.sound.audio import Samples, to_pcm16, wav_header
from narrator.sound.formats import MEDIA_TYPES
from narrator.speech.store import Store

PLAYABLE_TYPES = {suffix: MEDIA_TYPES[suffix] for suffix in (".m4a", ".mp3", ".flac")}
"""Media types that browsers play, by file ending; those that seek best come first."""
_PIECE_SAMPLES = 65536
"""Samples that are sent at a time."""


@dataclass(frozen=True, slots=True)
class FileBytes:
    """A file that is served by ranges."""

    path: Path
    size: int
    media_type: str
    tag: str

    def read(self, start: int, stop: int) -> Iterator[bytes]:
        """Yields a range of the file. Raises OSError if it is missing, EOFError if it shrank."""
        with self.path.open("rb") as file:
            while start < stop:
                piece = os.pread(file.fileno(), min(4 * _PIECE_SAMPLES, stop - start), start)
                if not piece:
                    raise EOFError(f"{self.path}: shorter than it was")
                yield piece
                start += len(piece)


@dataclass(slots=True)
class TakeCache:
    """Decoded takes as they sound in a chapter; the least recently used are dropped."""

    max_bytes: int = 48_000_000
    _samples: OrderedDict[tuple[object, ...], Samples] = field(default_factory=OrderedDict)
    _size: int = 0
    _mutex: threading.Lock = field(default_factory=threading.Lock)

    def find(self, key: tuple[object, ...]) -> Samples | None:
        with self._mutex:
            if key in self._samples:
                self._samples.move_to_end(key)
            return self._samples.get(key)

    def keep(self, key: tuple[object, ...], samples: Samples) -> None:
        with self._mutex:
            if key not in self._samples:
                self._size += samples.nbytes
            self._samples[key] = samples
            while self._size > self.max_bytes:
                _, dropped_samples = self._samples.popitem(last=False)
                self._size -= dropped_samples.nbytes


@dataclass(frozen=True, slots=True)
class TakesBytes:
    """The takes of a chapter as a 16-bit WAV file, produced as it is read."""

    words: ChapterWords
    store: Store
    cache: TakeCache
    on_damage: Callable[[], None] = lambda: None
    """Called if a take has changed or is missing."""
    _spans: list[Span] = field(init=False)
    _starts: list[int] = field(init=False)

    def __post_init__(self) -> None:
        spans = list(assemble.spans(self.words.timeline))
        object.__setattr__(self, "_spans", spans)
        object.__setattr__(self, "_starts", [span.start for span in spans])

    @property
    def media_type(self) -> str:
        return "audio/wav"

    @property
    def tag(self) -> str:
        return self.words.key

    @property
    def size(self) -> int:
        return len(self._wav_header) + 2 * self.words.timeline.length

    @property
    def _wav_header(self) -> bytes:
        return wav_header(self.words.timeline.length, self.words.timeline.sample_rate)

    def read(self, start: int, stop: int) -> Iterator[bytes]:
        """Yields a range of the file. Raises DamagedTake if a take has changed since the layout."""
        header = self._wav_header
        yield header[start:stop]
        position, end = max(0, start - len(header)), stop - len(header)  # bytes of samples
        while position < end:
            first_sample = position // 2
            last_sample = min(first_sample + _PIECE_SAMPLES, -(-end // 2))
            piece = to_pcm16(self.samples(first_sample, last_sample))
            yield piece[position - 2 * first_sample : end - 2 * first_sample]
            position = 2 * last_sample

    def samples(self, start: int, stop: int) -> Samples:
        """Returns the samples `start` to `stop` of `assemble.stream`. Raises DamagedTake."""
        mixed = np.zeros(stop - start, np.float32)
        span_index = max(0, bisect_right(self._starts, start) - 1)
        for span in self._spans[span_index:]:
            if span.start >= stop:
                break
            if span.stop <= start:
                continue
            sound = self._span_samples(span)
            begin, end = max(start, span.start), min(stop, span.start + len(sound))
            if begin < end:
                mixed[begin - start : end - start] = sound[begin - span.start : end - span.start]
        return mixed

    def _span_samples(self, span: Span) -> Samples:
        hashes = [self.words.contents[clip.key] for clip in span.clips]
        clip_settings = [(clip.start, clip.stop, clip.gain, clip.speed) for clip in span.clips]
        key = (self.words.timeline.sample_rate, *hashes, *clip_settings)
        sound = self.cache.find(key)
        if sound is None:
            sound = assemble.render_span(span, self._load_take, self.words.timeline.sample_rate)
            self.cache.keep(key, sound)
        return sound

    def _load_take(self, clip: PlacedTake) -> Samples:
        try:
            record = self.store.find(clip.key)
            if record is None or record.content != self.words.contents[clip.key]:
                raise DamagedTake(f"take {clip.key} is another now")
            return self.words.read(clip)
        except DamagedTake:
            self.on_damage()
            raise


@dataclass(frozen=True, slots=True)
class PlainBytes:
    """Bytes in memory that are served by ranges."""

    data: bytes
    tag: str
    media_type: str = "audio/wav"

    @property
    def size(self) -> int:
        return len(self.data)

    def read(self, start: int, stop: int) -> Iterator[bytes]:
        yield self.data[start:stop]


def wav(samples: Samples, rate: int) -> bytes:
    """Returns a mono 16-bit WAV file."""
    return wav_header(len(samples), rate) + to_pcm16(samples)
