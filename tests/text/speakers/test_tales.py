"""A tale within quotation marks belongs to its teller, over scenes and chapters; those who speak in
it may have their own voices."""

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


# a tale of Marlow's to Ada, and who says what is quoted in it; "" for its teller
WITH_VOICES = {
    "a name in the tag": (["‘Come,’ said Mr. Kurtz, ‘or go.’"], ["Mr. Kurtz", "Mr. Kurtz"]),
    "the teller": (["‘Come,’ I cried, ‘or go.’"], ["", ""]),
    "somebody who was named": (
        ["Ben was gone. Mr. Kurtz came in.", "‘Come,’ said he."],
        ["Mr. Kurtz"],
    ),
    "the only one with a name": (["Mr. Kurtz came in.", "‘Come,’ said he."], [""]),
    "a title": (["Her name was ‘The Swan’ then, and she sank."], [""]),
    "nobody with a name": (["A sailor came in.", "‘Come,’ said he."], [""]),
    "somebody else": (["Mr. Kurtz came in with a sailor.", "‘Come,’ said the man."], [""]),
    "of another sex": (["Mr. Kurtz came in.", "‘Come,’ said she."], [""]),
    "not the listener": (["‘Come,’ said she."], [""]),
    "no sentence between": (
        ["‘Come,’ said Mr. Kurtz. ‘Go.’ A sailor laughed. He sat down. ‘Stay!’"],
        ["Mr. Kurtz", "Mr. Kurtz", ""],
    ),
    "turns": (
        ["‘Come,’ said Mr. Kurtz.", "‘Where?’ said I.", "‘To the river.’"],
        ["Mr. Kurtz", "", "Mr. Kurtz"],
    ),
    "over paragraphs": (["‘Come,’ said Mr. Kurtz. ‘Go.", "‘Both.’"], ["Mr. Kurtz"] * 3),
}


@pytest.mark.parametrize(("tale", "speakers"), WITH_VOICES.values(), ids=WITH_VOICES)
@pytest.mark.parametrize("is_british", [False, True])
def test_those_who_speak_in_a_tale_have_voices(tale, speakers, is_british):
    cast = (*CAST, Character("Mr. Kurtz", ("Kurtz",), "he"), Character("Ben", (), "he"))
    texts = ["“Tell us,” said Ada.", "“I saw a ship,” said Marlow. “I am old.", *tale, "The end.”"]
    chapter = [*texts[:2], *(f"“{text}" for text in texts[2:]), "“I see,” said Ada."]
    if is_british:
        chapter = [text.translate(str.maketrans("“”‘’", "‘’“”")) for text in chapter]
    said = attribute([chapter], cast, language="en", with_nested=True).quotations
    nested = [attributed for attributed in said if attributed.quotation.is_nested]
    assert [attributed.speaker or "" for attributed in nested] == speakers
    outer = [attributed for attributed in said if not attributed.quotation.is_nested]
    assert tuple(outer) == attribute([chapter], cast, language="en").quotations


def test_people_of_a_tale_are_found():
    chapter = [*BEGINNING, "“‘Come,’ said Kurtz.", "“‘No,’ cried Kurtz.", *END]
    names = [
        {character.name for character in attribute([chapter], language="en", **options).cast}
        for options in ({}, {"with_nested": True})
    ]
    assert names[1] - names[0] == {"Kurtz"}
