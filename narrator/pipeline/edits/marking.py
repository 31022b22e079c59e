"""Marks put into a chapter's text, or changed: braces that give words to somebody, labels, and what
words are said as.

Where words stand among a paragraph's markup is guessed; what is written is read again, and counts
where the chapter is the same but for what was meant. Knows no steps and no files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from narrator.errors import Problem, UsageError, UserError
from narrator.pipeline.edits.aligning import aligned
from narrator.pipeline.edits.texts import ChapterText, Place, Source
from narrator.text.labels import LABEL, Attribution
from narrator.text.lines import Given, Line, Say
from narrator.text.markup import squeeze

_HEAD = re.compile(r"\{[^\\{}|:：\n]{1,400}[:：][^\S\n]*")
_PREFIX = re.compile(r"(?:[^\S\n]*(?:>|[-*+](?=\s)|\d{1,9}[.)](?=\s)))*")
_NUMBERS = re.compile(r"(?:\d{1,9}[.)]\s*)+")

Way = tuple[str, int, int]
"""A new text of a source, and which of the words at its place it is meant for."""


def given(text: ChapterText, place: Place, span: tuple[int, int], to: Attribution) -> ChapterText:
    """The chapter with words of a paragraph in braces that give them to others.

    Raises UsageError where that cannot be written.
    """
    line, source = text.line(place), text.source(place)
    start, stop = _trimmed(line.text, *span)
    number = _NUMBERS.match(line.text)
    starts = [start] if start or not number else [start, number.end()]
    for begin in starts:
        new = Given(begin, stop, *to)
        meant = replace(line, given=_sorted([*line.given, new]))
        for left, right in _spans(source.text, line.text, begin, stop):
            words = source.text[left:right]
            written = f"{source.text[:left]}{{{head(to)} {words}}}{source.text[right:]}"
            if found := _read(text, place, source, written, meant):
                return found
    raise _in_vain(text, line, f"put {{{head(to)} …}} around the words")


def given_otherwise(
    text: ChapterText, place: Place, old: Given, to: Attribution
) -> ChapterText | None:
    """The chapter with other names in braces that are there; None where there are none."""
    line, source = text.line(place), text.source(place)
    others = list(line.given)
    others.remove(old)
    meant = replace(line, given=_sorted([*others, replace(old, speakers=to[0], style=to[1])]))
    for mark in _HEAD.finditer(source.text):
        written = f"{source.text[: mark.start()]}{{{head(to)} {source.text[mark.end() :]}"
        if found := _read(text, place, source, written, meant):
            return found
    return None


def labelled(text: ChapterText, place: Place, to: Attribution) -> ChapterText | None:
    """The chapter with another label before a paragraph; None where it has none.

    Where no narrator speaks what has no label, what follows may become the new speaker's too.
    """
    line, source = text.line(place), text.source(place)
    speakers, style = to
    inner = [one for one in line.given if not _is_unison(one, line)]
    unison = [Given(0, len(line.text), speakers, style)] if len(speakers) > 1 else []
    meant = replace(line, speaker=speakers[0], style=style, given=(*unison, *inner))
    if len(source.item) == 5:
        found = text.labelled(source, head(to)[:-1])
        return found if _is_meant(text, found, place, meant, others=False) else None
    prefix = _PREFIX.match(source.text)
    begin = prefix.end() if prefix else 0
    label = LABEL.match(source.text, begin)
    if label is None or not text.roles.named(squeeze(label["name"])):
        return None
    space = source.text[begin : label.start("name")]
    colon = head(to)[:-1] + label["colon"]
    written = f"{source.text[:begin]}{space}{colon}{source.text[label.end() :]}"
    return _read(text, place, source, written, meant, others=False)


def said(text: ChapterText, place: Place, span: tuple[int, int], spoken: str) -> ChapterText:
    """The chapter with words of a paragraph said otherwise. Raises UsageError."""
    line, source = text.line(place), text.source(place)
    start, stop = span
    others = [one for one in line.says if (one.start, one.stop) != span]
    if any(one.start < stop and start < one.stop for one in others):
        words = line.text[start:stop]
        raise UsageError(f"“{words}” is part of what is said otherwise already: edit the text")
    is_new = len(others) == len(line.says)
    says = sorted([*others, Say(start, stop, squeeze(spoken))], key=lambda one: one.start)
    meant = replace(line, says=tuple(says))
    escaped = re.sub(r"[\\{}|]", r"\\\g<0>", squeeze(spoken))
    plain = re.sub(r"[\\{}|]", r"\\\g<0>", line.text[start:stop])
    for left, right in _spans(source.text, line.text, start, stop):
        for words in dict.fromkeys((source.text[left:right], plain)):
            before, after = source.text[:left], source.text[right:]
            if is_new:
                written = f"{before}{{{words}|{escaped}}}{after}"
            else:
                rest = re.sub(r"\A\|(?:[^{}|\\]|\\.)*\}", "", after, flags=re.DOTALL)
                written = f"{before}{words}|{escaped}}}{rest}"
            if found := _read(text, place, source, written, meant):
                return found
    raise _in_vain(text, line, f"write {{{plain}|{escaped}}}")


def head(to: Attribution) -> str:
    """A label, with its colon."""
    speakers, style = to
    return f"{' & '.join(speakers)}{f' ({style})' if style else ''}:"


def _trimmed(text: str, start: int, stop: int) -> tuple[int, int]:
    words = text[start:stop]
    return start + len(words) - len(words.lstrip()), stop - (len(words) - len(words.rstrip()))


def _sorted(given: Sequence[Given]) -> tuple[Given, ...]:
    return tuple(sorted(given, key=lambda one: (one.start, -one.stop)))


def _is_unison(one: Given, line: Line) -> bool:
    """Whether a label gives a paragraph to several."""
    return (one.start, one.stop) == (0, len(line.text)) and one.speakers[0] == line.speaker


def _in_vain(text: ChapterText, line: Line, what: str) -> UsageError:
    where = Problem(text.path, line.line, f"this cannot be written by itself here: {what} yourself")
    return UsageError(where)


def _spans(source: str, text: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Where words of a paragraph may stand in its source: with the marks around them, or without,
    at either end."""
    found = aligned(source, text)
    if found is None:
        return
    left, right = found[start][0], found[stop - 1][1]
    before = source[found[start - 1][1] if start else 0 : left]
    after = source[right : found[stop][0] if stop < len(text) else len(source)]
    wide = left - len(re.split(r"\s", before)[-1]), right + len(re.split(r"\s", after)[0])
    yield from dict.fromkeys([(left, right), wide, (left, wide[1]), (wide[0], right)])


# -- read again ------------------------------------------------------------------------------------


def _read(
    text: ChapterText,
    place: Place,
    source: Source,
    written: str,
    meant: Line,
    *,
    others: bool = True,
) -> ChapterText | None:
    """The chapter with this text, if it says then what is meant."""
    try:
        found = text.written(source, written)
    except UserError:
        return None
    return found if _is_meant(text, found, place, meant, others=others) else None


def _is_meant(
    before: ChapterText, after: ChapterText, place: Place, meant: Line, *, others: bool
) -> bool:
    """Whether a chapter is the same but for one line; with `others`, who speaks the rest, too."""
    key: Callable[[Line], Line] = _without_rows if others else _without_speaker
    ours, theirs = before.chapter.scenes, after.chapter.scenes
    if [len(scene.lines) for scene in ours] != [len(scene.lines) for scene in theirs]:
        return False
    for n, (old, new) in enumerate(zip(ours, theirs, strict=True)):
        for m, (one, other) in enumerate(zip(old.lines, new.lines, strict=True)):
            if Place(n, m) == place:
                same = _without_language(other) == _without_language(meant)
            else:
                same = key(one) == key(other)
            if not same:
                return False
    return True


def _without_rows(line: Line) -> Line:
    return replace(line, rows=())


def _without_language(line: Line) -> Line:
    return replace(line, rows=(), language="", is_narration=False)


def _without_speaker(line: Line) -> Line:
    return replace(line, rows=(), language="", is_narration=False, speaker="")
