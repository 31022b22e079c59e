"""Another speaker for what a chunk says: by its row, its label, its braces, or new ones."""

from __future__ import annotations

import pytest

from narrator.errors import FileChanged, UsageError
from narrator.pipeline import edits
from tests import edited

SCRIPT = """\
# One

Ada: Not far now, I should think, if the map is right.
Ben (softly): It never was.

The road was *long*, and it was wet & cold. {Mrs Hale (far off): Who is there?} Nobody spoke.

Ada & Ben: We are only passing by, good lady.
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
# he is sure of it
Ben | rule tag 0.98 Ben | “Do I not?”
? | rule none 0.00 ? | “We shall see.”
"""


def changed(path, words, speaker, style=None, meant=""):
    """Make the edit, and give what the chunk's words are said by after it."""
    book = edited.plan(path)
    edited.made(path, edits.speaker_edit(book, edited.step(book, words), speaker, style, meant))
    return {text: (names, style) for names, style, text in edited.said(path)}


@pytest.mark.parametrize(
    ("words", "speaker", "style", "old", "new"),
    [
        ("Not far", "Ben", None, "Ada: Not", "Ben: Not"),
        ("Not far", "Ben", "low", "Ada: Not", "Ben (low): Not"),
        ("It never", "Mrs Hale", None, "Ben (softly): It", "Mrs Hale (softly): It"),
        ("It never", "Ben", "", "Ben (softly): It", "Ben: It"),
        ("It never", "Ada & Mrs Hale", None, "Ben (softly): It", "Ada & Mrs Hale (softly): It"),
        ("Who is", "Ada", None, "{Mrs Hale (far off): Who", "{Ada (far off): Who"),
        ("Who is", "Ada", "near", "{Mrs Hale (far off): Who", "{Ada (near): Who"),
        ("Nobody spoke", "Ben", None, "Nobody spoke.", "{Ben: Nobody spoke.}"),
        ("The road", "Ben", "dry", "The road was *long*, and it was wet & cold.",
         "{Ben (dry): The road was *long*, and it was wet & cold.}"),
        ("We are only", "Ada", None, "Ada & Ben: We", "Ada: We"),
        ("One", "Ada", None, "# One", "# {Ada: One}"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_marks_of_a_script_are_changed_and_nothing_else(
    tmp_path, words, speaker, style, old, new, newline
):
    before = "\ufeff" + SCRIPT.replace("\n", newline)
    path = edited.write(tmp_path, before)
    rest = {text: how for *how, text in edited.said(path) if words not in text}
    found = changed(path, words, speaker, style)
    assert (tmp_path / "one.md").read_bytes().decode() == before.replace(old, new)
    assert next(names for text, (names, _) in found.items() if words in text) == speaker
    assert {text: list(how) for text, how in found.items() if words not in text} == rest
    assert not (tmp_path / "one.speakers.txt").exists()


@pytest.mark.parametrize(
    ("text", "words", "after"),
    {
        "within emphasis": ("He *ran. She* sat.", "He ran.", None),
        "over lines": ("He\n ran &amp; ran. She sat down here.", "He ran & ran.", None),
        "in a quote": ("> He ran\n> and ran.\n>\n> She sat.", "He ran and ran.", None),
        "in a list": ("1. He ran.\n2. She sat.", "1. He ran.", "1. {Ben: He ran.}\n2. She sat."),
        "the second of two": ("Go on. Go on.", "Go on. Go on.", "{Ben: Go on. Go on.}"),
        "with marks in it": ("He [pause 2s] ran \\*on\\* `and` [up](x).", "He", None),
        "said otherwise": ("{Ukridge|YOO-krij} ran.", "Ukridge ran.", None),
        "with a tab": ("\tHe ran.", "He ran.", "\t{Ben: He ran.}"),
        "after a footnote": ("He ran.[^1]\n\n[^1]: She sat.", "He ran.", "{Ben: He ran.}[^1]\n\n"),
        "a link": ("[He ran.](x)", "He ran.", None),
        "with tags": ("<b>He</b> ran.", "He ran.", None),
    }.values(),
)
def test_words_are_put_in_braces_wherever_they_stand(tmp_path, text, words, after):
    path = edited.write(tmp_path, f"It was late, and they were still a long way off.\n\n{text}\n")
    said = changed(path, words, "Ben", meant=words)
    written = (tmp_path / "one.md").read_text()
    assert after is None or after in written
    assert any(names == "Ben" and text.startswith(words) for text, (names, _) in said.items())


def test_words_that_cannot_be_put_in_braces_are_left(tmp_path):
    path = edited.write(tmp_path, "One and two. [^1] {Ada: Three, \\{Four.} `five {` six.\n")
    book = edited.plan(path)
    with pytest.raises(UsageError, match="yourself"):
        edits.speaker_edit(book, edited.step(book, "six"), "Ben", "a (b")


def test_a_quotation_gets_its_row_with_all_its_pieces(tmp_path):
    path = edited.write(tmp_path, NOVEL, rows=ROWS)
    said = changed(path, "I know", "Ben")
    assert said["“I know this road,”"] == said["“and you do not.”"] == ("Ben", None)
    rows = (tmp_path / "one.speakers.txt").read_text()
    assert rows.splitlines()[1:3] == [
        "Ben | you | “I know this road,”",
        "+ | you | “and you do not.”",
    ]
    assert rows.splitlines()[3:6] == ROWS.splitlines()[3:]
    assert (tmp_path / "one.md").read_text() == NOVEL


def test_one_that_is_nobodys_yet_is_given_to_somebody(tmp_path):
    path = edited.write(tmp_path, NOVEL.replace("\n", "\r\n"), rows=ROWS.replace("\n", "\r\n"))
    said = changed(path, "We shall", "Mrs Hale", meant="“We shall see.”")
    assert said["“We shall see.”"] == ("Mrs Hale", None)
    rows = (tmp_path / "one.speakers.txt").read_bytes().decode()
    assert rows == ROWS.replace("? | rule none 0.00 ?", "Mrs Hale | you").replace("\n", "\r\n")


def test_the_narrator_may_read_in_another_way(tmp_path):
    path = edited.write(tmp_path, NOVEL)
    changed(path, "It rained", "narrator", "dry", meant="It rained. “Do I not?” said Ben.")
    text = (tmp_path / "one.md").read_text()
    assert "{narrator (dry): It rained. “Do I not?” said Ben.} “We shall" in text


def test_a_quotation_is_the_narrators_again(tmp_path):
    path = edited.write(tmp_path, NOVEL, rows=ROWS)
    changed(path, "Do I not", "narrator")
    assert "- | you | “Do I not?”" in (tmp_path / "one.speakers.txt").read_text()


def test_a_first_file_of_speakers_is_written(tmp_path):
    path = edited.write(tmp_path, "“I know this road,” said Ada.\n")
    assert changed(path, "I know", "Ada")["“I know this road,”"] == ("Ada", None)
    assert (
        (tmp_path / "one.speakers.txt").read_text().endswith("\nAda | you | “I know this road,”\n")
    )


def test_of_several_quotations_the_meant_one_is_given(tmp_path):
    path = edited.write(tmp_path, "“One.” “Two.”\n")
    book = edited.plan(path)
    with pytest.raises(UsageError, match=r"are meant: “One\.”, “Two\.”"):
        edits.speaker_edit(book, edited.step(book, "One"), "Ada")
    assert changed(path, "One", "Ada", meant="“Two.”")["“Two.”"] == ("Ada", None)


def test_a_quotation_with_a_style_is_put_in_braces_and_loses_its_row(tmp_path):
    path = edited.write(tmp_path, NOVEL, rows=ROWS)
    said = changed(path, "I know", "Ben", "dry")
    assert said["“I know this road,”"] == said["“and you do not.”"] == ("Ben", "dry")
    assert "{Ben (dry): “I know this road,”} said" in (tmp_path / "one.md").read_text()
    rows = (tmp_path / "one.speakers.txt").read_text()
    assert rows == "".join(ROWS.splitlines(keepends=True)[i] for i in (0, 3, 4, 5))
    edits.undo(edited.project(path))
    assert (tmp_path / "one.speakers.txt").read_text() == ROWS


def test_words_of_a_novel_that_are_no_quotation_are_put_in_braces(tmp_path):
    path = edited.write(tmp_path, NOVEL, rows=ROWS)
    changed(path, "He went on", "Mrs Hale", meant="He went on.")
    assert "{Mrs Hale: He went on.}" in (tmp_path / "one.md").read_text()


INLINE = edited.MANIFEST.replace("{title: One, file: one.md}", "title: One\n    lines:   # play\n")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("      - Ada: Not far.  # c\n", "      - Ben: Not far.  # c\n"),
        ('      - "Ada: Not far."\n', '      - "Ben: Not far."\n'),
        ("      - Not far.\n", "      - '{Ben: Not far.}'\n"),
    ],
)
def test_lines_of_book_yaml_are_given_to_others(tmp_path, old, new):
    path = edited.write(tmp_path, "", f"{INLINE}      - It rained.\n{old}      - They went.\n")
    assert changed(path, "Not far", "Ben", meant="Not far.")["Not far."] == ("Ben", None)
    assert path.read_text() == f"{INLINE}      - It rained.\n{new}      - They went.\n"


@pytest.mark.parametrize(
    ("text", "manifest", "after"),
    [
        ("Ada: Not far.\n", edited.MANIFEST, "Tom: Not far.\n"),
        ("", f"{INLINE}      - It rained.\n      - Ada: Not far.\n", "      - Tom: Not far.\n"),
    ],
)
def test_somebody_new_comes_into_the_cast_by_the_same_edit(tmp_path, text, manifest, after):
    path = edited.write(tmp_path, text, manifest)
    book = edited.plan(path)
    person = edits.new_person(book.project, "Tom", "he")
    edited.made(path, edits.speaker_edit(book, edited.step(book, "Not far"), "Tom", added=person))
    assert edited.said(path)[-1] == ("Tom", None, "Not far.")
    assert "  Tom:\n    pronoun: he\n" in path.read_text()
    assert after in (path.with_name("one.md") if text else path).read_text()
    edits.undo(edited.project(path))
    assert (path.read_text(), path.with_name("one.md").read_text()) == (manifest, text)


def test_who_is_not_in_the_cast_is_refused(tmp_path):
    path = edited.write(tmp_path, SCRIPT)
    book = edited.plan(path)
    with pytest.raises(UsageError, match="did you mean “Mrs Hale”"):
        edits.speaker_edit(book, edited.step(book, "Not far"), "Mrs Hall")


def test_a_text_that_changed_meanwhile_is_refused(tmp_path):
    path = edited.write(tmp_path, SCRIPT)
    book = edited.plan(path)
    (tmp_path / "one.md").write_text(SCRIPT.replace("Not far", "Quite near"))
    with pytest.raises(FileChanged) as caught:
        edits.speaker_edit(book, edited.step(book, "Not far"), "Ben")
    assert "Quite near" in caught.value.present_text
    assert "Not far" in caught.value.intended_text


def test_credits_are_changed_where_they_are_written(tmp_path):
    path = edited.write(
        tmp_path, SCRIPT, f"credits: {{opening: A book., closing: null}}\n{edited.MANIFEST}"
    )
    book = edited.plan(path)
    with pytest.raises(UsageError, match="under `credits`"):
        edits.speaker_edit(book, book.steps[0], "Ben")


@pytest.mark.parametrize("odd", ["\0", "\ud800"])
@pytest.mark.parametrize("given", [("Ada%s", None, ""), ("Ada", "%s", ""), ("Ada", None, "Not%s")])
def test_what_no_file_can_hold_is_refused_in_one_line(tmp_path, given, odd):
    book = edited.plan(edited.write(tmp_path, SCRIPT))
    asked = [one and one.replace("%s", odd) for one in given]
    with pytest.raises(UsageError, match=r"null character|half of a character"):
        edits.speaker_edit(book, edited.step(book, "Not far"), *asked)


def test_no_file_of_speakers_is_written_through_a_link_that_leads_outside(
    tmp_path, tmp_path_factory
):
    path = edited.write(tmp_path, NOVEL, rows=ROWS)
    book = edited.plan(path)
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "rows.txt"
    (tmp_path / "one.speakers.txt").rename(elsewhere)
    (tmp_path / "one.speakers.txt").symlink_to(elsewhere)
    with pytest.raises(UsageError, match="leads outside of the project"):
        edits.speaker_edit(book, edited.step(book, "I know"), "Ben")
    assert elsewhere.read_text() == ROWS
