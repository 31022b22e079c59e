"""The table of english.txt: what is right stays right, and what is not reached is named there."""

from __future__ import annotations

from collections import Counter

import pytest

from narrator.text.normalize import Lexicon, normalize
from tests.effort import cpu_seconds, quick
from tests.text.english import cases, said


def test_the_hardest_classes_are_said_as_the_table_has_them() -> None:
    wrong = [(case.written, said(case)) for case in cases() if case.reached]
    right = [(case.written, case.spoken) for case in cases() if case.reached]
    assert wrong == right


def test_what_the_table_says_is_not_reached_is_not() -> None:
    reached = [case.written for case in cases() if not case.reached and said(case) == case.spoken]
    assert not reached


def test_each_class_has_forty_cases_that_are_written_once() -> None:
    kinds = Counter(case.kind for case in cases())
    assert len(kinds) == 6
    assert min(kinds.values()) >= 40
    written = Counter((case.written, case.language) for case in cases())
    assert max(written.values()) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit",
    quick(
        [
            "1 x 1",
            "Table 1-2 and ",
            "100 Aaaa ",
            "1/2 ",
            "+1 2",
            "He left. 12. ",
            "Queen Anne I ",
            "IV ",
            "1/2/",
            "f(x)",
            "H₂",
            "1:1-",
        ],
        "1/2 ",
        "IV ",
        "1:1-",
    ),
)
def test_figures_take_time_that_grows_with_their_number(unit: str) -> None:
    def read() -> None:
        normalize(unit * 3000, language="en-GB", speaker="narrator", lexicon=Lexicon())

    assert cpu_seconds(read) < 10  # 0.3 s on an idle core
