"""Music before, after and under the words of a chapter: where it lies, how loud, and the mix.

Loudness: a file is measured once (ITU-R BS.1770, all of it), and lies `gain` LU above the speech of
the book, whatever it was made at. By default all music is 20 dB under words: WCAG 2.2, criterion
1.4.7. When there are words is known from the timeline, so music has stepped back before they come,
and does not come up in the pauses between them.

Speech is not touched: a mixed block is the speech plus the music. Files are streamed, at every use
anew, so memory does not grow with their length. Knows nothing of takes, stores and encoders.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import av

from narrator import files, keys
from narrator.characters import quoted
from narrator.errors import ManifestError, Problem, nearest
from narrator.project.project import Project
from narrator.project.schema import Music
from narrator.sound import media
from narrator.sound.assemble import Cue, Timeline
from narrator.sound.audio import FADE, decoded
from narrator.sound.loudness import BOTH, measure
from narrator.sound.media import Unfit
from narrator.sound.mix import Layer, Tune, readable, seconds_to_samples
from narrator.speech.plan import Utterance
from narrator.text import slips
from narrator.text.lines import Chapter, Line, MusicMark

GAIN = {"intro": -3.0, "outro": -3.0, "bed": -14.0}
"""LU above speech, while nobody speaks."""
DUCK = {"intro": 17.0, "outro": 17.0, "bed": 6.0}
"""dB less under words."""
FADE_IN = {"intro": 0.0, "outro": 0.0, "bed": 2.0}
FADE_OUT = {"intro": 0.0, "outro": 0.0, "bed": 3.0}
"""Seconds."""
SEAM = 0.02
"""Seconds in which the end of a loop fades over into its beginning: no click, and no beat is moved
by more than is heard."""
LONGEST = 180.0
"""Seconds of an intro or outro; a longer one is the wrong file."""


def tunes(
    project: Project, on_progress: Callable[[int, int], None] | None = None
) -> tuple[Tune, ...]:
    """The file of each entry of the manifest, measured.

    What was measured before is kept in `build`; an hour of music takes some seconds the first time.
    `on_progress` hears how many of how many are. Raises ManifestError, StorageError.
    """
    found: dict[Path, Tune] = {}
    problems: list[Problem] = []
    entries = project.manifest.music
    for number, entry in enumerate(entries):
        path = project.root / entry.file
        if on_progress:
            on_progress(number, len(entries))
        try:
            tune = found.get(path) or _tune(path, project.build / "music")
        except Unfit as error:
            problems.append(problem_of(project, f"{entry.file}: {error}", number, "file"))
            continue
        found[path] = tune
        if fault := _fault(entry, tune.seconds):
            problems.append(problem_of(project, fault, number))
    if problems:
        raise ManifestError(problems)
    return tuple(found[project.root / entry.file] for entry in entries)


def _tune(path: Path, kept: Path) -> Tune:
    with readable(path):
        content = keys.file_content(path)
    notes = kept / f"{content}.json"
    facts = files.load_json(notes, None)  # not there, or torn: measured again
    if isinstance(facts, dict) and facts.keys() >= set(_MEASURED):
        return Tune(path, content, **{name: facts[name] for name in _MEASURED})
    with readable(path), media.sound(path) as container:
        stream = container.streams.audio[0]
        rate, channels = stream.rate, min(2, stream.channels)
        measured = measure(decoded(container, mono=False), rate, true_peak=False)
    if measured.integrated <= -70:
        raise Unfit("is silent, or shorter than 0.4 s")
    length = round(measured.seconds * rate)
    tune = Tune(path, content, rate, channels, length, measured.integrated)
    known = {name: getattr(tune, name) for name in _MEASURED}
    files.save_json(notes, known)
    return tune


_MEASURED = ("rate", "channels", "length", "loudness")


def _fault(entry: Music, seconds: float) -> str | None:
    """What of an entry does not go with the length of its file."""
    played = min(seconds, entry.seconds or seconds)
    if entry.seconds is not None and entry.seconds > seconds and not entry.loop:
        return f"`seconds: {entry.seconds:g}`, but {entry.file} lasts {seconds:.1f} s"
    if entry.place != "bed" and played > LONGEST:
        return (
            f"an {entry.place} of {played / 60:.1f} min, which is longer than {LONGEST / 60:g} "
            "min: set `seconds`, or make it a bed"
        )
    if entry.overlap > played:
        return f"`overlap: {entry.overlap:g}`, but the music lasts {played:.1f} s"
    if entry.loop is not True and 2 * entry.loop > played:
        return f"`loop: {entry.loop:g}` is more than half of the {played:.1f} s that it repeats"
    return None


def problem_of(project: Project, message: str, number: int, *loc: str) -> Problem:
    return Problem(
        project.path, project.line("music", number, *loc), f"music[{number + 1}]: {message}"
    )


def problems(project: Project, chapters: Sequence[Chapter]) -> list[Problem]:
    """What is wrong with the manifest's music; of files only the header."""
    problems: list[Problem] = []
    titles = [chapter.title for chapter in chapters]
    taken: dict[tuple[str, int], int] = {}
    for number, entry in enumerate(project.manifest.music):
        problems += _file_problems(project, entry, number)
        problems += _place_problems(project, entry, number, chapters)
        for chapter in chapters_of(entry, titles) if entry.place != "bed" else ():
            first = taken.setdefault((entry.place, chapter), number)
            if first != number:
                what = f"chapter {chapter + 1} has an {entry.place} already, music[{first + 1}]"
                problems.append(problem_of(project, f"{what}; set `chapters`", number))
    return [*problems, *_credits_problems(project)]


def _file_problems(project: Project, entry: Music, number: int) -> Iterator[Problem]:
    try:
        seconds = header_of(project.root / entry.file)
    except Unfit as error:
        yield problem_of(project, f"{entry.file}: {error}", number, "file")
        return
    if entry.place != "bed" and seconds and (fault := _fault(entry, seconds)):
        yield problem_of(project, fault, number)


def _place_problems(
    project: Project, entry: Music, number: int, chapters: Sequence[Chapter]
) -> Iterator[Problem]:
    """Chapters and scenes that the book does not have."""
    titles = [chapter.title for chapter in chapters]
    for i, name in enumerate(entry.chapters):
        if _chapter(name, titles) is None:
            guess = nearest(name, titles)
            hint = f"did you mean '{guess}'?" if guess else f"1 to {len(titles)}, or a title"
            line = project.line("music", number, "chapters", i)
            what = f"music[{number + 1}]: no chapter '{quoted(name)}'; {hint}"
            yield Problem(project.path, line, what)
    for chapter in chapters_of(entry, titles):
        scenes = len(chapters[chapter].scenes)
        if entry.scene is not None and entry.scene > scenes:
            what = f"chapter {chapter + 1}, '{titles[chapter]}', has no scene {entry.scene}"
            count = f"{scenes} scene{'s' * (scenes > 1)}"
            yield problem_of(project, f"{what}, only {count}", number, "scene")


def _credits_problems(project: Project) -> Iterator[Problem]:
    spoken = project.manifest.credits
    for key in ("opening", "closing"):
        text = (getattr(spoken, key) if spoken else None) or ""
        if mark := re.search(r"(?<!\\)\[music:[^\[\]]*\]?", text, re.IGNORECASE):
            what = f"credits.{key}: no music plays under credits: leave {mark[0]} out"
            yield Problem(project.path, project.line("credits", key), what)


def header_of(path: Path) -> float | None:
    """Seconds of a file by its header, where it says. Raises Unfit."""
    with readable(path), media.sound(path) as container:
        return container.duration / av.time_base if container.duration else None


def _names(project: Project) -> Mapping[str, str]:
    """Of music that the script may call, by themselves casefolded."""
    names = (entry.name for entry in project.manifest.music if entry.name is not None)
    return {name.casefold(): name for name in names}


def obeyed(project: Project, chapter: Chapter) -> Chapter:
    """The chapter without the marks that no music can follow, which are slips."""
    judged = list(_judged(chapter, _names(project)))
    if all(matter is None for _, _, matter in judged):
        return chapter
    keep = iter(matter is None for _, _, matter in judged)
    scenes = (
        replace(scene, lines=tuple(
            replace(line, marks=tuple(mark for mark in line.marks if next(keep)))
            for line in scene.lines
        ))
        for scene in chapter.scenes
    )  # fmt: skip
    return replace(chapter, scenes=tuple(scenes), slips=(*chapter.slips, *_ignored(judged)))


_Judged = tuple[Line, MusicMark, str | None]
"""A mark, the line that it stands in, and what is the matter with it."""


def _judged(chapter: Chapter, names: Mapping[str, str]) -> Iterator[_Judged]:
    """The marks of a chapter in order."""
    lines = [line for scene in chapter.scenes for line in scene.lines]
    spoken = [line for line in lines if any(map(str.isalnum, line.text)) and not line.with_before]
    playing = False
    for line in lines:
        for mark in line.marks:
            matter = _matter(mark, names, playing)
            if not matter and mark.name and line is spoken[-1] and mark.at >= len(line.text):
                matter = "is ignored: no words come after it in this chapter"
            if not matter:
                playing = mark.name is not None
            yield line, mark, matter


def _ignored(judged: Iterable[_Judged]) -> Iterator[slips.Slip]:
    """The slips; the end of what is ignored is none."""
    ends = False
    for line, mark, matter in judged:
        if matter and (mark.name or not ends):
            yield slips.Slip(f"[music: {mark.name or 'off'}]", matter, line.path, mark.number)
        ends = matter is not None and mark.name is not None


def _matter(mark: MusicMark, names: Mapping[str, str], playing: bool) -> str | None:
    """What is the matter with a mark, wherever it stands."""
    if mark.name is None:
        return None if playing else "is ignored: no music is on here"
    if mark.name.casefold() in names:
        return None
    guess = nearest(mark.name, list(names.values()))
    hint = f"did you mean “{guess}”?" if guess else "give a bed this `name`"
    what = f"is ignored: no music is called “{quoted(mark.name)}”; {hint}"
    return f"{what} ({slips.AS_TEXT})"


def _chapter(name: str, titles: Sequence[str]) -> int | None:
    """A chapter, counted from 0, by its number or title."""
    if name.isdecimal() and len(name) < 6 and 1 <= int(name) <= len(titles):
        return int(name) - 1
    folded = [title.casefold() for title in titles]
    return folded.index(name.casefold()) if name.casefold() in folded else None


def chapters_of(entry: Music, titles: Sequence[str]) -> list[int]:
    """The chapters of an entry that has them from the manifest."""
    if entry.name is not None:
        return []
    if entry.chapters:
        found = {_chapter(name, titles) for name in entry.chapters}
        return sorted(n for n in found if n is not None)
    last = len(titles) - 1
    return {"intro": [0], "outro": [last], "bed": list(range(len(titles)))}[entry.place]


@dataclass(frozen=True, slots=True)
class MusicUse:
    """An entry of the manifest that concerns a chapter."""

    entry: Music
    tune: Tune

    def length(self, rate: int) -> int:
        """Samples of one pass of it."""
        whole = self.tune.samples(rate)
        return (
            whole
            if self.entry.seconds is None
            else min(whole, seconds_to_samples(self.entry.seconds, rate))
        )


def pieces(
    project: Project, measured: Sequence[Tune], titles: Sequence[str], chapter: int
) -> tuple[MusicUse, ...]:
    """The music of a chapter, counted from 0; `measured` is what `tunes` gave."""
    return tuple(
        MusicUse(entry, tune)
        for entry, tune in zip(project.manifest.music, measured, strict=True)
        if entry.name is not None or chapter in chapters_of(entry, titles)
    )


def head(found: Sequence[MusicUse], rate: int, seconds: float) -> float:
    """Seconds before a chapter's first word: what its intro needs, but not less than `seconds`."""
    alone = (
        piece.length(rate) - seconds_to_samples(piece.entry.overlap, rate)
        for piece in found
        if piece.entry.place == "intro"
    )
    return max([seconds, *(samples / rate for samples in alone)])


def tail(found: Sequence[MusicUse], rate: int, seconds: float, pause: float) -> float:
    """Seconds after a chapter's last word: what its outro needs, but not less than `seconds`.

    `pause` is what the author set by hand after the last word; the outro waits for it.
    """
    alone = (
        piece.length(rate)
        - seconds_to_samples(piece.entry.overlap, rate)
        + seconds_to_samples(pause, rate)
        for piece in found
        if piece.entry.place == "outro"
    )
    return max([seconds, *(samples / rate for samples in alone)])


def lay(
    found: Sequence[MusicUse], spoken: Sequence[Utterance], timeline: Timeline, level: float
) -> tuple[Layer, ...]:
    """The music of a chapter on its timeline, which was laid with `head` and `tail`.

    `spoken` are what is heard one after the other, `level` is that of the book's speech in LUFS.
    """
    layers = []
    for piece in found:
        for start, stop in _places(piece, spoken, timeline):
            if stop > start:
                layers.append(_layer(piece, start, stop, timeline.sample_rate, level))
    return tuple(layers)


def _layer(piece: MusicUse, start: int, stop: int, rate: int, level: float) -> Layer:
    entry, tune = piece.entry, piece.tune
    fades = (entry.fade_in, FADE_IN), (entry.fade_out, FADE_OUT)
    fade_in, fade_out = (
        # neither a file's edge nor a cut may click
        min(
            seconds_to_samples(max(default[entry.place] if own is None else own, FADE), rate),
            stop - start,
        )
        for own, default in fades
    )
    above = GAIN[entry.place] if entry.gain is None else entry.gain
    return Layer(
        tune=tune,
        start=start,
        stop=stop,
        length=piece.length(rate),
        seam=None if entry.loop is False else seconds_to_samples(_seam(entry), rate),
        gain=level + (BOTH if tune.channels == 2 else 0.0) + above - tune.loudness,
        duck=DUCK[entry.place] if entry.duck is None else entry.duck,
        attack=seconds_to_samples(max(entry.attack, FADE), rate),
        release=seconds_to_samples(max(entry.release, FADE), rate),
        fade_in=fade_in,
        fade_out=fade_out,
    )


def _seam(entry: Music) -> float:
    return SEAM if entry.loop is True else float(entry.loop)


def _places(
    piece: MusicUse, spoken: Sequence[Utterance], timeline: Timeline
) -> Iterator[tuple[int, int]]:
    """Where a piece begins and ends."""
    entry, rate, cues = piece.entry, timeline.sample_rate, timeline.heard
    length = piece.length(rate)
    if entry.place == "intro":
        yield 0, min(length, timeline.length)
    elif entry.place == "outro":
        pause = seconds_to_samples(spoken[-1].chunk.rest or 0.0, rate)
        start = max(0, cues[-1].stop + pause - seconds_to_samples(entry.overlap, rate))
        yield start, min(start + length, timeline.length)
    else:
        fade_in = seconds_to_samples(
            FADE_IN["bed"] if entry.fade_in is None else entry.fade_in, rate
        )
        fade_out = seconds_to_samples(
            FADE_OUT["bed"] if entry.fade_out is None else entry.fade_out, rate
        )
        for first, last in _spans(entry, spoken, timeline, fade_in):
            start, stop = max(0, first - fade_in), min(timeline.length, last + fade_out)
            yield start, min(stop, start + length) if entry.loop is False else stop


def _spans(
    entry: Music, spoken: Sequence[Utterance], timeline: Timeline, fade_in: int
) -> list[tuple[int, int]]:
    """Where a bed has faded in, and where it begins to fade out."""
    cues = timeline.heard
    if entry.name is None:
        scenes = [one.scene - spoken[0].scene + 1 for one in spoken]
        under = [
            cue for cue, scene in zip(cues, scenes, strict=True) if entry.scene in (None, scene)
        ]
        return [(under[0].start, under[-1].stop)] if under else []
    spans = []
    begun: int | None = None
    end = cues[-1].stop
    for first, last, name in [*_spots(spoken, timeline, fade_in), (end, end, None)]:
        if begun is not None and last > begun:
            spans.append((begun, last))
        begun = first if name is not None and name.casefold() == entry.name.casefold() else None
    return spans


def _spots(
    spoken: Sequence[Utterance], timeline: Timeline, fade_in: int
) -> Iterator[tuple[int, int, str | None]]:
    """Each mark of a chapter: where music that begins there has faded in, where music that ends
    there begins to fade out, and the mark's name.

    Between words music has faded in when the next come; before a pause set by hand it fades in
    within that. It fades out after the last words, and after a pause that stands before the mark.
    """
    rate, before = timeline.sample_rate, timeline.cues[0].start
    for one, cue in zip(spoken, timeline.heard, strict=True):
        for mark, share in one.chunk.marks:
            ended, begun = _beside(cue, share)
            first = begun - seconds_to_samples(mark.after, rate) + fade_in if mark.after else begun
            last = before if share == 0 else ended
            yield first, last + seconds_to_samples(mark.before, rate), mark.name
        before = cue.stop


def _beside(cue: Cue, share: float) -> tuple[int, int]:
    """Where the words before a mark end and those after it begin, in samples, for a mark after this
    share of a cue's text. Where nobody timed the words beside it, its place follows from the share.
    """
    place = cue.start + round(share * (cue.stop - cue.start))
    if not (cue.words and 0 < share < 1):
        return place, place
    at = round(share * len(cue.text))
    number = bisect_left(cue.words, at, key=lambda word: word[0])
    _, said, _, low = cue.words[number - 1] if number else (0, 0, 0, cue.start)
    meant, _, high, _ = (*cue.words, (len(cue.text), 0, cue.stop, 0))[number]
    place = min(max(place, low), high)
    ended = place if any(map(str.isalnum, cue.text[said:at])) else low
    return ended, place if any(map(str.isalnum, cue.text[at:meant])) else high
