"""Other words for a paragraph: what stands around it stays, and what was decided of it."""

from __future__ import annotations

import pytest

from narrator.errors import FileChanged, ScriptError, UsageError
from narrator.pipeline import edits
from narrator.sound import audio
from tests import edited, sounds

TEXT = """\
---
draft: 2
---

## The *Road*

Ada: They had raken the road,
on a wet day.
Ben: No.

1. It was _long_. [pause 1s]

> Quoted\ttext with tabs
> and more.

Then {Ada: she went}.
"""


def paragraph(path, words):
    book = edited.plan(path)
    return edits.paragraph(book, edited.step(book, words))


@pytest.mark.parametrize(
    ("words", "first", "last"),
    [
        ("The Road", 5, 5),
        ("They had raken", 7, 8),
        ("No.", 9, 9),
        ("1. It was", 11, 11),
        ("Quoted", 13, 14),
        ("she went", 16, 16),
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_a_paragraph_is_its_lines_of_the_source(tmp_path, words, first, last, newline):
    path = edited.write(tmp_path, TEXT.replace("\n", newline), MANIFEST)
    found = paragraph(path, words)
    rows = TEXT.split("\n")[found.first - 1 : found.last]
    assert (found.first, found.last) == (first, last)
    assert found.text == "\n".join(rows)


# so that each line is spoken by itself
MANIFEST = f"pauses: {{line: 0.7}}\n{edited.MANIFEST}"


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_other_words_change_no_other_byte(tmp_path, newline, mark):
    before = mark + TEXT.replace("\n", newline)
    path = edited.write(tmp_path, before, MANIFEST)
    found = paragraph(path, "They had raken")
    edit = edits.text_edit(edited.project(path), found, found.text.replace("raken", "taken"))
    assert edit.title == "chapter 1: “raken” -> “taken”"
    edited.made(path, edit)
    assert (tmp_path / "one.md").read_bytes().decode() == before.replace("raken", "taken")


def test_the_first_line_keeps_its_mark_and_the_last_may_have_no_end(tmp_path):
    path = edited.write(tmp_path, "\ufeffIt rained.")
    found = paragraph(path, "It rained")
    assert found.text == "It rained."
    edited.made(path, edits.text_edit(edited.project(path), found, "It did.\r\n\r\nAnd how."))
    assert (tmp_path / "one.md").read_bytes().decode() == "\ufeffIt did.\n\nAnd how."


def test_lines_of_book_yaml_have_other_words(tmp_path):
    lines = (
        "chapters:\n- title: One  # first\n  lines:\n  - Ada: 'No, it''s.'  # c\n  - It rained.\n"
    )
    manifest = edited.MANIFEST.partition("chapters:")[0]
    path = edited.write(tmp_path, "", manifest + lines)
    found = paragraph(path, "No, it")
    assert (found.path, found.text) == (path, "No, it's.")
    edited.made(path, edits.text_edit(edited.project(path), found, "Yes: it's."))
    assert path.read_text() == manifest + lines.replace("'No, it''s.'", "'Yes: it''s.'")


def test_an_edit_of_older_words_is_refused_with_both(tmp_path):
    path = edited.write(tmp_path, "It rained.\n")
    found = paragraph(path, "It rained")
    (tmp_path / "one.md").write_text("It snowed.\n")
    with pytest.raises(FileChanged) as caught:
        edits.text_edit(edited.project(path), found, "It did not rain.")
    assert (caught.value.present_text, caught.value.intended_text) == (
        "It snowed.",
        "It did not rain.",
    )
    with pytest.raises(FileChanged):
        edits.text_edit(edited.project(path), paragraph(path, "snowed"), "It did.", found.sha)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no text to speak"),
        ("a\0b", "control character"),
        ("```\nIt rained.", "never closed"),
        ("It <!-- rained.", "does not end"),
    ],
)
def test_words_that_could_not_be_read_are_refused(tmp_path, text, said):
    path = edited.write(tmp_path, "It rained.\n")
    with pytest.raises(ScriptError, match=said):
        edits.text_edit(edited.project(path), paragraph(path, "It rained"), text)
    assert (tmp_path / "one.md").read_text() == "It rained.\n"


def test_half_a_character_is_written_as_a_question_mark(tmp_path):
    path = edited.write(tmp_path, "It rained.\n")
    edit = edits.text_edit(edited.project(path), paragraph(path, "It rained"), "It \ud800 did.")
    edited.made(path, edit)
    assert (tmp_path / "one.md").read_text() == "It ? did.\n"


def test_what_was_decided_of_a_quotation_stays_with_it(tmp_path):
    text = "“I know this road,” she said.\n\n“Quite another thing,” he said.\n"
    rows = "# mine\nAda | you | “I know this road,”\nBen | you | “Quite another thing,”\n"
    path = edited.write(tmp_path, text, rows=rows)
    found = paragraph(path, "I know")
    new = found.text.replace("I know this road,", "Whatever may happen now,")
    edited.made(path, edits.text_edit(edited.project(path), found, new))
    assert ("Ada", None, "“Whatever may happen now,”") in edited.said(path)
    after = (tmp_path / "one.speakers.txt").read_text()
    assert after.splitlines()[1:] == [
        "# mine",
        "Ada | you | “Whatever may happen now,”",
        "Ben | you | “Quite another thing,”",
    ]


def test_a_slip_mended_within_a_quotation_leaves_the_file_of_speakers_alone(tmp_path):
    rows = "Ada | you | “I know this raod very well,”\n"
    path = edited.write(tmp_path, "“I know this raod very well,” she said.\n", rows=rows)
    found = paragraph(path, "I know")
    new = found.text.replace("raod", "road")
    edited.made(path, edits.text_edit(edited.project(path), found, new))
    assert (tmp_path / "one.speakers.txt").read_text() == rows
    assert edited.said(path)[0][0] == "Ada"


def test_an_edit_after_which_music_has_no_scene_is_refused(tmp_path):
    manifest = (
        f"{edited.MANIFEST}music:\n  - {{file: a.wav, place: bed, chapters: [1], scene: 2}}\n"
    )
    path = edited.write(tmp_path, "It rained.\n\n* * *\n\nIt snowed.\n", manifest)
    (tmp_path / "a.wav").write_bytes(audio.encode_wav(sounds.tone(1.0), sounds.RATE))
    found = paragraph(path, "It snowed")
    with pytest.raises(ScriptError, match="has no scene 2"):
        edits.text_edit(edited.project(path), found, "***")


def test_a_chapter_that_is_a_link_outside_by_now_is_not_read(tmp_path, tmp_path_factory):
    path = edited.write(tmp_path, TEXT, MANIFEST)
    book = edited.plan(path)
    found = edits.paragraph(book, edited.step(book, "They had raken"))
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "secret.md"
    elsewhere.write_text("Nobody is to read this.\n")
    (tmp_path / "one.md").unlink()
    (tmp_path / "one.md").symlink_to(elsewhere)
    for act in (
        lambda: edits.paragraph(book, edited.step(book, "They had raken")),
        lambda: edits.text_edit(book.project, found, "x"),
        lambda: edits.say_edit(book.project, "a", "b", chunk=book.steps[0]),
        lambda: edits.speaker_edit(book, book.steps[0], "Ben"),
    ):
        with pytest.raises(UsageError, match="leads outside of the project") as caught:
            act()
        assert "Nobody" not in str(caught.value)


def test_what_was_moved_by_a_line_above_is_shown_where_it_stands_now(tmp_path):
    path = edited.write(tmp_path, TEXT, MANIFEST)
    book = edited.plan(path)
    step = edited.step(book, "They had raken")
    found = edits.paragraph(book, step)
    (tmp_path / "one.md").write_text(TEXT.replace("Ada: They", "A new one.\n\nAda: So they"))
    with pytest.raises(FileChanged) as caught:
        edits.text_edit(book.project, found, "x")
    assert caught.value.present_text == "Ada: So they had raken the road,\non a wet day."
    with pytest.raises(FileChanged) as caught:
        edits.paragraph(book, step)
    assert caught.value.present_text == "Ada: So they had raken the road,\non a wet day."
    (tmp_path / "one.md").write_text("Nothing of it.\n")
    with pytest.raises(FileChanged, match="is gone") as caught:
        edits.paragraph(book, step)
    assert caught.value.present_text == ""
