"""Collections are several stories, each with a cast of its own."""

from __future__ import annotations

import pytest

from narrator.text.speakers import attribute, mentions
from narrator.text.speakers.names import Character, KnownNames
from narrator.text.speakers.stories import find_stories

CAST = tuple(
    Character(name, aliases)
    for name, aliases in (
        ("Ada Lovell", ("Ada",)),
        ("John Reed", ("John",)),
        ("Mr. Carr", ()),
        ("Nora Weir", ("Nora",)),
        ("John Stone", ("John",)),
        ("the landlord", ()),
    )
)
FIRST, SECOND = ("Ada Lovell", "John Reed", "Mr. Carr"), ("Nora Weir", "John Stone")
BOOKS = [
    # names in each chapter, first chapters of the stories
    ([FIRST, FIRST, FIRST], [0]),
    ([FIRST, SECOND], [0, 1]),
    ([FIRST, FIRST, SECOND, SECOND], [0, 2]),
    ([FIRST, SECOND, FIRST], [0]),
    ([FIRST, ("Ada", "Nora Weir")], [0, 1]),
    ([("Ada Lovell", "Mr. Carr"), ("Mr. Carr", *SECOND)], [0]),
    ([(*FIRST, "the landlord"), (*SECOND, "the landlord")], [0, 1]),
    ([FIRST, (), SECOND], [0, 1]),
    ([(), FIRST, SECOND, ()], [0, 2]),
]


@pytest.mark.parametrize(("names_by_chapter", "starts"), BOOKS)
def test_stories_share_hardly_any_names(names_by_chapter, starts):
    chapters = [[f"It was {name} again." for name in names] * 20 for names in names_by_chapter]
    passages = mentions.passages(chapters, [[] for _ in chapters], KnownNames(CAST), "en")
    stories = find_stories(passages, len(chapters))
    assert [story.start for story in stories] == starts
    assert [chapter for story in stories for chapter in story] == list(range(len(chapters)))


def story(first: str, second: str) -> list[str]:
    """A story of two people, in which the second is later called by the given name only."""
    given_name = second.split()[0]
    return [
        f"“Good morning,” said {first}.",
        f"“Good morning,” said {second}.",
        *[f"They were alone, {first} and {second}, and {second} heard {first} laugh."] * 10,
        f"“It is late,” said {given_name}.",
    ]


@pytest.mark.parametrize("runs", [1, 2])
def test_a_name_is_somebody_of_its_story(runs):
    chapters = [story("Ada Lovell", "John Reed"), story("Nora Weir", "John Stone")]
    cast: tuple[Character, ...] = ()
    for run in range(runs):
        attribution = attribute(chapters, cast, language="en", was_found=run > 0)
        cast = attribution.cast[::-1]
    assert attribution.story_count == 2
    assert [attributed.speaker for attributed in attribution.quotations] == [
        "Ada Lovell", "John Reed", "John Reed", "Nora Weir", "John Stone", "John Stone",
    ]  # fmt: skip


def test_stories_share_those_whose_names_are_equal():
    chapters = [story("Ada Lovell", "John"), story("Nora Weir", "John")]
    attribution = attribute(chapters, language="en")
    assert sorted(person.name for person in attribution.cast) == ["Ada Lovell", "John", "Nora Weir"]
