"""The scenes of speakers.txt: who says what in each trap, and whom the text itself names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from narrator.text.speakers import Attribution, Character, attribute

EACH = 12
MISSES = 2
"""Scenes of a trap that may be known misses."""


@dataclass(frozen=True, slots=True)
class Scene:
    trap: str
    title: str
    missed: bool
    cast: tuple[Character, ...]
    tells: str | None = None
    paragraphs: tuple[str, ...] = ()
    found: tuple[Character, ...] | None = None
    speakers: tuple[str, ...] = ()

    def attributed(self) -> Attribution:
        return attribute([self.paragraphs], self.cast, language="en", first_person=self.tells)


def characters(line: str) -> tuple[Character, ...]:
    """`Ada Wren (Ada, Miss Wren; she) | Ben (he)`; nobody is none."""
    return tuple(character(each) for each in line.split(" | ") if each != "nobody")


def character(each: str) -> Character:
    name, _, rest = each.rstrip(")").partition(" (")
    *aliases, last = re.split("[,;] ", rest)
    if last in ("he", "she", "they", "it"):
        return Character(name, tuple(aliases), last)
    return Character(name, tuple(filter(None, (*aliases, last))))


def scenes() -> Iterator[Scene]:
    text = Path(__file__).with_name("speakers.txt").read_text(encoding="utf-8")
    for section in text.split("\n== ")[1:]:
        heading, *blocks = section.strip().split("\n\n")
        trap, default = re.fullmatch(r"(.+) ==\ncast: (.+)", heading).groups()  # type: ignore[union-attr]
        for block in blocks:
            first, *lines = block.splitlines()
            scene = Scene(trap, first[3:], first[0] == "?", characters(default))
            for line in lines:
                scene = with_line(scene, line)
            yield scene


def with_line(scene: Scene, line: str) -> Scene:
    key, _, value = line.partition(" ")
    if key == "cast:":
        return replace(scene, cast=characters(value))
    if key == "found:":
        return replace(scene, found=characters(value))
    if key == "tells:":
        return replace(scene, tells=value)
    if key == "=":
        return replace(scene, speakers=tuple(value.split(" | ")))
    return replace(scene, paragraphs=(*scene.paragraphs, line))


SCENES = list(scenes())


@pytest.mark.parametrize(
    "scene",
    [
        pytest.param(
            scene,
            id=f"{scene.trap}: {scene.title}",
            marks=[pytest.mark.xfail(strict=True)] if scene.missed else [],
        )
        for scene in SCENES
    ],
)
def test_a_trap_is_not_fallen_into(scene: Scene) -> None:
    result = scene.attributed()
    if scene.found is not None:
        by_name = {one.name: one for one in result.cast}
        assert sorted(by_name) == sorted(one.name for one in scene.found)
        for one in scene.found:
            assert by_name[one.name].pronoun == one.pronoun
            assert set(one.aliases) <= set(by_name[one.name].aliases)
    assert [one.speaker for one in result.quotations] == list(scene.speakers)


def test_every_trap_has_its_scenes_and_few_are_missed() -> None:
    count = Counter(scene.trap for scene in SCENES)
    missed = Counter(scene.trap for scene in SCENES if scene.missed)
    assert len(count) == 6
    assert set(count.values()) == {EACH}
    assert max(missed.values(), default=0) <= MISSES
