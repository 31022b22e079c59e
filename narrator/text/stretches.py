"""Paragraphs -> lines of one speaker each: by what the text gives to others, then by what is
decided of quotations in its narration.

Loses nothing: the lines of a paragraph have all of its text but white space, pauses, marks and said
words, each where it stood. What nobody is quoted in stays as it is. Knows no files, and nothing of
how it was decided.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from narrator.text.labels import Roles
from narrator.text.letters import by_letters
from narrator.text.lines import Chapter, Given, LeftOut, Line, Scene
from narrator.text.quotations import quotations
from narrator.text.tags import tag_end

SKIPPED = "says who speaks; `dialogue.tags` skips it"
"""Why a tag is left out."""

# Marks go with the quotation that they stand at: closing ones, and those that end its clause.
_CLOSING = re.compile(r"[,.;:!?…”’\"'»›)\]}]+(?=[\s—–-]|\Z)|[，。、！？；：…”’」』】〉》）]+")
_OPENING = re.compile(r"(?:\A|(?<=[\s—–-]))[“‘«„‹「『【《〈（(\[¿¡\"']+\Z")
_NUMBERS = re.compile(r"(?:\d{1,9}[.)]\s*)+")
"""Of list items, which are said with what follows."""


@dataclass(frozen=True, slots=True)
class Quoted:
    """A quotation in the narration of a chapter, or a piece of one: `line.text[start:stop]`."""

    passage: int
    """Its place in `passages`."""
    scene: int
    place: int
    """Of the line in its scene."""
    line: Line
    start: int
    stop: int
    goes_on: bool
    """Whether it goes on the last quotation of the paragraph before."""

    @property
    def text(self) -> str:
        return self.line.text[self.start : self.stop]


_PARTS_NARRATION = "."
"""Stands for what is no narration: no quotation goes on over it."""

_Place = tuple[int, int, Line]
"""Scene, place in it, line."""


def _places(chapter: Chapter) -> Iterator[_Place | None]:
    """The paragraphs of narration; None for another one, and for the end of a scene."""
    for number, scene in enumerate(chapter.scenes):
        for place, line in enumerate(scene.lines):
            yield (number, place, line) if line.is_narration else None
        yield None


def passages(chapter: Chapter) -> list[str]:
    """The narration of a chapter that has not been parted, by paragraphs, as quotations are looked
    for in it."""
    return [one[2].text if one else _PARTS_NARRATION for one in _places(chapter)]


def quoted(chapter: Chapter) -> tuple[Quoted, ...]:
    """The quotations of a chapter that has not been parted, in order: those of its narration that
    the text gives to nobody."""
    places = list(_places(chapter))
    found: list[Quoted] = []
    for one in quotations(passages(chapter), chapter.language):
        if place := places[one.paragraph]:
            line = place[2]
            if not any(g.start < one.stop and one.start < g.stop for g in line.given):
                found.append(Quoted(one.paragraph, *place, one.start, one.stop, one.goes_on))
    return tuple(found)


def parted(
    chapter: Chapter,
    said: Mapping[Quoted, Sequence[str]],
    roles: Roles,
    tags: str = "narrator",
) -> Chapter:
    """The chapter with lines of one speaker each.

    `said` is who says a quotation, several in unison; what is not in it, the narrator says. `tags`
    is as in the manifest.
    """
    own: dict[tuple[int, int], list[Given]] = {}
    for one, speakers in said.items():
        if speakers:
            decided = Given(one.start, one.stop, tuple(speakers))
            own.setdefault((one.scene, one.place), []).append(decided)
    scenes: list[list[Line]] = []
    left: list[LeftOut] = []
    changed = False
    for number, scene in enumerate(chapter.scenes):
        scenes.append([])
        for place, line in enumerate(scene.lines):
            given = own.get((number, place), [])
            if not (given or line.given):
                scenes[-1].append(line)
                continue
            changed = True
            scenes[-1] += _Paragraph(line, given, roles, chapter.language).lines(tags, left)
    if not changed:
        return chapter
    based = [[_in_own_language(line, roles, chapter) for line in scene] for scene in scenes]
    marked = (line.language for scene in based for line in scene if line.is_marked)
    declared = [*roles.declared, chapter.language, *roles.languages.values(), *marked]
    foreign = by_letters(based, list(dict.fromkeys(declared)))
    left_out = sorted((*chapter.left_out, *left), key=lambda item: item.line)
    return replace(
        chapter,
        scenes=tuple(Scene(tuple(scene)) for scene in based),
        left_out=tuple(left_out),
        foreign=foreign,
    )


def _in_own_language(line: Line, roles: Roles, chapter: Chapter) -> Line:
    """A line before its letters are looked at."""
    language = roles.languages.get(line.speaker, chapter.language)
    return line if line.is_marked or line.language == language else replace(line, language=language)


@dataclass(frozen=True, slots=True)
class _Part:
    """`text[start:stop]` of a paragraph, and whose it is; nobody's is left out."""

    start: int
    stop: int
    speakers: tuple[str, ...]
    style: str | None
    is_quoted: bool
    """Whether somebody is quoted, and not the paragraph's own speaker."""

    def joins(self, other: _Part) -> bool:
        return (self.speakers, self.style) == (other.speakers, other.style)


class _Paragraph:
    """A line of a whole paragraph that is parted."""

    def __init__(self, line: Line, said: Sequence[Given], roles: Roles, language: str) -> None:
        self.line = line
        self.given = sorted((*line.given, *said), key=lambda one: one.start)
        self.languages = roles.languages
        self.language = language

    def lines(self, tags: str, left: list[LeftOut]) -> Iterator[Line]:
        """Its lines; what is left out of it is added to `left`."""
        parts = self._joined(self._with_marks(self._parts()))
        if tags != "narrator":
            parts = self._joined(list(self._tagged(parts, tags)))
        text = self.line.text
        spoken = [part for part in parts if part.speakers]
        for part in parts:
            if not part.speakers:
                number = self.line.number_at(part.start)
                gone = text[part.start : part.stop].strip()
                left.append(LeftOut(self.line.path, number, gone, SKIPPED))
        edges = [0, *(part.start for part in spoken[1:]), len(text) + 1]
        for n, part in enumerate(spoken):
            yield from self._said(part, edges[n], edges[n + 1])

    # -- whose is what

    def _parts(self) -> list[_Part]:
        """The paragraph from its first character to its last; an inner part wins."""
        line, whole = self.line, len(self.line.text)
        stack = [_Part(0, whole, (line.speaker,), line.style, is_quoted=False)]
        found: list[_Part] = []
        at = 0

        def up_to(stop: int) -> int:
            if stop > at:
                found.append(replace(stack[-1], start=at, stop=stop))
            return max(at, stop)

        for one in self.given:
            while one.start >= stack[-1].stop and len(stack) > 1:
                at = up_to(stack[-1].stop)
                stack.pop()
            at = up_to(one.start)
            stop = min(one.stop, stack[-1].stop)
            stack.append(_Part(one.start, stop, one.speakers, one.style, is_quoted=True))
        while stack:
            at = up_to(stack[-1].stop)
            stack.pop()
        return found

    def _with_marks(self, parts: Sequence[_Part]) -> list[_Part]:
        """The parts with the marks at their edges where they belong, and no word parted that is
        said otherwise."""
        text, cuts = self.line.text, [part.stop for part in parts[:-1]]
        for n, cut in enumerate(cuts):
            low = cuts[n - 1] if n else 0
            ends = parts[n].is_quoted and not text[cut - 1].isspace()
            begins = parts[n + 1].is_quoted
            if ends and (closing := _CLOSING.match(text, cut)):
                cut = closing.end()
            elif begins and (opening := _OPENING.search(text, low, cut)):
                cut = opening.start()
            cut = next((s.stop for s in self.line.says if s.start < cut < s.stop), cut)
            cuts[n] = max(low, cut)
        edges = [0, *cuts, len(text)]
        return [
            replace(part, start=edges[n], stop=max(edges[n], edges[n + 1]))
            for n, part in enumerate(parts)
        ]

    def _joined(self, parts: Sequence[_Part]) -> list[_Part]:
        """Parts that each have something to say, neighbours of different speakers."""
        text = self.line.text
        found: list[_Part] = []
        ahead: int | None = None
        for n, part in enumerate(parts):
            said = text[part.start : part.stop]
            is_number = n == 0 and bool(_NUMBERS.fullmatch(said)) and len(parts) > 1
            if is_number or not any(map(str.isalnum, said)):
                if found:
                    found[-1] = replace(found[-1], stop=part.stop)
                elif ahead is None:
                    ahead = part.start
                continue
            if ahead is not None:
                part, ahead = replace(part, start=ahead), None
            if found and found[-1].joins(part):
                found[-1] = replace(found[-1], stop=part.stop)
            else:
                found.append(part)
        return found or [replace(parts[0], stop=parts[-1].stop)]

    def _tagged(self, parts: Sequence[_Part], tags: str) -> Iterator[_Part]:
        """The parts with those who are quoted saying their tags too, or with nobody saying them."""
        text = self.line.text
        for n, part in enumerate(parts):
            before = parts[n - 1] if n else None
            end = 0
            if before and before.is_quoted and not part.is_quoted and self.line.is_narration:
                quotation = text[before.start : before.stop]
                end = tag_end(text[part.start : part.stop], quotation, self.line.language)
            if end and before:
                whose = (before.speakers, before.style) if tags == "speaker" else ((), None)
                yield _Part(part.start, part.start + end, *whose, is_quoted=False)
                part = replace(part, start=part.start + end)
            if part.start < part.stop:
                yield part

    # -- lines

    def _said(self, part: _Part, begin: int, end: int) -> Iterator[Line]:
        """The lines of a part, one for each of its speakers, with the pauses and marks that stand
        from `begin` to `end`."""
        line, text = self.line, self.line.text
        stop = part.start + len(text[part.start : part.stop].rstrip())
        start = stop - len(text[part.start : stop].lstrip())

        def place(at: int) -> int:
            return min(max(at, start), stop) - start

        first = replace(
            line,
            speaker=part.speakers[0],
            text=text[start:stop],
            line=line.number_at(start),
            language=self._language(part.speakers[0]),
            style=part.style,
            says=tuple(
                replace(say, start=say.start - start, stop=say.stop - start)
                for say in line.says
                if start <= say.start and say.stop <= stop
            ),
            rests=tuple(replace(r, at=place(r.at)) for r in line.rests if begin <= r.at < end),
            marks=tuple(replace(m, at=place(m.at)) for m in line.marks if begin <= m.at < end),
            goes_on=begin > 0,
            is_close=begin > 0 and not text[start - 1].isspace(),
            given=(),
            is_narration=line.is_narration and not part.is_quoted,
            rows=tuple((at - start, number) for at, number in line.rows if start < at < stop),
            begin=start,
        )
        yield first
        for speaker in part.speakers[1:]:
            language = self._language(speaker)
            yield replace(
                first, speaker=speaker, language=language, rests=(), marks=(), with_before=True
            )

    def _language(self, speaker: str) -> str:
        """What somebody's part is said in, before its letters are looked at."""
        own = self.languages.get(speaker, self.language)
        return self.line.language if self.line.is_marked else own
