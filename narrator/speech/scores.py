"""Scores good tries of a chunk, so that the best of several becomes the take.

A score has terms, each counted in deviations that listeners notice; the lowest weighted sum is the
best. A render scores by the chunk's own tries, the take before and the voice's reference, which are
the same in any order of work; a retake by what is usual for the speaker in the whole book.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from narrator.engines.voice import Reference
from narrator.speech import checks
from narrator.speech.steadiness import PITCH, TIMBRE, Deviation, UsualVoice, VoicedTake
from narrator.speech.store import Record

WEIGHTS: Mapping[str, float] = {
    "words": 4.0,  # nearness of what was heard to a fault, from 0 to 1
    "checks": 2.0,  # nearness of figures to the limits of the checks, from 0 to 1 each
    "likeness": 0.5,  # to the reference
    "voice": 0.5,  # against other tries of the text, or the speaker's usual voice
    "pace": 1.0,  # likewise
    "seam": 0.5,  # against the take before
}
"""Weights of the terms, chosen by `benchmarks/choice.py`."""
_LIKENESS = (PITCH, TIMBRE)
"""Measures by which a take is compared with a reference."""


@dataclass(frozen=True, slots=True)
class Standard:
    """The takes with which tries of a chunk are compared."""

    usual: UsualVoice | None = None
    """Of the speaker, or of all tries of the same text."""
    reference: UsualVoice | None = None
    previous: VoicedTake | None = None
    """The take that the chunk goes on from."""

    @classmethod
    def of_tries(
        cls,
        tries: Sequence[Record],
        reference: UsualVoice | None = None,
        previous: Record | None = None,
    ) -> Standard:
        """Returns the standard of tries of one text, at whose medians a good one lies."""
        previous_take = VoicedTake.of(previous) if previous else None
        voiced = [
            replace(take, previous=previous_take)
            for record in tries
            if (take := VoicedTake.of(record, min_seconds=0.0))
        ]
        return cls(UsualVoice.of(voiced, min_takes=1), reference, previous_take)

    def score(self, record: Record, word_odds: float = 0.0) -> dict[str, float]:
        """Returns the terms of a try's score, without those that it does not tell.

        `word_odds` are those of `Opinion`.
        """
        terms = {"words": min(1.0, word_odds), "checks": checks.nearness(record.figures)}
        if take := VoicedTake.of(record, min_seconds=0.0):
            take = replace(take, previous=self.previous)
            if self.usual:
                by_term: dict[str, list[Deviation]] = defaultdict(list)
                for deviation in self.usual.deviations(take):
                    by_term[deviation.term].append(deviation)
                terms |= {term: _size(deviations) for term, deviations in by_term.items()}
            if self.reference:
                deviations = self.reference.deviations(take)
                terms["likeness"] = _size(d for d in deviations if d.measure in _LIKENESS)
        return {term: round(figure, 2) for term, figure in terms.items() if figure >= 0.005}


def voice_of_reference(reference: Reference) -> UsualVoice | None:
    """Returns the voice of a reference; None if there is too little of it."""
    verdict = checks.examine(reference.samples, reference.rate, 0.0)
    if not verdict.voice.pitch:
        return None
    take = VoicedTake.measured(verdict.voice, reference.seconds, verdict.figures.level)
    return UsualVoice.of([take], min_takes=1)


def total(terms: Mapping[str, float]) -> float:
    """Returns the score of a try: the lower, the better."""
    return sum(WEIGHTS.get(term, 0.0) * figure for term, figure in terms.items())


def describe(terms: Mapping[str, float]) -> str:
    """Returns a score with its weighted terms, the largest first."""
    weighted = {term: WEIGHTS.get(term, 0.0) * figure for term, figure in terms.items()}
    parts = sorted(weighted.items(), key=lambda part: -part[1])
    return f"{total(terms):.1f}: " + ", ".join(f"{term} {figure:.1f}" for term, figure in parts)


def _size(deviations: Iterable[Deviation]) -> float:
    """Returns how far a try lies away by several measures together, in noticeable deviations."""
    return math.sqrt(sum(deviation.share**2 for deviation in deviations))
