"""The draft voice: eSpeak NG in worker processes, with a different voice for each speaker.

It is for hearing structure, cast, pauses and pronunciations before hours of GPU time. The same text
in the same voice gives the same samples, always: retries, seeds and engine parameters change
nothing. Styles are not heard; a voice's `speed` is applied where takes are assembled.

eSpeak NG is GPL-3.0-or-later and comes with the user's own extra, `draft`. Only this folder
knows it, and only the workers load the library. Knows nothing of chapters, takes or files.
"""

from __future__ import annotations

import functools
import importlib.metadata
import json
import os
import sys
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from narrator import keys
from narrator.engines import Engine, Outcome, Request, Speech, ignore_message
from narrator.engines.draft import worker as wire
from narrator.engines.draft.mnemonics import to_mnemonics
from narrator.engines.draft.settings import DraftVoice
from narrator.engines.preparation import pronounced_words
from narrator.engines.voice import Voice
from narrator.engines.workers import WorkerProgram, WorkerSession
from narrator.errors import EngineUnavailable, Problem, UserError, nearest
from narrator.installation import install_command
from narrator.sound.timing import TimedWord

PACKAGE = "espeakng-loader"
SAMPLER = 1
"""Version of the requests: raised when the same request and package give other samples."""
WORKER = Path(wire.__file__)
MAX_WORKERS = 8
"""More would wait for this process to collect their samples."""
TIMEOUT = 60.0
"""Seconds without output from a worker that has work; a line takes hundredths of a second."""

# Variant -> range of pitches, for speakers whose author set none: of the package's 104 variants
# those that measured well. A recogniser (pocketsphinx) picked the right one of 20 sentences 8 to 20
# times of 20 at every end of these pitches and rates, British and American; median pitches of 86 to
# 120 Hz (men) and 165 to 218 Hz (women); next to no sample at full scale. Whispers, robots, echoes
# and monotones are left out even where they are easy to recognise.
VARIANTS: Mapping[str, tuple[int, int]] = {
    "f1": (42, 64),
    "f2": (36, 60),
    "f3": (36, 54),
    "f5": (36, 56),
    "m2": (40, 66),
    "m6": (38, 66),
    "Diogo": (36, 66),
    "Reed": (36, 58),
    "benjamin": (38, 66),
    "klatt3": (38, 62),
    "mike2": (42, 64),
}
_WOMEN = ("f1", "f2", "f3", "f5")
RATES = (160, 180)
"""Lowest and highest words per minute: about the pace of a narrator."""

TAIL_SECONDS = 0.1
"""Silence after each line, since eSpeak ends some lines in full sound."""

_CONTROLS = dict.fromkeys((*range(0x20), *range(0x7F, 0xA0)), " ")
_T = TypeVar("_T")


class DraftEngine(Engine):
    """eSpeak NG as an engine; cheap until started.

    `workers` is the number of processes, one for every core unless set; `slots` is how many
    requests a session holds, four for every worker unless set.
    """

    name = "draft"
    sample_rate = wire.SAMPLE_RATE
    is_trained = False

    def __init__(self, workers: int | None = None, slots: int | None = None) -> None:
        self.workers = workers or min(os.cpu_count() or 1, MAX_WORKERS)
        self.slots = slots or 4 * self.workers

    @property
    def public_name(self) -> str:
        """Raises EngineUnavailable without the package."""
        return f"eSpeak NG ({PACKAGE} {_version()})"

    def identity(self) -> Mapping[str, Any]:
        """Returns the versions of sampler and package. Raises EngineUnavailable without it."""
        return {"name": self.name, "sampler": SAMPLER, PACKAGE: _version()}

    def voice_content(self, voice: Voice, language: str) -> Mapping[str, Any]:
        """Returns the espeak voice, pitch and rate of a voice in a language.

        Settings that the author leaves open follow from the speaker's name and pronoun. Raises
        EngineUnavailable without the package, UserError for a language that it does not have.
        """
        espeak_language = _espeak_language(language)
        if espeak_language is None:
            raise UserError(_describe_unsupported_language(language))
        draft = _draft_settings(voice)
        pick = functools.partial(_pick, voice.speaker)
        variant = draft.variant or pick("variant", _variants_for(voice.pronoun))
        low, high = VARIANTS.get(variant, (40, 60))
        pitch = pick("pitch", range(low, high + 1)) if draft.pitch is None else draft.pitch
        rate = pick("rate", range(RATES[0], RATES[1] + 1)) if draft.rate is None else draft.rate
        return {"voice": f"{espeak_language}+{variant}", "pitch": pitch, "rate": rate}

    def text_content(
        self, text: str, language: str, voice: Voice, pronunciations: Mapping[str, str]
    ) -> Mapping[str, Any]:
        """Returns the sounds that IPA names; nothing for a text without IPA."""
        marked = MarkedText.of(text, language, pronunciations)
        return {"sounds": marked.text} if marked.marked_words else {}

    def speaks(self, language: str) -> bool:
        """Raises EngineUnavailable without the package."""
        return _espeak_language(language) is not None

    def problems(self, voices: Mapping[str, Voice], languages: Sequence[str]) -> Sequence[Problem]:
        """Returns problems with languages and variants that the package does not have.

        Raises EngineUnavailable without the package.
        """
        messages = [
            _describe_unsupported_language(tag)
            for tag in languages
            if _espeak_language(tag) is None
        ]
        variants = _variants(_package()[1])
        for name, voice in voices.items():
            variant = _draft_settings(voice).variant
            if variant is not None and variant not in variants:
                suggestion = nearest(variant, variants)
                hint = (
                    f'did you mean "{suggestion}"?' if suggestion else f"try {', '.join(VARIANTS)}"
                )
                messages.append(
                    f'the draft voice has no variant "{variant}" (speaker "{name}"): {hint}'
                )
        return [Problem(None, None, message) for message in messages]

    def start(self, tell: Callable[[str], None] = ignore_message) -> WorkerSession:
        """Starts the workers and waits until they can speak. Raises EngineUnavailable."""
        return WorkerSession(DraftProgram(self), self.workers, self.slots)


def _variants_for(pronoun: str | None) -> Sequence[str]:
    """Returns the variants for a pronoun."""
    match (pronoun or "").casefold():
        case "she":
            return _WOMEN
        case "he":
            return sorted(VARIANTS.keys() - _WOMEN)
        case _:
            return sorted(VARIANTS)


def _draft_settings(voice: Voice) -> DraftVoice:
    """Returns the author's settings of a voice."""
    settings = voice.own.get(DraftEngine.name)
    return settings if isinstance(settings, DraftVoice) else DraftVoice()


class DraftProgram(WorkerProgram):
    """Workers of eSpeak NG."""

    title = "the draft voice"
    timeout = start_timeout = TIMEOUT

    def __init__(self, engine: DraftEngine) -> None:
        """Raises EngineUnavailable."""
        _version()
        self._engine = engine
        self._library, self._folder = _package()

    @property
    def command(self) -> Sequence[str]:
        # By path, isolated: see the worker's docstring.
        return [sys.executable, "-I", "-S", str(WORKER), str(self._library)]

    @property
    def folder(self) -> Path:
        return self._folder

    @property
    def environment(self) -> Mapping[str, str]:
        return {"LC_ALL": "C.UTF-8"}

    def pack(self, request: Request) -> bytes:
        marked = MarkedText.of(request.text, request.language, request.pronunciations)
        content = {
            **self._engine.voice_content(request.voice, request.language),
            "text": _readable(marked.text),
            "has_sounds": bool(marked.marked_words),
        }
        request_bytes = json.dumps(content).encode()
        return wire.REQUEST.pack(len(request_bytes)) + request_bytes

    def unpack(self, request: Request, kind: int, payload: bytes, extra: bytes) -> Outcome:
        if kind not in (wire.SPEECH, wire.CAPPED):
            return self.fail(request, payload.decode("utf-8", "replace"))
        pcm = np.frombuffer(payload, "<i2")
        if not pcm.any():
            return self.fail(request, "no sound came of it")
        samples = np.zeros(len(pcm) + round(TAIL_SECONDS * wire.SAMPLE_RATE), np.float32)
        np.divide(pcm, np.float32(32768), out=samples[: len(pcm)])
        stop = "cap" if kind == wire.CAPPED else "stop"
        marked = MarkedText.of(request.text, request.language, request.pronunciations)
        speech = Speech(samples, stop=stop, words=tuple(marked.timed_words(extra)))
        return Outcome(request.key, request.attempt, speech=speech)


@dataclass(frozen=True, slots=True)
class _MarkedWord:
    """Where a word that has IPA lies: as sounds in the marked text, and in the original one."""

    marked_start: int
    marked_stop: int
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class MarkedText:
    """A text in the form for eSpeak: words that have IPA as sounds in double brackets."""

    text: str
    marked_words: Sequence[_MarkedWord]
    """The words that have IPA."""
    length: int
    """Characters of the original text."""

    @classmethod
    def of(cls, text: str, language: str, pronunciations: Mapping[str, str]) -> MarkedText:
        """Marks the words of a text; a text without IPA stays unchanged."""
        usable = {
            word: sounds
            for word, ipa in pronunciations.items()
            if (sounds := to_mnemonics(ipa, language))
        }
        words: list[_MarkedWord] = []
        marked, end = "", 0
        for start, stop, sounds in pronounced_words(text, usable):
            marked += _without_marks(text[end:start])
            marked_start = len(marked)
            marked, end = f"{marked}[[{sounds.replace(' ', ']] [[')}]]", stop
            words.append(_MarkedWord(marked_start, len(marked), start, stop))
        return cls(marked + _without_marks(text[end:]) if words else text, words, len(text))

    def timed_words(self, word_bytes: bytes) -> Iterator[TimedWord]:
        """Yields the words as eSpeak divides them, with their places in the original text: it joins
        some words and splits numbers. Yields none if normalization changed the text's length."""
        if len(_readable(self.text)) != len(self.text):
            return
        marked_starts = [word.marked_start for word in self.marked_words]
        previous_first = -1
        for first, last, start_sample, stop_sample in wire.WORD.iter_unpack(word_bytes):
            index = bisect_right(marked_starts, first) - 1
            if index >= 0:
                word = self.marked_words[index]
                if first < word.marked_stop:  # sounds: however many events, one word
                    first, last = word.start, word.stop
                else:
                    shift = word.stop - word.marked_stop
                    first, last = first + shift, last + shift
            if previous_first < first < self.length:
                times = start_sample / wire.SAMPLE_RATE, stop_sample / wire.SAMPLE_RATE
                yield TimedWord(first, min(last, self.length), *times)
            previous_first = first


def _without_marks(text: str) -> str:
    """Returns text of the same length in which brackets do not mark sounds."""
    return text.replace("[[", "((")


def _readable(text: str) -> str:
    """Returns a text in composed letters, the only ones that eSpeak looks up, without control
    characters, which it takes for commands."""
    return unicodedata.normalize("NFC", text).translate(_CONTROLS)


def _pick(speaker: str, quality: str, choices: Sequence[_T]) -> _T:
    """Returns the choice that a speaker's name determines, the same in every run and on every
    machine."""
    return choices[keys.number(f"{quality} {speaker}") % len(choices)]


# -- the package ------------------------------------------------------------------------


def _unavailable(reason: str) -> EngineUnavailable:
    return EngineUnavailable(f"{reason}: {install_command('draft')}")


def _version() -> str:
    try:
        return importlib.metadata.version(PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        raise _unavailable(f"the draft voice needs the package {PACKAGE}") from None


def _package() -> tuple[Path, Path]:
    """Returns the library and the folder with `espeak-ng-data`. Raises EngineUnavailable."""
    try:
        import espeakng_loader
    except ModuleNotFoundError:
        raise _unavailable(f"the draft voice needs the package {PACKAGE}") from None
    library = Path(espeakng_loader.get_library_path())
    folder = library.parent
    if not library.exists() or not (folder / "espeak-ng-data").exists():
        raise _unavailable(f"{PACKAGE} {_version()} carries no library for this machine")
    return library, folder


@functools.cache
def _variants(folder: Path) -> Sequence[str]:
    return sorted(path.name for path in (folder / "espeak-ng-data/voices/!v").iterdir())


@functools.cache
def _languages(folder: Path) -> Mapping[str, str]:
    """Reads the voice files: language tags in lower case -> espeak voices ("en-gb" -> "gmw/en")."""
    data_folder = folder / "espeak-ng-data"
    best: dict[str, tuple[tuple[bool, int, int], str]] = {}
    for file in sorted((data_folder / "lang").rglob("*")):
        if not file.is_file():
            continue
        rows = [line.split() for line in file.read_text("utf-8", "replace").splitlines()]
        tags = {row[1].lower(): row[2:3] for row in rows if row[:1] == ["language"]}
        if not tags:
            continue
        dictionaries = [row[1] for row in rows if row[:1] == ["dictionary"]]
        dictionary = dictionaries[0] if dictionaries else next(iter(tags)).partition("-")[0]
        if not (data_folder / f"{dictionary}_dict").exists():
            continue  # listed by the package, but without rules: it would stay silent
        voice = file.relative_to(data_folder / "lang").as_posix()
        file_tag = file.name.lower()
        for tag, priority in {file_tag: [], **tags}.items():
            # As espeak does it, smaller is better and 5 the rule; a file's own name goes first.
            rank = (tag != file_tag, int(priority[0]) if priority else 5, len(voice))
            best[tag] = min(best.get(tag, (rank, voice)), (rank, voice))
    return {tag: voice for tag, (_, voice) in best.items()}


_TAG_ALIASES = {"iw": "he", "in": "id", "nn": "nb"}
"""Older tags, and substitutes for tags that espeak lacks."""


def _espeak_language(tag: str) -> str | None:
    """Returns the voice of the longest prefix of a BCP 47 tag that has one ("pt-AO" -> "pt"), or
    None."""
    languages = _languages(_package()[1])
    first, *others = tag.lower().split("-")
    parts = [_TAG_ALIASES.get(first, first), *others]
    if parts[0] == "ja":
        return None
    while parts:
        if voice := languages.get("-".join(parts)):
            return voice
        parts.pop()
    return None


def _describe_unsupported_language(tag: str) -> str:
    if tag.lower().split("-")[0] == "ja":
        return (
            f'the draft voice cannot read Japanese ("{tag}"): it knows kana alone, not all of it, '
            'and would say "Chinese letter" for every kanji'
        )
    languages = _languages(_package()[1])
    suggestion = nearest(tag, list(languages)) or nearest(tag.split("-")[0], list(languages))
    hint = f'; the nearest it has is "{suggestion}"' if suggestion else ""
    return f'the draft voice does not speak "{tag}"{hint}'
