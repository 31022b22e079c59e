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
from types import MappingProxyType

from narrator.speech import checks
from narrator.speech.hearing import Transcript
from narrator.speech.hearing.compare import Difference, Fidelity, fidelity
from narrator.text.words import is_split_by_characters
from textbase.languages import primary

MAX_ERROR, MAX_WINDOW_ERROR = 0.30, 0.60
"""Errors for each word of the text above which a take does not speak it, where there are no doubts
to go by: in all of it, and in any window."""
LENIENT_MAX_ERRORS: Mapping[str, float] = dict.fromkeys(
    "ar da el fi he hi id ja ms no sw th tl tr vi".split(), 0.4
)
"""`MAX_ERROR` of languages in which recognisers err more, or whose spelling leaves a choice; the
other thresholds grow with it. Set with care, not measured: no recogniser of these languages was at
hand (2026-11-21)."""
MIN_FAULTY_LETTERS = 2.0
"""Characters that must differ where characters are compared, doubted or not: one may be another
spelling of the same sound. Set with care, not measured."""
MIN_WORD_ERRORS, MIN_LETTER_ERRORS = 2.0, 4.0
"""Errors that a short text must have: one name that is misheard proves nothing."""

MAX_MEAN_DOUBT, PADDING_WORDS, MIN_OTHER_ERROR = 2.0, 4, 0.25
"""Mean doubt of all words above which another text was spoken, if so many errors for each word were
heard as well; and words without doubt that are added to the mean: a short text has fewer."""
MISSING_DOUBT, FIRST_WORD_FACTOR = 5.2, 1.5
"""Doubt above which a word or two that were not written were not spoken, by the more doubted one;
and how much it grows for the very first word, which recognisers leave out ("Oh")."""
SHORT_PASSAGE_WORDS, PASSAGE_DOUBT = 2, 2.8
"""Most words of a short passage; and the mean doubt above which a longer one was not spoken: only
its first words are doubted where the recogniser skipped it."""
ENDING_DOUBT = 2.5
"""Mean doubt of the last two words of the text, where they are among those that were not written.
"""
OTHER_DOUBT, NAME_FACTOR = 6.6, 1.6
"""Doubt of a word in whose place another was written, times how unlike they are; and how much it
grows for names, of which recognisers know few."""
ADDED_DOUBT, MIN_NEXT_DOUBT = 3.3, 0.5
"""Doubt of the word after an addition, times the number of added words: a word that was spoken is
not doubted itself, but that it comes next is; and the least doubt that is counted for it."""
LETTERS_PER_WORD = 6
"""Letters of a word, to count the added words among others."""
MISHEARD_FACTOR = 5.0
"""The factor by which these grow with the errors for each word elsewhere in the take."""
REPEATED_ODDS, MOVED_ODDS = 1.6, 2.0
"""Odds of what recognisers write only if they hear it."""
MAX_DOUBT = 12.0
"""No doubt counts for more."""
MAX_HOLE_UNITS = 2.5
"""Words or characters missing or added in a row, where there are no doubts to go by."""
_CAPITALISED_WORD = re.compile(r"\b[^\W\d_a-z]\w\w")


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict on a take's words."""

    fidelity: Fidelity
    odds: float
    """Odds of the worst difference, or of the take in all; over 1 is a fault."""
    wrong: tuple[Difference, ...] = ()
    """The differences that are faults, worst first."""
    wrong_odds: tuple[float, ...] = ()
    """The odds of each of them."""

    @property
    def faults(self) -> tuple[checks.Fault, ...]:
        """One fault, or none; it weighs more the less of the text was heard."""
        if self.odds <= 1:
            return ()
        weight = round(8 + 4 * min(self.fidelity.error, 3.0), 3)
        return (checks.Fault("text", _describe_judgement(self), weight),)


def max_error(language: str) -> float:
    """Returns `MAX_ERROR` for a language, by BCP 47 tag."""
    return LENIENT_MAX_ERRORS.get(primary(language), MAX_ERROR)


HeardAs = Mapping[str, Sequence[str]]
"""Words with what recognisers write where these are said right."""


def judge(
    transcript: Transcript,
    text: str,
    language: str,
    error: float | None = None,
    heard_as: HeardAs = MappingProxyType({}),
) -> Judgement:
    """Judges a take that should say `text` by its transcript.

    `error` replaces the language's `max_error`; all thresholds grow with it. What `heard_as` has
    for words of the text counts as these words.
    """
    figures = fidelity(text, _restore_words(transcript.text, text, heard_as), language)
    leniency = (max_error(language) if error is None else error) / MAX_ERROR
    doubts = [min(doubt, MAX_DOUBT) for doubt in transcript.doubts]
    if doubts:
        mean_doubt = sum(doubts) / (len(doubts) + PADDING_WORDS)
        take_odds = min(mean_doubt / MAX_MEAN_DOUBT, figures.error / MIN_OTHER_ERROR) / leniency
    else:
        take_odds = _take_odds_without_doubts(figures, leniency, language)
    judged: list[tuple[Difference, float]] = []
    for difference in figures.differences:
        odds = (
            _odds_with_doubts(difference, doubts, figures)
            if doubts
            else _odds_without_doubts(difference)
        ) / leniency
        if doubts and is_split_by_characters(language) and difference.cost < MIN_FAULTY_LETTERS:
            odds = min(odds, 1.0)
        judged.append((difference, odds))
    judged.sort(key=lambda pair: -pair[1])
    wrong = [(difference, round(odds, 3)) for difference, odds in judged if odds > 1]
    return Judgement(
        figures,
        round(max([take_odds, *(odds for _, odds in judged)]), 3),
        tuple(difference for difference, _ in wrong),
        tuple(odds for _, odds in wrong),
    )


def _restore_words(heard_text: str, text: str, heard_as: HeardAs) -> str:
    """Returns a heard text with the words of the text in place of what is heard for them."""
    for word, forms in heard_as.items():
        if word.casefold() in text.casefold():
            for form in forms:
                pattern = rf"(?<!\w){re.escape(form)}(?!\w)"
                replacement = word.replace("\\", r"\\")
                heard_text = re.sub(pattern, replacement, heard_text, flags=re.IGNORECASE)
    return heard_text


def _take_odds_without_doubts(figures: Fidelity, leniency: float, language: str) -> float:
    """Returns the odds that a take speaks another text."""
    min_errors = MIN_LETTER_ERRORS if is_split_by_characters(language) else MIN_WORD_ERRORS
    if figures.error_count < min_errors:
        return 0.0
    limit = MAX_ERROR * leniency
    return max(figures.error / limit, figures.window_error / max(MAX_WINDOW_ERROR, limit))


def _odds_without_doubts(difference: Difference) -> float:
    odds_of_kind = {"repeated": REPEATED_ODDS, "moved": MOVED_ODDS, "other": 0.0}
    return odds_of_kind.get(difference.kind, difference.cost / MAX_HOLE_UNITS)


def _odds_with_doubts(difference: Difference, doubts: Sequence[float], figures: Fidelity) -> float:
    """Returns the odds of a difference, by the doubts of all words of the text."""
    first, last = difference.word_span
    word_doubts = doubts[first:last]
    if difference.kind in ("repeated", "moved") or (difference.kind != "added" and not word_doubts):
        return _odds_without_doubts(difference)
    next_doubt = doubts[last] if last < len(doubts) else MIN_NEXT_DOUBT
    # where little of the take was understood, a single word proves less
    errors_elsewhere = max(0.0, figures.error_count - difference.cost)
    misheard = 1 + MISHEARD_FACTOR * errors_elsewhere / figures.unit_count
    if difference.kind == "added":
        return max(next_doubt, MIN_NEXT_DOUBT) * difference.cost / ADDED_DOUBT / misheard
    if difference.kind == "other":
        limit = OTHER_DOUBT * (NAME_FACTOR if _CAPITALISED_WORD.search(difference.text) else 1)
        extra_letters = len(difference.heard_text) - len(difference.text)
        added_words = extra_letters / LETTERS_PER_WORD - 1
        added_odds = max(next_doubt, max(word_doubts)) * added_words / ADDED_DOUBT
        return max(max(word_doubts) * difference.unlikeness / limit, added_odds) / misheard
    if len(word_doubts) <= SHORT_PASSAGE_WORDS:
        limit = MISSING_DOUBT if first else MISSING_DOUBT * FIRST_WORD_FACTOR
        missing_odds = max(word_doubts) / limit / misheard
    else:
        missing_odds = sum(word_doubts) / len(word_doubts) / PASSAGE_DOUBT
    is_end = last == len(doubts) and len(word_doubts) > 1
    return max(missing_odds, sum(word_doubts[-2:]) / 2 / ENDING_DOUBT) if is_end else missing_odds


_MAX_DESCRIBED = 3
"""Most differences in one fault's detail."""
_DESCRIPTIONS = {
    "missing": 'missing "{text}"',
    "added": 'added "{heard_text}"',
    "repeated": 'said twice "{text}"',
    "moved": 'out of its place "{text}"',
    "other": '"{text}" heard as "{heard_text}"',
}


def describe_difference(difference: Difference) -> str:
    """Describes a difference: missing "and her aunt"."""
    return _DESCRIPTIONS[difference.kind].format(
        text=_shorten(difference.text), heard_text=_shorten(difference.heard_text)
    )


def _describe_judgement(judgement: Judgement) -> str:
    descriptions = [
        describe_difference(difference) for difference in judgement.wrong[:_MAX_DESCRIBED]
    ]
    return "; ".join([f"{judgement.fidelity.error:.0%} of it heard otherwise", *descriptions])


def _shorten(text: str) -> str:
    return text if len(text) <= 40 else text[:39] + "…"
