"""Finds what a project's output would fail on, before anything is spoken.

Asks the rules of platforms (`rules.py`) of the plan; each problem has its file and line. Knows the
text's expected lengths, and no takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby, pairwise
from operator import attrgetter

from narrator.delivery import export, layout, music
from narrator.delivery.companions import cue
from narrator.delivery.rules import RULES, ChapterShape, PlannedBook
from narrator.errors import ManifestError, Problem
from narrator.project.profiles import Profile
from narrator.project.project import Project
from narrator.quantities import format_bytes
from narrator.sound.formats import EREADER_FORMATS, FORMATS
from narrator.speech.plan import Utterance
from narrator.text.chunks import group_unison
from narrator.text.memo import LastValues


def expected_shapes(
    project: Project, spoken: Sequence[Utterance], known: LastValues[ChapterShape] | None = None
) -> list[ChapterShape]:
    """Returns the expected timing of all chapters with text, from all chunks of the book.

    `known` holds the shapes of the chapters as they were last.
    """
    known = known or LastValues()
    speeds = {name: speaker.speed for name, speaker in project.speakers.items()}
    pauses = project.manifest.pauses

    def shape_chapter(number: int, utterances: Sequence[Utterance]) -> ChapterShape:
        def expected_seconds(utterance: Utterance) -> float:
            return utterance.expected / speeds[utterance.chunk.speaker]

        groups = list(group_unison(utterances))
        first_utterances = tuple(group[0] for group in groups)
        pauses_between = tuple(
            layout.pause_between(utterance.chunk, following.chunk, pauses)
            for utterance, following in pairwise(first_utterances)
        )
        speech_seconds = sum(max(map(expected_seconds, group)) for group in groups)
        speech_seconds += sum(seconds for seconds, _ in pauses_between)
        title = project.chapters[number].title
        return ChapterShape(number, title, first_utterances, speech_seconds, pauses_between)

    chapter_shapes = []
    for number, chapter in groupby(spoken, key=attrgetter("chapter")):
        utterances = tuple(chapter)
        facts = (utterances, speeds, pauses, project.chapters[number].title)
        chapter_shapes.append(known.get(number, facts, partial(shape_chapter, number, utterances)))
    return chapter_shapes


def check_output(project: Project, rate: int, chapters: Sequence[ChapterShape]) -> None:
    """Checks the manifest's output against the book, before anything is spoken.

    `chapters` are the `expected_shapes` of the whole book. Raises ManifestError with every problem
    found.
    """
    utterances = {chapter.number: chapter.spoken for chapter in chapters}
    book = PlannedBook(project, rate, chapters, music.parts(project, utterances))
    problems = [
        *_companion_problems(project),
        *(
            problem
            for rule in RULES
            if rule.preflight is not None
            for profile in project.deliveries
            for problem in rule.preflight(book, profile)
        ),
    ]
    if problems:
        raise ManifestError(dict.fromkeys(problems))  # several profiles may share one


def _companion_problems(project: Project) -> Iterator[Problem]:
    """Yields companions that none of the profiles' files allow."""
    output, profiles = project.manifest.output, project.deliveries
    formats = {format for profile in profiles for format in profile.formats}
    location = project.path, project.line("output", "companions")
    if "readalong" in output.companions and not EREADER_FORMATS.keys() & formats:
        names = ", ".join(EREADER_FORMATS)
        advice = (
            f"add a profile with one of {names}"
            if output.profile is not None
            else f"add one of {names} to output.formats"
        )
        message = f"output.companions: readalong needs sound that e-readers play; {advice}"
        yield Problem(*location, message)
    has_book_files = any(profile.has_book_files for profile in profiles)
    if "cue" in output.companions and has_book_files and len(project.chapters) > cue.MAX_TRACKS:
        message = (
            f"output.companions: a CUE sheet counts {cue.MAX_TRACKS} tracks, and this book has "
            f"{len(project.chapters)} chapters; leave `cue` out (`chapters` has no such limit)"
        )
        yield Problem(*location, message)


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
    total = 0.0
    for name in profile.formats:
        format = FORMATS[name]
        copies = 2 if profile.files == "both" and not format.is_book else 1
        encoding = export.encoding(name, rate, profile, channels)
        total += copies * encoding.bytes_per_second(format.codec)
    return total


def stereo_cost(project: Project, rate: int, channels: int, seconds: float) -> str | None:
    """Describes what stereo costs for the sake of music, and how to save it.

    None where the book is not in stereo, or its deliveries set their channels.
    """
    free_profiles = [profile for profile in project.deliveries if profile.channels is None]
    mono_size, stereo_size = (
        seconds * sum(_bytes_per_second(profile, rate, count) for profile in free_profiles)
        for count in (1, 2)
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
        f"{format_bytes(stereo_size)} instead of {format_bytes(mono_size)}: "
        f"{setting} saves {format_bytes(stereo_size - mono_size)}"
    )
