"""pocketsphinx: locates the words of an English text in a sound (an extra with its model).

The sounds of the words follow one another, with optional silence between; its dictionary has
135,000 words, others are sounded out. Steps of 10 ms. Imported on first use. Knows
nothing of takes. Calls follow pocketsphinx 5.0 and 5.1; there is none for Python 3.14.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from narrator.errors import EngineUnavailable
from narrator.installation import install_command
from narrator.sound import audio
from narrator.sound.timing import TimedWord, snap_words
from narrator.speech.hearing import SpokenSound, letters, word_timings

if TYPE_CHECKING:
    from pocketsphinx import Decoder

RATE, FRAME_SECONDS = 16_000, 0.01
"""Sample rate in Hz, and seconds of a frame."""
MIN_SECONDS = 0.1
"""Seconds of the shortest sound that is aligned."""
VERSION = 1
"""Increased when the same package would give other times for the same sound."""
_WORD_RUN = re.compile(r"[^\W_]+(?:['’][^\W_]+)*['’]?")


def is_here() -> bool:
    """Returns whether the package is installed."""
    return importlib.util.find_spec("pocketsphinx") is not None


class Sphinx:
    """Loaded by the first call. Raises EngineUnavailable where the package is missing."""

    name = "pocketsphinx"
    languages = frozenset(("en",))
    batch = 1

    def __init__(self) -> None:
        try:
            version = importlib.metadata.version("pocketsphinx")
        except importlib.metadata.PackageNotFoundError:
            raise EngineUnavailable(
                "word times need the package pocketsphinx, for Python 3.11 to 3.13: "
                + install_command("align")
            ) from None
        self.identity = f"pocketsphinx {VERSION} {version}"
        self._cached_decoder: Decoder | None = None

    def align(self, sounds: Sequence[SpokenSound]) -> Sequence[tuple[TimedWord, ...] | None]:
        return [self._align(sound) for sound in sounds]

    def _align(self, sound: SpokenSound) -> tuple[TimedWord, ...] | None:
        """Returns the times of a sound's words; None where they cannot be located."""
        pieces = list(_split_pieces(sound.text))
        if not pieces or len(sound.samples) < MIN_SECONDS * sound.rate:
            return None
        resampled = audio.resample(sound.samples, sound.rate, RATE)
        pcm = (np.clip(np.nan_to_num(resampled), -1, 1) * 32767).astype("<i2").tobytes()
        try:
            times = self._time_pieces([piece for *_, piece in pieces], pcm)
        except RuntimeError:  # its only error; the decoder may be left in the middle of a sound
            self._cached_decoder = None
            return None
        if times is None:
            return None
        timed_words = [
            TimedWord(first, last, start, stop)
            for (first, last, _), (start, stop) in zip(pieces, times, strict=True)
        ]
        text_words = word_timings.map_to_words(
            sound.text, sound.language, timed_words, sound.samples, sound.rate
        )
        return snap_words(text_words, sound.samples, sound.rate)

    def _time_pieces(self, pieces: Sequence[str], pcm: bytes) -> list[tuple[float, float]] | None:
        """Returns start and stop of each piece in seconds; None where not all are in the sound."""
        decoder = self._decoder
        for piece in pieces:
            if decoder.lookup_word(piece) is None:
                decoder.add_word(piece, letters.guess_sounds(piece, decoder.lookup_word), False)
        decoder.reinit_feat()  # forgets the sound before
        decoder.set_align_text(" ".join(pieces))
        decoder.start_utt()
        decoder.process_raw(pcm, full_utt=True)
        decoder.end_utt()
        segments = [segment for segment in decoder.seg() or () if segment.word[0] not in "<[+("]
        if [segment.word.partition("(")[0] for segment in segments] != pieces:
            return None
        return [
            (segment.start_frame * FRAME_SECONDS, (segment.end_frame + 1) * FRAME_SECONDS)
            for segment in segments
        ]

    @property
    def _decoder(self) -> Decoder:
        if self._cached_decoder is None:
            from pocketsphinx import Decoder

            self._cached_decoder = Decoder(
                lm=None, loglevel="FATAL",
                # Its search for a better path loses words at the end. With its own beams a take of
                # ten ends before its text does, with these none of 150.
                bestpath=False, beam=1e-120, pbeam=1e-120, wbeam=1e-90,
            )  # fmt: skip
        return self._cached_decoder


def _split_pieces(text: str) -> Iterator[tuple[int, int, str]]:
    """Yields the pieces to locate, each with the span of its word in the text."""
    for run in _WORD_RUN.finditer(text):
        for piece in letters.split_spelling(run.group()):
            yield *run.span(), piece
