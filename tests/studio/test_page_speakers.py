"""Somebody who is not in the cast yet is named wherever the page asks who speaks.

Run by `make pages`; `make test` leaves it out.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.serve.test_speech import until
from tests.studio.test_edit_routes import STORY
from tests.studio.test_page import BOOK, OUT, Studio, chromium, expect, opened

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser
__all__ = ["chromium"]
WITH_TOM = BOOK.replace("Ben: {}", "Ben: {}, Tom: {pronoun: he, kokoro: {voice: bm_fable}}")


@pytest.fixture
def studio(chromium: Browser, tmp_path: Path) -> Iterator[Studio]:
    (tmp_path / "book.yaml").write_text(BOOK)
    (tmp_path / "out.md").write_text(OUT)
    (tmp_path / "home.md").write_text(STORY)
    with opened(chromium, tmp_path) as found:
        yield found


def test_a_line_and_a_stretch_are_given_to_somebody_new(studio: Studio) -> None:
    page, text, manifest = studio.page, studio.folder / "out.md", studio.folder / "book.yaml"
    studio.choose("1.3")
    studio.press("v")
    page.get_by_role("dialog").get_by_label("Or somebody new").fill("Tom")
    expect(page.locator("dialog .speakers :checked")).to_have_count(0)
    page.get_by_role("dialog").get_by_label("Pronoun").select_option("he")
    page.get_by_role("button", name="Save").press("Enter")
    expect(studio.chunk("1.3")).to_contain_text("Tom: ")
    expect(page.locator("#said")).to_contain_text("Tom says")
    assert text.read_text() == OUT.replace("Ada: Not", "Tom: Not")
    assert manifest.read_text() == WITH_TOM
    studio.press("u")
    until(lambda: (manifest.read_text(), text.read_text()) == (BOOK, OUT))
    expect(studio.chunk("1.3")).to_contain_text("Ada: ")

    studio.press("v")
    page.get_by_role("button", name="More lines…").press("Enter")
    page.get_by_role("dialog").get_by_label("Or somebody new").fill("Eve")
    page.get_by_role("button", name="Save").press("Enter")
    expect(page.locator("#said")).to_contain_text("Eve says 1 part")
    assert text.read_text() == OUT.replace("Ada: Not", "Eve: Not")
    assert "Eve" in manifest.read_text()
    studio.press("u")
    until(lambda: (manifest.read_text(), text.read_text()) == (BOOK, OUT))


def test_somebody_who_is_chosen_from_the_list_takes_the_place_of_a_new_name(studio: Studio) -> None:
    page, text = studio.page, studio.folder / "out.md"
    studio.choose("1.3")
    studio.press("v")
    new = page.get_by_role("dialog").get_by_label("Or somebody new")
    new.fill("Tom")
    page.get_by_role("radio", name="Ben").check()
    expect(new).to_have_value("")
    page.get_by_role("button", name="Save").press("Enter")
    expect(page.locator("#said")).to_contain_text("Ben says")
    assert text.read_text() == OUT.replace("Ada: Not", "Ben: Not")
    assert (studio.folder / "book.yaml").read_text() == BOOK


def test_a_turn_is_given_to_somebody_new(studio: Studio) -> None:
    page, rows = studio.page, studio.folder / "home.speakers.txt"
    page.get_by_role("tab", name="Who?").click()
    page.get_by_label("Or somebody new").fill("Tom")
    page.get_by_label("Or somebody new").press("Enter")
    until(lambda: rows.exists() and "Tom | you" in rows.read_text())
    assert "Tom" in (studio.folder / "book.yaml").read_text()
    expect(page.locator("#pane-doubts")).to_contain_text("No quotation is doubtful")


def test_a_speaker_is_added_to_the_cast(studio: Studio) -> None:
    page, manifest = studio.page, studio.folder / "book.yaml"
    studio.press("c")
    page.get_by_role("button", name="Add a speaker").press("Enter")
    expect(page.locator("#pane-cast").get_by_label("Somebody new")).to_be_focused()
    page.keyboard.type("Tom")
    page.locator("#pane-cast").get_by_label("Pronoun").last.select_option("he")
    page.locator("#pane-cast").get_by_label("Somebody new").press("Enter")
    expect(page.locator(".person[aria-expanded=true] .name")).to_have_text("Tom")
    assert manifest.read_text() == WITH_TOM
    studio.press("Escape", "u")
    until(lambda: manifest.read_text() == BOOK)
    studio.press("c")
    expect(page.locator(".person .name").filter(has_text="Tom")).to_have_count(0)


def test_a_search_that_finds_nobody_says_what_to_do(chromium: Browser, tmp_path: Path) -> None:
    book = BOOK.replace("speakers: {narrator: {}, Ada: {}, Ben: {}} # the cast\n", "")
    (tmp_path / "book.yaml").write_text(book)
    (tmp_path / "out.md").write_text("It rained.\n")
    (tmp_path / "home.md").write_text("They came home.\n")
    with opened(chromium, tmp_path) as studio:
        page = studio.page
        studio.press("c")
        told = page.locator("#pane-cast [role=status]")
        for _ in range(2):
            page.get_by_role("button", name="Find who speaks").press("Enter")
            expect(told).to_contain_text(
                "Nobody found: nothing in the text is quoted. Add speakers"
            )
        assert (tmp_path / "book.yaml").read_text() == book
