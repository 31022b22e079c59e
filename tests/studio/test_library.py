"""The start page's server: the projects of a folder, and the studios of several books."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from narrator.cli.studio import _folder_of_projects
from narrator.studio import library
from tests import studios
from tests.studios import OpenedLibrary, Visitor

PNG = b"\x89PNG\r\n\x1a\n" + bytes(64)


@pytest.fixture(scope="module")
def shelf(spoken: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenedLibrary]:
    """A folder with a rendered book, one with a cover, a broken one, and what is no book."""
    folder = tmp_path_factory.mktemp("shelf")
    shutil.copytree(spoken, folder / "walks")
    (folder / "covered").mkdir()
    studios.write(folder / "covered", book=f"cover: cover.png\n{studios.BOOK}")
    (folder / "covered" / "cover.png").write_bytes(PNG)
    (folder / "broken").mkdir()
    (folder / "broken" / "book.yaml").write_text("title: [\n")
    (folder / ".hidden").mkdir()
    studios.write(folder / ".hidden")
    (folder / "notes").mkdir()
    with studios.opened_library(folder) as opened:
        yield opened


def test_the_books_of_a_folder_are_listed(shelf: OpenedLibrary) -> None:
    answer = shelf.page.get("/api/projects").json
    rows = {row["folder"]: row for row in answer["projects"]}
    assert list(rows) == ["broken", "covered", "walks"]
    assert rows["walks"]["author"] == "Nobody"
    assert rows["walks"]["chapters"] == 2
    assert rows["walks"]["is_begun"]
    assert not rows["covered"]["is_begun"]
    assert rows["broken"]["trouble"].startswith("book.yaml:")


def test_the_progress_of_a_book_is_counted(shelf: OpenedLibrary) -> None:
    progress = shelf.page.get(f"/api/projects/{shelf.id_of('walks')}/progress").json
    assert progress["chunks"] == progress["rendered"] > 0


def test_a_cover_is_served_by_its_books_id(shelf: OpenedLibrary) -> None:
    answer = shelf.page.get(f"/api/projects/{shelf.id_of('covered')}/cover")
    assert (answer.status, answer.data) == (200, PNG)
    assert answer.headers["content-type"] == "image/png"
    assert shelf.page.get(f"/api/projects/{shelf.id_of('walks')}/cover").status == 404


def test_a_book_opens_in_its_studio(shelf: OpenedLibrary) -> None:
    id = shelf.id_of("walks")
    address = shelf.open(id)
    assert address == f"/book/{id}/"
    page = shelf.page.get(address)
    assert b"Walks" in page.data
    assert b'href="/"' in page.data
    assert shelf.page.get(f"{address}api/book").json["author"] == "Nobody"
    chapter = shelf.page.get(f"{address}api/chapters/1").json
    sound = shelf.page.get(f"/book/{id}{chapter['sound']['url']}")
    assert sound.headers["content-type"].startswith("audio/")
    assert shelf.open(id) == address


def test_a_book_that_cannot_be_read_says_why(shelf: OpenedLibrary) -> None:
    answer = shelf.page.post(f"/api/projects/{shelf.id_of('broken')}/open")
    assert answer.status == 422
    assert "book.yaml" in answer.json["error"]


def test_a_book_that_is_not_open_is_opened_by_the_start_page(shelf: OpenedLibrary) -> None:
    id = shelf.id_of("covered")
    answer = shelf.page.get(f"/book/{id}/")
    assert (answer.status, answer.headers["location"]) == (303, f"/#open={id}")
    assert shelf.page.get(f"/book/{id}/api/book").status == 404


@pytest.mark.parametrize("id", ["..", "%2e%2e", "walks", "%2e%2e%2fwalks", "0" * 16, "a/../b"])
@pytest.mark.parametrize("path", ["/api/projects/{}/cover", "/book/{}/", "/book/{}/api/book"])
def test_no_part_of_an_address_is_a_path(shelf: OpenedLibrary, path: str, id: str) -> None:
    answer = shelf.page.get(path.format(id))
    assert answer.status in (303, 404)
    assert answer.headers.get("location", "/").startswith("/")
    assert shelf.page.post(f"/api/projects/{id}/open").status in (404, 405)


def test_strangers_see_nothing_of_it(shelf: OpenedLibrary) -> None:
    stranger, address = Visitor(shelf.page.port), shelf.open(shelf.id_of("walks"))
    for path in ("/", "/api/projects", address, f"{address}api/book", "/static/start.js"):
        assert stranger.get(path).status == 401, path
    assert b"<h1>" in stranger.get(address).data
    foreign = {"origin": "http://elsewhere.example"}
    assert shelf.page.post(f"{address}api/undo", **foreign).status == 403
    assert shelf.page.get("/api/projects", sec_fetch_site="cross-site").status == 403


def test_books_of_which_no_page_is_open_make_room(
    spoken: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library, "MAX_OPEN_BOOKS", 1)
    for name in ("one", "two"):
        shutil.copytree(spoken, tmp_path / name)
    with studios.opened_library(tmp_path) as opened:
        first, second = (opened.id_of(name) for name in ("one", "two"))
        opened.open(first)
        opened.open(second)
        assert opened.library.find_book(first) is None
        assert opened.library.find_book(second) is not None


def test_without_a_book_the_start_page_is_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert _folder_of_projects(Path("book.yaml")) == Path()
    assert _folder_of_projects(tmp_path) == tmp_path
    assert _folder_of_projects(Path("other.yaml")) is None
    (tmp_path / "book.yaml").touch()
    assert _folder_of_projects(Path("book.yaml")) is None
    assert _folder_of_projects(tmp_path) is None
