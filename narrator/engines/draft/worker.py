"""One draft voice process: requests in on stdin, samples out on stdout, until stdin ends.

Run by path (`python -I -S worker.py LIBRARY`, in the folder that holds `espeak-ng-data`),
not with `-m`: that would import `narrator.engines` and with it numpy, whose threads and memory a
process that forks for every line must not have. Standard library only; knows nothing of narrator.

Each line is spoken in a fork of this process, because espeak-ng keeps state from line to line that
no call resets (pitch flutter, gain control), so that only a copy of the untouched library gives the
same text the same samples. It also means that a crash of the library costs one line.

A request is a little-endian uint32 length and that many bytes of JSON: voice, pitch, rate, text,
and whether the text has sounds in double brackets. A reply is a kind (uint8), two uint32 lengths
and that many bytes: 16-bit samples or a message, and of each word that the library says where it
lies (uint32 each: its first character, the end of its last, and the samples at which it begins and
at which the next word or its clause ends).
"""

from __future__ import annotations

import ctypes
import gc
import json
import mmap
import os
import signal
import struct
import sys
from collections.abc import Iterator
from typing import Any

REQUEST = struct.Struct("<I")
REPLY = struct.Struct("<BII")
WORD = struct.Struct("<IIII")
READY, SPEECH, CAPPED, FAILED = range(4)

SAMPLE_RATE = 22050
SEED = 1
MAX_SECONDS = 300
"""Seconds of speech after which a line is cut off; a line of a book has ten to thirty."""

MAX_WORDS = 10_000
"""Words after these are spoken but not reported; thirty a second."""

FORK_TIMEOUT = 120
"""Seconds after which a fork ends itself, in case the library hangs and its parent is gone."""

# From espeak-ng's speak_lib.h.
_SYNCHRONOUS = 2
_DONT_EXIT = 0x8000
_UTF8, _PHONEMES = 1, 0x100
_POSITION_CHARACTER = 1
_RATE, _PITCH = 1, 3
_BUFFER_MS = 1000  # few callbacks a line
_LAST, _WORD, _END = 0, 1, 5


class _Event(ctypes.Structure):
    _fields_ = (
        ("type", ctypes.c_int),
        ("identifier", ctypes.c_uint),
        ("position", ctypes.c_int),  # of a character, from 1
        ("length", ctypes.c_int),
        ("milliseconds", ctypes.c_int),
        ("sample", ctypes.c_int),
        ("user_data", ctypes.c_void_p),
        ("name", ctypes.c_char * 8),
    )


_CALLBACK = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.POINTER(_Event)
)


class EspeakError(Exception):
    """The library refused a call."""


class Espeak:
    """The library, started once; `speak` is only ever called in a fork."""

    def __init__(self, path: str) -> None:
        self._library = library = ctypes.CDLL(path)
        library.espeak_ListVoices.restype = ctypes.c_void_p
        library.espeak_ng_SetRandSeed.argtypes = [ctypes.c_long]
        library.espeak_Synth.argtypes = [
            ctypes.c_char_p,
            ctypes.c_size_t,
            ctypes.c_uint,
            ctypes.c_int,
            ctypes.c_uint,
            ctypes.c_uint,
            ctypes.c_void_p,
            ctypes.c_void_p,
        ]
        # "." because the library cuts data paths of more than about 160 characters.
        rate = library.espeak_Initialize(_SYNCHRONOUS, _BUFFER_MS, b".", _DONT_EXIT)
        if rate != SAMPLE_RATE:
            raise EspeakError(f"espeak-ng did not start (rate {rate})")
        # Lists the voice files once, here, rather than once in every fork.
        library.espeak_ListVoices(None)

    def speak(self, request: dict[str, Any], sound: mmap.mmap) -> None:
        """Writes the reply to `request` into `sound`."""
        library = self._library
        start = ctypes.addressof(ctypes.c_char.from_buffer(sound)) + REPLY.size
        capacity = len(sound) - REPLY.size - WORD.size * MAX_WORDS
        used_bytes = 0
        kind = SPEECH
        word_events: list[tuple[int, int, int, int]] = []

        def collect(wave: Any, count: int, events: Any) -> int:
            nonlocal used_bytes, kind
            word_events.extend(_read_events(events))
            if not wave:
                return 0
            size = 2 * count
            if used_bytes + size > capacity:
                kind = CAPPED
                return 1
            ctypes.memmove(start + used_bytes, wave, size)
            used_bytes += size
            return 0

        callback = _CALLBACK(collect)
        library.espeak_SetSynthCallback(callback)
        # Breathy voices are noise from this generator, seeded from the clock otherwise.
        library.espeak_ng_SetRandSeed(SEED)
        if library.espeak_SetVoiceByName(request["voice"].encode()) != 0:
            raise EspeakError(f"espeak-ng has no voice {request['voice']}")
        library.espeak_SetParameter(_RATE, request["rate"], 0)
        library.espeak_SetParameter(_PITCH, request["pitch"], 0)
        text = request["text"].encode() + b"\0"
        # Without the flags for SSML and phonemes, "<", "&" and "[[" are text.
        flags = _UTF8 | _PHONEMES if request["has_sounds"] else _UTF8
        if library.espeak_Synth(text, len(text), 0, _POSITION_CHARACTER, 0, flags, None, None) != 0:
            raise EspeakError("espeak-ng refused the text")
        library.espeak_Synchronize()
        words = _pack_words(word_events, sample_count=used_bytes // 2)
        header = REPLY.pack(kind, used_bytes, len(words))
        sound[: len(header)] = header
        words_start = len(header) + used_bytes
        sound[words_start : words_start + len(words)] = words


def _read_events(events: Any) -> Iterator[tuple[int, int, int, int]]:
    """Yields words and ends of clauses: type, first character, length, sample."""
    number = 0
    while events and events[number].type != _LAST:
        event = events[number]
        if event.type in (_WORD, _END):
            yield event.type, event.position, event.length, event.sample
        number += 1


def _pack_words(word_events: list[tuple[int, int, int, int]], sample_count: int) -> bytes:
    """Encodes the words among the events, each until the next word or the end of its clause."""
    stops = [sample for *_, sample in word_events[1:]] + [sample_count]
    words = [
        WORD.pack(position - 1, position - 1 + length, sample, stop)
        for (kind, position, length, sample), stop in zip(word_events, stops, strict=True)
        if kind == _WORD and position > 0 < length and sample < stop <= sample_count
    ]
    return b"".join(words[:MAX_WORDS])


def _write(content: memoryview | bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(1, view) :]


def _reply(kind: int, message: str) -> None:
    payload = message.encode()
    _write(REPLY.pack(kind, len(payload), 0) + payload)


def _speak_and_exit(library: Espeak, request: dict[str, Any], sound: mmap.mmap) -> None:
    """Speaks in a fork, and ends it whatever happens."""
    status = 1
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        signal.alarm(FORK_TIMEOUT)
        try:
            library.speak(request, sound)
        except (EspeakError, UnicodeEncodeError) as error:
            payload = str(error).encode()
            sound[: REPLY.size + len(payload)] = REPLY.pack(FAILED, len(payload), 0) + payload
        status = 0
    finally:
        os._exit(status)


def serve(library: Espeak) -> None:
    """Answers requests in order until stdin ends."""
    size = REPLY.size + 2 * SAMPLE_RATE * MAX_SECONDS + WORD.size * MAX_WORDS
    sound = mmap.mmap(-1, size)  # shared with the forks
    # What lives now lives for good: keep the collector from copying its pages in every fork.
    gc.collect()
    gc.freeze()
    _reply(READY, "")
    while head := sys.stdin.buffer.read(REQUEST.size):
        request = json.loads(sys.stdin.buffer.read(*REQUEST.unpack(head)))
        # A SIGTERM must not arrive between the fork and the knowledge of its pid.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        child = os.fork()
        if child == 0:
            _speak_and_exit(library, request, sound)
        try:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        except SystemExit:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            raise
        if code == 0:
            _, used_bytes, words_size = REPLY.unpack_from(sound)
            _write(memoryview(sound)[: REPLY.size + used_bytes + words_size])
        elif code < 0:
            _reply(FAILED, f"espeak-ng crashed ({signal.Signals(-code).name})")
        else:
            _reply(FAILED, f"the draft voice's process failed (exit code {code})")


def main(path: str) -> None:
    """Loads the library at `path` and serves; a reply FAILED before READY says why it cannot."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # ctrl-C is for the process that started this one
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    try:
        try:
            library = Espeak(path)
        except (OSError, AttributeError, EspeakError) as error:
            _reply(FAILED, str(error))
            return
        serve(library)
    except BrokenPipeError:
        pass  # the process that started this one is gone


if __name__ == "__main__":
    main(sys.argv[1])
