"""Screenplays in PDFs, known by their margins."""

from __future__ import annotations

from pathlib import Path

from manuscripts import Book
from narrator.importing import import_book
from tests.build_pdf import Shown, build_pdf

ACTION, SPEECH, ASIDE, NAME, TRANSITION = 50, 105, 130, 165, 290


def script(*rows: tuple[float, str]) -> list[Shown]:
    """Rows of a page, at their margins; an empty one is room."""
    return [Shown(x, 560 - 12 * number, text) for number, (x, text) in enumerate(rows) if text]


ROOM = (0, "")
TITLE = [Shown(140, 400, "THE QUAY"), Shown(150, 370, "written by"), Shown(140, 340, "Mary O'Dell")]
FIRST = script(
    (TRANSITION, "FADE IN:"), ROOM,
    (ACTION, "INT. LAMP ROOM - NIGHT"), ROOM,
    (ACTION, "Rain beats on the glass. Anna winds the"),
    (ACTION, "clockwork."), ROOM,
    (NAME, "ANNA"),
    (ASIDE, "(softly)"),
    (SPEECH, "One, and then another"),
    (SPEECH, "one."), ROOM,
    (ACTION, "She counts."), ROOM,
    (NAME, "BEN (V.O.)"),
    (SPEECH, "Do you hear me?"), ROOM,
    (NAME, "ANNA"),
    (SPEECH, "I hear you, and I have"),
    (NAME, "(MORE)"),
)  # fmt: skip
SECOND = script(
    (NAME, "ANNA (CONT'D)"),
    (SPEECH, "always heard you."), ROOM,
    (TRANSITION, "CUT TO:"), ROOM,
    (ACTION - 20, "2   EXT. QUAY - DAWN   2"), ROOM,
    (NAME, "BEN"),
    (SPEECH, "Morning."), ROOM,
    (170, "THE END"),
)  # fmt: skip


def imported(folder: Path, *pages: list[Shown]) -> Book:
    return import_book(build_pdf(folder / "quay.pdf", pages, info=""))


def test_a_screenplay_is_a_script(tmp_path: Path) -> None:
    book = imported(tmp_path, TITLE, FIRST, SECOND)
    assert (book.title, book.authors) == ("THE QUAY", ("Mary O'Dell",))
    assert book.dialogue == "a script: 2 speakers, 4 speeches, 3 stage directions"
    assert [chapter.markdown.split("\n\n") for chapter in book.chapters] == [[
        "Int. Lamp Room - Night",
        "Rain beats on the glass. Anna winds the clockwork.",
        "Anna (softly): One, and then another one.",
        "She counts.",
        "Ben: Do you hear me?",
        "Anna: I hear you, and I have always heard you.",
        "***",
        "Ext. Quay - Dawn",
        "Ben: Morning.",
        "THE END\n",
    ]]  # fmt: skip


def test_what_is_no_text_of_a_screenplay_is_listed(tmp_path: Path) -> None:
    book = imported(tmp_path, TITLE, FIRST, SECOND)
    assert {item.reason: item.words for item in book.left_out} == {
        "title page": 6,
        "transition": 4,
        "extension of a name": 2,
        "mark of a page's end": 3,
        "number of a scene": 2,
    }
    assert book.characters == book.characters_kept + book.characters_left_out


def test_two_who_speak_side_by_side_are_remarked(tmp_path: Path) -> None:
    beside = script(
        (SPEECH, "BEN"), (SPEECH, "Now!"), ROOM, (ACTION, "Silence."),
    )  # fmt: skip
    beside += [Shown(260, 560, "ANNA"), Shown(260, 548, "Never!")]
    book = imported(tmp_path, FIRST, SECOND, beside)
    assert any(one.startswith("Two speak side by side (first: quay.pdf, p") for one in book.remarks)


def test_a_novel_with_a_line_like_a_heading_of_scenes_is_none(tmp_path: Path) -> None:
    rows = [
        (50.0, "EXT. is what he wrote at the top of it, and"),
        (50.0, "nothing more than that."),
    ]
    book = imported(tmp_path, script(*rows * 15))
    assert book.dialogue == ""
