"""Who speaks is found on the page, and one of the minor cast gets a voice of their own.

Run by `make pages`; `make test` leaves it out.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.serve.test_speech import until
from tests.studio.test_edit_routes import NOVEL
from tests.studio.test_page import BOOK, chromium, expect, opened

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser
__all__ = ["chromium"]


def test_a_cast_is_found_and_taken_back(chromium: Browser, tmp_path: Path) -> None:
    manifest, book = tmp_path / "book.yaml", BOOK.replace(
        "speakers: {narrator: {}, Ada: {}, Ben: {}} # the cast\n", ""
    )  # fmt: skip
    manifest.write_text(book)
    (tmp_path / "out.md").write_text(NOVEL)
    (tmp_path / "home.md").write_text("They came home.\n")
    with opened(chromium, tmp_path) as studio:
        page = studio.page
        studio.press("c")
        page.evaluate(
            """new MutationObserver(() => {
                const bar = document.querySelector("#pane-cast progress");
                if (bar) (window.stages ??= new Set()).add(bar.parentElement.textContent);
            }).observe(document.getElementById("pane-cast"), { childList: true, subtree: true })"""
        )
        page.get_by_role("button", name="Find who speaks").press("Enter")
        people = page.locator(".person .name")
        expect(people.filter(has_text="Ada")).to_have_count(1)
        stages = " ".join(page.evaluate("[...window.stages]"))
        assert "Deciding who says what" in stages
        studio.press("Escape", "u")
        until(lambda: manifest.read_text() == book)


def test_a_minor_one_gets_a_voice_of_their_own(chromium: Browser, tmp_path: Path) -> None:
    manifest = tmp_path / "book.yaml"
    book = BOOK.replace("Ben: {}", "men: {pronoun: he, plays: [Ben, Tom]}")
    manifest.write_text(book)
    (tmp_path / "out.md").write_text("Ada: I see.\n\nBen: And I.\n\nTom: And I.\n")
    (tmp_path / "home.md").write_text("They came home.\n")
    with opened(chromium, tmp_path) as studio:
        page = studio.page
        studio.press("c")
        tom = page.locator(".person", has_text="Tom")
        tom.press("Enter")
        page.get_by_role("button", name="Give a voice of their own").press("Enter")
        expect(tom).to_contain_text("A man, ")
        expect(page.get_by_role("textbox", name="What it is like")).to_have_value(
            re.compile("A man, ")
        )
        studio.press("Control+z")
        until(lambda: manifest.read_text() == book)
