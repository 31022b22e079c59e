"""Finds words of a book whose pronunciation nothing defines.

Words are known if they are in a word list, in the lexicon, marked in the text, or read by a rule of
the language.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from narrator.pipeline.manuscript import Manuscript
from narrator.speech.plan import Utterance
from narrator.text import vocabulary
from narrator.text.chunks import group_unison
from narrator.text.normalize import AUTHORS_RULES, TYPOGRAPHY, Change


@dataclass(slots=True)
class UnknownWord:
    """A word in one language, in all its spellings."""

    language: str
    first: Utterance
    """The first utterance with the word."""
    offset: int
    """Offset in that chunk's text."""
    spelling_counts: Counter[str] = field(default_factory=Counter)
    """Number of occurrences of each spelling."""

    @property
    def word(self) -> str:
        """The most frequent spelling."""
        return self.spelling_counts.most_common(1)[0][0]

    @property
    def count(self) -> int:
        return self.spelling_counts.total()


def find_unknown_words(manuscript: Manuscript) -> tuple[list[UnknownWord], list[str]]:
    """Unknown words, the most frequent first, and languages of the book without a word list.

    Raises EnvironmentFailed if the lists are not installed.
    """
    vocabulary.require()
    words_by_key: dict[tuple[str, str], UnknownWord] = {}
    unlisted_languages: dict[str, None] = {}
    for utterance, *_ in group_unison(manuscript.spoken):  # text in unison counts once
        if not vocabulary.has_list(utterance.language):
            unlisted_languages[utterance.language] = None
            continue
        spoken_changes = [change for change in utterance.spoken.changes if _is_read(change)]
        for offset, spelling in vocabulary.unknown_words(utterance.chunk.text, utterance.language):
            if spelling in utterance.spoken.pronunciations:
                continue
            if any(
                change.start < offset + len(spelling) and offset < change.stop
                for change in spoken_changes
            ):
                continue
            key = (utterance.language, spelling.casefold())
            words_by_key.setdefault(
                key, UnknownWord(utterance.language, utterance, offset)
            ).spelling_counts[spelling] += 1
    return sorted(words_by_key.values(), key=lambda word: -word.count), list(unlisted_languages)


def _is_read(change: Change) -> bool:
    """True if a change defines how words are spoken, not only how they are written."""
    has_same_letters = change.written.casefold() == change.spoken.casefold()
    return change.rule not in TYPOGRAPHY and (not has_same_letters or change.rule in AUTHORS_RULES)
