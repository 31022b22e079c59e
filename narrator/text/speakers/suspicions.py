"""Finds names in a cast that may be wrongly parted or joined, by the names alone.

Two members may be one person if they share a surname or first name and nothing speaks against it;
a member may be two if its titles contradict each other. Knows nothing of texts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from narrator.text.speakers.names import Character, KnownNames, Words, name_words
from narrator.text.speakers.words import ARTICLES, HE_NAMES, NICKNAMES, SHE_NAMES, TITLES
from narrator.text.speech_words import speech_of
from textbase.languages import primary

_GIVEN_NAMES = HE_NAMES | SHE_NAMES
_WIFE, _UNMARRIED = frozenset(("mrs", "madame", "mme", "frau")), frozenset(("miss", "mlle"))
"""Titles of women who bear another's surname, and of those who are not their mothers."""


@dataclass(frozen=True, slots=True)
class Suspicion:
    """Two names that may be wrongly in one entry of the cast, or wrongly in two."""

    name: str
    """A member of the cast."""
    other: str
    """Another member if `is_one`, else an alias of `name`."""
    is_one: bool
    """True if both may be one person; False if `other` may be somebody else."""


def suspicions(cast: Sequence[Character], language: str) -> list[Suspicion]:
    """Returns the suspicions about a cast, by its order; a longer name is the one to keep."""
    titles = TITLES if primary(language) == "en" else speech_of(language).address
    pronouns = KnownNames(cast, language).pronouns
    names = [list(_names_of(member, language)) for member in cast]
    pairs = [
        (first, second)
        for first, second in combinations(range(len(cast)), 2)
        if {pronouns[first], pronouns[second]} != {"he", "she"}
        and _may_be_one(
            names[first],
            names[second],
            titles,
            may_have_married="she" in (pronouns[first], pronouns[second]),
        )
    ]
    rivals = Counter(_shorter(cast, pair, titles) for pair in pairs)
    found: list[tuple[int, Suspicion]] = []
    for pair in pairs:
        if rivals[_shorter(cast, pair, titles)] == 1:  # "Miss Bennet" may be five sisters
            short = _shorter(cast, pair, titles)
            name = cast[pair[0] if pair[1] == short else pair[1]].name
            found.append((pair[1], Suspicion(name, cast[short].name, is_one=True)))
    for index, member in enumerate(cast):
        if alias := _stranger_among(member, pronouns[index], titles, language):
            found.append((index, Suspicion(member.name, alias, is_one=False)))
    return [suspicion for _, suspicion in sorted(found, key=lambda pair: pair[0])]


def _shorter(cast: Sequence[Character], pair: tuple[int, int], titles: Mapping[str, object]) -> int:
    """Returns the index of the one of two members whose name says less, else of the later one."""
    return min(
        pair,
        key=lambda index: (
            max(
                len([word for word in name_words(name) if word not in titles])
                for name in cast[index].names
            ),
            -index,
        ),
    )


def _names_of(member: Character, language: str) -> Iterator[Words]:
    """Yields a member's names without roles ("the landlord") and "Ada's sister"."""
    for name in member.names:
        words = name_words(name, language)
        if words and words[0] not in ARTICLES and "'s " not in name.replace("’", "'"):
            yield words


def _may_be_one(
    names: Sequence[Words],
    other_names: Sequence[Words],
    titles: Mapping[str, str | None],
    *,
    may_have_married: bool,
) -> bool:
    """Returns whether two members share a name, and bear no two first names or titles, and no two
    surnames unless one may have married."""
    cores = [core for name in names if (core := _without_titles(name, titles))]
    other_cores = [core for name in other_names if (core := _without_titles(name, titles))]
    if (
        _differ(_first_names(cores), _first_names(other_cores))
        or (not may_have_married and _differ(_surnames(cores), _surnames(other_cores)))
        or _have_rival_titles(names, other_names)
    ):
        return False
    return any(
        core == other
        or (
            len(core) != len(other)
            and min(core, other, key=len) in _ends(max(core, other, key=len))
        )
        for core in cores
        for other in other_cores
    )


def _without_titles(name: Words, titles: Mapping[str, str | None]) -> Words:
    return tuple(word for word in name if word not in titles)


def _ends(name: Words) -> set[Words]:
    """Returns the beginnings and ends of a name."""
    return {part for size in range(1, len(name)) for part in (name[:size], name[-size:])}


def _first_names(cores: Sequence[Words]) -> set[str]:
    return {
        NICKNAMES.get(core[0], core[0])
        for core in cores
        if len(core) > 1 or core[0] in _GIVEN_NAMES
    }


def _surnames(cores: Sequence[Words]) -> set[str]:
    return {core[-1] for core in cores if len(core) > 1}


def _differ(names: set[str], other_names: set[str]) -> bool:
    """Returns whether both have such names, and none in common."""
    return bool(names and other_names and not names & other_names)


def _have_rival_titles(names: Sequence[Words], other_names: Sequence[Words]) -> bool:
    first_words, other_first_words = {name[0] for name in names}, {name[0] for name in other_names}
    return bool(
        (first_words & _WIFE and other_first_words & _UNMARRIED)
        or (first_words & _UNMARRIED and other_first_words & _WIFE)
    )


def _stranger_among(
    member: Character, pronoun: str | None, titles: Mapping[str, str | None], language: str
) -> str | None:
    """Returns an alias that may be somebody else's: its title is of the other sex, a Miss is Mrs.,
    or "Madame Defarge" is called "Defarge"."""
    words_by_name = {name: name_words(name, language) for name in member.names}
    all_words = set(words_by_name.values())
    first_words = {words[0] for words in all_words if words}
    for alias in member.aliases:
        words = words_by_name[alias]
        if len(words) < 2:
            continue
        title_pronoun = titles.get(words[0])
        is_bare = (words[-1],) in all_words and words[-1] not in _GIVEN_NAMES
        if {title_pronoun, pronoun} == {"he", "she"} or (
            words[0] in _WIFE and (is_bare or first_words & _UNMARRIED)
        ):
            return alias
    return None
