from __future__ import annotations

import pytest

from narrator.speech.hearing.compare import fidelity
from narrator.text.words import words

LONG = (
    "The ferry left at seven, as it had on every morning that anyone in the village could "
    "remember. Nobody had ever asked it to wait, and it had never once been asked to hurry, and "
    "the ferryman looked at the sky, and then at the far bank of the river, and was content."
)


def differences_of(
    text: str, heard_text: str, language: str = "en-GB"
) -> list[tuple[str, str, str]]:
    comparison = fidelity(text, heard_text, language).differences
    assert all(
        text[difference.first : difference.last] == difference.text for difference in comparison
    )
    return [(difference.kind, difference.text, difference.heard_text) for difference in comparison]


@pytest.mark.parametrize(
    ("text", "heard_text"),
    [
        ("Doctor Lovell paid twenty-three pounds.", "doctor lovell paid twenty three pounds"),
        ("Doctor Lovell paid twenty-three pounds.", "Dr. Lovell paid £23."),
        ("It wasn't much.", "IT WASNT MUCH"),
        ("It was nineteen hundred and six.", "It was nineteen hundred and six"),
        ("In nineteen fourteen he won five pounds.", "In 1914, he won £5"),
        ("It's late, and he'd gone; they'll wait.", "it is late and he had gone they will wait"),
        ("I'm going to. I cannot. Let us see.", "I am gonna. I can't. Let's see."),
        ("Missus Medley and Mister Chase", "Mrs. Medley and Mr. Chase"),
        ("Missus Medley", "missis medley"),
        ("The colour of grey: we realised it.", "the color of gray we realized it"),
        ("Someone came along the foot path.", "some one came along the footpath"),
        ("A good-for-nothing, out-of-doors.", "a goodfornothing out of doors"),
        ("Their practice was there.", "There practise was they're"),
        ("He paid.", "He paid. (music) ♪"),
        ("I O U ten shillings.", "IOU ten shillings."),
    ],
)  # fmt: skip
def test_what_is_spoken_the_same_is_the_same(text, heard_text):
    assert fidelity(text, heard_text, "en-GB").error == 0


@pytest.mark.parametrize(
    ("language", "text", "heard_text", "is_equal"),
    [
        ("fr", "Élise était déjà là.", "elise etait deja la", True),
        ("de", "Er sah our.", "er sah or", False),  # English spellings
        ("hi", "उसने खिड़की खोली।", "उसने खिड़की खोली", True),
        ("hi", "उसने खिड़की खोली।", "उसन खड़क खल", False),  # marks that are letters
    ],
)
def test_other_languages_are_compared_without_accents_and_rules_of_english(
    language, text, heard_text, is_equal
):
    assert (fidelity(text, heard_text, language).error == 0) == is_equal


OPEN_DOOR = "The door was open. Nobody had asked him to wait for her."


@pytest.mark.parametrize(
    ("text", "heard_text", "difference"),
    [
        (LONG, LONG.replace("never once", "once"), ("missing", "never", "")),
        (LONG, LONG.replace("river", "river river"), ("repeated", "river", "river")),
        (LONG, LONG.replace("never once", "never once never once"),
         ("repeated", "never once", "never once")),
        (OPEN_DOOR, "Nobody had asked him to wait for her. The door was open.",
         ("moved", "The door was open", "")),
        # what is added beside what was misheard is heard instead of it
        ("Then Featherstonehaugh spoke.", "Then fan is on horror spoke",
         ("other", "Featherstonehaugh", "fan is on horror")),
    ],
)  # fmt: skip
def test_a_difference_has_its_kind_and_place(text, heard_text, difference):
    assert differences_of(text, heard_text) == [difference]


@pytest.mark.parametrize("heard_text", ["Uckridge", "Oakridge", "Akridge", "Oak Ridge"])
def test_a_name_that_is_heard_by_its_sound_counts_little(heard_text):
    text = "Mister Ukridge spoke to the sergeant."
    error = fidelity(text, f"mister {heard_text} spoke to the sergeant", "en").error
    assert 0 < error < 0.05
    assert differences_of(text, f"mister {heard_text} spoke to the sergeant") == [
        ("other", "Ukridge", heard_text)
    ]
    assert fidelity(text, "mister bloomsbury spoke to the sergeant", "en").error > 0.1


def test_nothing_heard_is_all_missing():
    text = "Nobody had ever asked it to wait."
    comparison = fidelity(text, "", "en")
    assert comparison.error == comparison.window_error == 1
    assert differences_of(text, "") == [("missing", text[:-1], "")]


def test_something_heard_where_nothing_was_meant():
    assert fidelity("", "", "en").error == 0
    assert fidelity("...", "hello there", "en").error == 1


def test_a_passage_that_was_lost_is_named_and_shows_in_its_window():
    passage = "Nobody had ever asked it to wait"
    comparison = fidelity(LONG, LONG.replace(passage, ""), "en")
    assert comparison.error < 0.2
    assert comparison.window_error == 1
    [difference] = comparison.differences
    assert (difference.kind, difference.text, difference.unlikeness, difference.cost) == (
        "missing",
        passage,
        1,
        7,
    )
    spans = words(LONG, "en")
    assert [spans[place][0] for place in difference.word_span] == [
        difference.first,
        spans[difference.word_span[1]][0],
    ]


def test_what_was_added_lies_between_two_words():
    [difference] = fidelity(LONG, LONG.replace("bank of", "bank we think of"), "en").differences
    assert (difference.kind, difference.heard_text) == ("added", "we think")
    assert LONG[: difference.first].endswith("far bank")
    assert difference.first == difference.last
    assert difference.word_span == (difference.word_span[0],) * 2
    assert LONG[words(LONG, "en")[difference.word_span[0]][0] :].startswith("of the river")


def test_errors_here_and_there_are_told_apart():
    heard_text = (
        LONG.replace("seven", "eleven").replace("village", "cottage").replace("far", "other")
    )
    comparison = fidelity(LONG, heard_text, "en")
    assert comparison.window_error < 0.4
    assert [difference.kind for difference in comparison.differences] == ["other"] * 3


def test_languages_without_spaces_go_by_character():
    text = "她打开窗户，看着下面湿漉漉的街道，很久没有说话。"
    assert fidelity(text, "她打开窗户 看着下面湿漉漉的街道 很久没有说话", "zh").error == 0
    heard_text = "她打开窗户，很久没有说话。"
    assert differences_of(text, heard_text, "zh") == [("missing", "看着下面湿漉漉的街道，", "")]
    assert fidelity(text, heard_text, "zh").window_error > 0.7


def test_a_chapter_is_compared_in_pieces():
    names = [a + b for a in "abcdefgh" for b in "stuvwxyz"]
    text = " ".join(f"Then, Father {name}, {LONG.lower()}" for name in names)
    heard_text = text.replace("Father cu, ", "").replace("Father fy,", "Father fy, father fy,")
    assert len(text.split()) > 3000
    assert [
        (kind, expected_text) for kind, expected_text, _ in differences_of(text, heard_text, "de")
    ] == [
        ("missing", "Father cu"),
        ("repeated", "Father fy"),
    ]


def test_texts_that_have_nothing_in_common_are_compared_without_weighing_each_pair():
    text = " ".join(f"a{n}" for n in range(3000))
    heard_text = " ".join(f"b{n}" for n in range(2000))
    comparison = fidelity(text, heard_text, "de")
    assert comparison.error == 1
    assert [difference.kind for difference in comparison.differences] == ["other", "missing"]


def test_a_word_that_is_the_same_by_chance_hides_no_better_way():
    expected_text = "plastic sixpence lamp giraffe hydrogen butter"
    assert fidelity(expected_text, "plastic lamp whistle hydrogen sixpence", "en").error_count == 3
