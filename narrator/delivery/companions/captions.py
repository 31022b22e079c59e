"""Cuts a spoken chapter into captions: short pieces of text, each with its lines and times.

A take lasts 5 to 15 seconds, too much for one caption, so its text is cut: after a sentence, else
at a clause mark, else at a space, else, in scripts without spaces, between two characters as
readers see them. White space at a cut, and where a caption has a line break, is dropped; nothing
else is. A line break always stands for white space. So a take's text is the text of its captions
with what lies between `last` of one and `first` of the next. Knows no file format.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import accumulate

from narrator.delivery.companions.spoken import SpokenChapter, SpokenWord, moments, words_within
from narrator.text.pace import expected_seconds
from narrator.text.sentences import sentences

MIN_CAPTION_SECONDS = 1.0
"""Seconds that a caption stays at least, where silence follows it."""
MAX_CAPTION_SECONDS = 7.0
"""Seconds; longer captions are cut, where there is a good place."""
MAX_LINES = 2


@dataclass(frozen=True, slots=True)
class Caption:
    """Text that is shown at one time. Times are milliseconds in the chapter's sound."""

    start: int
    stop: int
    speaker: str
    """The speaker's name; all names of a unison."""
    lines: tuple[str, ...]
    label: str
    """The chunk's id or the speaker's name, which stands before the text; often empty."""
    has_label_line: bool
    """True where the label has a line of its own."""
    cue_index: int
    """Index of its take among those that are heard one after the other."""
    first: int
    last: int
    """Bounds of its text: it shows `text[first:last]` of the take."""
    chunk: str = ""
    """Id of its take's chunk."""
    part: int = 1
    """Number of the caption within its take, from 1."""
    words: tuple[tuple[int, int], ...] = ()
    """For each timed word: its offset in the joined lines, and its time."""
    timed_by: str = ""
    """Source of the word times of its take; "" where there are none."""

    def moved(self, by: int) -> Caption:
        """Returns the same caption `by` milliseconds later."""
        words = tuple((place, time + by) for place, time in self.words)
        return replace(self, start=self.start + by, stop=self.stop + by, words=words)


def captions(
    spoken_chapter: SpokenChapter, width: int, *, labels: bool = False, ids: bool = False
) -> list[Caption]:
    """Returns all captions of a chapter in order: none empty, none before the end of the one
    before.

    `width` is in characters, of which wide ones (Chinese, emoji) count two; only a single letter
    with its marks may make a line longer. With `labels` the name is given whenever the speaker
    changes, with `ids` the id of every chunk; room is left for them.
    """
    rate = spoken_chapter.timeline.sample_rate
    chapter_captions: list[Caption] = []
    previous_names = ""
    for cue_index, (cue, chunk) in enumerate(
        zip(spoken_chapter.timeline.heard, spoken_chapter.chunks, strict=True)
    ):
        label = f"[{cue.chunk}] " if ids else ""
        if labels and chunk.names != previous_names:
            label += f"{' '.join(chunk.names.split())}: "
        previous_names = chunk.names
        label_width = measure(label)
        times_of = partial(moments, cue, rate, language=chunk.language)
        seconds = cue.stop / rate - cue.start / rate
        word_times_of = times_of if cue.words else None
        texts = cut(cue.text, chunk.language, width, seconds, label_width, word_times_of)
        times = times_of([(text.first, text.last) for text in texts])
        for index, text in enumerate(texts):
            # a millisecond is the smallest unit that every format has
            previous_stop = chapter_captions[-1].stop if chapter_captions else 0
            start = max(round(times[index] * 1000), previous_stop)
            stop = max(round(times[index + 1] * 1000), start + 1)
            chapter_captions.append(
                Caption(
                    start=start,
                    stop=stop,
                    speaker=chunk.names,
                    lines=text.lines,
                    label=label if index == 0 else "",
                    has_label_line=text.has_label_line,
                    cue_index=cue_index,
                    first=text.first,
                    last=text.last,
                    chunk=cue.chunk,
                    part=index + 1,
                    words=_word_positions(
                        cue.text, text, words_within(cue, rate, text.first, text.last)
                    ),
                    timed_by=cue.timed_by,
                )
            )
    return list(_extend_short(chapter_captions, round(spoken_chapter.timeline.seconds * 1000)))


def _word_positions(
    text: str, caption_text: CaptionText, words: Iterable[SpokenWord]
) -> tuple[tuple[int, int], ...]:
    """Returns the `Caption.words` of a part of a take's `text`."""
    line_starts: list[tuple[int, int]] = []  # of each line, in the text and in the joined lines
    text_offset, joined_offset = caption_text.first, 0
    for line in caption_text.lines:
        text_offset = text.index(line, text_offset)
        line_starts.append((text_offset, joined_offset))
        text_offset, joined_offset = text_offset + len(line), joined_offset + len(line) + 1

    def joined_position(offset: int) -> int:
        line_start, joined_start = max(row for row in line_starts if row[0] <= offset)
        return joined_start + offset - line_start

    return tuple((joined_position(word.first), round(word.start * 1000)) for word in words)


def _extend_short(chapter_captions: Sequence[Caption], end: int) -> Iterator[Caption]:
    """Extends captions that are too short to be read into the silence after them."""
    for caption, next_caption in zip(chapter_captions, [*chapter_captions[1:], None], strict=True):
        limit = next_caption.start if next_caption else max(end, caption.stop)
        stop = max(caption.stop, min(caption.start + round(MIN_CAPTION_SECONDS * 1000), limit))
        yield replace(caption, stop=stop)


# -- characters ------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def _character_width(character: str) -> int:
    """Returns the columns that a character takes: 2 for wide ones."""
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def measure(text: str) -> int:
    """Returns the columns that a text takes on a line; never less than its code points."""
    return sum(map(_character_width, text))


_ZWJ, _ZWNJ = "\u200d", "\u200c"


def between_graphemes(text: str, position: int) -> bool:
    """Returns whether `position` lies between two characters as readers see them.

    By the extended grapheme clusters of UAX 29.
    """
    previous, following = text[position - 1], text[position]
    if _extends_previous(following) or previous == _ZWJ or "\u0600" <= previous <= "\u0605":
        return False
    if _is_flag(previous) and _is_flag(following):
        flags = 0
        while flags < position and _is_flag(text[position - 1 - flags]):
            flags += 1
        return flags % 2 == 0
    return not _are_one_syllable(previous, following) and (previous, following) != ("\r", "\n")


@lru_cache(maxsize=4096)
def _extends_previous(character: str) -> bool:
    """Returns whether a character belongs to the one before: marks, joiners, skin tones, tags of
    flags."""
    return (
        unicodedata.category(character)[0] == "M"
        or character in (_ZWJ, _ZWNJ, "\uff9e", "\uff9f", "\u0e33", "\u0eb3")
        or "\U0001f3fb" <= character <= "\U0001f3ff"
        or "\U000e0020" <= character <= "\U000e007f"
    )


def _is_flag(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


_HANGUL = (
    ("L", 0x1100, 0x115F), ("L", 0xA960, 0xA97C), ("V", 0x1160, 0x11A7), ("V", 0xD7B0, 0xD7C6),
    ("T", 0x11A8, 0x11FF), ("T", 0xD7CB, 0xD7FB),
)  # fmt: skip
"""Types of the parts of Korean syllables, by code (UAX 29)."""
_SYLLABLES = {
    "L": ("L", "V", "LV", "LVT"),
    "V": ("V", "T"),
    "LV": ("V", "T"),
    "T": ("T",),
    "LVT": ("T",),
}
"""Types that continue a syllable, by the type before."""


def _are_one_syllable(previous: str, following: str) -> bool:
    """Returns whether two characters are parts of one Korean syllable."""
    return _syllable_type(following) in _SYLLABLES.get(_syllable_type(previous), ())


def _syllable_type(character: str) -> str:
    """Returns the Hangul syllable type of a character; "" for other characters."""
    code = ord(character)
    if 0xAC00 <= code <= 0xD7A3:
        return "LV" if (code - 0xAC00) % 28 == 0 else "LVT"
    return next((kind for kind, first, last in _HANGUL if first <= code <= last), "")


# -- atoms: what no cut parts ----------------------------------------------------------------------

_WORD = re.compile(r"(?P<word>[\S\u00a0\u2007\u202f]+)(?P<space>[^\S\u00a0\u2007\u202f]*)")
"""A word, perhaps with spaces that hold it together, and the white space after it, at which a line
may be broken."""
_LINE_BREAKS = re.compile(r"[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_CLAUSE_END = re.compile(r"(?:[,;:،؛…—–]|--)[\"'”’»›)\]]*\Z")
_WIDE_CLAUSE_MARKS = "，、；：。！？．｡…—"
_NOT_FIRST = (
    "，、；：。！？．｡…‥—’”」』】〉》）］｝〕〗)]}!?.,:;%\u2060"
    "々ーぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮ"
)
_NOT_LAST = "‘“「『【〈《（［｛〔〖([{$£¥￥\u2060"
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3005-\u30ff\u3400-\u9fff\uf900-\ufaff"
    "\uff00-\uffef\U0001f000-\U0001faff\U00020000-\U0003ffff]"
)
"""Scripts without spaces between words, and emoji."""

_SENTENCE_COST, _CLAUSE_COST, _UNSPACED_COST = 0.0, 3.0, 10.0
"""Cost of a cut after a sentence, a clause, and a character of a script without spaces;"""
_WORD_COST, _ABBREVIATION_COST, _WITHIN_WORD_COST = 14.0, 30.0, 60.0
"""after a word, an abbreviation ("Mrs."), and within a word that is longer than a line."""
_INNER_SENTENCE_COST = 3.0
"""Cost of a sentence that ends within a caption."""


@dataclass(frozen=True, slots=True)
class _Atom:
    """Text that no cut divides, `text[first:last]`, and the space between it and the next."""

    first: int
    last: int
    width: int
    cost: float
    """Cost of a cut after it."""
    space_width: int
    """Columns of the white space after it; 0 where there is none."""
    must_end_line: bool


def _atoms(text: str, language: str, width: int) -> list[_Atom]:
    """Splits a text into atoms."""
    sentence_ends = {len(text[:stop].rstrip()) for _, stop in sentences(text, language)}
    atoms: list[_Atom] = []
    for word in _WORD.finditer(text):
        word_start, word_end = word.span("word")
        space = word["space"]
        for first, last in _split_word(text, word_start, word_end, width):
            is_inside_word = last < word_end
            must_end_line = not is_inside_word and bool(_LINE_BREAKS.search(space))
            atoms.append(
                _Atom(
                    first=first,
                    last=last,
                    width=measure(text[first:last]),
                    cost=_cut_cost(text, first, last, is_inside_word, must_end_line, sentence_ends),
                    space_width=0 if is_inside_word else measure(space),
                    must_end_line=must_end_line,
                )
            )
    return atoms


def _cut_cost(
    text: str,
    first: int,
    last: int,
    is_inside_word: bool,
    must_end_line: bool,
    sentence_ends: set[int],
) -> float:
    """Returns the cost of a cut after `text[first:last]`."""
    if must_end_line or last in sentence_ends:
        return _SENTENCE_COST
    if is_inside_word:
        if text[last - 1] in _WIDE_CLAUSE_MARKS:
            return _CLAUSE_COST
        return _UNSPACED_COST if _is_unspaced_boundary(text, last) else _WITHIN_WORD_COST
    if _CLAUSE_END.search(text, first, last):
        return _CLAUSE_COST
    return _ABBREVIATION_COST if text[last - 1] == "." else _WORD_COST


def _split_word(text: str, start: int, stop: int, width: int) -> Iterator[tuple[int, int]]:
    """Yields a word as a whole; in pieces where its script has no spaces, or where it is longer
    than a line."""
    is_too_long = measure(text[start:stop]) > width
    piece_start = start
    for position in range(start + 1, stop):
        if between_graphemes(text, position) and (
            is_too_long or _is_unspaced_boundary(text, position)
        ):
            yield piece_start, position
            piece_start = position
    yield piece_start, stop


def _is_unspaced_boundary(text: str, position: int) -> bool:
    """Returns whether a line may break between two characters of a script without spaces."""
    previous, following = text[position - 1], text[position]
    if following in _NOT_FIRST or previous in _NOT_LAST or "\u0e40" <= previous <= "\u0e44":
        return False
    return bool(_UNSPACED.match(previous) or _UNSPACED.match(following))


# -- atoms -> captions -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CaptionText:
    """The text of one caption: `text[first:last]` of its take, in lines."""

    first: int
    last: int
    lines: tuple[str, ...]
    has_label_line: bool
    """True where the label before it has a line of its own."""


def cut(
    text: str,
    language: str,
    width: int,
    seconds: float,
    label_width: int = 0,
    times_of: Callable[[Sequence[tuple[int, int]]], Sequence[float]] | None = None,
) -> list[CaptionText]:
    """Cuts a take's text into captions of at most two lines; `seconds` is its duration.

    `width` is that of a line, `label_width` that of a speaker's name before the first caption;
    `times_of` returns the start of parts of the text and the end of the last, where they are known.
    Returns no captions for a text of white space alone.
    """
    atoms = _atoms(text, language, width)
    if not atoms:
        return []
    spans = [(atom.first, atom.last) for atom in atoms]
    if times_of:
        pace, atom_times = 1.0, times_of(spans)
    else:
        pace = seconds / max(expected_seconds(text, language), 0.1)
        expected = (expected_seconds(text[first:last], language) for first, last in spans)
        atom_times = list(accumulate(expected, initial=0.0))
    is_label_alone = label_width > width // 2 or (
        label_width > 0 and label_width + atoms[0].width > width
    )
    fit_limits = [_last_fitting_atom(atoms, 0, width, label_width, is_label_alone)]
    fit_limits += [
        _last_fitting_atom(atoms, start, width, label_width=0, is_label_alone=False)
        for start in range(1, len(atoms))
    ]
    starts = _cheapest_starts(atoms, fit_limits, atom_times, pace)
    reversed_texts: list[CaptionText] = []
    stop = len(atoms)
    while stop:
        start = starts[stop]
        has_label_line = start == 0 and is_label_alone
        used_width = 0 if start or is_label_alone else label_width
        lines = _break_lines(text, atoms[start:stop], width, used_width, has_label_line)
        first, last = atoms[start].first, atoms[stop - 1].last
        reversed_texts.append(CaptionText(first, last, lines, has_label_line))
        stop = start
    return reversed_texts[::-1]


def _cheapest_starts(
    atoms: Sequence[_Atom], fit_limits: Sequence[int], atom_times: Sequence[float], pace: float
) -> list[int]:
    """Returns, for each number of atoms, where their last caption begins in the cheapest division.

    `fit_limits` holds, for a caption that begins at each atom, the atom before which it must end;
    `atom_times` the expected seconds up to each atom; `pace` the factor by which the take is
    slower.
    """
    costs, starts = [0.0], [0]
    for stop in range(1, len(atoms) + 1):
        lowest_cost, best_start = float("inf"), stop - 1
        inner_sentences = 0
        for start in range(stop - 1, -1, -1):
            if fit_limits[start] < stop and start < stop - 1:
                break
            inner_sentences += start < stop - 1 and atoms[start].cost == _SENTENCE_COST
            caption_seconds = (atom_times[stop] - atom_times[start]) * pace
            cost = (
                costs[start]
                + _duration_cost(caption_seconds)
                + _INNER_SENTENCE_COST * inner_sentences
            )
            if cost < lowest_cost:
                lowest_cost, best_start = cost, start
        cut_cost = 0.0 if stop == len(atoms) else atoms[stop - 1].cost
        costs.append(lowest_cost + cut_cost)
        starts.append(best_start)
    return starts


def _duration_cost(seconds: float) -> float:
    """Returns the cost of a caption's duration."""
    cost = 2.0
    if seconds < MIN_CAPTION_SECONDS:
        cost += 25 * (MIN_CAPTION_SECONDS - seconds) + 5
    elif seconds > MAX_CAPTION_SECONDS:
        cost += 8 * (seconds - MAX_CAPTION_SECONDS)
    return cost + 0.05 * (seconds - 4) ** 2


def _last_fitting_atom(
    atoms: Sequence[_Atom], start: int, width: int, label_width: int, is_label_alone: bool
) -> int:
    """Returns the index of the atom before which a caption that begins at atom `start` must end."""
    line, used_width = (MAX_LINES, 0) if is_label_alone else (1, label_width)
    has_atoms = False
    for number in range(start, len(atoms)):
        atom = atoms[number]
        if used_width + atom.width > width and has_atoms:
            # lines break at white space only, so everything after the last moves to the next line
            line_start = number
            while line_start > start and not atoms[line_start - 1].space_width:
                line_start -= 1
            if line_start == start or line == MAX_LINES:
                return number
            line += 1
            used_width = sum(moved.width for moved in atoms[line_start:number])
            if used_width + atom.width > width:
                return number
        used_width += atom.width
        has_atoms = True
        if atom.must_end_line:
            if line == MAX_LINES:
                return number + 1
            line, used_width, has_atoms = line + 1, 0, False
        else:
            used_width += atom.space_width
    return len(atoms)


def _break_lines(
    text: str, atoms: Sequence[_Atom], width: int, label_width: int, has_label_line: bool
) -> tuple[str, ...]:
    """Returns one line if the text fits, else two of about equal length, divided in a good
    place."""
    full_text = text[atoms[0].first : atoms[-1].last]
    forced_breaks = [index for index, atom in enumerate(atoms[:-1], 1) if atom.must_end_line]
    if not forced_breaks and (has_label_line or label_width + measure(full_text) <= width):
        return (full_text,)
    break_indices = forced_breaks or [
        index for index, atom in enumerate(atoms[:-1], 1) if atom.space_width
    ]
    if not break_indices:
        return (full_text,)

    def lines_at(index: int) -> tuple[str, str]:
        first_line = text[atoms[0].first : atoms[index - 1].last]
        return first_line, text[atoms[index].first : atoms[-1].last]

    def badness(index: int) -> tuple[int, float]:
        first_line, second_line = lines_at(index)
        first_width, second_width = label_width + measure(first_line), measure(second_line)
        imbalance = abs(first_width - second_width) / 2
        return max(0, first_width - width, second_width - width), imbalance + atoms[index - 1].cost

    return lines_at(min(break_indices, key=badness))
