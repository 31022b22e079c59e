from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from narrator.pipeline import proof_notes
from narrator.pipeline.proof_notes import Note
from textbase.characters import strip_invisible


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("3 00:12:34 — “bow” as in arrow", Note(1, "“bow” as in arrow", "", 3, 754)),
        ("Chapter 3, 12:34: wrong name", Note(1, "wrong name", "", 3, 754)),
        ("ch. 12 - 1:02:03.5 | slow", Note(1, "slow", "", 12, 3723.5)),
        ("- [00:00:01,250] breath", Note(1, "breath", "", None, 1.25)),
        ("12:34", Note(1, "", "", None, 754)),
        ("3.12 too fast", Note(1, "too fast", "3.12")),
        ("754.25\t756.000000\ttoo fast", Note(1, "too fast", "", None, 754.25)),
        ("12:34 at 13:00 he shouts", Note(1, "at 13:00 he shouts", "", None, 754)),
    ],
)
def test_a_line_says_when_and_what(text, note):
    assert list(proof_notes.read_notes(text)) == [note]


@pytest.mark.parametrize(
    "text", ["", "Dear Ada,", "He came at noon.", "3", "1:2 odds", "\0", "\ufeff"]
)
def test_what_names_no_place_is_no_note(text):
    assert all(one.is_unread for one in proof_notes.read_notes(text))


def test_lines_with_words_and_no_place_are_told():
    read = list(proof_notes.read_notes("Dear Ada,\n***\n\n12:34 slow\nyours, Ben\n"))
    assert [(one.line, one.words) for one in read if one.is_unread] == [
        (1, "Dear Ada,"), (5, "yours, Ben"),
    ]  # fmt: skip


def test_a_heading_is_the_chapter_of_what_follows():
    text = (
        "Pickups for Ada\n\n## Chapter 2: The Hall\n0:10 a\n\nCHAPTER 4\n0:20 b\n7 0:30 c\n0:40 d\n"
    )
    read = list(proof_notes.read_notes(text))
    found = [(one.line, one.chapter, one.words) for one in read if not one.is_unread]
    assert found == [(4, 2, "a"), (7, 4, "b"), (8, 7, "c"), (9, 4, "d")]


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_tables_are_read_by_the_names_of_their_columns(mark):
    rows = [
        ["Who", "Chapter", "Timecode", "Comment"],
        ["me", "Chapter 3", "00:12:34", '"two\nlines"'],
        ["", "", "", ""],
        ["me", "", "0:05", "'=2+2"],
        ["me", "4", "later", "none"],
    ]
    text = "\r\n".join(mark.join(row) for row in rows)
    assert list(proof_notes.read_notes(text)) == [
        Note(2, "two lines", "", 3, 754),
        Note(5, "=2+2", "", None, 5),
        Note(6, "me 4 later none", is_unread=True),
    ]


_SHAPES = st.characters(exclude_categories=["C", "Z"]).filter(
    lambda letter: strip_invisible(letter) != ""
)
CELLS = st.text(_SHAPES | st.sampled_from("'=+-@\"),;"), min_size=1, max_size=20)


@given(CELLS)
@example("'=")
@example("''-1")
@example("'tis")
def test_a_cell_is_no_formula_and_is_read_as_it_was(cell):
    written = proof_notes.escape_formula(cell)
    assert written[0] not in "=+-@"
    assert proof_notes.read_table(f'a\n"{written.replace(chr(34), chr(34) * 2)}"\n')[1][0][1] == [
        cell
    ]


@given(st.text(max_size=200))
def test_nothing_that_somebody_writes_is_too_odd(text):
    for note in proof_notes.read_notes(text):
        assert note.seconds >= 0
        assert note.chunk or note.words is not None
