"""An age is known where the text states it beside a name, and nowhere else."""

from __future__ import annotations

import pytest

from narrator.text.speakers import Character
from narrator.text.speakers.ages import Age, find_ages

TOM, MAY = Character("Tom", ("Tommy",), "he"), Character("Mrs Ukridge", ("May",), "she")


@pytest.mark.parametrize(
    ("text", "age"),
    [
        ("Tom, a boy of nine, ran in.", Age.CHILD),
        ("“Who is it?” said Tom, who was only a little boy.", Age.CHILD),
        ("Tommy was a pale, thin boy with red hair.", Age.CHILD),
        ("There lived a small boy called Tom.", Age.CHILD),
        ("Tom was nine years old.", Age.CHILD),
        ("Tom, aged 11, ran in.", Age.CHILD),
        ("Tom was a young man of good family.", Age.YOUNG),
        ("Tom was nineteen, and knew it.", Age.YOUNG),
        ("Tom was an old man.", Age.OLD),
        ("Tom, who was sixty-two years old, sat down.", Age.OLD),
        ("Tom was thirty years old.", None),
        ("When Tom was a boy, he had a dog.", None),
        ("Tom was a boy once.", None),
        ("Tom was a boy when the war began.", None),
        ("The mother of Tom was an old woman.", None),
        ("Beside Tom, an old man was asleep.", None),
        ("The hour for Tom was nine.", None),
        ("It is in Tom 12, where it says so.", None),
        ("The mother of Tom was a girl’s idea of a queen.", None),
        ("“Look, old Tom!” said the boy.", None),
        ("The boy Tom saw ran away.", None),
        ("Tom, a girl, and a dog came in.", None),
        ("Tom was not an old man.", None),
        ("Tom was nine miles away.", None),
        ("Tom was a boy of nine. Tom was an old man.", None),
        ("Tomlin was a boy of nine.", None),
        ("Ann and Tom was a boy of nine.", None),
    ],
)
def test_an_age_is_stated_beside_a_name(text: str, age: Age | None) -> None:
    assert find_ages([TOM, MAY], [[text]]).get("Tom") == age


def test_a_title_states_an_age() -> None:
    cast = [Character("Granny Weir", (), "she"), Character("Ben", ("Old Ben",), "he"), TOM]
    assert find_ages(cast, []) == {"Granny Weir": Age.OLD, "Ben": Age.OLD}
    assert find_ages([], [["Tom was a boy."]]) == {}


def test_an_alias_states_the_age_of_its_bearer() -> None:
    assert find_ages([MAY], [["May was an old woman."]]) == {"Mrs Ukridge": Age.OLD}
