from __future__ import annotations

import pytest

from narrator.speech.hearing import Transcript
from narrator.speech.hearing.judging import judge, max_error
from narrator.text.words import words

LONG = (
    "The ferry left at seven, as it had on every morning that anyone in the village could "
    "remember. Nobody had ever asked it to wait, and it had never once been asked to hurry, and "
    "the ferryman looked at the sky, and then at the far bank of the river, and was content."
)


def without(text: str, first: str, last: str) -> str:
    """A text from which a passage has gone, its last word included."""
    return text[: text.index(first)] + text[text.index(last) + len(last) :]


def faults(heard_text: str, text: str, language: str = "en-GB", **options: float) -> list[str]:
    return [str(fault) for fault in judge(Transcript(heard_text), text, language, **options).faults]


def test_some_languages_are_allowed_more_errors():
    assert max_error("en-GB") < max_error("hi")


# -- without doubts --------------------------------------------------------------------------------


def test_a_take_that_lost_words_is_not():
    [fault] = faults(without(LONG, "Nobody had", "to wait"), LONG)
    assert fault.startswith("text: ")
    assert 'missing "Nobody had ever asked it to wait"' in fault


@pytest.mark.parametrize(
    ("heard_text", "text", "is_faulty"),
    [
        (LONG.lower(), LONG, False),
        ("You think you can just come in here and cause a panic.", LONG, True),
        ("Bill!", "Beale!", False),  # one misheard name proves nothing
        ("gone", "Ukridge!", False),
        ("And there was nothing left to say", "Ukridge!", True),
    ],
)
def test_a_take_without_doubts_is_faulty_if_much_of_it_differs(heard_text, text, is_faulty):
    assert bool(faults(heard_text, text)) == is_faulty


def test_the_limit_can_be_set():
    heard_text = " ".join(word if n % 5 else "hm" for n, word in enumerate(LONG.split()))
    assert faults(heard_text, LONG) == []
    assert faults(heard_text, LONG, error=0.1)


# -- with doubts -----------------------------------------------------------------------------------


def doubted(text: str, heard_text: str, doubts: dict[str, float], **options: float) -> list[str]:
    """Faults of an English take, in which the words named are doubted so much."""
    text_words = [text[first:last].strip(".,") for first, last in words(text, "en")]
    judgement = judge(
        Transcript(heard_text, tuple(doubts.get(word, 0.2) for word in text_words)),
        text,
        "en",
        **options,
    )
    return [str(fault) for fault in judgement.faults]


UKRIDGE = "Then Mister Ukridge spoke to the sergeant of the guard."
WITHOUT_NEVER = LONG.replace("never once", "once")
SKIPPED = without(LONG, "Nobody had", "asked it")
GARBLED = WITHOUT_NEVER
for word, misheard in (
    ("morning", "boring bin"), ("village", "fill age of"),
    ("Nobody had ever", "No boating heather"), ("river", "weather"),
):  # fmt: skip
    GARBLED = GARBLED.replace(word, misheard)


@pytest.mark.parametrize(
    ("text", "heard_text", "doubts", "fault"),
    [
        (LONG, WITHOUT_NEVER, {"once": 9}, None),
        (LONG, WITHOUT_NEVER, {"never": 9}, 'heard otherwise; missing "never"'),
        # a passage that the recogniser skipped is doubted at its first words alone
        (LONG, SKIPPED, {"Nobody": 11}, None),
        (LONG, SKIPPED, {"Nobody": 11, "ever": 8, "asked": 6}, '"Nobody had ever asked it"'),
        # a name that is heard by its sound
        (UKRIDGE, UKRIDGE.replace("Ukridge", "Oakridge"), {"Ukridge": 11}, None),
        (UKRIDGE, UKRIDGE.replace("Ukridge", "Bloomsbury"), {"Ukridge": 11}, '"Bloomsbury"'),
        (LONG, LONG.replace("far bank", "far bank far bank"), {}, 'said twice "far bank"'),
        # a word too much, if the next one is doubted
        (LONG, LONG.replace("far bank", "far green bank"), {}, None),
        (LONG, LONG.replace("far bank", "far green bank"), {"bank": 5}, 'added "green"'),
        # a word proves less where little else was understood
        (LONG, WITHOUT_NEVER, {"never": 6}, 'missing "never"'),
        (LONG, GARBLED, {"never": 6}, None),
    ],
)  # fmt: skip
def test_a_difference_is_a_fault_if_its_words_are_doubted(text, heard_text, doubts, fault):
    found_faults = doubted(text, heard_text, doubts)
    assert len(found_faults) == (fault is not None)
    assert fault is None or found_faults[0].endswith(fault)


def test_a_take_whose_words_are_all_doubted_says_another_text():
    text = "You think you can just come in here and cause a panic."
    assert doubted(LONG, text, dict.fromkeys(LONG.replace(",", "").replace(".", "").split(), 4.0))


def test_the_limit_eases_what_is_doubted_too():
    assert doubted(LONG, WITHOUT_NEVER, {"never": 6}, error=0.6) == []


def test_one_character_of_chinese_proves_nothing():
    text = "今天早上渡船七点钟离开了码头。"
    doubts = tuple(9.0 for _ in words(text, "zh"))
    heard_text = Transcript(text.replace("了", ""), tuple(0.2 for _ in doubts))
    assert not judge(heard_text, text, "zh").faults
    few = tuple(9.0 if n in (6, 7, 8) else 0.2 for n in range(len(doubts)))
    assert judge(Transcript(text.replace("点钟离", ""), few), text, "zh").faults
