"""How words sound that no dictionary has."""

from __future__ import annotations

import pytest

from narrator.speech.hearing.letters import guess_sounds, split_spelling

KNOWN = {
    "ferry": "F EH R IY", "man": "M AE N", "holmes": "HH OW M Z", "row": "R OW", "bob": "B AA B",
}  # fmt: skip


@pytest.mark.parametrize(
    ("word", "looked_up"),
    [
        ("Holmes’s", ["holmes's"]),
        ("Québec", ["quebec"]),
        ("Œuvre", ["oeuvre"]),
        ("B52", ["b", "five", "two"]),
        ("привет", []),
        ("’", []),
    ],
)
def test_words_are_looked_up_in_plain_letters(word: str, looked_up: list[str]) -> None:
    assert split_spelling(word) == looked_up


@pytest.mark.parametrize(
    ("word", "sounds"),
    [
        ("holmes", "HH OW M Z"),
        ("rowing", "R OW IH NG"),
        ("bobbed", "B AA B D"),
        ("holmes's", "HH OW M Z Z"),
        ("ferryman", "F EH R IY M AE N"),
        ("pekingese", "P EH K IH NG IY S"),
        ("blake", "B L EY K"),
        ("attilly", "AE T IH L IY"),
        ("pst", "P S T"),
    ],
)
def test_a_word_sounds_as_known_ones_or_its_letters(word: str, sounds: str) -> None:
    assert guess_sounds(word, KNOWN.get) == sounds
