"""Subtitles and captions (SRT, WebVTT, SBV) -> a book: who speaks, as they say it, in paragraphs.

Lines of one sentence are joined over cues; a pause after a sentence, or another speaker, begins a
paragraph, and a long silence a scene. What no one is named for is the narrator's.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise
from pathlib import Path
from typing import Literal

from narrator.importers.book import Book, Choices, count_words, file_name
from narrator.importers.chapters import SCRIPT
from narrator.importers.labels import is_capitals, may_name
from narrator.importers.readers.facts import Metadata
from narrator.importers.readers.pages import Pages, SourcePage, read_pages
from narrator.importers.readers.scripts.cues import TIMES, CueLine, SubtitleCue, read_cues, words_of
from narrator.importers.readers.scripts.script import (
    ScriptItem,
    ScriptRun,
    SpeechPart,
    expected_characters,
    write_script,
    omitted_item,
    read_script,
    text_of,
)

_PAUSE = 1.5
"""Seconds of silence after a sentence that begin a paragraph."""
_GAP = 5.0
"""The same within one."""
_SCENE = 15.0
"""Seconds of silence that begin a scene."""
_WORDS, _MOST_WORDS = 120, 250
"""Of a paragraph, above which it ends with a sentence, and with any cue."""
_AT_ONCE = 0.2
"""Seconds within which a cue follows the one above."""
_ROLLED = 0.3
"""Of all cues show a row of the one above, where captions roll up."""
_NAMED = 0.2
"""Of all rows begin with a name in ordinary letters, where those are speakers'."""

_NAMED_ONE = 0.02
"""Of all rows begin with one name of these, where it is a speaker's in any case."""

_ENDED = re.compile(r".*[.?!…。！？♪][\"'”’»)\]]*", re.DOTALL)
_DASH = re.compile(r"\s*(?:[-–‐‑‒][-–]?|—)\s*(?=[^\s\d\W]|[\[(\"“'‘¿¡♪])(?![a-zß-ÿ])")
_CHEVRONS = re.compile(r"\s*>{2,}\s*")
_SPEAKER = re.compile(
    r"\s*(?P<open>\[)?(?P<name>SPEAKER[_ ]?\d+)(?(open)\]\s*:?|\s?:)\s*(?=\S|$)", re.IGNORECASE
)
_NAME = re.compile(
    r"\s*(?P<name>[^\W_][^:()\[\]<>\n♪]{0,48}?)\s?(?P<aside>[(\[][^()\[\]\n]{1,40}[)\]])?\s?:(?=\s|$)\s*"
)
_SOUND = re.compile(r"[\[［][^\[\]［］]*[\]］]|[(（][^()（）]*[)）]|♪+|♫+")
_NOTES = re.compile(r"[♪♫]+")


@dataclass(slots=True)
class _CuePiece:
    """Some words of a cue, of one speaker and one kind."""

    kind: Literal["said", "sound", "sung"]
    runs: list[ScriptRun]
    cue: SubtitleCue
    name: str | None = None
    """Who says it, where it is printed or tagged here."""
    aside: str = ""
    """How, in brackets beside the name."""
    is_other: bool = False
    """Whether a sign says that somebody else speaks than above."""
    is_first: bool = False
    """Whether it begins its cue."""


@dataclass(slots=True)
class _SpokenParagraph:
    """Pieces that are read as one."""

    first: _CuePiece
    speaker: str | None
    runs: list[ScriptRun] = field(default_factory=list)
    words: int = 0
    is_ended: bool = False
    """Whether the last words end a sentence."""
    is_scene: bool = False
    """Whether a long silence is above it."""
    heads: list[str] = field(default_factory=list)


def read_subtitles(path: Path, choices: Choices) -> Book:
    """The book in a file of subtitles. Raises ImportFailed, Slow."""
    decoded = read_script(path, choices.encoding)
    found = read_cues(decoded.text)
    name = file_name(path)
    rolled = _unrolled(found.cues)
    talk = _Subtitles(name, found.cues)
    items = [omitted_item(words_of(text), why, f"{name}:{row}") for text, why, row in found.others]
    items += talk.items()
    root, remarks = write_script(items)
    if rolled:
        remarks.append(f"Captions roll up: {rolled:,} rows that are shown again are said once.")
    pages = Pages(
        [SourcePage(path.name, root)],
        Metadata(language=found.language),
        rules=SCRIPT,
        is_script=True,
        characters=expected_characters(root, f"{words_of(decoded.text)} {' '.join(talk.again)}"),
        remarks=[*filter(None, [decoded.remark]), *remarks],
    )
    return read_pages(path, pages, choices)


# -- captions that roll up -------------------------------------------------------------------------


def _unrolled(cues: Sequence[SubtitleCue]) -> int:
    """Leave the rows of cues that only repeat those of the cue above, where most do; returns how
    many these are."""
    shown = [[" ".join(line.text.split()) for line in cue.lines] for cue in cues]
    again = [0] + [
        _repeated(above, below) if after.start - before.end <= _AT_ONCE else 0
        for (before, above), (after, below) in pairwise(zip(cues, shown, strict=True))
    ]
    if sum(map(bool, again)) < max(2, _ROLLED * len(cues)):
        return 0
    for cue, count in zip(cues, again, strict=False):
        for line in cue.lines[:count]:
            line.runs = [replace(run, omission_reason=run.omission_reason or "shown again") for run in line.runs]
    return sum(again)


def _repeated(above: Sequence[str], below: Sequence[str]) -> int:
    """How many rows of a cue are the last ones of the cue above."""
    most = min(len(above), len(below))
    return next((n for n in range(most, 0, -1) if above[-n:] == below[:n]), 0)


# -- who speaks ------------------------------------------------------------------------------------


class _Subtitles:
    """The cues of a file, as what somebody says."""

    def __init__(self, name: str, cues: Sequence[SubtitleCue]) -> None:
        self.file = name
        rows = [line.text for cue in cues for line in cue.lines]
        self.usual = _usual_names(rows)
        """Names in ordinary letters that begin rows."""
        self.again: list[str] = []
        """Names that are written though they do not stand in the source."""
        pieces = [piece for cue in cues for piece in self._pieces(cue)]
        self.pieces = pieces
        tagged = sum(piece.name is not None for piece in pieces)
        self.goes_on = tagged >= _NAMED * len(pieces) or any(_CHEVRONS.match(row) for row in rows)
        """Whether who speaks goes on until somebody else is named."""

    def _pieces(self, cue: SubtitleCue) -> Iterator[_CuePiece]:
        """What is said in a cue, in its order."""
        first = True
        for line in cue.lines:
            for piece in self._of_line(cue, line):
                piece.is_first = first
                first = False
                yield piece
        if first:
            yield _CuePiece("said", [], cue, is_first=True)

    def _of_line(self, cue: SubtitleCue, line: CueLine) -> Iterator[_CuePiece]:
        name = line.voice if line.begins_voice else None
        runs, is_other = line.runs, False
        for sign in (_CHEVRONS, _DASH):
            if found := sign.match(_spoken(runs)):
                runs, is_other = _cut(runs, found.end()), True
        named = self._name(_spoken(runs)) if name is None else None
        aside = ""
        if named:
            name, aside = named["name"].strip(), named.groupdict().get("aside") or ""
            runs = _cut(runs, named.end())
        is_sung = "♪" in line.text or "♫" in line.text
        begins = True
        for kind, part in _parted(runs, is_sung):
            piece = _CuePiece(kind, part, cue)
            if begins:
                piece.name, piece.aside, piece.is_other = name, aside, is_other
                begins = False
            yield piece
        if begins and (name or runs):
            yield _CuePiece("said", runs, cue, name, aside, is_other)

    def _name(self, text: str) -> re.Match[str] | None:
        """The label that a row begins with."""
        if found := _SPEAKER.match(text):
            return found
        found = _NAME.match(text)
        if found is None:
            return None
        name = found["name"].strip()
        shouted = is_capitals(name) and _is_name(name) and len(name.split()) <= 5
        return found if shouted or name in self.usual else None

    # -- paragraphs --------------------------------------------------------------------------------

    def items(self) -> Iterator[ScriptItem]:
        """The elements of a script."""
        for paragraph in self._paragraphs():
            source = f"{self.file}:{paragraph.first.cue.row}"
            yield from (omitted_item(words_of(head), TIMES, source) for head in paragraph.heads)
            if paragraph.is_scene:
                yield ScriptItem("break", [], source)
            yield from self._written(paragraph, source)

    def _written(self, paragraph: _SpokenParagraph, source: str) -> Iterator[ScriptItem]:
        first = paragraph.first
        spoken = text_of(paragraph.runs)
        if not any(map(str.isalnum, spoken)):
            runs = [ScriptRun(f"{first.name or ''} {first.aside} ", omission_reason="nothing said")]
            yield ScriptItem("left", [*runs, *paragraph.runs], source)
        elif first.kind == "sound":
            said = [ScriptRun(f"{first.name}: ")] if first.name else []
            yield ScriptItem("told", [*said, *paragraph.runs], source)
        elif paragraph.speaker is None:
            yield ScriptItem("sung", paragraph.runs, source)
        else:
            if first.name is None:
                self.again.append(paragraph.speaker)
            cue = [ScriptRun(f"{paragraph.speaker} {first.aside}")]
            yield ScriptItem("speech", cue, source, parts=[SpeechPart(paragraph.runs)])

    def _paragraphs(self) -> Iterator[_SpokenParagraph]:
        at: _SpokenParagraph | None = None
        above: _CuePiece | None = None
        for piece in self.pieces:
            if at is None or above is None or self._begins(at, above, piece):
                if at is not None:
                    yield at
                at = _SpokenParagraph(piece, self._speaker(at, piece))
                at.is_scene = above is not None and piece.cue.start - above.cue.end >= _SCENE
            elif piece.name is not None:
                at.runs.append(ScriptRun(f" {piece.name} {piece.aside} ", omission_reason="name, again"))
            if piece.is_first:
                at.heads.append(piece.cue.head)
            sign = "\n" if piece.kind == "sung" and at.runs else " "
            at.runs += [ScriptRun(sign), *piece.runs]
            text = text_of(piece.runs)
            at.words += count_words(text) or 1
            at.is_ended = bool(_ENDED.fullmatch(text)) if text else at.is_ended
            above = piece
        if at is not None:
            yield at

    def _begins(self, at: _SpokenParagraph, above: _CuePiece, piece: _CuePiece) -> bool:
        """Whether a paragraph begins with a piece."""
        silence = piece.cue.start - above.cue.end
        other = piece.is_other or piece.kind != at.first.kind or bool(piece.aside)
        if other or piece.name not in (None, at.speaker) or piece.kind == "sound":
            return True
        if at.speaker and at.is_ended and piece.is_first and not (piece.name or self.goes_on):
            return True
        long = at.words > _MOST_WORDS or (at.is_ended and at.words > _WORDS)
        return long or silence >= (_PAUSE if at.is_ended else _GAP)

    def _speaker(self, above: _SpokenParagraph | None, piece: _CuePiece) -> str | None:
        """Who says what begins with a piece."""
        if piece.name is not None or above is None:
            return piece.name
        if piece.is_other or (piece.kind == "sung" != above.first.kind):
            return None
        return above.speaker if self.goes_on or above.first.kind == "sound" else None


def _usual_names(rows: Sequence[str]) -> frozenset[str]:
    """Names in ordinary letters that begin rows often enough to be those of speakers."""
    names = Counter(found["name"] for row in rows if (found := _NAME.match(_bare(row))))
    usual = [name for name in names if not is_capitals(name) and _is_name(name)]
    named = sum(names[name] for name in usual)
    if named >= _NAMED * len(rows) and named > min(2, len(rows) - 1):
        return frozenset(usual)
    least = max(3, _NAMED_ONE * len(rows))
    return frozenset(name for name in usual if names[name] >= least)


def _bare(row: str) -> str:
    return _DASH.sub("", _CHEVRONS.sub("", row, count=1), count=1)


def _is_name(name: str) -> bool:
    """Whether the words before a colon may be a name."""
    heads = [word[0] for word in name.split()]
    small = ("de", "von", "van", "la", "le", "the", "of", "and", "&", "#")
    capitals = (h.isupper() or h.isdigit() or not h.isalnum() for h in heads)
    words = name.casefold().split()
    all_ = all(c or w in small for c, w in zip(capitals, words, strict=True))
    return bool(heads) and all_ and may_name(name) and len(words) <= 6


def _spoken(runs: Sequence[ScriptRun]) -> str:
    return "".join(run.text for run in runs if run.omission_reason is None)


def _cut(runs: Sequence[ScriptRun], count: int) -> list[ScriptRun]:
    """Runs without their first characters, not counting what is left out."""
    made = []
    for run in runs:
        if run.omission_reason is None:
            taken = min(count, len(run.text))
            count -= taken
            run = replace(run, text=run.text[taken:])
        if run.text:
            made.append(run)
    return made


def _parted(
    runs: Sequence[ScriptRun], is_sung: bool
) -> Iterator[tuple[Literal["said", "sound", "sung"], list[ScriptRun]]]:
    """Words in what is said or sung and sounds in brackets."""
    text = _spoken(runs)
    marks = [" "] * len(text)
    for found in _SOUND.finditer(text):
        if _NOTES.fullmatch(found[0]):
            continue
        if found[0][0] in "[［" or _is_apart(text, *found.span()):
            marks[found.start() : found.end()] = "s" * len(found[0])
    letters: list[tuple[str, ScriptRun]] = []
    at = 0
    for run in runs:
        if run.omission_reason is not None:
            letters.append((marks[min(at, len(marks) - 1)] if marks else " ", run))
            continue
        for mark, group in groupby(range(at, at + len(run.text)), key=marks.__getitem__):
            places = list(group)
            piece = _NOTES.sub("", text[places[0] : places[-1] + 1])
            letters.append((mark, replace(run, text=piece)))
        at += len(run.text)
    for mark, pieces in groupby(letters, key=lambda one: one[0]):
        part = [run for _, run in pieces]
        if any(run.text.strip() for run in part):
            yield ("sound" if mark == "s" else "sung" if is_sung else "said"), part


def _is_apart(text: str, begin: int, end: int) -> bool:
    """Whether what is in round brackets is a sound: between sentences, or in capitals."""
    before, after = text[:begin].strip(" -–—"), text[end:].strip(" \"'“‘-–—")
    between = (not before or _ENDED.fullmatch(before)) and not after[:1].islower()
    return bool(between) or text[begin:end].isupper()
