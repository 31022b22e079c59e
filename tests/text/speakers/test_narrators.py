"""A heading tells who says "I" in the part that it begins."""

from __future__ import annotations

import pytest

from narrator.text.speakers import Character, attribute

MINA = Character("Mina Murray", ("Mina",), "she")
JOHN = Character("Dr. John Seward", ("Dr. Seward", "John"), "he")
DOCTOR = Character("Dr. Livesey", ("the Doctor",), "he")
CAST = (MINA, JOHN, DOCTOR)
STORY = ["I went in, and I sat down.", "“It is I,” I said."]


def speakers(chapters, **options):
    attribution = attribute(chapters, CAST, language="en", **options)
    return [quotation.speaker for quotation in attribution.quotations]


@pytest.mark.parametrize(
    ("heading", "speaker"),
    [
        ("Mina Murray's Journal", MINA.name),
        ("DR. SEWARD'S DIARY—continued", JOHN.name),
        ("Dr. Seward's full statement of the case", JOHN.name),
        ("Letter, Mina Murray to Dr. Seward", MINA.name),
        ("Telegram from Mina to Dr. Seward", MINA.name),
        ("Mina Murray to Dr. Seward", MINA.name),
        ("Narrative of Dr. Seward", JOHN.name),
        ("Chapter 16. Narrative Continued by the Doctor: The Ship", DOCTOR.name),
        ("The Diary of Mina, copied by Dr. Seward", MINA.name),
        ("The Story of Mina", None),
        ("Mina Murray's Arrival", None),
        ("Lucy Westenra's Diary", None),
        ("The Story Continued by Mrs. Todd", None),
        ("Mina", None),
    ],
)
def test_a_heading_names_the_narrator(heading, speaker):
    assert speakers([STORY], headings={(0, 0): heading}) == [speaker]


@pytest.mark.parametrize(
    ("paragraph", "speaker"),
    [
        ("Mina Murray's Journal.", MINA.name),
        ("Letter, Mina Murray to Dr. Seward.", MINA.name),
        ("Memorandum left by Dr. Seward", JOHN.name),
        ("A letter from Mina lay there.", None),
        ("My letter came from Mina.", None),
        ("Mina's journal lay open.", None),
        ("It was Mina's diary!", None),
        ("(Pasted in Mina's journal)", None),
        ("Mina", None),
    ],
)
def test_a_paragraph_may_be_such_a_heading(paragraph, speaker):
    assert speakers([[paragraph, *STORY]]) == [speaker]


def test_a_part_ends_at_the_next_heading_and_with_its_chapter():
    assert speakers(
        [["Mina's Journal", *STORY, "Dr. Seward's Diary", *STORY], STORY],
    ) == [MINA.name, JOHN.name, None]


def test_a_part_told_by_somebody_goes_on_over_chapters():
    headings = {(0, 0): "The Story told by Mina: I", (2, 0): "The Story told by Mina: II"}
    headings[3, 0] = "Told by Dr. Seward"
    chapters = [STORY, STORY, [*STORY, "Dr. Seward's Diary", *STORY], STORY]
    assert speakers(chapters, headings=headings) == [MINA.name] * 3 + [JOHN.name] * 2


def test_titles_that_are_names_of_several_people_tell_who_narrates():
    headings = {(0, 0): "1. Mina", (1, 0): "Chapter II: Dr. Seward", (2, 0): "Mina"}
    assert speakers([STORY] * 3, headings=headings) == [MINA.name, JOHN.name, MINA.name]


@pytest.mark.parametrize(("first_person", "others"), [(None, None), ("Mina", MINA.name)])
def test_elsewhere_the_books_narrator_says_i(first_person, others):
    chapters = [STORY, ["Dr. Seward's Diary", *STORY], STORY]
    options = {"first_person": first_person, "first_persons": {2: "the Doctor"}}
    assert speakers(chapters, **options) == [others, JOHN.name, DOCTOR.name]


def test_nobody_who_is_named_in_tags_says_i():
    tags = ["“No,” said Mina.", "“Yes,” said Mina."]
    headings = {(0, 0): "Mina's story"}
    assert speakers([[*STORY, *tags]], headings=headings) == [None, MINA.name, MINA.name]
