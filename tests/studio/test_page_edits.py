"""Edits on the page: shown at once, and where one is refused, what differs, in its place; by keys.

Run by `make pages`; `make test` leaves it out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.serve.test_speech import until
from tests.studio.test_page import OUT, SOON, Studio, chromium, expect, studio

if TYPE_CHECKING:
    from playwright.sync_api import Route

pytestmark = pytest.mark.browser
__all__ = ["chromium", "studio"]


def edit_words(studio: Studio, chunk: str, text: str) -> None:
    studio.choose(chunk)
    studio.press("e")
    studio.page.locator("dialog textarea").wait_for()
    studio.press("Control+a")
    studio.page.keyboard.insert_text(text)
    studio.press("Control+Enter")


def test_an_edit_is_shown_before_the_server_has_answered(studio: Studio) -> None:
    page, held = studio.page, list["Route"]()
    page.route("**/api/edits", lambda route: held.append(route))
    edit_words(studio, "1.2", "The road was long. It was wet, and the wind blew from the sea.")
    expect(studio.chunk("1.2")).to_contain_text("The road was long.")
    expect(studio.chunk("1.2")).to_contain_text("being saved")
    expect(page.locator("dialog")).to_have_count(0)
    assert (studio.folder / "out.md").read_text() == OUT
    until(lambda: held)
    held.pop().continue_()
    expect(studio.chunk("1.2")).not_to_contain_text("being saved")
    expect(studio.chunk("1.2")).to_contain_text("The road was long.")
    assert "The road was long." in (studio.folder / "out.md").read_text()

    studio.choose("1.3")
    studio.press("v")
    page.get_by_role("radio", name="Ben").check()
    studio.press("Enter")
    expect(studio.chunk("1.3")).to_contain_text("Ben: ")
    expect(studio.chunk("1.3")).to_contain_text("being saved")
    held.pop().continue_()
    until(lambda: "Ben: Not far now." in (studio.folder / "out.md").read_text())
    page.unroute("**/api/edits")
    studio.press("u", "u")
    expect(studio.chunk("1.2")).to_contain_text("Kirkcudbright")
    expect(studio.chunk("1.3")).to_contain_text("Ada: ")
    until(lambda: (studio.folder / "out.md").read_text() == OUT)


def test_a_conflict_shows_what_differs_in_place(studio: Studio) -> None:
    page, file = studio.page, studio.folder / "out.md"
    studio.choose("1.3")
    studio.press("e")
    page.locator("dialog textarea").wait_for()
    file.write_text(OUT.replace("Not far now", "Not so far now"))
    page.locator("dialog textarea").fill("Ada: Not far at all.")
    studio.press("Control+Enter")
    refusal = page.locator("#prose .refusal")
    expect(refusal).to_contain_text("Not saved")
    expect(refusal.locator("del")).to_have_text(["in the file: so", "in the file: now."])
    expect(refusal.locator("ins")).to_have_text(["yours: at all."])
    expect(studio.chunk("1.3")).to_contain_text("Not so far now.")
    expect(refusal.get_by_role("heading")).to_be_focused()
    studio.press("Tab", "Enter")  # Save mine
    expect(refusal).to_have_count(0)
    expect(studio.chunk("1.3")).to_contain_text("Not far at all.")
    until(lambda: "Ada: Not far at all." in file.read_text(), SOON / 1000)


def test_a_text_that_cannot_be_read_is_refused_in_place(studio: Studio) -> None:
    edit_words(studio, "1.3", "Ada:")
    refusal = studio.page.locator("#prose .refusal")
    expect(refusal).to_contain_text("Not saved: the text is as it was")
    expect(studio.chunk("1.3")).to_contain_text("Not far now.")
    refusal.get_by_role("button", name="Edit again").click()
    expect(studio.page.locator("dialog textarea")).to_have_value("Ada:")
    expect(refusal).to_have_count(0)
    studio.press("Escape")
