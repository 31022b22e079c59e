"""A stretch of text is given to a speaker, or two speakers are swapped in it."""

from __future__ import annotations

import pytest

from narrator.errors import UsageError
from narrator.pipeline import edits
from narrator.pipeline.edits import Stretch
from tests import edited

SCRIPT = """\
Ada: Not far now. If the map is right.

Ben (softly): It never was.

The road was *long*. {Mrs Hale: Who is there? Speak up.} Nobody spoke.

Ada: We {Ben (low): hush} are only passing by.
"""
NOVEL = """\
“I know this road,” said Ada, “and you do not.”

It rained. “Do I not?” said Ben. “We shall see.” He went on.

“One.” “Two.”
"""
ROWS = """\
# Who says what in one.md. Change a name, and it is yours: no run changes it again.
Ada | rule tag 0.98 Ada | “I know this road,”
+ | rule tag 0.98 + | “and you do not.”
Ben | rule tag 0.98 Ben | “Do I not?”
Ben | rule tag 0.98 Ben | “We shall see.”
"""
ALONE = "Ada: I am here.\n\nAnd here.\n\nBen: So am I.\n\nAnd still.\n"


def stretch(book, first, last):
    """From the first words to the last ones."""
    numbers = [book.steps.index(edited.step(book, words)) for words in (first, last)]
    steps = book.steps[numbers[0] : numbers[1] + 1]
    start = steps[0].chunk.text.index(first)
    stop = steps[-1].chunk.text.index(last) + len(last)
    return Stretch(steps, start, stop)


def swapped(path, first, last, *pair):
    book = edited.plan(path)
    edited.made(path, edits.swap_edit(book, stretch(book, first, last), *pair))


def given(path, first, last, *how):
    book = edited.plan(path)
    edited.made(path, edits.give_edit(book, stretch(book, first, last), *how))


def test_a_stretch_is_given_to_somebody_new(tmp_path):
    path = edited.write(tmp_path, NOVEL, rows=ROWS)
    book = edited.plan(path)
    person = edits.new_person(book.project, "Tom")
    chosen = stretch(book, "“Do I", "We shall see.”")
    edited.made(path, edits.give_edit(book, chosen, "Tom", edits.QUOTED, person))
    assert [text for names, _, text in edited.said(path) if names == "Tom"]
    assert "Tom" in edited.project(path).speakers


@pytest.mark.parametrize(
    ("first", "last", "old", "new"),
    {
        "a whole turn": ("Not far", "right.", "Ada: Not", "Ben: Not"),
        "a part of a turn": ("If the", "right.", "If the map is right.",
                             "{Ben: If the map is right.}"),
        "words of a sentence": ("the map", "the map", "the map", "{Ben: the map}"),
        "two turns": ("Not far", "never was.", "Ada: Not", "Ben: Not"),
        "braces": ("Who is", "Speak up.", "{Mrs Hale: Who", "{Ben: Who"),
        "a part of braces": ("Speak up.", "Speak up.", "Speak up.", "{Ben: Speak up.}"),
        "narration": ("Nobody", "spoke.", "Nobody spoke.", "{Ben: Nobody spoke.}"),
        "a turn around another's word": ("We", "passing by.", "Ada: We", "Ben: We"),
        "the beginning of such a turn": ("We", "We", "Ada: We", "Ada: {Ben: We}"),
    }.values(),
)  # fmt: skip
def test_marks_of_a_script_are_changed_and_nothing_else(tmp_path, first, last, old, new):
    path = edited.write(tmp_path, SCRIPT)
    given(path, first, last, "Ben")
    assert (tmp_path / "one.md").read_text() == SCRIPT.replace(old, new)
    edits.undo(edited.project(path))
    assert (tmp_path / "one.md").read_text() == SCRIPT


def test_two_speakers_are_swapped_over_a_script(tmp_path):
    path = edited.write(tmp_path, SCRIPT)
    swapped(path, "Not far", "passing by.", "Ada", "Ben")
    swap = {"Ada": "Ben", "Ben (low)": "Ada (low)", "Ben (softly)": "Ada (softly)"}
    expected = SCRIPT
    for old, new in swap.items():
        expected = expected.replace(f"{old}:", f"<{new}>:")
    assert (tmp_path / "one.md").read_text() == expected.replace("<", "").replace(">", "")


def test_two_speakers_are_swapped_over_a_novel_by_rows(tmp_path):
    path = edited.write(tmp_path, NOVEL, rows=ROWS)
    swapped(path, "“I know", "said Ben.", "Ada", "Ben")
    said = {text: names for names, _, text in edited.said(path)}
    assert said["“I know this road,”"] == said["“and you do not.”"] == "Ben"
    assert (said["“Do I not?”"], said["“We shall see.”"]) == ("Ada", "Ben")
    assert (tmp_path / "one.md").read_text() == NOVEL


def test_what_is_quoted_in_a_stretch_is_given_and_the_narration_stays(tmp_path):
    path = edited.write(tmp_path, NOVEL, rows=ROWS)
    given(path, "It rained", "“Two.”", "Mrs Hale", edits.QUOTED)
    said = {text: names for names, _, text in edited.said(path)}
    assert said["“Do I not?”"] == said["“We shall see.”"] == said["“One.” “Two.”"] == "Mrs Hale"
    assert said["He went on."] == "narrator"
    assert (tmp_path / "one.md").read_text() == NOVEL


def test_what_one_says_in_a_stretch_is_given_to_another(tmp_path):
    path = edited.write(tmp_path, SCRIPT)
    given(path, "Not far", "passing by.", "Mrs Hale", "Ada")
    assert (tmp_path / "one.md").read_text() == SCRIPT.replace("Ada:", "Mrs Hale:")


def test_narration_is_given_together_with_what_is_quoted_in_it(tmp_path):
    path = edited.write(tmp_path, NOVEL, rows=ROWS)
    given(path, "It rained", "He went on.", "Mrs Hale")
    said = [text for names, _, text in edited.said(path) if names == "Mrs Hale"]
    assert said == ["It rained. “Do I not?” said Ben. “We shall see.” He went on."]
    edits.undo(edited.project(path))
    assert (tmp_path / "one.speakers.txt").read_text() == ROWS
    assert (tmp_path / "one.md").read_text() == NOVEL


def test_a_part_of_a_quotation_is_given_and_its_rest_keeps_its_speaker(tmp_path):
    path = edited.write(tmp_path, NOVEL, rows=ROWS)
    given(path, "this", "this", "Mrs Hale")
    said = [(names, text) for names, _, text in edited.said(path)]
    assert said[:5] == [
        ("Ada", "“I know"),
        ("Mrs Hale", "this"),
        ("Ada", "road,”"),
        ("narrator", "said Ada,"),
        ("Ada", "“and you do not.”"),
    ]
    assert "I know" not in (tmp_path / "one.speakers.txt").read_text()


def test_text_after_a_label_keeps_its_speaker_outside_of_the_stretch(tmp_path):
    manifest = edited.MANIFEST.replace("  narrator: {}\n", "")
    path = edited.write(tmp_path, ALONE, manifest)
    before = edited.said(path)
    given(path, "I am here.", "I am here.", "Mrs Hale")
    here, there = ("Mrs Hale", None, "I am here."), ("Ada", None, "And here.")
    assert edited.said(path) == [here, there, *before[1:]]
    edits.undo(edited.project(path))
    swapped(path, "I am here.", "And still.", "Ada", "Ben")
    lines = ALONE.split("\n\n")
    lines[0], lines[2] = lines[0].replace("Ada", "Ben"), lines[2].replace("Ben", "Ada")
    assert (tmp_path / "one.md").read_text() == "\n\n".join(lines)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda book, part: edits.give_edit(book, part, "Nobody"), "not in the cast"),
        (lambda book, part: edits.give_edit(book, part, "Ben", "Mrs Hale"), "nothing in these"),
        (lambda book, part: edits.swap_edit(book, part, "Ada", "Ada"), "not the same"),
        (lambda book, part: edits.swap_edit(book, part, "Ada", "narrator"), "narration"),
        (lambda book, part: edits.swap_edit(book, part, "Ben", "Mrs Hale"), "nothing in these"),
    ],
)
def test_what_changes_nothing_is_refused(tmp_path, change, said):
    book = edited.plan(edited.write(tmp_path, SCRIPT))
    with pytest.raises(UsageError, match=said):
        change(book, stretch(book, "Not far", "right."))
