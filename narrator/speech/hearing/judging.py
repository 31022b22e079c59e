"""Decides which differences between a take and its text are faults, by measured thresholds.

Two kinds of evidence: the recogniser's text, and how improbable the sound makes each word of the
text (`Transcript.doubts`). Either alone errs often, but a word that was not written *and* is
doubted is hardly ever there. Each difference has odds, of which 1 is the threshold. Pure; knows no
engine and no recogniser.

Measured (2026-11-23, two x86-64 cores, `benchmarks/hearing.py`): Whisper tiny.en, the smallest
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
from narrator.text.words import is_lettered
from textbase.languages import primary

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
"""The factor by which these grow with the errors for each word elsewhere in the take."""
REPEATED, MOVED = 1.6, 2.0
"""Odds of what recognisers do not write unless they hear it."""
CERTAIN = 12.0
"""No doubt counts for more."""
HOLE = 2.5
"""Words or characters missing or added in a row, where there are no doubts to tell."""
_CAPITALISED_WORD = re.compile(r"\b[^\W\d_a-z]\w\w")


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict on a take's words."""

    fidelity: Fidelity
    odds: float
    """Odds of the worst difference, or of the whole take; over 1 is a fault."""
    wrong: tuple[Difference, ...] = ()
    """The differences that are faults, worst first."""

    @property
    def faults(self) -> tuple[checks.Fault, ...]:
        """One fault, or none; it weighs more the less of the text was heard."""
        if self.odds <= 1:
            return ()
        weight = round(8 + 4 * min(self.fidelity.error, 3.0), 3)
        return (checks.Fault("text", _describe_judgement(self), weight),)


def max_errors(language: str) -> float:
    """Returns `WHOLE` for a language, by BCP 47 tag."""
    return LENIENT.get(primary(language), WHOLE)


def judge(
    transcript: Transcript, text: str, language: str, error: float | None = None
) -> Judgement:
    """Judges a take that should say `text` by its transcript.

    `error` replaces the language's `max_errors`; all thresholds grow with it.
    """
    fidelity_figures = fidelity(text, transcript.text, language)
    leniency = (max_errors(language) if error is None else error) / WHOLE
    doubts = [min(doubt, CERTAIN) for doubt in transcript.doubts]
    if doubts:
        mean = sum(doubts) / (len(doubts) + SPARE)
        take_odds = min(mean / DOUBT, fidelity_figures.error / OTHERWISE) / leniency
        odds = [
            _odds_with_doubts(difference, doubts, fidelity_figures) / leniency
            for difference in fidelity_figures.differences
        ]
        if is_lettered(language):
            odds = [
                difference_odds if difference.cost >= LEAST_HEARD else min(difference_odds, 1.0)
                for difference_odds, difference in zip(
                    odds, fidelity_figures.differences, strict=True
                )
            ]
    else:
        take_odds = _whole_take_odds(fidelity_figures, leniency, language)
        odds = [
            _odds_without_doubts(difference) / leniency
            for difference in fidelity_figures.differences
        ]
    worst = sorted(zip(odds, fidelity_figures.differences, strict=True), key=lambda pair: -pair[0])
    wrong = tuple(difference for difference_odds, difference in worst if difference_odds > 1)
    return Judgement(fidelity_figures, round(max([take_odds, *odds]), 3), wrong)


def _whole_take_odds(figures: Fidelity, leniency: float, language: str) -> float:
    min_errors = LEAST_LETTERS if is_lettered(language) else LEAST_WORDS
    if figures.count < min_errors:
        return 0.0
    limit = WHOLE * leniency
    return max(figures.error / limit, figures.window / max(WINDOW, limit))


def _odds_without_doubts(difference: Difference) -> float:
    if difference.kind == "repeated":
        return REPEATED
    if difference.kind == "moved":
        return MOVED
    return 0.0 if difference.kind == "other" else difference.cost / HOLE


def _odds_with_doubts(difference: Difference, doubts: Sequence[float], figures: Fidelity) -> float:
    first, last = difference.words
    word_doubts = doubts[first:last]
    # where little of the take was understood, a single word proves less
    misheard = 1 + MISHEARD * max(0.0, figures.count - difference.cost) / figures.size
    next_doubt = doubts[last] if last < len(doubts) else LEAST_ADDED
    if difference.kind in ("missing", "other") and not word_doubts:
        return _odds_without_doubts(difference)
    if difference.kind == "missing":
        if len(word_doubts) <= FEW:
            missing_odds = max(word_doubts) / (MISSING if first else MISSING * START) / misheard
        else:
            missing_odds = sum(word_doubts) / len(word_doubts) / PASSAGE
        is_end = last == len(doubts) and len(word_doubts) > 1
        return max(missing_odds, sum(word_doubts[-2:]) / 2 / ENDING) if is_end else missing_odds
    if difference.kind == "other":
        limit = OTHER * (NAME if _CAPITALISED_WORD.search(difference.meant) else 1)
        extra_words = (len(difference.got) - len(difference.meant)) / LETTERS - 1
        added_odds = max(next_doubt, max(word_doubts)) * extra_words / ADDED
        return max(max(word_doubts) * difference.surely / limit, added_odds) / misheard
    if difference.kind == "added":
        return max(next_doubt, LEAST_ADDED) * difference.cost / ADDED / misheard
    return MOVED if difference.kind == "moved" else REPEATED


_MAX_DESCRIBED = 3
"""Most differences in one fault's detail."""
_DESCRIPTIONS = {
    "missing": 'missing "{meant}"',
    "added": 'added "{got}"',
    "repeated": 'said twice "{meant}"',
    "moved": 'out of its place "{meant}"',
    "other": '"{meant}" heard as "{got}"',
}


def describe_difference(difference: Difference) -> str:
    """Describes a difference: missing "and her aunt"."""
    return _DESCRIPTIONS[difference.kind].format(
        meant=_shorten(difference.meant), got=_shorten(difference.got)
    )


def _describe_judgement(judgement: Judgement) -> str:
    descriptions = [
        describe_difference(difference) for difference in judgement.wrong[:_MAX_DESCRIBED]
    ]
    return "; ".join([f"{judgement.fidelity.error:.0%} of it heard otherwise", *descriptions])


def _shorten(text: str) -> str:
    return text if len(text) <= 40 else text[:39] + "…"
