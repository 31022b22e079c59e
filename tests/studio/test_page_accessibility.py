"""Every view of the studio at three widths, light and dark: axe finds no fault, nothing scrolls
sideways, and no words of a tab or button are cut off.

Run by `make pages`; `make test` leaves it out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from narrator.studio import saved_report
from tests import studios
from tests.build_epub import build_epub
from tests.report.test_report import rendered
from tests.studio.test_import_routes import novel
from tests.studio.test_page import SOON, chromium, expect, served

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser
__all__ = ["chromium"]

WIDTHS = (1440, 768, 360)
BETWEEN = (1280, 1024)
"""Where the page is laid out otherwise: nothing is cut off there, either."""
HEIGHT = 900
BOOK = """\
title: Two Walks
author: Nobody Wainwright-Featherstonehaugh
language: en-GB
engine: {name: draft}
output: {formats: [m4b]}
speakers: {narrator: {}, Ada: {}, Ben: {}, The Stationmaster of Kirkcudbright: {}}
lexicon: {Kirkcudbright: Kur-koo-bree}
chapters:
  - {title: Out, file: out.md}
  - {title: Home, file: home.md}
"""
OUT = """\
# Out

The road to Kirkcudbright was long. It was wet over the very last stone of the way, and windy.

Ada: Not far now.

Somebody stumbled over the very last step of the long way, and said nothing.

***

Ben: I am as cold as a stone.

The Stationmaster of Kirkcudbright: There are no more trains.
"""
HOME = """\
Ada and Ben stood at the door of Mrs. Quattlebaum.

“Nobody but me is here.”

“Then I shall go.”

The rain fell.
"""
ONE_VOICE = """\
title: Alone
author: Nobody
language: en-GB
engine: voxcpm2
chapters: [{title: A Chapter With Quite a Long Name, file: out.md}]
"""
HEBREW = """\
title: הדרך הביתה
author: רות כהן
language: he
engine: {name: draft}
speakers: {narrator: {}, עדה: {}}
chapters: [{title: הדרך, file: out.md}]
"""
HEBREW_TEXT = """\
# הדרך

הדרך הייתה ארוכה מאוד, וירד גשם. הרוח נשבה מן הים, כמו תמיד בסתיו.

עדה: "עוד מעט נגיע!"

[language: en]

Not far now, said the sign.

[language: off]
"""
JAPANESE = """\
title: 帰り道
author: 夏山 そら
language: ja
engine: voxcpm2
speakers: {narrator: {}, 太郎: {}}
chapters: [{title: 第一章　雨, file: out.md}]
"""
JAPANESE_TEXT = """\
# 第一章　雨

道はとても長かった。雨が降り、海から風が吹いていた――秋にはいつもそうである。「もうすぐだ」と書いた看板が、駅のそばに立っていた。

太郎: 「もうすぐ着くよ！」

母は『銀河鉄道の夜』を読んでいた……それは、ＡＢＣのように簡単な本ではなかった。
"""


def write(folder: Path) -> Path:
    for name, book, out, home in (
        ("walks", BOOK, OUT, HOME),
        ("alone", ONE_VOICE, re.sub("^([A-Z].*): (.*)", r"\1 said: “\2”", OUT, flags=re.M), ""),
        ("hebrew", HEBREW, HEBREW_TEXT, ""),
        ("japanese", JAPANESE, JAPANESE_TEXT, ""),
    ):
        (folder / name).mkdir()
        studios.write(folder / name, book=book, out=out, home=home)
    return folder


@dataclass
class Walk:
    """A page that is looked at in all its views."""

    page: Page
    shelf: str

    def open(self, title: str) -> None:
        """A book of the start page."""
        self.page.goto(self.shelf)
        self.page.get_by_role("link", name=title, exact=True).click()
        self.page.locator(".chunk").first.wait_for()

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def pane(self, key: str) -> Any:
        """The panel that a key shows."""
        self.press("Escape", key)
        return self.page.locator(".pane:not([hidden])")

    def dialog(self, *keys: str) -> Any:
        """The window that is open, or that keys open after the one before it has gone."""
        if keys:
            expect(self.page.locator("dialog")).to_have_count(0)
        self.press(*keys)
        dialog = self.page.locator("dialog")
        dialog.wait_for()
        return dialog


@contextmanager
def walking(chromium: Browser, link: str) -> Iterator[Walk]:
    context = chromium.new_context(
        base_url=link.partition("?")[0],
        viewport={"width": WIDTHS[0], "height": HEIGHT},
        reduced_motion="reduce",
    )
    with closing(context):
        page = context.new_page()
        page.set_default_timeout(SOON)
        page.goto(link)
        yield Walk(page, page.url)


@pytest.fixture(scope="module")
def walk(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Walk]:
    """The start page of all books of these tests, in the browser that its link let in."""
    folder = write(tmp_path_factory.mktemp("shelf"))
    with served(folder) as link, walking(chromium, link) as found:
        yield found


# -- views -----------------------------------------------------------------------------------------


def start_views(walk: Walk, manuscript: Path) -> Iterator[str]:
    page = walk.page
    expect(page.locator("#projects")).not_to_have_attribute("aria-busy", "true")
    yield "start"
    page.locator("#file").set_input_files(manuscript)
    expect(page.locator(".parts li")).to_have_count(4)
    yield "import"
    page.get_by_role("button", name="Make the book").click()
    page.get_by_role("radio", name="Draft voice").check()
    expect(page.locator("#making")).to_contain_text("of disk")
    yield "new-book"
    page.get_by_role("button", name="Render the book").click()
    page.get_by_role("link", name="Download").wait_for(timeout=4 * SOON)
    yield "files"
    page.goto(walk.shelf)
    bomb = {"one.xhtml": "<p>One.</p>"}, {"two.xhtml": b" " * 5_000_000}
    build_epub(manuscript.with_name("bomb.epub"), bomb[0], files=bomb[1])
    page.locator("#file").set_input_files(manuscript.with_name("bomb.epub"))
    expect(page.locator("#making .trouble")).to_contain_text("zip bomb")
    yield "refused"


def book_views(walk: Walk) -> Iterator[str]:
    page = walk.page
    walk.open("Two Walks")
    yield "text"
    walk.pane("Shift+R").locator("#render-now").click()
    expect(page.locator("#status")).to_have_text("Everything is rendered", timeout=4 * SOON)
    yield "render"
    walk.press("Escape", "n")
    expect(page.locator("#pane-chunk .number")).to_have_text("1.4")
    takes = page.locator("#pane-chunk .take")
    takes.first.wait_for()
    before = takes.count()
    walk.press("s")
    expect(takes).to_have_count(before + 1)
    walk.press("d")
    page.locator("[name=speed]").wait_for()
    page.evaluate("document.activeElement.blur()")
    yield "chunk-desk"
    compare = walk.dialog("x")
    compare.get_by_role("button", name="A is better").click()
    yield "compare"
    walk.press("Escape")
    yield from dialogs(walk)
    yield from panels(walk)
    walk.press("Escape", "b")
    page.locator("#report h1").wait_for()
    yield "report"
    page.get_by_role("button", name="Measure loudness and pitch").click()
    page.get_by_role("heading", name="Loudness").wait_for()
    page.evaluate("for (const one of document.querySelectorAll('#report details')) one.open = true")
    yield "report-measured"
    walk.press("Escape")
    page.locator('.chunk[data-chunk="1.2"] .words').focus()
    walk.press("Shift+ArrowDown", "Shift+ArrowDown")
    page.locator("#stretch").wait_for()
    yield "stretch"
    page.set_viewport_size({"width": 768, "height": HEIGHT})
    walk.press("Escape")
    page.locator("#to-nav").click()
    yield "chapters"


def dialogs(walk: Walk) -> Iterator[str]:
    page = walk.page
    for key in ("?", "f", "e", "w", "v", "g"):  # keys, flag, words, say it as, speaker, go to
        walk.dialog(key)
        yield f"dialog {key}"
        walk.press("Escape")
    expect(page.locator("dialog")).to_have_count(0)
    page.locator("#to-people").evaluate("button => button.click()")
    people = walk.dialog()
    people.get_by_label("Guest’s name").fill("Ann")
    people.get_by_role("button", name="Make a link").click()
    people.get_by_label("Link", exact=True).wait_for()
    yield "dialog-people"
    walk.press("Escape")


def panels(walk: Walk) -> Iterator[str]:
    page = walk.page
    walk.pane("/")
    page.keyboard.type("the")
    page.locator(".hit").first.wait_for()
    yield "find"
    walk.pane("c").locator(".person", has_text="Ben").click()
    page.get_by_role("button", name="Give this voice").wait_for()
    yield "cast"
    walk.pane("q").locator(".turn").first.wait_for()
    yield "who"
    lexicon = walk.pane("m")
    expect(lexicon).to_contain_text("Kur-koo-bree")
    yield "lexicon"
    heard = walk.pane("t")
    heard.get_by_role("button", name="Listen to all takes").first.click()
    heard.locator(".heard-rows li").first.wait_for()
    yield "heard"
    pickups = walk.pane("l")
    page.get_by_role("button", name="Import").click()
    page.locator("dialog textarea").fill("1.3 too fast\n2.1 a click before “stood”\n")
    yield "dialog-import"
    page.locator("dialog").get_by_role("button", name="Import").click()
    expect(pickups.locator(".what")).to_have_count(2)
    yield "pickups"


def guest_views(walk: Walk, chromium: Browser) -> Iterator[tuple[Walk, str]]:
    walk.open("Two Walks")
    walk.page.locator("#to-people").click()
    people = walk.dialog()
    people.get_by_label("Guest’s name").fill("Ben")
    people.get_by_role("button", name="Make a link").click()
    link = people.get_by_label("Link", exact=True)
    link.wait_for()
    with walking(chromium, link.input_value()) as guest:
        guest.page.locator(".chunk").first.wait_for()
        yield guest, "guest"
        guest.pane("l")
        yield guest, "guest-pickups"


# -- what must hold --------------------------------------------------------------------------------

CUT = """() => {
  const may = [
    ".vh, .scroll, #wave, select, input, svg *",
    "#top h1, #label, .who span, .begin, #stretch > span",
  ].join();
  const name = (one) => `${one.tagName} ${one.id} ${one.className} ${one.textContent.slice(0, 40)}`;
  const isSeen = (one) => one.getClientRects().length
    && one.checkVisibility({ visibilityProperty: true, opacityProperty: true });
  const faults = [];
  const { scrollWidth } = document.scrollingElement;
  if (scrollWidth > innerWidth) faults.push(`the page scrolls sideways: ${scrollWidth} px`);
  for (const one of document.body.querySelectorAll("*")) {
    if (one.closest(may) || !isSeen(one)) continue;
    const isCut = one.scrollWidth > one.clientWidth + 1;
    if (getComputedStyle(one).overflowX !== "visible" && isCut)
      faults.push(`cut off at ${one.clientWidth} of ${one.scrollWidth} px: ${name(one)}`);
    const { left, right } = one.getBoundingClientRect();
    if ((left < -1 || right > innerWidth + 1) && right > 1)
      faults.push(`over the edge, ${Math.round(left)} to ${Math.round(right)}: ${name(one)}`);
    if (one.matches("button, .button") && isCut)
      faults.push(`wider than its button: ${name(one)}`);
  }
  return faults;
}"""
"""Words that may be cut off have dots where they end, or are in a table that scrolls by itself."""


def check(page: Page, view: str) -> list[str]:
    """Faults of a view at all widths, in light and dark."""
    faults: list[str] = []
    for width in (*BETWEEN, *WIDTHS):
        page.set_viewport_size({"width": width, "height": HEIGHT})
        faults += [f"{view} at {width} px: {fault}" for fault in page.evaluate(CUT)]
        if width not in WIDTHS:
            continue
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            rules = COLOURS if scheme == "dark" else None
            faults += [f"{view} at {width} px, {scheme}: {one}" for one in axe(page, rules)]
    page.set_viewport_size({"width": WIDTHS[0], "height": HEIGHT})
    return faults


COLOURS = ["color-contrast", "link-in-text-block"]
"""Rules that another colour scheme can break."""


def axe(page: Page, rules: list[str] | None) -> list[str]:
    """What axe finds. Its script is brought in past the page's policy, once a document."""
    from axe_playwright_python.base import AXE_SCRIPT

    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    # preload: it would fetch style sheets and sounds again each time
    options = {"resultTypes": ["violations"], "preload": False}
    found = page.evaluate(
        "async (options) => (await axe.run(options)).violations",
        options | ({"runOnly": rules} if rules else {}),
    )
    return [
        f"{rule['id']}: {node['target']} {' '.join(node['failureSummary'].split())}"
        for rule in found
        for node in rule["nodes"]
    ]


def assert_none(faults: list[str]) -> None:
    assert not faults, "\n".join(faults)


def test_the_start_page_and_a_new_book(walk: Walk, tmp_path: Path) -> None:
    views = start_views(walk, novel(tmp_path))
    assert_none([fault for view in views for fault in check(walk.page, view)])


def test_a_book(walk: Walk) -> None:
    assert_none([fault for view in book_views(walk) for fault in check(walk.page, view)])


@pytest.mark.parametrize("title", ["Alone", "הדרך הביתה", "帰り道"])
def test_other_books(walk: Walk, title: str) -> None:
    walk.open(title)
    assert_none(check(walk.page, title))


def test_paragraphs_that_are_spoken_in_one_go_stand_apart(walk: Walk) -> None:
    walk.open("Alone")
    chunk = walk.page.locator(".chunk .words", has_text="Not far now")
    expect(chunk).to_contain_text("Somebody stumbled")
    tops = chunk.evaluate(
        """words => {
            const lines = document.createRange();
            lines.selectNodeContents(words);
            return [...new Set([...lines.getClientRects()].map((line) => Math.round(line.top)))];
        }"""
    )
    line = chunk.evaluate("words => parseFloat(getComputedStyle(words).lineHeight)")
    assert max(tops) - min(tops) > 1.5 * line


def test_a_guest(walk: Walk, chromium: Browser) -> None:
    views = guest_views(walk, chromium)
    assert_none([fault for guest, view in views for fault in check(guest.page, view)])


def test_the_saved_report(chromium: Browser, tmp_path: Path) -> None:
    saved_report.write(rendered(tmp_path), tmp_path / "page.html", lambda what, share: None)
    with walking(chromium, (tmp_path / "page.html").as_uri()) as saved:
        saved.page.get_by_role("link", name="Chapter by chapter").click()
        saved.page.locator("article svg").first.wait_for()
        assert_none(check(saved.page, "saved report"))
