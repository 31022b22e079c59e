"""What is spoken for what is written: the tables of spoken.txt, and of english.txt, whose lines
that are not reached are named there; English numbers against CLDR's."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from narrator.text.normalize import Lexicon, east_asian, grammars, normalize, numbers
from narrator.text.normalize.cldr_numbers import Numbers
from tests.effort import cpu_seconds, quick
from tests.tables import Case, read_cases

FOLDER = Path(__file__).parent
CASES = list(read_cases(FOLDER / "spoken.txt"))
HARD_CASES = list(read_cases(FOLDER / "english.txt"))


def say(text: str, language: str, *, heading: bool = False) -> str:
    return normalize(
        text, language=language, speaker="narrator", lexicon=Lexicon(), heading=heading
    ).text


@pytest.mark.parametrize("case", CASES, ids=str)
def test_spoken(case: Case) -> None:
    assert say(case.text, case.language, heading=case.kind == "headings") == case.expected


def test_the_hardest_classes_of_english_are_spoken_as_the_table_has_them() -> None:
    spoken = [(case, say(case.text, case.language)) for case in HARD_CASES]
    assert [
        (case.text, words) for case, words in spoken if (words == case.expected) != case.is_reached
    ] == []


def test_each_hard_class_has_forty_cases_that_are_written_once() -> None:
    kinds = Counter(case.kind for case in HARD_CASES)
    assert len(kinds) == 6
    assert min(kinds.values()) >= 40
    assert max(Counter(map(str, HARD_CASES)).values()) == 1


UNITS = (
    "1 x 1|Table 1-2 and |100 Aaaa |1/2 |+1 2|He left. 12. |Queen Anne I |IV |1/2/|f(x)|H₂|1:1-"
).split("|")


@pytest.mark.slow
@pytest.mark.parametrize("unit", quick(UNITS, "1/2 ", "IV ", "1:1-"))
def test_figures_take_time_that_grows_with_their_number(unit: str) -> None:
    assert cpu_seconds(lambda: say(unit * 3000, "en-GB")) < 10  # 0.3 s on an idle core


def test_a_fraction_in_an_address_is_spoken() -> None:
    spoken = say("Write to 8½d.a@b.com.", "en-GB")
    assert "eight one over two d dot a at b dot com" in spoken


def test_text_without_a_language_keeps_its_words() -> None:
    assert say("Hi…", "") == "Hi."


@pytest.mark.parametrize("code", grammars.languages())
def test_every_language_says_every_number(code: str) -> None:
    rng = random.Random(0)
    many = [rng.randrange(10 ** rng.randrange(1, 12)) for _ in range(40)]
    largest = 10 ** (12 if code in east_asian.LANGUAGES else 15) - 1
    for number in (*range(22), 99, 100, 101, 999, 1000, 1001, 10**6, largest, *many):
        words = say(str(number), code)
        assert not any(char.isdigit() for char in words), number
        assert "(" not in words


def test_english_numbers_agree_with_cldr() -> None:
    cldr = Numbers("en")
    rng = random.Random(0)
    for number in (*range(1200), *(rng.randrange(10 ** rng.randrange(4, 15)) for _ in range(300))):
        verbose, ordinal = (
            str(cldr.spell(number, f"{f}-verbose")) for f in ("cardinal", "ordinal")
        )
        assert numbers.cardinal(number, british=True) == verbose.replace(",", "")
        assert numbers.cardinal(number, british=False) == cldr.spell(number, "cardinal")
        assert numbers.ordinal(number, british=True) == ordinal.replace(",", "")


@pytest.mark.parametrize(
    ("numeral", "value"),
    [("I", 1), ("IV", 4), ("XIV", 14), ("mcmxx", 1920), ("IIII", 0), ("VX", 0), ("", 0)],
)
def test_roman(numeral: str, value: int) -> None:
    assert numbers.roman(numeral) == value
