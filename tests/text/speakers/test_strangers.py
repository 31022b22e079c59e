"""Whoever is not in the cast may speak: nobody of the cast is taken for such a person."""

from __future__ import annotations

import pytest

from narrator.text.speakers import SURE_CERTAINTY, Character, attribute

ADA, BEN = Character("Ada", (), "she"), Character("Ben", (), "he")
ENTRY = "Ada and Ben came in."
GERMAN_ENTRY = "Greta kam mit Herrn Brandt herein."
GERMAN_CAST = (Character("Greta", (), "she"), Character("Herr Brandt", ("Brandt",), "he"))


def decisions(paragraphs, cast=(ADA, BEN), language="en"):
    return attribute([paragraphs], cast, language=language).quotations


@pytest.mark.parametrize(
    "paragraph",
    [
        "“No,” said Saul.",
        "“No,” said Saul to Ada.",
        "“No,” Saul said.",
        "“No,” said Mr. Jones.",
        "“No,” said Captain Jones.",
    ],
)
def test_a_tag_that_names_a_stranger_is_nobody_of_the_cast(paragraph):
    assert [row.speaker for row in decisions([ENTRY, paragraph])] == [None]


def test_turns_around_a_stranger_may_be_the_strangers():
    talk = ["“No,” said Saul.", "“Why?” said Ada.", "“The rain.”", "“Is it, Saul?”", "“It is.”"]
    speakers = [row.speaker for row in decisions(["Ada came in.", *talk], (ADA,))]
    assert speakers == [None, "Ada", None, "Ada", None]


def test_a_paragraph_with_tags_of_a_stranger_and_another_has_two_turns():
    rows = decisions([ENTRY, "“No,” said Saul, and “Yes,” said Ada."])
    assert [row.speaker for row in rows] == [None, "Ada"]


@pytest.mark.parametrize("tag", ["sagte Jonas", "fragte Jonas leise"])
def test_strangers_in_tags_of_other_languages(tag):
    [row] = decisions([GERMAN_ENTRY, f"„Ich komme“, {tag}."], GERMAN_CAST, "de")
    assert row.speaker is None


def test_a_german_name_in_one_tag_belongs_to_the_cast_that_is_found():
    paragraphs = [
        "Da kam auch Jonas gelaufen, und Greta sah Jonas an.",
        "„Komm“, sagte Greta.",
        "Da lachte Greta. „Nun komm schon“, sagte Greta.",
        "„Ich komme“, sagte Jonas.",
    ]
    rows = attribute([paragraphs], language="de").quotations
    assert [row.speaker for row in rows] == ["Greta", "Greta", "Jonas"]


@pytest.mark.parametrize("tag", ["he said", "said the old man", "I said"])
def test_the_only_one_who_is_known_is_not_everybody(tag):
    [row] = decisions(["The rain fell on Ada, and I saw it.", f"“Is it far?” {tag}."], (ADA,))
    assert row.speaker is None


@pytest.mark.parametrize(
    ("paragraphs", "is_sure"),
    [
        (["“Is it far?” said Ada."], True),
        (["“Is it far?”", "Ada came in."], False),
        (["Ada came in.", "“Is it far?”"], False),
        (["Ada came in.", "“Is it far?” said a lady."], False),
    ],
)
def test_the_only_one_is_sure_by_explicit_words_alone(paragraphs, is_sure):
    [row] = decisions(paragraphs, (ADA,))
    assert (row.certainty >= SURE_CERTAINTY) == is_sure


@pytest.mark.parametrize(
    "paragraph",
    [
        "“No,” said the lamplighter.",
        "“No,” said the old lamplighter quietly.",
        "“No,” the lamplighter said.",
        "The lamplighter said: “No.”",
        "“No,” said the landlord.",
    ],
)
def test_a_role_that_nobody_of_the_cast_has_is_a_strangers(paragraph):
    assert [row.speaker for row in decisions([ENTRY, paragraph])] == [None]


def test_german_roles_that_nobody_of_the_cast_has():
    [row] = decisions([GERMAN_ENTRY, "„Nein“, sagte der Müller."], GERMAN_CAST, "de")
    assert row.speaker is None


@pytest.mark.parametrize(
    ("name", "paragraph"),
    [
        ("Farmer Oak", "“No,” said the farmer."),
        ("Captain Hook", "“No,” said the captain."),
        ("Ben", "“No,” said the young man."),
        ("Ben", "“No,” said her father."),
    ],
)
def test_a_role_or_a_description_that_fits_somebody_may_be_that_person(name, paragraph):
    cast = (ADA, Character(name, (), "he"))
    [row] = decisions([f"Ada and {name} came in.", paragraph], cast)
    assert row.speaker == name
