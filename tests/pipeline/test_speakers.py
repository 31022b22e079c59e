"""Speech within paragraphs, from the files beside a book's texts to its plan and its companions."""

from __future__ import annotations

from pathlib import Path

import pytest

from narrator.delivery import layout
from narrator.engines import Request, Speech
from narrator.pipeline import manuscript, speakers
from narrator.pipeline.manuscript import find_oddities, read_manuscript, source_and_left_out
from narrator.project import load
from narrator.speech.plan import Step
from narrator.text import line_splitting, speaker_files
from narrator.text.speaker_files import Row, SpeakerFile
from tests import books
from tests.fakes import HumEngine, hum

MANIFEST = """\
title: Talk
author: A. Author
speakers:
  narrator: {}
  Ada: {aliases: [Miss Lovell]}
  men: {plays: [Ben]}
chapters:
  - {title: One, file: text/one.md}
  - {title: Two, file: text/two.md}
"""
ONE = """\
She came in from the rain and stood there for a long while before anybody in the room saw her.

“I know,” said Ada, “but not now.”

“Yes.” He rose. “Yes.”
"""
TWO = "“No,” she said.\n"
ROWS = """\
Ada | rule tag 0.98 Ada | “I know,”
+ | rule tag 0.98 + | “but not now.”
Ben | rule turn 0.6 Ben | “Yes.”
+ | rule turn 0.6 + | “Yes.”
"""


def project(folder: Path, rows: str | None = ROWS, one: str = ONE, two: str = TWO) -> Path:
    path = books.write(folder, MANIFEST, one, two)
    if rows is not None:
        (folder / "text" / "one.speakers.txt").write_text(rows, encoding="utf-8")
    return path


def said(path: Path, chapter: int = 0) -> list[tuple[str, str]]:
    lines = (
        line for scene in read_manuscript(path).chapters[chapter].scenes for line in scene.lines
    )
    return [(line.speaker, line.text) for line in lines if line.speaker != "narrator"]


def warned(path: Path) -> list[str]:
    return [
        str(one).replace(f"{path.parent}/", "") for one in find_oddities(read_manuscript(path), [])
    ]


TALK = [
    ("Ada", "“I know,”"), ("Ada", "“but not now.”"), ("Ben", "“Yes.”"), ("Ben", "“Yes.”"),
]  # fmt: skip


def test_what_is_decided_of_quotations_gives_them_their_voices(tmp_path):
    assert said(project(tmp_path)) == TALK


def test_names_may_be_aliases_and_several(tmp_path):
    rows = ROWS.replace("Ben |", "Ada & Ben |", 1).replace("Ada |", "miss lovell |", 1)
    assert said(project(tmp_path, rows))[:4] == [
        ("Ada", "“I know,”"), ("Ada", "“but not now.”"), ("Ada", "“Yes.”"), ("Ben", "“Yes.”"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("edit", "by"),
    [
        (("“I know,”", "“I see,”"), TALK),
        (("“I know,”", "“I know it well,”"), TALK),
        (("“I know,” said Ada, “but not now.”\n\n", ""), TALK[2:]),
        (("“Yes.” He", "“How?” she said.\n\n“Yes.” He"), TALK),
        (("She came", "“What?”\n\nShe came"), TALK),
    ],
)
def test_edits_of_the_text_move_no_decision(edit, by, tmp_path):
    found = said(project(tmp_path, one=ONE.replace(*edit)))
    assert [who for who, _ in found] == [who for who, _ in by]
    assert [text for _, text in found][-2:] == ["“Yes.”", "“Yes.”"]


def test_an_alias_that_is_added_moves_no_decision(tmp_path):
    path = project(tmp_path, ROWS.replace("Ada", "Lizzy"))
    assert said(path) == TALK[2:]
    path.write_text(path.read_text("utf-8").replace("[Miss Lovell]", "[Miss Lovell, Lizzy]"))
    assert said(path) == TALK


# -- what is said


def test_a_book_without_any_file_of_speakers_is_as_it_was(tmp_path):
    path = project(tmp_path, rows=None)
    found = read_manuscript(path)
    assert found.chapters == manuscript.paragraphs(load.load(path))
    assert not warned(path)


def test_quotations_without_a_row_are_said_once(tmp_path):
    path = project(tmp_path, ROWS.split("\n", 2)[2], two="“No,” she said.\n\n“Never!”\n")
    assert warned(path) == [
        f"text/one.md:3: “I know,” (and in 1 more place) {speakers.NO_ROW}",
        f"text/two.md:1: “No,” (and in 1 more place) {speakers.NO_FILE}",
    ]


def test_rows_that_name_nobody_are_said_with_the_mend_and_are_the_narrators(tmp_path):
    rows = ROWS.replace("Ada |", "Adda |", 1).replace("Ben |", "Zebulon |", 1)
    path = project(tmp_path, rows, two="She rose.")
    assert said(path) == []
    first, second = warned(path)
    assert first.startswith("text/one.speakers.txt:1: “Adda” (and in 1 more place) is not in the")
    assert first.endswith("did you mean “Ada”?")
    assert second.endswith("declare “Zebulon” under `speakers`")


def test_what_nobody_knows_is_counted_and_nobodys_speech_is_not(tmp_path):
    rows = ROWS.replace("Ada |", "? |", 1).replace("Ben |", "- |", 1)
    path = project(tmp_path, rows, two="She rose.")
    assert said(path) == []
    assert warned(path) == [f"text/one.md:3: “I know,” (and in 1 more place) {speakers.UNDECIDED}"]


def test_a_persons_row_that_is_not_found_is_said_and_a_rules_is_not(tmp_path):
    rows = f"{ROWS}Ada | you | “Long gone, all of it.”\nAda | rule tag 0.9 Ada | “Gone too.”\n"
    assert warned(project(tmp_path, rows, two="She rose.")) == [
        f"text/one.speakers.txt:5: “Long gone, all of it.” {speakers.LOST}"
    ]


def test_bad_rows_and_files_are_said_and_refuse_nothing(tmp_path):
    path = project(tmp_path, f"{ROWS}nonsense\n", two="She rose.")
    [one] = warned(path)
    assert one.startswith("text/one.speakers.txt:5: is not a row")
    (tmp_path / "text" / "two.speakers.txt").mkdir()
    assert said(path) == TALK
    assert any("two.speakers.txt: cannot be read" in one for one in warned(path))


def test_a_file_whose_text_was_renamed_is_said(tmp_path):
    path = project(tmp_path, one="No one speaks.\n", two="No one speaks.\n")
    text = path.parent / "text"
    assert not warned(path)
    (text / "one.md").rename(text / "first.md")
    path.write_text(path.read_text().replace("one.md", "first.md"))
    (found,) = warned(path)
    assert found.startswith("text/one.speakers.txt: belongs to no text")
    (text / "one.speakers.txt").rename(text / "first.speakers.txt")
    assert not [one for one in warned(path) if "belongs" in one]


def test_text_in_braces_needs_no_row(tmp_path):
    path = project(tmp_path, ROWS, two="“{Ada: No},” she said.")
    assert said(path, 1) == [("Ada", "“No,”")]
    assert not warned(path)


def test_chapters_in_place_have_no_file_and_are_parted_by_braces(tmp_path):
    path = project(tmp_path)
    path.write_text(
        MANIFEST.replace("file: text/two.md", 'lines: ["“No,” she {Ada: said}."]'), "utf-8"
    )
    assert said(path, 1) == [("Ada", "said.")]
    assert not warned(path)


# -- plans


def steps(path: Path, **engine: bool) -> list[Step]:
    return list(books.plan(path, HumEngine(**engine)).steps)


def test_a_chain_goes_on_over_what_another_says_between(tmp_path):
    found = [step for step in steps(project(tmp_path), continues=True) if step.chapter == 0]
    by = {step.key: step for step in found}
    texts = {
        (step.chunk.speaker, step.chunk.text): step.parent and by[step.parent].chunk.text
        for step in found
    }
    assert texts["Ada", "“but not now.”"] == "“I know,”"
    assert texts["narrator", "said Ada,"].startswith("She came in")


def test_what_is_decided_changes_the_keys_of_what_it_parts_alone(tmp_path):
    path = project(tmp_path, rows=None)
    before = {step.key for step in steps(path)}
    project(tmp_path)
    after = [step for step in steps(path) if step.key not in before]
    assert {step.chunk.text for step in after} == {
        "“I know,”", "said Ada,", "“but not now.”", "“Yes.”", "He rose.",
    }  # fmt: skip


def test_a_voice_that_plays_several_has_one_key_for_the_same_words(tmp_path):
    path = project(tmp_path, two="men: So it is.\n\n***\n\nBen: So it is.\n")
    first, second = (step for step in steps(path) if step.chunk.text == "So it is.")
    assert (first.chunk.speaker, second.chunk.speaker) == ("men", "Ben")
    assert first.key == second.key


def test_a_voice_that_plays_several_has_one_level(tmp_path):
    path = project(tmp_path, two="men: So it is, and so it was.\n\nBen: So it will be.\n")

    def loud(request: Request) -> Speech | None:
        made = hum(request)
        return Speech(made.samples * 2, made.state) if "will be" in request.text else None

    report, _ = books.speak(path, HumEngine(fault=loud))
    gains = layout.book_sound(report.plan).gains
    assert gains["men"] == gains["Ben"]


def test_every_character_is_accounted_for(tmp_path):
    plain = source_and_left_out(read_manuscript(project(tmp_path, rows=None)))
    assert source_and_left_out(read_manuscript(project(tmp_path))) == plain
    path = project(tmp_path)
    path.write_text(f"{MANIFEST}dialogue: {{tags: skip}}\n", "utf-8")
    counts = source_and_left_out(read_manuscript(path))
    assert counts == {"source": plain["source"], "left_out": len("saidAda,")}
    unison = source_and_left_out(
        read_manuscript(project(tmp_path, ROWS.replace("Ben |", "Ada & Ben |", 1)))
    )
    assert unison == plain


# -- a file that is written


def test_what_a_run_decides_and_a_person_changes_is_read_again(tmp_path):
    path = project(tmp_path, rows=None, two="She rose.")
    found = load.load(path)
    chapter = manuscript.paragraphs(found)[0]
    quotes = line_splitting.find_quotes(chapter)
    file = speaker_files.speaker_file_path(tmp_path / "text" / "one.md")
    rows = [
        Row(speaker_files.format_names(["Ada"]), "rule", name="tag", certainty=0.9) for _ in quotes
    ]
    words = [one.text for one in quotes]
    speaker_files.write(speaker_files.update_rows(speaker_files.read(file), words, rows), "one.md")
    assert {who for who, _ in said(path)} == {"Ada"}
    file.write_text(file.read_text("utf-8").replace("Ada | rule", "Ben | rule", 1), "utf-8")
    speaker_files.write(speaker_files.update_rows(speaker_files.read(file), words, rows), "one.md")
    assert said(path)[0] == ("Ben", "“I know,”")
    assert SpeakerFile(file).rows == ()


# -- edits after what was decided


VOICED = MANIFEST.replace("{aliases", "{voice: {description: A girl}, aliases").replace(
    "men: {", "men: {voice: {description: A man}, "
)


@pytest.fixture
def rendered(tmp_path: Path) -> Path:
    """A book that was spoken, with chunks that continue none."""
    path = project(tmp_path)
    path.write_text(VOICED, "utf-8")
    books.speak(path, HumEngine(continues=False))
    assert not books.todo(path, HumEngine(continues=False))
    return path


def todo(path: Path) -> set[str]:
    return set(books.todo(path, HumEngine(continues=False)))


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")


def test_a_changed_word_in_a_quotation_renders_it_alone(rendered):
    edit(rendered.parent / "text" / "one.md", "but not now", "but not here")
    assert todo(rendered) == {"“but not here.”"}


def test_a_removed_or_inserted_paragraph_renders_no_other(rendered):
    one = rendered.parent / "text" / "one.md"
    edit(one, "“Yes.” He rose", "Nobody had asked.\n\n“Yes.” He rose")
    assert todo(rendered) == {"Nobody had asked."}
    edit(one, "“I know,” said Ada, “but not now.”\n\nNobody had asked.\n\n", "")
    assert todo(rendered) == set()


def test_a_renamed_character_that_keeps_its_old_name_renders_no_other(rendered):
    edit(rendered, "Ada: {voice: {description: A girl}, aliases: [", "Adelaide: {voice: "
         "{description: A girl}, aliases: [Ada, ")  # fmt: skip
    assert said(rendered)[0] == ("Adelaide", "“I know,”")
    assert todo(rendered) == {"“I know,”", "“but not now.”"}  # its voice goes by its name here


def test_another_speaker_of_a_quotation_renders_what_that_one_says(rendered):
    rows = rendered.parent / "text" / "one.speakers.txt"
    edit(rows, "Ben | rule turn 0.6 Ben", "Ada | rule turn 0.6 Ben")
    assert todo(rendered) == {"“but not now.”\n“Yes.”", "“Yes.”"}
    edit(rows, "Ada | rule turn 0.6 Ben", "men | rule turn 0.6 Ben")
    assert todo(rendered) == set()  # the same voice
