"""A second import into a project: what somebody changed stays."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from manuscripts import Choices
from narrator.errors import UsageError
from narrator.importing import write_project
from narrator.importing.project import pending_tasks
from narrator.project import load
from tests.importing.books import PROSE, imported


def _again(folder: Path, text: str) -> dict[str, str]:
    """Import a text into the same project; files that stay, with those beside them."""
    book = imported(folder, text, Choices(title="A", language="en"))
    return dict(write_project(book, folder / "book").new_versions)


def test_a_second_import_replaces_what_nobody_changed(tmp_path: Path) -> None:
    text = f"CHAPTER I\n\n{PROSE}\nCHAPTER II\n\n{PROSE}"
    _again(tmp_path, text)
    assert _again(tmp_path, text.replace("ferryman", "sailor")) == {}
    assert "sailor" in (tmp_path / "book/text/02-chapter-ii.md").read_text()


def test_a_second_import_keeps_what_was_changed_and_lays_the_new_text_beside(
    tmp_path: Path,
) -> None:
    text = f"CHAPTER I\n\n{PROSE}\nCHAPTER II\n\n{PROSE}"
    _again(tmp_path, text)
    mine = tmp_path / "book/text/02-chapter-ii.md"
    mine.write_text("Mine.\n")
    manifest = tmp_path / "book/book.yaml"
    manifest.write_text(manifest.read_text() + "# mine\n")
    fresh = "text/02-chapter-ii.new.md"
    expected = {"book.yaml": "book.new.yaml", "text/02-chapter-ii.md": fresh}
    newer = text.replace("ferryman", "sailor").replace("CHAPTER I\n", "CHAPTER I. The Gate\n")
    assert _again(tmp_path, newer) == expected
    assert mine.read_text() == "Mine.\n"
    assert "sailor" in (tmp_path / "book" / fresh).read_text()
    assert _again(tmp_path, newer) == expected  # and again into the same files
    (tmp_path / "book" / fresh).write_text("Mine too.\n")
    assert _again(tmp_path, newer)["text/02-chapter-ii.md"] == "text/02-chapter-ii.new2.md"
    assert (tmp_path / "book" / fresh).read_text() == "Mine too.\n"


def test_texts_that_an_import_has_no_more_go_if_nobody_changed_them(tmp_path: Path) -> None:
    text = f"CHAPTER I\n\n{PROSE}\nCHAPTER II\n\n{PROSE}"
    _again(tmp_path, text)
    assert _again(tmp_path, f"CHAPTER I\n\n{PROSE}") == {}
    assert not (tmp_path / "book/text/02-chapter-ii.md").exists()


def test_without_a_record_all_counts_as_changed(tmp_path: Path) -> None:
    _again(tmp_path, f"CHAPTER I\n\n{PROSE}")
    (tmp_path / "book/.imported.json").unlink()
    kept = _again(tmp_path, f"CHAPTER I\n\n{PROSE}{PROSE}")
    assert kept == {"text/01-chapter-i.md": "text/01-chapter-i.new.md"}


def test_another_book_is_refused_and_the_same_one_under_another_name_is_not(
    tmp_path: Path,
) -> None:
    book = imported(tmp_path, f"CHAPTER I\n\n{PROSE}", Choices(title="A", language="en"))
    write_project(book, tmp_path / "book")
    with pytest.raises(UsageError, match=r"holds an import of “A” \(.*name another folder"):
        write_project(replace(book, title="B", source="b.epub"), tmp_path / "book")
    write_project(replace(book, title="B"), tmp_path / "book")
    write_project(replace(book, title="b", source="b.epub"), tmp_path / "book")


def test_a_manifest_that_stays_and_new_files_are_told_until_they_are_dealt_with(
    tmp_path: Path,
) -> None:
    text = f"CHAPTER I\n\n{PROSE}"
    _again(tmp_path, text)
    manifest = tmp_path / "book/book.yaml"
    assert pending_tasks(manifest) == []
    manifest.write_text(manifest.read_text().replace("Unknown", "Me"))
    book = imported(tmp_path, f"{text}\nCHAPTER II\n\n{PROSE}", Choices(title="A", language="en"))
    assert write_project(book, tmp_path / "book").unnamed_chapters == ("text/02-chapter-ii.md",)
    fresh, unnamed = pending_tasks(manifest)
    assert fresh.startswith("book.new.yaml: ")
    assert unnamed.startswith("text/02-chapter-ii.md: in no chapter")
    (tmp_path / "book/book.new.yaml").unlink()
    manifest.write_text(f"{manifest.read_text()}# file: text/02-chapter-ii.md\n")
    assert pending_tasks(manifest) == []


def test_an_import_of_before_keeps_its_lengths_of_chunks(tmp_path: Path) -> None:
    text = f"CHAPTER I\n\n{PROSE}"
    _again(tmp_path, text)
    manifest = tmp_path / "book/book.yaml"
    assert load.load(manifest).manifest.chunks.styled_seconds == 12
    written = manifest.read_text()
    older = re.sub(r"# Text with a style .*?\n\n", "", written, flags=re.DOTALL)
    assert "chunks" not in older
    manifest.write_text(older)
    for newer in (text, text.replace("ferryman", "sailor")):
        assert _again(tmp_path, newer) == {}
        assert load.load(manifest).manifest.chunks.styled_seconds is None
