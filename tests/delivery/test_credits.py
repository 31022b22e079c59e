"""Credits, spoken from templates, as chapters around a book's own."""

from __future__ import annotations

from pathlib import Path

from narrator.pipeline.manuscript import find_oddities, read_manuscript
from tests import books
from tests.fakes import HumEngine

BOOK = books.PLAIN.replace("title: The Ferry", 'title: "1984: *Ferry* [x]"\nnarrated_by: A Voice')
OUT = "output: {formats: flac, files: chapters}\n"


def texts(path: Path) -> list[str]:
    return [u.chunk.text.strip() for u in read_manuscript(path).spoken]


def test_the_book_begins_and_ends_with_its_credits(tmp_path: Path) -> None:
    path = books.write(tmp_path, BOOK + OUT + "credits: {}\n")
    manuscript = read_manuscript(path)
    titles = [chapter.title for chapter in manuscript.chapters]
    assert titles == ["Opening credits", "Morning", "Evening", "Closing credits"]
    whole = " ".join(texts(path))
    assert whole.startswith("1984: *Ferry* [x]. Written by A. Author. Narrated by A Voice.")
    assert whole.endswith("Narrated by A Voice. The end.")
    assert {u.chunk.speaker for u in manuscript.spoken if u.chapter in (0, 3)} == {"narrator"}
    assert not [item for chapter in manuscript.chapters for item in chapter.left_out]


def test_credits_are_files_of_their_own(tmp_path: Path) -> None:
    path = books.brief(tmp_path, BOOK + OUT + "credits: {speaker: ann, closing: The end.}\n")
    report, _ = books.run(path, HumEngine())
    assert report.finished is not None
    assert [path.name for path in report.finished.files] == [
        "01 - Opening credits.flac",
        "02 - Morning.flac",
        "03 - Evening.flac",
        "04 - Closing credits.flac",
    ]


def test_adding_credits_speaks_nothing_else_again(tmp_path: Path) -> None:
    path = books.write(tmp_path, BOOK + OUT)
    books.speak(path, HumEngine())
    books.write(tmp_path, BOOK + OUT + "credits: {opening: A book.}\n")
    todo = " ".join(books.todo(path, HumEngine()))
    assert todo.startswith("A book.")
    assert "The end." in todo
    assert "ferry left at seven" not in todo
    assert len(books.todo(path, HumEngine())) <= 5


def test_what_is_wrong_in_credits_is_said_with_their_line(tmp_path: Path) -> None:
    path = books.write(tmp_path, BOOK + OUT + 'credits: {opening: "[pause 99999s] Hello."}\n')
    line = (
        path.read_text(encoding="utf-8")
        .splitlines()
        .index('credits: {opening: "[pause 99999s] Hello."}')
    )
    (said,) = find_oddities(read_manuscript(path), [])
    assert str(said).startswith(f"{path}:{line + 1}: ")
    assert "99999s" in str(said)
