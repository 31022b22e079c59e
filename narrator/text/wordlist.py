"""Words that a list of a language's words lacks: names, mostly, which an engine may say wrong.

The lists are simplemma's, of some fifty languages; they need the extra `names`. Knows no book.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from importlib.util import find_spec

from narrator.errors import EnvironmentFailed
from narrator.installation import install_command
from narrator.text.sentences import primary

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_SHORT_LENGTH = 3
"""Letters of a small word that is never a name, whatever a list lacks."""
_CLITICS = frozenset("ll re ve em".split())
"""What follows an apostrophe and is no word of its own, beside single letters."""


def require() -> None:
    """Raises EnvironmentFailed without the lists."""
    if find_spec("simplemma") is None:
        raise EnvironmentFailed(f"the lists of words need simplemma: {install_command('names')}")


def has(language: str) -> bool:
    """Return True if there is a list for a language, a BCP 47 tag."""
    return _is_known(primary(language), "a") is not None


def strangers(text: str, language: str) -> Iterator[tuple[int, str]]:
    """Yield words that the language's list lacks, with their offsets, in order; of a compound with
    a hyphen or an apostrophe those parts that it lacks. None where there is no list."""
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
    """Return True if a part is too small to be a name."""
    clitic = len(part) < 2 or part.casefold() in _CLITICS
    return clitic or (len(part) <= _SHORT_LENGTH and part.islower())


@lru_cache(maxsize=1 << 16)
def _is_known(code: str, word: str) -> bool | None:
    """Return True if a list has a word, as it stands, in small letters or with a capital; None
    where there is no list."""
    from simplemma import is_known

    try:
        return any(
            is_known(spelling, lang=code) for spelling in (word, word.lower(), word.capitalize())
        )
    except ValueError:
        return None
