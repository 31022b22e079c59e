"""Preparation of requests that all models share: final punctuation, length limits, noise seeds.

Pure; knows no model and no tokens. Changes only what a model is given: records keep the text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import TypeVar

from narrator import keys
from narrator.engines import Outcome, Request
from narrator.errors import EngineFailure

MAX_MODEL_SECONDS = 29.0
"""Seconds of prompt and speech together; models were trained on about 30."""
UNSPACED_LANGUAGES = frozenset("zh cmn yue wuu nan ja".split())
"""Languages written without a space between sentences."""

_STOPS = ".!?。！？｡．؟۔।॥။៕。"
_CLOSERS = "\"'”’»›)]）」』】 "
_WEAK_MARKS = ",;:–—-،؛、，；：· "
_DOTS = re.compile(r"(?:…|\.{2,}|。{2,})[.…。]*$")
_T = TypeVar("_T")


def end_with_stop(text: str, language: str) -> str:
    """Returns `text` with a full stop at its end, unless it ends with one, or with a question or
    exclamation mark; trailing commas, dashes and ellipses are replaced.

    Models clip the ends of texts that end with none, or with commas or dots.
    """
    text = text.rstrip()
    words = text.rstrip(_CLOSERS)
    closers = text[len(words) :]
    if not words:
        return text
    stop = "。" if primary_language(language) in UNSPACED_LANGUAGES else "."
    stops = _STOPS + (";\u037e" if primary_language(language) in ("el", "grc") else "")
    dotless = _DOTS.sub("", words).rstrip()
    if dotless == words and words.endswith(tuple(stops)):
        return text
    bare = dotless.rstrip(_WEAK_MARKS)
    if not bare:
        return text
    if bare.endswith(tuple(stops)):
        return bare + closers
    if bare != words:  # the mark that was there is replaced, within quotes and brackets
        return bare + stop + closers
    return text + stop


def primary_language(language: str) -> str:
    """Returns the language of a tag: "en" of "en-GB"."""
    return language.lower().partition("-")[0]


def step_limits(expected: float, earliest: float, prompt: float, step: float) -> tuple[int, int]:
    """Returns the steps before which a stop is ignored, and the most steps.

    Parameters are seconds, except `earliest`, the share of `expected` that must be spoken. Speech
    that is much too long is cut off; prompt and speech stay within `MAX_MODEL_SECONDS` if the text
    can be spoken in the time that is left.
    """
    max_seconds = min(2.5 * expected + 1.5, max(MAX_MODEL_SECONDS - prompt, 1.25 * expected + 1.5))
    min_steps = max(2, math.floor(earliest * expected / step))
    return min_steps, max(min_steps + 2, math.ceil(max_seconds / step))


def noise_seed(request: Request) -> int:
    """Returns the 32-bit seed of an attempt's noise, from its seed, its number and its text.

    Chunks with the same manifest seed must not share their noise, or they would share a melody.
    """
    return keys.number(f"{request.seed} {request.attempt} {request.text}") % 2**32


def pronounced_words(text: str, pronunciations: Mapping[str, str]) -> list[tuple[int, int, str]]:
    """Returns where `text` has words with an IPA of their own, in order, each with that IPA.

    Words are found whole ("Don", but not in "Don't"), longer ones before shorter ones within them.
    """
    places: list[tuple[int, int, str]] = []
    for word in sorted(pronunciations, key=len, reverse=True):
        for match in re.finditer(rf"(?<!\w)(?<!\w['’]){re.escape(word)}(?!\w|['’]\w)", text):
            start, stop = match.span()
            if not any(first < stop and start < last for first, last, _ in places):
                places.append((start, stop, pronunciations[word]))
    return sorted(places)


def failed_outcome(name: str, request: Request, reason: str) -> Outcome:
    """Returns the outcome of a request that an engine of this name cannot speak."""
    text = request.text if len(request.text) <= 60 else request.text[:59] + "…"
    failure = EngineFailure(f"{name}: {reason}: {text!r}")
    return Outcome(request.key, request.attempt, failure=failure)


def require_part(request: Request, field: _T | None) -> _T:
    """Returns a part that the request's mode needs. Raises EngineFailure if it is missing."""
    if field is None:
        raise EngineFailure(f"a request in the mode {request.mode} lacks its reference or prompt")
    return field
