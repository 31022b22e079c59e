"""Checks and times recordings that were not made by narrator, each with its text beside it.

A recording is recognised in windows. The text that each window should say follows from what was
recognised in it. Windows that differ are recognised a second time with their text as a prompt,
which separates mistakes of the recogniser from those of the speaker. Writes nothing but
`write_times`.
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

from manuscripts import encoding
from narrator import files
from narrator.errors import ScriptError, StorageError, UsageError, UserError
from narrator.project.place import MANIFEST_NAME
from narrator.sound import audio, media
from narrator.sound.formats import SOUND_SUFFIXES
from narrator.sound.timing import TimedWord
from narrator.speech.hearing import SpokenSound, Transcript
from narrator.speech.hearing.compare import Difference, Fidelity, fidelity
from narrator.speech.hearing.judging import Judgement, judge
from narrator.speech.hearing.listening import TakeListener
from narrator.speech.hearing.windows import SoundWindow, split_windows
from narrator.text.labels import Roles
from narrator.text.normalize import Lexicon, normalize
from narrator.text.script import read_chapter
from narrator.text.words import words
from textbase.recognise import language_of

TEXTS = (".txt", ".md")
RATE = 16_000
_MAX_EXTRA_WORDS = 20
"""Smallest number of words that a window's text may have beyond those of its transcript."""
_LONG_PASSAGE_WORDS = 4.0
"""Cost in words from which a difference is reported whatever else is wrong around it."""
_MAX_BYTES = 16_000_000
"""Largest text file in bytes."""


@dataclass(frozen=True, slots=True)
class Recital:
    """A recording, and the file of its text."""

    sound: Path
    text: Path


def are_recordings(path: Path) -> bool:
    """True if a path leads to recordings rather than to a project."""
    if path.is_dir():
        return not (path / MANIFEST_NAME).exists() and any(map(_is_sound, path.iterdir()))
    return _is_sound(path)


def _is_sound(path: Path) -> bool:
    return path.suffix.lower() in SOUND_SUFFIXES


def find_recitals(location: Path, text: Path | None = None) -> tuple[list[Recital], list[Path]]:
    """The recordings of a file or folder with their texts, and those without a text.

    A text has the name of its recording, or is `text` for a single file. Raises UsageError.
    """
    if location.is_dir():
        if text is not None:
            raise UsageError("--text is for one recording; in a folder each has a text of its name")
        with files.translating_errors(location):
            sounds = sorted(filter(_is_sound, location.iterdir()))
        if not sounds:
            raise UsageError(
                f"{location}: no manifest, and no recordings ({' '.join(sorted(SOUND_SUFFIXES))})"
            )
    else:
        sounds = [location]
    recitals_with_text: list[Recital] = []
    for sound in sounds:
        candidate_texts = (sound.with_suffix(ending) for ending in TEXTS)
        own_text = text or next((path for path in candidate_texts if path.is_file()), None)
        if own_text is not None:
            recitals_with_text.append(Recital(sound, own_text))
    if not recitals_with_text:
        raise UsageError(
            f"{location}: no text beside it ({sounds[0].stem}.txt), so there is nothing to compare "
            "with; --text names one"
        )
    return recitals_with_text, [
        recording
        for recording in sounds
        if recording not in {recital.sound for recital in recitals_with_text}
    ]


@dataclass(frozen=True, slots=True)
class WrongPassage:
    """A passage that does not say its text."""

    start: float
    """Approximate second of the recording."""
    difference: Difference


@dataclass(frozen=True, slots=True)
class RecitalResult:
    """The outcome of listening to a recording."""

    recital: Recital
    language: str
    seconds: float
    text: str
    """As it is spoken."""
    error: float
    """Word error rate."""
    wrong: tuple[WrongPassage, ...]
    words: tuple[TimedWord, ...]
    """The words of `text` that could be timed."""


@dataclass(frozen=True, slots=True)
class _RecordingPart:
    """A window of a recording with the part of the text that it should say."""

    start: float
    """Second of the recording."""
    first: int
    """Offset of its text in the full text."""
    sound: SpokenSound
    transcript: Transcript

    @property
    def without_sound(self) -> _RecordingPart:
        """The part without its samples, since a recording may last for hours."""
        no_samples = np.zeros(0, np.float32)
        return replace(self, sound=replace(self.sound, samples=no_samples))


def hear_recital(
    recital: Recital,
    recogniser: TakeListener,
    *,
    language: str | None = None,
    on_progress: Callable[[float], None],
    cancel: Event,
) -> RecitalResult | None:
    """Listen to one recording; None if it was stopped. `on_progress` receives the share done.

    Raises UserError, StorageError, EngineUnavailable.
    """
    text, language = _load_spoken_text(recital, recogniser, language)
    seconds = _recording_seconds(recital.sound)
    differences: list[tuple[_RecordingPart, Difference]] = []
    timed_words: list[TimedWord] = []
    spoken_texts: list[str] = []
    recording_parts = _split_text(
        text, language, _recognise_windows(recital.sound, language, recogniser)
    )
    for batch in recogniser.batches(recording_parts):
        if cancel.is_set():
            return None
        end_second = batch[-1].start + len(batch[-1].sound.samples) / RATE
        spoken_texts += (part.transcript.text for part in batch)
        differences += (
            (part.without_sound, difference)
            for part, difference in _find_differences(batch, recogniser)
        )
        timed_words += _time_words(batch, recogniser)
        on_progress(min(1.0, end_second / max(seconds, end_second)))
    if not spoken_texts:
        raise UserError(f"{recital.sound}: holds no sound")
    error = fidelity(text, " ".join(spoken_texts), language).error
    passages = tuple(_place_differences(differences, timed_words))
    return RecitalResult(recital, language, seconds, text, error, passages, tuple(timed_words))


def _load_spoken_text(
    recital: Recital, recogniser: TakeListener, language: str | None
) -> tuple[str, str]:
    """The text of a recording as it is spoken, and its language. Raises UserError, StorageError."""
    written_text = _read_text(recital.text)
    language = language or language_of(written_text) or "en"
    if not recogniser.can_judge(language):
        recogniser_title = recogniser.recogniser.title if recogniser.recogniser else "what listens"
        raise UsageError(
            f"{recital.text}: is in '{language}', which {recogniser_title} does not know; another "
            "--model, or --language where that is wrong"
        )
    text = _as_spoken(written_text, recital.text, language)
    if not words(text, language):
        raise UserError(f"{recital.text}: holds no words, so there is nothing to compare with")
    return text, language


def _recognise_windows(
    path: Path, language: str, recogniser: TakeListener
) -> Iterator[tuple[SoundWindow, Transcript]]:
    """Yields each window of a recording with what was recognised in it."""
    for batch in recogniser.batches(_windows(path)):
        transcripts = recogniser.hear(
            [SpokenSound(window.samples, RATE, "", language) for window in batch]
        )
        yield from zip(
            batch, (transcript or Transcript("") for transcript in transcripts), strict=True
        )


def write_times(heard_recital: RecitalResult, folder: Path) -> Path:
    """Write the words of a recording and their times as JSON into a folder.

    Returns the path. Raises StorageError.
    """
    path = folder / f"{heard_recital.recital.sound.name}.words.json"
    with files.translating_errors(path):
        folder.mkdir(parents=True, exist_ok=True)
        json_text = json.dumps(as_json(heard_recital, words=True), ensure_ascii=False, indent=1)
        files.write(path, json_text.encode())
    return path


def as_json(heard_recital: RecitalResult, *, words: bool) -> dict[str, Any]:
    """The outcome as JSON, with times in seconds."""
    timed = [
        {
            "word": heard_recital.text[word.first : word.last],
            "start": round(word.start, 3),
            "stop": round(word.stop, 3),
        }
        for word in heard_recital.words
    ]
    return {
        "file": str(heard_recital.recital.sound),
        "text": str(heard_recital.recital.text),
        "language": heard_recital.language,
        "seconds": round(heard_recital.seconds, 3),
        "word_error": heard_recital.error,
        "wrong": [
            {
                "at": round(passage.start, 2),
                "kind": passage.difference.kind,
                "meant": passage.difference.text,
                "heard": passage.difference.heard_text,
            }
            for passage in heard_recital.wrong
        ],
        **({"words": timed} if words else {}),
    }


def _split_text(
    text: str, language: str, windows_heard: Iterable[tuple[SoundWindow, Transcript]]
) -> Iterator[_RecordingPart]:
    """Yields the windows with the text that each should say.

    The text of a window ends where that of its transcript does; the last window gets the remainder.
    """
    word_spans, next_word = words(text, language), 0
    window_iterator = iter(windows_heard)
    current = next(window_iterator, None)
    while current is not None:
        (window, transcript), current = current, next(window_iterator, None)
        count = len(words(transcript.text, language))
        max_word = min(len(word_spans), next_word + count + max(_MAX_EXTRA_WORDS, count // 2))
        end_word = len(word_spans) if current is None else next_word
        if next_word < max_word and current is not None:
            passage = text[word_spans[next_word][0] : word_spans[max_word - 1][1]]
            end_word = next_word + _count_reached_words(
                fidelity(passage, transcript.text, language), max_word - next_word, language
            )
        start_offset, stop_offset = (
            (word_spans[next_word][0], word_spans[end_word - 1][1])
            if next_word < end_word
            else (len(text), len(text))
        )
        sound = SpokenSound(window.samples, RATE, text[start_offset:stop_offset], language)
        yield _RecordingPart(window.start, start_offset, sound, transcript)
        next_word = end_word


def _count_reached_words(comparison: Fidelity, word_count: int, language: str) -> int:
    """The number of words reached in a passage, which is too long.

    The passage has `word_count` words.
    """
    for difference in comparison.differences:
        if difference.word_span[1] == word_count and difference.kind in ("missing", "other"):
            return min(
                word_count, difference.word_span[0] + len(words(difference.heard_text, language))
            )
    return word_count


def _find_differences(
    parts: Sequence[_RecordingPart], recogniser: TakeListener
) -> Iterator[tuple[_RecordingPart, Difference]]:
    """Yields the differences of each part in a batch, judged after a second hearing with its
    text."""
    differing_parts = [
        part
        for part in parts
        if fidelity(part.sound.text, part.transcript.text, part.sound.language).differences
    ]
    for part, second_transcript in zip(
        differing_parts,
        recogniser.hear([part.sound for part in differing_parts]),
        strict=True,
    ):
        judgement = judge(
            second_transcript or part.transcript,
            part.sound.text,
            part.sound.language,
            recogniser.error,
        )
        # a long passage counts though others around it went wrong
        long_differences = (
            candidate
            for candidate in judgement.fidelity.differences
            if candidate.kind != "other" and candidate.cost >= _LONG_PASSAGE_WORDS
        )
        differences = dict.fromkeys((*judgement.wrong, *long_differences))
        for difference in differences or _whole_window_difference(
            part, second_transcript or part.transcript, judgement
        ):
            yield part, difference


def _whole_window_difference(
    part: _RecordingPart, transcript: Transcript, judgement: Judgement
) -> Iterator[Difference]:
    """Yields the full window as one difference, if it is wrong but no passage of it for certain."""
    if judgement.odds > 1:
        text = part.sound.text
        word_count = len(words(text, part.sound.language))
        yield Difference(
            kind="other",
            first=0,
            last=len(text),
            word_span=(0, word_count),
            text=text,
            heard_text=transcript.text,
            unlikeness=min(1.0, judgement.fidelity.error),
            cost=judgement.fidelity.error_count,
        )


def _time_words(parts: Sequence[_RecordingPart], recogniser: TakeListener) -> Iterator[TimedWord]:
    """The words of a batch, with their offsets in the text and seconds in the recording."""
    for part, word_times in zip(
        parts, recogniser.align([part.sound for part in parts]), strict=True
    ):
        for word in word_times.words if word_times else ():
            yield TimedWord(part.first + word.first, part.first + word.last,
                            part.start + word.start, part.start + word.stop)  # fmt: skip


def _place_differences(
    differences: Iterable[tuple[_RecordingPart, Difference]], timed_words: Sequence[TimedWord]
) -> Iterator[WrongPassage]:
    """Yields the passages in their order, each with the second near which it is spoken.

    The time is that of the last timed word before the passage.
    """
    word_offsets = [word.first for word in timed_words]
    for part, difference in sorted(differences, key=lambda pair: (pair[0].start, pair[1].first)):
        word_index = bisect.bisect_right(word_offsets, part.first + difference.first) - 1
        last_start = timed_words[word_index].start if word_index >= 0 else part.start
        yield WrongPassage(max(part.start, last_start), difference)


def _read_text(path: Path) -> str:
    """The text of a file. Raises StorageError, UserError."""
    try:
        with files.translating_errors(path):
            return encoding.decode(files.read_bounded(path, _MAX_BYTES)).text
    except files.TooLarge:
        raise StorageError(
            f"{path}: larger than 16 MB, too large for the text of a recording"
        ) from None
    except encoding.NoText as error:
        raise UserError(f"{path}: {error}") from None


def _as_spoken(written_text: str, path: Path, language: str) -> str:
    """A text as it is spoken; Markdown is read like a chapter."""
    lexicon = Lexicon([])
    paragraphs: list[tuple[str, list[tuple[int, int, str]]]] = [
        (" ".join(paragraph.split()), []) for paragraph in written_text.split("\n\n")
    ]
    if path.suffix.lower() == ".md":
        with contextlib.suppress(ScriptError):  # not a valid chapter: read as plain text
            chapter = read_chapter(written_text, path=path, title="", language=language,
                                   roles=Roles({}, "narrator"), speaker="narrator")  # fmt: skip
            paragraphs = [
                (line.text, [(say.start, say.stop, say.spoken) for say in line.spoken_forms])
                for scene in chapter.scenes
                for line in scene.lines
            ]
    spoken_paragraphs = (
        normalize(paragraph, language=language, speaker="", lexicon=lexicon, says=says).text
        for paragraph, says in paragraphs
    )
    return " ".join(filter(None, spoken_paragraphs))


def _recording_seconds(path: Path) -> float:
    """The length of a recording in seconds."""
    with media.as_user_errors(path), media.open_sound(path) as container:
        return (container.duration or 0) / 1_000_000


def _windows(path: Path) -> Iterator[SoundWindow]:
    """Yields the windows of a recording."""
    with media.as_user_errors(path), media.open_sound(path) as container:
        rate = container.streams.audio[0].rate
        yield from split_windows(
            audio.resample_stream(audio.decode_frames(container), rate, RATE), RATE
        )
