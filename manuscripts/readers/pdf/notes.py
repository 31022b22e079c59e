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
    last_note_id: str | None = None
    """Id of the note at the end of the previous page; None if it ends without one."""
    for page_number, lines in enumerate(map(remaining, pages), 1):
        note_ids: dict[str, str] = {}
        """Ids of the page's notes by their marks."""
        for _, column_lines in groupby(lines, key=lambda line: line.column):
            id_prefix = f"note-{page_number}-"
            note_ids |= _mark_column_notes(
                list(column_lines), size, id_prefix, last_note_id, len(note_ids)
            )
        last_note_id = next((line.note_id for line in reversed(lines) if line.note_id), None)
        for line in lines:
            if line.note_id is None:
                line.runs = list(_split_references(line, note_ids))


def _mark_column_notes(
    lines: Sequence[TextLine],
    size: float,
    id_prefix: str,
    last_note_id: str | None,
    note_count: int,
) -> dict[str, str]:
    """Sets the note id of lines at the foot of a column; returns ids of new notes by mark.

    `last_note_id` is that of the note with which the previous page ends, `note_count` the number of
    notes so far on this page.
    """
    first_note_line = len(lines)
    while first_note_line and lines[first_note_line - 1].size <= size * _SMALL_RATIO:
        first_note_line -= 1
    if not first_note_line:
        return {}  # all in small type: nothing that the notes could be below
    note_ids: dict[str, str] = {}
    note_lines = lines[first_note_line:]
    left_edge = min((line.x0 for line in note_lines), default=0.0)
    note_id = last_note_id if _is_note_start(note_lines) else None
    for line in note_lines:
        mark = _leading_mark(line, left_edge, size)
        if mark is not None and mark not in note_ids:
            note_id = note_ids[mark] = f"{id_prefix}{note_count + len(note_ids) + 1}"
            if line.runs[0].is_raised and len(line.runs) > 1:
                line.runs[1] = replace(line.runs[1], text=f" {line.runs[1].text}")
        line.note_id = note_id
    return note_ids


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


def _split_references(line: TextLine, note_ids: dict[str, str]) -> Iterator[Run]:
    """Yields the runs of a line, with references to notes, whose ids are given by mark, as separate
    runs."""
    previous_text = ""
    for run in line.runs:
        match = _RAISED_MARK.fullmatch(run.text) if run.is_raised else None
        if match and _is_reference(match[1], previous_text, is_known=match[1] in note_ids):
            yield replace(run, note_id=note_ids.get(match[1], ""))
        elif not run.is_raised and note_ids:
            yield from _split_at_symbols(run, note_ids)
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


def _split_at_symbols(run: Run, note_ids: dict[str, str]) -> Iterator[Run]:
    """Splits a run at symbols that refer to notes and are not raised: `word*`."""
    position = 0
    for match in _SYMBOLS.finditer(run.text):
        if match[1] in note_ids:
            yield replace(run, text=run.text[position : match.start()])
            yield replace(run, text=match[1], note_id=note_ids[match[1]])
            position = match.end()
    yield replace(run, text=run.text[position:])
