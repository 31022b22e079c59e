"""Annotated chapters of novels in several languages: their format, and how an attribution scores.

A file of `chapters/` has a header (title, author, language, source, who says "I", and a line
`A = Ada Bell; Ada` for each speaker with its aliases), an empty line, and the text, a paragraph to
a line. `{A}` begins speech of Ada, `{}` narration; a paragraph ends its speech. An empty line is a
scene break. `{X}` is somebody outside the cast, whose words are not scored.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from narrator.text.speakers import SURE_CERTAINTY, Attribution, Character, attribute
from narrator.text.speakers.names import name_words

CHAPTERS = sorted(Path(__file__).with_name("chapters").glob("*.txt"))
_UNSCORED = "X"
_MARK = re.compile(r"\{(\w?)\}")


@dataclass(frozen=True, slots=True)
class Speech:
    """What one speaker says in one paragraph: a quotation, in one piece or more."""

    paragraph: int
    speaker: str
    """Main name of a member of the cast, or `X`."""
    spans: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class AnnotatedChapter:
    """A chapter, or a longer part of one, with the speaker of each quotation."""

    title: str
    language: str
    cast: tuple[Character, ...]
    first_person: str | None
    """Who says "I" in the narration."""
    paragraphs: tuple[str, ...]
    speeches: tuple[Speech, ...]


@dataclass(frozen=True, slots=True)
class Score:
    """Counts over the quotations of a chapter."""

    quotations: int
    right: int
    sure: int
    sure_right: int
    narration: int
    """Letters of narration in paragraphs with speech."""
    spoken_narration: int
    """Those of them that a character would speak."""

    def __add__(self, other: Score) -> Score:
        return Score(
            self.quotations + other.quotations,
            self.right + other.right,
            self.sure + other.sure,
            self.sure_right + other.sure_right,
            self.narration + other.narration,
            self.spoken_narration + other.spoken_narration,
        )


def read_chapter(path: Path) -> AnnotatedChapter:
    header, _, text = path.read_text(encoding="utf-8").partition("\n\n")
    fields = dict(line.split(": ", 1) for line in header.splitlines() if " = " not in line)
    cast: dict[str, Character] = {}
    for line in header.splitlines():
        code, separator, names = line.partition(" = ")
        if separator:
            name, *aliases = names.split("; ")
            cast[code] = Character(name, tuple(aliases))
    paragraphs: list[str] = []
    speeches: list[Speech] = []
    for line in text.strip("\n").split("\n"):
        if not line:
            paragraphs.append("* * *")
        else:
            speeches += _speeches(line, len(paragraphs), cast)
            paragraphs.append(_MARK.sub("", line))
    return AnnotatedChapter(
        fields["title"],
        fields["language"],
        tuple(cast.values()),
        fields.get("first person"),
        tuple(paragraphs),
        tuple(speeches),
    )


def _speeches(line: str, paragraph: int, cast: Mapping[str, Character]) -> Iterator[Speech]:
    """Yields the quotations of a marked paragraph, pieces of one speaker together."""
    code, offset = "", 0
    spans: list[tuple[str, int, int]] = []
    for part in re.split(r"(\{\w?\})", line):
        if mark := _MARK.fullmatch(part):
            code = mark[1]
        elif part:
            if code:
                spans.append((code, offset, offset + len(part)))
            offset += len(part)
    while spans:
        code = spans[0][0]
        own_count = next((n for n, span in enumerate(spans) if span[0] != code), len(spans))
        own_spans, spans = spans[:own_count], spans[own_count:]
        name = _UNSCORED if code == _UNSCORED else cast[code].name
        yield Speech(paragraph, name, tuple((start, stop) for _, start, stop in own_spans))


def attributed(chapter: AnnotatedChapter, *, finds_cast: bool) -> Attribution:
    """Attributes a chapter's quotations, with its cast given or found."""
    cast = () if finds_cast else chapter.cast
    first_person = None if finds_cast else chapter.first_person
    return attribute(
        [chapter.paragraphs], cast, language=chapter.language, first_person=first_person
    )


def score(chapter: AnnotatedChapter, attribution: Attribution) -> Score:
    """Compares an attribution with the annotation: a quotation is right if its speaker says more of
    its letters than anybody else, or than nobody."""
    names = {
        member.name: match.name
        for member in attribution.cast
        if (match := match_character(member, chapter.cast)) is not None
    }
    speakers: list[list[tuple[str, float] | None]] = [[None] * len(p) for p in chapter.paragraphs]
    for row in attribution.quotations:
        if row.speaker is not None:
            cells = speakers[row.quotation.paragraph]
            speaker = names.get(row.speaker, f"?{row.speaker}")
            for offset in range(row.quotation.start, row.quotation.stop):
                cells[offset] = (speaker, row.certainty)
    quotations = right = sure = sure_right = 0
    spoken = [[False] * len(paragraph) for paragraph in chapter.paragraphs]
    for speech in chapter.speeches:
        text, cells = chapter.paragraphs[speech.paragraph], speakers[speech.paragraph]
        votes: Counter[tuple[str, float] | None] = Counter()
        for start, stop in speech.spans:
            spoken[speech.paragraph][start:stop] = [True] * (stop - start)
            votes.update(
                cells[o] for o in range(start, stop) if text[o].isalpha() or stop - start < 9
            )
        if speech.speaker == _UNSCORED:
            continue
        best = votes.most_common(1)[0][0]
        is_right = best is not None and best[0] == speech.speaker
        is_sure = best is not None and best[1] >= SURE_CERTAINTY
        quotations, right = quotations + 1, right + is_right
        sure, sure_right = sure + is_sure, sure_right + (is_sure and is_right)
    narration = [
        cells[offset] is not None
        for text, cells, marks in zip(chapter.paragraphs, speakers, spoken, strict=True)
        for offset, is_spoken in enumerate(marks)
        if any(marks) and not is_spoken and text[offset].isalpha()
    ]
    return Score(quotations, right, sure, sure_right, len(narration), sum(narration))


def match_character(member: Character, cast: tuple[Character, ...]) -> Character | None:
    """Returns the character of the cast that shares a name with a found one, or None."""
    member_names = {name_words(name) for name in member.names}
    for character in cast:
        if member_names & {name_words(name) for name in character.names}:
            return character
    member_words = {word for name in member_names for word in name}
    for character in cast:
        if member_words & set(name_words(character.name)[-1:]):
            return character
    return None
