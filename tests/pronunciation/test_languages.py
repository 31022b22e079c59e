"""Spanish, Italian, Portuguese, French and Hindi: the table of languages.txt."""

from __future__ import annotations

from collections import Counter

import pytest

from narrator.pronunciation import pronounce
from tests.pronunciation.tables import Case, cases

CASES = list(cases("languages.txt"))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_phonemes(case: Case) -> None:
    assert pronounce(case.text, case.language).phonemes == case.phonemes


def test_every_language_has_a_table() -> None:
    counts = Counter(case.language for case in CASES)
    assert set(counts) == {"es", "it", "pt", "fr", "hi"}
    assert min(counts.values()) >= 25


@pytest.mark.parametrize(
    ("language", "text", "phonemes"),
    [
        ("es", "¿Qué? ¡No!", "kˈe? nˈo!"),
        ("fr", "vous, avez", "vu, avˈe"),
        ("fr", "vous avez", "vuz avˈe"),
        ("es", "la boca; boca", "la βˈoka; bˈoka"),
        ("hi", "घर। घर", "ɡʰˈʌɾ. ɡʰˈʌɾ"),
        ("pt", "disse-me", "ʤˈisymy"),
    ],
)
def test_marks_part_words_that_would_change_each_other(
    language: str, text: str, phonemes: str
) -> None:
    assert pronounce(text, language).phonemes == phonemes
