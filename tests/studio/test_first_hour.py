"""The whole first hour: from a manuscript to a file that was heard and mended, in one session.

Run by `make pages`; `make test` leaves it out.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import av
import pytest

from tests.build_docx import build_docx, p
from tests.studio.test_import_routes import HEADING, STYLES
from tests.studio.test_page import SOON, Studio, chromium, expect
from tests.studio.test_start_page import drop, reach, start_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

__all__ = ["chromium"]
pytestmark = pytest.mark.browser

CHAPTERS = {
    "Out": (
        "The road to Kirkcudbright was long, and the wind blew from the sea.",
        "“It is not far now,” said Ada Finch.",
        "“I am cold,” said Ben Hale, and he stood still.",
        "“Then walk faster,” said Ada Finch.",
    ),
    "Home": ("They came home from Kirkcudbright.", "“At last,” said Ben Hale."),
}
CORE = "<dc:title>Two Walks</dc:title><dc:creator>Jane Roe</dc:creator>"


def manuscript(folder: Path) -> Path:
    """A Word document of two chapters, in which two people speak."""
    body = "".join(
        p(title, HEADING) + "".join(map(p, paragraphs)) for title, paragraphs in CHAPTERS.items()
    )
    return build_docx(folder / "walks.docx", body, STYLES, CORE)


def is_heard(page: Page, sound: str) -> None:
    """A sound is played, and goes on."""
    page.wait_for_function(
        "sound => { const { currentTime, paused } = document.querySelector(sound); "
        "return currentTime > 0.2 && !paused; }",
        arg=sound,
    )


def mend_name(page: Page) -> None:
    page.keyboard.press("Enter")
    expect(page.get_by_role("textbox", name="Say it as")).to_be_focused()
    page.keyboard.type("Kur-koo-bree")
    page.keyboard.press("Enter")
    expect(page.locator("dialog")).to_have_count(0)
    expect(page.locator("#status")).to_contain_text("2 lines to speak")


def go_to(page: Page, chunk: str) -> None:
    """By keys: the sound that was played has chosen others."""
    page.keyboard.press("g")
    page.keyboard.type(chunk)
    page.keyboard.press("Enter")
    expect(page.locator("#pane-chunk .number")).to_have_text(chunk)


def is_the_book(folder: Path) -> None:
    """The file that was downloaded is that of the mended project."""
    with av.open(str(folder / "walks.m4b")) as book:
        assert book.metadata["title"] == "Two Walks"
        titles = [chapter["metadata"]["title"] for chapter in book.chapters()]
    assert titles == list(CHAPTERS)
    project = folder / "shelf" / "two-walks"
    manifest = (project / "book.yaml").read_text()
    assert "name: draft" in manifest
    assert "Kirkcudbright: Kur-koo-bree" in manifest
    assert "Ada Finch | you |" in (project / "text" / "01-out.speakers.txt").read_text()


def first_hour(page: Page, folder: Path) -> None:
    """By mouse, on the start page of `folder`/shelf."""
    drop(page, manuscript(folder))
    page.get_by_role("button", name="Make the book").click()
    page.get_by_role("button", name="Find who speaks").click()
    expect(page.locator("#making")).to_contain_text("3 voices: narrator, Ada Finch, Ben Hale")
    page.get_by_role("radio", name="Draft voice").check()
    page.get_by_role("button", name="Render the book").click()
    download = page.get_by_role("link", name="Download")
    expect(download).to_be_visible(timeout=4 * SOON)
    first = download.get_attribute("href")
    page.locator(".files audio").evaluate("sound => { sound.play(); }")
    is_heard(page, ".files audio")

    page.get_by_role("link", name="Open in the studio").click()
    studio = Studio(folder / "shelf" / "two-walks", page)
    page.get_by_role("button", name="Play", exact=True).click()
    is_heard(page, "#sound")
    page.get_by_role("button", name="Pause", exact=True).click()
    studio.choose("1.2")
    page.get_by_role("button", name="Say it as").click()
    page.get_by_role("button", name="Kirkcudbright", exact=True).focus()
    mend_name(page)
    studio.choose("1.5")
    page.get_by_role("button", name="Speaker", exact=True).click()
    page.get_by_role("radio", name="Ada Finch").check()
    page.locator("dialog").get_by_role("button", name="Save").click()
    expect(page.locator("#status")).to_contain_text("3 lines to speak")
    page.get_by_role("button", name="Render…").click()
    page.get_by_role("button", name="Render the book").click()
    expect(page.locator("#status")).to_have_text("Everything is rendered", timeout=4 * SOON)

    page.get_by_role("link", name="All books").click()
    page.get_by_role("link", name="Voice and files").click()
    expect(download).not_to_have_attribute("href", first)
    with page.expect_download() as file:
        download.click()
    file.value.save_as(folder / "walks.m4b")
    is_the_book(folder)


def test_the_first_hour(chromium: Browser, tmp_path: Path) -> None:
    (tmp_path / "shelf").mkdir()
    with start_page(chromium, tmp_path / "shelf") as page:
        first_hour(page, tmp_path)


def test_the_first_hour_by_keys_alone(chromium: Browser, tmp_path: Path) -> None:
    (tmp_path / "shelf").mkdir()
    with start_page(chromium, tmp_path / "shelf") as page:
        press, path = page.keyboard.press, manuscript(tmp_path)
        page.on("filechooser", lambda chooser: chooser.set_files(path))
        render = page.get_by_role("button", name="Render the book")
        reach(page, "Drop a manuscript here, or choose a file")
        press("Enter")
        expect(page.get_by_role("heading", name="New book from walks.docx")).to_be_focused()
        reach(page, "Make the book")
        press("Enter")
        expect(page.get_by_role("heading", name="Two Walks")).to_be_focused()
        reach(page, "radio")
        reach(page, "Draft voice", "ArrowDown")
        press("Space")
        reach(page, "Find who speaks")
        press("Enter")
        expect(page.locator("#making")).to_contain_text("3 voices: narrator, Ada Finch, Ben Hale")
        expect(render).to_be_enabled()
        reach(page, "Render the book")
        press("Enter")
        download = page.get_by_role("link", name="Download")
        expect(download).to_be_focused(timeout=4 * SOON)
        first = download.get_attribute("href")
        reach(page, "Open in the studio")
        press("Enter")

        expect(page.get_by_role("button", name="Play", exact=True)).to_be_enabled()
        press("Space")
        is_heard(page, "#sound")
        press("Space")
        go_to(page, "1.2")
        press("w")
        expect(page.get_by_role("heading", name="Say it as")).to_be_visible()
        reach(page, "Kirkcudbright")
        mend_name(page)
        go_to(page, "1.5")
        press("v")
        expect(page.get_by_role("heading", name="Speaker of 1.5")).to_be_visible()
        reach(page, "radio")
        reach(page, "Ada Finch", "ArrowUp")
        press("Enter")
        expect(page.locator("#status")).to_contain_text("3 lines to speak")
        press("Shift+R")
        expect(render).to_be_enabled()
        reach(page, "Render the book")
        press("Enter")
        expect(page.locator("#status")).to_have_text("Everything is rendered", timeout=4 * SOON)

        reach(page, "All books")
        press("Enter")
        expect(page.get_by_role("link", name="Voice and files")).to_be_visible()
        reach(page, "Voice and files")
        press("Enter")
        expect(page.get_by_role("heading", name="Two Walks")).to_be_focused()
        reach(page, "Download")
        assert download.get_attribute("href") != first
        with page.expect_download() as file:
            press("Enter")
        file.value.save_as(tmp_path / "walks.m4b")
        is_the_book(tmp_path)
