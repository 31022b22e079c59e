"""A stretch of text is chosen by selecting it, by keys or from a list, and given or swapped.

Run by `make pages`; `make test` leaves it out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.serve.test_speech import until
from tests.studio.test_page import BOOK, HOME, Studio, chromium, expect, opened

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser
__all__ = ["chromium"]
OUT = """\
The road was long.

Ada: Not far now. I know the way.

Ben: I am cold 😀 and tired.

Ada: Go on, then.

They went on.
"""


@pytest.fixture
def studio(chromium: Browser, tmp_path: Path) -> Iterator[Studio]:
    (tmp_path / "book.yaml").write_text(BOOK)
    (tmp_path / "out.md").write_text(OUT)
    (tmp_path / "home.md").write_text(HOME)
    with opened(chromium, tmp_path) as found:
        yield found


def select(studio: Studio, first: str, start: int, last: str, stop: int) -> None:
    """Selects text from a character of one chunk to one of another, as a mouse does."""
    studio.page.evaluate(
        """([first, start, last, stop]) => {
            const words = (id) => document.querySelector(`[data-chunk="${id}"] .words`).firstChild;
            getSelection().setBaseAndExtent(words(first), start, words(last), stop);
        }""",
        [first, start, last, stop],
    )


def test_two_are_swapped_over_a_stretch_by_keys_alone(studio: Studio) -> None:
    page, text = studio.page, studio.folder / "out.md"
    bar = page.locator("#stretch")
    studio.press("j", "Shift+J", "Shift+ArrowDown", "Shift+ArrowDown", "Shift+K")
    expect(bar).to_contain_text("3 lines, 1.2 to 1.4")
    expect(page.locator(".chunk.stretch")).to_have_count(3)
    studio.press("Escape")
    expect(bar).to_be_hidden()
    studio.press("v")
    page.get_by_role("button", name="More lines…").press("Enter")
    page.get_by_label("From line").select_option("1.2 Ada: Not far now. I know the way.")
    page.get_by_label("to line").select_option("3")
    expect(page.locator("dialog [role=status]")).to_contain_text("3 lines: Ada 2, Ben 1")
    page.get_by_role("radio", name="Swap two speakers").press("Space")
    expect(page.get_by_label("The lines of")).to_have_value("Ada")
    page.get_by_role("button", name="Save").press("Enter")
    expect(page.locator("#said")).to_contain_text("Ada and Ben are swapped in 3 parts")
    swapped = OUT.replace("Ada", "B").replace("Ben", "Ada").replace("B:", "Ben:")
    assert text.read_text() == swapped
    expect(studio.chunk("1.3")).to_contain_text("Ada: ")
    studio.press("u")
    until(lambda: text.read_text() == OUT)


def test_selected_words_are_given_and_the_rest_stays(studio: Studio) -> None:
    page, text = studio.page, studio.folder / "out.md"
    select(studio, "1.2", 5, "1.2", 12)
    expect(page.locator("#stretch")).to_contain_text("Words of 1.2")
    page.get_by_role("button", name="Speaker…").click()
    page.get_by_role("radio", name="Ben").check()
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#said")).to_contain_text("Ben says 1 part")
    assert "Ada: Not {Ben: far now.} I know the way." in text.read_text()
    expect(page.locator("#stretch")).to_be_hidden()
    studio.press("u")
    until(lambda: text.read_text() == OUT)

    expect(studio.chunk("1.2")).to_contain_text("Not far now. I know the way.")
    select(studio, "1.2", 13, "1.3", len("I am cold 😀 a") + 1)  # in UTF-16, to half a word
    expect(page.locator("#stretch")).to_contain_text("2 lines, words of 1.2 to 1.3")
    studio.press("v")
    page.get_by_role("radio", name=re.compile("^3 narrator|narrator")).check()
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#said")).to_contain_text("narrator says 2 parts")
    assert "{narrator: I know the way.}" in text.read_text()
    assert "{narrator: I am cold 😀 and} tired." in text.read_text()
