"""One Kokoro process on a processor core: requests in on stdin, samples out on stdout.

A request is a little-endian uint32 length and that many bytes of JSON: the arguments of
`kokoro82m.Voices.request` (phonemes, blend, speed, seed). An answer has the form of
`engines/workers.py`: float32 samples, and as extra data the frames of each symbol, pads among them,
as int32; or a message. Ends with stdin.
"""

from __future__ import annotations

import json
import signal
import struct
import sys
from pathlib import Path
from typing import Any

import numpy as np

from narrator.engines.workers import ANSWER, READY

REQUEST = struct.Struct("<I")
SPEECH, FAILED = 1, 2


def send(kind: int, payload: bytes = b"", extra: bytes = b"") -> None:
    """Writes an answer."""
    pipe = sys.stdout.buffer
    for part in (ANSWER.pack(kind, len(payload), len(extra)), payload, extra):
        pipe.write(part)
    pipe.flush()


class Speaker:
    """The network, with a cache of the voices that requests have used."""

    def __init__(self, folder: Path, cache: Path) -> None:
        """Raises ModelError."""
        from kokoro82m import Voices
        from kokoro82m.onnx_network import load_onnx

        self._network = load_onnx(folder, cache)
        self._voices = Voices(folder, self._network.config.vocabulary)

    def speak(self, request: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
        """Returns samples and the frames of each symbol. Raises ModelError."""
        speech = self._network.speak(self._voices.request(**request))
        return speech.samples, speech.durations


def main(folders: str) -> None:
    """Answers requests in order until stdin ends; if it cannot, the first answer says why.

    `folders` is a JSON list: the folder of the model, and the one that its graphs are kept in.
    """
    from speechbase.errors import ModelError

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # ctrl-C is for the process that started this one
    try:
        try:
            speaker = Speaker(*map(Path, json.loads(folders)))
        except (ModelError, ImportError, OSError, RuntimeError, MemoryError) as error:
            send(FAILED, _line(error).encode())
            return
        send(READY)
        while head := sys.stdin.buffer.read(REQUEST.size):
            request = json.loads(sys.stdin.buffer.read(*REQUEST.unpack(head)))
            try:
                samples, durations = speaker.speak(request)
            except (ModelError, RuntimeError, MemoryError) as error:
                send(FAILED, _line(error).encode())
                continue
            send(SPEECH, samples.tobytes(), durations.astype("<i4").tobytes())
    except BrokenPipeError:
        pass  # the process that started this one is gone


def _line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:300] if lines else type(error).__name__
