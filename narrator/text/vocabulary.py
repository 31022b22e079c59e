"""Finds words that a language's word list lacks: mostly names, which an engine may mispronounce.

The lists, of some fifty languages, are simplemma's and need the extra `names`. Knows no book.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from importlib.util import find_spec

from narrator.errors import EnvironmentFailed
from narrator.installation import install_command
from textbase.languages import primary

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_SHORT_LENGTH = 3
"""Length up to which a lower-case word is never a name, even if the list lacks it."""
_CLITICS = frozenset("ll re ve em".split())
"""Word parts after an apostrophe that are not words of their own, besides single letters."""


def require() -> None:
    """Raises EnvironmentFailed if the lists are not installed."""
    if find_spec("simplemma") is None:
        raise EnvironmentFailed(f"the lists of words need simplemma: {install_command('names')}")


def has_list(language: str) -> bool:
    """Returns whether there is a list for a language, a BCP 47 tag."""
    return _is_known(primary(language), "a") is not None


def unknown_words(text: str, language: str) -> Iterator[tuple[int, str]]:
    """Yields the words that the language's list lacks, with their offsets, in order.

    Of a compound with a hyphen or an apostrophe, only the missing parts. Yields nothing without a
    list.
    """
    code = primary(language)
    for match in _WORD.finditer(text):
        if _is_known(code, match[0]) is not False:
            continue
        offset = match.start()
        for part in re.split("(['’])", match[0]):
            if not _is_small(part) and _is_known(code, part) is False:
                yield offset, part
            offset += len(part)


def _is_small(part: str) -> bool:
    """Returns whether a part is too small to be a name."""
    is_clitic = len(part) < 2 or part.casefold() in _CLITICS
    return is_clitic or (len(part) <= _SHORT_LENGTH and part.islower())


@lru_cache(maxsize=1 << 16)
def _is_known(code: str, word: str) -> bool | None:
    """Returns whether a list has a word as written, in lower case or capitalised; None without a
    list."""
    from simplemma import is_known

    try:
        return any(
            is_known(spelling, lang=code) for spelling in (word, word.lower(), word.capitalize())
        )
    except ValueError:
        return None
