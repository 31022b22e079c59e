"""Takes heard in batches: what each says, what of that is a fault, when its words are said.

What is to be heard and what becomes of it is decided by the render loop, by a pass over a book
(`pipeline/hearing.py`), or by who asks for one more try; all of them listen through an `Ear`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Generic, Literal, TypeVar

from narrator.errors import EngineUnavailable
from narrator.sound.timing import WordTimes
from narrator.speech import checks
from narrator.speech.hearing import Aligner, Recogniser, SpokenSound, Transcript
from narrator.speech.hearing.judging import judge
from narrator.speech.hearing.kept import Hearings
from narrator.text.sentences import primary

Mode = Literal["suspicious", "all"]
_MEMORY = re.compile("memory|alloc", re.IGNORECASE)
"""In what a device says when it has no room."""
_Found = TypeVar("_Found")
_Whose = TypeVar("_Whose")
_Row = TypeVar("_Row")


@dataclass(frozen=True, slots=True)
class Opinion:
    """What came of listening to a sound."""

    faults: tuple[checks.Fault, ...] = ()
    """What it does not say, or says besides."""
    heard: Transcript | None = None
    """None where it was not to be heard, or is in a language that the recogniser does not know."""
    times: WordTimes | None = None
    """None where nobody here times words of its language."""


@dataclass(slots=True)
class Ear:
    """A recogniser, where there is one, and aligners. Always used on one thread."""

    recogniser: Recogniser | None
    aligners: Sequence[Aligner] = ()
    """Words are timed by the first that knows their language and finds them."""
    mode: Mode = "all"
    """Which takes are heard: those whose figures are suspicious, or all. Words are timed in all."""
    error: float | None = None
    """Share of words that may be otherwise, in place of the language's own."""

    @property
    def batch(self) -> int:
        """Sounds that it is best given at a time."""
        return max(one.batch for one in self._all)

    def batches(self, rows: Iterable[_Row]) -> Iterator[list[_Row]]:
        """Rows in order, so many at a time."""
        waiting = iter(rows)
        while some := list(islice(waiting, self.batch)):
            yield some

    @property
    def is_apart(self) -> bool:
        """Whether it may listen on a thread of its own, beside an engine that speaks."""
        return all(one.is_apart for one in self._all)

    def hears(self, language: str) -> bool:
        """Whether what is said in a language, by BCP 47 tag, can be judged."""
        return self.recogniser is not None and primary(language) in self.recogniser.languages

    def aligner(self, language: str) -> Aligner | None:
        """Who times words of a language first; what others found in its place is kept as its."""
        return next((one for one in self.aligners if primary(language) in one.languages), None)

    @property
    def _all(self) -> Sequence[Recogniser | Aligner]:
        return (*([self.recogniser] if self.recogniser else []), *self.aligners)

    def listen(
        self, sounds: Sequence[SpokenSound], verdicts: Sequence[checks.Verdict | None]
    ) -> list[Opinion]:
        """What is said in each; the verdict of its signal says whether it is suspicious, and None
        that it is to be heard.

        Raises EngineUnavailable, also where the recogniser breaks down: no other take may pass
        unheard.
        """
        heard = self.hear(
            [
                sound if self._wants(sound, verdict) else None
                for sound, verdict in zip(sounds, verdicts, strict=True)
            ]
        )
        times = self.align(sounds)
        return [
            Opinion(
                () if one is None else self.faults_of(sound.text, sound.language, one), one, timed
            )
            for sound, one, timed in zip(sounds, heard, times, strict=True)
        ]

    def _wants(self, sound: SpokenSound, verdict: checks.Verdict | None) -> bool:
        return self.mode == "all" or verdict is None or checks.suspicious(verdict.figures)

    def hear(self, sounds: Sequence[SpokenSound | None]) -> list[Transcript | None]:
        """Of each sound, of None nothing. Raises EngineUnavailable."""
        recogniser = self.recogniser
        known = [one for one in sounds if one is not None and self.hears(one.language)]
        if recogniser is None or not known:
            return [None] * len(sounds)
        found = iter(_in_words(recogniser.title, partial(recogniser.hear, known)))
        return [next(found) if one in known else None for one in sounds]

    def align(self, sounds: Sequence[SpokenSound | None]) -> list[WordTimes | None]:
        """When words are said, of None nothing; without words where they could not be found. Raises
        EngineUnavailable."""
        found: list[WordTimes | None] = [None] * len(sounds)
        for aligner in self.aligners:
            own = {
                place: one
                for place, (one, timed) in enumerate(zip(sounds, found, strict=True))
                if one is not None
                and primary(one.language) in aligner.languages
                and (timed is None or not timed.words)
            }
            if own:
                timed = _in_words(aligner.name, partial(aligner.align, list(own.values())))
                for place, words in zip(own, timed, strict=True):
                    if words or found[place] is None:
                        found[place] = WordTimes(aligner.name, words or ())
        return found

    def faults_of(self, text: str, language: str, heard: Transcript) -> tuple[checks.Fault, ...]:
        """What a take that should say `text` does not say, or says besides."""
        return judge(heard, text, language, self.error).faults

    def known(
        self, hearings: Hearings, content: str, text: str, language: str
    ) -> tuple[Transcript | None, WordTimes | None]:
        """What was made of a take before, by this recogniser and by who would time it now."""
        heard = times = None
        if self.recogniser:
            heard = hearings.heard(content, text, self.recogniser.identity)
        if aligner := self.aligner(language):
            times = hearings.times(content, text, aligner.identity)
        return heard, times

    def keep(
        self, hearings: Hearings, content: str, text: str, language: str, opinion: Opinion
    ) -> None:
        """Remember an opinion of a take, by its content. Raises StorageError."""
        if self.recogniser and opinion.heard:
            hearings.keep(content, text, self.recogniser.identity, opinion.heard)
        if opinion.times and (aligner := self.aligner(language)):
            hearings.keep_times(content, text, aligner.identity, opinion.times)


@dataclass(slots=True)
class Listening(Generic[_Whose]):
    """Sounds that wait to be heard, each somebody's: beside an engine that speaks, or in its turn.

    Used on the engine's thread.
    """

    ear: Ear
    future: Future[list[Opinion]] | None = None
    """What is being heard on a thread of its own."""
    _waiting: list[tuple[_Whose, SpokenSound, checks.Verdict]] = field(default_factory=list)
    _asked: list[_Whose] = field(default_factory=list)
    """Whose sounds `future` is about."""
    _pool: ThreadPoolExecutor | None = None

    @property
    def waiting(self) -> int:
        """How many are not answered yet."""
        return len(self._waiting) + len(self._asked)

    def add(self, whose: _Whose, sound: SpokenSound, verdict: checks.Verdict) -> None:
        self._waiting.append((whose, sound, verdict))
        if self.ear.is_apart:
            self._begin()

    def heard(self) -> list[tuple[_Whose, Opinion]]:
        """What was heard since; of an ear that is not apart, a batch is heard now. Raises as
        `Ear.listen`."""
        if not self.ear.is_apart:
            asked, sounds, verdicts = self._batch()
            return list(zip(asked, self.ear.listen(sounds, verdicts), strict=True))
        if self.future is None or not self.future.done():
            return []
        found = list(zip(self._asked, self.future.result(), strict=True))
        self.future, self._asked = None, []
        self._begin()
        return found

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def _begin(self) -> None:
        if self.future is None and self._waiting:
            self._pool = self._pool or ThreadPoolExecutor(1, "ear")
            self._asked, sounds, verdicts = self._batch()
            self.future = self._pool.submit(self.ear.listen, sounds, verdicts)

    def _batch(self) -> tuple[list[_Whose], list[SpokenSound], list[checks.Verdict]]:
        some, self._waiting = self._waiting[: self.ear.batch], self._waiting[self.ear.batch :]
        return [a for a, _, _ in some], [b for _, b, _ in some], [c for _, _, c in some]


def _in_words(name: str, work: Callable[[], _Found]) -> _Found:
    """What a recogniser raises, said as what it is. Raises EngineUnavailable."""
    try:
        return work()
    except (RuntimeError, MemoryError) as error:  # all that MLX and CTranslate2 raise
        why = next(iter(str(error).splitlines()), "") or type(error).__name__
        if isinstance(error, MemoryError) or _MEMORY.search(why):
            raise EngineUnavailable(
                f"not enough memory to hear takes ({why}): close other programs, set fewer "
                "chunks side by side (`engine: {slots: 1}`) or a smaller `checks: {recogniser: "
                "small}`, or set `checks: {recognition: never}`"
            ) from error
        raise EngineUnavailable(
            f"recognition ({name}) failed: {why}; takes that were stored are kept; run again, or "
            "set `checks: {recognition: never}`"
        ) from error
