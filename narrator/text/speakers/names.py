"""The cast of a book by all its names: which character a run of words may stand for.

Knows characters and words, nothing of quotations.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from narrator.text.sentences import primary
from narrator.text.speakers.words import (
    ARTICLES,
    HE_NAMES,
    PERSONS,
    PRONOUNS,
    SHE_NAMES,
    SHORT,
    TITLES,
)

Words = tuple[str, ...]
"""A name as it is compared: folded words, titles in their short form."""


@dataclass(frozen=True, slots=True)
class Character:
    """One of a book's characters."""

    name: str
    aliases: tuple[str, ...] = ()
    pronoun: str | None = None
    """he, she, or any other; None where it is not known."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((self.name, *self.aliases)))


@dataclass(frozen=True, slots=True)
class Token:
    """A word of a text."""

    norm: str
    """Folded, without a possessive's ending."""
    start: int
    stop: int
    capital: bool
    possessive: bool = False


_WORD = re.compile(r"[^\W_]+(?:['’][^\W\d_]+)*")


def tokens(text: str) -> list[Token]:
    """The words of a text."""
    found = []
    for word in _WORD.finditer(text):
        norm = word[0].casefold().replace("’", "'")
        owns = norm.endswith("'s")
        norm = norm[:-2] if owns else norm
        found.append(Token(norm, word.start(), word.end(), word[0][0].isupper(), owns))
    return found


def name_words(name: str) -> Words:
    return tuple(SHORT.get(token.norm, token.norm) for token in tokens(name))


@dataclass(frozen=True, slots=True)
class Entry:
    """What a run of words may stand for."""

    characters: tuple[int, ...]
    """Places in the cast."""
    common: bool
    """Whether it is a common noun ("the old man"), which needs no capitals."""
    noun: bool
    """Whether the cast has it with an article: it needs either capitals or an article."""


class KnownNames:
    """All names of a cast by their words."""

    def __init__(self, cast: Sequence[Character], language: str = "en") -> None:
        self.cast = tuple(cast)
        english = primary(language) == "en"  # in French, Jean is another
        self.pronouns = [member.pronoun or _pronoun_of(member, english) for member in cast]
        """As far as they are given, or told by names."""
        self._whole = _whole_names(cast)
        forms = _with_parts(cast, self._whole)
        _leave_surnames_to_men(forms, self._whole, self.pronouns)
        self._entries: dict[Words, Entry] = {}
        sizes: dict[str, set[int]] = {}
        for form, bearers in forms.items():
            noun = all(_has_with_article(cast[who], form) for who in bearers)
            self._entries[form] = Entry(tuple(bearers), _is_common(form, noun), noun)
            sizes.setdefault(form[0], set()).add(len(form))
        self._sizes = {first: sorted(own, reverse=True) for first, own in sizes.items()}
        """Of the names that begin with a word, the longest first."""

    def find(self, name: str) -> int | None:
        """Who bears a name or alias."""
        return next(iter(self._whole.get(name_words(name), ())), None)

    def at(self, words: Sequence[Token], place: int, text: str) -> tuple[int, Entry] | None:
        """The longest name that begins with a word: its number of words, and what it is."""
        norm = words[place].norm
        for size in self._sizes.get(SHORT.get(norm, norm), ()):
            run = words[place : place + size]
            entry = self._entries.get(tuple(SHORT.get(one.norm, one.norm) for one in run))
            if entry is None or len(run) < size or not _hangs_together(run, text):
                continue
            capitals = all(token.capital or token.norm in _JOINTS for token in run)
            if capitals or entry.common or (entry.noun and _has_article(words, place, text)):
                return size, entry
        return self._of_two(words, place)

    def _of_two(self, words: Sequence[Token], place: int) -> tuple[int, Entry] | None:
        """The first of "Mr. and Mrs. Hart"."""
        if words[place].norm not in TITLES:
            return None
        run = [word.norm for word in words[place : place + 4]]
        if len(run) < 4 or run[1] != "and" or run[2] not in TITLES:
            return None
        entry = self._entries.get((SHORT.get(run[0], run[0]), run[3]))
        return None if entry is None else (1, entry)


_JOINTS = frozenset("of de the la von van le du and".split())
_SPEAKING = frozenset("i me my myself we us you".split())
_OWNED = re.compile(r"['’]s?\s", re.IGNORECASE)
_ALONE = frozenset(
    "dr prof capt col major gen inspector rev judge mademoiselle madame monsieur signor signora "
    "duke duchess king queen prince princess count countess baron baroness bishop sergeant squire "
    "admiral".split()
)
"""Titles that stand for their bearer by themselves."""


def _whole_names(cast: Sequence[Character]) -> dict[Words, list[int]]:
    """Names and aliases as they are given, with and without their article -> who bears them."""
    whole: dict[Words, list[int]] = {}
    for who, member in enumerate(cast):
        for name in member.names:
            words = name_words(name)
            bare = words[1:] if words and words[0] in ARTICLES else words
            for form in dict.fromkeys(one for one in (words, bare) if one):
                bearers = whole.setdefault(form, [])
                if bearers[-1:] != [who]:
                    bearers.append(who)
    return whole


def _with_parts(cast: Sequence[Character], whole: dict[Words, list[int]]) -> dict[Words, list[int]]:
    """The same, with parts of names that are nobody's whole name.

    A single word that is all that is known of one ("Bounderby") and another's surname may be
    either.
    """
    forms = {form: list(own) for form, own in whole.items() if not _is_anybodys(form)}
    for who, member in enumerate(cast):
        surnames = {words[-1:] for words in _plain(member) if len(words) > 1}
        for form in filter(None, _parts(member)):
            own = whole.get(form)
            if own is not None and not (
                form in surnames and all(_is_one_word(cast[other]) for other in own)
            ):
                continue
            if _is_anybodys(form):
                continue
            bearers = forms.setdefault(form, [])
            if who not in bearers[-1:] and who not in (own or ()):
                bearers.append(who)
    return forms


def _is_anybodys(form: Words) -> bool:
    """Whether a name is but a pronoun or an article, which is anybody's."""
    return len(form) == 1 and (form[0] in ARTICLES or form[0] in PRONOUNS or form[0] in _SPEAKING)


def _leave_surnames_to_men(
    forms: Mapping[Words, list[int]],
    whole: Mapping[Words, list[int]],
    pronouns: Sequence[str | None],
) -> None:
    """A surname alone is nobody's wife's or daughter's, where a man bears it."""
    for form, bearers in forms.items():
        if len(form) > 1 or form in whole or len(bearers) < 2:
            continue
        if any(pronouns[who] == "he" for who in bearers):
            bearers[:] = [who for who in bearers if pronouns[who] != "she"]


def _plain(member: Character) -> list[Words]:
    """A character's names but for those with an article, and "Ada's sister"."""
    words = (name_words(name) for name in member.names if not _OWNED.search(name))
    return [own for own in words if own and own[0] not in ARTICLES]


def _is_one_word(member: Character) -> bool:
    return not member.aliases and len(name_words(member.name)) == 1


def _parts(member: Character) -> Iterator[Words]:
    """Parts of a character's names that may stand for it: without its title, first, last."""
    for name in member.names:
        words = name_words(name)
        plain = words and words[0] in ARTICLES and not _OWNED.search(name)
        if plain and len(words) > 3 and "of" in words:
            yield words[1 : words.index("of")]
    for words in _plain(member):
        if "of" in words[1:]:
            yield words[: words.index("of")]
        else:
            yield from _parts_of(words)


def _parts_of(words: Words) -> Iterator[Words]:
    bare = tuple(word for word in words if word not in TITLES)
    titles = words[: len(words) - len(bare)]
    if titles and titles[0] in _ALONE:
        yield titles[:1]
    if bare:
        yield bare
    if len(bare) > 1:
        yield bare[:1]
        yield bare[-1:]
        yield from ((titles[0], bare[-1]), (titles[0], bare[0])) if titles else ()


def _hangs_together(run: Sequence[Token], text: str) -> bool:
    """Whether nothing but spaces, hyphens and a title's full stop stands between words."""
    for before, after in pairwise(run):
        gap = text[before.stop : after.start].strip()
        if gap not in ("", "-") and not (gap == "." and len(before.norm) < 5):
            return False
    return True


def _is_common(form: Words, noun: bool) -> bool:
    if form[0] in ARTICLES:
        return True
    return form[-1] in PERSONS and form[0] not in TITLES and (noun or len(form) > 1)


def _has_with_article(member: Character, form: Words) -> bool:
    own = (name_words(name) for name in member.names)
    return any(words[0] in ARTICLES and words[1:] == form for words in own if words)


def _has_article(words: Sequence[Token], place: int, text: str) -> bool:
    """Whether an article stands before a word, with up to three adjectives between."""
    for before in range(place - 1, max(-1, place - 5), -1):
        if text[words[before].stop : words[before + 1].start].strip(" -,"):
            return False
        if words[before].norm in ARTICLES:
            return True
    return False


def _pronoun_of(member: Character, english: bool) -> str | None:
    """The pronoun that a character's own names tell, if they do."""
    votes = {"he": 0, "she": 0}
    for name in member.names:
        words = name_words(name)
        for at, word in enumerate(words):
            titled = TITLES.get(word) if word in TITLES else PERSONS.get(word)
            of_another = at > 0 and words[at - 1] == "of"
            if titled and not of_another and (word in TITLES or at == len(words) - 1):
                votes[titled] += 3 if at < len(words) - 1 else 2
        first = next((word for word in words if word not in TITLES), "") if english else ""
        votes["he"] += first in HE_NAMES
        votes["she"] += first in SHE_NAMES
    if votes["he"] == votes["she"]:
        return None
    return max(votes, key=votes.__getitem__)
