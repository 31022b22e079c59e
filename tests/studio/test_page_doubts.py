"""The panel that asks who speaks begins at what is doubtful, with the names in view.

Run by `make pages`; `make test` leaves it out.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.serve.test_speech import until
from tests.studio.test_page import BOOK, Studio, chromium, expect, opened

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser
__all__ = ["chromium"]
TALK = """\
Ada and Ben stood at the door.

{settled}“Nobody but me is here.”

“Then I shall go.”

“Go, then.”
"""
SETTLED = "".join(
    f"“It is a long way to the sea, and the road is wet, mile {mile},” said {name}.\n\n"
    for mile, name in enumerate(["Ada", "Ben"] * 5)
)


@pytest.fixture
def studio(chromium: Browser, tmp_path: Path) -> Iterator[Studio]:
    (tmp_path / "book.yaml").write_text(BOOK)
    (tmp_path / "out.md").write_text(TALK.format(settled=""))
    (tmp_path / "home.md").write_text(TALK.format(settled=SETTLED))
    with opened(chromium, tmp_path) as found:
        found.page.set_viewport_size({"width": 1440, "height": 700})
        yield found


def is_in_view(studio: Studio, selector: str) -> bool:
    """True if the whole element is seen, above the names that are asked about."""
    return bool(
        studio.page.evaluate(
            """(selector) => {
                const pane = document.querySelector("#pane-doubts").getBoundingClientRect();
                const asked = document.querySelector("#pane-doubts .asked").getBoundingClientRect();
                const element = document.querySelector(selector).getBoundingClientRect();
                const isAsked = Math.round(element.top) >= Math.round(asked.top);
                const bottom = isAsked ? pane.bottom : asked.top;
                return element.top >= pane.top - 1 && element.bottom <= bottom + 1;
            }""",
            selector,
        )
    )


def test_it_opens_at_the_first_doubtful_turn_of_the_chapter_with_the_names_in_view(
    studio: Studio,
) -> None:
    page = studio.page
    page.get_by_role("link", name="Home").click()
    expect(page.locator(".chunk").first).to_have_attribute("data-chunk", "2.1")
    page.get_by_role("tab", name="Who?").click()
    current = page.locator("#pane-doubts .turn[aria-current]")
    expect(page.locator("#pane-doubts header")).to_contain_text("Chapter 2")
    expect(current).to_contain_text("Nobody but me")
    until(lambda: is_in_view(studio, ".turn[aria-current]"))
    assert is_in_view(studio, ".candidates li:last-child")
    page.locator("#pane-doubts").evaluate("pane => { pane.scrollTop = 0; }")
    assert not is_in_view(studio, ".turn[aria-current]")
    studio.press("i", "q")
    until(lambda: is_in_view(studio, ".turn[aria-current]"))


def test_the_panel_and_the_text_go_together(studio: Studio) -> None:
    page = studio.page
    page.get_by_role("tab", name="Who?").click()
    header = page.locator("#pane-doubts header")
    badge = page.locator("#doubts-count")
    expect(header).to_contain_text("Chapter 1")
    expect(badge).not_to_be_empty()
    expect(header).to_contain_text(f"{badge.inner_text()} quotations in doubt")
    page.get_by_role("link", name="Home").click()
    expect(header).to_contain_text("Chapter 2")
    page.get_by_role("button", name="Next exchange").click()
    expect(header).to_contain_text("Chapter 1")
    expect(studio.chunk("1.1")).to_have_count(1)


def test_names_are_those_of_the_cast_after_a_rename_and_its_undoing(studio: Studio) -> None:
    page = studio.page
    page.get_by_role("tab", name="Who?").click()
    names = page.locator("#pane-doubts .candidates")
    expect(names).to_contain_text("Ada")
    page.get_by_role("tab", name="Cast").click()
    page.locator(".person", has_text="Ada").click()
    page.get_by_text("Rename, merge").click()
    page.get_by_role("textbox", name="Name").fill("Eve")
    page.get_by_role("button", name="Rename").click()
    expect(page.locator(".person .name").filter(has_text="Eve")).to_have_count(1)
    page.get_by_role("tab", name="Who?").click()
    expect(names).to_contain_text("Eve")
    expect(names).not_to_contain_text("Ada")
    studio.press("u")
    expect(names).to_contain_text("Ada")
    expect(names).not_to_contain_text("Eve")
