"""Writes marks into a chapter's text: braces with speakers, labels, and spoken forms of words.

The place of words among a paragraph's markup is guessed. The new text is read again, and counts
only if the chapter is the same except for the intended change. Knows no steps and no files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from narrator.errors import Problem, UsageError, UserError
from narrator.pipeline.edits.aligning import aligned
from narrator.pipeline.edits.texts import ChapterText, Place, Source
from narrator.text.labels import LABEL, Attribution
from narrator.text.lines import AttributedSpan, Line, SpokenForm
from narrator.text.markup import squeeze

_BRACE_WITH_SPEAKERS = re.compile(r"\{[^\\{}|:：\n]{1,400}[:：][^\S\n]*")
_LIST_PREFIX = re.compile(r"(?:[^\S\n]*(?:>|[-*+](?=\s)|\d{1,9}[.)](?=\s)))*")
_LIST_NUMBER = re.compile(r"(?:\d{1,9}[.)]\s*)+")


def put_in_braces(
    text: ChapterText, place: Place, span: tuple[int, int], attribution: Attribution
) -> ChapterText:
    """The chapter with words of a paragraph put into braces with their speakers.

    Raises UsageError if that cannot be written.
    """
    line, source = text.line(place), text.source(place)
    start, stop = _trim_span(line.text, *span)
    list_number = _LIST_NUMBER.match(line.text)
    starts = [start] if start or not list_number else [start, list_number.end()]
    for begin in starts:
        new_stretch = AttributedSpan(begin, stop, *attribution)
        intended_line = replace(
            line, attributed_spans=_sort_stretches([*line.attributed_spans, new_stretch])
        )
        for start_offset, end_offset in _find_spans(source.text, line.text, begin, stop):
            words = source.text[start_offset:end_offset]
            before, after = source.text[:start_offset], source.text[end_offset:]
            new_source = f"{before}{{{format_label(attribution)} {words}}}{after}"
            if changed := _apply_if_intended(text, place, source, new_source, intended_line):
                return changed
    raise _cannot_write_error(text, line, f"put {{{format_label(attribution)} …}} around the words")


def replace_speakers_in_braces(
    text: ChapterText, place: Place, old_stretch: AttributedSpan, attribution: Attribution
) -> ChapterText | None:
    """The chapter with other speakers in existing braces; None if there are none."""
    line, source = text.line(place), text.source(place)
    other_stretches = list(line.attributed_spans)
    other_stretches.remove(old_stretch)
    intended_line = replace(
        line,
        attributed_spans=_sort_stretches(
            [*other_stretches, replace(old_stretch, speakers=attribution[0], style=attribution[1])]
        ),
    )
    for brace_match in _BRACE_WITH_SPEAKERS.finditer(source.text):
        before, after = source.text[: brace_match.start()], source.text[brace_match.end() :]
        new_source = f"{before}{{{format_label(attribution)} {after}"
        if changed := _apply_if_intended(text, place, source, new_source, intended_line):
            return changed
    return None


def replace_label(text: ChapterText, place: Place, attribution: Attribution) -> ChapterText | None:
    """The chapter with another label before a paragraph; None if it has no label.

    In books without a narrator, paragraphs after it without a label may get the new speaker as
    well.
    """
    line, source = text.line(place), text.source(place)
    speakers, style = attribution
    inner_stretches = [
        stretch for stretch in line.attributed_spans if not _is_unison(stretch, line)
    ]
    unison_stretches = (
        [AttributedSpan(0, len(line.text), speakers, style)] if len(speakers) > 1 else []
    )
    intended_line = replace(
        line,
        speaker=speakers[0],
        style=style,
        attributed_spans=(*unison_stretches, *inner_stretches),
    )
    if len(source.item) == 5:
        changed = text.with_label(source, format_label(attribution)[:-1])
        return (
            changed
            if _is_intended_change(text, changed, place, intended_line, must_keep_speakers=False)
            else None
        )
    prefix_match = _LIST_PREFIX.match(source.text)
    begin = prefix_match.end() if prefix_match else 0
    label_match = LABEL.match(source.text, begin)
    if label_match is None or not text.roles.find_speakers(squeeze(label_match["name"])):
        return None
    spacing = source.text[begin : label_match.start("name")]
    label_with_colon = format_label(attribution)[:-1] + label_match["colon"]
    new_source = (
        f"{source.text[:begin]}{spacing}{label_with_colon}{source.text[label_match.end() :]}"
    )
    return _apply_if_intended(
        text, place, source, new_source, intended_line, must_keep_speakers=False
    )


def set_spoken_form(
    text: ChapterText, place: Place, span: tuple[int, int], spoken_form: str
) -> ChapterText:
    """The chapter with another spoken form for words of a paragraph. Raises UsageError."""
    line, source = text.line(place), text.source(place)
    start, stop = span
    other_forms = [form for form in line.spoken_forms if (form.start, form.stop) != span]
    if any(form.start < stop and start < form.stop for form in other_forms):
        words = line.text[start:stop]
        raise UsageError(f"“{words}” is part of what is said otherwise already: edit the text")
    is_new = len(other_forms) == len(line.spoken_forms)
    says = sorted(
        [*other_forms, SpokenForm(start, stop, squeeze(spoken_form))], key=lambda say: say.start
    )
    intended_line = replace(line, spoken_forms=tuple(says))
    escaped = re.sub(r"[\\{}|]", r"\\\g<0>", squeeze(spoken_form))
    escaped_words = re.sub(r"[\\{}|]", r"\\\g<0>", line.text[start:stop])
    for start_offset, end_offset in _find_spans(source.text, line.text, start, stop):
        for words in dict.fromkeys((source.text[start_offset:end_offset], escaped_words)):
            text_before, text_after = source.text[:start_offset], source.text[end_offset:]
            if is_new:
                new_source = f"{text_before}{{{words}|{escaped}}}{text_after}"
            else:
                remainder = re.sub(r"\A\|(?:[^{}|\\]|\\.)*\}", "", text_after, flags=re.DOTALL)
                new_source = f"{text_before}{words}|{escaped}}}{remainder}"
            if changed := _apply_if_intended(text, place, source, new_source, intended_line):
                return changed
    raise _cannot_write_error(text, line, f"write {{{escaped_words}|{escaped}}}")


def format_label(attribution: Attribution) -> str:
    """A label, with its colon."""
    speakers, style = attribution
    return f"{' & '.join(speakers)}{f' ({style})' if style else ''}:"


def _trim_span(text: str, start: int, stop: int) -> tuple[int, int]:
    words = text[start:stop]
    return start + len(words) - len(words.lstrip()), stop - (len(words) - len(words.rstrip()))


def _sort_stretches(stretches: Sequence[AttributedSpan]) -> tuple[AttributedSpan, ...]:
    return tuple(sorted(stretches, key=lambda given: (given.start, -given.stop)))


def _is_unison(stretch: AttributedSpan, line: Line) -> bool:
    """True if a stretch stands for a label with several speakers."""
    return (stretch.start, stretch.stop) == (0, len(line.text)) and stretch.speakers[
        0
    ] == line.speaker


def _cannot_write_error(text: ChapterText, line: Line, advice: str) -> UsageError:
    problem = Problem(
        text.path, line.line, f"this cannot be written by itself here: {advice} yourself"
    )
    return UsageError(problem)


def _find_spans(source: str, text: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Yields the possible spans of words in the source, with or without the marks around them."""
    character_spans = aligned(source, text)
    if character_spans is None:
        return
    start_offset, end_offset = character_spans[start][0], character_spans[stop - 1][1]
    text_before = source[character_spans[start - 1][1] if start else 0 : start_offset]
    text_after = source[end_offset : character_spans[stop][0] if stop < len(text) else len(source)]
    wide_span = (
        start_offset - len(re.split(r"\s", text_before)[-1]),
        end_offset + len(re.split(r"\s", text_after)[0]),
    )
    yield from dict.fromkeys(
        [
            (start_offset, end_offset),
            wide_span,
            (start_offset, wide_span[1]),
            (wide_span[0], end_offset),
        ]
    )


# -- read again ------------------------------------------------------------------------------------


def _apply_if_intended(
    text: ChapterText,
    place: Place,
    source: Source,
    new_source: str,
    intended_line: Line,
    *,
    must_keep_speakers: bool = True,
) -> ChapterText | None:
    """The chapter with this text, if that makes the intended change and no other.

    With `must_keep_speakers` false, speakers of other lines may change.
    """
    try:
        changed = text.with_text(source, new_source)
    except UserError:
        return None
    return (
        changed
        if _is_intended_change(
            text, changed, place, intended_line, must_keep_speakers=must_keep_speakers
        )
        else None
    )


def _is_intended_change(
    before: ChapterText,
    after: ChapterText,
    place: Place,
    intended_line: Line,
    *,
    must_keep_speakers: bool,
) -> bool:
    """True if two chapters differ in one line only, which has to be the intended one.

    With `must_keep_speakers` false, speakers of other lines may differ.
    """
    normalize: Callable[[Line], Line] = _without_rows if must_keep_speakers else _without_speaker
    old_scenes, new_scenes = before.chapter.scenes, after.chapter.scenes
    if [len(scene.lines) for scene in old_scenes] != [len(scene.lines) for scene in new_scenes]:
        return False
    for scene_number, (old_scene, new_scene) in enumerate(zip(old_scenes, new_scenes, strict=True)):
        for line_number, (old_line, new_line) in enumerate(
            zip(old_scene.lines, new_scene.lines, strict=True)
        ):
            if Place(scene_number, line_number) == place:
                is_same = _without_language(new_line) == _without_language(intended_line)
            else:
                is_same = normalize(old_line) == normalize(new_line)
            if not is_same:
                return False
    return True


def _without_rows(line: Line) -> Line:
    return replace(line, source_lines=())


def _without_language(line: Line) -> Line:
    return replace(line, source_lines=(), language="", is_narration=False)


def _without_speaker(line: Line) -> Line:
    return replace(line, source_lines=(), language="", is_narration=False, speaker="")
