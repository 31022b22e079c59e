"""The report as one file, its command, and its routes in the studio."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from lxml import html

from narrator import cli
from narrator.pipeline.book_plan import BookPlan
from narrator.studio import saved_report
from tests import books
from tests.fakes import HumEngine
from tests.report.test_report import rendered
from tests.studios import Opened


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> BookPlan:
    return rendered(tmp_path_factory.mktemp("book"))


@pytest.fixture(scope="module")
def page(book: BookPlan) -> str:
    path = book.project.build / "report.html"
    saved_report.write(book, path, lambda what, share: None)
    return path.read_text("utf-8")


def report_in(page: str) -> Any:
    (script,) = html.document_fromstring(page).xpath("//script[@id='report-data']/text()")
    return json.loads(script)


def test_words_of_authors_are_text_and_nothing_else(page: str) -> None:
    tree = html.document_fromstring(page)
    assert [script.get("type") for script in tree.xpath("//script")] == [
        "application/json",
        "module",
    ]
    title = "The <script>alert(1)</script> Ferry 🛶 & מעבורת"
    assert report_in(page)["title"] == title
    assert tree.xpath("//title")[0].text == f"{title}: report"


def test_nothing_is_fetched_from_anywhere(page: str) -> None:
    tree = html.document_fromstring(page)
    assert not tree.xpath("//link | //iframe | //script[@src] | //img")
    script, style = tree.xpath("//script[@type='module']")[0].text, tree.xpath("//style")[0].text
    assert not re.search(r"^import|\bimport\(|fetch\(", script, re.MULTILINE)
    assert not re.search(r"@import|url\(", style)
    (policy,) = tree.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")
    assert "default-src 'none'" in policy


def test_links_lead_to_the_files_that_are_there(book: BookPlan, page: str) -> None:
    folder = book.project.build
    report = report_in(page)
    links = [file["url"] for file in report["files"]]
    links += [chapter["sound"] for chapter in report["chapters"] if chapter["sound"]]
    assert links
    for link in links:
        assert (folder / unquote(link)).is_file()


# -- the command -----------------------------------------------------------------------------------


@pytest.fixture
def narrator(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    def run(*arguments: str | Path) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["narrator", *map(str, arguments)])
        monkeypatch.setattr(
            "narrator.pipeline.book_engines.make_main_engine", lambda *_: HumEngine()
        )
        with pytest.raises(SystemExit) as caught:
            cli.main()
        said = capsys.readouterr()
        return int(caught.value.code or 0), said.out, said.err

    return run


@pytest.fixture(scope="module")
def delivered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = books.brief(tmp_path_factory.mktemp("delivered"))
    books.run(path, HumEngine())
    return path.parent


@pytest.fixture
def manifest(delivered: Path, tmp_path: Path) -> Path:
    """A book that is finished."""
    return shutil.copytree(delivered, tmp_path / "book") / "book.yaml"


def test_a_page_lies_where_it_is_asked_to_and_names_no_folder_of_this_machine(
    narrator: Any, manifest: Path, tmp_path: Path
) -> None:
    out = tmp_path / "elsewhere" / "page.html"
    code, said, errors = narrator("studio", manifest, "--save", out)
    assert (code, errors) == (0, "")
    assert "page.html" in said
    page = out.read_text("utf-8")
    report = report_in(page)
    assert report["files"]
    assert not any(row["url"] for row in report["files"])
    assert not any(chapter["sound"] for chapter in report["chapters"])
    assert str(tmp_path) not in page
    assert "../" not in page
    assert narrator("studio", manifest, "--save", out)[0] == 0  # a page replaces a page


def test_a_page_above_the_files_links_to_them(narrator: Any, manifest: Path) -> None:
    out = manifest.parent / "page.html"
    assert narrator("studio", manifest, "--save", out)[0] == 0
    links = [row["url"] for row in report_in(out.read_text("utf-8"))["files"]]
    assert links
    assert all(link.startswith("build/") for link in links)
    assert all((out.parent / unquote(link)).is_file() for link in links)


def test_a_file_that_cannot_be_read_is_named_without_its_folder(
    narrator: Any, manifest: Path, tmp_path: Path
) -> None:
    sounds = [*(manifest.parent / "build" / "book").rglob("*.wav")]
    sounds[0].write_bytes(b"nothing that sounds" * 99)
    out = tmp_path / "page.html"
    assert narrator("studio", manifest, "--save", out)[0] == 0
    page = out.read_text("utf-8")
    assert any(row["unreadable"] for row in report_in(page)["files"])
    assert str(tmp_path) not in page


def test_a_page_replaces_no_other_file(narrator: Any, manifest: Path) -> None:
    text = manifest.parent / "text" / "one.md"
    before = text.read_bytes()
    code, _, errors = narrator("studio", manifest, "--save", text)
    assert code == 2
    assert "one.md is there and is not a report: name another file, or remove it" in errors
    assert text.read_bytes() == before


def test_a_folder_is_no_page(narrator: Any, manifest: Path) -> None:
    code, _, errors = narrator("studio", manifest, "--save", manifest.parent)
    assert code == 2
    assert "is a folder: name a file in it" in errors


def test_an_incomplete_book_has_a_page_that_says_so(narrator: Any, tmp_path: Path) -> None:
    code, _, errors = narrator("studio", books.brief(tmp_path), "--save", tmp_path / "page.html")
    assert code == 0
    assert "missing" in errors


# -- in the studio ---------------------------------------------------------------------------------


def test_files_are_measured_when_that_is_asked_for(studio: Opened) -> None:
    before = studio.page.get("/api/report").json
    assert before["unmeasured"] == 1
    assert not before["measuring"]
    told = studio.page.told(
        lambda: studio.page.post("/api/report/measure"),
        lambda event: event["type"] == "report" and not event["activity"],
    )
    assert told[-1]["error"] == ""
    assert "measure files" in [event.get("activity") for event in told]
    after = studio.page.get("/api/report").json
    assert after["unmeasured"] == 0
    assert all(chapter["curve"] for chapter in after["chapters"])


def test_the_report_is_saved_from_the_studio(shared: Opened) -> None:
    answer = shared.page.get("/report.html")
    name = "Two%20bWalks%20-%20b%20%26%20more%20-%20report.html"
    assert answer.headers["content-disposition"] == f"attachment; filename*=UTF-8''{name}"
    assert report_in(answer.data.decode())["title"].startswith("Two")


def test_no_address_of_a_file_is_in_the_studios_report(shared: Opened) -> None:
    assert str(shared.session.view.project.root) not in shared.page.get("/api/report").data.decode()
