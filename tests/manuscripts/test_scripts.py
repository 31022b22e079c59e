"""Fountain and Final Draft: who speaks is who the script says, and every word is somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from manuscripts import Book, Choices
from manuscripts.errors import ImportFailed
from manuscripts.labels import lower_capitals
from manuscripts.readers.content import is_fountain
from narrator.importing import import_book, write_project
from narrator.pipeline import checking
from narrator.pipeline.manuscript import read_manuscript
from tests.manuscripts.imports import SAMPLES, reasons, rows, whole

FDX = "<FinalDraft><Content>{}</Content></FinalDraft>"


def imported(folder: Path, text: str, choices: Choices = Choices()) -> Book:  # noqa: B008  # frozen
    """The book in a screenplay's text, of which nothing is lost."""
    path = folder / ("script.fdx" if text.startswith("<") else "script.fountain")
    path.write_text(text, "utf-8")
    return whole(path, choices)


def scene(text: str) -> str:
    return f"INT. HOUSE - DAY\n\n{text}\n"


def cast(book: Book) -> list[str]:
    return [speaker.name for speaker in book.speakers]


def paragraphs(*typed: str) -> str:
    """A Final Draft script of paragraphs, each `Type|Text`."""
    made = (one.partition("|") for one in typed)
    return FDX.format(
        "".join(f'<Paragraph Type="{t}"><Text>{x}</Text></Paragraph>' for t, _, x in made)
    )


# -- samples ---------------------------------------------------------------------------------------


def speeches(book: Book) -> list[str]:
    return [row for row in rows(book) if re.match(r"[^\n]{1,60}: ", row)]


def test_a_script_has_the_same_speeches_in_both_formats() -> None:
    fountain, finaldraft = (whole(SAMPLES / f"harbour{end}") for end in (".fountain", ".fdx"))
    assert speeches(fountain) == speeches(finaldraft)
    assert len(speeches(fountain)) == 23
    assert cast(fountain) == cast(finaldraft)
    assert fountain.authors == finaldraft.authors == ("Mary O'Dell", "J. R. Park")


def test_what_another_program_makes_of_a_script_has_its_speeches() -> None:
    ours, theirs = (whole(SAMPLES / f"kitchen{end}") for end in (".fountain", ".fdx"))
    said = [re.sub(r"[\W\d_]", "", row).casefold() for row in speeches(ours)]
    others = "".join(re.sub(r"[\W\d_]", "", row).casefold() for row in rows(theirs))
    assert [row for row in said if row not in others] == [
        "noteiamonlyanoteonthefridgeiwaswritteninahurryandnobodyreadsme"
    ]  # which stands in two paragraphs there


# -- names -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cue", "label"),
    [
        ("ANNA", "Anna"),
        ("ANNA (V.O.)", "Anna"),
        ("ANNA (O.S.) (CONT’D)", "Anna"),
        ("ANNA (WHISPERING)", "Anna (whispering)"),
        ("ANNA (34)", "Anna"),
        ("@McCLANE", "McClane"),
        ("1ST COP", "1st Cop"),
        ("GUARD #2", "Guard #2"),
        ("NOTE", "Note"),
        ("END", "End"),
        ("MRS. O'NEIL", "Mrs. O'Neil"),
        ("A_B <C>", "A\\_B \\<C>"),
        ("ANNA & BEN", "Anna & Ben"),
        ("@ANNA: THE SECOND", "Anna the Second"),
    ],
)
def test_a_name_becomes_a_label_that_is_read_back(cue: str, label: str, tmp_path: Path) -> None:
    book = imported(tmp_path, scene(f"{cue}\nHello to you."))
    assert rows(book)[-1] == f"{label}: Hello to you."
    project = write_project(book, tmp_path / "book")
    manuscript = read_manuscript(project.manifest)
    told: list[object] = []
    checking.check_manuscript(manuscript, told.append)
    assert "speakers without lines" not in str(told)


# -- speeches --------------------------------------------------------------------------------------


def test_speeches_side_by_side_are_said_in_turn(tmp_path: Path) -> None:
    book = imported(tmp_path, scene("ANNA\nOne.\n\nBEN ^\nTwo."))
    assert rows(book)[1:] == ["Anna: One.", "Ben: Two."]
    assert "1 speech is said after the one that the script sets beside it." in book.remarks


# -- what is told ----------------------------------------------------------------------------------


def test_capitals_are_lowered_but_for_what_is_spelled() -> None:
    said = lower_capitals("INT./EXT. BBC TV CENTRE - 3RD FLOOR, O'HARA'S ROOM 12B, FBI HQ")
    assert said == "Int./Ext. BBC TV Centre - 3rd Floor, O'Hara's Room 12B, FBI HQ"


# -- chapters and facts ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("marks", "titles"),
    [
        (("# Act I", "## One", "# Act II"), ["Act I", "Act II"]),
        (("# The Play", "## One", "## Two"), ["script", "One", "Two"]),
        (("> TEASER <", "> ACT ONE <"), ["Teaser", "Act One"]),
        (("ACT ONE", "ACT TWO"), ["Act One", "Act Two"]),
        (("ACT ONE", "Nothing."), ["script"]),
    ],
)
def test_chapters_are_sections_or_acts(
    marks: tuple[str, ...], titles: list[str], tmp_path: Path
) -> None:
    text = "".join(f"{mark}\n\nINT. HOUSE - DAY\n\nANNA\nOne.\n\n" for mark in marks)
    assert [chapter.title for chapter in imported(tmp_path, text).chapters] == titles


def test_a_title_page_says_facts(tmp_path: Path) -> None:
    title = "Title:\n    _**The Light**_\n    Again\n"
    page = f"{title}Authors: A. Bee & C. Dee\nDraft date: 2024-01-02\n\n"
    book = imported(tmp_path, page + scene("ANNA\nOne."))
    assert (book.title, book.authors, book.date) == (
        "The Light Again",
        ("A. Bee", "C. Dee"),
        "2024-01-02",
    )
    assert reasons(book) == {"title page": 14}


# -- Final Draft -----------------------------------------------------------------------------------


def test_a_name_without_a_speech_is_told(tmp_path: Path) -> None:
    text = paragraphs("Character|ANNA", "Action|Rain.", "Character|BEN", "Dialogue|One.")
    assert rows(imported(tmp_path, text)) == ["ANNA", "Rain.", "Ben: One."]


def test_notes_summaries_and_struck_words_are_left_out(tmp_path: Path) -> None:
    note = "<ScriptNote><Paragraph><Text>a b</Text></Paragraph></ScriptNote>"
    text = FDX.format(
        f'<Paragraph Type="Action">{note}<Text>It </Text><Text Style="Bold+Strikeout">not</Text>'
        "<Text> rains.</Text></Paragraph>"
    )
    book = imported(tmp_path, text)
    assert rows(book) == ["It rains."]
    assert reasons(book) == {"note of the author": 2, "struck out": 1}


def test_entities_of_xml_are_refused(tmp_path: Path) -> None:
    text = '<!DOCTYPE a [<!ENTITY b "c">]><FinalDraft><Content/></FinalDraft>'
    with pytest.raises(ImportFailed, match="entities"):
        imported(tmp_path, text)


# -- what is no screenplay -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "CHAPITRE I\nLe départ\n\nest-il là ?\n\nest. Oui.\n\nCHAPITRE II\nLa mer\n\next. 12\n",
        "INT. is short.\n\nEXT. is long.\n\nTHE SEA\nIt is wide.\n\nTHE LAND\nIt is not.\n",
        "INT. HOUSE - DAY\n\nEXT. ROAD\n\nANNA\nOne.\n\nBEN\nTwo.\n" + "\nIt rained.\n" * 60,
    ],
)
def test_prose_is_no_screenplay(text: str) -> None:
    assert not is_fountain(text)


def test_a_screenplay_is_known_without_its_ending(tmp_path: Path) -> None:
    path = tmp_path / "harbour.txt"
    path.write_bytes((SAMPLES / "harbour.fountain").read_bytes())
    assert import_book(path).format == "Fountain"
