"""Divides a book into stories: collections have several, each with a cast of its own.

Stories are runs of chapters that share hardly any names of people. Roles like "the landlord" are in
many stories, and given names are often equal; surnames tell more. Knows nothing of who speaks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from narrator.text.speakers.mentions import Mention, Passage
from narrator.text.speakers.names import Words
from narrator.text.speakers.words import ARTICLES, HE_NAMES, PERSONS, SHE_NAMES, TITLES
from narrator.text.speech_words import speech_of
from textbase.languages import primary

_MIN_MENTIONS = 20
"""Names of people that a chapter has at least, for its story to be told from others."""
_SHARED_NAMES, _SHARED_SURNAMES = 0.25, 0.05
"""Shares of the names of both of two chapters that are equal, from which they are one story: of all
names but roles, and of those that are not given names either."""


def find_stories(passages: Sequence[Passage], chapter_count: int) -> list[range]:
    """Returns the chapters of each story of a book, whose `passages` name the people."""
    names_by_chapter = [Counter[Words]() for _ in range(chapter_count)]
    for passage in passages:
        for mention in passage.mentions:
            if mention.characters and passage.words[mention.last - 1].is_capitalised:
                names_by_chapter[passage.chapter][_name_of(passage, mention)] += 1
    common_names = _given_names(passages[0].language) if passages else frozenset[str]()
    starts = [0]
    """First chapters of the stories so far."""
    telling_chapters: list[int] = []
    """Chapters so far with enough names."""
    for chapter, names in enumerate(names_by_chapter):
        if names.total() < _MIN_MENTIONS:
            continue
        linked_chapter = next(
            (
                earlier
                for earlier in telling_chapters
                if _are_linked(names_by_chapter[earlier], names, common_names)
            ),
            None,
        )
        if linked_chapter is not None:
            starts = [start for start in starts if start <= linked_chapter]
        elif telling_chapters:
            starts.append(_first_chapter(names_by_chapter, telling_chapters[-1], chapter))
        telling_chapters.append(chapter)
    return [
        range(start, stop) for start, stop in zip(starts, (*starts[1:], chapter_count), strict=True)
    ]


def _first_chapter(
    names_by_chapter: Sequence[Counter[Words]], last_chapter: int, chapter: int
) -> int:
    """Returns the first chapter of the story of `chapter`: of the chapters between it and the last
    one of another story, those join it that do not share more names with the other."""
    first = chapter
    while first - 1 > last_chapter:
        names = names_by_chapter[first - 1]
        if (names & names_by_chapter[last_chapter]).total() > (
            names & names_by_chapter[chapter]
        ).total():
            break
        first -= 1
    return first


def _name_of(passage: Passage, mention: Mention) -> Words:
    return tuple(word.norm for word in passage.words[mention.first : mention.last])


def _given_names(language: str) -> frozenset[str]:
    if primary(language) == "en":
        return frozenset(HE_NAMES) | frozenset(SHE_NAMES)
    return frozenset(speech_of(language).given_names)


def _are_linked(
    names: Counter[Words], other_names: Counter[Words], given_names: frozenset[str]
) -> bool:
    """Returns whether two chapters name the same people."""
    shared_names = shared_surnames = 0.0
    for name in names.keys() & other_names.keys():
        if name[0] in ARTICLES or all(word in TITLES or word in PERSONS for word in name):
            continue
        share = min(names[name] / names.total(), other_names[name] / other_names.total())
        shared_names += share
        shared_surnames += 0 if len(name) == 1 and name[0] in given_names else share
    return shared_names >= _SHARED_NAMES or shared_surnames >= _SHARED_SURNAMES
