"""Speakers are chosen among those present in their chapter."""

from __future__ import annotations

import pytest

from narrator.text.speakers import Character, attribute

CAST = (
    Character("Ada Lovell", ("Ada",), "she"),
    Character("Ben Hall", ("Ben",), "he"),
    Character("Mrs. Carr", (), "she"),
)
FIRST_STORY = [
    "Ada Lovell and Ben Hall had come to the pond, and I with them.",
    "“It is deep,” said Ada Lovell.",
    "“It is not,” said Ben Hall.",
    "“I know, Ben,” I said. I had been there before, and I had seen it.",
]
STORIES = [
    # the second story, the speaker of its first quotation
    (["“Is anybody there?”", "“Only me,” said Mrs. Carr."], {"Mrs. Carr"}),
    (["The rain fell.", "“Is anybody there?”", "Nobody was."], {None}),
    (["“Is anybody there?” said Ada.", "“Only me,” said Mrs. Carr."], {"Ada Lovell"}),
    (["“Is anybody there, Ada?”", "Mrs. Carr came in."], {"Ada Lovell", "Mrs. Carr"}),
]


@pytest.mark.parametrize(("story", "possible_speakers"), STORIES)
@pytest.mark.parametrize("first_person", [None, "Ben"])
def test_only_those_present_in_a_chapter_speak(story, possible_speakers, first_person):
    said = attribute(
        [FIRST_STORY, story], CAST, language="en", first_person=first_person
    ).quotations
    quotation = next(attributed for attributed in said if attributed.chapter == 1)
    assert quotation.speaker in possible_speakers


def test_the_narrator_is_present_where_there_is_an_i():
    story = ["I stood and listened. I heard steps.", "“Is anybody there?”", "I heard no answer."]
    said = attribute([FIRST_STORY, story], CAST, language="en", first_person="Ben").quotations
    assert said[-1].speaker == "Ben Hall"


def test_people_who_were_found_and_are_not_in_the_cast_do_not_speak():
    story = [
        *FIRST_STORY,
        "“Good evening,” said Mr. Stone.",
        "“Good evening, Mr. Stone,” said Ada.",
    ]
    attribution = attribute([story], CAST, language="en", was_found=True)
    assert [attributed.speaker for attributed in attribution.quotations[-2:]] == [
        None,
        "Ada Lovell",
    ]
    assert attribution.cast == CAST


def test_a_title_of_several_people_means_the_one_who_is_named_there():
    cast = (Character("Dr. Hart", (), "he"), Character("Dr. Gray", (), "he"))
    chapters = [
        ["“Come,” said Dr. Gray.", "“No,” said Dr. Hart."],
        ["“Sit down, Doctor.”", "Dr. Hart sat down.", "“What is it?”", "“Nothing, Doctor.”"],
    ]
    said = attribute(chapters, cast, language="en").quotations
    assert "Dr. Gray" not in {row.speaker for row in said if row.chapter == 1}
