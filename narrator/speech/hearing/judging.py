"""What of the differences between a take and its text is a fault: thresholds, from measurement.

Two witnesses: what a recogniser wrote, and how much the sound speaks against each word of the text
(`Transcript.doubts`). Either alone errs often; a word that was not written *and* is doubted is
hardly ever there. Each difference has odds, of which 1 is the threshold. Pure; knows no engine and
no recogniser.

Measured (2026-11-23, two x86-64 cores, `tests/bench/hearing.py`): Whisper tiny.en, the smallest
there is, hears Piper's "joe". The thresholds come from one novel, of which 9 of 436 good takes are
called wrong. In six others that they never saw, 3 of 150 are; found are all of 26 runs of three
words that were skipped and of 16 missing sentences, 18 of 28 single words that were skipped, 15 of
27 that were cut out of the sound or replaced (names, of which it knows few, seldom), 13 said twice,
24 lost endings, 26 other texts. The draft voice, of which it mishears every eighth word, is called
wrong in 14 of 120 good takes. Without doubts to go by hardly a single word is found. Does not help:
how long each word takes (a doubled word is found in 9 of 100). A prompt that stammers makes Whisper
write 69 of 100 doubled words in place of 58, and errs a little more elsewhere. Not measured: other
languages, for want of a recogniser; larger ones.

pocketsphinx with its small language model errs in one word of five: as a recogniser it called 40 of
100 good takes wrong (2026-11-21).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from narrator.speech import checks
from narrator.speech.hearing import Transcript
from narrator.speech.hearing.compare import Difference, Fidelity, fidelity
from narrator.text.sentences import primary
from narrator.text.words import is_lettered

WHOLE, WINDOW = 0.30, 0.60
"""Errors for each word of the text, over which a take does not say it, where the recogniser has no
doubts to tell: in all, in any window."""
LENIENT: Mapping[str, float] = dict.fromkeys(
    "ar da el fi he hi id ja ms no sw th tl tr vi".split(), 0.4
)
"""`WHOLE` of languages in which recognisers err more, or whose spelling leaves a choice; the other
thresholds grow with it. Set with care, not measured: no recogniser of these languages was at hand
(2026-11-21)."""
LEAST_HEARD = 2.0
"""Characters that must differ where they are what is compared, doubted or not: one may be another
spelling of the same sound. Set with care, not measured."""
LEAST_WORDS, LEAST_LETTERS = 2.0, 4.0
"""Errors that a short text must have: one name that is misheard proves nothing."""

DOUBT, SPARE, OTHERWISE = 2.0, 4, 0.25
"""Mean doubt of all words, over which another text was said, if so many errors for each word were
heard as well; and words without doubt that are counted with them: a short text has fewer."""
MISSING, START, PASSAGE, ENDING = 5.2, 1.5, 2.8, 2.5
"""Doubt over which a word or two that were not written were not said, that of the more doubted, and
how much it grows for the very first, which recognisers leave out ("Oh"); the mean over a longer
passage, of which the first words alone are doubted where the recogniser skipped it; and that over
the last two words of the text, where they are among them."""
FEW = 2
OTHER, NAME = 6.6, 1.6
"""Doubt of a word in whose place another was written, times how unlike they are; and how much it
grows for names, of which recognisers know few."""
ADDED = 3.3
"""Doubt of the word after what was added, times its words: not what was said, but that it comes
next, is doubted."""
LEAST_ADDED, LETTERS = 0.5, 6
"""No doubt of that counts for less; and letters of a word, where the added are among others."""
MISHEARD = 5.0
"""How much these grow with the errors for each word elsewhere in the take."""
REPEATED, MOVED = 1.6, 2.0
"""Odds of what recognisers do not write unless they hear it."""
CERTAIN = 12.0
"""No doubt counts for more."""
HOLE = 2.5
"""Words or characters missing or added in a row, where there are no doubts to tell."""
_CAPITAL = re.compile(r"\b[^\W\d_a-z]\w\w")


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a take says, against its text."""

    fidelity: Fidelity
    odds: float
    """How far the worst of it is from what is good: a fault over 1."""
    wrong: tuple[Difference, ...] = ()
    """The differences that are faults, worst first."""

    @property
    def faults(self) -> tuple[checks.Fault, ...]:
        """One, or none; it weighs more the less of the text was heard."""
        if self.odds <= 1:
            return ()
        weight = round(8 + 4 * min(self.fidelity.error, 3.0), 3)
        return (checks.Fault("text", _detail(self), weight),)


def most_errors(language: str) -> float:
    """`WHOLE` of a language, by BCP 47 tag."""
    return LENIENT.get(primary(language), WHOLE)


def judge(heard: Transcript, text: str, language: str, error: float | None = None) -> Judgement:
    """What is wrong with a take that should say `text`, by what was heard in it.

    `error` takes the place of the language's own `most_errors`; all thresholds grow with it.
    """
    found = fidelity(text, heard.text, language)
    ease = (most_errors(language) if error is None else error) / WHOLE
    doubts = [min(doubt, CERTAIN) for doubt in heard.doubts]
    if doubts:
        mean = sum(doubts) / (len(doubts) + SPARE)
        whole = min(mean / DOUBT, found.error / OTHERWISE) / ease
        odds = [_doubted(one, doubts, found) / ease for one in found.differences]
        if is_lettered(language):
            odds = [
                own if one.cost >= LEAST_HEARD else min(own, 1.0)
                for own, one in zip(odds, found.differences, strict=True)
            ]
    else:
        whole = _whole(found, ease, language)
        odds = [_undoubted(one) / ease for one in found.differences]
    worst = sorted(zip(odds, found.differences, strict=True), key=lambda pair: -pair[0])
    wrong = tuple(one for own, one in worst if own > 1)
    return Judgement(found, round(max([whole, *odds]), 3), wrong)


def _whole(found: Fidelity, ease: float, language: str) -> float:
    least = LEAST_LETTERS if is_lettered(language) else LEAST_WORDS
    if found.count < least:
        return 0.0
    limit = WHOLE * ease
    return max(found.error / limit, found.window / max(WINDOW, limit))


def _undoubted(one: Difference) -> float:
    if one.kind == "repeated":
        return REPEATED
    if one.kind == "moved":
        return MOVED
    return 0.0 if one.kind == "other" else one.cost / HOLE


def _doubted(one: Difference, doubts: Sequence[float], found: Fidelity) -> float:
    first, last = one.words
    own = doubts[first:last]
    # where little else was understood, a word proves less
    misheard = 1 + MISHEARD * max(0.0, found.count - one.cost) / found.size
    after = doubts[last] if last < len(doubts) else LEAST_ADDED
    if one.kind in ("missing", "other") and not own:
        return _undoubted(one)
    if one.kind == "missing":
        if len(own) <= FEW:
            most = max(own) / (MISSING if first else MISSING * START) / misheard
        else:
            most = sum(own) / len(own) / PASSAGE
        is_end = last == len(doubts) and len(own) > 1
        return max(most, sum(own[-2:]) / 2 / ENDING) if is_end else most
    if one.kind == "other":
        limit = OTHER * (NAME if _CAPITAL.search(one.meant) else 1)
        more = (len(one.got) - len(one.meant)) / LETTERS - 1
        added = max(after, max(own)) * more / ADDED
        return max(max(own) * one.surely / limit, added) / misheard
    if one.kind == "added":
        return max(after, LEAST_ADDED) * one.cost / ADDED / misheard
    return MOVED if one.kind == "moved" else REPEATED


_NAMED = 3
"""Differences that are told of one take."""
_SAID = {
    "missing": 'missing "{meant}"',
    "added": 'added "{got}"',
    "repeated": 'said twice "{meant}"',
    "moved": 'out of its place "{meant}"',
    "other": '"{meant}" heard as "{got}"',
}


def told(one: Difference) -> str:
    """A difference in words: missing "and her aunt"."""
    return _SAID[one.kind].format(meant=_short(one.meant), got=_short(one.got))


def _detail(found: Judgement) -> str:
    said = [told(one) for one in found.wrong[:_NAMED]]
    return "; ".join([f"{found.fidelity.error:.0%} of it heard otherwise", *said])


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:39] + "…"
