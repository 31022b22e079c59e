from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pytest

from narrator.pipeline import places
from tests import faults, walks


@pytest.fixture(scope="module")
def walked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = walks.write(tmp_path_factory.mktemp("walks"))
    assert faults.command(None, "render", folder)[0] == 0
    return folder


@pytest.fixture
def book(walked: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(walked, tmp_path / "walks"))


@pytest.fixture
def flagged(narrator, book: Path) -> Path:
    assert narrator("flag", "1.2", book, "--note", "“far” is swallowed")[0] == 0
    return book


def rows(book: Path) -> list[dict[str, str]]:
    with (book / "book.pickups.csv").open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def listed(narrator, book: Path) -> list[dict[str, object]]:
    code, said, errors = narrator("pickups", book, "--json")
    assert code == 0, errors
    return json.loads(said)


def test_a_flag_is_a_row_of_a_table_beside_the_manifest(narrator, flagged):
    (row,) = rows(flagged)
    assert row["time"].startswith("0:00:0")
    del row["time"]
    assert row == {
        "done": "",
        "chapter": "1",
        "chunk": "1.2",
        "speaker": "Ada",
        "source": "out.md:3",
        "text": "Not far now.",
        "note": "“far” is swallowed",
    }
    assert "1 pickup to do" in narrator("pickups", flagged)[1]


def test_a_time_is_flagged_as_where_finds_it(narrator, book):
    assert narrator("flag", book, "Home", "0:01", "-n", "breath")[0] == 0
    assert narrator("flag", book, "0:01", "-n", "in the file of the book")[0] == 0
    assert [row["chunk"] for row in rows(book)] == ["1.1", "2.1"]


def test_the_same_is_flagged_once(narrator, flagged):
    narrator("flag", "1.2", flagged, "--note", "“far” is  swallowed")
    narrator("flag", "1.2", flagged, "--note", "too fast")
    assert [row["note"] for row in rows(flagged)] == ["“far” is swallowed", "too fast"]


def test_what_is_done_stays_and_counts_no_more(narrator, flagged):
    assert "1 pickup done" in narrator("flag", "1.2", flagged, "--done")[1]
    assert "0 pickups to do, 1 done" in narrator("pickups", flagged)[1]
    narrator("flag", "1.2", flagged, "--note", "“far” is swallowed")
    assert [row["done"] for row in rows(flagged)] == ["x", ""]


def test_edits_move_nothing_and_what_has_gone_is_said(narrator, flagged):
    text = flagged / "out.md"
    text.write_text("Ada: Well?\n\n" + text.read_text())
    (row,) = listed(narrator, flagged)
    assert (row["chunk"], row["source"], row["is_lost"]) == ("1.3", "out.md:5", False)
    text.write_text(text.read_text().replace("Not far now.", "Not so far now."))
    (row,) = listed(narrator, flagged)
    assert (row["text"], row["time"], row["is_lost"]) == ("Not so far now.", "", False)
    text.write_text("The road was long.\n")
    (row,) = listed(narrator, flagged)
    assert (row["text"], row["is_lost"]) == ("Not far now.", True)
    assert "the book has no such text any more" in narrator("pickups", flagged)[1]


def test_columns_of_ones_own_and_what_a_spreadsheet_makes_of_it_are_kept(narrator, flagged):
    path = flagged / "book.pickups.csv"
    head, row = path.read_text("utf-8-sig").splitlines()
    path.write_bytes(f"{head},who\r\n{row},Zoë\r\n".replace(",", ";").encode("cp1252"))
    narrator("flag", "1.1", flagged, "--note", "=1+1")
    assert [(row["who"], row["note"]) for row in rows(flagged)] == [
        ("", "'=1+1"),
        ("Zoë", "“far” is swallowed"),
    ]
    assert [row["note"] for row in listed(narrator, flagged)] == ["=1+1", "“far” is swallowed"]


def test_a_list_that_cannot_be_read_is_not_replaced(narrator, flagged):
    path = flagged / "book.pickups.csv"
    path.write_text("my own words\nand more\n")
    code, _, errors = narrator("flag", "1.1", flagged, "--note", "breath")
    assert code == 2
    assert "book.pickups.csv:1: its first line names no columns `text` and `note`" in errors
    assert path.read_text() == "my own words\nand more\n"
    code, said, errors = narrator("pickups", flagged)
    assert (code, said) == (0, "nothing is on the list\n")
    assert "names no columns" in errors


def test_a_chapters_timeline_is_read_once_for_a_list(narrator, book, tmp_path, monkeypatch):
    (tmp_path / "list.txt").write_text("".join(f"1 0:0{n % 2} note {n}\n" for n in range(20)))
    made: list[int] = []
    begin = places.HeardChapter.__init__

    def counted(self, book, chapter):
        made.append(chapter)
        begin(self, book, chapter)

    monkeypatch.setattr(places.HeardChapter, "__init__", counted)
    assert narrator("pickups", book, "--from", tmp_path / "list.txt")[0] == 0
    assert made == [0]
    assert len(rows(book)) == 20


def test_lists_of_others_are_brought(narrator, book, tmp_path):
    notes = tmp_path / "notes.txt"
    notes.write_text(
        "Chapter 1\n0:01 wet is too loud\n9:00 gone\nChapter 7\n0:01 what?\n2.2 slow\n"
    )
    code, _, errors = narrator("pickups", book, "--from", notes)
    assert code == 0
    assert "2 new pickups of 2" in errors
    assert "notes.txt:3: chapter 1 lasts" in errors
    assert "notes.txt:5: there is no chapter 7: what?" in errors
    assert [(row["chunk"], row["note"]) for row in rows(book)] == [
        ("1.1", "wet is too loud"),
        ("2.2", "slow"),
    ]
    assert "0 new pickups of 2" in narrator("pickups", book, "--from", notes)[2]


def test_labels_go_out_and_come_back(narrator, flagged, tmp_path):
    folder = tmp_path / "labels"
    assert narrator("pickups", flagged, "--labels", folder)[0] == 0
    (file,) = folder.iterdir()
    start, stop, words = file.read_text().rstrip("\n").split("\t")
    assert start == stop
    assert words == "1.2 “far” is swallowed"
    (flagged / "book.pickups.csv").unlink()
    assert narrator("pickups", flagged, "--from", file, "--chapter", "1")[0] == 0
    assert [row["chunk"] for row in rows(flagged)] == ["1.2"]


def test_a_page_to_print_is_text_and_no_markup(narrator, flagged, tmp_path):
    narrator("flag", "2.1", flagged, "--note", "<script>alert(1)</script>")
    page = tmp_path / "pickups.html"
    assert narrator("pickups", flagged, "--page", page)[0] == 0
    said = page.read_text()
    assert "<script>" not in said
    assert "&lt;script&gt;alert(1)" in said
    assert "1. Out" in said
    assert "2. Home" in said
    assert narrator("pickups", flagged, "--page", page)[0] == 0
    page.write_text("mine")
    code, _, errors = narrator("pickups", flagged, "--page", page)
    assert (code, page.read_text()) == (2, "mine")
    assert "is there and is not a page of pickups" in errors


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["flag", "1.1"], "what is wrong there? Say it with --note"),
        (["flag", ".", "-n", "x"], "which place? A chunk, 3.12, or a chapter and a time"),
        (["flag", "9.9", "-n", "x"], "no chunk '9.9'"),
        (["pickups", "--from", "nowhere.txt"], "nowhere.txt"),
        (["pickups", "--from", "book.yaml"], "no line of it has a time and a note"),
    ],
)
def test_mistakes_are_one_line(narrator, book, monkeypatch, arguments, message):
    monkeypatch.chdir(book)
    code, _, errors = narrator(*arguments)
    assert code in (2, 3)
    assert message in errors
    assert not (book / "book.pickups.csv").exists()
