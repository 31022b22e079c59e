"""Letters within quotation marks are written by who signs them, and said by nobody else."""

from __future__ import annotations

import pytest

from narrator.text.speakers import Character, attribute

LUCY, MINA = Character("Lucy Hart", ("Lucy",), "she"), Character("Mina", (), "she")
BEN = Character("Ben Hart", ("Ben",), "he")
CAST = (LUCY, MINA, BEN)
ENTRY = "Lucy sat with Ben and Mina, and opened the letter."
NEWS = "“I am well."


def speakers(paragraphs, cast=CAST, **options):
    rows = attribute([paragraphs], cast, language="en", **options).quotations
    return [row.speaker for row in rows]


@pytest.mark.parametrize(
    ("letter", "writer"),
    [
        (["“My dearest Lucy,—", NEWS, "“Your loving", "“MINA.”"], MINA.name),
        (["“My dearest Lucy,—", NEWS, "“MINA.", "“P.S.—Come!”"], MINA.name),
        (["“Lucy is well.", "“Mina.”"], MINA.name),
        (["“My dear Lucy, I am well. Your affectionate cousin, Ben.”"], BEN.name),
        (["“I am well. Ever yours, Ben.”"], BEN.name),
        (["“I am well. BEN HART.”"], BEN.name),
        (["“I am well. In haste", "Yours ever,", "“BEN HART.”"], BEN.name),
        (["“I am well. Your loving friend, Saul.”"], None),
        (["“My dearest Lucy,", NEWS, "“Come!”"], None),
    ],
)
def test_a_letter_belongs_to_who_signs_it(letter, writer):
    assert set(speakers([ENTRY, *letter])) == {writer}


@pytest.mark.parametrize(
    ("paragraph", "speaker"),
    [
        ("“My dear Lucy, how are you?” said Ben.", BEN.name),
        ("“Good night, Lucy,” said Ben.", BEN.name),
        ("“I am always yours, Lucy,” said Ben.", BEN.name),
        ("“Is it yours? Lucy?” said Ben.", BEN.name),
    ],
)
def test_speech_to_somebody_is_no_letter(paragraph, speaker):
    assert speakers([ENTRY, paragraph]) == [speaker]


def test_a_name_within_a_tale_signs_nothing():
    tale = ["“I met a man,” said Ben. “I asked his name.", "“‘Mina.’", "“So he said.”"]
    assert set(speakers([ENTRY, *tale])) == {BEN.name}


@pytest.mark.parametrize(
    "heading", ["Letter, Mina to Lucy Hart", "Telegram from Mina", "Mina to Ben"]
)
def test_a_heading_names_the_writer_of_a_letter_without_a_signature(heading):
    paragraphs = ["7 May", "“Come at once!", "“M.”", "Ben read it.", "“Well!” said Ben."]
    assert speakers(paragraphs, headings={(0, 0): heading}) == [MINA.name, MINA.name, BEN.name]
