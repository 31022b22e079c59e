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
from narrator.text.speech_words import SpeechWords, speech_of
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


@dataclass(slots=True)  # not frozen: that takes three times as long to make
class Token:
    """A word of a text."""

    norm: str
    """Folded word without a possessive ending."""
    start: int
    stop: int
    is_capitalised: bool
    is_possessive: bool = False


_WORD = re.compile(r"[^\W_]+(?:['’](?!(?:ll|d|ve|re|m)\b)[^\W\d_]+)*")
"""A word without a contracted verb: the "I" of “I’ll”."""
_ELIDING_WORD = re.compile(r"[^\W_]+(?:['’](?=[^\W\d_]))?")
_FIRST_UNSPACED, _LAST_UNSPACED = "\u3005", "\u9fff"
"""Range of the characters of Chinese and Japanese, which no white space parts into words."""


def is_unspaced(character: str) -> bool:
    """Returns whether a character belongs to a script without white space between words."""
    return _FIRST_UNSPACED <= character <= _LAST_UNSPACED


def tokens(text: str, *, elides: bool = False) -> list[Token]:
    """Returns the words of a text; in Chinese and Japanese, each character is one.

    `elides`: an apostrophe ends a word, as in “l’oste” and “d’Artagnan”.
    """
    tokens_so_far: list[Token] = []
    pattern = _ELIDING_WORD if elides else _WORD
    for match in pattern.finditer(text):
        if not match[0].isascii() and any(map(is_unspaced, match[0])):
            tokens_so_far += (
                Token(text[offset], offset, offset + 1, is_capitalised=True)
                for offset in range(match.start(), match.end())
            )
            continue
        norm = match[0].casefold().replace("’", "'")
        is_possessive = norm.endswith("'s")
        norm = norm[:-2] if is_possessive else norm.rstrip("'")
        tokens_so_far.append(
            Token(norm, match.start(), match.end(), match[0][0].isupper(), is_possessive)
        )
    return tokens_so_far


def elides(language: str) -> bool:
    """Returns whether an apostrophe ends a word in a language (a BCP 47 tag)."""
    return "elision" in speech_of(language).traits


def name_words(name: str, language: str = "en") -> Words:
    """Returns a name in comparable form."""
    words = tokens(name, elides=elides(language))
    return tuple(SHORT.get(token.norm, token.norm) for token in words)


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
        self.language = language
        is_english = primary(language) == "en"  # in French, Jean is another
        self._speech = None if is_english else speech_of(language)
        """Words of another language than English."""
        self.pronouns = [
            member.pronoun
            or (
                _pronoun_of(member) if is_english else _foreign_pronoun(member, speech_of(language))
            )
            for member in cast
        ]
        """Pronouns of the characters, given or implied by their names."""
        self._articles = ARTICLES if is_english else frozenset(speech_of(language).articles)
        self._whole_names = _index_whole_names(cast, self._articles, language)
        generic_words = _GENERIC_WORDS if is_english else speech_of(language).never_names
        forms = _add_name_parts(cast, self._whole_names, self._articles, generic_words, language)
        _leave_surnames_to_men(forms, self._whole_names, self.pronouns)
        self._entries: dict[Words, Entry] = {}
        sizes: dict[str, set[int]] = {}
        for form, bearers in forms.items():
            needs_article = all(
                _has_article_form(cast[index], form, self._articles, language) for index in bearers
            )
            is_common = _is_common(form, needs_article) or (
                not is_english
                and all(_is_lower_case(cast[index], form, language) for index in bearers)
            )
            self._entries[form] = Entry(tuple(bearers), is_common, needs_article)
            sizes.setdefault(form[0], set()).add(len(form))
        self._word_counts_by_first_word = {
            first: sorted(lengths, reverse=True) for first, lengths in sizes.items()
        }
        """First word of a name -> lengths of such names, the longest first."""
        self._stems = self._index_stems()
        """Stem of a name of one word -> its entry, in languages whose names have cases."""

    def learn_pronouns(self, counts: Mapping[int, Mapping[str, int]]) -> None:
        """Sets the pronouns of characters for whom nothing else was given, by counts of what the
        tags imply."""
        for index, votes in counts.items():
            pronoun = max(votes, key=votes.__getitem__)
            if self.cast[index].pronoun is None and 3 * votes[pronoun] > 2 * sum(votes.values()):
                self.pronouns[index] = pronoun

    def find(self, name: str) -> int | None:
        """Returns the index of the character with a name or alias, or None."""
        return next(iter(self._whole_names.get(name_words(name, self.language), ())), None)

    def match_at(self, words: Sequence[Token], index: int, text: str) -> tuple[int, Entry] | None:
        """Returns the longest name that begins at a word: its number of words, and its entry."""
        norm = words[index].norm
        for word_count in self._word_counts_by_first_word.get(SHORT.get(norm, norm), ()):
            run = words[index : index + word_count]
            entry = self._entries.get(tuple(SHORT.get(word.norm, word.norm) for word in run))
            if entry is None or len(run) < word_count or not _is_contiguous(run, text):
                continue
            has_capitals = all(
                token.is_capitalised
                or token.norm in _NAME_PARTICLES
                or (self._speech is not None and token.norm in self._articles)
                for token in run
            )
            if (
                has_capitals
                or entry.is_common
                or (entry.is_noun and _has_article(words, index, text, self._articles))
            ):
                return word_count, entry
        return self._match_shared_surname(words, index)

    def match_inflected(self, words: Sequence[Token], index: int) -> Entry | None:
        """Returns the entry of a name of one word in another case than its first: Анной."""
        word = words[index]
        if not self._stems or not word.is_capitalised or self._speech is None:
            return None
        return self._stems.get(self._speech.stem(word.norm))

    def _index_stems(self) -> dict[str, Entry]:
        speech = self._speech
        if speech is None or not speech.case_endings:
            return {}
        stems: dict[str, Entry] = {}
        for form, entry in self._entries.items():
            if len(form) == 1 and not entry.is_common:
                known_entry = stems.get(stem := speech.stem(form[0]), entry)
                characters = dict.fromkeys((*known_entry.characters, *entry.characters))
                stems[stem] = Entry(tuple(characters), is_common=False, is_noun=False)
        return stems

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
_GENERIC_WORDS = frozenset("i me my myself we us you".split()) | ARTICLES | frozenset(PRONOUNS)
"""English pronouns and articles."""
_POSSESSIVE = re.compile(r"['’]s?\s", re.IGNORECASE)
_STANDALONE_TITLES = frozenset(
    "dr prof capt col major gen inspector rev judge mademoiselle madame monsieur signor signora "
    "duke duchess king queen prince princess count countess baron baroness bishop sergeant squire "
    "admiral".split()
)
"""Titles that are used alone for their bearer."""


def _index_whole_names(
    cast: Sequence[Character], articles: frozenset[str], language: str
) -> dict[Words, list[int]]:
    """Maps names and aliases, with and without their article, to the indices of their bearers."""
    names: dict[Words, list[int]] = {}
    for index, member in enumerate(cast):
        for name in member.names:
            words = name_words(name, language)
            words_without_article = words[1:] if words and words[0] in articles else words
            for form in dict.fromkeys(
                words_form for words_form in (words, words_without_article) if words_form
            ):
                bearers = names.setdefault(form, [])
                if bearers[-1:] != [index]:
                    bearers.append(index)
    return names


def _add_name_parts(
    cast: Sequence[Character],
    whole_names: dict[Words, list[int]],
    articles: frozenset[str],
    generic_words: frozenset[str],
    language: str,
) -> dict[Words, list[int]]:
    """Adds parts of names that are nobody's whole name.

    A single word that is one character's only name ("Bounderby") and another's surname may be
    either.
    """
    forms = {
        form: list(bearers_of_form)
        for form, bearers_of_form in whole_names.items()
        if len(form) > 1 or form[0] not in generic_words
    }
    for index, member in enumerate(cast):
        surnames = {
            words[-1:] for words in _plain_names(member, articles, language) if len(words) > 1
        }
        for form in filter(None, _name_parts(member, articles, language)):
            bearers_of_form = whole_names.get(form)
            if bearers_of_form is not None and not (
                form in surnames and all(_is_one_word(cast[bearer]) for bearer in bearers_of_form)
            ):
                continue
            if len(form) == 1 and form[0] in generic_words:
                continue
            bearers = forms.setdefault(form, [])
            if index not in bearers[-1:] and index not in (bearers_of_form or ()):
                bearers.append(index)
    return forms


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


def _plain_names(member: Character, articles: frozenset[str], language: str) -> list[Words]:
    """Returns a character's names without those with an article, and without "Ada's sister"."""
    words = (name_words(name, language) for name in member.names if not _POSSESSIVE.search(name))
    return [name for name in words if name and name[0] not in articles]


def _is_one_word(member: Character) -> bool:
    return not member.aliases and len(name_words(member.name)) == 1


def _name_parts(member: Character, articles: frozenset[str], language: str) -> Iterator[Words]:
    """Yields parts of a character's names that may stand for it: without title, first, last."""
    for name in member.names:
        words = name_words(name, language)
        is_plain = words and words[0] in articles and not _POSSESSIVE.search(name)
        if is_plain and len(words) > 3 and "of" in words:
            yield words[1 : words.index("of")]
    for words in _plain_names(member, articles, language):
        if "of" in words[1:]:
            yield words[: words.index("of")]
        else:
            yield from _word_parts(words)


def _word_parts(words: Words) -> Iterator[Words]:
    """Yields the parts of one name: title, name without title, first and last word."""
    words_without_title = tuple(word for word in words if word not in TITLES)
    titles = words[: len(words) - len(words_without_title)]
    if all(map(is_unspaced, "".join(words))):
        return
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
        if gap not in ("", "-", "'", "’") and not (gap == "." and len(token.norm) < 5):
            return False
    return True


def _is_common(form: Words, has_article: bool) -> bool:
    if form[0] in ARTICLES:
        return True
    return form[-1] in PERSONS and form[0] not in TITLES and (has_article or len(form) > 1)


def _has_article_form(
    member: Character, form: Words, articles: frozenset[str], language: str
) -> bool:
    name_forms = (name_words(name, language) for name in member.names)
    return any(words[0] in articles and words[1:] == form for words in name_forms if words)


def _has_article(words: Sequence[Token], index: int, text: str, articles: frozenset[str]) -> bool:
    """Returns whether an article comes before a word, with up to three adjectives between."""
    for word_index in range(index - 1, max(-1, index - 5), -1):
        if text[words[word_index].stop : words[word_index + 1].start].strip(" -,"):
            return False
        if words[word_index].norm in articles:
            return True
    return False


def _is_lower_case(member: Character, form: Words, language: str) -> bool:
    """Returns whether the cast writes a name without capitals, besides an article before it."""
    return any(
        name_words(name, language)[-len(form) :] == form and name.islower() for name in member.names
    )


def _foreign_pronoun(member: Character, speech: SpeechWords) -> str | None:
    """Returns the pronoun that a character's own names imply in another language, or None."""
    votes = {"he": 0, "she": 0}
    for name in member.names:
        words = name_words(name, speech.code)
        if not words:
            continue
        for word in words[:-1]:
            pronoun = speech.address.get(word) or speech.articles.get(word)
            if pronoun in votes:
                votes[pronoun] += 3
        if (pronoun := speech.nouns.get(words[-1])) in votes:
            votes[pronoun] += 3
        for honorific, pronoun in speech.honorifics.items():
            if pronoun in votes and name.endswith(honorific):
                votes[pronoun] += 3
        first = next((w for w in words if w not in speech.address and w not in speech.articles), "")
        is_given_name = first.casefold() not in speech.nouns and not name.islower()
        if is_given_name and (pronoun := speech.pronoun_of_given_name(first)) in votes:
            votes[pronoun] += 1
    if votes["he"] == votes["she"]:
        return None
    return max(votes, key=votes.__getitem__)


def likely_pronoun(name: str) -> str:
    """Returns the pronoun that a name suggests, in any language: she for those in -a without a
    title, else he, as most people in books whose pronoun nothing tells."""
    words = name_words(name)
    implied = _pronoun_of(Character(name))
    is_hers = bool(words) and words[0] not in TITLES and words[0].endswith("a")
    return implied or ("she" if is_hers else "he")


def _pronoun_of(member: Character) -> str | None:
    """Returns the pronoun that a character's own English names imply, or None."""
    votes = {"he": 0, "she": 0}
    for name in member.names:
        words = name_words(name)
        for index, word in enumerate(words):
            pronoun = TITLES.get(word) if word in TITLES else PERSONS.get(word)
            follows_of = index > 0 and words[index - 1] == "of"
            if pronoun and not follows_of and (word in TITLES or index == len(words) - 1):
                votes[pronoun] += 3 if index < len(words) - 1 else 2
        first = next((word for word in words if word not in TITLES), "")
        votes["he"] += first in HE_NAMES
        votes["she"] += first in SHE_NAMES
    if votes["he"] == votes["she"]:
        return None
    return max(votes, key=votes.__getitem__)
