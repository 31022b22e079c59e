"""Folders of manuscripts: each file by the reader of its kind, in the order that people count."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from manuscripts.errors import ImportFailed
from narrator.importing import import_book, write_project
from tests.manuscripts.imports import titles

OLD = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
FB2 = "<FictionBook><body><section><p>Words of the third.</p></section></body></FictionBook>"
FILES: dict[str, str | bytes] = {
    "1 Dawn.txt": "Words of the first.\n",
    "2 Noon.html": "<p>Words of the second.</p>",
    "3 Dusk.fb2": FB2,
    "10.md": "# Night\n\nWords of the last.\n",
}


def folder(where: Path, files: dict[str, str | bytes]) -> Path:
    made = where / "book"
    for name, data in files.items():
        path = made / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return made


def test_files_of_many_formats_are_one_book(tmp_path: Path) -> None:
    book = import_book(folder(tmp_path, FILES))
    assert titles(book) == ["1 Dawn", "2 Noon", "3 Dusk", "Night"]
    assert [c.source for c in book.chapters][1:3] == ["2 Noon.html", "3 Dusk.fb2, section 1"]
    assert book.characters == book.characters_kept + book.characters_left_out


def test_what_is_no_manuscript_is_passed_over(tmp_path: Path) -> None:
    others = {
        ".DS_Store": b"\0",
        "cover.jpg": b"\xff\xd8\xff",
        "book.yaml": "a: b",
        "~$1.docx": "x",
    }
    book = import_book(folder(tmp_path, FILES | others))
    assert len(book.chapters) == 4
    assert not any("not read" in remark for remark in book.remarks)


def test_a_manuscript_that_cannot_be_read_is_remarked(tmp_path: Path) -> None:
    book = import_book(folder(tmp_path, FILES | {"4.doc": OLD}))
    assert len(book.chapters) == 4
    assert any(r.startswith("4.doc is not read: is an old Word") for r in book.remarks)


def test_notes_about_a_book_are_none_of_its_chapters(tmp_path: Path) -> None:
    files = {"1.txt": "One\n\nHe came.", "Notes.txt": "Ask Ann.", "Synopsis.rtf": r"{\rtf1 Tide.}"}
    book = import_book(folder(tmp_path, files))
    assert len(book.chapters) == 1
    assert [item.source for item in book.left_out] == ["Notes.txt"]
    assert any(one.startswith("Synopsis.rtf is about the book") for one in book.remarks)


def test_a_folder_of_what_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ImportFailed, match=r"1\.doc: is an old Word .* save it as .docx"):
        import_book(folder(tmp_path, {"1.doc": OLD, "2.doc": OLD}))


def test_a_chapter_in_two_formats_is_read_once(tmp_path: Path) -> None:
    book = import_book(folder(tmp_path, FILES | {"10.html": "<p>Words of the last.</p>"}))
    assert titles(book)[-1] == "Night"
    assert "10.html is not read: 10.md is." in book.remarks


def test_pages_among_a_few_others_are_one_book_of_pages(tmp_path: Path) -> None:
    pages = {f"{n}.html": f"<h1>Door {n}</h1><p>Words.</p>" for n in (1, 2, 3)}
    book = import_book(folder(tmp_path, pages | {"about.txt": "About it."}))
    assert titles(book) == ["Door 1", "Door 2", "Door 3"]
    assert "Not read, as most files here are HTML: about.txt." in book.remarks


def test_links_out_of_the_folder_and_in_circles_do_no_harm(tmp_path: Path) -> None:
    made = folder(tmp_path, FILES)
    (tmp_path / "secret.txt").write_text("Secret words.")
    (made / "5.txt").symlink_to(tmp_path / "secret.txt")
    (made / "6.txt").symlink_to(made / "6.txt")
    (made / "loop").symlink_to(made)
    book = import_book(made)
    assert len(book.chapters) == 4
    assert "5.txt is a link out of the folder; not read." in book.remarks


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("novel.scriv/novel.scrivx", "Scrivener project; compile it to Word"),
        ("novel.pages/Index.zip", "Pages document; export it as Word"),
        ("novel/picture.png", "without manuscripts; what can be imported: EPUB"),
    ],
)
def test_folders_of_programs_are_refused_with_what_to_do(
    tmp_path: Path, name: str, what: str
) -> None:
    made = folder(tmp_path, {name: b"x"})
    with pytest.raises(ImportFailed, match=what):
        import_book(made / Path(name).parts[0])


def test_names_of_files_that_are_no_utf8_can_be_written(tmp_path: Path) -> None:
    made = folder(tmp_path, FILES)
    try:
        (made / os.fsdecode(b"4 \xff.txt")).write_text("Words of the fourth.\n")
    except OSError:
        pytest.skip("this file system takes no such names")
    report = write_project(import_book(made), tmp_path / "new").report
    assert report is not None
    assert "4 .txt" in report.read_text("utf-8")
