"""The lists of a grammar: what is said for abbreviations, units, currencies and months.

`grammars.py` describes how they are written.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from textbase.word_lists import WordLists


class GrammarError(ValueError):
    """A grammar has a fault, which the message names with file and line."""


class UnknownNameError(GrammarError):
    """A rule names a list, word or form that its grammar lacks."""


@dataclass(frozen=True, slots=True)
class Entry:
    """The spoken forms of a listed word, by plural, and the gender of its noun."""

    forms: tuple[str, ...]
    gender: str = ""

    def capitalised(self) -> Entry:
        return replace(self, forms=tuple(map(capitalise, self.forms)))


class WordList(dict[str, Entry]):
    """The entries of a list by their keys, and its words as they are written."""

    def __init__(self) -> None:
        self.words: list[str] = []

    def add(self, entries: Mapping[str, Entry]) -> None:
        """Adds words with their entries, in capitals too if they may be written so."""
        self.words += entries
        self.update((_key(word), entry) for word, entry in entries.items())
        self.update((_key(word.upper()), entries[word]) for word in entries if _shouts(word))

    def entry(self, written: str) -> Entry:
        """Returns the entry of a written word, which may begin with a capital of its own."""
        if entry := self.get(_key(written)):
            return entry
        return self[_key(written[0].lower() + written[1:])].capitalised()

    def in_gender(self, gender: str) -> str | None:
        """Returns the word for a gender, of a list that has a word for each, or one for `any`."""
        entry = self.get(gender) or self.get("any")
        return entry.forms[0] if entry else None

    @functools.cached_property
    def pattern(self) -> str:
        """The pattern of the words, for rules without regard to case."""
        longest_first = sorted(self.words, key=len, reverse=True)
        return f"(?:{'|'.join(map(_word_pattern, longest_first))})"

    @functools.cached_property
    def gate(self) -> str:
        """A quick pattern that occurs wherever one of the words does; "" for any text."""
        return _stops_pattern(self.words)


class ListsByName(dict[str, WordList]):
    """The lists of a language, read when they are first needed."""

    def __init__(self, lists: WordLists, regions: Sequence[str]) -> None:
        self._lists, self._regions = lists, regions

    def __missing__(self, name: str) -> WordList:
        words = WordList()
        source = "fractions" if name == "part" and name not in self._lists else name
        if source not in self._lists:
            raise UnknownNameError(f"neither a kind of slot nor a list: '{name}'")
        self[name] = words
        for section in (source, *(f"{source} {region}" for region in self._regions)):
            for line in self._lists.lines(section) if section in self._lists else ():
                words.add(self._read_month(line) if name == "months" else _read_entries(line))
        if name == "part":
            words.add({_with_slash(word): words.entry(word) for word in words.words})
        return words

    def _read_month(self, line: str) -> dict[str, Entry]:
        month, its_regions, abbreviations = _month(line)
        if its_regions and its_regions.isdisjoint(self._regions):
            abbreviations = []
        return dict.fromkeys([month, *abbreviations], Entry((month,)))


def _read_entries(line: str) -> dict[str, Entry]:
    """Returns the entries of a line, `written: spoken` or plain words."""
    written, colon, meaning = line.partition(": ")
    if not colon:
        return {word: Entry((word,)) for word in line.split()}
    forms, _, gender = meaning.partition("; ")
    return {written: Entry(tuple(forms.split(", ")), gender)}


def _with_slash(fraction: str) -> str:
    """Returns ½ as 1/2."""
    return unicodedata.normalize("NFKC", fraction).replace("⁄", "/")


def _stops_pattern(words: Sequence[str]) -> str:
    """Returns a pattern that occurs wherever one of some abbreviations does; "" for any text.

    It begins with the full stop, which regular expressions look for faster than for a word.
    """
    last_parts = {re.split(r"\W+", word[:-1])[-1].lower() for word in words}
    if "" in last_parts or not all(word.endswith(".") for word in words):
        return ""
    endings = "|".join(rf"(?<=\b{part}\.)" for part in sorted(last_parts))
    return rf"(?i)\.(?:{endings})"


def _month(line: str) -> tuple[str, set[str], list[str]]:
    """Returns a month's name, the regions that have this name, and its abbreviations."""
    name_and_regions, _, abbreviations = line.partition(": ")
    name, *regions = re.split(r" (?=[a-z]{2}\b)", name_and_regions)
    return name, set(regions), abbreviations.split()


def _word_pattern(word: str) -> str:
    """Returns a pattern of a listed word; spaces next to its marks and a capital are optional."""
    pattern = re.sub(r"(?<=\w)\\ ", r"\\s", re.escape(word))
    pattern = re.sub(r"(?<=\\\.)(?=.)(?!\\)|\\ ", r"\\s?", pattern)
    if word[0].islower() and len(word) > 1:
        pattern = f"[{word[0]}{word[0].upper()}]{pattern[1:]}"
    return f"{pattern}|{word.upper()}" if _shouts(word) else pattern


def _shouts(word: str) -> bool:
    """Returns True for a word that may be written in capitals."""
    return len(word) > 3 and word.isalpha() and not word.isupper()


def _key(written: str) -> str:
    return "".join(written.split())


def month_names(lists: WordLists, regions: Sequence[str]) -> list[str]:
    """Returns the names of the months, in order, as they are in a region."""
    names: list[str] = []
    for line in lists.lines("months") if "months" in lists else ():
        name, its_regions, _ = _month(line)
        if not its_regions:
            names.append(name)
        elif not its_regions.isdisjoint(regions):
            names[-1] = name
    return names


def capitalise(words: str) -> str:
    return words[:1].upper() + words[1:]
