"""The lexicon on the page: heard, followed to its places, added to, changed and removed, by keys.

Run by `make pages`; `make test` leaves it out.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.serve.test_speech import until
from tests.studio.test_page import BOOK, HOME, OUT, chromium, expect, opened

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser
__all__ = ["chromium"]
LEXICON = "lexicon:\n  Kirkcudbright: Kur-koo-bree # a town\n  stone: boulder\n"


def test_the_lexicon_is_heard_followed_changed_and_taken_back(
    chromium: Browser, tmp_path: Path
) -> None:
    manifest = tmp_path / "book.yaml"
    manifest.write_text(LEXICON + BOOK)
    (tmp_path / "out.md").write_text(OUT)
    (tmp_path / "home.md").write_text(HOME)
    with opened(chromium, tmp_path) as studio:
        page = studio.page
        studio.press("m")
        rows = page.locator("#pane-lexicon details").first.get_by_role("listitem")
        town, stone = rows.filter(has_text="Kur-koo-bree"), rows.filter(has_text="boulder")
        expect(town).to_contain_text("2× in chapters 1 2")
        for name in ("Hear Kirkcudbright", "The road to Kirkcudbright was long."):
            town.get_by_role("button", name=name).click()
            expect(town.get_by_role("button", name=name)).to_be_enabled()
            until(lambda: page.evaluate("document.getElementById('sample').duration > 0.1"))
        town.get_by_role("button", name="Chapter 2, 1 place").click()
        expect(page.locator(".chunk.chosen")).to_have_attribute("data-chunk", "2.2")

        page.get_by_role("button", name="Edit: Kirkcudbright").focus()  # from here by keys
        studio.press("Enter")
        studio.press("Control+a")
        page.keyboard.type("Kirk-oo-bree")
        page.locator("dialog summary").press("Enter")
        page.get_by_label("Said by").select_option("Ada")
        page.get_by_role("button", name="Save").press("Enter")
        expect(rows.filter(has_text="Kirk-oo-bree")).to_contain_text("only what Ada says")
        expect(rows.filter(has_text="Kirk-oo-bree")).to_contain_text("1× in chapter 2")
        written = "  - {word: Kirkcudbright, say: Kirk-oo-bree, speaker: Ada} # a town\n"
        assert written in manifest.read_text()

        stone.get_by_role("button", name="Remove").press("Enter")
        expect(stone).to_have_count(0)
        page.get_by_role("button", name="Add a pronunciation").press("Enter")
        page.keyboard.type("wind")
        page.get_by_label("Its sounds in IPA").fill("wɪnd")
        page.get_by_role("button", name="The word", exact=True).press("Enter")
        expect(page.get_by_role("button", name="The word", exact=True)).to_be_enabled()
        page.get_by_role("button", name="Save").press("Enter")
        expect(rows.filter(has_text="/wɪnd/")).to_contain_text("1× in chapter 1")
        for _ in range(3):
            studio.press("Control+z")
        until(lambda: manifest.read_text() == LEXICON + BOOK)
        expect(stone).to_have_count(1)
