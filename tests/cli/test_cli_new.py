"""What `narrator new` says of a manuscript: five lines, and JSON with all of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.build_epub import build_epub

SAID = "The boat came in on the tide and nobody spoke of it until the morning was over. " * 40
NOTED = f'<p>{SAID}<a href="#n1" epub:type="noteref">1</a></p>'
DOCUMENTS = {
    "title.xhtml": "<h1>The Sea Door</h1><p>by Jane Roe</p>",
    "one.xhtml": f"<h1>Chapter 1</h1>{NOTED}"
    '<aside epub:type="footnote" id="n1"><p>1. Of the harbour.</p></aside>',
    "three.xhtml": f"<h1>Chapter 3</h1><p>{SAID * 2}</p>"
    '<p><img src="a.png" alt="A boat"/></p><pre><code>tide = 1</code></pre>'
    "<table><tr><td>ebb</td><td>six</td></tr><tr><td>flood</td><td>noon</td></tr></table>",
}


@pytest.fixture
def epub(tmp_path: Path) -> Path:
    return build_epub(tmp_path / "sea.epub", DOCUMENTS)


def text_of(project: Path) -> str:
    return "".join(path.read_text("utf-8") for path in sorted(project.glob("text/*.md")))


def test_a_manuscript_is_told_in_five_lines(narrator, epub, tmp_path):
    code, said, errors = narrator("new", tmp_path / "sea", "--from", epub)
    found, notes, left, odd, following = said.splitlines()
    assert (code, errors) == (0, "")
    assert found.startswith(
        "The Sea Door, by Jane Roe, en-GB, from EPUB: 2 chapters, 2,048 words, about "
    )
    assert "shortest “Chapter 1” " in found
    assert "longest “Chapter 3” " in found
    assert notes.startswith("notes: 1 reference, left out; --notes in-place")
    assert left.startswith("left out: title page (6 words); note (4 words); ")
    assert "picture (2 words); " in left
    assert "code (2 words)" in left
    assert odd.startswith("to know: chapter numbers do not run on: 2 is missing")
    assert odd.endswith("import-report.md")
    assert following.startswith("next: narrator check ")
    assert following.endswith(" --draft")


def test_the_report_says_what_new_says(narrator, epub, tmp_path):
    narrator("new", tmp_path / "sea", "--from", epub)
    report = (tmp_path / "sea" / "import-report.md").read_text("utf-8")
    assert "Read as EPUB." in report
    assert "- chapter numbers do not run on" in report


def test_notes_of_markdown_are_counted_as_those_of_other_formats(narrator, tmp_path):
    source = tmp_path / "a.md"
    source.write_text("# One\n\nWords of it[^1].\n\n[^1]: A note.\n")
    _, left, _ = narrator("new", tmp_path / "a", "--from", source)
    _, read, _ = narrator("new", tmp_path / "b", "--from", source, "--notes", "in-place")
    assert left.splitlines()[1].startswith("notes: 1 reference, left out")
    assert read.splitlines()[1] == "notes: 1 reference, spoken after their paragraph"


def test_notes_that_are_spoken_are_said_so(narrator, epub, tmp_path):
    _, said, _ = narrator("new", tmp_path / "sea", "--from", epub, "--notes", "end")
    assert said.splitlines()[1] == "notes: 1 reference, spoken after the chapter"


def test_what_is_no_plain_text_is_read_by_choice(narrator, epub, tmp_path):
    options = ("--pictures", "read", "--code", "read", "--tables", "omit")
    _, said, _ = narrator("new", tmp_path / "sea", "--from", epub, *options)
    text = text_of(tmp_path / "sea")
    assert "A boat" in text
    assert "tide = 1" in text
    assert "ebb" not in text
    assert "table (4 words)" in said


def test_tables_code_and_pictures_of_markdown_are_read_by_choice(narrator, tmp_path):
    source = tmp_path / "tides.md"
    source.write_text(
        "# One\n\nA ![boat](a.png).\n\n| a | b |\n|---|---|\n| ebb | 6* |\n\n"
        "```py\nx = [1]\n\ny\n```\n"
    )
    _, said, _ = narrator("new", tmp_path / "plain", "--from", source)
    stay = "code (1), pictures (1), tables (1): in the texts, and not spoken; --code read"
    assert stay in said
    assert "![boat](a.png)" in text_of(tmp_path / "plain")
    options = ("--pictures", "read", "--code", "read", "--tables", "read")
    narrator("new", tmp_path / "read", "--from", source, *options)
    assert text_of(tmp_path / "read") == (
        "# One\n\nA boat.\n\na; b\n\nebb; 6\\*\n\n\nx = \\[1]\n\ny\n"
    )
    _, checked, _ = narrator("check", tmp_path / "read", "--json")
    assert json.loads(checked)["left_out"] == []


@pytest.mark.parametrize("option", ["--notes", "--directions", "--pictures", "--tables", "--code"])
def test_a_choice_that_is_none_is_refused(narrator, epub, tmp_path, option):
    code, _, errors = narrator("new", tmp_path / "sea", "--from", epub, option, "maybe")
    assert code == 2
    assert f"{option} maybe: " in errors
    assert not (tmp_path / "sea").exists()


def test_json_has_all_of_it(narrator, epub, tmp_path):
    _, said, _ = narrator("new", tmp_path / "sea", "--from", epub, "--json")
    facts = json.loads(said)
    assert facts["format"] == "EPUB"
    assert [chapter["title"] for chapter in facts["chapters"]] == ["Chapter 1", "Chapter 3"]
    assert {item["why"] for item in facts["left_out"]} >= {"title page", "note", "picture", "code"}
    assert len(facts["warnings"]) == 1
    assert facts["lost"] == 0


def test_a_play_is_told_with_its_cast(narrator, tmp_path):
    source = tmp_path / "play.txt"
    speeches = (
        f"{name}. {text}" for text in ("Come in.", "No.", "Why?") for name in ("ROPER", "MORE")
    )
    source.write_text("THE WALL\n\nACT I\n\n" + "\n\n".join(speeches))
    _, said, _ = narrator("new", tmp_path / "play", "--from", source)
    assert "a play: 2 speakers, 6 speeches" in said.splitlines()[0]
    assert "narrator cast" not in said


def test_a_file_is_read_as_what_it_is(narrator, epub, tmp_path):
    named = epub.rename(tmp_path / "sea.docx")
    _, said, _ = narrator("new", tmp_path / "sea", "--from", named)
    assert "from EPUB" in said
    assert "sea.docx was read as EPUB, as its content is." in said
    assert (tmp_path / "sea" / "source.epub").is_file()


def test_two_manuscripts_are_refused_with_what_to_do(narrator, epub, tmp_path):
    code, _, errors = narrator("new", tmp_path / "sea", "--from", epub, "--from", epub)
    assert code == 2
    assert "put them into a folder" in " ".join(errors.split())
    assert not (tmp_path / "sea").exists()


def test_an_option_that_is_no_utf8_is_refused_in_a_sentence(narrator, epub, tmp_path):
    code, _, errors = narrator("new", tmp_path / "sea", "--from", epub, "--title", "\udcff")
    assert code == 2
    assert "--title: has bytes that are not UTF-8" in errors


def test_new_and_check_count_the_same_words(narrator, tmp_path):
    source = tmp_path / "a.md"
    source.write_text("# A\n\n“Yes,” he said — and well-known dogs don’t bark.\n", "utf-8")
    _, found, _ = narrator("new", tmp_path / "a", "--from", source)
    _, checked, _ = narrator("check", tmp_path / "a" / "book.yaml")
    assert "1 chapter, 10 words" in found
    assert "10 words; of" in checked
