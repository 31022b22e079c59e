"""Footnotes: lines in small type at the foot of a page, and the raised marks that lead to them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from narrator.importers.readers.pdf.lines import Run, TextLine

_SMALLER = 0.93
"""Times the size of the text."""
_MARK = re.compile(r"\s*[\[(]?(\d{1,3}|[*∗†‡§¶‖#]{1,3}|[a-z](?=[\s).\]]))(?![\d,:])[\])]?[.)]?\s*")
_RAISED_MARK = re.compile(r"\s*[\[(]?(\d{1,3}|[*∗†‡§¶‖#]{1,3}|[a-z])[\])]?,?\s*")
_SIGNS = re.compile(r"(?<=\S)([*∗†‡§¶‖]{1,3})(?=[\s.,;:!?”’\"')\]—–-]|$)")


def find_notes(pages: Sequence[Sequence[TextLine]], size: float) -> None:
    """Mark the lines of footnotes, and what refers to them; `size` is that of the text."""
    last: str | None = None
    """Of the page before, if it ends with a note."""
    for number, lines in enumerate(pages):
        kept = [line for line in lines if line.left is None]
        notes: dict[str, str] = {}
        ended = None
        for _, column in groupby(kept, key=lambda line: line.column):
            found = _notes_of(list(column), size, f"{number + 1}", last, len(notes))
            notes |= found
            ended = next((line.note for line in reversed(kept) if line.note), None)
        last = ended
        for line in kept:
            if line.note is None:
                line.runs = list(_referring(line, notes))


def _notes_of(
    lines: Sequence[TextLine], size: float, page: str, last: str | None, count: int
) -> dict[str, str]:
    """Marks and ids of the notes at the foot of a column, whose lines are marked."""
    first = len(lines)
    while first and lines[first - 1].size <= size * _SMALLER:
        first -= 1
    if not first:
        return {}  # all in small type: no foot of anything
    notes: dict[str, str] = {}
    edge = min((line.x0 for line in lines[first:]), default=0.0)
    current = last
    if last is not None and not _begins(lines[first:]):
        current = None
    for line in lines[first:]:
        mark = _mark_of(line, edge, size)
        if mark is not None and mark not in notes:
            current = f"note-{page}-{count + len(notes) + 1}"
            notes[mark] = current
            _set_apart(line)
        line.note = current
    return notes


def _set_apart(line: TextLine) -> None:
    """A space behind the raised mark of a note."""
    if line.runs[0].raised and len(line.runs) > 1 and not line.runs[1].text[:1].isspace():
        line.runs[1] = replace(line.runs[1], text=f" {line.runs[1].text}")


def _begins(lines: Sequence[TextLine]) -> bool:
    """Whether what is in small type goes on with a note or begins one: some mark is near."""
    return bool(lines) and (
        len(lines) > 1
        or lines[0].text.lstrip()[:1].islower()
        or _MARK.match(lines[0].text) is not None
    )


def _mark_of(line: TextLine, edge: float, size: float) -> str | None:
    """The mark that a line of a note begins with."""
    first = line.runs[0]
    if first.raised and (found := _RAISED_MARK.fullmatch(first.text)):
        return found[1]
    if line.x0 - edge > size * 2.5:
        return None
    found = _MARK.match(line.text)
    if found is None or found.end() == len(line.text):
        return None
    return found[1] if not found[1].isalpha() else None


def _referring(line: TextLine, notes: dict[str, str]) -> Iterator[Run]:
    """The runs of a line, marks of notes apart."""
    before = ""
    for run in line.runs:
        raised = _RAISED_MARK.fullmatch(run.text) if run.raised else None
        if raised is not None and _is_mark(raised[1], before, raised[1] in notes):
            yield replace(run, note=notes.get(raised[1], ""))
        elif not run.raised and notes:
            yield from _with_signs(run, notes)
        else:
            yield run
        before = run.text or before


def _is_mark(mark: str, before: str, is_known: bool) -> bool:
    """Whether a raised mark is a note's, on this page or elsewhere: no power, and no unit's."""
    word = re.search(r"(\w*)\W*$", before)
    letters = word[1] if word else ""
    if letters.isdigit() and len(letters) < 4 and before.endswith(letters):
        return False
    if is_known:
        return True
    closed = before.rstrip()[-1:] in ".,;:!?”’\"')"
    return mark.isdigit() and (closed or (len(letters) > 2 and letters.isalpha()))


def _with_signs(run: Run, notes: dict[str, str]) -> Iterator[Run]:
    """A run, the signs of notes in it apart that are not raised: `word*`."""
    place = 0
    for found in _SIGNS.finditer(run.text):
        if found[1] in notes:
            yield replace(run, text=run.text[place : found.start()])
            yield replace(run, text=found[1], note=notes[found[1]])
            place = found.end()
    yield replace(run, text=run.text[place:])
