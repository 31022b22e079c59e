"""Whisper in CTranslate2: recogniser and aligner on every machine (faster-whisper, an extra).

One pass of its encoder serves both: what it hears by itself, and how it takes the text that was to
be said (the probability of each word, and by its cross-attention when each is heard). It computes
on the CPU's cores or an NVIDIA GPU, so on a Mac it leaves the GPU to what speaks. Imported when
first asked for. Knows nothing of takes. Calls follow faster-whisper 1.2.1 and CTranslate2 4.8.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import json
import logging
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from narrator.engines import models
from narrator.engines.models import Layout, Model, NoModel
from narrator.errors import EngineUnavailable
from narrator.installation import install_command
from narrator.sound import audio
from narrator.sound.timing import TimedWord, snapped
from narrator.speech.hearing import SpokenSound, Transcript
from narrator.text.sentences import primary
from narrator.text.words import is_lettered, words

if TYPE_CHECKING:
    from faster_whisper import WhisperModel
    from faster_whisper.tokenizer import Tokenizer

MULTILINGUAL = 51_865
"""Tokens from which a vocabulary is that of many languages, as CTranslate2 has it."""
RATE, HOP = 16_000, 160
"""Hz that it hears, and samples of a frame of its spectrum."""
LONGEST = 30 * RATE
"""Samples of its window."""
STEP = 0.02
"""Seconds of a place in its encoder's output."""
LAG = 0.1
"""Seconds by which its attention comes to a word late: measured of tiny.en with two voices (0.09
and 0.11, tests/bench/wordtimes.py, 2026-11-23)."""
BEAM = 5
LONGEST_TEXT = 400
"""Tokens; its memory has 448, those of its prompt too."""
SURE = 1e-9
"""No probability counts as less."""

LANGUAGES = frozenset(
    """
    af ar az be bg bn bs ca cs cy da de el en es et fa fi fr gl he hi hr hu hy id is it ja kk kn ko
    lt lv mk mr ms ne nl no pl pt ro ru sk sl sr sv sw ta te th tl tr uk ur vi yue zh
    """.split()
)
"""Whisper lists a hundred; left out are those in which it errs in every second word or more
(Khmer, Lao, Burmese and others), where it would judge at random."""
_SAME: Mapping[str, str] = {"cmn": "zh", "fil": "tl", "iw": "he", "nb": "no", "nn": "no"}
_PROMPTS: Mapping[bool, str] = {False: "以下是普通话的句子。", True: "以下是普通話的句子。"}
"""What makes Whisper write Chinese in simplified or traditional characters."""
_TRADITIONAL = frozenset(("hant", "tw", "hk", "mo"))


NAMES: Mapping[str, str] = {
    **{
        name: f"Systran/faster-whisper-{name}"
        for name in "tiny tiny.en base base.en small small.en medium medium.en large-v3".split()
    },
    "large-v3-turbo": "mobiuslabsgmbh/faster-whisper-large-v3-turbo",
}
"""Hub ids of its own names: conversions to CTranslate2's format, MIT."""


def _whisper_files(path: Path) -> list[Path]:
    vocabulary = [file for file in path.glob("vocabulary.*") if file.suffix in (".txt", ".json")]
    needed = [path / "config.json", path / "model.bin", path / "tokenizer.json"]
    for file in needed:
        if not file.is_file():
            raise NoModel(f"{file.name} is missing; is this Whisper in CTranslate2's format?")
    if not vocabulary:
        raise NoModel("its vocabulary is missing (vocabulary.json or vocabulary.txt)")
    beside = [path / "preprocessor_config.json"]
    return [*needed, *sorted(vocabulary), *(file for file in beside if file.is_file())]


LAYOUT = Layout(
    ("config.json", "model.bin", "tokenizer.json", "vocabulary.*", "preprocessor_config.json"),
    _whisper_files,
    lambda path: (path / "model.bin").is_file() and "alignment_heads" in models.config(path),
)


class Whisper:
    """A Whisper model in a folder (config.json, model.bin, tokenizer.json, a vocabulary).

    Loaded by the first call. Raises EngineUnavailable where the package or the model is missing.
    """

    batch = 8
    is_apart = True

    def __init__(self, model: Model, *, threads: int = 0) -> None:
        """`threads` of the CPU; 0: as many as it has, up to four: more wait for one another."""
        if not is_here():
            raise EngineUnavailable(
                f"recognition needs the package faster-whisper: {install_command('recognition')}; "
                "`checks: {recognition: never}` renders without it"
            )
        if model.path is None:
            raise EngineUnavailable(model.note)
        self._path, self._threads = model.path, threads or min(4, os.cpu_count() or 1)
        self.name, self.title = "whisper", f"whisper {_short(model.spec)}"
        self.identity = f"whisper 1 {model.weights}"
        self._loaded: WhisperModel | None = None
        self._last: tuple[Sequence[SpokenSound], _EncodedSounds] | None = None
        """What was heard is aligned next."""

    @property
    def languages(self) -> frozenset[str]:
        """As its vocabulary has them: nothing is loaded for it."""
        many = _vocabulary_size(self._path) >= MULTILINGUAL
        return LANGUAGES | _SAME.keys() if many else frozenset(("en",))

    def hear(self, sounds: Sequence[SpokenSound]) -> Sequence[Transcript]:
        """What is said in each, in one batch, and how surely what was to be said is not."""
        model, found = self._model, dict[int, Transcript]()
        for tongue, places in _by_language(sounds).items():
            encoded = self._encoded([sounds[place] for place in places])
            one = self._tokenizer(tongue)
            prompt = [*_prompt(one, tongue), *one.sot_sequence, one.no_timestamps]
            results = model.model.generate(
                encoded.features, [prompt] * len(places), beam_size=BEAM,
                max_length=model.max_length,
            )  # fmt: skip
            read = self._read(encoded, one)
            for place, result, own in zip(places, results, read, strict=True):
                doubts = tuple(word.doubt for word in own)
                found[place] = Transcript(one.decode(result.sequences_ids[0]).strip(), doubts)
        return [found[place] for place in range(len(sounds))]

    def align(self, sounds: Sequence[SpokenSound]) -> Sequence[tuple[TimedWord, ...] | None]:
        """When each word is heard: in steps of 20 ms, less `LAG`, and set right by the pauses."""
        found: dict[int, tuple[TimedWord, ...] | None] = {}
        for tongue, places in _by_language(sounds).items():
            encoded = self._encoded([sounds[place] for place in places])
            read = self._read(encoded, self._tokenizer(tongue))
            for place, own in zip(places, read, strict=True):
                timed, sound = [word.timed for word in own], sounds[place]
                found[place] = snapped(timed, sound.samples, sound.rate, LAG) or None
        return [found[place] for place in range(len(sounds))]

    def _read(self, encoded: _EncodedSounds, tokenizer: Tokenizer) -> list[list[_ReadWord]]:
        """How the model takes the texts that were to be said, word by word: once for what is heard
        and then aligned."""
        if encoded.read is None:
            encoded.read = self._read_anew(encoded, tokenizer)
        return encoded.read

    def _read_anew(self, encoded: _EncodedSounds, tokenizer: Tokenizer) -> list[list[_ReadWord]]:
        """Nothing of a sound that is longer than its window or shorter than a frame, or of a text
        that is longer than its memory."""
        spans = [words(sound.text, sound.language) for sound in encoded.sounds]
        pieces = [
            [tokenizer.encode(_spaced(sound, first, last)) for first, last in own]
            for sound, own in zip(encoded.sounds, spans, strict=True)
        ]
        texts = [[token for piece in own for token in piece] for own in pieces]
        fits = [
            0 < len(text) <= LONGEST_TEXT and 0 < frames <= LONGEST // HOP
            for text, frames in zip(texts, encoded.frames, strict=True)
        ]
        if not any(fits):
            return [[] for _ in fits]
        # what does not fit is asked for one token, and not read
        asked = [text if fit else [tokenizer.eot] for text, fit in zip(texts, fits, strict=True)]
        frames = [min(count, LONGEST // HOP) for count in encoded.frames]
        results = self._model.model.align(
            encoded.features, tokenizer.sot_sequence, asked, frames, median_filter_width=7
        )
        return [
            _read_words(own, piece, result, count * HOP / RATE) if fit else []
            for own, piece, result, count, fit in zip(
                spans, pieces, results, frames, fits, strict=True
            )
        ]

    def _encoded(self, sounds: Sequence[SpokenSound]) -> _EncodedSounds:
        if self._last and [*map(id, self._last[0])] == [*map(id, sounds)]:
            return self._last[1]
        heard = [audio.resample(sound.samples, sound.rate, RATE) for sound in sounds]
        frames = [len(samples) // HOP for samples in heard]
        features = np.stack([self._features(samples[:LONGEST]) for samples in heard])
        found = _EncodedSounds(sounds, self._model.encode(features), frames)
        self._last = sounds, found
        return found

    def _features(self, samples: NDArray[np.float32]) -> NDArray[np.float32]:
        padded = np.pad(samples, (0, LONGEST - len(samples)))
        spectrum: NDArray[np.float32] = self._model.feature_extractor(padded, padding=0)
        return spectrum[:, : LONGEST // HOP]

    def _tokenizer(self, language: str) -> Tokenizer:
        from faster_whisper.tokenizer import Tokenizer

        model = self._model
        code = _SAME.get(primary(language), primary(language))
        return Tokenizer(
            model.hf_tokenizer, model.model.is_multilingual, task="transcribe", language=code
        )

    @property
    def _model(self) -> WhisperModel:
        if self._loaded is None:
            try:
                self._loaded = _load(str(self._path), self._threads)
            except (RuntimeError, ValueError, OSError) as error:
                why = next(iter(str(error).splitlines()), "") or type(error).__name__
                raise EngineUnavailable(
                    f"{self._path}: cannot be loaded: {why}; pull it anew (`narrator models pull "
                    "recogniser`), or set `checks: {recognition: never}`"
                ) from error
        return self._loaded


def _load(path: str, threads: int) -> WhisperModel:
    """On an NVIDIA GPU where its libraries work, else on the CPU."""
    import ctranslate2
    from faster_whisper import WhisperModel

    ctranslate2.set_log_level(logging.ERROR)
    if ctranslate2.get_cuda_device_count():
        with contextlib.suppress(RuntimeError, ValueError):  # no room there, or no cuBLAS or cuDNN
            found = WhisperModel(path, device="cuda", compute_type="float16")
            found.encode(np.zeros((found.feature_extractor.mel_filters.shape[0], 3000), np.float32))
            return found
    # in 8 bits, a quarter of the memory and as quick
    return WhisperModel(path, device="cpu", compute_type="int8", cpu_threads=threads)


@dataclass(slots=True, eq=False)
class _EncodedSounds:
    sounds: Sequence[SpokenSound]
    features: Any
    """The encoder's output."""
    frames: Sequence[int]
    """Of each sound, without the silence after it."""
    read: list[list[_ReadWord]] | None = None
    """How their texts were taken, once that is known."""


@dataclass(frozen=True, slots=True)
class _ReadWord:
    timed: TimedWord
    doubt: float


def _read_words(
    spans: Sequence[tuple[int, int]], pieces: Sequence[Sequence[int]], result: Any, seconds: float
) -> list[_ReadWord]:
    tokens, places = (np.array(column) for column in zip(*result.alignments, strict=True))
    jumps = places[np.diff(tokens, prepend=-1) > 0] * STEP  # when each token begins
    edges = np.cumsum([0, *map(len, pieces)])
    chances = np.maximum(np.array(result.text_token_probs), SURE)
    found = []
    for (first, last), low, high in zip(spans, edges, edges[1:], strict=False):
        start = min(float(jumps[min(low, len(jumps) - 1)]), seconds)
        stop = float(jumps[high]) if high < len(jumps) else seconds
        doubt = -math.log(float(chances[low:high].min())) if high > low else 0.0
        found.append(_ReadWord(TimedWord(first, last, start, max(start, stop)), doubt))
    return found


def _short(spec: str) -> str:
    """ "Systran/faster-whisper-small.en" as people call it."""
    return spec.rstrip("/").rpartition("/")[2].removeprefix("faster-whisper-")


def _by_language(sounds: Sequence[SpokenSound]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for place, sound in enumerate(sounds):
        found.setdefault(sound.language, []).append(place)
    return found


def _spaced(sound: SpokenSound, first: int, last: int) -> str:
    """A word as its tokens have it: with the space before, where the language has spaces."""
    return sound.text[first:last] if is_lettered(sound.language) else " " + sound.text[first:last]


def _prompt(tokenizer: Tokenizer, language: str) -> list[int]:
    if primary(language) != "zh":
        return []
    kind = not _TRADITIONAL.isdisjoint(language.lower().replace("_", "-").split("-")[1:])
    return [tokenizer.sot_prev, *tokenizer.encode(" " + _PROMPTS[kind])]


@functools.lru_cache(maxsize=4)
def _vocabulary_size(path: Path) -> int:
    """Tokens of a model's vocabulary; 0 where it cannot be read, as loading will say."""
    with contextlib.suppress(OSError, ValueError):
        for file in path.glob("vocabulary.*"):
            text = file.read_text("utf-8")
            return len(json.loads(text) if file.suffix == ".json" else text.splitlines())
    return 0


def is_here() -> bool:
    """Whether the package is installed."""
    return importlib.util.find_spec("faster_whisper") is not None
