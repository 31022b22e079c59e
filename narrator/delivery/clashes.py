"""Finds music that sounds where a profile demands quiet, before anything is spoken."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from narrator.delivery.music import chapters_of, header_of, problem_of
from narrator.errors import Problem
from narrator.project.profiles import Profile
from narrator.project.project import Project
from narrator.project.schema import Music
from narrator.speech.plan import Utterance
from textbase.files import Unfit

Part = Literal["head", "tail", "under", "whole"]
"""Positions of music in a chapter: before its first word, after its last, somewhere between them,
all through it."""


def parts(
    project: Project, utterances_by_chapter: Sequence[Sequence[Utterance]], chapter: int
) -> set[Part]:
    """Returns where music sounds in a chapter of the manifest, counted from 0, as far as the text
    tells.

    `utterances_by_chapter` holds the chunks of each chapter.
    """
    chapter_parts: set[Part] = set()
    for entry in project.manifest.music:
        chapter_parts |= _entry_parts(project, entry, utterances_by_chapter, chapter)
    return chapter_parts


def clashes(
    project: Project, utterances_by_chapter: Sequence[Sequence[Utterance]], profile: Profile
) -> Iterator[Problem]:
    """Yields a problem for each music entry that sounds where a profile demands quiet.

    `utterances_by_chapter` as in `parts`.
    """
    for number, entry in enumerate(project.manifest.music):
        entry_parts: set[Part] = set()
        for chapter in range(len(utterances_by_chapter)):
            entry_parts |= _entry_parts(project, entry, utterances_by_chapter, chapter)
        place_name = f"an {entry.place}" if entry.place != "bed" else "a bed"
        part: Part
        for part, demand, quiet_demand in (
            ("head", "head", profile.head),
            ("tail", "tail", profile.tail),
            ("whole", "noise_floor", profile.noise_floor),
        ):
            if part in entry_parts and quiet_demand is not None:
                location = "all through a chapter" if part == "whole" else f"in a chapter's {part}"
                message = (
                    f"{place_name} sounds {location}, where profile {profile.name} asks for quiet: "
                    f"leave it out, or deliver to a profile of your own with `{demand}: null`"
                )
                yield problem_of(project, message, number)
                break


def _entry_parts(
    project: Project,
    entry: Music,
    utterances_by_chapter: Sequence[Sequence[Utterance]],
    chapter: int,
) -> set[Part]:
    """Returns where an entry's music sounds in a chapter."""
    utterances = utterances_by_chapter[chapter]
    if entry.name is not None:
        return _called_bed_parts(project, entry, utterances)
    titles = [project.chapters[n].title for n in project.numbered]
    if chapter not in chapters_of(entry, titles):
        return set()
    if entry.place != "bed":
        return {"head"} if entry.place == "intro" else {"tail"}
    scene_count = utterances[-1].scene - utterances[0].scene + 1
    return _bed_parts(
        project,
        entry,
        utterances,
        begins_chapter=entry.scene in (None, 1),
        ends_chapter=entry.scene in (None, scene_count),
    )


def _called_bed_parts(project: Project, entry: Music, utterances: Sequence[Utterance]) -> set[Part]:
    """Returns where a bed sounds that the script calls by name."""
    bed_name = (entry.name or "").casefold()
    is_heard = is_on = begins_chapter = was_stopped = False
    for utterance in utterances:
        for mark, share in utterance.chunk.marks:
            is_called = mark.name is not None and mark.name.casefold() == bed_name
            if is_on and not is_called and utterance is utterances[-1] and share >= 1:
                break  # a mark after the last words only fades it out
            begins_chapter |= is_called and utterance is utterances[0] and share == 0
            was_stopped |= is_on and not is_called
            is_heard, is_on = is_heard or is_called, is_called
    if not is_heard:
        return set()
    bed_parts = _bed_parts(
        project, entry, utterances, begins_chapter=begins_chapter, ends_chapter=is_on
    )
    return bed_parts - {"whole"} if was_stopped else bed_parts


def _bed_parts(
    project: Project,
    entry: Music,
    utterances: Sequence[Utterance],
    *,
    begins_chapter: bool,
    ends_chapter: bool,
) -> set[Part]:
    """Returns where a bed sounds that begins with the first words, or should end with the last."""
    bed_parts: set[Part] = {"under"}
    if begins_chapter:
        bed_parts.add("head")
    if ends_chapter and entry.loop is False:
        try:
            bed_seconds = entry.seconds or header_of(project.root / entry.file)
        except Unfit:
            bed_seconds = None  # reported elsewhere
        ends_chapter = bed_seconds is None or bed_seconds >= sum(
            utterance.expected for utterance in utterances
        )
    if ends_chapter:
        bed_parts.add("tail")
    return bed_parts | {"whole"} if begins_chapter and ends_chapter else bed_parts
