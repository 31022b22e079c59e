"""Reads subtitles and captions (SRT, WebVTT, SBV) as paragraphs with speakers.

Lines of one sentence are joined across cues; a pause after a sentence, or another speaker, begins a
paragraph, and a long silence a scene. The narrator reads text without a named speaker.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise
from operator import itemgetter
from pathlib import Path
from typing import Literal

from manuscripts.book import Book, Choices, count_words, file_name
from manuscripts.labels import is_capitals, may_name
from manuscripts.readers.facts import Metadata
from manuscripts.readers.scripts.cues import (
    TIMES,
    CueLine,
    SubtitleCue,
    read_cues,
    text_without_tags,
)
from manuscripts.readers.scripts.script import (
    ScriptItem,
    ScriptRun,
    SpeechPart,
    omit_runs,
    omitted_item,
    read_items,
    read_script,
    text_of,
)

_SENTENCE_PAUSE = 1.5
"""Silence after a sentence that begins a paragraph, in seconds."""
_MID_SENTENCE_PAUSE = 5.0
"""Silence within a sentence that begins a paragraph, in seconds."""
_SCENE_PAUSE = 15.0
"""Silence that begins a scene, in seconds."""
_MAX_WORDS_TO_SENTENCE, _MAX_WORDS_TO_CUE = 120, 250
"""Words of a paragraph from which it ends with the next sentence, and with the next cue."""
_ROLL_UP_PAUSE = 0.2
"""Maximum pause before a cue that continues a roll-up caption, in seconds."""
_MIN_ROLL_UP_SHARE = 0.3
"""Minimum share of cues that repeat a row of the previous cue in roll-up captions."""
_MIN_NAMED_SHARE = 0.2
"""Minimum share of rows with names in mixed case for these to be speakers."""

_MIN_NAME_SHARE = 0.02
"""Minimum share of rows with one such name for it to be a speaker in any case."""

_MAX_NAME_WORDS, _MAX_CAPITAL_WORDS = 6, 5
"""Maximum words of a speaker's name in mixed case, and of one in capitals."""
_SENTENCE_END = re.compile(r".*[.?!…。！？♪][\"'”’»)\]]*", re.DOTALL)
_DASH = re.compile(r"\s*(?:[-–‐‑‒][-–]?|—)\s*(?=[^\s\d\W]|[\[(\"“'‘¿¡♪])(?![a-zß-ÿ])")
_CHEVRONS = re.compile(r"\s*>{2,}\s*")
_SPEAKER = re.compile(
    r"\s*(?P<open>\[)?(?P<name>SPEAKER[_ ]?\d+)(?(open)\]\s*:?|\s?:)\s*(?=\S|$)", re.IGNORECASE
)
_NAME = re.compile(
    r"\s*(?P<name>[^\W_][^:()\[\]<>\n♪]{0,48}?)\s?(?P<aside>[(\[][^()\[\]\n]{1,40}[)\]])?\s?:(?=\s|$)\s*"
)
_BRACKETED = re.compile(r"[\[［][^\[\]［］]*[\]］]|[(（][^()（）]*[)）]|♪+|♫+")
_MUSIC_NOTES = re.compile(r"[♪♫]+")

PieceKind = Literal["dialogue", "sound", "sung"]


@dataclass(slots=True)
class _CuePiece:
    """A part of a cue with one speaker and one kind."""

    kind: PieceKind
    runs: list[ScriptRun]
    cue: SubtitleCue
    name: str | None = None
    """Name of the speaker, if it is printed or tagged here."""
    aside: str = ""
    """Manner of speaking, in brackets next to the name."""
    is_speaker_change: bool = False
    """True if a mark shows a change of speaker."""
    is_first: bool = False
    """True if it is the first part of its cue."""


@dataclass(slots=True)
class _SpokenParagraph:
    """A paragraph of consecutive pieces."""

    first: _CuePiece
    speaker: str | None
    runs: list[ScriptRun] = field(default_factory=list)
    word_count: int = 0
    is_ended: bool = False
    """True if the text so far ends a sentence."""
    is_scene: bool = False
    """True if a long silence precedes it."""
    cue_heads: list[str] = field(default_factory=list)
    """Numbers and times of its cues."""


def read_subtitles(path: Path, choices: Choices) -> Book:
    """Reads the book in a subtitle file. Raises ImportFailed, SlowPattern."""
    decoded = read_script(path, choices.encoding)
    subtitles = read_cues(decoded.text)
    name = file_name(path)
    rolled_up_count = _omit_rolled_up_rows(subtitles.cues)
    converter = _Subtitles(name, subtitles.cues)
    script_items = [
        omitted_item(text_without_tags(text), reason, f"{name}:{row}")
        for text, reason, row in subtitles.other_texts
    ]
    script_items += converter.build_items()
    remark = f"Captions roll up: {rolled_up_count:,} rows that are shown again are said once."
    return read_items(
        path,
        script_items,
        Metadata(language=subtitles.language),
        f"{text_without_tags(decoded.text)} {' '.join(converter.added_names)}",
        [decoded.remark, remark if rolled_up_count else None],
        choices,
    )


# -- roll-up captions ------------------------------------------------------------------------------


def _omit_rolled_up_rows(cues: Sequence[SubtitleCue]) -> int:
    """Leaves out rows that repeat those of the previous cue, if captions roll up.

    Returns the number of these rows.
    """
    repeated_lines: list[CueLine] = []
    repeating_cues = 0
    for previous, cue in pairwise(cues):
        previous_rows, rows = (
            [" ".join(line.text.split()) for line in each.lines] for each in (previous, cue)
        )
        is_next = cue.start - previous.end <= _ROLL_UP_PAUSE
        max_count = min(len(previous_rows), len(rows)) if is_next else 0
        counts = range(max_count, 0, -1)
        count = next((n for n in counts if previous_rows[-n:] == rows[:n]), 0)
        repeating_cues += count > 0
        repeated_lines += cue.lines[:count]
    if repeating_cues < max(2, _MIN_ROLL_UP_SHARE * len(cues)):
        return 0
    for line in repeated_lines:
        line.runs = omit_runs(line.runs, "shown again")
    return len(repeated_lines)


# -- speakers --------------------------------------------------------------------------------------


class _Subtitles:
    """Converts the cues of a file to script elements with speakers."""

    def __init__(self, name: str, cues: Sequence[SubtitleCue]) -> None:
        self.file = name
        rows = [line.text for cue in cues for line in cue.lines]
        self.mixed_case_names = _mixed_case_speakers(rows)
        """Names in mixed case that are speakers."""
        self.added_names: list[str] = []
        """Names that are added to the document, but are not in the source."""
        self.pieces = [piece for cue in cues for piece in self._split_cue(cue)]
        named_count = sum(piece.name is not None for piece in self.pieces)
        has_chevrons = any(map(_CHEVRONS.match, rows))
        are_named = named_count >= _MIN_NAMED_SHARE * len(self.pieces)
        self.speaker_continues = are_named or has_chevrons
        """True if a speaker continues until another is named."""

    def _split_cue(self, cue: SubtitleCue) -> list[_CuePiece]:
        """Returns the pieces of a cue in order."""
        pieces = [piece for line in cue.lines for piece in self._split_line(cue, line)]
        pieces = pieces or [_CuePiece("dialogue", [], cue)]
        pieces[0].is_first = True
        return pieces

    def _split_line(self, cue: SubtitleCue, line: CueLine) -> list[_CuePiece]:
        """Returns the pieces of a line; the first has the speaker, if one is named."""
        name = line.voice if line.begins_voice else None
        runs, is_speaker_change, aside = line.runs, False, ""
        for speaker_mark in (_CHEVRONS, _DASH):
            if mark := speaker_mark.match(_spoken_text(runs)):
                runs, is_speaker_change = _drop_characters(runs, mark.end()), True
        if name is None and (label := self._match_label(_spoken_text(runs))):
            name, aside = label["name"].strip(), label.groupdict().get("aside") or ""
            runs = _drop_characters(runs, label.end())
        is_sung = "♪" in line.text or "♫" in line.text
        pieces = [_CuePiece(kind, part, cue) for kind, part in _split_sounds(runs, is_sung)]
        if not pieces and (name or runs):
            pieces = [_CuePiece("dialogue", runs, cue)]
        for piece in pieces[:1]:
            piece.name, piece.aside, piece.is_speaker_change = name, aside, is_speaker_change
        return pieces

    def _match_label(self, text: str) -> re.Match[str] | None:
        """Matches the speaker's label at the beginning of a row."""
        if label := _SPEAKER.match(text):
            return label
        label = _NAME.match(text)
        name = label["name"].strip() if label else ""
        is_short = len(name.split()) <= _MAX_CAPITAL_WORDS
        is_capital_name = is_capitals(name) and _looks_like_name(name) and is_short
        return label if is_capital_name or name in self.mixed_case_names else None

    # -- paragraphs --------------------------------------------------------------------------------

    def build_items(self) -> Iterator[ScriptItem]:
        """Yields the elements of the script."""
        for paragraph in self._build_paragraphs():
            source = f"{self.file}:{paragraph.first.cue.row}"
            yield from (
                omitted_item(text_without_tags(head), TIMES, source) for head in paragraph.cue_heads
            )
            if paragraph.is_scene:
                yield ScriptItem("break", [], source)
            yield from self._paragraph_items(paragraph, source)

    def _paragraph_items(self, paragraph: _SpokenParagraph, source: str) -> Iterator[ScriptItem]:
        """Yields the elements of a paragraph: a speech, a sound, narration or omitted text."""
        first = paragraph.first
        paragraph_text = text_of(paragraph.runs)
        if not any(map(str.isalnum, paragraph_text)):
            runs = [ScriptRun(f"{first.name or ''} {first.aside} ", omission_reason="nothing said")]
            yield ScriptItem("omitted", [*runs, *paragraph.runs], source)
        elif first.kind == "sound":
            name_runs = [ScriptRun(f"{first.name}: ")] if first.name else []
            yield ScriptItem("action", [*name_runs, *paragraph.runs], source)
        elif paragraph.speaker is None:
            yield ScriptItem("sung", paragraph.runs, source)
        else:
            if first.name is None:
                self.added_names.append(paragraph.speaker)
            cue = [ScriptRun(f"{paragraph.speaker} {first.aside}")]
            yield ScriptItem("speech", cue, source, parts=[SpeechPart(paragraph.runs)])

    def _build_paragraphs(self) -> list[_SpokenParagraph]:
        """Joins pieces into paragraphs."""
        paragraphs: list[_SpokenParagraph] = []
        for previous, piece in zip([None, *self.pieces], self.pieces, strict=False):
            above = paragraphs[-1] if paragraphs else None
            if previous is None or above is None or self._begins_paragraph(above, previous, piece):
                paragraphs.append(_SpokenParagraph(piece, self._paragraph_speaker(above, piece)))
                silence = piece.cue.start - previous.cue.end if previous else 0.0
                paragraphs[-1].is_scene = silence >= _SCENE_PAUSE
            elif piece.name is not None:
                above.runs.append(
                    ScriptRun(f" {piece.name} {piece.aside} ", omission_reason="name, again")
                )
            paragraph = paragraphs[-1]
            paragraph.cue_heads += [piece.cue.head] * piece.is_first
            separator = "\n" if piece.kind == "sung" and paragraph.runs else " "
            paragraph.runs += [ScriptRun(separator), *piece.runs]
            text = text_of(piece.runs)
            paragraph.word_count += count_words(text) or 1
            paragraph.is_ended = bool(_SENTENCE_END.fullmatch(text)) if text else paragraph.is_ended
        return paragraphs

    def _begins_paragraph(
        self, paragraph: _SpokenParagraph, previous: _CuePiece, piece: _CuePiece
    ) -> bool:
        """Returns whether a piece begins a new paragraph."""
        silence = piece.cue.start - previous.cue.end
        is_other_kind = piece.kind != paragraph.first.kind or piece.kind == "sound"
        is_other_speaker = piece.is_speaker_change or piece.name not in (None, paragraph.speaker)
        if is_other_kind or is_other_speaker or piece.aside:
            return True
        if not paragraph.is_ended:
            return paragraph.word_count > _MAX_WORDS_TO_CUE or silence >= _MID_SENTENCE_PAUSE
        is_unnamed = piece.is_first and not (piece.name or self.speaker_continues)
        is_end_of_speech = bool(paragraph.speaker) and is_unnamed
        is_long = paragraph.word_count > _MAX_WORDS_TO_SENTENCE
        return is_end_of_speech or is_long or silence >= _SENTENCE_PAUSE

    def _paragraph_speaker(self, previous: _SpokenParagraph | None, piece: _CuePiece) -> str | None:
        """Returns the speaker of a paragraph that begins with a piece; None for the narrator."""
        if piece.name is not None or previous is None:
            return piece.name
        if piece.is_speaker_change or (piece.kind == "sung" != previous.first.kind):
            return None
        continues = self.speaker_continues or previous.first.kind == "sound"
        return previous.speaker if continues else None


def _mixed_case_speakers(rows: Sequence[str]) -> frozenset[str]:
    """Returns names in mixed case that begin enough rows to be speakers."""
    bare_rows = (_DASH.sub("", _CHEVRONS.sub("", row, count=1), count=1) for row in rows)
    labels = filter(None, map(_NAME.match, bare_rows))
    counts = Counter(label["name"] for label in labels)
    names = [name for name in counts if not is_capitals(name) and _looks_like_name(name)]
    named_row_count = sum(counts[name] for name in names)
    if named_row_count >= _MIN_NAMED_SHARE * len(rows) and named_row_count > min(2, len(rows) - 1):
        return frozenset(names)
    min_rows = max(3, _MIN_NAME_SHARE * len(rows))
    return frozenset(name for name in names if counts[name] >= min_rows)


_SMALL_WORDS = ("de", "von", "van", "la", "le", "the", "of", "and", "&", "#")


def _looks_like_name(name: str) -> bool:
    """Returns whether the words before a colon may be a name."""
    words = [word for word in name.split() if word.casefold() not in _SMALL_WORDS]
    are_capitals = all(
        word[0].isupper() or word[0].isdigit() or not word[0].isalnum() for word in words
    )
    return are_capitals and may_name(name) and len(name.split()) <= _MAX_NAME_WORDS


def _spoken_text(runs: Sequence[ScriptRun]) -> str:
    return "".join(run.text for run in runs if run.omission_reason is None)


def _drop_characters(runs: Sequence[ScriptRun], count: int) -> list[ScriptRun]:
    """Removes the first characters from runs, not counting left-out runs."""
    shortened_runs = []
    for run in runs:
        dropped_count = min(count, len(run.text)) if run.omission_reason is None else 0
        count -= dropped_count
        shortened_runs.append(replace(run, text=run.text[dropped_count:]))
    return [run for run in shortened_runs if run.text]


def _split_sounds(
    runs: Sequence[ScriptRun], is_sung: bool
) -> Iterator[tuple[PieceKind, list[ScriptRun]]]:
    """Splits runs into speech or song and sounds in brackets."""
    text = _spoken_text(runs)
    is_sound = [False] * (len(text) + 1)
    """Whether each character belongs to a sound; the last value stands for the end."""
    for bracketed in _BRACKETED.finditer(text):
        begin, end = bracketed.span()
        is_music = _MUSIC_NOTES.fullmatch(bracketed[0])
        if not is_music and (text[begin] in "[［" or _is_bracketed_sound(text, begin, end)):
            is_sound[begin:end] = [True] * (end - begin)
    # Left-out runs at the end belong to what stands before them.
    is_sound[-1] = is_sound[-2] if text else False
    runs_by_kind: list[tuple[bool, ScriptRun]] = []
    """Runs, and whether each is a sound."""
    position = 0
    for run in runs:
        if run.omission_reason is not None:
            runs_by_kind.append((is_sound[position], run))
            continue
        end = position + len(run.text)
        for is_sound_part, indexes in groupby(range(position, end), key=is_sound.__getitem__):
            part = "".join(text[index] for index in indexes)
            part_run = replace(run, text=_MUSIC_NOTES.sub("", part))
            runs_by_kind.append((is_sound_part, part_run))
        position = end
    for is_sound_part, pairs in groupby(runs_by_kind, key=itemgetter(0)):
        part_runs = [run for _, run in pairs]
        if any(run.text.strip() for run in part_runs):
            yield "sound" if is_sound_part else "sung" if is_sung else "dialogue", part_runs


def _is_bracketed_sound(text: str, begin: int, end: int) -> bool:
    """Returns whether text in round brackets is a sound: between sentences, or in capitals."""
    text_before, text_after = text[:begin].strip(" -–—"), text[end:].strip(" \"'“‘-–—")
    is_after_sentence = not text_before or bool(_SENTENCE_END.fullmatch(text_before))
    return text[begin:end].isupper() or (is_after_sentence and not text_after[:1].islower())
