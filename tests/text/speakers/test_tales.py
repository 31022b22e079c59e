"""A tale within quotation marks belongs to its teller, over scenes and chapters."""

from __future__ import annotations

import pytest

from narrator.text.speakers import Character, attribute

CAST = (Character("Ada", (), "she"), Character("Captain Marlow", ("Marlow",), "he"))
BEGINNING = [
    "“Tell us,” said Ada.",
    "“It was long ago,” said Marlow, “and far away.",
    "“I saw a ship, and on it a man. ‘Who are you?’ I said to him. ‘Nobody,’ said he.",
]
END = ["“He never told me.”", "“I see,” said Ada."]
TALES = [
    [[*BEGINNING, *END]],
    [[*BEGINNING, "* * *", *END]],
    [[*BEGINNING, "“‘And you?’ he asked.", "* * *", "“‘I am Marlow.’", *END]],
    [BEGINNING, END],
    [BEGINNING, ["“‘Nobody?’ I cried.", "“‘Nobody.’"], END],
]


@pytest.mark.parametrize("chapters", TALES)
def test_a_tale_belongs_to_its_teller(chapters):
    said = attribute(chapters, CAST, language="en").quotations
    assert [attributed.speaker for attributed in said] == [
        "Ada", *["Captain Marlow"] * (len(said) - 2), "Ada",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "chapters",
    [
        [[*BEGINNING[:2], "“I saw a ship.”"], ["“Good morning,” said Ada."]],
        [[*BEGINNING], ["Ada laughed.", "“Good morning,” she said."]],
    ],
)
def test_a_tale_ends_with_its_marks(chapters):
    assert attribute(chapters, CAST, language="en").quotations[-1].speaker == "Ada"
