"""What of a comparison is a fault."""

from __future__ import annotations

from collections.abc import Sequence

from narrator.speech import checks
from narrator.speech.hearing import Transcript, compare
from narrator.text.words import is_lettered


def judge(
    heard: Transcript, text: str, language: str, error: float | None = None
) -> Sequence[checks.Fault]:
    found = compare.fidelity(text, heard.text, language)
    limit = compare.most_errors(language) if error is None else error
    least = compare.LEAST_LETTERS if is_lettered(language) else compare.LEAST_WORDS
    if found.count < least or (found.error <= limit and found.window <= max(compare.WINDOW, limit)):
        return ()
    weight = round(8 + 4 * min(found.error, 3.0), 3)
    return (checks.Fault("text", compare._detail(found), weight),)
