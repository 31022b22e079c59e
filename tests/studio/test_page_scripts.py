"""Books from right to left on the page: their words turn, the waveform and the keys do not."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests import studios
from tests.studio.test_page import Studio, chromium, expect, opened, studio

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator

pytestmark = pytest.mark.browser
__all__ = ["chromium", "studio"]

HEBREW = """\
# הדרך

הדרך הייתה ארוכה מאוד, וירד גשם.

Ada: "עוד מעט נגיע!"

[language: en]

Not far now, said the sign.

[language: off]
"""
ENDS = """element => {
  const node = document.createTreeWalker(element, NodeFilter.SHOW_TEXT).nextNode();
  const at = (from) => {
    const range = document.createRange();
    range.setStart(node, from);
    range.setEnd(node, from + 1);
    return range.getBoundingClientRect().left;
  };
  return at(0) - at(node.length - 1);
}"""
"""Pixels from the last sign of a text to its first: a full stop is left of what goes leftwards."""


def words(page: Locator, text: str) -> Locator:
    return page.locator(".words", has_text=text)


def test_a_hebrew_book_is_read_from_right_to_left(chromium: Browser, tmp_path: Path) -> None:
    book = studios.BOOK.replace("en-GB", "he")
    studios.write(tmp_path, book=book, out=HEBREW)
    studios.render(tmp_path)
    with opened(chromium, tmp_path) as studio:
        prose = studio.page.locator("#prose")
        expect(prose).to_have_attribute("dir", "rtl")
        expect(prose).to_have_attribute("lang", "he")
        assert words(prose, "ארוכה").evaluate(ENDS) > 100
        assert words(prose, "נגיע").evaluate(ENDS) > 50
        assert words(prose, "Not far").evaluate(ENDS) < -100
        studio.choose("1.2")
        quote = studio.page.locator("#pane-chunk blockquote")
        expect(quote).to_have_attribute("dir", "rtl")
        before = studio.time()
        studio.press("ArrowRight")
        assert studio.time() == pytest.approx(before + 5, abs=1)
        needle = studio.page.locator("#needle").bounding_box()
        assert needle is not None
        assert needle["x"] > 100
        studio.choose("1.2")
        studio.press("e")
        box = studio.page.get_by_role("dialog").locator("textarea")
        assert box.evaluate("box => getComputedStyle(box).direction") == "rtl"
        studio.press("Escape")


def test_a_message_keeps_the_words_of_the_book_in_their_own_direction(studio: Studio) -> None:
    """Their full stop stands at their own end, which is at the left."""
    say = """words => import('/static/messages.js').then(({ say }) => say(words, "test"))"""
    message = studio.page.locator("#said .message")
    for words, theirs in (
        ("“הדרך ארוכה.” is spoken", ["הדרך ארוכה."]),
        ("מרים is Millie, and so is רות בת נעמי.", ["מרים", "רות בת נעמי"]),
        ("Ada is Ben", []),
    ):
        studio.page.evaluate(say, words)
        expect(message.locator("span")).to_have_text(words)
        expect(message.locator("bdi")).to_have_text(theirs)
