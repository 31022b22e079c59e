"""The demands of platforms, one row each: asked of the plan before anything is spoken, and of the
finished files.

A new demand is a field of `Profile` and a row of `RULES`. `preflight.py` asks all rules of a plan,
`postflight.py` of files, ours or anyone's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

from narrator.delivery import credentials, export, music, provenance
from narrator.delivery.export.excerpt import SAMPLE_LEAD
from narrator.delivery.layout import chapter_number
from narrator.delivery.music import Part
from narrator.errors import Problem, UserError
from narrator.project.profiles import ROOM_TONE, SILENCE_MARGIN, Profile, Span, planned_span
from narrator.project.project import Project
from narrator.project.schema import Sample
from narrator.sound import meters
from narrator.sound.clock import format_fine_clock
from narrator.sound.formats import FORMATS
from narrator.sound.probe import FileFigures
from narrator.speech.plan import Utterance

# -- what is asked ---------------------------------------------------------------------------------


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
        return self.spoken[0].chunk.pause_before_s

    @property
    def rest(self) -> float:
        """Seconds set by hand after the last word."""
        return self.spoken[-1].chunk.pause_after_s or 0.0


@dataclass(frozen=True, slots=True)
class PlannedBook:
    """A book before it is spoken."""

    project: Project
    rate: int
    """Sample rate in Hz."""
    chapters: Sequence[ChapterShape]
    """All chapters with text."""
    music: Sequence[Mapping[int, set[Part]]]
    """Where each music entry of the manifest sounds, by the numbers of chapters."""

    def music_parts(self, chapter: ChapterShape) -> set[Part]:
        """Returns where any music sounds in a chapter."""
        return set[Part]().union(*(parts.get(chapter.number, ()) for parts in self.music))

    def problem(self, message: str, *loc: str) -> Problem:
        """Returns a problem at a key of the manifest, or at the profile where it is not set."""
        line = self.project.line(*loc) or self.project.line("output", "profile")
        return Problem(self.project.path, line, message)


@dataclass(frozen=True, slots=True)
class MeasuredFile:
    """A finished file, with what is known of its book."""

    figures: FileFigures
    first_figures: FileFigures
    """Those of the book's first file, which the others must match where a profile demands it."""
    longest_pause: float
    """Seconds of the longest pause known to be intended."""
    mark: Mapping[str, str] = field(default_factory=dict)
    """The mark of its origin that it was made with; empty where that is not known."""
    is_signed: bool = False
    """True where it was made with content credentials."""


Result = tuple[str, str, bool]
"""A file's figure, the demand on it ("" accepts anything), and whether the demand is met."""
Preflight = Callable[[PlannedBook, Profile], Iterator[Problem]]
Postflight = Callable[[MeasuredFile, Profile], Result]


@dataclass(frozen=True, slots=True)
class Rule:
    """One demand."""

    name: str
    preflight: Preflight | None = None
    """Yields what the files of a plan would fail on."""
    postflight: Postflight | None = None
    """Holds a finished file to the demand."""


def _within(
    figure: Callable[[FileFigures], float],
    span: Callable[[Profile], Span | None],
    unit: str,
    digits: int = 1,
) -> Postflight:
    """Returns the check that a figure lies within a span."""

    def check(file: MeasuredFile, profile: Profile) -> Result:
        rounded, demand = round(figure(file.figures), digits), span(profile)
        is_within = demand is None or demand[0] <= rounded <= demand[1]
        return f"{rounded:.{digits}f} {unit}", _format_span(demand, unit), is_within

    return check


def _at_most(
    figure: Callable[[FileFigures], float], maximum: Callable[[Profile], float | None], unit: str
) -> Postflight:
    """Returns the check that a figure does not exceed a maximum."""

    def check(file: MeasuredFile, profile: Profile) -> Result:
        measured, limit = figure(file.figures), maximum(profile)
        demand = "" if limit is None else f"at most {limit:g} {unit}"
        return f"{measured:.1f} {unit}", demand, limit is None or round(measured, 1) <= limit

    return check


def _format_span(span: tuple[float, float] | None, unit: str) -> str:
    """Formats a span with its unit; "" for None."""
    if span is None:
        return ""
    return f"{span[0]:g} {unit}" if span[0] == span[1] else f"{span[0]:g} to {span[1]:g} {unit}"


def _problem_at(utterance: Utterance, message: str) -> Problem:
    """Returns a problem at the line of an utterance."""
    line = utterance.chunk.pieces[-1].line
    return Problem(line.path, line.line, message)


# -- levels and edges ------------------------------------------------------------------------------


def _level_span(profile: Profile, kind: Literal["LUFS", "RMS"]) -> Span | None:
    """Returns the accepted loudness of a profile, if it is of this kind."""
    if profile.loudness is None or profile.kind != kind:
        return None
    return profile.loudness - profile.tolerance, profile.loudness + profile.tolerance


def _edge_problems(key: Literal["head", "tail"]) -> Preflight:
    """Returns the rule on the silence before the first word or after the last of a file."""

    def problems(book: PlannedBook, profile: Profile) -> Iterator[Problem]:
        """Yields planned silences at this edge that a profile does not accept."""
        span: Span | None = getattr(profile, key)
        if span is None:
            return
        shortest, longest = planned_span(span)
        planned_pause: float = getattr(book.project.manifest.pauses, key)
        demand = f"profile {profile.name} asks for a {key} of {span[0]:g} to {span[1]:g} s"
        if not shortest <= planned_pause <= longest:
            setting = f"pauses.{key}, which is {planned_pause:g}, to {shortest:g} to {longest:g}"
            yield book.problem(f"{demand}: set {setting}", "pauses", key)
            return
        edge = slice(1) if key == "head" else slice(-1, None)
        has_all_edges = profile.has_chapter_files or profile.longest is not None
        for chapter in book.chapters if has_all_edges else book.chapters[edge]:
            if key == "head":
                verb, seconds = "begins", planned_pause + chapter.lead
            else:
                verb, seconds = "ends", chapter.rest
            if seconds > longest:
                (utterance,) = chapter.spoken[edge]
                edge_note = f"'{chapter.title}' {verb} with {seconds:g} s"
                yield _problem_at(utterance, f"{demand}, and {edge_note}: shorten its [pause]")

    return problems


def _room_tone(file: MeasuredFile, profile: Profile) -> Result:
    """Holds the digital silence at the edges of a file to a profile."""
    silent_edge = file.figures.silent_edge
    is_needed = profile.room_tone is not None and profile.noise_floor is not None
    return (
        f"{silent_edge:.2f} s digital at an edge",
        "no digital silence" if is_needed else "",
        not is_needed or silent_edge <= 0.1,
    )


def _music_problems(book: PlannedBook, profile: Profile) -> Iterator[Problem]:
    """Yields a problem for each music entry that sounds where a profile demands quiet."""
    for number, entry in enumerate(book.project.manifest.music):
        entry_parts = set[Part]().union(*book.music[number].values())
        quiet_parts: tuple[tuple[Part, str, object], ...] = (
            ("head", "head", profile.head),
            ("tail", "tail", profile.tail),
            ("whole", "noise_floor", profile.noise_floor),
        )
        for part, profile_key, quiet_demand in quiet_parts:
            if part in entry_parts and quiet_demand is not None:
                entry_name = "a bed" if entry.place == "bed" else f"an {entry.place}"
                location = "all through a chapter" if part == "whole" else f"in a chapter's {part}"
                message = (
                    f"{entry_name} sounds {location}, where profile {profile.name} asks for quiet: "
                    f"leave it out, or deliver to a profile of your own with `{profile_key}: null`"
                )
                yield music.problem_of(book.project, message, number)
                break


# -- coding and length -----------------------------------------------------------------------------


def _coding_problems(book: PlannedBook, profile: Profile) -> Iterator[Problem]:
    """Yields formats, rates and bitrates that do not fit together."""
    for format in profile.formats:
        try:
            export.encoding(format, book.rate, profile)
        except UserError as error:
            yield book.problem(str(error), "output")


def _codec(file: MeasuredFile, profile: Profile) -> Result:
    """Holds the codec of a file to a profile."""
    codec, codecs = file.figures.codec, [FORMATS[name].codec.name for name in profile.formats]
    return codec, " or ".join(codecs), not codecs or codec.startswith(tuple(codecs))


def _sample_rate(file: MeasuredFile, profile: Profile) -> Result:
    """Holds the sample rate of a file to a profile."""
    rate = profile.sample_rate or (file.first_figures.sample_rate if profile.alike else None)
    sample_rate = file.figures.sample_rate
    return f"{sample_rate} Hz", f"{rate} Hz" if rate else "", rate in (None, sample_rate)


def _bitrate(file: MeasuredFile, profile: Profile) -> Result:
    """Holds the bitrate of a file to a profile."""
    bitrates = None if file.figures.bitrate_mode == "lossless" else profile.bitrates
    bitrate = file.figures.bitrate
    # an average over packets may be slightly below the rate in their headers
    is_right = bitrates is None or 0.98 * bitrates[0] <= bitrate <= 1.02 * bitrates[1]
    return f"{bitrate} kbit/s", _format_span(bitrates, "kbit/s"), is_right


def _bitrate_mode(file: MeasuredFile, profile: Profile) -> Result:
    """Holds the kind of bitrate of a file to a profile."""
    mode, note = file.figures.bitrate_mode, file.figures.bitrate_note
    is_known = mode in ("constant", "variable")  # AAC and Opus do not state it
    demand = profile.bitrate_mode if is_known else None
    return f"{mode}, {note}" if note else mode, demand or "", demand in (None, mode)


def _channels(file: MeasuredFile, profile: Profile) -> Result:
    """Holds the number of channels of a file to a profile."""
    channels = file.figures.channels
    if profile.channels is None and profile.alike:
        first_channels = file.first_figures.channels
        is_right = channels in (1, 2) and channels == first_channels
        return str(channels), f"{first_channels} as in the first", is_right
    demand = "1 or 2" if profile.channels is None else str(profile.channels)
    return str(channels), demand, channels in (profile.channels or 1, profile.channels or 2)


EXPECTED_SHARE = 0.75
"""Share of the expected length: chapters that are too long, or samples that are too short, by this
margin are refused."""


def _length_problems(book: PlannedBook, profile: Profile) -> Iterator[Problem]:
    """Yields chapters that are clearly too long for a file."""
    pauses = book.project.manifest.pauses
    for chapter in book.chapters:
        minutes = (pauses.head + chapter.speech + pauses.tail) / 60
        if profile.longest is not None and minutes * EXPECTED_SHARE > profile.longest:
            message = (
                f"'{chapter.title}' will last about {minutes:.1f} min, and profile {profile.name} "
                f"takes {profile.longest:g} a file: make two chapters of it"
            )
            line = book.project.line(*book.project.chapter_loc(chapter.number))
            yield Problem(book.project.path, line, message)


def _length(file: MeasuredFile, profile: Profile) -> Result:
    """Holds the length of a file to a profile."""
    seconds, max_minutes = file.figures.seconds, profile.longest
    demand = f"at most {max_minutes:g} min" if max_minutes else ""
    is_right = seconds > 0 and (not max_minutes or seconds <= max_minutes * 60)
    return format_fine_clock(seconds), demand, is_right


def _sample_problems(book: PlannedBook, profile: Profile) -> Iterator[Problem]:
    """Yields a problem for a retail sample that is clearly too short."""
    if profile.sample is None:
        return
    project, pauses = book.project, book.project.manifest.pauses
    sample = project.manifest.output.sample or Sample()
    number = chapter_number(project, sample.chapter) - 1
    chapter = next((shape for shape in book.chapters if shape.number == number), None)
    if chapter is None:
        return  # it has nothing to say
    available_seconds = pauses.head + chapter.speech - max(sample.start, pauses.head)
    seconds, min_seconds = max(0.0, available_seconds) + 3 * SAMPLE_LEAD, profile.sample[0]
    if seconds < min_seconds * EXPECTED_SHARE:
        message = (
            f"output.sample: '{chapter.title}' gives about {seconds:.0f} s from {sample.start:g} s "
            f"on, of {min_seconds:g} s that profile {profile.name} asks for; choose another "
            "chapter, start or length"
        )
        yield Problem(project.path, project.line("output", "sample"), message)


# -- names, tags, covers, marks --------------------------------------------------------------------


def _name_problems(book: PlannedBook, profile: Profile) -> Iterator[Problem]:
    """Yields a problem for two files of a book that would have one name."""
    titles = [chapter.title for chapter in book.project.chapters]
    try:
        export.check_names(titles, book.project.facts, profile)
    except UserError as error:
        yield book.problem(str(error), "output")


def _tags(file: MeasuredFile, profile: Profile) -> Result:
    """Holds the tags of a file to a profile."""
    tags = file.figures.tags
    missing = [name for name in profile.tags if not tags.get(name)]
    present = [name for name in ("title", "album", "artist") if tags.get(name)]
    figure = f"no {', '.join(missing)}" if missing else ", ".join(present) or "none"
    return figure, ", ".join(profile.tags), not missing


def _origin(file: MeasuredFile, profile: Profile) -> Result:
    """Holds the mark of a file's origin to the one that it was made with, and to IPTC's
    vocabulary."""
    mark = provenance.read_mark(file.figures.tags)
    demand = provenance.describe(file.mark) if file.mark else ""
    if mark and not demand and not provenance.source_type(mark):
        demand = f"a term of {provenance.VOCABULARY}"
        return provenance.describe(mark), demand, False
    return provenance.describe(mark), demand, not file.mark or mark == dict(file.mark)


def _credentials(file: MeasuredFile, profile: Profile) -> Result:
    """Holds the content credentials of a file to its bytes."""
    figure, is_intact = credentials.read_credentials(file.figures.path)
    demand = "signed and intact" if file.is_signed or not is_intact else ""
    return figure, demand, is_intact and not (file.is_signed and figure == "none")


def _cover_problems(book: PlannedBook, profile: Profile) -> Iterator[Problem]:
    """Yields a cover that cannot be read, is too small, or is missing."""
    cover = book.project.manifest.cover
    if not cover:
        if profile.cover:
            message = f"profile {profile.name} asks for a cover: set `cover`"
            yield book.problem(message, "output", "profile")
        return
    path = book.project.root / cover
    try:
        export.fit_cover(
            export.read_cover(path), path, square=profile.cover_square, pixels=profile.cover_pixels
        )
    except UserError as error:
        yield book.problem(str(error), "cover")


def _cover(file: MeasuredFile, profile: Profile) -> Result:
    """Holds the cover of a file to a profile."""
    cover, pixels = file.figures.cover, profile.cover_pixels
    demands = [
        "a cover" if profile.cover else "",
        "square" if profile.cover_square else "",
        _format_span(pixels, "pixels"),
    ]
    demand = ", ".join(filter(None, demands))
    if cover is None:
        return "none", demand, not profile.cover
    width, height = cover
    is_right = (not profile.cover_square or width == height) and (
        pixels is None or pixels[0] <= max(cover) <= pixels[1]
    )
    return f"{width}x{height}", demand, is_right


def _marks(file: MeasuredFile, profile: Profile) -> Result:
    """Holds the chapter marks of a file to a profile."""
    marks, faults = file.figures.marks, list(_mark_faults(file.figures))
    count = f"{len(marks)} marks" if len(marks) != 1 else "1 mark"
    return (
        "; ".join([count, *faults[:1]]),
        "in order, within the file" if profile.marks or marks else "",
        not faults and (bool(marks) or not profile.marks),
    )


def _mark_faults(file: FileFigures) -> Iterator[str]:
    """Yields faults of chapter marks: numbers, order, times outside the file."""
    yield from _numbering_faults([mark.title for mark in file.marks])
    last_start = -1.0
    for number, mark in enumerate(file.marks, 1):
        if mark.start <= last_start:
            yield f"mark {number} at {format_fine_clock(mark.start)} is not after the one before"
        if not 0 <= mark.start < file.seconds:
            yield f"mark {number} at {format_fine_clock(mark.start)} lies outside the file"
        last_start = mark.start


_NUMBERED_TITLE = re.compile(
    r"(?:(chapter|part|section|book|episode|track|kapitel|teil|chapitre|partie|cap[ií]tulo|parte|"
    r"capitolo|hoofdstuk|deel)\s+)?([0-9]{1,3})(?![0-9])(?(1)|\s*(?:$|[.:)–—-]))",
    re.IGNORECASE,
)


def _numbering_faults(titles: Sequence[str]) -> Iterator[str]:
    """Yields gaps and repetitions in titles that count ("Chapter 2", "Chapter 4"), where most
    titles do."""
    matches = [_NUMBERED_TITLE.match(title) for title in titles]
    steps = [
        (earlier[0], later[0], int(later[2]) - int(earlier[2]))
        for earlier, later in pairwise(matches)
        if earlier and later and (earlier[1] or "").casefold() == (later[1] or "").casefold()
    ]
    gaps = [(earlier, later) for earlier, later, step in steps if step == 0 or 1 < step < 10]
    if sum(step == 1 for _, _, step in steps) >= max(2, 2 * len(gaps)):
        yield from (f"'{earlier}' is followed by '{later}'" for earlier, later in gaps)


# -- silence and faults ----------------------------------------------------------------------------


def _silence_problems(book: PlannedBook, profile: Profile) -> Iterator[Problem]:
    """Yields digital silences, pauses without music and room tone, that are too long."""
    if profile.gap is None or profile.room_tone is not None:
        return
    for seconds, pause_name, utterance in _silences(book, is_joined=profile.has_book_files):
        # takes begin and end with a little silence
        if seconds > profile.gap - SILENCE_MARGIN:
            pause = f"pauses.{pause_name}" if pause_name else "the [pause]"
            message = (
                f"{seconds:g} s of digital silence, and profile {profile.name} takes "
                f"{profile.gap:g}: shorten {pause}, or deliver to a profile of your own with "
                f"`room_tone: {ROOM_TONE:g}`"
            )
            if pause_name:
                yield book.problem(message, "pauses", pause_name)
            else:
                yield _problem_at(utterance, message)


def _silences(book: PlannedBook, *, is_joined: bool) -> Iterator[tuple[float, str, Utterance]]:
    """Yields seconds, name and utterance of each pause without music: within chapters and, where
    they are joined to one file, between them."""
    for chapter in book.chapters:
        if "under" not in book.music_parts(chapter):
            for utterance, (seconds, name) in zip(chapter.spoken, chapter.pauses, strict=False):
                yield seconds, name, utterance
    pauses = book.project.manifest.pauses
    for chapter, following in pairwise(book.chapters) if is_joined else ():
        has_outro = "tail" in book.music_parts(chapter)
        has_intro = "head" in book.music_parts(following)
        tail_seconds = chapter.rest if has_outro else max(pauses.tail, chapter.rest)
        head_seconds = 0.0 if has_intro else pauses.head + following.lead
        pause_name = "" if chapter.rest > pauses.tail or following.lead else "tail"
        is_before = following.lead > chapter.rest
        yield (
            tail_seconds + head_seconds,
            pause_name,
            following.spoken[0] if is_before else chapter.spoken[-1],
        )


def _gaps(file: MeasuredFile, profile: Profile) -> Result:
    """Holds the longest digital silence of a file to a profile."""
    gap, limit = file.figures.gap, profile.gap
    demand = "" if limit is None else f"at most {limit:g} s digital silence"
    return (
        _with_place(f"{gap:.2f} s", gap, file.figures.gap_at),
        demand,
        limit is None or gap <= limit,
    )


def _with_place(figure: str, amount: float, at_seconds: float, link: str = " at") -> str:
    """Appends the place of a fault to its figure; leaves it out where the `amount` is 0."""
    return f"{figure}{link} {format_fine_clock(at_seconds)}" if amount else figure


def _clipping(file: MeasuredFile, profile: Profile) -> Result:
    """Holds clipped samples and flat tops of a file to a profile."""
    clipped, flat = file.figures.clipped, file.figures.flat
    figure = _with_place(f"{clipped} clipped runs", clipped, file.figures.clipped_at, ", first")
    if flat:
        figure += f", {flat} flat tops of lower level"
        figure = _with_place(figure, flat, file.figures.flat_at, ", first")
    return figure, "none", not clipped and not flat


QUIET = 10.0
"""Seconds without speech or music that no book has, unless its manuscript says so."""


def _quiet(file: MeasuredFile, profile: Profile) -> Result:
    """Holds the longest stretch without speech and music of a file to a profile."""
    quiet, max_quiet = file.figures.quiet, max(QUIET, file.longest_pause + 1)
    figure = _with_place(f"{quiet:.1f} s", quiet, file.figures.quiet_at)
    return figure, f"at most {max_quiet:g} s without speech or music", quiet <= max_quiet


def _repeats(file: MeasuredFile, profile: Profile) -> Result:
    """Holds passages that come twice of a file to a profile."""
    repeats = file.figures.repeats
    figure = f"{len(repeats)} passages twice in a row"
    if repeats:
        figure += f", first {repeats[0][1]:.2f} s at {format_fine_clock(repeats[0][0])}"
    return figure, "none", not repeats


def _hole(file: MeasuredFile, profile: Profile) -> Result:
    """Holds holes in room tone of a file to a profile."""
    is_gap = profile.gap is not None and file.figures.gap > profile.gap  # reported as such
    hole = None if is_gap else meters.longest_hole(file.figures.levels)
    figure = f"{hole[0]:.1f} s at {format_fine_clock(hole[1])}" if hole else "none"
    return figure, "no digital silence in a recording with room tone", hole is None


def _decoding(file: MeasuredFile, profile: Profile) -> Result:
    """Holds what cannot be decoded of a file to a profile."""
    figures = file.figures
    figure = (
        f"{figures.damaged} damaged packets, {figures.missing:.2f} s shorter than its header says"
    )
    if figures.invalid:
        figure += f", {figures.invalid} samples are not numbers"
    if figures.changes:
        figure += f", rate or channels change {figures.changes} times"
    # some containers count the padding of lossy coders: a packet or two is no loss
    padding = 0.15 if figures.bitrate_mode == "unknown" else 0.001
    is_damaged = bool(figures.damaged or figures.invalid or figures.changes)
    demand = f"none damaged, at most {padding:g} s shorter"
    return figure, demand, not is_damaged and figures.missing < padding


# -- the table -------------------------------------------------------------------------------------

RULES = (
    Rule("loudness", postflight=_within(
        lambda file: file.loudness.integrated, lambda profile: _level_span(profile, "LUFS"), "LUFS"
    )),
    Rule("RMS", postflight=_within(
        lambda file: file.loudness.rms, lambda profile: _level_span(profile, "RMS"), "dB"
    )),
    Rule("peak", postflight=_at_most(
        lambda file: file.loudness.peak, lambda profile: profile.peak, "dB"
    )),
    Rule("true peak", postflight=_at_most(
        lambda file: file.loudness.true_peak, lambda profile: profile.true_peak, "dBTP"
    )),
    Rule("noise floor", postflight=_at_most(
        lambda file: file.noise_floor, lambda profile: profile.noise_floor, "dB RMS"
    )),
    Rule("music", _music_problems),
    Rule("head", _edge_problems("head"), _within(
        lambda file: file.head, lambda profile: profile.head, "s", digits=2
    )),
    Rule("tail", _edge_problems("tail"), _within(
        lambda file: file.tail, lambda profile: profile.tail, "s", digits=2
    )),
    Rule("room tone", postflight=_room_tone),
    Rule("codec", _coding_problems, _codec),
    Rule("sample rate", postflight=_sample_rate),
    Rule("bitrate", postflight=_bitrate),
    Rule("bitrate mode", postflight=_bitrate_mode),
    Rule("channels", postflight=_channels),
    Rule("length", _length_problems, _length),
    Rule("retail sample", _sample_problems),
    Rule("file names", _name_problems),
    Rule("tags", postflight=_tags),
    Rule("origin", postflight=_origin),
    Rule("credentials", postflight=_credentials),
    Rule("cover", _cover_problems, _cover),
    Rule("chapter marks", postflight=_marks),
    Rule("gaps", _silence_problems, _gaps),
    Rule("clipping", postflight=_clipping),
    Rule("quiet", postflight=_quiet),
    Rule("repeats", postflight=_repeats),
    Rule("hole", postflight=_hole),
    Rule("decoding", postflight=_decoding),
)  # fmt: skip
"""All demands, in the order of reports."""
