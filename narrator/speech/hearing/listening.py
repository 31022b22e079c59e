"""Hears takes in batches: transcripts, faults in the words, word times.

The render loop, a pass over a book (`pipeline/hearing.py`) or a retake decides which takes are
heard and what follows; all of them listen through an `TakeListener`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Generic, Literal, TypeVar

from narrator.errors import EngineUnavailable
from narrator.sound.timing import WordTimes
from narrator.speech import checks
from narrator.speech.hearing import Aligner, Recogniser, SpokenSound, Transcript
from narrator.speech.hearing.judging import HeardAs, Judgement, judge
from narrator.speech.hearing.transcripts import TranscriptStore
from textbase.languages import primary

Mode = Literal["suspicious", "all"]
_MEMORY_ERROR = re.compile("memory|alloc", re.IGNORECASE)
"""Matches errors of a device that is out of memory."""
_Answer = TypeVar("_Answer")
_Owner = TypeVar("_Owner")
_Row = TypeVar("_Row")


@dataclass(frozen=True, slots=True)
class Opinion:
    """The result of listening to a sound: faults, transcript and word times."""

    faults: tuple[checks.Fault, ...] = ()
    """Missing and additional words."""
    odds: float = 0.0
    """Odds of the worst difference between what was heard and the text; over 1 it is a fault."""
    heard: Transcript | None = None
    """None where it was not heard, or is in a language that the recogniser does not know."""
    times: WordTimes | None = None
    """None without an aligner for its language."""


@dataclass(slots=True)
class TakeListener:
    """A recogniser, if there is one, and aligners. Always used on one thread."""

    recogniser: Recogniser | None
    aligners: Sequence[Aligner] = ()
    """The first that knows the language and locates the words times them."""
    mode: Mode = "all"
    """Takes to hear: those with suspicious figures, or all. Words are timed in all."""
    error: float | None = None
    """Share of words that may differ, in place of the language's own."""
    heard_as: HeardAs = field(default_factory=dict)
    """As in `judge`."""

    @property
    def batch(self) -> int:
        """The best number of sounds at a time."""
        return max(listener.batch for listener in self._listeners)

    def batches(self, rows: Iterable[_Row]) -> Iterator[list[_Row]]:
        """Yields the rows in order, a batch at a time."""
        remaining_rows = iter(rows)
        while row_batch := list(islice(remaining_rows, self.batch)):
            yield row_batch

    def can_judge(self, language: str) -> bool:
        """Returns whether speech in a language, by BCP 47 tag, can be judged."""
        return self.recogniser is not None and primary(language) in self.recogniser.languages

    def aligner(self, language: str) -> Aligner | None:
        """Returns a language's first aligner; times of later ones are stored under its name."""
        return next(
            (aligner for aligner in self.aligners if primary(language) in aligner.languages), None
        )

    @property
    def _listeners(self) -> Sequence[Recogniser | Aligner]:
        return (*([self.recogniser] if self.recogniser else []), *self.aligners)

    def listen(
        self, sounds: Sequence[SpokenSound], verdicts: Sequence[checks.Verdict | None]
    ) -> list[Opinion]:
        """Hears and times sounds; with the mode "suspicious" it hears only those near a limit.

        `verdicts` of the signal decide which these are; a sound with None is always heard. Raises
        EngineUnavailable, also where the recogniser fails, so that no take passes unheard.
        """
        transcripts = self.hear(
            [
                sound if self._should_hear(sound, verdict) else None
                for sound, verdict in zip(sounds, verdicts, strict=True)
            ]
        )
        all_times = self.align(sounds)
        opinions = []
        for sound, transcript, word_times in zip(sounds, transcripts, all_times, strict=True):
            opinion = Opinion(heard=transcript, times=word_times)
            if transcript is not None:
                judgement = self.judge(sound.text, sound.language, transcript)
                opinion = replace(opinion, faults=judgement.faults, odds=judgement.odds)
            opinions.append(opinion)
        return opinions

    def _should_hear(self, sound: SpokenSound, verdict: checks.Verdict | None) -> bool:
        return self.mode == "all" or verdict is None or checks.is_suspicious(verdict.figures)

    def hear(self, sounds: Sequence[SpokenSound | None]) -> list[Transcript | None]:
        """Returns the transcript of each sound, None for None. Raises EngineUnavailable."""
        if self.recogniser is None:
            return [None] * len(sounds)
        known_sounds = [
            sound if sound is not None and self.can_judge(sound.language) else None
            for sound in sounds
        ]
        return _answer_each(self.recogniser.title, self.recogniser.hear, known_sounds)

    def align(self, sounds: Sequence[SpokenSound | None]) -> list[WordTimes | None]:
        """Returns the word times of each sound, None for None; empty where not located.

        Raises EngineUnavailable.
        """
        all_times: list[WordTimes | None] = [None] * len(sounds)
        for aligner in self.aligners:
            untimed_sounds = [
                sound
                if sound is not None
                and primary(sound.language) in aligner.languages
                and not (times and times.words)
                else None
                for sound, times in zip(sounds, all_times, strict=True)
            ]
            all_words = _answer_each(aligner.name, aligner.align, untimed_sounds)
            for index, (sound, words) in enumerate(zip(untimed_sounds, all_words, strict=True)):
                if words or (sound is not None and all_times[index] is None):
                    all_times[index] = WordTimes(aligner.name, words or ())
        return all_times

    def judge(self, text: str, language: str, transcript: Transcript) -> Judgement:
        """Judges the words of a take that should say `text`."""
        return judge(transcript, text, language, self.error, self.heard_as)

    def find_stored(
        self, transcripts: TranscriptStore, content: str, text: str, language: str
    ) -> tuple[Transcript | None, WordTimes | None]:
        """Returns the transcript and word times of a take that the current listeners have stored.

        None for each that is not there.
        """
        transcript = times = None
        if self.recogniser:
            transcript = transcripts.find_transcript(content, text, self.recogniser.identity)
        if aligner := self.aligner(language):
            times = transcripts.find_times(content, text, aligner.identity)
        return transcript, times

    def store(
        self, transcripts: TranscriptStore, content: str, text: str, language: str, opinion: Opinion
    ) -> None:
        """Stores an opinion of a take, by its content. Raises StorageError."""
        if self.recogniser and opinion.heard:
            transcripts.store_transcript(content, text, self.recogniser.identity, opinion.heard)
        if opinion.times and (aligner := self.aligner(language)):
            transcripts.store_times(content, text, aligner.identity, opinion.times)


@dataclass(slots=True)
class HearingQueue(Generic[_Owner]):
    """A queue of sounds to hear, each with an owner: heard on a thread of its own.

    Used on the engine's thread.
    """

    listener: TakeListener
    future: Future[list[Opinion]] | None = None
    """The batch that is being heard on its own thread."""
    _waiting: list[tuple[_Owner, SpokenSound, checks.Verdict]] = field(default_factory=list)
    _pending_owners: list[_Owner] = field(default_factory=list)
    """Owners of the sounds in `future`."""
    _pool: ThreadPoolExecutor | None = None

    @property
    def unheard_count(self) -> int:
        """Number of sounds without an opinion yet."""
        return len(self._waiting) + len(self._pending_owners)

    def add(self, owner: _Owner, sound: SpokenSound, verdict: checks.Verdict) -> None:
        """Queues a sound; `verdict` is that of its signal."""
        self._waiting.append((owner, sound, verdict))
        self._start_batch()

    def pop_opinions(self) -> list[tuple[_Owner, Opinion]]:
        """Returns the new opinions with their owners. Raises as `TakeListener.listen`."""
        if self.future is None or not self.future.done():
            return []
        opinions = list(zip(self._pending_owners, self.future.result(), strict=True))
        self.future, self._pending_owners = None, []
        self._start_batch()
        return opinions

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def _start_batch(self) -> None:
        """Hears the next batch on the thread, unless that is busy."""
        if self.future is None and self._waiting:
            self._pool = self._pool or ThreadPoolExecutor(1, "listener")
            size = self.listener.batch
            owners, sounds, verdicts = zip(*self._waiting[:size], strict=True)
            del self._waiting[:size]
            self._pending_owners = list(owners)
            self.future = self._pool.submit(self.listener.listen, sounds, verdicts)


def _answer_each(
    name: str,
    answer: Callable[[Sequence[SpokenSound]], Sequence[_Answer]],
    sounds: Sequence[SpokenSound | None],
) -> list[_Answer | None]:
    """Returns the answer of a recogniser or aligner to each sound, None for None.

    Raises EngineUnavailable where `answer` fails; `name` is for its message.
    """
    requested_sounds = [sound for sound in sounds if sound is not None]
    try:
        answers = iter(answer(requested_sounds) if requested_sounds else ())
        return [None if sound is None else next(answers) for sound in sounds]
    except (RuntimeError, MemoryError) as error:  # all that CTranslate2 raises
        why = next(iter(str(error).splitlines()), "") or type(error).__name__
        if isinstance(error, MemoryError) or _MEMORY_ERROR.search(why):
            raise EngineUnavailable(
                f"not enough memory to hear takes ({why}): close other programs, set fewer "
                "chunks side by side (`engine: {slots: 1}`) or a smaller `checks: {recogniser: "
                "small}`, or set `checks: {recognition: never}`"
            ) from error
        raise EngineUnavailable(
            f"recognition ({name}) failed: {why}; takes that were stored are kept; run again, or "
            "set `checks: {recognition: never}`"
        ) from error
