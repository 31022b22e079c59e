"""Was the text said? The seam of recognition, and the comparison of what was heard with the text.

A `Recogniser` turns a take into text; `fidelity` aligns that with the chunk's spoken text, as a
whole and in short windows, so that a few words lost in a long chunk count as much as in a short
one; `Listener` makes faults of it, for the render loop. Knows no engine and no recogniser
(`whisper.py` is one).

Thresholds leave room for a recogniser that errs in under one word of ten. One that errs in one of
five (pocketsphinx with a small language model, 40 chunks of the draft voice, 2026-11-21) alarms for
40 % of good takes, 97 % with two seconds cut out, and all that say another text.
"""

from __future__ import annotations

import difflib
import functools
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from narrator.errors import EngineUnavailable
from narrator.speech import checks
from narrator.speech.hearing import Recogniser, SpokenSound
from narrator.text.normalize import Lexicon, normalize
from narrator.text.sentences import primary
from narrator.text.words import is_lettered

Samples = NDArray[np.float32]

WHOLE, WINDOW = 0.30, 0.60
"""Errors for each word of the text, over which a take does not say it: in all, in any window."""
LENIENT: Mapping[str, float] = dict.fromkeys(
    "ar da el fi he hi id ja ms no sw th tl tr vi".split(), 0.4
)
"""`WHOLE` of languages in which recognisers err more, or whose spelling leaves a choice. Set with
care, not measured: no recogniser of these languages was at hand (2026-11-21)."""
WORDS_ACROSS, LETTERS_ACROSS = 6, 12
"""Length of a window."""
LEAST_WORDS, LEAST_LETTERS = 2.0, 4.0
"""Errors that a short text must have: one name that is misheard proves nothing."""
HOLE = 3
"""Words or characters in a row that are named when they are missing or added."""
_MEMORY = re.compile("memory|alloc", re.IGNORECASE)
"""In what a device says when it has no room."""


@dataclass(frozen=True, slots=True)
class Fidelity:
    """How far what was heard is from the text; errors are for each word, or character."""

    error: float
    """In all: 0 is the same, 1 nothing alike; more where much was added."""
    window: float
    """The worst of all windows."""
    count: float
    """Errors in all, a word that is nearly right for less than one."""
    missing: tuple[str, ...] = ()
    """Passages that were not heard, of `HOLE` words or characters or more."""
    added: tuple[str, ...] = ()
    """Passages that were heard besides."""


def fidelity(text: str, heard: str, language: str) -> Fidelity:
    """Compare the spoken text of a take with what a recogniser heard in it.

    Case, marks, accents and figures do not count: what was heard is normalised as a text would be.
    """
    meant = _units(text, language)
    got = _units(_spoken(heard, language), language)
    lettered = is_lettered(language)
    if not meant:
        return Fidelity(float(bool(got)), float(bool(got)), float(len(got)))
    steps = _align(meant, got, lettered)
    costs = np.zeros(len(meant))
    for step in steps:
        # what is added belongs to the word before it
        span = range(*step.meant) if step.meant[1] > step.meant[0] else (max(0, step.meant[0] - 1),)
        for place in span:
            costs[place] += step.cost / len(span)
    across = min(len(meant), LETTERS_ACROSS if lettered else WORDS_ACROSS)
    windows = np.convolve(costs, np.ones(across), "valid") / across
    joint = "" if lettered else " "
    missing = [meant[slice(*step.meant)] if step.is_missing else [] for step in steps]
    added = [got[slice(*step.got)] if step.is_added else [] for step in steps]
    return Fidelity(
        error=round(float(costs.sum()) / len(meant), 3),
        window=round(float(windows.max()), 3),
        count=round(float(costs.sum()), 2),
        missing=_passages(missing, joint),
        added=_passages(added, joint),
    )


def most_errors(language: str) -> float:
    """`WHOLE` of a language, by BCP 47 tag."""
    return LENIENT.get(primary(language), WHOLE)


class Listener:
    """Recognition as a check of takes: of all of them, or of those whose figures are suspicious."""

    def __init__(
        self,
        recogniser: Recogniser,
        mode: Literal["suspicious", "all"],
        error: float | None = None,
    ) -> None:
        """`error`: in place of the language's own `most_errors`."""
        self._recogniser, self._mode, self._error = recogniser, mode, error

    def faults(
        self,
        samples: Samples,
        rate: int,
        text: str,
        language: str,
        verdict: checks.Verdict,
    ) -> Sequence[checks.Fault]:
        """What a take that should say `text` does not say, or says besides.

        Takes in languages that the recogniser does not know pass unheard. Raises EngineUnavailable,
        also where the recogniser breaks down: no other take may pass unheard.
        """
        if primary(language) not in self._recogniser.languages:
            return ()
        if self._mode == "suspicious" and not checks.suspicious(verdict.figures):
            return ()
        found = fidelity(text, self._transcribed(samples, rate, text, language), language)
        limit = most_errors(language) if self._error is None else self._error
        least = LEAST_LETTERS if is_lettered(language) else LEAST_WORDS
        if found.count < least or (found.error <= limit and found.window <= max(WINDOW, limit)):
            return ()
        return (checks.Fault("text", _detail(found), round(8 + 4 * min(found.error, 3.0), 3)),)

    def _transcribed(self, samples: Samples, rate: int, text: str, language: str) -> str:
        try:
            (heard,) = self._recogniser.hear([SpokenSound(samples, rate, text, language)])
            return heard.text
        except (RuntimeError, MemoryError) as error:  # all that MLX raises
            why = next(iter(str(error).splitlines()), "") or type(error).__name__
            if isinstance(error, MemoryError) or _MEMORY.search(why):
                raise EngineUnavailable(
                    f"not enough memory to hear takes ({why}): close other programs, set fewer "
                    "chunks side by side (`engine: {slots: 1}`), "
                    "or set `checks: {recognition: never}`"
                ) from error
            raise EngineUnavailable(
                f"recognition ({self._recogniser.title}) failed: {why}; takes that were stored are "
                "kept; run again, or set `checks: {recognition: never}`"
            ) from error


def _detail(found: Fidelity) -> str:
    said = f"{found.error:.0%} of it heard otherwise, {found.window:.0%} at the worst place"
    for what, passages in (("missing", found.missing), ("added", found.added)):
        if passages:
            longest = max(passages, key=len)
            said += f'; {what} "{longest if len(longest) <= 40 else longest[:39] + "…"}"'
    return said


# -- what is compared ------------------------------------------------------------------------------


@functools.cache
def _no_lexicon() -> Lexicon:
    return Lexicon([])


def _spoken(heard: str, language: str) -> str:
    """A recogniser's text with its figures and abbreviations in words."""
    return normalize(heard, language=language, speaker="", lexicon=_no_lexicon()).text


def _units(text: str, language: str) -> list[str]:
    """Words, or characters, without case, marks and accents."""
    plain = unicodedata.normalize("NFKD", text.casefold()).replace("ß", "ss")
    kept: list[str] = []
    for character in plain:
        if "\u0300" <= character <= "\u036f" or character in "'’ʼ":
            continue  # accents, and apostrophes: "dont"
        kept.append(character if unicodedata.category(character)[0] in "LMN" else " ")
    words = unicodedata.normalize("NFC", "".join(kept)).split()
    return list("".join(words)) if is_lettered(language) else words


# -- alignment -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Move:
    """A piece of the text, one of what was heard, and what it costs to take one for the other."""

    meant: tuple[int, int]
    got: tuple[int, int]
    cost: float

    @property
    def is_missing(self) -> bool:
        return self.got[0] == self.got[1]

    @property
    def is_added(self) -> bool:
        return self.meant[0] == self.meant[1]


def _align(meant: Sequence[str], got: Sequence[str], lettered: bool) -> list[_Move]:
    """The cheapest way from one to the other, in order; "some one" is "someone"."""
    best = np.zeros((len(meant) + 1, len(got) + 1))
    came: dict[tuple[int, int], tuple[int, int]] = {}
    for i in range(len(meant) + 1):
        for j in range(len(got) + 1):
            if i or j:
                ways = _ways(meant[max(0, i - 2) : i], got[max(0, j - 2) : j], lettered)
                best[i, j], came[i, j] = min(
                    (best[i - back[0], j - back[1]] + cost, back) for cost, back in ways
                )
    steps: list[_Move] = []
    i, j = len(meant), len(got)
    while i or j:
        back = came[i, j]
        before = i - back[0], j - back[1]
        cost = float(best[i, j] - best[before])
        steps.append(_Move((before[0], i), (before[1], j), cost))
        i, j = before
    return steps[::-1]


def _ways(
    meant: Sequence[str], got: Sequence[str], lettered: bool
) -> Iterator[tuple[float, tuple[int, int]]]:
    """What the last units of both cost, and how many of each that takes."""
    if meant and got:
        yield _otherness(meant[-1], got[-1], lettered), (1, 1)
        if not lettered and "".join(meant) == got[-1] and len(meant) > 1:
            yield 0.0, (2, 1)
        if not lettered and "".join(got) == meant[-1] and len(got) > 1:
            yield 0.0, (1, 2)
    if meant:
        yield 1.0, (1, 0)
    if got:
        yield 1.0, (0, 1)


def _otherness(a: str, b: str, lettered: bool) -> float:
    """0 for the same word, 1 for another; less for a name or ending that was misheard."""
    if a == b:
        return 0.0
    return 1.0 if lettered else _unlike(a, b)


@functools.lru_cache(maxsize=4096)
def _unlike(a: str, b: str) -> float:
    alike = difflib.SequenceMatcher(None, a, b, autojunk=False).ratio()
    return 1.0 if alike < 0.5 else 1.0 - alike


def _passages(steps: Sequence[Sequence[str]], joint: str) -> tuple[str, ...]:
    """Runs of steps that hold something, of `HOLE` or more units."""
    found: list[str] = []
    run: list[str] = []
    for units in (*steps, []):
        if units:
            run += units
            continue
        if len(run) >= HOLE:
            found.append(joint.join(run))
        run = []
    return tuple(found)
