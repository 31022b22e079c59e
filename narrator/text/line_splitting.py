"""Split paragraphs into lines of one speaker each.

Spans that the text gives to speakers come first, then the speakers decided for quotations in the
narration. Nothing is lost: the lines of a paragraph keep all of its text but white space, with its
pauses, marks and spoken forms. A paragraph without such spans stays as it is. Knows no files, and
nothing of how speakers were decided.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from narrator.text.labels import Roles
from narrator.text.letters import set_languages_by_letters
from narrator.text.lines import AttributedSpan, Chapter, Line, OmittedText, Scene
from narrator.text.quotations import nested_quotations, quotations
from narrator.text.tags import tag_end

OMITTED_TAG_REASON = "says who speaks; `dialogue.tags` skips it"
"""Reason for leaving out a speech tag."""

# Marks go with the adjacent quotation: closing ones, and those that end its clause.
_CLOSING_MARKS = re.compile(r"[,.;:!?…”’\"'»›)\]}]+(?=[\s—–-]|\Z)|[，。、！？；：…”’」』】〉》）]+")
_OPENING_MARKS = re.compile(r"(?:\A|(?<=[\s—–-]))[“‘«„‹「『【《〈（(\[¿¡\"']+\Z")
_LIST_NUMBERS = re.compile(r"(?:\d{1,9}[.)]\s*)+")
"""Numbers of list items, which are spoken with the text that follows."""


@dataclass(frozen=True, slots=True)
class NarrationQuote:
    """A quotation in a chapter's narration, or a piece of one: `line.text[start:stop]`."""

    passage: int
    """Its index in `narration_passages`."""
    scene: int
    place: int
    """Index of the line in its scene."""
    line: Line
    start: int
    stop: int
    continues_previous: bool
    """True if it continues the last quotation of the paragraph before."""
    is_nested: bool = False
    """True if it lies within the quotation before it that is not nested: a tale."""

    @property
    def text(self) -> str:
        return self.line.text[self.start : self.stop]


_NARRATION_BREAK = "."
"""Placeholder for text that is not narration: no quotation continues across it."""

_LinePlace = tuple[int, int, Line]
"""Index of the scene, index of the line in it, and the line."""


def _narration_paragraphs(chapter: Chapter) -> Iterator[_LinePlace | None]:
    """Yields the paragraphs of narration; None for any other one and for the end of a scene."""
    for scene_index, scene in enumerate(chapter.scenes):
        for line_index, line in enumerate(scene.lines):
            yield (scene_index, line_index, line) if line.is_narration else None
        yield None


def narration_passages(chapter: Chapter) -> list[str]:
    """Returns the paragraphs of an unsplit chapter in which quotations are searched for.

    Paragraphs that are not narration are placeholders.
    """
    return [
        place[2].text if place else _NARRATION_BREAK for place in _narration_paragraphs(chapter)
    ]


def find_quotes(chapter: Chapter, *, with_nested: bool = False) -> tuple[NarrationQuote, ...]:
    """Returns the quotations in an unsplit chapter's narration, in order, but for those that the
    text gives to speakers.

    `with_nested`: also the quotations within tales, each after the one that it lies in.
    """
    paragraphs = list(_narration_paragraphs(chapter))
    quotes: list[NarrationQuote] = []
    passages = narration_passages(chapter)
    found = quotations(passages, chapter.language)
    nested = nested_quotations(passages, found, chapter.language) if with_nested else ()
    for quotation in sorted((*found, *nested), key=lambda quotation: quotation.place):
        if paragraph := paragraphs[quotation.paragraph]:
            line = paragraph[2]
            if not any(
                span.start < quotation.stop and quotation.start < span.stop
                for span in line.attributed_spans
            ):
                quotes.append(
                    NarrationQuote(
                        quotation.paragraph,
                        *paragraph,
                        quotation.start,
                        quotation.stop,
                        quotation.continues_previous,
                        quotation.is_nested,
                    )
                )
    return tuple(quotes)


def split_lines(
    chapter: Chapter,
    speakers_of: Mapping[NarrationQuote, Sequence[str]],
    roles: Roles,
    tags: str = "narrator",
) -> Chapter:
    """Splits the lines of a chapter so that each has one speaker.

    `speakers_of` maps quotations to their speakers (several in unison); the narrator speaks the
    others. `tags` is the manifest's setting.
    """
    decided_spans: dict[tuple[int, int], list[AttributedSpan]] = {}
    for quotation, speakers in speakers_of.items():
        if speakers:
            span = AttributedSpan(quotation.start, quotation.stop, tuple(speakers))
            decided_spans.setdefault((quotation.scene, quotation.place), []).append(span)
    scenes: list[list[Line]] = []
    omitted: list[OmittedText] = []
    is_changed = False
    for scene_index, scene in enumerate(chapter.scenes):
        scenes.append([])
        for line_index, line in enumerate(scene.lines):
            line_spans = decided_spans.get((scene_index, line_index), [])
            if not (line_spans or line.attributed_spans):
                scenes[-1].append(line)
                continue
            is_changed = True
            scenes[-1] += _Paragraph(line, line_spans, roles, chapter.language).lines(tags, omitted)
    if not is_changed:
        return chapter
    relabelled = [
        [_with_default_language(line, roles, chapter) for line in scene] for scene in scenes
    ]
    marked_languages = (line.language for scene in relabelled for line in scene if line.is_marked)
    languages = [*roles.declared, chapter.language, *roles.languages.values(), *marked_languages]
    foreign = set_languages_by_letters(relabelled, list(dict.fromkeys(languages)))
    left_out = sorted((*chapter.left_out, *omitted), key=lambda omission: omission.line)
    return replace(
        chapter,
        scenes=tuple(Scene(tuple(scene)) for scene in relabelled),
        left_out=tuple(left_out),
        foreign=foreign,
    )


def _with_default_language(line: Line, roles: Roles, chapter: Chapter) -> Line:
    """Returns a line in its speaker's default language, unless a language mark sets it."""
    language = roles.languages.get(line.speaker, chapter.language)
    return line if line.is_marked or line.language == language else replace(line, language=language)


class _Paragraph:
    """Splits the line of a whole paragraph."""

    def __init__(
        self, line: Line, decided_spans: Sequence[AttributedSpan], roles: Roles, language: str
    ) -> None:
        self.line = line
        self.spans = sorted(
            (*line.attributed_spans, *decided_spans), key=lambda span: (span.start, -span.stop)
        )
        self.languages = roles.languages
        self.language = language

    def lines(self, tags: str, omitted: list[OmittedText]) -> Iterator[Line]:
        """Yields the lines of the paragraph; text that is left out is added to `omitted`."""
        parts = self._join_parts(self._move_punctuation(self._divide_by_spans()))
        if tags != "narrator":
            parts = self._join_parts(list(self._reassign_tags(parts, tags)))
        text = self.line.text
        spoken_parts = [part for part in parts if part.speakers]
        for part in parts:
            if not part.speakers:
                number = self.line.source_line_at(part.start)
                omitted_text = text[part.start : part.stop].strip()
                omitted.append(
                    OmittedText(self.line.path, number, omitted_text, OMITTED_TAG_REASON)
                )
        edges = [0, *(part.start for part in spoken_parts[1:]), len(text) + 1]
        for index, part in enumerate(spoken_parts):
            yield from self._speaker_lines(part, edges[index], edges[index + 1])

    # -- parts and their speakers

    def _divide_by_spans(self) -> list[AttributedSpan]:
        """Divides the whole paragraph by its spans; an inner span wins."""
        line, length = self.line, len(self.line.text)
        open_spans = [AttributedSpan(0, length, (line.speaker,), line.style, is_quoted=False)]
        """The innermost one is last."""
        parts: list[AttributedSpan] = []
        position = 0

        def add_part(stop: int) -> None:
            """Adds the text from `position` to `stop`, which the innermost span attributes."""
            nonlocal position
            if stop > position:
                parts.append(replace(open_spans[-1], start=position, stop=stop))
                position = stop

        for span in self.spans:
            while span.start >= open_spans[-1].stop and len(open_spans) > 1:
                add_part(open_spans[-1].stop)
                open_spans.pop()
            add_part(span.start)
            open_spans.append(replace(span, stop=min(span.stop, open_spans[-1].stop)))
        while open_spans:
            add_part(open_spans[-1].stop)
            open_spans.pop()
        return parts

    def _move_punctuation(self, parts: Sequence[AttributedSpan]) -> list[AttributedSpan]:
        """Moves punctuation at edges of parts to the adjacent quotation; split no spoken form."""
        text, cuts = self.line.text, [part.stop for part in parts[:-1]]
        for index, cut in enumerate(cuts):
            previous_cut = cuts[index - 1] if index else 0
            is_end_of_quote = parts[index].is_quoted and not text[cut - 1].isspace()
            is_start_of_quote = parts[index + 1].is_quoted
            if is_end_of_quote and (closing := _CLOSING_MARKS.match(text, cut)):
                cut = closing.end()
            elif is_start_of_quote and (opening := _OPENING_MARKS.search(text, previous_cut, cut)):
                cut = opening.start()
            cut = next(
                (say.stop for say in self.line.spoken_forms if say.start < cut < say.stop), cut
            )
            cuts[index] = max(previous_cut, cut)
        edges = [0, *cuts, len(text)]
        return [
            replace(part, start=edges[index], stop=max(edges[index], edges[index + 1]))
            for index, part in enumerate(parts)
        ]

    def _join_parts(self, parts: Sequence[AttributedSpan]) -> list[AttributedSpan]:
        """Joins parts without words to neighbours, and neighbours of the same speakers."""
        text = self.line.text
        joined: list[AttributedSpan] = []
        pending_start: int | None = None
        for index, part in enumerate(parts):
            part_text = text[part.start : part.stop]
            is_number = index == 0 and bool(_LIST_NUMBERS.fullmatch(part_text)) and len(parts) > 1
            if is_number or not any(map(str.isalnum, part_text)):
                if joined:
                    joined[-1] = replace(joined[-1], stop=part.stop)
                elif pending_start is None:
                    pending_start = part.start
                continue
            if pending_start is not None:
                part, pending_start = replace(part, start=pending_start), None
            if joined and (joined[-1].speakers, joined[-1].style) == (part.speakers, part.style):
                joined[-1] = replace(joined[-1], stop=part.stop)
            else:
                joined.append(part)
        return joined or [replace(parts[0], stop=parts[-1].stop)]

    def _reassign_tags(
        self, parts: Sequence[AttributedSpan], tags: str
    ) -> Iterator[AttributedSpan]:
        """Gives speech tags to the speaker of their quotation, or to nobody."""
        text = self.line.text
        for index, part in enumerate(parts):
            previous = parts[index - 1] if index else None
            tag_length = 0
            if previous and previous.is_quoted and not part.is_quoted and self.line.is_narration:
                quotation = text[previous.start : previous.stop]
                tag_length = tag_end(text[part.start : part.stop], quotation, self.line.language)
            if tag_length and previous:
                attribution = (
                    (previous.speakers, previous.style) if tags == "speaker" else ((), None)
                )
                tag_stop = part.start + tag_length
                yield AttributedSpan(part.start, tag_stop, *attribution, is_quoted=False)
                part = replace(part, start=tag_stop)
            if part.start < part.stop:
                yield part

    # -- lines

    def _speaker_lines(self, part: AttributedSpan, begin: int, end: int) -> Iterator[Line]:
        """Yields the lines of a part, one for each of its speakers, with the pauses and marks from
        `begin` to `end`."""
        line, text = self.line, self.line.text
        stop = part.start + len(text[part.start : part.stop].rstrip())
        start = stop - len(text[part.start : stop].lstrip())

        def clamp(offset: int) -> int:
            return min(max(offset, start), stop) - start

        first = replace(
            line,
            speaker=part.speakers[0],
            text=text[start:stop],
            line=line.source_line_at(start),
            language=self._language_of(part.speakers[0]),
            style=part.style,
            spoken_forms=tuple(
                replace(say, start=say.start - start, stop=say.stop - start)
                for say in line.spoken_forms
                if start <= say.start and say.stop <= stop
            ),
            pauses=tuple(
                replace(pause, offset=clamp(pause.offset))
                for pause in line.pauses
                if begin <= pause.offset < end
            ),
            marks=tuple(
                replace(mark, offset=clamp(mark.offset))
                for mark in line.marks
                if begin <= mark.offset < end
            ),
            continues_previous=begin > 0,
            is_adjacent=begin > 0 and not text[start - 1].isspace(),
            attributed_spans=(),
            is_narration=line.is_narration and not part.is_quoted,
            source_lines=tuple(
                (offset - start, number)
                for offset, number in line.source_lines
                if start < offset < stop
            ),
            paragraph_offset=start,
        )
        yield first
        for speaker in part.speakers[1:]:
            language = self._language_of(speaker)
            yield replace(
                first, speaker=speaker, language=language, pauses=(), marks=(), with_before=True
            )

    def _language_of(self, speaker: str) -> str:
        """Returns the language of a speaker's part, before its letters are examined."""
        default_language = self.languages.get(speaker, self.language)
        return self.line.language if self.line.is_marked else default_language
