"""English words in their sentences, American and British: the table of english.txt."""

from __future__ import annotations

from pathlib import Path

import pytest

from narrator.pronunciation import pronounce
from tests.tables import Case, read_cases

CASES = list(read_cases(Path(__file__).with_name("english.txt")))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_phonemes(case: Case) -> None:
    assert pronounce(case.text, case.language).phonemes == case.expected


def test_the_table_is_long() -> None:
    assert len(CASES) >= 180


@pytest.mark.parametrize("tag", ["en", "en-US", "en_us", "EN-us", "en-CA"])
def test_american_by_tag(tag: str) -> None:
    assert pronounce("water", tag).phonemes == "wˈɔTəɹ"


@pytest.mark.parametrize("tag", ["en-GB", "en_gb", "en-AU", "en-IE"])
def test_british_by_tag(tag: str) -> None:
    assert pronounce("water", tag).phonemes == "wˈɔːtə"


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ("The dog barked.", []),
        ("Daenerys barked at Quidditch.", ["Daenerys"]),
        ("Mr Knightley's café, nooo!", ["Knightley's"]),
        ("a well-known qwrtz-player", ["qwrtz-player"]),
        ("FBI, U.S.A. and XVIII", []),
    ],
)
def test_words_that_only_letters_tell_are_reported(text: str, unknown: list[str]) -> None:
    assert [span.text for span in pronounce(text, "en-US").unknown] == unknown


@pytest.mark.parametrize(
    ("text", "unspoken"),
    [("5 dogs & 東京", ["5", "&", "東京"]), ("It’s ‘so’… – “yes”.", []), ("a_b", ["_"])],
)
def test_what_is_not_spoken_is_reported(text: str, unspoken: list[str]) -> None:
    assert [span.text for span in pronounce(text, "en-US").unspoken] == unspoken


def test_a_word_is_told_apart_by_the_words_beside_it_not_by_another_sentence() -> None:
    alone = pronounce("I read.", "en-US").phonemes
    after = pronounce("He will. I read.", "en-US").phonemes
    assert after.endswith(alone)


@pytest.mark.parametrize(
    ("typographic", "typewriter"),
    [
        ("don’t", "don't"),
        ("O’Brien’s", "O'Brien's"),
        ("‘tis", "'tis"),
        ("well‑known", "well-known"),
    ],
)
def test_typographic_signs_change_nothing(typographic: str, typewriter: str) -> None:
    assert pronounce(typographic, "en").phonemes == pronounce(typewriter, "en").phonemes


def test_accents_that_are_composed_or_not_are_the_same() -> None:
    assert pronounce("cafe\u0301", "en").phonemes == pronounce("caf\u00e9", "en").phonemes


def test_soft_hyphens_are_not_heard() -> None:
    assert pronounce("won\u00adder", "en").phonemes == pronounce("wonder", "en").phonemes
