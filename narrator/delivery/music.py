"""Plans music before, after and under the words of a chapter: position, level and fades.

Loudness: a file is measured once as a whole (ITU-R BS.1770), and lies `gain` LU above the speech of
the book, whatever its own level. By default all music is 20 dB under words: WCAG 2.2, criterion
1.4.7. Words are known from the timeline, so music is ducked before they come, and stays down in the
pauses between them.

Speech is not touched: a mixed block is the speech plus the music. Files are streamed anew at every
use, so memory does not grow with their length. Knows nothing of takes, stores and encoders.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import av

from narrator import files, keys
from narrator.errors import ManifestError, Problem, nearest
from narrator.project.project import Project
from narrator.project.schema import Music
from narrator.quantities import pluralize
from narrator.sound import media
from narrator.sound.assemble import Timeline, TimelineItem
from narrator.sound.audio import FADE, decode_frames
from narrator.sound.loudness import SILENT_LUFS, STEREO_GAIN, measure
from narrator.sound.mix import Layer, Tune, as_unfit, seconds_to_samples
from narrator.speech.plan import Utterance
from narrator.text import slips
from narrator.text.lines import Chapter, Line, MusicMark
from textbase.characters import excerpt
from textbase.files import Unfit


@dataclass(frozen=True, slots=True)
class _Defaults:
    """Settings of music where the manifest has none."""

    gain: float
    """LU above speech, between words."""
    duck: float
    """dB by which it is lowered under words."""
    fade_in: float = 0.0
    fade_out: float = 0.0
    """Seconds."""


_DEFAULTS = {
    "intro": _Defaults(-3.0, 17.0),
    "outro": _Defaults(-3.0, 17.0),
    "bed": _Defaults(-14.0, 6.0, fade_in=2.0, fade_out=3.0),
}
SEAM = 0.02
"""Seconds of the crossfade from the end of a loop into its beginning: no click, and no audible
shift of the beat."""
LONGEST_EDGE_MUSIC = 180.0
"""Most seconds of an intro or outro; a longer one is probably the wrong file."""


def measure_tunes(
    project: Project, on_progress: Callable[[int, int], None] | None = None
) -> tuple[Tune, ...]:
    """Measures the file of each music entry of the manifest.

    Measurements are kept in `build`; an hour of music takes some seconds the first time.
    `on_progress` receives the number of measured entries and of all. Raises ManifestError,
    StorageError.
    """
    tunes_by_path: dict[Path, Tune] = {}
    problems: list[Problem] = []
    entries = project.manifest.music
    for number, entry in enumerate(entries):
        path = project.root / entry.file
        if on_progress:
            on_progress(number, len(entries))
        try:
            tune = tunes_by_path.get(path) or _measure_tune(path, project.build / "music")
        except Unfit as error:
            problems.append(problem_of(project, f"{entry.file}: {error}", number, "file"))
            continue
        tunes_by_path[path] = tune
        if fault := _length_fault(entry, tune.seconds):
            problems.append(problem_of(project, fault, number))
    if problems:
        raise ManifestError(problems)
    return tuple(tunes_by_path[project.root / entry.file] for entry in entries)


def _measure_tune(path: Path, cache_folder: Path) -> Tune:
    """Measures a file, or loads its measurements from `cache_folder`. Raises Unfit."""
    with as_unfit(path):
        content = keys.file_content(path)
    cache_file = cache_folder / f"{content}.json"
    cached = files.load_json(cache_file, dict[str, Any], {})  # missing or damaged: measured again
    if cached.keys() >= set(_MEASURED):
        return Tune(path, content, **{name: cached[name] for name in _MEASURED})
    with as_unfit(path), media.open_sound(path) as container:
        stream = container.streams.audio[0]
        rate, channels = stream.rate, min(2, stream.channels)
        measured = measure(decode_frames(container, mono=False), rate, true_peak=False)
    if measured.integrated <= SILENT_LUFS:
        raise Unfit("is silent, or shorter than 0.4 s")
    length = round(measured.seconds * rate)
    tune = Tune(path, content, rate, channels, length, measured.integrated)
    measurements = {name: getattr(tune, name) for name in _MEASURED}
    files.save_json(cache_file, measurements)
    return tune


_MEASURED = ("rate", "channels", "length", "loudness")


def _length_fault(entry: Music, seconds: float) -> str | None:
    """Describes a setting of an entry that does not fit the length of its file."""
    played_seconds = min(seconds, entry.seconds or seconds)
    if entry.seconds is not None and entry.seconds > seconds and not entry.loop:
        return f"`seconds: {entry.seconds:g}`, but {entry.file} lasts {seconds:.1f} s"
    if entry.place != "bed" and played_seconds > LONGEST_EDGE_MUSIC:
        return (
            f"an {entry.place} of {played_seconds / 60:.1f} min, which is longer than "
            f"{LONGEST_EDGE_MUSIC / 60:g} min: set `seconds`, or make it a bed"
        )
    if entry.overlap > played_seconds:
        return f"`overlap: {entry.overlap:g}`, but the music lasts {played_seconds:.1f} s"
    if entry.loop is not True and 2 * entry.loop > played_seconds:
        return (
            f"`loop: {entry.loop:g}` is more than half of the {played_seconds:.1f} s "
            "that it repeats"
        )
    return None


def problem_of(project: Project, message: str, number: int, *loc: str) -> Problem:
    """Returns a problem of a music entry of the manifest."""
    return Problem(
        project.path, project.line("music", number, *loc), f"music[{number + 1}]: {message}"
    )


def problems(project: Project, chapters: Sequence[Chapter]) -> list[Problem]:
    """Returns the problems of the manifest's music; reads only the headers of files."""
    problems: list[Problem] = []
    titles = [chapter.title for chapter in chapters]
    first_entries: dict[tuple[str, int], int] = {}
    for number, entry in enumerate(project.manifest.music):
        problems += _file_problems(project, entry, number)
        problems += _place_problems(project, entry, number, chapters)
        for chapter in chapters_of(entry, titles) if entry.place != "bed" else ():
            first_number = first_entries.setdefault((entry.place, chapter), number)
            if first_number != number:
                message = (
                    f"chapter {chapter + 1} has an {entry.place} already, music[{first_number + 1}]"
                )
                problems.append(problem_of(project, f"{message}; set `chapters`", number))
    return [*problems, *_credits_problems(project)]


def _file_problems(project: Project, entry: Music, number: int) -> Iterator[Problem]:
    """Yields problems of an entry's file."""
    try:
        seconds = header_of(project.root / entry.file)
    except Unfit as error:
        yield problem_of(project, f"{entry.file}: {error}", number, "file")
        return
    if entry.place != "bed" and seconds and (fault := _length_fault(entry, seconds)):
        yield problem_of(project, fault, number)


def _place_problems(
    project: Project, entry: Music, number: int, chapters: Sequence[Chapter]
) -> Iterator[Problem]:
    """Yields problems of chapters and scenes that the book does not have."""
    titles = [chapter.title for chapter in chapters]
    for index, name in enumerate(entry.chapters):
        if _find_chapter(name, titles) is None:
            guess = nearest(name, titles)
            hint = f"did you mean '{guess}'?" if guess else f"1 to {len(titles)}, or a title"
            line = project.line("music", number, "chapters", index)
            message = f"music[{number + 1}]: no chapter '{excerpt(name)}'; {hint}"
            yield Problem(project.path, line, message)
    for chapter in chapters_of(entry, titles):
        scene_count = len(chapters[chapter].scenes)
        if entry.scene is not None and entry.scene > scene_count:
            message = f"chapter {chapter + 1}, '{titles[chapter]}', has no scene {entry.scene}"
            count = pluralize(scene_count, "scene")
            yield problem_of(project, f"{message}, only {count}", number, "scene")


def _credits_problems(project: Project) -> Iterator[Problem]:
    """Yields problems of music marks in credits."""
    credits = project.manifest.credits
    for key in ("opening", "closing"):
        text = (getattr(credits, key) if credits else None) or ""
        if mark := re.search(r"(?<!\\)\[music:[^\[\]]*\]?", text, re.IGNORECASE):
            message = f"credits.{key}: no music plays under credits: leave {mark[0]} out"
            yield Problem(project.path, project.line("credits", key), message)


def header_of(path: Path) -> float | None:
    """Returns the seconds that a file's header states, if it does. Raises Unfit."""
    with as_unfit(path), media.open_sound(path) as container:
        return container.duration / av.time_base if container.duration else None


def drop_unplayable_marks(project: Project, chapter: Chapter) -> Chapter:
    """Returns the chapter without music marks that cannot be followed; those become slips."""
    names = {
        entry.name.casefold(): entry.name
        for entry in project.manifest.music
        if entry.name is not None
    }
    judged_marks = list(_judge_marks(chapter, names))
    if all(fault is None for _, _, fault in judged_marks):
        return chapter
    is_playable = iter(fault is None for _, _, fault in judged_marks)  # of every mark in order
    scenes = (
        replace(scene, lines=tuple(
            replace(line, marks=tuple(mark for mark in line.marks if next(is_playable)))
            for line in scene.lines
        ))
        for scene in chapter.scenes
    )  # fmt: skip
    return replace(
        chapter, scenes=tuple(scenes), slips=(*chapter.slips, *_ignored_slips(judged_marks))
    )


_JudgedMark = tuple[Line, MusicMark, str | None]
"""A mark, its line, and its fault or None."""


def _judge_marks(chapter: Chapter, names: Mapping[str, str]) -> Iterator[_JudgedMark]:
    """Yields the marks of a chapter in order, each with its fault."""
    lines = [line for scene in chapter.scenes for line in scene.lines]
    spoken_lines = [
        line for line in lines if any(map(str.isalnum, line.text)) and not line.with_before
    ]
    is_playing = False
    for line in lines:
        for mark in line.marks:
            fault = _mark_fault(mark, names, is_playing)
            if (
                not fault
                and mark.name
                and line is spoken_lines[-1]
                and mark.offset >= len(line.text)
            ):
                fault = "is ignored: no words come after it in this chapter"
            if not fault:
                is_playing = mark.name is not None
            yield line, mark, fault


def _ignored_slips(judged_marks: Iterable[_JudgedMark]) -> Iterator[slips.Slip]:
    """Yields slips for marks with a fault, but for the end mark of ignored music."""
    ends_ignored = False
    for line, mark, fault in judged_marks:
        if fault and (mark.name or not ends_ignored):
            yield slips.Slip(f"[music: {mark.name or 'off'}]", fault, line.path, mark.number)
        ends_ignored = fault is not None and mark.name is not None


def _mark_fault(mark: MusicMark, names: Mapping[str, str], is_playing: bool) -> str | None:
    """Returns the fault of a mark; `is_playing` tells whether music plays there."""
    if mark.name is None:
        return None if is_playing else "is ignored: no music is on here"
    if mark.name.casefold() in names:
        return None
    guess = nearest(mark.name, list(names.values()))
    hint = f"did you mean “{guess}”?" if guess else "give a bed this `name`"
    message = f"is ignored: no music is called “{excerpt(mark.name)}”; {hint}"
    return f"{message} ({slips.AS_TEXT})"


def _find_chapter(name: str, titles: Sequence[str]) -> int | None:
    """Returns a chapter, counted from 0, by its number or title."""
    if name.isdecimal() and len(name) < 6 and 1 <= int(name) <= len(titles):
        return int(name) - 1
    folded_titles = [title.casefold() for title in titles]
    return folded_titles.index(name.casefold()) if name.casefold() in folded_titles else None


def chapters_of(entry: Music, titles: Sequence[str]) -> list[int]:
    """Returns the chapters of an entry that the manifest places; none for music that the script
    calls."""
    if entry.name is not None:
        return []
    if entry.chapters:
        numbers = {_find_chapter(name, titles) for name in entry.chapters}
        return sorted(number for number in numbers if number is not None)
    last_chapter = len(titles) - 1
    return {"intro": [0], "outro": [last_chapter], "bed": list(range(len(titles)))}[entry.place]


@dataclass(frozen=True, slots=True)
class MusicUse:
    """A music entry of the manifest in a chapter, with its tune."""

    entry: Music
    tune: Tune

    def length(self, rate: int) -> int:
        """Returns the length of one pass in samples."""
        length, seconds = self.tune.samples(rate), self.entry.seconds
        return length if seconds is None else min(length, seconds_to_samples(seconds, rate))

    def setting(self, name: Literal["gain", "duck", "fade_in", "fade_out"]) -> float:
        """Returns a setting of the entry, or its default."""
        setting: float | None = getattr(self.entry, name)
        default: float = getattr(_DEFAULTS[self.entry.place], name)
        return default if setting is None else setting


def chapter_music(
    project: Project, measured: Sequence[Tune], titles: Sequence[str], chapter: int
) -> tuple[MusicUse, ...]:
    """Returns the music of a chapter, counted from 0.

    `measured` is the result of `measure_tunes`.
    """
    return tuple(
        MusicUse(entry, tune)
        for entry, tune in zip(project.manifest.music, measured, strict=True)
        if entry.name is not None or chapter in chapters_of(entry, titles)
    )


def head_seconds(music_uses: Sequence[MusicUse], rate: int, min_seconds: float) -> float:
    """Returns the seconds before a chapter's first word that its intro needs, at least
    `min_seconds`."""
    return max([min_seconds, *_edge_seconds(music_uses, "intro", rate, pause_seconds=0.0)])


def tail_seconds(
    music_uses: Sequence[MusicUse], rate: int, min_seconds: float, pause_seconds: float
) -> float:
    """Returns the seconds after a chapter's last word that its outro needs, at least `min_seconds`.

    `pause_seconds` were set by hand after the last word; the outro waits for them.
    """
    return max([min_seconds, *_edge_seconds(music_uses, "outro", rate, pause_seconds)])


def _edge_seconds(
    music_uses: Sequence[MusicUse], place: str, rate: int, pause_seconds: float
) -> Iterator[float]:
    """Yields the seconds that music at an edge needs beside the words, exact to the sample."""
    for use in music_uses:
        if use.entry.place == place:
            overlap = seconds_to_samples(use.entry.overlap, rate)
            yield (use.length(rate) - overlap + seconds_to_samples(pause_seconds, rate)) / rate


def place_music(
    music_uses: Sequence[MusicUse],
    utterances: Sequence[Utterance],
    timeline: Timeline,
    level: float,
) -> tuple[Layer, ...]:
    """Places the music of a chapter on its timeline, which was planned with `head` and `tail`.

    `utterances` are heard one after the other; `level` is that of the book's speech in LUFS.
    """
    layers = []
    for use in music_uses:
        for start, stop in _piece_spans(use, utterances, timeline):
            if stop > start:
                layers.append(_layer(use, start, stop, timeline.sample_rate, level))
    return tuple(layers)


def _layer(use: MusicUse, start: int, stop: int, rate: int, level: float) -> Layer:
    """Returns the layer of a use between two samples of the timeline."""
    entry, tune = use.entry, use.tune
    seam_seconds = SEAM if entry.loop is True else float(entry.loop)
    fade_in, fade_out = (
        # long enough that neither a file's edge nor a cut clicks
        min(seconds_to_samples(max(seconds, FADE), rate), stop - start)
        for seconds in (use.setting("fade_in"), use.setting("fade_out"))
    )
    return Layer(
        tune=tune,
        start=start,
        stop=stop,
        length=use.length(rate),
        seam=None if entry.loop is False else seconds_to_samples(seam_seconds, rate),
        gain=level
        + (STEREO_GAIN if tune.channels == 2 else 0.0)
        + use.setting("gain")
        - tune.loudness,
        duck=use.setting("duck"),
        attack=seconds_to_samples(max(entry.attack, FADE), rate),
        release=seconds_to_samples(max(entry.release, FADE), rate),
        fade_in=fade_in,
        fade_out=fade_out,
    )


def _piece_spans(
    use: MusicUse, utterances: Sequence[Utterance], timeline: Timeline
) -> Iterator[tuple[int, int]]:
    """Yields start and stop, in samples, of each stretch in which a use plays."""
    entry, rate, cues = use.entry, timeline.sample_rate, timeline.heard
    length = use.length(rate)
    if entry.place == "intro":
        yield 0, min(length, timeline.length)
    elif entry.place == "outro":
        pause = seconds_to_samples(utterances[-1].chunk.pause_after_s or 0.0, rate)
        start = max(0, cues[-1].stop + pause - seconds_to_samples(entry.overlap, rate))
        yield start, min(start + length, timeline.length)
    else:
        fade_in = seconds_to_samples(use.setting("fade_in"), rate)
        fade_out = seconds_to_samples(use.setting("fade_out"), rate)
        for word_start, word_stop in _bed_spans(entry, utterances, timeline, fade_in):
            start, stop = max(0, word_start - fade_in), min(timeline.length, word_stop + fade_out)
            yield start, min(stop, start + length) if entry.loop is False else stop


def _bed_spans(
    entry: Music, utterances: Sequence[Utterance], timeline: Timeline, fade_in: int
) -> list[tuple[int, int]]:
    """Returns, for each stretch of a bed, where it has faded in and where it begins to fade out."""
    cues = timeline.heard
    if entry.name is None:
        scene_numbers = [utterance.scene - utterances[0].scene + 1 for utterance in utterances]
        scene_cues = [
            cue
            for cue, scene in zip(cues, scene_numbers, strict=True)
            if entry.scene in (None, scene)
        ]
        return [(scene_cues[0].start, scene_cues[-1].stop)] if scene_cues else []
    spans = []
    bed_start: int | None = None
    chapter_end = cues[-1].stop
    for fade_in_end, fade_out_start, name in [
        *_mark_times(utterances, timeline, fade_in),
        (chapter_end, chapter_end, None),
    ]:
        if bed_start is not None and fade_out_start > bed_start:
            spans.append((bed_start, fade_out_start))
        bed_start = (
            fade_in_end if name is not None and name.casefold() == entry.name.casefold() else None
        )
    return spans


def _mark_times(
    utterances: Sequence[Utterance], timeline: Timeline, fade_in: int
) -> Iterator[tuple[int, int, str | None]]:
    """Yields for each mark of a chapter where music that begins there has faded in, where music
    that ends there begins to fade out, and the mark's name.

    Between words, music has faded in when the next words come; before a pause set by hand it fades
    in within that pause. It fades out after the last words, and after a pause that stands before
    the mark.
    """
    rate, previous_stop = timeline.sample_rate, timeline.cues[0].start
    for utterance, cue in zip(utterances, timeline.heard, strict=True):
        for mark, share in utterance.chunk.marks:
            words_end, words_start = _words_around(cue, share)
            fade_in_end = (
                words_start - seconds_to_samples(mark.after, rate) + fade_in
                if mark.after
                else words_start
            )
            fade_out_start = previous_stop if share == 0 else words_end
            yield fade_in_end, fade_out_start + seconds_to_samples(mark.before, rate), mark.name
        previous_stop = cue.stop


def _words_around(cue: TimelineItem, share: float) -> tuple[int, int]:
    """Returns the samples at which the words before a mark end and those after it begin.

    The mark stands after `share` of the cue's text. Where the words beside it are not timed, its
    position follows from the share.
    """
    position = cue.start + round(share * (cue.stop - cue.start))
    if not (cue.words and 0 < share < 1):
        return position, position
    text_offset = round(share * len(cue.text))
    number = bisect_left(cue.words, text_offset, key=lambda word: word[0])
    _, previous_word_end, _, earliest = cue.words[number - 1] if number else (0, 0, 0, cue.start)
    next_word_start, _, latest, _ = (*cue.words, (len(cue.text), 0, cue.stop, 0))[number]
    position = min(max(position, earliest), latest)
    words_end = (
        position if any(map(str.isalnum, cue.text[previous_word_end:text_offset])) else earliest
    )
    return words_end, position if any(
        map(str.isalnum, cue.text[text_offset:next_word_start])
    ) else latest


# -- before anything is spoken ---------------------------------------------------------------------

Part = Literal["head", "tail", "under", "whole"]
"""Positions of music in a chapter: before its first word, after its last, somewhere between them,
all through it."""


def parts(
    project: Project, utterances: Mapping[int, Sequence[Utterance]]
) -> list[dict[int, set[Part]]]:
    """Returns where each music entry sounds, as far as the text tells, by the numbers of chapters.

    `utterances` holds those of each chapter with text, by its number from 0.
    """
    titles = [project.chapters[number].title for number in project.numbered]
    return [
        {
            number: _entry_parts(project, entry, utterances[number])
            for index, number in enumerate(project.numbered)
            if number in utterances
            and (entry.name is not None or index in chapters_of(entry, titles))
        }
        for entry in project.manifest.music
    ]


def _entry_parts(project: Project, entry: Music, utterances: Sequence[Utterance]) -> set[Part]:
    """Returns where an entry's music sounds in a chapter."""
    if entry.name is not None:
        return _called_bed_parts(project, entry, utterances)
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
