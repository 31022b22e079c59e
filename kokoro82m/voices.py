"""Voices: a style row for each length of a text, from files, alone or blended. Loads no MLX.

A folder `voices` has NAME.pt, as the hub has them, NAME.npy, or NAME.bin (the ONNX repository's
plain float32).
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from kokoro82m.speech import STYLE_SIZE, Request
from kokoro82m.symbols import MAX_SYMBOLS, tokenize
from speechbase import pth
from speechbase.errors import CheckpointError, RequestError, printable

VOICES_FOLDER = "voices"
SUFFIXES = (".pt", ".npy", ".bin")
LARGEST = 1000.0
"""Limit of a voice's numbers; those of the published voices are below 10."""


def voice_names(folder: Path) -> list[str]:
    """Returns the names of the voices in a checkpoint's folder, sorted."""
    files = (folder / VOICES_FOLDER).glob("*")
    return sorted({file.stem for file in files if file.suffix in SUFFIXES})


def load_voice(folder: Path, name: str) -> np.ndarray:
    """Loads a voice from a checkpoint's folder: (510, 256) float32.

    Raises RequestError for a name that is not there, with the nearest that is, CheckpointError for
    a damaged file.
    """
    names = voice_names(folder)
    if name not in names:
        suggestion = difflib.get_close_matches(name, names, n=1)
        hint = (
            f"did you mean {suggestion[0]!r}?"
            if suggestion
            else f"there are: {', '.join(names) or 'none'}"
        )
        raise RequestError(
            f"no voice named {printable(name)!r} in {folder / VOICES_FOLDER}; {hint}"
        )
    files = (folder / VOICES_FOLDER / f"{name}{suffix}" for suffix in SUFFIXES)
    return read_voice(next(file for file in files if file.exists()))


def read_voice(file: Path) -> np.ndarray:
    """Reads a voice (510, 256) float32 from a file. Raises CheckpointError."""
    try:
        if file.suffix == ".pt":
            rows = pth.load_array(file)
        elif file.suffix == ".npy":
            rows = np.lib.format.open_memmap(
                file, mode="r"
            )  # no pickles, no size beyond the file's
        else:
            rows = np.fromfile(file, "<f4").reshape(-1, STYLE_SIZE)
    except (OSError, ValueError, EOFError) as error:
        raise CheckpointError(f"{file}: damaged: {printable(str(error))}") from error
    if rows.dtype.kind != "f" or rows.shape not in (
        (MAX_SYMBOLS, STYLE_SIZE), (MAX_SYMBOLS, 1, STYLE_SIZE)
    ):  # fmt: skip
        raise CheckpointError(
            f"{file}: no voice: {rows.dtype} of the shape {rows.shape} in place of float32 of "
            f"({MAX_SYMBOLS}, 1, {STYLE_SIZE})"
        )
    rows = rows.reshape(MAX_SYMBOLS, STYLE_SIZE).astype(np.float32)
    if not np.all(np.abs(rows) < LARGEST):  # NaN neither
        raise CheckpointError(f"{file}: no voice: its numbers are not finite, or far too large")
    return rows


def blend_voices(folder: Path, weights: Mapping[str, float]) -> np.ndarray:
    """Returns the weighted mean of voices by name; weights are divided by their sum.

    Raises RequestError, CheckpointError.
    """
    total = sum(weights.values())
    if not weights or not math.isfinite(total) or not all(w > 0 for w in weights.values()):
        raise RequestError("a blend needs voices with weights above 0")
    blend = np.zeros((MAX_SYMBOLS, STYLE_SIZE))
    for name, weight in weights.items():
        blend += load_voice(folder, name).astype(np.float64) * (weight / total)
    return blend.astype(np.float32)


class Voices:
    """The voices of a checkpoint's folder, with a cache of requested blends."""

    def __init__(self, folder: Path, vocabulary: Mapping[str, int]) -> None:
        self._folder, self._vocabulary = folder, vocabulary
        self._blends: dict[tuple[tuple[str, float], ...], np.ndarray] = {}

    def request(
        self, phonemes: str, blend: Mapping[str, float], speed: float, seed: int
    ) -> Request:
        """Builds a network's request. Raises RequestError, CheckpointError."""
        name = tuple(blend.items())
        if name not in self._blends:
            self._blends[name] = blend_voices(self._folder, blend)
        tokens, style = (
            tokenize(phonemes, self._vocabulary),
            style_row(self._blends[name], phonemes),
        )
        return Request(tokens, style, speed=speed, seed=seed)


def style_row(voice: np.ndarray, phonemes: str) -> np.ndarray:
    """Returns the row (256,) of a voice for the number of characters of `phonemes`."""
    if not 0 < len(phonemes) <= len(voice):
        raise RequestError(
            f"{len(phonemes)} phonemes; a voice has rows for 1 to {len(voice)}, so split the text"
        )
    return np.ascontiguousarray(voice[len(phonemes) - 1])
