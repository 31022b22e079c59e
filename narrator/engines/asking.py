"""What every model is asked alike: the mark that a text ends on, how long it may take, its noise.

Pure; knows no model and no tokens. Only what is given to a model changes: records keep the text.
"""

from __future__ import annotations

import math
import re
from typing import TypeVar

from narrator import keys
from narrator.engines import Request
from narrator.errors import EngineFailure

HORIZON = 29.0
"""Seconds of prompt and speech together: models were trained within about 30."""
UNSPACED = frozenset("zh cmn yue wuu nan ja".split())
"""Written without a space between sentences."""

_ENDS = ".!?。！？｡．؟۔।॥။៕。"
_CLOSERS = "\"'”’»›)]）」』】 "
_WEAK = ",;:–—-،؛、，；：· "
_DOTS = re.compile(r"(?:…|\.{2,}|。{2,})[.…。]*$")
_T = TypeVar("_T")


def closed(text: str, language: str) -> str:
    """`text` on one full stop, or the question or exclamation mark it ends on.

    Models clip the ends of texts that break off, on commas, or on dots.
    """
    text = text.rstrip()
    words = text.rstrip(_CLOSERS)
    closers = text[len(words) :]
    if not words:
        return text
    stop = "。" if primary(language) in UNSPACED else "."
    ends = _ENDS + (";\u037e" if primary(language) in ("el", "grc") else "")
    dotless = _DOTS.sub("", words).rstrip()
    if dotless == words and words.endswith(tuple(ends)):
        return text
    bare = dotless.rstrip(_WEAK)
    if not bare:
        return text
    if bare.endswith(tuple(ends)):
        return bare + closers
    if bare != words:  # the mark that was there is replaced, within quotes and brackets
        return bare + stop + closers
    return text + stop


def primary(language: str) -> str:
    """The language of a tag: "en" of "en-GB"."""
    return language.lower().partition("-")[0]


def lengths(expected: float, earliest: float, prompt: float, step: float) -> tuple[int, int]:
    """Steps before which a stop is not heeded, and at most; all given in seconds but `earliest`,
    the share of `expected` that must be spoken.

    What is much too long is cut off, and prompt and speech stay within the model's horizon as far
    as the text can be spoken there.
    """
    longest = min(2.5 * expected + 1.5, max(HORIZON - prompt, 1.25 * expected + 1.5))
    least = max(2, math.floor(earliest * expected / step))
    return least, max(least + 2, math.ceil(longest / step))


def noise_seed(request: Request) -> int:
    """What an attempt draws its noise from, 32 bits of its seed, its number and its text.

    Chunks of one manifest seed must not share their noise, or they would share a melody.
    """
    return keys.number(f"{request.seed} {request.attempt} {request.text}") % 2**32


def there(request: Request, given: _T | None) -> _T:
    """What a mode needs. Raises EngineFailure."""
    if given is None:
        raise EngineFailure(f"a request in the mode {request.mode} lacks its reference or prompt")
    return given
