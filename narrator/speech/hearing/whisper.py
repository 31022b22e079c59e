"""Whisper in CTranslate2: recogniser and aligner on every machine (faster-whisper, an extra).

One pass of its encoder serves both: the free transcript, and the forced reading of the expected
text (the probability of each word, and its time by cross-attention). It runs on the CPU or an
NVIDIA GPU, so on a Mac it leaves the GPU to the speaking engine. Imported on first use. Knows
nothing of takes. Calls follow faster-whisper 1.2.1 and CTranslate2 4.8.
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
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from narrator.engines import models
from narrator.engines.models import IncompleteModel, Layout, Model
from narrator.errors import EngineUnavailable
from narrator.installation import install_command
from narrator.sound import audio
from narrator.sound.timing import TimedWord, snap_words
from narrator.speech.hearing import SpokenSound, Transcript
from narrator.text.words import is_split_by_characters, words
from textbase.languages import primary

if TYPE_CHECKING:
    from faster_whisper import WhisperModel
    from faster_whisper.tokenizer import Tokenizer

MIN_MULTILINGUAL_VOCABULARY = 51_865
"""Least size of a multilingual vocabulary, as in CTranslate2."""
RATE, HOP = 16_000, 160
"""Hz that it hears, and samples of a frame of its spectrum."""
WINDOW_SAMPLES = 30 * RATE
WINDOW_FRAMES = WINDOW_SAMPLES // HOP
STEP_SECONDS = 0.02
"""Seconds of one position in its encoder's output."""
LAG_SECONDS = 0.1
"""Seconds by which its attention lags behind a word: measured with tiny.en and two voices (0.09 and
0.11, benchmarks/wordtimes.py, 2026-11-23)."""
BEAM_SIZE = 5
MAX_TEXT_TOKENS = 400
"""Tokens; its memory has 448, those of its prompt too."""
MIN_PROBABILITY = 1e-9
"""Floor of all probabilities."""

LANGUAGES = frozenset(
    """
    af ar az be bg bn bs ca cs cy da de el en es et fa fi fr gl he hi hr hu hy id is it ja kk kn ko
    lt lv mk mr ms ne nl no pl pt ro ru sk sl sr sv sw ta te th tl tr uk ur vi yue zh
    """.split()
)
"""Whisper lists a hundred; left out are those in which it errs in every second word or more
(Khmer, Lao, Burmese and others), where it would judge at random."""
_LANGUAGE_ALIASES: Mapping[str, str] = {
    "cmn": "zh",
    "fil": "tl",
    "iw": "he",
    "nb": "no",
    "nn": "no",
}
_SCRIPT_PROMPTS: Mapping[bool, str] = {False: "以下是普通话的句子。", True: "以下是普通話的句子。"}
"""Prompts that make Whisper write Chinese in simplified or traditional characters."""
_TRADITIONAL_TAGS = frozenset(("hant", "tw", "hk", "mo"))


HUB_IDS: Mapping[str, str] = {
    **{
        name: f"Systran/faster-whisper-{name}"
        for name in "tiny tiny.en base base.en small small.en medium medium.en large-v3".split()
    },
    "large-v3-turbo": "mobiuslabsgmbh/faster-whisper-large-v3-turbo",
}
"""Hub ids of its own names: conversions to CTranslate2's format, MIT."""


def _list_model_files(path: Path) -> list[Path]:
    """Lists the files that make up a model. Raises IncompleteModel."""
    vocabulary = [file for file in path.glob("vocabulary.*") if file.suffix in (".txt", ".json")]
    required_files = [path / "config.json", path / "model.bin", path / "tokenizer.json"]
    for file in required_files:
        if not file.is_file():
            raise IncompleteModel(
                f"{file.name} is missing; is this Whisper in CTranslate2's format?"
            )
    if not vocabulary:
        raise IncompleteModel("its vocabulary is missing (vocabulary.json or vocabulary.txt)")
    optional_files = [path / "preprocessor_config.json"]
    return [
        *required_files,
        *sorted(vocabulary),
        *(file for file in optional_files if file.is_file()),
    ]


LAYOUT = Layout(
    ("config.json", "model.bin", "tokenizer.json", "vocabulary.*", "preprocessor_config.json"),
    _list_model_files,
    lambda path: (path / "model.bin").is_file() and "alignment_heads" in models.load_config(path),
)


class Whisper:
    """A Whisper model in a folder (config.json, model.bin, tokenizer.json, a vocabulary).

    Loaded by the first call. Raises EngineUnavailable where the package or the model is missing.
    """

    batch = 8

    def __init__(self, model: Model, *, threads: int = 0) -> None:
        """`threads` of the CPU; 0: all, up to four, since more wait for one another."""
        if not is_here():
            raise EngineUnavailable(
                f"recognition needs the package faster-whisper: {install_command('recognition')}; "
                "to render without it, `checks: {recognition: never}`"
            )
        if model.path is None:
            raise EngineUnavailable(model.note)
        self._path, self._threads = model.path, threads or min(4, os.cpu_count() or 1)
        self.name, self.title = "whisper", f"whisper {_short_name(model.spec)}"
        self.identity = f"whisper 1 {model.weights}"
        self._loaded: WhisperModel | None = None
        self._last_encoded: tuple[Sequence[SpokenSound], _EncodedSounds] | None = None
        """The last encoded sounds: a transcript is usually followed by an alignment."""

    @property
    def languages(self) -> frozenset[str]:
        """The languages of its vocabulary; loads no model."""
        is_multilingual = _vocabulary_size(self._path) >= MIN_MULTILINGUAL_VOCABULARY
        return LANGUAGES | _LANGUAGE_ALIASES.keys() if is_multilingual else frozenset(("en",))

    def hear(self, sounds: Sequence[SpokenSound]) -> Sequence[Transcript]:
        """Transcribes sounds, a batch per language, with the doubts of their expected words."""
        model, transcripts = self._model, dict[int, Transcript]()
        for language, indices in _group_by_language(sounds).items():
            encoded = self._encode([sounds[index] for index in indices])
            tokenizer = self._tokenizer(language)
            prompt = [
                *_script_prompt(tokenizer, language),
                *tokenizer.sot_sequence,
                tokenizer.no_timestamps,
            ]
            generations = model.model.generate(
                encoded.features, [prompt] * len(indices), beam_size=BEAM_SIZE,
                max_length=model.max_length,
            )  # fmt: skip
            aligned = self._find_words(encoded, tokenizer)
            for index, generation, aligned_words in zip(indices, generations, aligned, strict=True):
                doubts = tuple(word.doubt for word in aligned_words)
                transcripts[index] = Transcript(
                    tokenizer.decode(generation.sequences_ids[0]).strip(), doubts
                )
        return [transcripts[index] for index in range(len(sounds))]

    def align(self, sounds: Sequence[SpokenSound]) -> Sequence[tuple[TimedWord, ...] | None]:
        """Times each word in steps of 20 ms, less `LAG_SECONDS`; pauses correct the times."""
        word_times: dict[int, tuple[TimedWord, ...] | None] = {}
        for language, indices in _group_by_language(sounds).items():
            encoded = self._encode([sounds[index] for index in indices])
            aligned = self._find_words(encoded, self._tokenizer(language))
            for index, aligned_words in zip(indices, aligned, strict=True):
                timed, sound = [word.timed for word in aligned_words], sounds[index]
                word_times[index] = (
                    snap_words(timed, sound.samples, sound.rate, LAG_SECONDS) or None
                )
        return [word_times[index] for index in range(len(sounds))]

    def _find_words(
        self, encoded: _EncodedSounds, tokenizer: Tokenizer
    ) -> list[list[_AlignedWord]]:
        """Returns the expected words of each sound with times and doubts; aligned once a batch."""
        if encoded.words is None:
            encoded.words = self._align_texts(encoded, tokenizer)
        return encoded.words

    def _align_texts(
        self, encoded: _EncodedSounds, tokenizer: Tokenizer
    ) -> list[list[_AlignedWord]]:
        """Aligns the expected text of each sound with it.

        Returns no words for a sound longer than the window or shorter than a frame, and for a text
        longer than the model's memory.
        """
        all_spans = [words(sound.text, sound.language) for sound in encoded.sounds]
        all_word_tokens = [
            [tokenizer.encode(_word_with_space(sound, first, last)) for first, last in spans]
            for sound, spans in zip(encoded.sounds, all_spans, strict=True)
        ]
        all_tokens = [list(chain.from_iterable(word_tokens)) for word_tokens in all_word_tokens]
        fits = [
            0 < len(tokens) <= MAX_TEXT_TOKENS and 0 < frame_count <= WINDOW_FRAMES
            for tokens, frame_count in zip(all_tokens, encoded.frame_counts, strict=True)
        ]
        if not any(fits):
            return [[] for _ in fits]
        # what does not fit gets a dummy token, and its alignment is ignored
        requested_tokens = [
            tokens if fit else [tokenizer.eot] for tokens, fit in zip(all_tokens, fits, strict=True)
        ]
        frame_counts = [min(count, WINDOW_FRAMES) for count in encoded.frame_counts]
        alignments = self._model.model.align(
            encoded.features, tokenizer.sot_sequence, requested_tokens, frame_counts,
            median_filter_width=7,
        )  # fmt: skip
        return [
            _parse_alignment(spans, word_tokens, alignment, frame_count * HOP / RATE) if fit else []
            for spans, word_tokens, alignment, frame_count, fit in zip(
                all_spans, all_word_tokens, alignments, frame_counts, fits, strict=True
            )
        ]

    def _encode(self, sounds: Sequence[SpokenSound]) -> _EncodedSounds:
        """Encodes sounds, unless they are the same objects as in the last call."""
        if self._last_encoded and [*map(id, self._last_encoded[0])] == [*map(id, sounds)]:
            return self._last_encoded[1]
        resampled = [audio.resample(sound.samples, sound.rate, RATE) for sound in sounds]
        frame_counts = [len(samples) // HOP for samples in resampled]
        features = np.stack([self._features(samples[:WINDOW_SAMPLES]) for samples in resampled])
        encoded = _EncodedSounds(sounds, self._model.encode(features), frame_counts)
        self._last_encoded = sounds, encoded
        return encoded

    def _features(self, samples: NDArray[np.float32]) -> NDArray[np.float32]:
        padded = np.pad(samples, (0, WINDOW_SAMPLES - len(samples)))
        spectrum: NDArray[np.float32] = self._model.feature_extractor(padded, padding=0)
        return spectrum[:, :WINDOW_FRAMES]

    def _tokenizer(self, language: str) -> Tokenizer:
        from faster_whisper.tokenizer import Tokenizer

        model = self._model
        code = _LANGUAGE_ALIASES.get(primary(language), primary(language))
        return Tokenizer(
            model.hf_tokenizer, model.model.is_multilingual, task="transcribe", language=code
        )

    @property
    def _model(self) -> WhisperModel:
        """The model, loaded at the first use. Raises EngineUnavailable."""
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
    """Loads a model on an NVIDIA GPU if its libraries work, else on the CPU."""
    import ctranslate2
    from faster_whisper import WhisperModel

    ctranslate2.set_log_level(logging.ERROR)
    if ctranslate2.get_cuda_device_count():
        with contextlib.suppress(RuntimeError, ValueError):  # no room there, or no cuBLAS or cuDNN
            model = WhisperModel(path, device="cuda", compute_type="float16")
            model.encode(np.zeros((model.feature_extractor.mel_filters.shape[0], 3000), np.float32))
            return model
    # in 8 bits, a quarter of the memory and as quick
    return WhisperModel(path, device="cpu", compute_type="int8", cpu_threads=threads)


@dataclass(slots=True, eq=False)
class _EncodedSounds:
    sounds: Sequence[SpokenSound]
    features: Any
    """The encoder's output."""
    frame_counts: Sequence[int]
    """Number of frames of each sound, without the padding."""
    words: list[list[_AlignedWord]] | None = None
    """Times and doubts of the expected words, once computed."""


@dataclass(frozen=True, slots=True)
class _AlignedWord:
    timed: TimedWord
    doubt: float


def _parse_alignment(
    spans: Sequence[tuple[int, int]],
    word_tokens: Sequence[Sequence[int]],
    alignment: Any,
    seconds: float,
) -> list[_AlignedWord]:
    """Returns the time and doubt of each word of a text.

    `spans` of the words in the text, and the tokens of each; `alignment`, of CTranslate2, has pairs
    of (index of a token, position in the encoder's output), and the probability of each token. The
    sound lasts `seconds`.
    """
    tokens, positions = (np.array(column) for column in zip(*alignment.alignments, strict=True))
    token_starts = positions[np.diff(tokens, prepend=-1) > 0] * STEP_SECONDS
    edges = np.cumsum([0, *map(len, word_tokens)])
    probabilities = np.maximum(np.array(alignment.text_token_probs), MIN_PROBABILITY)
    aligned_words = []
    for (first, last), (first_token, next_token) in zip(spans, pairwise(edges), strict=True):
        start = min(float(token_starts[min(first_token, len(token_starts) - 1)]), seconds)
        stop = float(token_starts[next_token]) if next_token < len(token_starts) else seconds
        word_probabilities = probabilities[first_token:next_token]
        doubt = -math.log(float(word_probabilities.min())) if len(word_probabilities) else 0.0
        aligned_words.append(_AlignedWord(TimedWord(first, last, start, max(start, stop)), doubt))
    return aligned_words


def _short_name(spec: str) -> str:
    """Shortens "Systran/faster-whisper-small.en" to "small.en"."""
    return spec.rstrip("/").rpartition("/")[2].removeprefix("faster-whisper-")


def _group_by_language(sounds: Sequence[SpokenSound]) -> dict[str, list[int]]:
    indices: dict[str, list[int]] = {}
    for index, sound in enumerate(sounds):
        indices.setdefault(sound.language, []).append(index)
    return indices


def _word_with_space(sound: SpokenSound, first: int, last: int) -> str:
    """Returns a word of a sound's text, after a space if its language has spaces between words.

    The model's tokens contain that space.
    """
    return (
        sound.text[first:last]
        if is_split_by_characters(sound.language)
        else " " + sound.text[first:last]
    )


def _script_prompt(tokenizer: Tokenizer, language: str) -> list[int]:
    """Returns the tokens before the transcript that decide how Chinese is written."""
    if primary(language) != "zh":
        return []
    is_traditional = not _TRADITIONAL_TAGS.isdisjoint(
        language.lower().replace("_", "-").split("-")[1:]
    )
    return [tokenizer.sot_prev, *tokenizer.encode(" " + _SCRIPT_PROMPTS[is_traditional])]


@functools.lru_cache(maxsize=4)
def _vocabulary_size(path: Path) -> int:
    """Returns the size of a model's vocabulary; 0 if unreadable, which loading will report."""
    with contextlib.suppress(OSError, ValueError):
        for file in path.glob("vocabulary.*"):
            text = file.read_text("utf-8")
            return len(json.loads(text) if file.suffix == ".json" else text.splitlines())
    return 0


def is_here() -> bool:
    """Returns whether the package is installed."""
    return importlib.util.find_spec("faster_whisper") is not None
