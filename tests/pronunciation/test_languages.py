"""Spanish, Italian, Portuguese, French and Hindi: the table of languages.txt."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from narrator.pronunciation import pronounce
from tests.tables import Case, read_cases

CASES = list(read_cases(Path(__file__).with_name("languages.txt")))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_phonemes(case: Case) -> None:
    assert pronounce(case.text, case.language).phonemes == case.expected


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
