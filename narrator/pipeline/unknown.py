"""Words of a book that nobody has said how to speak, and no list of words knows.

What the lexicon, a mark in the text or a rule of the language reads is known.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from narrator.pipeline.manuscript import Manuscript
from narrator.speech.plan import Utterance
from narrator.text import wordlist
from narrator.text.chunks import together
from narrator.text.normalize import TYPOGRAPHY, Change


@dataclass(slots=True)
class UnknownWord:
    """A word, however its letters are written, in one language."""

    language: str
    first: Utterance
    """Where it is first said."""
    at: int
    """Offset in that chunk's text."""
    written: Counter[str] = field(default_factory=Counter)
    """How it is written, and how often."""

    @property
    def word(self) -> str:
        """As it is mostly written."""
        return self.written.most_common(1)[0][0]

    @property
    def count(self) -> int:
        return self.written.total()


def unknown(manuscript: Manuscript) -> tuple[list[UnknownWord], list[str]]:
    """Unknown words, the most frequent first; and languages of the book that have no list.

    Raises EnvironmentFailed without the lists.
    """
    wordlist.require()
    found: dict[tuple[str, str], UnknownWord] = {}
    without: dict[str, None] = {}
    for one, *_ in together(manuscript.spoken):  # what several say in unison counts once
        if not wordlist.has(one.language):
            without[one.language] = None
            continue
        read = [change for change in one.spoken.changes if _is_read(change)]
        for at, word in wordlist.strangers(one.chunk.text, one.language):
            if word in one.spoken.pronunciations:
                continue
            if any(change.start < at + len(word) and at < change.stop for change in read):
                continue
            key = (one.language, word.casefold())
            found.setdefault(key, UnknownWord(one.language, one, at)).written[word] += 1
    return sorted(found.values(), key=lambda word: -word.count), list(without)


def _is_read(change: Change) -> bool:
    """Whether somebody or a rule has said how words are spoken, not only how they are written."""
    same = change.written.casefold() == change.spoken.casefold()
    return change.rule not in TYPOGRAPHY and (not same or change.rule in ("lexicon", "say"))
