"""Qwen3 in MLX, on Macs: recogniser and aligner (mlx-qwen3-asr, an extra).

Models are folders, as their makers publish them (Apache-2.0). MLX runs on the calling thread, one
sound at a time. Imported on first use. Knows nothing of takes. Calls follow
mlx-qwen3-asr 0.4; tried on Linux with networks of noise, never with the published weights.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from narrator.engines import models
from narrator.engines.models import IncompleteModel, Layout, Model
from narrator.errors import EngineUnavailable
from narrator.installation import install_command
from narrator.sound import audio
from narrator.sound.timing import TimedWord, snap_words
from narrator.speech.hearing import SpokenSound, Transcript, word_timings
from narrator.text.sentences import primary

if TYPE_CHECKING:
    from mlx_qwen3_asr import ForcedAligner, Session

RATE = 16_000
"""Hz that it hears."""
NAMES: Mapping[str, str] = {
    "qwen3-0.6b": "Qwen/Qwen3-ASR-0.6B",
    "qwen3-1.7b": "Qwen/Qwen3-ASR-1.7B",
    "qwen3-aligner": "Qwen/Qwen3-ForcedAligner-0.6B",
}
"""Hub ids: 1.9, 4.7 and 1.8 GB."""
_LANGUAGE_NAMES: Mapping[str, str] = {
    "ar": "Arabic", "cmn": "Chinese", "de": "German", "en": "English", "es": "Spanish",
    "fr": "French", "hi": "Hindi", "it": "Italian", "ja": "Japanese", "ko": "Korean",
    "nl": "Dutch", "pt": "Portuguese", "ru": "Russian", "tr": "Turkish", "yue": "Cantonese",
    "zh": "Chinese",
}  # fmt: skip
HEARS = frozenset(_LANGUAGE_NAMES) - {"yue"}
"""Languages that the package knows by name."""
ALIGNS = frozenset("cmn de en es fr it pt ru yue zh".split())
"""Languages of the aligner that the package segments without help."""
_SEGMENTERS: Mapping[str, str] = {"ja": "nagisa", "ko": "soynlp"}
"""Languages that need another package for segmentation."""
_TOKENIZER = ("vocab.json", "merges.txt", "tokenizer_config.json")
_T = TypeVar("_T")


def _model_files(path: Path) -> list[Path]:
    needed = [path / name for name in ("config.json", *_TOKENIZER)]
    for file in needed:
        if not file.is_file():
            raise IncompleteModel(f"{file.name} is missing; is this Qwen3-ASR?")
    models.weight_files(path)
    weights = sorted(path.glob("*.safetensors"))  # the package reads all that are called so
    if not weights:
        raise IncompleteModel("its weights are no safetensors")
    for file in weights:
        models.read_tensor_header(file)
    return [*needed, *weights]


def _thinker_config(path: Path) -> Mapping[str, Any]:
    facts = models.load_config(path)
    thinker_config = facts.get("thinker_config")
    return (
        {**facts, **thinker_config}
        if isinstance(thinker_config, dict) and "audio_config" in thinker_config
        else {}
    )


_PATTERNS = ("config.json", "model*.safetensors", "model.safetensors.index.json", *_TOKENIZER)
LAYOUT = Layout(
    _PATTERNS,
    _model_files,
    lambda path: bool(facts := _thinker_config(path)) and not facts.get("classify_num"),
)
ALIGNER_LAYOUT = Layout(
    _PATTERNS, _model_files, lambda path: bool(_thinker_config(path).get("classify_num"))
)


class QwenRecogniser:
    """Loaded by the first call. Raises EngineUnavailable where package or model is missing."""

    languages = HEARS
    batch = 1
    is_apart = False

    def __init__(self, model: Model) -> None:
        self._path = _path(model)
        self.title = f"qwen3 {self._path.name if model.kind == 'folder' else model.spec}"
        self.identity = f"qwen3 1 {model.weights}"
        self._session: Session | None = None

    def hear(self, sounds: Sequence[SpokenSound]) -> Sequence[Transcript]:
        """Transcribes each sound, without doubts, which the model does not provide."""
        return [Transcript(_translate_errors(self._text, sound)) for sound in sounds]

    def _text(self, sound: SpokenSound) -> str:
        if not len(sound.samples):
            return ""
        if self._session is None:
            from mlx_qwen3_asr import Session

            self._session = Session(str(self._path))
        name = _LANGUAGE_NAMES[primary(sound.language)]
        return self._session.transcribe(_resample(sound), language=name).text.strip()


class QwenAligner:
    """Loaded by the first call. Raises EngineUnavailable where package or model is missing."""

    name = "qwen3"
    batch = 1
    is_apart = False

    def __init__(self, model: Model) -> None:
        self._path = _path(model)
        self.identity = f"qwen3 1 {model.weights}"
        self._session: ForcedAligner | None = None

    @property
    def languages(self) -> frozenset[str]:
        extra_languages = (
            tag for tag, package in _SEGMENTERS.items() if importlib.util.find_spec(package)
        )
        return ALIGNS.union(extra_languages)

    def align(self, sounds: Sequence[SpokenSound]) -> Sequence[tuple[TimedWord, ...] | None]:
        """Times each word, in steps of 80 ms."""
        return [_translate_errors(self._words, sound) for sound in sounds]

    def _words(self, sound: SpokenSound) -> tuple[TimedWord, ...] | None:
        if self._session is None:
            from mlx_qwen3_asr import ForcedAligner

            self._session = ForcedAligner(str(self._path))
        name = _LANGUAGE_NAMES[primary(sound.language)]
        if not len(sound.samples):
            return None
        aligned_words = self._session.align(_resample(sound), sound.text, name)
        end = len(sound.samples) / sound.rate
        timed_words = list(
            _locate_words(
                sound.text, [(w.text, w.start_time, w.end_time) for w in aligned_words], end
            )
        )
        if (
            not timed_words or timed_words[-1].stop <= timed_words[0].start
        ):  # all words at one time: alignment failed
            return None
        text_words = word_timings.map_to_words(
            sound.text, sound.language, timed_words, sound.samples, sound.rate
        )
        return snap_words(text_words, sound.samples, sound.rate)


def _locate_words(
    text: str, aligned_words: Sequence[tuple[str, float, float]], end: float
) -> Iterator[TimedWord]:
    """Locates the aligner's words, which are letters and figures alone, in the text."""
    position = 0
    for word, start, stop in aligned_words:
        first = last = -1
        for letter in word:
            letter_index = text.find(letter, position)
            if letter_index < 0:
                return
            first, last, position = (
                (letter_index if first < 0 else first),
                letter_index + 1,
                letter_index + 1,
            )
        if first >= 0:
            start = min(start, end)
            yield TimedWord(first, last, start, min(max(start, stop), end))


def _resample(sound: SpokenSound) -> NDArray[np.float32]:
    return audio.resample(sound.samples, sound.rate, RATE)


def is_here() -> bool:
    """Whether the package is installed."""
    return importlib.util.find_spec("mlx_qwen3_asr") is not None


def _path(model: Model) -> Path:
    """Returns the folder of a model. Raises EngineUnavailable without it or the package."""
    if not is_here():
        raise EngineUnavailable(
            "this model needs the package mlx-qwen3-asr, for Macs only: " + install_command("qwen3")
        )
    if model.path is None:
        raise EngineUnavailable(model.note)
    return model.path


def _translate_errors(work: Callable[[SpokenSound], _T], sound: SpokenSound) -> _T:
    """Turns the errors of the package, and MLX's when out of memory, into EngineUnavailable."""
    try:
        return work(sound)
    except (OSError, ValueError, KeyError, RuntimeError, MemoryError) as error:
        why = next(iter(str(error).splitlines()), "") or type(error).__name__
        raise EngineUnavailable(f"Qwen3 cannot listen: {why}") from error
