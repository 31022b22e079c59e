"""Recordings that no project of ours made, each with its text beside it: heard, and timed.

A recording is heard in windows. Which words of the text each window should say follows from what
was heard in it; where that differs, it is heard once more with them, which tells the recogniser's
mistakes from the speaker's. Nothing is written.
"""

from __future__ import annotations

import bisect
import contextlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np

from narrator import files
from narrator.errors import ScriptError, StorageError, UsageError, UserError
from narrator.importers import encoding
from narrator.project.place import NAME
from narrator.sound import audio, media
from narrator.sound.timing import TimedWord
from narrator.speech.hearing import SpokenSound, Transcript
from narrator.speech.hearing.compare import Difference, Fidelity, fidelity
from narrator.speech.hearing.judging import Judgement, judge
from narrator.speech.hearing.listening import Ear
from narrator.speech.hearing.windows import SoundWindow, windows
from narrator.text.labels import Roles
from narrator.text.normalize import Lexicon, normalize
from narrator.text.recognise import language_of
from narrator.text.script import read_chapter
from narrator.text.words import words

SOUNDS = frozenset(".aac .aif .aiff .flac .m4a .m4b .mp3 .oga .ogg .opus .wav".split())
"""Endings of files that are heard."""
TEXTS = (".txt", ".md")
RATE = 16_000
_BEYOND = 20
"""Words that a window may say more than were heard in it."""
_LONG = 4.0
"""Words of a passage that is named whatever else is wrong around it."""
_LARGEST = 16_000_000
"""Bytes of a text."""


@dataclass(frozen=True, slots=True)
class Recital:
    """A recording, and the file of its text."""

    sound: Path
    text: Path


def are_there(place: Path) -> bool:
    """Whether a path means recordings, not a project."""
    if place.is_dir():
        return not (place / NAME).exists() and any(map(_is_sound, place.iterdir()))
    return _is_sound(place)


def _is_sound(path: Path) -> bool:
    return path.suffix.lower() in SOUNDS


def recitals(place: Path, text: Path | None = None) -> tuple[list[Recital], list[Path]]:
    """The recordings of a file or folder, each with its text of the same name beside it (or with
    `text`, of a single file), and those that have none. Raises UsageError."""
    if place.is_dir():
        if text is not None:
            raise UsageError("--text is for one recording; in a folder each has a text of its name")
        with files.storage(place):
            sounds = sorted(filter(_is_sound, place.iterdir()))
        if not sounds:
            raise UsageError(
                f"{place}: no manifest, and no recordings ({' '.join(sorted(SOUNDS))})"
            )
    else:
        sounds = [place]
    found: list[Recital] = []
    for sound in sounds:
        beside = (sound.with_suffix(ending) for ending in TEXTS)
        own = text or next((path for path in beside if path.is_file()), None)
        if own is not None:
            found.append(Recital(sound, own))
    if not found:
        raise UsageError(
            f"{place}: no text beside it ({sounds[0].stem}.txt), so there is nothing to compare "
            "with; --text names one"
        )
    return found, [one for one in sounds if one not in {own.sound for own in found}]


@dataclass(frozen=True, slots=True)
class WrongPassage:
    """A passage that does not say its text."""

    start: float
    """Second of the recording, near which it is."""
    difference: Difference


@dataclass(frozen=True, slots=True)
class RecitalHeard:
    """What came of listening to a recording."""

    recital: Recital
    language: str
    seconds: float
    text: str
    """As it is spoken."""
    error: float
    """Words that were heard otherwise, for each of the text."""
    wrong: tuple[WrongPassage, ...]
    words: tuple[TimedWord, ...]
    """Of `text`, as far as they were found."""


@dataclass(frozen=True, slots=True)
class _RecordingPart:
    """A window, and what of the text it should say."""

    start: float
    """Second of the recording."""
    first: int
    """Where its text begins in the whole."""
    sound: SpokenSound
    heard: Transcript

    @property
    def without_sound(self) -> _RecordingPart:
        """What is kept of it: a recording may last for hours."""
        none = np.zeros(0, np.float32)
        return replace(self, sound=replace(self.sound, samples=none))


def hear(
    recital: Recital,
    ear: Ear,
    *,
    language: str | None = None,
    tell: Callable[[float], None],
    cancel: Event,
) -> RecitalHeard | None:
    """Listen to one recording; None where it was stopped. `tell` hears the share that is done.

    Raises UserError, StorageError, EngineUnavailable.
    """
    text, language = _text_of(recital, ear, language)
    seconds = _seconds(recital.sound)
    wrong: list[tuple[_RecordingPart, Difference]] = []
    timed: list[TimedWord] = []
    said: list[str] = []
    parts = _parts(text, language, _heard(recital.sound, language, ear))
    for some in ear.batches(parts):
        if cancel.is_set():
            return None
        end = some[-1].start + len(some[-1].sound.samples) / RATE
        said += (part.heard.text for part in some)
        wrong += ((part.without_sound, one) for part, one in _wrong(some, ear))
        timed += _timed(some, ear)
        tell(min(1.0, end / max(seconds, end)))
    if not said:
        raise UserError(f"{recital.sound}: holds no sound")
    error = fidelity(text, " ".join(said), language).error
    passages = tuple(_placed(wrong, timed))
    return RecitalHeard(recital, language, seconds, text, error, passages, tuple(timed))


def _text_of(recital: Recital, ear: Ear, language: str | None) -> tuple[str, str]:
    """What a recording should say, as it is spoken, and its language. Raises UserError,
    StorageError."""
    written = _read(recital.text)
    language = language or language_of(written) or "en"
    if not ear.hears(language):
        by = ear.recogniser.title if ear.recogniser else "what listens"
        raise UsageError(
            f"{recital.text}: is in '{language}', which {by} does not know; another --model, or "
            "--language where that is wrong"
        )
    text = _spoken(written, recital.text, language)
    if not words(text, language):
        raise UserError(f"{recital.text}: holds no words, so there is nothing to compare with")
    return text, language


def _heard(path: Path, language: str, ear: Ear) -> Iterator[tuple[SoundWindow, Transcript]]:
    """Each window of a recording, and what was heard in it."""
    for batch in ear.batches(_windows(path)):
        found = ear.hear([SpokenSound(one.samples, RATE, "", language) for one in batch])
        yield from zip(batch, (one or Transcript("") for one in found), strict=True)


def write_times(one: RecitalHeard, folder: Path) -> Path:
    """The words of a recording and when each is said, as JSON in a folder. Raises StorageError."""
    path = folder / f"{one.recital.sound.name}.words.json"
    with files.storage(path):
        folder.mkdir(parents=True, exist_ok=True)
        data = json.dumps(as_json(one, words=True), ensure_ascii=False, indent=1)
        files.write(path, data.encode())
    return path


def as_json(one: RecitalHeard, *, words: bool) -> dict[str, Any]:
    """For programs; times in seconds."""
    timed = [
        {"word": one.text[w.first : w.last], "start": round(w.start, 3), "stop": round(w.stop, 3)}
        for w in one.words
    ]
    return {
        "file": str(one.recital.sound),
        "text": str(one.recital.text),
        "language": one.language,
        "seconds": round(one.seconds, 3),
        "word_error": one.error,
        "wrong": [
            {
                "at": round(passage.start, 2),
                "kind": passage.difference.kind,
                "meant": passage.difference.meant,
                "heard": passage.difference.got,
            }
            for passage in one.wrong
        ],
        **({"words": timed} if words else {}),
    }


def _parts(
    text: str, language: str, heard: Iterable[tuple[SoundWindow, Transcript]]
) -> Iterator[_RecordingPart]:
    """Windows with what of the text each should say: as far as what was heard in it reaches, the
    last one all that is left."""
    spans, at = words(text, language), 0
    rows = iter(heard)
    row = next(rows, None)
    while row is not None:
        (window, one), row = row, next(rows, None)
        count = len(words(one.text, language))
        reach = min(len(spans), at + count + max(_BEYOND, count // 2))
        last = len(spans) if row is None else at
        if at < reach and row is not None:
            passage = text[spans[at][0] : spans[reach - 1][1]]
            last = at + _reached(fidelity(passage, one.text, language), reach - at, language)
        first, stop = (spans[at][0], spans[last - 1][1]) if at < last else (len(text), len(text))
        sound = SpokenSound(window.samples, RATE, text[first:stop], language)
        yield _RecordingPart(window.start, first, sound, one)
        at = last


def _reached(found: Fidelity, size: int, language: str) -> int:
    """How many words of a passage, which has so many and is too long, were reached."""
    for one in found.differences:
        if one.words[1] == size and one.kind in ("missing", "other"):
            return min(size, one.words[0] + len(words(one.got, language)))
    return size


def _wrong(
    parts: Sequence[_RecordingPart], ear: Ear
) -> Iterator[tuple[_RecordingPart, Difference]]:
    """What is wrong with each of a batch, as a second hearing with its text says."""
    odd = [one for one in parts if _differs(one)]
    for part, heard in zip(odd, ear.hear([one.sound for one in odd]), strict=True):
        found = judge(heard or part.heard, part.sound.text, part.sound.language, ear.error)
        # a long passage counts though others around it went wrong
        long = (d for d in found.fidelity.differences if d.kind != "other" and d.cost >= _LONG)
        named = dict.fromkeys((*found.wrong, *long))
        for one in named or _all_of(part, heard or part.heard, found):
            yield part, one


def _all_of(part: _RecordingPart, heard: Transcript, found: Judgement) -> Iterator[Difference]:
    """A window that is wrong as a whole, though no passage of it is for certain."""
    if found.odds > 1:
        text = part.sound.text
        count = len(words(text, part.sound.language))
        yield Difference("other", 0, len(text), (0, count), text, heard.text,
                         min(1.0, found.fidelity.error), found.fidelity.count)  # fmt: skip


def _differs(part: _RecordingPart) -> bool:
    return bool(fidelity(part.sound.text, part.heard.text, part.sound.language).differences)


def _timed(parts: Sequence[_RecordingPart], ear: Ear) -> Iterator[TimedWord]:
    """The words of a batch, as places and seconds of the whole."""
    for part, times in zip(parts, ear.align([one.sound for one in parts]), strict=True):
        for one in times.words if times else ():
            yield TimedWord(part.first + one.first, part.first + one.last,
                            part.start + one.start, part.start + one.stop)  # fmt: skip


def _placed(
    wrong: Iterable[tuple[_RecordingPart, Difference]], timed: Sequence[TimedWord]
) -> Iterator[WrongPassage]:
    """When each passage is said, or should be, in their order; as near as the words before it are
    timed."""
    firsts = [word.first for word in timed]
    for part, one in sorted(wrong, key=lambda pair: (pair[0].start, pair[1].first)):
        place = bisect.bisect_right(firsts, part.first + one.first) - 1
        near = timed[place].start if place >= 0 else part.start
        yield WrongPassage(max(part.start, near), one)


def _read(path: Path) -> str:
    try:
        with files.storage(path):
            return encoding.decode(files.read_whole(path, _LARGEST)).text
    except files.TooLarge:
        raise StorageError(f"{path}: larger than 16 MB, which no text of a recording is") from None
    except encoding.NoText as error:
        raise UserError(f"{path}: {error}") from None


def _spoken(written: str, path: Path, language: str) -> str:
    """A text as it is spoken; of Markdown, what a chapter of it says."""
    lexicon = Lexicon([])
    paragraphs: list[tuple[str, list[tuple[int, int, str]]]] = [
        (" ".join(one.split()), []) for one in written.split("\n\n")
    ]
    if path.suffix.lower() == ".md":
        with contextlib.suppress(ScriptError):  # no script of ours: as it stands
            chapter = read_chapter(written, path=path, title="", language=language,
                                   roles=Roles({}, "narrator"), speaker="narrator")  # fmt: skip
            paragraphs = [
                (line.text, [(one.start, one.stop, one.spoken) for one in line.says])
                for scene in chapter.scenes
                for line in scene.lines
            ]
    said = (
        normalize(one, language=language, speaker="", lexicon=lexicon, says=says).text
        for one, says in paragraphs
    )
    return " ".join(filter(None, said))


def _seconds(path: Path) -> float:
    with media.in_words(path), media.sound(path) as container:
        return (container.duration or 0) / 1_000_000


def _windows(path: Path) -> Iterator[SoundWindow]:
    with media.in_words(path), media.sound(path) as container:
        rate = container.streams.audio[0].rate
        yield from windows(audio.resampled(audio.decoded(container), rate, RATE), RATE)
