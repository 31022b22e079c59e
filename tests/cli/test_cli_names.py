"""How a book and its chunks are named: the same way in every command; what is not found says so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from narrator.cli.shared import parse_one_chunk, split_arguments
from narrator.errors import ManifestError, UsageError
from narrator.project.place import manifest_at
from tests import books


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "option", "found"),
    [
        (["3.12"], None, (["3.12"], "book.yaml")),
        (["3.12", "my-book"], None, (["3.12"], "my-book")),
        (["my-book", "3.12"], None, (["3.12"], "my-book")),
        (["3.12", "3.14", "my-book/book.yaml"], None, (["3.12", "3.14"], "my-book/book.yaml")),
        (["3.12"], "my-book", (["3.12"], "my-book")),
        (["deadbeef"], None, (["deadbeef"], "book.yaml")),
    ],
)
def test_chunks_and_books_are_told_apart_in_any_order(here, words, option, found):
    chunks, book = split_arguments(words, Path(option) if option else None)
    assert (chunks, str(book)) == found


def test_a_folder_that_is_called_like_a_chunk_is_the_book_where_there_is_no_other(here):
    (here / "1.1").mkdir()
    assert split_arguments(["1.1", "2.3"], None) == (["2.3"], Path("1.1"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["a", "b", "1.1"], "which is the book, a or b?"),
        (["my-book"], "which chunk? Name one, chapter.number, and its book: 3.12 my-book"),
        (["1.1", "1.2"], "which of 1.1, 1.2?"),
    ],
)
def test_what_cannot_be_told_apart_is_asked(here, words, said):
    with pytest.raises(UsageError) as caught:
        parse_one_chunk(words, None)
    assert said in str(caught.value)


def test_commands_on_chunks_take_the_book_before_and_after(narrator, here):
    books.write(here / "my-book")
    for words in (["1.1", "my-book"], ["my-book", "1.1"], ["1.1", "--book", "my-book"]):
        for command in ("why", "takes"):
            code, said, errors = narrator(command, *words, "--draft")
            assert (code, errors) == (0, "")
            assert said.startswith("1.1  my-book/text/one.md:1  ")
    assert narrator("unpin", "my-book", "1.1", "--draft")[0] == 0
    code, _, errors = narrator("pin", "my-book", "1.1", "--draft")
    assert (code, "which try of 1.1?" in errors) == (2, True)


def test_commands_on_books_take_them_as_an_option_too(narrator, here):
    books.write(here / "my-book")
    for words in (["my-book"], ["--book", "my-book"], ["--book=my-book"], ["-b", "my-book"]):
        assert narrator("check", *words)[0] == 0


def test_plan_names_every_chunk(narrator, here):
    book = books.write(here)
    _, said, _ = narrator("plan", book, "--draft", "--chunks", "--chapter", "1")
    lines = said.splitlines()
    assert lines[0].split() == ["1.1", "narrator", "new", "Morning"]
    assert "1.3  ann       new       Is there room for one more" in said
    _, said, _ = narrator("plan", book, "--draft", "--chunks", "--json")
    rows = json.loads(said)["chunks"]
    assert len(rows) == len(json.loads(said)["todo"])
    assert rows[0].keys() >= {"id", "speaker", "reason", "text", "source", "key"}


# -- what is no manifest ---------------------------------------------------------------------------


def said(path: Path) -> str:
    with pytest.raises(ManifestError) as caught:
        manifest_at(path)
    return str(caught.value)


@pytest.mark.parametrize("name", ["story.md", "story.epub", "story.txt"])
def test_a_manuscript_is_no_manifest_and_says_how_it_becomes_one(here, name):
    Path(name).write_text("Once.")
    assert said(Path(name)) == (
        f"{name}: a text, not a manifest; `narrator new DIR --from {name}` makes a project of it"
    )


def test_a_text_of_a_project_names_it(here):
    books.write(here / "my-book")
    assert said(Path("my-book/text/one.md")).endswith(f"name its project: {here / 'my-book'}")
    assert said(Path("my-book/text")).endswith(f"name its project: {here / 'my-book'}")


def test_sound_and_other_formats_say_what_takes_them(here):
    for name in ("book.m4b", "novel.docx", "novel.doc"):
        Path(name).write_bytes(b"x")
    assert "`narrator verify book.m4b` measures it" in said(Path("book.m4b"))
    assert "`narrator new DIR --from novel.docx` makes a project" in said(Path("novel.docx"))
    assert "save it as Word (.docx) or EPUB" in said(Path("novel.doc"))


def test_a_folder_without_a_manifest_names_what_is_near(here):
    assert "name a project's folder" in said(here)
    Path("novel.epub").write_bytes(b"x")
    assert "`narrator new DIR --from 'novel.epub'`" in said(Path("book.yaml"))
    Path("README.md").write_text("Not a manuscript.")
    assert "name a project's folder" in said(Path("book.yaml"))
    assert "README.md" not in said(Path("book.yaml"))
    books.write(here / "one")
    assert said(Path()).endswith("no book.yaml in this folder; did you mean one?")
    Path("ferry.yaml").write_text(books.MANIFEST)
    assert said(Path()).endswith("did you mean ferry.yaml?")


def test_a_name_that_nothing_has_names_the_nearest(here):
    books.write(here / "my-book")
    assert said(Path("my-bok")).endswith("no such file; did you mean 'my-book'?")
    assert "`narrator why 3.12`" in said(Path("3.12"))


def test_a_book_in_the_place_of_a_command_says_what_to_do_with_it(narrator, here):
    books.write(here / "my-book")
    code, _, errors = narrator("my-book")
    assert (code, "For example: narrator check my-book" in errors) == (2, True)
    code, _, errors = narrator("story.epub")
    assert (code, "narrator new DIR --from story.epub" in errors) == (2, True)


def test_commands_and_options_that_are_mistyped_name_the_nearest(narrator):
    assert "Did you mean 'render'?" in narrator("rendr")[2]
    assert "--draft" in narrator("render", "--drft")[2]


def test_chapters_that_have_the_same_file_or_title_are_a_warning(narrator, here):
    again = "  - {title: morning, file: ./text/one.md}\noutput"
    book = books.write(here, books.MANIFEST.replace("output", again))
    code, _, errors = narrator("check", book)
    assert code == 0
    assert "book.yaml:10: chapters 1, 3 have the same file, 'text/one.md'" in errors
    assert "book.yaml:10: chapters 1, 3 have the same title, 'Morning'" in errors


def test_an_unknown_profile_names_those_there_are(narrator, here):
    text = books.MANIFEST.replace("{formats: [wav], files: chapters}", "{profile: Audible}")
    code, _, errors = narrator("check", books.write(here, text))
    assert code == 2
    assert "unknown profile 'Audible'; did you mean 'acx'? There are acx, audiobookshelf" in errors
    code, _, errors = narrator("verify", here, "--profile", "apple")
    assert (code, "did you mean 'apple-podcasts'?" in errors) == (2, True)
