from __future__ import annotations

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


def test_a_take_that_says_its_text_is_good():
    assert faults(LONG.lower(), LONG) == []


def test_a_take_that_lost_words_is_not():
    [fault] = faults(without(LONG, "Nobody had", "to wait"), LONG)
    assert fault.startswith("text: ")
    assert 'missing "Nobody had ever asked it to wait"' in fault


def test_a_take_that_says_something_else_is_not():
    assert faults("You think you can just come in here and cause a panic.", LONG)


def test_one_misheard_name_proves_nothing():
    assert faults("Bill!", "Beale!") == []
    assert faults("gone", "Ukridge!") == []
    assert faults("And there was nothing left to say", "Ukridge!")


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


def test_a_word_that_is_missing_is_a_fault_where_it_is_doubted():
    heard_text = LONG.replace("never once", "once")
    assert doubted(LONG, heard_text, {"once": 9}) == []
    [fault] = doubted(LONG, heard_text, {"never": 9})
    assert fault.endswith('heard otherwise; missing "never"')


def test_a_passage_that_the_recogniser_skipped_is_doubted_at_its_first_words_alone():
    heard_text = without(LONG, "Nobody had", "asked it")
    assert doubted(LONG, heard_text, {"Nobody": 11}) == []
    assert doubted(LONG, heard_text, {"Nobody": 11, "ever": 8, "asked": 6})


def test_a_name_heard_by_its_sound_is_none():
    text = "Then Mister Ukridge spoke to the sergeant of the guard."
    assert doubted(text, text.replace("Ukridge", "Oakridge"), {"Ukridge": 11}) == []
    assert doubted(text, text.replace("Ukridge", "Bloomsbury"), {"Ukridge": 11})


def test_a_repetition_is_one_and_a_word_too_much_where_what_follows_is_doubted():
    twice = LONG.replace("far bank", "far bank far bank")
    assert "said twice" in doubted(LONG, twice, {})[0]
    options = LONG.replace("far bank", "far green bank")
    assert doubted(LONG, options, {}) == []
    assert "added" in doubted(LONG, options, {"bank": 5})[0]


def test_a_take_whose_words_are_all_doubted_says_another_text():
    text = "You think you can just come in here and cause a panic."
    assert doubted(LONG, text, dict.fromkeys(LONG.replace(",", "").replace(".", "").split(), 4.0))


def test_a_word_proves_less_where_little_else_was_understood():
    heard_text = LONG.replace("never once", "once")
    garbled = heard_text.replace("morning", "boring bin").replace("village", "fill age of")
    garbled = garbled.replace("Nobody had ever", "No boating heather").replace("river", "weather")
    assert doubted(LONG, heard_text, {"never": 6})
    assert doubted(LONG, garbled, {"never": 6}) == []


def test_the_limit_eases_what_is_doubted_too():
    heard_text = LONG.replace("never once", "once")
    assert doubted(LONG, heard_text, {"never": 6}, error=0.6) == []


def test_one_character_of_chinese_proves_nothing():
    text = "今天早上渡船七点钟离开了码头。"
    doubts = tuple(9.0 for _ in words(text, "zh"))
    heard_text = Transcript(text.replace("了", ""), tuple(0.2 for _ in doubts))
    assert not judge(heard_text, text, "zh").faults
    few = tuple(9.0 if n in (6, 7, 8) else 0.2 for n in range(len(doubts)))
    assert judge(Transcript(text.replace("点钟离", ""), few), text, "zh").faults
