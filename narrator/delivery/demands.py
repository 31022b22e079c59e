"""Finds what a project's output would fail on, before anything is spoken.

Holds formats, names, covers, pauses, music and lengths to the profiles of the manifest; each
problem has its file and line. Knows the text's expected lengths, and no takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby, pairwise

from narrator.delivery import clashes, companions, export, finish, layout
from narrator.delivery.export.excerpt import SAMPLE_LEAD
from narrator.errors import ManifestError, Problem, UserError
from narrator.project.profiles import ROOM_TONE, SILENCE_MARGIN, Profile, planned_span
from narrator.project.project import Project
from narrator.project.schema import Sample
from narrator.sound.formats import EREADER_FORMATS, FORMATS
from narrator.speech.plan import Utterance
from narrator.text.chunks import group_unison

EXPECTED_SHARE = 0.75
"""Share of the expected length: chapters that are too long, or samples that are too short, by this
margin are refused."""


@dataclass(frozen=True, slots=True)
class ChapterShape:
    """The expected timing of a chapter, from its text alone."""

    number: int
    """Counted from 0, as in `project.chapters`."""
    title: str
    spoken: tuple[Utterance, ...]
    """Its utterances; of those in unison the first."""
    speech: float
    """Expected seconds from the first word to the last, pauses included."""
    pauses: tuple[tuple[float, str], ...]
    """Seconds between each chunk and the next, and the pause's name in `pauses`; "" where it was
    set by hand."""

    @property
    def lead(self) -> float:
        """Seconds set by hand before the first word."""
        return self.spoken[0].chunk.lead

    @property
    def rest(self) -> float:
        """Seconds set by hand after the last word."""
        return self.spoken[-1].chunk.rest or 0.0


def expected_shapes(project: Project, spoken: Sequence[Utterance]) -> list[ChapterShape]:
    """Returns the expected timing of all chapters with text, from all chunks of the book."""
    chapter_shapes = []
    chapters, pauses = project.chapters, project.manifest.pauses
    for number, chapter in groupby(spoken, key=lambda utterance: utterance.chapter):
        groups = list(group_unison(chapter))
        first_utterances = tuple(group[0] for group in groups)
        pauses_between = tuple(
            layout.pause_between(utterance.chunk, following.chunk, pauses)
            for utterance, following in pairwise(first_utterances)
        )
        speech_seconds = sum(
            max(map(partial(_expected_seconds, project), group)) for group in groups
        )
        speech_seconds += sum(seconds for seconds, _ in pauses_between)
        chapter_shapes.append(
            ChapterShape(
                number, chapters[number].title, first_utterances, speech_seconds, pauses_between
            )
        )
    return chapter_shapes


def _expected_seconds(project: Project, utterance: Utterance) -> float:
    """Returns the expected seconds of an utterance at its speaker's speed."""
    return utterance.expected / project.speakers[utterance.chunk.speaker].speed


def check_output(project: Project, rate: int, chapters: Sequence[ChapterShape]) -> None:
    """Checks the manifest's output against the book, before anything is spoken.

    Finds formats, rates and bitrates that do not fit together, companions that cannot be made, two
    files of one name, and what a profile would refuse: a cover, music, pauses, chapters that are
    too long, a sample that is too short. `chapters` are the `expected_shapes` of the whole book.
    Raises ManifestError with every problem found.
    """
    problems = [
        *_coding_problems(project, rate),
        *_name_problems(project),
        *_cover_problems(project),
    ]
    has_profile = project.manifest.output.profile is not None
    music_chapters = project.numbered if has_profile and project.manifest.music else []
    utterances = [chapters[number].spoken for number in music_chapters]
    music_parts = {
        number: clashes.parts(project, utterances, index)
        for index, number in enumerate(music_chapters)
    }
    silences = _Silences(project, chapters, music_parts)
    for profile in project.deliveries:
        problems += clashes.clashes(project, utterances, profile)
        problems += _edge_problems(project, profile, chapters)
        problems += silences.problems(profile)
        problems += _length_problems(project, profile, chapters)
    if problems:
        raise ManifestError(dict.fromkeys(problems))


def _coding_problems(project: Project, rate: int) -> Iterator[Problem]:
    """Yields problems of formats, bitrates and companions."""
    line = project.line("output")
    companion_kinds, profiles = project.manifest.output.companions, project.deliveries
    has_profile = project.manifest.output.profile is not None
    try:
        bytes_per_second(project, rate)
    except UserError as error:
        yield Problem(project.path, line, str(error))
    formats = {format for profile in profiles for format in profile.formats}
    file_companions = [kind for kind in companion_kinds if kind != "readalong"]
    try:
        if "readalong" in companion_kinds and has_profile and not EREADER_FORMATS.keys() & formats:
            raise UserError(
                "output.companions: readalong needs sound that e-readers play; add a profile with "
                f"one of {', '.join(EREADER_FORMATS)}"
            )
        companions.check(companion_kinds, sorted(formats), 1)
        is_joined = any(_joins_chapters(profile) for profile in profiles)
        companions.check(
            file_companions, sorted(formats), len(project.chapters) if is_joined else 1
        )
    except UserError as error:
        yield Problem(project.path, project.line("output", "companions"), str(error))


def _name_problems(project: Project) -> Iterator[Problem]:
    """Yields a problem for two files of a book that would have one name."""
    titles = [chapter.title for chapter in project.chapters]
    try:
        export.check_names(titles, project.facts, project.deliveries)
    except UserError as error:
        yield Problem(project.path, project.line("output"), str(error))


def _joins_chapters(profile: Profile) -> bool:
    """Returns whether a profile has files of several chapters."""
    return profile.files != "chapters" or any(FORMATS[name].is_book for name in profile.formats)


def _cover_problems(project: Project) -> Iterator[Problem]:
    """Yields problems of the cover with the profiles."""
    path = project.root / project.manifest.cover if project.manifest.cover else None
    try:
        picture = export.read_cover(path) if path else None
    except UserError as error:
        yield Problem(project.path, project.line("cover"), str(error))
        return
    for profile in project.deliveries:
        if picture is None or path is None:
            if profile.cover:
                message = f"profile {profile.name} asks for a cover: set `cover`"
                yield Problem(project.path, project.line("output", "profile"), message)
            continue
        try:
            export.fit_cover(
                picture, path, square=profile.cover_square, pixels=profile.cover_pixels
            )
        except UserError as error:
            yield Problem(project.path, project.line("cover"), str(error))


def _edge_problems(
    project: Project, profile: Profile, chapters: Sequence[ChapterShape]
) -> Iterator[Problem]:
    """Yields problems of silence before the first word or after the last of a file."""
    pauses = project.manifest.pauses
    has_chapter_files = profile.longest is not None or (
        profile.files != "book" and not all(FORMATS[name].is_book for name in profile.formats)
    )
    first_chapters, last_chapters = (
        (chapters, chapters) if has_chapter_files else (chapters[:1], chapters[-1:])
    )
    head_edges = [
        (f"'{chapter.title}' begins", pauses.head + chapter.lead, chapter.spoken[0])
        for chapter in first_chapters
    ]
    tail_edges = [
        (f"'{chapter.title}' ends", chapter.rest, chapter.spoken[-1]) for chapter in last_chapters
    ]
    for key, span, planned_pause, edges in (
        ("head", profile.head, pauses.head, head_edges),
        ("tail", profile.tail, pauses.tail, tail_edges),
    ):
        if span is None:
            continue
        shortest, longest = planned_span(span)
        demand = f"profile {profile.name} asks for a {key} of {span[0]:g} to {span[1]:g} s"
        if not shortest <= planned_pause <= longest:
            line = project.line("pauses", key) or project.line("output", "profile")
            setting = f"pauses.{key}, which is {planned_pause:g}, to {shortest:g} to {longest:g}"
            message = f"{demand}: set {setting}"
            yield Problem(project.path, line, message)
            continue
        for edge_name, seconds, utterance in edges:
            if seconds > longest:
                message = f"{demand}, and {edge_name} with {seconds:g} s: shorten its [pause]"
                yield _problem_at(utterance, message)


def _problem_at(utterance: Utterance, message: str) -> Problem:
    """Returns a problem at the line of an utterance."""
    line = utterance.chunk.pieces[-1].line
    return Problem(line.path, line.line, message)


@dataclass(frozen=True, slots=True)
class _Silences:
    """Digital silence that a book will have: pauses without music and room tone."""

    project: Project
    chapters: Sequence[ChapterShape]
    music: Mapping[int, set[clashes.Part]]
    """Where music sounds, by the numbers of chapters with music."""

    def problems(self, profile: Profile) -> list[Problem]:
        """Returns problems of silences longer than a profile accepts."""
        if profile.gap is None or profile.room_tone is not None:
            return []
        is_joined = _joins_chapters(profile)
        problems = [*self._inside(profile), *(self._between(profile) if is_joined else ())]
        return list(dict.fromkeys(problems))  # a pause of the manifest is reported once

    def _inside(self, profile: Profile) -> Iterator[Problem]:
        """Yields problems of pauses within chapters."""
        for chapter in self.chapters:
            if "under" in self.music.get(chapter.number, ()):
                continue
            for utterance, (seconds, name) in zip(chapter.spoken, chapter.pauses, strict=False):
                if seconds > _max_silence(profile):
                    yield self._problem(profile, seconds, name, utterance)

    def _between(self, profile: Profile) -> Iterator[Problem]:
        """Yields problems of the silence where chapters are joined."""
        pauses = self.project.manifest.pauses
        for chapter, following in pairwise(self.chapters):
            has_outro = "tail" in self.music.get(chapter.number, ())
            has_intro = "head" in self.music.get(following.number, ())
            tail_seconds = chapter.rest if has_outro else max(pauses.tail, chapter.rest)
            head_seconds = 0.0 if has_intro else pauses.head + following.lead
            if tail_seconds + head_seconds > _max_silence(profile):
                pause_name = "" if chapter.rest > pauses.tail or following.lead else "tail"
                utterance = (
                    following.spoken[0] if following.lead > chapter.rest else chapter.spoken[-1]
                )
                yield self._problem(profile, tail_seconds + head_seconds, pause_name, utterance)

    def _problem(
        self, profile: Profile, seconds: float, pause_name: str, utterance: Utterance
    ) -> Problem:
        message = (
            f"{seconds:g} s of digital silence, and profile {profile.name} takes {profile.gap:g}: "
            f"shorten {f'pauses.{pause_name}' if pause_name else 'the [pause]'}, or deliver to a "
            f"profile of your own with `room_tone: {ROOM_TONE:g}`"
        )
        if not pause_name:
            return _problem_at(utterance, message)
        project = self.project
        line = project.line("pauses", pause_name) or project.line("output", "profile")
        return Problem(project.path, line, message)


def _max_silence(profile: Profile) -> float:
    """Returns the longest accepted pause in seconds: takes begin and end with a little silence."""
    return (profile.gap or 0.0) - SILENCE_MARGIN


def _length_problems(
    project: Project, profile: Profile, chapters: Sequence[ChapterShape]
) -> Iterator[Problem]:
    """Yields problems of chapters that are clearly too long for a file, and of a sample that is
    clearly too short."""
    pauses = project.manifest.pauses
    for chapter in chapters:
        minutes = (pauses.head + chapter.speech + pauses.tail) / 60
        if profile.longest is not None and minutes * EXPECTED_SHARE > profile.longest:
            message = (
                f"'{chapter.title}' will last about {minutes:.1f} min, and profile {profile.name} "
                f"takes {profile.longest:g} a file: make two chapters of it"
            )
            line = project.line(*project.chapter_loc(chapter.number))
            yield Problem(project.path, line, message)
    if profile.sample is None:
        return
    sample_settings, min_seconds = project.manifest.output.sample or Sample(), profile.sample[0]
    sample_chapter = chapters[finish.chapter_number(project, sample_settings.chapter) - 1]
    available_seconds = (
        pauses.head + sample_chapter.speech - max(sample_settings.start, pauses.head)
    )
    seconds = max(0.0, available_seconds) + 3 * SAMPLE_LEAD
    if seconds < min_seconds * EXPECTED_SHARE:
        message = (
            f"output.sample: '{sample_chapter.title}' gives about {seconds:.0f} s from "
            f"{sample_settings.start:g} s on, of {min_seconds:g} s that profile {profile.name} "
            "asks for; choose another chapter, start or length"
        )
        line = project.line("output", "sample")
        yield Problem(project.path, line, message)


# -- sizes -----------------------------------------------------------------------------------------


def expected_book_seconds(project: Project, chapters: Sequence[ChapterShape]) -> float:
    """Returns the expected length of a book, heads and tails of its chapters included."""
    edges = project.manifest.pauses.head + project.manifest.pauses.tail
    return sum(chapter.speech + edges for chapter in chapters)


def bytes_per_second(project: Project, rate: int, channels: int = 1) -> float:
    """Returns about how many bytes a second of the book takes in all its formats.

    `channels` are the book's, where a delivery does not set its own. Raises UserError.
    """
    return sum(_bytes_per_second(profile, rate, channels) for profile in project.deliveries)


def _bytes_per_second(profile: Profile, rate: int, channels: int) -> float:
    """Returns about how many bytes a second takes in the formats of a profile."""
    sizes = []
    for format in profile.formats:
        encoding, row = export.encoding(format, rate, profile, channels), FORMATS[format]
        size = encoding.bytes_per_second(row.codec)
        sizes.append(2 * size if profile.files == "both" and not row.is_book else size)
    return sum(sizes)


def stereo_cost(project: Project, rate: int, channels: int, seconds: float) -> str | None:
    """Describes what stereo costs for the sake of music, and how to save it.

    None where the book is not in stereo, or its deliveries set their channels.
    """
    free_profiles = [profile for profile in project.deliveries if profile.channels is None]
    mono_size, stereo_size = (
        sum(_bytes_per_second(profile, rate, channel_count) for profile in free_profiles)
        for channel_count in (1, 2)
    )
    if channels < 2 or stereo_size <= mono_size:
        return None
    setting = (
        "`channels: mono` in a profile of your own"
        if project.manifest.output.profile
        else "`output.channels: mono`"
    )
    return (
        f"music in stereo makes all of the book stereo, and its files about "
        f"{_megabytes(stereo_size * seconds)} instead of {_megabytes(mono_size * seconds)}: "
        f"{setting} saves {_megabytes((stereo_size - mono_size) * seconds)}"
    )


def _megabytes(size: float) -> str:
    return f"{size / 1e6:.{0 if size >= 10e6 else 1}f} MB"
