"""Music before, after and under the words of a chapter: where it lies, how loud, and the mix.

Loudness: a file is measured once (ITU-R BS.1770, all of it), and lies `gain` LU above the speech of
the book, whatever it was made at. By default all music is 20 dB under words: WCAG 2.2, criterion
1.4.7. When there are words is known from the timeline, so music has stepped back before they come,
and does not come up in the pauses between them.

Speech is not touched: a mixed block is the speech plus the music. Files are streamed, at every use
anew, so memory does not grow with their length. Knows nothing of takes, stores and encoders.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import av
import numpy as np
from numpy.typing import NDArray

from narrator import files, keys, media
from narrator.assemble import BLOCK, Cue, Timeline
from narrator.audio import FADE, Samples, amplitude, as_channels, decoded, resampled, silent
from narrator.characters import quoted
from narrator.chunk import Chunk
from narrator.errors import ManifestError, Problem, UserError, nearest
from narrator.loudness import BOTH, measure
from narrator.manifest import Music, Project
from narrator.media import Unfit
from narrator.plan import Utterance
from narrator.profiles import Profile
from narrator.script import Chapter, Mark

GAIN = {"intro": -3.0, "outro": -3.0, "bed": -14.0}
"""LU above speech, while nobody speaks."""
DUCK = {"intro": 17.0, "outro": 17.0, "bed": 6.0}
"""dB less under words."""
FADE_IN = {"intro": 0.0, "outro": 0.0, "bed": 2.0}
FADE_OUT = {"intro": 0.0, "outro": 0.0, "bed": 3.0}
"""Seconds."""
HOLD = 1.0
"""Seconds that music must be able to stay up between words, or it does not come up at all."""
SEAM = 0.02
"""Seconds in which the end of a loop fades over into its beginning: no click, and no beat is moved
by more than is heard."""
LONGEST = 180.0
"""Seconds of an intro or outro; a longer one is the wrong file."""


# -- files -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Tune:
    """A file of music and what it measures."""

    path: Path
    content: str
    """Hash of the file."""
    rate: int
    channels: int
    """1 or 2; more are mixed to two."""
    length: int
    """Samples at its own rate."""
    loudness: float
    """Integrated, LUFS."""

    @property
    def seconds(self) -> float:
        return self.length / self.rate

    def samples(self, rate: int) -> int:
        """Its length at another rate."""
        return round(self.length * rate / self.rate)


def tunes(project: Project) -> tuple[Tune, ...]:
    """The file of each entry of the manifest, measured.

    What was measured before is kept in `build`; an hour of music takes some seconds the first time.
    Raises ManifestError, StorageError.
    """
    found: dict[Path, Tune] = {}
    problems: list[Problem] = []
    entries = project.manifest.music
    for number, entry in enumerate(entries):
        path = project.root / entry.file
        try:
            tune = found.get(path) or _tune(path, project.build / "music")
        except Unfit as error:
            problems.append(_problem(project, f"{entry.file}: {error}", number, "file"))
            continue
        found[path] = tune
        if fault := _fault(entry, tune.seconds):
            problems.append(_problem(project, fault, number))
    if problems:
        raise ManifestError(problems)
    return tuple(found[project.root / entry.file] for entry in entries)


def _tune(path: Path, kept: Path) -> Tune:
    with _readable(path):
        content = keys.file_content(path)
    notes = kept / f"{content}.json"
    facts = files.load_json(notes, None)  # not there, or torn: measured again
    if isinstance(facts, dict) and facts.keys() >= set(_MEASURED):
        return Tune(path, content, **{name: facts[name] for name in _MEASURED})
    with _readable(path), media.sound(path) as container:
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


@contextlib.contextmanager
def _readable(path: Path) -> Iterator[None]:
    """What the file system says of a file as a reason why it cannot be played."""
    try:
        yield
    except OSError as error:
        raise Unfit(f"cannot be read: {error.strerror}") from None


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


def _problem(project: Project, message: str, number: int, *loc: str) -> Problem:
    return Problem(
        project.path, project.line("music", number, *loc), f"music[{number + 1}]: {message}"
    )


def sound(tune: Tune, rate: int) -> Iterator[Samples]:
    """A tune at a rate, (n,) or (n, 2), exactly `tune.samples(rate)` of them, in blocks.

    Raises UserError where the file has gone since it was measured.
    """
    try:
        with _readable(tune.path), media.sound(tune.path) as container:
            blocks = resampled(decoded(container, mono=False), tune.rate, rate)
            yield from _exactly(blocks, tune.samples(rate), tune.channels)
    except Unfit as error:
        raise UserError(f"{tune.path}: cannot be played any more ({error})") from error


def _exactly(blocks: Iterable[Samples], length: int, channels: int) -> Iterator[Samples]:
    left = length
    for block in blocks:
        if left <= 0:
            return
        yield block[:left]
        left -= len(block)
    if left > 0:
        yield silent(left, channels)


# -- what the script and the manifest say of each other --------------------------------------------


def problems(project: Project, chapters: Sequence[Chapter]) -> list[Problem]:
    """What is wrong with the manifest's music and the script's marks; of files only the header."""
    found: list[Problem] = []
    titles = [chapter.title for chapter in chapters]
    taken: dict[tuple[str, int], int] = {}
    for number, entry in enumerate(project.manifest.music):
        try:
            seconds = _header(project.root / entry.file)
        except Unfit as error:
            found.append(_problem(project, f"{entry.file}: {error}", number, "file"))
            seconds = None
        if entry.place != "bed" and seconds and (fault := _fault(entry, seconds)):
            found.append(_problem(project, fault, number))
        for i, name in enumerate(entry.chapters):
            if _chapter(name, titles) is None:
                guess = nearest(name, titles)
                hint = f"did you mean '{guess}'?" if guess else f"1 to {len(titles)}, or a title"
                line = project.line("music", number, "chapters", i)
                what = f"music[{number + 1}]: no chapter '{quoted(name)}'; {hint}"
                found.append(Problem(project.path, line, what))
        for chapter in _chapters(entry, titles):
            scenes = len(chapters[chapter].scenes)
            if entry.scene is not None and entry.scene > scenes:
                what = f"chapter {chapter + 1}, '{titles[chapter]}', has no scene {entry.scene}"
                count = f"{scenes} scene{'s' * (scenes > 1)}"
                found.append(_problem(project, f"{what}, only {count}", number, "scene"))
            if entry.place == "bed":
                continue
            first = taken.setdefault((entry.place, chapter), number)
            if first != number:
                what = f"chapter {chapter + 1} has an {entry.place} already, music[{first + 1}]"
                found.append(_problem(project, f"{what}; set `chapters`", number))
    for chapter_read in chapters:
        found += _marks_problems(chapter_read, _names(project))
    return [*found, *_credits_problems(project)]


def _credits_problems(project: Project) -> Iterator[Problem]:
    spoken = project.manifest.credits
    for key in ("opening", "closing"):
        text = (getattr(spoken, key) if spoken else None) or ""
        if mark := re.search(r"(?<!\\)\[music:[^\[\]]*\]?", text, re.IGNORECASE):
            what = f"credits.{key}: no music plays under credits: leave {mark[0]} out"
            yield Problem(project.path, project.line("credits", key), what)


def _header(path: Path) -> float | None:
    """Seconds of a file by its header, where it says. Raises Unfit."""
    with _readable(path), media.sound(path) as container:
        return container.duration / av.time_base if container.duration else None


def _names(project: Project) -> Mapping[str, str]:
    """Of music that the script may call, by themselves casefolded."""
    names = (entry.name for entry in project.manifest.music if entry.name is not None)
    return {name.casefold(): name for name in names}


def _marks_problems(chapter: Chapter, names: Mapping[str, str]) -> Iterator[Problem]:
    lines = [
        line
        for scene in chapter.scenes
        for line in scene.lines
        if any(map(str.isalnum, line.text))  # others hold no marks
    ]
    playing = False
    for line in lines:
        for mark in line.marks:
            if mark.name is None:
                if not playing:
                    yield Problem(line.path, mark.number, "[music: off], but none is on here")
            elif mark.name.casefold() not in names:
                guess = nearest(mark.name, list(names.values()))
                hint = f"did you mean “{guess}”?" if guess else "give a bed this `name`"
                what = f"no music is called “{mark.name}”; {hint} (\\[ for a bracket that is text)"
                yield Problem(line.path, mark.number, what)
            elif line is lines[-1] and mark.at >= len(line.text):
                what = f"[music: {mark.name}], but no words come after it in this chapter"
                yield Problem(line.path, mark.number, what)
            playing = mark.name is not None


def _chapter(name: str, titles: Sequence[str]) -> int | None:
    """A chapter, counted from 0, by its number or title."""
    if name.isdecimal() and len(name) < 6 and 1 <= int(name) <= len(titles):
        return int(name) - 1
    folded = [title.casefold() for title in titles]
    return folded.index(name.casefold()) if name.casefold() in folded else None


def _chapters(entry: Music, titles: Sequence[str]) -> list[int]:
    """The chapters of an entry that has them from the manifest."""
    if entry.name is not None:
        return []
    if entry.chapters:
        found = {_chapter(name, titles) for name in entry.chapters}
        return sorted(n for n in found if n is not None)
    last = len(titles) - 1
    return {"intro": [0], "outro": [last], "bed": list(range(len(titles)))}[entry.place]


# -- what music and a platform say of each other ---------------------------------------------------

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
                yield _problem(project, what, number)
                break


def _parts(
    project: Project, entry: Music, spoken: Sequence[Sequence[Utterance]], chapter: int
) -> set[Part]:
    own = spoken[chapter]
    if entry.name is not None:
        return _called(project, entry, own)
    titles = [project.chapters[n].title for n in project.numbered]
    if chapter not in _chapters(entry, titles):
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
        for mark, share in _marks(one.chunk):
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
            length = entry.seconds or _header(project.root / entry.file)
        except Unfit:
            length = None  # said elsewhere
        last = length is None or length >= sum(one.expected for one in own)
    if last:
        found.add("tail")
    return found | {"whole"} if first and last else found


# -- where music lies ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Piece:
    """An entry of the manifest that concerns a chapter."""

    entry: Music
    tune: Tune

    def length(self, rate: int) -> int:
        """Samples of one pass of it."""
        whole = self.tune.samples(rate)
        return whole if self.entry.seconds is None else min(whole, _at(self.entry.seconds, rate))


def _at(seconds: float, rate: int) -> int:
    return round(seconds * rate)


def pieces(
    project: Project, measured: Sequence[Tune], titles: Sequence[str], chapter: int
) -> tuple[Piece, ...]:
    """The music of a chapter, counted from 0; `measured` is what `tunes` gave."""
    return tuple(
        Piece(entry, tune)
        for entry, tune in zip(project.manifest.music, measured, strict=True)
        if entry.name is not None or chapter in _chapters(entry, titles)
    )


def head(found: Sequence[Piece], rate: int, seconds: float) -> float:
    """Seconds before a chapter's first word: what its intro needs, but not less than `seconds`."""
    alone = (
        piece.length(rate) - _at(piece.entry.overlap, rate)
        for piece in found
        if piece.entry.place == "intro"
    )
    return max([seconds, *(samples / rate for samples in alone)])


def tail(found: Sequence[Piece], rate: int, seconds: float, pause: float) -> float:
    """Seconds after a chapter's last word: what its outro needs, but not less than `seconds`.

    `pause` is what the author set by hand after the last word; the outro waits for it.
    """
    alone = (
        piece.length(rate) - _at(piece.entry.overlap, rate) + _at(pause, rate)
        for piece in found
        if piece.entry.place == "outro"
    )
    return max([seconds, *(samples / rate for samples in alone)])


@dataclass(frozen=True, slots=True)
class Layer:
    """Music where it plays in a chapter; lengths and places in samples at the chapter's rate."""

    tune: Tune
    start: int
    stop: int
    length: int
    """Of one pass."""
    seam: int | None
    """Over which a pass fades into the next; None where there is only one."""
    gain: float
    """dB given to the file."""
    duck: float
    """dB less under words."""
    attack: int
    release: int
    fade_in: int
    fade_out: int


def lay(
    found: Sequence[Piece], spoken: Sequence[Utterance], timeline: Timeline, level: float
) -> tuple[Layer, ...]:
    """The music of a chapter on its timeline, which was laid with `head` and `tail`.

    `spoken` are what its cues say, `level` is that of the book's speech in LUFS.
    """
    layers = []
    for piece in found:
        for start, stop in _places(piece, spoken, timeline):
            if stop > start:
                layers.append(_layer(piece, start, stop, timeline.sample_rate, level))
    return tuple(layers)


def _layer(piece: Piece, start: int, stop: int, rate: int, level: float) -> Layer:
    entry, tune = piece.entry, piece.tune
    fades = (entry.fade_in, FADE_IN), (entry.fade_out, FADE_OUT)
    fade_in, fade_out = (
        # neither a file's edge nor a cut may click
        min(_at(max(default[entry.place] if own is None else own, FADE), rate), stop - start)
        for own, default in fades
    )
    above = GAIN[entry.place] if entry.gain is None else entry.gain
    return Layer(
        tune=tune,
        start=start,
        stop=stop,
        length=piece.length(rate),
        seam=None if entry.loop is False else _at(_seam(entry), rate),
        gain=level + (BOTH if tune.channels == 2 else 0.0) + above - tune.loudness,
        duck=DUCK[entry.place] if entry.duck is None else entry.duck,
        attack=_at(max(entry.attack, FADE), rate),
        release=_at(max(entry.release, FADE), rate),
        fade_in=fade_in,
        fade_out=fade_out,
    )


def _seam(entry: Music) -> float:
    return SEAM if entry.loop is True else float(entry.loop)


def _places(
    piece: Piece, spoken: Sequence[Utterance], timeline: Timeline
) -> Iterator[tuple[int, int]]:
    """Where a piece begins and ends."""
    entry, rate, cues = piece.entry, timeline.sample_rate, timeline.cues
    length = piece.length(rate)
    if entry.place == "intro":
        yield 0, min(length, timeline.length)
    elif entry.place == "outro":
        pause = _at(spoken[-1].chunk.rest or 0.0, rate)
        start = max(0, cues[-1].stop + pause - _at(entry.overlap, rate))
        yield start, min(start + length, timeline.length)
    else:
        fade_in = _at(FADE_IN["bed"] if entry.fade_in is None else entry.fade_in, rate)
        fade_out = _at(FADE_OUT["bed"] if entry.fade_out is None else entry.fade_out, rate)
        for first, last in _spans(entry, spoken, timeline, fade_in):
            start, stop = max(0, first - fade_in), min(timeline.length, last + fade_out)
            yield start, min(stop, start + length) if entry.loop is False else stop


def _spans(
    entry: Music, spoken: Sequence[Utterance], timeline: Timeline, fade_in: int
) -> list[tuple[int, int]]:
    """Where a bed has faded in, and where it begins to fade out."""
    cues = timeline.cues
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
    Within a chunk the place follows from the share of its text before the mark.
    """
    rate, before = timeline.sample_rate, timeline.cues[0].start
    for one, cue in zip(spoken, timeline.cues, strict=True):
        for mark, share in _marks(one.chunk):
            place = cue.start + round(share * (cue.stop - cue.start))
            first = place - _at(mark.after, rate) + fade_in if mark.after else place
            last = before if share == 0 else place
            yield first, last + _at(mark.before, rate), mark.name
        before = cue.stop


def _marks(chunk: Chunk) -> Iterator[tuple[Mark, float]]:
    """The marks in a chunk, each with the share of its text that comes before."""
    shift, size = 0, max(1, len(chunk.text))
    for piece in chunk.pieces:
        for mark in piece.line.marks:
            last = mark.at == piece.stop == len(piece.line.text)
            if piece.start <= mark.at < piece.stop or last:
                yield mark, min(1.0, (shift + mark.at - piece.start) / size)
        shift += piece.stop - piece.start + 1


# -- the mix ---------------------------------------------------------------------------------------


def channels(layers: Sequence[Layer]) -> int:
    """Of a chapter's sound: 2 where any of its music is in stereo."""
    return max((layer.tune.channels for layer in layers), default=1)


def sound_key(speech: str, layers: Sequence[Layer]) -> str:
    """A key of all that decides the samples of `mix`; `speech` is the key of its speech."""
    if not layers:
        return speech
    rows = [
        {**asdict(layer), "tune": [layer.tune.content, layer.tune.rate, layer.tune.length]}
        for layer in layers
    ]
    return keys.key({"mix": 1, "speech": speech, "layers": rows})


def mix(
    speech: Iterable[Samples], timeline: Timeline, layers: Sequence[Layer]
) -> Iterator[Samples]:
    """A chapter's speech with its music added, block by block, (n,) or (n, 2) as `channels` says.

    Speech goes to both channels as it is. Raises UserError where a file of music has gone.
    """
    count = channels(layers)
    playing = [(layer, _Feed(play(layer, timeline))) for layer in layers]
    base = 0
    for block in as_channels(speech, count):
        end = base + len(block)
        added: Samples | None = None  # of the music alone, so that it does not depend on the speech
        for layer, feed in playing:
            first, last = max(base, layer.start), min(end, layer.stop)
            if first < last:
                part = feed.take(last - first)
                wide = part if part.ndim == count else part[:, np.newaxis]
                added = silent(len(block), count) if added is None else added
                added[first - base : last - base] += wide
        yield block if added is None else block + added
        base = end


def play(layer: Layer, timeline: Timeline) -> Iterator[Samples]:
    """The samples of a layer from its start to its stop: looped, faded, ducked."""
    ducking = _ducking(timeline.cues, layer, timeline.sample_rate)
    feed = _Feed(_passes(layer, timeline.sample_rate))
    for start in range(layer.start, layer.stop, BLOCK):
        stop = min(start + BLOCK, layer.stop)
        block = feed.take(stop - start)
        gain = _gain(layer, ducking, start, stop).astype(np.float32)
        yield block * (gain if block.ndim == 1 else gain[:, np.newaxis])


def _passes(layer: Layer, rate: int) -> Iterator[Samples]:
    """A tune once, or again and again: equal power goes from the end of a pass to the next."""
    tune, seam = layer.tune, layer.seam

    def once() -> Iterator[Samples]:
        return _exactly(sound(tune, rate), layer.length, tune.channels)

    if seam is None:
        yield from once()
        return
    angle = (np.arange(seam) + 0.5) * (np.pi / 2 / max(1, seam))
    rise, fall = np.sin(angle).astype(np.float32), np.cos(angle).astype(np.float32)
    if tune.channels == 2:
        rise, fall = rise[:, np.newaxis], fall[:, np.newaxis]
    end = None
    while True:
        feed = _Feed(once())
        beginning = feed.take(seam)
        yield beginning if end is None else end * fall + beginning * rise
        for start in range(seam, layer.length - seam, BLOCK):
            yield feed.take(min(BLOCK, layer.length - seam - start))
        end = feed.take(seam)


class _Feed:
    """A stream of blocks, to be had in pieces of any length."""

    def __init__(self, blocks: Iterator[Samples]) -> None:
        self._blocks = blocks
        self._rest: Samples | None = None

    def take(self, count: int) -> Samples:
        """The next `count` samples, of which the stream must have as many."""
        found = [] if self._rest is None else [self._rest]
        size = sum(map(len, found))
        while size < count or not found:
            found.append(next(self._blocks))
            size += len(found[-1])
        whole = found[0] if len(found) == 1 else np.concatenate(found)
        self._rest = whole[count:]
        return whole[:count]


Curve = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Places on the timeline, and how far music has stepped back there, 0 to 1, straight between."""


def _ducking(cues: Sequence[Cue], layer: Layer, rate: int) -> Curve:
    """Down before words, up after them, where there is time to come up, stay, and go down."""
    least = layer.attack + _at(HOLD, rate) + layer.release
    words: list[tuple[int, int]] = []
    for cue in cues:
        if words and cue.start - words[-1][1] < least:
            words[-1] = words[-1][0], cue.stop
        else:
            words.append((cue.start, cue.stop))
    places = [
        place
        for start, stop in words
        for place in (start - layer.attack, start, stop, stop + layer.release)
    ]
    return np.array(places or [0], np.float64), np.array([0, 1, 1, 0] * len(words) or [0], float)


def _gain(layer: Layer, ducking: Curve, start: int, stop: int) -> NDArray[np.float64]:
    """Factors of the samples from `start` to `stop` on the timeline."""
    at = np.arange(start, stop)
    gain = np.full(len(at), amplitude(layer.gain))
    places, depth = ducking
    first, last = np.interp((start, stop), places, depth)
    level = first == last and not np.any((places > start) & (places < stop))
    back = np.full(1, first) if level else np.interp(at, places, depth)
    gain *= np.exp(_smooth(back) * (-layer.duck * math.log(10) / 20))
    if start < layer.start + layer.fade_in:
        gain *= _smooth((at + 0.5 - layer.start) / layer.fade_in)
    if stop > layer.stop - layer.fade_out:
        gain *= _smooth((layer.stop - at - 0.5) / layer.fade_out)
    return gain


def _smooth(ramp: NDArray[np.float64]) -> NDArray[np.float64]:
    """A straight ramp as a raised cosine."""
    return 0.5 - 0.5 * np.cos(np.pi * np.clip(ramp, 0, 1))
