"""Where music would overlap itself, or outlast what it plays under; said before speech."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from narrator.delivery.music import chapters_of, header_of, problem_of
from narrator.errors import Problem
from narrator.project.profiles import Profile
from narrator.project.project import Project
from narrator.project.schema import Music
from narrator.sound.media import Unfit
from narrator.speech.plan import Utterance

Part = Literal["head", "tail", "under", "whole"]
"""Where music sounds in a chapter: before its first word, after its last, somewhere between them,
all through it."""


def parts(project: Project, spoken: Sequence[Sequence[Utterance]], chapter: int) -> set[Part]:
    """Where music sounds in a chapter of the manifest, counted from 0, as far as the text tells.

    `spoken` are the chunks of each of those chapters.
    """
    found: set[Part] = set()
    for entry in project.manifest.music:
        found |= _parts(project, entry, spoken, chapter)
    return found


def clashes(
    project: Project, spoken: Sequence[Sequence[Utterance]], profile: Profile
) -> Iterator[Problem]:
    """Entries that sound where a profile asks for quiet; `spoken` as in `parts`."""
    for number, entry in enumerate(project.manifest.music):
        found: set[Part] = set()
        for chapter in range(len(spoken)):
            found |= _parts(project, entry, spoken, chapter)
        kind = f"an {entry.place}" if entry.place != "bed" else "a bed"
        where: Part
        for where, demand, asked in (
            ("head", "head", profile.head),
            ("tail", "tail", profile.tail),
            ("whole", "noise_floor", profile.noise_floor),
        ):
            if where in found and asked is not None:
                place = "all through a chapter" if where == "whole" else f"in a chapter's {where}"
                what = (
                    f"{kind} sounds {place}, where profile {profile.name} asks for quiet: leave it "
                    f"out, or deliver to a profile of your own with `{demand}: null`"
                )
                yield problem_of(project, what, number)
                break


def _parts(
    project: Project, entry: Music, spoken: Sequence[Sequence[Utterance]], chapter: int
) -> set[Part]:
    own = spoken[chapter]
    if entry.name is not None:
        return _called(project, entry, own)
    titles = [project.chapters[n].title for n in project.numbered]
    if chapter not in chapters_of(entry, titles):
        return set()
    if entry.place != "bed":
        return {"head"} if entry.place == "intro" else {"tail"}
    scenes = own[-1].scene - own[0].scene + 1
    return _reach(
        project, entry, own, first=entry.scene in (None, 1), last=entry.scene in (None, scenes)
    )


def _called(project: Project, entry: Music, own: Sequence[Utterance]) -> set[Part]:
    """Where a bed sounds that the script calls."""
    name = (entry.name or "").casefold()
    heard = on = first = stopped = False
    for one in own:
        for mark, share in one.chunk.marks:
            ours = mark.name is not None and mark.name.casefold() == name
            if on and not ours and one is own[-1] and share >= 1:
                break  # it fades out after the last words
            first |= ours and one is own[0] and share == 0
            stopped |= on and not ours
            heard, on = heard or ours, ours
    if not heard:
        return set()
    found = _reach(project, entry, own, first=first, last=on)
    return found - {"whole"} if stopped else found


def _reach(
    project: Project, entry: Music, own: Sequence[Utterance], *, first: bool, last: bool
) -> set[Part]:
    """Of a bed that begins with the first words, or is meant to end with the last."""
    found: set[Part] = {"under"}
    if first:
        found.add("head")
    if last and entry.loop is False:
        try:
            length = entry.seconds or header_of(project.root / entry.file)
        except Unfit:
            length = None  # said elsewhere
        last = length is None or length >= sum(one.expected for one in own)
    if last:
        found.add("tail")
    return found | {"whole"} if first and last else found
