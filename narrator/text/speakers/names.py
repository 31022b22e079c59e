"""Looks up the characters of a cast by any of their names in running text.

Knows characters and words, nothing of quotations.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from narrator.text.speakers.words import (
    ARTICLES,
    HE_NAMES,
    PERSONS,
    PRONOUNS,
    SHE_NAMES,
    SHORT,
    TITLES,
)
from textbase.languages import primary

Words = tuple[str, ...]
"""A name in comparable form: folded words, titles abbreviated."""


@dataclass(frozen=True, slots=True)
class Character:
    """One of a book's characters."""

    name: str
    aliases: tuple[str, ...] = ()
    pronoun: str | None = None
    """he, she, or any other; None if unknown."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((self.name, *self.aliases)))


@dataclass(frozen=True, slots=True)
class Token:
    """A word of a text."""

    norm: str
    """Folded word without a possessive ending."""
    start: int
    stop: int
    is_capitalised: bool
    is_possessive: bool = False


_WORD = re.compile(r"[^\W_]+(?:['’][^\W\d_]+)*")


def tokens(text: str) -> list[Token]:
    """Returns the words of a text."""
    tokens_so_far = []
    for match in _WORD.finditer(text):
        norm = match[0].casefold().replace("’", "'")
        is_possessive = norm.endswith("'s")
        norm = norm[:-2] if is_possessive else norm
        tokens_so_far.append(
            Token(norm, match.start(), match.end(), match[0][0].isupper(), is_possessive)
        )
    return tokens_so_far


def name_words(name: str) -> Words:
    """Returns a name in comparable form."""
    return tuple(SHORT.get(token.norm, token.norm) for token in tokens(name))


@dataclass(frozen=True, slots=True)
class Entry:
    """The meaning of a run of words."""

    characters: tuple[int, ...]
    """Indices in the cast."""
    is_common: bool
    """True for a common noun ("the old man"), which needs no capitals."""
    is_noun: bool
    """True if the cast has it with an article: the text needs capitals or an article."""


class KnownNames:
    """Index of all names of a cast."""

    def __init__(self, cast: Sequence[Character], language: str = "en") -> None:
        self.cast = tuple(cast)
        is_english = primary(language) == "en"  # in French, Jean is another
        self.pronouns = [member.pronoun or _pronoun_of(member, is_english) for member in cast]
        """Pronouns of the characters, given or implied by their names."""
        self._whole_names = _index_whole_names(cast)
        forms = _add_name_parts(cast, self._whole_names)
        _leave_surnames_to_men(forms, self._whole_names, self.pronouns)
        self._entries: dict[Words, Entry] = {}
        sizes: dict[str, set[int]] = {}
        for form, bearers in forms.items():
            needs_article = all(_has_article_form(cast[index], form) for index in bearers)
            self._entries[form] = Entry(
                tuple(bearers), _is_common(form, needs_article), needs_article
            )
            sizes.setdefault(form[0], set()).add(len(form))
        self._word_counts_by_first_word = {
            first: sorted(lengths, reverse=True) for first, lengths in sizes.items()
        }
        """First word of a name -> lengths of such names, the longest first."""

    def find(self, name: str) -> int | None:
        """Returns the index of the character with a name or alias, or None."""
        return next(iter(self._whole_names.get(name_words(name), ())), None)

    def match_at(self, words: Sequence[Token], index: int, text: str) -> tuple[int, Entry] | None:
        """Returns the longest name that begins at a word: its number of words, and its entry."""
        norm = words[index].norm
        for word_count in self._word_counts_by_first_word.get(SHORT.get(norm, norm), ()):
            run = words[index : index + word_count]
            entry = self._entries.get(tuple(SHORT.get(word.norm, word.norm) for word in run))
            if entry is None or len(run) < word_count or not _is_contiguous(run, text):
                continue
            has_capitals = all(
                token.is_capitalised or token.norm in _NAME_PARTICLES for token in run
            )
            if (
                has_capitals
                or entry.is_common
                or (entry.is_noun and _has_article(words, index, text))
            ):
                return word_count, entry
        return self._match_shared_surname(words, index)

    def _match_shared_surname(self, words: Sequence[Token], index: int) -> tuple[int, Entry] | None:
        """Matches the first of "Mr. and Mrs. Hart"."""
        if words[index].norm not in TITLES:
            return None
        run = [word.norm for word in words[index : index + 4]]
        if len(run) < 4 or run[1] != "and" or run[2] not in TITLES:
            return None
        entry = self._entries.get((SHORT.get(run[0], run[0]), run[3]))
        return None if entry is None else (1, entry)


_NAME_PARTICLES = frozenset("of de the la von van le du and".split())
_FIRST_AND_SECOND_PERSON = frozenset("i me my myself we us you".split())
_POSSESSIVE = re.compile(r"['’]s?\s", re.IGNORECASE)
_STANDALONE_TITLES = frozenset(
    "dr prof capt col major gen inspector rev judge mademoiselle madame monsieur signor signora "
    "duke duchess king queen prince princess count countess baron baroness bishop sergeant squire "
    "admiral".split()
)
"""Titles that are used alone for their bearer."""


def _index_whole_names(cast: Sequence[Character]) -> dict[Words, list[int]]:
    """Maps names and aliases, with and without their article, to the indices of their bearers."""
    names: dict[Words, list[int]] = {}
    for index, member in enumerate(cast):
        for name in member.names:
            words = name_words(name)
            words_without_article = words[1:] if words and words[0] in ARTICLES else words
            for form in dict.fromkeys(
                words_form for words_form in (words, words_without_article) if words_form
            ):
                bearers = names.setdefault(form, [])
                if bearers[-1:] != [index]:
                    bearers.append(index)
    return names


def _add_name_parts(
    cast: Sequence[Character], whole_names: dict[Words, list[int]]
) -> dict[Words, list[int]]:
    """Adds parts of names that are nobody's whole name.

    A single word that is one character's only name ("Bounderby") and another's surname may be
    either.
    """
    forms = {
        form: list(bearers_of_form)
        for form, bearers_of_form in whole_names.items()
        if not _is_generic(form)
    }
    for index, member in enumerate(cast):
        surnames = {words[-1:] for words in _plain_names(member) if len(words) > 1}
        for form in filter(None, _name_parts(member)):
            bearers_of_form = whole_names.get(form)
            if bearers_of_form is not None and not (
                form in surnames and all(_is_one_word(cast[bearer]) for bearer in bearers_of_form)
            ):
                continue
            if _is_generic(form):
                continue
            bearers = forms.setdefault(form, [])
            if index not in bearers[-1:] and index not in (bearers_of_form or ()):
                bearers.append(index)
    return forms


def _is_generic(form: Words) -> bool:
    """Returns whether a name is only a pronoun or an article."""
    return len(form) == 1 and (
        form[0] in ARTICLES or form[0] in PRONOUNS or form[0] in _FIRST_AND_SECOND_PERSON
    )


def _leave_surnames_to_men(
    forms: Mapping[Words, list[int]],
    whole_names: Mapping[Words, list[int]],
    pronouns: Sequence[str | None],
) -> None:
    """Drops women from the bearers of a lone surname that a man bears."""
    for form, bearers in forms.items():
        if len(form) > 1 or form in whole_names or len(bearers) < 2:
            continue
        if any(pronouns[bearer] == "he" for bearer in bearers):
            bearers[:] = [bearer for bearer in bearers if pronouns[bearer] != "she"]


def _plain_names(member: Character) -> list[Words]:
    """Returns a character's names without those with an article, and without "Ada's sister"."""
    words = (name_words(name) for name in member.names if not _POSSESSIVE.search(name))
    return [name for name in words if name and name[0] not in ARTICLES]


def _is_one_word(member: Character) -> bool:
    return not member.aliases and len(name_words(member.name)) == 1


def _name_parts(member: Character) -> Iterator[Words]:
    """Yields parts of a character's names that may stand for it: without title, first, last."""
    for name in member.names:
        words = name_words(name)
        is_plain = words and words[0] in ARTICLES and not _POSSESSIVE.search(name)
        if is_plain and len(words) > 3 and "of" in words:
            yield words[1 : words.index("of")]
    for words in _plain_names(member):
        if "of" in words[1:]:
            yield words[: words.index("of")]
        else:
            yield from _word_parts(words)


def _word_parts(words: Words) -> Iterator[Words]:
    """Yields the parts of one name: title, name without title, first and last word."""
    words_without_title = tuple(word for word in words if word not in TITLES)
    titles = words[: len(words) - len(words_without_title)]
    if titles and titles[0] in _STANDALONE_TITLES:
        yield titles[:1]
    if words_without_title:
        yield words_without_title
    if len(words_without_title) > 1:
        yield words_without_title[:1]
        yield words_without_title[-1:]
        yield from (
            ((titles[0], words_without_title[-1]), (titles[0], words_without_title[0]))
            if titles
            else ()
        )


def _is_contiguous(run: Sequence[Token], text: str) -> bool:
    """Returns whether only spaces, hyphens and a title's full stop separate the words."""
    for token, next_token in pairwise(run):
        gap = text[token.stop : next_token.start].strip()
        if gap not in ("", "-") and not (gap == "." and len(token.norm) < 5):
            return False
    return True


def _is_common(form: Words, has_article: bool) -> bool:
    if form[0] in ARTICLES:
        return True
    return form[-1] in PERSONS and form[0] not in TITLES and (has_article or len(form) > 1)


def _has_article_form(member: Character, form: Words) -> bool:
    name_forms = (name_words(name) for name in member.names)
    return any(words[0] in ARTICLES and words[1:] == form for words in name_forms if words)


def _has_article(words: Sequence[Token], index: int, text: str) -> bool:
    """Returns whether an article comes before a word, with up to three adjectives between."""
    for word_index in range(index - 1, max(-1, index - 5), -1):
        if text[words[word_index].stop : words[word_index + 1].start].strip(" -,"):
            return False
        if words[word_index].norm in ARTICLES:
            return True
    return False


def _pronoun_of(member: Character, is_english: bool) -> str | None:
    """Returns the pronoun that a character's own names imply, or None."""
    votes = {"he": 0, "she": 0}
    for name in member.names:
        words = name_words(name)
        for index, word in enumerate(words):
            pronoun = TITLES.get(word) if word in TITLES else PERSONS.get(word)
            follows_of = index > 0 and words[index - 1] == "of"
            if pronoun and not follows_of and (word in TITLES or index == len(words) - 1):
                votes[pronoun] += 3 if index < len(words) - 1 else 2
        first = next((word for word in words if word not in TITLES), "") if is_english else ""
        votes["he"] += first in HE_NAMES
        votes["she"] += first in SHE_NAMES
    if votes["he"] == votes["she"]:
        return None
    return max(votes, key=votes.__getitem__)
