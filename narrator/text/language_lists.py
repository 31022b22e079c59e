"""What the files of languages list for the cutting of sentences: `normalize/languages/CODE.txt`.

`normalize/grammars.py` describes the form of these files. All functions take the primary subtag of
a language, and return nothing for a language without a file.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from textbase.word_lists import WordLists, read_word_lists

FOLDER = Path(__file__).parent / "normalize" / "languages"
_SAME_AS = {"nb": "no", "nn": "no", "fil": "tl"}


def file_code(primary: str) -> str:
    """Returns the code under which the file of a language is kept: Bokmål is Norwegian there."""
    return _SAME_AS.get(primary, primary)


def read_lists(code: str) -> WordLists:
    """Returns the sections of a language's file; none if there is no file."""
    path = FOLDER / f"{file_code(code)}.txt"
    return read_word_lists(path) if path.exists() else WordLists("")


@functools.cache
def never_last(code: str) -> frozenset[str]:
    """Returns abbreviations before a name or a number, folded: no sentence ends with them."""
    return _words(code, "never last")


@functools.cache
def never_last_before_numbers(code: str) -> frozenset[str]:
    """Returns words that are abbreviations before a number alone, folded: рис is rice, too."""
    return _words(code, "never last before numbers")


@functools.cache
def days_before_dates(code: str) -> frozenset[str]:
    """Returns abbreviations of days, folded, which are words too: no sentence ends with them
    before a date."""
    return _words(code, "days before dates")


@functools.cache
def starters(code: str) -> frozenset[str]:
    """Returns the words that begin a sentence, by the grammar of a language whose nouns have
    capitals."""
    lists = read_lists(code)
    has_capitals = "notation" in lists and "nouns: capital" in lists.lines("notation")
    return frozenset(lists.words("starters") if has_capitals else ())


@functools.cache
def openings(code: str) -> frozenset[str]:
    """Returns the words that open a sentence with a phrase of time or place, by the grammar."""
    return _words(code, "openings")


@functools.cache
def closing(code: str) -> frozenset[str]:
    """Returns the abbreviations that may end a sentence, by the language's grammar."""
    written = set(_written(code, ("closing",)))
    return frozenset(written | {abbreviation.replace(" ", "") for abbreviation in written})


@functools.cache
def month_abbreviations(code: str) -> frozenset[str]:
    """Returns the abbreviations of months in the language's grammar, without full stops."""
    lists = read_lists(code)
    lines = lists.lines("months") if "months" in lists else ()
    words = (word for line in lines for word in line.partition(": ")[2].split())
    return frozenset(word[:-1] for word in words if word.endswith("."))


@functools.cache
def months(code: str) -> frozenset[str]:
    """Returns the names of the months in the language's grammar and their abbreviations, folded."""
    lists = read_lists(code)
    lines = lists.lines("months") if "months" in lists else ()
    words = (word for line in lines for word in re.split(r"[: ]+", line))
    return frozenset(word.rstrip(".").casefold() for word in words)


@functools.cache
def abbreviations_before_numbers(code: str) -> frozenset[str]:
    """Returns those of the language's grammar, without their full stops."""
    written = _written(code, ("before numbers",))
    return frozenset(word[:-1] for word in written if word.endswith("."))


@functools.cache
def abbreviations_by_end(code: str) -> dict[str, set[str]]:
    """Returns what the language's grammar lists with a full stop, by its last word: z. B. by B."""
    by_end: dict[str, set[str]] = {}
    for section in read_lists(code).sections():
        if section not in ("rules", "patterns"):
            for written in _written(code, (section,)):
                if written.endswith("."):
                    joined = written.replace(" ", "")
                    by_end.setdefault(written.split()[-1], set()).add(written)
                    by_end.setdefault(joined, set()).add(joined)
    return by_end


@functools.cache
def parts_of_abbreviations(code: str) -> dict[str, set[str]]:
    """Returns the parts that follow another part of an abbreviation in the language's grammar, by
    this: C. after a. (in "a. C.")."""
    parts: dict[str, set[str]] = {}
    for abbreviation in _written(code, ("abbreviations", "closing")):
        for part, next_part in pairwise(abbreviation.split()):
            parts.setdefault(part, set()).add(next_part)
    return parts


def _written(code: str, sections: tuple[str, ...]) -> Iterator[str]:
    """Yields what lists of the language's grammar (and of its regions) have, as it is written."""
    lists = read_lists(code)
    for section in lists.sections():
        if section.startswith(sections):
            yield from (line.partition(": ")[0] for line in lists.lines(section))


def _words(code: str, section: str) -> frozenset[str]:
    lists = read_lists(code)
    return frozenset(lists.words(section) if section in lists else ())
