"""Which names are people, and which of them are one person's."""

from __future__ import annotations

import pytest

from narrator.text.speakers import attribute

PEOPLE = [
    # paragraphs, the people found, each with all names
    (
        ["“Come,” said Ada.", *["They saw Miss Ada."], *["Then Ada laughed."] * 3],
        [{"Ada", "Miss Ada"}],
    ),
    (
        ["Miss Hart came, and Mr. Hart. “Come,” said Miss Hart."],
        [{"Miss Hart"}, {"Mr. Hart"}],
    ),
    (
        [
            "They met Ada Hart. “Come,” said Ada.",
            *["Then Ada sat down beside Mrs. Hart."] * 5,
        ],
        [{"Ada", "Ada Hart"}, {"Mrs. Hart"}],
    ),
    (
        ["They met Ada Hart. “Come,” said Ada.", *["Then Ada sat down.", "Mrs. Hart came."] * 5],
        [{"Ada", "Ada Hart", "Mrs. Hart"}],
    ),
    (
        [
            "They met Mr. Ben Hart.",
            *["They saw Mr. Hart."] * 6,
            *["They saw Dr. Hart."] * 5,
        ],
        [{"Mr. Hart", "Mr. Ben Hart"}, {"Dr. Hart"}],
    ),
    (
        [
            "They saw Israel Hands.",
            "“Come,” said Hands.",
            "“Come,” said Israel.",
            "And they saw Israel Hands there.",
        ],
        [{"Israel", "Hands", "Israel Hands"}],
    ),
    (
        ["They saw Richard Joyce.", *["Then Joyce came."] * 3, "“Come,” said Joyce."],
        [{"Richard Joyce", "Joyce"}],
    ),
    (
        ["They saw Mrs. M. and Ada.", "“Come,” said Ada.", "“I come,” said Martha, “Mamma.”"],
        [{"Ada"}, {"Mrs. M"}, {"Martha"}],
    ),
    (
        [
            "“Come, Ada,” said the captain. “I'll go.”",
            *["Then Captain Hart came."] * 3,
            "“Captain Ben,” said Captain Hart.",
            *["“Come, Ada,” said the captain."] * 3,
        ],
        [{"the captain", "Captain Hart"}, {"Captain Ben"}, {"Ada"}],
    ),
    # neither things nor inns nor saints
    (
        [
            "He believed in Magic.",
            "“Is it Magic, Ada?” said Ben. “It's Magic, Ada!”",
            "There was some Magic, and the Magic of the place, and his Magic.",
        ],
        [{"Ada"}, {"Ben"}],
    ),
    (["They stayed at the “Admiral Benbow” and at St. Mary. “Come,” said Ada."], [{"Ada"}]),
    # animals that speak
    (["The Mole came.", *["“Come,” said the Mole, and Mole laughed."] * 3], [{"the Mole"}]),
]


@pytest.mark.parametrize(("paragraphs", "people"), PEOPLE)
def test_people_are_found_with_all_their_names(paragraphs, people) -> None:
    cast = attribute([paragraphs], language="en").cast
    assert sorted(map(sorted, (person.names for person in cast))) == sorted(map(sorted, people))


def test_pronouns_are_those_with_which_the_narration_goes_on():
    paragraphs = ["Long Silver came, and he sat down.", "“No,” said Long Silver, and he rose."]
    [silver] = attribute([["They met Long Silver.", *paragraphs]], language="en").cast
    assert silver.pronoun == "he"


def test_somebody_who_acts_but_is_in_no_tag_is_found():
    paragraphs = [
        "I had the wheel, and Saul had the engine. Ada came aboard.",
        "“Is it far?” asked Ada.",
        "Saul put his head up. “Not far,” he said.",
        "“Is it deep?” she asked.",
        "Saul laughed.",
    ]
    attribution = attribute([paragraphs], language="en")
    assert {member.name: member.pronoun for member in attribution.cast} == {
        "Ada": "she",
        "Saul": "he",
    }
    assert [row.speaker for row in attribution.quotations] == ["Ada", "Saul", "Ada"]
