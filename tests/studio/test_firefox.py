"""The main road in an installed Firefox, by WebDriver BiDi. Skipped where there is none.

Run by `make pages`; `make test` leaves it out.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.studio.test_first_hour import first_hour
from tests.studio.test_page import BOOK, HOME, OUT, SOON, Studio, expect, opened
from tests.studio.test_start_page import start_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def firefox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    sync = pytest.importorskip("playwright.sync_api", reason="playwright: make pages")
    from tests.studio import browsers
    from tests.studio.firefox import launched

    path = browsers.firefox()
    if path is None:
        pytest.skip("no Firefox here: install it, or name it by FIREFOX=…")
    sync.expect.set_options(timeout=SOON)
    with (
        sync.sync_playwright() as playwright,
        launched(playwright, path, tmp_path_factory.mktemp("firefox")) as browser,
    ):
        yield browser


def test_the_first_hour_in_firefox(firefox: Browser, tmp_path: Path) -> None:
    (tmp_path / "shelf").mkdir()
    with start_page(firefox, tmp_path / "shelf") as page:
        first_hour(page, tmp_path)


@pytest.fixture
def studio(firefox: Browser, tmp_path: Path) -> Iterator[Studio]:
    """A book that nobody has rendered."""
    for name, text in {"book.yaml": BOOK, "out.md": OUT, "home.md": HOME}.items():
        (tmp_path / name).write_text(text)
    with opened(firefox, tmp_path) as found:
        yield found


PANELS = {
    "i": "#pane-chunk",
    "/": "#pane-find",
    "Shift+R": "#pane-render",
    "c": "#pane-cast",
    "q": "#pane-doubts",
    "m": "#pane-lexicon",
    "t": "#pane-heard",
    "l": "#pane-lists",
    "b": "#report",
}
SCROLLING = """() => [...document.querySelectorAll("body, body *")]
    .filter((element) => element.checkVisibility() && element.scrollWidth > element.clientWidth + 1)
    .filter((element) => element.matches("body") ||
        ["auto", "scroll"].includes(getComputedStyle(element).overflowX))
    .filter((element) => !element.matches("#report .scroll"))
    .map((element) => `${element.tagName}#${element.id}.${element.className}`)
"""
"""What scrolls sideways, except the tables and charts of the report, which may."""


@pytest.mark.parametrize("width", [360, 1400])
def test_every_panel_opens_in_firefox_and_fits(studio: Studio, width: int) -> None:
    page = studio.page
    studio.render()
    page.set_viewport_size({"width": width, "height": 900})
    for key, panel in PANELS.items():
        studio.press(key)
        expect(page.locator(panel)).to_be_visible()
        assert page.evaluate(SCROLLING) == [], panel
        studio.press("Escape")
    if width < 500:
        page.get_by_role("button", name="Chapters", exact=True).click()
    for window in ("People", "Keys"):
        page.get_by_role("button", name=window).click()
        expect(page.locator("dialog")).to_be_visible()
        assert page.evaluate(SCROLLING) == [], window
        page.locator("dialog").get_by_role("button", name="Close").click()
        expect(page.locator("dialog")).to_have_count(0)
