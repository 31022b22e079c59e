"""Detects footnotes in small type at the foot of a page, and the marks that refer to them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from manuscripts.readers.pdf.lines import Run, TextLine, remaining

_SMALL_RATIO = 0.93
"""Maximum size of notes, relative to the text."""
_NOTE_MARK = re.compile(
    r"\s*[\[(]?(\d{1,3}|[*∗†‡§¶‖#]{1,3}|[a-z](?=[\s).\]]))(?![\d,:])[\])]?[.)]?\s*"
)
_RAISED_MARK = re.compile(r"\s*[\[(]?(\d{1,3}|[*∗†‡§¶‖#]{1,3}|[a-z])[\])]?,?\s*")
_SYMBOLS = re.compile(r"(?<=\S)([*∗†‡§¶‖]{1,3})(?=[\s.,;:!?”’\"')\]—–-]|$)")


def mark_notes(pages: Sequence[Sequence[TextLine]], size: float) -> None:
    """Marks the lines of footnotes and the references to them; `size` is that of the text."""
    last_note: str | None = None
    """Id of the note at the end of the previous page; None if it ends without one."""
    for page_index, lines in enumerate(map(remaining, pages)):
        notes: dict[str, str] = {}
        for _, column in groupby(lines, key=lambda line: line.column):
            notes |= _mark_column_notes(
                list(column), size, f"{page_index + 1}", last_note, len(notes)
            )
        last_note = next((line.note_id for line in reversed(lines) if line.note_id), None)
        for line in lines:
            if line.note_id is None:
                line.runs = list(_split_references(line, notes))


def _mark_column_notes(
    lines: Sequence[TextLine], size: float, page: str, last_note: str | None, count: int
) -> dict[str, str]:
    """Sets the note id of lines at the foot of a column; returns ids of new notes by mark.

    `last_note` is the note that the previous page ends with, `count` the number of notes so far.
    """
    first_note_line = len(lines)
    while first_note_line and lines[first_note_line - 1].size <= size * _SMALL_RATIO:
        first_note_line -= 1
    if not first_note_line:
        return {}  # all in small type: nothing that the notes could be below
    notes: dict[str, str] = {}
    note_lines = lines[first_note_line:]
    left_edge = min((line.x0 for line in note_lines), default=0.0)
    current = last_note if _is_note_start(note_lines) else None
    for line in note_lines:
        mark = _leading_mark(line, left_edge, size)
        if mark is not None and mark not in notes:
            current = f"note-{page}-{count + len(notes) + 1}"
            notes[mark] = current
            if line.runs[0].is_raised and len(line.runs) > 1:
                line.runs[1] = replace(line.runs[1], text=f" {line.runs[1].text}")
        line.note_id = current
    return notes


def _is_note_start(lines: Sequence[TextLine]) -> bool:
    """Returns whether lines in small type begin or continue a note."""
    return bool(lines) and (
        len(lines) > 1
        or lines[0].text.lstrip()[:1].islower()
        or _NOTE_MARK.match(lines[0].text) is not None
    )


def _leading_mark(line: TextLine, left_edge: float, size: float) -> str | None:
    """Returns the mark at the beginning of a note's line; None for none."""
    first_run = line.runs[0]
    if first_run.is_raised and (match := _RAISED_MARK.fullmatch(first_run.text)):
        return match[1]
    if line.x0 - left_edge > size * 2.5:
        return None
    match = _NOTE_MARK.match(line.text)
    if match is None or match.end() == len(line.text):
        return None
    return match[1] if not match[1].isalpha() else None


def _split_references(line: TextLine, notes: dict[str, str]) -> Iterator[Run]:
    """Yields the runs of a line, with references to notes as separate runs."""
    previous_text = ""
    for run in line.runs:
        match = _RAISED_MARK.fullmatch(run.text) if run.is_raised else None
        if match is not None and _is_reference(match[1], previous_text, match[1] in notes):
            yield replace(run, note_id=notes.get(match[1], ""))
        elif not run.is_raised and notes:
            yield from _split_at_symbols(run, notes)
        else:
            yield run
        previous_text = run.text or previous_text


def _is_reference(mark: str, previous_text: str, is_known: bool) -> bool:
    """Returns whether a raised mark refers to a note, and is no exponent of a number or unit."""
    word = re.search(r"(\w*)\W*$", previous_text)
    letters = word[1] if word else ""
    if letters.isdigit() and len(letters) < 4 and previous_text.endswith(letters):
        return False
    if is_known:
        return True
    follows_punctuation = previous_text.rstrip()[-1:] in ".,;:!?”’\"')"
    return mark.isdigit() and (follows_punctuation or (len(letters) > 2 and letters.isalpha()))


def _split_at_symbols(run: Run, notes: dict[str, str]) -> Iterator[Run]:
    """Splits a run at note symbols that are not raised: `word*`."""
    position = 0
    for match in _SYMBOLS.finditer(run.text):
        if match[1] in notes:
            yield replace(run, text=run.text[position : match.start()])
            yield replace(run, text=match[1], note_id=notes[match[1]])
            position = match.end()
    yield replace(run, text=run.text[position:])
