"""What a project's output would fail on, found before anything is spoken.

Formats, names, covers, pauses, music and lengths are held against what the manifest's profiles
demand; each problem has its file and line. Knows the text's expected lengths, and no takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby, pairwise

from narrator.delivery import clashes, companions, export, finish, layout
from narrator.delivery.companions import readalong
from narrator.delivery.export.excerpt import LEAD
from narrator.errors import ManifestError, Problem, UserError
from narrator.project.profiles import EDGE, ROOM_TONE, Profile, within
from narrator.project.project import Project
from narrator.project.schema import Sample
from narrator.speech.plan import Utterance
from narrator.text.chunks import together

LIKELY = 0.75
"""Of the expected length: what is too long or too short even so is refused before it is spoken."""


@dataclass(frozen=True, slots=True)
class ChapterShape:
    """A chapter in time as far as its text tells, before anything of it is spoken."""

    number: int
    """Counted from 0, as in `project.chapters`."""
    title: str
    spoken: tuple[Utterance, ...]
    """Of those in unison the first."""
    speech: float
    """Expected seconds from the first word to the last, pauses between included."""
    pauses: tuple[tuple[float, str], ...]
    """Seconds between each chunk and the next, and their name in `pauses`; "" where they were set
    by hand."""

    @property
    def lead(self) -> float:
        """Seconds set by hand before the first word."""
        return self.spoken[0].chunk.lead

    @property
    def rest(self) -> float:
        """Seconds set by hand after the last."""
        return self.spoken[-1].chunk.rest or 0.0


def shapes(project: Project, spoken: Sequence[Utterance]) -> list[ChapterShape]:
    """All chapters of a book, of which each has something to speak, from all its chunks."""
    found = []
    chapters, pauses = project.chapters, project.manifest.pauses
    for number, chapter in groupby(spoken, key=lambda one: one.chapter):
        groups = list(together(chapter))
        own = tuple(group[0] for group in groups)
        between = tuple(layout.pause_between(a.chunk, b.chunk, pauses) for a, b in pairwise(own))
        speech = sum(max(map(partial(_seconds, project), group)) for group in groups)
        speech += sum(seconds for seconds, _ in between)
        found.append(ChapterShape(number, chapters[number].title, own, speech, between))
    return found


def _seconds(project: Project, one: Utterance) -> float:
    """Expected of it, at its speaker's speed."""
    return one.expected / project.speakers[one.chunk.speaker].speed


def check_output(project: Project, rate: int, chapters: Sequence[ChapterShape]) -> None:
    """Holds the manifest's output to the book, before anything is spoken: formats, rates and
    bitrates that do not go together, companions that cannot be made, two files of one name, and
    what a profile would refuse: a cover, music, pauses, chapters that are too long, a sample that
    is too short.

    `chapters` are `shapes` of the whole book. Raises ManifestError with every problem found.
    """
    found = [
        *_coding_problems(project, rate),
        *_name_problems(project),
        *_cover_problems(project),
    ]
    profiled = project.manifest.output.profile is not None
    played = project.numbered if profiled and project.manifest.music else []
    spoken = [chapters[number].spoken for number in played]
    sounding = {number: clashes.parts(project, spoken, n) for n, number in enumerate(played)}
    silence = _Silences(project, chapters, sounding)
    for profile in project.deliveries:
        found += clashes.clashes(project, spoken, profile)
        found += _edge_problems(project, profile, chapters)
        found += silence.problems(profile)
        found += _length_problems(project, profile, chapters)
    if found:
        raise ManifestError(dict.fromkeys(found))


def _coding_problems(project: Project, rate: int) -> Iterator[Problem]:
    line = project.line("output")
    wanted, profiles = project.manifest.output.companions, project.deliveries
    profiled = project.manifest.output.profile is not None
    try:
        bytes_per_second(project, rate)
    except UserError as error:
        yield Problem(project.path, line, str(error))
    sounds = {format for profile in profiles for format in profile.formats}
    named = [kind for kind in wanted if kind != "readalong"]
    try:
        if "readalong" in wanted and profiled and not sounds & set(readalong.AUDIO):
            raise UserError(
                "output.companions: readalong needs sound that e-readers play; add a profile with "
                f"one of {', '.join(readalong.AUDIO)}"
            )
        companions.check(wanted, sorted(sounds), 1)
        joined = any(_joins(profile) for profile in profiles)
        companions.check(named, sorted(sounds), len(project.chapters) if joined else 1)
    except UserError as error:
        yield Problem(project.path, project.line("output", "companions"), str(error))


def _name_problems(project: Project) -> Iterator[Problem]:
    """Two files of a book, its credits among its chapters, that would have one name."""
    titles = [chapter.title for chapter in project.chapters]
    try:
        export.check_names(titles, project.facts, project.deliveries)
    except UserError as error:
        yield Problem(project.path, project.line("output"), str(error))


def _joins(profile: Profile) -> bool:
    """Whether chapters lie one after the other in a file."""
    return "m4b" in profile.formats or profile.files != "chapters"


def _cover_problems(project: Project) -> Iterator[Problem]:
    path = project.root / project.manifest.cover if project.manifest.cover else None
    try:
        picture = export.read_cover(path) if path else None
    except UserError as error:
        yield Problem(project.path, project.line("cover"), str(error))
        return
    for profile in project.deliveries:
        if picture is None or path is None:
            if profile.cover:
                what = f"profile {profile.name} asks for a cover: set `cover`"
                yield Problem(project.path, project.line("output", "profile"), what)
            continue
        try:
            export.fitted(picture, path, square=profile.cover_square, pixels=profile.cover_pixels)
        except UserError as error:
            yield Problem(project.path, project.line("cover"), str(error))


def _edge_problems(
    project: Project, profile: Profile, chapters: Sequence[ChapterShape]
) -> Iterator[Problem]:
    """Silence before the first word of a file and after its last that is too short or too long."""
    pauses = project.manifest.pauses
    apart = profile.longest is not None or (profile.files != "book" and profile.formats != ("m4b",))
    first, last = (chapters, chapters) if apart else (chapters[:1], chapters[-1:])
    heads = [(f"'{one.title}' begins", pauses.head + one.lead, one.spoken[0]) for one in first]
    tails = [(f"'{one.title}' ends", one.rest, one.spoken[-1]) for one in last]
    for key, span, planned, edges in (
        ("head", profile.head, pauses.head, heads),
        ("tail", profile.tail, pauses.tail, tails),
    ):
        if span is None:
            continue
        least, most = within(span)
        asks = f"profile {profile.name} asks for a {key} of {span[0]:g} to {span[1]:g} s"
        if not least <= planned <= most:
            line = project.line("pauses", key) or project.line("output", "profile")
            what = f"{asks}: set pauses.{key}, which is {planned:g}, to {least:g} to {most:g}"
            yield Problem(project.path, line, what)
            continue
        for which, seconds, utterance in edges:
            if seconds > most:
                what = f"{asks}, and {which} with {seconds:g} s: shorten its [pause]"
                yield _at(utterance, what)


def _at(utterance: Utterance, message: str) -> Problem:
    line = utterance.chunk.pieces[-1].line
    return Problem(line.path, line.line, message)


@dataclass(frozen=True, slots=True)
class _Silences:
    """Digital silence that a book will have: pauses without music, without room tone."""

    project: Project
    chapters: Sequence[ChapterShape]
    music: Mapping[int, set[clashes.Part]]
    """Where music sounds, by the numbers of chapters that have any."""

    def problems(self, profile: Profile) -> list[Problem]:
        """Silences that are longer than a profile takes."""
        if profile.gap is None or profile.room_tone is not None:
            return []
        joined = _joins(profile)
        found = [*self._inside(profile), *(self._between(profile) if joined else ())]
        return list(dict.fromkeys(found))  # a pause of the manifest's is said once

    def _inside(self, profile: Profile) -> Iterator[Problem]:
        for one in self.chapters:
            if "under" in self.music.get(one.number, ()):
                continue
            for utterance, (seconds, name) in zip(one.spoken, one.pauses, strict=False):
                if seconds > _most_silence(profile):
                    yield self._problem(profile, seconds, name, utterance)

    def _between(self, profile: Profile) -> Iterator[Problem]:
        pauses = self.project.manifest.pauses
        for one, after in pairwise(self.chapters):
            outro = "tail" in self.music.get(one.number, ())
            intro = "head" in self.music.get(after.number, ())
            ending = one.rest if outro else max(pauses.tail, one.rest)
            beginning = 0.0 if intro else pauses.head + after.lead
            if ending + beginning > _most_silence(profile):
                name = "" if one.rest > pauses.tail or after.lead else "tail"
                where = after.spoken[0] if after.lead > one.rest else one.spoken[-1]
                yield self._problem(profile, ending + beginning, name, where)

    def _problem(self, profile: Profile, seconds: float, name: str, where: Utterance) -> Problem:
        what = (
            f"{seconds:g} s of digital silence, and profile {profile.name} takes {profile.gap:g}: "
            f"shorten {f'pauses.{name}' if name else 'the [pause]'}, or deliver to a profile of "
            f"your own with `room_tone: {ROOM_TONE:g}`"
        )
        if not name:
            return _at(where, what)
        project = self.project
        line = project.line("pauses", name) or project.line("output", "profile")
        return Problem(project.path, line, what)


def _most_silence(profile: Profile) -> float:
    """Seconds of a pause: takes begin and end with a little silence of their own."""
    return (profile.gap or 0.0) - EDGE


def _length_problems(
    project: Project, profile: Profile, chapters: Sequence[ChapterShape]
) -> Iterator[Problem]:
    """Chapters that are too long for a file, and a sample that is too short, by a clear margin."""
    pauses = project.manifest.pauses
    for one in chapters:
        minutes = (pauses.head + one.speech + pauses.tail) / 60
        if profile.longest is not None and minutes * LIKELY > profile.longest:
            what = (
                f"'{one.title}' will last about {minutes:.1f} min, and profile {profile.name} "
                f"takes {profile.longest:g} a file: make two chapters of it"
            )
            line = project.line(*project.chapter_loc(one.number))
            yield Problem(project.path, line, what)
    if profile.sample is None:
        return
    wanted, least = project.manifest.output.sample or Sample(), profile.sample[0]
    chosen = chapters[finish.chapter_number(project, wanted.chapter) - 1]
    left = pauses.head + chosen.speech - max(wanted.start, pauses.head)
    seconds = max(0.0, left) + 3 * LEAD
    if seconds < least * LIKELY:
        what = (
            f"output.sample: '{chosen.title}' gives about {seconds:.0f} s from {wanted.start:g} s "
            f"on, of {least:g} s that profile {profile.name} asks for; choose another chapter, "
            "start or length"
        )
        line = project.line("output", "sample")
        yield Problem(project.path, line, what)


# -- sizes -----------------------------------------------------------------------------------------


def seconds_of(project: Project, chapters: Sequence[ChapterShape]) -> float:
    """Expected length of a book, heads and tails of its chapters included."""
    edges = project.manifest.pauses.head + project.manifest.pauses.tail
    return sum(chapter.speech + edges for chapter in chapters)


def bytes_per_second(project: Project, rate: int, channels: int = 1) -> float:
    """About what a second of the book takes in the listener's files, in all its formats;
    `channels` are the book's, where a delivery does not set its own. Raises UserError."""
    return sum(_bytes_per_second(profile, rate, channels) for profile in project.deliveries)


def _bytes_per_second(profile: Profile, rate: int, channels: int) -> float:
    sizes = []
    for format in profile.formats:
        code = export.encoding(format, rate, profile, channels)
        size = code.bytes_per_second
        if format == "wav":  # kept as FLAC, delivered as 24 bits a sample
            size = 3.0 * code.sample_rate * code.channels
        # M4B always is one book; of the others a book may be delivered twice
        sizes.append(2 * size if profile.files == "both" and format != "m4b" else size)
    return sum(sizes)


def stereo_cost(project: Project, rate: int, channels: int, seconds: float) -> str | None:
    """What a book in stereo costs for the sake of its music, and how to save it; None where it is
    not in stereo, or its deliveries say that it shall be."""
    free = [profile for profile in project.deliveries if profile.channels is None]
    one, two = (sum(_bytes_per_second(profile, rate, n) for profile in free) for n in (1, 2))
    if channels < 2 or two <= one:
        return None
    where = (
        "`channels: mono` in a profile of your own"
        if project.manifest.output.profile
        else "`output.channels: mono`"
    )
    return (
        f"music in stereo makes all of the book stereo, and its files about "
        f"{_megabytes(two * seconds)} instead of {_megabytes(one * seconds)}: {where} saves "
        f"{_megabytes((two - one) * seconds)}"
    )


def _megabytes(size: float) -> str:
    return f"{size / 1e6:.{0 if size >= 10e6 else 1}f} MB"
