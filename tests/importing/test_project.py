"""A new project on disk: valid, complete, and there either whole or not at all."""

from __future__ import annotations

import dataclasses
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest
import yaml

from manuscripts import Book, CoverImage, ImportedChapter, PrintedSpeaker, Skipped
from narrator.errors import StorageError, UserError
from narrator.importing import import_book, starter_book, write_project
from narrator.project import load
from narrator.text.labels import Roles
from narrator.text.script import read_chapter
from tests.build_epub import PNG, build_epub

ROLES = Roles({"narrator": "narrator"}, "narrator")

BOOK = Book(
    title='The "Sea": Door #1',
    authors=("Jane Roe", "John Doe"),
    language="en-GB",
    chapters=(
        ImportedChapter("I. The Gate", "# I. The Gate\n\nText.\n", "one.xhtml", 12, 4),
        ImportedChapter("Épilogue: yes | no", "# Épilogue\n\nText.\n", "two.xhtml", 8, 3),
        ImportedChapter("***", "Text.\n", "three.xhtml", 5, 1),
    ),
    left_out=(
        Skipped("cop.xhtml", "Copyright", "copyright page", 20, 4, "All rights.\n", 0),
        Skipped("one.xhtml", "I. The Gate", "reference to a note", 1, 1, None, 1),
        Skipped("ack.xhtml", "", "acknowledgements", 6, 1, "Thanks.\n", 3),
    ),
    source="door.epub",
    characters=52,
    identifiers={"isbn": "0123456789", "uuid": "1e3"},
    cover=CoverImage(PNG, ".png"),
    subtitle="No: a Tale",
    series="Doors",
    series_part="2",
    publisher="Reef",
    date="2020-01-02",
    description="A long text. " * 30,
    genre="Sea",
    copyright="yes",
    remarks=("The cover was drawn.",),
)


def test_a_number_before_a_title_is_not_in_the_name_of_its_file(tmp_path: Path) -> None:
    titles = ("Chapter 1. Low Water", "IV: Low Water", "Chapter Six. Mr. Garnet", "Kapitel 2. Ebbe")
    chapters = [dataclasses.replace(BOOK.chapters[0], title=title) for title in titles]
    written = write_project(dataclasses.replace(BOOK, chapters=tuple(chapters)), tmp_path / "door")
    names = sorted(path.stem for path in (written.root / "text").glob("*.md"))
    assert names == [
        "01-low-water", "02-low-water", "03-chapter-six-mr-garnet", "04-kapitel-2-ebbe",
    ]  # fmt: skip


def test_a_project_has_its_files(tmp_path: Path) -> None:
    written = write_project(BOOK, tmp_path / "door")
    files = {p.relative_to(written.root).as_posix() for p in written.root.rglob("*") if p.is_file()}
    assert files == {
        "book.yaml", "import-report.md", ".gitignore", ".imported.json", "cover.png",
        "text/01-the-gate.md", "text/02-épilogue-yes-no.md", "text/03-chapter.md",
        "text/left-out/01-copyright.md", "text/left-out/02-acknowledgements.md",
    }  # fmt: skip
    assert (written.root / ".gitignore").read_text() == "build/\n"
    assert (written.root / "cover.png").read_bytes() == PNG


def test_the_manifest_says_what_the_book_says(tmp_path: Path) -> None:
    project = load.load(write_project(BOOK, tmp_path / "door").manifest)
    found = project.manifest
    assert (found.title, found.subtitle) == (BOOK.title, BOOK.subtitle)
    assert (found.author, found.language) == (BOOK.authors, "en-GB")
    assert found.identifiers == dict(BOOK.identifiers)
    assert (found.publisher, found.date, found.genre) == ("Reef", "2020-01-02", "Sea")
    assert found.copyright == "yes"
    assert found.description == BOOK.description.strip() or found.description == BOOK.description
    assert [chapter.title for chapter in found.chapters] == [c.title for c in BOOK.chapters]
    series = found.series
    assert not isinstance(series, str | None)
    assert (series.name, series.part) == ("Doors", "2")


def test_what_was_left_out_waits_as_comments_in_its_place(tmp_path: Path) -> None:
    path = write_project(BOOK, tmp_path / "door").manifest
    text = path.read_text("utf-8")
    path.write_text(text.replace("  # - ", "  - ").replace("  #   file", "    file"), "utf-8")
    titles = [chapter.title for chapter in load.load(path).manifest.chapters]
    assert titles == ["Copyright", *(c.title for c in BOOK.chapters), "Acknowledgements"]


def test_the_report_sums_to_the_whole(tmp_path: Path) -> None:
    report = write_project(BOOK, tmp_path / "door").report
    assert report is not None
    text = report.read_text("utf-8")
    for row in (
        "| in 3 chapters | 8 | 57.14% |", "| left out | 6 | 42.86% |",
        "| the source | 14 | 100.00% |", "- The cover was drawn.", "Épilogue: yes \\| no",
        "| one.xhtml | I. The Gate | reference to a note | 1 |  |",
    ):  # fmt: skip
        assert row in text


def test_speakers_of_a_script_are_the_cast(tmp_path: Path) -> None:
    names = ("Ann", "Mr Fox", "No", "12")
    book = dataclasses.replace(BOOK, speakers=tuple(map(PrintedSpeaker, names)))
    found = load.load(write_project(book, tmp_path / "talk").manifest).manifest
    assert list(found.speakers) == ["narrator", "Ann", "Mr Fox", "No", "12"]


def test_a_starter_is_a_project_to_begin_with(tmp_path: Path) -> None:
    written = write_project(starter_book(tmp_path / "my-first_book"), tmp_path / "my-first_book")
    project = load.load(written.manifest)
    assert project.manifest.title == "My First Book"
    assert written.report is None
    text = (written.root / "text/01-chapter-one.md").read_text("utf-8")
    assert len(read_chapter(
        text, path=Path("a"), title="a", language="en", roles=ROLES, speaker=None
    ).scenes) == 2  # fmt: skip


@pytest.mark.parametrize("name", ["new", "deep/er/new", "with space", "日本語"])
def test_a_project_goes_where_it_is_told(tmp_path: Path, name: str) -> None:
    assert write_project(BOOK, tmp_path / name).manifest == tmp_path / name / "book.yaml"


def test_an_empty_folder_is_taken(tmp_path: Path) -> None:
    assert write_project(BOOK, tmp_path).manifest.is_file()
    assert stat.S_IMODE(tmp_path.stat().st_mode) & 0o500 == 0o500


@pytest.mark.parametrize(("place", "message"), [(".", "not empty"), ("x", "is a file")])
def test_what_is_there_already_is_refused(tmp_path: Path, place: str, message: str) -> None:
    (tmp_path / "x").write_text("mine")
    with pytest.raises(UserError, match=message):
        write_project(BOOK, tmp_path / place)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("x", "mine")]


@pytest.mark.parametrize(
    ("fault", "raised"),
    [
        (OSError(28, "No space left on device"), StorageError),
        (KeyboardInterrupt(), KeyboardInterrupt),
    ],
)
def test_a_write_that_fails_or_is_interrupted_leaves_nothing(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    fault: BaseException,
    raised: type[BaseException],
) -> None:
    monkeypatch.setattr(os, "fsync", mock.Mock(side_effect=[None, None, None, fault]))
    with pytest.raises(raised, match="No space left" if raised is StorageError else None):
        write_project(BOOK, tmp_path / "door")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_is_told(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(StorageError, match="Permission denied"):
        write_project(BOOK, tmp_path / "door")


def test_an_epub_becomes_a_valid_project(tmp_path: Path) -> None:
    metadata = """<dc:title>No: 1e3 [a] {b} #c</dc:title><dc:creator>- ?</dc:creator>
    <dc:language>en</dc:language><dc:description>'"\\ : # \u0085 é</dc:description>"""
    documents = {"a.xhtml": "<h1>null</h1><p>Text.</p>", "b.xhtml": "<h1>@: - b</h1><p>Text.</p>"}
    source = build_epub(tmp_path / "b.epub", documents, metadata=metadata)
    book = import_book(source)
    found = load.load(write_project(book, tmp_path / "p").manifest).manifest
    assert (found.title, found.author, found.description) == (
        book.title, book.authors, book.description,
    )  # fmt: skip
    assert [chapter.title for chapter in found.chapters] == ["null", "@: - b"]
    assert yaml.safe_load((tmp_path / "p/book.yaml").read_text("utf-8"))["chapters"]


def test_an_epub_stays_in_its_project_for_the_read_along_edition(tmp_path: Path) -> None:
    original = tmp_path / "door.epub"
    original.write_bytes(b"as it came")
    written = write_project(BOOK, tmp_path / "door", original)
    project = load.load(written.manifest)
    assert project.manifest.source == "source.epub"
    assert (written.root / "source.epub").read_bytes() == b"as it came"
    other = load.load(write_project(BOOK, tmp_path / "of anything else").manifest)
    assert other.manifest.source is None


def test_what_a_killed_import_left_is_swept(tmp_path: Path) -> None:
    script = (
        "import os, signal, sys\nfrom pathlib import Path\n"
        "from narrator.importing import starter_book, write_project\n"
        "os.fsync = lambda number: os.kill(os.getpid(), signal.SIGKILL)\n"
        "write_project(starter_book(Path('x')), Path(sys.argv[1]))\n"
    )
    killed = subprocess.run([sys.executable, "-c", script, str(tmp_path / "door")], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert [path.name[:6] for path in tmp_path.iterdir()] == [".door."]
    mine = tmp_path / f".door.import-{os.getpid()}-00000000"
    mine.mkdir()  # of one that runs
    write_project(BOOK, tmp_path / "gate")
    assert sorted(path.name for path in tmp_path.iterdir()) == [mine.name, "gate"]
