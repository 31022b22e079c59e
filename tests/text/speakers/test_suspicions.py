"""Names of a cast that may be wrongly parted or joined."""

from __future__ import annotations

import pytest

from narrator.text.speakers.names import Character
from narrator.text.speakers.suspicions import suspicions


def cast_of(*lines: str) -> list[Character]:
    """A cast from lines such as "she Ada, Miss Lovell": a pronoun or -, then the names."""
    characters = []
    for line in lines:
        pronoun, _, names = line.partition(" ")
        name, *aliases = names.split(", ")
        characters.append(Character(name, tuple(aliases), None if pronoun == "-" else pronoun))
    return characters


@pytest.mark.parametrize(
    ("cast", "suspects"),
    [
        (["she Mrs. Rachel Lynde", "she Mrs. Rachel"], ["Mrs. Rachel Lynde = Mrs. Rachel"]),
        (["he Jerry", "he Mr. Cruncher, Jerry Cruncher"], ["Mr. Cruncher = Jerry"]),
        (["- Hands", "he Israel Hands"], ["Israel Hands = Hands"]),
        (["she Mina, Mina Harker", "she Mrs. Harker"], ["Mina = Mrs. Harker"]),
        (["she Mina, Mina Murray", "she Mina Harker"], ["Mina = Mina Harker"]),
        (["he Jonathan Harker", "she Mrs. Harker"], []),
        (["she Jane Bennet", "she Lizzy Bennet, Elizabeth Bennet"], []),
        (["she Jane Bennet", "she Kitty Bennet", "she Miss Bennet"], []),
        (["she Mrs. Bennet", "she Miss Bennet"], []),
        (["he Tom Morgan", "he Tom Redruth"], []),
        (["he the landlord", "he the landlord's son"], []),
        (["he Ada's brother", "she Ada"], []),
        (["she Defarge, Madame Defarge"], ["Defarge / Madame Defarge"]),
        (["he Jim, Mrs. Hawkins"], ["Jim / Mrs. Hawkins"]),
        (["she Carrie Sloane, Miss Sloane, Mrs. Sloane"], ["Carrie Sloane / Mrs. Sloane"]),
        (["she Ada Hart, Mrs. Hart"], []),
    ],
)
def test_names_that_may_be_of_one_person_or_of_two(cast: list[str], suspects: list[str]) -> None:
    assert [
        f"{suspect.name} {'=' if suspect.is_one else '/'} {suspect.other}"
        for suspect in suspicions(cast_of(*cast), "en")
    ] == suspects
