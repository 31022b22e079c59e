from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from narrator.sound.timing import TimedWord
from narrator.text.normalize import Change, Lexicon, LexiconEntry, SpokenText, normalize
from narrator.text.normalize.written import written_times
from narrator.text.words import words


def spoken_of(text: str, language: str = "en-GB", **more) -> SpokenText:
    lexicon = more.pop("lexicon", Lexicon([]))
    return normalize(text, language=language, speaker="ann", lexicon=lexicon, **more)


def each_second(spoken: SpokenText, language: str = "en-GB") -> list[TimedWord]:
    """The words of a text that are said at 0, 1, 2 … for 0.9 s."""
    spans = words(spoken.text, language)
    return [TimedWord(*span, n, n + 0.9) for n, span in enumerate(spans)]


def heard(text: str, language: str = "en-GB", **more) -> list[tuple[str, float, float]]:
    spoken = spoken_of(text, language, **more)
    found = written_times(text, spoken, each_second(spoken, language), language)
    return [(text[one.first : one.last], one.start, one.stop) for one in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("“Mrs. Medley,” he said.", "“Mrs. 0 0.9|Medley,” 1 1.9|he 2 2.9|said. 3 3.9"),
        ("It was £23.50 then.", "It 0 0.9|was 1 1.9|£23.50 2 4.9|then. 5 5.9"),
        ("It cost $5 million.", "It 0 0.9|cost 1 1.9|$5 million. 2 4.9"),
        ("George VI had 3/4 of it", "George 0 0.9|VI 1 2.9|had 3 3.9|3/4 4 5.9|of 6 6.9|it 7 7.9"),
        ("Wait—who … me?", "Wait— 0 0.9|who 1 1.9|me? 2 2.9"),
        ("You (he)—“and” me", "You 0 0.9|(he)— 1 1.9|“and” 2 2.9|me 3 3.9"),
        ("and/or both", "and/or 0 1.9|both 2 2.9"),
        ("bread & jam", "bread 0 0.9|& 1 1.9|jam 2 2.9"),
        ("Off\nand on", "Off 0 0.9|and 1 1.9|on 2 2.9"),
    ],
)
def test_words_are_timed_as_they_are_written(text: str, expected: str) -> None:
    assert "|".join(f"{word} {a:g} {b:g}" for word, a, b in heard(text)) == expected


def test_what_an_author_has_said_otherwise_is_one_word() -> None:
    lexicon = Lexicon([LexiconEntry(word="Ukridge", say="Yook ridge")])
    assert heard("Ukridge left.", lexicon=lexicon) == [("Ukridge", 0, 1.9), ("left.", 2, 2.9)]
    assert heard("Go to Wooster.", says=[(3, 13, "two words")]) == [
        ("Go", 0, 0.9),
        ("to Wooster.", 1, 2.9),
    ]


def test_what_is_not_said_has_no_time_and_what_is_not_written_goes_with_the_next() -> None:
    assert [word for word, _, _ in heard("He (sic) went.", says=[(3, 8, " ")])] == ["He", "went."]
    changes = Change(0, 0, "", "the ", "rule"), Change(5, 5, "", " again", "rule")
    said = SpokenText("the Sixth again", changes)
    (one,) = written_times("Sixth", said, each_second(said), "en")
    assert (one.first, one.last, one.start, one.stop) == (0, 5, 0, 2.9)


def test_scripts_without_spaces_are_timed_by_character() -> None:
    assert [word for word, _, _ in heard("「はい。」", "ja")] == ["「は", "い。」"]


PARTS = ["Mrs. ", "£23 ", "word", " ", "—", "“", "”", ".", "1984", "VI\n", "&", "-", "e.g. "]


@given(st.lists(st.sampled_from(PARTS)))
def test_words_are_in_order_and_within_the_text(parts: list[str]) -> None:
    text = "".join(parts)
    spoken = spoken_of(text)
    at = -1
    for word in written_times(text, spoken, each_second(spoken), "en-GB"):
        assert at <= word.first < word.last <= len(text)
        assert word.start < word.stop
        assert text[word.first : word.last] == text[word.first : word.last].strip()
        at = word.last
